"""`__import__` in every documented form stays inside the archive, with another version installed beside.

All forms run in one fresh process, where the installed package is imported first; each is a test of its own.
"""

import json
import sys
import textwrap
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from packager import PackageExporter
from packager.errors import UndeclaredImportError
from tests import processes
from tests.tables import one_test

# What packaged code evaluates, and what it must find. `other` is a module of the archive, `HERE` its globals.
INSIDE = {
    "positional, empty list": "__import__('twice', globals(), locals(), [], 0).version",
    "positional, empty tuple": "__import__('twice', globals(), locals(), (), 0).version",
    "positional, None": "__import__('twice', globals(), locals(), None, 0).version",
    "positional, names": "__import__('twice', globals(), locals(), ['version'], 0).version",
    "positional, an empty name": "__import__('twice', globals(), locals(), [''], 0).version",
    "positional, star": "__import__('twice', globals(), locals(), ['*'], 0).version",
    "name alone": "__import__('twice').version",
    "keywords": "__import__(name='twice', globals=globals(), locals=None, fromlist=[], level=0).version",
    "no globals": "__import__('twice', None, None, [], 0).version",
    "empty globals": "__import__('twice', {}, {}, [], 0).version",
    "globals of another module": "__import__('twice', vars(json), vars(json), [], 0).version",
    "globals and locals alike": "__import__('twice', HERE, HERE, [], 0).version",
    "dotted, empty list": "__import__('twice.part', globals(), locals(), [], 0).version",
    "dotted, names": "__import__('twice.part', globals(), locals(), ['version'], 0).version",
    "submodule by name": "__import__('twice', globals(), locals(), ['part'], 0).part.version",
    "level 1": "__import__('part', globals(), locals(), ['version'], 1).version",
    "level 1, empty list": "__import__('part', globals(), locals(), [], 1).version",
    "level 1, true package": "__import__('part', {'__package__': 'twice'}, None, ['version'], 1).version",
    "level 1, true name": "__import__('part', {'__name__': 'twice.x'}, None, ['version'], 1).version",
    "level 1, package itself": "__import__('part', {'__name__': 'twice', '__path__': 0}, {}, (), 1).version",
    "level 2": "__import__('part', {'__package__': 'twice.deep'}, None, ['version'], 2).version",
    "builtins": "builtins.__import__('twice', globals(), locals(), [], 0).version",
    "from builtins": "from_builtins('twice', globals(), locals(), [], 0).version",
    "builtins by name": "importlib.import_module('builtins').__import__('twice').version",
    "builtins in sys.modules": "sys.modules['builtins'].__import__('twice').version",
    "importlib": "importlib.__import__('twice', globals(), locals(), [], 0).version",
    "importlib by name": "__import__('importlib', globals(), locals(), [], 0).import_module('twice').version",
    "importlib in sys.modules": "sys.modules['importlib'].import_module('twice').version",
    "import_module": "importlib.import_module('twice').version",
    "import_module, package": "importlib.import_module('.part', package='twice').version",
    "import_module, own package": "importlib.import_module('.part', __package__).version",
    "__builtins__, attribute": "__builtins__.__import__('twice', globals(), locals(), [], 0).version",
    "__builtins__, item": "__builtins__['__import__']('twice', globals(), locals(), [], 0).version",
    "__builtins__, getattr": "getattr(__builtins__, '__import__')('twice', HERE, {}, [], 0).version",
    "__builtins__, attrgetter": (
        "operator.attrgetter('__import__')(__builtins__)('twice', None, None, [], 0).version"
    ),
    "alias": "alias('twice', globals(), locals(), [], 0).version",
    "partial": "functools.partial(__import__, 'twice', HERE, HERE)([], 0).version",
    "map": "next(map(__import__, ['twice'], [HERE], [HERE], [[]], [0])).version",
    "fresh globals": "eval(\"__import__('twice', globals(), locals(), [], 0).version\", {})",
    "fresh globals, builtins": (
        "eval(\"__import__('twice', globals(), locals(), [], 0).version\", {'__builtins__': builtins})"
    ),
    "fresh globals, __builtins__": (
        "eval(\"__import__('twice', globals(), locals(), [], 0).version\", {'__builtins__': __builtins__})"
    ),
    "exec": 'executed("import twice.part as p; version = p.version", {})',
    "made module": "executed('from . import part; version = part.version', {'__package__': 'twice'})",
}
# Those that mean the module `twice.part`; a dotted name without `fromlist` gives the package.
PARTS = {name for name in INSIDE if name.startswith("level")} | {
    "dotted, names", "submodule by name", "import_module, package", "import_module, own package",
    "exec", "made module",
}  # fmt: skip
OUTSIDE = {
    "empty list": "__import__('apart', globals(), locals(), [], 0)",
    "keywords": "__import__(name='apart', fromlist=[], level=0)",
    "dotted": "__import__('apart.sub', globals(), globals(), [], 0)",
    "builtins": "builtins.__import__('apart')",
    "importlib": "importlib.__import__('apart', None, None, [])",
    "import_module": "importlib.import_module('apart')",
    "fresh globals": "eval(\"__import__('apart', globals(), globals(), [], 0)\", {})",
    "partial": "functools.partial(__import__, 'apart', fromlist=[])()",
}
ASKING = """
import builtins, functools, importlib, json, operator, sys
from builtins import __import__ as from_builtins
alias = __import__
HERE = globals()

def executed(text, names):
    exec(text, names)
    return names["version"]

def ask(form):
    try:
        return eval(compile(form, "<form>", "eval"))
    except Exception as error:
        return f"{type(error).__name__}: {error}"
"""
PROGRAM = """
import json, sys
sys.path.insert(0, sys.argv[1])
import twice.part, apart
assert twice.version == "installed"
from packager import PackageImporter
with PackageImporter(sys.argv[2]) as importer:
    ask = importer.import_module("twice.asking").ask
    print(json.dumps({form: ask(form) for form in json.load(sys.stdin)}, default=str))
"""


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, str]:
    """What every form answers, in a process where other versions can be imported."""
    folder = tmp_path_factory.mktemp("beside")
    for name, text in {
        "twice/__init__.py": "version = 'installed'",
        "twice/part.py": "version = 'installed part'",
        "apart/__init__.py": "",
        "apart/sub.py": "",
    }.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    with PackageExporter(folder / "twice.kellet", policy="auto", prove=False) as exporter:
        exporter.save_source_string("twice", "version = 'stored'", is_package=True)
        exporter.save_source_string("twice.part", "version = 'stored part'")
        exporter.save_source_string("twice.deep", "", is_package=True)
        exporter.save_source_string("twice.asking", ASKING)
    forms = [*INSIDE.values(), *OUTSIDE.values()]
    done = processes.run(
        [sys.executable, "-c", PROGRAM, str(folder), str(folder / "twice.kellet")],
        input=json.dumps(forms),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found: Mapping[str, str] = json.loads(done.stdout)
    return found


@one_test
@pytest.mark.parametrize("name", INSIDE)
def test_every_form_gives_the_archives_module(answers: Mapping[str, str], name: str) -> None:
    assert answers[INSIDE[name]] == ("stored part" if name in PARTS else "stored")


@pytest.mark.parametrize("form", OUTSIDE.values(), ids=OUTSIDE)
def test_every_form_refuses_a_module_that_is_not_stored(answers: Mapping[str, str], form: str) -> None:
    assert answers[form].startswith("UndeclaredImportError: packaged code imports 'apart")


def test_c_code_that_imports_for_itself_is_left_alone(pack: Callable[..., object], tmp_path: Path) -> None:
    """`pickle` imports what a pickle names, and looks for it under that very name."""
    loaded = pack({"cpkg/__init__.py": "import pickle\ndef load(data):\n    return pickle.loads(data)"})
    load = loaded.module("cpkg").load  # type: ignore[attr-defined]  # the fixture's own class
    assert load(b"cwave\nopen\n.") is __import__("wave").open
    assert load(b"cnumpy\nndarray\n.") is __import__("numpy").ndarray  # not declared by the archive


@pytest.mark.filterwarnings("ignore::ImportWarning")  # Python's own, for globals without a package
def test_wrong_arguments_are_told_as_python_tells_them(pack: Callable[..., object]) -> None:
    loaded = pack({"argpkg/__init__.py": "def call(*args, **more):\n    return __import__(*args, **more)"})
    call = loaded.module("argpkg").call  # type: ignore[attr-defined]  # the fixture's own class
    for args in (
        (None,),
        (b"argpkg",),
        ("",),
        ("x", {}, {}, (), -1),
        ("x", {}, {}, (), 1),
        ("x", None, None, (), 1),
        ("x", {"__package__": 3}, {}, (), 1),
    ):
        with pytest.raises((TypeError, ValueError, ImportError, KeyError)) as expected:
            __import__(*args)
        with pytest.raises(expected.type) as caught:
            call(*args)
        assert str(caught.value) == str(expected.value)


def test_builtins_of_packaged_code_are_a_dict_and_a_module(pack: Callable[..., object]) -> None:
    loaded = pack(
        {
            "bltpkg/__init__.py": textwrap.dedent("""
                import builtins, copy
                builtins.bltpkg_word = 3
                word, absent = bltpkg_word, __builtins__.get("bltpkg_absent", "none")
                del builtins.bltpkg_word
                gone = not hasattr(builtins, "bltpkg_word") and "bltpkg_word" not in __builtins__
                same = __builtins__["len"] is len is __builtins__.len is builtins.len
                names = {**__builtins__}.keys() >= {"print", "__import__"} and len(__builtins__) > 100
                copied = copy.deepcopy({"b": __builtins__})["b"] is __builtins__
                own = builtins.__import__ is __import__ is __builtins__.__import__
            """)
        }
    )
    module = loaded.module("bltpkg")  # type: ignore[attr-defined]  # the fixture's own class
    assert (module.word, module.absent) == (3, "none")
    assert (module.gone, module.same, module.names, module.copied, module.own) == (True,) * 5


def test_a_package_that_replaces_import_replaces_its_own_alone(pack: Callable[..., object]) -> None:
    before = __import__
    loaded = pack(
        {
            "ownpkg/__init__.py": (
                "import builtins\nasked = []\nplain = builtins.__import__\n"
                "def noting(name, *more):\n    asked.append(name)\n    return plain(name, *more)\n"
                "builtins.__import__ = noting\nimport json"
            )
        }
    )
    assert loaded.module("ownpkg").asked == ["json"]  # type: ignore[attr-defined]  # the fixture's own class
    assert __import__ is before


def test_an_import_in_a_function_of_an_undeclared_module_names_it(pack: Callable[..., object]) -> None:
    loaded = pack({"undpkg/__init__.py": "def late(): return __import__('numpy', globals(), {}, [], 0)"})
    with pytest.raises(UndeclaredImportError, match="packaged code imports 'numpy', but 'numpy' is not in"):
        loaded.module("undpkg").late()  # type: ignore[attr-defined]  # the fixture's own class
