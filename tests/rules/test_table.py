"""The table of rules: which file a rule is in, and what happens when one is asked for."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import numpy as np
import pytest

import kellet
from kellet.rules import RULES, every_rule, raw
from kellet.rules.rule import FAMILIES, rule
from tests import processes

EACH_FAMILY_ALONE = """
import importlib, sys
from kellet.rules import RULES, every_rule
from kellet.rules.rule import FAMILIES
names = set(every_rule())
for family in FAMILIES:
    RULES.clear()
    del sys.modules[f"kellet.rules.{family}"]
    importlib.import_module(f"kellet.rules.{family}")
    assert RULES, family
    assert names >= set(RULES), family
    names -= set(RULES)
assert names == set()
"""


def test_each_file_brings_rules_of_its_own_and_no_rule_is_in_two() -> None:
    processes.run([sys.executable, "-c", EACH_FAMILY_ALONE], cold=True, check=True)


def test_every_file_with_rules_is_listed_once() -> None:
    folder = Path(kellet.rules.__file__).parent
    with_rules = [
        path.stem
        for path in folder.glob("*.py")
        if re.search(r"^from \.rule import .*\brule$", path.read_text(encoding="utf-8"), re.MULTILINE)
    ]
    assert sorted(FAMILIES) == sorted(with_rules)


def test_a_file_is_imported_when_one_of_its_rules_is_asked_for() -> None:
    program = (
        "import sys, kellet\n"
        "assert 'kellet.rules.convolution' not in sys.modules\n"
        "assert 'kellet.rules.activations' not in sys.modules\n"
        "kellet.ones(1).sigmoid()\n"
        "assert 'kellet.rules.activations' in sys.modules\n"
    )
    processes.run([sys.executable, "-c", program], cold=True, check=True)


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
