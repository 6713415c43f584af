"""The server: an interpreter that has imported what most scripts import, and forks a child for each order.

A child becomes a child of the process that asked, which is the reaper of orphans for that moment. It is set
up as a fresh interpreter would be, runs its program with none of the server's frames in a traceback, and ends
as an interpreter does. Messages are a length and JSON; descriptors come with the first byte.
"""

from __future__ import annotations

import atexit
import ctypes
import fcntl
import gc
import importlib
import io
import itertools
import json
import linecache
import os
import pkgutil
import runpy
import signal
import socket
import subprocess
import sys
import sysconfig
import time
import types
import warnings
from importlib.machinery import BuiltinImporter, SourceFileLoader
from importlib.util import find_spec
from typing import Any, Final

_NEEDED: Final = (
    *("numpy.random", "kellet.nn", "packager._cli.main", "packager.package_exporter"),
    *("packager.package_importer", "packager._proving.proof_process", "packager._objects.building"),
    *(
        "packager._loading.packaged_code",
        "packager._loading.stored_objects",
        "packager._loading.stored_states",
    ),
    "packager._loading.parsing_process",
)
"""What exports, loads, proofs and commands import, with all that it imports in its turn.

Not `packager._loading.open_archives`, which looks at the environment as it is imported."""
_PIP: Final = (
    *("pip._internal.cli.main", "pip._internal.cli.main_parser"),
    *("pip._internal.commands.download", "pip._internal.commands.install"),
)
"""What pip imports to go on for another environment, to fetch wheels and to install: `-P` is its flag."""
COLD_PIP: Final = "KELLET_COLD_PIP"
"""A variable for tests of what could be imported beside pip: it starts cold in another environment."""
_STANDARD: Final = ("stdin", "stdout", "stderr")
_CLEAN: Final = dict(
    isolated=0,
    safe_path=True,
    no_user_site=1,
    ignore_environment=0,
    dont_write_bytecode=0,
    hash_randomization=0,
)
"""Flags of the clean process of a proof: `-s -P`, with PYTHONHASHSEED=0, which a fork cannot take up."""
_DEATH_SIGNAL: Final = 1
"""PR_SET_PDEATHSIG: what a process gets once its parent has ended."""
_LENGTH: Final = 8
_MOST_DESCRIPTORS: Final = 64


def send(channel: socket.socket, message: Any, descriptors: list[int] | None = None) -> None:
    """Send a message, and copies of descriptors with it."""
    data = json.dumps(message).encode()
    socket.send_fds(channel, [len(data).to_bytes(_LENGTH)], descriptors or [])
    channel.sendall(data)


def receive(channel: socket.socket) -> tuple[Any, list[int]]:
    """Return a message and its descriptors; raise EOFError where the other end is closed."""
    head, descriptors, _, _ = socket.recv_fds(channel, _LENGTH, _MOST_DESCRIPTORS)
    head += _received(channel, _LENGTH - len(head))
    return json.loads(_received(channel, int.from_bytes(head))), descriptors


def _received(channel: socket.socket, size: int) -> bytes:
    parts = []
    while size:
        if not (part := channel.recv(min(size, 1 << 20))):
            raise EOFError("the other end is closed")
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def main() -> None:
    """Import, serve until no one asks any more, and in each child run what was ordered."""
    channel = socket.socket(fileno=int(sys.argv[1]))
    del sys.modules["__main__"]
    if not sys.flags.safe_path:
        del sys.path[0]
    usual, finders, path = list(warnings.filters), list(sys.meta_path), list(sys.path)
    sys.path += sys.argv[2:]
    starting = _take_up_starting()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    is_for_pip = sys.flags.safe_path and not sys.flags.isolated and find_spec("pip") is not None
    for name in (*_NEEDED, *(_PIP if is_for_pip else ())):
        importlib.import_module(name)
    codecs = importlib.import_module("packager._codecs")
    for found in pkgutil.iter_modules(codecs.__path__, "packager._codecs."):
        importlib.import_module(found.name)
    sys.path[:] = path
    added = warnings.filters[: len(warnings.filters) - len(usual)]
    gc.collect()
    gc.freeze()
    send(channel, {name: _file_of(module) for name, module in sys.modules.items() if "." not in name})
    order = _serve(channel)
    if order is not None and order["proves"]:
        order = _lend(starting, order)
    if order is not None:
        warnings.filters[:] = usual
        if order["program"] != "pip":
            sys.meta_path[:] = finders  # without that of a library in pip
        _set_up(order)
        warnings.filters[:0] = added
        _run(order["kind"], order["program"])


def _take_up_starting() -> types.ModuleType:
    """Return the module that asks servers, by which proofs are started; nobody finds it in `sys.modules`."""
    there = set(sys.modules)
    sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
    processes = importlib.import_module("tests.processes")
    del sys.path[0]
    importlib.import_module("packager._proving.clean_process").subprocess = processes
    for name in set(sys.modules) - there:
        if name.partition(".")[0] == "tests":
            del sys.modules[name]
    return processes.starting


