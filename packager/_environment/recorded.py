"""What an archive's manifest says about the environment it was made in, and how the one at hand differs.

Names and versions end up in requirements, so nothing else may stand in their place.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Literal

from packager._archive import MAX_REQUIREMENT, ExternRecord, Manifest
from packager._names import check_distribution, normalized_name, not_understood
from packager._quick_dataclasses import dataclass, field, replace
from packager._texts import few_of, in_lines, listed
from packager._version import OWN_NAME

from .distributions import Distributions
from .versions import Fingerprint, Requirement, exact_requirement, is_local_version

DifferenceKind = Literal["missing", "optional", "version", "probe", "python", "platform"]

_MOST_NAMED = 5
_NO_PROBES: dict[str, Any] = {"distributions": {}, "modules": []}


@dataclass(frozen=True)
class RecordedExtern:
    """What an archive asks of the environment: modules, and the distribution that brings them.

    `distribution`, `version` and `requirement` are empty where modules were externed by a rule
    although no distribution is known for them. The code goes on without what is `optional`. A `local`
    distribution was installed from a folder, file or address: what has its name on an index may be another.
    """

    modules: tuple[str, ...]
    distribution: str = ""
    version: str = ""
    requirement: str = ""
    optional: bool = False
    local: bool = False

    @property
    def to_install(self) -> str:
        """The requirement to hand to an installer: that of a local version (`2.4.0+cpu`) names it."""
        if is_local_version(self.version):
            return exact_requirement(self.distribution, self.version)
        return self.requirement


@dataclass(frozen=True)
class RecordedProbes:
    """What the project's code looked for without importing it, and found or not when the archive was made.

    `distributions` are those whose metadata it asks for: the version of each, None for what was absent.
    `modules` are absent ones. In isolation what was absent stays so; elsewhere it is compared.
    """

    distributions: Mapping[str, str | None] = field(default_factory=dict)
    modules: tuple[str, ...] = ()

    @classmethod
    def of(cls, recorded: object) -> RecordedProbes:
        """Read them from an archive's environment. Raises ArchiveError where that cannot be understood."""
        if type(recorded) is not dict or recorded.keys() != {"distributions", "modules"}:
            raise not_understood("environment, probes", "something else", "distributions and modules")
        distributions, modules = recorded["distributions"], recorded["modules"]
        if type(distributions) is not dict or type(modules) is not list:
            raise not_understood("environment, probes", "no map, or no list", "versions by name, and names")
        for name, version in distributions.items():
            check_distribution(name, "0" if version is None else version, "environment, probes")
        for module in modules:
            if type(module) is not str or not module.isidentifier():
                raise not_understood("environment, probes", f"the module {module!r}"[:200], "a name")
        return cls(
            {normalized_name(name): version for name, version in distributions.items()}, tuple(modules)
        )

    @property
    def absent(self) -> frozenset[str]:
        """The distributions that were not there."""
        return frozenset(name for name, version in self.distributions.items() if version is None)

    def differences(self, installed: Distributions, *, isolated: bool) -> list[Difference]:
        """Return what the code would find otherwise than it was, as one difference at most.

        What was absent is found by code that is not `isolated` alone.
        """
        recorded, found = [], []
        for name, before in self.distributions.items():
            now = installed.version(name)
            if before != now and (before is not None or not isolated):
                recorded.append(f"{name} {before or 'absent'}")
                found.append(f"{name} {now or 'absent'}")
        for module in () if isolated else self.modules:
            if installed.origin(module).kind != "unknown":
                recorded.append(f"module {module} absent")
                found.append(f"module {module} there")
        if not recorded:
            return []
        before, now = (listed(names, _MOST_NAMED) for names in (recorded, found))
        return [Difference("probe", "what the code looks for", before, now)]


@dataclass(frozen=True)
class RecordedEnvironment:
    """Python and platform, the externs by distribution, and the versions that were beside them.

    `versions` has the distributions that the externs require in turn, as they were installed; `local` those
    that came from a folder, file or address, kellet always among them; `probes` what the code looks for. All
    are empty where they were not recorded.
    """

    fingerprint: Fingerprint
    externs: tuple[RecordedExtern, ...]
    versions: Mapping[str, str] = field(default_factory=dict)
    local: frozenset[str] = frozenset({OWN_NAME})
    probes: RecordedProbes = RecordedProbes()

    @classmethod
    def of(cls, manifest: Manifest) -> RecordedEnvironment:
        """Read it from a manifest. Raises ArchiveError where that cannot be understood."""
        local = _local(manifest.environment.get("local", []))
        return cls(
            recorded_fingerprint(manifest),
            tuple(_by_distribution(manifest.externs, local)),
            _versions(manifest.environment.get("distributions", {})),
            local,
            RecordedProbes.of(manifest.environment.get("probes", _NO_PROBES)),
        )

    @property
    def distributions(self) -> Mapping[str, str]:
        """The exact version of each distribution that the archive names as extern, sorted by name."""
        found = {normalized_name(one.distribution): one.version for one in self.externs if one.version}
        return {name: found[name] for name in sorted(found)}

    @property
    def all_versions(self) -> Mapping[str, str]:
        """The versions of the externs and of all that stood beside them, sorted by name."""
        found = {**self.versions, **self.distributions}
        return {name: found[name] for name in sorted(found)}

    @property
    def local_versions(self) -> Mapping[str, str]:
        """The versions of those that came from a folder, file or address, by name."""
        return {name: version for name, version in self.all_versions.items() if name in self.local}

    def with_packager(self, version: str) -> RecordedEnvironment:
        """Return the same with our own distribution beside the externs, where it is not recorded anyway."""
        return replace(self, versions={OWN_NAME: version, **self.versions})


