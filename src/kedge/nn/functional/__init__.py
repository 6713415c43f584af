"""The functions behind the layers, with PyTorch's names and arguments."""

from .activations import celu as celu
from .activations import elu as elu
from .activations import gelu as gelu
from .activations import glu as glu
from .activations import hardsigmoid as hardsigmoid
from .activations import hardswish as hardswish
from .activations import hardtanh as hardtanh
from .activations import leaky_relu as leaky_relu
from .activations import log_softmax as log_softmax
from .activations import logsigmoid as logsigmoid
from .activations import mish as mish
from .activations import normalize as normalize
from .activations import prelu as prelu
from .activations import relu as relu
from .activations import relu6 as relu6
from .activations import selu as selu
from .activations import sigmoid as sigmoid
from .activations import silu as silu
from .activations import softmax as softmax
from .activations import softmin as softmin
from .activations import softplus as softplus
from .activations import softsign as softsign
from .activations import tanh as tanh
from .attention import scaled_dot_product_attention as scaled_dot_product_attention
from .convolution import conv1d as conv1d
from .convolution import conv2d as conv2d
from .convolution import conv3d as conv3d
from .convolution import conv_transpose1d as conv_transpose1d
from .convolution import conv_transpose2d as conv_transpose2d
from .convolution import conv_transpose3d as conv_transpose3d
from .dropout import dropout as dropout
from .dropout import dropout1d as dropout1d
from .dropout import dropout2d as dropout2d
from .dropout import dropout3d as dropout3d
from .linear import bilinear as bilinear
from .linear import cosine_similarity as cosine_similarity
from .linear import embedding as embedding
from .linear import linear as linear
from .linear import one_hot as one_hot
from .linear import pairwise_distance as pairwise_distance
from .losses import binary_cross_entropy as binary_cross_entropy
from .losses import binary_cross_entropy_with_logits as binary_cross_entropy_with_logits
from .losses import cross_entropy as cross_entropy
from .losses import huber_loss as huber_loss
from .losses import kl_div as kl_div
from .losses import l1_loss as l1_loss
from .losses import mse_loss as mse_loss
from .losses import nll_loss as nll_loss
from .losses import smooth_l1_loss as smooth_l1_loss
from .normalization import batch_norm as batch_norm
from .normalization import group_norm as group_norm
from .normalization import instance_norm as instance_norm
from .normalization import layer_norm as layer_norm
from .normalization import rms_norm as rms_norm
from .padding import pad as pad
from .pooling import adaptive_avg_pool1d as adaptive_avg_pool1d
from .pooling import adaptive_avg_pool2d as adaptive_avg_pool2d
from .pooling import adaptive_avg_pool3d as adaptive_avg_pool3d
from .pooling import avg_pool1d as avg_pool1d
from .pooling import avg_pool2d as avg_pool2d
from .pooling import avg_pool3d as avg_pool3d
from .pooling import max_pool1d as max_pool1d
from .pooling import max_pool2d as max_pool2d
from .pooling import max_pool3d as max_pool3d

__all__ = [
    "adaptive_avg_pool1d",
    "adaptive_avg_pool2d",
    "adaptive_avg_pool3d",
    "avg_pool1d",
    "avg_pool2d",
    "avg_pool3d",
    "batch_norm",
    "bilinear",
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "celu",
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
    "cosine_similarity",
    "cross_entropy",
    "dropout",
    "dropout1d",
    "dropout2d",
    "dropout3d",
    "elu",
    "embedding",
    "gelu",
    "glu",
    "group_norm",
    "hardsigmoid",
    "hardswish",
    "hardtanh",
    "huber_loss",
    "instance_norm",
    "kl_div",
    "l1_loss",
    "layer_norm",
    "leaky_relu",
    "linear",
    "log_softmax",
    "logsigmoid",
    "max_pool1d",
    "max_pool2d",
    "max_pool3d",
    "mish",
    "mse_loss",
    "nll_loss",
    "normalize",
    "one_hot",
    "pad",
    "pairwise_distance",
    "prelu",
    "relu",
    "relu6",
    "rms_norm",
    "scaled_dot_product_attention",
    "selu",
    "sigmoid",
    "silu",
    "smooth_l1_loss",
    "softmax",
    "softmin",
    "softplus",
    "softsign",
    "tanh",
]