def _file_of(module: types.ModuleType) -> str | None:
    file = getattr(module, "__file__", None)
    return None if file is None else os.path.realpath(file)


def _serve(channel: socket.socket) -> dict[str, Any] | None:
    """Fork for each order, and tell who asked the number of the child; return the order in the child."""
    while True:
        try:
            order, descriptors = receive(channel)
        except (EOFError, ConnectionError):
            return None
        told, tell = os.pipe()
        if between := os.fork():
            os.waitpid(between, 0)  # its child has another parent from here on
            child = int(os.read(told, 32))
            for number in (told, tell, *descriptors):
                os.close(number)
            send(channel, child)
            continue
        between = os.getpid()
        if child := os.fork():
            if order["group"]:  # before it is told of, so that the group can be ended at once
                os.setpgid(child, child)
            os.write(tell, b"%d" % child)
            os._exit(0)
        while os.getppid() == between:
            time.sleep(0.0001)
        channel.detach()
        _take(descriptors, order["numbers"])
        return dict(order)


def _lend(starting: types.ModuleType, order: dict[str, Any]) -> dict[str, Any] | None:
    """Fork a server for the clean processes of proofs, which are to become children of this process.

    It is one of `-s -P`, and ends with this process. Return the order; in a child of it the order of that.
    """
    listening = socket.socket(socket.AF_UNIX)
    listening.bind("")  # the system gives an abstract name
    listening.listen()
    asking = os.getpid()
    if os.fork():
        starting.lend(listening.getsockname())
        listening.close()
        return order
    ctypes.CDLL(None).prctl(_DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != asking:
        return None
    nothing = os.open(os.devnull, os.O_RDWR)
    _take([nothing, nothing, nothing, listening.detach()], [0, 1, 2, 3])
    listening = socket.socket(fileno=3)
    listening.settimeout(1)
    _clean()
    while True:
        try:
            channel, _ = listening.accept()
        except TimeoutError:
            if os.getppid() != asking:  # that it ended is not always told by the signal
                os._exit(0)
            continue
        if told := _serve(channel):
            listening.detach()
            return told
        channel.close()


def _clean() -> None:
    """Have this process be one that was started with `-s -P`."""
    names = type(sys.flags).__match_args__
    for name, value in _CLEAN.items():
        held = ctypes.py_object(value)
        ctypes.pythonapi.Py_IncRef(held)
        ctypes.pythonapi.PyStructSequence_SetItem(ctypes.py_object(sys.flags), names.index(name), held)
    sys.dont_write_bytecode = False
    for name in _STANDARD[1:]:
        getattr(sys, name).reconfigure(write_through=False)


def _take(descriptors: list[int], numbers: list[int]) -> None:
    """Give descriptors the numbers that they have where they come from, and close all others."""
    above = max(*numbers, *descriptors) + 1
    moved = [fcntl.fcntl(number, fcntl.F_DUPFD, above) for number in descriptors]
    for number, wanted in zip(moved, numbers, strict=True):
        os.dup2(number, wanted)
    ends = [*sorted(numbers), os.sysconf("SC_OPEN_MAX")]
    for kept, end in itertools.pairwise(ends):
        os.closerange(kept + 1, end)


def _set_up(order: dict[str, Any]) -> None:
    """Make this process what a fresh interpreter would be as it begins its program."""
    if order["session"]:
        os.setsid()
    os.umask(order["umask"])
    os.chdir(order["cwd"])
    for name in set(os.environ) - set(order["env"]):
        del os.environ[name]
    os.environ.update(order["env"])
    time.tzset()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    _open_streams()
    sys.argv[:] = order["argv"]
    sys.orig_argv[:] = order["command"]
    sys.path[:0] = order["path"]
    sys.path_importer_cache.clear()
    sys.warnoptions[:] = order["warnings"]
    warnings._processoptions(sys.warnoptions)  # type: ignore[attr-defined]  # as the interpreter calls it
    atexit.register(_leave_to_system, set(sys.modules))
    sys.modules["numpy"].random.seed()
    sys.modules["kellet"].default_generator.seed()


def _leave_to_system(names: set[str]) -> None:
    """Take down nothing that the server has imported of libraries: that takes six times as long as a fork."""
    kept = {name: module for name, module in sys.modules.items() if name in names}
    for name in kept:
        if name.partition(".")[0] not in sys.stdlib_module_names:
            del sys.modules[name]
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(kept))


