"""Golden calls and calls by the command, of models that no other test has, where only their archives are.

The models are exported by one process, in their project's folder; the archives are called by another, started
with `-I` in an empty one.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from .points import COMMANDS, answers, write

BREW = {
    "brew.py": """
        import itertools
        import os
        import sys
        import numpy as np
        import kellet
        from kellet import nn

        class Kettle(nn.Module):
            def __init__(self):
                super().__init__()
                self.drop = nn.Dropout(0.5)
            def forward(self, x):
                return self.drop(x), self.training

        class Tin:
            def __call__(self, leaf="", grams=1, mixed=None):
                return {
                    "none": None, "leaf": leaf.title(), "grams": grams * 3, "far": 2**70 + grams,
                    "deep": [{"x": (mixed, [None, True])}, -0.0, "\\N{GREEK SMALL LETTER ALPHA}"],
                    "odd": [float("nan"), float("inf"), -float("inf")],
                    "cups": np.arange(3, dtype="i8") + 2**62 + int(os.environ.get("MORE", 0)),
                }
            def steep(self, minutes):
                return f"{minutes} min"
            def _hidden(self):
                return 1

        class Lid:
            state = itertools.count()
            def __call__(self, how="shut"):
                if how == "exit":
                    sys.exit("lid off")
                if how == "code":
                    raise SystemExit(0)
                if how == "missing":
                    return open("/no/such/tea").read()
                if how == "folder":
                    os.listdir("/no/such/shelf")
                return how

        class Dice:
            def __call__(self, sides):
                return np.random.default_rng().integers(0, 10**9, 3)

        class Counting:
            def __init__(self):
                self.calls = 0
            def __call__(self, x):
                self.calls += 1
                return self.calls * x

        kettle, tin, lid, dice, counting = Kettle(), Tin(), Lid(), Dice(), Counting()

        def late():
            import brew_late
            return brew_late.SPOON
        class Lazy:
            def __call__(self):
                return late()
        lazy = Lazy()
    """,
    "brew_late.py": "SPOON = 'silver'\n",
}
OPENS = 'return open("/no/such/tea").read()'
EXPORT = (
    COMMANDS
    + """
import numpy as np
np.savez("x.npz", x=np.ones((4, 8), "f4"))
open("tin.json", "w").write('{"leaf": "oolong tea", "grams": 5, "mixed": {"k": [1, null, "z"]}}')
open("how.json", "w").write('{"how": "open"}')
open("how.txt", "w").write("a jar")
open("bad.json", "w").write('{"how": "missing"}')
open("exit.json", "w").write('{"how": "exit"}')
for name, check, more in (
    ("kettle", "x.npz", ()), ("tin", "tin.json", ()), ("lid", "how.json", ()), ("lazy", None, ()),
    ("kettle-train", None, ("--train",)), ("jar", "how.txt", ()),
    ("cover", None, ()),
):
    target = {"kettle-train": "kettle", "jar": "lid", "cover": "lid"}.get(name, name)
    asked = ("--example", check) if check else ()
    point(name, lambda: cli("export", f"brew:{target}", "-o", f"../{name}.kellet", *asked, *more)[::2])
no = ("-o", "no.kellet", "--no-proof")
point("random", lambda: cli("export", "brew:dice", *no, "--example", "how.txt"))
point("random in training", lambda: cli("export", "brew:kettle", *no, "--example", "x.npz", "--train"))
point("counts", lambda: cli("export", "brew:counting", *no, "--example", "x.npz"))
point("an error", lambda: cli("export", "brew:lid", *no, "--example", "bad.json"))
point("an exit", lambda: cli("export", "brew:lid", *no, "--example", "exit.json"))
by_method = ("--callable", "steep", "--example", "how.txt")
point("by method", lambda: cli("export", "brew:tin", "-o", "../steep.kellet", *by_method)[0])
import os
point("written", lambda: sorted(os.listdir("..")))
"""
)
CALL = (
    COMMANDS
    + """
import os
from packager import PackageImporter
def at(name):
    return os.path.join(HOME, name + ".kellet")
