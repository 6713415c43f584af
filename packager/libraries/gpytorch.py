"""What is known of GPyTorch: transforms of parameters, and hooks that rename keys, beside code."""

from __future__ import annotations

from types import FunctionType
from typing import Any, Final

from packager.audit import IsA, Row, Rows
from packager.codecs import Library

_FUNCTIONS: Final = {
    "gpytorch.means.constant_mean": "_ensure_updated_strategy_flag_set",
    "gpytorch.utils.transforms": "inv_sigmoid inv_softplus",
    "gpytorch.variational.variational_strategy": "_ensure_updated_strategy_flag_set",
}
_NAME: Final = "_load_state_hook_ignore_shapes"


def _is_hook(obj: Any) -> bool:
    home = ("gpytorch.module", f"Module.{_NAME}")
    return isinstance(obj, FunctionType) and (obj.__module__, obj.__qualname__) == home


_HOOK: Final = IsA("the hook that every module of gpytorch registers", _is_hook)
LIBRARY: Final = Library(
    "gpytorch",
    "gpytorch",
    rows=Rows(
        # It puts the state in the place of the whole `__dict__`: attributes are set instead.
        (Row(uses="only attributes"), {"gpytorch.kernels.kernel": "Kernel.__setstate__"}),
        (Row(beside_code="value"), _FUNCTIONS),
        (Row(beside_code="value", is_a=_HOOK), {"gpytorch": f"*.{_NAME}", "gpytorch.": f"*.{_NAME}"}),
    ),
)
