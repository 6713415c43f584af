"""Helpers for tests of code on kellet: values compared, derivatives checked against finite differences."""

from ..autograd import gradcheck as gradcheck
from ..autograd import gradgradcheck as gradgradcheck
from .comparison import assert_close as assert_close

__all__ = ["assert_close", "gradcheck", "gradgradcheck"]
