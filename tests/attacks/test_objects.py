"""Hostile stored objects: each abuse is refused, raises package errors alone, and runs nothing."""

from __future__ import annotations

import collections
import copy
import functools
import random
import re
import sys
import time
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgpack
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import kellet
import kellet.optim
from kellet import nn
from packager._audit import TrustContext, UntrustedNamesError, audit
from packager._objects import EncodedObject, RecordError, encode
from packager._objects.records import Kind as K
from packager.errors import PackageError
from packager.testing.round_trips import load
from tests import processes

HERE = __name__
ROOT = Path(__file__).resolve().parents[2]


class Plain:
    pass


class Slotted:
    __slots__ = ("x", "y")


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(3, 3)
        self.second = nn.Linear(3, 3)
        self.second.weight = self.first.weight
        self.handle = self.register_forward_hook(self.look)
        self.register_state_dict_hook(halve)
        self.register_load_state_dict_pre_hook(double)
        self.watch = nn.Hook(posthook=look)
        self.watch.register(self.first)

    def look(self, module: Any, args: Any, output: Any) -> None:
        """Nothing to do."""


def look(module: Any, args: Any, output: Any) -> None:
    """Nothing to do."""


def halve(module: Any, state: Any, prefix: str, keep_vars: bool) -> None:
    state[f"{prefix}half"] = state.pop(f"{prefix}first.bias") / 2


def double(module: Any, state: Any, strict: bool) -> None:
    state["first.bias"] = state.pop("half") * 2


def _victims() -> list[Any]:
    node, slotted = Plain(), Slotted()
    node.me, node.items = node, [1, {"a": (node, 2)}]  # type: ignore[attr-defined]  # plain objects take attributes
    slotted.x = node
    parameter = nn.Parameter(kellet.ones(2))
    return [
        {
            "node": node,
            "slotted": slotted,
            "ordered": collections.OrderedDict(a=[1]),
            "array": np.arange(6).reshape(2, 3),
            "objects": np.array([1, "a", None], object),
            "records": np.zeros(2, [("a", "f4"), ("b", "i8")]),
            "partial": functools.partial(max, 1),
            "set": {1, 2, "x"},
            "random": np.random.default_rng(0),
            "pattern": re.compile("a"),
            "big": 10**40,
            "masked": np.ma.array([1, 2], mask=[0, 1]),
            "long": "x" * 100,
        },
        Net(),
        {"net": nn.Sequential(nn.Linear(2, 2)), "optimizer": kellet.optim.AdamW([parameter], lr=0.1)},
    ]


def _encoded() -> list[EncodedObject]:
    encoded = [encode(victim).with_sources(lambda module: module == HERE) for victim in _victims()]
    assert not any(one.refusals for one in encoded)
    return encoded


TRUST_CONTEXT = TrustContext.with_code([HERE], ["kellet", "numpy"])
VALUES = (
    None,
    True,
    0,
    1,
    -1,
    -2,
    5,
    2**63,
    1.5,
    float("nan"),
    "",
    "a",
    "__class__",
    "weight",
    b"",
    b"x",
    [],
    [1],
    ["x", -1],
)


def _mutated(table: Any, rng: random.Random) -> bytes:
    """The table with one to three records, operands or literals changed, doubled, moved or left out."""
    codecs, records, root = copy.deepcopy(table)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        record = rng.choice(records)
        place = rng.randrange(len(record))
        value = rng.choice((*VALUES, -len(records), -rng.randint(1, len(records)), rng.randrange(32)))
        what = rng.randrange(8)
        if what < 3:
            record[place] = value
        elif what == 3:
            record.insert(place, value)
        elif what == 4:
            record[place : place + 1] = []
        elif what == 5:
            records[rng.randrange(len(records))] = list(rng.choice(records))
        elif what == 6:
            records.insert(rng.randrange(len(records)), list(rng.choice(records)))
        elif isinstance(record[place], list) and record[place]:
            record[place][rng.randrange(len(record[place]))] = value
        if not all(records):
            break
    return bytes(msgpack.packb([codecs, records, root]))


