"""What a name stands for: through bindings, re-exports, star imports, submodules and lazy tables.

All of it reads; nothing here follows an import or makes code live.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from packager.quick_dataclasses import dataclass

from .module_table import ModuleTable, SourceModule
from .scan import Binding, Import, NameUse

_MODULE_ATTRIBUTES = frozenset(
    "__doc__ __name__ __file__ __path__ __spec__ __package__ __loader__ __dict__ __builtins__".split()
)
_WITH_CODE = frozenset(["source", "zip", "loader", "text", "main"])

_Path = tuple[SourceModule, tuple[str, ...]]  # a dotted name, looked up in a module
LiveBindings = Callable[[SourceModule, str], Sequence[Binding]]


@dataclass(frozen=True, slots=True)
class LazyTarget:
    """An entry of a lazy table: the module, what the name is called there, the line of the entry."""

    module: SourceModule
    name: str
    line: int


@dataclass(frozen=True, slots=True)
class Provider:
    """What gives module X its name n: `kind` is "bound", "submodule", "star" or "lazy".

    `module` is X itself, the submodule, or the star source that binds it; `targets` are the
    entries of the lazy table.
    """

    kind: str
    module: SourceModule
    targets: tuple[LazyTarget, ...] = ()


class Ending(NamedTuple):
    """Where a dotted name leads: `kind` is "def" or "class" (`at` in `module`), "module"
    (`module`), "value" (an object bound in `module`), "lazy" (the name `rest[0]` of lazy
    `module`), "foreign" (`module` is not entered) or "unknown". `rest` are the attributes left.
    """

    kind: str
    module: SourceModule
    at: int = -1
    rest: tuple[str, ...] = ()


class Names:
    """Name resolution over a table. `bindings` gives those of a name that run here.

    `passed` gathers the lazy modules whose tables names have led through: their `__getattr__` runs.
    """

    def __init__(self, table: ModuleTable, bindings: LiveBindings) -> None:
        self._table = table
        self._bindings = bindings
        self._starred: dict[str, dict[str, list[SourceModule]]] = {}
        self._settled: dict[tuple[str, str], Ending] = {}
        self.passed: dict[str, SourceModule] = {}

    def provider(self, module: SourceModule, name: str) -> Provider | None:
        """Return what gives `module` its `name`, by rule 2 of the walk; None where that is unknown."""
        own = [b for b in self._bindings(module, name) if not self._is_own_submodule(module, b, name)]
        if own:
            return Provider("bound", module)
        if self._table.has_submodule(module, name):
            return Provider("submodule", self._table[f"{module.name}.{name}"])
        starred = self._star_owner(module, name)
        if starred is not None:
            return Provider("star", starred)
        lazy = self.lazy_targets(module, name) if module.scan.lazy is not None else []
        return Provider("lazy", module, tuple(lazy)) if lazy else None

    def has(self, module: SourceModule, name: str) -> bool:
        """Say whether `module` certainly has `name` when it is imported.

        False says little: enums convert themselves into globals, and code in C binds what it likes.
        """
        if name in _MODULE_ATTRIBUTES or self._table.has_submodule(module, name):
            return True
        return module.found.kind in _WITH_CODE and self.provider(module, name) is not None

    def forget(self) -> None:
        """Forget what was concluded from any module's text: one was replaced."""
        self._starred.clear()
        self._settled.clear()

    def lazy_targets(
        self, module: SourceModule, name: str, seen: frozenset[str] = frozenset()
    ) -> list[LazyTarget]:
        """Return what the table of a lazy `module` says of `name`."""
        targets: list[LazyTarget] = []
        for target, statement in self._typing_imports(module):
            if target == module.name or target in seen:
                continue
            source = self._table[target]
            asked = [asked for asked, bound in statement.names if bound == name]
            if not asked and any(asked == "*" for asked, _ in statement.names):
                asked = [name] if self._offers(source, name, seen | {module.name}) else []
            targets.extend(LazyTarget(source, wanted, statement.line) for wanted in asked)
        for offered, spelt, line in module.scan.lazy or ():
            home, _, attribute = spelt.partition(":")
            found = self._table_module(module, home) if offered == name else None
            if found is not None:
                targets.append(LazyTarget(found, attribute or name, line))
        return list({target.module.name: target for target in targets}.values())

    def lazy_table(self, module: SourceModule) -> list[LazyTarget]:
        """Return the whole lazy table; the name is "*" for modules taken whole, "" for a submodule itself."""
        entries: list[LazyTarget] = []
        for target, statement in self._typing_imports(module):
            if target == module.name:
                below = [asked for asked, _ in statement.names if self._table.has_submodule(module, asked)]
                inner = [self._table[f"{target}.{asked}"] for asked in below]
                entries += [LazyTarget(source, "", statement.line) for source in inner]
            else:
                source = self._table[target]
                entries += [LazyTarget(source, asked, statement.line) for asked, _ in statement.names]
        for name, spelt, line in module.scan.lazy or ():
            home, _, attribute = spelt.partition(":")
            found = self._table_module(module, home)
            if found is not None:
                entries.append(LazyTarget(found, attribute or name, line))
        return entries

    def _table_module(self, module: SourceModule, spelt: str) -> SourceModule | None:
        """Return the module that a lazy table spells: relative to the package, else absolute."""
        inner = spelt.lstrip(".")
        if not inner or not inner.replace(".", "").isidentifier():
            return None
        if spelt.startswith("."):
            parts = module.package.split(".")
            up = len(spelt) - len(inner) - 1
            base = ".".join(parts[: len(parts) - up])
            candidates = [f"{base}.{inner}"]
        else:
            candidates = [f"{module.package}.{inner}"]
            if inner.partition(".")[0] == module.name.partition(".")[0]:
                candidates.append(inner)
        return next((self._table[name] for name in candidates if self._table.exists(name)), None)

    def definitions(self, module: SourceModule, spelt: str) -> Iterator[tuple[SourceModule, Binding]]:
        """Yield the places where the value of a dotted name is made, through any number of re-exports."""
        waiting = [(module, tuple(spelt.split(".")))]
        seen = set()
        while waiting:
            home, parts = waiting.pop(0)
            if not parts or (home.name, parts) in seen:
                continue
            seen.add((home.name, parts))
            for owner, binding in self._bound_here(home, parts[0]):
                if binding.kind != "import":
                    if len(parts) == 1:
                        yield owner, binding
                    continue
                step = self.step(owner, binding.at, binding.part)
                if step is None:
                    continue
                target, name = step
                if name:
                    waiting.append((target, (name, *parts[1:])))
                elif len(parts) > 1:
                    waiting.append((target, parts[1:]))
                else:
                    yield owner, binding

    def step(self, module: SourceModule, at: int, part: int) -> tuple[SourceModule, str] | None:
        """Return what import `at` binds: (module, "") or (module, name in it)."""
        statement = module.scan.imports[at]
        target = module.target(statement)
        if target is None:
            return None
        if part >= 0:
            return self._table[target], statement.names[part][0]
        whole = statement.bound or statement.kind == "dynamic"
        return self._table[target if whole else target.partition(".")[0]], ""

    def resolve_use(
        self, module: SourceModule, use: NameUse, enter: Callable[[SourceModule], bool]
    ) -> list[Ending]:
        """Return where a name that code of `module` uses leads, as `resolve` does."""
        if use.at < 0:
            return self.resolve(module, use.parts, enter)
        return self._resolve_all(self._behind(module, use.at, use.part, use.parts), enter)

    def resolve(
        self, module: SourceModule, parts: tuple[str, ...], enter: Callable[[SourceModule], bool]
    ) -> list[Ending]:
        """Return where a dotted name of `module` leads. Modules for which `enter` says no are foreign."""
        settled = self._settle(module, parts[0], enter)
        if settled is not None and (len(parts) == 1 or settled.kind != "def"):
            return [Ending(settled.kind, settled.module, settled.at, parts[1:])]
        return self._resolve_all([(module, parts)], enter, bare=(module, parts))

    def _resolve_all(
        self, waiting: list[_Path], enter: Callable[[SourceModule], bool], bare: _Path | None = None
    ) -> list[Ending]:
        endings: list[Ending] = []
        seen: set[tuple[str, tuple[str, ...]]] = set()
        while waiting:
            home, parts = waiting.pop()
            if (home.name, parts) in seen:
                continue
            seen.add((home.name, parts))
            if not enter(home):
                endings.append(Ending("foreign", home, rest=parts))
            elif not parts:
                endings.append(Ending("module", home))
            else:
                self._resolve_one(home, parts, endings, waiting)
                # A module's own bare names never go through its own table; what it asks of itself does.
                if endings and endings[-1].kind == "lazy" and (home, parts) == bare:
                    endings[-1] = Ending("unknown", home, rest=parts[1:])
                elif endings and endings[-1].kind == "lazy":
                    targets = self.lazy_targets(home, parts[0])
                    if targets and all(enter(target.module) for target in targets):
                        endings.pop()
                        self.passed[home.name] = home
                        waiting.extend((target.module, (target.name, *parts[1:])) for target in targets)
        return endings

    def _settle(
        self, module: SourceModule, name: str, enter: Callable[[SourceModule], bool]
    ) -> Ending | None:
        """Return the end of a name that is bound in one place, perhaps through re-exports; remembered.

        Most names are of that kind, and what was found once for a module holds for all who ask it.
        """
        path = []
        while True:
            key = (module.name, name)
            found = self._settled.get(key)
            if found is not None:
                break
            bound = self._bound_here(module, name) if key not in path else ()
            if len(bound) != 1:
                return None
            path.append(key)
            owner, binding = bound[0]
            if binding.kind != "import":
                kind = binding.kind if binding.kind in ("def", "class") else "value"
                found = Ending(kind, owner, binding.at if kind != "value" else -1)
                break
            step = self.step(owner, binding.at, binding.part)
            if step is None or not step[1] or step[0] is owner or not enter(step[0]):
                return None
            module, name = step
        for key in path:
            self._settled[key] = found
        return found

    def _resolve_one(
        self,
        home: SourceModule,
        parts: tuple[str, ...],
        endings: list[Ending],
        waiting: list[_Path],
    ) -> None:
        name, rest = parts[0], parts[1:]
        found = self._bound_here(home, name)
        for owner, binding in found:
            if binding.kind == "import":
                waiting += self._behind(owner, binding.at, binding.part, rest)
            elif binding.kind in ("def", "class"):
                endings.append(Ending(binding.kind, owner, binding.at, rest))
            else:
                endings.append(Ending("value", owner, rest=rest))
        # A submodule that has been imported replaces the function of the same name.
        if (not found or rest) and self._table.has_submodule(home, name):
            waiting.append((self._table[f"{home.name}.{name}"], rest))
        elif not found:
            lazy = home.scan.lazy is not None
            endings.append(Ending("lazy" if lazy else "unknown", home, rest=parts if lazy else rest))

    def _behind(self, home: SourceModule, at: int, part: int, rest: tuple[str, ...]) -> list[_Path]:
        """Follow one step, through what import `at` binds; nowhere from one beyond the top level."""
        step = self.step(home, at, part)
        if step is None:
            return []
        target, name = step
        if name and target is home and self._table.has_submodule(home, name):
            return [(self._table[f"{home.name}.{name}"], rest)]
        return [(target, (name, *rest) if name else rest)]

    def _bound_here(self, module: SourceModule, name: str) -> list[tuple[SourceModule, Binding]]:
        """Return the bindings of `name` in `module` itself, else in the star source that gives it."""
        own = self._bindings(module, name)
        if own:
            return [(module, binding) for binding in own]
        starred = self._star_owner(module, name)
        return [] if starred is None else [(starred, binding) for binding in self._bindings(starred, name)]

    def _star_owner(self, module: SourceModule, name: str) -> SourceModule | None:
        """Return the module from which star imports, one after the other, bring `name` into `module`."""
        for owner in self._starred_names(module).get(name, ()):
            if self._bindings(owner, name):
                return owner
        return None

    def _starred_names(self, module: SourceModule) -> Mapping[str, Sequence[SourceModule]]:
        """Map what star imports bring into `module` to the modules that bind it, the last first."""
        known = self._starred.get(module.name)
        if known is None:
            known = self._starred[module.name] = {}  # for stars that lead back here
            stars = [one for one in module.scan.imports if one.names and one.names[0][0] == "*"]
            for statement in reversed(stars):
                target = module.target(statement) if self._binds_stars(module, statement) else None
                if target is None:
                    continue
                source = self._table[target]
                exported = self._exported(source)
                for name in source.scan.bindings:
                    if exported(name):
                        known.setdefault(name, []).append(source)
                for name, owners in self._starred_names(source).items():
                    if exported(name):
                        known.setdefault(name, []).extend(owners)
        return known

    def _exported(self, module: SourceModule) -> Callable[[str], bool]:
        """Return the test of which of its names a star import of `module` binds."""
        exports = module.scan.exports
        if exports is None:
            return _is_public
        if exports.others or not exports.complete:
            return _is_any
        return frozenset(exports.names).__contains__

    def _offers(self, module: SourceModule, name: str, seen: frozenset[str]) -> bool:
        if not module.mentions(name) or not self._exported(module)(name):
            return False
        if self._bindings(module, name) or self._star_owner(module, name) is not None:
            return True
        return module.scan.lazy is not None and bool(self.lazy_targets(module, name, seen))

    def _typing_imports(self, module: SourceModule) -> Sequence[tuple[str, Import]]:
        """Return the imports off which the table of a lazy module is read, each with its target."""
        if module.typing_imports is None:
            found = [(module.target(statement), statement) for statement in self._typed(module)]
            module.typing_imports = [(name, one) for name, one in found if name is not None]
        return module.typing_imports

    def _typed(self, module: SourceModule) -> Iterator[Import]:
        yield from module.stub_imports
        blocks = module.scan.blocks
        for statement in module.scan.imports:
            around: list[str] = []
            index = statement.block
            while index > 0:
                around.append(blocks[index].kind)
                index = blocks[index].parent
            if "type_checking" in around and "function" not in around:
                yield statement

    def _binds_stars(self, module: SourceModule, statement: Import) -> bool:
        index = statement.block
        while index > 0:
            if module.scan.blocks[index].kind in ("function", "type_checking", "main"):
                return False
            index = module.scan.blocks[index].parent
        return True

    def _is_own_submodule(self, module: SourceModule, binding: Binding, name: str) -> bool:
        """Say whether this is `from . import name` in an `__init__`: it binds the submodule, and no more."""
        if binding.kind != "import" or binding.part < 0:
            return False
        statement = module.scan.imports[binding.at]
        return module.target(statement) == module.name and statement.names[binding.part][0] == name


def _is_public(name: str) -> bool:
    return not name.startswith("_")


def _is_any(name: str) -> bool:
    return True
