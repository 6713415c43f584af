"""What code for PyTorch asks of the libraries behind it, answered for the CPU: none of them is here."""

from . import cuda as cuda
from . import cudnn as cudnn
from . import mps as mps

__all__ = ["cuda", "cudnn", "mps"]
