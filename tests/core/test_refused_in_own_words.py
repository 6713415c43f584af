"""Where PyTorch raises a bare RuntimeError, the kind of error that Python has for it, and what it says."""

from __future__ import annotations

import pytest

import kellet
import kellet.nn.functional
from kellet.errors import ShapeError
from tests.answers.between_dtypes import REFUSED
from tests.answers.edges import evaluate


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
def test_refused_in_its_own_words(expression: str, message: str | None, kind: type) -> None:
    """Where PyTorch raises a bare RuntimeError (or IndexError), the kind that Python has for it is raised."""
    with pytest.raises(kind, match=message):
        evaluate(kellet, expression)


def test_arguments_of_grad_that_do_nothing_here() -> None:
    x = kellet.tensor([3.0], requires_grad=True)
    with pytest.warns(FutureWarning, match="only_inputs argument is deprecated and is ignored now"):
        kellet.autograd.grad(x * 2, x, only_inputs=False)
    with pytest.raises(NotImplementedError, match="is_grads_batched does not exist here"):
        kellet.autograd.grad(x * 2, x, is_grads_batched=True)


@pytest.mark.parametrize("number", range(len(REFUSED)))
def test_what_alpha_and_steps_cannot_be_is_said(number: int) -> None:
    with pytest.raises((TypeError, ValueError), match=r"add: alpha is|sub: subtraction of|arange: steps of"):
        REFUSED[number](kellet)
