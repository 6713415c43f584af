"""The `__import__` and the `__builtins__` that packaged code has, a pair for each archive.

`__import__` asks the archive first, then what was declared, then the standard library. It stands in the
`__builtins__` of every packaged module, so text run by `exec` inherits it. It hands over to the original
`__import__` under the right name, so that Python's own import locks hold. It is reachable as long as one
packaged function lives, and so keeps names only once the archive is closed.

C code that imports for itself while packaged code calls it (`PyImport_Import`: `time.strptime`, NumPy,
pybind11) takes `__import__` from there too, calls it as `__import__(name, globals(), globals(), [], 0)`,
and then looks in `sys.modules` under that very name. Packaged code may make the same call, and means a
module of the archive. The two are told apart by how they come to the function: Python finds names in
the dictionary of `__builtins__`, C code asks a `__builtins__` that is no dict for the attribute. So does
`getattr(__builtins__, "__import__")`, whose call is the package's unless it is spelt just as that of C code.
"""

from __future__ import annotations

import builtins
import opcode
import sys
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import is_
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeGuard

from packager._names import OWN_IMPORTER, demangle

from .packaged_code import ImportRules, PackagedCode, say_true_names

if TYPE_CHECKING:
    from .stand_ins import StandIns

_WITH_STAND_INS = frozenset(
    "builtins cloudpickle importlib joblib pickle pkgutil pydoc runpy shelve sys".split()
)
_ATTRIBUTE_READS = frozenset(
    opcode.opmap[name] for name in ("LOAD_ATTR", "LOAD_METHOD") if name in opcode.opmap
)


class PackagedImport:
    """The callable that stands as `__import__`, and `builtins`, the module that it stands in.

    `importer` is what `import torch_package_importer` gives to packaged code.
    """

    def __init__(
        self, rules: ImportRules, code: PackagedCode, importer: weakref.ref[object] | None = None
    ) -> None:
        self._rules = rules
        self._original = builtins.__import__
        self._importer = importer
        self._code = code
        self._stand_ins: dict[None, StandIns] = {}  # one, once it is needed
        self._has_stand_ins = bool(rules.suffix)  # an installed archive needs none: its names are true
        self._has_loggers = False
        self.builtins = CodeBuiltins(self)
        self._known = dict(vars(builtins))
        self._known_names = list(self._known)

    def __call__(
        self,
        name: str,
        globals: Mapping[str, object] | None = None,
        locals: Mapping[str, object] | None = None,
        fromlist: Sequence[str] | None = (),
        level: int = 0,
    ) -> Any:
        if not isinstance(name, str):
            return self._original(name, globals, locals, fromlist, level)  # Python's own TypeError
        if _is_spelt_by_c(globals, locals, fromlist, level) and type(globals.get("__builtins__")) is dict:
            # Text that runs by `exec` has a dict for `__builtins__`, into which C code looks, too.
            frame = sys._getframe(1)
            if globals is frame.f_globals and "__import__" not in frame.f_code.co_names:
                return self._original(name, globals, locals, fromlist, 0)
        if len(self._known) != len(vars(builtins)):
            self.take_over_builtins()
        try:
            if level:
                found = self._original(name, self._in_process(globals), locals, fromlist, level)
            elif name == OWN_IMPORTER:
                return self._own_importer()
            else:
                found = self._original(self._rules.in_process(name), globals, locals, fromlist, 0)
        except ImportError as error:
            say_true_names(error)
            raise
        if fromlist:
            self._require_names(found, fromlist)
        if level:
            return found
        if self._has_stand_ins:
            top = name.partition(".")[0]
            if top in _WITH_STAND_INS:
                return self._in_its_place(found)
            if top == "logging":
                if not self._has_loggers:
                    self._put_loggers_in_place()
                if name == "logging.config" or "config" in (fromlist or ()):
                    return self._in_its_place(found)
        return found

    def _require_names(self, module: Any, names: Sequence[str]) -> None:
        """Raise ImportError for a name that a module of the archive lacks, with the true name of the module.

        The interpreter would raise it after this call, with the name that only this process knows. Where a
        module has a `__getattr__` of its own, it is left to that.
        """
        if type(module) is not ModuleType:
            return
        own = vars(module)
        if all(map(own.__contains__, names)):
            return  # as for most
        fullname = own.get("__name__")
        if not isinstance(fullname, str) or not self._rules.suffix or "__getattr__" in own:
            return
        if not fullname.partition(".")[0].endswith(self._rules.suffix):
            return
        if not any(names) and len(names) == 1:
            return  # `__import__(name, fromlist=[""])`: the module itself is meant, and no name of it
        for name in names:
            if name in own or name == "*" or f"{fullname}.{name}" in sys.modules or hasattr(module, name):
                continue
            state, hint = "", ""
            if getattr(own.get("__spec__"), "_initializing", False):
                state, hint = "partially initialized module ", "most likely due to a circular import) ("
            place = own.get("__file__") or "unknown location"
            message = f"cannot import name {name!r} from {state}{demangle(fullname)!r} ({hint}{place})"
            raise ImportError(message, name=demangle(fullname), path=own.get("__file__"))

    def take_over_builtins(self) -> None:
        """Take over what the process has put into `builtins` since, changed there, or taken out.

        That is how `gettext` and the `install()` of many a library give names to all code.
        """
        now, known = vars(builtins), self._known
        if (
            len(now) == len(known)
            and list(now) == self._known_names  # the same objects, most often, which takes half as long
            and all(map(is_, now.values(), known.values()))
        ):
            return  # asked twice for every module, and seldom otherwise: in C, and without a copy
        now = dict(now)
        own = vars(self.builtins)
        for name, value in now.items():
            if name != "__import__" and (name not in self._known or self._known[name] is not value):
                own[name] = value
        for name in self._known.keys() - now.keys():
            own.pop(name, None)
        self._known = now
        self._known_names = list(now)

    def from_c(
        self,
        name: str,
        globals: Mapping[str, object] | None = None,
        locals: Mapping[str, object] | None = None,
        fromlist: Sequence[str] | None = (),
        level: int = 0,
    ) -> Any:
        """Import for C code that packaged code calls, whose imports are not the package's.

        They come with an empty list, no level, and the same dict for globals and locals; every other call
        is one of Python, of code that had the function by `getattr`.
        """
        if _is_spelt_by_c(globals, locals, fromlist, level):
            return self._original(name, globals, locals, fromlist, 0)
        return self(name, globals, locals, fromlist, level)

    def close(self) -> None:
        """Forget the importer. The stand-ins remain: no name in a function that lives on is another's."""
        self._importer = None
        if self._has_loggers:
            import logging

            known = logging.Logger.manager.loggerDict  # which keeps all that it ever made
            own = tuple(top + self._rules.suffix for top in self._rules.owned)
            for name in [name for name in known.copy() if name.partition(".")[0] in own]:
                del known[name]

    def _put_loggers_in_place(self) -> None:
        """Make the loggers of packaged code children of those with the true names of its packages.

        `logging.getLogger(__name__)` is a logger of this importer's own, so that two versions of a package do
        not set each other's. A level or a handler of `logging.getLogger("shop")`, whoever set it, holds for
        packaged code that has none of its own.
        """
        import logging  # most code logs nothing

        for top in self._rules.owned:
            logging.getLogger(top + self._rules.suffix).parent = logging.getLogger(top)
        self._has_loggers = True

    def _in_its_place(self, module: ModuleType) -> ModuleType:
        """Return the stand-in for a module of the library, or the module itself where it needs none."""
        from .stand_ins import StandIns  # most code imports none of these

        if not self._stand_ins:  # threads agree by one step: a fork could leave a lock held in the child
            self._stand_ins.setdefault(None, StandIns(self._rules, self._code, self.builtins))
        found: ModuleType = self._stand_ins[None].get(module.__name__, module)
        return found

    def _in_process(self, globals: Mapping[str, object] | None) -> Mapping[str, object] | None:
        """Return the globals that a relative import starts from, with the package as it is called here."""
        package = _package_of(globals) if isinstance(globals, dict) else None
        if not isinstance(package, str):
            return globals  # Python's own errors
        called = self._rules.package_in_process(package)
        return globals if called == package else {"__package__": called}

    def _own_importer(self) -> Any:
        importer = None if self._importer is None else self._importer()
        if importer is None:
            raise ModuleNotFoundError(
                f"{OWN_IMPORTER}: no PackageImporter is open for this code: it was closed, or belongs to the "
                "process that started this one",
                name=OWN_IMPORTER,
            )
        return importer


