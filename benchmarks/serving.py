"""Requests of one row that two workers answer: a Predictor beside the same model by joblib.load."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import cache, partial
from multiprocessing import get_context
from time import process_time
from typing import Any, Final

import numpy as np

from benchmarks.objects import fitted_estimator
from benchmarks.processes import folder
from benchmarks.row import Row, Work, is_small

MOST: Final = 1.25
"""So many times the time of a request: a fifth fewer requests."""
WORKERS: Final = 2


def rows() -> list[Row]:
    """List the requests, by the processor time of the workers: what runs beside them does not count."""
    return [
        Row(
            "predict one row by a logistic regression, two workers, processor time",
            partial(_work, "kellet"),
            MOST,
            "joblib.load",
            partial(_work, "joblib"),
            unit="us",
        )
    ]


def _work(ending: str) -> Work:
    path, x = folder() / f"served.{ending}", np.ones((1, 4))
    _save(path, x)
    count = 2 if is_small() else 1000

    def run() -> float:
        found = [_workers().submit(_requests, str(path), x, count) for _ in range(WORKERS)]
        return sum(one.result() for one in found) / (count * WORKERS)

    return Work(run, result=lambda: [_predict(str(path))(x)])


def _save(path: Any, x: Any) -> None:
    if path.suffix == ".joblib":
        import joblib

        joblib.dump(fitted_estimator(), path)
        return
    from packager import PackageExporter

    with PackageExporter(path, policy="auto", prove=False) as exporter:
        exporter.save_object("model", "model", fitted_estimator(), example=x)


@cache
def _workers() -> ProcessPoolExecutor:
    """Return two processes, started once, which go with this one."""
    return ProcessPoolExecutor(WORKERS, mp_context=get_context("spawn"))


@cache
def _predict(path: str) -> Callable[[Any], Any]:
    """Return what answers requests in this process, opened once."""
    if path.endswith(".joblib"):
        import joblib

        return joblib.load(path).predict  # type: ignore[no-any-return]  # what was saved above
    from packager import Predictor

    return Predictor(path).predict


def _requests(path: str, x: Any, count: int) -> float:
    """Answer requests one after the other; return the processor time that they took."""
    predict = _predict(path)
    predict(x)  # the first builds the model
    started = process_time()
    for _ in range(count):
        predict(x)
    return process_time() - started
