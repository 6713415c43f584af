"""A codec for sessions of onnxruntime: the bytes of the model, walked before the library reads them.

A model is a graph of operations on arrays. One that reads other files, that asks for operations of other
libraries, or whose arrays are not as long as their shapes say is refused. Nothing of the graph is computed
while a session is made: constants are folded by onnxruntime elsewhere, and not here.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from typing import Any, Final

from .base import CannotStore, Child, Codec, Decoding, Encoding, Node, expect
from .payloads import expect_payload, payload, view_of
from .wire_format import Message, varint, walk

_CPU: Final = "CPUExecutionProvider"
_PROVIDERS: Final = 16
_DOMAINS: Final = (b"", b"ai.onnx", b"ai.onnx.ml", b"com.microsoft")
_FOREIGN: Final = (b"EPContext",)
_BITS: Final = {
    1: 32, 2: 8, 3: 8, 4: 16, 5: 16, 6: 32, 7: 64, 9: 8, 10: 16, 11: 64, 12: 32, 13: 64, 14: 64, 15: 128, 16:
    16, 17: 8, 18: 8, 19: 8, 20: 8, 21: 4, 22: 4, 23: 4,
}  # fmt: skip
"""The bits of an element of each dtype of ONNX; texts (8) have none."""

_TENSOR: Final = Message(
    named={
        1: "dims", 2: "dtype", 4: "float_data", 5: "int32_data", 6: "string_data", 7: "int64_data", 9: "raw",
        10: "double_data", 11: "uint64_data", 13: "external", 14: "location",
    }
)  # fmt: skip
_SPARSE: Final = Message(inside={1: _TENSOR, 2: _TENSOR})
_NODE_NAMES: Final = {4: "op", 7: "domain"}
_SCALARS: Final = ("dims", "dtype", "location")


def _graph(depth: int) -> Message:
    """Return a graph, whose nodes hold graphs, so many deep."""
    attribute = {5: _TENSOR, 10: _TENSOR, 22: _SPARSE, 23: _SPARSE}
    if depth:
        inner = _graph(depth - 1)
        attribute |= {6: inner, 11: inner}
    node = Message(inside={5: Message(inside=attribute)}, named=_NODE_NAMES)
    return Message(inside={1: node, 5: _TENSOR, 15: _SPARSE})


_DEEPEST: Final = 8
_FUNCTION: Final = Message(
    inside={7: Message(inside={5: Message(inside={5: _TENSOR, 10: _TENSOR})}, named=_NODE_NAMES)}
)
_MODEL: Final = Message(
    inside={
        7: _graph(_DEEPEST),
        8: Message(named={1: "domain"}),
        20: Message(named={1: "op"}),
        25: _FUNCTION,
    },
    named={1: "version"},
)


class OnnxSessionCodec(Codec):
    """Sessions: the providers that they had, and the model. They are made again on the processor."""

    name = "onnxruntime.session"
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
                f"its model would not be read again: {error}",
                "save it as one file: onnx.save(onnx.load(path), path, save_as_external_data=False)",
            ) from error
        if getattr(obj, "_sess_options_initial", None) is not None:
            context.warn(
                "the options of an onnxruntime session are not stored; it is made again with its own"
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
            raise ValueError(f"onnxruntime does not take the model: {error}") from error


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
            f"an onnxruntime session whose model is not here any more: {error}",
            "make the session from bytes, which it keeps",
        ) from error


def check_model(data: memoryview) -> None:
    """Raise ValueError unless bytes are a model that is whole in itself, and asks for nothing else."""
    tensor: dict[str, Any] = {}
    version = 0
    for found in walk(data, _MODEL):
        if found.name is None:
            _check_tensor(tensor)
            tensor = {}
        elif found.name == "version":
            version = found.value
        elif found.name == "op":
            _check_text(found.value, _FOREIGN, allowed=False)
        elif found.name == "domain":
            _check_text(found.value, _DOMAINS, allowed=True)
        else:
            _note(tensor, found.name, found.value)
    _check_tensor(tensor)
    expect(type(version) is int and 0 < version < 1 << 16, "a model of ONNX")


def _check_text(value: Any, names: Sequence[bytes], *, allowed: bool) -> None:
    expect(type(value) is memoryview and len(value) <= 1 << 10, "a short text")
    known = bytes(value) in names
    expect(known is allowed, f"{'one' if allowed else 'none'} of {[name.decode() for name in names]}")


def _note(tensor: dict[str, Any], name: str, value: Any) -> None:
    """Remember a field of the tensor that is walked: its numbers, and how many values lie in it."""
    expect(name != "external" and not (name == "location" and value), "no values in other files")
    if name == "dims":
        tensor.setdefault("dims", []).extend(_numbers(value))
    elif name in _SCALARS:
        tensor[name] = value
    elif name == "raw":
        expect(type(value) is memoryview, "bytes as values")
        tensor["raw"] = len(value)
    else:
        tensor["given"] = True


def _numbers(value: Any) -> list[int]:
    if type(value) is int:
        return [value]
    found, at = [], 0
    while at < len(value):
        number, at = varint(value, at)
        found.append(number)
        expect(len(found) <= 64, "at most 64 dimensions")
    return found


def _check_tensor(tensor: dict[str, Any]) -> None:
    """Raise ValueError unless the values of a tensor are as many as its shape says."""
    if not tensor:
        return
    dims = tensor.get("dims", [])
    inside = len(dims) <= 64 and all(0 <= one < 1 << 40 for one in dims)
    expect(inside, "sizes from 0 to 2**40", str(dims)[:80])
    if "raw" in tensor:
        bits = _BITS.get(tensor.get("dtype", 0), 0)
        expect(bits > 0, "a dtype of numbers", tensor.get("dtype"))
        wanted = (math.prod(dims) * bits + 7) // 8
        expect(tensor["raw"] == wanted, f"values of {wanted} bytes", tensor["raw"])


CODECS: Final = (OnnxSessionCodec(),)
