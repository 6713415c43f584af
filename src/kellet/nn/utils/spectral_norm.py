"""Spectral normalisation by a forward pre-hook: the older form, whose state keys end in _orig, _u and _v."""

from __future__ import annotations

from typing import Any

from ... import core
from ...autograd import no_grad
from ...core.wrong_arguments import explain_functions as _explain_functions
from .. import functional as F
from ..module import Module
from ..parameter import Parameter
from .weight_hooks import put_hook, refuse_second, take_hook


def spectral_norm(
    module: Module,
    name: str = "weight",
    n_power_iterations: int = 1,
    eps: float = 1e-12,
    dim: int | None = None,
) -> Module:
    """Divide a weight by its largest singular value before each call of the module; return the module.

    The value is found by power iterations, of which each call in training makes `n_power_iterations` more.
    Rows are along `dim`: 0, and 1 for transposed convolutions.

    Raises RuntimeError for a second time, ValueError for iterations that are not positive.

    Source: torch.nn.utils.spectral_norm; `parametrizations.spectral_norm` is newer. Here the metadata of the
    state dict has no version of it.

    >>> [key for key in spectral_norm(kellet.nn.Linear(2, 3)).state_dict()]
    ['bias', 'weight_orig', 'weight_u', 'weight_v']
    """
    refuse_second(module, "spectral_norm", name)
    if n_power_iterations <= 0:
        raise ValueError(
            f"Expected n_power_iterations to be positive, but got n_power_iterations={n_power_iterations}"
        )
    if dim is None:
        dim = 1 if type(module).__name__.startswith("ConvTranspose") else 0
    hook = _SpectralNorm(name, n_power_iterations, dim, eps)
    weight = module._parameters.pop(name)
    assert weight is not None  # it was there to be divided
    rows = hook.rows(weight.detach())
    drawn = [F.normalize(core.randn(n, dtype=weight.dtype), dim=0, eps=eps) for n in rows.shape]
    module.register_parameter(f"{name}_orig", weight)
    setattr(module, name, weight.detach())
    for part, value in zip("uv", drawn, strict=True):
        module.register_buffer(f"{name}_{part}", value)
    put_hook(module, "spectral_norm", name, hook)
    return module


def remove_spectral_norm(module: Module, name: str = "weight") -> Module:
    """Make a plain parameter of the weight again, with the value that it had; return the module.

    Raises ValueError where `spectral_norm` was not used on it.

    >>> net = spectral_norm(kellet.nn.Linear(2, 3))
    >>> sorted(remove_spectral_norm(net).state_dict())
    ['bias', 'weight']
    """
    hook: _SpectralNorm = take_hook(module, "spectral_norm", name)
    with no_grad():
        value = hook.weight(module, iterate=False).detach()
    delattr(module, name)
    del module._parameters[f"{name}_orig"]
    for part in "uv":
        del module._buffers[f"{name}_{part}"]
    module.register_parameter(name, Parameter(value))
    return module


class _SpectralNorm:
    """The hook."""

    def __init__(self, name: str, n_power_iterations: int, dim: int, eps: float) -> None:
        self.name = name
        self.n_power_iterations = n_power_iterations
        self.dim = dim
        self.eps = eps

    def rows(self, weight: Any) -> Any:
        return weight.movedim(self.dim, 0).flatten(1)

    def weight(self, module: Any, *, iterate: bool) -> Any:
        weight = getattr(module, f"{self.name}_orig")
        u, v = (getattr(module, f"{self.name}_{part}") for part in "uv")
        rows = self.rows(weight)
        if iterate:
            with no_grad():
                for _ in range(self.n_power_iterations):
                    v.copy_(F.normalize(rows.t().mv(u), dim=0, eps=self.eps))
                    u.copy_(F.normalize(rows.mv(v), dim=0, eps=self.eps))
        # Copies: a later call changes the buffers, and backward of this one needs them as they are.
        return weight / u.clone().dot(rows.mv(v.clone()))

    def __call__(self, module: Any, args: Any) -> None:
        setattr(module, self.name, self.weight(module, iterate=module.training))


_explain_functions(globals())
