"""`kellet inspect`: what is inside an archive, read from its manifest and records; nothing of it is run.

A file of weights of another kind is shown as far as it is data.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

from packager._quick_dataclasses import field_names
from packager._texts import counted, in_lines, wrapped
from packager.errors import ArchiveError

from .archives import FILE_HELP, add_signed_by, signature_line, source_of
from .screen import print_json, print_lines, print_table

TYPE_CHECKING = False  # as in packager._lazy
if TYPE_CHECKING:
    import argparse
    from typing import Any, Final

    from packager._archive import TensorReader
    from packager._loading import StoredNames
    from packager._report import ArchiveFacts
    from packager._weights import Checkpoint

EPILOG = """\
examples:
  kellet inspect net.kellet
  kellet inspect net.kellet --tensors
  kellet inspect net.kellet --json | jq '.externs'
  kellet inspect old.pt                             weights of PyTorch, safetensors and NumPy, too
  kellet inspect arrays/                            so are folders of .npy, and shards by their index
"""
_MOST_IN_TREE: Final = 20_000  # files; a longer tree is of no use to a reader
_ROWS_AT_ONCE: Final = 1000
_ASKS: Final = "bold yellow"  # titles of what asks for a look, and of what stops, as in a plan
_STOPS: Final = "bold red"
_WIDTH_OF_LICENSE: Final = 40  # so that a row fits into 80 columns, in a file too


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the command."""
    parser.add_argument("file", metavar="FILE", help=f"{FILE_HELP}; or a file of weights")
    parser.add_argument("--tensors", action="store_true", help="list every tensor, not the members alone")
    parser.add_argument("--json", action="store_true", help="print everything for machines")
    add_signed_by(parser)


def run(options: argparse.Namespace) -> int:
    """Read the manifest and the tensor indexes, and print them."""
    from packager._archive import ArchiveReader

    try:
        reader = ArchiveReader(source_of(options.file), mmap=False)
    except ArchiveError as error:
        return _inspect_weights(options, error)
    with reader:
        from packager._report import ArchiveFacts

        facts = ArchiveFacts(reader)
        signature = signature_line(options, reader)
        if options.json:
            print_json({**_everything(facts), "signature": signature})
            return 0
        # What is damaged is told before anything is printed.
        manifest, members, names, wheels = facts.manifest, facts.members, facts.names, facts.wheels
        print_lines(
            f"{options.file}: format {manifest.format}",
            *wrapped(signature, "    "),
            f"    identity {reader.identity}",
            "    contents not checked: `kellet verify` checks them",
        )
        if reader.has_code:
            print_lines("    its code runs when it is imported; code=False and --no-code refuse it")
        if facts.is_runnable:
            print_lines("runnable: it carries its loader, and `python FILE --info` starts it")
        _print_tree(options.file, reader)
        _print_code(manifest)
        _print_licenses(facts)
        _print_contents(facts, names)
        _print_wheels(wheels)
        _print_tensors(facts, members, every=options.tensors)
    return 0


def _everything(facts: ArchiveFacts) -> dict[str, Any]:
    manifest = facts.manifest
    entries = (
        {"name": entry.name, "kind": entry.kind, "size": entry.size, "sha256": entry.sha256}
        for entry in manifest.entries
    )
    sections = {name: getattr(manifest, name) for name in field_names(manifest) if name != "entries"}
    return {
        "identity": facts.identity,
        "verified": False,
        "entries": entries,
        **sections,
        "migrations": facts.migrations,
        "tensors": {name: facts.tensors(name) for name in facts.members},
        "tensors_stored": {name: facts.stored_bytes(name) for name in facts.members},
        "names": facts.names,
        "in_training": facts.in_training,
        "wheels": facts.wheels,
        "runnable": facts.is_runnable,
        "licenses": {
            "stored": {name: facts.licenses.of(name) for name in facts.files_of_code()},
            "distributions": facts.licenses.recorded.distributions,
        },
    }


def _print_tree(file: str, reader: Any) -> None:
    from packager._loading import directory_of

    names = [name for name in reader.names() if not name.startswith(".data/")]
    if len(names) > _MOST_IN_TREE:
        print_lines(f"{counted(len(names), 'file')}; --json lists them")
        return
    print_lines(str(directory_of(file, names)))


