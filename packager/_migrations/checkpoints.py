"""Load a checkpoint file into a module: open it, migrate it, convert its tensors, load them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any

from packager._arguments import check_flag
from packager._codecs import tensor_in
from packager._tensors import DTYPES, StoredTensor, contiguous_strides, dtype_name, numpy_dtype, stored_as
from packager._weights import Checkpoint, as_lazy, open_checkpoint
from packager.errors import ArgumentError, LegacyFormatError, MigrationError

from .attachments import framework_of
from .chains import migrate
from .declaring import Migration, as_migrations
from .migrated_values import MigratedDict, is_array
from .renaming import drop, rename

WRAPPERS = Migration(
    "wrappers",
    [
        drop("n_averaged", if_all="n_averaged"),
        rename("module.{rest:any}", "{rest}", repeat=True),
        rename("_orig_mod.{rest:any}", "{rest}", repeat=True),
        rename("module.{rest:any}", "{rest}", repeat=True),
        rename("{a:any}._orig_mod.{b:any}", "{a}.{b}", repeat=True),
    ],
    generic=True,
    unwrap=("state_dict_ema", "model_ema", "ema_state_dict", "state_dict", "model_state_dict", "model"),
)
"""What DistributedDataParallel, torch.compile, AveragedModel and training loops put around a state dict."""


def load_checkpoint(
    module: Any,
    path: str | os.PathLike[str] | Checkpoint,
    *migrations: Migration,
    unwrap: str | None = None,
    strict: bool = True,
    skip_unknown: bool = False,
) -> Any:
    """Load a file of weights of any known format into a module of kellet or PyTorch.

    (Any other object with a `load_state_dict` gets arrays of NumPy.)

    `path` is that of a file, or a Checkpoint that `open_checkpoint` has opened. `migrations` bring its keys
    up to date first, WRAPPERS among them if you like; their gates and transforms may read this module. Then
    the module's own `load_state_dict` runs with all its hooks and the migrations attached to its classes.
    Nothing in the file is executed, and values are read one by one. `unwrap` names the state dict if there
    are several; by default the `unwrap` of the migrations does. With `skip_unknown=True` objects and
    functions are left out, as in `open_checkpoint`.

    Returns the result of `load_state_dict`, and raises its errors with a note on what to do next. Raises
    ArgumentError for an object without `load_state_dict`, and for `unwrap` or `skip_unknown` with an open
    Checkpoint, LegacyFormatError and MigrationError if the file cannot be read or migrated.

    >>> import numpy, tempfile
    >>> from kellet import nn
    >>> from packager.migrations import WRAPPERS
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     arrays = {"module.weight": numpy.ones((1, 2)), "module.bias": numpy.zeros(1)}
    ...     numpy.savez(f"{folder}/last.npz", **arrays)
    ...     load_checkpoint(nn.Linear(2, 1), f"{folder}/last.npz", WRAPPERS)
    <All keys matched successfully>
    """
    if isinstance(module, type) or not callable(getattr(module, "load_state_dict", None)):
        meant = f"make one: {module.__name__}(...)" if isinstance(module, type) else _ORDER
        raise ArgumentError(
            f"expected a module with load_state_dict(), got {type(module).__name__}: {module!r:.60}; {meant}"
        )
    migrations = as_migrations(migrations)
    check_flag("strict", strict)
    check_flag("skip_unknown", skip_unknown)
    if not isinstance(path, Checkpoint):
        checkpoint = open_wrapped(path, migrations, unwrap=unwrap, skip_unknown=skip_unknown)
    elif unwrap is not None or skip_unknown:
        raise ArgumentError(
            "path is an open Checkpoint; give unwrap= and skip_unknown= to open_checkpoint(path, ...), which "
            "opened it"
        )
    else:
        checkpoint = path
    library = framework_of(type(module)) or "numpy"
    migrated = migrate(migrations, checkpoint, version_of(checkpoint), module=module)
    try:
        return module.load_state_dict(_Converted(migrated, library), strict=strict)
    except (
        RuntimeError
    ) as error:  # of kellet and PyTorch: keys that are missing, unexpected or of another shape
        error.add_note(_NEXT.format(str(checkpoint.path)))
        raise


def open_wrapped(
    path: str | os.PathLike[str],
    migrations: tuple[Migration, ...],
    *,
    unwrap: str | None = None,
    skip_unknown: bool = False,
) -> Checkpoint:
    """Open a file; where it holds several state dicts, the first that the migrations' `unwrap` names.

    What a generic migration names comes after the others: it knows nothing of this file.

    >>> import numpy, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     numpy.savez(f"{folder}/old.npz", weight=numpy.ones((2, 3)))
    ...     list(open_wrapped(f"{folder}/old.npz", (WRAPPERS,)))
    ['weight']
    """
    names = [name for one in sorted(migrations, key=lambda one: one.generic) for name in one.unwrap]
    if unwrap is None and names:
        whole = _opened_under(path, names, skip_unknown)
        if whole is not None:
            return whole
    return open_checkpoint(path, unwrap=unwrap, skip_unknown=skip_unknown)


def _opened_under(path: str | os.PathLike[str], names: list[str], skip_unknown: bool) -> Checkpoint | None:
    for name in names:
        try:
            return open_checkpoint(path, unwrap=name, skip_unknown=skip_unknown)
        except LegacyFormatError:  # nothing of that name; what else is wrong the next opening says
            continue
    return None


def choice_of(state: object) -> tuple[str, ...]:
    """Return what `unwrap` has to name so that the same state dict of a file is opened again.

    Empty where nothing has to be said: what is opened is the only one, or is no Checkpoint.

    >>> choice_of({"weight": 1})
    ()
    """
    if not isinstance(state, Checkpoint) or not state.container:
        return ()
    try:
        place: Any = state.path  # or an address
        found = open_checkpoint(place, skip_unknown=True)
        if found.container == state.container and not found.others:
            return ()
    except (LegacyFormatError, OSError):  # several are there, or the file itself no longer is
        pass
    # In a torch.package `unwrap` names the pickle, and the state dict inside is the only one.
    return (state.container.partition(":")[0] if state.format == "torch.package" else state.container,)


def version_of(checkpoint: Checkpoint) -> int | None:
    """Return the version of the layout that a checkpoint says of its root; None where it says none.

    >>> import numpy, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     numpy.savez(f"{folder}/old.npz", weight=numpy.ones((2, 3)))
    ...     version_of(open_checkpoint(f"{folder}/old.npz")) is None
    True
    """
    version = (checkpoint.metadata.versions or {}).get("", {}).get("version")
    return version if type(version) is int else None


_NEXT = """To rename keys, start from a draft:
    import packager
    print(packager.migrations.suggest_migration(packager.open_checkpoint({0!r}), module))
