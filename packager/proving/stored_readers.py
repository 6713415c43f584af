"""Which functions of stored modules read a global, and which change it: by the spelling of its name."""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

from packager.graph import MUTATORS, dotted
from packager.quick_dataclasses import dataclass, field

from .module_globals import top_of

CONSTRUCTORS = ("__init__", "__new__", "__post_init__")
_OF_THE_OBJECT = ("__init__", "__post_init__")
_CONTAINERS = (ast.List, ast.Tuple, ast.Set, ast.Dict, ast.ListComp, ast.SetComp, ast.GeneratorExp)
FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class _Function:
    """A function or method: the global name that leads to it, and what it does with names.

    `reads` are names and attributes whose values it takes, `writes` those that it binds or puts something
    into, `counts` those among them that it only adds to, `calls` the last parts of what it calls.
    """

    module: str
    owner: str
    node: FunctionNode
    reads: set[str] = field(default_factory=set)
    writes: set[str] = field(default_factory=set)
    counts: set[str] = field(default_factory=set)
    calls: set[str] = field(default_factory=set)
    qualname: str = ""


class StoredReaders:
    """The functions of stored modules, each module read once; `files` says how errors call them."""

    def __init__(
        self, sources: Mapping[str, bytes], files: Mapping[str, str], is_live: Callable[[str, int], bool]
    ) -> None:
        self._sources = sources
        self._files = files
        self._is_live = is_live
        self._known: dict[str, list[_Function]] = {}
        self._words: set[str] | None = None

    def reader(self, module: str, name: str, *, whole: bool = False) -> str:
        """Return the place of a function that reads a global and does not look after it; "" where none does.

        A name that is only counted up has none. `whole` says that what reads the global itself reads this
        part of it, as what calls a network does its weights.
        """
        names = _names_in(name) | ({top_of(name)} if whole else frozenset())
        keepers = {id(one) for one in self._keepers(module, names)}
        everywhere = [one for home in self._sources for one in self._functions_in(home)]
        writing = [one for one in everywhere if one.writes & names]
        if writing and all(one.writes & names <= one.counts for one in writing):
            return ""
        for one in everywhere:
            if one.reads & names and id(one) not in keepers and self._is_live(one.module, one.node.lineno):
                return f"{self._files.get(one.module, one.module)}:{one.node.lineno} in {one.qualname}"
        return ""

    def is_looked_after(self, name: str, *, whole: bool = False) -> bool:
        """Say whether a function of a stored module that is no constructor changes what has this name.

        Of what is a part of a `whole`, as the value of a context variable, it is the whole that has one.
        """
        names = frozenset({top_of(name)}) if whole else _names_in(name)
        everywhere = (one for home in self._sources for one in self._functions_in(home))
        return any(one.writes & names and one.node.name not in CONSTRUCTORS for one in everywhere)

    def constructor(self, module: str, name: str, made_by: Collection[tuple[str, str]]) -> str:
        """Return the place of a function that changes a global, itself or by what it calls; "" for none.

        `made_by` are the functions that are asked about, by module and qualified name. What is only counted
        up is not told.
        """
        names = _names_in(name)
        keepers = self._keepers(module, names)
        if all(one.writes & names <= one.counts for one in keepers if one.writes & names):
            return ""
        elsewhere = [one for home in self._sources if home != module for one in self._functions_in(home)]
        known = {one.node.name for one in keepers} | {one.owner for one in keepers}
        for one in (*keepers, *_calling(elsewhere, known)):
            is_own_state = one.node.name in _OF_THE_OBJECT and one.writes & names
            if (one.module, one.qualname) in made_by and not is_own_state:
                return f"{one.qualname} ({self._files.get(one.module, one.module)}:{one.node.lineno})"
        return ""

    def names(self, word: str) -> bool:
        """Say whether a stored module speaks of a global: by its name, as an attribute, or in a text."""
        if self._words is None:
            self._words = {word for text in self._sources.values() for word in _words_of(text)}
        return word in self._words

    def fillers(self, module: str, name: str, *, whole: bool = False) -> frozenset[str]:
        """Return the global names of a module whose functions change one of its globals.

        `whole` says that whatever asks for the global may, by a method of it.
        """
        own = self._functions_in(module) if whole else ()
        asking = {one.owner for one in own if top_of(name) in one.reads}
        return frozenset({one.owner for one in self._keepers(module, _names_in(name))} | asking)

    def callers(self, module: str, name: str) -> frozenset[tuple[str, str]]:
        """Return the functions and classes of other modules that call what changes a global of this one.

        Each is a module and a global name of it; what calls them counts, too.
        """
        elsewhere = [one for home in self._sources if home != module for one in self._functions_in(home)]
        keepers = self._keepers(module, _names_in(name))
        known = {one.node.name for one in keepers} | {one.owner for one in keepers}
        return frozenset((one.module, one.owner) for one in _calling(elsewhere, known))

    def _keepers(self, module: str, names: frozenset[str]) -> list[_Function]:
        """Return the functions of a module that change a name, themselves or by what they call."""
        own = self._functions_in(module)
        found = [one for one in own if one.writes & names]
        known = {one.node.name for one in found}
        return [*found, *_calling([one for one in own if one not in found], known)]

    def _functions_in(self, module: str) -> list[_Function]:
        if module not in self._known:
            self._known[module] = list(_functions_of(module, self._sources.get(module, b"")))
        return self._known[module]


