"""Strings that are written are read as they were, by the parser of the standard library."""

from __future__ import annotations

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from packager._toml_text import toml_string
from packager.errors import ArgumentError


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_any_text_comes_back(text: str) -> None:
    assert tomllib.loads(f"a = {toml_string(text)}") == {"a": text}
    assert tomllib.loads(f"{toml_string(text)} = 1") == {text: 1}


@pytest.mark.parametrize("text", ["\ud83d\ude00", "caf\udce9", "\udfff"])
def test_what_is_not_unicode_is_refused_by_name(text: str) -> None:
    with pytest.raises(ArgumentError, match=r"TOML cannot spell '.*', which is not Unicode text; rename it"):
        toml_string(text)
