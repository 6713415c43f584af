"""ImportFollower imports: modules are reached, decided and executed on paper, parents first.

Rules 1 to 5 of the walk. What live code then does with the names it imported is liveness.py's.
"""

from __future__ import annotations

import ast
import sys
from collections import deque
from collections.abc import Callable, Sequence

from packager.names import OWN_IMPORTER

from .blocks import Blocks
from .module_table import ModuleTable, SourceModule
from .records import Decide, Edge, Problem, WalkDecision
from .resolve import LazyTarget
from .scan import MODULE_BLOCK, Import

_NOT_READ = {
    "extension": "it is compiled code",
    "bytecode": "only its bytecode is here",
    "builtin": "it is part of the Python interpreter",
    "frozen": "it is frozen into the Python interpreter",
    "missing": "no module of that name was found",
    "unknown": "whether it exists cannot be told without running code",
}
SOFT_KINDS = frozenset(["try", "except", "guard"])
"""Kinds of imports that may fail, and code goes on."""

_TABLE = """
_lazy_names = {table}


def __getattr__(name):
    if name not in _lazy_names:
        raise AttributeError(f"module {{__name__!r}} has no attribute {{name!r}}")
    from importlib import import_module

    entry = _lazy_names[name]
    if isinstance(entry, str):
        return import_module(entry, __name__)
    value = globals()[name] = getattr(import_module(entry[0], __name__), name)
    return value


def __dir__():
    return sorted({{*globals(), *_lazy_names}})
"""


