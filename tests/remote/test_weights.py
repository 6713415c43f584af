"""Files of weights at addresses: headers first, tensors by ranges, shards by their index."""

from __future__ import annotations

import io
import json
import os
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save

from packager import compare_files, open_checkpoint
from packager._cli.main import main
from packager._remote.ranges import OPENING
from packager.errors import IdentityMismatchError, LegacyFormatError, RemoteError
from tests.remote.conftest import archive_of
from tests.remote.serving import serving

STATE = {f"layer.{n}": np.full((256, 1024), n, np.float32) for n in range(6)}


def folder() -> dict[str, bytes]:
    """Return a sharded checkpoint, by path."""
    shards = [{key: STATE[key] for key in [*STATE][first::2]} for first in (0, 1)]
    names = [f"model-0000{number}-of-00002.safetensors" for number in (1, 2)]
    places = {key: name for shard, name in zip(shards, names, strict=True) for key in shard}
    index = json.dumps({"metadata": {}, "weight_map": places}).encode()
    files = dict(zip(names, map(save, shards), strict=True)) | {"model.safetensors.index.json": index}
    return {f"/net/{name}": data for name, data in files.items()}


def test_safetensors_file_is_opened_by_one_request_and_a_tensor_takes_one_more() -> None:
    with serving({"/net.safetensors": save(STATE)}) as server:
        with open_checkpoint(server.address("net.safetensors")) as checkpoint:
            assert (checkpoint.format, [*checkpoint]) == ("safetensors", [*STATE])
            assert server.asked == [f"bytes=0-{OPENING - 1}"]
            assert (checkpoint["layer.3"].numpy() == 3).all()
            assert len(server.asked) == 2
            assert repr(checkpoint) == "<safetensors 'net.safetensors': 6 keys>"
        server.clear()
        with open_checkpoint(server.address("net.safetensors")) as checkpoint:
            found = checkpoint.state_dict("numpy")
            assert all((found[key] == STATE[key]).all() for key in STATE)
        assert len(server.asked) <= 5
        assert server.sent <= 6 * (1 << 20) + OPENING + (1 << 16)


@pytest.mark.parametrize("name", ["net/model.safetensors.index.json", "net/"])
def test_shards_are_read_by_their_index(name: str) -> None:
    with serving(folder()) as server, open_checkpoint(server.address(name)) as checkpoint:
        assert checkpoint.shards == 2
        assert len(server.asked) == 3
        assert all((checkpoint[key].numpy() == STATE[key]).all() for key in STATE)


def test_query_and_login_of_the_index_go_to_its_shards() -> None:
    files = {f"{path}?token=hidden": data for path, data in folder().items()}
    with serving(files) as server:
        address = (
            server.address("net/model.safetensors.index.json").replace("//", "//me:secret@") + "?token=hidden"
        )
        with open_checkpoint(address) as checkpoint:
            assert (checkpoint["layer.5"].numpy() == 5).all()
            assert "hidden" not in repr(checkpoint) + str(checkpoint.path) + repr(checkpoint.path)
        assert {headers.get("Authorization") for headers in server.headers} == {"Basic bWU6c2VjcmV0"}


def test_index_leads_nowhere_else() -> None:
    index = json.dumps({"weight_map": {"w": "../../secret.safetensors"}}).encode()
    with serving({"/net/model.safetensors.index.json": index}) as server:
        with pytest.raises(LegacyFormatError, match="not the name of a file beside the index"):
            open_checkpoint(server.address("net/"))
        assert len(server.asked) == 1


def test_missing_shard_is_told_by_its_address() -> None:
    files = folder()
    del files["/net/model-00002-of-00002.safetensors"]
    with (
        serving(files) as server,
        pytest.raises(RemoteError, match=r"model-00002-of-00002\.safetensors.*404"),
    ):
        open_checkpoint(server.address("net/"))


