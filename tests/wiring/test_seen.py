"""What the first look at a host says of it: a sentence, never the name of an error."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpu_tui.core.metrics import GPUS
from gpu_tui.core.readings import GpuError, GpuTable
from gpu_tui.wiring.first_look import seen_of
from screenshots.builders import read
from screenshots.scene_edges import no_gpu


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("no-nvidia-smi", "▲ answers, no nvidia-smi on this box, 31 ms"),
        ("no-device", "▲ answers, no GPU here, 31 ms"),
        ("lost", "▲ answers, a GPU fell off the bus, 31 ms"),
        (None, "▲ answers, nvidia-smi has not answered yet, 31 ms"),
    ],
)
def test_why_there_is_no_card_is_said_in_words(kind: str | None, words: str) -> None:
    (view,) = no_gpu().fleet.instances
    tracks = {name: track for name, track in view.tracks.items() if name != GPUS.name}
    if kind is not None:
        tracks[GPUS.name] = read(GpuTable(error=GpuError(kind, "")))
    seen = seen_of(replace(view, tracks=tracks))
    assert seen.words == words
    reason = words.removeprefix("▲ answers, ").removesuffix(", 31 ms")
    assert seen.sentence == f"lab-cpu answers; it shows no card: {reason}."
