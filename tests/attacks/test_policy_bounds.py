"""TOML that would cost the parser memory, its stack or hours: policies and migrations, through one door."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from packager import _toml_text as toml_text
from packager._migrations import MigrationFileError, parse_migration, read_migration
from packager._policy import PolicyFileError, parse_policy, read_policy
from packager._toml_text import TomlError, parse_toml
from tests import processes
from tests.tables import one_test

HEAD = 'preset = "auto"\n'
HOSTILE = {
    "a dotted key": (".".join("a" * 20_000) + " = 1", r"line 2: 17 parts of one key; at most 16"),
    "a dotted header": ("[" + ".".join("a" * 20_000) + "]", r"line 2: 17 parts of one key; at most 16"),
    "a dotted key with blanks": (" . ".join("a" * 20_000) + " = 1", r"line 2: 17 parts of one key"),
    "a dotted key in quotes": ('"a"' + ".'a'" * 20_000 + " = 1", r"line 2: 17 parts of one key"),
    "lists in lists": ("rules = " + "[" * 100_000, r"line 2: 17 brackets inside each other; at most 16"),
    "tables in tables": ("rules = " + "{a = " * 10_000, r"line 2: 17 brackets inside each other"),
    "lists over lines": ("rules = " + "[\n" * 500, r"line 18: 17 brackets inside each other"),
    "a long number": ("allow = " + "1" * 100_000, r"line 2: 100,000 characters without quotes; at most 200"),
    "a long number below": (
        'a = """\n\n"""\n\n# [[[[\nb = ' + "0x" + "1" * 9999,
        r"line 7: 10,001 characters",
    ),
    "many tables": ("".join(f"[a{n}]\n" for n in range(140_000)), r"131,073 brackets, and dots of keys"),
    "many values": ("rules = [" + "1," * 600_000 + "]", r"line 2: 524,289 keys and values; at most 524,288"),
    "many characters": (
        "#" * (8 << 20),
        r"8,388,\d+ characters; at most 8,388,608 are read; split",
    ),
}


@one_test
@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_is_refused_with_its_line(name: str) -> None:
    text, message = HOSTILE[name]
    with pytest.raises(PolicyFileError, match=message):
        parse_policy(HEAD + text)
    with pytest.raises(MigrationFileError, match=message):
        parse_migration(HEAD + text)


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_takes_little_memory(name: str, tmp_path: Path) -> None:
    path = tmp_path / "policy.toml"
    path.write_text(HEAD + HOSTILE[name][0], encoding="utf-8")
    program = (
        "import resource, sys\n"
        "from packager._policy import PolicyFileError, read_policy\n"
        "resource.setrlimit(resource.RLIMIT_AS, (1 << 29, 1 << 29))\n"
        "try:\n    read_policy(sys.argv[1])\n"
        "except PolicyFileError:\n    sys.exit(0)\n"
        "sys.exit('it was read')"
    )
    processes.run([sys.executable, "-c", program, str(path)], cold=True, check=True, timeout=120)


@pytest.mark.parametrize("line", ["\n", " \r\n", "#\n", "  # a comment\n\t"])
def test_lines_that_say_nothing_are_one_step_however_many_they_are(line: str) -> None:
    assert len(list(toml_text._TOKEN.finditer(line * 10_000))) == 1
    with pytest.raises(TomlError, match=f"line {1 + 10_000 * line.count(chr(10))}: 17 brackets"):
        parse_toml(line * 10_000 + "a = " + "[" * 17)


def test_a_policy_of_many_mistakes_tells_the_first_of_them() -> None:
    with pytest.raises(PolicyFileError) as caught:
        parse_policy("rules = [" + "{}," * 100 + "]")
    lines = str(caught.value).splitlines()
    assert lines[1] == "    rule 1: action: expected one of intern, extern, mock, deny, found none"
    assert lines[11:] == ["    and 190 more"]
    assert len(caught.value.problems) == 200


@one_test
@pytest.mark.parametrize("text", ["a = 9999-99-99", "a = 25:61:00", "a = 1e", 'a = """', "[", "=", "\\"])
def test_what_is_no_toml_is_told_with_its_place(text: str) -> None:
    with pytest.raises(TomlError, match=r"\(at (line 1|end of document)"):
        parse_toml(text)


def test_what_stands_in_strings_and_comments_is_not_counted() -> None:
    tall = "[{." * 1000
    for quotes in ('"', "'", '"""', "'''"):
        assert parse_toml(f"a = {quotes}{tall}{quotes} # {tall}\nb = [{quotes}]{quotes}]")["a"] == tall
    assert parse_toml('a = "\\"[[[[[[[[[[[[[[[[[[[["')["a"] == '"' + "[" * 20
    assert parse_toml("a = '''\n''[[[[[[[[[[[[[[[[[['''")["a"] == "''" + "[" * 18


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (".".join("a" * 16) + " = 1", None),
        ("a = " + "[" * 16 + "]" * 16, None),
        ("a = [" + "1.5, " * 1000 + "]", [1.5] * 1000),
        ("a = " + "1" * 200, int("1" * 200)),
        ("a" * 200 + " = 1", None),
    ],
)
def test_what_reaches_a_bound_is_read(text: str, value: object) -> None:
    found = parse_toml(text)
    assert value is None or found["a"] == value


@one_test
@pytest.mark.parametrize("opening", ['"', '"""', "'", "'''", '"\\', '"""\\', '\\"', "\\'"])
def test_strings_that_never_end_are_looked_through_once(opening: str) -> None:
    program = (
        "from packager._toml_text import TomlError, _measure\n"
        f"for text in ({opening!r} * 300_000, 'a = \"' + {opening!r} * 300_000 + '\\\\'):\n"
        "    try:\n        _measure(text)\n    except TomlError:\n        pass\n"
    )
    processes.run([sys.executable, "-c", program], cold=True, check=True, timeout=60)


def test_a_large_honest_policy_and_migration_are_read(tmp_path: Path) -> None:
    rules = "".join(f'    {{ action = "intern", include = ["p{n}.**", "q{n}.*"] }},\n' for n in range(5_000))
    policy = tmp_path / "large.toml"
    policy.write_text(f"{HEAD}rules = [\n{rules}]\n", encoding="utf-8")
    assert len(read_policy(policy).rules) == 5_000
    steps = "".join(f'[[step]]\nrename = "a{n}.weight"\nto = "b{n}.weight"\n' for n in range(5_000))
    migration = tmp_path / "large_migration.toml"
    migration.write_text(steps, encoding="utf-8")
    assert len(read_migration(migration).steps) == 5_000


def test_a_file_without_end_is_read_to_the_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(toml_text, "MAX_TOML", 100)
    path = tmp_path / "m.toml"
    path.write_bytes(b"#" * 401)
    with pytest.raises(MigrationFileError, match=r"m\.toml: 401 bytes and more; at most 400 are read"):
        read_migration(path)
    path.write_bytes(b"#" * 101)
    with pytest.raises(PolicyFileError, match="101 characters; at most 100 are read"):
        read_policy(path)
    path.write_bytes(b"name = 'x'\n# \xff")
    with pytest.raises(MigrationFileError, match=r"m\.toml: line 2: it is not UTF-8 text"):
        read_migration(path)


def test_no_other_file_of_the_package_asks_the_parser() -> None:
    root = Path(toml_text.__file__).parent
    users = [path.name for path in root.rglob("*.py") if "import tomllib" in path.read_text(encoding="utf-8")]
    assert users == ["_toml_text.py"]
