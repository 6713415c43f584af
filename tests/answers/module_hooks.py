"""Hooks of modules in scenarios: every event, in order, values included.

Where the two differ on purpose (a Tensor input without gradient, removed hooks, outputs that are no
Tensors, ties under assign) there is no scenario here but a test of its own in tests/nn.
"""

import importlib
import types
import warnings

from tests.answers.subject import Subject

SCENARIOS = {}


def scenario(function):
    SCENARIOS[function.__name__] = function
    return function


def side_of(library):
    return types.SimpleNamespace(
        nn=library.nn,
        tensor=library.tensor,
        no_grad=library.no_grad,
        grad=library.autograd.grad,
        everywhere=importlib.import_module(f"{library.__name__}.nn.modules.module"),
        Tensor=library.Tensor,
    )


def play(scenario):
    def played(library):
        side = side_of(library)
        trace = Trace(side)
        scenario(side, trace)
        return trace.events

    return played


class Trace:
    """What happened on one side, as plain data that the other side's can be compared with."""

    def __init__(self, side):
        self.side = side
        self.events = []

    def add(self, *what):
        self.events.append(self.plain(what))

    def plain(self, value):
        if isinstance(value, self.side.Tensor):
            return ("tensor", value.tolist())
        if isinstance(value, self.side.nn.Module):
            return ("module", type(value).__name__)
        if isinstance(value, dict):
            return {key: self.plain(inner) for key, inner in value.items()}
        if isinstance(value, tuple | list):
            return [self.plain(inner) for inner in value]
        return value

    def hook(self, name, answer=None):
        """A hook that records everything it is given."""

        def record(*args):
            self.add(name, *args)
            return answer(*args) if answer is not None else None

        return record

    def failure(self, function, *args, **kwargs):
        """Record the message up to where the sides word it differently, and the built-in class."""
        try:
            function(*args, **kwargs)
        except (RuntimeError, TypeError, ZeroDivisionError) as error:
            kind = next(c for c in (RuntimeError, TypeError, ZeroDivisionError) if isinstance(error, c))
            self.add("raised", kind.__name__, str(error).split(",")[0].split(" from ")[0].split(":\n")[0])
        else:
            self.add("did not raise")


def leaf(side, *values):
    return side.tensor(list(values), requires_grad=True)


def modules(side):
    nn = side.nn

    class Scale(nn.Module):
        def __init__(self, factor):
            super().__init__()
            self.factor = nn.Parameter(side.tensor([factor]))

        def forward(self, x, times=1.0):
            return x * self.factor * times

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.first = Scale(2.0)
            self.second = Scale(3.0)

        def forward(self, x):
            return self.second(self.first(x)) + self.first(x)

    class Pair(nn.Module):
        def forward(self, x, y):
            return x * y, x + y

    class Fail(nn.Module):
        def forward(self, x):
            raise ZeroDivisionError("forward")

    return types.SimpleNamespace(Scale=Scale, Net=Net, Pair=Pair, Fail=Fail)


# Calls and gradients


@scenario
def every_hook_of_a_nested_call(side, trace):
    net, x = modules(side).Net(), leaf(side, 1.0, -2.0)
    for name, module in (("net", net), ("first", net.first), ("second", net.second)):
        module.register_forward_pre_hook(trace.hook(f"{name} pre"))
        module.register_forward_hook(trace.hook(f"{name} post"))
        module.register_full_backward_pre_hook(trace.hook(f"{name} backward pre"))
        module.register_full_backward_hook(trace.hook(f"{name} backward"))
    output = net(x)
    trace.add("output", output)
    output.sum().backward()
    trace.add("gradients", x.grad, net.first.factor.grad, net.second.factor.grad)


@scenario
def hooks_in_order_with_prepended_and_global_ones(side, trace):
    scale = modules(side).Scale(2.0)
    everywhere = side.everywhere
    handles = [
        everywhere.register_module_forward_pre_hook(trace.hook("global pre")),
        everywhere.register_module_forward_hook(trace.hook("global post")),
        everywhere.register_module_full_backward_pre_hook(trace.hook("global backward pre")),
        everywhere.register_module_full_backward_hook(trace.hook("global backward")),
    ]
    for prepend in (False, True):
        name = "prepended" if prepend else "own"
        scale.register_forward_pre_hook(trace.hook(f"{name} pre"), prepend=prepend)
        scale.register_forward_hook(trace.hook(f"{name} post"), prepend=prepend)
        scale.register_full_backward_pre_hook(trace.hook(f"{name} backward pre"), prepend=prepend)
        scale.register_full_backward_hook(trace.hook(f"{name} backward"), prepend=prepend)
    scale(leaf(side, 1.0)).backward()
    for handle in handles:
        handle.remove()
    scale(leaf(side, 5.0)).backward()


