"""What an archive carries beside the model: the loader of a runnable archive, and wheels of its externs.

The loader lies in a folder of its own, so that the model's packages never mix with the loader's. Only two
files lie beside the model: `__main__.py`, for `python net.kellet`, and `packager.py`, which puts the
folder on `sys.path` for `import packager` in a process that has the archive there. Wheels are fetched when
the archive is written, and are gone from this machine when it is.

Section 12 of the format; the decision is `docs/design/runnable.md`.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from packager._atomic import temporary_folder
from packager._codecs import carried_files
from packager._environment import (
    WHEELS,
    Distributions,
    RecordedEnvironment,
    Target,
    environment_facts,
    fetch_wheels,
    loader_files,
    own_files,
)
from packager._quick_dataclasses import replace
from packager._version import OWN_NAME, installed_version

from .plan import ExportPlan, PlannedEntry, PlannedTensors
from .plan_writing import manifest_of

RUNTIME = ".data/runtime/"
MAIN_MODULE = ".data/main/__main__.py"
"""Where the user's own `__main__` lies in a runnable archive, if classes of it are stored."""

# Both are understood by every Python, so that an old one is told what it lacks.
_MAIN = '''\
"""Runs the model in this archive: python net.kellet --info"""
import os
import shutil
import sys

if sys.version_info < (3, 11):
    sys.exit(
        "%s: found Python %d.%d; expected 3.11 or later; start it with a newer one, as python3.11 %s"
        % (sys.argv[0], sys.version_info[0], sys.version_info[1], " ".join(sys.argv))
    )

if __name__ == "__main__":
    here = os.path.dirname(os.path.abspath(__file__))
    if os.path.isdir(here):
        # An unpacked archive, which can be read as long as nothing is added to it.
        sys.dont_write_bytecode = True
        shutil.rmtree(os.path.join(here, "__pycache__"), ignore_errors=True)
    # In the place of the archive itself: its packages are imported by the loader alone.
    sys.path[0] = os.path.join(here, ".data", "runtime")
    from packager._cli.runnable import main

    sys.exit(main(here))
'''
_IMPORT = '''\
"""`import packager` from this archive: the loader that it carries takes the place of this module."""
import os
import shutil
import sys

if sys.version_info < (3, 11):
    raise ImportError("found Python %d.%d; expected 3.11 or later" % sys.version_info[:2])

_here = os.path.dirname(os.path.abspath(__file__))
if os.path.isdir(_here):
    # An unpacked archive, which can be read as long as nothing is added to it.
    sys.dont_write_bytecode = True
    shutil.rmtree(os.path.join(_here, "__pycache__"), ignore_errors=True)
_runtime = os.path.join(_here, ".data", "runtime")
if _runtime not in sys.path:
    sys.path.insert(sys.path.index(_here) if _here in sys.path else 0, _runtime)
del sys.modules[__name__]
import packager
'''
_NOT_CARRIED = b'''\
"""What exports or reports is not carried; to import it says so."""

raise ImportError(
    "this archive carries what loading needs; for the rest, install kellet from its wheel or checkout"
)
'''
_NO_EXPORT = dict.fromkeys(
    (
        "packager/package_exporter.py",
        *(
            f"packager/_{room}/__init__.py"
            for room in "exporting licenses differences proving serving".split()
        ),
        "packager/_save.py",
        "packager/_signing/signing.py",
        "packager/_graph/digraph.py",
        "packager/_weights/writing.py",
    ),
    _NOT_CARRIED,
)
_STARTERS = {"__main__.py": _MAIN, "packager.py": _IMPORT}

_ZIP64_SIZE = 0xFFFFFFFF
_ZIP64_COUNT = 0xFFFF
_BESIDE_ENTRY = 30 + 46 + 69  # bytes around an entry: both records, and the longest padding
_RESERVED = 2


