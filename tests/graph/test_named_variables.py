"""Where code reads a variable of the environment, as a glob of its name."""

import pytest

from packager.graph import variables_read
from tests.tables import one_test


@one_test
@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("import os\nMODE = os.environ['MODE']", [("MODE", 2, 0)]),
        ("import os as o\ndef f(): return o.getenv('MODE', 1)", [("MODE", 2, 2)]),
        (
            "from os import environ, getenv as g\ndef f(): return environ.get('A'), g('B')",
            [("A", 2, 2), ("B", 2, 2)],
        ),
        (
            "import os\nenv = os.environ\nif 'DEBUG' in env: pass\nX = 'N' not in env",
            [("DEBUG", 3, 0), ("N", 4, 0)],
        ),
        ("import os\nKEY: str = 'A_B'\ndef f(): return os.environ.setdefault(KEY, '')", [("A_B", 3, 3)]),
        (
            "import os\nclass C:\n    def f(self, n):\n        return os.environ.get(f'C_{n}_X')",
            [("C_*_X", 4, 3)],
        ),
        (
            "import os\nP = 'Q_'\ndef f(n): return os.environ[P + n], os.environ.pop('R')",
            [("Q_*", 3, 3), ("R", 3, 3)],
        ),
        ("import os\ndef f(n): return os.environ[n], os.environ.get(n + n), os.environ.copy()", []),
        ("import os\ndef f(): os.environ['W'] = '1'; del os.environ['W']", []),
        ("environ = {}\ndef f(): return environ['A'], getenv('B')", []),
        ("def environ(:", []),
    ],
)
def test_reads_of_variables_have_the_name_the_line_and_the_function(code, found):
    assert sorted(variables_read(code.encode())) == sorted(found)
