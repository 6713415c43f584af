"""Hooks around forward: what they are given, what their answers do, in which order, and after errors."""

import re

import pytest

import kellet
from kellet import nn
from kellet.errors import HookError
from kellet.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook
from tests.tables import one_test


class Scale(nn.Module):
    def forward(self, x, factor=2):
        return x * factor


class Fail(nn.Module):
    def forward(self, x):
        raise ZeroDivisionError("forward")


def one(value=1.0):
    return kellet.tensor([value])


def test_forward_called_by_hand_runs_no_hook():
    module, calls = Scale(), []
    module.register_forward_pre_hook(lambda *args: calls.append(1))
    module.register_forward_hook(lambda *args: calls.append(1))
    assert module.forward(one()).tolist() == [2.0]
    assert calls == []


def test_module_without_forward_says_so():
    with pytest.raises(
        NotImplementedError, match=r'Module \[Module\] is missing the required "forward" function'
    ):
        nn.Module()(one())


def test_pre_hooks_run_in_order_and_prepended_ones_first():
    module, calls = Scale(), []
    for number in (0, 1, 2):
        module.register_forward_pre_hook(lambda *args, number=number: calls.append(number))
    for number in (3, 4):
        module.register_forward_pre_hook(lambda *args, number=number: calls.append(number), prepend=True)
    module(one())
    assert calls == [4, 3, 0, 1, 2]


def test_forward_hooks_run_in_order_and_prepended_ones_first():
    module, calls = Scale(), []
    for number in (0, 1):
        module.register_forward_hook(lambda *args, number=number: calls.append(number))
    module.register_forward_hook(lambda *args: calls.append(2), prepend=True)
    module(one())
    assert calls == [2, 0, 1]


def test_global_hooks_run_before_own_ones_even_prepended():
    module, calls = Scale(), []
    module.register_forward_pre_hook(lambda *args: calls.append("own pre"), prepend=True)
    module.register_forward_hook(lambda *args: calls.append("own"), prepend=True)
    with (
        register_module_forward_pre_hook(lambda *args: calls.append("global pre")),
        register_module_forward_hook(lambda *args: calls.append("global")),
    ):
        module(one())
    module(one())
    assert calls == ["global pre", "own pre", "global", "own", "own pre", "own"]


@pytest.mark.parametrize(
    ("answer", "given"),
    [
        (None, (1.0,)),
        (("tuple",), ("tuple",)),
        ("bare", ("bare",)),
        (["list"], (["list"],)),
    ],
)
def test_answer_of_a_pre_hook_becomes_the_arguments(answer, given):
    class Keep(nn.Module):
        def forward(self, *args):
            return args

    module = Keep()
    module.register_forward_pre_hook(lambda module, args: answer)
    assert module(1.0) == given


def test_later_hooks_see_the_changed_arguments():
    module, seen = Scale(), []
    module.register_forward_pre_hook(lambda module, args: (args[0] + 1,))
    module.register_forward_pre_hook(lambda module, args: seen.append(args[0].item()))
    module.register_forward_hook(lambda module, args, output: seen.append((args[0].item(), output.item())))
    module(one())
    assert seen == [2.0, (2.0, 4.0)]


def test_pre_hook_with_kwargs_changes_both():
    module, seen = Scale(), []
    module.register_forward_pre_hook(
        lambda module, args, kwargs: ((args[0] * 10,), {**kwargs, "factor": 7}), with_kwargs=True
    )
    module.register_forward_hook(
        lambda module, args, kwargs, output: seen.append((args[0].item(), kwargs)), with_kwargs=True
    )
    assert module(one(), factor=3).tolist() == [70.0]
    assert seen == [(10.0, {"factor": 7})]


@one_test
@pytest.mark.parametrize(
    "answer", [1, (1,), (1, 2, 3), [(), {}], (one(), one()), ((one(),), [("factor", 2)]), ([one()], {})]
)
def test_pre_hook_with_kwargs_must_answer_args_and_kwargs(answer):
    module = Scale()
    module.register_forward_pre_hook(lambda module, args, kwargs: answer, with_kwargs=True)
    message = "forward pre-hook must return None or a tuple of (new_args, new_kwargs), but got "
    with pytest.raises(HookError, match=re.escape(message)) as caught:
        module(one())
    assert isinstance(caught.value, RuntimeError)


