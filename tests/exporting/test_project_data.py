"""Files beside packages go along, and what a run opens; secrets stay out; each is told with its size."""

from __future__ import annotations

import importlib
import io
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path
from types import ModuleType

import pytest

from packager import PackageExporter, PackageImporter, PackagingWarning
from packager._exporting import ExportPlan
from packager._graph import datafiles
from packager._proving import ProofError

Project = Callable[[Mapping[str, str]], Path]
READ = "import os\nHERE = os.path.dirname(os.path.abspath(__file__))\n"

# Each: the files, the module, what of its `read()` is the answer, the data files that go along, and why.
LAYOUTS = {
    "beside a module": (
        {"lamp.py": READ + "def read(): return open(os.path.join(HERE, 'w.txt')).read()\n", "w.txt": "warm"},
        "lamp",
        "warm",
        {"w.txt": "lamp.py:3"},
    ),
    "in a folder beside a module": (
        {
            "lamp.py": READ
            + "PATH = os.path.join(HERE, 'conf', 'eu.txt')\ndef read(): return open(PATH).read()\n",
            "conf/eu.txt": "dim",
            "conf/us.txt": "bright",
        },
        "lamp",
        "dim",
        {"conf/eu.txt": "lamp.py:4"},
    ),
    "put behind its folder as text": (
        {
            "lamp.py": READ
            + "def read(): return open(HERE + '/w.txt').read() + open(f'{HERE}/conf/eu.txt').read()\n",
            "w.txt": "warm",
            "conf/eu.txt": "dim",
        },
        "lamp",
        "warmdim",
        {"conf/eu.txt": "lamp.py:3", "w.txt": "lamp.py:3"},
    ),
    "one package up": (
        {
            "deep/__init__.py": "",
            "deep/m.py": (
                "from pathlib import Path\nROOT = Path(__file__).resolve().parent.parent\n"
                "def read(): return (ROOT / 'assets' / 'table.txt').read_text()\n"
            ),
            "assets/table.txt": "T",
        },
        "deep.m",
        "T",
        {"assets/table.txt": "deep/m.py:3"},
    ),
    "one package up by dots": (
        {
            "deep/__init__.py": "",
            "deep/m.py": READ
            + "def read(): return open(os.path.join(HERE, '..', 'assets', 'a.txt')).read()\n",
            "assets/a.txt": "A",
        },
        "deep.m",
        "A",
        {"assets/a.txt": "deep/m.py:3"},
    ),
    "a folder whose files have computed names": (
        {
            "deep/__init__.py": "",
            "deep/m.py": (
                "from pathlib import Path\nROOT = Path(__file__).parents[1]\nNAMES = ('base', 'eu')\n"
                "def read(): return ''.join((ROOT / 'conf' / f'{n}.toml').read_text() for n in NAMES)\n"
            ),
            "conf/base.toml": "a = 1\n",
            "conf/eu.toml": "b = 2\n",
        },
        "deep.m",
        "a = 1\nb = 2\n",
        {"conf/base.toml": "deep/m.py:4", "conf/eu.toml": "deep/m.py:4"},
    ),
    "a folder that a configuration file names": (
        {
            "lamp.py": (
                "import json\nfrom pathlib import Path\nROOT = Path(__file__).parent\n"
                "def read():\n    conf = json.loads((ROOT / 'settings.json').read_text())\n"
                "    return (ROOT / conf['tables'] / 'n.csv').read_text()\n"
            ),
            "settings.json": '{"tables": "store/tables"}',
            "store/tables/n.csv": "1,2",
            "store/other/x.csv": "no",
        },
        "lamp",
        "1,2",
        {"settings.json": "lamp.py:5", "store/tables/n.csv": "lamp.py:6"},
    ),
    "a pattern": (
        {
            "lamp.py": (
                "import glob, os\ndef read():\n"
                "    found = glob.glob(os.path.join(os.path.dirname(__file__), 'shades/*.txt'))\n"
                "    return ' '.join(open(one).read() for one in sorted(found))\n"
            ),
            "shades/a.txt": "red",
            "shades/b.txt": "blue",
            "shades/c.csv": "listed",
            "other/x.txt": "no",
        },
        "lamp",
        "red blue",
        {"shades/a.txt": "lamp.py:3", "shades/b.txt": "lamp.py:3", "shades/c.csv": "lamp.py:3"},
    ),
    "a sub-package that nothing imports": (
        {
            "atlas/__init__.py": "",
            "atlas/tables/__init__.py": "",
            "atlas/tables/eu/__init__.py": "",
            "atlas/tables/eu/c.json": "Rome",
            "atlas/look.py": (
                READ
                + "def read(area='eu'): return open(os.path.join(HERE, 'tables', area, 'c.json')).read()\n"
            ),
        },
        "atlas.look",
        "Rome",
        {"atlas/tables/eu/c.json": "beside the code of atlas"},
    ),
    "a folder of plugins that are run by their files": (
        {
            "kiln/__init__.py": "",
            "kiln/host.py": READ
            + (
                "import importlib.util\nPLUGINS = os.path.join(HERE, 'plugins')\ndef read(name='glaze'):\n"
                "    file = os.path.join(PLUGINS, name + '.py')\n"
                "    spec = importlib.util.spec_from_file_location(name, file)\n"
                "    module = importlib.util.module_from_spec(spec)\n    spec.loader.exec_module(module)\n"
                "    return module.HEAT\n"
            ),
            "kiln/plugins/glaze.py": "HEAT = '1200'\n",
        },
        "kiln.host",
        "1200",
        {},  # a source is its module,
    ),
    "beside what inspect knows": (
        {
            "ink/__init__.py": "",
            "ink/a.txt": "A",
            "ink/pen.py": (
                "import inspect, os\nclass Pen: pass\ndef read():\n"
                "    return open(os.path.join(os.path.dirname(inspect.getfile(Pen)), 'a.txt')).read()\n"
            ),
        },
        "ink.pen",
        "A",
        {"ink/a.txt": "beside the code of ink"},
    ),
    "beside what a code object knows": (
        {
            "ink.py": (
                "import os\ndef read():\n"
                "    return open(os.path.join(os.path.dirname(read.__code__.co_filename), 'b.txt')).read()\n"
            ),
            "b.txt": "B",
        },
        "ink",
        "B",
        {"b.txt": "ink.py:3"},
    ),
    "beside the origin of the spec": (
        {
            "ink/__init__.py": "import os\ndef read():\n"
            "    return open(os.path.join(os.path.dirname(__spec__.origin), 'data', 'c.txt')).read()\n",
            "ink/data/c.txt": "C",
        },
        "ink",
        "C",
        {"ink/data/c.txt": "beside the code of ink"},
    ),
}


