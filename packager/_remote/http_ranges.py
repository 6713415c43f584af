"""Files over http and https, by the standard library: ranges, and retries with a bound.

A server may answer with anything. Each answer is compared with what was asked for, and with the first one.
"""

from __future__ import annotations

import base64
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.client import HTTPConnection, HTTPException, HTTPResponse, responses
from typing import Any, Final, TypeVar
from urllib.parse import SplitResult, quote, urljoin, urlsplit

from packager._texts import one_line
from packager._version import installed_version

from .addresses import HTTP, UNQUOTED, Address
from .connections import BESIDE, Connections, shared_connections
from .ranges import OPENING, TIMEOUT, Landed, RemoteError, changed_error, checked_size

LEAST: Final = 1 << 18
"""How many bytes of a body have to come in each time-out, unless fewer are left."""

ATTEMPTS: Final = 5
LATE_ATTEMPTS: Final = 2
"""How often a range is asked for where a failure may pass, and where a server does not answer in time."""

FIRST_WAIT: Final = 0.1
LONGEST_WAIT: Final = 10.0
"""Seconds before an attempt: the first wait, doubled each time; the most that a server may ask for."""

TAKEN_WHOLE: Final = 8 << 20
"""The most bytes that are taken from a server that answers with the whole file."""

_REDIRECTS: Final = 5
_REDIRECTED: Final = (301, 302, 303, 307, 308)
_GONE: Final = (401, 403, 404, 410)
_PASSING: Final = (408, 429, 500, 502, 503, 504)
_AT_ONCE: Final = 1 << 18
_LONGEST_END: Final = 1.0  # seconds, behind the last byte: a new connection takes less
_CONTENT_RANGE: Final = re.compile(r"bytes (\d{1,19})-(\d{1,19})/(\d{1,19})")
_STRONG_TAG: Final = re.compile('"[!#-~]*"')
_UNCODED: Final = ("", "identity", "chunked", "identity, chunked")
_DOWNLOAD: Final = "fetch the file first (curl -L -o FILE), and give its path"
_MENDS: Final = {
    401: "give credentials, as https://user:password@host/path",
    403: "see whether the address has expired, and who may read the file",
    404: "the server has no such file: correct the address, or upload the file",
    410: "the file is gone: ask for its new address",
}
_Made = TypeVar("_Made")


class _Passing(Exception):
    """A failure that may pass: `wait` is how long the server asks to wait, `status` what it answered."""

    status: int | None = None
    wait: float | None = None


class _Answer:
    """The answer to a request for `span`, and the connection that it comes on. None of its texts are shown.

    A server may repeat in them what it was asked, secrets among it.
    """

    def __init__(self, connection: HTTPConnection, span: str) -> None:
        self.wire: Any = connection.sock  # a Wire
        self.connection = connection
        self.response: HTTPResponse = connection.getresponse()
        self.span = span
        self.status = self.response.status
        self.length = self.response.length

    def header(self, name: str) -> str:
        """Return a header, empty where there is none."""
        return self.response.getheader(name) or ""

    def said(self) -> str:
        """Return the status, and whether the server asks for too long a wait."""
        is_long = (self.wait() or 0) > LONGEST_WAIT
        return f"{self.status} {responses.get(self.status, '')}" + (
            f", and asks to wait longer than {LONGEST_WAIT:.0f} s" if is_long else ""
        )

    def wait(self) -> int | None:
        """Return how many seconds the server asks to wait."""
        asked = self.header("Retry-After")
        return int(asked) if asked.isascii() and asked.isdecimal() and len(asked) < 10 else None

    def passing(self, wait: float | None = None) -> _Passing:
        """Return the failure for an answer that may be another one later."""
        failure = _Passing(self.said())
        failure.status = self.status
        failure.wait = self.wait() if wait is None else wait
        return failure

    def fill(self, target: memoryview) -> Iterator[int]:
        """Read the body into memory, and yield how many bytes are there."""
        done = due = 0
        self.wire.room = 2 * len(target) + BESIDE  # chunks have sizes
        while done < len(target):
            if done >= due:
                self.wire.deadline, due = time.monotonic() + TIMEOUT, done + LEAST
            data = self.response.read1(min(len(target) - done, _AT_ONCE))
            if not data:
                raise _Passing(f"the connection ended {len(target) - done} bytes too early")
            target[done : done + len(data)] = data
            done += len(data)
            yield done

    def is_over(self) -> bool:
        """Return whether all was read, and the connection can be asked again."""
        try:
            if self.response.length is None:
                self.wire.deadline = time.monotonic() + _LONGEST_END
                self.response.read1(1)  # the end of one in chunks, or bytes that nobody asked for
            over = self.response.isclosed() or self.response.length == 0
        except (OSError, HTTPException):  # behind the file
            return False
        self.response.close()
        return over and self.connection.sock is not None

    def drop(self) -> None:
        """Close the connection, and the answer, which may be all that holds it open."""
        self.response.close()
        self.connection.close()


