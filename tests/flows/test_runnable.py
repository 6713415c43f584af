"""A runnable archive is started and imported by Pythons that have NumPy alone, or not even that.

Such a Python is made once: an empty environment, with a path to the NumPy of the one that tests.
"""

from __future__ import annotations

import json
import os
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from packager import PackageExporter, PackageImporter
from packager._archive import ArchiveReader, verify
from packager._cli import main
from packager._exporting import PlannedTensors, zip64_warnings
from tests import processes

TREE = {
    "shop/__init__.py": "",
    "shop/net.py": """
        # apples and pears
        from importlib.resources import files
        from kellet import nn
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.words = (files("shop") / "words.txt").read_text().split()
                self.layer = nn.Linear(2, 3)
            def forward(self, x):
                return {"tanh": self.layer(x).tanh(), "words": len(self.words)}
    """,
    "shop/words.txt": "apple pear plum\n",
}


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory, link_environment: Callable[..., Path]) -> Path:
    """A Python without anything installed."""
    return link_environment(tmp_path_factory.mktemp("bare") / "env")


@pytest.fixture(scope="module")
def only_numpy(tmp_path_factory: pytest.TempPathFactory, link_environment: Callable[..., Path]) -> Path:
    """A Python that has NumPy, and neither kellet, packager, msgpack nor importlib_metadata."""
    folder = tmp_path_factory.mktemp("only-numpy") / "env"
    python = link_environment(folder)
    (site,) = (folder / "lib").glob("python3*/site-packages")
    installed = Path(np.__file__).parent
    for name in ("numpy", "numpy.libs", f"numpy-{np.__version__}.dist-info"):
        if (installed.parent / name).exists():
            (site / name).symlink_to(installed.parent / name)
    return python


