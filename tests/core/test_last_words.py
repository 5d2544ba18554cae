"""What a program says when it ended by itself, and what it says all along."""

from __future__ import annotations

import pytest

from gpu_tui.core.last_words import says_its_end


@pytest.mark.parametrize(
    ("line", "end"),
    [
        ("Training completed.", True),
        ("2026-03-05 18:50:01 INFO Training has finished successfully", True),
        ("Finished training in 3.2 h", True),
        ("Early stopping at epoch 12", True),
        ("Epoch 00012: early stopping", True),
        ("`Trainer.fit` stopped: `max_epochs=90` reached.", True),
        ("Best score: 0.310. Signaling Trainer to stop.", True),
        ("=== Done ===", True),
        ("real\t12m3.402s", True),
        ("EarlyStopping counter: 3 out of 7", False),
        ("Early stopping: 3/7 without improvement", False),
        ("Epoch 3 training done in 30 s", False),
        ("saved checkpoint, done", False),
        ("step 72 loss 0.5", False),
        ("", False),
    ],
)
def test_words_of_an_end(line: str, end: bool) -> None:
    assert says_its_end(["step 71 loss 0.5", line]) is end
