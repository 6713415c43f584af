"""Migrations and old files that no other test has, by the command and from Python, in a fresh process.

It is started with `-I` in a folder that holds nothing but the migration files and one module with functions.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.migrations.test_caffe2_names import CAFFE2

from .points import COMMANDS, answers, write

FILES = {
    "loss.toml": """
        name = "loss"
        [[step]]
        drop = "mast.{rest:any}"
        [[step]]
        rename = "hull.{n:int}.plank"
        to = "hull.{n}.weight"
        transforms = [{ slice = [0, 2] }]
        [[step]]
        pattern = "^keel_"
        to = "keel."
    """,
    "fill.toml": """
        [[step]]
        rename = "hull.{n:int}.plank"
        to = "hull.{n}.weight"

        [[step]]
        default = "hull.0.count"
        fill = 300
        shape = [1]
        dtype = "uint8"
    """,
    "raises.toml": """
        [[step]]
        drop = "mast.flag"

        [[step]]
        rename = "hull.{n:int}.plank"
        to = "hull.{n}.weight"
        transforms = [{ function = "sails:torn" }]
    """,
    "exits.toml": """
        [[step]]
        rename = "hull.{n:int}.plank"
        to = "hull.{n}.weight"
        transforms = [{ function = "sails:left" }]
    """,
    "value.toml": """
        [[step]]
        rename = "{p}.plank"
        to = "{p}.oak"
        if_value = { "{p}.kind" = 3 }
        [[step]]
        rename = "{p}.plank"
        to = "{p}.pine"
        if_value = { "{p}.kind" = "soft" }
    """,
    "rows.toml": """
        [[step]]
        rename = "{p}.helm"
        to = "{p}.wheel"
        transforms = [{ permute = ["rig.masts", -1, 2], order = [0, 2, 1] }]
        [[step]]
        default = "{p}.turns"
        fill = 0
        shape = []
        dtype = "int64"
        like = "{p}.wheel"
        if_module = { "rig.counts" = true }
    """,
    "rig.json": '{"rig": {"masts": 3, "counts": true}}',
    "swap.toml": '[[step]]\nswap = "port.{k:any}"\nwith = "starboard.{k}"\n',
    "size.toml": """
        [[step]]
        rename = "chart.{n:int}"
        to = "map.{n}"
        transforms = [{ function = "sails:resampled", result = "target" }]
    """,
    "when.toml": """
        [[step]]
        drop = "{p}.log"
        before = 3
        version_key = "{p}.edition"
    """,
    "few.toml": '[[step]]\nrename = "hull.{n:int}.plank"\nto = "hull.{n}.weight"\n',
    "long.toml": """
        [[step]]
        rename = "the_vessel.the_lower_deck.{n:int}.the_wooden_planks_to_port.{rest:any}"
        to = "vessel.decks.lower.{n}.planks.port.{rest}"
        [[step]]
        drop = "the_vessel.{p:any}.barnacles_that_were_there_when_last_seen_in_dock"
    """,
    "shelf.py": """
        from kellet import nn
        from packager.migrations import Migration, NamedFunction, rename, with_migrations
        def same(value):
            return value
        STEP = rename("old.{k}", "fc.{k}", NamedFunction(f"{__name__}:same"))
        @with_migrations(Migration("to 2", [STEP], to=2))
        class Shelf(nn.Module):
            _version = 2
            def __init__(self):
                super().__init__()
                self.fc = nn.Linear(1, 1)
    """,
    "sails.py": """
        import numpy as np
        def torn(value):
            return value.no_such_method()
        def left(value):
            raise SystemExit(0)
        def resampled(value, shape):
            rows = np.linspace(0, len(value) - 1, shape[0]).round().astype(int)
            return np.asarray(value)[rows]
    """,
}
SCRIPT = (
    COMMANDS
    + """
import os
import numpy as np

sys.path.insert(0, os.getcwd())
from packager.errors import MigrationFileError
from packager.migrations import (
    Migration,
    attach,
    cannot_go_back,
    load_checkpoint,
    migrate,
    parse_migration,
    format_migration,
    plan_migration,
    read_migration,
    rename,
    swap,
    WRAPPERS,
)
from packager.weights import open_checkpoint
from packager import PackageExporter, PackageImporter, verify
from kellet import nn

SHIP = {
    "hull.0.plank": np.arange(6.0),
    "hull.1.plank": np.arange(6.0) + 1,
    "mast.flag": np.ones(1),
    "keel_w": np.ones(2),
}
np.savez("ship.npz", **SHIP)

def planned(name, file="ship.npz", *more):
    code, out, err = cli("migrate", file, "--with", name, "--plan", *more)
    return code, out, err

