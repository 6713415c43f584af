"""Addresses as they are given: how they are spelled, and what of them is never shown."""

from __future__ import annotations

import json
import os
import pickle
import sys
from pathlib import Path

import numpy as np
import pytest

import kellet
import packager
from kellet.nn import Linear
from packager import PackageExporter, PackageImporter, Predictor
from packager._cli.main import main
from packager._remote import address_in, hide_secrets
from packager.errors import AddressError, PackageError, RemoteError
from tests import processes
from tests.remote.conftest import archive_of
from tests.remote.serving import FileServer, serving

X = np.ones((3, 2), np.float32)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """An archive with a model and its golden call."""
    path = tmp_path_factory.mktemp("model") / "net.kellet"
    with PackageExporter(path) as exporter:
        exporter.save_object("model", "model", Linear(2, 1), example=X)
    return path.read_bytes()


def secret(address: str) -> str:
    """Return an address with what must not be shown."""
    return address.replace("://", "://me:pass%20word@") + "?token=xyzzy"


def test_public_calls_take_an_address(model: bytes, tmp_path: Path) -> None:
    with serving({"/net.kellet": model, "/other.kellet": archive_of({"w": X})}) as server:
        address = server.address()
        with PackageImporter(address) as importer:
            expected = importer.run({"input": X})["output"]
            assert importer.check()[0].within(1e-6)
        assert np.array_equal(packager.load(address)(kellet.from_numpy(X)).detach().numpy(), expected)
        assert packager.verify(address).ok
        assert not packager.compare_files(address, address)
        assert packager.compare_files(address, server.address("other.kellet"))
        assert packager.bill_of_materials(address)
        assert np.array_equal(Predictor(address).predict(X), expected)
        assert packager.open_checkpoint(server.address("other.kellet"))["w"].shape == (3, 2)


COMMANDS = ["inspect U", "inspect U --json", "verify U --json", "report U -o r.html", "check U --json"]
COMMANDS += ["diff U U --run", "run U --input x.npz", "verify U", "sbom U", "env check U", "extract U out"]