def _print_code(manifest: Any) -> None:
    for action, title in (("intern", "modules in the archive"), ("mock", "mocked modules")):
        rows = [
            (record.name, record.rule, record.because)
            for record in manifest.modules
            if record.action == action
        ]
        print_table(title, ("module", "rule", "because"), rows)
    rows = [
        (record.name, record.requirement or "", f"{record.origin}{', optional' if record.optional else ''}")
        for record in manifest.externs
        if record.origin not in ("stdlib", "builtin")
    ]
    print_table("required or optional", ("package", "requirement", "origin"), rows)
    facts = dict(manifest.environment)
    facts.pop("licenses", None)
    versions = facts.pop("distributions", {}) if isinstance(facts.get("distributions"), dict) else {}
    print_table("environment", ("what", "recorded"), sorted(facts.items()))
    print_table("installed beside it", ("distribution", "version"), sorted(versions.items()))


def _print_licenses(facts: ArchiveFacts) -> None:
    """Print a row for the files of one part under one licence, and for each distribution at the target."""
    from textwrap import wrap  # not needed where archives are loaded

    rows = []
    for home, found, where in facts.license_rows:
        first, *more = wrap(found, _WIDTH_OF_LICENSE, break_on_hyphens=False) or [found]
        rows += [(home, first, where), *(("", part, "") for part in more)]
    print_table("licences", ("what", "licence", "where"), rows)


def _print_contents(facts: ArchiveFacts, names: Sequence[StoredNames]) -> None:
    from packager._report import SCHEMA_COLUMNS, schema_rows
    from packager._texts import size_text

    manifest = facts.manifest
    rows = [
        (one.label, record.factory or "stored layout", ", ".join(one.names))
        for record, one in zip(manifest.objects, names, strict=False)
    ]
    print_table("objects", ("object", "made by", "names"), rows)
    if facts.in_training:
        from packager._objects import IN_TRAINING  # not needed for most files

        modes = [(place, IN_TRAINING) for place in facts.in_training]
        print_table("modes", ("object", "mode"), modes, look=_ASKS)
    first = [(f"{one.package}/{one.resource}", ", ".join(one.modules)) for one in manifest.imports]
    print_table("imported before an object is loaded", ("object", "modules"), first)
    needed = [(one.label, name) for one in names for name in one.needs_trust]
    print_table("names that loading needs trust for", ("stored as", "name"), needed, look=_ASKS)
    rows = [
        (one.label, name, by.removeprefix("row of "))
        for one in names
        for name, _, by in one.allowed
        if by.startswith("row of ")
    ]
    print_table("names that are data by the row of a library", ("stored as", "name", "distribution"), rows)
    refused = [(one.label, why) for one in names for why in one.refused]
    print_table("refused by loading", ("stored as", "because"), refused, look=_STOPS)
    states = [
        (f"{record.package}/{record.resource}", ", ".join(record.migrations))
        for record in manifest.state_dicts
    ]
    print_table("state dicts", ("state dict", "migrations that ran"), states)
    _print_migrations(facts)
    points = [
        (point.name, f"{point.package}/{point.resource}", point.callable or "")
        for point in manifest.entry_points
    ]
    print_table("entry points", ("name", "object", "callable"), points)
    print_table("what entry points take and give", SCHEMA_COLUMNS, schema_rows(manifest.schemas))
    traces = {
        trace.check: f"trace of its submodules, {size_text(facts.reader.entry(trace.entry).size)}"
        for trace in manifest.traces
        if trace.entry in facts.reader
    }
    if manifest.checks:  # else the records of calls are not needed
        from packager._archive import NOT_REPEATABLE
    checks = [
        (check.name, check.entry_point, traces.get(check.name, "") if check.outputs else NOT_REPEATABLE)
        for check in manifest.checks
    ]
    print_table("checks", ("check", "entry point", "note"), checks)
    pickles = [(entry.name,) for entry in manifest.entries if entry.kind == "pickle"]
    print_table("pickles (reading one runs code)", ("entry",), pickles, look=_ASKS)


