"""Hooks as objects: `Hook`, `ContextualHook`, `StateHook`."""

import copy
import gc
import pickle
import re
import weakref

import pytest

import kellet
from kellet import nn


class Scale(nn.Module):
    def forward(self, x, factor=2):
        return x * factor


def one():
    return kellet.ones(1)


def module_level_prehook(module, args):
    return (args[0] + 1,)


# Hook


def test_both_hooks_run_around_forward():
    module = Scale()
    hook = nn.Hook(lambda module, args: (args[0] + 1,), lambda module, args, output: output * 10)
    hook.register(module)
    assert module(one()).tolist() == [40.0]


def test_no_hook_at_all_is_refused():
    message = "at least one of 'prehook', 'posthook' must not be None"
    with pytest.raises(RuntimeError, match=message):
        nn.Hook(None, None)


@pytest.mark.parametrize("given", [{"prehook": 3}, {"posthook": 3}, {"prehook": print, "posthook": 3}])
def test_what_is_not_callable_is_refused(given):
    with pytest.raises(TypeError, match="a hook must be callable, got int: 3"):
        nn.Hook(**given)


def test_registering_twice_is_refused():
    hook, first, second = nn.Hook(posthook=lambda *args: args[2] + 1), Scale(), Scale()
    hook.register(first)
    with pytest.raises(
        RuntimeError, match=re.escape("already registered to a module; deregister() it first")
    ):
        hook.register(second)
    assert first(one()).tolist() == [3.0]
    assert second(one()).tolist() == [2.0]


def test_registering_on_what_is_no_module_is_refused_and_changes_nothing():
    hook = nn.Hook(posthook=lambda *args: None)
    with pytest.raises(TypeError, match=r"'module' must be an nn.Module, got str: 'text'"):
        hook.register("text")
    assert hook.registered is False
    hook.register(Scale())


def test_deregister_is_safe_at_any_time_and_the_hook_can_go_elsewhere():
    hook, first, second = nn.Hook(posthook=lambda module, args, output: output + 1), Scale(), Scale()
    hook.deregister()
    hook.register(first)
    assert hook.registered
    hook.deregister()
    hook.deregister()
    assert hook.registered is False
    hook.register(second)
    assert (first(one()).item(), second(one()).item()) == (2.0, 3.0)


def test_modes_can_be_set_while_registered():
    hook, module = nn.Hook(posthook=lambda module, args, output: output + 1, train_update=False), Scale()
    hook.register(module)
    assert (hook.trainexec, hook.evalexec) == (False, True)
    assert (module(one()).item(), module.eval()(one()).item()) == (2.0, 3.0)
    hook.trainexec, hook.evalexec = True, False
    assert (module(one()).item(), module.train()(one()).item()) == (2.0, 3.0)


def test_keyword_arguments_of_registration_are_passed_on():
    calls, module = [], Scale()
    module.register_forward_pre_hook(lambda *args: calls.append("other pre"))
    module.register_forward_hook(lambda *args: calls.append("other"))
    hook = nn.Hook(
        lambda module, args, kwargs: calls.append(("pre", kwargs)),
        lambda module, args, kwargs, output: calls.append(("post", kwargs)),
        prehook_kwargs={"with_kwargs": True, "prepend": True},
        posthook_kwargs={"with_kwargs": True, "prepend": True},
    )
    hook.register(module)
    module(one(), factor=3)
    assert calls == [("pre", {"factor": 3}), "other pre", ("post", {"factor": 3}), "other"]


def test_always_call_is_passed_on():
    class Fail(nn.Module):
        def forward(self, x):
            raise ZeroDivisionError

    calls, module = [], Fail()
    hook = nn.Hook(posthook=lambda *args: calls.append(args[2]), posthook_kwargs={"always_call": True})
    hook.register(module)
    with pytest.raises(ZeroDivisionError):
        module(one())
    assert calls == [None]


def test_wrong_keyword_arguments_leave_nothing_registered():
    hook, module = nn.Hook(print, print, posthook_kwargs={"nonsense": True}), Scale()
    with pytest.raises(TypeError, match="nonsense"):
        hook.register(module)
    assert hook.registered is False
    assert module(one()).tolist() == [2.0]


def test_the_module_holds_the_hook_weakly_and_forgets_it_when_it_is_collected():
    hook, module = nn.Hook(posthook=lambda module, args, output: output + 1), Scale()
    hook.register(module)
    gone = weakref.ref(hook)
    gc.disable()
    try:
        del hook
        assert gone() is None
    finally:
        gc.enable()
    assert module(one()).tolist() == [2.0]
    assert len(module._call_hooks.forward) == 0


def test_the_hook_does_not_keep_the_module_alive():
    hook, module = nn.Hook(posthook=lambda *args: None), Scale()
    hook.register(module)
    gone = weakref.ref(module)
    gc.disable()
    try:
        del module
        assert gone() is None
    finally:
        gc.enable()
    hook.deregister()