def values(state):
    return {key: np.asarray(value).ravel().tolist() for key, value in dict(state).items()}

point("irreversible", lambda: planned("loss.toml"))
point("back", lambda: cli("migrate", "ship.npz", "--with", "loss.toml", "--back", "-o", "back.kellet"))
for name in ("fill", "raises", "exits"):
    point(name, lambda: cli("migrate", "ship.npz", "--with", name + ".toml", "-o", name + ".kellet"))
point("no half file", lambda: [name for name in os.listdir() if name.endswith(".kellet")])
KINDS = {
    "a.plank": np.ones(1),
    "a.kind": np.array(3),
    "b.plank": np.ones(1),
    "b.kind": "soft",
    "c.plank": np.ones(1),
}
point("by a value", lambda: sorted(migrate(read_migration("value.toml"), KINDS)))
np.savez("helm.npz", **{"x.helm": np.arange(12.0).reshape(12, 1)})

def by_config():
    code, out, err = cli(
        "migrate", "helm.npz", "--with", "rows.toml", "--config", "rig.json", "-o", "helm.safetensors"
    )
    return code, values(open_checkpoint("helm.safetensors"))

point("by the configuration", by_config)

class Rig:
    masts, counts = 2, False

class Boat:
    rig = Rig()

point(
    "by the module",
    lambda: values(migrate(read_migration("rows.toml"), {"x.helm": np.arange(8.0)}, module=Boat())),
)
SIDES = {"port.w": np.zeros(1), "port.b": np.ones(1), "starboard.w": np.full(1, 2.0), "bow.w": np.ones(1)}

def swapped():
    there = read_migration("swap.toml")
    found = migrate(there, SIDES)
    return values(found), values(migrate(there.inverse(), dict(found))) == values(SIDES)

point("a swap", swapped)

def forty():
    names = {
        "res3_7_branch2a_w": 1,
        "res3_7_branch2a_bn_riv": 2,
        "fpn_inner_res4_5_sum_lateral_gn_b": 3,
        "rpn_cls_logits_fpn2_b": 4,
        "cls_score_w": 5,
        "kps_score_lowres_b": 6,
        "_[mask]_fcn3_b": 7,
        "conv1_w": 8,
        "res_conv1_bn_beta": 9,
        "bbox_pred_b": 10,
    }
    old = {name: np.arange(8.0) + 10 * at for name, at in names.items()}
    plan = plan_migration(read_migration("caffe2.toml"), old)
    target = {
        "net.body.res3.7.conv1.weight": np.ones(8),
        "top.roi_heads.keypoint_head.score_lowres.bias": np.ones(8),
    }
    return values(migrate(read_migration("caffe2.toml"), old)), [
        (near.missing, near.unexpected) for near in plan.against(target).suggestions
    ]

point("forty renames", forty)

def sized(rows):
    model = {"map.0": np.zeros((rows, 2)), "map.1": np.zeros((rows, 2))}
    old = {"chart.0": np.arange(8.0).reshape(4, 2), "chart.1": np.ones((4, 2))}
    return {
        key: value.shape
        for key, value in dict(migrate(read_migration("size.toml"), old, module=model)).items()
    }

point("any size", lambda: (sized(7), sized(2)))

def edition(number):
    return sorted(
        migrate(
            read_migration("when.toml"), {"a.log": np.ones(1), "a.edition": np.array([float(number)])}
        )
    )

point("by the version that a key holds", lambda: (edition(2), edition(3)))
for unknown in ("keep", "drop", "error"):
    point(
        "unknown: " + unknown,
        lambda: cli(
            "migrate",
            "ship.npz",
            "--with",
            "few.toml",
            "--unknown",
            unknown,
            "-o",
            unknown + ".safetensors",
        )[::2],
    )
point(
    "what was kept", lambda: [sorted(open_checkpoint(f"{one}.safetensors")) for one in ("keep", "drop")]
)
np.savez(
    "long.npz",
    **{
        f"the_vessel.the_lower_deck.{n}.the_wooden_planks_to_port.{part}": np.ones((3, 4))
        for n in (0, 11)
        for part in ("weight", "bias")
    },
    **{"the_vessel.x.barnacles_that_were_there_when_last_seen_in_dock": np.ones(2)},
)
point("80 columns", lambda: planned("long.toml", "long.npz"))

def opened():
    net = nn.Linear(2, 1)
    np.savez("net.npz", **{"old.weight": np.full((1, 2), 4, "f4"), "old.bias": np.zeros(1, "f4")})
    said = load_checkpoint(net, open_checkpoint("net.npz"), Migration("m", [rename("old.{k}", "{k}")]))
    return str(said), net.weight.tolist()

