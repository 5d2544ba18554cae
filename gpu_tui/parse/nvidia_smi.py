"""What nvidia-smi prints -> a GpuTable. Read by position, from driver 418 to 610.

It reports trouble on stdout, mixed with rows or instead of them, and its exit codes changed over the
years. So every line and the code are weighed and the worst wins, and a field that is not a number stays unknown.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from gpu_tui.core.idle import HELD_BYTES, NO_CARD
from gpu_tui.core.plain import plain
from gpu_tui.core.readings import Gpu, GpuError, GpuProcess, GpuTable
from gpu_tui.parse.devices import parse_devices

THROTTLE_FIELDS = {
    "clocks_throttle_reasons.hw_slowdown": "hw_slowdown",
    "clocks_throttle_reasons.hw_thermal_slowdown": "hw_thermal",
    "clocks_throttle_reasons.hw_power_brake_slowdown": "hw_power_brake",
    "clocks_throttle_reasons.sw_thermal_slowdown": "sw_thermal",
    "clocks_throttle_reasons.sw_power_cap": "sw_power_cap",
}
# One unknown field fails the whole query, so only names that every driver from 418 to 610 accepts.
# utilization stands right behind uuid: the sampler looks there for the [N/A] of a card in MIG mode.
# name stands last: it is the only field that could hold a comma.
GPU_FIELDS = (
    "index",
    "uuid",
    "utilization.gpu",
    "memory.used",
    "memory.total",
    "temperature.gpu",
    "power.draw",
    "power.limit",
    "clocks.sm",
    "clocks.max.sm",
    "ecc.errors.uncorrected.volatile.total",
    *THROTTLE_FIELDS,
    "name",
)
APP_FIELDS = ("gpu_uuid", "pid", "used_gpu_memory", "process_name")
GPU_QUERY = f"--query-gpu={','.join(GPU_FIELDS)}"
APPS_QUERY = f"--query-compute-apps={','.join(APP_FIELDS)}"
MIG_QUERY = "--query-gpu=uuid,mig.mode.current"  # only from 450 on
FORMAT = "--format=csv,noheader,nounits"

HUNG = "nvidia-smi did not return in time and was ended"
MIB = 1 << 20
MAX_LINES = 512
TIMED_OUT = frozenset({124, 137, 143})  # by `timeout`: coreutils, after -k, busybox
NOT_FOUND = frozenset({126, 127})

# Exit codes after which rows are as after 0: nvidia-smi(1) has 14 for a corrupted infoROM, which it warns of.
WARNED = 14
WELL = frozenset({0, WARNED})

# Worst first. Each row: kind, pattern in a line, exit codes.
ERRORS: tuple[tuple[str, re.Pattern[str], frozenset[int]], ...] = (
    (
        "lost",
        re.compile(r"\bis lost\b|unable to determine the device handle|fallen off the bus", re.I),
        frozenset({15}),
    ),
    (
        "no-driver",
        re.compile(
            r"communicate with the NVIDIA driver|find libnvidia-ml|version mismatch|NVML library version"
            r"|directory that contains libnvidia-ml|driver is installed and running",
            re.I,
        ),
        frozenset({9, 12, 18}),
    ),
    ("no-device", re.compile(r"no devices were found|no devices found", re.I), frozenset({6})),
)
WORST = ("lost", "hung", "unknown-error", "no-driver", "other-maker", "no-device", "no-nvidia-smi")
NOTES_MOST = 3
_WARNING = re.compile(r"\s*(?:warning|note|info)\b", re.I)
# A line that is no row and says this is about a card. Others are of the shell or the loader (ld.so, locale).
_OF_A_CARD = re.compile(r"\bGPU|\bNVML\b|\bdevices?\b|\s*[0-9]+\s*,|\[", re.I)
_LOADER = re.compile(r"(?:ERROR: )?ld\.so: ")
_NUMBER = re.compile(r"([0-9]{1,15}(?:\.[0-9]{1,6})?)(?: ?(?:%|MiB|MHz|W|C))?", re.ASCII)
_UUID = re.compile(r"(?:GPU|MIG)-[0-9A-Za-z/-]{4,80}", re.ASCII)
_MIG = re.compile(r"\s+MIG\s+(\S{1,32})\s+Device\s+[0-9]+: \(UUID: (MIG-[0-9A-Za-z/-]{4,80})\)")
_CARD = re.compile(r"GPU [0-9]+: .*\(UUID: (GPU-[0-9A-Za-z-]{4,80})\)")


def parse_gpus(
    query: bytes,
    query_exit: int,
    apps: bytes,
    apps_exit: int,
    listing: bytes = b"",
    devices: bytes = b"",
) -> GpuTable:
    """The table from the output and exit code of GPU_QUERY and APPS_QUERY.

    `listing` is MIG_QUERY and `nvidia-smi -L`, where they were asked because a card gave no share:
    it names the MIG instances. `devices` is what `list_devices` printed. Never raises.
    """
    rows, noise = _split_rows(_lines(query), len(GPU_FIELDS))
    gpus = [gpu for gpu in map(_gpu, rows) if gpu is not None]
    running, odd = _split_rows(_lines(apps), len(APP_FIELDS))
    errors = [*_errors(noise, query_exit, found=bool(gpus)), *_sick(gpus)]
    if len(gpus) < len(rows):
        errors.append(GpuError("lost", "nvidia-smi lists a card of which it can tell nothing"))
    errors += [GpuError("lost", plain(line.strip())) for line in odd if _kind(line) == "lost"]
    there = parse_devices(devices)
    others = there.unread(cards_read=bool(gpus))
    if others:
        if (
            not there.nvidia
        ):  # a driver without a card of its own says less than another maker's card
            errors = [error for error in errors if error.kind != "no-driver"]
        errors.append(GpuError("other-maker", "; ".join(why for _, why in others)))
    profiles, parents = _mig(_lines(listing))
    processes, why_not = _processes(running, odd, apps_exit, parents)
    whole = tuple(
        _completed(gpu, processes.get(gpu.uuid, ()), why_not, profiles.get(gpu.uuid))
        for gpu in gpus
    )
    listed = any(gpu.processes for gpu in whole)
    hidden = why_not is None and not listed and any(_busy(gpu) for gpu in whole)
    error = min(errors, key=lambda error: WORST.index(error.kind), default=None)
    if error is not None and error.kind in NO_CARD and there.nvidia:
        error = replace(error, text=f"{error.text}, and a card is here (/dev/{there.nvidia[0]})")
    return GpuTable(
        whole,
        error,
        hidden,
        unread=bool(others) or (bool(there.nvidia) and not gpus),
        notes=_notes([*noise, *odd]) if gpus else (),
    )


def _lines(output: bytes) -> list[str]:
    lines = output.decode("utf-8", "replace").split("\n")[:MAX_LINES]
    return [line.rstrip() for line in lines if line.strip()]


def _split_rows(lines: Iterable[str], width: int) -> tuple[list[list[str]], list[str]]:
    """Rows of `width` fields, and every line that is none. Only the last field may hold commas."""
    rows, noise = [], []
    for line in lines:
        fields = [field.strip() for field in line.split(", ", width - 1)]
        if len(fields) == width:
            rows.append(fields)
        else:
            noise.append(line)
    return rows, noise


def _errors(noise: list[str], code: int, *, found: bool) -> list[GpuError]:
    """Everything that speaks of trouble: each line that is no row, and the exit code. `found`: rows came with it."""
    errors = [
        GpuError(kind, plain(line.strip()))
        for line in noise
        if (kind := _kind(line, found=found)) is not None
    ]
    first = next((plain(line.strip()) for line in noise if not _WARNING.match(line)), "")
    if code in TIMED_OUT:
        return [error for error in errors if error.kind == "lost"] + [GpuError("hung", HUNG)]
    if code in NOT_FOUND and not found:
        # What the shell or the loader says of a program that does not start is no word of a card.
        lost = [error for error in errors if error.kind == "lost"]
        return [*lost, GpuError("no-nvidia-smi", "there is no nvidia-smi on this box")]
    errors += [
        GpuError(kind, first or f"nvidia-smi ended with {code}")
        for kind, _, codes in ERRORS
        if code in codes and all(error.kind != kind for error in errors)
    ]
    if not errors and not (found and code in WELL):
        errors.append(GpuError("unknown-error", first or _silent(code)))
    return errors


def _kind(line: str, *, found: bool = False) -> str | None:
    """The trouble that a line reports; None for other text, and for a warning among valid rows."""
    for kind, pattern, _ in ERRORS:
        if pattern.search(line):
            return kind
    if _LOADER.match(line) or (found and _WARNING.match(line)):
        return None
    return "unknown-error" if _OF_A_CARD.search(line) else None


def _notes(lines: list[str]) -> tuple[str, ...]:
    """The warnings that came with valid rows, each once."""
    said = dict.fromkeys(plain(line.strip()) for line in lines if _WARNING.match(line))
    return tuple(said)[:NOTES_MOST]


def _silent(code: int) -> str:
    if code in TIMED_OUT:
        return HUNG
    return f"nvidia-smi ended with {code}" if code else "nvidia-smi printed nothing"


def _gpu(fields: list[str]) -> Gpu | None:
    """One card, or None where not even its index can be read."""
    raw = dict(zip(GPU_FIELDS, fields, strict=True))
    if not re.fullmatch(r"[0-9]{1,4}", raw["index"], re.ASCII):
        return None
    index = int(raw["index"])
    why: dict[str, str] = {}

    def number(field: str, name: str, most: float = 1e15) -> float | None:
        match = _NUMBER.fullmatch(raw[field])
        if match and float(match.group(1)) <= most:
            return float(match.group(1))
        why[name] = _reason(raw[field])
        return None

    def whole(field: str, name: str, unit: int = 1) -> int | None:
        value = number(field, name)
        return None if value is None else int(value * unit)

    share = number("utilization.gpu", "utilization", 100)
    reasons = {short: raw[field] for field, short in THROTTLE_FIELDS.items()}
    unread = [value for value in reasons.values() if value not in ("Active", "Not Active")]
    if unread:
        why["throttle"] = _reason(unread[0])
    uuid = raw["uuid"] if _UUID.fullmatch(raw["uuid"]) else f"unknown-{index}"
    if uuid.startswith("unknown"):
        why["uuid"] = _reason(raw["uuid"])
    return Gpu(
        index=index,
        name=plain(_reason(raw["name"]) if _is_no_value(raw["name"]) else raw["name"], 80),
        uuid=uuid,
        utilization=None if share is None else share / 100,
        memory_used=whole("memory.used", "memory_used", MIB),
        memory_total=whole("memory.total", "memory_total", MIB),
        temperature=number("temperature.gpu", "temperature", 200),
        power=number("power.draw", "power", 10_000),
        power_limit=number("power.limit", "power_limit", 10_000),
        sm_clock_hz=whole("clocks.sm", "sm_clock_hz", 1_000_000),
        sm_clock_max_hz=whole("clocks.max.sm", "sm_clock_max_hz", 1_000_000),
        throttle=tuple(short for short, value in reasons.items() if value == "Active"),
        ecc_uncorrected=whole("ecc.errors.uncorrected.volatile.total", "ecc_uncorrected"),
        why=why,
    )


def _is_no_value(text: str) -> bool:
    return not text or text == "N/A" or (text.startswith("[") and text.endswith("]"))


def _reason(text: str) -> str:
    """Why a field holds no number, in a person's words."""
    inner = text.strip("[]")
    if inner in ("", "N/A"):
        return "not reported by this card"
    return plain(inner, 80) if _is_no_value(text) else f"nvidia-smi says {plain(text, 40)!r}"


