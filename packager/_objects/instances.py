"""The steps by which instances and functions are encoded.

Instances go through a codec, or by what they reduce to: Python's reduce protocol, read in the words of our
records. Functions and methods go by name, owner or source.
"""

from __future__ import annotations

import copyreg
import functools
import types
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from packager._codecs import CannotStore, Codec, Finish, Node, ObjectCodec, stored_state
from packager._names import demangle
from packager._process import place_in_model
from packager._quick_dataclasses import dataclass

from .encoder import Encoder
from .naming import digest_of_live, name_in_script, require_record_name
from .recording import Frame, Steps
from .records import MISSING, Kind, Operand, is_inline


def instance(encoder: Encoder, frame: Frame, obj: object) -> Steps | int:
    """Encode an instance of a class that is no built-in container. Raises CannotStore."""
    codec = encoder.codec_for(type(obj))
    if isinstance(codec, ObjectCodec):
        steps = _object_with_state if codec.uses_setstate(type(obj)) else _object
        return steps(encoder, frame, codec.attributes(obj, encoder), codec)
    if codec is not None:
        codec = codec.variant(obj)
        return _node(encoder, frame, codec, codec.encode(obj, encoder))
    if type(obj) in encoder.plain_classes and set(map(type, vars(obj))) <= {str}:
        return _object(encoder, frame, vars(obj), None)
    recipe = recipe_of(obj, encoder.exporter)
    if isinstance(recipe, str):
        return encoder.remember(obj, encoder.write_name(obj, encoder.role, recipe))
    if recipe.is_plain(obj):
        if has_only_a_dict(type(obj)):
            encoder.plain_classes.add(type(obj))
        return _object(encoder, frame, recipe.attributes or {}, None)
    return _recipe(encoder, frame, recipe)


def finish_steps(encoder: Encoder, frame: Frame, codec: Codec, make: Callable[[], Finish | None]) -> Steps:
    """Encode the second phase of a codec, when everything else is there."""
    finish = make()
    if finish is None:
        return None
    roles = codec.finish_roles(finish.literal, len(finish.children), codec.version)
    yield from _children(frame, finish.children, roles, finish.labels)
    ref = encoder.reference(frame.obj)
    return encoder.write([Kind.FINISH, ref, encoder.codec_number(codec), finish.literal, *frame.operands])


def attributes_after(encoder: Encoder, frame: Frame, ref: int, attributes: Mapping[str, Any]) -> Steps:
    """Write attributes that are set when the object is there, so that they may refer to it."""
    frame.operands = []
    yield from _attribute_values(encoder, frame, attributes)
    _write_fill(encoder, ref, list(attributes), frame.operands)
    return None


# --- codecs ---


def _node(encoder: Encoder, frame: Frame, codec: Codec, node: Node) -> Steps | int:
    key = None if node.key is None else (codec.name, node.key)
    equal = None if key is None else encoder.equal(key)
    if equal is not None:
        return encoder.remember(frame.obj, equal)
    return _node_steps(encoder, frame, codec, node, key)


def _node_steps(encoder: Encoder, frame: Frame, codec: Codec, node: Node, key: Any) -> Steps:
    roles = codec.roles(node.literal, len(node.children), codec.version)
    yield from _children(frame, node.children, roles)
    frame.role = "value"
    done = encoder.reference(frame.obj)
    if done is not None:
        return done
    ref = encoder.close(frame, [Kind.CODEC, encoder.codec_number(codec), node.literal, *frame.operands])
    if key is not None:
        encoder.remember_equal(key, ref)
    if encoder.write_runs(Kind.EXTEND_LONG, node.items, target=ref) is None:
        yield from _fill_in(encoder, frame, ref, Kind.EXTEND, ((item,) for item in node.items))
    if encoder.write_runs(Kind.UPDATE_LONG, node.pairs, node.pairs.values(), target=ref) is None:
        yield from _fill_in(encoder, frame, ref, Kind.UPDATE, node.pairs.items())
    yield from attributes_after(encoder, frame, ref, node.attributes)
    return ref


