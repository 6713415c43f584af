"""Packaged code cannot tell that it is packaged: each idiom of real code, in isolation and installed."""

import gc
import pickle
import sys
import textwrap
import threading
import traceback
import weakref

import numpy
import pytest

from packager.errors import UndeclaredImportError


def package(init: str = "", **modules: str) -> dict[str, str]:
    """A package `modelpkg` with the given `__init__` and modules."""
    files = {"modelpkg/__init__.py": textwrap.dedent(init)}
    files.update({f"modelpkg/{name}.py": textwrap.dedent(text) for name, text in modules.items()})
    return files


@pytest.fixture(params=["isolated", "installed"])
def installed(request) -> bool:
    return request.param == "installed"


def test_relative_and_absolute_imports_reach_the_archive(pack, installed):
    loaded = pack(
        package(
            "from .a import one\nfrom modelpkg.b import two\nimport modelpkg.c\nthree = modelpkg.c.three",
            a="one = 1",
            b="from . import a\ntwo = a.one + 1",
            c="from modelpkg import a\nthree = 3",
        ),
        installed=installed,
    )
    module = loaded.module("modelpkg")
    assert (module.one, module.two, module.three) == (1, 2, 3)


def test_dataclass_with_future_annotations(pack, installed):
    loaded = pack(
        package("""
            from __future__ import annotations
            import dataclasses, typing
            @dataclasses.dataclass
            class Config:
                width: int = 3
                kind: typing.ClassVar[str] = "net"
            fields = [f.name for f in dataclasses.fields(Config)]
        """),
        installed=installed,
    )
    assert loaded.module("modelpkg").fields == ["width"]


def test_import_module_relative_absolute_and_computed(pack, installed):
    loaded = pack(
        package(
            """
            import importlib
            from importlib import import_module
            a = import_module(".a", __package__).value
            b = importlib.import_module("modelpkg.b").value
            c = importlib.import_module("modelpkg." + "c").value
            inner = __import__("modelpkg.a", fromlist=["value"]).value
            named = import_module(".a", "modelpkg") is import_module("modelpkg.a")
        """,
            a="value = 'a'",
            b="value = 'b'",
            c="value = 'c'",
        ),
        installed=installed,
    )
    module = loaded.module("modelpkg")
    assert (module.a, module.b, module.c, module.inner, module.named) == ("a", "b", "c", "a", True)


def test_module_getattr_with_computed_names(pack, installed):
    loaded = pack(
        package(
            """
            import importlib
            _table = {"Net": "net"}
            def __getattr__(name):
                if name in _table:
                    return getattr(importlib.import_module("." + _table[name], __name__), name)
                raise AttributeError(name)
        """,
            net="class Net: pass",
            user="from modelpkg import Net",
        ),
        installed=installed,
    )
    assert loaded.module("modelpkg.user").Net is loaded.module("modelpkg.net").Net


def test_find_spec_says_what_is_there(pack, installed):
    loaded = pack(
        package(
            """
            import importlib.util
            from importlib.util import find_spec
            own = importlib.util.find_spec("modelpkg.a") is not None
            library = find_spec("json") is not None
            absent = find_spec("no_such_distribution_anywhere") is None
        """,
            a="",
        ),
        installed=installed,
    )
    module = loaded.module("modelpkg")
    assert (module.own, module.library, module.absent) == (True, True, True)


def test_find_spec_of_an_undeclared_distribution_is_none_although_it_is_installed(pack):
    loaded = pack(package("from importlib.util import find_spec\nfound = find_spec('numpy')"))
    assert loaded.module("modelpkg").found is None


def test_a_package_that_loads_itself_by_its_file(pack, installed):
    loaded = pack(
        package(
            a="""
            import importlib.util, os, sys
            path = os.path.join(os.path.dirname(__file__), "__init__.py")
            spec = importlib.util.spec_from_file_location("modelpkg", path, submodule_search_locations=[])
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
            same = sys.modules["modelpkg"].__name__ == module.__name__
            """,
            init="import modelpkg.b\nvalue = modelpkg.b.value",
            b="value = 8",
        ),
        installed=installed,
    )
    module = loaded.module("modelpkg.a")
    assert (module.same, module.module.value) == (True, 8)


