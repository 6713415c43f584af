"""Several ranks make one archive: its bytes are those of one process; what does not fit is an error on all.

The ranks are threads here; `tests/mpi` does the same among processes, and kills them.
"""

from __future__ import annotations

import io
import threading
import warnings
from collections import OrderedDict
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import kellet
from kellet.distributed import ProcessGroup
from packager import PackageExporter, PackageImporter, PackagingError, PackagingWarning, Shard
from packager._archive import ArchiveReader
from packager._archive import shared_tensors as shared_tensors_module
from packager._exporting import RefusedPlanError
from packager._proving import ExportProof, ProofError
from packager._ranks import OtherRankError, RanksDisagreeError
from packager.errors import ArchiveError, ArgumentError
from tests.distributed.ranks import on_ranks, outcomes_on_ranks

Parts = Callable[[int, int], Mapping[str, Any]]


def alone(path: Path, *states: Mapping[str, Any], **options: Any) -> bytes:
    """What one process without a group writes."""
    with PackageExporter(path, prove=False, **options) as exporter:
        for number, state in enumerate(states):
            exporter.save_state_dict("model", f"state{number}", state)
    return path.read_bytes()


def together(path: Path, size: int, *parts: Parts, **options: Any) -> bytes:
    """What some ranks write, each its part."""

    def work(group: ProcessGroup) -> str | None:
        with PackageExporter(path, group=group, prove=False, **options) as exporter:
            for number, part in enumerate(parts):
                exporter.save_state_dict("model", f"state{number}", part(group.rank(), size))
        return exporter.identity

    identities = on_ranks(size, work)
    with ArchiveReader(path) as reader:
        assert identities == [reader.identity] * size
    return path.read_bytes()


def refused(path: Path, size: int, part: Parts, **options: Any) -> list[str]:
    """The lines of the error that all ranks raise alike; an old archive stays."""
    path.write_bytes(b"the old archive")

    def work(group: ProcessGroup) -> None:
        with PackageExporter(path, group=group, prove=False) as exporter:
            exporter.save_state_dict("model", "state", part(group.rank(), size), **options)

    errors = outcomes_on_ranks(size, work)
    assert [type(error) for error in errors] == [RanksDisagreeError] * size, errors
    assert len({str(error) for error in errors}) == 1
    assert path.read_bytes() == b"the old archive"
    assert [one.name for one in path.parent.iterdir()] == [path.name]
    return list(errors[0].problems)


def draw(*shape: int, dtype: Any = "float32") -> Any:
    return np.random.default_rng(shape).standard_normal(shape).astype(dtype)


# --- the bytes are those of one process ---


@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_archive_has_the_bytes_that_one_process_writes(tmp_path: Path, size: int) -> None:
    wide, long, half = draw(7, 1000), draw(300_001, 2), draw(6, 5, dtype=ml_dtypes.bfloat16)
    odd = np.arange(12).astype("datetime64[s]").reshape(4, 3)
    whole = {
        "long": long,
        "rank 0": draw(3),
        "wide": wide,
        "half": half,
        "note": "a text",
        "odd": odd,
        "scalar": np.full((), 1.5, "float32"),
        "none": draw(0, 3),
        "all": draw(4, dtype="float64"),
        "small": draw(2, 3),
        "numbers": {"epoch": 3},
    }

    def part(rank: int, size: int) -> dict[str, Any]:
        axes = {"long": 0, "wide": 1, "half": -1, "odd": 0, "none": 1, "small": 0}
        found = {
            key: Shard.cut(value, rank, size, axes[key]) if key in axes else value
            for key, value in whole.items()
        }
        found["scalar"] = Shard(whole["scalar"], (), ())
        if rank:
            del found["rank 0"], found["note"]
        return found

    for digests in ("sha256", "crc"):
        expected = alone(tmp_path / "one.kellet", whole, digests=digests)
        assert together(tmp_path / "some.kellet", size, part, digests=digests) == expected
    with PackageImporter(tmp_path / "some.kellet", digests="crc") as importer:
        state = importer.load_state_dict("model", "state0")
        assert list(state) == list(whole)
        for key, value in whole.items():
            assert np.array_equal(state[key], value), key


