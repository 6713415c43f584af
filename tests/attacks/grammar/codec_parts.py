"""Parts of graphs that codecs make, and objects of listed classes: one function for each family."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import vocabulary as words
from .listed_names import LISTED_STATES
from .table import K
from .tensor_parts import array, attributes_of, dtype_part, torch_tensor

if TYPE_CHECKING:
    from .graphs import Graph

# --- plain values ---


def _numbers(graph: Graph, depth: int) -> int:
    rng = graph.rng
    kind = rng.randint(0, 8)
    if kind == 0:
        return graph.node("complex", [1.5, rng.choice((0.0, float("nan")))])
    if kind == 1:
        return graph.node("bytearray", b"ab")
    if kind == 2:
        return graph.node("singleton", rng.choice(("Ellipsis", "NotImplemented")))
    if kind == 3:
        return graph.node("fraction", None, 1, rng.choice((2, 3, 0)))
    if kind == 4:
        code, data = rng.choice((("d", b"\0" * 8), ("b", b"ab"), ("i", b"\0" * 4)))
        return graph.node("array.array", [code, {"d": 8, "b": 1, "i": 4}[code], data])
    if kind == 5:
        return graph.node(
            "re.pattern", [rng.choice(("a+", "(a|b)*", "(", b"a")), rng.choice((32, 34, 0, 128))]
        )
    if kind == 6:
        return graph.node(*rng.choice((("kellet.device", "cpu"), ("kellet.size", [2, 3]))))
    if kind == 7 and words.torch is not None:
        literal = rng.choice(
            (
                ["dtype", "float32"],
                ["device", "cpu"],
                ["Size", 1, 2],
                ["layout", "strided"],
                ["dtype", "onnx"],
            )
        )
        if graph.bold():
            literal = [literal[0], rng.choice(words.WORDS + words.ODD_ATTRIBUTES)]
        return graph.node("torch.value", literal)
    name, data = rng.choice((("<f4", b"\0" * 4), ("<M8[s]", b"\1" * 8), ("|b1", b"\1")))
    return graph.node("numpy.scalar", [name, data])


def standard(graph: Graph, depth: int = 1) -> int:
    """A small thing of the standard library: a buffer, a counter, an annotation, an exception and others."""
    return graph.rng.choice(_STANDARD)(graph, depth)


def _buffer(graph: Graph, depth: int) -> int:
    content = graph.scalar(b"ab") if graph.rng.random() < 0.5 else "ab"
    kind = "BytesIO" if type(content) is int else "StringIO"
    return graph.node("io.buffer", [kind, graph.rng.choice((0, 1, 2, 3))], content)


def _literals(graph: Graph, depth: int) -> int:
    rng = graph.rng
    kind = rng.randint(0, 5)
    if kind == 0:
        return graph.node("zoneinfo", rng.choice(("UTC", "Europe/Paris", "No/Where", "../etc/passwd")))
    if kind == 1:
        return graph.node(
            "weakref.collection", rng.choice(("WeakSet", "WeakKeyDictionary", "WeakValueDictionary"))
        )
    if kind == 2:
        return graph.node("struct.struct", rng.choice(("<if", "", "3s", "?x", "nonsense")))
    if kind == 3:
        return graph.node("stateless", rng.choice(("_MISSING_TYPE", "SystemRandom", "_KW_ONLY_TYPE")))
    if kind == 4:
        signals = rng.sample(("Inexact", "Overflow", "Rounded"), rng.randint(0, 3))
        return graph.node(
            "decimal.context", [rng.choice((5, 0)), "ROUND_UP", -9, 9, 1, 0, len(signals) // 2, *signals]
        )
    if words.HAS_REGEX and kind == 5:
        return graph.node(
            "regex.pattern", [rng.choice((r"\\p{L}+", "(a|b)*", "a{1,3}")), rng.choice((32, 0, 8192))]
        )
    return graph.node("types.mappingproxy", None, graph.mapping(depth - 1, graph.plain))


def _counter(graph: Graph, depth: int) -> int:
    if graph.rng.random() < 0.5:
        return graph.node("itertools", "count", graph.rng.choice((1, 2.5, 0)), graph.rng.choice((1, 0.5)))
    return graph.node("itertools", "repeat", graph.plain(depth - 1), graph.rng.choice((None, 3)))


def _error(graph: Graph, depth: int) -> int:
    cls = graph.needed_name("builtins", graph.rng.choice(words.EXCEPTIONS))
    made = graph.node(
        "exception", None, cls, *(graph.plain(depth - 1) for _ in range(graph.rng.randint(0, 2)))
    )
    if graph.rng.random() < 0.3:
        name = (
            graph.rng.choice(words.ODD_ATTRIBUTES)
            if graph.bold()
            else graph.rng.choice(words.HONEST_ATTRIBUTES)
        )
        graph.add(K.FILL, made, name, graph.plain(1))
    return made


def _annotation(graph: Graph, depth: int) -> int:
    rng = graph.rng
    kind = rng.randint(0, 4)
    if kind == 0:
        return graph.node("typing.form", "Literal", *rng.sample(("a", 1, None, True), rng.randint(1, 3)))
    if kind == 1:
        return graph.node("typing.form", rng.choice(("List", "Any", "NoReturn", "Optional", "Callable")))
    args = [_type(graph, depth - 1) for _ in range(rng.randint(1, 2))]
    if kind == 2:
        return graph.node("typing.form", rng.choice(("List", "Type", "ClassVar", "Optional")), args[0])
    return graph.node(
        "typing.form", rng.choice(("|", "Union", "Callable", "collections.abc.Callable")), *args, args[0]
    )


def _type(graph: Graph, depth: int) -> Any:
    if graph.bold():
        return graph.anything_odd()
    if depth > 0 and graph.rng.random() < 0.4:
        return _annotation(graph, depth)
    return graph.name(
        *graph.rng.choice(
            (
                ("builtins", "int"),
                ("types", "NoneType"),
                ("torch", "Tensor"),
                ("collections.abc", "Sequence"),
                ("numpy", "ndarray"),
            )
        )
    )


def _signature(graph: Graph, depth: int) -> int:
    empty = graph.name("inspect", "_empty")
    parameters = [
        graph.node(
            "inspect.signature",
            ["parameter", name, graph.rng.choice((0, 1, 1, 3))],
            graph.rng.choice((empty, graph.plain(1))),
            graph.rng.choice((empty, _type(graph, 1))),
        )
        for name in graph.rng.sample(("a", "b", "if", "c"), graph.rng.randint(0, 2))
    ]
    return graph.node("inspect.signature", ["signature", None, len(parameters)], empty, *parameters)


def cached_function(graph: Graph, depth: int = 1) -> int:
    """A function that remembers its answers."""
    function = graph.value_name() if graph.rng.random() < 0.7 else graph.any_known()
    return graph.node("functools.cache", [graph.rng.choice((None, 3, 0)), False], function)


_STANDARD = (_buffer, _literals, _literals, _literals, _counter, _error, _annotation, _signature)


def _slice(graph: Graph, depth: int) -> int:
    parts = [graph.value(1) if graph.bold() else graph.rng.choice((1, 2, 3)) for _ in range(3)]
    return graph.node("slice", graph.rng.choice(("slice", "range")), *parts)


def enumeration(graph: Graph, depth: int) -> int:
    module, name, literals = graph.rng.choice(words.ENUMS)
    made = graph.node("enum", graph.rng.choice(literals), graph.needed_name(module, name))
    if graph.bold():
        graph.add(K.FILL, made, graph.rng.choice(words.ODD_ATTRIBUTES), graph.value(1))
    return made


def _mapping(graph: Graph, depth: int) -> int:
    rng = graph.rng
    kind = rng.choice(("OrderedDict", "Counter", "defaultdict"))
    factory = []
    if kind == "defaultdict":
        factory = [
            graph.anything_odd(1) if graph.bold() else graph.name("builtins", rng.choice(words.FACTORIES))
        ]
    made = graph.node("collections.mapping", kind, *factory)
    for _ in range(rng.randint(0, 2)):
        graph.add(K.UPDATE, made, graph.key(), graph.plain(depth - 1))
    if kind != "defaultdict":
        return attributes_of(graph, made)
    if graph.bold():
        graph.add(K.FILL, made, rng.choice(("default_factory", "a")), graph.value_name())
    return made


def _deque(graph: Graph, depth: int) -> int:
    made = graph.node("collections.deque", graph.rng.choice((None, 0, 3)))
    graph.add(K.EXTEND, made, graph.plain(depth - 1))
    return made


def _chain(graph: Graph, depth: int) -> int:
    maps = [graph.plain(1) if graph.bold() else graph.mapping(depth - 1, graph.plain) for _ in range(2)]
    return graph.node("collections.chainmap", None, *maps)


def called(graph: Graph, depth: int) -> int:
    """What a listed class is called with."""
    rng = graph.rng
    name = rng.choice(sorted(words.CALLS))
    cls = graph.needed_name(*name.split(":"))
    args = [_spelled(graph, part) for part in rng.choice(words.CALLS[name])]
    if graph.bold():  # such arguments for another class
        cls = graph.needed_name(*rng.choice(words.HOSTILE))
    if args and graph.bold():
        args[rng.randrange(len(args))] = graph.anything_odd(1)
    if rng.random() < 0.1:
        kind = rng.choice((K.CALL_KW, K.NEW_KW))
        return graph.add(kind, cls, graph.add(K.TUPLE, *args), graph.add(K.DICT))
    made = graph.add(rng.choice((K.CALL, K.CALL, K.CALL, K.NEW)), cls, *args)
    if name == "types:SimpleNamespace":
        _fill_namespace(graph, made, depth)
    elif graph.bold():
        graph.add(K.FILL, made, rng.choice(words.ODD_ATTRIBUTES), graph.value(1))
    return made


def namespace(graph: Graph, depth: int) -> int:
    """A SimpleNamespace of plain data, boldly of something that is called."""
    made = graph.add(K.CALL, graph.needed_name("types", "SimpleNamespace"))
    _fill_namespace(graph, made, depth)
    return made


def _fill_namespace(graph: Graph, made: int, depth: int) -> None:
    rng = graph.rng
    names = rng.sample(words.HONEST_ATTRIBUTES, 2)
    names += [rng.choice(words.ODD_ATTRIBUTES)] if graph.bold() else []
    values = [
        rng.choice((graph.value_name, lambda: graph.value(1)))() if graph.bold() else graph.plain(depth - 1)
        for _ in names
    ]
    graph.add(K.FILL, made, *(part for pair in zip(names, values, strict=True) for part in pair))


def _spelled(graph: Graph, value: Any) -> Any:
    if type(value) is tuple:
        return graph.add(K.TUPLE, *(_spelled(graph, part) for part in value))
    return graph.scalar(value)


def created(graph: Graph, depth: int) -> int:
    """An object of a listed class, given its attributes."""
    rng = graph.rng
    name = rng.choice(sorted(words.OBJECTS))
    names = list(words.OBJECTS[name])
    names += [rng.choice(words.ODD_ATTRIBUTES)] if graph.bold() else []
    values: list[Any] = [graph.plain_or_tensor(1) for _ in names]
    if name == "uuid:UUID" and not graph.bold():
        values[0] = rng.choice((0, 3, 2**64 - 1))
    shape = graph.add(K.SHAPE, graph.needed_name(*name.split(":")), None, *names)
    made = graph.add(K.OBJ, shape, *values)
    if graph.bold():
        graph.fill(made)
    return made


def stateful(graph: Graph, depth: int) -> int:
    """An object of a listed class that takes up a state: a UUID, a polynomial, a matrix, random numbers."""
    rng = graph.rng
    name = rng.choice(sorted(LISTED_STATES))
    module, _, qualname = name.partition(":")
    if (module, qualname) not in words.NAMES:
        return created(graph, depth)
    cls = graph.needed_name(module, qualname)
    made = graph.add(K.CALL if module == "random" else K.NEW, cls)
    if module == "random" and not graph.bold():
        numbers = graph.add(K.PACKED_TUPLE, *([1] * 625))
        graph.add(K.STATE, made, graph.add(K.TUPLE, 3, numbers, rng.choice((None, 1.5))))
        return made
    names = {"uuid": ["int", "is_safe"], "numpy.polynomial": ["coef", "domain", "window"]}
    pairs: list[Any] = []
    for one in [*names.get(module, []), *([rng.choice(words.ODD_ATTRIBUTES)] if graph.bold() else [])]:
        pairs += [one, rng.choice((0, graph.plain_or_tensor(1)))]
    state = graph.add(K.DICT, *pairs)
    if graph.bold():
        state = graph.node("collections.mapping", "OrderedDict")
        graph.add(K.UPDATE, state, rng.choice(words.ODD_ATTRIBUTES), graph.plain(1))
    graph.add(K.STATE, made, state)
    if graph.bold():  # and what was taken up is changed
        graph.add(K.UPDATE, state, rng.choice(words.ODD_ATTRIBUTES), graph.plain(0))
    return made


def estimator(graph: Graph, depth: int) -> int:
    """An object of a known family, with attributes or a state of whatever else a graph has."""
    rng = graph.rng
    if not words.FAMILY:
        return created(graph, depth)
    cls = graph.needed_name(*rng.choice(words.FAMILY))
    pool = words.FAMILY_ATTRIBUTES if rng.random() < 0.1 else words.HONEST_ATTRIBUTES
    names = rng.sample(pool, rng.randint(0, 3))
    names += [rng.choice(words.ODD_ATTRIBUTES)] if graph.bold() else []
    values = [_held(graph, depth) for _ in names]
    if rng.random() < 0.4:
        return graph.add(K.OBJ, graph.add(K.SHAPE, cls, None, *names), *values)
    made = graph.add(K.NEW, cls)
    state = graph.add(K.DICT, *(part for pair in zip(names, values, strict=True) for part in pair))
    graph.add(K.STATE, made, state)
    if graph.bold():  # and what was taken up is changed
        graph.add(K.UPDATE, state, rng.choice(words.ODD_ATTRIBUTES), graph.plain(0))
    if graph.bold():
        graph.fill(made)
    return made


def _held(graph: Graph, depth: int) -> Any:
    roll = graph.rng.random()
    if roll < 0.2:
        return graph.value_name()
    if roll < 0.23:
        return c_part(graph, depth)
    if roll < 0.5 and depth > 0:
        return estimator(graph, depth - 1)
    return graph.value(depth - 1) if roll < 0.75 else graph.plain_or_tensor(1)


def c_part(graph: Graph, depth: int) -> int:
    """A part of an estimator that is made in C: a loss, a metric, a tree; and its state."""
    rng = graph.rng
    if not words.C_PARTS:
        return created(graph, depth)
    module, name = rng.choice(words.C_PARTS)
    function = graph.needed_name(module, name)
    if name == "Tree":
        made = graph.add(K.CALL, function, 1, array(graph, "I64", [1]), 1)
        values = array(graph, "F64", [1])
        state = graph.add(K.DICT, "max_depth", 0, "node_count", 1, "nodes", array(graph), "values", values)
        graph.add(K.STATE, made, state)
        return made
    if name != "newObj":
        options = [graph.anything_odd(1)] if graph.bold() else rng.choice(([], [1.0]))
        return graph.add(K.CALL, function, *options)
    home = "sklearn.neighbors" if "neighbors" in module else module
    listed = [pair for pair in words.C_CLASSES if pair[0] == home]
    cls = graph.anything_odd(1) if graph.bold() else graph.needed_name(*rng.choice(listed))
    made = graph.add(K.CALL, function, cls)
    if rng.random() < 0.7:
        parts = [
            rng.choice((1, 1.5, array(graph, "F64", [1]), graph.plain(1)))
            for _ in range(rng.choice((3, 3, 13)))
        ]
        graph.add(K.STATE, made, graph.add(K.TUPLE, *parts))
    return made


def alias(graph: Graph, depth: int) -> int:
    """A generic alias of types; boldly of something else, or one that is given an attribute."""
    parts = [graph.name("builtins", graph.rng.choice(words.FACTORIES)) for _ in range(2)]
    argument = graph.plain(1) if graph.rng.random() < 0.3 else parts[1]
    origin = graph.value_name() if graph.bold() else parts[0]
    made = graph.add(K.CALL, graph.needed_name("types", "GenericAlias"), origin, argument)
    if graph.bold():
        names = words.ODD_ATTRIBUTES + words.HONEST_ATTRIBUTES
        graph.add(K.FILL, made, graph.rng.choice(names), graph.plain(0))
    return made


def subclass(graph: Graph, depth: int) -> int:
    """An instance of a subclass of a scalar, or a named tuple: of a class that is, or is not, one."""
    rng = graph.rng
    cls = graph.needed_name(*rng.choice([("re", "RegexFlag"), ("uuid", "SafeUUID"), *words.HOSTILE[-4:]]))
    if rng.random() < 0.5:
        return graph.node("namedtuple", None, cls, graph.plain(0), graph.plain(0))
    return graph.node("scalar subclass", None, cls, rng.choice((1, "a", 2.5)))


def odd_key(graph: Graph, depth: int = 1) -> int:
    """A key whose class has code of its own, or that holds something which has."""
    rng = graph.rng
    kind = rng.randint(0, 4)
    if kind == 0:
        shape = graph.add(K.SHAPE, graph.needed_name("uuid", "UUID"), None, "int")
        return graph.add(K.OBJ, shape, graph.plain_or_tensor(1))
    if kind == 1:
        return graph.node("scalar subclass", None, graph.needed_name("re", "RegexFlag"), 3)
    if kind == 2:
        return alias(graph, depth)
    if kind == 3:
        return graph.add(K.TUPLE, graph.anything_odd(depth - 1) if depth > 0 else 1)
    return graph.value(1)


# --- what wraps something that is called, and what keeps a state in C ---


def wrapped_call(graph: Graph, depth: int = 1) -> int:
    """A partial of a listed function; boldly also a bound method, a getter, or a partial of anything."""
    rng = graph.rng
    function = (
        graph.name(*rng.choice(words.FUNCTIONS))
        if rng.random() < 0.7
        else graph.name("numpy", rng.choice(("clip", "sum", "asarray")))
    )
    if not graph.bold():
        args = graph.add(K.TUPLE, *([graph.plain_or_tensor(1)] if rng.random() < 0.5 else []))
        options = graph.add(K.DICT, "dim", graph.plain_or_tensor(0))
        return attributes_of(graph, graph.node("functools.partial", None, function, args, options))
    kind = rng.randint(0, 3)
    if kind == 0:
        return graph.node("method", None, rng.choice((function, graph.value_name())), graph.value(1))
    if kind == 1:
        return graph.node("getter", "attrgetter", rng.choice(("append", "a.b")))
    if kind == 2:
        return graph.node("getter", "itemgetter", graph.plain(1))
    args = graph.add(K.TUPLE, graph.value(1))
    return graph.node("functools.partial", None, graph.value_name(), args, graph.add(K.DICT))


def sparse_matrix(graph: Graph, depth: int = 1) -> int:
    """A sparse matrix that our encoder wrote; boldly with a flag or another part that is something else."""
    from .deviations import exchange

    tables = words.sparse_tables() if graph.with_storage else []
    if not tables:
        return created(graph, depth)
    start = len(graph.records)
    made: int = graph.splice(*graph.rng.choice(tables))
    if graph.bold():
        flags = ("has_sorted_indices", "_has_canonical_format", "_shape", "data", "maxprint")
        graph.add(K.FILL, made, graph.rng.choice(flags), graph.plain_or_tensor(1))
    elif graph.bold():
        exchange(graph, start)
    return made


def random_state(graph: Graph, depth: int = 1) -> int:
    """A generator of random numbers: its algorithm, its state, its seed."""
    rng = graph.rng
    entropy = rng.choice((None, 3, graph.plain(1)))
    key = graph.add(K.TUPLE, *([1] if rng.random() < 0.5 else []))
    seed = graph.node("numpy.seed_sequence", [4, 0], entropy if entropy is not None else 1, key)
    kind = rng.choice(("PCG64", "PCG64DXSM", "SFC64", "Philox", "MT19937"))
    inner = graph.add(K.PACKED_DICT, "state", rng.choice((5, 2**40)), "inc", 3)
    state = graph.add(
        K.DICT,
        "bit_generator",
        kind,
        "state",
        rng.choice((inner, inner, graph.mapping(1, graph.plain))),
        "has_uint32",
        0,
        "uinteger",
        0,
    )
    made = graph.node("numpy.bit_generator", kind, state, seed)
    if rng.random() < 0.5:
        return graph.node("numpy.generator", None, made)
    return graph.node("numpy.random_state", [False, 0.0], made)


def _logger(graph: Graph, depth: int) -> int:
    made = graph.node("logging.logger", graph.rng.choice(("", "packager", "grammar.a")))
    if graph.bold():
        graph.add(K.FILL, made, graph.rng.choice(words.ODD_ATTRIBUTES), graph.value(1))
    return made


def _array_subclass(graph: Graph, depth: int) -> int:
    if not graph.with_storage:
        return graph.node("kellet.device", "cpu")
    cls = graph.needed_name(
        *graph.rng.choice([("numpy", "ndarray"), ("numpy.ma", "MaskedArray"), ("outside", "Thing")])
    )
    name = graph.rng.choice(("numpy.subclass", "kellet.subclass"))
    return graph.node(name, None if name[0] == "n" else False, cls, array(graph, "F32", [2]))


def _torch_generator(graph: Graph, depth: int) -> int:
    if words.torch is None or not graph.with_storage:
        return _logger(graph, depth)
    if graph.rng.random() < 0.3:
        cls = graph.needed_name("torch.nn.parameter", "UninitializedParameter")
        return graph.node("torch.subclass", False, cls, torch_tensor(graph))
    return graph.node("torch.generator", "cpu", torch_tensor(graph, "U8", [16], "Tensor"))


def method(graph: Graph, depth: int) -> int:
    """A bound method by its name, or a function of a place in the archive: data alone has neither."""
    if graph.bold():
        owner = graph.odd_object()
        return graph.add(K.METHOD, owner, graph.rng.choice(("append", "forward", "update")))
    return graph.value_name()


PLAIN: tuple[Any, ...] = (
    *(_numbers, _numbers, _numbers, _slice, enumeration, _mapping, _deque, _chain, called, called, created),
    *(namespace, standard, standard, lambda graph, depth: sparse_matrix(graph)),
    lambda graph, depth: dtype_part(graph),
)
KEYS: tuple[Any, ...] = (
    _numbers,
    enumeration,
    called,
    lambda graph, depth: graph.add(K.TUPLE, *(graph.key(depth - 1) for _ in range(2))),
    lambda graph, depth: graph.add(K.FROZENSET, graph.key(depth - 1)),
    lambda graph, depth: graph.name("builtins", graph.rng.choice(words.FACTORIES)),
)
OTHERS: tuple[Any, ...] = (
    cached_function,
    random_state,
    _logger,
    _array_subclass,
    _torch_generator,
    method,
    subclass,
    alias,
    created,
    stateful,
    sparse_matrix,
    estimator,
)
