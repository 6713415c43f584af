"""Small migrations that would make much: keys, arrays, numbers, matching. Each has an honest twin."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from packager import ArchiveError, MigrationError, PackageError
from packager._archive import MAX_TENSORS, bounds, pack
from packager._migrations import (
    Migration,
    Step,
    default,
    drop,
    merge,
    migrate,
    migrated_metadata,
    parse_migration,
    plan_migration,
    rename,
    split,
    unpack_migrations,
)
from tests import processes
from tests.tables import one_test

PAIR = {"a": np.zeros((4, 2), np.float32), "b": np.zeros((4, 2), np.float32)}


def planned(*steps: Step, state: dict[str, Any] | None = None) -> list[str]:
    return list(plan_migration(Migration("net", steps), PAIR if state is None else state).values)


def told(error: PackageError) -> str:
    """All that an error says: its text leaves out the middle of a long line."""
    return "\n".join([error.args[0], *error.problems])


def refused(match: str, *steps: Step, state: dict[str, Any] | None = None) -> None:
    with pytest.raises(MigrationError) as caught:
        planned(*steps, state=state)
    assert re.search(match, told(caught.value))


# --- keys ---


def test_a_key_that_doubles_sixty_times_is_refused_by_its_step() -> None:
    refused(r"rename \{a:any\} -> \{a\}\.\{a\}:\s+'.*would have [0-9,]+ characters; at most 10,000",
            *[rename("{a:any}", "{a}.{a}")] * 60)  # fmt: skip
    assert len(planned(*[rename("{a:any}", "{a}.{a}")] * 12, state={"k": 1})[0]) == 2**13 - 1


def test_a_key_of_as_many_characters_as_may_be_is_made() -> None:
    most = bounds.MAX_MIGRATED_KEY
    holes = {"x" * 5000: 1}
    assert len(planned(rename("{k}", "{k}." + "y" * 4999), state=holes)[0]) == most
    refused("the key would have 10,001 characters", rename("{k}", "{k}." + "y" * 5000), state=holes)


def test_many_keys_that_grow_together_are_refused_by_their_characters() -> None:
    state = dict.fromkeys([f"k{n}" for n in range(3000)], 1)
    refused(r"migration 'net', rename \{k\} -> \{k\}\.y+\.\.\. .* \.\.\.y+\.\.\.': that makes "
            r"16,\d{3},\d{3} characters of keys; at most 16,\d{3},\d{3} are made",
            rename("{k}", "{k}." + "y" * 6000), state=state)  # fmt: skip
    assert len(planned(rename("{k}", "{k}." + "y" * 5000), state=state)) == 3000


@pytest.mark.long
def test_keys_that_split_again_and_again_are_refused_by_their_number() -> None:
    state = {"w": np.zeros((0, 4), np.float32)}
    eighths = split("{k}", [f"{{k}}{n}" for n in range(8)])
    refused(
        r"migration 'net', split .*: that makes 262,151 keys; at most 262,144", *[eighths] * 9, state=state
    )
    assert len(planned(*[eighths] * 3, state=state)) == 512


@pytest.mark.parametrize("rows", [MAX_TENSORS + 1, 10**12])
def test_a_split_over_more_rows_than_a_file_has_tensors_is_refused_before_it(rows: int) -> None:
    step = split("w", "w.{n}", over="n")
    refused(rf"'w': split along axis 0: {rows:,} parts; at most 262,144", step,
            state={"w": np.zeros((rows, 0), np.int8)})  # fmt: skip
    assert len(planned(step, state={"w": np.zeros((1000, 0), np.int8)})) == 1000


def test_a_version_that_moves_without_end_is_refused() -> None:
    endless = Migration("net", [rename("x.{k:any}", "x.{k}", repeat=True)])
    with pytest.raises(MigrationError, match="renaming never ends"):
        migrated_metadata({"x.y": 1}, endless)
    growing = Migration("net", [rename("{k:any}", "{k}.{k}")] * 60)
    with pytest.raises(MigrationError, match="the key would have"):
        migrated_metadata({"x": 1}, growing)
    wrappers = Migration("net", [rename("module.{k:any}", "{k}", repeat=True)])
    assert migrated_metadata({"module.module.bn": 2}, wrappers) == {"bn": 2}


# --- merges on numbers ---


@pytest.mark.parametrize("number", [2, 99_999_999_999, 10**17])
def test_a_merge_on_a_number_out_of_a_key_names_the_gap(number: int) -> None:
    state = {"experts.0.w": PAIR["a"], f"experts.{number}.w": PAIR["b"]}
    step = merge("experts.{e:int}.w", "experts.w", over="e")
    refused(r"merge: missing 'experts\.1\.w'", step, state=state)
    if number > 10:
        refused(rf"and [0-9,]+ more; 2 are there, the last is 'experts\.{number}\.w'", step, state=state)


def test_a_merge_without_gaps_is_carried_out() -> None:
    state = {f"experts.{n}.w": np.full(2, n) for n in (1, 0, 2)}
    step = merge("experts.{e:int}.w", "experts.w", over="e")
    assert migrate(Migration("net", [step]), state)["experts.w"].tolist() == [[0, 0], [1, 1], [2, 2]]


# --- arrays ---


@pytest.mark.parametrize("shape", [(10**9, 10**9), (2**47,), (1 << 26, 2)])
def test_a_constant_beyond_what_is_there_is_refused_before_it_is_made(shape: tuple[int, ...]) -> None:
    refused(r"migration 'net', default w: 'w': that makes [0-9,]+ bytes of arrays to make; at most 268,43",
            default("w", 0, shape=shape, dtype="float32"))  # fmt: skip


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ((2**48,), r"shape = \[281474976710656\]: no axis is as long as 281,474,976,710,656"),
        ((1,) * 65, "shape has 65 axes; at most 64"),
    ],
)
def test_a_constant_of_a_shape_that_no_array_has_is_refused(shape: tuple[int, ...], message: str) -> None:
    refused(message, default("w", 0, shape=shape, dtype="int8"))


def test_many_constants_count_together() -> None:
    large = [default(f"w{n}", 0, shape=(1 << 24,), dtype="float32") for n in range(5)]
    refused(r"default w3: 'w3': that makes", *large, state={})
    assert len(planned(*large[:3], state={})) == 3


def test_a_constant_beside_each_of_many_arrays_is_made() -> None:
    state = {f"{n}.weight": np.zeros(4, np.float32) for n in range(100)}
    step = default("{p:any}.running_mean", 0, like="{p:any}.weight")
    assert len(planned(step, state=state)) == 200


def test_arrays_that_are_made_of_each_other_twice_are_refused() -> None:
    """Sixty rounds would join 2**60 arrays, which a tree of origins does one by one."""
    rounds: list[Step] = [merge(["a", "b"], "c"), split("c", ["a", "b"])]
    refused(r"migration 'net', (merge a, b -> c|split c -> a, b): .*bytes of arrays to make", *rounds * 60)
    empty = {"a": np.zeros((0, 2)), "b": np.zeros((0, 2))}
    refused(r"bytes of arrays to make", *rounds * 60, state=empty)
    result = migrate(Migration("net", rounds * 3), PAIR)
    assert {key: value.shape for key, value in result.items()} == {"a": (4, 2), "b": (4, 2)}


def test_merges_inside_each_other_are_bounded() -> None:
    state = {"w": np.zeros((1, 2)), **{f"w{n}": np.zeros((1, 2)) for n in range(65)}}
    steps = [merge(["w", f"w{n}"], "w", sizes=[n + 1, 1]) for n in range(65)]
    refused("65 merges inside each other; at most 64", *steps, state=state)
    migrated = migrate(Migration("net", steps[:64]), state)
    assert migrated["w"].shape == (65, 2)


def test_a_reshape_of_a_million_axes_is_refused_before_it_is_multiplied() -> None:
    text = '[[step]]\nrename = "w"\ntransforms = [{ reshape = [' + "9223372036854775807, " * 100 + "] }]\n"
    with pytest.raises(MigrationError, match="shape has 100 axes; at most 64"):
        parse_migration(text)
    with pytest.raises(MigrationError, match=r"m:1: shape has a number of 67 bits; at most 64"):
        parse_migration(f'[[step]]\ndefault = "w"\nfill = 0\nshape = [{10**20}]\ndtype = "int8"\n', "m")


# --- matching ---


def runs(program: str, seconds: int = 60) -> None:
    head = "from packager._migrations import *\nimport time\n"
    processes.run([sys.executable, "-c", head + program], cold=True, timeout=seconds, check=True)


def test_twenty_holes_between_repeated_dots_end() -> None:
    runs(
        "text = '.a.'.join(f'{{h{n}:any}}' for n in range(20)) + '.b'\n"
        "assert Template.parse(text).match('a.' * 2000) is None\n"
        "assert Template.parse(text[:-2]).match('a.' * 2000) is not None\n"
    )


def test_a_gate_reads_every_key_once_for_all_matches_of_a_step() -> None:
    """Twenty thousand matches, each against twenty thousand keys, were four hundred million."""
    runs(
        "state = {f'l.{n}.w': 1 for n in range(20_000)}\n"
        "gates = {'if_all': ['l.{n}.{x}', '{k:any}.{n}.w'], 'unless': 'z.{n}.{x}'}\n"
        "steps = [rename('l.{n:int}.w', 'm.{n}.w', **gates)]\n"
        "assert len(plan_migration(Migration('net', steps), state).rows) == 20_000\n"
    )


def test_gates_that_share_holes_still_judge_match_by_match() -> None:
    state = dict.fromkeys(["l.0.w", "l.1.w", "l.1.g", "l.2.w", "l.2.v"], 1)
    step = rename("l.{n:int}.w", "m.{n}.w", if_all="l.{n:int}.{x:any}v", unless="l.{n:int}.g")
    assert planned(step, state=state) == ["l.0.w", "l.1.w", "l.1.g", "m.2.w", "l.2.v"]


def test_steps_that_match_more_than_any_chain_are_refused_before_they_do() -> None:
    state = dict.fromkeys((f"{'x' * 100}.{n}" for n in range(20_000)), 1)
    slow = ".".join(f"{{h{n}:any}}" for n in range(20))
    refused(r"drop .*: the steps so far match [0-9,]+ characters of keys; at most 1,073,741,824",
            *[drop(f"{slow}.none")] * 2, state=state)  # fmt: skip
    refused("the steps so far match", drop("{a}.none", if_all=[f"{slow}.{n}" for n in range(3)]), state=state)
    assert len(planned(*[drop("{a}.none")] * 5, state=state)) == 20_000


def test_problems_of_one_step_are_told_up_to_a_hundred() -> None:
    state = dict.fromkeys((f"l.{n}" for n in range(5000)), 1)
    with pytest.raises(MigrationError, match="and 91 more") as caught:
        planned(rename("l.{n:int}", "l.{n-9999}"), state=state)
    *told, last = caught.value.problems
    assert sum("numbers in keys are 0 or more" in one for one in told) == 100
    assert last == "and possibly more"


# --- archives ---


def stored(**step: Any) -> bytes:
    return pack([{"name": "m", "class": "net:Net", "step": [step]}])


@one_test
@pytest.mark.parametrize(
    ("step", "message"),
    [
        ({"rename": "x" * 10_001, "to": "y"}, "it has 10,001 characters; at most 10,000"),
        ({"drop": ".".join("{a}" for _ in range(65))}, "65 holes and more; at most 64 are read"),
        ({"rename": "{n:int}", "to": "{" + "n*1+" * 500 + "9" * 4000 + "}"}, "is not a hole; expected"),
        ({"rename": "{n:int}", "to": "{999999999*(n+9999999999)}"}, "the limit is 18 digits"),
        ({"rename": "{n:int}", "to": "{" + "(" * 3000 + "n" + ")" * 3000 + "}"}, "is not a hole; expected"),
        ({"rename": "{n:int}", "to": "{" + "-" * 5000 + "n}"}, "is not a hole; expected"),
        ({"rename": "{n:int}", "to": "{ 3 * ( n - 1 ) }"}, None),
        ({"rename": "{n:int}", "to": "{n**9}"}, "is not a hole; expected"),
        ({"default": "w", "fill": 0, "shape": [1 << 48], "dtype": "int8"}, "no axis is as long"),
    ],
)
def test_what_an_archive_says_in_a_step_is_bounded(step: dict[str, Any], message: str | None) -> None:
    if message is None:
        assert unpack_migrations(stored(**step))["net:Net"]
        return
    with pytest.raises(ArchiveError) as caught:
        unpack_migrations(stored(**step))
    assert re.search(message, told(caught.value))


def test_many_migrations_of_one_class_are_read_in_time_proportional_to_them() -> None:
    tables = [{"name": f"m{n:05}", "class": "net:Net", "to": n + 2, "step": []} for n in range(5_000)]
    assert len(unpack_migrations(pack(tables))["net:Net"]) == 5_000
    with pytest.raises(ArchiveError, match="net:Net has two migrations of this name"):
        unpack_migrations(pack([tables[0], {**tables[0], "to": 9}]))


def test_reading_a_migration_out_of_an_archive_compiles_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    import re

    def never(*arguments: Any, **more: Any) -> Callable[..., Any]:
        raise AssertionError("a regular expression was compiled")

    data = stored(pattern="(a+)+$", to="x")
    monkeypatch.setattr(re, "compile", never)
    assert unpack_migrations(data)["net:Net"][0].steps[0].what == "rename /(a+)+$/ -> x"
