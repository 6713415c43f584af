"""Those of the twenty layouts that need more than keys: the module, its configuration, a value, a flag."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import kellet
from kellet import nn
from packager._migrations import (
    Migration,
    NamedFunction,
    Permute,
    Reshape,
    attach,
    cannot_go_back,
    default,
    drop,
    format_migration,
    load_checkpoint,
    migrate,
    pack_migrations,
    parse_migration,
    plan_migration,
    rename,
    split,
    swap,
    unpack_migrations,
)
from packager._weights import CheckpointMetadata, write_checkpoint
from packager.errors import MigrationError


def numbered(*keys: str) -> dict[str, Any]:
    return {key: np.array([at]) for at, key in enumerate(keys)}


def values(state: Any) -> dict[str, Any]:
    return {key: np.asarray(value).tolist() for key, value in state.items()}


@pytest.mark.parametrize("track", [True, False])
@pytest.mark.parametrize("version", [None, 1, 2])
def test_06_the_counter_is_added_where_the_module_tracks_statistics(track: bool, version: int | None) -> None:
    counter = default(
        "{p:any}.num_batches_tracked", 0, shape=(), dtype="int64", like="{p:any}.weight", before=2,
        if_module={"{p}.track_running_stats": True},
    )  # fmt: skip
    net = nn.Sequential(nn.BatchNorm1d(3, track_running_stats=track), nn.BatchNorm1d(3))
    state = {"0.weight": np.ones(3, np.float32), "1.weight": np.ones(3, np.float32)}
    found = migrate(Migration("batch norm", [counter]), state, version, module=net)
    wanted = [] if version == 2 else ["0.num_batches_tracked"] * track + ["1.num_batches_tracked"]
    assert list(found) == [*state, *wanted]
    assert all((found[key].dtype, found[key].tolist()) == (np.int64, 0) for key in wanted)


def bicubic_rows(value: Any, shape: tuple[int, ...]) -> Any:
    """Resample the square grid of a table of positions, row for row; the class token stays."""
    value = np.asarray(value)
    token, grid = value[:, :1], value[:, 1:]
    old, new = int(grid.shape[1] ** 0.5), int((shape[1] - 1) ** 0.5)
    at = np.linspace(0, old - 1, new).round().astype(int)
    square = grid.reshape(1, old, old, -1)[:, at][:, :, at]
    return np.concatenate([token, square.reshape(1, new * new, -1)], 1)


class Patches(nn.Module):
    def __init__(self, side: int) -> None:
        super().__init__()
        self.pos_embed = nn.Parameter(kellet.zeros(1, 1 + side * side, 2))
        self.proj = nn.Parameter(kellet.zeros(2, 1, 2, 2))


@pytest.mark.parametrize("side", [1, 2, 3, 5])
def test_10_positions_are_resampled_by_a_named_function_to_whatever_the_model_has(
    side: int, tmp_path: Any
) -> None:
    function = NamedFunction(f"{__name__}:bicubic_rows", result="target")
    patches = Migration(
        "patches",
        [rename("pos_embed", "pos_embed", function), rename("patch.weight", "proj", Reshape("target"))],
    )
    positions = np.arange(20, dtype=np.float32).reshape(1, 10, 2)
    old = {"pos_embed": positions, "patch.weight": np.arange(8, dtype=np.float32).reshape(2, 4)}
    write_checkpoint(tmp_path / "old.safetensors", old)
    module = Patches(side)
    assert plan_migration(patches, old, module=module).against(module).ok
    load_checkpoint(module, tmp_path / "old.safetensors", parse_migration(format_migration(patches)))
    assert module.pos_embed.tolist() == bicubic_rows(positions, (1, 1 + side * side, 2)).tolist()
    assert module.proj.tolist() == old["patch.weight"].reshape(2, 1, 2, 2).tolist()


class Attention(nn.Module):
    def __init__(self, heads: int, groups: int) -> None:
        super().__init__()
        self.config = {"num_attention_heads": heads, "num_key_value_heads": groups}
        self.q = nn.Linear(3, 8, bias=False)
        self.k = nn.Linear(3, 4 * groups, bias=False)


@pytest.mark.parametrize(("heads", "groups"), [(1, 1), (2, 1), (4, 2)])
def test_15_rotary_rows_are_permuted_by_the_heads_of_the_configuration(heads: int, groups: int) -> None:
    net = nn.ModuleDict({"attn": Attention(heads, groups)})
    rotary = Migration(
        "llama",
        [
            rename(
                "{p}.wq", "{p}.q.weight", Permute(0, ("{p}.config.num_attention_heads", -1, 2), (0, 2, 1))
            ),
            rename(
                "{p}.wk", "{p}.k.weight", Permute(0, ("{p}.config.num_key_value_heads", -1, 2), (0, 2, 1))
            ),
        ],
    )
    old = {"attn.wq": np.arange(24.0).reshape(8, 3), "attn.wk": np.arange(12.0 * groups).reshape(-1, 3)}
    new = migrate(parse_migration(format_migration(rotary)), old, module=net)
    for key, source, count in (("attn.q.weight", "attn.wq", heads), ("attn.k.weight", "attn.wk", groups)):
        rows = old[source]
        assert new[key].tolist() == rows.reshape(count, -1, 2, 3).swapaxes(1, 2).reshape(rows.shape).tolist()
    assert cannot_go_back(rotary, old, module=net) == ()
    assert values(migrate(rotary.inverse(), dict(new), module=net)) == values(old)
    configuration = {"attn": {"config": {"num_attention_heads": heads, "num_key_value_heads": groups}}}
    assert values(migrate(rotary, old, module=configuration)) == values(new)


def test_17_a_decoder_is_judged_by_the_version_that_its_buffer_holds() -> None:
    """As in fairseq, which keeps the version of a decoder's layout among its values."""
    decoder = Migration(
        "fairseq",
        [
            drop("{p}.embed_positions.weights", if_all="{p}.version"),
            default("{p}.embed_positions._float_tensor", 0, shape=(1,), dtype="float32", like="{p}.version",
                    before=2, version_key="{p}.version"),
            rename("{p}.layers.{n:int}.{rest:any}", "{p}.layers.{n}.old.{rest}",
                   before=3, version_key="{p}.version"),
            rename("{p}.kind", "{p}.kinds", if_value={"{p}.version": 2}),
            drop("{p}.version"),
        ],
    )  # fmt: skip
    parts = ("embed_positions.weights", "layers.0.w", "kind")
    state = {f"d{v}.{part}": np.array([9.0]) for v in (1, 2, 3) for part in parts}
    state |= {f"d{v}.version": np.array([v], np.float32) for v in (1, 2, 3)}
    for migration in (decoder, parse_migration(format_migration(decoder))):
        assert sorted(migrate(migration, state)) == [
            "d1.embed_positions._float_tensor", "d1.kind", "d1.layers.0.old.w",
            "d2.kinds", "d2.layers.0.old.w",
            "d3.kind", "d3.layers.0.w",
        ]  # fmt: skip


