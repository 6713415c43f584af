"""How many requests and bytes it takes to open, list, inspect, read one tensor, and read all."""

from __future__ import annotations

import io
import itertools
from collections.abc import Iterator

import numpy as np
import pytest

import packager
from packager import PackageExporter, PackageImporter
from packager._cli.main import main
from packager._remote.fetching import GRAIN
from packager._remote.ranges import OPENING
from tests.remote.serving import FileServer, serving

COUNT = 20_000
CHUNK = 1 << 20


@pytest.fixture(scope="module")
def many() -> bytes:
    """An archive of 20,000 tensors, whose index alone is longer than what opening asks for at first."""
    file = io.BytesIO()
    with PackageExporter(file, prove=False) as exporter:
        exporter.save_state_dict(
            "model", "weights", {f"layers.{n:05}.w": np.full(64, n) for n in range(COUNT)}
        )
    return file.getvalue()


@pytest.fixture
def served(many: bytes) -> Iterator[FileServer]:
    with serving({"/net.kellet": many}) as found:
        yield found


def test_opening_and_listing_take_two_requests_and_one_tensor_one_more(
    served: FileServer, many: bytes
) -> None:
    with PackageImporter(served.address()) as importer:
        state = importer.load_state_dict("model", "weights")
        assert len(state) == COUNT
        assert served.asked[0] == f"bytes=-{OPENING}"
        assert len(served.asked) == 2
        first = int(served.asked[1].removeprefix("bytes=").partition("-")[0])
        member = importer.archive.entry("model/weights").size
        assert member - GRAIN < first < member + GRAIN
        served.clear()
        assert state["layers.12345.w"].tolist() == [12345] * 64
    assert len(served.asked) == 1
    assert served.sent <= 2 * (CHUNK + GRAIN)  # the chunks that it lies in


def test_small_archive_is_opened_and_inspected_by_one_request(
    server: FileServer, capsys: pytest.CaptureFixture[str]
) -> None:
    with PackageImporter(server.address()) as importer:
        assert importer.file_structure().has_file("net/words.txt")
        assert importer.load_text("net", "words.txt") == "one two"
        assert importer.import_module("net").word == "hello"
    assert server.asked == [f"bytes=-{OPENING}"]
    server.clear()
    assert main(["inspect", server.address(), "--tensors"]) == 0
    assert "layer.2" in capsys.readouterr().out
    assert server.asked == [f"bytes=-{OPENING}"]


@pytest.mark.parametrize("library", ["numpy", "kellet"])
def test_whole_state_dict_is_fetched_once_in_ranges_of_some_mib(
    served: FileServer, many: bytes, library: str
) -> None:
    with PackageImporter(served.address()) as importer:
        found = importer.load_state_dict("model", "weights", as_=library).copy()
    assert [int(found[f"layers.{n:05}.w"][0]) for n in range(0, COUNT, 500)] == [*range(0, COUNT, 500)]
    spans = sorted(_spans(served.asked[1:], len(many)))
    assert all(stop <= start for (_, stop), (start, _) in itertools.pairwise(spans))  # nothing twice
    data = importer_data_size(many)
    assert len(spans) == 1 + -(-data // (4 << 20)) + (data % (4 << 20) == 0)
    assert served.sent == OPENING + sum(stop - start for start, stop in spans) <= len(many) + GRAIN


def importer_data_size(many: bytes) -> int:
    """Return how many bytes the tensors take."""
    return COUNT * 64 * 8


def test_loop_over_a_state_dict_fetches_ahead(served: FileServer, many: bytes) -> None:
    with PackageImporter(served.address()) as importer:
        state = importer.load_state_dict("model", "weights")
        assert all(int(state[key][0]) == number for number, key in enumerate(state))
    assert len(served.asked) < 10
    assert served.sent <= OPENING + len(many)


def test_scattered_tensors_are_fetched_side_by_side(served: FileServer) -> None:
    with PackageImporter(served.address()) as importer:
        state = importer.load_state_dict("model", "weights")
        served.clear()
        keys = ["layers.00001.w", "layers.00002.w", "layers.19000.w"]
        assert [int(value[0]) for value in state.many(keys).values()] == [1, 2, 19000]
    assert len(served.asked) == 2


def test_verify_reads_every_byte_about_once_and_keeps_few(served: FileServer, many: bytes) -> None:
    outcome = packager.verify(served.address())
    assert outcome.ok
    assert outcome.identity == packager.verify(many).identity
    assert outcome.file_sha256 is None
    assert len(many) <= served.sent <= len(many) + OPENING + 2 * GRAIN


def _spans(asked: list[str], size: int) -> Iterator[tuple[int, int]]:
    for one in asked:
        first, _, last = one.removeprefix("bytes=").partition("-")
        yield (int(first), int(last) + 1) if first else (size - int(last), size)
