"""What stands for modules of an archive that is gone: made where a task is read; used, it raises."""

from __future__ import annotations

from collections.abc import Callable
from importlib.machinery import ModuleSpec
from typing import Any

import pytest

from packager._loading.gone_modules import GoneModule, gone_module, gone_spec, is_read_for_a_worker
from packager._loading.open_archives import ArchiveMovedError

ERROR = ArchiveMovedError("net.pt is gone")
READERS = ("multiprocessing.queues", "multiprocessing.connection")


def in_module(name: str, what: str, **names: Any) -> Any:
    """Evaluate an expression as a line of a module of that name."""
    return eval(what, {"__name__": name, **names})


def read(what: str, **names: Any) -> Any:
    return in_module(READERS[0], what, **names)


@pytest.fixture
def module() -> GoneModule:
    return GoneModule("net__w0_0.layers", ERROR)


@pytest.mark.parametrize(
    ("reader", "is_read"),
    [*((name, True) for name in READERS), ("multiprocessing.pool", False), ("multiprocessing", False)],
)
def test_what_a_reader_of_tasks_asks_for_is_read_for_a_worker(reader: str, is_read: bool) -> None:
    assert in_module(reader, "ask('net')", ask=is_read_for_a_worker) is is_read
    ways = ("importlib", "importlib._bootstrap", "importlib._bootstrap_external", "net")
    ways = (*ways, "packager._loading.open_archives", "packager._loading.gone_modules")
    for way in ways:
        between: Callable[[], Any] = in_module(way, "lambda: ask('net')", ask=is_read_for_a_worker)
        assert in_module(reader, "ask()", ask=between) is is_read
    other = in_module("elsewhere", "lambda: ask('net')", ask=is_read_for_a_worker)
    assert in_module(reader, "ask()", ask=other) is False


def test_a_module_is_made_for_a_reader_and_for_nobody_else() -> None:
    made = read("make('net', error)", make=gone_module, error=ERROR)
    assert (type(made), made.__name__, made.__path__) == (GoneModule, "net", [])
    with pytest.raises(ArchiveMovedError, match=r"^net\.pt is gone$") as raised:
        gone_module("net", ERROR)
    assert raised.value is ERROR


def test_its_spec_makes_it_when_it_is_imported() -> None:
    spec = gone_spec("net", ERROR)
    assert (type(spec), spec.name, spec.submodule_search_locations) == (ModuleSpec, "net", [])
    loader: Any = spec.loader
    assert type(read("make(spec)", make=loader.create_module, spec=spec)) is GoneModule
    with pytest.raises(ArchiveMovedError):
        loader.create_module(spec)
    assert loader.exec_module(GoneModule("net", ERROR)) is None


def test_names_in_it_lead_to_stand_ins_with_their_names(module: GoneModule) -> None:
    layer = module.Layer
    assert (layer.__module__, layer.__qualname__) == ("net__w0_0.layers", "Layer")
    inner = read("layer.Inner", layer=layer)
    assert (inner.__module__, inner.__qualname__) == ("net__w0_0.layers", "Layer.Inner")
    made = read("layer(1, a=2)", layer=layer)
    assert type(made) is layer
    member = read("made.forward", made=made)
    assert (member.__module__, member.__qualname__) == ("net__w0_0.layers", "Layer.forward")


def test_special_names_are_not_there(module: GoneModule) -> None:
    layer = module.Layer
    made = read("layer()", layer=layer)
    for holder in (module, layer, made):
        with pytest.raises(AttributeError, match=r"^__wrapped__$"):
            holder.__wrapped__


@pytest.mark.parametrize(
    "use",
    [
        "layer()",
        "layer.Inner",
        "made.forward",
        "made.__setstate__({'a': 1})",
        "made.__setitem__('a', 1)",
    ],
)
def test_a_use_raises_the_error_of_the_archive_but_where_a_task_is_read(use: str, module: GoneModule) -> None:
    names = {"layer": module.Layer, "made": read("layer()", layer=module.Layer)}
    read(use, **names)
    with pytest.raises(ArchiveMovedError, match=r"^net\.pt is gone$"):
        in_module(__name__, use, **names)
    assert vars(names["made"]) == {}
