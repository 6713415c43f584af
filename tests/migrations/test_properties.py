"""What holds for every migration: the plan is the effect, back is back, and the order of keys is nothing."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from packager._migrations import (
    Cast,
    Migration,
    Permute,
    Reshape,
    Roll,
    Scale,
    Slice,
    Transpose,
    cannot_go_back,
    default,
    drop,
    format_migration,
    merge,
    migrate,
    plan_migration,
    rename,
    split,
    swap,
)
from packager._migrations.archiving import pack_migrations, unpack_migrations
from packager._migrations.migration_tables import parse_migration
from packager._migrations.transforms import header_of
from packager.errors import MigrationError

KEYS = [f"{module}.{n}.{leaf}" for module in ("enc", "dec") for n in range(3) for leaf in ("w", "b")]
TRANSFORMS = [
    (),
    (Transpose(),),
    (Reshape((8,), (4, 2)),),
    (Roll(0, 1),),
    (Cast("float64", "float32"),),
    (Scale(0.5),),
    (Permute(0, (2, 2), (1, 0)),),
    (Transpose(), Roll(1, -1), Scale(4.0)),
]
BOTH_WAYS = st.sampled_from(
    [
        *(rename("enc.{n:int}.w", "body.{n+1}.w", *transforms) for transforms in TRANSFORMS),
        rename("{p:any}.b", "{p}.bias"),
        rename("dec.{n:int}.{rest:any}", "layers.{2*n}.{rest}"),
        rename("{rest:any}", "model.{rest}"),
        split("dec.{n:int}.w", ["dec.{n}.q", "dec.{n}.k"]),
        split("dec.{n:int}.w", ["dec.{n}.q", "dec.{n}.k"], sizes=[1, 3]),
        split("enc.{n:int}.w", "enc.{n}.part.{m}", over="m"),
        merge("enc.{n:int}.b", "enc.stacked", over="n"),
        merge(["enc.{n:int}.w", "dec.{n:int}.w"], "both.{n}.w", axis=1),
        swap("enc.{n:int}.{rest:any}", "dec.{n+1}.{rest}"),
        swap("enc.{n:int}.w", "enc.{n}.b"),
    ]
)
ONE_WAY = st.sampled_from(
    [
        drop("dec.{n:int}.b"),
        drop("{p:any}.b", if_all="{p}.w"),
        default("{p:any}.count", 0, shape=(), dtype="int64", like="{p:any}.w"),
        rename("enc.{n:int}.w", "enc.{n}.top", Slice(0, 0, 2)),
        rename("enc.{n:int}.w", "enc.{n}.w", Slice(1, 1), Transpose()),
        rename("enc.{rest:any}", "enc.enc.{rest}", unless="enc.2.w"),
        rename("{m}.{n:int}.w", "one.{n}.w"),
        rename("{m}.{n:int}.{rest:any}", "{m}.{rest}"),
        drop("{m}.{n:int}.b", if_value={"{m}.{n}.b": 3.0}),
        rename("enc.{n:int}.w", "enc.{n}.w", Reshape(("rows", -1)), if_module={"{n}.on": True}),
    ]
)


def state_of(keys):
    return {
        key: np.arange(8, dtype=np.float32).reshape(4, 2) + 100 * KEYS.index(key)
        if key.endswith("w")
        else np.full(3, KEYS.index(key), np.float32)
        for key in keys
    }


def bits(state):
    return {key: (str(header_of(state[key])), np.asarray(state[key]).tobytes()) for key in state}


def carried_out(steps, state):
    """The migrated state; steps that contradict each other are another test's matter."""
    migration = Migration("drawn", steps)
    try:
        return migration, migrate(migration, state, module=CONFIG)
    except MigrationError:
        assume(False)
        raise


CONFIG = {"rows": 2, **{str(n): {"on": n != 1} for n in range(3)}}
STATES = st.lists(st.sampled_from(KEYS), min_size=1, unique=True)


