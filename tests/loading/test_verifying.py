"""Deep verification: sources and objects are parsed in a child with limits, and nothing of them runs."""

import io
import sys
import time
import tracemalloc
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path

import msgpack
import pytest

from packager import PackageExporter, verify
from packager._archive import (
    ArchiveWriter,
    CheckRecord,
    EntryPoint,
    Manifest,
    ModuleRecord,
    ObjectRecord,
    StateDictRecord,
    TensorSpec,
    TypeUse,
    add_tensors,
)
from packager._cli import main
from packager._loading import deep_checks
from packager._objects.records import Kind as K
from packager.errors import ArchiveError, IntegrityError, PackagingWarning


def archive(entries: Mapping[str, tuple[str, bytes]], **facts: tuple) -> bytes:
    """An archive of entries of these kinds, with what the manifest lists of them."""
    file = io.BytesIO()
    with ArchiveWriter(file) as writer:
        for name, (kind, content) in entries.items():
            writer.add(name, content, kind=kind)
        writer.seal(Manifest(**facts))
    return file.getvalue()


def sources(**texts: str | bytes) -> bytes:
    encoded = {name: text if isinstance(text, bytes) else text.encode() for name, text in texts.items()}
    return archive({f"{name}.py": ("source", text) for name, text in encoded.items()})


def stored(*records: list, codecs: tuple = (), **facts: tuple) -> bytes:
    table = msgpack.packb([[["records", 1], *codecs], list(records), -len(records)])
    record = ObjectRecord("m", "o", "m/o", factory=facts.pop("factory", None), types=facts.pop("types", ()))
    return archive({"m/o": ("object", table)}, objects=(record,), **facts)


CART = ([K.GLOBAL, "shop", "Cart"], [K.SHAPE, -1, None], [K.OBJ, -2])


def problems(file: object, **options: object) -> list[str]:
    return [problem.message for problem in verify(file, deep=True, **options).problems]


@pytest.fixture(scope="module")
def honest(tmp_path_factory) -> Path:
    """An archive with sources, an object with tensors, and a state dict with extras."""
    import numpy as np

    from kellet import nn

    path = tmp_path_factory.mktemp("deep") / "net.kellet"
    with PackageExporter(path, policy="auto", fsync=False, prove=False) as exporter:
        exporter.save_source_string("net", "def f(x):\n    return x\n")
        exporter.save_object("model", "model", nn.Sequential(nn.Linear(2, 2), nn.ReLU()))
        exporter.save_state_dict("model", "state", {"w": np.ones(3), "step": 3, "more": [np.ones(2)]})
    return path


@pytest.mark.parametrize("form", ["path", "bytes", "stream", "folder"])
def test_a_sound_archive_is_sound_in_depth_in_every_form(honest, tmp_path, form):
    zipfile.ZipFile(honest).extractall(tmp_path / "folder")
    data = honest.read_bytes()
    file = {"path": honest, "bytes": data, "stream": io.BytesIO(data), "folder": tmp_path / "folder"}[form]
    outcome = verify(file, deep=True)
    assert outcome.problems == ()
    assert outcome.entries == verify(file).entries > 5


def test_nothing_of_a_source_runs(tmp_path):
    mark = tmp_path / "mark"
    code = f"open({str(mark)!r}, 'w')\nclass C:\n    open({str(mark)!r}, 'w')\n"
    assert problems(sources(loud=code)) == []
    assert not mark.exists()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = 1\ndef f(:\n", "line 2: this Python cannot parse it: invalid syntax"),
        ("return 1\n", "line 1: this Python cannot parse it: 'return' outside function"),
        (b"x = 1\0", "cannot parse it: source code .*null bytes"),
        (b"# coding: latin-9000\n", "unknown encoding: latin-9000"),
        (b"'\xff'\n", r"cannot parse it: (\(unicode error\)|Non-UTF-8 code)"),
        ("(" * 5000, "cannot parse it: too many nested parentheses"),
    ],
    ids=["syntax", "scope", "null", "coding", "utf-8", "parentheses"],
)
def test_a_source_that_cannot_be_parsed_is_a_problem_with_its_line(text, message):
    (found,) = problems(sources(good="x = 1\n", odd=text))
    assert found.startswith(("entry 'odd.py', ", "entry 'odd.py': "))
    with pytest.raises(IntegrityError, match=message):
        verify(sources(odd=text), deep=True).raise_for_problems()


