"""A conversation: stored code asks for what the archive lacks while it runs, goes on with what is served."""

from __future__ import annotations

import subprocess
import tempfile
import textwrap
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import packager
from packager import PackageExporter, PackagingWarning
from packager._archive import ModuleRecord
from packager._proving import (
    CleanProcess,
    Question,
    Run,
    Served,
    clean_process,
    converse,
    converse_until_nothing_is_named,
    line,
)
from packager._proving.clean_process import ProofStartError
from packager._quick_dataclasses import replace

from .answering import ProjectAnswers, order_of

Hold = Callable[..., tuple[Run, ProjectAnswers]]


@pytest.fixture
def process() -> Iterator[CleanProcess]:
    made = CleanProcess()
    yield made
    made.close()


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., ProjectAnswers]:
    """Write a project, and begin its archive with the module `net` alone."""

    def write(tree: Mapping[str, Any], begun: tuple[str, ...] = ("net",), **options: Any) -> ProjectAnswers:
        for name, text in tree.items():
            place = tmp_path / "project" / name
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(text if isinstance(text, bytes) else textwrap.dedent(text).encode())
        return ProjectAnswers(tmp_path / "project", tmp_path / "net.kellet", begun, **options)

    return write


@pytest.fixture
def hold(process: CleanProcess, write: Callable[..., ProjectAnswers]) -> Hold:
    """Write a project, and open its archive, which holds the module `net`, in one run."""

    def hold(
        tree: Mapping[str, Any], modules: tuple[str, ...] = ("net",), **options: Any
    ) -> tuple[Run, ProjectAnswers]:
        answers = write(tree, **options)
        return converse(answers.order(modules), process, answers, timeout=60), answers

    return hold


def asked(answers: ProjectAnswers) -> list[str]:
    return [f"{one.kind} {one.name}" for one in answers.asked]


def test_a_registry_imports_modules_by_names_that_it_computes(hold):
    run, _ = hold(
        {
            "net/__init__.py": """
                from importlib import import_module
                for name in ("conv", "pool"):
                    import_module(f"net.{name}")
            """,
            "net/conv.py": "from .base import ONE\nSIZE = ONE + 2",
            "net/pool.py": "SIZE = 4",
            "net/base.py": "ONE = 1",
        }
    )
    assert run.proof.failures == ()
    assert run.proof.modules == ("net", "net.base", "net.conv", "net.pool")
    assert [(one.name, str(one.place)) for one, _ in run.served] == [
        ("net.conv", "net/__init__.py:4 in <module>"),
        ("net.base", "net/conv.py:1 in <module>"),
        ("net.pool", "net/__init__.py:4 in <module>"),
    ]


def test_a_table_in_getattr_gives_a_class_of_a_module_that_nothing_imports(hold):
    run, _ = hold(
        {
            "net/__init__.py": """
                import importlib
                TABLE = {"Wide": "wide"}
                def __getattr__(name):
                    if name not in TABLE:
                        raise AttributeError(name)
                    return getattr(importlib.import_module(f".{TABLE[name]}", __name__), name)
            """,
            "net/wide.py": "class Wide: pass",
            "use.py": "from net import Wide\nassert Wide.__name__ == 'Wide'",
        },
        begun=("net", "use"),
        modules=("use",),
    )
    assert run.proof.failures == ()
    assert run.proof.modules == ("net", "net.wide", "use")


def test_a_loop_of_pkgutil_lists_what_the_folder_of_the_project_has(hold):
    run, answers = hold(
        {
            "net/__init__.py": """
                import importlib, pkgutil
                FOUND = [one.name for one in pkgutil.iter_modules(__path__)]
                for name in FOUND:
                    importlib.import_module(f"{__name__}.{name}")
                assert FOUND == ["one", "three", "two"], FOUND
            """,
            "net/one.py": "",
            "net/two.py": "",
            "net/three/__init__.py": "",
            "net/data/words.txt": b"",
        }
    )
    assert run.proof.failures == ()
    assert asked(answers) == ["listing net"]
    assert run.proof.modules == ("net", "net.one", "net.three", "net.two")


