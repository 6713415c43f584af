"""Licences are read from metadata, files and headers as they stand there; what is ambiguous stays a name."""

from __future__ import annotations

from pathlib import Path

import pytest

from packager._archive import MAX_LICENSE_TEXT
from packager._environment import Distributions
from packager._licenses import (
    License,
    RecordedLicenses,
    StoredPart,
    is_license_file,
    license_of_header,
    license_of_project,
    licenses_of,
    licenses_of_files,
    licenses_of_metadata,
)
from packager._licenses.reading import is_copyleft, is_expression, license_of_text
from packager.errors import ArchiveError
from tests.tables import one_test

APACHE = (Path(__file__).resolve().parents[2] / "LICENSE").read_bytes()
MIT = b"""\
Copyright (c) somebody

Permission is hereby granted, free of charge, to any person obtaining a copy
of this software. The above copyright notice and this permission
notice shall be included in all copies.
"""
CLASSIFIERS = """\
Classifier: License :: OSI Approved :: BSD License
Classifier: License :: OSI Approved :: Apache Software License
Classifier: License :: OSI Approved"""
BSD = b"Redistribution and use in source and binary forms, with or without modification, are permitted.\n"


@one_test
@pytest.mark.parametrize(
    ("head", "found"),
    [
        ("License-Expression: MIT OR Apache-2.0\nLicense: BSD", [("MIT OR Apache-2.0", "expression")]),
        ("License: Apache 2.0", [("Apache-2.0", "field")]),
        ("License: MPL-2.0 AND MIT", [("MPL-2.0 AND MIT", "field")]),
        ("License: BSD", [("BSD", "field")]),
        ("License: UNKNOWN\nClassifier: License :: OSI Approved :: MIT License", [("MIT", "classifier")]),
        ("License: Dual\nClassifier: License :: OSI Approved :: MIT License", [("MIT", "classifier")]),
        ("License: BSD\nClassifier: License :: OSI Approved :: BSD License", [("BSD", "field")]),
        (
            CLASSIFIERS,
            [("BSD License", "classifier"), ("Apache Software License", "classifier")],
        ),
        (
            "License: Copyright me\n        \n        " + MIT.decode().replace("\n", "\n        "),
            [("MIT", "text")],
        ),
        ("License: Our own\n        terms, of two lines", [("Our own", "field")]),
        ("Classifier: Topic :: Games", []),
    ],
)
def test_metadata_says_the_licence_in_one_of_three_ways(head: str, found: list[tuple[str, str]]) -> None:
    whole = f"Metadata-Version: 2.4\nName: x\n{head}\nSummary: License: none\n"
    assert [(one.text, one.source) for one in licenses_of_metadata(whole.encode())] == found


def test_what_a_distribution_says_of_its_licence_has_so_many_characters() -> None:
    long = "x" * (MAX_LICENSE_TEXT + 1)
    (found,) = licenses_of_metadata(f"License: {long}\n".encode())
    assert len(found.text) == MAX_LICENSE_TEXT
    recorded = {"distributions": {"x": [["field", found.text]]}, "stored": []}
    assert RecordedLicenses.load(recorded).distributions == {"x": (found,)}
    recorded = {"distributions": {"x": [["field", long]]}, "stored": []}
    with pytest.raises(ArchiveError, match=r"a licence of 201 characters.*expected 1 to 200"):
        RecordedLicenses.load(recorded)


@one_test
@pytest.mark.parametrize(
    ("text", "identifier"),
    [
        (APACHE, "Apache-2.0"),
        (MIT, "MIT"),
        (BSD, "BSD-2-Clause"),
        (BSD + b"Neither the name may be used to endorse or promote products", "BSD-3-Clause"),
        (b"# GNU GENERAL PUBLIC LICENSE\n   Version 3, 29 June 2007", "GPL-3.0"),
        (b"GNU LESSER GENERAL PUBLIC LICENSE\n Version 2.1, February 1999", "LGPL-2.1"),
        (b"Mozilla Public License Version 2.0\n==========", "MPL-2.0"),
        (b"x" * 3000 + b" apache license version 2.0", ""),
        (b"All rights reserved", ""),
        (b"\xff\xfe", ""),
    ],
)
def test_the_text_of_a_well_known_licence_is_recognised(text: bytes, identifier: str) -> None:
    assert license_of_text(text.replace(b"Version 3,", b"Version 3 ").replace(b"2.1,", b"2.1 ")) == identifier
    assert license_of_text(text) == identifier


