"""Archives changed at random: only PackageErrors come out, or a sound archive."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from packager.errors import PackageError


@pytest.fixture(scope="session")
def fuzz() -> ModuleType:
    specification = importlib.util.spec_from_file_location(
        "fuzz_archive", Path(__file__).with_name("fuzz_archive.py")
    )
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    sys.modules["fuzz_archive"] = module
    specification.loader.exec_module(module)
    return module


@settings(max_examples=400)
@given(seed=st.binary(min_size=8, max_size=64))
def test_mutated_archives_raise_package_errors_alone(fuzz: ModuleType, seed: bytes) -> None:
    fuzz.check(fuzz.mutated(seed))


@settings(max_examples=400)
@given(seed=st.binary(min_size=8, max_size=64))
def test_mutated_and_resealed_archives_raise_package_errors_alone(fuzz: ModuleType, seed: bytes) -> None:
    fuzz.check(fuzz.resealed(seed))


@settings(max_examples=200)
@given(data=st.binary(max_size=300))
def test_random_bytes_raise_package_errors_alone(fuzz: ModuleType, data: bytes) -> None:
    assert not fuzz.check(data)


def test_the_target_would_notice(fuzz: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*arguments: object) -> None:
        raise IndexError

    assert fuzz.check(fuzz.HONEST)
    monkeypatch.setattr(fuzz, "verify", broken)
    with pytest.raises(IndexError):
        fuzz.check(fuzz.HONEST)
    assert issubclass(PackageError, Exception)