@dataclass(frozen=True)
class Difference:
    """One thing that is not as recorded.

    `kind` is missing, optional (missing too, but the code goes on without), version, probe (what the code
    only looks for), python or platform.
    """

    kind: DifferenceKind
    subject: str
    recorded: str
    found: str

    def __str__(self) -> str:
        return f"{self.subject}: recorded {self.recorded}, found {self.found}"


@dataclass(frozen=True)
class EnvironmentReport:
    """All differences between a recorded environment and this one; false where there are none.

    `requirements` are those that an index can meet, `local` the distributions that are on none.
    """

    differences: tuple[Difference, ...]
    requirements: tuple[str, ...] = ()
    local: tuple[str, ...] = ()

    @property
    def missing(self) -> tuple[str, ...]:
        """What is not there at all: distributions, and modules of no distribution."""
        return tuple(one.subject for one in self.differences if one.kind == "missing")

    @property
    def install_command(self) -> str:
        """The command that brings what is missing or too old or too new; empty where nothing can.

        A distribution that came from a folder, file or address is never in it, nor is kellet: no index has
        it, and whatever has its name there is another.
        """
        if not self.requirements:
            return ""
        import shlex  # where something is missing

        return "python -m pip install " + " ".join(shlex.quote(one) for one in self.requirements)

    def __bool__(self) -> bool:
        return bool(self.differences)

    def __str__(self) -> str:
        if not self.differences:
            return "the environment is as recorded"
        told = [self._told(one) for one in sorted(self.differences, key=self._is_alone_a_warning)]
        found = (f"    {one}" for one in few_of(told))
        lines = ["the environment is not as recorded:", *found]
        for name in self.local:
            source = "checkout" if name == OWN_NAME else "project's folder"
            lines.append(f"{name} is on no index: install its wheel, or its {source}")
        if self.install_command:
            builds = [one for one in self.requirements if is_local_version(one)]
            public = replace(self, requirements=tuple(one.partition("+")[0] for one in self.requirements))
            whose = (
                "a build from its maker's own index" if len(builds) == 1 else "builds from their makers' own"
            )
            recorded = f"  # recorded: {listed(builds)}, {whose}" if builds else ""
            lines.append(f"to install it: {public.install_command}{recorded}")
        return in_lines(*lines)

    def _is_alone_a_warning(self, one: Difference) -> bool:
        return bool(self.missing) and one.kind in ("python", "platform")

    def _told(self, one: Difference) -> str:
        return f"{one} (by itself only a warning)" if self._is_alone_a_warning(one) else str(one)


def compare_environment(
    recorded: Fingerprint,
    externs: Iterable[RecordedExtern],
    here: Fingerprint | None = None,
    installed: Distributions | None = None,
    probes: RecordedProbes | None = None,
    *,
    isolated: bool = True,
) -> EnvironmentReport:
    """Compare what an archive recorded with the environment at hand, importing nothing.

    Python differs where its series or implementation does (3.11.4 and 3.11.7 do not). `here` and
    `installed` default to the running interpreter and its `sys.path`. Of `probes`, what was absent is
    compared for code that is not `isolated` alone.

    >>> nope = RecordedExtern(("nope",), "nope", "1.2", "nope>=1.2,<2")
    >>> report = compare_environment(Fingerprint.here(), [nope])
    >>> report.missing, report.install_command
    (('nope',), "python -m pip install 'nope>=1.2,<2'")
    """
    here = here or Fingerprint.here()
    installed = installed or Distributions()
    differences = _interpreter(recorded, here)
    wanted, local = [], []
    for extern in externs:
        difference = _extern(extern, installed)
        if difference is not None:
            differences.append(difference)
            name = normalized_name(extern.distribution)
            if extern.local or name == OWN_NAME or installed.place(name):
                local.append(extern.distribution)
            elif extern.requirement:
                wanted.append(extern.to_install)
    if probes is not None:
        differences += probes.differences(installed, isolated=isolated)
    requirements, local_names = (tuple(dict.fromkeys(names)) for names in (wanted, local))
    return EnvironmentReport(tuple(differences), requirements, local_names)


