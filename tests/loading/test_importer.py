"""PackageImporter over real archives: opening, policy, names, resources, closing, other processes."""

import gc
import io
import os
import re
import sys
import textwrap
import weakref
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from packager._archive import ArchiveClosedError, ArchiveWriter, ExternRecord, Manifest, ModuleRecord
from packager._environment import Fingerprint
from packager._loading.open_archives import NameTakenError
from packager._loading.opening import EnvironmentWarning
from packager._loading.packaged_code import DisallowedModuleError
from packager.errors import (
    ArchiveError,
    EnvironmentMismatchError,
    ModuleNotStoredError,
    PackageError,
    UndeclaredImportError,
)
from packager.package_exporter import PackageExporter
from packager.package_importer import PackageImporter
from tests import processes

TREE = {
    "netpkg/__init__.py": "from .layers import Layer\n",
    "netpkg/layers.py": "class Layer:\n    size = 3\ndef double(x):\n    return 2 * x\n",
    "netpkg/data/words.txt": "alpha\n",
}


@pytest.fixture
def archive(tmp_path, monkeypatch) -> Callable[..., Path]:
    """Write an archive of a tree of text."""
    monkeypatch.setenv("KELLET_CACHE", str(tmp_path / "cache"))

    def archive(
        tree: Mapping[str, str] = TREE,
        *,
        name: str = "net.kellet",
        externs: tuple[ExternRecord, ...] = (),
        **environment: str,
    ) -> Path:
        here = Fingerprint.here()
        recorded = {field: getattr(here, field) for field in Fingerprint.__dataclass_fields__}
        modules = []
        with ArchiveWriter(tmp_path / name) as writer:
            for path, text in sorted(tree.items()):
                is_source = path.endswith(".py")
                writer.add(path, text.encode(), kind="source" if is_source else "resource")
                if is_source:
                    module = path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
                    is_package = path.endswith("__init__.py")
                    modules.append(ModuleRecord(module, "intern", "intern **", "test", path, is_package))
            manifest = Manifest(
                modules=tuple(modules), externs=externs, environment={**recorded, **environment}
            )
            writer.seal(manifest)
        return tmp_path / name

    return archive


def test_modules_come_under_names_of_their_own_and_leave_with_close(archive):
    with PackageImporter(archive()) as importer:
        module = importer.import_module("netpkg.layers")
        assert module.__name__ == f"netpkg{importer.id()}.layers"
        assert importer.import_module("netpkg").Layer is module.Layer
        assert sorted(importer.modules) == ["netpkg", "netpkg.layers"]
        gone = weakref.ref(module)
        del module
    gc.collect()
    assert gone() is None


@pytest.mark.parametrize("form", ["path", "string", "bytes", "stream", "folder"])
def test_every_form_of_an_archive_opens(archive, tmp_path, form):
    path = archive()
    source = {
        "path": path,
        "string": str(path),
        "bytes": path.read_bytes(),
        "stream": io.BytesIO(path.read_bytes()),
        "folder": tmp_path / "unzipped",
    }[form]
    zipfile.ZipFile(path).extractall(tmp_path / "unzipped")
    with PackageImporter(source) as importer:
        assert importer.import_module("netpkg.layers").double(4) == 8
        assert importer.load_text("netpkg.data", "words.txt") == "alpha\n"
        assert importer.load_binary("netpkg", "data/words.txt") == b"alpha\n"


def test_a_closed_importer_says_that_it_is_closed(archive):
    importer = PackageImporter(archive())
    importer.close()
    importer.close()
    with pytest.raises(PackageError, match=r"net\.kellet is closed; open it again"):
        importer.import_module("netpkg")


def test_whatever_a_closed_importer_is_asked_for_it_names_the_archive(archive, tmp_path):
    path = archive()
    with open(path, "rb") as file:
        for source, name in ((path, str(path)), (file, str(path)), (path.read_bytes(), "the archive")):
            importer = PackageImporter(source)
            importer.close()
            asked = [
                lambda i=importer: i.load_text("netpkg.data", "words.txt"),
                lambda i=importer: i.load_binary("netpkg.data", "words.txt"),
            ]
            for ask in asked:
                with pytest.raises(
                    ArchiveClosedError, match=f"^{re.escape(name)} is closed; open it again to"
                ):
                    ask()


