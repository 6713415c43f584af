"""What a program sets for the whole process, and a clean one has otherwise, is a suspect."""

import decimal
import locale
import logging
import sys
import warnings
from types import SimpleNamespace

import numpy
import pytest

import kellet
from packager import PackagingWarning
from packager._proving import ProofError
from packager._proving.differences import settings_here

pytestmark = pytest.mark.processes(share=3)

NET = """
import decimal, kellet, logging, os, sys, warnings
from decimal import Decimal
import numpy as np
class Net:
    def __init__(self, asked): self.asked = asked
    def __call__(self, x): return x + float(getattr(self, "ask_" + self.asked)())
    def ask_decimal(self): return Decimal(1) / 3
    def ask_kellet(self): return str(kellet.zeros(1).dtype) == "float64"
    def ask_hooks(self): return kellet.nn.Identity()(kellet.ones(1)).item()
    def ask_numpy(self):
        try: return np.float64(1) / np.float64(0) > 0
        except FloatingPointError: return 7
    def ask_digits(self):
        try: return len(str(10 ** 2000))
        except ValueError: return -1
    def ask_warnings(self):
        try: warnings.warn("old", FutureWarning)
        except FutureWarning: return -1
        return 1
    def ask_logging(self): return logging.getLogger("shop").isEnabledFor(logging.DEBUG)
    def ask_folder(self): return len(os.getcwd())
    def ask_arguments(self): return len(sys.argv)
    def ask_script(self): return getattr(sys.modules["__main__"], "SCALE", 1)
"""
ASKS_ITS_NAME = """
    def ask_name(self): return type(self).__module__ == "sets"
"""
SETS = {
    "decimal": (
        lambda: setattr(decimal.getcontext(), "prec", 3),
        "decimal.getcontext().prec is 3 here and 28 in the clean process",
    ),
    "numpy": (
        lambda: numpy.seterr(divide="raise"),
        "numpy.geterr() is {'divide': 'raise', ",
    ),
    "kellet": (
        lambda: kellet.set_default_dtype(kellet.float64),
        "kellet.get_default_dtype() is float64 here and float32 in the clean process",
    ),
    "hooks": (
        lambda: kellet.nn.modules.module.register_module_forward_hook(
            lambda module, args, output: output * 5
        ),
        "kellet.nn.module_hooks.forward is [function tests.proving.test_process_settings:<lambda>",
    ),
    "digits": (
        lambda: sys.set_int_max_str_digits(1000),
        "sys.get_int_max_str_digits() is 1000 here and 4300 in the clean process",
    ),
    "warnings": (lambda: warnings.simplefilter("error", FutureWarning), "warnings.filters is "),
    "logging": (
        lambda: logging.getLogger("shop").setLevel(logging.DEBUG),
        "logging.getLogger('shop').level is 10 here and 0 in the clean process",
    ),
    "folder": (lambda: None, "os.getcwd() is "),
    "script": (
        lambda: vars(sys.modules["__main__"]).update(SCALE=4.0),
        "__main__.SCALE is 4.0 here and not set in the clean process",
    ),
    "name": (
        lambda: None,
        "__name__ of stored modules is unchanged here and renamed in the clean process",
    ),
    "arguments": (lambda: sys.argv.append("--wide"), "sys.argv[1:] is "),
}


@pytest.fixture(autouse=True)
def put_back(monkeypatch):
    digits, arguments = sys.get_int_max_str_digits(), [*sys.argv]
    numpy_before, context, dtype = numpy.geterr(), decimal.getcontext().copy(), kellet.get_default_dtype()
    # In a process that runs tests by itself both would be told before what a test has set.
    del sys.argv[1:]
    monkeypatch.setattr(sys.modules["__main__"], "sys", sys, raising=False)
    with warnings.catch_warnings():
        yield
    logging.getLogger("shop").setLevel(logging.NOTSET)
    sys.set_int_max_str_digits(digits)
    sys.argv[:] = arguments
    vars(sys.modules["__main__"]).pop("SCALE", None)
    numpy.seterr(**numpy_before)
    decimal.setcontext(context)
    kellet.set_default_dtype(dtype)
    kellet.nn.module_hooks.for_all_modules().forward.clear()


@pytest.mark.parametrize("name", SETS)
@pytest.mark.filterwarnings("ignore:divide by zero")
def test_an_answer_that_hangs_on_one_is_refused_with_both(export, name):
    change, told = SETS[name]
    change()
    with pytest.raises(ProofError) as caught:
        export(
            {"sets.py": NET + ASKS_ITS_NAME * (name == "name")},
            f"sets:Net({name!r})",
            lambda one: one.save_example("model", {"x": numpy.ones(1)}),
        )
    [problem] = caught.value.problems
    assert any(one.startswith(told) for one in problem.suspects[:3]), problem.suspects


def test_one_is_told_where_nothing_is_called_and_not_where_no_answer_hangs_on_it(export):
    decimal.getcontext().prec = 3
    with pytest.warns(
        PackagingWarning, match=r"decimal.getcontext\(\).prec is 3 here and 28 in the clean process"
    ):
        export({"sets.py": NET}, "sets:Net('hooks')")
    called = export(
        {"sets.py": NET}, "sets:Net('hooks')", lambda one: one.save_example("model", {"x": numpy.ones(1)})
    )
    assert called.proof.differences == ()


def test_a_locale_is_told_by_what_it_counts_for():
    here = settings_here()
    assert here["locale.setlocale(LC_NUMERIC)"] == locale.setlocale(locale.LC_NUMERIC)


def test_what_a_version_of_a_library_lacks_is_left_out(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn", SimpleNamespace(get_config=lambda: {"assume_finite": True}))
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(get_default_dtype=lambda: "float32"))
    found = settings_here()
    assert {name: one for name, one in found.items() if name.startswith(("sklearn", "torch"))} == {
        "sklearn.get_config()": "{'assume_finite': True}",
        "torch.get_default_dtype()": "float32",
    }
