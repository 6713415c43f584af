"""Holes that are numbers in one place of a step and text in another are refused when the step is declared."""

import numpy as np
import pytest

from packager import MigrationError
from packager._migrations import (
    Migration,
    MigrationFileError,
    Template,
    default,
    drop,
    format_migration,
    merge,
    migrate,
    rename,
    rename_pattern,
    split,
)
from packager._migrations.archiving import pack_migrations, unpack_migrations
from packager._migrations.declaring import Gates
from packager._migrations.dividing import Merge
from packager._migrations.migration_tables import parse_migration
from packager._migrations.renaming import Rename
from packager._migrations.templates import TemplateError

RECKONED = [
    (rename("a.{n}", "b.{n+1}"), "b.{n+1}", "a.{n}"),
    (rename("a.{n:segment}", "b.{n-1}"), "b.{n-1}", "a.{n:segment}"),
    (rename("a.{n:any}.w", "b.{3*(n-1)}.w"), "b.{3*(n-1)}.w", "a.{n:any}.w"),
    (rename("a.{n}.w", "{2*n}.b", repeat=True), "{2*n}.b", "a.{n}.w"),
    (rename("a.{n}.{m:int}", "b.{n - 2}.{m}"), "b.{n - 2}.{m}", "a.{n}.{m:int}"),
    (split("a.{n}", ["q.{n}", "k.{2*n}"]), "k.{2*n}", "a.{n}"),
    (split("a.{n}", "q.{e}.{n+1}", over="e"), "q.{e}.{n+1}", "a.{n}"),
    (merge(["q.{n}", "k.{n}"], "a.{n+1}"), "a.{n+1}", "q.{n}"),
    (merge("q.{e:int}.{n}", "a.{n+1}", over="e"), "a.{n+1}", "q.{e:int}.{n}"),
    (default("b.{n+1}", 0, like="a.{n}"), "b.{n+1}", "a.{n}"),
    (drop("a.{n}", unless="a.{n+1}"), "a.{n+1}", "a.{n}"),
    (drop("a.{n}", if_all=["x", "a.{n-1}"]), "a.{n-1}", "a.{n}"),
    (rename("a.{n}", "b.{n}", unless="b.{n+1}.{rest:any}"), "b.{n+1}.{rest:any}", "a.{n}"),
    (default("b.{n}", 0, like="a.{n}", if_all="c.{n+1}"), "c.{n+1}", "a.{n}"),
    (split("a.{n}", ["q.{n}", "k.{n}"], unless="q.{n+1}"), "q.{n+1}", "a.{n}"),
    (merge(["q.{n}", "k.{n}"], "a.{n}", unless="a.{n+1}"), "a.{n+1}", "q.{n}"),
]


@pytest.mark.parametrize(("step", "reckoned", "text"), RECKONED, ids=lambda value: str(value)[:40])
def test_arithmetic_on_a_hole_of_text_is_refused_where_it_is_declared(step, reckoned, text):
    with pytest.raises(TemplateError) as caught:
        Migration("m", [step])
    assert f"the hole 'n' is a number in {reckoned!r} and text in {text!r}; write {{n:int}} in" in str(
        caught.value
    )


@pytest.mark.parametrize(("step", "reckoned", "text"), RECKONED, ids=lambda value: str(value)[:40])
def test_a_file_says_the_line_and_all_of_them_together(step, reckoned, text):
    written = format_migration(Migration("m", [drop("x"), step], stored=True))
    place = 1 + written[: written.rindex("[[step]]")].count("\n")
    with pytest.raises(MigrationFileError) as caught:
        parse_migration(f'{written}\n[[step]]\nrename = "k.{{z}}"\nto = "{{z+1}}"\n', "old.toml")
    first, second = str(caught.value).splitlines()
    assert first.startswith(f"old.toml:{place}: ")
    assert f"the hole 'n' is a number in {reckoned!r} and text in {text!r}" in first
    assert "the hole 'z' is a number in '{z+1}' and text in 'k.{z}'; write {z:int} in 'k.{z}'" in second


