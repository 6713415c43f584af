"""Two archives: each kind of change is told once, equal ones at once, and nothing of them is run."""

from __future__ import annotations

import io
import json
import os
import re
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from packager import ArchiveError, PackageExporter
from packager._archive import (
    ArchiveReader,
    ArchiveWriter,
    CheckRecord,
    EntryPoint,
    ExternRecord,
    ImportSite,
    Manifest,
    ModuleRecord,
    ObjectRecord,
    SchemaRecord,
    TakenValue,
    TensorReader,
    TensorSpec,
    TypeUse,
    add_tensors,
)
from packager._cli import main
from packager._differences import Differences, compare_files
from packager._differences.texts import _differing
from packager._environment import Fingerprint
from packager._migrations import Migration, drop, pack_migrations
from tests import processes

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    monkeypatch.chdir(tmp_path)

    def call(*arguments: object) -> tuple[int, str, str]:
        code = main([str(one) for one in arguments])
        said = capsys.readouterr()
        return code, said.out, said.err

    return call


# --- every kind of change, each once ---

WORDS = "".join(f"line {number}\n" for number in range(9))
OLD: Mapping[str, Any] = {
    "python": "3.11.7",
    "numpy": "1.26.4",
    "msgpack": "1.1.0",
    "inked": "2.0",
    "licence": "MIT",
    "sources": {
        "net/same.py": "import json\n",
        "net/edited.py": "A = 1\nB = 2\n",
        "net/gone.py": "GONE = 1\n",
        "net/before.py": "MOVED = 1\n",
        "net/longer.py": WORDS,
        "net/left.py": "LEFT = 1\n",
    },
    "actions": {"yaml": "extern", "plots": "mock"},
    "files": {"net/words.txt": b"one\ntwo\n", "net/data.bin": b"\0\1", "net/gone.txt": b"gone\n"},
    "point": "forward",
    "takes": "float32[*, 3]",
    "migration": [drop("mask")],
    "wheel": b"one",
    "keys": {
        "same": np.ones(3, "f4"),
        "changed": np.ones(4, "f4"),
        "shaped": np.ones((2, 2), "f4"),
        "cast": np.arange(3, dtype="f4"),
        "gone": np.full(5, 7.0),
        "old.name": np.arange(6.0),
    },
    "ran": ("first",),
    "versions": (("bn", 1),),
    "extras": "one",
    "factory": "net:build",
    "types": ("net:Net", "net:Old"),
    "records": b"\x90",
    "golden": b"one",
}
NEW: Mapping[str, Any] = {
    **OLD,
    "python": "3.12.1",
    "numpy": "2.1.0",
    "msgpack": "1.2.0",
    "inked": "2.1",
    "licence": "GPL-3.0-only",
    "sources": {
        "net/same.py": "import json\n",
        "net/edited.py": "A = 1\nB = 3\n",
        "net/new.py": "NEW = 1\nNEWER = 2\n",
        "net/after.py": "MOVED = 1\n",
        "net/renamed.py": WORDS.replace("line 4", "line four"),
    },
    "actions": {"yaml": "mock", "plots": "mock", "net.left": "extern"},
    "files": {"net/words.txt": b"one\n2\n", "net/data.bin": b"\0\2", "net/new.txt": b"new\n"},
    "point": "predict",
    "takes": "float32[*, 4]",
    "migration": [drop("masks")],
    "wheel": b"two",
    "keys": {
        "same": np.ones(3, "f4"),
        "changed": np.array([1, 1, 1, 2], "f4"),
        "shaped": np.ones((4, 1), "f4"),
        "cast": np.arange(3, dtype="f8"),
        "new": np.full((1, 5), 3.0, "f4"),
        "new.name": np.arange(6.0),
    },
    "ran": ("first", "second"),
    "versions": (("bn", 2),),
    "extras": "two",
    "factory": None,
    "types": ("net:Net",),
    "records": b"\x91\x01",
    "golden": b"two",
}


def extras_of(text: str) -> bytes:
    """Return the extras of a state dict with a text beside its tensors."""
    file = io.BytesIO()
    with PackageExporter(file, prove=False) as exporter:
        exporter.save_state_dict("net", "weights", {"w": np.ones(1), "note": text})
    with ArchiveReader(file) as reader:
        (record,) = reader.manifest.state_dicts
        return reader.read(str(record.extras))