def _children(
    frame: Frame, children: Sequence[Any], roles: Sequence[Any], labels: Sequence[str] = ()
) -> Steps:
    """Children of a codec; without a label their path is that of the object."""
    for child, role, label in zip(children, roles, labels or ("",) * len(children), strict=True):
        frame.role = role
        frame.style, frame.at = ("attr" if label else "none"), label
        frame.operands.append(child if is_inline(child) else (yield child))
    return None


# --- a class and attributes ---


def _object(
    encoder: Encoder, frame: Frame, attributes: Mapping[str, Any], codec: ObjectCodec | None
) -> Steps:
    """Written late, when the attributes are there, or early and filled, when one of them refers to it."""
    cls = encoder.write_class(type(frame.obj))
    number = None if codec is None else encoder.codec_number(codec)
    frame.tables = frozenset() if codec is None else codec.tables
    frame.head, frame.names = [Kind.SHAPE, cls, number], list(attributes)
    yield from _attribute_values(encoder, frame, attributes)
    if frame.ref is None:
        return encoder.remember(frame.obj, encoder.write(encoder.record_of(frame, frame.operands)))
    _write_fill(encoder, frame.ref, frame.names[frame.written :], frame.operands[frame.written :])
    return frame.ref


def _object_with_state(
    encoder: Encoder, frame: Frame, attributes: Mapping[str, Any], codec: ObjectCodec
) -> Steps:
    """Written at once without attributes; they are the state that its class takes itself."""
    cls = encoder.write_name(type(frame.obj), "create")
    shape = (Kind.SHAPE, cls, encoder.codec_number(codec))
    ref = encoder.remember(frame.obj, encoder.write([Kind.OBJ, encoder.write_once(shape, list(shape))]))
    frame.style = "state"
    encoder.write([Kind.STATE, ref, (yield dict(attributes))])
    return ref


def _attribute_values(encoder: Encoder, frame: Frame, attributes: Mapping[str, Any]) -> Steps:
    frame.style = "attr"
    for name, value in attributes.items():
        if is_inline(value):
            frame.operands.append(value)
        else:
            frame.at = name
            operand = encoder.at_once(value)
            frame.operands.append((yield value) if operand is MISSING else operand)
    return None


def _write_fill(encoder: Encoder, ref: int, names: list[str], operands: list[Operand]) -> None:
    if names:
        encoder.write(
            [Kind.FILL, ref, *(part for pair in zip(names, operands, strict=True) for part in pair)]
        )


# --- what reduces ---


def _recipe(encoder: Encoder, frame: Frame, recipe: Recipe) -> Steps:
    """Make by a call, then add items, then set the state: the order of pickle."""
    target = _target(encoder, recipe)
    frame.style = "argument"
    if recipe.kwargs is None:
        yield from _arguments(frame, recipe.args)
        kind = {"new": Kind.NEW, "call": Kind.CALL, "package": Kind.PACKAGE_CALL}[recipe.how]
    else:
        frame.operands += [(yield recipe.args), (yield recipe.kwargs)]
        kind = Kind.NEW_KW if recipe.how == "new" else Kind.CALL_KW
    done = encoder.reference(frame.obj)
    if done is not None:  # an argument led back here, and the object was written there
        return done
    ref = encoder.close(frame, [kind, target, *frame.operands])
    yield from _fill_in(encoder, frame, ref, Kind.EXTEND, ((item,) for item in recipe.items or ()))
    yield from _fill_in(encoder, frame, ref, Kind.UPDATE, recipe.pairs or ())
    if recipe.attributes is not None:
        yield from attributes_after(encoder, frame, ref, recipe.attributes)
    if recipe.state is not None:
        frame.style, frame.at = "state", None
        kept = stored_state(type(frame.obj), recipe.state)
        state = kept if is_inline(kept) else (yield kept)
        encoder.write([Kind.STATE, ref, state])
    return ref


def _target(encoder: Encoder, recipe: Recipe) -> int:
    """The GLOBAL that makes the object, with the role that this gives it."""
    if recipe.how == "new":
        plain = not recipe.args and recipe.kwargs is None
        return encoder.write_name(recipe.target, "create" if plain else "call")
    if not callable(recipe.target):
        raise CannotStore(f"__reduce__ returned {recipe.target!r}; expected a callable")
    return encoder.write_name(recipe.target, "call")


