"""Every error of both packages pickles and copies with its fields, so that a pool of processes gets it."""

from __future__ import annotations

import copy
import importlib
import inspect
import io
import multiprocessing
import pickle
import pkgutil
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import kellet
import packager
from kellet.errors import RankFailedError, StateDictError
from packager import PackageExporter, PackageImporter
from packager._archive import ArchiveIOError, MissingEntryError
from packager._audit.refused_names import UntrustedNamesError
from packager._calls.value_types import Misfit
from packager._codecs.base import CannotStore
from packager._environment.errors import DiskFullError, FolderError
from packager._exporting import ExportPlan, PlanProblem, RefusedPlanError
from packager._exporting.golden_calls import CheckStoreError
from packager._loading.files import ResourceDecodeError
from packager._objects.naming import FormUse, NameUse
from packager._process import EndedBySignal
from packager._proving import Proof, ProofError
from packager._proving.coming_back import NotAsStoredError
from packager._ranks import OtherRankError, RanksDisagreeError
from packager.errors import (
    ArchiveError,
    IdentityMismatchError,
    KeyNotStoredError,
    ModuleNotStoredError,
    PackageError,
    RemoteError,
    ResourceNotStoredError,
    UndeclaredImportError,
)
from tests.tables import one_test

PROTOCOLS = range(2, pickle.HIGHEST_PROTOCOL + 1)
SAID = "net.kellet: found 1; expected 2"
PLAN = ExportPlan(problems=(PlanProblem("No module.", "yaml", chain=("net (asked for)",)),))

# Errors whose `__init__` takes more than a text; those that a test below finds without a sample fail it.
SAMPLES: dict[type[BaseException], Callable[[], BaseException]] = {
    ArchiveIOError: lambda: ArchiveIOError(SAID, OSError(28, "No space left"), "net.kellet"),
    CannotStore: lambda: CannotStore("a socket", "leave it out", "make it anew"),
    CheckStoreError: lambda: CheckStoreError(SAID, "save_example(...)"),
    DiskFullError: lambda: DiskFullError(SAID),
    EndedBySignal: lambda: EndedBySignal(15),
    FolderError: lambda: FolderError(SAID, PermissionError(13, "Permission denied")),
    IdentityMismatchError: lambda: IdentityMismatchError(SAID, "0" * 64, "1" * 64),
    Misfit: lambda: Misfit("x[0]", "text", "int"),
    KeyNotStoredError: lambda: KeyNotStoredError(SAID, ("a.weight", "a.bias")),
    MissingEntryError: lambda: MissingEntryError(SAID),
    ModuleNotStoredError: lambda: ModuleNotStoredError(SAID, name="net.layers"),
    ResourceNotStoredError: lambda: ResourceNotStoredError(SAID, "net/words.txt"),
    UndeclaredImportError: lambda: UndeclaredImportError(SAID, name="yaml"),
    NotAsStoredError: lambda: NotAsStoredError(SAID, "save it again"),
    RemoteError: lambda: RemoteError(SAID, "https://models.example/net.kellet", 404, "bytes=0-9"),
    OtherRankError: lambda: OtherRankError("exporting", 2, "ValueError: no"),
    ProofError: lambda: ProofError(PLAN, Proof()),
    RankFailedError: lambda: RankFailedError("rank 2 has ended", rank=2),
    RanksDisagreeError: lambda: RanksDisagreeError("exporting", ["rank 0: 1", "rank 1: 2"]),
    RefusedPlanError: lambda: RefusedPlanError(SAID, PLAN),
    ResourceDecodeError: lambda: ResourceDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte"),
    StateDictError: lambda: StateDictError(SAID, missing_keys=["a"], mismatched=["b"], messages=["c"]),
    UntrustedNamesError: lambda: UntrustedNamesError(
        SAID, [NameUse("m", "C", "create", ".x")], [FormUse(".y", "a lambda")]
    ),
}


def _own_errors() -> list[type[BaseException]]:
    for top in (kellet, packager):
        for module in pkgutil.walk_packages(top.__path__, f"{top.__name__}."):
            # Two modules stand for classes of transformers and diffusers, and need torch at their top.
            if not module.name.endswith("__main__") and "._pretrained.packaged_" not in module.name:
                importlib.import_module(module.name)
    # Two of errors.py are made when they are asked for.
    found = {*_below(BaseException), *(getattr(packager.errors, name) for name in packager.errors.__all__)}
    ours = [kind for kind in found if kind.__module__.startswith(OURS)]
    return sorted(ours, key=lambda kind: (kind.__module__, kind.__qualname__))


