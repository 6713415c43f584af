"""Decisions that stand: each module is decided once, hooks included, and never again.

The walk asks; implicit externs, what was asked for by name, rules and the preset answer; the hooks
of the action are told and may answer otherwise; then the decision stands. What stayed undecided is
no decision: it is asked anew when a rule has come.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from packager._arguments import check_path
from packager._environment import Distributions
from packager._graph import Edge, Found, WalkDecision
from packager._policy import (
    Action,
    ActionHooks,
    Decision,
    GlobPattern,
    Origin,
    Policy,
    implicit_reason,
    preset_action,
    require_preset,
)
from packager._quick_dataclasses import dataclass
from packager._version import OWN_PACKAGES, is_namesake

from .module_sources import SourcesOfRequest
from .request import Item, ModuleRequest, Request, SourceRequest

if TYPE_CHECKING:
    from kellet.hooks import RemovableHandle


_OUTSIDE_THE_ENVIRONMENT = ("text", "loader", "main", "zip")


def as_policy(policy: str | os.PathLike[str] | Policy | None) -> Policy:
    """Return a policy from what users give: a Policy, a preset, None, or the path of a file (.toml).

    Raises ArgumentError for another name, and what `read_policy` raises.

    >>> as_policy("auto").preset
    'auto'
    """
    if isinstance(policy, Policy):
        return policy
    if isinstance(policy, os.PathLike) or (isinstance(policy, str) and policy.endswith(".toml")):
        from packager._policy import read_policy  # most exports have a preset

        check_path("policy", policy)
        return read_policy(policy)
    return Policy(require_preset(policy))


@dataclass(frozen=True)
class LateChange:
    """A rule or hook that came too late: `module` was decided as `stands`, and would be `wanted` now."""

    module: str
    what: str
    stands: Decision
    wanted: Action


class Decisions:
    """The decisions of one exporter.

    `exporter` is handed to hooks. `sources` and `installed` tell where a module comes from;
    `request` which modules were saved by name; `mocked` are mocks in the archives that they come from.
    `tell(count)` is called with the number of modules that a walk has come to.
    `standing` are the final decisions, `undecided` those that may still come, `late` what came too late.
    """

    def __init__(
        self,
        exporter: Any,
        policy: Policy,
        sources: SourcesOfRequest,
        request: Request,
        mocked: frozenset[str] = frozenset(),
        tell: Callable[[int], None] = lambda count: None,
    ) -> None:
        self.exporter, self.tell = exporter, tell
        self.policy = policy
        self.sources = sources
        self.installed = Distributions()
        self.request = request
        self.standing: dict[str, Decision] = {}
        self.undecided: dict[str, Decision] = {}
        self.late: list[LateChange] = []
        self._hooks = ActionHooks()
        self._mocked = mocked
        self._origins: dict[str, Origin] = {}
        self._parents: dict[str, str] = {}
        self._running_hooks = 0
        self._asked = 0

    def decide(self, name: str, edges: Sequence[Edge]) -> WalkDecision:
        """Return what the walk does with module `name`; decide it now, unless it is already.

        An error of a hook goes through, and leaves the module undecided.
        """
        self._asked += 1
        self.tell(self._asked)
        decision = self.standing.get(name)
        if decision is None:
            decision = self._ruled(name).replace(importers=tuple(edges))
            if decision.action != "undecided":
                with self._hooks_running():
                    decision = self._hooks.run(self.exporter, name, decision)
            (self.undecided if decision.action == "undecided" else self.standing)[name] = decision
        return self._followed(name, decision.action, decision.source)

    def foresee(self, name: str, edges: Sequence[Edge]) -> WalkDecision:
        """Return what the walk would do if what no rule speaks of were decided as the preset "auto" does.

        So that all modules that lack a rule are told at once, instead of one layer after the other.
        Nothing is decided by it, and no hook is told.
        """
        decision = self.standing.get(name) or self._ruled(name).replace(importers=tuple(edges))
        if decision.action != "undecided":
            return self._followed(name, decision.action, decision.source)
        self.undecided[name] = decision
        return self._followed(name, preset_action("auto", self.origin(name)))

    def _followed(self, name: str, action: str, source: str | None = None) -> WalkDecision:
        return WalkDecision(action == "intern" and name not in self.request.leaves, source)

    def is_ruled(self, name: str) -> bool:
        """Say whether a rule or the preset decides module `name`; nothing is decided by it."""
        return name in self.standing or self._ruled(name).action != "undecided"

    def is_interned(self, name: str) -> bool:
        """Say whether the source of module `name` goes into the archive; decide it where need be.

        The packages around it are decided first, as they run first.
        """
        parts = name.split(".")
        for count in range(1, len(parts)):
            self.decide(".".join(parts[:count]), [Edge(name, ".".join(parts[:count]), "parent")])
        self.decide(name, [Edge("", name, "root")])
        return name in self.standing and self.standing[name].action == "intern"

    def add_rule(
        self, action: Action, include: GlobPattern, exclude: GlobPattern, *, allow_empty: bool
    ) -> None:
        """Append a rule to the policy, and note the standing decisions that it would have changed.

        Raises RuntimeError inside a hook.
        """
        self.require_outside_hooks("add a rule")
        before = {name: self._ruled(name).rule for name in self.standing}
        self.policy.add(action, include, exclude=exclude, allow_empty=allow_empty)
        for name, decision in self.standing.items():
            now = self._ruled(name)
            if now.rule != before[name] and now.action != decision.action:
                self.late.append(LateChange(name, now.rule, decision, now.action))

    def register_hook(self, action: Action, hook: Callable[..., Any]) -> RemovableHandle:
        """Register an action hook, and tell it of the modules that stand decided already.

        It cannot change those any more: an answer that would is noted. Raises RuntimeError inside a hook,
        TypeError for what no hook is.
        """
        self.require_outside_hooks("register a hook")
        handle = self._hooks.register(action, hook)
        late = ActionHooks()
        late.register(action, hook)
        for name, decision in list(self.standing.items()):
            if decision.action == action:
                with self._hooks_running():
                    wanted = late.run(self.exporter, name, decision)
                if wanted != decision:
                    self.late.append(LateChange(name, f"hook {_hook_name(hook)}", decision, wanted.action))
        return handle

    def note_request(self, item: Item) -> None:
        """Note a module that is asked for by name too late: it was decided otherwise before."""
        if isinstance(item, ModuleRequest | SourceRequest):
            stands = self.standing.get(item.name)
            if stands is not None and (stands.action != "intern" or isinstance(item, SourceRequest)):
                self.late.append(LateChange(item.name, "saving it by name", stands, "intern"))

    def origin(self, name: str) -> Origin:
        """Return where module `name` comes from, as its source was found."""
        origin = self._origins.get(name)
        if origin is None:
            origin = self._origins[name] = self._find_origin(name, self.sources.find(name))
        return origin

    def require_outside_hooks(self, what: str) -> None:
        """Raise RuntimeError when a hook is running: the modules are being decided just then."""
        if self._running_hooks:
            raise RuntimeError(
                f"a hook cannot {what} while modules are decided. Return decision.replace(...), or do it "
                "before the plan is asked for"
            )

    def forget_undecided(self) -> None:
        """Let modules that no rule spoke about be asked again, by a new walk."""
        self.undecided.clear()
        self._asked = 0

    def intern_parents(self) -> bool:
        """Intern the undecided packages of interned modules, from now on; say whether there were any.

        A package runs before its submodules do. torch.package leaves it out where no rule matches
        of it, and runs the submodules under an empty package.
        """
        interned = sorted(name for name, decision in self.standing.items() if decision.action == "intern")
        new = {
            name: child
            for name in self.undecided
            if name not in self._parents
            for child in [next((one for one in interned if one.startswith(f"{name}.")), "")]
            if child
        }
        self._parents.update(new)
        return bool(new)

    def _ruled(self, name: str) -> Decision:
        """Return what request, rules and preset say, without hooks."""
        if name in self.request.asked_for:
            self.policy.rules.first(name)  # a rule that says the same is not dead
            return Decision("intern", "asked for", "saved by name")
        if self._is_folder_of_resources(name):
            return Decision("intern", "resources", "resources are saved under it")
        decision = self.policy.decide(name, self.origin(name), is_namesake=self._is_namesake(name))
        if decision.action == "intern" and name in self._mocked:
            return Decision("mock", "mocked before", "it is a mock in the archive that it comes from")
        if decision.action == "undecided" and name in self._parents:
            return Decision("intern", "parent", f"it runs before {self._parents[name]}")
        return decision

    def _is_folder_of_resources(self, name: str) -> bool:
        """Say whether `name` is no module, but a package because something is saved under it."""
        return name in self.request.resource_packages and self.sources.find(name).kind == "resources"

    def _is_namesake(self, name: str) -> bool:
        """Say whether `name` is the project's, under a name of ours or of the standard library.

        What is imported already is what code here has got by that name.
        """
        top = name.partition(".")[0]
        if top not in OWN_PACKAGES and top not in sys.stdlib_module_names:
            return False
        path = self.sources.find(top).path
        if path is None or not is_namesake(name, path):
            return False
        loaded = getattr(sys.modules.get(top), "__file__", path)
        return top in OWN_PACKAGES or loaded == path

    def _find_origin(self, name: str, found: Found) -> Origin:
        if implicit_reason(name) == "standard library":
            return Origin("project") if self._is_namesake(name) else self.installed.origin(name)
        if found.kind in _OUTSIDE_THE_ENVIRONMENT:
            return Origin("project")
        origin = self.installed.origin(name, found.path)
        if origin.kind == "project" and found.kind in ("extension", "bytecode", "missing", "unknown"):
            return Origin("unknown")
        return origin

    @contextmanager
    def _hooks_running(self) -> Iterator[None]:
        self._running_hooks += 1
        try:
            yield
        finally:
            self._running_hooks -= 1


def _hook_name(hook: Any) -> str:
    return str(getattr(hook, "__qualname__", None) or type(hook).__qualname__)
