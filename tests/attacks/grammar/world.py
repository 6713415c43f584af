"""The archives that composed graphs are loaded from, and the sentinels that stand in for what is callable.

An archive is opened once, by `PackageImporter`. A graph takes the place of the bytes of one entry, so that
all that `load_object` and `load_state_dict` do with it is done: `test_grammar.py` compares with graphs that
were sealed into archives of their own.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Collection
from dataclasses import replace
from types import ModuleType
from typing import Any

import numpy as np

from packager import PackageImporter
from packager._archive import Manifest, ModuleRecord, ObjectRecord, StateDictRecord
from packager._loading import load_object, load_state_dict
from packager._objects import EncodedObject
from tests.attacks import object_forger as forge

from .table import STORAGE_SIZE

CALLED: list[Any] = []
"""What sentinels were called with, in the order of the calls."""

# What lies beside objects: code that is stored, and a module that is installed here.
STORED = {
    "net": """
import kellet.nn
class Plain:
    pass
class Listed(list):
    pass
class Mapped(dict):
    pass
class Stateful:
    def __setstate__(self, state):
        self.state = state
class Keyed:
    def __hash__(self):
        return 1
    def __eq__(self, other):
        return self is other
class Layer(kellet.nn.Module):
    def on_load(self, *args):
        return None
    def forward(self, x):
        return x
def function(*args, **options):
    return args
def nested(width):
    def inner(x):
        return x, width
    return inner
"""
}
SHADOWS = {name: f"raise SystemError('the source of {name} ran')" for name in ("ipaddress", "uuid", "string")}

_SPECIAL = """__init__ __setattr__ __getattr__ __getattribute__ __eq__ __hash__ __bool__ __iter__ __len__
__index__ __float__ __int__ __format__ __repr__ __str__ __getitem__ __setitem__ __contains__ __call__
__set_name__ __reduce__ __reduce_ex__ __getstate__ __setstate__ __array__ __array_interface__
__torch_function__ __array_ufunc__ __fspath__ __next__ __add__ __copy__ __deepcopy__ __lt__ __complex__
append extend update items keys add state_dict load_state_dict detach""".split()


KEY_METHODS = ("__hash__", "__eq__")


def _sentinel(name: str) -> Any:
    def method(*args: Any, **options: Any) -> Any:
        CALLED.append(f"outside.{name}")
        raise RuntimeError(f"the sentinel {name} was called")

    return method


def _sentinel_of_keys(name: str) -> Any:
    """The same for what a dict or a set asks of its keys; see allowed.py."""

    def method(*args: Any, **options: Any) -> Any:
        CALLED.append(f"outside.{name}")
        raise RuntimeError(f"the sentinel {name} was called")

    return method


def _make_outside() -> ModuleType:
    """Return a module of classes every special method of which is a sentinel."""
    module = ModuleType("outside")
    for name, base in (("Thing", object), ("Items", list), ("Pairs", dict), ("Number", int)):
        body: dict[str, Any] = {
            special: (_sentinel_of_keys if special in KEY_METHODS else _sentinel)(f"{name}.{special}")
            for special in _SPECIAL
        }
        body["__getattribute__"] = base.__getattribute__
        body["__module__"] = "outside"
        if base is object:
            body["__new__"] = _sentinel(f"{name}.__new__")
        vars(module)[name] = type(name, (base,), body)
    vars(module)["Dying"] = type(
        "Dying", (), {"__del__": _sentinel("Dying.__del__"), "__module__": "outside"}
    )
    vars(module)["function"] = _sentinel("function")
    return module


class World:
    """One open archive, and loads of graphs from it."""

    def __init__(self, *, shadows: bool = False, mocks: Collection[str] = ("dummy",)) -> None:
        sys.modules.setdefault("outside", _make_outside())
        memory = np.zeros(STORAGE_SIZE, np.uint8)
        memory[STORAGE_SIZE // 2 :] = np.arange(STORAGE_SIZE // 2) % 5
        self.storages = forge.encoded([memory]).storages
        self.sources = {**STORED, **(SHADOWS if shadows else {})}
        self.modules = [ModuleRecord(name, "mock", "r", "b") for name in mocks]
        self.externs = tuple(
            name
            for name in ("kellet", "mailbox", "ml_dtypes", "numpy", "outside", "scipy", "sklearn", "torch")
            if name == "mailbox" or name in sys.modules
        )
        file = self.sealed(
            EncodedObject(forge.table_of([[4, "0", "U8", [1], None, 0]]).records, self.storages, ())
        )
        self.importer = PackageImporter(file, environment="ignore", trust=())
        self._context = self.importer._opened.context
        self._file = file

    def sealed(
        self,
        obj: EncodedObject | None = None,
        extras: EncodedObject | None = None,
        factory: str | None = None,
    ) -> Any:
        """Seal an object, or extras, into an archive of its own that is otherwise like this one."""
        return forge.archive_of(
            obj,
            extras=extras or forge.extras_of({"a": 1}),
            sources=self.sources,
            modules=self.modules,
            externs=self.externs,
            factory=factory,
        )

    def load(
        self,
        table: bytes,
        how: str,
        *,
        with_storage: bool,
        sentinels: Collection[str] = (),
        factory: str | None = None,
    ) -> Any:
        """Load a graph as `load_object` does, or as the extras of a state dict ("extras") are.

        `sentinels` are listed names behind which a sentinel stands.
        """
        read = {"m/o": table, "m/s.extras": table}
        record = ObjectRecord("m", "o", "m/o", "m/o.safetensors" if with_storage else None, factory)
        archive = _Substituted(self._context.archive, record, read)
        context = replace(self._context, archive=archive, import_module=self._importing(frozenset(sentinels)))
        gathered = ("_code", "trust_context", "owned")  # once for all loads, from the archive that is open
        vars(context).update({name: getattr(self._context, name) for name in gathered})
        if how == "extras":
            view = load_state_dict(context, "m", "s")
            return view["key"]
        return load_object(context, "m", "o", importer=self.importer)

    def _importing(self, sentinels: frozenset[str]) -> Any:
        if not sentinels:
            return self._context.import_module

        def import_module(name: str) -> Any:
            module = self._context.import_module(name)
            names = [one.partition(":")[2] for one in sentinels if one.startswith(f"{name}:")]
            if not names:
                return module
            shown = ModuleType(name)
            vars(shown).update(vars(module))
            vars(shown).update(dict.fromkeys(names, SENTINEL))
            return shown

        return import_module

    def close(self) -> None:
        self.importer.close()


SENTINEL = breakpoint
"""A function in C that takes any arguments, and tells `sys.breakpointhook` of each call."""


class _Substituted:
    """The reader of an archive in which one object, or the extras of a state dict, are others."""

    def __init__(self, archive: Any, record: ObjectRecord, read: dict[str, bytes]) -> None:
        self._archive = archive
        self._read = read
        state = StateDictRecord("m", "s", "m/s", "m/s.extras")
        self.manifest = Manifest(objects=(record,), state_dicts=(state,))

    def read(self, name: str) -> bytes:
        return self._read[name] if name in self._read else self._archive.read(name)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._archive, name)


assert isinstance(SENTINEL, types.BuiltinFunctionType)
