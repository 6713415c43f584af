"""Parts of graphs that are memory: arrays, masked ones, dtypes, tensors of each library and layout."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from . import vocabulary as words
from .table import STORAGE, STORAGE_SIZE, K

if TYPE_CHECKING:
    from .graphs import Graph

_SIZES = {"F32": 4, "F64": 8, "I64": 8, "U8": 1, "I32": 4, "BOOL": 1, "I8": 1, "F16": 2, "C64": 8, "BF16": 2}
_NUMPY = {
    "F32": "<f4",
    "F64": "<f8",
    "I64": "<i8",
    "U8": "|u1",
    "I32": "<i4",
    "BOOL": "|b1",
    "I8": "|i1",
    "F16": "<f2",
}
_TORCH = dict(
    F32="float32",
    F64="float64",
    I64="int64",
    U8="uint8",
    I32="int32",
    BOOL="bool",
    C64="complex64",
    BF16="bfloat16",
)


def memory(graph: Graph, dtype: str, shape: list[int]) -> int:
    """A view of the storage."""
    rng = graph.rng
    size = _SIZES[dtype]
    count = 1
    for extent in shape:
        count *= extent
    offset = rng.randrange(0, max(1, (STORAGE_SIZE - count * size) // 8)) * 8
    strides = None
    if len(shape) == 2 and shape[0] > 1 and shape[1] > 1 and rng.random() < 0.2:
        strides = [1, shape[0]]
    if rng.random() < 0.02:
        offset, shape = rng.choice((offset + 1, STORAGE_SIZE, 2**40)), [rng.choice((0, 1, 3, 2**40))]
        strides = None
    return graph.add(K.TENSOR, STORAGE, dtype, shape, strides, offset)


def shape_of(graph: Graph) -> list[int]:
    return [graph.rng.choice((0, 1, 2, 3)) for _ in range(graph.rng.randint(0, 3))]


def array(graph: Graph, dtype: str | None = None, shape: list[int] | None = None) -> int:
    """An array of NumPy; without a storage one of objects."""
    rng = graph.rng
    if not graph.with_storage or rng.random() < 0.15:
        return elements(graph)
    dtype = dtype or rng.choice(sorted(_NUMPY))
    shape = shape_of(graph) if shape is None else shape
    if rng.random() < 0.1:
        made = dtype_part(graph)
        return graph.node(
            "numpy.ndarray", ["ndarray", None], memory(graph, "U8", [2, rng.choice((1, 4, 8, 16))]), made
        )
    kind = rng.choice(("ndarray", "ndarray", "ndarray", "matrix", "recarray"))
    shape = [2, 2] if kind == "matrix" else shape
    return graph.node("numpy.ndarray", [kind, _NUMPY[dtype]], memory(graph, dtype, shape))


def elements(graph: Graph) -> int:
    """An array of objects, or of strings of any length."""
    rng = graph.rng
    count = rng.randint(0, 3)
    if rng.random() < 0.6:
        dtype = graph.node("numpy.dtype", "|O")
        items = [graph.plain_or_tensor(1) for _ in range(count)]
    else:
        missing = rng.random() < 0.5
        dtype = graph.node(
            "numpy.dtype", ["string", rng.random() < 0.5, missing], *([graph.plain(1)] if missing else [])
        )
        items = [graph.value(1) if graph.bold() else rng.choice(("a", "b", "")) for _ in range(count)]
    return graph.node("numpy.ndarray", ["ndarray", "elements", count], dtype, *items)


def dtype_part(graph: Graph) -> int:
    """A dtype: by name, with fields, of a shape, of strings."""
    rng = graph.rng
    name = graph.node(
        "numpy.dtype", rng.choice(("<f4", "<i8", "|O", "<M8[s]", "|S4", "|b1", "bfloat16", "|V8", ">f8"))
    )
    kind = rng.randint(0, 3)
    if kind == 0:
        return graph.node(
            "numpy.dtype", ["struct", rng.choice((8, 16)), False, "a", 0, rng.choice((None, "title"))], name
        )
    if kind == 1:
        return graph.node("numpy.dtype", ["subarray", rng.choice((1, 2))], name)
    if kind == 2:
        missing = rng.random() < 0.5
        children = [graph.plain_or_tensor(1)] if missing else []
        return graph.node("numpy.dtype", ["string", rng.random() < 0.5, missing], *children)
    return name


def tensor(graph: Graph) -> int:
    """A tensor of one of the libraries."""
    rng = graph.rng
    makers: list[Callable[[Graph], int]] = [array, array, masked]
    if graph.with_storage:
        makers += [kellet_tensor] * 3
        if words.torch is not None:
            makers += [torch_tensor, torch_tensor, sparse, quantized]
    return rng.choice(makers)(graph)


def masked(graph: Graph) -> int:
    """A masked array."""
    rng = graph.rng
    if rng.random() < 0.2 or not graph.with_storage:
        return graph.node("numpy.masked", "masked")
    data = array(graph, "F32", [3])
    mask = rng.choice((None, array(graph, "BOOL", [3])))
    value = array(graph, "F32", []) if rng.random() < 0.5 else None
    parts = [data, mask, value]
    if graph.bold():
        parts[rng.randrange(3)] = graph.value(1)
    return graph.node("numpy.masked", rng.random() < 0.5, *parts)


def kellet_tensor(graph: Graph, shape: list[int] | None = None, kind: str | None = None) -> int:
    """A tensor, parameter or buffer of kellet, with attributes now and then."""
    rng = graph.rng
    dtype = rng.choice(("F32", "F32", "F64", "I64"))
    kind = kind or rng.choice(("Tensor", "Parameter", "Buffer"))
    needs = dtype != "I64" and kind != "Buffer" and rng.random() < 0.5
    shape = shape_of(graph) if shape is None else shape
    if rng.random() < 0.1:
        return graph.node("kellet.tensor", [kind, _NUMPY[dtype], needs, "empty", *shape])
    made = graph.node("kellet.tensor", [kind, _NUMPY[dtype], needs], memory(graph, dtype, shape))
    return attributes_of(graph, made)


def torch_tensor(
    graph: Graph, dtype: str | None = None, shape: list[int] | None = None, kind: str = ""
) -> int:
    """A dense tensor of PyTorch."""
    rng = graph.rng
    dtype = dtype or rng.choice(sorted(_TORCH))
    kind = kind or rng.choice(("Tensor", "Parameter"))
    needs = dtype in ("F32", "F64", "C64") and rng.random() < 0.5
    shape = shape_of(graph) if shape is None else shape
    if rng.random() < 0.1:
        device = rng.choice(("cpu", "meta"))
        return graph.node("torch.tensor", [kind, _TORCH[dtype], device, needs, "empty", *shape])
    marks = ["conj"] if dtype == "C64" and rng.random() < 0.3 else []
    made = graph.node(
        "torch.tensor", [kind, _TORCH[dtype], "cpu", needs, *marks], memory(graph, dtype, shape)
    )
    return attributes_of(graph, made)


def sparse(graph: Graph) -> int:
    """A sparse tensor of PyTorch."""
    indices = torch_tensor(graph, "I64", [2, 2], "Tensor")
    values = graph.value(1) if graph.bold() else torch_tensor(graph, "F32", [2], "Tensor")
    layout = graph.rng.choice(("sparse_coo", "sparse_csr", "sparse_csc", "sparse_bsr"))
    if layout == "sparse_coo":
        return graph.node("torch.sparse", [layout, False, False, 5, 5], indices, values)
    rows = torch_tensor(graph, "I64", [3], "Tensor")
    return graph.node(
        "torch.sparse", [layout, False, False, 2, 5], rows, torch_tensor(graph, "I64", [2], "Tensor"), values
    )


def quantized(graph: Graph) -> int:
    """A quantized tensor of PyTorch."""
    integers = torch_tensor(graph, "U8", [2], "Tensor")
    if graph.bold():
        return graph.node("torch.quantized", ["quint8", None], integers, graph.value(1), graph.value(1))
    if graph.rng.random() < 0.5:
        return graph.node("torch.quantized", ["quint8", None], integers, 0.5, 1)
    scales, zeros = torch_tensor(graph, "F64", [2], "Tensor"), torch_tensor(graph, "I64", [2], "Tensor")
    return graph.node("torch.quantized", ["quint8", 0], integers, scales, zeros)


def attributes_of(graph: Graph, made: int) -> int:
    """Give what takes attributes one, now and then."""
    rng = graph.rng
    if rng.random() < 0.15:
        odd = graph.bold()
        name = rng.choice(rng.choice((words.ODD_ATTRIBUTES, words.SLOTS)) if odd else words.HONEST_ATTRIBUTES)
        graph.add(K.FILL, made, name, graph.value_name() if odd else graph.plain(1))
    return made
