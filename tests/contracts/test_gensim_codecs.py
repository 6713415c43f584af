"""The codec for gensim keeps the contract."""

from __future__ import annotations

import pytest

pytest.importorskip("gensim")

from typing import Any

import numpy as np
from gensim.models import Word2Vec

from packager._libraries import gensim as gensim_codec
from packager.testing import CodecContract

TEXTS = [["a", "b", "c"], ["a", "c", "d"]] * 5


def used(made: Any) -> None:
    """Use a model as its owner would: ask it, and train it on, without threads that wait for each other."""
    made.wv.most_similar("a"), made.wv.get_vector("d")
    made._do_train_job(TEXTS, 0.01, made._get_thread_working_mem())


def trained(**options: Any) -> Any:
    return Word2Vec(TEXTS, vector_size=4, min_count=1, workers=1, seed=1, **options)


class TestWord2Vec(CodecContract):
    codec = gensim_codec.Word2VecCodec()

    def samples(self) -> list[Any]:
        return [trained(), trained(sg=1, negative=2)]

    def same(self, sample: Any, loaded: Any) -> bool:
        return (
            bool(np.array_equal(sample.wv.vectors, loaded.wv.vectors))
            and vars(sample).keys() == vars(loaded).keys()
        )
