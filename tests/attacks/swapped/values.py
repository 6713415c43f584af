"""What is put in the place of an attribute: a pool of values, and arrays that are almost the honest ones.

A value is an operand with new storages. Texts, names and keys hold `MARK`, so that what is opened, imported,
compiled or shown because of them can be told from everything else.
"""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import numpy as np

from .tables import (
    CALL,
    CODEC,
    DICT,
    FROZENSET,
    GLOBAL,
    LIST,
    OBJ,
    PACKED_DICT,
    PACKED_TUPLE,
    SET,
    SHAPE,
    TENSOR,
    TUPLE,
    Node,
    as_operand,
)

MARK = "swapped_marker"

Value = tuple[Any, dict[str, tuple[str, tuple[int, ...], bytes]]]
"""An operand, and the storages that it needs."""

NUMBERS: dict[str, Any] = {
    "zero": 0,
    "one": 1,
    "minus one": -1,
    "two": 2,
    "int of 31 bits": 2**31 - 1,
    "int of 32 bits": 2**31,
    "int of 40 bits": 2**40,
    "int of 63 bits": 2**63 - 1,
    "int of 64 bits": 2**64 - 1,
    "negative int of 32 bits": -(2**31),
    "negative int of 64 bits": -(2**63),
    "int of 100 digits": 10**100,
    "nan": math.nan,
    "inf": math.inf,
    "minus inf": -math.inf,
    "huge float": 1e308,
    "negative float": -1.5,
    "tiny float": 5e-324,
    "half": 0.5,
    "minus zero": -0.0,
}

TEXTS: dict[str, str] = {
    "path": f"{MARK}.out",
    "path below": f"{MARK}/below/it.txt",
    "path of the system": f"/tmp/{MARK}.out",
    "address": f"http://127.0.0.1:9/{MARK}",
    "format": "{0.__class__.__mro__}{x}%s%n%9$s%(a)s" + MARK,
    "wide format": f"%999999999d{{:>999999999}}{MARK}",
    "expression": f"__import__('{MARK}').run()",
    "formula": f"y ~ I(__import__('{MARK}').run())",
    "name of a module": MARK,
    "name of a function": f"{MARK}:run",
    "dotted name": f"{MARK}.run",
    "script": f"<script>{MARK}()</script>",
    "quotes and script": f"\"'><img src=x onerror={MARK}()>",
    "empty text": "",
    "text with NUL": f"{MARK}\0{MARK}",
    "lone surrogate": f"{MARK}\ud800",
    "long text": MARK * 2000,
    "digits": "9" * 5000,
    "regex of long time": "(a+)+$" + MARK,
    "broken regex": "(?P<" + MARK,
    "filename": "filename",
    "file": "file",
    "auto": "auto",
    "name of a method": "predict",
    "name of reduce": "__reduce_ex__",
    "name of class": "__class__",
    "name of subclasses": "__subclasses__",
    "precomputed": "precomputed",
    "other word": MARK,
}

FUNCTIONS = [
    ("builtins", "print"),
    ("builtins", "len"),
    ("builtins", "id"),
    ("builtins", "float"),
    ("builtins", "list"),
    ("builtins", "dict"),
    ("builtins", "object"),
    ("builtins", "open"),
    ("builtins", "eval"),
    ("os", "system"),
    ("time", "sleep"),
    ("numpy", "log1p"),
    ("numpy", "exp"),
    ("numpy", "mean"),
    ("numpy", "float64"),
    ("numpy", "ndarray"),
    ("numpy", "load"),
    ("numpy", "save"),
    ("numpy", "fromfile"),
    ("math", "sqrt"),
    ("collections", "OrderedDict"),
    ("functools", "partial"),
    ("operator", "attrgetter"),
    ("types", "SimpleNamespace"),
    ("sklearn.metrics", "accuracy_score"),
    ("sklearn.metrics.pairwise", "rbf_kernel"),
    ("sklearn.feature_extraction.text", "TfidfVectorizer"),
    ("sklearn.linear_model", "LinearRegression"),
    ("sklearn.pipeline", "Pipeline"),
    ("sklearn.tree", "DecisionTreeClassifier"),
    ("scipy.stats", "norm"),
    ("scipy.spatial.distance", "euclidean"),
    (MARK, "run"),
]