def _try(encoded: EncodedObject, records: bytes, trust_context: TrustContext = TRUST_CONTEXT) -> bool:
    """Whether a table is built; anything but a PackageError goes through."""
    try:
        load(EncodedObject(records, encoded.storages, ()), trust_context)
    except PackageError:
        return False
    return True


@pytest.mark.filterwarnings(
    "ignore"
)  # NumPy warns of odd numbers; what is built of a mutated table may be odd
@pytest.mark.long
def test_mutated_tables_raise_package_errors_alone() -> None:
    rng = random.Random(20_000)
    victims = _encoded()
    tables = [msgpack.unpackb(one.records) for one in victims]
    built = sum(
        _try(victims[number], _mutated(tables[number], rng))
        for number in (rng.randrange(len(victims)) for _ in range(1_000))
    )
    # Most changes are seen; some only change a number or a text, and are data like any other.
    assert built < 200


@pytest.mark.filterwarnings("ignore")
def test_mutated_tables_are_mostly_refused_by_the_audit_before_anything_is_built() -> None:
    rng = random.Random(1)
    victims = _encoded()
    tables = [msgpack.unpackb(one.records) for one in victims]
    counts: collections.Counter[str] = collections.Counter()
    for _ in range(600):
        number = rng.randrange(len(victims))
        storages = {s.name: (s.dtype, s.buffer.nbytes) for s in victims[number].storages}
        try:
            audit(_mutated(tables[number], rng), TRUST_CONTEXT, storages=storages)
        except PackageError:
            counts["refused"] += 1
        else:
            counts["passed"] += 1
    assert counts["refused"] > 4 * counts["passed"]


@settings(max_examples=300, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(
        st.lists(
            st.one_of(
                st.integers(-8, 31),
                st.none(),
                st.booleans(),
                st.text(max_size=5),
                st.floats(),
                st.binary(max_size=3),
                st.lists(st.integers(-3, 3), max_size=3),
            ),
            min_size=1,
            max_size=6,
        ),
        max_size=8,
    ),
    st.integers(-8, 3),
)
def test_any_table_raises_package_errors_alone(records: list[Any], root: int) -> None:
    codecs = [["records", 1], ["complex", 1], ["numpy.ndarray", 1], ["kellet.module", 1], ["enum", 1]]
    _try(EncodedObject(b"", (), ()), msgpack.packb([codecs, records, root]))


@given(st.binary(max_size=200))
def test_any_bytes_raise_package_errors_alone(data: bytes) -> None:
    _try(EncodedObject(b"", (), ()), data)


def test_every_cut_is_refused() -> None:
    (encoded, *_) = _encoded()
    for length in range(len(encoded.records)):
        assert not _try(encoded, encoded.records[:length])


def _table(*records: Any, root: int = -1, codecs: Any = ()) -> bytes:
    return bytes(msgpack.packb([[["records", 1], *codecs], list(records), root]))


COMMANDS = {
    "call": [[K.GLOBAL, "os", "system"], [K.CALL, -1, "touch {}"]],
    "call through an alias": [[K.GLOBAL, "shutil", "os.system"], [K.CALL, -1, "touch {}"]],
    "eval": [[K.GLOBAL, "builtins", "eval"], [K.CALL, -1, "open('{}', 'w')"]],
    "open": [[K.GLOBAL, "builtins", "open"], [K.CALL, -1, "{}", "w"]],
    "getattr": [[K.GLOBAL, "os", ""], [K.GLOBAL, "builtins", "getattr"], [K.CALL, -2, -1, "system"]],
    "partial": [[K.GLOBAL, "functools", "partial"], [K.GLOBAL, "os", "system"], [K.CALL, -1, -2, "touch {}"]],
    "operator": [[K.GLOBAL, "operator", "methodcaller"], [K.CALL, -1, "system", "touch {}"]],
    "import": [[K.GLOBAL, "builtins", "__import__"], [K.CALL, -1, "antigravity"]],
    "copyreg": [[K.GLOBAL, "copyreg", "_reconstructor"], [K.CALL, -1, None]],
    "codecs": [[K.GLOBAL, "codecs", "open"], [K.CALL, -1, "{}", "w"]],
    "memmap": [[K.GLOBAL, "numpy", "memmap"], [K.NEW, -1, "{}", "u1", "w+", 0, 1]],
    "subclass of popen": [[K.GLOBAL, "subprocess", "Popen"], [K.CALL, -1, "touch {}"]],
    "walk through a module": [[K.GLOBAL, "kellet.nn", "init.os.system"], [K.CALL, -1, "touch {}"]],
    "dunder of a class": [[K.GLOBAL, "builtins", "object.__subclasses__"], [K.CALL, -1]],
    "pickle": [[K.GLOBAL, "pickle", "loads"], [K.BYTES, b"cos\nsystem\n(S'touch {}'\ntR."], [K.CALL, -1, -2]],
}