def _sick(gpus: Iterable[Gpu]) -> Iterator[GpuError]:
    """The cards that are listed but answer for themselves with errors."""
    for gpu in gpus:
        said = set(gpu.why.values())
        if "GPU is lost" in said:
            yield GpuError("lost", f"GPU {gpu.index}: GPU is lost")
        elif "GPU requires reset" in said:
            yield GpuError("unknown-error", f"GPU {gpu.index}: GPU requires reset")


def _mig(lines: Iterable[str]) -> tuple[Mapping[str, list[str]], Mapping[str, str]]:
    """Card uuid -> its MIG profiles, and MIG uuid -> card uuid."""
    profiles: dict[str, list[str]] = {}
    parents: dict[str, str] = {}
    card = None
    for line in lines:
        uuid, _, mode = line.partition(", ")
        if mode == "Enabled" and _UUID.fullmatch(uuid):
            profiles.setdefault(uuid, [])
        elif match := _CARD.match(line):
            card = match.group(1)
        elif card and (match := _MIG.match(line)):
            profiles.setdefault(card, []).append(plain(match.group(1), 32))
            parents[match.group(2)] = card
    return profiles, parents


def _processes(
    rows: list[list[str]], noise: list[str], code: int, parents: Mapping[str, str]
) -> tuple[Mapping[str, tuple[GpuProcess, ...]], str | None]:
    """Card uuid -> its processes, and why there are none where the list could not be read."""
    if code not in WELL:
        return {}, plain(noise[0].strip()) if noise else _silent(code)
    found: dict[str, tuple[GpuProcess, ...]] = {}
    for uuid, pid, used, name in rows:
        if re.fullmatch(r"[0-9]{1,10}", pid, re.ASCII) and _UUID.fullmatch(uuid):
            match = _NUMBER.fullmatch(used)
            memory = int(float(match.group(1)) * MIB) if match else None
            shown = f"({_reason(name)})" if _is_no_value(name) else name
            card = parents.get(uuid, uuid)
            row = GpuProcess(int(pid), plain(shown), memory)
            found[card] = (*found.get(card, ()), row)
    return found, None


def _completed(
    gpu: Gpu, processes: tuple[GpuProcess, ...], why_not: str | None, profiles: list[str] | None
) -> Gpu:
    why = dict(gpu.why)
    if why_not is not None:
        why["processes"] = why_not
    if profiles is not None and gpu.utilization is None:
        why["utilization"] = "MIG is on: there is no share of the whole card"
    mig = None if profiles is None else ", ".join(profiles) or "enabled, without instances"
    return replace(gpu, processes=processes, mig=mig, why=why)


def _busy(gpu: Gpu) -> bool:
    return gpu.memory_used is not None and gpu.memory_used >= HELD_BYTES
