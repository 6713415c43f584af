"""Reading expressions: the names they load, the attributes they ask for, computed imports, file names.

One loop over a stack, because deep expressions must not exhaust Python's own, and one branch per
frequent node type, because almost all of the time of a scan is spent here.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from .drawn_texts import DrawnTexts
from .idioms import dotted
from .name_patterns import PACKAGES, name_pattern
from .scan import Literal

_FILE_NAME = re.compile(r"[^\s\x00-\x1f<>|{}:;,()'\"\\]{1,150}\.[A-Za-z*][A-Za-z0-9_*]{0,9}")
_PATH_PART = re.compile(r"[^\s\x00-\x1f<>|{}:;,()'\"\\]{1,80}")
_JOINERS = frozenset(
    "join joinpath files get_data Path PurePath open read_text read_binary open_text open_binary path "
    "is_resource resource_filename resource_string resource_stream resource_listdir contents listdir "
    "glob rglob iglob with_name".split()
)
# What is given a package by name, and imports it.
_OF_PACKAGES = frozenset(
    "files read_text read_binary open_text open_binary path is_resource contents get_data resource_filename "
    "resource_string resource_stream resource_listdir".split()
)
READERS_OF_RESOURCES = frozenset(["importlib.resources", "importlib_resources", "pkgutil", "pkg_resources"])
_ATTRIBUTE_READERS = frozenset(["getattr", "hasattr", "attrgetter", "methodcaller", "getattr_static"])
_PLACES = ("__file__", "__path__", "__spec__", "co_filename", "getfile", "getsourcefile", "getabsfile")
# What a distribution is asked of, whose `entry_points` are an attribute.
_DISTRIBUTIONS = ("importlib.metadata", "importlib_metadata", "import metadata", "pkg_resources")
_COMPUTED = {
    "exec": "exec",
    "entry_points": "entry points",
    "iter_entry_points": "entry points",
    "run_module": "run",
    "run_path": "run",
    "spec_from_file_location": "file",
    "SourceFileLoader": "file",
    "locate": "name",
    "resolve_name": "name",
}
_CALLERS = frozenset(
    "partial partialmethod map filter reduce sorted Thread Process submit apply_async starmap imap register "
    "connect add_callback add_done_callback run_in_executor vmap grad checkpoint".split()
)
_IMPORTING = (
    b"import", b"exec", b"entry_points", b"run_module", b"run_path", b"from_file", b"FileLoader", b"locate",
    b"resolve_name",
)  # fmt: skip
_PROBES = frozenset(["find_spec", "find_loader", "get_loader"])
_OWNERS_OF_PROBES = frozenset(["util", "importlib", "pkgutil"])
_NOTED_CALLS = frozenset([*_CALLERS, *_ATTRIBUTE_READERS, *_JOINERS, *_PROBES, *_COMPUTED, "select"])
# Each is looked up for every node; as attributes of `ast` that takes twice as long.
_Name, _Attribute, _Constant, _Call = ast.Name, ast.Attribute, ast.Constant, ast.Call
_Subscript, _Tuple, _List, _JoinedStr = ast.Subscript, ast.Tuple, ast.List, ast.JoinedStr
_BinOp, _Compare, _BoolOp, _UnaryOp = ast.BinOp, ast.Compare, ast.BoolOp, ast.UnaryOp
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp)


def lines_with_imports(source: bytes) -> list[int]:
    """Return the lines that hold a word without which nothing is imported, ascending."""
    if b"\r" in source:
        source = source.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    places = []
    for word in _IMPORTING:  # one after the other: far faster than a pattern of all of them
        at = source.find(word)
        while at >= 0:
            places.append(at)
            at = source.find(word, at + 1)
    lines, line, last = [], 1, 0
    for at in sorted(places):
        line += source.count(b"\n", last, at)
        last = at
        lines.append(line)
    return lines


class Collected:
    """What one block loads.

    `names` are dotted names, `called` those of them that are called, `imports` the indices of literal
    dynamic imports whose module is the value, each with the attributes asked of it, dotted. `attrs` are
    asked of other values, `own_attrs` of `super()` or a method's `self`. `globs`, `own_globs` and
    `name_globs` (dotted name, glob) are attributes asked with a computed name. `soft` names are variables
    of a comprehension or a lambda somewhere in the block; they may also be more.
    """

    __slots__ = (
        "attrs", "called", "globs", "imports", "name_globs", "names", "own_attrs", "own_globs", "soft",
    )  # fmt: skip

    def __init__(self) -> None:  # by hand, as each function of a library has one
        self.names: set[str] = set()
        self.called: set[str] = set()
        self.imports: set[tuple[int, str]] = set()
        self.attrs: set[str] = set()
        self.own_attrs: set[str] = set()
        self.globs: set[str] = set()
        self.own_globs: set[str] = set()
        self.name_globs: set[tuple[str, str]] = set()
        self.soft: set[str] = set()


class FoundDynamic(NamedTuple):
    """A call that imports: `literal` is (level, module, names) where the name can be read.

    `asked` are the attributes asked of the module, dotted.
    """

    line: int
    kind: str
    text: str
    level: int
    pattern: str
    anchor: str
    literal: tuple[int, str, tuple[tuple[str, str], ...]] | None
    asked: str = ""


OWN_MODULE = FoundDynamic(0, "import", "", 1, "", "name", (1, "", ()))


class Expressions:
    """Collects over the expressions of one source."""

    def __init__(self, source: bytes | str, tree: ast.Module) -> None:
        self._source = source
        self._drawn = DrawnTexts(tree)
        self._lines: list[bytes] | None = None
        self.import_functions = {"__import__", "import_module"}
        self.importlibs = {"importlib"}
        self.resource_functions: set[str] = set()
        self.resource_readers = set(READERS_OF_RESOURCES)
        self.literals: list[Literal] = []
        self._selected: dict[int, ast.Call] = {}
        text = source if isinstance(source, str) else source.decode("latin-1")
        self.own_path = any(word in text for word in _PLACES)
        self._of_plugins = "entry_points" in text and any(word in text for word in _DISTRIBUTIONS)
        self.texts: dict[str, list[ast.expr]] = {}

    def collect(self, root: ast.AST, used: Collected, block: int) -> list[FoundDynamic]:
        """Add what `root` loads to `used`, and file names to `literals`; return the imports it makes."""
        names, called, attrs = used.names, used.called, used.attrs
        of_plugins, import_functions = self._of_plugins, self.import_functions
        found: list[FoundDynamic] = []
        stack: list[Any] = [root]  # every branch tests the class itself
        pop, push, extend = stack.pop, stack.append, stack.extend
        while stack:
            node = pop()
            cls = node.__class__
            if cls is _Name:
                names.add(node.id)
            elif cls is _Attribute:
                owner = node.value
                if owner.__class__ is _Name and not of_plugins:
                    names.add(f"{owner.id}.{node.attr}")
                    continue
                spelt, inner = _chain(node)
                if of_plugins and "entry_points" in spelt:
                    kind = _COMPUTED["entry_points"]
                    found.append(FoundDynamic(node.lineno, kind, self.text(node), 0, "", "package", None))
                if inner is None:
                    names.add(spelt)
                else:
                    asked = spelt.split(".")
                    if inner.__class__ is _Call and getattr(inner.func, "id", "") == "super":
                        used.own_attrs.add(asked.pop(0))
                    attrs.update(asked)
                    if is_own_module(inner):
                        found.append(OWN_MODULE._replace(line=node.lineno, asked=spelt))
                    else:
                        push(inner)
            elif cls is _Constant:
                value = node.value
                if value.__class__ is not str:
                    continue
                if "." in value and _FILE_NAME.fullmatch(value):
                    self.literals.append(Literal(node.lineno, block, value))
                elif value[:1] == "/":  # HERE + "/plugins"
                    self._add_path(node.lineno, block, [value])
            elif cls is _Call:
                function = node.func
                if function.__class__ is _Name:
                    spelt = name = function.id
                    called.add(spelt)
                elif function.__class__ is _Attribute:
                    name = function.attr
                    spelt, inner = _chain(function)
                    if inner is None:
                        called.add(spelt)
                    else:
                        push(function)
                else:
                    name = ""
                    push(function)
                if name in _NOTED_CALLS or name in import_functions:
                    self._call(node, name, used, block, found)
                if node.args:
                    extend(node.args)
                for keyword in node.keywords:
                    push(keyword.value)
            elif cls is _Tuple or cls is _List:
                extend(node.elts)
            elif cls is _Subscript:
                if is_own_module(node):
                    found.append(OWN_MODULE._replace(line=node.lineno))
                    continue
                push(node.value)
                push(node.slice)
            elif cls is _BinOp:
                if node.op.__class__ is ast.Div:
                    self._joined_by_slash(node, block)
                push(node.left)
                push(node.right)
            elif cls is _Compare:
                push(node.left)
                extend(node.comparators)
            elif cls is _JoinedStr or cls is _BoolOp:
                extend(node.values)
            elif cls is _UnaryOp:
                push(node.operand)
            else:
                _other(node, used, stack)
        return found

    def text(self, node: ast.expr) -> str:
        """Return the source of an expression, in one line of at most 120 characters."""
        if self._lines is None:
            source = self._source.encode() if isinstance(self._source, str) else self._source
            self._lines = source.splitlines()
        if node.lineno == node.end_lineno and node.lineno <= len(self._lines):
            line = self._lines[node.lineno - 1][node.col_offset : node.end_col_offset]
            spelt = line.decode("utf-8", "replace")
        else:
            spelt = ast.unparse(node)
        return spelt if len(spelt) <= 120 else spelt[:117] + "..."

    def _call(
        self, call: ast.Call, name: str, used: Collected, block: int, found: list[FoundDynamic]
    ) -> None:
        """Read a call of one of `_NOTED_CALLS`, or of what imports here; `name` is the last of its name."""
        owner = call.func.value if isinstance(call.func, ast.Attribute) else None
        if name in _CALLERS:
            given = (*call.args, *(keyword.value for keyword in call.keywords))
            used.called.update(spelt for spelt in map(dotted, given) if spelt)
        if name == "select" and isinstance(owner, ast.Call):  # the group of entry_points() stands there
            self._selected[id(owner)] = call
        if name in _ATTRIBUTE_READERS:
            self._read_attribute(call, name, used, found)
        elif name in _JOINERS:
            self._joined_by_call(call, block)
            if name in _OF_PACKAGES and self._reads_resources(name, owner):
                found.extend(_import_of_package(call))
        elif name in self.import_functions and self._imports(name, owner):
            found.append(self._read_import(call, name))
        elif name in _PROBES:
            found.extend(_probe(call, owner))
        elif name in _COMPUTED and (name != "exec" or (owner is None and not self._runs_known_text(call))):
            text = self.text(self._selected.get(id(call), call))
            found.append(FoundDynamic(call.lineno, _COMPUTED[name], text, 0, "", "package", None))

    def _runs_known_text(self, call: ast.Call) -> bool:
        """Say whether `exec` is given a text that stands there, and that names nothing which imports."""
        known: list[ast.expr] = list(call.args[:1])
        if known and isinstance(known[0], ast.Name):
            known = list(self.texts.get(known[0].id, []))
        texts = [one.value for one in known if isinstance(one, ast.Constant) and isinstance(one.value, str)]
        found = [text for text in texts if not any(word in text.encode() for word in _IMPORTING)]
        return len(known) == len(found) == 1

    def _imports(self, name: str, owner: ast.expr | None) -> bool:
        return owner is None or dotted(owner) in self.importlibs or name == "__import__"

    def _reads_resources(self, name: str, owner: ast.expr | None) -> bool:
        if owner is None:
            return name in self.resource_functions
        spelt = dotted(owner)
        return spelt in self.resource_readers or spelt.rpartition(".")[2] == "resources"

    def _read_import(self, call: ast.Call, function: str) -> FoundDynamic:
        arguments = {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg}
        order = (
            ("name", "globals", "locals", "fromlist", "level")
            if function == "__import__"
            else ("name", "package")
        )
        arguments.update(zip(order, call.args, strict=False))
        name = arguments.get("name")
        known = [] if name is None else self.texts.get(dotted(name), [])
        if len(known) == 1:
            name = known[0]  # a variable that this function sets once
        pattern, anchor = name_pattern(name)
        if pattern == "*" and not anchor and name is not None:
            drawn = self._read_drawn(call, function, self._drawn.of(name, self.texts))
            if drawn is not None:
                return drawn
        level = 0
        if function == "__import__":
            given = arguments.get("level")
            level = given.value if isinstance(given, ast.Constant) and isinstance(given.value, int) else 0
        elif pattern.startswith("."):
            level = len(pattern) - len(pattern.lstrip("."))
            pattern = pattern[level:]
            package = arguments.get("package")
            if isinstance(package, ast.Constant) and isinstance(package.value, str):
                parts = package.value.split(".")
                pattern, level = ".".join([*parts[: len(parts) - level + 1], pattern]).strip("."), 0
            elif package is not None:
                anchor = PACKAGES.get(dotted(package), "")
                if not anchor:  # relative to a package that is computed too
                    pattern = ""
        if anchor and level == 0:
            level, pattern = 1, pattern.lstrip(".")
        literal = None
        if pattern and "*" not in pattern:
            literal = (level, pattern, _from_list(arguments.get("fromlist")))
        return FoundDynamic(
            call.lineno,
            "import",
            self.text(call),
            level,
            pattern if pattern.strip("*.") or level else "",  # "*" alone means all below a package
            anchor or "package",
            literal,
        )

    def _read_drawn(self, call: ast.Call, function: str, texts: list[str]) -> FoundDynamic | None:
        """Return an import of one of several names, all of the same kind; None where they are none."""
        found: dict[tuple[int, str], list[str]] = {}
        for text in texts:
            if text.strip(".").replace(".", "").isidentifier():
                given = [keyword for keyword in call.keywords if keyword.arg != "name"]
                one = ast.Call(call.func, [ast.Constant(text), *call.args[1:]], given)
                read = self._read_import(ast.copy_location(one, call), function)
                if read.pattern:
                    found.setdefault((read.level, read.anchor), []).append(read.pattern)
        if not found:
            return None
        (level, anchor), patterns = max(found.items(), key=lambda item: len(item[1]))
        return FoundDynamic(call.lineno, "import", self.text(call), level, "|".join(patterns), anchor, None)

    def _read_attribute(
        self, call: ast.Call, function: str, used: Collected, found: list[FoundDynamic]
    ) -> None:
        """Read `getattr(value, "name")` as `value.name`; a name that is computed in part as a glob.

        Where the name is drawn from a literal, any that stands there is asked for.
        """
        of_value = function.startswith(("getattr", "hasattr"))
        owner = dotted(call.args[0]) if of_value and call.args else ""
        own = bool(of_value and call.args) and is_own_module(call.args[0])
        for argument in call.args[1:2] if of_value else call.args:
            pattern, anchor = name_pattern(argument)
            if own and pattern.isidentifier():
                found.append(OWN_MODULE._replace(line=call.lineno, asked=pattern))
            elif pattern == "*" and owner:
                names = self._drawn.of(argument, self.texts)
                used.names.update(f"{owner}.{name}" for name in names if name.isidentifier())
            elif (
                pattern.strip("*_")
                and not anchor
                and pattern.replace("*", "").replace(".", "").isidentifier()
            ):
                names = pattern.split(".")
                if not owner or len(names) > 1:
                    used.globs.update(name for name in names if "*" in name)
                    used.attrs.update(name for name in names if "*" not in name)
                elif "*" in pattern:
                    used.name_globs.add((owner, pattern))
                else:
                    used.names.add(f"{owner}.{pattern}")

    def _joined_by_call(self, call: ast.Call, block: int) -> None:
        parts = [
            part.value for part in call.args if isinstance(part, ast.Constant) and isinstance(part.value, str)
        ]
        self._add_path(call.lineno, block, parts)

    def _joined_by_slash(self, node: ast.BinOp, block: int) -> None:
        parts: list[str] = []
        walker: ast.expr = node
        while isinstance(walker, ast.BinOp) and isinstance(walker.op, ast.Div):
            if isinstance(walker.right, ast.Constant) and isinstance(walker.right.value, str):
                parts.append(walker.right.value)
            walker = walker.left
        self._add_path(node.lineno, block, parts[::-1])

    def _add_path(self, line: int, block: int, parts: list[str]) -> None:
        path = "/".join(part.strip("/") for part in parts if part.strip("./"))
        if path and _PATH_PART.fullmatch(path) and not (len(parts) == 1 and _FILE_NAME.fullmatch(path)):
            self.literals.append(Literal(line, block, path))


def is_own_module(node: ast.AST) -> bool:
    """Say whether this is `sys.modules[__name__]`, as a value."""
    return (
        isinstance(node, ast.Subscript)
        and isinstance(node.slice, ast.Name)
        and node.slice.id == "__name__"
        and dotted(node.value).rpartition(".")[2] == "modules"
    )


def _probe(call: ast.Call, owner: ast.expr | None) -> Iterator[FoundDynamic]:
    """Yield what `find_spec("name")` looks for, where that is a top-level module by a literal name."""
    is_library = owner is None or dotted(owner).rpartition(".")[2] in _OWNERS_OF_PROBES
    match call.args:
        case [ast.Constant(value=str(name))] if is_library and name.isidentifier():
            yield FoundDynamic(call.lineno, "probe", "", 0, name, "package", None)


def _import_of_package(call: ast.Call) -> Iterator[FoundDynamic]:
    """Yield the package that a reader of resources is given as a literal."""
    match call.args[:1]:
        case [ast.Constant(value=str(package))] if package.replace(".", "").isidentifier():
            yield FoundDynamic(call.lineno, "import", "", 0, package, "package", (0, package, ()))


def _other(node: ast.AST, used: Collected, stack: list[ast.AST]) -> None:
    """Read what is not frequent: scopes of their own first, then whatever has children."""
    if isinstance(node, ast.Lambda):
        arguments = node.args
        for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
            used.soft.add(argument.arg)
        used.soft.update(extra.arg for extra in (arguments.vararg, arguments.kwarg) if extra is not None)
        stack.append(node.body)
        stack.extend(
            [default for default in (*arguments.defaults, *arguments.kw_defaults) if default is not None]
        )
        return
    if isinstance(node, ast.NamedExpr):
        used.soft.add(node.target.id)
        stack.append(node.value)
        return
    if isinstance(node, _COMPREHENSIONS):
        for generator in node.generators:
            used.soft.update(part.id for part in ast.walk(generator.target) if isinstance(part, ast.Name))
            stack.append(generator.iter)
            stack.extend(generator.ifs)
        stack.extend([node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt])
        return
    for value in node.__dict__.values():
        if value.__class__ is list:
            stack.extend([child for child in value if isinstance(child, ast.AST)])
        elif isinstance(value, ast.AST):
            stack.append(value)


def _chain(node: Any) -> tuple[str, Any]:
    """Split `a.b.c` into ("a.b.c", None); attributes of another value v into ("b.c", v)."""
    spelt, node = node.attr, node.value
    while node.__class__ is _Attribute:
        spelt, node = f"{node.attr}.{spelt}", node.value
    return (f"{node.id}.{spelt}", None) if node.__class__ is _Name else (spelt, node)


def _from_list(node: ast.expr | None) -> tuple[tuple[str, str], ...]:
    if not isinstance(node, (ast.List, ast.Tuple)):
        return ()
    names = [
        part.value for part in node.elts if isinstance(part, ast.Constant) and isinstance(part.value, str)
    ]
    return tuple((name, "") for name in names if name)
