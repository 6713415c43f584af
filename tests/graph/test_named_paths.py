"""Where code reads the `__path__` of a namespace package, and where it only lists its modules."""

import pytest

from packager.graph import paths_read


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
    ],
)
def test_reads_of_a_path_have_their_line_and_function(code, found):
    assert list(paths_read(code.encode(), "lab", ["lab", "lab.x"])) == found
