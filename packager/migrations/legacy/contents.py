"""Which part of a checkpoint is the state dict: what was saved beside it, and what is no data at all.

People save a state dict; or a dict with one inside, beside optimisers, counters and settings; or a whole
model. Where only one state dict can be meant it is taken, and what else was there is said; where there
are several, nothing is guessed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from packager.errors import LegacyFormatError

from .pickle_machine import Named, Opaque
from .tensors import LegacyTensor

__all__ = ["Contents", "LeftOut", "state_dict_in"]

_USUAL: Final = frozenset(
    "state_dict model_state_dict model state_dict_ema model_ema ema ema_state_dict module net network "
    "weights params params_ema model_state generator discriminator teacher student backbone".split()
)
_DEEPEST: Final = 64
_MOST_PARTS: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Something of a file that is not part of the state dict: where it is, what it is, and why."""

    path: str
    what: str
    why: str


@dataclass(frozen=True, slots=True)
class Contents:
    """The state dict that was found, under which names it lay, and what was left out."""

    state: Mapping[str, Any]
    container: str
    left_out: tuple[LeftOut, ...] = ()
    versions: Mapping[str, Mapping[str, Any]] | None = None


def state_dict_in(root: Any, what: str, *, unwrap: str | None, everything: bool) -> Contents:
    """The state dict in what a pickle held.

    Raises LegacyFormatError where there is none, or where there are several and `unwrap` names none.
    """
    if everything:
        return _all_tensors(root, what)
    if unwrap is not None:
        return _taken(root, what, unwrap)
    if _is_state_dict(root):
        return _contents(root, "", ())
    candidates = dict(_candidates(root))
    usual = [path for path in candidates if path.rpartition(".")[2] in _USUAL]
    chosen = usual or list(candidates)
    if len(chosen) == 1:
        return _contents(candidates[chosen[0]], chosen[0], _beside(root, chosen[0]))
    if chosen:
        lines = [f"    {path}: {_shown(candidates[path])}" for path in chosen[:20]]
        raise LegacyFormatError(
            f"{what}: found {len(chosen)} state dicts; say which one (unwrap=, --unwrap), or take everything "
            "(everything=True, --everything):\n" + "\n".join(lines)
        )
    held = _shown(root)
    raise LegacyFormatError(
        f"{what}: found no state dict, but {held}; everything=True (--everything) takes tensors "
        "wherever they are"
    )


def _contents(value: Any, container: str, beside: tuple[LeftOut, ...]) -> Contents:
    state, left_out = {}, []
    prefix = f"{container}." if container else ""
    for key, inner in _entries(value).items():
        if _is_data(inner):
            state[key] = inner
        else:
            left_out.append(LeftOut(f"{prefix}{key}", _shown(inner), "not a tensor and not plain data"))
    if isinstance(value, Opaque):
        name = value.name
        left_out.append(LeftOut(container, f"object of {name}", "its parameters and buffers alone are data"))
    return Contents(state, container, (*left_out, *beside), _versions(value))


def _versions(value: Any) -> dict[str, Mapping[str, Any]] | None:
    """What `_metadata` of a state dict says of modules, as far as it is data."""
    known = getattr(value, "_metadata", None) if isinstance(value, dict) else None
    if not isinstance(known, dict):
        return None
    return {
        path: {name: fact for name, fact in facts.items() if type(name) is str and _is_plain(fact)}
        for path, facts in known.items()
        if type(path) is str and isinstance(facts, dict)
    }


