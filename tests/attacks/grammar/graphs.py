"""Composes graphs: mostly what our encoder could write, now and then something bold in the place of a part.

A graph has a number of bold choices to spend. One without any is refused only where honest parts do not go
together; one with some has a function, a hook, another object or a name in a place that does not take it.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from . import codec_parts, long_parts, module_parts, tensor_parts
from . import vocabulary as words
from .deviations import deviate
from .listed_names import PLAIN_DTYPES
from .table import LEAVES, K, Table

_MOST_RECORDS = 70


@dataclass(frozen=True)
class Composed:
    """A graph: the bytes of its table, how it is to be loaded, and what it is made of."""

    seed: int
    table: bytes
    how: str
    with_storage: bool
    sentinels: frozenset[str]
    codecs: list[list[Any]] = field(repr=False)
    records: list[list[Any]] = field(repr=False)
    factory: str | None = None


class Graph(Table):
    """A table that is filled at random."""

    def __init__(self, rng: random.Random, *, with_storage: bool, beside_code: bool, budget: int) -> None:
        super().__init__(rng, with_storage=with_storage)
        self.beside_code = beside_code
        self.budget = budget
        self.handed_on: set[str] = set()
        self.needed: set[str] = set()

    def bold(self) -> bool:
        """Say whether this choice is a bold one, of those that are left."""
        if self.budget and self.rng.random() < 0.12:
            self.budget -= 1
            return True
        return False

    # --- names ---

    def value_name(self) -> int:
        """Write a listed name that is only handed on: a sentinel may stand behind it."""
        module, name = self.rng.choice(self.rng.choice((words.VALUES, words.FUNCTIONS, words.VALUES)))
        if f"{module}:{name}" not in PLAIN_DTYPES:  # plain data may hold these, and no function
            self.handed_on.add(f"{module}:{name}")
        return self.name(module, name)

    def needed_name(self, module: str, name: str) -> int:
        """Write a name whose object is made, or looked at."""
        self.needed.add(f"{module}:{name}")
        return self.name(module, name)

    def odd_name(self) -> int:
        """Write a name that should not be granted, or not for what it is used."""
        return self.name(*self.rng.choice(words.HOSTILE))

    # --- values by what they may be used for ---

    def value(self, depth: int = 3) -> Any:
        """Any value: an operand."""
        rng = self.rng
        roll = rng.random()
        if depth <= 0 or len(self.records) > _MOST_RECORDS or roll < 0.15:
            return self.scalar(rng.choice(words.SCALARS))
        if roll < 0.25 and self.records:
            return self._known(LEAVES - {K.INT, K.STR, K.BYTES, K.PACKED_LIST})
        if roll < 0.5:
            return self.plain(depth)
        return rng.choice(_ANY)(self, depth)

    def plain(self, depth: int = 2) -> Any:
        """Plain data, unless a bold choice puts something else here."""
        if self.bold():
            return self.anything_odd(depth)
        if depth <= 0 or len(self.records) > _MOST_RECORDS or self.rng.random() < 0.3:
            return self.scalar(self.rng.choice(words.SCALARS))
        return self.rng.choice(_PLAIN)(self, depth)

    def plain_or_tensor(self, depth: int = 2) -> Any:
        """Plain data, tensors and arrays."""
        if self.rng.random() < 0.3 and not self.bold():
            return tensor_parts.tensor(self)
        return self.plain(depth)

    def key(self, depth: int = 1) -> Any:
        """A key of a dict, or a member of a set."""
        if self.bold():
            return self.rng.choice((Graph.anything_odd, codec_parts.odd_key))(self, depth)
        if depth <= 0 or self.rng.random() < 0.6:
            return self.scalar(self.rng.choice(words.KEYS))
        return self.rng.choice(_KEYS)(self, depth - 1)

    def anything_odd(self, depth: int = 1) -> Any:
        """Something that has no business where plain data is."""
        choices: Sequence[Callable[..., Any]] = (
            Graph.value_name,
            Graph.value_name,
            Graph.odd_name,
            codec_parts.wrapped_call,
            codec_parts.odd_key,
            module_parts.module,
            Graph.odd_object,
            Graph.any_known,
            lambda graph: graph.value(depth - 1),
        )
        return self.rng.choice(choices)(self)

    def any_known(self) -> Any:
        """A reference to any record that is there, a fill or a shape among them."""
        return -self.rng.randint(1, len(self.records)) if self.records else None

    def _known(self, without: frozenset[int]) -> Any:
        found = [
            -1 - index
            for index, record in enumerate(self.records)
            if record[0] not in without and record[0] not in _NO_VALUES
        ]
        return self.rng.choice(found) if found else None

    def odd_object(self) -> int:
        """An object of a class that is not listed, or of one whose attributes are others than it sets."""
        rng = self.rng
        if rng.random() < 0.25:
            return self._filled_object()
        pool = words.HOSTILE if rng.random() < 0.5 else words.SORTED_NAMES
        cls = self.needed_name(*rng.choice(pool))
        names = rng.sample(words.ODD_ATTRIBUTES + words.HONEST_ATTRIBUTES, rng.randint(0, 2))
        roll = rng.random()
        if roll < 0.2:
            made = self.add(rng.choice((K.NEW, K.CALL)), cls, self.scalar(rng.choice(words.SCALARS)))
        elif roll < 0.4:
            made = self.add(K.NEW, cls)
        else:
            shape = self.add(K.SHAPE, cls, None, *names)
            made = self.add(K.OBJ, shape, *(self.value(1) for _ in names))
        self.fill(made)
        return made

    def fill(self, made: int) -> None:
        """Give an object something more, which only some objects take."""
        rng = self.rng
        kind = rng.choice((K.FILL, K.FILL, K.EXTEND, K.UPDATE, K.STATE, *[None] * 4))
        if kind == K.FILL:
            name = rng.choice(words.ODD_ATTRIBUTES + words.HONEST_ATTRIBUTES)
            self.add(K.FILL, made, name, rng.choice((self.value_name(), self.value(1))))
        elif kind == K.UPDATE:
            self.add(K.UPDATE, made, self.key(), self.value(1))
        elif kind == K.EXTEND:
            self.add(K.EXTEND, made, self.value(1))
        elif kind == K.STATE:
            state = rng.choice((self.mapping(1), self.value(1)))
            self.add(K.STATE, made, state)
            if self.bold():  # and what was taken up is changed
                self.add(K.UPDATE, state, rng.choice(words.ODD_ATTRIBUTES), self.value(0))

    def _filled_object(self) -> int:
        """An object of a class outside whose own method takes what it is given."""
        name, attributes, kind = self.rng.choice(_TAKERS)
        shape = self.add(K.SHAPE, self.needed_name(*name.split(":")), None, *attributes)
        made = self.add(K.OBJ, shape, *(self.value(1) for _ in attributes))
        self.add(kind, made, *([1] if kind == K.UPDATE else []), self.value(1))
        return made

    # --- containers ---

    def sequence(self, depth: int, item: Callable[[int], Any] | None = None) -> int:
        """A tuple, a list or a packed one."""
        rng = self.rng
        item = item or self.value
        kind = rng.choice((K.TUPLE, K.LIST, K.PACKED_TUPLE, K.PACKED_LIST))
        if kind in (K.PACKED_TUPLE, K.PACKED_LIST):
            return self.add(kind, *(one for one in rng.sample(words.SCALARS, 3) if _is_packable(one)))
        made = self.add(kind, *(item(depth - 1) for _ in range(rng.randint(0, 3))))
        if kind == K.LIST and rng.random() < 0.1:
            self.add(K.EXTEND, made, item(depth - 1), made)
        return made

    def mapping(self, depth: int, item: Callable[[int], Any] | None = None) -> int:
        """A dict, given more pairs when it is there, now and then."""
        rng = self.rng
        item = item or self.value
        if rng.random() < 0.2:
            return self.add(K.PACKED_DICT, "a", rng.choice((1, -1, None)), "b", "c")
        pairs = [part for _ in range(rng.randint(0, 3)) for part in (self.key(), item(depth - 1))]
        made = self.add(K.DICT, *pairs)
        if rng.random() < 0.15:
            self.add(K.UPDATE, made, self.key(), rng.choice((made, item(depth - 1))))
        return made

    def members(self, depth: int) -> int:
        """A set or a frozenset."""
        rng = self.rng
        kind = rng.choice((K.SET, K.FROZENSET))
        made = self.add(kind, *(self.key() for _ in range(rng.randint(0, 3))))
        if kind == K.SET and rng.random() < 0.2:
            self.add(K.ADD, made, self.key())
        return made

    def template(self, depth: int) -> Any:
        """An honest table, with one operand of it exchanged where a bold choice is left."""
        from .deviations import exchange

        codecs, records, root = self.rng.choice(self.honest())
        start = len(self.records)
        made = self.splice(codecs, records, root)
        if self.bold():
            exchange(self, start)
        return made

    def honest(self) -> Any:
        """The honest tables that this graph may take parts of."""
        tables = words.honest_tables()
        return tables if self.with_storage else [one for one in tables if not _has_tensors(one[1])]


def _has_tensors(records: Sequence[Sequence[Any]]) -> bool:
    return any(record[0] == K.TENSOR for record in records)


def _is_packable(value: Any) -> bool:
    if type(value) is int:
        return -(2**63) <= value < 2**64
    return type(value) is not bytes and not (type(value) is str and (len(value) > 64 or not value.isascii()))


def _odd_part(graph: Graph, depth: int) -> Any:
    """An object that nothing honest holds, where everything may stand."""
    return graph.odd_object() if graph.bold() else graph.template(depth)


_NO_CODE = (("dummy", "Thing"), ("dummy", "function"), ("outside", "Thing"), ("mailbox", "MH"))
_TAKERS: tuple[tuple[str, tuple[str, ...], int], ...] = (
    ("collections:UserList", ("data",), K.EXTEND),
    ("collections:UserDict", ("data",), K.UPDATE),
    ("mailbox:MH", ("_path", "_locked"), K.UPDATE),
)
_NO_VALUES = frozenset(
    {K.SHAPE, K.TENSOR, K.CELL, K.FILL, K.EXTEND, K.UPDATE, K.ADD, K.SETCELL, K.STATE, K.FINISH}
    | {K.EXTEND_LONG, K.UPDATE_LONG}
)
_CONTAINERS = (
    lambda graph, depth: graph.sequence(depth, graph.plain),
    lambda graph, depth: graph.mapping(depth, graph.plain),
    Graph.members,
    long_parts.long_container,
)
_PLAIN = (*_CONTAINERS, *_CONTAINERS, *codec_parts.PLAIN)
_KEYS = codec_parts.KEYS
_ANY: tuple[Callable[..., Any], ...] = (
    Graph.sequence,
    Graph.mapping,
    Graph.template,
    Graph.template,
    lambda graph, depth: graph.value_name(),
    lambda graph, depth: tensor_parts.tensor(graph),
    *((lambda graph, depth: codec_parts.wrapped_call(graph)),) * 2,
    *((lambda graph, depth: module_parts.module(graph, depth)),) * 4,
    lambda graph, depth: module_parts.optimizer(graph),
    _odd_part,
    *codec_parts.OTHERS,
)


def compose(seed: int) -> Composed:
    """Compose the graph of a number."""
    rng = random.Random(seed)
    how = rng.choices(("object", "extras", "shadowed", "code"), (60, 12, 8, 20))[0]
    with_storage = how not in ("extras", "shadowed") and rng.random() < 0.6
    budget = rng.choices((0, 1, 2, 4), (50, 28, 14, 8))[0]
    graph = Graph(rng, with_storage=with_storage, beside_code=how == "code", budget=budget)
    parts = [graph.value(rng.randint(1, 3)) for _ in range(rng.randint(1, 3))]
    if how == "code":
        parts += [module_parts.stored_thing(graph) for _ in range(rng.randint(1, 3))]
    elif rng.random() < 0.05:  # what looks like code, and brings none
        parts.append(graph.name(*rng.choice(_NO_CODE)))
        parts += [graph.odd_object() for _ in range(rng.randint(0, 2))]
    if with_storage:
        parts.append(tensor_parts.tensor(graph))
        # A storage in which nothing lies is refused before anything else is looked at.
        while not any(record[0] == K.TENSOR for record in graph.records) and len(parts) < 9:
            parts.append(tensor_parts.tensor(graph))
    if graph.budget or rng.random() < 0.1:
        deviate(graph, rng.choice((1, 1, 2)))
    root: Any = graph.add(K.LIST, *(part for part in parts if not _is_hollow(graph, part)))
    if how in ("extras", "shadowed"):
        values = graph.add(K.DICT, "key", root)
        columns = graph.add(K.PACKED_LIST, 1), graph.add(K.PACKED_DICT)
        root = graph.add(K.DICT, "values", values, "places", columns[0], "raw", columns[1], "metadata", None)
    sentinels = (
        frozenset(graph.handed_on - graph.needed) if how != "code" and rng.random() < 0.7 else frozenset()
    )
    factory = (
        rng.choice(("builtins:dict", "outside:function", "net:function", "os:getcwd"))
        if rng.random() < 0.02 and how in ("object", "code")
        else None
    )
    if factory == "net:function":  # it brings code, which may call what an object names
        sentinels = frozenset()
    if factory is not None:  # it is called with these arguments by name
        root = graph.add(K.DICT, *rng.choice(((), ("a", root))))
    return Composed(
        seed, graph.packed(root), how, with_storage, sentinels, graph.codecs, graph.records, factory
    )


def _is_hollow(graph: Graph, part: Any) -> bool:
    """Whether a part refers to what is no value; a table with such a root says nothing."""
    return type(part) is int and part < 0 and graph.records[-1 - part][0] in _NO_VALUES
