"""Migrations as TOML: every step and transform, and the line of every mistake."""

import os
import re
from pathlib import Path

import numpy as np
import pytest

from packager._migrations import (
    Migration,
    MigrationFileError,
    format_migration,
    migrate,
    pack_migrations,
    parse_migration,
    read_migration,
    rename,
    unpack_migrations,
)
from packager._migrations.dividing import DIVIDING
from packager._migrations.renaming import RENAMING

DOCS = Path(__file__).resolve().parents[2] / "docs"

WHOLE = """
name = "everything"
to = 3
unwrap = ["model"]

[[step]]
rename = "fc.{n:int}.kernel"
to = "fc.{n+1}.weight"
transforms = [{ transpose = true }, { cast = "float64", was = "float32" }, { scale = 2.0 }]

[[step]]
pattern = "_b$"
to = ".bias"

[[step]]
drop = "{p:any}.mask"
unless = "keep"

[[step]]
default = "count"
fill = 0
shape = []
dtype = "int64"

[[step]]
split = "qkv"
to = ["q", "k", "v"]

[[step]]
merge = "e.{n:int}"
to = "stacked"
over = "n"

[[step]]
rename = "r"
to = "rolled"
transforms = [{ roll = 1, axis = 0 }, { slice = [0, 2] }, { reshape = [2, 1] }]
"""


def test_every_step_is_read(tmp_path):
    (tmp_path / "m.toml").write_text(WHOLE)
    migration = read_migration(tmp_path / "m.toml")
    state = {
        "fc.0.kernel": np.arange(2, dtype=np.float32).reshape(1, 2),
        "fc_b": np.zeros(1),
        "a.mask": np.zeros(1),
        "qkv": np.arange(3),
        "e.1": np.array(1),
        "e.0": np.array(0),
        "r": np.arange(3),
    }
    assert {key: np.asarray(value).tolist() for key, value in migrate(migration, state).items()} == {
        "fc.1.weight": [[0.0], [2.0]],
        "fc.bias": [0.0],
        "q": [0],
        "k": [1],
        "v": [2],
        "stacked": [0, 1],
        "rolled": [[2], [0]],
        "count": 0,
    }
    assert (migration.name, migration.to, migration.unwrap) == ("everything", 3, ("model",))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name = ", r"m\.toml: Invalid value \(at end of document\)"),
        ("colour = 1", "unknown 'colour'; expected class, from, name, step, to, unknown, unwrap"),
        ('[[step]]\nto = "x"', r"m\.toml:1: a step needs one of rename, pattern, drop"),
        (
            "[[step]]\ntransforms = [{ transpose = true }]",
            "found 'transforms'. Transforms stand beside a rename, which",
        ),
        ('name = "x"\n\n[[step]]\nrename = "a.{n:float}"', r"m\.toml:3: template 'a\.\{n:float\}', column 3"),
        ('[[step]]\ndrop = "a"\nwhen = 3', r"m\.toml:1: unknown 'when'"),
        ('[[step]]\ndrop = "a"\nbefore = "2"', r"m\.toml:1: before = '2': found str, expected int"),
        ('[[step]]\nrename = "a"\nto = "b.{m}"', r"'b\.\{m\}' has the hole 'm', and"),
        (
            '[[step]]\nrename = "a"\ntransforms = [{ spin = 1 }]',
            r"m\.toml:1: a transform needs one of transpose",
        ),
        ('[[step]]\npattern = "("\nto = ""', r"m\.toml:1: .*missing \)"),
        (
            '[[step]]\nrename = "a"\ntransforms = [{ function = "f" }]',
            r"m\.toml:1: function 'f': expected its name",
        ),
        ('[[step]]\nrename = ["a"]', r"m\.toml:1: "),
        (
            '[[step]]\nrename = "a"\ntransforms = [{ cast = "flot32" }]',
            r"m\.toml:1: rename a -> a: unknown dtype 'flot32'; did you mean float32",
        ),
        (
            '[[step]]\ndefault = "n"\nfill = 0\nshape = [2]\ndtype = "f4"',
            r"m\.toml:1: default n: unknown dtype 'f4'",
        ),
        (
            '[[step]]\ndefault = "n"\nfill = 0\nshape = [-1]\ndtype = "int64"',
            r"m\.toml:1: default n: shape = \[-1\]: lengths must be 0 or more",
        ),
        (
            '[[step]]\nsplit = "a"\nto = ["b", "c"]\nsizes = [-1, 3]',
            r"m\.toml:1: split a -> b, c: sizes = \[-1, 3\]: lengths must be 0 or more",
        ),
        (
            '[[step]]\nmerge = "a.{n:int}"\nto = "b"\nover = "k"',
            r"m\.toml:1: .*: over = 'k' needs one template",
        ),
        ('[[step]]\nmerge = "a.{n}"\nto = "b"\nover = "n"', r"m\.toml:1: .*: over = 'n' needs one template"),
        (
            '[[step]]\nmerge = ["a.{n:int}", "b.{n:int}"]\nto = "c"\nover = "n"',
            r"m\.toml:1: .*: over = 'n' needs one template",
        ),
        (
            '[[step]]\nmerge = "a.{n:int}"\nto = "b.{n}"\nover = "n"',
            r"m\.toml:1: .*; the other side must not have that hole",
        ),
        ('[[step]]\nsplit = "a"\nto = "b"\nover = "n"', r"m\.toml:1: .*: over = 'n' needs one template"),
        ('[[step]]\nrename = "a"\ntransforms = [{ slice = [1, 2, 3] }]', r"m\.toml:1: slice cannot be read"),
    ],
)
def test_a_mistake_is_told_with_its_line(tmp_path, text, message):
    (tmp_path / "m.toml").write_text(text)
    with pytest.raises(MigrationFileError, match=message):
        read_migration(tmp_path / "m.toml")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('to = "two"', "m.toml:3: to = 'two': found str, expected int"),
        ("from = 1.5", "m.toml:3: from = 1.5: found float, expected int"),
        ("class = 3", "m.toml:3: class = 3: found int, expected str"),
        ("unwrap = 3", "m.toml:3: unwrap = 3: found int, expected str or list of str"),
        ('unknown = "maybe"', "m.toml:3: unknown = 'maybe': choose one of 'keep', 'drop', 'error'"),
        ("to-version = 3", "m.toml:3: unknown 'to-version'; expected "),
        ("[[stepp]]\ndrop = 'b'", "m.toml:3: unknown 'stepp'; did you mean step? Expected class, from, "),
        ("[steps]\ndrop = 'b'", "m.toml:3: unknown 'steps'; did you mean step? Expected class, from, "),
    ],
)
def test_a_mistake_above_the_steps_is_told_with_its_line_too(tmp_path, line, message):
    (tmp_path / "m.toml").write_text(f'name = "m"\n# what it is for\n{line}\n[[step]]\ndrop = "a"\n')
    with pytest.raises(MigrationFileError) as caught:
        read_migration(tmp_path / "m.toml")
    (told,) = str(caught.value).splitlines()
    assert told.removeprefix(f"{tmp_path}/").startswith(message)


