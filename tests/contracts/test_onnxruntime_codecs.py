"""Every codec for onnxruntime keeps the contract."""

from __future__ import annotations

import pytest

pytest.importorskip("onnxruntime")

from typing import Any

import numpy as np
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

from packager._libraries import onnxruntime as onnx_codec
from packager.testing import CodecContract
from tests.contracts.wire_changes import changed_bytes as changed_bytes  # the fuzzer asks for it here

ROWS = np.arange(6, dtype="f4").reshape(2, 3)


def model(nodes: list[Any], initializers: list[Any] = [], width: int = 3) -> bytes:  # noqa: B006  # not changed
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [None, width])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    graph = helper.make_graph(nodes, "net", [x], [y], initializers)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return bytes(made.SerializeToString())


def linear() -> bytes:
    weight = numpy_helper.from_array(np.arange(6, dtype="f4").reshape(3, 2), "w")
    bias = helper.make_tensor("b", TensorProto.FLOAT, [2], [0.5, -0.5])
    nodes = [helper.make_node("MatMul", ["x", "w"], ["h"]), helper.make_node("Add", ["h", "b"], ["a"])]
    return model([*nodes, helper.make_node("Relu", ["a"], ["y"])], [weight, bias])


def branching() -> bytes:
    def branch(name: str, op: str) -> Any:
        out = helper.make_tensor_value_info(name, TensorProto.FLOAT, None)
        return helper.make_graph([helper.make_node(op, ["x"], [name])], name, [], [out])

    condition = numpy_helper.from_array(np.array(True), "c")
    node = helper.make_node(
        "If", ["c"], ["y"], then_branch=branch("t", "Exp"), else_branch=branch("e", "Neg")
    )
    return model([node], [condition])


def convolution() -> bytes:
    constant = helper.make_node(
        "Constant", [], ["k"], value=numpy_helper.from_array(np.ones((1, 1, 2), "f4"))
    )
    axes = numpy_helper.from_array(np.array([1], "i8"), "axes")
    nodes = [constant, helper.make_node("Unsqueeze", ["x", "axes"], ["u"])]
    nodes += [helper.make_node("Conv", ["u", "k"], ["v"], pads=[1, 0])]
    return model([*nodes, helper.make_node("Softmax", ["v"], ["y"], axis=-1)], [axes])


def session(data: bytes) -> Any:
    return onnxruntime.InferenceSession(data, providers=["CPUExecutionProvider"])


def used(made: Any) -> None:
    """Use a session as its owner would."""
    outputs(made)


def outputs(made: Any) -> Any:
    names = [one.name for one in made.get_outputs()]
    found = made.run(None, {made.get_inputs()[0].name: ROWS})
    return names, [(one.dtype, one.shape, one.tobytes()) for one in found]


class TestSession(CodecContract):
    codec = onnx_codec.OnnxSessionCodec()

    def samples(self) -> list[Any]:
        return [session(linear()), session(branching()), session(convolution())]

    def same(self, sample: Any, loaded: Any) -> bool:
        return bool(outputs(sample) == outputs(loaded))
