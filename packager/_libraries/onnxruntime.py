"""A codec for sessions of onnxruntime: the bytes of the model, walked before the library reads them.

A model is a graph of operations on arrays. One that reads other files, or asks for operations of other
libraries is refused. So is one that grows beyond its bytes while it is read: by arrays of shapes that nothing
fills, by sparse arrays, which onnxruntime makes dense, and by functions of the model, which it puts in the
place of each call. That values are as many as a shape says it looks at itself. Refused are trees so deep that
onnxruntime, which calls itself for each level, would end the process. Nothing of the graph is computed while
a session is made: constants are folded by onnxruntime elsewhere, and not here.
"""

from __future__ import annotations

import math
import os
from array import array
from collections.abc import Iterator, Sequence
from typing import Any, Final

from packager._archive import MAX_TREE_DEPTH, largest_view
from packager._codecs import (
    CannotStore,
    Child,
    Codec,
    Decoding,
    Encoding,
    Library,
    Node,
    expect,
    expect_payload,
    payload,
    view_of,
)

from .wire_format import Found, Message, varint, walk

_CPU: Final = "CPUExecutionProvider"
_PROVIDERS: Final = 16
_RANK: Final = 64
_DOMAINS: Final = (b"", b"ai.onnx", b"ai.onnx.ml", b"com.microsoft")
_FOREIGN: Final = (b"EPContext",)
_TENSOR: Final = Message(named={1: "dims", 13: "external", 14: "location"})
_SPARSE: Final = Message(inside={1: _TENSOR, 2: _TENSOR}, named={3: "dense"}, once=frozenset({1, 2}))
_BYTES: Final = {"dims": 4, "dense": 8}
"""What an element is counted as; a large model has few elements of more bytes, and many of fewer."""


def _graph() -> Message:
    """Return a graph, whose nodes hold graphs."""
    inside: dict[int, Message] = {}
    graph = Message(inside=inside)
    attribute = Message(
        inside={5: _TENSOR, 6: graph, 10: _TENSOR, 11: graph, 22: _SPARSE, 23: _SPARSE},
        named={1: "key", 8: "number", 9: "word"},
        once=frozenset({5, 6, 22}),
    )
    inside |= {1: Message(inside={5: attribute}, named={4: "op", 7: "domain"}), 5: _TENSOR, 15: _SPARSE}
    return graph


_MODEL: Final = Message(
    inside={7: _graph(), 8: Message(named={1: "domain"}), 20: Message(named={1: "op"})},
    named={1: "version", 25: "function"},
    once=frozenset({7}),
)


class OnnxSessionCodec(Codec):
    """Sessions: the providers that they had, and the model. They are made again on the processor."""

    name = "onnxruntime.session"
    is_data = "library"
    types = tuple(
        f"onnxruntime.{home}:InferenceSession" for home in ("capi.onnxruntime_inference_collection", "capi")
    )

    def encode(self, obj: Any, context: Encoding) -> Node:
        """Return the bytes of a session's model. Raises CannotStore where they are not here any more."""
        data = _bytes_of(obj)
        try:
            check_model(memoryview(data))
        except ValueError as error:
            raise CannotStore(
                f"the model could not be loaded again: {error}",
                "save it as one file: onnx.save(onnx.load(path), path, save_as_external_data=False)",
                "inline its functions: onnx.inliner.inline_local_functions(model)",
            ) from error
        if getattr(obj, "_sess_options_initial", None) is not None:
            context.warn(
                "the options of an onnxruntime session are not stored; it is loaded with default options"
            )
        return Node(list(obj.get_providers()), (payload(data),))

    def check(self, literal: Any, children: Sequence[Child], version: int) -> None:
        names = isinstance(literal, list) and 0 < len(literal) <= _PROVIDERS
        expect(names and set(map(type, literal)) == {str} and len(children) == 1, "names of providers")
        expect_payload(children[0], 1 << 31)

    def decode(self, literal: Any, children: Sequence[Any], version: int, context: Decoding) -> Any:
        """Return a session of the model. Raises ValueError for one that a check or the library refuses."""
        import onnxruntime

        data = view_of(children[0])
        check_model(data)
        try:
            return onnxruntime.InferenceSession(
                bytes(data),
                providers=[_CPU],
                disabled_optimizers=["ConstantFolding"],
                enable_fallback=0,
                read_config_from_model=0,  # which could ask for files to be written
            )
        except Exception as error:  # classes of pybind11, one for each status
            raise ValueError(f"onnxruntime cannot read the model: {error}") from error


def _bytes_of(obj: Any) -> bytes:
    found = obj._model_bytes
    if found is not None:
        return bytes(found)
    path = obj._model_path
    try:
        with open(os.fspath(path), "rb") as file:
            return file.read()
    except (OSError, TypeError) as error:
        raise CannotStore(
            f"an onnxruntime session whose model file is missing: {error}",
            "make the session from bytes: InferenceSession(open(path, 'rb').read())",
        ) from error


