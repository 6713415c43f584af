"""Parameters as one vector, and back."""

from __future__ import annotations

from collections.abc import Iterable

from ...core import Tensor, cat
from ...core.wrong_arguments import explain_functions as _explain_functions


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """Return all values of some parameters as one vector, in their order; gradients flow through it.

    Source: torch.nn.utils.parameters_to_vector.

    >>> kellet.nn.utils.parameters_to_vector([kellet.tensor([[1.0, 2.0]]), kellet.tensor([3.0])])
    tensor([1., 2., 3.])
    """
    return cat([parameter.reshape(-1) for parameter in parameters])


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Let parameters share the memory of a vector, part by part, in their order.

    Raises TypeError for a value that is not a tensor, ValueError for one with another number of values.

    Source: torch.nn.utils.vector_to_parameters; there, a vector that is too long is cut without a word.

    >>> weight = kellet.tensor([[0.0, 0.0]], requires_grad=True)
    >>> kellet.nn.utils.vector_to_parameters(kellet.tensor([1.0, 2.0]), [weight])
    >>> weight.tolist()
    [[1.0, 2.0]]
    """
    if not isinstance(vec, Tensor):
        raise TypeError(f"expected Tensor, but got: {type(vec).__name__}")
    several = list(parameters)
    wanted = sum(parameter.numel() for parameter in several)
    if vec.numel() != wanted:
        raise ValueError(f"found a vector of {vec.numel()} values; the parameters have {wanted}")
    start = 0
    for parameter in several:
        part = vec[start : start + parameter.numel()]
        parameter.data = part.reshape(parameter.shape).data
        start += parameter.numel()


_explain_functions(globals())