def test_ties_are_kept(tmp_path: Path) -> None:
    weight, table = draw(6, 4), draw(40, 3)
    whole = {"a": weight, "b": weight, "row": table[1], "table": table, "turned": table.T, "c": weight}

    def part(rank: int, size: int) -> dict[str, Any]:
        mine = Shard.cut(weight, rank, size)
        same = Shard(mine.tensor[:], mine.shape, mine.offsets)
        return whole | {"a": mine, "b": same, "c": mine}

    assert together(tmp_path / "b.kellet", 2, part) == alone(tmp_path / "a.kellet", whole)


def test_what_one_rank_alone_has_is_stored_behind_that_of_the_ranks_before(tmp_path: Path) -> None:
    whole = {f"layer{number}.w": draw(number + 1, 3) for number in range(6)}
    keys = list(whole)

    def stages(rank: int, size: int) -> dict[str, Any]:
        return {key: whole[key] for key in keys[2 * rank : 2 * rank + 2]}

    assert together(tmp_path / "b.kellet", 3, stages) == alone(tmp_path / "a.kellet", whole)


def test_keys_say_the_order(tmp_path: Path) -> None:
    whole = {f"k{number}": draw(number + 1) for number in range(5)}

    def work(group: ProcessGroup) -> None:
        mine = {key: value for key, value in whole.items() if int(key[1:]) % 2 == group.rank()}
        with PackageExporter(tmp_path / "b.kellet", group=group, prove=False) as exporter:
            exporter.save_state_dict("model", "state0", mine, keys=list(whole))

    on_ranks(2, work)
    assert (tmp_path / "b.kellet").read_bytes() == alone(tmp_path / "a.kellet", whole)


def test_several_saves_share_what_is_the_same(tmp_path: Path) -> None:
    first = {"w": draw(90, 40), "v": draw(40, 90), "same": draw(90, 40)}
    second = {"x": first["v"], "w": first["w"] + 1, "again": first["w"].copy(), "too": first["w"].copy()}

    def cut(whole: Mapping[str, Any]) -> Parts:
        return lambda rank, size: {
            key: Shard.cut(value, rank, size, axis=number % 2)
            for number, (key, value) in enumerate(whole.items())
        }

    expected = alone(tmp_path / "a.kellet", first, second, first)
    assert together(tmp_path / "b.kellet", 3, cut(first), cut(second), cut(first)) == expected
    assert len(expected) < 5 * 90 * 40 * 4


def test_tensors_of_kellet_with_versions_of_modules(tmp_path: Path) -> None:
    net = kellet.nn.Sequential(kellet.nn.Linear(4, 3), kellet.nn.BatchNorm1d(3))
    whole = net.state_dict()

    def part(rank: int, size: int) -> Mapping[str, Any]:
        cut = OrderedDict(
            (key, Shard.cut(value, rank, size) if value.ndim else value) for key, value in whole.items()
        )
        cut._metadata = whole._metadata  # type: ignore[attr-defined]  # as modules keep it
        return cut

    assert together(tmp_path / "b.kellet", 2, part) == alone(tmp_path / "a.kellet", whole)
    with PackageImporter(tmp_path / "b.kellet") as importer:
        other = kellet.nn.Sequential(kellet.nn.Linear(4, 3), kellet.nn.BatchNorm1d(3))
        other.load_state_dict(importer.load_state_dict("model", "state0"))
    assert kellet.equal(other[0].weight, net[0].weight)


def test_a_whole_module_is_what_all_ranks_have(tmp_path: Path) -> None:
    net = kellet.nn.Linear(5, 2)
    one, other = tmp_path / "a.kellet", tmp_path / "b.kellet"
    assert together(other, 2, lambda rank, size: net) == alone(one, net)  # type: ignore[arg-type, return-value]  # a module has a state dict


