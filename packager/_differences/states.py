"""Two state dicts: keys that are new, gone or renamed, and values that are others.

A renamed key is found by its content first: a digest of dtype, shape and bytes. What is left on both sides
goes through a draft of a migration, the same that `kellet suggest-migration` writes, which finds values
that were turned round, joined or split. What the draft makes of old keys is renamed where it has the content
of the new key; where a draft is sure of a key that has other values, these are compared.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from packager._calls import absolute_differences, ulps_apart
from packager._drafting import suggest_migration
from packager._migrations import apply_steps, is_array, migrate, stored_keys, stored_values
from packager._tensors import boxes
from packager._weights import LegacyTensor, as_lazy
from packager.errors import LegacyFormatError, PackageError

from .changes import KeyChange, TensorChange

BY_CONTENT = "the same content"
_MOST_PARTS = 8  # at the end of keys, by which those with one content are told apart


def compare_states(
    before: Mapping[str, Any],
    after: Mapping[str, Any],
    *,
    state: str = "",
    suspects: Collection[str] | None = None,
) -> tuple[list[KeyChange], list[TensorChange]]:
    """Return how two state dicts differ: their keys, and the values of keys that both have.

    Values are arrays of any supported library, or tensors of an open checkpoint, read a few MB at a time;
    what is no array is compared where it is plain data of one type. `state` is what the changes say of where
    they are. Only keys in `suspects` may have other values, where it is given: the others are not read.

    >>> import numpy
    >>> ones, twos = numpy.ones((2, 2)), numpy.full(3, 2.0)
    >>> keys, tensors = compare_states({"fc.w": ones, "b": twos}, {"fc.weight": ones, "b": twos + 1})
    >>> print(*keys, *tensors, sep="\\n")
    fc.w -> fc.weight  (the same content)
    b  float64 [3]; norm 1.73 (0.5 of it), largest 1, 3 of 3 elements
    """
    gone = [key for key in before if key not in after]
    new = [key for key in after if key not in before]
    common = [key for key in before if key in after] if suspects is None else suspects
    tensors = compare_values(before, after, common, state=state)
    keys: list[KeyChange] = []
    if gone and new:
        renamed = list(_by_content(state, before, after, gone, new))
        taken = {old for change in renamed for old in change.old_keys}
        made = {change.key for change in renamed}
        gone, new = [key for key in gone if key not in taken], [key for key in new if key not in made]
        more, others = _by_draft(state, before, after, gone, new)
        keys = _in_order([*renamed, *more], after)
        tensors += others
        taken = {old for change in more for old in change.old_keys} | {one.old_key for one in others}
        made = {change.key for change in more} | {one.key for one in others}
        gone, new = [key for key in gone if key not in taken], [key for key in new if key not in made]
    keys += [KeyChange(state, "removed", key, layout=_layout(before[key])) for key in gone]
    keys += [KeyChange(state, "added", key, layout=_layout(after[key])) for key in new]
    return keys, tensors


def compare_values(
    before: Mapping[str, Any], after: Mapping[str, Any], keys: Iterable[str], *, state: str = ""
) -> list[TensorChange]:
    """Return how the values of some keys differ that two state dicts have; see `compare_states`."""
    changes = (_change(state, key, before[key], after[key]) for key in keys)
    return [change for change in changes if change is not None]


def _change(state: str, key: str, before: Any, after: Any) -> TensorChange | None:
    """Return how the values of one key differ; None where they do not."""
    if _is_tensor(before) and _is_tensor(after):
        return tensor_change(state, key, before, after)
    if _is_tensor(before) or _is_tensor(after):
        return TensorChange(state, key, _layout(before), _layout(after), note="another kind of value")
    if type(before) is type(after) and _is_plain(before) and before == after:
        return None
    if _same_encoding(before, after):
        return None
    return TensorChange(state, key, _layout(before), _layout(after), note="another value")


def _is_tensor(value: Any) -> bool:
    return isinstance(value, LegacyTensor) or is_array(value)


def _is_plain(value: Any) -> bool:
    return value is None or type(value) in (bool, int, float, str, bytes)


def _same_encoding(before: Any, after: Any) -> bool:
    """Say whether two nested values are the same plain data; anything else is not comparable."""
    work = [(before, after)]
    while work:
        one, other = work.pop()
        if type(one) is not type(other):
            return False
        if _is_plain(one):
            if one != other and not (one != one and other != other):  # two NaNs
                return False
        elif type(one) in (list, tuple) and len(one) == len(other):
            work += zip(one, other, strict=True)
        elif type(one) is dict and list(one) == list(other) and all(map(_is_plain, one)):
            work += ((one[key], other[key]) for key in one)
        elif _is_tensor(one):
            if tensor_change("", "", one, other) is not None:
                return False
        else:
            return False
    return True


def _layout(value: Any) -> str:
    return layout_of(as_lazy(value)) if _is_tensor(value) else type(value).__name__


# --- renamed keys ---


def _by_content(
    state: str, before: Mapping[str, Any], after: Mapping[str, Any], gone: Sequence[str], new: Sequence[str]
) -> Iterator[KeyChange]:
    """Yield the keys whose values stand under another name; only layouts of both sides are read."""
    layouts = [{key: _layout(side[key]) for key in keys} for side, keys in ((before, gone), (after, new))]
    shared = set(layouts[0].values()) & set(layouts[1].values())
    contents: dict[bytes, tuple[list[str], list[str]]] = {}
    for at, (side, keys) in enumerate(((before, layouts[0]), (after, layouts[1]))):
        for key, layout in keys.items():
            digest = _digest(side[key], layout) if layout in shared else None
            if digest is not None:
                contents.setdefault(digest, ([], []))[at].append(key)
    for old_keys, new_keys in contents.values():
        for old, key in _paired(old_keys, new_keys):
            yield KeyChange(state, "renamed", key, (old,), _layout(after[key]), BY_CONTENT)


def _digest(value: Any, layout: str) -> bytes | None:
    """Return the sha256 of an array's dtype, shape and bytes; None for what is none."""
    if not _is_tensor(value):
        return None
    digest = hashlib.sha256(layout.encode())
    for piece in as_lazy(value).pieces():
        digest.update(piece)
    return digest.digest()