CONTRADICTIONS = [
    rename("a.{n:int}.{n:any}.x", "b.{n}"),
    merge(["q.{n:int}", "k.{n:segment}"], "a.{n}"),
    drop("a.{n}", if_all="b.{n:int}.{rest:any}"),
    drop("a.{n:int}", unless="b.{n:any}.{rest}"),
    rename_pattern("x", "y", unless="b.{n:int}.{n:any}"),
    rename("a.{n}.w", "b.{n:int}.w"),
    rename("a.{n+1}.w", "b.{n:any}.w"),
]


@pytest.mark.parametrize("step", CONTRADICTIONS, ids=str)
def test_a_hole_that_is_a_number_and_text_is_refused(step):
    with pytest.raises(TemplateError, match=r"the hole 'n' is a number in '.*' and text in '.*'; write"):
        Migration("m", [step])


VALUES = {f"a.{n}.w": np.full(2, n) for n in (1, 2, 3)}


@pytest.mark.parametrize(
    ("step", "keys"),
    [
        (rename("a.{n:int}.w", "b.{n+1}.w"), ["b.2.w", "b.3.w", "b.4.w"]),
        (rename("a.{n+1}.w", "b.{n}.w"), ["b.0.w", "b.1.w", "b.2.w"]),
        (rename("a.{n:int}.{k}", "b.{n}.{k}.{n-1}"), ["b.1.w.0", "b.2.w.1", "b.3.w.2"]),
        (split("a.{n:int}.w", ["q.{n-1}", "k.{2*n}"]), ["q.0", "k.2", "q.1", "k.4", "q.2", "k.6"]),
        (split("a.{n:int}.w", "q.{e+1}.{n}", over="e"), [f"q.{e}.{n}" for n in (1, 2, 3) for e in (1, 2)]),
        (merge("a.{e+1}.w", "all", over="e"), ["all"]),
        (drop("a.{n:int}.w", unless="a.{n+1}.w"), ["a.1.w", "a.2.w"]),
        (drop("a.{n}.w", if_all="a.{m+2}.w"), []),
    ],
    ids=str,
)  # fmt: skip
def test_numbers_that_are_declared_are_reckoned_with_as_before(step, keys):
    assert list(migrate(Migration("m", [step]), VALUES)) == keys


def test_the_kind_of_a_hole_that_stands_twice_is_said_once():
    template = Template.parse("a.{n:int}.b{n}")
    assert (template.match("a.3.b3"), template.match("a.3.b4"), template.match("a.x.bx")) == (
        {"n": 3},
        None,
        None,
    )
    assert Template.parse("{n}.{n+1}").match("3.4") == {"n": 3}
    state = {f"{part}.{n}": np.ones(1) for part in "qk" for n in range(2)}
    both = Migration("m", [merge(["q.{n:int}", "k.{n}"], "a.{n+1}")])
    assert list(migrate(both, state)) == ["a.1", "a.2"]


def test_a_step_made_by_hand_is_judged_too_and_fails_in_words_where_it_runs_all_the_same():
    step = Rename(Template.parse("a.{n}.w"), Template.parse("b.{n+1}.w"))
    with pytest.raises(TemplateError, match=r"write \{n:int\} in"):
        Migration("m", [step])
    with pytest.raises(
        MigrationError,
        match=r"'a\.1\.w': template 'b\.\{n\+1\}\.w': the hole 'n' has the text",
    ):
        migrate(Migration("m", [step], stored=True), VALUES)
    gate = Rename(
        Template.parse("a.{n}.w"), Template.parse("b.{n}.w"), gates=Gates(unless=(Template.parse("{n+1}"),))
    )
    with pytest.raises(MigrationError, match="the hole 'n' has the text"):
        migrate(Migration("m", [gate], stored=True), VALUES)
    parts = Merge((Template.parse("a.{n}.w"),), Template.parse("b.{n+1}.w"))
    with pytest.raises(MigrationError, match="the hole 'n' has the text"):
        migrate(Migration("m", [parts], stored=True), VALUES)


def test_a_stored_migration_is_read_as_it_is_and_judged_when_it_is_to_run():
    stored = Migration("m", [rename("a.{n}.w", "b.{n+1}.w")], target="net:Net", stored=True)
    data = pack_migrations({"net:Net": [stored]})
    (again,) = unpack_migrations(data)["net:Net"]
    assert again.steps[0].new.text == "b.{n+1}.w"
    assert pack_migrations({"net:Net": [again]}) == data
