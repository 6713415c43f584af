"""One computed import in live code, or one thing that is looked for: its question, and what it could mean."""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase

from packager.quick_dataclasses import dataclass

from .module_table import ModuleTable, SourceModule
from .records import Candidate, Question
from .scan import Dynamic


@dataclass(frozen=True, slots=True)
class Site:
    """A computed import in live code, and the modules that its name could mean."""

    table: ModuleTable
    module: SourceModule
    dynamic: Dynamic

    @property
    def function(self) -> str:
        """The qualified name of the function that imports, "" at the top level."""
        return self.module.scan.blocks[self.dynamic.block].function

    @property
    def id(self) -> str:
        """File, line and function: the same as long as the source is."""
        place = f"{self.module.found.file or self.module.name}:{self.dynamic.line}"
        return f"{place}:{self.function}" if self.function else place

    @property
    def pattern(self) -> str:
        """The absolute name as a glob, or several with `|` between; "" where nothing of it is literal."""
        dynamic, module = self.dynamic, self.module
        if not dynamic.pattern or dynamic.level == 0:
            return dynamic.pattern
        base = module.name if dynamic.anchor == "name" else module.package
        parts = base.split(".") if base else []
        if len(parts) < dynamic.level:
            return ""
        above = parts[: len(parts) - dynamic.level + 1]
        return "|".join(".".join([*above, pattern]) for pattern in dynamic.pattern.split("|"))

    def question(
        self,
        followed: set[str],
        measured: dict[str, Candidate],
        offered: Iterable[str] = (),
        apart: Iterable[str] = (),
    ) -> Question:
        """Ask about this site; modules that are in already are no candidates, `offered` are known by name.

        `apart` are candidates besides those of its pattern. `measured` keeps candidates from one question to
        the next.
        """
        names = [name for name in (*self.candidate_names(), *apart) if name not in followed]
        return Question(
            id=self.id,
            importer=self.module.name,
            file=self.module.found.file,
            line=self.dynamic.line,
            function=self.function,
            text=self.dynamic.text,
            pattern=self.pattern,
            candidates=tuple(self._candidate(name, measured) for name in names),
            kind=self.dynamic.kind,
            named=tuple(dict.fromkeys(name.partition(":")[0] for name in offered)),
        )

    def candidate_names(self) -> list[str]:
        """List the modules that exist and whose names match the literal part of the computed one."""
        found = [name for pattern in self.pattern.split("|") for name in self._matching(pattern)]
        return list(dict.fromkeys(found))

    def _matching(self, pattern: str) -> list[str]:
        first, *rest = pattern.split(".")
        if first == "*" and rest and not any("*" in part for part in rest):
            # `cls.__module__.rpartition(".")[0] + ".config"`: of the package that asks, every such module
            top = self.module.name.partition(".")[0]
            return [name for name in self._matching(f"{top}.**") if name.endswith(pattern[1:])]
        if not first or "*" in first:
            return []  # nothing says where to look
        table = self.table
        names = [first] if table.exists(first) else []
        for part in rest:
            if part == "**":  # whatever lies below, as `pkgutil.walk_packages` lists it
                for name in names:  # grows while it is walked
                    names += table.submodules(name) if table[name].found.is_package else ()
                names = [name for name in names if name.startswith(pattern[:-2])]
            elif "*" in part:
                below = [child for name in names for child in table.submodules(name)]
                names = [child for child in below if fnmatchcase(child.rpartition(".")[2], part)]
            else:
                names = [f"{name}.{part}" for name in names if table.exists(f"{name}.{part}")]
        return names

    def _candidate(self, name: str, measured: dict[str, Candidate]) -> Candidate:
        """Measure a module and, where it is a package, everything below it."""
        if name not in measured:
            waiting, count, size = [name], 0, 0
            while waiting:
                current = waiting.pop()
                count += 1
                size += self.table.size(current)
                if self.table[current].found.is_package:
                    waiting.extend(self.table.submodules(current))
            measured[name] = Candidate(name, count, size)
        return measured[name]
