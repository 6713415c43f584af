"""The two gates of a module with full backward hooks: identities whose backward is the hooks' moment."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from ..autograd import Variable
from ..autograd.bridge import wrap
from ..autograd.modes import Task, modes, state
from ..autograd.node import Node, sequence_numbers, target
from ..autograd.variable import counter_of, edge_of
from ..autograd.views import CUSTOM, View
from ..core import Tensor
from ..errors import HookError, HookTypeError

Gradients = tuple[Tensor | None, ...]


class Watcher(Protocol):
    """What stands for one hook here: a HookEntry, or what looks like one."""

    @property
    def live(self) -> bool: ...
    @property
    def hook(self) -> Callable[..., Any]: ...


class BackwardHook:
    """The full backward hooks of one call of a module, from the output's gradients to the inputs'.

    `setup_input_hook` and `setup_output_hook` return the arguments and the output with the gates
    in those of their tensors that require a gradient. Where no input does, there is no input gate
    and the hooks run at the output gate.

    Source: torch.utils.hooks.BackwardHook; there the hooks are plain callables, here the entries
    of registries, so that one removed between forward and backward stays silent.

    >>> x = kellet.ones(1, requires_grad=True)
    >>> registry = kellet.hooks.HookRegistry()
    >>> handle = registry.add(lambda module, grad_input, grad_output: print(grad_output))
    >>> hook = BackwardHook(None, list(registry), [])
    >>> (args,) = hook.setup_input_hook((x,))
    >>> hook.setup_output_hook(args * 2).backward()
    (tensor([1.]),)
    """

    __slots__ = (
        "grad_output",
        "hooks",
        "input_places",
        "module",
        "n_inputs",
        "n_outputs",
        "output_places",
        "pre_hooks",
    )

    def __init__(
        self,
        module: object,
        hooks: Sequence[Watcher],
        pre_hooks: Sequence[Watcher],
    ) -> None:
        self.module = module
        self.hooks = hooks
        self.pre_hooks = pre_hooks
        self.n_inputs = 0
        self.input_places: Sequence[int] = ()
        self.n_outputs = 0
        self.output_places: Sequence[int] = ()
        # What the output gate saw last, until the input gate has shown it to the hooks.
        self.grad_output: Gradients | None = None

    def setup_input_hook(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """Put the input gate into the positional arguments; return them as `forward` shall see them."""
        self.n_inputs = len(args)
        self.input_places = _gated_places(args)
        return _through_gate(self._inputs_arrived, args, self.input_places, with_zeros=True)

    def setup_output_hook(self, output: object) -> Any:
        """Put the output gate into the Tensor, or the tuple's Tensors, that `forward` returned."""
        if isinstance(output, Tensor):
            self.n_outputs = 1
            self.output_places = places = _gated_places((output,))
            return _one_through_gate(output, self._outputs_arrived, False) if places else output
        if not isinstance(output, tuple):
            warnings.warn(
                "For backward hooks to be called, module output should be a Tensor or a tuple of Tensors "
                f"but received {type(output)}",
                stacklevel=4,
            )
            return output
        places = _gated_places(output)
        # grad_output has the gradients of the Tensors among the outputs only.
        tensors = [place for place, value in enumerate(output) if isinstance(value, Tensor)]
        self.n_outputs = len(tensors)
        self.output_places = [tensors.index(place) for place in places]
        return _through_gate(self._outputs_arrived, output, places, with_zeros=False)

    def _outputs_arrived(self, grads: Gradients) -> Gradients:
        whole = len(grads) == self.n_outputs  # nearly always; then there is nothing to spread and to pick
        grad_output = grads if whole else _spread(grads, self.output_places, self.n_outputs)
        for entry in self.pre_hooks:
            if entry.live:
                answer = entry.hook(self.module, grad_output)
                if answer is not None:
                    grad_output = _checked(answer, len(grad_output), "Backward pre hook", "grad_output")
        if self.input_places:
            self.grad_output = grad_output
        else:
            self._run_without_inputs(grad_output)
        return grad_output if whole else tuple([grad_output[place] for place in self.output_places])

    def _run_without_inputs(self, grad_output: Gradients) -> None:
        grad_input: Gradients = (None,) * self.n_inputs
        for entry in self.hooks:
            if not entry.live:
                continue
            answer = entry.hook(self.module, grad_input, grad_output)
            if answer is None or (isinstance(answer, tuple) and all(grad is None for grad in answer)):
                continue
            raise HookError(
                "Backward hook for Modules where no input requires gradient should always return None "
                f"or None for all gradients, got {type(answer).__name__} from {entry.hook!r} on "
                f"{type(self.module).__name__}."
            )

    def _inputs_arrived(self, grads: Gradients) -> Gradients:
        grad_output, self.grad_output = self.grad_output, None
        if grad_output is None:
            # The gradient reached the inputs without passing the output, as in a second derivative.
            return grads
        whole = len(grads) == self.n_inputs
        grad_input = grads if whole else _spread(grads, self.input_places, self.n_inputs)
        for entry in self.hooks:
            if entry.live:
                answer = entry.hook(self.module, grad_input, grad_output)
                if answer is not None:
                    grad_input = _checked(answer, len(grad_input), "Backward hook", "grad_input")
        return grad_input if whole else tuple([grad_input[place] for place in self.input_places])


