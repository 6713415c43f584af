"""Archives that are served on loopback, and no long waits between attempts."""

from __future__ import annotations

import io
from collections.abc import Iterator

import numpy as np
import pytest

from packager import PackageExporter
from packager._remote import http_ranges
from tests.remote.serving import FileServer, serving


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Try again at once, and take no rules of signers from the environment."""
    monkeypatch.setattr(http_ranges, "FIRST_WAIT", 0.001)
    monkeypatch.delenv("KELLET_SIGNERS", raising=False)


SOURCE = """
word = 'hello'
class Greeter:
    def greet(self, name):
        return f'{word} {name}'
"""


def archive_of(state: dict[str, np.ndarray], **texts: str) -> bytes:
    """Return an archive with a state dict, a module and texts."""
    file = io.BytesIO()
    with PackageExporter(file, prove=False) as exporter:
        exporter.save_state_dict("model", "weights", state)
        exporter.save_source_string("net", SOURCE)
        for name, text in texts.items():
            exporter.save_text("net", f"{name}.txt", text)
    return file.getvalue()


@pytest.fixture(scope="session")
def small() -> bytes:
    """An archive of three MiB: the opening request does not reach its tensors."""
    numbers = np.random.default_rng(0)
    state = {f"layer.{n}": numbers.standard_normal((64, 4096), dtype=np.float32) for n in range(3)}
    return archive_of(state, words="one two")


@pytest.fixture
def server(small: bytes) -> Iterator[FileServer]:
    """A server with that archive, as `net.kellet`."""
    with serving({"/net.kellet": small}) as found:
        yield found
