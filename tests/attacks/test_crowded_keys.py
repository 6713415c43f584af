"""Keys that cost far more than their bytes: each is refused at once, or within its bounds, and twins load."""

from __future__ import annotations

import fractions
import io
import logging
import re
import sys
import time
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from packager import PackageExporter, verify
from packager._objects import EncodedObject, ObjectBuildError, encode
from packager._objects.records import Kind as K
from packager.errors import PackageError
from tests import processes
from tests.attacks import object_forger as forge

pytestmark = pytest.mark.processes(share=3)

ROOT = Path(__file__).resolve().parents[2]
WRAP = 2**61 - 1


def _number(value: int) -> list[Any]:
    return [K.INT, value.to_bytes(value.bit_length() // 8 + 1, "big", signed=True)]


def _numbers(count: int) -> list[list[Any]]:
    return [_number((index + 10) * WRAP) for index in range(count)]


def _references(first: int, count: int) -> list[int]:
    return [-1 - first - index for index in range(count)]


def _doubled(first: list[Any], again: Any, count: int = 60) -> list[list[Any]]:
    """Records of which each holds the one before twice; then a dict with the last as its key."""
    records = [first]
    for index in range(count):
        records += again(-1 - index)
    return [*records, [K.DICT, -len(records), 1]]


N = 5000
COLLIDING: dict[str, tuple[list[list[Any]] | Callable[[], list[list[Any]]], str]] = {
    "a set": ([*_numbers(N), [K.SET, *_references(0, N)]], "keys whose hashes collide"),
    "a frozenset": ([*_numbers(N), [K.FROZENSET, *_references(0, N)]], "keys whose hashes collide"),
    "a dict": (
        [*_numbers(N), [K.DICT, *(part for ref in _references(0, N) for part in (ref, 1))]],
        "keys whose hashes collide",
    ),
    "pairs": (
        [
            *_numbers(N),
            *([K.TUPLE, 7, ref] for ref in _references(0, N)),
            [K.SET, *_references(N, N)],
        ],
        "keys whose hashes collide",
    ),
    "a dict, little by little": (
        [
            *_numbers(N),
            [K.DICT],
            *(
                [K.UPDATE, -1 - N, *(part for ref in _references(at, 500) for part in (ref, 1))]
                for at in range(0, N, 500)
            ),
            [K.LIST, -1 - N],
        ],
        "a dict is given keys or members twice",
    ),
    "a set, little by little": (
        [
            *_numbers(N),
            [K.SET],
            *([K.ADD, -1 - N, *_references(at, 500)] for at in range(0, N, 500)),
            [K.LIST, -1 - N],
        ],
        "a set is given keys or members twice",
    ),
    "a set, in two parts": (
        [
            *_numbers(1000),
            [K.SET, *_references(0, 500)],
            [K.ADD, -1001, *_references(500, 500)],
            [K.LIST, -1001],
        ],
        "1000 keys whose hashes collide",
    ),
    "tuples of tuples": (_doubled([K.TUPLE, 1], lambda ref: [[K.TUPLE, ref, ref]]), "parts in all"),
    "tuples in tuples": (
        lambda: [[K.TUPLE, 1], *([K.TUPLE, -1 - at] for at in range(200_000)), [K.DICT, -200_001, 1]],
        "nested 65 deep; its hash may take at most 64",
    ),
    "a large number in many dicts": (
        lambda: [_number(1 << 8_000_000), *([K.DICT, -1, 1] for _ in range(5000)), [K.LIST, -2]],
        "parts in all",
    ),
}
for name in ("OrderedDict", "Counter"):
    COLLIDING[name] = (
        [
            *_numbers(N),
            [K.CODEC, 1, name],
            [K.UPDATE, -1 - N, *(part for ref in _references(0, N) for part in (ref, 1))],
            [K.LIST, -1 - N],
        ],
        "keys whose hashes collide",
    )


def _forged(records: list[list[Any]]) -> EncodedObject:
    return forge.table_of(records, codecs=["collections.mapping"])


@pytest.mark.parametrize(("records", "match"), COLLIDING.values(), ids=COLLIDING)
def test_keys_that_cost_more_than_their_bytes_are_refused(records: Any, match: str) -> None:
    records = records() if callable(records) else records
    started = time.process_time()
    with pytest.raises(ObjectBuildError, match=match):
        forge.load(forge.archive_of(_forged(records)))
    assert time.process_time() - started < 10


def test_dtypes_and_aliases_that_hold_each_other_twice_are_refused() -> None:
    field = ["struct", 0, False, "a", 0, None, "b", 0, None]
    dtypes = _doubled([K.CODEC, 1, "|V0"], lambda ref: [[K.CODEC, 1, field, ref, ref]], 24)
    with pytest.raises(ObjectBuildError, match="dtypes of at most 65536 fields"):
        forge.load(forge.archive_of(forge.table_of(dtypes, codecs=["numpy.dtype"]), externs=["numpy"]))
    aliases: list[list[Any]] = [[K.GLOBAL, "types", "GenericAlias"], [K.GLOBAL, "builtins", "list"], [K.LIST]]
    aliases += [[K.TUPLE, 1, 1], [K.CALL, -1, -2, -4]]
    for _ in range(40):
        aliases += [[K.TUPLE, -len(aliases), -len(aliases)], [K.CALL, -1, -2, -1 - len(aliases)]]
    with pytest.raises(ObjectBuildError, match=r"nested 65 deep; its hash|parts in all"):
        forge.load(forge.archive_of(forge.table_of([*aliases, [K.DICT, -len(aliases), 1]])))


HONEST: dict[str, Any] = {
    "a grid": {(i, j): i for i in range(60) for j in range(60)},
    "ids": {i << 20 for i in range(5000)},
    "mappings": [OrderedDict.fromkeys(range(2000)), Counter(range(2000)), defaultdict(int, {2.5: 1})],
    "nested": {((1, ("a", (2.5, frozenset({(3,)})))),): 1},
    "large": {10**400: 1, -(10**400): 2, fractions.Fraction(10**40, 7): 3, (10**30, 10**31): 4},
    "few that collide": {i * WRAP: i for i in range(300)},
    "ranges, dtypes and aliases": {range(3): 1, np.dtype([("a", "f4")]): 2, list[int]: 3},
}


@pytest.mark.parametrize("value", HONEST.values(), ids=HONEST)
def test_honest_keys_load_and_are_not_warned_of(value: Any) -> None:
    file = forge.archive_of(forge.encoded([value]), externs=["numpy"])
    assert forge.load(file) == [value]
    exporter = PackageExporter(io.BytesIO(), policy="auto", prove=False)
    exporter.save_object("m", "o", [value])
    assert not [one for one in exporter.plan().warnings if "loaders" in one]


def test_a_dict_that_holds_itself_is_given_its_keys_once() -> None:
    value: dict[Any, Any] = {(i, i): i for i in range(1000)}
    value["me"] = value
    loaded = forge.load(forge.archive_of(forge.encoded([value])))[0]
    assert loaded["me"] is loaded
    assert list(loaded) == list(value)


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ({i * WRAP: i for i in range(1, 1000)}, "999 keys whose hashes collide"),
        ({-i * WRAP for i in range(1, 1000)}, "999 keys whose hashes collide"),
        ({(i * WRAP, "a"): i for i in range(1, 1000)}, "999 keys whose hashes collide"),
    ],
    ids=["dict", "set", "tuples"],
)
@pytest.mark.filterwarnings("ignore::packager.errors.PackagingWarning")
def test_the_plan_and_verify_say_what_loaders_refuse(value: Any, reason: str, tmp_path: Path) -> None:
    path = tmp_path / "x.kellet"
    with PackageExporter(path, policy="auto", prove=False) as exporter:
        exporter.save_object("m", "o", {"table": value})
        (warning,) = [one for one in exporter.plan().warnings if "loaders" in one]
    assert warning.startswith("object m/o is refused by loaders: obj['table']: " + reason)
    assert warning.endswith("store the code that makes it")
    with pytest.raises(ObjectBuildError, match=reason):
        forge.load(forge.archive_of(encode({"table": value})))
    assert [one.message for one in verify(path, deep=True).problems] != []


