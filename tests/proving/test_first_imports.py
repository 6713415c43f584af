"""Frameworks are imported before an order is there only where nothing of the archive could tell."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from packager import PackageExporter
from packager.archive import ArchiveReader
from packager.proving import early_frameworks
from packager.proving.early_frameworks import EarlyFrameworks
from packager.proving.first_imports import first_imports, first_imports_of
from packager.proving.proof import ProofOrder

pytestmark = pytest.mark.processes(share=3)

NUMPY, NN = ("numpy", ()), ("kellet", ("nn",))
HEAD = "import numpy as np\nfrom kellet import nn\n"
NET = "class Net(nn.Module):\n    def forward(self, x):\n        return x\n"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (HEAD + NET, [NUMPY, NN]),
        ('"""Nets."""\nfrom __future__ import annotations\n\nimport os, json\n' + HEAD + NET, [NUMPY, NN]),
        ("import os, numpy.linalg, kellet.nn as nn\n", [("numpy.linalg", ()), ("kellet.nn", ())]),
        ("from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import torch\n" + HEAD, [NUMPY, NN]),
        ("import numpy\nnumpy.random.seed(1)\nfrom kellet import nn\n", [NUMPY]),
        ("import numpy\nimport torch\nfrom kellet import nn\n", [NUMPY]),
        ("import os\nos.environ['OMP_NUM_THREADS'] = '1'\n" + HEAD, []),
        ("import sys\nHAS = 'numpy' in sys.modules\n" + HEAD, []),
        ("try:\n    import numpy\nexcept ImportError:\n    pass\n", []),
        ("import typing\nif typing.TYPE_CHECKING:\n    pass\n" + HEAD, []),
        ("from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    pass\nelse:\n    X = 1\n" + HEAD, []),
        ("from os import environ as TYPE_CHECKING\nif TYPE_CHECKING:\n    import torch\n" + HEAD, []),
        ("import os as TYPE_CHECKING\nif TYPE_CHECKING:\n    import torch\n" + HEAD, []),
        ("if TYPE_CHECKING:\n    import torch\n" + HEAD, []),
        (
            "from typing import TYPE_CHECKING\nfrom os import sep as TYPE_CHECKING\nif TYPE_CHECKING:\n"
            "    import torch\n" + HEAD,
            [],
        ),
        ("from kellet import *\n", []),
        ("import shop\n" + HEAD, []),
        ("from .layers import Layer\n" + HEAD, []),
        ("def net():\n    pass\n" + HEAD, []),
        ('"""A text\nclass of its own."""\n' + HEAD, []),
        ("import numpy as\n", []),
    ],
)
def test_imports_are_read_until_anything_else_might_happen(text: str, found: list[Any]) -> None:
    assert first_imports(["net"], {"net": (text, False)}.get) == found


def test_modules_of_imports_alone_are_read_on_the_way() -> None:
    texts = {
        "shop": ("from . import config\nfrom .paths import Path\n", True),
        "shop.config": ("import os\n", False),
        "shop.paths": ("from pathlib import Path\nimport numpy\n", False),
        "shop.nets": ("import kellet.nn\nfrom shop.sizes import WIDTH\n" + HEAD, False),
        "shop.sizes": ("WIDTH = 3\n", False),
    }
    assert first_imports(["shop.nets"], texts.get) == [NUMPY, ("kellet.nn", ())]
    texts["shop.config"] = ("import os\nFOLDER = os.curdir\n", False)
    assert first_imports(["shop.nets"], texts.get) == []


def test_the_first_names_of_an_archive_are_those_of_its_first_object(
    tmp_path: Path, project: Callable[..., Any]
) -> None:
    import kellet.nn

    project({"headnet.py": HEAD + NET})
    first = import_module("headnet").Net()
    cases: list[tuple[list[Any], list[Any]]] = [
        ([kellet.nn.Sequential(first)], [("kellet.nn", ()), NUMPY, NN]),
        ([first, kellet.nn.ReLU()], [NUMPY, NN]),
        ([], []),
    ]
    for number, (objects, found) in enumerate(cases):
        file = tmp_path / f"{number}.kellet"
        with PackageExporter(file, policy="auto", prove=False) as exporter:
            for at, one in enumerate(objects):
                exporter.save_object("model", f"net{at}", one)
        with ArchiveReader(file) as reader:
            assert first_imports_of(reader) == found
    with PackageExporter(tmp_path / "own.kellet", policy="auto", prove=False) as exporter:
        exporter.save_source_string("numpy", "zeros = list\n")
        exporter.save_object("model", "net", kellet.nn.ReLU())
    with ArchiveReader(tmp_path / "own.kellet") as reader:
        assert first_imports_of(reader) == []


def test_what_was_imported_early_is_compared_with_the_order(
    tmp_path: Path, project: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    project({"earlynet.py": HEAD + NET})
    net = import_module("earlynet")
    with PackageExporter(tmp_path / "net.kellet", policy="auto", prove=False) as exporter:
        exporter.save_object("model", "net", net.Net())
    monkeypatch.setattr(early_frameworks, "enter_clean_environment", lambda *entered: None)

    def early(text: str = HEAD, told: int = 9) -> EarlyFrameworks:
        file = tmp_path / "read.py"
        file.write_text(text)
        found = EarlyFrameworks(["/packages"], {"kellet": ["/src"]}, "earlynet", {"earlynet": str(file)})
        answers = iter([False] * told + [True] * 9)
        found.begin(lambda: next(answers))
        return found

    def order(**other: Any) -> ProofOrder:
        told: Any = {"path": ["/packages"], "places": {"kellet": ["/src"]}, "hidden": [], **other}
        return ProofOrder(str(tmp_path / "net.kellet"), (), **told)

    (tmp_path / "shop").mkdir()
    (tmp_path / "shop" / "__init__.py").write_text("from .nets import Net\n")
    (tmp_path / "shop" / "nets.py").write_text("from kellet import nn\nimport torch\n")
    files = {"of": None, "of.shop": str(tmp_path / "shop" / "__init__.py")}
    assert EarlyFrameworks([], {}, "of.shop.late", files)._wanted() == [NN]

    assert early().were_in_time(order())
    assert early().were_in_time(order(places={"kellet": ["/src"], "json": ["/python"], "shop": ["/shop"]}))
    assert early("import numpy\n").were_in_time(order())  # not all of it
    assert early(told=2).were_in_time(order())  # the order came in between
    assert early(told=0).were_in_time(order(path=["/other"]))  # nothing was imported
    assert not early("import kellet.nn\n").were_in_time(order())
    assert not early("import numpy\nfrom kellet import Tensor\n").were_in_time(order())
    assert not early("import numpy.absent_from_it\n").were_in_time(order())
    assert not early().were_in_time(order(path=["/packages", "/more"]))
    assert not early().were_in_time(order(places={"kellet": ["/elsewhere"]}))
    assert not early().were_in_time(order(places={"kellet": ["/src"], "numpy": ["/elsewhere"]}))
    assert not early().were_in_time(order(hidden=["numpy"]))
    assert not early().were_in_time(ProofOrder("absent.kellet", (), ("/packages",), {}, ()))


@pytest.mark.skipif(sys.platform != "linux", reason="the maps of another process are looked at")
def test_a_process_that_imported_what_it_should_not_begins_anew(
    tmp_path: Path, project: Callable[..., Any]
) -> None:
    project({"changed.py": HEAD + "HAS = True\n" + NET})
    net = import_module("changed").Net()
    exporter = PackageExporter(tmp_path / "net.kellet", policy="auto")

    def save() -> None:
        # What is stored looks for NumPy before it imports it, which the file does not.
        exporter.save_source_string("changed", f"import sys\nHAS = 'numpy' in sys.modules\n{HEAD}{NET}")
        exporter.save_object("model", "net", net)
        [child] = exporter._proof.process._children  # type: ignore[union-attr]  # it has been started
        until = time.monotonic() + 60
        while "_multiarray_umath" not in Path(f"/proc/{child.pid}/maps").read_text():
            assert time.monotonic() < until
            time.sleep(0.01)

    with pytest.warns(match="changed.HAS is True here and False there"), exporter:
        save()
    assert exporter.proof.ok
    [found] = exporter.proof.differences
    assert (found.id, found.what) == ("changed:HAS", "is True here and False there")