_NOWHERE: tuple[int, ...] = ()
_ALONE = (0,)


def _gated_places(values: tuple[Any, ...]) -> Sequence[int]:
    if modes.odd and not state.grad:
        return _NOWHERE
    if len(values) == 1:
        value = values[0]
        return _ALONE if isinstance(value, Tensor) and value.requires_grad else _NOWHERE
    return [place for place, value in enumerate(values) if isinstance(value, Tensor) and value.requires_grad]


def _through_gate(
    arrived: Arrived, values: tuple[Any, ...], places: Sequence[int], *, with_zeros: bool
) -> tuple[Any, ...]:
    if not places:
        return values
    if len(values) == 1 and type(values) is tuple:
        return (_one_through_gate(values[0], arrived, with_zeros),)
    beyond = through_gate([values[place] for place in places], arrived, with_zeros)
    if len(values) == len(beyond) and type(values) is tuple:
        return tuple(beyond)
    gated = list(values)
    for place, tensor in zip(places, beyond, strict=True):
        gated[place] = tensor
    # A named tuple takes its fields one by one.
    return tuple(gated) if type(values) is tuple else type(values)(*gated)


def _spread(grads: Gradients, places: Sequence[int], length: int) -> Gradients:
    spread: list[Tensor | None] = [None] * length
    for place, grad in zip(places, grads, strict=True):
        spread[place] = grad
    return tuple(spread)


def _checked(answer: Any, expected: int, kind: str, what: str) -> Gradients:
    if not isinstance(answer, tuple | list):
        raise HookTypeError(
            f"{kind} must return None or a tuple of {expected} {what}, got {type(answer).__name__}; "
            "a single gradient is returned as (gradient,)"
        )
    if len(answer) != expected:
        raise HookError(
            f"{kind} returned an invalid number of {what}, got {len(answer)}, but expected {expected}"
        )
    for grad in answer:
        if grad is not None and not isinstance(grad, Tensor):
            raise HookTypeError(f"{kind} must return Tensors or None as {what}, got {type(grad).__name__}")
    return tuple(answer)


# --- a gate ---------------------------------------------------------------------------------------
# What a custom Function would do as well, without what only a Function needs: a gate stands around
# every module with full backward hooks, so it is short.

Arrived = Callable[[tuple[Any, ...]], tuple[Any, ...]]

NAME = "BackwardHookFunctionBackward"
"""The name that such a node has in PyTorch."""

_new = object.__new__
_NEEDED = (True,)


