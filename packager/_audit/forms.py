"""Which forms a stored object may have, whatever its names are: data alone runs nothing.

Names are judged one by one in trust.py, by their rows; harm can lie in how harmless ones are put together.
While data alone is read and built, and until the caller calls something, only our own code and a short list
of inert constructors run. So, in data alone:

- no bound methods, and no getters;
- a defaultdict makes None, an int, float, str, bool, list, dict, OrderedDict, Counter, set or tuple;
- a partial wraps a listed function of torch.nn.functional, NumPy, scikit-learn or kellet, or a class of
  modules, with plain data and tensors as arguments;
- a SimpleNamespace, and what else is called with stored arguments, holds plain data;
- no hooks, but those of weight_norm and spectral_norm, with nothing but the values that they are made of;
- what a state-dict hook put into a state is plain data and tensors.

With code and without it, items, pairs and states are given to exact types of our codecs, and to classes of
stored code, never to classes of externs, whose own methods would run.

What `trust=` names exactly, the caller vouches for. Everything here is read off the table: nothing is
imported. What only the class itself can tell (attributes in the place of its methods) is in gates.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property

from packager._codecs import split_literal
from packager._objects import Kind, Record, fills_by_target, is_reference
from packager._quick_dataclasses import dataclass

from .gates import GENERIC
from .rows import ATTRIBUTES, LIBRARIES, NOTHING, PLAIN, SCALARS, TENSORS, TEXTS, TYPES, ClassOf, Row
from .trust import Trust, TrustContext, row_of

TYPE_CHECKING = False  # as in packager._lazy
if TYPE_CHECKING:
    from typing import Any, Final

    from packager._codecs import Role
    from packager._objects import CheckedTable

_OVER_MEMORY: Final = "numpy:ndarray"  # called with a buffer, it takes bytes for addresses of objects

# The hooks of data alone: the kind that each is registered as, and the attributes that it is made of.
_WEIGHT_NORM: Final = "torch.nn.utils.weight_norm:"
_SPECTRAL_NORM: Final = "torch.nn.utils.spectral_norm:"
_NORM_HOOKS: Final[dict[str, tuple[str, dict[str, tuple[type, ...]]]]] = {
    f"{_WEIGHT_NORM}WeightNorm": ("_forward_pre_hooks", {"name": (str,), "dim": (int,)}),
    f"{_SPECTRAL_NORM}SpectralNorm": (
        "_forward_pre_hooks",
        {"name": (str,), "dim": (int,), "n_power_iterations": (int,), "eps": (float, int)},
    ),
    f"{_SPECTRAL_NORM}SpectralNormStateDictHook": ("_state_dict_hooks", {"fn": ()}),
    f"{_SPECTRAL_NORM}SpectralNormLoadStateDictPreHook": ("_load_state_dict_pre_hooks", {"fn": ()}),
}

CODE: Final = "store the code that makes it"
_ARGUMENT_KINDS_OF_ROWS: Final = frozenset({SCALARS, TYPES, TENSORS, PLAIN})
# Codecs all of whose children are judged elsewhere: types, which are no plain data where they are called.
_JUDGED_CODECS: Final = frozenset({"inspect.signature", "typing.form"})
# What codecs make that may stand in data of each kind, by `Codec.is_data`.
_DATA: Final = {
    PLAIN: frozenset({"plain"}),
    TYPES: frozenset({"plain"}),
    TENSORS: frozenset({"plain", "tensors"}),
    LIBRARIES: frozenset({"plain", "tensors", "library"}),
}


@dataclass(frozen=True, slots=True)
class Form:
    """Something that is refused for what it is made of: which record, why, and what helps.

    `trust` is the name that `trust=` may vouch for, "" where there is none.
    """

    index: int
    reason: str
    trust: str = ""


def refused_forms(table: CheckedTable, trust_context: TrustContext, trust: Trust) -> list[Form]:
    """Return every form in a checked table that its names do not excuse, in the order of the records."""
    judge = _Judge(table, trust_context, trust)
    rules = _RULES_BESIDE_CODE if trust_context.allows_code else _RULES
    judged = [(index, record) for index, record in enumerate(table.records) if record[0] in rules]
    for index, record in judged:
        for rule in rules[record[0]]:
            judge.forms.extend(rule(judge, index, record))
    if not trust_context.allows_code:
        judge.forms.extend(_learned(judge))
    return judge.forms


def _learned(judge: _Judge) -> Iterator[Form]:
    """What objects of libraries have that these never gave them, as far as that was learned."""
    rows = (judge.row(f"{module}:{name}") for module, name, role in judge.table.uses if role == "create")
    for learned in dict.fromkeys(row.learned for row in rows if row.learned is not None):
        for index, problem, name in learned.problems_of(judge.table, judge.is_class_trusted, judge.row):
            yield Form(index, f"{problem}{judge.row(name).told_by}", name)


class _Names:
    """What is known of "module:name": its row, and what the caller trusts. In no cycle with a table."""

    def __init__(self, trust: Trust, find: Callable[[str], Any]) -> None:
        self._trust = trust
        self._find = find
        self._rows: dict[str, Row] = {}

    def row(self, name: str) -> Row:
        """Return the row of a name, one that allows nothing where there is none."""
        if name not in self._rows:
            module, _, qualname = name.partition(":")
            self._rows[name] = row_of(module, qualname, self._find) or _NO_ROW
        return self._rows[name]

    def vouched(self, name: str) -> bool:
        """Whether the caller wrote out this very name."""
        module, _, qualname = name.partition(":")
        return self._trust.names(module, qualname)

    def is_class_trusted(self, name: str) -> bool:
        """Whether the caller trusts a class to be filled, by its name or by a glob."""
        module, _, qualname = name.partition(":")
        return self._trust.grants(module, qualname, "create")


_NO_ROW: Final = Row()


class _Judge:
    """What the rules may ask of the table, and of the caller's trust."""

    def __init__(self, table: CheckedTable, trust_context: TrustContext, trust: Trust) -> None:
        self.table = table
        self.trust_context = trust_context
        self.forms: list[Form] = []
        names = _Names(trust, table.registry.library)
        self.row, self.vouched, self.is_class_trusted = names.row, names.vouched, names.is_class_trusted
        self._plain = {kind: _Plainness(table, names, kind) for kind in (SCALARS, *_DATA)}

    @cached_property
    def has_families(self) -> bool:
        """Whether an object is made of a class whose own code calls what its attributes hold."""
        return any(
            role == "create" and self.row(f"{module}:{name}").is_a is ATTRIBUTES
            for module, name, role in self.table.uses
        )

    def must_be_plain(self, operands: Iterable[Any], holder: str, kind: str = PLAIN) -> Iterator[Form]:
        """A form for each thing below these operands that is more than this kind of data."""
        for index in self._plain[kind].violations(operands):
            yield Form(index, f"{self.table.described(index)} in {holder}, which holds {kind} alone; {CODE}")

    def callable_name(self, operand: Any) -> str:
        """By which name the caller could vouch for something that is called later; "" where there is none."""
        return self.table.name_of(-1 - operand) if is_reference(operand) else ""


