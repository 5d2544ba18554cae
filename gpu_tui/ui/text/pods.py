"""The usage of containers as lines: by the metrics API, or of their GPUs by nvidia-smi."""

from __future__ import annotations

from collections.abc import Iterable

from rich.text import Text

from gpu_tui.core import metrics, units
from gpu_tui.core.levels import Level
from gpu_tui.core.readings import Gpu, PodCards
from gpu_tui.core.sample import STALE_AFTER_PERIODS, Freshness
from gpu_tui.core.speech import headed, listed, say, told
from gpu_tui.state.views import InstanceView
from gpu_tui.ui.safe import safe
from gpu_tui.ui.text.marks import ABSENT, SHARE, believed, fit, fitted, gauge, line, wrap
from gpu_tui.ui.text.vital_rows import age_note, amount_of, label

LEAST_NAME, LEAST_WITH_CARDS = 12, 24
POD_CELLS = 12
UTIL, VRAM, HEAT, POWER = SHARE + 2, 18, 8, 8  # cells of the columns of a card
NAMED = 3  # containers of which the cards are not known for the same reason
READ_EVERY = 30.0  # seconds, where no more containers run than one round asks


def pods(view: InstanceView, width: int) -> list[Text]:
    """The containers of the selected cluster, by what the fleet file lets us ask."""
    return (
        _cards(view, width) if view.instance.scheduler_scope.vitals == "exec" else _use(view, width)
    )


def _use(view: InstanceView, width: int) -> list[Text]:
    """The usage of each container, the most cores first."""
    fresh, track = view.freshness(metrics.POD_USE), view.track(metrics.POD_USE)
    if track.value is None:
        return [line(label("pods"), believed(None, fresh), age_note(view, metrics.POD_USE))]
    name = max(LEAST_NAME, width - 2 * POD_CELLS)
    titles = (*fitted((say("cores"), "faint"), POD_CELLS, right=True),)
    more = (*fitted((say("memory"), "faint"), POD_CELLS, right=True),)
    rows = [line(fit(line((say("pod"), "faint")), name), *titles, *more)]
    for one in sorted(track.value, key=lambda one: -one.cores):
        cores, memory = (
            amount_of(f"{one.cores:.2f}", fresh),
            amount_of(units.size(one.memory), fresh),
        )
        words = line((safe(one.pod), "text"), (f" {safe(one.container)}", "muted"))
        rows.append(
            line(
                fit(words, name),
                " " * max(1, POD_CELLS - cores.cell_len), cores,
                " " * max(1, POD_CELLS - memory.cell_len), memory,
            )
        )  # fmt: skip
    if fresh is Freshness.STALE:
        rows.append(line(label(""), age_note(view, metrics.POD_USE)))
    return rows


def _cards(view: InstanceView, width: int) -> list[Text]:
    """A row for each card of each container, then the reasons where none is known."""
    fresh, track = view.freshness(metrics.POD_CARDS), view.track(metrics.POD_CARDS)
    if track.value is None:
        words = told(track.why) if track.why else ""
        if len(words) > width // 2:
            return [line(label("pods"), believed(None, fresh)), *wrap(words, width, "muted")]
        return [line(label("pods"), believed(None, fresh), age_note(view, metrics.POD_CARDS))]
    # A column gives way whole: half of a number is another number.
    columns = [("util", UTIL), ("vram", VRAM), ("temp", HEAT), ("power", POWER)]
    while sum(cells for _, cells in columns) + LEAST_WITH_CARDS > width:
        columns.pop()
    name = width - sum(cells for _, cells in columns)
    found = sorted(track.value, key=lambda one: (one.pod, one.container))
    head = [fit(line((say("pod"), "faint")), name)]
    head += [fit(line((say(title), "faint")), cells, right=True) for title, cells in columns]
    rows = [line(*head)] if any(one.gpus for one in found) else []
    for one in found:
        rows += _card_rows(view, one, fresh, name, columns)
    rows += _unknown(found, width)
    if not found:
        rows.append(line((say("no container runs in which nvidia-smi can be asked"), "muted")))
    if fresh is Freshness.STALE:
        rows += wrap(age_note(view, metrics.POD_CARDS).plain.strip(), width, "stale")
    return rows


def _card_rows(
    view: InstanceView, one: PodCards, fresh: Freshness, name: int, columns: list[tuple[str, int]]
) -> list[Text]:
    """The cards of one container; the first row has its name and the age of what is old."""
    age = view.taken_at - one.read_at
    old = fresh is Freshness.STALE or age > STALE_AFTER_PERIODS * READ_EVERY
    seen = Freshness.STALE if old else fresh
    rows = []
    for place, gpu in enumerate(one.gpus):
        words = line((f"  gpu {gpu.index}", "muted"))
        if place == 0:
            words = line(
                (safe(one.pod), "text"),
                (f" {safe(one.container)}", "muted"),
                (say("  {age} old", age=units.age(age)) if old else "", "stale"),
            )
        cells = [fit(_cell(gpu, title, seen), wide, right=True) for title, wide in columns]
        rows.append(line(fit(words, name), *cells))
    return rows


def _cell(gpu: Gpu, title: str, fresh: Freshness) -> Text:
    if title == "util":
        return gauge(gpu.utilization, Level.OK, fresh)
    if title == "vram":
        known = gpu.memory_used is not None
        text = units.used_of(gpu.memory_used, gpu.memory_total)
    else:
        value, unit = (gpu.temperature, "°C") if title == "temp" else (gpu.power, "W")
        known, text = value is not None, f"{value or 0:.0f} {unit}"
    return amount_of(text, fresh) if known else line((ABSENT, "absent"))


def _unknown(found: Iterable[PodCards], width: int) -> list[Text]:
    """Each reason once, with the containers that it holds for."""
    reasons: dict[str, list[str]] = {}
    for one in found:
        if one.why is not None:
            reasons.setdefault(one.why, []).append(f"{safe(one.pod)} {safe(one.container)}")
    rows = []
    for why, names in reasons.items():
        more = [say("+{more} more", more=len(names) - NAMED)] if len(names) > NAMED else []
        words = headed(told(why).rstrip("."), listed([*names[:NAMED], *more]))
        rows += wrap(words, width, "muted", most=3)
    return rows
