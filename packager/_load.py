"""`packager.load`: the one object of a file. All else is in PackageImporter."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, BinaryIO

from packager._arguments import check_file, check_options
from packager._process import WithoutOwnFrames

if TYPE_CHECKING:
    from packager._signing import Signers


def load(
    file: str | os.PathLike[str] | BinaryIO | bytes,
    *,
    signed_by: str | os.PathLike[str] | Signers | None = None,
    code: bool = True,
    trust: Sequence[str] = (),
    map_location: object = None,
    **options: Any,
) -> Any:
    """Load the object of an archive that holds one.

    `signed_by` admits only an archive that one of these signers has signed: a public key, its path, a
    signers.toml, or `packager.Signers`. `code=False` refuses an archive that stores code. `trust` names
    further classes of installed packages that it may use. `map_location` is that of `torch.load`. `options`
    are those of PackageImporter.

    Each call makes a new object and imports stored code again, so its classes differ from call to call. When
    nothing refers to that code any more, it is removed from the process, and the file is closed. Arrays stay
    valid.

    Raises ArgumentError for an unknown option, KeyNotStoredError if the archive holds several objects or
    none, and the errors of PackageImporter and its `load_object`.

    >>> import io, numpy, packager
    >>> file = io.BytesIO()  # or a path, "table.kellet"
    >>> proof = packager.save({"scale": numpy.ones(3), "unit": "cm"}, file)
    >>> packager.load(file, code=False)
    {'scale': array([1., 1., 1.]), 'unit': 'cm'}
    """
    from packager.package_importer import PackageImporter

    with WithoutOwnFrames():
        if not isinstance(file, bytes | bytearray | memoryview):
            check_file("file", file, method="read")
        check_options(load, options, PackageImporter)
        importer = PackageImporter(file, signed_by=signed_by, code=code, trust=trust, **options)
        try:
            importer._opened.closes_with_modules = True
            return importer.load_object(map_location=map_location)
        except BaseException:
            importer.close()
            raise
