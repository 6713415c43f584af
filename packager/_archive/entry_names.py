"""Which names an entry may have, alone and beside others. Section 4 of the format.

A name is a relative path with `/` between its parts that means the same thing on every file system
an archive may be unpacked on, and that climbs nowhere.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence

from packager._texts import HIDDEN, shortened
from packager.errors import ArchiveError

from .archive_errors import damaged
from .bounds import (
    MAX_DIGEST_LINE,
    MAX_ENTRIES,
    MAX_FOLDERS,
    MAX_NAME_BYTES,
    MAX_NAME_PARTS,
    MAX_PACKED,
    MAX_SIGNATURE,
)

TYPE_CHECKING = False  # as in packager._lazy
if TYPE_CHECKING:
    from typing import Final


MANIFEST: Final = ".data/manifest.msgpack"
DIGEST: Final = ".data/manifest.sha256"
MIGRATIONS: Final = ".data/migrations.msgpack"
SIGNATURES: Final = ".data/signatures/"

_ILLEGAL: Final = re.compile(
    "(?m)"
    # Tabs, backslashes, and what is not seen: control characters, marks that reorder text, no width.
    rf"[\t\\{HIDDEN}]"
    # No name at all, an absolute path, a drive letter; and parts that are empty, only dots, or end
    # in a dot or space, which Windows drops.
    r"|^$|^/|^[A-Za-z]:|//|/$|[. ](?:/|$)"
    rf"|^.{{{MAX_NAME_BYTES + 1}}}|^(?:[^/\n]*/){{{MAX_NAME_PARTS}}}",
)


def is_reserved(name: str) -> bool:
    """Return whether a name belongs to the manifest, its digest or a signature.

    >>> is_reserved(".data/manifest.sha256"), is_reserved(".data/index/net/weights")
    (True, False)
    """
    return name in (MANIFEST, DIGEST) or name.startswith(SIGNATURES)


def check_reserved_size(name: str, size: int) -> None:
    """Raise ArchiveError for a reserved entry that is longer than is read as a whole."""
    limit = {MANIFEST: MAX_PACKED, DIGEST: MAX_DIGEST_LINE}.get(name, MAX_SIGNATURE)
    if size > limit:
        raise damaged(f"entry {name!r}", f"{size} bytes", f"at most {limit}")


def digest_line(identity: str) -> bytes:
    """Return the content of the entry with the manifest's digest: a line that `sha256sum -c` reads."""
    return f"{identity}  {MANIFEST.rpartition('/')[2]}\n".encode("ascii")


def check_name(name: str) -> None:
    """Raise ArchiveError for a name that no entry may have.

    >>> check_name("../evil")
    Traceback (most recent call last):
    packager.errors.ArchiveError: entry '../evil': this name is not allowed in an archive; ...
    """
    check_names([name])


def check_names(names: Sequence[str]) -> None:
    """Raise ArchiveError when one of `names` is illegal, or two of them would be one file somewhere.

    Two names collide when they are equal without regard to letter case and to compatible characters, or when
    one is a folder of the other; folders collide when they differ in letter case alone.
    """
    if len(names) > MAX_ENTRIES:
        raise ArchiveError(f"archive of {len(names)} entries: at most {MAX_ENTRIES} are read; split it")
    joined = "\n".join(names)
    if not _are_plain(names, f"\n{joined}\n"):
        for name in names:
            _check_alone(name)
    _check_together(names, joined.isascii())


