"""The names of an audited table become objects: imported as allowed, and judged by what they turn out to be.

The module must be the object's home, the class a class, without `__del__`.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Callable, Collection, Iterator, Mapping

from packager._names import demangle, walk_classes
from packager._objects import MISSING, FunctionHome, Kind
from packager.errors import EnvironmentMismatchError, PackageError, UndeclaredImportError

from .auditing import AuditedObject
from .trust import Grant

TYPE_CHECKING = False  # as in packager._lazy
if TYPE_CHECKING:
    from typing import Any, Final, TypeAlias

    from packager._codecs import Role

Names: TypeAlias = "Mapping[tuple[str, str], Any]"
"""The objects behind names, by module and qualified name; under an empty name a module's `FunctionHome`."""


class MissingNameError(EnvironmentMismatchError):
    """A stored object uses names that the installed modules lack."""


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
            f"{audited.what}: these names do not exist here:",
            missing,
            "Install the versions that the archive was recorded with, or load its state dict into a "
            "module made by the code that is here.",
        )
    if wrong:
        from packager.errors import UntrustedTypeError  # made when it is asked for

        raise UntrustedTypeError.listing(f"{audited.what}: these names are of the wrong kind here:", wrong)
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
        return f"it calls itself {getattr(obj, '__module__', None)}:{getattr(obj, '__qualname__', '?')}"
    if grant.is_a is not None and not grant.is_a.meets(obj):
        return f"expected {grant.is_a.words}, found {obj!r:.80}"
    if role == "create" and not isinstance(obj, type):
        return "only classes can be created"
    if isinstance(obj, type) and hasattr(obj, "__del__"):
        return "the class has __del__, which would run with state from the archive"
    return None


def _is_ufunc(obj: Any) -> bool:
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(obj, numpy.ufunc)


def _calls_home(obj: Any, module: str, qualname: str, listed: Any) -> bool:
    """Whether an object says that it lives here under this name, or below and is listed here."""
    if isinstance(obj, types.BuiltinFunctionType) or _is_ufunc(obj):
        return True
    if (module, qualname) in _TYPES_WITHOUT_HOME:
        return True
    home = getattr(obj, "__module__", None)
    if not isinstance(home, str) or qualname not in (obj.__qualname__, obj.__name__):
        return False
    home = demangle(home)
    # Cython's classes may say a second name of their module.
    if sys.modules.get(home) is sys.modules.get(module, MISSING):
        return True
    return home == module or (home.startswith(f"{module}.") and qualname in listed)


_TYPES_WITHOUT_HOME: Final = frozenset(
    {("types", "NoneType"), ("types", "EllipsisType"), ("types", "NotImplementedType")}
)
