"""The wheels that are at hand before any index is asked: the archive's, and kellet's own."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from packager.version import OWN_NAME

from .errors import EnvironmentBuildError
from .installers import wrong_platform
from .interpreter import Interpreter
from .own import own_version, own_wheel
from .recorded import RecordedEnvironment
from .wheels import Wheel, WheelArchive, extract_wheels, fitting, vendored_wheels


def gather_wheels(
    archive: WheelArchive, python: Interpreter, folder: Path, what: str, *, offline: bool = False
) -> None:
    """Lay the archive's wheels that may fit `python` into `folder`.

    kellet itself comes from the running packager where that has the recorded version, and the archive
    has no wheel of it.

    Raises, with `offline` and before anything is written, WrongPlatformError for an extern whose
    wheels are for others, and EnvironmentBuildError for one that has none.
    """
    recorded = RecordedEnvironment.of(archive.manifest)
    held = vendored_wheels(archive.manifest)
    usable = fitting(held, python)
    names = {wheel.name for wheel in usable}
    own = OWN_NAME not in names and recorded.distributions.get(OWN_NAME, "") == own_version()
    if offline:
        _require_all(recorded, held, names | ({OWN_NAME} if own else set()), python, what)
    extract_wheels(archive, usable, folder)
    if own:
        name, data = own_wheel()
        (folder / name).write_bytes(data)


def _require_all(
    recorded: RecordedEnvironment, held: Sequence[Wheel], there: set[str], python: Interpreter, what: str
) -> None:
    for name in recorded.distributions:
        others = [wheel for wheel in held if wheel.name == name]
        if name in there:
            continue
        if others:
            raise wrong_platform(what, others, python)
        raise EnvironmentBuildError(
            f"{what}: the archive has no wheel of {name}; leave out --offline to ask an index, or export "
            "again with --vendor-wheels"
        )
