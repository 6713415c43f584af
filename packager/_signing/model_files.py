"""Bundles of OpenSSF Model Signing (OMS), which sign files by their sha256: for the verifiers of others.

Of its methods `files` with sha256 is written and read. Source: github.com/ossf/model-signing-spec, v1.0.
"""

from __future__ import annotations

import os
from datetime import UTC, datetime
from hashlib import sha256

from packager._disk import file_sha256, files_below
from packager.errors import ArchiveError, NotAsSignedError

from .bundles import expect, is_digest, map_with, read_bundle, read_payload, shown
from .signers import Judgement, bundle_file
from .statements import Statement, spelled, subject_of

TYPE_CHECKING = False  # as in packager._lazy
if TYPE_CHECKING:
    from collections.abc import Collection
    from typing import Any, Final

    from .signers import Signers

_OMS_TYPE: Final = "https://model_signing/signature/v1.0"
_IGNORED: Final = (".git", ".gitattributes", ".github", ".gitignore")
_HOW: Final = {"method": "files", "hash_type": "sha256", "allow_symlinks": False}


def spell_files(path: str) -> bytes:
    """Return the statement about one file, which is read once; its name is that of the reference tool."""
    digest = file_sha256(path)
    resources = [{"name": ".", "algorithm": "sha256", "digest": digest}]
    root = {"sha256": sha256(bytes.fromhex(digest)).hexdigest()}
    return spelled(_OMS_TYPE, {"serialization": _HOW, "resources": resources}, os.path.basename(path), root)


def is_of_files(signature: str) -> bool:
    """Say whether a bundle is of OMS. Raises ArchiveError for what is no bundle."""
    payload = read_bundle(bundle_file(signature), signature).payload
    return bool(read_payload(payload, signature)["predicateType"] == _OMS_TYPE)


def judge_files(signers: Signers, path: str, signature: str, ignore: Collection[str] = ()) -> Judgement:
    """Decide whether a file, or a folder, is what one of the signers signed by the OMS bundle `signature`.

    Paths in the folder to `ignore` are not looked at. A rule that asks for approved code, or for a time,
    refuses such a bundle, which says neither. Raises SignersError where the rules lie beside or in it.
    """
    signers.require_apart(path)
    try:
        bundle = read_bundle(bundle_file(signature), signature)
        silent = Statement("", "", {"codeDigest": "of files"}, datetime.fromtimestamp(0, UTC), {})
        judgement = signers.decide([(signature, bundle, silent)], "", path)
        if judgement.ok:
            _require_files(bundle.payload, path, signature, ignore)
    except (ArchiveError, NotAsSignedError) as error:
        return Judgement("broken", str(error))
    return judgement


def _require_files(payload: bytes, path: str, signature: str, ignore: Collection[str]) -> None:
    """Read a file, or all of a folder. Raises NotAsSignedError for those that are not as they were signed."""
    signed, ignored = read_signed(payload, signature)
    if os.path.isdir(path):
        left_out = {*_IGNORED, *ignored, *ignore, os.path.relpath(signature, path)}
        found = {name: file_sha256(os.path.join(path, name)) for name in files_below(path, left_out)}
    else:
        found = {"." if "." in signed else os.path.basename(path): file_sha256(path)}
    if wrong := [name for name in {**signed, **found} if signed.get(name) != found.get(name)]:
        raise NotAsSignedError.listing(f"{path}: these files are not as they were signed:", sorted(wrong))


def read_signed(payload: bytes, what: str) -> tuple[dict[str, str], list[str]]:
    """Return the sha256 of each file that an OMS statement names, and the paths that it leaves out."""
    top = read_payload(payload, what)
    _, root = subject_of(top, "sha256", _OMS_TYPE, what)
    predicate = map_with(top["predicate"], ("resources", "serialization"), f"{what}, predicate")
    how = map_with(predicate["serialization"], _HOW, f"{what}, serialization", ("ignore_paths",))
    for name, value in _HOW.items():
        expect(repr(how[name]) == repr(value), what, f"{name} {shown(how[name])}", repr(value))
    rows, ignored, signed = predicate["resources"], how.get("ignore_paths", []), dict[str, str]()
    is_right = type(ignored) is list and all(map(_is_path, ignored))
    expect(is_right, what, f"ignore_paths {shown(ignored)}", "relative paths")
    for row in rows if type(rows) is list else ():
        named = row if type(row) is dict else {}
        given: list[Any] = [named.get(one) for one in ("name", "digest", "algorithm")]
        is_right = _is_path(given[0]) and is_digest(given[1]) and given[2] == "sha256"
        expect(is_right, what, f"the resource {shown(given)}", "a relative path, and its sha256")
        expect(given[0] not in signed, what, f"the resource {shown(given[0])} twice", "each once")
        signed[given[0]] = given[1]
    whole = sha256(b"".join(map(bytes.fromhex, signed.values()))).hexdigest()
    expect(signed != {} and whole == root, what, "another subject", "the digest of its resources")
    return signed, ignored


def _is_path(name: Any) -> bool:
    """Say whether a name is a relative path in its one spelling; a colon may mean a part of a file."""
    if type(name) is not str or any(mark in name for mark in ":\\\0"):
        return False
    return name == "." or not {"", ".", ".."} & {*name.split("/")}
