"""What project code looks for without importing it: modules by `find_spec`, distributions by their metadata.

A probe is a fact about this environment. The name is mostly a text where it is looked for; where it is
computed, it is drawn from a literal (`for name in BACKENDS: FOUND[name] = find_spec(name)`), or the parameter
of a function that looks for what it is given (`def is_here(name): return find_spec(name) is not None`), which
other functions hand it on to. So calls of such functions are read, too, wherever they are defined.

Few modules have any of this, so sources are parsed again for it and no scan holds it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib.util import resolve_name
from typing import Final, Literal, NamedTuple

from packager.quick_dataclasses import dataclass, field

from .drawn_texts import DrawnTexts
from .idioms import dotted, is_main_test, is_typing_test
from .module_table import ModuleTable, SourceModule
from .resolve import Names
from .scan import Binding

Kind = Literal["module", "distribution"]

_WORDS: Final = re.compile(
    rb"find_spec|find_loader|get_loader|metadata|pkg_resources|import_module|__import__"
    rb"|(?:is|has|have)_\w*(?:package|module|lib)\w*\s*\(|(?:package|module)_(?:available|installed|exists)\s*\("
)
_PROBING: Final = re.compile(r"_?(?:is|has|have)_\w+|\w+_(?:available|installed|exists)")
_FINDERS: Final = frozenset(["find_spec", "find_loader", "get_loader"])
_OWNERS_OF_FINDERS: Final = frozenset(["util", "importlib", "importlib.util", "pkgutil"])
_IMPORTERS: Final = frozenset(["import_module", "__import__"])
_OF_DISTRIBUTIONS: Final = frozenset(
    ["version", "distribution", "metadata", "requires", "files", "get_distribution", "from_name"]
)
_METADATA: Final = frozenset(["importlib.metadata", "importlib_metadata", "pkg_resources"])
_SPELT_AS_PARAMETER: Final = frozenset(["replace", "strip", "lower", "casefold"])
_NAME: Final = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,198}[A-Za-z0-9])?")
_MOST_STEPS: Final = 6  # functions that hand a name on to each other
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
_At = int | str  # the place of an argument: its position, or its keyword


class Probe(NamedTuple):
    """What `module` looks for in `line` of `file`: a module or a distribution, by its name."""

    module: str
    file: str
    line: int
    kind: Kind
    name: str


class ProbeReader:
    """Reads probes off modules. `is_live` says of a module's function, by its first line, if it can run."""

    def __init__(self, table: ModuleTable, names: Names, is_live: Callable[[str, int], bool]) -> None:
        self._table = table
        self._names = names
        self._is_live = is_live
        self._texts: dict[str, _Text] = {}
        self._literals: dict[str, DrawnTexts] = {}
        self._looking: dict[tuple[str, int], Mapping[_At, frozenset[Kind]]] = {}

    def probes(self, modules: Iterable[SourceModule]) -> Iterator[Probe]:
        """Yield what these modules look for, in live code, in the order of their lines."""
        waiting = list(modules)
        texts = [self._text(one) for one in waiting if _WORDS.search(one.source or b"")]
        helpers = {name for text in texts for name in text.functions}
        called = re.compile(rb"\b(?:" + b"|".join(re.escape(one.encode()) for one in helpers) + rb")\b")
        done = {text.module.name for text in texts}
        others = [module for module in waiting if module.name not in done] if helpers else []
        texts += [self._text(module) for module in others if called.search(module.source or b"")]
        for text in texts:
            found = {
                Probe(text.module.name, text.module.found.file, call.line, kind, name)
                for call in text.calls
                if all(self._is_live(text.module.name, line) for line in call.inside)
                for at, names in call.given
                if names
                for kind in self._kinds(text, call.function, at, 0)
                for name in names
            }
            yield from sorted(found, key=lambda one: (one.line, one.kind, one.name))

    def _text(self, module: SourceModule) -> _Text:
        known = self._texts.get(module.name)
        if known is None or known.source is not module.source:
            known = self._texts[module.name] = _Text.read(module, self._imported(module))
        return known

    def _imported(self, module: SourceModule) -> dict[str, list[ast.expr]]:
        """Return the literals that a module imports by name from others of its own package."""
        found: dict[str, list[ast.expr]] = {}
        for name, bindings in module.scan.bindings.items():
            if any(one.part >= 0 for one in bindings) and self._is_of_its_own(module, name):
                for home, binding in self._names.definitions(module, name):
                    if binding.kind == "value":
                        literal = self._drawn(home).literal(self._spelt_there(module, bindings, name))
                        found.setdefault(name, []).extend([literal] if literal is not None else [])
        return {name: literals for name, literals in found.items() if literals}

    def _is_of_its_own(self, module: SourceModule, name: str) -> bool:
        """Say whether what a name of a module stands for is defined in its own top-level package."""
        top = module.name.partition(".")[0]
        imports = [one.at for one in module.scan.bindings.get(name, ()) if one.kind == "import"]
        targets = [module.target(module.scan.imports[at]) or "" for at in imports]
        return all(target.partition(".")[0] == top for target in targets)

    def _spelt_there(self, module: SourceModule, bindings: Sequence[Binding], name: str) -> str:
        """Return what an imported name is called where it is imported from."""
        (at, part), *_ = [(one.at, one.part) for one in bindings if one.kind == "import"]
        return module.scan.imports[at].names[part][0] if part >= 0 else name

    def _drawn(self, module: SourceModule) -> DrawnTexts:
        known = self._literals.get(module.name)
        if known is None:
            try:
                tree = ast.parse(module.source or b"")
            except (SyntaxError, ValueError, RecursionError, MemoryError):
                tree = ast.Module([], [])
            known = self._literals[module.name] = DrawnTexts(tree)
        return known

    def _kinds(self, text: _Text, function: str, at: _At, steps: int) -> frozenset[Kind]:
        """Return what a function looks for by the argument at `at`: nothing, mostly."""
        kind = text.kind_of(function)
        if kind is not None:
            return frozenset([kind]) if at in (0, "name", "distribution_name", "fullname") else frozenset()
        kinds: frozenset[Kind] = frozenset()
        for home, node, is_method in self._defined(text, function) if steps < _MOST_STEPS else ():
            for place, name in enumerate(_parameters(node)):
                if at in (name, place - is_method):
                    kinds |= self._of_parameter(home, node, name, steps)
        return kinds

    def _of_parameter(self, text: _Text, node: _Function, parameter: str, steps: int) -> frozenset[Kind]:
        key = (text.module.name, node.lineno)
        known = self._looking.setdefault(key, {})
        if parameter not in known:
            self._looking[key] = {**known, parameter: frozenset()}  # for functions that call each other
            kinds: frozenset[Kind] = frozenset()
            for spelt, at, is_tried in text.handed_on(node, parameter):
                if spelt.rpartition(".")[2] in _IMPORTERS:
                    kinds |= frozenset(["module"]) if is_tried and at in (0, "name") else frozenset()
                else:
                    kinds |= self._kinds(text, spelt, at, steps + 1)
            self._looking[key] = {**self._looking[key], parameter: kinds}
        return self._looking[key][parameter]

    def _defined(self, text: _Text, function: str) -> Iterator[tuple[_Text, _Function, bool]]:
        """Yield the functions that a dotted name means, and whether they are called as a method."""
        last = function.rpartition(".")[2]
        for node, is_method in text.functions.get(last, ()) if "." in function else ():
            yield text, node, is_method
        if "." not in function and function in text.lambdas:
            yield text, text.lambdas[function], False
        if function.partition(".")[0] in text.module.scan.bindings:
            for home, at in self._places(text.module, function):
                there = self._text(home)
                for node in there.by_line.get(home.scan.blocks[at].line, ()):
                    yield there, node, False

    def _places(self, module: SourceModule, function: str) -> list[tuple[SourceModule, int]]:
        """Return the functions that a dotted name of a module leads to: the module of each, and its block."""
        first, last = function.partition(".")[0], function.rpartition(".")[2]
        if not self._is_of_its_own(module, first) and _PROBING.fullmatch(last) is None:
            return []  # of another's functions those alone that are called so are looked at
        found = self._names.definitions(module, function)
        places = [(home, binding.at) for home, binding in found if binding.kind == "def"]
        if not places and "." in function:  # of a submodule of its own package, which binds no name there
            endings = self._names.resolve(
                module, tuple(function.split(".")), lambda one: one.source is not None
            )
            places = [(one.module, one.at) for one in endings if one.kind == "def" and not one.rest]
        return places


