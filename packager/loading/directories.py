"""The files of an archive as a tree, to look at and to print."""

from __future__ import annotations

from collections.abc import Iterable

from packager.texts import in_lines


class Directory:
    """A folder: `children` by name; a file is a Directory with `is_dir` False.

    Source: torch.package.Directory, printed the same way; `.data` holds what belongs to the format.

    >>> print(directory_of("net.kellet", ["net/__init__.py", "net/layers/conv.py"]))
    ─── net.kellet
        └── net
            ├── __init__.py
            └── layers
                └── conv.py
    """

    def __init__(self, name: str, is_dir: bool) -> None:
        self.name = name
        self.is_dir = is_dir
        self.children: dict[str, Directory] = {}

    def has_file(self, filename: str) -> bool:
        """Say whether a file lies at the path `filename` below this folder."""
        found: Directory | None = self
        for part in filename.split("/"):
            found = found.children.get(part) if found is not None else None
        return found is not None and not found.is_dir

    def __str__(self) -> str:
        found: list[str] = []
        # The place of a line is kept with it, so that deep trees need no recursion.
        work: list[tuple[Directory, str, str]] = [(self, "", "───")]
        while work:
            node, before, branch = work.pop()
            found.append(f"{before}{branch} {node.name}")
            below = before + ("│   " if branch.startswith("├") else "    ")
            children = sorted(node.children.values(), key=lambda child: (child.is_dir, child.name))
            marks = ["├──"] * (len(children) - 1) + ["└──"]
            work.extend(
                (child, below, mark) for child, mark in reversed(list(zip(children, marks, strict=False)))
            )
        return in_lines(*found)


def directory_of(name: str, files: Iterable[str]) -> Directory:
    """Return the tree of `files`, which are paths with forward slashes, under the given name."""
    root = Directory(name, True)
    for path in files:
        folder = root
        *parents, last = path.split("/")
        for part in parents:
            folder = folder.children.setdefault(part, Directory(part, True))
        folder.children[last] = Directory(last, False)
    return root
