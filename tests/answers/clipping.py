"""`nn.utils`: norms, clipped gradients, and parameters as a vector."""

import math
from functools import partial

import numpy as np

from tests.answers import choices as st
from tests.answers.refusals import refusal
from tests.answers.subject import Subject
from tests.answers.telling import Tolerance

SHAPES = st.lists(st.sampled_from([(), (0,), (1,), (3,), (2, 3), (4, 1, 2)]), min_size=1, max_size=4)


def leaves(library, shapes, dtype, scale, seed=0):
    rng = np.random.default_rng(seed)
    made = []
    for place, shape in enumerate(shapes):
        value = np.asarray(rng.standard_normal(shape) * scale, dtype)
        weight = library.from_numpy(np.zeros(shape, dtype)).requires_grad_()
        if place != 1:  # one of them was not used
            weight.grad = library.from_numpy(value)
        made.append(weight)
    return made


def gradients(weights):
    return [None if weight.grad is None else weight.grad.numpy() for weight in weights]


@st.composite
def norms(draw):
    order = draw(st.sampled_from([1.0, 2.0, 3.5, math.inf]))
    shapes = draw(SHAPES)
    st.assume(order != math.inf or (0,) not in shapes)  # torch has no such norm
    return partial(
        by_norm,
        shapes=shapes,
        dtype=draw(st.sampled_from(["f4", "f8"])),
        scale=draw(st.sampled_from([0.01, 1.0, 1000.0])),
        order=order,
        most=draw(st.sampled_from([0.5, 2, 100.0])),
    )


def by_norm(library, shapes, dtype, scale, order, most):
    weights = leaves(library, shapes, dtype, scale)
    return library.nn.utils.clip_grad_norm_(iter(weights), most, norm_type=order), gradients(weights)


@st.composite
def values(draw):
    return partial(
        by_value,
        shapes=draw(SHAPES),
        dtype=draw(st.sampled_from(["f4", "f8"])),
        most=draw(st.sampled_from([0.1, 1, 3.0])),
    )


def by_value(library, shapes, dtype, most):
    weights = leaves(library, shapes, dtype, 2.0)
    return library.nn.utils.clip_grad_value_(weights, most), gradients(weights)


def not_finite(library):
    """Refused where asked, before anything changed."""
    weights = leaves(library, [(2,)], "f4", 1.0)
    weights[0].grad[1] = math.nan
    clip, message = library.nn.utils.clip_grad_norm_, "for gradients from `parameters` is non-finite"
    refused = refusal(lambda: clip(weights, 1.0, error_if_nonfinite=True), message)
    before = weights[0].grad.numpy().copy()
    return refused, before, clip(weights, 1.0), weights[0].grad


def one_and_none(library):
    (weight,) = leaves(library, [(3,)], "f8", 10.0)
    clip = library.nn.utils.clip_grad_norm_
    return clip(weight, 1.0), weight.grad, clip([], 1.0)


def vector_and_back(library):
    net = library.nn.Sequential(library.nn.Linear(2, 3), library.nn.Linear(3, 1))
    utils = library.nn.utils
    utils.vector_to_parameters(library.from_numpy(np.linspace(-1, 1, 13).astype("f4")), net.parameters())
    vector = utils.parameters_to_vector(net.parameters())
    (vector * vector).sum().backward()
    told = [vector, net[0].weight.grad]
    fresh = library.from_numpy(np.arange(13, dtype="f4"))
    utils.vector_to_parameters(fresh, net.parameters())
    told += [net[0].weight.detach().clone(), net[1].bias.detach().clone()]
    fresh[12] = -1.0
    return [*told, net[1].bias]


CASES = {"not finite": not_finite, "one and none": one_and_none, "a vector and back": vector_and_back}
for _number, _play in enumerate(st.draw_all(norms(), "norms", 120)):
    CASES[f"norms | {_number} {_play.keywords['dtype']}"] = _play
for _number, _play in enumerate(st.draw_all(values(), "values", 40)):
    CASES[f"values | {_number} {_play.keywords['dtype']}"] = _play


def near(case):
    found = 1e-12 if case.endswith("f8") else 2e-6
    return Tolerance(found, found)


SUBJECT = Subject("clipping", CASES, near)
