"""What tests of code on kedge need: derivatives checked against finite differences."""

from ..autograd import gradcheck as gradcheck
from ..autograd import gradgradcheck as gradgradcheck

__all__ = ["gradcheck", "gradgradcheck"]
