"""Bills of materials: every file, every extern, every licence, in the words of CycloneDX."""

from __future__ import annotations

import hashlib
import importlib
import io
import json
import shutil
import tracemalloc
import uuid
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest

from kellet import nn
from packager import ArchiveError, ArgumentError, IdentityMismatchError, PackageExporter, PackageImporter
from packager._archive import (
    ArchiveReader,
    ArchiveWriter,
    ExternRecord,
    ImportSite,
    Manifest,
    ModuleRecord,
    ObjectRecord,
    pack,
)
from packager._cli import main
from packager._environment import Fingerprint
from packager._licenses import BillOfMaterials, bill_of_materials, cyclonedx

Project = Callable[[Mapping[str, str]], Path]

GPL = "Metadata-Version: 2.4\nName: inked\nVersion: 2.0\nLicense-Expression: GPL-3.0-only\n"
TREE = {
    "shop/__init__.py": "",
    "shop/net.py": (
        "import inked\nimport numpy.linalg\nfrom . import told\nfrom kellet import nn\n"
        "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.layer = nn.Linear(400, 800)\n    def forward(self, x):\n        return self.layer(x)\n"
    ),
    "shop/told.py": "# SPDX-License-Identifier: MIT OR Apache-2.0 -->\nimport bare\n",
    "pyproject.toml": '[project]\nname = "shop"\nlicense = {text = "BSD-2-Clause"}\n',
}


@pytest.fixture
def net(project: Project, installed: Callable[..., Path]) -> Path:
    """An archive of a project, a stored distribution, externs, weights of more than a chunk, and a call."""
    folder = project(TREE)
    site = installed("inked", {"inked/__init__.py": ""}, version="2.0", origin=None)
    installed("bare", {"bare.py": ""}, version="1.0", origin=None)
    (site / "inked-2.0.dist-info" / "METADATA").write_text(GPL)
    from shop.net import Net  # type: ignore[import-not-found]  # written above

    with PackageExporter(folder / "net.kellet", policy="auto", prove=False) as exporter:
        exporter.intern("inked.**")
        exporter.extern("bare.**")
        exporter.save_object("model", "model", Net())
        exporter.save_binary("shop", "notes.bin", b"x" * 10)
        exporter.save_example("model", {"x": np.ones((1, 400), "f4")})
    return folder / "net.kellet"


def document(bill: BillOfMaterials) -> dict[str, Any]:
    """Return the document, which is valid, and whose references all lead somewhere."""
    text = "".join(cyclonedx(bill))
    # Imported here: their grammars take seconds, and every worker reads this file.
    from cyclonedx.schema import SchemaVersion
    from cyclonedx.validation.json import JsonStrictValidator

    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(text) is None
    found: dict[str, Any] = json.loads(text)
    assert sound_references(found)
    return found


def components(found: Any) -> Iterator[dict[str, Any]]:
    for one in found.get("components", ()):
        yield one
        yield from components(one)


def sound_references(found: Any) -> bool:
    """Say whether each component has one entry among the dependencies, and these name nothing else."""
    refs = [found["metadata"]["component"]["bom-ref"], *(one["bom-ref"] for one in components(found))]
    named = [one["ref"] for one in found["dependencies"]]
    needed = {ref for one in found["dependencies"] for ref in one["dependsOn"]}
    needed |= {ref for one in found["compositions"] for ref in one["dependencies"]}
    return sorted(refs) == sorted(set(refs)) == sorted(named) and needed <= set(refs)


def licence(component: Mapping[str, Any]) -> str:
    """Return the licence of a component as text, or what is stated in its place; exactly one of both."""
    stated = [one["value"] for one in component["properties"] if one["name"] == "kellet:license"]
    found = [one.get("expression") or one["license"]["name"] for one in component.get("licenses", ())]
    assert bool(stated) != bool(found)
    return ", ".join(stated or found)