def test_what_a_parser_dies_of_is_said_of_that_entry_alone():
    # Nesting that no Python parser is asked for by people: an error in some versions, a crash in others.
    deep = "-" * 200_000 + "1"
    found = problems(sources(a="x = 1\n", b=deep, c="def f(:\n", d="y = 2\n"))
    assert [message.partition(",")[0].partition(":")[0] for message in found] == [
        "entry 'b.py'",
        "entry 'c.py'",
    ]


def test_a_dead_child_names_the_entry_and_the_rest_goes_on(monkeypatch):
    died = sources(a="def f(:\n", b="x = 1\n", c="def g(:\n")
    send, sent = deep_checks._ask, []

    def ask(child, order, content):
        sent.append(order["name"])
        if order["name"] == "b.py":
            child.kill()
            child.wait()
        return send(child, order, content)

    monkeypatch.setattr(deep_checks, "_ask", ask)
    first, second, third = problems(died)
    assert "entry 'b.py': it ended the process that parsed it (exit code -9). Do not load it" in second
    assert (first[:14], third[:14]) == ("entry 'a.py', ", "entry 'c.py', ")
    assert sent == ["a.py", "b.py", "c.py"]


def test_memory_is_limited_and_the_entry_named():
    greedy = "x = [" + "a.b(c)," * 400_000 + "]\n"
    started = time.monotonic()
    found = problems(sources(a="x = 1\n", b=greedy, c="def f(:\n"), memory=1 << 26)
    assert "entry 'b.py': it takes more than the 67108864 bytes of memory allowed to parse" in found[0]
    assert found[1].startswith("entry 'c.py', line 1")
    assert time.monotonic() - started < 60


def test_time_is_limited_and_the_entries_named():
    slow = "x = [" + "a.b(c)," * 600_000 + "]\n"
    found = problems(sources(a=slow, b=slow, c=slow), seconds=0.8)
    assert "entry 'a.py': it was not parsed within the 0.8 seconds allowed" in found[0]
    assert [message.partition(":")[0] for message in found] == [
        "entry 'a.py'",
        "entry 'b.py'",
        "entry 'c.py'",
    ]
    assert "entries before it took the 0.8 seconds" in found[2]


def test_a_source_larger_than_the_memory_is_not_read():
    assert "9 bytes to parse; 5 bytes of memory are allowed" in problems(sources(a="x = 12345"), memory=5)[0]


@pytest.mark.long
def test_this_process_stays_small():
    greedy = sources(b="x = [" + "a.b(c)," * 400_000 + "]\n")
    tracemalloc.start()
    try:
        verify(greedy, deep=True)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < (64 << 20) + 8 * len(greedy)


def test_records_are_audited_and_nothing_is_imported():
    odd = stored([K.GLOBAL, "antigravity", "fly"], [K.CALL, -1])
    (found,) = problems(odd)
    assert "antigravity:fly" in found
    assert "antigravity" not in sys.modules
    assert problems(stored([K.LIST, 1, -1])) != []


def test_names_that_the_caller_trusts_are_no_problem():
    odd = stored(*CART, types=(TypeUse("shop:Cart", "create"),))
    assert "shop:Cart" in problems(odd)[0]
    assert problems(odd, trust=["shop:Cart"]) == []
    with pytest.raises(ValueError, match=r"expected 'package\.module:Qualified\.Name'"):
        verify(odd, deep=True, trust=["*"])


