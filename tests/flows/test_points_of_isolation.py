"""Probes, lazy packages, plugins and names of a package that no other test has, where only its archive is.

The package is exported by one process, in its project's folder, and loaded by another, started with `-I` in
an empty one.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from .points import answers, ran, write

HARBOR = {
    "harbor-3.1.4.dist-info/METADATA": "Name: harbor\nVersion: 3.1.4\nSummary: Piers\n",
    "harbor-3.1.4.dist-info/entry_points.txt": "[harbor.cranes]\ngantry = harbor.cranes.gantry:Gantry\n"
    "tower = harbor.cranes.tower:lift [fast]\n",
    "harbor-3.1.4.dist-info/RECORD": "harbor/__init__.py,,\nharbor-3.1.4.dist-info/METADATA,,\n",
    "harbor-3.1.4.dist-info/top_level.txt": "harbor\n",
    "harbor/__init__.py": """
        import importlib
        from . import books
        _LATE = {"Pier": "piers", "TIDE": "tides"}
        def __getattr__(name):
            if name in _LATE:
                value = getattr(importlib.import_module("." + _LATE[name], __name__), name)
                globals()[name] = value
                return value
            raise AttributeError(name)
        def __dir__():
            return sorted([*globals(), *_LATE])
    """,
    "harbor/piers.py": "class Pier:\n    length = 40\n",
    "harbor/tides.py": "TIDE = 'high'\n",
    "harbor/own.py": """
        import harbor
        from harbor import TIDE
        length = harbor.Pier.length
        def by_getattr():
            return getattr(harbor, "Pier").length, "Pier" in dir(harbor)
    """,
    "harbor/books.py": """
        import logging
        log = logging.getLogger(__name__)
        log_by_text = logging.getLogger("harbor.books")
    """,
    "harbor/probes.py": """
        import importlib
        import importlib.util
        from importlib.util import find_spec as looked_for
        HAS_FOG = looked_for("fog_of_the_harbor") is not None
        HAS_MSGPACK = importlib.util.find_spec("msgpack") is not None
        try:
            import fog_of_the_harbor
        except ModuleNotFoundError:
            fog_of_the_harbor = None
        try:
            import harbor.no_such_pier
        except ImportError as error:
            WHY_NOT = str(error)
        def behind(name):
            def here():
                return importlib.util.find_spec(name)
            return here() is not None
        def below():
            return looked_for(".piers", __package__).name == f"{__package__}.piers"
        def parent_that_is_none():
            try:
                return looked_for("harbor.piers.deeper")
            except ModuleNotFoundError as error:
                return str(error)
    """,
    "harbor/versions.py": """
        from importlib import metadata
        from importlib.metadata import PackageNotFoundError, version
        BY_NAME = version(__name__.partition(".")[0])
        BY_PACKAGE = metadata.version(__package__)
        SUMMARY = metadata.metadata("harbor")["Summary"]
        try:
            version("fog-of-the-harbor")
        except PackageNotFoundError as error:
            ABSENT = str(error)
        def cranes():
            found = metadata.entry_points(group="harbor.cranes")
            return sorted((one.name, one.load().__name__, one.dist.version) for one in found)
        def one_crane():
            (found,) = metadata.entry_points(group="harbor.cranes", name="tower")
            return found.load()(2), found.extras
    """,
    "harbor/cranes/__init__.py": """
        import pkgutil
        from importlib import import_module
        NAMES = sorted(found.name for found in pkgutil.iter_modules(__path__))
        for found in pkgutil.iter_modules(__path__, __name__ + "."):
            import_module(found.name)
    """,
    "harbor/cranes/gantry.py": "class Gantry:\n    reach = 12\n",
    "harbor/cranes/tower.py": "def lift(load):\n    return load * 3\n",
    "harbor/imports.py": """
        import builtins
        import importlib
        import harbor
        def plain():
            return __import__("harbor.cranes.tower") is harbor
        def with_names():
            return __import__("harbor.cranes", fromlist=["gantry"]).gantry.Gantry.reach
        def by_position():
            return __import__("cranes.tower", globals(), None, ("lift",), 1).lift(4)
        def of_builtins():
            return builtins.__import__("harbor.tides", {}, {}, ["TIDE"], 0).TIDE
        def of_importlib():
            return importlib.__import__("tides", {"__package__": __package__}, None, ["TIDE"], 1).TIDE
        def of_others():
            return __import__("json.decoder").__name__, __import__("json.decoder", fromlist=[""]).__name__
        def of_nothing():
            try:
                __import__("harbor.cranes.crawler")
            except ModuleNotFoundError as error:
                return str(error), error.name
    """,
    "harbor/computed.py": """
        from importlib import import_module
        import harbor.cranes as cranes
        ONES = ("gantry", "tower")
        def spelled():
            return [
                import_module(f"{__package__}.cranes.gantry").Gantry.reach,
                import_module("%s.%s" % (cranes.__name__, "tower")).lift(1),
                import_module("{}.{}".format(__name__.rpartition(".")[0], "tides")).TIDE,
                import_module(".tower", package=cranes.__name__).lift(2),
                [import_module(f".{one}", "harbor.cranes").__name__.rpartition(".")[2] for one in ONES],
            ]
    """,
    "harbor/kinds.py": """
        import collections
        import enum
        import multiprocessing
        import pickle
        Berth = collections.namedtuple("Berth", "side depth", module="harbor.kinds")
        Flag = enum.IntFlag("Flag", "RED GREEN", module="harbor.kinds")
        class Boat:
            class Engine:
                def __init__(self, power):
                    self.power = power
                def __eq__(self, other):
                    return self.power == other.power
        def offered(cls):
            cls.__module__ = "harbor"
            return cls
        @offered
        class Ferry:
            seats = 90
        import harbor
        harbor.Ferry = Ferry
        def around(value):
            return [pickle.loads(pickle.dumps(value, form)) == value for form in range(2, 6)]
        def all_around():
            return around(Berth("port", 3)), around(Flag.RED | Flag.GREEN), around(Boat.Engine(5))
        def class_around():
            return pickle.loads(pickle.dumps(Ferry)).seats
        def doubled(berth):
            return Berth(berth.side * 2, berth.depth * 2)
        def by_workers():
            with multiprocessing.get_context("spawn").Pool(2) as pool:
                return pool.map_async(doubled, [Berth("a", 1), Berth("b", 2)]).get(60)
    """,
    "harbor/lazy_table/__init__.py": """
        from typing import TYPE_CHECKING
        _table = {"nets": ["Net", "knots"], "ropes": ["Rope"]}
        if TYPE_CHECKING:
            from .nets import Net, knots
            from .ropes import Rope
        else:
            import sys
            from ._lazy import Lazy
            sys.modules[__name__] = Lazy(__name__, globals(), _table)
    """,
    "harbor/lazy_table/_lazy.py": """
        import importlib
        from types import ModuleType
        class Lazy(ModuleType):
            def __init__(self, name, own, table):
                super().__init__(name)
                for key in ("__path__", "__spec__", "__file__", "__package__"):
                    setattr(self, key, own[key])
                self._homes = {name: home for home, names in table.items() for name in names}
                self.__all__ = [*table, *self._homes]
            def __getattr__(self, name):
                if name in self._homes:
                    return getattr(importlib.import_module("." + self._homes[name], self.__name__), name)
                if name in self._homes.values():
                    return importlib.import_module("." + name, self.__name__)
                raise AttributeError(name)
    """,
    "harbor/lazy_table/nets.py": """
        class Net:
            holes = 7
        def knots():
            from harbor.lazy_table import Rope
            return Rope.ends
    """,
    "harbor/lazy_table/ropes.py": "class Rope:\n    ends = 2\n",
    "harbor/lazily.py": """
        from harbor.lazy_table import Net, knots
        import harbor.lazy_table as table
        def use():
            return Net.holes, knots(), table.ropes.Rope.ends, "Rope" in table.__all__
    """,
    "harbor/listing.py": """
        import pkgutil
        import harbor
        from importlib.util import find_spec
        def children():
            return [(one.name, one.ispkg) for one in pkgutil.iter_modules(harbor.__path__) if one.name < "d"]
        def walked():
            names = [one.name for one in pkgutil.walk_packages(harbor.cranes.__path__, "harbor.cranes.")]
            return [pkgutil.resolve_name(name).__name__.rpartition(".")[2] for name in names]
        def specs():
            found = [find_spec(name) for name in ("harbor", "harbor.cranes", "harbor.tides", "harbor.none")]
            return [one and (one.submodule_search_locations is not None) for one in found]
    """,
    "harbor/late.py": "",
    "harbor/words.py": """
        import builtins
        def shout():
            builtins.harbor_bell = "rung"
        def hear():
            return harbor_bell
    """,
}  # fmt: skip
EXPORT = """
import sys
sys.path.insert(0, "")
from packager import PackageExporter
import harbor
with PackageExporter("../harbor.kellet", policy="auto") as exporter:
    exporter.intern("harbor.**")
    for name in sys.argv[1:]:
        exporter.save_module("harbor." + name)
