"""Long containers of plain values: how they are spelled, that they come back, and what is refused."""

from __future__ import annotations

import collections
import random
from collections.abc import Callable
from typing import Any

import msgpack
import pytest

from packager._audit import TrustContext, audit, judge
from packager._objects import ObjectBuildError, RecordError, build, encode, unpack_table
from packager._objects.records import RUN_FROM
from packager._objects.records import Kind as K
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
    "numbers": (lambda: list(range(MANY)), {K.LONG_LIST}),
    "a tuple": (lambda: tuple(range(MANY)), {K.LONG_TUPLE}),
    "a vocabulary": (lambda: {word: at for at, word in enumerate(words(MANY))}, {K.LONG_DICT}),
    "a set": (lambda: set(words(MANY)), {K.LONG_SET}),
    "a frozenset": (lambda: frozenset(at * 2 for at in range(MANY)), {K.LONG_FROZENSET}),
    "few long lists": (
        lambda: {"a": list(range(MANY)), "b": [1]},
        {K.LONG_LIST, K.PACKED_LIST, K.DICT},
    ),
    "a counter": (lambda: collections.Counter(words(MANY)), {K.CODEC, K.UPDATE_LONG}),
    "an OrderedDict": (
        lambda: collections.OrderedDict((-at, at) for at in range(MANY)),
        {K.CODEC, K.UPDATE_LONG},
    ),
    "a deque": (lambda: collections.deque(range(MANY), MANY), {K.CODEC, K.EXTEND_LONG}),
}
ONE_BY_ONE: dict[str, tuple[Callable[[], Any], set[int]]] = {
    "mixed values": (lambda: [1.5, None, -(2**40), True, "a"] * MANY, {K.PACKED_LIST}),
    "None alone": (lambda: [None] * MANY, {K.PACKED_LIST}),
    "a number of more than 64 bits": (lambda: [*range(MANY), 2**64], {K.INT, K.LIST}),
    "a text without a UTF-8 form": (lambda: [*words(MANY), "\ud800"], {K.STR, K.LIST}),
    "values of two types": (lambda: {word: [] for word in words(MANY)}, {K.PACKED_LIST, K.DICT}),
    "pairs": (lambda: [(at, at * 0.5) for at in range(MANY)], {K.PACKED_TUPLE, K.LIST}),
    "edges": (lambda: {at: {at * 3 % 100, at % 7} for at in range(MANY)}, {K.SET, K.DICT}),
    "records": (
        lambda: [{"id": at, "tags": [str(at), "a"], "at": {"x": at * 0.5}} for at in range(MANY)],
        {K.PACKED_LIST, K.PACKED_DICT, K.DICT, K.LIST},
    ),
    "keys of pairs": (lambda: {(at, str(at)): at for at in range(MANY)}, {K.PACKED_TUPLE, K.DICT}),
    "a set of sets": (lambda: {frozenset((at, at + 1)) for at in range(MANY)}, {K.FROZENSET, K.SET}),
    "a defaultdict": (
        lambda: collections.defaultdict(list, {at: [at, 1] for at in range(MANY)}),
        {K.GLOBAL, K.CODEC, K.PACKED_LIST, K.UPDATE},
    ),
}


@one_test
@pytest.mark.parametrize(("make", "kinds"), (LONG | ONE_BY_ONE).values(), ids=LONG | ONE_BY_ONE)
def test_long_containers_of_one_type_are_runs_and_come_back(make: Callable[[], Any], kinds: set[int]) -> None:
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


def adjacency(nodes: int) -> dict[int, dict[int, dict[str, Any]]]:
    """Edges as a graph has them: what is known of an edge is one dict for both ends."""
    found: dict[int, dict[int, dict[str, Any]]] = {at: {} for at in range(nodes)}
    for at in range(nodes):
        other = at * 7 % nodes
        found[at][other] = found[other][at] = {"weight": at * 0.5}
    return found


def test_what_two_small_containers_share_is_one_object() -> None:
    edges = adjacency(MANY)
    made = again(edges)
    assert made == edges
    assert made[3][21] is made[21][3]
    assert made[3][21] is not made[4][28]


def test_many_lists_that_lead_back_end() -> None:
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


# --- what is refused ---

U1: list[Any] = ["u1", b"\1\2"]
REFUSED: dict[str, tuple[list[list[Any]], str]] = {
    "items that are none": (
        [[K.LIST], [K.LONG_LIST, -1]],
        r"record 1 \(LONG_LIST\): expected list, found int",
    ),
    "a run of nothing at all": ([[K.LONG_LIST, []]], "not enough values to unpack"),
    "too many parts": ([[K.LONG_LIST, U1, U1]], "2 operands, expected run"),
    "a dict without values": ([[K.LONG_DICT, U1]], "1 operands, expected run run"),
    "a key without a value": ([[K.LONG_DICT, U1, ["u1", b"a"]]], "a key without a value"),
    "more for a list": ([[K.LIST], [K.EXTEND_LONG, -1, U1]], "an object without a codec"),
    "pairs for a dict": ([[K.DICT], [K.UPDATE_LONG, -1, U1, U1]], "an object without a codec"),
}


@one_test
@pytest.mark.parametrize(("records", "message"), REFUSED.values(), ids=REFUSED)
def test_what_no_encoder_writes_is_refused(records: list[list[Any]], message: str) -> None:
    with pytest.raises(RecordError, match=message):
        audit(msgpack.packb([[["records", 1]], records, None]), TrustContext.data_only())


COLLIDING = [(2.0 ** (61 * at), 2.0 ** (61 * other)) for at in range(-16, 17) for other in range(-16, 17)]
CROWDED: dict[str, tuple[Callable[[], Any], str]] = {
    "keys": (lambda: {"deep": dict.fromkeys(COLLIDING, 0)}, r"obj\['deep'\]"),
    "members": (lambda: {"deep": set(COLLIDING)}, r"obj\['deep'\]"),
    "frozen members": (lambda: {"deep": [1, frozenset(COLLIDING)]}, r"obj\['deep'\]\[1\]"),
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
    monkeypatch.setattr("packager._objects.key_spread.STEPS_PER_KEY", 1)
    for records in encoded:
        (form,) = judge(records, TrustContext.data_only()).forms
        assert str(form).startswith("obj['deep']")
        with pytest.raises(ObjectBuildError, match=r"obj.*keys whose hashes collide"):
            build(audit(records, TrustContext.data_only()), {})
