"""What holds memory, sources and records is printed without them."""

from __future__ import annotations

import types
from typing import Any

import pytest

import kellet
from packager._audit import TrustContext, audit
from packager._objects import encode
from packager._objects.naming import FunctionHome
from packager._state_dicts import encode_state_dict


def _home() -> Any:
    module = types.ModuleType("m")
    vars(module).update(held="secret", __file__="m.py")
    return FunctionHome(vars(module), "secret", "m.py")


SHOWN = {
    "a home of functions": (_home, "FunctionHome(file='m.py')"),
    "memory": (
        lambda: encode([kellet.zeros(2)]).storages[0],
        "Storage(name='0', dtype='F32', shape=(2,))",
    ),
    "a state dict": (
        lambda: encode_state_dict({"a": kellet.zeros(2)}),
        "EncodedStateDict(tensors=",
    ),
    "an audited object": (
        lambda: audit(encode([1]).records, TrustContext.data_only(), what="it"),
        "AuditedObject(codecs=(None,), grants={}, what='it', is_data_alone=True)",
    ),
}


@pytest.mark.parametrize(("make", "shown"), SHOWN.values(), ids=SHOWN.keys())
def test_what_is_large_is_not_printed(make: Any, shown: str) -> None:
    printed = repr(make())
    assert printed.startswith(shown)
    for large in ("secret", "memory", "extras", "interned"):
        assert large not in printed