def test_iter_modules_lists_a_package_by_its_path(pack, installed):
    loaded = pack(
        package(
            """
            import pkgutil
            names = sorted(name for _, name, _ in pkgutil.iter_modules(__path__))
            found = pkgutil.walk_packages(__path__, __name__ + ".")
            walked = sorted(m.name.rpartition(".")[2] for m in found)
        """,
            a="",
            b="",
        ),
        installed=installed,
    )
    module = loaded.module("modelpkg")
    assert (module.names, module.walked) == (["a", "b"], ["a", "b"])


def test_modules_are_loaded_by_the_finders_that_iter_modules_gives(pack, installed):
    tree = package(
        """
            import importlib.util, pkgutil
            def load(finder, name):
                spec = finder.find_spec(name)
                module = importlib.util.module_from_spec(spec)
                spec.loader.exec_module(module)
                return module.value
            values = {name: load(finder, name) for finder, name, _ in pkgutil.iter_modules(__path__)}
        """,
        a="value = 1",
        b="from .a import value",
    )
    loaded = pack({**tree, "modelpkg/words/a.txt": "a"}, installed=installed)
    assert loaded.module("modelpkg").values == {"a": 1, "b": 1}


def test_sys_modules_of_a_function_is_its_module(pack, installed):
    loaded = pack(
        package("""
            import sys
            def build(): ...
            registry = sys.modules[build.__module__].__dict__["build"] is build
            by_name = sys.modules["modelpkg"] is sys.modules[__name__]
            has = "modelpkg" in sys.modules
        """),
        installed=installed,
    )
    module = loaded.module("modelpkg")
    assert (module.registry, module.by_name, module.has) == (True, True, True)


def test_module_that_replaces_itself_in_sys_modules(pack, installed):
    loaded = pack(
        package(
            "from . import lazy\nvalue = lazy.value",
            lazy="""
            import sys, types
            class Lazy(types.ModuleType):
                value = "from the replacement"
            sys.modules[__name__] = Lazy(__name__)
        """,
        ),
        installed=installed,
    )
    assert loaded.module("modelpkg.lazy").value == "from the replacement"


def test_type_hints_resolve(pack, installed):
    loaded = pack(
        package("""
            from __future__ import annotations
            import typing
            class Net: ...
            def forward(net: Net, n: int) -> typing.Optional[Net]: ...
            hints = typing.get_type_hints(forward)
        """),
        installed=installed,
    )
    module = loaded.module("modelpkg")
    assert module.hints["net"] is module.Net


def test_enum_and_namedtuple_pickle_within_the_process(pack, installed):
    loaded = pack(
        package("""
            import collections, enum, pickle
            class Mode(enum.Enum):
                TRAIN = 1
            Point = collections.namedtuple("Point", "x y")
            again = pickle.loads(pickle.dumps((Mode.TRAIN, Point(1, 2))))
        """),
        installed=installed,
    )
    module = loaded.module("modelpkg")
    assert module.again[0] is module.Mode.TRAIN
    assert module.again[1] == (1, 2)
    assert pickle.loads(pickle.dumps(module.Point(3, 4))) == (3, 4)


def test_resources_by_name_by_module_and_by_string(pack, installed):
    loaded = pack(
        {
            **package("""
            import importlib.resources
            from importlib import resources
            import modelpkg
            one = resources.files(__name__).joinpath("data", "a.txt").read_text()
            two = (importlib.resources.files("modelpkg") / "data/a.txt").read_bytes()
            three = sorted(p.name for p in resources.files(modelpkg).joinpath("data").iterdir())
            missing = resources.files(modelpkg).joinpath("data/none.txt").is_file()
            with resources.as_file(resources.files(modelpkg) / "data" / "a.txt") as path:
                four = path.read_text()
        """),
            "modelpkg/data/a.txt": "alpha",
            "modelpkg/data/b.txt": "beta",
        },
        installed=installed,
    )
    module = loaded.module("modelpkg")
    assert (module.one, module.two, module.three) == ("alpha", b"alpha", ["a.txt", "b.txt"])
    assert (module.missing, module.four) == (False, "alpha")


