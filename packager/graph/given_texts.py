"""Calls of a source as what they are given: texts, or what a function's own parameter is made into.

`find_spec(f"net.{name}")` in a function is given `"net."` and then what the function is given as `name`. Such
a text with a hole is a template here: the hole is `HOLE`.

Few modules look for others, so sources are parsed again for it and no scan holds it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from importlib.util import resolve_name
from types import MappingProxyType
from typing import Final, Literal, NamedTuple

from packager.quick_dataclasses import dataclass, field

from .drawn_texts import DrawnTexts
from .idioms import dotted, is_main_test, is_typing_test
from .module_table import SourceModule
from .named_variables import texts_bound
from .spelled_texts import SpelledTexts

Kind = Literal["module", "distribution"]
Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
At = int | str  # the place of an argument: its position, or its keyword
Values = Mapping[str, list[ast.expr]]

HOLE: Final = "\0"
MODULE_NAME: Final = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,198}[A-Za-z0-9])?")
_FINDERS: Final = frozenset(["find_spec", "find_loader", "get_loader"])
_OWNERS_OF_FINDERS: Final = frozenset(["util", "importlib", "importlib.util", "pkgutil"])
_OF_DISTRIBUTIONS: Final = frozenset(
    ["version", "distribution", "metadata", "requires", "files", "get_distribution", "from_name"]
)
_METADATA: Final = frozenset(["importlib.metadata", "importlib_metadata", "pkg_resources"])
_HANDS_ON: Final = frozenset(["map", "filter", "partial"])
_NUMBERED: Final = re.compile("\0([0-9]+)\0")
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


class Parameter(NamedTuple):
    """A parameter of the function that begins at a line and column of a source."""

    line: int
    column: int
    name: str


class Given(NamedTuple):
    """What a call is given at a place: texts, and templates of parameters; neither, where it is unknown."""

    at: At
    value: ast.expr
    names: tuple[str, ...]
    made: tuple[tuple[Parameter, str], ...]


class Call(NamedTuple):
    """A call of `function` in functions that begin at lines `inside`.

    `is_tried` says that it stands in a `try`, `is_open` that it is given more than is written there
    (`*names`). `packages` are those that relative names can start from, as far as they are given.
    """

    line: int
    function: str
    inside: tuple[int, ...]
    is_tried: bool
    given: tuple[Given, ...]
    is_open: bool
    packages: tuple[str, ...]


class _Place(NamedTuple):
    """A node on the way, with what is known there."""

    node: ast.AST
    inside: tuple[int, ...] = ()
    local: Values = MappingProxyType({})
    in_class: bool = False
    is_tried: bool = False


@dataclass
class GivenTexts:
    """One source, parsed: its calls, its functions, what it calls the library's, and other uses of names."""

    module: SourceModule
    source: bytes | None
    calls: list[Call] = field(default_factory=list)
    functions: dict[str, list[tuple[Function, bool]]] = field(default_factory=dict)
    lambdas: dict[str, ast.Lambda] = field(default_factory=dict)
    by_line: dict[int, list[Function]] = field(default_factory=dict)
    names: dict[tuple[int, int], str] = field(default_factory=dict)
    finders: set[str] = field(default_factory=set)
    of_distributions: set[str] = field(default_factory=set)
    uncalled: set[str] = field(default_factory=set)
    _holes: list[Parameter] = field(default_factory=list)
    _handed_on: dict[Parameter, list[tuple[Call, At, str]]] = field(default_factory=dict)

    @classmethod
    def read(cls, module: SourceModule, imported: dict[str, list[ast.expr]]) -> GivenTexts:
        """Parse a source; nothing is found in one that cannot be. `imported` are literals by their names."""
        text = cls(module, module.source)
        try:
            tree = ast.parse(module.source or b"")
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return text  # the walk tells of it
        bound: dict[str, int] = {}
        for node in ast.walk(tree):
            if isinstance(node, ast.Import | ast.ImportFrom):
                text._note_import(node)
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                bound[node.id] = bound.get(node.id, 0) + 1
        own: dict[str, list[ast.expr]] = {
            name: [ast.Constant(one)] for name, one in texts_bound(tree) if bound[name] == 1
        }
        own |= {"__name__": [ast.Constant(module.name)], "__package__": [ast.Constant(module.package)]}
        text._read_calls(tree, {**imported, **own})
        return text

    def kind_of(self, function: str) -> Kind | None:
        """Say what a function of the library looks for, None for any other."""
        owner, _, last = function.rpartition(".")
        if function in self.finders or (last in _FINDERS and owner in {*_OWNERS_OF_FINDERS, *self.finders}):
            return "module"
        if function in self.of_distributions or (
            last in _OF_DISTRIBUTIONS and owner in self.of_distributions | _METADATA
        ):
            return "distribution"
        return None

    def handed_on(self, parameter: Parameter) -> Sequence[tuple[Call, At, str]]:
        """Return the calls that are given a parameter: each with the place, and the template of it."""
        return self._handed_on.get(parameter, ())

    def _note_import(self, node: ast.Import | ast.ImportFrom) -> None:
        for alias in node.names:
            bound = alias.asname or alias.name
            if isinstance(node, ast.Import):
                whole = alias.name
            else:
                whole = f"{node.module}.{alias.name}" if not node.level else ""
            owner, _, last = whole.rpartition(".")
            if (
                whole in _METADATA
                or whole == "importlib.metadata.Distribution"
                or (owner in _METADATA and last in _OF_DISTRIBUTIONS)
            ):
                self.of_distributions.add(bound)
            elif whole in _OWNERS_OF_FINDERS or (owner in _OWNERS_OF_FINDERS and last in _FINDERS):
                self.finders.add(bound)

    def _read_calls(self, tree: ast.Module, known: dict[str, list[ast.expr]]) -> None:
        drawn = SpelledTexts(tree)
        waiting = [_Place(tree, local=known)]
        while waiting:
            place = waiting.pop()
            node = place.node
            if isinstance(node, ast.If) and (is_typing_test(node.test) or is_main_test(node.test)):
                waiting += [place._replace(node=one) for one in node.orelse]
                continue
            if isinstance(node, _FUNCTIONS):
                waiting += self._enter(node, place, drawn)
                continue
            if isinstance(node, (ast.For, *_COMPREHENSIONS)):  # elsewhere the names are others
                place = place._replace(local={**place.local, **_drawn_by(node)})
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Lambda):
                for target in node.targets:
                    if isinstance(target, ast.Name):
                        self.lambdas[target.id] = node.value
                        self.names[node.value.lineno, node.value.col_offset] = target.id
            if isinstance(node, ast.Call):
                self._note_call(node, place, drawn)
            elif isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Load):
                self.uncalled.add(node.id if isinstance(node, ast.Name) else node.attr)
            waiting += self._below(place)

    def _enter(self, node: Function, place: _Place, drawn: DrawnTexts) -> Iterator[_Place]:
        """Note a function and its defaults; yield what is in it, where its parameters are holes."""
        self.by_line.setdefault(node.lineno, []).append(node)
        local = self._with_parameters(node, place.local, drawn)
        if isinstance(node, ast.Lambda):
            yield place._replace(node=node.args, in_class=False)
            yield place._replace(node=node.body, local=local, in_class=False)
            return
        is_method = place.in_class and "staticmethod" not in map(dotted, node.decorator_list)
        self.functions.setdefault(node.name, []).append((node, is_method))
        self.names[node.lineno, node.col_offset] = node.name
        inside = (*place.inside, node.lineno)
        for name, value in _defaults(node):
            given = self._given(name, value, drawn.of(value, place.local))
            if given.names:
                spelt = f"self.{node.name}" if place.in_class else node.name
                self._keep(Call(node.lineno, spelt, inside, False, (given,), False, ()))
        outside = [*node.decorator_list, node.args, *([node.returns] if node.returns else [])]
        yield from (place._replace(node=one, in_class=False) for one in outside)
        yield from (_Place(one, inside, local) for one in node.body)

    def _with_parameters(self, node: Function, local: Values, drawn: DrawnTexts) -> Values:
        """Return what names stand for in a function: parameters for holes, others for what they are set to.

        A parameter that is set again (`name = name.lower()`) is what it was, or that.
        """
        holes: dict[str, list[ast.expr]] = {}
        for name in parameter_names(node):
            holes[name] = [ast.Constant(f"\0{len(self._holes)}\0")]
            self._holes.append(Parameter(node.lineno, node.col_offset, name))
        assigned = _values_of(node)
        values: dict[str, list[ast.expr]] = {**local, **assigned, **holes}
        for name in holes.keys() & assigned.keys():
            texts = [text for value in assigned[name] for text in drawn.of(value, {**values})]
            one_of = [holes[name][0], *map(ast.Constant, texts)]
            values[f"*{name}"] = [ast.Tuple(one_of, ast.Load())]
        return {name: value for name, value in values.items() if name not in holes.keys() & assigned.keys()}

    def _below(self, place: _Place) -> Iterator[_Place]:
        """Yield what is directly in a node; of a call the function only where it is no name."""
        node = place.node
        is_class = isinstance(node, ast.ClassDef)
        tried = {id(one) for one in node.body} if isinstance(node, ast.Try) else set()
        called = set()
        if isinstance(node, ast.Call) and dotted(node.func):
            called = {id(node.func)} | {id(one) for one in node.args[:1] if _is_handed_on(node)}
            owner = node.func.value if isinstance(node.func, ast.Attribute) else None
            if owner is not None:
                yield place._replace(node=owner, in_class=False)
        for one in ast.iter_child_nodes(node):
            if id(one) not in called:
                is_tried = place.is_tried or id(one) in tried
                yield place._replace(node=one, in_class=is_class, is_tried=is_tried)

    def _note_call(self, call: ast.Call, place: _Place, drawn: DrawnTexts) -> None:
        spelt, arguments, local = dotted(call.func), list(_arguments(call)), place.local
        is_open = any(isinstance(one, ast.Starred) for one in call.args) or None in [
            one.arg for one in call.keywords
        ]
        if _is_handed_on(call):
            spelt = dotted(call.args[0])
            if dotted(call.func).rpartition(".")[2] == "partial":
                arguments = [(at - 1 if isinstance(at, int) else at, value) for at, value in arguments if at]
            else:
                local = {**local, "*": [call.args[1]]}
                arguments = [(0, ast.Name("", ast.Load()))]
        if not spelt:
            return
        package = next((value for at, value in arguments if at in (1, "package")), None)
        packages = tuple([] if package is None else drawn.of(package, local))
        given = [
            self._given(at, value, [absolute(text, packages) for text in drawn.of(value, local)])
            for at, value in arguments
        ]
        self._keep(Call(call.lineno, spelt, place.inside, place.is_tried, tuple(given), is_open, packages))

    def _given(self, at: At, value: ast.expr, texts: list[str]) -> Given:
        """Return what a call is given: a text that is made of two parameters is unknown."""
        names, made = [], []
        for text in texts:
            holes = {int(number) for number in _NUMBERED.findall(text)}
            if not holes and MODULE_NAME.fullmatch(text):
                names.append(text)
            elif len(holes) == 1:
                made.append((self._holes[holes.pop()], _NUMBERED.sub(HOLE, text)))
        return Given(at, value, tuple(names), tuple(made))

    def _keep(self, call: Call) -> None:
        self.calls.append(call)
        for one in call.given:
            for parameter, template in one.made:
                self._handed_on.setdefault(parameter, []).append((call, one.at, template))


