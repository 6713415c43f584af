"""Entry points of the project's own distribution go along and are found where it loads; others are asked."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from packager import PackageExporter, PackageImporter

pytestmark = pytest.mark.processes(share=3)

Project = Callable[[Mapping[str, str]], Path]

INIT = """
from importlib.metadata import entry_points
def load(name):
    [point] = entry_points(group="sieves.kinds", name=name)
    return point.load(), point.dist.version, sorted(one.name for one in entry_points(group="sieves.kinds"))
def scripts():
    return len(entry_points().select(group="console_scripts")), entry_points(group="sieves.none")
"""
POINTS = "[sieves.kinds]\nfine = sieves.fine:Fine.make\ncoarse = sieves.coarse\n"


@pytest.fixture
def site(project: Project) -> Path:
    """Install `sieves` as pip does from a folder, on the path alone."""
    return project(
        {
            "sieves/__init__.py": INIT,
            "sieves/fine.py": "class Fine:\n    @classmethod\n    def make(cls): return 'fine'\n",
            "sieves/coarse.py": "",
            "sieves-2.1.dist-info/METADATA": "Metadata-Version: 2.1\nName: sieves\nVersion: 2.1\n",
            "sieves-2.1.dist-info/RECORD": "sieves/__init__.py,,\nsieves/fine.py,,\nsieves/coarse.py,,\n",
            "sieves-2.1.dist-info/direct_url.json": json.dumps({"url": "file:///sieves", "dir_info": {}}),
            "sieves-2.1.dist-info/entry_points.txt": POINTS,
        }
    )


def test_the_projects_plugins_go_along_and_are_found_in_the_archive(site: Path) -> None:
    buffer = io.BytesIO()
    exporter = PackageExporter(buffer, policy="auto", prove=False)
    exporter.save_module("sieves")
    assert exporter.interned_modules() == ["sieves", "sieves.coarse", "sieves.fine"]
    assert "\n    sieves.fine (sieves/__init__.py:4)\n" in str(exporter.why("sieves.fine"))
    asked = sorted(question.text for question in exporter.plan().questions)
    assert asked == ['entry_points(group="sieves.none")']
    for question in exporter.plan().questions:
        exporter.answer(question.id, "none")
    exporter.close()
    with PackageImporter(buffer) as importer:
        sieves = importer.import_module("sieves")
        make, version, names = sieves.load("fine")
        assert (make(), version, names) == ("fine", "2.1", ["coarse", "fine"])
        assert make.__self__ is importer.import_module("sieves.fine").Fine
        assert sieves.load("coarse")[0] is importer.import_module("sieves.coarse")
        assert sieves.scripts()[0] > 0
        assert list(sieves.scripts()[1]) == []


OTHER = {
    "mesh/__init__.py": "",
    "mesh/wide.py": "class Wide: pass\n",
    "mesh-0.3.dist-info/METADATA": "Metadata-Version: 2.1\nName: mesh\nVersion: 0.3\n",
    "mesh-0.3.dist-info/RECORD": "mesh/__init__.py,,\nmesh/wide.py,,\n",
    "mesh-0.3.dist-info/direct_url.json": json.dumps({"url": "file:///mesh", "dir_info": {}}),
    "mesh-0.3.dist-info/entry_points.txt": "[sieves.kinds]\nwide = mesh.wide:Wide\n",
}


@pytest.mark.parametrize(
    "look",
    [
        'entry_points().select(group="sieves.kinds")',
        "entry_points().select(name='wide', group='sieves.kinds')",
        'entry_points(group="sieves.kinds")',
        "entry_points(group=GROUP)",
        "entry_points().select(group=GROUP)",
        "entry_points().select(group=names.KINDS, name='wide')",
        "entry_points(group=sieves.names.KINDS)",
        "pkg_resources.iter_entry_points(GROUP)",
    ],
)
def test_plugins_of_another_distribution_of_the_project_are_asked_by_name(
    site: Path, project: Project, look: str
) -> None:
    project(OTHER)
    code = (
        "from importlib.metadata import entry_points\nimport sieves.names\nfrom sieves import names\n"
        "GROUP: str = 'sieves.kinds'  # as pyproject.toml has it\n"
        "class pkg_resources:\n"
        "    def iter_entry_points(group): return entry_points(group=group)\n"
        f"def kinds(): return {{one.name: one.load().__name__ for one in {look}}}\n"
    )
    project({"sieves/names.py": 'KINDS = "sieves.kinds"\n'})
    (site / "sieves" / "__init__.py").write_text(code)
    buffer = io.BytesIO()
    exporter = PackageExporter(buffer, policy="auto", prove=False)
    exporter.save_module("sieves")
    exporter.save_module("sieves.fine")
    [question] = exporter.plan().questions
    assert [one.name for one in question.candidates] == ["mesh.wide"]
    _, _, paste = exporter.plan().concerns().strip().rpartition("To paste: ")
    assert paste == f'exporter.answer("{question.id}", ["mesh.wide"])'
    exec(paste)
    exporter.close()
    with PackageImporter(buffer) as importer:
        assert importer.import_module("sieves").kinds()["wide"] == "Wide"


def test_a_group_that_two_modules_name_otherwise_is_not_guessed(site: Path, project: Project) -> None:
    project(
        {**OTHER, "sieves/one.py": 'KINDS = "sieves.kinds"\n', "sieves/two.py": 'KINDS = "sieves.none"\n'}
    )
    code = (
        "from importlib.metadata import entry_points\nfrom sieves import one, two\n"
        "def kinds(): return entry_points(group=two.KINDS)\n"
    )
    (site / "sieves" / "__init__.py").write_text(code)
    exporter = PackageExporter(io.BytesIO(), policy="auto", prove=False)
    exporter.save_module("sieves")
    assert [one.name for asked in exporter.plan().questions for one in asked.candidates] == []


@pytest.mark.parametrize(
    "look",
    [
        "entry_points().select(group=GROUP)",
        "entry_points(group=GROUP)",
        "distribution('sieves').entry_points",
        "distribution(__package__).entry_points",
        "[p for d in distributions() for p in d.entry_points]",
    ],
)
def test_plugins_come_from_the_archive_however_they_are_looked_for(site: Path, look: str) -> None:
    code = f"""
