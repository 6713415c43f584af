"""The process of a deep check: it parses what it is handed on standard input, one piece at a time.

It is handed bytes, never a file; it compiles sources and throws the code away, and audits records
without importing a name of theirs. When it dies, the process that asked goes on.
"""

from __future__ import annotations

import contextlib
import json
import sys
import warnings
from collections.abc import Mapping
from typing import Any, BinaryIO

from packager.audit import TrustContext, audit
from packager.errors import PackageError
from packager.migrations import unpack_migrations
from packager.objects import require_said


def main() -> None:
    """Answer orders until there are no more. The first line sets the limits and whom to trust."""
    warnings.simplefilter("ignore")  # to show one of a source, Python would look for a file of its name
    orders, answers, sys.stdout = sys.stdin.buffer, sys.stdout, sys.stderr
    settings = json.loads(orders.readline())
    _limit(settings["memory"])
    print("ready", file=answers, flush=True)
    while line := orders.readline():
        order = json.loads(line)
        json.dump(_problem(order, _content(orders, order["size"]), settings), answers)
        answers.write("\n")
        answers.flush()


def _limit(memory: int) -> None:
    """Bound what this process may take, where the system can."""
    with contextlib.suppress(ImportError):
        import resource

        for what, most in (("RLIMIT_AS", _used() + memory), ("RLIMIT_FSIZE", 0), ("RLIMIT_CORE", 0)):
            with contextlib.suppress(AttributeError, ValueError, OSError):
                resource.setrlimit(getattr(resource, what), (most, most))


def _used() -> int:
    """Return the address space that is taken before anything has been parsed."""
    try:
        with open("/proc/self/statm", "rb") as file:
            pages = int(file.read().split()[0])
    except OSError:
        return 1 << 30
    import resource

    return pages * resource.getpagesize()


def _content(orders: BinaryIO, size: int) -> bytes:
    try:
        return orders.read(size)
    except MemoryError:
        raise SystemExit(OUT_OF_MEMORY) from None


OUT_OF_MEMORY = 77
"""The exit code of a process whose memory did not suffice: what it held before may be damaged."""


def _problem(order: Mapping[str, Any], content: bytes, settings: Mapping[str, Any]) -> str | None:
    """Return what is wrong with one entry; None where nothing is."""
    try:
        if order["kind"] == "source":
            return _problem_of_source(order["name"], content)
        if order["kind"] == "migration":
            unpack_migrations(content)
            return None
        audited = audit(
            content,
            _trust_context(settings, order),
            settings["trust"],
            storages={name: (dtype, size) for name, (dtype, size) in order["storages"].items()},
            what=order["what"],
            root="extras" if order["kind"] == "extras" else "obj",
            with_keys=True,
        )
        if order.get("listed") is not None:
            names = {(f"{module}:{qualname}", role) for module, qualname, role in audited.grants}
            called, listed = (set(map(tuple, order[part])) for part in ("called", "listed"))
            require_said(names | called, listed, order["what"])
    except PackageError as error:
        return str(error)
    except MemoryError:
        raise SystemExit(OUT_OF_MEMORY) from None
    return None


def _problem_of_source(name: str, content: bytes) -> str | None:
    try:
        compile(content, name, "exec", dont_inherit=True)
    except SyntaxError as error:
        place = f"line {error.lineno}" if error.lineno is not None else "its text"
        return f"entry {name!r}, {place}: this Python cannot parse it: {error.msg}"
    except (ValueError, RecursionError, OverflowError) as error:
        return f"entry {name!r}: this Python cannot parse it: {str(error) or type(error).__name__}"
    return None


def _trust_context(settings: Mapping[str, Any], order: Mapping[str, Any]) -> TrustContext:
    """Return what loading the entry would judge by: extras are data alone, a stored factory brings code."""
    context = TrustContext.of_archive(settings["interned"], settings["externs"], settings["distributions"])
    if order["kind"] == "extras":
        return context.data_alone()
    return context.for_object([order["factory"]]) if context.interned(order["factory"]) else context