def _print_wheels(wheels: list[dict[str, Any]]) -> None:
    rows = [(row["file"], row.get("problem", "")) for row in wheels]
    print_table("wheels", ("wheel", "problem"), rows)
    acting = [(row["file"], one.path, one.why) for row in wheels for one in row.get("acting", ())]
    print_table(
        "files of wheels that run by themselves once installed",
        ("wheel", "file", "because"),
        acting,
        look=_ASKS,
    )


def _print_migrations(facts: ArchiveFacts) -> None:
    """The migrations that states of older versions would go through, and what they would run."""
    rows = [
        (row["class"], row["name"], row["to"], row["steps"], ", ".join(row["calls"] + row["patterns"]))
        for row in facts.migrations
    ]
    print_table("migrations", ("class", "migration", "to version", "steps", "runs"), rows)


def _print_tensors(facts: ArchiveFacts, members: Mapping[str, TensorReader], *, every: bool) -> None:
    """Print what each member takes of the file, so that the sizes add up to what the tensors take of it."""
    from packager._report import sharing
    from packager._texts import size_text

    rows = []
    for name, member in members.items():
        stored = facts.stored_bytes(name)
        shared = ", ".join(f"{size_text(size)} in {other}" for other, size in stored["elsewhere"].items())
        rows.append((name, len(member), size_text(stored["bytes"]), shared and f"and {shared}"))
    if len(rows) > 1:
        total = sum(member.own_bytes for member in members.values())
        rows.append(("in all", sum(map(len, members.values())), size_text(total), ""))
    print_table("tensors", ("member", "count", "size", "shared"), rows)
    for name in members if every else ():
        shown = (
            (row["key"], row["dtype"], row["shape"], size_text(row["bytes"]), sharing(row))
            for row in facts.tensors(name)
        )
        while block := list(islice(shown, _ROWS_AT_ONCE)):
            print_table(name, ("key", "dtype", "shape", "size", "shared"), block)


def _inspect_weights(options: argparse.Namespace, refused: ArchiveError) -> int:
    """Show a file of weights of another kind; nothing of it is run, and no tensor is read.

    Raises ArchiveError for a damaged archive, which is never read as something else: what the reader said.
    """
    from packager._weights import open_other_weights

    try:
        checkpoint = open_other_weights(options.file, refused)
    except ArchiveError as error:
        if not os.path.isdir(options.file):
            raise
        hint = "To look into a package before it is exported: kellet plan PACKAGE"
        raise ArchiveError(in_lines(str(error), hint)) from refused
    if options.json:
        _print_weights_json(checkpoint)
    else:
        _print_weights(options.file, checkpoint)
    return 0


def _tensors_of(checkpoint: Checkpoint) -> Iterator[dict[str, Any]]:
    for key, tensor in checkpoint.tensors.items():
        yield {"key": key, "dtype": str(tensor.dtype), "shape": list(tensor.shape)}


def _print_weights_json(checkpoint: Checkpoint) -> None:
    plain = [key for key in checkpoint if key not in checkpoint.tensors]
    print_json(
        {
            "format": checkpoint.format,
            "shards": checkpoint.shards,
            "container": checkpoint.container,
            "tensors": _tensors_of(checkpoint),
            "values": plain,
            "left_out": checkpoint.left_out,
            "strings": checkpoint.metadata.strings,
        }
    )


def _print_weights(file: str, checkpoint: Checkpoint) -> None:
    where = f", under {checkpoint.container}" if checkpoint.container else ""
    print_lines(
        f"{file}: no archive of packager, but weights ({checkpoint.format}{where})",
        "    kellet convert makes an archive of them",
        "    kellet suggest-migration drafts how they fit a model of today",
    )
    rows = [(row["key"], row["dtype"], row["shape"]) for row in _tensors_of(checkpoint)]
    print_table("tensors", ("key", "dtype", "shape"), rows)
    print_table("other values", ("key",), [(key,) for key in checkpoint if key not in checkpoint.tensors])
    print_table(
        "not part of the weights",
        ("path", "what", "why"),
        [(o.path, o.what, o.why) for o in checkpoint.left_out],
    )
    print_table("strings", ("name", "text"), sorted(checkpoint.metadata.strings.items()))
