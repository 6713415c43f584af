"""Where the clean process finds what the archive leaves to the target: as it is found in this one."""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
from collections.abc import Collection, Iterable, Iterator, Mapping
from importlib.util import find_spec
from types import ModuleType
from typing import Final

from packager.archive import ArchiveReader, Manifest
from packager.disk import search_folders
from packager.environment import Distributions
from packager.graph import Closure, WalkDecision
from packager.late_patterns import late_pattern
from packager.version import OWN_PACKAGES

from .proof import ProofOrder

_EVERYWHERE: Final = late_pattern(
    r"PATH|HOME|USER|USERNAME|LOGNAME|SHELL|PWD|OLDPWD|TERM|TMPDIR|TEMP|TMP|HOSTNAME|DISPLAY|TZ|EDITOR|PAGER"
    r"|LANG|LANGUAGE|LC_.*|XDG_.*|VIRTUAL_ENV|CONDA_.*|PYTHON.*|PYTEST_.*|KELLET_.*|CI|COLUMNS|LINES|NO_COLOR"
    r"|OMP_.*|MKL_.*|OPENBLAS_.*|NUMEXPR_.*|CUDA_.*|NVIDIA_.*|NCCL_.*|SLURM_.*|RANK|LOCAL_RANK|WORLD_SIZE"
    r"|MASTER_ADDR|MASTER_PORT|APPDATA|LOCALAPPDATA|USERPROFILE|SYSTEMROOT|COMSPEC|LD_.*|DYLD_.*|PATHEXT|WINDIR"
)
"""What every machine or every launcher sets: it says where code runs, and not what it does."""
_BEGUN_WITH = ("numpy", "msgpack")
_BROUGHT_ALONG = (*_BEGUN_WITH, "importlib_metadata", "zipp")
"""What our own packages need, whatever is stored."""


def order_for(
    archive: str,
    reader: ArchiveReader,
    modules: tuple[str, ...],
    installed: Distributions,
) -> ProofOrder:
    """Return the order of a proof: where the clean process looks, and what it must not find."""
    manifest = reader.manifest
    path = path_here()
    places = places_of(_names_outside(manifest, installed), path)
    for name in _at_hand(manifest, places):
        places |= dict.fromkeys(_neighbours(name, places[name]), places[name])
    hidden = tuple(sorted(_hidden(manifest, installed)))
    gone = tuple(sorted(set(_folders_of_project(manifest, installed))))
    own = tuple(sorted(name for name in manifest.stored_modules if is_projects(name, installed)))
    return ProofOrder(archive, modules, path, places, hidden, gone=gone, own=own)


def variables_here(unneeded: Collection[str] = ()) -> tuple[str, ...]:
    """Return the variables that are set here, and not on every machine: stored code does without them.

    `unneeded` are those that are set wherever the archive is loaded, as "os:environ.NET_WIDTH", or all of
    them, as "os:environ.*".
    """
    if "os:environ.*" in unneeded:
        return ()
    named = (name for name in sorted(os.environ) if not _EVERYWHERE.fullmatch(name))
    return tuple(name for name in named if f"os:environ.{name}" not in unneeded)


def path_here() -> tuple[str, ...]:
    """Return the folders of installed packages on the path of this process."""
    return tuple(entry for entry in map(os.path.abspath, search_folders(sys.path)) if _is_of_packages(entry))


def places_of_ours(path: Collection[str]) -> dict[str, tuple[str, ...]]:
    """Return where our own packages, and what they need, are found if not on `path`."""
    return places_of((*OWN_PACKAGES, *_BROUGHT_ALONG), path)


def places_of(names: Iterable[str], path: Collection[str]) -> dict[str, tuple[str, ...]]:
    """Return where top-level modules are found here, if not on `path`."""
    places = {}
    for name in dict.fromkeys(names):
        folders = tuple(_folders_of(name))
        if folders and not set(folders) <= set(path):
            places[name] = folders
    return places