def test_files_say_a_licence_by_their_text_or_else_by_their_name() -> None:
    files = [("LICENSE", MIT), ("COPYING.md", b"ask me"), ("LICENSE-MIT", MIT), ("licenses.py", MIT)]
    assert licenses_of_files(files) == (License("MIT", "text"), License("COPYING.md", "file"))
    assert [
        name for name in ("LICENCE", "unlicense.txt", "license_plates.py", "NOTICE") if is_license_file(name)
    ] == [
        "LICENCE",
        "unlicense.txt",
    ]


@pytest.mark.parametrize(
    ("line", "text"),
    [
        (b"# SPDX-License-Identifier: MIT", "MIT"),
        (b"<!-- SPDX-License-Identifier: MIT OR GPL-2.0-only -->", "MIT OR GPL-2.0-only"),
        (b"/* SPDX-License-Identifier:\tISC */", "ISC"),
        (b"# SPDX-License-Identifier: \r\nMIT", None),
        (b"\n" * 9000 + b"# SPDX-License-Identifier: MIT", None),
    ],
)
def test_a_file_states_its_licence_near_its_top(line: bytes, text: str | None) -> None:
    found = license_of_header(b"#!/usr/bin/env python\n" + line + b"\nimport math\n")
    assert (found.text if found else None) == text


@one_test
@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('[project]\nlicense = "MIT AND ISC"', ("MIT AND ISC",)),
        ('[project]\nlicense = {text = "BSD 3-Clause"}', ("BSD-3-Clause",)),
        ('[project]\nlicense = {file = "LICENSE"}', ()),
        ("[project]\nlicense = 3", ()),
        ("project = 3", ()),
        ("[project", ()),
        ("", ()),
    ],
)
def test_a_project_says_its_licence_in_pyproject(text: str, found: tuple[str, ...]) -> None:
    assert tuple(map(str, license_of_project(text.encode()))) == found


@one_test
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("GPL-3.0-or-later WITH GCC-exception-3.1", True),
        ("(MIT OR (LGPL-2.1-only AND ISC)) AND (BSD-3-Clause)", False),
        ("(MPL-2.0 OR EPL-2.0) AND MIT", True),
        ("CC-BY-4.0", False),
        ("CC-BY-SA-4.0", True),
        ("LicenseRef-mine", False),
        ("GNU Lesser General Public License v2 (LGPLv2)", True),
        ("Mozilla Public Licence", True),
        ("Apache Software License", False),
    ],
)
def test_copyleft_is_known_by_name_and_the_easier_alternative_counts(text: str, expected: bool) -> None:
    assert is_copyleft(text) is expected


@one_test
@pytest.mark.parametrize(
    "text",
    ["", "MIT OR", "(MIT", "MIT)", "AND MIT", "MIT ISC", "MIT WITH", "(" * 50 + "MIT" + ")" * 50, "a" * 1001],
)
def test_what_is_no_expression_is_not_taken_for_one(text: str) -> None:
    assert not is_expression(text)


def test_a_distribution_without_a_clear_word_is_known_by_its_licence_files(tmp_path: Path) -> None:
    said = {"vague-4.0": "License: Dual\n", "clear-5.0": "License-Expression: ISC\n"}
    for name, inside in (
        ("old-1.0", "LICENSE.txt"),
        ("new-2.0", "licenses/LICENSE"),
        ("none-3.0", "AUTHORS"),
        ("vague-4.0", "LICENSE"),
        ("clear-5.0", "LICENSE"),
    ):
        info = tmp_path / f"{name}.dist-info"
        (info / inside).parent.mkdir(parents=True)
        (info / inside).write_bytes(MIT)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name[:-4]}\n{said.get(name, '')}")
    here = Distributions([str(tmp_path)])
    assert {name: licenses_of(name, here) for name in ("old", "new", "none", "vague", "clear", "absent")} == {
        "old": (License("MIT", "text"),),
        "new": (License("MIT", "text"),),
        "none": (),
        "vague": (License("MIT", "text"),),
        "clear": (License("ISC", "expression"),),
        "absent": (),
    }


def test_a_module_belongs_to_the_part_with_the_longest_name_above_it() -> None:
    auth = StoredPart(("g.auth",), "g-auth", "2")
    cloud = StoredPart(("g.cloud", "h"), "g-cloud", "1", licenses=(License("MIT", "field"),))
    recorded = RecordedLicenses({"numpy": ()}, (cloud, auth))
    assert recorded.part_of("g.auth.x.y") is auth
    assert recorded.part_of("h") is cloud
    assert recorded.part_of("g") is None
    assert RecordedLicenses.load(recorded.dump()) == RecordedLicenses({"numpy": ()}, (auth, cloud))
