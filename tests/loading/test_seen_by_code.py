"""What packaged code finds by names, in plain Python and in an archive: the same, in fresh processes.

Each expression is evaluated by a module of the package. What differs in isolation stands in `DIFFERENT`, with
both answers: the guide on loading has a table of it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests import processes
from tests.tables import one_test

SHOP = {
    "shop/__init__.py": "version = 'shop'\nfrom .part import Offered, offer\n",
    "shop/part.py": """
import collections, enum
version = "part"
Point = collections.namedtuple("Point", "x y", module="shop.part")
class Box:
    def __eq__(self, other):
        return type(other) is type(self)
class Named(Box):
    pass
Named.__module__ = "shop.part"
class Offered(Box):
    pass
Offered.__module__ = "shop"
def offer(): pass
offer.__module__ = "shop"
""",
    "shop/deep/__init__.py": "",
    "shop/deep/er/__init__.py": "",
    "shop/deep/er/leaf.py": "version = 'leaf'\n",
    "shop/asking.py": """
import builtins, functools, importlib, json, operator, pickle, pkgutil, pydoc, sys, types, importlib.util
from importlib import metadata
from shop import part

def executed(text, names):
    exec(text, names)
    return names["version"]

def sent(value):
    back = pickle.loads(pickle.dumps(value))
    return back == value and type(back) is type(value)

def lazily(name):
    spec = importlib.util.find_spec(name)
    spec.loader = importlib.util.LazyLoader(spec.loader)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module

def ask(form):
    try:
        return eval(compile(form, "<form>", "eval"), globals())
    except Exception as error:
        return f"{type(error).__name__}: {error}"

# entry_points and packages_distributions are asked for by what is evaluated
""",
}
SITE = {
    "shop-4.5.dist-info/METADATA": "Metadata-Version: 2.1\nName: shop\nVersion: 4.5\nRequires-Dist: wave\n",
    "shop-4.5.dist-info/entry_points.txt": "[shop.plugins]\nbox = shop.part:Box\n",
    "shop-4.5.dist-info/INSTALLER": "pip\n",
    "shop-4.5.dist-info/RECORD": "".join(f"{name},,\n" for name in SHOP),
}
EQUAL = """
__import__('shop.part', fromlist=['version']).version
functools.partial(importlib.import_module, package='shop')('.part').version
[m.version for m in map(importlib.import_module, ['shop', 'shop.part'])]
operator.methodcaller('import_module', 'shop.part')(importlib).version
vars(importlib)['import_module']('shop.part').version
vars(builtins)['__import__']('shop').version
__import__('', {'__package__': 'shop.deep'}, None, ['part'], 2).part.version
__import__('part', {'__spec__': types.SimpleNamespace(parent='shop')}, None, ['version'], 1).version
executed('from shop.part import version', {'__builtins__': {'__import__': __import__}})
executed('from shop.part import version', {'__builtins__': dict(vars(builtins))})
executed('from .part import version', {'__name__': 'shop.x'})
types.FunctionType((lambda: __import__('shop').version).__code__, {})()
lazily('shop.deep.er.leaf').version
importlib.util.find_spec('.part', 'shop').name.split('.')[-1]
importlib.util.resolve_name('.part', __package__) == part.__name__
sorted(m.name for m in pkgutil.walk_packages(sys.modules['shop'].__path__, 'shop.'))
sorted(m.name for m in pkgutil.walk_packages(importlib.import_module('shop.deep').__path__, 'shop.deep.'))
[m.name.split('.', 1)[1] for m in pkgutil.walk_packages(sys.modules['shop'].__path__, __package__ + '.')][-1]
next(m.ispkg for m in pkgutil.walk_packages(sys.modules['shop'].__path__, 'shop.') if m.name == 'shop.deep')
pkgutil.resolve_name('shop.part:Box.__eq__') is part.Box.__eq__
pkgutil.resolve_name('importlib.metadata:version')('shop')
pkgutil.resolve_name('importlib:import_module')('shop.part').version
pkgutil.resolve_name('importlib.metadata.version')(__package__)
pkgutil.resolve_name('json.loads') is json.loads
pydoc.locate('shop.part.Box') is part.Box
pydoc.locate('shop.deep.er.leaf.version')
pydoc.locate('surely_not_installed.x')
pydoc.locate('json.loads') is json.loads
metadata.version(__name__.split('.')[0])
metadata.version(__package__)
metadata.version(distribution_name='shop')
metadata.requires('shop')
metadata.metadata(__package__)['Name']
metadata.distribution(__package__).version
metadata.Distribution.from_name('shop').version
metadata.Distribution.from_name(__package__).read_text('METADATA').splitlines()[1]
metadata.Distribution.from_name('surely-not-installed')
[d.version for d in metadata.Distribution.discover(name='shop')]
[d.version for d in metadata.distributions(name='shop')]
[d.version for d in metadata.distributions(context=metadata.DistributionFinder.Context(name='shop'))]
[d.version for d in metadata.distributions() if d.metadata['Name'] == 'shop']
list(metadata.distributions(name='surely-not-installed'))
list(metadata.distributions(name='shop', path=['/surely/nowhere']))
isinstance(metadata.distribution('shop'), metadata.Distribution)
isinstance(metadata.distribution('numpy'), metadata.Distribution)
isinstance(3, metadata.Distribution)
issubclass(type(metadata.distribution('numpy')), metadata.Distribution)
metadata.Distribution.__name__, metadata.Distribution.__module__
metadata.packages_distributions()['shop']
metadata.packages_distributions()[__package__]
metadata.packages_distributions()['numpy']
[point.load() is part.Box for point in metadata.entry_points(group='shop.plugins')]
[point.load() is part.Box for point in metadata.entry_points().select(group='shop.plugins')]
[point.dist.name for point in metadata.distribution('shop').entry_points]
metadata.EntryPoint('a', 'shop.part:Box', 'g').load() is part.Box
metadata.EntryPoint('a', 'shop.part', 'g').load() is part
metadata.EntryPoint('a', 'shop.part:Box.none', 'g').load()
metadata.EntryPoint('a', 'json:loads', 'g').load() is json.loads
metadata.EntryPoint('a', 'x:y', 'g') == metadata.EntryPoint('a', 'x:y', 'g')
isinstance(metadata.EntryPoint('a', 'x:y', 'g'), metadata.EntryPoint)
all(isinstance(point, metadata.EntryPoint) for point in metadata.entry_points())
sent(part.Point(1, 2))
sent(part.Box())
sent(part.Named())
sent(sys.modules['shop'].Offered())
sent(sys.modules['shop'].offer)
part.Point.__module__ == part.Named.__module__ == part.__name__
part.Offered.__module__ == __package__
sys.modules[part.Named.__module__] is part
pickle.loads(b'cshop.part\\nBox\\n.') is part.Box
""".strip().splitlines()
DIFFERENT = {
    "isinstance(sys.modules, dict)": (True, False),
    "metadata.files('shop') is None": (False, True),
    "__name__ == 'shop.asking'": (True, False),
    "part.Box.__module__.startswith('shop.')": (True, False),
    "__import__('importlib')._bootstrap._gcd_import('shop.part').version": (
        "part",
        "ModuleNotFoundError: No module named 'shop'",
    ),
}
PROGRAM = """
import json, sys
archive, mode, *site = sys.argv[1:]
sys.path[:0] = site
forms = json.load(sys.stdin)
if mode == "export":
    from packager import PackageExporter
    with PackageExporter(archive, policy="auto", prove=False) as exporter:
        exporter.intern("shop.**")
        for name in ("asking", "deep.er.leaf"):
            exporter.save_module(f"shop.{name}")
    from shop.asking import ask
    print(json.dumps([ask(form) for form in forms]))
