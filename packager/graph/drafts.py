"""A scan while it is being made: blocks, scopes and names as the statements are read.

At the end every name that a block loads is sorted: local to a function, asked of `self`, bound by
an import inside the function, or from outside.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Mapping, Sequence
from typing import Any

from .expressions import Collected
from .idioms import dotted
from .scan import Binding, Block, ClassScan, Dynamic, Exports, Import, NameUse

_Spelt = tuple[str, bool, str, int, int]  # a NameUse before its name is split at the dots
_new = tuple.__new__  # makes a record without the function that a NamedTuple has for it
_BUILTINS = frozenset(dir(builtins))
_PASSIVE_DECORATORS = frozenset(
    "abstractmethod abstractproperty cache cached_property classmethod contextmanager asynccontextmanager "
    "dataclass final lru_cache no_grad inference_mode overload override property runtime_checkable "
    "staticmethod total_ordering unique wraps".split()
)


# Written by hand: a large package makes tens of thousands of these, and a record's `__init__` is slower.


class Scope:
    """A function's own names; None stands for the module.

    `me` is what a method calls its `self` or `cls`, while it is not bound to anything else; `first` its
    first parameter. `kept` are names put into containers and attributes, `texts` what a name is set to.
    """

    __slots__ = ("first", "globals", "imports", "kept", "locals", "me", "parameters", "parent", "texts")

    def __init__(self, parent: Scope | None) -> None:
        self.parent = parent
        self.me = self.first = ""
        self.parameters: set[str] = set()
        self.kept: set[str] = set()
        self.locals: set[str] = set()
        self.globals: set[str] = set()
        self.imports: dict[str, list[tuple[int, int]]] = {}
        self.texts: dict[str, list[ast.expr]] = {}


class BlockDraft:
    """A Block while it is being filled."""

    __slots__ = (
        "children", "decorators", "detail", "dynamics", "function", "imports", "index", "kind", "line",
        "order", "owner", "parent", "plain", "probes", "raises", "scope", "test", "used", "uses",
    )  # fmt: skip

    def __init__(
        self, index: int, parent: int, kind: str, order: int, line: int, scope: Scope | None, function: str
    ) -> None:
        self.index = index
        self.parent = parent
        self.kind = kind
        self.order = order
        self.line = line
        self.scope = scope
        self.function = function
        self.detail = ""
        self.test: Any = None
        self.owner = -1
        self.imports: list[int] = []
        self.dynamics: list[int] = []
        self.children: list[int] = []
        self.used = Collected()
        self.uses: set[int] = set()
        self.raises = -1
        self.plain = True
        self.decorators: tuple[str, ...] = ()
        self.probes: list[tuple[int, str]] = []


class ClassDraft:
    """A ClassScan while it is being filled."""

    __slots__ = ("bases", "block", "decorators", "index", "methods", "name", "names", "used")

    def __init__(self, name: str, block: int, index: int, decorators: tuple[str, ...]) -> None:
        self.name = name
        self.block = block
        self.index = index
        self.decorators = decorators
        self.bases: list[str] = []
        self.methods: list[tuple[str, int]] = []
        self.names: set[str] = set()
        self.used = Collected()


class Place:
    """Where a statement stands: its block, scope and class, and whether it surely runs within the block.

    A place is `quiet` in functions that import nothing: there, nothing hangs on which branch runs,
    and the function stays one block. It is never changed.
    """

    __slots__ = ("_perhaps", "block", "klass", "qualname", "quiet", "scope", "sure", "used")

    def __init__(
        self,
        block: BlockDraft,
        scope: Scope | None,
        klass: ClassDraft | None,
        qualname: str,
        sure: bool,
        used: Collected,
        quiet: bool = False,
    ) -> None:
        self.block = block
        self.scope = scope
        self.klass = klass
        self.qualname = qualname
        self.sure = sure
        self.used = used
        self.quiet = quiet
        self._perhaps: Place | None = None

    def inside(self, block: BlockDraft) -> Place:
        """Return the beginning of a block at this place."""
        used = block.used if self.klass is None else self.klass.used
        return Place(block, self.scope, self.klass, self.qualname, True, used)

    def perhaps(self) -> Place:
        """Return the same place, for code that may not run."""
        if not self.sure:
            return self
        if self._perhaps is None:
            self._perhaps = Place(
                self.block, self.scope, self.klass, self.qualname, False, self.used, self.quiet
            )
        return self._perhaps

    def called(self, qualname: str) -> Place:
        """Return the body of a local class: the same place under another name."""
        return Place(self.block, self.scope, None, qualname, self.sure, self.used, self.quiet)


def function_scope(node: ast.FunctionDef | ast.AsyncFunctionDef, place: Place) -> Scope:
    """Return the scope of a function, with its parameters."""
    scope, arguments = Scope(place.scope), node.args
    positional = [argument.arg for argument in arguments.args]
    if arguments.posonlyargs:
        positional[:0] = [argument.arg for argument in arguments.posonlyargs]
    names = {*positional}
    if arguments.kwonlyargs:
        names.update([argument.arg for argument in arguments.kwonlyargs])
    for extra in (arguments.vararg, arguments.kwarg):
        if extra is not None:
            names.add(extra.arg)
    scope.parameters, scope.locals = names, {*names}
    if positional:
        scope.first = positional[0]
        if place.klass is not None and "staticmethod" not in map(dotted, node.decorator_list):
            scope.me = positional[0]
    return scope


def active_decorators(decorators: Sequence[ast.expr]) -> tuple[str, ...]:
    """Return the decorators that may keep or call what they decorate, as dotted names."""
    names = [dotted(one.func if isinstance(one, ast.Call) else one) for one in decorators]
    return tuple(name for name in names if name.rpartition(".")[2] not in _PASSIVE_DECORATORS)


class Draft:
    """Everything read off one source so far."""

    def __init__(self) -> None:
        self.blocks: list[BlockDraft] = []
        self.imports: list[Import] = []
        self.dynamics: list[Dynamic] = []
        self.classes: list[ClassDraft] = []
        self.bindings: dict[str, list[Binding]] = {}
        self.exports: tuple[list[str], list[str], bool] | None = None
        self.nested: list[tuple[Collected, Scope, BlockDraft]] = []
        self.uses: dict[_Spelt, int] = {}
        self.order = 0
        self.stars = False

    def block(self, parent: BlockDraft | None, kind: str, line: int, scope: Scope | None) -> BlockDraft:
        """Begin a block inside `parent`."""
        self.order += 1
        index, function = len(self.blocks), ""
        if parent is not None:
            parent.children.append(index)
            function = parent.function
        above = -1 if parent is None else parent.index
        self.blocks.append(BlockDraft(index, above, kind, self.order, line, scope, function))
        return self.blocks[index]

    def add_import(
        self,
        line: int,
        place: Place,
        kind: str,
        level: int,
        module: str,
        names: tuple[tuple[str, str], ...],
        bound: str,
        anchor: str = "package",
    ) -> int:
        """Note an import at `place`, and return its index."""
        self.order += 1
        index = len(self.imports)
        place.block.imports.append(index)
        self.imports.append(
            Import(self.order, line, place.block.index, kind, level, module, names, bound, place.sure, anchor)
        )
        return index

    def bind(self, name: str, place: Place, kind: str, at: int, part: int = -1, value: Any = None) -> None:
        """Note that the code at `place` gives `name` a value."""
        scope = place.scope
        if place.klass is not None:
            place.klass.names.add(name)
        elif scope is None:
            fields = (self.order, place.block.index, kind, at, part, value, place.sure)
            self.bindings.setdefault(name, []).append(_new(Binding, fields))
        elif name in scope.globals:
            found = Binding(self.order, place.block.index, "other", -1, -1, None, False)
            self.bindings.setdefault(name, []).append(found)
        else:
            scope.locals.add(name)
            if name == scope.me:
                scope.me = ""

    def bind_import(self, name: str, place: Place, index: int, part: int) -> None:
        """Note that import `index`, its name number `part` or its module, gives `name` a value."""
        if place.scope is not None and name not in place.scope.globals:
            place.scope.imports.setdefault(name, []).append((index, part))
        elif place.scope is not None:
            self.bindings.setdefault(name, []).append(
                Binding(self.order, place.block.index, "import", index, part, None, False)
            )
        else:
            self.bind(name, place, "import", index, part)

    def keep(self, values: Sequence[ast.expr], holder: ast.expr, place: Place) -> None:
        """Note that values are put into something: a decorator that does so to its argument keeps it."""
        if place.scope is None or not isinstance(holder, (ast.Attribute, ast.Subscript, ast.Name)):
            return
        kept = {part.id for value in values for part in _parts(value) if part.__class__ is ast.Name}
        if kept and dotted(holder.value if isinstance(holder, ast.Attribute) else holder) not in kept:
            place.scope.kept |= kept

    def extend_exports(self, value: ast.expr) -> None:
        """Add what an expression says of `__all__`."""
        names, others, complete = self.exports or ([], [], True)
        waiting = [value]
        while waiting:
            node = waiting.pop(0)
            match node:
                case ast.List(elts=elts) | ast.Tuple(elts=elts) | ast.Set(elts=elts):
                    waiting[:0] = elts
                case ast.Starred(value=inner):
                    waiting.insert(0, inner)
                case ast.Constant(value=str(text)):
                    names.append(text)
                case ast.BinOp(left=left, op=ast.Add(), right=right):
                    waiting[:0] = [left, right]
                case ast.Call(func=ast.Name(id="list" | "sorted" | "tuple"), args=[inner]):
                    waiting.insert(0, inner)
                case ast.Attribute(attr="__all__") if dotted(node):
                    others.append(dotted(node).removesuffix(".__all__"))
                case ast.Name(id="__all__"):
                    pass
                case _:
                    complete = False
        self.exports = (names, others, complete)

    def finished_uses(self) -> tuple[tuple[NameUse, ...], tuple[Block, ...]]:
        """Return the uses of names in a fixed order, and the blocks that hold them. To be called once."""
        for block in self.blocks:
            self._sort_names(block.used, block.scope, block)
        for nested, scope, block in self.nested:
            self._sort_names(nested, scope, block)
        for klass in self.classes:
            block, used = self.blocks[klass.block], klass.used
            own = klass.names.union(name for name, _ in klass.methods)
            owners = (owner for owner, _ in used.name_globs)
            bases = {spelt.partition(".")[0] for spelt in (*used.names, *used.called, *owners)}
            block.used.attrs |= bases & own
            self._sort_names(used, None, block)
        order = sorted(self.uses, key=_order)
        uses = [
            _new(NameUse, (tuple(spelt.split(".")) if spelt else (), called, glob, at, part))
            for spelt, called, glob, at, part in order
        ]
        places = {self.uses[use]: place for place, use in enumerate(order)}
        keeping = self._keeping()
        blocks = [self._finished(block, places, keeping) for block in self.blocks]
        return tuple(uses), tuple(blocks)

    def finished_classes(self) -> tuple[ClassScan, ...]:
        """Return the classes, in source order."""
        return tuple(
            [
                ClassScan(
                    klass.name,
                    klass.block,
                    tuple(klass.bases),
                    tuple(klass.methods),
                    tuple(sorted(klass.names)),
                    klass.decorators,
                )
                for klass in self.classes
            ]
        )

    def finished_exports(self) -> Exports | None:
        """Return what `__all__` says, None where it is not set."""
        if self.exports is None:
            return None
        names, others, complete = self.exports
        return Exports(tuple(names), tuple(others), complete)

    def _keeping(self) -> set[int]:
        """Return the functions that keep an argument, or call their first, or in which one does so."""
        keeping: set[int] = set()
        used = [(block.used, block.scope, block) for block in self.blocks if block.scope is not None]
        for names, scope, block in (*used, *self.nested):
            if scope.first not in names.called and not _keeps_argument(scope):
                continue
            index = block.index
            while index > 0:
                keeping.add(index)
                index = self.blocks[index].parent
        return keeping

    def _sort_names(self, used: Collected, scope: Scope | None, block: BlockDraft) -> None:
        """Sort what `used` loads into the uses and attributes of `block`."""
        asked = block.used
        asked.attrs |= used.attrs
        asked.own_attrs |= used.own_attrs
        asked.globs |= used.globs
        for index, attributes in used.imports:
            block.uses.add(self._use(attributes, False, "", index, -1))
        names, called = used.names, used.called
        if scope is not None:  # its own variables by themselves say nothing
            plain = scope.locals.difference(scope.imports)
            names, called = names - plain, called - plain
        for spelt in names:
            self._sort_name(spelt, False, "", used.soft, scope, block)
        for spelt in called:
            self._sort_name(spelt, True, "", used.soft, scope, block)
        for spelt, glob in used.name_globs:
            self._sort_name(spelt, False, glob, used.soft, scope, block)

    def _sort_name(
        self, spelt: str, called: bool, glob: str, soft: set[str], scope: Scope | None, block: BlockDraft
    ) -> None:
        base, _, rest = spelt.partition(".")
        inner = scope
        while inner is not None:
            if base in inner.imports:
                for at, part in inner.imports[base]:
                    block.uses.add(self._use(rest, called, glob, at, part))
            if base in inner.locals:
                self._ask_local(rest, glob, base == inner.me, block.used)
                return
            if base in inner.imports:
                return
            inner = inner.parent
        if base in soft:
            self._ask_local(rest, glob, False, block.used)
            if base not in self.bindings:
                return  # a variable of a comprehension
        if rest or glob or self.stars or base in self.bindings or base not in _BUILTINS:
            uses = self.uses
            block.uses.add(uses.setdefault((spelt, called, glob, -1, -1), len(uses)))

    def _ask_local(self, rest: str, glob: str, own: bool, asked: Collected) -> None:
        """Note the attributes that are asked of a function's own variable, `own` where that is its `self`."""
        if "." in rest:
            first, *others = rest.split(".")
            (asked.own_attrs if own else asked.attrs).add(first)
            asked.attrs.update(others)
        elif rest:
            (asked.own_attrs if own else asked.attrs).add(rest)
        if glob:
            (asked.own_globs if own and not rest else asked.globs).add(glob)

    def _use(self, spelt: str, called: bool, glob: str, at: int, part: int) -> int:
        return self.uses.setdefault((spelt, called, glob, at, part), len(self.uses))

    def _finished(self, block: BlockDraft, places: Mapping[int, int], keeping: set[int]) -> Block:
        used = block.used
        fields = (
            block.parent, block.kind, block.order, block.line, block.function, block.detail, block.test,
            block.owner, tuple(block.imports), tuple(block.dynamics), tuple(block.children),
            tuple(sorted([places[use] for use in block.uses])), tuple(sorted(used.attrs)),
            tuple(sorted(used.own_attrs)), tuple(sorted(used.globs)), tuple(sorted(used.own_globs)),
            block.raises, block.plain, block.decorators, block.index in keeping,
            tuple(dict.fromkeys(block.probes)),
        )  # fmt: skip
        return _new(Block, fields)


def _keeps_argument(scope: Scope) -> bool:
    """Say whether a function keeps an argument of its own, or of a function around it."""
    outer: Scope | None = scope
    while outer is not None:
        if outer.parameters & scope.kept:
            return True
        outer = outer.parent
    return False


def _order(use: _Spelt) -> tuple[bool, str, str, bool]:
    """Return the key by which uses are sorted: any would do that gives the same order in every run."""
    spelt, called, glob, at, part = use
    start = "" if at < 0 else str(at) if part < 0 else f"{at}:{part}"
    return at < 0, start, f"{spelt}.{glob}" if glob else spelt, called


def _parts(value: ast.expr) -> Sequence[ast.expr]:
    return value.elts if isinstance(value, (ast.Tuple, ast.List)) else [value]
