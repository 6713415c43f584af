"""The README as an index shows it: links and pictures lead into the repository, or are only text.

An index has no files beside the page. The address of the repository stands in pyproject.toml, or nowhere:
the checkout that is built from is not asked.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

_CODE = re.compile(r"(^```.*?^```)", re.M | re.S)
_FILE = r"((?:LICENSE|[\w./-]*(?:\.\w+|/))(?:#[\w-]+)?)"
_PICTURE = re.compile(rf"!\[([^\]]*)\]\({_FILE}\)")
_LINK = re.compile(rf"(?<!!)\[((?:!\[[^\]]*\]\([^)]*\)|[^\[\]])*)\]\({_FILE}\)")
_DEFINED = re.compile(rf"^\[([^\]]+)\]: {_FILE}\n", re.M)


class IndexReadme(MetadataHookInterface):
    """Fills `readme`, which pyproject.toml calls dynamic."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Write the README with the address that `[project.urls]` has as Repository, if it has one."""
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        shown = shown_elsewhere(text, metadata.get("urls", {}).get("Repository", ""))
        metadata["readme"] = {"content-type": "text/markdown", "text": shown}


def shown_elsewhere(text: str, repository: str) -> str:
    """Return Markdown whose links and pictures lie in the repository; without one, links are only text.

    What stands in a block of code is left as it is.
    """
    parts = _CODE.split(text)
    for at in range(0, len(parts), 2):
        parts[at] = _leading_to(repository, parts[at]) if repository else _without_links(parts[at])
    return "".join(parts)


def _leading_to(repository: str, text: str) -> str:
    text = _PICTURE.sub(rf"![\1]({repository}/raw/HEAD/\2)", text)
    text = _LINK.sub(rf"[\1]({repository}/blob/HEAD/\2)", text)
    return _DEFINED.sub(rf"[\1]: {repository}/blob/HEAD/\2\n", text)


def _without_links(text: str) -> str:
    text = _LINK.sub(r"\1", _PICTURE.sub("", text))
    for name, _ in _DEFINED.findall(text):
        text = re.sub(rf"\[([^\[\]]+)\]\[{re.escape(name)}\]", r"\1", text)
    return _DEFINED.sub("", text)
