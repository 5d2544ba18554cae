"""The public surface changes only on purpose: the inventory is derived again and compared."""

from __future__ import annotations

import difflib
import json
import re
import sys
from pathlib import Path

import pytest
from contract.json_keys import calls_in, covered, dumped_in, keys_of, paths_in
from contract.surface import FILE, text

from gpu_tui import __version__
from gpu_tui.cli.main import main
from gpu_tui.core.campaign import Outlook
from gpu_tui.parse.triage.labels import LABELS
from gpu_tui.recording.scout import tell
from gpu_tui.recording.tape import TapeReader
from gpu_tui.resources import load_profiles
from gpu_tui.state.contract import check_json
from gpu_tui.state.prometheus import exposition
from gpu_tui.state.store import Store
from gpu_tui.state.sweep_contract import sweep_json
from gpu_tui.state.sweep_outlook import sweep_outlook
from gpu_tui.state.views import FleetView

FIXTURES = Path(__file__).parent.parent / "fixtures" / "state-0.1.0"
OUTPUTS = FIXTURES / "outputs"
MOST = 60  # lines of a difference
KNOWN = json.loads(FILE.read_text("utf-8"))
BUILDER = """
import json
from dataclasses import asdict, dataclass

NAMES = ("loss", "lr")

@dataclass
class Part:
    size: int

@dataclass
class Row:
    place: str
    parts: tuple[Part, ...] = ()

def whole(view, last):
    found = {"version": 1, "rows": [row(one) for one in view], "free": dict(view.why)}
    if last is not None:
        found["rare"] = {"deep": 1}
    for name in NAMES:
        found[f"{name}_text"] = str(name)
    found |= maybe(view) or {}
    return json.dumps({**found, "items": [asdict(row) for row in view]})

def row(one):
    return {"name": one.name, "why": {key: 1 for key in one.why}, **({"odd": 1} if one.odd else {})}

def maybe(view):
    return None if view is None else {"late": [{"x": 1}, *more()]}

def more():
    yield {"y": None}

def keep(journal, event, extra):
    detail = {"refused": 1} if extra else {}
    match event:
        case 1:
            detail |= {"only": 1}
            journal.write("one", a=1, **detail)
        case 2:
            journal.write("two", b={"c": 1}, **detail)
"""


def test_the_inventory_is_what_the_program_has() -> None:
    now, then = text(), FILE.read_text("utf-8")
    lines = list(
        difflib.unified_diff(then.splitlines(), now.splitlines(), "surface.json", "now", n=2)
    )
    if lines:
        cut = (
            [*lines[:MOST], f"... and {len(lines) - MOST} more lines"]
            if len(lines) > MOST
            else lines
        )
        pytest.fail(
            "the public surface has changed. If that is intended: `cd tests && python -m contract.surface`, and "
            "give the reason in the body of the commit.\n" + "\n".join(cut),
            pytrace=False,
        )


# --- keys that the code can print, compared with real output ---


def unlisted(command: str, value: object) -> list[str]:
    """The paths of a real output that the inventory lacks."""
    return sorted(path for path in paths_in(value) if not covered(path, KNOWN["json"][command]))


@pytest.mark.parametrize("file", sorted(OUTPUTS.glob("*.json")), ids=lambda file: file.stem)
def test_every_key_that_0_1_0_printed_is_listed(file: Path) -> None:
    command = {"test-alert": "check"}.get(file.stem, file.stem)
    assert unlisted(command, json.loads(file.read_bytes())) == []


def test_every_key_of_an_alert_that_0_1_0_sent_is_listed() -> None:
    for line in (OUTPUTS / "alerts.jsonl").read_text("utf-8").splitlines():
        assert unlisted("an alert", json.loads(line)) == []


def test_every_record_of_the_journal_of_0_1_0_is_listed() -> None:
    journal = FIXTURES / "state/gpu-tui/journal/teardown.jsonl"
    events = KNOWN["journal events"]
    for line in journal.read_text("utf-8").splitlines():
        record = json.loads(line)
        assert set(record) == set(KNOWN["json"]["journal"])
        assert set(record["detail"]) <= {*events[record["event"]], *events["*"]}


def test_every_sample_that_0_1_0_exposed_is_listed() -> None:
    assert strange_samples((OUTPUTS / "check.prom").read_text("utf-8")) == []