def test_archive_is_opened_as_weights_by_one_request() -> None:
    with serving({"/net.kellet": archive_of(STATE), "/net": archive_of(STATE)}) as server:
        with open_checkpoint(server.address()) as checkpoint:
            assert (checkpoint.format, len(checkpoint), len(server.asked)) == ("kellet", 6, 1)
        with open_checkpoint(server.address("net")) as checkpoint:
            assert (checkpoint["layer.2"].numpy() == 2).all()


def test_other_formats_are_read_too() -> None:
    file = io.BytesIO()
    np.savez(file, **STATE)
    with (
        serving({"/net.npz": file.getvalue()}) as server,
        open_checkpoint(server.address("net.npz")) as checkpoint,
    ):
        assert (checkpoint.format, checkpoint["layer.4"].shape) == ("npz", (256, 1024))


def test_commands_take_weights_at_addresses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    with serving({**folder(), "/net.safetensors": save(STATE)}) as server:
        whole, shards = server.address("net.safetensors"), server.address("net/model.safetensors.index.json")
        assert main(["inspect", whole]) == 0
        assert "layer.3" in capsys.readouterr().out
        assert main(["convert", shards, "net.kellet"]) == 0
        assert main(["diff", whole, "net.kellet"]) == 0
        assert not compare_files(whole, shards)
        assert not compare_files(whole, "net.kellet")


@pytest.mark.parametrize("name", ["net.safetensors", "net/", "net.npz"])
def test_pin_of_an_address_that_leads_to_no_archive_is_an_error(name: str) -> None:
    arrays = io.BytesIO()
    np.savez(arrays, w=np.ones(3))
    files = {"/net.safetensors": save(STATE), "/net.npz": arrays.getvalue(), **folder()}
    with serving(files) as server:
        pinned = f"{server.address(name)}#sha256={64 * 'a'}"
        with pytest.raises(
            IdentityMismatchError, match=r"pins archives; found (safetensors|npz); leave it out"
        ):
            open_checkpoint(pinned)
        with pytest.raises(IdentityMismatchError, match="pins archives"):
            compare_files(
                server.address("net.npz"), pinned if name != "net/" else pinned.replace("net/", "net.npz")
            )
        assert main(["inspect", pinned]) != 0


@pytest.mark.unix
def test_shards_hold_no_descriptors(monkeypatch: pytest.MonkeyPatch) -> None:
    names = {f"layer.{n}": f"model-{n:05}-of-00060.safetensors" for n in range(60)}
    files = {f"/net/{name}": save({key: np.full(1000, 1.0)}) for key, name in names.items()}
    files["/net/model.safetensors.index.json"] = json.dumps({"weight_map": names}).encode()
    accepted = []
    with serving(files) as server:
        taken = server.get_request
        monkeypatch.setattr(server, "get_request", lambda: accepted.append(1) or taken())
        before = len(os.listdir("/proc/self/fd"))
        with open_checkpoint(server.address("net/")) as checkpoint:
            assert len(checkpoint.state_dict("numpy")) == checkpoint.shards == 60
            assert len(os.listdir("/proc/self/fd")) - before < 12  # those of the server are among them
        assert len(server.asked) == 61
        assert len(accepted) <= 2


@pytest.mark.unix
def test_shards_at_many_hosts_hold_few_descriptors(monkeypatch: pytest.MonkeyPatch) -> None:
    names = {f"layer.{n}": f"model-{n:05}-of-00030.safetensors" for n in range(30)}
    index = json.dumps({"weight_map": names}).encode()
    with ExitStack() as opened:
        server = opened.enter_context(serving({"/net/model.safetensors.index.json": index}))
        others = [
            opened.enter_context(serving({f"/net/{name}": save({key: np.full(1000, 1.0)})}))
            for key, name in names.items()
        ]
        places = {path: other.address(path[1:]) for other in others for path in other.files}
        server.fault = lambda handler, number: (
            handler.path in places and (handler.answer(302, b"", {"Location": places[handler.path]}) or True)
        )
        before = len(os.listdir("/proc/self/fd"))
        with open_checkpoint(server.address("net/")) as checkpoint:
            assert len(checkpoint.state_dict("numpy")) == 30
            assert len(os.listdir("/proc/self/fd")) - before < 40  # with the ends of the servers
