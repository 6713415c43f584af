"""What the closure hands out: modules, edges, computed imports, data files and problems, all frozen.

Every place is a file relative to the folder that holds its top-level package (`timm/layers/x.py`),
with a line; nothing here depends on where that folder lies.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from packager._quick_dataclasses import dataclass, field

Read = Callable[[], bytes]


@dataclass(frozen=True, slots=True)
class Edge:
    """One reason why `target` is needed: a statement in `importer`, or a root (`importer` is "").

    `kind` is the strongest circumstance of the statement:

    =============== ==========================================================================
    root            asked for by the caller
    top             runs whenever `importer` is imported
    function        may run: inside the function `detail`
    try             may fail: inside the body of `try`, also in a function
    except          may run: inside a handler of `try`
    guard           may run: under `if`, `match` or `while`
    parent          `target` is the package that holds `importer`, and runs first
    served          a run asked for it there
    =============== ==========================================================================

    `names` are those that a `from` import asks for.
    """

    importer: str
    target: str
    kind: str
    file: str = ""
    line: int = 0
    names: tuple[str, ...] = ()
    detail: str = ""

    def __str__(self) -> str:
        where = f"{self.file}:{self.line}" if self.line else self.file or "asked for"
        what = f"{self.kind} {self.detail}".strip()
        return f"{self.target} <- {self.importer or 'root'} ({where}, {what})"


@dataclass(frozen=True, slots=True)
class WalkDecision:
    """The answer to "what about this module?": whether the closure reads it and goes on from there.

    `source` replaces the text that was found (or finds none of).
    """

    follow: bool
    source: str | None = None


Decide = Callable[[str, Sequence[Edge]], WalkDecision]
"""Asked once for each module, when it is first reached, with all edges to it so far."""


@dataclass(frozen=True, slots=True)
class Found:
    """A module that was looked for: `kind` as in records.Module.

    `search` are the folders in which its submodules are. `read` gives the source's bytes, for the
    kinds "source", "zip", "loader" and "main"; it may raise OSError. `package` is what relative
    imports start from, where that is not as usual. `caveat` says that what runs need not be that source.
    """

    name: str
    kind: str
    is_package: bool = False
    file: str = ""
    path: str | None = None
    search: tuple[str, ...] = ()
    read: Callable[[], bytes] | None = None
    problem: str = ""
    package: str | None = None
    caveat: str = ""


class SourceFinder(Protocol):
    """What the closure asks for modules."""

    def find(self, name: str) -> Found:
        """Return the module `name`: "missing" where there is none, "unknown" where that cannot be told."""

    def submodules(self, name: str) -> Sequence[str]:
        """List the names of the modules directly inside package `name`, sorted, as far as can be told."""

    def refresh(self) -> None:
        """Forget what may have changed since it was looked up."""


@dataclass(frozen=True, slots=True)
class Module:
    """One module that was reached.

    `kind` is where it comes from: "source", "zip" (source inside a zip file), "loader" (a custom
    loader's `get_source`), "text" (given by the caller), "main" (`__main__` or a notebook),
    "namespace" (a package without `__init__`), "resources" (a folder that holds data alone),
    "implicit" (exists only as parent of a module given as text), "extension", "bytecode",
    "builtin", "frozen", "missing", or "unknown" (whether it exists cannot be told without
    running code).

    `file` is relative, as in Edge; `path` is the absolute place, for reading data beside it, or
    None. `source` holds the bytes that were read, for followed modules alone, and `digest` their
    sha256. `problem` is why there is no source, "" where there is one.
    """

    name: str
    kind: str
    followed: bool
    is_package: bool = False
    file: str = ""
    path: str | None = None
    source: bytes | None = None
    digest: str = ""
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that keeps the closure from a complete answer; collected, never raised.

    `reason` is one of "missing", "extension", "bytecode", "syntax", "beyond top level",
    "encoding", "unreadable", "unknown"; `message` is a whole sentence that says what to do.
    """

    module: str
    reason: str
    message: str
    file: str = ""
    line: int = 0


@dataclass(frozen=True, slots=True)
class ComputedImport:
    """An import whose name is computed, or a look for entry points: only a run says what it loads.

    `text` is the call, `function` the qualified name of the function around it, "" at the top level.
    """

    importer: str
    file: str
    line: int
    text: str
    function: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.text}"


@dataclass(frozen=True, slots=True)
class DataFile:
    """A file beside the code of a captured package: `resource` is its path below `package`.

    `kind` is "beside" (it lies there), "found" (a run opened it, at the place `because`, "pkg/io.py:12"),
    "hidden" (a hidden folder as a whole, or a hidden file that a run listed) or "large" (with smaller ones it
    is too much). `read` gives the content, also out of a zip file.
    """

    package: str
    resource: str
    path: str
    bytes: int
    because: str = ""
    kind: str = "beside"
    read: Read = field(default=lambda: b"", compare=False, repr=False)
