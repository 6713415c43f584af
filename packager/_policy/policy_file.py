"""Policies as TOML files: read strictly, written with the reason of each rule in a comment.

    preset = "auto"
    rules = [
        { action = "intern", include = "mymodel.**" },   # project code: 12 modules
        { action = "extern", include = "numpy.**" },     # compiled distribution numpy 2.1.0
    ]

`include` and `exclude` take a string or a list; `allow_empty` and `because` are optional. So are data
files to leave out, and variables that are set wherever the archive is loaded:

    exclude_data = ["mymodel/tests/**"]
    variables = ["MYMODEL_MODE"]
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence

from packager._arguments import check_kind, check_path
from packager._toml_text import TomlError, parse_toml, read_toml, toml_string
from packager.errors import ArgumentError, PackagingError

from .decision import require_preset
from .policy import GlobGroup, Policy, Rule, checked_variables, excess

_KEYS = ("preset", "rules", "exclude_data", "variables")
_RULE_KEYS = ("action", "include", "exclude", "allow_empty", "because")
# Problems that are told; a file of a hundred thousand mistakes mostly has one.
_FILE_ACTIONS = ("intern", "extern", "mock", "deny")


class PolicyFileError(PackagingError, ValueError):
    """A policy file that is not TOML or not a policy; the message has every problem."""


def read_policy(path: str | os.PathLike[str]) -> Policy:
    """Read the policy in the TOML file at `path`.

    Raises PolicyFileError naming the file and every problem in it, OSError where it cannot be read,
    ArgumentError for something other than a path.

    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "policy.toml")
    ...     _ = path.write_text(format_policy(Policy("auto")))
    ...     read_policy(path).preset
    'auto'
    """
    check_path("path", path)
    try:
        text = read_toml(path)
    except TomlError as error:
        raise PolicyFileError(f"policy {os.fspath(path)}: {error}") from error
    return parse_policy(text, os.fspath(path))


def parse_policy(text: str, where: str = "<policy>") -> Policy:
    """Parse the policy written in `text`; `where` names it in messages.

    Raises PolicyFileError naming every problem in it.

    >>> policy = parse_policy('preset = "auto"\\nrules = [{ action = "deny", include = "tests.**" }]')
    >>> policy.preset, [str(rule) for rule in policy.rules]
    ('auto', ["deny('tests.**')"])
    """
    check_kind("text", text, str, "the text of a policy, as 'preset = \"auto\"'")
    try:
        table = parse_toml(text)
    except TomlError as error:
        raise PolicyFileError(
            f'policy {where} is not TOML: {error}. A policy is such a text: preset = "auto"'
        ) from error
    problems = [
        f"unknown key {key!r}; expected one of {', '.join(_KEYS)}" for key in table if key not in _KEYS
    ]
    preset = None
    try:
        preset = require_preset(table.get("preset"))
    except ValueError as error:
        problems.append(str(error))
    rules = _rules(table.get("rules", []), problems)
    exclude_data = _excluded(table.get("exclude_data", []), problems)
    variables: tuple[str, ...] = ()
    try:
        variables = checked_variables(table.get("variables", []))
    except ArgumentError as error:
        problems.append(str(error))
    problems += excess(0, len(exclude_data) + sum(rule.patterns for rule in rules))
    if problems:
        raise PolicyFileError.listing(f"policy {where} cannot be used:", problems)
    return Policy(preset, rules, exclude_data=exclude_data, variables=variables)


def format_policy(
    policy: Policy,
    reasons: Mapping[Rule, str] | None = None,
    *,
    head: Sequence[str] = (),
    notes: Mapping[str, str] | None = None,
) -> str:
    """Format a policy as TOML text: one rule to a line, its reason in a comment behind it.

    `reasons` gives the comments of rules, `notes` those of data that is left out and of variables, by
    pattern and name; `head` becomes comment lines at the top. Reading the text gives the same rules.

    >>> policy = Policy("auto")
    >>> policy.add("extern", "numpy.**")
    >>> print(format_policy(policy, {rule: "compiled" for rule in policy.rules}), end="")
    preset = "auto"
    rules = [
        { action = "extern", include = "numpy.**" },  # compiled
    ]
    """
    check_kind("policy", policy, Policy, "a Policy")
    lines = [f"# {_comment(line)}".rstrip() for line in head]
    if policy.preset is not None:
        lines.append(f"preset = {toml_string(policy.preset)}")
    lines.append("rules = [")
    lines += _commented((f"    {_rule_line(rule)}", (reasons or {}).get(rule, "")) for rule in policy.rules)
    lines.append("]")
    for key, listed in (("exclude_data", policy.exclude_data.include), ("variables", policy.variables)):
        if listed:
            rows = ((f"    {toml_string(one)},", (notes or {}).get(one, "")) for one in listed)
            lines += [f"{key} = [", *_commented(rows), "]"]
    return "\n".join(lines) + "\n"


def _commented(rows: Iterable[tuple[str, str]]) -> list[str]:
    """Return lines with their comments behind them, one below the other."""
    rows = list(rows)
    width = max((len(row) for row, _ in rows), default=0)
    return [f"{row.ljust(width)}  # {_comment(note)}" if note else row for row, note in rows]


def _rules(listed: object, problems: list[str]) -> list[Rule]:
    if not isinstance(listed, list):
        problems.append(f"rules: expected a list of tables, found {type(listed).__name__}")
        return []
    if too_many := excess(len(listed)):
        problems += too_many
        return []
    found = (_rule(entry, f"rule {number}", problems) for number, entry in enumerate(listed, start=1))
    return [rule for rule in found if rule is not None]


def _excluded(listed: object, problems: list[str]) -> tuple[str, ...]:
    if not isinstance(listed, str | list):
        problems.append(f"exclude_data: expected a pattern or a list of them, found {type(listed).__name__}")
        return ()
    try:
        return GlobGroup(listed, separator="/").include
    except (TypeError, ValueError) as error:
        problems.append(f"exclude_data: {error}")
        return ()


def _rule(entry: object, where: str, problems: list[str]) -> Rule | None:
    if not isinstance(entry, dict):
        problems.append(f"{where}: expected a table, found {type(entry).__name__}")
        return None
    wrong = [
        f"{where}: unknown key {key!r}; expected one of {', '.join(_RULE_KEYS)}"
        for key in entry
        if key not in _RULE_KEYS
    ]
    if entry.get("action") not in _FILE_ACTIONS:
        found = repr(entry["action"]) if "action" in entry else "none"
        wrong.append(f"{where}: action: expected one of {', '.join(_FILE_ACTIONS)}, found {found}")
    if "include" not in entry:
        wrong.append(f'{where}: include: expected a pattern, as "net.**", found none')
    if not isinstance(entry.get("allow_empty", True), bool):
        wrong.append(f"{where}: allow_empty: expected true or false, found {entry['allow_empty']!r}")
    if not isinstance(entry.get("because", ""), str):
        wrong.append(f"{where}: because: expected text, found {entry['because']!r}")
    try:
        globs = GlobGroup(entry.get("include", ()), exclude=entry.get("exclude", ()))
    except (TypeError, ValueError) as error:
        wrong.append(f"{where}: {error}")
    problems.extend(wrong)
    if wrong:
        return None
    return Rule(entry["action"], globs, entry.get("allow_empty", True), entry.get("because", ""))


def _rule_line(rule: Rule) -> str:
    fields = [f"action = {toml_string(rule.action)}", f"include = {_patterns(rule.globs.include)}"]
    if rule.globs.exclude:
        fields.append(f"exclude = {_patterns(rule.globs.exclude)}")
    if not rule.allow_empty:
        fields.append("allow_empty = false")
    if rule.because:
        fields.append(f"because = {toml_string(rule.because)}")
    return "{ " + ", ".join(fields) + " },"


def _patterns(patterns: tuple[str, ...]) -> str:
    if len(patterns) == 1:
        return toml_string(patterns[0])
    return "[" + ", ".join(toml_string(pattern) for pattern in patterns) + "]"


def _comment(text: str) -> str:
    """Return one line without the control characters that TOML forbids in comments."""
    return " ".join("".join(char if char.isprintable() else " " for char in text).split())
