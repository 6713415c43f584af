"""The one flow: sign what is there or what is exported, and load only what one of ours has signed."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("cryptography")

from packager import PackageImporter, SignatureError, Signer, Signers, verify
from packager._archive import ArchiveReader
from packager._cli import main
from packager._signing import Rule, code_digest, judged, sign_archive
from packager.errors import (
    ArchiveError,
    ArgumentError,
    CodeRefusedError,
    IntegrityError,
    NotAsSignedError,
    OtherSignerError,
    RefusedByRuleError,
    SignatureWarning,
    SignersError,
    UnsignedError,
)

from .signed_files import Pair, pem_of, root, save

Keys = Callable[[str], Pair]


def test_only_an_archive_of_ours_is_loaded(archive: Path, keys: Keys) -> None:
    ours, other = keys("ours"), keys("other")
    with pytest.raises(UnsignedError, match=r"net\.kellet: it has no signature"):
        PackageImporter(archive, signed_by=ours.pub)
    name = sign_archive(str(archive), Signer.of(ours.pem))
    assert name.startswith(".data/signatures/key-")
    with pytest.raises(OtherSignerError, match=r"it claims key .*, but this signer is not allowed"):
        PackageImporter(archive, signed_by=other.pub)
    assert not (archive.parent / "ran").exists()
    with PackageImporter(archive, signed_by=ours.pub, environment="ignore") as importer:
        assert importer.import_module("shop").answer == 42
        assert importer.archive.tensor_digests == "sha256"
    assert (archive.parent / "ran").exists()


@pytest.mark.parametrize("form", ["text", "path", "signers", "rules", "environment", "certificate"])
def test_who_may_sign_is_said_in_several_ways(
    archive: Path, keys: Keys, form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = keys("ours")
    (tmp_path / "conf").mkdir()
    rules = tmp_path / "conf" / "signers.toml"
    rules.write_text(f'[[allow]]\narchives = ["models/*.kellet"]\nkeys = ["{ours.pub}"]\n')
    signer, given = Signer.of(ours.pem), None
    if form == "text":
        given: Any = ours.pub.read_text()
    elif form == "path":
        given = ours.pub
    elif form == "signers":
        given = Signers.of(ours.pub)
    elif form == "rules":
        given = rules
    elif form == "environment":
        monkeypatch.setenv("KELLET_SIGNERS", str(rules))
    else:
        authority = root()
        (tmp_path / "chain.pem").write_bytes(pem_of(authority.issue("ci", ours.key)))
        (tmp_path / "ca.pem").write_bytes(pem_of(authority.certificate))
        signer, given = Signer.of(ours.pem, cert=tmp_path / "chain.pem"), tmp_path / "ca.pem"
    sign_archive(str(archive), signer)
    with PackageImporter(archive, signed_by=given) as importer:
        assert judged(given, importer.archive, str(archive)).ok
    with pytest.raises(SignatureError):
        PackageImporter(save(archive.parent / "other.kellet"), signed_by=given)


def test_a_signature_changes_no_other_entry_and_several_stand_beside_each_other(
    archive: Path, keys: Keys
) -> None:
    with ArchiveReader(archive) as reader:
        identity = reader.identity
    before = archive.read_bytes()
    with zipfile.ZipFile(archive) as opened:
        entries = {one.filename: (one.header_offset, opened.read(one)) for one in opened.infolist()}
    for name in ("zoe", "ann"):
        sign_archive(str(archive), Signer.of(keys(name).pem, name=name))
    with zipfile.ZipFile(archive) as opened:
        after = {one.filename: (one.header_offset, opened.read(one)) for one in opened.infolist()}
    assert {name: after[name] for name in entries} == entries
    assert [*after][-2:] == [f".data/signatures/{name}.sigstore.json" for name in ("ann", "zoe")]
    kept = entries[".data/manifest.sha256"]
    assert archive.read_bytes()[: kept[0]] == before[: kept[0]]
    with ArchiveReader(archive) as reader:
        assert reader.identity == identity
    assert verify(archive).ok
    for name in ("ann", "zoe"):
        PackageImporter(archive, signed_by=keys(name).pub).close()


def test_a_signature_of_the_same_name_is_not_replaced_unasked(archive: Path, keys: Keys) -> None:
    signer = Signer.of(keys("ours").pem, by="one")
    sign_archive(str(archive), signer)
    with pytest.raises(ArchiveError, match="exists already: --replace it, or give this one another --name"):
        sign_archive(str(archive), signer)
    sign_archive(str(archive), Signer.of(keys("ours").pem, by="two"), replace=True)
    with PackageImporter(archive, signed_by=keys("ours").pub) as importer:
        assert len(importer.archive.signatures()) == 1
        statement = judged(keys("ours").pub, importer.archive, str(archive)).statement
        assert statement is not None
        assert statement.provenance["by"] == "two"


def test_an_unzipped_archive_is_signed_too(archive: Path, keys: Keys, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    zipfile.ZipFile(archive).extractall(folder)
    sign_archive(str(folder), Signer.of(keys("ours").pem))
    PackageImporter(folder, signed_by=keys("ours").pub).close()
    assert verify(folder).ok


def test_a_detached_signature_lies_beside(archive: Path, keys: Keys) -> None:
    before = archive.read_bytes()
    beside = sign_archive(str(archive), Signer.of(keys("ours").pem), detached=True)
    assert beside == f"{archive}.sigstore.json"
    assert archive.read_bytes() == before
    PackageImporter(archive, signed_by=keys("ours").pub).close()
    with pytest.raises(UnsignedError):  # nothing lies beside bytes
        PackageImporter(before, signed_by=keys("ours").pub)


def test_an_export_is_signed_before_it_has_its_name(tmp_path: Path, keys: Keys) -> None:
    path = save(tmp_path / "net.kellet", sign=keys("ours").pem, by="vision team")
    with PackageImporter(path, signed_by=keys("ours").pub) as importer:
        found = judged(keys("ours").pub, importer.archive, str(path))
        assert found.statement is not None
        assert found.statement.provenance["by"] == "vision team"
        assert found.statement.name == "net.kellet"
        assert "provenance" not in importer.manifest.environment
    assert verify(path).ok


def test_equal_content_has_equal_bytes_unless_the_manifest_is_to_have_the_provenance(tmp_path: Path) -> None:
    plain = [save(tmp_path / f"{name}.kellet", code="", by=name).read_bytes() for name in ("ann", "zoe")]
    assert plain[0] == plain[1]
    told = save(tmp_path / "told.kellet", code="", by="ann", provenance=True)
    with PackageImporter(told) as importer:
        assert importer.manifest.environment["provenance"]["by"] == "ann"


def test_code_is_refused_where_none_is_asked_for(archive: Path, tmp_path: Path) -> None:
    with pytest.raises(CodeRefusedError, match="the archive contains code, which code=False"):
        PackageImporter(archive, code=False)
    assert main(["run", str(archive), "--no-code", "--text", "x"]) == 9
    with __import__("packager").PackageExporter(tmp_path / "data.kellet", prove=False) as exporter:
        exporter.save_state_dict("net", "state", {"w": [1.0]})
    PackageImporter(tmp_path / "data.kellet", code=False).close()


def test_tensors_that_the_identity_does_not_bind_are_refused(tmp_path: Path, keys: Keys) -> None:
    path = save(tmp_path / "net.kellet", digests="crc", sign=keys("ours").pem)
    with pytest.raises(IntegrityError, match="its identity does not cover the tensors"):
        PackageImporter(path, signed_by=keys("ours").pub)
    PackageImporter(path, signed_by=keys("ours").pub, digests="crc").close()


RULES: dict[str, tuple[str, type[Exception] | None]] = {
    "": ("", None),
    "other path": ('archives = ["teams/*.kellet"]', OtherSignerError),
    "later": ("not_before = 2999-01-01", RefusedByRuleError),
    "earlier": ("not_before = 2020-01-01", None),
    "other code": (f'code_digest = "{"0" * 64}"', RefusedByRuleError),
    "revoked key": ('revoked = ["KEY"]', RefusedByRuleError),
    "revoked archive": ('revoked = ["IDENTITY"]', RefusedByRuleError),
}


@pytest.mark.parametrize("case", RULES)
def test_a_rule_admits_and_refuses(archive: Path, keys: Keys, tmp_path: Path, case: str) -> None:
    ours = keys("ours")
    sign_archive(str(archive), Signer.of(ours.pem))
    with ArchiveReader(archive) as reader:
        identity = reader.identity
    key = Signer.of(ours.pem).key
    assert key is not None
    text, error = RULES[case]
    text = text.replace("KEY", key.public.fingerprint).replace("IDENTITY", identity)
    (tmp_path / "conf").mkdir()
    rules = tmp_path / "conf" / "signers.toml"
    rules.write_text(f'[[allow]]\nkeys = ["{ours.pub}"]\n{text}\n')
    if error is None:
        PackageImporter(archive, signed_by=rules).close()
        return
    with pytest.raises(error, match="rule 1 of"):
        PackageImporter(archive, signed_by=rules)
    rules.write_text(f'mode = "warn"\n[[allow]]\nkeys = ["{ours.pub}"]\n{text}\n')
    only_warns = error is OtherSignerError
    with pytest.warns(SignatureWarning) if only_warns else pytest.raises(error, match="rule 1 of"):
        PackageImporter(archive, signed_by=rules).close()


def test_new_weights_need_no_new_look_and_changed_code_does(
    tmp_path: Path, keys: Keys, capsys: pytest.CaptureFixture[str]
) -> None:
    ours, conf = keys("ours"), tmp_path / "conf"
    conf.mkdir()
    (tmp_path / "models").mkdir()
    rules = conf / "signers.toml"
    rule = f'[[allow]]\nkeys = ["{ours.pub}"]'
    text = f"# of the team\n{rule}  # the release job\n\n{rule}\n"
    rules.write_text(text)
    first = save(tmp_path / "models" / "first.kellet", code="answer = 1\n", sign=ours.pem)
    with ArchiveReader(first) as reader:
        digest = code_digest(reader.manifest)
    assert main(["approve", str(first), "--signers", str(rules)]) == 1
    assert f"--code {digest}" in capsys.readouterr().out
    assert main(["approve", str(first), "--signers", str(rules), "--code", "0" * 64]) == 1
    assert rules.read_text() == text
    assert main(["approve", str(first), "--signers", str(rules), "--code", digest]) == 0
    assert rules.read_text() == text.replace(
        "[[allow]]\nkeys", f'[[allow]]\ncode_digest = ["{digest}"]\nkeys', 1
    )
    rules.write_text("".join(rules.read_text().partition("\n\n")[0]) + "\n")
    trained = save(tmp_path / "models" / "trained.kellet", code="answer = 1\n", weights=2.0, sign=ours.pem)
    PackageImporter(trained, signed_by=rules).close()
    assert main(["approve", str(trained), "--signers", str(rules)]) == 0
    changed = save(tmp_path / "models" / "changed.kellet", code="answer = 2\n", sign=ours.pem)
    with pytest.raises(RefusedByRuleError, match="is not approved"):
        PackageImporter(changed, signed_by=rules)
    capsys.readouterr()
    assert main(["approve", str(changed), "--signers", str(rules)]) == 1
    assert "other code is. Give --against" in " ".join(capsys.readouterr().err.split())
    line = ["approve", str(changed), "--signers", str(rules), "--against", str(first)]
    assert main(line) == 1
    shown = capsys.readouterr().out
    assert "-answer = 1" in shown
    assert "+answer = 2" in shown
    assert main([*line, "--code", shown.rpartition("--code ")[2].strip()]) == 0
    PackageImporter(changed, signed_by=rules).close()


def test_a_file_that_was_signed_elsewhere_says_so(
    archive: Path, keys: Keys, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    ours, other = keys("ours"), keys("other")
    assert main(["sign", str(archive), "--key", str(ours.pem), "--by", "vision team"]) == 0
    capsys.readouterr()
    for options, code, said in (
        (["--key", str(ours.pub)], 0, "verified: signed by key"),
        (["--key", str(other.pub)], 6, "this signer is not allowed"),
        ([], 0, "signature not checked: give --key FILE; it claims key"),
    ):
        assert main(["verify", str(archive), *options]) == code
        out, err = capsys.readouterr()
        assert said in " ".join((out + err).split())
        assert ("identity" in out) is (code == 0)
        assert main(["verify", str(archive), "--json", *options]) == code
        found = json.loads(capsys.readouterr().out)
        assert found["ok"] is (code == 0)
        assert (found["signature"]["fingerprint"] is not None) is ("ours" in str(options))
    damaged = archive.read_bytes().replace(b"answer = 42", b"answer = 43")
    archive.write_bytes(damaged)
    assert main(["verify", str(archive), "--key", str(ours.pub)]) == 7
    assert "identity" not in capsys.readouterr().out


@pytest.mark.parametrize("command", ["inspect", "report", "sbom", "run", "check"])
def test_every_surface_says_who_signed(
    archive: Path, keys: Keys, tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    ours, other = keys("ours"), keys("other")
    line = {
        "inspect": ["inspect", str(archive)],
        "report": ["report", str(archive), "-o", str(tmp_path / "out.html")],
        "sbom": ["sbom", str(archive), "-o", str(tmp_path / "out.json")],
        "run": ["run", str(archive), "--text", "x"],
        "check": ["check", str(archive)],
    }[command]

    def said(*more: str) -> tuple[int, str]:
        code = main([*line, *more])
        written = [one.read_text() for one in tmp_path.glob("out.*")]
        return code, " ".join(" ".join((*capsys.readouterr(), *written)).split())

    looks = command not in ("run", "check")
    assert not looks or "unsigned" in said()[1]
    sign_archive(str(archive), Signer.of(ours.pem, by="vision team"))
    assert "not checked" in said()[1]
    assert "vision team" in said()[1]
    good = said("--signed-by", str(ours.pub))[1]
    assert "signature good" in good
    assert "signed by key" in good
    code, text = said("--signed-by", str(other.pub))
    assert "this signer is not allowed" in text
    assert code == (0 if looks else 6)
    shutil.copy(archive, archive.parent / "second.kellet")
    sign_archive(str(save(archive, code="")), Signer.of(ours.pem), detached=True)
    shutil.copy(archive.parent / "second.kellet", archive)  # beside it lies the signature of another one
    code, text = said("--signed-by", str(ours.pub))
    assert "a signature of another archive" in text
    assert code == (0 if looks else 7)


def test_rules_of_the_environment_hold_and_can_be_set_aside_by_name(
    archive: Path, keys: Keys, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "conf").mkdir()
    rules = tmp_path / "conf" / "signers.toml"
    rules.write_text(f'[[allow]]\nkeys = ["{keys("ours").pub}"]\n')
    monkeypatch.setenv("KELLET_SIGNERS", str(rules))
    with pytest.raises(UnsignedError):
        PackageImporter(archive)
    PackageImporter(archive, signed_by="anyone").close()
    save(archive.parent / "exported.kellet")  # its proof loads what nobody has signed yet
    monkeypatch.setenv("KELLET_SIGNERS", str(tmp_path / "gone.toml"))
    with pytest.raises(SignersError, match="not taken as a key or as rules: No such file or directory"):
        PackageImporter(archive)


WRONG_RULES = {
    "empty": "",
    "no signer": "[[allow]]\narchives = ['*']",
    "unknown key": "[[allow]]\nkeys = ['KEY']\nadmit = true",
    "unknown mode": "mode = 'off'\n[[allow]]\nkeys = ['KEY']",
    "no list": "[[allow]]\nkeys = 3",
    "empty list": "[[allow]]\nkeys = []",
    "no archives": "[[allow]]\nkeys = ['KEY']\narchives = []",
    "odd pattern": "[[allow]]\nkeys = ['KEY']\narchives = ['a**']",
    "no digest": "[[allow]]\nkeys = ['KEY']\ncode_digest = 'abc'",
    "no date": "[[allow]]\nkeys = ['KEY']\nnot_before = 'today'",
    "a time without a zone": "[[allow]]\nkeys = ['KEY']\nnot_before = 2026-01-01T00:00:00",
    "no issuer": "[[allow]]\nidentities = [{identity = 'me@example.org'}]",
    "no TOML": "[[allow]\n",
    "a private key": "[[allow]]\nkeys = ['PRIVATE']",
    "no file": "[[allow]]\nkeys = ['gone.pub']",
}


@pytest.mark.parametrize("case", WRONG_RULES)
def test_rules_that_cannot_be_read_admit_nothing(
    archive: Path, keys: Keys, tmp_path: Path, case: str
) -> None:
    ours = keys("ours")
    sign_archive(str(archive), Signer.of(ours.pem))
    (tmp_path / "conf").mkdir()
    rules = tmp_path / "conf" / "signers.toml"
    rules.write_text(WRONG_RULES[case].replace("KEY", str(ours.pub)).replace("PRIVATE", str(ours.pem)))
    with pytest.raises(SignersError):
        PackageImporter(archive, signed_by=rules)
    assert main(["check", str(archive), "--signed-by", str(rules)]) == 3


def test_what_is_no_key_cannot_be_signed_with(keys: Keys, tmp_path: Path) -> None:
    from cryptography.hazmat.primitives.asymmetric import rsa

    from .signed_files import PEM, serialization

    key = rsa.generate_private_key(65537, 2048)
    private = key.private_bytes(PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    (tmp_path / "rsa.pem").write_bytes(private)
    for path in (tmp_path / "rsa.pem", keys("ours").pub, tmp_path / "gone.pem"):
        with pytest.raises(SignersError, match="it cannot be signed with"):
            Signer.of(path)
    for name in ("../x", "a b", "x" * 65, "é"):
        with pytest.raises(SignersError, match="expected at most 64 ASCII letters"):
            Signer.of(keys("ours").pem, name=name)


@pytest.mark.parametrize("way", ["sign", "export", "signed_by", "verify", "exporter", "bytes"])
def test_a_private_key_is_never_shown(
    archive: Path, keys: Keys, capsys: pytest.CaptureFixture[str], way: str
) -> None:
    text, said = keys("ours").pem.read_text(), ""
    inner = text.splitlines()[1][:20]
    lines = {
        "sign": ["sign", str(archive), "--key", text],
        "export": ["export", "kellet.nn:ReLU", "-o", str(archive.parent / "x.kellet"), "--sign", text],
        "verify": ["verify", str(archive), "--key", text],
    }
    if way in lines:
        assert main(lines[way]) != 0
        said = "".join(capsys.readouterr())
    else:
        given: Any = text.encode() if way == "bytes" else text
        make = partial(save, sign=given) if way != "signed_by" else partial(PackageImporter, signed_by=given)
        with pytest.raises(ArgumentError) as caught:
            make(archive)
        said = str(caught.value)
    assert inner not in said
    assert "a private key" in said


def test_signers_at_the_same_time_lose_nothing(archive: Path, keys: Keys) -> None:
    line = "import sys; from packager._cli import main; sys.stdin.read(); sys.exit(main(sys.argv[1:]))"
    command = [sys.executable, "-c", line, "sign", str(archive), "--key", str(keys("ours").pem), "--name"]
    started = [subprocess.Popen([*command, f"n{one}"], stdin=subprocess.PIPE) for one in range(6)]
    for process in started:
        assert process.stdin is not None
        process.stdin.close()
    assert [process.wait() for process in started] == [0] * 6
    with ArchiveReader(archive) as reader:
        assert len(reader.signatures()) == 6


@pytest.mark.parametrize("kind", ["--detached", "--oms"])
def test_a_signature_beside_the_file_is_not_replaced_unasked(
    archive: Path, keys: Keys, capsys: pytest.CaptureFixture[str], kind: str
) -> None:
    line = ["sign", str(archive), "--key", str(keys("ours").pem), kind]
    beside = Path(f"{archive}{'.sig' if kind == '--oms' else '.sigstore.json'}")
    assert main([*line, "--name", "x"]) == 1
    assert main(line) == 0
    before = beside.read_bytes()
    assert main([*line, "--by", "again"]) != 0
    assert beside.name in capsys.readouterr().err
    assert beside.read_bytes() == before
    assert main([*line, "--replace"]) == 0
    assert beside.read_bytes() != before


def test_a_folder_and_a_long_name_are_refused(
    archive: Path, keys: Keys, capsys: pytest.CaptureFixture[str]
) -> None:
    line = ["sign", "--key", str(keys("ours").pem)]
    assert main([*line, str(archive.parent), "--oms"]) != 0
    assert "it is a folder; expected one file" in " ".join(capsys.readouterr().err.split())
    with pytest.raises(ArgumentError, match="expected at most 200 characters"):
        Signer.of(keys("ours").pem, by="x" * 201)


def test_what_nobody_has_verified_is_a_claim(archive: Path, keys: Keys, capsys: Any) -> None:
    sign_archive(str(archive), Signer.of(keys("ours").pem))
    assert main(["inspect", str(archive)]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "signature not checked: give --signed-by FILE; it claims key" in said
    assert "contents not checked: `kellet verify` checks them" in said


def test_the_password_of_a_key_is_taken_from_the_environment(
    archive: Path, keys: Keys, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from .signed_files import PEM, serialization

    how = serialization.BestAvailableEncryption(b"secret")
    sealed = keys("ours").key.private_bytes(PEM, serialization.PrivateFormat.PKCS8, how)
    (tmp_path / "sealed.pem").write_bytes(sealed)
    with pytest.raises(SignersError, match=r"is encrypted: .*KELLET_KEY_PASSWORD"):
        Signer.of(tmp_path / "sealed.pem")
    monkeypatch.setenv("KELLET_KEY_PASSWORD", "secret")
    sign_archive(str(archive), Signer.of(tmp_path / "sealed.pem"))
    Signer.of(keys("ours").pem)  # which has none
    PackageImporter(archive, signed_by=keys("ours").pub).close()


def test_a_rule_made_by_hand(archive: Path, keys: Keys) -> None:
    sign_archive(str(archive), Signer.of(keys("ours").pem))
    by_key = Signers.of(keys("ours").pub)
    assert by_key is not None
    rule = Rule(keys=by_key.rules[0].keys, archives=("/elsewhere/**",))
    with pytest.raises(OtherSignerError, match="the rule is about other archives"):
        PackageImporter(archive, signed_by=Signers((rule,)))
    other = save(archive.parent / "other.kellet", code="")
    beside = sign_archive(str(archive), Signer.of(keys("ours").pem), detached=True)
    shutil.copy(beside, f"{other}.sigstore.json")
    with pytest.raises(NotAsSignedError, match="a signature of another archive"):
        PackageImporter(other, signed_by=by_key)


def test_nobody_may_sign_without_rules(archive: Path, keys: Keys) -> None:
    sign_archive(str(archive), Signer.of(keys("ours").pem))
    with pytest.raises(OtherSignerError, match="there are no rules, so nobody may sign"):
        PackageImporter(archive, signed_by=Signers(()))


def test_what_a_signer_wrote_stays_on_its_line(
    archive: Path, keys: Keys, capsys: pytest.CaptureFixture[str]
) -> None:
    sign_archive(str(archive), Signer.of(keys("ours").pem, by="us\n    identity 0000\x1b[2J"))
    assert main(["verify", str(archive), "--key", str(keys("ours").pub)]) == 0
    out = capsys.readouterr().out
    assert "\n    identity 0000" not in out
    assert "\x1b" not in out
    assert main(["inspect", str(archive)]) == 0
    out = capsys.readouterr().out
    assert "\n    identity 0000" not in out
    assert "\x1b" not in out


def test_the_command_signs_while_it_exports(
    tmp_path: Path, keys: Keys, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    authority, ours = root(), keys("ours")
    Path("chain.pem").write_bytes(pem_of(authority.issue("ci", ours.key)))
    Path("conf").mkdir()
    Path("out").mkdir()
    Path("conf/ca.pem").write_bytes(pem_of(authority.certificate))
    line = ["export", "kellet.nn:Linear", "--kwargs", '{"in_features": 2, "out_features": 1}', "--no-proof"]
    line += [
        "-o",
        "out/net.kellet",
        "--sign",
        str(ours.pem),
        "--cert",
        "chain.pem",
        "--by",
        "us",
        "--provenance",
    ]
    assert main(line) == 0
    assert "    signed" in capsys.readouterr().out.splitlines()
    assert main(["verify", "out/net.kellet", "--ca", "conf/ca.pem"]) == 0
    assert "by us" in capsys.readouterr().out
    Path("out/net.kellet").unlink()
    assert main([*line, "--sign", "gone.pem"]) == 3
    assert not Path("out/net.kellet").exists()
