"""What was loaded from one archive can be packed into another, code and objects alike."""

from __future__ import annotations

import dataclasses
import io
import shutil
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from kellet import nn
from packager import PackageExporter, PackageImporter, PackagingError, sys_importer
from packager._archive import ArchiveReader

Project = Callable[[Mapping[str, str]], Path]

SHOP = {
    "shop/__init__.py": "",
    "shop/net.py": "from .layers import Layer\nimport json\nclass Net:\n"
    "    def __init__(self):\n        self.layer = Layer()\n",
    "shop/layers.py": "class Layer:\n    pass\n",
}


@pytest.fixture
def first(project: Project) -> io.BytesIO:
    project(SHOP)
    import shop.net  # type: ignore[import-not-found]  # written above

    buffer = io.BytesIO()
    with PackageExporter(buffer, policy="auto", prove=False) as exporter:
        exporter.save_object("model", "model", shop.net.Net())
    return buffer


def test_an_object_is_packed_again_bit_for_bit(first: io.BytesIO) -> None:
    with PackageImporter(first) as importer:
        again = io.BytesIO()
        with PackageExporter(
            again, importer=(importer, sys_importer), policy="auto", prove=False
        ) as exporter:
            exporter.save_object("model", "model", importer.load_object("model", "model"))
        assert again.getvalue() == first.getvalue()


def test_an_installed_package_is_packed_again_bit_for_bit_with_its_version(project: Project) -> None:
    metadata = "Metadata-Version: 2.1\nName: shop\nVersion: 1.5\n"
    project(SHOP | {"shop-1.5.dist-info/METADATA": metadata, "shop-1.5.dist-info/top_level.txt": "shop\n"})
    import shop.net

    first, again = io.BytesIO(), io.BytesIO()
    with PackageExporter(first, policy="auto", prove=False) as exporter:
        exporter.intern("shop.**")
        exporter.save_object("model", "model", shop.net.Net())
    with (
        PackageImporter(first) as importer,
        PackageExporter(again, importer=(importer, sys_importer), policy="auto", prove=False) as exporter,
    ):
        exporter.save_object("model", "model", importer.load_object("model", "model"))
    with ArchiveReader(again) as reader:
        assert reader.read("shop-1.5.dist-info/METADATA").decode() == metadata
    # The rule that interned it was a rule of the first export; everything else is the same.
    assert _without_rules(again) == _without_rules(first)


def test_what_a_library_imports_in_a_method_is_packed_again(project: Project) -> None:
    folder = project(
        {
            "mill/__init__.py": "from . import hub\n",
            "mill/net.py": "from .bases import Base\nclass Net(Base):\n    pass\n",
            "mill/bases.py": "class Base:\n    def fetch(self):\n        from .hub import fetch\n",
            "mill/hub.py": "def fetch(): pass\n",
            "mill-1.5.dist-info/METADATA": "Metadata-Version: 2.1\nName: mill\nVersion: 1.5\n",
            "mill-1.5.dist-info/top_level.txt": "mill\n",
        }
    )
    import mill.net  # type: ignore[import-not-found,unused-ignore]  # written above

    def pack(importer: Any, model: object) -> io.BytesIO:
        file = io.BytesIO()
        with PackageExporter(file, importer=importer, policy="auto", prove=False) as exporter:
            exporter.intern("mill.**")
            exporter.save_object("model", "model", model)
        return file

    first = pack(sys_importer, mill.net.Net())
    for name in [name for name in sys.modules if name.partition(".")[0] == "mill"]:
        del sys.modules[name]
    shutil.rmtree(folder / "mill")
    shutil.rmtree(folder / "mill-1.5.dist-info")
    with PackageImporter(first) as importer:
        again = pack((importer, sys_importer), importer.load_object("model", "model"))
    assert again.getvalue() == first.getvalue()


