"""Data that is spelled otherwise than packager spells it is told by `verify --deep`: in which record.

A second spelling of one object has another identity, and may be read otherwise by somebody else.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kellet import nn
from packager import PackageExporter, verify
from packager._cli import main
from packager._loading import parsing_process
from packager._objects import EncodedObject
from packager._objects.records import Kind as K
from tests.attacks import object_forger as forge
from tests.attacks.test_data_alone import HONEST
from tests.attacks.test_inert_calls import CONTRACTS
from tests.tables import one_test

ARRAY: dict[str, Any] = {"array": np.arange(6.0).reshape(2, 3)}
SETTINGS: dict[str, Any] = {
    "trust": [],
    "interned": [],
    "externs": [],
    "distributions": {},
    "memory": 1 << 40,
}


@pytest.fixture(autouse=True)
def limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """The process of the tests keeps its own."""
    monkeypatch.setattr(parsing_process, "_limit", lambda memory: None)


def other_spelling(made: EncodedObject) -> str | None:
    """What the process of a deep check answers to data, as it is asked to encode it again."""
    sizes = {one.name: [one.dtype, one.buffer.nbytes] for one in made.storages}
    order = {"kind": "object", "what": "object m/o", "storages": sizes, "factory": "", "again": []}
    buffers = {one.name: bytearray(one.buffer) for one in made.storages}
    return parsing_process._problem(order, made.records, SETTINGS, buffers)


OTHERWISE: dict[str, tuple[list[list[Any]], int, str]] = {
    "a set in another order": ([[K.SET, 2, 1]], 0, r"record 0, obj, is [8, 2, 1], and [8, 1, 2] where"),
    "a list that is not packed": ([[K.LIST, 1, 2]], 0, "record 0, obj, is [6, 1, 2], and [11, 1, 2] where"),
    "items that come later": (
        [[K.LIST, 1], [K.EXTEND, -1, 2]],
        -1,
        "record 0, obj, is [6, 1], and [11, 1, 2] where",
    ),
    "an int of a record": ([[K.INT, 7], [K.LIST, -1]], 0, "record 0, obj[0], is [1, 7], and [11, 7] where"),
    "an int of more bytes": (
        [[K.INT, b"\0\0" + b"\1" + bytes(8)], [K.LIST, -1]],
        0,
        "record 0, obj[0], is [1, b'\\x00\\x00\\x01",
    ),
    "a wider run": (
        [[K.LONG_LIST, ["u2", bytes(2 * 2000)]]],
        0,
        "record 0, obj, is [32, ['u2', b'\\x00",
    ),
    "a run where none need be": ([[K.LONG_LIST, ["u1", b"\1"]]], 0, "and [11, 1] where"),
    "a text in two records": (
        [[K.STR, "x" * 65], [K.STR, "x" * 65], [K.LIST, -1, -2]],
        0,
        "record 1, obj[1], is [2, 'xxx",
    ),
    "a long text inline": ([[K.LIST, "x" * 65]], 0, "record 0, obj, is [6, 'xxx"),
    "a record that nothing needs": (
        [[K.PACKED_LIST, 3], [K.PACKED_LIST, 1]],
        0,
        "record 0, record 0, is [11, 3], and [11, 1] where",
    ),
    "children in another order": (
        [[K.PACKED_LIST, 2], [K.PACKED_LIST, 1], [K.LIST, -2, -1]],
        0,
        "record 0, obj[1], is [11, 2], and [11, 1] where",
    ),
}


@one_test
@pytest.mark.parametrize(("records", "root", "said"), OTHERWISE.values(), ids=OTHERWISE)
def test_another_spelling_is_told_with_its_record(records: list[list[Any]], root: int, said: str) -> None:
    made = forge.table_of(records, root=root)
    forge.load(forge.archive_of(made))  # it is read all the same
    told = str(other_spelling(made))
    assert told.startswith("object m/o: ")
    assert said in told
    assert told.endswith("no packager wrote it so: do not load it, unless you know where it comes from")


def test_tensors_that_are_spelled_otherwise_are_told() -> None:
    def in_c_order(codecs: Any, records: list[list[Any]]) -> None:
        (tensor,) = [one for one in records if one[0] == K.TENSOR]
        tensor[4] = [3, 1]

    told = str(other_spelling(forge.with_records(forge.encoded(ARRAY), in_c_order)))
    assert "record 0, obj['array'], is [4, 'array', 'F64', [2, 3], [3, 1], 0], and" in told


def honest() -> dict[str, Any]:
    """Objects of the contracts of codecs, and what data alone may hold, by name."""
    found = {f"{name} {at}": one for name, test in CONTRACTS.items() for at, one in enumerate(test.samples())}
    return found | {name: make() for name, make in HONEST.items()}


@pytest.mark.parametrize("name", honest())
def test_what_packager_wrote_is_encoded_again_as_it_is(name: str) -> None:
    """What is refused as data, as classes of tests are, is not built."""
    told = other_spelling(forge.encoded(honest()[name]))
    assert told is None or "nothing was imported or built" in told


def _turned(codecs: Any, records: list[list[Any]]) -> None:
    """Write the members of a set the other way round."""
    made = next(one for one in records if one[0] == K.SET)
    made[1:] = made[:0:-1]


def test_a_command_names_the_entry_and_the_honest_archive_passes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    value = {"set": {1, 2}, **ARRAY, "more": [{"a": (1, 2.5)}] * 3}
    made = {"honest": forge.encoded(value), "odd": forge.with_records(forge.encoded(value), _turned)}
    for name, code in (("honest", 0), ("odd", 1)):
        path = tmp_path / f"{name}.kellet"
        path.write_bytes(forge.archive_of(made[name]).getvalue())
        assert main(["verify", str(path)]) == 0
        assert main(["verify", "--deep", str(path)]) == code
    told = " ".join(capsys.readouterr().out.split())
    assert told.count("everything holds") == 3
    assert "m/o: object m/o: record 0, obj['set'], is [8, 2, 1], and [8, 1, 2] where the same data is" in told


def test_extras_of_a_state_dict_are_encoded_again() -> None:
    made = forge.extras_of({"seen": {1, 2}, "note": "a"})
    assert verify(forge.archive_of(extras=made), deep=True).ok
    (problem,) = verify(forge.archive_of(extras=forge.with_records(made, _turned)), deep=True).problems
    assert (problem.entry, "is [8, 2, 1], and [8, 1, 2]" in problem.message) == ("m/s.extras", True)


def test_saved_archives_of_data_pass(tmp_path: Path) -> None:
    path = tmp_path / "net.kellet"
    state = {"w": np.ones(2), "more": {"note": {1, 2}, "array": np.arange(3)}}
    with PackageExporter(path, policy="auto") as exporter:
        exporter.save_object("net", "data", [*map(make_one, HONEST)])
        exporter.save_object("net", "model", nn.Sequential(nn.Linear(2, 2), nn.ReLU()))
        exporter.save_state_dict("net", "state", state)
    verify(path, deep=True).raise_for_problems()


def make_one(name: str) -> Any:
    return HONEST[name]()


def test_no_code_of_an_archive_runs(tmp_path: Path) -> None:
    target = tmp_path / "written"
    source = f"open({str(target)!r}, 'w')\nclass Net: pass\n"
    table = [[K.GLOBAL, "net", "Net"], [K.NEW, -1], [K.SET, 2, 1], [K.LIST, -2, -3]]
    file = forge.archive_of(forge.table_of(table), sources={"net": source})
    assert not any("encoded again" in one.message for one in verify(file, deep=True).problems)
    assert not target.exists()