@given(keys=STATES, steps=st.lists(BOTH_WAYS | ONE_WAY, min_size=1, max_size=4))
def test_the_plan_is_the_effect(keys, steps):
    state = state_of(keys)
    migration, migrated = carried_out(steps, state)
    plan = plan_migration(migration, state, module=CONFIG)
    assert list(plan.values) == list(migrated)
    assert {key: str(value.header) for key, value in plan.values.items()} == {
        key: str(header_of(migrated[key])) for key in migrated
    }
    changed = {key for row in plan.rows if not row.skipped for key in row.old}
    assert set(state) - changed <= set(migrated)
    assert bits(state) == bits(state_of(keys))


@given(keys=STATES, steps=st.lists(BOTH_WAYS, min_size=1, max_size=4))
def test_forward_and_back_is_the_identity(keys, steps):
    state = state_of(keys)
    migration, migrated = carried_out(steps, state)
    assume(not cannot_go_back(migration, state))
    back = migrate(migration.inverse(), dict(migrated))
    assert bits(back) == bits(state)


@given(keys=STATES, step=BOTH_WAYS)
def test_one_step_that_goes_into_free_names_goes_back(keys, step):
    state = state_of(keys)
    migration, migrated = carried_out([step], state)
    assert cannot_go_back(migration, state) == ()
    assert bits(migrate(migration.inverse(), dict(migrated))) == bits(state)


MANY_TO_ONE = st.sampled_from(
    [
        (rename("{m}.{n:int}.w", "one.{n}.w"), lambda key: f"one.{key[4]}.w"),
        (rename("{m}.{n:int}.w", "{m}.w"), lambda key: f"{key[:3]}.w"),
        (rename("{m}.{n:int}.w", "w"), lambda key: "w"),
    ]
)


@given(keys=STATES, chosen=MANY_TO_ONE)
def test_many_keys_that_would_become_one_are_refused_and_one_that_is_alone_does_not_go_back(keys, chosen):
    step, name = chosen
    state, weights = state_of(keys), [key for key in keys if key.endswith("w")]
    migration = Migration("drawn", [step])
    assert not migration.is_reversible
    if len({name(key) for key in weights}) < len(weights):
        with pytest.raises(MigrationError, match="two values get one key:") as caught:
            migrate(migration, state)
        told = [line for line in str(caught.value).splitlines() if "would come from" in line]
        assert len(told) == len(weights) - len({name(key) for key in weights})
        return
    migrated = migrate(migration, state)
    assert {name(key): bits(state)[key] for key in weights} | {
        key: found for key, found in bits(state).items() if key not in weights
    } == bits(migrated)
    lost = (f"{step.what}: it has no inverse",) if weights else ()
    assert cannot_go_back(migration, state) == lost
    with pytest.raises(MigrationError, match="cannot go back: no inverse for rename"):
        migration.inverse()


def test_a_step_into_names_that_are_taken_does_not_go_back_and_says_so():
    state = {"enc.0.b": np.zeros(1), "dec.7.b": np.ones(1), "dec.1.b": np.ones(1), "gone": np.ones(1)}
    steps = [rename("enc.{n:int}.b", "dec.{n+5}.b"), drop("gone"), split("x", ["y", "z"], if_all="x")]
    assert cannot_go_back(Migration("both", steps), state) == (
        "rename enc.{n:int}.b -> dec.{n+5}.b: going back would also take 'dec.7.b'",
        "drop gone: it has no inverse",
    )


@given(keys=STATES, order=st.randoms(use_true_random=False), steps=st.lists(BOTH_WAYS | ONE_WAY, max_size=4))
def test_the_order_of_keys_never_matters(keys, order, steps):
    state = state_of(keys)
    migration, migrated = carried_out(steps, state)
    shuffled = list(state.items())
    order.shuffle(shuffled)
    assert bits(migrate(migration, dict(shuffled), module=CONFIG)) == bits(migrated)


@given(keys=STATES, steps=st.lists(BOTH_WAYS | ONE_WAY, max_size=4))
def test_a_migration_that_was_written_down_does_the_same(keys, steps):
    state = state_of(keys)
    migration, migrated = carried_out(steps, state)
    read = parse_migration(format_migration(migration))
    (stored,) = unpack_migrations(pack_migrations({"a:A": [migration]}))["a:A"]
    for other in (read, stored):
        assert bits(migrate(other, state, module=CONFIG)) == bits(migrated)
