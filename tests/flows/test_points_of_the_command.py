"""The command as somebody types it who is wrong, in one fresh process in a folder with a small project."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from .points import COMMANDS, answers, write

PROJECT = {
    "looms/__init__.py": "",
    "looms/shuttle.py": """
        import numpy as np
        class Shuttle:
            def __call__(self, thread):
                return np.asarray(thread) * 2
        SHUTTLE = Shuttle()
        def build():
            return Shuttle()
        def broken():
            raise LookupError("no warp")
    """,
    "shims/python": """
        #!/bin/sh
        echo 'pyenv: version 9.9 is not installed' >&2
        echo 'choose one' >&2
        exit 127
    """,
    "looms/half.py": "import numpy\nthis is no python\n",
    "looms/needs.py": "import weft_that_is_nowhere\nNET = 1\n",
    "looms/warps/__init__.py": """
        import importlib
        import pkgutil
        KINDS = {}
        for found in pkgutil.iter_modules(__path__):
            importlib.import_module(f"{__name__}.{found.name}")
    """,
    "looms/warps/silk.py": "from looms.warps import KINDS\nKINDS['silk'] = 2\n",
    "looms/warps/wool.py": "from looms.warps import KINDS\nKINDS['wool'] = 5\n",
    "looms/weaver.py": """
        from looms import warps
        class Weaver:
            def __call__(self, kind):
                return warps.KINDS[kind]
        WEAVER = Weaver()
    """,
    "apart/loose.py": "NET = 2\n",
    "m.toml": '[[step]]\nrename = "a.{k}"\nto = "b.{k}"\n',
}
NO_NAMES = ["a b", "looms", "looms:", ":x", "looms.shuttle", "a:b:c", "1:x", "looms.shuttle:Shuttle()"]
SCRIPT = (
    COMMANDS
    + """
import os, re
import numpy as np

np.savez("thread.npz", thread=np.arange(3.0))
np.savez("old.npz", **{"a.w": np.ones(2)})
os.environ["KELLET_CACHE"] = os.path.abspath("cache")
point(
    "made",
    lambda: cli(
        "export", "looms.shuttle:build", "-o", "loom.kellet", "--example", "thread.npz", "--loosen", "numpy"
    )[::2],
)
point("a path with dots", lambda: cli("plan", "./looms/shuttle:build"))
point("a path with py", lambda: cli("plan", "looms/shuttle.py:build"))
point(
    "a path above", lambda: cli("plan", "../" + os.path.basename(os.getcwd()) + "/looms/shuttle:SHUTTLE")
)
point("a path apart", lambda: cli("plan", "apart/loose:NET")[0])
point("a name nearly", lambda: cli("export", "looms.shuttle:bild", "-o", "no.kellet"))
point("a module nearly", lambda: cli("plan", "looms.shutle:build"))
point("a file nearly", lambda: cli("verify", "lom.kellet"))
point("an option nearly", lambda: cli("verify", "loom.kellet", "--depp"))
point("a command nearly", lambda: cli("inspct", "loom.kellet"))
point("code that fails", lambda: cli("export", "looms.shuttle:broken", "-o", "no.kellet"))
point("code that is none", lambda: cli("export", "looms.half:NET", "-o", "no.kellet"))
point("code that misses", lambda: cli("export", "looms.needs:NET", "-o", "no.kellet"))
for name in NO_NAMES:
    point("trust " + name, lambda: cli("run", "loom.kellet", "--input", "thread.npz", "--trust", name)[0])
point("trust is told", lambda: cli("check", "loom.kellet", "--trust", "looms/shuttle:Shuttle"))
point("elsewhere", lambda: cli("check", "loom.kellet"))
point(
    "loosened",
    lambda: [
        line.split() for line in cli("inspect", "loom.kellet")[1].splitlines() if "compiled" in line
    ],
)
point("loosened too far", lambda: cli("plan", "looms.shuttle:build", "--loosen", "numpy>99"))
point("loosened what is not there", lambda: cli("plan", "looms.shuttle:build", "--loosen", "nmupy"))
open("wool.json", "w").write('{"kind": "wool"}')

def traced():
    asked = cli("export", "looms.weaver:WEAVER", "-o", "weaver.kellet")
    options = ("--trace", "--input", "wool.json")
    code, out, err = cli(
        "export", "looms.weaver:WEAVER", "-o", "weaver.kellet", *options, "--trace-policy", "wool.toml"
    )
    line = next(line for line in err.splitlines() if line.startswith("trace: "))
    again = cli(
        "export",
        "looms.weaver:WEAVER",
        "-o",
        "weaver.kellet",
        "--policy",
        "wool.toml",
        "--example",
        "wool.json",
    )
    told = all(f"looms.warps.{kind}  (preset auto: project code)" in asked[1] for kind in ("silk", "wool"))
    return asked[0], told, code, line, again[0], cli("check", "weaver.kellet")

point("traced", traced)
os.symlink(sys.prefix, "env")
os.chmod("shims/python", 0o755)
for python in ("env/bin/python", "./env/../env/bin/python", "shims/python"):
    point("with " + python, lambda: cli("env", "check", "loom.kellet", "--python", python))
