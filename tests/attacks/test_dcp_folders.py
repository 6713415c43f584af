"""Hostile folders of torch.distributed.checkpoint: nothing runs, errors are ours, work is bounded by bytes.

`.metadata` is a pickle that PyTorch runs. Each check has a forged folder here beside the honest one, and two
hundred folders are changed at random.
"""

from __future__ import annotations

import os
import pickle
import random
import sys
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from packager import open_checkpoint
from packager._weights.dcp_metadata import _Reading, read_metadata
from packager._weights.legacy_bounds import DCP_BYTES_PER_PART
from packager._weights.legacy_tensors import LegacyFile
from packager.errors import CheckpointPickleError, LegacyFormatError, PackageError
from tests.attacks import dcp_forger as forge
from tests.attacks.conftest import Watch
from tests.attacks.dcp_forger import Call, Folder, Raw, Record

sys.path.insert(0, str(Path(__file__).parent))
try:
    import fuzz_checkpoints as fuzz
    from fuzz_archives import edited
finally:
    sys.path.pop(0)

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures" / "dcp"
MIB = 1 << 20


def read_all(folder: Path, **options: Any) -> dict[str, Any]:
    with open_checkpoint(folder, everything=True, **options) as checkpoint:
        return {key: value.raw().tolist() for key, value in checkpoint.items()}


@pytest.fixture(scope="module")
def watch() -> Watch:
    return Watch()


def test_the_honest_folder_is_read(tmp_path: Path) -> None:
    folder = Folder.honest().write(tmp_path / "x")
    found = {
        "net.w": [[6.0 * row + column for column in range(6)] for row in range(4)],
        "net.b": [7.0, 8.0, 9.0],
    }
    assert read_all(folder) == found
    assert open_checkpoint(folder).root["groups"] == [{"lr": 0.5}]


def test_a_place_of_a_list_that_no_value_has_is_none(tmp_path: Path) -> None:
    """PyTorch saves nothing of the empty dict in `[{}, {"lr": 0.5}]`, and cannot load the rest."""
    folder = Folder.honest()
    folder.paths["lr"] = ("groups", 1, "lr")
    assert open_checkpoint(folder.write(tmp_path / "x")).root["groups"] == [None, {"lr": 0.5}]


# --- what metadata say ---


def state(record: Record) -> dict[str, Any]:
    assert type(record.state) is dict
    return record.state


def chunk(folder: Folder, number: int = 0) -> dict[str, Any]:
    return state(state(folder.values["net.w"])["chunks"][number])


def at(folder: Folder, **facts: Any) -> None:
    state(folder.places["net.w", (0, 0)]).update(facts)


def with_properties(folder: Folder, value: Any) -> None:
    state(folder.values["net.w"])["properties"] = value


def shared_list(depth: int = 40) -> Raw:
    """A list that is endless when it is written out: each level holds the one below it twice."""
    return Raw(b"]" + b"q\x010]h\x01ah\x01a" * depth)


