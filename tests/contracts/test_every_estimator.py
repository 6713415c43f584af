"""Every estimator of scikit-learn loads without trust, here and in a fresh process, and answers as it did."""

from __future__ import annotations

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from packager import PackageExporter
from packager._libraries.scikit_learn import FUNCTIONS, LEARNED
from packager.testing import round_trip
from tests import processes
from tests.contracts.estimators import answers, estimators, fitted

ROOT = Path(__file__).parents[2]


def equal(before: dict[str, list[Any]], after: dict[str, list[Any]]) -> bool:
    """Compare answers; BLAS may add up differently where memory lies otherwise."""
    assert before.keys() == after.keys()
    for method in before:
        for one, other in zip(before[method], after[method], strict=True):
            if one.dtype.kind in "fc":
                assert np.allclose(one, other, rtol=1e-10, atol=1e-12, equal_nan=True), method
            else:
                assert np.array_equal(one, other), method
    return True


@pytest.mark.filterwarnings("ignore")
def test_an_estimator_comes_back_without_trust(subtests: pytest.Subtests) -> None:
    for name, one in fitted().items():  # fitted when it is asked for: it takes seconds
        with subtests.test(name):
            trip = round_trip(one.estimator)
            assert trip.is_stable
            assert type(trip.object) is type(one.estimator)
            assert equal(answers(name, one.estimator, one.rows), answers(name, trip.object, one.rows))


def test_none_is_left_out() -> None:
    tried = {name.partition("-")[0] for name in fitted()}
    assert {name for name, _ in estimators()} <= tried


_ELSEWHERE = """
import sys, warnings
warnings.simplefilter("ignore")
import pickle
from packager import PackageImporter
from tests.contracts.estimators import answers
rows, names = pickle.load(open(sys.argv[2], "rb"))
with PackageImporter(sys.argv[1]) as importer:
    models = [importer.load_object("models", f"m{at}") for at in range(len(names))]
    found = {name: answers(name, model, rows[name]) for name, model in zip(names, models)}
pickle.dump(found, open(sys.argv[3], "wb"))
"""


@pytest.mark.filterwarnings("ignore")
def test_all_of_them_load_in_a_fresh_process_without_trust_or_code(tmp_path: Path) -> None:
    import pickle

    with PackageExporter(tmp_path / "all.kellet", prove=False) as exporter:
        exporter.extern("**")
        for at, one in enumerate(fitted().values()):
            exporter.save_object("models", f"m{at}", one.estimator)
    given, answered = tmp_path / "rows", tmp_path / "answers"
    given.write_bytes(pickle.dumps(({name: one.rows for name, one in fitted().items()}, list(fitted()))))
    command = [sys.executable, "-c", _ELSEWHERE, str(tmp_path / "all.kellet"), str(given), str(answered)]
    ran = processes.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert ran.returncode == 0, ran.stderr[-3000:]
    there = pickle.loads(answered.read_bytes())
    for name, one in fitted().items():
        assert equal(answers(name, one.estimator, one.rows), there[name])


# --- the table ---


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The script that lists them, which finds lookups.py beside itself."""
    monkeypatch.syspath_prepend(ROOT / "fixtures" / "families")
    spec = spec_from_file_location("list_names", ROOT / "fixtures" / "families" / "list_names.py")
    assert spec is not None
    assert spec.loader is not None
    made = module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("library", ["sklearn"])
def test_the_table_has_what_the_library_has_here(script: ModuleType, library: str) -> None:
    listed = {module: set(names.split()) for module, names in LEARNED.tables.homes.items()}
    missing = {
        f"{module}:{name}"
        for module, names in script.names_of(library).items()
        for name in names
        if name not in listed.get(module, ())
    }
    assert missing == set(), "run: make learned"


@pytest.mark.filterwarnings("ignore")
def test_the_table_has_the_functions_of_scikit_learn(script: ModuleType) -> None:
    for module, names in script.functions_of_sklearn().items():
        assert set(names) <= set(FUNCTIONS[module].split()), "run: python fixtures/families/list_names.py"
