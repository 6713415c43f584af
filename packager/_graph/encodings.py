"""The text of a source in the encoding that it names itself, of those that are quick and mean what they show.

PEP 263 lets a source name any codec of Python: `punycode` takes quadratic time, `utf-7` and `unicode_escape`
show other characters than are run, and some turn bytes into bytes. A source in one of these is not shown.
Source: tokenize.detect_encoding of Python, which looks up whatever is named.
"""

from __future__ import annotations

import re
from typing import Final

from packager.errors import ArchiveError

_FAMILIES: Final = (
    "ascii us-ascii latin-1 latin1 iso-latin-1 iso8859-1 koi8-r koi8-u koi8-t mac-roman mac-cyrillic "
    "mac-greek mac-latin2 mac-turkish tis-620 "
    "big5 big5hkscs gb2312 gbk gb18030 hz euc-jp euc-jis-2004 euc-kr johab "
    "shift-jis sjis shift-jis-2004 shift-jisx0213 cp932 cp936 cp949 cp950"
).split()
SAFE_ENCODINGS: Final = frozenset(
    {
        *("utf-8", "utf8", "utf-8-sig"),
        *_FAMILIES,
        *(f"{name}-{part}" for name in ("iso-8859", "iso8859", "latin") for part in range(1, 17)),
        *(f"{name}{page}" for name in ("cp", "windows-") for page in range(1250, 1259)),
        *(
            f"cp{page}"
            for page in (437, 737, 775, 850, 852, 855, 857, 858, 860, 861, 862, 863, 865, 866, 869)
        ),
    }
)
"""The encodings that a source may name, in lower case and with hyphens."""

_COOKIE: Final = re.compile(rb"[ \t\f]*#.*?coding[:=][ \t]*([-\w.]{1,40})")
_BLANK: Final = re.compile(rb"[ \t\f]*(?:[#\r\n]|$)")
_BOM: Final = b"\xef\xbb\xbf"


def source_encoding(source: bytes, what: str) -> str:
    """Return the encoding that a source names, "utf-8" where it names none.

    `what` names the source in errors. Raises ArchiveError for an encoding that is not of `SAFE_ENCODINGS`.

    >>> source_encoding(b"# -*- coding: Latin_1 -*-", "example")
    'latin-1'
    """
    marked = source.startswith(_BOM)
    first, _, rest = source.removeprefix(_BOM).partition(b"\n")
    cookie, line = _COOKIE.match(first), 1
    if cookie is None and _BLANK.match(first):
        cookie, line = _COOKIE.match(rest.partition(b"\n")[0]), 2
    if cookie is None:
        return "utf-8"
    named = cookie[1].decode("ascii", "replace")
    encoding = named.lower().replace("_", "-")
    if encoding.startswith("utf-8-"):  # utf-8-unix and the like, as editors write
        encoding = "utf-8"
    if encoding not in SAFE_ENCODINGS or (marked and encoding not in ("utf-8", "utf8")):
        mark = " after a byte order mark of UTF-8" if marked else ""
        raise ArchiveError(
            f"{what}, line {line}: found the encoding {named!r}{mark}; expected utf-8 or a common one "
            "(latin-1, cp1252, koi8-r, gbk, shift_jis, ...). Save the source as UTF-8"
        )
    return encoding


def source_text(source: bytes, what: str) -> str:
    """Return a source as text, its lines ended by newlines.

    Raises ArchiveError for an encoding that is not of `SAFE_ENCODINGS`, and for bytes that are not of it.

    >>> source_text(b"# coding: cp1252\\r\\neuro = '\\x80'", "example")
    "# coding: cp1252\\neuro = '€'"
    """
    encoding = source_encoding(source, what)
    try:
        text = source.removeprefix(_BOM).decode(encoding)
    except UnicodeDecodeError as error:
        found = source[error.start : error.end][:8]
        raise ArchiveError(
            f"{what}, byte {error.start}: found {found!r}, which is not {encoding} ({error.reason}); "
            "expected source code. Save it as UTF-8, or name its encoding in the first line: "
            "# coding: latin-1"
        ) from None
    except LookupError:
        raise ArchiveError(f"{what}: found the encoding {encoding!r}, which this Python lacks") from None
    return text.replace("\r\n", "\n").replace("\r", "\n")