def test_an_unknown_resource_is_named(archive):
    with (
        PackageImporter(archive()) as importer,
        pytest.raises(FileNotFoundError, match=r"no resource 'none\.txt' in package 'netpkg'"),
    ):
        importer.load_text("netpkg", "none.txt")


def test_a_module_outside_is_not_reached_unless_it_was_declared(archive):
    with PackageImporter(archive()) as importer:
        with pytest.raises(ModuleNotFoundError, match=r"no module 'numpy' is in \S+net\.kellet, which has"):
            importer.import_module("numpy")
        assert importer.import_module("json").__name__ == "json"


def test_module_allowed_refuses_all_externs_together(archive):
    externs = (ExternRecord("numpy", "installed", "numpy"), ExternRecord("torch", "installed", "torch"))
    with pytest.raises(DisallowedModuleError, match=r"external modules 'numpy', 'torch'"):
        PackageImporter(archive(externs=externs), module_allowed=lambda name: False)


@pytest.mark.filterwarnings("ignore::packager.errors.PackagingWarning")
def test_module_allowed_is_asked_about_externs_that_were_not_there_either(project, monkeypatch):
    folder = project({"late.py": "def build():\n    import torch\n"})
    monkeypatch.setattr(sys, "path", [str(folder)])
    buffer = io.BytesIO()
    with PackageExporter(buffer, policy="auto", prove=False) as exporter:
        exporter.save_module("late")
    assert exporter.plan().externs == ()
    with pytest.raises(
        DisallowedModuleError, match="the external module 'torch', but module_allowed refuses"
    ):
        PackageImporter(buffer, module_allowed=lambda name: name != "torch")
    PackageImporter(buffer, module_allowed=lambda name: name == "torch").close()


def test_a_missing_extern_is_told_with_the_command_that_installs_it(archive):
    missing = ExternRecord("nosuchlib", "installed", "nosuchlib", "1.2.0", "nosuchlib>=1.2,<2")
    path = archive(externs=(missing,))
    with (
        PackageImporter(path) as importer,
        pytest.raises(EnvironmentMismatchError, match=r"pip install 'nosuchlib>=1\.2,<2'"),
    ):
        importer.import_module("netpkg")
    with PackageImporter(path, environment="ignore") as importer:
        assert importer.import_module("netpkg").Layer.size == 3


def test_another_python_is_a_warning_or_an_error_as_the_caller_chooses(archive):
    path = archive(python="3.2.1")
    with (
        PackageImporter(path) as importer,
        pytest.warns(EnvironmentWarning, match=r"Python: recorded cpython 3\.2, found cpython 3\."),
    ):
        importer.import_module("netpkg")
    with pytest.raises(EnvironmentMismatchError, match=r"recorded cpython 3\.2"):
        PackageImporter(path, environment="error")
    with PackageImporter(path, environment="ignore") as importer:
        importer.import_module("netpkg")


def test_installed_packages_have_their_true_names(archive):
    with PackageImporter(archive()).install() as importer:
        module = importer.import_module("netpkg.layers")
        assert module is sys.modules["netpkg.layers"]
        assert importer.id() == ""
    assert "netpkg" not in sys.modules


def test_install_is_refused_where_a_name_is_taken(archive, monkeypatch):
    importer = PackageImporter(archive({"json/__init__.py": "", "netpkg/__init__.py": ""}))
    with pytest.raises(NameTakenError, match="json can be imported here already"):
        importer.install()
    importer.close()


def test_install_after_an_import_is_refused(archive):
    with PackageImporter(archive()) as importer:
        importer.import_module("netpkg")
        with pytest.raises(PackageError, match=r"install\(\) comes too late"):
            importer.install()


def test_file_structure_prints_and_filters(archive):
    with PackageImporter(archive()) as importer:
        tree = importer.file_structure(include="netpkg/**")
        assert tree.has_file("netpkg/data/words.txt")
        assert not tree.has_file("netpkg/none.py")
        assert str(tree).splitlines()[1:] == [
            "    └── netpkg",
            "        ├── __init__.py",
            "        ├── layers.py",
            "        └── data",
            "            └── words.txt",
        ]


