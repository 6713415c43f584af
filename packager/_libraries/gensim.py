"""A codec for Word2Vec of gensim, which trains in C by what lies in its attributes.

What gensim puts into each of its objects anew (the hash function, and what stands in the place of `load`) is
not stored. Each table has as many rows as there are words, since training asks no more. It makes a place in
a table of the product of two vectors, so that numbers are finite there, and stay so: a step adds one vector,
times a rate, to the other. Other models of gensim are classes and attributes, and need no codec.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, Final

from packager._audit import Row, Rows, checked
from packager._codecs import (
    CannotStore,
    Encoding,
    Library,
    ObjectCodec,
    StateCheck,
    attributes_of,
    expect,
    expect_class,
    is_int,
    require,
    require_array,
    require_int,
)
from packager._libraries.families import ASSIGNED, check_assigned
from packager._quick_dataclasses import replace

_MODELS: Final = {
    "gensim.corpora.dictionary": "Dictionary",
    "gensim.models.keyedvectors": "KeyedVectors",
    "gensim.models.ldamodel": "LdaModel LdaState",
    "gensim.models.tfidfmodel": "TfidfModel",
    "gensim.models.word2vec": "Word2Vec",
}
_ANEW: Final = ("hashfxn", "load")
_MOST: Final = 1 << 30
_WIDEST: Final = 1 << 20
_LARGEST: Final = 1e12
"""Of a number in a vector: products of sums of such vectors do not overflow in float32."""
_FASTEST: Final = 1e3
"""Of a rate at which vectors are changed."""
_RATES: Final = ("alpha", "min_alpha")


class Word2VecCodec(ObjectCodec):
    """Word2Vec: its attributes, without the two functions that gensim sets itself."""

    name = "gensim.word2vec"
    types = ("gensim.models.word2vec:Word2Vec",)

    def attributes(self, obj: object, context: Encoding) -> Mapping[str, object]:
        """Return the attributes. Raises CannotStore for what training in C takes in another form."""
        held = dict(vars(obj))
        if held.get("hs"):
            raise CannotStore(
                "a Word2Vec with hierarchical softmax", "save its vectors, model.wv", "train it with hs=0"
            )
        if held.pop("hashfxn", hash) is not hash:
            raise CannotStore("a Word2Vec with hashfxn=", "save its vectors, model.wv")
        held.pop("load", None)
        return held

    def make(self, cls: Any, version: int) -> Any:
        from gensim.models import Word2Vec
        from gensim.utils import call_on_class_only

        expect_class(cls, Word2Vec, "Word2Vec")
        made = object.__new__(cls)
        vars(made).update(hashfxn=hash, load=call_on_class_only)
        return made

    def fill(self, obj: Any, attributes: Mapping[str, object], version: int) -> None:
        found = [name for name in _ANEW if name in attributes]
        expect(not found, "no functions of gensim's own", ", ".join(found))
        vars(obj).update(attributes)


class Word2VecCheck(StateCheck):
    """Vectors, the table of the output layer, the table of frequencies, and words that lead into them."""

    types = ("gensim.models.word2vec:Word2Vec",)

    def check_made(self, obj: object) -> None:
        """Check a complete model. Raises ValueError."""
        held = attributes_of(obj)
        words = attributes_of(held.get("wv"))
        keys, places = words.get("index_to_key"), words.get("key_to_index")
        require(type(keys) is list and type(places) is dict, "wv has no words")
        texts = {str, bytes, int}.issuperset(map(type, (*(keys or ()), *(places or ()))))
        require(texts and all(map(is_int, (places or {}).values())), "wv has words that are no texts")
        count = len(keys or ())
        require(places == {key: at for at, key in enumerate(keys or ())}, "key_to_index is not index_to_key")
        width = require_int(held.get("vector_size"), "vector_size", 1, _WIDEST)
        inner = require_int(held.get("layer1_size"), "layer1_size", 1, _WIDEST)
        require(inner == width, f"layer1_size is {inner}, and vectors have {width} numbers")
        size: Any = words.get("vector_size")
        require(is_int(size) and size == width, "wv has vectors of another size")
        tree: Any = held.get("hs")
        known = is_int(tree) or type(tree) is bool
        require(known and not tree, "hs asks for a tree of words, which is not stored")
        _table(words.get("vectors"), "vectors", (count, width))
        locked = words.get("vectors_lockf")
        if locked is not None:
            _table(locked, "vectors_lockf", (None,), _FASTEST)
            require(len(locked) in (1, count), f"vectors_lockf has {len(locked)} values")
        for name in _RATES:
            rate: Any = held.get(name)
            require(type(rate) in (int, float), f"{name} is a {type(rate).__name__}, not a rate")
            known = -_FASTEST <= rate <= _FASTEST
            require(known, f"{name} is {str(rate)[:40]}, not a rate up to {_FASTEST:g}")
        if require_int(held.get("negative"), "negative", 0, _WIDEST):
            _table(held.get("syn1neg"), "syn1neg", (count, width))
            _check_frequencies(held.get("cum_table"), count)
        numbers = words.get("expandos")
        require(type(numbers) is dict and {"count", "sample_int"} <= numbers.keys(), "wv has no frequencies")
        require_array(numbers["count"], "expandos[count]", kinds="iu", shape=(count,))  # type: ignore[index]  # a dict, as was required
        _uint32(numbers["sample_int"], "expandos[sample_int]", count)  # type: ignore[index]  # as above
        require_int(held.get("window"), "window", 1, _MOST)


def _table(value: Any, what: str, shape: tuple[int | None, ...], largest: float = _LARGEST) -> None:
    require_array(value, what, dtypes=("float32",), shape=shape)
    _require_whole(value, what)
    inside = not value.size or (value.min() >= -largest and value.max() <= largest)  # and no NaN
    require(bool(inside), f"{what} has numbers that are not finite, or not within {largest:g}")


def _uint32(value: Any, what: str, count: int) -> None:
    require_array(value, what, dtypes=("uint32",), shape=(count,))
    _require_whole(value, what)


def _require_whole(value: Any, what: str) -> None:
    require(value.flags.c_contiguous, f"{what} has gaps")


def _check_frequencies(value: Any, count: int) -> None:
    """Raise ValueError unless frequencies add up: gensim divides by the last one, to draw a word."""
    _uint32(value, "cum_table", count)
    grows = bool((value[1:] >= value[:-1]).all())
    require(count > 0 and grows and int(value[-1]) > 0, "cum_table does not grow to more than 0")


CODECS: Final = (Word2VecCodec(),)

# Other code than that of vectors gives them what Word2Vec locks.
_MODEL: Final = replace(ASSIGNED, complete=partial(check_assigned, also=frozenset({"vectors_lockf"})))

LIBRARY: Final = Library(
    "gensim",
    "gensim",
    codecs=CODECS,
    rows=Rows(
        (Row("value"), {"gensim.models.tfidfmodel": "df2idf", "gensim.utils": "identity"}),
        (_MODEL, _MODELS),
        *checked((Word2VecCheck(),)),
    ),
)