def check_model(data: memoryview) -> None:
    """Raise ValueError unless bytes are a model that is whole in itself, and asks for nothing else."""
    version = taken = 0
    shape: tuple[str, list[int]] = ("dims", [0])
    trees = _Trees()
    for found in walk(data, _MODEL):
        name, value = found.name, found.value
        if trees.take(found):
            continue
        if name is None:  # another message begins
            taken += _bytes_of_array(*shape)
            shape = ("dims", [0])
        elif name in _BYTES:
            shape = (name, [*(shape[1] if shape[1] != [0] else ()), *_numbers(value)])
        elif name == "version":
            version = value
        elif name == "function":
            raise ValueError("expected a model without local functions, found one")
        elif name == "op":
            _check_text(value, _FOREIGN, allowed=False)
        elif name == "domain":
            _check_text(value, _DOMAINS, allowed=True)
        else:
            expect(name == "location" and not value, "no values in other files")
    taken += _bytes_of_array(*shape)
    trees.check()
    most = largest_view(len(data))
    expect(taken <= most, f"arrays of {most} bytes at most", taken)
    expect(type(version) is int and 0 < version < 1 << 16, "a model of ONNX")


class _Trees:
    """The trees of the node that is walked, where it is one of trees: their nodes, and which follow them."""

    def __init__(self) -> None:
        self._node: tuple[int, ...] | None = None
        self._columns: dict[bytes, array[int]] = {}
        self._column = array("Q")

    def take(self, found: Found) -> bool:
        """Note a field of such a node, and check the node before. Returns whether it is of no other use."""
        if found.name == "number" or found.name == "word":
            if self._node is not None:
                self._add(found)
            return True
        if found.name == "op" and found.path[-1:] == (1,):
            self.check()
            is_of_trees = type(found.value) is memoryview and bytes(found.value[:12]) == b"TreeEnsemble"
            self._node, self._columns = (found.path if is_of_trees else None), {}
        elif found.name is None and self._node is not None and found.path[-1:] in ((6,), (11,)):
            expect(len(found.path) <= len(self._node), "trees of numbers, with no graph inside")
        elif found.name == "key" and self._node is not None:
            key = bytes(found.value) if type(found.value) is memoryview else b""
            self._column = self._columns.setdefault(key, array("Q"))
        return found.name == "key"

    def _add(self, found: Found) -> None:
        is_bytes = type(found.value) is memoryview
        if found.name == "word":
            self._column.append(is_bytes and found.value == b"LEAF")
        elif is_bytes:
            self._column.extend(_varints(found.value))
        else:
            self._column.append(found.value)

    def check(self) -> None:
        """Raise ValueError for trees of more levels than the library, which calls itself, has room for."""
        if self._node is None:
            return
        expect(b"tree_roots" not in self._columns, "trees by their nodes, as up to version 4 of ai.onnx.ml")
        names = b"treeids nodeids modes truenodeids falsenodeids".split()
        columns = [self._columns.get(b"nodes_" + name, array("Q")) for name in names]
        expect(len({*map(len, columns)}) == 1, "as many trees, nodes and modes as nodes that follow")
        _require_levels(*columns)


def _require_levels(trees: Any, nodes: Any, are_leaves: Any, *others: Any) -> None:
    import numpy

    count = len(nodes)
    _, first, tree = numpy.unique(trees, return_index=True, return_inverse=True)
    _, number = numpy.unique(numpy.concatenate([nodes, *others]), return_inverse=True)
    own, *after = (tree * (3 * count) + part for part in numpy.split(number, 3))
    order = numpy.argsort(own)
    level, depth, met = first, 0, 0
    while level.size:
        depth, met = depth + 1, met + level.size
        expect(depth <= MAX_TREE_DEPTH, f"trees of at most {MAX_TREE_DEPTH} levels")
        expect(met <= count, "each node of a tree met once")
        level = level[numpy.asarray(are_leaves)[level] == 0]
        wanted = numpy.concatenate([side[level] for side in after])
        found = order[numpy.searchsorted(own, wanted, sorter=order).clip(max=count - 1)]
        level = found[own[found] == wanted]


def _varints(data: memoryview) -> Iterator[int]:
    at = 0
    while at < len(data):
        number, at = varint(data, at)
        yield number


def _check_text(value: Any, names: Sequence[bytes], *, allowed: bool) -> None:
    expect(type(value) is memoryview and len(value) <= 1 << 10, "a short text")
    known = bytes(value) in names
    expect(known is allowed, f"{'one' if allowed else 'none'} of {[name.decode() for name in names]}")


def _numbers(value: Any) -> list[int]:
    if type(value) is int:
        return [value]
    found = []
    for number in _varints(value):
        found.append(number)
        expect(len(found) <= _RANK, f"at most {_RANK} dimensions")
    return found


def _bytes_of_array(name: str, sizes: Sequence[int]) -> int:
    """Return how many bytes an array takes, a sparse one when it is dense; its values may not be there."""
    inside = len(sizes) <= _RANK and all(0 <= one < 1 << 40 for one in sizes)
    expect(inside, "sizes from 0 to 2**40", str(sizes[:8])[:80])
    return math.prod(sizes) * _BYTES[name]


CODECS: Final = (OnnxSessionCodec(),)

LIBRARY: Final = Library("onnxruntime", "onnxruntime", codecs=CODECS)
