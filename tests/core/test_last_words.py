"""What a program says when it ended by itself, and what it says all along."""

from __future__ import annotations

import pytest

from gpu_tui.core.last_words import last_word


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
    assert (last_word(["step 71 loss 0.5", line]) is not None) is end


@pytest.mark.parametrize(
    ("line", "well"),
    [
        ("Training completed.", True),
        ("`Trainer.fit` stopped: `max_epochs=90` reached.", True),
        ("Early stopping at epoch 12", True),
        ("Training stopped", False),
        ("Job finished: FAILED", False),
        ("Training finished with errors", False),
        ("Training has ended", False),
        ("real\t12m3.402s", False),
    ],
)
def test_of_an_end_it_is_told_whether_it_was_a_good_one(line: str, well: bool) -> None:
    word = last_word([line, "saved to out/last.pth"])
    assert word is not None
    assert (word.well, word.place, word.bare) == (well, 0, False)


@pytest.mark.parametrize(
    "line",
    [
        "The model is saved when training is complete",
        "Training is not done",
        "plots will be drawn after training is finished",
    ],
)
def test_what_is_only_announced_is_no_end(line: str) -> None:
    assert last_word([line]) is None


def test_a_bare_word_says_not_of_what_it_is() -> None:
    word = last_word(["Done."])
    assert word is not None
    assert word.bare
