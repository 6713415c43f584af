"""What holds for every hook of a module: registration, order, removal, copies, threads, lifetime."""

import copy
import gc
import pickle
import threading
import weakref

import pytest

import kellet
from kellet import nn
from tests.tables import one_test

# Each kind of hook of one module: how it is registered, and what makes it run once.
KINDS = {
    "forward_pre": "register_forward_pre_hook",
    "forward": "register_forward_hook",
    "output_gradient": "register_backward_hook",
    "full_backward_pre": "register_full_backward_pre_hook",
    "full_backward": "register_full_backward_hook",
    "save_pre": "register_state_dict_pre_hook",
    "save": "register_state_dict_hook",
    "save_post": "register_state_dict_post_hook",
    "load_pre": "register_load_state_dict_pre_hook",
    "load_post": "register_load_state_dict_post_hook",
}


class Double(nn.Module):
    def forward(self, x):
        return x * 2


def use(module):
    """Run every hook that a module can have, once."""
    module(kellet.ones(1, requires_grad=True)).backward()
    module.load_state_dict(module.state_dict())


def register(module, kind, hook, **options):
    return getattr(module, KINDS[kind])(hook, **options)


def module_level_hook(*args):
    CALLS.append(args)


CALLS = []


@one_test
@pytest.mark.parametrize("kind", KINDS)
def test_handle_removes_by_method_by_call_and_by_with(kind):
    calls, module = [], Double()
    hook = lambda *args: calls.append(1)  # noqa: E731  # registered three times below
    by_method, by_call = register(module, kind, hook), register(module, kind, hook)
    assert isinstance(by_method.id, int)
    assert by_method.id != by_call.id
    use(module)
    assert calls == [1, 1]
    by_method.remove()
    by_call()
    use(module)
    assert calls == [1, 1]
    with register(module, kind, hook):
        use(module)
    use(module)
    assert calls == [1, 1, 1]


@one_test
@pytest.mark.parametrize("kind", KINDS)
def test_removing_twice_leaves_an_equal_registration_in_place(kind):
    calls, module = [], Double()
    hook = lambda *args: calls.append(1)  # noqa: E731  # registered twice below
    first = register(module, kind, hook)
    register(module, kind, hook)
    first.remove()
    first.remove()
    use(module)
    assert calls == [1]


@one_test
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_not_callable_is_refused_when_registered(kind):
    module = Double()
    with pytest.raises(TypeError, match="a hook must be callable, got int: 3"):
        register(module, kind, 3)
    use(module)


@one_test
@pytest.mark.parametrize("kind", KINDS)
def test_hook_removed_by_an_earlier_hook_is_skipped_in_the_same_pass(kind):
    calls, module = [], Double()
    register(module, kind, lambda *args: second.remove())
    second = register(module, kind, lambda *args: calls.append("removed"))
    register(module, kind, lambda *args: calls.append("last"))
    use(module)
    assert calls == ["last"]


def test_hook_with_kwargs_removed_by_an_earlier_hook_is_skipped_too():
    calls, module = [], Double()
    module.register_forward_hook(lambda module, args, output: second.remove())
    second = module.register_forward_hook(
        lambda module, args, kwargs, output: calls.append(1), with_kwargs=True
    )
    module(kellet.ones(1))
    assert calls == []


@one_test
@pytest.mark.parametrize("kind", KINDS)
def test_hook_added_during_a_pass_waits_for_the_next(kind):
    calls, module = [], Double()

    def add(*args):
        if not handles:
            handles.append(register(module, kind, lambda *args: calls.append("added")))

    handles = []
    register(module, kind, add)
    use(module)
    assert calls == []
    use(module)
    assert calls == ["added"]


@pytest.mark.parametrize("kind", ["output_gradient", "full_backward_pre", "full_backward"])
def test_hook_removed_between_forward_and_backward_does_not_fire(kind):
    calls, module = [], Double()
    handle = register(module, kind, lambda *args: calls.append(1))
    output = module(kellet.ones(1, requires_grad=True))
    handle.remove()
    output.backward()
    assert calls == []


