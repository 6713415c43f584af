"""The licences of what is packed, as far as distributions and files say them; nothing is concluded that
they do not say, but for the well-known texts of licences themselves.

They are looked up where an archive is written, since the distributions are not at the target.
"""

from __future__ import annotations

import re
from functools import lru_cache

from packager._archive import MAX_LICENSE_TEXT
from packager._quick_dataclasses import dataclass

TYPE_CHECKING = False  # as in packager._lazy
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Final, Literal

    from packager._environment import Distributions

    LicenseSource = Literal["expression", "header", "field", "classifier", "text", "file"]


SOURCES: Final[tuple[LicenseSource, ...]] = ("expression", "header", "field", "classifier", "text", "file")

_FIELD: Final = re.compile(rb"(?m)^(License-Expression|License|Classifier):[ \t]*([^\n]*(?:\n[ \t][^\n]*)*)")
_HEADER: Final = re.compile(rb"SPDX-License-Identifier:[ \t]*([^\r\n]{1,1000})")
_HEADER_BYTES: Final = 8192  # a header stands at the top of a file
_FILE_NAME: Final = re.compile(r"(?i)(?:UN)?(?:LICEN[CS]E|COPYING)(?:[-._ ].*)?")
_CODE: Final = (".py", ".pyc", ".pyi")
_COMMENT_ENDS: Final = "\"'*/-># \t"


@dataclass(frozen=True, slots=True)
class License:
    """A licence as it was found: what is said of it, and where.

    `source` is "expression" (License-Expression in the metadata of a distribution), "header"
    (SPDX-License-Identifier in a file), "field" (License in metadata, or in pyproject.toml),
    "classifier", "text" (the text of a well-known licence), or "file": a file that is called one, and has
    another text; its name is all that is known.

    >>> License("MIT OR GPL-2.0-only", "expression").is_copyleft
    False
    """

    text: str
    source: LicenseSource

    @property
    def is_expression(self) -> bool:
        """Whether the text is an expression of SPDX."""
        if self.source in ("field", "classifier"):
            return is_known(self.text)
        return self.source != "file" and is_expression(self.text)

    @property
    def is_copyleft(self) -> bool:
        """Whether it asks that changes, or the whole, are given on under the same terms."""
        return is_copyleft(self.text)

    def __str__(self) -> str:
        return self.text


def licenses_of(distribution: str, installed: Distributions) -> tuple[License, ...]:
    """Return what a distribution says of its licence; empty where that is nothing, or it is absent.

    That is what its metadata says. Where that is nothing, or a name that may mean several, its files that are
    called licences are asked: the one whose text is well known.

    >>> from packager._environment import Distributions
    >>> [str(one) for one in licenses_of("msgpack", Distributions())]
    ['Apache-2.0']
    """
    one = installed.find(distribution)
    if one is None:
        return ()
    stated = licenses_of_metadata(one.metadata_head)
    if stated and all(found.is_expression for found in stated):
        return stated
    files = licenses_of_files(
        (name, one.metadata_file(f"{folder}{name}"))
        for folder in ("licenses/", "")
        for name in one.metadata_names(folder)
        if is_license_file(name)
    )
    known = tuple(found for found in files if found.source == "text")
    return known if len(known) == 1 else stated or files


@lru_cache(maxsize=256)  # each export reads those of the same distributions
def licenses_of_metadata(head: bytes) -> tuple[License, ...]:
    """Return what the head of a METADATA says: its expression, else its field, else its classifiers.

    >>> licenses_of_metadata(b"License: MIT\\nClassifier: License :: OSI Approved :: MIT License\\n")
    (License(text='MIT', source='field'),)

    Source: core metadata specifications of packaging.python.org, and PEP 639.
    """
    found: dict[str, list[str]] = {"License-Expression": [], "License": [], "Classifier": []}
    for name, value in _FIELD.findall(head):
        found[name.decode()].append(value.decode("utf-8", "replace"))
    for expression in found["License-Expression"]:
        return (License(_line(expression), "expression"),)
    field = next((one for one in found["License"] if one.strip() not in ("", "UNKNOWN")), "")
    if field and is_known(name := spelled(_line(field))):
        return (License(name, "field"),)
    if field and (known := license_of_text(field.encode())):
        return (License(known, "text"),)
    classes = [one.rpartition(" :: ")[2] for one in found["Classifier"] if one.startswith("License :: ")]
    classes = [spelled(_line(one)) for one in classes if one.strip() != "OSI Approved"]
    if field and not any(map(is_known, classes)):
        return (License(_line(field.strip().partition("\n")[0]), "field"),)
    return tuple(License(one, "classifier") for one in dict.fromkeys(classes))


