"""Stored migrations that ask values and the module: nothing of either runs, and asking has an end.

Each has an honest twin.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from kellet import nn
from packager import MigrationError
from packager._migrations import (
    Migration,
    Permute,
    Step,
    attach_stored,
    drop,
    migrate,
    pack_migrations,
    rename,
    unpack_migrations,
)

RAN: list[str] = []


class Trap:
    """Runs something whenever code of it is given the chance."""

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        RAN.append("descriptor")

    def __eq__(self, other: object) -> bool:
        RAN.append("comparison")
        return True

    def __hash__(self) -> int:
        RAN.append("hash")
        return 0

    def __bool__(self) -> bool:
        RAN.append("truth")
        return True

    def __index__(self) -> int:
        RAN.append("index")
        return 2

    def __getattr__(self, name: str) -> Any:
        RAN.append(f"attribute {name}")
        return 2


class Number(int):
    """A number that is not quite one."""

    def __eq__(self, other: object) -> bool:
        RAN.append("comparison of a number")
        return True

    def __hash__(self) -> int:
        return 0


class Net(nn.Module):
    _version = 2
    descriptor = Trap()

    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(2, 2, bias=False)
        self.trap = Trap()
        self.number = Number(4)
        self.heads = 2
        self.itself = {"self": self}

    @property
    def rows(self) -> int:
        RAN.append("property")
        return 2

    def __getattr__(self, name: str) -> Any:
        if name not in ("_forward_hooks", "fc"):
            RAN.append(f"__getattr__ {name}")
        return super().__getattr__(name)


@pytest.fixture(autouse=True)
def nothing_ran() -> Iterator[None]:
    RAN.clear()
    yield
    assert RAN == []


def stored(*steps: Step) -> Migration:
    """The migration as a reader has it who found it in an archive."""
    data = pack_migrations({"net:Net": [Migration("m", steps, to=2)]})
    return unpack_migrations(data)["net:Net"][0]


@pytest.mark.parametrize(
    "path",
    ["descriptor", "trap", "trap.anything", "number", "rows", "absent", "forward.__globals__", "__class__"],
)
def test_properties_descriptors_and_comparisons_of_a_module_do_not_run(path: str) -> None:
    for step in (
        drop("old", if_module={path: 2}),
        rename("old", "fc.weight", Permute(0, (path, -1), (1, 0))),
    ):
        with pytest.raises(MigrationError, match=path.partition(".")[0]):
            migrate(stored(step), {"old": np.ones((2, 2))}, module=Net())
    honest = rename("old", "fc.weight", Permute(0, ("heads", -1), (1, 0)), if_module={"fc.bias": False})
    assert list(migrate(stored(honest), {"old": np.ones((2, 2))}, module=Net())) == ["fc.weight"]


class Attached(Net):
    """Has a stored migration attached by the test below."""


def test_an_attached_stored_migration_asks_the_instance_and_runs_nothing_of_it() -> None:
    migration = stored(
        rename("old", "fc.weight", if_module={"heads": 2}), drop("trap", if_module={"trap": 1})
    )
    attach_stored(Attached, [replace(migration, target="net:Attached")], allow=lambda one: one)
    net = Attached()
    RAN.clear()  # making one runs what it runs
    net.load_state_dict({"old": net.fc.weight.detach() + 1})
    assert RAN == []
    with pytest.raises(MigrationError, match="'trap' of Attached is a Trap; expected a number"):
        net.load_state_dict({"old": net.fc.weight.detach(), "trap": net.fc.weight.detach()})


@pytest.mark.parametrize("value", [Number(3), [3], {"a": 3}, None, b"3", 3j])
def test_a_value_that_is_not_quite_a_number_is_not_compared(value: Any) -> None:
    with pytest.raises(MigrationError, match="a gate reads 'v'"):
        migrate(stored(drop("w", if_value={"v": 3})), {"w": 1, "v": value})
    assert list(migrate(stored(drop("w", if_value={"v": 3})), {"w": 1, "v": 3})) == ["v"]


def test_a_large_array_is_not_read_for_a_gate() -> None:
    class Unread(dict[str, Any]):
        def header(self, key: str) -> Any:
            from packager._migrations import Header

            return Header((1 << 40,) if key == "v" else (1,), "float32")

        def __getitem__(self, key: str) -> Any:
            raise AssertionError(f"{key} was read")

    with pytest.raises(
        MigrationError, match=r"'v', which is float32\[1099511627776\]; expected an array of one"
    ):
        migrate(stored(drop("w", if_value={"v": 3})), Unread(w=1, v=1))


def test_a_path_that_goes_round_in_a_module_ends() -> None:
    """`itself.self.itself.self...` is as long as a template may be, and asked for at each key."""
    round_and_round = ".".join(["itself", "self"] * 700)
    with pytest.raises(MigrationError, match=r"of the module has 1,401 parts; at most 64 are followed"):
        migrate(stored(drop("w", if_module={f"{round_and_round}.heads": 2})), {"w": 1}, module=Net())
    honest = ".".join(["itself", "self"] * 3 + ["heads"])
    assert list(migrate(stored(drop("w", if_module={honest: 2})), {"w": 1}, module=Net())) == []


ASKED = {
    "a path": {"if_module": {"{k}." + "itself.self." * 10 + "heads": 2}},
    "a value": {"if_value": {"{k}.v": 3}},
    "keys": {"if_all": [f"{{k}}.{n}" for n in range(20)], "unless": [f"{{k}}.x{n}" for n in range(20)]},
}


@pytest.mark.parametrize("gates", ASKED)
def test_what_is_asked_at_every_key_counts_as_matching(gates: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Or ten steps, each asking at each of 20,000 keys, would take minutes."""
    monkeypatch.setattr("packager._migrations.applying.MAX_MATCHING", 1_000_000)
    state: dict[str, Any] = {f"k{n}.w": 1 for n in range(200)} | {f"k{n}.v": 3 for n in range(200)}
    module = dict.fromkeys((f"k{n}" for n in range(200)), Net())
    RAN.clear()
    step = rename("{k}.w", "{k}.w", **ASKED[gates])
    with pytest.raises(
        MigrationError, match=r"the steps so far match 1,0[0-9,]+ characters of keys; at most 1,00"
    ):
        migrate(stored(*[step] * 4), state, module=module)
    few = {key: value for key, value in state.items() if key.startswith("k1.")}
    assert list(migrate(stored(*[step] * 4), few, module=module)) == list(few)
