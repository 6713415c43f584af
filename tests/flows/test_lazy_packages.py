"""Packages that load themselves lazily, packed from their installed folder and run where they are not."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

pytestmark = pytest.mark.long

LAZY_MODULE = """
import importlib, os
from functools import lru_cache
from types import ModuleType

class LazyModule(ModuleType):
    def __init__(self, name, file, structure, spec=None, extra_objects=None):
        super().__init__(name)
        self._modules = set(structure)
        self._homes = {name: home for home, names in structure.items() for name in names}
        self.__all__ = [*structure, *self._homes]
        self.__file__, self.__spec__, self.__path__ = file, spec, [os.path.dirname(file)]
        self._objects = extra_objects or {}

    def __dir__(self):
        return sorted({*super().__dir__(), *self.__all__})

    def __getattr__(self, name):
        if name in self._objects:
            return self._objects[name]
        if name in self._modules:
            value = self._load(name)
        elif name in self._homes:
            value = getattr(self._load(self._homes[name]), name)
        else:
            raise AttributeError(f"module {self.__name__} has no attribute {name}")
        setattr(self, name, value)
        return value

    def _load(self, name):
        return importlib.import_module("." + name, self.__name__)

@lru_cache
def structure_of(folder):
    found = {}
    for name in sorted(os.listdir(folder)):
        text = open(os.path.join(folder, name)).read() if name.endswith(".py") and name[0] != "_" else ""
        if "__all__ = [" in text:
            names = text.split("__all__ = [")[1].split("]")[0]
            found[name[:-3]] = [part.strip(' "') for part in names.split(",")]
    return found
"""

PACKAGES = {
    "a structure read from the sources, an object in sys.modules, extra objects": f"""
== lazypkg/_lazy.py
{LAZY_MODULE}
== lazypkg/__init__.py
import os, sys
from typing import TYPE_CHECKING
from ._lazy import LazyModule, structure_of
if TYPE_CHECKING:
    from .nets import *
    from .parts import *
else:
    sys.modules[__name__] = LazyModule(
        __name__, globals()["__file__"], structure_of(os.path.dirname(__file__)), spec=__spec__,
        extra_objects={{"__version__": "3.1"}},
    )
== lazypkg/nets.py
import lazypkg
from lazypkg import Part
__all__ = ["Net"]
class Net:
    def run(self):
        listed = {{"Net", "parts"}} <= set(dir(lazypkg))
        return [Part().go(), lazypkg.Other().go(), lazypkg.__version__, listed]
== lazypkg/parts.py
__all__ = ["Part", "Other"]
class Part:
    def go(self): return 1
class Other:
    def go(self): return 2
""",
    "attributes by names from a table, while a module is imported": f"""
== lazypkg/_lazy.py
{LAZY_MODULE}
== lazypkg/__init__.py
== lazypkg/auto/__init__.py
import os, sys
from .._lazy import LazyModule, structure_of
sys.modules[__name__] = LazyModule(__name__, __file__, structure_of(os.path.dirname(__file__)), spec=__spec__)
== lazypkg/auto/images.py
__all__ = ["IMAGES"]
IMAGES = {{"net": "ImageReader"}}
== lazypkg/auto/texts.py
__all__ = ["TEXTS"]
TEXTS = {{"net": "TextReader"}}
== lazypkg/described.py
from lazypkg import auto
PLACES = {{"{{image_reader}}": ("images", "IMAGES"), "{{text_reader}}": ("texts", "TEXTS")}}
def described(cls):
    for name, place in PLACES.items():
        value = getattr(getattr(auto, PLACES[name][0]), PLACES[name][1])["net"]
        cls.__doc__ = cls.__doc__.replace(name, value)
    return cls
== lazypkg/nets.py
from .described import described
@described
class Net:
    "Takes what {{image_reader}} and {{text_reader}} read."
    def run(self):
        return type(self).__doc__
""",
    "what a package asks of itself": """
== lazypkg/__init__.py
import sys
from importlib import import_module
_TABLE = {"A": "a", "B": "b", "C": "c"}
def __getattr__(name):
    if name in _TABLE:
        return getattr(import_module("." + _TABLE[name], __name__), name)
    raise AttributeError(name)
