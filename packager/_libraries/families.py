"""Classes of known families, such as the estimators of scikit-learn: objects that are a class and attributes.

An object of theirs is made by `object.__new__`, and takes up attributes by a function of ours; methods of
its own do not run. What lies in its attributes is judged by itself, as it is for modules, and at the audit by
what was learned of its library. A class may keep in a folder what it computes: data names none. Which classes
are listed is made by a script: family_names.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from packager._audit import ANY, ATTRIBUTES, TORCH_MODULE, Row, exact_dict, forbid_shadows, forbid_unassigned
from packager._codecs import attributes_of
from packager._quick_dataclasses import replace

from .family_names import CLASSES
from .learned.tables import by_head

# A note beside the attributes that scikit-learn writes, and takes out again.
_VERSION: Final = "_sklearn_version"


EVERYWHERE: Final = frozenset(
    """
    n_features_in_ feature_names_in_ n_iter_ _sklearn_version _sklearn_output_config _metadata_request
    """.split()
)
"""What scikit-learn puts on any estimator that follows it, also on those of other libraries."""


def take_names(made: object, state: object, replaces: Sequence[str] = ()) -> None:
    """Put the names of a dict into the `__dict__`. Raises ValueError for another state."""
    names = {name: value for name, value in exact_dict(made, state).items() if name != _VERSION}
    forbid_shadows(type(made), names, replaces=replaces)
    hidden = next((name for name in names if name.startswith("__") and not name.endswith("__")), None)
    if hidden is not None:
        raise ValueError(f"{hidden} of {type(made).__qualname__} is not an attribute of the class")
    object.__getattribute__(made, "__dict__").update(names)  # a class may answer for it in its own way


def listed(library: str) -> dict[str, str]:
    """Return the listed classes of a library by module."""
    return {module: names for module, names in _CLASSES.items() if module.partition(".")[0] == library}


_CLASSES: Final = by_head(CLASSES)


def check_estimator(made: object) -> None:
    """Raise ValueError where a complete object would open a folder that data names."""
    held = attributes_of(made)
    if held.get("memory") is not None:
        raise ValueError(
            f"memory of {type(made).__qualname__} names a cache folder, which data must not choose; set "
            "memory=None before saving"
        )


def check_assigned(made: object, also: frozenset[str] = frozenset()) -> None:
    """Check a complete object of a class that was not learned, as `check_estimator` does.

    Raises ValueError for the name of an attribute that no code of the class or a base assigns; `also` are
    names that other code gives to such objects.
    """
    check_estimator(made)
    forbid_unassigned(type(made), sorted(attributes_of(made).keys() - EVERYWHERE - also))


ESTIMATOR: Final = Row(
    "create",
    is_a=ATTRIBUTES,
    attributes=ANY,
    takes_state=take_names,
    complete=check_estimator,
)
ASSIGNED: Final = replace(ESTIMATOR, complete=check_assigned)
"""An estimator of a library that was not learned: its attributes are those that its code assigns."""
MODULE: Final = Row("create", is_a=TORCH_MODULE, attributes=ANY, replaces="_version")
"""A module of a library, which is its class and its `__dict__`, as those of torch.nn are."""
