"""What holds for every test: one thread for arithmetic, forked processes, what runs, and what was skipped."""

from __future__ import annotations

import gc
import itertools
import json
import os
import shutil
import signal
import sys
import tempfile
import venv
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping
from importlib import invalidate_caches
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType

import pytest

# Before NumPy is imported. Tests run side by side already, and small arrays gain nothing from more.
for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

# Tests write a module anew within a second, often as long as before: what was compiled would pass for it.
# What is collected keeps its compiled form, whatever the caller's environment says: every run and each of its
# workers reads the same hundreds of files.
sys.dont_write_bytecode = False
os.environ["PYTHONDONTWRITEBYTECODE"] = "1"

# A shell that starts a program behind it has it ignore interrupts, and so would all that tests start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# In the view of Windows folders have no locks, so that one worker would take another's for left ones.
if os.environ.get("KELLET_VIEW") == "windows" and (_worker := os.environ.get("PYTEST_XDIST_WORKER")):
    os.environ["TMPDIR"] = tempfile.mkdtemp(prefix=f"{_worker}-")
    tempfile.tempdir = None

# Pytest rewrites this library as it does tests.
from hypothesis import settings  # noqa: E402  # after it is said that compiled forms are kept

# It notes the variables that are set here: its servers begin with them.
from tests import processes  # noqa: E402  # after they are set

# Timings on shared machines say nothing about the code, so no example has a deadline. Where a
# change is judged, the same examples are drawn every time.
settings.register_profile("kellet", deadline=None, derandomize=bool(os.environ.get("CI")))
settings.load_profile("kellet")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--needs",
        metavar="NAMES",
        help="of folders run the files alone that ask for one of these modules, such as torch,pandas; "
        "fail if one is missing",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Refuse a run whose tests would be skipped for want of what it is about."""
    if missing := [name for name in _needed(config) if find_spec(name) is None]:
        raise pytest.UsageError(
            f"--needs: not installed here: {', '.join(missing)}; install them, or leave them out"
        )


def _needed(config: pytest.Config) -> list[str]:
    names = config.getoption("--needs")
    return names.split(",") if names else []


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave a file alone that holds nothing of what a run is about: it takes longer to import than to read.

    A file that is named on the command line is not asked about.
    """
    if not collection_path.match("test_*.py"):
        return None
    if needed := _needed(config):
        asked = [f'pytest.importorskip("{name}"' for name in needed]
    elif config.option.markexpr == "long":
        asked = ["mark.long", "mark.processes"]
    else:
        return None
    text = collection_path.read_text(encoding="utf-8")
    return None if any(one in text for one in asked) else True


