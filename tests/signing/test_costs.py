"""What signatures cost: weights are not read, and whoever asks for no signature pays nothing."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("cryptography")

from packager import PackageExporter, PackageImporter, Signer
from packager._archive import byte_sources
from packager._signing import sign_archive
from tests import processes

from .signed_files import Pair

Keys = Callable[[str], Pair]
LIMIT = 0.3  # seconds, beyond importing cryptography and copying the file


def weights(path: Path, mebibytes: int) -> Path:
    with PackageExporter(path, policy="auto", prove=False, fsync=False) as exporter:
        values = np.arange(1 << 17, dtype="f8")
        exporter.save_state_dict("net", "state", {f"w{n}": values + n for n in range(mebibytes)})
    return path


def test_no_weights_are_read_to_sign_and_to_open(
    tmp_path: Path, keys: Keys, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, ours = weights(tmp_path / "net.kellet", 32), keys("ours")
    read, counts = byte_sources.read_into, list[int]()

    def counted(view: memoryview, descriptor: int, position: int) -> int:
        counts.append(read(view, descriptor, position))
        return counts[-1]

    monkeypatch.setattr(byte_sources, "read_into", counted)
    sign_archive(str(path), Signer.of(ours.pem), detached=True)
    PackageImporter(path, signed_by=ours.pub, mmap=False).close()
    assert 0 < sum(counts) < 1 << 18


@pytest.mark.long
def test_a_gibibyte_is_signed_and_opened_in_less_than_a_third_of_a_second(tmp_path: Path, keys: Keys) -> None:
    path, ours = weights(tmp_path / "net.kellet", 1024), keys("ours")
    signer, taken = Signer.of(ours.pem), dict[str, float]()
    for what in ("sign", "open"):
        best = []
        for _ in range(3):
            begun = time.perf_counter()
            if what == "sign":
                sign_archive(str(path), signer, detached=True, replace=True)
            else:
                PackageImporter(path, signed_by=ours.pub).close()
            best.append(time.perf_counter() - begun)
        taken[what] = min(best)
    assert taken["sign"] + taken["open"] <= LIMIT, taken


def test_without_a_question_nothing_of_signatures_is_loaded(archive: Path, keys: Keys) -> None:
    program = (
        "import sys, packager\n"
        f"with packager.PackageImporter({str(archive)!r}, environment='ignore') as importer:\n"
        "    importer.load_state_dict('shop', 'state')['w']\n"
        "print([name for name in sys.modules if name.startswith(('packager._signing', 'cryptography'))])\n"
    )
    done = processes.run(
        [sys.executable, "-c", program], capture_output=True, text=True, cold=True, check=True
    )
    assert done.stdout == "[]\n"


def test_a_signature_by_a_key_needs_no_sigstore(archive: Path, keys: Keys) -> None:
    sign_archive(str(archive), Signer.of(keys("ours").pem))
    program = (
        "import sys, packager\n"
        f"packager.PackageImporter({str(archive)!r}, signed_by={str(keys('ours').pub)!r}).close()\n"
        "print([name for name in sys.modules if name.startswith('sigstore')])\n"
    )
    done = processes.run(
        [sys.executable, "-c", program], capture_output=True, text=True, cold=True, check=True
    )
    assert done.stdout == "[]\n"


@pytest.mark.parametrize("missing", ["cryptography", "sigstore"])
def test_without_the_library_nothing_is_admitted(
    archive: Path, keys: Keys, tmp_path: Path, missing: str
) -> None:
    sign_archive(str(archive), Signer.of(keys("ours").pem))
    (tmp_path / "conf").mkdir()
    rules = tmp_path / "conf" / "signers.toml"
    identity = 'identities = [{identity = "us", issuer = "https://example.org"}]\n'
    rules.write_text(
        "[[allow]]\n" + (identity if missing == "sigstore" else f'keys = ["{keys("ours").pub}"]\n')
    )
    program = (
        f"import sys, packager\nsys.modules[{missing!r}] = None\n"
        "try:\n"
        f"    packager.PackageImporter({str(archive)!r}, signed_by={str(rules)!r})\n"
        "except packager.PackageError as error:\n"
        "    print(type(error).__name__, error)\n"
    )
    done = processes.run(
        [sys.executable, "-c", program], capture_output=True, text=True, cold=True, check=True
    )
    assert done.stdout.startswith("SignersError" if missing == "cryptography" else "OtherSignerError")
    assert missing == "sigstore" or "pip install 'kellet[sign]'" in done.stdout
