"""The codec for boosters of XGBoost: the model as the library itself writes it, in JSON.

It is parsed and checked by model.py, and the library reads what was parsed, written anew: no text that it
might read in another way. Settings of one process (threads, the device) are no part of a model.
"""

from __future__ import annotations

import json
from typing import Any, Final

from packager._audit import Rows
from packager._codecs import (
    CannotStore,
    Library,
    Node,
    PartsCodec,
    StoredTensor,
    parsed_json,
    payload,
    text_of,
)
from packager._libraries.learned.learned_rows import LearnedRows
from packager._libraries.learned.tables import Tables

from .learned_fits import KINDS, VALUES
from .learned_names import NAMES
from .model import check_model
from .said import SAID


def _model_of(booster: Any) -> Node:
    """Return the bytes of a model. Raises CannotStore for a booster that has none."""
    try:
        data = bytes(booster.save_raw("json"))
        check_model(parsed_json(data.decode()))
    except Exception as error:
        raise CannotStore(
            f"the model of this booster could not be loaded again: {error!s:.300}",
            "train it first, or report it with the version of XGBoost and save booster.save_raw() itself",
        ) from error
    return Node(None, (payload(data),))


def _booster(stored: StoredTensor) -> Any:
    value = parsed_json(text_of(stored))
    check_model(value)
    from xgboost import Booster
    from xgboost.core import XGBoostError

    made = Booster()
    try:
        made.load_model(bytearray(json.dumps(value, ensure_ascii=False).encode()))
    except XGBoostError as error:
        raise ValueError(f"XGBoost does not read it: {error!s:.300}") from None
    return made


CODECS: Final = (
    PartsCodec("xgboost.booster", ("xgboost.core:Booster",), "payload", "the bytes of a model",
          _model_of, _booster, takes_apart=True),
)  # fmt: skip


LEARNED: Final = LearnedRows("xgboost", Tables(NAMES, KINDS, VALUES), SAID)


LIBRARY: Final = Library("xgboost", "xgboost", codecs=CODECS, rows=Rows(LEARNED.table()))
