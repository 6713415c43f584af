"""A proof leaves what it compiled for the loads of this machine: compiled there, cold, and by nobody else."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from packager import PackageImporter
from packager.errors import PackagingError
from tests import processes

SHOP = {
    "shop/__init__.py": "",
    "shop/layers.py": "SCALE = 3",
    "shop/never.py": "print('imported by nobody')",
    "shop/net.py": """
        from .layers import SCALE

        class Net:
            def __init__(self):
                self.scale = SCALE

            def later(self):
                from . import never
    """,
}
# Counts what is compiled of the archive, and says which file a function of it is shown to come from.
LOADS = """
import json, sys
compiled = []
sys.addaudithook(lambda event, args: compiled.append(str(args[1])) if event == "compile" else None)
from packager import PackageImporter
from packager._caches import cache_path
found = []
for bytecode in (True, None):
    compiled.clear()
    with PackageImporter(sys.argv[1], bytecode=bytecode) as importer:
        code = type(importer.load_object("model", "model")).later.__code__
        shown = code.co_filename == importer.import_module("shop.net").__file__
    below = cache_path("code")
    found.append([sorted(one.rpartition("shop")[2] for one in compiled if one.startswith(below)), shown])
print(json.dumps(found))
"""


@pytest.fixture(autouse=True)
def keeping(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("KELLET_CACHE", str(tmp_path / "cache" / "kellet"))  # not that of all tests
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)  # for the process that loads


def kept(tmp_path: Path) -> list[Path]:
    return sorted((tmp_path / "cache" / "kellet").glob("bytecode/*"))


@pytest.mark.parametrize("first", ["", "if __name__:\n            import numpy"])
def test_the_first_load_after_a_proof_compiles_nothing(export, tmp_path: Path, first: str) -> None:
    """Also where the last run missed what was hidden from it, and ended before it came to all modules."""
    export({**SHOP, "shop/net.py": f"\n        {first}{SHOP['shop/net.py']}"}, "shop.net:Net()")
    command = [sys.executable, "-c", LOADS, str(tmp_path / "net.kellet")]
    done = processes.run(command, cold=True, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.stderr == ""
    every = [f"{os.sep}__init__.py", f"{os.sep}layers.py", f"{os.sep}net.py"]
    assert json.loads(done.stdout) == [[[], True], [every, True]]  # without the cache all of it is compiled
    with PackageImporter(tmp_path / "net.kellet") as importer:
        assert "shop.never" in importer.manifest.stored_modules  # which the proof did not come to
        assert importer.compile_all() == 1


PLACED = {
    "shop/__init__.py": "",
    "shop/words.txt": "one",
    "shop/net.py": """
        import os

        with open(os.path.join(os.path.dirname(__file__), "words.txt")) as file:
            WORDS = file.read()

        if "kellet-proving" in os.getcwd():
            with open(os.path.join(os.path.dirname(__file__), "left.txt"), "w") as file:
                file.write("by the proof")

        class Net:
            words = WORDS
    """,
}


def test_what_code_of_a_proof_writes_beside_itself_is_gone_with_it(export, tmp_path: Path) -> None:
    export(PLACED, "shop.net:Net()", lambda exporter: exporter.save_text("shop", "words.txt", "one"))
    code = tmp_path / "cache" / "kellet" / "code"
    assert not code.exists()
    with PackageImporter(tmp_path / "net.kellet") as importer:
        module = importer.import_module("shop.net")
        assert module.__file__ == str(code / importer.identity / "shop" / "net.py")
        assert module.WORDS == "one"
    names = ["__init__.py", "net.py", "words.txt"]
    assert sorted(one.name for one in (code / importer.identity / "shop").iterdir()) == names


@pytest.mark.long
def test_a_proof_compiles_all_anew_whatever_the_cache_holds(export, tmp_path: Path, monkeypatch) -> None:
    export(SHOP, "shop.net:Net()")
    before = {path: path.read_bytes() for path in kept(tmp_path)}
    for path in before:
        path.write_bytes(b"what the proof must not read")
    assert export(SHOP, "shop.net:Net()").proof.ok
    after = {path: path.read_bytes() for path in kept(tmp_path)}
    assert [*after] == [*before]  # mended, with as many records of code as before
    assert [data.count(b"kel1") for data in after.values()] == [
        data.count(b"kel1") for data in before.values()
    ]
    assert not any(b"what the proof must not read" in data for data in after.values())


def test_what_does_not_come_back_leaves_nothing(export, tmp_path: Path) -> None:
    broken = {
        **SHOP,
        "shop/layers.py": "import os\nSCALE = 3\nif 'kellet-proving' in os.getcwd():\n    1 / 0\n",
    }
    with pytest.raises(PackagingError, match="division by zero"):
        export(broken, "shop.net:Net()")
    assert kept(tmp_path) == []


def test_nothing_is_left_where_python_keeps_no_bytecode(export, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    assert export(SHOP, "shop.net:Net()").proof.ok
    assert kept(tmp_path) == []


@pytest.mark.long
def test_a_cache_that_cannot_be_written_leaves_the_proof_as_it_is(
    export, tmp_path: Path, monkeypatch
) -> None:
    monkeypatch.setenv("KELLET_CACHE", "/proc/nowhere")
    assert export(SHOP, "shop.net:Net()").proof.ok