# --- plain data: values that nothing can be called through ---

_PLAIN_LEAVES: Final = frozenset(
    {Kind.INT, Kind.STR, Kind.BYTES, Kind.TENSOR, Kind.PACKED_TUPLE, Kind.PACKED_LIST, Kind.PACKED_DICT}
    | {Kind.LONG_TUPLE, Kind.LONG_LIST, Kind.LONG_DICT, Kind.LONG_SET, Kind.LONG_FROZENSET}
)
_PLAIN_CONTAINERS: Final = frozenset({Kind.TUPLE, Kind.LIST, Kind.DICT, Kind.SET, Kind.FROZENSET})
_CALLS: Final = frozenset({Kind.NEW, Kind.NEW_KW, Kind.CALL, Kind.CALL_KW})
_ARGUMENT_KINDS: Final = frozenset({Kind.INT, Kind.STR, Kind.BYTES, Kind.TUPLE, Kind.PACKED_TUPLE})
_TIME_ZONES: Final = frozenset({"datetime:timezone", "datetime:timedelta"})


class _Plainness:
    """Finds what is more than data of a kind; each record is looked at once.

    Types and plain data takes every name, which is judged by itself. What names lead to that the caller
    trusts exactly counts as plain. A constructor converts, compares and prints its arguments, as
    `IPv4Network(x)` asks for `str(x)`: these are scalars, tuples of such, and time zones.
    """

    def __init__(self, table: CheckedTable, names: _Names, kind: str) -> None:
        self._table = table
        self._names = names
        self._kind = kind
        self._seen: set[int] = set()

    def violations(self, operands: Iterable[Any]) -> Iterator[int]:
        """The records below these operands that are no plain data, without what lies below them in turn."""
        waiting = [-1 - operand for operand in operands if is_reference(operand)]
        while waiting:
            index = waiting.pop()
            if index in self._seen:
                continue
            self._seen.add(index)
            record = self._table.records[index]
            if not self._is_plain(index, record):
                yield index
                continue
            parts = list(self._parts(index, record))
            for fill in self._fills.get(index, ()):
                parts += self._table.records[fill][2:]
            waiting += [-1 - part for part in parts if is_reference(part)]

    @cached_property
    def _fills(self) -> Mapping[int, list[int]]:
        return fills_by_target(self._table.records)

    def _is_plain(self, index: int, record: Record) -> bool:
        kind = record[0]
        if self._kind != SCALARS and (kind in _PLAIN_LEAVES or kind in _PLAIN_CONTAINERS):
            return True
        name, is_call = self._table.name_of(index), kind in _CALLS
        if self._kind == SCALARS:
            if kind == Kind.CODEC:
                return self._table.codec_name(index) == "zoneinfo"
            is_named = is_call or kind == Kind.GLOBAL
            listed = kind in _ARGUMENT_KINDS or (is_call and name in _TIME_ZONES)
            return listed or (is_named and self._names.vouched(name))
        if kind == Kind.GLOBAL:
            return self._kind == TYPES or "dtype" in self._names.row(name).uses or self._names.vouched(name)
        if kind == Kind.CODEC:
            codec = self._table.codec(index)
            return codec is not None and codec.is_data in _DATA[self._kind]
        if is_call or (kind == Kind.OBJ and self._table.codec_name(index) is None):
            return self._names.row(name).is_plain or self._names.vouched(name)
        return False

    def _parts(self, index: int, record: Record) -> list[Any]:
        if record[0] in _PLAIN_CONTAINERS:
            return record[1:]
        codec = self._table.codec(index) if record[0] == Kind.CODEC else None
        if codec is not None:
            # The first child is judged elsewhere where it is a class, or a factory.
            named = codec.creates or codec.name == "collections.mapping"
            return [] if codec.name in _JUDGED_CODECS else record[4 if named else 3 :]
        return record[2:] if record[0] in _CALLS or record[0] == Kind.OBJ else []


