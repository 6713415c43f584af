"""Edges: promotion, tensors without elements or axes, half precision, and what is refused.

Expressions are evaluated in both libraries, with `m` for the module and `F` for `nn.functional`.
"""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from typing import Any

import numpy as np
import torch

import kellet
import kellet.nn.functional
from kellet.errors import ShapeError


def evaluate(library: Any, expression: str) -> Any:
    names = {"m": library, "F": library.nn.functional, "inf": float("inf"), "nan": float("nan")}
    return eval(expression, names)


def outputs(library: Any, expression: str) -> list[Any]:
    result = evaluate(library, expression)
    found = list(result) if isinstance(result, tuple | list) else [result]
    return [one.detach().numpy() if hasattr(one, "detach") else np.asarray(one) for one in found]


def assert_same(expression: str, rtol: float = 1e-6) -> None:
    theirs, ours = outputs(torch, expression), outputs(kellet, expression)
    assert len(ours) == len(theirs)
    for mine, expected in zip(ours, theirs, strict=True):
        assert (mine.dtype, mine.shape) == (expected.dtype, expected.shape)
        np.testing.assert_allclose(mine, expected, rtol=rtol, atol=1e-7)


# --- dtypes ---------------------------------------------------------------------------------------

KINDS = ("bool", "uint8", "int16", "int64", "float16", "float32", "float64", "complex64")


@pytest.mark.parametrize("second", KINDS)
@pytest.mark.parametrize("first", KINDS)
@pytest.mark.parametrize("operator", ["+", "*", "/", "<", "=="])
def test_two_dtypes_meet_in_the_same_one(operator: str, first: str, second: str) -> None:
    if {first, second} == {"complex64", "float16"}:
        second = first  # PyTorch makes half-precision complex numbers of them, which NumPy does not have
    if operator == "<" and "complex64" in (first, second):
        operator = "!="  # complex numbers have no order
    for a, b in (("[1, 2]", "[2, 1]"), ("[1, 2]", "2"), ("1", "[2, 1]")):
        assert_same(f"m.tensor({a}, dtype=m.{first}) {operator} m.tensor({b}, dtype=m.{second})", 1e-3)


@pytest.mark.parametrize("number", ["True", "2", "2.5", "1j"])
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "float16"])
def test_a_python_number_takes_the_dtype_of_the_tensor_where_it_can(kind: str, number: str) -> None:
    assert_same(f"m.tensor([1, 0], dtype=m.{kind}) * {number}")
    assert_same(f"{number} + m.tensor(1, dtype=m.{kind})")


@pytest.mark.parametrize(
    "expression",
    [
        "m.exp(m.tensor([1, 2]))",
        "m.sqrt(m.tensor([True]))",
        "m.tensor([1, 2]) / 2",
        "m.sigmoid(m.tensor(3))",
        "m.erf(m.tensor([1]))",
        "m.atan2(m.tensor([1]), m.tensor([2]))",
        "m.sum(m.tensor([True, True]))",
        "m.sum(m.tensor([100, 100], dtype=m.uint8))",
        "m.cumsum(m.tensor([1, 2], dtype=m.int16), 0)",
        "m.prod(m.tensor([100, 100], dtype=m.int8))",
        "m.sum(m.tensor([1, 2]), dtype=m.float64)",
        "m.sum(m.tensor([1, 2]), dtype=m.int32)",
        "m.cumprod(m.tensor([1, 2]), 0, dtype=m.int8)",
        "m.mean(m.tensor([1, 2]), dtype=m.float32)",
        "m.floor(m.tensor([1, 2]))",
        "m.round(m.tensor([3]))",
        "m.sign(m.tensor([True, False]))",
        "m.abs(m.tensor([-1, 2], dtype=m.int8))",
        "m.abs(m.tensor([3 + 4j]))",
        "m.square(m.tensor([3], dtype=m.int16))",
        "m.relu(m.tensor([-3, 2]))",
        "m.isnan(m.tensor([1, 2]))",
        "m.isfinite(m.tensor([1, 2]))",
        "m.clamp(m.tensor([1, 5]), 2, 3)",
        "m.clamp(m.tensor([1, 5]), min=1.5)",
        "m.tensor([7, -7]) // 2",
        "m.tensor([7, -7]) % 3",
        "m.fmod(m.tensor([7, -7]), 3)",
        "m.div(m.tensor([7, -7]), 2, rounding_mode='trunc')",
        "m.div(m.tensor([7, -7]), 2, rounding_mode='floor')",
        "m.tensor([2, 3]) ** 2",
        "m.tensor([2, 3]) ** 0.5",
        "2 ** m.tensor([2, 3])",
        "m.bitwise_not(m.tensor([True, False]))",
        "~m.tensor([1, 2])",
        "m.tensor([5]) & m.tensor([3])",
        "m.tensor([5]) << 2",
        "m.logical_and(m.tensor([1.5, 0.0]), m.tensor([1, 1]))",
        "m.where(m.tensor([True, False]), m.tensor([1, 2]), m.tensor([1.5, 2.5]))",
        "m.where(m.tensor([True, False]), 1.0, 2.0)",
        "m.cat([m.tensor([1]), m.tensor([1.5])])",
        "m.stack([m.tensor([1], dtype=m.int32), m.tensor([2])])",
        "m.tensor([1, 2]).masked_fill(m.tensor([True, False]), 5)",
        "m.any(m.tensor([1, 0]))",
        "m.argmax(m.tensor([1, 3, 3]))",
        "m.tensor([1.5], dtype=m.float16).sum()",
        "m.ones(70000, dtype=m.float16).mean()",
        "m.full((3000,), 0.1, dtype=m.float16).sum()",
    ],
)
def test_dtype_of_the_result(expression: str) -> None:
    assert_same(expression, 1e-3)