def _open_streams() -> None:
    """Open the standard streams anew, as an interpreter opens them."""
    for number, name in enumerate(_STANDARD):
        old = getattr(sys, name)
        raw = io.FileIO(number, "rb" if number == 0 else "wb", closefd=False)
        raw.name = f"<{name}>"
        is_read_ahead, is_buffered = number == 0, not old.write_through
        stream = io.TextIOWrapper(
            io.BufferedReader(raw) if is_read_ahead else io.BufferedWriter(raw) if is_buffered else raw,
            old.encoding,
            old.errors,
            newline=None if number == 0 else "\n",
            line_buffering=not old.write_through and (name == "stderr" or raw.isatty()),
            write_through=old.write_through,
        )
        stream.mode = "r" if number == 0 else "w"
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)


def _run(kind: str, program: str) -> None:
    """Run a program as `__main__`; raise what ends the interpreter as the program would have ended it."""
    module = types.ModuleType("__main__")
    vars(module).update(__builtins__=sys.modules["builtins"], __loader__=BuiltinImporter)
    if sys.version_info < (3, 14):  # which keeps the code of annotations instead
        vars(module)["__annotations__"] = {}
    sys.modules["__main__"] = module
    try:
        if (kind, program) == ("-m", "pip") and _PIP[-1] in sys.modules:
            sys.modules[_PIP[1]].subprocess = types.SimpleNamespace(
                run=_run_there, SubprocessError=subprocess.SubprocessError
            )
        if kind == "-m":
            runpy._run_module_as_main(program)  # type: ignore[attr-defined]  # as the interpreter calls it
        elif kind == "-c":
            code = compile(program, "<string>", "exec", dont_inherit=True)
            if sys.version_info >= (3, 14):  # where tracebacks have its lines, and warnings do not
                linecache._register_code(code, program, "<string>")
            elif sys.version_info >= (3, 13):  # where both have
                lines = [f"{line}\n" for line in program.splitlines()]
                linecache.cache["<string>"] = (len(program), None, lines, "<string>")
            exec(code, vars(module))
        elif pkgutil.get_importer(program) is not None:
            runpy._run_module_as_main("__main__", False)  # type: ignore[attr-defined]  # as above
        else:
            file = os.path.join(os.getcwd(), program.removeprefix("./"))
            loader = SourceFileLoader("__main__", file)
            vars(module).update(__file__=file, __cached__=None, __loader__=loader)
            with open(file, "rb") as source:
                code = compile(source.read(), file, "exec", dont_inherit=True)
            exec(code, vars(module))
    except SystemExit:
        raise
    except BaseException as error:
        traceback = error.__traceback__.tb_next if error.__traceback__ else None
        sys.excepthook(type(error), error.with_traceback(traceback), traceback)
        if isinstance(error, KeyboardInterrupt):
            sys.excepthook = lambda *told: None
            raise  # the interpreter ends itself by the signal
        raise SystemExit(1) from None


def _run_there(command: list[str]) -> subprocess.CompletedProcess[bytes]:
    """Run pip with the Python of another environment in a fork of this pip, which is made to be that Python.

    It starts cold where something is installed there, which could be imported, and where a test asks for it.
    """
    python, runner, *arguments = command
    home = os.path.dirname(os.path.dirname(python))
    site = sysconfig.get_path("purelib", vars={"base": home})
    is_ours = os.path.realpath(python) == os.path.realpath(sys.executable)
    is_made = os.path.isfile(os.path.join(home, "pyvenv.cfg")) and os.path.isdir(site)
    is_empty = is_made and not os.listdir(site)
    if os.environ.get(COLD_PIP) or not (is_ours and is_empty):
        return subprocess.run(command, check=False)
    if child := os.fork():
        ended = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        return subprocess.CompletedProcess(command, ended)
    ended = 1
    try:
        _become(python, home, site)
        sys.argv[:] = [os.path.join(os.path.dirname(runner), "__main__.py"), *arguments]  # as runpy has it
        sys.orig_argv[:] = command
        sys.path.insert(0, os.path.dirname(runner))
        ended = sys.modules[_PIP[0]].main(arguments)
    except SystemExit as end:
        ended = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException as error:
        sys.excepthook(type(error), error, error.__traceback__)
    finally:
        try:
            sys.stdout.flush()
            sys.stderr.flush()
        finally:
            os._exit(ended)


def _become(python: str, home: str, site: str) -> None:
    """Have this process be that of an environment of the same Python, where nothing is installed."""
    stdlib = [sysconfig.get_path(name) for name in ("stdlib", "platstdlib")]
    standard = [path for path in sys.path if path.startswith((sys.base_prefix, *stdlib))]
    sys.path[:] = [*(path for path in standard if not path.endswith("-packages")), site]
    sys.executable, sys.prefix, sys.exec_prefix = python, home, home
    variables = sysconfig.get_config_vars()
    vars(sysconfig).update(_PREFIX=home, _EXEC_PREFIX=home)
    variables.update(prefix=home, exec_prefix=home, base=home, platbase=home)
    sys.modules["site"].PREFIXES[:] = [home]
    sys.modules["pip._internal.locations.base"].site_packages = site
    sys.path_importer_cache.clear()


if __name__ == "__main__":
    main()
