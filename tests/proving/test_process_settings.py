"""What a program sets for the whole process, and a clean one has otherwise, is told."""

import pytest

pytest.importorskip("torch")

import locale
import sys
from types import SimpleNamespace

import numpy
import sklearn
import torch

from packager import PackageExporter
from packager.proving import ProofError
from packager.proving.process_settings import settings_here, what_is_set

pytestmark = pytest.mark.processes(share=3)

NET = """
import torch
from torch import nn
class Net(nn.Module):
    def forward(self, x): return torch.full((1,), 1 / 3) * x
"""
SETS = "torch.set_default_dtype(torch.float64)\n"


@pytest.fixture
def default_dtype():
    before = torch.get_default_dtype()
    yield
    torch.set_default_dtype(before)


def test_another_default_dtype_is_told_with_both(export, default_dtype):
    torch.set_default_dtype(torch.float64)
    told = (
        r"in the proof, torch.get_default_dtype\(\) was torch.float32, and is torch.float64 where the "
        "archive was made: whoever loads it has to set that, too"
    )
    with pytest.warns(UserWarning, match=told):
        export({"thirds.py": NET}, "thirds:Net()")


@pytest.mark.parametrize("text", [NET, NET + SETS])
def test_one_that_stored_code_sets_and_one_that_is_as_everywhere_is_not(export, default_dtype, text):
    exporter = export({"thirds.py": text}, "thirds:Net()")
    assert exporter.proof.notes == ()
    assert "globals: globals of modules" in exporter.proof.steps


ANSWERS = """
import numpy, sklearn, locale
class Net:
    def __call__(self, x): return x + 1
"""


@pytest.fixture
def answering():
    numpy_before, sklearn_before = numpy.geterr(), sklearn.get_config()
    yield
    numpy.seterr(**numpy_before)
    sklearn.set_config(**{name: sklearn_before[name] for name in ("transform_output", "assume_finite")})


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (
            lambda: sklearn.set_config(transform_output="pandas"),
            r"sklearn.get_config\(\)\['transform_output'\] was default, and is pandas where",
        ),
        (
            lambda: sklearn.set_config(assume_finite=True),
            r"sklearn.get_config\(\)\['assume_finite'\] was False, and is True where",
        ),
        (
            lambda: numpy.seterr(divide="raise"),
            r"numpy.geterr\(\) was divide='warn', .*, and is divide='raise', .* where",
        ),
    ],
)
def test_what_else_changes_answers_everywhere_is_told(export, answering, change, told):
    change()
    with pytest.warns(UserWarning, match=f"in the proof, {told} the archive was made"):
        export({"answering.py": ANSWERS}, "answering:Net()")


def test_a_locale_is_told_by_what_it_counts_for():
    here = settings_here(["locale", "sklearn", "numpy"])
    assert here["locale.setlocale(LC_NUMERIC)"] == locale.setlocale(locale.LC_NUMERIC)
    [told] = what_is_set({**here, "locale.setlocale(LC_NUMERIC)": "de_DE.UTF-8"})
    assert told.startswith("locale.setlocale(LC_NUMERIC) was ")
    assert " and is de_DE.UTF-8 where the archive was made" in told


def test_what_a_version_of_a_library_lacks_is_left_out(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn", SimpleNamespace(get_config=lambda: {"assume_finite": True}))
    assert settings_here(["sklearn"]) == {"sklearn.get_config()['assume_finite']": "True"}


def test_an_answer_that_hangs_on_one_is_refused_and_says_which(export, default_dtype, tmp_path):
    torch.set_default_dtype(torch.float64)
    strict = NET.replace("* x", "* x, str(torch.zeros(1).dtype)")
    with pytest.raises(ProofError) as caught:
        export(
            {"thirds.py": strict},
            "thirds:Net()",
            lambda one: one.save_check("model", {"x": numpy.ones(1)}),
        )
    [problem] = caught.value.problems
    assert problem.reason == "A golden call does not give there what it gave here."
    assert "stored as 'torch.float64', found 'torch.float32'" in problem.context
    assert (
        "in the proof, torch.get_default_dtype() was torch.float32, and is torch.float64" in problem.context
    )
    assert not (tmp_path / "net.kellet").exists()


MADE = """
import numpy
class Net:
    def __init__(self): self.gain = numpy.ones(2)
    def __call__(self, x): return self.gain * x
def made():
    net = Net()
    net.gain = net.gain * 3
    return net
"""


def test_an_answer_that_hangs_on_what_was_set_beside_a_factory_is_refused_and_says_what(project, tmp_path):
    project({"madenew.py": MADE})
    import madenew

    exporter = PackageExporter(tmp_path / "net.kellet", policy="auto")
    exporter.save_object("model", "model", madenew.made(), factory=madenew.Net)
    exporter.save_check("model", {"x": numpy.ones(2)})
    with pytest.raises(ProofError) as caught:
        exporter.close()
    [problem] = caught.value.problems
    assert problem.context.startswith("output: off by 2 at most")
    assert ".gain holds other numbers here than there" in problem.context
