"""What is refused: the error that both libraries raise, and whether it says what it should."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from tests.answers.telling import ERRORS, raised


def refusal(call: Callable[[], Any], message: str | None = None) -> Any:
    """Call; of an error tell `message` where it is in the text, and else the text."""
    try:
        return call()
    except ERRORS as error:
        text = str(error)
        return raised(error, message or "" if message is None or re.search(message, text) else text)
