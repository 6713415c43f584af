"""Word2Vec of gensim, whose training in C reads tables by what the model says, and by products of vectors."""

from __future__ import annotations

import pytest

pytest.importorskip("gensim")

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
from gensim.models import Word2Vec

from packager._objects import ObjectBuildError
from tests.attacks import object_forger as forge

TEXTS = [["a", "b", "c"], ["a", "c", "d"]] * 5


def trained(**options: Any) -> Any:
    return Word2Vec(TEXTS, vector_size=4, min_count=1, workers=1, seed=1, **options)


def loaded(made: Any) -> Any:
    return forge.load(forge.archive_of(forge.encoded(made), externs=("gensim", "numpy")))


def _with(**attributes: Any) -> Callable[[Any], None]:
    return lambda made: vars(made).update(attributes)


def _of_words(**attributes: Any) -> Callable[[Any], None]:
    return lambda made: vars(made.wv).update(attributes)


def _number(table: str, value: float) -> Callable[[Any], None]:
    def change(made: Any) -> None:
        holder = made if table == "syn1neg" else made.wv
        numbers = np.array(getattr(holder, table))
        numbers.flat[-1] = value
        setattr(holder, table, numbers)

    return change


def _frequencies(**arrays: Any) -> Callable[[Any], None]:
    return lambda made: made.wv.expandos.update(arrays)


def _with_gaps(name: str, dtype: str) -> Callable[[Any], None]:
    """Put a view of every second number of an array, which is stored with it, where a whole one belongs."""

    def change(made: Any) -> None:
        made.kept = np.arange(1, 9, dtype=dtype)
        holder = {"cum_table": vars(made), "sample_int": made.wv.expandos}.get(name, vars(made.wv))
        holder[name] = made.kept[::2]

    return change


WRONG: dict[str, tuple[Callable[[Any], None], str]] = {
    "a vector that is no number": (_number("vectors", np.nan), "vectors has numbers that are not finite"),
    "an output that is no number": (_number("syn1neg", np.nan), "syn1neg has numbers that are not finite"),
    "an output without end": (_number("syn1neg", -np.inf), "syn1neg has numbers that are not finite"),
    "vectors whose product overflows": (
        _number("vectors", 1e25),
        "vectors has numbers .* not within 1e[+]12",
    ),
    "locks that overflow": (
        _of_words(vectors_lockf=np.array([1e30], "f4")),
        "vectors_lockf has numbers .* not within 1000",
    ),
    "a rate that overflows": (_with(alpha=1e30), r"alpha is 1e[+]30, not a rate up to 1000"),
    "a rate that is no number": (_with(min_alpha=float("nan")), "min_alpha is nan, not a rate"),
    "a rate that is a text": (_with(alpha="1"), "alpha is a str, not a rate"),
    "narrow numbers of samples": (
        _frequencies(sample_int=np.ones(4, "u1")),
        r"expandos\[sample_int\] has dtype uint8, expected uint32",
    ),
    "numbers of samples with gaps": (
        _with_gaps("sample_int", "u4"),
        r"expandos\[sample_int\] has gaps",
    ),
    "fewer numbers of samples": (
        _frequencies(sample_int=np.ones(2, "u4")),
        r"expandos\[sample_int\] has shape \[2\], expected \[4\]",
    ),
    "frequencies with gaps": (_with_gaps("cum_table", "u4"), "cum_table has gaps"),
    "frequencies that shrink": (_with(cum_table=np.array([4, 3, 2, 1], "u4")), "cum_table does not grow"),
    "locks with gaps": (_with_gaps("vectors_lockf", "f4"), "vectors_lockf has gaps"),
    "a window too wide": (_with(window=1 << 31), "window is 2147483648, not an int from 1"),
    "fewer vectors than words": (
        _of_words(vectors=np.zeros((3, 4), "f4")),
        r"vectors has shape \[3, 4\], expected \[4, 4\]",
    ),
}


@pytest.mark.parametrize(("change", "message"), WRONG.values(), ids=WRONG)
def test_what_training_in_c_would_follow_is_refused(change: Callable[[Any], None], message: str) -> None:
    made = trained()
    change(made)
    with pytest.raises(ObjectBuildError, match=message):
        loaded(made)


HONEST: dict[str, Callable[[], Any]] = {
    "CBOW": trained,
    "skip-gram": lambda: trained(sg=1, negative=2),
    "without a sum": lambda: trained(cbow_mean=0, alpha=1, min_alpha=0.5),
    "wide window": lambda: trained(window=1000),
    "locked words": lambda: _changed(trained(), _of_words(vectors_lockf=np.array([1, 0, 1, 0.5], "f4"))),
    "large numbers": lambda: _changed(trained(), _number("vectors", 1e6)),
}


def _changed(made: Any, change: Callable[[Any], None]) -> Any:
    made = copy.deepcopy(made)
    change(made)
    return made


@pytest.mark.parametrize("make", HONEST.values(), ids=HONEST)
def test_honest_models_load_and_train_on(make: Callable[[], Any]) -> None:
    made = make()
    again = loaded(made)
    assert np.array_equal(again.wv.vectors, made.wv.vectors)
    for model in (made, again):
        model._do_train_job(TEXTS, model.alpha, model._get_thread_working_mem())
    assert np.array_equal(again.wv.vectors, made.wv.vectors)
    assert np.isfinite(again.wv.vectors).all()