# --- no elements, no axes -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "expression",
    [
        "m.zeros(0).sum()",
        "m.zeros(0, 3).sum(0)",
        "m.zeros(0, 3).sum(1)",
        "m.zeros(0).prod()",
        "m.zeros(0).mean()",
        "m.zeros(0, 3).mean(0)",
        "m.zeros(0).norm()",
        "m.zeros(0, 3).logsumexp(0)",
        "m.zeros(0, 3).max(1)",
        "m.zeros(0, 3).sort(0)",
        "m.zeros(0).cumsum(0)",
        "m.zeros(2, 0) @ m.zeros(0, 3)",
        "m.zeros(0, 2) @ m.zeros(2, 3)",
        "m.einsum('ij,jk->ik', m.zeros(2, 0), m.zeros(0, 3))",
        "m.cat([m.zeros(0), m.zeros(2, 3)])",
        "m.zeros(0, 3).reshape(3, 0)",
        "m.zeros(0, 3).flatten()",
        "m.zeros(2, 0).softmax(1)",
        "m.zeros(0, 2).softmax(1)",
        "m.zeros(0, 2).log_softmax(0)",
        "F.linear(m.zeros(0, 3), m.zeros(2, 3), m.zeros(2))",
        "F.conv2d(m.zeros(0, 1, 4, 4), m.zeros(2, 1, 3, 3), m.zeros(2))",
        "F.max_pool2d(m.zeros(0, 1, 4, 4), 2)",
        "F.layer_norm(m.zeros(0, 3), (3,))",
        "F.cross_entropy(m.zeros(0, 3), m.zeros(0).long())",
        "F.cross_entropy(m.zeros(0, 3), m.zeros(0).long(), reduction='sum')",
        "F.mse_loss(m.zeros(0), m.zeros(0))",
        "F.embedding(m.zeros(0).long(), m.zeros(2, 3))",
        "m.zeros(0).any()",
        "m.zeros(0).all()",
        "m.zeros(3)[m.zeros(0).long()]",
        "m.erf(m.zeros(0, 2))",
        "F.gelu(m.zeros(0))",
        "m.index_select(m.zeros(3, 2), 0, m.zeros(0).long())",
        "m.topk(m.zeros(3), 0)",
        "m.split(m.zeros(0, 2), 1)",
    ],
)
def test_without_elements(expression: str) -> None:
    assert_same(expression)