def written(path: Path, facts: Mapping[str, Any], *, site: int = 1) -> Path:
    """Write an archive that says just what `facts` do."""
    from packager._archive import StateDictRecord

    modules = [
        ModuleRecord(name[:-3].replace("/", "."), "intern", "auto", "asked for", name)
        for name in facts["sources"]
    ]
    modules += [ModuleRecord(name, action, "auto", "asked for") for name, action in facts["actions"].items()]
    modules.append(
        ModuleRecord(
            "json", "extern", "implicit", "standard", importers=(ImportSite("net.same", "net/same.py", site),)
        )
    )
    types = tuple(TypeUse(name, "create") for name in facts["types"])
    distributions = {"msgpack": facts["msgpack"], "numpy": facts["numpy"]}
    licence = [["expression", facts["licence"]]]
    stored = [["inked", facts["inked"], False, ["inked"], [["field", "MIT"]]]]
    manifest = Manifest(
        modules=tuple(modules),
        externs=(ExternRecord("numpy", "compiled", "numpy", facts["numpy"], f"numpy=={facts['numpy']}"),),
        entry_points=(EntryPoint("model", "net", "weights", facts["point"]),),
        schemas=(SchemaRecord("model", (TakenValue("x", facts["takes"]),)),),
        state_dicts=(
            StateDictRecord(
                "net",
                "weights",
                "net/weights.safetensors",
                ".data/extras/net/weights",
                facts["versions"],
                facts["ran"],
            ),
        ),
        objects=(
            ObjectRecord("net", "made", "net/made", factory=facts["factory"], types=types),
            ObjectRecord("net", "same", "net/same"),
        ),
        checks=(CheckRecord("one", "model", ".data/checks/one.in", ".data/checks/one.out"),),
        environment={
            **vars(Fingerprint("3", "cpython", "linux-x86_64", "little")),
            "python": facts["python"],
            "distributions": distributions,
            "licenses": {"distributions": {"msgpack": licence}, "stored": stored},
        },
    )
    specs, storages = [], []
    words = {"float32": "F32", "float64": "F64"}
    for number, (key, array) in enumerate(facts["keys"].items()):
        strides = tuple(step // array.itemsize for step in array.strides)
        specs.append(TensorSpec(key, words[str(array.dtype)], array.shape, strides, 0, number))
        storages.append(memoryview(array.ravel().view(np.uint8)))
    with ArchiveWriter(path, fsync=False) as writer:
        add_tensors(writer, "net/weights.safetensors", specs, storages)
        for name, text in facts["sources"].items():
            writer.add(name, text.encode(), kind="source")
        for name, data in facts["files"].items():
            writer.add(name, data, kind="resource")
        writer.add(".data/extras/net/weights", extras_of(facts["extras"]), kind="extras")
        steps = {"net:Net": [Migration("older", facts["migration"], to=2)]}
        writer.add(".data/migrations.msgpack", pack_migrations(steps), kind="migration")
        writer.add(".data/wheels/tiny-1-py3-none-any.whl", facts["wheel"], kind="resource")
        writer.add("net/made", b"\x90", kind="object")
        writer.add("net/same", facts["records"], kind="object")
        writer.add(".data/checks/one.in", facts["golden"], kind="check")
        writer.add(".data/checks/one.out", b"out", kind="check")
        writer.seal(manifest)
    return path


def test_every_kind_of_change_is_told_once(tmp_path: Path) -> None:
    found = compare_files(written(tmp_path / "a.kellet", OLD), written(tmp_path / "b.kellet", NEW))
    assert [(one.section, one.kind, str(one)) for one in found.changes] == [
        ("decisions", "changed", "net.left: intern -> extern"),
        ("decisions", "changed", "yaml: extern -> mock"),
        ("environment", "changed", "inked (stored): 2.0 -> 2.1"),
        ("environment", "changed", "msgpack (required by an extern): 1.1.0 -> 1.2.0"),
        ("environment", "changed", "numpy: 1.26.4 (numpy==1.26.4) -> 2.1.0 (numpy==2.1.0)"),
        ("environment", "changed", "python: 3.11.7 -> 3.12.1"),
        ("licences", "changed", "msgpack: MIT -> GPL-3.0-only"),
        ("entry points", "changed", "model: net/weights.forward -> net/weights.predict"),
        (
            "schemas",
            "changed",
            "model: (x: float32[*, 3]) -> ? [declared] -> (x: float32[*, 4]) -> ? [declared]",
        ),
        ("objects", "changed", "net/made: made by net:build, needs net:Old -> made by its stored layout"),
        ("objects", "changed", "records of net/same: 1 bytes -> 2 bytes"),
        ("state dicts", "changed", "migrations of net/weights: first -> first, second"),
        ("state dicts", "changed", "versions of modules in net/weights"),
        ("state dicts", "changed", "what is no tensor in net/weights"),
        ("examples", "changed", "inputs of one"),
        ("migrations", "changed", "older of net:Net"),
        ("wheels", "changed", "tiny-1-py3-none-any.whl"),
    ]
    assert [(one.kind, one.old_name, one.name, one.note) for one in found.code] == [
        ("moved", "net.before", "net.after", ""),
        ("changed", "", "net.edited", ""),
        ("removed", "", "net.gone", "1 line"),
        ("added", "", "net.new", "2 lines"),
        ("moved", "net.longer", "net.renamed", ""),
    ]
    hunks = {one.name: one.hunks for one in found.code}
    assert hunks["net.after"] == ()
    assert hunks["net.edited"] == ("@@ -1,2 +1,2 @@", " A = 1", "-B = 2", "+B = 3")
    assert [line for line in hunks["net.renamed"] if line[0] in "+-"] == ["-line 4", "+line four"]
    assert [(one.kind, one.name, one.note) for one in found.files] == [
        ("changed", "net/data.bin", "not compared by lines; 2 B -> 2 B"),
        ("removed", "net/gone.txt", "1 line"),
        ("added", "net/new.txt", "1 line"),
        ("changed", "net/words.txt", ""),
    ]
    assert [(one.kind, one.old_keys, one.key, one.layout) for one in found.keys] == [
        ("renamed", ("old.name",), "new.name", "float64 [6]"),
        ("removed", (), "gone", "float64 [5]"),
        ("added", (), "new", "float32 [1, 5]"),
    ]
    assert [
        (one.key, one.before, one.after, one.largest, one.ulps, one.differing) for one in found.tensors
    ] == [
        ("changed", "float32 [4]", "float32 [4]", 1.0, 1 << 23, 1),
        ("shaped", "float32 [2, 2]", "float32 [4, 1]", 0, None, 0),
        ("cast", "float32 [3]", "float64 [3]", 0.0, None, 0),
    ]


def test_all_of_it_is_readable_at_80_columns_and_as_json(run: Run, tmp_path: Path) -> None:
    written(tmp_path / "a.kellet", OLD)
    written(tmp_path / "b.kellet", NEW)
    code, out, errors = run("diff", "a.kellet", "b.kellet")
    assert (code, errors) == (1, "")
    lines = out.splitlines()
    assert max(map(len, lines)) <= 80
    start = lines.index("")
    assert " ".join(" ".join(lines[:start]).split()) == (
        "Of all that was compared, 5 modules, 4 other files, 17 records, 3 keys and 3 tensors differ. "
        "The tensor that changed most is shaped."
    )
    assert lines[start + 1 : start + 3] == ["--- a.kellet", "+++ b.kellet"]
    assert [line for line in lines if line.endswith(":") and line[0].isalpha()] == [
        *(
            "environment:",
            "licences:",
            "decisions:",
            "entry points:",
            "schemas:",
            "objects:",
            "state dicts:",
            "examples:",
            "migrations:",
        ),
        *("wheels:", "keys of net/weights:", "tensors of net/weights:", "files:", "code:"),
    ]
    assert "  > old.name -> new.name  (the same content)" in lines
    assert "  > net.before -> net.after" in lines
    told = json.loads(run("diff", "a.kellet", "b.kellet", "--json")[1])
    assert told["equal"] is False
    assert Counter(one["section"] for one in told["changes"])["environment"] == 4
    assert told["tensors"][0]["ulps"] == 1 << 23


def test_what_is_recorded_alone_is_told_where_nothing_else_differs(tmp_path: Path) -> None:
    one, other = written(tmp_path / "a.kellet", OLD), written(tmp_path / "b.kellet", OLD, site=2)
    (change,) = compare_files(one, other).changes
    assert (change.section, change.name) == ("archive", "identity")
    assert change.before != change.after


def test_equal_archives_say_so_without_reading_them(run: Run, tmp_path: Path) -> None:
    written(tmp_path / "a.kellet", OLD)
    assert run("extract", "a.kellet", "a")[0] == 0
    assert run("diff", "a.kellet", "a") == (0, "a.kellet and a are equal\n", "")
    assert json.loads(run("diff", "a.kellet", "a", "--json")[1])["equal"] is True
    with open("a/net/edited.py", "ab") as file:
        file.write(b"#")
    code, _, errors = run("diff", "a.kellet", "a")
    assert code == 3, "a folder whose files are not those of its manifest"
    assert errors.startswith("kellet: ")


def test_an_archive_against_nothing_is_all_new(run: Run, tmp_path: Path) -> None:
    written(tmp_path / "a.kellet", OLD)
    code, out, _ = run("diff", os.devnull, "a.kellet")
    assert code == 1
    told = out.partition("+++ ")[2]
    signs = {line[:3] for line in told.splitlines() if line.startswith("  ")}
    assert "  + net.edited: 2 lines" in out
    assert signs == {"  +"}


def test_git_shows_changes_of_an_archive_by_the_two_lines_of_the_guide(tmp_path: Path) -> None:
    page = (Path(__file__).resolve().parents[2] / "docs/guides/look-inside.md").read_text(encoding="utf-8")
    attribute, driver = page.split("```sh\n")[2].split("```")[0].strip().splitlines()
    driver = driver.replace("kellet diff", f"{sys.executable} -m packager diff")
    written(tmp_path / "net.kellet", OLD)
    script = f"""
        git init -q . && git config user.name a && git config user.email a@example.com
        {attribute}
        {driver}
        git add . && git commit -qm one && mv new net.kellet && git diff
    """
    written(tmp_path / "new", NEW)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "GIT_CONFIG_GLOBAL": os.devnull}
    done = processes.run(
        ["sh", "-ec", script], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "  > net.before -> net.after" in done.stdout


# --- golden calls ---

NET = "from kellet import nn\nclass Net(nn.Module):\n    def forward(self, x):\n        return x * {}\n"


def test_golden_calls_of_both_are_run_on_both_when_asked(
    tmp_path: Path, project: Callable[[Mapping[str, str]], Path], run: Run
) -> None:
    def archive(name: str, factor: float, value: float) -> None:
        project({"shop.py": NET.format(factor)})
        sys.modules.pop("shop", None)
        import shop  # type: ignore[import-not-found]  # written above

        with PackageExporter(name, policy="auto", prove=False) as exporter:
            exporter.save_object("model", "model", shop.Net())
            exporter.save_example("model", {"x": np.full(2, value, "f4")})

    archive("a.kellet", 2.0, 1.0)
    archive("b.kellet", 3.0, 1.0)
    archive("c.kellet", 2.0, 5.0)
    archive("d.kellet", 3.0, 5.0)
    found = compare_files("a.kellet", "b.kellet", run=True)
    assert found.calls_run == 1
    assert [str(one) for one in found.calls] == ["model: output off by 1 at most"]
    assert compare_files("a.kellet", "b.kellet").calls == ()
    code, out, _ = run("diff", "a.kellet", "c.kellet", "--run")
    assert code == 1
    assert "outputs of examples" not in out, "both models answer alike"
    assert "  ~ inputs and answer of model" in out
    found = compare_files("a.kellet", "c.kellet", run=True)
    assert (found.calls_run, found.calls) == (2, ())
    found = compare_files("a.kellet", "d.kellet", run=True)
    assert [one.source for one in found.calls] == ["before", "after"]
    told = ["model: output off by 1 at most", "model: output off by 5 at most"]
    assert [str(one).partition(",")[0] for one in found.calls] == told


def test_what_starts_a_runnable_archive_is_none_of_its_files(tmp_path: Path) -> None:
    for name, runnable in (("a", True), ("b", True), ("c", False)):
        with PackageExporter(tmp_path / name, policy="auto", runnable=runnable, prove=False) as exporter:
            exporter.save_text("net", "words.txt", name)
    for other in ("b", "c"):
        found = compare_files(tmp_path / "a", tmp_path / other)
        assert [one.name for one in found.files] == ["net/words.txt"]


def test_only_archives_have_calls_to_run(run: Run) -> None:
    np.savez("a.npz", w=np.ones(2))
    code, _, errors = run("diff", "a.npz", "a.npz", "--run")
    assert code == 3
    assert errors.startswith("kellet: only archives have examples to repeat: 'a.npz' is an .npz")


# --- what digests decide is not read ---


MEMBER = "net/weights"


def weights(path: Path, arrays: Mapping[str, Any], digests: str = "sha256") -> Path:
    with PackageExporter(path, digests=digests, fsync=False, prove=False) as exporter:
        exporter.save_state_dict("net", "weights", arrays)
    return path


@pytest.mark.parametrize("digests", ["sha256", "crc"])
def test_only_chunks_that_differ_are_read(
    tmp_path: Path, digests: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    arrays = {f"k{number:02}": np.full(1 << 17, number, "f4") for number in range(12)}
    one = weights(tmp_path / "a.kellet", arrays, digests)
    changed = {**arrays, "k07": arrays["k07"].copy()}
    changed["k07"][-1] = np.nextafter(np.float32(7), np.float32(8))
    other = weights(tmp_path / "b.kellet", changed, digests)
    read: list[tuple[int, int]] = []
    view = ArchiveReader.view

    def watched(self: ArchiveReader, name: str, start: int = 0, stop: int | None = None) -> memoryview:
        if name == MEMBER:
            read.append((start, stop or 0))
        return view(self, name, start, stop)

    monkeypatch.setattr(ArchiveReader, "view", watched)
    (change,) = compare_files(one, other).tensors
    assert (change.key, change.ulps, change.differing) == ("k07", 1, 1)
    with ArchiveReader(one) as reader:
        member = TensorReader(reader, MEMBER)
        place = member.storage_place(member["k07"].storage)
    near = [stop > place.start - (1 << 20) and start < place.stop + (1 << 20) for start, stop in read]
    assert near
    assert all(near)


def test_one_of_twenty_thousand_tensors_is_found_beyond_opening_in_50_ms(tmp_path: Path) -> None:
    arrays = {f"layers.{number}.weight": np.full(64, number, "f4") for number in range(20_000)}
    one = weights(tmp_path / "a.kellet", arrays)
    other = weights(tmp_path / "b.kellet", {**arrays, "layers.777.weight": np.zeros(64, "f4")})
    compare_files(one, one)  # imports

    def opening() -> float:
        start = time.process_time()
        for path in (one, other):
            with ArchiveReader(path, mmap=False) as reader:
                TensorReader(reader, MEMBER)
        return time.process_time() - start

    def comparing() -> float:
        start = time.process_time()
        found = compare_files(one, other)
        taken = time.process_time() - start
        assert [change.key for change in found.tensors] == ["layers.777.weight"]
        return taken

    assert min(comparing() for _ in range(5)) - min(opening() for _ in range(5)) < 0.05


def test_a_member_with_another_layout_is_compared_key_by_key(tmp_path: Path) -> None:
    arrays = {"a": np.ones(300_000, "f4"), "b": np.arange(9.0), "c": np.ones(3, "i8"), "d": np.zeros(2, "f2")}
    one = weights(tmp_path / "a.kellet", arrays)
    other = weights(
        tmp_path / "b.kellet",
        {"a": arrays["a"], "new": np.ones(7), "b": arrays["b"] + 1, "c": arrays["c"], "d": arrays["d"]},
    )
    found = compare_files(one, other)
    assert [(one.kind, one.key) for one in found.keys] == [("added", "new")]
    assert [(one.key, one.largest) for one in found.tensors] == [("b", 1.0)]


# --- hostile archives ---


def test_texts_of_hostile_archives_are_spelled_out(tmp_path: Path, run: Run) -> None:
    bad = "\x1b[2J\u202e\n"
    one = written(tmp_path / "a.kellet", OLD)
    facts = {
        **OLD,
        "ran": (bad,),
        "takes": OLD["takes"],
        "sources": {**OLD["sources"], "net/edited.py": f"A = 1{bad}"},
    }
    written(tmp_path / "b.kellet", facts)
    code, out, _ = run("diff", one, "b.kellet")
    assert code == 1
    assert set(out) - {"\n"} == {one for one in out if one.isprintable()}
    assert "+A = 1\\x1b[2J\\u202e" in out.splitlines()
    assert json.loads(run("diff", one, "b.kellet", "--json")[1])["changes"][0]["after"] == bad


def test_many_modules_and_long_files_are_compared_in_bounds(tmp_path: Path) -> None:
    names = [f"n{number}.py" for number in range(2000)]
    long = "".join(f"{number % 50}\n" for number in range(5000))
    sources = [
        dict.fromkeys(names, f"{side}\n" * 3) | {"long.py": text}
        for side, text in (("a", long), ("b", long[::-1]))
    ]
    moved = {f"m{name}": text for name, text in sources[0].items()}
    files = [
        written(tmp_path / f"{at}.kellet", {**OLD, "sources": one})
        for at, one in enumerate((*sources, moved))
    ]
    start = time.process_time()
    found = compare_files(files[0], files[1])
    notes = {one.name: one.note for one in found.code}
    assert notes["long"].startswith("too much differs to show; 5,000 lines -> ")
    assert len(found.code) == 2001
    assert Counter(one.kind for one in compare_files(files[0], files[2]).code) == {"moved": 2001}
    assert time.process_time() - start < 20


def test_one_of_ten_thousand_modules_is_found_in_the_time_of_a_few_readings(tmp_path: Path) -> None:
    same = dict.fromkeys((f"n{number}.py" for number in range(10_000)), "A = 1\n")
    archives = [
        written(tmp_path / f"{at}.kellet", {**OLD, "sources": {**same, "one.py": f"B = {at}\n"}})
        for at in range(2)
    ]

    def opening() -> float:
        start = time.process_time()
        for path in archives:
            with ArchiveReader(path) as reader:
                assert sum(1 for _ in reader.manifest.entries) > 10_000
        return time.process_time() - start

    def comparing() -> float:
        start = time.process_time()
        assert [one.name for one in compare_files(*archives).code] == ["one"]
        return time.process_time() - start

    # Twice as long; a set that was made anew for each file took ten times as long.
    assert min(comparing() for _ in range(3)) < 5 * min(opening() for _ in range(3))


@pytest.mark.parametrize("order", [1, -1])
def test_a_damaged_archive_is_refused_on_either_side(tmp_path: Path, order: int) -> None:
    one = written(tmp_path / "a.kellet", OLD)
    (tmp_path / "b.kellet").write_bytes(one.read_bytes()[:-5])
    with pytest.raises(ArchiveError):
        compare_files(*[one, tmp_path / "b.kellet"][::order])


def test_differences_that_are_none_are_false() -> None:
    assert not Differences("a", "b")
    said = str(replace(Differences("a", "b"), calls_run=2))
    assert said == "a and b are equal; so are 2 examples, repeated on both"


@pytest.mark.parametrize("no_color", ["", "1"])
def test_signs_have_colours_on_a_terminal_unless_they_are_refused(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch, no_color: str
) -> None:
    written(tmp_path / "a.kellet", OLD)
    written(tmp_path / "b.kellet", NEW)
    plain = run("diff", "a.kellet", "b.kellet")[1]
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("NO_COLOR", no_color)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    shown = run("diff", "a.kellet", "b.kellet")[1]
    assert ("\x1b[32m+B = 3\x1b[0m" in shown) is not bool(no_color)
    assert re.sub("\x1b\\[[0-9;]*m", "", shown) == plain


def test_lines_that_both_begin_and_end_with_are_not_compared() -> None:
    assert _differing(["a", "b", "c", "z"], ["a", "x", "z"]) == 2
    assert _differing(["a", "z"], ["a", "b", "z"]) == 0