def license_of_project(pyproject: bytes) -> tuple[License, ...]:
    """Return what a pyproject.toml says: an expression, or the text of an older table.

    >>> license_of_project(b'[project]\\nlicense = "MIT"\\n')
    (License(text='MIT', source='expression'),)
    """
    from packager._toml_text import TomlError, parse_toml

    try:
        project = parse_toml(pyproject.decode("utf-8", "replace")).get("project")
    except TomlError:
        return ()
    said = project.get("license") if isinstance(project, dict) else None
    if isinstance(said, str) and is_expression(said):
        return (License(_line(said), "expression"),)
    text = said.get("text") if isinstance(said, dict) else said
    return (
        licenses_of_metadata(b"License: " + text.replace("\n", "\n ").encode())
        if isinstance(text, str)
        else ()
    )


def license_of_header(data: bytes) -> License | None:
    """Return the licence that a file states of itself at its top; None where it does not.

    >>> license_of_header(b"# SPDX-License-Identifier: MIT\\nimport math\\n")
    License(text='MIT', source='header')

    Source: SPDX 2.3, annex E.
    """
    head = data[:_HEADER_BYTES]
    match = _HEADER.search(head) if b"SPDX-License-Identifier:" in head else None
    if match is None:
        return None
    text = _line(match[1].decode("utf-8", "replace")).rstrip(_COMMENT_ENDS)
    return License(text, "header") if text else None


def licenses_of_files(files: Iterable[tuple[str, bytes]]) -> tuple[License, ...]:
    """Return what files say that are called licences: each by its text, or else by its name.

    >>> licenses_of_files([("LICENSE", b"All rights reserved"), ("net.py", b"")])
    (License(text='LICENSE', source='file'),)
    """
    found = []
    for name, data in files:
        if is_license_file(name):
            known = license_of_text(data)
            found.append(License(known, "text") if known else License(_line(name), "file"))
    return tuple(dict.fromkeys(found))


def is_license_file(path: str) -> bool:
    """Say whether a file is called a licence, by the last part of its path.

    >>> [is_license_file(name) for name in ("a/LICENSE.txt", "COPYING", "licenses.py", "UNLICENSE")]
    [True, True, False, True]
    """
    name = path.rpartition("/")[2]
    return _FILE_NAME.fullmatch(name) is not None and not name.endswith(_CODE)


def _line(text: str) -> str:
    """Return a text on one line, without what cannot be seen, cut where it is long."""
    short = " ".join(text.split())[: 2 * MAX_LICENSE_TEXT]  # a field may have the whole text of a licence
    seen = "".join(one if one.isprintable() else " " for one in short)
    return " ".join(seen.split())[:MAX_LICENSE_TEXT].rstrip()


_MOST_CHARACTERS: Final = 1000
_MOST_DEPTH: Final = 20
_OPERATORS: Final = ("AND", "OR", "WITH")
_WORD: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9.:+-]*")
_PART: Final = re.compile(r"[a-z0-9.+]+")
_BREAK: Final = re.compile(r"[\s*#/\"'`]+")
_EXCEPTION: Final = re.compile(r"\b([01]) WITH [01]\b")
_BRACKETS: Final = re.compile(r"\(([^()]*)\)")
_COPYLEFT: Final = re.compile(
    r"(?i)(?:[AL]?GPL|MPL|EPL|CPL|CDDL|EUPL|OSL|SSPL|CECILL(?!-B)|CC-BY(?:-NC)?-SA|MS-RL|APSL|IPL|SPL|"
    r"GFDL|QPL|NPL|Sleepycat|RPL|RPSL|SISSL|LPL|ODbL|CERN-OHL-[SW]|CPAL|Watcom)(?:-|$)",
)
_COPYLEFT_NAME: Final = re.compile(
    r"(?i)\b(?:[AL]?GPL|MPL|EUPL|CDDL)|General Public Licen[cs]e|Mozilla Public|Eclipse Public|"
    r"European Union Public|Affero|Share-?Alike|Common Development and Distr|Server Side Public|copyleft",
)


