"""What tests of remembered plans begin with."""

import contextlib
import importlib
import sys

import pytest


@pytest.fixture
def pythons_finders(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have modules found by Python alone, whatever other tests have put on `sys.meta_path`."""
    with contextlib.suppress(ImportError):  # it takes the place of Python's finder of metadata, for good
        importlib.import_module("importlib_metadata")
    own = [
        one
        for one in sys.meta_path
        if (one if isinstance(one, type) else type(one)).__module__.startswith("_frozen_importlib")
    ]
    monkeypatch.setattr(sys, "meta_path", own)
