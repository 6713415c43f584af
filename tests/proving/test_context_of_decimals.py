"""How a program counts decimals is told where the archive's own code counts them, too."""

import decimal

import pytest

pytestmark = pytest.mark.processes(share=3)

NET = """
from decimal import Decimal
class Share:
    def __call__(self, parts): return Decimal(1) / parts
"""


@pytest.fixture
def context():
    before = decimal.getcontext().copy()
    yield decimal.getcontext()
    decimal.setcontext(before)


@pytest.mark.parametrize(
    ("name", "value", "usual"), [("prec", 6, "28"), ("rounding", "ROUND_UP", "ROUND_HALF_EVEN")]
)
def test_another_way_to_count_is_told_with_both(export, context, name, value, usual):
    setattr(context, name, value)
    told = (
        rf"in the proof, decimal.getcontext\(\).{name} was {usual}, and is {value} where the archive was "
        "made: whoever loads it has to set that, too"
    )
    with pytest.warns(UserWarning, match=told):
        export({"shares.py": NET}, "shares:Share()")


def test_one_that_no_stored_code_counts_by_is_not(export, context):
    context.prec = 6
    assert export({"shares.py": "class Share: pass\n"}, "shares:Share()").proof.notes == ()


def test_one_that_stored_code_sets_is_not(export, context):
    sets = "import decimal\ndecimal.getcontext().prec = 6\n"
    assert export({"shares.py": sets + NET}, "shares:Share()").proof.notes == ()
