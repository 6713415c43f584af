"""The command: what each prints, for people and for machines, and what its exit codes mean."""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from packager import PackageExporter, PackageImporter
from packager._archive import ArchiveReader
from packager._cli import main
from packager._cli.main import carry_out
from packager._cli.summary import COMMANDS, GROUPS
from packager.policy import read_policy
from tests import processes

Project = Callable[[Mapping[str, str]], Path]
Run = Callable[..., tuple[int, str, str]]

TREE = {
    "shop/__init__.py": "",
    "shop/net.py": (
        "import json\n"
        "import numpy as np\n"
        "from kellet import nn\n"
        "from . import layers\n"
        "class Net(nn.Module):\n"
        "    def __init__(self, width=2):\n"
        "        super().__init__()\n"
        "        self.layer = nn.Linear(width, 1)\n"
        "    def forward(self, x):\n"
        "        return self.layer(x)\n"
        "def build(width=2):\n"
        "    return Net(width)\n"
        "net = build(3)\n"
    ),
    "shop/layers.py": "WORDS = open('shop/words.txt') if False else None\n",
    "shop/words.txt": "one two\n",
}


@pytest.fixture
def run(project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> Run:
    """Carry out a command line beside a small project; gives exit code, output and errors."""
    monkeypatch.chdir(project(TREE))

    def call(*arguments: object) -> tuple[int, str, str]:
        code = main([str(argument) for argument in arguments])
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return call


@pytest.fixture
def archive(run: Run, tmp_path: Path) -> Path:
    target = tmp_path / "net.kellet"
    code, _, errors = run("export", "--no-proof", "shop.net:build", "--kwargs", '{"width": 4}', "-o", target)
    assert (code, errors) == (0, "")
    return target


def test_export_builds_by_a_factory_and_says_what_it_wrote(run: Run, tmp_path: Path) -> None:
    target = tmp_path / "net.kellet"
    code, out, _ = run("export", "shop.net:build", "--kwargs", '{"width": 4}', "-o", target)
    with ArchiveReader(target) as reader:
        identity = reader.identity
    assert code == 0
    plan, summary = out.split(f"{target}: ")
    assert plan.startswith("Export plan: 3 modules stored, 2 packages required, ")
    assert "data files:\n    shop/words.txt  8 B  beside the code of shop\n" in plan
    assert summary.startswith("3 modules, ")
    assert summary.endswith(f"identity {identity}\n")
    with PackageImporter(target) as importer:
        assert importer.load_object("model", "model").layer.weight.shape == (1, 4)


def test_export_takes_an_object_and_weights(run: Run, tmp_path: Path) -> None:
    state = {"layer.weight": np.full((1, 3), 5, "f4"), "layer.bias": np.full(1, 6, "f4")}
    np.savez(tmp_path / "old.npz", **state)
    target = tmp_path / "net.kellet"
    options = ("--weights", tmp_path / "old.npz", "--no-proof")
    code, out, _ = run("export", "shop.net:net", *options, "-o", target, "--json")
    assert code == 0
    written = json.loads(out)
    assert written["file"] == str(target)
    assert written["cost"]["tensors"] == 16
    with PackageImporter(target) as importer:
        assert importer.load_object("model", "model").layer.weight.tolist() == [[5, 5, 5]]


def test_weights_that_do_not_fit_are_told_by_key(run: Run, tmp_path: Path) -> None:
    np.savez(tmp_path / "old.npz", other=np.ones(1))
    target = tmp_path / "net.kellet"
    code, _, errors = run("export", "shop.net:net", "--weights", tmp_path / "old.npz", "-o", target)
    assert code == 4
    assert '\n    Missing key(s) in state_dict: "layer.weight", "layer.bias"' in errors
    draft = f"kellet suggest-migration {tmp_path / 'old.npz'} shop.net:net -o migration.toml"
    assert errors.endswith(f"To have the keys renamed, draft a migration: {draft}\n")
    assert not target.exists()


def test_export_may_store_the_factory(run: Run, tmp_path: Path) -> None:
    target = tmp_path / "net.kellet"
    code, _, _ = run(
        "export",
        "--no-proof",
        "shop.net:build",
        "--kwargs",
        '{"width": 4}',
        "--store",
        "factory",
        "-o",
        target,
    )
    assert code == 0
    with ArchiveReader(target) as reader:
        assert reader.manifest.objects[0].factory == "shop.net:build"
    code, _, errors = run("export", "shop.net:net", "--store", "factory", "-o", target)
    said = "shop.net:net is an object. A factory is a class or function that makes one"
    assert (code, errors) == (4, f"kellet: --store factory: {said}\n")


def test_export_stores_a_golden_call(run: Run, tmp_path: Path) -> None:
    np.savez(tmp_path / "x.npz", x=np.ones((1, 2), "f4"))
    target = tmp_path / "net.kellet"
    code, _, _ = run("export", "--no-proof", "shop.net:build", "--example", tmp_path / "x.npz", "-o", target)
    assert code == 0
    with ArchiveReader(target) as reader:
        assert [check.name for check in reader.manifest.checks] == ["model"]


def test_export_learns_from_several_calls_and_takes_declarations(run: Run, tmp_path: Path) -> None:
    for size in (1, 2):
        np.savez(tmp_path / f"{size}.npz", x=np.ones((size, 2), "f4"))
    target = tmp_path / "net.kellet"
    checks = ["--example", tmp_path / "1.npz", "--example", tmp_path / "2.npz"]
    code, out, _ = run("export", "--no-proof", "shop.net:build", *checks, "-o", target)
    assert code == 0
    assert "entry points:\n    model(x: real[*, 2]) -> output: float32[*, 1]\n" in out
    assert run("check", target)[1].splitlines() == [
        "model: output: the same bits",
        "model-2: output: the same bits",
    ]
    code, out, _ = run(
        "export",
        "--no-proof",
        "shop.net:build",
        "--takes",
        "x=float32[2,2]",
        "--gives",
        "output=text?",
        "-o",
        target,
    )
    assert code == 0
    assert "    model(x: float32[2, 2]) -> output: text?\n" in out
    code, _, errors = run("run", target, "--input", tmp_path / "1.npz")
    assert code == 1
    assert errors == (
        "kellet: inputs of entry point 'model' do not fit, and it was not called: x: found float32[1, 2], "
        "expected float32[2, 2]. It takes x: float32[2, 2]\n"
    )
    assert run("run", target, "--input", tmp_path / "2.npz")[0] == 0
    code, out, _ = run("inspect", target)
    assert code == 0
    shown = [line.split() for line in out.partition("what entry points take and give")[2].splitlines()[1:3]]
    assert shown == [
        ["model", "takes", "x", "float32[2,", "2]", "declared"],
        ["model", "gives", "output", "text?", "declared"],
    ]
    code, out, _ = run("inspect", target, "--json")
    (schema,) = json.loads(out)["schemas"]
    assert schema["takes"] == [{"name": "x", "type": "float32[2, 2]", "required": True}]


@pytest.mark.parametrize(
    ("given", "message"), [("x", "expected a name and a type"), ("x=float33[]", "did you mean float32?")]
)
def test_a_declaration_that_is_none_is_told_by_its_option(
    run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str], given: str, message: str
) -> None:
    with pytest.raises(SystemExit, match="2"):
        run("export", "shop.net:build", "--takes", given, "-o", tmp_path / "net.kellet")
    errors = capsys.readouterr().err
    assert "argument --takes: " in errors
    assert message in errors


