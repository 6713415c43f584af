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
from collections.abc import Sequence
from types import FrameType
from typing import IO, TYPE_CHECKING, Any, NoReturn

from packager.archive import ArchiveReader
from packager.errors import CodeExitError, PackageError
from packager.loading import PackagedCode
from packager.names import demangle, demangle_text
from packager.package_importer import PackageImporter
from packager.process import AnswerRequired
from packager.quick_dataclasses import replace
from packager.version import OWN_PACKAGES

from .clean_environment import enter_clean_environment
from .coming_back import ComingBack, NotAsStoredError, Step, names_to_trust, pickles_of
from .line import Line, pipe_line, socket_line
from .messages import add_message, read_message, write_message
from .proof import Proof, ProofFailure, ProofOrder, bytecode_in, plain_of
from .running_lines import Runs
from .waiting import Waiting
from .watched_environment import EVERY_NAME, WatchedEnvironment
from .watching import CodePlaces, Watcher, add_hook

if TYPE_CHECKING:
    from .differences import Seen

_ZONES = ("/usr/share/zoneinfo", "/usr/lib/zoneinfo", "/usr/share/lib/zoneinfo", "/etc/zoneinfo")
"""Where `zoneinfo` finds what it knows of time zones, which is no file of a model."""

_AGAIN = "again"
_MOST_CAUSES = 5
"""The argument of a process that has begun anew, before the folder of its run."""


def main(
    folder: str,
    *,
    order: int = -1,
    ended: int = -1,
    parent: int = 0,
    loads_objects: bool = False,
    forks: bool = False,
) -> None:
    """Carry out the order in `folder`, and end the process.

    `order` is a pipe that messages come through: what to import, and the folder of a run once its order is
    there. `ended` is one that closes as this process ends, and `parent` the process that it waits for. Where
    it `forks`, it does so for each run, and writes to `ended` how that has ended.
    """
    run = sys.argv[2] if sys.argv[1:2] == [_AGAIN] else ""
    sys.argv[:] = [""]  # what code of the archive looks for there is not ours
    sys.path[:] = dict.fromkeys(sys.path)  # Python's own folders were there before
    waiting, environment = None, dict(os.environ)
    if not run and order >= 0:
        waiting = Waiting(order, ended, parent, forks)
        run = waiting.run(loads_objects)
    if run:  # else it was started in the folder of its run
        _enter(run)
    run = run or folder
    told = ProofOrder(**read_message(os.path.join(run, "order")))
    if waiting is not None and not waiting.was_in_time(told):
        os.execve(sys.executable, [*sys.orig_argv, _AGAIN, run], environment)
    _carry_out(told, run)


