"""What a value is, as text that two processes can compare. Nothing of it runs.

Values of the exact types of Python are spelt, and arrays and tensors stand for their numbers; of anything
else it is its class, and what lies in its `__dict__` and slots. Nothing is imported for it: where a library
is not loaded, no value is one of its types.
"""

from __future__ import annotations

import bisect
import contextlib
import dis
import functools
import gc
import hashlib
import sys
import threading
import weakref
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping
from contextvars import ContextVar
from types import (
    BuiltinFunctionType,
    FunctionType,
    GeneratorType,
    GetSetDescriptorType,
    MappingProxyType,
    MemberDescriptorType,
    MethodType,
    ModuleType,
)
from typing import Any, Final

from packager._names import demangle

from .proof import Kind

UNKNOWN: Final = "..."
"""What stands for a value that is too large to be looked at."""
PLAIN: Final = (type(None), bool, int, float, complex, str, bytes, type(...))
_MAPPINGS: Final = (dict, OrderedDict, defaultdict, Counter, MappingProxyType)
_LISTS: Final = (list, deque)
_SETS: Final = (set, frozenset)
_CONTAINERS: Final = (*_MAPPINGS, *_LISTS, tuple, *_SETS)
_ITERATORS: Final[tuple[type, ...]] = (type(iter([])), type(iter(())), type(iter(range(0))))
_WEAK: Final = (weakref.WeakSet, weakref.WeakKeyDictionary, weakref.WeakValueDictionary)
# Of Python or NumPy, and what Python says of them is theirs alone; by name, so that none is imported.
_SPEAKING: Final = frozenset(
    "builtins.range builtins.slice builtins.bytearray itertools.count decimal.Decimal "
    "decimal.Context fractions.Fraction datetime.date datetime.datetime datetime.time datetime.timedelta "
    "datetime.timezone pathlib.PosixPath pathlib.PurePosixPath pathlib.WindowsPath pathlib._local.PosixPath "
    "pathlib._local.PurePosixPath pathlib._local.WindowsPath re.Pattern uuid.UUID "
    "numpy.float64 numpy.float32 numpy.float16 numpy.int64 numpy.int32 numpy.uint8 numpy.bool_ numpy.bool "
    "numpy.str_ torch.dtype torch.device torch.Size".split()
)
_AROUND_FUNCTIONS: Final[dict[int, str]] = {
    id(property): "fget",
    id(staticmethod): "__func__",
    id(classmethod): "__func__",
    id(functools.cached_property): "func",
    id(functools.singledispatchmethod): "dispatcher",
}
"""What holds the function of an attribute of a class, by the class of the attribute."""
_NETWORKS: Final = (("torch.nn.modules.module", "Module"), ("kellet.nn.module", "Module"))
_GENERATORS: Final = {
    "random.Random": "getstate",
    "torch._C.Generator": "get_state",
    "kellet.core.generators.Generator": "get_state",
    "numpy.random._generator.Generator": "state",
    "numpy.random.mtrand.RandomState": "get_state",
}
"""Generators of random numbers, and what gives their states; the one of NumPy has it in its source."""
_OF_CALLS: Final = frozenset({"EXTENDED_ARG", "NOP", "PUSH_NULL"})
_JUMPS: Final = frozenset({*dis.hasjrel, *dis.hasjabs})
bases_of: Final[Callable[[type], tuple[type, ...]]] = type.__dict__["__mro__"].__get__
body_of: Final[Callable[[type], Mapping[str, Any]]] = type.__dict__["__dict__"].__get__
"""Return a class with its bases, and what stands in its body, past what a metaclass makes of the question."""
_NAMESPACES: Final = ("types.SimpleNamespace", "argparse.Namespace", "collections.UserDict")
_MOST_TEXT: Final = 2000
_MOST_VALUES: Final = 500_000
_PLAIN_A_VALUE: Final = 5  # what lies in a list counts a fifth beside the list
_MOST_BYTES: Final = 64 * 2**20
_MOST_BITS: Final = 10_000
_DEEPEST: Final = 5
_FEW_NUMBERS: Final = 6


