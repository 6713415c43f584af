"""What an entry point may call: what is said where the object itself is nothing to call."""

from __future__ import annotations

from typing import Any

import pytest

from packager._archive import EntryPoint
from packager._calls.entry_methods import EntryMethodError, entry_method

POINT = EntryPoint("model", "app", "model")


class Estimator:
    """An object that computes by methods of its own names."""

    def predict(self, x: Any) -> Any:
        """Return what it is given."""
        return x

    predict_proba = predict


class Scores(Estimator):
    """A kind of it."""


@pytest.mark.parametrize("cls", [Estimator, Scores])
def test_an_object_that_is_not_callable_names_the_methods_that_it_has(cls: type) -> None:
    message = rf"{__name__}\.{cls.__name__} cannot be called; name a method .*: method='predict'"
    with pytest.raises(EntryMethodError, match=message):
        entry_method(POINT, cls(), lambda cls, value: False)


def test_an_object_without_any_of_them_names_none() -> None:
    with pytest.raises(EntryMethodError, match=r"builtins\.list cannot be called; load the object with"):
        entry_method(POINT, [], lambda cls, value: False)
