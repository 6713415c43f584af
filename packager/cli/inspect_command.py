"""`packager inspect`: what is inside an archive, read from its manifest and records; nothing of it is run.

A file of weights of another kind is shown as far as it is data.
"""

from __future__ import annotations

import argparse
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from packager.errors import ArchiveError
from packager.texts import counted, in_lines

from .archives import FILE_HELP, source_of
from .screen import print_json, print_lines, print_table

if TYPE_CHECKING:
    from packager.weights import Checkpoint

_EXAMPLES = """\
examples:
  packager inspect net.kellet
  packager inspect net.kellet --tensors
  packager inspect net.kellet --json | jq '.externs'
  packager inspect old.pt                             weights of PyTorch, safetensors and NumPy, too
  packager inspect arrays/                            so are folders of .npy, and shards by their index
"""
_MOST_IN_TREE: Final = 20_000  # files; a longer tree is of no use to a reader
_ROWS_AT_ONCE: Final = 1000
_MOST_OF_LICENSE: Final = 32  # characters, so that a row fits into 80 columns


def add(commands: Any) -> None:
    """Declare the command."""
    parser = commands.add_parser(
        "inspect",
        description="Show what is inside an archive: files, modules, externs, objects, tensors, environment.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("file", metavar="FILE", help=f"{FILE_HELP}; or a file of weights")
    parser.add_argument("--tensors", action="store_true", help="list every tensor, not the members alone")
    parser.add_argument("--json", action="store_true", help="print everything for machines")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Read the manifest and the tensor indexes, and print them."""
    from packager.archive import ArchiveReader

    try:
        reader = ArchiveReader(source_of(options.file), mmap=False)
    except ArchiveError as error:
        return _inspect_weights(options, error)
    with reader:
        from packager.loading import stored_names

        manifest = reader.manifest
        members = _members(reader)
        names, wheels = list(stored_names(reader)), _wheels(reader)
        if options.json:
            more = {"names": names, "wheels": wheels, "runnable": _is_runnable(reader)}
            more["licenses"] = _licenses(reader)
            print_json({**_everything(reader, members), **more})
            return 0
        print_lines(f"{options.file}: format {manifest.format}", f"    identity {reader.identity}")
        if _is_runnable(reader):
            print_lines("runnable: it carries its loader, and `python FILE --info` starts it")
        _print_tree(options.file, reader)
        _print_code(manifest)
        _print_licenses(reader)
        _print_contents(manifest, reader, names)
        _print_wheels(wheels)
        _print_tensors(members, every=options.tensors)
    return 0


def _is_runnable(reader: Any) -> bool:
    """Whether the archive carries its loader."""
    return "__main__.py" in reader and any(name.startswith(".data/runtime/") for name in reader.names())


def _members(reader: Any) -> dict[str, Any]:
    """Every member with tensors, each of which has been found to lie inside it."""
    from packager.archive import TensorReader

    names = [entry.name for entry in reader.manifest.entries if entry.kind == "tensors"]
    members = {name: TensorReader(reader, name) for name in names}
    for tensors in members.values():
        for _ in tensors.values():
            pass
    return members


def _tensors(member: Any) -> Iterator[dict[str, Any]]:
    """Made one by one: of a hostile index there are more than would fit into memory."""
    from packager.archive import tensor_bytes

    first: dict[int, str] = {}
    for key, spec in member.items():
        place = member.place_elsewhere(spec.storage)
        yield {
            "key": key,
            "dtype": spec.dtype,
            "shape": list(spec.shape),
            "bytes": tensor_bytes(spec.dtype, spec.shape),
            "storage": spec.storage,
            "lies_in": None if place is None else place.member,
            "shares_memory_with": None if first.setdefault(spec.storage, key) is key else first[spec.storage],
        }


def _stored_bytes(member: Any) -> dict[str, Any]:
    """What a member takes of the file, and what it refers to of others, where it is counted."""
    elsewhere: dict[str, int] = {}
    for place in member.elsewhere:
        elsewhere[place.member] = elsewhere.get(place.member, 0) + place.nbytes
    return {"bytes": member.own_bytes, "elsewhere": elsewhere}


def _everything(reader: Any, members: dict[str, Any]) -> dict[str, Any]:
    manifest = reader.manifest
    entries = (
        {"name": entry.name, "kind": entry.kind, "size": entry.size, "sha256": entry.sha256}
        for entry in manifest.entries
    )
    sections = {name: getattr(manifest, name) for name in manifest.__dataclass_fields__ if name != "entries"}
    return {
        "identity": reader.identity,
        "entries": entries,
        **sections,
        "migrations": _migrations(reader),
        "tensors": {name: _tensors(member) for name, member in members.items()},
        "tensors_stored": {name: _stored_bytes(member) for name, member in members.items()},
    }


def _print_tree(file: str, reader: Any) -> None:
    from packager.loading import directory_of

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
    print_table("left to the target", ("package", "requirement", "origin"), rows)
    answers = {True: "true", False: "false", None: "not known"}
    tests = [(guard.file, guard.line, guard.test, answers[guard.value]) for guard in manifest.guards]
    print_table("tests that decided which imports were followed", ("file", "line", "test", "there"), tests)
    facts = dict(manifest.environment)
    facts.pop("licenses", None)
    versions = facts.pop("distributions", {}) if isinstance(facts.get("distributions"), dict) else {}
    print_table("environment", ("what", "recorded"), sorted(facts.items()))
    print_table("installed beside it", ("distribution", "version"), sorted(versions.items()))


def _licenses(reader: Any) -> dict[str, Any]:
    """What stands over each file of code and data, and over each distribution at the target."""
    from packager.bill import FileLicenses

    licenses = FileLicenses(reader)
    return {
        "stored": {name: licenses.of(name) for name in _files_of_code(reader)},
        "distributions": licenses.recorded.distributions,
    }


def _files_of_code(reader: Any) -> list[str]:
    """The files that came from somewhere with a licence: not what belongs to the archive itself."""
    return [
        entry.name
        for entry in reader.manifest.entries
        if entry.kind in ("source", "resource") and not entry.name.startswith(".data/")
    ]


def _print_licenses(reader: Any) -> None:
    """Print a row for the files of one part under one licence, and for each distribution at the target."""
    if "licenses" not in reader.manifest.environment and not _files_of_code(reader):
        return
    from packager.bill import FileLicenses

    licenses = FileLicenses(reader)
    found: Counter[tuple[str, str]] = Counter()
    for name in _files_of_code(reader):
        part = licenses.part_of(name)
        home = name.partition("/")[0] if part is None else part.distribution or part.modules[0]
        found[home, _texts(licenses.of(name))] += 1
    rows = [(home, text, counted(count, "file")) for (home, text), count in sorted(found.items())]
    for name, known in licenses.recorded.distributions.items():
        rows.append((name, _texts(known), "at the target"))
    print_table("licences", ("what", "licence", "where"), rows)


def _texts(licenses: Sequence[Any]) -> str:
    """Licences as a text for a column; --json has the whole of a long one."""
    text = ", ".join(map(str, licenses)) or "none found"
    return text if len(text) <= _MOST_OF_LICENSE else f"{text[: _MOST_OF_LICENSE - 3].rstrip()}..."


def _print_contents(manifest: Any, reader: Any, names: list[Any]) -> None:
    rows = [
        (one.label, record.factory or "stored layout", ", ".join(one.names))
        for record, one in zip(manifest.objects, names, strict=False)
    ]
    print_table("objects", ("object", "made by", "names"), rows)
    needed = [(one.label, name) for one in names for name in one.needs_trust]
    print_table("names that loading needs trust for", ("stored as", "name"), needed)
    refused = [(one.label, why) for one in names for why in one.refused]
    print_table("refused by loading", ("stored as", "because"), refused)
    states = [
        (f"{record.package}/{record.resource}", ", ".join(record.migrations))
        for record in manifest.state_dicts
    ]
    print_table("state dicts", ("state dict", "migrations that ran"), states)
    _print_migrations(reader)
    points = [
        (point.name, f"{point.package}/{point.resource}", point.callable or "")
        for point in manifest.entry_points
    ]
    print_table("entry points", ("name", "object", "callable"), points)
    _print_schemas(manifest)
    print_table(
        "checks", ("check", "entry point"), [(check.name, check.entry_point) for check in manifest.checks]
    )
    pickles = [(entry.name,) for entry in manifest.entries if entry.kind == "pickle"]
    print_table("pickles (reading one runs code)", ("entry",), pickles)


def _print_schemas(manifest: Any) -> None:
    """What entry points take and give; parameters of which nothing is known are named in one row."""
    rows = []
    for schema in manifest.schemas:
        name, known = schema.entry_point, "declared" if schema.origin == "declared" else "from golden calls"
        typed = [one for one in schema.takes if one.required or one.type != "any"]
        rows += [
            (name, "takes", one.name, one.type, known if one.required else f"{known}; may be left out")
            for one in typed
        ]
        if others := ", ".join(one.name for one in schema.takes if one not in typed):
            rows.append((name, "takes", others, "any", "may be left out"))
        if schema.is_open:
            rows.append((name, "takes", "...", "any", "other names, too"))
        rows += [(name, "gives", one.name, one.type, known) for one in schema.gives]
    print_table("what entry points take and give", ("entry point", "", "name", "type", ""), rows)


def _wheels(reader: Any) -> list[dict[str, Any]]:
    """The wheels in an archive, with the files in them that act without being imported."""
    if not any(name.startswith(".data/wheels/") for name in reader.names()):
        return []
    from packager.environment import VendoredContents, vendored_wheels
    from packager.errors import PackageError

    found, vendored = [], VendoredContents(reader)
    for wheel in vendored_wheels(reader.manifest):
        row: dict[str, Any] = {"file": wheel.file, "name": wheel.name, "version": wheel.version}
        try:
            contents = vendored.of(wheel)
            found.append({**row, "requires": contents.requires, "acting": contents.acting})
        except PackageError as error:
            found.append({**row, "problem": str(error)})
    return found


def _print_wheels(wheels: list[dict[str, Any]]) -> None:
    rows = [(row["file"], row.get("problem", "")) for row in wheels]
    print_table("wheels", ("wheel", "problem"), rows)
    acting = [(row["file"], one.path, one.why) for row in wheels for one in row.get("acting", ())]
    print_table("what acts by itself once wheels are installed", ("wheel", "file", "because"), acting)


def _print_migrations(reader: Any) -> None:
    """The migrations that states of older versions would go through, and what they would run."""
    rows = [
        (row["class"], row["name"], row["to"], row["steps"], ", ".join(row["calls"] + row["patterns"]))
        for row in _migrations(reader)
    ]
    print_table("migrations", ("class", "migration", "to version", "steps", "runs"), rows)


def _migrations(reader: Any) -> list[dict[str, Any]]:
    from packager.archive import MIGRATIONS

    if MIGRATIONS not in reader:
        return []
    from packager.migrations import functions_of, patterns_of, unpack_migrations

    return [
        {
            "class": target,
            "name": migration.name,
            "to": migration.to,
            "steps": len(migration.steps),
            "calls": [f"{use} ({use.role})" for use in functions_of(migration)],
            "patterns": [f"/{pattern}/" for pattern in patterns_of(migration)],
        }
        for target, migrations in unpack_migrations(reader.read(MIGRATIONS)).items()
        for migration in migrations
    ]


def _print_tensors(members: dict[str, Any], *, every: bool) -> None:
    """Print what each member takes of the file, so that the sizes add up to what the tensors take of it."""
    from packager.sizes import size_text

    rows = []
    for name, member in members.items():
        stored = _stored_bytes(member)
        shared = ", ".join(f"{size_text(size)} in {other}" for other, size in stored["elsewhere"].items())
        rows.append((name, len(member), size_text(stored["bytes"]), shared and f"and {shared}"))
    if len(rows) > 1:
        total = sum(member.own_bytes for member in members.values())
        rows.append(("in all", sum(map(len, members.values())), size_text(total), ""))
    print_table("tensors", ("member", "count", "size", "shared"), rows)
    for name, member in members.items() if every else ():
        shown = (
            (row["key"], row["dtype"], row["shape"], size_text(row["bytes"]), _sharing(row))
            for row in _tensors(member)
        )
        while block := list(islice(shown, _ROWS_AT_ONCE)):
            print_table(name, ("key", "dtype", "shape", "size", "shared"), block)


def _sharing(row: dict[str, Any]) -> str:
    """Whose bytes a tensor has: those of one before it in its member, or of another member."""
    if row["shares_memory_with"] is not None:
        return f"memory of {row['shares_memory_with']}"
    return "" if row["lies_in"] is None else f"in {row['lies_in']}"


# --- files of weights of other libraries, read as data ---


def _inspect_weights(options: argparse.Namespace, refused: ArchiveError) -> int:
    """Show a file of weights of another kind; nothing of it is run, and no tensor is read.

    Raises ArchiveError for a damaged archive, which is never read as something else: what the reader said.
    """
    from packager.weights import open_other_weights

    try:
        checkpoint = open_other_weights(options.file, refused)
    except ArchiveError as error:
        if not os.path.isdir(options.file):
            raise
        hint = "To look into a package before it is exported: packager plan PACKAGE"
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
        "    packager convert makes an archive of them",
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
