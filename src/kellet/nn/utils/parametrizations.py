"""Parametrisations that are ready to use: the weight as length times direction, and of bounded norm."""

from __future__ import annotations

from typing import Any

from ... import core
from ...autograd import no_grad
from ...core import Tensor
from ...core.wrong_arguments import explain_functions as _explain_functions
from .. import functional as F
from ..module import Module
from .parametrize import register_parametrization

__all__ = ["spectral_norm", "weight_norm"]


def weight_norm(module: Module, name: str = "weight", dim: int | None = 0) -> Module:
    """Split a weight into lengths (`original0`) and directions (`original1`); return the module.

    Lengths are taken along all axes but `dim`, or of the whole tensor for None. State dicts of the older
    `nn.utils.weight_norm` load too.

    Source: torch.nn.utils.parametrizations.weight_norm; Salimans and Kingma, https://arxiv.org/abs/1602.07868

    >>> net = weight_norm(kellet.nn.Linear(2, 3))
    >>> net.parametrizations.weight.original0.shape
    (3, 1)
    """
    register_parametrization(module, name, _WeightNorm(dim), unsafe=True)

    def take_older_keys(module: Any, state: Any, prefix: str, *rest: Any) -> None:
        old = [f"{prefix}{name}_{part}" for part in "gv"]
        if all(key in state for key in old):
            for number, key in enumerate(old):
                state[f"{prefix}parametrizations.{name}.original{number}"] = state.pop(key)

    module.register_load_state_dict_pre_hook(take_older_keys)
    return module


def spectral_norm(
    module: Module,
    name: str = "weight",
    n_power_iterations: int = 1,
    eps: float = 1e-12,
    dim: int | None = None,
) -> Module:
    """Divide a weight by its largest singular value, as found by power iterations; return the module.

    Each use in training makes `n_power_iterations` more of them. Rows are along `dim`: 0, and 1 for
    transposed convolutions.

    Raises ValueError for iterations that are not positive, IndexError for an axis that does not exist.

    Source: torch.nn.utils.parametrizations.spectral_norm; Miyato et al., https://arxiv.org/abs/1802.05957

    >>> net = spectral_norm(kellet.nn.Linear(2, 3), n_power_iterations=50)
    >>> round(kellet.linalg.norm(net.weight, 2).item(), 3)
    1.0
    """
    if dim is None:
        dim = 1 if type(module).__name__.startswith("ConvTranspose") else 0
    made = _SpectralNorm(getattr(module, name), n_power_iterations, dim, eps)
    return register_parametrization(module, name, made)


class _WeightNorm(Module):
    def __init__(self, dim: int | None = 0) -> None:
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g: Tensor, weight_v: Tensor) -> Tensor:
        return directed(weight_v, weight_g, self.dim)

    def right_inverse(self, weight: Tensor) -> tuple[Tensor, Tensor]:
        return lengths(weight, self.dim), weight


def lengths(weight: Tensor, dim: int) -> Tensor:
    """Return the norms over all axes but `dim`, kept with length 1; of the whole for -1.

    >>> lengths(kellet.tensor([[3.0, 4.0]]), 0)
    tensor([[5.]])
    """
    if dim == -1:
        return weight.norm()
    return weight.norm(2, [axis for axis in range(weight.ndim) if axis != dim % weight.ndim], keepdim=True)


def directed(direction: Tensor, length: Tensor, dim: int) -> Tensor:
    """Return `direction` scaled to `length`, along all axes but `dim`.

    >>> directed(kellet.tensor([[3.0, 4.0]]), kellet.tensor([[1.0]]), 0)
    tensor([[0.6000, 0.8000]])
    """
    return direction * (length / lengths(direction, dim))


class _SpectralNorm(Module):
    _u: Tensor
    _v: Tensor

    def __init__(self, weight: Tensor, n_power_iterations: int, dim: int, eps: float) -> None:
        super().__init__()
        if not -weight.ndim <= dim < weight.ndim:
            raise IndexError(
                f"Dimension out of range (expected to be in range of [{-weight.ndim}, {weight.ndim - 1}] but "
                f"got {dim})"
            )
        if n_power_iterations <= 0:
            raise ValueError(
                f"Expected n_power_iterations to be positive, but got n_power_iterations={n_power_iterations}"
            )
        self.dim = dim % weight.ndim
        self.eps = eps
        self.n_power_iterations = n_power_iterations
        if weight.ndim > 1:
            rows = self._as_matrix(weight.detach())
            for name, length in zip(("_u", "_v"), rows.shape, strict=True):
                drawn = core.randn(length, dtype=weight.dtype)
                self.register_buffer(name, F.normalize(drawn, dim=0, eps=eps))
            self._iterate(rows, 15)

    def forward(self, weight: Tensor) -> Tensor:
        if weight.ndim == 1:
            return F.normalize(weight, dim=0, eps=self.eps)
        rows = self._as_matrix(weight)
        if self.training:
            self._iterate(rows, self.n_power_iterations)
        # Copies: a later use changes the buffers, and backward of this one needs them as they are.
        largest = self._u.clone().dot(rows.mv(self._v.clone()))
        return weight / largest

    def right_inverse(self, value: Tensor) -> Tensor:
        return value

    def _as_matrix(self, weight: Tensor) -> Tensor:
        return weight.movedim(self.dim, 0).flatten(1)

    def _iterate(self, rows: Tensor, count: int) -> None:
        with no_grad():
            for _ in range(count):
                self._u.copy_(F.normalize(rows.mv(self._v), dim=0, eps=self.eps))
                self._v.copy_(F.normalize(rows.t().conj().mv(self._u), dim=0, eps=self.eps))


_explain_functions(globals())
