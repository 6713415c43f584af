"""Every hook of a module in one trace: the numbered list at the top of kellet/nn/module_hooks.py."""

import kellet
from kellet import nn
from kellet.nn import register_class_load_state_dict_pre_hook
from kellet.nn.modules import module as everywhere


class Inner(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(kellet.ones(1))

    def forward(self, x):
        TRACE.append("inner forward")
        return x * self.weight


class Outer(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = Inner()

    def forward(self, x):
        TRACE.append("outer forward")
        return self.inner(x) * 2

    def get_extra_state(self):
        TRACE.append("outer get_extra_state")
        return 0

    def set_extra_state(self, state):
        TRACE.append("outer set_extra_state")


TRACE: list[str] = []


def note(what):
    """A hook that says it ran, and for which module where it is told."""

    def hook(*args):
        owner = type(args[0]).__name__.lower() + " " if isinstance(args[0], nn.Module) else ""
        TRACE.append(owner + what)

    return hook


def short_load_hook(module, state_dict, strict):
    note("load pre-hook")(module)


def short_load_post_hook(module, incompatible_keys):
    note("load post-hook")(module)


def traced():
    """An Outer with every hook on it and on its Inner, and a handle for each global hook."""
    outer = Outer()
    for module in (outer, outer.inner):
        module.register_forward_hook(note("forward hook"))
        module.register_forward_pre_hook(note("forward pre-hook"))
        module.register_forward_pre_hook(note("forward pre-hook, prepended"), prepend=True)
        module.register_full_backward_hook(note("full backward hook"))
        module.register_full_backward_pre_hook(note("full backward pre-hook"))
        module.register_state_dict_hook(note("state-dict hook"))
        module.register_state_dict_post_hook(note("state-dict post-hook"))
        module.register_state_dict_pre_hook(note("state-dict pre-hook"))
        module.register_load_state_dict_post_hook(short_load_post_hook)
        module.register_load_state_dict_pre_hook(short_load_hook)
    outer.register_backward_hook(note("outer output gradient"))
    outer.inner.register_backward_hook(note("inner output gradient"))
    handles = [
        everywhere.register_module_forward_hook(note("global forward hook")),
        everywhere.register_module_forward_pre_hook(note("global forward pre-hook")),
        everywhere.register_module_full_backward_hook(note("global full backward hook")),
        everywhere.register_module_full_backward_pre_hook(note("global full backward pre-hook")),
        register_class_load_state_dict_pre_hook(
            Inner, lambda module, state_dict, strict: note("class hook")(module)
        ),
    ]
    return outer, handles


def test_all_hooks_of_one_forward_backward_save_and_load():
    outer, handles = traced()
    x = kellet.ones(1, requires_grad=True)
    x.register_hook(note("gradient of the input"))
    outer.inner.weight.register_hook(note("gradient of the parameter"))
    TRACE.clear()
    output = outer(x)
    output.register_hook(note("gradient of the output"))
    TRACE.append("backward")
    output.backward()
    TRACE.append("save")
    state = outer.state_dict()
    TRACE.append("load")
    outer.load_state_dict(state)
    for handle in handles:
        handle.remove()
    assert [
        # 1
        "outer global forward pre-hook",
        "outer forward pre-hook, prepended",
        "outer forward pre-hook",
        # 3
        "outer forward",
        "inner global forward pre-hook",
        "inner forward pre-hook, prepended",
        "inner forward pre-hook",
        "inner forward",
        "inner global forward hook",
        "inner forward hook",
        # 4
        "outer global forward hook",
        "outer forward hook",
        "backward",
        # 6
        "outer output gradient",
        "gradient of the output",
        # 7
        "outer global full backward pre-hook",
        "outer full backward pre-hook",
        # 8
        "inner output gradient",
        "inner global full backward pre-hook",
        "inner full backward pre-hook",
        *LEAVES_OF_INNER,
        # 9
        "outer global full backward hook",
        "outer full backward hook",
        "gradient of the input",
        "save",
        # 10
        "outer state-dict pre-hook",
        # 11
        "outer get_extra_state",
        # 12
        "inner state-dict pre-hook",
        "inner state-dict hook",
        "inner state-dict post-hook",
        # 13
        "outer state-dict hook",
        "outer state-dict post-hook",
        "load",
        # 14 and 15; the getter is asked again for what a refused load has to put back.
        "outer load pre-hook",
        "outer get_extra_state",
        "outer set_extra_state",
        # 16
        "inner class hook",
        "inner load pre-hook",
        # 17 and 18
        "inner load post-hook",
        "outer load post-hook",
    ] == TRACE


# The parameter's gradient is done when the engine comes to it: a leaf waits for no other node.
LEAVES_OF_INNER = (
    "gradient of the parameter",
    "inner global full backward hook",
    "inner full backward hook",
)