def is_expression(text: str) -> bool:
    """Say whether a text has the shape of an SPDX expression.

    >>> [is_expression(text) for text in ("MIT", "(MIT OR Apache-2.0) AND 0BSD", "MIT License", "MIT OR")]
    [True, True, False, False]
    """
    return _judged(text) in ("0", "1")


def is_copyleft(text: str) -> bool:
    """Say whether a licence asks that changes, or the whole, are given on under the same terms.

    Of alternatives (`OR`) the one with the fewest demands counts. What is no expression is judged by the
    words in it. This is a hint for people: it knows the licences that are common.

    >>> [is_copyleft(text) for text in ("GPL-3.0-only", "MIT OR GPL-3.0-only", "MIT AND MPL-2.0")]
    [True, False, True]
    >>> [is_copyleft(text) for text in ("GNU General Public License v3", "BSD License")]
    [True, False]
    """
    found = _judged(text)
    return _COPYLEFT_NAME.search(text) is not None if found == "?" else found == "1"


def identifiers(expression: str) -> tuple[str, ...]:
    """Return the licences and exceptions that an expression names, in their order.

    >>> identifiers("(MIT OR Apache-2.0) AND MIT")
    ('MIT', 'Apache-2.0')
    """
    return tuple(dict.fromkeys(name for name in _WORD.findall(expression) if name not in _OPERATORS))


def license_of_text(data: bytes) -> str:
    """Return the SPDX identifier of a text that is a well-known licence; "" for any other.

    What a text leaves open, as "only" or "or later", is named without it.
    """
    text = " ".join(_BREAK.split(data[:200_000].decode("utf-8", "replace").lower()))
    head = text[:1500]
    for identifier, marks in _TEXTS:
        if marks[0] in (head if identifier in _BY_TITLE else text) and all(
            mark in text for mark in marks[1:]
        ):
            return identifier
    return ""


def spelled(text: str) -> str:
    """Return the SPDX spelling of a name that means one licence alone; others as they are."""
    words = frozenset(_PART.findall(text.lower()))
    return _NAMES.get(words - {"the", "license", "version"}, text)


def is_known(text: str) -> bool:
    """Say whether a text is an expression of identifiers that are known here.

    In a field a single word may be anything: BSD is no identifier.
    """
    return is_expression(text) and all(name in _IDENTIFIERS for name in identifiers(text))


def _judged(text: str) -> str:
    """Return "1" where every alternative of an expression is copyleft, else "0"; "?" for no expression."""
    if len(text) > _MOST_CHARACTERS:
        return "?"
    rest = _EXCEPTION.sub(r"\1", " ".join(_WORD.sub(_judged_word, text).split()))
    for _ in range(_MOST_DEPTH):  # the innermost brackets first
        rest = _BRACKETS.sub(lambda found: _judged_flat(found[1]), rest)
    return _judged_flat(rest)


def _judged_word(word: re.Match[str]) -> str:
    return word[0] if word[0] in _OPERATORS else str(int(_COPYLEFT.match(word[0]) is not None))


def _judged_flat(text: str) -> str:
    alternatives = [one.split(" AND ") for one in text.strip().split(" OR ")]
    if not {word for one in alternatives for word in one} <= {"0", "1"}:
        return "?"
    return str(int(all("1" in one for one in alternatives)))


