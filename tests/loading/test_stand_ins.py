"""What stands for modules of the library in packaged code: each question, and whom it reaches."""

from __future__ import annotations

import builtins
import copy
import importlib
import importlib.metadata
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from packager._loading.open_archives import loaded_archive_of
from packager._loading.packaged_import import CodeBuiltins, PackagedImport, _package_of
from packager._loading.stand_ins import BuiltinsProxy, ModuleProxy, ModulesView, StandIns
from packager._loading.stored_distributions import metadata_names, stored_distributions
from packager.errors import UndeclaredImportError

METADATA = "Metadata-Version: 2.1\nName: Net_Kit\nVersion: 1.5\nRequires-Dist: numpy\n"
TREE = {
    "standpkg/__init__.py": "",
    "standpkg/part.py": "x = 1\n",
    "Net_Kit-1.5.dist-info/METADATA": METADATA,
    "plain-2.dist-info/RECORD": "",
}


@pytest.fixture
def archive(pack: Callable[..., Any]) -> Any:
    return pack(TREE).archive


@pytest.fixture
def stand_ins(archive: Any) -> StandIns:
    return StandIns(archive.rules, archive.code, archive._import.builtins)


@pytest.fixture
def real() -> ModuleType:
    made = ModuleType("kellet_test_real", "Says.")
    made.value, made.sub = 1, sys  # type: ignore[attr-defined]  # a module made by hand
    return made


def test_a_stand_in_is_made_once_and_only_for_what_needs_one(stand_ins: StandIns) -> None:
    assert stand_ins.get("json") is None
    assert stand_ins.get("json", 3) == 3
    assert stand_ins.get("sys") is stand_ins.get("sys", 3) is not sys
    assert (type(stand_ins.get("sys")), type(stand_ins.get("builtins"))) == (ModuleProxy, BuiltinsProxy)


def test_a_stand_in_hands_on_what_it_does_not_replace(stand_ins: StandIns, real: Any) -> None:
    real.__file__ = "real.py"
    proxy: Any = ModuleProxy(real, {"value": 2}, stand_ins)
    assert (proxy.__name__, proxy.__doc__, proxy.__file__, proxy.value) == (
        "kellet_test_real",
        "Says.",
        "real.py",
        2,
    )
    assert not hasattr(proxy, "__path__")
    assert proxy.sub is stand_ins.get("sys")
    proxy.value = 3
    proxy.more = 4
    assert (real.value, real.more, proxy.value, proxy.more) == (3, 4, 2, 4)
    assert "more" in dir(proxy)
    del proxy.more
    assert not hasattr(real, "more")


def test_what_is_set_on_builtins_is_a_name_of_the_archive_and_of_the_process(stand_ins: StandIns) -> None:
    real: Any = ModuleType("builtins")
    names: dict[str, Any] = {}
    proxy: Any = BuiltinsProxy(real, names, stand_ins)
    proxy.word = 1
    assert (real.word, names, proxy.word) == (1, {"word": 1}, 1)
    del proxy.word
    assert (hasattr(real, "word"), names, hasattr(proxy, "word")) == (False, {}, False)
    proxy.__import__ = len
    assert (hasattr(real, "__import__"), names, proxy.__import__) == (False, {"__import__": len}, len)
    del proxy.__import__
    assert (names, hasattr(proxy, "__import__")) == ({}, False)


def test_modules_are_seen_under_the_names_that_code_knows(archive: Any, stand_ins: StandIns) -> None:
    view = ModulesView(archive.rules, stand_ins)
    suffix = archive.rules.suffix
    assert ("standpkg" in view, "json" in view, 3 in view) == (False, "json" in sys.modules, False)
    for missing in ("standpkg", "kellet_not_there"):
        with pytest.raises(KeyError, match=f"^'{missing}'$"):
            view[missing]
        with pytest.raises(KeyError, match=f"^'{missing}'$"):
            del view[missing]
    module = importlib.import_module(f"standpkg{suffix}.part")
    assert view["standpkg.part"] is module
    assert view["sys"] is stand_ins.get("sys")
    assert "standpkg.part" in view
    view.copy()  # makes the stand-ins, which import what they need
    listed = list(view)
    assert [listed.count(f"standpkg{end}") for end in (".part", f"{suffix}.part")] == [1, 1]
    assert len(view) == len(listed) == len(view.copy()) == len(sys.modules) + 2
    del view["standpkg.part"]
    assert f"standpkg{suffix}.part" not in sys.modules
    view["standpkg.other"] = module
    assert sys.modules.pop(f"standpkg{suffix}.other") is module