def name_problems(names: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield each name that no entry may have, or not beside another one, and what is wrong with it.

    >>> [name for name, _ in name_problems(["net/a.txt", "net/a.", "net/A.txt"])]
    ['net/a.', 'net/A.txt']
    """
    try:
        check_names(names)
    except ArchiveError as error:
        first = error
    else:
        return
    seen: dict[str, str] = {}
    for name in names:
        try:
            _check_alone(name)
        except ArchiveError as error:
            yield name, str(error)
            continue
        other = seen.setdefault(_folded(name), name)
        if other is not name:
            yield name, str(_collision(other, name))
    if len(seen) == len(names):  # a file and a folder of one name, or too many
        yield names[0], str(first)


def check_order(names: Sequence[str]) -> int:
    """Return how many entries come before the manifest; they are the ones that it lists.

    Raises ArchiveError unless these are followed by the manifest, its digest, and signatures by name, and
    by nothing else. In which order they stand themselves is for `check_listed_order`.
    """
    listed = names.index(MANIFEST) if MANIFEST in names else len(names)
    if names[listed : listed + 2] != [MANIFEST, DIGEST]:
        raise ArchiveError(
            f"archive of {len(names)} entries: {MANIFEST} and {DIGEST} do not follow them. The file is "
            "another kind of ZIP, or was repacked by another tool: unpack it, and open the folder instead"
        )
    after = names[listed + 2 :]
    misplaced = [name for name in after if not name.startswith(SIGNATURES)]
    if misplaced := misplaced or _out_of_order(after):
        raise _misplaced(misplaced[0])
    return listed


def check_listed_order(names: Sequence[str], tensors: int) -> None:
    """Raise ArchiveError unless what follows the first `tensors` names is sorted, and none is reserved.

    Tensors come first, in the order in which they were saved.
    """
    rest = names[tensors:]
    firsts = (bisect_left(rest, first) for first in (MANIFEST, DIGEST, SIGNATURES))
    candidates = [*names[:tensors], *(name for at in firsts for name in rest[at : at + 1])]
    misplaced = [name for name in candidates if is_reserved(name)]
    if misplaced := misplaced or _out_of_order(rest):
        raise _misplaced(misplaced[0])


def _out_of_order(names: Sequence[str]) -> list[str]:
    return [name for name, right in zip(names, sorted(names), strict=True) if name != right]


def _misplaced(name: str) -> ArchiveError:
    return ArchiveError(
        f"entry {name!r}: out of order; expected tensors first, then entries sorted by name, then the "
        "manifest, its digest and signatures. The file was repacked by another tool: unpack it, and open "
        "the folder instead"
    )


def _are_plain(names: Sequence[str], lines: str) -> bool:
    """Return whether all names are ASCII and plainly legal; `lines` holds them with a line feed around each.

    A few searches through the whole text take a tenth of the time of looking at every name.
    """
    if not lines.isascii() or lines.count("\n") != len(names) + 1 or ":" in lines:
        return False
    if max(map(len, names), default=0) > MAX_NAME_BYTES or any(odd in lines for odd in _ODD):
        return False
    deep = max((name.count("/") for name in names), default=0) >= MAX_NAME_PARTS
    return not deep and lines.replace("\n", "").isprintable()


_ODD: Final = ("\\", "//", "\n/", "/\n", ".\n", " \n", "./", " /", "\n\n")


def _check_alone(name: str) -> None:
    from unicodedata import is_normalized  # a large table, not needed for ASCII names

    size = len(name.encode("utf-8", "surrogatepass"))
    legal = "\n" not in name and not _ILLEGAL.search(name) and size <= MAX_NAME_BYTES
    if not legal or not is_normalized("NFC", name):
        raise ArchiveError(
            f"entry {shown_name(name)}: this name is not allowed in an archive; expected a relative path in "
            "NFC with '/' between parts, without control or invisible characters, backslashes, '.' or '..' "
            f"parts or parts that end in a dot or space, at most {MAX_NAME_BYTES} bytes and {MAX_NAME_PARTS} "
            f"parts, found {size} bytes and {name.count('/') + 1}; rename it"
        )


def _check_together(names: Sequence[str], ascii_only: bool) -> None:
    fold = str.lower if ascii_only else _folded
    taken = {fold(name): name for name in names}
    if len(taken) != len(names):
        raise _collision(*_first_pair(names, fold))
    for folder in _folders(names):
        other = taken.setdefault(fold(folder), folder + "/")
        if other != folder + "/":
            raise _collision(other, folder + "/")


def _folders(names: Iterable[str]) -> list[str]:
    """Return every folder that the names lie in, each once."""
    found: set[str] = set()
    pending = {name.rpartition("/")[0] for name in names}
    while pending:
        pending.discard("")
        found |= pending
        if len(found) > MAX_FOLDERS:
            raise ArchiveError(
                f"archive of at least {len(found)} folders: at most {MAX_FOLDERS} are read; split it"
            )
        pending = {folder.rpartition("/")[0] for folder in pending} - found
    return sorted(found)


def _folded(name: str) -> str:
    """Return a form that is equal for names that a file system, Python or a reader takes for one."""
    from unicodedata import normalize

    return normalize("NFKC", normalize("NFKD", name).casefold())


def _first_pair(names: Sequence[str], fold: Callable[[str], str]) -> tuple[str, str]:
    seen: dict[str, str] = {}
    for name in names:
        other = seen.setdefault(fold(name), name)
        if other is not name:
            return other, name
    raise AssertionError("no two names are equal")


def shown_name(name: str | bytes) -> str:
    """Return a name as messages show it, cut short; bytes that are no UTF-8 are spelled out.

    >>> print(shown_name("größe"), shown_name("größe".encode()), shown_name(b"gr\\xf6"))
    'größe' 'größe' 'gr\\xf6'
    """
    if isinstance(name, str):
        shown = repr(name)
    else:
        try:
            shown = repr(name.decode())
        except UnicodeDecodeError:
            shown = repr(name).removeprefix("b")
    return shortened(shown, 120)


def _collision(one: str, other: str) -> ArchiveError:
    return ArchiveError(
        f"entries {one!r} and {other!r}: their names clash: on some file system they would be one file, or "
        "a file and a folder, or they look alike. Rename one so that more than letter case differs"
    )


def index_name(member: str) -> str:
    """Return the name of the index that belongs to a safetensors member.

    >>> index_name("net/weights.safetensors")
    '.data/index/net/weights.safetensors'
    """
    return f".data/index/{member}"