def test_names_of_modules_with_a_stored_source_are_no_problem_and_of_mere_records_are():
    table = msgpack.packb([[["records", 1]], CART, -3])
    there = {"m/o": ("object", table), "shop.py": ("source", b"class Cart:\n    pass\n")}
    module = ModuleRecord("shop", "intern", "r", "b", "shop.py")
    record = ObjectRecord("m", "o", "m/o", types=(TypeUse("shop:Cart", "create"),))
    assert problems(archive(there, objects=(record,), modules=(module,))) == []
    for action in ("intern", "mock"):
        (found,) = problems(stored(*CART, modules=(ModuleRecord("shop", action, "r", "b"),)))
        assert "shop:Cart" in found


def test_a_factory_from_elsewhere_is_a_problem():
    odd = stored([K.PACKED_DICT], factory="os:system", types=(TypeUse("os:system", "call"),))
    assert "made by the factory 'os:system'" in problems(odd)[0]
    assert problems(odd, trust=["os:system"]) == []


CREATES = TypeUse("shop:Cart", "create")
OTHERS = {
    "none": ((), "its records name shop:Cart, which the manifest does not list;"),
    "one more": (
        (CREATES, TypeUse("os:getcwd", "call")),
        "the manifest lists os:getcwd, which its records do not name;",
    ),
    "one more of a name": (
        (CREATES, TypeUse("shop:Cart", "call")),
        "the manifest lists shop:Cart, which its records do not name;",
    ),
    "another role": (
        (TypeUse("shop:Cart", "value"),),
        (
            "its records name shop:Cart (create), which the manifest does not list; the manifest lists "
            "shop:Cart (value), which its records do not name;"
        ),
    ),
    "many others": (
        tuple(TypeUse(f"a:n{n}", "call") for n in range(7)),
        "which the manifest does not list; the manifest lists a:n0, a:n1, a:n2, a:n3, a:n4 and 2 more, which",
    ),
}


@pytest.mark.parametrize("case", OTHERS)
def test_the_manifest_names_exactly_what_the_records_name(case, tmp_path, capsys):
    """In depth and by `inspect`; the twin that lists the one name is no problem to either."""
    types, message = OTHERS[case]
    (found,) = problems(stored(*CART, types=types), trust=["shop:Cart"])
    assert found.startswith("object m/o: ")
    assert message in found
    assert "the archive was not written by packager: do not load it" in found
    path = tmp_path / "x.kellet"
    for listed, code in ((types, False), ((CREATES,), True)):
        path.write_bytes(stored(*CART, types=listed))
        assert (main(["inspect", str(path)]) == 0) is code
        assert (message in capsys.readouterr().err) is not code
    assert problems(path, trust=["shop:Cart"]) == []


def test_a_factory_is_among_the_names_that_the_manifest_says():
    (found,) = problems(stored([K.PACKED_DICT], factory="os:getcwd"), trust=["os:getcwd"])
    assert "its records name os:getcwd, which the manifest does not list" in found
    said = (TypeUse("os:getcwd", "call"),)
    assert problems(stored([K.PACKED_DICT], factory="os:getcwd", types=said), trust=["os:getcwd"]) == []
    assert "the manifest lists os:getcwd, which its" in problems(stored([K.PACKED_DICT], types=said))[0]


def test_extras_of_state_dicts_are_audited():
    from packager._archive import TensorSpec, add_tensors

    file = io.BytesIO()
    with ArchiveWriter(file) as writer:
        add_tensors(writer, "m/s", [TensorSpec("w", "U8", (1,), (1,), 0, 0)], [b"x"])
        bad = msgpack.packb([[["records", 1]], [[K.GLOBAL, "os", "system"], [K.CALL, -1, "true"]], -2])
        writer.add("m/s.extras", bad, kind="extras")
        writer.seal(Manifest(state_dicts=(StateDictRecord("m", "s", "m/s", "m/s.extras"),)))
    assert verify(file.getvalue()).ok
    assert "os:system" in problems(file.getvalue())[0]


@pytest.fixture
def changed(honest) -> Callable[[bytes, bytes], bytes]:
    return lambda old, new: honest.read_bytes().replace(old, new)


