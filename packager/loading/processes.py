"""How another process finds the archive again: pickled names of packaged classes lead back to it.

An environment variable, inherited by children, maps each packaged top-level name to its archive's
path and policy. A folder of one-line modules, named as the packaged packages are, is appended to `sys.path`;
`multiprocessing` hands `sys.path` on, so a spawned worker that never imported `packager` imports such
a line, which opens the archive and puts the real package in its place. Identity and policy are checked
again there; an archive that was closed here is never opened again by its name.
"""

from __future__ import annotations

import atexit
import contextlib
import importlib
import json
import os
import sys
import threading
from collections.abc import Sequence
from typing import Any

from packager.archive import MIGRATIONS
from packager.errors import ArchiveError

from .loaded_archive import LoadedArchive, adopters, loaded_archive_of, register
from .module_loaders import BytecodeCache
from .packaged_code import ImportRules, PackagedCode

ENVIRONMENT_VARIABLE = "KELLET_OPEN_ARCHIVES"

_STUB = "from packager.loading.processes import adopt_module; adopt_module(__name__)\n"

_lock = threading.Lock()
_stub_folder: str | None = None
_closed: set[str] = set()


def announce(
    loaded: LoadedArchive,
    path: str,
    digests: str,
    mmap: bool,
    trust: Sequence[str],
    admitted: Sequence[str],
) -> None:
    """Let child processes find an archive again, at `path`, to be opened as it was here.

    `admitted` are the stored modules whose functions migrations may call.
    """
    policy = {
        "path": path,
        "identity": loaded.identity,
        "suffix": loaded.rules.suffix,
        "digests": digests,
        "mmap": mmap,
        "trust": list(trust),
        "admitted": list(admitted),
        "undeclared": loaded.rules.undeclared,
        "bytecode": loaded.bytecode.folder,
    }
    with _lock:
        announced = _announced()
        for top in loaded.top_level_names:
            announced[top] = policy
            _closed.discard(top)
        # Where nothing can be written, workers find the archive once they have imported `packager`.
        with contextlib.suppress(OSError):
            _write_stubs(loaded.top_level_names)
        os.environ[ENVIRONMENT_VARIABLE] = json.dumps(announced)


def withdraw(loaded: LoadedArchive) -> None:
    """Take back what `announce` said: this archive is not opened by its name any more."""
    with _lock:
        announced = _announced()
        _closed.update(loaded.top_level_names)
        for top in loaded.top_level_names:
            stub = os.path.join(_stub_folder or "", f"{top}.py")
            if announced.pop(top, None) is not None and os.path.exists(stub):
                os.unlink(stub)
        os.environ[ENVIRONMENT_VARIABLE] = json.dumps(announced)


def adopt_module(fullname: str) -> None:
    """Put the packaged module `fullname` in the place of the one-line module that calls this.

    Raises ModuleNotFoundError where its archive is not announced any more.
    """
    if _adopt(fullname.partition(".")[0]) is None:
        raise ModuleNotFoundError(f"the archive of {fullname!r} is not open any more", name=fullname)
    # Imported anew, now that the shared finder knows it, and under the lock that is held for the line.
    del sys.modules[fullname]
    importlib.import_module(fullname)


def _adopt(top: str) -> LoadedArchive | None:
    """Open the announced archive that owns `top`, in a process where it is not open."""
    with _lock:
        policy = None if top in _closed else _announced().get(top)
        loaded = loaded_archive_of(top)
        if policy is None or loaded is not None:
            return loaded
        loaded = _reopened(policy)
        register(loaded)
    return loaded if top in loaded.top_level_names else None


def _reopened(policy: dict[str, Any]) -> LoadedArchive:
    from packager.archive import ArchiveReader

    reader = ArchiveReader(policy["path"], digests=policy["digests"], mmap=policy["mmap"])
    if reader.identity != policy["identity"]:
        raise ArchiveError(
            f"{policy['path']}: the archive was replaced since it was opened: its identity is "
            f"{reader.identity}, expected {policy['identity']}; open it anew instead of unpickling from it"
        )
    code, imported = PackagedCode(reader), None
    rules = ImportRules(code, policy["suffix"], policy["undeclared"])
    if MIGRATIONS in reader:
        from .archive_migrations import ArchiveMigrations
        from .stored_objects import LoadContext

        admitted = frozenset(policy["admitted"])
        context = LoadContext.of(reader, policy["trust"], admitted.__contains__, rules.import_module)
        imported = ArchiveMigrations(context).attach
    bytecode = BytecodeCache(policy["bytecode"])
    return LoadedArchive(code, reader.identity, rules, bytecode, imported=imported)


def _announced() -> dict[str, dict[str, Any]]:
    """Return what is announced, by the first part of the name, as it stands in `sys.modules`."""
    announced: dict[str, dict[str, Any]] = json.loads(os.environ.get(ENVIRONMENT_VARIABLE) or "{}")
    return announced


def _write_stubs(tops: Sequence[str]) -> None:
    folder = _make_stub_folder()
    for top in tops:
        with open(os.path.join(folder, f"{top}.py"), "w", encoding="utf-8") as stub:
            stub.write(_STUB)


def _make_stub_folder() -> str:
    global _stub_folder
    if _stub_folder is None:
        import tempfile

        _stub_folder = tempfile.mkdtemp(prefix="kellet-stubs-")
        atexit.register(_remove_stub_folder, _stub_folder, os.getpid())
    if _stub_folder not in sys.path:  # also where an older path was put back since
        sys.path.append(_stub_folder)
    return _stub_folder


def _remove_stub_folder(folder: str, owner: int) -> None:
    if os.getpid() == owner:  # a forked child leaves it to its parent
        import shutil

        shutil.rmtree(folder, ignore_errors=True)


adopters.append(_adopt)
