"""What a block of ours holds the whole process to: code of a model answers.

`sys.exit()` in a model is a failure with a place.

An exception that is no Exception (SystemExit, GeneratorExit, one of the code's own, a KeyboardInterrupt
that it raises itself) goes past every `except Exception`, and SystemExit(0) would end a command as if
all had gone well. So wherever code of a model is run, it is run in an `AnswerRequired`. Commands and exports
also hold `os._exit`, which would end the process without a word. A command
whose process is ended by a signal ends as one that is interrupted does.
"""

from __future__ import annotations

import _thread
import atexit
import contextlib
import gc
import os
import sys
from collections.abc import Iterator
from types import TracebackType

from packager.errors import CodeExitError, PackageError

TYPE_CHECKING = False  # as in packager._lazy
if TYPE_CHECKING:
    import signal
    from typing import Any, NoReturn
else:
    try:
        import _signal as signal  # `signal` itself makes enumerations of its numbers, by `enum`
    except ImportError:  # a Python without it
        import signal


_FRAMES = 8
"""How many of the innermost calls the notes of the error show."""

_OURS = os.path.dirname(os.path.abspath(__file__)) + os.sep
_STANDARD_LIBRARY = os.path.dirname(os.__file__) + os.sep
_NOT_OF_MODELS = {*sys.stdlib_module_names, *"kellet ml_dtypes msgpack numpy packager rich torch".split()}
"""Packages that work for us as well: where they fail says nothing of whose fault it is."""


class AnswerRequired:
    """A block that runs code of a model, and raises CodeExitError where that code ends it otherwise.

    An Exception goes through, and so does an interrupt from the keyboard. `what` is what was being
    done, and begins the message. With `hold` that goes for `os._exit`, too, where this thread of this process
    calls it.

    >>> with AnswerRequired("making the model"):
    ...     raise SystemExit(0)
    Traceback (most recent call last):
    packager.errors.CodeExitError: making the model: its code ended with SystemExit(0), at ...
    """

    __slots__ = ("_hold", "_what")

    def __init__(self, what: str, *, hold: bool = False) -> None:
        self._what, self._hold = what, hold

    def __enter__(self) -> None:
        if self._hold:
            _held.enter()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._hold:
            _held.leave()
        if error is None or isinstance(error, Exception) or _is_from_keyboard(error, trace):
            return
        raise _exit_error(self._what, error) from error


class _ProcessEnd(BaseException):
    """What `os._exit` raises where it is held; it is spelt as that call."""

    __module__, __qualname__ = "os", "_exit"


class _HeldExit:
    """`os._exit` while blocks hold it: the threads in such blocks raise, all else ends as it would.

    One function stands in its place from the first block to the last, however many threads have one.
    """

    def __init__(self) -> None:
        self._lock = _thread.allocate_lock()
        self._own: Any = _thread._local()
        self._blocks = 0
        self._original: Any = os._exit

    def enter(self) -> None:
        """Hold it for this thread."""
        self._own.process, self._own.blocks = os.getpid(), getattr(self._own, "blocks", 0) + 1
        with self._lock:
            if not self._blocks:
                self._original, os._exit = os._exit, self._exit
            self._blocks += 1

    def leave(self) -> None:
        """Let go of it for this thread."""
        self._own.blocks -= 1
        with self._lock:
            self._blocks -= 1
            if not self._blocks and os._exit == self._exit:
                os._exit = self._original

    def _exit(self, status: int) -> NoReturn:
        if getattr(self._own, "blocks", 0) and self._own.process == os.getpid():  # a forked child ends so
            raise _ProcessEnd(status)
        self._original(status)
        raise AssertionError("os._exit came back")


_held = _HeldExit()


def callers_level() -> int:
    """Return the `stacklevel`, for a warning of the function that asks, of the first line outside of ours.

    What `contextlib` runs between our functions is passed over.
    """
    ours = (__name__.partition(".")[0], "contextlib")
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in ours:
        level, frame = level + 1, frame.f_back
    return level


class WithoutOwnFrames:
    """A block of a public call, whose typed errors show the caller's line and none of ours.

    An error that came through other code keeps its traceback, and so does any other exception. Causes stay.
    """

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: TracebackType | None) -> None:
        if not isinstance(error, PackageError):
            return
        while trace is not None:
            file = trace.tb_frame.f_code.co_filename
            if not (file.startswith(_OURS) or _is_standard(file)):
                return
            trace = trace.tb_next
        error.__traceback__ = None


def python_here() -> str:
    """Return `sys.executable` where that is a Python that can be started, else "".

    In a program that embeds Python it may be that program; a frozen one would start itself.
    """
    python = sys.executable or ""
    is_python = "py" in os.path.basename(python).lower() and not getattr(sys, "frozen", False)
    return python if is_python else ""


def place_in_model(error: BaseException) -> str:
    """Return where the code of a model failed, as ", at FILE:LINE in NAME"; "" where none of it ran."""
    from packager._names import demangle  # known by now, where code of a model has run

    place, trace = "", error.__traceback__
    while trace is not None:
        frame = trace.tb_frame
        if demangle(str(frame.f_globals.get("__name__"))).partition(".")[0] not in _NOT_OF_MODELS:
            place = f", at {frame.f_code.co_filename}:{trace.tb_lineno} in {frame.f_code.co_name}"
        trace = trace.tb_next
    return place


def failure_of_model(error: BaseException) -> str:
    """Return what the code of a model raised: its class, its text where it has one, and the place.

    >>> failure_of_model(ValueError("no such width")), failure_of_model(MemoryError())
    ('ValueError: no such width', 'MemoryError')
    """
    from packager._names import demangle_text

    text = demangle_text(str(error))
    return f"{type(error).__name__}{': ' if text else ''}{text}{place_in_model(error)}"


