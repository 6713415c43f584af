"""Random changes of a composed table: operands exchanged, literals mutated, records repeated and filled."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import vocabulary as words
from .table import K, Table, operand_places

if TYPE_CHECKING:
    from .graphs import Graph

_SAME_FORM = (
    (K.TUPLE, K.LIST, K.SET, K.FROZENSET),
    (K.PACKED_TUPLE, K.PACKED_LIST),
    (K.CALL, K.NEW, K.PACKAGE_CALL),
    (K.CALL_KW, K.NEW_KW),
    (K.EXTEND, K.ADD),
    (K.LONG_TUPLE, K.LONG_LIST, K.LONG_SET, K.LONG_FROZENSET),
)
_OBJECTS = (K.FILL, K.FILL, K.EXTEND, K.UPDATE, K.STATE)
_TAKERS = {
    K.LIST: (K.EXTEND,),
    K.DICT: (K.UPDATE,),
    K.SET: (K.ADD,),
    **dict.fromkeys((K.OBJ, K.NEW, K.CALL), _OBJECTS),
    K.LONG_LIST: (K.EXTEND,),
    K.LONG_DICT: (K.UPDATE,),
    K.LONG_SET: (K.ADD,),
    K.CODEC: (K.FILL, K.EXTEND, K.UPDATE, K.FINISH),
}


def deviate(graph: Graph, count: int) -> None:
    """Change a table in a number of places."""
    for _ in range(count):
        if not graph.records:
            return
        graph.rng.choice((exchange, exchange, _mutate, _mutate, _mutate, _other_kind, _fill, _repeat))(graph)


def exchange(graph: Table, start: int = 0) -> None:
    """Let one operand refer to another record, or stand for another scalar."""
    rng = graph.rng
    places = [(record, at) for record in graph.records[start:] for at in operand_places(record)]
    if places:
        record, at = rng.choice(places)
        index = graph.records.index(record)
        record[at] = (
            -rng.randint(1, index)
            if index and rng.random() < 0.8
            else graph.scalar(rng.choice(words.SCALARS))
        )


def _mutate(graph: Graph) -> None:
    """Change the literal of a codec, a name of attributes, or another part that is no operand."""
    rng = graph.rng
    record = rng.choice(graph.records)
    if record[0] == K.CODEC:
        record[2] = mutated(graph, record[2])
    elif record[0] == K.FINISH:
        record[3] = mutated(graph, record[3])
    elif record[0] == K.GLOBAL:
        pool = words.HOSTILE if rng.random() < 0.3 else words.SORTED_NAMES
        record[1:] = rng.choice(pool)
    elif record[0] == K.FILL and len(record) > 2:
        record[2] = rng.choice(words.ODD_ATTRIBUTES)
    elif record[0] == K.SHAPE and len(record) > 3:
        record[rng.randrange(3, len(record))] = rng.choice(words.ODD_ATTRIBUTES)
    elif record[0] == K.TENSOR:
        record[rng.randint(2, 5)] = rng.choice(("F32", "I64", [2], [2**40], [-1], None, 0, 1, -8))
    elif type(record[-1]) is list and rng.random() < 0.7:  # a run
        record[-1] = mutated(graph, record[-1])
    elif len(record) > 1:
        del record[rng.randrange(1, len(record))]


def mutated(graph: Graph, literal: Any) -> Any:
    """Return a literal with one part changed, added or left out."""
    rng = graph.rng
    if type(literal) is not list or not literal:
        return _scalar(graph, literal)
    at = rng.randrange(len(literal))
    kind = rng.randint(0, 3)
    if kind == 0:
        return literal[:at] + literal[at + 1 :]
    if kind == 1:
        return [*literal[:at], _scalar(graph, None), *literal[at:]]
    return [*literal[:at], _scalar(graph, literal[at]), *literal[at + 1 :]]


def _scalar(graph: Graph, before: Any) -> Any:
    rng = graph.rng
    if type(before) is bool:
        return not before
    if type(before) is int and rng.random() < 0.5:
        return before + rng.choice((-1, 1, 2**40))
    if type(before) is bytes:
        return before[:-1] + b"\x01\x02"[: rng.randint(0, 2)]
    if type(before) is str or rng.random() < 0.5:
        return rng.choice(words.WORDS)
    return rng.choice(
        [
            one
            for one in words.SCALARS
            if one != "\ud800" and (type(one) is not int or -(2**63) <= one < 2**64)
        ]
    )


def _other_kind(graph: Graph) -> None:
    rng = graph.rng
    record = rng.choice(graph.records)
    for kinds in _SAME_FORM:
        if record[0] in kinds:
            record[0] = rng.choice(kinds)


def _fill(graph: Graph) -> None:
    """Give any record attributes, items, pairs, a state or a second phase; mostly one that may take them."""
    rng = graph.rng
    target = -rng.randint(1, len(graph.records))
    kind = rng.choice((K.FILL, K.EXTEND, K.UPDATE, K.ADD, K.STATE, K.FINISH, K.SETCELL))
    takers = [-1 - at for at, record in enumerate(graph.records) if record[0] in _TAKERS]
    if takers and rng.random() < 0.7:
        target = rng.choice(takers)
        kind = rng.choice(_TAKERS[graph.records[-1 - target][0]])
    if kind == K.FILL:
        graph.add(K.FILL, target, rng.choice(words.ODD_ATTRIBUTES), _given(graph))
    elif kind == K.UPDATE:
        key = rng.choice(words.ODD_ATTRIBUTES) if rng.random() < 0.3 else graph.key()
        graph.add(K.UPDATE, target, key, _given(graph))
    elif kind == K.FINISH:
        number = rng.randrange(1, len(graph.codecs)) if len(graph.codecs) > 1 else 1
        graph.add(K.FINISH, target, number, rng.choice((["state", True, 0], "hooks", None, "wrapper")))
    else:
        graph.add(kind, target, _given(graph))


def _given(graph: Graph) -> Any:
    """What something is given: another record, a scalar, something that is called."""
    rng = graph.rng
    return rng.choice((graph.any_known, graph.value_name, lambda: graph.scalar(rng.choice(words.SCALARS))))()


def _repeat(graph: Graph) -> None:
    """Write a record a second time."""
    record = graph.rng.choice(graph.records)
    graph.records.append([list(part) if type(part) is list else part for part in record])
