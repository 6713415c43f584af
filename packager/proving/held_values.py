"""What a value is, said so that two processes can compare it: its type, text, parts, numbers.

Only values of the exact types of Python, and arrays and tensors, are looked into: nothing of theirs runs.
"""

from __future__ import annotations

import hashlib
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

from packager.names import demangle
from packager.quick_dataclasses import dataclass
from packager.texts import counted, listed

from .held_numbers import digest_of

PLAIN: Final = frozenset([type(None), bool, int, float, complex, str, bytes])
MAPPINGS: Final = frozenset([dict, OrderedDict, defaultdict, MappingProxyType])
SEQUENCES: Final = frozenset([list, tuple, set, frozenset, deque])
ORDERED: Final = frozenset([list, tuple, deque])
CONTAINERS: Final = MAPPINGS | SEQUENCES
_BRACKETS: Final[Mapping[type, tuple[str, str]]] = {list: ("[", "]"), tuple: ("(", ")")}
_MOST_PARTS: Final = 1000
_MOST_TEXTS: Final = 100_000
_DEEPEST: Final = 3
_MOST_TEXT: Final = 200
_MOST_TOLD: Final = 4

Alike = Callable[[str], str]
"""Spells a text as it is in every process: names of modules, paths beside the code."""


@dataclass(frozen=True)
class Held:
    """What a name holds: the type, the value of a plain one, of a container how many entries and which.

    `parts` are keys of mappings and plain entries of others, as text and sorted; None where they are too
    many, or no plain values; `order` stands for all of them as they are, in a sequence one after the other.
    `digest` stands for the numbers of an array or a tensor. `line` is where the
    source binds the name, 0 where it does not. What is `quiet` differs without a reason to tell of it: it
    counts where the running program is what changed it.
    """

    kind: str
    value: str | None = None
    size: int | None = None
    parts: tuple[str, ...] | None = None
    line: int = 0
    quiet: bool = False
    digest: str = ""
    order: str = ""


def held(value: Any, alike: Alike = str) -> Held:
    """Return what a value is, as far as it can be said without running anything of it.

    `alike` spells texts as they are in every process.

    >>> held(["b", "a"]).parts, held({"x": object()}).parts, held(3).value, held(object()).value
    (("'a'", "'b'"), ("'x'",), '3', None)
    """
    cls = type(value)
    if cls in PLAIN:
        return Held(cls.__name__, _plain_text(value, alike))
    kind = demangle(name_of(cls)).removeprefix("builtins.")
    if cls in CONTAINERS:
        texts = _texts(list(value), alike)
        if texts is None:
            return Held(kind, None, len(value))
        parts = tuple(sorted(texts)) if len(texts) <= _MOST_PARTS else None
        return Held(kind, None, len(value), parts, order=_digest(texts if cls in ORDERED else sorted(texts)))
    return Held(kind, digest=digest_of(value))


def held_of_plain(plain: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Held]]:
    """Return what was written as plain data."""
    return {
        module: {
            name: Held(**{**one, "parts": None if one["parts"] is None else tuple(one["parts"])})
            for name, one in names.items()
        }
        for module, names in plain.items()
    }


def name_of(cls: type) -> str:
    """Return the dotted name of a class; one that `exec` made may lack a module."""
    try:
        module = type.__getattribute__(cls, "__module__")
    except AttributeError:
        module = ""
    name: str = type.__getattribute__(cls, "__qualname__")
    return f"{module}.{name}" if module and type(module) is str else name


def _texts(values: Sequence[Any], alike: Alike) -> list[str] | None:
    """Return the texts of plain values; None where one is none, or there are too many."""
    if len(values) > _MOST_TEXTS:
        return None
    texts = []
    for value in values:
        if (text := text_of(value, alike)) is None:
            return None
        texts.append(text)
    return texts


def text_of(value: Any, alike: Alike, depth: int = 0) -> str | None:
    """Return a value that is plain, or made of plain ones, as text; None for another one."""
    if type(value) in PLAIN:
        return _plain_text(value, alike)
    if depth == _DEEPEST or type(value) not in CONTAINERS or len(value) > _MOST_PARTS:
        return None
    inner = [one for pair in value.items() for one in pair] if type(value) in MAPPINGS else list(value)
    found = [text_of(one, alike, depth + 1) for one in inner]
    texts = [one for one in found if one is not None]
    if len(texts) < len(found):
        return None
    if type(value) in MAPPINGS:
        texts = [f"{key}: {one}" for key, one in zip(texts[::2], texts[1::2], strict=True)]
    opening, closing = _BRACKETS.get(type(value), ("{", "}"))
    is_set = type(value) in (set, frozenset)
    return _cut(f"{opening}{', '.join(sorted(texts) if is_set else texts)}{closing}")


def _plain_text(value: Any, alike: Alike) -> str:
    return _cut(repr(alike(value) if type(value) is str else value))


def _cut(text: str) -> str:
    """Return a text, or the beginning of a long one, with what tells it from others that begin so."""
    if len(text) <= _MOST_TEXT:
        return text
    return f"{text[:_MOST_TEXT]}... ({len(text):,} characters, {_digest([text])[:8]})"


def _digest(texts: Sequence[str]) -> str:
    whole = hashlib.sha256()
    for text in texts:
        whole.update(text.encode("utf-8", "surrogatepass") + b"\0")
    return whole.hexdigest()


def difference_of(here: Held, there: Held | None) -> str:
    """Say in what two differ; "" where they do not."""
    if there is None:
        return f"is {_said(here)} here, and not there at all"
    if here.kind != there.kind:
        return f"is {_said(here)} here and {_said(there)} there"
    if here.value != there.value:
        return f"is {here.value} here and {there.value} there"
    if here.digest != there.digest:
        return "holds other numbers here than there"
    if here.parts is not None and there.parts is not None:
        if what := _difference_of_parts(here, there):
            return what
        return f"holds its {_entries(here.size)} in another order" if here.order != there.order else ""
    if here.size != there.size:
        return f"holds {_entries(here.size)} here and {_entries(there.size)} there"
    if here.order and there.order and here.order != there.order:
        return f"holds {_entries(here.size)}, and others here than there"
    return ""


def _difference_of_parts(here: Held, there: Held) -> str:
    missing = list((Counter(here.parts or ()) - Counter(there.parts or ())).elements())
    more = list((Counter(there.parts or ()) - Counter(here.parts or ())).elements())
    if here.size == there.size and not missing and not more:
        return ""
    texts = [f"holds {_entries(here.size)} here and {_entries(there.size)} there"]
    for what, names in (("not there", missing), ("not here", more)):
        if names:
            texts.append(f"{what}: {listed(names, _MOST_TOLD)}")
    return "; ".join(texts)


def _said(held: Held) -> str:
    if held.value is not None:
        return held.value
    return f"a {held.kind}" + ("" if held.size is None else f" of {_entries(held.size)}")


def _entries(size: int | None) -> str:
    return counted(size, "entry", "entries") if size else "nothing"
