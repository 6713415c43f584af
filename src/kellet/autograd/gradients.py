"""`backward` and `grad`: they check their arguments and call the engine."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..dtypes import dtype_name
from ..errors import GradientError, HookError, ShapeError
from ..hooks import require_callable
from .accumulate import AccumulateGrad
from .bridge import bridge, wrap
from .engine import run_pass
from .node import Edge, Node, Target, target
from .passes import one_of
from .variable import Variable, edge_of
from .wanted import Wanted


class GradientEdge(NamedTuple):
    """A place in a graph: output `output_nr` of `node`. It stands for a tensor in `backward` and `grad`.

    Source: torch.autograd.graph.GradientEdge.

    >>> x = kellet.ones(1, requires_grad=True)
    >>> kellet.autograd.graph.get_gradient_edge(x * 2).output_nr
    0
    """

    node: Node
    output_nr: int
    ownership_token: Any = None


def get_gradient_edge(tensor: Any) -> GradientEdge:
    """Return the place in the graph where the gradient of `tensor` is known.

    Raises GradientError when the tensor requires no gradient.

    Source: torch.autograd.graph.get_gradient_edge.

    >>> x = kellet.tensor(3.0, requires_grad=True)
    >>> edge = kellet.autograd.graph.get_gradient_edge(x)
    >>> kellet.autograd.grad(x * x, edge)
    (tensor(6.),)
    """
    edge = edge_of(tensor)
    if edge is None:
        raise GradientError(
            "It is not possible to get the gradient edge for a Tensor that does not require gradients; call "
            "requires_grad_() on it first"
        )
    return GradientEdge(*edge._as_function())


def backward(
    tensors: object,
    grad_tensors: object = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    *,
    inputs: object = None,
) -> None:
    """Add the gradients of `tensors` to `.grad` of the leaves they were made from.

    `grad_tensors` has a gradient for each, of its shape, or None where it is a single element.
    With `inputs` only these tensors get a `.grad`, non-leaves among them too.

    Raises GradientError when a tensor has no graph, when the graph was released by an earlier
    backward (pass `retain_graph=True` there), or when a gradient is missing.

    Source: torch.autograd.backward.

    >>> x = kellet.tensor(3.0, requires_grad=True)
    >>> kellet.autograd.backward([x * x])
    >>> x.grad
    tensor(6.)
    """
    roots = _roots(tensors, grad_tensors, create_graph)
    keep = create_graph if retain_graph is None else retain_graph
    wanted = None
    if inputs is not None:
        wanted = Wanted(_inputs_of_backward(inputs), accumulate=True, hooks={})
    run_pass(roots, graph=create_graph, keep=keep, wanted=wanted)


def grad(
    outputs: object,
    inputs: object,
    grad_outputs: object = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
    *,
    capture_hooks: Mapping[int, Sequence[Callable[[Any], Any]]] | None = None,
) -> tuple[Any, ...]:
    """Return the gradients of the sum of `outputs` with respect to `inputs`; `.grad` is left alone.

    Tensor hooks of the inputs run, and their return values are the result. `capture_hooks` lists, by
    the position of an input, functions `hook(grad) -> grad` that run after them, for this call only.
    An input that the outputs do not depend on raises GradientError; with `allow_unused` its gradient
    is None, with `materialize_grads` zeros.

    Raises ValueError for `materialize_grads` with `allow_unused=False`, NotImplementedError for
    `is_grads_batched`. `only_inputs` is deprecated and ignored, as in PyTorch.

    Source: torch.autograd.grad. There, capture hooks exist in C++ only, and the tensor hook of an
    input is left out when the node of that input runs for another input.

    >>> import kellet
    >>> x = kellet.tensor(3.0, requires_grad=True)
    >>> kellet.autograd.grad(x * x, x)
    (tensor(6.),)
    """
    if not only_inputs:
        warnings.warn(
            "only_inputs argument is deprecated and is ignored now (defaults to True). To accumulate "
            "gradients in other parts of the graph, please use kellet.autograd.backward.",
            FutureWarning,
            stacklevel=2,
        )
    if is_grads_batched:
        raise NotImplementedError("grad: is_grads_batched does not exist here; call grad for each row")
    if materialize_grads and allow_unused is False:
        raise ValueError(
            "Expected allow_unused to be True or not passed when materialize_grads=True: unused inputs get "
            "zeros"
        )
    asked = _as_tuple(inputs)
    if not asked:
        raise GradientError(
            "the inputs of grad cannot be empty; list the tensors whose gradients are asked for"
        )
    edges = [_edge_of_input(one, i) for i, one in enumerate(asked)]
    hooks = _checked_hooks(capture_hooks, len(asked))
    keep = create_graph if retain_graph is None else retain_graph
    roots = _roots(outputs, grad_outputs, create_graph)
    found = run_pass(
        roots, graph=create_graph, keep=keep, wanted=Wanted(edges, accumulate=False, hooks=hooks)
    )
    return tuple(
        _answer(value, one, i, create_graph, bool(allow_unused), materialize_grads)
        for i, (value, one) in enumerate(zip(found, asked, strict=True))
    )


# --- outputs --------------------------------------------------------------------------------------


def _roots(tensors: Any, gradients: Any, graph: bool) -> list[tuple[Target, Any]]:
    if gradients is None and isinstance(tensors, Variable):
        return [_root(tensors, None, 0, graph)]
    outputs = _as_tuple(tensors)
    if not outputs:
        raise GradientError("no tensors to differentiate; pass at least one")
    given = (None,) * len(outputs) if gradients is None else _as_tuple(gradients)
    if len(given) != len(outputs):
        raise GradientError(
            f"got {len(outputs)} tensors and {len(given)} gradients; pass one gradient for each tensor"
        )
    return [
        _root(output, gradient, i, graph)
        for i, (output, gradient) in enumerate(zip(outputs, given, strict=True))
    ]


def _root(output: Any, gradient: Any, position: int, graph: bool) -> tuple[Target, Any]:
    edge = _edge_of_output(output, position)
    number = edge._nr
    if number < 0:
        shape, dtype = edge._array.shape, edge._array.dtype  # type: ignore[union-attr]  # a leaf, as its number says
    else:
        node: Any = edge.node if type(edge) is Edge else edge
        shape, dtype = node.output(number)
    if gradient is None:
        if shape and math.prod(shape) != 1:
            raise GradientError(
                f"grad can be implicitly created only for scalar outputs, and tensor {position} has shape "
                f"{shape}; pass a gradient of that shape, or reduce the tensor first, e.g. with .sum()"
            )
        if dtype.kind == "c":
            raise GradientError(
                f"grad can be implicitly created only for real scalar outputs, and tensor {position} is "
                f"{dtype_name(dtype)}; pass a gradient, or take its real part first"
            )
        return edge, wrap(np.ones(shape, dtype)) if graph else one_of(shape, dtype)
    return edge, _checked_gradient(gradient, shape, dtype, position, graph)


def _checked_gradient(gradient: Any, shape: tuple[int, ...], dtype: Any, position: int, graph: bool) -> Any:
    if not isinstance(gradient, Variable):
        if not isinstance(gradient, np.ndarray | int | float | complex):
            raise TypeError(f"gradient {position} must be a tensor or None, got {type(gradient).__name__}")
        gradient = wrap(np.asarray(gradient, dtype=dtype))
    found = gradient._array
    if found.shape != shape:
        raise ShapeError(
            f"Mismatch in shape: grad_output[{position}] has a shape of {found.shape} and "
            f"output[{position}] has a shape of {shape}; pass a gradient of the shape of the output"
        )
    if (found.dtype.kind == "c") != (dtype.kind == "c"):
        raise GradientError(
            f"grad_output[{position}] and the output are required to have the same dtype, both complex or "
            f"neither, but they are {dtype_name(found.dtype)} and {dtype_name(dtype)}; convert the gradient"
        )
    if found.dtype != dtype:
        gradient = bridge.xp.cast(gradient, dtype=dtype)
    return gradient if graph else gradient._array


def _edge_of_output(output: Any, position: int) -> Node | Edge | Variable:
    if isinstance(output, GradientEdge):
        return _edge_at(output)
    if not isinstance(output, Variable):
        raise TypeError(f"output {position} must be a tensor or a GradientEdge, got {type(output).__name__}")
    edge = edge_of(output)
    if edge is None:
        raise GradientError(
            f"element {position} of tensors does not require grad and does not have a grad_fn; make it "
            "from tensors with requires_grad=True, with gradients enabled"
        )
    return edge


def _edge_at(place: GradientEdge) -> Node | Edge | Variable:
    node = place.node
    return node.variable if isinstance(node, AccumulateGrad) else target(node, place.output_nr)


# --- inputs ---------------------------------------------------------------------------------------


def _inputs_of_backward(inputs: Any) -> list[Node | Edge | Variable]:
    asked = _as_tuple(inputs)
    if not asked:
        raise GradientError(
            "`inputs` argument to `backward()` cannot be empty; leave it out, or list the tensors"
        )
    edges = [_edge_of_input(one, i) for i, one in enumerate(asked)]
    for one in asked:
        if isinstance(one, Variable) and not one.is_leaf:
            one.retain_grad()
    return edges


def _edge_of_input(one: Any, position: int) -> Node | Edge | Variable:
    if isinstance(one, GradientEdge):
        return _edge_at(one)
    if not isinstance(one, Variable):
        raise TypeError(f"input {position} must be a tensor or a GradientEdge, got {type(one).__name__}")
    edge = edge_of(one)
    if edge is None:
        raise GradientError(
            f"One of the differentiated Tensors (input {position}) does not require grad; call "
            "requires_grad_() on it before it is used"
        )
    return edge


def _checked_hooks(
    hooks: Mapping[int, Sequence[Callable[[Any], Any]]] | None, count: int
) -> Mapping[int, Sequence[Callable[[Any], Any]]]:
    for index, functions in (hooks or {}).items():
        if not 0 <= index < count:
            raise HookError(
                f"capture_hooks names input {index}, but there are {count} inputs; count them from 0"
            )
        for function in functions:
            require_callable(function)
    return hooks or {}


def _answer(value: Any, one: Any, position: int, graph: bool, allow_unused: bool, materialize: bool) -> Any:
    if value is None:
        if materialize:
            zeros = wrap(np.zeros(*_place_of(one)))
            zeros._needs = graph
            return zeros
        if not (allow_unused or materialize):
            raise GradientError(
                f"One of the differentiated Tensors (input {position}) appears to not have been used in "
                "the graph. Set allow_unused=True if this is the desired behavior: its gradient is then "
                "None"
            )
        return None
    if graph:
        return value
    made = wrap(value)
    if not made._array.flags.writeable:
        made._array = made._array.copy()
    return made


def _place_of(one: Any) -> tuple[tuple[int, ...], Any]:
    """Shape and dtype of an input."""
    if isinstance(one, GradientEdge):
        return one.node.output(one.output_nr)
    return one._array.shape, one._array.dtype


def _as_tuple(value: Any) -> tuple[Any, ...]:
    if isinstance(value, Variable):
        return (value,)
    if isinstance(value, GradientEdge) or not isinstance(value, Sequence):
        return tuple(value) if hasattr(value, "__next__") else (value,)
    return tuple(value)
