"""A model that holds what Python's library gives, such as cached functions, in a new process."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from packager import PackageExporter
from tests import processes

MODEL = """
import functools, inspect, io, itertools, logging, typing, weakref
from dataclasses import MISSING
from zoneinfo import ZoneInfo


@functools.cache
def square(x: int) -> int:
    return x * x


@functools.lru_cache(maxsize=4)
def label(x):
    return f"<{x}>"


@functools.singledispatch
def shown(x):
    return "thing"


@shown.register
def _(x: int):
    return "int"


class NotFitted(ValueError):
    def __init__(self, text, code):
        super().__init__(text, code)
        self.code = code


class Model:
    def __init__(self):
        self.square, self.label, self.shown = square, label, shown
        self.own = functools.lru_cache(8)(self.grow)
        self.signature = inspect.signature(self.forward)
        self.missing, self.empty = MISSING, inspect.Parameter.empty
        self.hints = typing.get_type_hints(self.forward)
        self.ids = itertools.count(10)
        self.buffer = io.BytesIO(b"abc")
        self.log, self.zone = logging.getLogger("shop"), ZoneInfo("Europe/Paris")
        self.error = NotFitted("call fit", 3)
        self.cache = weakref.WeakValueDictionary()
        self.table = [[at, float(at), str(at)] for at in range(5000)]
        self.first = self.table[0]

    def grow(self, x: int) -> int:
        return x + len(self.table)

    def forward(self, x: int, scale: typing.Optional[float] = None) -> "int | None":
        self.cache[x] = self
        return [
            self.square(x), self.label(x), self.shown(x), self.shown("a"), self.own(x), next(self.ids),
            str(self.signature), self.missing is MISSING, self.empty is inspect._empty,
            self.hints["scale"] == typing.Optional[float], self.buffer.read(), self.zone.key,
            self.error.code, self.error.args, self.table[0] is self.first, len(self.cache), self.log.name,
        ]
"""
LOADED = """
import sys
from packager import PackageImporter
with PackageImporter(sys.argv[1]) as importer:
    print(importer.load_object("shop", "model").forward(3))
"""


def test_a_model_of_standard_things_answers_the_same_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "standard_shop.py").write_text(MODEL)
    monkeypatch.syspath_prepend(tmp_path / "lib")
    import standard_shop  # type: ignore[import-not-found]  # written above

    model = standard_shop.Model()
    file = tmp_path / "shop.kellet"
    with PackageExporter(file, prove=False) as exporter:
        exporter.intern("standard_shop")
        exporter.save_object("shop", "model", model)
    here = repr(model.forward(3))
    done = processes.run(
        [sys.executable, "-W", "error", "-c", LOADED, str(file)], capture_output=True, text=True, check=False
    )
    assert (done.stdout.strip(), done.stderr) == (here, "")
    assert "[9, '<3>', 'int', 'thing', 5003, 10" in here