def three():
    import lazypkg
    me = sys.modules[__name__]
    return [me.A, getattr(me, "B"), lazypkg.C]
== lazypkg/a.py
A = 1
== lazypkg/b.py
B = 2
== lazypkg/c.py
C = 3
== lazypkg/nets.py
from . import three
class Net:
    def run(self):
        return three()
""",
    "a stub that the package reads": """
== lazypkg/stubs.py
import ast, os
from importlib import import_module
def attach_stub(package, file):
    with open(os.path.splitext(file)[0] + ".pyi") as stub:
        imports = ast.parse(stub.read()).body
    table = {alias.name: node.module for node in imports for alias in node.names}
    def __getattr__(name):
        if name not in table:
            raise AttributeError(name)
        if table[name] is None:
            return import_module(f"{package}.{name}")
        return getattr(import_module(f"{package}.{table[name]}"), name)
    return __getattr__, lambda: sorted(table), sorted(table)
== lazypkg/__init__.py
from .stubs import attach_stub
__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
== lazypkg/__init__.pyi
from . import a
from .b import B
== lazypkg/a.py
A = 1
== lazypkg/b.py
B = 2
== lazypkg/nets.py
import lazypkg
class Net:
    def run(self):
        return [lazypkg.a.A, lazypkg.B, dir(lazypkg)]
""",
    "what is not here, asked for by functions that remember": """
== vision.py
== lazypkg/__init__.py
== lazypkg/probes.py
from functools import lru_cache
from importlib import import_module, metadata, util
@lru_cache
def is_vision_available():
    try:
        import absent_imaging.core
        return True
    except ImportError:
        return False
@lru_cache(maxsize=None)
def is_thing_available():
    found = util.find_spec("absent_thing") is not None
    return found and metadata.version("absent_thing") >= "2"
def version_of(name):
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError as error:
        return str(error)
def optional(name):
    try:
        return import_module(name)
    except ImportError:
        return None
== lazypkg/nets.py
from . import probes
from .probes import is_thing_available, is_vision_available, optional
class Missing(Exception):
    pass
try:
    if not is_vision_available():
        raise Missing()
except Missing:
    from .dummies import Reader
else:
    from .readers import Reader
if is_thing_available():
    import absent_thing
extra, none = optional("lazypkg.extra"), optional("absent_thing")
class Net:
    def run(self):
        versions = [probes.version_of(name) for name in ("absent_thing", __name__, __package__)]
        return [Reader.__name__, extra.VALUE, none, *versions]
== lazypkg/dummies.py
class Reader: pass
== lazypkg/readers.py
import absent_imaging
class Reader: pass
== lazypkg/extra.py
VALUE = 5
""",
}
EXPORT = """
    import sys, warnings
    sys.path.insert(0, {folder!r})
    from lazypkg.nets import Net
    from packager import PackageExporter, PackagingWarning

    warnings.simplefilter("ignore", PackagingWarning)  # questions that are told, and that nothing hangs on
    net = Net()
    with PackageExporter({target!r}, policy="auto") as exporter:
        exporter.save_object("model", "net", net)
        exporter.save_entry_point("net", "model", "net", "run")
        exporter.save_example("net", {{}})  # what attributes lead to, a call says
    print(net.run())
"""
LOAD = """
    import importlib.util
    from packager import PackageImporter

    assert importlib.util.find_spec("lazypkg") is None
    with PackageImporter({target!r}) as importer:
        print(importer.load_object("model", "net").run())
"""


@pytest.mark.parametrize("text", PACKAGES.values(), ids=PACKAGES)
def test_a_lazy_package_gives_the_same_where_it_is_not_installed(
    run: Callable[..., str], tmp_path: Path, text: str
) -> None:
    folder = tmp_path / "source"
    for part in re.split(r"^== ", text, flags=re.MULTILINE)[1:]:
        name, _, content = part.partition("\n")
        path = folder / name.strip()
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(content), encoding="utf-8")
    places = {"folder": str(folder), "target": str(tmp_path / "net.kellet")}
    answer = run(EXPORT.format(**places))
    assert len(answer) > 5
    assert run(LOAD.format(**places), tmp_path / "empty") == answer