def parameter_names(node: Function) -> list[str]:
    """Return the parameters of a function: first those that can be given by position."""
    arguments = node.args
    return [one.arg for one in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]


def _defaults(node: Function) -> Iterator[tuple[str, ast.expr]]:
    """Yield the parameters of a function that have a default, and that."""
    arguments = node.args
    places = [*arguments.posonlyargs, *arguments.args]
    last = places[len(places) - len(arguments.defaults) :]
    yield from zip([one.arg for one in last], arguments.defaults, strict=True)
    for one, value in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        if value is not None:
            yield one.arg, value


def _is_handed_on(call: ast.Call) -> bool:
    """Say whether a call is given a function and what that is given: `map(has, NAMES)`."""
    last, given = dotted(call.func).rpartition(".")[2], len(call.args)
    fits = given == 2 if last in ("map", "filter") else given >= 1
    return last in _HANDS_ON and fits and bool(dotted(call.args[0]))


def absolute(name: str, packages: Sequence[str]) -> str:
    """Return the name that a relative one means, where one package alone is given beside it."""
    if not name.startswith(".") or len(packages) != 1:
        return name
    try:
        return resolve_name(name, packages[0])
    except ImportError:  # beyond the top
        return name


def _arguments(call: ast.Call) -> Iterator[tuple[At, ast.expr]]:
    yield from enumerate(call.args)
    for keyword in call.keywords:
        if keyword.arg is not None:
            yield keyword.arg, keyword.value


