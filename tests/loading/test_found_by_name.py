"""Objects and states by their names in an archive, what brings code, and how one is opened and closed."""

from __future__ import annotations

import io
import sys
from collections.abc import Sequence
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from packager import PackageExporter, PackageImporter
from packager._archive import EntryPoint, Manifest, ModuleRecord, ObjectRecord
from packager._audit import TrustContext
from packager._audit.trust import Grant
from packager._calls import running
from packager._loading import stored_objects, stored_states
from packager._loading.open_archives import NameTakenError, loaded_archive_of
from packager._loading.packaged_code import DisallowedModuleError
from packager.errors import (
    ArgumentError,
    KeyNotStoredError,
    PackageError,
    PickleRefusedError,
    UntrustedTypeError,
)

RECORDS = [ObjectRecord("m", "a", "m/a"), ObjectRecord("m", "b", "m/b"), ObjectRecord("n", "a", "n/a")]


def archive(records: list[ObjectRecord]) -> Any:
    return SimpleNamespace(manifest=SimpleNamespace(objects=records, state_dicts=()))


def test_an_object_is_found_by_its_package_and_its_name() -> None:
    for record in RECORDS:
        assert stored_objects.find_object(archive(RECORDS), record.package, record.resource) is record
    for records, there in ((RECORDS, "m/a, m/b, n/a"), ([], "none")):
        with pytest.raises(KeyNotStoredError) as missing:
            stored_objects.find_object(archive(records), "n", "b")
        assert missing.value.args[0].startswith(
            f"no object 'b' in package 'n'; the archive holds {there}. Texts, binaries and pickles have "
        )
    context: Any = SimpleNamespace(archive=archive([]))
    with pytest.raises(KeyNotStoredError) as missing:
        stored_states.load_state_dict(context, "n", "b")
    assert missing.value.args[0] == "no state dict 'b' in package 'n'; the archive holds none"


def packed(objects: Sequence[str] = (), states: Sequence[str] = (), pickles: Sequence[str] = ()) -> bytes:
    file = io.BytesIO()
    with PackageExporter(file, policy="auto", prove=False) as exporter:
        for name in objects:
            exporter.save_object("m", name, {"name": name})
        for name in states:
            exporter.save_state_dict("m", name, {"scale": [1, 2]})
        for name in pickles:
            exporter.save_pickle("m", name, {"name": name})
    return file.getvalue()


def test_the_only_object_of_an_archive_needs_no_name() -> None:
    with PackageImporter(packed(["a"], states=["w", "v"])) as importer:
        assert importer.load_object() == importer.load_object("m", "a") == {"name": "a"}
        assert importer.load_object(None, None, map_location="cpu") == {"name": "a"}


@pytest.mark.parametrize(
    ("held", "told"),
    [
        (
            ([], ["w", "v"]),
            r"no object; state dicts: m/v, m/w\. Load one: PackageImporter\(path\)\.load_state_dict",
        ),
        (([], ["w"]), r"dicts: m/w\. Load it: PackageImporter\(path\)\.load_state_dict\(\"m\", \"w\"\)$"),
        (([], []), r"the archive holds no object; state dicts: none\. Texts, binaries and pickles have"),
        ((["a", "b"],), r"no name was given, and the archive holds 2 objects: m/a, m/b\. Name one: PackageI"),
        (
            ([f"o{number:02}" for number in range(14)],),
            r"14 objects: m/o00, m/o01, m/o02, m/o03, m/o04, m/o05, m/o06, m/o07, m/o08, m/o09 and 4 more\.",
        ),
    ],
)
def test_without_a_name_an_archive_of_several_objects_or_none_says_what_it_has(held: Any, told: str) -> None:
    with (
        PackageImporter(packed(*held)) as importer,
        pytest.raises(KeyNotStoredError, match=told),
    ):
        importer.load_object()


