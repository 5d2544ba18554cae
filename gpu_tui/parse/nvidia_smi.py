"""What nvidia-smi prints -> a GpuTable. Read by position, from driver 418 to 610.

It reports trouble on stdout, mixed with rows or instead of them, and its exit codes changed over the
years: so text is believed first, the code second, and a field that is not a number stays unknown.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace

from gpu_tui.core.idle import HELD_BYTES
from gpu_tui.core.plain import plain
from gpu_tui.core.readings import Gpu, GpuError, GpuProcess, GpuTable

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

# First match wins. Each row: pattern in the text, exit codes, kind.
ERRORS: tuple[tuple[re.Pattern[str], frozenset[int], str], ...] = (
    (
        re.compile(r"communicate with the NVIDIA driver|find libnvidia-ml|version mismatch", re.I),
        frozenset({9, 12, 18}),
        "no-driver",
    ),
    (re.compile(r"no devices were found|no devices found", re.I), frozenset({6}), "no-device"),
    (
        re.compile(r"GPU is lost|unable to determine the device handle|fallen off the bus", re.I),
        frozenset({15}),
        "lost",
    ),
)
_NUMBER = re.compile(r"([0-9]{1,15}(?:\.[0-9]{1,6})?)(?: ?(?:%|MiB|MHz|W|C))?", re.ASCII)
_UUID = re.compile(r"(?:GPU|MIG)-[0-9A-Za-z/-]{4,80}", re.ASCII)
_MIG = re.compile(r"\s+MIG\s+(\S{1,32})\s+Device\s+[0-9]+: \(UUID: (MIG-[0-9A-Za-z/-]{4,80})\)")
_CARD = re.compile(r"GPU [0-9]+: .*\(UUID: (GPU-[0-9A-Za-z-]{4,80})\)")


def parse_gpus(
    query: bytes, query_exit: int, apps: bytes, apps_exit: int, listing: bytes = b""
) -> GpuTable:
    """The table from the output and exit code of GPU_QUERY and APPS_QUERY.

    `listing` is MIG_QUERY and `nvidia-smi -L`, where they were asked because a card gave no share:
    it names the MIG instances. Never raises.
    """
    rows, noise = _split_rows(_lines(query), len(GPU_FIELDS))
    gpus = [gpu for gpu in map(_gpu, rows) if gpu is not None]
    error = _error(noise, query_exit, found=bool(gpus))
    if error is None and len(gpus) < len(rows):
        error = GpuError("lost", "nvidia-smi lists a card of which it can tell nothing")
    error = error or _sick(gpus)
    profiles, parents = _mig(_lines(listing))
    processes, why_not = _processes(_lines(apps), apps_exit, parents)
    whole = tuple(
        _completed(gpu, processes.get(gpu.uuid, ()), why_not, profiles.get(gpu.uuid))
        for gpu in gpus
    )
    listed = any(gpu.processes for gpu in whole)
    hidden = why_not is None and not listed and any(_busy(gpu) for gpu in whole)
    return GpuTable(whole, error, hidden)


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


def _error(noise: list[str], code: int, *, found: bool) -> GpuError | None:
    text = plain(noise[0].strip()) if noise else ""
    if code in TIMED_OUT:
        return GpuError("hung", HUNG)
    if code in NOT_FOUND and not found:
        return GpuError("no-nvidia-smi", "there is no nvidia-smi on this box")
    for pattern, codes, kind in ERRORS:
        named = next((line for line in noise if pattern.search(line)), None)
        if named is not None or code in codes:
            return GpuError(kind, plain((named or text).strip()) or f"nvidia-smi ended with {code}")
    if code == 0 and found:
        return None
    return GpuError("unknown-error", text or _silent(code))


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


def _sick(gpus: Iterable[Gpu]) -> GpuError | None:
    """A card that is listed but answers for itself with errors."""
    for gpu in gpus:
        said = set(gpu.why.values())
        if "GPU is lost" in said:
            return GpuError("lost", f"GPU {gpu.index}: GPU is lost")
        if "GPU requires reset" in said:
            return GpuError("unknown-error", f"GPU {gpu.index}: GPU requires reset")
    return None


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
    lines: Iterable[str], code: int, parents: Mapping[str, str]
) -> tuple[Mapping[str, tuple[GpuProcess, ...]], str | None]:
    """Card uuid -> its processes, and why there are none where the list could not be read."""
    rows, noise = _split_rows(lines, len(APP_FIELDS))
    if code != 0:
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
