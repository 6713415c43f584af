"""The list of what may run while data is built is the truth about the code: see inert_calls.py."""

from __future__ import annotations

import collections
import datetime
import fractions
import importlib
import inspect
import ipaddress
import random
import sys
import types
import uuid
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest
import scipy.sparse

from packager._audit import TrustContext, UntrustedNamesError, audit
from packager._codecs import default_registry
from packager._objects import EncodedObject, build, encode
from packager._objects.records import KIND_NAMES
from packager.testing import CodecContract
from packager.testing.round_trips import resolve
from tests.attacks import inert_calls
from tests.attacks.call_names import name_of_code, name_of_function
from tests.attacks.grammar import listed_names as default_names
from tests.attacks.test_data_alone import HONEST
from tests.attacks.watched_building import Calls, watched_building
from tests.contracts import test_codecs, test_standard_codecs

# Unix: the view of Windows stands in for `import`, and would be among the calls.
pytestmark = [pytest.mark.unix, pytest.mark.processes(share=3)]


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
    own = {(where, name) for where, name in calls.seen if name.startswith("tests.")}
    return Calls(calls.seen - own, trusted=True)


def contract_tests(module: Any) -> dict[str, CodecContract]:
    """The contract tests of a module, which have samples, by name."""
    found = {name: test for name, test in vars(module).items() if name.startswith("Test")}
    return {name: test() for name, test in found.items() if issubclass(test, CodecContract)}


CONTRACTS = contract_tests(test_codecs) | contract_tests(test_standard_codecs)


def test_every_kind_and_every_codec_has_one_row() -> None:
    codecs = [codec.name for codec in default_registry()]
    assert sorted(row.where for row in inert_calls.KIND_ROWS) == sorted(KIND_NAMES.values())
    rows = (*inert_calls.CODEC_ROWS, *inert_calls.LIBRARY_ROWS)
    assert sorted(row.where for row in rows) == sorted(codecs)
    assert all(row.on and row.why for row in inert_calls.ROWS.values())


def called_as(function: Any) -> str:
    """The name under which a call of a listed function would be seen; "" for a class or a ufunc."""
    asks_arguments = isinstance(function, type(np.concatenate))  # a function of Python, before NumPy's in C
    function = inspect.unwrap(function)
    if isinstance(function, types.BuiltinFunctionType):
        return f"numpy._core.multiarray:{function.__name__}" if asks_arguments else name_of_function(function)
    return name_of_code(function.__code__) if isinstance(function, types.FunctionType) else ""


@pytest.mark.filterwarnings("ignore:In the future `np:FutureWarning")
def test_of_what_archives_may_name_only_what_our_own_code_calls_is_listed() -> None:
    names = {f"{module}:{name}" for module, text in default_names.VALUES.items() for name in text.split()}
    listed = {name for name in names if inert_calls.is_listed(called_as(resolve_if_there(name)))}
    ours = "abs all any isinstance len max min pow repr sorted sum".split()
    numbers = ["math:gcd", "math:isfinite", "math:prod", "numpy:array", "numpy:asarray"]
    numbers += ["numpy:all", "numpy:atleast_1d", "numpy:ravel", "numpy:unique"]  # of objects of libraries
    numbers += ["torch:zeros"] if find_spec("torch") else []  # asks how PyTorch puts tensors on their device
    assert listed == {*(f"builtins:{name}" for name in ours), *numbers, "numpy:concatenate"}


def resolve_if_there(name: str) -> Any:
    module, _, qualname = name.partition(":")
    is_there = find_spec(module.partition(".")[0]) and find_spec(module)
    return getattr(importlib.import_module(module), qualname, None) if is_there else None


@pytest.mark.skipif(np.__version__.startswith("1."), reason="NumPy 1.26 writes its own texts by it")
def test_no_text_of_data_is_a_format() -> None:
    assert not inert_calls.is_listed("builtins:str.format")


@pytest.mark.parametrize(
    "name",
    """
    builtins:str.format_map builtins:breakpoint builtins:exec builtins:print builtins:open
    os:system array:array.fromfile _thread:start_new_thread importlib._bootstrap:_find_and_load_unlocked
    enum:EnumType.__new__ numpy:load logging:FileHandler.__init__ pathlib:Path.write_bytes re
    kellet.hooks:HookRegistry.add kellet.nn.module:Module.__call__ torch.nn.modules.module:Module._call_impl
    torch.nn.modules.activation:MultiheadAttention.__setstate__ torch._C:TensorBase.__bool__
    packager.package_exporter:PackageExporter.close packager._archive.writer:ArchiveWriter.close
    packager._cli.main:main packager._loading.packaged_import:PackagedImport.load packager.testing.x:y
    tests.attacks.grammar.world:SENTINEL
    """.split(),
)
def test_what_nothing_may_call_is_not_listed(name: str) -> None:
    assert not inert_calls.is_listed(name)


def test_hooks_are_listed_for_objects_that_the_caller_trusts_alone() -> None:
    name = "kellet.hooks:HookRegistry.add"
    assert inert_calls.is_listed(name, "kellet.hooks", trusted=True)
    assert not inert_calls.is_listed(name, "kellet.hooks")
    assert not inert_calls.is_listed(name, "LIST", trusted=True)


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
    "long containers": lambda: [
        {(i, str(i)): [i, i * 0.5, None] for i in range(2000)},
        {i: {j << 40 for j in range(i % 5)} for i in range(2000)},
        collections.Counter(map(str, range(2000))),
        collections.deque([i % 3 == 0 and 2**50 for i in range(2000)]),
        frozenset((i, -i) for i in range(2000)),
        tuple({str(i % 7): i} for i in range(2000)),
        [{"n": i, "at": [i, None]} for i in range(2000)],
        [[1, 2.5]] * 2000,
    ],
    "random": lambda: random.Random(0),
    "identity": lambda: uuid.UUID(int=5),
    "fraction": lambda: fractions.Fraction(1, 3),
    "deque": lambda: collections.deque([1, [2]], maxlen=5),
    "objects in an array": lambda: np.array([1, "a", None, [2]], object),
    "sparse matrices": lambda: [
        getattr(scipy.sparse, f"{kind}_array")(np.eye(2)) for kind in "bsr coo csc csr dia dok lil".split()
    ],
}


@pytest.mark.parametrize("make", [*HONEST.values(), *MORE.values()], ids=[*HONEST, *MORE])
def test_what_honest_objects_call_is_in_the_list(make: Callable[[], Any]) -> None:
    assert calls_of([make()]).outside_the_list() == []


def test_a_call_that_is_not_in_the_list_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    from packager._codecs import PartsCodec

    real = PartsCodec.decode

    def decode(self: Any, literal: Any, children: Any, version: int, context: Any) -> Any:
        made = real(self, literal, children, version, context)
        f"{made}"  # formats what it made
        return made

    monkeypatch.setattr(PartsCodec, "decode", decode)
    found = calls_of([fractions.Fraction(1, 3)]).outside_the_list()
    formatting = "__str__" if sys.version_info < (3, 12) else "__format__"
    assert ("fraction", f"fractions:Fraction.{formatting}") in found
