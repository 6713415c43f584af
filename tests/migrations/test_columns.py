"""Steps on all keys at once do what they do key by key, errors and bounds too; a plan's rows come later."""

import copy
import dataclasses
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from packager.errors import MigrationError
from packager.migrations import Migration, cannot_go_back, default, drop, merge, plan_migration, rename
from packager.migrations import growth as bounds
from packager.migrations.declaring import Step
from packager.migrations.renaming import Drop, Rename
from packager.migrations.templates import Template

ATOMS = ["a", "b", "0", "1", "10", "007", "w\n", "%s", "", "\u0663", "9" * 18, "9" * 19]
KEYS = st.lists(st.sampled_from(ATOMS), min_size=1, max_size=4).map(".".join)
STEPS = st.sampled_from(
    [
        rename("{p:any}.a", "{p}.b"),
        rename("a.{rest:any}", "{rest}"),
        rename("{rest:any}", "%d.{rest}"),
        rename("{s}.{n:int}.{rest:any}", "{s}.{n+1}.{rest}"),
        rename("{s}.{n:int}", "{s}.{1-n}"),
        rename("{s}.{n+1}", "{n}.{s}.{n}", unless="{s}.b"),
        rename("{s}.{t}.{u:any}", "{t}.{s}.{u}", if_all=["{s}.{m:int}.{q:any}", "{t:any}.{u}"]),
        rename("a.{s}", f"{{s}}.{'x' * 9_990}"),
        rename("{s}.{s}", "{s}"),
        rename("a.b", "b.a", unless=["a.a", "{x:any}.10"]),
        drop("{p:any}.b"),
        drop("{s}.{n:int}", unless="{p:any}.a", if_all="{s}.{other:int}"),
        drop("{s}.{n:int}.{q:any}", if_all=["{s}.{2*n-3}", "a.b"]),
        default("{p}.made", 0, like="{p}.{n:int}"),
    ]
)
VALUES = [np.zeros((2, 3), "f4"), np.zeros(3, "i8"), np.zeros(3, ">f4"), np.float32(1), "text"]


def told(steps, state, unknown):
    """Everything that is said of a migration: by its plan, by its error, by the way back."""
    migration = Migration("drawn", steps)
    try:
        plan = plan_migration(migration, state, unknown=unknown)
        said = str(plan), plan.rows, list(plan.values.items()), plan.untouched
        return *said, cannot_go_back(migration, state)
    except MigrationError as error:
        return type(error), str(error)


@given(
    keys=st.lists(KEYS, unique=True, max_size=8),
    steps=st.lists(STEPS, min_size=1, max_size=4),
    unknown=st.sampled_from(["keep", "keep", "drop", "error"]),
    rows=st.sampled_from([2, 5, 1000]),
    text=st.sampled_from([0, 3, 10_000_000]),
)
def test_all_keys_at_once_are_what_they_are_one_by_one(keys, steps, unknown, rows, text):
    state = {key: VALUES[at % len(VALUES)] for at, key in enumerate(keys)}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bounds, "MAX_MIGRATED_ROWS", rows)
        patch.setattr(bounds, "most_key_text", lambda characters: characters + text)
        at_once = told(steps, state, unknown)
        for kind in (Rename, Drop):
            patch.setattr(kind, "names_alone", Step.names_alone)
        assert at_once == told(steps, state, unknown)


TEMPLATES = [
    "{p:any}.a",
    "a.{n:int}",
    "{s}.{n:int}.{rest:any}",
    "{3*n-3}.{p:any}",
    "{p:any}",
    "{s}-{t}.b",
    "{s}.{s}",
]


@given(keys=st.lists(KEYS, max_size=8), text=st.sampled_from(TEMPLATES))
def test_matching_many_keys_is_matching_each(keys, text):
    template = Template.parse(text).with_kinds({})
    each = [(key, holes) for key in keys if (holes := template.match(key)) is not None]
    assert template.matching(keys) == each


def test_a_step_that_a_user_made_of_a_rename_is_asked_for_its_own_candidates():
    class Loud(Rename):
        def candidates(self, values, around):
            return [((key,), {}, lambda key=key: ((key.upper(), values[key]),)) for key in values]

    step = Loud(Template.parse("a.{rest:any}"), Template.parse("b.{rest:any}"))
    assert list(plan_migration(Migration("loud", [step]), {"a.b": 1, "c": 2}).values) == ["A.B", "C"]


def test_a_plan_is_the_same_record_before_and_after_its_rows_are_asked_for():
    state = {"a.x": np.ones(2, "f4"), "a.y": 3, "b.y": 4}
    migration = Migration("one", [rename("a.{s}", "c.{s}", unless="b.{s}"), drop("none")])

    def plan():
        return plan_migration(migration, state)

    expected = plan()
    assert [row.old for row in expected.rows] == [("a.x",), ("a.y",), ()]
    assert type(expected.rows) is tuple
    assert expected.rows is expected.rows
    assert [row.step for row in plan().untouched] == ["drop none"] == [row.step for row in expected.untouched]
    assert plan() == expected
    assert repr(plan()) == repr(expected)
    assert pickle.loads(pickle.dumps(plan())) == expected == copy.deepcopy(plan())
    assert dataclasses.replace(plan(), ran=()).rows == expected.rows
    with pytest.raises(AttributeError, match="'MigrationPlan' object has no attribute 'row'"):
        plan().row


def test_a_merge_that_lacks_a_key_of_which_a_hole_could_be_anything_shows_its_template():
    step = merge(["{p}.{n:int}.w", "{q}.{n:int}.v"], "{n}.both")
    with pytest.raises(MigrationError, match=r"the merge lacks '\{q\}\.\{n:int\}\.v'"):
        plan_migration(Migration("one", [step]), {"a.0.w": np.ones(2)})