def runtime_entries(tops: Iterable[str] = (), *, whole: bool = False) -> tuple[PlannedEntry, ...]:
    """Return what makes an archive runnable where there is only Python and NumPy.

    That is what loading needs: of what is known of libraries that of the `tops`, the top-level packages of
    what is stored. With `whole` all of packager, for packaged code that imports it.
    """
    if whole:
        carried = own_files(beside=True)
    else:
        carried = {**loader_files(carried_files(tops)), **_NO_EXPORT}
    files = {f"{RUNTIME}{name}": data for name, data in carried.items()}
    files |= {name: text.encode() for name, text in _STARTERS.items()}
    return tuple(
        PlannedEntry(
            name,
            "source" if name.endswith(".py") else "resource",
            len(files[name]),
            "the loader of a runnable archive",
            partial(bytes, files[name]),
        )
        for name in sorted(files)
    )


def zip64_warnings(*parts: Iterable[PlannedEntry | PlannedTensors]) -> Iterator[str]:
    """Warn of the size of a runnable archive with these contents.

    zipimport of Python 3.11 and 3.12 reads no ZIP64, which larger archives need.

    >>> from packager._archive import TensorIndex
    >>> none = TensorIndex.of([], [])
    >>> list(zip64_warnings([PlannedTensors("net.safetensors", none, (), 1 << 20)]))
    []
    >>> next(zip64_warnings([PlannedTensors("net.safetensors", none, (), 5 << 30)])).partition(". ")[0]
    'the archive is larger than 4 GiB, and Python 3.11 and 3.12 cannot start such a ZIP'
    """
    contents = [one for part in parts for one in part]
    # A member of tensors has an index beside it, of about the size of its description.
    size = sum(one.size + _BESIDE_ENTRY + 4 * len(one.name.encode()) for one in contents)
    count = len(contents) + sum(isinstance(one, PlannedTensors) for one in contents) + _RESERVED
    if size >= _ZIP64_SIZE or count >= _ZIP64_COUNT:
        what = "is larger than 4 GiB" if size >= _ZIP64_SIZE else f"has {_ZIP64_COUNT} entries or more"
        yield (
            f"the archive {what}, and Python 3.11 and 3.12 cannot start such a ZIP. Start it with Python "
            "3.13 or later, unpack it and start the folder, or load it with an installed packager"
        )


@contextmanager
def with_wheels(
    plan: ExportPlan, targets: Sequence[Target], find_links: Sequence[str]
) -> Iterator[ExportPlan]:
    """Give the plan with the wheels of its externs for every target; they are there for the block alone.

    Raises EnvironmentBuildError where wheels cannot be found.
    """
    recorded = RecordedEnvironment.of(manifest_of(plan))
    if (version := installed_version()) is not None:  # an environment of these wheels alone opens the archive
        facts = environment_facts([OWN_NAME], Distributions())
        recorded = replace(
            recorded,
            versions={**facts["distributions"], **recorded.versions},
            local=recorded.local | set(facts.get("local", ())),
        )
        own = {OWN_NAME: version}
    else:
        own = {}
    with temporary_folder("vendored") as folder:
        wheels = fetch_wheels(
            {**own, **recorded.distributions},
            recorded.versions,
            targets,
            Path(folder),
            local=recorded.local,
            find_links=find_links,
        )
        entries = tuple(_entry(Path(folder, wheel.file)) for wheel in wheels)
        carried = (*plan.carried, *entries)
        runnable = any(entry.name == "__main__.py" for entry in plan.carried)
        said = zip64_warnings(plan.entries, plan.tensors, carried) if runnable else ()
        warnings = tuple(dict.fromkeys((*plan.warnings, *said)))
        yield replace(plan, carried=carried, warnings=warnings)


def _entry(path: Path) -> PlannedEntry:
    size = path.stat().st_size
    return PlannedEntry(
        f"{WHEELS}{path.name}", "resource", size, "a wheel of an extern", partial(_mapped, path)
    )


def _mapped(path: Path) -> memoryview:
    """Map the bytes of a file, which may be too large to be read at once."""
    with open(path, "rb") as file:
        return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
