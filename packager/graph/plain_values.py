"""Which expressions are plain constants: computing them again gives the same, and does nothing else.

What a call does is known by its name for builtins, the standard library, NumPy and torch; for
functions and classes of the script by their own code. Any other call may read, train or draw lots.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from typing import Final

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef

_BUILTINS: Final = frozenset(
    "abs all any bin bool bytearray bytes callable chr classmethod complex dict divmod enumerate filter "
    "float format frozenset getattr hasattr hex int isinstance issubclass iter len list map max memoryview "
    "min object oct ord pow property range repr reversed round set slice sorted staticmethod str sum super "
    "tuple type zip".split()
)
_PURE_METHODS: Final = frozenset(
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
    """What the names of a script stand for: imported things, functions and classes of its own."""

    def __init__(
        self,
        imports: Mapping[str, str],
        functions: Mapping[str, FunctionNode],
        classes: Mapping[str, ast.ClassDef],
    ) -> None:
        self.imports = imports
        self.functions = functions
        self.classes = classes

    def full_name(self, callee: ast.expr) -> str:
        """The dotted name of what is called, imports resolved; "" for what has none."""
        spelt = dotted(callee)
        top, dot, rest = spelt.partition(".")
        return f"{self.imports.get(top, top)}{dot}{rest}" if spelt else ""

    def methods(self, name: str) -> Iterator[FunctionNode]:
        """The functions in the body of a class of the script."""
        for part in self.classes[name].body if name in self.classes else ():
            if isinstance(part, FunctionNode):
                yield part


def dotted(node: ast.expr) -> str:
    """A chain of names, as it is spelt; "" for anything else."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(parts)]) if isinstance(node, ast.Name) else ""


def root_of(node: ast.AST) -> str:
    """The name at the root of a chain of attributes and subscripts; "" where there is none."""
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Starred):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def is_plain(node: ast.AST, names: ScriptNames, seen: frozenset[str] = frozenset()) -> bool:
    """Whether an expression is a plain constant. `seen` are functions that are being looked at."""
    if isinstance(node, ast.Await | ast.Yield | ast.YieldFrom):
        return False
    if isinstance(node, ast.Lambda):
        return all(is_plain(one, names, seen) for one in (*node.args.defaults, *node.args.kw_defaults) if one)
    if isinstance(node, ast.Call) and not _is_plain_call(node, names, seen):
        return False
    return all(is_plain(child, names, seen) for child in ast.iter_child_nodes(node))


def has_evident_effect(node: ast.AST, names: ScriptNames) -> bool:
    """Whether an expression that runs with a definition reads, writes, prints, trains or draws lots."""
    if isinstance(node, ast.Lambda):
        return False
    if isinstance(node, ast.Call) and _EVIDENT.fullmatch(names.full_name(node.func)):
        return True
    return any(has_evident_effect(child, names) for child in ast.iter_child_nodes(node))


def _is_plain_call(call: ast.Call, names: ScriptNames, seen: frozenset[str]) -> bool:
    spelt = dotted(call.func)
    top = spelt.partition(".")[0]
    if spelt in names.functions:
        return spelt in seen or _is_plain_body(names.functions[spelt], names, seen | {spelt})
    if spelt in names.classes:
        return spelt in seen or _is_plain_class(spelt, names, seen | {spelt})
    if top in names.imports:
        return _LIBRARY.fullmatch(names.full_name(call.func)) is not None
    if spelt in _BUILTINS:
        return True
    return isinstance(call.func, ast.Attribute) and call.func.attr in _PURE_METHODS


def _is_plain_class(name: str, names: ScriptNames, seen: frozenset[str]) -> bool:
    """Whether making an instance does nothing but set attributes to plain values."""
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
    """Whether a call of a function computes a value of its arguments, and changes nothing but locals."""
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
