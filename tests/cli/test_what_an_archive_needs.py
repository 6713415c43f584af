"""`inspect` lists what an archive will need before it is loaded, and no word stands for unstated names."""

from __future__ import annotations

import json
import re
import sys
import types
from collections import Counter, UserDict, defaultdict
from fractions import Fraction
from functools import partial
from importlib import invalidate_caches
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import FunctionTransformer

from packager import PackageExporter, PackageImporter
from packager._audit import Trust
from packager._cli import main
from packager._cli.runnable import main as run_archive
from packager.errors import UntrustedTypeError
from tests import processes

HELD: dict[str, list[Any]] = {
    "nothing": [np.ones(2), Fraction(1, 2), Counter("ab"), LogisticRegression().fit([[0.0], [1.0]], [0, 1])],
    "a path": [Path("data")],
    "two classes": [Path("data"), UserDict(a=1)],
    "a function in an estimator": [FunctionTransformer(json.dumps)],
    "a partial": [partial(json.loads, strict=False)],
    "a factory": [defaultdict(Fraction)],
    "a bound method": [types.MethodType(json.dumps, "text")],
}


def archive(path: Path, held: list[Any]) -> Path:
    with PackageExporter(path, policy="auto", prove=False) as exporter:
        exporter.save_object("m", "o", held)
    return path


def listed(path: Path, capsys: pytest.CaptureFixture[str]) -> set[str]:
    """The names that `inspect` says are needed: for themselves, or for the form that they are in."""
    assert main(["inspect", str(path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    names: set[str] = set()
    for at, line in enumerate(lines):
        if line.startswith("names that loading needs trust for"):
            rows = lines[at + 1 :]
            names |= {
                found for row in rows[: rows.index("")] for found in re.findall(r"\S+:[\w.]+$", row.strip())
            }
    return names | set(re.findall(r"trust=\('([^']+)'", "\n".join(lines)))


@pytest.mark.filterwarnings("ignore::packager.errors.PackagingWarning")
@pytest.mark.parametrize("held", HELD.values(), ids=HELD)
def test_what_inspect_lists_is_enough_and_none_of_it_too_much(
    held: list[Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = archive(tmp_path / "x.kellet", held)
    names = listed(path, capsys)
    assert bool(names) == (held is not HELD["nothing"])
    with PackageImporter(path, environment="ignore", trust=names) as importer:
        assert len(importer.load_object("m", "o")) == len(held)
    for name in names:
        with (
            PackageImporter(path, environment="ignore", trust=names - {name}) as importer,
            pytest.raises(UntrustedTypeError, match=name.replace(".", r"\.")),
        ):
            importer.load_object("m", "o")


_QUIET = """
import sys
before = set(sys.modules)
from packager._cli import main
assert main(["inspect", sys.argv[1]]) == 0
print(sorted({"sklearn", "numpy", "fractions"} & (set(sys.modules) - before)), file=sys.stderr)
"""


@pytest.mark.filterwarnings("ignore::packager.errors.PackagingWarning")
def test_nothing_of_it_is_imported_to_say_so(tmp_path: Path) -> None:
    path = archive(tmp_path / "x.kellet", [FunctionTransformer(json.dumps)])
    ran = processes.run(
        [sys.executable, "-c", _QUIET, str(path)],
        cold=True,
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    assert "json:dumps" in ran.stdout
    assert "sklearn" not in ran.stderr


@pytest.mark.parametrize("word", ["sklearn", "lifelines", "torch_geometric", "all", "*", "sklearn:", "**:*"])
def test_no_word_stands_for_a_library(word: str) -> None:
    with pytest.raises(TypeError, match="expected a collection of names"):
        Trust(word)
    with pytest.raises(ValueError, match=r"expected 'package\.module:Qualified\.Name'"):
        Trust([word])


def test_a_pattern_takes_in_classes_that_are_filled_and_nothing_that_is_called_or_handed_on() -> None:
    trust = Trust(["sklearn.**:*"])
    assert trust.grants("sklearn.new", "Estimator", "create")
    assert not trust.grants("sklearn.new", "Estimator", "call")
    assert not trust.grants("sklearn.new", "function", "value")
    assert not trust.grants("sklearn2.new", "Estimator", "create")


@pytest.mark.filterwarnings("ignore::packager.errors.PackagingWarning")
@pytest.mark.parametrize(
    ("asked", "stops"),
    [(["--check"], True), (["--input", "x.npz"], True), (["--text", "a"], True), (["--verify"], False)],
)
def test_a_runnable_archive_stops_before_its_code_where_something_is_missing(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    asked: list[str],
    stops: bool,
) -> None:
    (tmp_path / "lent_here.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    with PackageExporter(tmp_path / "x.kellet", policy="auto", prove=False) as exporter:
        exporter.extern("lent_here")
        exporter.save_source_string("own", "import lent_here\n")
    (tmp_path / "lent_here.py").unlink()
    invalidate_caches()
    code = run_archive(str(tmp_path / "x.kellet"), asked)
    errors = capsys.readouterr().err
    assert (code, "lent_here: recorded" in errors) == ((1, True) if stops else (0, False)), errors
