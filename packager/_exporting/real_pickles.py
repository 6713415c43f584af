"""Real pickles, for users of torch.package: made by the importers' names, never mangled.

A pickle runs code when it is read. The archive marks it, and the importer refuses it unless told
otherwise. It is a pickle like any other, save for objects with `__reduce_package__`: those are
persistent ids `("reduce_package", number, function, *arguments)`, as in torch.package.
"""

from __future__ import annotations

import io
import pickle
import pickletools
from collections.abc import Iterator
from types import BuiltinFunctionType, EllipsisType, FunctionType, ModuleType, NoneType, NotImplementedType
from typing import Any

from packager._graph import Importer, ObjMismatchError, ObjNotFoundError
from packager._names import demangle, is_mangled
from packager.errors import ArgumentError

Reduced = dict[int, tuple[tuple[Any, ...], Any]]
"""By the id of an object with `__reduce_package__`: its persistent id, and the object itself."""

_NAMELESS_TYPES = (NoneType, NotImplementedType, EllipsisType)  # pickle has a spelling of its own for them
_STRINGS = ("SHORT_BINUNICODE", "BINUNICODE", "BINUNICODE8", "UNICODE")


def make_pickle(obj: object, importer: Importer, protocol: int, exporter: object, reduced: Reduced) -> bytes:
    """Pickle `obj`, with classes and functions under the names that `importer` gives back.

    `reduced` keeps what `__reduce_package__` answered, by identity, over all pickles of an exporter.
    The bytes depend on the object alone, not on which importer it was loaded with.

    Raises ArgumentError for a protocol that pickle has not, pickle.PicklingError where an object's class is
    not the one that `importer` finds.
    """
    if type(protocol) is not int or not 0 <= protocol <= pickle.HIGHEST_PROTOCOL:
        most = pickle.HIGHEST_PROTOCOL
        raise ArgumentError(f"pickle_protocol={protocol!r}: expected a number from 0 to {most}")
    buffer = io.BytesIO()
    _Pickler(buffer, protocol, importer, exporter, reduced).dump(obj)
    # optimize() drops memo entries that depend on reference counts, and frames anew what was cut up.
    return pickletools.optimize(_with_true_names(buffer.getvalue()))


def globals_in(data: bytes) -> tuple[tuple[str, str], ...]:
    """Return the (module, name) pairs of a pickle, sorted, read without running it.

    >>> from fractions import Fraction
    >>> globals_in(pickle.dumps(Fraction(1, 2), protocol=4))
    (('fractions', 'Fraction'),)
    """
    return tuple(sorted(set(_globals(data))))


class _Pickler(pickle.Pickler):
    def __init__(
        self,
        file: io.BytesIO,
        protocol: int,
        importer: Importer,
        exporter: Any,
        reduced: Reduced,
    ) -> None:
        super().__init__(file, protocol, fix_imports=False)
        self._importer = importer
        self._exporter = exporter
        self._reduced = reduced

    def persistent_id(self, obj: Any) -> tuple[Any, ...] | None:
        # Looked up on the type: an object may answer any attribute.
        if isinstance(obj, type) or not hasattr(type(obj), "__reduce_package__"):
            return None
        known = self._reduced.get(id(obj))
        if known is None:
            function, arguments = obj.__reduce_package__(self._exporter)
            # The object itself is kept with its id, so that the id is not used for another object.
            known = (("reduce_package", len(self._reduced), function, *arguments), obj)
            self._reduced[id(obj)] = known
        return known[0]

    def reducer_override(self, obj: Any) -> Any:
        if _is_global(obj):
            self._require_home(obj)
        return NotImplemented

    def _require_home(self, obj: Any) -> None:
        try:
            self._importer.get_name(obj)
        except ObjNotFoundError as error:
            raise pickle.PicklingError(f"Can't pickle {obj!r}: {error}") from None
        except ObjMismatchError as error:
            raise pickle.PicklingError(
                f"Can't pickle {obj!r}: it's not the same object as the importer finds. {error}"
            ) from None


def _is_global(obj: Any) -> bool:
    """Say whether pickle writes `obj` as a name: a class or function, not a method of a builtin object."""
    if isinstance(obj, BuiltinFunctionType):
        return isinstance(obj.__self__, ModuleType | None)
    return isinstance(obj, type | FunctionType) and obj not in _NAMELESS_TYPES


def _with_true_names(data: bytes) -> bytes:
    """Return the pickle with stored names in place of those of loaded archives; frames are left out."""
    out, operations = io.BytesIO(), list(pickletools.genops(data))
    ends = [position for _, _, position in operations[1:]] + [len(data)]
    for (opcode, argument, start), end in zip(operations, ends, strict=True):
        assert start is not None
        assert end is not None
        if opcode.name == "FRAME":
            continue
        if opcode.name == "GLOBAL" and is_mangled(str(argument)):
            module, _, name = str(argument).partition(" ")
            out.write(b"c" + demangle(module).encode() + b"\n" + name.encode() + b"\n")
        elif opcode.name in _STRINGS and is_mangled(str(argument)):
            out.write(_string(opcode.name, demangle(str(argument))))
        else:
            out.write(data[start:end])
    return out.getvalue()


def _string(opcode: str, text: str) -> bytes:
    data = text.encode("utf-8", "surrogatepass")
    if opcode == "SHORT_BINUNICODE":
        return pickle.SHORT_BINUNICODE + len(data).to_bytes(1, "little") + data
    if opcode == "BINUNICODE":
        return pickle.BINUNICODE + len(data).to_bytes(4, "little") + data
    if opcode == "BINUNICODE8":
        return pickle.BINUNICODE8 + len(data).to_bytes(8, "little") + data
    return pickle.UNICODE + text.encode("raw-unicode-escape") + b"\n"


def _globals(data: bytes) -> Iterator[tuple[str, str]]:
    memo: dict[Any, str] = {}
    recent: list[str] = []
    for opcode, argument, _ in pickletools.genops(data):
        if opcode.name in ("GLOBAL", "INST"):
            module, _, name = str(argument).partition(" ")
            yield module, name
        elif opcode.name in _STRINGS:
            recent.append(str(argument))
        elif opcode.name in ("BINGET", "LONG_BINGET", "GET"):
            recent.append(memo.get(argument, ""))
        elif opcode.name in ("BINPUT", "LONG_BINPUT", "PUT"):
            memo[argument] = recent[-1] if recent else ""
        elif opcode.name == "MEMOIZE":
            memo[len(memo)] = recent[-1] if recent else ""
        elif opcode.name == "STACK_GLOBAL":
            module, name = recent[-2:]
            yield module, name
