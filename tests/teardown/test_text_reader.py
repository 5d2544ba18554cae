"""What the reader of metrics says of a file that is longer than it reads."""

from __future__ import annotations

import io

import pytest

from gpu_tui.core.evidence import FileVerdict
from gpu_tui.core.proof import proves
from gpu_tui.teardown.reader import text_file
from gpu_tui.teardown.reader.outcome import Failed


def test_who_has_a_long_one_is_told_what_lets_it_home(monkeypatch: pytest.MonkeyPatch) -> None:
    """It shuts the gate: as what it says, its hash does."""
    monkeypatch.setattr(text_file, "CAP", 1 << 20)
    with pytest.raises(Failed, match=r"more than 1 MiB.* compressed .*\.gz"):
        text_file.read_json(io.BytesIO(b"[" + b"1," * (1 << 19) + b"1]"), "predictions.json")
    assert not proves(FileVerdict("wide/predictions.json", "a" * 64, "failed", ""))
    assert proves(FileVerdict("wide/predictions.json.gz", "a" * 64, "skipped", ""))
