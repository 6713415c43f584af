"""`packager.save`: one object, one file. All else is in PackageExporter."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, BinaryIO

from packager._arguments import check_file, check_options
from packager._process import WithoutOwnFrames
from packager._texts import in_lines
from packager.errors import PackagingError

if TYPE_CHECKING:
    from packager._proving import Proof
    from packager._signing import Signer


def save(
    obj: object,
    file: str | os.PathLike[str] | BinaryIO,
    *,
    example: object = None,
    method: str | None = None,
    sign: str | os.PathLike[str] | Signer | None = None,
    **options: Any,
) -> Proof | None:
    """Save one object, with the code that it needs, as one file. Return the proof that it can be loaded.

    A dict is one object, too. `example` is what it is called with: one argument (a tuple is one), or
    `packager.Example(*args, **kwargs)`. The outputs are stored, so that `kellet check` can compare them
    anywhere. `method` names the method to call, by default the object itself or its `predict`, `transform` or
    `decision_function`. `sign` is a private key, as a path or a `packager.Signer`.

    `options` are those of PackageExporter, with `policy="auto"` as the default: installed packages are
    required, the project's own code is stored. With `prove=False` nothing is proved, and None is returned.

    Raises ArgumentError for an unknown option or an example that does not fit, PackagingError with all
    problems, ProofError if the file cannot be loaded in a clean process. An old file is then left unchanged.

    >>> import io, numpy, packager
    >>> file = io.BytesIO()  # or a path, "table.kellet"
    >>> print(packager.save({"scale": numpy.ones(3), "unit": "cm"}, file))
    loaded in this process
    >>> packager.save({}, file, polcy="auto")
    Traceback (most recent call last):
        ...
    packager.errors.ArgumentError: save() has no option 'polcy'; did you mean policy?
    """
    from packager.package_exporter import PackageExporter

    with WithoutOwnFrames():
        check_file("file", file, method="write")
        check_options(save, options, PackageExporter)
        try:
            with PackageExporter(file, sign=sign, **{"policy": "auto", **options}) as exporter:
                exporter.save_object("model", "model", obj, example=example, method=method)
        except PackagingError as error:
            if "exporter." in str(error):
                error.add_note(_with_exporter(file))
            raise
    return exporter.proof


def _with_exporter(file: Any) -> str:
    """Return how a line of an exporter is written in place of a call of `save`."""
    path = repr(os.fspath(file)) if isinstance(file, str | os.PathLike) else "file"
    return in_lines(
        "To use a line of `exporter`, write in place of save():",
        f'    with packager.PackageExporter({path}, policy="auto") as exporter:',
        "        ...  # that line",
        '        exporter.save_object("model", "model", obj, example=...)  # as given to save()',
    )
