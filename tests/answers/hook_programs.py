"""Random programs of hooks: made from a number, played in torch or in kellet, told as a list of events.

A program makes leaves (zeros among their values), runs operations and modules on them, among them
recurrent layers, registers hooks of every kind in between, and ends with backward, `grad`, or a
derivative of derivatives. Hooks note what they see and may answer. A program that fails notes
it, and ends there.

What the guide lists as different (pytorch-differences.md) is not drawn: inputs of modules that require
no gradient, leaves of three dimensions under `Linear`, hooks of modules removed before backward, second
derivatives of relu, abs and fused layers, and `grad()` of tensors that have hooks and are no leaves. What
the hooks of a recurrent layer see is noted without the None that stands for outputs that are no tensors.
"""

from __future__ import annotations

import math
import random
import warnings
from collections.abc import Callable
from typing import Any

Events = list[Any]

VALUES = (0.0, 0.0, 1.0, -1.0, 0.5, 2.0, -0.25)

UNARY = ("neg", "relu", "exp", "tanh", "sigmoid", "square", "abs", "clone", "sin", "softmax", "cumsum")
BINARY = ("add", "sub", "mul", "div", "maximum", "where", "matmul", "cat", "addcmul")
RECURRENT = ("RNN", "GRU", "LSTM")
CELLS = ("RNNCell", "GRUCell", "LSTMCell")
MODULES = ("Linear", "Tanh", "ReLU", "Sequential", "Pair", "LayerNorm", *RECURRENT, *CELLS)
ENDINGS = ("backward", "twice", "grad", "double", "double backward", "inputs", "gradient")
HOOKS = (
    *("tensor", "tensor", "retain", "node_pre", "node_post", "post_accumulate", "multi_all", "multi_any"),
    *("removed", "self_removing", "callback", "leaf_node", "capture_again"),
)


def play(library: Any, seed: int) -> Events:
    """Run the program number `seed` in `library`; return what happened."""
    program = Program(library, seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of gradients of non-leaves, of hooks without inputs
        program.run()
    return program.events


def first_difference(one: Events, other: Events) -> str:
    """Say where two traces differ, or nothing.

    In a derivative of derivatives hooks run in the order of the nodes that the derivative is made of, which
    each library makes its own way: there the same events count in any order.
    """
    ordered = next((i + 1 for i, event in enumerate(one) if event[0] == "found"), len(one))
    for number, (theirs, ours) in enumerate(zip(one[:ordered], other, strict=False)):
        if not same(theirs, ours):
            return f"event {number}: {theirs} and {ours}"
    left = other[ordered:]
    for theirs in one[min(ordered, len(other)) :]:
        found = next((i for i, ours in enumerate(left) if same(theirs, ours)), None)
        if found is None:
            return f"{theirs} is in the first trace alone, {left} in the other"
        del left[found]
    return f"{left} is in the second trace alone" if left else ""


def same(one: Any, other: Any) -> bool:
    """Say whether two values agree, numbers to six digits."""
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=1e-6, abs_tol=1e-9) or (one != one and other != other)
    return bool(one == other)


def plain(value: Any) -> Any:
    """Tensors as their dtypes, shapes and numbers."""
    if isinstance(value, tuple | list):
        return [plain(one) for one in value]
    if value is None or isinstance(value, str | int | float):
        return value
    dtype = str(value.dtype).removeprefix("torch.")
    return [dtype, list(value.shape), [float(number) for number in value.detach().reshape(-1).tolist()]]


