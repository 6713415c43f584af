"""Classes of known families, such as the estimators of scikit-learn: how they take up a state.

An object of theirs is made by `object.__new__`, and takes up attributes by functions of ours; methods of
its own do not run. What lies in its attributes is judged by itself, as it is for modules. But such classes
look up by a name what they then call, or keep in a folder what they compute: `check_family` refuses a name
of another method than one that predicts, and a folder. Parts in C take up a state that their checks have
seen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial

from packager.codecs import state_checks

from .default_names import CALLED_WITH_ARRAYS, CALLED_WITH_CLASSES, FAMILY_PARTS, FAMILY_VALUES
from .family_names import FAMILY_CLASSES
from .safeguards import forbid_other_values, forbid_shadows

TYPE_CHECKING = False  # as in packager.lazy
if TYPE_CHECKING:
    from typing import Any, Final

FAMILY: Final = "family class"
"""The condition under which their names are granted."""

# A note beside the attributes that scikit-learn writes, and takes out again.
_VERSION: Final = "_sklearn_version"
_METHODS: Final = frozenset(
    {None, "auto", "predict", "predict_proba", "predict_log_proba", "decision_function"}
)
# Attributes that name the methods of other objects, which are looked up and called.
_NAMING_METHODS: Final = frozenset(
    "chain_method chain_method_ response_method _response_method stack_method stack_method_".split()
)
# What statsmodels and lifelines keep of a formula, and evaluate again; and where they look for it.
_WITH_FORMULAS: Final = frozenset({"statsmodels", "lifelines"})
_ASKED_FOR_MORE: Final = frozenset("model data _results results _model".split())
_EVALUATED: Final = frozenset("formula restore_model_spec restore_design_info model_spec design_info".split())

FAMILY_CREATED: Final = frozenset(
    (module, name)
    for table in (FAMILY_CLASSES, FAMILY_PARTS)
    for module, names in table.items()
    for name in names.split()
)
"""What is made by `object.__new__` and attributes."""

GIVEN_PAIRS: Final = frozenset({"sklearn.utils:Bunch"})
"""Those of them that are dicts."""

GIVEN_C_STATE: Final = CALLED_WITH_ARRAYS | CALLED_WITH_CLASSES.keys()
"""What makes objects in C that are given a state afterwards."""


def is_family(name: str) -> bool:
    """Check whether "module:name" is a class of a known family.

    >>> is_family("sklearn.svm:SVC"), is_family("sklearn.svm:Other")
    (True, False)
    """
    module, _, qualname = name.partition(":")
    return (module, qualname) in FAMILY_CREATED


def family_taker(name: str) -> Callable[[Any, Any], None] | None:
    """Return what takes up the state of a class of a family by its name; None for other classes."""
    module, _, qualname = name.partition(":")
    if qualname in _C_CLASSES.get(module, ()):
        return _take_c_state
    if not is_family(name):
        return None
    taker: Callable[[Any, Any], None] = _TAKERS.get(name, _take_attributes)
    return taker


_C_CLASSES: Final[Mapping[str, frozenset[str]]] = {
    "sklearn.tree._tree": frozenset({"Tree"}),
    **{
        module: frozenset(names.split()) for module, names in FAMILY_VALUES.items() if module[:7] == "sklearn"
    },
}


def _take_attributes(made: Any, state: Any) -> None:
    """Put the names of a dict into the `__dict__`. Raises ValueError for another state."""
    if type(state) is not dict or not all(type(name) is str for name in state):
        raise ValueError(
            f"the state of {type(made).__qualname__} is of type {type(state).__qualname__}; expected a dict "
            "whose keys are names"
        )
    names = {name: value for name, value in state.items() if name != _VERSION}
    forbid_shadows(type(made), names)
    forbid_other_values(type(made), names)
    _held(made).update(names)


def _take_thresholds(made: Any, state: Any) -> None:
    """Take up the attributes of an isotonic regression, which is stored without the function that it asks."""
    _take_attributes(made, state)
    held = _held(made)
    if "X_thresholds_" in held and "y_thresholds_" in held:
        raises = type(held.get("out_of_bounds")) is str and held["out_of_bounds"] == "raise"
        held["f_"] = partial(_through, held["X_thresholds_"], held["y_thresholds_"], raises)


def _take_spline(made: Any, state: Any) -> None:
    """Take up the state of a BSpline of SciPy: attributes, or from 1.18 on what computes, and an array."""
    if type(state) is not tuple:
        _take_attributes(made, state)
        return
    import numpy
    from scipy._lib._array_api import array_namespace
    from scipy.interpolate import _bsplines

    inner, empty = state if len(state) == 2 else (None, None)
    if type(inner) is not _bsplines._BSpline or type(empty) is not numpy.ndarray:
        raise ValueError("the state of BSpline is no spline of NumPy and an array")
    namespace = array_namespace(empty)
    _held(made).update(_delegate_to=inner, _xp_internal=namespace, _xp=namespace)


_TAKERS: Final[Mapping[str, Callable[[Any, Any], None]]] = {
    "sklearn.isotonic:IsotonicRegression": _take_thresholds,
    "scipy.interpolate:BSpline": _take_spline,
}


def _through(places: Any, values: Any, raises: bool, asked: Any) -> Any:
    """Return where the line through some points is at others; scikit-learn computes it in the same way."""
    if len(values) == 1:
        return values.repeat(asked.shape)
    from scipy import interpolate

    return interpolate.interp1d(places, values, kind="linear", bounds_error=raises)(asked)


def _take_c_state(made: Any, state: Any) -> None:
    """Hand a state to a part in C. Raises ValueError for one that its checks refuse."""
    checks = state_checks(type(made))
    if not checks:
        raise ValueError(f"{type(made).__qualname__} is given a state, and has no check of it")
    for check in checks:
        check.check_state(made, state)
    type(made).__setstate__(made, state)


def check_family(made: Any) -> None:
    """Raise ValueError where a complete object would call what data names, or open a folder that it names."""
    held = _held(made)
    for name in _NAMING_METHODS & held.keys():
        if not all(type(word) in (str, type(None)) and word in _METHODS for word in _words(held[name])):
            raise ValueError(f"{name} of {type(made).__qualname__} names methods that do not predict")
    if held.get("memory") is not None:
        raise ValueError(
            f"memory of {type(made).__qualname__} is a place to keep results in, which data does not choose; "
            "set memory=None before saving"
        )
    top = type(made).__module__.partition(".")[0]
    if top not in _WITH_FORMULAS:
        return
    for name in _ASKED_FOR_MORE & held.keys():
        if held[name] is not None and type(held[name]).__module__.partition(".")[0] != top:
            raise ValueError(
                f"{name} of {type(made).__qualname__}, which it asks for what it does not have itself, is of "
                f"type {type(held[name]).__qualname__}, not a model of {top}"
            )
    formulas = [name for name in _EVALUATED & held.keys() if held[name] is not None]
    if formulas:
        raise ValueError(
            f"{type(made).__qualname__} was made of a formula, which is evaluated as Python; make the model "
            "of arrays before saving, or name the class in trust="
        )


def _held(made: Any) -> dict[str, Any]:
    """Return the attributes of an object themselves: a class may answer for `__dict__` in its own way."""
    found: dict[str, Any] = object.__getattribute__(made, "__dict__")
    return found


def _words(value: Any) -> Iterator[Any]:
    if type(value) in (list, tuple):
        yield from value
    else:
        yield value
