"""What pip and uv say when they fail is told as what it means: captured words of both."""

from __future__ import annotations

import platform
import sys

import pytest

from packager._environment import Interpreter
from packager._environment.errors import (
    DiskFullError,
    EnvironmentBuildError,
    NoSuchVersionError,
    WrongPlatformError,
    WrongPythonError,
)
from packager._environment.installers import explained
from packager._environment.targets import Target
from packager._environment.wheels import Wheel
from tests.tables import one_test

PIP_NONE = """\
ERROR: Ignored the following versions that require a different python version: 2.5.0 Requires-Python >=3.12
ERROR: Could not find a version that satisfies the requirement {} (from versions: 2.4.0, 2.4.5, 2.4.6)
ERROR: No matching distribution found for {}
"""
UV_NONE = """\
error: No solution found when resolving dependencies
  cause: Because there is no version of numpy==1.99 and you require numpy==1.99, we can conclude that
"""
UV_TAGS = """\
  cause: Because fast==1.0 has no wheels with a matching Python ABI tag (e.g., `cp311`) and you require
"""
UV_PYTHON = """\
  cause: Because the current Python version (3.11.7) does not satisfy Python>=3.99 and tiny==1.0 depends on
"""


@one_test
@pytest.mark.parametrize(
    ("output", "kind", "message"),
    [
        (
            PIP_NONE.format("numpy==1.99", "numpy==1.99"),
            NoSuchVersionError,
            "no numpy 1.99 for Python 3.* the last there are: 2.4.0, 2.4.5, 2.4.6; give a folder",
        ),
        (
            PIP_NONE.format("numpy==2.5.0", "numpy==2.5.0"),
            WrongPythonError,
            "numpy 2.5.0 needs Python >=3.12",
        ),
        (UV_NONE, NoSuchVersionError, "no numpy 1.99 for Python 3"),
        (UV_TAGS, WrongPlatformError, "has fast for cp39-win32; this is cp3"),
        (UV_PYTHON, WrongPythonError, "tiny needs Python >=3.99"),
        (
            "ERROR: Package 'tiny' requires a different Python: 3.11.7 not in '>=3.99'",
            WrongPythonError,
            "tiny needs Python >=3.99; found 3",
        ),
        (
            "ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device",
            DiskFullError,
            "no space left on the disk",
        ),
        (
            "Traceback: something else",
            EnvironmentBuildError,
            "the installer failed; what it said last is below",
        ),
    ],
)
def test_the_words_of_installers_become_typed_errors(
    output: str, kind: type[Exception], message: str
) -> None:
    held = [Wheel.parse("fast-1.0-cp39-cp39-win32.whl")]
    error = explained(output, "environment x", Interpreter.here(), held)
    assert type(error) is kind
    with pytest.raises(kind, match=f"environment x: .*{message}"):
        raise error
    assert error.__notes__ == output.strip().splitlines()[-8:]


PIP_CONFLICT = """\
ERROR: Cannot install -r requirements.txt (line 1) because of conflicting dependencies.
ERROR: ResolutionImpossible: for help visit https://pip.pypa.io/
"""
PIP_CONFLICT_LOG = """\
2026-11-23T00:03:40,334 The conflict is caused by:
2026-11-23T00:03:40,334     shop 0.1.0 depends on tiny-lib{}
2026-11-23T00:03:40,334     The user requested (constraint) tiny-lib==1.2.0
"""


def test_a_recorded_version_that_pip_finds_nowhere_is_missing_though_pip_calls_it_a_conflict() -> None:
    log = PIP_CONFLICT_LOG.format(">=1.1,<2")
    error = explained(PIP_CONFLICT, "environment x", Interpreter.here(), log=log)
    assert type(error) is NoSuchVersionError
    assert str(error).startswith("environment x: no tiny-lib 1.2.0 for Python 3")


def test_a_version_that_pip_finds_nowhere_is_missing_though_a_constraint_would_allow_it() -> None:
    log = (
        "2026-11-26T23:51:04,928     The user requested torch==2.13.0+cpu\n"
        "2026-11-26T23:51:04,928     The user requested (constraint) torch{}\n"
    )
    missing, refused = (
        explained(PIP_CONFLICT, "wheels for x", Interpreter.here(), log=log.format(text))
        for text in ("<=2.14.1", "<2")
    )
    assert type(missing) is NoSuchVersionError
    assert str(missing).startswith("wheels for x: no torch 2.13.0+cpu for Python 3")
    assert "name the index of its builder" in str(missing)
    assert type(refused) is EnvironmentBuildError


@pytest.mark.parametrize("wanted", [">=1.3", "[fast]>=1.1", "===1.2.0"])
def test_versions_that_do_not_fit_together_are_not_told_as_missing(wanted: str) -> None:
    log = PIP_CONFLICT_LOG.format(wanted)
    error = explained(PIP_CONFLICT, "environment x", Interpreter.here(), log=log)
    assert type(error) is EnvironmentBuildError
    assert str(error) == "environment x: the installer failed; what it said last is below"


def test_wheels_for_other_platforms_alone_are_told_with_a_target_that_wheels_are_for() -> None:
    error = explained(
        UV_TAGS, "environment x", Interpreter.here(), [Wheel.parse("fast-1.0-cp39-cp39-win32.whl")]
    )
    assert str(error).endswith(f"or export again with --vendor-wheels {Target.here()}")
    if sys.platform == "linux" and platform.libc_ver()[0] == "glibc":
        assert "-manylinux_2_" in str(Target.here())
