"""Stored libraries that find their own modules by names: what a call comes to is stored."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from packager import PackageExporter
from packager._proving import ProofError
from tests import processes

pytestmark = pytest.mark.processes(share=3)

Export = Callable[..., PackageExporter]
LOAD = """
import json, sys
from packager import PackageImporter
with PackageImporter(sys.argv[1]) as importer:
    print(json.dumps(importer.load_object("model", "model")(2)))
"""
MODEL = """
    import widelib
    class Model:
        def __init__(self, kind): self.kind = kind
        def __call__(self, x): return widelib.grow(self.kind, x)
"""
KIND = "def grow(x): return x * 3\n"
FAR = "import farlib\ndef grow(x): return farlib.times(x)\n"


def answer_of(file: Path) -> Any:
    """Call the model with 2 in a fresh process that has nothing of the project."""
    command = [sys.executable, "-I", "-c", LOAD, str(file)]
    done = processes.run(command, cwd=file.parent, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    return json.loads(done.stdout)


def wide(code: str, **more: str) -> dict[str, str]:
    """Return the files of a library that holds kinds of things."""
    tree = {"widelib/__init__.py": code, "widelib/kinds/__init__.py": "", "widelib/kinds/oak.py": KIND}
    return tree | {name.replace("__", "/") + ".py": text for name, text in more.items()}


def project_of(kind: str) -> tuple[dict[str, str], str]:
    return {"shop/__init__.py": "", "shop/model.py": MODEL}, f"shop.model:Model({kind!r})"


LISTED = {
    "in a table": """
import importlib
KINDS = {"oak": ("widelib.kinds.oak", "Oak")}
def grow(kind, x): return importlib.import_module(KINDS[kind.lower()][0].strip()).grow(x)
""",
    "in arguments of a call": """
import importlib
KINDS = dict(oak="widelib.kinds.oak")
def _load(name): return __import__(name, None, None, ["grow"])
def grow(kind, x): return _load(KINDS.get(kind)).grow(x)
""",
    "with a name in it": """
import importlib
KINDS = {"oak": {"class": "widelib.kinds.oak.grow", "protocol": "oak"}}
def grow(kind, x):
    home, _, name = KINDS[kind]["class"].rpartition(".")
    return getattr(importlib.import_module(home), name)(x)
""",
    "by the package that they are in": """
import importlib
class Places:
    packages = ("widelib.kinds.", "")
    def find(self, kind):
        for package in self.packages:
            try:
                return importlib.import_module(package + kind)
            except ImportError:
                continue
def grow(kind, x): return Places().find(kind).grow(x)
""",
}


LISTED |= {
    "as its name says": """
import importlib
def grow(kind, x): return importlib.import_module(f"widelib.kinds.{kind}").grow(x)
""",
}


def called(*packages: str) -> Callable[[PackageExporter], None]:
    """Return what stores packages, and calls the model."""

    def more(exporter: PackageExporter) -> None:
        for package in packages:
            exporter.intern(f"{package}.**")
        exporter.save_example("model", {"x": 2})

    return more


@pytest.mark.parametrize("needs", [KIND, FAR], ids=["alone", "with another library"])
@pytest.mark.parametrize("code", LISTED.values(), ids=LISTED.keys())
@pytest.mark.filterwarnings("ignore::packager.PackagingWarning")  # of a rule that is not needed
def test_what_a_call_comes_to_of_a_library_is_stored(
    installed: Callable[..., Path], export: Export, tmp_path: Path, code: str, needs: str
) -> None:
    installed(
        "widelib", wide(code, widelib__kinds__oak=needs, widelib__late=KIND), version="1.0", origin=None
    )
    far = {"farlib/__init__.py": "def times(x): return x * 3\n"}
    installed("farlib", far, version="1.0", origin=None)
    exporter = export(*project_of("oak"), called("widelib", "farlib"))
    stored = exporter.interned_modules()
    assert ("widelib.kinds.oak" in stored, "farlib" in stored) == (True, needs == FAR)
    assert "widelib.late" not in stored
    assert answer_of(tmp_path / "net.kellet") == 6


IN_A_FOLDER = """
import importlib, pkgutil
from . import kinds
def grow(kind, x):
    names = [found.name for found in pkgutil.iter_modules(kinds.__path__, kinds.__name__ + ".")]
    return [importlib.import_module(name) for name in names if name.endswith(kind)][0].grow(x)
"""


def test_a_library_that_lists_its_folder_sees_what_is_stored(
    installed: Callable[..., Path], export: Export, tmp_path: Path
) -> None:
    """Of the project a listing stores modules; a library would come whole."""
    installed("widelib", wide(IN_A_FOLDER, widelib__kinds__elm=KIND), version="1.0", origin=None)
    with pytest.raises(
        ProofError, match=r"IndexError: list index out of range[\s\S]*widelib/__init__.py:6 in grow"
    ):
        export(*project_of("oak"), called("widelib"))

    def named(exporter: PackageExporter) -> None:
        exporter.save_module("widelib.kinds.oak")
        called("widelib")(exporter)

    assert "widelib.kinds.elm" not in export(*project_of("oak"), named).interned_modules()
    assert answer_of(tmp_path / "net.kellet") == 6


def test_a_library_finds_in_the_archive_what_an_object_names(
    installed: Callable[..., Path], export: Export, tmp_path: Path
) -> None:
    code = """