FAILING = {
    "fails/__init__.py": "",
    "fails/net.py": (
        "class Net:\n"
        "    def __init__(self):\n"
        "        self.words = ['a']\n"
        "    def __call__(self, x):\n"
        "        return self.words[len(x)]\n"
    ),
}


def test_a_model_that_fails_is_exit_code_4_with_the_place(run: Run, project: Project, tmp_path: Path) -> None:
    project(FAILING)
    np.savez(tmp_path / "x.npz", x=np.ones(2))
    np.savez(tmp_path / "y.npz", y=np.ones(2))
    target, answer = tmp_path / "net.kellet", tmp_path / "answer.npz"
    assert run("export", "--no-proof", "fails.net:Net", "-o", target)[0] == 0
    code, out, errors = run("run", target, "--input", tmp_path / "x.npz", "-o", answer)
    assert (code, out, answer.exists()) == (4, "", False)
    assert re.match(
        rf"kellet: {target}: the model failed: IndexError: list index out of range, at \S+/net\.py:5 in ",
        errors,
    )
    assert errors.endswith("fails/net.py:5 in __call__: return self.words[len(x)]\n")
    code, _, errors = run("run", target, "--input", tmp_path / "y.npz")
    assert code == 1
    assert "found y; expected x" in errors


def test_a_warning_is_a_line_as_errors_are(capsys: Any) -> None:
    def warned(options: argparse.Namespace) -> int:
        warnings.simplefilter("always")
        warnings.warn("the environment is not\nas recorded \x1b[2J", stacklevel=1)
        return 0

    before = warnings.showwarning
    assert carry_out(warned, argparse.Namespace()) == 0
    assert capsys.readouterr().err == ("kellet: warning: the environment is not\n  as recorded \\x1b[2J\n")
    assert warnings.showwarning is before


