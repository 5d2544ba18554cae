"""Device files of compute cards: whose they are, and which of them are no card at all."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu_tui.core.idle import gpus_idle
from gpu_tui.parse.devices import parse_devices
from gpu_tui.parse.nvidia_smi import parse_gpus

NODE = "dri/renderD128"


def node(driver: str, slot: str, pci: str = "8086:0000") -> str:
    """A render node with all that sysfs holds of it."""
    return (
        f"{NODE}\n{NODE} driver ../../../../bus/pci/drivers/{driver}\n{NODE} device ../../../{slot}\n"
        f"{NODE} uevent DRIVER={driver}\n{NODE} uevent PCI_ID={pci}\n{NODE} uevent PCI_SLOT_NAME={slot}\n"
    )


CARDS = {
    "AMD's compute device, without sysfs": ("kfd", "AMD"),
    "Ascend": ("davinci0\ndavinci_manager", "Ascend"),
    "AMD by its driver": (node("amdgpu", "0000:c1:00.0"), "AMD"),
    "Intel under xe": (node("xe", "0000:03:00.0", "8086:E20B"), "Intel"),
    "Intel under i915": (node("i915", "0000:3a:00.0", "8086:56C0"), "Intel"),
    "Intel in a guest, in the slot of an integrated one": (
        node("i915", "0000:00:02.0", "8086:56a0"),
        "Intel",
    ),
    "only the driver is known": (f"{NODE}\n{NODE} driver /sys/bus/pci/drivers/i915", "Intel"),
    "only the event is known": (f"{NODE}\n{NODE} uevent DRIVER=amdgpu", "AMD"),
}
NO_CARDS = {
    "nothing": "",
    "virtio": node("virtio-pci", "0000:00:04.0", "1AF4:1050"),
    "ast": node("ast", "0000:02:00.0", "1A03:2000"),
    "vgem has no driver": f"{NODE}\n{NODE} device ../../../vgem\n{NODE} uevent MODALIAS=platform:vgem",
    "integrated, i915": node("i915", "0000:00:02.0", "8086:A780"),
    "integrated, xe": node("xe", "0000:00:02.0", "8086:64A0"),
    "nvidia's own": node("nvidia", "0000:41:00.0", "10DE:26B9"),
    "a name that only begins alike": "kfdx\ndri/renderDx\ndri/card0",
}


@pytest.mark.parametrize("case", CARDS)
def test_a_card_of_another_maker_is_named_by_its_file(case: str) -> None:
    listing, maker = CARDS[case]
    ((name, why),) = parse_devices(listing.encode()).unread(cards_read=False)
    assert name == f"{maker}-cards"
    assert why.startswith(f"gpu-tui does not read cards of {maker}: /dev/")
    table = parse_gpus(b"", 127, b"", 0, devices=listing.encode())
    assert table.error is not None
    assert table.error.kind == "other-maker"
    assert gpus_idle(table) is None


@pytest.mark.parametrize("case", NO_CARDS)
def test_what_nobody_computes_on_is_no_card(case: str) -> None:
    table = parse_gpus(b"", 127, b"", 0, devices=NO_CARDS[case].encode())
    assert table.error is not None
    assert table.error.kind == "no-nvidia-smi"
    assert gpus_idle(table) is True


@pytest.mark.parametrize(("cards_read", "named"), [(False, 1), (True, 0)])
def test_a_render_node_without_sysfs_is_unknown_unless_it_may_be_of_a_card_that_was_read(
    cards_read: bool, named: int
) -> None:
    assert len(parse_devices(NODE.encode()).unread(cards_read=cards_read)) == named


@pytest.mark.parametrize(("output", "code"), [(b"", 127), (b"No devices were found", 6)])
@pytest.mark.parametrize("file", ["nvidia0", "nvidia15", "dxg"])
def test_a_card_that_nothing_lists_is_not_idle(output: bytes, code: int, file: str) -> None:
    table = parse_gpus(output, code, b"", 0, devices=file.encode())
    assert gpus_idle(table) is None
    assert table.error is not None
    assert f"/dev/{file}" in table.error.text


def test_many_files_of_one_maker_are_one_line() -> None:
    listing = "\n".join(f"davinci{number}" for number in range(16)).encode()
    ((_, why),) = parse_devices(listing).unread(cards_read=True)
    assert why.endswith("of Ascend: /dev/davinci0, /dev/davinci1, /dev/davinci10 and 13 more")


@given(st.binary(max_size=400))
def test_hostile_text_is_no_crash_and_no_name(listing: bytes) -> None:
    for name, why in parse_devices(listing).unread(cards_read=False):
        assert (name + why).isprintable()
