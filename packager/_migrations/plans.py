"""A plan: what each step does to which keys, what there is afterwards, and what a model would make of it.

Names are compared by the words in them, for suggestions that people look at first.
"""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from packager._quick_dataclasses import dataclass
from packager._texts import WIDTH, counted, in_lines, wrapped
from packager.errors import MigrationError

from .migrated_values import Value, is_open, stored_values
from .transforms import Header

NO_MATCH: Final = "no key matches"
"""How the reason of a step that found nothing begins."""

_Cells = tuple[str, str]  # a key, or one and what becomes of it; its shape


class Row(NamedTuple):
    """One line of a plan: what a step does to some keys, or why it leaves them alone.

    `literal` marks a step that matched nothing though it names its key letter by letter, `optional` one that
    need not match anything.
    """

    step: str
    old: tuple[str, ...]
    new: tuple[str, ...]
    before: tuple[Header | None, ...] = ()
    after: tuple[Header | None, ...] = ()
    skipped: str = ""
    literal: bool = False
    optional: bool = False


@dataclass(frozen=True)
class MigrationPlan:
    """The plan of a migration: a row per change or skip, and every key of the result.

    `ran` names the migrations that were due for the state dict's version.

    >>> import numpy
    >>> from packager.migrations import Migration, plan_migration, rename
    >>> migration = Migration("fc", [rename("proj.{rest}", "fc.{rest}")])
    >>> plan = plan_migration(migration, {"proj.bias": numpy.ones(2)})
    >>> list(plan.values), plan.against({"fc.bias": numpy.ones(2)}).ok
    (['fc.bias'], True)
    """

    rows: tuple[Row, ...]
    values: Mapping[str, Value]
    ran: tuple[str, ...]

    @property
    def untouched(self) -> tuple[Row, ...]:
        """The steps that matched no key at all."""
        return tuple(row for row in self.rows if row.skipped.startswith(NO_MATCH))

    @property
    def warnings(self) -> tuple[str, ...]:
        """The steps that matched no key though they are for this very file; each may be a mistake."""
        return tuple(f"{row.step}: {row.skipped}" for row in self.untouched if not row.optional)

    def against(self, target: object) -> LoadReport:
        """Compare with `target`, a module or a state dict: missing, unexpected and mismatched keys."""
        return load_report(self.values, target)

    def require_matched(self, *, strict: bool = False) -> None:
        """Raise MigrationError for steps that matched nothing though they name their key; if `strict`, for
        all that did."""
        idle = [
            row.step + row.skipped.removeprefix(NO_MATCH)
            for row in self.untouched
            if row.literal or (strict and not row.optional)
        ]
        if idle:
            raise MigrationError.listing(
                "steps that match no key:",
                idle,
                "Correct the key. If the file may lack it, name it in if_all, too, as in "
                'rename("a", "b", if_all="a")',
            )

    def __str__(self) -> str:
        """Return the plan step by step in lines of 80 characters, and a last line that counts."""
        lines: list[str] = []
        for step, group in itertools.groupby(self.rows, lambda row: row.step):
            lines += wrapped(step)
            lines += _columns([cells for row in group for cells in _cells(row)])
        return in_lines(*lines, self._counts())

    def _counts(self) -> str:
        changed = sum(not row.skipped for row in self.rows)
        keys = counted(len(self.values), "key")
        return f"{counted(changed, 'change')}, {len(self.rows) - changed} skipped, {keys} afterwards"

    def __repr__(self) -> str:
        return f"<MigrationPlan: {self._counts()}>"

    def _repr_html_(self) -> str:
        """Return the page that a notebook shows: each change with its shapes, and what was skipped."""
        from packager._notebook_page import notebook_page

        changes = (
            [", ".join(row.old), f"-> {', '.join(row.new)}", _shapes(row)]
            for row in self.rows
            if not row.skipped
        )
        skipped = ([row.step, row.skipped] for row in self.rows if row.skipped)
        sections = [("changes", changes), ("skipped", skipped), ("migrations that were due", self.ran)]
        return notebook_page("Migration plan", self._counts(), sections, "" if self.warnings else "good")


def _cells(row: Row) -> Iterator[_Cells]:
    """Yield the lines of a row: one for a key that goes on under one name, else one for each name."""
    if row.skipped:
        keys = f"{', '.join(row.old)}: " if row.old else ""
        for line in wrapped(f"{keys}skipped: {row.skipped}", "    "):
            yield line, ""
        return
    before, after = [list(map(_shape, headers)) for headers in (row.before, row.after)]
    if len(row.old) == len(row.new) == 1:
        old, new = row.old[0], row.new[0]
        shape = before[0] if before == after else f"{before[0]} -> {after[0]}"
        text = f"    {old}" if old == new else f"    {old} -> {new}"
        if _fits(text, shape):
            yield text, shape
            return
    for old, shape in zip(row.old, before, strict=True):
        yield f"    {old}", shape
    for new, shape in zip(row.new, after, strict=True):
        yield f"      -> {new}", shape