class _Call(NamedTuple):
    """A call of `function` in functions that begin at lines `inside`; `given` are the texts at each place."""

    line: int
    function: str
    inside: tuple[int, ...]
    given: tuple[tuple[_At, tuple[str, ...]], ...]


@dataclass
class _Text:
    """One source, parsed: its calls that are given texts, its functions, and what it calls the library's."""

    module: SourceModule
    source: bytes | None
    calls: list[_Call] = field(default_factory=list)
    functions: dict[str, list[tuple[_Function, bool]]] = field(default_factory=dict)
    lambdas: dict[str, ast.Lambda] = field(default_factory=dict)
    by_line: dict[int, list[_Function]] = field(default_factory=dict)
    finders: set[str] = field(default_factory=set)
    of_distributions: set[str] = field(default_factory=set)

    @classmethod
    def read(cls, module: SourceModule, imported: dict[str, list[ast.expr]]) -> _Text:
        text = cls(module, module.source)
        try:
            tree = ast.parse(module.source or b"")
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return text  # the walk tells of it
        for node in ast.walk(tree):
            if isinstance(node, ast.Import | ast.ImportFrom):
                text._note_import(node)
        own: dict[str, list[ast.expr]] = {
            "__name__": [ast.Constant(module.name)],
            "__package__": [ast.Constant(module.package)],
        }
        text._note_calls(tree, {**imported, **own})
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

    def handed_on(self, node: _Function, parameter: str) -> Iterator[tuple[str, _At, bool]]:
        """Yield the calls that are given a parameter: function, place, and whether that stands in a `try`."""
        named = {parameter}
        tried = {
            id(inner)
            for part in ast.walk(node)
            if isinstance(part, ast.Try)
            for statement in part.body
            for inner in ast.walk(statement)
        }
        for part in ast.walk(node):
            match part:
                case ast.Assign(targets=[ast.Name(id=name)], value=value) if _is_of(value, named):
                    named.add(name)
        for part in ast.walk(node):
            spelt = dotted(part.func) if isinstance(part, ast.Call) else ""
            if spelt and isinstance(part, ast.Call):
                for at, value in _arguments(part):
                    if _is_of(value, named):
                        yield spelt, at, id(part) in tried

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

    def _note_calls(self, tree: ast.Module, imported: dict[str, list[ast.expr]]) -> None:
        drawn = DrawnTexts(tree)
        waiting: list[tuple[ast.AST, tuple[int, ...], Mapping[str, list[ast.expr]], bool]] = [
            (tree, (), imported, False)
        ]
        while waiting:
            node, inside, local, in_class = waiting.pop()
            if isinstance(node, ast.If) and (is_typing_test(node.test) or is_main_test(node.test)):
                waiting += [(one, inside, local, in_class) for one in node.orelse]
                continue
            if isinstance(node, _FUNCTIONS):
                self.by_line.setdefault(node.lineno, []).append(node)
                local = {**local, **_values_of(node)}
            elif isinstance(node, (ast.For, *_COMPREHENSIONS)):  # elsewhere the names are others
                local = {**local, **_drawn_by(node)}
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                is_static = "staticmethod" in map(dotted, node.decorator_list)
                self.functions.setdefault(node.name, []).append((node, in_class and not is_static))
                outside = [(one, inside, local, False) for one in node.decorator_list]
                waiting += outside
                waiting += [(one, (*inside, node.lineno), local, False) for one in (*node.body, node.args)]
                continue
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Lambda):
                self.lambdas.update({one.id: node.value for one in node.targets if isinstance(one, ast.Name)})
            if isinstance(node, ast.Call):
                self._note_call(node, inside, local, drawn)
            is_class = isinstance(node, ast.ClassDef)
            waiting += [(one, inside, local, is_class) for one in ast.iter_child_nodes(node)]

    def _note_call(
        self, call: ast.Call, inside: tuple[int, ...], local: Mapping[str, list[ast.expr]], drawn: DrawnTexts
    ) -> None:
        spelt, arguments = dotted(call.func), list(_arguments(call))
        if spelt in ("map", "filter") and len(call.args) == 2 and dotted(call.args[0]):
            spelt, local = dotted(call.args[0]), {**local, "*": [call.args[1]]}
            arguments = [(0, ast.Name("", ast.Load()))]
        if not spelt:
            return
        given = []
        package = next((value for at, value in arguments if at in (1, "package")), None)
        packages = [] if package is None else drawn.of(package, local)
        for at, value in arguments:
            texts = drawn.of(value, local)
            names = [one for text in texts if _NAME.fullmatch(one := _absolute(text, packages))]
            if names:
                given.append((at, tuple(names)))
        if given:
            self.calls.append(_Call(call.lineno, spelt, inside, tuple(given)))


def _absolute(name: str, packages: Sequence[str]) -> str:
    """Return the name that a relative one means, where one package alone is given beside it."""
    if not name.startswith(".") or len(packages) != 1:
        return name
    try:
        return resolve_name(name, packages[0])
    except ImportError:  # beyond the top
        return name


def _arguments(call: ast.Call) -> Iterator[tuple[_At, ast.expr]]:
    yield from enumerate(call.args)
    for keyword in call.keywords:
        if keyword.arg is not None:
            yield keyword.arg, keyword.value


def _parameters(node: _Function) -> list[str]:
    arguments = node.args
    return [one.arg for one in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]


def _is_of(value: ast.AST, named: set[str]) -> bool:
    """Say whether a value is one of these names, or that text in another spelling."""
    match value:
        case ast.Name(id=name):
            return name in named
        case ast.Call(func=ast.Attribute(value=inner, attr=attribute)) if attribute in _SPELT_AS_PARAMETER:
            return _is_of(inner, named)
        case ast.BoolOp(values=values):
            return any(_is_of(one, named) for one in values)
        case ast.IfExp(body=body, orelse=orelse):
            return _is_of(body, named) or _is_of(orelse, named)
    return False


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
