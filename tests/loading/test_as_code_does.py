"""What real packages do beyond the common idioms: the stranger corners of modules and names.

Each test runs packaged code in isolation and installed, and says where the two differ.
"""

import atexit
import gc
import importlib
import inspect
import io
import pdb
import pickle
import runpy
import textwrap
import threading
import warnings
from pathlib import Path

import pytest


def package(init: str = "", **modules: str) -> dict[str, str]:
    """A package `oddpkg` with the given `__init__` and modules."""
    files = {"oddpkg/__init__.py": textwrap.dedent(init)}
    files.update({f"oddpkg/{name}.py": textwrap.dedent(text) for name, text in modules.items()})
    return files


@pytest.fixture(params=["isolated", "installed"])
def installed(request) -> bool:
    return request.param == "installed"


def test_reload_runs_the_stored_source_again(pack, installed):
    loaded = pack(
        package(
            a="count = globals().get('count', 0) + 1",
            user="import importlib\nfrom oddpkg import a\ndef again(): return importlib.reload(a).count",
        ),
        installed=installed,
    )
    assert loaded.module("oddpkg.user").again() == 2
    assert importlib.reload(loaded.module("oddpkg.a")).count == 3


def test_modules_imported_late_are_found_until_the_archive_is_closed(pack, installed):
    loaded = pack(
        package(
            a="""
                def late():
                    from . import b
                    return b.value
                def absolute():
                    import oddpkg.c
                    return oddpkg.c.value
            """,
            b="value = 'b'",
            c="value = 'c'",
        ),
        installed=installed,
    )
    a = loaded.module("oddpkg.a")
    assert a.late() == "b"
    loaded.close()
    with pytest.raises(ImportError, match="oddpkg"):
        a.absolute()


def test_cycles_under_threads_end_without_deadlock(pack, installed):
    loaded = pack(
        package(
            a="import time; time.sleep(0.02)\nfrom . import b\nx = 1",
            b="import time; time.sleep(0.02)\nimport oddpkg.c as c\ny = 2",
            c="import time; time.sleep(0.02)\nimport oddpkg.a\nz = 3",
        ),
        installed=installed,
    )
    done, failed = [], []

    def work(name: str) -> None:
        try:
            done.append(loaded.module(name).__name__)
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=work, args=(f"oddpkg.{name}",), daemon=True) for name in "abcabcabc"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert (failed, len(done)) == ([], 9)


def test_a_lambda_is_not_pickled_and_the_error_names_it(pack, installed):
    loaded = pack(
        package("double = lambda x: 2 * x\ndef outer():\n    def inner(): ...\n    return inner"),
        installed=installed,
    )
    with pytest.raises((pickle.PicklingError, AttributeError), match="lambda"):
        pickle.dumps(loaded.module("oddpkg").double)
    with pytest.raises((pickle.PicklingError, AttributeError), match="inner"):
        pickle.dumps(loaded.module("oddpkg").outer())


def test_a_package_extends_its_path(pack, installed, tmp_path):
    (tmp_path / "plugins" / "oddpkg").mkdir(parents=True)
    (tmp_path / "plugins" / "oddpkg" / "plugin.py").write_text("from oddpkg import base\nvalue = base + 1\n")
    loaded = pack(
        package(
            f"base = 1\n__path__.append({str(tmp_path / 'plugins' / 'oddpkg')!r})\n",
            user="from . import plugin\nvalue = plugin.value",
        ),
        installed=installed,
    )
    assert loaded.module("oddpkg.user").value == 2


def test_extend_path_of_pkgutil(pack, installed):
    loaded = pack(
        package(
            "from pkgutil import extend_path\n__path__ = extend_path(__path__, __name__)\nfrom . import a",
            a="x = 1",
        ),
        installed=installed,
    )
    assert loaded.module("oddpkg").a.x == 1


def test_runpy_runs_a_packaged_module(pack, installed):
    loaded = pack(
        package(
            tool="from . import a\nresult = (__name__, __package__.partition('__w')[0], a.x)",
            a="x = 1",
            user="""
                import runpy
                def run(): return runpy.run_module('oddpkg.tool', run_name='__main__')['result']
            """,
        ),
        installed=installed,
    )
    name = loaded.module("oddpkg.a").__package__
    assert runpy.run_module(f"{name}.tool")["result"][1:] == ("oddpkg", 1)
    assert loaded.module("oddpkg.user").run() == ("__main__", "oddpkg", 1)