def test_a_key_that_is_nested_deep_does_not_end_the_process() -> None:
    # It did: the hash of a tuple takes a level of the stack of C for each level of nesting.
    program = (
        "import msgpack\nfrom packager._audit import TrustContext, audit\n"
        "from packager._objects import build\n"
        "records = [[5, 1], *([5, -1 - i] for i in range(400_000)), [7, -400_001, 1]]\n"
        "data = msgpack.packb([[['records', 1]], records, -len(records)])\n"
        "try:\n    build(audit(data, TrustContext.data_only()), {})\n"
        "except ValueError as error:\n    print('nested 65 deep; its hash' in str(error))\n"
    )
    done = processes.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT)
    assert (done.returncode, done.stdout) == (0, "True\n")


# --- what the process would keep, or compute for long ---


def _refused(codec: str, *node: Any, before: tuple[list[Any], ...] = (), match: str) -> None:
    table = forge.table_of([*before, [K.CODEC, 1, *node]], codecs=[codec])
    with pytest.raises(PackageError, match=match):
        forge.load(forge.archive_of(table))


@pytest.mark.parametrize("name", ["a." * 40 + "b", "x" * 1025])
def test_names_of_loggers_are_those_of_modules(name: str) -> None:
    _refused("logging.logger", name, match="expected the name of a module")
    assert name not in logging.Logger.manager.loggerDict
    made = encode([logging.Logger.manager.loggerDict.get("packager", logging.getLogger("packager.twin"))])
    assert not made.refusals


