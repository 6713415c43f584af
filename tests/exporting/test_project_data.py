"""A file that code needs is found, or named; secrets stay out; each is told with its size."""

from __future__ import annotations

import io
import shutil
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from packager import PackageExporter, PackageImporter
from packager.exporting import ExportPlan

Project = Callable[[Mapping[str, str]], Path]
READ = "import os\nHERE = os.path.dirname(os.path.abspath(__file__))\n"

# Each: the files, the module, what of its `read()` is the answer, the data files that go along.
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
        {"conf/eu.txt": "lamp.py:3"},
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
        {"settings.json": "lamp.py:5", "store/tables/n.csv": "named in settings.json"},
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
            "shades/c.csv": "no",
        },
        "lamp",
        "red blue",
        {"shades/a.txt": "lamp.py:3", "shades/b.txt": "lamp.py:3"},
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
        {"atlas/tables/eu/c.json": "atlas/look.py:3"},
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
        {"kiln/plugins/glaze.py": "kiln/host.py:4"},
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
        {"ink/a.txt": "ink/pen.py:4"},
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
        {"ink/data/c.txt": "ink/__init__.py:3"},
    ),
}


def planned(module: str) -> ExportPlan:
    exporter = PackageExporter(io.BytesIO(), policy="auto", prove=False)
    exporter.save_module(module)
    return exporter.plan()


@pytest.mark.filterwarnings("ignore::packager.PackagingWarning")  # a question
@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_file_that_code_reaches_from_its_own_place_comes_along(
    project: Project, tmp_path: Path, layout: str
) -> None:
    files, module, answer, captured = LAYOUTS[layout]
    folder = project(files)
    with PackageExporter(tmp_path / "net.kellet", policy="auto", prove=False) as exporter:
        exporter.save_module(module)
        data = exporter.plan().data_files
    assert {file.name: file.because for file in data} == captured
    assert {file.name: file.size for file in data} == {name: len(files[name]) for name in captured}
    shutil.rmtree(folder)
    with PackageImporter(tmp_path / "net.kellet") as importer:
        assert importer.import_module(module).read() == answer