def test_a_project_is_packed_again_as_one_whatever_else_is_asked_for(project: Project) -> None:
    folder = project(
        {
            "loom/__init__.py": "",
            "loom/net.py": "from .bases import Base\nclass Net(Base):\n    pass\n",
            "loom/extra.py": "",
            "loom/bases.py": "class Base:\n    def fetch(self):\n"
            "        from .hub import fetch\n        return 7\n",
            "loom/hub.py": "def fetch(): pass\n",
        }
    )
    import loom.net  # type: ignore[import-not-found]  # written above

    first = io.BytesIO()
    with PackageExporter(first, policy="auto", prove=False) as exporter:
        exporter.save_module("loom.extra")
        exporter.save_object("model", "model", loom.net.Net())
        assert "loom.hub" in exporter.interned_modules()
    for name in [name for name in sys.modules if name.partition(".")[0] == "loom"]:
        del sys.modules[name]
    shutil.rmtree(folder / "loom")
    again = io.BytesIO()
    with PackageImporter(first) as importer:
        model = importer.load_object("model", "model")
        with PackageExporter(
            again, importer=[importer, sys_importer], policy="auto", prove=False
        ) as exporter:
            exporter.save_source_string("loom.other", "from . import extra, bases\n")
            exporter.save_object("model", "model", model)
            assert "loom.hub" in exporter.interned_modules()
    with PackageImporter(again) as importer:
        assert importer.load_object("model", "model").fetch() == 7


def _without_rules(file: io.BytesIO) -> tuple[Any, ...]:
    with ArchiveReader(file) as reader:
        manifest = reader.manifest
        modules = [dataclasses.replace(module, rule="", because="") for module in manifest.modules]
        return manifest.entries, modules, manifest.externs, manifest.objects


def test_a_module_of_an_archive_is_saved_by_its_true_or_its_mangled_name(first: io.BytesIO) -> None:
    with PackageImporter(first) as importer:
        mangled = type(importer.load_object("model", "model")).__module__
        exporter = PackageExporter(io.BytesIO(), importer=(importer, sys_importer), prove=False)
        exporter.intern("shop.**")
        exporter.save_module(mangled)
        assert exporter.interned_modules() == ["shop", "shop.layers", "shop.net"]


def test_source_comes_from_the_archive_and_not_from_disk(first: io.BytesIO, project: Project) -> None:
    project({"shop/layers.py": "raise RuntimeError('changed')\n"})
    again = io.BytesIO()
    with PackageImporter(first) as importer:
        with PackageExporter(
            again, importer=(importer, sys_importer), policy="auto", prove=False
        ) as exporter:
            exporter.save_module("shop.layers")
        with ArchiveReader(again) as reader:
            assert reader.read("shop/layers.py") == SHOP["shop/layers.py"].encode()


def test_an_object_of_another_importer_is_refused_with_both_named(first: io.BytesIO) -> None:
    with PackageImporter(first) as one, PackageImporter(first) as other:
        exporter = PackageExporter(io.BytesIO(), importer=(one, sys_importer), policy="auto", prove=False)
        exporter.save_object("model", "model", other.load_object("model", "model"))
        with pytest.raises(PackagingError, match="Object cannot be stored"):
            exporter.close()


def test_a_mock_stays_a_mock_when_its_archive_is_packed_again(project: Project) -> None:
    project({"app.py": "import plots\n", "plots.py": ""})
    first, again = io.BytesIO(), io.BytesIO()
    with PackageExporter(first, policy="auto", prove=False) as exporter:
        exporter.mock("plots")
        exporter.save_module("app")
    with PackageImporter(first) as importer:
        with PackageExporter(again, importer=importer, prove=False) as exporter:
            exporter.intern("**")
            exporter.save_module("app")
        assert exporter.mocked_modules() == ["plots"]
        assert exporter.why("plots").decision.because == "it is a mock in the archive that it comes from"


def test_modules_come_from_any_importer_by_their_loaders() -> None:
    class Loader:
        def get_source(self, name: str) -> str:
            return "import made.by.hand\n" if name == "made" else ""

    from types import ModuleType

    from packager import Importer

    class ByHand(Importer):
        def import_module(self, module_name: str) -> Any:
            if not module_name.startswith("made"):
                raise ModuleNotFoundError(module_name)
            module = ModuleType(module_name)
            module.__loader__ = Loader()
            if module_name != "made.by.hand":
                module.__path__ = []
            return module

    buffer = io.BytesIO()
    with PackageExporter(buffer, importer=ByHand(), prove=False) as exporter:
        exporter.intern("made.**")
        exporter.save_module("made")
    assert exporter.interned_modules() == ["made", "made.by", "made.by.hand"]
    with ArchiveReader(buffer) as reader:
        assert reader.read("made/__init__.py") == b"import made.by.hand\n"


