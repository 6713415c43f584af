"""Predictor: a stored model that goes to workers as its path, and is opened once in each process."""

from __future__ import annotations

import os
import threading
import weakref
from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from packager._archive import Manifest, SchemaRecord
from packager._arguments import (
    check_flag,
    check_identity,
    check_kind,
    check_location,
    check_path,
    check_several,
)
from packager._calls import (
    InputTable,
    InputTypes,
    call_with_arrays,
    find_entry,
    golden_inputs,
    in_mode,
    load_entry,
    schema_of,
)
from packager._quick_dataclasses import dataclass, field
from packager._remote import address_in
from packager._tensors import library_of
from packager._texts import shown_place
from packager.errors import IdentityMismatchError
from packager.package_importer import PackageImporter

from .forms import by_name, like

if TYPE_CHECKING:
    from packager._signing import Signers


class Predictor:
    """A model in an archive, to call in this process or in workers.

    `path` is the path of an archive, or its address. Making a Predictor opens the file and checks `identity`,
    `signed_by`, `code` and `trust`, as PackageImporter does; it runs none of the archive's code. The first
    `predict` builds the model, which stays in evaluation mode.

    A Predictor pickles as its arguments and the identity of the file: each process opens the file once, and
    refuses another file in its place. Threads share the open archive; a forked child opens its own. The
    archive is closed with the last Predictor that uses it. A worker keeps the last four open, as each task
    brings its own Predictor.

    `entry` names an entry point, or an object as "package/resource". By default it is "model", or the only
    one. `map_location` is as in `PackageImporter.load_object`.

    Raises ArgumentError for an argument of the wrong kind, NotStoredError for an entry that the archive
    lacks, and the errors of PackageImporter.

    >>> import numpy, pickle
    >>> from kellet.nn import Linear
    >>> from packager import PackageExporter
    >>> x = numpy.ones((3, 2), "float32")
    >>> with PackageExporter("net.kellet") as exporter:
    ...     exporter.save_object("model", "model", Linear(2, 1), example=x)
    >>> predictor = Predictor("net.kellet")
    >>> predictor.predict(x).shape, len(predictor.predict([[1.0, 2.0]]))
    ((3, 1), 1)
    >>> pickle.loads(pickle.dumps(predictor)).predict({"input": x})["output"].dtype.name
    'float32'
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        entry: str | None = None,
        identity: str | None = None,
        signed_by: str | os.PathLike[str] | Signers | None = None,
        code: bool = True,
        trust: Sequence[str] = (),
        map_location: Any = None,
    ) -> None:
        check_path("path", path, or_address=True)
        check_kind("entry", entry, (str, type(None)), "the name of an entry point, or None")
        check_identity("identity", identity)
        check_flag("code", code)
        check_several("trust", trust, "a list of names")
        check_location("map_location", map_location)
        if signed_by not in (None, "anyone"):
            from packager._signing import Signers

            signed_by = Signers.of(signed_by)  # a worker may find another key at the path, or none
        asked = _Asked(
            os.fspath(path) if address_in(path) else os.path.abspath(path),
            entry,
            identity,
            signed_by,
            code,
            tuple(trust),
            map_location,
        )
        self._asked = asked
        self._session: _Session | None = _shared(_Session(asked))
        self._identity = self._session.identity

    @property
    def identity(self) -> str:
        """The identity of the archive, as `kellet verify` prints it."""
        return self._identity

    @property
    def schema(self) -> SchemaRecord | None:
        """The types of the model's inputs and outputs; None where the archive has none."""
        return self._here().schema

    @property
    def entry(self) -> str:
        """The name of the entry point or object that is called."""
        return self._here().entry

    @property
    def manifest(self) -> Manifest:
        """The manifest of the archive."""
        return self._here().importer.manifest

    def golden_inputs(self) -> dict[str, Any]:
        """Return the inputs of the entry point's first example, by name; an empty dict without one.

        A table is a DataFrame. Raises ArchiveError for a damaged archive, ImportError for a table if pandas
        is not installed.
        """
        session = self._here()
        checks = [one for one in session.importer.manifest.checks if one.entry_point == session.entry]
        inputs = golden_inputs(session.importer.archive, checks[0])[0] if checks else {}
        return {name: one.frame() if isinstance(one, InputTable) else one for name, one in inputs.items()}

    def predict(self, inputs: Any) -> Any:
        """Call the model, and return its outputs in the form of the inputs.

        A dict has arguments by name, and returns outputs by name. A frame is one array, or its columns are
        the arguments; it returns a frame with the same rows. A list returns lists. An array, a tensor or
        another value returns arrays; several outputs are a dict. Inputs are compared with the schema before
        the call. Numbers in lists and frames become arrays of its dtypes.

        Raises SchemaMismatchError (in `packager.errors`) for inputs that do not fit, IdentityMismatchError
        if a process opens the file for the first time and finds another archive, and the errors of
        PackageImporter, `PackageImporter.load_object` and the call.

        >>> import numpy
        >>> from kellet.nn import Linear
        >>> from packager import PackageExporter
        >>> with PackageExporter("net.kellet") as exporter:
        ...     exporter.save_object("model", "model", Linear(2, 1), example=numpy.ones((3, 2), "float32"))
        >>> Predictor("net.kellet").predict(["two", "words"])
        Traceback (most recent call last):
            ...
        packager.errors.SchemaMismatchError: inputs of entry point 'model' do not fit, ...
        """
        session = self._here()
        given = by_name(inputs, session.schema)
        if session.takes is not None:
            given = session.takes.fitted(given)
        thing, method, library = session.called()
        return like(inputs, call_with_arrays(thing, given, method, library), given)

    def __call__(self, inputs: Any) -> Any:
        """Return `predict(inputs)`."""
        return self.predict(inputs)

    def __reduce__(self) -> tuple[Any, ...]:
        return _made_again, (self._asked, self._identity)

    def __repr__(self) -> str:
        return f"Predictor({shown_place(self._asked.path)!r})"

    def _here(self) -> _Session:
        """Return the open archive of this process."""
        session = self._session
        if session is None or session.process != os.getpid():
            session = self._session = _opened(self._asked, self._identity)
        return session