@pytest.fixture(scope="module")
def shop_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A project that can be imported here, and nowhere else."""
    folder = tmp_path_factory.mktemp("project")
    for name, text in TREE.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(textwrap.dedent(text))
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        yield folder
    for name in [name for name in sys.modules if name.partition(".")[0] == "shop"]:
        del sys.modules[name]


@pytest.fixture(scope="module")
def archive(shop_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    import shop.net  # type: ignore[import-not-found]  # the project above

    target = tmp_path_factory.mktemp("archive") / "net.kellet"
    with PackageExporter(target, policy="auto", runnable=True) as exporter:
        exporter.save_object("model", "model", shop.net.Net())
        exporter.save_example("model", {"x": inputs()})
    return target


def inputs() -> np.ndarray:
    return np.arange(6, dtype="f4").reshape(3, 2)


def start(python: Path, *arguments: object, cwd: Path) -> tuple[int, str, str]:
    """Start a Python in a folder of its own, with nothing of this process's environment that leads back."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    environment["KELLET_CACHE"] = str(cwd.parent / "cache")
    done = processes.run(
        [str(python), *map(str, arguments)],
        cwd=cwd,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


@pytest.fixture
def elsewhere(tmp_path: Path) -> Path:
    (tmp_path / "elsewhere").mkdir()
    return tmp_path / "elsewhere"


def test_the_model_answers_where_there_is_only_numpy(
    archive: Path, only_numpy: Path, elsewhere: Path
) -> None:
    np.savez(elsewhere / "x.npz", x=inputs())
    code, out, errors = start(only_numpy, archive, "--input", "x.npz", "-o", "y.npz", cwd=elsewhere)
    assert (code, errors) == (0, "")
    assert out == "output.tanh: float32 [3, 3]\noutput.words: int64 []\n"
    with PackageImporter(archive) as importer:
        expected = importer.run({"x": inputs()})
    with np.load(elsewhere / "y.npz") as answer:
        assert sorted(answer.files) == sorted(expected)
        assert all(answer[name].tobytes() == expected[name].tobytes() for name in expected)
    assert sorted(path.name for path in elsewhere.iterdir()) == ["x.npz", "y.npz"]


def test_golden_calls_give_the_same_bits_there(archive: Path, only_numpy: Path, elsewhere: Path) -> None:
    code, out, errors = start(only_numpy, archive, "--check", "--tolerance", "0", cwd=elsewhere)
    assert (code, errors) == (0, "")
    assert out == "model: output.tanh: the same bits\nmodel: output.words: the same bits\n"


def test_info_says_what_it_is_and_that_it_can_run(archive: Path, only_numpy: Path, elsewhere: Path) -> None:
    for arguments in (["--info"], []):
        code, out, errors = start(only_numpy, archive, *arguments, cwd=elsewhere)
        assert (code, errors) == (0, "")
        with ArchiveReader(archive) as reader:
            assert out.splitlines()[1] == f"identity     {reader.identity}"
        assert "entry        model: model/model" in out.splitlines()
        assert out.splitlines()[-1] == "here         the environment is as recorded"


def test_without_numpy_it_says_what_is_missing_and_what_to_do(
    archive: Path, bare: Path, elsewhere: Path
) -> None:
    for arguments in (["--check"], ["--input", "x.npz"]):
        code, out, errors = start(bare, archive, *arguments, cwd=elsewhere)
        assert (code, out) == (1, "")
        assert f"numpy: recorded {np.__version__} (numpy>=1.26), found nothing" in errors
        assert "to install it: python -m pip install 'numpy>=1.26'" in errors
    code, out, _ = start(bare, archive, "--info", cwd=elsewhere)
    assert code == 1
    assert "numpy: recorded" in out


@pytest.mark.filterwarnings("ignore::packager.errors.PackagingWarning")
@pytest.mark.long
def test_what_was_missing_where_it_was_made_is_not_demanded(only_numpy: Path, elsewhere: Path) -> None:
    target = elsewhere / "free.kellet"
    with PackageExporter(target, policy="auto", runnable=True) as exporter:
        exporter.extern("not_here_at_all.**", allow_empty=True)
        exporter.save_source_string(
            "free", "def build():\n    import not_here_at_all\ndef call(x):\n    return 2 * x\n"
        )
        exporter.save_object("model", "model", {"a": 1})
    for options in ((), ("--environment", "ignore")):  # what was absent here is not demanded there
        code, out, errors = start(only_numpy, target, "--check", *options, cwd=elsewhere)
        assert (code, errors) == (1, "")
        assert out.endswith("no example is stored. Export it again with --example\n")


def test_without_numpy_it_still_verifies_itself(archive: Path, bare: Path, elsewhere: Path) -> None:
    code, out, errors = start(bare, archive, "--verify", "--json", cwd=elsewhere)
    assert (code, errors) == (0, "")
    assert json.loads(out)["ok"] is True


@pytest.mark.parametrize("before", ["", "import packager.errors; "])
def test_a_serving_process_imports_the_loader_from_it(
    archive: Path, only_numpy: Path, elsewhere: Path, before: str
) -> None:
    script = f"""
import sys
sys.path.insert(0, {str(archive)!r})
{before}import packager
import numpy as np
with packager.PackageImporter({str(archive)!r}) as importer:
    net = importer.load_object("model", "model")
    import kellet
    print(net(kellet.ones(1, 2))["words"], type(net).__module__.partition("__w")[0])
print(packager.__file__.partition("net.kellet")[2], kellet.__file__.partition("net.kellet")[2])
print("importlib_metadata" in sys.modules, sys.modules["msgpack"].Packer.__module__)
"""
    code, out, errors = start(only_numpy, "-W", "error", "-c", script, cwd=elsewhere)
    assert (code, errors) == (0, "")
    assert out.splitlines() == [
        "3 shop",
        "/.data/runtime/packager/__init__.py /.data/runtime/kellet/__init__.py",
        "False msgpack.fallback",
    ]


def test_the_models_own_packages_do_not_leak_when_it_is_started(
    archive: Path, only_numpy: Path, elsewhere: Path
) -> None:
    script = f"""
import runpy, sys
sys.argv = ["net.kellet", "--check"]
try:
    runpy.run_path({str(archive)!r}, run_name="__main__")
except SystemExit as end:
    print(end.code)
try:
    import shop
except ImportError as error:
    print(error)
"""
    code, out, errors = start(only_numpy, "-c", script, cwd=elsewhere)
    assert (code, errors) == (0, "")
    assert out.splitlines()[-2:] == ["0", "No module named 'shop'"]


def test_an_unpacked_one_is_started_as_a_folder_and_stays_as_it_is(
    archive: Path, only_numpy: Path, elsewhere: Path
) -> None:
    assert main(["extract", str(archive), str(elsewhere / "net")]) == 0
    for arguments in (["--check"], ["--verify"]):
        code, _, errors = start(only_numpy, "net", *arguments, cwd=elsewhere)
        assert (code, errors) == (0, "")
    script = "import sys; sys.path.insert(0, 'net'); import packager; packager.PackageImporter('net').check()"
    assert start(only_numpy, "-c", script, cwd=elsewhere)[0] == 0
    assert main(["verify", str(elsewhere / "net")]) == 0


@pytest.mark.long
def test_an_object_of_main_is_stored_beside_what_starts_it(only_numpy: Path, elsewhere: Path) -> None:
    (elsewhere / "train.py").write_text(
        textwrap.dedent("""
            from kellet import nn
            from packager import PackageExporter
            class Own(nn.Module):
                def __init__(self):
                    super().__init__()
                    self.layer = nn.Linear(2, 3)
                def forward(self, x):
                    return self.layer(x)
            if __name__ == "__main__":
                with PackageExporter("own.kellet", policy="auto", runnable=True) as exporter:
                    exporter.save_object("model", "model", Own())
                    exporter.save_example("model", {"x": [[1.0, 2.0]]})
        """)
    )
    processes.run([sys.executable, "train.py"], cwd=elsewhere, check=True)
    (elsewhere / "train.py").unlink()
    code, out, errors = start(only_numpy, "own.kellet", "--check", "--tolerance", "0", cwd=elsewhere)
    assert (code, out, errors) == (0, "model: output: the same bits\n", "")


def test_the_loader_is_no_part_of_the_model(archive: Path) -> None:
    with ArchiveReader(archive) as reader:
        assert verify(reader).problems == ()
        carried = [name for name in reader.names() if name.startswith(".data/runtime/")]
        assert {reader.entry(name).kind for name in carried} == {"source", "resource"}
        stored = {record.name for record in reader.manifest.modules if record.action == "intern"}
        assert stored == {"shop", "shop.net"}


def test_it_carries_what_loading_enters_and_no_more(archive: Path, only_numpy: Path, elsewhere: Path) -> None:
    """What code in the archive would need besides is carried with it: see the next test."""
    with ArchiveReader(archive) as reader:
        carried = {name.removeprefix(".data/runtime/"): reader.entry(name).size for name in reader.names()}
    rooms = {name.split("/")[1] for name in carried if name.startswith("packager/")}
    assert not rooms & {"_drafting", "testing", "__main__.py"}
    assert {"packager/_exporting/planning.py", "packager/_environment/creating.py"}.isdisjoint(carried)
    assert (
        sum(size for name, size in carried.items() if name.startswith(("packager/", "msgpack/"))) < 2_230_000
    )
    libraries = [name for name in carried if name.startswith("packager/_libraries/")]
    assert libraries == ["packager/_libraries/__init__.py"]  # there is nothing of theirs in the archive
    script = f"""
import sys
sys.path.insert(0, {str(archive)!r})
import packager
for name in packager.__all__:
    try:
        getattr(packager, name)
    except ImportError as error:
        print(name, error)
"""
    code, out, errors = start(only_numpy, "-c", script, cwd=elsewhere)
    assert (code, errors) == (0, "")
    assert [line.partition(" ")[0] for line in out.splitlines()] == [
        "DiGraph",
        "ExportPlan",
        "PackageExporter",
        "Predictor",
        "ProofError",
        "Signer",
        "bill_of_materials",
        "compare_files",
        "save",
        "write_checkpoint",
    ]
    assert out.count("this archive carries what loading needs; for the rest, install kellet") == 10


def test_packaged_code_that_imports_packager_has_all_of_it(only_numpy: Path, elsewhere: Path) -> None:
    target = elsewhere / "tool.kellet"
    with PackageExporter(target, policy="auto", runnable=True) as exporter:
        exporter.save_source_string("tool", "from packager import PackageExporter\n")
        exporter.save_object("model", "model", {"a": 1})
    script = f"""
import sys
sys.path.insert(0, {str(target)!r})
import packager
with packager.PackageImporter({str(target)!r}) as importer:
    print(importer.import_module("tool").PackageExporter.__name__)
"""
    assert start(only_numpy, "-c", script, cwd=elsewhere) == (0, "PackageExporter\n", "")


@pytest.mark.long
def test_the_same_model_gives_the_same_bytes(archive: Path, tmp_path: Path) -> None:
    copies = [tmp_path / "one.kellet", tmp_path / "another name.kellet"]
    with PackageImporter(archive) as importer:
        net = importer.load_object("model", "model")
        for copy in copies:
            with PackageExporter(copy, importer=[importer], policy="auto", runnable=True) as exporter:
                exporter.save_object("model", "model", net)
    assert copies[0].read_bytes() == copies[1].read_bytes()


def test_old_pythons_are_told(archive: Path, bare: Path, elsewhere: Path) -> None:
    with ArchiveReader(archive) as reader:
        texts = {name: reader.read(name).decode() for name in ("__main__.py", "packager.py")}
    old = "import sys\nsys.version_info = (3, 8, 1)\nsys.argv = ['net.kellet', '--info']\n"
    code, _, errors = start(bare, "-c", old + texts["__main__.py"], cwd=elsewhere)
    expected = (
        "found Python 3.8; expected 3.11 or later; start it with a newer one, as python3.11 net.kellet --info"
    )
    assert (code, errors) == (1, f"net.kellet: {expected}\n")
    code, _, errors = start(bare, "-c", old + texts["packager.py"], cwd=elsewhere)
    assert errors.splitlines()[-1] == "ImportError: found Python 3.8; expected 3.11 or later"


def test_a_damaged_one_is_refused_by_the_loader_that_it_carries(
    archive: Path, only_numpy: Path, elsewhere: Path
) -> None:
    data = bytearray(archive.read_bytes())
    at = data.index(b"# apples and pears")
    data[at + 3] ^= 1
    (elsewhere / "bad.kellet").write_bytes(data)
    code, out, errors = start(only_numpy, "bad.kellet", "--check", cwd=elsewhere)
    assert (code, out) == (3, "")
    assert "shop/net.py" in errors
    code, out, _ = start(only_numpy, "bad.kellet", "--verify", cwd=elsewhere)
    assert code == 1
    assert out.startswith("shop/net.py: ")


def test_the_command_makes_one(shop_folder: Path, tmp_path: Path) -> None:
    target = tmp_path / "net.kellet"
    assert main(["export", "shop.net:Net", "--runnable", "-o", str(target)]) == 0
    with ArchiveReader(target) as reader:
        assert {"__main__.py", "packager.py", ".data/runtime/packager/__init__.py"} <= set(reader.names())


@pytest.mark.parametrize(
    ("parts", "what"),
    [
        ([PlannedTensors("a", (), (), (1 << 32) - 100)], "is larger than 4 GiB"),
        ([PlannedTensors("a", (), (), 1) for _ in range(32767)], "has 65535 entries or more"),
    ],
)
def test_what_old_zipimports_cannot_read_is_said(parts: list[PlannedTensors], what: str) -> None:
    (warning,) = zip64_warnings(parts)
    assert warning.startswith(f"the archive {what}, and Python 3.11 and 3.12 cannot start")
    assert "Python 3.13 or later, unpack it and start the folder" in warning
    assert list(zip64_warnings(parts[:32766] if len(parts) > 1 else [])) == []
