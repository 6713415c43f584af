"""What the process of a deep check answers to each order, and the limits that it sets itself."""

from __future__ import annotations

import io
import json
import re
import resource
import sys
import warnings
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from packager._loading import parsing_process
from packager._objects import encode
from packager._objects.records import Kind as K
from packager._objects.records import spelled_int
from tests.attacks import object_forger as forge

SETTINGS: dict[str, Any] = {"trust": [], "interned": ["m"], "externs": [], "distributions": {}}
SOURCE = {"kind": "source", "name": "m.py"}
OBJECT: dict[str, Any] = {"kind": "object", "what": "object m/o", "storages": {}, "factory": "m"}


def problem(order: dict[str, Any], content: bytes, **settings: Any) -> str | None:
    return parsing_process._problem(order, content, {**SETTINGS, **settings})


# --- sources ---


@pytest.mark.skipif(sys.version_info >= (3, 14), reason="since Python 3.14 both are refused")
def test_a_source_is_compiled_as_it_says_and_not_as_our_own_is() -> None:
    annotated = b"def f():\n    def g(x: (yield)): pass\n"
    assert problem(SOURCE, annotated) is None
    said = problem(SOURCE, b"from __future__ import annotations\n" + annotated)
    assert re.match("entry 'm.py', line 3: this Python cannot parse it: '?yield expression'? can", str(said))