point("open already", opened)

def skipped():
    net = nn.Linear(2, 1)
    np.savez(
        "odd.npz",
        weight=np.full((1, 2), 5, "f4"),
        bias=np.zeros(1, "f4"),
        who=np.array({1: 2}, dtype=object),
    )
    try:
        load_checkpoint(net, "odd.npz")
    except Exception as error:
        refused = type(error).__name__
    load_checkpoint(net, "odd.npz", skip_unknown=True)
    return refused, net.weight.tolist()

point("skip unknown", skipped)

def foreign(name):
    found = []
    for ask in (PackageImporter, verify):
        try:
            ask(name)
        except Exception as error:
            found.append(f"{type(error).__name__}: {error}")
    return found

open("a.safetensors", "wb").write(open("keep.safetensors", "rb").read())
import pickle

pickle.dump({"a": 1}, open("plain.pkl", "wb"))
open("picture.png", "wb").write(b"\\x89PNG\\r\\n\\x1a\\n" + bytes(40))
for name in ("ship.npz", "a.safetensors", "plain.pkl", "picture.png", "sails.py"):
    point("foreign " + name, lambda: foreign(name))

def mangled():
    import shelf

    with PackageExporter("shelf.kellet", policy="auto") as exporter:
        exporter.save_object("model", "shelf", shelf.Shelf())
    del sys.modules["shelf"]
    with PackageImporter("shelf.kellet") as importer:
        loaded = importer.load_object("model", "shelf")
        with PackageExporter(
            "again.kellet", policy="auto", importer=(importer, __import__("packager").sys_importer)
        ) as exporter:
            exporter.save_object("model", "shelf", loaded)
    with PackageImporter("again.kellet", trust=["shelf:same"]) as importer:
        ((name, (stored,)),) = importer.load_migrations().items()
        return (
            name,
            stored.steps[0].transforms[0].name,
            b"__w" in open("again.kellet", "rb").read(),
            sorted(one.name for one in importer.manifest.modules),
        )

point("mangled", mangled)
"""
)


@pytest.fixture(scope="module")
def there(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    from packager.migrations import format_migration

    folder = tmp_path_factory.mktemp("ship") / "empty"
    write(folder, FILES)
    write(folder, {"caffe2.toml": format_migration(CAFFE2)})
    return answers(SCRIPT, folder, "-I")


FOUND: dict[str, Any] = {
    "no half file": [],
    "by a value": ["a.kind", "a.oak", "b.kind", "b.pine", "c.plank"],
    "by the configuration": [
        0,
        {"x.wheel": [0.0, 2.0, 1.0, 3.0, 4.0, 6.0, 5.0, 7.0, 8.0, 10.0, 9.0, 11.0], "x.turns": [0]},
    ],
    "by the module": {"x.wheel": [0.0, 2.0, 1.0, 3.0, 4.0, 6.0, 5.0, 7.0]},
    "a swap": [{"starboard.w": [0.0], "starboard.b": [1.0], "port.w": [2.0], "bow.w": [1.0]}, True],
    "any size": [{"map.0": [7, 2], "map.1": [7, 2]}, {"map.0": [2, 2], "map.1": [2, 2]}],
    "by the version that a key holds": [["a.edition"], ["a.edition", "a.log"]],
    "unknown: keep": [0, ""],
    "unknown: drop": [0, ""],
    "unknown: error": [
        1,
        (
            "kellet: no step of migration 'few' (few.toml) matches 2 keys:\n    mast.flag\n    keel_w\n"
            'Write steps for them, or leave them out: unknown="drop" (command: --unknown drop)\n'
        ),
    ],
    "what was kept": [
        ["hull.0.weight", "hull.1.weight", "keel_w", "mast.flag"],
        ["hull.0.weight", "hull.1.weight"],
    ],
    "open already": ["<All keys matched successfully>", [[4.0, 4.0]]],
    "skip unknown": ["LegacyFormatError", [[5.0, 5.0]]],
    "mangled": [
        "shelf:Shelf",
        "shelf:same",
        False,
        ["kellet", "kellet.nn", "packager", "packager.migrations", "shelf"],
    ],
    "fill": [1, "", "kellet: fill.toml:5: default hull.0.count: fill = 300: uint8 holds 0 to 255\n"],
    "back": [
        1,
        "",
        (
            "kellet: migration 'loss' (loss.toml) cannot go back: no inverse for loss.toml:2: drop "
            "mast.{rest:any}; loss.toml:4: rename hull.{n:int}.plank -> hull.{n}.weight; "
            "loss.toml:8: rename /^keel_/ -> keel.\n"
        ),
    ],
}


@pytest.mark.parametrize("point", FOUND)
def test_it_answers_in_a_fresh_process(there: dict[str, Any], point: str) -> None:
    assert there[point] == FOUND[point]


def test_a_plan_tells_by_step_what_happens_and_what_does_not_go_back(there: dict[str, Any]) -> None:
    assert there["irreversible"] == [
        0,
        """\
