"""kellet migrate and suggest-migration: plans, files there and back, drafts, and how mistakes are told."""

from __future__ import annotations

import errno
import json
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from packager import PackageExporter, PackageImporter
from packager._archive import ArchiveReader
from packager._cli import main
from packager.migrations import read_migration
from packager.weights import open_checkpoint

Run = Callable[..., tuple[int, str, str]]

TREE = {
    "shop/__init__.py": (
        "from kellet import nn\ndef build():\n    return nn.Sequential(nn.Linear(3, 2), nn.LayerNorm(2))\n"
    )
}
MIGRATION = """\
name = "shop"

[[step]]
rename = "fc.kernel"
to = "0.weight"
transforms = [{ transpose = true }]

[[step]]
rename = "fc.b"
to = "0.bias"

[[step]]
split = "norm"
to = ["1.weight", "1.bias"]
"""
OLD = {
    "fc.kernel": np.arange(6, dtype=np.float32).reshape(3, 2),
    "fc.b": np.array([7, 8], np.float32),
    "norm": np.array([1, 2, 3, 4], np.float32),
}


@pytest.fixture
def run(project: Callable[[Mapping[str, str]], Path], monkeypatch: pytest.MonkeyPatch, capsys: Any) -> Run:
    """Carry out a command line beside a small project, an old checkpoint and a migration."""
    folder = project(TREE)
    monkeypatch.chdir(folder)
    np.savez(folder / "old.npz", **OLD)
    (folder / "m.toml").write_text(MIGRATION)

    def call(*arguments: object) -> tuple[int, str, str]:
        code = main([str(argument) for argument in arguments])
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return call


def values(path: str) -> dict[str, Any]:
    return {key: value.numpy().tolist() for key, value in open_checkpoint(path).items()}


def test_a_plan_shows_every_change_and_writes_nothing(run: Run) -> None:
    before = sorted(path.name for path in Path().iterdir())
    code, out, errors = run("migrate", "old.npz", "--with", "m.toml", "--plan", "--target", "shop:build")
    assert (code, errors) == (0, "")
    assert out.splitlines() == [
        "m.toml:3: rename fc.kernel -> 0.weight",
        "    fc.kernel -> 0.weight  float32[3, 2] -> float32[2, 3]",
        "m.toml:8: rename fc.b -> 0.bias",
        "    fc.b -> 0.bias  float32[2]",
        "m.toml:12: split norm -> 1.weight, 1.bias",
        "    norm           float32[4]",
        "      -> 1.weight  float32[2]",
        "      -> 1.bias    float32[2]",
        "3 changes, 0 skipped, 4 keys afterwards",
        "goes back",
        "",
        "shop:build: every key of the target has a value of its shape",
    ]
    assert sorted(path.name for path in Path().iterdir()) == before


def test_a_plan_says_what_would_be_missing_and_what_is_near(run: Run) -> None:
    Path("m.toml").write_text('[[step]]\nrename = "fc.kernel"\nto = "0.weight"\n')
    code, out, _ = run("migrate", "old.npz", "--with", "m.toml", "--plan", "--target", "shop:build")
    assert code == 1
    assert out[out.index("shop:build") :].splitlines() == [
        "shop:build: missing:",
        "    0.bias",
        "    1.weight",
        "    1.bias",
        "unexpected:",
        "    fc.b",
        "    norm",
        "of another shape:",
        "    0.weight  float32[3, 2], the target has float32[2, 3]",
        "could be the same (nothing was renamed):",
        "    fc.b -> 0.bias  (the same shape, 18% alike)",
        "    fc.b -> 1.bias  (the same shape, 21% alike)",
    ]
    code, out, _ = run("migrate", "old.npz", "--with", "m.toml", "--plan", "--target", "shop:build", "--json")
    fit = json.loads(out)["fit"]
    assert (code, fit["missing"]) == (1, ["0.bias", "1.weight", "1.bias"])