def test_objects_text_and_modules_go_along(tmp_path: Path, project: Any) -> None:
    project({"several_net.py": "SIZES = (3, 4)\n"})

    def fill(exporter: PackageExporter, state: Mapping[str, Any]) -> None:
        exporter.intern("several_net")
        exporter.save_module("several_net")
        exporter.save_object("model", "model", {"w": draw(9, 9), "layers": [1, 2]})
        exporter.save_state_dict("model", "state", state)
        exporter.save_text("model", "words.txt", "one two")

    def work(group: ProcessGroup) -> tuple[str | None, list[str]]:
        with PackageExporter(tmp_path / "b.kellet", group=group, prove=False) as exporter:
            fill(exporter, {"w": Shard.cut(draw(5, 5), group.rank(), 2)})
            interned = exporter.interned_modules()
        return exporter.identity, interned

    (first, modules), (second, others) = on_ranks(2, work)
    with PackageExporter(tmp_path / "a.kellet", prove=False) as exporter:
        fill(exporter, {"w": draw(5, 5)})
    assert (tmp_path / "b.kellet").read_bytes() == (tmp_path / "a.kellet").read_bytes()
    assert first == second == exporter.identity
    assert modules == others == ["several_net"]


def test_a_group_of_one_writes_to_a_file_object() -> None:
    file = io.BytesIO()

    def work(group: ProcessGroup) -> None:
        with PackageExporter(file, group=group, prove=False) as exporter:
            exporter.save_state_dict("model", "state", {"w": Shard(np.ones((2, 2)), (2, 2), (0, 0))})

    on_ranks(1, work)
    with PackageImporter(file) as importer:
        assert importer.load_state_dict("model", "state")["w"].shape == (2, 2)


@st.composite
def _cuts(draw: Callable[..., Any]) -> tuple[int, dict[str, Any], list[dict[str, Any]]]:
    """A number of ranks, a state dict, and what each rank has of it: whole, or boxes of a grid of cuts."""
    size = draw(st.integers(1, 4))
    whole: dict[str, Any] = {}
    parts: list[dict[str, Any]] = [{} for _ in range(size)]
    for number in range(draw(st.integers(1, 4))):
        shape = tuple(draw(st.lists(st.integers(0, 5), max_size=3)))
        dtype = draw(st.sampled_from(["float32", "int8", "bool", "complex128", "float16", "uint64"]))
        count = int(np.prod(shape, dtype=int))
        key, array = f"t{number}", np.arange(1, count + 1).reshape(shape).astype(dtype)
        if draw(st.booleans()):
            array = np.asfortranarray(array)
        whole[key] = array
        if not shape or not draw(st.booleans()):
            for rank in draw(st.sets(st.integers(0, size - 1), min_size=1)):
                parts[rank][key] = array
            continue
        axis = draw(st.integers(0, len(shape) - 1))
        ends = sorted(draw(st.lists(st.integers(0, shape[axis]), min_size=size - 1, max_size=size - 1)))
        for rank, (start, stop) in enumerate(zip([0, *ends], [*ends, shape[axis]], strict=True)):
            index = (*[slice(None)] * axis, slice(start, stop))
            offsets = tuple(start if n == axis else 0 for n in range(len(shape)))
            parts[rank][key] = Shard(array[index], shape, offsets)
    return size, whole, parts


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(_cuts())
def test_any_cut_has_the_bytes_of_one_process(
    tmp_path: Path, cuts: tuple[int, dict[str, Any], list[dict[str, Any]]]
) -> None:
    size, whole, parts = cuts
    keys = list(dict.fromkeys(key for part in parts for key in part))
    expected = alone(tmp_path / "a.kellet", {key: whole[key] for key in keys})
    assert together(tmp_path / "b.kellet", size, lambda rank, size: parts[rank]) == expected


# --- what does not fit together ---