ITERATORS: dict[str, Callable[[], Node]] = {
    "itertools.count": lambda: call("itertools", "count"),
    "itertools.repeat": lambda: call("itertools", "repeat", 1),
    "itertools.cycle": lambda: call("itertools", "cycle", Node(LIST, 1, 2)),
    "itertools.chain": lambda: call("itertools", "chain", Node(LIST, 1, 2)),
    "map": lambda: call("builtins", "map", named("builtins", "print"), Node(LIST, MARK)),
    "iter": lambda: call("builtins", "iter", Node(LIST, 1, 2)),
    "range": lambda: call("builtins", "range", 2**62),
    "partial": lambda: call("functools", "partial", named("builtins", "print"), MARK),
    "partial of open": lambda: call("functools", "partial", named("builtins", "open"), f"{MARK}.out", "w"),
    "range of a codec": lambda: Node(CODEC, ("slice", 1), "range", 0, 2**62, 1),
    "count of a codec": lambda: Node(CODEC, ("itertools", 1), "count", 0, 1),
    "partial of a codec": lambda: Node(
        CODEC,
        ("functools.partial", 1),
        None,
        named("builtins", "print"),
        Node(PACKED_TUPLE, MARK),
        Node(PACKED_DICT),
    ),
}

DTYPES = [
    "<f8",
    "<f4",
    "<f2",
    "<i8",
    "<i4",
    "<i2",
    "|i1",
    "|u1",
    "<u8",
    "|b1",
    "<c16",
    "<U3",
    "|S3",
    "<M8[ns]",
]
_SHAPES: list[tuple[int, ...]] = [
    (),
    (0,),
    (1,),
    (2,),
    (3,),
    (7,),
    (1, 1),
    (3, 3),
    (0, 3),
    (3, 0),
    (2, 2, 2),
    (1000,),
]


def named(module: str, name: str) -> Node:
    """Return the record of a name."""
    return Node(GLOBAL, module, name)


def call(module: str, name: str, *arguments: Any) -> Node:
    """Return the record of a call."""
    return Node(CALL, named(module, name), *arguments)


def array_value(rng: Random, array: np.ndarray[Any, Any]) -> Value:
    """Return an array as a codec makes it of a tensor; text and dates lie in bytes."""
    array = np.ascontiguousarray(array) if array.ndim else array
    spelled, key = array.dtype.str, f"swapped.{rng.getrandbits(60):x}"
    raw = array.tobytes()
    kind = {
        "<f8": "F64", "<f4": "F32", "<f2": "F16", "<i8": "I64", "<i4": "I32", "<i2": "I16", "|i1": "I8",
        "|u1": "U8", "<u8": "U64", "<u4": "U32", "<u2": "U16", "|b1": "BOOL",
    }.get(spelled)  # fmt: skip
    shape = array.shape
    if kind is None:
        kind, shape = "U8", (*array.shape, array.dtype.itemsize)
    tensor = Node(TENSOR, key, kind, list(shape), None, 0)
    node = Node(CODEC, ("numpy.ndarray", 1), ["ndarray", spelled], tensor)
    return node, {key: (kind, shape, raw)}


def object_array(items: Sequence[Any]) -> Node:
    """Return a one-dimensional array of objects."""
    dtype = Node(CODEC, ("numpy.dtype", 1), "|O")
    return Node(CODEC, ("numpy.ndarray", 1), ["ndarray", "elements", len(items)], dtype, *items)


