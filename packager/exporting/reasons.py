"""Why a module is in a plan: its decision, and the imports that lead to it from what was asked for."""

from __future__ import annotations

from dataclasses import dataclass

from packager.graph import Edge
from packager.policy import Decision

from .deciding import Decisions
from .problems import chain_of
from .surveying import Survey


@dataclass(frozen=True)
class Why:
    """The answer to "why is this in?": print it, or look at its parts.

    `chain` leads from what was asked for to the module; `importers` are all that import it; `uses`
    say which stored objects and pickles need it.
    """

    module: str
    decision: Decision
    chain: tuple[Edge, ...]
    importers: tuple[Edge, ...]
    uses: tuple[str, ...]

    def __str__(self) -> str:
        lines = [f"{self.module}: {self.decision.action} by {self.decision.rule} ({self.decision.because})"]
        lines += [f"    {step}" for step in chain_of(self.chain)]
        lines += [f"    needed by {use}" for use in self.uses]
        others = [edge for edge in self.importers if edge not in self.chain]
        if others:
            lines.append("  also imported at:")
            lines += [f"    {edge.file}:{edge.line} ({edge.kind})" for edge in others]
        return "\n".join(lines)


def why(survey: Survey, decisions: Decisions, name: str) -> Why:
    """Why module `name` is in the survey. Raises KeyError where it is not."""
    decision = decisions.standing.get(name) or decisions.undecided.get(name)
    if name not in survey.walk.modules or decision is None:
        raise KeyError(f"module {name!r} is not in the plan: nothing that was asked for imports it")
    return Why(
        name,
        decision,
        tuple(survey.walk.why(name)),
        tuple(edge for edge in survey.walk.edges if edge.target == name and edge.followed and edge.line),
        tuple(use.label for use in survey.uses if use.module == name),
    )