To load only the keys that fit: load_checkpoint(module, {0!r}, strict=False)"""
_ORDER = "write load_checkpoint(module, path, *migrations)"


class _Converted(Mapping[str, Any]):
    """A migrated state dict with the tensors of a library, each made when it is asked for."""

    def __init__(self, state: MigratedDict, library: str) -> None:
        self._state = state
        self._library = library
        self._metadata = getattr(state, "_metadata", None)

    def __getitem__(self, key: str) -> Any:
        value = self._state.lazy(key)
        if not is_array(value):
            return value
        lazy = as_lazy(value)
        content = bytearray(b"".join(lazy.pieces()))
        known = DTYPES.get(lazy.dtype)
        name = dtype_name(numpy_dtype(lazy.dtype)) if known is None else known.spelling
        if name is None:
            raise MigrationError(f"{key!r}: expected numbers, found dtype {lazy.dtype}")
        dtype, width = stored_as(name)
        shape = (*lazy.shape, width) if width else lazy.shape  # what has no word is rows of bytes
        stored = StoredTensor(dtype, shape, contiguous_strides(shape), 0, memoryview(content))
        return tensor_in(stored, name if width else None, self._library)

    def __iter__(self) -> Iterator[str]:
        return iter(self._state)

    def __len__(self) -> int:
        return len(self._state)
