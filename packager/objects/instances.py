"""The steps by which instances and functions are encoded.

Instances go through a codec, or by what they reduce to; functions and methods by name, owner or source.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from packager.codecs import CannotStore, Codec, Finish, Node, ObjectCodec, stored_state
from packager.names import demangle

from .encoder import Encoder
from .functions import digest_of_live, name_in_script
from .naming import require_record_name
from .recording import Frame, Steps
from .records import MISSING, Kind, Operand, is_inline
from .reducing import Recipe, has_only_a_dict, recipe_of


def instance(encoder: Encoder, frame: Frame, obj: Any) -> Steps | int:
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
        raise CannotStore(f"__reduce__ gave {recipe.target!r}, which cannot be called")
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
    "a function that torch.compile made, and what was compiled belongs to this process",
    "keep the function or method that was compiled, and call torch.compile where it is used",
    "compile a whole module in place, module.compile(): then it is stored as it was written",
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


def cached(encoder: Encoder, frame: Frame, obj: Any) -> Steps | int:
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
            f"a bound method of what the codec {codec.name!r} makes, {type(owner).__qualname__}.{name}",
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


def method_name(owner: Any, underlying: Any) -> str | None:
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
            f"a bound method of a built-in object, {type(owner).__qualname__}.{obj.__name__}",
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
            f"{qualname}.{obj.__name__} is a slot of a class built in C",
            "use the operator in a named function",
        )
    ref = encoder.write_global(module, f"{qualname}.{obj.__name__}", encoder.role)
    return encoder.remember(obj, ref)