class Texts:
    """Spells values: `own` are the first parts of the modules whose objects are looked into.

    `alike` spells a text as it is in every process. All values together hold at most `most` others, and one
    array has `most_bytes`: of more it is said only how large it is, or `UNKNOWN`.
    """

    def __init__(
        self,
        own: Collection[str],
        alike: Callable[[str], str] = str,
        *,
        most: int = _MOST_VALUES,
        most_bytes: int = _MOST_BYTES,
    ) -> None:
        self.own = frozenset(own)
        self.alike = alike
        self._left, self._most_entries, self._most_bytes = most, most // _PLAIN_A_VALUE, most_bytes
        self._is_plain = self._is_whole = True
        self._open: set[int] = set()

    def of(self, value: object) -> tuple[str, Kind]:
        """Return the text of a value, a long one cut and with a digest of all of it, and its kind.

        >>> Texts(()).of({"b": [1], "a": print}), Texts(()).of(object())
        (("{'a': builtin print, 'b': [1]}", 'value'), ('object', 'object'))
        """
        self._is_plain = self._is_whole = True
        text = self._text(value, 0)
        if not self._is_whole:
            text = UNKNOWN
        elif len(text) > _MOST_TEXT:
            digest = _digest(text.encode("utf-8", "surrogatepass"))
            text = f"{text[:_MOST_TEXT]}... ({len(text):,} characters, {digest})"
        return text, "value" if self._is_plain else "object"

    def looks_into(self, value: object) -> bool:
        """Say whether an object is looked into, wherever it is: of an own class, a namespace, a network."""
        home = demangle(class_name(type(value)))
        return home.partition(".")[0] in self.own or home in _NAMESPACES or is_network(value)

    def _text(self, value: Any, depth: int) -> str:
        cls = type(value)
        if is_one_of(cls, (str, bytes)) and len(value) > self._most_bytes:
            return f"{cls.__name__} of {len(value):,}"
        if cls is str:
            return repr(self.alike(value))
        if is_one_of(cls, PLAIN):
            is_long = cls is int and value.bit_length() > _MOST_BITS
            return hex(value) if is_long else repr(value)  # Python refuses to spell those as decimals
        if issubclass(cls, type):
            return f"class {demangle(class_name(value))}"
        if cls is FunctionType:
            return code_of(value)
        if cls is BuiltinFunctionType:
            return f"builtin {value.__name__}"
        if cls is ModuleType:
            return f"module {home_in(vars(value))}"
        self._left -= 1
        self._is_whole = self._is_whole and self._left >= 0
        if depth > _DEEPEST or id(value) in self._open or self._left < 0:
            return UNKNOWN
        self._open.add(id(value))
        try:
            return self._of_object(value, functools.partial(self._text, depth=depth + 1))
        finally:
            self._open.discard(id(value))

    def _of_object(self, value: Any, inner: Callable[[Any], str]) -> str:
        cls = type(value)
        if is_one_of(cls, _CONTAINERS):
            return self._entries(value, inner)
        if _is_known(cls, _SPEAKING):
            return self.alike(repr(value))
        if cls is ContextVar:
            return inner(value.get(None))
        name = demangle(class_name(cls)).removeprefix("builtins.")
        inside: list[str] = []
        if issubclass(cls, threading.local):
            inside = list(map(inner, parts_of_local(value)))
        elif self.looks_into(value):
            inside = [self._entries(value, inner)] if issubclass(cls, _CONTAINERS[:-1]) else []
            inside += [f"{key}={inner(one)}" for key, one in attributes_of(value)]
        else:
            self._is_plain = False
            return _of_library(value, name, inner, self._most_bytes)
        return f"{name}({', '.join(inside)})"

    def _entries(self, value: Any, inner: Callable[[Any], str]) -> str:
        """Spell what lies in a container, by the methods of Python's own class."""
        base = next(one for one in _CONTAINERS if issubclass(type(value), one))
        if base is MappingProxyType:  # around a dict, as far as it is known
            [value] = [one for one in gc.get_referents(value) if type(one) is dict] or [{}]
            base = dict
        if (count := base.__len__(value)) > self._most_entries:
            return f"{base.__name__} of {count:,}"
        self._left -= count // _PLAIN_A_VALUE
        if base is dict:
            texts = [f"{inner(key)}: {inner(one)}" for key, one in [*dict.items(value)]]
            return f"{{{', '.join(texts if issubclass(type(value), OrderedDict) else sorted(texts))}}}"
        texts = list(map(inner, [*base.__iter__(value)]))
        if base is tuple:
            return f"({', '.join(texts)}{',' * (len(texts) == 1)})"
        return f"[{', '.join(texts)}]" if is_one_of(base, _LISTS) else f"{{{', '.join(sorted(texts))}}}"