def test_values_that_differ_are_told_on_all_ranks(tmp_path: Path) -> None:
    def part(rank: int, size: int) -> dict[str, Any]:
        return {
            "same": np.ones(2),
            "w": np.full(2, float(rank == 2)),
            "cut": Shard(np.full(2, float(rank)), (4,), (2 * (rank % 2),)),
            "note": f"of {min(rank, 1)}",
        }

    assert refused(tmp_path / "net.kellet", 4, part) == [
        "'w': ranks 0 and 2 have different values",
        "'cut' [0:2]: ranks 0 and 2 have different values",
        "'note': ranks 0 and 1 have different values",
        "'cut' [2:4]: ranks 1 and 3 have different values",
    ]


def test_dtypes_shapes_and_kinds_that_differ(tmp_path: Path) -> None:
    tied = np.zeros(3)

    def part(rank: int, size: int) -> dict[str, Any]:
        return {
            "dtype": np.zeros(2, "float32" if rank else "float64"),
            "shape": np.zeros((2, 2 + rank)),
            "cut": Shard(np.zeros(2), (4,), (2,)) if rank else np.zeros(4),
            "kind": "a text" if rank else np.zeros(1),
            "raw": np.zeros(2, "datetime64[s]" if rank else "timedelta64[s]"),
            "a": tied,
            "b": tied if rank else np.zeros(3),
        }

    assert refused(tmp_path / "net.kellet", 2, part) == [
        "'dtype': rank 0 has dtype: F64 [2], rank 1 has dtype: F32 [2]",
        "'shape': rank 0 has shape: F64 [2, 2], rank 1 has shape: F64 [2, 3]",
        "'cut': rank 0 has cut: F64 [4], rank 1 has cut: F64 [4], slice [2:4]",
        "'kind': rank 1 has a value that is not a tensor, rank 0 has kind: F64 [1]",
        "'raw': rank 0 has raw: <m8[s] [2, 8], rank 1 has raw: <M8[s] [2, 8]",
        "'a': rank 0 has a: F64 [3], rank 1 has a: F64 [3]; b: F64 [3]",
        "'b': rank 0 has b: F64 [3], rank 1 has a: F64 [3]; b: F64 [3]",
    ]


def test_holes_and_overlaps_of_slices(tmp_path: Path) -> None:
    def part(rank: int, size: int) -> dict[str, Any]:
        found = {
            "hole": Shard(np.zeros(2), (5,), (3 * rank,)),
            "overlap": Shard(np.zeros((2, 3)), (2, 5), (0, 2 * rank)),
        }
        return found if rank else found | {"lone": Shard(np.zeros(1), (2,), (0,))}

    assert refused(tmp_path / "net.kellet", 2, part) == [
        (
            "'hole': its slices hold 4 of 5 elements; the others are missing (rank 0 has hole: F64 [5], "
            "slice [0:2], rank 1 has hole: F64 [5], slice [3:5])"
        ),
        (
            "'overlap': the slices [0:2, 0:3] and [0:2, 2:5] overlap (rank 0 has overlap: F64 [2, 5], slice "
            "[0:2, 0:3], rank 1 has overlap: F64 [2, 5], slice [0:2, 2:5])"
        ),
        (
            "'lone': its slices hold 1 of 2 elements; the others are missing (rank 0 has lone: F64 [2], "
            "slice [0:1])"
        ),
    ]


def test_keys_that_are_missing_or_not_listed(tmp_path: Path) -> None:
    path = tmp_path / "net.kellet"
    found = refused(path, 2, lambda rank, size: {f"k{rank}": np.ones(1)}, keys=["k0", "k2"])
    assert found == [
        "'k2': keys= lists it, but no rank has it",
        "'k1': rank 1 has it, but keys= does not list it",
    ]


def test_values_that_are_no_tensors_are_those_of_rank_0(tmp_path: Path) -> None:
    path = tmp_path / "net.kellet"
    found = refused(path, 2, lambda rank, size: {"note": "x"} if rank else {"w": np.ones(1)})
    assert found == [
        "'note': rank 1 has a value that is not a tensor, and rank 0 lacks it; pass such values on rank 0"
    ]


