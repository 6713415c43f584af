"""Models of statsmodels and lifelines: a formula that they keep is evaluated again, as Python."""

from __future__ import annotations

from functools import partial

from packager.audit import Row
from packager.quick_dataclasses import replace

from .families import ESTIMATOR, check_estimator, held_by, take_names

TYPE_CHECKING = False  # as in packager.lazy
if TYPE_CHECKING:
    from typing import Any, Final

# Where an object looks for what it does not have itself, and what is evaluated.
_ASKED_FOR_MORE: Final = frozenset("model data _results results _model".split())
_EVALUATED: Final = frozenset("formula restore_model_spec restore_design_info model_spec design_info".split())


def model_of(library: str, replaces: str = "") -> Row:
    """Return the row of models of a library that are data where they were made of arrays."""
    return replace(
        ESTIMATOR,
        takes_state=partial(take_names, replaces=tuple(replaces.split())),
        complete=partial(_check_model, library),
        replaces=replaces,
    )


def _check_model(library: str, made: Any) -> None:
    check_estimator(made)
    held = held_by(made)
    for name in _ASKED_FOR_MORE & held.keys():
        if held[name] is not None and type(held[name]).__module__.partition(".")[0] != library:
            raise ValueError(
                f"{name} of {type(made).__qualname__}, which it asks for what it does not have itself, is of "
                f"type {type(held[name]).__qualname__}, not a model of {library}"
            )
    if any(held[name] is not None for name in _EVALUATED & held.keys()):
        raise ValueError(
            f"{type(made).__qualname__} was made of a formula, which is evaluated as Python; make the model "
            "of arrays before saving, or name the class in trust="
        )
