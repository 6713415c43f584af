"""Messages of protocol buffers: what is walked, and a part that would stand twice."""

from __future__ import annotations

import pytest

from packager._libraries.wire_format import Message, walk

_INNER = Message(named={1: "count"})
_ONE = b"\x0a\x02\x08\x07"  # field 1: a message whose field 1 is 7


def test_named_fields_of_all_messages_are_found_in_order() -> None:
    found = [*walk(memoryview(_ONE + _ONE), Message(inside={1: _INNER}))]
    assert [(one.path, one.name) for one in found] == [
        ((), None), ((1,), None), ((1,), "count"), ((1,), None), ((1,), "count")
    ]  # fmt: skip
    assert [one.value for one in found if one.name] == [7, 7]


def test_a_message_that_readers_would_join_stands_once() -> None:
    kind = Message(inside={1: _INNER, 2: _INNER}, once=frozenset({1}))
    other = b"\x12" + _ONE[1:]
    assert len([*walk(memoryview(_ONE + other + other), kind)]) == 7
    with pytest.raises(ValueError, match="expected one message as field 1, found another one"):
        [*walk(memoryview(_ONE + other + _ONE), kind)]