@pytest.mark.parametrize(
    "expression",
    [
        "m.tensor(2.0).sum(0)",
        "m.tensor(2.0).sum(-1)",
        "m.tensor(2.0).mean(0, keepdim=True)",
        "m.tensor(2.0).max(0)",
        "m.tensor(2.0).min(-1, keepdim=True)",
        "m.tensor(2.0).argmax(0)",
        "m.tensor(2.0).sort()",
        "m.tensor(2.0).topk(1)",
        "m.tensor(2.0).cumsum(0)",
        "m.tensor(2.0).cumprod(0)",
        "m.tensor(2.0).softmax(0)",
        "m.tensor(2.0).log_softmax(-1)",
        "m.tensor(2.0).logsumexp(0)",
        "m.tensor(2.0).prod(0)",
        "m.tensor(2.0).norm()",
        "m.tensor(2.0).flatten()",
        "m.tensor(2.0).squeeze()",
        "m.tensor(2.0).squeeze(0)",
        "m.tensor(2.0).unsqueeze(0)",
        "m.tensor(2.0).transpose(0, -1)",
        "m.tensor(2.0).reshape(1, 1)",
        "m.tensor(2.0).expand(3)",
        "m.tensor(2.0).repeat(2, 2)",
        "m.tensor(2.0).index_select(0, m.tensor([0]))",
        "m.tensor(2.0).gather(0, m.tensor(0))",
        "m.tensor(2.0).masked_select(m.tensor(True))",
        "m.stack([m.tensor(1.0), m.tensor(2.0)])",
        "m.tensor(2.0) * m.tensor([1.0, 2.0])",
        "m.tensor(True).any()",
        "m.nonzero(m.tensor(3.0))",
        "m.tensor(2.0).var(correction=0)",
        "m.einsum(',', m.tensor(2.0), m.tensor(3.0))",
        "F.relu(m.tensor(-2.0))",
        "m.tensor(2.0).roll(1)",
        "m.tensor([1.0, 2.0]).sum() + m.tensor([[1.0]])",
    ],
)
def test_without_axes(expression: str) -> None:
    assert_same(expression)


@pytest.mark.parametrize(
    "expression",
    [
        "m.tensor([nan, 1.0]).max()",
        "m.tensor([1.0, nan, 2.0]).max(0)",
        "m.tensor([1.0, nan, 2.0]).argmin()",
        "m.tensor([1.0, nan, -inf]).sort()",
        "m.tensor([1.0, nan, -inf]).sort(descending=True).values",
        "m.maximum(m.tensor([1.0, nan]), m.tensor([nan, 2.0]))",
        "m.clamp(m.tensor([nan, inf, -inf]), -1, 1)",
        "m.clamp(m.tensor([0.0]), 2, 1)",
        "m.tensor([-inf, -inf]).logsumexp(0)",
        "m.tensor([inf, 1.0]).logsumexp(0)",
        "m.logaddexp(m.tensor([-inf, inf, -inf]), m.tensor([-inf, 1.0, 1.0]))",
        "m.tensor([1e30, 1e30]).norm()",
        "m.sigmoid(m.tensor([-1000.0, 1000.0, inf]))",
        "F.softplus(m.tensor([-1000.0, 1000.0]))",
        "F.gelu(m.tensor([100.0, -100.0]))",
        "F.silu(m.tensor([-1000.0, 1000.0]))",
        "F.logsigmoid(m.tensor([-1000.0, 1000.0]))",
        "F.elu(m.tensor([-1000.0, 1000.0]))",
        "m.tensor([0.0, -0.0]).sqrt()",
        "m.tensor([0.0]).log()",
        "m.tensor([0.0]) ** m.tensor([0.0])",
        "m.tensor([0.0]) ** -1",
        "m.tensor([-8.0]) ** (1 / 3)",
        "m.tensor([5.0]) % m.tensor([0.0])",
        "m.tensor([5.0, -5.0]) // m.tensor([0.0])",
        "m.tensor([-0.5, 0.5, 1.5, 2.5]).round()",
        "m.argmax(m.tensor([[1.0, 1.0], [0.0, 1.0]]), 1)",
        "m.sort(m.tensor([2.0, 1.0, 2.0, 1.0]), stable=True)",
        "m.sort(m.tensor([2.0, 1.0, 2.0, 1.0]), stable=True, descending=True)",
        "m.tensor([1.0]).var()",
        "m.tensor([1.0]).std(correction=2)",
        "F.softmax(m.tensor([-inf, -inf]), 0)",
        "F.cross_entropy(m.tensor([[1.0, 2.0]]), m.tensor([-100]))",
        "F.scaled_dot_product_attention(*[m.ones(2, 3)] * 3, m.tensor([[True, True], [False, False]]))",
        "F.normalize(m.zeros(2, 3))",
    ],
)
@pytest.mark.filterwarnings("ignore:.*degrees of freedom:UserWarning")
def test_infinities_ties_and_limits(expression: str) -> None:
    assert_same(expression)


