"""The files of an archive: as a tree, to look at and to print, and one of them as text."""

from __future__ import annotations

import codecs
from collections.abc import Iterable

from packager._texts import in_lines, one_line
from packager.errors import ArgumentError, PackageError


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
        """Say whether there is a file at the path `filename` below this folder."""
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


class ResourceDecodeError(PackageError, UnicodeDecodeError):
    """A resource is not text of the encoding that was asked for; its attributes are UnicodeDecodeError's."""

    resource: str = ""

    def __str__(self) -> str:
        found = (self.object or b"")[self.start : self.end]
        return one_line(
            f"resource {self.resource}, byte {self.start}: found {found[:8]!r}, which is not "
            f"{self.encoding} ({self.reason}). Name its encoding (encoding=), replace such bytes "
            "(errors='replace'), or read them with load_binary()"
        )


def decode_resource(data: bytes, resource: str, encoding: str, errors: str) -> str:
    """Return the text that bytes of a resource are in an encoding.

    Raises ArgumentError for an `encoding` that Python does not know or that is none of texts, and for unknown
    `errors`; ResourceDecodeError for other bytes.
    """
    try:
        codecs.lookup_error(errors)
        is_text = codecs.lookup(encoding)._is_text_encoding
        problem = "" if is_text else f"{encoding!r} is not an encoding of texts"
    except (LookupError, TypeError, ValueError) as error:
        problem = str(error)
    if problem:
        raise ArgumentError(
            f"resource {resource}: encoding={encoding!r}, errors={errors!r}: {problem}; expected one such as "
            "'utf-8' with 'strict', 'replace' or 'ignore'"
        )
    try:
        return data.decode(encoding, errors)
    except UnicodeDecodeError as error:
        made = ResourceDecodeError(error.encoding, data, error.start, error.end, error.reason)
        made.resource = resource
        raise made from None
    except UnicodeError as error:  # codecs such as idna and utf-16 tell no place
        made = ResourceDecodeError(encoding, data, 0, len(data), str(error))
        made.resource = resource
        raise made from None
