"""The licences of what is packed, as far as distributions and files say them; nothing is concluded that
they do not say, but for the well-known texts of licences themselves.

They are looked up where an archive is written, since the distributions are not at the target.
"""

from __future__ import annotations

from packager.archive import MAX_LICENSE_TEXT
from packager.late_patterns import late_pattern
from packager.quick_dataclasses import dataclass

from .license_names import is_copyleft, is_expression, is_known, license_of_text, spelled

TYPE_CHECKING = False  # as in packager.lazy
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Final, Literal

    from packager.environment import Distributions

    LicenseSource = Literal["expression", "header", "field", "classifier", "text", "file"]

SOURCES: Final[tuple[LicenseSource, ...]] = ("expression", "header", "field", "classifier", "text", "file")

_FIELD: Final = late_pattern(
    rb"(?m)^(License-Expression|License|Classifier):[ \t]*([^\n]*(?:\n[ \t][^\n]*)*)"
)
_HEADER: Final = late_pattern(rb"SPDX-License-Identifier:[ \t]*([^\r\n]{1,1000})")
_HEADER_BYTES: Final = 8192  # a header stands at the top of a file
_FILE_NAME: Final = late_pattern(r"(?i)(?:UN)?(?:LICEN[CS]E|COPYING)(?:[-._ ].*)?")
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

    >>> from packager.environment import Distributions
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
    from packager.toml_text import TomlError, parse_toml

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
    seen = "".join(one if one.isprintable() else " " for one in text)
    return " ".join(seen.split())[:MAX_LICENSE_TEXT].rstrip()
