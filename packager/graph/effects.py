"""What the code of a script does: which expressions are plain constants, and what a statement changes.

A plain constant gives the same when it is computed again, and does nothing else. A statement changes the
names whose values it writes to, by itself or by calls. Functions and classes of the script are followed;
what other calls do is known by their names: builtins, the standard library, NumPy and torch, and words such
as `append` and `register`. A call that is not known may read, train or draw lots.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Final

from packager.quick_dataclasses import dataclass

from .module_names import dotted
from .statements import is_main_guard, root_of

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef

BUILTIN_CALLS: Final = frozenset(
    "abs all any bin bool bytearray bytes callable chr classmethod complex dict divmod enumerate filter "
    "float format frozenset getattr hasattr hex int isinstance issubclass iter len list map max memoryview "
    "min object oct ord pow property range repr reversed round set slice sorted staticmethod str sum super "
    "tuple type zip".split()
)
PURE_METHODS: Final = frozenset(
    "absolute as_posix astype bfloat16 bool capitalize casefold copy count cpu decode difference double "
    "encode endswith expanduser fetch find float fromkeys get half index int intersection is_absolute "
    "isdigit item items join joinpath keys ljust long lower lstrip partition removeprefix removesuffix "
    "replace reshape resolve rjust rpartition rsplit rstrip split splitlines startswith strip "
    "symmetric_difference title tolist translate transpose union unsqueeze upper values view with_name "
    "with_suffix zfill".split()
)
_LIBRARY: Final = re.compile(
    r"""(?:math|cmath|collections|dataclasses|enum|typing|typing_extensions|abc|functools|itertools|operator
         |string|types|decimal|fractions|numbers|textwrap|struct|weakref|contextvars|platform|keyword)\..+
      | re\.compile | logging\.(?:getLogger|Formatter|NullHandler)
      | (?:pathlib\.)(?:Pure\w*|Path|\w*Path)
      | os\.path\.(?:join|dirname|basename|abspath|realpath|normpath|expanduser|splitext|sep)
      | os\.(?:getenv|fspath|environ\.get|cpu_count) | copy\.(?:copy|deepcopy)
      | datetime\.(?:timedelta|date|time|datetime|timezone) | threading\.(?:R?Lock|local|Event)
      | json\.(?:loads|dumps) | ast\.literal_eval | uuid\.UUID | argparse\.Namespace | hashlib\.\w+
      | importlib\.util\.find_spec | importlib\.metadata\.version
      | numpy\.(?!random|load|save|fromfile|memmap|genfromtxt|empty|seterr|set_|lib\.|test).+
      | (?:torch|kellet)\.(?:tensor|as_tensor|from_numpy|zeros|ones|full|arange|linspace|logspace|eye|device
            |Size|finfo|iinfo|stack|cat|diag|tril|triu|sqrt|log|exp|cuda\.is_available|cuda\.device_count
            |backends\.mps\.is_available|backends\.mps\.is_built|nn\.functional\.(?!dropout)\w+)
      | (?:torch|kellet)\.nn\.(?:modules\.\w+\.)?(?:\w*ReLU6?|ELU|SELU|CELU|GELU|SiLU|Mish|Sigmoid
            |Tanh\w*|Soft\w+|LogSoftmax|LogSigmoid|Hard\w+|Identity|Flatten|Unflatten|\w+Loss|\w*Pool[123]d|Dropout\w*
            |ZeroPad\w+|ConstantPad\w+|ReflectionPad\w+|ReplicationPad\w+|Upsample|CosineSimilarity)
      | torchvision\.transforms\..+""",
    re.VERBOSE,
)
_EVIDENT: Final = re.compile(
    r"(?:open|print|input|exec|eval|breakpoint|exit|quit)|.*\.(?:read_\w+|load|loads?_\w+|save|from_pretrained"
    r"|fit|train|urlopen|urlretrieve|download\w*|system|popen|write_\w+|read_text|read_bytes)|(?:subprocess"
    r"|requests|urllib|socket|random|numpy\.random|torch\.hub)\..*"
)


class ScriptNames:
    """What the names of a script stand for: imported things, functions and classes of its own.

    `instances` are the names that are bound to what a call of one of its classes makes, with the class.
    """

    def __init__(
        self,
        imports: Mapping[str, str],
        functions: Mapping[str, FunctionNode],
        classes: Mapping[str, ast.ClassDef],
        instances: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self.imports = imports
        self.functions = functions
        self.classes = classes
        self.instances = instances

    def full_name(self, callee: ast.expr) -> str:
        """Return the dotted name of what is called, imports resolved; "" for what has none."""
        spelt = dotted(callee)
        top, dot, rest = spelt.partition(".")
        return f"{self.imports.get(top, top)}{dot}{rest}" if spelt else ""

    def methods(self, name: str) -> Iterator[FunctionNode]:
        """Yield the functions in the body of a class of the script."""
        for part in self.classes[name].body if name in self.classes else ():
            if isinstance(part, FunctionNode):
                yield part


def is_plain(node: ast.AST, names: ScriptNames, seen: frozenset[str] = frozenset()) -> bool:
    """Say whether an expression is a plain constant. `seen` are functions that are being looked at."""
    if isinstance(node, ast.Await | ast.Yield | ast.YieldFrom):
        return False
    if isinstance(node, ast.Lambda):
        return all(is_plain(one, names, seen) for one in (*node.args.defaults, *node.args.kw_defaults) if one)
    if isinstance(node, ast.Call) and not _is_plain_call(node, names, seen):
        return False
    return all(is_plain(child, names, seen) for child in ast.iter_child_nodes(node))


def has_evident_effect(node: ast.AST, names: ScriptNames) -> bool:
    """Say whether an expression that runs with a definition reads, writes, prints, trains or draws lots."""
    if isinstance(node, ast.Lambda):
        return False
    if isinstance(node, ast.Call) and _EVIDENT.fullmatch(names.full_name(node.func)):
        return True
    return any(has_evident_effect(child, names) for child in ast.iter_child_nodes(node))


def _is_plain_call(call: ast.Call, names: ScriptNames, seen: frozenset[str]) -> bool:
    spelt = dotted(call.func)
    top = spelt.partition(".")[0]
    if names.full_name(call.func).rpartition(".")[2] in _CALLING and not all(
        _is_plain_to_call(one, names, seen) for one in (*call.args, *(word.value for word in call.keywords))
    ):
        return False
    if spelt in names.functions:
        return spelt in seen or _is_plain_body(names.functions[spelt], names, seen | {spelt})
    if spelt in names.classes:
        return spelt in seen or _is_plain_class(spelt, names, seen | {spelt})
    if top in names.imports:
        return _LIBRARY.fullmatch(names.full_name(call.func)) is not None
    if spelt in BUILTIN_CALLS:
        return True
    return isinstance(call.func, ast.Attribute) and call.func.attr in PURE_METHODS


_CALLING: Final = frozenset(
    "map filter sorted min max sort reduce accumulate starmap groupby takewhile".split()
)


def _is_plain_to_call(node: ast.expr, names: ScriptNames, seen: frozenset[str]) -> bool:
    """Say whether an argument that is called with plain values, if it is a function, gives plain ones."""
    if isinstance(node, ast.Lambda):
        return is_plain(node.body, names, seen)
    spelt = dotted(node)
    called = spelt in names.functions or spelt in names.classes or spelt.partition(".")[0] in names.imports
    if called or (spelt not in BUILTIN_CALLS and callable(getattr(builtins, spelt, None))):
        return _is_plain_call(ast.Call(node, [], []), names, seen)
    return True


def _is_plain_class(name: str, names: ScriptNames, seen: frozenset[str]) -> bool:
    """Say whether making an instance does nothing but set attributes to plain values."""
    node = names.classes[name]
    made = [one for one in names.methods(name) if one.name in ("__init__", "__new__", "__post_init__")]
    for base in node.bases:
        head = base.value if isinstance(base, ast.Subscript) else base  # Generic[T]
        spelt = dotted(head)
        if spelt in names.classes:
            if spelt not in seen and not _is_plain_class(spelt, names, seen | {spelt}):
                return False
        elif names.full_name(head).rpartition(".")[2] not in _PLAIN_BASES:
            return False
    return all(_is_plain_body(one, names, seen) for one in made)


_PLAIN_BASES: Final = frozenset(
    "object ABC Generic Protocol NamedTuple TypedDict Enum IntEnum StrEnum Flag IntFlag dict list tuple set "
    "frozenset str int float bytes Exception ValueError RuntimeError SimpleNamespace Module".split()
)
_QUIET: Final = (
    ast.Return, ast.Assign, ast.AnnAssign, ast.AugAssign, ast.If, ast.For, ast.While, ast.Pass, ast.Break,
    ast.Continue, ast.Raise, ast.Assert, ast.Try, ast.FunctionDef, ast.Import, ast.ImportFrom, ast.Expr,
)  # fmt: skip
_LOCAL_FILLS: Final = frozenset("append add extend insert update setdefault __init__ __post_init__".split())


def _is_plain_body(function: FunctionNode, names: ScriptNames, seen: frozenset[str]) -> bool:
    """Say whether a call of a function computes a value of its arguments, and changes nothing but locals."""
    own = {arg.arg for arg in ast.walk(function.args) if isinstance(arg, ast.arg)}
    own |= {
        part.id
        for part in ast.walk(function)
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)
    }
    if isinstance(function, ast.AsyncFunctionDef) or any(
        isinstance(one, ast.Global) for one in ast.walk(function)
    ):
        return False
    return all(_is_quiet(statement, own, names, seen) for statement in function.body)


def _is_quiet(node: ast.stmt, own: set[str], names: ScriptNames, seen: frozenset[str]) -> bool:
    if not isinstance(node, _QUIET):
        return False
    if isinstance(node, ast.FunctionDef | ast.Import | ast.ImportFrom):
        return True
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        call = node.value
        if (
            isinstance(call.func, ast.Attribute)
            and call.func.attr in _LOCAL_FILLS
            and root_of(call.func) in own | {""}
        ):
            return all(is_plain(one, names, seen) for one in (*call.args, *call.keywords))
    for child in ast.iter_child_nodes(node):
        written = isinstance(child, ast.Attribute | ast.Subscript) and not isinstance(child.ctx, ast.Load)
        if written and root_of(child) not in own:
            return False
        if isinstance(child, ast.stmt):
            if not _is_quiet(child, own, names, seen):
                return False
        elif isinstance(child, ast.ExceptHandler):
            if not all(_is_quiet(one, own, names, seen) for one in child.body):
                return False
        elif not is_plain(child, names, seen):
            return False
    return True


MUTATORS: Final = frozenset(
    "append extend insert remove pop popitem clear sort reverse update setdefault add discard appendleft "
    "extendleft popleft rotate put push fill resize move_to_end subtract difference_update "
    "intersection_update symmetric_difference_update __setitem__ __setattr__ __delitem__".split()
)
_CHANGING_THE_FIRST: Final = frozenset(
    "shuffle heapify heappush heappop heapreplace heappushpop insort insort_left insort_right copyto put "
    "place putmask fill_diagonal put_along_axis".split()
)
"""Functions of `random`, `heapq`, `bisect` and NumPy that change what they are given first."""
_REGISTERING = ("register", "registry", "add_", "set_", "hook", "plugin", "implements")
_CLASS_HOOKS = ("__init_subclass__",)
_META_HOOKS = ("__new__", "__init__", "__call__", "__prepare__")


Way = tuple[ast.AST, ...]
"""The code that makes a change: what runs, what that calls in turn, and last the statement that does it."""


@dataclass(frozen=True)
class _Summary:
    """What a call of a function changes: global names, and its own parameters by position."""

    names: Mapping[str, Way]
    parameters: frozenset[int]


class Effects:
    """Effects of the statements of one script. `quiet` are names whose methods change nothing to keep."""

    def __init__(self, names: ScriptNames, quiet: frozenset[str]) -> None:
        self._names = names
        self._quiet = quiet
        self._known: dict[int, _Summary] = {}

    def of(self, node: ast.stmt) -> Mapping[str, Way]:
        """Return the names that a statement changes when it runs, each with the way to where it does."""
        found: dict[str, Way] = {}
        for name, way in self._changes(node, top=True):
            found.setdefault(name, way)
        if is_main_guard(node):
            for part in ast.walk(node):
                if isinstance(part, ast.Name) and not isinstance(part.ctx, ast.Load):
                    found.pop(part.id, None)  # a variable of the program
        return found

    def of_function(self, function: FunctionNode) -> frozenset[str]:
        """Return the global names that calls of a function change."""
        return frozenset(self._summary(function).names)

    def _changes(self, node: ast.AST, *, top: bool) -> Iterator[tuple[str, Way]]:
        """Yield the names that are changed where `node` runs; bodies of functions run when called."""
        if top and isinstance(node, FunctionNode | ast.ClassDef):
            yield from self._by_decorators(node)
            if isinstance(node, FunctionNode):
                return
            yield from ((name, (node,)) for name in self._by_bases(node))
        if top and isinstance(node, ast.Lambda):
            return
        yield from self._own_changes(node)
        for child in ast.iter_child_nodes(node):
            yield from self._changes(child, top=top)

    def _own_changes(self, node: ast.AST) -> Iterator[tuple[str, Way]]:
        if isinstance(node, ast.Attribute | ast.Subscript) and not isinstance(node.ctx, ast.Load):
            if root := root_of(node):
                yield root, (node,)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Del):
            yield node.id, (node,)
        elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            yield node.target.id, (node,)
        elif isinstance(node, ast.Call):
            yield from ((name, (node, *way)) for name, way in self._by_call(node) if name)

    def _by_call(self, call: ast.Call) -> Iterator[tuple[str, Way]]:
        spelt = dotted(call.func)
        root, _, rest = spelt.partition(".")
        if (called := self._method_called(call)) is not None:
            yield from self._by_function(called[1], [called[0], *call.args])
        if spelt in ("setattr", "delattr") and call.args:
            yield root_of(call.args[0]), ()
        elif spelt not in self._names.functions and _last_part(call.func) in _CHANGING_THE_FIRST:
            yield from ((root_of(one), ()) for one in call.args[:1])
        elif spelt in self._names.functions:
            yield from self._by_function(self._names.functions[spelt], call.args)
        elif spelt in self._names.classes:
            for method in self._names.methods(spelt):
                if method.name in ("__init__", "__new__", "__post_init__"):
                    yield from self._by_function(method, [ast.Constant(None), *call.args])
        elif root in self._names.classes and "." not in rest and rest:
            for method in self._names.methods(root):
                if method.name == rest:
                    yield from self._by_function(method, [ast.Name(root, ast.Load()), *call.args])
            if rest in MUTATORS or rest.lower().startswith(_REGISTERING):
                yield root, ()
        elif isinstance(call.func, ast.Attribute) and _may_change(call.func.attr):
            inner = root_of(call.func)
            if inner in self._names.imports:  # what is registered with a module, or put into its table
                yield from ((name, ()) for name in self._definitions_among(call))
            elif inner not in self._quiet:
                yield inner, ()
        elif root in self._names.imports and _may_change(self._names.full_name(call.func).rpartition(".")[2]):
            yield from ((name, ()) for name in self._definitions_among(call))

    def _method_called(self, call: ast.Call) -> tuple[ast.expr, FunctionNode] | None:
        """Return an object and its method that is called: `TABLE(...)`, `TABLE.enter(...)`, `Enter(1)(f)`."""
        of, name = call.func, "__call__"
        if isinstance(of, ast.Attribute) and dotted(of.value) in self._names.instances:
            name, of = of.attr, of.value
        cls = dotted(of.func) if isinstance(of, ast.Call) else self._names.instances.get(dotted(of), "")
        found = [method for method in self._names.methods(cls) if method.name == name]
        return (of, found[0]) if found else None

    def _by_function(self, function: FunctionNode, arguments: list[ast.expr]) -> Iterator[tuple[str, Way]]:
        summary = self._summary(function)
        yield from summary.names.items()
        for at, argument in enumerate(arguments):
            if at in summary.parameters:
                yield root_of(argument), ()

    def _definitions_among(self, call: ast.Call) -> Iterator[str]:
        for argument in (*call.args, *(keyword.value for keyword in call.keywords)):
            if isinstance(argument, ast.Name) and (
                argument.id in self._names.functions or argument.id in self._names.classes
            ):
                yield argument.id

    def _by_decorators(self, node: FunctionNode | ast.ClassDef) -> Iterator[tuple[str, Way]]:
        for decorator in node.decorator_list:
            made = ast.Name(node.name, ast.Load())
            calls = [ast.Call(decorator, [made], [])]
            if isinstance(decorator, ast.Call):
                calls.append(decorator)
            for call in calls:
                ast.copy_location(call, decorator)
                for name, _ in self._own_changes(call):
                    if name != node.name:
                        yield name, (decorator,)

    def _by_bases(self, node: ast.ClassDef, depth: int = 0) -> Iterator[str]:
        """Yield what hooks of bases and metaclasses of the script change when a class is made."""
        metas = [keyword.value for keyword in node.keywords if keyword.arg == "metaclass"]
        for base, hooks in (
            *((one, _CLASS_HOOKS) for one in node.bases),
            *((one, _META_HOOKS) for one in metas),
        ):
            name = dotted(base)
            if name not in self._names.classes or depth > 50:
                continue
            for method in self._names.methods(name):
                if method.name in hooks:
                    summary = self._summary(method)
                    yield from summary.names
                    if summary.parameters:
                        yield name
                        yield from (dotted(one) for one in node.bases if dotted(one) in self._names.classes)
            yield from self._by_bases(self._names.classes[name], depth + 1)

    def _summary(self, function: FunctionNode) -> _Summary:
        """Return the changes of a function and of those inside it, which it may return."""
        known = self._known.get(id(function))
        if known is not None:
            return known
        self._known[id(function)] = _Summary({}, frozenset())  # for one that calls itself
        parameters = [arg.arg for arg in (*function.args.posonlyargs, *function.args.args)]
        written = _globals_written(function)
        own = _locals(function) - written
        changed: dict[str, Way] = {}
        for part in function.body:
            for name, way in self._changes(part, top=False):
                changed.setdefault(name, way)
        stored = [one for one in ast.walk(function) if isinstance(one, ast.Name | ast.stmt)]
        for one in stored:
            for name in written & _bound_by(one):
                changed.setdefault(name, (one,))
        summary = _Summary(
            {name: way for name, way in changed.items() if name not in own},
            frozenset(at for at, name in enumerate(parameters) if name in changed),
        )
        self._known[id(function)] = summary
        return summary


def _last_part(callee: ast.expr) -> str:
    return callee.attr if isinstance(callee, ast.Attribute) else dotted(callee)


def _may_change(attribute: str) -> bool:
    in_place = attribute.endswith("_") and not attribute.endswith("__")
    return attribute in MUTATORS or in_place or attribute.lower().startswith(_REGISTERING)


def _locals(function: FunctionNode) -> set[str]:
    found = {part.arg for part in ast.walk(function) if isinstance(part, ast.arg)}
    for part in ast.walk(function):
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
            found.add(part.id)
        elif isinstance(part, FunctionNode | ast.ClassDef) and part is not function:
            found.add(part.name)
        elif isinstance(part, ast.Import | ast.ImportFrom):
            found |= {alias.asname or alias.name.partition(".")[0] for alias in part.names}
    return found


def _bound_by(node: ast.AST) -> frozenset[str]:
    """Return the name that a variable or a definition binds, or an import."""
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        return frozenset([node.id])
    if isinstance(node, FunctionNode | ast.ClassDef):
        return frozenset([node.name])
    if isinstance(node, ast.Import | ast.ImportFrom):
        return frozenset(alias.asname or alias.name.partition(".")[0] for alias in node.names)
    return frozenset()


def _globals_written(node: ast.AST) -> frozenset[str]:
    """Return the names that functions inside of `node` declare global and bind."""
    declared = {name for part in ast.walk(node) if isinstance(part, ast.Global) for name in part.names}
    return frozenset(declared)
