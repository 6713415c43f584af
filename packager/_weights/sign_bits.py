"""Conjugated and negated views: a storage as a tensor shows it whose `conj` or `neg` bit is set.

PyTorch keeps `tensor.conj()` and `tensor.conj().imag` as views of the same bytes with a bit beside them, and
saves the bytes as they are and the bits as metadata of the tensor. Here such a tensor lies in a storage
of its own, whose bytes are those of the file with the signs turned: whatever reads a tensor reads its
values, and tensors that show one storage in the same way stay tied.

Source: `_rebuild_tensor_v2` and `_rebuild_tensor_v3` of PyTorch, `at::native::neg` for which dtypes have one.
"""

from __future__ import annotations

from typing import Any, Final

from packager._quick_dataclasses import dataclass
from packager._tensors import itemsize_of
from packager._texts import listed
from packager.errors import ArchiveError

from .legacy_tensors import LegacyStorage

# How many numbers an element is, each of which has its sign in its highest bit.
_PARTS: Final = {
    **dict.fromkeys(("float16", "bfloat16", "float32", "float64"), 1),
    **dict.fromkeys(("complex64", "complex128"), 2),
}
_INTEGERS: Final = ("uint8", "int8", "int16", "int32", "int64")


@dataclass(frozen=True, slots=True)
class SignBits:
    """Whether a tensor shows its storage conjugated, and whether negated."""

    conj: bool = False
    neg: bool = False

    def __str__(self) -> str:
        names = ("conjugated",) * self.conj + ("negated",) * self.neg
        return " and ".join(names) or "as it is"


def sign_bits_in(metadata: object) -> SignBits:
    """Return the bits in the metadata that a pickle has for a tensor; None and {} say that none is set.

    Raises ArchiveError for any other key, by its name, and ValueError for a bit that is not true or false.
    """
    if metadata is None:
        return SignBits()
    if not isinstance(metadata, dict):
        raise ValueError(f"the metadata of a tensor is {type(metadata).__name__}; expected a dict")
    unknown = [key for key in metadata if type(key) is not str or key not in ("conj", "neg")]
    if unknown:
        shown = [f"{key!r:.80}" for key in unknown]
        raise ArchiveError(
            f"the metadata of a tensor has {listed(shown)}, and what that means for its values is not "
            "known; expected 'conj' and 'neg' alone. Save it again as a plain tensor of the CPU"
        ).holding(shown)
    for key, value in metadata.items():
        if type(value) is not bool:
            raise ValueError(f"{key!r} in the metadata of a tensor is {value!r:.80}; expected true or false")
    return SignBits(**metadata)


class ViewedStorages:
    """The storages of one file as its tensors show them: each way of showing one is one storage."""

    def __init__(self, big_endian: bool) -> None:
        self._big_endian = big_endian
        self._made: dict[tuple[LegacyStorage, str, SignBits], ShownStorage] = {}

    def shown(self, storage: LegacyStorage, dtype: str, bits: SignBits) -> LegacyStorage:
        """Return `storage` as a tensor of this dtype shows it; itself where no bit is set.

        Raises ValueError for a dtype that PyTorch cannot conjugate or negate.
        """
        if bits == SignBits():
            return storage
        if bits.conj and _PARTS.get(dtype) != 2:
            raise ValueError(f"a tensor of {dtype} is marked as conjugated; only complex ones can be")
        if bits.neg and dtype not in _PARTS and dtype not in _INTEGERS:
            raise ValueError(f"a tensor of {dtype} is marked as negated, and that dtype has no negative")
        key = storage, dtype, bits
        if key not in self._made:
            self._made[key] = ShownStorage(storage, dtype, bits, self._big_endian)
        return self._made[key]


class ShownStorage(LegacyStorage):
    """The bytes of `base` with the signs of its elements turned, as `bits` say, whenever they are read."""

    __slots__ = ("base", "bits")

    def __init__(self, base: LegacyStorage, dtype: str, bits: SignBits, big_endian: bool) -> None:
        def read(start: int, stop: int) -> memoryview:
            size = itemsize_of(dtype)
            first = start - start % size
            last = min(stop + -stop % size, base.nbytes)
            turned = _turned(base.read(first, last), dtype, bits, big_endian)
            return turned[start - first : stop - first]

        super().__init__(base.key, base.dtype, base.nbytes, read)
        self.base = base
        self.bits = bits


def shown_by(storage: LegacyStorage) -> LegacyStorage:
    """Return the storage of the file that a storage shows; itself where it shows no other."""
    return storage.base if isinstance(storage, ShownStorage) else storage


def _turned(data: memoryview, dtype: str, bits: SignBits, big_endian: bool) -> memoryview:
    """Return elements with their signs turned; bytes behind the last whole element stay as they are."""
    import numpy as np

    array: Any = np.frombuffer(data, np.uint8).copy()
    size = itemsize_of(dtype)
    whole = array[: len(array) // size * size]
    if dtype in _INTEGERS:
        numbers = whole.view(np.dtype(dtype).newbyteorder(">" if big_endian else "<"))
        np.negative(numbers, out=numbers)
        return memoryview(array)
    width = size // _PARTS[dtype]
    highest = 0 if big_endian else width - 1
    # The sign alone, so that zeros and what is no number turn too, and no dtype has to be known to NumPy.
    for part, turn in enumerate((bits.neg, bits.neg != bits.conj)[: _PARTS[dtype]]):
        if turn:
            whole.reshape(-1, _PARTS[dtype], width)[:, part, highest] ^= 0x80
    return memoryview(array)
