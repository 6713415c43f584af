"""The clean process of a proof: it takes up an order, does every step, and leaves an answer in a file.

The folder that it is given holds `order`, and gets `steps`, to which each is added as it begins, and `answer`
at the end. Where the process ends before, the last step says what it was at, `ended` which line called
`os._exit` or the like, and `crash` what the interpreter said of a signal.
"""

from __future__ import annotations

import faulthandler
import os
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from types import FrameType
from typing import IO, TYPE_CHECKING, Any, NoReturn

from packager.archive import ArchiveReader
from packager.codecs import default_registry
from packager.errors import CodeExitError, PackageError
from packager.names import demangle, demangle_text
from packager.package_importer import PackageImporter
from packager.process import AnswerRequired
from packager.quick_dataclasses import replace
from packager.version import OWN_PACKAGES

from .clean_environment import enter_clean_environment
from .coming_back import ComingBack, NotAsStoredError, Step, names_to_trust, pickles_of
from .messages import add_message, read_message, write_message
from .proof import Proof, ProofFailure, ProofOrder, bytecode_in, plain_of
from .running_lines import Runs
from .watched_environment import WatchedEnvironment
from .watching import CodePlaces, Watcher, add_hook

if TYPE_CHECKING:
    from .early_frameworks import EarlyFrameworks

_PATIENCE = 1000
"""Milliseconds after which a process that waits for its order looks whether its parent is still there."""
_AHEAD = "packager.objects.auditing packager.objects.building packager.loading.stored_objects"
"""What loading any object of a class imports of ours."""
_MEANWHILE = (
    "packager.loading.packaged_code packager.loading.loaded_archive pathlib packager.loading.stored_states"
)
"""What loading one with code imports besides, each of which is imported while there is no order yet."""
_ZONES = ("/usr/share/zoneinfo", "/usr/lib/zoneinfo", "/usr/share/lib/zoneinfo", "/etc/zoneinfo")
"""Where `zoneinfo` finds what it knows of time zones, which is no file of a model."""

_AGAIN = "again"
"""The argument of a process that has begun anew."""


def main(
    folder: str,
    foremost: int = 0,
    *,
    order: int = -1,
    ended: int = -1,
    parent: int = 0,
    loads_objects: bool = False,
    **first: Any,
) -> None:
    """Carry out the order in `folder`, and end the process.

    The first entries of the path, as many as are `foremost`, are those of our own packages. `order` is a pipe
    that a line comes through once the order is there, `ended` one that closes as this process ends, and
    `parent` the process that it waits for. What may be imported `first` is told to EarlyFrameworks.
    """
    has_begun_anew = sys.argv[1:] == [_AGAIN]
    sys.argv[:] = [""]  # what code of the archive looks for there is not ours
    sys.path.extend(sys.path[:foremost])  # from here on Python's modules come before what lies beside ours
    del sys.path[:foremost]
    early, environment = None, dict(os.environ)
    if has_begun_anew:
        os.set_inheritable(ended, False)
    elif order >= 0:
        early = _await(order, ended, parent, loads_objects, first)
    told = ProofOrder(**read_message(os.path.join(folder, "order")))
    if early is not None and not early.were_in_time(told):
        os.set_inheritable(ended, True)
        os.execve(sys.executable, [*sys.orig_argv, _AGAIN], environment)
    _carry_out(told, folder)


def _await(
    order: int, ended: int, parent: int, loads_objects: bool, first: Mapping[str, Any]
) -> EarlyFrameworks | None:
    """Wait for the line that says that the order is there; end where nobody is left who could send it.

    Return what was imported meanwhile of frameworks, if anything may have been.
    """
    import select

    for pipe in (order, ended):
        os.set_inheritable(pipe, False)  # what this process starts does not keep them open
    poll = select.poll()
    poll.register(order, select.POLLIN)

    def is_told() -> bool:
        return bool(poll.poll(0))

    early = None
    if loads_objects:
        _import_ahead(is_told)
    if first and not is_told():
        from .early_frameworks import EarlyFrameworks

        early = EarlyFrameworks(**first)
        early.begin(is_told)
    while not poll.poll(_PATIENCE):
        if os.getppid() != parent:  # a process that was forked from it may have kept the pipe open
            os._exit(0)
    if not os.read(order, 1):
        os._exit(0)
    os.close(order)
    return early


def _import_ahead(is_told: Callable[[], bool]) -> None:
    """Import of our own packages, and of Python's, what loading an object of any class imports.

    What only some of them import comes after it, until the order `is_told`.
    """
    for name in _AHEAD.split():
        import_module(name)
    default_registry()
    for name in _MEANWHILE.split():
        if is_told():
            return
        import_module(name)