def test_answers_of_forward_hooks_chain():
    module = Scale()
    module.register_forward_hook(lambda module, args, output: output + 1)
    module.register_forward_hook(lambda module, args, output: None)
    module.register_forward_hook(lambda module, args, output: output * 10)
    assert module(one()).tolist() == [30.0]


def test_an_answer_that_is_false_replaces_the_output():
    module = Scale()
    module.register_forward_hook(lambda module, args, output: 0)
    assert module(one()) == 0


@pytest.mark.parametrize("failing", ["pre-hook", "forward", "hook"])
def test_always_called_hook_runs_once_when_something_raised(failing):
    def fail(*args):
        raise ZeroDivisionError(failing)

    module, seen = Fail() if failing == "forward" else Scale(), []
    if failing == "pre-hook":
        module.register_forward_pre_hook(fail)
    if failing == "hook":
        module.register_forward_hook(fail)
    module.register_forward_hook(lambda module, args, output: seen.append(output), always_call=True)
    module.register_forward_hook(lambda module, args, output: seen.append("not always"))
    with pytest.raises(ZeroDivisionError, match=failing):
        module(one())
    assert seen == ([one(2.0)] if failing == "hook" else [None])


def test_always_called_hook_that_ran_already_does_not_run_again():
    def fail(*args):
        raise ZeroDivisionError

    module, calls = Scale(), []
    module.register_forward_hook(lambda *args: calls.append(1), always_call=True)
    module.register_forward_hook(fail)
    with pytest.raises(ZeroDivisionError):
        module(one())
    assert calls == [1]


def test_always_called_hook_that_itself_raised_does_not_run_again():
    calls = []

    def fail(*args):
        calls.append(1)
        raise ZeroDivisionError

    module = Scale()
    module.register_forward_hook(fail, always_call=True)
    with pytest.raises(ZeroDivisionError):
        module(one())
    assert calls == [1]


def test_always_called_hook_runs_once_when_nothing_raised():
    module, calls = Scale(), []
    module.register_forward_hook(lambda *args: calls.append(1), always_call=True)
    module(one())
    assert calls == [1]


def test_error_of_an_always_called_hook_becomes_a_warning_and_the_first_error_goes_on():
    def fail_too(*args):
        raise KeyError("second")

    module, calls = Fail(), []
    module.register_forward_hook(fail_too, always_call=True)
    module.register_forward_hook(lambda *args: calls.append(1), always_call=True)
    silenced = "module forward hook with `always_call=True` raised an exception that was silenced"
    with pytest.warns(UserWarning, match=silenced), pytest.raises(ZeroDivisionError, match="forward"):
        module(one())
    assert calls == [1]


def test_always_called_hooks_do_not_run_for_what_is_no_exception():
    class Stop(nn.Module):
        def forward(self, x):
            raise KeyboardInterrupt

    module, calls = Stop(), []
    module.register_forward_hook(lambda *args: calls.append(1), always_call=True)
    with pytest.raises(KeyboardInterrupt):
        module(one())
    assert calls == []


def test_global_always_called_hook_gets_its_kwargs_after_an_error_and_leaves_nothing_behind():
    class FailNamed(nn.Module):
        def forward(self, *, x):
            raise ZeroDivisionError

    seen = []
    handle = register_module_forward_hook(
        lambda module, args, kwargs, output: seen.append((args, kwargs, output)),
        with_kwargs=True,
        always_call=True,
    )
    with handle, pytest.raises(ZeroDivisionError):
        FailNamed()(x=3)
    with pytest.raises(ZeroDivisionError):
        FailNamed()(x=4)
    assert seen == [((), {"x": 3}, None)]


def test_global_hooks_see_every_module_of_the_tree():
    class Outer(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = Scale()

        def forward(self, x):
            return self.inner(x)

    seen = []
    with register_module_forward_hook(lambda module, args, output: seen.append(type(module).__name__)):
        Outer()(one())
    assert seen == ["Scale", "Outer"]


def test_names_of_the_global_functions_without_module_are_the_same_functions():
    places = kellet.nn.modules.module
    assert places.register_forward_pre_hook is register_module_forward_pre_hook
    assert places.register_forward_hook is register_module_forward_hook
    assert places.register_full_backward_hook is places.register_module_full_backward_hook