def _taken(root: Any, what: str, unwrap: str) -> Contents:
    """What lies under the dotted names `unwrap`."""
    value, rest, path = root, unwrap, ""
    while rest:
        entries = _entries(value)
        # Names may hold dots themselves: the longest that is there.
        name = next(
            (rest[: len(rest) - cut] for cut in _cuts(rest) if rest[: len(rest) - cut] in entries), None
        )
        if name is None:
            there = ", ".join(map(repr, list(entries)[:20])) or "nothing by name"
            raise LegacyFormatError(
                f"{what}: nothing lies under {unwrap!r}; {path or 'the file'} holds {there}"
            )
        value, rest, path = entries[name], rest[len(name) + 1 :], f"{path}.{name}" if path else name
    if not any(isinstance(inner, LegacyTensor) for inner in _entries(value).values()):
        raise LegacyFormatError(f"{what}: {unwrap!r} is no state dict, but {_shown(value)}")
    return _contents(value, unwrap, _beside(root, unwrap))


def _cuts(rest: str) -> Iterator[int]:
    """How much to cut off so that whole names are left, the longest first."""
    yield 0
    place = rest.rfind(".")
    while place >= 0:
        yield len(rest) - place
        place = rest.rfind(".", 0, place)


def _beside(root: Any, container: str) -> tuple[LeftOut, ...]:
    """Everything at the level of the container, or above it, that is not the way to it."""
    found = []
    value, prefix = root, ""
    while True:
        entries = _entries(value)
        inside = [
            name for name in entries if container == prefix + name or container.startswith(f"{prefix}{name}.")
        ]
        found += [
            LeftOut(f"{prefix}{name}", _shown(inner), f"not part of the state dict {container!r}")
            for name, inner in entries.items()
            if name not in inside
        ]
        if not inside or container == prefix + inside[0]:
            return tuple(found)
        value, prefix = entries[inside[0]], f"{prefix}{inside[0]}."


def _candidates(root: Any) -> Iterator[tuple[str, Any]]:
    """The outermost state dicts, by dotted path; not inside of tables with other keys than names."""
    work = [("", root, 0)]
    for _ in range(_MOST_PARTS):
        if not work:
            return
        path, value, depth = work.pop()
        if path and _is_state_dict(value):
            yield path, value
        elif depth < 4 and (isinstance(value, Opaque) or (isinstance(value, dict) and _named(value))):
            prefix = f"{path}." if path else ""
            inner = [(f"{prefix}{name}", part, depth + 1) for name, part in _entries(value).items()]
            work += reversed(inner)


def _named(value: Mapping[Any, Any]) -> bool:
    return all(type(name) is str for name in value)


def _is_state_dict(value: Any) -> bool:
    """Tensors by name, and besides them nothing that holds tensors; or a module."""
    entries = _entries(value)
    if not entries or (isinstance(value, dict) and not _named(value)):
        return False
    if not any(isinstance(inner, LegacyTensor) for inner in entries.values()):
        return False
    return not any(isinstance(inner, dict) and _holds_tensors(inner) for inner in entries.values())


def _holds_tensors(value: Any) -> bool:
    return next(_walk(value), None) is not None


def _entries(value: Any) -> Mapping[str, Any]:
    """What lies in a dict by name, or in a module by attribute path."""
    if isinstance(value, Opaque):
        module = _module_state(value)
        return (
            module if module else value.state if isinstance(value.state, dict) and _named(value.state) else {}
        )
    return value if isinstance(value, dict) and _named(value) else {}


def _module_state(root: Opaque) -> dict[str, Any]:
    """The parameters and persistent buffers of a module that was pickled whole, as its state dict has them.

    Source: Module.state_dict of PyTorch, without its hooks.
    """
    found: dict[str, Any] = {}
    work: list[tuple[str, Any, int]] = [("", root, 0)]
    for _ in range(_MOST_PARTS):
        if not work:
            break
        prefix, module, depth = work.pop()
        state = module.state if isinstance(module, Opaque) else None
        if not isinstance(state, dict) or not isinstance(state.get("_modules"), dict) or depth > _DEEPEST:
            continue
        skipped = state.get("_non_persistent_buffers_set")
        for table in ("_parameters", "_buffers"):
            for name, value in (state.get(table) or {}).items():
                hidden = table == "_buffers" and isinstance(skipped, set) and name in skipped
                if isinstance(value, LegacyTensor) and type(name) is str and not hidden:
                    found[f"{prefix}{name}"] = value
        inner = [(f"{prefix}{name}.", part, depth + 1) for name, part in state["_modules"].items()]
        work += reversed(inner)
    return found