FORGED: dict[str, tuple[Callable[[Folder], Any], str]] = {
    # chunks
    "beyond the tensor": (
        lambda f: chunk(f).update(offsets=forge.size(3, 0)),
        r"'net\.w': a chunk at \[3, 0\] of \[2, 3\] reaches out of \[4, 6\]",
    ),
    "of another rank": (
        lambda f: chunk(f).update(sizes=forge.size(6)),
        r"a chunk at \[0, 0\] of \[6\] reaches",
    ),
    "negative": (lambda f: chunk(f).update(offsets=forge.size(-1, 0)), r"of the shape \[-1, 0\]"),
    "huge": (
        lambda f: chunk(f).update(sizes=forge.size(1 << 62, 3)),
        r"of the shape \[4611686018427387904, 3\]",
    ),
    "absent": (lambda f: state(f.values["net.w"])["chunks"].pop(), r"chunks of 18 elements; .* has 24"),
    "twice": (
        lambda f: chunk(f, 1).update(offsets=forge.size(0, 0)),
        r"'net\.w': 2 chunks overlap, the first at \[0, 0\]",
    ),
    "overlapping": (
        lambda f: f.values.update(
            {"net.w": forge.tensor((4, 6), [((0, 0), (3, 4)), ((2, 2), (2, 4)), ((0, 4), (2, 2))])}
        ),
        r"3 chunks overlap",
    ),
    "without a list": (lambda f: state(f.values["net.w"]).update(chunks={}), "found no list of chunks"),
    "of another class": (
        lambda f: state(f.values["net.w"]).update(chunks=[forge.place("x", 0, 1)]),
        "found StorageInfo; expected a ChunkStorageMetadata with offsets, sizes",
    ),
    # tensors
    "a size that is a dict": (lambda f: state(f.values["net.w"]).update(size={}), "a tensor without a shape"),
    "a size of lists": (
        lambda f: state(f.values["net.w"]).update(size=(shared_list(), 6)),
        r"a tensor of the shape \['list', 6\]",
    ),
    "a huge tensor": (
        lambda f: f.values.update({"net.b": forge.tensor((1 << 40,), [((0,), (1 << 40,))])}),
        r"'net\.b' at byte \d+: \d+ bytes; expected 4398046511104 or more",
    ),
    "too many axes": (
        lambda f: f.values.update({"net.b": forge.tensor((1,) * 65, [])}),
        "a tensor without a shape",
    ),
    "no properties": (
        lambda f: with_properties(f, None),
        "found the dtype NoneType; expected one of numbers",
    ),
    "empty properties": (
        lambda f: with_properties(f, Record("TensorProperties")),
        "found the dtype NoneType",
    ),
    "properties of a dict": (
        lambda f: with_properties(f, Record("TensorProperties", {})),
        "found the dtype NoneType",
    ),
    "a dtype that is a class": (
        lambda f: with_properties(f, Record("TensorProperties", (Raw(b"ctorch\nTensor\n"),))),
        "found the dtype 'torch Tensor'",
    ),
    "a dtype that is a list": (
        lambda f: with_properties(f, Record("TensorProperties", (shared_list(),))),
        "found the dtype list",
    ),
    "a value of no class": (
        lambda f: f.values.update({"net.w": 3}),
        "found int; expected a TensorStorageMetadata with",
    ),
    "a record without a state": (
        lambda f: f.values.update({"net.w": Record("TensorStorageMetadata")}),
        "found another; expected a TensorStorageMetadata with properties, size, chunks",
    ),
    # places
    "behind the file": (
        lambda f: at(f, offset=10_000_000),
        r"__0_0\.distcp, 'net\.w' at byte 10000000: it ends at \d+, the file at \d+; copy the folder again",
    ),
    "a huge offset": (lambda f: at(f, offset=1 << 70), "bytes at 1180591620717411303424 of '__0_0.distcp'"),
    "a negative offset": (lambda f: at(f, offset=-1), "bytes at -1 of '__0_0.distcp'; expected some inside"),
    "a negative length": (lambda f: at(f, length=-5), "-5 bytes at 0 of"),
    "no length": (lambda f: at(f, length=0), "0 bytes at 0 of"),
    "an offset that is true": (lambda f: at(f, offset=False), "bytes at bool of"),
    "an offset of lists": (lambda f: at(f, offset=shared_list()), "bytes at list of"),
    "into the next piece": (
        lambda f: at(f, length=state(f.places["net.w", (0, 0)])["length"] + 1),
        r"'net\.w' at byte \d+: \d+ bytes; expected 24 or more, from byte \d+ on",
    ),
    "the same piece twice": (
        lambda f: state(f.places["net.w", (2, 0)]).update(offset=0),
        "expected 24 or more, from byte",
    ),
    "too short for its chunk": (lambda f: at(f, length=23), "23 bytes; expected 24 or more, from byte 0 on"),
    "short": (
        lambda f: at(f, length=100),
        r"__0_0\.distcp, 'net\.w' at byte 0: byte 78: found no end record",
    ),
    "missing": (lambda f: f.places.pop(("net.w", (0, 3))), r"'net\.w': no place for the chunk at \[0, 3\]"),
    "missing value": (lambda f: f.places.pop(("lr", None)), r"'lr': no place; copy"),
    "of another file": (
        lambda f: at(f, relative_path="__9_0.distcp"),
        r"__9_0\.distcp: there is no such file",
    ),
    "of the metadata": (lambda f: at(f, relative_path=".metadata"), r"\.metadata, 'net\.w' at byte 0: "),
    "with a transform": (
        lambda f: at(f, transform_descriptors=["zstd"]),
        r"'net\.w': its bytes are compressed or encrypted by an extension \(transform_descriptors\); load",
    ),
    "no key": (
        lambda f: f.places.update({(None, None): forge.place("__0_0.distcp", 0, 1)}),
        "a place of something that has no key",
    ),
    # paths in the folder
    **{
        f"the path {path!r}": (
            lambda f, path=path: at(f, relative_path=path),
            "is not the name of a file in the folder",
        )
        for path in (
            "../__0_0.distcp",
            "/etc/passwd",
            "..",
            "",
            "sub/x.distcp",
            "a\\b",
            "a\0b",
            ".",
            "./__0_0.distcp",
            3,
            None,
        )
    },
    "a long name": (
        lambda f: at(f, relative_path="a" * 256),
        "is not the name of a file in the folder",
    ),
    # paths in the state dict
    "planner data of a list": (
        lambda f: setattr(f, "paths", [1]),
        "planner_data of type list; expected a dict",
    ),
    "a path of nothing": (lambda f: f.paths.update({"lr": ()}), "'lr': a path that is not made of names"),
    "a path of lists": (
        lambda f: f.paths.update({"lr": (shared_list(),)}),
        "a path that is not made of names",
    ),
    "a path to a number": (lambda f: f.paths.update({"lr": (0, "lr")}), "a path that is not made of names"),
    "a negative place": (lambda f: f.paths.update({"lr": ("a", -1)}), "a path that is not made of names"),
    "a place beyond all": (
        lambda f: f.paths.update({"lr": ("a", 1 << 40)}),
        "a path that is not made of names",
    ),
    "a long list": (lambda f: f.paths.update({"lr": ("a", 100_000)}), "a list of 100001 for 1 values"),
    "a long path": (lambda f: f.paths.update({"lr": ("a",) * 65}), "a path that is not made of names"),
    "deep paths": (
        lambda f: f.paths.update({key: (key,) + ("a",) * 63 for key in f.paths}),
        "'net.b' lies in another value, or too deep",
    ),
    "inside a tensor": (
        lambda f: f.paths.update({"lr": ("net", "w", "x")}),
        "'lr' lies in another value, or too",
    ),
    "two at one place": (lambda f: f.paths.update({"net.b": ("net", "w")}), r"two values lie at 'net\.b'"),
    "a list and a dict": (
        lambda f: f.paths.update({"lr": ("net", 0)}),
        "names and places in one list or dict",
    ),
    "a dict and a list": (
        lambda f: f.paths.update({"net.w": ("net", 0), "net.b": ("net", "b")}),
        "names and places in one list or dict",
    ),
    # pieces
    "a truncated file": (
        lambda f: f.files.update({"__1_0.distcp": f.files["__1_0.distcp"][:-1]}),
        r"__1_0\.distcp, 'lr' at byte \d+: it ends at \d+, the file at \d+",
    ),
    "an empty file": (lambda f: f.files.update({"__1_0.distcp": b""}), "it ends at"),
    "in the form of safetensors": (
        lambda f: f.files.update({"__0_0.distcp": (2).to_bytes(8, "little") + b"{}" + bytes(9000)}),
        r"__0_0\.distcp: DCP in its safetensors form, .*SerializationFormat\.TORCH_SAVE",
    ),
}


