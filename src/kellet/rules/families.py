"""Which file each rule is in. A file is imported when one of its rules is first asked for."""

from __future__ import annotations

__all__ = ["FAMILIES", "FAMILY_OF"]

FAMILIES: dict[str, str] = {
    "activations": "elu leaky_relu log_sigmoid relu sigmoid silu softplus",
    "attention": "attention",
    "comparisons": (
        "bitwise_and bitwise_not bitwise_or bitwise_xor eq ge gt isfinite isinf isnan le left_shift "
        "logical_and logical_not logical_or logical_xor lt ne right_shift signbit"
    ),
    "contraction": "contract",
    "convolution": "convolution convolution_grad_kernel convolution_grad_values",
    "copying": "cast clone index overwrite place put replace slice",
    "division": "div_floor div_trunc floor_divide fmod lerp remainder",
    "elementwise": "add conj div exp log mul neg sub",
    "extrema": "all amax amin any argmax argmin count_nonzero max min sort topk",
    "functions": (
        "acos acosh asin asinh atan atan2 atanh ceil cos cosh exp2 expm1 floor frac log10 log1p log2 "
        "round sin sinh tan tanh trunc"
    ),
    "indexing": "embedding gather index_select masked_select scatter spread spread_mask spread_slices",
    "joining": "cat flip narrow pad roll select split stack unbind",
    "linear": "linear",
    "losses": "binary_cross_entropy cross_entropy mse_loss nll_loss smooth_abs",
    "matmul": "matmul",
    "normalization": "batch_norm layer_norm",
    "pooling": "avg_pool max_pool pool_indexes pool_winners spread_average unpool",
    "powers": "abs imag pow real reciprocal rsqrt sgn sign sqrt square",
    "products": "cumprod prod product_of_others",
    "reductions": "sum sum_to",
    "selection": "clamp keep masked_fill maximum minimum where",
    "shape": "expand permute reshape",
    "softmax": "log_softmax softmax",
    "special": "erf erfc gelu gelu_tanh",
    "statistics": "cumsum logsumexp mean norm std var",
    "strided": "diagonal spread_diagonal spread_windows windows",
}
"""The names of the rules by file."""

FAMILY_OF = {name: family for family, names in FAMILIES.items() for name in names.split()}
"""The file by the name of the rule."""