def planned(*modules: str) -> ExportPlan:
    exporter = PackageExporter(io.BytesIO(), policy="auto", prove=False)
    for module in modules:
        exporter.save_module(module)
    return exporter.plan()


@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.parametrize(
    "layout",
    [
        # The view of Windows lists the folders on the way to a path of `pathlib`, and so their files come.
        pytest.param(one, marks=pytest.mark.unix) if one.startswith("a folder that a configuration") else one
        for one in LAYOUTS
    ],
)
def test_a_file_that_a_call_opens_comes_along(project: Project, tmp_path: Path, layout: str) -> None:
    files, module, answer, captured = LAYOUTS[layout]
    folder = project(files)
    with PackageExporter(tmp_path / "net.kellet", policy="auto") as exporter:
        exporter.save_object("model", "model", importlib.import_module(module).read)
        exporter.save_example("model", {})
    data = exporter.plan().data_files
    assert {file.name: file.because for file in data} == captured
    assert {file.name: file.size for file in data} == {name: len(files[name]) for name in captured}
    shutil.rmtree(folder)
    with PackageImporter(tmp_path / "net.kellet") as importer:
        assert importer.load_object("model", "model")() == answer


def test_a_file_beside_a_module_that_nothing_opens_stays(project: Project) -> None:
    project({"lamp.py": "", "w.txt": "warm", "conf/eu.txt": "dim"})
    plan = planned("lamp")
    assert (plan.data_files, plan.left_out) == ((), ())


