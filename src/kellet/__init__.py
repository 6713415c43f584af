"""kellet: tensors, autograd and modules on NumPy, with a hook at every step."""

from importlib import import_module as _import_module
from math import e as e
from math import inf as inf
from math import nan as nan
from math import pi as pi
from typing import TYPE_CHECKING

from . import autograd as autograd
from . import core as core
from . import dtype_table as _dtype_table
from . import dtypes as dtypes
from . import errors as errors
from . import hooks as hooks
from .absent import absent as _absent
from .autograd import enable_grad as enable_grad
from .autograd import inference_mode as inference_mode
from .autograd import is_grad_enabled as is_grad_enabled
from .autograd import no_grad as no_grad
from .autograd import set_grad_enabled as set_grad_enabled
from .autograd.anomaly_mode import is_anomaly_check_nan_enabled as is_anomaly_check_nan_enabled
from .autograd.anomaly_mode import is_anomaly_enabled as is_anomaly_enabled
from .core import *
from .core import Device as device
from .dtype_table import *
from .dtypes import bool_ as bool
from .dtypes import float16 as half
from .dtypes import float32 as float
from .dtypes import float64 as double
from .dtypes import get_default_dtype as get_default_dtype
from .dtypes import int32 as int
from .dtypes import int64 as long
from .dtypes import set_default_dtype as set_default_dtype
from .limits import Size as Size
from .limits import dtype as dtype
from .limits import finfo as finfo
from .limits import iinfo as iinfo

newaxis = None

if TYPE_CHECKING:
    from . import accelerator as accelerator
    from . import backends as backends
    from . import cuda as cuda
    from . import data as data
    from . import distributed as distributed
    from . import files as files
    from . import futures as futures
    from . import linalg as linalg
    from . import nn as nn
    from . import optim as optim
    from . import testing as testing
    from . import utils as utils
    from .files import load as load
    from .files import save as save

    __version__: str
    bfloat16: dtypes.DType
    float8_e4m3fn: dtypes.DType
    float8_e5m2: dtypes.DType
    float8_e4m3fnuz: dtypes.DType
    float8_e5m2fnuz: dtypes.DType

if not TYPE_CHECKING:  # type checkers read the stars above, and no list that is put together
    __all__ = [
        "Size",
        "accelerator",
        "autograd",
        "backends",
        "bool",
        "core",
        "cuda",
        "data",
        "device",
        "distributed",
        "double",
        "dtype",
        "dtypes",
        "e",
        "enable_grad",
        "errors",
        "files",
        "finfo",
        "float",
        "futures",
        "get_default_dtype",
        "half",
        "hooks",
        "iinfo",
        "inf",
        "inference_mode",
        "int",
        "is_anomaly_check_nan_enabled",
        "is_anomaly_enabled",
        "is_grad_enabled",
        "linalg",
        "load",
        "long",
        "nan",
        "newaxis",
        "nn",
        "no_grad",
        "optim",
        "pi",
        "save",
        "set_default_dtype",
        "set_grad_enabled",
        "testing",
        "utils",
        *core.__all__,
        *_dtype_table.__all__,
    ]

# The packages above the tensors, imported when first used: `import kellet` stays quick.
_SUBPACKAGES = frozenset(
    "accelerator backends cuda data distributed files futures linalg nn optim testing utils".split()
)

if not TYPE_CHECKING:  # type checkers would take every name for one that is here

    def __getattr__(name):
        if name in _SUBPACKAGES:
            return _import_module(f".{name}", __name__)
        if name in ("load", "save"):
            return getattr(_import_module(".files", __name__), name)
        if name == "__version__":  # of the distribution, whose metadata has it from pyproject.toml
            metadata = _import_module("importlib.metadata")
            try:
                return metadata.version("kellet")
            except metadata.PackageNotFoundError as error:
                raise AttributeError(
                    "kellet has no __version__, as it is not installed; run python -m pip install -e . "
                    "in its folder"
                ) from error
        try:
            return dtypes.__getattr__(name)  # bfloat16 and float8 dtypes, where ml_dtypes is installed
        except AttributeError:
            raise _absent("", name) from None
