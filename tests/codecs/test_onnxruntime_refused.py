"""What a model of ONNX must not ask for, and what of a session is stored."""

from __future__ import annotations

import pytest

pytest.importorskip("onnxruntime")

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

from packager._audit import TrustContext
from packager._libraries.onnxruntime import check_model
from packager._objects import encode
from packager.testing import round_trip
from packager.testing.round_trips import load
from tests.contracts.test_onnxruntime_codecs import ROWS, branching, linear, model, outputs, session


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


def branched(inner: Any, times: int) -> bytes:
    """A model with a node in so many branches, one inside of the other."""
    for depth in range(times):
        out = helper.make_tensor_value_info(f"t{depth}", TensorProto.FLOAT, None)
        branches = [
            helper.make_graph([node], f"g{depth}", [], [out])
            for node in (inner, helper.make_node("Neg", ["x"], [f"t{depth}"]))
        ]
        inner = helper.make_node(
            "If", ["c"], [f"t{depth + 1}"], then_branch=branches[0], else_branch=branches[1]
        )
    inner.output[0] = "y"
    return model([inner], [numpy_helper.from_array(np.array(True), "c")])


def deep_inside_of_branches() -> bytes:
    weight = onnx.load_from_string(external()).graph.initializer[0]
    return branched(helper.make_node("Constant", [], ["t0"], value=weight), 12)


def sparse_tensor(*dims: int) -> Any:
    places = numpy_helper.from_array(np.zeros(1, "i8"), "places")
    return helper.make_sparse_tensor(numpy_helper.from_array(np.ones(1, "f4"), "w"), places, dims)


def sparse(*dims: int) -> bytes:
    made = onnx.load_from_string(model([helper.make_node("MatMul", ["x", "w"], ["y"])]))
    made.graph.sparse_initializer.add().CopyFrom(sparse_tensor(*dims))
    return bytes(made.SerializeToString())


def sparse_constant(*dims: int) -> bytes:
    constant = helper.make_node("Constant", [], ["w"], sparse_value=sparse_tensor(*dims))
    return model([constant, helper.make_node("MatMul", ["x", "w"], ["y"])])


def many_sparse() -> bytes:
    made = onnx.load_from_string(sparse(3, 2))
    for number in range(20):
        another = sparse_tensor(1 << 10, 1 << 10)
        another.values.name = f"w{number}"
        made.graph.sparse_initializer.add().CopyFrom(another)
    return bytes(made.SerializeToString())


def wire(number: int, message: bytes) -> bytes:
    """A message as a field of another one, as protocol buffers write it."""
    found = b""
    for value in (number << 3 | 2, len(message)):
        while value > 127:
            found, value = found + bytes([value & 127 | 128]), value >> 7
        found += bytes([value])
    return found + message


def joined() -> bytes:
    """A constant that is given in two parts, which readers join to one of a larger shape."""
    part = wire(22, sparse_tensor(1 << 20).SerializeToString())
    attribute = helper.make_attribute("sparse_value", sparse_tensor(1 << 20)).SerializeToString() + part
    assert [*onnx.AttributeProto.FromString(attribute).sparse_tensor.dims] == [1 << 20, 1 << 20]
    node = helper.make_node("Constant", [], ["w"]).SerializeToString() + wire(5, attribute)
    made = onnx.load_from_string(model([helper.make_node("MatMul", ["x", "w"], ["y"])]))
    graph = made.graph.SerializeToString() + wire(1, node)
    made.ClearField("graph")
    return bytes(made.SerializeToString() + wire(7, graph))


def doubling(functions: int, domain: str = "com.microsoft") -> bytes:
    """Functions each of which calls the next one twice."""
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    made = onnx.load_from_string(model([helper.make_node("F0", ["x"], ["y"], domain=domain)]))
    made.opset_import.add().CopyFrom(opsets[1])
    for number in range(functions):
        calls = [
            helper.make_node(f"F{number + 1}", [left], [right], domain=domain)
            if number + 1 < functions
            else helper.make_node("Exp", [left], [right])
            for left, right in (("a", "b"), ("b", "c"))
        ]
        made.functions.append(helper.make_function(domain, f"F{number}", ["a"], ["c"], calls, opsets))
    return bytes(made.SerializeToString())


def trees(levels: int, **other: Any) -> bytes:
    """A model of one tree that goes so deep on one side; its leaves are numbered behind its nodes."""
    leaves = levels + 1
    after = list(range(levels, levels + leaves))
    given = {
        "nodes_treeids": [0] * (levels + leaves),
        "nodes_nodeids": list(range(levels + leaves)),
        "nodes_featureids": [0] * (levels + leaves),
        "nodes_values": [0.5] * (levels + leaves),
        "nodes_modes": ["BRANCH_LEQ"] * levels + ["LEAF"] * leaves,
        "nodes_truenodeids": [*range(1, levels), after[-1], *[0] * leaves],
        "nodes_falsenodeids": [*after[:-1], *[0] * leaves],
        "target_treeids": [0],
        "target_nodeids": [after[-1]],
        "target_ids": [0],
        "target_weights": [1.0],
    }
    node = helper.make_node(
        "TreeEnsembleRegressor", ["x"], ["y"], domain="ai.onnx.ml", n_targets=1, **{**given, **other}
    )
    made = onnx.load_from_string(model([node]))
    made.opset_import.append(helper.make_opsetid("ai.onnx.ml", 3))
    return bytes(made.SerializeToString())


