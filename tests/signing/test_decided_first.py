"""Who signed is decided by the manifest and the signatures: nothing else of an archive is read before."""

from __future__ import annotations

import json
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

pytest.importorskip("cryptography")

from packager import PackageImporter, Signer
from packager._signing import sign_archive
from packager.errors import (
    CodeRefusedError,
    IntegrityError,
    OtherSignerError,
    PackageError,
    RefusedByRuleError,
    UnsignedError,
)
from tests import processes

from .signed_files import Pair

Keys = Callable[[str], Pair]


def damage(path: Path) -> None:
    """Change every byte but those of manifest, digest and signatures, their headers, and the directory."""
    data = bytearray(path.read_bytes())
    with zipfile.ZipFile(path) as opened:
        first = next(one for one in opened.infolist() if one.filename == ".data/manifest.msgpack")
    for at in range(first.header_offset):
        data[at] ^= 0xFF
    path.write_bytes(data)


@pytest.fixture
def signed(archive: Path, keys: Keys) -> Path:
    sign_archive(str(archive), Signer.of(keys("ours").pem))
    return archive


@pytest.mark.parametrize("mmap", [True, False, "prefetch"])
def test_an_archive_of_which_all_else_is_damaged_is_judged_as_before(
    signed: Path, keys: Keys, tmp_path: Path, mmap: bool | str
) -> None:
    damage(signed)
    (tmp_path / "conf").mkdir()
    rules = tmp_path / "conf" / "signers.toml"
    rules.write_text(f'[[allow]]\nkeys = ["{keys("ours").pub}"]\ncode_digest = "{"0" * 64}"\n')
    with pytest.raises(OtherSignerError):
        PackageImporter(signed, signed_by=keys("other").pub, mmap=mmap)
    with pytest.raises(RefusedByRuleError, match="is not approved"):
        PackageImporter(signed, signed_by=rules, mmap=mmap)
    with pytest.raises(CodeRefusedError):
        PackageImporter(signed, signed_by=keys("ours").pub, code=False, mmap=mmap)
    with PackageImporter(signed, signed_by=keys("ours").pub, mmap=mmap, environment="ignore") as importer:
        with pytest.raises(PackageError):  # what is used is checked then
            importer.import_module("shop")
        with pytest.raises(PackageError):
            importer.load_state_dict("shop", "state")["w"]
    assert not (signed.parent / "ran").exists()


def test_an_unsigned_one_is_refused_whatever_the_rest_is(archive: Path, keys: Keys) -> None:
    damage(archive)
    with pytest.raises(UnsignedError):
        PackageImporter(archive, signed_by=keys("ours").pub)


def test_damage_after_the_decision_is_found_where_bytes_are_used(signed: Path, keys: Keys) -> None:
    data = signed.read_bytes()
    signed.write_bytes(data.replace(b"answer = 42", b"answer = 43"))
    with (
        PackageImporter(signed, signed_by=keys("ours").pub, environment="ignore") as importer,
        pytest.raises(IntegrityError, match="do not have the sha256"),
    ):
        importer.import_module("shop")


WATCHED = """
import json, sys
sys.path[:] = json.loads({path!r})
import packager, packager.package_importer, packager._archive.reader, packager._archive.byte_sources
import packager._signing.signers, packager._signing.keys, packager._loading.packaged_code
events, ranges = [], []


read = packager._archive.byte_sources.read_into


def watched(view, descriptor, position):
    done = read(view, descriptor, position)
    ranges.append((position, position + done))
    return done


packager._archive.byte_sources.read_into = watched


def hook(event, arguments):
    names = (
        "open", "exec", "compile", "import", "subprocess.Popen", "os.system", "socket.connect",
        "mmap.__new__",
        "pickle.find_class", "marshal.loads", "os.listdir", "os.scandir", "os.remove", "os.rename",
        "os.mkdir",
    )
    if event in names:
        events.append((event, str(arguments[0])[:300]))


sys.addaudithook(hook)
refused = ""
try:
    packager.PackageImporter({archive!r}, signed_by={who!r}, code={code!r}, bytecode=None, mmap={mmap!r})
except packager.PackageError as error:
    refused = type(error).__name__
seen = list(events)
print(json.dumps([refused, seen, ranges]))
"""


@pytest.mark.parametrize(
    ("who", "code", "refused"),
    [
        ("other", True, "OtherSignerError"),
        ("ours", False, "CodeRefusedError"),
        ("rules", True, "RefusedByRuleError"),
    ],
)
def test_an_audit_hook_sees_the_archive_and_the_rules_and_nothing_else(
    signed: Path, keys: Keys, tmp_path: Path, who: str, code: bool, refused: str
) -> None:
    (tmp_path / "conf").mkdir()
    rules = tmp_path / "conf" / "signers.toml"
    rules.write_text(f'[[allow]]\nkeys = ["{keys("ours").pub}"]\nnot_before = 2999-01-01\n')
    given = str(rules if who == "rules" else keys(who).pub)
    for mmap in (True, False):
        program = WATCHED.format(
            path=json.dumps(sys.path), archive=str(signed), who=given, code=code, mmap=mmap
        )
        done = processes.run(
            [sys.executable, "-c", program], capture_output=True, text=True, cold=True, check=True
        )
        found, events, ranges = json.loads(done.stdout)
        assert found == refused
        installed = {"open", "import", "exec", "compile", "marshal.loads", "os.listdir"}
        ours = [
            one for one in events if one[0] not in installed or str(tmp_path) in one[1] or "keys" in one[1]
        ]
        allowed = {str(signed), str(rules), *(str(keys(name).pub) for name in ("ours", "other"))}
        assert {one[1] for one in ours if one[0] == "open"} <= allowed
        assert {one[0] for one in ours} <= {"open", "mmap.__new__"}
        assert not [one for one in events if "shop" in one[1] and one[0] in ("compile", "exec", "import")]
        if not mmap:
            with zipfile.ZipFile(signed) as opened:
                first = next(one for one in opened.infolist() if one.filename == ".data/manifest.msgpack")
            assert ranges
            assert min(start for start, _ in ranges) >= first.header_offset
