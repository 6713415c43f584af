"""What wheels require on a target, by their markers and extras; and what of it is not there.

Markers are evaluated for the target: an installer evaluates them for the Python that it runs on.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from packager.archive import MAX_WHEEL_MARKERS
from packager.byte_ranges import Allowance
from packager.names import normalized_name
from packager.texts import listed

from .errors import EnvironmentBuildError, ToolMissingError
from .wheel_contents import require_names_alone
from .wheel_platforms import Target
from .wheels import Wheel


def required_by(
    wheel: Wheel,
    requires: Sequence[str],
    target: Target,
    extras: Mapping[str, set[str]],
    asked: set[tuple[str, str]],
) -> Iterator[Any]:
    """Yield the requirements of a wheel that hold on the target, those of wanted extras among them.

    `asked` has the wheels and extras that were asked before, and is added to.

    Raises EnvironmentBuildError for a requirement that gives an address, or is none, ToolMissingError
    without packaging.
    """
    new = [one for one in ("", *sorted(extras.get(wheel.name, ()))) if (wheel.name, one) not in asked]
    parsed = _parsed(wheel, requires) if new else ()
    for extra in new:
        asked.add((wheel.name, extra))
        yield from _holding(parsed, target, extra)


def require_all_there(
    wheels: Mapping[Wheel, Sequence[str]],
    wanted: Iterable[str],
    target: Target,
    what: str,
    *,
    mend: str = "leave out --offline, so that the installer resolves them",
) -> None:
    """Raise EnvironmentBuildError where what `wanted` distributions require has no wheel, for all together.

    `wheels` are those at hand, with their requirements. Where packaging is not installed, which reads
    markers, nothing is said. It is raised too where there is more to look at than is looked at: `mend` says
    what to do then.
    """
    there = {wheel.name: wheel for wheel in wheels}
    looked_at = Allowance(MAX_WHEEL_MARKERS, "requirements of wheels and their extras to look at")
    parsed: dict[Wheel, list[Any]] = {}
    missing: dict[str, str] = {}
    waiting = [(name, "") for name in map(normalized_name, wanted) if name in there]
    asked = set(waiting)
    while waiting:
        name, extra = waiting.pop()
        wheel = there[name]
        try:
            if wheel not in parsed:
                parsed[wheel] = _parsed(wheel, wheels[wheel])
            looked_at.spend(1 + len(parsed[wheel]))
        except ToolMissingError:
            return
        except ValueError as error:
            raise EnvironmentBuildError(
                f"{what}: {error}; {mend}, or remove {wheel.file} where it comes from"
            ) from error
        for required in _holding(parsed[wheel], target, extra):
            name = normalized_name(required.name)
            if name not in there:
                text = f"{name}{required.specifier}, which {wheel.name} {wheel.version} requires"
                missing.setdefault(name, text)
                continue
            new = [one for one in ((name, ""), *((name, e) for e in required.extras)) if one not in asked]
            asked.update(new)
            waiting += new
    if missing:
        lacking = [missing[name] for name in sorted(missing)]
        raise EnvironmentBuildError(
            f"{what}: there is no wheel of {listed(lacking, apart='; of ')}; leave out --offline to ask an "
            "index, name a folder that has it with --find-links, or export again with --vendor-wheels "
            f"{target}"
        ).holding(lacking)


def _holding(parsed: Iterable[Any], target: Target, extra: str) -> Iterator[Any]:
    """Yield the requirements that hold on a target for one extra."""
    environment = {**target.markers, "extra": extra}
    for required in parsed:
        if required.marker is None or required.marker.evaluate(environment):
            yield required


def _parsed(wheel: Wheel, requires: Sequence[str]) -> list[Any]:
    try:
        from packaging import requirements
    except ImportError as error:
        raise ToolMissingError(
            "packaging is not there, which reads the requirements of wheels; install it: "
            "python -m pip install 'packaging>=24'"
        ) from error
    require_names_alone(wheel.file, requires)
    try:
        return [requirements.Requirement(line) for line in requires]
    except requirements.InvalidRequirement as error:
        raise EnvironmentBuildError(
            f"{wheel.file}: its METADATA has a requirement that is none: {str(error)[:200]}; remove the "
            "wheel where it comes from"
        ) from error