# --- what wraps something that is called ---


def _wrapped(judge: _Judge, index: int, function: Any, what: str, listed: str) -> Iterator[Form]:
    """A function that is called later must be listed for that, or the caller's own word."""
    name = judge.callable_name(function)
    row = judge.row(name)
    may_be = judge.table.is_global(function) and "wrapped" in row.uses and row.allows("value")
    if not may_be and not judge.vouched(name):
        reason = f"{what}, which is not an allowed function of {listed}; {CODE}"
        yield Form(index, reason, name)


def _partial(judge: _Judge, index: int, record: Record) -> Iterator[Form]:
    what = f"a partial of {_described(judge, record[3])}"
    listed = "torch.nn.functional, NumPy, scikit-learn or kellet"
    yield from _wrapped(judge, index, record[3], what, listed)
    yield from judge.must_be_plain(record[4:], "the arguments of a partial", TENSORS)


def _cached(judge: _Judge, index: int, record: Record) -> Iterator[Form]:
    what = f"a cached function around {_described(judge, record[3])}"
    yield from _wrapped(judge, index, record[3], what, "torch.nn.functional, NumPy or kellet")


def _bound_by_hand(judge: _Judge, index: int, record: Record) -> Iterator[Form]:
    name = judge.callable_name(record[3])
    if not (judge.table.is_global(record[3]) and judge.vouched(name)):
        yield Form(index, f"a bound method, which would be called later; {CODE}", name)


