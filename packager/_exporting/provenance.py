"""Where the code of an export comes from: author, commit and remote, as far as no network is needed."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable

from packager._texts import without_credentials
from packager._version import installed_version


def provenance_of(files: Iterable[str], by: str) -> dict[str, str | bool]:
    """Return where code comes from, as far as that is known here: author, commit, remote, versions.

    `files` are the sources of the project. Nothing is said of a commit unless they lie in one repository; one
    that is not in that commit makes it `dirty`.
    """
    told: dict[str, str | bool] = {"by": by} if by else {}
    told |= {"packager": installed_version() or "", "python": platform.python_version()}
    return {name: value for name, value in {**told, **_git_facts(sorted({*files}))}.items() if value != ""}


def _git_facts(files: list[str]) -> dict[str, str | bool]:
    folders = {os.path.dirname(os.path.realpath(one)) for one in files}
    try:
        top = _git(os.path.commonpath(folders), "rev-parse", "--show-toplevel")
    except ValueError:  # no files, or on several drives
        return {}
    commit = _git(top, "rev-parse", "--verify", "HEAD") if top else None
    if not top or not commit:
        return {}
    changed = _git(top, "status", "--porcelain", "--untracked-files=no")
    known = {*(_git(top, "ls-files", "-z") or "").split("\0")}
    mine = {os.path.relpath(os.path.realpath(one), top).replace(os.sep, "/") for one in files}
    facts: dict[str, str | bool] = {"commit": commit, "dirty": changed != "" or not mine <= known}
    if (remote := _git(top, "remote", "get-url", "origin")) is not None:
        facts["remote"] = without_credentials(remote)
    return facts


def _git(folder: str | None, *arguments: str) -> str | None:
    """Return what git answers; None where it fails. Hooks and monitors of a repository are not run."""
    import subprocess  # few exports ask

    quiet = ("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null")
    environment = {**os.environ, "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
    try:
        done = subprocess.run(
            ["git", *quiet, *arguments],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=10,
            check=False,
        )
    except (OSError, ValueError, subprocess.SubprocessError):
        return None
    return done.stdout.strip() if done.returncode == 0 else None