def test_resources_are_paths_where_code_takes_them_for_paths(pack, installed):
    loaded = pack(
        {
            **package("""
            import os
            from importlib import resources
            root = resources.files(__name__)
            with open(root / "data" / "a.txt") as file:
                one = file.read()
            with open(os.path.join(str(root), "data", "b.txt")) as file:
                two = file.read()
            three = sorted(os.listdir(root / "data"))
            four = [(path.stem, path.suffix, path.exists()) for path in sorted((root / "data").iterdir())]
            five = [path.name for path in root.glob("data/b*")]
            try:
                open(root.joinpath("data/a.txt/below"))
            except NotADirectoryError as error:
                below = os.path.basename(error.filename)
        """),
            "modelpkg/data/a.txt": "alpha",
            "modelpkg/data/b.txt": "beta",
        },
        installed=installed,
    )
    module = loaded.module("modelpkg")
    assert (module.one, module.two, module.three) == ("alpha", "beta", ["a.txt", "b.txt"])
    assert module.four == [("a", ".txt", True), ("b", ".txt", True)]
    assert (module.five, module.below) == (["b.txt"], "below")


def test_a_folder_of_resources_is_a_package_without_code(pack, installed):
    loaded = pack(
        {
            **package("""
            import modelpkg.data.deep
            from importlib import import_module, resources
            one = resources.files("modelpkg.data").joinpath("a.txt").read_text()
            two = resources.files(import_module(".data.deep", __name__)).joinpath("b.txt").read_text()
            try:
                import modelpkg.nothing
            except ModuleNotFoundError as error:
                missing = error.name
        """),
            "modelpkg/data/a.txt": "alpha",
            "modelpkg/data/deep/b.txt": "beta",
        },
        installed=installed,
    )
    module = loaded.module("modelpkg")
    assert (module.one, module.two, module.missing) == ("alpha", "beta", "modelpkg.nothing")


def test_get_data_by_true_name(pack, installed):
    loaded = pack(
        {
            **package(
                "import pkgutil\ndata = pkgutil.get_data('modelpkg', 'a.bin')\n"
                "own = pkgutil.get_data(__name__, 'a.bin')"
            ),
            "modelpkg/a.bin": b"\x00\x01",
        },
        installed=installed,
    )
    module = loaded.module("modelpkg")
    assert (module.data, module.own) == (b"\x00\x01", b"\x00\x01")


def test_file_beside_the_module_is_unpacked_when_code_names_its_file(pack, installed, tmp_path):
    loaded = pack(
        {
            **package(
                "import os\npath = os.path.join(os.path.dirname(__file__), 'conf', 'a.txt')\n"
                "with open(path) as file: text = file.read()"
            ),
            "modelpkg/conf/a.txt": "alpha",
        },
        installed=installed,
    )
    assert loaded.module("modelpkg").text == "alpha"
    assert list((tmp_path / "cache" / "code").glob("*/modelpkg/conf/a.txt"))


def test_nothing_is_written_when_no_code_names_its_file(pack, tmp_path):
    loaded = pack(package("value = 1"))
    assert loaded.module("modelpkg").value == 1
    assert not (tmp_path / "cache").exists()


def test_inspect_finds_source_and_module(pack, installed):
    loaded = pack(
        package(
            "import inspect\ndef build():\n    return 3\nsource = inspect.getsource(build)\n"
            "same = inspect.getmodule(build).__name__ == __name__"
        ),
        installed=installed,
    )
    module = loaded.module("modelpkg")
    assert module.source == "def build():\n    return 3\n"
    assert module.same


def test_traceback_shows_file_and_source_line(pack, installed):
    loaded = pack(package(a="def fail():\n    raise ValueError('inside')  # the line\n"), installed=installed)
    with pytest.raises(ValueError, match="inside") as caught:
        loaded.module("modelpkg.a").fail()
    text = "".join(traceback.format_exception(caught.value))
    assert "raise ValueError('inside')  # the line" in text
    assert "modelpkg/a.py" in text


def test_star_imports_and_underscore_names_in_all(pack, installed):
    loaded = pack(
        package(
            "from .a import *\nfrom modelpkg.b import *",
            a="__all__ = ['_x', 'y']\n_x, y, z = 1, 2, 3",
            b="w = 4\n_v = 5",
        ),
        installed=installed,
    )
    module = loaded.module("modelpkg")
    assert (module._x, module.y, module.w) == (1, 2, 4)
    assert not hasattr(module, "z")
    assert not hasattr(module, "_v")


