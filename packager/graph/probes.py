"""What project code looks for without importing it: modules by `find_spec`, distributions by their metadata.

A probe is a fact about this environment. The name is mostly a text where it is looked for; where it is
computed, it is drawn from a literal (`for name in BACKENDS: FOUND[name] = find_spec(name)`), or the parameter
of a function that looks for what it is given (`def is_here(name): return find_spec(name) is not None`), which
other functions hand it on to. So calls of such functions are read, too, wherever they are defined.

Where not all of its calls are known so, what it may look for is an open probe, as a computed import is a
question.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from .drawn_texts import DrawnTexts
from .given_texts import (
    HOLE,
    MODULE_NAME,
    At,
    Call,
    Function,
    Given,
    GivenTexts,
    Kind,
    Parameter,
    absolute,
    parameter_names,
)
from .module_table import ModuleTable, SourceModule
from .name_patterns import name_pattern
from .named_variables import texts_bound
from .resolve import Names
from .scan import Binding

_WORDS: Final = re.compile(
    rb"find_spec|find_loader|get_loader|metadata|pkg_resources|import_module|__import__"
    rb"|(?:is|has|have)_\w*(?:package|module|lib)\w*\s*\(|(?:package|module)_(?:available|installed|exists)\s*\("
)
_PROBING: Final = re.compile(r"_?(?:is|has|have)_\w+|\w+_(?:available|installed|exists)")
_IMPORTERS: Final = frozenset(["import_module", "__import__"])
_LOOKED_FOR: Final = (0, "name", "distribution_name", "fullname")
_MOST_STEPS: Final = 6  # functions that hand a name on to each other
_Sought = tuple[Kind, str]  # what is looked for, and the template of its name


class Probe(NamedTuple):
    """What `module` looks for in `line` of `file`: a module or a distribution, by its name."""

    module: str
    file: str
    line: int
    kind: Kind
    name: str


class OpenProbe(NamedTuple):
    """Where `module` looks for modules whose names are not all known: a line, in the function at `begins`.

    `pattern` is a glob of them, "" where nothing of it is known.
    """

    module: str
    line: int
    begins: int
    text: str
    pattern: str


class ProbeReader:
    """Reads probes off modules. `is_live` says of a module's function, by its first line, if it can run."""

    def __init__(self, table: ModuleTable, names: Names, is_live: Callable[[str, int], bool]) -> None:
        self._table = table
        self._names = names
        self._is_live = is_live
        self._read: list[GivenTexts] = []
        self._texts: dict[str, GivenTexts] = {}
        self._literals: dict[str, dict[str, ast.expr]] = {}
        self._sought: dict[tuple[str, Parameter], frozenset[_Sought]] = {}

    def probes(self, modules: Iterable[SourceModule]) -> Iterator[Probe]:
        """Yield what these modules look for, in live code, in the order of their lines."""
        waiting = list(modules)
        texts = [self._text(one) for one in waiting if _WORDS.search(one.source or b"")]
        helpers = {name for text in texts for name in (*text.functions, *text.lambdas)}
        called = re.compile(rb"\b(?:" + b"|".join(re.escape(one.encode()) for one in helpers) + rb")\b")
        done = {text.module.name for text in texts}
        others = [module for module in waiting if module.name not in done] if helpers else []
        texts += [self._text(module) for module in others if called.search(module.source or b"")]
        self._read = texts
        for text in texts:
            found = {
                Probe(text.module.name, text.module.found.file, call.line, kind, name)
                for call in self._live(text)
                for given in call.given
                if given.names
                for kind, template in self._looks_for(text, call.function, given.at, 0)
                for one in given.names
                for name in self._spellings(text.module, template.replace(HOLE, one), kind)
                if MODULE_NAME.fullmatch(name)
            }
            yield from sorted(found, key=lambda one: (one.line, one.kind, one.name))

    def open_probes(self) -> Iterator[OpenProbe]:
        """Yield where the modules that were read last look for others by names that are not all known."""
        found: dict[OpenProbe, None] = {}
        for text in self._read:
            for call in self._live(text):
                if text.kind_of(call.function) == "module":
                    for given in call.given:
                        if given.at in _LOOKED_FOR:
                            found.update(dict.fromkeys(self._open(text, call, given, HOLE, frozenset())))
        yield from found

    def _spellings(self, module: SourceModule, name: str, kind: Kind) -> Iterator[str]:
        """Yield a name, and where it is here what functions make of it: `name.lower().replace("-", "_")`."""
        yield name
        spelt = name.lower().replace("-", "_")
        is_own = kind == "module" and spelt.partition(".")[0] == module.name.partition(".")[0]
        if spelt != name and is_own and self._table.exists(spelt) is True:
            yield spelt

    def _live(self, text: GivenTexts) -> Iterator[Call]:
        name = text.module.name
        return (call for call in text.calls if all(self._is_live(name, line) for line in call.inside))

    def _open(
        self, text: GivenTexts, call: Call, given: Given, template: str, passed: frozenset[Parameter]
    ) -> Iterator[OpenProbe]:
        """Yield what is unknown of a name: in what the call, or calls of its function, are given."""
        if not given.names and not given.made:
            yield _open_probe(text, call, given.value, template)
        for parameter, inner in given.made:
            whole = template.replace(HOLE, inner)
            callers = list(self._callers(text, parameter)) if parameter not in passed else []
            if parameter not in passed and (not callers or self._is_used_otherwise(text, parameter)):
                yield _open_probe(text, call, None, whole)
            for there, outer in callers:
                if not isinstance(outer, Call):
                    yield from self._open(there, outer[0], outer[1], whole, passed | {parameter})
                elif outer.is_open:
                    yield _open_probe(there, outer, None, whole)

    def _callers(
        self, home: GivenTexts, parameter: Parameter
    ) -> Iterator[tuple[GivenTexts, Call | tuple[Call, Given]]]:
        """Yield the live calls of the function that has a parameter, with what is given for it."""
        function = home.names.get((parameter.line, parameter.column), "")
        for text in self._read if function else ():
            for call in self._live(text):
                for there, node, is_method in self._meant(text, call.function, function):
                    if there is not home or (node.lineno, node.col_offset) != parameter[:2]:
                        continue
                    place = parameter_names(node).index(parameter.name) - is_method
                    given = [one for one in call.given if one.at in (parameter.name, place)]
                    yield text, (call, given[0]) if given else call

    def _meant(
        self, text: GivenTexts, spelt: str, function: str
    ) -> Iterator[tuple[GivenTexts, Function, bool]]:
        """Yield the functions that a call may mean, where that can be `function`."""
        renamed = text.module.scan.bindings.get(spelt, ())
        if spelt.rpartition(".")[2] == function or any(one.kind == "import" for one in renamed):
            yield from self._defined(text, spelt)

    def _is_used_otherwise(self, home: GivenTexts, parameter: Parameter) -> bool:
        """Say whether the function that has a parameter is handed around, so that not all calls are seen."""
        function = home.names.get((parameter.line, parameter.column), "")
        return any(function in text.uncalled for text in self._read)

    def _text(self, module: SourceModule) -> GivenTexts:
        known = self._texts.get(module.name)
        if known is None or known.source is not module.source:
            known = self._texts[module.name] = GivenTexts.read(module, self._imported(module))
        return known

    def _imported(self, module: SourceModule) -> dict[str, list[ast.expr]]:
        """Return the literals that a module imports by name from others of its own package."""
        found: dict[str, list[ast.expr]] = {}
        for name, bindings in module.scan.bindings.items():
            if any(one.part >= 0 for one in bindings) and self._is_of_its_own(module, name):
                for home, binding in self._names.definitions(module, name):
                    if binding.kind == "value":
                        literal = self._literal(home, self._spelt_there(module, bindings, name))
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

    def _literal(self, module: SourceModule, name: str) -> ast.expr | None:
        """Return the literal that a module binds a name to at its top."""
        known = self._literals.get(module.name)
        if known is None:
            try:
                tree = ast.parse(module.source or b"")
            except (SyntaxError, ValueError, RecursionError, MemoryError):
                tree = ast.Module([], [])
            drawn, texts = DrawnTexts(tree), dict(texts_bound(tree))
            literals = {one: drawn.literal(one) or _constant(texts.get(one)) for one in module.scan.bindings}
            known = {one: literal for one, literal in literals.items() if literal is not None}
            self._literals[module.name] = known
        return known.get(name)

    def _looks_for(self, text: GivenTexts, function: str, at: At, steps: int) -> frozenset[_Sought]:
        """Return what a function looks for by the argument at `at`: nothing, mostly."""
        kind = text.kind_of(function)
        if kind is not None:
            return frozenset([(kind, HOLE)]) if at in _LOOKED_FOR else frozenset()
        sought: frozenset[_Sought] = frozenset()
        for home, node, is_method in self._defined(text, function) if steps < _MOST_STEPS else ():
            for place, name in enumerate(parameter_names(node)):
                if at in (name, place - is_method):
                    sought |= self._by(home, Parameter(node.lineno, node.col_offset, name), steps)
        return sought

    def _by(self, text: GivenTexts, parameter: Parameter, steps: int) -> frozenset[_Sought]:
        """Return what a function looks for by a parameter of its own."""
        key = (text.module.name, parameter)
        if key not in self._sought:
            self._sought[key] = frozenset()  # for functions that call each other
            sought: set[_Sought] = set()
            for call, at, template in text.handed_on(parameter):
                if call.function.rpartition(".")[2] in _IMPORTERS:
                    by_name: list[_Sought] = [("module", HOLE)]
                    inner = by_name if call.is_tried and at in (0, "name") else []
                else:
                    inner = list(self._looks_for(text, call.function, at, steps + 1))
                sought |= {(kind, one.replace(HOLE, template)) for kind, one in inner}
            self._sought[key] = frozenset(sought)
        return self._sought[key]

    def _defined(self, text: GivenTexts, function: str) -> Iterator[tuple[GivenTexts, Function, bool]]:
        """Yield the functions that a dotted name means, and whether they are called as a method."""
        last = function.rpartition(".")[2]
        for node, is_method in text.functions.get(last, ()) if "." in function else ():
            yield text, node, is_method
        if "." not in function and function in text.lambdas:
            yield text, text.lambdas[function], False
        if function.partition(".")[0] not in text.module.scan.bindings:
            for node, is_method in text.functions.get(function, ()):  # in another function
                yield text, node, is_method
        else:
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


def _open_probe(text: GivenTexts, call: Call, value: ast.expr | None, template: str) -> OpenProbe:
    """Return what is known of a name that is put into a template: nothing, where there is no `value`."""
    module = text.module
    pattern, anchor = ("*", "") if value is None else name_pattern(value)
    if anchor:
        pattern = (module.name if anchor == "name" else module.package) + pattern
    pattern = template.replace(HOLE, pattern)
    if pattern.startswith(".") and len(call.packages) == 1:
        pattern = absolute(pattern, call.packages)
    pattern = re.sub(r"\*+", "*", pattern)
    known = pattern if pattern[:1] not in (".", "*") else ""
    given = next((ast.unparse(one.value) for one in call.given if one.at in _LOOKED_FOR), "") or "..."
    line, begins = call.line, call.inside[-1] if call.inside else 0
    return OpenProbe(module.name, line, begins, f"{call.function}({given})", known)


def _constant(text: str | None) -> ast.expr | None:
    return None if text is None else ast.Constant(text)