class EndedBySignal(KeyboardInterrupt):
    """A command is to end, as `number` says: SIGTERM or SIGHUP. What it began is undone on the way out."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


@contextlib.contextmanager
def end_in_order() -> Iterator[None]:
    """Let SIGTERM and SIGHUP end the block as the keyboard does, so that nothing is left behind.

    For a process that is a command; a library leaves signals alone. What is tidied when the process ends,
    after the block, is not stopped by a signal any more.
    """
    heard: list[int] = []

    def end(number: int, frame: object) -> None:
        signal.signal(number, signal.SIG_IGN)  # a second one would stop the tidying
        raise EndedBySignal(number)

    def end_alone() -> None:
        for number in heard:
            signal.signal(number, signal.SIG_IGN)

    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        # Who started this process may have asked for it to live on, as nohup does.
        if number is not None and signal.getsignal(number) == signal.SIG_DFL:
            with contextlib.suppress(ValueError):  # not the main thread
                signal.signal(number, end)
                heard.append(number)
    try:
        yield
    finally:
        atexit.register(end_alone)  # the last that is registered is the first to be called


@contextlib.contextmanager
def syntax_unwarned() -> Iterator[None]:
    """Say nothing of syntax that Python warns of ("invalid escape sequence") where sources are read again.

    It was said, or kept silent, where that code was imported, with the name of its file.
    """
    import warnings

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", category=SyntaxWarning)
        warnings.filterwarnings("ignore", message=r"invalid .*(escape|literal)", category=DeprecationWarning)
        yield


def _is_from_keyboard(error: BaseException, trace: TracebackType | None) -> bool:
    """Say whether an interrupt came from outside: no statement raised it, or the handler did."""
    if type(error) is EndedBySignal:
        return True
    if not isinstance(error, KeyboardInterrupt) or trace is None:
        return False
    handler = signal.getsignal(signal.SIGINT)
    of_handler = getattr(getattr(handler, "__func__", handler), "__code__", None)
    while True:
        code = trace.tb_frame.f_code
        if code is of_handler:
            return True
        if trace.tb_next is None:
            return not _is_raise(code.co_code[trace.tb_lasti])
        trace = trace.tb_next


def _is_raise(instruction: int) -> bool:
    import opcode  # few commands are interrupted

    return opcode.opname[instruction] in ("RAISE_VARARGS", "RERAISE")


def _exit_error(what: str, error: BaseException) -> CodeExitError:
    import traceback

    frames = traceback.extract_tb(error.__traceback__)
    if isinstance(error, _ProcessEnd):
        del frames[-1]  # ours, which stands in the place of the function
    place = next((frame for frame in reversed(frames) if not _is_standard(frame.filename)), frames[-1])
    failed = CodeExitError(
        f"{what}: its code ended with {_shown(error)}, at {place.filename}:{place.lineno} in {place.name}; "
        "such code has to return, or to raise an Exception that says what is wrong"
    )
    for frame in frames[-_FRAMES:]:
        failed.add_note(f"{frame.filename}:{frame.lineno} in {frame.name}: {frame.line}")
    return failed


def _is_standard(file: str) -> bool:
    installed = f"{os.sep}site-packages{os.sep}" in file or f"{os.sep}dist-packages{os.sep}" in file
    return file.startswith("<frozen ") or (file.startswith(_STANDARD_LIBRARY) and not installed)


def _shown(error: BaseException) -> str:
    """Return the exception as code would spell it; nothing that it holds is asked for its form."""
    arguments = BaseException.__dict__["args"].__get__(error)
    plain = all(arg is None or type(arg) in (bool, int, float, str) for arg in arguments)
    spelt = ", ".join(map(repr, arguments)) if plain else "..."
    from packager._names import demangle

    name = demangle(f"{type(error).__module__}.{type(error).__qualname__}")
    return f"{name.removeprefix('builtins.')}({spelt})"


# --- the cyclic garbage collector, which waits while much is made ---

_paused = 0  # blocks that have paused it


@contextlib.contextmanager
def gc_paused() -> Iterator[None]:
    """Pause the cyclic garbage collector, and let it run again on the way out if it did before.

    Collecting while much is made finds nothing, and takes half of the time or more. What was made
    stays young: made old at once (`gc.freeze`, `gc.unfreeze`), it would spare the next collection a
    tenth of the time of a walk, but no collection would come to look at it once it is garbage, and
    a program that exports or loads in a loop would keep every round.
    """
    global _paused
    enabled = gc.isenabled()
    gc.disable()
    _paused += enabled
    try:
        yield
    finally:
        _paused -= enabled
        if enabled:
            gc.enable()


@contextlib.contextmanager
def gc_running() -> Iterator[None]:
    """Let the collector run inside of a pause, where code of a user may make garbage of any size.

    Where no `gc_paused` has stopped it, it stays as it is.
    """
    waits = _paused > 0 and not gc.isenabled()
    if waits:
        gc.enable()
    try:
        yield
    finally:
        if waits:
            gc.disable()


def _free_properties() -> None:
    """Give each `cached_property` a lock of its own again, in a child that was forked while a thread held it.

    Python 3.11 has one for all objects of a class; later ones have none.
    """
    from functools import cached_property

    ours = [module for name, module in sys.modules.copy().items() if name.partition(".")[0] == "packager"]
    for cls in {one for module in ours for one in list(vars(module).values()) if isinstance(one, type)}:
        for held in list(vars(cls).values()):
            if type(held) is cached_property:
                held.lock = _thread.RLock()  # type: ignore[attr-defined]  # of Python 3.11 alone


if hasattr(os, "register_at_fork") and sys.version_info < (3, 12):
    os.register_at_fork(after_in_child=_free_properties)