point("same", lambda: [cli("check", at(name))[0] for name in ("kettle", "tin", "lid", "jar", "steep")])
def in_mode(*more):
    import io, numpy as np
    x = os.path.join(HOME, "project", "x.npz")
    code, out, err = cli("run", at("kettle"), "--input", x, "-o", "y.json", *more)
    found = json.loads(open("y.json").read())
    return code, found["output.1"], set(np.ravel(found["output.0"])) == {1.0}
point("evaluation mode", lambda: in_mode())
point("training mode", lambda: in_mode("--train"))
def json_of(*arguments, piped=b""):
    code, out, err = cli("run", *arguments, "-o", "-", piped=piped)
    return code, json.loads(out, parse_constant=lambda text: f"no JSON: {text}"), err
green = b'{"leaf": "green", "grams": -2, "mixed": {"k": []}}'
point("nested", lambda: json_of(at("tin"), "--input", "-", piped=green))
point("text", lambda: json_of(at("lid"), "--text", "half open"))
point("text by a pipe", lambda: json_of(at("lid"), "--input", "-", piped=b"two words\\n"))
point("JSON that is no object", lambda: json_of(at("cover"), "--input", "-", piped=b"[1, null]"))
point("a method", lambda: json_of(at("tin"), "--callable", "steep", "--text", "4"))
point("a hidden method", lambda: cli("run", at("tin"), "--callable", "_hidden", "--text", "4")[::2])
point("no entry", lambda: cli("run", at("tin"), "--entry", "kettel", "--text", "4")[::2])
os.environ["MORE"] = "1"
point("integers exactly", lambda: cli("check", at("tin")))
for how in ("exit", "code", "missing", "folder"):
    point("fails: " + how, lambda: cli("run", at("lid"), "--text", how)[::2])
def failing(how):
    with PackageImporter(at("lid")) as importer:
        return importer.load_object("lid", "lid")(how)
def closed():
    with PackageImporter(at("lazy")) as importer:
        lazy = importer.load_object("model", "model")
    return lazy()
