"""The one hook mechanism: registry, handle, and the rule that picks an argument list."""

import copy
import gc
import pickle
import threading
import weakref

import pytest

from kellet.hooks import HookRegistry, longest_form
from tests.annotated import defined
from tests.tables import one_test


def run(registry: HookRegistry, *args: object) -> None:
    for entry in registry:
        entry.hook(*args)


def test_hooks_run_in_registration_order_and_prepended_ones_first():
    calls, registry = [], HookRegistry()
    registry.add(lambda: calls.append("a"))
    registry.add(lambda: calls.append("b"))
    registry.add(lambda: calls.append("first"), prepend=True)
    run(registry)
    assert calls == ["first", "a", "b"]


def test_handle_removes_by_method_by_call_and_by_with():
    registry = HookRegistry()
    registry.add(print).remove()
    registry.add(print)()
    with registry.add(print):
        assert len(registry) == 1
    assert len(registry) == 0


def test_removing_twice_removes_nothing_else():
    registry = HookRegistry()
    first, _ = registry.add(print), registry.add(print)
    first.remove()
    first.remove()
    assert len(registry) == 1


def test_hook_removed_by_an_earlier_hook_is_skipped_in_the_same_pass():
    calls, registry = [], HookRegistry()
    registry.add(lambda: handle.remove())
    handle = registry.add(lambda: calls.append("removed"))
    registry.add(lambda: calls.append("last"))
    run(registry)
    assert calls == ["last"]


def test_hook_that_removes_itself_does_not_hide_the_next():
    calls, registry = [], HookRegistry()
    handle = registry.add(lambda: (calls.append("once"), handle.remove()))
    registry.add(lambda: calls.append("next"))
    run(registry)
    run(registry)
    assert calls == ["once", "next", "next"]


def test_hook_added_during_a_pass_waits_for_the_next():
    calls, registry = [], HookRegistry()
    registry.add(lambda: registry.add(lambda: calls.append("late")) if not calls else None)
    run(registry)
    assert calls == []
    run(registry)
    assert calls == ["late"]


def test_dropped_handle_leaves_the_hook():
    registry = HookRegistry()
    registry.add(print)
    gc.collect()
    assert len(registry) == 1


def test_ids_are_unique_in_the_process_unless_the_registry_counts_itself():
    a, b = HookRegistry(), HookRegistry()
    assert a.add(print).id != b.add(print).id
    own = HookRegistry(iter(range(10)))
    assert [own.add(print).id, own.add(print).id] == [0, 1]


@pytest.mark.parametrize("value", [None, 3, "hook"])
def test_not_a_callable_is_refused_when_registered(value):
    with pytest.raises(TypeError, match="a hook must be callable, got "):
        HookRegistry().add(value)


def test_deepcopy_copies_hooks_and_the_original_handle_removes_only_the_original():
    registry = HookRegistry()
    handle = registry.add(print, with_kwargs=True)
    twin = copy.deepcopy(registry)
    handle.remove()
    assert len(registry) == 0
    assert [(e.hook, e.options) for e in twin] == [(print, {"with_kwargs": True})]


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda pair: pickle.loads(pickle.dumps(pair))])
def test_handle_copied_together_with_its_registry_stays_linked(duplicate):
    registry = HookRegistry()
    handle = registry.add(print)
    twin_registry, twin_handle = duplicate((registry, handle))
    twin_handle.remove()
    assert (len(registry), len(twin_registry)) == (1, 0)


def test_handle_holds_its_registry_weakly():
    registry = HookRegistry()
    handle, gone = registry.add(print), weakref.ref(registry)
    del registry
    assert gone() is None
    handle.remove()


def test_registering_and_removing_from_many_threads_loses_nothing():
    registry = HookRegistry()

    def work() -> None:
        for _ in range(200):
            kept = registry.add(print)
            registry.add(print).remove()
            assert kept.id >= 0

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(registry) == 8 * 200


SHORT = ("module", "state_dict", "strict")
LONG = ("module", "state_dict", "prefix", "meta", "strict", "missing", "unexpected", "errors")


class Owner:
    def short(self, module, state_dict, strict): ...

    def __call__(self, *args): ...


@one_test
@pytest.mark.parametrize(
    ("hook", "form"),
    [
        (lambda m, s, strict: None, 0),
        (lambda m, s, p, meta, strict, missing, unexpected, errors: None, 1),
        (lambda m, s, prefix, *args: None, 1),
        (lambda *args: None, 1),
        (lambda m, s, strict, extra=None: None, 0),
        (Owner().short, 0),
        (Owner(), 1),
        (defined("def hook(m: NotHere, s, strict): ...", "hook"), 0),
    ],
)
def test_a_hook_gets_the_longest_documented_list_it_can_take(hook, form):
    assert longest_form(hook, [SHORT, LONG], fallback=0) == form


def test_a_hook_that_fits_no_list_is_refused_naming_all_of_them():
    with pytest.raises(TypeError, match=r"must take \(module, state_dict, strict\) or \(module, .*errors\)"):
        longest_form(lambda a: None, [SHORT, LONG], fallback=0)


def test_a_callable_without_a_readable_signature_gets_the_fallback():
    assert longest_form(max, [SHORT, LONG], fallback=0) == 0
