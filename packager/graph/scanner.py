"""Reading one source: its statements, block by block, into a Scan.

The statements are walked with an explicit stack, in source order; expressions are handed to
`expressions.collect`, and what was read is noted in a Draft.
"""

from __future__ import annotations

import ast
from bisect import bisect_left
from collections.abc import Sequence
from itertools import repeat
from typing import Any, cast

from .availability import availability
from .drafts import ClassDraft, Draft, Place, active_decorators, function_scope
from .expressions import (
    OWN_MODULE,
    READERS_OF_RESOURCES,
    Collected,
    Expressions,
    is_own_module,
    lines_with_imports,
)
from .idioms import (
    UNKNOWN,
    caught_by,
    dotted,
    is_lazy,
    is_main_test,
    is_rewritable,
    is_typing_test,
    read_table,
    read_test,
)
from .name_patterns import names_of_listed
from .scan import Dynamic, Scan

_KEEPING = frozenset("add append appendleft extend insert put register setattr setdefault update".split())


def scan_source(source: bytes | str) -> Scan:
    """Read one source file. Never raises: what Python cannot parse has `error` set.

    >>> scan = scan_source("import a.b\\nif TYPE_CHECKING:\\n    from .c import d\\n")
    >>> [(i.line, i.module, i.level, scan.blocks[i.block].kind) for i in scan.imports]
    [(1, 'a.b', 0, 'module'), (3, 'c', 1, 'type_checking')]
    """
    tree = parsed(source)
    if isinstance(tree, tuple):
        return Scan(tree, (), (), (), (), (), {}, None, None, (), False, False)
    return scan_tree(tree, source)


def parsed(source: bytes | str) -> ast.Module | tuple[int, str]:
    """Parse a source; return the line and message where Python cannot."""
    try:
        return ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        line = getattr(error, "lineno", None) or 0
        return line, getattr(error, "msg", None) or str(error) or type(error).__name__


def is_valid(source: bytes) -> bool:
    """Say whether Python can parse and compile a source, without making a tree: in two thirds of the time."""
    from symtable import symtable  # most sources were compiled before

    try:
        symtable(cast("str", source), "source", "exec")  # it takes bytes, too, which may name an encoding
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def scan_tree(tree: ast.Module, source: bytes | str) -> Scan:
    """Read the tree of a source."""
    return _Reader(tree, source).read()