def _getter(judge: _Judge, index: int, record: Record) -> Iterator[Form]:
    yield Form(index, f"operator.{record[2]}, which would look up names from the data; {CODE}")


def _mapping(judge: _Judge, index: int, record: Record) -> Iterator[Form]:
    factory = record[3] if len(record) > 3 else None
    if factory is None:
        return
    name = judge.callable_name(factory)
    if judge.table.is_global(factory) and ("factory" in judge.row(name).uses or judge.vouched(name)):
        return
    yield Form(
        index,
        f"a defaultdict whose factory is {_described(judge, factory)}; None, int, float, str, bool, list, "
        f"dict, OrderedDict, Counter, set and tuple are allowed; {CODE}",
        name,
    )


def _described(judge: _Judge, operand: Any) -> str:
    return judge.table.described(-1 - operand) if is_reference(operand) else repr(operand)


# --- what is called with stored arguments, or given attributes ---


def _call(judge: _Judge, index: int, record: Record) -> Iterator[Form]:
    name = judge.table.name_of(index)
    if judge.vouched(name):
        return
    if record[0] == Kind.PACKAGE_CALL:
        yield Form(index, f"{name} would be called with the importer; {CODE}", name)
    kind = judge.row(name).arguments
    if kind == NOTHING and (record[0] != Kind.CALL or len(record) > 2):
        yield Form(index, f"{name} with arguments, although it takes none; {CODE}", name)
    if isinstance(kind, ClassOf):
        yield from _class_alone(judge, index, record, kind.module)
        return
    operands = record[2:]
    if record[0] in (Kind.NEW_KW, Kind.CALL_KW):  # a tuple and a dict of the table's own
        named = judge.table.records[-1 - record[3]]
        operands = [record[2], *(named[1:] if named[0] == Kind.DICT else ())]
        operands += [record[3]] if named[0] == Kind.LONG_DICT else []
    kind = kind if kind in _ARGUMENT_KINDS_OF_ROWS else SCALARS
    holder = f"the arguments of {name}{judge.row(name).told_by}"
    yield from judge.must_be_plain(operands, holder, kind)
    yield from _of_text(judge, index, record)


def _class_alone(judge: _Judge, index: int, record: Record, module: str) -> Iterator[Form]:
    """A part in C may be made by a function that is given its class, one that has a row.

    That of Cython is given a number beside it, by which it knows its own version, and a state of numbers.
    """
    name = judge.table.name_of(index)
    of_class = judge.callable_name(record[2]) if len(record) > 2 else ""
    listed = of_class.partition(":")[0] == module and judge.row(of_class).takes_state is not None
    fits = record[0] == Kind.CALL and listed and judge.table.is_global(record[2])
    more = [judge.table.records[-1 - one] if is_reference(one) else one for one in record[3:]]
    fits = fits and all(one is None or type(one) is int or _is_of_numbers(one) for one in more)
    if not fits or (more and "__pyx_unpickle" not in name):
        yield Form(index, f"{name} with arguments other than a class of {module}; {CODE}", name)


def _is_of_numbers(record: Any) -> bool:
    if not isinstance(record, (list, tuple)):
        return False
    numbers = all(type(part) in (int, float) for part in record[1:])
    return (record[0] == Kind.PACKED_TUPLE and numbers) or list(record) == [Kind.TUPLE]