def test_namespace_package(pack, installed):
    loaded = pack(
        {
            "spacepkg/inner/leaf.py": "from spacepkg.inner import other\nvalue = other.value",
            "spacepkg/inner/other.py": "value = 7",
        },
        installed=installed,
    )
    assert loaded.module("spacepkg.inner.leaf").value == 7


def test_optional_import_present_and_absent(pack):
    source = """
        try:
            import numpy
            have = True
        except ImportError:
            have = False
    """
    assert pack(package(source), externs=["numpy"]).module("modelpkg").have is True
    assert pack(package(source)).module("modelpkg").have is False


def test_undeclared_import_names_the_missing_rule(pack):
    loaded = pack(package("import numpy"))
    with pytest.raises(UndeclaredImportError, match=r'extern\("numpy\.\*\*"\)') as caught:
        loaded.module("modelpkg")
    assert caught.value.name == "numpy"


def test_undeclared_import_can_be_allowed(pack):
    loaded = pack(package("import numpy\nname = numpy.__name__"), undeclared="allow")
    assert loaded.module("modelpkg").name == "numpy"


def test_import_cycle(pack, installed):
    loaded = pack(
        package(
            "from . import a",
            a="from . import b\nx = 1\ndef f(): return b.y",
            b="import modelpkg.a as a\ny = 2\ndef g(): return a.x",
        ),
        installed=installed,
    )
    assert loaded.module("modelpkg.a").f() == 2
    assert loaded.module("modelpkg.b").g() == 1


def test_init_runs_before_its_leaf(pack, installed):
    loaded = pack(
        package("order = ['init']", leaf="import modelpkg\nmodelpkg.order.append('leaf')"),
        installed=installed,
    )
    loaded.module("modelpkg.leaf")
    assert loaded.module("modelpkg").order == ["init", "leaf"]


def test_abc_and_singledispatch_with_annotations(pack, installed):
    loaded = pack(
        package("""
            from __future__ import annotations
            import abc, functools
            class Base(abc.ABC):
                @abc.abstractmethod
                def run(self): ...
            class Net(Base):
                def run(self): return "ran"
            @functools.singledispatch
            def show(x): return "any"
            @show.register
            def _(x: Net): return "net"
            result = (Net().run(), show(Net()), show(1))
        """),
        installed=installed,
    )
    assert loaded.module("modelpkg").result == ("ran", "net", "any")


def test_exec_inherits_the_archives_imports(pack, installed):
    loaded = pack(
        package(
            "space = {}\nexec('from modelpkg.a import value', space)\nvalue = space['value']", a="value = 9"
        ),
        installed=installed,
    )
    assert loaded.module("modelpkg").value == 9


def test_c_code_that_text_calls_imports_what_is_its_own(pack):
    """NumPy, once, and `time`, each time, import a part of themselves; the code names no module of it."""
    text = (
        "import time\ndef total(x):\n    return x.sum() + x.mean() + time.strptime('9 26', '%d %y').tm_mday\n"
    )
    loaded = pack(package(f"space = {{}}\nexec({text!r}, space)\ntotal = space['total']"))
    assert loaded.module("modelpkg").total(numpy.array([1.0, 2.0, 3.0])) == 17.0


def test_interned_distribution_tells_its_own_version(pack):
    loaded = pack(
        {
            **package("import importlib.metadata\nversion = importlib.metadata.version('Model_Pkg')"),
            "model_pkg-4.5.6.dist-info/METADATA": "Metadata-Version: 2.1\nName: model-pkg\nVersion: 4.5.6\n",
        }
    )
    assert loaded.module("modelpkg").version == "4.5.6"


