"""From an archive to its page: the facts that `kellet inspect` prints, and the values of its tensors.

Nothing of the archive is run. The same archive, under the same file name, is the same page.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from packager._archive import ArchiveReader
from packager._texts import ACTIONS, counted, listed, size_text

from .archive_contents import entry_points_section, golden_calls, migrations, objects
from .archive_facts import ArchiveFacts
from .archive_tensors import tensors_section
from .drawings import areas_of
from .page_parts import (
    Cell,
    Code,
    Facts,
    Mark,
    ModuleFacts,
    Modules,
    Page,
    Section,
    Site,
    Tone,
    Treemap,
    section,
    table,
)

STANDARD = ("stdlib", "builtin")
_WATCHED = ("subprocess", "ctypes", "socket")
_MOST_SCHEMAS = 3
_TONES: dict[str, Tone] = {
    "signature good": "good",
    "signature broken": "bad",
    "signature refused": "bad",
}
COLOURS = "Weights are green, code is blue, data files are yellow, and what belongs to the archive is violet."
KINDS = {"source": "code", "tensors": "weights", "resource": "data"}


def page_of_archive(reader: ArchiveReader, *, values: bool = True, signature: str = "") -> Page:
    """Return the page of an open archive. Without `values` the bytes of tensors are not read.

    `signature` says who signed it, and whether that is verified.

    Raises ArchiveError for a damaged archive.

    >>> import io
    >>> from packager import PackageExporter
    >>> file = io.BytesIO()
    >>> with PackageExporter(file, policy="auto") as exporter:
    ...     exporter.save_source_string("net", "import numpy")
    >>> with ArchiveReader(file) as reader:
    ...     page = page_of_archive(reader)
    >>> page.title, [section.name for section in page.sections][:3]
    ('the archive', ['about', 'sizes', 'modules'])
    """
    facts = ArchiveFacts(reader)
    signature = signature or ("signed, not checked" if reader.signatures() else "unsigned")
    sections = (
        _about(facts, signature),
        _sizes(facts),
        _modules(facts),
        rules_section((one.action, one.rule, one.because) for one in facts.manifest.modules),
        tensors_section(facts, values=values),
        objects(facts),
        entry_points_section(facts.manifest.entry_points, facts.manifest.schemas),
        golden_calls(facts),
        migrations(facts),
        _target(facts),
        _wheels(facts),
        _files(facts),
    )
    name = os.path.basename(os.path.normpath(reader.name))
    shown = tuple(one for one in sections if one is not None)
    word = signature.partition(": ")[0]
    return Page(name, f"{word}; identity {reader.identity}, contents not checked", shown)


# --- what it is ---


def _what_it_is(facts: ArchiveFacts) -> Facts:
    """Return what people ask first: what it is, what goes in and out, how it is loaded, what it runs."""
    manifest, name = facts.manifest, os.path.basename(os.path.normpath(facts.reader.name))
    counts = (len(manifest.objects), "object"), (len(manifest.state_dicts), "state dict")
    kind = ", ".join(counted(count, what) for count, what in counts if count) or "code and files"
    names = {use.name.partition(":")[0].partition(".")[0] for one in manifest.objects for use in one.types}
    if classes := sorted(names - {"builtins"}):
        kind += f", with classes of {listed(classes, 6)}"
    licences = {known for _, known, where in facts.license_rows if where != "at the target"}
    objects = [("object", one.package, one.resource) for one in manifest.entry_points]
    objects += [("object", one.package, one.resource) for one in manifest.objects]
    states = [("state_dict", one.package, one.resource) for one in manifest.state_dicts]
    load = "".join(f'.load_{how}("{where}", "{which}")' for how, where, which in [*objects, *states][:1])
    load = f'PackageImporter("{name}"){load}' if len(manifest.objects) != 1 else f'packager.load("{name}")'
    rows: list[tuple[str, Cell]] = [
        ("what it is", kind),
        ("size", f"{size_text(facts.reader.size)} ({facts.reader.size:,} bytes)"),
        *((f"in and out of {one.entry_point}", str(one)) for one in manifest.schemas[:_MOST_SCHEMAS]),
    ]
    rows += [
        ("licence of its code", ", ".join(sorted(licences)) or "none is stated"),
        ("load it", Code(load)),
        ("what it runs", _what_it_runs(facts)),
    ]
    return Facts(tuple(rows))


def _what_it_runs(facts: ArchiveFacts) -> Cell:
    """Return how many modules of code are run, and which of them import what leads out of Python."""
    stored = {module.name for module in facts.manifest.modules if module.action == "intern"}
    if not stored:
        return "no code: none is stored"
    found = []
    for watched in _WATCHED:
        sites = [site for one in facts.manifest.modules if one.name == watched for site in one.importers]
        if by := sorted({site.module for site in sites} & stored):
            found.append(f"{watched} (in {listed(by, 3)})")
    said = f"code of {counted(len(stored), 'module')}"
    if found:
        return Mark(f"{said}; it imports {', '.join(found)}", "warning")
    return f"{said}; it does not import {', '.join(_WATCHED[:-1])} or {_WATCHED[-1]}"


def _about(facts: ArchiveFacts, signature: str) -> Section | None:
    """Return who made what, and what the identity binds."""
    manifest, environment = facts.manifest, facts.manifest.environment
    made_with = [
        (label, str(environment[name]))
        for label, name in (
            ("made with Python", "python"),
            ("implementation", "implementation"),
            ("platform", "platform"),
            ("byte order", "byteorder"),
        )
        if name in environment
    ]
    sealed = manifest.digests == "sha256"
    word, _, text = signature.partition(": ")
    rows: tuple[tuple[str, Cell], ...] = (
        ("signature", Mark(word, _TONES.get(word, "warning"))),
        *([("about the signature", text)] if text else []),
        ("identity (sha256)", Code(facts.identity)),
        ("contents", "not checked: `kellet verify` checks them"),
        ("format", f"version {manifest.format}"),
        *made_with,
        (
            "seal",
            "every byte by sha256"
            if sealed
            else Mark("tensors by CRC-32 only: the identity does not cover them", "warning"),
        ),
        ("runnable", "yes: it holds its loader" if facts.is_runnable else "no: packager opens it"),
    )
    pickles = [(Code(entry.name),) for entry in manifest.entries if entry.kind == "pickle"]
    return section(
        "about",
        "About",
        _what_it_is(facts),
        Facts(rows),
        table("pickles: reading one runs code", ("entry",), pickles),
        note="The identity is the digest of the manifest, which has the digests of all contents. Importing "
        "packaged code runs it: compare the identity with that of a source you trust.",
    )


def _sizes(facts: ArchiveFacts) -> Section | None:
    """Return the bytes of the file by what they are for."""
    kinds: Counter[str] = Counter()
    for entry in facts.manifest.entries:
        kinds[entry.kind] += entry.size
    return sizes_section(dict(kinds.most_common()), _sized(facts))


def sizes_section(kinds: Mapping[str, int], sized: Iterator[tuple[list[str], int, str]]) -> Section | None:
    """Return bytes by kind, and a drawing of the path, bytes and kind of everything."""
    total = sum(kinds.values())
    rows: list[tuple[Cell, ...]] = [
        (kind, size_text(size), _share(size, total)) for kind, size in kinds.items()
    ]
    drawing = Treemap(areas_of(sized), f"what {size_text(total)} of contents are made of")
    by_kind = table("by kind", ("kind", "size", "share"), rows)
    return section("sizes", "Bytes", drawing, by_kind, count=size_text(total), note=COLOURS)


def _sized(facts: ArchiveFacts) -> Iterator[tuple[list[str], int, str]]:
    """Yield path, bytes and kind of everything: of members with tensors each storage, by its first key."""
    for entry in facts.manifest.entries:
        kind = KINDS.get(entry.kind, "other")
        if entry.kind != "tensors":
            yield entry.name.split("/"), entry.size, kind
            continue
        member, seen = facts.members[entry.name], set()
        for key, spec in member.items():
            if spec.storage not in seen and member.place_elsewhere(spec.storage) is None:
                seen.add(spec.storage)
                yield [entry.name, *key.split(".")], member.storage_size(spec.storage), kind


def _share(size: int, total: int) -> str:
    """Return the part of a whole in percent, with one decimal."""
    return f"{100 * size / total:.1f} %" if total else ""


# --- code ---


def _modules(facts: ArchiveFacts) -> Section | None:
    sizes = {entry.name: entry.size for entry in facts.manifest.entries if entry.kind == "source"}
    standard = {extern.name for extern in facts.manifest.externs if extern.origin in STANDARD}
    modules = tuple(
        ModuleFacts(
            record.name,
            record.action,
            record.rule,
            record.because,
            sizes.get(record.entry or "", 0),
            tuple(Site(site.module, f"{site.file}:{site.line}") for site in record.importers),
            record.action == "extern" and record.name.partition(".")[0] in standard,
        )
        for record in facts.manifest.modules
    )
    return modules_section(modules)


def modules_section(modules: tuple[ModuleFacts, ...]) -> Section | None:
    """Return the section of modules; None where there are none."""
    if not modules:
        return None
    return section(
        "modules",
        "Modules",
        Modules(modules),
        count=f"{len(modules):,}",
        note="Stored packages first. A package leads to its modules, and these to the imports behind them.",
    )


def rules_section(decided: Iterable[tuple[str, str, str]], dead: Iterable[str] = ()) -> Section | None:
    """Return which rules decided.

    `decided` has the action, the rule and the reason for each module; `dead` are rules that matched none.
    """
    rows: list[tuple[Cell, ...]] = [
        (ACTIONS.get(action, action), *why, count)
        for (action, *why), count in sorted(Counter(decided).items())
    ]
    return section(
        "policy",
        "Rules and reasons",
        table("decisions", ("action", "rule", "because", "modules"), rows),
        table("rules that matched nothing", ("rule",), [(Code(rule),) for rule in dead]),
    )


# --- around it ---


def _target(facts: ArchiveFacts) -> Section | None:
    """Return what the target must have, and under which licences."""
    licenses = facts.licenses.recorded.distributions
    rows: list[tuple[Cell, ...]] = [
        (
            record.name,
            record.requirement or Mark("no distribution known", "warning"),
            record.version,
            f"{record.origin}{', optional' if record.optional else ''}",
            ", ".join(map(str, licenses.get(record.distribution or "", ()))) or None,
        )
        for record in facts.manifest.externs
        if record.origin not in STANDARD
    ]
    versions = facts.manifest.environment.get("distributions", {})
    beside = sorted(versions.items()) if isinstance(versions, dict) else []
    standard = [extern.name for extern in facts.manifest.externs if extern.origin in STANDARD]
    return section(
        "target",
        "What the target must have",
        table("packages", ("import name", "requirement", "here", "origin", "licence"), rows),
        table("installed beside it", ("distribution", "version"), [(name, str(one)) for name, one in beside]),
        table("licences", ("what", "licence", "where"), facts.license_rows),
        count=counted(len(rows), "package"),
        note=f"From the standard library: {', '.join(standard)}." if standard else "",
    )


def _wheels(facts: ArchiveFacts) -> Section | None:
    rows: list[tuple[Cell, ...]] = [
        (
            wheel["file"],
            wheel["name"],
            wheel["version"],
            Mark(wheel["problem"], "bad") if "problem" in wheel else ", ".join(map(str, wheel["requires"])),
        )
        for wheel in facts.wheels
    ]
    acting: list[tuple[Cell, ...]] = [
        (wheel["file"], Code(one.path), Mark(one.why, "warning"))
        for wheel in facts.wheels
        for one in wheel.get("acting", ())
    ]
    return section(
        "wheels",
        "Wheels",
        table("wheels", ("file", "name", "version", "requires"), rows),
        table("files of wheels that run by themselves once installed", ("wheel", "file", "because"), acting),
        count=f"{len(rows):,}",
    )


def _files(facts: ArchiveFacts) -> Section | None:
    """Return every entry, data files before the others."""
    entries = facts.manifest.entries
    modules = {record.entry for record in facts.manifest.modules}
    total = sum(entry.size for entry in entries)
    data: list[tuple[Cell, ...]] = []
    others: list[tuple[Cell, ...]] = []
    for entry in entries:
        row: tuple[Cell, ...] = (
            Code(entry.name),
            entry.kind,
            size_text(entry.size),
            _share(entry.size, total),
            Code(entry.sha256[:16]) if entry.sha256 else None,
        )
        is_data = entry.kind in ("resource", "pickle") and entry.name not in modules
        (data if is_data and not entry.name.startswith(".data/") else others).append(row)
    columns = ("entry", "kind", "size", "share", "sha256 begins")
    return section(
        "files",
        "Files",
        table("data files", columns, data),
        table("all others" if data else "all files", columns, others, is_open=False),
        count=f"{len(entries):,}",
    )
