"""Predictor: forms of inputs and outputs, one open archive a process, and clear errors from workers."""

from __future__ import annotations

import copy
import gc
import os
import pickle
import re
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy
import pytest

import kellet
from packager import (
    ArgumentError,
    Example,
    IdentityMismatchError,
    PackageExporter,
    PackageImporter,
    Predictor,
)
from packager._calls import CallError, SchemaMismatchError
from packager._serving import predictor as serving
from packager.errors import NotStoredError
from tests.serving.conftest import X, Y, write_layer


def in_spawned_worker(predictor: Predictor, inputs: object, workers: int = 1) -> list[object]:
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        return list(pool.map(predictor.predict, [inputs] * 2 * workers))


# --- forms ---


def test_arrays_lists_and_dicts_come_back_in_their_form(archive: Path) -> None:
    predictor = Predictor(archive)
    found = predictor.predict(X)
    assert (found.dtype, found.tolist()) == (numpy.dtype("float32"), Y)
    assert predictor.predict(X.tolist()) == Y
    assert {name: value.tolist() for name, value in predictor.predict({"input": X}).items()} == {"output": Y}
    assert predictor({"arg0": X.tolist()})["output"].tolist() == Y
    assert predictor.predict(kellet.tensor(X)).tolist() == Y


def test_a_frame_comes_back_as_a_frame_with_its_rows(archive: Path) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X.astype("float64"), index=["a", "b", "c"])
    found = Predictor(archive).predict(frame)
    assert found.to_dict("list") == {"output.0": [2.0, 6.0, 10.0]}
    assert list(found.index) == ["a", "b", "c"]


SUM = "def total(price, count):\n    return {'sum': price * count}\n"
SCALAR = "def total(price, count):\n    return (price * count).sum()\n"
TWO = Example(numpy.array([1.0, 2.0]), numpy.array([3.0, 4.0]))


def test_columns_are_arguments_where_the_schema_names_them(shop: Callable[..., Path]) -> None:
    pandas = pytest.importorskip("pandas")
    predictor = Predictor(shop("a.kellet", SUM, TWO))
    found = predictor.predict(pandas.DataFrame({"price": [1.5, 2.0], "count": [2, 3]}))
    assert found.to_dict("list") == {"output.sum": [3.0, 6.0]}


def test_an_output_without_a_row_for_each_row_makes_no_frame(shop: Callable[..., Path]) -> None:
    pandas = pytest.importorskip("pandas")
    predictor = Predictor(shop("a.kellet", SCALAR, TWO))
    with pytest.raises(CallError, match=r"output has the shape \[\], not one row for each of the 2 rows"):
        predictor.predict(pandas.DataFrame({"price": [1.5, 2.0], "count": [2.0, 3.0]}))


def test_inputs_are_compared_with_the_schema_before_the_model_is_built(
    archive: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serving, "load_entry", None)
    predictor = Predictor(archive)
    for wrong in (X.astype("int32"), ["two", "words"], {"inptu": X}):
        with pytest.raises(SchemaMismatchError, match="do not fit, and it was not called"):
            predictor.predict(wrong)


# --- what is called ---


def test_the_only_object_is_called_without_a_name(tmp_path: Path) -> None:
    with PackageExporter(tmp_path / "a.kellet", prove=False) as exporter:
        exporter.save_object("net", "best", len)
    predictor = Predictor(tmp_path / "a.kellet")
    assert (predictor.entry, int(predictor.predict("four"))) == ("net/best", 4)


def test_an_entry_that_is_not_there_is_an_error_at_once(archive: Path) -> None:
    with pytest.raises(NotStoredError, match="no entry point 'modle'; the archive has model"):
        Predictor(archive, entry="modle")


# --- one archive a process ---


