"""Between tensors and rules: promotion, views, recording, and writing in place.

`apply` runs a rule on tensors. `apply_in_place` writes the result into the first of them. The
common arithmetic of two plain tensors takes a shorter way, in arithmetic.py.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..autograd import Variable
from ..autograd.bridge import bridge, wrap
from ..autograd.modes import modes, state
from ..autograd.rule_node import record
from ..autograd.variable import bump
from ..autograd.views import check_in_place, make_view, old_value, rebase
from ..dtypes import (
    FLOATING,
    INTEGER,
    DType,
    category,
    dtype_name,
    get_default_dtype,
    is_differentiable,
    result_dtype,
)
from ..errors import DTypeError, KelletError, ShapeError
from ..rules import RULES, Namespace, Rule
from ..rules.quiet import quietly
from ..rules.rule import EQUAL, FLOAT
from .not_tensors import NO_TENSORS, wanted_tensor

if TYPE_CHECKING:
    from .tensor import Tensor

NONE: dict[str, Any] = {}
"""No options; it is never written to."""

WEAK_NUMBERS = np.lib.NumpyVersion(np.__version__) >= "2.0.0"
"""NumPy 2 lets a Python number take the dtype of the array it meets; before, its value decided."""


def tensor_of(array: object) -> Tensor:
    """Make a Tensor of an array."""
    return wrap(array)  # type: ignore[return-value]  # wrap makes Tensors


def apply(rule: Rule, inputs: tuple[Any, ...], options: dict[str, Any]) -> Tensor:
    """Run `rule`, of one output, on tensors, numbers and None; record it where a gradient is due."""
    arrays, needs = _taken(rule, inputs)
    recording = True in needs and rule.backward is not None and recorded()
    kept: Any = ({} if recording else None) if rule.keeps else NONE
    out: Any = wrap(compute(rule, arrays, options, kept))
    if recording and is_differentiable(out._array.dtype):
        record(rule, inputs, options, tuple(needs), kept, (out,))
    if rule.view and np.may_share_memory(out._array, arrays[0]):
        make_view(out, inputs[0], rule, options, None, recorded())
    return out  # type: ignore[no-any-return]  # wrap makes Tensors


def apply_all(rule: Rule, inputs: tuple[Any, ...], options: dict[str, Any]) -> tuple[Tensor, ...]:
    """Run a rule of several outputs; in all else as `apply`."""
    arrays, needs = _taken(rule, inputs)
    recording = True in needs and rule.backward is not None and recorded()
    kept: Any = ({} if recording else None) if rule.keeps else NONE
    outputs: tuple[Any, ...] = tuple([wrap(array) for array in compute(rule, arrays, options, kept)])
    if recording and any(is_differentiable(out._array.dtype) for out in outputs):
        record(rule, inputs, options, tuple(needs), kept, outputs)
    if rule.view:
        for number, out in enumerate(outputs):
            if np.may_share_memory(out._array, arrays[0]):
                make_view(out, inputs[0], rule, options, number, recorded())
    return outputs


def _taken(rule: Rule, inputs: tuple[Any, ...]) -> tuple[list[Any], list[bool]]:
    """The arrays of the inputs, and which of them require a gradient; histories of views are renewed.

    Raises TypeError for a list, an array or a text, which are not operands.
    """
    arrays: list[Any] = []
    needs: list[bool] = []
    for value in inputs:
        if isinstance(value, Variable):
            if value._view is not None and recorded():  # else nobody asks for its history
                value._view.refresh(value)
            arrays.append(value._array)
            needs.append(value._needs)
        elif type(value) in NO_TENSORS:
            raise wanted_tensor(rule.name, value)
        else:
            arrays.append(value)
            needs.append(False)
    return arrays, needs


def recorded() -> bool:
    """Say whether operations of this thread record a graph now."""
    return not modes.odd or state.grad


def compute(rule: Rule, arrays: list[Any], options: dict[str, Any], kept: dict[str, Any] | None) -> Any:
    """Promote arrays and run forward on them; `kept` is None where nothing will be derived.

    Raises ShapeError where NumPy finds that shapes do not fit.

    Raises DTypeError for dtypes that the rule does not take.
    """
    if rule.refuses:
        _refuse(rule, arrays)
    only: DType | None = None
    if rule.promote is EQUAL:
        only = _one_dtype(rule.name, arrays)
    elif rule.promote is not None:
        arrays = promoted(rule, arrays)
    try:
        if rule.keeps:
            return quietly(rule.forward, kept, *arrays, **options)
        made = quietly(rule.forward, *arrays, **options)
    except KelletError:
        raise
    except ValueError as error:
        shapes = ", ".join(str(a.shape) for a in arrays if isinstance(a, np.ndarray))
        raise ShapeError(f"{rule.name}: shapes {shapes} do not fit: {error}") from error
    except TypeError as error:
        dtypes = ", ".join(dtype_name(a.dtype) for a in arrays if isinstance(a, np.ndarray))
        raise DTypeError(f"{rule.name}: it does not take {dtypes}: {error}") from error
    if only is not None and only.kind == "V" and made.dtype != only:
        return made.astype(only)  # NumPy multiplies matrices of bfloat16 in float32
    return made


_REFUSED = {
    "b": "subtraction of a bool tensor is not supported; use ^ or logical_xor, ~ to invert a mask, or .int()",
    "c": "complex numbers have no order; compare .abs(), .real or .imag",
}


def _refuse(rule: Rule, arrays: list[Any]) -> None:
    """Raise DTypeError for values of a kind that `rule` refuses."""
    for value in arrays:
        if isinstance(value, np.ndarray):
            kind = value.dtype.kind
        else:
            kind = "b" if isinstance(value, bool) else "c" if isinstance(value, complex) else ""
        if kind and kind in rule.refuses:
            raise DTypeError(f"{rule.name}: {_REFUSED[kind]}")


def require_one_dtype(where: str, *values: Any, than: str = "tensors") -> None:
    """Raise DTypeError unless the tensors among `values` have one dtype."""
    _one_dtype(where, [value._array for value in values if isinstance(value, Variable)], than)


def refuse_whole_quotients(tensor1: Tensor, tensor2: Tensor) -> None:
    """Raise DTypeError for two tensors of integers, which `addcdiv` divides no more."""
    if max(category(tensor1._array.dtype), category(tensor2._array.dtype)) <= INTEGER:
        raise DTypeError(
            "addcdiv: integer division is not supported; convert one of both, e.g. with .float(), or use "
            "div(rounding_mode='trunc') and add"
        )


def _one_dtype(where: str, arrays: list[Any], than: str = "tensors") -> DType | None:
    """The dtype of all arrays; what is no array does not count. Raises DTypeError where they differ."""
    found: DType | None = None
    for array in arrays:
        if isinstance(array, np.ndarray):
            dtype = array.dtype
            if found is None:
                found = dtype
            elif dtype is not found and dtype != found:
                names = dict.fromkeys(dtype_name(one.dtype) for one in arrays if hasattr(one, "dtype"))
                raise DTypeError(
                    f"{where}: expected {than} of the same dtype, got {' and '.join(names)}; convert one, "
                    "e.g. with .to(other.dtype)"
                )
    return found


def promoted(rule: Rule, arrays: list[Any]) -> list[Any]:
    """Return the arrays in the dtype in which they meet."""
    dtype = _common(arrays)
    if dtype is None:
        dtype = result_dtype([a for a in arrays if a is not None])
    elif rule.promote is not FLOAT or dtype.kind in "fcV":
        return arrays
    if rule.promote is FLOAT and category(dtype) < FLOATING:
        dtype = get_default_dtype()
    return [_as(a, dtype) for a in arrays]


def _common(arrays: list[Any]) -> DType | None:
    """The dtype of all, if they are arrays of one dtype."""
    found: DType | None = None
    for array in arrays:
        if not isinstance(array, np.ndarray):
            return None
        dtype = array.dtype
        if found is None:
            found = dtype
        elif dtype is not found and dtype != found:
            return None
    return found


def _as(value: Any, dtype: DType) -> Any:
    if isinstance(value, np.ndarray):
        return value if value.dtype == dtype else value.astype(dtype)
    if value is None or (WEAK_NUMBERS and dtype.kind in "fc"):
        return value
    return np.asarray(value).astype(dtype)


# --- operands ------------------------------------------------------------------------------------


def operand(value: object) -> Any:
    """Return the other side of an operator: a tensor or a number, also NumPy's; else NotImplemented."""
    if isinstance(value, Variable | bool | int | float | complex):
        return value
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return wrap(value)
    return NotImplemented