def _paired(olds: Sequence[str], news: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield pairs of keys with one content, as zeros of several layers have: those that end alike first."""
    for count in range(_MOST_PARTS, -1, -1):
        if not olds or not news:
            return
        by_end: dict[tuple[str, ...], list[str]] = {}
        for old in reversed(olds):
            by_end.setdefault(_last_parts(old, count), []).append(old)
        found = {key: same.pop() for key in news if (same := by_end.get(_last_parts(key, count)))}
        for key, old in found.items():
            yield old, key
        taken = set(found.values())
        olds, news = [old for old in olds if old not in taken], [key for key in news if key not in found]


def _last_parts(key: str, count: int) -> tuple[str, ...]:
    return tuple(key.rsplit(".", count)[-count:]) if count else ()


def _by_draft(
    state: str, before: Mapping[str, Any], after: Mapping[str, Any], gone: Sequence[str], new: Sequence[str]
) -> tuple[list[KeyChange], list[TensorChange]]:
    """Return what a draft of a migration makes of the keys that are left; nothing where it cannot be done."""
    old = {key: before[key] for key in gone if _is_tensor(before[key])}
    wanted = {key: after[key] for key in new if _is_tensor(after[key])}
    if not old or not wanted:
        return [], []
    try:
        draft = suggest_migration(old, wanted, "renamed")
        values, _ = apply_steps(draft.migration.steps, stored_values(old))
        migrated = migrate(draft.migration, old)
    except (PackageError, ValueError):
        return [], []
    keys, tensors = [], []
    for key, value in wanted.items():
        made_of = stored_keys(values[key].origin) if key in values else []
        if not made_of or any(part not in old for part in made_of):
            continue
        made = migrated.lazy(key)
        if tuple(made.shape) != tuple(value.shape):
            continue
        change = tensor_change(state, key, made, value, old_key=" + ".join(made_of))
        if change is None:
            because = "the same content" if len(made_of) > 1 else "the same content, laid out anew"
            keys.append(KeyChange(state, "renamed", key, tuple(made_of), _layout(value), because))
        elif len(made_of) == 1:
            tensors.append(change)
    return keys, tensors


def _in_order(changes: Iterable[KeyChange], after: Mapping[str, Any]) -> list[KeyChange]:
    """Return changes in the order of their keys."""
    places = {key: at for at, key in enumerate(after)}
    return sorted(changes, key=lambda change: places[change.key])


_AT_ONCE: Final = 1 << 18  # elements


def layout_of(value: Any) -> str:
    """Return dtype and shape as text.

    >>> import numpy
    >>> layout_of(numpy.ones((2, 3), "float32"))
    'float32 [2, 3]'
    """
    return f"{value.dtype} [{', '.join(map(str, value.shape))}]"


def same_bytes(before: object, after: object) -> bool:
    """Say whether two arrays of one dtype and shape have the same bits in every element."""
    one, other = as_lazy(before), as_lazy(after)
    size = _AT_ONCE * 8
    # Both are cut alike, whatever their layout: into boxes of their shape.
    return all(
        one.read(box).tobytes() == other.read(box).tobytes()
        for box in boxes(tuple(one.shape), max(size // max(_itemsize(one), 1), 1))
    )


def tensor_change(state: str, key: str, before: Any, after: Any, old_key: str = "") -> TensorChange | None:
    """Return how two values of one key differ; None where every bit is the same. Both are arrays."""
    layouts = layout_of(before), layout_of(after)
    if tuple(before.shape) != tuple(after.shape):
        return TensorChange(state, key, *layouts, note="another shape", old_key=old_key)
    if layouts[0] == layouts[1] and same_bytes(before, after):
        return None
    try:
        found = _numbers(as_lazy(before), as_lazy(after))
    except (LegacyFormatError, TypeError, ValueError) as error:  # a dtype that NumPy cannot calculate with
        return TensorChange(state, key, *layouts, note=f"other bytes; no numbers: {error}", old_key=old_key)
    note = (
        ""
        if found["differing"]
        else "the same values in another dtype, or other signs of zeros or bits of NaNs"
    )
    return TensorChange(state, key, *layouts, **found, note=note, old_key=old_key)


def _numbers(before: Any, after: Any) -> dict[str, Any]:
    """Return the numbers of a change, gathered over both arrays box by box."""
    import numpy as np

    squares = of_before = 0.0
    largest: float | int = 0
    ulps: int | None = 0
    differing = 0
    for box in boxes(tuple(before.shape), _AT_ONCE):
        one, other = _typed(before, box), _typed(after, box)
        if ulps is not None:
            more = ulps_apart(one, other)
            ulps = None if more is None else max(ulps, more)
        one, other = _alike(one, other)
        apart = absolute_differences(one, other)
        largest = max(largest, apart.max().item())
        differing += int(np.count_nonzero(apart))
        with np.errstate(all="ignore"):
            squares += float(np.sum(np.square(apart.astype(np.float64))))
            size = np.abs(one.astype(np.complex128 if one.dtype.kind == "c" else np.float64))
            of_before += float(np.nansum(np.square(size)))
    norm, base = math.sqrt(squares), math.sqrt(of_before)
    return {
        "norm": norm,
        "relative": norm / base if base else (math.inf if norm else 0.0),
        "largest": largest,
        "ulps": ulps,
        "differing": differing,
        "size": math.prod(before.shape),
    }


def _typed(array: Any, box: Any) -> Any:
    """Return a box in a dtype that NumPy calculates with; bfloat16 is the upper half of a float32."""
    import numpy as np

    if array.dtype == "bfloat16":
        return (array.read(box).view(np.uint16).astype(np.uint32) << 16).view(np.float32)
    found = array.typed(box)
    if found.dtype.kind not in "biufc":
        found = found.astype(np.float32)  # float8 of ml_dtypes: every value is one of float32
    return found


def _alike(one: Any, other: Any) -> tuple[Any, Any]:
    """Return both as numbers of one kind, as they are where they are that."""
    import numpy as np

    if one.dtype.kind == other.dtype.kind and one.dtype.kind in "biufc":
        return one, other
    kind = np.complex128 if "c" in (one.dtype.kind, other.dtype.kind) else np.float64
    return one.astype(kind), other.astype(kind)


def _itemsize(array: Any) -> int:
    return int(array.nbytes // max(math.prod(array.shape), 1))
