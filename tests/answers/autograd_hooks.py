"""Hooks of tensors and nodes in scenarios: every event, in order, values included."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

from tests.answers.subject import Play, Subject

Events = list[Any]
Scenario = Callable[[Any, Events], None]
SCENARIOS: list[Scenario] = []


def scenario(function: Scenario) -> Scenario:
    SCENARIOS.append(function)
    return function


def played(scenario: Scenario) -> Play:
    def play(library: Any) -> Events:
        events: Events = []
        scenario(library, events)
        return events

    return play


# --- what hooks note ------------------------------------------------------------------------------


def plain(value: Any) -> Any:
    """A gradient, or a tuple of them, as numbers."""
    if isinstance(value, tuple | list):
        return [plain(one) for one in value]
    return (
        value
        if value is None or isinstance(value, str)
        else [round(v, 6) for v in value.reshape(-1).tolist()]
    )


def on_grad(events: Events, name: str, change: Any = None) -> Any:
    def hook(grad: Any) -> Any:
        events.append((name, plain(grad)))
        return None if change is None else change(grad)

    return hook


def on_node(events: Events, name: str, change: Any = None) -> Any:
    def hook(*sides: Any) -> Any:
        events.append((name, [plain(side) for side in sides]))
        return None if change is None else change(*sides)

    return hook


def leaf(library: Any, *values: float) -> Any:
    return library.tensor(list(values), dtype=library.float64, requires_grad=True)


def queue(library: Any, callback: Callable[[], Any]) -> None:
    library.autograd.Variable._execution_engine.queue_callback(callback)


def failure(events: Events, run: Callable[[], Any], *phrases: str) -> None:
    """Note which of the phrases the error says, and whether it is a RuntimeError or TypeError."""
    try:
        run()
    except (RuntimeError, TypeError) as error:
        said = [phrase for phrase in phrases if phrase.lower() in str(error).lower()]
        events.append(("raised", isinstance(error, TypeError), said))
    else:
        events.append("nothing raised")


# --- tensors and nodes ----------------------------------------------------------------------------


@scenario
def order_of_one_backward(library: ModuleType, events: Events) -> None:
    x = leaf(library, 2.0, 3.0)
    y = x * 3
    z = y.exp()
    accumulation = y.grad_fn.next_functions[0][0]
    accumulation.register_hook(on_node(events, "leaf post"))
    x.register_post_accumulate_grad_hook(lambda t: events.append(("post-accumulate", plain(t.grad))))
    accumulation.register_prehook(on_node(events, "leaf pre", lambda grads: (grads[0] * 2,)))
    x.register_hook(on_grad(events, "leaf 1", lambda grad: grad + 1))
    x.register_hook(on_grad(events, "leaf 2"))
    y.retain_grad()
    y.grad_fn.register_hook(on_node(events, "y post", lambda ins, outs: (ins[0] * 10, ins[1])))
    y.grad_fn.register_prehook(on_node(events, "y pre", lambda grads: (grads[0] / 7,)))
    y.register_hook(on_grad(events, "y 1", lambda grad: grad * 5))
    y.register_hook(on_grad(events, "y 2"))

    def at_root(grad: Any) -> None:
        events.append(("z", plain(grad)))
        queue(library, lambda: events.append(("callback", plain(x.grad), plain(y.grad))))

    z.register_hook(at_root)
    z.sum().backward()
    events.append(("end", plain(x.grad), plain(y.grad)))


@scenario
def branches_run_from_the_last_made_on(library: ModuleType, events: Events) -> None:
    a, b, c = leaf(library, 1.0), leaf(library, 2.0), leaf(library, 3.0)
    d = a * b
    e = b * c
    f = d * 2 + e
    g = f * d
    for name, tensor in {"a": a, "b": b, "c": c, "d": d, "e": e, "f": f, "g": g}.items():
        tensor.register_hook(on_grad(events, name))
        if tensor.grad_fn is not None:
            tensor.grad_fn.register_prehook(on_node(events, f"{name} pre"))
            tensor.grad_fn.register_hook(on_node(events, f"{name} post"))
    g.backward()


@scenario
def several_roots(library: ModuleType, events: Events) -> None:
    x = leaf(library, 2.0)
    y = x * 3
    z = y * y
    for name, tensor in {"x": x, "y": y, "z": z}.items():
        tensor.register_hook(on_grad(events, name))
    library.autograd.backward([y, z, y])
    events.append(plain(x.grad))


@scenario
def a_leaf_reached_in_several_ways(library: ModuleType, events: Events) -> None:
    x = leaf(library, 2.0)
    x.register_hook(on_grad(events, "x"))
    x.register_post_accumulate_grad_hook(lambda t: events.append(("written", plain(t.grad))))
    for _ in range(2):
        (x * x + x * 3 + x).sum().backward()


@scenario
def several_outputs_of_a_node(library: ModuleType, events: Events) -> None:
    x = leaf(library, 1.0, 2.0, 3.0)
    first, second, third = (x * 2).unbind(0)
    third.register_hook(on_grad(events, "third"))
    first.register_hook(on_grad(events, "first", lambda grad: None if grad is None else grad * 10))
    first.retain_grad()
    first.grad_fn.register_prehook(on_node(events, "pre"))
    first.grad_fn.register_hook(on_node(events, "post"))
    (first * 2 + third).backward(retain_graph=True)
    second.backward()
    events.append((plain(x.grad), plain(first.grad)))


@scenario
def undefined_gradients(library: ModuleType, events: Events) -> None:
    class Stop(library.autograd.Function):  # type: ignore[name-defined,misc]  # chosen at run time
        @staticmethod
        def forward(ctx: Any, a: Any, b: Any) -> Any:
            return a * 1, b * 1

        @staticmethod
        def backward(ctx: Any, of_a: Any, of_b: Any) -> Any:
            return of_a, None

    x, w = leaf(library, 1.0), leaf(library, 2.0)
    y = w * 2
    y.register_hook(on_grad(events, "y"))
    y.retain_grad()
    y.grad_fn.register_prehook(on_node(events, "y pre"))
    y.grad_fn.register_hook(on_node(events, "y post"))
    w.register_hook(on_grad(events, "w"))
    w.register_post_accumulate_grad_hook(lambda t: events.append(("w written", plain(t.grad))))
    accumulation = y.grad_fn.next_functions[0][0]
    accumulation.register_prehook(on_node(events, "w pre"))
    accumulation.register_hook(on_node(events, "w post"))
    a, b = Stop.apply(x, y)
    (a + b).sum().backward()
    events.append((plain(x.grad), plain(w.grad), y.grad is None))


@scenario
def removed_handles(library: ModuleType, events: Events) -> None:
    x = leaf(library, 1.0)
    y = x * 2
    first = y.register_hook(on_grad(events, "first"))
    y.register_hook(on_grad(events, "second"))
    third = y.grad_fn.register_prehook(on_node(events, "third"))
    y.backward(retain_graph=True)
    first.remove()
    first.remove()
    y.backward(retain_graph=True)
    third.remove()
    with y.grad_fn.register_hook(on_node(events, "fourth")):
        y.backward(retain_graph=True)
    y.backward()


@scenario
def hook_changes_the_gradient_in_place(library: ModuleType, events: Events) -> None:
    x = leaf(library, 1.0, 2.0)
    y = x * 2
    y.register_hook(
        on_grad(events, "before", lambda grad: grad.mul_(3) and None if grad.numel() == 1 else None)
    )

    def double(grad: Any) -> None:
        grad.mul_(2)

    y.register_hook(double)
    y.register_hook(on_grad(events, "after"))
    (y * 3).backward(library.tensor([1.0, 10.0], dtype=library.float64))
    events.append(plain(x.grad))


@scenario
def wrong_answers(library: ModuleType, events: Events) -> None:
    def tried(register: Callable[[Any], Any], *phrases: str) -> None:
        y = leaf(library, 1.0, 2.0) * 2
        register(y)
        failure(events, lambda: y.sum().backward(), *phrases)

    tried(lambda y: y.register_hook(lambda grad: 3), "but hook returned 'int'")
    tried(lambda y: y.register_hook(lambda grad: grad[:1]), "has changed the size of value")
    tried(lambda y: y.register_hook(lambda grad: grad.float()), "has changed the type of value")
    tried(lambda y: y.grad_fn.register_prehook(lambda grads: grads[0]), "expected tuple")
    tried(
        lambda y: y.grad_fn.register_prehook(lambda g: (g[0], g[0])), "incorrect number of values (got 2, but"
    )
    tried(
        lambda y: y.grad_fn.register_hook(lambda ins, outs: (ins[0],)),
        "incorrect number of values (got 1, but",
    )
    tried(
        lambda y: y.grad_fn.register_hook(lambda ins, outs: (ins[0], ins[0])), "can't replace a None gradient"
    )
    no_gradient = library.ones(1)
    failure(
        events,
        lambda: no_gradient.register_hook(print),
        "cannot register a hook on a tensor that doesn't require",
    )
    failure(
        events, lambda: (leaf(library, 1.0) * 2).register_post_accumulate_grad_hook(print), "non-leaf tensors"
    )
    failure(events, lambda: no_gradient.retain_grad(), "can't retain_grad on")
    failure(
        events, lambda: queue(library, print), "Final callbacks can only be installed during backward pass"
    )


# --- grad and create_graph ------------------------------------------------------------------------


@scenario
def one_call_of_grad(library: ModuleType, events: Events) -> None:
    x, w = leaf(library, 2.0), leaf(library, 5.0)
    y = x * w
    z = y * y
    x.register_hook(on_grad(events, "x", lambda grad: grad * 2))
    x.register_post_accumulate_grad_hook(lambda t: events.append("never"))
    accumulation = y.grad_fn.next_functions[0][0]
    accumulation.register_prehook(on_node(events, "never"))
    accumulation.register_hook(on_node(events, "never"))
    y.grad_fn.register_prehook(on_node(events, "y pre"))
    y.grad_fn.register_hook(on_node(events, "y post"))
    y.retain_grad()
    events.append(plain(library.autograd.grad(z, (x,), retain_graph=True)))
    y.register_hook(on_grad(events, "y", lambda grad: grad * 10))
    events.append(plain(library.autograd.grad(z, (y,), retain_graph=True)))
    events.append(plain(library.autograd.grad(z, (w, w))))
    events.append((x.grad is None, plain(y.grad)))


@scenario
def backward_to_some_inputs(library: ModuleType, events: Events) -> None:
    x, w = leaf(library, 2.0), leaf(library, 5.0)
    y = x * w
    z = y * y
    for name, tensor in {"x": x, "w": w, "y": y, "z": z}.items():
        tensor.register_hook(on_grad(events, name))
    y.grad_fn.register_prehook(on_node(events, "y pre"))
    z.backward(inputs=[w], retain_graph=True)
    events.append((x.grad is None, plain(w.grad)))
    z.backward(inputs=[y])
    events.append((x.grad is None, plain(w.grad), plain(y.grad)))


@scenario
def modes_in_hooks(library: ModuleType, events: Events) -> None:
    x = leaf(library, 2.0)
    y = x * x

    def look(grad: Any) -> None:
        events.append((library.is_grad_enabled(), grad.requires_grad))
        queue(library, lambda: events.append(("callback", library.is_grad_enabled())))

    y.register_hook(look)
    x.register_hook(look)
    y.backward(retain_graph=True)
    x.grad = None
    library.autograd.grad(y * y, x, create_graph=True)
    events.append(library.is_grad_enabled())


@scenario
def second_derivative_runs_the_hooks_again(library: ModuleType, events: Events) -> None:
    x = leaf(library, 2.0)
    y = x**3
    y.register_hook(on_grad(events, "y", lambda grad: grad * 2))
    x.register_hook(on_grad(events, "x"))
    (first,) = library.autograd.grad(y, x, create_graph=True)
    first.register_hook(on_grad(events, "first"))
    (second,) = library.autograd.grad(first, x, create_graph=True)
    (third,) = library.autograd.grad(second, x)
    events.append(plain([first.detach(), second.detach(), third]))


# --- in place and views ---------------------------------------------------------------------------


@scenario
def in_place_keeps_old_hooks_with_the_old_value(library: ModuleType, events: Events) -> None:
    x = leaf(library, 2.0)
    y = x * 3
    y.register_hook(on_grad(events, "old"))
    y.retain_grad()
    y.mul_(5)
    y.register_hook(on_grad(events, "new"))
    y.add_(1)
    (y * 7).backward()
    events.append((plain(x.grad), plain(y.grad)))


@scenario
def in_place_through_views(library: ModuleType, events: Events) -> None:
    x = leaf(library, 1.0, 2.0, 3.0)
    base = x * 1
    head, tail = base[:2], base[1:]
    head.register_hook(on_grad(events, "head before"))
    base.register_hook(on_grad(events, "base before"))
    tail.retain_grad()
    head.mul_(10)
    head.register_hook(on_grad(events, "head after"))
    base.register_hook(on_grad(events, "base after"))
    (base * 2).sum().backward(retain_graph=True)
    (head.sum() + tail.sum()).backward()
    events.append((plain(x.grad), plain(tail.grad), head.grad_fn is not None, tail._base is base))


@scenario
def versions(library: ModuleType, events: Events) -> None:
    x = leaf(library, 1.0, 2.0)
    y = x * 1
    view = y[0]
    events.append((y._version, view._version))
    view.add_(1)
    events.append((y._version, view._version, y.detach()._version, y.data._version))
    z = (y * y).sum()
    y.detach().zero_()
    events.append(y._version)
    failure(events, z.backward, "modified by an inplace operation", "expected version 1 instead")
    failure(events, lambda: x.add_(1), "a leaf Variable that requires grad")
    failure(events, lambda: x[:1].add_(1), "a view of a leaf Variable that requires grad")


# --- gathered hooks, callbacks, nested passes -----------------------------------------------------


@scenario
def multi_grad_hooks(library: ModuleType, events: Events) -> None:
    a, b = leaf(library, 2.0), leaf(library, 3.0)
    c = a * b
    d = a * b
    register = library.autograd.graph.register_multi_grad_hook
    register((a, b, c, d), lambda grads: events.append(("all", plain(grads))))
    register((a, b, c), lambda grad: events.append(("any", plain(grad))), mode="any")
    for name, tensor in {"a": a, "b": b, "c": c, "d": d}.items():
        tensor.register_hook(on_grad(events, name))
    # A root of its own: where a hooked tensor is the only root, torch counts one gradient too few.
    (c * 1).backward(retain_graph=True)
    (c * 1).backward(inputs=(a,), retain_graph=True)
    (c + d).backward()


@scenario
def nested_passes_and_callbacks(library: ModuleType, events: Events) -> None:
    class Nested(library.autograd.Function):  # type: ignore[name-defined,misc]  # chosen at run time
        @staticmethod
        def forward(ctx: Any, x: Any, depth: int) -> Any:
            ctx.depth = depth
            return x * 1

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            depth = ctx.depth
            queue(library, lambda: events.append(("first", depth)))
            if depth:
                with library.enable_grad():
                    inner = leaf(library, 1.0)
                    inner.register_hook(on_grad(events, f"inner {depth}"))
                    Nested.apply(inner, depth - 1).backward()
            queue(library, lambda: queue(library, lambda: events.append(("second", depth))))
            return grad, None

    x = leaf(library, 1.0)
    x.register_hook(on_grad(events, "x"))
    Nested.apply(x, 2).backward()


@scenario
def errors_leave_what_was_stored(library: ModuleType, events: Events) -> None:
    x, w = leaf(library, 2.0), leaf(library, 3.0)
    early = x * 2
    y = early * w

    def fail(grad: Any) -> None:
        queue(library, lambda: events.append("never"))
        raise RuntimeError("mine")

    early.register_hook(fail)
    w.register_hook(on_grad(events, "w"))
    failure(events, y.backward, "mine")
    events.append((x.grad is None, plain(w.grad), library.is_grad_enabled()))


# --- saved tensors and functions ------------------------------------------------------------------


@scenario
def saved_tensors_hooks(library: ModuleType, events: Events) -> None:
    packed = []

    def pack(tensor: Any) -> Any:
        packed.append((plain(tensor), tensor.is_leaf and tensor.requires_grad))
        return tensor * 1

    unpacked = []

    def unpack(tensor: Any) -> Any:
        unpacked.append(plain(tensor))
        return tensor * 10

    x, w = leaf(library, 2.0), leaf(library, 3.0)
    with library.autograd.graph.saved_tensors_hooks(pack, unpack):
        y = (x * w).exp() * 2
    events.append(sorted(packed))  # each library saves its operands in an order of its own
    with library.autograd.graph.saved_tensors_hooks(on_grad(events, "outer", lambda t: t), lambda t: t):
        with library.autograd.graph.saved_tensors_hooks(on_grad(events, "inner", lambda t: t), lambda t: t):
            z = y.sin()
        z = z * z
    z.backward()
    events.append((sorted(unpacked), plain(x.grad), plain(w.grad)))


@scenario
def custom_function(library: ModuleType, events: Events) -> None:
    class Multiply(library.autograd.Function):  # type: ignore[name-defined,misc]  # chosen at run time
        @staticmethod
        def forward(ctx: Any, a: Any, b: Any, scale: float) -> Any:
            events.append(("forward", ctx.needs_input_grad, library.is_grad_enabled()))
            ctx.save_for_backward(a, b)
            ctx.scale = scale
            return a * b * scale, (a + b).detach()

        @staticmethod
        def backward(ctx: Any, grad: Any, other: Any) -> Any:
            events.append(
                ("backward", ctx.needs_input_grad, plain(grad), plain(other), library.is_grad_enabled())
            )
            a, b = ctx.saved_tensors
            return grad * b * ctx.scale + other, grad * a * ctx.scale + other, None

    x, w = leaf(library, 2.0), leaf(library, 3.0)
    y, _ = Multiply.apply(x, w, 4.0)
    events.append((y.grad_fn.name(), [type(f).__name__ for f, _ in y.grad_fn.next_functions]))
    y.grad_fn.register_prehook(on_node(events, "pre"))
    y.grad_fn.register_hook(on_node(events, "post"))
    y.backward(retain_graph=True)
    (first,) = library.autograd.grad(y, x, create_graph=True)
    events.append(plain(library.autograd.grad(first, w)))
    events.append((plain(x.grad), plain(w.grad)))


@scenario
def names_of_nodes(library: ModuleType, events: Events) -> None:
    x = leaf(library, 2.0, 3.0)
    made = {
        "add": x + 1,
        "sub": x - 1,
        "mul": x * 2,
        "div": x / 2,
        "neg": -x,
        "pow": x**2,
        "exp": x.exp(),
        "log": x.log(),
        "sqrt": x.sqrt(),
        "tanh": x.tanh(),
        "sigmoid": x.sigmoid(),
        "relu": x.relu(),
        "sum": x.sum(),
        "mean": x.mean(),
        "view": x.view(2, 1),
        "unbind": x.unbind()[0],
        "clone": x.clone(),
        "cat": library.cat([x, x]),
        "stack": library.stack([x, x]),
        "where": library.where(x > 2, x, x * 1),
    }
    events.extend((name, tensor.grad_fn.name()) for name, tensor in made.items())


# --- what PyTorch's own tests of autograd hold -----------------------------------------------------


def two_outputs(library: Any) -> list[Callable[[Any], Any]]:
    """A function of ours and one of the library with two outputs of one node."""

    class Twice(library.autograd.Function):  # type: ignore[name-defined,misc]  # chosen at run time
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2, x * 3

        @staticmethod
        def backward(ctx: Any, one: Any, other: Any) -> Any:
            return one * 2 + other * 3

    return [Twice.apply, lambda x: library.var_mean(x, dim=0), lambda x: library.std_mean(x, dim=0)]


@scenario
def pre_hooks_of_nodes_with_several_outputs(library: ModuleType, events: Events) -> None:
    for number, function in enumerate(two_outputs(library)):
        x = leaf(library, 1.0, 2.0, 4.0)
        one, other = function(x)
        other.grad_fn.register_prehook(
            on_node(events, f"{number} pre", lambda grads: (grads[0] * 2, grads[1] * 3))
        )
        one.grad_fn.register_hook(on_node(events, f"{number} post"))
        (one + other).sum().backward()
        events.append((one.grad_fn is other.grad_fn, plain(x.grad)))


@scenario
def one_of_several_outputs_is_used(library: ModuleType, events: Events) -> None:
    for number, function in enumerate(two_outputs(library)):
        for used in (0, 1):
            x = leaf(library, 1.0, 2.0, 4.0)
            outputs = function(x)
            outputs[0].grad_fn.register_prehook(on_node(events, f"{number} {used} pre"))
            outputs[used].sum().backward()
            events.append(plain(x.grad))


@scenario
def an_output_that_is_no_tensor(library: ModuleType, events: Events) -> None:
    class Twice(library.autograd.Function):  # type: ignore[name-defined,misc]  # chosen at run time
        @staticmethod
        def forward(ctx: Any, x: Any, a: Any, y: Any) -> Any:
            ctx.a = a
            return a * x * 2, a, a * y * 2

        @staticmethod
        def backward(ctx: Any, one: Any, none: Any, other: Any) -> Any:
            events.append(("backward", none))
            return ctx.a * one * 2, None, ctx.a * other * 2

    x, y = leaf(library, 1.0), leaf(library, 2.0)
    one, _, other = Twice.apply(x, 3, y)
    one.grad_fn.register_prehook(on_node(events, "pre", lambda grads: (grads[0] * 2, None, grads[2] * 2)))
    (one + other).sum().backward()
    events.append((plain(x.grad), plain(y.grad)))


@scenario
def pre_hooks_removed_while_they_run(library: ModuleType, events: Events) -> None:
    x = leaf(library, 1.0)
    y = x * 2
    handles = [y.grad_fn.register_prehook(on_node(events, "first")) for _ in range(2)]
    handles[0].remove()
    y.grad_fn.register_prehook(lambda grads: handles[1].remove())
    y.backward(retain_graph=True)
    y.backward()
    events.append(plain(x.grad))


@scenario
def hooks_of_several_outputs_that_are_written_over(library: ModuleType, events: Events) -> None:
    for number, function in enumerate(two_outputs(library)[:2]):  # the last needs what it gave
        x = leaf(library, 1.0, 2.0, 4.0)
        one, other = function(x)
        one.register_hook(on_grad(events, f"{number} old"))
        other.register_hook(on_grad(events, f"{number} other"))
        one.retain_grad()
        other.retain_grad()
        one.mul_(2)
        one.register_hook(on_grad(events, f"{number} new"))
        (one + other * 3).sum().backward()
        events.append((plain(one.grad), plain(other.grad), plain(x.grad)))


@scenario
def order_at_a_leaf(library: ModuleType, events: Events) -> None:
    x = leaf(library, 1.0, 2.0)
    node = x.view_as(x).grad_fn.next_functions[0][0]

    def accumulated(tensor: Any) -> None:
        tensor.grad.add_(0.5)

    def after(grad_inputs: Any, grad_outputs: Any) -> None:
        events.append((plain(grad_outputs), plain(x.grad)))
        x.grad = grad_outputs[0].mul(10)

    node.register_hook(after)
    x.register_post_accumulate_grad_hook(accumulated)
    node.register_prehook(lambda grads: (grads[0].div(5.0),))
    x.register_hook(lambda grad: grad.sub(2.0))
    x.sum().backward()
    events.append(plain(x.grad))


@scenario
def gradients_that_are_made_where_none_came(library: ModuleType, events: Events) -> None:
    for made in (True, False):

        class Stop(library.autograd.Function):  # type: ignore[name-defined,misc]  # chosen at run time
            @staticmethod
            def forward(ctx: Any, x: Any) -> Any:
                return x * 1

            @staticmethod
            def backward(ctx: Any, grad: Any) -> Any:
                return None

        class Asked(library.autograd.Function):  # type: ignore[name-defined,misc]  # chosen at run time
            @staticmethod
            def forward(ctx: Any, x: Any) -> Any:
                ctx.set_materialize_grads(made)
                return x * 1, x * 2

            @staticmethod
            def backward(ctx: Any, one: Any, other: Any) -> Any:
                events.append((made, plain(one), plain(other)))
                return one

        for function in (lambda y: Stop.apply(y[0]), lambda y: y[1]):
            x = leaf(library, 3.0)
            function(Asked.apply(x)).sum().backward()
            events.append(x.grad is None or plain(x.grad))


@scenario
def outputs_that_are_not_differentiable(library: ModuleType, events: Events) -> None:
    for made in (True, False):

        class Halves(library.autograd.Function):  # type: ignore[name-defined,misc]  # chosen at run time
            @staticmethod
            def forward(ctx: Any, x: Any) -> Any:
                one, other = x.clone(), x.clone()
                ctx.mark_non_differentiable(other)
                ctx._materialize_non_diff_grads = made
                return one, other

            @staticmethod
            def backward(ctx: Any, one: Any, other: Any) -> Any:
                events.append((plain(one), plain(other)))
                return one

        x = leaf(library, 1.0)
        Halves.apply(x)[0].backward()
        events.append(plain(x.grad))


@scenario
def unused_inputs_with_zeros(library: ModuleType, events: Events) -> None:
    x, y = leaf(library, 1.0), leaf(library, 2.0)
    for graph in (False, True):
        found = library.autograd.grad(x * 3, (x, y), create_graph=graph, materialize_grads=True)
        events.append([plain(found), [one.requires_grad for one in found]])


@scenario
def saved_tensors_are_made_by_nodes_alone(library: ModuleType, events: Events) -> None:
    failure(
        events, library.autograd.SavedTensor, "Trying to create a SavedTensor object from Python is forbidden"
    )
    saved = leaf(library, 2.0).exp().grad_fn._raw_saved_result
    events.append(isinstance(saved, library.autograd.SavedTensor))


SUBJECT = Subject("autograd_hooks", {one.__name__: played(one) for one in SCENARIOS})