def numpy_scalar(dtype: str, value: Any) -> Node:
    """Return a scalar of NumPy."""
    return Node(CODEC, ("numpy.scalar", 1), [dtype, np.array(value).astype(dtype).tobytes()])


def filled(rng: Random, shape: tuple[int, ...], dtype: str) -> tuple[str, np.ndarray[Any, Any]]:
    """Return an array of extreme values, and what it is called."""
    kind = np.dtype(dtype).kind
    words: dict[str, list[Any]] = {
        "f": [0.0, -1.0, math.nan, math.inf, 1e308 if dtype == "<f8" else 6e4, 0.5],
        "c": [0.0, math.nan],
        "i": [
            0,
            -1,
            1,
            100,
            np.iinfo(dtype).max if kind == "i" else 0,
            np.iinfo(dtype).min if kind == "i" else 0,
        ],
        "u": [0, 1, 255],
        "b": [True, False],
        "U": ["", "abc", MARK],
        "S": [b"", b"abc"],
        "M": [0, -(2**63), 2**62],
    }
    value = rng.choice(words[kind])
    with np.errstate(all="ignore"):
        array = np.full(shape, value if kind != "M" else np.datetime64(value, "ns"), dtype=dtype)
    return f"array {dtype} {len(shape)}-d of {value!r:.12}", array


def pooled(rng: Random, parts: Sequence[tuple[str, Value]]) -> tuple[str, Value]:
    """Return a value of the pool, and what kind it is. `parts` are objects of other archives, with names."""
    kind = rng.choices(
        [
            "plain",
            "number",
            "text",
            "bytes",
            "container",
            "array",
            "scalar",
            "namespace",
            "iterator",
            "function",
            "part",
        ],
        [6, 20, 18, 3, 12, 16, 5, 5, 6, 8, 9],
    )[0]
    if kind == "plain":
        name, value = rng.choice([("None", None), ("true", True), ("false", False)])
        return name, (value, {})
    if kind == "number":
        name = rng.choice(list(NUMBERS))
        return name, (as_operand(NUMBERS[name]), {})
    if kind == "text":
        return some_text(rng)
    if kind == "array":
        name, array = filled(rng, rng.choice(_SHAPES), rng.choice(DTYPES))
        return name, array_value(rng, array)
    if kind == "iterator":
        name = rng.choice(list(ITERATORS))
        return name, (ITERATORS[name](), {})
    if kind == "function":
        module, attribute = rng.choice(FUNCTIONS)
        return f"function {module}.{attribute}", (named(module, attribute), {})
    if kind == "scalar":
        dtype = rng.choice(["<f8", "<i8", "<i4", "<f4", "|b1", "<u8"])
        value = (
            rng.choice([0, 1, -1, 2**31 - 1]) if "f" not in dtype else rng.choice([math.nan, math.inf, -1.0])
        )
        with np.errstate(all="ignore"):
            return f"scalar {dtype}", (numpy_scalar(dtype, value), {})
    if kind == "part" and parts:
        return rng.choice(parts)
    maker = {"bytes": _some_bytes, "namespace": _namespace}.get(kind, _container)
    return maker(rng, parts)


def some_text(rng: Random) -> tuple[str, Value]:
    """Return a text of the pool, and what kind it is."""
    name = rng.choice(list(TEXTS))
    return name, (as_operand(TEXTS[name]), {})


def _some_bytes(rng: Random, parts: Sequence[tuple[str, Value]]) -> tuple[str, Value]:
    name, value = rng.choice(
        [
            ("empty bytes", b""),
            ("bytes of a pickle", f"c{MARK}\nrun\n(tR.".encode()),
            ("bytes of a list's pickle", pickle.dumps([1, 2])),
            ("bytes of 1 MB", b"\0" * 1_000_000),
            ("bytes", b"\xff" * 64),
        ]
    )
    return name, (as_operand(value), {})


