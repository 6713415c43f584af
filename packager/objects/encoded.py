"""What walks between this room and its neighbours: frozen, and free of any live object of the model.

exporting:  encode(obj, importer=...) -> EncodedObject
loading:    records -> audit(records, trust_context, trust) -> AuditedObject -> build(...) -> object
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

from packager.codecs import Role


@dataclass(frozen=True, slots=True)
class Storage:
    """One tensor of the safetensors member of an object: the memory that one or several tensors share.

    `name` is the attribute path of the tensor that owns it, `shape` is C-contiguous. `buffer` is the
    memory itself, not a copy, unless it had gaps.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    buffer: memoryview = field(repr=False)


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


@dataclass(frozen=True, slots=True)
class FormUse:
    """Something in a stored object that is refused for what it is made of: where, why, what helps.

    `trust` is the name that `trust=` may vouch for, "" where there is none.
    """

    path: str
    reason: str
    trust: str = ""

    def __str__(self) -> str:
        remedy = f", or load with trust=({self.trust!r},)" if self.trust else ""
        return f"{self.path}: {self.reason}{remedy}"


@dataclass(frozen=True, slots=True)
class Finding:
    """A refusal or a warning: where, why, and what can be done about it.

    A refusal with `unless` holds only where the archive has no source of the module of that name.
    """

    path: str
    reason: str
    options: tuple[str, ...] = ()
    unless: str = ""

    def __str__(self) -> str:
        return f"{self.path}: {self.reason}"


@dataclass(frozen=True, slots=True)
class EncodedObject:
    """An object graph as data, ready to be written; or, with `refusals`, the reasons why it is not.

    `records` is the table of objects.md in msgpack, empty when anything was refused for good. Where
    refusals hang on sources being stored, `with_sources` settles them. `modules` are the modules that
    the names are imported from: the walk goes on from them.
    """

    records: bytes
    storages: tuple[Storage, ...]
    names: tuple[NameUse, ...]
    warnings: tuple[Finding, ...] = ()
    refusals: tuple[Finding, ...] = ()

    @property
    def modules(self) -> tuple[str, ...]:
        """The modules that hold the named things, sorted, each once."""
        return tuple(sorted({use.module for use in self.names}))

    def with_sources(self, is_stored: Callable[[str], bool]) -> EncodedObject:
        """Return the object as it is in an archive with the sources of the modules that `is_stored` knows.

        Where a refusal remains, there are neither records nor storages, and nothing is said of what
        lies inside of what is refused for its source.
        """
        refusals, hidden = settled(self.refusals, is_stored)
        if not refusals:
            return replace(self, refusals=())
        names = tuple(use for use in self.names if not hidden(use.path))
        warnings = tuple(finding for finding in self.warnings if not hidden(finding.path))
        return EncodedObject(b"", (), names, warnings, refusals)


def settled(
    refusals: Iterable[Finding], is_stored: Callable[[str], bool]
) -> tuple[tuple[Finding, ...], Callable[[str], bool]]:
    """Return the refusals that remain, and whether a path lies in what is refused for its source."""
    left: list[Finding] = []
    closed: list[str] = []

    def hidden(path: str) -> bool:
        return any(path.startswith(one) and path[len(one) : len(one) + 1] in ("", *".[<") for one in closed)

    for refusal in refusals:
        if hidden(refusal.path) or (refusal.unless and is_stored(refusal.unless)):
            continue
        left.append(refusal)
        if refusal.unless:
            closed.append(refusal.path)
    return tuple(left), hidden
