"""The export plan: everything that `close()` would write, everything that is wrong, and why; frozen."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from packager.archive import (
    CheckRecord,
    EntryPoint,
    GuardRecord,
    ObjectRecord,
    StateDictRecord,
    TensorSpec,
)
from packager.graph import Edge, Question
from packager.policy import Action, Origin


@dataclass(frozen=True)
class PlannedModule:
    """A module that was decided: what is done with it, by which rule, why, and who imports it.

    `entry` names the archive's entry with its source, None where nothing is stored for it.
    """

    name: str
    action: Action
    rule: str
    because: str
    origin: Origin
    entry: str | None = None
    is_package: bool = False
    importers: tuple[Edge, ...] = ()
    size: int = 0


@dataclass(frozen=True)
class PlannedExtern:
    """A top-level name left to the target, with the distribution that brings it and its requirement.

    `modules` are the modules under it that the code imports; `optional` says that every such import
    stands in the body of a `try`, so that the code goes on without it.
    """

    name: str
    origin: Origin
    requirement: str | None
    modules: tuple[str, ...]
    optional: bool = False


@dataclass(frozen=True)
class PlannedEntry:
    """An entry other than tensors: its name, kind and size, where it comes from, and how it is read.

    `because` says where code reads it, for data files.
    """

    name: str
    kind: str
    size: int
    because: str
    read: Callable[[], bytes | memoryview] = field(repr=False, compare=False)


@dataclass(frozen=True)
class PlannedTensors:
    """A safetensors member: its tensors, and the storages that they share."""

    name: str
    specs: tuple[TensorSpec, ...]
    storages: tuple[Any, ...] = field(repr=False, compare=False)
    size: int = 0
    metadata: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class PlanProblem:
    """Something that keeps the archive from being written.

    `reason` is the heading under which problems are grouped, `subject` the module, object or rule,
    `context` what was found. `chain` are the imports that led there, each with file and line;
    `fix` is a line to paste where one can be given.
    """

    reason: str
    subject: str
    context: str = ""
    chain: tuple[str, ...] = ()
    path: tuple[str, ...] = ()
    fix: str = ""


@dataclass(frozen=True)
class ExportPlan:
    """What an export will do. `print(plan)` shows it; nothing has been written.

    `warnings` do not stop an export; `questions` are computed imports that were taken to load
    nothing; `carried` is what goes along beside the model, a loader and wheels; wheels are
    fetched when it is written, for the targets in `wheels_for`. `dead_rules` are rules that matched no
    module. A rule given with `allow_empty=False` among them is in `empty_rules`,
    which stops an export that has no other problem.
    """

    modules: tuple[PlannedModule, ...] = ()
    externs: tuple[PlannedExtern, ...] = ()
    entries: tuple[PlannedEntry, ...] = ()
    tensors: tuple[PlannedTensors, ...] = ()
    carried: tuple[PlannedEntry, ...] = ()
    wheels_for: tuple[str, ...] = ()
    objects: tuple[ObjectRecord, ...] = ()
    state_dicts: tuple[StateDictRecord, ...] = ()
    entry_points: tuple[EntryPoint, ...] = ()
    checks: tuple[CheckRecord, ...] = ()
    guards: tuple[GuardRecord, ...] = ()
    environment: Mapping[str, Any] = field(default_factory=dict)
    problems: tuple[PlanProblem, ...] = ()
    warnings: tuple[str, ...] = ()
    questions: tuple[Question, ...] = ()
    dead_rules: tuple[str, ...] = ()
    empty_rules: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether `close()` would write it."""
        return not self.problems and not self.empty_rules

    @property
    def data_files(self) -> tuple[PlannedEntry, ...]:
        """The files that are captured with interned packages, as far as they are not saved by name."""
        return tuple(entry for entry in self.entries if entry.kind == "resource" and entry.because)

    @property
    def size(self) -> int:
        """The size of all contents together."""
        return sum(self.cost().values())

    def by_action(self, action: Action) -> tuple[PlannedModule, ...]:
        """The modules with one action, in the order in which they were reached."""
        return tuple(module for module in self.modules if module.action == action)

    def cost(self) -> dict[str, int]:
        """Bytes by kind of entry.

        >>> ExportPlan().cost()
        {}
        """
        found: dict[str, int] = {}
        for entry in self.entries:
            found[entry.kind] = found.get(entry.kind, 0) + entry.size
        for member in self.tensors:
            found["tensors"] = found.get("tensors", 0) + member.size
        for entry in self.carried:
            found["carried"] = found.get("carried", 0) + entry.size
        return dict(sorted(found.items()))

    def __str__(self) -> str:
        from .printing import plan_text

        return plan_text(self)