def _container(rng: Random, parts: Sequence[tuple[str, Value]]) -> tuple[str, Value]:
    storages: dict[str, Any] = {}
    items = []
    for _ in range(rng.choice([0, 1, 2, 3, 10])):
        _, (operand, more) = pooled_leaf(rng)
        items.append(operand)
        storages |= more
    kind = rng.choice(
        ["list", "tuple", "dict", "set", "frozenset", "object array", "many", "pairs", "nested"]
    )
    if kind in ("set", "frozenset"):
        keys = sorted({rng.randrange(100) for _ in items})
        return kind, (Node(SET if kind == "set" else FROZENSET, *keys), {})
    if kind == "dict":
        flat = [part for at, item in enumerate(items) for part in (rng.choice([f"{MARK}{at}", at]), item)]
        return kind, (Node(DICT, *flat), storages)
    if kind == "object array":
        return kind, (object_array(items), storages)
    if kind == "many":
        return "list of 1,000 numbers", (Node(LIST, *range(1000)), {})
    if kind == "pairs":
        pairs = [Node(TUPLE, f"{MARK}{at}", item) for at, item in enumerate(items)]
        return "list of pairs", (Node(LIST, *pairs), storages)
    if kind == "nested":
        return "nested lists", (_nested(rng), {})
    return f"{kind} of {len(items)}", (Node(LIST if kind == "list" else TUPLE, *items), storages)


def _nested(rng: Random) -> Node:
    inner: Any = Node(LIST)
    for _ in range(rng.choice([3, 50, 300])):
        inner = Node(LIST, inner)
    return inner


def pooled_leaf(rng: Random) -> tuple[str, Value]:
    """Return a number, a text, an array or an iterator."""
    return rng.choice(
        [
            lambda: ("number", (as_operand(rng.choice(list(NUMBERS.values()))), {})),
            lambda: ("text", (as_operand(rng.choice(list(TEXTS.values()))), {})),
            lambda: ("array", array_value(rng, filled(rng, rng.choice(_SHAPES), rng.choice(DTYPES))[1])),
            lambda: ("None", (None, {})),
            lambda: ("iterator", (rng.choice(list(ITERATORS.values()))(), {})),
        ]
    )()


def _namespace(rng: Random, parts: Sequence[tuple[str, Value]]) -> tuple[str, Value]:
    names = rng.sample(
        [
            "shape",
            "dtype",
            "ndim",
            "__len__",
            "tree_",
            "classes_",
            "predict",
            "transform",
            "__class__",
            "indices",
            "T",
            "name",
            "func",
            "size",
            "fit",
            "__array__",
            "__array_interface__",
            "__iter__",
            "_repr_html_",
            "get_params",
        ],
        rng.randrange(1, 6),
    )
    storages: dict[str, Any] = {}
    values = []
    for _ in names:
        _, (operand, more) = pooled_leaf(rng)
        values.append(operand)
        storages |= more
    made = named("types", "SimpleNamespace")
    return "namespace", (Node(OBJ, Node(SHAPE, made, None, *names), *values), storages)


def read_array(record: Sequence[Any], storages: Any) -> np.ndarray[Any, Any] | None:
    """Return the array that a codec's record makes of a whole tensor of numbers or text, else None."""
    if record[0] != CODEC or record[1][0] != "numpy.ndarray" or type(record[2]) is not list:
        return None
    if record[2][0] != "ndarray" or type(record[2][1]) is not str or record[3].record[0] != TENSOR:
        return None
    _, key, _, shape, _, offset = record[3].record
    if key not in storages or offset:
        return None
    dtype = np.dtype(record[2][1])
    found = np.frombuffer(storages[key][2], dtype=dtype)
    wanted = tuple(shape) if _is_number(dtype) else tuple(shape[:-1])
    return found.reshape(wanted) if found.size == math.prod(wanted) else None


def _is_number(dtype: np.dtype[Any]) -> bool:
    return dtype.kind in "fiub"


