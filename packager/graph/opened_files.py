"""Whether code opens a file that it names: followed by the spelling of names, in one module.

`open("a.csv")` does, and so does `PATH = "a.csv"` with `open(PATH)` elsewhere, or a default value that a
function opens. A name that is only written to, listed or compared is no file that an archive lacks.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from .idioms import dotted

_READS = re.compile(
    r"open|open_\w+|load\w*|read\w*|from_?file|genfromtxt|memmap|imread|listdir|scandir|iterdir|i?r?glob|walk"
    r"|safe_open|ZipFile|TarFile|File|connect|getline|getlines|parse|image|fromfile|exec|run_path|stat|getsize"
)
_PATHS = frozenset(["Path", "PosixPath", "PurePath", "PurePosixPath", "str", "fspath", "expanduser"])
_READERS = frozenset(
    "io os np numpy pd pandas torch codecs gzip bz2 lzma zipfile joblib Image cv2 pl".split()
)
_STEPS = 8


def is_opened(source: bytes, line: int, text: str) -> bool:
    """Say whether a module opens for reading what a literal at a line names, or what that is kept in.

    >>> is_opened(b'PATH = "conf/a.csv"\\ndef f(): return open(PATH)', 1, "conf/a.csv")
    True
    >>> is_opened(b'def f(): open("a.csv", "w")', 1, "a.csv")
    False
    """
    nodes = _nodes(source)
    names = _literals(nodes, line, text)
    known: set[str] = set()
    for _ in range(_STEPS):
        more = {name for node in nodes for name in _kept_in(node, names, known)}
        if more <= known:
            break
        known |= more
    return any(_reads(node, names, known) for node in nodes)


def is_opened_by_itself(source: bytes, line: int, text: str) -> bool:
    """Say whether a module opens a file by a literal alone, joined to no folder that it knows.

    >>> is_opened_by_itself(b'PATH = Path("conf/a.csv")\\ndef f(): return PATH.read_text()', 1, "conf/a.csv")
    True
    >>> is_opened_by_itself(b'def f(): return open(HERE / "a.csv")', 1, "a.csv")
    False
    """
    nodes = _nodes(source)
    names, known = _literals(nodes, line, text), set[str]()
    for _ in range(_STEPS):
        more = {
            target.id
            for node in nodes
            if isinstance(node, ast.Assign | ast.AnnAssign) and _is_alone(node.value, names, known)
            for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
            if isinstance(target, ast.Name)
        }
        if more <= known:
            break
        known |= more
    for node in nodes:
        if not _reads(node, names, known) or not isinstance(node, ast.Call):
            continue
        # A function of the project may join what it is given to a folder.
        of_path = isinstance(node.func, ast.Attribute) and _is_alone(node.func.value, names, known)
        is_known = dotted(node.func) == "open" or dotted(node.func).partition(".")[0] in _READERS
        if of_path or (is_known and node.args and _is_alone(node.args[0], names, known)):
            return True
    return False


def _is_alone(node: ast.AST | None, literals: set[int], known: set[str]) -> bool:
    """Say whether an expression is one of the literals, a name of it, or a path that is made of it alone."""
    if isinstance(node, ast.Call) and len(node.args) == 1 and not node.keywords:
        return dotted(node.func).rpartition(".")[2] in _PATHS and _is_alone(node.args[0], literals, known)
    return id(node) in literals or (isinstance(node, ast.Name) and node.id in known)


def _nodes(source: bytes) -> list[ast.AST]:
    try:
        return list(ast.walk(ast.parse(source)))
    except (SyntaxError, ValueError):
        return []


def _literals(nodes: list[ast.AST], line: int, text: str) -> set[int]:
    """Return which constants at a line may be what names a file."""
    last = text.rstrip("/*").rpartition("/")[2]
    return {
        id(node)
        for node in nodes
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and last in node.value
        and node.lineno <= line <= (node.end_lineno or line)
    }


def _reads(node: ast.AST, literals: set[int], known: set[str]) -> bool:
    """Say whether a node is a call that reads one of the literals, or what is kept under a known name."""
    if not isinstance(node, ast.Call):
        return False
    function = node.func
    name = function.attr if isinstance(function, ast.Attribute) else dotted(function)
    if not _READS.fullmatch(name) or _is_for_writing(node):
        return False
    return _holds(node, literals, known)


def _is_for_writing(call: ast.Call) -> bool:
    modes = [*call.args[:2], *(word.value for word in call.keywords if word.arg == "mode")]
    return any(
        isinstance(mode, ast.Constant)
        and isinstance(mode.value, str)
        and re.fullmatch("[wax][bt+]*", mode.value)
        for mode in modes
    )


def _kept_in(node: ast.AST, literals: set[int], known: set[str]) -> Iterator[str]:
    """Yield the names that a statement binds to a literal, or to what holds one: variables, parameters."""
    if isinstance(node, ast.Assign | ast.AnnAssign | ast.NamedExpr | ast.AugAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        if node.value is not None and _holds(node.value, literals, known):
            yield from (name for target in targets for name in _bound(target))
    elif isinstance(node, ast.For | ast.comprehension) and _holds(node.iter, literals, known):
        yield from _bound(node.target)
    elif isinstance(node, ast.arguments):
        given = [*node.posonlyargs, *node.args]
        pairs = [*zip(given[::-1], node.defaults[::-1], strict=False)]
        pairs += [(arg, value) for arg, value in zip(node.kwonlyargs, node.kw_defaults, strict=True) if value]
        yield from (arg.arg for arg, value in pairs if _holds(value, literals, known))


def _bound(target: ast.expr) -> Iterator[str]:
    for part in ast.walk(target):
        if isinstance(part, ast.Name):
            yield part.id
        elif isinstance(part, ast.Attribute):
            yield part.attr


def _holds(node: ast.AST, literals: set[int], known: set[str]) -> bool:
    """Say whether an expression has a literal in it, or a known name."""
    return any(
        id(part) in literals
        or (isinstance(part, ast.Name) and part.id in known)
        or (isinstance(part, ast.Attribute) and part.attr in known)
        for part in ast.walk(node)
    )