@pytest.mark.parametrize(
    ("half", "told"),
    [({"package": "m"}, "package without resource"), ({"resource": "a"}, "resource without package")],
)
def test_half_a_name_is_refused(half: dict[str, str], told: str) -> None:
    with (
        PackageImporter(packed(["a"])) as importer,
        pytest.raises(ArgumentError, match=rf"load_object\(\) got {told}\. Give both, or neither"),
    ):
        importer.load_object(**half)


@pytest.mark.parametrize("allowed", [False, True])
@pytest.mark.parametrize(("name", "method"), [("a", "load_object"), ("w", "load_state_dict")])
def test_reading_data_as_a_pickle_names_the_method_that_loads_it(
    name: str, method: str, allowed: bool
) -> None:
    with PackageImporter(packed(["a"], ["w"]), allow_pickle=allowed) as importer:
        with pytest.raises(
            PickleRefusedError, match=rf"m/{name} is no pickle: .* {method}\('m', '{name}'\) loads it"
        ):
            importer.load_pickle("m", name)
        assert getattr(importer, method)("m", name)


@pytest.mark.filterwarnings("ignore:the archive:packager.PackagingWarning")
def test_a_pickle_beside_data_is_still_read() -> None:
    data = packed(["a"], ["w"], ["p"])
    with PackageImporter(data, allow_pickle=True) as importer:
        assert importer.load_pickle("m", "p") == {"name": "p"}
    with (
        PackageImporter(data) as importer,
        pytest.raises(PickleRefusedError, match=r"^'m/p' is a pickle, .* open it with allow_pickle=True"),
    ):
        importer.load_pickle("m", "p")


def _audited(**grants: str) -> Any:
    uses = {(name.replace("_", "."), "A", "value"): Grant(by) for name, by in grants.items()}
    return SimpleNamespace(grants=uses)


@pytest.mark.parametrize(
    ("grants", "factory", "modules"),
    [
        ({}, "", []),
        ({}, "m", ["m"]),
        ({"m_a": "interned", "far_sub": "extern"}, "", ["far", "m", "m.a"]),
        ({"far_sub": "default", "near": "trust"}, "", []),
        ({"m_listed": "default"}, "", ["m"]),
        ({"m_a": "interned"}, "", ["m", "m.a"]),
    ],
)
def test_code_comes_from_stored_modules_and_externs(
    grants: dict[str, str], factory: str, modules: list[str]
) -> None:
    context = TrustContext.of_archive(["m", "m.a"])
    assert stored_objects._modules_of_code(_audited(**grants), factory, context) == modules


@pytest.mark.parametrize(
    ("refused", "message"),
    [
        (["a"], "object m/o brings code of the module 'a', but module_allowed refuses that"),
        (["a", "c"], "object m/o brings code of the modules 'a', 'c', but module_allowed refuses that"),
    ],
)
def test_code_that_is_not_admitted_is_refused_together(refused: list[str], message: str) -> None:
    with pytest.raises(DisallowedModuleError) as error:
        stored_objects._require_admitted(["a", "b", "c"], lambda name: name not in refused, "object m/o")
    assert str(error.value).startswith(message)
    stored_objects._require_admitted(["a"], lambda name: True, "object m/o")


def test_a_factory_is_stored_or_trusted_by_its_name() -> None:
    context = TrustContext.of_archive(["m"])
    stored_objects.require_factory_allowed("m:make", context, ())
    stored_objects.require_factory_allowed("far:make", context, ["far:make"])
    for trust in ((), ["far:*"], ["far:other"]):
        with pytest.raises(UntrustedTypeError, match=r"^the object is made by the factory 'far:make', which"):
            stored_objects.require_factory_allowed("far:make", context, trust)


def test_names_are_found_where_their_module_is_admitted() -> None:
    module = ModuleType("m.a")
    module.x = 1  # type: ignore[attr-defined]  # a module made by hand
    manifest = Manifest(modules=(ModuleRecord("m.a", "intern", "", "", "m/a.py"),))
    stored: Any = SimpleNamespace(name="net.kellet", manifest=manifest)
    context = stored_states.LoadContext(stored, (), lambda name: name != "m.b", lambda name: module)
    assert context.find_admitted("m.a", "x") == 1
    assert context.find_admitted("far.b", "x") == 1
    with pytest.raises(
        DisallowedModuleError, match=r"^module_allowed refuses 'm\.b', a module of the archive"
    ):
        context.find_admitted("m.b", "x")


