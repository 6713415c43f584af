"""Channels laid out as places and back, windows as columns, groups of channels mixed, and one-hot picks."""

from __future__ import annotations

from ...core import Tensor, zeros_like
from ...errors import ShapeError
from .padding import pad
from .sizes import Size, lengths


def pixel_shuffle(input: Tensor, upscale_factor: int) -> Tensor:
    """Return (..., C, H * r, W * r) of (..., C * r * r, H, W): squares of channels become places.

    Raises ShapeError for a number of channels that does not allow it.

    Source: torch.nn.functional.pixel_shuffle.

    >>> pixel_shuffle(kellet.ones(1, 8, 2, 3), 2).shape
    (1, 2, 4, 6)
    """
    _check_image("pixel_shuffle", input)
    r, (*lead, channels, height, width) = upscale_factor, input.shape
    if channels % (r * r):
        raise ShapeError(
            f"pixel_shuffle: {channels} channels are not a multiple of upscale_factor**2, which is {r * r}"
        )
    split = input.reshape(*lead, channels // (r * r), r, r, height, width)
    n = len(lead)
    order = (*range(n), n, n + 3, n + 1, n + 4, n + 2)
    return split.permute(order).reshape(*lead, channels // (r * r), height * r, width * r)


def pixel_unshuffle(input: Tensor, downscale_factor: int) -> Tensor:
    """Return (..., C * r * r, H, W) of (..., C, H * r, W * r): the way back of `pixel_shuffle`.

    Raises ShapeError for lengths that are not multiples of `downscale_factor`.

    Source: torch.nn.functional.pixel_unshuffle.

    >>> pixel_unshuffle(kellet.ones(1, 2, 4, 6), 2).shape
    (1, 8, 2, 3)
    """
    _check_image("pixel_unshuffle", input)
    r, (*lead, channels, height, width) = downscale_factor, input.shape
    if height % r or width % r:
        raise ShapeError(f"pixel_unshuffle: height {height} and width {width} must be multiples of {r}")
    split = input.reshape(*lead, channels, height // r, r, width // r, r)
    n = len(lead)
    order = (*range(n), n, n + 2, n + 4, n + 1, n + 3)
    return split.permute(order).reshape(*lead, channels * r * r, height // r, width // r)


def _check_image(where: str, input: Tensor) -> None:
    if input.ndim < 3:
        raise ShapeError(f"{where}: expected an input of shape (..., C, H, W), got {input.shape}")


def unfold(
    input: Tensor, kernel_size: Size, dilation: Size = 1, padding: Size = 0, stride: Size = 1
) -> Tensor:
    """Return the windows of images (N, C, H, W) as columns (N, C * window, L); of (C, H, W) without N.

    The L windows come row by row; a column holds the values of the first channel first.

    Raises ShapeError where no window fits, or for another number of dimensions.

    Source: torch.nn.functional.unfold.

    >>> unfold(kellet.ones(1, 3, 4, 5), (2, 3)).shape
    (1, 18, 9)
    """
    if input.ndim not in (3, 4):
        raise ShapeError(
            f"unfold: expected an input of 3 (unbatched) or 4 dimensions, got shape {input.shape}"
        )
    height, width = lengths("unfold", "kernel_size", kernel_size, 2, least=1)
    down, across = lengths("unfold", "dilation", dilation, 2, least=1)
    above, beside = lengths("unfold", "padding", padding, 2)
    by_rows, by_columns = lengths("unfold", "stride", stride, 2, least=1)
    images = input if input.ndim == 4 else input.unsqueeze(0)
    wide = pad(images, (beside, beside, above, above))
    rows = wide.unfold(2, (height - 1) * down + 1, by_rows)[..., ::down]
    windows = rows.unfold(3, (width - 1) * across + 1, by_columns)[..., ::across]
    columns = windows.permute(0, 1, 4, 5, 2, 3).flatten(4).flatten(1, 3)
    return columns if input.ndim == 4 else columns.squeeze(0)


def channel_shuffle(input: Tensor, groups: int) -> Tensor:
    """Return the channels of (N, C, ...) in another order: the first of each group, the second of each, ...

    Raises ShapeError for a number of channels that `groups` does not divide.

    Source: torch.nn.functional.channel_shuffle.

    >>> channel_shuffle(kellet.arange(4.0).reshape(1, 4, 1), 2).flatten()
    tensor([0., 2., 1., 3.])
    """
    if input.ndim < 3:
        raise ShapeError(
            f"channel_shuffle: expected an input of more than 2 dimensions, got shape {input.shape}"
        )
    batch, channels, *rest = input.shape
    if channels % groups:
        raise ShapeError(f"channel_shuffle: {channels} channels cannot be split into {groups} groups")
    split = input.reshape(batch, groups, channels // groups, *rest)
    return split.transpose(1, 2).reshape(input.shape)


def gumbel_softmax(logits: Tensor, tau: float = 1, hard: bool = False, dim: int = -1) -> Tensor:
    """Draw from the softmax of `logits` along `dim`, with a gradient: almost one-hot for small `tau`.

    With `hard` the answer is one-hot, and has the gradient of the soft one.

    Source: torch.nn.functional.gumbel_softmax; Jang, Gu and Poole, https://arxiv.org/abs/1611.01144

    >>> gumbel_softmax(kellet.tensor([0.0, 1000.0]), hard=True)
    tensor([0., 1.])
    """
    noise = -zeros_like(logits.detach()).exponential_().log()
    soft = ((logits + noise) / tau).softmax(dim)
    if not hard:
        return soft
    place = soft.detach().argmax(dim, keepdim=True)
    one_hot = zeros_like(soft.detach()).scatter(dim, place, 1.0)
    return one_hot - soft.detach() + soft