def test_versions_of_modules_that_differ(tmp_path: Path) -> None:
    def part(rank: int, size: int) -> Mapping[str, Any]:
        state: Any = OrderedDict(w=np.ones(1))
        state._metadata = {"": {"version": 1 + rank}, f"net{rank}": {"version": 3}}
        if rank:
            state._metadata["more"] = {"version": 1, "device": "cpu"}
        return state

    assert refused(tmp_path / "net.kellet", 2, part) == [
        "_metadata of '': rank 0 has version 1, rank 1 has 2",
        "_metadata of 'more': rank 1 has more than a version, which rank 0 lacks; pass it on rank 0",
    ]


def test_different_objects_code_and_text(tmp_path: Path) -> None:
    def work(group: ProcessGroup) -> None:
        rank = group.rank()
        with PackageExporter(tmp_path / "net.kellet", group=group, prove=False) as exporter:
            exporter.save_object("model", "config", {"rank": rank, "w": np.zeros(3)})
            exporter.save_object("model", "weights", np.full(3, rank))
            exporter.save_source_string("net", f"RANK = {rank}")
            if rank:
                exporter.save_text("model", "words.txt", "one two")

    errors = outcomes_on_ranks(2, work)
    assert [type(error) for error in errors] == [RanksDisagreeError] * 2
    assert sorted(errors[0].problems) == [
        "object model/config: it differs between rank 1 and rank 0",
        "resource model/words.txt: rank 1 has it, and rank 0 does not",
        "source net.py: it differs between rank 1 and rank 0",
        "tensors of model/weights.safetensors: it differs between rank 1 and rank 0",
    ]
    assert list(tmp_path.iterdir()) == []


def test_ranks_that_go_different_ways_are_told_so(tmp_path: Path) -> None:
    def work(group: ProcessGroup) -> None:
        with PackageExporter(tmp_path / "net.kellet", group=group, prove=False) as exporter:
            if group.rank():
                exporter.save_state_dict("model", "state", {"w": np.ones(1)})

    for error in outcomes_on_ranks(2, work):
        assert type(error) is RanksDisagreeError
        assert error.problems[1:] == ("rank 0: closing", "rank 1: saving state dict model/state")
    assert list(tmp_path.iterdir()) == []


def test_targets_that_differ(tmp_path: Path) -> None:
    def work(group: ProcessGroup) -> None:
        PackageExporter(tmp_path / f"net{group.rank()}.kellet", group=group, prove=False)

    errors = outcomes_on_ranks(2, work)
    assert [type(error) for error in errors] == [RanksDisagreeError] * 2
    assert errors[0].problems[1] == f"rank 1: {tmp_path / 'net1.kellet'}"


def test_slices_that_share_memory_otherwise_are_refused(tmp_path: Path) -> None:
    fused = np.zeros((4, 6))

    def work(group: ProcessGroup) -> None:
        with PackageExporter(tmp_path / "net.kellet", group=group, prove=False) as exporter:
            part = Shard(fused[:2, :3], (2, 6), (0, 3 * group.rank()))
            exporter.save_state_dict("model", "state", {"q": part, "qkv": fused})

    for error in outcomes_on_ranks(2, work):
        assert isinstance(error, RefusedPlanError)
        assert "state['q']" in str(error)
        assert "shares memory with 'qkv', and one of them is a Shard" in str(error)


# --- a rank that fails ---


def failing(tmp_path: Path, work: Callable[[ProcessGroup, Path], None]) -> list[Any]:
    """What two ranks raise; the old archive stays, and nothing else."""
    path = tmp_path / "net.kellet"
    path.write_bytes(b"the old archive")
    errors = outcomes_on_ranks(2, lambda group: work(group, path))
    assert path.read_bytes() == b"the old archive"
    assert list(tmp_path.iterdir()) == [path]
    return errors


def test_an_error_between_saves_is_told_to_the_others(tmp_path: Path) -> None:
    def work(group: ProcessGroup, path: Path) -> None:
        with PackageExporter(path, group=group, prove=False) as exporter:
            exporter.save_state_dict("model", "state", {"w": Shard.cut(draw(4), group.rank(), 2)})
            if group.rank():
                raise KeyError("no such layer")

    first, second = failing(tmp_path, work)
    assert type(second) is KeyError
    assert type(first) is OtherRankError
    assert first.rank == 1
    assert "closing: rank 1 failed, so this rank stops" in str(first)
    assert "KeyError: 'no such layer'" in str(first)