def _all_tensors(root: Any, what: str) -> Contents:
    state: dict[str, Any] = {}
    left_out = []
    for path, value in _walk(root, others=True):
        if isinstance(value, LegacyTensor):
            if path in state:
                raise LegacyFormatError(
                    f"{what}: two tensors would have the key {path!r}; unwrap one of them"
                )
            state[path] = value
        else:
            left_out.append(LeftOut(path, _shown(value), "not a tensor"))
    if not state:
        raise LegacyFormatError(f"{what}: found no tensor in it")
    return Contents(state, "", tuple(left_out), _versions(root))


def _walk(root: Any, others: bool = False) -> Iterator[tuple[str, Any]]:
    """Every tensor by its dotted path; with `others`, every other leaf as well.

    Raises LegacyFormatError for what is nested deeper, or shared more often, than checkpoints are.
    """
    work: list[tuple[str, Any, int]] = [("", root, 0)]
    parts = 0
    while work:
        path, value, depth = work.pop()
        parts += 1
        if depth > _DEEPEST or parts > _MOST_PARTS:
            raise LegacyFormatError(
                f"{path[:200]}: nested more than {_DEEPEST} deep, or of more than {_MOST_PARTS} parts; "
                "no checkpoint is"
            )
        inner: list[tuple[str, Any]] = []
        if isinstance(value, LegacyTensor):
            yield path, value
        elif isinstance(value, dict):
            inner = [(_name(name), part) for name, part in value.items()]
        elif isinstance(value, (list, tuple)):
            inner = [(str(place), part) for place, part in enumerate(value)]
        elif isinstance(value, Opaque):
            inner = list(_entries(value).items())
            if others:
                yield path, value
        elif others:
            yield path, value
        work += [(f"{path}.{name}" if path else name, part, depth + 1) for name, part in reversed(inner)]


def _name(key: Any) -> str:
    return key if type(key) is str else key.name if isinstance(key, (Named, Opaque)) else str(key)


def _is_data(value: Any) -> bool:
    return isinstance(value, LegacyTensor) or _is_plain(value)


def _is_plain(value: Any) -> bool:
    """Whether a value is made of nothing but numbers, texts and containers, as an archive can keep it."""
    work, parts = [(value, 0)], 0
    while work:
        found, depth = work.pop()
        parts += 1
        if parts > 10_000 or depth > _DEEPEST:
            return False
        if isinstance(found, dict):
            work += [(part, depth + 1) for pair in found.items() for part in pair]
        elif isinstance(found, (list, tuple, set, frozenset)):
            work += [(part, depth + 1) for part in found]
        elif type(found) not in (str, bytes, int, float, bool, complex, type(None)):
            return False
    return True


def _shown(value: Any) -> str:
    """A value in a few words."""
    if isinstance(value, LegacyTensor):
        return f"tensor of {value.dtype} {list(value.shape)}"
    if isinstance(value, Opaque):
        return f"object of {value.name}"
    if isinstance(value, Named):
        return f"name {value.name.replace(' ', '.')}"
    if isinstance(value, (dict, list, tuple, set)):
        count = _count_tensors(value)
        return f"{type(value).__name__} of {len(value)}" + (f" with {count} tensors" if count else "")
    if isinstance(value, (bool, float, type(None))) or (isinstance(value, int) and value.bit_length() < 64):
        return repr(value)
    return f"{value[:40]!r}" if isinstance(value, str) else type(value).__name__


def _count_tensors(value: Any) -> int:
    try:
        return sum(1 for _ in _walk(value))
    except LegacyFormatError:
        return 0
