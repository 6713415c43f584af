"""Tensors: the class, the functions that make and transform them."""

from .arranging import diag as diag
from .arranging import diag_embed as diag_embed
from .arranging import diagonal as diagonal
from .arranging import diff as diff
from .arranging import repeat_interleave as repeat_interleave
from .arranging import rot90 as rot90
from .arranging import tensor_split as tensor_split
from .arranging import tile as tile
from .arranging import trace as trace
from .arranging import tril as tril
from .arranging import triu as triu
from .creation import arange as arange
from .creation import as_tensor as as_tensor
from .creation import empty as empty
from .creation import empty_like as empty_like
from .creation import eye as eye
from .creation import from_dlpack as from_dlpack
from .creation import from_numpy as from_numpy
from .creation import full as full
from .creation import full_like as full_like
from .creation import linspace as linspace
from .creation import ones as ones
from .creation import ones_like as ones_like
from .creation import tensor as tensor
from .creation import zeros as zeros
from .creation import zeros_like as zeros_like
from .derived import addcdiv as addcdiv
from .derived import addcmul as addcmul
from .derived import aminmax as aminmax
from .derived import angle as angle
from .derived import bincount as bincount
from .derived import deg2rad as deg2rad
from .derived import hypot as hypot
from .derived import imag as imag
from .derived import isin as isin
from .derived import logaddexp as logaddexp
from .derived import logit as logit
from .derived import nan_to_num as nan_to_num
from .derived import positive as positive
from .derived import rad2deg as rad2deg
from .derived import real as real
from .derived import rsub as rsub
from .derived import std_mean as std_mean
from .derived import unique as unique
from .derived import var_mean as var_mean
from .device import Device as Device
from .functions import abs as abs
from .functions import absolute as absolute
from .functions import acos as acos
from .functions import acosh as acosh
from .functions import add as add
from .functions import all as all
from .functions import allclose as allclose
from .functions import amax as amax
from .functions import amin as amin
from .functions import any as any
from .functions import arccos as arccos
from .functions import arccosh as arccosh
from .functions import arcsin as arcsin
from .functions import arcsinh as arcsinh
from .functions import arctan as arctan
from .functions import arctan2 as arctan2
from .functions import arctanh as arctanh
from .functions import argmax as argmax
from .functions import argmin as argmin
from .functions import argsort as argsort
from .functions import argwhere as argwhere
from .functions import asin as asin
from .functions import asinh as asinh
from .functions import atan as atan
from .functions import atan2 as atan2
from .functions import atanh as atanh
from .functions import bitwise_and as bitwise_and
from .functions import bitwise_not as bitwise_not
from .functions import bitwise_or as bitwise_or
from .functions import bitwise_xor as bitwise_xor
from .functions import broadcast_to as broadcast_to
from .functions import ceil as ceil
from .functions import chunk as chunk
from .functions import clamp as clamp
from .functions import clip as clip
from .functions import clone as clone
from .functions import conj as conj
from .functions import cos as cos
from .functions import cosh as cosh
from .functions import count_nonzero as count_nonzero
from .functions import cumprod as cumprod
from .functions import cumsum as cumsum
from .functions import detach as detach
from .functions import div as div
from .functions import divide as divide
from .functions import eq as eq
from .functions import equal as equal
from .functions import erf as erf
from .functions import erfc as erfc
from .functions import exp as exp
from .functions import exp2 as exp2
from .functions import expand_as as expand_as
from .functions import expm1 as expm1
from .functions import flatten as flatten
from .functions import flip as flip
from .functions import floor as floor
from .functions import floor_divide as floor_divide
from .functions import fmod as fmod
from .functions import frac as frac
from .functions import gather as gather
from .functions import ge as ge
from .functions import greater as greater
from .functions import greater_equal as greater_equal
from .functions import gt as gt
from .functions import index_add as index_add
from .functions import index_select as index_select
from .functions import is_complex as is_complex
from .functions import is_floating_point as is_floating_point
from .functions import isclose as isclose
from .functions import isfinite as isfinite
from .functions import isinf as isinf
from .functions import isnan as isnan
from .functions import le as le
from .functions import lerp as lerp
from .functions import less as less
from .functions import less_equal as less_equal
from .functions import log as log
from .functions import log1p as log1p
from .functions import log2 as log2
from .functions import log10 as log10
from .functions import log_softmax as log_softmax
from .functions import logical_and as logical_and
from .functions import logical_not as logical_not
from .functions import logical_or as logical_or
from .functions import logical_xor as logical_xor
from .functions import logsumexp as logsumexp
from .functions import lt as lt
from .functions import masked_fill as masked_fill
from .functions import masked_select as masked_select
from .functions import matmul as matmul
from .functions import max as max
from .functions import maximum as maximum
from .functions import mean as mean
from .functions import min as min
from .functions import minimum as minimum
from .functions import moveaxis as moveaxis
from .functions import movedim as movedim
from .functions import mul as mul
from .functions import multiply as multiply
from .functions import narrow as narrow
from .functions import ne as ne
from .functions import neg as neg
from .functions import negative as negative
from .functions import nonzero as nonzero
from .functions import norm as norm
from .functions import not_equal as not_equal
from .functions import permute as permute
from .functions import pow as pow
from .functions import prod as prod
from .functions import ravel as ravel
from .functions import reciprocal as reciprocal
from .functions import relu as relu
from .functions import remainder as remainder
from .functions import reshape as reshape
from .functions import roll as roll
from .functions import round as round
from .functions import rsqrt as rsqrt
from .functions import scatter as scatter
from .functions import scatter_add as scatter_add
from .functions import select as select
from .functions import sgn as sgn
from .functions import sigmoid as sigmoid
from .functions import sign as sign
from .functions import signbit as signbit
from .functions import sin as sin
from .functions import sinh as sinh
from .functions import softmax as softmax
from .functions import sort as sort
from .functions import split as split
from .functions import sqrt as sqrt
from .functions import square as square
from .functions import squeeze as squeeze
from .functions import std as std
from .functions import sub as sub
from .functions import subtract as subtract
from .functions import sum as sum
from .functions import swapaxes as swapaxes
from .functions import swapdims as swapdims
from .functions import t as t
from .functions import take_along_dim as take_along_dim
from .functions import tan as tan
from .functions import tanh as tanh
from .functions import topk as topk
from .functions import transpose as transpose
from .functions import true_divide as true_divide
from .functions import trunc as trunc
from .functions import unbind as unbind
from .functions import unflatten as unflatten
from .functions import unsqueeze as unsqueeze
from .functions import var as var
from .indexing import where as where
from .joining import broadcast_tensors as broadcast_tensors
from .joining import cat as cat
from .joining import concat as concat
from .joining import concatenate as concatenate
from .joining import hstack as hstack
from .joining import is_tensor as is_tensor
from .joining import meshgrid as meshgrid
from .joining import numel as numel
from .joining import stack as stack
from .joining import vstack as vstack
from .products import addmm as addmm
from .products import addmv as addmv
from .products import baddbmm as baddbmm
from .products import bmm as bmm
from .products import dot as dot
from .products import einsum as einsum
from .products import mm as mm
from .products import mv as mv
from .products import outer as outer
from .products import tensordot as tensordot
from .random import bernoulli as bernoulli
from .random import generator as generator
from .random import initial_seed as initial_seed
from .random import manual_seed as manual_seed
from .random import normal as normal
from .random import rand as rand
from .random import rand_like as rand_like
from .random import randint as randint
from .random import randn as randn
from .random import randn_like as randn_like
from .random import randperm as randperm
from .tensor import Tensor as Tensor

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
    "baddbmm",
    "bernoulli",
    "bincount",
    "bitwise_and",
    "bitwise_not",
    "bitwise_or",
    "bitwise_xor",
    "bmm",
    "broadcast_tensors",
    "broadcast_to",
    "cat",
    "ceil",
    "chunk",
    "clamp",
    "clip",
    "clone",
    "concat",
    "concatenate",
    "conj",
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
    "einsum",
    "empty",
    "empty_like",
    "eq",
    "equal",
    "erf",
    "erfc",
    "exp",
    "exp2",
    "expand_as",
    "expm1",
    "eye",
    "flatten",
    "flip",
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
    "greater",
    "greater_equal",
    "gt",
    "hstack",
    "hypot",
    "imag",
    "index_add",
    "index_select",
    "initial_seed",
    "is_complex",
    "is_floating_point",
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
    "nonzero",
    "norm",
    "normal",
    "not_equal",
    "numel",
    "ones",
    "ones_like",
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
    "unbind",
    "unflatten",
    "unique",
    "unsqueeze",
    "var",
    "var_mean",
    "vstack",
    "where",
    "zeros",
    "zeros_like",
]