GGUF = [
    rename("blk.{n:int}.attn_{w}.weight", "layers.{n}.{w}_proj.weight"),
    rename("token_embd.weight", "embed.weight", unless="embed.weight"),
    split("blk.{n:int}.qkv", ["layers.{n}.a", "layers.{n}.b"]),
]
BLOCKS = {
    **numbered("blk.3.attn_q.weight", "token_embd.weight"),
    "blk.0.qkv": np.arange(2),
    "rope_freqs": np.ones(1),
    "blk.x.attn_q.weight": np.ones(1),
}
MADE = ["layers.3.q_proj.weight", "embed.weight", "layers.0.a", "layers.0.b"]
UNKNOWN = ["rope_freqs", "blk.x.attn_q.weight"]


def test_20_unknown_keys_are_kept_dropped_or_an_error_by_a_flag_of_the_migration_or_the_call() -> None:
    for unknown, expected in (("keep", [*MADE, *UNKNOWN]), ("drop", MADE)):
        assert list(migrate(Migration("gguf", GGUF, unknown=unknown), BLOCKS)) == expected
        assert list(migrate(Migration("gguf", GGUF), BLOCKS, unknown=unknown)) == expected
    for call in (
        lambda: migrate(Migration("gguf", GGUF, unknown="error"), BLOCKS),
        lambda: migrate(Migration("gguf", GGUF), BLOCKS, unknown="error"),
    ):
        with pytest.raises(
            MigrationError, match=r"no step of .* matches 2 keys:\s+rope_freqs\s+blk\.x\.attn_q\.weight\s"
        ):
            call()
    known = {key: value for key, value in BLOCKS.items() if key not in UNKNOWN}
    assert list(migrate(Migration("gguf", GGUF, unknown="error"), known)) == MADE