class ImportFollower:
    """The modules reached so far, the edges between them, and the blocks that wait to be run.

    `to_run` are blocks whose imports are still to be followed, `ran` those whose names are still to
    be looked at; `newly_followed` are modules whose names could not be resolved before. `names` is
    name resolution over what is followed.
    """

    def __init__(
        self,
        table: ModuleTable,
        blocks: Blocks,
        decide: Decide,
        *,
        all_guards: bool,
        lazy_parents: bool,
        leaves_out: Callable[[str], bool],
    ) -> None:
        self._leaves_out = leaves_out
        self._table, self._blocks, self.names = table, blocks, blocks.names
        self._decide = decide
        self._all_guards, self._lazy_parents = all_guards, lazy_parents
        self.decisions: dict[str, WalkDecision] = {}
        self.edges: list[Edge] = []
        self._known_steps: set[tuple[str, str, str]] = set()
        self.problems: dict[Problem, None] = {}
        self.dynamics: dict[tuple[str, int], None] = {}
        self.to_run: deque[tuple[SourceModule, int]] = deque()
        self.ran: deque[tuple[SourceModule, int]] = deque()
        self.newly_followed: list[SourceModule] = []
        self._incoming: dict[str, list[Edge]] = {}
        self._eager_texts: dict[str, bytes] = {}
        self._explained: set[tuple[str, int]] = set()

    def is_followed(self, module: SourceModule) -> bool:
        """Say whether the walk reads this module."""
        decision = self.decisions.get(module.name)
        return decision is not None and decision.follow

    def reach(self, name: str, edge: Edge) -> SourceModule:
        """Come to module `name` along `edge`: parents first, each decided when it is first reached."""
        self._add_edge(edge)
        if name not in self.decisions:
            parts = name.split(".")
            for end in range(1, len(parts)):
                parent, child = ".".join(parts[:end]), ".".join(parts[: end + 1])
                if (child, parent, "") not in self._known_steps:
                    self._known_steps.add((child, parent, ""))
                    self._add_edge(Edge(child, parent, "parent", edge.file, edge.line))
                if parent not in self.decisions:
                    self._settle(parent)
            self._settle(name)
        return self._table[name]

    def run_next(self) -> None:
        """Follow what the next waiting block says, and the blocks in it that run with it."""
        module, index = self.to_run.popleft()
        blocks, imports = module.scan.blocks, module.scan.imports
        waiting = [index]
        while waiting:
            at = waiting.pop()
            block = blocks[at]
            module.live.add(at)
            self.ran.append((module, at))
            cut = self._blocks.outcome(module, at).cut if block.kind == "try" and not self._all_guards else -1
            for statement in block.imports:
                if not 0 <= cut < imports[statement].order:
                    self._follow_import(module, imports[statement])
            for line, name in block.probes:
                self.follow_probe(module, line, name)
            if (module.name, index) not in self._explained:
                self._ask(module, at)
            for child in reversed(block.children):
                if 0 <= cut < blocks[child].order:
                    continue
                if blocks[child].kind == "function":
                    if block.function:  # a function in a live function
                        waiting.append(child)
                elif self._blocks.runs(module, child)[0] is not False:
                    waiting.append(child)

    def follow_name(self, module: SourceModule, name: str, edge: Edge) -> bool:
        """Run what gives `module` its `name` (rule 2); say whether it was found."""
        waiting = [(module, name)]
        seen: set[tuple[str, str]] = set()
        found = False
        while waiting:
            home, wanted = waiting.pop()
            if (home.name, wanted) in seen or not self.is_followed(home):
                continue
            seen.add((home.name, wanted))
            provider = self.names.provider(home, wanted)
            if provider is None:
                self.run_getattr(home)
                continue
            found = True
            if provider.kind == "submodule":
                target = provider.module.name
                step = Edge(edge.importer, target, edge.kind, edge.file, edge.line, (), edge.detail)
                self.reach(target, step)
            elif provider.kind == "lazy":
                for lazy in provider.targets:
                    self.reach_lazily(home, lazy)
                    waiting.append((lazy.module, lazy.name))
        return found

    def run_function(self, module: SourceModule, block: int) -> None:
        """Make a function live: it runs once, if its module is followed."""
        if block in module.live:
            return
        module.live.add(block)
        if self.is_followed(module):
            code = module.scan.blocks[block]
            follow = code.imports or code.dynamics or code.children or code.probes
            (self.to_run if follow else self.ran).append((module, block))

    def run_getattr(self, module: SourceModule, *, explained: bool = False) -> None:
        """Run a module's own `__getattr__`, for a name that nothing else explains.

        Where its table does (`explained`), the computed import in it is no question.
        """
        if explained and module.name in self._eager_texts:
            return  # it is ours, and imports what every Python has
        for ending in self.names.resolve(module, ("__getattr__",), self.is_followed):
            if ending.kind != "def":
                continue
            key = (ending.module.name, ending.at)
            if explained and ending.at not in ending.module.live:
                self._explained.add(key)
            elif not explained and key in self._explained:
                self._explained.discard(key)
                self._ask(ending.module, ending.at, inside=True)
            self.run_function(ending.module, ending.at)

    def follow_probe(self, module: SourceModule, line: int, name: str) -> None:
        """Reach a module that is only looked for, where it is here and left to the target, or is stored.

        The target is then told apart by it as by an import in a `try`. What is absent is not asked of it. A
        module of its own package is stored, so that it is found there, too.
        """
        top = module.name.partition(".")[0]
        if name == top or name in sys.stdlib_module_names:
            return
        if name.partition(".")[0] == top:
            wanted = all(part.isidentifier() for part in name.split("."))
        else:
            wanted = name.isidentifier() and self._leaves_out(name)
        if wanted and self._table.exists(name) is True:
            self.reach(name, Edge(module.name, name, "probe", module.found.file, line))

    def _ask(self, module: SourceModule, index: int, *, inside: bool = False) -> None:
        """Take up the computed imports of a block; with `inside` those of the live blocks in it, too."""
        blocks = module.scan.blocks
        for dynamic in blocks[index].dynamics:
            self.dynamics[module.name, dynamic] = None
        for child in blocks[index].children if inside else ():
            if child in module.live:
                self._ask(module, child, inside=True)

    def reach_lazily(self, package: SourceModule, lazy: LazyTarget) -> None:
        """Reach the module that the table of a lazy package gives for a name."""
        target = lazy.module.name
        step = (package.name, target, lazy.name)
        if step in self._known_steps:
            return
        self._known_steps.add(step)
        self.reach(target, Edge(package.name, target, "lazy", package.found.file, lazy.line, (lazy.name,)))
        self.run_getattr(package, explained=True)

    def _follow_import(self, module: SourceModule, statement: Import) -> None:
        target = module.target(statement)
        file = module.found.file
        if target == OWN_IMPORTER:  # no module: each loader gives itself
            return
        if not target:
            spelt = "." * statement.level + statement.module
            message = f"attempted relative import beyond top-level package: {spelt} in {module.name}"
            self.problems[Problem(module.name, "beyond top level", message, file, statement.line)] = None
            return
        asked = tuple([name for name, _ in statement.names])
        kind, detail = circumstance(module, statement)
        edge = Edge(module.name, target, kind, file, statement.line, asked, detail)
        source = self.reach(target, edge)
        followed = self.is_followed(source)
        for name in asked:
            if name == "*":
                if followed:
                    self._follow_star(source, edge)
            elif followed:
                self.follow_name(source, name, edge)
            elif self._table.has_submodule(source, name):
                inner = f"{target}.{name}"
                self.reach(inner, Edge(module.name, inner, kind, file, statement.line, (), detail))

    def _follow_star(self, module: SourceModule, edge: Edge) -> None:
        """Follow a star: the submodules that `__all__` names, and the whole table of a lazy module."""
        exports = module.scan.exports
        for name in exports.names if exports is not None else ():
            if self._table.has_submodule(module, name) and not self._blocks.bindings(module, name):
                target = f"{module.name}.{name}"
                self.reach(target, Edge(edge.importer, target, "star", edge.file, edge.line))
        if module.name in self._eager_texts and exports is None:
            self._make_eager(module)
        elif module.scan.lazy is not None:
            self._follow_table(module)

    def _follow_table(self, module: SourceModule) -> None:
        waiting = [module]
        seen = {module.name}
        while waiting:
            package = waiting.pop()
            for lazy in self.names.lazy_table(package):
                self.reach_lazily(package, lazy)
                source = lazy.module
                if not lazy.name:
                    continue
                if lazy.name != "*":
                    edge = Edge(package.name, source.name, "lazy", package.found.file, lazy.line)
                    self.follow_name(source, lazy.name, edge)
                elif source.name not in seen and source.scan.lazy is not None:
                    seen.add(source.name)
                    waiting.append(source)

    # -- decisions ----------------------------------------------------------------------------

    def _settle(self, name: str) -> None:
        module = self._table[name]
        if module.found.kind == "implicit":
            decision = WalkDecision(True)
        else:
            decision = self._decide(name, tuple(self._incoming[name]))
        if decision.follow and decision.source is not None:
            self._replace(module, decision.source.encode())
        self.decisions[name] = decision
        if decision.follow:
            if module.follow():
                self._forget(name)
            self._check(module)
            if self._lazy_parents:
                self._make_lazy(module)
            self.newly_followed.append(module)
            self.to_run.append((module, MODULE_BLOCK))

    def _check(self, module: SourceModule) -> None:
        """Note why a followed module cannot be read."""
        name, found = module.name, module.found
        if found.kind in _NOT_READ and module.source is None:
            edges = self._incoming[name]
            if not (found.kind == "missing" and all(edge.kind in SOFT_KINDS for edge in edges)):
                why = found.problem or _NOT_READ[found.kind]
                message = f"{name} has no source to store: {why}"
                self.problems[Problem(name, found.kind, message, edges[0].file, edges[0].line)] = None
            return
        _ = module.scan
        reason, message, line = module.problem
        if reason:
            self.problems[Problem(name, reason, f"{name}: {message}", found.file, line)] = None

    def _make_lazy(self, module: SourceModule) -> None:
        source = module.source
        if source is None or not module.found.is_package or not module.scan.rewritable:
            return
        text = lazy_source(source, lambda name: self._table.has_submodule(module, name))
        if text is not None:
            self._eager_texts[module.name] = source
            self._replace(module, text)

    def _make_eager(self, module: SourceModule) -> None:
        """Undo a lazy table: a star import sees nothing of it unless `__all__` says so."""
        self._replace(module, self._eager_texts.pop(module.name))
        self.newly_followed.append(module)
        self.to_run.append((module, MODULE_BLOCK))

    def _replace(self, module: SourceModule, text: bytes) -> None:
        module.replace(text)
        self._forget(module.name)

    def _forget(self, name: str) -> None:
        """Forget what was concluded from a scan that is another one now."""
        self._blocks.forget(name)
        self.names.forget()

    def _add_edge(self, edge: Edge) -> None:
        self.edges.append(edge)
        self._incoming.setdefault(edge.target, []).append(edge)


