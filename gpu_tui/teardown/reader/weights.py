"""Weights judged: every byte of every storage touched once, what is not finite counted."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from gpu_tui.teardown.reader.hulls import Array, Hull
from gpu_tui.teardown.reader.outcome import Failed, Seen

NODES = 1_000_000  # containers and tensors that a checkpoint may hold
CHUNK = 1 << 24  # elements, or bytes of a copy, judged at once
LITTLE = 1024  # bytes of weights below which it is said how few they are
NUMPY_TYPES = {
    **{f"<f{size}": f"float{8 * size}" for size in (2, 4, 8)},
    **{f"<c{size}": f"complex{8 * size}" for size in (8, 16)},
    "<V2": "bfloat16",  # numpy knows none: JAX's and Keras's are two opaque bytes to it
}
FLOATS = ("float", "bfloat", "complex")  # how the names of such kinds begin

Raw = bytes | memoryview


@dataclass(slots=True)
class Tally:
    """What was seen so far, over one file or many."""

    torch: Any
    tensors: int = 0
    bytes: int = 0
    values: int = 0
    odd: int = 0
    unread: int = 0
    arrays: int = 0  # of more than one float
    matrices: int = 0  # of these, with more than one dimension
    zeros: tuple[int, int] = (0, 0)  # arrays that hold only zeros: with one dimension, with more
    weights: bool = True  # what is added now is weights, not what goes on with a training
    _of_weights: list[int] = field(default_factory=lambda: [0, 0, 0])  # values, odd, not zero
    _seen: dict[int, bool] = field(default_factory=dict)

    def add(self, loaded: object) -> None:
        """Walk one loaded object. Failed where it holds too much, or tensors without data."""
        for item in self._leaves(loaded):
            if isinstance(item, Array):
                self._array(item)
            elif isinstance(item, self.torch.storage.TypedStorage):
                self.tensors += 1
                self._storage(item._untyped_storage, item.dtype)
            elif isinstance(item, self.torch.storage.UntypedStorage):
                self.tensors += 1
                self._storage(item, self.torch.uint8)
            else:
                self._tensor(item)
        self._seen.clear()  # addresses are reused once the object is gone

    def judge(self, values: int, odd: int, zero: bool) -> None:
        """So many floats are weights; `odd` of them are not finite, or all of them are zero."""
        added = (values, odd, not zero)
        self._of_weights = [sum(pair) for pair in zip(self._of_weights, added, strict=True)]

    def count(self, zero: bool, dimensions: int) -> None:
        """One array of floats, and whether it holds only zeros."""
        if self.weights:
            self.arrays += 1
            self.matrices += dimensions > 1
            vectors, matrices = self.zeros
            self.zeros = (
                (vectors, matrices + zero) if dimensions > 1 else (vectors + zero, matrices)
            )

    @property
    def blank(self) -> str | None:
        """`nan` where no weight is finite, `zero` where all are zero."""
        values, odd, others = self._of_weights
        if not values:
            return None
        return "nan" if odd == values else "zero" if not others else None

    def seen(self, *, may_be_empty: bool = False) -> Seen:
        """The judgement; Failed where there is nothing in it."""
        if not (self.tensors and self.bytes) and not may_be_empty:
            raise Failed("there is not one weight in it")
        notes = []
        if self.odd:
            notes.append(f"{self.odd} of {self.values} values are NaN or infinite")
        if self.blank == "zero":
            notes.append("every weight in it is zero")
        elif zeros := self.zeros[self.matrices > 0]:  # next to matrices, biases of zeros are usual
            notes.append(f"{zeros} of {self.arrays} tensors hold only zeros")
        if self.unread:
            notes.append(f"{self.unread} tensors of a layout that was not read")
        if 0 < self.bytes < LITTLE:
            notes.append(f"only {self.bytes} bytes of weights")
        share = self.odd / self.values if self.values else None
        return Seen("", notes, share, self.tensors, self.bytes, self.blank)

    def _tensor(self, tensor: Any) -> None:
        self.tensors += 1
        if tensor.device.type != "cpu":
            raise Failed("it holds tensors without data")
        if tensor.is_nested or tensor.layout is not self.torch.strided:
            self.unread += 1  # no operation is ever run on such a tensor
            return
        dtype = self.torch.uint8 if tensor.is_quantized else tensor.dtype
        storage = tensor.untyped_storage()
        zero = self._storage(storage, dtype)
        # Of a view only its whole storage was looked at: that it is zero is known where all of that is.
        if tensor.numel() > 1 and (dtype.is_floating_point or dtype.is_complex):
            self.count(zero, tensor.dim())

    def _array(self, array: Array) -> None:
        raw = array.raw
        if raw is None:
            return
        code, data = raw
        kind = NUMPY_TYPES.get(code, "uint8")
        zero = self.raw(kind, data)
        if kind.startswith(FLOATS):
            self.count(zero, 1)

    def raw(self, kind: str, data: Raw) -> bool:
        """One array, or a piece of one: its little-endian bytes, and their kind as torch calls it. Returns whether it
        holds only zeros.
        """
        self.tensors += 1
        zero = True
        dtype = getattr(self.torch, kind, None) if kind.startswith(FLOATS) else self.torch.uint8
        if dtype is None:
            self.unread += 1
            dtype = self.torch.uint8
        if len(data) % dtype.itemsize:
            raise Failed("an array in it is not as long as it says")
        for start in range(0, len(data), CHUNK):
            flat = self.torch.frombuffer(bytearray(data[start : start + CHUNK]), dtype=dtype)
            zero = self._storage(flat.untyped_storage(), dtype) and zero
            self._seen.clear()  # the copy goes, its address comes back
        return zero

    def _storage(self, storage: Any, dtype: Any) -> bool:
        """Whether it holds only zeros; of what is no float that is not looked at."""
        at = storage.data_ptr()
        if at in self._seen:
            return self._seen[at]
        self.bytes += storage.nbytes()
        floating = dtype.is_floating_point or dtype.is_complex
        if not floating or storage.nbytes() % dtype.itemsize:
            dtype, floating = self.torch.uint8, False
        flat = self.torch.empty(0, dtype=dtype).set_(storage)
        zero, odd = bool(floating), self.odd
        for start in range(0, flat.numel(), CHUNK):
            zero = self._part(flat[start : start + CHUNK], floating) and zero
        if floating:
            self.values += flat.numel()
            if self.weights:
                self.judge(flat.numel(), self.odd - odd, zero)
        self._seen[at] = zero
        return zero

    def _part(self, part: Any, floating: bool) -> bool:
        """Whether it holds only zeros."""
        torch = self.torch
        if part.is_complex():
            part = torch.view_as_real(part)
        elif floating and part.element_size() == 1:
            part = part.to(torch.float32)  # 8-bit floats have no minimum of their own
        low, high = torch.aminmax(part)
        if not floating:
            return False
        # The pair carries NaN and infinities through; isfinite over everything costs 14 times as much.
        if not (torch.isfinite(low) and torch.isfinite(high)):
            odd = ~torch.isfinite(part)
            self.odd += int((odd.any(dim=-1) if part.dim() > 1 else odd).sum())
        return bool((low == 0) & (high == 0))

    def _leaves(self, loaded: object) -> Iterator[Any]:
        """Every tensor, array and storage, without recursion and each container once."""
        torch = self.torch
        leaf = (torch.Tensor, torch.storage.TypedStorage, torch.storage.UntypedStorage, Array)
        todo, met, nodes = [loaded], set[int](), 0
        while todo:
            value = todo.pop()
            nodes += 1
            if nodes > NODES:
                raise Failed(f"it holds more than {NODES} things")
            if isinstance(value, leaf):
                yield value
            if id(value) in met:
                continue
            met.add(id(value))
            todo += (item for item in _inside(value) if isinstance(item, (*leaf, *CONTAINERS)))


CONTAINERS = (dict, list, tuple, set, frozenset, Hull)


def _inside(value: object) -> Any:
    if isinstance(value, dict):
        return value.values()
    if isinstance(value, Hull):
        return value.parts
    return value if isinstance(value, list | tuple | set | frozenset) else ()