point("closed", closed)
point("left nothing", lambda: sorted(os.listdir()))
"""
)
EXPORTED: dict[str, Any] = {
    "kettle": [0, ""],
    "tin": [0, ""],
    "lid": [0, ""],
    "lazy": [0, ""],
    "kettle-train": [0, ""],
    "jar": [0, ""],
    "cover": [0, ""],
    "by method": 0,
}
FOUND: dict[str, Any] = {
    "same": [0, 0, 0, 0, 0],
    "evaluation mode": [0, False, True],
    "training mode": [0, True, False],
    "text": [0, {"output": "half open"}, ""],
    "text by a pipe": [0, {"output": "two words"}, ""],
    "JSON that is no object": [0, {"output.0": 1, "output.1": None}, ""],
    "a method": [0, {"output": "4 min"}, ""],
    "left nothing": ["y.json"],
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("brew")
    write(folder / "project", BREW)
    return folder


@pytest.fixture(scope="module")
def exported(folder: Path) -> dict[str, Any]:
    return answers(EXPORT, folder / "project")


@pytest.fixture(scope="module")
def there(folder: Path, exported: dict[str, Any]) -> dict[str, Any]:
    return answers(f"HOME = {str(folder)!r}\n{CALL}", folder / "empty", "-I")


@pytest.mark.parametrize("point", EXPORTED)
def test_an_archive_with_a_golden_call_is_written(exported: dict[str, Any], point: str) -> None:
    assert exported[point] == EXPORTED[point]


@pytest.mark.parametrize("point", FOUND)
def test_a_call_of_the_archive_alone_answers(there: dict[str, Any], point: str) -> None:
    assert there[point] == FOUND[point]


def test_what_is_random_is_told_with_the_mode(exported: dict[str, Any]) -> None:
    code, *said = exported["random"]
    told = "a second call from the same generator states, in evaluation mode, gave another output (off"
    assert (code, told in " ".join(" ".join(said).split())) == (0, True)


def test_what_drops_at_random_in_training_is_repeatable(exported: dict[str, Any]) -> None:
    code, *said = exported["random in training"]
    assert (code, "not repeatable" in " ".join(said)) == (0, False)


def test_what_an_object_counts_itself_is_no_random_answer(exported: dict[str, Any]) -> None:
    assert exported["counts"][0] == 0


@pytest.mark.parametrize(
    ("point", "told", "line"),
    [
        (
            "an error",
            "calling it failed: FileNotFoundError: .*'/no/such/tea'",
            'return open("/no/such/tea").read()',
        ),
        ("an exit", r"calling Lid: its code ended with SystemExit\('lid off'\)", 'sys.exit("lid off")'),
    ],
)
def test_a_failure_of_a_golden_call_has_its_line_and_nothing_is_written(
    exported: dict[str, Any], point: str, told: str, line: str
) -> None:
    code, out, errors = exported[point]
    assert (code, out) == (1, "")
    assert re.search(rf"{told}, at \S+brew\.py:{line_of(line)} in __call__", errors)
    assert "no.kellet" not in exported["written"]


def test_nested_answers_are_json_that_any_reader_takes(there: dict[str, Any]) -> None:
    code, found, errors = there["nested"]
    assert (code, errors) == (0, "")
    assert found == {
        "output.none": None,
        "output.leaf": "Green",
        "output.grams": -6,
        "output.far": 2**70 - 2,
        "output.deep.0.x.0.k": [],
        "output.deep.0.x.1.0": None,
        "output.deep.0.x.1.1": True,
        "output.deep.1": -0.0,
        "output.deep.2": "\u03b1",
        "output.odd.0": "NaN",
        "output.odd.1": "Infinity",
        "output.odd.2": "-Infinity",
        "output.cups": [2**62, 2**62 + 1, 2**62 + 2],
    }


def test_integers_are_compared_as_integers(there: dict[str, Any]) -> None:
    code, out, errors = there["integers exactly"]
    told = "no trace is stored, so the part of the model that differs is unknown"
    assert (code, errors) == (
        1,
        f"model: {told}. Export again with --trace-calls where the outputs are right\n",
    )
    lines = {line.rpartition(": ")[2] for line in out.splitlines() if "cups" not in line}
    assert lines == {"the same bits"}
    assert "model: output.cups: off by 1 at most\n" in out  # as floats, both are 2**62


@pytest.mark.parametrize(
    ("how", "told", "line"),
    [
        ("exit", r"its code ended with SystemExit\('lid off'\)", 'sys.exit("lid off")'),
        ("code", r"its code ended with SystemExit\(0\)", "raise SystemExit(0)"),
        (
            "missing",
            "the model failed: FileNotFoundError: .*'/no/such/tea'",
            'return open("/no/such/tea").read()',
        ),
        ("folder", "the model failed: FileNotFoundError: .*'/no/such/shelf'", 'os.listdir("/no/such/shelf")'),
    ],
)
def test_a_failure_of_the_model_has_its_file_and_line(
    there: dict[str, Any], how: str, told: str, line: str
) -> None:
    code, errors = there[f"fails: {how}"]
    assert code == 4
    assert re.search(rf"{told}, at \S+brew\.py:{line_of(line)} in __call__", errors)


def line_of(line: str) -> int:
    (number,) = (
        at for at, text in enumerate(BREW["brew.py"].strip("\n").splitlines(), 1) if text.strip() == line
    )
    return number


def test_what_cannot_be_called_names_what_can(there: dict[str, Any]) -> None:
    assert there["no entry"] == [
        1,
        (
            "kellet: no entry point 'kettel'; the archive has model, model/model; write entry='model' "
            "(--entry model)\n"
        ),
    ]
    code, errors = there["a hidden method"]
    assert code == 1
    assert "'_hidden' is not the name of a public method" in errors


def test_a_closed_archive_says_so(there: dict[str, Any]) -> None:
    assert re.match(
        r"ArchiveClosedError: the archive of 'brew_late' \(\S+lazy\.kellet\) is closed, ", there["closed"]
    )