def test_data_of_a_script_lies_beside_it(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (
        READ + "class Label:\n    def read(self):\n        return open(os.path.join(HERE, 'labels.json'))\n"
    )
    folder = project({"train.py": text, "labels.json": "[]"})
    from types import ModuleType

    main = ModuleType("__main__")
    main.__file__ = str(folder / "train.py")
    exec(compile(text, main.__file__, "exec"), main.__dict__)
    monkeypatch.setitem(sys.modules, "__main__", main)
    exporter = PackageExporter(io.BytesIO(), policy="auto", prove=False)
    exporter.save_object("model", "label", main.Label())
    assert [file.name for file in exporter.plan().data_files] == ["labels.json"]


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
@pytest.mark.parametrize("named", [False, True])
def test_what_is_secret_or_hidden_is_left_out_and_listed(
    project: Project, name: str, text: str, reason: str | None, named: bool
) -> None:
    """What is hidden goes along where code names it; a secret never does."""
    code = f"{READ}\ndef read(): return open(HERE + '/x'), {name!r}\n" if named else ""
    project({"bank/__init__.py": code, f"bank/{name}": text})
    plan = planned("bank")
    entry = f"bank/{name.partition('/')[0]}/" if "/" in name else f"bank/{name}"
    stored = reason == "" or (named and reason == "it is hidden" and "/" not in name)
    assert [file.name for file in plan.data_files] == ([entry] if stored else [])
    left_out = [] if stored or reason is None else [(entry, len(text), reason)]
    assert [(file.name, file.size, file.because) for file in plan.left_out] == left_out
    line = f"    {entry}  {len(text)} B  {reason}\n"
    assert (line in str(plan)) == (line in plan.concerns()) == bool(left_out)


def test_what_keeps_a_folder_in_git_is_no_concern(project: Project) -> None:
    project({"bank/__init__.py": "", "bank/.gitkeep": "", "bank/.keep": "", "bank/.shades": ""})
    plan = planned("bank")
    assert [file.name for file in plan.left_out] == ["bank/.gitkeep", "bank/.keep", "bank/.shades"]
    assert [line.split()[0] for line in plan.concerns().splitlines()[1:]] == ["bank/.shades"]


NATIVE = "import ctypes, os\nHERE = os.path.dirname(__file__)\n"


@pytest.mark.parametrize(
    ("files", "module", "library"),
    [
        (
            {
                "dsp/__init__.py": "",
                "dsp/native.py": NATIVE + "lib = ctypes.CDLL(os.path.join(HERE, 'bin', 'lib' + 'dsp.so'))\n",
                "dsp/bin/libdsp.so": "\x7fELF",
            },
            "dsp.native",
            ("dsp/bin/libdsp.so", "dsp/native.py:1"),
        ),
        (
            {
                "dsp/__init__.py": "import numpy.ctypeslib as c\nc.load_library('libdsp', __path__[0])\n",
                "dsp/libdsp.dll": "MZ",
            },
            "dsp",
            ("dsp/libdsp.dll", "dsp/__init__.py:1"),
        ),
        (  # in a package that nothing imports
            {
                "dsp/__init__.py": "",
                "dsp/native.py": NATIVE + "lib = ctypes.CDLL(os.path.join(HERE, 'bin', 'lib' + 'dsp.so'))\n",
                "dsp/bin/__init__.py": "",
                "dsp/bin/libdsp.so": "\x7fELF",
            },
            "dsp.native",
            ("dsp/bin/libdsp.so", "dsp/native.py:1"),
        ),
        (
            {
                "native.py": NATIVE + "lib = ctypes.CDLL(os.path.join(HERE, 'libdsp.so'))\n",
                "libdsp.so": "\x7fELF",
                "_fast.cpython-311-x86_64-linux-gnu.so": "",
            },
            "native",
            ("libdsp.so", "native.py:3"),
        ),
    ],
)
def test_a_library_that_ctypes_opens_comes_along_and_is_said_for_what_it_is(
    project: Project, files: Mapping[str, str], module: str, library: tuple[str, str]
) -> None:
    project(files)
    exporter = PackageExporter(io.BytesIO(), policy="auto", prove=False)
    exporter.save_module(module)
    plan = exporter.plan()
    assert [(file.name, file.because) for file in plan.data_files] == [library]
    (warning,) = plan.warnings
    assert warning.startswith(f"{library[0]} is machine code ({library[1]}), and can be opened on ")


def test_a_library_that_nothing_opens_stays(project: Project) -> None:
    project({"dsp/__init__.py": "import os\n", "dsp/libdsp.so": "x"})
    assert planned("dsp").data_files == ()


def test_a_secret_beside_a_module_stays_out_although_code_names_it(project: Project) -> None:
    project({"bank.py": READ + "def read(): return open(os.path.join(HERE, '.env')).read()\n", ".env": "K=1"})
    plan = planned("bank")
    assert plan.data_files == ()
    assert [(file.name, file.because) for file in plan.left_out] == [(".env", "it looks like a secret")]


def test_what_is_saved_or_excluded_by_name_is_not_listed_as_left_out(project: Project) -> None:
    project({"bank/__init__.py": "", "bank/.env": "K=1", "bank/secrets.ini": ""})
    exporter = PackageExporter(io.BytesIO(), policy="auto", prove=False)
    exporter.save_module("bank")
    exporter.save_binary("bank", ".env", b"K=2")
    exporter.exclude_data("bank/secrets.ini")
    plan = exporter.plan()
    assert plan.left_out == ()
    assert [entry.name for entry in plan.entries if entry.kind == "resource"] == ["bank/.env"]


def test_data_that_nothing_names_in_a_package_that_nothing_imports_is_listed(project: Project) -> None:
    project(
        {"net/__init__.py": "", "net/tests/__init__.py": "", "net/tests/a.csv": "1,2", "net/tests/t.py": ""}
    )
    plan = planned("net")
    assert plan.data_files == ()
    assert "    net/tests/a.csv  3 B  nothing names it, nor imports its package\n" in str(plan)
    assert plan.concerns() == ""


def test_a_file_relative_to_the_working_directory_is_named(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = project(
        {
            "stock.py": "def read():\n    return open('data/prices.csv')\ndef old():\n    open('gone.csv')\n",
            "data/prices.csv": "1",
        }
    )
    monkeypatch.chdir(folder)
    plan = planned("stock")
    assert plan.data_files == ()
    (problem,) = plan.problems
    assert (problem.reason, problem.subject) == (
        "File that code opens has no place in an archive.",
        "data/prices.csv",
    )
    assert problem.context == (
        "stock.py:2 names data/prices.csv, which is here in the working directory, and is not stored: open "
        'it by os.path.join(os.path.dirname(__file__), "data", "prices.csv"), and it goes along. Where '
        "nothing that is loaded opens it, leave it out by name"
    )
    exporter = PackageExporter(io.BytesIO(), policy="auto", prove=False)
    exporter.save_module("stock")
    exec(problem.fix)
    assert (exporter.plan().problems, exporter.plan().warnings) == ((), ())


@pytest.mark.parametrize(
    "code",
    [
        "PATH = 'w.csv'\ndef read(): return open(PATH).read()",
        "def read(path='w.csv'): return open(path).read()",
        "class Words:\n    path = 'w.csv'\n    def read(self): return np.loadtxt(self.path)",
        "from pathlib import Path\ndef read():\n    for one in ('w.csv',):\n        Path(one).read_text()",
        "def read(*, path='w.csv'):\n    file = path\n    with open(file, 'rb') as one: return one.read()",
    ],
)
def test_a_file_that_code_opens_by_another_name_is_a_problem(
    project: Project, monkeypatch: pytest.MonkeyPatch, code: str
) -> None:
    monkeypatch.chdir(project({"stock.py": code, "w.csv": "1"}))
    plan = planned("stock")
    assert [one.subject for one in plan.problems] == ["w.csv"]


@pytest.mark.parametrize(
    "code",
    [
        "def write(): return open('w.csv', 'w')",
        "def write(path='w.csv'): return open(path, mode='ab')",
        "def is_ours(name): return name == 'w.csv'",
        "NAMES = {'vocab_file': 'w.csv'}\nclass Words:\n    def read(self): return open(self.path)",
    ],
)
def test_a_file_that_code_names_and_does_not_open_is_a_warning(
    project: Project, monkeypatch: pytest.MonkeyPatch, code: str
) -> None:
    monkeypatch.chdir(project({"stock.py": code, "w.csv": "1"}))
    plan = planned("stock")
    assert (plan.problems, len(plan.warnings)) == ((), 1)
    assert "names w.csv, which is here in the working directory, and is not stored" in plan.warnings[0]


@pytest.mark.parametrize(
    "code",
    [
        "from pathlib import Path\nWORDS = Path('words')\ndef read(name): return (WORDS / name).open()",
        "import os\ndef read(kind): return open(os.path.join('words', kind))",
        "from pathlib import Path\nclass Words:\n    def read(self): return [*Path('words').glob('*.csv')]",
    ],
)
def test_a_folder_of_the_working_directory_that_code_opens_files_in_is_a_problem(
    project: Project, monkeypatch: pytest.MonkeyPatch, code: str
) -> None:
    monkeypatch.chdir(project({"stock.py": code, "words/en.csv": "1"}))
    (problem,) = planned("stock").problems
    assert problem.subject == "words/**"
    assert "names folder words, which is here in the working directory, and is not stored: open" in (
        problem.context
    )
    assert 'os.path.join(os.path.dirname(__file__), "words"), and it goes along' in problem.context
    exporter = PackageExporter(io.BytesIO(), policy="auto", prove=False)
    exporter.save_module("stock")
    exec(problem.fix)
    assert (exporter.plan().problems, exporter.plan().warnings) == ((), ())


@pytest.mark.parametrize(
    "code",
    [
        "from pathlib import Path\ndef write(): (Path('words') / 'x').write_text('')",
        "def take(batch): return batch['words'], open(batch['path'])",
        "from pathlib import Path\ndef read(): return (Path('gone') / 'x').read_text()",
    ],
)
def test_a_folder_that_nothing_is_read_from_is_not_told(
    project: Project, monkeypatch: pytest.MonkeyPatch, code: str
) -> None:
    monkeypatch.chdir(project({"stock.py": code, "words/en.csv": "1"}))
    plan = planned("stock")
    assert (plan.problems, plan.warnings) == ((), ())


BESIDE = "import os\ndef read(): return open(os.path.join(os.path.dirname(__file__), 'words.csv'))\n"


@pytest.mark.parametrize(
    ("code", "is_told"),
    [
        ("def names(): return open('words.csv')", True),
        ("from pathlib import Path\nFILE = Path('words.csv')\ndef names(): return FILE.read_text()", True),
        ("import numpy as np\ndef names(): return np.loadtxt('words.csv')", True),
        ("from place import HERE\ndef names(): return open(HERE + 'words.csv')", False),
        ("from place import HERE\ndef names(): return (HERE / 'words.csv').read_text()", False),
        ("def names(read): return read('words.csv')", False),
    ],
)
def test_a_file_that_goes_along_and_is_opened_by_the_working_directory_is_a_warning(
    project: Project, monkeypatch: pytest.MonkeyPatch, code: str, is_told: bool
) -> None:
    files = {"beside.py": BESIDE, "stock.py": f"import beside\n{code}\n", "words.csv": "1"}
    monkeypatch.chdir(project({**files, "place.py": "HERE = '/'\n"}))
    plan = planned("stock")
    assert [file.name for file in plan.data_files] == ["words.csv"]
    told = [one for one in plan.warnings if "opened relative to it: it goes along" in one]
    assert (plan.problems, len(plan.warnings), len(told)) == ((), is_told, is_told)


def test_a_file_beside_the_code_that_is_named_by_a_way_around_is_a_problem_with_the_way(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = READ + "def names(): return open(os.path.normpath(HERE + '/../conf/names.csv')).read()\n"
    folder = project({"conf/local.py": code, "conf/names.csv": "a,b"})
    monkeypatch.syspath_prepend(folder / "conf")
    (problem,) = planned("local").problems
    assert problem.context.startswith(
        f"local.py:3 names conf/names.csv, which lies in {folder}, above the top-level packages, and is not "
        'stored: open it by os.path.join(os.path.dirname(__file__), "names.csv"), and it goes along.'
    )


@pytest.mark.parametrize("opened", ["(ROOT / 'config' / 'a.txt')", "Path(f'{ROOT}/config/a.txt')"])
def test_a_file_above_the_top_level_packages_is_named(
    project: Project, monkeypatch: pytest.MonkeyPatch, opened: str
) -> None:
    folder = project(
        {
            "src/fern/__init__.py": "",
            "src/fern/m.py": (
                "from pathlib import Path\nROOT = Path(__file__).resolve().parents[2]\n"
                f"def read(): return {opened}.read_text()\n"
            ),
            "config/a.txt": "A",
        }
    )
    monkeypatch.syspath_prepend(folder / "src")
    plan = planned("fern.m")
    (problem,) = plan.problems
    assert problem.context == (
        f"fern/m.py:3 names config/a.txt, which lies in {folder}, above the top-level packages, and is not "
        "stored: move it into a package, and open it from there. Where nothing that is loaded opens it, "
        "leave it out by name"
    )


def test_two_files_that_would_lie_at_one_path_are_a_problem(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "from pathlib import Path\nPATH = Path(__file__).parent / 'cfg.txt'\n"
    folder = project(
        {"a/one.py": text, "a/cfg.txt": "A", "b/two.py": f"import one\n{text}", "b/cfg.txt": "B"}
    )
    monkeypatch.syspath_prepend(folder / "a")
    monkeypatch.syspath_prepend(folder / "b")
    (problem,) = planned("two").problems
    assert problem.subject == "cfg.txt"
    assert sorted(problem.context.split(": ")[0].split(", and ")) == [
        f"one.py:2 names {folder}/a/cfg.txt",
        f"two.py:3 names {folder}/b/cfg.txt",
    ]
    assert problem.context.endswith(": both would lie at cfg.txt; give one of them another name")


def test_a_file_with_a_computed_name_in_a_package_that_nothing_imports_comes_along(project: Project) -> None:
    """Not so those of tests, which the listing of what is left out names."""
    tree = {
        "kit/__init__.py": READ + "def read(*names): return open(os.path.join(HERE, *names))\n",
        "kit/langs/__init__.py": "",
        "kit/langs/fr.json": "oui",
        "kit/tests/__init__.py": "",
        "kit/tests/big.csv": "1",
    }
    project(tree)
    plan = planned("kit")
    assert [file.name for file in plan.data_files] == ["kit/langs/fr.json"]
    assert [file.name for file in plan.left_out] == ["kit/tests/big.csv"]


def test_what_is_hidden_in_a_folder_that_code_names_stays_out(project: Project) -> None:
    project(
        {
            "lamp.py": READ + "def read(n): return open(os.path.join(HERE, 'runs', n))\n",
            "runs/a.bin": "x",
            "runs/.DS_Store": "x",
            "runs/.old/b.bin": "x",
        }
    )
    plan = planned("lamp")
    assert [file.name for file in plan.data_files] == ["runs/a.bin"]
    assert [file.name for file in plan.left_out] == ["runs/.DS_Store"]


def test_a_large_folder_is_named_and_not_stored(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    from packager.graph import project_files

    monkeypatch.setattr(project_files, "LARGEST_FOLDER", 1000)
    project(
        {
            "lamp.py": READ + "def read(n): return open(os.path.join(HERE, 'runs', n))\n",
            "runs/a.bin": "x" * 600,
            "runs/b/c.bin": "x" * 600,
        }
    )
    plan = planned("lamp")
    assert plan.data_files == ()
    (problem,) = plan.problems
    assert problem.context == (
        "lamp.py:3 names folder runs, which is not stored: 1.2 KiB in 2 files. Name the files that are "
        "needed, or store them with save_binary. Where nothing that is loaded opens it, leave it out by name"
    )
    exporter = PackageExporter(io.BytesIO(), policy="auto", prove=False)
    exporter.save_module("lamp")
    exec(problem.fix)
    assert (exporter.plan().problems, exporter.plan().warnings) == ((), ())