@pytest.mark.parametrize("case", FORGED)
def test_a_forged_folder_is_refused(case: str, tmp_path: Path, watch: Watch) -> None:
    change, message = FORGED[case]
    folder = Folder.honest()
    change(folder)
    path = folder.write(tmp_path / "x")
    for options in ({}, {"skip_unknown": True}):
        with pytest.raises(LegacyFormatError, match=message):
            read_all(path, **options)
    with watch, suppress(LegacyFormatError):
        read_all(path)
    assert watch.seen == []


def test_a_piece_is_what_the_metadata_say(tmp_path: Path) -> None:
    for data, message in (
        (
            forge.piece((3, 2), range(6)),
            r"found a tensor of float32 \[3, 2\]; \.metadata says a tensor of float32 \[2, 3\]",
        ),
        (forge.saved([1, 2, 3] * 100), "found an object of type list"),
        (forge.saved(Call("os system", ("true",))), "which is not plain data"),
    ):
        folder = Folder.honest()
        folder.add("__0_0.distcp", "net.w", (0, 0), data)
        with pytest.raises(LegacyFormatError, match=rf"__0_0\.distcp, 'net\.w' at byte \d+.*{message}"):
            read_all(folder.write(tmp_path / "x"))


def test_a_value_that_is_no_data_is_refused_or_left_out(tmp_path: Path) -> None:
    folder = Folder.honest()
    folder.add("__1_0.distcp", "lr", None, forge.saved(Record("mymodel.net Config", {"lr": 0.1})))
    path = folder.write(tmp_path / "x")
    message = (
        r"__1_0\.distcp, 'lr' at byte \d+: archive/data\.pkl, .*'mymodel\.net\.Config', which is not plain"
    )
    with pytest.raises(CheckpointPickleError, match=message):
        open_checkpoint(path)
    left_out = open_checkpoint(path, skip_unknown=True).left_out
    assert "groups" in [part.path for part in left_out]


