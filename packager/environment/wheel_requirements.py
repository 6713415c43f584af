"""What wheels require on a target, by their markers and extras, and what of it has no wheel.

Markers are evaluated for the target: an installer evaluates them for the Python that it runs on.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from packager.archive import MAX_WHEEL_MARKERS
from packager.byte_ranges import Allowance
from packager.names import normalized_name
from packager.texts import listed

from .errors import EnvironmentBuildError
from .targets import Target, require_packaging
from .wheel_contents import require_names_alone
from .wheels import Wheel


def not_there(
    wheels: Mapping[Wheel, Sequence[str]],
    wanted: Iterable[str],
    target: Target,
    what: str,
    *,
    mend: str = "leave this target out",
) -> dict[str, tuple[Any, Wheel]]:
    """Return what `wanted` distributions require in turn and has no wheel, by name, with the wheel that asks.

    `wheels` are those at hand, with their requirements.

    Raises EnvironmentBuildError for a requirement that gives an address, or is none, and where there is more
    to look at than is looked at, and says `mend` then; ToolMissingError without packaging.
    """
    there = {wheel.name: wheel for wheel in wheels}
    looked_at = Allowance(MAX_WHEEL_MARKERS, "requirements of wheels and their extras to look at")
    parsed: dict[Wheel, list[Any]] = {}
    missing: dict[str, tuple[Any, Wheel]] = {}
    waiting = [(name, "") for name in map(normalized_name, wanted) if name in there]
    asked = set(waiting)
    while waiting:
        name, extra = waiting.pop()
        wheel = there[name]
        try:
            if wheel not in parsed:
                parsed[wheel] = _parsed(wheel, wheels[wheel])
            looked_at.spend(1 + len(parsed[wheel]))
        except ValueError as error:
            raise EnvironmentBuildError(
                f"{what}: {error}; {mend}, or remove {wheel.file} where it comes from"
            ) from error
        environment = {**target.markers, "extra": extra}
        for required in parsed[wheel]:
            name = normalized_name(required.name)
            if required.marker is not None and not required.marker.evaluate(environment):
                continue
            if name not in there:
                missing.setdefault(name, (required, wheel))
                continue
            new = [one for one in ((name, ""), *((name, e) for e in required.extras)) if one not in asked]
            asked.update(new)
            waiting += new
    return missing


def require_all_there(
    wheels: Mapping[Wheel, Sequence[str]], wanted: Iterable[str], target: Target, what: str
) -> None:
    """Raise EnvironmentBuildError where what `wanted` distributions require has no wheel, for all together.

    It is raised too where `not_there` raises it.
    """
    resolve = "leave out --offline, so that the installer resolves them"
    missing = not_there(wheels, wanted, target, what, mend=resolve)
    if missing:
        lacking = [
            f"{name}{required.specifier}, which {wheel.name} {wheel.version} requires"
            for name, (required, wheel) in sorted(missing.items())
        ]
        raise EnvironmentBuildError(
            f"{what}: there is no wheel of {listed(lacking, apart='; of ')}; leave out --offline to ask an "
            "index, name a folder that has it with --find-links, or export again with --vendor-wheels "
            f"{target}"
        ).holding(lacking)


def _parsed(wheel: Wheel, requires: Sequence[str]) -> list[Any]:
    require_packaging()
    from packaging.requirements import InvalidRequirement, Requirement

    require_names_alone(wheel.file, requires)
    try:
        return [Requirement(line) for line in requires]
    except InvalidRequirement as error:
        raise EnvironmentBuildError(
            f"{wheel.file}: its METADATA has a requirement that is none: {str(error)[:200]}; remove the "
            "wheel where it comes from"
        ) from error
