"""An archive that an earlier version signed is read for ever: its signature, its migrations, its old keys."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("cryptography")

from fixtures.golden import released, signed
from packager import PackageImporter
from packager._archive import ArchiveReader, verify
from packager.errors import OtherSignerError
from packager.migrations import migrations_ran
from tests.signing.signed_files import pair

GOLDEN = released.archives("signed")


@pytest.fixture(params=GOLDEN, ids=lambda path: path.stem)
def golden(request: pytest.FixtureRequest) -> Path:
    path: Path = request.param
    return path


def test_it_opens_for_its_key_and_for_no_other(golden: Path, tmp_path: Path) -> None:
    with PackageImporter(golden, signed_by=signed.public_key(golden), environment="ignore") as importer:
        assert [*importer.load_migrations()] == ["goldkeys:Head"]
    other = pair(tmp_path, "other").pub
    with pytest.raises(OtherSignerError, match=r"it claims key [0-9a-f]{64}, but this signer is not allowed"):
        PackageImporter(golden, signed_by=other, environment="ignore")


def test_its_old_keys_are_carried_over_as_they_were(golden: Path) -> None:
    with PackageImporter(golden, signed_by=signed.public_key(golden), environment="ignore") as importer:
        state = importer.load_state_dict("model", "old")
        assert list(state) == ["0.proj.kernel", "0.proj.bias"]
        net = importer.load_object("model", "net")
        net[0].fc.weight.data.zero_()
        net.load_state_dict(state)
        (ran,) = migrations_ran(net)
        assert (ran.path, ran.version, ran.names) == ("0", 1, ("to 2", "to 3"))
        assert net(signed.INPUT).tolist() == signed.OUTPUT
        (outcome,) = importer.check()
        assert all(part.same_bits for part in outcome.deviations)


def test_no_byte_of_it_has_changed(golden: Path) -> None:
    with ArchiveReader(golden) as reader:
        assert verify(reader).problems == ()