def _values_of(node: ast.AST) -> dict[str, list[ast.expr]]:
    """Return what names are set to within a function."""
    found: dict[str, list[ast.expr]] = {}
    for part in ast.walk(node):
        match part:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                found.setdefault(name, []).append(value)
    return found


def _drawn_by(node: ast.AST) -> dict[str, list[ast.expr]]:
    """Return what a loop draws its names from, below each name with a star; of pairs, each from its place."""
    found: dict[str, list[ast.expr]] = {}
    for one in [node] if isinstance(node, ast.For) else getattr(node, "generators", ()):
        _note_loop(one.target, one.iter, found)
    return found


def _note_loop(target: ast.expr, values: ast.expr, found: dict[str, list[ast.expr]]) -> None:
    match values:
        case ast.Call(func=ast.Name(id="sorted" | "list" | "tuple" | "set" | "iter"), args=[inner]):
            values = inner
    match target, values:
        case ast.Name(id=name), ast.Call(func=ast.Attribute(value=owner, attr="keys"), args=[]):
            found.setdefault(f"*{name}", []).append(owner)
        case ast.Name(id=name), _:
            found.setdefault(f"*{name}", []).append(values)
        case (
            ast.Tuple(elts=[ast.Name(id=key), ast.Name(id=value)]),
            ast.Call(func=ast.Attribute(value=owner, attr="items"), args=[]),
        ):
            found.setdefault(f"*{key}", []).append(owner)
            all_values = ast.Call(ast.Attribute(owner, "values", ast.Load()), [], [])
            found.setdefault(f"*{value}", []).append(all_values)
        case ast.Tuple(elts=names), _:
            pairs = f"{values.lineno}:{values.col_offset}"
            found[f"*{pairs}"] = [values]
            for place, one in enumerate(names):
                if isinstance(one, ast.Name):
                    drawn = ast.Subscript(ast.Name(pairs, ast.Load()), ast.Constant(place), ast.Load())
                    found.setdefault(one.id, []).append(drawn)