@pytest.mark.parametrize(
    "reads",
    [
        "from importlib.resources import files; TEXT = (files(__name__) / 'data' / 'words.txt').read_text()",
        "from importlib.resources import files; TEXT = files('net').joinpath('data/words.txt').read_text()",
        "import pkgutil; TEXT = pkgutil.get_data(__name__, 'data/words.txt').decode()",
        (
            "import importlib.util as util, os; name = os.path.dirname(__file__) + '/data/words.txt'\n"
            "from importlib.machinery import SourceFileLoader\n"
            "TEXT = SourceFileLoader('words', name).get_data(name).decode()"
        ),
        (
            "import os; TEXT = [open(os.path.join(folder, name)).read() for folder, _, names in "
            "os.walk(os.path.dirname(__file__) + '/data') for name in names][0]"
        ),
        "import glob, os; TEXT = open(glob.glob(os.path.dirname(__file__) + '/data/*.txt')[0]).read()",
        "import pathlib; TEXT = next(pathlib.Path(__file__).parent.glob('data/*.txt')).read_text()",
        "import pathlib; TEXT = (pathlib.Path(__file__).parent / 'data' / 'words.txt').read_text()",
        "import os; TEXT = open(os.path.join(os.path.dirname(__file__), 'data', 'words.txt')).read()",
        "import os; os.chdir(os.path.dirname(__file__)); TEXT = open('data/words.txt').read()",
        (
            "import os; name = os.path.dirname(__file__) + '/data/words.txt'\n"
            "TEXT = open(name).read() if os.path.exists(name) else ''"
        ),
        (
            "import pathlib; name = pathlib.Path(__file__).with_name('data') / 'words.txt'\n"
            "TEXT = name.read_text() if name.is_file() else ''"
        ),
        (
            "import os, __main__; name = os.path.dirname(__file__) + '/data/words.txt'\n"
            "TEXT = open(name).read() if os.access(name, os.R_OK) else ''"
        ),
    ],
)
def test_a_file_of_the_project_is_served_as_it_is_opened_or_looked_for(hold, reads):
    run, _ = hold(
        {
            "net/__init__.py": f"{reads}\nassert TEXT == 'one two', TEXT\n",
            "net/data/words.txt": b"one two",
        }
    )
    assert run.proof.failures == ()
    assert {str(one.place).partition(":")[0] for one, _ in run.served} == {"net/__init__.py"}
    assert [list(served.files) for _, served in run.served][-1] == ["net/data/words.txt"]


def test_a_folder_of_the_project_is_listed_with_what_lies_in_it(hold):
    run, answers = hold(
        {
            "net/__init__.py": """
                import os
                HERE = os.path.dirname(__file__)
                assert sorted(os.listdir(HERE + "/data")) == ["one.txt", "two.txt"]
                from importlib.resources import files
                assert [one.name for one in files("net.data").iterdir()] == ["one.txt", "two.txt"]
                TEXTS = [open(f"{HERE}/data/{name}").read() for name in ("one.txt", "two.txt")]
            """,
            "net/data/one.txt": b"1",
            "net/data/two.txt": b"2",
        }
    )
    assert run.proof.failures == ()
    assert [one for one in asked(answers) if "listing" in one] == ["listing net/data"]


def test_a_file_that_is_not_there_is_asked_for_once_and_stays_absent(hold):
    run, answers = hold(
        {
            "net/__init__.py": """
                import os
                for _ in range(3):
                    FOUND = os.path.exists(os.path.join(os.path.dirname(__file__), "local.yaml"))
                assert not FOUND
            """,
        }
    )
    assert run.proof.failures == ()
    assert asked(answers) == ["file net/local.yaml"]
    assert [str(one) for one in run.absent] == ["file net/local.yaml, at net/__init__.py:4 in <module>"]


