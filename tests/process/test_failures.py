"""What the code of a model raised, in one line: its class, its text where it has one, and the place."""

from __future__ import annotations

import pytest

from packager._names import PackageMangler
from packager._process import failure_of_model

MANGLED = PackageMangler().mangle("shop.net")


@pytest.mark.parametrize(
    ("raised", "told"),
    [
        ("MemoryError()", "MemoryError"),
        ("AssertionError()", "AssertionError"),
        ("NotImplementedError", "NotImplementedError"),
        ("ValueError('too wide')", "ValueError: too wide"),
        (
            f"ImportError('cannot import name x from {MANGLED}')",
            "ImportError: cannot import name x from shop.net",
        ),
    ],
)
def test_an_error_without_a_text_is_its_class_and_its_place(raised: str, told: str) -> None:
    program = compile(f"def forward():\n    raise {raised}", "net.py", "exec")
    names = {"__name__": MANGLED}
    exec(program, names)
    with pytest.raises(Exception) as caught:  # noqa: PT011 - of any class
        names["forward"]()  # type: ignore[operator]  # a function by now
    assert failure_of_model(caught.value) == f"{told}, at net.py:2 in forward"
