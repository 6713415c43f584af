"""What project code looks for and does not import: the answer is the same, or told, in fresh processes."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests import processes

pytestmark = pytest.mark.processes(share=2)

TOOLS = """
from importlib import metadata
from importlib.util import find_spec

BACKENDS = {"first": "here_lib", "second": "absent_lib"}


def is_here(name):
    return find_spec(name) is not None


def version_of(distribution_name):
    try:
        return metadata.version(distribution_name)
    except metadata.PackageNotFoundError:
        return None
"""
INIT = """
from .tools import BACKENDS, is_here, version_of

FOUND = {label: is_here(name) for label, name in BACKENDS.items()}
VERSIONS = {name: version_of(name) for name in ("here-lib", "asked-lib", "absent-lib")}


class Net:
    def __call__(self, x):
        return x
"""
EXPORT = """
import sys
import shelf
from packager import PackageExporter
with PackageExporter(sys.argv[1], policy="auto") as exporter:
    exporter.save_object("model", "model", shelf.Net())
"""
LOAD = """
import json, sys, warnings
from packager import PackageImporter
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    options = json.loads(sys.argv[2])
    importer = PackageImporter(sys.argv[1], undeclared=options.get("undeclared", "error"))
    if options.get("install"):
        importer.install()
    shelf = importer.import_module("shelf")
    lines = [line.strip() for one in told for line in str(one.message).splitlines()]
    print(json.dumps([shelf.FOUND, shelf.VERSIONS, [line for line in lines if "looks for" in line]]))
"""


def add_distribution(folder: Path, name: str, version: str) -> None:
    """Write an installed distribution of one empty module."""
    module = name.replace("-", "_")
    info = folder / "site-packages" / f"{module}-{version}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n", "utf-8")
    (info / "RECORD").write_text(f"{module}.py,,\n{info.name}/METADATA,,\n", "utf-8")
    (info.parent / f"{module}.py").write_text("", "utf-8")


def run(program: str, *arguments: object, paths: list[Path], cache: Path) -> str:
    start = f"import os, sys\nsys.path[:0] = {[str(path) for path in paths]!r}\n"
    start += f"os.environ['KELLET_CACHE'] = {str(cache)!r}\n"
    command = [sys.executable, "-c", start + program, *map(str, arguments)]
    done = processes.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An archive of a project that looks for two distributions that are here, and for one that is not."""
    folder = tmp_path_factory.mktemp("looking")
    (folder / "project" / "shelf").mkdir(parents=True)
    (folder / "project" / "shelf" / "tools.py").write_text(TOOLS, "utf-8")
    (folder / "project" / "shelf" / "__init__.py").write_text(INIT, "utf-8")
    for name in ("here-lib", "asked-lib"):
        add_distribution(folder / "there", name, "1.5.0")
    places = [folder / "project", folder / "there" / "site-packages"]
    run(EXPORT, folder / "shelf.kellet", paths=places, cache=folder / "cache")
    return folder / "shelf.kellet"


Load = Callable[..., Any]


@pytest.fixture
def load(archive: Path, tmp_path: Path) -> Load:
    """Load it in a process that has some distributions; return what it found, and what was told."""

    def load(installed: dict[str, str], **options: Any) -> Any:
        for name, version in installed.items():
            add_distribution(tmp_path, name, version)
        place = [tmp_path / "site-packages"]
        return json.loads(run(LOAD, archive, json.dumps(options), paths=place, cache=tmp_path / "cache"))

    return load


SAME = {"here-lib": "1.5.0", "asked-lib": "1.5.0"}
ABSENT = {"absent-lib": "0.1"}


def test_the_answer_is_the_same_and_nothing_is_told(load: Load) -> None:
    found, versions, told = load(SAME)
    assert found == {"first": True, "second": False}
    assert versions == {**SAME, "absent-lib": None}
    assert told == []


def test_what_was_absent_stays_absent_where_the_target_has_it(load: Load) -> None:
    found, versions, told = load({**SAME, **ABSENT})
    assert found == {"first": True, "second": False}
    assert versions == {**SAME, "absent-lib": None}
    assert told == []


@pytest.mark.parametrize(
    ("installed", "says"), [({"asked-lib": "1.5.1"}, "asked-lib 1.5.1"), ({}, "asked-lib absent")]
)
def test_another_version_and_what_is_gone_are_told_before_code_runs(
    load: Load, installed: dict[str, str], says: str
) -> None:
    _, versions, told = load({"here-lib": "1.5.0", **installed})
    assert versions == {"here-lib": "1.5.0", "asked-lib": installed.get("asked-lib"), "absent-lib": None}
    assert told == [f"what the code looks for: recorded asked-lib 1.5.0, found {says}"]


