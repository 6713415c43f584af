"""Tensors of archives as those of any other checkpoint."""

from __future__ import annotations

from packager.archive import TensorReader
from packager.errors import LegacyFormatError
from packager.tensors import SPELLED, dtype_of_stored, itemsize_of

from .legacy_tensors import LegacyStorage, LegacyTensor, checked_tensor


def stored_tensor(
    tensors: TensorReader, key: str, raw: str | None, storages: dict[tuple[int, str], LegacyStorage]
) -> LegacyTensor:
    """Return a tensor of an archive as that of a checkpoint; nothing is read yet.

    `raw` is its dtype where the archive holds bytes of elements that safetensors has no word for. `storages`
    are those that were made for this member, to be shared.

    Raises LegacyFormatError for a dtype that is none of numbers, and what the archive raises for a damaged
    tensor.

    >>> import io, numpy
    >>> from packager import PackageExporter
    >>> from packager.archive import ArchiveReader
    >>> file = io.BytesIO()
    >>> with PackageExporter(file) as exporter:
    ...     exporter.save_state_dict("net", "weights", {"w": numpy.ones(2)})
    >>> with ArchiveReader(file) as reader:
    ...     stored_tensor(TensorReader(reader, "net/weights"), "w", None, {}).numpy()
    array([1., 1.])
    """
    spec = tensors[key]
    try:
        name = raw or dtype_of_stored(spec.dtype)
        dtype = SPELLED[name].name if name in SPELLED else name
        size = itemsize_of(dtype)
    except (TypeError, ValueError) as error:
        shown = raw or spec.dtype
        raise LegacyFormatError(f"tensor {key!r} has dtype {shown!r}, which is not one of numbers") from error
    shape, strides, offset = spec.shape, spec.strides, spec.offset
    if raw is not None:  # rows of bytes, one for each element
        shape, strides, offset = shape[:-1], tuple(stride // size for stride in strides[:-1]), offset // size
    number = spec.storage
    if (number, dtype) not in storages:
        length = tensors.storage_size(number)
        storages[number, dtype] = LegacyStorage(
            f"storage {number}", dtype, length, lambda start, stop: tensors.part(number, start, stop)
        )
    return checked_tensor(storages[number, dtype], dtype, offset, shape, strides)
