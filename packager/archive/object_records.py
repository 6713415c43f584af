"""The records of stored objects, their imports, and state dicts in the manifest, and how they are stored."""

from __future__ import annotations

from packager.quick_dataclasses import dataclass

from .manifest_columns import NAME, NUMBER, TEXT, Table, choice, many, plain, row

TYPE_CHECKING = False  # as in packager.lazy
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Final


@dataclass(frozen=True, slots=True)
class TypeUse:
    """A name (`"package.module:qualified.name"`) that a stored object needs, and in which role."""

    name: str
    role: str


@dataclass(frozen=True, slots=True)
class ObjectRecord:
    """A stored object graph: its entry, the member with its tensors, and the types it names.

    `codecs` gives name and version of every codec in use. `factory` is the name of the callable
    that makes the object, where it is not rebuilt from its stored layout.
    """

    package: str
    resource: str
    entry: str
    tensors: str | None = None
    factory: str | None = None
    types: tuple[TypeUse, ...] = ()
    codecs: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class StateDictRecord:
    """A stored state dict: its safetensors member, its extras, versions by module path, migrations.

    `migrations` names the migrations that ran before it was stored, in order.
    """

    package: str
    resource: str
    entry: str
    extras: str | None = None
    versions: tuple[tuple[str, int], ...] = ()
    migrations: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ImportsRecord:
    """Stored modules that are imported before an object is loaded: what they do then, it needs."""

    package: str
    resource: str
    modules: tuple[str, ...]


def _is_dotted_name(text: str) -> bool:
    from packager.names import is_dotted_name  # few objects import modules first

    return is_dotted_name(text)


_DOTTED: Final = plain("a string, the dotted name of a module", str, legal=_is_dotted_name)
_NUMBERED_NAMES: Final = many(row(lambda *pair: pair, TEXT, NUMBER))
_TYPES: Final = many(row(TypeUse, TEXT, choice("call", "create", "value")))

TABLES: Final[Mapping[str, Table]] = {
    "objects": Table(
        ObjectRecord,
        ("package", "resource"),
        (TEXT, TEXT, TEXT, NAME, NAME, _TYPES, _NUMBERED_NAMES),
    ),
    "state_dicts": Table(
        StateDictRecord,
        ("package", "resource"),
        (TEXT, TEXT, TEXT, NAME, _NUMBERED_NAMES, many(TEXT)),
    ),
    "imports": Table(ImportsRecord, ("package", "resource"), (TEXT, TEXT, many(_DOTTED))),
}