def test_a_refused_export_writes_nothing_and_says_everything(run: Run, tmp_path: Path) -> None:
    target = tmp_path / "net.kellet"
    target.write_bytes(b"old")
    rules = ("--policy", "none", "--intern", "shop.net", "--deny", "numpy.**")
    code, _, errors = run("export", "shop.net:build", *rules, "-o", target)
    assert code == 1
    assert target.read_bytes() == b"old"
    assert "* Module was denied by a pattern.\n    numpy\n" in errors
    assert "* Module did not match against any action pattern." in errors
    assert "      To paste: --intern 'shop.**'  # project code\n" in errors


ZOO = {
    "zoo/__init__.py": "",
    "zoo/build.py": (
        "import importlib\n"
        "from . import cat\n"
        "def build(kind='dog'):\n"
        "    open(__file__.replace('build.py', 'names.txt')).close()\n"
        "    importlib.import_module(\n"
        "        'zoo.' + kind\n"
        "    )\n"
        "    return cat.Cat()\n"
    ),
    "zoo/cat.py": (
        "class Cat:\n"
        "    def __call__(self, x):\n"
        "        return x\n"
        "    def __len__(self):\n"
        "        from . import unused\n"
    ),
    "zoo/unused.py": "import csv\n",
    "zoo/dog.py": "from . import paw\n",
    "zoo/paw.py": "",
    "zoo/names.txt": "",
    "zoo/atlas.csv": "1,2\n",
}


def test_a_traced_export_offers_a_policy_for_that_call_alone(
    run: Run, project: Project, tmp_path: Path
) -> None:
    project(ZOO)
    np.savez(tmp_path / "x.npz", x=np.ones(2))
    first, second, policy = tmp_path / "1.kellet", tmp_path / "2.kellet", tmp_path / "small.toml"
    call = ("export", "zoo.build:build", "--input", tmp_path / "x.npz", "--store", "factory")
    code, _, errors = run(*call, "--no-proof", "-o", first, "--trace-policy", policy)
    assert code == 0
    assert errors == (
        "trace: 3 of 4 stored modules were used\n"
        "    not used: zoo.unused\n"
        "    not used: zoo/atlas.csv\n"
        "    used, but not stored: zoo.dog\n"
        "    used, but not stored: zoo.paw\n"
        "imports that no statement names, for this call:\n"
        "    zoo/build.py:5  importlib.import_module('zoo.' + kind)\n"
        "        the call loaded zoo.dog\n"
        "        to store it: exporter.save_module('zoo.dog')\n"
        f"a policy for this call alone is in {policy}: give it to --policy\n"
    )
    assert '    "zoo/atlas.csv",  # the trace did not open it' in policy.read_text().splitlines()
    with PackageImporter(first) as importer:
        assert sorted(sources(importer)) == ["build.py", "cat.py", "unused.py"]
    code, _, errors = run(*call, "-o", second, "--policy", policy, "--trace")
    assert code == 0
    assert errors.splitlines()[0] == "trace: 5 of 5 stored modules were used"
    assert "not used" not in errors
    assert "not stored" not in errors
    with PackageImporter(second) as importer:
        assert sorted(sources(importer)) == ["build.py", "cat.py", "dog.py", "paw.py"]
        assert not any(entry.name == "zoo/atlas.csv" for entry in importer.manifest.entries)


def sources(importer: PackageImporter) -> list[str]:
    """The stored sources of the zoo that hold anything."""
    entries = [entry for entry in importer.manifest.entries if entry.kind == "source"]
    return [entry.name.removeprefix("zoo/") for entry in entries if not entry.name.endswith("__init__.py")]


