"""What a plan says of licences: a line for each distribution that has none or a copyleft one, and one for
the project at hand."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from packager import PackageExporter
from packager._archive import ArchiveReader
from packager._licenses import RecordedLicenses

Project = Callable[[Mapping[str, str]], Path]
Install = Callable[..., Path]

MIT = "Permission is hereby granted, free of charge, to any person obtaining a copy of it. "
NET = {"shop/__init__.py": "import inked, plain, bare\n", "shop/more.py": "", "tool.py": "import shop.more\n"}


def head(site: Path, folder: str, *lines: str) -> None:
    name, version = folder.split("-")
    text = "\n".join(["Metadata-Version: 2.4", f"Name: {name}", f"Version: {version}", *lines])
    (site / f"{folder}.dist-info" / "METADATA").write_text(f"{text}\n")


def exporter_of(*names: str) -> PackageExporter:
    exporter = PackageExporter(io.BytesIO(), policy="auto", prove=False)
    exporter.intern(["inked.**", "plain.**", "bare.**", "space.**"])
    for name in names:
        exporter.save_module(name)
    return exporter


def looked_at(exporter: PackageExporter) -> list[str]:
    """Return the lines of the plan under its heading."""
    lines = str(exporter.plan()).split("licences to look at:\n")
    return [line.strip() for line in lines[1].split("\n\n")[0].splitlines()] if len(lines) == 2 else []


def test_a_plan_tells_of_each_distribution_once_and_of_the_project_once(
    project: Project, installed: Install
) -> None:
    project(NET)
    site = installed("inked", {"inked/__init__.py": "from . import a", "inked/a.py": ""}, version="2.0")
    installed("plain", {"plain.py": ""}, version="1.0", origin=None)
    bare = {"bare/__init__.py": "from . import a", "bare/a.py": "# SPDX-License-Identifier: MIT\n"}
    installed("bare", bare, version="3.0", origin=None)
    head(site, "inked-2.0", "License-Expression: GPL-3.0-only")
    head(site, "plain-1.0", "License: MIT")
    exporter = exporter_of("shop", "tool")
    assert looked_at(exporter) == [
        "the project (shop, tool): no licence found for 3 stored files",
        "bare 3.0: no licence found for 1 stored file of 2",
        "inked 2.0: GPL-3.0-only, copyleft; 2 stored files",
    ]
    assert exporter.plan().concerns().count("licence") == 0, "an export goes on without a word of it"


@pytest.mark.parametrize(
    ("files", "licence"),
    [
        ({"pyproject.toml": '[project]\nlicense = "MIT"\n'}, "MIT"),
        ({"LICENSE": f"{MIT}The above copyright notice and this permission notice shall be included"}, "MIT"),
        ({"shop/LICENSE": "mine"}, "LICENSE"),
        ({"../setup.py": "", "../LICENSE.txt": "mine"}, "LICENSE.txt"),
    ],
)
def test_a_project_that_is_not_installed_says_its_licence_beside_its_packages(
    project: Project, files: Mapping[str, str], licence: str
) -> None:
    project({"shop/__init__.py": "", **files})
    exporter = exporter_of("shop")
    assert looked_at(exporter) == []
    (part,) = RecordedLicenses.load(exporter.plan().environment["licenses"]).stored
    assert (part.modules, part.distribution, part.is_local) == (("shop",), "", True)
    assert [one.text for one in part.licenses] == [licence]


def test_two_distributions_in_one_namespace_keep_their_licences(project: Project, installed: Install) -> None:
    project({"shop.py": "import space.one, space.two\n"})
    site = installed("one", {"space/one.py": ""}, version="1.0", origin=None)
    installed("two", {"space/two.py": ""}, version="2.0", origin=None)
    head(site, "one-1.0", "License: MIT")
    head(site, "two-2.0", "License-Expression: AGPL-3.0-only")
    exporter = exporter_of("shop")
    recorded = RecordedLicenses.load(exporter.plan().environment["licenses"])
    found = {name: recorded.part_of(name) for name in ("space.one", "space.two", "space")}
    assert {name: part and (part.distribution, *map(str, part.licenses)) for name, part in found.items()} == {
        "space.one": ("one", "MIT"),
        "space.two": ("two", "AGPL-3.0-only"),
        "space": None,
    }
    assert "two 2.0: AGPL-3.0-only, copyleft; 1 stored file" in looked_at(exporter)


def test_licences_of_what_is_left_to_the_target_are_recorded(project: Project, installed: Install) -> None:
    project({"shop.py": "import far\n"})
    site = installed("far", {"far.py": ""}, version="1.0", origin=None)
    head(site, "far-1.0", "License-Expression: ISC", "Requires-Dist: msgpack")
    file = io.BytesIO()
    with PackageExporter(file, policy="auto", prove=False) as exporter:
        exporter.extern("far")
        exporter.save_module("shop")
    with ArchiveReader(file) as reader:
        recorded = RecordedLicenses.of(reader.manifest).distributions
    assert {name: [str(one) for one in found] for name, found in recorded.items()} == {
        "far": ["ISC"],
        "msgpack": ["Apache-2.0"],
    }