def test_an_optional_module_that_is_missing_is_asked_for_once_and_the_code_goes_on(hold):
    run, answers = hold(
        {
            "net.py": """
                for _ in range(2):
                    try:
                        import not_installed_here
                    except ImportError:
                        not_installed_here = None
            """,
        }
    )
    assert run.proof.failures == ()
    assert asked(answers) == ["import not_installed_here"]
    assert [one.name for one in run.absent] == ["not_installed_here"]


def test_a_module_that_is_only_looked_for_is_a_probe_and_the_answer_decides_whether_it_is_there(hold):
    run, answers = hold(
        {
            "net.py": """
                import importlib.util, importlib.metadata, os
                HAS = [importlib.util.find_spec(name) is not None for name in ("numpy", "not_installed_here")]
                assert HAS == [True, False], HAS
                VERSION = importlib.metadata.version("numpy")
                MODE = os.environ.get("NET_MODE_OF_A_TEST")
            """,
        },
        externs=("numpy",),
    )
    assert run.proof.failures == ()
    assert asked(answers) == ["probe numpy", "probe not_installed_here"]
    assert [(one.kind, one.name, one.place.line) for one in run.probes] == [
        ("module", "numpy", 3),
        ("module", "not_installed_here", 3),
        ("distribution", "numpy", 5),
        ("variable", "NET_MODE_OF_A_TEST", 6),
    ]


def test_an_extern_is_taken_from_the_environment_and_a_module_of_a_new_package_is_stored(hold):
    run, answers = hold(
        {
            "net.py": "import numpy\nfrom importlib import import_module\nimport_module('other.part')",
            "other/__init__.py": "",
            "other/part.py": "import numpy.linalg\nPART = numpy.linalg.__name__",
        },
        externs=("numpy",),
    )
    assert run.proof.failures == ()
    assert asked(answers) == ["import numpy", "import other.part"]
    assert run.proof.modules == ("net", "other", "other.part")
    assert [str(one) for one in run.externs] == ["import numpy, at net.py:1 in <module>"]


def test_a_thread_of_stored_code_asks_too(hold):
    run, _ = hold(
        {
            "net/__init__.py": """
                import threading
                from importlib import import_module
                FOUND = []
                def work(name):
                    FOUND.append(import_module(f"net.{name}").NAME)
                threads = [threading.Thread(target=work, args=(name,)) for name in ("one", "two", "three")]
                for thread in threads:
                    thread.start()
                from net.four import NAME
            """,
            "net/one.py": "NAME = 1",
            "net/two.py": "NAME = 2",
            "net/three.py": "NAME = 3",
            "net/four.py": "NAME = 4",
            "use.py": """
                import net
                for thread in net.threads:
                    thread.join()
                assert sorted(net.FOUND) == [1, 2, 3], net.FOUND
            """,
        },
        begun=("net", "use"),
        modules=("use",),
    )
    assert run.proof.failures == ()
    assert sorted(one.name for one, _ in run.served) == ["net.four", "net.one", "net.three", "net.two"]


@pytest.mark.unix
def test_a_process_that_stored_code_forks_asks_through_a_connection_of_its_own(hold):
    run, _ = hold(
        {
            "net/__init__.py": """
                import os
                from importlib import import_module
                import_module("net.before")
                child = os.fork()
                if not child:
                    try:
                        os._exit(import_module("net.inside").CODE)
                    except BaseException:
                        os._exit(1)
                CODE = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
                assert CODE == 7, CODE
                import_module("net.after")
            """,
            "net/before.py": "",
            "net/inside.py": "CODE = 7",
            "net/after.py": "",
        }
    )
    assert run.proof.failures == ()
    assert [one.name for one, _ in run.served] == ["net.before", "net.inside", "net.after"]


