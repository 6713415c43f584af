"""The codec for boosters of XGBoost: the model as the library itself writes it, in UBJSON.

It is parsed and checked by ubjson.py and xgboost_model.py before the library reads it. Settings of one
process (threads, the device) are no part of a model.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from .base import CannotStore, Child, Codec, Decoding, Encoding, LiteralValue, Node, expect
from .payloads import expect_payload, payload, view_of
from .ubjson import parsed_ubjson
from .xgboost_model import check_model


class XGBoosterCodec(Codec):
    """Boosters: the bytes of the model."""

    name = "xgboost.booster"
    types = ("xgboost.core:Booster",)

    def encode(self, obj: Any, context: Encoding) -> Node:
        """Return the model of a booster. Raises CannotStore for one that has none."""
        try:
            data = bytes(obj.save_raw("ubj"))
            check_model(parsed_ubjson(memoryview(data)))
        except Exception as error:
            raise CannotStore(
                f"the model of this booster would not be read again: {error!s:.300}",
                "train it first, or report it with the version of XGBoost and save booster.save_raw() itself",
            ) from error
        return Node(None, (payload(data),))

    def check(self, literal: LiteralValue, children: Sequence[Child], version: int) -> None:
        expect(literal is None and len(children) == 1, "the bytes of a model")
        expect_payload(children[0])

    def decode(self, literal: Any, children: Sequence[Any], version: int, context: Decoding) -> Any:
        """Build a booster. Raises ValueError for a model that is none of XGBoost's."""
        data = view_of(children[0])
        check_model(parsed_ubjson(data))
        from xgboost import Booster
        from xgboost.core import XGBoostError

        made = Booster()
        try:
            made.load_model(bytearray(data))
        except XGBoostError as error:
            raise ValueError(f"XGBoost does not read it: {error!s:.300}") from None
        return made


CODECS: Final = (XGBoosterCodec(),)
