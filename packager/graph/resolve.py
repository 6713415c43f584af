"""What a name stands for: through bindings, re-exports, star imports, submodules and lazy tables.

All of it reads; nothing here follows an import or makes code live.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from packager.graph.library import Library, Volume
from packager.graph.scan import Binding, Import

__all__ = ["Ending", "LazyTarget", "Names", "Provider"]

_MODULE_ATTRIBUTES = frozenset(
    "__doc__ __name__ __file__ __path__ __spec__ __package__ __loader__ __dict__ __builtins__".split()
)
_WITH_CODE = frozenset(["source", "zip", "loader", "text", "main"])

LiveBindings = Callable[[Volume, str], Sequence[Binding]]


@dataclass(frozen=True, slots=True)
class LazyTarget:
    """An entry of a lazy table: the module, what the name is called there, the line of the entry."""

    volume: Volume
    name: str
    line: int


@dataclass(frozen=True, slots=True)
class Provider:
    """Who gives module X its name n: `kind` is "bound", "submodule", "star" or "lazy".

    `volume` is X itself, the submodule, or the star source that binds it; `targets` are the
    entries of the lazy table.
    """

    kind: str
    volume: Volume
    targets: tuple[LazyTarget, ...] = ()


class Ending(NamedTuple):
    """Where a dotted name leads: `kind` is "def" or "class" (`at` in `volume`), "module"
    (`volume`), "value" (an object bound in `volume`), "lazy" (the name `rest[0]` of lazy
    `volume`), "foreign" (`volume` is not entered) or "unknown". `rest` are the attributes left.
    """

    kind: str
    volume: Volume
    at: int = -1
    rest: tuple[str, ...] = ()


class Names:
    """Name resolution over a library. `bindings` gives those of a name that run here."""

    def __init__(self, library: Library, bindings: LiveBindings) -> None:
        self._library = library
        self._bindings = bindings
        self._stars: dict[str, list[Volume]] = {}
        self._starred: dict[str, dict[str, list[Volume]]] = {}
        self._settled: dict[tuple[str, str], Ending] = {}

    def provider(self, volume: Volume, name: str) -> Provider | None:
        """Who gives `volume` its attribute `name`, by rule 2 of the walk; None where nobody is known."""
        own = [b for b in self._bindings(volume, name) if not self._is_own_submodule(volume, b, name)]
        if own:
            return Provider("bound", volume)
        if self._library.has_submodule(volume, name):
            return Provider("submodule", self._library[f"{volume.name}.{name}"])
        starred = self._star_owner(volume, name)
        if starred is not None:
            return Provider("star", starred)
        lazy = self.lazy_targets(volume, name) if volume.scan.lazy is not None else []
        return Provider("lazy", volume, tuple(lazy)) if lazy else None

    def has(self, volume: Volume, name: str) -> bool:
        """Whether `volume` certainly has `name` when it is imported.

        False says little: enums convert themselves into globals, and code in C binds what it likes.
        """
        if name in _MODULE_ATTRIBUTES or self._library.has_submodule(volume, name):
            return True
        return volume.found.kind in _WITH_CODE and self.provider(volume, name) is not None

    def star_sources(self, volume: Volume) -> list[Volume]:
        """The modules that `volume` star-imports, the last first, since it wins."""
        known = self._stars.get(volume.name)
        if known is None:
            known = []
            for statement in volume.scan.imports:
                if statement.names and statement.names[0][0] == "*" and self._binds_stars(volume, statement):
                    target = volume.target(statement)
                    if target is not None:
                        known.append(self._library[target])
            known.reverse()
            self._stars[volume.name] = known
        return known

    def forget(self, name: str) -> None:
        """Forget the stars of one module, whose text was replaced."""
        self._stars.pop(name, None)
        self._starred.clear()
        self._settled.clear()

    def lazy_targets(self, volume: Volume, name: str, seen: frozenset[str] = frozenset()) -> list[LazyTarget]:
        """What the table of a lazy `volume` says of `name`."""
        targets: list[LazyTarget] = []
        for statement in self._typing_imports(volume):
            target = volume.target(statement)
            if target is None or target == volume.name or target in seen:
                continue
            source = self._library[target]
            asked = [asked for asked, bound in statement.names if bound == name]
            if not asked and any(asked == "*" for asked, _ in statement.names):
                asked = [name] if self._offers(source, name, seen | {volume.name}) else []
            targets.extend(LazyTarget(source, wanted, statement.line) for wanted in asked)
        for offered, module, line in volume.scan.lazy or ():
            found = self._table_module(volume, module) if offered == name else None
            if found is not None:
                targets.append(LazyTarget(found, name, line))
        return list({target.volume.name: target for target in targets}.values())

    def table(self, volume: Volume) -> list[LazyTarget]:
        """The whole lazy table; the name is "*" for modules taken whole."""
        entries: list[LazyTarget] = []
        for statement in self._typing_imports(volume):
            target = volume.target(statement)
            if target is not None and target != volume.name:
                source = self._library[target]
                entries += [LazyTarget(source, asked, statement.line) for asked, _ in statement.names]
        for name, module, line in volume.scan.lazy or ():
            found = self._table_module(volume, module)
            if found is not None:
                entries.append(LazyTarget(found, name, line))
        return entries

    def _table_module(self, volume: Volume, spelt: str) -> Volume | None:
        """The module that a lazy table spells: relative to the package, else absolute."""
        inner = spelt.lstrip(".")
        if not inner or not inner.replace(".", "").isidentifier():
            return None
        if spelt.startswith("."):
            parts = volume.package.split(".")
            up = len(spelt) - len(inner) - 1
            base = ".".join(parts[: len(parts) - up])
            candidates = [f"{base}.{inner}"]
        else:
            candidates = [f"{volume.package}.{inner}"]
            if inner.partition(".")[0] == volume.name.partition(".")[0]:
                candidates.append(inner)
        return next((self._library[name] for name in candidates if self._library.exists(name)), None)

    def definitions(self, volume: Volume, spelt: str) -> Iterator[tuple[Volume, Binding]]:
        """The places where the value of a dotted name is made, through any number of re-exports."""
        waiting = [(volume, tuple(spelt.split(".")))]
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

    def step(self, volume: Volume, at: int, part: int) -> tuple[Volume, str] | None:
        """What import `at` binds: (module, "") or (module, name in it)."""
        statement = volume.scan.imports[at]
        target = volume.target(statement)
        if target is None:
            return None
        if part >= 0:
            return self._library[target], statement.names[part][0]
        whole = statement.bound or statement.kind == "dynamic"
        return self._library[target if whole else target.partition(".")[0]], ""

    def resolve(self, volume: Volume, spelt: str, enter: Callable[[Volume], bool]) -> list[Ending]:
        """Where a dotted name of `volume` leads. Modules for which `enter` says no are foreign."""
        parts = tuple(spelt.split("."))
        settled = self._settle(volume, parts[0], enter)
        if settled is not None and (len(parts) == 1 or settled.kind != "def"):
            return [Ending(settled.kind, settled.volume, settled.at, parts[1:])]
        endings: list[Ending] = []
        waiting = [(volume, parts)]
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
                # A module's own bare names never go through its own table.
                if endings and endings[-1].kind == "lazy" and home is volume:
                    endings[-1] = Ending("unknown", home, rest=parts[1:])
                elif endings and endings[-1].kind == "lazy":
                    targets = self.lazy_targets(home, parts[0])
                    if targets and all(enter(target.volume) for target in targets):
                        endings.pop()
                        waiting.extend((target.volume, (target.name, *parts[1:])) for target in targets)
        return endings

    def _settle(self, volume: Volume, name: str, enter: Callable[[Volume], bool]) -> Ending | None:
        """The end of a name that is bound in one place, perhaps through re-exports; remembered.

        Most names are of that kind, and what was found once for a module holds for all who ask it.
        """
        path = []
        while True:
            key = (volume.name, name)
            found = self._settled.get(key)
            if found is not None:
                break
            bound = self._bound_here(volume, name) if key not in path else ()
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
            volume, name = step
        for key in path:
            self._settled[key] = found
        return found

    def _resolve_one(
        self,
        home: Volume,
        parts: tuple[str, ...],
        endings: list[Ending],
        waiting: list[tuple[Volume, tuple[str, ...]]],
    ) -> None:
        name, rest = parts[0], parts[1:]
        if name.startswith("@"):
            at, _, part = name[1:].partition(":")
            self._go_on(home, int(at), int(part or -1), rest, waiting)
            return
        found = self._bound_here(home, name)
        for owner, binding in found:
            if binding.kind == "import":
                self._go_on(owner, binding.at, binding.part, rest, waiting)
            elif binding.kind in ("def", "class"):
                endings.append(Ending(binding.kind, owner, binding.at, rest))
            else:
                endings.append(Ending("value", owner, rest=rest))
        # A submodule that has been imported replaces the function of the same name.
        if (not found or rest) and self._library.has_submodule(home, name):
            waiting.append((self._library[f"{home.name}.{name}"], rest))
        elif not found:
            lazy = home.scan.lazy is not None
            endings.append(Ending("lazy" if lazy else "unknown", home, rest=parts if lazy else rest))

    def _go_on(
        self,
        home: Volume,
        at: int,
        part: int,
        rest: tuple[str, ...],
        waiting: list[tuple[Volume, tuple[str, ...]]],
    ) -> None:
        step = self.step(home, at, part)
        if step is not None:
            target, name = step
            if name and target is home and self._library.has_submodule(home, name):
                waiting.append((self._library[f"{home.name}.{name}"], rest))
            else:
                waiting.append((target, (name, *rest) if name else rest))

    def _bound_here(self, volume: Volume, name: str) -> list[tuple[Volume, Binding]]:
        """The bindings of `name` in `volume` itself, else in the star source that gives it."""
        own = self._bindings(volume, name)
        if own:
            return [(volume, binding) for binding in own]
        starred = self._star_owner(volume, name)
        return [] if starred is None else [(starred, binding) for binding in self._bindings(starred, name)]

    def _star_owner(self, volume: Volume, name: str) -> Volume | None:
        """The module from which star imports, one after the other, bring `name` into `volume`."""
        for owner in self._starred_names(volume).get(name, ()):
            if self._bindings(owner, name):
                return owner
        return None

    def _starred_names(self, volume: Volume) -> Mapping[str, Sequence[Volume]]:
        """All that star imports bring into `volume`: the modules that bind each name, the last first."""
        known = self._starred.get(volume.name)
        if known is None:
            known = self._starred[volume.name] = {}  # for stars that lead back here
            for source in self.star_sources(volume):
                exported = self._exported(source)
                for name in source.scan.bindings:
                    if exported(name):
                        known.setdefault(name, []).append(source)
                for name, owners in self._starred_names(source).items():
                    if exported(name):
                        known.setdefault(name, []).extend(owners)
        return known

    def _exported(self, volume: Volume) -> Callable[[str], bool]:
        """The test of which of its names a star import of `volume` binds."""
        exports = volume.scan.exports
        if exports is None:
            return _is_public
        if exports.others or not exports.complete:
            return _is_any
        return frozenset(exports.names).__contains__

    def _offers(self, volume: Volume, name: str, seen: frozenset[str]) -> bool:
        if not volume.mentions(name) or not self._exported(volume)(name):
            return False
        if self._bindings(volume, name) or self._star_owner(volume, name) is not None:
            return True
        return volume.scan.lazy is not None and bool(self.lazy_targets(volume, name, seen))

    def _typing_imports(self, volume: Volume) -> Iterator[Import]:
        blocks = volume.scan.blocks
        for statement in volume.scan.imports:
            index = statement.block
            while index > 0 and blocks[index].kind not in ("type_checking", "function"):
                index = blocks[index].parent
            if index > 0 and blocks[index].kind == "type_checking":
                yield statement

    def _binds_stars(self, volume: Volume, statement: Import) -> bool:
        index = statement.block
        while index > 0:
            if volume.scan.blocks[index].kind in ("function", "type_checking", "main"):
                return False
            index = volume.scan.blocks[index].parent
        return True

    def _is_own_submodule(self, volume: Volume, binding: Binding, name: str) -> bool:
        """`from . import name` in an `__init__` binds the submodule, and is no answer by itself."""
        if binding.kind != "import" or binding.part < 0:
            return False
        statement = volume.scan.imports[binding.at]
        return volume.target(statement) == volume.name and statement.names[binding.part][0] == name


def _is_public(name: str) -> bool:
    return not name.startswith("_")


def _is_any(name: str) -> bool:
    return True
