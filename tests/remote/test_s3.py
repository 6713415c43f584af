"""An S3 server on loopback: archives and weights in a bucket, credentials of the environment."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import obstore
import pytest
from obstore.store import S3Store
from safetensors.numpy import save

from packager import PackageImporter, open_checkpoint, verify
from packager.errors import AddressError, RemoteError
from tests.remote.conftest import archive_of

pytest.importorskip("moto")

STATE = {f"layer.{n}": np.full((256, 1024), n, np.float32) for n in range(6)}


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture
def store(endpoint: str, monkeypatch: pytest.MonkeyPatch) -> S3Store:
    """The bucket "models", as the environment says who may read it."""
    import boto3

    for name, value in {
        "AWS_ENDPOINT_URL": endpoint,
        "AWS_ACCESS_KEY_ID": "someone",
        "AWS_SECRET_ACCESS_KEY": "xyzzy",
        "AWS_REGION": "us-east-1",
        "AWS_ALLOW_HTTP": "true",
    }.items():
        monkeypatch.setenv(name, value)
    boto3.client("s3", endpoint_url=endpoint, region_name="us-east-1").create_bucket(Bucket="models")
    return S3Store("models")


@pytest.mark.parametrize(
    "key", ["net.kellet", "a/b/net.kellet", "with space/net 1.kellet", "100%/n%20t.kellet"]
)
def test_archive_in_a_bucket_is_read_in_ranges(store: Any, key: str) -> None:
    data = archive_of(STATE, words="one two")
    obstore.put(store, key, data)
    with PackageImporter(f"s3://models/{key}#sha256={verify(data).identity}") as importer:
        found = importer.load_state_dict("model", "weights", as_="numpy").copy()
        assert all((found[name] == STATE[name]).all() for name in STATE)
        assert importer.load_text("net", "words.txt") == "one two"
        assert importer.filename == f"s3://models/{key}"
    assert verify(f"s3://models/{key}").ok


def test_weights_in_a_bucket_are_read_in_ranges(store: Any) -> None:
    obstore.put(store, "net.safetensors", save(STATE))
    with open_checkpoint("s3://models/net.safetensors") as checkpoint:
        assert all((checkpoint[key].numpy() == STATE[key]).all() for key in STATE)


def test_object_that_is_replaced_while_it_is_read_is_an_error(store: Any) -> None:
    obstore.put(store, "net.kellet", archive_of(STATE))
    with PackageImporter("s3://models/net.kellet") as importer:
        obstore.put(store, "net.kellet", archive_of({name: 2 * value for name, value in STATE.items()}))
        with pytest.raises(RemoteError, match="changed while it was read"):
            importer.load_state_dict("model", "weights").copy()


def test_what_is_not_there_is_told_without_credentials(store: Any) -> None:
    with pytest.raises(RemoteError, match=r"^s3://models/none\.kellet, .*it cannot be read") as told:
        PackageImporter("s3://models/none.kellet")
    assert "xyzzy" not in str(told.value)
    with pytest.raises(RemoteError, match=r"^s3://no-bucket/none\.kellet"):
        PackageImporter("s3://no-bucket/none.kellet")


def test_without_obstore_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "obstore", None)
    with pytest.raises(AddressError, match=r"pip install 'kellet\[remote\]'"):
        PackageImporter("gs://models/net.kellet")
