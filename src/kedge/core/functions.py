"""The methods of Tensor as functions of the package: the first argument is the tensor.

Names on the left that are not those of the method are PyTorch's second names for the same thing.
"""

from __future__ import annotations

from .tensor import Tensor

__all__ = [
    "abs",
    "absolute",
    "acos",
    "acosh",
    "add",
    "all",
    "allclose",
    "amax",
    "amin",
    "any",
    "arccos",
    "arccosh",
    "arcsin",
    "arcsinh",
    "arctan",
    "arctan2",
    "arctanh",
    "argmax",
    "argmin",
    "argsort",
    "argwhere",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "bitwise_and",
    "bitwise_not",
    "bitwise_or",
    "bitwise_xor",
    "broadcast_to",
    "ceil",
    "chunk",
    "clamp",
    "clip",
    "clone",
    "conj",
    "cos",
    "cosh",
    "count_nonzero",
    "cumprod",
    "cumsum",
    "detach",
    "div",
    "divide",
    "eq",
    "equal",
    "erf",
    "erfc",
    "exp",
    "exp2",
    "expand_as",
    "expm1",
    "flatten",
    "flip",
    "floor",
    "floor_divide",
    "fmod",
    "frac",
    "gather",
    "ge",
    "greater",
    "greater_equal",
    "gt",
    "index_add",
    "index_select",
    "is_complex",
    "is_floating_point",
    "isclose",
    "isfinite",
    "isinf",
    "isnan",
    "le",
    "lerp",
    "less",
    "less_equal",
    "log",
    "log1p",
    "log2",
    "log10",
    "log_softmax",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "logsumexp",
    "lt",
    "masked_fill",
    "masked_select",
    "matmul",
    "max",
    "maximum",
    "mean",
    "min",
    "minimum",
    "moveaxis",
    "movedim",
    "mul",
    "multiply",
    "narrow",
    "ne",
    "neg",
    "negative",
    "nonzero",
    "norm",
    "not_equal",
    "permute",
    "pow",
    "prod",
    "ravel",
    "reciprocal",
    "relu",
    "remainder",
    "reshape",
    "roll",
    "round",
    "rsqrt",
    "scatter",
    "scatter_add",
    "select",
    "sgn",
    "sigmoid",
    "sign",
    "signbit",
    "sin",
    "sinh",
    "softmax",
    "sort",
    "split",
    "sqrt",
    "square",
    "squeeze",
    "std",
    "sub",
    "subtract",
    "sum",
    "swapaxes",
    "swapdims",
    "t",
    "take_along_dim",
    "tan",
    "tanh",
    "topk",
    "transpose",
    "true_divide",
    "trunc",
    "unbind",
    "unflatten",
    "unsqueeze",
    "var",
]

abs = Tensor.abs
absolute = Tensor.abs
acos = Tensor.acos
acosh = Tensor.acosh
add = Tensor.add
all = Tensor.all
allclose = Tensor.allclose
amax = Tensor.amax
amin = Tensor.amin
any = Tensor.any
arccos = Tensor.acos
arccosh = Tensor.acosh
arcsin = Tensor.asin
arcsinh = Tensor.asinh
arctan = Tensor.atan
arctan2 = Tensor.atan2
arctanh = Tensor.atanh
argmax = Tensor.argmax
argmin = Tensor.argmin
argsort = Tensor.argsort
argwhere = Tensor.nonzero
asin = Tensor.asin
asinh = Tensor.asinh
atan = Tensor.atan
atan2 = Tensor.atan2
atanh = Tensor.atanh
bitwise_and = Tensor.bitwise_and
bitwise_not = Tensor.bitwise_not
bitwise_or = Tensor.bitwise_or
bitwise_xor = Tensor.bitwise_xor
broadcast_to = Tensor.broadcast_to
ceil = Tensor.ceil
chunk = Tensor.chunk
clamp = Tensor.clamp
clip = Tensor.clamp
clone = Tensor.clone
conj = Tensor.conj
cos = Tensor.cos
cosh = Tensor.cosh
count_nonzero = Tensor.count_nonzero
cumprod = Tensor.cumprod
cumsum = Tensor.cumsum
detach = Tensor.detach
div = Tensor.div
divide = Tensor.div
eq = Tensor.eq
equal = Tensor.equal
erf = Tensor.erf
erfc = Tensor.erfc
exp = Tensor.exp
exp2 = Tensor.exp2
expand_as = Tensor.expand_as
expm1 = Tensor.expm1
flatten = Tensor.flatten
flip = Tensor.flip
floor = Tensor.floor
floor_divide = Tensor.floor_divide
fmod = Tensor.fmod
frac = Tensor.frac
gather = Tensor.gather
ge = Tensor.ge
greater = Tensor.gt
greater_equal = Tensor.ge
gt = Tensor.gt
index_add = Tensor.index_add
index_select = Tensor.index_select
is_complex = Tensor.is_complex
is_floating_point = Tensor.is_floating_point
isclose = Tensor.isclose
isfinite = Tensor.isfinite
isinf = Tensor.isinf
isnan = Tensor.isnan
le = Tensor.le
lerp = Tensor.lerp
less = Tensor.lt
less_equal = Tensor.le
log = Tensor.log
log10 = Tensor.log10
log1p = Tensor.log1p
log2 = Tensor.log2
log_softmax = Tensor.log_softmax
logical_and = Tensor.logical_and
logical_not = Tensor.logical_not
logical_or = Tensor.logical_or
logical_xor = Tensor.logical_xor
logsumexp = Tensor.logsumexp
lt = Tensor.lt
masked_fill = Tensor.masked_fill
masked_select = Tensor.masked_select
matmul = Tensor.matmul
max = Tensor.max
maximum = Tensor.maximum
mean = Tensor.mean
min = Tensor.min
minimum = Tensor.minimum
moveaxis = Tensor.movedim
movedim = Tensor.movedim
mul = Tensor.mul
multiply = Tensor.mul
narrow = Tensor.narrow
ne = Tensor.ne
neg = Tensor.neg
negative = Tensor.neg
nonzero = Tensor.nonzero
norm = Tensor.norm
not_equal = Tensor.ne
permute = Tensor.permute
pow = Tensor.pow
prod = Tensor.prod
ravel = Tensor.ravel
reciprocal = Tensor.reciprocal
relu = Tensor.relu
remainder = Tensor.remainder
reshape = Tensor.reshape
roll = Tensor.roll
round = Tensor.round
rsqrt = Tensor.rsqrt
scatter = Tensor.scatter
scatter_add = Tensor.scatter_add
select = Tensor.select
sgn = Tensor.sgn
sigmoid = Tensor.sigmoid
sign = Tensor.sign
signbit = Tensor.signbit
sin = Tensor.sin
sinh = Tensor.sinh
softmax = Tensor.softmax
sort = Tensor.sort
split = Tensor.split
sqrt = Tensor.sqrt
square = Tensor.square
squeeze = Tensor.squeeze
std = Tensor.std
sub = Tensor.sub
subtract = Tensor.sub
sum = Tensor.sum
swapaxes = Tensor.swapaxes
swapdims = Tensor.transpose
t = Tensor.t
take_along_dim = Tensor.take_along_dim
tan = Tensor.tan
tanh = Tensor.tanh
topk = Tensor.topk
transpose = Tensor.transpose
true_divide = Tensor.div
trunc = Tensor.trunc
unbind = Tensor.unbind
unflatten = Tensor.unflatten
unsqueeze = Tensor.unsqueeze
var = Tensor.var
