"""A scan while it is being made: blocks, scopes and names as the statements are read.

At the end every name that a block loads is sorted: local to a function, asked of `self`, bound by
an import inside the function, or from outside.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Sequence
from typing import Any

from packager.graph.expressions import Collected
from packager.graph.guards import dotted
from packager.graph.scan import Binding, Block, ClassScan, Dynamic, Exports, Import

__all__ = ["BlockDraft", "ClassDraft", "Draft", "Place", "Scope"]

_BUILTINS = frozenset(dir(builtins))


class Scope:
    """A function's own names; None stands for the module."""

    __slots__ = ("globals", "imports", "kept", "locals", "me", "parameters", "parent", "texts")

    def __init__(self, parent: Scope | None) -> None:
        self.parent = parent
        self.me = ""  # what a method calls its `self` or `cls`, while it is not bound to anything else
        self.parameters: set[str] = set()
        self.kept: set[str] = set()  # names put into containers and attributes
        self.locals: set[str] = set()
        self.globals: set[str] = set()
        self.imports: dict[str, list[str]] = {}
        self.texts: dict[str, list[ast.expr]] = {}  # what a name is set to, for computed imports


class BlockDraft:
    """A Block while it is being filled."""

    __slots__ = (
        "children", "decorators", "detail", "dynamics", "function", "imports", "index", "kind", "line",
        "order", "outside", "owner", "parent", "plain", "raises", "scope", "test", "used",
    )  # fmt: skip

    def __init__(
        self, index: int, parent: BlockDraft | None, kind: str, order: int, line: int, scope: Scope | None
    ):
        self.index, self.kind, self.order, self.line, self.scope = index, kind, order, line, scope
        self.parent = -1 if parent is None else parent.index
        self.function: str = "" if parent is None else parent.function
        self.detail = ""
        self.test: Any = None
        self.owner = -1
        self.imports: list[int] = []
        self.dynamics: list[int] = []
        self.children: list[int] = []
        self.used = Collected()
        self.outside: tuple[set[str], set[str]] = (set(), set())
        self.raises, self.plain = -1, True
        self.decorators: tuple[str, ...] = ()


class ClassDraft:
    """A ClassScan while it is being filled."""

    __slots__ = ("bases", "block", "decorators", "index", "methods", "name", "names", "used")

    def __init__(self, name: str, block: int, index: int) -> None:
        self.name, self.block, self.index = name, block, index
        self.decorators: tuple[str, ...] = ()
        self.bases: list[str] = []
        self.methods: list[tuple[str, int]] = []
        self.names: set[str] = set()
        self.used = Collected()