@pytest.mark.parametrize("options", [{"undeclared": "allow"}, {"install": True}], ids=str)
def test_outside_of_isolation_what_was_absent_is_told_where_it_is_there(
    load: Load, options: dict[str, Any]
) -> None:
    found, versions, told = load({**SAME, **ABSENT}, **options)
    assert found == {"first": True, "second": True}
    assert versions == {**SAME, **ABSENT}
    recorded = "absent-lib absent, module absent_lib absent"
    assert told == [
        f"what the code looks for: recorded {recorded}, found absent-lib 0.1, module absent_lib there"
    ]


def test_many_are_told_in_one_line(tmp_path: Path) -> None:
    names = [f"lib-{number}" for number in range(40)]
    project = tmp_path / "project" / "shelf"
    project.mkdir(parents=True)
    looks = f"from importlib.metadata import version\nfor name in {names!r}:\n    version(name)\n"
    project.joinpath("__init__.py").write_text(f"{looks}class Net:\n    pass\n", "utf-8")
    for name in names:
        add_distribution(tmp_path / "there", name, "2.0")
    places = [tmp_path / "project", tmp_path / "there" / "site-packages"]
    run(EXPORT, tmp_path / "shelf.kellet", paths=places, cache=tmp_path / "cache")
    load = """
import sys, warnings
from packager import PackageImporter
warnings.simplefilter("always")
try:
    PackageImporter(sys.argv[1], environment="error")
except Exception as error:
    print(error)
"""
    said = run(load, tmp_path / "shelf.kellet", paths=[], cache=tmp_path / "cache")
    (line,) = [one for one in said.splitlines() if "lib-" in one]
    recorded = "lib-0 2.0, lib-1 2.0, lib-10 2.0, lib-11 2.0, lib-12 2.0 and 35 more"
    found = recorded.replace("2.0", "absent")
    assert line.strip() == f"what the code looks for: recorded {recorded}, found {found}"


BAD = {
    "no map": [],
    "another key": {"distributions": {}, "modules": [], "files": []},
    "a version that is none": {"distributions": {"x": "1 --index-url y"}, "modules": []},
    "a name that is none": {"distributions": {"-r x": "1"}, "modules": []},
    "a module that is none": {"distributions": {}, "modules": ["a b"]},
}


@pytest.mark.parametrize("recorded", BAD.values(), ids=BAD)
def test_what_no_exporter_writes_is_refused(recorded: object) -> None:
    from packager._environment import RecordedProbes
    from packager.errors import ArchiveError

    with pytest.raises(ArchiveError, match=r"^manifest, environment, probes: found .*; expected "):
        RecordedProbes.of(recorded)


BRANCHES = """
try:
    import here_lib as impl
except ImportError:
    from . import plain as impl
from importlib.util import find_spec
if find_spec("here_lib") is not None:
    from .quick import WAY
else:
    from .slow import WAY


class Net:
    def __call__(self, x):
        return [WAY, impl.__name__.rpartition(".")[2]]
"""


@pytest.mark.parametrize(("there", "answer"), [(True, ["quick", "here_lib"]), (False, ["slow", "plain"])])
def test_the_branch_that_was_not_taken_runs_where_the_library_is_not(
    tmp_path: Path, there: bool, answer: list[str]
) -> None:
    project = tmp_path / "project" / "shelf"
    project.mkdir(parents=True)
    files = {"__init__": BRANCHES, "quick": "WAY = 'quick'\n", "slow": "from .steps import WAY\n"}
    for name, text in {**files, "steps": "WAY = 'slow'\n", "plain": ""}.items():
        project.joinpath(f"{name}.py").write_text(text, "utf-8")
    add_distribution(tmp_path / "there", "here-lib", "1.5.0")
    library = tmp_path / "there" / "site-packages"
    path = tmp_path / "shelf.kellet"
    run(EXPORT, path, paths=[tmp_path / "project", library], cache=tmp_path / "cache")
    load = """
import json, sys, warnings
from packager import PackageImporter
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    with PackageImporter(sys.argv[1]) as importer:
        print(json.dumps([importer.load_object("model", "model")(1), len(told)]))
"""
    said = json.loads(run(load, path, paths=[library] if there else [], cache=tmp_path / "cache"))
    assert said == [answer, 0 if there else 1]
