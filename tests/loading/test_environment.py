"""The environment on load: one report, where its warning points, and recorded lies about it."""

import re
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest

from packager._archive import ArchiveWriter, ExternRecord, Manifest, ModuleRecord, ObjectRecord
from packager._environment import Fingerprint
from packager._loading.opening import EnvironmentWarning, environment_report
from packager._objects import encode
from packager.errors import ArchiveError, EnvironmentMismatchError
from packager.package_importer import PackageImporter
from tests import processes

HERE = {name: getattr(Fingerprint.here(), name) for name in Fingerprint.__dataclass_fields__}


@pytest.fixture
def archive(tmp_path, monkeypatch) -> Callable[..., Path]:
    """An archive with a module and an object, made in another environment than this one."""
    monkeypatch.setenv("KELLET_CACHE", str(tmp_path / "cache"))

    def archive(environment=None, *externs: ExternRecord) -> Path:
        path = tmp_path / "net.kellet"
        interned = ModuleRecord("netpkg", "intern", "intern **", "test", "netpkg/__init__.py", True)
        with ArchiveWriter(path) as writer:
            writer.add("netpkg/__init__.py", b"class Layer:\n    pass\n", kind="source")
            writer.add("m/o", encode(Ellipsis).records, kind="object")
            writer.add("m/c", _object_of_class(), kind="object")
            writer.seal(
                Manifest(
                    modules=(interned,),
                    externs=externs,
                    objects=(ObjectRecord("m", "o", "m/o"), ObjectRecord("m", "c", "m/c")),
                    environment={**HERE, "python": "3.2.1"} if environment is None else environment,
                )
            )
        return path

    return archive


def _object_of_class() -> bytes:
    """The records of an instance of the packaged class."""
    import msgpack

    from packager._objects.records import Kind as K

    records = [[K.GLOBAL, "netpkg", "Layer"], [K.SHAPE, -1, None], [K.OBJ, -2]]
    return bytes(msgpack.packb([[["records", 1]], records, -3]))


ROUTES = {
    "import_module": lambda importer: importer.import_module("netpkg"),
    "load_object": lambda importer: importer.load_object("m", "c"),
    "install": lambda importer: importer.install(),
    "materialize": lambda importer: importer.materialize(),
    "id": lambda importer: importer.id(),
}


@pytest.mark.parametrize("route", ROUTES.values(), ids=ROUTES)
def test_the_warning_points_at_the_line_that_asked(archive, route):
    with PackageImporter(archive()) as importer:
        with pytest.warns(EnvironmentWarning, match=r"recorded cpython 3\.2") as caught:
            route(importer)
        (warning,) = caught
        assert (warning.filename, warning.lineno) == (__file__, route.__code__.co_firstlineno)


def test_one_report_for_all_that_differs(archive):
    externs = (
        ExternRecord("numpy", "installed", "numpy", "999.0", "numpy>=999,<1000"),
        ExternRecord("nolib", "installed", "no-lib", "1.2.0", "no-lib>=1.2,<2"),
        ExternRecord("orphan", "unknown"),
    )
    path = archive({**HERE, "python": "3.2.1", "platform": "plan9-vax"}, *externs)
    with PackageImporter(path) as importer, pytest.raises(EnvironmentMismatchError) as caught:
        importer.import_module("netpkg")
    lines = str(caught.value).splitlines()
    assert [line.strip().partition(":")[0] for line in lines[1:-2]] == [
        "no-lib",
        "numpy",
        "orphan",
        "Python",
        "platform",
    ]
    assert lines[-2] == "to install it: python -m pip install 'no-lib>=1.2,<2' 'numpy>=999,<1000'"
    assert lines[-1] == 'or load with environment="ignore" to try anyway'


