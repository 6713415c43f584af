"""Where the clean process finds what the archive leaves to the target: as it is found in this one."""

from __future__ import annotations

import contextlib
import os
import re
import sys
import tempfile
from collections.abc import Collection, Iterable, Iterator
from importlib.util import find_spec
from pkgutil import iter_modules
from types import ModuleType
from typing import Final

from packager._archive import ArchiveReader
from packager._disk import search_folders
from packager._environment import Distributions
from packager._version import OWN_PACKAGES

from .proof import ProofOrder

_EVERYWHERE: Final = re.compile(
    r"PATH|HOME|USER|USERNAME|LOGNAME|SHELL|PWD|OLDPWD|TERM|TMPDIR|TEMP|TMP|HOSTNAME|DISPLAY|TZ|EDITOR|PAGER"
    r"|LANG|LANGUAGE|LC_.*|XDG_.*|VIRTUAL_ENV|CONDA_.*|PYTHON.*|PYTEST_.*|KELLET_.*|CI|COLUMNS|LINES|NO_COLOR"
    r"|OMP_.*|MKL_.*|OPENBLAS_.*|NUMEXPR_.*|CUDA_.*|NVIDIA_.*|NCCL_.*|SLURM_.*|RANK|LOCAL_RANK|WORLD_SIZE"
    r"|MASTER_ADDR|MASTER_PORT|APPDATA|LOCALAPPDATA|USERPROFILE|SYSTEMROOT|COMSPEC|LD_.*|DYLD_.*|PATHEXT|WINDIR"
)
"""What every machine or every launcher sets: it says where code runs, and not what it does."""
_STANDARD_LIBRARY = os.path.dirname(os.__file__)
_ZIPPED = f"python{sys.version_info[0]}{sys.version_info[1]}.zip"
_BEGUN_WITH = ("numpy", "msgpack")
_BROUGHT_ALONG = (*_BEGUN_WITH, "importlib_metadata", "zipp")
"""What our own packages need, whatever is stored."""


def order_for(
    archive: str, reader: ArchiveReader, modules: tuple[str, ...], installed: Distributions
) -> ProofOrder:
    """Return the order of a proof: where the clean process looks, and what it must not find."""
    manifest, path = reader.manifest, path_here()
    stored = sorted(manifest.stored_modules)
    found = map(installed.find, manifest.environment.get("distributions", {}))
    required = {name for one in found if one is not None for name in one.import_names}
    externs = {record.name.partition(".")[0]: record for record in manifest.externs}
    outside = {*OWN_PACKAGES, *_BROUGHT_ALONG, *externs, *required}
    places = places_of(outside, path)
    for name, record in externs.items():
        # Who has an extern of the project has what lies beside it, if no distribution brings it.
        if record.origin in ("project", "unknown") and name in places and name not in OWN_PACKAGES:
            beside = (one.name for one in iter_modules(places[name]))
            places = {**dict.fromkeys(beside, places[name]), **places}
    # Stored modules that a target has from the archive alone. What an extern requires is there, too:
    # the archive's code takes its own, the extern that of the target.
    hidden = {name.partition(".")[0] for name in stored} - outside - sys.stdlib_module_names - {"__main__"}
    own = tuple(name for name in stored if is_projects(name, installed))
    gone = tuple(sorted(set(_folders_of_project(own))))
    return ProofOrder(archive, modules, path, places, tuple(sorted(hidden)), gone=gone, own=own)


def variables_here(allowed: Collection[str] = ()) -> tuple[str, ...]:
    """Return the variables that are set here, and not on every machine: stored code does without them.

    `allowed` are those that are set wherever the archive is loaded, or "*" for all.
    """
    if "*" in allowed:
        return ()
    named = (name for name in sorted(os.environ) if not _EVERYWHERE.fullmatch(name))
    return tuple(name for name in named if name not in allowed)


def path_here() -> tuple[str, ...]:
    """Return the folders of Python itself, and of installed packages, on the path of this process."""
    folders = map(os.path.abspath, search_folders(sys.path))
    return (*standard_folders(), *(entry for entry in folders if _is_of_packages(entry)))