class _Reader:
    def __init__(self, tree: ast.Module, source: bytes | str) -> None:
        self.tree = tree
        self.expressions = Expressions(source, tree)
        self.draft = Draft()
        self.listed: dict[str, list[ast.expr]] = {}
        self.import_lines = lines_with_imports(source.encode() if isinstance(source, str) else source)
        self.stack: list[tuple[ast.stmt, Place]] = []

    def read(self) -> Scan:
        module = self.draft.block(None, "module", 0, None)
        self._push(self.tree.body, Place(module, None, None, "", True, module.used))
        stack, handlers, draft = self.stack, _STATEMENTS, self.draft
        while stack:
            statement, place = stack.pop()
            draft.order += 1
            handler = handlers.get(statement.__class__)
            if handler is None:
                place.block.plain = False
                self._collect(statement, place)
            else:
                handler(self, statement, place)
        uses, blocks = draft.finished_uses()
        return Scan(
            None,
            blocks,
            tuple(draft.imports),
            tuple(draft.dynamics),
            uses,
            draft.finished_classes(),
            {name: tuple(found) for name, found in draft.bindings.items()},
            draft.finished_exports(),
            read_table(self.tree) if is_lazy(self.tree) else None,
            tuple(self.expressions.literals),
            self.expressions.own_path,
            is_rewritable(self.tree),
        )

    # -- statements ---------------------------------------------------------------------------

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef, place: Place) -> None:
        name, arguments = node.name, node.args
        self._decorate(node.decorator_list, place)
        for outside in (*arguments.defaults, *arguments.kw_defaults):
            if outside is not None:
                self._collect(outside, place)
        scope = function_scope(node, place)
        qualname = f"{place.qualname}{name}"
        if place.quiet:
            used = Collected()
            self.draft.nested.append((used, scope, place.block))
            self.draft.bind(name, place, "def", -1)
            self._push(node.body, Place(place.block, scope, None, f"{qualname}.", False, used, quiet=True))
            return
        block = self.draft.block(place.block, "function", node.lineno, scope)
        block.detail = block.function = qualname
        block.decorators = active_decorators(node.decorator_list)
        block.test = availability(node)
        if place.klass is not None:
            place.klass.methods.append((name, block.index))
            block.owner = place.klass.index
        else:
            self.draft.bind(name, place, "def", block.index)
        quiet = not self._may_import(node)
        self._push(node.body, Place(block, scope, None, f"{qualname}.", True, block.used, quiet))

    def _may_import(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
        """Say whether a line of the function holds a word that imports something."""
        at = bisect_left(self.import_lines, node.lineno)
        return at < len(self.import_lines) and self.import_lines[at] <= (node.end_lineno or node.lineno)

    def _class(self, node: ast.ClassDef, place: Place) -> None:
        self._decorate(node.decorator_list, place)
        for keyword in node.keywords:
            self._collect(keyword.value, place)
        if place.scope is not None:  # a local class is live only with its function
            for base in node.bases:
                self._collect(base, place)
            self.draft.bind(node.name, place, "other", -1)
            self._push(node.body, place.called(f"{place.qualname}{node.name}."))
            return
        decorators = active_decorators(node.decorator_list)
        index = len(self.draft.classes)
        klass = ClassDraft(f"{place.qualname}{node.name}", place.block.index, index, decorators)
        for base in node.bases:
            spelt = dotted(base.value if isinstance(base, ast.Subscript) else base)
            if spelt:
                klass.bases.append(spelt)
            if not spelt or isinstance(base, ast.Subscript):
                self._collect(base, place)
        self.draft.classes.append(klass)
        if place.klass is None:
            self.draft.bind(node.name, place, "class", index)
        else:
            place.klass.names.add(node.name)
        self._push(node.body, Place(place.block, None, klass, f"{klass.name}.", place.sure, klass.used))

    def _if(self, node: ast.If, place: Place) -> None:
        test = node.test
        if is_typing_test(test) or is_main_test(test):
            kind = "type_checking" if is_typing_test(test) else "main"
            hidden = self.draft.block(place.block, kind, node.lineno, place.scope)
            self._push(node.orelse, place)
            self._push(node.body, place.inside(hidden))
            return
        self._collect(test, place)
        if place.quiet or (guard := read_test(test)) == UNKNOWN:
            place.block.plain = False
            self._push(node.orelse, place.perhaps())
            self._push(node.body, place.perhaps())
            return
        text = self.expressions.text(test)
        branches: list[tuple[Sequence[ast.stmt], Place]] = []
        for statements, expression in ((node.body, guard), (node.orelse, ("not", guard))):
            if statements:
                branch = self.draft.block(place.block, "guard", node.lineno, place.scope)
                branch.detail, branch.test = text, expression
                branch.owner = branches[0][1].block.index if branches else -1
                branches.append((statements, place.inside(branch)))
        for body, inner in reversed(branches):
            self._push(body, inner)

    def _try(self, node: ast.Try | ast.TryStar, place: Place) -> None:
        if place.quiet:
            self._quiet_try(node, place)
            return
        body = self.draft.block(place.block, "try", node.lineno, place.scope)
        caught = {caught_by(handler.type) for handler in node.handlers}
        body.test = next((kind for kind in ("any", "import", "other") if kind in caught), None)
        parts: list[tuple[Sequence[ast.stmt], Place]] = [(node.body, place.inside(body))]
        for handler in node.handlers:
            block = self.draft.block(place.block, "except", handler.lineno, place.scope)
            block.owner, block.test = body.index, caught_by(handler.type)
            inner = place.inside(block)
            if handler.type is not None:
                self._collect(handler.type, inner)
            if handler.name is not None:
                self.draft.bind(handler.name, inner, "other", -1)
            parts.append((handler.body, inner))
        if node.orelse:
            block = self.draft.block(place.block, "else", node.lineno, place.scope)
            block.owner = body.index
            parts.append((node.orelse, place.inside(block)))
        parts.append((node.finalbody, place))
        for statements, inner in reversed(parts):
            self._push(statements, inner)

    def _quiet_try(self, node: ast.Try | ast.TryStar, place: Place) -> None:
        for handler in node.handlers:
            if handler.type is not None:
                self._collect(handler.type, place)
            if handler.name is not None:
                self.draft.bind(handler.name, place.perhaps(), "other", -1)
            self._push(handler.body, place.perhaps())
        for statements in (node.body, node.orelse, node.finalbody):
            self._push(statements, place.perhaps())

    def _with(self, node: ast.With | ast.AsyncWith, place: Place) -> None:
        inner = place
        for item in node.items:
            self._collect(item.context_expr, place)
            if item.optional_vars is not None:
                self._bind_target(item.optional_vars, place)
            call = item.context_expr
            if isinstance(call, ast.Call) and dotted(call.func).rpartition(".")[2] == "suppress":
                body = self.draft.block(place.block, "try", node.lineno, place.scope)
                body.test = caught_by(ast.Tuple(call.args))
                inner = place.inside(body)
        place.block.plain = False
        self._push(node.body, inner)

    def _loop(self, node: ast.For | ast.AsyncFor | ast.While, place: Place) -> None:
        place.block.plain = False
        if isinstance(node, ast.While):
            self._collect(node.test, place)
        else:
            self._collect(node.iter, place)
            self._bind_target(node.target, place.perhaps())
            for name, spelt in names_of_listed(node.target, node.iter):
                self._texts(place).setdefault(name, []).append(spelt)
            if isinstance(node.target, ast.Name):
                self._texts(place).setdefault(f"*{node.target.id}", []).append(node.iter)
        self._push(node.orelse, place.perhaps())
        self._push(node.body, place.perhaps())

    def _match(self, node: ast.Match, place: Place) -> None:
        place.block.plain = False
        self._collect(node.subject, place)
        for case in node.cases:
            if case.guard is not None:
                self._collect(case.guard, place)
            for part in ast.walk(case.pattern):
                match part:
                    case (
                        ast.MatchAs(name=str(name))
                        | ast.MatchStar(name=str(name))
                        | ast.MatchMapping(rest=str(name))
                    ):
                        self.draft.bind(name, place.perhaps(), "other", -1)
                    case ast.MatchClass(cls=loaded) | ast.MatchValue(value=loaded):
                        self._collect(loaded, place)
        for case in reversed(node.cases):
            self._push(case.body, place.perhaps())

    def _import(self, node: ast.Import, place: Place) -> None:
        for alias in node.names:
            bound = alias.asname or alias.name.partition(".")[0]
            index = self.draft.add_import(node.lineno, place, "import", 0, alias.name, (), alias.asname or "")
            self.draft.bind_import(bound, place, index, -1)
            if alias.name == "importlib" and alias.asname:
                self.expressions.importlibs.add(alias.asname)
            elif alias.name in READERS_OF_RESOURCES and alias.asname:
                self.expressions.resource_readers.add(alias.asname)

    def _import_from(self, node: ast.ImportFrom, place: Place) -> None:
        names = tuple([(alias.name, alias.asname or alias.name) for alias in node.names])
        index = self.draft.add_import(node.lineno, place, "from", node.level, node.module or "", names, "")
        for part, (name, bound) in enumerate(names):
            if name == "*":
                self.draft.stars = True
            else:
                self.draft.bind_import(bound, place, index, part)
                if name == "import_module" and node.module == "importlib":
                    self.expressions.import_functions.add(bound)
                elif node.module in READERS_OF_RESOURCES:
                    self.expressions.resource_functions.add(bound)
                elif f"{node.module}.{name}" in READERS_OF_RESOURCES:
                    self.expressions.resource_readers.add(bound)

    def _assign(self, node: ast.Assign, place: Place) -> None:
        value, scope = node.value, place.scope
        self._collect(value, place)
        if value.__class__ is not ast.Constant:
            place.block.plain = False
        at_top = scope is None and place.klass is None
        is_own = value.__class__ is ast.Subscript and place.klass is None and is_own_module(value)
        for target in node.targets:
            if is_own and isinstance(target, ast.Name):
                module = OWN_MODULE
                index = self.draft.add_import(
                    node.lineno, place, "dynamic", module.level, module.pattern, (), "", module.anchor
                )
                self.draft.bind_import(target.id, place, index, -1)
            elif isinstance(target, ast.Name):
                if at_top:
                    self._bind_value(target.id, value, place)
                else:
                    if scope is not None:
                        scope.texts.setdefault(target.id, []).append(value)
                    self.draft.bind(target.id, place, "other", -1)
            elif at_top and isinstance(target, ast.Tuple) and isinstance(target.elts[0], ast.Name):
                # `_has_x, _x_version = _is_package_available("x")`
                self._bind_value(target.elts[0].id, value, place)
                for part in target.elts[1:]:
                    self._bind_target(part, place)
            else:
                self._bind_target(target, place)
                self.draft.keep([value], target, place)

    def _annotated(self, node: ast.AnnAssign, place: Place) -> None:
        if node.value is None:
            if isinstance(node.target, ast.Name) and place.klass is not None:
                place.klass.names.add(node.target.id)
            return
        self._collect(node.value, place)
        place.block.plain = place.block.plain and isinstance(node.value, ast.Constant)
        if isinstance(node.target, ast.Name) and place.scope is None and place.klass is None:
            self._bind_value(node.target.id, node.value, place)
        else:
            self._bind_target(node.target, place)

    def _augmented(self, node: ast.AugAssign, place: Place) -> None:
        place.block.plain = False
        self._collect(node.value, place)
        if isinstance(node.target, ast.Name) and node.target.id == "__all__":
            self.draft.extend_exports(node.value)
        elif isinstance(node.target, ast.Name):
            place.used.names.add(node.target.id)
            self.draft.bind(node.target.id, place, "other", -1)
        else:
            self._bind_target(node.target, place)
            self._collect(node.target, place)

    def _expression(self, node: ast.Expr, place: Place) -> None:
        value = node.value
        if value.__class__ is ast.Constant:
            return  # a docstring
        place.block.plain = False
        self._collect(value, place)
        if not isinstance(value, ast.Call):
            return
        if place.scope is not None and dotted(value.func).rpartition(".")[2] in _KEEPING:
            self.draft.keep(value.args, value.func, place)
        elif place.scope is None and len(value.args) == 1:
            called = dotted(value.func)
            if called in ("__all__.extend", "__all__.append"):
                added = value.args[0]
                self.draft.extend_exports(ast.List(elts=[added]) if called.endswith("append") else added)

    def _return(self, node: ast.Return, place: Place) -> None:
        place.block.plain = False
        if node.value is not None:
            self._collect(node.value, place)

    def _raise(self, node: ast.Raise, place: Place) -> None:
        self._collect(node, place)
        if place.sure and place.block.raises < 0:
            place.block.raises = self.draft.order

    def _global(self, node: ast.Global, place: Place) -> None:
        if place.scope is not None:
            place.scope.globals.update(node.names)

    def _nothing(self, node: ast.stmt, place: Place) -> None:
        pass

    # -- names --------------------------------------------------------------------------------

    def _bind_value(self, name: str, value: ast.expr, place: Place) -> None:
        guard = read_test(value)
        self.draft.bind(name, place, "value", -1, -1, None if guard == UNKNOWN else guard)
        if name == "__all__":
            self.draft.exports = None
            self.draft.extend_exports(value)

    def _bind_target(self, target: ast.expr, place: Place) -> None:
        waiting = [target]
        while waiting:
            part = waiting.pop()
            if isinstance(part, ast.Name):
                self.draft.bind(part.id, place, "other", -1)
            elif isinstance(part, ast.Attribute):
                owner = part.value
                if isinstance(owner, ast.Attribute) and part.attr.startswith("__"):
                    owner = owner.value  # `Class.run.__doc__ = ...` says something, and calls nothing
                self._collect(owner, place)
            elif isinstance(part, ast.Tuple | ast.List):
                waiting.extend(reversed(part.elts))
            elif isinstance(part, ast.Subscript):
                self._collect(part.value, place)
                self._collect(part.slice, place)
            elif isinstance(part, ast.Starred):
                waiting.append(part.value)

    def _push(self, statements: Sequence[ast.stmt], place: Place) -> None:
        if statements:
            self.stack.extend(zip(statements[::-1], repeat(place)))

    def _collect(self, node: ast.AST, place: Place) -> None:
        if node.__class__ is ast.Name:  # a third of all
            place.used.names.add(node.id)
            return
        if node.__class__ is ast.Constant and node.value.__class__ is not str:  # a tenth
            return
        expressions, scope = self.expressions, place.scope
        expressions.texts = self.listed if scope is None else scope.texts
        for found in expressions.collect(node, place.used, place.block.index):
            if found.literal is not None:
                level, module, names = found.literal
                index = self.draft.add_import(
                    found.line, place.perhaps(), "dynamic", level, module, names, "", found.anchor
                )
                place.used.imports.add((index, found.asked))
            elif found.kind == "probe":
                place.block.probes.append((found.line, found.pattern))
            else:
                place.block.dynamics.append(len(self.draft.dynamics))
                at = (self.draft.order, found.line, place.block.index)
                self.draft.dynamics.append(
                    Dynamic(*at, found.kind, found.text, found.level, found.pattern, found.anchor)
                )

    def _texts(self, place: Place) -> dict[str, list[ast.expr]]:
        """Return what names are set to in a function, or at the top by a loop over modules."""
        return self.listed if place.scope is None else place.scope.texts

    def _decorate(self, decorators: Sequence[ast.expr], place: Place) -> None:
        for decorator in decorators:
            spelt = dotted(decorator)
            if spelt:
                place.used.called.add(spelt)  # it is called, though no parentheses say so
            else:
                self._collect(decorator, place)


_STATEMENTS: dict[type[ast.stmt], Any] = {
    ast.FunctionDef: _Reader._function,
    ast.AsyncFunctionDef: _Reader._function,
    ast.ClassDef: _Reader._class,
    ast.If: _Reader._if,
    ast.Try: _Reader._try,
    ast.TryStar: _Reader._try,
    ast.With: _Reader._with,
    ast.AsyncWith: _Reader._with,
    ast.For: _Reader._loop,
    ast.AsyncFor: _Reader._loop,
    ast.While: _Reader._loop,
    ast.Match: _Reader._match,
    ast.Import: _Reader._import,
    ast.ImportFrom: _Reader._import_from,
    ast.Assign: _Reader._assign,
    ast.AnnAssign: _Reader._annotated,
    ast.AugAssign: _Reader._augmented,
    ast.Expr: _Reader._expression,
    ast.Return: _Reader._return,
    ast.Raise: _Reader._raise,
    ast.Global: _Reader._global,
    ast.Nonlocal: _Reader._nothing,
    ast.Pass: _Reader._nothing,
}