@pytest.mark.parametrize("ending", ["safetensors", "kellet"])
def test_a_migrated_file_goes_back_bit_for_bit(run: Run, ending: str) -> None:
    code, out, errors = run("migrate", "old.npz", "--with", "m.toml", "-o", f"new.{ending}")
    assert (code, errors) == (0, "")
    assert out.startswith(f"old.npz: 3 keys -> new.{ending}: 4 keys, ")
    assert out.endswith("\n    migrations: shop\n")
    assert values(f"new.{ending}") == {
        "0.weight": [[0, 2, 4], [1, 3, 5]],
        "0.bias": [7, 8],
        "1.weight": [1, 2],
        "1.bias": [3, 4],
    }
    code, _, _ = run("migrate", f"new.{ending}", "--with", "m.toml", "--back", "-o", "back.safetensors")
    assert code == 0
    assert values("back.safetensors") == {key: value.tolist() for key, value in OLD.items()}
    back = open_checkpoint("back.safetensors")
    assert {key: back[key].numpy().tobytes() for key in OLD} == {
        key: value.tobytes() for key, value in OLD.items()
    }


SCALING = '[[step]]\nrename = "w"\ntransforms = [{ scale = 0.5 }]\n'
LOST = (
    "m.toml:1: rename w -> w: 1 of 2 values of 'w' would not come back: 6e-08 as 0.0",
    "1 of 2 values of 'w' would not come back: 3e+38 as inf",
)


def test_a_migration_that_loses_values_is_written_and_says_which(run: Run) -> None:
    Path("m.toml").write_text(SCALING)
    np.savez("old.npz", w=np.array([6e-8, 1], np.float16))
    code, out, errors = run("migrate", "old.npz", "--with", "m.toml", "-o", "new.kellet")
    assert (code, out.startswith("old.npz: 1 key -> new.kellet: 1 key, ")) == (1, True)
    assert " ".join(errors.split()) == f"kellet: values are lost: {LOST[0]}"
    assert values("new.kellet") == {"w": [0.0, 0.5]}
    code, out, _ = run("migrate", "old.npz", "--with", "m.toml", "-o", "new.kellet", "--json")
    assert (code, json.loads(out)["lost"]) == (1, [LOST[0]])


def test_ten_keys_that_lost_values_are_named_and_all_of_them_for_machines(run: Run) -> None:
    Path("m.toml").write_text('[[step]]\nrename = "w{n}"\ntransforms = [{ scale = 0.5 }]\n')
    np.savez("old.npz", **{f"w{at}": np.array([6e-8, 1], np.float16) for at in range(12)})
    code, out, errors = run("migrate", "old.npz", "--with", "m.toml", "-o", "new.kellet", "--json")
    assert (code, len(json.loads(out)["lost"]), errors.count("would not")) == (1, 12, 10)
    assert errors.endswith("\n    and 2 more\n")


def test_a_plan_that_loses_values_does_not_go_back(run: Run) -> None:
    Path("m.toml").write_text(SCALING)
    np.savez("old.npz", w=np.array([6e-8, 1], np.float16))
    code, out, _ = run("migrate", "old.npz", "--with", "m.toml", "--plan")
    assert (code, " ".join(out.partition("does not go back:")[2].split())) == (0, LOST[0])
    code, out, _ = run("migrate", "old.npz", "--with", "m.toml", "--plan", "--json")
    assert (code, json.loads(out)["does_not_go_back"]) == (0, [LOST[0]])
    np.savez("old.npz", w=np.array([6e-7, 1], np.float16))
    assert run("migrate", "old.npz", "--with", "m.toml", "--plan")[1].endswith("\ngoes back\n")


@pytest.mark.filterwarnings("ignore:overflow encountered")
def test_an_undo_that_loses_values_is_written_and_says_which(run: Run) -> None:
    Path("m.toml").write_text(SCALING)
    np.savez("old.npz", w=np.array([3e38, 1], np.float32))
    assert run("migrate", "old.npz", "--with", "m.toml", "-o", "new.kellet")[0] == 0
    assert run("migrate", "new.kellet", "--with", "m.toml", "--back", "-o", "back.kellet")[0] == 0
    assert values("back.kellet") == {"w": np.array([3e38, 1], np.float32).tolist()}
    code, _, errors = run("migrate", "old.npz", "--with", "m.toml", "--back", "-o", "back.kellet")
    assert (code, " ".join(errors.split())) == (1, f"kellet: values are lost: {LOST[1]}")


def test_an_archive_says_which_migrations_its_state_went_through(run: Run) -> None:
    run("migrate", "old.npz", "--with", "m.toml", "-o", "new.kellet")
    with PackageImporter("new.kellet") as importer:
        assert [record.migrations for record in importer.manifest.state_dicts] == [("shop",)]
        assert importer.load_state_dict("model", "weights")["0.bias"].tolist() == [7, 8]
    code, out, _ = run("inspect", "new.kellet")
    assert code == 0
    assert "model/weights  shop" in out