@pytest.mark.parametrize("records", COMMANDS.values(), ids=COMMANDS.keys())
@pytest.mark.parametrize(
    "trust_context", [TrustContext.data_only(), TrustContext.with_code([HERE], ["numpy", "kellet", "shutil"])]
)
def test_commands_in_objects_are_refused(
    records: list[Any], trust_context: TrustContext, tmp_path: Path
) -> None:
    target = tmp_path / "written"
    filled = [
        [part.replace("{}", str(target)) if isinstance(part, str) else part for part in record]
        for record in records
    ]
    with pytest.raises((UntrustedNamesError, RecordError)):
        load(EncodedObject(_table(*filled, root=-len(filled)), (), ()), trust_context)
    assert not target.exists()


def test_method_lookup_stays_in_class_dictionaries(tmp_path: Path) -> None:
    shape = [
        [K.GLOBAL, HERE, "Plain"],
        [K.SHAPE, -1, None, "run"],
        [K.GLOBAL, "builtins", "len"],
        [K.OBJ, -2, -3],
    ]
    with pytest.raises(PackageError, match="no method 'run'"):
        load(EncodedObject(_table(*shape, [K.METHOD, -4, "run"], root=-5), (), ()), TRUST_CONTEXT)


def test_state_sets_no_property_and_runs_no_setattr() -> None:
    table = _table(
        [K.GLOBAL, HERE, "Guarded"], [K.SHAPE, -1, None, "door", "__class__"], [K.OBJ, -2, 1, 2], root=-3
    )
    loaded = load(EncodedObject(table, (), ()), TRUST_CONTEXT)
    assert type(loaded) is Guarded
    assert vars(loaded) == {"door": 1, "__class__": 2}
    assert Guarded.opened == 0


class Guarded:
    opened = 0

    @property
    def door(self) -> int:
        return 0

    @door.setter
    def door(self, value: int) -> None:
        Guarded.opened += 1

    def __setattr__(self, name: str, value: Any) -> None:
        Guarded.opened += 1


def test_class_with_a_finaliser_is_not_made(tmp_path: Path) -> None:
    # NumPy's DataSource deletes the folder that its state names.
    folder = tmp_path / "precious"
    folder.mkdir()
    state = [[K.GLOBAL, "numpy.lib.npyio", "DataSource"], [K.SHAPE, -1, None, "_istmpdest", "_destpath"]]
    with pytest.raises(PackageError):
        load(EncodedObject(_table(*state, [K.OBJ, -2, True, str(folder)], root=-3), (), ()), TRUST_CONTEXT)
    assert folder.exists()


def test_module_that_holds_itself_is_refused() -> None:
    number = [["kellet.module", 1]]
    records = [
        [K.GLOBAL, "kellet.nn", "Sequential"],
        [K.SHAPE, -1, 1],
        [K.OBJ, -2],
        [K.DICT, "me", -3],
        [K.FILL, -3, "_modules", -4],
        [K.FINISH, -3, 1, ["state", True, 0]],
    ]
    with pytest.raises(PackageError, match="A module contains itself"):
        load(EncodedObject(_table(*records, root=-3, codecs=number), (), ()), TRUST_CONTEXT)


