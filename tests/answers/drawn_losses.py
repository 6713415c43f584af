"""For every loss, as a class and as a function: how to draw its options, weights and inputs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.answers import choices as st
from tests.answers.drawn import Case, Values, optional, shapes, yes_or_no
from tests.answers.drawn_layers import Strategy, strategy

REDUCTION = st.sampled_from(["mean", "sum", "none", "other"])
LOSSES: dict[str, Strategy] = {}
FUNCTIONS = {
    "CosineEmbeddingLoss": "cosine_embedding_loss",
    "TripletMarginLoss": "triplet_margin_loss",
    "TripletMarginWithDistanceLoss": "triplet_margin_with_distance_loss",
    "MarginRankingLoss": "margin_ranking_loss",
    "HingeEmbeddingLoss": "hinge_embedding_loss",
    "L1Loss": "l1_loss",
    "MSELoss": "mse_loss",
    "SmoothL1Loss": "smooth_l1_loss",
    "HuberLoss": "huber_loss",
    "KLDivLoss": "kl_div",
    "NLLLoss": "nll_loss",
    "CrossEntropyLoss": "cross_entropy",
    "BCELoss": "binary_cross_entropy",
    "BCEWithLogitsLoss": "binary_cross_entropy_with_logits",
}


def loss(name: str) -> Callable[[Callable[..., Case]], Callable[..., Case]]:
    def enter(make: Callable[..., Case]) -> Callable[..., Case]:
        LOSSES[name] = strategy(make)
        return make

    return enter


def other_shape(draw: st.Draw, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Draw the shape again, now and then one that broadcasts or does not fit."""
    found = list(shape)
    change = draw(st.sampled_from([None, None, None, None, 1, 3]))
    if change is not None and found:
        found[0] = change
    return tuple(found)


@loss("L1Loss")
@loss("MSELoss")
def difference(draw: st.Draw, drawn: Values) -> Case:
    shape = draw(shapes())
    return Case(
        (drawn(*shape), drawn(*other_shape(draw, shape), number=1)), (), draw(optional(reduction=REDUCTION))
    )


@loss("SmoothL1Loss")
def smooth(draw: st.Draw, drawn: Values) -> Case:
    options = draw(optional(beta=st.sampled_from([0, 0.5, 1.0, 2.0, -1.0])))
    case = difference(draw, drawn)
    return Case(case.inputs, (), case.options | options)


@loss("HuberLoss")
def huber(draw: st.Draw, drawn: Values) -> Case:
    options = draw(optional(delta=st.sampled_from([0.5, 1.0, 2.0, 0.0])))
    case = difference(draw, drawn)
    return Case(case.inputs, (), case.options | options)


@loss("KLDivLoss")
def divergence(draw: st.Draw, drawn: Values) -> Case:
    shape = draw(shapes())
    reduction = st.sampled_from(["mean", "sum", "none", "batchmean", "other"])
    options = draw(optional(reduction=reduction, log_target=yes_or_no))
    goal = drawn(*shape, number=1) if options.get("log_target") else drawn.unit(*shape, number=1)
    return Case((drawn(*shape), goal), (), options)


@loss("BCELoss")
def binary(draw: st.Draw, drawn: Values) -> Case:
    shape = draw(shapes())
    options = draw(optional(reduction=REDUCTION, weight=st.just(drawn.unit(*shape[1:], number=2))))
    goal = drawn.unit(*other_shape(draw, shape), number=1)
    return Case((drawn.unit(*shape), np.asarray(goal.round(0)) if draw(yes_or_no) else goal), (), options)


@loss("BCEWithLogitsLoss")
def logits(draw: st.Draw, drawn: Values) -> Case:
    shape = draw(shapes())
    weight = st.just(drawn.unit(*shape[1:], number=2))
    positive = st.just(drawn.unit(*shape[-1:], number=3) * 3)
    options = draw(optional(reduction=REDUCTION, weight=weight, pos_weight=positive))
    goal = drawn.unit(*other_shape(draw, shape), number=1)
    return Case((drawn(*shape, scale=draw(st.sampled_from([1.0, 30.0]))), goal), (), options)


