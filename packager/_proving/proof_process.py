"""The clean process of a proof: it asks for an order, does every step, and says what came of it.

It says each step as it begins. Where the process ends before its answer, the last step says what it was at, a
word of its own which line called `os._exit` or the like, and the file `crash` what the interpreter said of a
signal.
"""

from __future__ import annotations

import faulthandler
import os
import sys
import warnings
from collections.abc import Sequence
from types import FrameType
from typing import Any, NoReturn

from packager._archive import ArchiveReader
from packager._file_access import ADDED_FILE, READ_FILE
from packager._loading import PackagedCode
from packager._names import demangle, demangle_text
from packager._process import AnswerRequired
from packager._quick_dataclasses import replace
from packager._version import OWN_PACKAGES
from packager.errors import CodeExitError, PackageError
from packager.package_importer import PackageImporter

from .clean_environment import Waiting, enter_clean_environment
from .coming_back import ComingBack, NotAsStoredError, Step, names_to_trust, pickles_of
from .line import Address, Line
from .proof import Proof, ProofFailure, ProofOrder, Run, Seen, bytecode_in
from .watching import EVERY_NAME, CodePlaces, Runs, WatchedEnvironment, Watcher, add_hook

_ZONES = ("/usr/share/zoneinfo", "/usr/lib/zoneinfo", "/usr/share/lib/zoneinfo", "/etc/zoneinfo")
"""Where `zoneinfo` finds what it knows of time zones, which is no file of a model."""
_AGAIN = "again"
"""The first argument of a process that has begun anew, before the folder and the token of its run."""
_MOST_CAUSES = 5


def main(address: Address, parent: int, *, forks: bool) -> None:
    """Wait for runs, and do one, which ends the process; `parent` hears at `address`."""
    again, environment = sys.argv[1:], dict(os.environ)
    sys.argv[:] = [""]  # what code of the archive looks for there is not ours
    sys.path[:] = dict.fromkeys(sys.path)  # Python's own folders were there before
    if again:
        folder, line = again[1], Line(address, again[2])
        order: ProofOrder = line.ask("order")
    else:
        waiting = Waiting(parent, forks)
        folder, line = waiting.run(address)
        _enter(folder)
        order = line.ask("order")
        if not waiting.was_in_time(order):
            os.execve(sys.executable, [*sys.orig_argv, _AGAIN, folder, line.token], environment)
    _enter(folder)
    _carry_out(order, folder, line)


def _enter(folder: str) -> None:
    """Take the folder of a run as that of this process: for its work, caches, temporary files and output."""
    os.chdir(os.path.join(folder, "work"))
    os.environ["KELLET_CACHE"] = os.path.join(folder, "cache")
    for name in ("TMPDIR", "TEMP", "TMP"):
        os.environ[name] = os.path.join(folder, "temporary")
    if "tempfile" in sys.modules:
        vars(sys.modules["tempfile"])["tempdir"] = None  # which it may have looked up
    nothing = os.open(os.devnull, READ_FILE)
    said = os.open(os.path.join(folder, "said"), ADDED_FILE, 0o600)
    for number, stream in enumerate((nothing, said, said)):
        os.dup2(stream, number)
    os.close(nothing)
    os.close(said)


def _carry_out(order: ProofOrder, folder: str, line: Line) -> None:
    places = CodePlaces(os.path.join(os.environ["KELLET_CACHE"], "code"))
    finders = enter_clean_environment(order.path, order.places, order.hidden)
    with open(os.path.join(folder, "crash"), "w", encoding="utf-8") as crash:
        faulthandler.enable(crash)
        end = _note_exits(line, places)
        ignored = [sys.prefix, sys.base_prefix, "/proc", "/sys", "/dev", *_ZONES, *_folders(order)]
        watcher = Watcher(places, ignored, order.gone)
        watcher.watch()
        environment = WatchedEnvironment(places, order.variables)
        environment.watch()
        runs = Runs(places, order.asked)
        runs.watch()
        asking, PackagedCode.withheld = None, order.withheld
        if order.asks:
            from .asking import Asking  # where no one answers, nothing is asked

            asking = Asking(line, places, watcher, finders)
            asking.begin()
        proof, seen = _proof(order, places, line)
        variables = [one for one in environment.read.values() if one.name in (EVERY_NAME, *order.variables)]
        proof = replace(
            proof,
            effects=tuple(watcher.effects.values()),
            ran=tuple(sorted(runs.found)),
            variables=tuple((one.name, one.place.file, one.place.line) for one in variables),
        )
        run = Run(proof, seen=seen)
        if asking is not None:
            probes = (*asking.probes.values(), *environment.read.values())
            externs, sets = tuple(asking.used.values()), tuple(environment.set.values())
            run = replace(run, probes=probes, externs=externs, sets=sets)
        line.ask(run)
        sys.stdout.flush()
        sys.stderr.flush()
        end(0)  # threads and exit handlers of the archive's code are not waited for


def _proof(order: ProofOrder, places: CodePlaces, line: Line) -> tuple[Proof, Seen]:
    """Do all steps; return what came of them, and what hangs on the modules if that may be of use.

    So it is where something fails, and where nothing was called. That is before modules are imported that
    were saved by name: whoever loads an object has not imported those.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        with ArchiveReader(order.archive, digests="none") as reader:
            trusted: list[str] = []
            naming = Step("object", "names of objects", lambda: trusted.extend(names_to_trust(reader)))
            if (failure := _failure_of(naming, places)) is not None:
                return Proof(failures=(failure,)), {}  # the records contradict the manifest
            pickles = pickles_of(reader)
        importer = PackageImporter(
            order.archive,
            allow_pickle=True,
            trust=trusted,
            environment="ignore",  # it is this one; what is absent here is missed where it is used
            digests="none",  # tensors were written a moment ago
            signed_by="anyone",  # nobody has signed it yet
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
            line.ask(("step", step.kind, step.subject))
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
        trusted=tuple(trusted),
        pickles=pickles,
        modules=modules,
        notes=tuple(coming_back.notes),
    )
    return proof, looked


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
        return _failure(step, error, places)
    return None


def _failure(step: Step, error: Exception, places: CodePlaces) -> ProofFailure:
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


def _note_exits(line: Line, places: CodePlaces) -> Any:
    """Let what ends this process say who called it, signals to itself too; return the original `os._exit`."""
    original, own = os._exit, os.getpid()

    def note(how: str, arguments: tuple[Any, ...], frame: FrameType) -> None:
        if os.getpid() == own and (how != "os.kill" or (arguments[0] == own and arguments[1])):
            line.ask(("end", how, places.running(frame)))  # a forked child ends so, too

    def noted_exit(status: int) -> NoReturn:
        note(f"os._exit({status})", (), sys._getframe(1))
        original(status)

    os._exit = noted_exit
    if posix := sys.modules.get("posix"):  # which is where it is on Linux and macOS
        vars(posix)["_exit"] = noted_exit
    add_hook({"os.exec", "os.kill"}, note)
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
