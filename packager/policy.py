"""Policies: which modules are stored, required, mocked or denied, and files that say so."""

from ._policy import (
    Decision,
    GlobGroup,
    Origin,
    Policy,
    Rule,
    format_policy,
    parse_policy,
    read_policy,
)

__all__ = [
    "Decision",
    "GlobGroup",
    "Origin",
    "Policy",
    "Rule",
    "format_policy",
    "parse_policy",
    "read_policy",
]
