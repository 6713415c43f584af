"""What helps against a failure of a proof: a module to name, a file to open where it lies; lines to paste."""

from __future__ import annotations

import os
import posixpath
import re
import sys
from functools import partial
from typing import Final

from packager.disk import read_whole
from packager.environment import Distributions
from packager.exporting import ExportPlan, PlannedModule
from packager.graph import DataFile, Sources, reason_to_leave_out

from .proof import ProofFailure

_MOCKED: Final = re.compile(r"NotImplementedError: '([\w.]+)' was mocked out")
_KEY: Final = re.compile(r"KeyError: '([\w.]+)'")
_BESIDE_CODE: Final = re.compile(r"/cache/code/[0-9a-f]{64}/([^:]+)")


class Mends:
    """Mends by what the plan knows, and by what is here: on the path, loaded, in the working directory."""

    def __init__(self, plan: ExportPlan) -> None:
        self._plan = plan
        self._by_name = {module.name: module for module in plan.modules}
        self._by_entry = {module.entry: module for module in plan.modules if module.entry is not None}
        self._sources = Sources()

    def missing_module(self, failure: ProofFailure) -> tuple[str, str]:
        """Return advice, and a line to paste, for a module that an import did not find there."""
        name = failure.module
        decided = self._by_name.get(name)
        if decided is not None and decided.action in ("extern", "mock"):
            return f"{name} is {decided.action} by {decided.rule}", f'exporter.intern("{name}")'
        if decided is not None and decided.entry is not None:
            return (
                f"{name} is stored, and a library looked for it in the process, where it has another name: "
                "let code of the project read the file with pickle or joblib, or keep the object with "
                "save_object"
            ), ""
        found = self._sources.find(name)
        if found.kind == "missing" and name not in sys.modules:
            return self._nowhere(name), ""
        if not self._is_own(name, found.path):
            top = name.partition(".")[0]
            return "it is not in the archive, and no rule leaves it to the target", (
                f'exporter.extern("{top}.**")'
            )
        imported = name in sys.modules
        which = "it was imported here" if imported else "it is a module of the project"
        return f"{which}, and nothing that is stored imports it by name", f'exporter.save_module("{name}")'

    def stand_in_used(self, failure: ProofFailure) -> tuple[str, str]:
        """Return advice, and a line to paste, where code uses what a rule has put a mock in the place of."""
        used = _MOCKED.search(failure.message)
        top = used[1].partition(".")[0] if used else ""
        mocked = [one for name, one in self._by_name.items() if name.partition(".")[0] == top]
        mocked = [one for one in mocked if one.action == "mock"]
        if not mocked:
            return "", ""
        what = "absent here, too, and code that tries it goes on without"
        if self._sources.find(top).kind != "missing":
            what = "here, and used when this is loaded"
        if self._is_own(top, None):
            return f"{top} is {what}: store it, or answer without it", (
                f'exporter.intern("{top}.**")  # in the place of {mocked[0].rule}'
            )
        return f"{top} is {what}: leave it to the target", (
            f'exporter.extern("{top}.**")  # in the place of {mocked[0].rule}'
        )

    def name_in_process(self, failure: ProofFailure) -> tuple[str, str]:
        """Return advice, and a line to paste, where a library looks a stored module up by its `__name__`."""
        looked_up = _KEY.fullmatch(failure.message)
        module = self._by_name.get(looked_up[1]) if looked_up else None
        if module is None or module.entry is None or module.origin.is_at_hand:
            return "", ""
        top = module.name.partition(".")[0]
        return (
            f"the code looks {module.name} up by its `__name__`, which has the archive's mark here, so that "
            "two versions can be loaded: leave this library to the target"
        ), f'exporter.extern("{top}.**")  # in the place of {module.rule}'

    def relative_file(self, failure: ProofFailure) -> tuple[str, str]:
        """Return advice, and a line to paste, for a file named by the working directory."""
        return self._named_by_place(
            failure,
            f"{failure.file!r} is opened relative to the working directory, which is another one wherever "
            "the archive is loaded: ",
        )

    def file_of_project(self, failure: ProofFailure) -> tuple[str, str]:
        """Return advice, and a line to paste, for a file of the project that is named by its whole path."""
        if not os.path.isabs(failure.file) or not os.path.exists(failure.file):
            return "", ""
        return self._named_by_place(
            failure,
            f"{failure.file!r} lies in the project's folder, which is there where this is made and nowhere "
            "else: let the object hold what is in it, or ",
        )

    def _named_by_place(self, failure: ProofFailure, advice: str) -> tuple[str, str]:
        place = failure.place
        where = "the code" if place is None else place.file
        steps = None if place is None else self._steps_to(place.file, failure.file)
        if steps is not None:
            advice += f"name it by where {where} lies"
        else:
            advice += f"keep the file beside {where}, and name it by where that lies"
            steps = [os.path.basename(failure.file)]
        base = "__file__"
        for _ in range(steps.count(os.pardir) + 1):
            base = f"os.path.dirname({base})"
        parts = ", ".join(f'"{step}"' for step in steps if step != os.pardir)
        return advice, f"open(os.path.join({base}, {parts}))"

    def stored_file(self, failure: ProofFailure) -> tuple[str, str]:
        """Return advice, and a line to paste, for a file beside stored code that the archive lacks."""
        missing = _BESIDE_CODE.search((failure.file or failure.message).replace(os.sep, "/"))
        if missing is None:
            return "", ""
        name = posixpath.normpath(missing[1])
        if name.startswith(".."):
            return "", ""  # it leads out of the archive's folder
        for module in self._by_entry.values():
            source, entry = _file_of(module, self._sources), str(module.entry)
            if source is None or not source.replace(os.sep, "/").endswith(f"/{entry}"):
                continue
            here = os.path.join(source[: -len(entry)], *name.split("/"))
            if os.path.isfile(here):
                return _stored_by_hand(name, here)
        return f"{name} is not here either, where the code that is stored lies", ""

    def _is_own(self, name: str, path: str | None) -> bool:
        """Say whether a module is of the project, or of a package that the archive stores."""
        top = name.partition(".")[0]
        if any(
            module.entry is not None and one.partition(".")[0] == top for one, module in self._by_name.items()
        ):
            return True
        return Distributions().origin(name, path).kind in ("project", "editable")

    def _nowhere(self, name: str) -> str:
        parent = name.rpartition(".")[0]
        stored = f"{parent} is stored, with " if parent in self._by_name else "there is "
        return f"{stored}no module of that name here: correct the name, or add it to the project"

    def _steps_to(self, entry: str, file: str) -> list[str] | None:
        """Return the way from a module's folder to a file; None where an archive cannot have it there."""
        module = self._by_entry.get(entry)
        source = None if module is None else _file_of(module, self._sources)
        if source is None or not os.path.isfile(file):
            return None
        folder = os.path.dirname(os.path.realpath(source))
        try:
            steps = os.path.relpath(os.path.realpath(file), folder).split(os.sep)
        except ValueError:  # on another drive
            return None
        return steps if steps.count(os.pardir) <= entry.count("/") else None


def _file_of(module: PlannedModule, sources: Sources) -> str | None:
    if module.name == "__main__":
        file = getattr(sys.modules["__main__"], "__file__", None)
        return file if isinstance(file, str) else None
    return sources.find(module.name).path


def _stored_by_hand(name: str, here: str) -> tuple[str, str]:
    """Return advice, and a line to paste, for a file of the project that did not go along."""
    package, _, resource = name.rpartition("/")
    if "." in package:  # it is in no name of a package
        package, resource = "", name
    file = DataFile(
        package, resource, here, os.path.getsize(here), kind="found", read=partial(read_whole, here)
    )
    reason = reason_to_leave_out(file)
    advice = f"{reason}; store it where all who load the archive may read it" if reason else "store it"
    return f"{name} is here beside the code, and is not stored: {advice}", (
        f'exporter.save_binary("{package.replace("/", ".")}", "{resource}", open({here!r}, "rb").read())'
    )
