"""kedge: tensors, autograd and modules on NumPy, with a hook at every step."""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

from . import autograd as autograd
from . import core as core
from . import dtypes as dtypes
from . import errors as errors
from . import hooks as hooks
from .autograd import enable_grad as enable_grad
from .autograd import inference_mode as inference_mode
from .autograd import is_grad_enabled as is_grad_enabled
from .autograd import no_grad as no_grad
from .autograd import set_grad_enabled as set_grad_enabled
from .core import Device as Device
from .core import Tensor as Tensor
from .core import abs as abs
from .core import absolute as absolute
from .core import acos as acos
from .core import acosh as acosh
from .core import add as add
from .core import addcdiv as addcdiv
from .core import addcmul as addcmul
from .core import addmm as addmm
from .core import addmv as addmv
from .core import all as all
from .core import allclose as allclose
from .core import amax as amax
from .core import amin as amin
from .core import aminmax as aminmax
from .core import angle as angle
from .core import any as any
from .core import arange as arange
from .core import arccos as arccos
from .core import arccosh as arccosh
from .core import arcsin as arcsin
from .core import arcsinh as arcsinh
from .core import arctan as arctan
from .core import arctan2 as arctan2
from .core import arctanh as arctanh
from .core import argmax as argmax
from .core import argmin as argmin
from .core import argsort as argsort
from .core import argwhere as argwhere
from .core import as_tensor as as_tensor
from .core import asin as asin
from .core import asinh as asinh
from .core import atan as atan
from .core import atan2 as atan2
from .core import atanh as atanh
from .core import baddbmm as baddbmm
from .core import bernoulli as bernoulli
from .core import bincount as bincount
from .core import bitwise_and as bitwise_and
from .core import bitwise_not as bitwise_not
from .core import bitwise_or as bitwise_or
from .core import bitwise_xor as bitwise_xor
from .core import bmm as bmm
from .core import broadcast_tensors as broadcast_tensors
from .core import broadcast_to as broadcast_to
from .core import cat as cat
from .core import ceil as ceil
from .core import chunk as chunk
from .core import clamp as clamp
from .core import clip as clip
from .core import clone as clone
from .core import concat as concat
from .core import concatenate as concatenate
from .core import conj as conj
from .core import cos as cos
from .core import cosh as cosh
from .core import count_nonzero as count_nonzero
from .core import cumprod as cumprod
from .core import cumsum as cumsum
from .core import deg2rad as deg2rad
from .core import detach as detach
from .core import diag as diag
from .core import diag_embed as diag_embed
from .core import diagonal as diagonal
from .core import diff as diff
from .core import div as div
from .core import divide as divide
from .core import dot as dot
from .core import einsum as einsum
from .core import empty as empty
from .core import empty_like as empty_like
from .core import eq as eq
from .core import equal as equal
from .core import erf as erf
from .core import erfc as erfc
from .core import exp as exp
from .core import exp2 as exp2
from .core import expand_as as expand_as
from .core import expm1 as expm1
from .core import eye as eye
from .core import flatten as flatten
from .core import flip as flip
from .core import floor as floor
from .core import floor_divide as floor_divide
from .core import fmod as fmod
from .core import frac as frac
from .core import from_dlpack as from_dlpack
from .core import from_numpy as from_numpy
from .core import full as full
from .core import full_like as full_like
from .core import gather as gather
from .core import ge as ge
from .core import generator as generator
from .core import greater as greater
from .core import greater_equal as greater_equal
from .core import gt as gt
from .core import hstack as hstack
from .core import hypot as hypot
from .core import imag as imag
from .core import index_add as index_add
from .core import index_select as index_select
from .core import initial_seed as initial_seed
from .core import is_complex as is_complex
from .core import is_floating_point as is_floating_point
from .core import is_tensor as is_tensor
from .core import isclose as isclose
from .core import isfinite as isfinite
from .core import isin as isin
from .core import isinf as isinf
from .core import isnan as isnan
from .core import le as le
from .core import lerp as lerp
from .core import less as less
from .core import less_equal as less_equal
from .core import linspace as linspace
from .core import log as log
from .core import log1p as log1p
from .core import log2 as log2
from .core import log10 as log10
from .core import log_softmax as log_softmax
from .core import logaddexp as logaddexp
from .core import logical_and as logical_and
from .core import logical_not as logical_not
from .core import logical_or as logical_or
from .core import logical_xor as logical_xor
from .core import logit as logit
from .core import logsumexp as logsumexp
from .core import lt as lt
from .core import manual_seed as manual_seed
from .core import masked_fill as masked_fill
from .core import masked_select as masked_select
from .core import matmul as matmul
from .core import max as max
from .core import maximum as maximum
from .core import mean as mean
from .core import meshgrid as meshgrid
from .core import min as min
from .core import minimum as minimum
from .core import mm as mm
from .core import moveaxis as moveaxis
from .core import movedim as movedim
from .core import mul as mul
from .core import multiply as multiply
from .core import mv as mv
from .core import nan_to_num as nan_to_num
from .core import narrow as narrow
from .core import ne as ne
from .core import neg as neg
from .core import negative as negative
from .core import nonzero as nonzero
from .core import norm as norm
from .core import normal as normal
from .core import not_equal as not_equal
from .core import numel as numel
from .core import ones as ones
from .core import ones_like as ones_like
from .core import outer as outer
from .core import permute as permute
from .core import positive as positive
from .core import pow as pow
from .core import prod as prod
from .core import rad2deg as rad2deg
from .core import rand as rand
from .core import rand_like as rand_like
from .core import randint as randint
from .core import randn as randn
from .core import randn_like as randn_like
from .core import randperm as randperm
from .core import ravel as ravel
from .core import real as real
from .core import reciprocal as reciprocal
from .core import relu as relu
from .core import remainder as remainder
from .core import repeat_interleave as repeat_interleave
from .core import reshape as reshape
from .core import roll as roll
from .core import rot90 as rot90
from .core import round as round
from .core import rsqrt as rsqrt
from .core import rsub as rsub
from .core import scatter as scatter
from .core import scatter_add as scatter_add
from .core import select as select
from .core import sgn as sgn
from .core import sigmoid as sigmoid
from .core import sign as sign
from .core import signbit as signbit
from .core import sin as sin
from .core import sinh as sinh
from .core import softmax as softmax
from .core import sort as sort
from .core import split as split
from .core import sqrt as sqrt
from .core import square as square
from .core import squeeze as squeeze
from .core import stack as stack
from .core import std as std
from .core import std_mean as std_mean
from .core import sub as sub
from .core import subtract as subtract
from .core import sum as sum
from .core import swapaxes as swapaxes
from .core import swapdims as swapdims
from .core import t as t
from .core import take_along_dim as take_along_dim
from .core import tan as tan
from .core import tanh as tanh
from .core import tensor as tensor
from .core import tensor_split as tensor_split
from .core import tensordot as tensordot
from .core import tile as tile
from .core import topk as topk
from .core import trace as trace
from .core import transpose as transpose
from .core import tril as tril
from .core import triu as triu
from .core import true_divide as true_divide
from .core import trunc as trunc
from .core import unbind as unbind
from .core import unflatten as unflatten
from .core import unique as unique
from .core import unsqueeze as unsqueeze
from .core import var as var
from .core import var_mean as var_mean
from .core import vstack as vstack
from .core import where as where
from .core import zeros as zeros
from .core import zeros_like as zeros_like
from .dtypes import bool_ as bool
from .dtypes import complex64 as complex64
from .dtypes import complex128 as complex128
from .dtypes import float16 as float16
from .dtypes import float16 as half
from .dtypes import float32 as float
from .dtypes import float32 as float32
from .dtypes import float64 as double
from .dtypes import float64 as float64
from .dtypes import get_default_dtype as get_default_dtype
from .dtypes import int8 as int8
from .dtypes import int16 as int16
from .dtypes import int32 as int
from .dtypes import int32 as int32
from .dtypes import int64 as int64
from .dtypes import int64 as long
from .dtypes import set_default_dtype as set_default_dtype
from .dtypes import uint8 as uint8
from .dtypes import uint16 as uint16
from .dtypes import uint32 as uint32
from .dtypes import uint64 as uint64