def _over_memory(judge: _Judge, index: int, record: Record) -> Iterator[Form]:
    """A function that an estimator calls with stored options: this one takes bytes for addresses."""
    if f"{record[1]}:{record[2]}" == _OVER_MEMORY and judge.has_families and not judge.vouched(_OVER_MEMORY):
        yield Form(index, f"{_OVER_MEMORY} beside estimators, which would call it; {CODE}", _OVER_MEMORY)


def _of_text(judge: _Judge, index: int, record: Record) -> Iterator[Form]:
    """Paths and addresses ask their arguments for texts, beside code also those of a class of an extern."""
    name = judge.table.name_of(index)
    is_text = all(judge.table.scalar(part) is not None for part in record[2:])
    if judge.row(name).arguments == TEXTS and not is_text and not judge.vouched(name):
        yield Form(index, f"{name} with arguments other than texts and numbers; {CODE}", name)


def _attributes(judge: _Judge, index: int, record: Record) -> Iterator[Form]:
    """Attributes of a listed class; modules and optimisers may hold what they like."""
    target = index if record[0] == Kind.OBJ else -1 - record[1]
    values = record[2:] if record[0] == Kind.OBJ else record[3::2]
    name, codec = judge.table.name_of(target), judge.table.codec_name(target)
    names = judge.table.records[-1 - record[1]][3:] if record[0] == Kind.OBJ else record[2::2]
    for attribute, value in zip(names, values, strict=True):
        if _is_compared(str(codec), attribute) and is_reference(value) and not judge.vouched(name):
            yield Form(
                target, f"{attribute}, which would be compared, is {_described(judge, value)}; {CODE}", name
            )
        if attribute == GENERIC and not _is_alias(judge, value) and not judge.vouched(name):
            yield Form(
                target,
                f"{attribute} is {_described(judge, value)}; expected an alias of typing; {CODE}",
                name,
            )
    if codec == "functools.partial":
        yield from judge.must_be_plain(values, "the attributes of a partial")
    if codec == "kellet.hook" and not judge.vouched(name):
        yield Form(target, f"a hook, {name}; {CODE}", name)
    row = judge.row(name)
    judged = row.allows("create") and (row.is_plain or row.attributes == LIBRARIES)
    if codec is not None or not judged or judge.is_class_trusted(name):
        return
    made = judge.table.records[target]
    with_arguments = made[0] in (Kind.CALL, Kind.CALL_KW, Kind.NEW_KW) or len(made) > 2
    if made[0] != Kind.OBJ and with_arguments and row.arguments != NOTHING:
        yield Form(
            target, f"an object of {name} that is made by a call, and then given attributes; {CODE}", name
        )
    if name in _NORM_HOOKS:
        if record[0] != Kind.OBJ or not _is_norm_hook(judge.table, target):
            yield Form(target, f"{name} with unknown attributes; {CODE}", name)
        return
    kind = row.attributes
    if kind == NOTHING and names:
        yield Form(target, f"{names[0]}, an attribute of {name}, which takes no attributes; {CODE}", name)
    kind = TENSORS if kind == NOTHING else kind
    yield from judge.must_be_plain(values, f"an object of {name}{row.told_by}", kind)


def _is_compared(codec: str, attribute: str) -> bool:
    """Whether a framework compares an attribute, or asks its truth, while it takes up a state.

    Of a module that is the version of its layout; of a tensor of PyTorch, what makes a parameter of it.
    """
    if codec.endswith(".module"):
        return attribute == "_version"
    return codec in ("torch.tensor", "torch.subclass") and attribute.startswith("_is_")


def _is_alias(judge: _Judge, value: Any) -> bool:
    """Whether an operand is an alias of types, such as `list[int]`."""
    if not is_reference(value):
        return False
    return judge.table.codec_name(-1 - value) == "typing.form" or (
        judge.table.records[-1 - value][0] == Kind.CALL
        and judge.table.name_of(-1 - value) == "types:GenericAlias"
    )


