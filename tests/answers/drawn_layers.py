"""For every layer of `kellet.nn`: how to draw its options, and inputs that mostly fit."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tests.answers import choices as st
from tests.answers.drawn import Case, Values, image, optional, shapes, sized, values, yes_or_no

Strategy = Callable[[str], st.Choice[Case]]
LAYERS: dict[str, Strategy] = {}


def layer(*names: str, **fixed: Any) -> Callable[[Callable[..., Case]], Callable[..., Case]]:
    """Enter a function `(draw, values, **fixed)` that makes a case under each of `names`."""

    def enter(make: Callable[..., Case]) -> Callable[..., Case]:
        for name in names:
            LAYERS[name] = strategy(make, **fixed)
        return make

    return enter


def strategy(make: Callable[..., Case], **fixed: Any) -> Strategy:
    @st.composite
    def drawn(draw: st.Draw, dtype: str) -> Case:
        return make(draw, draw(values(dtype)), **fixed)

    return drawn


# Functions of one value

SLOPE = st.sampled_from([0.01, 0.5, 1.0, -0.3])
SPREAD = st.sampled_from([0.5, 1.0, 2.5])
INPLACE = {"inplace": yes_or_no}
ACTIVATIONS: dict[str, dict[str, st.Choice[Any]]] = {
    "ReLU": INPLACE,
    "SiLU": INPLACE,
    "GELU": {"approximate": st.sampled_from(["none", "tanh", "other"])},
    "Tanh": {},
    "Sigmoid": {},
    "LeakyReLU": {"negative_slope": SLOPE, **INPLACE},
    "ELU": {"alpha": SPREAD, **INPLACE},
    "SELU": INPLACE,
    "CELU": {"alpha": SPREAD, **INPLACE},
    "Hardtanh": {"min_val": st.sampled_from([-1.5, 0.0]), "max_val": st.sampled_from([0.5, 2.0]), **INPLACE},
    "ReLU6": INPLACE,
    "Mish": INPLACE,
    "Softplus": {"beta": SPREAD, "threshold": st.sampled_from([0.5, 3.0, 20.0])},
    "Softsign": {},
    "LogSigmoid": {},
    "Hardsigmoid": INPLACE,
    "Hardswish": INPLACE,
    "Tanhshrink": {},
    "Hardshrink": {"lambd": SPREAD},
    "Softshrink": {"lambd": SPREAD},
    "Softmax": {"dim": st.sampled_from([None, 0, 1, -1, -2, 3])},
    "Softmin": {"dim": st.sampled_from([None, 0, 1, -1, -2, 3])},
    "LogSoftmax": {"dim": st.sampled_from([None, 0, 1, -1, -2, 3])},
    "GLU": {"dim": st.sampled_from([0, 1, -1, -2])},
    "Identity": {"anything": st.integers()},
    "Flatten": {"start_dim": st.integers(-4, 3), "end_dim": st.integers(-4, 3)},
}


def cloned(function: Any, x: Any, **given: Any) -> Any:
    """Call with what is no leaf, so that it may be written to, and tell what it has become."""
    y = x * 1
    return function(y, **given), y


def activation(draw: st.Draw, drawn: Values, options: dict[str, Any]) -> Case:
    chosen = draw(optional(**options))
    if chosen.get("inplace") and chosen.get("negative_slope", 1) < 0:
        chosen["negative_slope"] = 0.5  # torch has no derivative of the other in place
    shape = draw(shapes())
    scale = draw(st.sampled_from([1.0, 4.0, 30.0]))
    call = cloned if chosen.get("inplace") else None
    return Case((drawn(*shape, scale=scale),), options=chosen, call=call)


for _name, _options in ACTIVATIONS.items():
    LAYERS[_name] = strategy(activation, options=_options)


@layer("Threshold")
def threshold(draw: st.Draw, drawn: Values) -> Case:
    args = (draw(st.sampled_from([0.0, 0.5, -1.0])), draw(st.sampled_from([0.0, 7.0])))
    return Case((drawn(*draw(shapes())),), args, draw(optional(**INPLACE)), call=cloned)


@layer("PReLU")
def prelu(draw: st.Draw, drawn: Values) -> Case:
    shape = draw(shapes())
    fitting = shape[1] if len(shape) > 1 else 1
    args = (draw(st.sampled_from([1, fitting, fitting, 2])),)
    return Case((drawn(*shape),), args, draw(optional(init=SLOPE)))


@layer("Dropout", low=0, high=5)
@layer("Dropout1d", low=2, high=3)
@layer("Dropout2d", low=3, high=4)
@layer("Dropout3d", low=4, high=5)
def dropout(draw: st.Draw, drawn: Values, low: int, high: int) -> Case:
    """Nothing by chance: evaluating, or keeping all, or nothing."""
    evaluating = draw(yes_or_no)
    chances = [0.0, 0.3, 1.0, 1.5] if evaluating else [0.0, 1.0]
    options = {"p": draw(st.sampled_from(chances)), **draw(optional(**INPLACE))}
    return Case((drawn(*draw(shapes(low, high))),), (), options, evaluating=evaluating, call=cloned)


# Weights


@layer("Linear")
def linear(draw: st.Draw, drawn: Values) -> Case:
    width, out = draw(st.integers(1, 5)), draw(st.integers(1, 5))
    shape = (*draw(shapes(0, 3)), width + draw(st.sampled_from([0, 0, 0, 0, 1])))
    return Case((drawn(*shape),), (width, out), draw(optional(bias=yes_or_no)))


@layer("Bilinear")
def bilinear(draw: st.Draw, drawn: Values) -> Case:
    sizes = draw(st.tuples(*[st.integers(1, 4)] * 3))
    lead = draw(shapes(0, 3))
    inputs = drawn(*lead, sizes[0]), drawn(*lead, sizes[1], number=1)
    return Case(inputs, sizes, draw(optional(bias=yes_or_no)))


def channels(draw: st.Draw) -> tuple[int, int, int]:
    """Draw the channels that go in and out, and the groups."""
    groups = draw(st.sampled_from([1, 1, 2, 3]))
    return groups * draw(st.integers(1, 2)), groups * draw(st.integers(1, 2)), groups


def convolution(draw: st.Draw, drawn: Values, axes: int) -> Case:
    inside, outside, groups = channels(draw)
    kernel = draw(sized(axes, 1, 3))
    options = draw(
        optional(
            stride=sized(axes, 1, 3),
            padding=st.one_of(sized(axes, 0, 2), st.sampled_from(["same", "valid"])),
            dilation=sized(axes, 1, 2),
            bias=yes_or_no,
            padding_mode=st.sampled_from(["zeros", "reflect", "replicate", "circular"]),
        )
    )
    x = drawn(*image(draw, axes, inside))
    return Case((x,), (inside, outside, kernel), {**options, "groups": groups})


def transposed(draw: st.Draw, drawn: Values, axes: int) -> Case:
    inside, outside, groups = channels(draw)
    kernel = draw(sized(axes, 1, 3))
    options = draw(
        optional(
            stride=sized(axes, 1, 3),
            padding=sized(axes, 0, 2),
            output_padding=sized(axes, 0, 1),
            bias=yes_or_no,
            dilation=sized(axes, 1, 2),
        )
    )
    shape = image(draw, axes, inside)
    st.assume(all(_transposed_size(options, kernel, shape, axis, axes) for axis in range(axes)))
    given = {}
    if draw(st.sampled_from([False, False, True])):
        given["output_size"] = draw(st.tuples(*[st.integers(1, 9)] * axes))
    return Case((drawn(*shape),), (inside, outside, kernel), {**options, "groups": groups}, given)


def _transposed_size(
    options: Mapping[str, Any], kernel: Any, shape: Sequence[int], axis: int, axes: int
) -> int:
    """The size that comes out along an axis; PyTorch takes 0, which is refused here (see the guide)."""

    def along(value: Any) -> int:
        return value if isinstance(value, int) else value[axis]

    stride, dilation = along(options.get("stride", 1)), along(options.get("dilation", 1))
    wide = (shape[axis - axes] - 1) * stride + dilation * (along(kernel) - 1) + 1
    return max(0, wide - 2 * along(options.get("padding", 0)) + along(options.get("output_padding", 0)))


@layer("Embedding")
def embedding(draw: st.Draw, drawn: Values) -> Case:
    count, width = draw(st.integers(1, 5)), draw(st.integers(1, 4))
    options = draw(
        optional(
            padding_idx=st.integers(-6, 5),
            max_norm=st.sampled_from([0.3, 1.0]),
            norm_type=st.sampled_from([1.0, 2.0, 3.0]),
        )
    )
    high = count + draw(st.sampled_from([0, 0, 0, 3]))
    return Case((drawn.below(high, *draw(shapes(0, 3))),), (count, width), options)


@layer("EmbeddingBag")
def bags(draw: st.Draw, drawn: Values) -> Case:
    count, width = draw(st.integers(1, 5)), draw(st.integers(1, 4))
    options = draw(
        optional(
            max_norm=st.sampled_from([0.3, 1.0]),
            norm_type=st.sampled_from([1.0, 2.0]),
            mode=st.sampled_from(["mean", "sum", "max"]),
            include_last_offset=yes_or_no,
            padding_idx=st.integers(-count, count - 1),
        )
    )
    inputs: tuple[Any, ...]
    if draw(yes_or_no):
        inputs = (drawn.below(count, *draw(shapes(2, 2, least=1))),)
    else:
        length = draw(st.integers(1, 7))
        starts = draw(st.lists(st.integers(0, length), max_size=3).map(sorted))
        last = [length] if options.get("include_last_offset") else []
        inputs = (drawn.below(count, length), drawn.below(1, 1 + len(starts) + len(last)))
        inputs[1][1:] = [*starts, *last]
    given = {}
    if draw(yes_or_no):
        given["per_sample_weights"] = drawn(*inputs[0].shape, number=1)
    return Case(inputs, (count, width), options, given)


# Windows


def max_pool(draw: st.Draw, drawn: Values, axes: int) -> Case:
    options = draw(
        optional(
            stride=sized(axes, 1, 3),
            padding=sized(axes, 0, 1),
            dilation=sized(axes, 1, 2),
            return_indices=yes_or_no,
            ceil_mode=yes_or_no,
        )
    )
    if "dilation" in options:  # a window may lie in the padding alone: torch writes outside its memory
        options.pop("padding", None)
    return Case((drawn(*image(draw, axes, 2)),), (draw(sized(axes, 1, 3)),), options)


def avg_pool(draw: st.Draw, drawn: Values, axes: int) -> Case:
    more = {"divisor_override": st.sampled_from([1, 2, 5, -1, 0])} if axes > 1 else {}
    options = draw(
        optional(
            stride=sized(axes, 1, 3),
            padding=sized(axes, 0, 1),
            ceil_mode=yes_or_no,
            count_include_pad=yes_or_no,
            **more,
        )
    )
    # torch refuses volumes smaller than the window, padded or not.
    x = drawn(*image(draw, axes, 2, shortest=3 if axes == 3 else 1))
    return Case((x,), (draw(sized(axes, 1, 3)),), options)


def power_pool(draw: st.Draw, drawn: Values, axes: int) -> Case:
    power = draw(st.sampled_from([1.0, 2.0, 3.0, 1.5, 2]))
    window = draw(sized(axes, 1, 3)) if axes > 1 else draw(st.integers(1, 3))
    options = draw(optional(stride=sized(axes, 1, 3), ceil_mode=yes_or_no))
    x = drawn(*image(draw, axes, 2, shortest=3 if axes == 3 else 1))
    return Case((abs(x) + 0.1 if power == 1.5 else x,), (power, window), options)


def adaptive(draw: st.Draw, drawn: Values, axes: int) -> Case:
    one = st.one_of(st.integers(1, 5), st.none()) if axes > 1 else st.integers(1, 5)
    size = draw(st.one_of(st.integers(1, 4), st.tuples(*[one] * axes)))
    return Case((drawn(*image(draw, axes, 2)),), (size,))


def pad(draw: st.Draw, drawn: Values, axes: int, kind: str) -> Case:
    # Others read past what was cut off in torch, and circles have a wrong derivative there.
    width = st.integers(-1 if kind in ("Constant", "Zero") else 0, 3)
    widths = draw(st.one_of(width, st.tuples(*[width] * (2 * axes))))
    extra = (draw(st.sampled_from([0.0, 1.5, -2])),) if kind == "Constant" else ()
    return Case((drawn(*image(draw, axes, 2)),), (widths, *extra))


for _axes in (1, 2, 3):
    LAYERS[f"Conv{_axes}d"] = strategy(convolution, axes=_axes)
    LAYERS[f"ConvTranspose{_axes}d"] = strategy(transposed, axes=_axes)
    LAYERS[f"MaxPool{_axes}d"] = strategy(max_pool, axes=_axes)
    LAYERS[f"AvgPool{_axes}d"] = strategy(avg_pool, axes=_axes)
    LAYERS[f"LPPool{_axes}d"] = strategy(power_pool, axes=_axes)
    LAYERS[f"AdaptiveAvgPool{_axes}d"] = strategy(adaptive, axes=_axes)
    LAYERS[f"AdaptiveMaxPool{_axes}d"] = strategy(adaptive, axes=_axes)
    for _kind in ("Constant", "Zero", "Reflection", "Replication", "Circular"):
        LAYERS[f"{_kind}Pad{_axes}d"] = strategy(pad, axes=_axes, kind=_kind)


# Normalisation

EPS = st.sampled_from([1e-5, 1e-3, 0.5])


def norm(draw: st.Draw, drawn: Values, axes: int, instance: bool) -> Case:
    count = draw(st.integers(1, 4))
    moments = [0.1, 0.3, 1.0] if instance else [0.1, 0.3, 1.0, None]
    options = draw(
        optional(
            eps=EPS,
            momentum=st.sampled_from(moments),
            affine=yes_or_no,
            track_running_stats=yes_or_no,
            bias=yes_or_no,
        )
    )
    shape = image(draw, axes, count + draw(st.sampled_from([0, 0, 0, 0, 1])))
    if axes == 1 and not instance and draw(yes_or_no):
        shape = shape[:-1]
    return Case((drawn(*shape),), (count,), options, evaluating=draw(yes_or_no))


for _axes in (1, 2, 3):
    LAYERS[f"BatchNorm{_axes}d"] = strategy(norm, axes=_axes, instance=False)
    LAYERS[f"InstanceNorm{_axes}d"] = strategy(norm, axes=_axes, instance=True)


@layer("GroupNorm")
def group_norm(draw: st.Draw, drawn: Values) -> Case:
    groups = draw(st.integers(1, 3))
    count = groups * draw(st.integers(1, 3)) + draw(st.sampled_from([0, 0, 0, 1]))
    shape = (draw(st.integers(1, 3)), count, *draw(shapes(0, 3)))
    return Case((drawn(*shape),), (groups, count), draw(optional(eps=EPS, affine=yes_or_no, bias=yes_or_no)))


def over_last(draw: st.Draw, drawn: Values, **more: st.Choice[Any]) -> Case:
    last = draw(shapes(1, 2, least=1))
    shape = (*draw(shapes(0, 2)), *last)
    wanted = last[0] if len(last) == 1 and draw(yes_or_no) else last
    return Case((drawn(*shape),), (wanted,), draw(optional(elementwise_affine=yes_or_no, **more)))


LAYERS["LayerNorm"] = strategy(over_last, eps=EPS, bias=yes_or_no)
LAYERS["RMSNorm"] = strategy(over_last, eps=st.one_of(EPS, st.none()))


# Shapes


@layer("Unflatten")
def unflatten(draw: st.Draw, drawn: Values) -> Case:
    shape = list(draw(shapes(1, 3)))
    dim = draw(st.integers(-len(shape), len(shape) - 1))
    parts = draw(shapes(1, 3, least=1))
    product = 1
    for part in parts:
        product *= part
    shape[dim] = product * draw(st.integers(1, 2))
    place = draw(st.integers(0, len(parts) - 1))
    sizes = tuple(-1 if draw(yes_or_no) and n == place else part for n, part in enumerate(parts))
    return Case((drawn(*shape),), (dim, sizes))


@layer("PixelShuffle", up=True)
@layer("PixelUnshuffle", up=False)
def pixels(draw: st.Draw, drawn: Values, up: bool) -> Case:
    factor = draw(st.integers(1, 3))
    lead, (count, *lengths) = draw(shapes(0, 2)), draw(shapes(3, 3, least=1))
    off = draw(st.sampled_from([0, 0, 0, 1]))
    shape = (*lead, count * factor**2 + off, *lengths)
    if not up:
        shape = (*lead, count, lengths[0] * factor + off, lengths[1] * factor)
    return Case((drawn(*shape),), (factor,))


@layer("Unfold")
def unfold(draw: st.Draw, drawn: Values) -> Case:
    options = draw(optional(stride=sized(2, 1, 3), padding=sized(2, 0, 2), dilation=sized(2, 1, 2)))
    return Case((drawn(*image(draw, 2, draw(st.integers(1, 3)))),), (draw(sized(2, 1, 3)),), options)


@layer("ChannelShuffle")
def channel_shuffle(draw: st.Draw, drawn: Values) -> Case:
    groups = draw(st.integers(1, 3))
    count = groups * draw(st.integers(1, 3)) + draw(st.sampled_from([0, 0, 0, 1]))
    return Case((drawn(draw(st.integers(1, 2)), count, *draw(shapes(0, 3))),), (groups,))


MODES = ["nearest", "nearest-exact", "linear", "bilinear", "bicubic", "trilinear", "area"]
FITTING = {
    1: ["nearest", "nearest-exact", "linear", "area"],
    2: ["nearest", "nearest-exact", "bilinear", "bicubic", "area"],
    3: ["nearest", "nearest-exact", "trilinear", "area"],
}


def target(draw: st.Draw, axes: int) -> dict[str, Any]:
    scale = st.sampled_from([0.4, 0.5, 1.0, 1.7, 2, 2.3, 3.0])
    if draw(yes_or_no):
        return {"size": draw(sized(axes, 1, 7))}
    return {"scale_factor": draw(st.one_of(scale, st.tuples(*[scale] * axes)))}


@layer("Upsample")
def upsample(draw: st.Draw, drawn: Values) -> Case:
    axes = draw(st.integers(1, 3))
    mode = draw(st.one_of(*[st.sampled_from(FITTING[axes])] * 4, st.sampled_from(MODES)))
    options = draw(optional(align_corners=st.sampled_from([None, True, False])))
    if "linear" not in mode and mode != "bicubic" and draw(yes_or_no):
        options = {}
    found = target(draw, axes)
    if "scale_factor" in found:
        options |= draw(optional(recompute_scale_factor=st.sampled_from([None, True, False])))
    shape = (draw(st.integers(1, 2)), 2, *draw(shapes(axes, axes, least=1)))
    return Case((drawn(*shape),), (), {"mode": mode, **found, **options})


@layer("UpsamplingNearest2d", "UpsamplingBilinear2d")
def upsampling(draw: st.Draw, drawn: Values) -> Case:
    return Case((drawn(2, *draw(shapes(3, 3))),), (), target(draw, 2))


# Distances


@layer("CosineSimilarity", eps=True)
@layer("PairwiseDistance", eps=False)
def distance(draw: st.Draw, drawn: Values, eps: bool) -> Case:
    shape = draw(shapes(1, 3))
    other = list(shape)
    if draw(st.sampled_from([False, False, True])):
        other[0] = 1
    inputs = drawn(*shape), drawn(*other, number=1)
    if eps:
        dims = st.integers(-len(shape), len(shape) - 1)
        return Case(inputs, (), draw(optional(dim=dims, eps=st.sampled_from([1e-8, 1e-6]))))
    powers = st.sampled_from([0.5, 1.0, 2.0, 3.0, float("inf")])
    more = optional(p=powers, eps=st.sampled_from([1e-6, 0.1]), keepdim=yes_or_no)
    return Case(inputs, (), draw(more))
