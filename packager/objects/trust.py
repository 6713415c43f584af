"""Which names a stored object may use: the trust context, what the caller trusts, and the defaults.

A name is allowed for a role: *create* makes an instance and gives it state, *call* calls it with
stored arguments, *value* puts it where the model's own code will find it, which for a function is
as dangerous as a call.

An object that names a stored class brings code that the caller loads anyway, and names are no boundary
there: signatures and policies are. Then names of stored modules are allowed in every role, and classes
of recorded externs may be created; externs of the standard library grant nothing. Everything else is
data alone, whatever source lies beside it: only the default list is allowed, and what `trust=` names,
and only in the forms of inert.py.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterable, Mapping
from types import ModuleType

from packager.codecs import Role
from packager.globs import Glob
from packager.late_patterns import late_pattern
from packager.quick_dataclasses import dataclass, field, replace

from .default_names import (
    CALLED,
    CALLED_BESIDE_CODE,
    CREATED,
    CREATED_BESIDE_CODE,
    FAMILY_CALLED,
    FAMILY_VALUES,
    FILLED_BESIDE_CODE,
    HARMLESS_NAMES,
    HOOK_OF_GPYTORCH,
    NEVER_MODULES,
    NEVER_NAMES,
    VALUES,
    VALUES_BESIDE_CODE,
)
from .family_names import FAMILY_FUNCTIONS, FAMILY_MODULES
from .family_states import FAMILY, FAMILY_CREATED

TYPE_CHECKING = False  # as in packager.lazy
if TYPE_CHECKING:
    from typing import Any, Final


class StoredName(str):
    """A name that was read from an archive. `trust=` does not take it: who trusts must say so in words."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Grant:
    """Why a name is allowed, and what the object behind it must turn out to be.

    `condition` is one of the words of `CONDITIONS`, or "" where the name alone suffices;
    `by` is "interned", "extern", "default" or "trust".
    """

    by: str
    condition: str = ""


@dataclass(frozen=True, slots=True)
class TrustContext:
    """What bears on trust beside the names: the stored modules, the recorded externs, and what they grant.

    `interned` knows the modules whose source is stored, `externs` are top-level names, and
    `distributions` maps top-level import names to what they are installed from, for messages. Only
    where `allows_code` do the first two grant anything; where `by_names`, the names in an object
    decide that.

    >>> TrustContext.data_only().allows_code
    False
    """

    interned: Callable[[str], bool] = field(default=lambda module: False, repr=False)
    externs: frozenset[str] = frozenset()
    distributions: Mapping[str, str] = field(default_factory=dict)
    allows_code: bool = False
    by_names: bool = False

    @classmethod
    def data_only(cls, distributions: Mapping[str, str] | None = None) -> TrustContext:
        """Return the trust context of an archive without code, or whose code the caller does not load."""
        return cls(distributions=distributions or {})

    @classmethod
    def with_code(
        cls,
        interned: Callable[[str], bool] | Collection[str],
        externs: Iterable[str] = (),
        distributions: Mapping[str, str] | None = None,
    ) -> TrustContext:
        """Return the trust context of an object that brings code, whatever it names.

        `interned` are module names, or a function that knows them; `externs` top-level names.
        """
        if not callable(interned):
            interned = frozenset(interned).__contains__
        return cls(interned, frozenset(externs), distributions or {}, allows_code=True)

    @classmethod
    def of_archive(
        cls,
        interned: Collection[str],
        externs: Iterable[str] = (),
        distributions: Mapping[str, str] | None = None,
    ) -> TrustContext:
        """Return the context of an archive: with code where an object names a stored module, else data alone.

        `interned` are the modules whose source is stored: no mocks, and no parents without a source.
        """
        return replace(cls.with_code(interned, externs, distributions), allows_code=False, by_names=True)

    def for_object(self, modules: Iterable[str]) -> TrustContext:
        """Return the trust context of one object that names these modules.

        >>> archive = TrustContext.of_archive({"net"})
        >>> archive.for_object(["net"]).allows_code, archive.for_object(["numpy"]).allows_code
        (True, False)
        """
        if not self.by_names:
            return self
        return replace(self, allows_code=any(map(self.interned, modules)), by_names=False)

    def stored_on_the_way(self, module: str) -> tuple[str, ...]:
        """Return those of a module and its parents whose stored source an import of the module would run.

        >>> TrustContext.of_archive({"numpy"}).stored_on_the_way("numpy.linalg")
        ('numpy',)
        """
        parts = module.split(".")
        names = (".".join(parts[:length]) for length in range(1, len(parts) + 1))
        return tuple(filter(self.interned, names))

    def data_alone(self) -> TrustContext:
        """Return the same without what code grants: for state dicts, extras and migrations."""
        return replace(self, allows_code=False, by_names=False)