def binary(rule: Rule, a: object, b: object) -> Any:
    """Return `rule` on two operands, or NotImplemented, so that Python asks the other one."""
    left, right = operand(a), operand(b)
    if left is NotImplemented or right is NotImplemented:
        return NotImplemented
    return apply(rule, (left, right), NONE)


def named(rule: Rule, a: object, b: object) -> Tensor:
    """Return `rule` on two operands, for a call by name. Raises TypeError for any other value."""
    result = binary(rule, a, b)
    if result is NotImplemented:
        raise TypeError(f"{rule.name}: expected a tensor or a number, got {type(b).__name__}: {b!r}")
    return result  # type: ignore[no-any-return]  # apply made it


def scaled(value: Any, factor: Any) -> Any:
    """Return `value * factor`, and `value` itself where the factor is the number 1.

    A factor that is a tensor or an array is never compared: its gradient and its shape count too.
    """
    return value if isinstance(factor, int | float | complex | np.number) and factor == 1 else value * factor


# --- in place -------------------------------------------------------------------------------------


def apply_in_place(
    rule: Rule,
    target: Any,
    others: tuple[Any, ...],
    options: dict[str, Any],
    write: Callable[[], Any] | None = None,
) -> Any:
    """Run `rule` on `target` and `others`, write the result into `target`, and return that.

    `write` writes it where there is a shorter way than computing all of it.

    Raises GradientError for a leaf that requires a gradient (and its views), ShapeError and
    DTypeError when the result does not fit into the target, before anything is written.
    """
    require_writeable(_WRITES.get(rule.name) or f"{rule.name}_", target)
    if rule.backward is None and recorded() and target.requires_grad:
        # Nothing flows through the rule: what is written is a constant.
        written = wrap(compute(rule, _arrays((target, *others)), options, {}))
        return apply_in_place(RULES["replace"], target, (written,), NONE)
    needs = _needs_in_place(rule, target, others)
    if recorded():
        check_in_place(target, True in needs)
    inputs = (target, *others)
    kept: dict[str, Any] = {}
    if True in needs:
        if any(0 in reads for need, reads in zip(needs, rule.saves, strict=False) if need):
            inputs = (old_value(target), *others)
        inputs = (inputs[0], *[_apart(value, target, rule) for value in others])
    if write is None:
        _store(rule, target, compute(rule, _arrays(inputs), options, kept))
    else:
        write()
    bump(target)
    if True in needs:
        holder = wrap(target._array)
        holder._counter = target._counter
        node = record(rule, inputs, options, needs, kept, (holder,))
        rebase(target, node)
    return target


