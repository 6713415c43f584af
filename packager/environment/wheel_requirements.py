"""What wheels require on a target, by their markers and extras; and what of it is not there.

Markers are evaluated for the target: an installer evaluates them for the Python that it runs on.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from .errors import EnvironmentBuildError, ToolMissingError
from .versions import normalized_name
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
    parsed = _parsed(wheel, requires)
    for extra in ("", *sorted(extras.get(wheel.name, ()))):
        if (wheel.name, extra) in asked:
            continue
        asked.add((wheel.name, extra))
        environment = {**target.markers, "extra": extra}
        for required in parsed:
            if required.marker is None or required.marker.evaluate(environment):
                yield required


def require_all_there(
    wheels: Mapping[Wheel, Sequence[str]], wanted: Iterable[str], target: Target, what: str
) -> None:
    """Raise EnvironmentBuildError where what `wanted` distributions require has no wheel, for all together.

    `wheels` are those at hand, with their requirements. Where packaging is not installed, which reads
    markers, nothing is said.
    """
    there: dict[str, list[Wheel]] = {}
    for wheel in wheels:
        there.setdefault(wheel.name, []).append(wheel)
    extras: dict[str, set[str]] = {}
    asked: set[tuple[str, str]] = set()
    missing: dict[str, str] = {}
    waiting = [one for name in wanted for one in there.get(normalized_name(name), ())]
    while waiting:
        wheel = waiting.pop()
        try:
            holding = list(required_by(wheel, wheels[wheel], target, extras, asked))
        except ToolMissingError:
            return
        for required in holding:
            name = normalized_name(required.name)
            extras.setdefault(name, set()).update(required.extras)
            waiting += there.get(name, ())
            if name not in there:
                missing.setdefault(
                    name, f"{name}{required.specifier}, which {wheel.name} {wheel.version} requires"
                )
    if missing:
        raise EnvironmentBuildError(
            f"{what}: there is no wheel of {'; of '.join(missing[name] for name in sorted(missing))}; leave "
            "out --offline to ask an index, name a folder that has it with --find-links, or export again "
            f"with --vendor-wheels {target}"
        )


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