@pytest.mark.parametrize("key", ["a\x01", "b\x7f", "c\rd", "\U0001f600", 'e"\\'])
def test_keys_with_any_characters_are_written_so_that_they_are_read(key):
    migration = Migration("odd", [rename(key, f"{key}2")])
    text = format_migration(migration, [f"the name of {key}"], f"left: {key}")
    assert format_migration(parse_migration(text)) == format_migration(migration)
    assert migrate(parse_migration(text), {key: np.ones(1)}).keys() == {f"{key}2"}


def test_the_name_of_a_file_need_not_be_text(tmp_path):
    file = tmp_path / os.fsdecode(b"caf\xe9.toml")
    file.write_text("[[step]]\ndrop = 'mask'\n")
    migration = read_migration(file)
    assert migration.name == r"caf\udce9"
    assert list(unpack_migrations(pack_migrations({"net:Net": [migration]}))) == ["net:Net"]


def test_every_step_has_its_row_in_the_guide_and_in_the_specification():
    words = [spelling.word for spelling in (*RENAMING, *DIVIDING)]
    rows = re.findall(r"^(\w+) {2,}a ", section(2, DOCS / "spec" / "migrations.md"), re.MULTILINE)
    assert [word for word in words if word not in rows] == []
    guide = (DOCS / "guides" / "migrations.md").read_text("utf-8")
    functions = re.findall(r"^\| `(\w+)\(", guide, re.MULTILINE)
    assert [word for word in words if {"pattern": "rename_pattern"}.get(word, word) not in functions] == []


def section(number: int, path: Path) -> str:
    """Return one numbered section of a page."""
    parts = re.split(r"^## (\d+)\. ", path.read_text("utf-8"), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))[str(number)]