MOCKING = package(
    a="def size(): return 3",
    tests="""
        from unittest import mock
        import oddpkg.a

        def by_object():
            with mock.patch.object(oddpkg.a, "size", lambda: 6):
                inside = oddpkg.a.size()
            with mock.patch(__name__ + ".oddpkg", None):
                hidden = oddpkg is None
            return [inside, hidden, oddpkg.a.size()]

        @mock.patch("oddpkg.a.size", return_value=5)
        def by_name(_):
            return oddpkg.a.size()
    """,
)


def test_mock_patch_by_object_and_by_own_name(pack, installed):
    assert pack(MOCKING, installed=installed).module("oddpkg.tests").by_object() == [6, True, 3]


def test_mock_patch_by_the_true_name_needs_an_installed_archive(pack):
    named = pack(MOCKING, installed=True)
    assert named.module("oddpkg.tests").by_name() == 5
    named.close()
    # A string given to foreign code: the library looks for a module of that name in the process.
    with pytest.raises(ModuleNotFoundError, match="No module named 'oddpkg'"):
        pack(MOCKING).module("oddpkg.tests").by_name()


def test_a_class_made_in_foreign_code_finds_its_module(pack, installed):
    loaded = pack(
        package(
            """
            import collections, enum, dataclasses, typing
            Point = collections.namedtuple("Point", "x")
            Color = enum.Enum("Color", "RED BLUE")
            Made = dataclasses.make_dataclass("Made", [("x", int)])
            Typed = typing.TypedDict("Typed", {"x": int})
            T = typing.TypeVar("T")
            New = typing.NewType("New", int)
            modules = {made.__module__ for made in (Point, Color, Typed, T, New)} == {__name__}
            """
        ),
        installed=installed,
    )
    module = loaded.module("oddpkg")
    assert module.modules
    assert pickle.loads(pickle.dumps(module.Color.RED)) is module.Color.RED


def test_generic_classes_protocols_and_overloads(pack, installed):
    loaded = pack(
        package(
            """
            from __future__ import annotations
            import typing
            T = typing.TypeVar("T")
            class Box(typing.Generic[T]):
                value: T
            @typing.runtime_checkable
            class Sized(typing.Protocol):
                def size(self) -> int: ...
            class Has:
                def size(self): return 1
            @typing.overload
            def f(x: int) -> int: ...
            @typing.overload
            def f(x: str) -> str: ...
            def f(x): return x
            result = [
                isinstance(Has(), Sized),
                typing.get_type_hints(Box)["value"] is T,
                len(typing.get_overloads(f)),
                repr(Box[int]).endswith("Box[int]"),
            ]
            """
        ),
        installed=installed,
    )
    assert loaded.module("oddpkg").result == [True, True, 2, True]


def test_pdb_shows_the_source(pack, installed):
    loaded = pack(package(a="def stop(x):\n    y = x + 1\n    return y\n"), installed=installed)
    output = io.StringIO()
    debugger = pdb.Pdb(
        stdin=io.StringIO("step\nlist\nprint(y if 'y' in dir() else 'none')\ncontinue\n"),
        stdout=output,
        nosigint=True,
    )
    debugger.use_rawinput = False
    debugger.runcall(loaded.module("oddpkg.a").stop, 1)
    assert "y = x + 1" in output.getvalue()