def test_a_tensor_of_an_unknown_dtype_is_refused_or_left_out(tmp_path: Path) -> None:
    folder = Folder.honest()
    with_properties(folder, Record("TensorProperties", (Raw(b"ctorch\nfloat4_e2m1fn_x2\n"),)))
    path = folder.write(tmp_path / "x")
    with pytest.raises(
        CheckpointPickleError, match=r"names 'torch\.float4_e2m1fn_x2', which is not plain data"
    ):
        open_checkpoint(path)
    with open_checkpoint(path, skip_unknown=True) as checkpoint:
        assert list(checkpoint) == ["b"]
        assert ("net.w", "object of torch.float4_e2m1fn_x2") in [
            (part.path, part.what) for part in checkpoint.left_out
        ]


# --- names and operations of the pickle ---

RAN: list[str] = []


def run_me(*arguments: object) -> None:
    RAN.append("ran")


NAMES = {
    "os.system": Call("os system", ("echo ran > ran",)),
    "eval": Call("builtins eval", ("run_me()",)),
    "getattr": Call("builtins getattr", (1, "real")),
    "ours": Call(f"{__name__} run_me"),
    "open": Call("builtins open", ("ran", "w")),
    "torch.load": Call("torch load", ("ran",)),
    "a module of DCP": Call("torch.distributed.checkpoint.filesystem FileSystem"),
    "a planner": Record("torch.distributed.checkpoint.default_planner DefaultLoadPlanner", {}),
    "a tensor's maker": Call("torch._utils _rebuild_tensor_v2", (1, 0, (1,), (1,), False, {})),
    "numpy": Call("numpy.core.multiarray _reconstruct", (Raw(b"cnumpy\nndarray\n"), (0,), "b")),
    "copyreg": Call("copyreg _reconstructor", (1, 2, 3)),
    "BUILD of a name": Raw(b"cos\nenviron\n}X\x01\0\0\0aX\x01\0\0\0bsb"),
}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "where", ["storage_meta", "planner_data", "state_dict_metadata", "outermost", "a key"]
)
def test_no_other_name_is_ever_called(name: str, where: str, tmp_path: Path, watch: Watch) -> None:
    folder = Folder.honest()
    path = folder.write(tmp_path / "x")
    root = forge.metadata_of(
        folder.values, {forge.index(*key): info for key, info in folder.places.items()}, folder.paths
    )
    if where == "a key":
        state(root)["storage_data"] = {NAMES[name]: 1}
    else:
        state(root)[where] = NAMES[name]
    (path / ".metadata").write_bytes(forge.pickled(NAMES[name] if where == "outermost" else root))
    with pytest.raises(
        CheckpointPickleError, match=r"^\.metadata, offset \d+: .*not plain data|^\.metadata, offset"
    ):
        open_checkpoint(path)
    for _ in range(2):  # what is imported late is there the second time
        with watch, suppress(PackageError):
            open_checkpoint(path, skip_unknown=True)
    assert watch.seen == []
    assert not RAN
    assert sorted(file.name for file in path.iterdir()) == [".metadata", "__0_0.distcp", "__1_0.distcp"]