class HttpRanges:
    """A file over http or https. Connections are used again, by all files of the process.

    Raises RemoteError where the server does not give ranges of a file whose size it says.
    """

    parallel = 8

    def __init__(self, address: Address, *, from_end: bool) -> None:
        self.name = str(address)
        self.size = -1
        self._address = address
        self._first = self._place = urlsplit(address.url)
        self._connections = shared_connections()
        self._tag = self._modified = ""
        span = f"bytes=-{OPENING}" if from_end else f"bytes=0-{OPENING - 1}"
        self.opening = self._again(span, lambda: self._open(span))

    def read(self, start: int, target: memoryview, landed: Landed) -> None:
        first, stop = start, start + len(target)

        def attempt() -> None:
            nonlocal first  # an attempt goes on where the last one ended
            with self._answer(f"bytes={first}-{stop - 1}") as answer:
                self._check_part(answer, first, stop)
                begun = first
                for done in answer.fill(target[first - start :]):
                    first = begun + done
                    landed(first - start)

        self._again(f"bytes={start}-{stop - 1}", attempt)

    def close(self) -> None:
        self._connections = Connections()  # those before are closed with the last file that uses them

    def _open(self, span: str) -> tuple[int, bytes]:
        """Carry out the first request: learn the size and the version of the file."""
        with self._answer(span) as answer:
            start, stop, self.size = self._opened(answer)
            self._tag, self._modified = answer.header("ETag"), answer.header("Last-Modified")
            data = bytearray(stop - start)
            for _ in answer.fill(memoryview(data)):
                pass
        return start, bytes(data)

    def _opened(self, answer: _Answer) -> tuple[int, int, int]:
        """Return from where to where the first answer reaches, and the size of the file."""
        if answer.status == 416 and answer.header("Content-Range") == "bytes */0":
            return 0, 0, 0
        if answer.status == 200:
            if answer.length is None:
                raise self._wrong(answer, "no length of the file", "Content-Length")
            if answer.length > TAKEN_WHOLE:
                raise self._wrong(answer, f"200 with all of over {TAKEN_WHOLE} bytes", "206 with a range")
            return 0, answer.length, answer.length
        start, stop, size = self._content_range(answer)
        wanted = (
            (max(size - OPENING, 0), size) if answer.span.startswith("bytes=-") else (0, min(OPENING, size))
        )
        self._require_range(answer, (start, stop), wanted)
        return start, stop, checked_size(size, self.name)

    def _check_part(self, answer: _Answer, start: int, stop: int) -> None:
        """Demand a part of the file that was opened, from one byte to another."""
        tag, modified = answer.header("ETag"), answer.header("Last-Modified")
        found, expected = (tag, self._tag) if self._tag else (modified, self._modified)
        if expected and found != expected:
            raise changed_error(self.name, "another version", "that of the first answer", answer.span)
        if answer.status in (200, 412, 416):
            raise changed_error(
                self.name, f"the answer {answer.status}", f"206 with {answer.span}", answer.span
            )
        *found_range, size = self._content_range(answer)
        if size != self.size:
            raise changed_error(self.name, "another size", f"{self.size} bytes", answer.span)
        self._require_range(answer, tuple(found_range), (start, stop))

    def _content_range(self, answer: _Answer) -> tuple[int, int, int]:
        """Return what an answer says that it is: a range, and the size of the whole."""
        found = _CONTENT_RANGE.fullmatch(answer.header("Content-Range"))
        if answer.status != 206 or found is None:
            form = "of another form" if answer.header("Content-Range") else "missing"
            told = f"{answer.status} with the Content-Range {form}"
            raise self._wrong(answer, told, "206 with bytes FIRST-LAST/SIZE")
        first, last, size = map(int, found.groups())
        return first, last + 1, size

    def _require_range(self, answer: _Answer, found: tuple[int, ...], wanted: tuple[int, int]) -> None:
        if found != wanted or answer.length not in (None, wanted[1] - wanted[0]):
            raise self._wrong(answer, "another range, or another length of it", "what was asked for")

    @contextmanager
    def _answer(self, span: str) -> Iterator[_Answer]:
        """Give an answer that is about the file; keep its connection where all of it was read."""
        answer, connections = self._followed(span), self._connections
        try:
            if answer.status not in (200, 206, 412, 416):
                raise self._refused(answer)
            coding = f"{answer.header('Content-Encoding')}, {answer.header('Transfer-Encoding')}".strip(" ,")
            if coding.lower() not in _UNCODED:
                raise self._wrong(answer, "a Content-Encoding or Transfer-Encoding", "the file as it is")
            yield answer
            is_over = answer.is_over()
        except BaseException:
            answer.drop()
            raise
        if is_over:  # outside: what was given back is not closed by an interrupt
            connections.keep(answer.connection)
        else:
            answer.drop()

    def _followed(self, span: str) -> _Answer:
        """Ask for a range, redirected as often as may be. The last header has come before the time-out."""
        place, deadline = self._place, time.monotonic() + TIMEOUT
        for _ in range(_REDIRECTS + 1):
            answer = self._ask(place, span, deadline)
            if answer.status not in _REDIRECTED:
                if answer.status not in _GONE:
                    self._place = place
                return answer
            answer.drop()
            place = self._redirected(place, answer)
        mend = "give the address of the file itself, or the login that the server asks for"
        raise self._error(f"more than {_REDIRECTS} redirects; {mend}", answer.span, answer.status)

    def _refused(self, answer: _Answer) -> Exception:
        """Return the failure for an answer that is no file: one that may pass, or an error."""
        if answer.status in _GONE and self._place != self._first:
            self._place = self._first  # what it was redirected to has expired
            return answer.passing(0)
        if answer.status in _PASSING:
            return answer.passing()
        mend = _MENDS.get(answer.status, _DOWNLOAD)
        return self._error(f"the server answers {answer.said()}; {mend}", answer.span, answer.status)

    def _ask(self, place: SplitResult, span: str, deadline: float) -> _Answer:
        headers = {
            "Range": span,
            "Accept-Encoding": "identity",
            "User-Agent": f"kellet/{installed_version()}",
        }
        if _STRONG_TAG.fullmatch(self._tag) and place.netloc == self._place.netloc:
            headers["If-Range"] = self._tag
        if self._address.login and place[:2] == self._first[:2]:
            headers["Authorization"] = f"Basic {base64.b64encode(self._address.login.encode()).decode()}"
        connection = self._connections.ask(place, headers, deadline)
        try:
            return _Answer(connection, span)
        except BaseException:
            connection.close()
            raise

    def _redirected(self, place: SplitResult, answer: _Answer) -> SplitResult:
        """Return where a redirect leads. Raises RemoteError for one that leads out of https, or nowhere."""
        said = answer.header("Location")
        try:
            found = urlsplit(urljoin(place.geturl(), said))
            is_known = found.scheme in HTTP and bool(found.hostname) and found.port != 0
        except ValueError:
            is_known = False
        if not is_known or (place.scheme == "https" and found.scheme == "http"):
            scheme, mark, _ = said.partition("://")
            where = "another scheme" if mark and scheme.lower() != place.scheme else "no host"
            raise self._wrong(answer, f"a redirect to {where}", f"one to a host of {place.scheme}")
        path, query = (quote(part.encode("latin-1"), UNQUOTED) for part in (found.path or "/", found.query))
        return SplitResult(found.scheme, found.netloc.rpartition("@")[2], path, query, "")

    def _again(self, span: str, attempt: Callable[[], _Made]) -> _Made:
        """Carry out what may have to be tried again. Raises RemoteError."""
        late = 0
        for turn in range(1, ATTEMPTS + 1):
            wait = FIRST_WAIT * 2 ** (turn - 1)
            try:
                return attempt()
            except RemoteError:
                raise
            except _Passing as error:
                failure: Exception = error
                wait = wait if error.wait is None else error.wait
            except TimeoutError as error:
                failure, late = error, late + 1
            except (ConnectionError, HTTPException) as error:
                failure = error
            except (OSError, ValueError) as error:  # no such host, a certificate that is none, an odd header
                failure, turn = error, ATTEMPTS
            if turn == ATTEMPTS or late == LATE_ATTEMPTS or wait > LONGEST_WAIT:
                break
            self._connections.close()  # those that were open at the same time may be as dead
            time.sleep(wait)
        # What http.client says has words of the server in it, or the address.
        is_safe = isinstance(failure, OSError | _Passing)
        said = one_line(str(failure))[:200] if is_safe else type(failure).__name__
        said = said.partition(" for '")[0]  # a certificate's host, which may be that of a redirect
        mend = "see whether the host can be reached, and try again"
        raise self._error(f"it cannot be read: {said}; {mend}", span, getattr(failure, "status", None))

    def _wrong(self, answer: _Answer, found: str, expected: str) -> RemoteError:
        return self._error(f"found {found}; expected {expected}; {_DOWNLOAD}", answer.span, answer.status)

    def _error(self, text: str, span: str, status: int | None) -> RemoteError:
        return RemoteError(f"{self.name}, {span}: {text}", self.name, status, span)
