"""What tests of code on kellet need: derivatives checked against finite differences."""

from ..autograd import gradcheck as gradcheck
from ..autograd import gradgradcheck as gradgradcheck

__all__ = ["gradcheck", "gradgradcheck"]
