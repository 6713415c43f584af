"""The list of what may run while data is built is the truth about the code: see inert_calls.py."""

from __future__ import annotations

import collections
import datetime
import fractions
import ipaddress
import random
import sys
import uuid
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from packager.codecs import default_registry
from packager.objects import EncodedObject, TrustContext, UntrustedNamesError, audit, build, encode
from packager.objects.records import KIND_NAMES
from packager.testing import CodecContract
from packager.testing.round_trips import resolve
from tests.attacks import inert_calls
from tests.attacks.test_data_alone import HONEST
from tests.attacks.watched_building import Calls, watched_building
from tests.contracts import test_codecs


def calls_of_building(encoded: EncodedObject, trust: tuple[str, ...] = ()) -> Calls:
    """What building a table calls, as data alone; the second time, when everything is imported."""
    sizes = {one.name: (one.dtype, one.buffer.nbytes) for one in encoded.storages}
    copies = {one.name: memoryview(bytearray(one.buffer)) for one in encoded.storages}
    audited = audit(encoded.records, TrustContext.data_only(), trust, storages=sizes)
    names = resolve(audited)
    build(audited, names, copies.__getitem__)
    with watched_building() as calls:
        build(audited, names, copies.__getitem__)
    return calls


def calls_of(obj: Any) -> Calls:
    """What building an object calls. Classes of these tests are trusted, and what they do is their own."""
    encoded = encode(obj).with_sources(lambda module: False)
    try:
        return calls_of_building(encoded)
    except UntrustedNamesError as error:
        trust = (*(f"{use.module}:{use.qualname}" for use in error.uses), *(one.trust for one in error.forms))
    if not all(trust):
        return Calls()  # nothing helps: the form itself is refused
    calls = calls_of_building(encoded, tuple(str(name) for name in trust))
    return Calls({(where, name) for where, name in calls.seen if not name.startswith("tests.")})


def contract_tests(module: Any) -> dict[str, CodecContract]:
    """The contract tests of a module, which have samples, by name."""
    found = {name: test for name, test in vars(module).items() if name.startswith("Test")}
    return {name: test() for name, test in found.items() if issubclass(test, CodecContract)}


CONTRACTS = contract_tests(test_codecs)


def test_every_kind_and_every_codec_has_one_row() -> None:
    codecs = [codec.name for codec in default_registry()]
    assert sorted(row.where for row in inert_calls.KIND_ROWS) == sorted(KIND_NAMES.values())
    assert sorted(row.where for row in inert_calls.CODEC_ROWS) == sorted(codecs)
    assert all(row.on and row.why for row in inert_calls.ROWS.values())


@pytest.mark.parametrize("contract", CONTRACTS.values(), ids=CONTRACTS)
def test_what_codecs_call_is_in_their_rows(contract: CodecContract) -> None:
    for sample in contract.samples():
        assert calls_of([sample]).outside_the_list() == []


MORE: dict[str, Callable[[], Any]] = {
    "dates": lambda: [datetime.datetime(2024, 1, 2, tzinfo=datetime.UTC), datetime.timedelta(3)],
    "addresses": lambda: [ipaddress.ip_address("1.2.3.4"), ipaddress.ip_network("::/64")],
    "keys": lambda: {
        1: 2,
        (1, "a"): 3,
        frozenset({4}): 5,
        b"x": 6,
        2.5: 7,
        None: 8,
        "s" * 100: [9, {1j, 10**30}],
    },
    "many keys": lambda: [{i << 9: i for i in range(2000)}, {(i, 2) for i in range(2000)}],
    "random": lambda: random.Random(0),
    "identity": lambda: uuid.UUID(int=5),
    "fraction": lambda: fractions.Fraction(1, 3),
    "deque": lambda: collections.deque([1, [2]], maxlen=5),
    "objects in an array": lambda: np.array([1, "a", None, [2]], object),
}


@pytest.mark.parametrize("make", [*HONEST.values(), *MORE.values()], ids=[*HONEST, *MORE])
def test_what_honest_objects_call_is_in_the_list(make: Callable[[], Any]) -> None:
    assert calls_of([make()]).outside_the_list() == []


def test_a_call_that_is_not_in_the_list_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    from packager.codecs.plain import FractionCodec

    real = FractionCodec.decode

    def decode(self: Any, literal: Any, children: Any, version: int, context: Any) -> Any:
        made = real(self, literal, children, version, context)
        f"{made}"  # formats what it made
        return made

    monkeypatch.setattr(FractionCodec, "decode", decode)
    found = calls_of([fractions.Fraction(1, 3)]).outside_the_list()
    formatting = "__str__" if sys.version_info < (3, 12) else "__format__"
    assert ("fraction", f"fractions:Fraction.{formatting}") in found