def test_materialize_writes_the_tree_and_nothing_else(archive):
    with PackageImporter(archive()) as importer:
        folder = Path(importer.materialize())
        files = sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())
        assert files == sorted(TREE)


def test_an_unknown_choice_is_refused(archive):
    with pytest.raises(ValueError, match=r"environment='maybe': expected one of 'warn', 'error', 'ignore'"):
        PackageImporter(archive(), environment="maybe")


def test_not_an_archive_is_an_archive_error(tmp_path):
    (tmp_path / "x.kellet").write_bytes(b"not a zip")
    with pytest.raises(ArchiveError):
        PackageImporter(tmp_path / "x.kellet")


def run(*args: object, **environment: str) -> str:
    """Run a script as a file of its own in a fresh process."""
    done = processes.run(
        [sys.executable, "-W", "error", *map(str, args)],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, **environment},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_spawned_workers_find_the_archive_again(archive, tmp_path):
    script = tmp_path / "parent.py"
    script.write_text(
        textwrap.dedent("""
            import multiprocessing, sys
            from packager.package_importer import PackageImporter

            if __name__ == "__main__":
                importer = PackageImporter(sys.argv[1])
                layers = importer.import_module("netpkg.layers")
                with multiprocessing.get_context("spawn").Pool(2) as pool:
                    print(pool.map_async(layers.double, [1, 2, 3]).get(timeout=40))
                    print(pool.apply_async(getattr, (layers.Layer(), "size")).get(timeout=40))
        """)
    )
    assert run(script, archive()) == "[2, 4, 6]\n3\n"


def test_a_worker_that_never_imported_packager_unpickles_packaged_objects(archive, tmp_path):
    script = tmp_path / "parent.py"
    script.write_text(
        textwrap.dedent("""
            import pickle, subprocess, sys
            from packager.package_importer import PackageImporter

            importer = PackageImporter(sys.argv[1])
            layer = pickle.dumps(importer.import_module("netpkg.layers").Layer()).hex()
            child = "import pickle, sys; sys.path[:] = eval(sys.argv[1]);" \\
                    "x = pickle.loads(bytes.fromhex(sys.argv[2])); print(type(x).__name__, x.size)"
            def ask():
                args = [sys.executable, "-c", child, repr(sys.path), layer]
                return subprocess.run(args, capture_output=True, text=True)
            print(ask().stdout, end="")
            importer.close()
            print("closed", ask().stderr.strip().splitlines()[-1].partition(":")[0])
        """)
    )
    assert run(script, archive()) == "Layer 3\nclosed ModuleNotFoundError\n"


def test_a_pipe_loads_and_workers_do_not_wait_for_its_bytes(archive, tmp_path):
    script = tmp_path / "parent.py"
    script.write_text(
        textwrap.dedent("""
            import os, pickle, subprocess, sys, threading
            from pathlib import Path
            from packager.package_importer import PackageImporter

            data, pipe = Path(sys.argv[1]).read_bytes(), Path(sys.argv[1] + ".pipe")
            os.mkfifo(pipe)
            threading.Thread(target=pipe.write_bytes, args=[data]).start()
            with PackageImporter(pipe) as importer:
                layer = importer.import_module("netpkg.layers").Layer()
                print(layer.size)
                child = "import pickle, sys; sys.path[:] = eval(sys.argv[1]);" \\
                        "import packager; pickle.loads(bytes.fromhex(sys.argv[2]))"
                args = [sys.executable, "-c", child, repr(sys.path), pickle.dumps(layer).hex()]
                done = subprocess.run(args, capture_output=True, text=True, timeout=30)
                print(done.stderr.strip().splitlines()[-1].rpartition("errors.")[2])
        """)
    )
    assert run(script, archive()) == (
        "3\nArchiveMovedError: the archive was opened from memory or a pipe, so no other process can open "
        "it. Write it to a file, and open that\n"
    )


