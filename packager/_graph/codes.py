"""Code objects: those inside one, whether two do the same, and whether a module has those of its file."""

from __future__ import annotations

import dis
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.machinery import SourceFileLoader
from types import CodeType, FunctionType, ModuleType
from typing import Any

from packager._disk import read_whole

_BOUND = (staticmethod, classmethod)
_NAMES = ("co_names", "co_freevars", "co_varnames")
_ANNOTATE, _LINE = "__annotate__", "__firstlineno__"
_OPTIMIZED = 1  # the flag of a function's code


def same_code(left: CodeType, right: CodeType) -> bool:
    """Say whether two code objects do the same, wherever their file lies, and they in it."""
    if any(getattr(left, name) != getattr(right, name) for name in _NAMES):
        return False
    (steps, constants), (others, their_constants) = _done(left), _done(right)
    return (
        steps == others
        and len(constants) == len(their_constants)
        and all(
            same_code(one, other)
            if isinstance(one, CodeType) and isinstance(other, CodeType)
            else type(one) is type(other) and _spelt(one) == _spelt(other)
            for one, other in zip(constants, their_constants, strict=True)
        )
    )


def _done(code: CodeType) -> tuple[object, Sequence[Any]]:
    """Return the steps of code and their constants, without the line that the body of a class holds.

    It does since Python 3.13; since 3.14 a small one is in the step, and none of the constants.
    """
    if _LINE not in code.co_names or code.co_flags & _OPTIMIZED:
        return code.co_code, code.co_consts
    steps = [*dis.get_instructions(code)]
    stores = ("STORE_NAME", _LINE)
    at = next((at for at, step in enumerate(steps) if (step.opname, step.argval) == stores), 1)
    del steps[at - 1]
    by_place = [step.opcode in dis.hasconst for step in steps]
    constants = [step.argval for step, has_one in zip(steps, by_place, strict=True) if has_one]
    done = [(step.opcode, has_one or step.arg) for step, has_one in zip(steps, by_place, strict=True)]
    return done, constants


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


def owner_of(code: CodeType) -> str:
    """Return the qualified name of what code belongs to; "" for what is at the top of a module.

    From Python 3.14 on annotations are code of their own, `Net.__annotate__` of a class and of its methods.
    """
    return code.co_qualname if code.co_name != _ANNOTATE else code.co_qualname[: -len(_ANNOTATE)].rstrip(".")


def by_name(codes: Iterable[CodeType]) -> dict[str, list[CodeType]]:
    """Return code objects by their qualified names, of which there may be several."""
    found: dict[str, list[CodeType]] = {}
    for code in codes:
        found.setdefault(code.co_qualname, []).append(code)
    return found


def known_codes(
    value: object, codes: Mapping[str, Sequence[CodeType]]
) -> Iterator[tuple[CodeType, int, bool]]:
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
            yield owner_of(function), line


def codes_of(value: object) -> Iterator[CodeType]:
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
