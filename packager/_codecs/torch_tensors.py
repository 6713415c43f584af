"""Codecs for the tensors of PyTorch that lie in strided memory, also those of a class of their own.

A tensor is a strided view of memory, the device it was on, whether it requires a gradient, and its
Python attributes. `.grad`, hooks on tensors and version counters are not stored.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, Final

from packager._quick_dataclasses import dataclass, field
from packager._tensors import DTYPES, ITEMSIZE, WORDS
from packager.errors import ArgumentError, DeviceNotHereError

from .base import (
    CannotStore,
    Child,
    Codec,
    Decoding,
    Encoding,
    LiteralValue,
    Node,
    StoredTensor,
    TensorData,
    expect,
    expect_class,
    expect_sizes,
    expect_tensor,
    shares_methods,
)
from .frameworks import EmptySlots, Saved, require_leaf
from .torch_layouts import LAYOUTS, STRIDED

_DTYPES: Final = {dtype.name: dtype for dtype in DTYPES.values() if dtype.in_torch}
_JAGGED: Final = "torch.nested._internal.nested_tensor:NestedTensor"
_BY_LAYOUT: Final[dict[str, Codec]] = {layout: codec for codec in LAYOUTS for layout in codec.layouts}
_KINDS: Final = ("Tensor", "Parameter")
_CONJ: Final = ("complex32", "complex64", "complex128")
_MARKS: Final = (["conj"], ["neg"], ["conj", "neg"])


@dataclass(slots=True, eq=False)
class _Saving:
    """What codecs of tensors keep in mind while one thing is stored.

    `copies` are those of what is not in the memory of this process, by storage. `shown` are the tensors of
    state dicts: the bytes that each spans, by storage, and with which signs it shows them.
    """

    copies: dict[int, Any] = field(default_factory=dict)
    shown: dict[int, list[tuple[int, int, tuple[bool, bool]]]] = field(default_factory=dict)


@dataclass(slots=True, eq=False)
class _Loading:
    """One storage of torch for each storage of the archive and device, so that ties stay ties."""

    storages: dict[tuple[int, str], Any] = field(default_factory=dict)
    buffers: list[Any] = field(default_factory=list)


class TensorCodec(Codec):
    """Tensors and parameters with strided memory.

    The literal is [kind, dtype, device, requires_grad], for a tensor without values (a slot whose values
    a hook replaced, or the device "meta") also "empty" and the shape, and for one that shows its memory
    conjugated or negated also "conj", "neg" or both: what shares the memory stays tied to it.
    """

    name = STRIDED
    is_data = "tensors"
    types = ("torch:Tensor",)
    takes_attributes = True

    def claims(self, cls: type) -> bool:
        import torch

        # The class of jagged ones is claimed to be refused by name: torch takes it apart into its caches.
        return cls in (torch.Tensor, torch.nn.Parameter) or f"{cls.__module__}:{cls.__qualname__}" == _JAGGED

    def variant(self, obj: Any) -> Codec:
        layout = "quantized" if obj.is_quantized else str(obj.layout).removeprefix("torch.")
        return _BY_LAYOUT.get(layout, self)

    def encode(self, obj: Any, context: Encoding) -> Node:
        """Return the memory of a tensor. Raises CannotStore for graphs, other layouts and unknown dtypes."""
        import torch

        require_leaf(obj, context)
        if obj.is_nested:
            raise CannotStore("a nested tensor", "store the tensors in it: tensor.unbind()")
        if obj.layout is not torch.strided:
            raise CannotStore(f"a tensor with layout {obj.layout}", "store tensor.to_dense()")
        name = str(obj.dtype).removeprefix("torch.")
        if name not in _DTYPES:
            raise CannotStore(f"a tensor of {obj.dtype}", "convert it to another dtype")
        kind = type(obj).__name__
        literal: list[Any] = [kind, name, str(obj.device), bool(obj.requires_grad)]
        attributes = dict(vars(obj))
        if id(obj) in context.shared_state(Saved).dropped or obj.is_meta:
            return Node([*literal, "empty", *obj.shape], attributes=attributes)
        return Node([*literal, *_marks(obj)], (tensor_data(obj, name, context),), attributes=attributes)

    def check(self, literal: Any, children: Sequence[Child], version: int) -> None:
        expect(isinstance(literal, list) and len(literal) >= 4, "kind, dtype, device, requires_grad")
        kind, name, device, requires_grad, *rest = literal
        expect(kind in _KINDS and isinstance(name, str) and name in _DTYPES, "a kind of tensor and a dtype")
        expect(isinstance(device, str) and device.replace(":", "_").isidentifier(), "a device")
        expect(type(requires_grad) is bool, "requires_grad")
        if rest and rest not in _MARKS:
            expect(rest[0] == "empty" and not children, "no values")
            expect_sizes(rest[1:])
            return
        expect("conj" not in rest or name in _CONJ, "complex numbers")
        expect(len(children) == 1, "memory")
        _check_memory(children[0], str(name))

    def decode(self, literal: Any, children: Sequence[Any], version: int, context: Decoding) -> Any:
        import torch

        kind, name, device, requires_grad, *rest = literal
        empty = rest[:1] == ["empty"]
        location = context.map_location
        if empty and device == "meta":
            tensor = torch.empty(tuple(rest[1:]), dtype=_dtype(name), device=device)
        elif empty:
            # One element, however many the shape has: the values come with the state.
            target = place_of(device, location)
            tensor = torch.zeros((), dtype=_dtype(name), device=target).expand(tuple(rest[1:]))
        else:
            loading = context.shared_state(_Loading)
            tensor = _shown(tensor_from(children[0], name, device, loading, location), rest)
        if kind == "Parameter":
            made = torch.nn.Parameter(tensor, requires_grad)
        else:
            made = tensor.requires_grad_(requires_grad)
        if empty and device != "meta":
            context.shared_state(EmptySlots).tensors[id(made)] = made
        return made


def memory_key(tensor: Any) -> Hashable:
    """Return address, dtype, shape, strides and signs; the id of a tensor that has no memory."""
    import torch

    if (
        torch.nn.parameter.is_lazy(tensor)
        or tensor.layout is not torch.strided
        or tensor.is_meta
        or type(tensor).__torch_dispatch__ is not torch.Tensor.__torch_dispatch__
    ):
        return id(tensor)
    return (
        tensor.data_ptr(),
        tensor.dtype,
        tuple(tensor.shape),
        tensor.stride(),
        str(tensor.device),
        tensor.is_conj(),
        tensor.is_neg(),
    )


def tensor_data(tensor: Any, name: str, context: Encoding) -> TensorData:
    """Return the memory of a strided tensor, whatever signs it is shown with.

    What lies on another device is copied, a storage at a time.
    """
    tensor = tensor.detach()
    if tensor.device.type != "cpu":
        tensor = _on_cpu(tensor, context.shared_state(_Saving))
    dtype, shape, strides = _DTYPES[name], tuple(tensor.shape), tuple(tensor.stride())
    if dtype.word:
        return TensorData(dtype.word, shape, strides, tensor.data_ptr(), tensor)
    row = dtype.itemsize
    return TensorData(
        "U8", (*shape, row), (*(stride * row for stride in strides), 1), tensor.data_ptr(), tensor
    )


def tensor_from(
    stored: StoredTensor, name: str, device: str, loading: _Loading, map_location: object = None
) -> Any:
    """Return the tensor in stored memory: a view of it on the CPU, a copy on another device.

    `device` is where it was saved; `map_location` may say otherwise, as in `torch.load`.
    """
    import torch

    row = _row(name)
    shape = stored.shape if row is None else stored.shape[:-1]
    if 0 in stored.shape:
        return torch.empty(shape, dtype=_dtype(name), device=place_of(device, map_location))
    storage = _storage(stored.buffer, device, loading, map_location)
    size = ITEMSIZE[stored.dtype] if row is None else row
    strides = stored.strides if row is None else tuple(stride // row for stride in stored.strides[:-1])
    return torch.empty(0, dtype=_dtype(name), device=storage.device).set_(
        storage, stored.offset // size, shape, strides
    )


def plain_data(value: Any, context: Encoding) -> tuple[TensorData, str | None] | None:
    """Return a tensor as a state dict holds it, and the name of a dtype that safetensors has no word for.

    Raises CannotStore for a view with turned signs that torch cannot make plain.
    """
    name = _plain_dtype(value)
    if name is None:
        return None
    _say_which_ties_are_lost(value, context)
    try:
        resolved = value.detach().resolve_conj().resolve_neg()
    except NotImplementedError:
        raise CannotStore(
            f"a conjugated or negated view of {value.dtype}, which torch cannot resolve",
            "store the base of the view",
        ) from None
    dtype = _DTYPES[name]
    return tensor_data(resolved, name, context), (None if dtype.word else dtype.spelling)


def plain_memory(value: object, context: Encoding) -> TensorData | None:
    """Return the memory of a tensor that a state dict could hold, as it is; None for others."""
    name = _plain_dtype(value)
    return None if name is None else tensor_data(value, name, context)


def _plain_dtype(value: Any) -> str | None:
    """Return the dtype of a tensor that is nothing but strided values which a state dict has a place for."""
    import torch

    if type(value) not in (torch.Tensor, torch.nn.Parameter) or vars(value):
        return None
    name = str(value.dtype).removeprefix("torch.")
    if value.layout is not torch.strided or value.is_meta or value.is_nested or name not in _DTYPES:
        return None
    return None if not _DTYPES[name].in_numpy else name


def tensor_of(
    stored: StoredTensor, raw: str | None, map_location: object, made_of: dict[Any, Any] | None = None
) -> Any:
    """Return the tensor of a state dict in stored memory; its storages stay in `made_of` for the next one.

    Raises ValueError where torch does not have the dtype, or the device is not here.
    """
    loading = None if made_of is None else made_of.get(_Loading)
    if loading is None:
        loading = _Loading()
        if made_of is not None:
            loading = made_of.setdefault(_Loading, loading)
    name = WORDS[stored.dtype].name if raw is None else _name_of_rows(raw)
    return tensor_from(stored, name, "cpu", loading, map_location)


def _name_of_rows(raw: str) -> str:
    """Return the name of a dtype that safetensors has no word for. Raises ValueError where torch has none."""
    for name, known in _DTYPES.items():
        if known.spelling == raw and known.in_numpy and not known.word:
            return name
    raise ValueError(f"torch has no dtype for {raw!r}; read it with as_='numpy'")


def _row(name: str) -> int | None:
    """Return how many bytes stand for one element, where safetensors has no word for the dtype."""
    dtype = _DTYPES[name]
    return None if dtype.word else dtype.itemsize


def _marks(tensor: Any) -> list[str]:
    return ["conj"] * tensor.is_conj() + ["neg"] * tensor.is_neg()


def _shown(tensor: Any, marks: Sequence[str]) -> Any:
    """Return the view of a tensor that shows its memory with these signs."""
    import torch

    if "conj" in marks:
        tensor = tensor.conj()
    return torch._neg_view(tensor) if "neg" in marks else tensor


def _say_which_ties_are_lost(tensor: Any, context: Encoding) -> None:
    """Warn of a tensor of a state dict over memory that another shows with other signs: values have one."""
    if not tensor.numel():
        return
    signs = tensor.is_conj(), tensor.is_neg()
    reach = sum((n - 1) * step for n, step in zip(tensor.shape, tensor.stride(), strict=True)) + 1
    start = tensor.data_ptr()
    stop = start + reach * tensor.element_size()
    known = context.shared_state(_Saving).shown.setdefault(tensor.untyped_storage().data_ptr(), [])
    if any(other != signs and low < stop and start < high for low, high, other in known):
        context.warn(
            "it shares memory with a conjugated or negated view; in a state dict both have their own values, "
            "and are no longer tied"
        )
    known.append((start, stop, signs))


def _storage(buffer: memoryview, device: str, loading: _Loading, map_location: Any) -> Any:
    import torch

    key = (id(buffer), device)
    if key not in loading.storages:
        # Torch warns of memory that cannot be written to, because it may be written to nonetheless.
        writable = bytearray(buffer) if buffer.readonly else buffer
        flat = torch.frombuffer(writable, dtype=torch.uint8)
        loading.storages[key] = placed(flat.untyped_storage(), device, map_location)
        loading.buffers.append(buffer)
    return loading.storages[key]


def _on_cpu(tensor: Any, saving: _Saving) -> Any:
    """Return the same view of a copy of the whole storage, made once, so that ties stay ties."""
    import torch

    storage = tensor.untyped_storage()
    key = storage.data_ptr()
    if key not in saving.copies:
        flat = torch.empty(0, dtype=torch.uint8, device=tensor.device).set_(storage)
        saving.copies[key] = (flat.cpu(), storage)
    copied = saving.copies[key][0].untyped_storage()
    return torch.empty(0, dtype=tensor.dtype).set_(
        copied, tensor.storage_offset(), tensor.shape, tensor.stride()
    )


def _check_memory(child: Child, name: str) -> None:
    row = _row(name)
    dtype, shape = expect_tensor(child, _DTYPES[name].word or "U8")
    strides, offset = child.value[2:]
    expect(
        offset % (ITEMSIZE[dtype] if row is None else row) == 0, "memory at a multiple of the element's size"
    )
    expect(strides is None or all(stride >= 0 for stride in strides), "strides that are not negative")
    if row is not None:
        expect(bool(shape) and shape[-1] == row, f"rows of {row} bytes")
        expect(strides is None or (strides[-1] == 1 and not any(s % row for s in strides[:-1])), "whole rows")


class TensorSubclassCodec(Codec):
    """Tensors and parameters of a class of their own: the class, the plain tensor, the attributes."""

    name = "torch.subclass"
    types = ("torch:Tensor",)
    takes_attributes = True
    creates = True

    def claims(self, cls: type) -> bool:
        import torch

        base = torch.nn.Parameter if issubclass(cls, torch.nn.Parameter) else torch.Tensor
        plain = cls is base or cls.__module__.startswith("torch.")
        return not plain and shares_methods(cls, base, "__reduce_ex__", "__torch_dispatch__")

    def encode(self, obj: Any, context: Encoding) -> Node:
        import torch

        plain = obj.detach().as_subclass(torch.Tensor)
        return Node(bool(obj.requires_grad), (type(obj), plain), attributes=dict(vars(obj)))

    def check(self, literal: LiteralValue, children: Sequence[Child], version: int) -> None:
        expect(
            type(literal) is bool and len(children) == 2 and children[0].kind == "global",
            "a class and a tensor",
        )
        expect(children[1].codec == TensorCodec.name, "a class and a tensor")

    def decode(self, literal: Any, children: Sequence[Any], version: int, context: Decoding) -> Any:
        import torch

        cls, plain = children
        expect_class(cls, torch.Tensor, "a class of tensors")
        return plain.as_subclass(cls).requires_grad_(literal)


def _dtype(name: str) -> Any:
    import torch

    dtype = getattr(torch, name, None)
    if dtype is None:
        raise ValueError(f"torch {torch.__version__} has no dtype {name}")
    return dtype


# --- where tensors are put: `map_location`, as `torch.load` has it ---


def placed(storage: object, location: str, map_location: object) -> Any:
    """Return a storage on the CPU where `map_location` says, from the device that it was saved on.

    What a device is called, and what puts a storage there, is PyTorch's own registry, so that its answers are
    PyTorch's: also for a device that is not here.

    Raises DeviceNotHereError where PyTorch cannot put it there, ArgumentError where a function answers with
    something else than a storage or None.

    Source: torch.load. There a `map_location` of another kind fails when it is called.
    """
    if callable(map_location):
        answer = map_location(storage, location)
        if answer is not None:
            return _untyped(answer)
    elif map_location is not None:
        location = str(
            map_location.get(location, location) if isinstance(map_location, Mapping) else map_location
        )
    return storage if location == "cpu" else _restored(storage, location)


def place_of(location: str, map_location: object) -> str:
    """Return where `placed` puts a storage: for tensors that have no memory."""
    if location == "cpu" and map_location is None:
        return location
    import torch

    nothing = torch.empty(0, dtype=torch.uint8).untyped_storage()
    return str(placed(nothing, location, map_location).device)


def _restored(storage: Any, location: str) -> Any:
    from torch.serialization import default_restore_location

    try:
        return default_restore_location(storage, location)
    except (RuntimeError, AssertionError, ValueError) as error:
        raise DeviceNotHereError(
            f"tensors are on the device {location!r}, which is missing here ({error}); "
            "pass map_location='cpu'"
        ) from error


def _untyped(answer: Any) -> Any:
    """Return the storage that a function gave, of either kind. Raises ArgumentError for what is none."""
    import torch

    if isinstance(answer, torch.storage.TypedStorage):
        return answer.untyped()
    if not isinstance(answer, torch.UntypedStorage):
        raise ArgumentError(
            f"the function of map_location returned {type(answer).__name__}; expected a storage, or None"
        )
    return answer
