"""The codec for boosters of LightGBM: the text that the library itself writes of a model.

The text is checked by text.py before the library reads it. Data for training does not come along, as
it does not with the library's own copies.
"""

from __future__ import annotations

from typing import Any, Final

from packager._audit import Rows, checked
from packager._codecs import CannotStore, Library, Node, PartsCodec, StoredTensor, expect, payload, text_of
from packager._libraries.learned.learned_rows import LearnedRows
from packager._libraries.learned.tables import Tables
from packager._libraries.relations import WORDS, RelationCheck

from .learned_fits import KINDS, VALUES
from .learned_names import NAMES
from .said import SAID
from .text import check_model

_KEPT: Final = ("best_iteration", "best_score", "params", "_train_data_name")
"""Attributes that the text does not hold."""


def _text_of(booster: Any) -> Node:
    """Return the text, and what Python keeps beside it. Raises CannotStore for a booster that was freed."""
    if not getattr(booster, "_handle", None):
        raise CannotStore("a booster of LightGBM without a model", "train it")
    text = booster.model_to_string(num_iteration=-1)
    try:
        check_model(text)
    except ValueError as error:
        raise CannotStore(
            f"the booster could not be loaded again: {error}",
            "save its text, booster.model_to_string(), and report this with the version of LightGBM",
        ) from error
    kept = {name: value for name, value in vars(booster).items() if name in _KEPT}
    return Node(None, (payload(text.encode()), dict(sorted(kept.items()))))


def _booster(stored: StoredTensor, kept: Any) -> Any:
    text = text_of(stored)
    check_model(text)
    known = type(kept) is dict and all(type(name) is str and name in _KEPT for name in kept)
    expect(known, f"attributes of {', '.join(_KEPT)}")
    from lightgbm import Booster
    from lightgbm.basic import LightGBMError

    try:
        made = Booster(model_str=text)
    except LightGBMError as error:
        raise ValueError(f"LightGBM does not read it: {error}") from error
    vars(made).update(kept)
    return made


CODECS: Final = (
    PartsCodec("lightgbm.booster", ("lightgbm.basic:Booster",), "payload dict",
          "a text, and a dict of attributes", _text_of, _booster, takes_apart=True),
)  # fmt: skip

_CLASSIFIER: Final = """
    if _n_classes is not None:
        _n_classes == len(_classes)
"""
_CHECKS: Final = (RelationCheck("lightgbm.sklearn:LGBMClassifier", _CLASSIFIER, WORDS),)


LEARNED: Final = LearnedRows("lightgbm", Tables(NAMES, KINDS, VALUES), SAID)


LIBRARY: Final = Library(
    "lightgbm",
    "lightgbm",
    codecs=CODECS,
    rows=Rows(LEARNED.table(), *checked(_CHECKS)),
)