def test_a_module_of_the_process_with_an_owned_name_is_not_listed(archive: Any, stand_ins: StandIns) -> None:
    view = ModulesView(archive.rules, stand_ins)
    sys.modules["standpkg"] = ModuleType("standpkg")
    try:
        assert "standpkg" not in list(view)
        assert "standpkg" not in view
    finally:
        del sys.modules["standpkg"]


def test_importing_by_name_is_importing_from_the_archive(archive: Any, stand_ins: StandIns) -> None:
    import_module = stand_ins.get("importlib").import_module
    suffix = archive.rules.suffix
    part = import_module("standpkg.part")
    assert part.__name__ == f"standpkg{suffix}.part"
    assert import_module(".part", "standpkg") is part
    assert import_module("sys") is stand_ins.get("sys")
    assert import_module("json") is importlib.import_module("json")
    with pytest.raises(ModuleNotFoundError) as missing:
        import_module("standpkg.none")
    assert (missing.value.name, str(missing.value)) == ("standpkg.none", "No module named 'standpkg.none'")
    with pytest.raises(UndeclaredImportError):
        import_module("scipy")
    with pytest.raises(TypeError):
        import_module(".part")


def test_specs_are_those_of_the_archive(archive: Any, stand_ins: StandIns, tmp_path: Any) -> None:
    util = stand_ins.get("importlib.util")
    suffix = archive.rules.suffix
    assert util.find_spec("standpkg.part").name == f"standpkg{suffix}.part"
    assert util.find_spec("standpkg.none") is None
    assert util.find_spec("scipy") is None  # not declared
    with pytest.raises(ModuleNotFoundError) as missing:
        util.find_spec("standpkg.part.below")
    assert (missing.value.name, suffix in str(missing.value)) == ("standpkg.part.below", False)
    (tmp_path / "m.py").write_text("")
    for name, found in (("standpkg.m", f"standpkg{suffix}.m"), ("scipy_m", "scipy_m")):
        spec = util.spec_from_file_location(name, tmp_path / "m.py")
        assert spec.name == found
    assert vars(util.module_from_spec(spec))["__builtins__"] is archive._import.builtins


def test_distributions_are_those_of_the_archive_first(archive: Any, stand_ins: StandIns) -> None:
    found = list(stored_distributions(archive.code, importlib.import_module))
    assert [one.metadata["Name"] for one in found[:1]] == ["Net_Kit"]
    assert len(found) == 2
    for spelled in ("net-kit", "Net_Kit", "NET.KIT"):
        (one,) = stored_distributions(archive.code, importlib.import_module, spelled)
        assert one.version == "1.5"
    assert list(stored_distributions(archive.code, importlib.import_module, "net")) == []
    assert found[0].read_text("METADATA") == METADATA
    assert found[0].read_text("RECORD") is None
    assert str(found[0].locate_file("a/b")) == "a/b"
    metadata = stand_ins.get("importlib.metadata")
    assert (metadata.version("net_kit"), metadata.requires("net_kit")) == ("1.5", ["numpy"])
    assert metadata.metadata("net_kit")["Name"] == "Net_Kit"
    assert metadata.version("pytest") == importlib.metadata.version("pytest")
    with pytest.raises(importlib.metadata.PackageNotFoundError):
        metadata.version("kellet-not-there")
    names = [one.metadata.get("Name") for one in metadata.distributions()]
    assert names[0] == "Net_Kit"
    assert (names.count("pytest"), "plain" in names) == (1, False)


# --- `__import__` and the `__builtins__` that it stands in ---


@pytest.mark.unix
def test_builtins_of_code_are_a_dict_of_their_own(archive: Any) -> None:
    found: Any = archive._import.builtins
    assert (type(found), found.__name__, found.__doc__) == (CodeBuiltins, "builtins", builtins.__doc__)
    assert len(found) == len(vars(found)) == len(list(found))
    found["kellet_word"] = 1
    assert ("kellet_word" in found, found["kellet_word"], found.get("kellet_word")) == (True, 1, 1)
    assert not hasattr(builtins, "kellet_word")
    del found["kellet_word"]
    assert "kellet_word" not in found
    with pytest.raises(AttributeError, match=r"^module 'builtins' has no attribute '__none__'$"):
        found.__none__
    assert copy.copy(found) is copy.deepcopy([found])[0] is found
    assert found.__reduce__() == (__import__, ("builtins",))


def test_c_code_and_python_code_are_told_apart(archive: Any) -> None:
    packaged: PackagedImport = archive._import
    found: Any = packaged.builtins
    assert found.__import__ is packaged is found["__import__"]
    assert getattr(found, "__import__") == packaged.from_c  # noqa: B009 - as C code asks
    found.__import__ = len
    assert getattr(found, "__import__") is found.__import__ is len  # noqa: B009 - as C code asks