def test_data_of_a_script_lies_beside_it(
    project: Project, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    text = (
        READ + "class Label:\n    def __call__(self):\n"
        "        with open(os.path.join(HERE, 'labels.json')) as file: return file.read()\n"
    )
    folder = project({"train.py": text, "labels.json": "[]"})
    main = ModuleType("__main__")
    main.__file__ = str(folder / "train.py")
    exec(compile(text, main.__file__, "exec"), main.__dict__)
    monkeypatch.setitem(sys.modules, "__main__", main)
    with PackageExporter(tmp_path / "net.kellet", policy="auto") as exporter:
        exporter.save_object("model", "model", main.Label())
        exporter.save_example("model", {})
    assert [file.name for file in exporter.plan().data_files] == ["labels.json"]
    shutil.rmtree(folder)
    with PackageImporter(tmp_path / "net.kellet") as importer:
        assert importer.load_object("model", "model")() == "[]"


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        (".env", "KEY=1", "it looks like a secret"),
        ("prod.env", "KEY=1", "it looks like a secret"),
        (".netrc", "machine", "it looks like a secret"),
        ("id_rsa", "x", "it looks like a secret"),
        ("aws_credentials.json", "{}", "it looks like a secret"),
        ("secrets.toml", "", "it looks like a secret"),
        ("hf_token", "hf", "it looks like a secret"),
        ("server.pem", "-----BEGIN PRIVATE KEY-----\n", "it holds a private key"),
        ("roots.pem", "-----BEGIN CERTIFICATE-----\n", ""),
        ("tokens.txt", "a b", ""),
        ("special_tokens_map.json", "{}", ""),
        ("secretary.csv", "", ""),
        (".shades.txt", "x", "it is hidden"),
        (".hidden/x.txt", "ab", "it is hidden"),
        (".git/config", "ab", None),
    ],
)
def test_what_is_secret_or_hidden_is_left_out_and_listed(
    project: Project, name: str, text: str, reason: str | None
) -> None:
    project({"bank/__init__.py": "", f"bank/{name}": text})
    plan = planned("bank")
    entry = f"bank/{name.partition('/')[0]}/" if "/" in name else f"bank/{name}"
    assert [file.name for file in plan.data_files] == ([entry] if reason == "" else [])
    left_out = [(entry, len(text), reason)] if reason else []
    assert [(file.name, file.size, file.because) for file in plan.left_out] == left_out
    line = f"    {entry}  {len(text)} B  {reason}\n"
    assert (line in str(plan)) == (line in plan.concerns()) == bool(left_out)


@pytest.mark.parametrize("home", ["bank/__init__.py", "bank.py"])
def test_what_is_hidden_goes_along_where_a_run_opens_it(project: Project, tmp_path: Path, home: str) -> None:
    code = READ + "def read():\n    with open(os.path.join(HERE, '.shades')) as file: return file.read()\n"
    folder = project({home: code, home.replace("__init__.py", ".shades").replace("bank.py", ".shades"): "x"})
    with PackageExporter(tmp_path / "net.kellet", policy="auto") as exporter:
        exporter.save_object("model", "model", importlib.import_module("bank").read)
        exporter.save_example("model", {})
    assert [file.because for file in exporter.plan().data_files] == [f"{home}:4"]
    assert exporter.plan().left_out == ()
    shutil.rmtree(folder)
    with PackageImporter(tmp_path / "net.kellet") as importer:
        assert importer.load_object("model", "model")() == "x"


@pytest.mark.parametrize("home", ["bank/__init__.py", "bank.py"])
def test_a_secret_that_a_run_opens_stays_out_and_is_listed(
    project: Project, tmp_path: Path, home: str
) -> None:
    code = READ + "def read():\n    with open(os.path.join(HERE, '.env')) as file: return file.read()\n"
    project({home: code, home.replace("__init__.py", ".env").replace("bank.py", ".env"): "KEY=1"})
    exporter = PackageExporter(tmp_path / "net.kellet", policy="auto")
    exporter.save_object("model", "model", importlib.import_module("bank").read)
    exporter.save_example("model", {})
    with pytest.raises(ProofError, match=rf"{home}:4 .*FileNotFoundError|FileNotFoundError(?s:.*){home}:4"):
        exporter.close()
    assert not (tmp_path / "net.kellet").exists()
    assert [(file.kind, file.because) for file in exporter.plan().left_out] == [
        ("resource", "it looks like a secret")
    ]


