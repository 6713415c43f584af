"""How the list of what may run names what is called: "module:qualified name", of Python and of C alike.

Both tracers say what the profiler in C that `cProfile` stands on can tell: of Python the code object, of C
a text. A class method in C is shown without its class, and is of `type` here; a method in C that `super()`
leads to is shown as the method of Python that overrides it, and is of `super`.
"""

from __future__ import annotations

import os
import re
import sysconfig
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any, Final

_ROOT: Final = Path(__file__).resolve().parents[2]
_VIEW: Final = str(_ROOT / "tests" / "windows_view") + os.sep
_PATHS: Final = sysconfig.get_paths()
_HOMES: Final = tuple(
    str(home) + os.sep
    for home in (_PATHS["purelib"], _PATHS["platlib"], _PATHS["stdlib"], _ROOT / "src", _ROOT)
)


def name_of_code(code: CodeType) -> str:
    """Return the name of a function of Python, by the file that it is of.

    >>> name_of_code(os.path.join.__code__)
    'posixpath:join'
    """
    file = code.co_filename
    file = file[len("<frozen ") : -1] if file.startswith("<frozen ") else file
    home = next((home for home in _HOMES if file.startswith(home)), "")
    module = file.removeprefix(home).removesuffix(".py").replace("/", ".").removesuffix(".__init__")
    return f"{module}:{code.co_qualname}"


def is_of_view(code: CodeType) -> bool:
    """Say whether a function is one of the view of Windows, which stands around our modules."""
    return code.co_filename.startswith(_VIEW)


def name_of_function(function: Any) -> str:
    """Return the name of a function in C.

    >>> name_of_function([].append), name_of_function(len), name_of_function(dict.fromkeys)
    ('builtins:list.append', 'builtins:len', 'type:fromkeys')
    """
    return name_of_shown(shown_by_profiler(function))


def name_of_shown(shown: str) -> str:
    """Return the name of a function in C from what the profiler shows of it.

    >>> name_of_shown("<method 'view' of 'numpy.ndarray' objects>")
    'numpy:ndarray.view'
    """
    method = _METHOD.fullmatch(shown)
    if method is not None:
        module, _, cls = method[2].rpartition(".")
        return f"{module or 'builtins'}:{cls}.{method[1]}"
    if shown.startswith("<function "):
        return f"super:{shown.split()[1]}"
    shown = shown.partition(" of type object")[0]
    module, _, name = shown.removeprefix("<built-in method ").removesuffix(">").rpartition(".")
    return f"{module if module and module != 'None' else 'type'}:{name}"


_METHOD: Final = re.compile(r"<(?:method|slot wrapper) '(\w+)' of '([\w.]+)' objects>")


def shown_by_profiler(function: Any) -> str:
    """Return a function in C as the profiler shows it."""
    owner = function.__self__
    if owner is None or type(owner) is ModuleType:
        return f"<built-in method {function.__module__}.{function.__name__}>"
    for cls in type(owner).__mro__:
        if function.__name__ in vars(cls):
            return repr(vars(cls)[function.__name__])
    return f"<built-in method {function.__name__}>"