def test_warnings_carry_the_source_line(pack, installed):
    loaded = pack(
        package(a="import warnings\ndef warn():\n    warnings.warn('look out')  # here\n"),
        installed=installed,
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        loaded.module("oddpkg.a").warn()
    text = warnings.formatwarning(caught[0].message, caught[0].category, caught[0].filename, caught[0].lineno)
    assert "warnings.warn('look out')  # here" in text


def test_inspect_stack_and_signature(pack, installed):
    loaded = pack(
        package(
            a="""
                import inspect
                class Net:
                    def f(self, x: int = 1): return inspect.stack(context=1)[0].code_context[0]
            """
        ),
        installed=installed,
    )
    net = loaded.module("oddpkg.a").Net
    assert "inspect.stack(context=1)" in net().f()
    assert str(inspect.signature(net.f)) == "(self, x: int = 1)"
    assert inspect.getsource(net).startswith("class Net")
    assert inspect.getsource(loaded.module("oddpkg.a")).lstrip().startswith("import inspect")


def test_atexit_functions_run_after_close_and_still_have_their_globals(pack, installed):
    loaded = pack(
        package(a="import atexit\nsaid = []\ndef bye(): said.append(__name__)\natexit.register(bye)\n"),
        installed=installed,
    )
    module = loaded.module("oddpkg.a")
    said, bye = module.said, module.bye
    loaded.close()
    del module
    gc.collect()
    bye()
    assert len(said) == 1
    atexit.unregister(bye)


def test_globals_eval_exec_and_compile_see_the_archive(pack, installed):
    loaded = pack(
        package(
            a="""
            import builtins
            def run():
                code = compile("from oddpkg.b import value", "<text>", "exec")
                first, second, third = {}, {}, {"__builtins__": builtins}
                exec(code, first)
                exec("import oddpkg.b as b; value = b.value", second)
                return [first["value"], second["value"], eval("__import__('oddpkg.b').b.value")]
            """,
            b="value = 9",
        ),
        installed=installed,
    )
    assert loaded.module("oddpkg.a").run() == [9, 9, 9]


def test_import_hidden_in_a_thread_and_an_executor(pack, installed):
    loaded = pack(
        package(
            a="""
            import concurrent.futures, threading
            def work(name):
                import importlib
                return importlib.import_module(f"oddpkg.{name}").value
            def run():
                with concurrent.futures.ThreadPoolExecutor(4) as pool:
                    return list(pool.map(work, ["b", "c"] * 4))
            """,
            b="value = 1",
            c="value = 2",
        ),
        installed=installed,
    )
    assert loaded.module("oddpkg.a").run() == [1, 2] * 4


def test_sys_modules_tricks(pack, installed):
    loaded = pack(
        package(
            """
            import sys
            alias = sys.modules.setdefault("oddpkg.alias", sys.modules[__name__])
            from oddpkg import a
            sys.modules["oddpkg.old_name"] = a
            from oddpkg import old_name
            same = old_name is a
            popped = sys.modules.pop("oddpkg.old_name") is a
            by_known_name = [name for name in list(sys.modules) if name.startswith("oddpkg.")]
            by_own_name = [name for name in sys.modules if name.startswith(__name__ + ".")]
            found = {sys.modules[name] is a for name, module in sys.modules.items() if module is a}
            counted = len(sys.modules) == len(list(sys.modules)) == len(sys.modules.copy())
            """,
            a="",
        ),
        installed=installed,
    )
    module = loaded.module("oddpkg")
    assert (module.same, module.popped, module.found, module.counted) == (True, True, {True}, True)
    assert module.by_known_name == ["oddpkg.alias", "oddpkg.a"]
    assert module.by_own_name == [f"{module.__name__}.alias", f"{module.__name__}.a"]


def test_a_module_swaps_its_class(pack, installed):
    loaded = pack(
        package(
            a="""
            import sys, types
            class Callable(types.ModuleType):
                def __call__(self): return "called"
                @property
                def computed(self): return "computed"
            sys.modules[__name__].__class__ = Callable
            """,
            user="import oddpkg.a\nresult = [oddpkg.a(), oddpkg.a.computed]",
        ),
        installed=installed,
    )
    assert loaded.module("oddpkg.user").result == ["called", "computed"]


def test_main_module_of_a_package(pack, installed):
    loaded = pack(
        package(__main__="import oddpkg\nvalue = oddpkg.__name__.partition('__w')[0]"), installed=installed
    )
    assert loaded.module("oddpkg.__main__").value == "oddpkg"


def test_writes_beside_the_file_stay_in_the_cache(pack, installed, tmp_path):
    loaded = pack(
        package(
            a="""
                import os
                place = os.path.join(os.path.dirname(__file__), "written.txt")
                def write():
                    with open(place, "w") as file: file.write("x")
                    return os.path.exists(place)
            """
        ),
        installed=installed,
    )
    module = loaded.module("oddpkg.a")
    assert module.write() is True
    assert Path(module.place).is_relative_to(tmp_path / "cache")


def test_star_import_of_a_module_with_lazy_all(pack, installed):
    loaded = pack(
        package(
            "from .lazy import *",
            lazy="""
                __all__ = ["late"]
                def __getattr__(name):
                    if name == "late": return "computed"
                    raise AttributeError(name)
            """,
        ),
        installed=installed,
    )
    assert loaded.module("oddpkg").late == "computed"


def test_submodules_named_in_all_are_imported_by_star(pack, installed):
    loaded = pack(
        package("__all__ = ['a', 'b']", a="x = 1", b="x = 2", user="from oddpkg import *\ntotal = a.x + b.x"),
        installed=installed,
    )
    assert loaded.module("oddpkg.user").total == 3


def test_names_shadowing_the_library(pack, installed):
    loaded = pack(
        package(
            "from . import logging, typing\nimport json\nvalue = (logging.own, typing.own, json.dumps([1]))",
            logging="import logging as real\nown = real.getLogger('x').name",
            typing="from typing import Any\nown = 'typing'",
        ),
        installed=installed,
    )
    assert loaded.module("oddpkg").value == ("x", "typing", "[1]")


def test_subclass_hooks_metaclasses_and_descriptors_by_name(pack, installed):
    loaded = pack(
        package(
            """
            registry = {}
            class Base:
                def __init_subclass__(cls, **kwargs):
                    registry[f"{cls.__module__.rpartition('.')[2]}.{cls.__qualname__}"] = cls
            from . import a
            """,
            a="from oddpkg import Base\nclass Net(Base): pass",
        ),
        installed=installed,
    )
    assert list(loaded.module("oddpkg").registry) == ["a.Net"]


def test_copyreg_and_reduce_of_packaged_classes(pack, installed):
    loaded = pack(
        package(
            """
            import copy, copyreg, pickle
            class Net:
                def __init__(self, size): self.size = size
                def __reduce__(self): return build, (self.size,)
            def build(size): return Net(size)
            class Other: pass
            copyreg.pickle(Other, lambda other: (Other, ()))
            again = pickle.loads(pickle.dumps(Net(4)))
            result = [copy.deepcopy(Net(3)).size, again.size, type(copy.copy(Other())) is Other]
            """
        ),
        installed=installed,
    )
    assert loaded.module("oddpkg").result == [3, 4, True]


def test_package_data_by_spec_and_loader(pack, installed):
    loaded = pack(
        {
            **package(
                """
                import os, inspect
                by_loader = __loader__.get_data(os.path.join(os.path.dirname(__spec__.origin), "data.txt"))
                files = __spec__.loader.get_resource_reader(__name__).files()
                by_spec = files.joinpath("data.txt").read_text()
                locations = len(__spec__.submodule_search_locations)
                cached = __spec__.cached
                """
            ),
            "oddpkg/data.txt": "data",
        },
        installed=installed,
    )
    module = loaded.module("oddpkg")
    assert (module.by_loader, module.by_spec, module.locations) == (b"data", "data", 1)


@pytest.mark.parametrize(
    "asked",
    [
        "inspect.getfile(Net)",
        "inspect.getsourcefile(Net)",
        "os.path.realpath(inspect.getfile(Net))",
        "os.path.abspath(inspect.getfile(inspect.getmodule(Net)))",
        "sys.modules[Net.__module__].__file__",
    ],
)
def test_files_lie_beside_the_module_whatever_asks_where_it_is(pack, installed, asked):
    """Each in code of its own: the module's own `__file__` alone, if it is named, brings all files."""
    loaded = pack(
        {
            **package(
                f"""
                import inspect, os, sys
                class Net: ...
                folder = os.path.dirname({asked})
                with open(os.path.join(folder, "data.txt")) as file:
                    text = file.read()
                """
            ),
            "oddpkg/data.txt": "data",
        },
        installed=installed,
    )
    assert loaded.module("oddpkg").text == "data"


def test_code_written_for_torch_package_finds_its_importer_and_knows_that_it_is_packaged(tmp_path):
    from packager import PackageExporter, PackageImporter

    with PackageExporter(tmp_path / "port.kellet", prove=False) as exporter:
        exporter.intern("portpkg.**")
        source = """
            packaged = "__torch_package__" in dir() and __torch_package__
            def words():
                import torch_package_importer
                return torch_package_importer.load_text("portpkg", "words.txt")
        """
        exporter.save_source_string("portpkg", textwrap.dedent(source), is_package=True)
        exporter.save_text("portpkg", "words.txt", "cat dog")
    for install in (False, True):
        with PackageImporter(tmp_path / "port.kellet") as importer:
            module = (importer.install() if install else importer).import_module("portpkg")
            assert (module.packaged, module.words()) == (True, "cat dog")
        with pytest.raises(ModuleNotFoundError, match="no PackageImporter is open for this code"):
            module.words()


def test_pydoc_locates_what_is_packaged_by_its_true_name(pack, installed):
    loaded = pack(
        package(
            a="class Net:\n    class Head: width = 3\n    kind = 'net'",
            user="""
                import pydoc
                from pydoc import locate as find
                def found(path): return pydoc.locate(path), find(path)
            """,
        ),
        installed=installed,
    )
    found = loaded.module("oddpkg.user").found
    net = loaded.module("oddpkg.a").Net
    assert found("oddpkg.a.Net") == (net, net)
    assert found("oddpkg.a.Net.Head.width") == (3, 3)
    assert found("oddpkg.a") == (loaded.module("oddpkg.a"),) * 2
    assert found("json.dumps")[0] is __import__("json").dumps
    assert found("int") == (int, int)
    assert found("oddpkg.a.Nothing") == found("oddpkg.gone.Net") == (None, None)
