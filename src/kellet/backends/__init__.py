"""The questions that code for PyTorch asks about its libraries: here each is reported as absent."""

from . import cuda as cuda
from . import cudnn as cudnn
from . import mps as mps

__all__ = ["cuda", "cudnn", "mps"]