def test_what_only_making_a_stored_object_used_is_not_missed(
    run: Run, project: Project, tmp_path: Path
) -> None:
    project(ZOO)
    code, _, errors = run("export", "--no-proof", "zoo.build:build", "--trace", "-o", tmp_path / "net.kellet")
    assert code == 0
    assert errors.startswith(
        "trace: 2 of 3 stored modules were used\n    not used: zoo.unused\n    not used: zoo/atlas.csv\n"
        "a policy for this call alone; --trace-policy FILE writes it:\n"
    )
    assert '{ action = "mock", include = "zoo.unused" },' in errors


def test_a_trace_that_fails_leaves_nothing_written(run: Run, project: Project, tmp_path: Path) -> None:
    project(ZOO)
    np.savez(tmp_path / "x.npz", y=np.ones(2))
    target = tmp_path / "net.kellet"
    code, _, errors = run("export", "zoo.build:build", "--trace", "--input", tmp_path / "x.npz", "-o", target)
    assert code == 1
    assert "tracing zoo.build:build: the call failed with exit code 1:" in errors
    assert "found y; expected x" in errors
    assert not target.exists()


def test_a_variable_is_said_to_be_set_elsewhere(
    run: Run, project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    project(ZOO)
    assert run("plan", "zoo.build:build", "--variable", "ZOO")[0] == 0
    for given in ("ZOO=dog", "="):
        with pytest.raises(SystemExit, match="2"):
            run("plan", "zoo.build:build", "--variable", given)
        expected = f"{given!r}: expected the name of a variable, as 'NET_WIDTH', or '*'"
        assert expected in " ".join(capsys.readouterr().err.split())


def test_plan_runs_nothing_of_the_target(run: Run, project: Project) -> None:
    project({"loud.py": "raise SystemExit('imported')\nimport json\ndef build():\n    import csv\n"})
    code, out, _ = run("plan", "loud:build")
    assert code == 0
    assert out.startswith("Export plan: 1 module stored, 0 packages required, ")
    assert "standard library: csv, json" in out


def test_plan_tells_by_its_exit_code_whether_it_would_go_through(run: Run) -> None:
    assert run("plan", "shop.net")[0] == 0
    code, out, _ = run("plan", "shop.net", "--policy", "strict")
    assert code == 1
    assert "      To paste: --intern 'shop.**'  # project code\n" in out


def test_plan_for_machines_holds_everything(run: Run) -> None:
    code, out, _ = run(
        "plan", "shop.net:build", "--json", "--mock", "shop.layers", "--exclude-data", "shop/*.txt"
    )
    plan = json.loads(out)
    assert code == 0
    assert plan["ok"] is True
    actions = {module["name"]: module["action"] for module in plan["modules"]}
    assert actions["shop.layers"] == "mock"
    assert actions["shop.net"] == "intern"
    assert "shop/words.txt" not in [entry["name"] for entry in plan["entries"]]


def test_rules_keep_the_order_of_the_command_line(run: Run) -> None:
    for rules, action in (
        (["--mock", "shop.layers", "--deny", "shop.**"], "mock"),
        (["--extern", "shop.l*", "--mock", "shop.layers"], "extern"),
    ):
        plan = json.loads(run("plan", "shop.net", "--json", *rules)[1])
        assert {module["name"]: module["action"] for module in plan["modules"]}["shop.layers"] == action


def test_suggest_writes_a_policy_that_export_takes(run: Run, tmp_path: Path) -> None:
    policy, target = tmp_path / "policy.toml", tmp_path / "net.kellet"
    assert run("suggest", "shop.net:build", "-o", policy)[:2] == (0, "")
    assert read_policy(policy).preset == "strict"
    assert all("#" in line for line in policy.read_text().splitlines() if "action" in line)
    code, _, errors = run("export", "--no-proof", "shop.net:build", "--policy", policy, "-o", target)
    assert (code, errors) == (0, "")


def test_suggest_says_what_stands_against_an_export(run: Run, project: Project, tmp_path: Path) -> None:
    project({"lost.py": "import nowhere_at_all\n"})
    code, _, errors = run("suggest", "lost", "-o", tmp_path / "policy.toml")
    assert code == 1
    assert "    nowhere_at_all\n" in errors
    assert "Imported by: lost (asked for) -> nowhere_at_all (lost.py:1)" in errors
    assert run("suggest", "lost", "-o", tmp_path / "no" / "policy.toml")[0] == 3
    strict = tmp_path / "strict.toml"
    strict.write_text('preset = "strict"\nrules = [{ action = "mock", include = "gone" }]')
    code, _, errors = run("suggest", "shop.layers", "--policy", strict, "--intern", "shop.**")
    assert (code, errors.splitlines()[-1]) == (1, "* mock('gone') matched nothing.")


def test_suggest_leaves_out_what_a_trace_did_not_use(run: Run, project: Project, tmp_path: Path) -> None:
    project({"late.py": "def build():\n    return object()\ndef other():\n    import shop.layers\n"})
    code, out, _ = run("suggest", "late", "--intern", "shop.**")
    assert (code, "the trace" in out) == (0, False)
    code, out, errors = run("suggest", "late", "--intern", "shop.**", "-o", tmp_path / "late.toml")
    assert "shop.**" in (tmp_path / "late.toml").read_text()
    code, out, errors = run("suggest", "late:other", "--trace", "--intern", "shop.**")
    assert (code, errors) == (0, "trace: 3 of 3 stored modules were used\n    not used: shop/words.txt\n")
    code, out, errors = run("suggest", "shop.net:build", "--trace")
    assert "not used: shop/words.txt" in errors
    assert '    "shop/words.txt",' in out


def test_why_explains_a_module_of_a_target(run: Run) -> None:
    code, out, _ = run("why", "shop.net:build", "shop.layers")
    assert code == 0
    assert out == (
        "shop.layers: intern by preset auto (project code)\n"
        "    shop.net (asked for)\n"
        "    shop.layers (shop/net.py:4)\n"
    )
    assert json.loads(run("why", "shop.net:build", "numpy", "--json")[1])["decision"]["action"] == "extern"
    code, _, errors = run("why", "shop.net:build", "csv")
    assert code == 1
    assert errors == "kellet: module 'csv' is not in the plan: no import statement leads to it\n"


def test_why_explains_a_module_of_an_archive(run: Run, archive: Path) -> None:
    assert run("why", archive, "shop.layers")[:2] == (
        0,
        "shop.layers: intern by preset auto (project code)\n    shop.net at shop/net.py:4\n",
    )
    assert json.loads(run("why", archive, "shop.layers", "--json")[1])["entry"] == "shop/layers.py"
    assert run("why", archive, "csv")[0] == 1


@pytest.mark.parametrize("name", ["net", "a b"])
def test_sentences_fit_into_80_columns_and_what_is_to_paste_is_whole(
    run: Run, name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    np.savez("old.npz", **{f"layer.{number}": np.ones(2) for number in range(12)})
    Path("m.toml").write_text('name = "longer"\n[[step]]\nrename = "layer.{n}"\nto = "all.layers.{n}"\n')
    file, lines, whole = f"{name}.kellet", list[str](), list[str]()
    for command in (
        ("export", "shop.net:build", "-o", file),
        ("verify", file),
        ("verify", file, "--deep"),
        ("inspect", file),
        ("convert", "old.npz", f"{name}-converted.kellet"),
        ("migrate", "old.npz", "--with", "m.toml", "-o", f"{name}-migrated.safetensors"),
        ("inspect", f"{name}-migrated.safetensors"),
    ):
        code, out, errors = run(*command)
        assert (code, errors) == (0, "")
        for line in out.splitlines():
            (whole if "    packager.load(" in line or "kellet run" in line else lines).append(line)
    assert [line for line in lines if len(line) > 80 and " " in line.strip()] == []
    with ArchiveReader(file) as reader:
        assert [line for line in lines if reader.identity in line] == [f"    identity {reader.identity}"] * 4
        assert all(reader.identity in line for line in whole)


def test_inspect_shows_what_is_inside(run: Run, archive: Path) -> None:
    code, out, _ = run("inspect", archive, "--tensors")
    assert code == 0
    for piece in (
        "format 1\n    unsigned\n    identity ",
        "net.py",
        "words.txt",
        "shop.layers  preset auto  project code",
        "kellet>=",
        "cpython",
        "model/model  stored layout",
        "model  model/model",
        "layer.weight  F32    [1, 4]  16 B",
    ):
        assert piece in out


def test_inspect_runs_nothing_and_marks_pickles(run: Run, tmp_path: Path) -> None:
    target = tmp_path / "p.kellet"
    with PackageExporter(target, prove=False) as exporter:
        exporter.save_source_string("loud", "raise SystemExit('imported')")
        exporter.save_pickle("data", "x.pkl", [1])
    code, out, _ = run("inspect", target)
    assert code == 0
    assert "pickles (reading one runs code):\n    data/x.pkl\n" in out


def test_inspect_for_machines_holds_everything(run: Run, archive: Path) -> None:
    found = json.loads(run("inspect", archive, "--json")[1])
    assert {entry["name"] for entry in found["entries"]} >= {"shop/net.py", "model/model"}
    assert [tensor["key"] for tensor in found["tensors"]["model/model.safetensors"]] == [
        "layer.weight",
        "layer.bias",
    ]
    assert found["environment"]["implementation"] == sys.implementation.name
    assert found["objects"][0]["types"]


def test_verify_says_whether_everything_holds(run: Run, archive: Path) -> None:
    code, out, _ = run("verify", archive)
    assert code == 0
    assert f"{archive}: everything holds; " in out
    assert json.loads(run("verify", archive, "--json")[1])["ok"] is True


def test_verify_finds_a_changed_bit(run: Run, archive: Path) -> None:
    data = bytearray(archive.read_bytes())
    data[data.index(b"one two")] ^= 1
    archive.write_bytes(data)
    code, out, _ = run("verify", archive)
    assert code == 1
    assert out.startswith("shop/words.txt: ")
    assert json.loads(run("verify", archive, "--json")[1])["problems"][0]["entry"] == "shop/words.txt"


def test_verify_tells_problems_in_lines_of_a_terminal(run: Run, archive: Path) -> None:
    data = bytearray(archive.read_bytes())
    at = data.index(b"one two")
    data[at] ^= 1
    data[data.index(b"shop/words.txt")] = ord("S")
    archive.write_bytes(data)
    code, out, _ = run("verify", archive, "--deep")
    told = out[: out.index(f"{archive}: ")].splitlines()
    assert (code, len(told) > 2) == (1, True)
    assert [line for line in told if len(line) > 80] == []
    assert [line for line in told if not line.startswith((" ", "archive: ", "shop/", "Shop/"))] == []


@pytest.mark.parametrize("command", ["verify", "inspect"])
def test_what_is_no_archive_is_exit_code_3(run: Run, tmp_path: Path, command: str) -> None:
    (tmp_path / "text").write_text("text")
    code, _, errors = run(command, tmp_path / "text")
    assert code == 3
    assert errors.startswith("kellet: ")
    assert run(command, tmp_path / "absent")[0] == 3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["plan", "nowhere"], "No module named 'nowhere'"),
        (
            ["export", "shop.net:absent", "-o", "x.kellet"],
            "target shop.net:absent: module 'shop.net' has no attribute",
        ),
        (
            ["export", "shop.net", "-o", "x.kellet"],
            "target 'shop.net' is a module; name an object or a factory",
        ),
    ],
)
def test_a_target_that_is_not_there_is_exit_code_4(run: Run, arguments: list[str], message: str) -> None:
    code, _, errors = run(*arguments)
    assert code == 4
    assert message in errors
    assert not Path("x.kellet").exists()


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["plan"],
        ["unknown"],
        ["export", "a:b"],
        ["plan", "x", "--prove", "some"],
        ["plan", "x", "--policy", "lenient"],
        ["plan", "x", "--intern", "a.**b"],
        ["export", "a:b", "-o", "x", "--kwargs", "[1]"],
    ],
)
def test_wrong_usage_is_exit_code_2(arguments: list[str], capsys: Any) -> None:
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    assert "usage: kellet" in capsys.readouterr().err


