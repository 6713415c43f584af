"""Twenty layouts met in the wild, each on small arrays with exact values, and back where that is possible."""

import numpy as np
import pytest

from packager._migrations import (
    Migration,
    Permute,
    Reshape,
    Roll,
    Slice,
    Step,
    Transpose,
    default,
    drop,
    merge,
    migrate,
    migrated_metadata,
    plan_migration,
    rename,
    rename_pattern,
    split,
    unwrapped,
)


def numbered(*keys: str) -> dict:
    return {key: np.array([at]) for at, key in enumerate(keys)}


def values(state) -> dict:
    return {key: np.asarray(value).tolist() for key, value in state.items()}


def there_and_back(migration: Migration, state: dict, expected: dict, version: int | None = None) -> None:
    migrated = dict(migrate(migration, state, version))
    assert values(migrated) == expected
    assert values(migrate(migration.inverse(), migrated)) == values(state)


def test_versions_follow_any_step_that_gives_keys_another_name():
    class Prefix(Step):
        def renamed(self, key):
            return f"net.{key}"

    assert migrated_metadata({"bn": 3, "": 1}, Migration("prefix", [Prefix()])) == {"net.bn": 3, "net": 1}


def test_01_data_parallel_prefix_on_keys_and_on_versions():
    ddp = Migration("ddp", [rename("module.{rest:any}", "{rest}")])
    there_and_back(ddp, numbered("module.bn.weight", "module.w"), {"bn.weight": [0], "w": [1]})
    assert migrated_metadata({"": "old", "module": "root", "module.bn": "bn"}, ddp) == {
        "": "root",
        "bn": "bn",
    }


def test_02_compiled_segment_anywhere_and_repeatedly():
    compiled = Migration(
        "compile",
        [
            rename("_orig_mod.{rest:any}", "{rest}", repeat=True),
            rename("{a:any}._orig_mod.{b:any}", "{a}.{b}", repeat=True),
        ],
    )
    state = numbered("_orig_mod.x", "head._orig_mod.w", "a._orig_mod.b._orig_mod.c")
    assert values(migrate(compiled, state)) == {"x": [0], "head.w": [1], "a.b.c": [2]}


def test_03_moving_average_container():
    ema = Migration(
        "ema",
        [drop("n_averaged"), rename("module.{rest:any}", "{rest}")],
        unwrap=("state_dict_ema", "model_ema", "state_dict", "model"),
    )
    checkpoint = {"epoch": 3, "model": {}, "model_ema": numbered("n_averaged", "module.fc.weight")}
    assert values(migrate(ema, unwrapped(checkpoint, ema.unwrap))) == {"fc.weight": [1]}


def test_04_densenet_inner_dots():
    dense = Migration(
        "densenet",
        [
            rename(f"{{p:any}}.{layer}.{{n:int}}.{{rest}}", f"{{p}}.{layer}{{n}}.{{rest}}")
            for layer in ("norm", "conv")
        ],
    )
    there_and_back(
        dense,
        numbered("b.denselayer2.norm.1.weight", "b.denselayer2.conv.2.weight"),
        {"b.denselayer2.norm1.weight": [0], "b.denselayer2.conv2.weight": [1]},
    )


def test_05_vision_transformer_mlp_before_version_2():
    mlp = Migration("mlp", [rename("linear_{n:int}.{rest}", "{3*(n-1)}.{rest}")], to=2)
    state = numbered("linear_1.weight", "linear_2.bias")
    for version in (None, 1):
        there_and_back(mlp, state, {"0.weight": [0], "3.bias": [1]}, version)
    assert list(migrate(mlp, state, 2)) == list(state)


def test_06_batch_norm_counter_before_version_2():
    norm = Migration("batch norm", [default("num_batches_tracked", 0, shape=(), dtype="int64")], to=2)
    added = migrate(norm, numbered("weight"))["num_batches_tracked"]
    assert (added.shape, added.dtype, added.item()) == ((), np.int64, 0)
    assert list(migrate(norm, numbered("weight"), 2)) == ["weight"]