class Program:
    """One program under way in one library. Every draw is made in both libraries alike."""

    def __init__(self, library: Any, seed: int) -> None:
        self.library = library
        self.draw = random.Random(seed)
        self.events: Events = []
        self.leaves: list[Any] = []
        self.tensors: list[Any] = []  # all of shape (3, 3)
        self.handles: list[Any] = []
        self.undo: list[Any] = []
        self.retained: list[Any] = []  # not asked for by grad(), where torch leaves out their hooks
        self.how = ""

    def run(self) -> None:
        try:
            self.write()
        except (RuntimeError, TypeError, ValueError, IndexError):  # ours are several of these at once
            self.events.append(("raised", ""))
        finally:
            for handle in self.undo:
                handle.remove()
        for number, leaf in enumerate([*self.leaves, *self.retained]):
            self.events.append(("grad", number, plain(leaf.grad)))

    def write(self) -> None:
        draw = self.draw
        self.how = draw.choice(ENDINGS)
        for _ in range(draw.randint(1, 3)):
            self.leaves.append(self.leaf())
            self.tensors.append(self.leaves[-1])
        if draw.random() < 0.2:
            self.global_hooks()
        for _ in range(draw.randint(2, 7)):
            self.step()
        self.ending()

    def leaf(self) -> Any:
        rows = [[self.draw.choice(VALUES) for _ in range(3)] for _ in range(3)]
        return self.library.tensor(rows, dtype=self.library.float64, requires_grad=True)

    # --- steps --------------------------------------------------------------------------------------

    def step(self) -> None:
        kind = self.draw.choices(
            ("unary", "binary", "module", "in_place", "parts", "hook", "saved", "function"),
            (4, 5, 4, 1, 1, 6, 2, 1),
        )[0]
        getattr(self, kind)()

    def pick(self) -> Any:
        return self.draw.choice(self.tensors)

    def known_twice(self, name: str) -> str:
        """Another step for those whose second derivatives torch gives zeros, or None, that nothing needs."""
        others = {"relu": "sin", "ReLU": "Tanh", "abs": "tanh", "LayerNorm": "Linear"}
        return others.get(name, name) if self.how.startswith("double") else name

    def unary(self) -> None:
        name = self.known_twice(self.draw.choice(UNARY))
        arguments = (1,) if name in ("softmax", "cumsum") else ()
        self.tensors.append(getattr(self.pick(), name)(*arguments))

    def binary(self) -> None:
        name, a, b = self.draw.choice(BINARY), self.pick(), self.pick()
        m = self.library
        made = {
            "where": lambda: m.where(a > b, a, b),
            "cat": lambda: m.cat([a, b])[1:4],
            "addcmul": lambda: m.addcmul(a, b, b),
            "matmul": lambda: a @ b,
            "div": lambda: a / (b.square() + 1),
        }.get(name, lambda: getattr(a, name)(b))
        self.tensors.append(made())

    def in_place(self) -> None:
        target = self.pick()
        if self.draw.random() < 0.5:
            target = target * 1
            self.tensors.append(target)
        how = self.draw.choice(("mul", "add", "zero", "row", "detached"))
        if how == "mul":
            target.mul_(2)
        elif how == "add":
            target.add_(self.pick())
        elif how == "zero":
            target.zero_()
        elif how == "row":
            target[0].mul_(3)
        else:
            target.detach().mul_(1)

    def parts(self) -> None:
        first, second, third = self.pick().unbind(0)
        order = [first, second, third]
        self.draw.shuffle(order)
        self.note_tensor(order[0], "a part")
        self.tensors.append(self.library.stack(order))

    def function(self) -> None:
        events = self.events

        class Scaled(self.library.autograd.Function):  # type: ignore[misc,name-defined]  # of either library
            @staticmethod
            def forward(ctx: Any, x: Any, y: Any) -> Any:
                ctx.save_for_backward(x, y)
                return x * y, x + y

            @staticmethod
            def backward(ctx: Any, first: Any, second: Any) -> Any:
                x, y = ctx.saved_tensors
                events.append(("function", plain(first), plain(second)))
                return first * y + second, first * x + second

        self.tensors += Scaled.apply(self.pick(), self.pick())

    # --- modules ------------------------------------------------------------------------------------

    def module(self) -> None:
        name = self.known_twice(self.draw.choice(MODULES))
        nn = self.library.nn
        if name == "Linear":
            made = nn.Linear(3, 3, bias=self.draw.random() < 0.7)
        elif name == "Sequential":
            between = getattr(nn, self.known_twice(self.draw.choice(("Tanh", "ReLU"))))()
            made = nn.Sequential(nn.Linear(3, 3), between, nn.Linear(3, 3))
        elif name == "Pair":
            made = pair(nn)
        elif name == "LayerNorm":
            made = nn.LayerNorm(3)
        elif name in RECURRENT:
            made = self.recurrent(name)
        elif name in CELLS:
            made = getattr(nn, name)(3, 3)
        else:
            made = getattr(nn, name)()
        made.double()
        self.fill(made)
        for number, (_, one) in enumerate(made.named_modules()):
            if self.draw.random() < 0.6:
                self.hook_module(one, f"{name}.{number}")
        for number, (_, parameter) in enumerate(made.named_parameters()):
            if self.draw.random() < 0.3:
                self.note_tensor(parameter, f"{name} parameter {number}")
            if self.draw.random() < 0.2:
                parameter.register_post_accumulate_grad_hook(
                    self.noting(f"{name} accumulated {number}", lambda tensor: tensor.grad)
                )
            self.leaves.append(parameter)
        if name in RECURRENT:
            self.over_sequence(made)
        elif name in CELLS:
            self.tensors += self.parts_of(made(self.pick(), *self.first_state(name == "LSTMCell")))
        elif name == "Pair":
            output, second = made(self.pick(), self.pick())
            self.events.append(("second", plain(second)))
            self.tensors += [second, output]
        else:
            self.tensors.append(made(self.pick()))

    def recurrent(self, name: str) -> Any:
        """A layer whose outputs have three columns: of one direction, or with narrow ones side by side."""
        options: dict[str, Any] = {"num_layers": self.draw.randint(1, 2), "bias": self.draw.random() < 0.8}
        if name == "LSTM" and self.draw.random() < 0.4:
            return self.library.nn.LSTM(3, 4, proj_size=3, **options)
        if self.draw.random() < 0.3:
            return getattr(self.library.nn, name)(3, 3, bidirectional=True, **options)
        return getattr(self.library.nn, name)(3, 3, **options)

    def over_sequence(self, made: Any) -> None:
        """Run a recurrent layer over one sequence, over two, or over packed ones; with or without a state."""
        how = self.draw.choice(("one", "one", "batch", "packed"))
        if how == "one":
            output, state = made(self.pick(), *self.start(made, 0))
        else:
            both = self.library.stack([self.pick(), self.pick()], 1)
            utils = self.library.nn.utils.rnn
            if how == "packed":
                lengths = [self.draw.randint(1, 3), self.draw.randint(1, 3)]
                both = utils.pack_padded_sequence(both, lengths, enforce_sorted=False)
            output, state = made(both, *self.start(made, 2))
            if how == "packed":
                output, _ = utils.pad_packed_sequence(output, total_length=3)
            output = output[:, self.draw.randint(0, 1)]
        self.events.append(("state", plain(state)))
        for part in self.parts_of(state):
            if self.draw.random() < 0.5:
                self.tensors.append(part.reshape(-1, part.shape[-1])[-1:, :3].expand(3, 3).clone())
        first = self.draw.choice((0, output.shape[1] - 3))
        self.tensors.append(output[:, first : first + 3])

    def start(self, made: Any, batch: int) -> tuple[Any, ...]:
        """Nothing, or the state that a recurrent layer begins with, made of what there is."""
        if self.draw.random() < 0.5:
            return ()
        layers = made.num_layers * (2 if made.bidirectional else 1)

        def state(width: int) -> Any:
            row = self.pick()[:1]
            row = self.library.cat([row, row[:, :1]], 1) if width == 4 else row
            return row.expand(layers, batch, width) if batch else row.expand(layers, width)

        h = state(made.proj_size or made.hidden_size)
        return ((h, state(made.hidden_size)),) if made.mode == "LSTM" else (h,)

    def first_state(self, pair: bool) -> tuple[Any, ...]:
        if self.draw.random() < 0.5:
            return ()
        return ((self.pick(), self.pick()),) if pair else (self.pick(),)

    @staticmethod
    def parts_of(state: Any) -> list[Any]:
        return list(state) if isinstance(state, tuple) else [state]

    def fill(self, module: Any) -> None:
        with self.library.no_grad():
            for parameter in module.parameters():
                shape = list(parameter.shape)
                numbers = [self.draw.choice(VALUES) for _ in range(math.prod(shape))]
                parameter.copy_(self.library.tensor(numbers, dtype=self.library.float64).reshape(shape))

    def hook_module(self, module: Any, name: str) -> None:
        draw = self.draw
        kind = draw.choice(("forward_pre", "forward", "full_backward_pre", "full_backward", "two", "kwargs"))
        change = draw.random() < 0.4
        prepend = draw.random() < 0.3
        note = self.events.append

        def scale(values: Any) -> Any:
            return tuple(map(doubled, values)) if change else None

        def pre(module: Any, args: Any) -> Any:
            note((name, "pre", plain(args)))
            return scale(args)

        def post(module: Any, args: Any, output: Any) -> Any:
            note((name, "post", plain(output)))
            return doubled(output) if change else None

        def post_kwargs(module: Any, args: Any, kwargs: Any, output: Any) -> None:
            note((name, "post with kwargs", len(kwargs), plain(output)))

        def backward_pre(module: Any, grads: Any) -> Any:
            note((name, "backward pre", plain(of_tensors(module, grads))))
            return scale(grads)

        def backward(module: Any, inputs: Any, outputs: Any) -> Any:
            note((name, "backward", plain(inputs), plain(of_tensors(module, outputs))))
            return scale(inputs)

        if kind == "forward_pre":
            handle = module.register_forward_pre_hook(pre, prepend=prepend)
        elif kind == "forward":
            handle = module.register_forward_hook(post, prepend=prepend)
        elif kind == "kwargs":
            handle = module.register_forward_hook(post_kwargs, with_kwargs=True, always_call=prepend)
        elif kind == "full_backward_pre":
            handle = module.register_full_backward_pre_hook(backward_pre, prepend=prepend)
        else:
            handle = module.register_full_backward_hook(backward, prepend=prepend)
            if kind == "two":
                module.register_full_backward_hook(backward, prepend=prepend)
        # Not to be removed later: torch runs hooks of a backward that is under way all the same.
        self.undo.append(handle)

    def global_hooks(self) -> None:
        places = self.library.nn.modules.module
        note = self.events.append
        kind = self.draw.choice(("forward_pre", "forward", "full_backward", "full_backward_pre"))

        def tell(module: Any, *values: Any) -> None:
            if "backward" in kind:
                values = (*values[:-1], of_tensors(module, values[-1]))
            note(("global", kind, type(module).__name__, [plain(value) for value in values]))

        self.undo.append(getattr(places, f"register_module_{kind}_hook")(tell))

    # --- hooks --------------------------------------------------------------------------------------

    def hook(self) -> None:
        kind, number = self.draw.choice(HOOKS), len(self.events)
        tensor = self.pick()
        if kind in ("node_pre", "node_post") and tensor.grad_fn is None:
            kind = "tensor"
        if kind in ("post_accumulate", "leaf_node"):
            tensor = self.draw.choice(self.leaves)
        getattr(self, f"hook_{kind}")(tensor, f"{kind} {number}")

    def noting(self, name: str, look: Callable[[Any], Any] = lambda value: value) -> Callable[[Any], None]:
        return lambda value: self.events.append((name, plain(look(value))))

    def note_tensor(self, tensor: Any, name: str) -> Any:
        answer = self.draw.choice((None, None, 2.0, 0.0))
        note = self.events.append

        def hook(grad: Any) -> Any:
            note((name, plain(grad)))
            return None if answer is None else grad * answer

        return tensor.register_hook(hook)

    def hook_tensor(self, tensor: Any, name: str) -> None:
        self.handles.append(self.note_tensor(tensor, name))

    def hook_retain(self, tensor: Any, name: str) -> None:
        tensor.retain_grad()
        self.retained.append(tensor)

    def hook_node_pre(self, tensor: Any, name: str) -> None:
        change, note = self.draw.random() < 0.4, self.events.append

        def hook(grads: Any) -> Any:
            note((name, plain(grads)))
            return tuple(None if grad is None else grad * 3 for grad in grads) if change else None

        self.handles.append(tensor.grad_fn.register_prehook(hook))

    def hook_node_post(self, tensor: Any, name: str) -> None:
        note = self.events.append

        def hook(inputs: Any, outputs: Any) -> None:
            # How many inputs a node has is its own affair.
            note((name, plain([grad for grad in inputs if grad is not None][:0]), plain(outputs)))

        self.handles.append(tensor.grad_fn.register_hook(hook))

    def hook_leaf_node(self, tensor: Any, name: str) -> None:
        doubled = tensor * 2
        node = doubled.grad_fn.next_functions[0][0]
        note = self.events.append
        self.undo.append(node.register_prehook(lambda grads: note((name, "pre", plain(grads)))))
        self.undo.append(node.register_hook(lambda inputs, outputs: note((name, "post", plain(outputs)))))
        self.kept = node  # torch forgets the hooks of a leaf's node that is not held
        self.tensors.append(doubled)

    def hook_post_accumulate(self, tensor: Any, name: str) -> None:
        self.handles.append(
            tensor.register_post_accumulate_grad_hook(self.noting(name, lambda one: one.grad))
        )

    def hook_multi_all(self, tensor: Any, name: str) -> None:
        self.multi([tensor, self.pick()], name, "all")

    def hook_multi_any(self, tensor: Any, name: str) -> None:
        self.multi([tensor, self.pick()], name, "any")

    def multi(self, tensors: list[Any], name: str, mode: str) -> None:
        if mode == "all":  # under grad() torch refuses leaves here
            tensors = [tensor * 1 for tensor in tensors]
            self.tensors += tensors
        register = self.library.autograd.graph.register_multi_grad_hook
        self.handles.append(register(tensors, self.noting(name), mode=mode))

    def hook_removed(self, tensor: Any, name: str) -> None:
        if self.handles:
            self.draw.choice(self.handles).remove()

    def hook_self_removing(self, tensor: Any, name: str) -> None:
        handles: list[Any] = []

        def hook(grad: Any) -> None:
            self.events.append((name, plain(grad)))
            handles[0].remove()

        handles.append(tensor.register_hook(hook))

    def hook_callback(self, tensor: Any, name: str) -> None:
        queue = self.library.autograd.Variable._execution_engine.queue_callback
        tensor.register_hook(lambda grad: queue(lambda: self.events.append((name, "at the end"))))

    def hook_capture_again(self, tensor: Any, name: str) -> None:
        """A pass within the pass."""
        other = self.leaf()

        def hook(grad: Any) -> None:
            if grad is None:
                return
            with self.library.enable_grad():
                (inner,) = self.library.autograd.grad((other * grad.detach()).sum(), other)
            self.events.append((name, plain(inner)))

        tensor.register_hook(hook)

    # --- saved tensors --------------------------------------------------------------------------------

    def saved(self) -> None:
        m, note = self.library, self.events.append
        how = self.draw.choice(("noted", "narrow", "narrow there and back", "doubled", "refused", "nested"))

        def pack(tensor: Any) -> Any:
            note(("pack", how, plain(tensor)))
            return tensor.float() if how.startswith("narrow") else tensor

        def unpack(tensor: Any) -> Any:
            note(("unpack", how, plain(tensor)))
            return (
                tensor.double()
                if how == "narrow there and back"
                else tensor * 2
                if how == "doubled"
                else tensor
            )

        a, b = self.pick(), self.pick()
        if how == "refused":
            with m.autograd.graph.disable_saved_tensors_hooks("not here"):
                self.tensors.append(a * b)
            return
        with m.autograd.graph.saved_tensors_hooks(pack, unpack):
            if how == "nested":
                with m.autograd.graph.saved_tensors_hooks(lambda x: x, lambda x: x * 1):
                    self.tensors.append(a * b)
            operation = self.draw.choice(("mul", "exp", "sigmoid", "square", "tanh", "matmul"))
            self.tensors.append(getattr(a, operation)(*((b,) if operation in ("mul", "matmul") else ())))

    # --- endings --------------------------------------------------------------------------------------

    def ending(self) -> None:
        draw, m = self.draw, self.library
        last = [self.tensors[-1], *draw.sample(self.tensors, min(2, len(self.tensors)))]
        root = sum((one.sum() for one in last[1:]), (last[0] * last[0]).sum())
        how = self.how
        self.events.append(how)
        if how == "backward":
            root.backward()
        elif how == "twice":
            root.backward(retain_graph=True)
            root.backward()
        elif how == "inputs":
            root.backward(inputs=self.leaves[: draw.randint(1, len(self.leaves))])
        elif how == "gradient":
            (last[0] * 1).backward(m.full((3, 3), 0.5, dtype=m.float64))
        elif how == "grad":
            found = m.autograd.grad(root, self.leaves, allow_unused=True)
            self.events.append(("found", plain(found)))
        else:
            found = m.autograd.grad(root, self.leaves, create_graph=True, allow_unused=True)
            self.events.append(("found", plain(found)))
            squares = [one.square().sum() for one in found if one is not None and one.requires_grad]
            if squares:
                again = sum(squares[1:], squares[0])
                if how == "double backward":
                    again.backward()
                else:
                    second = m.autograd.grad(again, self.leaves, allow_unused=True)
                    self.events.append(("second derivatives", plain(second)))


def doubled(value: Any) -> Any:
    """Twice a tensor, or twice those of a pair; packed sequences and None as they are."""
    if type(value) is tuple:
        return tuple(map(doubled, value))
    return value if value is None or isinstance(value, tuple) else value * 2


def of_tensors(module: Any, grads: Any) -> Any:
    """Leave out the None that torch has for outputs that are no tensors, as the state of an LSTM is none."""
    kind = type(module).__name__
    return [grad for grad in grads if grad is not None] if kind in RECURRENT else grads


def pair(nn: Any) -> Any:
    """A module of two inputs and two outputs."""

    class Pair(nn.Module):  # type: ignore[misc]  # of either library
        def __init__(self) -> None:
            super().__init__()
            self.inner = nn.Linear(3, 3)

        def forward(self, a: Any, b: Any) -> tuple[Any, Any]:
            return self.inner(a) * b, a + b

    return Pair()
