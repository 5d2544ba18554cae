"""HDF5: groups of arrays in one file, as Keras writes them. Every array is read whole, in bounded pieces.

Only links inside the file are followed, and only numbers are read: no attribute, and so no configuration
of a model, is ever opened. https://support.hdfgroup.org/documentation/hdf5/latest/_f_m_t3.html
"""

from __future__ import annotations

import importlib
import io
import math
import os
from collections.abc import Iterator
from itertools import product
from typing import Any, BinaryIO

from gpu_tui.teardown.reader import archive
from gpu_tui.teardown.reader.formats import HDF5
from gpu_tui.teardown.reader.hdf5_lib import h5py_module
from gpu_tui.teardown.reader.numpy_file import PACKED_FLOOR, PACKED_TIMES
from gpu_tui.teardown.reader.outcome import Failed, Refused, Seen
from gpu_tui.teardown.reader.torch_lib import torch_module
from gpu_tui.teardown.reader.weights import FLOATS, NUMPY_TYPES, Tally

LINKS_MOST = 100_000
PIECE = 1 << 24  # bytes that are read at once, or one chunk where a chunk is larger
# Built into the library, but for the last, which is h5py's own: deflate, shuffle, fletcher32, lzf.
FILTERS = frozenset({1, 2, 3, 32000})
# Below these Keras keeps what goes on with the training: it is looked at, and is no weight.
STATE = (b"/optimizer/", b"/optimizer_weights/")
# By the version of the superblock: where it says how wide an offset is, where its marks of an open writer
# are, and where three offsets begin, of which the last is the end of the file.
SUPERBLOCK = {0: (13, 20, 24), 1: (13, 20, 28), 2: (9, 11, 12), 3: (9, 11, 12)}
WRITING = 0b101  # open for writing; open for writing while others read


def read(file: BinaryIO, size: int, start: int = 0) -> Seen:
    """The judgement on the `size` bytes from `start` on. Where no number is in them, a warning says so."""
    window = Window(file, start, size)
    if size == 0:
        raise Failed("an empty file")
    if size < len(HDF5) or window.read(len(HDF5)) != HDF5:
        raise Failed("no HDF5 file")  # what is broken is broken, also where nothing can read it
    tally = Tally(torch_module())
    h5py = h5py_module()
    try:
        with h5py.File(window, "r") as opened:
            _check_closed(window, size)
            held = _arrays(h5py, opened.id, size, tally)
    except (Failed, Refused, MemoryError):
        raise
    except Exception as error:  # the library's own words quote the file
        raise Failed(f"it does not load ({type(error).__name__})") from None
    seen = tally.seen(may_be_empty=held == {"texts"})
    seen.detail = archive.NO_CHECKSUM
    if held == {"texts"}:
        seen.warnings.append("there is no number in it")
    elif "state" in held and "weights" not in held:
        seen.no_weights()
    return seen


def _check_closed(window: Window, size: int) -> None:
    """Failed where the writer died: what it flushed before reads well, and what came later is not there.

    Only a writer that ends well takes its mark away, and gives the file the length that it says.
    """
    window.seek(0)
    head = window.read(min(size, 64)) or b""
    width_at, marks_at, offsets_at = SUPERBLOCK[head[8]]
    width = head[width_at]
    end = head[offsets_at + 2 * width : offsets_at + 3 * width]
    if head[marks_at] & WRITING or int.from_bytes(end, "little") != size:
        raise Failed("its writer never closed it: the save was cut")


class Window(io.RawIOBase):
    """`size` bytes of a file from `start` on, as a file: of the rest the library sees nothing."""

    def __init__(self, file: BinaryIO, start: int, size: int) -> None:
        super().__init__()
        self._file, self._start, self._size, self._at = file, start, size, 0

    def readable(self) -> bool:
        """As every file that is read."""
        return True

    def seekable(self) -> bool:
        """As every file on a disk."""
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """To an offset in the window."""
        self._at = offset + {os.SEEK_CUR: self._at, os.SEEK_END: self._size}.get(whence, 0)
        return self._at

    def tell(self) -> int:
        """The offset in the window."""
        return self._at

    def readinto(self, buffer: Any) -> int:
        """All of the buffer: h5py takes a short read for a whole one. EOFError at the end."""
        view = memoryview(buffer).cast("B")
        if self._at + len(view) > self._size:
            raise EOFError
        done = 0
        while done < len(view):
            data = os.pread(self._file.fileno(), len(view) - done, self._start + self._at)
            if not data:
                raise EOFError
            view[done : done + len(data)] = data
            done += len(data)
            self._at += len(data)
        return done


