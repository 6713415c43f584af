"""Two calls: what they take, what they give back, and what they leave behind when something is wrong."""

from __future__ import annotations

import gc
import io
import os
import sys
from collections.abc import Callable, Iterator
from importlib import invalidate_caches
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import packager
from kellet import nn
from packager import errors
from packager.errors import KeyNotStoredError
from tests.signing.signed_files import pair

NET = """
import dataclasses

@dataclasses.dataclass
class Net:
    width: int = 2

    def __call__(self, x, twice=False):
        return x * self.width * (2 if twice else 1)

    def describe(self, name):
        return f"{name} {self.width}"
"""


@pytest.fixture
def net(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """An object of a project; its module is gone before something is loaded."""
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "smallnet.py").write_text(NET)
    monkeypatch.syspath_prepend(folder)
    invalidate_caches()
    import smallnet  # type: ignore[import-not-found]  # written above

    yield smallnet.Net(3)
    del sys.modules["smallnet"]


def test_a_dict_is_one_object(tmp_path: Path) -> None:
    proof = packager.save({"scale": np.arange(3.0), "unit": "cm"}, tmp_path / "table.kellet")
    assert proof is not None
    assert proof.ok
    loaded = packager.load(tmp_path / "table.kellet", code=False)
    assert list(loaded) == ["scale", "unit"]
    assert loaded["unit"] == "cm"
    gc.collect()
    loaded["scale"][0] = 8
    assert loaded["scale"].tolist() == [8, 1, 2]


@pytest.mark.parametrize("as_path", [str, Path, os.fsencode])
def test_a_path_may_be_text_or_a_path(tmp_path: Path, as_path: Callable[[Any], Any]) -> None:
    place = as_path(tmp_path / "x.kellet")
    if isinstance(place, bytes):
        with pytest.raises(packager.ArgumentError, match=r"file=b.*expected a path or a binary file"):
            packager.save(1, place)
        return
    packager.save([1, 2], place)
    assert packager.load(place) == [1, 2]


def test_a_file_object_and_bytes_are_taken_too() -> None:
    file = io.BytesIO()
    packager.save([1, 2], file)
    assert packager.load(file) == packager.load(file.getvalue()) == [1, 2]


def test_a_path_in_the_place_of_the_object_is_told(tmp_path: Path) -> None:
    with pytest.raises(packager.ArgumentError, match=r"file=\{'scale': 1\}: expected a path or a binary"):
        packager.save(str(tmp_path / "x.kellet"), {"scale": 1})  # type: ignore[arg-type]  # the other way round


@pytest.mark.parametrize(
    ("call", "named", "told"),
    [
        ("save", {"polcy": "auto"}, r"save\(\) has no option 'polcy'; did you mean policy\?"),
        ("save", {"vendor_wheel": ["here"]}, r"no option 'vendor_wheel'; did you mean vendor_wheels\?"),
        ("load", {"digest": "crc"}, r"load\(\) has no option 'digest'; did you mean digests\?"),
        (
            "load",
            {"zzz": 1},
            r"load\(\) has no option 'zzz'\. It takes those of PackageImporter: module_allowed, ",
        ),
        ("save", {"exmple": 1}, r"no option 'exmple'; did you mean example\?"),
        ("load", {"path": 1}, r"load\(\) has no option 'path'"),
    ],
)
def test_an_unknown_option_names_the_near_one(tmp_path: Path, call: str, named: Any, told: str) -> None:
    place = tmp_path / "x.kellet"
    with pytest.raises(packager.ArgumentError, match=told) as raised:
        packager.save(1, place, **named) if call == "save" else packager.load(place, **named)
    assert isinstance(raised.value, TypeError)
    assert not place.exists()


@pytest.mark.parametrize(
    ("example", "method", "outputs"),
    [
        (np.ones(2), None, {"output": [3.0, 3.0]}),
        (packager.Example(np.ones(2), twice=True), None, {"output": [6.0, 6.0]}),
        ({"x": 1}, "describe", {"output": "{'x': 1} 3"}),
        (("x", 1), "describe", {"output": "('x', 1) 3"}),
    ],
)
def test_the_example_is_the_golden_call(
    net: Any, tmp_path: Path, example: Any, method: str | None, outputs: Any
) -> None:
    proof = packager.save(net, tmp_path / "net.kellet", example=example, method=method)
    assert proof is not None
    assert proof.ok
    assert proof.steps[-1] == "call: check model"
    with packager.PackageImporter(tmp_path / "net.kellet") as importer:
        (outcome,) = importer.check()
    assert outcome.within(0)


def test_stored_code_comes_along(net: Any, tmp_path: Path) -> None:
    packager.save(net, tmp_path / "net.kellet", example=np.ones(2))
    loaded = packager.load(tmp_path / "net.kellet")
    assert type(loaded) is not type(net)
    assert loaded(np.ones(2)).tolist() == [3, 3]
    with pytest.raises(errors.CodeRefusedError, match=r"net\.kellet: the archive contains code"):
        packager.load(tmp_path / "net.kellet", code=False)


def test_no_proof_is_none(tmp_path: Path) -> None:
    assert packager.save(1, tmp_path / "x.kellet", prove=False) is None


def test_what_fails_leaves_the_old_file(tmp_path: Path) -> None:
    place = tmp_path / "x.kellet"
    packager.save(1, place)
    before = place.read_bytes()
    with pytest.raises(packager.PackagingError, match="generator"):
        packager.save({"rows": (n for n in [1])}, place)
    with pytest.raises(packager.ArgumentError, match="cannot be called"):
        packager.save({"rows": 1}, place, example=1)
    assert place.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["x.kellet"]


def test_only_what_is_signed_is_loaded(tmp_path: Path) -> None:
    (tmp_path / "keys").mkdir()
    keys = pair(tmp_path / "keys", "team")
    (tmp_path / "models").mkdir()
    plain, signed = tmp_path / "models/plain.kellet", tmp_path / "models/signed.kellet"
    packager.save([1], plain)
    packager.save([1], signed, sign=keys.pem)
    assert packager.load(signed, signed_by=keys.pub) == [1]
    with pytest.raises(errors.UnsignedError, match=r"plain\.kellet"):
        packager.load(plain, signed_by=keys.pub)


def test_an_archive_of_several_objects_says_how_to_load_one(tmp_path: Path) -> None:
    with packager.PackageExporter(tmp_path / "two.kellet", prove=False) as exporter:
        exporter.save_object("m", "a", 1)
        exporter.save_object("m", "b", 2)
    with pytest.raises(KeyNotStoredError, match=r"m/a, m/b\. Name one: PackageImporter\(path\)\.load_ob"):
        packager.load(tmp_path / "two.kellet")


def test_a_module_of_kellet_needs_no_code(tmp_path: Path) -> None:
    packager.save(nn.Linear(2, 1), tmp_path / "linear.kellet", example=[[1.0, 2.0]])
    assert type(packager.load(tmp_path / "linear.kellet", code=False)) is nn.Linear