def test_a_bill_has_every_file_and_every_extern_with_its_licence(net: Path) -> None:
    found = document(bill_of_materials(net))
    named = {one["name"]: one for one in components(found)}
    with ArchiveReader(net) as reader:
        contents = {name: bytes(reader.view(name)) for name in reader.names()}
    assert max(map(len, contents.values())) > 1 << 20, "a file of more than one chunk"
    assert {name: named[name]["hashes"][0]["content"] for name in contents} == {
        name: hashlib.sha256(data).hexdigest() for name, data in contents.items()
    }
    licences = {name: licence(one) for name, one in named.items()}
    assert {name: licences[name] for name in contents if not name.startswith((".data/", "model/"))} == {
        "shop/__init__.py": "BSD-2-Clause",
        "shop/net.py": "BSD-2-Clause",
        "shop/told.py": "MIT OR Apache-2.0",
        "shop/notes.bin": "BSD-2-Clause",
        "inked/__init__.py": "GPL-3.0-only",
        "inked-2.0.dist-info/METADATA": "GPL-3.0-only",
    }
    urls = {one["purl"].partition("@")[0]: licence(one) for one in components(found) if "purl" in one}
    assert urls.pop("pkg:pypi/numpy").startswith("BSD-3-Clause")
    assert urls.pop("pkg:generic/kellet") == "Apache-2.0"
    assert {name: urls[name] for name in ("pkg:generic/python", "pkg:pypi/bare", "pkg:pypi/inked")} == {
        "pkg:generic/python": "PSF-2.0",
        "pkg:pypi/bare": "none found",
        "pkg:pypi/inked": "GPL-3.0-only",
    }
    with ArchiveReader(net) as reader:
        names = {record.distribution for record in reader.manifest.externs if record.distribution}
    assert names == {"numpy", "kellet", "bare"}
    assert {f"target/{name}" for name in names} <= {one["bom-ref"] for one in components(found)}


def test_a_bill_says_what_the_model_is_and_what_needs_what(net: Path) -> None:
    found = document(bill_of_materials(net))
    model, *others = (one for one in components(found) if one["type"] == "machine-learning-model")
    assert (model["name"], others) == ("model/model", [])
    parameters = model["modelCard"]["modelParameters"]
    assert parameters["inputs"] == [{"format": "x: real[*, *]"}]
    assert parameters["outputs"] == [{"format": "output: float32[*, *]"}]
    data = {one["name"]: one["data"][0]["type"] for one in components(found) if one["type"] == "data"}
    weights = "model/model.safetensors"
    assert sorted(data.values()) == ["dataset", "dataset", "other"]
    assert data[weights] == "other"
    needs = {one["ref"]: set(one["dependsOn"]) for one in found["dependencies"]}
    assert {f"file/{weights}", "file/shop/net.py", "target/kellet"} <= needs["model/1"]
    assert needs["file/shop/net.py"] == {
        "file/inked/__init__.py", "file/shop/__init__.py",
        "file/shop/told.py", "target/kellet", "target/numpy",
    }  # fmt: skip
    assert needs["file/shop/told.py"] == {"target/bare"}
    assert {"model/1", "stored/inked", "target/numpy", "target/python"} <= needs["archive"]
    assert found["metadata"]["component"]["licenses"][0]["expression"] == "BSD-2-Clause"