import importlib
def grow(kind, x): return importlib.import_module(kind.strip()).grow(x)
"""
    installed("widelib", wide(code, widelib__kinds__elm=KIND), version="1.0", origin=None)
    exporter = export(*project_of("widelib.kinds.oak"), called("widelib"))
    stored = exporter.interned_modules()
    assert ("widelib.kinds.oak" in stored, "widelib.kinds.elm" in stored) == (True, False)
    assert answer_of(tmp_path / "net.kellet") == 6


@pytest.mark.parametrize(
    ("needs", "optional"),
    [
        (FAR, False),
        ("def late():\n    import farlib\n" + KIND, True),
        ("try:\n    import farlib\nexcept ImportError:\n    pass\n" + KIND, True),
        ("def grow(x):\n    import farlib\n    return farlib.times(x)\n", False),
    ],
)
def test_what_a_served_module_leaves_to_the_target_is_required_where_it_is_missed(
    installed: Callable[..., Path], export: Export, needs: str, optional: bool
) -> None:
    files = wide(LISTED["in a table"], widelib__kinds__oak=needs)
    installed("widelib", files, version="1.0", origin=None)
    far = {"farlib/__init__.py": "def times(x): return x * 3\n"}
    installed("farlib", far, version="1.0", origin={"archive_info": {}})
    exporter = export(*project_of("oak"), called("widelib"))
    assert {one.name: one.optional for one in exporter.plan().externs}["farlib"] is optional


def test_an_extra_that_is_absent_here_is_left_out_by_the_line_to_paste_and_fails_there_as_here(
    installed: Callable[..., Path], project: Callable[[Mapping[str, str]], Path]
) -> None:
    code = """
WAYS = ["plain"]
try:
    import fastpress
    fastpress.compress(b"")
    WAYS.append("fast")
except (ImportError, AttributeError):
    pass
def late():
    import fastpress
"""
    installed("widelib", {"widelib/__init__.py": code}, version="1.0", origin=None)
    project(
        {
            "shop.py": (
                "import widelib\nclass Model:\n    def __call__(self, x): return widelib.WAYS, widelib.late\n"
            )
        }
    )
    from importlib import import_module

    rules = ['exporter.intern("widelib.**")', 'exporter.intern("shop")']
    for _ in range(2):
        exporter = PackageExporter(io.BytesIO())
        for rule in rules:
            exec(rule, {"exporter": exporter})
        exporter.save_object("model", "model", import_module("shop").Model())
        problems = exporter.plan().problems
        rules += [problem.fix for problem in problems]
    assert problems == ()
    assert rules[2:] == [
        'exporter.extern("fastpress.**")  # absent here, too: widelib/__init__.py:4 fails in the same way'
    ]
    exporter.close()


MOCKED = """
try:
    import fastpress
    fastpress.compress(b"")
except (ImportError, AttributeError):
    pass
def grow(kind, x):
    import fastpress
    return fastpress.grow(x)
"""
LAZY = """
import sys, types
NAMES = {"widelib.kinds.oak": ["grow"]}
from . import kinds
from .kinds import oak
grow = [getattr(oak, name) for name in NAMES[oak.__name__]][0]
"""


@pytest.mark.parametrize(
    ("code", "message", "fix"),
    [
        (
            MOCKED,
            "fastpress is not installed here, and code runs without it",
            'exporter.extern("fastpress.**")',
        ),
        (LAZY, "looks up widelib.kinds.oak by its `__name__`", 'exporter.extern("widelib.**")'),
    ],
    ids=["a mock that is used", "a name that has the archive's mark"],
)
@pytest.mark.filterwarnings("ignore::packager.PackagingWarning")  # of rules that are not needed any more
def test_what_a_library_cannot_do_in_an_archive_is_refused_with_the_rule_that_mends_it(
    installed: Callable[..., Path], export: Export, code: str, message: str, fix: str
) -> None:
    installed("widelib", wide(code), version="1.0", origin=None)

    def stored(exporter: PackageExporter) -> None:
        exporter.mock("fastpress.**")
        exporter.intern("widelib.**")

    tree, saved = project_of("oak")
    with pytest.raises(ProofError) as refused:
        export(tree, saved, stored)
    [problem] = refused.value.plan.problems
    assert message in problem.context
    assert problem.fix.startswith(f"{fix}  # in place of ")
    mended = export(
        tree,
        saved,
        lambda exporter: [exec(problem.fix, {"exporter": exporter}), exporter.intern("widelib.**")],
    )
    assert mended.proof is not None
    assert mended.proof.ok