def _of_library(value: Any, name: str, inner: Callable[[Any], str], most_bytes: int) -> str:
    """Spell a value of a class that is not looked into."""
    cls = type(value)
    if said := numbers_of(value, most_bytes) or _state_of_generator(value):
        return said
    if cls is MethodType:
        return f"method {inner(value.__func__)}"
    if cls is functools.partial:
        return f"partial({', '.join(map(inner, (value.func, *value.args, value.keywords)))})"
    if is_one_of(cls, _WEAK):
        return f"{name} of {len(value.data):,}"
    if is_one_of(cls, _ITERATORS):
        return f"{name} with {value.__length_hint__()} left"
    if cls is GeneratorType:
        return f"generator at line {value.gi_frame.f_lineno if value.gi_frame else 'end'}"
    return name


def is_container(value: object) -> bool:
    """Say whether a value is a container of Python, or of a class that is made of one.

    >>> is_container(defaultdict(list)), is_container("ab")
    (True, False)
    """
    return issubclass(type(value), _CONTAINERS)


def is_one_of(cls: object, classes: Iterable[Any]) -> bool:
    """Say whether a class is one of some, without asking it: a metaclass may say what equals it."""
    return any(cls is one for one in classes)


def class_name(cls: type) -> str:
    """Return the dotted name of a class; one that `exec` made may lack a module."""
    try:
        module = type.__getattribute__(cls, "__module__")
    except AttributeError:
        module = ""
    name: str = type.__getattribute__(cls, "__qualname__")
    return f"{module}.{name}" if type(module) is str and module else name


def names_of(module: str) -> dict[str, Any]:
    """Return the names in a loaded module; none of one that is not, or that only blocks an import."""
    return getattr(sys.modules.get(module), "__dict__", {})


def home_in(names: dict[str, Any]) -> str:
    """Return the name of the module whose names these are, as the archive's maker knows it."""
    home = names.get("__name__")
    return demangle(home) if type(home) is str else ""


def code_of(function: FunctionType) -> str:
    """Return the home of a function and its name there, with a digest of what it does."""
    home = home_in(function.__globals__)
    return f"function {home}:{function.__code__.co_qualname} {_digest(*_parts_of_code(function.__code__))}"


def function_in(attribute: object) -> FunctionType | None:
    """Return the function that an attribute of a class is, or calls; None for other attributes."""
    inner = _AROUND_FUNCTIONS.get(id(type(attribute)))
    attribute = getattr(attribute, inner) if inner else attribute
    return attribute if type(attribute) is FunctionType else None


def attributes_of(value: object) -> Iterator[tuple[str, Any]]:
    """Yield the attributes that an object itself has, without asking it.

    Hooks of a network go by numbers that are others in each process: they are given without.

    >>> from types import SimpleNamespace
    >>> list(attributes_of(SimpleNamespace(width=3)))
    [('width', 3)]
    """
    has_hooks = is_network(value)
    for cls in bases_of(type(value)):
        for key, slot in list(body_of(cls).items()):
            if key == "__dict__" and is_one_of(type(slot), (GetSetDescriptorType, MemberDescriptorType)):
                for name, one in list(slot.__get__(value).items()):
                    is_of_hooks = has_hooks and is_one_of(type(one), (dict, OrderedDict)) and "hooks" in name
                    yield name, list(one.values()) if is_of_hooks else one
            elif type(slot) is MemberDescriptorType:
                with contextlib.suppress(AttributeError):  # an empty slot
                    yield key, slot.__get__(value)


def parts_of_local(value: threading.local) -> list[Any]:
    """Return what each thread has in a `threading.local`; to ask for an attribute would call `__init__`."""
    tables = [one for one in gc.get_referents(value) if type(one) is dict]
    return [inner for table in tables for inner in table.values() if type(inner) is dict]


def is_network(value: object) -> bool:
    """Say whether a value is a network of PyTorch or kellet."""
    bases = bases_of(type(value))
    return any(is_one_of(getattr(sys.modules.get(name), cls, None), bases) for name, cls in _NETWORKS)


