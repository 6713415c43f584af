"""The process of a deep check: it parses what it is handed on standard input, one piece at a time.

It is handed bytes, never a file; it compiles sources and throws the code away, and audits records
without importing a name of theirs. Data alone it builds, with the libraries that are installed, and encodes
again: of what an archive brings nothing runs. When it dies, the process that asked goes on.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import sys
import warnings
from collections.abc import Mapping
from itertools import zip_longest
from types import MappingProxyType
from typing import Any, BinaryIO, Final

from packager._audit import AuditedObject, TrustContext, audit, resolve_names
from packager._migrations import unpack_migrations
from packager._objects import build, encode, paths_to, require_said, unpack_table
from packager.errors import PackageError


def main() -> None:
    """Answer orders until there are no more. The first line sets the limits and whom to trust."""
    warnings.simplefilter("ignore")  # to show one of a source, Python would look for a file of its name
    orders, answers, sys.stdout = sys.stdin.buffer, sys.stdout, sys.stderr
    settings = json.loads(orders.readline())
    _limit(settings["memory"])
    print("ready", file=answers, flush=True)
    while line := orders.readline():
        order = json.loads(line)
        if "again" in order:
            _lift_limit()  # what libraries take is none of the data's doing
        content = _content(orders, order["size"])
        storages = {name: bytearray(_content(orders, size)) for name, size in order.get("again", ())}
        json.dump(_problem(order, content, settings, storages), answers)
        answers.write("\n")
        answers.flush()


def _limit(memory: int) -> None:
    """Bound what this process may take, where the system can."""
    with contextlib.suppress(ImportError):
        import resource

        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        limits = {"AS": (_used() + memory, hard), "FSIZE": (0, 0), "CORE": (0, 0)}
        for what, most in limits.items():
            with contextlib.suppress(AttributeError, ValueError, OSError):
                resource.setrlimit(getattr(resource, f"RLIMIT_{what}"), most)


def _lift_limit() -> None:
    with contextlib.suppress(ImportError, AttributeError, ValueError, OSError):
        import resource

        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, (hard, hard))


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


def _problem(
    order: Mapping[str, Any],
    content: bytes,
    settings: Mapping[str, Any],
    storages: Mapping[str, bytearray] = MappingProxyType({}),
) -> str | None:
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
        if "again" in order:
            return _other_spelling(audited, content, storages, settings)
        if order.get("listed") is not None:
            names = {(f"{module}:{qualname}", role) for module, qualname, role in audited.grants}
            called, listed = (set(map(tuple, order[part])) for part in ("called", "listed"))
            require_said(names | called, listed, order["what"])
    except PackageError as error:
        return str(error)
    except MemoryError:
        raise SystemExit(OUT_OF_MEMORY) from None
    return None


def _other_spelling(
    audited: AuditedObject, content: bytes, storages: Mapping[str, bytearray], settings: Mapping[str, Any]
) -> str | None:
    """Build data, encode it again, and say in which record its table is spelled otherwise, if it is.

    What was written with other codecs or other versions of its libraries, or cannot be built here, is passed
    over, and so is what the caller trusts: its classes do as they like.
    """
    tops = {module.partition(".")[0] for module, _, _ in audited.grants}
    recorded = {settings["distributions"][top] for top in tops & settings["distributions"].keys()}
    is_known = (
        audited.is_data_alone
        and all(one is None or one[0].version == one[1] for one in audited.codecs)
        and not any(grant.by == "trust" for grant in audited.grants.values())
    )
    if not is_known or not all(map(_is_installed, recorded)):
        return None
    try:
        names = resolve_names(audited, importlib.import_module)
        _limit(settings["memory"])
        made = build(audited, names, lambda name: memoryview(storages[name]))
    except MemoryError:
        raise
    except Exception:  # of a library that is not here, or of a class that takes other data
        return None
    again = encode(made).with_sources(lambda module: False)
    if again.refusals:
        return f"{audited.what}: it cannot be encoded again, as what was saved can: {again.refusals[0]}"
    sizes = {one.name: one.buffer.nbytes for one in again.storages}
    if again.records == content and sizes == {name: len(data) for name, data in storages.items()}:
        return None
    return f"{audited.what}: {_parted(content, again.records)} where the same data is encoded again; {_ODD}"


_ODD: Final = "no packager wrote it so: do not load it, unless you know where it comes from"


def _parted(content: bytes, again: bytes) -> str:
    """Say in which record two tables part."""
    stored, other = (unpack_table(one, "table") for one in (content, again))
    (_, before, root), (_, now, _) = stored, other
    pairs = enumerate(zip_longest(before, now))
    for number, (one, same) in ((number, pair) for number, pair in pairs if repr(pair[0]) != repr(pair[1])):
        if one is None or same is None:
            return f"its table has {len(before)} records, and {len(now)}"
        path = paths_to(before, root, {number})[number]
        return f"record {number}, {path}, is {one!r:.80}, and {same!r:.80}"
    return "codecs, the root or storages of its table are others, or lie otherwise,"


def _is_installed(distribution: str) -> bool:
    """Whether the distribution of a record, such as "numpy 2.1", is here in that version."""
    from importlib.metadata import PackageNotFoundError, version

    name, _, recorded = distribution.partition(" ")
    try:
        return version(name) == recorded
    except PackageNotFoundError:
        return False


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