def test_the_same_archive_gives_the_same_bytes_as_a_file_a_folder_and_bytes(
    net: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = "".join(cyclonedx(bill_of_materials(net)))
    assert main(["extract", str(net), str(net.with_name("net"))]) == 0
    assert "".join(cyclonedx(bill_of_materials(net.with_name("net")))) == first
    with open(net, "rb") as file:
        assert "".join(cyclonedx(bill_of_materials(file))) == first
    serial = json.loads(first)["serialNumber"]
    assert uuid.UUID(serial.removeprefix("urn:uuid:")).version == 5
    assert "".join(cyclonedx(bill_of_materials(net.read_bytes()))) == first
    for name in ("renamed.kellet", "other", "-"):
        renamed = Path(shutil.copy(net, net.with_name(name)))
        assert "".join(cyclonedx(bill_of_materials(renamed))) == first
    capsys.readouterr()
    assert main(["sbom", str(net)]) == 0
    assert capsys.readouterr().out == first
    target = net.with_name("net.cdx.json")
    assert main(["sbom", str(net), "-o", str(target)]) == 0
    assert target.read_text() == first
    said = capsys.readouterr().out
    assert said.startswith(f"{target}: ")
    assert said.endswith(f" without a licence\n    {net}: unsigned\n")


MODEL = "from kellet import nn\nclass Net(nn.Linear):\n    pass\n"


@pytest.mark.parametrize(
    ("origins", "named", "version"),
    [
        ({"shop": {"dir_info": {}}}, ("shop", "3.1+g5e1"), "3.1+g5e1"),
        ({"shop": {"dir_info": {"editable": True}}}, ("shop", "3.1+g5e1"), "3.1+g5e1"),
        ({"shop": {"dir_info": {}}, "inked": None}, ("shop", "3.1+g5e1"), "3.1+g5e1"),
        ({"shop": {"dir_info": {}}, "inked": {"dir_info": {}}}, ("model/model", None), None),
        ({"shop": None}, ("model/model", None), None),  # of an index: its version is that of a library
        ({}, ("model/model", None), None),
    ],
)
def test_a_bill_names_the_project_that_the_model_is_of_and_its_version(
    project: Project,
    installed: Callable[..., Path],
    origins: Mapping[str, Any],
    named: tuple[str, str | None],
    version: str | None,
) -> None:
    is_editable = origins.get("shop") == {"dir_info": {"editable": True}}
    if is_editable or "shop" not in origins:
        folder = project({"shop.py": MODEL})
    for name, origin in origins.items():
        files = {} if is_editable else {f"{name}.py": MODEL}
        at = {"url": folder.as_uri(), **origin} if is_editable else origin
        installed(name, files, version="3.1+g5e1", origin=at)
    file = io.BytesIO()
    with PackageExporter(file, policy="auto", prove=False) as exporter:
        exporter.intern(["shop.**", "inked.**"], allow_empty=True)
        net = nn.Sequential(importlib.import_module("shop").Net(2, 1))
        if "inked" in origins:
            net.append(importlib.import_module("inked").Net(1, 1))
        exporter.save_object("model", "model", net)
    found = document(bill_of_materials(file))
    whole = found["metadata"]["component"]
    assert (whole["name"], whole.get("version")) == named
    (model,) = (one for one in components(found) if one["type"] == "machine-learning-model")
    assert (model["name"], model.get("version")) == ("model/model", version)


def test_code_alone_is_called_by_its_project_and_several_models_by_none(
    installed: Callable[..., Path],
) -> None:
    installed("shop", {"shop.py": MODEL}, version="3.1")
    code, models = io.BytesIO(), io.BytesIO()
    with PackageExporter(code, policy="auto", prove=False) as exporter:
        exporter.save_module("shop")
    with PackageExporter(models, policy="auto", prove=False) as exporter:
        exporter.save_object("a", "model", nn.Linear(2, 1))
        exporter.save_object("b", "model", nn.Linear(2, 1))
    named = [
        (found["name"], found.get("version"))
        for found in (document(bill_of_materials(file))["metadata"]["component"] for file in (code, models))
    ]
    assert named == [("shop", "3.1"), ("archive", None)]


def test_a_local_version_names_the_public_one_too() -> None:
    versions = {"torch": "2.13.0+cpu", "plain": "2.13.0", "tiny": "1!1.0rc1+cu128.abi"}
    externs = tuple(ExternRecord(name, "installed", name, versions[name], None) for name in sorted(versions))
    found = document(bill_of_materials(written(Manifest(externs=externs, environment=environment()))))
    named = {
        one["name"]: (
            one["version"],
            one["purl"],
            [each["value"] for each in one["properties"] if each["name"] == "kellet:public-version"],
        )
        for one in components(found)
        if one["name"] in versions
    }
    assert named == {
        "torch": ("2.13.0+cpu", "pkg:pypi/torch@2.13.0%2Bcpu", ["2.13.0"]),
        "plain": ("2.13.0", "pkg:pypi/plain@2.13.0", []),
        "tiny": ("1!1.0rc1+cu128.abi", "pkg:pypi/tiny@1%211.0rc1%2Bcu128.abi", ["1!1.0rc1"]),
    }


def test_what_is_packed_again_where_its_distributions_are_not_keeps_its_licences(
    net: Path, tmp_path: Path
) -> None:
    shutil.rmtree(tmp_path / "site-packages" / "inked-2.0.dist-info")
    (net.parent / "pyproject.toml").unlink()
    again = io.BytesIO()
    with (
        PackageImporter(net) as importer,
        PackageExporter(again, importer=importer, policy="auto", prove=False) as exporter,
    ):
        exporter.extern("bare.**")
        exporter.save_object("model", "model", importer.load_object("model", "model"))
    before, after = ({
        one.name: (one.version, one.package_url, one.licenses)
        for one in bill_of_materials(file).all()
        if one.name.startswith(("shop/", "inked")) and one.name != "shop/notes.bin"
    } for file in (net, again))  # fmt: skip
    assert after == before
    assert after["inked"][1] == "pkg:pypi/inked@2.0"


def test_a_runnable_archive_names_the_loader_that_it_carries(project: Project) -> None:
    file = io.BytesIO()
    with PackageExporter(file, policy="auto", runnable=True, prove=False) as exporter:
        exporter.save_object("model", "model", nn.Linear(2, 1))
    found = document(bill_of_materials(file))
    loader = {one["name"]: one for one in found["components"] if one["bom-ref"].startswith("carried/")}
    assert {name: (one["purl"].partition("@")[0], licence(one)) for name, one in loader.items()} == {
        "kellet": ("pkg:generic/kellet", "Apache-2.0"),
        "msgpack": ("pkg:pypi/msgpack", "Apache-2.0"),
    }
    inside = {one["name"] for one in loader["kellet"]["components"]}
    assert {"__main__.py", "packager.py", ".data/runtime/packager/errors.py"} <= inside
    assert [one["name"] for one in found["components"] if one["type"] == "file"] == [
        ".data/index/model/model.safetensors",
        "model/model",
    ]


def test_of_a_state_dict_alone_that_is_the_model() -> None:
    file = io.BytesIO()
    with PackageExporter(file, prove=False) as exporter:
        exporter.save_state_dict("net", "weights", nn.Linear(2, 1))
    found = document(bill_of_materials(file))
    models = [one["name"] for one in components(found) if one["type"] == "machine-learning-model"]
    assert models == ["net/weights"]


def written(manifest: Manifest, entries: Mapping[str, bytes] = MappingProxyType({})) -> io.BytesIO:
    file = io.BytesIO()
    with ArchiveWriter(file, fsync=False) as writer:
        for name, data in entries.items():
            writer.add(name, data, kind="source" if name.endswith(".py") else "object")
        writer.seal(manifest)
    return file


def environment(**more: Any) -> dict[str, Any]:
    return {**vars(Fingerprint.here()), **more}


def test_texts_of_a_hostile_archive_are_spelled_out_and_lead_nowhere() -> None:
    bad = "a\x1b[2J\u202e</script>"
    record = ObjectRecord(bad, f"{bad}/x", "o", factory=bad)
    externs = (ExternRecord("numpy", "installed", "numpy", "1+\u00e9?#", None),)
    with pytest.raises(ArchiveError, match=r"found the version '1\+é\?#' of numpy"):
        bill_of_materials(written(Manifest(externs=externs, environment=environment())))
    modules = (ModuleRecord("m", "intern", bad, bad, "m.py", False, (ImportSite(bad, bad, 1),)),)
    source = b'# SPDX-License-Identifier: \x1b[2J\xff MIT "}]\n'
    manifest = Manifest(modules=modules, objects=(record,), environment=environment())
    bill = bill_of_materials(written(manifest, {"m.py": source, "o": pack([])}))
    text = "".join(cyclonedx(bill))
    assert text.isprintable() or set(text) - {"\n"} == {one for one in text if one.isprintable()}
    found = document(bill)
    named = {one["bom-ref"]: one for one in components(found)}
    assert named["model/1"]["name"] == f"{bad}/{bad}/x"
    assert licence(named["file/m.py"]) == '[2J\ufffd MIT "}]'
    assert "expression" not in named["file/m.py"]["licenses"][0], "no expression of SPDX"


def test_a_wheel_is_a_library_with_the_digest_of_its_file() -> None:
    name = ".data/wheels/tiny-1.0-py3-none-any.whl"
    licenses = {"distributions": {"tiny": [["expression", "0BSD"]]}, "stored": []}
    extern = ExternRecord("tiny", "installed", "tiny", "1.0", "tiny>=1.0,<2")
    file = io.BytesIO()
    with ArchiveWriter(file, fsync=False) as writer:
        writer.add(name, b"wheel", kind="resource")
        writer.seal(Manifest(externs=(extern,), environment=environment(licenses=licenses)))
    found = document(bill_of_materials(file))
    (wheel,) = (one for one in components(found) if one["bom-ref"] == f"file/{name}")
    assert (wheel["type"], wheel["purl"], licence(wheel)) == ("library", "pkg:pypi/tiny@1.0", "0BSD")
    assert wheel["hashes"][0]["content"] == hashlib.sha256(b"wheel").hexdigest()


def test_what_no_distribution_brings_is_an_extern_too() -> None:
    records = (ExternRecord("far.away", "unknown"), ExternRecord("maybe", "unknown", optional=True))
    found = document(bill_of_materials(written(Manifest(externs=records, environment=environment()))))
    urls = {one["purl"]: (licence(one), one.get("scope")) for one in components(found)}
    assert urls.pop(f"pkg:generic/python@{Fingerprint.here().python}") == ("PSF-2.0", None)
    assert urls == {
        "pkg:generic/far.away": ("none found", None),
        "pkg:generic/maybe": ("none found", "optional"),
    }


@pytest.mark.parametrize(
    ("recorded", "said"),
    [
        ([], "found something else; expected distributions and stored"),
        ({"distributions": [], "stored": []}, "found another form"),
        ({"distributions": {"a b": []}, "stored": []}, "found the distribution 'a b'"),
        ({"distributions": {"a": "MIT"}, "stored": []}, "found licences that are not a list"),
        ({"distributions": {"a": [["told", "MIT"]]}, "stored": []}, "found a licence of another form"),
        ({"distributions": {"a": [["text", "x" * 201]]}, "stored": []}, "found a licence of 201 characters"),
        ({"distributions": {"a": [["text", "x\x1b"]]}, "stored": []}, "or with hidden ones"),
        ({"distributions": {}, "stored": [["a", "1", False, ["a"]]]}, "found a part of another form"),
        ({"distributions": {}, "stored": [["a", "1", False, [], []]]}, "found a part without modules"),
        ({"distributions": {}, "stored": [["a", "1", False, [""], []]]}, "found a module of another form"),
        ({"distributions": {}, "stored": [["a", "", False, ["a"], []]]}, "found the version '' of a"),
    ],
)
def test_recorded_licences_that_no_exporter_writes_are_refused(recorded: object, said: str) -> None:
    manifest = Manifest(environment=environment(licenses=recorded))
    with pytest.raises(ArchiveError, match="manifest, environment, licenses: ") as caught:
        bill_of_materials(written(manifest))
    assert said in str(caught.value)


@pytest.mark.parametrize("count", [1000, pytest.param(30_000, marks=pytest.mark.long)])
def test_the_bill_of_many_modules_is_made_in_bounds(count: int) -> None:
    site = (ImportSite("m.n0", "m/n0.py", 1),)
    names = [f"m/n{number}.py" for number in range(count)]
    modules = tuple(
        ModuleRecord(name[:-3].replace("/", "."), "intern", "rule", "because" * 14, name, False, site)
        for name in names
    )
    stored = [["", "", True, ["m"], [["text", "MIT"]]]]
    recorded = environment(licenses={"distributions": {}, "stored": stored})
    file = written(Manifest(modules=modules, environment=recorded), dict.fromkeys(names, b"X = 1\n"))
    tracemalloc.start()
    try:
        bill = bill_of_materials(file)
        size = sum(map(len, cyclonedx(bill)))
        assert tracemalloc.get_traced_memory()[1] < (64 << 20) + 8 * len(file.getvalue())
    finally:
        tracemalloc.stop()
    assert size < 1500 * count
    if count < 2000:
        assert len(document(bill)["components"]) == count + 1
    assert len(bill.needs["file/m/n0.py"]) == count - 1


def test_what_is_no_archive_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match="file"):
        bill_of_materials(3)  # type: ignore[arg-type]  # that is what is tried
    with pytest.raises(ArchiveError):
        bill_of_materials(b"no archive at all")
    file = written(Manifest())
    with pytest.raises(IdentityMismatchError):
        bill_of_materials(file.getvalue(), identity="0" * 64)