def _share_variants(items: list[pytest.Item]) -> None:
    """Mark as long what a run of `make test` leaves to `make test-long`."""
    counts: Counter[str] = Counter()
    for item in items:
        mark = item.get_closest_marker("processes")
        share = mark.kwargs["share"] if mark else 1
        test = item.nodeid.partition("[")[0]
        if counts[test] % share:
            item.add_marker(pytest.mark.long)
        counts[test] += 1


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Share variants among runs. On Windows, and in its view, what asks for more is left out, and counted."""
    _share_variants(items)
    if os.name == "nt" or os.environ.get("KELLET_VIEW") == "windows":
        config.hook.pytest_deselected(items=[item for item in items if item.get_closest_marker("unix")])
        items[:] = [item for item in items if not item.get_closest_marker("unix")]


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Keep the collector away from thousands of tests while they are collected, and from then on.

    What is collected stays, so that each walk over it would find next to nothing.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        sys.dont_write_bytecode = True
        gc.freeze()
        gc.enable()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print why files and tests were skipped, a line for each reason."""
    # Each worker reports the files that it skipped.
    skipped = {report.nodeid: report for report in terminalreporter.stats.get("skipped", [])}
    counts = Counter(
        (report.longrepr[2].removeprefix("Skipped: "), isinstance(report, pytest.CollectReport))
        for report in skipped.values()
    )
    for (reason, is_file), count in sorted(counts.items()):
        kind = "file" if is_file else "test"
        terminalreporter.write_line(f"skipped {count} {kind}{'s' * (count > 1)}: {reason}")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Say in the report of a test that fails how its processes were started."""
    report = yield
    if (said := processes.how_started(item.nodeid, forget=report.when == "teardown")) and report.failed:
        report.sections.append(("how processes were started", said))
    return report


_finished = itertools.count(1)


def pytest_runtest_logfinish() -> None:
    """Keep it away from what tests have left, too: many tests collect, and each would walk all of it."""
    if next(_finished) % 500 == 0:
        gc.collect()
        gc.freeze()


@pytest.fixture
def project(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[[Mapping[str, str]], Path]]:
    """Write a tree of files that can be imported: `project({"pkg/__init__.py": "..."})` gives its folder.

    Afterwards nothing of it is left in this process. Scans are kept apart from the user's, and the tests
    of a run share them: what they import of libraries is read once.
    """
    folder = tmp_path / "project"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.getbasetemp() / "cache"))

    def write(tree: Mapping[str, str]) -> Path:
        for name, text in tree.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text, encoding="utf-8")
        if str(folder) not in sys.path:
            monkeypatch.syspath_prepend(folder)
        invalidate_caches()
        return folder

    yield write
    _forget_modules_in(folder)


def _forget_modules_in(folder: Path) -> None:
    start = str(folder)
    for name, module in sys.modules.copy().items():  # a collection may unload some
        file = getattr(module, "__dict__", {}).get("__file__")
        if isinstance(file, str) and file.startswith(start):
            del sys.modules[name]


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Path]]:
    """Lay out a distribution as pip installs it: `installed("ledger", {"ledger.py": "..."})` gives its site.

    Its record names an address, that of a folder by default, but with `origin=None`: then it is of an index.
    Afterwards nothing of it is left in this process.
    """
    site = tmp_path / "site-packages"
    site.mkdir()
    monkeypatch.syspath_prepend(site)

    def install(
        name: str,
        files: Mapping[str, str],
        *,
        version: str = "1.2",
        by: str = "pip",
        origin: Mapping[str, object] | None = MappingProxyType({"dir_info": {}}),
    ) -> Path:
        info = site / f"{name.replace('-', '_')}-{version}.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        (info / "INSTALLER").write_text(f"{by}\n")
        (info / "RECORD").write_text("".join(f"{path},,\n" for path in files))
        if origin is not None:
            url = {"url": (tmp_path / "work").as_uri(), **origin}
            (info / "direct_url.json").write_text(json.dumps(url))
        for path, text in files.items():
            (site / path).parent.mkdir(parents=True, exist_ok=True)
            (site / path).write_text(text)
        invalidate_caches()
        return site

    yield install
    _forget_modules_in(site)


@pytest.fixture(scope="session")
def link_environment(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Give a virtual environment without pip: `link_environment(folder)` returns its Python.

    One is made, of links, and the others are its copies. With `ours` a .pth file leads to what this Python
    has; with `system` it sees what the Python has that it was made of.
    """
    empty = tmp_path_factory.mktemp("environment") / "empty"
    venv.create(empty, symlinks=True)
    settings = (empty / "pyvenv.cfg").read_text(encoding="utf-8")

    def link(folder: Path, *, ours: bool = False, system: bool = False) -> Path:
        shutil.copytree(empty, folder, symlinks=True)
        if system:
            (folder / "pyvenv.cfg").write_text(settings.replace("packages = false", "packages = true"))
        if ours:
            (site,) = folder.glob("lib/python*/site-packages")
            installed = [path for path in sys.path if path.endswith("site-packages")]
            own = (os.path.dirname(os.path.dirname(__import__(name).__file__)) for name in _OWN)
            (site / "others.pth").write_text("\n".join([*installed, *own]), encoding="utf-8")
        return folder / "bin" / "python"

    return link


_OWN = ("packager", "kellet")


@pytest.fixture(scope="session", autouse=True)
def proofs_and_pip_are_forked() -> Iterator[None]:
    """Have the clean process of a proof, that of a check in depth, and pip forked where a test asks here.

    So is the process that pip starts in its turn, with the Python of another environment, which is empty.
    """
    from packager._environment import installers
    from packager._loading import deep_checks
    from packager._proving import clean_process

    with pytest.MonkeyPatch.context() as patch:
        for module in (clean_process, deep_checks, installers):
            patch.setattr(module, "subprocess", processes)
        yield
