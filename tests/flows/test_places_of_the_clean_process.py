"""Wherever an export runs, it has its clean process, or one warning says why there is none and what helps.

The project has an import by a computed name, which the process asks for. Every warning is an error, and what
was written is loaded here, where the project is not.
"""

from __future__ import annotations

import json
import os
import textwrap
from pathlib import Path

import pytest

from tests.flows.places import PROVED, Place, answer_of

pytestmark = [pytest.mark.unix, pytest.mark.processes(share=4)]


# --- how it runs ---

PROGRAMS = {
    "threads": """
        from concurrent.futures import ThreadPoolExecutor
        from net.model import Net
        from saving import saved
        def export(number):
            return saved(Net("wide"), f"{sys.argv[1]}{number or ''}")
        with ThreadPoolExecutor(2) as pool:
            print(*dict.fromkeys(pool.map(export, range(2))))
    """,
    "a thread of a program that ends": """
        import threading
        from net.model import Net
        from saving import saved
        threading.Thread(target=lambda: print(saved(Net("wide")))).start()
    """,
    "a loop of asyncio": """
        import asyncio
        from net.model import Net
        from saving import saved
        async def main():
            one, two = saved(Net("wide")), await asyncio.to_thread(saved, Net("wide"), sys.argv[1] + "2")
            child = await asyncio.create_subprocess_exec(sys.executable, "-c", "")
            assert await child.wait() == 0
            assert one == two
            print(one)
        asyncio.run(main())
    """,
    "a forked worker": """
        import multiprocessing
        from net.model import Net
        from saving import saved
        with multiprocessing.get_context("fork").Pool(1) as pool:
            print(pool.apply(saved, [Net("wide")]))
    """,
    "a forked worker after an export": """
        import multiprocessing
        from net.model import Net
        from packager import PackageExporter
        from saving import saved
        with PackageExporter(sys.argv[1] + "2", policy="auto") as exporter:
            exporter.save_object("model", "model", Net("wide"))
            exporter.save_example("model", {"arg0": 2})
            with multiprocessing.get_context("fork").Pool(1) as pool:
                print(pool.apply(saved, [Net("wide")]))
        assert exporter.proof.ok
    """,
    "a spawned worker": """
        import multiprocessing
        from net.model import Net
        from saving import saved
        if __name__ == "__main__":
            with multiprocessing.get_context("spawn").Pool(1) as pool:
                print(pool.apply(saved, [Net("wide"), sys.argv[1]]))
    """,
    "a class of the script in a forked worker": """
        import multiprocessing
        from importlib import import_module
        from saving import saved
        class Own:
            def __call__(self, x):
                return import_module("net.parts.wide").grown(x)
        if __name__ == "__main__":
            with multiprocessing.get_context("fork").Pool(1) as pool:
                print(pool.apply(saved, [Own()]))
    """,
    "a daemon": """
        import os
        from net.model import Net
        from saving import saved
        told, tell = os.pipe()
        if os.fork():
            os.close(tell)
            print(open(told).read())
        else:
            os.setsid()
            if os.fork():
                os._exit(0)
            os.chdir("/")
            os.umask(0)
            for number in range(3):
                os.close(number)
            os.write(tell, str(saved(Net("wide"))).encode())
            os._exit(0)
    """,
    "a program without standard streams": """
        import os
        from net.model import Net
        from saving import saved
        kept = os.dup(1)
        sys.stdin = sys.stdout = sys.stderr = None
        os.closerange(0, 3)
        os.write(kept, str(saved(Net("wide"))).encode())
        os._exit(0)
    """,
    "a program that ignores the ends of its children": """
        import signal
        from net.model import Net
        from saving import saved
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        print(saved(Net("wide")))
    """,
    "a program that blocks signals": """
        import signal
        from net.model import Net
        from saving import saved
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        print(saved(Net("wide")))
    """,
    "a program with a low limit of open files": """
        import resource
        from net.model import Net
        from saving import saved
        resource.setrlimit(resource.RLIMIT_NOFILE, (40, 40))
        print(saved(Net("wide")))
    """,
    "a folder that is gone": """
        import os
        from net.model import Net
        from saving import saved
        os.mkdir(sys.argv[1] + "2")
        os.chdir(sys.argv[1] + "2")
        os.rmdir(sys.argv[1] + "2")
        sys.path.insert(0, "")
        import io
        assert saved(Net("wide"), io.BytesIO()) == (True, "")
        print(saved(Net("wide")))
    """,
    "a path with what is no text": """
        from pathlib import Path
        from net.model import Net
        from saving import saved
        sys.path += [Path(sys.argv[1]).parent, Path("lib")]
        print(saved(Net("wide")))
    """,
    "nothing that forks": """
        from net.model import Net
        from packager._proving import clean_process
        from saving import saved
        clean_process.CAN_FORK = False
        print(saved(Net("wide")))
    """,
    "nothing that waits": """
        from net.model import Net
        from packager._proving import clean_process
        from saving import saved
        clean_process.CAN_FORK = clean_process.CAN_WAIT = False
        print(saved(Net("wide")))
    """,
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_it_is_proved_in(place: Place, program: str) -> None:
    place.write({"script.py": "import sys\n" + textwrap.dedent(program)})
    assert place.said("script.py", place.file) == PROVED
    assert answer_of(place.file) == 6
    if (second := Path(f"{place.file}2")).exists():
        assert answer_of(second) == 6


OWN_SPAWNED = """
    import multiprocessing, sys
    from importlib import import_module
    from packager import PackageExporter, PackagingError
    class Own:
        def __call__(self, x):
            return import_module("net.parts.wide").grown(x)
    def export(model, path, paste):
        try:
            with PackageExporter(path, policy="auto") as exporter:
                exporter.save_object("model", "model", model)
                exporter.save_example("model", {"arg0": 2})
                exec(paste)
        except PackagingError as error:
            return str(error)
        return exporter.proof.ok
    if __name__ == "__main__":
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            print(pool.apply(export, [Own(), sys.argv[1], sys.argv[2]]))
"""


def test_a_class_of_a_script_that_a_spawned_worker_has_loaded_again_is_stored_as_it_is_told_to(
    place: Place,
) -> None:
    place.write({"script.py": OWN_SPAWNED})
    refused = place.said("script.py", place.file, "")
    [line] = [line for line in refused.splitlines() if "To paste: " in line]
    assert "__mp_main__" in line
    assert not place.file.exists()
    assert place.said("script.py", place.file, line.partition("To paste: ")[2]) == "True"
    assert answer_of(place.file) == 6


# --- under pytest ---

# What pytest makes of the asserts of a test or a conftest is not stored, and that is told.
IN_TEST = """
    from importlib import import_module
    import pytest
    from saving import saved

    class Own:
        def __call__(self, x):
            return import_module("net.parts.wide").grown(x)

    def test_it():
        with pytest.warns(match="test_net is loaded by _pytest.assertion.rewrite.AssertionRewritingHook"):
            assert saved(Own()) == (True, "")
"""
OF_PROJECT = """
    from net.model import Net
    from saving import saved

    def test_it():
        assert saved(Net("wide")) == (True, "")
"""
OF_CONFTEST = """
    import pytest
    from saving import saved

    def test_it(own):
        with pytest.warns(match="conftest is loaded by _pytest.assertion.rewrite.AssertionRewritingHook"):
            assert saved(own) == (True, "")
"""
CONFTEST = """
    from importlib import import_module
    import pytest

    class Own:
        def __call__(self, x):
            return import_module("net.parts.wide").grown(x)

    @pytest.fixture
    def own():
        return Own()
"""
TESTS = {"a class of the project": OF_PROJECT, "of the test": IN_TEST, "of conftest": OF_CONFTEST}
OPTIONS = ["", "-n1", "-pno:cacheprovider -s", "--import-mode=importlib"]


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("test", TESTS.values(), ids=TESTS)
def test_it_is_proved_under_pytest(place: Place, test: str, options: str) -> None:
    place.write(
        {
            "test_net.py": test.replace("saved(", f"saved(path={str(place.file)!r}, model="),
            "pytest.ini": "[pytest]\n",
        }
    )
    if test == OF_CONFTEST:
        place.write({"conftest.py": CONFTEST})
    place.said("-m", "pytest", "-q", *options.split(), "test_net.py")
    assert answer_of(place.file) == 6


# --- in a notebook ---

CELLS = [
    """
    import sys
    from importlib import import_module
    from packager import PackageExporter
    class Own:
        def __init__(self, part):
            self.part = part
        def __call__(self, x):
            return import_module("net.parts." + self.part).grown(x)
    model = Own("wide")
    """,
    """
    from concurrent.futures import ThreadPoolExecutor
    from saving import saved
    saved(model, "FILE")
    """,
    "ThreadPoolExecutor(1).submit(saved, model, 'FILE2').result()",
    "import asyncio\nawait asyncio.to_thread(saved, model, 'FILE3')",
]
KERNEL = """
    import json, sys
    import nbformat
    from nbclient import NotebookClient
    cells = [nbformat.v4.new_code_cell(cell) for cell in json.loads(sys.argv[1])]
    notebook = nbformat.v4.new_notebook(cells=cells)
    NotebookClient(notebook, timeout=60, kernel_name="python3").execute()
    print(*[cell.outputs[-1]["data"]["text/plain"] for cell in notebook.cells[1:]])
"""


@pytest.mark.long
def test_it_is_proved_in_the_kernel_of_a_notebook(place: Place) -> None:
    place.write({"kernel.py": KERNEL})
    place.env |= {"IPYTHONDIR": str(place.folder / "ipython"), "PYTHONWARNINGS": "ignore"}
    cells = [textwrap.dedent(cell).replace("FILE", str(place.file)) for cell in CELLS]
    assert place.said("-Wignore", "kernel.py", json.dumps(cells)) == " ".join([PROVED] * 3)
    for number in ("", "2", "3"):
        assert answer_of(Path(f"{place.file}{number}")) == 6


# --- where there is none ---

WITHOUT = {
    "no executable": ("sys.executable = None", "sys.executable is None"),
    "an empty one": ("sys.executable = ''", "sys.executable is ''"),
    "a program that embeds Python": ("sys.executable = '/bin/sleep'", "sys.executable is '/bin/sleep'"),
    "a frozen one": ("sys.frozen = True", "sys.executable is "),
    "one that is gone": ("sys.executable = '/nowhere/python'", "/nowhere/python cannot be started"),
    "one that is no program": ("sys.executable = __file__", "script.py cannot be started"),
    "a sandbox without exec": (
        "refuse(subprocess, 'Popen', PermissionError(1, 'not permitted'))",
        "not permitted",
    ),
    "no room for a process": ("refuse(subprocess, 'Popen', BlockingIOError(11, 'no room'))", "no room"),
    "no memory": ("refuse(subprocess, 'Popen', OSError(12, 'no memory'))", "no memory"),
    "no pipes": ("refuse(os, 'pipe', OSError(24, 'too many'))", "too many"),
    "no sockets": ("refuse(socket, 'socket', PermissionError(1, 'not permitted'))", "not permitted"),
    "no folder": ("tempfile.tempdir = '/proc/nowhere'", "no folder for temporary files can be made (TMPDIR)"),
}
WITHOUT_ANY = """
    import os, socket, subprocess, sys, tempfile, warnings
    from net.model import Net
    from saving import saved
    def refuse(where, name, error):
        def refused(*arguments, **options):
            raise error
        setattr(where, name, refused)
    {refuse}
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        print(saved(Net("wide"))[0])
    [told] = said
    print(type(told.message).__name__, told.message)
    warnings.simplefilter("ignore")
    print(saved(Net("wide"), prove=False))
"""


@pytest.mark.parametrize(("refuse", "why"), WITHOUT.values(), ids=WITHOUT)
def test_one_warning_says_why_there_is_none(place: Place, refuse: str, why: str) -> None:
    place.write({"script.py": WITHOUT_ANY.replace("{refuse}", refuse)})
    temporary = place.folder / "temporary"
    temporary.mkdir()
    place.env["TMPDIR"] = str(temporary)
    said = place.said("script.py", place.file).splitlines()
    assert said[0] == "False"
    assert said[1].startswith("PackagingWarning")
    assert any(why in line and "write prove=False" in line for line in said)
    assert len(said) < 40
    assert sorted(os.listdir(place.folder)) == ["cache", "elsewhere", "here", "out.kellet", "temporary"]
    assert os.listdir(temporary) == []
