"""Long containers of plain values: how they are spelled, that they come back, and what is refused."""

from __future__ import annotations

import collections
import random
from collections.abc import Callable
from typing import Any

import msgpack
import pytest

from packager.objects import (
    ObjectBuildError,
    RecordError,
    TrustContext,
    audit,
    build,
    encode,
    judge,
    unpack_table,
)
from packager.objects.records import Kind as K
from packager.objects.records import version_of
from packager.objects.runs import RUN_FROM
from packager.testing.round_trips import resolve
from tests.tables import one_test

MANY = RUN_FROM + 500


def again(obj: Any) -> Any:
    """What comes back of an object, when it has been looked at and spelled again."""
    encoded = encode(obj)
    assert encoded.refusals == ()
    assert judge(encoded.records, TrustContext.data_only()).forms == ()
    audited = audit(encoded.records, TrustContext.data_only())
    made = build(audited, resolve(audited))
    assert encode(made).records == encoded.records
    return made


def kinds_in(obj: Any) -> set[int]:
    return {record[0] for record in unpack_table(encode(obj).records, "x")[1]}


def words(count: int) -> list[str]:
    return [f"word {at * 7919 % count}" for at in range(count)]


LONG: dict[str, tuple[Callable[[], Any], set[int]]] = {
    "numbers": (lambda: list(range(MANY)), {K.RUN, K.LONG_LIST}),
    "mixed values": (lambda: [1.5, None, -(2**40), True, "a"] * MANY, {K.RUN, K.LONG_LIST}),
    "a tuple": (lambda: tuple(range(MANY)), {K.RUN, K.LONG_TUPLE}),
    "a vocabulary": (lambda: {word: at for at, word in enumerate(words(MANY))}, {K.RUN, K.LONG_DICT}),
    "a set": (lambda: set(words(MANY)), {K.RUN, K.LONG_SET}),
    "a frozenset": (lambda: frozenset(at * 2 for at in range(MANY)), {K.RUN, K.LONG_FROZENSET}),
    "pairs": (lambda: [(at, at * 0.5) for at in range(MANY)], {K.RUN, K.COLUMNS, K.LONG_LIST}),
    "lists of one length": (
        lambda: [[at, None, str(at)] for at in range(MANY)],
        {K.RUN, K.COLUMNS, K.LONG_LIST},
    ),
    "lists of many lengths": (lambda: [[at] * (at % 5) for at in range(MANY)], {K.RUN, K.ROWS, K.LONG_LIST}),
    "long rows": (lambda: [[float(at)] * 20 for at in range(MANY)], {K.RUN, K.ROWS, K.LONG_LIST}),
    "edges": (lambda: {at: {at * 3 % 100, at % 7} for at in range(MANY)}, {K.RUN, K.ROWS, K.LONG_DICT}),
    "dicts of the same keys": (
        lambda: [{"id": at, "on": at % 2 == 0} for at in range(MANY)],
        {K.RUN, K.TABLE, K.LONG_LIST},
    ),
    "dicts of the same keys in another order": (
        lambda: [{"id": at, "on": 1} if at % 2 else {"on": 1, "id": at} for at in range(MANY)],
        {K.RUN, K.ROWS, K.LONG_LIST},
    ),
    "dicts of other keys": (
        lambda: [{"id": at, f"{at % 9}": None} for at in range(MANY)],
        {K.RUN, K.ROWS, K.LONG_LIST},
    ),
    "dicts of numbers": (lambda: [{0: at, 1: 2} for at in range(MANY)], {K.RUN, K.ROWS, K.LONG_LIST}),
    "dicts of long keys": (lambda: [{"k" * 65: at} for at in range(MANY)], {K.RUN, K.ROWS, K.LONG_LIST}),
    "dicts of many keys": (
        lambda: [{f"{key}": at for key in range(65)} for at in range(MANY // 9)],
        {K.RUN, K.ROWS, K.LONG_LIST},
    ),
    "records": (
        lambda: [
            {"id": at, "tags": [str(at), "a"], "at": {"x": at * 0.5, "y": None}, "in": {at: 1}}
            for at in range(MANY)
        ],
        {K.RUN, K.ROWS, K.COLUMNS, K.TABLE, K.LONG_LIST},
    ),
    "a table by name": (lambda: {f"{at}": {"n": at} for at in range(MANY)}, {K.RUN, K.TABLE, K.LONG_DICT}),
    "a list many times": (lambda: [[1, 2]] * MANY, {K.RUN, K.COLUMNS, K.PICKED, K.LONG_LIST}),
    "keys of pairs": (lambda: {(at, str(at)): at for at in range(MANY)}, {K.RUN, K.COLUMNS, K.LONG_DICT}),
    "a set of pairs": (lambda: {(at % 40, at) for at in range(MANY)}, {K.RUN, K.COLUMNS, K.LONG_SET}),
    "a set of sets": (lambda: {frozenset((at, at + 1)) for at in range(MANY)}, {K.RUN, K.ROWS, K.LONG_SET}),
    "rows of rows": (
        lambda: [[(at, "a"), (at, "b" * (at % 3))] for at in range(MANY)],
        {K.RUN, K.COLUMNS, K.LONG_LIST},
    ),
    "lists in tuples": (
        lambda: [(at, [at] * (at % 3)) for at in range(MANY)],
        {K.RUN, K.ROWS, K.COLUMNS, K.LONG_LIST},
    ),
    "few long lists": (
        lambda: {"a": list(range(MANY)), "b": [1]},
        {K.RUN, K.LONG_LIST, K.PACKED_LIST, K.DICT},
    ),
    "empty lists": (lambda: [[] for _ in range(MANY)], {K.RUN, K.ROWS, K.LONG_LIST}),
    "empty tuples": (lambda: [()] * MANY, {K.RUN, K.ROWS, K.LONG_LIST}),
    "a counter": (lambda: collections.Counter(words(MANY)), {K.CODEC, K.RUN, K.UPDATE_LONG}),
    "a defaultdict": (
        lambda: collections.defaultdict(list, {at: [at, 1] for at in range(MANY)}),
        {K.GLOBAL, K.CODEC, K.RUN, K.COLUMNS, K.UPDATE_LONG},
    ),
    "an OrderedDict": (
        lambda: collections.OrderedDict((-at, at) for at in range(MANY)),
        {K.CODEC, K.RUN, K.UPDATE_LONG},
    ),
    "a deque": (lambda: collections.deque(range(MANY), MANY), {K.CODEC, K.RUN, K.EXTEND_LONG}),
}


@one_test
@pytest.mark.parametrize(("make", "kinds"), LONG.values(), ids=LONG)
def test_long_containers_are_runs_and_come_back(make: Callable[[], Any], kinds: set[int]) -> None:
    obj = make()
    assert kinds_in(obj) == kinds
    made = again(obj)
    assert type(made) is type(obj)
    assert made == obj
    if isinstance(obj, dict):
        assert list(made) == list(obj)  # in the same order
    assert again([obj, obj])[0] == obj


def test_the_bytes_of_a_set_do_not_depend_on_how_it_was_filled() -> None:
    numbers, texts = random.Random(5).sample(range(10**9), MANY), words(MANY)
    pairs = [(at % 9, at) for at in range(MANY)]
    for members in (numbers, texts, pairs):
        backwards = members[::-1]
        assert encode(set(members)).records == encode(set(backwards)).records


def test_a_row_that_is_held_elsewhere_stays_one_object() -> None:
    table = [[at, at] for at in range(MANY)]
    inner = {at: {"n": at} for at in range(MANY)}
    made = again(
        {"table": table, "first": table[0], "same": [table[7], table[0]], "inner": inner, "one": inner[3]}
    )
    assert made["table"][0] is made["first"] is made["same"][1]
    assert made["table"][7] is made["same"][0]
    assert made["inner"][3] is made["one"]


def test_a_list_with_a_row_that_was_there_before_is_spelled_item_by_item() -> None:
    shared = [1, 2]
    table = [[at, at] for at in range(MANY)] + [shared]
    made = again([shared, table])
    assert made[1][-1] is made[0]
    twice = again([shared] * MANY)
    assert twice[0] is twice[-1]


def adjacency(nodes: int) -> dict[int, dict[int, dict[str, Any]]]:
    """Edges as a graph has them: what is known of an edge is one dict for both ends."""
    found: dict[int, dict[int, dict[str, Any]]] = {at: {} for at in range(nodes)}
    for at in range(nodes):
        other = at * 7 % nodes
        found[at][other] = found[other][at] = {"weight": at * 0.5}
    return found


def test_what_two_rows_share_is_one_object() -> None:
    edges = adjacency(MANY)
    assert kinds_in(edges) == {K.RUN, K.ROWS, K.TABLE, K.PICKED, K.LONG_DICT}
    made = again(edges)
    assert made == edges
    assert made[3][21] is made[21][3]
    assert made[3][21] is not made[4][28]


def test_rows_that_all_are_in_one_table_before_are_picked_from_it() -> None:
    edges = adjacency(MANY)
    backwards = {at: dict(others) for at, others in reversed(edges.items())}
    table = [{"n": at} for at in range(MANY)]
    made = again([edges, backwards, table, table[::-1], table[:100] * 20, table[5]])
    assert made[0][3][21] is made[1][21][3]
    assert made[2][7] is made[3][-8] is made[4][7] is made[4][107]
    assert made[2][5] is made[5]
    assert made[:3] == [edges, backwards, table]


def test_rows_of_two_tables_are_spelled_item_by_item() -> None:
    first, second = ([{"n": at} for at in range(MANY)] for _ in range(2))
    made = again([first, second, first[:600] + second[:600], [{"n": 0}, *first]])
    assert made[2][0] is made[0][0] is made[3][1]
    assert made[2][600] is made[1][0]
    assert made[3][0] == {"n": 0}


class Text(str):
    """A text of another class, which is equal to one of ours."""


def test_a_key_of_another_class_makes_no_table() -> None:
    texts = [*({"n": at} for at in range(MANY)), {Text("n"): 0}]
    encoded = encode(texts)
    assert {record[0] for record in unpack_table(encoded.records, "x")[1]} >= {K.PACKED_DICT, K.DICT}
    surrogates = [{"\ud800": at} for at in range(MANY)]
    assert again(surrogates) == surrogates


def test_dicts_of_a_table_of_version_2_are_read() -> None:
    """What was written before there were tables stays readable."""
    records = [
        [K.RUN, "u1", b"\1\1"],
        [K.RUN, "text", "u1", b"\1", b"n", "u1", b"\0\0"],
        [K.RUN, "u1", b"\7\x08"],
        [K.ROWS, "dict", -1, -2, -3],
        [K.LONG_LIST, -4],
    ]
    audited = audit(msgpack.packb([[["records", 2]], records, -5]), TrustContext.data_only())
    assert build(audited, {}) == [{"n": 7}, {"n": 8}]


def test_rows_that_lead_back_end() -> None:
    around: list[Any] = []
    around.extend([around] for _ in range(MANY))
    encoded = encode(around)
    made = build(audit(encoded.records, TrustContext.data_only()), {})
    assert made[0][0] is made
    assert len(made) == MANY
    itself: list[Any] = []
    itself.append(itself)
    assert build(audit(encode(itself).records, TrustContext.data_only()), {})[0] is not None


def test_deep_lists_end() -> None:
    deep: list[Any] = list(range(MANY))
    for _ in range(200):
        deep = [deep]
    made = again(deep)
    for _ in range(200):
        (made,) = made
    assert made == list(range(MANY))


def test_tuples_are_values_in_rows() -> None:
    pair = (1, 2)
    made = again({"pairs": [pair] * MANY, "one": pair})
    assert made == {"pairs": [pair] * MANY, "one": pair}


# --- what is refused ---

U1: list[Any] = [K.RUN, "u1", b"\1\2"]
ZEROS: list[Any] = [K.RUN, "u1", b"\0\0\0"]
ONE_TWO_THREE: list[Any] = [K.RUN, "u1", b"\1\2\3"]
LISTS: list[list[Any]] = [U1, [K.COLUMNS, "list", -1]]  # [[1], [2]]
REFUSED: dict[str, tuple[list[list[Any]], str]] = {
    "a run twice": (
        [U1, [K.LONG_LIST, -1], [K.LONG_LIST, -1]],
        r"record 2 \(LONG_LIST\): expected a reference to a run or to rows, that nothing has used",
    ),
    "a run as a value": (
        [U1, [K.LIST, -1]],
        r"record 1 \(LIST\): a reference to a run where a value is expected",
    ),
    "rows as a value": (
        [U1, [K.COLUMNS, "list", -1], [K.LIST, -2]],
        r"a reference to a rows where a value is expected",
    ),
    "items that are none": ([[K.LIST], [K.LONG_LIST, -1]], "expected a reference to a run or to rows"),
    "an item": ([[K.LIST], [K.LONG_LIST, 1]], "expected a reference to a run or to rows, found 1"),
    "a run that comes later": ([[K.LONG_LIST, -2], U1], "expected a reference to a run or to rows"),
    "too many parts": ([U1, U1, [K.LONG_LIST, -1, -2]], "a long container is a run or rows, of a dict two"),
    "a dict without values": ([U1, [K.LONG_DICT, -1]], "a long container is a run or rows, of a dict two"),
    "a key without a value": ([U1, [K.RUN, "u1", b"a"], [K.LONG_DICT, -1, -2]], "a key without a value"),
    "keys that are lists": ([U1, [K.COLUMNS, "list", -1], U1, [K.LONG_DICT, -2, -3]], "that have no hash"),
    "members that hold lists": (
        [U1, [K.COLUMNS, "list", -1], [K.COLUMNS, "tuple", -2], [K.LONG_SET, -3]],
        "that have no hash",
    ),
    "sets of dicts": (
        [
            U1,
            U1,
            [K.RUN, "u1", b"\1\1"],
            [K.ROWS, "dict", -3, -1, -2],
            [K.RUN, "u1", b"\2"],
            [K.ROWS, "set", -5, -4],
            [K.LONG_LIST, -6],
        ],
        "that have no hash",
    ),
    "rows of nothing known": ([U1, [K.COLUMNS, "array", -1]], "columns of 'array'"),
    "columns of sets": ([U1, [K.COLUMNS, "set", -1]], "1 columns of 'set'"),
    "no columns": ([[K.COLUMNS, "list"]], "0 columns of 'list'"),
    "columns of other lengths": (
        [U1, [K.RUN, "u1", b"a"], [K.COLUMNS, "list", -1, -2]],
        "other numbers of them",
    ),
    "rows of an unknown word": ([U1, U1, [K.ROWS, "deque", -1, -2]], "there are no rows of 'deque'"),
    "counts beyond the items": (
        [[K.RUN, "u1", b"\1\2"], U1, [K.ROWS, "list", -1, -2]],
        "rows of 3 items, and other",
    ),
    "counts that are floats": ([[K.RUN, "f8", b"\0" * 8], [K.ROWS, "list", -1]], "counts that are no ints"),
    "counts below 0": ([[K.RUN, "i1", b"\xff\3"], U1, [K.ROWS, "list", -1, -2]], "counts below 0"),
    "counts that are rows": ([U1, [K.COLUMNS, "list", -1], [K.ROWS, "list", -2]], "counts that are no run"),
    "items of empty rows": (
        [[K.RUN, "u1", b"\0"], U1, [K.ROWS, "list", -1, -2]],
        "rows of 0 items in all, in 1 parts",
    ),
    "rows that are columns": (
        [[K.RUN, "u1", b"\1\1"], U1, [K.ROWS, "list", -1, -2]],
        "that should be columns",
    ),
    "dicts without values": (
        [[K.RUN, "u1", b"\2"], U1, [K.ROWS, "dict", -1, -2]],
        "rows of 2 items in all, in 1 parts",
    ),
    "a row beyond": ([U1, [K.COLUMNS, "list", -1], [K.ROW, -2, 2]], "there is no row 2 of 2"),
    "a row below": ([U1, [K.COLUMNS, "list", -1], [K.ROW, -2, -1]], "there is no row -1 of 2"),
    "a row of tuples": ([U1, [K.COLUMNS, "tuple", -1], [K.ROW, -2, 0]], "a row of nothing that has rows"),
    "a row of a run": ([U1, [K.ROW, -1, 0]], "a row of nothing that has rows"),
    "a table without keys": ([U1, [K.TABLE, [], -1]], "a table has from 1 to 64 keys, and values of each"),
    "a table of nothing": ([[K.TABLE, []]], "a table has from 1 to 64 keys"),
    "a table of too many keys": (
        [*([U1] * 65), [K.TABLE, [f"{at}" for at in range(65)], *range(-65, 0)]],
        "a table has from 1 to 64 keys",
    ),
    "a key more than columns": ([U1, [K.TABLE, ["a", "b"], -1]], "and values of each"),
    "a column more than keys": ([U1, U1, [K.TABLE, ["a"], -1, -2]], "and values of each"),
    "keys that are no list": ([U1, [K.TABLE, "a", -1]], "a table has from 1 to 64 keys"),
    "keys that are no texts": ([U1, [K.TABLE, [1], -1]], "the keys of a table are texts of at most 64"),
    "a long key": ([U1, [K.TABLE, ["k" * 65], -1]], "the keys of a table are texts of at most 64"),
    "a key twice": ([U1, U1, [K.TABLE, ["a", "a"], -1, -2]], "characters, each once"),
    "a table of other lengths": (
        [U1, [K.RUN, "u1", b"a"], [K.TABLE, ["a", "b"], -1, -2]],
        "other numbers of them",
    ),
    "a table as keys": ([U1, [K.TABLE, ["a"], -1], U1, [K.LONG_DICT, -2, -3]], "that have no hash"),
    "a table as a value": ([U1, [K.TABLE, ["a"], -1], [K.LIST, -2]], "a reference to a rows where a value"),
    "a table twice": (
        [U1, [K.TABLE, ["a"], -1], [K.LONG_LIST, -2], [K.LONG_LIST, -2]],
        "that is used twice, or none",
    ),
    "picks of a run": ([ZEROS, U1, [K.PICKED, -1, -2]], "rows are picked from what has no rows of its own"),
    "picks of tuples": ([ZEROS, U1, [K.COLUMNS, "tuple", -2], [K.PICKED, -1, -3]], "no rows of its own"),
    "picks of picks": (
        [*LISTS, [K.RUN, "u1", b"\0\1\1"], [K.PICKED, -3, -2], [K.RUN, "u1", b"\0"], [K.PICKED, -5, -4]],
        "rows are picked from what has no rows of its own",
    ),
    "picks that are rows": ([*LISTS, U1, [K.COLUMNS, "list", -3], [K.PICKED, -4, -2]], "that are no run"),
    "picks that are floats": (
        [*LISTS, [K.RUN, "f8", b"\0" * 24], [K.PICKED, -3, -2]],
        "numbers of rows that are no ints",
    ),
    "a pick below 0": ([*LISTS, [K.RUN, "i1", b"\0\1\xff"], [K.PICKED, -3, -2]], "do not lie below 2"),
    "a pick beyond": ([*LISTS, [K.RUN, "u1", b"\0\1\2"], [K.PICKED, -3, -2]], "do not lie below 2"),
    "a row that is not picked": ([*LISTS, [K.RUN, "u1", b"\0\0\0"], [K.PICKED, -3, -2]], "one is left out"),
    "no row twice": ([*LISTS, [K.RUN, "u1", b"\0\1"], [K.PICKED, -3, -2]], "of which none comes twice"),
    "picks in another order": ([*LISTS, [K.RUN, "u1", b"\1\0\0"], [K.PICKED, -3, -2]], "in another order"),
    "picks that skip one": (
        [ONE_TWO_THREE, [K.COLUMNS, "list", -1], [K.RUN, "u1", b"\0\2\1\1"], [K.PICKED, -3, -2]],
        "in another order",
    ),
    "picked rows as keys": (
        [*LISTS, [K.RUN, "u1", b"\0\1\1"], [K.PICKED, -3, -2], ZEROS, [K.LONG_DICT, -4, -5]],
        "that have no hash",
    ),
    "rows that were picked, whole": (
        [*LISTS, [K.RUN, "u1", b"\0\1\1"], [K.PICKED, -3, -2], [K.LONG_LIST, -4], [K.LONG_LIST, -2]],
        "that is used twice, or none",
    ),
    "numbers twice": (
        [*LISTS, [K.LONG_LIST, -2], ZEROS, [K.PICKED, -4, -2], [K.PICKED, -4, -2]],
        "that nothing has used",
    ),
    "a run for nothing": ([[K.LIST], U1], r"the root: no record uses the run, or the rows, of record 1"),
    "rows for nothing": (LISTS, "no record uses the run, or the rows, of record 1"),
    "more for a list": ([U1, [K.LIST], [K.EXTEND_LONG, -2, -1]], "an object that no codec makes"),
    "pairs for a dict": ([U1, U1, [K.DICT], [K.UPDATE_LONG, -3, -1, -2]], "an object that no codec makes"),
}


@one_test
@pytest.mark.parametrize(("records", "message"), REFUSED.values(), ids=REFUSED)
def test_what_no_encoder_writes_is_refused(records: list[list[Any]], message: str) -> None:
    version = version_of({record[0] for record in records})
    with pytest.raises(RecordError, match=message):
        audit(msgpack.packb([[["records", version]], records, None]), TrustContext.data_only())


COLLIDING = [(2.0 ** (61 * at), 2.0 ** (61 * other)) for at in range(-16, 17) for other in range(-16, 17)]
CROWDED: dict[str, tuple[Callable[[], Any], str]] = {
    "keys": (lambda: {"deep": dict.fromkeys(COLLIDING, 0)}, r"obj\['deep'\]"),
    "members": (lambda: {"deep": set(COLLIDING)}, r"obj\['deep'\]"),
    "frozen members": (lambda: {"deep": [1, frozenset(COLLIDING)]}, r"obj\['deep'\]\[1\]"),
    "rows": (
        lambda: {
            "deep": [{(1.5, 2.5)}, set(COLLIDING), *({(at / 2, 2.5)} for at in range(68)), set(COLLIDING)]
        },
        r"obj\['deep'\]: \[1\] of it: ",
    ),
    "pairs of a counter": (lambda: {"deep": collections.Counter(COLLIDING)}, r"obj\['deep'\]"),
}


@pytest.mark.parametrize(("make", "path"), CROWDED.values(), ids=CROWDED)
def test_keys_that_collide_are_refused_in_the_plan_and_by_the_loader(
    make: Callable[[], Any], path: str
) -> None:
    obj = make()
    records = encode(obj).records
    form = judge(records, TrustContext.data_only()).forms[0]
    assert str(form).startswith(path.replace("\\", ""))
    assert "keys whose hashes collide" in str(form)
    audited = audit(records, TrustContext.data_only())
    with pytest.raises(ObjectBuildError, match="keys whose hashes collide"):
        build(audited, resolve(audited))
    beside_code = audit(records, TrustContext.with_code(["net"]))
    assert build(beside_code, resolve(beside_code)) == obj


def test_numbers_are_looked_at_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    encoded = [
        encode({"deep": made}).records
        for made in ({at << 30: 1 for at in range(MANY)}, [1, {at << 30 for at in range(MANY)}])
    ]
    assert [judge(records, TrustContext.data_only()).forms for records in encoded] == [(), ()]
    monkeypatch.setattr("packager.objects.key_spread.STEPS_PER_KEY", 1)
    for records in encoded:
        (form,) = judge(records, TrustContext.data_only()).forms
        assert str(form).startswith("obj['deep']")
        with pytest.raises(ObjectBuildError, match=r"obj.*keys whose hashes collide"):
            build(audit(records, TrustContext.data_only()), {})
