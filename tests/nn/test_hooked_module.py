"""HookedModule: a wrapper with hooks of its own that stands for the module inside in all else."""

import copy
import pickle
import threading

import pytest

import kellet
from kellet import nn
from kellet.errors import HookTypeError, StateDictError


class Double(nn.Module):
    def forward(self, x):
        return x * 2


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(2, 2)
        self.norm = nn.BatchNorm1d(2)

    def forward(self, x):
        return self.norm(self.first(x))


def one(value=1.0):
    return kellet.tensor([value], requires_grad=True)


def module_level_pre_hook(input):
    return input + 1


def test_hooks_run_by_a_call_and_by_forward():
    module, calls = nn.HookedModule(Double()), []
    module.register_forward_pre_hook(lambda input: input + 1)
    module.register_forward_hook(lambda input, output: calls.append((input.item(), output.item())))
    assert module(one()).item() == 4.0
    assert module.forward(one()).item() == 4.0
    assert calls == [(2.0, 4.0)] * 2


def test_answer_of_a_forward_hook_is_ignored():
    module = nn.HookedModule(Double())
    module.register_forward_hook(lambda input, output: output * 100)
    assert module(one()).item() == 2.0


def test_pre_hook_has_to_answer():
    module = nn.HookedModule(Double())
    module.register_forward_pre_hook(lambda input: None)
    with pytest.raises(HookTypeError, match="must return the input, got None"):
        module(one())


def test_error_of_a_pre_hook_aborts_the_call():
    def fail(input):
        raise ZeroDivisionError

    module, calls = nn.HookedModule(Double()), []
    module.register_forward_pre_hook(fail)
    module.register_forward_hook(lambda input, output: calls.append(1))
    with pytest.raises(ZeroDivisionError):
        module(one())
    assert calls == []


def test_further_arguments_go_to_the_module_untouched():
    class Scale(nn.Module):
        def forward(self, x, factor, *, bias):
            return x * factor + bias

    module = nn.HookedModule(Scale())
    module.register_forward_pre_hook(lambda input: input * 10)
    assert module(one(), 3, bias=1).item() == 31.0


def test_backward_hooks_see_the_gradients_of_input_and_output_in_order():
    module, calls, x = nn.HookedModule(Double()), [], one()
    module.register_backward_hook(lambda grad_input, grad_output: calls.append((grad_input, grad_output)))
    module.register_backward_hook(lambda grad_input, grad_output: calls.append("second"))
    module.register_forward_pre_hook(lambda input: input * 5)
    (module(x) * 3).backward()
    assert [grad.item() for grad in calls[0]] == [6.0, 3.0]
    assert calls[1] == "second"
    assert x.grad.item() == 30.0


def test_backward_hook_of_an_input_without_gradient_gets_none():
    module, calls = nn.HookedModule(nn.Linear(1, 1)), []
    module.register_backward_hook(
        lambda grad_input, grad_output: calls.append((grad_input, grad_output.item()))
    )
    module(kellet.ones(1)).backward()
    assert calls == [(None, 1.0)]


def test_removed_backward_hook_is_silent_even_after_forward():
    module, calls = nn.HookedModule(Double()), []
    handle = module.register_backward_hook(lambda grad_input, grad_output: calls.append(1))
    output = module(one())
    handle.remove()
    output.backward()
    assert calls == []


def test_ids_count_from_zero_in_each_wrapper_over_all_kinds():
    for _ in range(2):
        module = nn.HookedModule(Double())
        handles = [
            module.register_forward_hook(print),
            module.register_forward_pre_hook(print),
            module.register_backward_hook(print),
            module.register_forward_hook(print),
        ]
        assert [handle.id for handle in handles] == [0, 1, 2, 3]


def test_handles_remove_by_method_by_call_and_by_with_twice_if_need_be():
    module, calls = nn.HookedModule(Double()), []
    by_method = module.register_forward_hook(lambda input, output: calls.append(1))
    by_method.remove()
    by_method()
    with module.register_forward_hook(lambda input, output: calls.append(2)):
        module(one())
    module(one())
    assert calls == [2]


def test_hook_registered_or_removed_by_a_hook_of_the_same_kind():
    module, calls = nn.HookedModule(Double()), []
    module.register_forward_hook(lambda input, output: second.remove())
    second = module.register_forward_hook(lambda input, output: calls.append("removed"))
    module.register_forward_hook(
        lambda input, output: module.register_forward_hook(lambda *args: calls.append("added"))
    )
    module(one())
    assert calls == []
    module(one())
    assert calls == ["added"]


def test_the_inner_module_is_untouched():
    inner, calls = Double(), []
    module = nn.HookedModule(inner)
    module.register_forward_hook(lambda input, output: calls.append(1))
    inner(one())
    assert calls == []
    assert "_call_hooks" not in inner.__dict__


def test_hooks_of_the_inner_module_run_inside():
    module, calls = nn.HookedModule(Double()), []
    module.register_forward_pre_hook(lambda input: calls.append("wrapper pre") or input)
    module.register_forward_hook(lambda input, output: calls.append("wrapper"))
    module.inner.register_forward_pre_hook(lambda *args: calls.append("inner pre"))
    module.inner.register_forward_hook(lambda *args: calls.append("inner"))
    module(one())
    assert calls == ["wrapper pre", "inner pre", "inner", "wrapper"]


