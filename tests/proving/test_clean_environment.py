"""Clean means clean: what a target would not have is not there, and what it would have is."""

from __future__ import annotations

import os
import sys
import textwrap

import pytest

from packager import PackageExporter
from packager._proving import (
    Effect,
    Proof,
    ProofError,
    ProofFailure,
    ProofFrame,
    clean_process,
    conversation,
)
from packager.errors import ArgumentError, PackagingWarning
from tests import processes
from tests.proving.answering import opened


def proved(tmp_path, **options):
    """Export the module `probe`, which is imported there, and return the exporter."""
    exporter = PackageExporter(tmp_path / "probe.kellet", policy="auto", **options)
    exporter.save_module("probe")
    return exporter


def said_there(project, tmp_path, code, more=lambda exporter: None, **files):
    """Return what the module `probe` says there, by an error whose text it is."""
    text = textwrap.dedent(code)
    project({"probe.py": f"{text}\nraise ValueError(said)\n", **files})
    exporter = proved(tmp_path)
    more(exporter)
    with pytest.raises(ProofError) as caught:
        exporter.close()
    [problem] = caught.value.problems
    return problem.context.split("\n")[0].removeprefix("ValueError: ")


def test_no_folder_of_the_project_is_on_the_path(project, tmp_path):
    said = said_there(project, tmp_path, "import sys\nsaid = '\\n'.join(sys.path)")
    folders = said.replace("\\n", "\n").split("\n")
    assert folders
    assert [folder for folder in folders if folder.startswith(str(tmp_path))] == []
    assert os.getcwd() not in folders


