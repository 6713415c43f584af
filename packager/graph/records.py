"""What the walk hands out: modules, edges, facts, questions and problems, all frozen.

Every place is a file relative to the folder that holds its top-level package (`timm/layers/x.py`),
with a line; nothing here depends on where that folder lies.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from packager.quick_dataclasses import dataclass, field

Read = Callable[[], bytes]


@dataclass(frozen=True, slots=True)
class Edge:
    """One reason why `target` is needed: a statement in `importer`, or a root (`importer` is "").

    `kind` is the strongest circumstance of the statement:

    =============== ==========================================================================
    root            asked for by the caller
    top             runs whenever `importer` is imported
    function        inside the function `detail`
    try, except     inside the body or a handler of `try`
    guard           under an `if` whose test, `detail`, was read; without `detail` it was not
    type_checking   under `if TYPE_CHECKING:`; never followed
    main            under `if __name__ == "__main__":`; never followed
    dynamic         `import_module` or `__import__` with a literal name
    dynamic glob    a computed name, answered by the caller (see Question)
    lazy            an entry of the lazy table of the package `importer`
    star            a star import, or a submodule that its `__all__` names
    parent          `target` is the package that holds `importer`, and runs first
    probe           `find_spec` looks for it, and it is here
    =============== ==========================================================================

    `names` are those that a `from` import asks for. `followed` says whether the import runs as far
    as can be known; where it does not, `because` tells why ("no torch_npu here").
    """

    importer: str
    target: str
    kind: str
    file: str = ""
    line: int = 0
    names: tuple[str, ...] = ()
    detail: str = ""
    followed: bool = True
    because: str = ""

    def __str__(self) -> str:
        where = f"{self.file}:{self.line}" if self.line else self.file or "asked for"
        what = f"{self.kind} {self.detail}".strip()
        return f"{self.target} <- {self.importer or 'root'} ({where}, {what})"


@dataclass(frozen=True, slots=True)
class WalkDecision:
    """The answer to "what about this module?": whether the walk reads it and goes on from there.

    `source` replaces the text that the walk found (or finds none of).
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
    imports start from, where that is not as usual. `caveat` says why what runs may not be that source.
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
    """What the walk asks for modules."""

    def find(self, name: str) -> Found:
        """Return the module `name`: "missing" where there is none, "unknown" where that cannot be told."""

    def submodules(self, name: str) -> Sequence[str]:
        """List the names of the modules directly inside package `name`, sorted, as far as can be told."""

    def has_distribution(self, name: str) -> bool:
        """Say whether a distribution of that name is installed."""

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
    sha256. `problem` is why there is no source, "" where there is one. `uses_path` says that the
    code asks for `__file__` or `__path__`, and so may need its files on disk. `caveat` is as in Found.
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
    uses_path: bool = False
    caveat: str = ""


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that keeps the walk from a complete answer; collected, never raised.

    `reason` is one of "missing", "extension", "bytecode", "syntax", "beyond top level",
    "encoding", "unreadable", "unknown"; `message` is a whole sentence that says what to do.
    """

    module: str
    reason: str
    message: str
    file: str = ""
    line: int = 0


@dataclass(frozen=True, slots=True)
class Fact:
    """A test that the walk answered from this environment, and that may come out otherwise elsewhere."""

    importer: str
    file: str
    line: int
    guard: str
    value: bool
    because: str


@dataclass(frozen=True, slots=True)
class Candidate:
    """A module that a computed import could name: how many modules it holds, and their sources' size.

    What those import in turn is known only when they are chosen.
    """

    name: str
    modules: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Question:
    """An import whose name is computed: which modules it may load, only the caller can say.

    `pattern` is a glob where part of the name is literal ("pkg.models.*"), several with `|` between them
    where it is drawn from a literal ("pkg.a|pkg.b"), else "". `id` names the question in `Walk.answer`: file,
    line and function. `candidates` are the modules that exist, match the pattern, and are not in yet; `named`
    are in because a text names them, or the project offers them. `kind` is "import", "name" (as that of
    `pydoc.locate`), "entry points", "file", "run", "exec", or "probe" (`find_spec`, which finds
    nothing that is not in).
    """

    id: str
    importer: str
    file: str
    line: int
    function: str
    text: str
    pattern: str
    candidates: tuple[Candidate, ...] = ()
    kind: str = "import"
    named: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class NamedFile:
    """A file or folder that code names, and that does not go along: `told` says where, why, and what helps.

    `is_opened` says that code which can run opens it, as far as its text shows. `pattern` leaves it out by
    name.
    """

    pattern: str
    told: str
    is_opened: bool


@dataclass(frozen=True, slots=True)
class DataFile:
    """A file beside the code of a captured package: `resource` is its path below `package`.

    `kind` is "found" (a literal names it), "suggested" (the file's name or folder occurs in the
    code), "beside" (it lies there), "unreached" (it lies in a sub-package that nothing imports) or
    "hidden" (a hidden folder, as a whole); `because` is the place of the literal ("pkg/io.py:12").
    `read` gives the content, also out of a zip file.
    """

    package: str
    resource: str
    path: str
    bytes: int
    because: str = ""
    kind: str = "beside"
    read: Read = field(default=lambda: b"", compare=False, repr=False)
