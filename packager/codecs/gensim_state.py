"""Word2Vec of gensim: as many rows in each table as there are words, since training in C asks no more."""

from __future__ import annotations

from typing import Any, Final

from .c_state import StateCheck, attributes_of, require, require_array, require_int

_MOST: Final = 1 << 31
_WIDEST: Final = 1 << 20


class Word2VecCheck(StateCheck):
    """Vectors, the table of the output layer, the table of frequencies, and words that lead into them."""

    types = ("gensim.models.word2vec:Word2Vec",)

    def check_made(self, obj: Any) -> None:
        """Check a complete model. Raises ValueError."""
        held = attributes_of(obj)
        words = attributes_of(held.get("wv"))
        keys, places = words.get("index_to_key"), words.get("key_to_index")
        require(type(keys) is list and type(places) is dict, "wv has no words")
        count = len(keys or ())
        require(places == {key: at for at, key in enumerate(keys or ())}, "key_to_index is not index_to_key")
        width = require_int(held.get("vector_size"), "vector_size", 1, _WIDEST)
        inner = require_int(held.get("layer1_size"), "layer1_size", 1, _WIDEST)
        require(inner == width, f"layer1_size is {inner}, and vectors have {width} numbers")
        require(words.get("vector_size") == width, "wv has vectors of another size")
        require(held.get("hs") in (0, False), "hs asks for a tree of words, which is not stored")
        _table(words.get("vectors"), "vectors", (count, width))
        locked = words.get("vectors_lockf")
        if locked is not None:
            require_array(locked, "vectors_lockf", dtypes=("float32",), shape=(None,))
            require(len(locked) in (1, count), f"vectors_lockf has {len(locked)} values")
        if require_int(held.get("negative"), "negative", 0, _WIDEST):
            _table(held.get("syn1neg"), "syn1neg", (count, width))
            _check_frequencies(held.get("cum_table"), count)
        numbers = words.get("expandos")
        require(type(numbers) is dict and {"count", "sample_int"} <= numbers.keys(), "wv has no frequencies")
        for name in ("count", "sample_int"):
            require_array(numbers[name], f"expandos[{name}]", kinds="iu", shape=(count,))  # type: ignore[index]  # a dict, as was required
        require_int(held.get("window"), "window", 1, _MOST)


def _table(value: Any, what: str, shape: tuple[int, int]) -> None:
    require_array(value, what, dtypes=("float32",), shape=shape)
    require(value.flags.c_contiguous, f"{what} has gaps")


def _check_frequencies(value: Any, count: int) -> None:
    """Raise ValueError unless frequencies add up: gensim divides by the last one, to draw a word."""
    require_array(value, "cum_table", dtypes=("uint32",), shape=(count,))
    grows = bool((value[1:] >= value[:-1]).all())
    require(count > 0 and grows and int(value[-1]) > 0, "cum_table does not grow to more than 0")


CHECKS: Final = (Word2VecCheck(),)
