"""A codec for inspectors of PyTorch Geometric, which every convolution has, and its `__setstate__`.

An inspector remembers what the methods of its class take: types, and how these are written. From such texts
PyTorch Geometric writes a module of Python and runs it, when a convolution is made and when it takes up a
state. So none of them is stored: the class is named, and asked again for what its methods take. Convolutions
are given attributes by the codec of modules, and their own `__setstate__` is not called: without the module
that it writes, they compute in the same way.
"""

from __future__ import annotations

import inspect
import sys
from collections import OrderedDict
from collections.abc import Sequence
from importlib import import_module
from types import FunctionType
from typing import Any, Final

from packager._audit import Row, Rows
from packager._codecs import CannotStore, Library, Node, PartsCodec, expect
from packager._libraries.families import MODULE, listed
from packager._quick_dataclasses import replace

_METHODS: Final = frozenset(
    "message aggregate message_and_aggregate update edge_update explain_message".split()
)
_INSTEAD: Final = (
    "let a function make the object: exporter.save_object(..., factory=function, config={})",
    "save its state dict: exporter.save_state_dict(package, resource, model)",
)


def _looked_at(obj: Any) -> Node:
    """Return the names of methods and parameters. Raises CannotStore for what the class does not say."""
    found = [" ".join([name, *signature.param_dict]) for name, signature in obj._signature_dict.items()]
    try:
        again = _inspected(obj._cls, found)
    except Exception as error:
        raise CannotStore(f"an inspector of PyTorch Geometric: {error}", *_INSTEAD) from error
    if again._signature_dict != obj._signature_dict:
        raise CannotStore(
            f"an inspector of PyTorch Geometric that differs from {obj._cls.__qualname__}",
            *_INSTEAD,
        )
    return Node([*found], (obj._cls,))


def _are_methods(literal: Any) -> bool:
    texts = isinstance(literal, list) and all(type(text) is str for text in literal)
    expect(texts, "names of methods, each followed by those of parameters")
    names = [text.partition(" ")[0] for text in literal]
    once = _METHODS.issuperset(names) and len(set(names)) == len(names)
    expect(once, "methods of a convolution, each once")
    return True


def _inspected(cls: Any, found: Sequence[str]) -> Any:
    """Return an inspector that knows these methods of a class, by what the class says itself."""
    made = object.__new__(import_module("torch_geometric.inspector").Inspector)
    made._cls, made._signature_dict, made._source_dict = cls, {}, {}
    scope = _scope_of(cls)
    for text in found:
        name, *parameters = text.split(" ")
        made._signature_dict[name] = _signature(cls, name, parameters, scope)
    return made


def _signature(cls: Any, method: str, parameters: Sequence[str], scope: dict[str, Any]) -> Any:
    """Return what `Inspector.inspect_signature` finds, of the parameters that are named."""
    import torch

    geometric = import_module("torch_geometric.inspector")
    function = next((vars(base)[method] for base in cls.__mro__ if method in vars(base)), None)
    expect(
        isinstance(function, FunctionType), f"a class with a method {method}", getattr(cls, "__name__", "?")
    )
    said = inspect.signature(function)  # type: ignore[arg-type]  # a function, as was looked at
    expect(said.parameters.keys() >= set(parameters), f"parameters of {method}", ", ".join(parameters))

    def known(annotation: Any) -> Any:
        return torch.Tensor if annotation is inspect.Parameter.empty else annotation

    found = {}
    for name in parameters:
        annotation = known(said.parameters[name].annotation)
        found[name] = geometric.Parameter(
            name=name,
            type=geometric.eval_type(annotation, scope),
            type_repr=geometric.type_repr(annotation, scope),
            default=said.parameters[name].default,
        )
    answer = known(said.return_annotation)
    return geometric.Signature(found, geometric.eval_type(answer, scope), geometric.type_repr(answer, scope))


def _scope_of(cls: Any) -> dict[str, Any]:
    """Return the names that annotations of a class and its bases are written with, as the library does."""
    found: dict[str, Any] = {}
    for base in cls.__bases__:
        if f"{base.__module__}:{base.__qualname__}" not in _BASES:
            found.update(_scope_of(base))
    home = sys.modules.get(cls.__module__)
    if home is None:  # a stored module
        functions = (value for value in vars(cls).values() if isinstance(value, FunctionType))
        return found | getattr(next(functions, None), "__globals__", {})
    return found | vars(home)


_BASES: Final = frozenset(
    {
        "builtins:object",
        "torch.nn.modules.module:Module",
        "torch_geometric.nn.conv.message_passing:MessagePassing",
    }
)


def _check_no_hooks(module: Any) -> None:
    """Raise ValueError for hooks that PyTorch Geometric keeps in tables of its own, and calls."""
    for name, table in vars(module).items():
        if name.endswith("_hooks") and (type(table) not in (dict, OrderedDict) or table):
            raise ValueError(
                f"{name} of {type(module).__qualname__} has hooks, which data alone must not have"
            )


CODECS: Final = (
    # The methods that were looked at, each with the parameters that count; and the class, to be asked again.
    PartsCodec("torch_geometric.inspector", ("torch_geometric.inspector:Inspector",), "global", "a class",
          _looked_at, lambda found, cls: _inspected(cls, found), _are_methods, creates=True),
)  # fmt: skip

LIBRARY: Final = Library(
    "torch_geometric",
    "torch-geometric",
    codecs=CODECS,
    rows=Rows(
        (replace(MODULE, complete=_check_no_hooks), listed("torch_geometric")),
        # It writes a module of Python from what an attribute says, and runs it: attributes are set instead.
        (
            Row(uses="only attributes"),
            {"torch_geometric.nn.conv.message_passing": "MessagePassing.__setstate__"},
        ),
    ),
)
