"""The project's URLs in its metadata: those of the public repository that it is built from.

Written down, an address would be wrong in every copy but one, and there is none yet. A checkout knows where
it came from; in a source distribution the builder finds what was written when that was made.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

# A host with a dot in its name and at least one folder: no path on this machine, no address inside a network.
_PUBLIC = re.compile(
    r"(?:https://|ssh://git@|git@)([a-z0-9-]+(?:\.[a-z0-9-]+)*\.[a-z]{2,})[:/]([\w.~-]+(?:/[\w.~-]+)+)"
)


class ProjectUrls(MetadataHookInterface):
    """Fills `urls`, which pyproject.toml calls dynamic."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Write the URLs, none where there is no public address."""
        metadata["urls"] = _urls(_origin(Path(self.root)))


def _origin(root: Path) -> str:
    """Return the remote that the checkout at `root` was cloned from; empty without one, or without git."""
    if not (root / ".git").exists():
        return ""
    try:
        command = ["git", "-C", str(root), "remote", "get-url", "origin"]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def _urls(origin: str) -> dict[str, str]:
    found = _PUBLIC.fullmatch(origin.removesuffix("/").removesuffix(".git"))
    if found is None:
        return {}
    repository = f"https://{found[1]}/{found[2]}"
    return {
        "Repository": repository,
        "Documentation": f"{repository}/tree/HEAD/docs",
        "Changelog": f"{repository}/blob/HEAD/CHANGELOG.md",
        "Issues": f"{repository}/issues",
    }
