"""The codec for models of CatBoost: the binary model that the library itself writes, and its parameters.

The model is checked by catboost_model.py before the library reads it. Tables for categories, for texts and
for embeddings have forms of their own, which nothing here checks: a model that has some needs the name of
its class in `trust=`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from packager.codecs import (
    CannotStore,
    Child,
    Codec,
    Decoding,
    Encoding,
    Library,
    Node,
    expect,
    expect_payload,
    payload,
    view_of,
)

from .model import check_model, has_parts

_CLASSES: Final = "CatBoost CatBoostClassifier CatBoostRanker CatBoostRegressor".split()
_KEPT: Final = ("_prediction_values_change", "_loss_value_change")
_TIMES: Final = 4
WITH_PARTS: Final = "with parts"
"""The word of the literal of a model that has tables of its own."""


class CatBoostCodec(Codec):
    """Models: the class, the binary model where it was trained, parameters, and importances."""

    name = "catboost.model"
    takes_apart = True
    types = tuple(f"catboost.core:{name}" for name in _CLASSES)

    def unread(self, literal: Any) -> tuple[str, str]:
        kind, word = literal
        if word != WITH_PARTS:
            return "", ""
        reason = "a model of CatBoost with tables for categories or texts, which the library reads unchecked"
        return (
            f"{reason}; train it with one_hot_max_size=255, or make them numbers before",
            f"catboost:{kind}",
        )

    def encode(self, obj: Any, context: Encoding) -> Node:
        """Return the model. Raises CannotStore for one that would not be read again."""
        kept = {name: list(value) for name in _KEPT if (value := getattr(obj, name, None)) is not None}
        beside = {"parameters": dict(obj._init_params), "kept": kept}
        name = type(obj).__name__
        if not obj.is_fitted():
            return Node([name, "untrained"], (beside,))
        data = _settled(obj._serialize_model())
        try:
            check_model(memoryview(data))
        except ValueError as error:
            raise CannotStore(
                f"the model would not be read again: {error}",
                "report it with the version of CatBoost, and save the model itself: model.save_model(file)",
            ) from error
        word = WITH_PARTS if has_parts(memoryview(data)) else "plain"
        return Node([name, word], (beside, payload(data)))

    def check(self, literal: Any, children: Sequence[Child], version: int) -> None:
        words = ("untrained", "plain", WITH_PARTS)
        known = (
            isinstance(literal, list) and len(literal) == 2 and literal[0] in _CLASSES and literal[1] in words
        )
        expect(known, "a class of CatBoost, and whether it was trained")
        expect(len(children) == (1 if literal[1] == "untrained" else 2), "parameters, and a model")
        expect(children[0].kind == "dict", "a dict of parameters", children[0].kind)
        if len(children) == 2:
            expect_payload(children[1])

    def decode(self, literal: Any, children: Sequence[Any], version: int, context: Decoding) -> Any:
        """Build a model. Raises ValueError for bytes that are no model of CatBoost."""
        beside = children[0]
        expect(type(beside) is dict and beside.keys() == {"parameters", "kept"}, "parameters and importances")
        parameters, kept = beside["parameters"], beside["kept"]
        expect(
            type(parameters) is dict and all(type(name) is str for name in parameters), "a dict of parameters"
        )
        expect(type(kept) is dict and kept.keys() <= set(_KEPT), f"{' and '.join(_KEPT)} alone")
        state = dict(parameters)
        expect(
            not any(name.startswith("_test_eval") or name == "__model" for name in parameters), "parameters"
        )
        if len(children) == 2:
            data = view_of(children[1])
            check_model(data)
            expect(has_parts(data) == (literal[1] == WITH_PARTS), "a model as its node says")
            state["__model"] = bytes(data)
        import catboost

        cls = getattr(catboost, literal[0])
        made = cls.__new__(cls)
        try:
            made.__setstate__(state)
        except catboost.CatBoostError as error:
            raise ValueError(f"CatBoost does not read it: {error!s:.300}") from None
        vars(made).update(kept)
        return made


def _settled(data: bytes) -> bytes:
    """Return a model as the library writes it again and again: the first time its order is that of a hash."""
    from catboost import CatBoost

    for _ in range(_TIMES):
        copy = CatBoost()
        copy._deserialize_model(data)
        again = bytes(copy._serialize_model())
        if again == data:
            break
        data = again
    return data


CODECS: Final = (CatBoostCodec(),)

LIBRARY: Final = Library("catboost", "catboost", codecs=CODECS)
