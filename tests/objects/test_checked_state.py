"""Objects of libraries in C are looked at when all is built: many at once, and one by one for a fault."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from packager._audit import TrustContext, audit, gates
from packager._codecs import StateCheck
from packager._objects import ObjectBuildError, build
from packager._objects.records import Kind as K
from tests.attacks import object_forger as forge

Foreign = type("Foreign", (), {"__module__": "scipy.own", "__setstate__": lambda self, state: None})
_CALLED: dict[str, Any] = {"__module__": "scipy.own", "__init__": lambda self, *args: None}
Called = type("Called", (), _CALLED)
Below = type("Below", (Foreign,), {"__module__": "m"})


class Ours:
    pass


NAMES = {("m", cls.__qualname__): cls for cls in (Foreign, Below, Ours, Called)}
CODE = TrustContext.with_code(["m"])


class Watched(StateCheck):
    """Notes what it is asked."""

    def __init__(self, wrong: type | None = None) -> None:
        self.made: list[str] = []
        self._wrong = wrong

    def check_made(self, obj: Any) -> None:
        self.made.append(type(obj).__qualname__)
        if type(obj) is self._wrong:
            raise ValueError("it is wrong")

    def check_arguments(self, args: Sequence[Any]) -> None:
        if "wrong" in args:
            raise ValueError("an argument is wrong")

    def check_state(self, obj: Any, state: Any) -> None:
        if state == "wrong":
            raise ValueError("its state is wrong")


def built(check: Watched, monkeypatch: pytest.MonkeyPatch, *classes: str, state: Any = None) -> Any:
    asked: list[type] = []

    def checks_of(cls: type, find: Any) -> tuple[StateCheck, ...]:
        asked.append(cls)
        return (check,) if issubclass(cls, Foreign) else ()

    monkeypatch.setattr(gates, "state_checks", checks_of)
    records: list[Any] = [[K.GLOBAL, "m", name] for name in ("Foreign", "Below", "Ours")]
    numbers = {"Foreign": -1, "Below": -2, "Ours": -3}
    records += [[K.NEW, numbers[name]] for name in classes]
    root = [K.LIST, *(-4 - at for at in range(len(classes)))]
    fills = [] if state is None else [[K.STATE, -4, state]]
    table = forge.table_of([*records, root, *fills], root=-4 - len(classes)).records
    found = build(audit(table, CODE), NAMES)
    assert len(asked) == len(set(asked))
    return found


def test_each_object_of_the_class_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    check = Watched()
    built(check, monkeypatch, "Foreign", "Ours", "Below")
    assert check.made == ["Foreign", "Below"]
    check = Watched(Below)
    message = r"obj\[2\] cannot be built \(record 5, NEW\): ValueError: it is wrong"
    with pytest.raises(ObjectBuildError, match=message):
        built(check, monkeypatch, "Foreign", "Ours", "Below")


def test_a_state_is_looked_at_before_it_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    check = Watched()
    built(check, monkeypatch, "Foreign", state="right")
    with pytest.raises(ObjectBuildError, match=r"obj\[0\] cannot be built .*: its state is wrong"):
        built(check, monkeypatch, "Foreign", state="wrong")


@pytest.mark.parametrize(
    ("args", "keywords", "message"),
    [
        ([1, 2], [], None),
        (["wrong"], [], "an argument is wrong"),
        ([], ["a", 1], "Called takes positional arguments only"),
    ],
)
def test_arguments_are_looked_at_before_a_class_is_called(
    args: list[Any], keywords: list[Any], message: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gates, "state_checks", lambda cls, find: (Watched(),))
    called: list[Any] = [
        [K.GLOBAL, "m", "Called"],
        [K.TUPLE, *args],
        [K.DICT, *keywords],
        [K.CALL_KW, -1, -2, -3],
    ]
    audited = audit(forge.table_of(called).records, CODE)
    if message is None:
        assert type(build(audited, NAMES)) is Called
        return
    with pytest.raises(ObjectBuildError, match=message):
        build(audited, NAMES)
