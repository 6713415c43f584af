"""Draw what is swapped: one place or two of an honest table, and what stands there instead."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from random import Random
from typing import Any

from .stored_bytes import near_bytes
from .tables import (
    CALL,
    CODEC,
    DICT,
    EXTEND,
    FILL,
    FINISH,
    FROZENSET,
    GLOBAL,
    LIST,
    NEW,
    OBJ,
    PACKED_DICT,
    PACKED_LIST,
    PACKED_TUPLE,
    SHAPE,
    STATE,
    TENSOR,
    TUPLE,
    UPDATE,
    Changed,
    Node,
    Seed,
    as_operand,
    unpacked,
)
from .values import FUNCTIONS, MARK, Value, array_value, near, near_scalar, pooled, read_array, some_text

NAMES = """predict transform fit __class__ __dict__ __len__ __repr__ __reduce_ex__ __getattr__
__doc_link_template _doc_link_template _doc_link_module _repr_html_ _repr_mimebundle_
_repr_html_inner n_jobs memory verbose __sklearn_tags__ get_params set_params __init__ classes_
n_features_in_ feature_names_in_ _sklearn_output_config _metadata_request __sklearn_is_fitted__
coef_ callbacks random_state steps transformers input func_ tree_ vocab_files_names
_sklearn_version _estimator_type __module__ __qualname__ __doc__ __slots__ __deepcopy__""".split()

_LEARNED = re.compile(r"^[^\[<]*_($|[\[<])|^_|^<|^(nodes|values|itself)")


@dataclass(frozen=True)
class Place:
    """Where an operand stands.

    In a record, of which class and attribute it is a part, and the key beside it.
    """

    node: Node
    at: int
    owner: str
    attribute: str

    @property
    def name(self) -> str:
        return f"{self.owner}.{self.attribute}"


@dataclass(frozen=True)
class Swap:
    """One change: of which attribute of which class, what it is now, and how the records say it."""

    owner: str
    attribute: str
    kind: str
    changed: Changed


class Drawer:
    """Draws swaps of one seed. `parts` are what other archives offer, `classes` have names of attributes."""

    def __init__(
        self, seed: Seed, parts: Sequence[tuple[str, Value]], classes: Mapping[str, Sequence[str]]
    ) -> None:
        self.seed = seed
        self._parts, self._classes = parts, list(classes)
        self._names = {name.rpartition(":")[2]: names for name, names in classes.items()}
        self._fills: dict[Node, list[Node]] = {}
        for node in seed.nodes:
            if node.record[0] in (STATE, FILL, EXTEND, UPDATE, FINISH):
                self._fills.setdefault(node.record[1], []).append(node)

    @cached_property
    def places(self) -> list[Place]:
        """All operands that may be exchanged, once each, by the attributes that they are parts of."""
        found: list[Place] = []
        seen: set[Node] = set()
        waiting: list[tuple[Any, str, str]] = [
            (self.seed.root, _class_of(self.seed.root) or "the root", "itself")
        ]
        while waiting:
            node, owner, attribute = waiting.pop()
            if type(node) is not Node or node in seen:
                continue
            seen.add(node)
            for place, inner in self._of(node, owner, attribute):
                found.append(place)
                waiting.append((inner, place.owner, place.attribute))
            for fill in self._fills.get(node, ()):
                for place, inner in self._of(fill, _class_of(node) or owner, ""):
                    found.append(place)
                    waiting.append((inner, place.owner, place.attribute))
        return found

    @cached_property
    def owners(self) -> list[tuple[Node, str, bool]]:
        """The records that give an object its attributes.

        The record, the class, whether a SHAPE has the names.
        """
        found = []
        for node in self.seed.nodes:
            kind = node.record[0]
            if (
                kind == STATE
                and type(node.record[2]) is Node
                and node.record[2].record[0] in (DICT, PACKED_DICT)
            ):
                found.append((node.record[2], _class_of(node.record[1]), False))
            elif kind == FILL:
                found.append((node, _class_of(node.record[1]), False))
            elif kind == OBJ:
                found.append((node, _class_of(node), True))
        return found

    def _of(self, node: Node, owner: str, attribute: str) -> Iterator[tuple[Place, Any]]:
        record = unpacked(node.record)
        kind = record[0]
        if kind in (DICT, UPDATE):
            first = 1 + (kind == UPDATE)
            for at in range(first, len(record) - 1, 2):
                key = record[at] if type(record[at]) is str else "*"
                name = f"{attribute}[{key}]" if attribute else key
                yield Place(node, at + 1, owner, _cut(name)), record[at + 1]
        elif kind in (LIST, TUPLE, EXTEND):
            for at in range(1 + (kind == EXTEND), len(record)):
                yield Place(node, at, owner, _cut(f"{attribute}[]")), record[at]
        elif kind == OBJ:
            for at, name in enumerate(record[1].record[3:], 2):
                yield Place(node, at, _class_of(node), name), record[at]
        elif kind == FILL:
            for at in range(2, len(record) - 1, 2):
                yield Place(node, at + 1, _class_of(record[1]) or owner, record[at]), record[at + 1]
        elif kind == STATE:
            state = record[2]
            if type(state) is Node and state.record[0] in (DICT, PACKED_DICT):
                yield from self._of(state, _class_of(record[1]), "")
            else:
                yield Place(node, 2, _class_of(record[1]), "<state>"), state
        elif kind in (NEW, CALL):
            for at in range(2, len(record)):
                yield Place(node, at, _class_of(node) or owner, f"<argument {at - 2}>"), record[at]
        elif kind in (CODEC, FINISH):
            codec = record[1 if kind == CODEC else 2][0]
            for at in range(3 + (kind == FINISH), len(record)):
                if type(record[at]) is Node and record[at].record[0] == TENSOR:
                    continue  # where nothing else may stand
                yield Place(node, at, owner, _cut(f"{attribute}<{codec} {at - 3}>")), record[at]

    def draw(self, rng: Random) -> Swap:
        """Return one swap."""
        weights = {self._near: 32, self._pooled: 36, self._moved: 9, self._renamed: 9}
        weights |= {self._reclassed: 4, self._recoded: 5, self._dropped: 2}
        weights[self._restored] = 12 if self.places else 100
        way = rng.choices(list(weights), list(weights.values()))[0]
        return (
            way(rng) or self._restored(rng) or self._pooled(rng) or Swap("", "itself", "as it was", Changed())
        )

    def _place(self, rng: Random) -> Place:
        """Return a place, mostly in what was learned: libraries check parameters themselves."""
        if self.learned and rng.random() < 0.65:
            return rng.choice(self.learned)
        return rng.choice(self.places)

    @cached_property
    def learned(self) -> list[Place]:
        """The places in attributes that end with an underscore, are private, or that no name leads to."""
        found = [place for place in self.places if _LEARNED.search(place.attribute)]
        return [place for place in found if not place.attribute.startswith("_sklearn")]

    def _put(self, place: Place, kind: str, value: Value) -> Swap:
        record = list(unpacked(place.node.record))
        record[place.at] = value[0]
        return Swap(place.owner, place.attribute, kind, Changed({place.node: record}, value[1]))

    def _operand(self, place: Place) -> Any:
        return unpacked(place.node.record)[place.at]

    def _pooled(self, rng: Random) -> Swap | None:
        if not self.places:
            return None
        return self._put(self._place(rng), *pooled(rng, self._parts))

    def _near(self, rng: Random) -> Swap | None:
        """Change an array, a number, a text or a container a little."""
        if not self.places:
            return None
        place = self._place(rng)
        value = self._operand(place)
        if type(value) is not Node:
            kind, scalar = near_scalar(rng, value)
            return self._put(place, kind, (as_operand(scalar), {}))
        array = read_array(value.record, self.seed.storages)
        if array is not None:
            kind, changed = near(rng, array)
            return self._put(place, kind, array_value(rng, changed))
        record = unpacked(value.record)
        if record[0] in (LIST, TUPLE, PACKED_LIST, PACKED_TUPLE, FROZENSET) and len(record) > 1:
            return self._put(place, *_near_list(rng, record))
        if record[0] == DICT and len(record) > 2:
            return self._put(place, *_near_dict(rng, record))
        return None

    def _moved(self, rng: Random) -> Swap | None:
        """Put the value of one attribute in the place of another."""
        if len(self.places) < 2:
            return None
        to, source = rng.sample(self.places, 2)
        return self._put(to, f"the value of {source.name}", (self._operand(source), {}))

    def _renamed(self, rng: Random) -> Swap | None:
        """Add an attribute, or give one another name."""
        if not self.owners:
            return None
        node, owner, has_shape = rng.choice(self.owners)
        shared = self._names.get(owner) or NAMES
        name = rng.choice([rng.choice(NAMES), rng.choice(shared), rng.choice(shared), self._known(rng), MARK])
        kind, value = some_text(rng) if rng.random() < 0.5 else pooled(rng, self._parts)
        if has_shape:
            shape = node.record[1]
            names, record = list(shape.record[3:]), list(node.record)
        else:
            names, record = [], list(unpacked(node.record))
        if rng.random() < 0.7:
            if has_shape:
                record = [OBJ, Node(SHAPE, *shape.record[1:3], *names, name), *record[2:], value[0]]
            else:
                record = [*_without(record, name), name, value[0]]
            return Swap(owner, name, f"added: {kind}", Changed({node: record}, value[1]))
        if has_shape:
            if not names:
                return None
            at = rng.randrange(len(names))
            old, names[at] = names[at], name
            record = [OBJ, Node(SHAPE, *shape.record[1:3], *names), *record[2:]]
        else:
            first = 1 + (record[0] == FILL)
            if len(record) <= first:
                return None
            at = rng.randrange(first, len(record), 2)
            old = record[at]
            record[at] = name
        return Swap(owner, str(old), f"renamed: {name}", Changed({node: record}))

    def _known(self, rng: Random) -> str:
        names = [place.attribute for place in self.places if place.attribute.isidentifier()]
        return rng.choice(names or NAMES)

    def _dropped(self, rng: Random) -> Swap | None:
        if not self.owners:
            return None
        node, owner, has_shape = rng.choice(self.owners)
        record = list(unpacked(node.record))
        first = 1 + (record[0] == FILL)
        if has_shape or len(record) <= first + 1:
            return None
        at = rng.randrange(first, len(record), 2)
        name = record[at]
        return Swap(owner, str(name), "absent", Changed({node: record[:at] + record[at + 2 :]}))

    def _reclassed(self, rng: Random) -> Swap | None:
        """Give an object another class, or another function to be called."""
        named = [node for node in self.seed.nodes if node.record[0] == GLOBAL]
        if not named:
            return None
        node = rng.choice(named)
        other = rng.choice(FUNCTIONS)
        if self._classes and rng.random() < 0.8:
            module, _, name = rng.choice(self._classes).partition(":")
            other = (module, name)
        return Swap(node.record[2], "<class>", f"class {':'.join(other)}", Changed({node: [GLOBAL, *other]}))

    def _restored(self, rng: Random) -> Swap | None:
        """Change the bytes of a model, a text or a table that a library reads in a form of its own."""
        found = [
            (node, child)
            for node in self.seed.nodes
            if node.record[0] == CODEC and node.record[1][0] != "numpy.ndarray"
            for child in node.record[3:]
            if type(child) is Node and child.record[0] == TENSOR
        ]
        if not found:
            return None
        node, tensor = rng.choice(found)
        dtype, _, content = self.seed.storages[tensor.record[1]]
        kind, content = near_bytes(rng, content)
        size = {"F64": 8, "I64": 8, "U64": 8, "F32": 4, "I32": 4, "U32": 4, "I16": 2, "U16": 2}.get(dtype, 1)
        content = content[: len(content) // size * size]
        key, shape = f"swapped.{rng.getrandbits(60):x}", (len(content) // size,)
        record = [TENSOR, key, dtype, list(shape), None, 0]
        changed = Changed({tensor: record}, {key: (dtype, shape, content)})
        return Swap(f"codec {node.record[1][0]}", "<bytes>", kind, changed)

    def _recoded(self, rng: Random) -> Swap | None:
        """Change a part of a codec's literal."""
        coded = [node for node in self.seed.nodes if node.record[0] == CODEC]
        others = [node for node in coded if node.record[1][0] not in ("numpy.ndarray", "numpy.dtype")]
        coded = others if others and rng.random() < 0.9 else coded
        if not coded or (not others and rng.random() < 0.8):
            return None
        node = rng.choice(coded)
        record = list(node.record)
        codec, literal = record[1][0], record[2]
        if type(literal) is list and literal:
            at = rng.randrange(len(literal))
            kind, new = _near_literal(rng, literal[at])
            record[2] = [*literal[:at], new, *literal[at + 1 :]]
        else:
            kind, record[2] = _near_literal(rng, literal)
        return Swap(f"codec {codec}", "<literal>", kind, Changed({node: record}))