def test_an_object_leaves_few_loggers_behind() -> None:
    known = set(logging.Logger.manager.loggerDict)
    records = [[K.CODEC, 1, f"tests.crowd{number}"] for number in range(1001)]
    table = forge.table_of([*records, [K.LIST, *_references(0, 1001)]], codecs=["logging.logger"])
    try:
        with pytest.raises(ObjectBuildError, match="at most 1000 loggers that are new to this process"):
            forge.load(forge.archive_of(table))
        assert len(set(logging.Logger.manager.loggerDict) - known) <= 1001  # their parent among them
        again = forge.table_of([*records[:1000], [K.LIST, *_references(0, 1000)]], codecs=["logging.logger"])
        assert len(forge.load(forge.archive_of(again))) == 1000
    finally:
        for name in set(logging.Logger.manager.loggerDict) - known:
            del logging.Logger.manager.loggerDict[name]


def test_fractions_of_endless_numbers_are_refused_on_both_sides() -> None:
    numbers = (_number(3**20_000), _number(7**20_000))
    _refused("fraction", None, -1, -2, before=numbers, match="expected ints of at most 1024 bytes")
    (refusal,) = encode(fractions.Fraction(3**20_000, 7)).with_sources(lambda module: False).refusals
    assert "a fraction of ints of more than 1024 bytes" in refusal.reason
    twin = fractions.Fraction(3**5000, 7)
    assert forge.load(forge.archive_of(forge.encoded(twin))) == twin


def test_flags_of_patterns_are_those_that_there_are() -> None:
    _refused("enum", 1 << 40, -1, before=([K.GLOBAL, "re", "RegexFlag"],), match="has no flags of the value")
    twin = re.I | re.M
    assert forge.load(forge.archive_of(forge.encoded(twin))) is twin


def test_what_a_framework_compares_is_a_scalar() -> None:
    from kellet import nn

    model = nn.Linear(1, 1)
    model._version = [3]
    with pytest.raises(PackageError, match=r"_version, which would be compared, is a list; store the code"):
        forge.load(forge.archive_of(forge.encoded(model), externs=["kellet"]))
    model._version = 1
    assert type(forge.load(forge.archive_of(forge.encoded(model), externs=["kellet"]))) is nn.Linear