class Place:
    """Where a statement stands: its block, scope and class, and whether it surely runs within the block.

    A place is `quiet` in functions that import nothing: there, nothing hangs on which branch runs,
    and the function stays one block.
    """

    __slots__ = ("block", "klass", "qualname", "quiet", "scope", "sure", "used")

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
        self.block, self.scope, self.klass, self.qualname, self.sure = block, scope, klass, qualname, sure
        self.used = used
        self.quiet = quiet

    def inside(self, block: BlockDraft) -> Place:
        """The beginning of a block at this place."""
        used = block.used if self.klass is None else self.klass.used
        return Place(block, self.scope, self.klass, self.qualname, True, used)

    def perhaps(self) -> Place:
        """The same place, for code that may not run."""
        if not self.sure:
            return self
        return Place(self.block, self.scope, self.klass, self.qualname, False, self.used, self.quiet)

    def called(self, qualname: str) -> Place:
        """The body of a local class: the same place under another name."""
        return Place(self.block, self.scope, None, qualname, self.sure, self.used, self.quiet)


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
        self.order = 0
        self.stars = False

    def block(self, parent: BlockDraft | None, kind: str, line: int, scope: Scope | None) -> BlockDraft:
        """Begin a block inside `parent`."""
        self.order += 1
        block = BlockDraft(len(self.blocks), parent, kind, self.order, line, scope)
        self.blocks.append(block)
        if parent is not None:
            parent.children.append(block.index)
        return block

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
            found = Binding(self.order, place.block.index, kind, at, part, value, place.sure)
            self.bindings.setdefault(name, []).append(found)
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
            spelt = f"@{index}" if part < 0 else f"@{index}:{part}"
            place.scope.imports.setdefault(name, []).append(spelt)
        elif place.scope is not None:
            self.bindings.setdefault(name, []).append(
                Binding(self.order, place.block.index, "import", index, part, None, False)
            )
        else:
            self.bind(name, place, "import", index, part)

    def keep(self, values: Sequence[ast.expr], holder: ast.expr, place: Place) -> None:
        """Values are put into something: a registry, when a decorator does it to what it decorates."""
        if place.scope is None or not isinstance(holder, (ast.Attribute, ast.Subscript, ast.Name)):
            return
        kept = {part.id for value in values for part in _parts(value) if isinstance(part, ast.Name)}
        if dotted(holder.value if isinstance(holder, ast.Attribute) else holder) not in kept:
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

    def finished_blocks(self) -> tuple[Block, ...]:
        """The blocks, with their names sorted. To be called once."""
        for block in self.blocks:
            self._sort_names(block.used, block.scope, *block.outside)
        for nested, scope, block in self.nested:
            self._sort_names(nested, scope, *block.outside)
        for klass in self.classes:
            chains, attrs = self.blocks[klass.block].outside
            own = klass.names.union(name for name, _ in klass.methods)
            used = (spelt.removesuffix("()").partition(".")[0] for spelt in klass.used.names)
            attrs.update(name for name in used if name in own)
            self._sort_names(klass.used, None, chains, attrs)
        keeping = self._keeping()
        return tuple([self._finished(block, keeping) for block in self.blocks])

    def finished_classes(self) -> tuple[ClassScan, ...]:
        """The classes, in source order."""
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
        """What `__all__` says, None where nobody sets it."""
        if self.exports is None:
            return None
        names, others, complete = self.exports
        return Exports(tuple(names), tuple(others), complete)

    def _keeping(self) -> set[int]:
        """The functions that keep an argument, themselves or in a function inside."""
        keeping: set[int] = set()
        scopes = [(block.scope, block) for block in self.blocks if block.kind == "function"]
        for scope, block in [*scopes, *((scope, block) for _, scope, block in self.nested)]:
            outer = scope
            while outer is not None and scope is not None and not outer.parameters & scope.kept:
                outer = outer.parent
            index = block.index if outer is not None else -1
            while index > 0:
                keeping.add(index)
                index = self.blocks[index].parent
        return keeping

    def _sort_names(self, used: Collected, scope: Scope | None, chains: set[str], attrs: set[str]) -> None:
        attrs.update(used.attrs)
        bindings, plain_builtins = self.bindings, not self.stars
        for spelt in used.names:
            base, _, rest = spelt.removesuffix("()").partition(".")
            inner = scope
            while inner is not None:
                if base in inner.imports:
                    chains.update([at + spelt[len(base) :] for at in inner.imports[base]])
                    if base not in inner.locals:
                        break
                if base in inner.locals:
                    if rest:
                        first, *others = rest.split(".")
                        attrs.add(f"&{first}" if base == inner.me else first)
                        attrs.update(others)
                    break
                inner = inner.parent
            else:
                if base in used.soft:
                    attrs.update(rest.split(".") if rest else ())
                    if base not in bindings:
                        continue  # a variable of a comprehension
                if rest or not plain_builtins or base in bindings or base not in _BUILTINS:
                    chains.add(spelt)

    def _finished(self, block: BlockDraft, keeping: set[int]) -> Block:
        chains, attrs = block.outside
        return Block(
            block.parent, block.kind, block.order, block.line, block.function, block.detail, block.test,
            block.owner, tuple(block.imports), tuple(block.dynamics), tuple(block.children),
            tuple(sorted(chains)), tuple(sorted(attrs)), block.raises, block.plain, block.decorators,
            block.index in keeping,
        )  # fmt: skip


def _parts(value: ast.expr) -> Sequence[ast.expr]:
    return value.elts if isinstance(value, (ast.Tuple, ast.List)) else [value]