# --- what is refused ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        (
            "m.zeros(2, 3).sum(2)",
            r"Dimension out of range \(expected to be in range of \[-2, 1\], but got 2\)",
        ),
        ("m.zeros(2, 3).sum(-3)", r"Dimension out of range .* got -3"),
        ("m.zeros(2, 3).softmax(5)", r"Dimension out of range"),
        ("m.zeros(2, 3).sum((0, 0))", r"twice|multiple times"),
        ("m.zeros(2, 3) + m.zeros(4)", r"\(2, 3\)|size of tensor a"),
        ("m.zeros(2, 3) @ m.zeros(2, 3)", r"\(2, 3\), \(2, 3\)|2x3 and 2x3"),
        ("m.zeros(2, 3).reshape(4)", r"shape '\[4\]' is invalid for input of size 6"),
        ("m.zeros(2, 3).view(-1, -1)", None),
        ("m.zeros(2, 3).t().view(6)", r"view"),
        ("m.zeros(2, 3).expand(3, 3)", r"expand"),
        ("m.cat([])", r"non-empty"),
        ("m.cat([m.zeros(2, 3), m.zeros(3, 2)])", None),
        ("m.stack([m.zeros(2), m.zeros(3)])", None),
        ("m.zeros(3).split([1, 1])", r"split"),
        ("m.zeros(3)[5]", r"out of (bounds|range)"),
        ("m.zeros(3)[m.tensor([5])]", r"out of (bounds|range)"),
        ("m.zeros(3).index_select(0, m.tensor([3]))", r"out of range"),
        ("m.zeros(3, 3).gather(0, m.tensor([0]))", None),
        ("m.zeros(3).gather(0, m.tensor([0.5]))", r"(?i)int"),
        ("m.zeros(3).masked_fill(m.zeros(3), 1)", r"(?i)bool"),
        ("m.tensor([1, 2]).mean()", r"mean\(\): .*floating point or complex dtype"),
        ("m.zeros(0).max()", r"max"),
        ("m.zeros(3).topk(4)", r"k"),
        ("-m.tensor([True])", r"(?i)bool"),
        ("m.tensor([True]) - m.tensor([True])", r"(?i)subtract"),
        ("m.tensor([2]) ** -1", r"(?i)negative"),
        ("m.tensor([1.0, 2.0]).item()", r"a Tensor with 2 elements cannot be converted to Scalar"),
        ("m.einsum('ij', m.zeros(2))", None),
        ("m.einsum('ij,jk', m.zeros(2, 3), m.zeros(2, 3))", None),
        ("m.mm(m.zeros(2), m.zeros(2))", None),
        ("m.bmm(m.zeros(2, 3, 4), m.zeros(3, 4, 2))", None),
        ("m.dot(m.zeros(2), m.zeros(3))", None),
        ("F.linear(m.zeros(2, 3), m.zeros(4, 2))", None),
        ("F.linear(m.zeros(2, 3), m.zeros(4, 3), m.zeros(3))", None),
        ("F.conv2d(m.zeros(1, 2, 4, 4), m.zeros(2, 3, 3, 3))", None),
        ("F.conv2d(m.zeros(1, 2, 4, 4), m.zeros(2, 2, 5, 5))", r"(?i)kernel"),
        ("F.conv2d(m.zeros(4, 4), m.zeros(2, 2, 3, 3))", None),
        ("F.conv2d(m.zeros(1, 2, 4, 4), m.zeros(2, 2, 3, 3), m.zeros(3))", r"bias"),
        ("F.conv2d(m.zeros(1, 2, 4, 4), m.zeros(2, 2, 3, 3), stride=0)", r"stride"),
        ("F.conv2d(m.zeros(1, 2, 4, 4), m.zeros(2, 2, 3, 3), padding=(1, 1, 1))", r"padding"),
        ("F.max_pool2d(m.zeros(1, 1, 2, 2), 3)", None),
        ("F.max_pool2d(m.zeros(1, 1, 4, 4), 2, padding=2)", r"pad"),
        ("F.layer_norm(m.zeros(2, 3), (4,))", r"normalized_shape"),
        ("F.layer_norm(m.zeros(2, 3), (3,), m.zeros(2))", r"weight"),
        ("F.batch_norm(m.zeros(2, 3), m.zeros(2), m.zeros(3))", r"running_mean"),
        ("F.batch_norm(m.zeros(1, 3), None, None, training=True)", r"Expected more than 1 value per channel"),
        ("F.embedding(m.tensor([3]), m.zeros(3, 2))", r"out of range"),
        ("F.embedding(m.tensor([0.5]), m.zeros(3, 2))", r"(?i)int"),
        ("F.cross_entropy(m.zeros(2, 3), m.tensor([0, 3]))", r"out of (bounds|range)"),
        ("F.cross_entropy(m.zeros(2, 3), m.tensor([0, -1]))", r"out of (bounds|range)"),
        ("F.cross_entropy(m.zeros(2, 3), m.tensor([0]))", None),
        ("F.cross_entropy(m.zeros(2, 3), m.tensor([0, 1]), m.zeros(2))", r"weight"),
        ("F.cross_entropy(m.zeros(2, 3), m.tensor([0, 1]), reduction='avg')", r"avg"),
        ("F.binary_cross_entropy(m.zeros(2), m.zeros(3))", r"(?i)size|shape"),
        ("F.binary_cross_entropy_with_logits(m.zeros(2), m.zeros(3))", r"Target size"),
        ("F.dropout(m.zeros(2), p=1.5)", r"dropout probability has to be between 0 and 1, but got 1.5"),
        ("F.pad(m.zeros(3), (1,))", r"(?i)pad"),
        ("F.pad(m.zeros(1, 3), (3, 0), mode='reflect')", r"(?i)pad"),
        ("F.scaled_dot_product_attention(m.zeros(2, 3), m.zeros(2, 4), m.zeros(2, 3))", None),
        ("F.scaled_dot_product_attention(m.zeros(2, 3), m.zeros(2, 3).double(), m.zeros(2, 3))", r"dtype"),
    ],
)
def test_both_refuse(expression: str, message: str | None) -> None:
    """What PyTorch's except clauses catch is raised here too, and says what is wrong."""
    with pytest.raises(Exception, match=message) as theirs:
        evaluate(torch, expression)
    with pytest.raises(Exception, match=message) as ours:
        evaluate(kellet, expression)
    assert isinstance(ours.value, theirs.type), f"{ours.type.__name__} is no {theirs.type.__name__}"