def _words_of(text: bytes) -> Iterator[str]:
    """Yield the names that a module reads or imports, its attributes, and its texts."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=word, ctx=ast.Load()) | ast.Attribute(attr=word) | ast.alias(name=word):
                yield word
            case ast.Constant(value=str() as word):
                yield word


def _calling(functions: Iterable[_Function], known: set[str]) -> list[_Function]:
    """Return the functions that call something by these names, and what calls them in turn."""
    left, found = list(functions), list[_Function]()
    while more := [one for one in left if one.calls & known]:
        found += more
        known = {one.node.name for one in more}
        left = [one for one in left if not any(one is other for other in more)]
    return found


def _names_in(name: str) -> frozenset[str]:
    """Return the words by which code speaks of something: an attribute of it, else the global's name."""
    attribute = name.partition("[")[0].partition(".")[2].partition(".")[0]
    return frozenset([attribute or top_of(name)])


def _functions_of(module: str, text: bytes) -> Iterator[_Function]:
    """Yield the functions of a module that are inside of no other; those inside count as a part of them."""
    try:
        waiting = [(node, "", "") for node in reversed(ast.parse(text).body)]
    except (SyntaxError, ValueError):
        return
    while waiting:
        node, owner, prefix = waiting.pop()
        if isinstance(node, FunctionNode):
            found = _Function(module, owner or node.name, node, qualname=f"{prefix}{node.name}")
            _read(found)
            yield found
        elif isinstance(node, ast.ClassDef):
            inner = f"{prefix}{node.name}."
            waiting += [(one, owner or node.name, inner) for one in reversed(node.body)]
        else:
            children = [one for one in ast.iter_child_nodes(node) if isinstance(one, ast.stmt)]
            waiting += [(one, owner, prefix) for one in reversed(children)]


def _read(function: _Function) -> None:
    nodes = list(ast.walk(function.node))
    outer = [node for node in nodes if isinstance(node, ast.Global | ast.Nonlocal)]
    shared = {name for node in outer for name in node.names}
    own = {node.arg for node in nodes if isinstance(node, ast.arg)}
    own |= {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    own -= shared
    receivers = {id(one) for node in nodes for one in _written_into(node)}
    for node in nodes:
        if isinstance(node, ast.Name) and node.id in own:
            continue
        name = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
        if isinstance(node, ast.Call):
            function.calls.add(dotted(node.func).rpartition(".")[2])
        elif isinstance(node, ast.AugAssign):
            target = dotted(node.target).rpartition(".")[2]
            if isinstance(node.op, ast.Add | ast.Sub) and not isinstance(node.value, _CONTAINERS):
                function.counts.add(target)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.isidentifier():
            function.reads.add(node.value)  # getattr(config, "RATE")
        elif name and (id(node) in receivers or not isinstance(getattr(node, "ctx", None), ast.Load)):
            function.writes.add(name)
        elif name:
            function.reads.add(name)


def _written_into(node: ast.AST) -> Iterator[ast.expr]:
    """Yield what something is put into: by an entry, by an attribute, by a method that does so."""
    into: ast.expr | None = None
    if isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load):
        into = node.value
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in MUTATORS:
        into = node.func.value
    while isinstance(into, ast.Subscript):
        into = into.value
    if into is not None:
        yield into