point("cache", lambda: cli("cache"))
point("cache cleared", lambda: cli("cache", "clear"))
point("no part of the cache", lambda: cli("cache", "clear", "bytecod"))
point("completion", lambda: [cli("completion", shell)[0] for shell in ("bash", "zsh", "fish", "tcsh")])
point("steps of a draft", lambda: cli("migrate", "old.npz", "--with", "m.tml", "--plan"))
point("left", lambda: sorted(name for name in os.listdir() if name.endswith((".kellet", ".part"))))
"""
)


@pytest.fixture(scope="module")
def there(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("loom") / "project"
    write(folder, PROJECT)
    return answers(f"NO_NAMES = {NO_NAMES!r}\n{SCRIPT}", folder)


FOUND: dict[str, Any] = {
    "made": [0, ""],
    "a path apart": 2,
    **{f"trust {name}": 2 for name in NO_NAMES},
    "elsewhere": [0, "model: output: the same bits\n", ""],
    "loosened": [["numpy", "numpy", "compiled"]],
    "completion": [0, 0, 0, 2],
    "traced": [
        0,
        True,
        0,
        "trace: 5 of 5 stored modules were used",
        0,
        [0, "model: output: the same bits\n", ""],
    ],
    "a name nearly": [
        4,
        "",
        (
            "kellet: target looms.shuttle:bild: module 'looms.shuttle' has no attribute 'bild'\n"
            "  did you mean build?\n"
        ),
    ],
    "a module nearly": [
        4,
        "",
        (
            "kellet: No module named 'looms.shutle': nothing on sys.path has this name\n"
            "  did you mean looms.shuttle?\n"
        ),
    ],
    "a file nearly": [
        3,
        "",
        "kellet: [Errno 2] No such file or directory: 'lom.kellet'\n  did you mean loom.kellet?\n",
    ],
    "steps of a draft": [
        3,
        "",
        "kellet: [Errno 2] No such file or directory: 'm.tml'\n  did you mean m.toml?\n",
    ],
    "no part of the cache": [
        1,
        "",
        (
            "kellet: bytecod: no part of the cache; it has bytecode, code, scans, wheels; "
            "did you mean bytecode?\n"
        ),
    ],
    "left": ["loom.kellet", "weaver.kellet"],
}
EXPECTED = "expected package.module:name, or a module"
BUILD, ABOVE = "looms.shuttle:build", "looms.shuttle:SHUTTLE"
USAGE = {
    "a path with dots": f"argument TARGET: './looms/shuttle:build': {EXPECTED}; did you mean {BUILD}?",
    "a path with py": f"argument TARGET: 'looms/shuttle.py:build': {EXPECTED}; did you mean {BUILD}?",
    "a path above": f"argument TARGET: '../project/looms/shuttle:SHUTTLE': {EXPECTED}; did you mean {ABOVE}?",
    "an option nearly": "unrecognized arguments: --depp; did you mean --deep?",
    "trust is told": (
        "argument --trust: 'looms/shuttle:Shuttle': expected 'package.module:Qualified.Name'; after the "
        "first part, '*' stands for one part and '**' for any number"
    ),
    "loosened what is not there": (
        "argument --loosen: 'nmupy': no distribution nmupy is installed here; did you mean numpy?"
    ),
}


@pytest.mark.parametrize("point", FOUND)
def test_it_answers_with_a_code_and_a_line(there: dict[str, Any], point: str) -> None:
    assert there[point] == FOUND[point]


@pytest.mark.parametrize("point", USAGE)
def test_wrong_usage_is_told_below_the_usage(there: dict[str, Any], point: str) -> None:
    code, out, errors = there[point]
    assert (code, out) == (2, "")
    usage, *rest, last = errors.splitlines()
    assert usage.startswith("usage: kellet ")
    assert all(line.startswith(" ") for line in rest)
    assert last.partition(": error: ")[2] == USAGE[point]


@pytest.mark.parametrize(
    ("point", "told"),
    [
        ("code that fails", "target looms.shuttle:broken: calling it failed: LookupError: no warp, at "),
        ("code that is none", "target looms.half:NET: importing it failed: SyntaxError: "),
        ("code that misses", "target looms.needs:NET: No module named 'weft_that_is_nowhere', at "),
    ],
)
def test_code_that_fails_is_one_line_with_its_place(there: dict[str, Any], point: str, told: str) -> None:
    code, out, errors = there[point]
    assert (code, out) == (4, "")
    (line,) = errors.splitlines()
    assert line.startswith(f"kellet: {told}")
    assert {"code that fails": "shuttle.py:9", "code that is none": "half.py, line 2"}.get(
        point, "needs.py:1"
    ) in line


def test_a_requirement_that_what_is_here_does_not_meet_is_a_problem(there: dict[str, Any]) -> None:
    code, out, errors = there["loosened too far"]
    assert (code, errors) == (1, "")
    assert (
        "* A requirement cannot be loosened like this.\n    numpy>99\n      Context: the installed numpy "
        in out
    )


def test_the_cache_is_told_and_cleared(there: dict[str, Any]) -> None:
    code, out, errors = there["cache"]
    assert (code, errors) == (0, "")
    sizes = [line.split()[:3] for line in out.splitlines() if line.startswith("    ")]
    assert [name for name, *_ in sizes] == ["bytecode", "code", "scans", "wheels"]
    assert sizes[2][1] != "0"
    code, out, errors = there["cache cleared"]
    assert (code, errors, out.endswith(" removed\n")) == (0, "", True)


@pytest.mark.unix  # links, and where a Python lies in an environment
@pytest.mark.parametrize("python", ["env/bin/python", "./env/../env/bin/python"])
def test_a_python_is_named_from_the_current_folder(there: dict[str, Any], python: str) -> None:
    code, out, errors = there[f"with {python}"]
    assert (code, errors) == (0, "")
    assert out.endswith("the environment is as recorded\n")


@pytest.mark.unix  # a shim is a script for sh
def test_a_shim_that_starts_no_python_is_told_in_one_line(there: dict[str, Any]) -> None:
    code, out, errors = there["with shims/python"]
    assert (code, out) == (1, "")
    (line,) = errors.splitlines()
    assert line.endswith(
        "shims/python: no Python answers there (exit code 127: pyenv: version 9.9 is not installed choose "
        f"one); name one, as --python {sys.executable}"
    )