class Trust:
    """What a caller trusts, from the argument `trust=`: exact names, and globs over classes.

    "package.module:Class" allows that very name in every role. "package.*:*" or "package.**:Class"
    allows classes to be created, nothing to be called. The first part of a module is never a glob.

    Raises TypeError for anything that is not a collection of strings (True, say, or names that an
    archive listed), ValueError for a glob that takes in everything.

    >>> Trust(["collections:deque"]).grants("collections", "deque", "call")
    True
    >>> Trust(["sklearn.**:*"]).grants("sklearn.svm", "SVC", "create")
    True
    >>> Trust(["sklearn.**:*"]).grants("sklearn.utils", "resample", "call")
    False
    """

    def __init__(self, names: Collection[str] = ()) -> None:
        if isinstance(names, (str, bytes, bool)) or not isinstance(names, Collection):
            raise TypeError(f"trust={names!r}: expected a collection of names, such as ('sklearn.svm:SVC',)")
        self._exact: set[tuple[str, str]] = set()
        self._globs: list[tuple[Glob, Glob]] = []  # of the module, and of the name in it
        for name in names:
            self._add(name)

    def grants(self, module: str, qualname: str, role: Role) -> bool:
        """Return whether the caller trusts a name in this role."""
        if self.names(module, qualname):
            return True
        if role != "create" or ":" in module + qualname or "" in (*module.split("."), *qualname.split(".")):
            return False
        return any(home.matches(module) and name.matches(qualname) for home, name in self._globs)

    def names(self, module: str, qualname: str) -> bool:
        """Return whether the caller wrote out this very name."""
        return (module, qualname) in self._exact

    def _add(self, name: object) -> None:
        if isinstance(name, StoredName):
            raise TypeError(
                f"trust={str(name)!r} was read from an archive; an archive cannot say whom to trust. Write "
                "the names out as literals, after you have looked at them"
            )
        if not isinstance(name, str) or _FORM.fullmatch(name) is None:
            raise (ValueError if isinstance(name, str) else TypeError)(
                f"trust={name!r}: expected 'package.module:Qualified.Name'; after the first part, '*' stands "
                "for one part and '**' for any number"
            )
        module, _, qualname = name.partition(":")
        if "*" in name:
            self._globs.append((Glob(module), Glob(qualname)))
        else:
            self._exact.add((module, qualname))


def is_record_name(module: str, qualname: str) -> bool:
    """Say whether a record can name this: both are dotted, and neither begins with a digit.

    >>> is_record_name("net.3d", "Net.Inner"), is_record_name("3d.net", "Net"), is_record_name("net", "1st")
    (True, False, False)
    """
    return (_is_plain(module) or _MODULE.fullmatch(module) is not None) and (
        not qualname or _is_plain(qualname) or _QUALNAME.fullmatch(qualname) is not None
    )


def _is_plain(name: str) -> bool:
    """Say whether a name is made of identifiers in ASCII, as nearly all are."""
    return name.isascii() and all(map(str.isidentifier, name.split(".")))


