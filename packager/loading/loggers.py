"""Loggers of packaged code: each has its own name, and is set from outside by the true one.

`logging.getLogger(__name__)` is a logger of this importer's own, so that two versions of a package do not set
each other's. The one above all of them hands on to the logger with the true name of the package: a level or a
handler of `logging.getLogger("shop")`, whoever set it, holds for packaged code that has none of its own.
"""

from __future__ import annotations

import logging

from .packaged_code import ImportRules


def put_below_true_names(rules: ImportRules) -> None:
    """Make the loggers of packaged code children of those with the true names of its packages."""
    for top in rules.owned:
        logging.getLogger(top + rules.suffix).parent = logging.getLogger(top)


def forget(rules: ImportRules) -> None:
    """Take the loggers of an archive out of `logging`, which keeps all that it ever made."""
    known = logging.Logger.manager.loggerDict
    own = tuple(top + rules.suffix for top in rules.owned)
    for name in [name for name in known.copy() if name.partition(".")[0] in own]:
        del known[name]
