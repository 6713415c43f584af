"""What is said and refused when something is signed: provenance kept, certificates, names, and the time."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("cryptography")
from cryptography import x509

from packager import PackageExporter, PackageImporter, Signer
from packager._archive import ArchiveReader
from packager._cli import main
from packager._signing import judged, sign_archive
from packager._signing.signers import claims_of
from packager.errors import ArgumentError, SignatureWarning, SignersError

from .signed_files import Pair, pair, pem_of, root, save

Keys = Callable[[str], Pair]


@pytest.fixture
def exported(tmp_path: Path, keys: Keys) -> Path:
    """An archive that was signed when it was exported, by ours."""
    (tmp_path / "models").mkdir()
    return save(tmp_path / "models" / "net.kellet", sign=keys("ours").pem, by="vision team")


def said_by(archive: Path, key: Pair) -> dict[str, Any]:
    with ArchiveReader(archive) as reader:
        statement = judged(key.pub, reader, str(archive)).statement
    assert statement is not None
    return dict(statement.provenance)


@pytest.mark.parametrize("detached", [False, True])
def test_the_same_key_signs_again_what_it_signed(exported: Path, keys: Keys, detached: bool) -> None:
    before = said_by(exported, keys("ours"))
    assert before.keys() >= {"by", "packager", "python"}
    again = Signer.of(keys("ours").pem, name="" if detached else "again")
    sign_archive(str(exported), again, detached=detached)
    with ArchiveReader(exported) as reader:
        claims = claims_of(reader, str(exported))
    assert isinstance(claims, list)
    assert [dict(statement.provenance) for _, _, statement in claims] == [before, before]


@pytest.mark.parametrize("by", ["", "release job"])
def test_a_signature_that_takes_the_place_of_its_own_keeps_what_it_said(
    exported: Path, keys: Keys, by: str
) -> None:
    before = said_by(exported, keys("ours"))
    sign_archive(str(exported), Signer.of(keys("ours").pem, by=by), replace=True)
    assert said_by(exported, keys("ours")) == {**before, "by": by or "vision team"}


def test_what_another_key_said_is_told_and_not_signed_again(exported: Path, keys: Keys) -> None:
    with pytest.warns(SignatureWarning, match="does not repeat packager, python: other keys have signed"):
        sign_archive(str(exported), Signer.of(keys("other").pem, by="us"))
    assert said_by(exported, keys("other")) == {"by": "us"}
    assert said_by(exported, keys("ours"))["by"] == "vision team"


def test_what_the_manifest_says_is_signed_by_every_key(tmp_path: Path, keys: Keys) -> None:
    (tmp_path / "models").mkdir()
    path = save(tmp_path / "models" / "net.kellet", sign=keys("ours").pem, by="us", provenance=True)
    before = said_by(path, keys("ours"))
    sign_archive(str(path), Signer.of(keys("other").pem))
    assert said_by(path, keys("other")) == before


CERTIFICATES: dict[str, tuple[dict[str, Any], str]] = {
    "over": ({"days": (-30, -1)}, "a certificate is valid from .* to .* alone"),
    "not yet": ({"days": (1, 30)}, "a certificate is valid from .* to .* alone"),
    "for servers": ({"purpose": x509.ExtendedKeyUsageOID.SERVER_AUTH}, "not one for signing code"),
    "without a use": ({"usage": "none"}, "not one for signing code"),
    "an authority's": ({"ca": True}, "not one for signing code"),
    "on a condition": ({"odd": True}, r"conditions that are not known: 1\.2\.3"),
}


@pytest.mark.parametrize("case", CERTIFICATES)
def test_a_certificate_that_no_loader_takes_signs_nothing(
    archive: Path, keys: Keys, tmp_path: Path, case: str, capsys: pytest.CaptureFixture[str]
) -> None:
    more, why = CERTIFICATES[case]
    before, chain = archive.read_bytes(), tmp_path / "chain.pem"
    chain.write_bytes(pem_of(root().issue("ci", keys("ours").key, **more)))
    with pytest.raises(
        SignersError, match=rf"ours\.pem with .*chain\.pem: it cannot be signed with: .*{why}"
    ):
        Signer.of(keys("ours").pem, cert=chain)
    assert main(["sign", str(archive), "--key", str(keys("ours").pem), "--cert", str(chain)]) == 3
    assert re.search(why, " ".join(capsys.readouterr().err.split()))
    assert archive.read_bytes() == before


def test_a_certificate_between_that_is_over_signs_nothing(keys: Keys, tmp_path: Path) -> None:
    authority = root()
    between = pair(tmp_path, "between")
    for days in ((-1, 30), (-30, -1)):
        middle = type(authority)(authority.issue("m", between.key, ca=True, days=days), between.key)
        leaf = middle.issue("ci", keys("ours").key)
        (tmp_path / "chain.pem").write_bytes(pem_of(leaf, middle.certificate))
        if days[1] > 0:
            Signer.of(keys("ours").pem, cert=tmp_path / "chain.pem")
            continue
        with pytest.raises(SignersError, match="a certificate is valid from"):
            Signer.of(keys("ours").pem, cert=tmp_path / "chain.pem")


@pytest.mark.parametrize("way", ["sign", "path", "provenance", "plain"])
def test_a_name_has_one_limit_however_it_is_given(tmp_path: Path, keys: Keys, way: str) -> None:
    path, key = tmp_path / "net.kellet", keys("ours").pem
    make: dict[str, Callable[[str], object]] = {
        "sign": lambda by: Signer.of(key, by=by),
        "path": lambda by: save(path, sign=key, by=by),
        "provenance": lambda by: save(path, provenance=True, by=by),
        "plain": lambda by: save(path, by=by),
    }
    make[way]("x" * 200)
    for by, why in (("x" * 201, "expected at most 200 characters, found 201"), ("\ud800", "a UTF-8 form")):
        with pytest.raises(ArgumentError, match=why):
            make[way](by)
    with pytest.raises(ArgumentError, match="expected the name of an author or a team, found int"):
        PackageExporter(path, by=3)  # type: ignore[arg-type]  # that is the question


def test_inspect_says_when_it_was_signed(
    exported: Path, keys: Keys, capsys: pytest.CaptureFixture[str]
) -> None:
    with ArchiveReader(exported) as reader:
        statement = judged(keys("ours").pub, reader, str(exported)).statement
    assert statement is not None
    when = f"(statement: by vision team, signed {statement.signed:%Y-%m-%dT%H:%M:%SZ})"
    for options in ([], ["--signed-by", str(keys("ours").pub)]):
        assert main(["inspect", str(exported), *options]) == 0
        assert capsys.readouterr().out.splitlines()[3].strip() == when
        assert main(["inspect", str(exported), "--json", *options]) == 0
        assert json.loads(capsys.readouterr().out)["signature"].endswith(when)


def test_several_signatures_of_others_stand_on_lines_of_their_own(
    archive: Path, keys: Keys, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("ann", "zoe"):
        sign_archive(str(archive), Signer.of(keys(name).pem))
    assert main(["inspect", str(archive), "--signed-by", str(keys("ours").pub)]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert re.search(
        r"signature of others: it claims key \w{64}, but this signer is not allowed; it claims key \w{64}",
        said,
    )


def test_a_list_of_files_has_no_time(archive: Path, keys: Keys, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sign", str(archive), "--key", str(keys("ours").pem), "--oms"]) == 0
    capsys.readouterr()
    line = ["verify", str(archive), "--key", str(keys("ours").pub), "--signature", f"{archive}.sig"]
    assert main(line) == 0
    assert "signed at" not in (said := capsys.readouterr().out)
    assert "1970" not in said
    assert main([*line, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["signature"]["signed"] is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "found no allow; expected allow, mode, revoked"),
        ('mode = "warn"\n', "found no allow; expected allow, mode, revoked"),
        ("[[allows]]\nkeys = []\n", "found no allow, an unknown 'allows'; expected allow, mode, revoked"),
        ("[[allow]]\n", "names nobody; expected keys or authorities or identities"),
    ],
)
def test_rules_say_what_they_lack(archive: Path, keys: Keys, tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "conf").mkdir()
    rules = tmp_path / "conf" / "signers.toml"
    rules.write_text(text)
    with pytest.raises(SignersError, match=re.escape(said)):
        PackageImporter(archive, signed_by=rules)


@pytest.mark.parametrize("given", [None, "", "team.pub"])
def test_approving_without_rules_is_wrong_usage(
    archive: Path, given: str | None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if given is not None:
        monkeypatch.setenv("KELLET_SIGNERS", given)
    for options in ([], ["--signers", "team.pub"]):
        with pytest.raises(SystemExit) as ended:
            main(["approve", str(archive), *options])
        assert ended.value.code == 2
        assert "--signers: expected a file of rules, as signers.toml" in capsys.readouterr().err
