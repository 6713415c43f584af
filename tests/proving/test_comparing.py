"""How a proof compares what it has loaded with what is stored: attributes, values, rounding, refusals."""

from __future__ import annotations

import textwrap
from importlib import import_module

import pytest

from packager import PackageExporter, PackageImporter
from packager._proving.coming_back import ComingBack, NotAsStoredError, first_difference

pytestmark = pytest.mark.processes(share=3)

HEAD = """
    import threading
    import numpy

    class Net:
        def __init__(self):
            self.weight = numpy.array([1.0, 3.0, 1e6])
            self.meta = {"width": 3, "best": float("nan")}

        def __setstate__(self, state):
            self.__dict__.update(state)
            LINE
"""

PAIR = """
    import numpy

    class Net:
        def __init__(self):
            self.first, self.second = numpy.zeros(100_000), numpy.ones(100_000)

        def __setstate__(self, state):
            self.__dict__.update(state)
            LINE
"""


@pytest.fixture
def come_back(project, tmp_path):
    """Write an object whose `__setstate__` ends with `line`, and load and compare it in this process."""

    def run(line: str) -> tuple[str, ...]:
        project({"kept.py": textwrap.dedent(HEAD).replace("LINE", line)})
        net = import_module("kept").Net()
        with PackageExporter(tmp_path / "net.kellet", policy="auto", prove=False) as exporter:
            exporter.save_object("model", "net", net)
        with PackageImporter(tmp_path / "net.kellet") as importer:
            coming_back = ComingBack(importer)
            for step in coming_back.steps():
                step.run()
            return tuple(coming_back.notes)

    return run


def test_the_same_comes_back_a_nan_too(come_back):
    assert come_back("pass") == ()


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("self.asked = 0", "net has 'asked', which the stored one lacks"),
        ("del self.meta['best']", "net['meta'] lacks 'best', which the stored one has"),
        ("self.meta['width'] = 4", "net['meta']: 'width' was 3 and is 4"),
        ("self.meta['best'] = 0.5", "net['meta']: 'best' was nan and is 0.5"),
        ("self.meta['width'] = 'x' * 90", "net['meta']: was ['width', 3, 'best', nan] and is ['xxx"),
        ("self.weight = self.weight.astype('f4')", "net['weight']: was 'F64' and is 'F32'"),
    ],
)
def test_what_differs_is_named_by_its_place(come_back, line, found):
    with pytest.raises(NotAsStoredError) as caught:
        come_back(line)
    assert str(caught.value).startswith(f"the loaded object is not the stored one: {found}")


def test_an_attribute_that_new_sets_is_named(project, tmp_path):
    project({"made.py": "class Net:\n    def __new__(cls):\n        return object.__new__(cls)\n"})
    net = import_module("made").Net()
    net.width = 3
    with PackageExporter(tmp_path / "net.kellet", policy="auto", prove=False) as exporter:
        exporter.save_object("model", "net", {"best": net})
    with PackageImporter(tmp_path / "net.kellet") as importer:
        importer.import_module("made").Net.__new__ = lambda cls: (
            vars(one := object.__new__(cls)).update(a=1) or one
        )
        [step] = ComingBack(importer).steps()
        with pytest.raises(
            NotAsStoredError, match=r": net\['best'\] has 'a', which the stored one lacks"
        ) as caught:
            step.run()
    assert "set_extra_state" in caught.value.advice


def test_attributes_that_loading_sets_come_with_advice(come_back):
    with pytest.raises(NotAsStoredError) as caught:
        come_back("self.lock = None")
    assert caught.value.advice.startswith("code of its class changes attributes during loading")
    assert caught.value.advice.endswith('factory="module:name", config={...})')


def test_a_last_bit_is_rounding_and_told(come_back):
    assert come_back("self.weight *= 1 + 2**-50") == ("object model/net, weight: equal except for rounding",)


@pytest.mark.parametrize("line", ["self.weight *= 1.01", "self.weight[1] = numpy.nan", "self.weight[0] = 2"])
def test_more_than_rounding_is_another_value(come_back, line):
    with pytest.raises(NotAsStoredError, match=r"^values differ from the stored ones: weight$"):
        come_back(line)


def test_what_cannot_be_stored_again_is_told_with_its_place(come_back):
    with pytest.raises(NotAsStoredError) as caught:
        come_back("self.meta['lock'] = threading.Lock()")
    found = "the loaded object cannot be stored again: net['meta']['lock']: lock refuses to be stored"
    assert str(caught.value).startswith(found)


def test_tables_that_are_cut_short_are_counted():
    assert first_difference([[], [[7], [6]], -1], [[], [[7]], -1], "net") == (
        "2 records were stored, 1 were loaded",
        "",
    )


@pytest.mark.parametrize("place", [0, 99_999, -1])
def test_one_value_of_a_large_array_that_a_hook_changes_is_found(project, tmp_path, place):
    setting = HEAD.replace("[1.0, 3.0, 1e6]", "[1.0, 3.0] * 100_000").replace(
        "LINE", f"self.weight[{place}] = 2.0"
    )
    project({"kept.py": textwrap.dedent(setting)})
    net = import_module("kept").Net()
    with PackageExporter(tmp_path / "net.kellet", policy="auto", prove=False) as exporter:
        exporter.save_object("model", "net", net)
    with PackageImporter(tmp_path / "net.kellet") as importer:
        [step] = ComingBack(importer).steps()
        with pytest.raises(NotAsStoredError, match="values differ from the stored ones: weight"):
            step.run()


def test_arrays_that_have_changed_places_are_told_apart_though_no_page_was_written_to(project, tmp_path):
    swap = "self.first, self.second = self.second, self.first"
    project({"kept.py": textwrap.dedent(PAIR).replace("LINE", swap)})
    net = import_module("kept").Net()
    with PackageExporter(tmp_path / "net.kellet", policy="auto", prove=False) as exporter:
        exporter.save_object("model", "net", net)
    with PackageImporter(tmp_path / "net.kellet") as importer:
        [step] = ComingBack(importer).steps()
        with pytest.raises(NotAsStoredError, match="values differ from the stored ones: first, second"):
            step.run()


def test_a_large_array_that_a_hook_writes_as_it_was_comes_back(project, tmp_path):
    project({"kept.py": textwrap.dedent(PAIR).replace("LINE", "self.first[:] = self.first.copy()")})
    net = import_module("kept").Net()
    with PackageExporter(tmp_path / "net.kellet", policy="auto", prove=False) as exporter:
        exporter.save_object("model", "net", net)
    with PackageImporter(tmp_path / "net.kellet") as importer:
        coming_back = ComingBack(importer)
        for step in coming_back.steps():
            step.run()
    assert coming_back.notes == []
