"""Predictors on workers of dask.distributed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("distributed")

import dask
from distributed import Client, KilledWorker, LocalCluster

from packager import IdentityMismatchError, Predictor
from packager._calls import SchemaMismatchError
from tests.serving.conftest import X, Y, write_layer


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    """A client of two workers, which are processes; a task that ends its worker is not tried again."""
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 0}),
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        yield client


def test_two_workers_answer(client: Any, archive: Path) -> None:
    found = client.gather(client.map(Predictor(archive).predict, [X + number for number in range(4)]))
    assert [one.tolist()[0] for one in found] == [[2.0], [4.0], [6.0], [8.0]]


def test_wrong_inputs_are_a_schema_error(client: Any, archive: Path) -> None:
    with pytest.raises(SchemaMismatchError, match="do not fit, and it was not called"):
        client.submit(Predictor(archive).predict, ["two", "words"]).result()


def test_a_file_that_was_replaced_meanwhile_is_refused(client: Any, archive: Path) -> None:
    predictor = Predictor(archive)
    write_layer(archive, bias=7.0)
    with pytest.raises(IdentityMismatchError, match="the file was replaced since the Predictor was made"):
        client.submit(predictor.predict, X).result()
    assert client.submit(Predictor(archive).predict, X).result().tolist() == [[8.0], [12.0], [16.0]]


def test_a_worker_that_dies_is_an_error_and_others_go_on(client: Any, archive: Path) -> None:
    with pytest.raises(KilledWorker, match="_exit"):
        client.submit(os._exit, 1).result()
    assert client.submit(Predictor(archive).predict, X).result().tolist() == Y