def recorded_fingerprint(manifest: Manifest) -> Fingerprint:
    """Return the Python and platform that an archive was made with. Raises ArchiveError without them."""
    found = {name: manifest.environment.get(name) for name in Fingerprint.__annotations__}
    odd = [name for name, value in found.items() if type(value) is not str]
    if odd:
        found_instead = f"{', '.join(odd)} missing, or no text"
        raise not_understood("environment", found_instead, "what describes a Python and its platform")
    return Fingerprint(**{name: str(value) for name, value in found.items()})


def _versions(recorded: object) -> Mapping[str, str]:
    if type(recorded) is not dict:
        raise not_understood("environment, distributions", "no map", "versions by name")
    for name, version in recorded.items():
        check_distribution(name, version, "environment, distributions")
    return recorded


def _local(recorded: object) -> frozenset[str]:
    if type(recorded) is not list:
        raise not_understood("environment, local", "no list", "names of distributions")
    for name in recorded:
        check_distribution(name, "0", "environment, local")
    return frozenset({OWN_NAME, *map(normalized_name, recorded)})


def _by_distribution(externs: Iterable[ExternRecord], local: Collection[str]) -> list[RecordedExtern]:
    grouped: dict[str, list[ExternRecord]] = {}
    for record in externs:
        if record.origin not in ("stdlib", "builtin"):
            _check_extern(record)
            name = normalized_name(record.distribution or "")
            grouped.setdefault(name or f"\0{record.name}", []).append(record)
    for records in grouped.values():
        _check_agreement(records)
    return [
        RecordedExtern(
            tuple(record.name for record in records),
            records[0].distribution or "",
            records[0].version or "",
            str(Requirement.parse(records[0].requirement)) if records[0].requirement else "",
            all(record.optional for record in records),
            normalized_name(records[0].distribution or "") in local,
        )
        for records in grouped.values()
    ]


def _check_extern(record: ExternRecord) -> None:
    where = f"extern {record.name!r}"
    if record.distribution is not None:
        check_distribution(record.distribution, record.version or "0", where)
    if record.requirement is None:
        return
    try:
        if len(record.requirement) > MAX_REQUIREMENT:
            raise ValueError(f"{len(record.requirement)} characters")
        named = Requirement.parse(record.requirement).name
    except ValueError as error:
        expected = "a name and versions, as numpy>=1.26,<2"
        raise not_understood(where, f"as its requirement {error}", expected) from error
    if normalized_name(named) != normalized_name(record.distribution or ""):
        found = f"the requirement {record.requirement!r} beside the distribution {record.distribution!r}"
        raise not_understood(where, found, "a requirement that names the distribution of its record")


def _check_agreement(records: Sequence[ExternRecord]) -> None:
    """Raise ArchiveError where records say different things of one distribution."""
    said = {(record.version, record.requirement) for record in records}
    if len(said) > 1:
        names = listed([repr(record.name) for record in records], 5)
        found = f"{len(said)} different versions or requirements of {records[0].distribution}"
        raise not_understood(f"externs {names}", found, "the same in each").holding(
            record.name for record in records
        )


def _interpreter(recorded: Fingerprint, here: Fingerprint) -> list[Difference]:
    series = (f"{one.implementation} {one.python_series}" for one in (recorded, here))
    found = [
        Difference("python", "Python", *series),
        Difference("platform", "platform", recorded.platform, here.platform),
        Difference("platform", "byte order", recorded.byteorder, here.byteorder),
    ]
    return [one for one in found if one.recorded != one.found]


def _extern(extern: RecordedExtern, installed: Distributions) -> Difference | None:
    if not extern.distribution:
        absent = [name for name in extern.modules if installed.origin(name).kind == "unknown"]
        return _absent(extern, listed(absent), "a module of no distribution") if absent else None
    version = installed.version(extern.distribution)
    recorded = extern.version
    if extern.requirement:
        recorded = f"{extern.version} ({extern.requirement})"
    if version is None:
        return _absent(extern, extern.distribution, recorded)
    if extern.requirement and not Requirement.parse(extern.requirement).allows(version):
        place = installed.place(extern.distribution)
        found = f"{version} from {place}" if place else version
        return Difference("version", extern.distribution, recorded, found)
    return None


def _absent(extern: RecordedExtern, subject: str, recorded: str) -> Difference:
    if extern.optional:
        return Difference("optional", subject, f"{recorded}, optional", "nothing")
    return Difference("missing", subject, recorded, "nothing")
