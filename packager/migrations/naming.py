"""How alike two keys are, by the words in them: for suggestions, which somebody looks at first."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final

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


def words(key: str) -> list[str]:
    """The words of a key, those with one meaning under one name.

    >>> words("bert.encoder.layer.{}.attention.self.query.weight")
    ['bert', 'encoder', 'block', '{}', 'attn', 'self', 'q', 'weight']
    >>> words("h.{}.qProj_kernel")
    ['block', '{}', 'q', 'fc', 'weight']
    """
    return [_SAME.get(found.lower(), found.lower()) for found in _WORD.findall(key)]


def leaf(key: str) -> str:
    """What the last word of a key means: "weight", "bias", ...

    >>> leaf("norm.gamma"), leaf("attn.in_proj_bias")
    ('weight', 'bias')
    """
    found = [word for word in words(key) if word != "{}"]
    return found[-1] if found else ""


class Likeness:
    """Compares keys by the words that they share; words that stand in few keys count for more."""

    def __init__(self, keys: Iterable[str]) -> None:
        self._words = {key: Counter(words(key)) for key in keys}
        known = Counter(word for found in self._words.values() for word in found)
        total = len(self._words) + 1
        self._weights = {word: math.log(total / count) + 0.2 for word, count in known.items()}

    def __call__(self, one: str, other: str) -> float:
        """From 0, nothing in common, to 1, the same words."""
        left, right = self._words[one], self._words[other]
        shared, every = left & right, left | right
        whole = sum(self._weights[word] * count for word, count in every.items())
        part = sum(self._weights[word] * count for word, count in shared.items())
        return part / whole if whole else 0.0