def test_a_module_that_is_only_probed_is_no_extern_that_ran_until_it_is_imported(hold):
    probes = "from importlib.util import find_spec\nassert find_spec('numpy')\n"
    run, _ = hold({"net.py": probes}, externs=("numpy",))
    assert run.externs == ()
    run, _ = hold({"net.py": f"{probes}import numpy.linalg\n"}, externs=("numpy",))
    assert [one.name for one in run.externs] == ["numpy"]


def test_a_denied_module_is_absent_for_the_code_and_is_asked_for_once(write, process):
    answers = write(
        {
            "net/__init__.py": """
                from importlib import import_module
                for _ in range(2):
                    try:
                        import_module("net.secret")
                    except ModuleNotFoundError:
                        continue
                    raise AssertionError("it was found")
            """,
        }
    )
    denied = Served((ModuleRecord("net.secret", "deny", "deny net.secret", "it is denied"),))
    asked = []
    answers.module = lambda question: asked.append(question.name) or denied
    run = converse(answers.order(), process, answers, timeout=60)
    assert run.proof.failures == ()
    assert asked == ["net.secret"]
    assert [one.name for one, _ in run.served] == ["net.secret"]


def test_a_mock_is_served_as_it_will_be_at_the_target(write, process):
    answers = write(
        {
            "net.py": "from importlib import import_module\nFOUND = repr(import_module('other.part').Part)\n"
            "assert FOUND == '<mocked other.part.Part>', FOUND"
        }
    )
    mocked = tuple(
        ModuleRecord(name, "mock", "mock other.**", "it is mocked") for name in ("other", "other.part")
    )
    answers.module = lambda question: Served(mocked)
    assert converse(answers.order(), process, answers, timeout=60).proof.failures == ()


def test_a_part_in_c_of_a_stored_package_is_that_of_the_environment(write, process):
    answers = write(
        {
            "net.py": "from importlib import import_module\n"
            "assert import_module('msgpack.fallback').__name__.startswith('msgpack__w')\n"
            "assert import_module('msgpack._cmsgpack').__name__ == 'msgpack._cmsgpack'",
            "msgpack/__init__.py": "",
            "msgpack/fallback.py": "",
        }
    )
    plain = answers.module
    extern = Served((ModuleRecord("msgpack._cmsgpack", "extern", "extern", "it is written in C"),))
    answers.module = lambda question: extern if question.name == "msgpack._cmsgpack" else plain(question)
    assert converse(answers.order(), process, answers, timeout=60).proof.failures == ()


def test_what_is_served_lies_on_disk_where_its_package_was_unpacked(hold):
    run, _ = hold(
        {
            "net/__init__.py": "import os\nHERE = os.path.dirname(__file__)\n"
            "from importlib import import_module\nimport_module('net.late.part')",
            "net/late/__init__.py": "",
            "net/late/part.py": """
                import inspect, os, sys
                import net
                assert "the source of this" in open(__file__).read()
                assert "the source of this" in inspect.getsource(sys.modules[__name__])
                assert sorted(os.listdir(net.HERE)) == ["__init__.py", "late"]
            """,
        }
    )
    assert run.proof.failures == ()


def test_a_withheld_extern_is_not_found_by_stored_code_alone(write, process):
    answers = write(
        {
            "net.py": """
                import kellet
                try:
                    import numpy
                except ImportError:
                    numpy = None
                assert numpy is None
            """
        },
        externs=("numpy", "kellet"),
    )
    for name in ("numpy", "kellet"):
        answers.module(Question("import", name))
    order = replace(answers.order(), withheld=("numpy",))
    assert converse(order, process, timeout=60).proof.failures == ()


def test_a_folder_for_temporary_files_may_have_a_long_name(write, tmp_path, monkeypatch):
    long = tmp_path / ("n" * 90)
    long.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(long))
    process = CleanProcess()
    answers = write(
        {
            "net/__init__.py": "from importlib import import_module\nimport_module('net.part')",
            "net/part.py": "",
        }
    )
    try:
        assert converse(answers.order(), process, answers, timeout=60).proof.modules == ("net", "net.part")
    finally:
        process.close()