OURS = ("kellet.", "packager.")


def _below(kind: type) -> Iterator[type[BaseException]]:
    for below in type.__subclasses__(kind):
        yield below
        yield from _below(below)


def _made(kind: type[BaseException]) -> BaseException:
    """Return an error of a class: by its sample, or with a text where it adds no arguments of its own."""
    takes_more = any("__init__" in vars(base) for base in kind.__mro__ if base.__module__.startswith(OURS))
    assert not takes_more or kind in SAMPLES, f"{kind.__qualname__} takes more than a text: add a sample"
    error = SAMPLES.get(kind, lambda: kind(SAID))()
    for name in ("module", "name", "path", "filename"):  # those that are set where it is raised
        if hasattr(error, name) and not getattr(error, name):
            setattr(error, name, "net.layers")
    error.add_note("while net was loaded")
    error.step = "loading"  # type: ignore[attr-defined]  # as a user may add it
    return error


def _fields(error: BaseException) -> dict[str, Any]:
    left_behind = ("with_traceback", "add_note", "holding")
    names = [name for name in dir(error) if not name.startswith("__") and name not in left_behind]
    return {name: getattr(error, name, None) for name in [*names, "__notes__"]}


def _assert_same(found: BaseException, error: BaseException) -> None:
    assert type(found) is type(error)
    assert str(found) == str(error)
    assert repr(found) == repr(error)
    assert found.args == error.args
    assert _fields(found) == _fields(error)


ERRORS = _own_errors()


def test_the_errors_are_found() -> None:
    assert len(ERRORS) > 80
    assert {packager.errors.PackageError, kellet.errors.KelletError, ProofError} <= set(ERRORS)


@one_test
@pytest.mark.parametrize("kind", ERRORS, ids=lambda kind: kind.__qualname__)
def test_error_pickles_with_its_fields(kind: type[BaseException]) -> None:
    error = _made(kind)
    for protocol in PROTOCOLS:
        _assert_same(pickle.loads(pickle.dumps(error, protocol)), error)


@one_test
@pytest.mark.parametrize("kind", ERRORS, ids=lambda kind: kind.__qualname__)
def test_error_copies_with_its_fields(kind: type[BaseException]) -> None:
    error = _made(kind)
    _assert_same(copy.copy(error), error)
    _assert_same(copy.deepcopy(error), error)


def test_error_of_a_user_s_own_class_pickles_with_its_fields() -> None:
    error = TooLarge("weights", most=3)
    _assert_same(pickle.loads(pickle.dumps(error)), error)
    _assert_same(copy.deepcopy(error), error)


class TooLarge(PackageError, OSError):
    def __init__(self, what: str, *, most: int) -> None:
        super().__init__(f"{what} are larger than {most}")
        self.what, self.most = what, most
        self.errno = 27


def test_copy_shares_its_fields_and_deep_copy_copies_them() -> None:
    error = ArchiveError(SAID)
    error.keys = ["a"]  # type: ignore[attr-defined]  # as a user may add it
    assert copy.copy(error).keys is error.keys  # type: ignore[attr-defined]  # as a user may add it
    assert copy.deepcopy(error).keys == ["a"]  # type: ignore[attr-defined]  # as a user may add it
    assert copy.deepcopy(error).keys is not error.keys  # type: ignore[attr-defined]  # as a user may add it


class NotReadBack(Exception):
    """As of a library: it pickles, and cannot be made anew."""

    def __init__(self, one: int, two: int) -> None:
        super().__init__(one)


NEEDS_TWO = "NotReadBack.__init__() missing 1 required positional argument: 'two'"


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (inspect, "<builtins.module, which could not be sent: cannot pickle 'module' object>"),
        (threading.Lock(), "<_thread.lock, which could not be sent: cannot pickle '_thread.lock' object>"),
        (
            NotReadBack(1, 2),
            f"<{__name__}.NotReadBack, which could not be sent: {NEEDS_TWO}>",
        ),
    ],
    ids=["module", "lock", "foreign error"],
)
def test_field_that_cannot_be_sent_arrives_as_a_text_and_the_others_as_they_were(
    value: object, said: str
) -> None:
    error = IdentityMismatchError(SAID, "0" * 64, "1" * 64)
    error.culprit = value  # type: ignore[attr-defined]  # as a user may add it
    sent = pickle.loads(pickle.dumps(error))
    assert sent.culprit == said
    assert (str(sent), sent.expected, sent.found) == (SAID, "0" * 64, "1" * 64)
    assert copy.copy(error).culprit is value
    assert type(copy.deepcopy(error).culprit) is type(value)


