"""May this object be built? Its table is checked, its names and forms are judged, and then resolved.

With code that the caller loads anyway names are no boundary, and the audit does not pretend that they
are (see trust.py). In data alone they are, together with what may be made of them (see inert.py).

`audit` imports nothing. `resolve_names` imports what it has allowed, and judges names again by what they turn
out to be: the module must be the object's home, the class a class, without `__del__`.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, Final

from packager.codecs import Codec, CodecRegistry, Role
from packager.collector import gc_paused
from packager.errors import EnvironmentMismatchError, PackageError, UndeclaredImportError, UntrustedTypeError
from packager.names import demangle
from packager.quick_dataclasses import dataclass, field
from packager.texts import counted, in_lines

from .checking import CheckedTable, checked_table
from .default_names import HOOK_OF_GPYTORCH
from .family_states import FAMILY
from .functions import FunctionHome
from .inert import CODE, Form, refused_forms
from .keys import refused_keys
from .naming import NameUse
from .records import Kind, Record, paths_to
from .trust import (
    CONDITIONS,
    GPYTORCH_HOOK,
    TOKENIZER,
    Grant,
    StoredName,
    Trust,
    TrustContext,
    grant_for,
    is_never_stored,
    numpy_ufunc,
    walk_classes,
    why_never_stored,
)


@dataclass(frozen=True, slots=True)
class FormUse:
    """Something in a stored object that is refused for what it is made of: where, why, what helps.

    `trust` is the name that `trust=` may vouch for, "" where there is none.
    """

    path: str
    reason: str
    trust: str = ""

    def __str__(self) -> str:
        remedy = f", or open it with PackageImporter(..., trust=({self.trust!r},))" if self.trust else ""
        return f"{self.path}: {self.reason}{remedy}"


@dataclass(frozen=True, slots=True)
class AuditedObject:
    """A table that may be built: checked records, codecs by number, and why each name is allowed.

    `is_data_alone` says that nothing in it comes from stored code.
    """

    records: Sequence[Record] = field(repr=False)
    root: Any = field(repr=False)
    codecs: tuple[tuple[Codec, int] | None, ...]
    grants: Mapping[tuple[str, str, Role], Grant]
    what: str
    is_data_alone: bool


@dataclass(frozen=True, slots=True)
class Verdict:
    """What `judge` found: the context that the names lead to, why names are allowed, what is refused."""

    trust_context: TrustContext
    grants: Mapping[tuple[str, str, Role], Grant]
    names: tuple[NameUse, ...]
    forms: tuple[FormUse, ...]


def audit(
    records: bytes | bytearray | memoryview,
    trust_context: TrustContext,
    trust: Collection[str] = (),
    *,
    storages: Mapping[str, tuple[str, int]] | None = None,
    registry: CodecRegistry | None = None,
    what: str = "object",
    root: str = "obj",
    with_keys: bool = False,
) -> AuditedObject:
    """Check a table of records, the names in it and their forms. Nothing is imported or built.

    `storages` maps the names of the object's tensors to (dtype, number of bytes), as the header of
    the safetensors member gives them; `what` names the object in messages.

    `root` is what paths in messages start with. Keys are looked at by `build`, before each is hashed; with
    `with_keys` also here, those that the table spells out.

    Raises ArchiveError (RecordError) for a table that is damaged or hostile, UntrustedTypeError, once
    for all together, for names that neither the archive holds nor the caller trusts, and for forms that
    data alone must not have.

    >>> from packager.objects import encode
    >>> audit(encode([1, 2, 3]).records, TrustContext.data_only()).grants
    {}
    """
    table = checked_table(records, storages or {}, registry, what)
    verdict = _verdict(table, trust_context, Trust(trust), root, with_keys=with_keys)
    if verdict.names or verdict.forms:
        raise refusal(verdict.names, verdict.trust_context, what, verdict.forms)
    return AuditedObject(
        table.records,
        table.root,
        tuple(table.codecs),
        verdict.grants,
        what,
        is_data_alone=not verdict.trust_context.allows_code,
    )


def judge(
    records: bytes | bytearray | memoryview,
    trust_context: TrustContext,
    trust: Collection[str] = (),
    *,
    storages: Mapping[str, tuple[str, int]] | None = None,
    registry: CodecRegistry | None = None,
    what: str = "object",
    root: str = "obj",
) -> Verdict:
    """Return what `audit` would refuse of a table, without refusing it: for plans, and for `inspect`.

    Raises ArchiveError for a table that is damaged or hostile.
    """
    with gc_paused():
        return _judged(records, trust_context, trust, storages or {}, registry, what, root)


def _judged(
    records: bytes | bytearray | memoryview,
    trust_context: TrustContext,
    trust: Collection[str],
    storages: Mapping[str, tuple[str, int]],
    registry: CodecRegistry | None,
    what: str,
    root: str,
) -> Verdict:
    table = checked_table(records, storages, registry, what)
    return _verdict(table, trust_context, Trust(trust), root, with_keys=True)


def _verdict(
    table: CheckedTable, trust_context: TrustContext, trust: Trust, root: str, *, with_keys: bool
) -> Verdict:
    trust_context = trust_context.for_object({module for module, _, _ in table.uses})
    grants: dict[tuple[str, str, Role], Grant] = {}
    refused: dict[tuple[str, str, Role], int] = {}
    for use, index in table.uses.items():
        grant = grant_for(*use, trust_context, trust)
        if grant is None:
            refused[use] = index
        else:
            grants[use] = grant
    names = _with_paths(table.records, table.root, refused, root)
    forms = refused_forms(table, trust_context, trust)
    if with_keys and not trust_context.allows_code:
        forms += [Form(index, f"{reason}; {CODE}") for index, reason in refused_keys(table.records)]
    paths = paths_to(table.records, table.root, {form.index for form in forms}, root)
    return Verdict(
        trust_context,
        grants,
        tuple(names),
        tuple(FormUse(paths[form.index], form.reason, form.trust) for form in forms),
    )


def names_in(
    records: bytes | bytearray | memoryview,
    *,
    storages: Mapping[str, tuple[str, int]] | None = None,
    registry: CodecRegistry | None = None,
    what: str = "object",
) -> tuple[NameUse, ...]:
    """Return every name in a stored object with its role and path, unjudged: what `inspect` shows.

    Raises ArchiveError for a table that is damaged or hostile.
    """
    table = checked_table(records, storages or {}, registry, what)
    return tuple(_with_paths(table.records, table.root, table.uses, "obj"))


def _with_paths(
    records: Sequence[Record], root: Any, uses: Mapping[tuple[str, str, Role], int], start: str
) -> list[NameUse]:
    paths = paths_to(records, root, set(uses.values()), start)
    found = [NameUse(*use, paths[index]) for use, index in uses.items()]
    return sorted(found, key=lambda use: (use.module, use.qualname, use.role))


# --- what is refused, by distribution and role, with a way out ---

_MOST_FORMS = 20
_ROLE_WORDS = {
    "create": "created and given state",
    "call": "called with stored arguments",
    "value": "handed to the code of the model",
}


class UntrustedNamesError(UntrustedTypeError):
    """What the audit does not allow: `uses` holds all names, `names` as "module:name", `forms` the rest.

    The names carry a mark, so that `trust=error.names` is refused: who trusts writes names out.
    """

    def __init__(self, message: str, uses: Sequence[NameUse], forms: Sequence[FormUse] = ()) -> None:
        super().__init__(message)
        self.uses = tuple(uses)
        self.forms = tuple(forms)
        self.names = tuple(StoredName(use) for use in uses)


def refusal(
    uses: Sequence[NameUse], trust_context: TrustContext, what: str, forms: Sequence[FormUse] = ()
) -> UntrustedNamesError:
    """Return one error for everything: names by distribution and by role, then forms."""
    lines = [*(_named(uses, trust_context, what) if uses else ())]
    if forms:
        count = counted(len(forms), "thing")
        alone = "must not be given what it says" if trust_context.allows_code else "must not be in data alone"
        lines.append(f"{what}: {count} in it {alone}; nothing was imported or built.")
        lines += [f"    {form}" for form in forms[:_MOST_FORMS]]
        if len(forms) > _MOST_FORMS:
            lines.append(f"    and {len(forms) - _MOST_FORMS} more")
    return UntrustedNamesError(in_lines(*lines, *_ways_out(uses)), uses, forms)


def _named(uses: Sequence[NameUse], trust_context: TrustContext, what: str) -> list[str]:
    groups: dict[tuple[str, str], list[NameUse]] = {}
    for use in uses:
        top = use.module.partition(".")[0]
        groups.setdefault((trust_context.distributions.get(top, top), use.role), []).append(use)
    count = len({(use.module, use.qualname) for use in uses})
    names = counted(count, "name in it is", "names in it are")
    lines = [f"{what}: {names} neither in the archive nor trusted; nothing was imported or built."]
    for (distribution, role), members in sorted(groups.items()):
        lines.append(f"* {distribution}, {_ROLE_WORDS[role]}:")
        lines += [f"    {use}    at {use.path}{_never(use)}{_beside(use, trust_context)}" for use in members]
    return lines


def _beside(use: NameUse, trust_context: TrustContext) -> str:
    """Why a name is refused though the archive stores its module."""
    stored = () if trust_context.allows_code else trust_context.stored_on_the_way(use.module)
    if not stored:
        return ""
    whose = "its source" if stored[-1] == use.module else f"the source of {stored[-1]}"
    return f" ({whose} is stored, but this is data alone, whatever lies beside it)"


def _never(use: NameUse) -> str:
    why = why_never_stored(use.module, use.qualname)
    return f" (refused always: it {why})" if why else ""


def _ways_out(uses: Sequence[NameUse]) -> list[str]:
    """A line to paste for classes that are only created; words for what runs with stored arguments."""
    dangerous = {
        str(use) for use in uses if use.role != "create" or is_never_stored(use.module, use.qualname)
    }
    harmless = sorted({str(use) for use in uses} - dangerous)
    lines = []
    if harmless:
        names = ", ".join(repr(name) for name in harmless)
        lines.append(
            "If you know these classes and trust this archive to fill them: "
            f"PackageImporter(..., trust=({names},)), or --trust of the command"
        )
    if dangerous:
        lines.append(
            "Names that are called or handed on run with what the archive says: read what they do before you "
            "write them into trust= of PackageImporter, or after --trust, one by one."
        )
    return lines


Names = Mapping[tuple[str, str], Any]
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
        listed = getattr(module, "__all__", ())
        for role, grant in roles.get(name, ()):
            problem = _problem(found[name], name, role, grant, listed)
            if problem is not None:
                wrong.append(f"{name[0]}:{name[1]}, {role}: {problem}")
        if not name[1]:
            found[name] = FunctionHome.of(module)  # the module itself has been judged
    if missing:
        raise MissingNameError(
            in_lines(
                f"{audited.what}: names that do not exist here:",
                *(f"    {one}" for one in missing),
                "Install the versions that the archive was recorded with, or load the state dict into a "
                "module made by today's code.",
            )
        )
    if wrong:
        raise UntrustedTypeError(
            in_lines(
                f"{audited.what}: names that are not what they must be:", *(f"    {one}" for one in wrong)
            )
        )
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