"""
LOAD = """
import builtins, logging
from packager import PackageImporter
importer = PackageImporter(sys.argv[1])
def of(name):
    return importer.import_module("harbor." + name)
point("own lazy attributes", lambda: (of("own").length, of("own").TIDE, of("own").by_getattr()))
probes = of("probes")
point("absent", lambda: (probes.HAS_FOG, probes.fog_of_the_harbor, probes.behind("fog_of_the_harbor")))
point("present", lambda: (of("probes").HAS_MSGPACK, of("probes").behind("msgpack"), of("probes").below()))
point("why not", lambda: of("probes").WHY_NOT)
point("below a module", lambda: of("probes").parent_that_is_none())
point("versions", lambda: (of("versions").BY_NAME, of("versions").BY_PACKAGE, of("versions").SUMMARY))
point("version of nothing", lambda: of("versions").ABSENT)
point("entry points", lambda: of("versions").cranes())
point("one entry point", lambda: of("versions").one_crane())
point("imported while imported", lambda: (of("cranes").NAMES, of("cranes").tower.lift(5)))
for name in ("plain", "with_names", "by_position", "of_builtins", "of_importlib", "of_others", "of_nothing"):
    point("__import__ " + name, getattr(of("imports"), name))
point("computed", lambda: of("computed").spelled())
point("around", lambda: of("kinds").all_around())
point("a class around", lambda: of("kinds").class_around())
point("workers", lambda: of("kinds").by_workers())
point("a lazy table", lambda: of("lazily").use())
for name in ("children", "walked", "specs"):
    point("listing " + name, getattr(of("listing"), name))