def test_20_keys_that_gates_leave_alone_are_known() -> None:
    state = {**numbered("token_embd.weight", "embed.weight"), "old": np.ones(1)}
    steps = [*GGUF, rename("old", "new", before=2)]
    with pytest.raises(MigrationError, match=r"no step of .* matches 1 key:\s+embed\.weight"):
        migrate(Migration("gguf", steps, unknown="error"), state, 2)
    del state["embed.weight"]
    assert list(migrate(Migration("gguf", steps, unknown="error"), state, 2)) == ["embed.weight", "old"]


def test_20_a_migration_that_drops_has_no_way_back_and_says_what_is_lost() -> None:
    gguf = Migration("gguf", GGUF[:1], unknown="drop")
    assert not gguf.is_reversible
    with pytest.raises(MigrationError, match='cannot go back: no inverse for unknown = "drop"'):
        gguf.inverse()
    state = numbered("blk.3.attn_q.weight", "rope")
    assert cannot_go_back(gguf, state) == ("migration 'gguf': unknown = 'drop': 'rope' is left out",)
    for other in (parse_migration(format_migration(gguf)),
                  unpack_migrations(pack_migrations({"a:A": [gguf]}))["a:A"][0]):  # fmt: skip
        assert other.unknown == "drop"
    with pytest.raises(
        MigrationError, match=r"m\.toml:1: unknown = 'lose': choose one of 'keep', 'drop', 'error'$"
    ):
        parse_migration('unknown = "lose"', "m.toml")


# --- two keys that change places ---


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        (numbered("m.gate.w", "m.up.w"), {"m.up.w": [0], "m.gate.w": [1]}),
        (numbered("m.gate.w"), {"m.up.w": [0]}),
        (numbered("m.up.w", "n.gate.w", "n.up.w"), {"m.gate.w": [0], "n.up.w": [1], "n.gate.w": [2]}),
    ],
)
def test_two_keys_change_places_in_one_step_and_back(state: dict[str, Any], expected: dict[str, Any]) -> None:
    migration = Migration("swiglu", [swap("{p}.gate.{k:any}", "{p}.up.{k}")])
    for one in (migration, parse_migration(format_migration(migration)),
                unpack_migrations(pack_migrations({"a:A": [migration]}))["a:A"][0]):  # fmt: skip
        migrated = migrate(one, state)
        assert values(migrated) == expected
        assert values(migrate(migration.inverse(), dict(migrated))) == values(state)
    assert cannot_go_back(migration, state) == ()


def test_layers_change_places_by_their_numbers_and_versions_follow() -> None:
    from packager._migrations import migrated_metadata

    migration = Migration("order", [swap("l.{n:int}.{k:any}", "r.{n+1}.{k}")])
    assert values(migrate(migration, numbered("l.0.w", "r.1.w", "r.5.w"))) == {
        "r.1.w": [0], "l.0.w": [1], "l.4.w": [2],
    }  # fmt: skip
    assert migrated_metadata({"l.0": "left", "r.1": "right"}, migration) == {"r.1": "left", "l.0": "right"}


def test_a_swap_of_templates_that_fit_one_key_is_an_error_at_its_step() -> None:
    with pytest.raises(MigrationError, match=r"m\.toml:1: swap \{a:any\} <-> x\.\{a\}: 'x\.y' matches both"):
        migrate(Migration("m", [swap("{a:any}", "x.{a}", line="m.toml:1")]), numbered("y", "x.y"))
    with pytest.raises(MigrationError, match=r"has the hole 'a', and .* has no such hole"):
        parse_migration('[[step]]\nswap = "{a}.x"\nwith = "{b}.y"\n')


def test_a_literal_swap_that_finds_neither_key_is_an_error() -> None:
    with pytest.raises(MigrationError, match=r"steps that match no key:\n    swap a <-> b"):
        migrate(Migration("m", [swap("a", "b")]), numbered("c"))