def test_commands_take_an_address_and_show_no_secret(
    model: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    np.savez("x.npz", input=X)
    with serving({"/net.kellet?token=xyzzy": model}) as server:
        for command in COMMANDS:
            assert main(command.replace("U", secret(server.address())).split()) == 0, command
            shown = "".join(capsys.readouterr())
            assert not any(word in shown for word in ("xyzzy", "pass%20word", "pass word")), command
        assert "Authorization" in server.headers[-1]
    for file in tmp_path.rglob("*"):
        assert not file.is_file() or b"xyzzy" not in file.read_bytes()
    assert main(["inspect", secret(server.address())]) == 3
    shown = "".join(capsys.readouterr())
    assert server.address() in shown
    assert not any(word in shown for word in ("xyzzy", "pass%20word", "pass word"))


def test_secret_is_in_no_error_name_or_environment(model: bytes) -> None:
    with serving({"/net.kellet?token=xyzzy": model}) as server:
        with PackageImporter(secret(server.address())) as importer:
            importer.load_object()
            assert (importer.filename, importer.archive.name) == (server.address(), server.address())
            assert "xyzzy" not in repr(importer) + json.dumps(dict(os.environ))
        assert repr(Predictor(secret(server.address()))) == f"Predictor({server.address()!r})"
        assert "xyzzy" not in repr(address_in(secret(server.address())))
        with pytest.raises(RemoteError) as told:
            PackageImporter(secret(server.address("none.kellet")))
    assert "xyzzy" not in str(told.value) + repr(told.value) + told.value.address
    assert "xyzzy" not in str(pickle.dumps(told.value))


def test_two_queries_of_one_path_stay_two_addresses() -> None:
    hidden = [hide_secrets(f"https://models.example/get?file={name}") for name in "ab"]
    assert [str(text) for text in hidden] == ["https://models.example/get"] * 2
    assert [str(address_in(hide_secrets(text)).url)[-1] for text in hidden] == ["a", "b"]  # type: ignore[union-attr]  # both are addresses


def test_secret_of_one_call_is_not_sent_by_the_next(model: bytes, capsys: pytest.CaptureFixture[str]) -> None:
    with serving({"/net.kellet?token=xyzzy": model, "/net.kellet": model}) as server:
        found = packager.compare_files(secret(server.address()), server.address())
        assert (found.before, found.after, bool(found)) == (server.address(), server.address(), False)
        assert main(["diff", secret(server.address()), secret(server.address())]) == 0
        assert "xyzzy" not in "".join(capsys.readouterr()) + str(pickle.dumps(found))
        server.clear()
        packager.load(server.address())
        assert server.headers
        assert not any("Authorization" in headers for headers in server.headers)


def test_predictor_goes_to_another_process_by_its_address(model: bytes) -> None:
    program = (
        "import pickle, sys; import numpy; "
        "predictor = pickle.loads(bytes.fromhex(sys.argv[1])); "
        "print(predictor.predict(numpy.ones((3, 2), 'float32')).shape, predictor)"
    )
    with serving({"/net.kellet?token=xyzzy": model}) as server:
        data = pickle.dumps(Predictor(secret(server.address()))).hex()
        done = processes.run(
            [sys.executable, "-c", program, data], capture_output=True, text=True, check=False
        )
    assert done.stdout.strip() == f"(3, 1) Predictor({server.address()!r})", done.stderr


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("a b.kellet", "/a%20b.kellet"),
        ("a%20b.kellet", "/a%20b.kellet"),
        ("100%.kellet", "/100%25.kellet"),
        ("größe.kellet", "/gr%C3%B6%C3%9Fe.kellet"),
        ("a+b;c=d,e.kellet", "/a+b;c=d,e.kellet"),
        ("a\r\nb.kellet", "/a%0D%0Ab.kellet"),
    ],
)
def test_path_is_quoted_once(name: str, path: str, small: bytes) -> None:
    with serving({path: small}) as server, PackageImporter(server.address(name)) as importer:
        assert importer.load_text("net", "words.txt") == "one two"


@pytest.mark.parametrize("host", ["::1", "localhost", "LOCALHOST"])
def test_hosts_of_other_forms_are_found(host: str, small: bytes) -> None:
    with serving({"/net.kellet": small}, "::1" if host == "::1" else "127.0.0.1") as server:
        address = server.address(host=None if host == "::1" else host).replace("http:", "HTTP:")
        with PackageImporter(address) as importer:
            assert importer.load_text("net", "words.txt") == "one two"


@pytest.mark.parametrize(
    "address",
    [
        "http:///net.kellet",
        "http://",
        "https://host:99999/x",
        "https://[::1/x",
        "http://a b/x",
        "s3://bucket",
        "s3:///x",
    ],
)
def test_address_without_host_or_path_is_refused(address: str) -> None:
    with pytest.raises(AddressError, match=r"expected (http|https|s3)://"):
        PackageImporter(address)


def test_empty_file_and_file_of_another_kind_are_no_archives(server: FileServer) -> None:
    server.files |= {"/empty": b"", "/text": b"hello", "/net.npy": b"\x93NUMPY" + bytes(100)}
    server.fault = lambda handler, number: (
        handler.path == "/empty" and bool(handler.answer(416, b"", {"Content-Range": "bytes */0"}) or True)
    )
    for name in ("empty", "text"):
        with pytest.raises(PackageError, match=name):
            PackageImporter(server.address(name))
    with pytest.raises(PackageError, match=r"is an \.npy file of NumPy"):
        PackageImporter(server.address("net.npy"))


def test_host_that_is_not_there_is_an_error() -> None:
    with pytest.raises(RemoteError, match="Connection refused"):
        PackageImporter("http://127.0.0.1:9/net.kellet")
    with pytest.raises(RemoteError, match="it cannot be read"):
        PackageImporter("http://no-such-host.invalid/net.kellet")