def circumstance(module: SourceModule, statement: Import) -> tuple[str, str]:
    """Return the kind of an edge, and its detail: the strongest of what stands around the statement."""
    blocks, index = module.scan.blocks, statement.block
    star: Sequence[tuple[str, str]] = statement.names[:1]
    if index == MODULE_BLOCK and statement.kind != "dynamic":
        return ("star" if star and star[0][0] == "*" else "top" if statement.sure else "guard"), ""
    function = blocks[index].function
    around: dict[str, str] = {}
    while index > 0:
        around.setdefault(blocks[index].kind, blocks[index].detail)
        index = blocks[index].parent
    for kind in ("type_checking", "main"):
        if kind in around:
            return kind, ""
    is_star = bool(star) and star[0][0] == "*"
    if (function or statement.kind == "dynamic") and not is_star and _is_tried(module, statement):
        return "try", function
    if statement.kind == "dynamic":
        return "dynamic", function
    if is_star:
        return "star", ""
    if function:
        return "function", function
    if "guard" in around:
        return "guard", around["guard"]
    if "except" in around:
        return "except", ""
    if "else" in around or _is_tried(module, statement):
        return "try", ""
    return ("top", "") if statement.sure else ("guard", "")


def _is_tried(module: SourceModule, statement: Import) -> bool:
    """Say whether a `try` of the same function, or at the top, catches it where the import fails."""
    blocks = module.scan.blocks
    inner = blocks[statement.block].function
    index = statement.block
    while index > 0 and blocks[index].function == inner:
        if blocks[index].kind == "try" and blocks[index].test in ("import", "any"):
            return True
        index = blocks[index].parent
    return False


