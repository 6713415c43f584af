"""The web server of the guide, with two processes."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("uvicorn")

from tests.serving.conftest import write_layer

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "guides" / "workers.md"


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    """Where the program of the guide answers, beside an archive of the name that it opens."""
    (program,) = re.findall(
        r"```python\n(from fastapi .*?)^```$", GUIDE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )
    (tmp_path / "app.py").write_text(program, encoding="utf-8")
    write_layer(tmp_path / "net.kellet")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    command = [sys.executable, "-m", "uvicorn", "app:app", "--workers", "2", "--port", port]
    server = subprocess.Popen(command, cwd=tmp_path, start_new_session=True)
    try:
        for _ in range(600):
            try:
                socket.create_connection(("127.0.0.1", int(port))).close()
                break
            except OSError:
                assert server.poll() is None, "the server ended"
                time.sleep(0.1)
        yield f"http://127.0.0.1:{port}/predict"
    finally:
        os.killpg(server.pid, 15)
        server.wait(30)


def asked(url: str, body: object) -> object:
    """Post JSON; return what is answered."""
    request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)


@pytest.mark.long
def test_two_processes_answer_and_refuse_wrong_inputs(address: str) -> None:
    assert [asked(address, [[1, number]]) for number in range(8)] == [[[2.0 + number]] for number in range(8)]
    with pytest.raises(urllib.error.HTTPError, match="422") as caught:
        asked(address, [[1, 2, 3]])
    assert "do not fit, and it was not called" in json.load(caught.value)["detail"]
