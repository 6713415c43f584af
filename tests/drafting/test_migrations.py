"""Drafts: the twenty cases as far as names and shapes tell, BERT both ways, and what is unsure."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from packager._drafting import suggest_migration
from packager._drafting.matching import number_maps
from packager._migrations import Migration, format_migration, migrate, plan_migration, rename
from packager._migrations.migration_tables import parse_migration
from packager._migrations.templates import HoleArithmetic
from packager._weights import open_checkpoint
from packager.errors import MigrationError
from tests.tables import one_test

CHECKPOINT = Path(__file__).parents[2] / "fixtures" / "training" / "last.pt"


def state(**shapes):
    """A state dict of arrays, each filled with a number of its own; `__` stands for a dot."""
    return {
        key.replace("__", "."): np.arange(int(np.prod(shape)), dtype=np.float32).reshape(shape)
        + 1000 * number
        for number, (key, shape) in enumerate(shapes.items())
    }


def drafted(old, new):
    """The draft, after its text was read again, and what it makes of `old`."""
    draft = suggest_migration(old, new)
    read = parse_migration(str(draft))
    migrated = migrate(read, old)
    assert {key: migrated[key].shape for key in new if key in migrated} == {
        key: value.shape for key, value in new.items() if key in migrated
    }
    return draft, {key: np.asarray(value) for key, value in migrated.items()}


def sources(old, migrated):
    """By new key, the old key whose first element it starts with."""
    first = {float(value.ravel()[0]): key for key, value in old.items()}
    return {key: first[float(value.ravel()[0])] for key, value in migrated.items()}


def rules(draft):
    return [
        (step.old.text, step.new.text) if hasattr(step, "new") and hasattr(step.new, "text") else step
        for step in draft.migration.steps
    ]


W, B = (4, 3), (4,)
CASES = {
    "1 data parallel": (
        state(module__fc__weight=W, module__fc__bias=B),
        state(fc__weight=W, fc__bias=B),
        {"fc.weight": "module.fc.weight", "fc.bias": "module.fc.bias"},
        1,
    ),
    "2 compiled": (
        state(_orig_mod__a__weight=W, _orig_mod__head___orig_mod__bias=B),
        state(a__weight=W, head__bias=B),
        {"a.weight": "_orig_mod.a.weight", "head.bias": "_orig_mod.head._orig_mod.bias"},
        2,
    ),
    "3 averaged": (
        state(n_averaged=(), module__fc__weight=W),
        state(fc__weight=W),
        {"fc.weight": "module.fc.weight"},
        2,
    ),
    "4 densenet": (
        state(
            **{f"b__denselayer2__{kind}__{n}__weight": (n, 5) for kind in ("norm", "conv") for n in (1, 2)}
        ),
        state(**{f"b__denselayer2__{kind}{n}__weight": (n, 5) for kind in ("norm", "conv") for n in (1, 2)}),
        {
            f"b.denselayer2.{kind}{n}.weight": f"b.denselayer2.{kind}.{n}.weight"
            for kind in ("norm", "conv")
            for n in (1, 2)
        },
        2,
    ),
    "5 arithmetic": (
        state(mlp__linear_1__weight=W, mlp__linear_1__bias=B, mlp__linear_2__weight=W, mlp__linear_2__bias=B),
        state(mlp__0__weight=W, mlp__0__bias=B, mlp__3__weight=W, mlp__3__bias=B),
        {
            f"mlp.{3 * (n - 1)}.{kind}": f"mlp.linear_{n}.{kind}"
            for n in (1, 2)
            for kind in ("weight", "bias")
        },
        1,
    ),
    "9 numbers move up": (
        state(
            **{f"layers__{n}__downsample__norm__weight": W for n in range(3)}, head__weight=B, l__attn_mask=B
        ),
        state(**{f"layers__{n}__downsample__norm__weight": W for n in range(1, 4)}, head__fc__weight=B),
        {f"layers.{n}.downsample.norm.weight": f"layers.{n - 1}.downsample.norm.weight" for n in range(1, 4)}
        | {"head.fc.weight": "head.weight"},
        3,
    ),
    "10 patches": (
        state(patch__weight=(2, 8)),
        state(patch__proj__weight=(2, 2, 2, 2)),
        {"patch.proj.weight": "patch.weight"},
        1,
    ),
    "11 gamma and beta": (
        state(**{f"e__{n}__LayerNorm__{kind}": B for n in range(3) for kind in ("gamma", "beta")}),
        state(**{f"e__{n}__LayerNorm__{kind}": B for n in range(3) for kind in ("weight", "bias")}),
        {
            f"e.{n}.LayerNorm.{new}": f"e.{n}.LayerNorm.{old}"
            for n in range(3)
            for old, new in (("gamma", "weight"), ("beta", "bias"))
        },
        2,
    ),
    "12 weight norm": (
        state(conv__weight_g=(4, 1), conv__weight_v=(4, 3)),
        state(
            conv__parametrizations__weight__original0=(4, 1), conv__parametrizations__weight__original1=(4, 3)
        ),
        {
            "conv.parametrizations.weight.original0": "conv.weight_g",
            "conv.parametrizations.weight.original1": "conv.weight_v",
        },
        2,
    ),
    "16 kernels": (
        state(fc__kernel=(3, 4), fc__bias=B, sq__kernel=(4, 4)),
        state(fc__weight=(4, 3), fc__bias=B, sq__weight=(4, 4)),
        {"fc.weight": "fc.kernel", "fc.bias": "fc.bias", "sq.weight": "sq.kernel"},
        1,
    ),
    "18 a new prefix": (
        state(conv__weight=W, conv__bias=B),
        state(timm_model__conv__weight=W, timm_model__conv__bias=B),
        {"timm_model.conv.weight": "conv.weight", "timm_model.conv.bias": "conv.bias"},
        1,
    ),
    "19 a dot": (
        state(out_proj__weight=W),
        state(out_proj_weight=W),
        {"out_proj_weight": "out_proj.weight"},
        1,
    ),
    "20 blocks": (
        state(**{f"blk__{n}__attn_{w}__weight": W for n in range(12) for w in "qk"}),
        state(**{f"model__layers__{n}__self_attn__{w}_proj__weight": W for n in range(12) for w in "qk"}),
        {
            f"model.layers.{n}.self_attn.{w}_proj.weight": f"blk.{n}.attn_{w}.weight"
            for n in range(12)
            for w in "qk"
        },
        2,
    ),
}


@one_test
@pytest.mark.parametrize("case", CASES)
def test_a_draft_finds_the_layout(case):
    old, new, expected, steps = CASES[case]
    draft, migrated = drafted(old, new)
    assert sources(old, migrated) == expected
    assert (draft.is_complete, len(draft.migration.steps)) == (True, steps)
    assert len(draft.reasons) == steps
    assert all(draft.reasons)


def test_06_a_counter_that_came_with_version_2_is_a_default():
    old = state(bn__weight=B, bn__running_mean=B)
    new = old | {"bn.num_batches_tracked": np.zeros((), np.int64)}
    draft, migrated = drafted(old, new)
    assert draft.is_complete
    assert (migrated["bn.num_batches_tracked"].dtype, migrated["bn.num_batches_tracked"].item()) == (
        np.int64,
        0,
    )


def test_13_fused_projections_are_cut_by_shape_in_the_order_of_their_roles():
    old = state(a__in_proj_weight=(6, 2), a__in_proj_bias=(6,), a__out_proj__weight=(2, 2))
    new = state(
        **{
            f"a__{n}_proj__{kind}": (2, 2)[: 2 - (kind == "bias")]
            for kind in ("weight", "bias")
            for n in "kqv"
        },
        a__out_proj__weight=(2, 2),
    )
    draft, migrated = drafted(old, new)
    assert draft.is_complete
    assert migrated["a.k_proj.weight"].tolist() == old["a.in_proj_weight"][2:4].tolist()
    assert migrated["a.v_proj.bias"].tolist() == old["a.in_proj_bias"][4:].tolist()
    back, again = drafted(new, old)
    assert back.is_complete
    assert (
        again["a.in_proj_weight"].tolist()
        == np.concatenate([new[f"a.{n}_proj.weight"] for n in "qkv"]).tolist()
    )


def test_14_experts_are_stacked():
    old = state(**{f"l__experts__{e}__w1__weight": (2, 3) for e in range(11)})
    draft, migrated = drafted(old, state(l__experts__gate=(11, 2, 3)))
    assert draft.is_complete
    assert migrated["l.experts.gate"][10].tolist() == old["l.experts.10.w1.weight"].tolist()


HIDDEN, WIDE, WORDS, LAYERS = 8, 32, 50, 12


def bert(layers=LAYERS):
    """The keys of Hugging Face's BERT as it was saved from TensorFlow's."""
    found = {f"embeddings__{n}_embeddings__weight": (size, HIDDEN) for n, size in
             (("word", WORDS), ("position", 16), ("token_type", 2))}  # fmt: skip
    found |= {f"embeddings__LayerNorm__{kind}": (HIDDEN,) for kind in ("gamma", "beta")}
    found["embeddings__position_ids"] = (1, 16)
    for n in range(layers):
        at = f"encoder__layer__{n}__"
        for name, (rows, columns) in {
            "attention__self__query": (HIDDEN, HIDDEN),
            "attention__self__key": (HIDDEN, HIDDEN),
            "attention__self__value": (HIDDEN, HIDDEN),
            "attention__output__dense": (HIDDEN, HIDDEN),
            "intermediate__dense": (WIDE, HIDDEN),
            "output__dense": (HIDDEN, WIDE),
        }.items():
            found |= {f"{at}{name}__weight": (rows, columns), f"{at}{name}__bias": (rows,)}
        for name in ("attention__output", "output"):
            found |= {f"{at}{name}__LayerNorm__{kind}": (HIDDEN,) for kind in ("gamma", "beta")}
    found |= {"pooler__dense__weight": (HIDDEN, HIDDEN), "pooler__dense__bias": (HIDDEN,)}
    return state(**{f"bert__{key}": shape for key, shape in found.items()})


NEW_NAMES = {
    "embeddings.word_embeddings": "embed.word",
    "embeddings.position_embeddings": "embed.position",
    "embeddings.token_type_embeddings": "embed.token_type",
    "embeddings.LayerNorm": "embed.norm",
    "encoder.layer": "layers",
    "attention.self.query": "attn.q",
    "attention.self.key": "attn.k",
    "attention.self.value": "attn.v",
    "attention.output.dense": "attn.out",
    "attention.output.LayerNorm": "attn_norm",
    "intermediate.dense": "mlp.up",
    "output.dense": "mlp.down",
    "output.LayerNorm": "mlp_norm",
    "pooler.dense": "pooler",
    "gamma": "weight",
    "beta": "bias",
}


def new_name(key):
    key = key.removeprefix("bert.")
    for old, new in NEW_NAMES.items():
        key = key.replace(old, new)
    return key


def test_a_bert_of_other_names_is_found_layer_by_layer_as_templates():
    old = bert()
    new = {new_name(key): value for key, value in old.items() if "position_ids" not in key}
    draft, migrated = drafted(old, new)
    assert draft.is_complete
    assert sources(old, migrated) == {new_name(key): key for key in old if "position_ids" not in key}
    assert len(draft.migration.steps) <= 18
    assert (
        "bert.encoder.layer.{n:int}.attention.self.query.{rest:any}",
        "layers.{n}.attn.q.{rest}",
    ) in rules(draft)
    back, again = drafted(new, {key: value for key, value in old.items() if "position_ids" not in key})
    assert back.is_complete
    assert sources(new, again) == {key: new_name(key) for key in again}


def test_a_bert_with_fused_projections_is_joined_and_cut():
    old = bert()
    plain = {new_name(key): value for key, value in old.items() if "position_ids" not in key}
    new = {key: value for key, value in plain.items() if not any(f".attn.{n}." in key for n in "qkv")}
    for n in range(LAYERS):
        for kind in ("weight", "bias"):
            parts = [plain[f"layers.{n}.attn.{name}.{kind}"] for name in "qkv"]
            new[f"layers.{n}.attn.qkv.{kind}"] = np.concatenate(parts)
    draft, migrated = drafted(old, new)
    assert draft.is_complete
    assert {key: value.tolist() for key, value in migrated.items()} == {
        key: value.tolist() for key, value in new.items()
    }
    back, again = drafted(new, {key: value for key, value in old.items() if "position_ids" not in key})
    assert back.is_complete
    assert all(np.array_equal(value, old[key]) for key, value in again.items())


def test_names_that_are_exchanged_are_exchanged():
    old = state(a__weight=(2, 3), b__weight=(3, 2))
    new = state(a__weight=(3, 2), b__weight=(2, 3))
    draft, migrated = drafted(old, new)
    assert draft.is_complete
    assert {key: value.shape for key, value in migrated.items()} == {"a.weight": (3, 2), "b.weight": (2, 3)}


def test_what_cannot_be_placed_is_said_and_left_alone():
    old = state(fc__weight=W, strange=(7,))
    new = state(fc__weight=W, other__thing=(9,))
    draft, migrated = drafted(old, new)
    assert (draft.unplaced, draft.missing, draft.migration.steps) == (("strange",), ("other.thing",), ())
    assert not replace(draft, missing=()).is_complete
    assert not replace(draft, unplaced=()).is_complete
    assert list(migrated) == list(old)
    assert str(draft).splitlines()[-4:] == [
        "# Old keys without a match (write a rename or a drop for each):",
        "#     strange",
        "# New keys without a value (write a rename or a default for each):",
        "#     other.thing",
    ]


SHAPES_ALONE = {
    "in the order of the keys": (
        state(x__weight=B, y__weight=B),
        state(p__weight=B, s__weight=B),
        [
            "x.weight -> p.weight  (the same shape and position)",
            "y.weight -> s.weight  (the same shape and position)",
        ],
    ),
    "other last words, too": (
        state(alpha=B, omega=B),
        state(x__running_mean=B, y__tau=B),
        [
            "alpha -> x.running_mean  (the same shape and position)",
            "omega -> y.tau  (the same shape and position)",
        ],
    ),
    "nothing else of that shape": (
        state(cls_token=(1, 1, 7), fc__weight=W),
        state(pos_embed=(1, 1, 7), fc__weight=W),
        ["cls_token -> pos_embed  (the same shape, and no other keys have these shapes)"],
    ),
    "cut": (
        state(alpha=(6, 3)),
        state(x=(2, 3), y=(2, 3), z=(2, 3)),
        [
            (
                "split alpha -> x, y, z  (1 key: 2 + 2 + 2 rows along axis 0 are the parts; in the "
                "order of the keys: check it)"
            )
        ],
    ),
    "stacked": (
        state(p__0__w=(4, 3), p__1__w=(4, 3)),
        state(rho=(2, 4, 3)),
        ["merge p.{n:int}.w -> rho  (2 keys, stacked to the shape of the new ones)"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", SHAPES_ALONE)
def test_no_step_is_written_on_shape_alone_but_the_guess_is_told(case):
    old, new, guesses = SHAPES_ALONE[case]
    draft = suggest_migration(old, new)
    assert (draft.migration.steps, draft.is_complete) == ((), False)
    assert list(draft.guesses) == guesses
    text = str(draft)
    assert "# Possible pairs, by shape or order only; if they are right, write a rename:\n" in text
    assert all(f"#     {guess}\n" in text for guess in guesses)
    assert parse_migration(text).steps == ()


def test_a_lone_key_whose_shape_fits_transposed_is_told_and_no_step_is_written():
    draft = suggest_migration(state(kernel=(3, 4), fc__bias=B), state(zzz=(4, 3), fc__bias=B))
    guess = "kernel -> zzz  (transposed: transforms = [{ transpose = true }])"
    assert (draft.migration.steps, draft.guesses, draft.is_complete) == ((), (guess,), False)


def test_guesses_stand_in_the_order_of_the_target_and_what_is_turned_comes_after():
    old = state(proj=(16, 50), tok__weight=(50, 16), fc__bias=B)
    draft = suggest_migration(old, state(embed__weight=(50, 16), head__weight=(50, 16), fc__bias=B))
    assert [guess.partition("  (")[0] for guess in draft.guesses] == [
        "tok.weight -> embed.weight",
        "tok.weight -> head.weight",
        "proj -> embed.weight",
        "proj -> head.weight",
    ]


def test_numbers_in_words_are_names_where_those_of_blocks_go_on():
    old = state(
        **{f"layer__{n}__ln{k}__{leaf}": B for n in range(3) for k in (1, 2) for leaf in ("weight", "bias")}
    )
    new = state(
        **{f"blocks__{n}__norm_{k}__{leaf}": B for n in range(3) for k in "ab" for leaf in ("weight", "bias")}
    )
    draft, _ = drafted(old, new)
    assert sorted(step.old.text for step in draft.migration.steps) == [
        "layer.{n:int}.ln1.{rest:any}",
        "layer.{n:int}.ln2.{rest:any}",
    ]
    assert {step.new.text for step in draft.migration.steps} == {
        "blocks.{n}.norm_a.{rest}",
        "blocks.{n}.norm_b.{rest}",
    }


def test_a_module_whose_values_all_fit_is_placed_though_its_names_and_shapes_say_little():
    old, new = state(c__weight=(3, 4), c__bias=(7, 5)), state(zz__weight=(2, 6), zz__bias=(35,))
    draft, migrated = drafted(old, new)
    assert draft.is_complete
    assert sources(old, migrated) == {"zz.weight": "c.weight", "zz.bias": "c.bias"}


def test_keys_that_are_left_are_matched_by_their_longest_ends():
    old = state(conv1__weight=W, res2__0__conv1__weight=W, res2__0__conv1__bias=B)
    new = state(net__body__res2__0__conv1__weight=W, net__stem__conv1__weight=W, net__x=(9,))
    draft = suggest_migration(old, new)
    made = set(migrate(draft.migration, old))
    told = {tuple(guess.split("  ")[0].split(" -> ")) for guess in draft.guesses}
    pairs = {
        ("conv1.weight", "net.stem.conv1.weight"),
        ("res2.0.conv1.weight", "net.body.res2.0.conv1.weight"),
    }
    assert {new for _, new in pairs} <= made | {new for _, new in told}
    assert told <= pairs


def test_a_prefix_that_was_chosen_among_equals_says_so():
    new = {"fc.weight": np.zeros((2, 3)), "fc.bias": np.zeros(2)}
    old = {f"{prefix}.{key}": value for prefix in ("model", "ema") for key, value in new.items()}
    draft = suggest_migration(old, new)
    assert draft.reasons[0] == (
        "prefix 'ema.' goes away: 2 keys of the same name and shape; 'model.' would fit as well: check it"
    )
    assert list(migrate(draft.migration, old)) == list(new)
    alone = suggest_migration({f"ema.{key}": value for key, value in new.items()}, new)
    assert alone.reasons == ("prefix 'ema.' goes away: 2 keys of the same name and shape",)


def test_a_counter_of_another_part_is_dropped_and_that_of_the_model_stays():
    new = {f"{n}.{name}": np.zeros(3) for n in range(2) for name in ("weight", "num_batches_tracked")}
    old = {**new, **{f"ema.{key}": value for key, value in new.items()}, "ema.n_averaged": np.zeros(())}
    draft = suggest_migration(old, new)
    assert [step.what for step in draft.migration.steps][:2] == [
        "drop ema.{n:int}.num_batches_tracked",
        "drop {p:any}.n_averaged",
    ]
    assert (draft.unplaced, draft.missing) == ((), ())
    assert list(migrate(draft.migration, old)) == list(new)


def test_a_draft_reads_no_values():
    from packager._migrations.transforms import Header

    class Headers(dict):
        def header(self, key):
            return Header(dict.__getitem__(self, key), "float32")

        def __getitem__(self, key):
            raise AssertionError("a value was read")

    draft = suggest_migration(Headers({"module.w": (2,)}), Headers({"w": (2,)}))
    assert draft.is_complete


def test_suggestions_of_a_fit_are_never_applied():
    plan = plan_migration(Migration("nothing", []), state(old__norm__weight=B))
    fit = plan.against(state(new__norm__weight=B))
    assert [(near.unexpected, near.missing, near.because) for near in fit.suggestions] == [
        ("old.norm.weight", "new.norm.weight", "the same shape, 2 equal names at the end")
    ]
    assert list(plan.values) == ["old.norm.weight"]
    assert (fit.missing, fit.unexpected, fit.ok) == (("new.norm.weight",), ("old.norm.weight",), False)


@one_test
@pytest.mark.parametrize(
    ("old", "new", "maps"),
    [
        ([(0,), (1,)], [(1,), (2,)], (HoleArithmetic(1, 1),)),
        ([(1,), (2,)], [(0,), (3,)], (HoleArithmetic(3, -3),)),
        ([(0, 1), (1, 1)], [(0, 1), (1, 1)], (HoleArithmetic(), HoleArithmetic())),
        ([(0,), (1,), (2,)], [(0,), (1,)], None),
        ([(0,), (1,), (2,)], [(0,), (1,), (3,)], None),
        ([(0, 0), (1, 1)], [(0, 1), (1, 0)], None),
        ([()], [()], ()),
    ],
)
def test_numbers_are_mapped_by_lines_or_not_at_all(old, new, maps):
    assert number_maps(old, new) == maps


def test_text_of_a_file_says_the_same_as_the_migration():
    steps = [rename('a"{{b}}\x7f.{n:int}', "c.{n+1}", if_all="x", before=3)]
    migration = Migration("na\nme", steps, target="p:C", since=1, to=3)
    read = parse_migration(format_migration(migration))
    assert format_migration(read) == format_migration(migration)
    assert (read.name, read.since, read.to, read.target) == ("na\nme", 1, 3, "p:C")
    own = rename("a", "b")
    with pytest.raises(MigrationError, match="cannot be stored"):
        format_migration(Migration("own", [replace(own, transforms=(object(),))]))
    with pytest.raises(MigrationError, match="name it: NamedFunction"):
        rename("a", "b", np.negative)


# How the projection is called that is those of queries, keys and values at once.
FUSED = ("qkv", "Wqkv", "to_qkv", "query_key_value", "qkv_proj", "in_proj")


@one_test
@pytest.mark.parametrize("name", FUSED)
def test_values_are_joined_with_their_queries_though_the_projection_behind_has_their_shape(name):
    """Its new name has a word in common with the values, and none with its own older one."""
    weights = open_checkpoint(CHECKPOINT, skip_unknown=True)
    old = {key.removeprefix("module."): weights[key].numpy() for key in weights}
    named = {"stem.0": "features", "stem.1": "features_norm", "encoder": "layers", "classifier": "head"}
    named |= {"dense": "out", "intermediate": "up", "output": "down", "output_norm": "norm"}
    named |= {"gamma": "weight", "beta": "bias"}
    new = {}
    for key, value in old.items():
        if ".query." in key:
            every = [old[key.replace("query", part)] for part in ("query", "key", "value")]
            key, value = key.replace("query", name), np.concatenate(every)
        elif ".key." in key or ".value." in key:
            continue
        for before, after in named.items():
            key = re.sub(rf"(^|\.){re.escape(before)}(?=\.|$)", rf"\1{after}", key)
        new[key] = value
    draft, migrated = drafted(old, new)
    assert draft.is_complete
    assert {key: value.tolist() for key, value in migrated.items()} == {k: v.tolist() for k, v in new.items()}
    back, again = drafted(new, old)
    assert back.is_complete
    assert {key: value.tolist() for key, value in again.items()} == {k: v.tolist() for k, v in old.items()}


def test_keys_and_values_are_joined_where_queries_stay_alone():
    old = state(
        a__query__weight=(4, 4), a__key__weight=(2, 4), a__value__weight=(2, 4), a__dense__weight=(4, 4)
    )
    new = state(b__a__query__weight=(4, 4), b__a__kv__weight=(4, 4), b__a__out__weight=(4, 4))
    draft, migrated = drafted(old, new)
    assert draft.is_complete
    both = np.concatenate([old["a.key.weight"], old["a.value.weight"]])
    assert migrated["b.a.kv.weight"].tolist() == both.tolist()
    assert migrated["b.a.query.weight"].tolist() == old["a.query.weight"].tolist()


def test_queries_and_keys_are_never_joined_with_what_is_no_value():
    old = state(a__query__weight=(4, 4), a__key__weight=(4, 4), a__dense__weight=(4, 4))
    draft = suggest_migration(old, state(a__qkv__weight=(12, 4)))
    assert (draft.migration.steps, draft.guesses, draft.is_complete) == ((), (), False)