@scenario
def answers_change_what_follows(side, trace):
    scale, x = modules(side).Scale(2.0), leaf(side, 1.0)
    scale.register_forward_pre_hook(trace.hook("bare", lambda module, args: args[0] + 1))
    scale.register_forward_pre_hook(trace.hook("tuple", lambda module, args: (args[0] * 10,)))
    scale.register_forward_hook(trace.hook("first", lambda module, args, output: output + 0.5))
    scale.register_forward_hook(trace.hook("second", lambda module, args, output: output * 2))
    scale.register_full_backward_pre_hook(trace.hook("backward pre", lambda module, grads: (grads[0] * 3,)))
    scale.register_full_backward_hook(
        trace.hook("backward", lambda module, grad_input, grad_output: (grad_input[0] + 100,))
    )
    output = scale(x)
    output.backward()
    trace.add("end", output, x.grad, scale.factor.grad)


@scenario
def hooks_with_kwargs(side, trace):
    scale = modules(side).Scale(2.0)
    scale.register_forward_pre_hook(
        trace.hook("pre", lambda module, args, kwargs: (args, {"times": kwargs["times"] * 2})),
        with_kwargs=True,
    )
    scale.register_forward_pre_hook(trace.hook("pre without"))
    scale.register_forward_hook(trace.hook("post"), with_kwargs=True)
    scale.register_forward_hook(trace.hook("post without"))
    trace.add("output", scale(leaf(side, 1.0), times=5.0))


@scenario
def wrong_answers_of_pre_hooks_with_kwargs(side, trace):
    for answer in (1, (1,), (1, 2, 3)):
        scale = modules(side).Scale(2.0)
        scale.register_forward_pre_hook(lambda module, args, kwargs, answer=answer: answer, with_kwargs=True)
        try:
            scale(leaf(side, 1.0))
        except RuntimeError as error:
            trace.add(
                str(error).startswith(
                    "forward pre-hook must return None or a tuple of (new_args, new_kwargs)"
                )
            )


@scenario
def always_called_hooks_after_errors(side, trace):
    parts = modules(side)
    for module in (parts.Fail(), parts.Scale(2.0)):
        module.register_forward_hook(trace.hook("always, first"), always_call=True)
        module.register_forward_hook(trace.hook("not always"))
        if isinstance(module, parts.Scale):
            module.register_forward_hook(lambda *args: 1 / 0)
        module.register_forward_hook(
            trace.hook("always, kwargs", lambda *args: "x"), always_call=True, with_kwargs=True
        )
        module.register_forward_hook(trace.hook("always, last"), always_call=True)
        trace.failure(module, leaf(side, 1.0))


@scenario
def module_used_twice_and_backward_twice(side, trace):
    scale, x = modules(side).Scale(2.0), leaf(side, 1.0)
    scale.register_full_backward_hook(trace.hook("backward"))
    scale.register_full_backward_pre_hook(trace.hook("backward pre"))
    output = scale(scale(x))
    output.backward(retain_graph=True)
    output.backward()
    trace.add("gradients", x.grad, scale.factor.grad)


@scenario
def several_outputs_and_one_of_them_unused(side, trace):
    pair, x, y = modules(side).Pair(), leaf(side, 2.0), leaf(side, 3.0)
    pair.register_full_backward_pre_hook(trace.hook("backward pre"))
    pair.register_full_backward_hook(trace.hook("backward"))
    first, second = pair(x, y)
    (first + second * 10).backward(retain_graph=True)
    second.backward()
    trace.add("gradients", x.grad, y.grad)


@scenario
def no_input_requires_a_gradient(side, trace):
    scale = modules(side).Scale(2.0)
    scale.register_full_backward_pre_hook(trace.hook("backward pre", lambda module, grads: (grads[0] * 2,)))
    scale.register_full_backward_hook(
        trace.hook("backward", lambda module, grad_input, grad_output: grad_input)
    )
    scale(side.tensor([5.0])).backward()
    trace.add("gradient", scale.factor.grad)


