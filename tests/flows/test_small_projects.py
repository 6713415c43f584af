"""Small projects as people write them: each exports at the first try, and answers the same elsewhere.

Elsewhere is an empty folder, and a site with the required externs of the archive and with nothing else.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from fixtures.real_packages.projects import Place, Project, read_projects, required_externs, site_with
from packager import PackageImporter
from tests import processes

pytestmark = pytest.mark.processes(share=3)

PROJECTS = read_projects()


@pytest.mark.parametrize("project", PROJECTS, ids=lambda project: project.name)
def test_a_project_exports_at_the_first_try_and_answers_the_same_where_it_is_not(
    project: Project, tmp_path: Path
) -> None:
    if "import yaml" in "".join(project.files.values()):
        pytest.importorskip("yaml")
    place = Place(tmp_path, processes.run)
    answer, _ = place.export(project)
    assert answer == project.answer
    own = [place.here / name for name in project.path]
    site = site_with(required_externs(place.file).values(), tmp_path / "site", own)
    answer, equal, modules = place.load(project.load, site)
    assert answer == project.answer
    assert equal
    assert modules != []
    with PackageImporter(place.file) as importer:
        entries = {Path(entry.name).name for entry in importer.manifest.entries}
    assert entries & {project.script, "prepare.py", "pyproject.toml"} == set()
    assert ("__main__.py" in entries) == ("class " in project.files[project.script])


def test_forty_projects_are_tried() -> None:
    assert len(PROJECTS) == 40


def test_each_project_says_in_a_line_what_it_is() -> None:
    assert [project.name for project in PROJECTS if not project.purpose.endswith(".")] == []
    assert len({project.purpose for project in PROJECTS}) == len(PROJECTS)