loss.toml:2: drop mast.{rest:any}
    mast.flag  float64[1]
loss.toml:4: rename hull.{n:int}.plank -> hull.{n}.weight
    hull.0.plank -> hull.0.weight  float64[6] -> float64[2]
    hull.1.plank -> hull.1.weight  float64[6] -> float64[2]
loss.toml:8: rename /^keel_/ -> keel.
    keel_w -> keel.w  float64[2]
4 changes, 0 skipped, 3 keys afterwards
does not go back:
    loss.toml:2: drop mast.{rest:any}: it has no inverse
    loss.toml:4: rename hull.{n:int}.plank -> hull.{n}.weight: it has no inverse
    loss.toml:8: rename /^keel_/ -> keel.: it has no inverse
""",
        "",
    ]


def test_a_plan_of_long_names_fits_80_columns_below_its_steps(there: dict[str, Any]) -> None:
    code, out, errors = there["80 columns"]
    assert (code, errors) == (0, "")
    assert max(map(len, out.splitlines())) <= 80
    steps = [line for line in out.splitlines() if line[:1] not in (" ", "")]
    assert steps == [
        "long.toml:1: rename",
        "long.toml:4: drop",
        "5 changes, 0 skipped, 4 keys afterwards",
        "does not go back:",
    ]
    assert sum("-> vessel.decks.lower.11.planks.port.bias" in line for line in out.splitlines()) == 1


@pytest.mark.parametrize(
    ("point", "told", "line"),
    [
        (
            "raises",
            "raises.toml:4: rename hull.{n:int}.plank -> hull.{n}.weight: 'hull.0.plank': function ",
            3,
        ),
        ("exits", "exits.toml:1: rename hull.{n:int}.plank -> hull.{n}.weight: 'hull.0.plank': function ", 5),
    ],
)
def test_a_function_that_fails_is_told_with_its_line_and_the_line_of_its_step(
    there: dict[str, Any], point: str, told: str, line: int
) -> None:
    code, out, errors = there[point]
    assert (code, out) == (4, "")
    assert errors.startswith(f"kellet: {told}")
    assert f"sails.py, line {line})" in errors or f"sails.py:{line} in left" in errors


def test_the_forty_renames_cut_roll_and_suggest(there: dict[str, Any]) -> None:
    found, near = there["forty renames"]
    assert {key: value[0] for key, value in found.items()} == {
        "res3.7.conv1.weight": 10,
        "res3.7.conv1.norm.running_var": 20,
        "fpn_lateral4.norm.bias": 30,
        "proposal_generator.rpn_head.objectness_logits.bias": 40,
        "cls_score.weight": 51,
        "roi_heads.keypoint_head.score_lowres.bias": 60,
        "mask_head.mask_fcn3.bias": 70,
        "stem.conv1.weight": 80,
        "stem.conv1.norm.bias": 90,
        "bbox_pred.bias": 104,
    }
    assert near == [
        ["net.body.res3.7.conv1.weight", "res3.7.conv1.weight"],
        ["top.roi_heads.keypoint_head.score_lowres.bias", "roi_heads.keypoint_head.score_lowres.bias"],
    ]


@pytest.mark.parametrize(
    ("name", "told"),
    [
        (
            "ship.npz",
            "is an .npz file of NumPy, not an archive of packager; `kellet convert ship.npz new.kellet` ",
        ),
        (
            "a.safetensors",
            "is a safetensors file, not an archive of packager; `kellet convert a.safetensors ",
        ),
        (
            "plain.pkl",
            "is a pickle, not an archive of packager; load it where it was made, and save what it ",
        ),
    ],
)
def test_a_foreign_file_is_named_with_the_command_that_reads_it(
    there: dict[str, Any], name: str, told: str
) -> None:
    for said in there[f"foreign {name}"]:
        assert said.startswith(f"ArchiveError: '{name}' {told}")


@pytest.mark.parametrize("name", ["picture.png", "sails.py"])
def test_a_file_of_no_known_kind_is_no_archive(there: dict[str, Any], name: str) -> None:
    for said in there[f"foreign {name}"]:
        assert said.startswith(f"ArchiveError: {name}, end of the archive: found ")
        assert said.endswith("`kellet verify` tells what else is damaged)")
