"""Gates and transforms that ask: a value of the state dict, a property of the module, its shapes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import kellet
from kellet import nn
from packager._migrations import (
    Cast,
    Migration,
    NamedFunction,
    Permute,
    Reshape,
    Slice,
    Step,
    attach,
    cannot_go_back,
    default,
    drop,
    format_migration,
    load_checkpoint,
    merge,
    migrate,
    pack_migrations,
    parse_migration,
    plan_migration,
    rename,
    rename_pattern,
    split,
    unpack_migrations,
)
from packager._weights import open_checkpoint, write_checkpoint
from packager.errors import CodeExitError, MigrationError


def keys(step: Step, state: dict[str, Any], **more: Any) -> list[str]:
    return list(plan_migration(Migration("m", [step]), state, **more).values)


def skipped(step: Step, state: dict[str, Any], **more: Any) -> str:
    (row,) = plan_migration(Migration("m", [step]), state, **more).rows
    return row.skipped


# --- values ---

VALUES = {
    "an int": (np.array(3), 3),
    "a float as an int": (np.array([3.0], np.float32), 3),
    "a bfloat16": (kellet.tensor([2.5]).to(kellet.bfloat16), 2.5),
    "of kellet": (kellet.tensor(7), 7),
    "a truth value": (np.array([[True]]), True),
    "extra state that is a text": ("gelu", "gelu"),
    "extra state that is a number": (4, 4),
}


@pytest.mark.parametrize("case", VALUES)
def test_a_gate_opens_for_the_value_and_no_other(case: str) -> None:
    found, wanted = VALUES[case]
    state = {"mlp.fc1": np.ones(2), "mlp.kind": found}
    assert keys(rename("{p}.fc1", "{p}.up", if_value={"{p}.kind": wanted}), state) == ["mlp.up", "mlp.kind"]
    for other in (wanted is not True, 11, "relu"):
        reason = skipped(rename("{p}.fc1", "{p}.up", if_value={"{p}.kind": other}), state)
        shown = found.item() if isinstance(found, np.ndarray) else wanted
        assert reason == f"'mlp.kind' is {shown!r}, not {other!r}"
    assert skipped(rename("{p}.fc1", "{p}.up", if_value={"{p}.sort": 3}), state) == "'{p}.sort' is not there"


@pytest.mark.parametrize(
    ("found", "wanted"), [(True, 1), (1, True), (np.array(False), 0), ("1", 1), (0.5, "0.5")]
)
def test_a_truth_value_is_no_number_and_a_text_is_neither(found: Any, wanted: Any) -> None:
    shown = found.item() if isinstance(found, np.ndarray) else found
    step = drop("w", if_value={"v": wanted})
    assert skipped(step, {"w": 1, "v": found}) == f"'v' is {shown!r}, not {wanted!r}"


def test_each_match_is_judged_by_its_own_value_and_as_it_entered() -> None:
    state = {f"l{n}.{key}": np.array([n]) for n in range(3) for key in ("w", "version")}
    steps = [drop("{p}.version"), rename("{p}.w", "{p}.new", if_value={"{p}.version": 1})]
    assert list(migrate(Migration("m", steps), state)) == ["l0.w", "l1.new", "l2.w"]


def test_the_version_may_be_a_value_of_the_state_dict() -> None:
    """fairseq keeps it in a buffer called version, and one without it is as old as the state dict says."""
    step = drop("{p}.layer_norm", before=3, version_key="{p}.version")
    state = {f"{p}.layer_norm": np.ones(1) for p in "abc"}
    state |= {"a.version": np.array([2.0]), "b.version": np.array([3.0])}
    assert keys(step, state) == ["b.layer_norm", "a.version", "b.version"]
    assert keys(step, state, version=3) == ["b.layer_norm", "c.layer_norm", "a.version", "b.version"]
    rows = plan_migration(Migration("m", [step]), state).rows
    assert [row.skipped for row in rows if row.skipped] == ["the version is 3"]


@pytest.mark.parametrize(
    ("state", "steps", "message"),
    [
        (
            {"w": 1, "v": np.ones(2)},
            [],
            r"a gate reads 'v', which is float64\[2\]; expected an array of one element",
        ),
        ({"w": 1, "v": [1]}, [], "a gate reads 'v', which is of type list; expected a number"),
        ({"w": 1, "v": np.zeros(())}, [rename("v", "v", NamedFunction("math:sqrt"))], None),
        ({"w": 1, "v": "old"}, [], r"version_key: found the text 'old' under 'v'; expected a number"),
    ],
)
def test_a_value_that_cannot_be_compared_is_an_error_at_its_step(
    state: dict[str, Any], steps: list[Step], message: str | None
) -> None:
    gates: dict[str, Any] = {"if_value": {"v": 1}}
    if message is not None and "version" in message:
        gates = {"before": 2, "version_key": "v"}
    migrations = [Migration("first", steps), Migration("m", [drop("w", line="m.toml:7", **gates)])]
    match = message or "a gate reads 'v', which a function or a merge makes"
    with pytest.raises(MigrationError, match=rf"m\.toml:7: drop w:\s+'w': {match}"):
        plan_migration(migrations, state)


# --- properties of the module ---


class Block(nn.Module):
    _version = 2
    kind = "post"
    depth: int

    def __init__(self, heads: int = 4, track: bool = True) -> None:
        super().__init__()
        self.norm = nn.BatchNorm1d(2, track_running_stats=track)
        self.fc = nn.Linear(8, 8, bias=False)
        self.inner = nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 2))
        self.config = {"heads": heads, "rates": [0.5, 0.25]}
        self.eps = 1e-5

    @property
    def width(self) -> int:
        raise AssertionError("a property ran")


PROPERTIES = {
    "norm.track_running_stats": True,
    "norm.num_features": 2,
    "config.heads": 4,
    "config.rates.1": 0.25,
    "eps": 1e-5,
    "kind": "post",
    "fc.weight": True,
    "fc.bias": False,
    "inner.1": True,
    "inner.0.in_features": 2,
}


@pytest.mark.parametrize("path", PROPERTIES)
def test_a_gate_opens_for_a_property_of_the_module_and_no_other(path: str) -> None:
    wanted, state, block = PROPERTIES[path], {"w": np.ones(1)}, Block()
    assert keys(drop("w", if_module={path: wanted}), state, module=block) == []
    other = not wanted if isinstance(wanted, bool) else "another"
    assert skipped(drop("w", if_module={path: other}), state, module=block) == (
        f"{path} of the module is {wanted!r}, not {other!r}"
    )


def test_the_path_of_a_property_may_have_the_holes_of_the_step() -> None:
    net = nn.Sequential(Block(), Block(track=False))
    state = {f"{n}.norm.weight": np.ones(2) for n in range(2)}
    step = default(
        "{p:any}.num_batches_tracked", 0, shape=(), dtype="int64", like="{p:any}.weight",
        if_module={"{p}.track_running_stats": True},
    )  # fmt: skip
    assert keys(step, state, module=net) == [*state, "0.norm.num_batches_tracked"]


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("width", "'width' of Block is a property; expected a number"),
        ("forward", "'forward' of Block is a function"),
        ("config", "'config' of Block is a dict"),
        ("norm.nothing", "Block has no 'norm.nothing'"),
        ("config.rates.7", "Block has no 'config.rates.7'"),
        ("depth", "Block has no 'depth'"),
    ],
)
def test_what_is_no_data_of_the_module_is_an_error_at_its_step(path: str, message: str) -> None:
    step = drop("w", if_module={path: True}, line="m.toml:3")
    with pytest.raises(MigrationError, match=rf"m\.toml:3: drop w:\s+'w': {message}"):
        keys(step, {"w": 1}, module=Block())


def test_without_a_module_a_step_that_asks_for_it_says_so() -> None:
    for step in (drop("w", if_module={"heads": 4}), rename("w", "w", Permute(0, ("heads", -1), (1, 0)))):
        with pytest.raises(MigrationError, match=r"the step needs 'heads' of a module; give one"):
            keys(step, {"w": np.ones(8)})
        assert keys(step, {"x": np.ones(8)}) == ["x"]


def test_a_module_with_getattr_and_slots_is_asked_without_running_it() -> None:
    class Config:
        __slots__ = ("heads", "unset")

        def __getattr__(self, name: str) -> Any:
            raise AssertionError(f"{name} was asked for by code")

    config = Config()
    config.heads = 2
    assert keys(drop("w", if_module={"c.heads": 2}), {"w": 1}, module={"c": config}) == []
    with pytest.raises(MigrationError, match=r"dict has no 'c\.unset'"):
        keys(drop("w", if_module={"c.unset": 2}), {"w": 1}, module={"c": config})


# --- lengths and shapes of the module ---


def test_heads_of_the_configuration_go_into_a_permutation_and_come_back() -> None:
    step = rename("{p}.wq", "{p}.fc.weight", Permute(0, ("{p}.config.heads", -1, 2), (0, 2, 1)))
    net = nn.ModuleDict({"a": Block(heads=4), "b": Block(heads=2)})
    old = {f"{p}.wq": np.arange(64.0).reshape(8, 8) for p in "ab"}
    new = migrate(Migration("llama", [step]), old, module=net)
    for p, heads in (("a", 4), ("b", 2)):
        rotary = old[f"{p}.wq"].reshape(heads, -1, 2, 8).swapaxes(1, 2).reshape(8, 8)
        assert new[f"{p}.fc.weight"].tolist() == rotary.tolist()
    assert cannot_go_back(Migration("llama", [step]), old, module=net) == ()
    back = migrate(Migration("llama", [step]).inverse(), dict(new), module=net)
    assert {key: value.tolist() for key, value in back.items()} == {k: v.tolist() for k, v in old.items()}


@pytest.mark.parametrize("heads", [True, 2.0, "4", None])
def test_a_length_of_the_module_is_a_whole_number(heads: Any) -> None:
    step = rename("w", "w", Permute(0, ("config.heads", -1), (1, 0)))
    with pytest.raises(MigrationError, match=rf"'config.heads' of the module is {heads!r}; expected an int"):
        keys(step, {"w": np.ones(8)}, module={"config": {"heads": heads}})


def test_a_value_takes_the_shape_that_the_module_has() -> None:
    step = rename("{p}.table", "{p}.fc.weight", Reshape("target"))
    state = {"0.table": np.arange(64.0)}
    net = nn.Sequential(Block())
    assert migrate(Migration("m", [step]), state, module=net)["0.fc.weight"].shape == (8, 8)
    shapes = {"0.fc.weight": np.zeros((4, 16))}
    assert migrate(Migration("m", [step]), state, module=shapes)["0.fc.weight"].shape == (4, 16)
    with pytest.raises(MigrationError, match=r"'0.table': reshape of \(63\) \(63 elements\) to \(8, 8\)"):
        keys(step, {"0.table": np.ones(63)}, module=net)
    with pytest.raises(
        MigrationError, match=r"the step needs the shape of '3.fc.weight', and Sequential has no such array"
    ):
        keys(step, {"3.table": np.ones(64)}, module=net)


def resample(value: Any, shape: tuple[int, ...]) -> Any:
    """Take the nearest of the old rows for each of the new ones."""
    rows = np.arange(shape[0]) * len(value) // shape[0]
    return np.asarray(value)[rows]


def resample_twice(value: Any) -> Any:
    return np.repeat(np.asarray(value), 2, axis=0).astype(np.float16)


def failing(value: Any, *shape: Any) -> Any:
    raise IndexError(f"no axis {value.ndim}")


def leaving(value: Any) -> Any:
    raise SystemExit(3)


def forgetting(value: Any) -> None:
    return None


def shrinking(value: Any, shape: Any) -> Any:
    return value[:1]


OWN = "tests.migrations.test_asking"


@pytest.mark.parametrize("rows", [2, 3, 8])
def test_a_named_function_resamples_to_any_shape_that_the_module_has(rows: int, tmp_path: Any) -> None:
    class Embedding(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.table = nn.Parameter(kellet.zeros(rows, 2))

    step = rename("pos", "table", NamedFunction(f"{OWN}:resample", result="target"))
    old, module = {"pos": np.arange(8.0, dtype=np.float32).reshape(4, 2)}, Embedding()
    plan = plan_migration(Migration("m", [step]), old, module=module)
    assert plan.against(module).ok
    assert str(plan).splitlines()[1] == f"    pos -> table  float32[4, 2] -> float32[{rows}, 2]".replace(
        "float32[4, 2] -> float32[4, 2]", "float32[4, 2]"
    )
    write_checkpoint(tmp_path / "old.safetensors", old)
    load_checkpoint(module, tmp_path / "old.safetensors", Migration("m", [step]))
    assert module.table.tolist() == resample(old["pos"], (rows, 2)).tolist()


def test_a_function_that_says_no_shape_may_give_any(tmp_path: Any) -> None:
    step = rename("pos", "table", NamedFunction(f"{OWN}:resample_twice"), Cast("float32"))
    migrated = migrate(Migration("m", [step]), {"pos": np.arange(4.0).reshape(2, 2)})
    assert migrated["table"].shape == (4, 2)
    for ending in ("safetensors", "kellet"):
        write_checkpoint(tmp_path / f"new.{ending}", migrated)
        found = open_checkpoint(tmp_path / f"new.{ending}")["table"]
        assert (found.dtype, found.numpy().tolist()) == ("float32", [[0, 1], [0, 1], [2, 3], [2, 3]])


def test_a_function_that_ends_the_process_is_told_with_step_and_key() -> None:
    step = rename("w", "v", NamedFunction(f"{OWN}:leaving"), line="m.toml:9")
    migrated = migrate(Migration("m", [step]), {"w": np.ones(2)})
    where = rf"^m\.toml:9: rename w -> v: 'w': function '{OWN}:leaving': its code ended with SystemExit\(3\)"
    with pytest.raises(CodeExitError, match=where):
        migrated["v"]


@pytest.mark.parametrize(
    ("name", "result", "message"),
    [
        ("failing", None, r"raised IndexError: no axis 1 \(.*test_asking\.py, line \d+\)"),
        ("failing", "target", r"raised IndexError: no axis 1 \("),
        ("forgetting", None, "returned NoneType; expected an array"),
        ("shrinking", "target", r"returned float64\[1\]; expected float64\[3\]"),
    ],
)
def test_a_function_that_fails_is_told_with_step_and_key(name: str, result: Any, message: str) -> None:
    step = rename("w", "v", NamedFunction(f"{OWN}:{name}", result), line="m.toml:9")
    migrated = migrate(Migration("m", [step]), {"w": np.ones(2)}, module={"v": np.zeros(3)})
    for make in (migrated.__getitem__, lambda key: b"".join(migrated.lazy(key).pieces())):
        with pytest.raises(
            MigrationError, match=rf"m\.toml:9: rename w -> v: 'w': function '{OWN}:{name}' {message}"
        ):
            make("v")


# --- attached, written, stored ---


def test_an_attached_migration_asks_the_instance_that_is_loaded() -> None:
    class Norm(nn.Module):
        _version = 3

        def __init__(self, track: bool = True) -> None:
            super().__init__()
            self.track = track
            self.weight = nn.Parameter(kellet.zeros(2))
            if track:
                self.register_buffer("count", kellet.tensor(0))

    counter = default("count", 7, shape=(), dtype="int64", if_module={"track": True})
    state = {"0.weight": kellet.ones(2), "1.weight": kellet.ones(2)}
    with attach(Norm, Migration("counter", [counter], to=3)):
        net = nn.Sequential(Norm(), Norm(track=False))
        assert str(net.load_state_dict(dict(state))) == "<All keys matched successfully>"
        assert net[0].count.item() == 7
    assert net.load_state_dict(dict(state), strict=False).missing_keys == ["0.count"]


ASKING = [
    drop("{p}.w", if_value={"{p}.version": 3, "{p}.kind": "gelu", "{p}.on": True, "{p}.rate": 0.5}),
    rename("{p}.w", "{p}.v", before=4, version_key="{p}.version"),
    rename_pattern("^a", "b", if_module={"config.heads": 4}),
    split("{p}.qkv", ["{p}.q", "{p}.k"], if_module={"{p}.fused": False}),
    merge(["{p}.q", "{p}.k"], "{p}.qk", if_value={"{p}.merged": 0}),
    rename("{p}.w", "{p}.v", Permute(0, ("{p}.heads", 2, -1), (1, 0, 2)), Reshape(("a.b", -1), ("c",))),
    rename("w", "v", Reshape("target"), NamedFunction("numpy:negative", "target"), Slice(0, 1)),
]


@pytest.mark.parametrize("step", ASKING, ids=lambda step: step.what)
def test_what_asks_is_written_and_stored_and_read_as_it_was(step: Step) -> None:
    migration = Migration("m", [step], target="net:Net")
    (read,) = parse_migration(format_migration(migration)).steps
    (stored,) = unpack_migrations(pack_migrations({"net:Net": [migration]}))["net:Net"][0].steps
    for other in (read, stored):
        assert (other.gates, other.what, other.templates, other.transforms) == (
            step.gates, step.what, step.templates, step.transforms,
        )  # fmt: skip


@pytest.mark.parametrize(
    ("step", "message"),
    [
        (
            'drop = "w"\nif_value = { v = [1] }',
            "if_value: 'v' is compared with",
        ),
        ('drop = "w"\nif_value = 3', "if_value = 3: found int, expected dict"),
        (
            'drop = "w"\nif_module = { "{p}.heads" = 3 }',
            "if_module: '{p}.heads' has the hole 'p', and no template of the step",
        ),
        (
            'drop = "w"\nversion_key = "v"',
            "version_key = 'v' needs before as well",
        ),
        ('drop = "w"\nif_module = { v = 1979-05-27 }', "if_module: 'v' is compared with date"),
        (
            'rename = "w"\ntransforms = [{ reshape = "same" }]',
            "reshape = 'same': expected a list of lengths, or",
        ),
        ('rename = "w"\ntransforms = [{ function = "a:b", result = "x" }]', "result = 'x': expected a list"),
        ('rename = "w"\ntransforms = [{ permute = [true, 2], order = [0] }]', "expected list of int and str"),
        (
            f'drop = "w"\nif_value = {{ v = {1 << 63} }}',
            "compared with int .*; expected a number of at most 64",
        ),
    ],
)
def test_mistakes_in_what_asks_are_told_with_their_line(step: str, message: str) -> None:
    with pytest.raises(MigrationError, match=f"m.toml:2: .*{message}".replace("{", r"\{")):
        parse_migration(f"\n[[step]]\n{step}\n", "m.toml")