@dataclass(frozen=True)
class _Asked:
    """The arguments of a Predictor, with an absolute path: a worker may run in another folder."""

    path: str = field(repr=False)  # or an address, with its password
    entry: str | None
    identity: str | None
    signed_by: Any
    code: bool
    trust: tuple[str, ...]
    map_location: Any


class _Session:
    """An archive that this process has open, and its model once it was called.

    Raises IdentityMismatchError for another archive than `expected`.
    """

    def __init__(self, asked: _Asked, expected: str | None = None) -> None:
        self.importer = importer = PackageImporter(
            asked.path,
            trust=asked.trust,
            identity=asked.identity,
            signed_by=asked.signed_by,
            code=asked.code,
        )
        try:
            self.asked, self.identity, self.process = asked, importer.identity, os.getpid()
            if expected not in (None, self.identity):
                raise IdentityMismatchError(
                    f"{importer.filename}: the file was replaced since the Predictor was made: found "
                    f"identity {self.identity}, expected {expected}. Make a new one: "
                    f"Predictor({importer.filename!r})",
                    str(expected),
                    self.identity,
                )
            self.entry = asked.entry or _only_entry(importer.manifest)
            self._callee = importer._callee(asked.map_location)
            self._point = find_entry(importer.archive, self.entry)
            self.schema = schema_of(importer.archive, self.entry)
            self.takes = None if self.schema is None else InputTypes(self.schema)
        except BaseException:
            importer.close()
            raise
        self._lock = threading.Lock()
        self._called: tuple[Any, Any, str] | None = None
        self.closing = weakref.finalize(self, importer.close)

    def called(self) -> tuple[Any, Any, str]:
        """Return the model, in evaluation mode, what of it is called, and its library; built once."""
        if self._called is None:
            with self._lock:
                if self._called is None:
                    thing, method = load_entry(self._callee, self._point)
                    self._mode = in_mode(thing)
                    self._mode.__enter__()
                    self._called = thing, method, library_of(thing)
        return self._called


def _only_entry(manifest: Manifest) -> str:
    """Return "model" where there is such an entry point, or the only entry point or object."""
    points = [one.name for one in manifest.entry_points]
    objects = [f"{one.package}/{one.resource}" for one in manifest.objects]
    if "model" in points:
        return "model"
    return next((only[0] for only in (points, objects) if len(only) == 1), "model")


# --- the archives that this process has open ---

_lock = threading.Lock()
_sessions: list[weakref.ref[_Session]] = []
_kept: deque[_Session] = deque(maxlen=4)
_of_parent: Final[list[_Session]] = []


def _made_again(asked: _Asked, identity: str) -> Predictor:
    """Return a Predictor that opens its archive when it is first used: a task fails there, not its worker."""
    predictor = Predictor.__new__(Predictor)
    predictor._asked, predictor._identity, predictor._session = asked, identity, None
    return predictor


def _opened(asked: _Asked, identity: str) -> _Session:
    """Return what this process has open of an archive, or open it now; one of the last is kept."""
    with _lock:
        session = _found(asked, identity)
        if session is None:
            session = _Session(asked, identity)
            _sessions.append(weakref.ref(session))
        if session not in _kept:
            _kept.append(session)
        return session


def _shared(session: _Session) -> _Session:
    """Return the session that was open before with the same arguments and identity, or this one."""
    with _lock:
        found = _found(session.asked, session.identity)
        if found is None:
            _sessions.append(weakref.ref(session))
        return found or session


def _found(asked: _Asked, identity: str) -> _Session | None:
    _sessions[:] = [one for one in _sessions if one() is not None]
    there = (one() for one in _sessions)
    return next((one for one in there if one and (one.asked, one.identity) == (asked, identity)), None)


def _begin_anew() -> None:
    """Leave the archives of the parent alone in a forked child: closing them would be felt there."""
    global _lock
    _lock = threading.Lock()
    for session in filter(None, [one() for one in _sessions]):
        session.closing.detach()
        _of_parent.append(session)
    _sessions.clear()
    _kept.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_anew)