def _arguments(frame: Frame, args: Iterable[Any]) -> Steps:
    for at, value in enumerate(args):
        frame.at = at
        frame.operands.append(value if is_inline(value) else (yield value))
    return None


def _fill_in(encoder: Encoder, frame: Frame, ref: int, fill: int, groups: Iterable[tuple[Any, ...]]) -> Steps:
    """Items of list subclasses, pairs of dict subclasses: written when all of them are there."""
    frame.operands, frame.style = [], "item"
    for at, group in enumerate(groups):
        frame.at = at if len(group) == 1 else group[0]
        for value in group:
            frame.operands.append(value if is_inline(value) else (yield value))
    if frame.operands:
        encoder.write([fill, ref, *frame.operands])
    return None


# --- functions and methods ---

_COMPILED: Final = (
    "a function made by torch.compile, whose compiled code belongs to this process",
    "keep the original function or method, and call torch.compile where it is used",
    "compile a whole module in place, module.compile(): then it is stored uncompiled",
)


def function(encoder: Encoder, frame: Frame, obj: types.FunctionType) -> Steps | int:
    """Encode a function by its name; one made inside another one by its source and its variables.

    Raises CannotStore for one that is neither, or that torch.compile made.
    """
    home = demangle(str(obj.__globals__.get("__name__", "")))
    try:
        return encoder.remember(obj, encoder.write_name(obj, encoder.role))
    except CannotStore as error:
        if "_torchdynamo_orig_callable" in vars(obj):
            raise CannotStore(*_COMPILED) from error
        if "<" not in obj.__code__.co_qualname:
            raise
        encoder.refuse(error.reason, *error.options, unless=home)
    return _nested(encoder, frame, obj, home)


def _nested(encoder: Encoder, frame: Frame, obj: types.FunctionType, home: str) -> Steps:
    code = obj.__code__
    require_record_name(home, "")
    digest = digest_of_live(obj)
    encoder.use(home, code.co_qualname, "value")
    name = name_in_script(obj)
    if name is not None:
        encoder.use(home, name, "value", in_records=False)
    # What functools.wraps changes, where it differs from the code's own.
    frame.operands += [
        None if obj.__name__ == code.co_name else obj.__name__,
        None if obj.__qualname__ == code.co_qualname else obj.__qualname__,
    ]
    for attribute in ("__doc__", "__defaults__", "__kwdefaults__"):
        frame.style, frame.at = "attr", attribute
        frame.operands.append((yield getattr(obj, attribute)))
    for variable, cell in zip(code.co_freevars, obj.__closure__ or (), strict=True):
        frame.style, frame.at = "cell", variable
        frame.operands.append((yield cell))
    done = encoder.reference(obj)
    if done is not None:
        return done
    ref = encoder.close(frame, [Kind.FUNCTION, home, code.co_qualname, digest, *frame.operands])
    yield from attributes_after(encoder, frame, ref, vars(obj))
    return ref


def cached(encoder: Encoder, frame: Frame, obj: object) -> Steps | int:
    """Encode a function that remembers its answers: by its name, else by what it is made of."""
    try:
        return encoder.remember(obj, encoder.write_name(obj, encoder.role))
    except CannotStore:
        return instance(encoder, frame, obj)


def bound_method(encoder: Encoder, frame: Frame, obj: types.MethodType) -> Steps | int:
    """Encode a method of a stored object: the object and the method's name in its class.

    Raises CannotStore for a method of what a codec makes of a literal.
    """
    owner, underlying = obj.__self__, obj.__func__
    if isinstance(owner, type):
        return encoder.remember(obj, encoder.write_name(obj, encoder.role))
    name = method_name(owner, underlying)
    codec = encoder.codec_for(type(owner))
    if name is not None and codec is not None and not isinstance(codec, ObjectCodec):
        raise CannotStore(
            f"{type(owner).__qualname__}.{name}, a bound method of an object of the codec {codec.name!r}",
            "store the object, and look the method up where it is used",
        )
    if name is None:  # bound by hand, or under another name than it was defined
        return instance(encoder, frame, obj)
    return _method(encoder, frame, owner, name)


