"""Import names are mapped to distributions by reading metadata folders, never by importing."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from packager._environment import Distributions
from packager._names import normalized_name
from packager._policy import Origin
from tests import processes


def install(site: Path, name: str, version: str, files: Mapping[str, str], **metadata: str) -> None:
    """Write files into `site` with a RECORD of them, as an installer does."""
    folder = f"{name}-{version}.dist-info"
    for path, text in {**files, **{f"{folder}/{key}": text for key, text in metadata.items()}}.items():
        (site / path).parent.mkdir(parents=True, exist_ok=True)
        (site / path).write_text(text)
    (site / folder).mkdir(exist_ok=True)
    record = "".join(f"{path},sha256=abc,{len(text)}\n" for path, text in files.items())
    (site / folder / "RECORD").write_text(record + f"{folder}/RECORD,,\n")


@pytest.fixture
def site(tmp_path: Path) -> Path:
    folder = tmp_path / "env" / "site-packages"
    folder.mkdir(parents=True)
    return folder


def test_a_pure_distribution_is_found_by_its_record(site: Path) -> None:
    install(site, "Pretty_Name", "1.2", {"pretty/__init__.py": "", "loose.py": "", "../../bin/pretty": ""})
    here = Distributions([str(site)])
    assert here.origin("pretty.sub") == Origin("installed", "pretty-name", "1.2")
    assert here.origin("loose") == Origin("installed", "pretty-name", "1.2")
    assert here.origin("bin").kind == "unknown"


def test_top_level_txt_is_believed_before_the_record(site: Path) -> None:
    install(site, "x", "1", {"x/__init__.py": "", "other/__init__.py": ""}, **{"top_level.txt": "x\n"})
    here = Distributions([str(site)])
    assert here.origin("x").kind == "installed"
    assert here.origin("other").kind == "unknown"


@pytest.mark.parametrize(
    "file",
    [
        "fast/_core.cpython-311-x86_64-linux-gnu.so",
        "fast/_core.pyd",
        "fast.libs/libz.so.1.2",
        "fast/_c.abi3.so",
    ],
)
def test_any_compiled_file_makes_the_whole_distribution_compiled(site: Path, file: str) -> None:
    install(site, "fast", "3.0", {"fast/__init__.py": "", file: ""})
    assert Distributions([str(site)]).origin("fast.anything") == Origin("compiled", "fast", "3.0")


def test_names_that_only_look_compiled_are_not(site: Path) -> None:
    install(site, "pure", "1", {"pure/__init__.py": "", "pure/a.so.txt": "", "pure/x.sofa": ""})
    assert Distributions([str(site)]).origin("pure").kind == "installed"


def test_an_extension_module_at_the_top_is_an_import_name(site: Path) -> None:
    install(site, "ext", "1", {"_ext.cpython-311-x86_64-linux-gnu.so": ""})
    assert Distributions([str(site)]).origin("_ext") == Origin("compiled", "ext", "1")


def test_distributions_in_one_namespace_are_told_apart_by_their_records(site: Path) -> None:
    install(site, "g-storage", "1", {"g/cloud/storage/__init__.py": ""})
    install(site, "g-auth", "2", {"g/auth/__init__.py": "", "g/auth/_fast.so": ""})
    here = Distributions([str(site)])
    assert here.origin("g.cloud.storage.blob") == Origin("installed", "g-storage", "1")
    assert here.origin("g.auth.x") == Origin("compiled", "g-auth", "2")


def test_an_install_in_place_by_finder_is_editable(site: Path, tmp_path: Path) -> None:
    source = tmp_path / "work" / "src" / "ours"
    source.mkdir(parents=True)
    (source / "__init__.py").write_text("raise RuntimeError('imported')")
    finder = f"raise_on_import = 1 / 1\nMAPPING: dict[str, str] = {{'ours': {str(source)!r}}}\n"
    install(
        site,
        "ours",
        "0.1",
        {"__editable___ours_0_1_finder.py": finder, "__editable__.ours-0.1.pth": "import x\n"},
        **{
            "direct_url.json": json.dumps(
                {"dir_info": {"editable": True}, "url": (tmp_path / "work").as_uri()}
            )
        },
    )
    here = Distributions([str(site)])
    assert here.origin("ours.net") == Origin("editable", "ours", "0.1")
    assert here.origin("ours.net", str(source / "net.py")) == Origin("editable", "ours", "0.1")


def test_an_install_in_place_by_pth_is_editable(site: Path, tmp_path: Path) -> None:
    source = tmp_path / "work" / "src"
    for name in ("ours", "theirs"):
        (source / name).mkdir(parents=True)
        (source / name / "__init__.py").write_text("")
    install(site, "ours", "0.1", {"_ours.pth": f"{source}\n"})
    here = Distributions([str(site), str(source)])
    assert here.origin("ours.net", str(source / "ours" / "net.py")) == Origin("editable", "ours", "0.1")


def test_the_next_one_sees_what_was_installed_meanwhile(site: Path) -> None:
    install(site, "first", "1", {"first.py": "", "gone.py": ""})
    before = Distributions([str(site)])
    assert before.origin("gone").distribution == "first"
    (site / "first-1.dist-info").rename(site.parent / "removed")
    install(site, "first", "1", {"first.py": "", "come.py": ""})
    install(site, "second", "2", {"second.py": ""})
    after = Distributions([str(site)])
    assert [after.origin(name).distribution for name in ("come", "second")] == ["first", "second"]
    assert after.origin("gone").kind == "unknown"
    assert before.version("second") is None


def test_the_next_one_sees_what_became_of_an_install_in_place(site: Path, tmp_path: Path) -> None:
    source = tmp_path / "work" / "src"
    (source / "ours").mkdir(parents=True)
    (source / "ours" / "__init__.py").write_text("")
    url = {"dir_info": {"editable": True}, "url": source.parent.as_uri()}
    install(site, "ours", "1", {"_ours.pth": f"{source}\n"}, **{"direct_url.json": json.dumps(url)})
    assert Distributions([str(site)]).origin("ours").kind == "editable"
    (source / "added.py").write_text("")
    (source / "ours" / "_fast.so").write_text("")
    after = Distributions([str(site)])
    assert after.origin("added").distribution == "ours"
    assert after.origin("ours").kind == "compiled"


def test_a_compiled_module_in_the_source_folder_makes_an_editable_install_compiled(
    site: Path, tmp_path: Path
) -> None:
    source = tmp_path / "work" / "ours"
    source.mkdir(parents=True)
    (source / "__init__.py").write_text("")
    (source / "_fast.cpython-311.so").write_text("")
    install(site, "ours", "0.1", {"_ours.pth": f"{source.parent}\n"})
    assert Distributions([str(site)]).origin("ours").kind == "compiled"


def test_metadata_left_by_a_build_in_the_source_folder_counts_less_than_the_install(
    site: Path, tmp_path: Path
) -> None:
    work = tmp_path / "work"
    (work / "ours.egg-info").mkdir(parents=True)
    (work / "ours.egg-info" / "PKG-INFO").write_text("Metadata-Version: 2.1\nName: ours\nVersion: 0.1\n")
    (work / "ours.egg-info" / "top_level.txt").write_text("ours\n")
    (work / "ours").mkdir()
    (work / "ours" / "__init__.py").write_text("")
    alone = Distributions([str(work)])
    assert alone.origin("ours") == Origin("editable", "ours", "0.1")
    install(site, "ours", "0.2", {"_ours.pth": f"{work}\n"})
    assert Distributions([str(work), str(site)]).origin("ours") == Origin("editable", "ours", "0.2")


def test_source_beside_the_caller_is_project_code(tmp_path: Path, site: Path) -> None:
    (tmp_path / "proj" / "model").mkdir(parents=True)
    (tmp_path / "proj" / "tool.py").write_text("")
    here = Distributions([str(tmp_path / "proj"), str(site)])
    assert here.origin("model.net").kind == "project"
    assert here.origin("tool").kind == "project"


def test_a_file_settles_which_of_two_packages_of_one_name_is_meant(tmp_path: Path, site: Path) -> None:
    install(site, "spoils-tests", "1", {"tests/__init__.py": ""})
    mine = tmp_path / "proj" / "tests"
    mine.mkdir(parents=True)
    (mine / "__init__.py").write_text("")
    here = Distributions([str(tmp_path / "proj"), str(site)])
    assert here.origin("tests.helpers", str(mine / "helpers.py")).kind == "project"
    assert here.origin("tests.helpers", str(site / "tests" / "helpers.py")).distribution == "spoils-tests"
    assert here.origin("tests").kind == "project"
    assert Distributions([str(site), str(tmp_path / "proj")]).origin("tests").kind == "installed"


def test_a_file_among_installed_packages_without_a_distribution_is_unknown(site: Path) -> None:
    (site / "dropped.py").write_text("")
    here = Distributions([str(site)])
    assert here.origin("dropped").kind == "unknown"
    assert here.origin("dropped", str(site / "dropped.py")).kind == "unknown"


def test_a_folder_filled_by_an_installer_is_known_by_its_metadata(tmp_path: Path) -> None:
    target = tmp_path / "vendor"
    install(target, "x", "1", {"x/__init__.py": ""})
    (target / "dropped.py").write_text("")
    assert Distributions([str(target)]).origin("dropped").kind == "unknown"


def test_a_distribution_without_record_is_known_by_its_name(site: Path) -> None:
    (site / "some_thing-4.dist-info").mkdir()
    (site / "some_thing").mkdir()
    assert Distributions([str(site)]).origin("some_thing") == Origin("installed", "some-thing", "4")


def test_the_first_on_the_path_wins(tmp_path: Path) -> None:
    for number in ("1", "2"):
        install(tmp_path / number / "site-packages", "x", number, {"x/__init__.py": ""})
    here = Distributions([str(tmp_path / number / "site-packages") for number in ("2", "1")])
    assert here.version("X") == "2"


def test_python_itself_needs_no_metadata() -> None:
    here = Distributions([])
    assert here.origin("json.decoder") == Origin("stdlib")
    assert here.origin("sys") == Origin("builtin")


def test_odd_path_entries_hold_nothing(tmp_path: Path) -> None:
    (tmp_path / "lib.zip").write_bytes(b"PK")
    here = Distributions([str(tmp_path / "lib.zip"), str(tmp_path / "absent"), ""])
    assert isinstance(dict(here.versions()), dict)


def test_versions_are_sorted_and_normalised(site: Path) -> None:
    install(site, "B_b", "2", {})
    install(site, "a.a", "1", {})
    here = Distributions([str(site)])
    assert list(here.versions().items()) == [("a-a", "1"), ("b-b", "2")]
    assert "A.A" in here
    assert here.version("nothing") is None


def test_names_have_one_spelling() -> None:
    assert normalized_name("Zope.Interface__x-_.y") == "zope-interface-x-y"


def test_a_folder_without_modules_does_not_hide_what_is_installed(site: Path, tmp_path: Path) -> None:
    (tmp_path / "work" / "ours").mkdir(parents=True)
    install(site, "ours", "0.1", {"ours/__init__.py": ""})
    here = Distributions([str(tmp_path / "work"), str(site)])
    assert here.origin("ours") == Origin("installed", "ours", "0.1")


def test_what_is_installed_here_agrees_with_importlib_metadata() -> None:
    from importlib.metadata import packages_distributions

    here = Distributions()
    for top, owners in packages_distributions().items():
        if top.isidentifier() and top not in {*sys.stdlib_module_names, "__pycache__"}:
            owner = here.owner(top)
            assert owner is not None, top
            assert owner.name in {normalized_name(name) for name in owners}


def test_the_room_imports_neither_numpy_nor_kellet_nor_importlib_metadata() -> None:
    code = (
        "import sys, packager._environment as e; e.Distributions().origin('numpy.linalg'); "
        "heavy = {'numpy', 'kellet', 'importlib_metadata', 'importlib.metadata'}; "
        "print(sorted(heavy & {*sys.modules}))"
    )
    done = processes.run(
        [sys.executable, "-S", "-c", "import site; site.main(); " + code],
        cold=True,
        capture_output=True,
        text=True,
    )
    assert done.stdout.strip() == "[]", done.stderr


def test_a_module_found_by_a_relative_entry_of_the_path_is_of_its_distribution(
    installed: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    site = installed("ledger", {"ledger.py": ""}, origin=None)
    monkeypatch.chdir(site.parent)
    found = Distributions([site.name])
    for file in (os.path.join(site.name, "ledger.py"), str(site / "ledger.py")):
        assert found.origin("ledger", file).distribution == "ledger"
