"""Steps on whole state dicts: all keys at once, gates, collisions, views, and going back."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from packager._migrations import WRAPPERS, Migration, applying, cannot_go_back, chains, plan_migration
from packager._migrations.applying import apply_steps
from packager._migrations.declaring import Gates
from packager._migrations.dividing import Merge, Split
from packager._migrations.migrated_values import MigratedDict, stored_values
from packager._migrations.renaming import Default, Drop, Rename, RenamePattern
from packager._migrations.templates import Template, TemplateError
from packager._migrations.transforms import Header, Permute, Roll, Slice, Transpose
from packager.errors import MigrationError


def template(text: str, *kinds: str) -> Template:
    known = {hole.name: hole.kind for one in kinds for hole in Template.parse(one).holes}
    return Template.parse(text).with_kinds(known)


def rename(old: str, new: str, **fields) -> Rename:
    return Rename(template(old), template(new, old), **fields)


def migrate(state, *steps, version=None) -> dict:
    values, _ = apply_steps(steps, stored_values(state), version)
    return {key: np.asarray(value) for key, value in MigratedDict(values, state).items()}


def back(state, *steps) -> dict:
    inverses = [step.inverse() for step in reversed(steps)]
    assert None not in inverses
    return migrate(state, *inverses)


def numbered(*keys: str) -> dict:
    return {key: np.array([at], np.float32) for at, key in enumerate(keys)}


def values(state) -> dict:
    return {key: value.tolist() for key, value in state.items()}


def test_numbers_move_up_without_overwriting_their_neighbours():
    state = numbered("layers.0.downsample.w", "layers.1.downsample.w", "layers.2.downsample.w")
    step = rename("layers.{n:int}.downsample.{rest:any}", "layers.{n+1}.downsample.{rest}")
    moved = migrate(state, step)
    assert values(moved) == {f"layers.{n + 1}.downsample.w": [n] for n in range(3)}
    assert values(back(moved, step)) == values(state)


def test_a_wrappers_segment_is_taken_out_wherever_it_stands():
    state = numbered("_orig_mod.head._orig_mod.w", "head.norm.w", "_orig_mod._orig_mod.b")
    steps = (
        rename("_orig_mod.{rest:any}", "{rest}", repeat=True),
        rename("{a:any}._orig_mod.{b:any}", "{a}.{b}", repeat=True),
    )
    assert list(migrate(state, *steps)) == ["head.w", "head.norm.w", "b"]
    assert steps[0].inverse() is None


def test_two_results_with_one_name_name_both_sources():
    with pytest.raises(MigrationError, match=r"'c' would come from 'a' and from 'b'"):
        migrate(numbered("a", "b"), rename("a", "c"), rename("b", "c"))
    with pytest.raises(MigrationError, match=r"'x.w' would come from 'x.w' and from 'module.x.w'"):
        migrate(numbered("x.w", "module.x.w"), rename("module.{rest:any}", "{rest}"))


def test_gates_are_judged_on_the_keys_that_entered_the_chain():
    steps = (
        rename("head.{rest}", "head.fc.{rest}", gates=Gates(unless=(template("head.fc.weight"),))),
        rename("old.{n:int}", "new.{n}", gates=Gates(unless=(template("head.fc.weight"),))),
    )
    assert list(migrate(numbered("head.weight", "old.3"), *steps)) == ["head.fc.weight", "new.3"]
    assert list(migrate(numbered("head.fc.weight", "old.3"), *steps)) == ["head.fc.weight", "old.3"]


def test_a_gate_that_shares_holes_is_judged_match_by_match():
    step = rename(
        "{p:any}.{name}_g", "{p}.{name}.original0", gates=Gates(if_all=(template("{p:any}.{name}_v"),))
    )
    state = numbered("a.weight_g", "a.weight_v", "b.weight_g")
    assert list(migrate(state, step)) == ["a.weight.original0", "a.weight_v", "b.weight_g"]


def test_a_version_gate_counts_no_version_as_oldest():
    step = rename("linear_{n:int}.weight", "{3*(n-1)}.weight", gates=Gates(before=2))
    state = numbered("linear_1.weight", "linear_2.weight")
    assert list(migrate(state, step)) == ["0.weight", "3.weight"]
    assert list(migrate(state, step, version=1)) == ["0.weight", "3.weight"]
    assert list(migrate(state, step, version=2)) == list(state)


def test_split_gives_views_and_merge_gives_the_value_back():
    state = {"attn.in_proj_weight": np.arange(12, dtype=np.float32).reshape(6, 2)}
    step = Split(
        template("{p:any}.in_proj_weight"),
        tuple(template(f"{{p}}.{n}_proj.weight", "{p:any}") for n in "qkv"),
    )
    thirds = migrate(state, step)
    assert values(thirds)["attn.k_proj.weight"] == [[4, 5], [6, 7]]
    assert np.shares_memory(thirds["attn.k_proj.weight"], state["attn.in_proj_weight"])
    assert values(back(thirds, step)) == values(state)


def test_experts_are_stacked_in_the_order_of_their_numbers_and_then_joined():
    state = {
        f"experts.{n}.{w}.weight": np.full((1, 2), 10 * n + int(w[1]))
        for n in (10, 2, 0, 1)
        for w in ("w1", "w3")
    }
    state |= {
        f"experts.{n}.{w}.weight": np.full((1, 2), 10 * n + int(w[1]))
        for n in range(3, 10)
        for w in ("w1", "w3")
    }
    steps = (
        Merge((template("experts.{e:int}.w1.weight"),), template("gate"), over="e"),
        Merge((template("experts.{e:int}.w3.weight"),), template("up"), over="e"),
        Merge((template("gate"), template("up")), template("experts.gate_up_proj"), axis=1),
    )
    joined = migrate(state, *steps)
    assert joined["experts.gate_up_proj"].shape == (11, 2, 2)
    assert joined["experts.gate_up_proj"][:, :, 0].tolist() == [[10 * n + 1, 10 * n + 3] for n in range(11)]
    assert values(back(joined, *steps)) == values(state)


def test_a_merge_of_which_a_part_is_missing_names_it():
    step = Merge((template("q.{r:any}"), template("k.{r:any}")), template("qk.{r}", "{r:any}"))
    with pytest.raises(MigrationError, match=r"merge: missing 'k.weight'"):
        migrate(numbered("q.weight"), step)
    stacked = Merge((template("e.{n:int}"),), template("all"), over="n")
    with pytest.raises(MigrationError, match=r"merge: missing 'e.1'"):
        migrate(numbered("e.0", "e.2"), stacked)


def test_default_takes_shape_and_dtype_of_a_sibling():
    step = Default(template("{p:any}.running_var", "{p:any}"), 1, like=template("{p:any}.weight"))
    state = {"bn.weight": np.zeros(3, np.float32), "bn.bias": np.zeros(3, np.float32)}
    filled = migrate(state, step)
    assert filled["bn.running_var"].tolist() == [1, 1, 1]
    assert filled["bn.running_var"].dtype == np.float32
    kept = migrate({**state, "bn.running_var": np.full(3, 7.0)}, step)
    assert kept["bn.running_var"].tolist() == [7, 7, 7]
    number = migrate({}, Default(template("num_batches_tracked"), 0, (), "int64"))
    assert (number["num_batches_tracked"].shape, number["num_batches_tracked"].dtype) == ((), np.int64)


def test_values_are_transformed_with_their_names():
    state = {
        "cls_score.w": np.arange(3.0),
        "bbox_pred.w": np.arange(8.0),
        "conv.w": np.arange(6.0).reshape(2, 3),
    }
    moved = migrate(
        state,
        rename("cls_score.w", "cls.weight", transforms=(Roll(0, -1),)),
        rename("bbox_pred.w", "box.weight", transforms=(Slice(0, 4),)),
        rename("conv.w", "conv.weight", transforms=(Transpose(),)),
    )
    assert values(moved) == {
        "cls.weight": [1, 2, 0],
        "box.weight": [4, 5, 6, 7],
        "conv.weight": [[0, 3], [1, 4], [2, 5]],
    }


def test_rotary_rows_are_permuted_and_permuted_back():
    step = rename("{p:any}.wq.weight", "{p}.q_proj.weight", transforms=(Permute(0, (2, -1, 2), (0, 2, 1)),))
    state = {"l.0.wq.weight": np.arange(16.0).reshape(8, 2)}
    moved = migrate(state, step)
    assert moved["l.0.q_proj.weight"][:, 0].tolist() == [0, 4, 2, 6, 8, 12, 10, 14]
    assert values(back(moved, step)) == values(state)


def test_drop_and_pattern():
    state = numbered("a.relative_position_index", "conv1_w", "res2_0_w")
    moved = migrate(
        state,
        Drop(template("{p:any}.relative_position_index")),
        RenamePattern("_", "."),
    )
    assert list(moved) == ["conv1.w", "res2.0.w"]


def test_shapes_that_do_not_fit_are_told_for_all_keys_together():
    step = Split(template("{p}.qkv"), (template("{p}.a"), template("{p}.b")))
    state = {"x.qkv": np.zeros(3), "y.qkv": np.zeros(5), "z.qkv": np.zeros(4)}
    with pytest.raises(
        MigrationError, match=r"(?s)'x.qkv': split along axis 0: 3 rows.*'y.qkv': .* 5 rows"
    ) as caught:
        migrate(state, step)
    assert "z.qkv" not in str(caught.value)


def test_what_is_no_array_can_be_renamed_but_not_changed():
    state = {"note": "text", "w": np.zeros(2)}
    values_, _ = apply_steps([rename("note", "remark")], stored_values(state))
    assert MigratedDict(values_, state)["remark"] == "text"
    with pytest.raises(MigrationError, match="'note': the value is not an array"):
        migrate(state, rename("note", "remark", transforms=(Transpose(),)))


def test_a_rename_that_never_ends_is_refused():
    with pytest.raises(MigrationError, match="renaming never ends"):
        migrate(numbered("a"), rename("{x:any}", "{x}a", repeat=True))


def test_the_rows_say_what_happens_and_why_not():
    state = {"a.w": np.zeros((2, 3), np.float32), "b.w": np.zeros(1)}
    step = rename("a.{n}", "c.{n}", transforms=(Transpose(),))
    shut = rename("b.{n}", "d.{n}", gates=Gates(unless=(template("a.w"),)))
    _, rows = apply_steps([step, shut, Drop(template("none"))], stored_values(state))
    assert [(row.old, row.new, row.skipped) for row in rows] == [
        (("a.w",), ("c.w",), ""),
        (("b.w",), (), "'a.w' is there already"),
        ((), (), "no key matches"),
    ]
    assert (rows[0].before, rows[0].after) == ((Header((2, 3), "float32"),), (Header((3, 2), "float32"),))
    assert rows[0].step == "rename a.{n} -> c.{n}"


@given(order=st.permutations(["l.2.w", "l.0.w", "l.1.w", "m.x", "q", "k"]))
def test_the_order_of_keys_never_matters(order):
    state = {key: np.array([len(key), ord(key[2]) if len(key) > 2 else 0]) for key in order}
    steps = (
        rename("l.{n:int}.w", "l.{n+1}.w"),
        Merge((template("q"), template("k")), template("qk")),
        Split(template("m.x"), (template("m.a"), template("m.b"))),
    )
    moved = migrate(state, *steps)
    expected = migrate(dict(sorted(state.items())), *steps)
    assert values(moved) == values(expected)
    assert values(back(moved, *steps)) == values(state)


def test_a_hole_without_a_value_is_refused_beforehand():
    with pytest.raises(TemplateError, match=r"'b\.\{m\}' has the hole 'm', and"):
        rename("a.{n}", "b.{m}").check()


def test_steps_that_match_nothing_are_warnings_of_the_plan():
    steps = [Drop(template("{p:any}.mask")), Drop(template("w")), Drop(template("gone"))]
    plan = plan_migration([Migration("m", steps), WRAPPERS], {"w": np.zeros(1), "v": np.zeros(1)})
    assert plan.warnings == ("drop {p:any}.mask: no key matches", "drop gone: no key matches")
    assert plan_migration(Migration("m", steps[1:2]), {"w": np.zeros(1)}).warnings == ()


def test_what_a_migration_names_is_unwrapped_before_what_all_checkpoints_may_have():
    mine = Migration("mine", unwrap=("ema.module",))
    held = {"model": {"w": np.zeros(1)}, "ema": {"module": {"w": np.ones(1)}, "n_averaged": np.zeros(())}}
    for order in ((WRAPPERS, mine), (mine, WRAPPERS)):
        assert values(chains.migrate(order, held)) == {"w": [1.0]}
        assert values(chains.migrate(order, {"state_dict": held["model"]})) == {"w": [0.0]}
        inside = {"state_dict": {"ema": held["ema"], "epoch": 1}}
        assert values(chains.migrate(order, inside)) == {"w": [1.0]}
    assert values(chains.migrate(mine, {"ema.module": held["model"]})) == {"w": [0.0]}


def test_an_unwrapped_checkpoint_goes_back_to_the_state_dict_inside():
    mine = Migration("mine", [rename("w", "v")], unwrap=("model",))
    held = {"model": {"w": np.ones(1)}, "epoch": 1}
    assert cannot_go_back(mine, held) == (
        "migration 'mine' unwraps a checkpoint: the rest of it is left out",
    )
    assert cannot_go_back(mine, held["model"]) == ()
    assert values(chains.migrate(mine.inverse(), chains.migrate(mine, held))) == {"w": [1.0]}


def test_a_step_that_a_user_made_of_a_rename_is_asked_for_its_own_candidates():
    class Loud(Rename):
        def candidates(self, values, around):
            return [((key,), {}, lambda key=key: ((key.upper(), values[key]),)) for key in values]

    step = Loud(Template.parse("a.{rest:any}"), Template.parse("b.{rest:any}"))
    assert list(plan_migration(Migration("loud", [step]), {"a.b": 1, "c": 2}).values) == ["A.B", "C"]


def test_a_merge_that_lacks_a_key_of_which_a_hole_could_be_anything_shows_its_template():
    step = Merge((template("{p}.{n:int}.w"), template("{q}.{n:int}.v")), template("{n:int}.both"))
    with pytest.raises(MigrationError, match=r"merge: missing '\{q\}\.\{n:int\}\.v'"):
        plan_migration(Migration("one", [step]), {"a.0.w": np.ones(2)})


def test_the_bound_that_is_passed_is_named_and_not_one_that_is_met(monkeypatch):
    monkeypatch.setattr(applying, "MAX_TENSORS", 2)
    monkeypatch.setattr(applying, "most_key_text", lambda text: 20)
    message = r"'a' to 'x{30}': that makes 31 characters of keys; at most 20 are made of this state dict"
    with pytest.raises(MigrationError, match=message):
        migrate({"a": np.zeros(1), "b": np.zeros(1)}, rename("a", "x" * 30))