def near(rng: Random, array: np.ndarray[Any, Any]) -> tuple[str, np.ndarray[Any, Any]]:
    """Return an array that is almost the given one, and what was done to it."""
    ways: dict[str, Callable[[], np.ndarray[Any, Any]]] = {
        "shorter by one": lambda: array[:-1] if array.ndim else array,
        "first alone": lambda: array[:1] if array.ndim else array,
        "empty": lambda: array[:0] if array.ndim else np.empty(0, array.dtype),
        "twice as long": lambda: np.concatenate([array, array]) if array.ndim else array,
        "narrower": lambda: array[..., :-1] if array.ndim > 1 else array[:-1] if array.ndim else array,
        "wider": lambda: np.concatenate([array, array], axis=-1) if array.ndim else array,
        "transposed": lambda: array.T if array.ndim > 1 else array.reshape(-1, 1),
        "flat": lambda: array.reshape(-1),
        "one axis more": lambda: array[None],
        "backwards": lambda: array[::-1] if array.ndim else array,
        "other dtype": lambda: array.astype(rng.choice(DTYPES[:11])),
        "as text": lambda: array.astype("<U3"),
    }
    if array.size and _is_number(array.dtype):
        ways |= {
            "one value huge": lambda: _with(rng, array, _extreme(array.dtype, 1)),
            "one value negative": lambda: _with(rng, array, _extreme(array.dtype, -1)),
            "one value minus one": lambda: _with(rng, array, -1),
            "one value beyond the length": lambda: _with(
                rng, array, array.size + rng.choice([0, 1, 7, 1000])
            ),
            "one value a bit larger": lambda: _with(rng, array, array.flat[rng.randrange(array.size)] + 1),
            "all huge": lambda: np.full_like(array, _extreme(array.dtype, 1)),
            "all negative": lambda: np.full_like(array, _extreme(array.dtype, -1)),
            "all zero": lambda: np.zeros_like(array),
            "mixed up": lambda: np.array(rng.sample(list(array.flat), array.size), array.dtype).reshape(
                array.shape
            ),
        }
        if array.dtype.kind == "f":
            ways |= {
                "one nan": lambda: _with(rng, array, math.nan),
                "one inf": lambda: _with(rng, array, math.inf),
                "all nan": lambda: np.full_like(array, math.nan),
            }
    name = rng.choice(list(ways))
    with np.errstate(all="ignore"):
        try:
            return f"array {name}", ways[name]()
        except (ValueError, OverflowError, TypeError, RuntimeError):
            return "array empty", np.empty(0, array.dtype)


def _extreme(dtype: np.dtype[Any], sign: int) -> Any:
    if dtype.kind == "f":
        return sign * float(np.finfo(dtype).max)
    if dtype.kind == "b":
        return sign > 0
    return np.iinfo(dtype).max if sign > 0 else np.iinfo(dtype).min


def _with(rng: Random, array: np.ndarray[Any, Any], value: Any) -> np.ndarray[Any, Any]:
    changed = array.copy()
    with np.errstate(all="ignore"):
        changed.flat[rng.randrange(array.size)] = np.array(value).astype(array.dtype)
    return changed


def near_scalar(rng: Random, value: Any) -> tuple[str, Any]:
    """Return a scalar near an honest one, and what was done to it."""
    if type(value) is bool or value is None:
        return "other bool", value is not True
    if type(value) is int:
        way, other = rng.choice(
            [
                ("one more", value + 1),
                ("one less", value - 1),
                ("negated", -value - 1),
                ("doubled", value * 2 + 1),
            ]
        )
        return way, other
    if type(value) is float:
        return rng.choice([("negated", -value), ("times 1e9", value * 1e9), ("nan", math.nan), ("zero", 0.0)])
    if type(value) is str:
        return rng.choice(
            [
                ("text cut", value[:-1]),
                ("text and more", value + MARK),
                ("upper", value.upper()),
                ("twice", value * 2),
            ]
        )
    return "None", None