def test_interned_code_asks_for_its_version_by_its_own_name(pack):
    loaded = pack(
        {
            **package(
                "import importlib.metadata\nversion = importlib.metadata.version(__name__)",
                a="from importlib.metadata import distribution, metadata, version\n"
                "top = __name__.partition('.')[0]\n"
                "own = {version(__package__), distribution(top).version, metadata(top)['Version']}",
            ),
            "modelpkg-4.5.6.dist-info/METADATA": "Metadata-Version: 2.1\nName: modelpkg\nVersion: 4.5.6\n",
        }
    )
    assert (loaded.module("modelpkg").version, loaded.module("modelpkg.a").own) == ("4.5.6", {"4.5.6"})


def test_missing_submodule_and_missing_name_are_told_by_their_true_names(pack):
    loaded = pack(package(a="import modelpkg.nowhere", b="from modelpkg import nothing"))
    with pytest.raises(ModuleNotFoundError, match=r"^No module named 'modelpkg\.nowhere'$") as caught:
        loaded.module("modelpkg.a")
    assert caught.value.name == "modelpkg.nowhere"
    with pytest.raises(ImportError, match=r"^cannot import name 'nothing' from 'modelpkg' "):
        loaded.module("modelpkg.b")


def test_mocked_module_imports_and_refuses_to_be_used(pack):
    loaded = pack(
        package(
            "import mockedlib\nfrom mockedlib.deep import tool\nseen = repr(tool.inner)\n"
            "def use(): return tool.inner(1)"
        ),
        mocks=["mockedlib", "mockedlib.deep"],
    )
    module = loaded.module("modelpkg")
    assert module.seen == "<mocked mockedlib.deep.tool.inner>"
    with pytest.raises(NotImplementedError, match=r"'mockedlib\.deep\.tool\.inner' was mocked"):
        module.use()


def test_two_versions_of_one_package_side_by_side(pack):
    one, two = pack(package("version = 1\nclass Net: ...")), pack(package("version = 2\nclass Net: ..."))
    assert (one.module("modelpkg").version, two.module("modelpkg").version) == (1, 2)
    assert one.module("modelpkg").Net is not two.module("modelpkg").Net
    assert one.module("modelpkg").Net.__module__ != two.module("modelpkg").Net.__module__


def test_the_process_does_not_see_packaged_modules_under_their_true_names(pack):
    pack(package("value = 1")).module("modelpkg")
    assert "modelpkg" not in sys.modules
    with pytest.raises(ModuleNotFoundError):
        __import__("modelpkg")


def test_setting_a_name_on_the_stand_in_for_sys_sets_it_on_sys(pack, capsys):
    loaded = pack(
        package(
            "import sys, io\ndef swap():\n    old, sys.stdout = sys.stdout, io.StringIO()\n"
            "    try:\n        print('hidden'); return sys.stdout.getvalue()\n"
            "    finally: sys.stdout = old\n"
        )
    )
    assert loaded.module("modelpkg").swap() == "hidden\n"
    assert capsys.readouterr().out == ""


def test_closing_frees_every_module(pack):
    loaded = pack(
        package("import sys, importlib\nfrom . import a\nclass Net:\n    def f(self): return a", a="x = 1")
    )
    modules = [weakref.ref(loaded.module(name)) for name in ("modelpkg", "modelpkg.a")]
    cls = weakref.ref(loaded.module("modelpkg").Net)
    loaded.close()
    gc.collect()
    assert [m() for m in modules] == [None, None]
    assert cls() is None
    assert not [name for name in sys.modules if name.startswith("modelpkg__w")]


def test_many_threads_import_at_once(pack):
    modules = {
        f"m{i}": f"import time\nfrom . import m{i + 1} as below\nvalue = below.value + 1" for i in range(20)
    }
    loaded = pack(package(**modules, m20="import time\ntime.sleep(0.01)\nvalue = 0"))
    results, errors = [], []

    def work(i: int) -> None:
        try:
            results.append(loaded.module(f"modelpkg.m{i % 20}").value == 20 - i % 20)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(64)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (errors, results) == ([], [True] * 64)


def test_bytecode_is_kept_and_a_damaged_file_costs_only_the_compile(pack, tmp_path):
    folder = tmp_path / "bytecode"
    files = package("value = 5")
    assert pack(files, bytecode=folder).module("modelpkg").value == 5
    kept = list(folder.iterdir())
    assert len(kept) == 1
    kept[0].write_bytes(b"\x00" * 100)
    assert pack(files, bytecode=folder).module("modelpkg").value == 5