def test_a_name_that_nothing_depends_on_can_be_left_out(tmp_path: Path) -> None:
    folder = Folder.honest()
    path = folder.write(tmp_path / "x")
    places = {forge.index(*key): info for key, info in folder.places.items()}
    root = forge.metadata_of(folder.values, places, folder.paths)
    state(root)["storage_meta"] = Record(
        "StorageMeta", {"checkpoint_id": Call("mycloud.paths Path", ("s3",))}
    )
    (path / ".metadata").write_bytes(forge.pickled(root))
    with pytest.raises(
        CheckpointPickleError, match=r"'mycloud\.paths\.Path', which is not plain data(?s:.)*skip_unknown"
    ):
        open_checkpoint(path)
    assert read_all(path, skip_unknown=True)["net.b"] == [7.0, 8.0, 9.0]


def test_metadata_of_pytorch_before_2_3_have_other_names(tmp_path: Path) -> None:
    path = Folder.honest().write(tmp_path / "x")
    data = (path / ".metadata").read_bytes()
    for name, before in (
        ("TensorProperties", "TensorProperties"),
        ("_MEM_FORMAT_ENCODING", "MEM_FORMAT_ENCODING"),
    ):
        now = forge.named(f"{forge.MODULE}.metadata {name}")
        assert now in data
        data = data.replace(now, forge.named(f"torch.distributed._shard.sharded_tensor.metadata {before}"))
    (path / ".metadata").write_bytes(data)
    assert read_all(path)["net.b"] == [7.0, 8.0, 9.0]


def record(rest: bytes, name: str = "ChunkStorageMetadata") -> bytes:
    return forge.named(forge.CLASSES[name]) + rest


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (record(b")R"), "found ChunkStorageMetadata; expected a Metadata"),
        (record(b"(K\1t\x81"), "opcode NEWOBJ is not among"),
        (record(b"]\x81"), "opcode NEWOBJ is not among"),
        (record(b")}\x92"), "opcode NEWOBJ_EX is not among"),
        (record(b"}b"), "BUILD on Named"),
        (record(b")\x81K\1a"), "APPEND on _ChunkStorageMetadata"),
        (record(b")\x81K\1K\2s"), "SETITEM on _ChunkStorageMetadata"),
        (record(b")\x81)R"), "a call of something that is no name"),
        (record(b")\x81(K\1K\2tb"), "found ChunkStorageMetadata; expected a Metadata"),
        (
            record(b")\x81", "Metadata"),
            "found another; expected a Metadata with state_dict_metadata, storage_data",
        ),
        (b"ctorch\nSize\n)\x81", "opcode NEWOBJ is not among"),
        (b"}(]K\1u", "a key of type list"),
        (b"K\1Q", "a persistent id, in a pickle that has none"),
        (b"(" * 100_000, "more or less than one object"),
        (b"", "more or less than one object"),
        (b"}" + b"q\1h\1h\1s" * 10, "a key of type dict"),
    ],
)
def test_operations_that_no_metadata_have(data: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / ".metadata").write_bytes(b"\x80\x02" + data + b".")
    with pytest.raises(LegacyFormatError, match=message):
        open_checkpoint(tmp_path)


def test_a_record_may_hold_itself(tmp_path: Path) -> None:
    for place in ("state_dict_metadata", "storage_data", "planner_data"):
        own = forge.spelled(f"{place}")
        (tmp_path / ".metadata").write_bytes(
            b"\x80\x02" + record(b")\x81q\1}(" + own + b"h\1ub.", "Metadata")
        )
        with pytest.raises(LegacyFormatError, match=r"^\.metadata"):
            open_checkpoint(tmp_path)


# --- files ---


@pytest.mark.parametrize("name", [".metadata", "__0_0.distcp"])
@pytest.mark.parametrize("kind", ["loop", "folder", "pipe", "dangling"])
def test_what_is_no_file_is_not_read(name: str, kind: str, tmp_path: Path) -> None:
    path = Folder.honest().write(tmp_path / "x") / name
    path.unlink()
    if kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to(name if kind == "loop" else "nowhere")
    with pytest.raises((LegacyFormatError, FileNotFoundError), match=name.replace(".", r"\.")):
        open_checkpoint(path.parent)


