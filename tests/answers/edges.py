"""Edges: promotion, tensors without elements or axes, half precision, infinities, and what is refused.

In an expression `m` is the library and `F` its `nn.functional`.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from tests.answers.refusals import refusal
from tests.answers.subject import Play, Subject
from tests.answers.telling import Tolerance

KINDS = ("bool", "uint8", "int16", "int64", "float16", "float32", "float64", "complex64")
OPERATORS = ("+", "*", "/", "<", "==")
NUMBERS = ["True", "2", "2.5", "1j"]
RESULTS: list[str] = [
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
]
EMPTY: list[str] = [
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
]
NO_AXES: list[str] = [
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
]
LIMITS: list[str] = [
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
]
# What PyTorch's except clauses catch is raised here too, and says what is wrong.
REFUSED: list[tuple[str, str | None]] = [
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
]


def evaluate(library: Any, expression: str) -> Any:
    names = {"m": library, "F": library.nn.functional, "inf": float("inf"), "nan": float("nan")}
    return eval(expression, names)


def outputs(library: Any, expression: str) -> Any:
    result = evaluate(library, expression)
    found = list(result) if isinstance(result, tuple | list) else [result]
    return [one if hasattr(one, "detach") else np.asarray(one) for one in found]


def refused(library: Any, expression: str, message: str | None) -> Any:
    return refusal(lambda: evaluate(library, expression), message)


def meeting() -> list[tuple[str, str]]:
    """Pair the dtypes, but for half-precision complex numbers, and with no order of complex ones."""
    found = []
    for sign in OPERATORS:
        for first in KINDS:
            for second in KINDS:
                other = first if {first, second} == {"complex64", "float16"} else second
                word = "!=" if sign == "<" and "complex64" in (first, other) else sign
                for a, b in (("[1, 2]", "[2, 1]"), ("[1, 2]", "2"), ("1", "[2, 1]")):
                    text = f"m.tensor({a}, dtype=m.{first}) {word} m.tensor({b}, dtype=m.{other})"
                    found.append((f"a {sign} b", text))
    return found


def with_numbers() -> list[tuple[str, str]]:
    found = []
    for kind in KINDS:
        for number in NUMBERS if kind != "float16" else ():
            found.append(("with a number", f"m.tensor([1, 0], dtype=m.{kind}) * {number}"))
            found.append(("with a number", f"{number} + m.tensor(1, dtype=m.{kind})"))
    return found


EXPRESSIONS = [
    *meeting(),
    *with_numbers(),
    *(("results", one) for one in RESULTS),
    *(("no elements", one) for one in EMPTY),
    *(("no axes", one) for one in NO_AXES),
    *(("limits", one) for one in LIMITS),
]
CASES: dict[str, Play] = {f"{group} | {one}": partial(outputs, expression=one) for group, one in EXPRESSIONS}
for _expression, _message in REFUSED:
    CASES[f"refused | {_expression}"] = partial(refused, expression=_expression, message=_message)


# Where PyTorch raises a bare RuntimeError (or IndexError), the kind that Python has for it is raised.
OTHER_WORDS = [
    "m.zeros(3).gather(0, m.tensor([3]))",
    "m.zeros(0).argmax()",
    "m.zeros(0, 3).max(0)",
    "m.tensor([1]) // m.tensor([0])",
    "F.one_hot(m.tensor([3]), 2)",
    "F.cross_entropy(m.zeros(2, 3), m.tensor([0, 1]), label_smoothing=2.0)",
    "F.binary_cross_entropy(m.tensor([2.0]), m.tensor([1.0]))",
    "F.gelu(m.zeros(2), approximate='no')",
    "m.einsum('ij,jk', m.zeros(2, 3))",
    "m.einsum('i->j', m.zeros(2))",
    "F.avg_pool2d(m.zeros(1, 1, 4, 4), 2, divisor_override=0)",
    "F.conv2d(m.zeros(1, 2, 4, 4), m.zeros(2, 2, 3, 3), stride=2, padding='same')",
    "F.scaled_dot_product_attention(*[m.zeros(2, 3)] * 3, m.ones(2, 2).bool(), 0.0, True)",
]
for _expression in OTHER_WORDS:
    CASES[f"other words | {_expression}"] = partial(refused, expression=_expression, message=None)


def containers(library: Any) -> Any:
    parameters = [library.nn.Parameter(library.ones(2)), library.nn.Parameter(library.ones(1))]
    return repr(library.nn.ParameterList(parameters)).replace("torch.float32", "float32")


def arguments_of_grad(library: Any) -> Any:
    x, y = (library.tensor([value], requires_grad=True) for value in (3.0, 4.0))
    found, nothing = library.autograd.grad((x**3).sum(), (x, y), None, True, True, True, True)
    return found, found.requires_grad, nothing


CASES["containers"] = containers
CASES["arguments of grad"] = arguments_of_grad


def near(case: str) -> Tolerance:
    rough = case.startswith(("results", "a "))
    return Tolerance(1e-3 if rough else 1e-6, 1e-7, kinds=not case.startswith("other words"))


SUBJECT = Subject("edges", CASES, near)
