"""The small projects of `fixtures/projects`: each is exported by its script, and loaded elsewhere.

A file of that folder is one project: a line of purpose, and then its files, each below a line `== path`.
Three sections are no files: `arguments` of one call of the model, its `answer` as JSON, and the folders that
stand on the `path` of a user. `prepare.py` makes what is not text. The first script after these sets `model`.
"""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from importlib.metadata import Distribution
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol

from packager import PackageImporter

FOLDER = Path(__file__).resolve().parents[1] / "fixtures" / "projects"

# What a user adds to a script that has made `model`. The plan is asked for where somebody wants to see it.
EXPORT = """

if __name__ == "__main__":
    import json, os
    from packager import PackageExporter

    arguments = {arguments}
    with PackageExporter(os.environ["OUT"], policy="auto") as exporter:
        exporter.save_object("model", "model", model)
        exporter.save_check("model", {{f"arg{{number}}": value for number, value in enumerate(arguments)}})
        plan = exporter.plan().by_action("intern") if {planned} else ()
    print("ANSWER " + json.dumps([model(*arguments), [module.name for module in plan]]))
"""
LOAD = """
import json, os
from packager import PackageImporter

with PackageImporter(os.environ["OUT"]) as importer:
    model = importer.load_object("model", "model")
    answer = model(*{arguments})
    equal = all(outcome.within(0.0) for outcome in importer.check())
    print("ANSWER " + json.dumps([answer, equal, sorted(importer.modules)]))
"""


@dataclass(frozen=True)
class Project:
    """A project as a person writes it, and one call of its model."""

    name: str
    purpose: str
    files: Mapping[str, str]
    arguments: str
    answer: Any
    path: tuple[str, ...] = ()

    @property
    def script(self) -> str:
        """The script that sets `model`."""
        return next(name for name in self.files if name != "prepare.py")

    def to_export(self, *, planned: bool) -> dict[str, str]:
        """Return all files, with an export at the end of the script."""
        export = EXPORT.format(arguments=self.arguments, planned=planned)
        return {**self.files, self.script: self.files[self.script] + export}

    @property
    def load(self) -> str:
        """The program that loads the model and calls it."""
        return LOAD.format(arguments=self.arguments)


class Fixture(Protocol):
    """What can be exported by a script and loaded by a program; each prints ANSWER and a list of JSON.

    The script gives what the model answers, and with `planned` the modules of the plan. The program gives
    what the model answers, whether golden calls do, and the modules that are loaded.
    """

    @property
    def name(self) -> str: ...
    @property
    def script(self) -> str: ...
    @property
    def path(self) -> tuple[str, ...]: ...
    @property
    def load(self) -> str: ...
    def to_export(self, *, planned: bool) -> dict[str, str]: ...


class ProcessFailed(RuntimeError):
    """A process ended without an answer; what it said last."""


def read_projects() -> list[Project]:
    """Read all projects, by name."""
    return [_read(path) for path in sorted(FOLDER.glob("*.txt"))]


def _read(path: Path) -> Project:
    purpose, *parts = re.split(r"^== ", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    sections = dict(part.split("\n", 1) for part in parts)
    arguments, answer = sections.pop("arguments").strip(), json.loads(sections.pop("answer"))
    ast.literal_eval(arguments)
    return Project(
        path.stem, purpose.strip(), sections, arguments, answer, tuple(sections.pop("path", "").split())
    )


class Place:
    """A folder with a fixture, its archive, and an empty folder where the archive is loaded.

    `run` is `subprocess.run`, or what does as it does.
    """

    def __init__(self, folder: Path, run: Callable[..., Any] = subprocess.run) -> None:
        self.file = folder / "model.kellet"
        self.here = folder / "here"
        self._folder, self._run = folder, run

    def export(self, fixture: Fixture, *, planned: bool = False) -> Any:
        """Write the files and run the script; return its answer."""
        files = fixture.to_export(planned=planned)
        for name, text in files.items():
            (self.here / name).parent.mkdir(parents=True, exist_ok=True)
            text = text.replace("file:///here", self.here.as_uri())  # where distributions came from
            (self.here / name).write_text(text, encoding="utf-8")
        if "prepare.py" in files:
            self._start([sys.executable, "prepare.py"], self.here)
        path = [self.here / name for name in fixture.path]
        return answer_in(self._start([sys.executable, fixture.script], self.here, path))

    def load(self, program: str, path: Iterable[Path]) -> Any:
        """Run a program with the archive and what lies in the folders of `path` alone; return its answer."""
        (self._folder / "elsewhere").mkdir(exist_ok=True)
        return answer_in(
            self._start([sys.executable, "-S", "-P", "-c", program], self._folder / "elsewhere", path)
        )

    def _start(self, command: list[str], cwd: Path, path: Iterable[Path] = ()) -> str:
        more = dict.fromkeys(("XDG_CACHE_HOME", "KELLET_CACHE"), str(self._folder / "cache"))
        if path:
            more["PYTHONPATH"] = os.pathsep.join(map(str, path))
        done = self._run(
            command,
            cwd=cwd,
            capture_output=True,
            text=True,
            check=False,
            timeout=600,
            env={**os.environ, **more, "OUT": str(self.file)},
        )
        if done.returncode:
            raise ProcessFailed(done.stderr.strip())
        return str(done.stdout)


def answer_in(output: str) -> Any:
    """Return what stands behind ANSWER in the last such line."""
    return json.loads([line for line in output.splitlines() if line.startswith("ANSWER ")][-1][7:])


def required_externs(file: Path, *, optional: bool = False) -> dict[str, str]:
    """Return the distributions of externs outside of Python by their names; the optional ones if asked."""
    with PackageImporter(file, environment="ignore") as importer:
        externs = importer.manifest.externs
    return {
        extern.name: extern.distribution
        for extern in externs
        if extern.distribution is not None and extern.optional <= optional
    }


def site_with(names: Iterable[str], folder: Path, path: Iterable[Path] = ()) -> list[Path]:
    """Fill a folder with links to some distributions, what they require, kellet and packager.

    Distributions are looked for in the folders of `path`, and where this process looks.
    """
    folder.mkdir()
    wanted, seen = ["kellet", *names], set()
    while wanted:
        name = wanted.pop()
        found = next(iter(Distribution.discover(name=name, path=[*map(str, path), *sys.path])), None)
        if name in seen or found is None:  # what is required on other systems is not here
            continue
        seen.add(name)
        for top in {file.parts[0] for file in found.files or ()} - {"..", "__pycache__", "_kellet.pth"}:
            if not (folder / top).exists():
                (folder / top).symlink_to(Path(str(found.locate_file(top))))
        wanted += [_name_of(line) for line in found.requires or () if "extra ==" not in line]
    for name in ("kellet", "packager"):
        spec = find_spec(name)
        assert spec is not None
        assert spec.origin is not None
        if not (folder / name).exists():  # it does where they are installed from a wheel
            (folder / name).symlink_to(Path(spec.origin).parent)
    return [folder]


def _name_of(requirement: str) -> str:
    return re.split(r"[^A-Za-z0-9._-]", requirement)[0]
