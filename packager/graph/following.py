"""Following imports: modules are reached, decided and executed on paper, parents first.

Rules 1 to 5 of the walk. What live code then does with the names it imported is using.py's.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence

from packager.graph.blocks import Blocks
from packager.graph.lazy_parents import lazy_source
from packager.graph.library import Library, Volume
from packager.graph.records import Decide, Edge, Problem, Verdict
from packager.graph.resolve import LazyTarget, Names
from packager.graph.scan import MODULE_BLOCK, Import
from packager.names import OWN_IMPORTER

__all__ = ["Following", "circumstance"]

_NOT_READ = {
    "extension": "it is compiled code",
    "bytecode": "only its bytecode is here",
    "builtin": "it is part of the Python interpreter",
    "frozen": "it is frozen into the Python interpreter",
    "missing": "no module of that name was found",
    "unknown": "whether it exists cannot be told without running code",
}
_SOFT = frozenset(["try", "except", "guard"])


class Following:
    """The modules reached so far, the edges between them, and the blocks that wait to be run.

    `ran` are blocks whose imports were followed, for the caller to look at what else they do;
    `lacking` is called with a module that was asked for a name which nothing explains.
    """

    def __init__(
        self,
        library: Library,
        blocks: Blocks,
        decide: Decide,
        lacking: Callable[[Volume], None],
        *,
        all_guards: bool,
        lazy_parents: bool,
    ) -> None:
        self._library, self._blocks, self._names = library, blocks, blocks.names
        self._decide, self._lacking = decide, lacking
        self._all_guards, self._lazy_parents = all_guards, lazy_parents
        self.verdicts: dict[str, Verdict] = {}
        self.edges: list[Edge] = []
        self._known_steps: set[tuple[str, str, str]] = set()
        self.problems: dict[Problem, None] = {}
        self.dynamics: dict[tuple[str, int], None] = {}
        self.to_run: deque[tuple[Volume, int]] = deque()
        self.ran: deque[tuple[Volume, int]] = deque()
        self.newly_followed: list[Volume] = []
        self._incoming: dict[str, list[Edge]] = {}
        self._eager_texts: dict[str, bytes] = {}

    @property
    def names(self) -> Names:
        """Name resolution over what is followed."""
        return self._names

    def is_followed(self, volume: Volume) -> bool:
        """Whether the walk reads this module."""
        verdict = self.verdicts.get(volume.name)
        return verdict is not None and verdict.follow

    def reach(self, name: str, edge: Edge) -> Volume:
        """Come to module `name` along `edge`: parents first, each decided when it is first reached."""
        self._add_edge(edge)
        if name not in self.verdicts:
            parts = name.split(".")
            for end in range(1, len(parts)):
                parent, child = ".".join(parts[:end]), ".".join(parts[: end + 1])
                if (child, parent, "") not in self._known_steps:
                    self._known_steps.add((child, parent, ""))
                    self._add_edge(Edge(child, parent, "parent", edge.file, edge.line))
                if parent not in self.verdicts:
                    self._settle(parent)
            self._settle(name)
        return self._library[name]

    def run_next(self) -> None:
        """Follow what the next waiting block says, and the blocks in it that run with it."""
        volume, index = self.to_run.popleft()
        blocks, imports = volume.scan.blocks, volume.scan.imports
        waiting = [index]
        while waiting:
            at = waiting.pop()
            block = blocks[at]
            volume.live.add(at)
            self.ran.append((volume, at))
            cut = self._blocks.outcome(volume, at).cut if block.kind == "try" and not self._all_guards else -1
            for statement in block.imports:
                if not 0 <= cut < imports[statement].order:
                    self._follow_import(volume, imports[statement])
            for dynamic in block.dynamics:
                self.dynamics[volume.name, dynamic] = None
            for child in reversed(block.children):
                if 0 <= cut < blocks[child].order:
                    continue
                if blocks[child].kind == "function":
                    if block.function:  # a function in a live function
                        waiting.append(child)
                elif self._blocks.runs(volume, child)[0] is not False:
                    waiting.append(child)

    def follow_name(self, volume: Volume, name: str, edge: Edge) -> bool:
        """Run what gives `volume` its `name` (rule 2); say whether it was found."""
        waiting = [(volume, name)]
        seen: set[tuple[str, str]] = set()
        found = False
        while waiting:
            home, wanted = waiting.pop()
            if (home.name, wanted) in seen or not self.is_followed(home):
                continue
            seen.add((home.name, wanted))
            provider = self._names.provider(home, wanted)
            if provider is None:
                self._lacking(home)
                continue
            found = True
            if provider.kind == "submodule":
                target = provider.volume.name
                step = Edge(edge.importer, target, edge.kind, edge.file, edge.line, (), edge.detail)
                self.reach(target, step)
            elif provider.kind == "lazy":
                for lazy in provider.targets:
                    self.reach_lazily(home, lazy)
                    waiting.append((lazy.volume, lazy.name))
        return found

    def reach_lazily(self, package: Volume, lazy: LazyTarget) -> None:
        """Somebody asks a lazy package for a name, and its table leads to another module."""
        target = lazy.volume.name
        step = (package.name, target, lazy.name)
        if step in self._known_steps:
            return
        self._known_steps.add(step)
        self.reach(target, Edge(package.name, target, "lazy", package.found.file, lazy.line, (lazy.name,)))

    def _follow_import(self, volume: Volume, statement: Import) -> None:
        target = volume.target(statement)
        file = volume.found.file
        if target == OWN_IMPORTER:  # no module: each loader gives itself
            return
        if not target:
            spelt = "." * statement.level + statement.module
            message = f"attempted relative import beyond top-level package: {spelt} in {volume.name}"
            self.problems[Problem(volume.name, "beyond top level", message, file, statement.line)] = None
            return
        asked = tuple([name for name, _ in statement.names])
        kind, detail = circumstance(volume, statement)
        edge = Edge(volume.name, target, kind, file, statement.line, asked, detail)
        source = self.reach(target, edge)
        followed = self.is_followed(source)
        for name in asked:
            if name == "*":
                if followed:
                    self._follow_star(source, edge)
            elif followed:
                self.follow_name(source, name, edge)
            elif self._library.has_submodule(source, name):
                inner = f"{target}.{name}"
                self.reach(inner, Edge(volume.name, inner, kind, file, statement.line, (), detail))

    def _follow_star(self, volume: Volume, edge: Edge) -> None:
        """A star takes the submodules that `__all__` names, and the whole table of a lazy module."""
        exports = volume.scan.exports
        for name in exports.names if exports is not None else ():
            if self._library.has_submodule(volume, name) and not self._blocks.bindings(volume, name):
                target = f"{volume.name}.{name}"
                self.reach(target, Edge(edge.importer, target, "star", edge.file, edge.line))
        if volume.name in self._eager_texts and exports is None:
            self._make_eager(volume)
        elif volume.scan.lazy is not None:
            self._follow_table(volume)

    def _follow_table(self, volume: Volume) -> None:
        waiting = [volume]
        seen = {volume.name}
        while waiting:
            package = waiting.pop()
            for lazy in self._names.table(package):
                self.reach_lazily(package, lazy)
                source = lazy.volume
                if lazy.name != "*":
                    edge = Edge(package.name, source.name, "lazy", package.found.file, lazy.line)
                    self.follow_name(source, lazy.name, edge)
                elif source.name not in seen and source.scan.lazy is not None:
                    seen.add(source.name)
                    waiting.append(source)

    # -- decisions ----------------------------------------------------------------------------

    def _settle(self, name: str) -> None:
        volume = self._library[name]
        if volume.found.kind == "implicit":
            verdict = Verdict(True)
        else:
            verdict = self._decide(name, tuple(self._incoming[name]))
        if verdict.follow and verdict.source is not None:
            self._replace(volume, verdict.source.encode())
        self.verdicts[name] = verdict
        if verdict.follow:
            self._check(volume)
            if self._lazy_parents:
                self._make_lazy(volume)
            self.newly_followed.append(volume)
            self.to_run.append((volume, MODULE_BLOCK))

    def _check(self, volume: Volume) -> None:
        """Note why a followed module cannot be read."""
        name, found = volume.name, volume.found
        if found.kind in _NOT_READ and volume.source is None:
            edges = self._incoming[name]
            if not (found.kind == "missing" and all(edge.kind in _SOFT for edge in edges)):
                why = found.problem or _NOT_READ[found.kind]
                message = f"{name} has no source to store: {why}"
                self.problems[Problem(name, found.kind, message, edges[0].file, edges[0].line)] = None
            return
        _ = volume.scan
        reason, message, line = volume.problem
        if reason:
            self.problems[Problem(name, reason, f"{name}: {message}", found.file, line)] = None

    def _make_lazy(self, volume: Volume) -> None:
        source = volume.source
        if source is None or not volume.found.is_package or not volume.scan.rewritable:
            return
        text = lazy_source(source, lambda name: self._library.has_submodule(volume, name))
        if text is not None:
            self._eager_texts[volume.name] = source
            self._replace(volume, text)

    def _make_eager(self, volume: Volume) -> None:
        """A star import sees nothing of a lazy table unless `__all__` says so: undo it."""
        self._replace(volume, self._eager_texts.pop(volume.name))
        self.newly_followed.append(volume)
        self.to_run.append((volume, MODULE_BLOCK))

    def _replace(self, volume: Volume, text: bytes) -> None:
        volume.replace(text)
        self._blocks.forget(volume.name)
        self._names.forget(volume.name)

    def _add_edge(self, edge: Edge) -> None:
        self.edges.append(edge)
        self._incoming.setdefault(edge.target, []).append(edge)


def circumstance(volume: Volume, statement: Import) -> tuple[str, str]:
    """The kind of an edge, and its detail: the strongest of what stands around the statement."""
    blocks, index = volume.scan.blocks, statement.block
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
    if statement.kind == "dynamic":
        return "dynamic", function
    if star and star[0][0] == "*":
        return "star", ""
    if function:
        return "function", function
    if "guard" in around:
        return "guard", around["guard"]
    if "except" in around:
        return "except", ""
    if "try" in around or "else" in around:
        return "try", ""
    return ("top", "") if statement.sure else ("guard", "")