def test_what_cannot_be_saved_on_one_rank(tmp_path: Path) -> None:
    def work(group: ProcessGroup, path: Path) -> None:
        with PackageExporter(path, group=group, prove=False) as exporter:
            exporter.save_state_dict("model", "state", {"w": draw(4)} if group.rank() else 3)

    first, second = failing(tmp_path, work)
    assert isinstance(first, ArgumentError)
    assert isinstance(second, OtherRankError)
    assert "rank 0 failed" in str(second)
    assert "expected a module or a mapping of names to values, found int" in str(second)


def test_an_argument_that_is_wrong_on_one_rank(tmp_path: Path) -> None:
    def work(group: ProcessGroup, path: Path) -> None:
        PackageExporter(path, group=group, policy="auto" if group.rank() else "automatic", prove=False)

    first, second = failing(tmp_path, work)
    assert isinstance(first, ArgumentError)
    assert isinstance(second, OtherRankError)


def test_a_disk_that_is_full_on_one_rank(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write = shared_tensors_module.write_at

    def full(descriptor: int, data: Any, position: int) -> int:
        if threading.current_thread().name.endswith("rank 1"):
            raise OSError(28, "No space left on device")
        return write(descriptor, data, position)

    def work(group: ProcessGroup, path: Path) -> None:
        threading.current_thread().name = f"rank {group.rank()}"
        with PackageExporter(path, group=group, prove=False) as exporter:
            exporter.save_state_dict("model", "state", {"w": Shard.cut(draw(4), group.rank(), 2)})

    monkeypatch.setattr(shared_tensors_module, "write_at", full)
    first, second = failing(tmp_path, work)
    assert isinstance(second, ArchiveError)
    assert "No space left on device" in str(second)
    assert isinstance(first, OtherRankError)
    assert "having written tensors: rank 1 failed" in str(first)


def test_a_plan_with_problems_on_one_rank(tmp_path: Path) -> None:
    def work(group: ProcessGroup, path: Path) -> None:
        with PackageExporter(path, group=group, prove=False) as exporter:
            exporter.save_source_string("net", "import not_installed_here" if group.rank() else "")

    first, second = failing(tmp_path, work)
    assert isinstance(second, RefusedPlanError)
    assert isinstance(first, OtherRankError)
    assert "not_installed_here" in str(first)


def test_a_proof_that_fails_is_told_to_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(proof: Any, plan: Any) -> None:
        raise ProofError.__new__(ProofError, "it does not come back")

    monkeypatch.setattr(ExportProof, "prove", fail)

    def work(group: ProcessGroup, path: Path) -> None:
        with PackageExporter(path, group=group, prove=True) as exporter:
            exporter.save_state_dict("model", "state", {"w": Shard.cut(draw(4), group.rank(), 2)})

    first, second = failing(tmp_path, work)
    assert isinstance(first, ProofError)
    assert isinstance(second, OtherRankError)
    assert "ProofError" in str(second)


def test_several_ranks_need_a_path_and_a_group_its_methods() -> None:
    with pytest.raises(ArgumentError, match="expected a path that all 2 ranks can open; found a file object"):
        on_ranks(2, lambda group: PackageExporter(io.BytesIO(), group=group, prove=False))
    with pytest.raises(ArgumentError, match=r"expected an object with rank\(\), size\(\) and all_gather_byt"):
        PackageExporter(io.BytesIO(), group=3, prove=False)  # type: ignore[arg-type]  # that is what is tried


def test_a_shard_without_a_group_is_refused() -> None:
    exporter = PackageExporter(io.BytesIO(), prove=False)
    exporter.save_state_dict("model", "state", {"w": Shard(np.zeros(1), (2,), (0,))})
    with pytest.raises(PackagingError, match=r"state\['w'\]: is a Shard, one process's slice of a tensor"):
        exporter.close()


# --- warnings ---


def test_what_one_rank_warns_of_is_told_once_by_rank_0(tmp_path: Path) -> None:
    mapped = np.memmap(tmp_path / "w.bin", "float32", "w+", shape=(2, 3))
    plain: Any = np.zeros((2, 3), "float32")

    def work(group: ProcessGroup) -> tuple[str, ...]:
        rank = group.rank()
        with PackageExporter(tmp_path / "net.kellet", group=group, prove=False) as exporter:
            part = {"w": Shard(mapped if rank else plain, (4, 3), (2 * rank, 0))}
            exporter.save_state_dict("model", "state", part)
            exporter.save_object("model", "table", [mapped if rank else plain])
        return exporter.plan().warnings

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        plans = on_ranks(2, work)
    assert [one.category for one in caught] == [PackagingWarning]
    text = str(caught[0].message)
    assert text.count("a numpy.memmap is stored by its values") == 2
    assert text.count("state dict model/state: state['w']: a numpy.memmap") == 1
    assert text.count("object model/table: table[0]: a numpy.memmap") == 1
    assert plans[0] == plans[1]


# --- loading with another number of ranks ---


@pytest.mark.parametrize("size", [1, 3, 4])
def test_another_number_of_ranks_loads_and_saves_the_same(tmp_path: Path, size: int) -> None:
    tied = draw(5, 4)
    whole = {"w": draw(9, 4), "a": tied, "b": tied, "step": np.full((), 3.0), "note": "x"}
    odd = np.arange(6).astype("datetime64[D]").reshape(3, 2)
    expected = alone(tmp_path / "a.kellet", whole | {"odd": odd})

    def work(group: ProcessGroup) -> list[tuple[int, ...]]:
        with PackageImporter(tmp_path / "a.kellet") as importer:
            part = importer.load_state_dict("model", "state0").shards(group.rank(), size)
        with PackageExporter(tmp_path / "b.kellet", group=group, prove=False) as exporter:
            exporter.save_state_dict("model", "state0", part)
        return [part["w"].tensor.shape, part["odd"].shape]

    shapes = on_ranks(size, work)
    assert sum(first[0] for first, _ in shapes) == 9
    assert {other for _, other in shapes} == {(3, 2)}
    assert (tmp_path / "b.kellet").read_bytes() == expected


def test_the_axis_may_be_asked_for_each_key(tmp_path: Path) -> None:
    alone(tmp_path / "a.kellet", {"columns": draw(4, 6), "rows": draw(4, 6), "whole": draw(4, 6)})
    axes = {"columns": 1, "rows": 0, "whole": None}
    with PackageImporter(tmp_path / "a.kellet") as importer:
        part = importer.load_state_dict("model", "state0").shards(1, 2, axes.get)
    assert part["columns"].box == ((0, 4), (3, 6))
    assert part["rows"].box == ((2, 4), (0, 6))
    assert part["whole"].shape == (4, 6)
    assert np.array_equal(part["columns"].tensor, draw(4, 6)[:, 3:])


def test_a_rank_reads_the_chunks_of_its_rows_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from packager._archive import byte_sources

    rows, chunk = 16 << 20, 1 << 20
    alone(tmp_path / "a.kellet", {"w": np.zeros((16, 1 << 18), "float32"), "v": np.ones((4, 1 << 18))})
    read: list[int] = []
    into = byte_sources.read_into

    def counted(target: memoryview, number: int, at: int) -> int:
        read.append(len(target))
        return into(target, number, at)

    with PackageImporter(tmp_path / "a.kellet", mmap=False) as importer:
        state = importer.load_state_dict("model", "state0")
        monkeypatch.setattr(byte_sources, "read_into", counted)
        for rank in range(4):
            read.clear()
            assert state.shards(rank, 4)["w"].tensor.shape == (4, 1 << 18)
            assert sum(read) <= rows // 4 + (8 << 20) // 4 + 3 * chunk
