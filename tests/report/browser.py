"""A headless Chromium with one page, driven over its DevTools protocol; what leaves or fails is kept."""

from __future__ import annotations

import base64
import itertools
import json
import os
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

__all__ = ["Browser", "browser"]


class Browser:
    """One page of a browser. `requests` are the addresses that it asked for, `complaints` what it logged."""

    def __init__(self, address: str) -> None:
        import websocket  # not needed to collect the tests

        self._socket = websocket.create_connection(address, timeout=120, suppress_origin=True)
        self._numbers = itertools.count(1)
        self._loaded = False
        self.requests: list[str] = []
        self.complaints: list[str] = []
        for domain in ("Page", "Network", "Runtime", "Log"):
            self.call(f"{domain}.enable")

    def close(self) -> None:
        """Let go of the page."""
        self._socket.close()

    def call(self, method: str, **parameters: Any) -> Any:
        """Carry out a method of the protocol; return its result. Raises RuntimeError where it fails."""
        number = next(self._numbers)
        self._socket.send(json.dumps({"id": number, "method": method, "params": parameters}))
        while True:
            message = json.loads(self._socket.recv())
            if message.get("id") == number:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']}")
                return message["result"]
            self._keep(message)

    def _keep(self, message: dict[str, Any]) -> None:
        said = message.get("params", {})
        match message.get("method"):
            case "Network.requestWillBeSent":
                self.requests.append(said["request"]["url"])
            case "Runtime.exceptionThrown":
                self.complaints.append(json.dumps(said["exceptionDetails"])[:500])
            case "Runtime.consoleAPICalled":
                self.complaints.append(json.dumps(said["args"])[:500])
            case "Log.entryAdded":
                self.complaints.append(json.dumps(said["entry"])[:500])
            case "Page.loadEventFired":
                self._loaded = True

    def open(
        self,
        page: Path | str,
        *,
        width: int = 1440,
        height: int = 800,
        dark: bool = False,
        script: bool = True,
    ) -> float:
        """Open a file, and return the seconds until it is laid out."""
        self.call("Emulation.setScriptExecutionDisabled", value=not script)
        self.resize(width, height, dark=dark)
        self._go("about:blank")  # a place within the page that is open would load nothing
        self.requests.clear()
        self.complaints.clear()
        began = time.monotonic()
        self._go(page.resolve().as_uri() if isinstance(page, Path) else page)
        self.evaluate("document.body.offsetHeight")
        return time.monotonic() - began

    def _go(self, address: str) -> None:
        self._loaded = False
        self.call("Page.navigate", url=address)
        while not self._loaded:
            self._keep(json.loads(self._socket.recv()))

    def resize(self, width: int, height: int, *, dark: bool = False) -> None:
        """Give the window a size, and the colours of the user's choice."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=height, deviceScaleFactor=1, mobile=width < 600,
        )  # fmt: skip
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", media="", features=[scheme])

    def evaluate(self, expression: str) -> Any:
        """Return the value of an expression of JavaScript; one that is a promise is waited for."""
        found = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in found:
            raise RuntimeError(json.dumps(found["exceptionDetails"])[:800])
        return found["result"].get("value")

    def look(self, *, contrast: bool = True) -> list[str]:
        """Return what axe-core finds that is serious or critical: rule, how often, and where first."""
        import axe_core_python

        script = Path(axe_core_python.__file__).with_name("axe.min.js")
        self.evaluate(script.read_text(encoding="utf-8"))
        found = self.evaluate(
            "axe.run(document,{resultTypes:['violations'],rules:{'color-contrast':{enabled:"
            f"{str(contrast).lower()}"
            "}}}).then(r=>r.violations.map("
            "v=>[v.impact,v.id,v.nodes.length,v.nodes[0].html.slice(0,200)]))"
        )
        return [str(one) for one in found if one[0] in ("serious", "critical")]

    def print(self) -> bytes:
        """Return the page as PDF."""
        return base64.b64decode(self.call("Page.printToPDF", preferCSSPageSize=True)["data"])

    def picture(self, path: Path, *, whole: bool = False) -> None:
        """Write what is seen as PNG, or the whole page down to 6,000 pixels."""
        more: dict[str, Any] = {}
        if whole:
            size = self.call("Page.getLayoutMetrics")["cssContentSize"]
            more["clip"] = {
                "x": 0, "y": 0, "width": size["width"], "height": min(size["height"], 6000), "scale": 1,
            }  # fmt: skip
        taken = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole, **more)
        path.write_bytes(base64.b64decode(taken["data"]))


@contextmanager
def browser(folder: Path) -> Iterator[Browser]:
    """Give a page of a Chromium of its own, which ends with the block. Its profile lies in `folder`."""
    program = shutil.which("chromium")
    assert program is not None, "these tests need the command chromium: apt-get install chromium"
    options = [
        "--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-port=0",
        "--disable-background-networking", "--disable-component-update", "--no-first-run",
        "--disable-dev-shm-usage", f"--user-data-dir={folder / 'profile'}", "about:blank",
    ]  # fmt: skip
    process = subprocess.Popen(
        [program, *options],
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        env={**os.environ, "HOME": str(folder)},
    )
    try:
        assert process.stderr is not None
        port = next(
            found[1] for line in process.stderr if (found := re.search(rb"ws://127\.0\.0\.1:(\d+)/", line))
        ).decode()
        with closing(Browser(f"ws://127.0.0.1:{port}/devtools/page/{_first_page(int(port))}")) as page:
            yield page
    finally:
        process.terminate()
        process.wait(30)
        if process.stderr is not None:
            process.stderr.close()


def _first_page(port: int) -> str:
    from urllib.request import urlopen

    for _ in range(100):
        with urlopen(f"http://127.0.0.1:{port}/json/list") as answer:
            pages = [one["id"] for one in json.load(answer) if one["type"] == "page"]
        if pages:
            return str(pages[0])
        time.sleep(0.1)
    raise RuntimeError("Chromium has no page")
