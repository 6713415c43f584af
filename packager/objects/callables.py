"""The steps by which functions and methods are encoded: by name, by owner, or by source."""

from __future__ import annotations

import types
from typing import TYPE_CHECKING, Any

from packager.codecs import CannotStore
from packager.names import demangle

from .frames import Frame, Steps
from .functions import digest_of_live
from .instances import attributes_after, instance
from .records import Kind

if TYPE_CHECKING:
    from .encoding import Encoder


def function(encoder: Encoder, frame: Frame, obj: types.FunctionType) -> Steps | int:
    """A function: by its name; when it was made inside another one, by its source and its variables."""
    home = demangle(str(obj.__globals__.get("__name__", "")))
    try:
        return encoder.remember(obj, encoder.write_name(obj, encoder.role))
    except CannotStore as error:
        if "<" not in obj.__code__.co_qualname:
            raise
        encoder.refuse(error.reason, *error.options, unless=home)
    return _nested(encoder, frame, obj, home)


def _nested(encoder: Encoder, frame: Frame, obj: types.FunctionType, home: str) -> Steps:
    code = obj.__code__
    digest = digest_of_live(obj)
    encoder.use(home, code.co_qualname, "value")
    # What functools.wraps changes, where it differs from the code's own.
    frame.operands += [
        None if obj.__name__ == code.co_name else obj.__name__,
        None if obj.__qualname__ == code.co_qualname else obj.__qualname__,
    ]
    for name in ("__doc__", "__defaults__", "__kwdefaults__"):
        frame.style, frame.at = "attr", name
        frame.operands.append((yield getattr(obj, name)))
    for name, cell in zip(code.co_freevars, obj.__closure__ or (), strict=True):
        frame.style, frame.at = "cell", name
        frame.operands.append((yield cell))
    done = encoder.reference(obj)
    if done is not None:
        return done
    ref = encoder.close(frame, [Kind.FUNCTION, home, code.co_qualname, digest, *frame.operands])
    yield from attributes_after(encoder, frame, ref, vars(obj))
    return ref


def bound_method(encoder: Encoder, frame: Frame, obj: types.MethodType) -> Steps | int:
    """A method of a stored object: the object and the method's name in its class."""
    owner, underlying = obj.__self__, obj.__func__
    if isinstance(owner, type):
        return encoder.remember(obj, encoder.write_name(obj, encoder.role))
    name = method_name(owner, underlying)
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
    """The name under which the class of `owner` has this very function; None when it has not."""
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
    """A function built in C: by its name. Bound methods of built-in objects have none."""
    owner = obj.__self__
    if owner is not None and not isinstance(owner, (types.ModuleType, type)):
        raise CannotStore(
            f"a bound method of a built-in object, {type(owner).__qualname__}.{obj.__name__}",
            "store the object, and look the method up where it is used",
        )
    return encoder.remember(obj, encoder.write_name(obj, encoder.role))


def descriptor(encoder: Encoder, frame: Frame, obj: Any) -> int:
    """A method of a class built in C, such as `str.lower`: by the name of the class, and its own."""
    module, qualname = encoder.name_of(obj.__objclass__)
    if obj.__name__.startswith("__"):
        raise CannotStore(
            f"{qualname}.{obj.__name__} is a slot of a class built in C",
            "use the operator in a named function",
        )
    ref = encoder.write_global(module, f"{qualname}.{obj.__name__}", encoder.role)
    return encoder.remember(obj, ref)
