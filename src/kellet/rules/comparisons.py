"""Comparisons, logic and bits: no derivatives here, for nothing here is smooth."""

from __future__ import annotations

import operator

import numpy as np

from .rule import SAME, rule

__all__: list[str] = []

eq = rule("eq", np.equal, promote=SAME)
ne = rule("ne", np.not_equal, promote=SAME)
lt = rule("lt", np.less, promote=SAME)
le = rule("le", np.less_equal, promote=SAME)
gt = rule("gt", np.greater, promote=SAME)
ge = rule("ge", np.greater_equal, promote=SAME)

isnan = rule("isnan", np.isnan)
isinf = rule("isinf", np.isinf)
isfinite = rule("isfinite", np.isfinite)
signbit = rule("signbit", np.signbit)

logical_not = rule("logical_not", np.logical_not)
logical_and = rule("logical_and", np.logical_and)
logical_or = rule("logical_or", np.logical_or)
logical_xor = rule("logical_xor", np.logical_xor)

bitwise_not = rule("bitwise_not", operator.invert)
bitwise_and = rule("bitwise_and", np.bitwise_and, promote=SAME)
bitwise_or = rule("bitwise_or", np.bitwise_or, promote=SAME)
bitwise_xor = rule("bitwise_xor", np.bitwise_xor, promote=SAME)
left_shift = rule("left_shift", np.left_shift, promote=SAME)
right_shift = rule("right_shift", np.right_shift, promote=SAME)