def test_a_copied_module_calls_the_same_hook_and_deregistering_frees_the_original_only():
    hook, module = nn.Hook(posthook=lambda module, args, output: output + 1), Scale()
    hook.register(module)
    twin = copy.deepcopy(module)
    hook.deregister()
    assert (module(one()).item(), twin(one()).item()) == (2.0, 3.0)


def test_a_copied_hook_is_registered_nowhere():
    hook, module = nn.Hook(posthook=lambda module, args, output: output + 1), Scale()
    hook.register(module)
    twin = copy.deepcopy(hook)
    assert (hook.registered, twin.registered) == (True, False)
    twin.register(module)
    assert module(one()).tolist() == [4.0]


def test_a_module_and_its_named_hook_pickle_together():
    module, hook = Scale(), nn.Hook(module_level_prehook)
    hook.register(module)
    loaded, loaded_hook = pickle.loads(pickle.dumps((module, hook)))
    assert loaded(one()).tolist() == [4.0]
    assert loaded_hook.registered is False


def test_a_pickled_module_alone_loads_without_the_hook():
    module, hook = Scale(), nn.Hook(module_level_prehook)
    hook.register(module)
    loaded = pickle.loads(pickle.dumps(module))
    assert loaded(one()).tolist() == [2.0]


# ContextualHook


class Running(nn.ContextualHook):
    """Adds what it has seen to the output, and counts calls before forward."""

    def __init__(self, **options):
        super().__init__("before", "after", **options)
        self.calls = 0

    def before(self, module, args):
        self.calls += 1

    def after(self, module, args, output):
        return output + self.calls


def test_contextual_hook_calls_its_own_methods_and_their_answers_count():
    hook, module = Running(), Scale()
    hook.register(module)
    assert [module(one()).item(), module(one()).item()] == [3.0, 4.0]


def test_contextual_hook_looks_at_the_mode():
    hook, module = Running(eval_update=False), Scale()
    hook.register(module)
    assert [module.eval()(one()).item(), module.train()(one()).item()] == [2.0, 3.0]


def test_contextual_hook_needs_one_of_the_two():
    with pytest.raises(RuntimeError, match="at least one of 'prehook', 'posthook' must not be None"):
        nn.ContextualHook()


def test_contextual_hook_names_a_method_that_is_not_there():
    with pytest.raises(AttributeError, match="nowhere"):
        nn.ContextualHook("nowhere")


def test_contextual_hook_makes_no_cycle():
    hook, module = Running(), Scale()
    hook.register(module)
    gone = weakref.ref(hook)
    gc.disable()
    try:
        del hook
        assert gone() is None
    finally:
        gc.enable()


# StateHook


class Clamp(nn.StateHook):
    def __init__(self, module, *args, **options):
        super().__init__(module, *args, **options)
        self.calls = []

    def hook(self, module):
        self.calls.append(module.training)
        return "ignored"


def test_state_hook_runs_with_its_module_once_registered():
    module = Scale()
    hook = Clamp(module)
    assert hook.module is module
    module(one())
    hook.register()
    hook.register()
    assert module(one()).tolist() == [2.0]
    assert hook.calls == [True]
    hook.deregister()
    module(one())
    assert hook.calls == [True]


def test_state_hook_runs_after_forward_or_before_it_and_first_if_wanted():
    def trace(**options):
        calls, module = [], Scale()
        module.register_forward_pre_hook(lambda *args: calls.append("pre"))
        module.register_forward_hook(lambda *args: calls.append("post"))

        class Note(nn.StateHook):
            def hook(self, module):
                calls.append("state")

        note = Note(module, **options)
        note.register()
        module(one())
        return calls

    assert trace() == ["pre", "post", "state"]
    assert trace(prepend=True) == ["pre", "state", "post"]
    assert trace(as_prehook=True) == ["pre", "state", "post"]
    assert trace(as_prehook=True, prepend=True) == ["state", "pre", "post"]


def test_state_hook_runs_after_an_error_if_wanted():
    class Fail(nn.Module):
        def forward(self, x):
            raise ZeroDivisionError

    module = Fail()
    hook = Clamp(module, always_call=True)
    hook.register()
    with pytest.raises(ZeroDivisionError):
        module(one())
    assert hook.calls == [True]


def test_state_hook_runs_by_hand_while_registered_in_its_modes():
    module = Scale().eval()
    hook = Clamp(module, train_update=True, eval_update=False)
    hook()
    hook(ignore_mode=True)
    hook(force=True)
    assert hook.calls == []
    hook(force=True, ignore_mode=True)
    assert hook.calls == [False]
    hook.register()
    hook()
    assert hook.calls == [False]
    hook(ignore_mode=True)
    module.train()
    hook()
    assert hook.calls == [False, False, True]


def test_state_hook_is_abstract_and_needs_a_module():
    with pytest.raises(TypeError, match="abstract"):
        nn.StateHook(Scale())
    with pytest.raises(TypeError, match=r"'module' must be an nn.Module, got int: 3"):
        Clamp(3)


def test_state_hook_kept_by_its_module_is_no_submodule():
    module = Scale()
    module.clamp = Clamp(module)
    assert list(module.state_dict()) == []
    assert len(list(module.modules())) == 1
