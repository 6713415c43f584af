"""A name that a module lacks is answered with the nearest that it has; looking for none costs no import."""

from __future__ import annotations

import subprocess
import sys

import pytest

import packager
from packager import _graph as graph
from packager import errors, testing


@pytest.mark.parametrize(
    ("module", "name", "meant"),
    [
        (packager, "PackageExportr", "PackageExporter"),
        (errors, "UntrustedTypeErro", "UntrustedTypeError"),
        (testing, "round_tri", "round_trip"),
        (graph, "Digraph", "DiGraph"),
    ],
)
def test_an_attribute_and_an_import_tell_the_nearest_name(module: object, name: str, meant: str) -> None:
    place = module.__name__  # type: ignore[attr-defined]  # of modules
    with pytest.raises(
        AttributeError, match=f"^module '{place}' has no attribute '{name}'; did you mean '{meant}'\\?$"
    ):
        getattr(module, name)
    with pytest.raises(
        ImportError, match=f"^cannot import name '{name}' from '{place}'; did you mean '{meant}'\\?$"
    ) as caught:
        exec(f"from {place} import {name}")
    assert caught.value.name == place


def test_a_name_that_is_near_to_none_is_only_not_there() -> None:
    with pytest.raises(AttributeError, match=r"^module 'packager' has no attribute 'zzzz'$"):
        packager.zzzz  # type: ignore[attr-defined]  # what is tested
    assert not hasattr(packager, "__wrapped__")


def test_importing_a_submodule_looks_for_no_near_name() -> None:
    program = "import sys; from packager import policy, _texts; print('difflib' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