# --- which objects name code ---


@pytest.mark.parametrize(
    ("factory", "names", "found"),
    [
        (None, (), False),
        (None, ("far",), False),
        (None, ("far", "m"), True),
        ("m:make", (), True),
        ("far:make", (), False),
        ("far:make", ("m",), True),
    ],
)
def test_an_object_names_code_by_its_factory_or_its_records(
    factory: str | None, names: tuple[str, ...], found: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = ObjectRecord("m", "o", "m/o", None, factory)
    asked: list[Any] = []

    def names_in(records: bytes, *, storages: Any, what: str) -> Any:
        asked.append((records, what))
        return tuple(SimpleNamespace(module=name) for name in names)

    monkeypatch.setattr(running, "names_in", names_in)
    manifest = SimpleNamespace(stored_modules={"m"}, objects=[record])
    reader: Any = SimpleNamespace(manifest=manifest, read=lambda entry: entry.encode())
    point: Any = SimpleNamespace(package="m", resource="o")
    assert running._names_code(reader, point) is found
    assert asked == ([] if factory == "m:make" else [(b"m/o", "object m/o")])


# --- opening and closing ---


@pytest.fixture(scope="module")
def small() -> bytes:
    file = io.BytesIO()
    with PackageExporter(file, policy="auto", prove=False) as exporter:
        exporter.save_source_string("foundpkg", "x = 1\n")
    return file.getvalue()


@pytest.fixture(autouse=True)
def _cache(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KELLET_CACHE", str(tmp_path / "cache"))


def test_a_closed_archive_is_found_by_no_name(small: bytes) -> None:
    importer = PackageImporter(small)
    assert importer.modules == {}
    module = importer.import_module("foundpkg")
    top = module.__name__
    assert (importer.modules, loaded_archive_of(top) is not None) == ({"foundpkg": module}, True)
    importer.close()
    assert (importer.modules, loaded_archive_of(top), top in sys.modules) == ({}, None, False)
    with pytest.raises(PackageError, match="is closed"):
        importer.import_module("foundpkg")
    importer.close()


def test_installing_is_refused_until_the_name_is_free(small: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    taken = ModuleType("foundpkg")
    with PackageImporter(small) as importer:
        monkeypatch.setitem(sys.modules, "foundpkg", taken)
        for _ in range(2):  # it is not taken for installed because it was asked for
            with pytest.raises(NameTakenError, match="cannot be installed: foundpkg can be imported here"):
                importer.install()
        monkeypatch.delitem(sys.modules, "foundpkg")
        importer.install()
        importer.install()
        module = importer.import_module("foundpkg")
        assert (module.__name__, sys.modules["foundpkg"] is module) == ("foundpkg", True)
    assert "foundpkg" not in sys.modules
    with PackageImporter(small) as importer:
        importer.import_module("foundpkg")
        with pytest.raises(PackageError, match=r"install\(\) comes too late: modules are already imported"):
            importer.install()


def test_an_entry_point_is_asked_whether_it_may_be_called_before_its_object_is_built(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    point = EntryPoint("main", "m", "o")
    manifest = SimpleNamespace(entry_points=[point], schemas=())
    asked: list[Any] = []
    callee: Any = SimpleNamespace(
        reader=SimpleNamespace(manifest=manifest), load=lambda package, name: asked.append("built")
    )

    def refuse(given: Any, names_code: Any) -> None:
        asked.append(given)
        raise PackageError("it must not be called")

    monkeypatch.setattr(running, "require_entry_name", refuse)
    with pytest.raises(PackageError, match="it must not be called"):
        running.run_entry(callee, "main", {})
    assert asked == [point]