def _is_spelt_by_c(
    globals: Mapping[str, object] | None,
    locals: Mapping[str, object] | None,
    fromlist: Sequence[str] | None,
    level: int,
) -> TypeGuard[Mapping[str, object]]:
    return level == 0 and type(fromlist) is list and not fromlist and globals is locals is not None


def _package_of(globals: Mapping[str, object]) -> object:
    """Return what `__import__` takes relative names to start from: the rule of Python's reference."""
    package, spec = globals.get("__package__"), globals.get("__spec__")
    if package is not None:
        return package
    if spec is not None:
        return getattr(spec, "parent", None)
    name = globals.get("__name__")
    return name.rpartition(".")[0] if isinstance(name, str) and "__path__" not in globals else name


class CodeBuiltins(ModuleType):
    """A copy of `builtins` with the `__import__` of one archive.

    It can be used as the dict that `__builtins__` is in most modules, too.
    """

    def __init__(self, packaged_import: PackagedImport) -> None:
        super().__init__(builtins.__name__, builtins.__doc__)
        self.__dict__.update(vars(builtins))
        self.__dict__["__import__"] = packaged_import

    @property
    def __import__(self) -> Callable[..., Any]:
        """What C code imports with; the name as packaged code reads it is in the dictionary."""
        found: Callable[..., Any] = self.__dict__["__import__"]
        frame = sys._getframe(1)
        if frame.f_code.co_code[frame.f_lasti] in _ATTRIBUTE_READS:  # `__builtins__.__import__` in Python
            return found
        return found.from_c if isinstance(found, PackagedImport) else found

    @__import__.setter
    def __import__(self, function: Callable[..., Any]) -> None:
        self.__dict__["__import__"] = function

    def __getattr__(self, name: str) -> Any:
        """`get`, `items`, `update`: what a dict has."""
        if name.startswith("__"):
            raise AttributeError(f"module 'builtins' has no attribute {name!r}")
        return getattr(self.__dict__, name)

    def __getitem__(self, name: str) -> Any:
        return self.__dict__[name]

    def __setitem__(self, name: str, value: Any) -> None:
        self.__dict__[name] = value

    def __delitem__(self, name: str) -> None:
        del self.__dict__[name]

    def __contains__(self, name: object) -> bool:
        return name in self.__dict__

    def __iter__(self) -> Iterator[str]:
        return iter(self.__dict__)

    def __len__(self) -> int:
        return len(self.__dict__)

    def __copy__(self) -> CodeBuiltins:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> CodeBuiltins:
        """Return itself: the globals of packaged modules can be copied, as those of others."""
        return self

    def __reduce__(self) -> Any:
        return __import__, ("builtins",)
