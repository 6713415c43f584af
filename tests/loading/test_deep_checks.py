"""What a deep check hands to its process, how long it waits for the answer, and how it ends the process."""

from __future__ import annotations

import inspect
import io
import json
import os
from types import SimpleNamespace
from typing import Any

import pytest

from packager._archive import (
    ArchiveReader,
    ArchiveWriter,
    ExternRecord,
    Manifest,
    ModuleRecord,
    ObjectRecord,
    StateDictRecord,
    TensorSpec,
    TypeUse,
    add_tensors,
)
from packager._loading import deep_checks, verify, verifying
from packager._loading.deep_checks import Limits, ParsingError, ParsingLimitError, ParsingProcess
from packager.errors import ArgumentError, UntrustedTypeError

MODULE = ModuleRecord("shop", "intern", "r", "b", "shop.py")
OBJECTS = (
    ObjectRecord("m", "plain", "m/plain", types=(TypeUse("shop:Cart", "create"),)),
    ObjectRecord("m", "made", "m/made", "m/made.tensors", "shop:make"),
    ObjectRecord("m", "far", "m/far", None, "far:make"),
)
STATE = StateDictRecord("m", "state", "m/state", "m/state.extras")


@pytest.fixture
def reader() -> Any:
    file = io.BytesIO()
    with ArchiveWriter(file) as writer:
        for name, key in (("m/made.tensors", "w"), ("m/state", "extras:0")):
            add_tensors(writer, name, [TensorSpec(key, "U8", (2,), (1,), 0, 0)], [b"xy"])
        for name in ("m/plain", "m/made", "m/far", "m/none"):
            writer.add(name, b"records", kind="object")
        for name in ("m/state.extras", "m/none.extras"):
            writer.add(name, b"extras", kind="extras")
        writer.add("shop.py", b"x = 1\n", kind="source")
        externs = (ExternRecord("far", "installed", "far-lib", "1.0", "far-lib>=1"),)
        writer.seal(Manifest(modules=(MODULE,), externs=externs, objects=OBJECTS, state_dicts=(STATE,)))
    with ArchiveReader(file.getvalue()) as reader:
        yield reader


class Child:
    """A process that writes down what is done to it."""

    def __init__(self, *lines: bytes) -> None:
        self.done: list[Any] = []
        self.stdin = SimpleNamespace(
            write=lambda data: self.done.append(bytes(data)),
            flush=lambda: self.done.append("flush"),
            close=lambda: self.done.append("close stdin"),
        )
        answers = iter(lines)
        self.stdout = SimpleNamespace(
            readline=lambda: next(answers, b""), close=lambda: self.done.append("close stdout")
        )

    def kill(self) -> None:
        self.done.append("kill")

    def wait(self) -> int:
        self.done.append("wait")
        return 3


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """The orders that are sent; the answer to each is that nothing is wrong."""
    orders: list[dict[str, Any]] = []

    def ask(child: Any, order: dict[str, Any], content: memoryview, *more: memoryview) -> bytes:
        found = {"more": [*map(bytes, more)]} if "again" in order else {}
        orders.append({**order, "content": bytes(content), **found})
        return b"null\n"

    monkeypatch.setattr(deep_checks, "_ask", ask)
    monkeypatch.setattr(deep_checks, "_started", lambda: Child(b"ready\n"))
    return orders


def test_what_is_asked_unless_the_caller_says_otherwise() -> None:
    defaults = {name: one.default for name, one in inspect.signature(verify).parameters.items()}
    assert (defaults["deep"], defaults["memory"], defaults["seconds"]) == (False, 1 << 30, 120)


def test_a_file_is_checked_read_with_bounds_and_by_its_crcs(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ArgumentError, match="file"):
        verify(3)  # type: ignore[arg-type]  # what is tried
    given: list[dict[str, Any]] = []

    def opened(file: Any, **options: Any) -> Any:
        given.append(options)
        raise KeyError("opened")

    monkeypatch.setattr(verifying, "ArchiveReader", opened)
    with pytest.raises(KeyError, match="opened"):
        verify(b"", identity="ab")
    assert given == [{"identity": "ab", "digests": "crc", "mmap": False}]