def lazy_source(source: bytes, is_submodule: Callable[[str], bool]) -> bytes | None:
    """Return the source with a table in place of its own package's imports; None where none can move."""
    tree = ast.parse(source)
    table: dict[str, str | tuple[str, str]] = {}
    moved: list[ast.ImportFrom] = []
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.level == 1 and _can_wait(node, is_submodule):
            moved.append(node)
            for alias in node.names:
                if node.module is None:
                    table[alias.name] = f".{alias.name}"
                else:
                    table[alias.name] = (f".{node.module}", alias.name)
                    top = node.module.partition(".")[0]
                    table.setdefault(top, f".{top}")
    if not moved:
        return None
    return _without(source, moved) + _TABLE.format(table=repr(table)).encode()


def _can_wait(node: ast.ImportFrom, is_submodule: Callable[[str], bool]) -> bool:
    for alias in node.names:
        if alias.name == "*" or alias.asname not in (None, alias.name):
            return False
        if node.module is not None and is_submodule(alias.name):
            return False  # `from .conv import conv`: the function hides the module, in either order
    return True


def _without(source: bytes, nodes: list[ast.ImportFrom]) -> bytes:
    """Put `pass` in the place of statements, by column: several may share a line."""
    lines = source.splitlines(keepends=True)
    for node in reversed(nodes):
        first, last = node.lineno - 1, (node.end_lineno or node.lineno) - 1
        before, after = lines[first][: node.col_offset], lines[last][node.end_col_offset :]
        lines[first : last + 1] = [before + b"pass" + after]
    return b"".join(lines).rstrip(b"\n") + b"\n"
