"""What is done with one module, and why: the value that rules make, hooks change and plans print."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, get_args

from packager.arguments import check_kind

if TYPE_CHECKING:
    from packager.graph import Edge


Action = Literal["intern", "extern", "mock", "deny", "undecided"]
ACTIONS: tuple[Action, ...] = get_args(Action)

OriginKind = Literal["stdlib", "builtin", "installed", "compiled", "editable", "project", "unknown"]


@dataclass(frozen=True)
class Origin:
    """Where a module of this environment comes from.

    `kind` is one of

    - `stdlib`, `builtin`: Python's own, as source or inside the interpreter;
    - `installed`: a distribution without compiled modules; `compiled`: one with any;
    - `editable`: a distribution installed in place, its source in a folder at hand;
    - `project`: source on `sys.path` that no distribution claims: the code at hand;
    - `unknown`: found nowhere, or in a folder of installed packages under no distribution.

    `distribution` and `version` are None where no distribution is known. `place` is the folder or file that
    the distribution was installed from, where that was no index; it is printed, and never stored.
    """

    kind: OriginKind
    distribution: str | None = None
    version: str | None = None
    place: str = field(default="", compare=False, repr=False)

    def __str__(self) -> str:
        if self.distribution is None:
            return _KIND_NAMES[self.kind]
        version = f" {self.version}" if self.version else ""
        return f"{_KIND_NAMES[self.kind]} {self.distribution}{version}"


_KIND_NAMES: dict[OriginKind, str] = {
    "stdlib": "standard library",
    "builtin": "built into the interpreter",
    "installed": "installed distribution",
    "compiled": "compiled distribution",
    "editable": "editable install",
    "project": "project code",
    "unknown": "unknown origin",
}


@dataclass(frozen=True)
class Decision:
    """The action for one module, the rule that gave it, the reason, and who imports the module.

    `action` is `intern`, `extern`, `mock`, `deny`, or `undecided` where no rule spoke.
    `rule` is the rule as text (`extern('numpy.**')`, `implicit`, `preset auto`, `hook`).
    `importers` are the import edges known when the module was decided, each with file and line.
    `source`, where not None, is stored in place of the module's own source.

    A hook with three arguments receives a Decision and may answer with another one.

    >>> decision = Decision("extern", "preset auto", "installed distribution einops 0.8.0")
    >>> decision.replace(action="deny", because="no einops in production").action
    'deny'
    """

    action: Action
    rule: str
    because: str
    importers: tuple[Edge, ...] = ()
    source: str | None = None

    def __post_init__(self) -> None:
        if self.action not in ACTIONS:
            raise ValueError(f"unknown action {self.action!r}; one of {', '.join(ACTIONS)}")
        if self.source is not None:
            check_kind("source", self.source, str, "the text of a module")
        if self.source is not None and self.action != "intern":
            raise ValueError(f"a decision with a source must intern, not {self.action}")

    def replace(self, **changes: Any) -> Decision:
        """A copy with the given fields changed; self stays as it is."""
        return dataclasses.replace(self, **changes)