def _carry_out(order: ProofOrder, folder: str) -> None:
    places = CodePlaces(os.path.join(os.environ["KELLET_CACHE"], "code"))
    enter_clean_environment(order.path, order.places, order.hidden)
    with (
        open(os.path.join(folder, "steps"), "wb") as steps,
        open(os.path.join(folder, "crash"), "w", encoding="utf-8") as crash,
    ):
        faulthandler.enable(crash)
        end = _note_exits(os.path.join(folder, "ended"), places)
        ignored = [sys.prefix, sys.base_prefix, "/proc", "/sys", "/dev", *_ZONES, *_folders(order)]
        watcher = Watcher(places, ignored, order.gone)
        watcher.watch()
        environment = WatchedEnvironment(places, order.variables, order.own)
        environment.watch()
        runs = Runs(places, order.asked)
        runs.watch()
        proof = _proof(order, places, steps)
        whole = replace(
            proof,
            effects=tuple(watcher.effects.values()),
            missed=tuple(watcher.missed.values()),
            ran=tuple(sorted(runs.found)),
            variables=tuple((name, place.file, place.line) for name, place in environment.read.items()),
        )
        write_message(os.path.join(folder, "answer"), whole.as_plain())
        sys.stdout.flush()
        sys.stderr.flush()
        end(0)  # threads and exit handlers of the archive's code are not waited for


def _proof(order: ProofOrder, places: CodePlaces, steps: IO[bytes]) -> Proof:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        with ArchiveReader(order.archive, digests="none") as reader:
            try:
                trusted, pickles = names_to_trust(reader), pickles_of(reader)
            except PackageError as error:  # the records contradict the manifest: nothing of it would load
                unread = Step("object", "names of objects", lambda: None)
                return Proof(failures=(failure_of(unread, error, places),))
        importer = PackageImporter(
            order.archive,
            allow_pickle=True,
            trust=trusted,
            environment="ignore",  # it is this one; what is absent here is missed where it is used
            digests="none",  # tensors were written a moment ago
            bytecode=bytecode_in(os.environ["KELLET_CACHE"]) if order.keeps else None,  # where nothing is yet
        )
        coming_back = ComingBack(
            importer, order.modules, order.held, order.unread, order.given, order.settings
        )
        done, failures = [], []
        for step in coming_back.steps():
            add_message(steps, [step.kind, step.subject])
            done.append(f"{step.kind}: {step.subject}")
            failure = _failure_of(step, places)
            if failure is not None:
                failures.append(failure)
        modules = tuple(sorted(importer.modules))
    return Proof(
        steps=tuple(done),
        failures=tuple(failures),
        trusted=trusted,
        pickles=pickles,
        modules=modules,
        differences=tuple(coming_back.differences),
        notes=tuple(coming_back.notes),
    )


def _failure_of(step: Step, places: CodePlaces) -> ProofFailure | None:
    """Do a step; return what went wrong, if anything did."""
    try:
        with AnswerRequired(step.subject):
            step.run()
    except Exception as error:  # whatever the code raises is what the proof is about
        return failure_of(step, error, places)
    return None


def failure_of(step: Step, error: Exception, places: CodePlaces) -> ProofFailure:
    """Return the record of what a step raised: the error that began it, and the lines that led there."""
    first = _first_error(error)
    differs = isinstance(error, NotAsStoredError)
    name: object = ""
    if isinstance(first, ImportError):
        name = getattr(first, "module", "") or vars(ImportError)["name"].__get__(first)
    file = first.filename if isinstance(first, OSError) else ""
    return ProofFailure(
        "differs" if differs and step.kind == "object" else step.kind,
        step.subject,
        str(error) if isinstance(error, CodeExitError | NotAsStoredError) else _said_by(first),
        places.frames_of(first.__traceback__),
        demangle(name) if isinstance(name, str) else "",
        os.fsdecode(file) if isinstance(file, str | bytes) else "",
        error.advice if isinstance(error, NotAsStoredError) else "",
    )


def _first_error(error: BaseException) -> BaseException:
    """Return the error that ours were made of, where they say so."""
    while isinstance(error, PackageError) and error.__cause__ is not None:
        error = error.__cause__
    return error


def _said_by(error: BaseException) -> str:
    cls = type(error)
    name = demangle(f"{cls.__module__}.{cls.__qualname__}").removeprefix("builtins.")
    if isinstance(error, PackageError):
        name = cls.__name__
    return f"{name}: {demangle_text(str(error))}"


def _note_exits(file: str, places: CodePlaces) -> Any:
    """Let what ends this process leave a note of who called it; return the original `os._exit`.

    What takes its place by `os.exec`, and a signal that it sends itself, are known by their events.
    """
    original, own = os._exit, os.getpid()

    def note(how: str, frame: FrameType) -> None:
        if os.getpid() == own:  # a forked child ends so
            place = places.running(frame)
            write_message(file, {"how": how, "place": None if place is None else plain_of(place)})

    def noted_exit(status: int) -> NoReturn:
        note(f"os._exit({status})", sys._getframe(1))
        original(status)

    def noted_event(event: str, arguments: tuple[Any, ...], frame: FrameType) -> None:
        if event == "os.exec" or (arguments[0] == own and arguments[1]):
            note(event, frame)

    os._exit = noted_exit
    if posix := sys.modules.get("posix"):  # which is where it is on Linux and macOS
        vars(posix)["_exit"] = noted_exit
    add_hook({"os.exec", "os.kill"}, noted_event)
    return original


def _folders(order: ProofOrder) -> Sequence[str]:
    """Return the folders in which what is read is no business of the archive's.

    Our own packages are themselves alone: a project may lie below the folder that they are found in.
    """
    inside = [
        os.path.join(folder, name) if name in OWN_PACKAGES else folder
        for name, folders in order.places.items()
        for folder in folders
    ]
    return [*order.path, *inside, os.environ["KELLET_CACHE"], os.getcwd()]