def test_argument_that_cannot_be_sent_arrives_as_a_text() -> None:
    sent = pickle.loads(pickle.dumps(ArchiveError(SAID, threading.Lock())))
    assert sent.args[0] == SAID
    assert sent.args[1].startswith("<_thread.lock, which could not be sent")


class Task:
    """As a user may have it: it keeps the error that ended it, and the error names it."""

    def __init__(self, error: Any) -> None:
        self.error, error.task = error, self


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_field_that_holds_the_error_again_arrives_once(protocol: int) -> None:
    task = Task(ArchiveError(SAID))
    sent = pickle.loads(pickle.dumps(task.error, protocol))
    assert type(sent.task.error) is ArchiveError
    assert sent.task.error.task == f"<{__name__}.Task, which could not be sent: it holds itself>"
    assert copy.copy(task.error).task is task
    assert copy.deepcopy(task.error).task.error.task is task
    # Neither is lost where it is met again without a circle.
    twice = ArchiveError(SAID, task, [task])
    assert [type(one) for one in pickle.loads(pickle.dumps(twice, protocol)).args] == [str, Task, list]


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_error_of_kellet_that_holds_itself_comes_back_as_a_circle(protocol: int) -> None:
    error = RankFailedError(SAID, rank=2)
    error.first = error  # type: ignore[attr-defined]  # as a user may add it
    for made in (pickle.loads(pickle.dumps(error, protocol)), copy.deepcopy(error)):
        assert made.first is made
        assert (str(made), made.rank) == (SAID, 2)


def _refused_export() -> None:
    """Raises RefusedPlanError, whose plan is that of a real export."""
    with PackageExporter(io.BytesIO(), prove=False) as exporter:
        exporter.save_source_string("net", "import no_such_module_anywhere")


def _another_identity() -> None:
    file = io.BytesIO()
    with PackageExporter(file, prove=False) as exporter:
        exporter.save_text("net", "words.txt", "hello")
    PackageImporter(file, identity="0" * 64)


def _no_such_keys() -> None:
    kellet.nn.Linear(2, 1).load_state_dict({"weight": kellet.ones(1, 2)})


def _imports_what_is_not_declared() -> None:
    raise UndeclaredImportError(SAID, name="yaml", path="/net.py")


def _raised_in_pool(number: int) -> None:
    if number < len(RAISERS):
        RAISERS[number]()
    raise _made(ERRORS[number - len(RAISERS)])


RAISERS = (_refused_export, _another_identity, _no_such_keys, _imports_what_is_not_declared)


def test_pool_of_processes_gets_every_error_and_does_not_wait_for_ever() -> None:
    """A pool whose thread cannot read an answer waits without end, hence `get` with a limit."""
    sent = [number for number, kind in enumerate(ERRORS, len(RAISERS)) if issubclass(kind, Exception)]
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        asked = [pool.apply_async(_raised_in_pool, (number,)) for number in [*range(len(RAISERS)), *sent]]
        for number, answer in zip([*range(len(RAISERS)), *sent], asked, strict=True):
            with pytest.raises(Exception) as told:  # noqa: PT011 - all kinds, compared below
                answer.get(timeout=60)
            if number >= len(RAISERS):
                _assert_same(told.value, _made(ERRORS[number - len(RAISERS)]))
            elif number == 0:
                assert isinstance(told.value, RefusedPlanError)
                assert [one.subject for one in told.value.plan.problems] == ["no_such_module_anywhere"]
            elif number == 1:
                assert isinstance(told.value, IdentityMismatchError)
                assert told.value.expected == "0" * 64
            elif number == 2:
                assert isinstance(told.value, StateDictError)
                assert told.value.missing_keys == ["bias"]
            else:
                assert isinstance(told.value, UndeclaredImportError)
                assert (told.value.name, told.value.path) == ("yaml", "/net.py")
