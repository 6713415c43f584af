"""Real pickles, for people who come from torch.package: refused unless the caller says otherwise.

A pickle runs code when it is read, whatever its names are. Its classes come from the archive's own
modules, as its other code does.
"""

from __future__ import annotations

import io
import pickle
from typing import Any

from packager.errors import PickleRefusedError

from .load_context import find_record
from .opening import OpenArchive


def require_pickle(opened: OpenArchive, package: str, resource: str) -> None:
    """Raise PickleRefusedError for an object or a state dict: each is data, with a method of its own."""
    manifest = opened.reader.manifest
    found = {
        "object": find_record(manifest.objects, package, resource)[0],
        "state_dict": find_record(manifest.state_dicts, package, resource)[0],
    }
    for what, record in found.items():
        if record is not None:
            raise PickleRefusedError(
                f"{package}/{resource} is no pickle: it is stored as data; "
                f"load_{what}({package!r}, {resource!r}) loads it"
            )


def load_pickle(
    opened: OpenArchive, entry: str, *, allowed: bool, importer: Any, made: dict[int, Any]
) -> Any:
    """Read the pickle at `entry`.

    `importer` is handed to functions of `__reduce_package__`; `made` keeps what they made, by number,
    over all pickles of an importer.

    Raises PickleRefusedError unless `allowed`, ModuleNotFoundError and what else unpickling raises.
    """
    if not allowed:
        raise PickleRefusedError(
            f"{entry!r} is a pickle, and reading it runs code of its author; if you trust the archive, "
            "open it with allow_pickle=True, or export the object again with save_object"
        )
    return _Unpickler(opened, entry, importer, made).load()


class _Unpickler(pickle.Unpickler):
    def __init__(self, opened: OpenArchive, entry: str, importer: Any, made: dict[int, Any]) -> None:
        super().__init__(io.BytesIO(opened.reader.read(entry)))
        self._opened = opened
        self._importer = importer
        self._made = made

    def find_class(self, module_name: str, global_name: str) -> Any:
        return super().find_class(self._opened.loaded().rules.in_process(module_name), global_name)

    def persistent_load(self, pid: Any) -> Any:
        if not isinstance(pid, tuple) or not pid or pid[0] != "reduce_package":
            raise pickle.UnpicklingError(f"persistent id {pid!r}: expected one of __reduce_package__")
        _, number, function, *arguments = pid
        if number not in self._made:
            self._made[number] = function(self._importer, *arguments)
        return self._made[number]