def strange_samples(exposed: str) -> list[str]:
    """Lines of a family, or with a label, that the inventory lacks."""
    strange = []
    for line in exposed.splitlines():
        name = re.match(r"(?:# TYPE )?(\w+)", line)
        family = KNOWN["prometheus"].get(name[1] if name else "")
        labels = set(re.findall(r'[{,](\w+)="', line))
        if line.startswith("# TYPE "):
            strange += [line] if family is None or family["type"] != line.split()[-1] else []
        elif not line.startswith("#"):
            strange += [line] if family is None or labels - set(family["labels"]) else []
    return strange


@pytest.fixture(scope="module")
def seen() -> FleetView:
    """The fleet at the end of the 0.1.0 recording, as today's program sees it."""
    profiles, tape = load_profiles(), TapeReader(FIXTURES / "demo.tape")
    store = Store(tape.fleet, profiles)
    last = 0.0
    for record in tape.records():
        tell(store, tape, record)
        last = record.t
    return store.view(tape.began + last)


def test_every_key_of_todays_views_is_listed(seen: FleetView) -> None:
    assert unlisted("check", check_json(seen)) == []
    outlook: Outlook = sweep_outlook(seen)
    assert unlisted("sweep", sweep_json(seen.sweep, seen.taken_at, outlook, None, ())) == []
    assert strange_samples(exposition(seen, __version__)) == []
    # Guard against an empty scene, which would pass.
    assert {one.name for one in seen.instances} >= {"vega", "rigel", "mira"}
    assert {one.kind for one in seen.findings} <= set(KNOWN["findings"])


def test_every_key_of_commands_that_need_no_box_is_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(FIXTURES / "state"))
    log = tmp_path / "run.log"
    log.write_text("Epoch 3/20 loss: nan lr 1e-4 psnr=inf\nCUDA out of memory\nall is well\n")
    (tmp_path / "cell").mkdir()
    (tmp_path / "cell" / "best_metrics.json").write_text("{}")
    for words, command in (
        (["triage", "--json", str(log)], "triage"),
        (["triage", "--rules", "--json"], "triage --rules"),
        (["verify", "--json", str(tmp_path)], "verify"),
        (["profiles", "--json"], "profiles"),
        (["profiles", "show", "autodl", "--json"], "profiles"),
        (["journal", "--json"], "journal"),
        (["clocks", "--json", "--fleet", str(tmp_path / "none.yaml")], "an error"),
    ):
        main(words)
        lines = capsys.readouterr().out.splitlines()
        assert lines
        # `detail` is listed by event and compared above.
        rows = [
            {**json.loads(line), "detail": {}} if command == "journal" else json.loads(line)
            for line in lines
        ]
        assert [path for row in rows for path in unlisted(command, row)] == []
        if command == "triage":
            assert (
                {row["kind"] for row in rows} - {None} <= set(LABELS) == set(KNOWN["triage labels"])
            )


# --- the key reader itself: a key that it misses would be missing silently ---


@pytest.fixture
def builder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "gpu_tui_built.py").write_text(BUILDER)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "gpu_tui_built", raising=False)
    return "gpu_tui_built"


def test_a_key_of_any_branch_is_seen(builder: str) -> None:
    assert dumped_in(builder) == {
        *("version", "free", "free.*", "rare", "rare.deep", "loss_text", "lr_text"),
        *("rows", "rows[].name", "rows[].why", "rows[].why.*", "rows[].odd"),
        *("late", "late[].x", "late[].y", "items", "items[].place", "items[].parts"),
        "items[].parts[].size",
    }
    assert keys_of(builder, "maybe") == {"late", "late[].x", "late[].y"}


def test_the_keywords_of_a_case_are_its_own(builder: str) -> None:
    found = {
        call.words(0)[0]: call.keywords() for call in calls_in(builder) if "write" in call.word
    }
    assert found == {"one": {"a", "refused", "only"}, "two": {"b", "b.c", "refused"}}


def test_a_path_is_covered_by_itself_and_by_any_key() -> None:
    known = {"a", "a[].b", "why.*"}
    assert covered("a[].b", known)
    assert covered("why.gpus", known)
    assert not covered("a.b", known)
    assert not covered("why.gpus.text", known)
    assert not covered("why", known)
