"""Modules of a project that are called `packager` or `kellet`: packed, or one line says what to do."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from packager._version import is_namesake
from tests import processes

pytestmark = pytest.mark.processes(share=3)

SCRIPT = """
import {name}

class Net:
    def __call__(self, x):
        return {name}.double(x)

def build():
    return Net()
"""
DOUBLE = "def double(x):\n    return 2 * x\n"
COMMAND = "import sys; from packager._cli import main; sys.exit(main(sys.argv[1:]))"
LOAD = """
import packager
with packager.PackageImporter("net.kellet", trust=["script:Net"]) as importer:
    print(importer.load_object("model", "model")(21))
"""


def run(folder: Path, code: str, *arguments: str) -> tuple[int, str, str]:
    """Run code as an installed command runs it: the current folder is not on its path."""
    command = [sys.executable, "-P", "-c", code, *arguments]
    done = processes.run(command, cold=True, cwd=folder, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "project").mkdir()
    return tmp_path / "project"


@pytest.mark.unix
@pytest.mark.parametrize("name", ["packager", "kellet"])
@pytest.mark.parametrize("form", ["{}.py", "{}/__init__.py"])
def test_a_module_beside_a_script_that_has_our_name_is_packed(project: Path, name: str, form: str) -> None:
    (project / "script.py").write_text(SCRIPT.format(name=name))
    module = project / form.format(name)
    module.parent.mkdir(exist_ok=True)
    module.write_text(DOUBLE)
    assert run(project, COMMAND, "export", "script:build", "-o", "net.kellet")[0] == 0
    elsewhere = project.parent / "elsewhere"
    elsewhere.mkdir()
    (project / "net.kellet").rename(elsewhere / "net.kellet")
    assert run(elsewhere, LOAD) == (0, "42\n", "")


def test_a_module_deeper_in_the_project_may_have_our_name(project: Path) -> None:
    (project / "tools").mkdir()
    (project / "tools" / "__init__.py").write_text("")
    (project / "tools" / "packager.py").write_text(DOUBLE)
    script = SCRIPT.format(name="packager").replace("import packager", "from tools import packager", 1)
    (project / "script.py").write_text(script)
    assert run(project, COMMAND, "export", "script:build", "-o", "net.kellet")[0] == 0
    assert run(project, LOAD) == (0, "42\n", "")


@pytest.mark.unix
def test_one_line_says_what_to_do_where_the_command_needs_the_name(project: Path) -> None:
    (project / "script.py").write_text("from packager import double\ndef build(): return double\n")
    (project / "packager.py").write_text(DOUBLE)
    code, out, errors = run(project, COMMAND, "export", "script:build", "-o", "net.kellet")
    assert (code, out) == (4, "")
    assert errors.splitlines()[1:] == [
        "  packager.py has the name of a package that this command needs. Give your file another name"
    ]
    assert "cannot import name 'double' from 'packager'" in errors
    code, out, _ = run(project, COMMAND, "plan", "script:build")
    assert code == 0
    assert "packager  (preset auto: project code)" in out


def test_our_packages_are_known_by_where_they_lie() -> None:
    import kellet
    import packager._cli

    assert not is_namesake("packager._cli", str(packager._cli.__file__))
    assert not is_namesake("kellet", str(kellet.__file__))
    assert is_namesake("kellet", "/srv/shop/kellet.py")