@pytest.mark.parametrize(
    ("expression", "message", "kind"),
    [
        ("m.zeros(3).gather(0, m.tensor([3]))", r"out of (bounds|range)", IndexError),
        ("m.zeros(0).argmax()", r"(?i)argmax", ShapeError),
        ("m.zeros(0, 3).max(0)", r"max", ShapeError),
        ("m.tensor([1]) // m.tensor([0])", r"(?i)zero", ZeroDivisionError),
        ("F.one_hot(m.tensor([3]), 2)", None, IndexError),
        (
            "F.cross_entropy(m.zeros(2, 3), m.tensor([0, 1]), label_smoothing=2.0)",
            r"label_smoothing",
            ValueError,
        ),
        ("F.binary_cross_entropy(m.tensor([2.0]), m.tensor([1.0]))", r"between 0 and 1", ValueError),
        ("F.gelu(m.zeros(2), approximate='no')", r"approximate", ValueError),
        ("m.einsum('ij,jk', m.zeros(2, 3))", r"operands", ValueError),
        ("m.einsum('i->j', m.zeros(2))", None, ValueError),
        ("F.avg_pool2d(m.zeros(1, 1, 4, 4), 2, divisor_override=0)", r"divisor", ValueError),
        ("F.conv2d(m.zeros(1, 2, 4, 4), m.zeros(2, 2, 3, 3), stride=2, padding='same')", r"same", ValueError),
        (
            "F.scaled_dot_product_attention(*[m.zeros(2, 3)] * 3, m.ones(2, 2).bool(), 0.0, True)",
            r"Explicit attn_mask should not be set when is_causal=True",
            ValueError,
        ),
    ],
)
def test_both_refuse_and_kellet_in_its_own_words(expression: str, message: str | None, kind: type) -> None:
    """Where PyTorch raises a bare RuntimeError (or IndexError), the kind that Python has for it is raised."""
    with pytest.raises((RuntimeError, IndexError)):
        evaluate(torch, expression)
    with pytest.raises(kind, match=message):
        evaluate(kellet, expression)


def test_parameters_in_containers_are_written_as_in_torch() -> None:
    written = []
    for library in (torch, kellet):
        parameters = [library.nn.Parameter(library.ones(2)), library.nn.Parameter(library.ones(1))]
        written.append(repr(library.nn.ParameterList(parameters)))
    assert written[1] == written[0].replace("torch.float32", "float32")


def test_the_arguments_of_grad_stand_in_torchs_order() -> None:
    def play(library: Any) -> Any:
        x, y = (library.tensor([value], requires_grad=True) for value in (3.0, 4.0))
        return library.autograd.grad((x**3).sum(), (x, y), None, True, True, True, True)

    (theirs, nothing), (ours, none) = play(torch), play(kellet)
    assert ours.item() == theirs.item() == 27.0
    assert ours.requires_grad
    assert nothing is none is None
    x = kellet.tensor([3.0], requires_grad=True)
    with pytest.warns(FutureWarning, match="only_inputs argument is deprecated and is ignored now"):
        kellet.autograd.grad(x * 2, x, only_inputs=False)
    with pytest.raises(NotImplementedError, match="is_grads_batched does not exist here"):
        kellet.autograd.grad(x * 2, x, is_grads_batched=True)