def _method(encoder: Encoder, frame: Frame, owner: Any, name: str) -> Steps:
    frame.style, frame.at = "attr", "__self__"
    ref = yield owner
    module, qualname = encoder.name_of(type(owner))
    encoder.use(module, f"{qualname}.{name}", "value")
    return encoder.close(frame, [Kind.METHOD, ref, name])


def method_name(owner: object, underlying: object) -> str | None:
    """Return the name under which the class of `owner` has this very function; None when it has not."""
    wanted = getattr(underlying, "__name__", None)
    for cls in type(owner).__mro__:
        if isinstance(wanted, str) and wanted in vars(cls):
            plain = not (wanted.startswith("__") and wanted.endswith("__"))
            return wanted if plain and vars(cls)[wanted] is underlying else None
    # A private method (__name) stands in the class under another name.
    for cls in type(owner).__mro__:
        for name, value in vars(cls).items():
            if value is underlying and not name.startswith("__"):
                return name
    return None


def builtin(encoder: Encoder, frame: Frame, obj: types.BuiltinFunctionType) -> int:
    """Encode a function built in C by its name. Raises CannotStore for a method of a built-in object."""
    owner = obj.__self__
    if owner is not None and not isinstance(owner, (types.ModuleType, type)):
        raise CannotStore(
            f"{type(owner).__qualname__}.{obj.__name__}, a bound method of a built-in object",
            "store the object, and look the method up where it is used",
        )
    return encoder.remember(obj, encoder.write_name(obj, encoder.role))


def descriptor(encoder: Encoder, frame: Frame, obj: Any) -> int:
    """Encode a method of a class built in C, such as `str.lower`, by the name of the class and its own.

    Raises CannotStore for a slot.
    """
    module, qualname = encoder.name_of(obj.__objclass__)
    if obj.__name__.startswith("__"):
        raise CannotStore(
            f"{qualname}.{obj.__name__} is a special method of a class built in C",
            "use the operator in a named function",
        )
    ref = encoder.write_global(module, f"{qualname}.{obj.__name__}", encoder.role)
    return encoder.remember(obj, ref)


