"""Every row of the tables of "Coming from torch.package" holds, on both sides."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

import importlib
import importlib.resources
import inspect
import io
import pickle
import re
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import torch.package

import packager
from packager.errors import PackageError, PickleRefusedError

PAGE = Path(__file__).resolve().parents[2] / "docs" / "torch-package-calls.md"
Build = Callable[[Any], Any]
Project = Callable[[Mapping[str, str]], Path]
Row = Callable[[Project, Path], None]

# torch.package reads its typed storages, and says that it is an old interface.
pytestmark = pytest.mark.filterwarnings("ignore:.*TypedStorage:UserWarning", "ignore::FutureWarning")


def rows_after(title: str) -> list[tuple[str, str, str]]:
    """The rows of the table under a heading of the page."""
    text = PAGE.read_text(encoding="utf-8").split(f"## {title}\n", 1)[1].split("\n## ", 1)[0]
    lines = [line for line in text.splitlines() if line.startswith("|")][2:]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    assert all(len(row) == 3 for row in cells)
    return [(row[0], row[1], row[2]) for row in cells]


# --- call by call ---


@pytest.mark.parametrize(("theirs", "ours", "differs"), rows_after("Call by call"))
def test_a_call_is_there_as_the_table_says(theirs: str, ours: str, differs: str) -> None:
    name = (theirs or ours).strip("`")
    left, right = (_found(name, module) for module in (torch.package, packager))
    assert (left is not None, right is not None) == (bool(theirs), bool(ours))
    if left is None or right is None:
        return
    assert theirs == ours
    expected, found = _parameters(left), _parameters(right)
    if name == "PackageImporter":
        assert (expected[0], found[0]) == ("file_or_buffer", "file")
        expected, found = expected[1:], found[1:]
    assert [one for one in found if one in expected] == expected
    added = set(found) - set(expected)
    assert added <= set(re.findall(r"\w+", differs)) | _ADDED_ELSEWHERE, added


# What belongs to other pages: the command, and archives that run by themselves.
_ADDED_ELSEWHERE = {"runnable", "vendor_wheels", "find_links", "bytecode", "progress"}


def test_no_public_call_of_torch_package_is_left_out_of_the_table() -> None:
    named = {theirs.strip("`") for theirs, _, _ in rows_after("Call by call")}
    for cls in ("PackageExporter", "PackageImporter"):
        methods = {name for name in vars(getattr(torch.package, cls)) if not name.startswith("_")}
        methods = {name for name in methods if inspect.isfunction(getattr(getattr(torch.package, cls), name))}
        left_out = {name for name in methods if f"{cls}.{name}" not in named}
        assert left_out <= {"get_source", "get_resource_reader", "id"}, left_out  # the import system's


def _found(name: str, module: Any) -> Any:
    found = module
    for part in name.split("."):
        if inspect.ismodule(found):
            found = getattr(found, part, None) or _submodule(found, part)
        else:
            found = getattr(found, part, None)
    return found


def _submodule(module: Any, name: str) -> Any:
    try:
        return importlib.import_module(f"{module.__name__}.{name}")
    except ImportError:
        return None


def _parameters(thing: Any) -> list[str]:
    if not callable(thing) or (inspect.isclass(thing) and issubclass(thing, Exception)):
        return []
    found = inspect.signature(thing).parameters.values()
    return [one.name for one in found if one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)]


# --- what you will notice ---

CHECKS: dict[str, Row] = {}


def row(title: str) -> Callable[[Row], Row]:
    def register(check: Row) -> Row:
        CHECKS[title] = check
        return check

    return register


@pytest.mark.parametrize("title", [title for title, _, _ in rows_after("What you will notice")])
def test_what_is_noticed_is_as_the_table_says(title: str, project: Project, tmp_path: Path) -> None:
    CHECKS[title](project, tmp_path)


def test_every_check_stands_for_a_row() -> None:
    assert sorted(CHECKS) == sorted(title for title, _, _ in rows_after("What you will notice"))


def theirs(build: Build) -> Any:
    """What torch.package reads of what it has packed."""
    file = io.BytesIO()
    with torch.package.PackageExporter(file) as exporter:
        build(exporter)
    file.seek(0)
    return torch.package.PackageImporter(file)


def ours(build: Build, **options: Any) -> packager.PackageImporter:
    """The same of packager."""
    file = io.BytesIO()
    with packager.PackageExporter(file, prove=False, **options) as exporter:
        build(exporter)
    _OPENED.append(packager.PackageImporter(file))
    return _OPENED[-1]


_OPENED: list[packager.PackageImporter] = []


@pytest.fixture(autouse=True)
def closed_afterwards() -> Iterator[None]:
    yield
    while _OPENED:
        _OPENED.pop().close()


def packaged(source: str, *externs: str) -> Build:
    """A package `net` with this source and a text beside it; torch.package needs some rules more."""

    def build(exporter: Any) -> None:
        if externs:
            exporter.extern(list(externs))
        exporter.save_source_string("net", source, is_package=True)
        exporter.save_text("net", "words.txt", "hello")

    return build


def value(importer: Any) -> Any:
    return importer.import_module("net").VALUE


@row("annotated dataclasses in packaged code")
def dataclasses(project: Project, tmp_path: Path) -> None:
    build = packaged(
        "from __future__ import annotations\nfrom dataclasses import dataclass\nfrom typing import ClassVar\n"
        "@dataclass\nclass Point:\n    x: int\n    kind: ClassVar[int] = 3\nVALUE = Point(1).x\n",
        "dataclasses",
        "typing",
    )
    with pytest.raises(AttributeError):
        value(theirs(build))
    assert value(ours(build)) == 1


@row('`import_module(".x", __package__)` in packaged code')
def relative_import(project: Project, tmp_path: Path) -> None:
    def build(exporter: Any) -> None:
        packaged(
            "from importlib import import_module\nVALUE = import_module('.x', __package__).X\n", "importlib"
        )(exporter)
        exporter.save_source_string("net.x", "X = 5")

    with pytest.raises(ModuleNotFoundError):
        value(theirs(build))
    assert value(ours(build)) == 5


@row("`sys.modules[__name__]` in packaged code")
def own_module(project: Project, tmp_path: Path) -> None:
    source = "import sys\nVALUE = sys.modules[__name__] is not None\n"
    with pytest.raises(torch.package.PackagingError, match="sys"):
        theirs(packaged(source))
    with pytest.raises(KeyError):
        value(theirs(packaged(source, "sys")))
    assert value(ours(packaged(source))) is True


@row("`find_spec` of itself")
def find_spec(project: Project, tmp_path: Path) -> None:
    build = packaged(
        "import importlib.util\nVALUE = importlib.util.find_spec('net') is not None\n", "importlib.**"
    )
    assert (value(theirs(build)), value(ours(build))) == (False, True)


@row("`open(os.path.join(os.path.dirname(__file__), ...))`")
def beside_the_file(project: Project, tmp_path: Path) -> None:
    build = packaged(
        "import os\nVALUE = open(os.path.join(os.path.dirname(__file__), 'words.txt'))\n"
        "VALUE, _ = VALUE.read(), VALUE.close()\n"
    )
    with pytest.raises(FileNotFoundError):
        value(theirs(build))
    assert value(ours(build)) == "hello"


@row("`pkgutil.get_data`")
def get_data(project: Project, tmp_path: Path) -> None:
    build = packaged("import pkgutil\nVALUE = pkgutil.get_data('net', 'words.txt')\n")
    assert (value(theirs(build)), value(ours(build))) == (None, b"hello")


@row("pickling an enum of the package")
def pickled_enum(project: Project, tmp_path: Path) -> None:
    build = packaged("import enum\nclass Kind(enum.Enum):\n    A = 1\nVALUE = Kind.A\n")
    with pytest.raises(pickle.PicklingError):
        pickle.dumps(value(theirs(build)))
    importer = ours(build)
    assert pickle.loads(pickle.dumps(value(importer))) is value(importer)


@row("many threads that load at once")
def threads(project: Project, tmp_path: Path) -> None:
    importer = ours(
        lambda exporter: [
            exporter.save_object("m", str(number), torch.full((64,), float(number))) for number in range(8)
        ],
        policy="auto",
    )
    found: dict[int, float] = {}

    def load(number: int) -> None:
        found[number] = float(importer.load_object("m", str(number)).mean())

    workers = [threading.Thread(target=load, args=[number]) for number in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert found == {number: float(number) for number in range(8)}


@row("a standard library module that the code does not import")
def standard_library(project: Project, tmp_path: Path) -> None:
    build = packaged("")
    with pytest.raises(ModuleNotFoundError):
        theirs(build).import_module("colorsys")
    assert ours(build).import_module("colorsys").__name__ == "colorsys"


@row("a module of the standard library that only `sys`, `io` and the like would name")
def guarded_library(project: Project, tmp_path: Path) -> None:
    build = packaged("import io\nVALUE = io.StringIO('x').read()\n")
    with pytest.raises(torch.package.PackagingError, match="io"):
        theirs(build)
    assert value(ours(build)) == "x"


@row("an error inside the `with` block")
def error_in_body(project: Project, tmp_path: Path) -> None:
    left = []
    for module in (torch.package, packager):
        path = tmp_path / f"{module.__name__}.file"

        def spoil(module: Any = module, path: Path = path) -> None:
            with module.PackageExporter(str(path)) as exporter:
                exporter.save_text("net", "words.txt", "hello")
                raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            spoil()
        left.append(path.exists())
    assert left == [True, False]


@row("the same content under another file name")
def same_bytes(project: Project, tmp_path: Path) -> None:
    equal = []
    for module in (torch.package, packager):
        paths = [tmp_path / f"{name}.{module.__name__}" for name in ("first", "another")]
        for path in paths:
            with module.PackageExporter(str(path)) as exporter:
                exporter.save_text("net", "words.txt", "hello")
        equal.append(paths[0].read_bytes() == paths[1].read_bytes())
    assert equal == [False, True]


@row("mocked modules")
def mocked(project: Project, tmp_path: Path) -> None:
    project({"loud.py": ""})

    def build(exporter: Any) -> None:
        exporter.mock("loud")
        exporter.save_source_string("net", "import loud")

    ours(build)
    assert "loud" not in sys.modules
    theirs(build)
    assert "loud" in sys.modules


@row("a child mocked, its parent extern")
def mocked_child(project: Project, tmp_path: Path) -> None:
    project({"parent/__init__.py": "", "parent/child.py": ""})

    def build(exporter: Any) -> None:
        exporter.mock("parent.child")
        exporter.extern("parent")
        exporter.save_source_string("net", "import parent.child")

    theirs(build)
    with pytest.raises(packager.PackagingError, match=r"inside a required package"):
        ours(build)


@row("a child interned, its parent extern")
def interned_child(project: Project, tmp_path: Path) -> None:
    project({"parent/__init__.py": "", "parent/child.py": ""})

    def build(exporter: Any) -> None:
        exporter.extern("parent")
        exporter.intern("parent.**")
        exporter.save_source_string("net", "import parent.child")

    theirs(build)
    with pytest.raises(packager.PackagingError, match=r"is inside a required package: the target would"):
        ours(build)


@row("`import a.b.c`, and the lists of modules")
def listed_parents(project: Project, tmp_path: Path) -> None:
    project({"a/__init__.py": "", "a/b/__init__.py": "", "a/b/c.py": ""})

    def lists(exporter_class: Any, pattern: str) -> list[list[str]]:
        found = []
        for action in ("intern", "extern", "mock"):
            with exporter_class(io.BytesIO()) as exporter:
                getattr(exporter, action)(pattern)
                exporter.save_source_string("net", "import a.b.c")
            names = getattr(exporter, f"{action}ed_modules")()
            found.append([name for name in names if name != "net"])
        return found

    assert lists(torch.package.PackageExporter, "a.**") == [["a.b.c"]] * 3
    with warnings.catch_warnings(action="ignore", category=packager.PackagingWarning):
        assert lists(packager.PackageExporter, "a.**") == [["a", "a.b", "a.b.c"]] * 3
        with packager.PackageExporter(io.BytesIO(), prove=False) as exporter:
            exporter.extern("a.b.c")
            exporter.save_source_string("net", "import a.b.c")
    assert exporter.externed_modules() == ["a.b.c"]


@row("a package that holds text or binaries alone")
def resources_alone(project: Project, tmp_path: Path) -> None:
    def build(exporter: Any) -> None:
        exporter.save_text("words.of", "a.txt", "hello")

    for importer in (theirs(build), ours(build)):
        module = importer.import_module("words.of")
        assert importlib.resources.files(module).joinpath("a.txt").read_text() == "hello"


@row("a name that is not in the archive")
def absent_name(project: Project, tmp_path: Path) -> None:
    def build(exporter: Any) -> None:
        exporter.save_source_string("net", "x = 1")

    for importer in (theirs(build), ours(build)):
        with pytest.raises(ModuleNotFoundError):
            importer.import_module("absent")
    with pytest.raises(
        packager.UndeclaredImportError, match="no module 'absent' is in <BytesIO>, which has net"
    ):
        ours(build).import_module("absent")


@row("a pattern that matches nothing")
def dead_pattern(project: Project, tmp_path: Path) -> None:
    def build(exporter: Any) -> None:
        exporter.extern("nothing.**")
        exporter.save_source_string("net", "")

    theirs(build)
    exporter = packager.PackageExporter(io.BytesIO(), prove=False)
    build(exporter)
    assert [str(rule) for rule in exporter.plan().dead_rules] == ["extern('nothing.**')"]
    with pytest.raises(packager.EmptyMatchError, match="nothing"):
        ours(build, policy="strict")


@row("hooks")
def hooks(project: Project, tmp_path: Path) -> None:
    told: list[str] = []

    def build(exporter: Any) -> None:
        exporter.extern("**")
        exporter.register_extern_hook(lambda exporter, name: told.append(name))
        exporter.save_source_string("net", "import math")
        assert exporter.externed_modules() == ["math"]
        told.append("asked")

    theirs(build)
    ours(build)
    assert told == ["asked", "math", "math", "asked"]


@row("`deny()` called by a hook")
def deny_in_hook(project: Project, tmp_path: Path) -> None:
    project({"parent/__init__.py": "", "parent/child.py": ""})

    def build(exporter: Any) -> None:
        exporter.extern("parent.**")
        exporter.register_extern_hook(lambda exporter, name: exporter.deny("parent.**"))
        exporter.save_source_string("net", "import parent.child")

    theirs(build)
    with pytest.raises(RuntimeError, match=r"Return decision\.replace"):
        ours(build)


class AnswersToEverything:
    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name != "__reduce_package__":
            raise AttributeError(name)
        return lambda *arguments: 1 / 0


@row("an object that answers to every attribute")
def odd_object(project: Project, tmp_path: Path) -> None:
    def build(exporter: Any) -> None:
        exporter.extern("**")
        exporter.save_pickle("net", "odd.pkl", AnswersToEverything())

    with pytest.raises(ZeroDivisionError):
        theirs(build)
    with pytest.warns(packager.PackagingWarning, match="tests is required without a known distribution"):
        ours(build)


@row("a class defined in `__main__`")
def main_class(project: Project, tmp_path: Path) -> None:
    # Two processes, of which one imports torch: some seconds.
    program = """\
