"""Code objects are compared by what they do, wherever they stand."""

from __future__ import annotations

from types import CodeType

import pytest

from packager._graph import codes_in, same_code

SOURCE = (
    "def make(k):\n    @k\n    class Local:\n        size = 3\n        wide = 300\n"
    "    return [Local, lambda x: x + 1]\n"
)


def code(source: str, name: str = "make") -> CodeType:
    """The code object of that name."""
    (found,) = (one for one in codes_in(compile(source, "<text>", "exec")) if one.co_name == name)
    return found


def test_codes_come_in_the_order_of_the_source() -> None:
    names = [one.co_qualname for one in codes_in(compile(SOURCE, "<text>", "exec"))]
    assert names == ["<module>", "make", "make.<locals>.Local", "make.<locals>.<lambda>"]


@pytest.mark.parametrize("name", ["make", "Local", "<lambda>"])
def test_the_same_text_further_down_is_the_same_code(name: str) -> None:
    for lines in (3, 300):
        assert same_code(code(SOURCE, name), code("\n" * lines + SOURCE, name))


@pytest.mark.parametrize(
    ("old", "new"), [("3", "4"), ("x + 1", "x + 1.0"), ("@k", "@k.a"), ("size", "width")]
)
def test_another_constant_or_name_is_other_code(old: str, new: str) -> None:
    assert not same_code(code(SOURCE), code(SOURCE.replace(old, new, 1)))
