"""A generic class with arguments is stored by its class and these, and made again without asking it."""

import typing

import pytest

from packager._codecs.base import CannotStore, Child
from packager._codecs.typing_forms import TypingCodec
from tests.tables import one_test

T = typing.TypeVar("T")
P = typing.ParamSpec("P")


class Box(typing.Generic[T]):
    """A class whose `__class_getitem__` may not run while data is read."""

    asked: typing.ClassVar[list[object]] = []

    def __class_getitem__(cls, item):
        cls.asked.append(item)
        return super().__class_getitem__(item)


class Job(typing.Generic[P]):
    """A class that is generic in the parameters of a call."""


class Counter(typing.Generic[T]):
    """A class with the name of a form of typing."""


def test_the_class_is_not_asked_when_the_form_is_made_again():
    form = Box[list[int]]
    Box.asked.clear()
    codec = TypingCodec()
    made = codec.decode("[]", [Box, list[int]], 1, None)
    assert (made, made.__origin__, made.__args__) == (form, Box, (list[int],))
    assert Box.asked == []


def test_a_class_with_the_name_of_a_form_is_itself():
    node = TypingCodec().encode(Counter[int], None)
    assert (node.literal, tuple(node.children)) == ("[]", (Counter, int))
    assert TypingCodec().encode(typing.Counter[int], None).literal == "Counter"


@pytest.mark.parametrize("form", [Job[[int, str]], typing.Annotated[int, "x"]])
def test_arguments_that_are_no_types_are_refused_as_before(form):
    with pytest.raises(CannotStore, match="a form of typing that cannot be stored"):
        TypingCodec().encode(form, None)


@one_test
@pytest.mark.parametrize(
    "children",
    [
        [],
        [Child("global")],
        [Child("object"), Child("global")],
        [Child("codec", "typing.form"), Child("global")],
        [Child("global"), Child("list")],
        [Child("global"), Child("scalar", value=3)],
        [Child("global"), Child("tensor")],
    ],
)
def test_a_record_that_no_export_writes_is_refused_before_anything_is_imported(children):
    with pytest.raises(ValueError, match="argument"):
        TypingCodec().check("[]", children, 1)


@pytest.mark.parametrize("children", [[print, int], [3, int], [Box, 3]])
def test_what_is_no_class_is_refused_when_it_is_made(children):
    with pytest.raises(ValueError, match="argument"):
        TypingCodec().decode("[]", children, 1, None)