# --- a checkpoint that is open, or holds more than data ---


def test_a_checkpoint_that_is_open_is_loaded(tmp_path: Any) -> None:
    from packager._weights import open_checkpoint
    from packager.errors import ArgumentError

    write_checkpoint(
        tmp_path / "old.kellet", {"old.weight": np.ones((1, 2), "f4"), "old.bias": np.zeros(1, "f4")}
    )
    net, step = nn.Linear(2, 1), rename("old.{rest}", "{rest}")
    checkpoint = open_checkpoint(tmp_path / "old.kellet")
    assert str(load_checkpoint(net, checkpoint, Migration("m", [step]))) == "<All keys matched successfully>"
    assert net.weight.tolist() == [[1, 1]]
    for option in ({"unwrap": "model"}, {"skip_unknown": True}):
        with pytest.raises(
            ArgumentError, match=r"path is an open Checkpoint; give unwrap= and skip_unknown= to"
        ):
            load_checkpoint(net, checkpoint, **option)


def test_what_is_no_data_in_a_checkpoint_is_skipped_when_asked_for(tmp_path: Any) -> None:
    from packager.errors import LegacyFormatError

    arrays = {
        "weight": np.ones((1, 2), "f4"),
        "bias": np.zeros(1, "f4"),
        "when": np.array("2024", dtype=object),
    }
    np.savez(tmp_path / "old.npz", **arrays)
    with pytest.raises(LegacyFormatError):
        load_checkpoint(nn.Linear(2, 1), tmp_path / "old.npz")
    net = nn.Linear(2, 1)
    load_checkpoint(net, tmp_path / "old.npz", skip_unknown=True)
    assert net.weight.tolist() == [[1, 1]]


def test_the_version_of_a_checkpoint_says_which_migrations_are_due(tmp_path: Any) -> None:
    net = nn.Linear(2, 1)
    net.load_state_dict({"weight": kellet.ones(1, 2), "bias": kellet.ones(1)})
    state = net.state_dict()
    write_checkpoint(tmp_path / "new.kellet", state, metadata=CheckpointMetadata(state._metadata))
    upside_down = Migration("to 1", [swap("weight", "bias")], to=1)
    assert (
        str(load_checkpoint(net, tmp_path / "new.kellet", upside_down)) == "<All keys matched successfully>"
    )


# --- why nothing matches; what is attached for a while ---


def test_a_template_that_wants_a_module_before_says_which_key_is_at_the_root() -> None:
    def why(step: Any, *keys: str) -> str:
        (row,) = plan_migration(Migration("m", [step]), numbered(*keys)).rows
        return row.skipped

    assert why(drop("{p:any}.mask"), "mask", "a.b") == (
        "no key matches: '{p:any}.mask' needs a name and a dot in front, and 'mask' has none; add the same "
        "step for 'mask'"
    )
    assert "'3.w' has none; add the same step for '{n:int}.w'" in why(
        rename("{p:any}.{n:int}.w", "{p}.{n+1}.w"), "3.w"
    )
    assert why(drop("{p:any}.mask"), "masks", "a.b") == "no key matches"
    assert why(drop("{p:any}.{p}"), "a") == "no key matches"
    with pytest.raises(
        MigrationError, match=r"drop \{p:any\}\.mask: '\{p:any\}\.mask' needs a name and a dot"
    ):
        migrate(Migration("m", [drop("{p:any}.mask")]), numbered("mask"), strict=True)


def test_what_attach_returns_takes_the_migrations_off_where_its_block_ends() -> None:
    from packager._migrations import attached

    class Head(nn.Module):
        _version = 3

    first = attach(Head, Migration("stays", [], to=2))
    with attach(Head, Migration("goes", [], to=3)) as handle:
        assert [one.name for one in attached(Head)] == ["stays", "goes"]
    assert [one.name for one in attached(Head)] == ["stays"]
    with pytest.raises(ZeroDivisionError), attach(Head, Migration("fails", [], to=3)):
        1 / 0  # whatever ends the block
    handle.remove()
    assert [one.name for one in attached(Head)] == ["stays"]
    first.remove()