from importlib.metadata import distribution, distributions, entry_points
GROUP = "sieves.kinds"
def load():
    points = {look}
    return {{point.name: point.load() for point in points if point.group == GROUP}}
"""
    (site / "sieves" / "__init__.py").write_text(code)
    buffer = io.BytesIO()
    exporter = PackageExporter(buffer, policy="auto", prove=False)
    exporter.save_module("sieves")
    assert exporter.plan().questions == ()
    exporter.close()
    (site / "sieves" / "fine.py").unlink()
    with PackageImporter(buffer) as importer:
        loaded = importer.import_module("sieves").load()
        assert loaded["fine"]() == "fine"
        assert loaded["coarse"] is importer.import_module("sieves.coarse")


@pytest.mark.parametrize(
    ("look", "named"),
    [
        ('entry_points(group="sieves.kinds")', ["grit.kind"]),
        ('distribution("grit").entry_points', ["grit.kind"]),
        ('distribution("nowhere").entry_points', []),
    ],
)
def test_plugins_of_other_distributions_are_asked_about(site: Path, look: str, named: list[str]) -> None:
    other = site / "grit-1.dist-info"
    other.mkdir()
    (other / "METADATA").write_text("Metadata-Version: 2.1\nName: grit\nVersion: 1\n")
    (other / "entry_points.txt").write_text("[sieves.kinds]\ngrit = grit.kind:Grit\n")
    code = f"from importlib.metadata import distribution, entry_points\ndef load(): return {look}\n"
    (site / "sieves" / "__init__.py").write_text(code)
    exporter = PackageExporter(io.BytesIO(), policy="auto", prove=False)
    exporter.save_module("sieves")
    [question] = exporter.plan().questions
    assert (question.text, [one.name for one in question.candidates]) == (look, named)


def test_another_name_of_a_module_in_sys_modules_is_stored_as_one(project: Project) -> None:
    project(
        {
            "tint/__init__.py": (
                "import sys\nfrom ._vendor import plain\nsys.modules[__name__ + '.six'] = plain\n"
                "from tint.six import text\n"
            ),
            "tint/_vendor/__init__.py": "",
            "tint/_vendor/plain.py": "def text(x): return str(x)\n",
            "tint/net.py": "def call():\n    from tint.six import text\n    return text(3)\n",
        }
    )
    import tint.net

    assert tint.net.call() == "3"
    buffer = io.BytesIO()
    with PackageExporter(buffer, policy="auto", prove=False) as exporter:
        exporter.save_module("tint.net")
    assert exporter.interned_modules() == [
        "tint",
        "tint._vendor",
        "tint._vendor.plain",
        "tint.net",
        "tint.six",
    ]
    with PackageImporter(buffer) as importer:
        assert importer.import_module("tint.net").call() == "3"
        plain = importer.import_module("tint._vendor.plain")
        assert importer.import_module("tint.six") is plain


def test_without_a_question_of_them_entry_points_stay_at_home(site: Path) -> None:
    exporter = PackageExporter(io.BytesIO(), policy="auto", prove=False)
    exporter.save_module("sieves.coarse")
    (site / "sieves" / "__init__.py").write_text("")
    assert [entry.name for entry in exporter.plan().entries if "dist-info" in entry.name] == [
        "sieves-2.1.dist-info/METADATA"
    ]


def test_what_a_stored_library_offers_itself_goes_along_where_it_brings_nothing_else(
    project: Project,
) -> None:
    points = OTHER["mesh-0.3.dist-info/entry_points.txt"] + "heavy = mesh.heavy\n"
    points = points.replace("sieves.kinds", "mesh.kinds")
    files = {
        **{name: text for name, text in OTHER.items() if "direct_url" not in name},
        "mesh-0.3.dist-info/entry_points.txt": points,
        "mesh/__init__.py": "from importlib.metadata import entry_points\n"
        "def kinds(): return {one.name: one.value for one in entry_points(group='mesh.kinds')}\n"
        "def wide(): return entry_points(group='mesh.kinds')['wide'].load()()\n",
        "mesh/heavy.py": "import no_library_of_that_name\n",
        "net.py": "import mesh\ndef made(): return mesh.wide(), mesh.kinds()\n",
    }
    project(files)
    buffer = io.BytesIO()
    with PackageExporter(buffer, policy="auto", prove=False) as exporter:
        exporter.intern("mesh.**")
        exporter.save_module("net")
        assert exporter.interned_modules() == ["mesh", "mesh.wide", "net"]
    with PackageImporter(buffer) as importer:
        wide, kinds = importer.import_module("net").made()
        assert type(wide) is importer.import_module("mesh.wide").Wide
        assert kinds == {"wide": "mesh.wide:Wide", "heavy": "mesh.heavy"}