class GateNode(Node):
    """The node of a gate; `arrived` takes the gradients as Tensors, None where none came.

    `with_zeros`: it is given zeros there, as in PyTorch at the inputs of a module and not at its outputs.
    """

    __slots__ = ("arrived", "with_zeros")
    _named = False

    arrived: Arrived
    with_zeros: bool

    def name(self) -> str:
        return NAME

    def run(self, grads: Sequence[Any], needs: tuple[bool, ...], task: Task) -> Sequence[Any]:
        if not task.entered:
            task.enter()
        graph = task.graph
        if self.others is None and (given := grads[0]) is not None:  # the commonest case, a single gradient
            if not graph:
                array = given
                given = _new(Tensor)  # what wrap does, on the spot
                given._array = array if type(array) is np.ndarray else np.asarray(array)
                given._edge = given._grad = given._counter = given._view = given._hooks = None
                given._needs = False
            answers = self.arrived((given,))
            return answers if graph or answers[0] is None else (answers[0]._array,)
        given = tuple(grads) if graph else tuple([None if one is None else wrap(one) for one in grads])
        answers = self.arrived(self._zeroed(given) if self.with_zeros else given)
        if graph:
            return answers
        return [None if answer is None else answer._array for answer in answers]

    def _zeroed(self, grads: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple(
            [wrap(np.zeros(*self.output(number))) if one is None else one for number, one in enumerate(grads)]
        )


def through_gate(tensors: Sequence[Any], arrived: Arrived, with_zeros: bool = True) -> list[Any]:
    """Return tensors of the same data whose gradients go through `arrived` on their way to `tensors`.

    Every one of `tensors` requires a gradient. Backward calls `arrived` once, when all gradients
    are there, with one for each tensor, and passes on as many as it returns. To write to the
    tensors in place is refused, as for the outputs of a custom Function.
    """
    if len(tensors) == 1:
        return [_one_through_gate(tensors[0], arrived, with_zeros)]
    node = _new(GateNode)
    node.arrived = arrived
    node.with_zeros = with_zeros
    node.hooks = None
    node.sequence = next(sequence_numbers)
    first = tensors[0]
    node.shape, node.dtype = first._array.shape, first._array.dtype
    node.edges = tuple([edge_of(one) for one in tensors])
    node.needs = (True,) * len(tensors)
    node.others = tuple([(one._array.shape, one._array.dtype) for one in tensors[1:]])
    return [_beyond(node, number, one) for number, one in enumerate(tensors)]


def _beyond(node: GateNode, number: int, source: Variable) -> Variable:
    made = wrap(source._array)
    made._counter = counter = source._counter or counter_of(source)
    made._view = View(source, (), counter.value, _refusal(number))
    made._edge = target(node, number) if number else node
    made._needs = True
    return made


def _one_through_gate(source: Any, arrived: Arrived, with_zeros: bool) -> Any:
    """Return what `through_gate` returns for a single tensor.

    What `_beyond`, `wrap` and View do for that stands here on the spot: two gates stand around every call of
    a hooked module, and with calls a full backward hook adds 12 us in place of 10.
    """
    array = source._array
    node = _new(GateNode)
    node.arrived = arrived
    node.with_zeros = with_zeros
    node.hooks = node.others = None
    node.sequence = next(sequence_numbers)
    node.shape = array.shape
    node.dtype = array.dtype
    node.edges = (edge_of(source),)
    node.needs = _NEEDED
    made = _new(Tensor)
    made._array = array
    made._counter = counter = source._counter or counter_of(source)
    made._view = view = _new(View)
    view.base = source
    view.steps = ()
    view.version = counter.value
    view.refusal = _REFUSAL
    made._edge = node
    made._grad = made._hooks = None
    made._needs = True
    return made


@functools.cache
def _refusal(number: int) -> str:
    return CUSTOM.format(number=number, name=NAME)


_REFUSAL = _refusal(0)
