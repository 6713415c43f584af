"""What a model of ONNX must not ask for, and what of a session is stored."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

from packager.codecs.onnx_codec import check_model
from packager.objects import TrustContext, encode
from packager.testing import round_trip
from packager.testing.round_trips import load
from tests.contracts.test_onnxruntime_codecs import ROWS, branching, linear, model, session


def external() -> bytes:
    weight = numpy_helper.from_array(np.ones((3, 2), "f4"), "w")
    weight.ClearField("raw_data")
    weight.data_location = TensorProto.EXTERNAL
    weight.external_data.add(key="location", value="/etc/passwd")
    return model([helper.make_node("MatMul", ["x", "w"], ["y"])], [weight])


def shaped(*dims: int) -> bytes:
    weight = numpy_helper.from_array(np.ones((3, 2), "f4"), "w")
    del weight.dims[:]
    weight.dims.extend(dims)
    return model([helper.make_node("MatMul", ["x", "w"], ["y"])], [weight])


def inside_of_a_branch() -> bytes:
    made = onnx.load_from_string(branching())
    branch = made.graph.node[0].attribute[0].g
    branch.initializer.add().CopyFrom(onnx.load_from_string(external()).graph.initializer[0])
    return bytes(made.SerializeToString())


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (external(), "no values in other files"),
        (inside_of_a_branch(), "no values in other files"),
        (shaped(3, 3), "values of 36 bytes, found 24"),
        (shaped(1 << 41), r"sizes from 0 to 2\*\*40"),
        (model([helper.make_node("Relu", ["x"], ["y"], domain="my.plugin")]), "one of .*com.microsoft"),
        (
            model([helper.make_node("EPContext", ["x"], ["y"], domain="com.microsoft")]),
            "none of .'EPContext'",
        ),
        (b"ORTM" * 8, "wire type|a field|a number|a whole"),
        (b"", "a model of ONNX"),
    ],
    ids="external branch longer shape domain context format empty".split(),
)
def test_a_model_that_asks_for_more_than_itself_is_refused(data: bytes, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        check_model(memoryview(data))


def test_a_session_made_from_a_file_is_stored_by_the_bytes_of_the_file(tmp_path: Path) -> None:
    file = tmp_path / "net.onnx"
    file.write_bytes(linear())
    made = session(str(file))  # type: ignore[arg-type]  # a path, as well
    loaded = round_trip(made).object
    assert loaded.run(None, {"x": ROWS})[0].tolist() == made.run(None, {"x": ROWS})[0].tolist()
    assert loaded.get_providers() == ["CPUExecutionProvider"]
    file.unlink()
    refusals = encode(made).refusals
    assert "whose model is not here any more" in refusals[0].reason


def test_options_of_a_session_are_warned_of() -> None:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    made = onnxruntime.InferenceSession(linear(), options, providers=["CPUExecutionProvider"])
    assert [
        "the options of an onnxruntime session are not stored" in str(one) for one in encode(made).warnings
    ] == [True]


def test_constants_are_not_folded_while_a_session_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[dict[str, Any]] = []
    real = onnxruntime.InferenceSession

    def watched(data: bytes, **options: Any) -> Any:
        asked.append(options)
        return real(data, **options)

    made = session(linear())
    monkeypatch.setattr(onnxruntime, "InferenceSession", watched)
    loaded = load(encode(made), TrustContext.data_only())
    assert loaded.run(None, {"x": ROWS})[0].shape == (2, 2)
    assert [options["disabled_optimizers"] for options in asked] == [["ConstantFolding"]]
    assert [options["read_config_from_model"] for options in asked] == [0]
