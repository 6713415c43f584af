"""Models of gensim come back from data alone; tables that its code in C would leave are refused."""

from __future__ import annotations

import pytest

pytest.importorskip("gensim")

from collections.abc import Callable
from typing import Any

import numpy as np
from gensim.corpora import Dictionary
from gensim.models import LdaModel, TfidfModel, Word2Vec

from packager._libraries.gensim import Word2VecCheck
from packager._objects import ObjectBuildError, encode
from packager.testing import round_trip

TEXTS = [["a", "b", "c"], ["a", "c", "d"]] * 5


def trained(**options: Any) -> Any:
    return Word2Vec(TEXTS, vector_size=4, min_count=1, workers=1, **options)


def test_models_of_attributes_come_back_from_data_alone() -> None:
    words = Dictionary(TEXTS)
    bags = [words.doc2bow(text) for text in TEXTS]
    for model in (words, TfidfModel(bags), trained().wv):
        assert round_trip(model).is_stable
    loaded = round_trip(LdaModel(bags, num_topics=2, id2word=words)).object
    assert loaded.num_topics == 2
    assert round_trip(TfidfModel(bags)).object[bags[0]] == TfidfModel(bags)[bags[0]]


def with_attribute(name: str, value: Any) -> Any:
    made = trained()
    vars(made if hasattr(made, name) else made.wv)[name] = value
    return made


WIDE = np.zeros((4, 4), "f4")
REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "fewer vectors": (
        lambda: with_attribute("vectors", WIDE[:3]),
        r"vectors has shape \[3, 4\], expected \[4, 4\]",
    ),
    "vectors with gaps": (lambda: with_attribute("vectors", WIDE.T), "vectors has gaps"),
    "a short output layer": (lambda: with_attribute("syn1neg", WIDE[:2]), "syn1neg has shape"),
    "nothing to divide by": (
        lambda: with_attribute("cum_table", np.zeros(4, "u4")),
        "cum_table does not grow to more than 0",
    ),
    "a word beyond the vectors": (
        lambda: with_attribute("key_to_index", {"a": 9}),
        "key_to_index is not index_to_key",
    ),
    "another width": (
        lambda: with_attribute("layer1_size", 5),
        "layer1_size is 5, and vectors have 4 numbers",
    ),
    "no frequencies": (lambda: with_attribute("expandos", {}), "wv has no frequencies"),
    "a window of nothing": (lambda: with_attribute("window", 0), "window is 0, not an int from 1"),
}


@pytest.mark.parametrize(("make", "message"), REFUSED.values(), ids=REFUSED)
def test_tables_that_do_not_fit_are_refused(make: Callable[[], Any], message: str) -> None:
    made = make()
    with pytest.raises(ValueError, match=message):
        Word2VecCheck().check_made(made)
    if "gaps" not in message:  # what is stored has none
        with pytest.raises(ObjectBuildError, match=message):
            round_trip(made)
        with pytest.raises(ObjectBuildError, match=message):
            round_trip(made, interned=["net"], externs=["gensim"])


def test_what_is_trained_in_another_way_is_refused_with_what_to_do() -> None:
    assert "hierarchical softmax" in encode(trained(hs=1, negative=0)).refusals[0].reason
    assert "a Word2Vec with hashfxn=" in encode(trained(hashfxn=len)).refusals[0].reason