# --- work ---


def spent(action: Callable[[], object]) -> int:
    tracemalloc.start()
    try:
        with suppress(PackageError):
            action()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def shared(kind: str) -> bytes:
    """Metadata of many keys over parts that they share, so that each takes a few bytes."""
    chunk = forge.Record("ChunkStorageMetadata", {"offsets": forge.size(0), "sizes": forge.size(0)})
    record = forge.tensor((0,), [])
    if kind == "chunks":
        state(record)["chunks"] = Raw(b"](" + forge.spelled(chunk) + b"q\2" + b"h\2" * 20_000 + b"e")
    keys = [f"{number:x}" for number in range(200 if kind == "chunks" else 20_000)]
    values = b"}(X\1\0\0\0w" + forge.spelled(record) + b"q\1"
    values += b"".join(forge.spelled(key) + b"h\1" for key in keys) + b"u"
    root = forge.metadata_of({}, {})
    state(root)["state_dict_metadata"] = Raw(values)
    if kind == "paths":
        path = forge.spelled(tuple("a" for _ in range(20_000)))
        state(root)["planner_data"] = Raw(
            b"}(X\1\0\0\0w" + path + b"q\3" + b"".join(forge.spelled(key) + b"h\3" for key in keys) + b"u"
        )
    return forge.pickled(root)


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("keys", r"20001 keys and chunks; a file of its size can describe \d+"),
        ("chunks", r"20202 keys and chunks; a file of its size can describe \d+"),
        ("paths", "'w': a path that is not made of names"),
    ],
)
def test_parts_that_many_share_are_counted(kind: str, message: str, tmp_path: Path) -> None:
    """Each of many keys may have all of 20,000 chunks, or names, for two bytes."""
    (tmp_path / ".metadata").write_bytes(shared(kind))
    with pytest.raises(LegacyFormatError, match=message):
        open_checkpoint(tmp_path)


@pytest.mark.parametrize("name", ["one", "two"])
def test_metadata_of_pytorch_have_far_more_bytes_than_is_asked_for(name: str) -> None:
    with LegacyFile(FIXTURES / name / ".metadata") as file:
        values = read_metadata(file, opaque=False).values
        parts = len(values) + sum(len(value.chunks) for value in values.values() if hasattr(value, "chunks"))
        assert file.size > 4 * DCP_BYTES_PER_PART * parts


