"""Which names a record can have, which no archive has whatever anybody trusts, and what a name leads to."""

from __future__ import annotations

from types import ModuleType

from packager.late_patterns import late_pattern

TYPE_CHECKING = False  # as in packager.lazy
if TYPE_CHECKING:
    from typing import Any, Final


def is_record_name(module: str, qualname: str) -> bool:
    """Say whether a record can name this: both are dotted, and neither begins with a digit.

    >>> is_record_name("net.3d", "Net.Inner"), is_record_name("3d.net", "Net"), is_record_name("net", "1st")
    (True, False, False)
    """
    return (_is_plain(module) or _MODULE.fullmatch(module) is not None) and (
        not qualname or _is_plain(qualname) or _QUALNAME.fullmatch(qualname) is not None
    )


def _is_plain(name: str) -> bool:
    """Say whether a name is made of identifiers in ASCII, as nearly all are."""
    return name.isascii() and all(map(str.isidentifier, name.split(".")))


_NAME: Final = r"[^\W\d]\w*"
_MODULE: Final = late_pattern(rf"{_NAME}(\.\w+)*")
_QUALNAME: Final = late_pattern(rf"({_NAME}(\.{_NAME})*)?")


# Operators that make a new value of the two that they are given, and change neither.
_OPERATORS: Final = """
    abs add and_ eq floordiv ge gt invert is_ is_not le lshift lt matmul mod mul ne neg not_ or_ pos pow
    rshift sub truediv truth xor
"""

# What makes code of names or bytes, or reaches beyond the object. None of it is needed to rebuild a model
# (codecs stand in for the harmless ones), so it is refused on both sides, even where the caller trusts it.
# Each is listed below what is true of it: of a module as a whole, and of a name itself.
_NEVER_MODULES: Final = {
    "has functions that look up and call what they are told": "operator _operator copyreg",
    "makes objects by calling what bytes name": """
        pickle _pickle dill cloudpickle shelve joblib torch.serialization torch.package
    """,
    "imports, compiles or runs what it is given": """
        codecs importlib runpy code codeop marshal imp pkgutil zipimport timeit trace pdb bdb cProfile profile
        doctest distutils setuptools pip numpy.testing numpy.f2py torch.utils.cpp_extension torch.hub
        packager
    """,
    "reaches into the program that runs": "sys inspect gc",
    "reaches for files, processes, threads or memory": """
        subprocess os posix nt pty ctypes _ctypes cffi multiprocessing threading _thread socket signal shutil
        tempfile webbrowser asyncio
    """,
}
_NEVER_BUILTINS: Final = {
    "turns data into code": "__import__ __build_class__ breakpoint compile eval exec",
    "looks up, changes or removes what a name leads to": "delattr getattr hasattr setattr super",
    "reaches into the program that runs": "dir globals help locals vars",
    "makes a class, or a part of one": "classmethod property staticmethod type",
    "reads what it is given from outside": "input open",
    "ends the program": "exit quit",
    "gives a way to memory": "memoryview",
}
_NEVER_NAMES: Final = {
    "calls what it is given": {
        "functools": "partial partialmethod reduce",
        "_functools": "partial reduce",
    },
    "makes a function, a module or a part of one": {
        "types": "FunctionType CodeType MethodType LambdaType ModuleType DynamicClassAttribute",
    },
    "reads or writes files": {
        "numpy": "load loadtxt genfromtxt fromfile save memmap DataSource",
        "torch": "load save",
        "io": "open",
    },
    # How a storage that is alone is pickled.
    "hands bytes to torch.load, which runs what pickle is in them": {"torch.storage": "_load_from_bytes"},
}
NEVER_MODULES: Final = {
    module: what for what, modules in _NEVER_MODULES.items() for module in modules.split()
}
NEVER_NAMES: Final = {
    ("builtins", name): what for what, names in _NEVER_BUILTINS.items() for name in names.split()
} | {
    (module, name): what
    for what, table in _NEVER_NAMES.items()
    for module, names in table.items()
    for name in names.split()
}

# What the modules above have, and does nothing by itself: marks of signatures, and operators.
HARMLESS_NAMES: Final = frozenset(
    {("inspect", "_empty"), ("inspect", "_ParameterKind")}
    | {("_operator", name) for name in _OPERATORS.split()}
)


def is_never_stored(module: str, qualname: str) -> bool:
    """Return whether a name is refused whatever the caller trusts.

    >>> is_never_stored("builtins", "getattr"), is_never_stored("os.path", "join")
    (True, True)
    >>> is_never_stored("collections", "OrderedDict")
    False
    """
    return why_never_stored(module, qualname) != ""


def why_never_stored(module: str, qualname: str) -> str:
    """Return what is true of a name that is refused whatever the caller trusts; "" for other names.

    >>> why_never_stored("builtins", "eval")
    'turns data into code'
    >>> why_never_stored("os.path", "join")
    'is of the module os, which reaches for files, processes, threads or memory'
    """
    if (module, qualname) in HARMLESS_NAMES:
        return ""
    what = NEVER_NAMES.get((module, qualname.partition(".")[0]))
    if what is not None or module == "builtins":
        return what or ""
    parts = module.split(".")
    tops = (".".join(parts[:length]) for length in range(1, len(parts) + 1))
    return next(
        (f"is of the module {top}, which {NEVER_MODULES[top]}" for top in tops if top in NEVER_MODULES), ""
    )


def walk_classes(module: Any, qualname: str) -> Any:
    """Return what a qualified name leads to: the first part in the module, the others in classes only.

    Returns None where there is no such name. Nothing lazy is triggered: names count that are there.
    """
    if not isinstance(module, ModuleType):
        return None
    first, *rest = qualname.split(".")
    found = vars(module).get(first)
    for part in rest:
        if not isinstance(found, type):
            return None
        found = getattr(found, part, None)
    return found


def numpy_ufunc() -> type:
    """Return NumPy's type of universal functions, which say of themselves only how they are called."""
    import numpy

    return numpy.ufunc