# The order counts: the first whose marks are all there. Titles are looked for at the top of a file alone, as
# one licence speaks of another.
_TEXTS: Final[tuple[tuple[str, tuple[str, ...]], ...]] = (
    ("Apache-2.0", ("apache license version 2.0",)),
    ("MPL-2.0", ("mozilla public license version 2.0",)),
    ("AGPL-3.0", ("gnu affero general public license version 3",)),
    ("LGPL-3.0", ("gnu lesser general public license version 3",)),
    ("LGPL-2.1", ("gnu lesser general public license version 2.1",)),
    ("GPL-3.0", ("gnu general public license version 3",)),
    ("GPL-2.0", ("gnu general public license version 2",)),
    ("EPL-2.0", ("eclipse public license - v 2.0",)),
    ("CC0-1.0", ("cc0 1.0 universal",)),
    ("CC-BY-SA-4.0", ("attribution-sharealike 4.0 international",)),
    ("CC-BY-NC-4.0", ("attribution-noncommercial 4.0 international",)),
    ("CC-BY-4.0", ("attribution 4.0 international",)),
    ("BSL-1.0", ("boost software license - version 1.0",)),
    ("PSF-2.0", ("python software foundation license version 2",)),
    ("Unlicense", ("this is free and unencumbered software released into the public domain",)),
    (
        "MIT",
        (
            "permission is hereby granted, free of charge, to any person obtaining a copy",
            "the above copyright notice and this permission notice shall be included",
        ),
    ),
    ("MIT-0", ("permission is hereby granted, free of charge, to any person obtaining a copy",)),
    (
        "ISC",
        (
            "permission to use, copy, modify, and",
            "distribute this software for any purpose with or without fee is hereby granted, provided that",
        ),
    ),
    ("0BSD", ("distribute this software for any purpose with or without fee is hereby granted",)),
    ("BSD-4-Clause", ("redistribution and use in source and binary forms", "must display the following")),
    ("BSD-3-Clause", ("redistribution and use in source and binary forms", "endorse or promote")),
    ("BSD-2-Clause", ("redistribution and use in source and binary forms",)),
    ("Zlib", ("this software is provided as-is", "altered source versions must be plainly marked")),
)
_BY_TITLE: Final = frozenset(identifier for identifier, marks in _TEXTS[:14])
_SPELLINGS: Final = {
    "MIT": "mit | expat",
    "MIT-0": "mit no attribution 0",
    "Apache-2.0": "apache 2.0 | apache 2 | apache software 2.0 | apache 2.0 january 2004 | asl 2.0",
    "BSD-3-Clause": "bsd 3 clause | new bsd | modified bsd",
    "BSD-2-Clause": "bsd 2 clause | simplified bsd",
    "0BSD": "0bsd | zero clause bsd 0bsd",
    "MPL-2.0": "mpl 2.0 | mozilla public 2.0 mpl",
    "ISC": "isc | isc iscl",
    "PSF-2.0": "psf 2.0 | psf | python software foundation",
    "Unlicense": "unlicense",
    "Zlib": "zlib | zlib libpng",
    "BSL-1.0": "boost software 1.0 bsl",
    "CC0-1.0": "cc0 1.0 universal public domain dedication",
    "GPL-2.0-only": "gnu general public v2 gplv2",
    "GPL-2.0-or-later": "gnu general public v2 or later gplv2+",
    "GPL-3.0-only": "gnu general public v3 gplv3",
    "GPL-3.0-or-later": "gnu general public v3 or later gplv3+",
    "AGPL-3.0-only": "gnu affero general public v3",
    "AGPL-3.0-or-later": "gnu affero general public v3 or later agplv3+",
    "LGPL-3.0-only": "gnu lesser general public v3 lgplv3",
    "LGPL-3.0-or-later": "gnu lesser general public v3 or later lgplv3+",
}
"""The words of names and classifiers that mean one licence: "BSD License" may be several."""

_NAMES: Final = {
    frozenset(words.split()): identifier
    for identifier, spellings in _SPELLINGS.items()
    for words in spellings.split("|")
}
_IDENTIFIERS: Final = frozenset(
    {
        *_SPELLINGS,
        *(identifier for identifier, marks in _TEXTS),
        *("LGPL-2.1-only", "LGPL-2.1-or-later", "GPL-2.0+", "GPL-3.0+", "LGPL-3.0+", "Python-2.0"),
        *("EPL-1.0", "MPL-1.1", "HPND", "NCSA", "OFL-1.1", "Apache-1.1", "CC-BY-3.0", "BlueOak-1.0.0"),
    }
)