def logged():
    found = []
    class Here(logging.Handler):
        def emit(self, record):
            found.append((record.getMessage(), record.name.startswith("harbor")))
    books = of("books")
    logging.getLogger("harbor").addHandler(Here())
    logging.getLogger("harbor").setLevel("INFO")
    books.log.info("own"), books.log_by_text.info("by text"), books.log.debug("too little")
    return found
point("loggers", logged)
def shared():
    of("words").shout()
    there = builtins.harbor_bell
    builtins.harbor_bell = "silent"
    of("cranes")
    importer.import_module("harbor.late")  # what changed is seen from the next import on
    return there, of("words").hear()
point("builtins", shared)
point("closed", lambda: (of("imports"), importer.close(), importer.import_module("harbor.imports")))
"""
EXPECTED: dict[str, Any] = {
    "own lazy attributes": [40, "high", [40, True]],
    "absent": [False, None, False],
    "present": [True, True, True],
    "why not": "No module named 'harbor.no_such_pier'",
    "below a module": (
        "__path__ attribute not found on 'harbor.piers' while trying to find 'harbor.piers.deeper'"
    ),
    "versions": ["3.1.4", "3.1.4", "Piers"],
    "version of nothing": "No package metadata was found for fog-of-the-harbor",
    "entry points": [["gantry", "Gantry", "3.1.4"], ["tower", "lift", "3.1.4"]],
    "one entry point": [6, ["fast"]],
    "imported while imported": [["gantry", "tower"], 15],
    "__import__ plain": True,
    "__import__ with_names": 12,
    "__import__ by_position": 12,
    "__import__ of_builtins": "high",
    "__import__ of_importlib": "high",
    "__import__ of_others": ["json", "json.decoder"],
    "__import__ of_nothing": ["No module named 'harbor.cranes.crawler'", "harbor.cranes.crawler"],
    "computed": [12, 3, "high", 6, ["gantry", "tower"]],
    "around": [[True] * 4] * 3,
    "a class around": 90,
    "workers": [["aa", 2], ["bb", 4]],
    "a lazy table": [7, 2, 2, True],
    "listing children": [["books", False], ["computed", False], ["cranes", True]],
    "listing walked": ["gantry", "tower"],
    "listing specs": [True, True, False, None],
    "loggers": [["own", True], ["by text", True]],
    "builtins": ["rung", "silent"],
}
NAMES = "own probes versions cranes imports computed kinds lazily listing words late".split()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("harbor")
    write(folder / "project", HARBOR)
    ran(folder / "project", "-W", "ignore", "-c", EXPORT, *NAMES)
    return folder


@pytest.fixture(scope="module")
def there(folder: Path) -> dict[str, Any]:
    return answers(LOAD.replace("sys.argv[1]", repr(str(folder / "harbor.kellet"))), folder / "empty", "-I")


@pytest.mark.parametrize("point", EXPECTED)
def test_it_is_in_an_archive_as_it_was_at_home(there: dict[str, Any], point: str) -> None:
    assert there[point] == EXPECTED[point]


def test_a_closed_archive_says_so(there: dict[str, Any]) -> None:
    assert there["closed"].startswith("ArchiveClosedError: ")
    assert set(there) == {*EXPECTED, "closed"}