def _columns(cells: Sequence[_Cells]) -> Iterator[str]:
    """Yield lines in which shapes stand below each other, as far as they fit."""
    widest = max((len(shape) for text, shape in cells if _fits(text, shape)), default=0)
    column = max((len(text) for text, shape in cells if shape and len(text) + 2 + widest <= WIDTH), default=0)
    for text, shape in cells:
        if not shape:
            yield text
        elif _fits(text, shape):
            yield f"{text.ljust(min(column, WIDTH - 2 - len(shape)))}  {shape}"
        else:
            yield text
            yield f"          {shape}"


def _fits(text: str, shape: str) -> bool:
    return len(text) + 2 + len(shape) <= WIDTH


def _shapes(row: Row) -> str:
    """Return the shapes before and after, once where they are the same."""
    ends = (", ".join(map(_shape, headers)) for headers in (row.before, row.after))
    return " -> ".join(dict.fromkeys(ends))


def _shape(header: Header | None) -> str:
    return "-" if header is None else str(header)


def reasons_text(title: str, reasons: Iterable[str]) -> list[str]:
    """Return reasons below a title, each in lines of their own; nothing where there are none.

    >>> reasons_text("does not go back:", ["drop a: it has no inverse"])
    ['does not go back:', '    drop a: it has no inverse']
    """
    lines = [line for reason in reasons for line in wrapped(reason, "    ")]
    return [title, *lines] if lines else []


_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|\{\}")

# What different projects call the same thing.
_SAME: Final[Mapping[str, str]] = {
    word: first
    for group in (
        "weight kernel gamma scale w",
        "bias beta offset b",
        "q query wq",
        "k key wk",
        "v value wv",
        "norm ln layernorm bn batchnorm groupnorm rmsnorm",
        "attn attention selfattention mha",
        "embed embedding embeddings emb",
        "token word wte tok",
        "pos position positional wpe",
        "type segment",
        "block blocks layer layers blk stage stages h",
        "mlp ff ffn feedforward feed",
        "fc dense linear lin proj projection",
        "head classifier logits",
        "out output o",
        "up intermediate",
        "mean avg",
        "var variance",
        "downsample shortcut skip",
        "encoder backbone trunk body model",
    )
    for first, *others in (group.split(),)
    for word in (first, *others)
}
_MOST = 300_000  # comparisons of names, some seconds; where more have one shape, nothing is suggested


@dataclass(frozen=True, slots=True)
class Mismatch:
    """A key whose value has another shape than the target's."""

    key: str
    found: Header | None
    expected: Header | None


@dataclass(frozen=True, slots=True)
class NearName:
    """An unexpected key that could be a missing one; for people to judge, never applied unasked."""

    unexpected: str
    missing: str
    because: str


@dataclass(frozen=True)
class LoadReport:
    """The differences that a strict load would find."""

    missing: tuple[str, ...]
    unexpected: tuple[str, ...]
    mismatched: tuple[Mismatch, ...]
    suggestions: tuple[NearName, ...]

    @property
    def ok(self) -> bool:
        """Whether every key fits."""
        return not (self.missing or self.unexpected or self.mismatched)

    def __str__(self) -> str:
        if self.ok:
            return "every key of the target has a value of its shape"
        return in_lines(*self._lines())

    def _lines(self) -> Iterator[str]:
        for title, keys in (("missing", self.missing), ("unexpected", self.unexpected)):
            if keys:
                yield f"{title}:"
                yield from (f"    {key}" for key in keys)
        if self.mismatched:
            yield "of another shape:"
            for one in self.mismatched:
                yield from _beside(f"    {one.key}", f"{one.found}, the target has {one.expected}")
        if self.suggestions:
            yield "could be the same (nothing was renamed):"
            for near in self.suggestions:
                yield from _beside(f"    {near.unexpected} -> {near.missing}", f"({near.because})")


def _beside(text: str, more: str) -> Iterator[str]:
    """Yield one line with both, or two where one would be too long."""
    if len(text) + 2 + len(more) <= WIDTH:
        yield f"{text}  {more}"
    else:
        yield text
        yield f"        {more}"


def load_report(values: Mapping[str, Value], target: object) -> LoadReport:
    """Compare the keys and shapes of a planned state dict with those of a module, or of a mapping."""
    wanted, open_keys = headers_of(target), open_keys_of(target)
    missing = tuple(key for key in wanted if key not in values)
    unexpected = tuple(key for key in values if key not in wanted)
    mismatched = tuple(
        Mismatch(key, values[key].header, header)
        for key, header in wanted.items()
        if key in values and key not in open_keys and _shape_of(values[key].header) != _shape_of(header)
    )
    left = {key: values[key].header for key in unexpected}
    near = near_names(left, {key: wanted[key] for key in missing}, open_keys)
    return LoadReport(missing, unexpected, mismatched, near)