@pytest.mark.parametrize("route", ROUTES.values(), ids=ROUTES)
def test_what_is_missing_is_told_once_whatever_was_asked_for(archive, route):
    path = archive(HERE, ExternRecord("nolib", "installed", "no-lib", "1.2.0", "no-lib>=1.2,<2"))
    told = (
        f"{path}: the environment is not as recorded:\n    no-lib: recorded 1.2.0 (no-lib>=1.2,<2), found "
        "nothing\nto install it: python -m pip install 'no-lib>=1.2,<2'\nor load with "
        'environment="ignore" to try anyway'
    )
    with PackageImporter(path) as importer, pytest.raises(EnvironmentMismatchError) as caught:
        route(importer)
    assert str(caught.value) == told


def test_silence_is_silent(archive):
    with warnings.catch_warnings(), PackageImporter(archive(), environment="ignore") as importer:
        warnings.simplefilter("error")
        assert importer.import_module("netpkg").Layer.__name__ == "Layer"


@pytest.mark.parametrize(
    ("environment", "message"),
    [
        ({}, "python, implementation, platform, byteorder missing, or no text"),
        ({**HERE, "python": 3}, "python missing, or no text"),
        ({**HERE, "platform": None}, "platform missing, or no text"),
    ],
)
def test_an_environment_that_says_nothing_is_an_archive_error(archive, environment, message):
    with PackageImporter(archive(environment)) as importer:
        for ask in (lambda: importer.import_module("netpkg"), importer.python_version):
            with pytest.raises(ArchiveError, match=message):
                ask()
    with pytest.raises(ArchiveError, match=message):
        PackageImporter(archive(environment), environment="error")
    with PackageImporter(archive(environment), environment="ignore") as importer:
        importer.import_module("netpkg")


REQUIREMENTS = [
    "",
    "--index-url=https://evil.example numpy",
    "-r /etc/passwd",
    "numpy; echo",
    "numpy @ https://evil.example/numpy.whl",
    "numpy>=1\n--pre",
    "numpy>=" + "9" * 5000,
    "git+https://evil.example/numpy",
]


@pytest.mark.parametrize("requirement", REQUIREMENTS, ids=lambda text: text[:12])
@pytest.mark.parametrize("name", ["numpy", "nolib"])
def test_a_requirement_that_is_none_never_becomes_a_command(archive, name, requirement):
    path = archive(HERE, ExternRecord(name, "installed", name, "1.0", requirement))
    with PackageImporter(path) as importer:
        with pytest.raises(ArchiveError, match=re.escape(f"manifest, extern '{name}': found")) as caught:
            importer.import_module("netpkg")
        assert "pip install" not in str(caught.value)
        assert "netpkg" not in {module.partition("__")[0] for module in sys.modules}


def test_the_report_can_be_had_without_loading_anything(archive):
    with PackageImporter(archive()) as importer:
        report = environment_report(importer.manifest)
    assert [(one.kind, one.recorded) for one in report.differences] == [("python", "cpython 3.2")]


LOAD = """
import sys
import numpy
before = set(sys.modules)
from packager import PackageImporter
with PackageImporter(sys.argv[1], environment="error") as importer:
    assert importer.import_module("net").twice(2) == 4
print(sorted({"packaging", "importlib_metadata", "importlib.metadata"} & (set(sys.modules) - before)))
"""
EXPORT = """
import sys
from packager import PackageExporter
with PackageExporter(sys.argv[1], policy="auto", prove=False) as exporter:
    exporter.save_source_string("net", "import numpy\\ndef twice(x):\\n    return int(2 * numpy.int64(x))\\n")
print(sorted({"packaging"} & set(sys.modules)))
"""


def test_a_plain_export_needs_no_packaging_and_a_load_reads_versions_by_itself(tmp_path: Path) -> None:
    for program in (EXPORT, LOAD):
        command = [sys.executable, "-c", program, str(tmp_path / "net.kellet")]
        done = processes.run(command, cold=True, capture_output=True, text=True)
        assert (done.stdout, done.returncode) == ("[]\n", 0), done.stderr
