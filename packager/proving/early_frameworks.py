"""NumPy and kellet, imported before the order of a proof is there, where nothing of the archive could tell.

That is known only once the archive is: what was imported must be what its first object imports first, found
where it is found then, with nothing that is hidden from the archive. Else the process begins anew.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence

from packager.archive import ArchiveReader
from packager.errors import PackageError
from packager.graph import source_text

from .clean_environment import enter_clean_environment
from .first_imports import Statement, first_imports, first_imports_of
from .proof import ProofOrder


class EarlyFrameworks:
    """What was imported early, from where; `path` and `places` are those of an order, as far as known.

    `module` is that of the object's class, `files` are its file and those of its packages, None where there
    is a folder alone.
    """

    def __init__(
        self,
        path: Sequence[str],
        places: Mapping[str, Sequence[str]],
        module: str,
        files: Mapping[str, str | None],
    ) -> None:
        self._path, self._places = tuple(path), {name: tuple(found) for name, found in places.items()}
        self._module, self._files = module, dict(files)
        self._imported: list[Statement] = []
        self._has_failed = False

    def begin(self, is_told: Callable[[], bool]) -> None:
        """Import what the module of the class begins with, until the order `is_told`."""
        if is_told() or not (wanted := self._wanted()):
            return
        enter_clean_environment(self._path, self._places, ())
        for name, names in wanted:
            if is_told():
                return
            self._imported.append((name, names))
            try:
                __import__(name, {}, {}, names)
            except BaseException:  # whoever asks for it in time will be told
                self._has_failed = True
                return

    def were_in_time(self, order: ProofOrder) -> bool:
        """Say whether the load of an archive would come to the same imports first, and find the same."""
        if not self._imported:
            return True
        tops = {name.partition(".")[0] for name in [*sys.modules]} - sys.stdlib_module_names
        return (
            not self._has_failed
            and tuple(order.path) == self._path
            and tops.isdisjoint(order.hidden)
            and all(tuple(order.places.get(top, ())) == self._places.get(top, ()) for top in tops)
            and self._imported == _first_of(order.archive)[: len(self._imported)]
        )

    def _wanted(self) -> list[Statement]:
        if self._module.partition(".")[0] == "kellet":
            return [("kellet.nn", ())] if self._module.startswith("kellet.nn.") else []

        return first_imports([self._module], self._source_of)

    def _source_of(self, name: str) -> tuple[str, bool] | None:
        file = self._files[name] if name in self._files else self._file_beside(name)
        if file is None:
            return ("", True) if name in self._files else None
        try:
            with open(file, "rb") as source:
                return source_text(source.read(), file), os.path.basename(file) == "__init__.py"
        except (OSError, SyntaxError, ValueError):
            return None

    def _file_beside(self, name: str) -> str | None:
        """Return the file of another module in one of the packages."""
        package, _, own = name.rpartition(".")
        home = self._files.get(package)
        if home is None or os.path.basename(home) != "__init__.py":
            return None
        folder = os.path.join(os.path.dirname(home), own)
        found = next(filter(os.path.isfile, (os.path.join(folder, "__init__.py"), f"{folder}.py")), None)
        if found is not None:
            self._files[name] = found
        return found


def _first_of(archive: str) -> list[Statement]:
    try:
        with ArchiveReader(archive, digests="none") as reader:
            return first_imports_of(reader)
    except (PackageError, OSError, SyntaxError, ValueError):  # the proof itself will say so
        return []
