"""Each operation and its derivative, side by side: a table, not a class per operation.

This package knows NumPy arrays only. `rule.py` says how a rule is written, and lists the files with rules.
The others hold what these share (`error_function`, `kernels`, `levels`, `quiet`).
"""

from .rule import RULES as RULES
from .rule import Namespace as Namespace
from .rule import Rule as Rule
from .rule import every_rule as every_rule
from .rule import raw as raw

__all__ = ["RULES", "Namespace", "Rule", "every_rule", "raw"]