@pytest.mark.parametrize(
    ("given", "level", "of_c"),
    [([], 0, True), ((), 0, False), (["x"], 0, False), (None, 0, False), ([], 1, False)],
)
def test_a_call_of_c_code_is_known_by_its_arguments(archive: Any, given: Any, level: int, of_c: bool) -> None:
    packaged: PackagedImport = archive._import
    names: dict[str, Any] = {"__package__": "standpkg"}
    asked = "json" if level == 0 else "part"
    if of_c:
        assert packaged.from_c("numpy", names, names, given, level) is importlib.import_module("numpy")
    if level == 0:
        assert packaged.from_c(asked, names, names, given, level) is importlib.import_module("json")
    for one, other in ((names, {**names}), (None, None), *([] if of_c else [(names, names)])):
        if level == 0:
            with pytest.raises(UndeclaredImportError):
                packaged.from_c("numpy", one, other, given, level)


PACKAGES: list[tuple[dict[str, Any], Any]] = [
    ({"__package__": "a.b", "__name__": "c"}, "a.b"),
    ({"__package__": "", "__name__": "c"}, ""),
    ({"__spec__": importlib.machinery.ModuleSpec("a.b", None), "__name__": "c"}, "a"),
    ({"__spec__": object(), "__name__": "c"}, None),
    ({"__name__": "a.b.c"}, "a.b"),
    ({"__name__": "a.b.c", "__path__": []}, "a.b.c"),
    ({"__name__": "a"}, ""),
    ({}, None),
    ({"__name__": 3}, 3),
]


@pytest.mark.parametrize(("names", "package"), PACKAGES)
def test_what_relative_names_start_from(names: dict[str, Any], package: Any) -> None:
    assert _package_of(names) == package


def test_a_closed_archive_forgets_its_importer_and_keeps_its_stand_ins(pack: Callable[..., Any]) -> None:
    loaded = pack({"standpkg/__init__.py": ""})
    packaged: PackagedImport = loaded.archive._import
    assert packaged("sys") is not sys
    assert packaged("json") is importlib.import_module("json")
    top = f"standpkg{loaded.archive.rules.suffix}"
    assert loaded_archive_of(top) is loaded.archive
    loaded.close()
    assert packaged("sys") is not sys
    assert loaded_archive_of(top) is None
    with pytest.raises(ModuleNotFoundError, match="no PackageImporter is open for this code"):
        packaged("torch_package_importer")


def test_what_code_runs_by_name_or_path_has_its_import_and_the_names_that_it_is_given(
    pack: Callable[..., Any], tmp_path: Any
) -> None:
    script = "import shop.part\nfound = shop.part.x, globals().get('given')\n"
    (tmp_path / "script.py").write_text(script)
    code = "import runpy\nrun_module, run_path = runpy.run_module, runpy.run_path\n"
    shop = pack({"shop/__init__.py": code, "shop/part.py": "x = 5\n", "shop/script.py": script}).module(
        "shop"
    )
    for run, what in ((shop.run_module, "shop.script"), (shop.run_path, str(tmp_path / "script.py"))):
        assert run(what)["found"] == (5, None)
        assert run(what, {"given": 3})["found"] == (5, 3)
        assert run(what, {"given": 3}, "other")["__name__"] == "other"


def test_names_of_installed_distributions_are_their_folders_and_no_metadata_is_parsed(
    pack: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = tmp_path / "site"
    for folder in ("My.Lib-1.0.dist-info", "other-2.0.egg-info", "odd.name"):
        (site / folder).mkdir(parents=True)
    (site / "My.Lib-1.0.dist-info" / "entry_points.txt").write_text("[shop.plugins]\none = shop:one\n")
    monkeypatch.setattr("sys.path", [str(site)])
    monkeypatch.setattr(importlib.metadata.Distribution, "metadata", property(lambda self: 1 / 0))
    code = pack({"shop/__init__.py": ""}).archive.code
    rules: Any = SimpleNamespace(suffix="", undeclared="error")
    names = metadata_names(code, rules, importlib.import_module)
    (point,) = names["entry_points"](group="shop.plugins")
    assert (point.name, point.value) == ("one", "shop:one")
    code.absent_distributions = frozenset({"my-lib"})
    names = metadata_names(code, rules, importlib.import_module)
    found = [one._path.name for one in names["distributions"]()]
    assert found == ["other-2.0.egg-info"]
