"""A vector that does not fit the parameters."""

import pytest

import kellet
from kellet import nn


def test_a_vector_of_another_length_is_refused():
    weight = kellet.zeros(2, requires_grad=True)
    with pytest.raises(ValueError, match="found a vector of 3 values; the parameters have 2"):
        nn.utils.vector_to_parameters(kellet.zeros(3), [weight])
    with pytest.raises(TypeError, match="expected Tensor, but got: list"):
        nn.utils.vector_to_parameters([1.0, 2.0], [weight])