def test_07_frozen_batch_norm_statistics_shaped_like_a_sibling():
    norm = Migration(
        "frozen",
        [
            default("running_mean", 0, like="weight", before=2),
            default("running_var", 1, like="weight", before=2),
        ],
    )
    state = {"weight": np.full(3, 5, np.float32)}
    assert values(migrate(norm, state, 1)) == {
        "weight": [5] * 3,
        "running_mean": [0] * 3,
        "running_var": [1] * 3,
    }
    assert migrate(norm, state, 1)["running_var"].dtype == np.float32


def test_08_caffe2_chain_with_rolled_and_cut_rows():
    caffe2 = Migration(
        "c2",
        [
            rename("cls_score_w", "cls_score_w", Roll(0, -1)),
            rename("bbox_pred_w", "bbox_pred_w", Slice(0, 4)),
            rename_pattern("_", "."),
            rename_pattern(r"\.b$", ".bias"),
            rename_pattern(r"\.w$", ".weight"),
            rename_pattern(r"bn\.s$", "norm.weight"),
            rename_pattern("branch2a", "conv1"),
        ],
    )
    state = {
        "cls_score_w": np.arange(3),
        "bbox_pred_w": np.arange(6),
        "res2_0_branch2a_w": np.array([1]),
        "res2_0_branch2a_bn_s": np.array([2]),
        "conv1_b": np.array([3]),
    }
    assert values(migrate(caffe2, state)) == {
        "cls.score.weight": [1, 2, 0],
        "bbox.pred.weight": [4, 5],
        "res2.0.conv1.weight": [1],
        "res2.0.conv1.norm.weight": [2],
        "conv1.bias": [3],
    }


def test_09_swin_downsample_moves_up_all_keys_at_once():
    fresh = {"unless": "head.fc.weight"}
    swin = Migration(
        "swin",
        [
            drop("{p:any}.attn_mask", **fresh),
            drop("{p:any}.relative_position_index", **fresh),
            rename("layers.{n:int}.downsample.{rest:any}", "layers.{n+1}.downsample.{rest}", **fresh),
            rename("head.{rest}", "head.fc.{rest}", **fresh),
        ],
    )
    state = numbered("layers.0.downsample.w", "layers.1.downsample.w", "layers.0.attn_mask", "head.weight")
    assert values(migrate(swin, state)) == {
        "layers.1.downsample.w": [0],
        "layers.2.downsample.w": [1],
        "head.fc.weight": [3],
    }
    new = numbered("layers.1.downsample.w", "head.fc.weight", "layers.0.attn_mask")
    assert values(migrate(swin, new)) == values(new)


def test_10_patch_embedding_reshaped_to_a_convolution():
    patches = Migration(
        "patch", [rename("patch.weight", "patch.proj.weight", Reshape((2, 1, 2, 2), old=(2, 4)))]
    )
    there_and_back(
        patches,
        {"patch.weight": np.arange(8).reshape(2, 4)},
        {"patch.proj.weight": [[[[0, 1], [2, 3]]], [[[4, 5], [6, 7]]]]},
    )


def test_11_layer_norm_gamma_and_beta():
    names = Migration(
        "gamma",
        [
            rename("{p:any}.LayerNorm.gamma", "{p}.LayerNorm.weight"),
            rename("{p:any}.LayerNorm.beta", "{p}.LayerNorm.bias"),
        ],
    )
    there_and_back(
        names,
        numbered("enc.LayerNorm.gamma", "enc.LayerNorm.beta"),
        {"enc.LayerNorm.weight": [0], "enc.LayerNorm.bias": [1]},
    )


