"""Values that lie in one another deeper than they can be told are refused by name, and so are rings."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from packager import PackageExporter
from packager._calls import CallError, call_with_arrays
from packager._cli import main

MOST = 100


@dataclass
class Held:
    inner: Any


WRAP: dict[str, Callable[[Any], Any]] = {
    "list": lambda inner: [inner],
    "tuple": lambda inner: (1, inner),
    "dict": lambda inner: {"k": inner},
    "mapping": lambda inner: OrderedDict(a=None, b=inner),
    "dataclass": Held,
}
TOLD = r"^{} is nested more than 100 deep, or contains itself"


def nested(kind: str, depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = WRAP[kind](value)
    return value


@pytest.mark.parametrize("kind", WRAP)
def test_an_answer_may_be_nested_100_deep_and_no_deeper(kind: str) -> None:
    (*_, value) = call_with_arrays(lambda: nested(kind, MOST), {}).values()
    assert value.tolist() == 1
    with pytest.raises(CallError, match=TOLD.format("output")):
        call_with_arrays(lambda: nested(kind, MOST + 1), {})
    with pytest.raises(CallError, match=TOLD.format("output")):
        call_with_arrays(lambda: nested(kind, 5000), {})


@pytest.mark.parametrize("kind", ["list", "tuple", "dict"])
def test_so_may_an_input(kind: str) -> None:
    assert call_with_arrays(lambda x: 2, {"x": nested(kind, MOST)})["output"] == 2
    with pytest.raises(CallError, match=TOLD.format("input x")):
        call_with_arrays(lambda x: 2, {"x": nested(kind, MOST + 1)})


def test_what_holds_itself_is_told() -> None:
    several: dict[str, Any] = {"a": None}
    several["a"] = [several, several, (several,)]
    around = Held(None)
    around.inner = [around]
    for ring in (several, around):
        with pytest.raises(CallError, match=TOLD.format("output")):
            call_with_arrays(lambda found: found, {}, lambda ring=ring: ring)


def test_the_command_and_the_exporter_tell_it_without_blaming_the_model(
    project: Callable[[Mapping[str, str]], Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    project({"backshop.py": "class Back:\n    def __call__(self, x):\n        return [x]\n"})
    import backshop  # type: ignore[import-not-found]  # written above

    exporter = PackageExporter(tmp_path / "back.kellet", policy="auto", prove=False)
    exporter.save_object("model", "model", backshop.Back())
    with pytest.raises(CallError, match=TOLD.format("input x")):
        exporter.save_example("model", {"x": nested("list", 2000)})
    exporter.close()
    (tmp_path / "deep.json").write_text("[" * 900 + "]" * 900)
    code = main(["run", str(tmp_path / "back.kellet"), "--input", str(tmp_path / "deep.json")])
    assert (code, capsys.readouterr().err.partition(" is nested ")[0]) == (1, "kellet: input arg0")
