"""What one source file says, as plain tuples: independent of its name, its place and this environment.

A Scan is what the cache stores. It divides the code into *blocks*, the pieces that run or do not
run as a whole: the module's top level, each function, and the branches of those `if` and `try`
statements from which something can be told without running them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

SCAN_VERSION = 30
"""Raise it with every change of what a scan holds or how it is read off the source."""

MODULE_BLOCK = 0


class Import(NamedTuple):
    """One import: `names` are (name, bound as) pairs; `import a.b` has none and binds `bound`.

    `level` counts the leading dots. `sure` says that it runs whenever its block runs up to there.
    `anchor` is "package" (relative names start at the package), "name" (at the module's own name,
    `import_module(".x", __name__)`), for `kind` "dynamic"; `kind` is "import", "from" or "dynamic".
    """

    order: int
    line: int
    block: int
    kind: str
    level: int
    module: str
    names: tuple[tuple[str, str], ...]
    bound: str
    sure: bool
    anchor: str


class Dynamic(NamedTuple):
    """An import whose name is computed; `pattern` has `*` for what is not literal, `|` between several."""

    order: int
    line: int
    block: int
    kind: str
    text: str
    level: int
    pattern: str
    anchor: str


class NameUse(NamedTuple):
    """A name that code loads from outside of its own function, with the attributes asked of it.

    `parts` is the dotted name ("np", "linalg", "norm"). Where an import inside the function binds
    the name, `at` is the index of that import, `part` the position in its names (-1 for the module),
    and `parts` holds the attributes alone. `called` says that the value is called. `glob` is the
    pattern of one more attribute, asked with a name that is computed in part ("visit_*").
    """

    parts: tuple[str, ...]
    called: bool = False
    glob: str = ""
    at: int = -1
    part: int = -1


class Block(NamedTuple):
    """A piece of code that runs as a whole.

    `kind` is "module", "function", "guard", "type_checking", "main", "try", "except" or "else".
    `detail` is a function's qualified name or a guard's text. `test` is a guard's expression (see
    idioms.py), what an `except`, or all those of a `try`, catch ("import", "any", "other"), or for a
    function such as `is_x_available` what it returns and looks for. `owner` is the index of the class
    whose method this is, of the `try` that an `except` or `else` belongs to, of the body that the
    `else` of a guard belongs to, or -1.

    `imports`, `dynamics` and `uses` are indices, `children` the blocks directly inside. `attrs` are
    the attribute names asked of other values, `own_attrs` those asked of `self`, `cls` or `super()`;
    `globs` and `own_globs` are likewise asked with a name that is computed in part, as fnmatch
    patterns ("visit_*"). `raises` is the order of the first `raise` that is sure to run, or -1.
    `plain` says that nothing but imports, constants and raises happens here. `decorators` are the
    dotted names of those that may do something with the function ("" for an expression), and
    `keeps` says that it, or a function inside, puts an argument into a container or an attribute, or
    calls its first one: a decorator that does so makes live what it decorates. `probes` are the lines
    and the top-level names that are looked for with `find_spec`.
    """

    parent: int
    kind: str
    order: int
    line: int
    function: str
    detail: str
    test: Any
    owner: int
    imports: tuple[int, ...]
    dynamics: tuple[int, ...]
    children: tuple[int, ...]
    uses: tuple[int, ...]
    attrs: tuple[str, ...]
    own_attrs: tuple[str, ...]
    globs: tuple[str, ...]
    own_globs: tuple[str, ...]
    raises: int
    plain: bool
    decorators: tuple[str, ...]
    keeps: bool
    probes: tuple[tuple[int, str], ...] = ()


class ClassScan(NamedTuple):
    """A class at module level, or inside another one: `bases` as dotted names, methods by name.

    `names` are the other names of its body; `decorators` as in Block.
    """

    name: str
    block: int
    bases: tuple[str, ...]
    methods: tuple[tuple[str, int], ...]
    names: tuple[str, ...]
    decorators: tuple[str, ...]


class Binding(NamedTuple):
    """One place at module level that gives a name a value.

    `kind` is "def" (`at` is a block), "class" (an index into classes), "import" (an index into
    imports, `part` the position in its names, -1 for the module), "value" (`value` is a guard
    expression where it can be read as one) or "other".
    """

    order: int
    block: int
    kind: str
    at: int
    part: int
    value: Any
    sure: bool


class Exports(NamedTuple):
    """What `__all__` says: literal names, other modules whose `__all__` is added, and whether that is all."""

    names: tuple[str, ...]
    others: tuple[str, ...]
    complete: bool


class Literal(NamedTuple):
    """A string that may name a data file: several path parts joined by `/`, as the code joins them."""

    line: int
    block: int
    text: str


class Scan(NamedTuple):
    """Everything read off one source. `error` is (line, message) of a syntax error, or None.

    `lazy` is None for ordinary modules, else (name, module, line) of the lazy table, where the
    module is spelt as in the source. `own_path` says that the code asks for `__file__`,
    `co_filename` or the like; `rewritable` that it is an `__init__` of the kind that
    import_follower.py rewrites.
    """

    error: tuple[int, str] | None
    blocks: tuple[Block, ...]
    imports: tuple[Import, ...]
    dynamics: tuple[Dynamic, ...]
    uses: tuple[NameUse, ...]
    classes: tuple[ClassScan, ...]
    bindings: Mapping[str, tuple[Binding, ...]]
    exports: Exports | None
    lazy: tuple[tuple[str, str, int], ...] | None
    literals: tuple[Literal, ...]
    own_path: bool
    rewritable: bool