def test_what_the_answers_raise_ends_the_run_and_goes_through(write, process):
    answers = write({"net/__init__.py": "from importlib import import_module\nimport_module('net.part')"})

    def refuse(question: Question) -> Served | None:
        raise LookupError(f"{question.name} is refused")

    answers.module = refuse
    with pytest.raises(LookupError, match=r"net\.part is refused"):
        converse(answers.order(), process, answers, timeout=60)
    plain = write({"net/__init__.py": "", "net/part.py": ""})
    assert converse(plain.order(), process, plain, timeout=60).proof.ok


def test_a_run_sees_nothing_of_what_another_one_was_served(write, process):
    answers = write(
        {
            "net/__init__.py": "from importlib import import_module\nimport_module('net.part')",
            "net/part.py": "",
        }
    )
    order = answers.order()
    first, second = (converse(order, process, answers, timeout=60) for _ in range(2))
    assert [one.name for one, _ in first.served] == [one.name for one, _ in second.served] == ["net.part"]
    alone = converse(order, process, timeout=60)
    [failure] = alone.proof.failures
    assert failure.module == "net.part"
    assert (alone.served, alone.absent) == ((), ())


@pytest.mark.unix
def test_a_crash_between_questions_is_told_as_one(hold):
    run, _ = hold(
        {
            "net/__init__.py": """
                import os
                from importlib import import_module
                import_module("net.part")
                os.kill(os.getpid(), 9)
            """,
            "net/part.py": "",
        }
    )
    [failure] = run.proof.failures
    assert (failure.kind, failure.message) == ("died", "signal 9 (SIGKILL) ended the clean process (import)")
    assert [one.name for one, _ in run.served] == ["net.part"]


@pytest.mark.unix
def test_a_run_that_takes_too_long_is_ended_and_the_next_one_begins_anew(write, process):
    answers = write({"net.py": "import time\ntime.sleep(60)"})
    run = converse(answers.order(), process, answers, timeout=1.5)
    [failure] = run.proof.failures
    assert failure.message.startswith("the clean process was not done after 1.5 seconds")
    assert converse(write({"net.py": ""}).order(), process, answers, timeout=60).proof.ok


@pytest.mark.unix
def test_what_c_opens_is_named_by_its_failure_and_is_there_in_the_next_run(write, process):
    answers = write(
        {
            "net/__init__.py": """
                import os, subprocess, sys
                NAME = os.path.join(os.path.dirname(__file__), "table.bin")
                done = subprocess.run(["cat", NAME], capture_output=True, text=True)
                if done.returncode:
                    raise RuntimeError(done.stderr.strip())
                TEXT = done.stdout
            """,
            "net/table.bin": b"rows",
        }
    )
    runs = converse_until_nothing_is_named(answers.order(), process, answers, timeout=60)
    assert [len(run.proof.failures) for run in runs] == [1, 0]
    assert [one.name for one in answers.asked] == []


@pytest.mark.parametrize(
    "opens",
    [
        "import numpy\nFOUND = numpy.load(NAME).tolist()",
        "import sqlite3\nFOUND = sqlite3.connect(NAME).execute('select * from t').fetchall()",
        (
            "import sqlite3\nNAME = 'file:' + NAME.replace('/table', '/%74able') + '?mode=ro'\n"
            "FOUND = sqlite3.connect(NAME, uri=True).execute('select * from t').fetchall()"
        ),
    ],
)
def test_a_file_that_a_library_opens_for_stored_code_is_served(hold, tmp_path, opens):
    import sqlite3

    import numpy

    numpy.save(tmp_path / "table.npy", [1, 2])
    base = sqlite3.connect(tmp_path / "table.db")
    base.execute("create table t (a)")
    base.execute("insert into t values (3)")
    base.commit()
    base.close()
    data = (tmp_path / ("table.npy" if "numpy" in opens else "table.db")).read_bytes()
    run, answers = hold(
        {
            "net/__init__.py": f"import os\nNAME = os.path.dirname(__file__) + '/table'\n{opens}\n"
            "assert FOUND in ([1, 2], [(3,)]), FOUND",
            "net/table": data,
        },
        externs=("numpy",),
    )
    assert run.proof.failures == ()
    assert asked(answers)[-1] == "file net/table"


