"""Parses the device files of compute cards, NVIDIA's and other makers', into what nothing here can read.

nvidia-smi reports NVIDIA's cards alone. A card of another maker works unseen, so its device file is what shows it.
A program in PATH shows nothing: images carry rocm-smi without a card.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib.resources import files

LINES_MOST = 4096
SHOWN = 3
UNKNOWN = "unknown make"
# Kernel drivers of render nodes that compute. virtio, ast, vgem and the like do not.
MAKERS = {"amdgpu": "AMD", "i915": "Intel", "xe": "Intel"}
# An integrated GPU of Intel is PCI device 2 of the first bus, under i915 and xe alike: igt-gpu-tools
# (lib/igt_device_scan.c) and nvtop (extract_gpuinfo_intel.c) tell it from a card in the same way.
_INTEGRATED = re.compile(r"0000:00:02\.[0-7]")
# A guest may have a card passed through to that slot: DG1, DG2, Ponte Vecchio and Battlemage by their PCI ids
# (include/drm/intel/pciids.h).
_CARDS = re.compile(r"8086:(?:490|56|0B|E2)[0-9A-F]+", re.IGNORECASE)
_NVIDIA = re.compile(r"nvidia[0-9]{1,4}|dxg", re.ASCII)
_RENDER = re.compile(r"dri/renderD[0-9]{1,4}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Devices:
    """Compute devices by their files below /dev. `others`: (maker, files); `unnamed`: render nodes whose driver
    cannot be read, because the container has no sysfs.
    """

    nvidia: tuple[str, ...] = ()
    others: tuple[tuple[str, tuple[str, ...]], ...] = ()
    unnamed: tuple[str, ...] = ()

    def unread(self, *, cards_read: bool) -> tuple[tuple[str, str], ...]:
        """(name, why) of each maker whose cards nothing reads. `cards_read`: nvidia-smi listed cards, whose
        own render nodes the unnamed ones may be.
        """
        found = list(self.others)
        if self.unnamed and not cards_read:
            found.append((UNKNOWN, self.unnamed))
        return tuple((f"{maker.split()[0]}-cards", _why(maker, files)) for maker, files in found)


def list_devices() -> str:
    """The sh function of this name, whose output `parse_devices` reads; it needs the variables dev and sys."""
    return (files("gpu_tui.parse") / "devices.sh").read_text("utf-8")


def parse_devices(listing: bytes) -> Devices:
    """The devices that `list_devices` printed. Never raises."""
    nodes: dict[str, dict[str, list[str]]] = {}
    for line in listing.decode("ascii", "replace").split("\n")[:LINES_MOST]:
        name, _, rest = line.partition(" ")
        key, _, value = rest.partition(" ")
        nodes.setdefault(name, {}).setdefault(key, []).append(value)
    makers: dict[str, list[str]] = {}
    unnamed = []
    for name, said in sorted(nodes.items()):
        maker = None
        if name == "kfd":
            maker = "AMD"
        elif re.fullmatch(r"davinci\w{0,40}", name, re.ASCII):
            maker = "Ascend"
        elif _RENDER.fullmatch(name):
            maker = _maker(said)
            if not said.keys() & {"driver", "device", "uevent"}:
                unnamed.append(name)
        if maker is not None:
            makers.setdefault(maker, []).append(name)
    return Devices(
        tuple(name for name in sorted(nodes) if _NVIDIA.fullmatch(name)),
        tuple((maker, tuple(files)) for maker, files in sorted(makers.items())),
        tuple(unnamed),
    )


def _maker(said: dict[str, list[str]]) -> str | None:
    """The maker of a render node's card; None where it is not used for computing."""
    event = dict(line.partition("=")[::2] for line in said.get("uevent", ()))
    links = said.get("driver") or [event.get("DRIVER", "")]
    maker = MAKERS.get(links[0].rpartition("/")[2])
    if maker != "Intel":
        return maker
    slot = event.get("PCI_SLOT_NAME") or (said.get("device") or [""])[0].rpartition("/")[2]
    integrated = _INTEGRATED.fullmatch(slot) and not _CARDS.fullmatch(event.get("PCI_ID", ""))
    return None if integrated else maker


def _why(maker: str, files: tuple[str, ...]) -> str:
    shown = ", ".join(f"/dev/{name}" for name in files[:SHOWN])
    more = f" and {len(files) - SHOWN} more" if len(files) > SHOWN else ""
    return f"gpu-tui does not read cards of {maker}: {shown}{more}"