def test_12_weight_norm_becomes_a_parametrization_when_both_parts_are_there():
    norm = Migration(
        "weight norm",
        [
            rename("{p:any}.{n}_g", "{p}.parametrizations.{n}.original0", if_all="{p}.{n}_v"),
            rename("{p:any}.{n}_v", "{p}.parametrizations.{n}.original1", if_all="{p}.{n}_g"),
        ],
    )
    state = numbered("conv.weight_g", "conv.weight_v")
    expected = {"conv.parametrizations.weight.original0": [0], "conv.parametrizations.weight.original1": [1]}
    there_and_back(norm, state, expected)
    assert list(migrate(norm, numbered("conv.weight_g"))) == ["conv.weight_g"]


def test_13_fused_attention_projections_split_in_thirds():
    thirds = Migration(
        "qkv",
        [
            split(f"{{p:any}}.in_proj_{kind}", [f"{{p}}.{n}_proj.{kind}" for n in "qkv"])
            for kind in ("weight", "bias")
        ],
    )
    there_and_back(
        thirds,
        {"a.in_proj_weight": np.arange(6).reshape(3, 2), "a.in_proj_bias": np.arange(3)},
        {
            "a.q_proj.weight": [[0, 1]],
            "a.k_proj.weight": [[2, 3]],
            "a.v_proj.weight": [[4, 5]],
            "a.q_proj.bias": [0],
            "a.k_proj.bias": [1],
            "a.v_proj.bias": [2],
        },
    )


def test_14_mixture_of_experts_stacked_in_natural_order_and_joined():
    experts = Migration(
        "moe",
        [
            merge("{p:any}.experts.{e:int}.w1.weight", "{p}.gate", over="e"),
            merge("{p:any}.experts.{e:int}.w3.weight", "{p}.up", over="e"),
            merge(["{p:any}.gate", "{p:any}.up"], "{p}.experts.gate_up_proj", axis=1),
        ],
    )
    state = {
        f"l.experts.{e}.{w}.weight": np.full((1, 1), 10 * e + int(w[1]))
        for e in range(12)
        for w in ("w1", "w3")
    }
    shuffled = dict(sorted(state.items()))  # "10" before "2"
    there_and_back(
        experts, shuffled, {"l.experts.gate_up_proj": [[[10 * e + 1], [10 * e + 3]] for e in range(12)]}
    )


def test_15_rotary_rows_permuted_by_heads():
    rotary = Migration(
        "llama", [rename("{p:any}.wq.weight", "{p}.q_proj.weight", Permute(0, (2, -1, 2), (0, 2, 1)))]
    )
    there_and_back(
        rotary,
        {"l.wq.weight": np.arange(8).reshape(8, 1)},
        {"l.q_proj.weight": [[0], [2], [1], [3], [4], [6], [5], [7]]},
    )


def test_16_kernels_transposed():
    kernels = Migration("conv1d", [rename("{p:any}.kernel", "{p}.weight", Transpose())])
    there_and_back(
        kernels, {"fc.kernel": np.arange(6).reshape(2, 3)}, {"fc.weight": [[0, 3], [1, 4], [2, 5]]}
    )


def test_17_decoder_version_buffer_and_sinusoid_table():
    decoder = Migration(
        "fairseq",
        [
            drop("{p:any}.embed_positions.weights", if_all="{p}.version"),
            default(
                "{p:any}.embed_positions._float_tensor",
                0,
                shape=(1,),
                dtype="float32",
                like="{p:any}.version",
            ),
            drop("{p:any}.version"),
        ],
    )
    state = {"dec.version": np.array([3.0]), "dec.embed_positions.weights": np.zeros(2)}
    assert values(migrate(decoder, state)) == {"dec.embed_positions._float_tensor": [0.0]}


def test_18_wrapper_prefix_added():
    wrapper = Migration("wrapper", [rename("{rest:any}", "timm_model.{rest}")])
    there_and_back(
        wrapper, numbered("conv.weight", "b"), {"timm_model.conv.weight": [0], "timm_model.b": [1]}
    )