@pytest.mark.unix
def test_what_a_spawned_worker_imports_is_named_by_its_failure(write, process):
    answers = write(
        {
            "net/__init__.py": "",
            "net/work.py": "from importlib import import_module\n"
            "def work(name):\n    return import_module(f'net.{name}').SIZE\n",
            "net/sizes.py": "SIZE = 5",
            "use.py": """
                import multiprocessing
                from concurrent.futures import ProcessPoolExecutor
                from net.work import work
                with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
                    assert pool.submit(work, "sizes").result() == 5
            """,
        },
        begun=("net", "net.work", "use"),
    )
    ours = str(
        Path(packager.__file__).parents[1]
    )  # a worker has the path of the process, and no finder of it
    answers.path = (ours,)
    runs = converse_until_nothing_is_named(answers.order(("use",)), process, answers, timeout=120)
    assert [[one.module for one in run.proof.failures] for run in runs] == [["net.sizes"], []]


@pytest.mark.unix
def test_a_run_that_sets_a_variable_is_made_again_where_nothing_was_imported_early(write, monkeypatch):
    monkeypatch.setattr(clean_process, "subprocess", subprocess)  # what tests fork from has imported NumPy
    process = CleanProcess()
    process.import_early("numpy")
    answers = write(
        {
            "net.py": """
                import os, sys
                os.environ["OMP_NUM_THREADS"] = "1"
                EARLY = "numpy" in sys.modules
                if not EARLY:
                    raise RuntimeError("numpy was not imported early")
            """,
        }
    )
    try:
        runs = converse_until_nothing_is_named(answers.order(), process, answers, timeout=60)
    finally:
        process.close()
    assert [[one.name for one in run.sets] for run in runs] == [["OMP_NUM_THREADS"]] * 2
    assert [len(run.proof.failures) for run in runs] == [0, 1]


@pytest.mark.unix
def test_a_run_begins_anew_where_a_stored_package_was_imported_early(write, monkeypatch):
    monkeypatch.setattr(clean_process, "subprocess", subprocess)
    process = CleanProcess()
    process.import_early("numpy")
    answers = write(
        {
            "net/__init__.py": """
                import sys
                from importlib import import_module
                assert "numpy" not in sys.modules
                import_module("net.part")
            """,
            "net/part.py": "",
        }
    )
    order = replace(answers.order(), hidden=("numpy",))
    try:
        run = converse(order, process, answers, timeout=60)
        assert (run.proof.failures, run.proof.modules) == ((), ("net", "net.part"))
        failures = converse(answers.order(), process, answers, timeout=60).proof.failures
        assert [one.message for one in failures] == ["AssertionError: "]
    finally:
        process.close()


@pytest.mark.unix
def test_stored_code_may_close_all_that_it_did_not_open(hold):
    run, _ = hold(
        {
            "net/__init__.py": """
                import os
                from importlib import import_module
                import_module("net.one")
                os.closerange(3, 256)
                import_module("net.two")
            """,
            "net/one.py": "",
            "net/two.py": "",
        }
    )
    assert [one.name for one, _ in run.served] == ["net.one", "net.two"]


def test_a_time_that_is_up_before_the_first_step_is_told_as_such(write, process):
    answers = write({"net.py": ""})
    with pytest.raises(ProofStartError, match=r"the clean process did not begin within 0 seconds"):
        converse(answers.order(), process, answers, timeout=0)