def test_an_archive_replaced_meanwhile_is_not_adopted(archive, tmp_path):
    script = tmp_path / "parent.py"
    script.write_text(
        textwrap.dedent("""
            import os, pickle, subprocess, sys
            from packager.package_importer import PackageImporter

            importer = PackageImporter(sys.argv[1])
            layer = importer.import_module("netpkg.layers").Layer()
            os.replace(sys.argv[2], sys.argv[1])
            child = "import pickle, sys; sys.path[:] = eval(sys.argv[1]);" \\
                    "x = pickle.loads(bytes.fromhex(sys.argv[2]))"
            args = [sys.executable, "-c", child, repr(sys.path), pickle.dumps(layer).hex()]
            print(subprocess.run(args, capture_output=True, text=True).stderr.strip().splitlines()[-1])
        """)
    )
    other = archive({"netpkg/__init__.py": "", "netpkg/layers.py": "changed = 1\n"}, name="other.kellet")
    assert "the archive was replaced since it was opened" in run(script, archive(), other)


@pytest.mark.parametrize(
    ("name", "told"),
    [
        (
            "netpkg.layer",
            (
                r"^No module named 'netpkg\.layer' in \S+/net\.kellet; below 'netpkg' there are netpkg\..*; "
                r"did you mean netpkg\.layers\? If the project has it, export again with save_module"
            ),
        ),
        ("netpkg.gone.far", r"^No module named 'netpkg\.gone' in "),
        (
            "netpkg.layers.none",
            r"^No module named 'netpkg\.layers\.none' in \S+; 'netpkg\.layers' is not a pac",
        ),
    ],
)
def test_a_module_that_is_missing_is_named_with_the_archive_and_what_is_near(archive, name, told):
    with PackageImporter(archive()) as importer, pytest.raises(ModuleNotStoredError, match=told) as caught:
        importer.import_module(name)
    assert isinstance(caught.value, ModuleNotFoundError)
    assert caught.value.name == ("netpkg.gone" if "gone" in name else name)


def test_a_name_that_is_nearly_a_stored_one_is_told_as_such(archive):
    with (
        PackageImporter(archive()) as importer,
        pytest.raises(
            UndeclaredImportError, match=r"was made; did you mean netpkg\? Export again with intern"
        ),
    ):
        importer.import_module("netpgk")


def test_a_module_from_outside_that_fails_is_not_said_to_be_missing(archive, project):
    project({"failingext.py": "from failingext import nothing\n"})
    path = archive(externs=(ExternRecord("failingext", "installed"),))
    told = r"^cannot import name 'nothing' from .* 'failingext'"
    with PackageImporter(path) as importer, pytest.raises(ImportError, match=told) as caught:
        importer.import_module("failingext")
    assert not isinstance(caught.value, ModuleNotFoundError)


@pytest.mark.filterwarnings("ignore::packager.errors.PackagingWarning")  # which tells of it, too
def test_a_package_of_the_archive_that_asks_for_what_is_not_stored_is_to_blame_itself(project, tmp_path):
    project({"blamepkg/__init__.py": "def ask():\n    import blamepkg.gone\n"})
    with PackageExporter(tmp_path / "blame.kellet", policy="auto", prove=False) as exporter:
        exporter.save_module("blamepkg")
    with PackageImporter(tmp_path / "blame.kellet") as importer:
        with pytest.raises(ModuleNotFoundError, match=r"^No module named 'blamepkg\.gone'$") as caught:
            importer.import_module("blamepkg").ask()
        assert not isinstance(caught.value, ModuleNotStoredError)


def test_what_packaged_code_does_not_find_is_named_as_it_was_stored(project, tmp_path):
    project({"askingpkg/__init__.py": "", "askingpkg/a.py": "from .b import nothing\n", "askingpkg/b.py": ""})
    with PackageExporter(tmp_path / "asking.kellet", policy="auto", prove=False) as exporter:
        exporter.save_module("askingpkg.a")
    told = r"^cannot import name 'nothing' from 'askingpkg\.b' "
    with PackageImporter(tmp_path / "asking.kellet") as importer, pytest.raises(ImportError, match=told):
        importer.import_module("askingpkg.a")