def _arrays(h5py: Any, root: Any, size: int, tally: Tally) -> set[str]:
    """Add every array to the tally; which of `texts`, `weights`, `state` and `counts` (no floats) were met."""
    claimed = stored = 0
    held: set[str] = set()
    for dataset in _datasets(h5py, root):
        _refuse(h5py, dataset)
        array = h5py.Dataset(dataset)
        count = math.prod(array.shape) if array.shape is not None else 0
        claimed += count * dataset.get_type().get_size()
        stored += dataset.get_storage_size()
        if claimed > max(PACKED_FLOOR, PACKED_TIMES * size):
            raise Failed("it unpacks to far too much")
        if stored > size:
            raise Failed("its arrays are larger than the file")
        if not count:
            continue
        if not dataset.get_storage_size():
            raise Failed("an array in it was never written")
        if _has_holes(array):
            raise Failed("an array in it was written only in part")
        state, zero, floats = h5py.h5i.get_name(dataset).startswith(STATE), True, False
        tally.weights = not state
        if dataset.get_type().detect_class(h5py.h5t.STRING):
            held.add("texts")
        for piece in _pieces(array.shape, array.chunks, dataset.get_type().get_size()):
            for kind, data in _numbers(array[piece]):
                zero = tally.raw(kind, data) and zero
                floats = floats or kind.startswith(FLOATS)
                weights = "weights" if kind.startswith(FLOATS) else "counts"
                held.add("state" if state else weights)
        if floats and count > 1 and not state:
            tally.count(zero, len(array.shape))
    return held


def _datasets(h5py: Any, root: Any) -> Iterator[Any]:
    """Each array that a hard link leads to, once; links in circles end."""
    todo, soft, links = [root], [], 0
    met = {h5py.h5o.get_info(root).addr}
    while todo:
        group = todo.pop()
        links += group.get_num_objs()
        if links > LINKS_MOST:
            raise Failed(f"it holds more than {LINKS_MOST} things")
        for name in group:
            if b"/" in name:  # the library would take it for a path, and follow every link on it
                raise Failed("it names something twice, or by no name")
            kind = group.links.get_info(name).type
            if kind == h5py.h5l.TYPE_SOFT:
                soft.append((group, name))
                continue
            if kind != h5py.h5l.TYPE_HARD:
                raise Refused("it points to another file: save its weights whole there")
            found = h5py.h5o.open(group, name)
            place = h5py.h5o.get_info(found).addr
            if place in met:
                continue
            met.add(place)
            if isinstance(found, h5py.h5g.GroupID):
                todo.append(found)
            elif isinstance(found, h5py.h5d.DatasetID):
                yield found
    # A soft link is a name for what stands elsewhere in the file, and was read there. That no way out of
    # the file is in reach is known by now, so asking where it leads opens nothing else.
    if not all(h5py.h5o.exists_by_name(group, name) for group, name in soft):
        raise Failed("a link in it leads nowhere")


def _refuse(h5py: Any, dataset: Any) -> None:
    """Refused where reading it would open another file, or run a filter that is not built in."""
    made = dataset.get_create_plist()
    if made.get_external_count() or made.get_layout() == h5py.h5d.VIRTUAL:
        raise Refused("its numbers lie in another file: save its weights whole there")
    used = {made.get_filter(number)[0] for number in range(made.get_nfilters())}
    if unknown := sorted(used - FILTERS):
        raise Refused(
            f"it is packed by filter {unknown[0]}, which is never loaded here: save it again there"
            " with gzip or unpacked"
        )
    if dataset.get_type().detect_class(h5py.h5t.REFERENCE):
        raise Refused("it holds references, which are never followed")


def _has_holes(array: Any) -> bool:
    """A part that was never written reads as zeros."""
    if array.chunks is None:
        return False
    whole = math.prod(-(-n // chunk) for n, chunk in zip(array.shape, array.chunks, strict=True))
    return bool(array.id.get_num_chunks() < whole)


def _pieces(
    shape: tuple[int, ...], chunks: tuple[int, ...] | None, each: int
) -> Iterator[tuple[slice, ...]]:
    """Boxes that cover an array, of whole chunks: each chunk is unpacked once."""
    least = chunks or (1,) * len(shape)
    step = list(least)
    for axis in reversed(range(len(shape))):
        row = math.prod(step) * max(1, each)
        step[axis] = min(shape[axis], step[axis] * max(1, PIECE // row))
    starts = (range(0, n, stride) for n, stride in zip(shape, step, strict=True))
    for corner in product(*starts):
        yield tuple(slice(at, at + stride) for at, stride in zip(corner, step, strict=True))


def _numbers(value: Any) -> Iterator[tuple[str, bytes]]:
    """(kind as torch calls it, bytes) of the numbers in what was read; texts are none."""
    numpy = importlib.import_module("numpy")
    array = numpy.asarray(value)
    code = array.dtype
    if code.names:
        for name in code.names:
            yield from _numbers(array[name])
    elif code.hasobject:
        rows = [row for row in array.ravel() if isinstance(row, numpy.ndarray)]
        if rows:
            yield from _numbers(numpy.concatenate(rows))
    elif code.kind in "biufcV":
        widest = {"f": 8, "c": 16}.get(code.kind, code.itemsize)
        code = (
            numpy.dtype(f"{code.kind}{min(code.itemsize, widest)}") if code.kind in "fc" else code
        )
        data = array.astype(code.newbyteorder("<"), copy=False)
        yield NUMPY_TYPES.get(data.dtype.str.replace("|", "<"), "uint8"), data.tobytes()
