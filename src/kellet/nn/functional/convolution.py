"""Convolutions over one, two and three dimensions, and their transposes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...core import Tensor
from ...core.dispatch import apply, require_one_dtype
from ...errors import ShapeError
from ...rules import RULES
from ...rules.convolution import Geometry
from .padding import pad
from .sizes import Size, lengths, refuse_empty


def conv1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Size = 1,
    padding: Size | str = 0,
    dilation: Size = 1,
    groups: int = 1,
) -> Tensor:
    """Move `weight` (out, in / groups, k) over `input` ((N,) in, L): ((N,) out, L').

    Arguments as for `conv2d`.

    Source: torch.nn.functional.conv1d.

    >>> conv1d(kellet.ones(1, 1, 4), kellet.ones(1, 1, 2))
    tensor([[[2., 2., 2.]]])
    """
    return _convolve(1, input, weight, bias, stride, padding, dilation, groups)


def conv2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Size = 1,
    padding: Size | str = 0,
    dilation: Size = 1,
    groups: int = 1,
) -> Tensor:
    """Move `weight` (out, in / groups, kh, kw) over `input` ((N,) in, H, W): ((N,) out, H', W').

    `padding` is the number of zeros put on both sides, or "valid" (none), or "same" (as many as keep
    the size; stride 1 only). `H' = (H + 2 * padding - dilation * (kh - 1) - 1) // stride + 1`.

    Raises ShapeError, with the shapes, where they do not fit.

    Source: torch.nn.functional.conv2d.

    >>> import kellet
    >>> conv2d(kellet.ones(1, 1, 3, 3), kellet.ones(1, 1, 2, 2))
    tensor([[[[4., 4.],
              [4., 4.]]]])
    """
    return _convolve(2, input, weight, bias, stride, padding, dilation, groups)


def conv3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Size = 1,
    padding: Size | str = 0,
    dilation: Size = 1,
    groups: int = 1,
) -> Tensor:
    """Move `weight` (out, in / groups, kd, kh, kw) over `input` ((N,) in, D, H, W).

    Arguments as for `conv2d`.

    Source: torch.nn.functional.conv3d.

    >>> conv3d(kellet.ones(1, 2, 4, 4, 4), kellet.ones(5, 2, 3, 3, 3)).shape
    (1, 5, 2, 2, 2)
    """
    return _convolve(3, input, weight, bias, stride, padding, dilation, groups)


def conv_transpose1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Size = 1,
    padding: Size = 0,
    output_padding: Size = 0,
    groups: int = 1,
    dilation: Size = 1,
) -> Tensor:
    """Return the transpose of `conv1d`: input ((N,) in, L), weight (in, out / groups, k).

    Source: torch.nn.functional.conv_transpose1d.

    >>> conv_transpose1d(kellet.ones(1, 1, 2), kellet.ones(1, 1, 2))
    tensor([[[1., 2., 1.]]])
    """
    return _transposed(1, input, weight, bias, stride, padding, output_padding, groups, dilation)


def conv_transpose2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Size = 1,
    padding: Size = 0,
    output_padding: Size = 0,
    groups: int = 1,
    dilation: Size = 1,
) -> Tensor:
    """Return the transpose of `conv2d`: input ((N,) in, H, W), weight (in, out / groups, kh, kw).

    `H' = (H - 1) * stride - 2 * padding + dilation * (kh - 1) + output_padding + 1`.

    Source: torch.nn.functional.conv_transpose2d.

    >>> conv_transpose2d(kellet.ones(1, 2, 3, 3), kellet.ones(2, 4, 2, 2), stride=2).shape
    (1, 4, 6, 6)
    """
    return _transposed(2, input, weight, bias, stride, padding, output_padding, groups, dilation)


def conv_transpose3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Size = 1,
    padding: Size = 0,
    output_padding: Size = 0,
    groups: int = 1,
    dilation: Size = 1,
) -> Tensor:
    """Return the transpose of `conv3d`: input ((N,) in, D, H, W), weight (in, out / groups, kd, kh, kw).

    Source: torch.nn.functional.conv_transpose3d.

    >>> conv_transpose3d(kellet.ones(1, 2, 3, 3, 3), kellet.ones(2, 4, 2, 2, 2)).shape
    (1, 4, 4, 4, 4)
    """
    return _transposed(3, input, weight, bias, stride, padding, output_padding, groups, dilation)


# --- over any number of dimensions ----------------------------------------------------------------


def _convolve(
    axes: int,
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Size,
    padding: Size | str,
    dilation: Size,
    groups: int,
) -> Tensor:
    where = f"conv{axes}d"
    if input.ndim == axes + 1:
        input = input.unsqueeze(0)
        return _convolve(axes, input, weight, bias, stride, padding, dilation, groups).squeeze(0)
    _check(where, axes, input, weight, bias, groups, weight.shape[0] if weight.ndim else 0)
    if weight.shape[1] * groups != input.shape[1] or weight.shape[0] % groups:
        raise ShapeError(
            f"{where}: weight of shape {weight.shape} with groups={groups} does not fit input of shape "
            f"{input.shape}; it needs in / groups channels in dimension 1, and groups must divide dimension 0"
        )
    steps = lengths(where, "stride", stride, axes, least=1)
    wide = lengths(where, "dilation", dilation, axes, least=1)
    if isinstance(padding, str):
        input, border = _named_padding(where, input, weight, steps, wide, padding)
    else:
        border = lengths(where, "padding", padding, axes)
    geometry = Geometry(steps, border, wide, groups)
    if min(geometry.places(input.shape[2:], weight.shape[2:])) < 1:
        raise ShapeError(
            f"{where}: the kernel of shape {weight.shape[2:]} (dilation {wide}) is larger than the input of "
            f"shape {input.shape[2:]} with padding {border}; pad more, or use a smaller kernel"
        )
    return apply(RULES["convolution"], (input, weight, bias), {"geometry": geometry})


def _named_padding(
    where: str, input: Tensor, weight: Tensor, stride: Sequence[int], dilation: Sequence[int], padding: str
) -> tuple[Tensor, tuple[int, ...]]:
    """The input and the padding that "valid" and "same" stand for; an odd zero goes to the far side."""
    none = (0,) * len(stride)
    if padding == "valid":
        return input, none
    if padding != "same":
        raise ValueError(f"{where}: padding must be a number, numbers, 'valid' or 'same', got {padding!r}")
    if any(step != 1 for step in stride):
        raise ValueError(f"{where}: padding='same' needs stride 1, got stride {tuple(stride)}")
    total = [d * (k - 1) for d, k in zip(dilation, weight.shape[2:], strict=True)]
    if all(n % 2 == 0 for n in total):
        return input, tuple(n // 2 for n in total)
    return pad(input, [n for both in reversed(total) for n in (both // 2, both - both // 2)]), none


def _transposed(
    axes: int,
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Size,
    padding: Size,
    output_padding: Size,
    groups: int,
    dilation: Size,
) -> Tensor:
    """The gradient of a convolution with regard to its input, as an operation of its own."""
    where = f"conv_transpose{axes}d"
    if input.ndim == axes + 1:
        input = input.unsqueeze(0)
        out = _transposed(axes, input, weight, bias, stride, padding, output_padding, groups, dilation)
        return out.squeeze(0)
    _check(where, axes, input, weight, bias, groups, weight.shape[1] * groups if weight.ndim > 1 else 0)
    if weight.shape[0] != input.shape[1] or weight.shape[0] % groups:
        raise ShapeError(
            f"{where}: weight of shape {weight.shape} with groups={groups} does not fit input of shape "
            f"{input.shape}; dimension 0 of the weight must be the input's channels, and a multiple of groups"
        )
    if input.shape[0]:
        refuse_empty(where, input.shape, 2)
    geometry = Geometry(
        lengths(where, "stride", stride, axes, least=1),
        lengths(where, "padding", padding, axes),
        lengths(where, "dilation", dilation, axes, least=1),
        groups,
    )
    extra = lengths(where, "output_padding", output_padding, axes)
    result = _transposed_lengths(where, input.shape[2:], weight.shape[2:], geometry, extra)
    options: dict[str, Any] = {"lengths": result, "geometry": geometry}
    require_one_dtype(where, input, weight, bias)
    out = apply(RULES["convolution_grad_values"], (input, weight), options)
    return out if bias is None else out + bias.reshape(-1, *(1,) * axes)


def _transposed_lengths(
    where: str, places: Sequence[int], size: Sequence[int], geometry: Geometry, extra: Sequence[int]
) -> tuple[int, ...]:
    result = []
    for n, k, s, p, d, more in zip(
        places, size, geometry.stride, geometry.padding, geometry.dilation, extra, strict=True
    ):
        if more >= max(s, d):
            raise ValueError(
                f"{where}: output_padding must be smaller than stride or dilation, got {tuple(extra)} with "
                f"stride {geometry.stride} and dilation {geometry.dilation}"
            )
        result.append((n - 1) * s - 2 * p + d * (k - 1) + more + 1)
    if min(result) < 1:
        raise ShapeError(f"{where}: the result would have shape {tuple(result)}; use less padding")
    return tuple(result)


def _check(
    where: str, axes: int, input: Tensor, weight: Tensor, bias: Tensor | None, groups: int, channels: int
) -> None:
    if input.ndim != axes + 2:
        raise ShapeError(
            f"{where}: expected an input of {axes + 1} (unbatched) or {axes + 2} dimensions, got shape "
            f"{input.shape}"
        )
    if weight.ndim != axes + 2:
        raise ShapeError(f"{where}: expected a weight of {axes + 2} dimensions, got shape {weight.shape}")
    if groups < 1:
        raise ValueError(f"{where}: groups must be a positive number, got {groups}")
    if bias is not None and bias.shape != (channels,):
        raise ShapeError(
            f"{where}: bias of shape {bias.shape} does not fit weight of shape {weight.shape}; "
            f"it must be ({channels},)"
        )