def test_a_wrong_policy_file_is_exit_code_1_and_an_absent_one_3(run: Run, tmp_path: Path) -> None:
    (tmp_path / "policy.toml").write_text('rules = [{ action = "drop", include = "a" }]')
    code, _, errors = run("plan", "shop.net", "--policy", tmp_path / "policy.toml")
    assert code == 1
    assert "rule 1: action: expected one of intern, extern, mock, deny, found 'drop'" in errors
    assert run("plan", "shop.net", "--policy", "absent.toml")[0] == 3


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_shows_examples_in_its_help(command: str, capsys: Any) -> None:
    with pytest.raises(SystemExit) as caught:
        main([command, "--help"])
    assert caught.value.code == 0
    out = capsys.readouterr().out
    assert "examples:\n" in out
    assert f"  kellet {command} " in out


def test_the_help_of_the_command_documents_exit_codes(capsys: Any) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    out = capsys.readouterr().out
    for code in ("  0  ", "  1  ", "  2  ", "  3  ", "  4  "):
        assert code in out


def test_the_help_groups_commands_by_what_a_person_wants(
    capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    with pytest.raises(SystemExit):
        main(["--help"])
    out = capsys.readouterr().out
    for group, commands in GROUPS.items():
        lines = "".join(f"  {name:<18} {what}\n" for name, what in commands.items())
        assert f"{group}:\n{lines}" in out


def test_the_help_is_the_same_where_colours_are_asked_for(
    capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "90")
    shown = []
    for name in ("NO_COLOR", "FORCE_COLOR"):  # Python 3.14 would colour it, and lines are measured
        monkeypatch.delenv("NO_COLOR", raising=False)
        monkeypatch.setenv(name, "1")
        with pytest.raises(SystemExit):
            main(["export", "--help"])
        shown.append(capsys.readouterr().out)
    assert shown[0] == shown[1]
    assert "--example FILE" in shown[0]


@pytest.mark.unix  # the view of Windows imports some of it itself
def test_the_help_imports_no_command() -> None:
    code = (
        "import sys; sys.argv[1:] = ['--help']; from packager._cli import main\n"
        "try: main()\n"
        "finally: print({'msgpack', 'numpy', 'packager._cli.inspect_command'} & set(sys.modules))"
    )
    done = processes.run(
        [sys.executable, "-I", "-c", code], cold=True, capture_output=True, text=True, check=True
    )
    assert done.stdout.endswith("\nset()\n")


def test_python_m_packager_is_the_command(run: Run, archive: Path) -> None:
    done = processes.run(
        [sys.executable, "-m", "packager", "verify", str(archive)], capture_output=True, text=True, check=True
    )
    assert "everything holds" in done.stdout
    assert done.stderr == ""


def test_output_is_plain_where_rich_is_missing(archive: Path) -> None:
    code = (
        "import sys; sys.modules['rich'] = None; sys.stdout.isatty = lambda: True; "
        "from packager._cli import main; sys.exit(main(sys.argv[1:]))"
    )
    done = processes.run(
        [sys.executable, "-c", code, "inspect", str(archive)],
        cold=True,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "required or optional:\n" in done.stdout


def test_output_on_a_terminal_is_a_table_of_rich(archive: Path) -> None:
    code = (
        "import sys; sys.stdout.isatty = lambda: True; "
        "from packager._cli import main; sys.exit(main(sys.argv[1:]))"
    )
    done = processes.run(
        [sys.executable, "-c", code, "inspect", str(archive)],
        cold=True,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "requirement" in done.stdout


@pytest.mark.parametrize("rich", [True, False])
def test_a_terminal_sees_how_far_an_export_is(run: Run, tmp_path: Path, rich: bool) -> None:
    code = (
        f"import sys; sys.modules.update({{}} if {rich} else {{'rich': None}}); "
        "sys.stderr.isatty = lambda: True; from packager._cli import main; sys.exit(main(sys.argv[1:]))"
    )
    command = [sys.executable, "-c", code, "export", "shop.net:build", "-o", str(tmp_path / "net.kellet")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "TERM": "xterm"}
    done = processes.run(command, cold=True, capture_output=True, text=True, check=True, env=environment)
    assert "modules, " in done.stdout
    assert "reading modules" in done.stderr
    assert "writing" in done.stderr
    assert "100 %" in done.stderr
    if not rich:
        lines = done.stderr.split("\n")  # a carriage return is read as the end of a line
        assert lines[1] == "writing tensors: 100 %"
        assert any(re.fullmatch(r"reading modules: \d+ modules?", line) for line in lines)
        assert "opening it in a clean process: 100 %" in lines
        assert [line for line in lines if line][-1] == "writing: 100 %"


def test_without_a_terminal_nothing_is_said_of_how_far_an_export_is(run: Run, tmp_path: Path) -> None:
    assert run("export", "shop.net:build", "-o", tmp_path / "net.kellet")[2] == ""
