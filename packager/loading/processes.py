"""How another process finds the archive again: pickled names of packaged classes lead back to it.

An environment variable, inherited by children, maps each open archive's identity to its path and
policy. A folder of one-line modules, named as the packaged packages are, is appended to `sys.path`;
`multiprocessing` hands `sys.path` on, so a spawned worker that never imported `packager` imports such
a line, which opens the archive and puts the real package in its place. Identity and policy are checked
again there; an archive that was closed here is never opened again by its name.
"""

from __future__ import annotations

import atexit
import importlib.util
import json
import os
import shutil
import sys
import tempfile
import threading

from packager.errors import ArchiveError
from packager.names import mangled_identity

from . import finder
from .bytecode import BytecodeCache
from .code import PackagedCode
from .world import World

__all__ = ["ENVIRONMENT_VARIABLE", "adopt_module", "announce", "withdraw"]

ENVIRONMENT_VARIABLE = "KEDGE_OPEN_ARCHIVES"

_STUB = "from packager.loading.processes import adopt_module; adopt_module(__name__)\n"

_lock = threading.Lock()
_stub_folder: str | None = None
_closed: set[str] = set()


def announce(world: World, path: str, identity: str, digests: str) -> None:
    """Let child processes find `world` again, from the archive at `path`."""
    policy = {"path": path, "identity": identity, "digests": digests, "undeclared": world.rules.undeclared}
    with _lock:
        announced = _announced()
        announced[world.suffix] = policy
        os.environ[ENVIRONMENT_VARIABLE] = json.dumps(announced)
        folder = _make_stub_folder()
        for top in world.tops:
            with open(os.path.join(folder, f"{top}.py"), "w", encoding="utf-8") as stub:
                stub.write(_STUB)


def withdraw(world: World) -> None:
    """Take back what `announce` said: nobody opens this archive by its name any more."""
    with _lock:
        _closed.add(world.suffix)
        announced = _announced()
        if announced.pop(world.suffix, None) is None:
            return
        os.environ[ENVIRONMENT_VARIABLE] = json.dumps(announced)
        for top in world.tops:
            stub = os.path.join(_stub_folder or "", f"{top}.py")
            if os.path.exists(stub):
                os.unlink(stub)


def adopt_module(fullname: str) -> None:
    """Put the packaged module `fullname` in the place of the one-line module that calls this."""
    world = _adopt(fullname.partition(".")[0])
    spec = None if world is None else world.find_spec(fullname)
    if spec is None or spec.loader is None:
        raise ModuleNotFoundError(f"the archive of {fullname!r} is not open any more", name=fullname)
    module = importlib.util.module_from_spec(spec)
    sys.modules[fullname] = module
    spec.loader.exec_module(module)


def _adopt(top: str) -> World | None:
    """Open the announced archive that owns `top`, in a process where it is not open."""
    marked = mangled_identity(top)
    if marked is None:
        return None
    suffix = f"__w{marked[0]}_{marked[1]}"
    with _lock:
        policy = None if suffix in _closed else _announced().get(suffix)
        if policy is None or finder.is_open(top):
            return finder.world_of(top)
        world = _reopened(suffix, policy)
        finder.register(world)
    return world if top in world.tops else None


def _reopened(suffix: str, policy: dict[str, str]) -> World:
    from packager.archive.reader import ArchiveReader

    reader = ArchiveReader(policy["path"], digests=policy["digests"])
    if reader.identity != policy["identity"]:
        raise ArchiveError(
            f"{policy['path']}: the archive was replaced since it was opened: its identity is "
            f"{reader.identity}, expected {policy['identity']}; open it anew instead of unpickling from it"
        )
    code = PackagedCode(reader)
    return World(code, reader.identity, suffix, undeclared=policy["undeclared"], bytecode=BytecodeCache(None))


def _announced() -> dict[str, dict[str, str]]:
    text = os.environ.get(ENVIRONMENT_VARIABLE)
    if not text:
        return {}
    announced: dict[str, dict[str, str]] = json.loads(text)
    return announced


def _make_stub_folder() -> str:
    global _stub_folder
    if _stub_folder is None:
        _stub_folder = tempfile.mkdtemp(prefix="kedge-stubs-")
        sys.path.append(_stub_folder)
        atexit.register(_remove_stub_folder, _stub_folder, os.getpid())
    return _stub_folder


def _remove_stub_folder(folder: str, owner: int) -> None:
    if os.getpid() == owner:  # a forked child leaves it to its parent
        shutil.rmtree(folder, ignore_errors=True)


finder.adopter.append(_adopt)
