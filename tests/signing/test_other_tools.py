"""The tools of others, run as they are: what we sign they verify, and what they sign we verify."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

pytest.importorskip("cryptography")

from packager._cli import main
from packager._signing import Signer, Signers, judge_files, sign_files
from packager._signing.bundles import read_bundle, read_payload
from packager.errors import ArchiveError

from .signed_files import Pair, pem_of, root
from .vectors import main as judge_vectors

pytest.importorskip("model_signing")
pytest.importorskip("OpenSSL")

from tests import processes

Keys = Callable[[str], Pair]


def tool(*arguments: str | os.PathLike[str]) -> tuple[int, str]:
    """Run the reference tool of model signing, and return its exit code and what it says."""
    command = [sys.executable, "-W", "ignore", "-m", "model_signing", *map(str, arguments)]
    done = processes.run(command, capture_output=True, text=True, check=False, cold=True)
    return done.returncode, done.stdout + done.stderr


def model(folder: Path) -> Path:
    """A folder of a model, as others have it."""
    (folder / "model" / "sub").mkdir(parents=True)
    (folder / "model" / "weights.bin").write_bytes(b"\0" * 1000)
    (folder / "model" / "sub" / "config.json").write_text("{}")
    (folder / "model" / ".git").mkdir()
    (folder / "model" / ".git" / "HEAD").write_text("not signed")
    return folder / "model"


@pytest.fixture
def chain(tmp_path: Path, keys: Keys) -> tuple[Path, Path, Path]:
    """An authority, one between, and a certificate of our key: as files."""
    authority = root()
    middle_key = keys("middle").key
    middle = type(authority)(authority.issue("middle", middle_key, ca=True), middle_key)
    leaf = middle.issue("ci", keys("ours").key)
    (tmp_path / "conf").mkdir()
    paths = tmp_path / "conf" / "ca.pem", tmp_path / "middle.pem", tmp_path / "leaf.pem"
    for path, one in zip(paths, (authority.certificate, middle.certificate, leaf), strict=True):
        path.write_bytes(pem_of(one))
    return paths


def test_a_bundle_of_ours_is_verified_by_the_tool(archive: Path, keys: Keys) -> None:
    ours = keys("ours")
    assert main(["sign", str(archive), "--key", str(ours.pem), "--oms"]) == 0
    asked = ["verify", "key", "--public_key", ours.pub, "--signature", f"{archive}.sig", archive]
    assert tool(*asked) == (0, "Verification succeeded\n")
    asked[3] = keys("other").pub
    assert tool(*asked)[0] == 1
    archive.write_bytes(archive.read_bytes() + b"\0")
    asked[3] = ours.pub
    assert tool(*asked)[0] == 1


def test_a_bundle_of_ours_with_certificates_is_verified_by_the_tool(
    archive: Path, keys: Keys, chain: tuple[Path, Path, Path], tmp_path: Path
) -> None:
    authority, middle, leaf = chain
    (tmp_path / "chain.pem").write_bytes(leaf.read_bytes() + middle.read_bytes())
    signer = Signer.of(keys("ours").pem, cert=tmp_path / "chain.pem")
    signature = sign_files(str(archive), signer)
    asked = ["verify", "certificate", "--certificate_chain", authority, "--signature", signature, archive]
    assert tool(*asked) == (0, "Verification succeeded\n")
    assert main(["verify", str(archive), "--ca", str(authority), "--signature", signature]) == 0


def test_a_bundle_of_the_tool_is_verified_by_ours(tmp_path: Path, keys: Keys) -> None:
    folder, ours = model(tmp_path), keys("ours")
    signature = tmp_path / "model.sig"
    code, said = tool("sign", "key", "--private_key", ours.pem, "--signature", signature, folder)
    assert code == 0, said
    assert main(["verify", str(folder), "--signature", str(signature), "--key", str(ours.pub)]) == 0
    assert main(["verify", str(folder), "--signature", str(signature), "--key", str(keys("other").pub)]) == 6
    (folder / ".git" / "more").write_text("not signed either")
    assert main(["verify", str(folder), "--signature", str(signature), "--key", str(ours.pub)]) == 0
    (folder / "more").write_text("not signed")
    line = ["verify", str(folder), "--signature", str(signature), "--key", str(ours.pub)]
    assert main(line) == 7
    assert main([*line, "--ignore", "more"]) == 0
    (folder / "sub" / "config.json").write_text("{ }")
    assert main([*line, "--ignore", "more"]) == 7


def test_a_bundle_of_the_tool_with_certificates_is_verified_by_ours(
    tmp_path: Path, keys: Keys, chain: tuple[Path, Path, Path]
) -> None:
    authority, middle, leaf = chain
    folder, signature = model(tmp_path / "models"), tmp_path / "model.sig"
    code, said = tool(
        *("sign", "certificate", "--private_key", keys("ours").pem, "--signing_certificate", leaf),
        *("--certificate_chain", middle, "--signature", signature, folder),
    )
    assert code == 0, said
    signers = Signers.of(authority)
    assert signers is not None
    assert judge_files(signers, str(folder), str(signature)).ok
    other = tmp_path / "conf" / "other.pem"
    other.write_bytes(pem_of(root().certificate))
    others = Signers.of(other)
    assert others is not None
    assert judge_files(others, str(folder), str(signature)).state == "foreign"


def test_a_single_file_may_have_either_name(archive: Path, keys: Keys) -> None:
    ours, signature = keys("ours"), f"{archive}.sig"
    code, said = tool("sign", "key", "--private_key", ours.pem, "--signature", signature, archive)
    assert code == 0, said
    signers = Signers.of(ours.pub)
    assert signers is not None
    assert judge_files(signers, str(archive), signature).ok


def test_a_folder_without_vectors_is_no_success(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert judge_vectors(str(tmp_path)) == 1
    assert "0 vectors" in capsys.readouterr().out


def test_a_vector_that_is_judged_otherwise_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "valid").mkdir()
    (tmp_path / "valid" / "x.bundle.json").write_text(json.dumps({}))
    assert judge_vectors(str(tmp_path)) == 1
    assert "WRONG refused  valid x.bundle.json" in capsys.readouterr().out


def test_a_bundle_has_so_many_maps_and_lists_and_no_more() -> None:
    lists = b",".join([b"[]"] * 1023)
    with pytest.raises(ArchiveError, match=r"^a\.json: found \[\[\], .*; expected a map$"):
        read_bundle(b"[" + lists + b"]", "a.json")
    with pytest.raises(
        ArchiveError, match=r"^a\.json: found more than 1024 maps and lists; expected at most 1024\."
    ):
        read_bundle(b"[[]," + lists + b"]", "a.json")


def test_what_was_signed_has_so_many_texts_and_no_more() -> None:
    texts = b'"",' * ((1 << 19) - 1)
    with pytest.raises(ArchiveError, match=r"^a\.json, statement: found .*; expected a map$"):
        read_payload(b"[" + texts + b'""]', "a.json")
    with pytest.raises(ArchiveError, match=r"found more than 524288 texts; expected at most 524288\."):
        read_payload(b'[["",""],' + texts[:-1] + b"]", "a.json")