def classes(draw: st.Draw, drawn: Values) -> tuple[Any, Any, int, dict[str, Any]]:
    count = draw(st.integers(1, 4))
    batch, rest = (
        draw(
            st.sampled_from(
                [
                    (),
                    (1,),
                    (3,),
                ]
            )
        ),
        draw(shapes(0, 2)),
    )
    rest = rest if batch else ()
    options = draw(
        optional(
            reduction=REDUCTION,
            weight=st.just(drawn.unit(count, number=2)),
            ignore_index=st.sampled_from([-100, -1, 0, 1]),
        )
    )
    x, goal = drawn(*batch, count, *rest), drawn.below(count, *batch, *rest, number=1)
    if draw(st.sampled_from([False, True])):
        goal[...] = goal * 0 + options.get("ignore_index", -100) * (goal == 0) + goal * (goal != 0)
    if draw(st.sampled_from([False] * 7 + [True])):
        goal = np.asarray(goal + count)
    return x, goal, count, options


@loss("NLLLoss")
def likelihood(draw: st.Draw, drawn: Values) -> Case:
    x, goal, _, options = classes(draw, drawn)
    return Case((x, goal), (), options)


@loss("CrossEntropyLoss")
def entropy(draw: st.Draw, drawn: Values) -> Case:
    x, goal, _, options = classes(draw, drawn)
    options |= draw(optional(label_smoothing=st.sampled_from([0.0, 0.1, 0.7, 1.0, 1.5])))
    if draw(yes_or_no):
        options.pop("ignore_index", None)
        goal = drawn.unit(*x.shape, number=1)
    return Case((x, goal), (), options)


@loss("CosineEmbeddingLoss")
def cosine(draw: st.Draw, drawn: Values) -> Case:
    # Of one number the cosine is its sign, and its derivative what rounding leaves.
    batch, width = draw(st.sampled_from([(), (1,), (3,)])), draw(st.integers(2, 4))
    options = draw(optional(margin=st.sampled_from([0.0, 0.3, -0.5]), reduction=REDUCTION))
    inputs = drawn(*batch, width), drawn(*batch, width, number=1), drawn.signs(*batch, number=2)
    return Case(inputs, (), options)


def three(draw: st.Draw, drawn: Values) -> tuple[Any, ...]:
    shape = draw(shapes(1, 3))
    return tuple(drawn(*shape, number=number) for number in range(3))


MARGIN = st.sampled_from([0.3, 1.0, 2.0, 0.0, -1.0])


@loss("TripletMarginLoss")
def triplet(draw: st.Draw, drawn: Values) -> Case:
    options = draw(
        optional(
            margin=MARGIN,
            p=st.sampled_from([1.0, 2.0, 3.0, float("inf")]),
            eps=st.sampled_from([1e-6, 0.1]),
            swap=yes_or_no,
            reduction=REDUCTION,
        )
    )
    return Case(three(draw, drawn), (), options)


def squares(a: Any, b: Any) -> Any:
    return ((a - b) ** 2).sum(-1)


@loss("TripletMarginWithDistanceLoss")
def distance(draw: st.Draw, drawn: Values) -> Case:
    options = draw(
        optional(distance_function=st.just(squares), margin=MARGIN, swap=yes_or_no, reduction=REDUCTION)
    )
    return Case(three(draw, drawn), (), options)


@loss("MarginRankingLoss")
def ranking(draw: st.Draw, drawn: Values) -> Case:
    shape = draw(shapes())
    options = draw(optional(margin=st.sampled_from([0.0, 0.3, -0.5]), reduction=REDUCTION))
    return Case((drawn(*shape), drawn(*shape, number=1), drawn.signs(*shape, number=2)), (), options)


@loss("HingeEmbeddingLoss")
def hinge(draw: st.Draw, drawn: Values) -> Case:
    shape = draw(shapes())
    options = draw(optional(margin=MARGIN, reduction=REDUCTION))
    return Case((drawn(*shape), drawn.signs(*shape, number=2)), (), options)


WEIGHED = ("mse_loss", "l1_loss", "huber_loss")


@st.composite
def weighed(draw: st.Draw, name: str, dtype: str) -> Case:
    """Draw what the function takes beside what the class takes: a weight for each element."""
    strategies = {function: LOSSES[kind] for kind, function in FUNCTIONS.items()}
    case = draw(strategies[name](dtype))
    if name not in WEIGHED or not draw(yes_or_no):
        return case
    found = draw(st.integers(0, 99).map(lambda seed: Values(seed, False, dtype)))
    return Case(case.inputs, (), {**case.options, "weight": found.unit(*case.inputs[0].shape)})