def test_what_keeps_a_folder_in_git_is_no_concern(project: Project) -> None:
    project({"bank/__init__.py": "", "bank/.gitkeep": "", "bank/.keep": "", "bank/.shades": ""})
    plan = planned("bank")
    assert [file.name for file in plan.left_out] == ["bank/.gitkeep", "bank/.keep", "bank/.shades"]
    assert [line.split()[0] for line in plan.concerns().splitlines()[1:]] == ["bank/.shades"]


def test_a_library_beside_the_code_comes_along_and_is_said_for_what_it_is(project: Project) -> None:
    compiled = f"dsp/_fast{EXTENSION_SUFFIXES[0]}"
    project({"dsp/__init__.py": "", "dsp/bin/libdsp.so": "\x7fELF", "dsp/dsp.dll": "MZ", compiled: ""})
    plan = planned("dsp")
    assert [file.name for file in plan.data_files] == ["dsp/bin/libdsp.so", "dsp/dsp.dll"]
    assert [warning.partition(",")[0] for warning in plan.warnings] == [
        f"{file.name} is machine code (beside the code of dsp)" for file in plan.data_files
    ]


@pytest.mark.skipif(shutil.which("gcc") is None, reason="there is no compiler")
def test_a_library_that_ctypes_opens_comes_along_from_beside_a_module(
    project: Project, tmp_path: Path
) -> None:
    code = READ + (
        "import ctypes\ndef read():\n    return ctypes.CDLL(os.path.join(HERE, 'libdsp.so')).twice(21)\n"
    )
    folder = project({"native.py": code, "twice.c": "int twice(int x) { return 2 * x; }\n"})
    subprocess.run(["gcc", "-shared", "-o", "libdsp.so", "twice.c"], cwd=folder, check=True)
    exporter = PackageExporter(tmp_path / "net.kellet", policy="auto")
    exporter.save_object("model", "model", importlib.import_module("native").read)
    exporter.save_example("model", {})
    with pytest.warns(PackagingWarning, match=r"libdsp\.so is machine code \(native\.py:5\)"):
        exporter.close()
    shutil.rmtree(folder)
    with PackageImporter(tmp_path / "net.kellet") as importer:
        assert importer.load_object("model", "model")() == 42


def test_what_is_saved_or_excluded_by_name_is_not_listed_as_left_out(project: Project) -> None:
    project({"bank/__init__.py": "", "bank/.env": "K=1", "bank/secrets.ini": ""})
    exporter = PackageExporter(io.BytesIO(), policy="auto", prove=False)
    exporter.save_module("bank")
    exporter.save_binary("bank", ".env", b"K=2")
    exporter.exclude_data("bank/secrets.ini")
    plan = exporter.plan()
    assert plan.left_out == ()
    assert [entry.name for entry in plan.entries if entry.kind == "resource"] == ["bank/.env"]


def test_data_of_a_package_that_nothing_imports_goes_along_as_in_a_wheel(project: Project) -> None:
    project(
        {
            "net/__init__.py": "",
            "net/langs/__init__.py": "",
            "net/langs/fr.json": "oui",
            "net/langs/t.py": "",
            "net/langs/fr.pyi": "",
            "net/py.typed": "",
        }
    )
    plan = planned("net")
    assert [(file.name, file.because) for file in plan.data_files] == [
        ("net/langs/fr.json", "beside the code of net")
    ]
    assert (plan.left_out, plan.concerns()) == ((), "")


MANY = {
    "net/__init__.py": READ + "def read(name):\n    with open(os.path.join(HERE, name)) as file:"
    " return len(file.read())\n",
    "net/a.bin": "x" * 700,
    "net/words/b.txt": "x" * 300,
    "net/words/c.txt": "x" * 301,
    "net/.env": "x" * 900,
    "other/__init__.py": "",
    "other/d.bin": "x" * 1000,
}