def _contents(judge: _Judge, index: int, record: Record) -> Iterator[Form]:
    """Items, pairs and states of plain classes."""
    name = judge.table.name_of(-1 - record[1])
    row = judge.row(name)
    if row.is_plain and not judge.is_class_trusted(name):
        yield from judge.must_be_plain(record[2:], f"an object of {name}{row.told_by}", TENSORS)


def _fill_of_class(judge: _Judge, index: int, record: Record) -> Iterator[Form]:
    """Items, pairs and states go through the class's own methods: not those of an extern."""
    target = -1 - record[1]
    name = judge.table.name_of(target)
    if judge.table.classes[target] != "object" or judge.is_class_trusted(name):
        return
    row, beside_code = judge.row(name), judge.trust_context.allows_code
    if beside_code and (judge.trust_context.interned(name.partition(":")[0]) or "fills itself" in row.uses):
        return
    taken = True
    if not beside_code and judge.table.codec_name(target) is None:
        given_pairs = record[0] == Kind.UPDATE and row.pairs != NOTHING
        taken = given_pairs or (record[0] == Kind.STATE and row.takes_state is not None)
    if taken and any(row.allows(role, beside_code=beside_code) for role in _MADE_IN):
        return
    how = {Kind.EXTEND: "items", Kind.UPDATE: "pairs", Kind.STATE: "a state"}[record[0]]
    yield Form(
        target, f"{name} would be given {how} by its own method, whose code is not stored; {CODE}", name
    )


_MADE_IN: Final[tuple[Role, ...]] = ("create", "call")


# --- the second phase of codecs ---


def _finish(judge: _Judge, index: int, record: Record) -> Iterator[Form]:
    _, target, number, literal, *operands = record
    codec = judge.table.codecs[number]
    family = "" if codec is None else codec[0].name
    if family == "kellet.hooks":
        for hook in operands[1::3]:
            yield from _hook(judge, -1 - target, "hook", hook)
    elif literal == "hooks" and family.endswith(".module"):
        for kind, hook in zip(operands[::4], operands[2::4], strict=True):
            yield from _hook(judge, -1 - target, str(kind), hook)
    elif isinstance(literal, list) and family.endswith(".module"):
        natural, versions, _ = split_literal(literal)
        if not natural and not judge.is_class_trusted(judge.table.name_of(-1 - target)):
            *values, metadata = operands[len(versions) :]
            yield from judge.must_be_plain(values, "a state", TENSORS)
            yield from judge.must_be_plain((metadata,), "the metadata of a state")


def _hook(judge: _Judge, owner: int, kind: str, hook: Any) -> Iterator[Form]:
    name = judge.callable_name(hook)
    if judge.vouched(name):
        return
    known = _NORM_HOOKS.get(name)
    if known is not None and known[0] == kind and _is_norm_hook(judge.table, -1 - hook):
        return
    if is_reference(hook) and judge.table.codec_name(-1 - hook) == "kellet.gate":
        name = "kellet.nn:Hook"  # a Hook that was registered is called through its gate
        if judge.vouched(name):
            return
    yield Form(owner, f"a hook ({kind}), {_described(judge, hook)}; {CODE}", name)


def _is_norm_hook(table: CheckedTable, index: int) -> bool:
    """Whether an object of such a class holds exactly what weight_norm or spectral_norm gives its hook."""
    wanted = _NORM_HOOKS[table.name_of(index)]
    record = table.records[index]
    if record[0] != Kind.OBJ:
        return False
    attributes = dict(zip(table.records[-1 - record[1]][3:], record[2:], strict=True))
    if set(attributes) != set(wanted[1]):
        return False
    if "fn" in attributes:
        fn = attributes["fn"]
        inner = is_reference(fn) and table.name_of(-1 - fn) == f"{_SPECTRAL_NORM}SpectralNorm"
        return inner and table.records[-1 - fn][0] == Kind.OBJ
    return all(type(table.scalar(attributes[name])) in kinds for name, kinds in wanted[1].items())