@one_test
@pytest.mark.parametrize("kind", KINDS)
def test_dropping_the_handle_leaves_the_hook(kind):
    calls, module = [], Double()
    register(module, kind, lambda *args: calls.append(1))
    gc.collect()
    use(module)
    assert calls == [1]


def test_ids_come_from_one_counter():
    first, second = Double(), Double()
    ids = [
        first.register_forward_hook(module_level_hook).id,
        second.register_state_dict_hook(module_level_hook).id,
        first.register_forward_pre_hook(module_level_hook).id,
    ]
    assert ids == sorted(set(ids))


@one_test
@pytest.mark.parametrize("kind", KINDS)
def test_deep_copy_has_the_same_hooks_and_the_old_handle_removes_only_the_original_one(kind):
    calls, module = [], Double()
    handle = register(module, kind, lambda *args: calls.append(1))
    twin = copy.deepcopy(module)
    handle.remove()
    use(module)
    assert calls == []
    use(twin)
    assert calls == [1]


@one_test
@pytest.mark.parametrize("kind", KINDS)
def test_module_and_handle_copied_together_stay_linked(kind):
    calls, module = [], Double()
    handle = register(module, kind, lambda *args: calls.append(1))
    twin, twin_handle = copy.deepcopy((module, handle))
    twin_handle.remove()
    use(twin)
    assert calls == []
    use(module)
    assert calls == [1]


@one_test
@pytest.mark.parametrize("kind", KINDS)
def test_module_with_a_named_hook_pickles_with_it(kind):
    module = Double()
    register(module, kind, module_level_hook)
    loaded = pickle.loads(pickle.dumps(module))
    CALLS.clear()
    use(loaded)
    assert len(CALLS) == 1


def test_module_with_a_local_hook_does_not_pickle():
    module = Double()
    module.register_forward_hook(lambda *args: None)
    with pytest.raises((AttributeError, pickle.PicklingError)):
        pickle.dumps(module)


def test_copied_parameter_has_no_hooks():
    calls = []
    parameter = nn.Parameter(kellet.ones(1))
    parameter.register_hook(lambda grad: calls.append(1))
    twin = copy.deepcopy(parameter)
    (twin * 2).backward()
    assert calls == []
    assert twin.grad.tolist() == [2.0]


@one_test
@pytest.mark.parametrize("kind", KINDS)
def test_exception_in_a_hook_goes_on_unchanged(kind):
    error = ZeroDivisionError("from the hook")

    def fail(*args):
        raise error

    module = Double()
    register(module, kind, fail)
    with pytest.raises(ZeroDivisionError) as caught:
        use(module)
    assert caught.value is error


def test_exception_in_a_backward_hook_leaves_the_gradients_stored_so_far():
    class Two(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = Double()
            self.weight = nn.Parameter(kellet.ones(1))

        def forward(self, x):
            return self.inner(x) * self.weight

    def fail(*args):
        raise ZeroDivisionError

    module, x = Two(), kellet.ones(1, requires_grad=True)
    module.inner.register_full_backward_hook(fail)
    with pytest.raises(ZeroDivisionError):
        module(x).backward()
    assert module.weight.grad.tolist() == [2.0]
    assert x.grad is None


@one_test
@pytest.mark.parametrize("kind", KINDS)
def test_hooks_make_no_cycle_that_keeps_a_module_alive(kind):
    module = Double()
    handle = register(module, kind, lambda *args: None)
    use(module)
    gone = weakref.ref(module)
    gc.disable()
    try:
        del module
        assert gone() is None
    finally:
        gc.enable()
    handle.remove()


def test_hooks_come_and_go_in_one_thread_while_another_calls():
    module, calls = Double(), []
    module.register_forward_hook(lambda *args: calls.append(1))
    stop = threading.Event()

    def churn():
        while not stop.is_set():
            module.register_forward_hook(lambda *args: None).remove()

    thread = threading.Thread(target=churn)
    thread.start()
    try:
        for _ in range(300):
            module(kellet.ones(1))
    finally:
        stop.set()
        thread.join()
    assert len(calls) == 300