def standard_folders() -> list[str]:
    """Return the entries of `sys.path` in which Python's own modules lie."""
    entries = map(str, sys.path)  # users put paths of `pathlib` there
    return [entry for entry in entries if _is_standard(entry)]


def _is_standard(entry: str) -> bool:
    inside = entry == _STANDARD_LIBRARY or entry.startswith(_STANDARD_LIBRARY + os.sep)
    if inside:
        return os.path.basename(entry) not in ("site-packages", "dist-packages")
    return os.path.basename(entry) in (_ZIPPED, "DLLs", "lib-dynload")


def places_of(names: Iterable[str], path: Collection[str]) -> dict[str, tuple[str, ...]]:
    """Return where top-level modules, and ours with what they need, are found here, if not on `path`."""
    places = {}
    for name in sorted({*OWN_PACKAGES, *_BROUGHT_ALONG, *names}):
        folders = tuple(_folders_of(name))
        if folders and not set(folders) <= set(path):
            places[name] = folders
    return places


def _folders_of_project(own: Iterable[str]) -> Iterator[str]:
    """Yield the folders of the project's modules, and the working directory; none that hold others' files.

    Of what is installed the folder is the environment's, and not the project's. An environment may lie in the
    project; a working directory that Python lies below is one of a system.
    """
    found = set()
    with contextlib.suppress(FileNotFoundError):  # the working directory may be gone
        if not _holds_one(os.path.realpath(os.getcwd()), [sys.base_prefix]):
            found.add(os.getcwd())
    for name in own:
        known = vars(sys.modules[name])
        if isinstance(file := known.get("__file__"), str):
            steps = 0 if name == "__main__" else name.count(".") + ("__path__" in known)
            found.add(os.path.normpath(os.path.join(os.path.abspath(file), *[os.pardir] * (steps + 1))))
    of_others = [os.path.expanduser("~"), tempfile.gettempdir()]
    for folder in map(os.path.realpath, found):
        if not _holds_one(folder, of_others) and not _is_of_packages(folder):
            yield folder


def _holds_one(folder: str, others: Iterable[str]) -> bool:
    within = os.path.join(folder, "")
    return any(os.path.join(os.path.realpath(one), "").startswith(within) for one in others)


def is_projects(name: str, installed: Distributions) -> bool:
    """Say whether a loaded module is the script, or one of the project."""
    top, module = name.partition(".")[0], sys.modules.get(name)
    if not isinstance(module, ModuleType) or top in OWN_PACKAGES or top in sys.stdlib_module_names:
        return False
    file = vars(module).get("__file__")
    kind = installed.origin(name, file if isinstance(file, str) else None).kind
    return name == "__main__" or kind in ("project", "editable")


def own_folders() -> tuple[str, ...]:
    """Return the folders that our own packages lie in, and what they import at once."""
    names = (*OWN_PACKAGES, *_BEGUN_WITH)
    return tuple(dict.fromkeys(folder for name in names for folder in _folders_of(name)))


def _is_of_packages(entry: str) -> bool:
    """Say whether a folder on the path is one of installed packages: of the system, a user, a `--target`."""
    if os.path.basename(entry) in ("site-packages", "dist-packages"):
        return True
    try:
        return any(name.endswith(".dist-info") for name in os.listdir(entry))
    except OSError:  # a ZIP file, or none
        return False


def _folders_of(name: str) -> Iterator[str]:
    """Yield the folders that a top-level module is found in here."""
    try:
        spec = find_spec(name)
    except (ImportError, ValueError, AttributeError):  # a module without a spec, or a finder that refuses
        return
    if spec is None:
        return
    if spec.submodule_search_locations is not None:
        yield from (os.path.dirname(os.path.abspath(folder)) for folder in spec.submodule_search_locations)
    elif spec.has_location and spec.origin is not None:
        yield os.path.dirname(os.path.abspath(spec.origin))
