"""Which part of what a pickle held is the state dict: what is taken, what is told, and how many are told."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import numpy as np
import pytest

from packager._weights import contents as contents_module
from packager._weights import write_checkpoint
from packager._weights.contents import Contents, state_dict_in
from packager._weights.legacy_tensors import LegacyStorage, LegacyTensor, checked_tensor
from packager._weights.pickle_machine import Named, Opaque
from packager.errors import CheckpointError, LegacyFormatError


def tensor(*shape: int) -> LegacyTensor:
    data = memoryview(bytes(4 * int(np.prod(shape, dtype=int))))
    storage = LegacyStorage("0", "float32", len(data), lambda start, stop: data[start:stop])
    strides = tuple(int(np.prod(shape[axis + 1 :], dtype=int)) for axis in range(len(shape)))
    return checked_tensor(storage, "float32", 0, shape, strides)


W = tensor(2, 3)


def found(root: Any, unwrap: str | None = None, everything: bool = False) -> Contents:
    return state_dict_in(root, "x.pt", unwrap=unwrap, everything=everything)


def told(contents: Contents) -> list[tuple[str, str, str]]:
    return [(part.path, part.what, part.why) for part in contents.left_out]


NO_DATA, NO_TENSOR = "not a tensor and not plain data", "not a tensor"


def test_a_state_dict_is_tensors_by_name_and_plain_data() -> None:
    odd = Opaque("a.B", 1)
    contents = found({"w": W, "n": 3, "l": [1, ("a", {b"b", None})], "o": odd, "f": Named("a f")})
    assert (list(contents.state), contents.container) == (["w", "n", "l"], "")
    assert told(contents) == [("o", "object of a.B", NO_DATA), ("f", "name a.f", NO_DATA)]
    assert list(found({"w": W, "inner": {"n": [1]}}).state) == ["w", "inner"]
    for wrong in ([1, [odd]], ({1: odd},), {1: {odd: 1}}, [{1}, object]):
        assert told(found({"w": W, "o": wrong}))[0][0::2] == ("o", NO_DATA)


def test_a_name_that_is_usual_is_taken_before_others() -> None:
    root = {"model": {"w": W}, "other": {"w": W}, "epoch": 3}
    contents = found(root)
    assert (list(contents.state), contents.container) == (["w"], "model")
    assert told(contents) == [
        ("other", "dict of 1 with 1 tensor", "not part of the state dict 'model'"),
        ("epoch", "3", "not part of the state dict 'model'"),
    ]
    deep = found({"run": {"ema": {"w": W}, "n": 1}, "lr": 0.5})
    assert (deep.container, [part[0] for part in told(deep)]) == ("run.ema", ["lr", "run.n"])
    assert found({"a": {"b": {"w": W}}}).container == "a.b"


@pytest.mark.parametrize(("count", "more"), [(2, []), (10, []), (21, ["    and 11 more"])])
def test_state_dicts_among_which_to_choose_are_told_up_to_ten(count: int, more: list[str]) -> None:
    with pytest.raises(LegacyFormatError) as refused:
        found({f"k{n:02}": {"w": W} for n in range(count)})
    first, *rest = str(refused.value).splitlines()
    assert first == (
        f"x.pt: found {count} state dicts. Name one (unwrap=, --unwrap), or take everything "
        "(everything=True, --everything):"
    )
    assert rest == [*(f"    k{n:02}: dict of 1 with 1 tensor" for n in range(min(count, 10))), *more]


def test_names_that_lie_in_a_place_are_told_up_to_ten() -> None:
    with pytest.raises(LegacyFormatError, match=r"under 'z'; the file holds 'k0', .*'k9' and 11 more$"):
        found({f"k{n}": W for n in range(21)}, unwrap="z")
    with pytest.raises(LegacyFormatError, match=r"nothing lies under 'a\.z'; a holds 'w'$"):
        found({"a": {"w": W}}, unwrap="a.z")
    with pytest.raises(LegacyFormatError, match=r"nothing lies under 'a\.z'; a holds '0'$"):
        found({"a": [W]}, unwrap="a.z")
    with pytest.raises(LegacyFormatError, match=r"nothing lies under 'a\.z'; a holds nothing by name$"):
        found({"a": 3}, unwrap="a.z")
    with pytest.raises(LegacyFormatError, match=r"'a' is no state dict, but dict of 1$"):
        found({"a": {"n": 1}}, unwrap="a")


def test_what_is_named_is_taken_with_dots_and_without() -> None:
    root = {"a.b": {"w": W}, "a": {"b": {"v": W}, "c": {"u": W}}}
    assert [list(found(root, unwrap=name).state) for name in ("a.b", "a.c")] == [["w"], ["u"]]
    contents = found(root, unwrap="a.c")
    assert [part[0] for part in told(contents)] == ["a.b", "a.b"]


def test_state_dicts_that_were_not_taken_are_named() -> None:
    several = found(
        {"net": {"w": W}, "late": {"w": W}, "in": {"side": {"w": W}}, "optimizer": {"state": {0: W}}}
    )
    assert (several.container, several.others) == ("net", ("late", "in.side"))
    assert found({"net": {"w": W}, "optimizer": {"state": {0: W}}, "epoch": 1}).others == ()
    assert found({"w": W}).others == ()


def test_what_lies_beside_it_in_a_list_is_told() -> None:
    contents = found({"models": [{"w": W}, {"v": W}], "epoch": 1}, unwrap="models.1")
    why = "not part of the state dict 'models.1'"
    assert told(contents) == [("epoch", "1", why), ("models.0", "dict of 1 with 1 tensor", why)]


def test_the_state_of_an_optimiser_is_taken_as_it_is() -> None:
    adam = {"state": {0: {"step": W, "exp_avg": W}}, "param_groups": [{"lr": 0.1, "params": [0]}]}
    assert (dict(found(adam).state), found(adam).container, found(adam).left_out) == (adam, "", ())
    beside = {"optimizer_states": [adam, adam], "model": {"w": W}}
    assert found(beside).container == "model"
    contents = found(beside, unwrap="optimizer_states.1")
    assert (dict(contents.state), contents.container) == (adam, "optimizer_states.1")


@pytest.mark.parametrize(
    "state",
    [
        {"last_epoch": 3, "_last_lr": [0.1], "_schedulers": [{"last_epoch": 1, "base_lrs": [0.1]}]},
        {
            "factor": 0.1,
            "best": float("inf"),
            "last_epoch": 3,
            "_last_lr": [0.1, 0.2],
            "lr_lambdas": [None, {}],
        },
        {"scale": 65536.0, "growth_interval": 2000, "_growth_tracker": 0},
    ],
)
def test_the_state_of_a_schedule_and_of_a_scaler_is_taken_as_it_is(state: dict[str, Any]) -> None:
    assert (dict(found(state).state), found(state).container, found(state).left_out) == (state, "", ())
    beside = {"lr_schedulers": [state, state], "model": {"w": W}}
    assert found(beside).container == "model"
    contents = found(beside, unwrap="lr_schedulers.1")
    assert (dict(contents.state), contents.container) == (state, "lr_schedulers.1")
    for strange in (Opaque("m.Schedule", {}), Named("m.function")):
        with pytest.raises(
            LegacyFormatError, match=r"found no state dict, but dict of \d; it holds no tensor"
        ):
            found({**state, "more": strange})


def test_what_a_module_keeps_as_its_extra_state_is_part_of_its_own() -> None:
    state = {"w": W, "head._extra_state": {"seen": W, "n": 3}}
    assert dict(found(state).state) == state


def test_state_dicts_are_looked_for_four_levels_deep() -> None:
    def deep(levels: int) -> Any:
        return {"k": deep(levels - 1), "n": 1} if levels else {"w": W, "n": 1}

    assert found(deep(4)).container == "k.k.k.k"
    with pytest.raises(
        LegacyFormatError, match="found no state dict, but dict of 2 with 1 tensor; everything"
    ):
        found(deep(5))
    assert list(found(deep(5), everything=True).state) == ["k.k.k.k.k.w"]


def test_everything_takes_tensors_wherever_they_are() -> None:
    root = {"a": [W, {"b": (W, 3)}], 5: W, Named("x y"): "text", "o": Opaque("m.N", 1)}
    contents = found(root, everything=True)
    assert list(contents.state) == ["a.0", "a.1.b.0", "5"]
    assert told(contents) == [
        ("a.1.b.1", "3", NO_TENSOR),
        ("x y", "'text'", NO_TENSOR),
        ("o", "object of m.N", NO_TENSOR),
    ]
    with pytest.raises(LegacyFormatError, match=r"x\.pt: found no tensor in it"):
        found({"a": 1}, everything=True)
    with pytest.raises(LegacyFormatError, match=r"two tensors would have the key 'a\.0'; unwrap one of them"):
        found({"a": [W], "a.0": W}, everything=True)


@pytest.mark.parametrize(("depth", "refused"), [(64, False), (65, True)])
def test_tensors_nest_so_deep_at_most(depth: int, refused: bool) -> None:
    root: Any = W
    for _ in range(depth):
        root = [root]
    if refused:
        with pytest.raises(LegacyFormatError, match="nested 65 deep; at most 64 is read"):
            found(root, everything=True)
    else:
        assert len(found(root, everything=True).state) == 1


@pytest.mark.parametrize(("most", "refused"), [(3, False), (2, True)])
def test_parts_are_so_many_at_most(monkeypatch: pytest.MonkeyPatch, most: int, refused: bool) -> None:
    monkeypatch.setattr(contents_module, "MAX_PARTS", most)
    if refused:
        with pytest.raises(LegacyFormatError, match="3 parts and more; at most 2 are looked at"):
            found({"a": W, "b": W}, everything=True)
    else:
        assert len(found({"a": W, "b": W}, everything=True).state) == 2


def module(modules: dict[str, Any] | None = None, **more: Any) -> Opaque:
    made = Opaque("m.Net", 1)
    made.state = {"_modules": modules or {}, "_parameters": {}, "_buffers": {}, **more}
    return made


def test_a_model_that_was_pickled_whole_gives_its_parameters_and_kept_buffers() -> None:
    inner = module(_parameters={"w": W, "none": None, 3: W}, _buffers={"kept": W, "hidden": W})
    inner.state["_non_persistent_buffers_set"] = {"hidden", "w"}
    contents = found(module({"fc": inner, "gone": None}, _parameters=OrderedDict(top=W), training=True))
    assert (list(contents.state), contents.container) == (["top", "fc.w", "fc.kept"], "")
    assert told(contents) == [("", "object of m.Net", "its parameters and buffers alone are data")]
    assert list(found({"model": module(_parameters={"w": W}), "n": 1}).state) == ["w"]
    with pytest.raises(LegacyFormatError, match=r"found no state dict, but object of m\.Net"):
        found(module())
    plain = Opaque("m.Plain", 1)
    plain.state = {"w": W, "n": 1}
    assert list(found(plain).state) == ["w", "n"]


def nested(depth: int, around: Any, inmost: Any) -> Any:
    for _ in range(depth):
        inmost = around(inmost)
    return inmost


@pytest.mark.parametrize("plain", [False, True])
def test_modules_and_plain_data_nest_so_deep_at_most(plain: bool) -> None:
    def held(depth: int) -> Any:
        if plain:
            return {"w": W, "n": nested(depth, lambda inner: [inner], 1)}
        return nested(depth, lambda inner: module({"m": inner}), module(_parameters={"w": W}))

    assert list(found(held(64)).state) == (["w", "n"] if plain else ["m." * 64 + "w"])
    with pytest.raises(LegacyFormatError, match="nested 65 deep; at most 64"):
        found(held(65))


def test_parts_of_what_is_left_out_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    root = {"w": W, "o": [Opaque("a.B", 1), 1, 2, 3]}
    monkeypatch.setattr(contents_module, "MAX_PARTS", 8)
    assert told(found(root)) == [("o", "list of 4", NO_DATA)]
    monkeypatch.setattr(contents_module, "MAX_PARTS", 7)
    with pytest.raises(LegacyFormatError, match=r"x\.pt: .*8 parts and more; at most 7 are looked at"):
        found(root)


@pytest.mark.parametrize("root", [module({"a": module(_parameters={"w": W}), "b": 3}), {"w": W, "n": [1, 2]}])
def test_modules_and_parts_of_plain_data_are_counted(root: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contents_module, "MAX_PARTS", 3)
    assert len(found(root).state) in (1, 2)
    monkeypatch.setattr(contents_module, "MAX_PARTS", 2)
    with pytest.raises(LegacyFormatError, match=r"x\.pt: .*3 parts and more; at most 2 are looked at"):
        found(root)


def test_metadata_is_what_is_data_of_it() -> None:
    state: Any = OrderedDict(w=W)
    state._metadata = {"": {"version": 1, "odd": [1], 3: 4}, "fc": {"version": None}, 5: {}, "bad": 1}
    assert found(state).versions == {"": {"version": 1}, "fc": {"version": None}}
    state._metadata = [1]
    assert found(state).versions is None
    assert found({"w": W}).versions is None


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (W, "tensor of float32 [2, 3]"),
        (5, "5"),
        ((1 << 63) - 1, str((1 << 63) - 1)),
        (1 << 63, "int"),
        (0.5, "0.5"),
        (None, "None"),
        ("x" * 41, repr("x" * 40)),
        (b"ab", "bytes"),
        ([W, (W, {"a": W})], "list of 2 with 1 tensor"),
        ({1, 2}, "set of 2"),
        ((), "tuple of 0"),
    ],
)
def test_a_value_is_shown_in_a_few_words(value: Any, shown: str) -> None:
    (part,) = found({"model": {"w": tensor(1)}, "v": value}).left_out
    assert part.what == shown


# --- what is written of it ---


@pytest.mark.parametrize(("count", "more"), [(10, []), (51, ["    and 41 more"])])
def test_what_cannot_be_written_is_told_up_to_ten(tmp_path: Any, count: int, more: list[str]) -> None:
    wrong = {
        "safetensors": ({f"k{n}": np.zeros(1, "c16") for n in range(count)}, "cannot store"),
        "kellet": ({f"k{n}": np.array(["a"]) for n in range(count)}, "tensors that cannot be written"),
    }
    for ending, (state, said) in wrong.items():
        with pytest.raises(CheckpointError) as refused:
            write_checkpoint(tmp_path / f"x.{ending}", state)
        first, *rest = str(refused.value).splitlines()
        assert said in first
        assert [line.split(":")[0] for line in rest] == [*(f"    'k{n}'" for n in range(10)), *more]
        assert len(refused.value.problems) == count


@pytest.mark.parametrize("weights", [{"head": {"w": W}}, {"layers": [W, W]}])
@pytest.mark.parametrize("beside", ["ema", "teacher"])
def test_weights_of_any_name_are_not_passed_over_for_their_averages(
    weights: dict[str, object], beside: str
) -> None:
    with pytest.raises(LegacyFormatError, match=rf"found 2 state dicts\. .*\n(.*\n)*    {beside}: "):
        found({**weights, beside: {"w": W}})
    assert found({**weights, "model": {"w": W}, beside: {"w": W}}, unwrap="model").container == "model"


@pytest.mark.parametrize("beside", ["optimizer", "train_state", "ema", "model_ema", "teacher"])
def test_weights_at_the_top_are_not_passed_over_for_what_lies_beside_them(beside: str) -> None:
    root = {"layer.weight": W, beside: {"layer.weight": W}}
    with pytest.raises(LegacyFormatError, match=rf"found 2 state dicts\. .*\n    '': .*\n    {beside}: "):
        found(root)
    assert "layer.weight" in found(root, unwrap="").state
    assert found(root, unwrap=beside).container == beside


def test_a_number_at_the_top_is_no_state_dict() -> None:
    assert found({"net_x": {"weight": W}, "epoch": tensor()}).container == "net_x"
    assert found({"model": {"weight": W}, "rng_state": tensor(5)}).container == "model"