def test_the_working_directory_is_empty_and_no_option_of_python_gets_through(project, tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    code = "import os, sys\nsaid = f'{os.listdir()} {os.environ.get(\"PYTHONPATH\")} {sys.argv} {__name__}'"
    assert said_there(project, tmp_path, code).startswith("[] None [''] probe")


def test_a_stored_package_that_is_installed_is_hidden(project, tmp_path):
    code = """
        import importlib.util
        import sys
        import autograd

        found = [finder for finder in sys.meta_path if type(finder).__name__ == "HiddenModules"]
        try:
            found[0].find_spec("autograd.numpy")
        except ModuleNotFoundError as error:
            said = f"{autograd.__name__} {error}"
    """
    said = said_there(project, tmp_path, code, lambda one: one.intern("autograd.**"))
    assert said == (
        "autograd No module named 'autograd.numpy': 'autograd' is stored in the archive, and no other "
        "package provides it"
    )


def test_an_extern_reaches_for_a_stored_package_in_vain(project, tmp_path):
    files = {"outer.py": "import inner\n", "inner.py": "x = 1\n"}
    project({"probe.py": "import inner\nimport outer\n", **files})
    exporter = proved(tmp_path)
    exporter.extern("outer")
    with pytest.raises(ProofError, match="No module named 'inner': 'inner' is stored in the archive"):
        exporter.close()


@pytest.mark.filterwarnings("ignore::packager.errors.PackagingWarning")
def test_an_extern_of_the_projects_folder_is_found_where_it_was(project, tmp_path):
    project({"probe.py": "import outer\nassert outer.x == 1\n", "outer.py": "x = 1\n"})
    exporter = proved(tmp_path)
    exporter.extern("outer")
    exporter.close()
    assert exporter.proof.ok


@pytest.mark.filterwarnings("ignore::packager.errors.PackagingWarning")
def test_an_extern_of_the_projects_folder_finds_its_neighbours(project, tmp_path):
    files = {"outer.py": "from beside import deep\nx = deep.x\n", "beside/__init__.py": "", "never.py": ""}
    project({"probe.py": "import outer\nassert outer.x == 1\n", **files})
    (tmp_path / "project" / "beside" / "deep.py").write_text("import further\nx = further.x\n")
    (tmp_path / "project" / "further.py").write_text("x = 1\n")
    exporter = proved(tmp_path)
    exporter.extern("outer")
    exporter.close()
    assert exporter.proof.ok


def test_what_an_editable_install_adds_is_not_there(tmp_path, link_environment):
    """With `-I` Python still runs the .pth files of site-packages; this one adds a finder and a folder."""
    venv = tmp_path / "venv"
    python = link_environment(venv, ours=True)
    [site] = venv.glob("lib/python*/site-packages")
    project = tmp_path / "project"
    project.mkdir()
    look = "import sys, helper_module\nassert 'ditable' not in str(sys.meta_path)\n"
    look += "assert 'project' not in str(sys.path)\n"
    (project / "probe.py").write_text(look, encoding="utf-8")
    (project / "helper_module.py").write_text("", encoding="utf-8")
    (site / "editable.pth").write_text(str(project), encoding="utf-8")
    (site / "__editable___probe_finder.py").write_text(
        textwrap.dedent(f"""
            import importlib.util, sys

            class Finder:
                @classmethod
                def find_spec(cls, name, path=None, target=None):
                    if name == "helper_module":
                        return importlib.util.spec_from_file_location(name, r"{project}/helper_module.py")

            def install():
                sys.meta_path.append(Finder)
        """),
        encoding="utf-8",
    )
    (site / "__editable__probe.pth").write_text(
        "import __editable___probe_finder; __editable___probe_finder.install()", encoding="utf-8"
    )
    script = textwrap.dedent("""
        import sys
        from packager import PackageExporter
        from packager._proving import ProofError
        import helper_module
        exporter = PackageExporter(sys.argv[1], policy="auto")
        exporter.save_module("probe")
        exporter.close()
        print(exporter.proof.ok, exporter.proof.modules)
    """)
    done = processes.run(
        [python, "-c", script, tmp_path / "probe.kellet"], capture_output=True, text=True, check=False
    )
    assert done.stdout == "True ('helper_module', 'probe')\n", done.stderr


def test_what_code_does_outside_of_the_archive_is_noted(project, tmp_path):
    code = """
        import os, subprocess, sys

        def reach():
            return open("made.txt").close()

        open("made.txt", "w").close()
        os.path.exists("made.txt")
        open(os.path.join(os.path.dirname(os.__file__), "os.py")).close()
        reach()
        subprocess.run([sys.executable, "-c", ""], check=True)
    """
    project({"probe.py": textwrap.dedent(code)})
    exporter = proved(tmp_path)
    with pytest.warns(PackagingWarning, match=r"stored code opened 'made\.txt', relative"):
        exporter.close()
    effects = exporter.proof.effects
    assert [(effect.kind, effect.place.line, effect.place.function) for effect in effects] == [
        ("opened", 5, "reach"),
        ("started", 11, "<module>"),
    ]
    frame = ProofFrame("probe.py", 5, "reach", "", True)
    what = "'made.txt', relative to the working directory"
    assert effects[0] == Effect("opened", what, frame)
    assert f"in the proof, stored code opened {what}, at {frame}" in exporter.plan().warnings


def test_a_process_that_takes_too_long_is_ended(project, tmp_path):
    project({"probe.py": "import time\ntime.sleep(60)\n"})
    proved(tmp_path, prove=False).close()
    proof = opened(tmp_path / "probe.kellet", modules=("probe",), timeout=1.5)
    assert proof.failures == (
        ProofFailure(
            "died",
            "module probe",
            "the clean process was not done after 1.5 seconds (import)",
            advice="to allow an hour, set KELLET_PROOF_SECONDS=3600 in the environment",
        ),
    )


def test_where_no_process_can_be_started_a_warning_says_so(project, tmp_path, monkeypatch):
    project({"probe.py": ""})
    exporter = proved(tmp_path)
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    with pytest.warns(
        PackagingWarning, match="the archive was not proved: /nowhere/python cannot be started"
    ):
        exporter.close()
    assert not exporter.proof.ok
    assert exporter.proof.unproved.startswith("/nowhere/python cannot be started")
    assert (tmp_path / "probe.kellet").exists()


def test_a_python_that_does_not_answer_is_no_proof(project, tmp_path, monkeypatch):
    project({"probe.py": ""})
    exporter = proved(tmp_path)
    (tmp_path / "python").symlink_to("/bin/false")
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    with pytest.warns(PackagingWarning, match=r"the clean process ended before it began \(exit code 1\)"):
        exporter.close()


@pytest.mark.unix
def test_a_python_that_never_answers_is_told_as_such(project, tmp_path, monkeypatch):
    project({"probe.py": ""})
    exporter = proved(tmp_path)
    (tmp_path / "python").write_text("#!/bin/sh\nsleep 60\n")
    (tmp_path / "python").chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    for module in (clean_process, conversation):
        monkeypatch.setattr(module, "MOST_TO_BEGIN", 0.3)
    with pytest.warns(PackagingWarning, match=r"the clean process did not begin within 0\.3 seconds"):
        exporter.close()


@pytest.mark.filterwarnings("ignore::packager.PackagingWarning")
def test_a_person_can_set_how_long_it_may_take(project, tmp_path, monkeypatch):
    project({"probe.py": "import time\ntime.sleep(60)\n"})
    monkeypatch.setenv("KELLET_PROOF_SECONDS", "3")
    with pytest.raises(ProofError, match=r"the clean process was not done after [0-9.]+ seconds"):
        proved(tmp_path).close()
    monkeypatch.setenv("KELLET_PROOF_SECONDS", "long")
    with pytest.raises(ArgumentError, match="KELLET_PROOF_SECONDS='long': expected a number of seconds"):
        proved(tmp_path).close()


def test_nothing_is_left_in_the_temporary_folder(project, tmp_path, monkeypatch):
    import tempfile

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    project({"probe.py": "import pathlib\nHERE = pathlib.Path(__file__).read_text()\n"})
    exporter = proved(tmp_path)
    exporter.close()
    assert isinstance(exporter.proof, Proof)
    assert os.listdir(tmp_path / "temporary") == []