def test_19_output_projection_unless_the_new_one_is_there():
    output = Migration("mha", [rename("out_proj.weight", "out_proj_weight", unless="out_proj_weight")])
    there_and_back(output, numbered("out_proj.weight"), {"out_proj_weight": [0]})
    both = numbered("out_proj.weight", "out_proj_weight")
    assert values(migrate(output, both)) == values(both)


def test_20_block_names_by_template():
    blocks = Migration(
        "gguf", [rename("blk.{n:int}.attn_{w}.weight", "model.layers.{n}.self_attn.{w}_proj.weight")]
    )
    there_and_back(
        blocks,
        numbered("blk.3.attn_q.weight", "blk.11.attn_k.weight"),
        {"model.layers.3.self_attn.q_proj.weight": [0], "model.layers.11.self_attn.k_proj.weight": [1]},
    )


def test_versions_run_one_after_the_other():
    steps = [
        Migration("to 2", [rename("b", "c")], to=2),
        Migration("to 1", [rename("a", "b")], to=1),
    ]
    assert list(migrate(steps, numbered("a"))) == ["c"]
    assert list(migrate(steps, numbered("b"), version=1)) == ["c"]
    plan = plan_migration(steps, numbered("b"), version=1)
    assert plan.ran == ("to 2",)
    assert plan.rows[0].skipped == "the state dict has version 1, this reaches 1"


def test_two_migrations_to_one_version_are_refused():
    both = [Migration("one", [], to=2), Migration("other", [], to=2)]
    with pytest.raises(
        Exception, match="migration 'one' and migration 'other' both reach version 2 of the checkpoint"
    ):
        migrate(both, {})


LONG = "encoder.layers.{}.self_attention.output_projection"


def test_a_plan_is_grouped_by_step_and_fits_a_terminal_of_80_columns():
    steps = [
        rename("{p:any}.output_projection.kernel", "{p}.projection.weight", Transpose()),
        rename("head.kernel", "head.weight", Transpose()),
        split("qkv", ["q", "k", "v"]),
        merge(["a", "b"], "ab"),
        default("{p:any}.count", 0, shape=(), dtype="int64", like="{p:any}.mean"),
        drop("old"),
        drop("none"),
    ]
    state = {
        **{f"{LONG.format(n)}.kernel": np.zeros((2, 3), np.float32) for n in (0, 11)},
        "l.output_projection.kernel": np.zeros((2, 3), np.float32),
        "head.kernel": np.zeros((2, 3), np.float32),
        **dict.fromkeys(["qkv", "a", "b", "n.mean", "old"], np.zeros(3)),
    }
    plan = plan_migration(Migration("t", steps), state)
    assert str(plan).splitlines() == [
        "rename {p:any}.output_projection.kernel -> {p}.projection.weight",
        "    encoder.layers.0.self_attention.output_projection.kernel   float32[2, 3]",
        "      -> encoder.layers.0.self_attention.projection.weight     float32[3, 2]",
        "    encoder.layers.11.self_attention.output_projection.kernel  float32[2, 3]",
        "      -> encoder.layers.11.self_attention.projection.weight    float32[3, 2]",
        "    l.output_projection.kernel                                 float32[2, 3]",
        "      -> l.projection.weight                                   float32[3, 2]",
        "rename head.kernel -> head.weight",
        "    head.kernel -> head.weight  float32[2, 3] -> float32[3, 2]",
        "split qkv -> q, k, v",
        "    qkv     float64[3]",
        "      -> q  float64[1]",
        "      -> k  float64[1]",
        "      -> v  float64[1]",
        "merge a, b -> ab",
        "    a        float64[3]",
        "    b        float64[3]",
        "      -> ab  float64[6]",
        "default {p:any}.count",
        "      -> n.count  int64[]",
        "drop old",
        "    old  float64[3]",
        "drop none",
        "    skipped: no key matches",
        "8 changes, 1 skipped, 10 keys afterwards",
    ]