def test_one_way_steps_are_named_when_going_back(run: Run) -> None:
    Path("m.toml").write_text('[[step]]\ndrop = "fc.b"\n\n[[step]]\npattern = "a"\nto = "b"\n')
    code, _, errors = run("migrate", "old.npz", "--with", "m.toml", "--back", "-o", "new.kellet")
    assert code == 1
    assert errors == (
        "kellet: migration 'm' (m.toml) cannot go back: no inverse for m.toml:1: drop fc.b; m.toml:4: "
        "rename /a/ -> b\n"
    )
    assert not Path("new.kellet").exists()


MISTAKES = {
    'rename = "fc.b"\nto = "norm"': [
        "m.toml:1: rename fc.b -> norm: two values get one key:",
        "'norm' would come from 'fc.b' and from 'norm'",
    ],
    'split = "norm"\nto = ["a", "b", "c"]': [
        "m.toml:1: split norm -> a, b, c:",
        "'norm': split along axis 0: 4 rows do not make 3 equal parts",
    ],
    'rename = "norm"\ntransforms = [{ function = "no.such:f" }]': [
        "m.toml:1: rename norm -> norm:",
        "function 'no.such:f' was not found: No module named 'no'",
    ],
    'rename = "not.there"\nto = "x"': ["steps that match no key:", "m.toml:1: rename not.there -> x"],
    'drop = "{"\n\n[[step]]\nrename = "a"\nto = "{b}"': [
        "m.toml:1: template '{'",
        "m.toml:4: '{b}' has the hole 'b'",
    ],
}


@pytest.mark.parametrize("step", MISTAKES)
def test_mistakes_point_at_their_lines_and_leave_nothing_behind(run: Run, step: str) -> None:
    Path("m.toml").write_text(f"[[step]]\n{step}\n")
    code, _, errors = run("migrate", "old.npz", "--with", "m.toml", "-o", "new.safetensors")
    assert code == (4 if "no.such:f" in step else 1)
    assert [line for line in MISTAKES[step] if line not in errors] == []
    assert not list(Path().glob("new*"))


FAILING = {
    "def f(value):\n    raise KeyError('grid')\n": "'norm': function 'helping:f' raised KeyError: 'grid'",
    "def f(value):\n    return 3\n": "'norm': function 'helping:f' returned int; expected an array",
    "1 / 0\n": "'norm': function 'helping:f' was not found: importing helping raised ZeroDivisionError: ",
    "def f(:\n": "'norm': function 'helping:f' was not found: importing helping raised SyntaxError: ",
}


