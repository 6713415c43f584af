"""What stands against a release of a checkout: a dirty tree, a changed promise, a version that is not told.

python .ci/release_problems.py [TAG]      print the problems, and end with 1 if there is one
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from fixtures.golden import released  # noqa: E402 - found only now


def problems(root: Path, tag: str = "") -> Iterator[str]:
    """Yield what stands against a release of the checkout at `root`, as it is."""
    version = version_of(root)
    if said(root, "git", "status", "--porcelain"):
        yield "the tree is dirty: commit or remove what `git status` shows"
    if tag not in ("", f"v{version}"):
        yield f"the tag is {tag}, and the version in pyproject.toml {version}"
    changelog = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    if not re.search(rf"^## {re.escape(version)}(, \d{{4}}-\d\d-\d\d)?$", changelog, re.M):
        yield f"CHANGELOG.md has no heading `## {version}`, with or without a date"
    yield from _of_golden_archives(root, version)
    command = [sys.executable, "docs/public_api.py", "--check"]
    path = os.pathsep.join([str(root / "src"), str(root)])  # the code of this checkout, whatever is installed
    api = subprocess.run(
        command, cwd=root, env=os.environ | {"PYTHONPATH": path}, capture_output=True, text=True, check=False
    )
    if api.returncode:
        yield f"the public API differs from its snapshot:\n{api.stderr.strip()}"


def _of_golden_archives(root: Path, version: str) -> Iterator[str]:
    folder = root / "tests" / "golden"
    yield from released.problems(folder)
    for kind in released.KINDS:
        name = f"tests/golden/{kind}-{version}.kellet"
        if not (root / name).exists():
            yield f"{name} is missing: python fixtures/golden/{kind}.py {name}"
    for tag in said(root, "git", "tag", "--list", "v*").split():
        then = said(root, "git", "show", f"{tag}:tests/golden/SHA256SUMS").splitlines()
        for line in sorted({*then} - {*released.lines(folder)}):
            yield f"tests/golden/SHA256SUMS lacks a line that it had in {tag}: {line}"


def version_of(root: Path) -> str:
    """Return the version that pyproject.toml gives."""
    project: dict[str, str] = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return project["version"]


def said(folder: Path, *command: str) -> str:
    """Return what a command prints; raise where it fails."""
    return subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, text=True, check=True).stdout


if __name__ == "__main__":
    sys.exit("\n".join(problems(ROOT, *sys.argv[1:2])) or 0)