import io, sys
import {module} as chosen

class Here:
    pass

with chosen.PackageExporter(io.BytesIO()) as exporter:
    exporter.intern("__main__")
    exporter.save_pickle("net", "here.pkl", Here())
"""
    codes = []
    for module in ("torch.package", "packager"):
        path = tmp_path / f"with_{module}.py"
        path.write_text(program.format(module=module), encoding="utf-8")
        ran = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, check=False)
        codes.append((ran.returncode, "PackagingError" in ran.stderr))
    assert codes == [(1, True), (0, False)]


@row("an object that changes after it was saved")
def changes(project: Project, tmp_path: Path) -> None:
    def build(exporter: Any, save: str) -> None:
        exporter.extern("**")
        thing = {"names": ["a"], "weight": torch.zeros(2)}
        getattr(exporter, save)("model", "thing", thing)
        thing["names"].append("b")
        thing["weight"].fill_(3.0)

    stored = theirs(lambda exporter: build(exporter, "save_pickle")).load_pickle("model", "thing")
    assert (stored["names"], stored["weight"].tolist()) == (["a"], [0.0, 0.0])
    kept = ours(lambda exporter: build(exporter, "save_object")).load_object("model", "thing")
    assert (kept["names"], kept["weight"].tolist()) == (["a"], [0.0, 0.0])


@row("a lambda in a model")
def a_lambda(project: Project, tmp_path: Path) -> None:
    project({"net.py": "from torch import nn\nmodel = nn.Linear(1, 1)\nmodel.act = lambda x: 2 * x\n"})
    model = importlib.import_module("net").model

    def pickled(exporter: Any) -> None:
        exporter.extern("**")
        exporter.save_pickle("model", "m.pkl", model)

    with pytest.raises(pickle.PicklingError) as found:
        theirs(pickled)
    assert ".act" not in str(found.value)

    def save(exporter: Any) -> None:
        exporter.save_object("model", "model", model)

    assert ours(save, policy="auto").load_object("model", "model").act(3) == 6
    model.act = eval("lambda x: 2 * x")
    with pytest.raises(packager.PackagingError, match=r"model\.act: function"):
        ours(save, policy="auto")


@row("a module without a rule")
def without_rule(project: Project, tmp_path: Path) -> None:
    project({"helper.py": "X = 1"})
    build = packaged("import helper\nVALUE = helper.X\n")
    with pytest.raises(torch.package.PackagingError, match="did not match against any action pattern"):
        theirs(build)
    with pytest.raises(packager.PackagingError, match="did not match against any action pattern"):
        ours(build)
    assert value(ours(build, policy="auto")) == 1


@row("an installed package that is extern")
def extern_version(project: Project, tmp_path: Path) -> None:
    build = packaged("import pytest\n", "pytest")
    reader = theirs(build).zip_reader
    assert not any(
        pytest.__version__.encode() in reader.get_record(name) for name in reader.get_all_records()
    )
    (recorded,) = [extern for extern in ours(build).manifest.externs if extern.name == "pytest"]
    assert (recorded.distribution, recorded.version) == ("pytest", pytest.__version__)


@row("C extensions")
def c_extensions(project: Project, tmp_path: Path) -> None:
    def build(exporter: Any) -> None:
        exporter.intern("msgpack.**")
        exporter.save_source_string("net", "from msgpack import _cmsgpack\n")

    with pytest.raises(torch.package.PackagingError, match="C extension"):
        theirs(build)
    importer = ours(lambda exporter: exporter.save_source_string("net", "import msgpack\n"), policy="auto")
    assert [extern.name for extern in importer.manifest.externs] == ["msgpack"]


@row("loading runs a pickle")
def pickles_run(project: Project, tmp_path: Path) -> None:
    def build(exporter: Any) -> None:
        exporter.extern("**")
        exporter.save_pickle("net", "m.pkl", {"a": torch.ones(1)})

    assert theirs(build).load_pickle("net", "m.pkl")["a"].item() == 1
    with pytest.raises(PickleRefusedError, match="allow_pickle=True"):
        ours(build).load_pickle("net", "m.pkl")


@row("`close()` of an importer")
def close(project: Project, tmp_path: Path) -> None:
    assert not hasattr(torch.package.PackageImporter, "close")
    importer = ours(packaged("VALUE = 1"))
    name = importer.import_module("net").__name__
    assert name in sys.modules
    importer.close()
    assert name not in sys.modules
    with pytest.raises(PackageError, match="is closed"):
        importer.import_module("net")


@row("opening without torch")
def without_torch(project: Project, tmp_path: Path) -> None:
    with packager.PackageExporter(tmp_path / "net.kellet", prove=False) as exporter:
        packaged("VALUE = 1")(exporter)
    program = (
        "import sys; from packager import PackageImporter\n"
        f"assert PackageImporter({str(tmp_path / 'net.kellet')!r}).import_module('net').VALUE == 1\n"
        "assert 'torch' not in sys.modules\n"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