def trees_below_a_branch() -> bytes:
    """A deep tree whose node holds a graph besides, with another node in it."""
    made = onnx.load_from_string(trees(20_000))
    inner = onnx.load_from_string(model([helper.make_node("Relu", ["x"], ["y"])])).graph
    made.graph.node[0].attribute.insert(0, helper.make_attribute("inner", inner))
    return bytes(made.SerializeToString())


def without_values() -> bytes:
    weight = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[3, 1 << 27])
    return model([helper.make_node("MatMul", ["x", "w"], ["y"])], [weight])


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (deep_inside_of_branches(), "no values in other files"),
        (branched(helper.make_node("Exp", ["x"], ["t0"]), 30), "messages nested at most 64 deep"),
        (sparse(3, 1 << 28), r"arrays of \d+ bytes at most, found 64424509"),
        (sparse_constant(1 << 20, 1 << 20), r"arrays of .*, found 8796093022"),
        (many_sparse(), r"arrays of .*, found 1677"),
        (joined(), "one message as field 22, found another one"),
        (doubling(30), "without local functions, found one"),
        (doubling(1), "without local functions, found one"),
        (trees(20_000), "trees of at most 10000 levels"),
        (trees(3, nodes_truenodeids=[1, 2, 0, 0, 0, 0, 0]), "each node of a tree met once"),
        (trees(3, nodes_modes=["LEAF"]), "as many trees, nodes and modes as nodes that follow"),
        (trees(3, tree_roots=[0]), "trees by their nodes, as up to version 4"),
        (trees_below_a_branch(), "trees of numbers, with no graph inside"),
        (without_values(), "found 1610612736"),
        (external(), "no values in other files"),
        (inside_of_a_branch(), "no values in other files"),
        (shaped(1 << 41), r"sizes from 0 to 2\*\*40"),
        (model([helper.make_node("Relu", ["x"], ["y"], domain="my.plugin")]), "one of .*com.microsoft"),
        (
            model([helper.make_node("EPContext", ["x"], ["y"], domain="com.microsoft")]),
            "none of .'EPContext'",
        ),
        (b"ORTM" * 8, "wire type|a field|a number|a whole"),
        (b"", "a model of ONNX"),
    ],
    ids=(
        "deep deeper sparse constant many joined doubling function tree circle modes roots inner "
        "nothing external branch shape domain context format empty"
    ).split(),
)
def test_a_model_that_asks_for_more_than_itself_is_refused(data: bytes, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        check_model(memoryview(data))


@pytest.mark.parametrize("data", [shaped(3, 3), shaped(1), shaped(1 << 20)], ids=["9", "1", "many"])
def test_a_model_whose_values_are_fewer_or_more_is_refused_by_the_library(data: bytes) -> None:
    check_model(memoryview(data))
    with pytest.raises(Exception, match=r"mismatch|Incompatible"):
        session(data)


@pytest.mark.parametrize(
    "data",
    [
        sparse(3, 2),
        sparse_constant(3, 2),
        branched(helper.make_node("Exp", ["x"], ["t0"]), 12),
        trees(500),
    ],
    ids=["sparse", "constant", "branches", "trees"],
)
def test_a_small_model_of_the_same_form_comes_back(data: bytes) -> None:
    made = session(data)
    assert outputs(round_trip(made).object) == outputs(made)


def test_functions_that_were_put_in_their_places_come_back() -> None:
    from onnx import inliner

    made = session(inliner.inline_local_functions(onnx.load_from_string(doubling(3))).SerializeToString())
    assert outputs(round_trip(made).object) == outputs(made)
    refused = encode(session(doubling(3))).refusals[0]
    assert "without local functions, found one" in refused.reason
    assert "onnx.inliner.inline_local_functions(model)" in " ".join(refused.options)


def test_a_session_made_from_a_file_is_stored_by_the_bytes_of_the_file(tmp_path: Path) -> None:
    file = tmp_path / "net.onnx"
    file.write_bytes(linear())
    made = session(str(file))  # type: ignore[arg-type]  # a path, as well
    loaded = round_trip(made).object
    assert loaded.run(None, {"x": ROWS})[0].tolist() == made.run(None, {"x": ROWS})[0].tolist()
    assert loaded.get_providers() == ["CPUExecutionProvider"]
    file.unlink()
    refusals = encode(made).refusals
    assert "whose model file is missing" in refusals[0].reason


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
