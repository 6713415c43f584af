"""Fixtures of signatures: key pairs made once a run, an archive to sign, and no rules of this machine."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from .signed_files import Pair


@pytest.fixture(scope="session")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Pair]:
    """Key pairs by name, made when first asked for."""
    from .signed_files import pair  # needs cryptography

    folder, made = tmp_path_factory.mktemp("keys"), dict[str, "Pair"]()

    def of(name: str) -> Pair:
        return made.setdefault(name, made.get(name) or pair(folder, name))

    return of


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    """An archive with code that writes a file `ran` where it is imported, and a state dict."""
    from .signed_files import save

    (tmp_path / "models").mkdir()
    return save(tmp_path / "models" / "net.kellet")


@pytest.fixture(autouse=True)
def no_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    """No rules of this machine are asked."""
    monkeypatch.delenv("KELLET_SIGNERS", raising=False)