def test_each_entry_is_handed_over_with_what_the_manifest_says_of_it(
    reader: Any, asked: list[dict[str, Any]]
) -> None:
    with ParsingProcess(reader, Limits(100, 5)) as process:
        process.source(reader, reader.entry("shop.py"))
        for name in ("m/plain", "m/made", "m/none"):
            process.stored(reader, reader.entry(name))
        for name in ("m/state.extras", "m/none.extras"):
            process.extras(reader, reader.entry(name))
        process.migrations(reader, reader.entry("m/none"))
        with pytest.raises(UntrustedTypeError, match="made by the factory 'far:make'"):
            process.stored(reader, reader.entry("m/far"))
    parts = {"kind": "object", "storages": {}, "factory": "", "called": [], "size": 7, "content": b"records"}
    extras = {"kind": "extras", "size": 6, "content": b"extras"}
    listed = [("shop:Cart", "create")]
    plain, made, none = (one for one in asked if one["kind"] == "object")
    assert asked[0] == {"kind": "source", "name": "shop.py", "size": 6, "content": b"x = 1\n"}
    assert plain == {**parts, "what": "object m/plain", "name": "m/plain", "listed": listed}
    assert made == {
        **parts,
        "what": "object m/made",
        "name": "m/made",
        "listed": [],
        "factory": "shop",
        "called": [("shop:make", "call")],
        "storages": {"w": ("U8", 2)},
    }
    assert none == {**parts, "what": "entry 'm/none'", "name": "m/none", "listed": None}
    state, again, alone = asked[4:7]
    assert again == {**state, "again": [["0", 2]], "more": [b"xy"]}  # extras are data
    assert state == {
        **extras,
        "what": "entry 'm/state.extras'",
        "name": "m/state.extras",
        "storages": {"0": ("U8", 2)},
    }
    assert alone == {**extras, "what": "entry 'm/none.extras'", "name": "m/none.extras", "storages": {}}
    assert asked[7] == {"kind": "migration", "name": "m/none", "size": 7, "content": b"records"}


