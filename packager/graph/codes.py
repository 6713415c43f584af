"""Code objects: those inside one, whether two do the same, and whether a module has those of its file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.machinery import SourceFileLoader
from types import CodeType, FunctionType, ModuleType
from typing import Any

from packager.disk import read_whole

_BOUND = (staticmethod, classmethod)


def same_code(left: CodeType, right: CodeType) -> bool:
    """Say whether two code objects do the same, wherever their file lies."""
    plain = left.co_code == right.co_code and all(
        getattr(left, name) == getattr(right, name) for name in ("co_names", "co_freevars", "co_varnames")
    )
    if not plain or len(left.co_consts) != len(right.co_consts):
        return False
    return all(
        same_code(one, other)
        if isinstance(one, CodeType) and isinstance(other, CodeType)
        else type(one) is type(other)
        # Since Python 3.13 the body of a class holds its own line.
        and (_spelt(one) == _spelt(other) or (one, other) == (left.co_firstlineno, right.co_firstlineno))
        for one, other in zip(left.co_consts, right.co_consts, strict=True)
    )


def _spelt(constant: Any) -> str:
    """Spell a constant; each process orders a set anew, and a compiled file keeps the order of its own."""
    return repr(sorted(map(repr, constant)) if type(constant) is frozenset else constant)


def codes_in(code: CodeType) -> Iterator[CodeType]:
    """Yield a code object and those inside it, in the order of the source."""
    stack = [code]
    while stack:
        code = stack.pop()
        yield code
        stack.extend(const for const in reversed(code.co_consts) if isinstance(const, CodeType))


def by_name(codes: Iterable[CodeType]) -> dict[str, list[CodeType]]:
    """Return code objects by their qualified names, of which there may be several."""
    found: dict[str, list[CodeType]] = {}
    for code in codes:
        found.setdefault(code.co_qualname, []).append(code)
    return found


def known_codes(value: Any, codes: Mapping[str, Sequence[CodeType]]) -> Iterator[tuple[CodeType, int, bool]]:
    """Yield the functions of a value that have namesakes in `codes`, with the line of the first.

    True says that one of these does the same.
    """
    for function in codes_of(value):
        if known := codes.get(function.co_qualname, ()):
            yield function, known[0].co_firstlineno, any(same_code(function, code) for code in known)


def edited_now(module: ModuleType) -> Iterator[tuple[str, int]]:
    """Yield the functions of a loaded module that its file defines with other code now, each with its line.

    What other code put there is not looked at, nor a module whose loader may compile another text than the
    file has; there are none where there is no such file.
    """
    file, spec = vars(module).get("__file__"), vars(module).get("__spec__")
    if not isinstance(file, str) or type(getattr(spec, "loader", None)) is not SourceFileLoader:
        return
    try:
        codes = by_name(codes_in(compile(read_whole(file), "<module>", "exec", dont_inherit=True)))
    except (OSError, SyntaxError, ValueError):
        return
    values = list(vars(module).values())
    own = (value for value in values if type(value) is FunctionType or _is_of(module, value))
    for function, line, same in dict.fromkeys(found for value in own for found in known_codes(value, codes)):
        if function.co_filename == file and not same:
            yield function.co_qualname, line


def codes_of(value: Any) -> Iterator[CodeType]:
    """Yield the code of a function, or of the methods of a class, which is not asked."""
    parts = [value]
    if issubclass(type(value), type):
        parts = []
        for item in list(type.__dict__["__dict__"].__get__(value).values()):
            is_property = type(item) is property
            parts += (
                (item.fget, item.fset)
                if is_property
                else [item.__func__ if any(type(item) is one for one in _BOUND) else item]
            )
    yield from (part.__code__ for part in parts if type(part) is FunctionType)


def _is_of(module: ModuleType, value: Any) -> bool:
    # Asked of its type: a value may say anything of its class, or raise.
    return issubclass(type(value), type) and type.__getattribute__(value, "__module__") == module.__name__