def test_keys_and_chunks_are_counted_by_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The honest folder has three keys and five chunks."""
    path = Folder.honest().write(tmp_path / "x")
    size = (path / ".metadata").stat().st_size
    monkeypatch.setattr("packager._weights.dcp_metadata.DCP_BYTES_PER_PART", size // 8)
    assert len(read_all(path)) == 2
    monkeypatch.setattr("packager._weights.dcp_metadata.DCP_BYTES_PER_PART", size // 7)
    with pytest.raises(
        LegacyFormatError, match=r"'net\.b': 8 keys and chunks; a file of its size can describe 7"
    ):
        open_checkpoint(path)


def test_the_memory_for_metadata_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = Folder.honest().write(tmp_path / "x")
    assert len(read_all(path)) == 2
    monkeypatch.setattr("packager._weights.dcp_metadata.MAX_DCP_MEMORY", 1000)
    with pytest.raises(CheckpointPickleError, match=r"^\.metadata, offset \d+: .*, at most 1000$"):
        open_checkpoint(path)


def test_empty_places_are_counted_by_values(tmp_path: Path) -> None:
    """Three values may have 3 * 16 + 64 lists, dicts and empty places; three are dicts and lists."""
    folder = Folder.honest()
    folder.paths["lr"] = ("groups", 109, "lr")
    assert len(open_checkpoint(folder.write(tmp_path / "x")).root["groups"]) == 110
    folder.paths["lr"] = ("groups", 110, "lr")
    with pytest.raises(LegacyFormatError, match="a list of 111 for 1 values"):
        open_checkpoint(folder.write(tmp_path / "x"))


BOMBS: dict[str, Callable[[Folder], Any]] = {
    "lists": lambda f: f.paths.update({"lr": ("a", 200_000), "net.b": ("b", 200_000)}),
    "one size again and again": lambda f: setattr(
        f,
        "paths",
        Raw(
            b"]("
            + forge.spelled(tuple(range(64)))
            + b"q\1"
            + b"0ctorch\nSize\nq\2h\1\x85R"
            + b"0h\2h\1\x85R" * 20_000
            + b"e"
        ),
    ),
    "tuples of tuples": lambda f: setattr(f, "paths", Raw(b")" + b"q\1h\1h\1h\1t".join([b"("] * 30))),
    "shared lists": lambda f: setattr(f, "paths", shared_list(5000)),
}


@pytest.mark.parametrize("bomb", BOMBS)
def test_memory_is_bounded_by_the_bytes(bomb: str, tmp_path: Path) -> None:
    folder = Folder.honest()
    BOMBS[bomb](folder)
    path = folder.write(tmp_path / "x")
    size = (path / ".metadata").stat().st_size
    assert spent(lambda: read_all(path)) < 64 * MIB + 128 * size


def test_chunks_are_compared_in_few_steps() -> None:
    """Rows, columns and grids are parted at once; what has more levels than a mesh has axes is refused."""
    reading = _Reading(".metadata", 0)
    rows = [((row, 0), (1, 20_000)) for row in range(20_000)]
    columns = [((0, column), (20_000, 1)) for column in range(20_000)]
    grid = [((row, column), (1, 1)) for row in range(200) for column in range(200)]
    for boxes, side in ((rows, 20_000), (columns, 20_000), (grid, 200)):
        random.Random(1).shuffle(boxes)
        reading._require_filled("w", (side, side), boxes)
    whole = [((0, 0), (20_000, 1))] * 20_000
    with pytest.raises(LegacyFormatError, match="20000 chunks overlap"):
        reading._require_filled("w", (20_000, 20_000), whole)


def stair(levels: int) -> tuple[tuple[int, int], list[Any]]:
    """A square from which rows and columns are cut off in turn, one level in the other."""
    boxes: list[Any] = []
    row = column = 0
    side = levels + 1
    for level in range(levels):
        if level % 2:
            boxes.append(((row, column), (side - row, 1)))
            column += 1
        else:
            boxes.append(((row, column), (1, side - column)))
            row += 1
    boxes.append(((row, column), (side - row, side - column)))
    return (side, side), boxes


def test_levels_of_cuts_are_counted() -> None:
    reading = _Reading(".metadata", 0)
    for levels in (1, 2, 3, 8, 64):
        reading._require_filled("w", *stair(levels))
    with pytest.raises(LegacyFormatError, match="2 chunks overlap"):
        reading._require_filled("w", *stair(65))


# --- changed at random ---


def changed_folders(target: Path, count: int) -> Iterator[Path]:
    """Folders of PyTorch with the metadata changed as bytes or as operations, or the bytes of a file."""
    chooser = random.Random(41)
    for number in range(count):
        source = FIXTURES / chooser.choice(("one", "two"))
        files = {path.name: path.read_bytes() for path in source.iterdir()}
        name = ".metadata" if number % 4 else chooser.choice([*files])
        change = chooser.choice((edited, fuzz.with_other_operations))
        files[name] = change(files[name], chooser.randbytes(6 * chooser.choice((1, 1, 2, 3))))
        folder = target / str(number)
        folder.mkdir()
        for file, data in files.items():
            (folder / file).write_bytes(data)
        yield folder


def refusal(folder: Path, **options: Any) -> PackageError | None:
    try:
        read_all(folder, **options)
    except PackageError as error:
        return error
    return None


def test_two_hundred_changed_folders_run_nothing_and_raise_our_errors(tmp_path: Path, watch: Watch) -> None:
    folders = list(changed_folders(tmp_path, 200))
    options = ({}, {"skip_unknown": True})
    first = [str(refusal(folder, **option)) for folder in folders for option in options]
    with watch:
        again = [refusal(folder, **option) for folder in folders for option in options]
    assert watch.seen == []
    assert [*map(str, again)] == first
    assert 200 < sum(error is not None for error in again) < 400
    assert [str(pickle.loads(pickle.dumps(error))) for error in again] == first
