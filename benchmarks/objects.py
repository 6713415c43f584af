"""A small object, saved and loaded: a dict, an estimator, a net of three layers."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any, Final

import numpy as np

from benchmarks.processes import folder
from benchmarks.row import Row, Work

SAVE: Final = 4.0  # ms
LOAD: Final = 1.0
WHY_SAVE: Final = "a plan is made of what its classes need, with licences, and what was written is read again"
WHY_LOAD: Final = "the environment is compared with the recorded one, and each name and state is audited"

Way = tuple[Callable[[Any, Path], None], Callable[[Path], Any]]
"""How a library saves to a file, and loads from it."""


def rows() -> list[Row]:
    """List the saves and the loads of each object."""
    objects: dict[str, tuple[Callable[[], Any], str, Callable[[], Way]]] = {
        "a dict": (_settings, "joblib", _joblib),
        "an estimator": (fitted_estimator, "skops", _skops),
        "a net of three layers": (_net, "joblib", _joblib),
    }
    return [
        Row(
            f"{what} {name}{', no proof' if what == 'save' else ''}",
            partial(work, make, _packager),
            limit,
            peer,
            partial(work, make, way),
            is_absolute=True,
            why=why,
        )
        for name, (make, peer, way) in objects.items()
        for what, work, limit, why in (("save", _saving, SAVE, WHY_SAVE), ("load", _loading, LOAD, WHY_LOAD))
    ]


@cache
def fitted_estimator() -> Any:
    """Return a logistic regression of four columns."""
    from sklearn.linear_model import LogisticRegression

    x = np.random.default_rng(0).normal(size=(60, 4))
    return LogisticRegression().fit(x, x[:, 0] > 0)


def _saving(make: Callable[[], Any], way: Callable[[], Way]) -> Work:
    save, load = way()
    value, path = make(), folder() / f"object.{way.__name__}"
    return Work(lambda: save(value, path), result=lambda: (save(value, path), _numbers(load(path)))[1])


def _loading(make: Callable[[], Any], way: Callable[[], Way]) -> Work:
    save, load = way()
    path = folder() / f"loaded.{way.__name__}"
    save(make(), path)
    return Work(lambda: load(path), result=lambda: _numbers(load(path)))


def _packager() -> Way:
    from packager import PackageExporter, PackageImporter

    def save(value: Any, path: Path) -> None:
        with PackageExporter(path, policy="auto", prove=False) as exporter:
            exporter.save_object("model", "model", value)

    def load(path: Path) -> Any:
        with PackageImporter(path) as importer:
            return importer.load_object("model", "model")

    return save, load


def _joblib() -> Way:
    import joblib

    return joblib.dump, joblib.load


def _skops() -> Way:
    import skops.io

    return skops.io.dump, skops.io.load


def _settings() -> dict[str, Any]:
    return {
        "name": "net",
        "widths": [64, 64, 8],
        "rate": 0.1,
        "words": {f"word {at}": at for at in range(100)},
    }


@cache
def _net() -> Any:
    from kellet import nn

    return nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 8))


def _numbers(value: Any) -> list[Any]:
    """Return what can be compared of an object that came back."""
    if isinstance(value, dict):
        return [value["widths"], len(value["words"])]
    if hasattr(value, "coef_"):
        return [value.coef_]
    return [value[0].weight.detach().numpy()]