def test_what_the_surface_finds_is_found_in_depth_too(changed):
    outcome = verify(changed(b"return x", b"return y"), deep=True)
    assert [problem.entry for problem in outcome.problems] == ["net.py"]
    assert "do not have the crc" in outcome.problems[0].message


def test_what_is_no_archive_is_an_archive_error(tmp_path):
    (tmp_path / "x").write_bytes(b"something")
    with pytest.raises(ArchiveError, match="expected the end record"):
        verify(tmp_path / "x", deep=True)


def test_the_child_is_not_taken_in_by_the_folder_it_starts_in(tmp_path, monkeypatch):
    for name in ("json.py", "packager.py", "msgpack.py"):
        (tmp_path / name).write_text(f"open({str(tmp_path / 'mark')!r}, 'w')\n")
    monkeypatch.chdir(tmp_path)
    assert problems(sources(a="x = 1\n")) == []
    assert not (tmp_path / "mark").exists()


def with_members(*names: str, **facts: tuple) -> bytes:
    """An archive of members with one tensor each, all of one memory, and records as given."""
    file, data = io.BytesIO(), bytes(range(256)) * 32
    with ArchiveWriter(file) as writer:
        for name in names:
            add_tensors(writer, name, [TensorSpec("w", "U8", (8192,), (1,), 0, 0)], [data])
        writer.seal(Manifest(**facts))
    return file.getvalue()


STATE = StateDictRecord("m", "state", "m/state")
CALLED = {
    "entry_points": (EntryPoint("model", "m", "model"),),
    "checks": (CheckRecord("one", "model", "in", "out"),),
}


@pytest.mark.parametrize(
    ("members", "facts", "strays"),
    [
        (("m/state", "m/old"), {"state_dicts": (STATE,)}, ["m/old"]),
        (
            ("m/old", "m/state"),
            {"state_dicts": (STATE,)},
            ["m/old"],
        ),  # its storages are referred to, it is not
        (("in", "out", "spare"), CALLED, ["spare"]),
        (("a", "b"), {}, ["a", "b"]),
        (("in", "m/state", "out"), {**CALLED, "state_dicts": (STATE,)}, []),
    ],
)
def test_tensors_that_nothing_refers_to_are_named_in_depth(members, facts, strays):
    data = with_members(*members, **facts)
    assert verify(data).ok
    found = verify(data, deep=True).problems
    assert [problem.entry for problem in found] == strays
    for problem in found:
        assert problem.message.startswith(f"entry {problem.entry!r} of kind tensors, ")
        assert problem.message.endswith(
            "no object, state dict or example names it, so nothing loads it; expected one, as a "
            "PackageExporter writes"
        )


@pytest.mark.parametrize("kind", ["object", "extras", "check"])
def test_records_that_nothing_refers_to_are_named_in_depth(kind):
    content = msgpack.packb([[["records", 1]], [[K.LIST]], -1])
    message = f"entry 'm/stray' of kind {kind}, {len(content)} B: no object, state dict or example names it"
    assert any(one.startswith(message) for one in problems(archive({"m/stray": (kind, content)})))


def test_nothing_that_an_exporter_writes_is_a_stray(tmp_path):
    """What several saves share, golden calls, factories and state dicts with extras."""
    import numpy as np

    from kellet import nn

    file, layer, name = tmp_path / "net.kellet", nn.Linear(64, 64), "kellet.nn.layers.linear:Linear"
    exporter = PackageExporter(file, policy="auto", fsync=False, prove=False)
    exporter.save_object("model", "model", layer)
    exporter.save_object(
        "model", "made", layer, factory=nn.Linear, config={"in_features": 64, "out_features": 64}
    )
    exporter.save_state_dict("model", "state", {**layer.state_dict(), "step": 3})
    exporter.save_pickle("model", "real.pkl", [1, 2])
    exporter.save_example("model", {"arg0": np.ones((1, 64), "float32")})
    with pytest.warns(PackagingWarning, match=name):
        exporter.close()
    assert problems(file, trust=(name,)) == []
