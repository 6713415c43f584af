"""A codec for Word2Vec of gensim, which trains in C by what lies in its attributes.

What gensim puts into each of its objects anew (the hash function, and what stands in the place of `load`) is
not stored. Other models of gensim are classes and attributes, and need no codec.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from packager.audit import Row, Rows, checked
from packager.codecs import CannotStore, Encoding, Library, ObjectCodec, expect, expect_class
from packager.libraries.families import ESTIMATOR

from .word2vec_state import CHECKS

_MODELS: Final = {
    "gensim.corpora.dictionary": "Dictionary",
    "gensim.models.keyedvectors": "KeyedVectors",
    "gensim.models.ldamodel": "LdaModel LdaState",
    "gensim.models.tfidfmodel": "TfidfModel",
    "gensim.models.word2vec": "Word2Vec",
}
_ANEW: Final = ("hashfxn", "load")


class Word2VecCodec(ObjectCodec):
    """Word2Vec: its attributes, without the two functions that gensim sets itself."""

    name = "gensim.word2vec"
    types = ("gensim.models.word2vec:Word2Vec",)

    def attributes(self, obj: Any, context: Encoding) -> Mapping[str, object]:
        """Return the attributes. Raises CannotStore for what training in C takes in another form."""
        held = dict(vars(obj))
        if held.get("hs"):
            raise CannotStore(
                "a Word2Vec with hierarchical softmax", "store its vectors, model.wv", "train it with hs=0"
            )
        if held.pop("hashfxn", hash) is not hash:
            raise CannotStore("a Word2Vec with a hash function of its own", "store its vectors, model.wv")
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


CODECS: Final = (Word2VecCodec(),)

LIBRARY: Final = Library(
    "gensim",
    "gensim",
    codecs=CODECS,
    rows=Rows(
        (Row("value"), {"gensim.models.tfidfmodel": "df2idf", "gensim.utils": "identity"}),
        (ESTIMATOR, _MODELS),
        *checked(CHECKS),
    ),
)
