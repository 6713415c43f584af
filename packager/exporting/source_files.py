"""Files and folders that are saved as modules of another name."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path


def modules_in(name: str, place: Path) -> Iterator[tuple[str, bytes, bool]]:
    """(name, source, is_package) of the module in a file, or of all modules below a folder.

    Raises FileNotFoundError where there is neither, ValueError for a file that is no Python source.
    """
    if place.is_dir():
        for path in sorted(place.rglob("*.py")):
            parts = path.relative_to(place).with_suffix("").parts
            is_package = parts[-1] == "__init__"
            names = parts[:-1] if is_package else parts
            yield ".".join((name, *names)), path.read_bytes(), is_package
    else:
        yield name, place.read_bytes(), place.name == "__init__.py"