@scenario
def second_derivative_through_hooks(side, trace):
    class Cube(side.nn.Module):
        def forward(self, x):
            return x * x * x

    cube, x = Cube(), leaf(side, 2.0)
    cube.register_full_backward_pre_hook(trace.hook("backward pre"))
    cube.register_full_backward_hook(
        trace.hook("backward", lambda module, grad_input, grad_output: (grad_input[0] * 2,))
    )
    (grad,) = side.grad(cube(x), x, create_graph=True)
    trace.add("first", grad)
    (second,) = side.grad(grad, x)
    trace.add("second", second)


@scenario
def wrong_answers_in_backward(side, trace):
    for register, answer in (
        ("register_full_backward_hook", ()),
        ("register_full_backward_hook", (None, None)),
        ("register_full_backward_pre_hook", ()),
        ("register_full_backward_pre_hook", (None, None)),
    ):
        scale = modules(side).Scale(2.0)
        getattr(scale, register)(lambda *args, answer=answer: answer)
        trace.failure(scale(leaf(side, 1.0)).backward)


@scenario
def no_grad_mode_has_no_backward_hooks(side, trace):
    scale = modules(side).Scale(2.0)
    scale.register_full_backward_hook(trace.hook("backward"))
    with side.no_grad():
        trace.add("output", scale(leaf(side, 1.0)).requires_grad)


@scenario
def output_in_a_dict(side, trace):
    class Named(side.nn.Module):
        def forward(self, x):
            return {"x": x * 2}

    named, x = Named(), leaf(side, 1.0)
    named.register_full_backward_hook(trace.hook("backward"))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        named(x)["x"].backward()
    trace.add([(type(w.message).__name__, str(w.message).split(" but received")[0]) for w in caught], x.grad)


# State dicts


def state_net(side):
    nn = side.nn

    class Counted(nn.Module):
        _version = 7

        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(side.tensor([1.0]))
            self.register_buffer("count", side.tensor([0.0]))
            self.register_buffer("scratch", side.tensor([0.0]), persistent=False)
            self.register_parameter("none", None)

        def get_extra_state(self):
            return "extra"

        def set_extra_state(self, state):
            self.extra = state

    return nn.Sequential(nn.Linear(1, 1, bias=False), nn.Sequential(Counted(), nn.Identity()))


def fixed(net, side):
    """The state of the net with 0, 1, ... in its tensors."""
    state = net.state_dict()
    for number, key in enumerate(state):
        if isinstance(state[key], side.Tensor):
            state[key] = side.tensor([[float(number)]] if key == "0.weight" else [float(number)])
    return state


@scenario
def saving_with_every_hook(side, trace):
    net = state_net(side)
    for path, module in net.named_modules():
        module.register_state_dict_pre_hook(trace.hook(f"{path} pre"))
        module.register_state_dict_post_hook(
            lambda module, state, prefix, local_metadata, path=path: trace.add(
                f"{path} post", list(state), prefix, local_metadata
            )
        )
    with side.no_grad():
        net[0].weight.fill_(2.0)
    for keep_vars in (False, True):
        state = net.state_dict(prefix="net.", keep_vars=keep_vars)
        trace.add(dict(state), dict(state._metadata), state["net.0.weight"].requires_grad)


@scenario
def pre_hooks_of_a_load(side, trace):
    # Beside post-hooks torch runs those of one submodule before the pre-hooks of the next; here
    # everything is planned before anything is written, so each kind has a scenario of its own.
    net = state_net(side)

    def pre(path):
        def hook(module, state, prefix, local_metadata, strict, missing, unexpected, errors):
            trace.add(f"{path} pre", list(state), prefix, local_metadata, strict, errors)

        return hook

    for path, module in net.named_modules():
        module.register_load_state_dict_pre_hook(pre(path))
    trace.add(net.load_state_dict(fixed(net, side)), dict(net.state_dict()), net[1][0].extra)


@scenario
def post_hooks_of_a_load(side, trace):
    net = state_net(side)
    for path, module in net.named_modules():
        module.register_load_state_dict_post_hook(
            lambda module, keys, path=path: trace.add(f"{path} post", list(keys.missing_keys), list(keys[1]))
        )
    state = fixed(net, side)
    state["1.0.unknown"] = state["other"] = side.tensor([0.0])
    del state["1.0.count"]
    result = net.load_state_dict(state, strict=False)
    trace.add(result, dict(net.state_dict()), net[1][0].extra)


@scenario
def pre_hooks_change_what_is_loaded(side, trace):
    net = state_net(side)

    def rename(module, state, prefix, *args):
        state[prefix + "weight"] = state.pop(prefix + "kernel")

    net[1][0].register_load_state_dict_pre_hook(rename)
    state = fixed(net, side)
    state["1.0.kernel"] = state.pop("1.0.weight")
    trace.add(net.load_state_dict(state), dict(net.state_dict()))


