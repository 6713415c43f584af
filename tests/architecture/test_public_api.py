"""The public names and signatures are those of docs/api.txt, which a change of them has to change, too."""

from __future__ import annotations

import importlib

from tests.architecture.public import MODULES, NAMES, reference

public_api = importlib.import_module("public_api")
TEXT = public_api.FILE.read_text(encoding="utf-8")


def test_the_public_api_is_as_written() -> None:
    assert public_api.difference() == "", "if this is meant: python docs/public_api.py"


def test_the_text_has_every_public_name_under_its_module() -> None:
    for module in MODULES:
        _, _, after = TEXT.partition(
            f"\n== {module}{' (experimental)' * reference.is_experimental(module)}\n"
        )
        part = after.partition("\n== ")[0]
        words = {
            line.removeprefix("class ").partition("(")[0].split()[0] for line in part.splitlines() if line
        }
        assert set(NAMES[module]) - {word.rstrip(":") for word in words} == set(), module


def test_what_is_experimental_is_public() -> None:
    assert [one for one in reference.EXPERIMENTAL if not any(m.startswith(one) for m in MODULES)] == []


def test_a_changed_default_a_new_name_and_a_gone_one_are_told(monkeypatch) -> None:
    now = TEXT.replace(
        "class GlobGroup(include, *, exclude=(), separator='.')", "class GlobGroup(include, *)"
    )
    now = now.replace("\nload(file,", "\nload_it(file,")
    monkeypatch.setattr(public_api, "text_of_api", lambda: now)
    told = public_api.difference()
    assert "-class GlobGroup(include, *, exclude=(), separator='.')\n+class GlobGroup(include, *)" in told
    assert "\n-load(file," in told
    assert "\n+load_it(file," in told


def test_a_default_without_a_literal_is_dots_and_annotations_are_left_out() -> None:
    def function(one: int, *, two: object = ..., three: object = importlib, four: float = 0.5) -> None: ...

    assert public_api._signature(function) == "(one, *, two=Ellipsis, three=..., four=0.5)"
