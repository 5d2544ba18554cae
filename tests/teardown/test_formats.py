"""Which reader gets a file, by its name and its first bytes, however few there are."""

from __future__ import annotations

import pytest

from gpu_tui.teardown.reader import formats
from gpu_tui.teardown.reader.formats import kind_of

NAME = b"archive/data.pkl"
HEADS = (
    formats.ZIP + bytes(22) + len(NAME).to_bytes(2, "little") + bytes(2) + NAME + bytes(20),
    b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19.\x80\x02M\xe9\x03.",
    b"\x89HDF\r\n\x1a\n" + bytes(40),
    b"\x93NUMPY\x01\x00v\x00{'descr': '<f4'}",
    b'\x40\x00\x00\x00\x00\x00\x00\x00{"__metadata__":{}}',
)


@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize("name", ["train.log", "best.pth", "a.bin", "model.safetensors", "x"])
def test_a_file_may_end_anywhere(name: str, head: bytes) -> None:
    for length in range(len(head) + 1):
        assert isinstance(kind_of(name, head[:length]), str)


def test_an_archive_of_torch_is_known_by_its_first_member() -> None:
    assert kind_of("train.log", HEADS[0]) == "torch"
    assert kind_of("train.log", HEADS[0][:29]) == "data"