def test_a_source_is_compiled_and_not_run() -> None:
    assert problem(SOURCE, b"raise SystemExit('it ran')\n") is None


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"x = 1\ndef f(:\n", r"entry 'm\.py', line 2: this Python cannot parse it: .*"),
        (b"x = '\xff'\n", r"entry 'm\.py', (line 1|its text): this Python cannot parse it: .*(utf|UTF)-8.*"),
        (b"x = 1\0\n", r"entry 'm\.py'(, line \d|, its text)?: this Python cannot parse it: .*null bytes"),
        (b"x = " + b"9" * 5000, r"entry 'm\.py'(, line 1)?: this Python cannot parse it: .*digits.*"),
    ],
    ids=["syntax", "encoding", "null bytes", "digits"],
)
def test_a_source_that_cannot_be_parsed_is_told_with_its_place(content: bytes, said: str) -> None:
    assert re.fullmatch(said, str(problem(SOURCE, content)))


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (SyntaxError("odd"), "entry 'm.py', its text: this Python cannot parse it: odd"),
        (RecursionError(), "entry 'm.py': this Python cannot parse it: RecursionError"),
        (OverflowError("far"), "entry 'm.py': this Python cannot parse it: far"),
    ],
)
def test_whatever_compiling_raises_is_told(
    error: Exception, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def compile_(*args: Any, **options: Any) -> None:
        raise error

    monkeypatch.setattr(parsing_process, "compile", compile_, raising=False)
    assert problem(SOURCE, b"") == said


def test_a_process_without_memory_ends_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    def compile_(*args: Any, **options: Any) -> None:
        raise MemoryError

    monkeypatch.setattr(parsing_process, "compile", compile_, raising=False)
    with pytest.raises(SystemExit) as ended:
        problem(SOURCE, b"")
    assert ended.value.code == 77
    with pytest.raises(SystemExit) as ended:
        parsing_process._content(SimpleNamespace(read=compile_), 1)  # type: ignore[arg-type]  # only read
    assert ended.value.code == 77


# --- migrations, objects, extras ---


def test_migrations_are_unpacked() -> None:
    assert "migration" in str(problem({"kind": "migration"}, b"\xc0"))


def test_an_object_is_audited_with_its_storages() -> None:
    made = encode(np.ones(3)).with_sources(lambda module: False)
    storages = {one.name: [one.dtype, 12] for one in made.storages}
    assert "outside its storage of 12 bytes" in str(problem({**OBJECT, "storages": storages}, made.records))
    storages = {one.name: [one.dtype, 24] for one in made.storages}
    assert problem({**OBJECT, "storages": storages}, made.records) is None
    assert str(problem(OBJECT, b"")).startswith("object m/o: ")


def named(module: str, name: str = "A") -> bytes:
    return forge.table_of([[K.GLOBAL, module, name], [K.LIST, -1]]).records


def test_names_are_judged_as_loading_would() -> None:
    assert problem(OBJECT, named("m")) is None
    assert "other:A" in str(problem(OBJECT, named("other")))
    assert problem(OBJECT, named("other"), trust=["other:A"]) is None
    extras = {**OBJECT, "kind": "extras"}
    assert "m:A" in str(problem(extras, named("m")))  # extras are data alone


@pytest.mark.parametrize(
    ("listed", "called", "right"),
    [
        (None, [], True),
        ([["m:A", "value"]], [], True),
        ([["m:A", "value"], ["m:f", "call"]], [["m:f", "call"]], True),
        ([], [], False),
        ([["m:A", "create"]], [], False),
        ([["m:A", "value"], ["m:f", "call"]], [], False),
    ],
)
def test_names_are_those_that_the_manifest_lists(listed: Any, called: Any, right: bool) -> None:
    found = problem({**OBJECT, "listed": listed, "called": called}, named("m"))
    assert (found is None) is right


def test_keys_are_looked_at_as_building_would() -> None:
    numbers = [[K.INT, spelled_int(at * (2**61 - 1))] for at in range(16, 1200)]
    table = forge.table_of([*numbers, [K.SET, *(-1 - at for at in range(len(numbers)))]])
    assert "keys whose hashes collide" in str(problem({**OBJECT, "factory": ""}, table.records))


# --- the process itself ---


@pytest.mark.unix
def test_a_process_bounds_what_it_may_take(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[int, tuple[int, int]]] = []
    monkeypatch.setattr(resource, "setrlimit", lambda what, limits: asked.append((what, limits)))
    monkeypatch.setattr(parsing_process, "_used", lambda: 1000)
    parsing_process._limit(500)
    assert asked == [
        (resource.RLIMIT_AS, (1500, resource.getrlimit(resource.RLIMIT_AS)[1])),
        (resource.RLIMIT_FSIZE, (0, 0)),
        (resource.RLIMIT_CORE, (0, 0)),
    ]


@pytest.mark.unix
def test_a_limit_that_the_system_refuses_leaves_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def refuse(what: int, limits: tuple[int, int]) -> None:
        asked.append(what)
        raise ValueError("not here")

    monkeypatch.setattr(resource, "setrlimit", refuse)
    parsing_process._limit(500)
    assert asked == [resource.RLIMIT_AS, resource.RLIMIT_FSIZE, resource.RLIMIT_CORE]


@pytest.mark.unix
@pytest.mark.parametrize("text", ["7 3 2 1", None])
def test_what_is_taken_is_counted_in_pages(text: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    def open_(path: str, mode: str) -> io.BytesIO:
        assert (path, mode) == ("/proc/self/statm", "rb")
        if text is None:
            raise FileNotFoundError(path)
        return io.BytesIO(text.encode())

    monkeypatch.setattr(parsing_process, "open", open_, raising=False)
    assert parsing_process._used() == (7 * resource.getpagesize() if text else 1 << 30)


# --- the orders, one at a time ---


class Pipe(io.StringIO):
    """What the process says, as far as it has been handed over."""

    said = ""

    def flush(self) -> None:
        self.said = self.getvalue()


class Asking(io.BytesIO):
    """Orders, each of which is read when the answer to the one before has been handed over."""

    def __init__(self, lines: list[tuple[bytes, bytes]], answers: Pipe) -> None:
        super().__init__(b"".join(line + content for line, content in lines))
        self.answers = answers
        self.seen: list[str] = []

    def readline(self, size: int | None = -1, /) -> bytes:
        self.seen.append(self.answers.said)
        return super().readline(-1 if size is None else size)


def test_each_order_is_answered_before_the_next_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    limits: list[Any] = []
    other = io.StringIO()
    monkeypatch.setattr(sys, "stderr", other)
    monkeypatch.setattr(parsing_process, "_limit", limits.append)
    answers = Pipe()
    monkeypatch.setattr(sys, "stdout", answers)
    lines = [(json.dumps({**SETTINGS, "memory": 1 << 20}).encode() + b"\n", b"")]
    lines += [
        (json.dumps({**SOURCE, "size": len(content)}).encode() + b"\n", content)
        for content in (b"x = 1\n", b"f(:\n", b"x = 2\n")
    ]
    orders = Asking(lines, answers)
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=orders))
    with warnings.catch_warnings():
        parsing_process.main()
        assert warnings.filters[0][0] == "ignore"
    fault = json.dumps("entry 'm.py', line 1: this Python cannot parse it: invalid syntax")
    assert orders.seen == [
        "",
        "ready\n",
        "ready\nnull\n",
        f"ready\nnull\n{fault}\n",
        f"ready\nnull\n{fault}\nnull\n",
    ]
    assert limits == [1 << 20]
    assert sys.stdout is other  # what parsing prints is no answer