_NAME: Final = r"[^\W\d]\w*"
_MODULE: Final = late_pattern(rf"{_NAME}(\.\w+)*")
_QUALNAME: Final = late_pattern(rf"({_NAME}(\.{_NAME})*)?")
_FORM: Final = late_pattern(rf"{_NAME}(\.(\w+|\*\*?))*:(\*|{_NAME}(\.{_NAME})*(\.\*)?)")


def grant_for(
    module: str, qualname: str, role: Role, trust_context: TrustContext, trust: Trust
) -> Grant | None:
    """Return why this name is allowed in this role, or None."""
    if is_never_stored(module, qualname):
        return None
    if trust_context.allows_code and trust_context.interned(module):
        return Grant("interned")
    if trust.names(module, qualname):
        return Grant("trust", "class" if role == "create" else "")
    condition = default_condition(module, qualname, role, beside_code=trust_context.allows_code)
    # A stored module of a listed name, or of its package, would run in the place of the one meant.
    means_stored = not trust_context.allows_code and trust_context.stored_on_the_way(module)
    if condition is not None and not means_stored:
        return Grant("default", condition)
    if trust.grants(module, qualname, role) and not means_stored:
        return Grant("trust", "class" if role == "create" else "")
    if (
        trust_context.allows_code
        and role == "create"
        and _is_foreign_extern(module.partition(".")[0], trust_context)
    ):
        return Grant("extern", "class")
    return None


def _is_foreign_extern(top: str, trust_context: TrustContext) -> bool:
    """Whether a top-level name is that of a recorded extern which is no part of Python itself."""
    return top in trust_context.externs and top not in sys.stdlib_module_names


def is_never_stored(module: str, qualname: str) -> bool:
    """Return whether a name is refused whatever the caller trusts.

    >>> is_never_stored("builtins", "getattr"), is_never_stored("os.path", "join")
    (True, True)
    >>> is_never_stored("collections", "OrderedDict")
    False
    """
    return why_never_stored(module, qualname) != ""


def why_never_stored(module: str, qualname: str) -> str:
    """Return what is true of a name that is refused whatever the caller trusts; "" for other names.

    >>> why_never_stored("builtins", "eval")
    'turns data into code'
    >>> why_never_stored("os.path", "join")
    'is of the module os, which reaches for files, processes, threads or memory'
    """
    if (module, qualname) in HARMLESS_NAMES:
        return ""
    what = NEVER_NAMES.get((module, qualname.partition(".")[0]))
    if what is not None or module == "builtins":
        return what or ""
    parts = module.split(".")
    tops = (".".join(parts[:length]) for length in range(1, len(parts) + 1))
    return next(
        (f"is of the module {top}, which {NEVER_MODULES[top]}" for top in tops if top in NEVER_MODULES), ""
    )


# --- the default list: names that any archive may use, because nothing they do can hurt ---

TOKENIZER: Final = "transformers tokenizer"
GPYTORCH_HOOK: Final = "hook of gpytorch"

CONDITIONS: Final = {
    "": "",
    "class": "a class",
    "function": "a function",
    FAMILY: "a class that is made by object.__new__ and attributes",
    "torch module": "a subclass of torch.nn.Module",
    "torch optimizer": "an optimiser, scheduler or module of torch.optim",
    "kellet module": "a subclass of kellet.nn.Module",
    "kellet optimizer": "an optimiser or scheduler of kellet.optim",
    GPYTORCH_HOOK: "the hook that every module of gpytorch registers",
    TOKENIZER: "a subclass of transformers.PreTrainedTokenizerBase",
}
"""What a condition asks for, in words."""


def _listed(*tables: dict[str, str]) -> frozenset[tuple[str, str]]:
    return frozenset(
        (module, name) for table in tables for module, names in table.items() for name in names.split()
    )


