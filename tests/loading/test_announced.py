"""What a process says to those that it starts of the archives that it has open."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable
from types import FunctionType
from typing import Any

import pytest

from packager.loading import loaded_archive
from packager.loading.loaded_archive import (
    ENVIRONMENT_VARIABLE,
    _announced,
    _put_into_environment,
    adopt_module,
)


@pytest.fixture(autouse=True)
def _own_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ENVIRONMENT_VARIABLE, "{}")


def test_what_is_announced_is_read_again() -> None:
    policies: dict[str, dict[str, Any]] = {"a": {"path": "ü"}, "b": {"path": "x"}}
    _put_into_environment(policies)
    assert json.loads(os.environ[ENVIRONMENT_VARIABLE]) == policies
    assert list(_announced()) == ["a", "b"]


@pytest.mark.parametrize("written", ["", "[]", "7", "{", '{"a": 1}', '{"a": {}, "b": []}', "[" * 100_000])
def test_what_another_program_wrote_announces_nothing(written: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ENVIRONMENT_VARIABLE, written)
    assert _announced() == {}


def test_the_latest_are_announced_that_a_variable_can_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    policies: dict[str, dict[str, Any]] = {name: {"path": name} for name in ("a", "b", "c")}
    one = len('"a": {"path": "a"}, ')
    for most, kept in (
        (3 * one, "abc"),
        (3 * one - 1, "bc"),
        (2 * one, "bc"),
        (2 * one - 1, "c"),
        (one - 1, ""),
    ):
        monkeypatch.setattr(loaded_archive, "_MOST_IN_ENVIRONMENT", most)
        _put_into_environment(policies)
        assert "".join(_announced()) == kept
        assert len(os.environ[ENVIRONMENT_VARIABLE]) <= max(most, 2)


def test_a_class_is_of_the_archive_that_its_module_and_its_functions_are_of(
    pack: Callable[..., Any],
) -> None:
    loaded = pack({"shop/__init__.py": "class Thing:\n    @staticmethod\n    def f(): pass\n"})
    archive, thing = loaded.archive, loaded.module("shop").Thing
    assert archive.defines(thing, None)
    assert not archive.defines(int, None)
    # A class of a module of the target that has the same name, and one that code gave that name.
    other = type("Other", (), {"__module__": "shop"})
    function: FunctionType = thing.f
    assert archive.defines(other, function)
    assert archive.defines(other, vars(thing)["f"].__get__(None, thing))
    for value in (None, len, _announced, classmethod(_announced)):
        assert not archive.defines(other, value)
    assert not archive.defines(type("Far", (), {"__module__": "elsewhere"}), function)


@pytest.mark.parametrize("policy", [None, {"path": "p"}])
def test_a_module_is_adopted_by_the_policy_that_its_line_was_written_with(
    policy: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Any] = []

    def adopt(top: str, known: Any) -> None:
        asked.append((top, known))

    monkeypatch.setattr(loaded_archive, "_adopt", adopt)
    with pytest.raises(ModuleNotFoundError, match=r"^no open archive has 'gone__w0_0\.part'$"):
        adopt_module("gone__w0_0.part", None if policy is None else json.dumps(policy))
    assert asked == [("gone__w0_0", policy)]


def test_stubs_are_written_anew_where_their_folder_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loaded_archive, "_stub_folder", None)
    monkeypatch.setattr(loaded_archive, "_policies", {"a": "1", "b": "2"})
    monkeypatch.setattr(sys, "path", [*sys.path])
    loaded_archive._write_stubs(["a"])  # the folder is new: all are written
    first = sys.path[-1]
    assert sorted(os.listdir(first)) == ["a.py", "b.py"]
    os.unlink(os.path.join(first, "b.py"))
    sys.path.remove(first)
    loaded_archive._write_stubs(["a"])
    assert sys.path[-1] == first
    assert os.listdir(first) == ["a.py"]
    shutil.rmtree(first)
    loaded_archive._write_stubs(["a"])
    second = sys.path[-1]
    assert second != first
    assert first not in sys.path
    assert sorted(os.listdir(second)) == ["a.py", "b.py"]
    with open(os.path.join(second, "b.py"), encoding="utf-8") as stub:
        assert stub.read() == loaded_archive._STUB.format(policy="2")
