"""What two archives say of themselves: decisions, environment, objects, entry points, migrations."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

from packager._archive import MIGRATIONS, ArchiveReader, CheckRecord, Manifest
from packager._environment import WHEELS, RecordedEnvironment
from packager._licenses import License, RecordedLicenses
from packager._texts import counted, listed

from .changes import Change
from .members import same_content

_RUNTIME = ".data/runtime/"


def compare_facts(before: ArchiveReader, after: ArchiveReader) -> Iterator[Change]:
    """Yield what differs in the records of two archives; code, files and tensors are compared elsewhere."""
    old, new = before.manifest, after.manifest
    yield from _decisions(old, new)
    yield from _environment(old, new)
    yield from compare_named(
        "entry points",
        *(
            {one.name: f"{one.package}/{one.resource}{_called(one.callable)}" for one in side.entry_points}
            for side in (old, new)
        ),
    )
    yield from compare_named(
        "schemas", *({one.entry_point: _spelled(one) for one in side.schemas} for side in (old, new))
    )
    yield from _objects(before, after)
    yield from compare_named(
        "imports",
        *(
            {f"{one.package}/{one.resource}": ", ".join(one.modules) for one in side.imports}
            for side in (old, new)
        ),
    )
    yield from _state_dicts(before, after)
    yield from _calls(before, after)
    yield from _migrations(before, after)
    yield from _carried(before, after)
    yield from compare_named("archive", {"digests": old.digests}, {"digests": new.digests})


def compare_named(section: str, before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[Change]:
    """Yield what is on one side alone, or says something else, by name."""
    for name in sorted({*before, *after}):
        if name not in after:
            yield Change(section, "removed", name, before=before[name])
        elif name not in before:
            yield Change(section, "added", name, after=after[name])
        elif before[name] != after[name]:
            yield Change(section, "changed", name, before[name], after[name])


def _one_sided(section: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[Change]:
    """Yield what is on one side alone; nothing is said of what is there."""
    for name in sorted(before.keys() ^ after.keys()):
        yield Change(section, "added" if name in after else "removed", name)


def _others(section: str, before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[Change]:
    """Yield what is on one side alone, or says something else, without what it says."""
    yield from _one_sided(section, before, after)
    for name in sorted(name for name in before.keys() & after.keys() if before[name] != after[name]):
        yield Change(section, "changed", name)


def _called(method: str | None) -> str:
    return f".{method}" if method else ""


def _spelled(schema: Any) -> str:
    """Return a schema with everything that it says, also of what may be left out."""
    takes = ", ".join(
        f"{one.name}: {one.type}{'' if one.required else ' (optional)'}" for one in schema.takes
    )
    gives = ", ".join(f"{one.name}: {one.type}" for one in schema.gives)
    return f"({takes}{', ...' if schema.is_open else ''}) -> {gives or '?'} [{schema.origin}]"


# --- decisions ---


def _decisions(old: Manifest, new: Manifest) -> Iterator[Change]:
    """Yield the modules that something else is done with. What one side alone stores is a matter of code."""
    before, after = ({one.name: one for one in side.modules} for side in (old, new))
    told = ({one.name: one.action for one in side.modules} for side in (old, new))
    actions = [
        {name: action for name, action in side.items() if not (action == "intern" and name not in other)}
        for side, other in _both_ways(*told)
    ]
    yield from compare_named("decisions", *actions)
    common = [name for name in before if name in after and before[name].action == after[name].action]
    reasons = [
        name
        for name in common
        if (before[name].rule, before[name].because) != (after[name].rule, after[name].because)
    ]
    if reasons:
        first, more = reasons[0], len(reasons) - 1
        others = f", and {counted(more, 'other module')}" if more else ""
        rules = [f"{one[first].rule}: {one[first].because}" for one in (before, after)]
        yield Change("decisions", "changed", f"the reason for {first}{others}", *rules)


def _both_ways(one: Any, other: Any) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
    return (one, other), (other, one)


# --- environment ---


def _environment(old: Manifest, new: Manifest) -> Iterator[Change]:
    """Yield the versions, requirements and licences that differ, and Python and platform."""
    sides = [_recorded(side) for side in (old, new)]
    yield from compare_named("environment", *(facts for facts, _ in sides))
    yield from compare_named("licences", *(licenses for _, licenses in sides))


def _recorded(manifest: Manifest) -> tuple[dict[str, str], dict[str, str]]:
    """Return what is recorded of an environment, by name, and the licences, which change with a version."""
    if not manifest.environment:
        return {}, {}
    recorded, licenses = RecordedEnvironment.of(manifest), RecordedLicenses.of(manifest)
    facts = {name: str(value) for name, value in vars(recorded.fingerprint).items()}
    facts |= {f"{name} (required by an extern)": version for name, version in recorded.versions.items()}
    for extern in recorded.externs:
        name = extern.distribution or ", ".join(extern.modules)
        facts.pop(f"{name} (required by an extern)", None)
        optional = ", optional" if extern.optional else ""
        facts[name] = f"{extern.version or 'no distribution'}{_asked(extern.requirement)}{optional}"
    facts |= {f"{one.distribution} (stored)": one.version for one in licenses.stored if one.distribution}
    for name, version in recorded.probes.distributions.items():
        facts[f"{name} (looked for)"] = version or "absent"
    facts |= {f"module {name} (looked for)": "absent" for name in recorded.probes.modules}
    said = {name: _said(found) for name, found in licenses.distributions.items()}
    said |= {one.distribution or ", ".join(one.modules): _said(one.licenses) for one in licenses.stored}
    return facts, said


def _asked(requirement: str) -> str:
    return f" ({requirement})" if requirement else ""


def _said(licenses: Collection[License]) -> str:
    return ", ".join(map(str, licenses)) or "none found"


# --- what is stored ---


def _objects(before: ArchiveReader, after: ArchiveReader) -> Iterator[Change]:
    """Yield the objects that are on one side alone, made another way, need other names, or differ within."""
    sides = [
        {f"{one.package}/{one.resource}": one for one in side.manifest.objects} for side in (before, after)
    ]
    yield from _one_sided("objects", *sides)
    for name in sorted(sides[0].keys() & sides[1].keys()):
        old, new = (side[name] for side in sides)
        needs = [{use.name for use in one.types} for one in (old, new)]
        said = [
            f"made by {one.factory or 'its stored layout'}" if old.factory != new.factory else ""
            for one in (old, new)
        ]
        for at, (here, there) in enumerate(_both_ways(*needs)):
            only = sorted(here - there)
            if only:
                said[at] = f"{said[at]}{', ' if said[at] else ''}needs {listed(only)}"
        if any(said):
            yield Change("objects", "changed", name, *(one or "neither of these" for one in said))
        elif not same_content(before.entry(old.entry), after.entry(new.entry)):
            sizes = (
                f"{reader.entry(one.entry).size:,} bytes" for reader, one in ((before, old), (after, new))
            )
            yield Change("objects", "changed", f"records of {name}", *sizes)


def _state_dicts(before: ArchiveReader, after: ArchiveReader) -> Iterator[Change]:
    """Yield the state dicts that are on one side alone, and what else than tensors differs in others."""
    sides = [
        {f"{one.package}/{one.resource}": one for one in side.manifest.state_dicts}
        for side in (before, after)
    ]
    yield from _one_sided("state dicts", *sides)
    for name in sorted(sides[0].keys() & sides[1].keys()):
        old, new = (side[name] for side in sides)
        ran = [", ".join(one.migrations) or "none" for one in (old, new)]
        yield from compare_named(
            "state dicts", {f"migrations of {name}": ran[0]}, {f"migrations of {name}": ran[1]}
        )
        if old.versions != new.versions:
            yield Change("state dicts", "changed", f"versions of modules in {name}")
        if _differ(before, old.extras, after, new.extras):
            yield Change("state dicts", "changed", f"what is no tensor in {name}")


def _differ(before: ArchiveReader, old: str | None, after: ArchiveReader, new: str | None) -> bool:
    if old is None or new is None:
        return old is not new
    return not same_content(before.entry(old), after.entry(new))


def _calls(before: ArchiveReader, after: ArchiveReader) -> Iterator[Change]:
    """Yield the golden calls that are on one side alone, or have other inputs, answers or traces."""
    traces = [{one.check: one.entry for one in side.manifest.traces} for side in (before, after)]
    sides = [{one.name: one for one in side.manifest.checks} for side in (before, after)]
    yield from _one_sided("examples", *sides)
    for name in sorted(sides[0].keys() & sides[1].keys()):
        parts = [
            what
            for what, of in _PARTS.items()
            if _differ(before, of(sides[0][name]), after, of(sides[1][name]))
        ]
        if _differ(before, traces[0].get(name), after, traces[1].get(name)):
            parts.append("trace")
        if sides[0][name].entry_point != sides[1][name].entry_point:
            parts.append("entry point")
        if parts:
            yield Change("examples", "changed", f"{' and '.join(parts)} of {name}")


_PARTS: Mapping[str, Callable[[CheckRecord], str | None]] = {
    "inputs": lambda check: check.inputs,
    "answer": lambda check: check.outputs,
}


def _migrations(before: ArchiveReader, after: ArchiveReader) -> Iterator[Change]:
    """Yield the stored migrations that are on one side alone, or have other steps."""
    entries = [MIGRATIONS if MIGRATIONS in side else None for side in (before, after)]
    if not _differ(before, entries[0], after, entries[1]):
        return
    from packager._migrations import format_migration, unpack_migrations

    sides = []
    for reader, entry in zip((before, after), entries, strict=True):
        known = unpack_migrations(reader.read(entry)) if entry else {}
        sides.append(
            {
                f"{one.name} of {target}": format_migration(one)
                for target, found in known.items()
                for one in found
            }
        )
    yield from _others("migrations", *sides)


def _carried(before: ArchiveReader, after: ArchiveReader) -> Iterator[Change]:
    """Yield the wheels that differ, and whether the loader does."""
    wheels, loaders = [], []
    for side in (before, after):
        entries = side.manifest.entries
        wheels.append(
            {one.name[len(WHEELS) :]: one.sha256 or "" for one in entries if one.name.startswith(WHEELS)}
        )
        loaders.append({one.name: one.sha256 for one in entries if one.name.startswith(_RUNTIME)})
    yield from _others("wheels", *wheels)
    if bool(loaders[0]) != bool(loaders[1]):
        yield Change("loader", "added" if loaders[1] else "removed", "the loader of a runnable archive")
    elif loaders[0] != loaders[1]:
        count = sum(loaders[0].get(name) != loaders[1].get(name) for name in {*loaders[0], *loaders[1]})
        yield Change("loader", "changed", f"{counted(count, 'file')} of the loader")