if _TYPE_CHECKING:
    from . import nn as nn
    from . import optim as optim
    from . import utils as utils

__all__ = [
    "Device",
    "Tensor",
    "abs",
    "absolute",
    "acos",
    "acosh",
    "add",
    "addcdiv",
    "addcmul",
    "addmm",
    "addmv",
    "all",
    "allclose",
    "amax",
    "amin",
    "aminmax",
    "angle",
    "any",
    "arange",
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
    "as_tensor",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "autograd",
    "baddbmm",
    "bernoulli",
    "bincount",
    "bitwise_and",
    "bitwise_not",
    "bitwise_or",
    "bitwise_xor",
    "bmm",
    "bool",
    "broadcast_tensors",
    "broadcast_to",
    "cat",
    "ceil",
    "chunk",
    "clamp",
    "clip",
    "clone",
    "complex64",
    "complex128",
    "concat",
    "concatenate",
    "conj",
    "core",
    "cos",
    "cosh",
    "count_nonzero",
    "cumprod",
    "cumsum",
    "deg2rad",
    "detach",
    "diag",
    "diag_embed",
    "diagonal",
    "diff",
    "div",
    "divide",
    "dot",
    "double",
    "dtypes",
    "einsum",
    "empty",
    "empty_like",
    "enable_grad",
    "eq",
    "equal",
    "erf",
    "erfc",
    "errors",
    "exp",
    "exp2",
    "expand_as",
    "expm1",
    "eye",
    "flatten",
    "flip",
    "float",
    "float16",
    "float32",
    "float64",
    "floor",
    "floor_divide",
    "fmod",
    "frac",
    "from_dlpack",
    "from_numpy",
    "full",
    "full_like",
    "gather",
    "ge",
    "generator",
    "get_default_dtype",
    "greater",
    "greater_equal",
    "gt",
    "half",
    "hooks",
    "hstack",
    "hypot",
    "imag",
    "index_add",
    "index_select",
    "inference_mode",
    "initial_seed",
    "int",
    "int8",
    "int16",
    "int32",
    "int64",
    "is_complex",
    "is_floating_point",
    "is_grad_enabled",
    "is_tensor",
    "isclose",
    "isfinite",
    "isin",
    "isinf",
    "isnan",
    "le",
    "lerp",
    "less",
    "less_equal",
    "linspace",
    "log",
    "log1p",
    "log2",
    "log10",
    "log_softmax",
    "logaddexp",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "logit",
    "logsumexp",
    "long",
    "lt",
    "manual_seed",
    "masked_fill",
    "masked_select",
    "matmul",
    "max",
    "maximum",
    "mean",
    "meshgrid",
    "min",
    "minimum",
    "mm",
    "moveaxis",
    "movedim",
    "mul",
    "multiply",
    "mv",
    "nan_to_num",
    "narrow",
    "ne",
    "neg",
    "negative",
    "nn",
    "no_grad",
    "nonzero",
    "norm",
    "normal",
    "not_equal",
    "numel",
    "ones",
    "ones_like",
    "optim",
    "outer",
    "permute",
    "positive",
    "pow",
    "prod",
    "rad2deg",
    "rand",
    "rand_like",
    "randint",
    "randn",
    "randn_like",
    "randperm",
    "ravel",
    "real",
    "reciprocal",
    "relu",
    "remainder",
    "repeat_interleave",
    "reshape",
    "roll",
    "rot90",
    "round",
    "rsqrt",
    "rsub",
    "scatter",
    "scatter_add",
    "select",
    "set_default_dtype",
    "set_grad_enabled",
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
    "stack",
    "std",
    "std_mean",
    "sub",
    "subtract",
    "sum",
    "swapaxes",
    "swapdims",
    "t",
    "take_along_dim",
    "tan",
    "tanh",
    "tensor",
    "tensor_split",
    "tensordot",
    "tile",
    "topk",
    "trace",
    "transpose",
    "tril",
    "triu",
    "true_divide",
    "trunc",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "unbind",
    "unflatten",
    "unique",
    "unsqueeze",
    "utils",
    "var",
    "var_mean",
    "vstack",
    "where",
    "zeros",
    "zeros_like",
]

# The rooms above the tensors, imported when first asked for: `import kedge` stays quick.
_ROOMS = frozenset({"nn", "optim", "utils"})


def __getattr__(name: str) -> _Any:
    if name in _ROOMS:
        return _import_module(f".{name}", __name__)
    return dtypes.__getattr__(name)  # bfloat16 and float8 dtypes, where ml_dtypes is installed