def headers_of(target: Any) -> dict[str, Header | None]:
    """Return the keys of a module, or of a mapping that is a state dict, each with its header.

    >>> import numpy
    >>> headers_of({"weight": numpy.ones((2, 3), "float32")})["weight"].shape
    (2, 3)
    """
    state = target if isinstance(target, Mapping) else target.state_dict()
    return {key: value.header for key, value in stored_values(state).items()}


def open_keys_of(target: Any) -> frozenset[str]:
    """Return the keys of a module that take any shape: those of lazy modules of PyTorch. A mapping has none.

    >>> open_keys_of({"weight": 1})
    frozenset()
    """
    if isinstance(target, Mapping):
        return frozenset()
    return frozenset(key for key, value in target.state_dict().items() if is_open(value))


def words(key: str) -> list[str]:
    """Return the words of a key, those with one meaning under one name.

    >>> words("bert.encoder.layer.{}.attention.self.query.weight")
    ['bert', 'encoder', 'block', '{}', 'attn', 'self', 'q', 'weight']
    >>> words("h.{}.qProj_kernel")
    ['block', '{}', 'q', 'fc', 'weight']
    """
    return [_SAME.get(found.lower(), found.lower()) for found in _WORD.findall(key)]


def leaf(key: str) -> str:
    """Return what the last word of a key means: "weight", "bias", ...

    >>> leaf("norm.gamma"), leaf("attn.in_proj_bias")
    ('weight', 'bias')
    """
    found = [word for word in words(key) if word != "{}"]
    return found[-1] if found else ""


class NameSimilarity:
    """Compares keys by the words that they share; words that stand in few keys count for more.

    >>> alike = NameSimilarity(["fc.weight", "head.fc.weight", "norm.bias"])
    >>> alike("fc.weight", "head.fc.weight") > alike("fc.weight", "norm.bias")
    True
    """

    def __init__(self, keys: Iterable[str]) -> None:
        self._words = {key: Counter(words(key)) for key in keys}
        known = Counter(word for found in self._words.values() for word in found)
        total = len(self._words) + 1
        self._weights = {word: math.log(total / count) + 0.2 for word, count in known.items()}

    def __call__(self, one: str, other: str) -> float:
        """Return the similarity of two keys, from 0, no common word, to 1, the same words."""
        left, right = self._words[one], self._words[other]
        shared, every = left & right, left | right
        whole = sum(self._weights[word] * count for word, count in every.items())
        part = sum(self._weights[word] * count for word, count in shared.items())
        return part / whole if whole else 0.0


def near_names(
    unexpected: Mapping[str, Header | None],
    missing: Mapping[str, Header | None],
    open_keys: Collection[str] = (),
) -> tuple[NearName, ...]:
    """Find for each missing key the unexpected one of its shape with the longest equal end or likest name.

    One whose whole name is that end comes first. `open_keys` are missing ones that take any shape.

    >>> shape = Header((2,), "float32")
    >>> [(near.unexpected, near.missing) for near in near_names({"fc.bias": shape}, {"head.fc.bias": shape})]
    [('fc.bias', 'head.fc.bias')]
    """
    counts = Counter(_shape_of(header) for header in unexpected.values())
    several = (len(unexpected) if key in open_keys else counts[_shape_of(missing[key])] for key in missing)
    if sum(several) > _MOST:
        return ()
    similarity = NameSimilarity([*unexpected, *missing])
    by_shape: dict[Any, list[str]] = {}
    for key, header in unexpected.items():
        by_shape.setdefault(_shape_of(header), []).append(key)
    found = []
    for key, header in missing.items():
        ranked = sorted(
            (
                (f".{key}".endswith(f".{other}"), _common_end(key, other), similarity(key, other), other)
                for other in (unexpected if key in open_keys else by_shape.get(_shape_of(header), ()))
            ),
            reverse=True,
        )
        if ranked and (ranked[0][1] or ranked[0][2] > 0):
            _, same, alike, other = ranked[0]
            shape = "any shape will do" if key in open_keys else "the same shape"
            because = f"{shape}, {f'{same} equal names at the end' if same else f'{alike:.0%} alike'}"
            found.append(NearName(other, key, because))
    return tuple(found)


def _common_end(one: str, other: str) -> int:
    count = 0
    for left, right in zip(reversed(one.split(".")), reversed(other.split(".")), strict=False):
        if left != right:
            break
        count += 1
    return count


def _shape_of(header: Header | None) -> tuple[int, ...] | None:
    return None if header is None else header.shape