BOMBS = {
    "empty slot without end": (
        [[K.CODEC, 1, ["Tensor", "<f4", False, "empty", 2**40, 2**40]]],
        [["kellet.tensor", 1]],
    ),
    "array of no elements without end": (
        [[K.CODEC, 1, "<f4"], [K.CODEC, 2, ["ndarray", "elements", 2**30, 0], -1]],
        [["numpy.dtype", 1], ["numpy.ndarray", 1]],
    ),
    "endless range in a deque": (
        [[K.CODEC, 1, "range", 0, 2**62, 1], [K.GLOBAL, "collections", "deque"], [K.CALL, -2, -1]],
        [["slice", 1]],
    ),
    "powers of ten": ([[K.GLOBAL, "fractions", "Fraction"], [K.CALL, -1, "1e999999999"]], []),
    "huge dtype": ([[K.CODEC, 1, "|S999999999"]], [["numpy.dtype", 1]]),
    "many records": ([[K.LIST]] * 100_000, []),
}


@pytest.mark.parametrize("bomb", BOMBS.values(), ids=BOMBS.keys())
def test_bombs_cost_little(bomb: tuple[list[Any], list[Any]]) -> None:
    records, codecs = bomb
    data = _table(*records, root=-len(records), codecs=codecs)
    tracemalloc.start()
    started = time.monotonic()
    try:
        _try(EncodedObject(b"", (), ()), data, TrustContext.data_only())
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 64 * 2**20 + 8 * len(data)
    assert time.monotonic() - started < 20


def test_deep_chain_neither_recurses_nor_takes_long() -> None:
    records = [[K.LIST]] + [[K.LIST, -number] for number in range(1, 100_000)]
    loaded = load(EncodedObject(_table(*records, root=-100_000), (), ()), TrustContext.data_only())
    assert len(loaded) == 1


WATCH = """
import sys
from pathlib import Path
sys.path.insert(0, {root!r})
from packager._audit import TrustContext, audit, names_in
from packager.errors import PackageError
from packager._codecs import default_registry
import packager._codecs.arrays, packager._codecs.numpy_values  # ours, which a codec is found in
data = Path({data!r}).read_bytes()
registry = default_registry()
events = []
sys.addaudithook(lambda event, args: events.append((event, str(args)[:80])))
before = len(events)
for run in (names_in, lambda data, registry: audit(data, TrustContext.data_only(), registry=registry)):
    try:
        run(data, registry=registry)
    except PackageError:
        pass
bad = ("import", "exec", "compile", "open", "os.", "subprocess", "socket", "pickle", "ctypes")
print([event for event in events[before:] if event[0].startswith(bad)])
print("numpy" in sys.modules, "kellet" in sys.modules, "decimal" in sys.modules)
"""


def test_the_audit_runs_and_imports_nothing(tmp_path: Path) -> None:
    records = _table(
        [K.GLOBAL, "decimal", "Decimal"],
        [K.CALL, -1, "1"],
        [K.GLOBAL, "os", "system"],
        [K.CALL, -3, "true"],
        [K.CODEC, 1, ["ndarray", "elements", 0], -6],
        [K.CODEC, 2, "|O"],
        root=-4,
        codecs=[["numpy.ndarray", 1], ["numpy.dtype", 1]],
    )
    (tmp_path / "data").write_bytes(records)
    program = WATCH.format(root=str(ROOT), data=str(tmp_path / "data"))
    printed = processes.run(
        [sys.executable, "-c", program], cold=True, capture_output=True, text=True, check=True
    ).stdout
    events, modules = printed.splitlines()
    assert events == "[]"
    assert modules.split()[1:] == ["False", "False"]


@pytest.fixture(autouse=True)
def _no_stray_files(tmp_path: Path) -> Iterator[None]:
    yield
    assert not (ROOT / "antigravity").exists()