def test_names_and_values_are_those_of_the_inner_module():
    inner = Net()
    module = nn.HookedModule(inner)
    assert list(module.named_parameters()) == list(inner.named_parameters())
    assert list(module.named_buffers()) == list(inner.named_buffers())
    assert list(module.named_children()) == list(inner.named_children())
    assert module.first is inner.first
    assert list(module.state_dict()) == list(inner.state_dict())
    assert module.state_dict()._metadata == inner.state_dict()._metadata


def test_state_loads_by_the_inner_names():
    source, module = Net(), nn.HookedModule(Net())
    assert module.load_state_dict(source.state_dict()) == ([], [])
    assert module.inner.first.weight.tolist() == source.first.weight.tolist()
    with pytest.raises(StateDictError, match="Error\\(s\\) in loading state_dict for Net"):
        module.load_state_dict({})


def test_state_hooks_go_to_the_inner_module():
    module, calls = nn.HookedModule(Net()), []
    module.register_state_dict_pre_hook(lambda owner, prefix, keep_vars: calls.append(owner))
    module.register_load_state_dict_pre_hook(lambda owner, state_dict, strict: calls.append(owner))
    module.load_state_dict(module.state_dict())
    assert calls == [module.inner, module.inner]


def test_wrapper_within_a_module_adds_no_part_to_the_names():
    plain, wrapped = nn.Sequential(Net()), nn.Sequential(nn.HookedModule(Net()))
    assert list(wrapped.state_dict()) == list(plain.state_dict())
    assert wrapped.state_dict()._metadata == plain.state_dict()._metadata
    assert wrapped.load_state_dict(plain.state_dict()) == ([], [])
    assert wrapped[0].inner.first.weight.tolist() == plain[0].first.weight.tolist()
    assert wrapped.load_state_dict({"0.x": kellet.ones(1)}, strict=False).unexpected_keys == ["0.x"]


def test_old_batch_norm_state_loads_through_the_wrapper():
    module = nn.Sequential(nn.HookedModule(nn.BatchNorm1d(2)))
    state = dict(module.state_dict())
    del state["0.num_batches_tracked"]
    assert module.load_state_dict(state) == ([], [])


def test_mode_dtype_and_apply_reach_the_inner_module():
    module, names = nn.HookedModule(Net()), []
    module.eval()
    assert [part.training for part in module.inner.modules()] == [False] * 3
    module.double()
    assert module.inner.first.weight.dtype == kellet.float64
    module.apply(lambda part: names.append(type(part).__name__))
    assert names == ["Linear", "BatchNorm1d", "Net"]


def test_with_methods_wrap_a_module_and_give_the_handle():
    inner, calls = Double(), []
    forward, first = inner.with_forward_hook(lambda input, output: calls.append(output.item()))
    pre, _ = inner.with_forward_pre_hook(lambda input: input + 1)
    backward, _ = inner.with_backward_hook(lambda a, b: calls.append((a.item(), b.item())))
    assert [module.inner for module in (forward, pre, backward)] == [inner] * 3
    assert pre(one()).item() == 4.0
    forward(one())
    backward(one()).backward()
    assert calls == [2.0, (2.0, 1.0)]
    first.remove()
    forward(one())
    assert calls == [2.0, (2.0, 1.0)]


def test_into_inner_gives_the_module_and_drops_the_hooks():
    module, calls = nn.HookedModule(Double()), []
    module.register_forward_hook(lambda input, output: calls.append(1))
    assert type(module.into_inner()) is Double
    module(one())
    assert calls == []


def test_what_is_no_module_cannot_be_wrapped():
    with pytest.raises(TypeError, match=r"HookedModule wraps an nn.Module, got int: 3"):
        nn.HookedModule(3)


@pytest.mark.parametrize("twin_of", [copy.deepcopy, lambda module: pickle.loads(pickle.dumps(module))])
def test_copy_has_its_own_inner_module_and_hooks_and_goes_on_counting(twin_of):
    module = nn.HookedModule(nn.Linear(1, 1))
    module.register_forward_pre_hook(module_level_pre_hook)
    twin = twin_of(module)
    assert twin.inner is not module.inner
    assert twin.weight is twin.inner.weight
    assert twin.state_dict()["weight"].tolist() == module.state_dict()["weight"].tolist()
    assert twin(kellet.zeros(1)).tolist() == module(kellet.zeros(1)).tolist()
    assert twin.register_forward_hook(print).id == 1


def test_it_prints_what_is_inside():
    assert repr(nn.HookedModule(nn.Sequential(nn.ReLU()))) == (
        "HookedModule(\n  (inner): Sequential(\n    (0): ReLU()\n  )\n)"
    )


@pytest.mark.parametrize("dtype", [kellet.float32, kellet.float64])
def test_threads_register_run_and_remove_at_once(dtype):
    module, errors = nn.HookedModule(Double()), []

    def work(number):
        try:
            for _ in range(50):
                seen = []
                x = kellet.full((1,), float(number), dtype=dtype, requires_grad=True)
                handles = [
                    module.register_forward_hook(lambda input, output: seen.append(1)),
                    module.register_backward_hook(lambda grad_input, grad_output: None),
                ]
                output = module(x)
                output.backward()
                for handle in handles:
                    handle.remove()
                assert output.item() == 2.0 * number
                assert x.grad.item() == 2.0
                assert seen
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