_LONGEST_EMPTY: Final = 16
"""How many bytes of code a function without a body has at most, on any Python."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """How to make an object again: `how` is "new" (`target.__new__`) or "call", or "package" for a
    function of `__reduce_package__`, which also gets the importer; then items, then state.

    `attributes` are set plainly; `state` goes through the object's own `__setstate__`.
    """

    how: str
    target: Any
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] | None = None
    items: Iterator[Any] | None = None
    pairs: Iterator[tuple[Any, Any]] | None = None
    attributes: dict[str, Any] | None = None
    state: Any = None

    def is_plain(self, obj: object) -> bool:
        """Return whether the object is no more than an instance of its class and attributes."""
        made = self.how == "new" and self.target is type(obj) and not self.args and self.kwargs is None
        return made and self.items is None and self.pairs is None and self.state is None


def recipe_of(obj: object, exporter: object) -> Recipe | str:
    """Return what `obj` says about itself, or the name of the global that it is.

    Looked up on the type, as pickle does, so that an object that answers to every attribute name is
    no problem. Raises CannotStore for what says that it cannot be stored, or says nothing usable.
    """
    cls = type(obj)
    own = getattr(cls, "__reduce_package__", None)
    if own is not None:
        function, args = _ask(obj, own, exporter)
        return Recipe("package", function, tuple(args))
    reducer = copyreg.dispatch_table.get(cls)
    reduced = _ask(obj, reducer) if reducer is not None else _ask(obj, cls.__reduce_ex__, 4)
    if isinstance(reduced, str):
        return reduced
    if not isinstance(reduced, tuple) or not 2 <= len(reduced) <= 6 or not isinstance(reduced[1], tuple):
        raise CannotStore(
            f"__reduce__ of {cls.__qualname__} returned {type(reduced).__name__}; expected a tuple"
        )
    function, args, state, items, pairs, setter = (list(reduced) + [None] * 4)[:6]
    if setter is not None:
        raise CannotStore(
            f"__reduce__ of {cls.__qualname__} returned a function that sets the state, {setter!r}",
            "give the class __setstate__ instead",
        )
    how, target, args, kwargs = _made_by(function, args)
    attributes, state = _split(obj, cls, state)
    return Recipe(how, target, args, kwargs, items, pairs, attributes, state)


def has_only_a_dict(cls: type) -> bool:
    """Return whether instances say nothing of themselves but their `__dict__`; they are not asked again.

    The state of the first instance has been looked at; slots, and states of another kind, are not plain.
    """
    own = (
        "__reduce_ex__",
        "__reduce__",
        "__getstate__",
        "__getnewargs__",
        "__getnewargs_ex__",
        "__setstate__",
    )
    untouched = all(getattr(cls, name, None) is getattr(object, name, None) for name in own)
    slots = any("__slots__" in vars(base) and vars(base)["__slots__"] for base in cls.__mro__)
    return untouched and not slots and cls.__dictoffset__ != 0 and cls not in copyreg.dispatch_table


def _ask(obj: Any, function: Any, *args: Any) -> Any:
    try:
        return function(obj, *args)
    except CannotStore:
        raise
    except Exception as error:
        raise CannotStore(
            f"{type(obj).__qualname__} refuses to be stored: {error}{place_in_model(error)}",
            "remove the attribute before saving (__getstate__), or build it lazily",
            "build the object by a factory: PackageExporter.save_object(..., factory=, config=)",
        ) from error


def _made_by(function: Any, args: tuple[Any, ...]) -> tuple[str, Any, tuple[Any, ...], dict[str, Any] | None]:
    """Translate the helpers of copyreg and functools, which no archive names, into what they do."""
    name = getattr(function, "__name__", "")
    if name == "__newobj__":
        return "new", args[0], args[1:], None
    if name == "__newobj_ex__":
        cls, positional, keywords = args
        return "new", cls, tuple(positional), dict(keywords) or None
    if function is getattr(copyreg, "_reconstructor", None):
        cls, base, value = args
        return "new", cls, () if base is object else (value,), None
    if isinstance(function, functools.partial):
        return "call", function.func, (*function.args, *args), dict(function.keywords) or None
    return "call", function, args, None


def _split(obj: Any, cls: type, state: Any) -> tuple[dict[str, Any] | None, Any]:
    """Tell attributes that are set plainly from a state that only the class understands."""
    own = getattr(cls, "__setstate__", None)
    if own is not None:
        return None, None if _does_nothing(own) else state
    if state is None:
        return None, None
    plain, slots = state if isinstance(state, tuple) and len(state) == 2 else (state, None)
    attributes: dict[str, Any] = {}
    for part in (plain, slots):
        if part is None:
            continue
        if not isinstance(part, dict) or not all(type(name) is str for name in part):
            raise CannotStore(
                f"the state of {cls.__qualname__} is {type(part).__name__}; without __setstate__ it must be "
                "a dict of attribute names",
                "give the class __setstate__",
            )
        if not attributes.keys().isdisjoint(part):
            raise CannotStore(
                f"{cls.__qualname__} has an attribute both in a slot and in its __dict__",
                "keep the attribute in one of both",
            )
        attributes.update(part)
    return attributes or None, None


def _does_nothing(function: Any) -> bool:
    """Return whether a function's body is empty: a state that `__setstate__` passes over is not stored.

    scikit-learn's `Bunch` has such a method; a loaded one would be stored otherwise than the first.
    """
    code = getattr(function, "__code__", None)
    if code is None or len(code.co_code) > _LONGEST_EMPTY:
        return False
    import dis

    steps = [step for step in dis.get_instructions(code) if step.opname not in ("RESUME", "NOP")]
    names = [step.opname for step in steps]
    return names in (["LOAD_CONST", "RETURN_VALUE"], ["RETURN_CONST"]) and steps[0].argval is None