def numbers_of(value: Any, most_bytes: int = _MOST_BYTES) -> str:
    """Return type and shape of an array or a tensor, and what stands for its numbers; "" for anything else.

    What is large, lies on an accelerator or is no plain array in memory has no numbers.

    >>> import numpy
    >>> numbers_of(numpy.zeros(2)), numbers_of([0.0, 0.0])
    ('float64 (2,) 0.0, 0.0 #374708ff', '')
    """
    cls = type(value)
    libraries = [sys.modules.get(name) for name in ("numpy", "torch", "kellet", "torch.nn", "kellet.nn")]
    names = ("ndarray", "Tensor", "Tensor", "Parameter", "Parameter")
    known = [getattr(library, name, None) is cls for library, name in zip(libraries, names, strict=True)]
    if not any(known):
        return ""
    head = f"{value.dtype} {tuple(value.shape)}"
    of_torch = known[1] or known[3]
    array = value if known[0] else _array_of_torch(value) if of_torch else value.detach().numpy()
    if array is None or array.dtype.hasobject or array.nbytes > most_bytes:
        return head
    few = "" if of_torch else ", ".join(map(str, array.ravel()[:_FEW_NUMBERS].tolist()))
    more = ", ..." if array.size > _FEW_NUMBERS and few else ""
    return f"{head} {few}{more} #{_digest(array.tobytes())}"


def _array_of_torch(tensor: Any) -> Any:
    """Return the bytes of a dense tensor in memory as an array; None for other tensors."""
    torch, plain = sys.modules["torch"], tensor.detach()
    if plain.device.type != "cpu" or plain.layout is not torch.strided or plain.is_quantized:
        return None
    flat = plain.resolve_conj().resolve_neg().contiguous()
    return flat.reshape(-1).view(torch.uint8).numpy() if flat.numel() else None


def _state_of_generator(value: Any) -> str:
    """Return what stands for the state of a generator of random numbers; "" for anything else."""
    cls = type(value)
    if not _is_known(cls, _GENERATORS):
        return ""
    name = class_name(cls)
    source = getattr(value, "bit_generator", getattr(value, "_bit_generator", value))
    if not _is_known(type(source)):
        return name  # a source of the project's own
    state = getattr(source if _GENERATORS[name] == "state" else value, _GENERATORS[name])
    return f"{name} #{_digest(Texts(()).of(state() if callable(state) else state)[0].encode())}"


def _is_known(cls: type, among: Container[str] | None = None) -> bool:
    """Say whether a class is the one that its name stands for, and that is among some names."""
    home, _, name = class_name(cls).rpartition(".")
    return (among is None or f"{home}.{name}" in among) and names_of(home).get(name) is cls


def _parts_of_code(code: Any) -> Iterator[bytes]:
    yield repr([*_steps_of(code)]).encode("utf-8", "surrogatepass")
    yield " ".join((*code.co_names, *code.co_varnames)).encode("utf-8", "surrogatepass")
    for one in code.co_consts:
        if type(one) is type(code):
            yield from _parts_of_code(one)
        else:  # Python orders a set of constants anew in each process
            whole = sorted(map(repr, one)) if type(one) is frozenset else one
            yield repr(whole).encode("utf-8", "surrogatepass")


def _steps_of(code: Any) -> Iterator[tuple[str, Any]]:
    """Yield what a code does, with jumps by the number of the step that they lead to.

    Python calls `np.log` by other steps where `import numpy as np` stands in the same text. A notebook has
    one text for each cell, and the stored `__main__.py` is one text.
    """
    steps = [*dis.get_instructions(code)]
    kept = [step for step in steps if step.opname not in _OF_CALLS]
    offsets = [step.offset for step in kept]
    for step in kept:
        does = step.opname.replace("LOAD_METHOD", "LOAD_ATTR")
        if step.opcode in _JUMPS:
            yield does, bisect.bisect_left(offsets, step.argval)
        else:
            yield does, step.arg if step.opcode in dis.hasconst else step.argval


def _digest(*parts: bytes) -> str:
    whole = hashlib.sha256()
    for part in parts:
        whole.update(part)
    return whole.hexdigest()[:8]