def test_the_smallest_files_of_a_package_go_along_and_the_others_are_listed(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert datafiles.MOST_BESIDE == 16 * 2**20
    monkeypatch.setattr(datafiles, "MOST_BESIDE", 1000)
    project(MANY)
    plan = planned("net", "other")
    assert [file.name for file in plan.data_files] == ["net/words/b.txt", "net/words/c.txt", "other/d.bin"]
    assert [(file.name, file.size, file.because) for file in plan.left_out] == [
        ("net/.env", 900, "it looks like a secret"),
        ("net/a.bin", 700, "with it, data files exceed 1000 B"),
    ]
    assert plan.ok
    heading, *told = plan.concerns().splitlines()
    assert heading == "data files left out (exporter.save_binary() stores one):"
    assert [line.split()[0] for line in told] == ["net/.env", "net/a.bin"]


@pytest.mark.parametrize("how", ["excluded", "saved"])
def test_a_file_that_was_too_much_is_taken_or_left_by_name(
    project: Project, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    monkeypatch.setattr(datafiles, "MOST_BESIDE", 1000)
    project(MANY)
    exporter = PackageExporter(io.BytesIO(), policy="auto", prove=False)
    exporter.save_module("net")
    exporter.exclude_data(["net/.env", "net/words/c.txt"])
    if how == "saved":
        exporter.save_binary("net", "words/c.txt", b"mine")
    plan = exporter.plan()
    assert plan.left_out == ()
    assert [file.name for file in plan.data_files] == ["net/a.bin", "net/words/b.txt"]


def test_a_file_that_was_too_much_goes_along_where_a_run_opens_it(
    project: Project, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(datafiles, "MOST_BESIDE", 1000)
    folder = project(MANY)
    exporter = PackageExporter(tmp_path / "net.kellet", policy="auto")
    exporter.save_object("model", "model", importlib.import_module("net").read)
    exporter.save_example("model", {"name": "a.bin"})
    exporter.exclude_data("net/.env")
    exporter.close()
    assert [(file.name, file.because) for file in exporter.plan().data_files] == [
        ("net/a.bin", "net/__init__.py:4"),
        ("net/words/b.txt", "beside the code of net"),
        ("net/words/c.txt", "beside the code of net"),
    ]
    shutil.rmtree(folder)
    with PackageImporter(tmp_path / "net.kellet") as importer:
        assert importer.load_object("model", "model")("a.bin") == 700


@pytest.mark.parametrize(
    "code",
    [
        "def read():\n    return open('data/prices.csv').read()",
        "PATH = 'data/prices.csv'\ndef read(): return open(PATH).read()",
        "from pathlib import Path\ndef read(): return [one.name for one in Path('data').iterdir()]",
        "import numpy as np\ndef read(path='data/prices.csv'): return np.loadtxt(path)",
    ],
)
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_what_is_opened_relative_to_the_working_directory_is_refused_with_its_line(
    project: Project, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, code: str
) -> None:
    folder = project({"stock.py": code, "data/prices.csv": "1"})
    monkeypatch.chdir(folder)
    exporter = PackageExporter(tmp_path / "net.kellet", policy="auto")
    exporter.save_object("model", "model", importlib.import_module("stock").read)
    exporter.save_example("model", {})
    with pytest.raises(ProofError) as refused:
        exporter.close()
    told = str(refused.value)
    line = code.count("\n") + 1
    assert f"stock.py:{line}" in told
    assert ("working directory" in told) or "data/prices.csv not found" in told
    assert not (tmp_path / "net.kellet").exists()


def test_a_file_above_the_top_level_packages_is_refused_with_its_line(
    project: Project, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    code = "from pathlib import Path\nROOT = Path(__file__).resolve().parents[2]\n"
    code += "def read(): return (ROOT / 'config' / 'a.txt').read_text()\n"
    folder = project({"src/fern/__init__.py": "", "src/fern/m.py": code, "config/a.txt": "A"})
    monkeypatch.syspath_prepend(folder / "src")
    exporter = PackageExporter(tmp_path / "net.kellet", policy="auto")
    exporter.save_object("model", "model", importlib.import_module("fern.m").read)
    exporter.save_example("model", {})
    with pytest.raises(ProofError, match=r"fern/m\.py:3"):
        exporter.close()


def test_each_of_two_folders_of_the_project_gives_its_own_file(
    project: Project, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    text = "from pathlib import Path\ndef read(name): return (Path(__file__).parent / name).read_text()\n"
    folder = project(
        {
            "a/one.py": text,
            "a/a.txt": "A",
            "b/two.py": f"import one\n{text}def both(): return one.read('a.txt') + read('b.txt')\n",
            "b/b.txt": "B",
        }
    )
    monkeypatch.syspath_prepend(folder / "a")
    monkeypatch.syspath_prepend(folder / "b")
    with PackageExporter(tmp_path / "net.kellet", policy="auto") as exporter:
        exporter.save_object("model", "model", importlib.import_module("two").both)
        exporter.save_example("model", {})
    shutil.rmtree(folder)
    with PackageImporter(tmp_path / "net.kellet") as importer:
        assert importer.load_object("model", "model")() == "AB"


def test_what_is_hidden_in_a_folder_that_a_run_lists_stays_out(project: Project, tmp_path: Path) -> None:
    project(
        {
            "lamp.py": READ
            + "def read(): return [n for n in sorted(os.listdir(HERE + '/runs')) if n[0] != '.']\n",
            "runs/a.bin": "x",
            "runs/.DS_Store": "x",
            "runs/.old/b.bin": "x",
        }
    )
    exporter = PackageExporter(tmp_path / "net.kellet", policy="auto")
    exporter.save_object("model", "model", importlib.import_module("lamp").read)
    exporter.save_example("model", {})
    with pytest.warns(PackagingWarning, match=r"runs/\.DS_Store  1 B  it is hidden"):
        exporter.close()
    plan = exporter.plan()
    assert [file.name for file in plan.data_files] == ["runs/a.bin"]
    assert [(file.name, file.because) for file in plan.left_out] == [("runs/.DS_Store", "it is hidden")]


def test_of_a_large_folder_that_a_run_lists_the_smallest_files_go_along_and_the_others_are_listed(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(datafiles, "MOST_BESIDE", 1000)
    code = READ + "def read(): return [n for n in os.listdir(HERE + '/runs') if n == 'a.bin']\n"
    project({"lamp.py": code, "runs/a.bin": "x" * 600, "runs/b.bin": "x" * 601, "runs/c.bin": "x" * 9999})
    exporter = PackageExporter(tmp_path / "net.kellet", policy="auto")
    exporter.save_object("model", "model", importlib.import_module("lamp").read)
    exporter.save_example("model", {})
    with pytest.warns(PackagingWarning, match=r"runs/c\.bin  9.8 KiB  with it, data files exceed"):
        exporter.close()
    plan = exporter.plan()
    assert [file.name for file in plan.data_files] == ["runs/a.bin"]
    assert [file.name for file in plan.left_out] == ["runs/b.bin", "runs/c.bin"]


@pytest.mark.filterwarnings("ignore::packager.PackagingWarning")
@pytest.mark.parametrize(
    ("aim", "is_secret"), [("conf/.env", True), ("id_rsa", True), ("conf/words.txt", False)]
)
@pytest.mark.parametrize("home", ["bank", "conf"])
def test_a_link_to_a_secret_is_left_out_by_whatever_name(
    project: Project, tmp_path: Path, aim: str, is_secret: bool, home: str
) -> None:
    code = (
        READ + f"FOUND = os.path.exists(os.path.join(HERE, '../{home}/settings.txt'))\ndef read(): return 1\n"
    )
    folder = project({"bank/__init__.py": code, "conf/.env": "KEY=1", "id_rsa": "x", "conf/words.txt": "w"})
    (folder / home / "settings.txt").symlink_to(folder / aim)
    with PackageExporter(tmp_path / "net.kellet", policy="auto") as exporter:
        exporter.save_object("model", "model", importlib.import_module("bank").read)
    plan = exporter.plan()
    left_out = [(f"{home}/settings.txt", "it looks like a secret")] if is_secret else []
    assert [(one.name, one.because) for one in plan.left_out] == left_out


def test_links_in_circles_are_not_followed_and_others_are(project: Project, tmp_path: Path) -> None:
    folder = project({"ring/__init__.py": "", "ring/a/one.txt": "1", "ring/b/two.txt": "2", "far/x.txt": "x"})
    links = {"a/here": "a", "a/up": ".", "a/out": "..", "a/to_b": "b", "b/to_a": "a", "a/far": "../far"}
    for link, aim in links.items():
        (folder / "ring" / link).symlink_to(folder / "ring" / aim, target_is_directory=True)
    found = [file.name for file in planned("ring").data_files]
    beside = ["ring/a/far/x.txt", "ring/a/one.txt", "ring/a/to_b/two.txt", "ring/b/two.txt"]
    assert [name for name in found if "to_a" not in name] == beside
    assert [name for name in found if "to_a" in name] == ["ring/a/to_b/to_a/one.txt"]