def test_copies_share_one_open_archive(archive: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    predictor = Predictor(archive)
    monkeypatch.setattr(serving, "PackageImporter", None)
    again = pickle.loads(pickle.dumps(predictor))
    assert again.predict(X).tolist() == copy.copy(predictor).predict(X).tolist() == Y


def test_threads_build_the_model_once(archive: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    built, load = [], serving.load_entry
    monkeypatch.setattr(serving, "load_entry", lambda *given: built.append(1) or load(*given))
    predictor = Predictor(archive)
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(predictor.predict, [X] * 64))
    assert [one.tolist() for one in found] == [Y] * 64
    assert built == [1]


def test_the_archive_is_closed_with_the_last_predictor(archive: Path) -> None:
    first, second = Predictor(archive), Predictor(archive)
    opened = first._here().importer._opened
    del first
    gc.collect()
    assert not opened.is_closed
    del second
    gc.collect()
    assert opened.is_closed


def test_a_process_keeps_the_last_four_that_tasks_brought(tmp_path: Path) -> None:
    tasks = [
        pickle.dumps(Predictor(write_layer(tmp_path / f"{number}.kellet", bias=number)))
        for number in range(5)
    ]
    gc.collect()
    opened = []
    for task in tasks:
        predictor = pickle.loads(task)
        predictor.predict(X)
        opened.append(predictor._here().importer._opened)
    del predictor
    gc.collect()
    assert [one.is_closed for one in opened] == [True, False, False, False, False]


def times(shop: Callable[..., Path], name: str, factor: int) -> Path:
    return shop(
        name, f"import numpy\n\ndef total(x):\n    return numpy.asarray(x) * {factor}\n", numpy.ones(2)
    )


@pytest.mark.unix
def test_a_forked_child_opens_its_own_and_leaves_its_parents_alone(
    shop: Callable[..., Path],
) -> None:
    predictor = Predictor(times(shop, "a.kellet", 3))
    assert predictor.predict([1.0, 2.0]) == [3.0, 6.0]
    before = predictor._here().importer
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        found = predictor.predict([2.0, 3.0])
        os.write(writing, repr((found, predictor._here().importer is before)).encode())
        del predictor
        gc.collect()
        os._exit(0)
    os.close(writing)
    with open(reading) as pipe:
        assert pipe.read() == "([6.0, 9.0], False)"
    os.waitpid(child, 0)
    assert predictor._here().importer is before
    assert in_spawned_worker(predictor, [1.0, 2.0]) == [[3.0, 6.0]] * 2


def test_two_archives_with_one_module_name_are_both_right(shop: Callable[..., Path]) -> None:
    one, other = Predictor(times(shop, "a.kellet", 3)), Predictor(times(shop, "b.kellet", 5))
    assert (one.predict([1.0, 2.0]), other.predict([1.0, 2.0])) == ([3.0, 6.0], [5.0, 10.0])


# --- workers ---


def test_spawned_workers_answer(archive: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(archive.parent)
    predictor = Predictor("net.kellet")
    monkeypatch.chdir("/")
    assert in_spawned_worker(predictor, X.tolist(), workers=2) == [Y] * 4


def test_workers_of_joblib_answer(archive: Path, joblib: Any) -> None:
    predictor = Predictor(archive)
    found = joblib.Parallel(2)(joblib.delayed(predictor.predict)(X) for _ in range(4))
    assert [one.tolist() for one in found] == [Y] * 4


def test_a_worker_that_dies_is_an_error_and_the_next_pool_works(archive: Path) -> None:
    predictor = Predictor(archive)
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        assert pool.submit(predictor.predict, X).result().tolist() == Y
        with pytest.raises(BrokenProcessPool, match="terminated abruptly"):
            pool.submit(os._exit, 1).result()
    assert in_spawned_worker(predictor, X.tolist()) == [Y] * 2


def test_workers_of_joblib_refuse_other_files_and_wrong_inputs(archive: Path, joblib: Any) -> None:
    predictor = Predictor(archive)
    ask = joblib.delayed(predictor.predict)
    with pytest.raises(SchemaMismatchError, match=r"arg0: found list\[text\], expected float32\[\*, 2\]"):
        joblib.Parallel(2)(ask(["two", "words"]) for _ in range(2))
    joblib.externals.loky.get_reusable_executor().shutdown(wait=True)  # those have the file open
    write_layer(archive, bias=7.0)
    with pytest.raises(IdentityMismatchError, match="the file was replaced since the Predictor was made"):
        joblib.Parallel(2)(ask(X) for _ in range(2))


def test_a_worker_of_joblib_that_dies_is_an_error(archive: Path, joblib: Any) -> None:
    from joblib.externals.loky.process_executor import TerminatedWorkerError

    with pytest.raises(TerminatedWorkerError, match="A worker process managed by the executor"):
        joblib.Parallel(2)(joblib.delayed(os._exit)(1) for _ in range(2))
    predictor = Predictor(archive)
    found = joblib.Parallel(2)(joblib.delayed(predictor.predict)(X) for _ in range(2))
    assert [one.tolist() for one in found] == [Y] * 2


def test_a_file_that_was_replaced_meanwhile_is_refused_by_workers(archive: Path) -> None:
    predictor = Predictor(archive)
    before = predictor.identity
    write_layer(archive, bias=7.0)
    after = Predictor(archive).identity
    said = f"{archive}: the file was replaced since the Predictor was made: found identity {after}, expected"
    with pytest.raises(IdentityMismatchError, match=re.escape(said)) as caught:
        in_spawned_worker(predictor, X)
    assert (caught.value.expected, caught.value.found) == (before, after)
    assert predictor.predict(X).tolist() == Y  # this process has the old file open


def test_another_identity_is_refused_at_once(archive: Path) -> None:
    with pytest.raises(IdentityMismatchError, match="identity"):
        Predictor(archive, identity="0" * 64)


def test_wrong_inputs_in_a_worker_are_a_schema_error(archive: Path) -> None:
    with pytest.raises(SchemaMismatchError, match=r"arg0: found list\[text\], expected float32\[\*, 2\]"):
        in_spawned_worker(Predictor(archive), ["two", "words"])


def test_who_may_have_signed_goes_to_workers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("cryptography")
    from packager.errors import UnsignedError
    from tests.signing.signed_files import pair

    (tmp_path / "keys").mkdir()
    one = pair(tmp_path / "keys", "team")
    monkeypatch.chdir(tmp_path / "keys")
    (tmp_path / "models").mkdir()
    signed = write_layer(tmp_path / "models" / "net.kellet", sign=one.pem)
    predictor = Predictor(signed, signed_by=one.pub.name)
    monkeypatch.chdir("/")
    assert in_spawned_worker(predictor, X.tolist()) == [Y] * 2
    write_layer(signed)
    with pytest.raises(UnsignedError, match="it has no signature"):
        in_spawned_worker(predictor, X)


def test_an_importer_says_that_a_predictor_pickles(archive: Path) -> None:
    said = f"{archive}: an open archive cannot be pickled or copied; use packager.Predictor('{archive}')"
    with PackageImporter(archive) as importer, pytest.raises(ArgumentError, match=re.escape(said)):
        pickle.dumps(importer)
