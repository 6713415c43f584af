"""Where code reads the `__path__` of a namespace package, and where it only lists its modules."""

import pytest

from packager.graph import paths_read
from tests.tables import one_test


@one_test
@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("import lab\nN = len(lab.__path__)", [("lab", 2, 0, "")]),
        ("import lab.x as x\ndef f(): return x.__path__[0]", [("lab.x", 2, 2, "f")]),
        (
            "from lab import x\nclass A:\n    def f(self):\n        return [p for p in x.__path__]",
            [("lab.x", 4, 3, "A.f")],
        ),
        ("from . import x\ndef f():\n    def g(): return x.__path__\n    return g", [("lab.x", 3, 2, "f")]),
        (
            "import lab.x\ndef f(): return lab.x.__path__, lab.__path__",
            [("lab.x", 2, 2, "f"), ("lab", 2, 2, "f")],
        ),
        ("import lab, pkgutil\ndef f(): return list(pkgutil.iter_modules(lab.__path__, 'lab.'))", []),
        (
            "import lab\nfrom pkgutil import walk_packages\nM = [*walk_packages(path=lab.__path__)]",
            [],
        ),
        ("import lab.y\ndef f(): return lab.y.__path__, __path__, other.__path__", []),
        ("def f(:", []),
        ("from . import __path__ as where\nN = len(where)", [("lab", 2, 0, "")]),
        ("from lab.x import __path__\ndef f(): return __path__[-1]", [("lab.x", 2, 2, "f")]),
        ("import sys\nN = len(sys.modules['lab'].__path__)", [("lab", 2, 0, "")]),
        (
            "import importlib\na = importlib.import_module('lab')\nN = [*a.__path__]",
            [("lab", 3, 0, "")],
        ),
        ("N = len(__import__(__name__.partition('.')[0]).__path__)", [("lab", 1, 0, "")]),
        ("N = len(__import__(__package__.split('.')[0]).__path__)", [("lab", 1, 0, "")]),
        (
            "import lab\ndef f(): return lab.__spec__.submodule_search_locations",
            [("lab", 2, 2, "f")],
        ),
        (
            "from importlib.util import find_spec\nN = [*find_spec('lab.x').submodule_search_locations]",
            [("lab.x", 2, 0, "")],
        ),
        ("import lab\nN = len(getattr(lab, '__path__', ())), vars(lab)['__path__']", [("lab", 2, 0, "")] * 2),
        ("import lab\nM = __import__('pkgutil').walk_packages(lab.__path__)", []),
        ("import lab\nN = lab.__dict__['__path__']", [("lab", 2, 0, "")]),
        ("import lab\nif (p := lab):\n    print(p.__path__)", [("lab", 3, 0, "")]),
        ("import lab\nN = getattr(lab, '__name__'), vars(lab)['x'], other['__path__']", []),
    ],
)
def test_reads_of_a_path_have_their_line_and_function(code, found):
    assert list(paths_read(code.encode(), "lab", ["lab", "lab.x"])) == found


def test_a_package_that_reads_its_own_path_reads_that_of_no_other():
    code = b"from pkgutil import extend_path\n__path__ = extend_path(__path__, __name__)\nN = len(__path__)"
    assert list(paths_read(code, "lab", ["lab"], "lab")) == [("lab", 3, 0, "")]
    assert list(paths_read(code, "lab", ["lab.x"], "lab")) == []