def _near_literal(rng: Random, value: Any) -> tuple[str, Any]:
    if type(value) is bytes and value:
        return near_bytes(rng, value)
    others = [None, -1, 2**40, MARK]
    kind, new = near_scalar(rng, value) if rng.random() < 0.7 else ("other scalar", rng.choice(others))
    return kind, new if type(new) is not int or -(2**63) <= new < 2**64 else 0


def _near_list(rng: Random, record: list[Any]) -> tuple[str, Value]:
    kind, *items = record
    at = rng.randrange(len(items))
    way, changed = rng.choice(
        [
            ("an item less", items[:at] + items[at + 1 :]),
            ("an item twice", [*items[:at], items[at], *items[at:]]),
            ("no items", []),
            ("items backwards", items[::-1]),
            ("list for tuple", items),
        ]
    )
    if way == "list for tuple":
        kind = LIST if kind == TUPLE else TUPLE
    return way, (Node(kind, *changed), {})


def _near_dict(rng: Random, record: list[Any]) -> tuple[str, Value]:
    at = rng.randrange(1, len(record) - 1, 2)
    way, changed = rng.choice(
        [
            ("a key less", record[1:at] + record[at + 2 :]),
            ("no keys", []),
            ("another key", [*record[1:at], rng.choice([MARK, 0, 10**6, 2.5]), *record[at + 1 :]]),
            ("a key more", [*record[1:], f"{MARK} more", record[at + 1]]),
        ]
    )
    return way, (Node(DICT, *changed), {})


def _without(record: list[Any], name: str) -> list[Any]:
    """Return the record of a dict, or of a fill, without a key."""
    first = 1 + (record[0] == FILL)
    kept = record[:first]
    for at in range(first, len(record) - 1, 2):
        if record[at] != name:
            kept += record[at : at + 2]
    return kept


def _class_of(node: Any) -> str:
    """Return the name of the class of what a record makes; "" where it says none."""
    while type(node) is Node and node.record[0] in (OBJ, SHAPE, NEW, CALL):
        node = node.record[1]
    if type(node) is not Node:
        return ""
    if node.record[0] == GLOBAL:
        return str(node.record[2])
    return str(node.record[1][0]) if node.record[0] == CODEC else ""


def _cut(name: str) -> str:
    return name if len(name) <= 60 else f"{name[:40]}...{name[-15:]}"