def _folders_of_project(manifest: Manifest, installed: Distributions) -> Iterator[str]:
    """Yield the folders of the project's modules, and the working directory; none that hold others' files.

    Of what is installed the folder is the environment's, and not the project's. An environment may lie in the
    project; a working directory that Python lies below is one of a system.
    """
    found = set()
    with contextlib.suppress(FileNotFoundError):  # the working directory may be gone
        if not _holds_one(os.path.realpath(os.getcwd()), [sys.base_prefix]):
            found.add(os.getcwd())
    for name in manifest.stored_modules:
        module = sys.modules.get(name)
        known = vars(module) if isinstance(module, ModuleType) else {}
        file = known.get("__file__")
        if isinstance(file, str) and is_projects(name, installed):
            is_package = "__path__" in known
            steps = 1 if name == "__main__" else name.count(".") + (2 if is_package else 1)
            folder = os.path.abspath(file)
            for _ in range(steps):
                folder = os.path.dirname(folder)
            found.add(folder)
    of_others = [os.path.expanduser("~"), tempfile.gettempdir()]
    for folder in map(os.path.realpath, found):
        if not _holds_one(folder, of_others) and not _is_of_packages(folder):
            yield folder


def _holds_one(folder: str, others: Iterable[str]) -> bool:
    within = os.path.join(folder, "")
    return any(os.path.join(os.path.realpath(one), "").startswith(within) for one in others)


def _is_at_hand(name: str, module: ModuleType, installed: Distributions) -> bool:
    file = getattr(module, "__file__", None)
    return installed.origin(name, file if isinstance(file, str) else None).kind in ("project", "editable")


def is_projects(name: str, installed: Distributions) -> bool:
    """Say whether a loaded module is the script, or one of the project."""
    module = sys.modules.get(name)
    if name == "__main__" or name.partition(".")[0] in OWN_PACKAGES:
        return name == "__main__"
    if not isinstance(module, ModuleType) or name.partition(".")[0] in sys.stdlib_module_names:
        return False
    return _is_at_hand(name, module, installed)


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


def _names_outside(manifest: Manifest, installed: Distributions) -> Iterator[str]:
    """Yield what is importable there besides installed packages: externs, and what they and we require."""
    yield from (*OWN_PACKAGES, *_BROUGHT_ALONG)
    for record in manifest.externs:
        yield record.name.partition(".")[0]
    for name in manifest.environment.get("distributions", {}):
        yield from installed.import_names(name)


def _at_hand(manifest: Manifest, places: Mapping[str, object]) -> list[str]:
    """Return the recorded externs that no distribution brings, and that lie in a folder of their own."""
    names = (one.name.partition(".")[0] for one in manifest.externs if one.origin in ("project", "unknown"))
    return [name for name in dict.fromkeys(names) if name in places and name not in OWN_PACKAGES]


def _neighbours(name: str, folders: tuple[str, ...]) -> set[str]:
    """Return what an extern of the project imports from beside it: who has the one has the other."""

    def decide(module: str, edges: object) -> WalkDecision:
        return WalkDecision(set(_folders_of(module.partition(".")[0])) <= set(folders))

    walk = Closure(decide, cache=None)
    walk.add_root(name)
    walk.run()
    found = {module.name.partition(".")[0] for module in walk.modules.values() if module.followed}
    return found - {name}


def _hidden(manifest: Manifest, installed: Distributions) -> set[str]:
    """Return the first parts of stored modules that a target has from the archive alone.

    What a recorded extern requires is installed there, too: the archive's code takes its own, the
    extern that of the target.
    """
    stored = {name.partition(".")[0] for name in manifest.stored_modules}
    required = {
        name
        for distribution in manifest.environment.get("distributions", {})
        for name in installed.import_names(distribution)
    }
    externs = {record.name.partition(".")[0] for record in manifest.externs}
    ours = {*OWN_PACKAGES, *_BROUGHT_ALONG}
    return stored - required - externs - ours - sys.stdlib_module_names - {"__main__"}


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
