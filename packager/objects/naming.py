"""By which name an archive remembers a class or a function, and from a name back to the object behind it.

The name is public: the shortest package that lists the thing in its `__all__`, so that a file can
move without a migration. It is always a home: the object itself says it lives in that module, or in
one below it. Stored names never carry the mark of the archive that something was loaded from.

Names are judged before anything is imported (trust.py); here they are imported, and judged again by
what they turn out to be: the module must be the object's home, the class a class, without `__del__`.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import BuiltinFunctionType, EllipsisType, MethodType, ModuleType, NoneType, NotImplementedType
from typing import Any, Final

from packager.codecs import CannotStore, Role
from packager.errors import EnvironmentMismatchError, PackageError, UndeclaredImportError, UntrustedTypeError
from packager.graph import Importer
from packager.names import demangle

from .records import Kind, Record
from .trust import CONDITIONS, Grant, is_never_stored

_TYPES_WITHOUT_HOME: Final = {
    NoneType: "NoneType",
    EllipsisType: "EllipsisType",
    NotImplementedType: "NotImplementedType",
}

# Where functions without a home of their own (built in C) are looked for.
_COMMON_HOMES: Final = ("builtins", "math", "numpy", "scipy.special", "torch", "torch.nn.functional")


@dataclass(frozen=True, slots=True)
class NameUse:
    """One name in a stored object, what is done with it, and where it is met first.

    `qualname` is "" for a module itself.
    """

    module: str
    qualname: str
    role: Role
    path: str

    def __str__(self) -> str:
        return f"{self.module}:{self.qualname}"


class MissingNameError(EnvironmentMismatchError):
    """Names in a stored object that the modules here do not have (any more)."""


class NameFinder:
    """Finds names of live objects through an importer, each once.

    What was loaded from an archive has the name that it was stored under there.
    """

    def __init__(self, importer: Importer) -> None:
        self._importer = importer
        self._found: dict[tuple[int, str | None], tuple[str, str]] = {}
        self._kept: list[object] = []

    def find(self, obj: Any, name: str | None = None) -> tuple[str, str]:
        """Return the public module and qualified name of a class, function or (with `name`) any global.

        Raises CannotStore when it cannot be found again by a name.
        """
        key = (id(obj), name)
        if key not in self._found:
            self._found[key] = self._find(obj, name)
            self._kept.append(obj)
        return self._found[key]

    def _find(self, obj: Any, name: str | None) -> tuple[str, str]:
        module, qualname = self._named(obj, name)
        if is_never_stored(module, qualname):
            raise CannotStore(
                f"{module}:{qualname} turns data into code, and is refused in every archive",
                "write a small function of your own package around it, and refer to that",
            )
        return module, qualname

    def _named(self, obj: Any, name: str | None) -> tuple[str, str]:
        if isinstance(obj, type) and obj in _TYPES_WITHOUT_HOME:
            return "types", _TYPES_WITHOUT_HOME[obj]
        if isinstance(obj, (MethodType, BuiltinFunctionType)) and isinstance(obj.__self__, type):
            return self._common_home(obj) or self._of_class(obj, obj.__self__)
        qualname = name or getattr(obj, "__qualname__", None) or getattr(obj, "__name__", None)
        if not isinstance(qualname, str):
            raise CannotStore(f"{type(obj).__name__} has no name by which it could be found again")
        if "<" in qualname:
            raise _without_home(obj, qualname)
        return self._public(obj, *self._ask(obj, qualname))

    def _ask(self, obj: Any, qualname: str) -> tuple[str, str]:
        """The name that the importer gives, or a common home for what is built in C."""
        home = self._common_home(obj)
        if home is not None:
            return home
        try:
            return self._importer.get_name(obj, qualname)
        except Exception as error:  # lazy modules raise whatever they like when they are asked for a name
            raise CannotStore(
                f"{type(obj).__name__} {qualname!r} cannot be found by its name: {error}",
                "make it a top-level name of an importable module",
            ) from error

    def _common_home(self, obj: Any) -> tuple[str, str] | None:
        """Where a function built in C is found that says nothing of its home, or what is not true."""
        if isinstance(obj, (BuiltinFunctionType, numpy_ufunc())):
            name: str = getattr(obj, "__name__", "")
            for home in _COMMON_HOMES:
                if walk_classes(sys.modules.get(home), name) is obj:
                    return home, name
        return None

    def _of_class(self, method: Any, cls: type) -> tuple[str, str]:
        """A class method bound to its class: the dotted name that leads to it."""
        module, qualname = self.find(cls)
        name: str = method.__name__
        found = getattr(cls, name, None)
        if type(found) is not type(method) or found != method:  # an array would compare its elements
            raise CannotStore(f"a class method to which {qualname}.{name} does not lead")
        return module, f"{qualname}.{name}"

    def _public(self, obj: Any, module: str, qualname: str) -> tuple[str, str]:
        """The shortest package that lists the object, under its qualified name or its own."""
        parts = module.split(".")
        own = getattr(obj, "__name__", None)
        for length in range(1, len(parts)):
            package = ".".join(parts[:length])
            loaded = self._loaded(package)
            listed = vars(loaded).get("__all__") if loaded is not None else None
            if not isinstance(listed, (list, tuple)):
                continue
            for name in (qualname, own):
                if (
                    isinstance(name, str)
                    and name.partition(".")[0] in listed
                    and walk_classes(loaded, name) is obj
                ):
                    return package, name
        return module, qualname

    def _loaded(self, name: str) -> ModuleType | None:
        try:
            return self._importer.import_module(name)
        except ImportError:
            return None


def _without_home(obj: Any, qualname: str) -> CannotStore:
    what = "a lambda" if qualname.endswith("<lambda>") else f"{type(obj).__name__} {qualname!r}"
    return CannotStore(
        f"{what} has no home: it is made inside a function, and no import leads to it",
        "define it at the top level of a module",
        "for a function: intern its module, so that its source is in the archive",
        "build the object by a factory: save_object(..., factory=, config=)",
    )


def resolve_name(module: Any, qualname: str) -> Any:
    """Return what a qualified name leads to in a module: the first part there, the others in classes only.

    Raises AttributeError where it leads nowhere.

    >>> import collections
    >>> resolve_name(collections, "Counter.most_common") is collections.Counter.most_common
    True
    """
    if not qualname:
        return module
    found = walk_classes(module, qualname)
    if found is None and "." not in qualname:
        found = getattr(module, qualname)  # a lazy module
    if found is None and not (module.__name__ == "builtins" and qualname == "None"):
        raise AttributeError(f"module {module.__name__!r} has no {qualname!r}")
    return found


def resolved_names(
    records: Sequence[Record],
    grants: Mapping[tuple[str, str, Role], Grant],
    resolve: Callable[[str, str], Any],
    what: str,
) -> Mapping[tuple[str, str], Any]:
    """Return the objects behind all GLOBAL records, each checked against why it was allowed.

    Raises MissingNameError or UntrustedTypeError, each for all names together.
    """
    roles: dict[tuple[str, str], list[tuple[Role, Grant]]] = {}
    for (module, qualname, role), grant in grants.items():
        roles.setdefault((module, qualname), []).append((role, grant))
    names = dict.fromkeys((record[1], record[2]) for record in records if record[0] == Kind.GLOBAL)
    found, missing, wrong = {}, [], []
    for name in names:
        if name not in roles:
            continue  # nothing uses it
        try:
            module = resolve(name[0], "")
        except ImportError as error:
            if isinstance(error, PackageError) and not isinstance(error, UndeclaredImportError):
                raise  # it says all there is to say, and is the same for every name
            missing.append(f"{name[0]}:{name[1]}: {error}")
            continue
        try:
            found[name] = resolve(*name)
        except (AttributeError, ImportError) as error:  # what a lazy module imports may be gone
            missing.append(f"{name[0]}:{name[1]}: {error}")
            continue
        listed = getattr(module, "__all__", ())
        for role, grant in roles[name]:
            problem = _problem(found[name], name, role, grant, listed)
            if problem is not None:
                wrong.append(f"{name[0]}:{name[1]}, {role}: {problem}")
    if missing:
        raise MissingNameError(
            f"{what}: names that do not exist here:{_indented(missing)}\nInstall the versions that "
            "the archive was recorded with, or load the state dict into a module made by today's code."
        )
    if wrong:
        raise UntrustedTypeError(f"{what}: names that are not what they must be:{_indented(wrong)}")
    return found


def _indented(lines: Sequence[str]) -> str:
    return "".join(f"\n    {line}" for line in lines)


def walk_classes(module: Any, qualname: str) -> Any:
    """Return what a qualified name leads to: the first part in the module, the others in classes only.

    Returns None where it leads nowhere. Nothing lazy is triggered: names count that are there.
    """
    if not isinstance(module, ModuleType):
        return None
    first, *rest = qualname.split(".")
    found = vars(module).get(first)
    for part in rest:
        if not isinstance(found, type):
            return None
        found = getattr(found, part, None)
    return found


def _problem(obj: Any, name: tuple[str, str], role: Role, grant: Grant, listed: Any) -> str | None:
    """What forbids to put this object to use in this role, if anything."""
    if grant.by == "interned":
        return None
    if isinstance(obj, types.ModuleType):
        return "it is a module"
    # A dotted name was walked through classes; who trusts one by name has looked at it.
    plain = "." not in name[1]
    if plain and grant.by != "trust" and not _calls_home(obj, *name, listed):
        return (
            f"{getattr(obj, '__module__', None)}:{getattr(obj, '__qualname__', '?')} is what it calls itself"
        )
    if grant.condition and not _MEETS[grant.condition](obj):
        return f"it must be {CONDITIONS[grant.condition]}, and is {obj!r:.80}"
    if role == "create" and not isinstance(obj, type):
        return "only classes can be created"
    if isinstance(obj, type) and hasattr(obj, "__del__"):
        return "the class has __del__, which would run with state from the archive"
    return None


def _calls_home(obj: Any, module: str, qualname: str, listed: Any) -> bool:
    """Whether an object says that it lives here under this name, or below and is listed here."""
    if isinstance(obj, (types.BuiltinFunctionType, numpy_ufunc())) or (
        module == "types" and qualname in _TYPES_WITHOUT_HOME.values()
    ):
        return True
    home = getattr(obj, "__module__", None)
    if not isinstance(home, str) or qualname not in (obj.__qualname__, obj.__name__):
        return False
    home = demangle(home)
    return home == module or (home.startswith(f"{module}.") and qualname in listed)


def _is_subclass_of(module: str, *names: str) -> Callable[[Any], bool]:
    def check(obj: Any) -> bool:
        import importlib

        home = importlib.import_module(module)
        bases = tuple(getattr(home, name) for name in names if hasattr(home, name))
        return isinstance(obj, type) and issubclass(obj, bases)

    return check


_MEETS: Final[dict[str, Callable[[Any], bool]]] = {
    "class": lambda obj: isinstance(obj, type),
    "function": lambda obj: isinstance(obj, (types.FunctionType, types.BuiltinFunctionType)),
    "torch module": _is_subclass_of("torch.nn", "Module"),
    "torch optimizer": lambda obj: (
        _is_subclass_of("torch.optim", "Optimizer")(obj)
        or _is_subclass_of("torch.optim.lr_scheduler", "LRScheduler")(obj)
        or _is_subclass_of("torch.nn", "Module")(obj)  # averaged models
    ),
    "kellet module": _is_subclass_of("kellet.nn", "Module"),
    "kellet optimizer": lambda obj: (
        _is_subclass_of("kellet.optim", "Optimizer")(obj)
        or _is_subclass_of("kellet.optim.lr_scheduler", "LRScheduler")(obj)
    ),
}


def numpy_ufunc() -> type:
    """Return NumPy's type of universal functions, which say of themselves only how they are called."""
    import numpy

    return numpy.ufunc