# --- values that are made of other values ---


def _taken_apart(judge: _Judge, index: int, record: Record) -> Iterator[Form]:
    """What a library compares, converts and measures when it makes a value of it."""
    codec = str(judge.table.codec_name(index))
    # The second part of a bit generator is a seed sequence, which is judged by itself.
    operands = record[3:4] if codec == "numpy.bit_generator" else record[3:]
    yield from judge.must_be_plain(operands, f"an object of the codec {codec!r}", TENSORS)


def _types(judge: _Judge, index: int, record: Record) -> Iterator[Form]:
    """What annotations and signatures are made of: names, which are judged by themselves, and plain data."""
    yield from judge.must_be_plain(record[3:], "an annotation or signature", TYPES)


def _exception(judge: _Judge, index: int, record: Record) -> Iterator[Form]:
    """What an exception is made of, which some classes take apart."""
    yield from judge.must_be_plain(record[4:], "the arguments of an exception")


def _unread(judge: _Judge, index: int, record: Record) -> Iterator[Form]:
    """What of a node no check of ours has read, with stored code as well."""
    codec = judge.table.codec(index)
    reason, name = ("", "") if codec is None else codec.unread(record[2])
    if reason and not judge.vouched(name):
        yield Form(index, reason, name)


def _optimizer(judge: _Judge, index: int, record: Record) -> Iterator[Form]:
    """What a class of optimisers asks of its options, and converts, when it takes up its state."""
    if not judge.is_class_trusted(judge.callable_name(record[3])):
        yield from judge.must_be_plain(record[4:], "the state of an optimiser", TENSORS)


def _strings(judge: _Judge, index: int, record: Record) -> Iterator[Form]:
    """An array of strings of any length turns its elements into strings; one of objects holds them."""
    literal = record[2]
    if literal[1] == "elements" and judge.table.records[-1 - record[3]][2] != "|O":
        yield from judge.must_be_plain(record[4:], "an array of strings")


def _codec(judge: _Judge, index: int, record: Record) -> Iterator[Form]:
    codec = judge.table.codec(index)
    if codec is None:
        return
    yield from _unread(judge, index, record)
    rule = _BY_CODEC.get(codec.name, _taken_apart if codec.takes_apart else None)
    if rule is not None:
        yield from rule(judge, index, record)


_Rule = Callable[[_Judge, int, Record], Iterator[Form]]
_BY_CODEC: Final[dict[str, _Rule]] = {
    "functools.partial": _partial,
    "functools.cache": _cached,
    "typing.form": _types,
    "inspect.signature": _types,
    "exception": _exception,
    "method": _bound_by_hand,
    "getter": _getter,
    "collections.mapping": _mapping,
    "numpy.ndarray": _strings,
    **dict.fromkeys(("kellet.optimizer", "torch.optimizer"), _optimizer),
}
_RULES_BESIDE_CODE: Final[dict[int, tuple[_Rule, ...]]] = {
    **dict.fromkeys((Kind.EXTEND, Kind.UPDATE, Kind.STATE), (_fill_of_class,)),
    **dict.fromkeys((Kind.CALL, Kind.CALL_KW, Kind.NEW, Kind.NEW_KW), (_of_text,)),
    Kind.CODEC: (_unread,),
}
_RULES: Final[dict[int, tuple[_Rule, ...]]] = {
    **dict.fromkeys((Kind.CALL, Kind.CALL_KW, Kind.PACKAGE_CALL, Kind.NEW, Kind.NEW_KW), (_call,)),
    **dict.fromkeys((Kind.OBJ, Kind.FILL), (_attributes,)),
    **dict.fromkeys((Kind.EXTEND, Kind.UPDATE, Kind.STATE), (_fill_of_class, _contents)),
    Kind.CODEC: (_codec,),
    Kind.FINISH: (_finish,),
    Kind.GLOBAL: (_over_memory,),
}
