"""Text that a file may have given, made safe for a terminal: one table of what is not visible.

A message is made of words of ours and of texts from files. What is printed of them cannot move a cursor,
change a colour, reorder what stands beside it, or begin a line of its own: hidden characters are spelled
out, and so is a line feed, unless it comes from `in_lines`. A plain string that was forgotten somewhere
is so shown on one line, never obeyed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from packager._picklable_errors import PicklesWhole

TYPE_CHECKING = False  # as in packager._lazy
if TYPE_CHECKING:
    from typing import Any, Final, Self


WIDTH: Final = 80
"""How many characters a line of text for people has."""

MOST_LISTED: Final = 10
"""How many items a list in a message has, beside the number of those that are left out."""

ACTIONS: Final = {"intern": "stored", "extern": "required", "mock": "mocked", "deny": "denied"}
"""What is done with a module, for people."""

STEPS: Final = {"proving": "opening it in a clean process"}
"""What steps of an export are called for people, where that is something else."""

_MOST_LINES: Final = 40 - 2  # a traceback puts the name of the class before them
_MOST_OF_NOTES: Final = _MOST_LINES // 2
_LONG: Final = 8 * WIDTH  # of one item of a list

HIDDEN: Final = (
    # C0 and C1, but for the tab and the line feed; halves of characters.
    "\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff"
    # Line and paragraph separators, and marks that reorder text.
    "\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069"
    # What has no width: Default_Ignorable_Code_Point of Unicode 15, and interlinear annotations.
    "\xad\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200d\u2060-\u2065\u206a-\u206f\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
"""Characters that are not seen, or that a terminal obeys, as the inside of a class of `re`."""

# Hidden all the same, although Python calls them printable; from U+E0000 on everything is hidden.
_SEEN_BY_PYTHON: Final = frozenset(
    "\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u3164\uffa0"
    "\ufe00\ufe01\ufe02\ufe03\ufe04\ufe05\ufe06\ufe07\ufe08\ufe09\ufe0a\ufe0b\ufe0c\ufe0d\ufe0e\ufe0f"
)
_HIDDEN: Final = f"[{HIDDEN}]"
_UNITS: Final = ("KiB", "MiB", "GiB", "TiB")
_ADDRESS: Final = re.compile(r"<(?:[\w.]+\.)?(\w+) object at 0x[0-9a-fA-F]+>")
_HIDDEN_OR_NEW_LINE: Final = f"[{HIDDEN}\n]"


class Lines(str):
    """Text of several lines whose line feeds are ours; everything else in it is visible. Made by `in_lines`.

    A plain string that is added to it is put on one line.

    >>> "found: " + in_lines("one", "two\\nforged")
    'found: one\\ntwo\\\\nforged'
    """

    __slots__ = ()

    def __add__(self, other: str) -> Lines:
        return Lines(str.__add__(self, one_line(other)))

    def __radd__(self, other: str) -> Lines:
        return Lines(str.__add__(one_line(other), self))


def in_lines(*parts: str, indent: str = "") -> Lines:
    """Return the parts below each other. A plain one is shown on one line; one of Lines keeps its own.

    >>> in_lines("two values:", in_lines("a", "b\\x1b[2J\\nc", indent="  "))
    'two values:\\n  a\\n  b\\\\x1b[2J\\\\nc'
    """
    return Lines("\n".join(indent + one_line(part) for part in parts))


def counted(count: int, noun: str, several: str = "") -> str:
    """Return a number of things as text; `several` is the plural where it is not the noun and an s.

    >>> counted(1, "file"), counted(1200, "file"), counted(0, "entry", "entries")
    ('1 file', '1,200 files', '0 entries')
    """
    return f"{count:,} {noun if count == 1 else several or f'{noun}s'}"


def size_text(count: int) -> str:
    """Return a number of bytes as text, in binary units.

    >>> size_text(999), size_text(2048), size_text(3 * 1024**3)
    ('999 B', '2.0 KiB', '3.0 GiB')
    """
    if count < 1024:
        return f"{count} B"
    steps = min((count.bit_length() - 1) // 10, len(_UNITS))
    return f"{count / 1024**steps:.1f} {_UNITS[steps - 1]}"


def did_you_mean(given: str, names: Iterable[str]) -> str:
    """Return the question for the name nearest to the one that was given; nothing where none is near.

    >>> did_you_mean("exprot", ["plan", "export"])
    '; did you mean export?'
    >>> did_you_mean("zzz", ["plan", "export"])
    ''
    """
    from difflib import get_close_matches  # not needed where nothing is wrong

    near = get_close_matches(given, sorted(set(names) - {given}), n=1)
    return f"; did you mean {near[0]}?" if near else ""


def few_of(items: Sequence[str], most: int = MOST_LISTED) -> list[str]:
    """Return the first items of a list in a message, and how many more there are.

    >>> few_of(["a", "b", "c", "d"], 2)
    ['a', 'b', 'and 2 more']
    """
    rest = len(items) - most
    return [*map(_short, items[:most]), *([f"and {rest:,} more"] if rest > 0 else [])]


def listed(items: Sequence[str], most: int = MOST_LISTED, apart: str = ", ") -> str:
    """Return a list in a message as one text, cut as `few_of` does; `apart` stands between items.

    >>> listed(["a", "b", "c", "d"], 2), listed(["a", "b"])
    ('a, b and 2 more', 'a, b')
    """
    rest = len(items) - most
    return apart.join(map(_short, items[:most])) + (f" and {rest:,} more" if rest > 0 else "")


def shortened(text: str, most: int, mark: str = "...") -> str:
    """Return a text of at most `most` characters: of a longer one the beginning, and a mark behind it.

    >>> shortened("twelve words", 9), shortened("words", 9)
    ('twelve...', 'words')
    """
    return text if len(text) <= most else f"{text[: max(most - len(mark), 1)]}{mark}"


def _short(item: str, most: int = _LONG) -> str:
    if len(item) <= most or isinstance(item, Lines):
        return item
    half = min(2 * WIDTH, most // 2 - 20)  # the number between them has room
    return f"{item[:half]}... ({len(item):,} characters) ...{item[-half:]}"


def on_screen(text: str, most: int = _MOST_LINES, field: str = "args") -> str:
    """Return text that is safe already in at most `most` lines of a screen: of more the first and the last.

    `field` is where the error has all of it.

    >>> print(on_screen(in_lines(*map(str, range(100))), 7))
    0
    1
    2
    3
    4
    ... 94 more lines, which are in `args` of the error ...
    99
    """
    lines = text.split("\n")
    if sum(map(_height, lines)) <= most:
        return text
    last = most // 5  # what to do stands at the end
    head = _fitting(lines, most - 1 - last)
    tail = _fitting(lines[: len(head) - 1 : -1], last)[::-1]
    rest = len(lines) - len(head) - len(tail)
    left_out = [f"... {rest:,} more lines, which are in `{field}` of the error ..."] if rest else []
    return Lines("\n".join([*head, *left_out, *tail]))


def _fitting(lines: Sequence[str], most: int) -> list[str]:
    """Return the first lines that fit into so many of a screen: what is to be pasted stays on one line."""
    found: list[str] = []
    for line in lines:
        line = _short(line, _LONG if found else min(_LONG, most * WIDTH))
        most -= _height(line)
        if most < 0:
            break
        found.append(line)
    return found


def _height(line: str) -> int:
    return -(-len(line) // WIDTH) or 1


def one_line(text: str) -> str:
    """Return text with what is hidden spelled out, and line feeds too unless they are ours.

    >>> one_line("a\\nb\\u202etxt")
    'a\\\\nb\\\\u202etxt'
    """
    if isinstance(text, Lines) or _is_seen(text):
        return text
    return re.sub(_HIDDEN_OR_NEW_LINE, _spelled_out, text)


def _is_seen(text: str) -> bool:
    """Whether nothing in a text is hidden, as in nearly all: then the patterns need not be compiled."""
    if not text.isprintable():
        return False
    return text.isascii() or (max(text) < "\U000e0000" and _SEEN_BY_PYTHON.isdisjoint(text))


def wrapped(text: str, indent: str = "", more: str = "    ") -> list[str]:
    """Return a text in lines of 80 characters; those after the first are indented by `more` as well.

    A word that is longer, as an identity or a path may be, stays whole.

    >>> wrapped("a long line", more="  ")
    ['a long line']
    """
    import textwrap  # not needed where archives are loaded

    return textwrap.wrap(
        one_line(text), WIDTH, initial_indent=indent, subsequent_indent=indent + more,
        break_long_words=False, break_on_hyphens=False,
    ) or [indent]  # fmt: skip


def printable(text: str) -> str:
    """Spell out what is hidden in text of a file that is not trusted; its lines stay.

    >>> printable("a line\\n\\x1b[2J\\u202etxt")
    'a line\\n\\\\x1b[2J\\\\u202etxt'
    """
    return text if _is_seen(text.replace("\n", "")) else re.sub(_HIDDEN, _spelled_out, text)


class ShowsItsText(PicklesWhole):
    """An error or warning whose text is safe to print, whatever it was raised with.

    With its notes it fits on a screen: `__notes__` is what is shown of them, and `notes` has all. Of a list
    its text tells the first items, and `problems` has all of them.
    """

    notes: tuple[str, ...] = ()
    problems: tuple[Any, ...] = ()

    def holding(self, problems: Iterable[Any]) -> Self:
        """Keep in `problems` all of what the text tells a few of; return the error.

        >>> ShowsItsText("no such keys: a and 1 more").holding(["a", "b"]).problems
        ('a', 'b')
        """
        self.problems = tuple(problems)
        return self

    def __str__(self) -> str:
        said: Any = self.args[0] if len(self.args) == 1 else BaseException.__str__(self)
        taken = sum(map(_height, getattr(self, "__notes__", ())))
        room = _MOST_LINES - min(taken, _MOST_OF_NOTES)
        return on_screen(one_line(said if isinstance(said, str) else str(said)), room)

    def add_note(self, note: str) -> None:
        """Add a note, on one line."""
        self.notes = (*self.notes, one_line(note))
        self.__notes__ = on_screen("\n".join(self.notes), _MOST_OF_NOTES, "notes").split("\n")


def _spelled_out(match: re.Match[str]) -> str:
    return ascii(match[0])[1:-1]


def without_addresses(text: object) -> str:
    """Return a message of a library without the addresses of its objects, which say nothing to anybody.

    >>> without_addresses("malformed node or string on line 1: <ast.Call object at 0x7f0490f10fd0>")
    'malformed node or string on line 1: a Call'
    """
    return _ADDRESS.sub(r"a \1", str(text))


def address_parts(address: str) -> tuple[str, str, str, str]:
    """Return scheme, place, path and the rest of an address; the rest begins with "?" or "#", or is empty.

    >>> address_parts("https://me@models.example?token=1#a")
    ('https', 'me@models.example', '', '?token=1#a')
    """
    scheme, place, path, rest = re.findall(_PARTS, address)[0]
    return scheme, place, path, rest


def without_credentials(address: str) -> str:
    """Return scheme, host and path of an address: no user, password, query or fragment.

    Where a password may hold an unescaped "/", "?" or "#" nothing is shown but the scheme.

    >>> without_credentials("https://me:secret@example.org/team/net.git?token=1")
    'https://example.org/team/net.git'
    >>> without_credentials("https://me:sec/ret@example.org/team/net.git")
    'https://...'
    """
    scheme, place, path, rest = address_parts(address)
    start, host = f"{scheme}://" if scheme else "", place.rpartition("@")[2]
    is_clear = re.fullmatch(_PLAIN_PLACE, start + place) and "://" not in path
    if ("@" in path + rest and not is_clear) or (scheme and not re.fullmatch(_HOST, host)):
        return f"{start}..."
    return f"{start}{host}{path}"


def shown_place(place: str) -> str:
    """Return a path as it is, and an address without credentials; a Path has made one slash of two.

    >>> shown_place("net?.kellet"), shown_place("https:/me:secret@models.example/net.kellet")
    ('net?.kellet', 'https://models.example/net.kellet')
    """
    if has_login(place):
        return f"{place.partition(':')[0].lstrip()}:..." if ":" in place.partition("//")[0] else "//..."
    start = re.search(_START, place)
    if start is None:
        return place
    return place[: start.start()] + without_credentials(f"{start[1]}://{place[start.end() :]}")


def has_login(place: str) -> bool:
    """Return whether a path may be an address that was written without "://": with a user and a password.

    >>> has_login("http:me:secret@models.example/x"), has_login("//me:secret@h/x"), has_login("net@1.kellet")
    (True, True, False)
    """
    return re.search(_LOGIN, place) is not None


def without_address(text: object) -> str:
    """Return the text of a library up to the first address in it, which may hold anything.

    >>> without_address(OSError("cannot open https://models.example/net?token=1: refused"))
    'cannot open https://...'
    """
    return re.sub(f"(?s){_START}.*", r"\1://...", str(text))


_START: Final = "([A-Za-z][A-Za-z0-9+.-]+):/+"
_LOGIN: Final = r"(?is)(?:\A|[./=\\\s])(?:(?:https?|ftp|s3|gs|az):(?!/)|//[^/]*:).*@"
_PARTS: Final = r"(?s)\A(?:([^/?#@]*)://)?([^/?#]*)([^?#]*)(.*)"
_HOST: Final = r"(?s)(?:\[.*|[^:]*)(?::\d*)?"
# Where no password can end in "@" behind the place: a bucket, a name with dots, a host with its port.
_PLAIN_PLACE: Final = (
    r"(?i)(?:s3|gs|az)://[\w.-]+|\w+://(?:[\w-]+(?:\.[\w-]+)+"
    r"|(?:localhost|\d+(?:\.\d+){3}|\[[\da-f:.]+\])(?::\d+)?)"
)