def _enter(run: str) -> None:
    """Take the folder of a run as that of this process: for its work, caches, temporary files and output."""
    os.chdir(os.path.join(run, "work"))
    os.environ["KELLET_CACHE"] = os.path.join(run, "cache")
    for name in ("TMPDIR", "TEMP", "TMP"):
        os.environ[name] = os.path.join(run, "temporary")
    if "tempfile" in sys.modules:
        vars(sys.modules["tempfile"])["tempdir"] = None  # which it may have looked up
    said = os.open(os.path.join(run, "said"), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    for number in (1, 2):
        os.dup2(said, number)
    os.close(said)


def _carry_out(order: ProofOrder, folder: str) -> None:
    places = CodePlaces(os.path.join(os.environ["KELLET_CACHE"], "code"))
    line = _line(order.line)
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
        environment = WatchedEnvironment(places, order.variables, order.own, notes_all=line is not None)
        environment.watch()
        runs = Runs(places, order.asked)
        runs.watch()
        asking, PackagedCode.withheld = None, order.withheld
        if line is not None:
            from .asking import Asking  # where no one answers, nothing is asked

            asking = Asking(line, places, watcher.look)
            asking.begin()
        proof, looked = _proof(order, places, steps)
        whole = replace(
            proof,
            effects=tuple(watcher.effects.values()),
            missed=tuple(watcher.missed.values()),
            ran=tuple(sorted(runs.found)),
            variables=tuple(
                (name, place.file, place.line)
                for name, place in environment.read.items()
                if name == EVERY_NAME or name in order.variables
            ),
        )
        seen = {} if asking is None else asking.seen(environment)
        write_message(os.path.join(folder, "answer"), {"proof": whole.as_plain(), "seen": looked, **seen})
        sys.stdout.flush()
        sys.stderr.flush()
        end(0)  # threads and exit handlers of the archive's code are not waited for


def _line(address: str) -> Line | None:
    """Return the line that an order names; None where no one answers."""
    if not address:
        return None
    return pipe_line() if address == "pipe" else socket_line(address)


def _proof(order: ProofOrder, places: CodePlaces, steps: IO[bytes]) -> tuple[Proof, Seen]:
    """Do all steps; return what came of them, and what hangs on the modules if that may be of use.

    So it is where something fails, and where nothing was called. That is before modules are imported that
    were saved by name: whoever loads an object has not imported those.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        with ArchiveReader(order.archive, digests="none") as reader:
            try:
                trusted, pickles = names_to_trust(reader), pickles_of(reader)
            except PackageError as error:  # the records contradict the manifest: nothing of it would load
                unread = Step("object", "names of objects", lambda: None)
                return Proof(failures=(failure_of(unread, error, places),)), {}
        importer = PackageImporter(
            order.archive,
            allow_pickle=True,
            trust=trusted,
            environment="ignore",  # it is this one; what is absent here is missed where it is used
            digests="none",  # tensors were written a moment ago
            bytecode=bytecode_in(os.environ["KELLET_CACHE"]) if order.keeps else None,  # where nothing is yet
        )
        coming_back = ComingBack(importer, order.modules, order.unread)
        done: list[str] = []
        failures: list[ProofFailure] = []
        looked: Seen = {}
        is_called = any(check.outputs for check in importer.manifest.checks)
        for step in coming_back.steps():
            if step.kind == "import" and not looked and (failures or not is_called):
                looked = _look(order, importer, all_of_it=bool(failures))
            add_message(steps, [step.kind, step.subject])
            done.append(f"{step.kind}: {step.subject}")
            failure = _failure_of(step, places)
            if failure is not None:
                failures.append(failure)
        if not looked if failures else not is_called:  # what was looked at before stays as it was
            looked = {**_look(order, importer, all_of_it=bool(failures)), **looked}
        modules = tuple(sorted(importer.modules))
    proof = Proof(
        steps=tuple(done),
        failures=tuple(failures),
        trusted=trusted,
        pickles=pickles,
        modules=modules,
        notes=tuple(coming_back.notes),
    )
    return proof, {**looked, **coming_back.made}


def _look(order: ProofOrder, importer: PackageImporter, *, all_of_it: bool) -> Seen:
    """Look at stored modules that are loaded: the project's, and behind them stored libraries."""
    from .differences import look_at  # where a call has failed, or there was none

    own = {name.partition(".")[0] for name in order.own}
    loaded = sorted(importer.modules, key=lambda name: (name.partition(".")[0] not in own, name))
    types = {use.name for record in importer.manifest.objects for use in record.types}
    looked_at = {
        name: importer.modules[name] for name in loaded if all_of_it or name.partition(".")[0] in own
    }
    return look_at(looked_at, types)


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
        causes=tuple(map(_said_by, _causes(first))),
    )


def _first_error(error: BaseException) -> BaseException:
    """Return the error that ours were made of, where they say so."""
    while isinstance(error, PackageError) and error.__cause__ is not None:
        error = error.__cause__
    return error


def _causes(error: BaseException) -> list[BaseException]:
    """Return what an error was raised for, the nearest first: lazy packages name it there alone."""
    found: list[BaseException] = []
    cause = error.__cause__ or error.__context__
    while cause is not None and len(found) < _MOST_CAUSES and all(cause is not one for one in found):
        found.append(cause)
        cause = cause.__cause__ or cause.__context__
    return found


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
