"""Codecs for what annotations are made of: `int | None`, `Optional[int]`, `Callable[[int], str]`; signatures.

Libraries keep these as attributes: a convolution of PyTorch Geometric has the signatures of its methods.
Python would make them again through `operator.getitem` and `functools.reduce`, which no archive names.
"""

from __future__ import annotations

import inspect
import keyword
import operator
import types
import typing
from collections import abc
from collections.abc import Sequence
from functools import reduce
from typing import Any, Final

from .base import CannotStore, Child, Codec, Decoding, Encoding, LiteralValue, Node, expect

_WITH_ARGUMENTS: Final = frozenset(
    """
    AbstractSet AsyncGenerator AsyncIterable AsyncIterator Awaitable ChainMap ClassVar Collection Container
    Coroutine Counter DefaultDict Deque Dict Final FrozenSet Generator ItemsView Iterable Iterator KeysView
    List Mapping MutableMapping MutableSequence MutableSet OrderedDict Reversible Sequence Set Tuple Type
    Union ValuesView Optional
    """.split()
)
_BARE: Final = _WITH_ARGUMENTS | {
    "Callable",
    "Hashable",
    "LiteralString",
    "Literal",
    "Never",
    "NoReturn",
    "Self",
    "Sized",
}
_PIPE, _CALLABLE, _ABC_CALLABLE = "|", "Callable", "collections.abc.Callable"
_CLASS: Final = "[]"
"""The word of a generic class with its arguments, `Box[int]`; the class is the first of the children."""
_KINDS: Final = len(inspect._ParameterKind)
_PARAMETER, _SIGNATURE = "parameter", "signature"


class TypingCodec(Codec):
    """Forms of `typing`, and unions of types: the name of the form, and its arguments."""

    name = "typing.form"
    is_data = "plain"
    types = (
        "types:UnionType",
        "annotationlib:ForwardRef",  # since Python 3.14
        "collections.abc:_CallableGenericAlias",
        *(
            f"typing:{name}"
            for name in """
                _SpecialForm _GenericAlias _UnionGenericAlias _LiteralGenericAlias _CallableGenericAlias
                _SpecialGenericAlias _CallableType _TupleType _AnnotatedAlias ForwardRef Union
            """.split()
        ),
    )

    def encode(self, obj: Any, context: Encoding) -> Node:
        """Return the form and its arguments. Raises CannotStore for one that is not in the list."""
        word, args = _taken_apart(obj)
        try:
            key = (word, tuple((type(arg), arg) for arg in args))
            hash(key)
        except TypeError:
            return Node(word, args)
        return Node(word, args, key=key)

    def check(self, literal: LiteralValue, children: Sequence[Child], version: int) -> None:
        known = literal in (_PIPE, _ABC_CALLABLE, _CLASS) or (type(literal) is str and literal in _BARE)
        expect(known, "the name of a form of typing")
        if not children:
            expect(literal not in (_PIPE, _ABC_CALLABLE, _CLASS), "arguments")
        if literal == _CLASS:
            is_class = children[0].kind == "global" and len(children) > 1
            expect(is_class, "a class, and its arguments", children[0].codec or children[0].kind)
        for child in children:
            if literal == "Literal":
                fit = child.kind == "scalar" or child.codec == "enum"
            else:
                fit = child.kind in ("global", "object") or child.codec in (self.name, "singleton")
                fit = fit or (child.kind == "scalar" and child.value is None)
            expect(fit, "types as the arguments of a form of typing", child.codec or child.kind)

    def decode(self, literal: Any, children: Sequence[Any], version: int, context: Decoding) -> Any:
        """Build the form. Raises ValueError for arguments that are no types."""
        if literal == "Literal":
            return typing.Literal[tuple(children)] if children else typing.Literal
        for child in children:
            expect(_is_type(child), "types as the arguments of a form of typing", type(child).__qualname__)
        if not children:
            return getattr(typing, literal)
        if literal == _CLASS:
            origin, *args = children
            expect(isinstance(origin, type), "a class, and its arguments", type(origin).__qualname__)
            # Its `__class_getitem__` would run code that the data names.
            return typing._GenericAlias(origin, tuple(args))  # type: ignore[attr-defined]  # typeshed hides it
        if literal == _PIPE:
            return reduce(operator.or_, children)
        if literal in (_CALLABLE, _ABC_CALLABLE):
            *parameters, returned = children
            taken: Any = ... if parameters == [...] else parameters
            return (typing.Callable if literal == _CALLABLE else abc.Callable)[taken, returned]
        return getattr(typing, literal)[children[0] if len(children) == 1 else tuple(children)]


def _is_type(value: Any) -> bool:
    if value is None or value is ...:
        return True
    return (
        isinstance(value, type | types.GenericAlias | types.UnionType) or type(value).__module__ == "typing"
    )


