"""NumPy's functions of tensors.

Most find their way by the tensor's methods of the same name, or by its array. NumPy's reductions call a
method with NumPy's own arguments (`axis`, `out`), which the methods of tensors do not take.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..autograd import Variable
from ..autograd.bridge import wrap

REDUCTIONS = frozenset(
    {np.sum, np.mean, np.max, np.amax, np.min, np.amin, np.prod, np.std, np.var, np.any, np.all}
)


def call(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call a function of NumPy that has tensors among its arguments; a reduction returns a tensor.

    Raises GradientError in a reduction of a tensor that requires a gradient, as for `.numpy()`.

    >>> import numpy
    >>> numpy.sum(kellet.tensor([1.0, 2.0]))
    tensor(3.)
    """
    if function not in REDUCTIONS:
        return function._implementation(*args, **kwargs)  # type: ignore[attr-defined]  # what NumPy would do
    arrays = [_array(one) for one in args]
    found = function(*arrays, **{name: _array(one) for name, one in kwargs.items()})
    return wrap(np.asarray(found))


def _array(value: Any) -> Any:
    return np.asarray(value) if isinstance(value, Variable) else value
