"""A state dict against the model that is to load it: what would be missing, too much, or of another shape.

Names are compared by the words in them, for suggestions that people look at first.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, Final

from packager.quick_dataclasses import dataclass
from packager.texts import WIDTH, in_lines

from .migrated_values import Value, is_open, stored_values
from .transforms import Header

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
    """What a strict load would find."""

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


def load_report(values: Mapping[str, Value], target: Any) -> LoadReport:
    """Compare the keys and shapes of a planned state dict with those of a module, or of a mapping."""
    wanted, open_keys = headers_of(target), open_keys_of(target)
    missing = tuple(key for key in wanted if key not in values)
    unexpected = tuple(key for key in values if key not in wanted)
    mismatched = tuple(
        Mismatch(key, values[key].header, header)
        for key, header in wanted.items()
        if key in values and key not in open_keys and _shape(values[key].header) != _shape(header)
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
    counts = Counter(_shape(header) for header in unexpected.values())
    if (
        sum(
            len(unexpected) if key in open_keys else counts[_shape(header)] for key, header in missing.items()
        )
        > _MOST
    ):
        return ()
    similarity = NameSimilarity([*unexpected, *missing])
    by_shape: dict[Any, list[str]] = {}
    for key, header in unexpected.items():
        by_shape.setdefault(_shape(header), []).append(key)
    found = []
    for key, header in missing.items():
        ranked = sorted(
            (
                (f".{key}".endswith(f".{other}"), _common_end(key, other), similarity(key, other), other)
                for other in (unexpected if key in open_keys else by_shape.get(_shape(header), ()))
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


def _shape(header: Header | None) -> tuple[int, ...] | None:
    return None if header is None else header.shape