@scenario
def post_hooks_forgive_and_add(side, trace):
    def forgive(module, keys):
        keys.missing_keys.clear()
        keys.unexpected_keys.clear()

    def complain(module, keys):
        keys.missing_keys.append("foo")

    net = state_net(side)
    net[0].register_load_state_dict_post_hook(forgive)
    trace.failure(net.load_state_dict, {"0.x": side.tensor([1.0])})
    handle = net.register_load_state_dict_post_hook(forgive)
    trace.add(net.load_state_dict({"0.x": side.tensor([1.0])}))
    handle.remove()
    net[1][1].register_load_state_dict_post_hook(complain)
    trace.failure(net.load_state_dict, fixed(net, side))


@scenario
def messages_of_a_refused_load(side, trace):
    net = state_net(side)
    try:
        net.load_state_dict({"0.x": side.tensor([1.0]), "a": side.tensor([1.0]), "1.0._extra_state": 1})
    except RuntimeError as error:
        trace.add(str(error))


@scenario
def keys_of_every_kind_without_strict(side, trace):
    net = state_net(side)
    keys = [
        "0.bias",
        "1.0.scratch",
        "1.0.none",
        "1.1.x",
        "1.2.x",
        "2",
        "_extra_state",
        "1._extra_state",
        "0.weight.x",
    ]
    for key in keys:
        trace.add(key, net.load_state_dict({key: side.tensor([1.0])}, strict=False))


@scenario
def dtypes_when_copied_and_assigned(side, trace):
    for assign in (False, True):
        for value in ([[1.0]], [[2]], [[True]]):
            net = side.nn.Linear(1, 1, bias=False)
            net.requires_grad_(False)
            net.load_state_dict({"weight": side.tensor(value)}, assign=assign)
            trace.add(net.weight, str(net.weight.dtype).split(".")[-1], net.weight.requires_grad)


@scenario
def one_element_into_none_dimensions(side, trace):
    net = side.nn.Module()
    net.register_buffer("scale", side.tensor(1.0))
    net.load_state_dict({"scale": side.tensor([5.0])})
    trace.add(net.scale, tuple(net.scale.shape))


@scenario
def old_batch_norm_states(side, trace):
    for version in (None, 1, 2):
        norm = side.nn.BatchNorm1d(1)
        state = norm.state_dict()
        del state["num_batches_tracked"]
        state._metadata[""] = {} if version is None else {"version": version}
        trace.add(version, norm.load_state_dict(state, strict=False), norm.num_batches_tracked)


# Registration


@scenario
def registration_hooks(side, trace):
    everywhere, nn = side.everywhere, side.nn
    other = nn.Parameter(side.tensor([9.0]))
    handles = [
        everywhere.register_module_parameter_registration_hook(
            trace.hook("parameter", lambda module, name, value: other if name == "swap" else None)
        ),
        everywhere.register_module_buffer_registration_hook(trace.hook("buffer")),
        everywhere.register_module_module_registration_hook(trace.hook("module")),
    ]
    module = nn.Module()
    module.keep = nn.Parameter(side.tensor([1.0]))
    module.swap = nn.Parameter(side.tensor([2.0]))
    module.register_parameter("none", None)
    module.register_buffer("count", side.tensor([3.0]))
    module.register_buffer("nothing", None)
    module.count = side.tensor([4.0])
    module.child = nn.ReLU()
    module.child = None
    module.add_module("other", nn.Tanh())
    for handle in handles:
        handle.remove()
    module.late = nn.Parameter(side.tensor([5.0]))
    trace.add(dict(module.state_dict()))


@scenario
def options_of_hooks_by_their_numbers(side, trace):
    module = side.nn.ReLU()
    kinds = ("_forward_hooks_with_kwargs", "_forward_hooks_always_called", "_forward_pre_hooks_with_kwargs")

    def told():
        trace.add([list(getattr(module, kind).values()) for kind in kinds])

    told()
    handles = [
        module.register_forward_hook(lambda *args: None),
        module.register_forward_hook(lambda *args: None, with_kwargs=True),
        module.register_forward_hook(lambda *args: None, always_call=True),
        module.register_forward_pre_hook(lambda *args: None, with_kwargs=True),
    ]
    told()
    trace.add([[handle.id in getattr(module, kind) for kind in kinds] for handle in handles])
    for handle in handles[1:]:
        handle.remove()
        told()


SUBJECT = Subject("module_hooks", {name: play(one) for name, one in SCENARIOS.items()})