def test_what_another_archive_lacks_that_stored_code_opens_is_not_asked_for(write, process, tmp_path):
    other = write({"net/__init__.py": "", "net/part.py": ""})
    other.order()
    (tmp_path / "net.kellet").rename(tmp_path / "other.kellet")
    answers = write(
        {
            "use.py": f"""
                from packager import PackageImporter
                with PackageImporter({str(tmp_path / "other.kellet")!r}, environment="ignore") as importer:
                    importer.import_module("net")
                    try:
                        importer.import_module("net.part")
                    except ModuleNotFoundError:
                        pass
                    else:
                        raise AssertionError("it was found")
            """,
        },
        begun=("use",),
        externs=("packager",),
    )
    run = converse(answers.order(("use",)), process, answers, timeout=60)
    assert run.proof.failures == ()
    assert [one.name for one in answers.asked] == ["packager"]


def test_variables_of_this_machine_are_hidden_from_stored_code(write, process, monkeypatch):
    answers = write(
        {"net.py": "import os\nassert 'NET_OF_A_TEST' not in os.environ\nassert os.environ['PATH']"}
    )
    monkeypatch.setenv("NET_OF_A_TEST", "1")
    made = CleanProcess()
    try:
        order = replace(answers.order(), variables=("NET_OF_A_TEST",))
        run = converse(order, made, answers, timeout=60)
    finally:
        made.close()
    assert run.proof.failures == ()
    assert [(one.kind, one.name) for one in run.probes] == [("variable", "NET_OF_A_TEST")]


@pytest.mark.parametrize("has_names", [True, False])
def test_where_nothing_forks_each_run_is_a_process_of_its_own(write, monkeypatch, has_names):
    monkeypatch.setattr(clean_process, "CAN_FORK", False)
    if not has_names:  # as on Windows
        monkeypatch.setattr(line, "_UNIX", None)
    answers = write(
        {
            "net/__init__.py": "import sys\nfrom importlib import import_module\nprint('said')\n"
            "assert not sys.stdin.read()\nPART = import_module('net.part').PART\n"
            "import os\nassert os.path.exists(os.path.dirname(__file__) + '/words.txt')",
            "net/part.py": "PART = 1",
            "net/words.txt": b"one",
        }
    )
    process = CleanProcess()
    try:
        runs = [converse(answers.order(), process, answers, timeout=60) for _ in range(2)]
    finally:
        process.close()
    assert [run.proof.failures for run in runs] == [(), ()]
    assert [[one.name for one, _ in run.served] for run in runs] == [["net.part", "net/words.txt"], []]


def test_an_object_is_loaded_and_its_golden_call_repeated_with_what_is_served(
    write, process, project, tmp_path
):
    project(
        {
            "net/__init__.py": """
from importlib import import_module
class Net:
    def __init__(self):
        self.part = "wide"
    def __call__(self, x):
        return x * import_module("net." + self.part).SIZE
""",
            "net/wide.py": "SIZE = 3",
        }
    )
    answers = ProjectAnswers(tmp_path / "project", tmp_path / "net.kellet", ())
    exporter = PackageExporter(answers.archive, policy="auto", prove=False)
    exporter.save_object("model", "model", import_module("net").Net())
    exporter.save_entry_point("model", "model", "model")
    exporter.save_example("model", {"arg0": 2})
    with pytest.warns(
        PackagingWarning, match=r"import_module.*: nothing was run, so the modules that it loads"
    ):
        exporter.close()
    run = converse(order_of(answers.archive), process, answers, timeout=60)
    assert run.proof.failures == ()
    assert run.proof.steps == ("object: object model/model", "call: check model")
    assert [str(one) for one, _ in run.served] == [
        "import net.wide, at net/__init__.py:7 in Net.__call__",
    ]