_EXACT: Final[dict[Role, frozenset[tuple[str, str]]]] = {
    "value": _listed(VALUES, CALLED, FAMILY_VALUES, FAMILY_FUNCTIONS),
    "call": _listed(CALLED, FAMILY_CALLED),
    "create": _listed(CALLED, CREATED),
}
_BESIDE_CODE: Final[dict[Role, frozenset[tuple[str, str]]]] = {
    "value": _listed(VALUES_BESIDE_CODE),
    "call": _listed(CALLED_BESIDE_CODE),
    "create": _listed(CREATED_BESIDE_CODE),
}
_FILLED_BESIDE_CODE: Final = _listed(FILLED_BESIDE_CODE)
# Modules of other libraries that are their class and their `__dict__`, as those of torch.nn are.
_MODULES: Final = _listed(FAMILY_MODULES)

# (modules, roles, condition); a trailing dot takes in everything below.
_FAMILIES: Final[tuple[tuple[tuple[str, ...], tuple[Role, ...], str], ...]] = (
    (("torch.nn", "torch.nn.modules", "torch.nn.modules."), ("create", "value"), "torch module"),
    (("torch.nn.functional",), ("value",), "function"),
    (("torch.optim", "torch.optim."), ("create", "value"), "torch optimizer"),
    (("kellet.nn.functional",), ("value",), "function"),
    (("kellet.nn", "kellet.nn."), ("create", "value"), "kellet module"),
    (("kellet.optim", "kellet.optim."), ("create", "value"), "kellet optimizer"),
    (
        (
            "transformers",
            "transformers.models.",
            "transformers.tokenization_python",
            "transformers.tokenization_utils_sentencepiece",
            "transformers.tokenization_utils_tokenizers",
        ),
        ("create",),
        TOKENIZER,
    ),
)


def default_condition(module: str, qualname: str, role: Role, *, beside_code: bool = False) -> str | None:
    """Return what must be true of the object behind a name on the default list; None for other names.

    >>> default_condition("datetime", "date", "call")
    ''
    >>> default_condition("torch.nn.modules", "Linear", "create")
    'torch module'
    >>> default_condition("subprocess", "Popen", "call") is None
    True
    """
    if (module, qualname) in _EXACT[role]:
        return ""
    if beside_code and (module, qualname) in _BESIDE_CODE[role]:
        return ""
    of_gpytorch = module.partition(".")[0] == "gpytorch" and qualname.partition(".")[2] == HOOK_OF_GPYTORCH
    if beside_code and role == "value" and of_gpytorch:
        return GPYTORCH_HOOK
    if role == "create" and (module, qualname) in FAMILY_CREATED:
        return FAMILY
    if role == "create" and (module, qualname) in _MODULES:
        return "torch module"
    if "." in qualname or qualname.startswith("_") or not qualname:
        return None
    for modules, roles, condition in _FAMILIES:
        if role in roles and any(_is_below(module, name) for name in modules):
            # Asked for any other name, transformers would import the module that has it.
            return condition if condition != TOKENIZER or "Tokenizer" in qualname else None
    return None


def is_listed(module: str, qualname: str) -> bool:
    """Return whether a name itself, not its family, is on the default list as something that is made."""
    return (module, qualname) in _EXACT["create"]  # what is called is among them


def fills_itself(module: str, qualname: str) -> bool:
    """Return whether methods of a class of an extern are known to do no more than take up what it is given.

    Those of scikit-learn are known by the method, and looked at again when the class is there.
    """
    return (module, qualname) in _FILLED_BESIDE_CODE or module.partition(".")[0] == "sklearn"


def _is_below(module: str, family: str) -> bool:
    return module.startswith(family) if family.endswith(".") else module == family


def walk_classes(module: Any, qualname: str) -> Any:
    """Return what a qualified name leads to: the first part in the module, the others in classes only.

    Returns None where there is no such name. Nothing lazy is triggered: names count that are there.
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


def numpy_ufunc() -> type:
    """Return NumPy's type of universal functions, which say of themselves only how they are called."""
    import numpy

    return numpy.ufunc