def _taken_apart(obj: Any) -> tuple[str, tuple[Any, ...]]:
    """The name of a form and its arguments; raise CannotStore for a form that has no codec."""
    origin, args = typing.get_origin(obj), typing.get_args(obj)
    if isinstance(obj, typing.ForwardRef):
        raise CannotStore(f"{obj!r}, a class as a text", "use the class itself")
    if type(obj) is types.UnionType:
        return _PIPE, args
    if origin is typing.Union:
        return "Union", args
    if origin is typing.Literal:
        return "Literal", args
    if origin is abc.Callable and args:
        taken, returned = args
        word = _CALLABLE if type(obj).__module__ == "typing" else _ABC_CALLABLE
        return word, (*(taken if isinstance(taken, list) else [taken]), returned)
    form = origin if isinstance(origin, typing._SpecialForm) else obj
    name = getattr(form, "_name", None)
    if name in (_WITH_ARGUMENTS if args else _BARE) and (args or obj is getattr(typing, name, None)):
        return name, args
    if _is_generic_class(obj, origin, args):
        return _CLASS, (origin, *args)
    raise CannotStore(
        f"{obj!r}, a form of typing that cannot be stored",
        "store its arguments, and make it where it is used",
    )


def _is_generic_class(obj: Any, origin: Any, args: Sequence[Any]) -> bool:
    """Say whether a form is what `typing.Generic` makes of a class and its arguments, all of them types."""
    is_plain = type(obj) is typing._GenericAlias and getattr(obj, "_name", None) is None  # type: ignore[attr-defined]  # typeshed hides it
    return is_plain and isinstance(origin, type) and bool(args) and all(map(_is_type, args))


class SignatureCodec(Codec):
    """Signatures, and their parameters: names, kinds, defaults and annotations."""

    name = "inspect.signature"
    is_data = "plain"
    types = ("inspect:Signature", "inspect:Parameter")

    def encode(self, obj: inspect.Signature | inspect.Parameter, context: Encoding) -> Node:
        """Return what it is made of. Raises CannotStore for a parameter of a comprehension."""
        if isinstance(obj, inspect.Parameter):
            if not _is_parameter_name(obj.name):
                raise CannotStore(f"a parameter {obj.name!r}, an invalid name", "leave it out")
            return Node([_PARAMETER, obj.name, int(obj.kind)], (obj.default, obj.annotation))
        return Node(
            [_SIGNATURE, None, len(obj.parameters)], (obj.return_annotation, *obj.parameters.values())
        )

    def check(self, literal: Any, children: Sequence[Child], version: int) -> None:
        expect(isinstance(literal, list) and len(literal) == 3, "a signature or a parameter")
        what, name, number = literal
        expect(what in (_PARAMETER, _SIGNATURE) and type(number) is int, "a signature or a parameter")
        if what == _PARAMETER:
            expect(_is_parameter_name(name), "the name of a parameter")
            expect(0 <= number < _KINDS and len(children) == 2, "a kind, a default and an annotation")
            return
        expect(name is None and len(children) == number + 1, "what is returned, and parameters")
        for child in children[1:]:
            expect(child.codec == self.name, "parameters", child.codec or child.kind)

    def decode(self, literal: Any, children: Sequence[Any], version: int, context: Decoding) -> Any:
        """Build a signature. Raises ValueError where its parameters cannot follow each other."""
        what, name, number = literal
        if what == _PARAMETER:
            default, annotation = children
            kind = inspect._ParameterKind(number)
            expect(
                kind not in _VARIABLE or default is _EMPTY, "no default of a parameter that takes all others"
            )
            return inspect.Parameter(name, kind, default=default, annotation=annotation)
        returned, *parameters = children
        _require_order(parameters)
        return inspect.Signature(parameters, return_annotation=returned)


_EMPTY: Final = inspect.Parameter.empty
_VARIABLE: Final = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


def _is_parameter_name(name: object) -> bool:
    return type(name) is str and name.isidentifier() and not keyword.iskeyword(name)


def _require_order(parameters: Sequence[Any]) -> None:
    """Raise ValueError for what Python would complain of, in a text that it makes of what it is given."""
    expect(all(type(one) is inspect.Parameter for one in parameters), "parameters")
    kinds = [int(one.kind) for one in parameters]
    expect(kinds == sorted(kinds), "parameters in the order of their kinds")
    expect(len({one.name for one in parameters}) == len(parameters), "each parameter once")
    for kind in _VARIABLE:
        expect(kinds.count(int(kind)) < 2, "one parameter that takes all others")
    positional = [one.default is _EMPTY for one in parameters if one.kind < inspect.Parameter.VAR_POSITIONAL]
    expect(positional == sorted(positional, reverse=True), "parameters with defaults after those without")


CODECS: Final = (TypingCodec(), SignatureCodec())