def _needs_in_place(rule: Rule, target: Any, others: tuple[Any, ...]) -> tuple[bool, ...]:
    if not recorded() or rule.backward is None or not is_differentiable(target._array.dtype):
        return ()
    return tuple([isinstance(value, Variable) and value.requires_grad for value in (target, *others)])


_WRITES = {"replace": "writing in place", "put": "writing at an index"}
"""Rules that many methods write by."""


def require_writeable(where: str, target: Any) -> None:
    """Raise ShapeError for a tensor that cannot be written."""
    if not target._array.flags.writeable:
        raise ShapeError(
            f"{where}: the tensor cannot be written: several of its elements share one place in memory "
            "(expand), or its NumPy array is read-only; write to a .clone()"
        )


def _apart(value: Any, target: Any, rule: Rule) -> Any:
    """`x.mul_(x)`: the second `x` is the old value too, and so is what shares memory with it."""
    if value is target:
        return old_value(value)
    if rule.saves and isinstance(value, Variable) and np.may_share_memory(value._array, target._array):
        return apply(RULES["clone"], (value,), NONE)
    return value


def _arrays(inputs: tuple[Any, ...]) -> list[Any]:
    return [value._array if isinstance(value, Variable) else value for value in inputs]


def _store(rule: Rule, target: Any, result: Any) -> None:
    array = target._array
    found = np.asarray(result)
    if found.shape != array.shape:
        raise ShapeError(
            f"{rule.name}_: the result has shape {found.shape}, and cannot be written into a tensor of shape "
            f"{array.shape}; use the out-of-place operation"
        )
    if category(found.dtype) > category(array.dtype):
        raise DTypeError(
            f"{rule.name}_: result type {dtype_name(found.dtype)} can't be cast to the desired output type "
            f"{dtype_name(array.dtype)}; use the out-of-place operation"
        )
    np.copyto(array, found, casting="unsafe")


# --- the rules on Tensors -------------------------------------------------------------------------


def _bind(rule: Rule) -> Callable[..., Any]:
    run: Callable[..., Any] = apply if rule.outputs == 1 else apply_all

    def on_tensors(*inputs: Any, **options: Any) -> Any:
        return run(rule, inputs, options)

    return on_tensors


def _array_of(value: Any) -> Any:
    return value._array


tensor_level = Namespace(_bind, raw=False, constant=wrap, array=_array_of)
"""The `xp` of derivatives that are recorded themselves."""

bridge.xp = tensor_level


def floating(value: Any) -> Any:
    """Return a tensor as it is when its dtype is floating or complex, else in the default floating dtype."""
    if category(value._array.dtype) >= FLOATING:
        return value
    return wrap(value._array.astype(get_default_dtype()))
