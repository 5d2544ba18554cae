"""Remedies: every label has a card that fits one small screen and says all three things."""

from __future__ import annotations

import textwrap

import pytest

from gpu_tui.core.fleet import LinkState
from gpu_tui.core.readings import GpuError, GpuTable
from gpu_tui.core.remedies import CARDS, REMEDIES, card, remedy
from gpu_tui.core.rules import Now, conditions
from gpu_tui.core.verdict import Verdict
from gpu_tui.parse.triage.labels import LABELS

QUIET = {"warning", "progress", "benign"}
KINDS = {"inode": "inode_full", "killed": "crashed", "exception": "crashed"}


def test_cards_are_the_labels_in_their_order() -> None:
    assert tuple(CARDS) == LABELS


@pytest.mark.parametrize("label", LABELS)
def test_a_card_fits_one_screen_of_80_by_24(label: str) -> None:
    told = card(label)
    rows = [row for part in (told.symptom, told.cause, told.fix) for row in textwrap.wrap(part, 74)]
    assert len(rows) <= 18
    assert all(part.endswith(".") for part in (told.symptom, told.cause, told.fix))
    assert label in QUIET or len(told.fix) > 60


@pytest.mark.parametrize("label", [name for name in LABELS if name not in QUIET])
def test_what_is_found_has_a_remedy(label: str) -> None:
    assert remedy(KINDS.get(label, label))


@pytest.mark.parametrize("label", ["gpu_oom", "cuda_error"])
@pytest.mark.parametrize("word", ["HIP", "NPU", "MPS"])
def test_other_makers_are_spelled_too(label: str, word: str) -> None:
    told = card(label)
    assert word in f"{told.symptom} {told.cause} {told.fix}"


def test_no_text_is_said_twice() -> None:
    texts = [*REMEDIES.values(), *(told.fix for told in CARDS.values() if told.fix != "Nothing.")]
    assert len(set(texts)) == len(texts)


def test_an_unknown_name_is_a_bug() -> None:
    with pytest.raises(KeyError):
        card("no such label")


def test_a_missing_driver_is_not_cured_by_a_rerun() -> None:
    table = GpuTable(error=GpuError("no-driver", "NVIDIA-SMI has failed"))
    seen = Now(0.0, LinkState("live"), Verdict.RUNNING, gpus=table)
    (found,) = [one for one in conditions(seen) if one.kind == "cuda_error"]
    assert found.remedy is not None
    assert "provider" in found.remedy
