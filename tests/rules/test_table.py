"""The table of rules: which file a rule is in, and what happens when one is asked for."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from kellet.rules import RULES, every_rule, raw
from kellet.rules.families import FAMILIES, FAMILY_OF
from kellet.rules.rule import rule

EACH_FAMILY_ALONE = """
import importlib, sys
from kellet.rules import RULES, every_rule
from kellet.rules.families import FAMILIES
every_rule()
for family, names in FAMILIES.items():
    RULES.clear()
    del sys.modules[f"kellet.rules.{family}"]
    importlib.import_module(f"kellet.rules.{family}")
    assert sorted(RULES) == sorted(names.split()), (family, sorted(RULES))
"""


def test_every_rule_is_listed_with_the_file_that_it_is_in() -> None:
    subprocess.run([sys.executable, "-c", EACH_FAMILY_ALONE], check=True)


def test_no_rule_is_listed_twice() -> None:
    assert len(FAMILY_OF) == sum(len(names.split()) for names in FAMILIES.values())
    assert set(every_rule()) == set(FAMILY_OF)


def test_a_file_is_imported_when_one_of_its_rules_is_asked_for() -> None:
    program = (
        "import sys, kellet\n"
        "assert 'kellet.rules.convolution' not in sys.modules\n"
        "assert 'kellet.rules.activations' not in sys.modules\n"
        "kellet.ones(1).sigmoid()\n"
        "assert 'kellet.rules.activations' in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_an_unknown_rule_is_a_key_error() -> None:
    with pytest.raises(KeyError, match="no_such_rule"):
        RULES["no_such_rule"]
    with pytest.raises(
        AttributeError, match="no rule is called 'no_such_rule'; the rules are in kellet/rules/"
    ):
        raw.no_such_rule  # reading it is what is tested


def test_a_name_is_given_once() -> None:
    every_rule()
    with pytest.raises(ValueError, match="rule 'add' is in the table already"):
        rule("add", np.add)