def test_a_process_is_told_once_whom_to_trust(
    reader: Any, asked: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[Child] = []
    monkeypatch.setattr(deep_checks, "_started", lambda: started.append(Child(b"ready\n")) or started[-1])
    with ParsingProcess(reader, Limits(100, 5), ["far:make"]) as process:
        for _ in range(2):
            process.stored(reader, reader.entry("m/far"))
        assert asked[0]["factory"] == "far"
        settings, flush = started[0].done
        assert flush == "flush"
        assert json.loads(settings) == {
            "memory": 100,
            "trust": ["far:make"],
            "interned": ["shop"],
            "externs": ["far"],
            "distributions": {"far": "far-lib 1.0"},
        }
    assert started[0].done[2:] == ["kill", "close stdin", "close stdout", "wait"]
    process.close()  # it has ended
    assert len(started) == 1


@pytest.mark.parametrize("first", [b"", b"no\n"])
def test_a_python_that_cannot_be_started_is_told(
    reader: Any, monkeypatch: pytest.MonkeyPatch, first: bytes
) -> None:
    monkeypatch.setattr(deep_checks, "_started", lambda: Child(first))
    with pytest.raises(RuntimeError, match=r"cannot be started to parse in: exit code 3$"):
        ParsingProcess(reader, Limits(100, 5)).source(reader, reader.entry("shop.py"))


def test_an_entry_may_have_as_many_bytes_as_memory(reader: Any, asked: list[dict[str, Any]]) -> None:
    ParsingProcess(reader, Limits(6, 5)).source(reader, reader.entry("shop.py"))
    assert len(asked) == 1
    with pytest.raises(ParsingLimitError, match=r"^entry 'shop\.py': 6 bytes to parse; 5 bytes of memory"):
        ParsingProcess(reader, Limits(5, 5)).source(reader, reader.entry("shop.py"))
    assert len(asked) == 1


class Timers:
    """A clock that stands still, and timers that say what is done to them."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now, self.said = 100.0, list[Any]()
        monkeypatch.setattr(deep_checks, "time", SimpleNamespace(monotonic=lambda: self.now))
        monkeypatch.setattr(deep_checks, "threading", SimpleNamespace(Timer=self.timer))

    def timer(self, seconds: float, end: Any) -> Any:
        return SimpleNamespace(
            start=lambda: self.said.append((seconds, end.__name__)), cancel=lambda: self.said.append("cancel")
        )


def test_the_process_is_ended_when_the_time_for_all_is_over(
    reader: Any, asked: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    timers, entry = Timers(monkeypatch), reader.entry("shop.py")
    process = ParsingProcess(reader, Limits(100, 5))
    for now in (100.0, 103.0, 104.5):
        timers.now = now
        process.source(reader, entry)
    assert timers.said == [(5.0, "kill"), "cancel", (2.0, "kill"), "cancel", (0.5, "kill"), "cancel"]
    timers.now = 105.0
    with pytest.raises(ParsingLimitError, match=r"not parsed, as entries before it took the 5 seconds"):
        process.source(reader, entry)
    assert len(asked) == 3


@pytest.mark.parametrize(
    ("now", "code", "said"),
    [
        (105.0, 3, "was not parsed within the 5 seconds allowed"),
        (104.9, 77, "takes more than the 100 bytes of memory allowed to parse"),
        (104.9, 3, r"ended the process that parsed it \(exit code 3\)"),
    ],
)
def test_it_is_said_of_what_a_process_died(
    reader: Any, monkeypatch: pytest.MonkeyPatch, now: float, code: int, said: str
) -> None:
    timers, children = Timers(monkeypatch), list[Child]()

    def started() -> Child:
        children.append(Child(b"ready\n", b"nul"))
        monkeypatch.setattr(children[-1], "wait", lambda: code)
        return children[-1]

    def ask(child: Child, order: dict[str, Any], content: memoryview) -> bytes:
        timers.now = now
        return child.stdout.readline()  # type: ignore[no-any-return]  # bytes

    monkeypatch.setattr(deep_checks, "_started", started)
    monkeypatch.setattr(deep_checks, "_ask", ask)
    process = ParsingProcess(reader, Limits(100, 5))
    with pytest.raises(ParsingLimitError, match=rf"^entry 'shop\.py': it {said}. Do not load it, unless you"):
        process.source(reader, reader.entry("shop.py"))
    assert timers.said == [(5.0, "kill"), "cancel"]
    timers.now = 104.9
    monkeypatch.setattr(deep_checks, "_ask", lambda *given: b'"it is wrong"\n')
    with pytest.raises(ParsingError, match=r"^it is wrong$"):
        process.source(reader, reader.entry("shop.py"))
    assert len(children) == 2  # by another process


def test_an_order_is_one_line_and_the_bytes_behind_it() -> None:
    child: Any = Child(b"null\n")
    assert deep_checks._ask(child, {"kind": "source"}, memoryview(b"x = 1")) == b"null\n"
    assert child.done == [b'{"kind": "source"}\n', b"x = 1", "flush"]


def test_a_pipe_that_has_broken_is_left_to_the_answer() -> None:
    def broken(*data: bytes) -> None:
        raise BrokenPipeError

    child: Any = SimpleNamespace(stdin=SimpleNamespace(write=broken, close=broken))
    deep_checks._send(child, b"x")
    deep_checks._close_quietly(child.stdin)


def test_our_own_packages_are_looked_for_where_they_are() -> None:
    import kellet
    import packager

    places = [os.path.dirname(os.path.dirname(str(one.__file__))) for one in (packager, kellet)]
    assert deep_checks._own_folders() == places