else:
    from packager import PackageImporter
    with PackageImporter(archive, environment="ignore") as importer:
        if mode == "installed":
            importer.install()
        ask = importer.import_module("shop.asking").ask
        print(json.dumps([ask(form) for form in forms]))
"""


def answers(archive: Path, mode: str, *site: Path) -> Mapping[str, object]:
    forms = [*EQUAL, *DIFFERENT]
    done = processes.run(
        [sys.executable, "-W", "ignore", "-c", PROGRAM, str(archive), mode, *map(str, site)],
        input=json.dumps(forms),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return dict(zip(forms, json.loads(done.stdout), strict=True))


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Mapping[str, object]]:
    """What every expression gives: in plain Python, isolated and installed."""
    folder = tmp_path_factory.mktemp("seen")
    for name, text in {**SHOP, **SITE}.items():
        (folder / "site" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "site" / name).write_text(text)
    archive = folder / "shop.kellet"
    plain = answers(archive, "export", folder / "site")
    return {"plain": plain, **{mode: answers(archive, mode) for mode in ("isolated", "installed")}}


@one_test
@pytest.mark.parametrize("form", EQUAL)
def test_packaged_code_finds_what_plain_python_finds(
    found: Mapping[str, Mapping[str, object]], form: str
) -> None:
    assert found["isolated"][form] == found["plain"][form]
    assert not str(found["plain"][form]).startswith(("NameError", "SyntaxError", "TypeError")), form


@one_test
@pytest.mark.parametrize("form", [form for form in EQUAL if "packages_dist" not in form])
def test_installed_it_does_so_too(found: Mapping[str, Mapping[str, object]], form: str) -> None:
    assert found["installed"][form] == found["plain"][form]


@pytest.mark.parametrize("form", DIFFERENT)
def test_what_differs_in_isolation(found: Mapping[str, Mapping[str, object]], form: str) -> None:
    assert (found["plain"][form], found["isolated"][form]) == DIFFERENT[form]
