"""The codec for boosters of LightGBM: the text that the library itself writes of a model.

The text is checked by lightgbm_text.py before the library reads it. Data for training does not come along, as
it does not with the library's own copies.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from .base import CannotStore, Child, Codec, Decoding, Encoding, LiteralValue, Node, expect
from .lightgbm_text import check_model
from .payloads import expect_payload, payload, text_of

_KEPT: Final = ("best_iteration", "best_score", "params", "_train_data_name")
"""Attributes that the text does not hold."""


class BoosterCodec(Codec):
    """Boosters: the text, and what Python keeps beside it."""

    name = "lightgbm.booster"
    types = ("lightgbm.basic:Booster",)

    def encode(self, obj: Any, context: Encoding) -> Node:
        """Return the text of a booster. Raises CannotStore for one that was freed."""
        if not getattr(obj, "_handle", None):
            raise CannotStore("a booster of LightGBM without a model", "train it, or leave it out")
        text = obj.model_to_string(num_iteration=-1)
        try:
            check_model(text)
        except ValueError as error:
            raise CannotStore(
                f"the text of this booster would not be read again: {error}",
                "report it with the version of LightGBM, and save the text itself: booster.model_to_string()",
            ) from error
        kept = {name: value for name, value in vars(obj).items() if name in _KEPT}
        return Node(None, (payload(text.encode()), dict(sorted(kept.items()))))

    def check(self, literal: LiteralValue, children: Sequence[Child], version: int) -> None:
        expect(literal is None and len(children) == 2, "a text, and attributes")
        expect_payload(children[0])
        expect(children[1].kind == "dict", "a dict of attributes", children[1].kind)

    def decode(self, literal: Any, children: Sequence[Any], version: int, context: Decoding) -> Any:
        """Build a booster. Raises ValueError for a text that is none of LightGBM's."""
        text, kept = text_of(children[0]), children[1]
        check_model(text)
        require_kept(kept)
        from lightgbm import Booster
        from lightgbm.basic import LightGBMError

        try:
            made = Booster(model_str=text)
        except LightGBMError as error:
            raise ValueError(f"LightGBM does not read it: {error}") from error
        vars(made).update(kept)
        return made


def require_kept(kept: Mapping[Any, Any], names: Sequence[str] = _KEPT) -> None:
    """Raise ValueError unless attributes that stand beside a model have these names alone."""
    known = type(kept) is dict and all(type(name) is str and name in names for name in kept)
    expect(known, f"attributes of {', '.join(names)}")


CODECS: Final = (BoosterCodec(),)