@pytest.mark.parametrize("source", FAILING)
def test_a_function_that_fails_points_at_its_line_and_key(
    run: Run, source: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("helping.py").write_text(source)
    monkeypatch.delitem(sys.modules, "helping", raising=False)
    step = '[[step]]\nrename = "norm"\ntransforms = [{ function = "helping:f" }]\n'
    Path("m.toml").write_text(f'name = "m"\n\n{step}')
    arguments = ["migrate", "old.npz", "--with", "m.toml"]
    code, _, errors = run(*arguments, "-o", "new.safetensors")
    assert (code, "Traceback" in errors) == (1 if "return 3" in source else 4, False)
    assert errors.startswith("kellet: m.toml:3: rename norm -> norm")
    assert FAILING[source] in errors
    assert not list(Path().glob("new*"))
    assert run(*arguments, "--plan")[0] == (0 if "def f(v" in source else 4)


def test_irreversible_steps_and_constants_that_do_not_fit_point_at_their_lines(run: Run) -> None:
    Path("m.toml").write_text(
        '[[step]]\ndrop = "fc.b"\n\n[[step]]\npattern = "kernel"\nto = "weight"\n\n'
        '[[step]]\nrename = "{m}.{x}"\nto = "{x}"\n'
    )
    code, out, _ = run("migrate", "old.npz", "--with", "m.toml", "--plan")
    assert code == 0
    assert out.splitlines()[-4:] == [
        "does not go back:",
        "    m.toml:1: drop fc.b: it has no inverse",
        "    m.toml:4: rename /kernel/ -> weight: it has no inverse",
        "    m.toml:8: rename {m}.{x} -> {x}: it has no inverse",
    ]
    Path("m.toml").write_text('\n[[step]]\ndefault = "x"\nfill = 256\nshape = [2]\ndtype = "uint8"\n')
    for more in (["--plan"], ["-o", "new.kellet"]):
        code, _, errors = run("migrate", "old.npz", "--with", "m.toml", *more)
        assert (code, errors) == (1, "kellet: m.toml:2: default x: fill = 256: uint8 holds 0 to 255\n")


def test_unknown_keys_are_dropped_or_an_error_by_a_flag(run: Run) -> None:
    Path("m.toml").write_text('[[step]]\nrename = "fc.b"\nto = "0.bias"\n')
    arguments = ["migrate", "old.npz", "--with", "wrappers", "--with", "m.toml"]
    code, out, _ = run(*arguments, "--unknown", "drop", "--plan")
    assert code == 0
    assert (
        "migration 'm' (m.toml): unknown = 'drop'\n    fc.kernel  float32[3, 2]\n    norm       float32[4]\n"
        in out
    )
    assert run(*arguments, "--unknown", "drop", "-o", "new.safetensors")[0] == 0
    assert list(open_checkpoint("new.safetensors")) == ["0.bias"]
    code, _, errors = run(*arguments, "--unknown", "error", "-o", "other.safetensors")
    assert code == 1
    assert errors.startswith(
        "kellet: no step of migration 'm' (m.toml) matches 2 keys:\n    fc.kernel\n    norm\n"
    )
    assert not Path("other.safetensors").exists()


def test_the_target_answers_what_a_migration_asks_also_when_it_is_written(run: Run) -> None:
    Path("m.toml").write_text(
        '[[step]]\nrename = "fc.kernel"\nto = "0.weight"\ntransforms = [{ reshape = "target" }]\n\n'
        '[[step]]\nrename = "fc.b"\nto = "0.bias"\nif_module = { "0.in_features" = 3 }\n'
    )
    arguments = ["migrate", "old.npz", "--with", "m.toml"]
    code, _, errors = run(*arguments, "-o", "new.safetensors")
    assert code == 1
    assert "m.toml:1: rename fc.kernel -> 0.weight:\n" in errors
    assert "the step needs '0.weight' of a module; give one: module=model (command: --target" in errors
    assert run(*arguments, "-o", "new.safetensors", "--target", "shop:build")[0] == 0
    assert values("new.safetensors")["0.weight"] == OLD["fc.kernel"].reshape(2, 3).tolist()
    assert "0.bias" in values("new.safetensors")


def test_a_configuration_answers_in_the_place_of_the_model(run: Run) -> None:
    Path("m.toml").write_text(
        '[[step]]\nrename = "norm"\n'
        'transforms = [{ permute = ["config.num_heads", -1], order = [1, 0] }]\n'
        'if_module = { "rope.kind" = "neox" }\n'
    )
    arguments = ["migrate", "old.npz", "--with", "m.toml", "--config", "config.json"]
    for kind, expected in (("neox", [1, 3, 2, 4]), ("gptj", [1, 2, 3, 4])):
        Path("config.json").write_text(json.dumps({"num_heads": 2, "rope": {"kind": kind}}))
        assert run(*arguments, "-o", "new.safetensors")[0] == 0
        assert values("new.safetensors")["norm"] == expected
        assert run(*arguments, "--plan")[1].endswith("goes back\n") == (kind == "neox")
    for text in ("[1]", "{", "[" * 100_000, '{"a": "' + "x" * (1 << 20) + '"}'):
        Path("config.json").write_text(text)
        code, _, errors = run(*arguments, "-o", "new.safetensors")
        assert (code, errors.startswith("kellet: --config config.json: expected an object of JSON")) == (
            1,
            True,
        )


def test_versions_that_do_not_rise_point_at_their_line(run: Run) -> None:
    Path("m.toml").write_text('name = "round"\nfrom = 2\nto = 1\n')
    code, _, errors = run("migrate", "old.npz", "--with", "m.toml", "--plan")
    assert code == 1
    assert errors.startswith("kellet: m.toml:2: migration 'round' (m.toml:3) goes from version 2 to 1")


def test_migrations_that_reach_one_version_point_at_both_lines(run: Run) -> None:
    Path("a.toml").write_text('name = "a"\nto = 2\n')
    Path("b.toml").write_text('name = "b"\n\nto = 2\n')
    code, _, errors = run("migrate", "old.npz", "--with", "a.toml", "--with", "b.toml", "--plan")
    assert code == 1
    assert errors.startswith(
        "kellet: migration 'a' (a.toml:2) and migration 'b' (b.toml:3) both reach version 2"
    )


def test_a_template_that_matches_nothing_is_a_remark_or_with_strict_an_error(run: Run) -> None:
    Path("m.toml").write_text(MIGRATION + '\n[[step]]\ndrop = "{p:any}.mask"\n')
    code, out, _ = run("migrate", "old.npz", "--with", "m.toml", "--plan")
    assert code == 0
    assert "m.toml:16: drop {p:any}.mask" in out
    assert "skipped: no key matches" in out
    code, _, errors = run("migrate", "old.npz", "--with", "m.toml", "--strict", "-o", "new.safetensors")
    assert code == 1
    assert "m.toml:16: drop {p:any}.mask" in errors


@pytest.mark.parametrize("strict", [[], ["--strict"]])
def test_wrappers_go_before_a_draft_that_strips_them_too(run: Run, strict: list[str]) -> None:
    old = {"n_averaged": np.array(3), **{f"module.{key}": value for key, value in OLD.items()}}
    np.savez("old.npz", **old)
    np.savez("new.npz", **{"fc.weight": OLD["fc.kernel"].T, "fc.bias": OLD["fc.b"], "norm": OLD["norm"]})
    assert run("suggest-migration", "old.npz", "new.npz", "-o", "draft.toml")[0] == 0
    assert 'drop = "n_averaged"' in Path("draft.toml").read_text()
    both = ["migrate", "old.npz", "--with", "wrappers", "--with", "draft.toml", *strict]
    code, out, errors = run(*both, "--plan", "--target", "new.npz")
    assert (code, errors) == (0, "")
    assert out.count("skipped: done before, by migration 'wrappers'") == 2
    assert run(*both, "-o", "new.safetensors")[0] == 0
    assert sorted(open_checkpoint("new.safetensors")) == ["fc.bias", "fc.weight", "norm"]


def test_a_key_that_wrappers_have_renamed_is_told_by_its_new_name(run: Run) -> None:
    np.savez("old.npz", **{"module.fc.b": OLD["fc.b"]})
    Path("m.toml").write_text('[[step]]\nrename = "module.fc.b"\nto = "0.bias"\n')
    code, _, errors = run("migrate", "old.npz", "--with", "wrappers", "--with", "m.toml", "-o", "new.kellet")
    assert code == 1
    assert "m.toml:1: rename module.fc.b -> 0.bias" in errors
    assert "'module.fc.b' has become 'fc.b' before, by migration 'wrappers'" in errors


def test_wrappers_go_without_a_file_of_ones_own(run: Run) -> None:
    np.savez("old.npz", **{f"module._orig_mod.{key}": value for key, value in OLD.items()})
    code, _, _ = run("migrate", "old.npz", "--with", "wrappers", "--with", "m.toml", "-o", "new.safetensors")
    assert code == 0
    assert sorted(open_checkpoint("new.safetensors")) == ["0.bias", "0.weight", "1.bias", "1.weight"]


def test_a_draft_is_written_with_reasons_and_then_does_what_it_says(run: Run) -> None:
    np.savez("old.npz", **{"module.fc.kernel": OLD["fc.kernel"], "module.fc.b": OLD["fc.b"]})
    np.savez("new.npz", **{"head.weight": OLD["fc.kernel"].T, "head.bias": OLD["fc.b"]})
    code, out, errors = run("suggest-migration", "old.npz", "new.npz", "-o", "draft.toml")
    assert (code, out, errors) == (0, "", "")
    text = Path("draft.toml").read_text()
    assert "# DistributedDataParallel or AveragedModel puts 'module' before every name\n[[step]]" in text
    assert [step.line for step in read_migration("draft.toml").steps] == [
        f"draft.toml:{number}" for number, line in enumerate(text.splitlines(), 1) if line == "[[step]]"
    ]
    code, _, _ = run("migrate", "old.npz", "--with", "draft.toml", "-o", "there.safetensors")
    assert values("there.safetensors") == {"head.weight": OLD["fc.kernel"].T.tolist(), "head.bias": [7, 8]}


def test_a_draft_takes_the_place_of_an_older_one_whole_or_not_at_all(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*paths: object, **options: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    Path("draft.toml").write_text("the older one")
    monkeypatch.setattr(os, "replace", full)
    code, _, errors = run("suggest-migration", "old.npz", "shop:build", "-o", "draft.toml")
    assert (code, Path("draft.toml").read_text()) == (3, "the older one")
    assert errors == (
        "kellet: [Errno 28] No space left on device: 'draft.toml'\n"
        "  free some space, or write to another disk\n"
    )
    assert not list(Path().glob(".draft*"))


def test_a_draft_is_named_for_its_file_whose_name_need_not_be_text(run: Run) -> None:
    file = os.fsdecode(b"caf\xe9.toml")
    run("suggest-migration", "old.npz", "shop:build", "-o", file)
    assert read_migration(file).name == r"caf\udce9"


def test_a_draft_from_one_state_dict_of_an_archive_opens_it_again(run: Run) -> None:
    with PackageExporter("old.kellet", policy="auto", prove=False) as exporter:
        for number, name in enumerate(("live", "ema")):
            exporter.save_state_dict(
                "m", name, {f"{name}.{key}": value + number for key, value in OLD.items()}
            )
    np.savez("new.npz", **OLD)
    code, _, errors = run("suggest-migration", "old.kellet", "new.npz", "-o", "draft.toml")
    assert code == 3
    assert errors == (
        "kellet: old.kellet: which state dict? The archive holds m/ema, m/live. Name one: unwrap=, --unwrap\n"
    )
    code, _, _ = run("suggest-migration", "old.kellet", "new.npz", "--unwrap", "m/ema", "-o", "draft.toml")
    assert (code, read_migration("draft.toml").unwrap) == (0, ("m/ema",))
    assert run("migrate", "old.kellet", "--with", "draft.toml", "-o", "there.kellet")[0] == 0
    assert values("there.kellet") == {key: (value + 1).tolist() for key, value in OLD.items()}


def test_a_draft_says_what_it_could_not_place(run: Run) -> None:
    code, out, errors = run("suggest-migration", "old.npz", "shop:build")
    assert code == 1
    assert errors == (
        "kellet: 1 old key could not be placed, 2 new keys got no value; both are listed at the end of "
        "the draft\n"
    )
    assert out.splitlines()[-5:] == [
        "# Old keys without a match (write a rename or a drop for each):",
        "#     norm",
        "# New keys without a value (write a rename or a default for each):",
        "#     1.weight",
        "#     1.bias",
    ]


def test_targets_and_files_that_are_not_there_have_their_own_exit_codes(run: Run) -> None:
    assert run("migrate", "none.npz", "--with", "m.toml", "--plan")[0] == 3
    assert run("migrate", "old.npz", "--with", "none.toml", "--plan")[0] == 3
    assert run("suggest-migration", "old.npz", "shop:nothing")[0] == 4
    with pytest.raises(SystemExit):
        run("migrate", "old.npz", "--with", "m.toml")


def test_inspect_shows_the_stored_migrations_and_what_they_run(run: Run) -> None:
    import shop

    from kellet import nn
    from packager.migrations import Migration, NamedFunction, attach, rename, rename_pattern

    class_source = (
        "from kellet import nn\nclass Net(nn.Module):\n    _version = 2\n"
        "    def __init__(self):\n        super().__init__()\n        self.w = nn.Linear(1, 1)\n"
    )
    Path("shop/net.py").write_text(class_source)
    from shop.net import Net

    assert issubclass(Net, nn.Module)
    assert shop.build() is not None
    steps = [rename("a", "w.bias", NamedFunction("math:sqrt")), rename_pattern("^b_", "w.")]
    attach(Net, Migration("old names", steps, to=2))
    with PackageExporter("net.kellet", policy="auto", prove=False) as exporter:
        exporter.save_object("model", "model", Net())
    with ArchiveReader("net.kellet") as reader:
        assert reader.entry(".data/migrations.msgpack").kind == "migration"
    code, out, _ = run("inspect", "net.kellet")
    assert code == 0
    assert "shop.net:Net  old names  2           2      math:sqrt (call), /^b_/" in out
    code, out, _ = run("inspect", "net.kellet", "--json")
    (row,) = json.loads(out)["migrations"]
    assert (row["class"], row["calls"], row["patterns"]) == ("shop.net:Net", ["math:sqrt (call)"], ["/^b_/"])
