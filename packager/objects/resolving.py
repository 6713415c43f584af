"""The names of an audited table become objects: imported as allowed, and judged by what they turn out to be.

The module must be the object's home, the class a class, without `__del__`.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Collection, Iterator, Mapping

from packager.errors import EnvironmentMismatchError, PackageError, UndeclaredImportError
from packager.names import demangle

from .auditing import AuditedObject
from .default_names import HOOK_OF_GPYTORCH
from .family_states import FAMILY
from .functions import FunctionHome
from .records import Kind
from .trust import CONDITIONS, GPYTORCH_HOOK, TOKENIZER, Grant, numpy_ufunc, walk_classes

TYPE_CHECKING = False  # as in packager.lazy
if TYPE_CHECKING:
    from typing import Any, Final, TypeAlias

    from packager.codecs import Role

Names: TypeAlias = "Mapping[tuple[str, str], Any]"
"""The objects behind names, by module and qualified name; under an empty name a module's `FunctionHome`."""


class MissingNameError(EnvironmentMismatchError):
    """Names in a stored object that the modules here do not have (any more)."""


def resolve_name(module: Any, qualname: str) -> Any:
    """Return what a qualified name leads to in a module: the first part there, the others in classes.

    Raises AttributeError where there is no such name.

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


def resolve_names(audited: AuditedObject, import_module: Callable[[str], Any]) -> Names:
    """Import what an audited table names, each name checked against why it was allowed.

    `import_module` gives a module by its stored name. What functions are made from, the source of their
    module with it, stands under an empty name.

    Raises MissingNameError or UntrustedTypeError, each for all names together.
    """
    roles: dict[tuple[str, str], list[tuple[Role, Grant]]] = {}
    for (module, qualname, role), grant in audited.grants.items():
        roles.setdefault((module, qualname), []).append((role, grant))
    names = dict.fromkeys(_names_used(audited, roles))
    found, missing, wrong = {}, [], []
    for name in names:
        try:
            module = import_module(name[0])
        except ImportError as error:
            if isinstance(error, PackageError) and not isinstance(error, UndeclaredImportError):
                raise  # it says all there is to say, and is the same for every name
            missing.append(f"{name[0]}:{name[1]}: {error}")
            continue
        try:
            found[name] = resolve_name(module, name[1])
        except (AttributeError, ImportError) as error:  # what a lazy module imports may be gone
            missing.append(f"{name[0]}:{name[1]}: {error}")
            continue
        listed = getattr(module, "__dict__", {}).get("__all__", ())
        for role, grant in roles.get(name, ()):
            problem = _problem(found[name], name, role, grant, listed)
            if problem is not None:
                wrong.append(f"{name[0]}:{name[1]}, {role}: {problem}")
        if not name[1]:
            found[name] = FunctionHome.of(module)  # the module itself has been judged
    if missing:
        raise MissingNameError.listing(
            f"{audited.what}: names that do not exist here:",
            missing,
            "Install the versions that the archive was recorded with, or load the state dict into a "
            "module made by today's code.",
        )
    if wrong:
        from packager.errors import UntrustedTypeError  # made when it is asked for

        raise UntrustedTypeError.listing(f"{audited.what}: names that are not what they must be:", wrong)
    return found


def _names_used(audited: AuditedObject, granted: Collection[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    for record in [record for record in audited.records if record[0] in _WITH_NAMES]:
        if record[0] == Kind.FUNCTION:
            yield record[1], ""
        elif (record[1], record[2]) in granted:  # nothing uses the others
            yield record[1], record[2]


_WITH_NAMES: Final = frozenset({Kind.GLOBAL, Kind.FUNCTION})


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
    if (
        isinstance(obj, (types.BuiltinFunctionType, numpy_ufunc()))
        or (module, qualname) in _TYPES_WITHOUT_HOME
    ):
        return True
    home = getattr(obj, "__module__", None)
    if not isinstance(home, str) or qualname not in (obj.__qualname__, obj.__name__):
        return False
    home = demangle(home)
    return home == module or (home.startswith(f"{module}.") and qualname in listed)


_TYPES_WITHOUT_HOME: Final = frozenset(
    {("types", "NoneType"), ("types", "EllipsisType"), ("types", "NotImplementedType")}
)


def _is_subclass_of(module: str, *names: str) -> Callable[[Any], bool]:
    def check(obj: Any) -> bool:
        import importlib

        home = importlib.import_module(module)
        bases = tuple(getattr(home, name) for name in names if hasattr(home, name))
        return isinstance(obj, type) and issubclass(obj, bases)

    return check


def _is_made_empty(cls: type) -> bool:
    """Whether `object.__new__` makes an instance, or that of a dict; its own is passed over."""
    return isinstance(cls.__new__, types.FunctionType) or cls.__new__ in (object.__new__, dict.__new__)


_MEETS: Final[dict[str, Callable[[Any], bool]]] = {
    "class": lambda obj: isinstance(obj, type),
    "function": lambda obj: isinstance(obj, (types.FunctionType, types.BuiltinFunctionType)),
    FAMILY: lambda obj: isinstance(obj, type) and _is_made_empty(obj),
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
    GPYTORCH_HOOK: lambda obj: (
        isinstance(obj, types.FunctionType)
        and (obj.__module__, obj.__qualname__) == ("gpytorch.module", f"Module.{HOOK_OF_GPYTORCH}")
    ),
    TOKENIZER: _is_subclass_of("transformers", "PreTrainedTokenizerBase"),
}