def test_files_of_no_package_come_along_again(project: Project, tmp_path: Path) -> None:
    folder = project(
        {
            "lamp.py": (
                "from pathlib import Path\n"
                "def read(): return (Path(__file__).parent / 'conf' / 'eu.txt').read_text()\n"
            ),
            "conf/eu.txt": "dim",
        }
    )
    import lamp  # type: ignore[import-not-found]  # written above

    first, second = tmp_path / "first.kellet", tmp_path / "second.kellet"
    with PackageExporter(first, policy="auto") as exporter:
        exporter.save_object("model", "model", lamp.read)
        exporter.save_example("model", {})
    del sys.modules["lamp"]
    shutil.rmtree(folder)
    with PackageImporter(first) as importer:
        read = importer.load_object("model", "model")
        assert read() == "dim"
        with PackageExporter(
            second, policy="auto", importer=[importer, sys_importer], prove=False
        ) as exporter:
            exporter.save_object("model", "model", read)
            exporter.save_example("model", {})
    assert second.read_bytes() == first.read_bytes()


@pytest.mark.parametrize("installed", [False, True])
def test_a_class_whose_version_was_set_from_outside_comes_back_with_it(
    project: Project, installed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = project(
        {"wide.py": "from kellet import nn\nclass Wide(nn.Module):\n    pass\nclass Wider(Wide):\n    pass\n"}
    )
    import wide  # type: ignore[import-not-found]  # written above

    wide.Wide._version = 3
    buffer, again = io.BytesIO(), io.BytesIO()
    with PackageExporter(buffer, policy="auto", prove=False) as exporter:
        exporter.save_object("model", "model", nn.Sequential(wide.Wider(), wide.Wide()))
    del sys.modules["wide"]
    monkeypatch.setattr(sys, "path", [place for place in sys.path if place != str(folder)])
    with PackageImporter(buffer) as importer:
        if installed:
            importer.install()
        made = importer.load_object("model", "model")
        assert [type(module)._version for module in made] == [3, 3]
        with PackageExporter(
            again, importer=(importer, sys_importer), policy="auto", prove=False
        ) as exporter:
            exporter.save_object("model", "model", made)
    assert again.getvalue() == buffer.getvalue()


def test_plug_ins_that_code_lists_are_found_in_the_archive_that_it_comes_from(project: Project) -> None:
    folder = project(
        {
            "kiosk/__init__.py": "",
            "kiosk/net.py": (
                "import pkgutil\nfrom importlib import import_module as load\nimport kiosk.kinds as kinds\n"
                "class Net:\n"
                "    def __call__(self, x):\n"
                "        names = [name for _, name, _ in pkgutil.iter_modules(kinds.__path__)]\n"
                "        return x * sum(load(f'kiosk.kinds.{name}').SIZE for name in sorted(names))\n"
            ),
            "kiosk/kinds/__init__.py": "",
            "kiosk/kinds/small.py": "SIZE = 2\n",
            "kiosk/kinds/large.py": "SIZE = 40\n",
        }
    )
    from kiosk.net import Net  # type: ignore[import-not-found]  # written above

    first, again = io.BytesIO(), io.BytesIO()
    with PackageExporter(first, policy="auto") as exporter:
        exporter.save_object("model", "model", Net())
        exporter.save_example("model", {"x": 1})
    for name in [name for name in sys.modules if name.partition(".")[0] == "kiosk"]:
        del sys.modules[name]
    shutil.rmtree(folder)
    with PackageImporter(first) as importer:
        with PackageExporter(again, importer=(importer, sys_importer), policy="auto") as exporter:
            exporter.save_object("model", "model", importer.load_object("model", "model"))
            exporter.save_example("model", {"x": 1})
        assert "kiosk.kinds.large" in exporter.interned_modules()
    with PackageImporter(again) as importer:
        assert importer.load_object("model", "model")(2) == 84
