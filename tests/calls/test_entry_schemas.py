"""What entry points take and give: learnt from golden calls, and compared with what a call is given."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from packager import ValueType
from packager._archive import GivenValue, SchemaRecord, TakenValue
from packager._calls import CallError, GoldenValues, SchemaMismatchError, fitted_inputs, learnt_schema


def learnt(method: Any, *inputs: dict[str, Any], exact: bool = True, **declared: str) -> str:
    calls = [GoldenValues(one, {}) for one in inputs]
    takes = {name: ValueType.parse(text) for name, text in declared.items()}
    return str(learnt_schema("model", method, calls, takes, {}, exact=exact)).removesuffix(" -> ?")


def gives(*answers: dict[str, Any]) -> str:
    calls = [GoldenValues({}, one) for one in answers]
    return str(learnt_schema("model", lambda: None, calls, {}, {}, exact=True)).removeprefix("model() -> ")


def forward(x: Any, scale: float = 1.0, *, mask: Any = None) -> None: ...


def zeros(*shape: int, dtype: str = "float32") -> Any:
    return np.zeros(shape, dtype)


def test_one_call_shows_names_dtypes_and_axes_and_no_size() -> None:
    assert learnt(forward, {"arg0": zeros(2, 3)}) == "model(x: float32[*, *], 2 optional)"


def test_a_second_call_of_another_size_fixes_what_does_not_differ_but_the_first_axis() -> None:
    assert (
        learnt(forward, {"x": zeros(2, 3, 4)}, {"x": zeros(2, 5, 4)})
        == "model(x: float32[*, *, 4], 2 optional)"
    )


def test_a_second_call_of_the_same_sizes_fixes_nothing() -> None:
    assert learnt(forward, {"x": zeros(2, 3)}, {"x": zeros(2, 3)}) == "model(x: float32[*, *], 2 optional)"


def test_calls_that_vary_in_one_value_fix_axes_of_another() -> None:
    calls = ({"x": zeros(2, 3), "mask": zeros(4, 7)}, {"x": zeros(5, 3), "mask": zeros(4, 7)})
    assert learnt(forward, *calls) == "model(x: float32[*, 3], mask: float32[*, 7] (optional), 1 optional)"


def test_what_some_calls_leave_out_is_optional_and_none_is_told() -> None:
    found = learnt(forward, {"x": "a", "mask": None}, {"x": "b", "mask": zeros(3, dtype="bool")})
    assert found == "model(x: text, mask: bool[*]? (optional), 1 optional)"


def test_models_of_numpy_take_any_dtype_of_numbers() -> None:
    assert learnt(forward, {"x": zeros(2, 3, dtype="int64")}, exact=False).startswith("model(x: real[*, *]")
    assert learnt(forward, {"x": zeros(2, 3, dtype="complex64")}, exact=False).startswith("model(x: number[")
    assert learnt(forward, {"x": np.array(["a"])}, exact=False).startswith("model(x: text[*]")


def test_lists_of_floats_are_what_a_library_of_tensors_makes_of_them() -> None:
    assert learnt(forward, {"x": [[1.0, 2.0]], "scale": 2.0}).startswith(
        "model(x: float32[*, *], scale: float"
    )
    assert learnt(forward, {"x": {"a": [1.0]}}).startswith("model(x: {a: float32[*]}")


def test_declared_types_come_before_learnt_ones() -> None:
    assert learnt(forward, {"x": zeros(2, 3)}, x="float32[*, 3]") == "model(x: float32[*, 3], 2 optional)"
    assert learnt(forward, x="float32[*, 3]") == "model(x: float32[*, 3], 2 optional)"


def test_a_declared_name_must_be_a_parameter_unless_any_name_is_taken() -> None:
    with pytest.raises(CallError, match="takes= declares y; expected parameters: x, scale, mask"):
        learnt(forward, y="text")
    assert learnt(lambda x, **more: None, y="text") == "model(x: any, y: text (optional), ...)"


def test_what_does_not_say_its_parameters_takes_what_calls_gave_and_more() -> None:
    assert learnt(object(), {"arg0": "a", "b": 1}) == "model(arg0: text, b: int, ...)"
    assert learnt(lambda *words: None, {"arg0": "a", "arg1": "b"}) == (
        "model(arg0: text (optional), arg1: text (optional), ...)"
    )


def test_positional_parameters_have_no_name_for_a_call() -> None:
    def first(x: Any, /, y: Any = 0) -> None: ...

    assert learnt(first, {"arg0": "a", "arg1": 2}) == "model(arg0: text, y: int (optional))"


def test_nothing_is_known_without_calls_and_declarations() -> None:
    assert learnt_schema("model", forward, [], {}, {}, exact=True) is None


def test_parts_of_answers_of_one_plain_type_have_one_name() -> None:
    assert gives({"output": zeros(2, 3)}) == "output: float32[*, *]"
    assert gives({"output.0": zeros(2), "output.1": zeros(2)}) == "output.0: float32[*], output.1: float32[*]"
    assert gives({"output.0": "a", "output.1": "b"}) == "output.*: text"
    assert gives({"output.0": zeros(2), "output.1": "b"}) == "output.0: float32[*], output.1: text"
    rows = {f"output.{n}.{k}": v for n in range(3) for k, v in (("label", "a"), ("score", np.float64(1)))}
    assert gives(rows) == "output.*.label: text, output.*.score: float64[]"


def test_parts_that_are_not_in_every_answer_have_one_name() -> None:
    assert gives({"output.0": zeros(2, 3)}, {f"output.{n}": zeros(5, 3) for n in range(2)}) == (
        "output.*: float32[*, 3]"
    )


SCHEMA = SchemaRecord(
    "model",
    (
        TakenValue("x", "float32[*, 4]"),
        TakenValue("mask", "bool[*]?", False),
        TakenValue("more", "any", False),
    ),
    (GivenValue("output", "text"),),
)


def test_inputs_that_fit_keep_their_names() -> None:
    x = zeros(2, 4)
    assert list(fitted_inputs(SCHEMA, {"arg0": x, "mask": None, "arg2": object()})) == [
        "arg0",
        "mask",
        "arg2",
    ]
    assert fitted_inputs(SCHEMA, {"x": x})["x"] is x


def test_everything_that_does_not_fit_is_told_at_once() -> None:
    with pytest.raises(SchemaMismatchError) as caught:
        fitted_inputs(SCHEMA, {"mask": zeros(3), "y": 1})
    assert str(caught.value) == (
        "inputs of entry point 'model' do not fit, and it was not called: mask: found float32[3], expected "
        "bool[*]?; y: unknown input; x: missing, expected float32[*, 4]. It takes x: float32[*, 4], "
        'mask: bool[*]?; mask.astype("bool") converts it'
    )


def test_a_value_by_name_and_by_position_is_found_twice() -> None:
    with pytest.raises(SchemaMismatchError, match="x: given twice, by name and by position"):
        fitted_inputs(SCHEMA, {"arg0": zeros(1, 4), "x": zeros(1, 4)})


def test_a_position_behind_the_last_is_no_value() -> None:
    with pytest.raises(SchemaMismatchError, match="arg3: unknown input"):
        fitted_inputs(SCHEMA, {"arg0": zeros(1, 4), "arg3": 1})


def test_an_open_schema_takes_other_names() -> None:
    schema = SchemaRecord("model", (TakenValue("x", "text"),), is_open=True)
    assert fitted_inputs(schema, {"x": "a", "y": 3}) == {"x": "a", "y": 3}
    with pytest.raises(SchemaMismatchError, match="x: found int, expected text"):
        fitted_inputs(schema, {"x": 1, "y": 3})
