"""The pages whose programs import torch run where torch is."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from pathlib import Path

import torch

from tests.architecture.test_examples import ROOT, pages, run_page


@pytest.mark.parametrize("path", pages(with_torch=True), ids=lambda path: str(path.relative_to(ROOT)))
def test_pages_that_import_torch_run(path: Path, tmp_path: Path) -> None:
    name = str(path.relative_to(ROOT))
    ran = run_page(name, path.read_text(encoding="utf-8"), tmp_path)
    assert ran.returncode == 0, (
        f"{name} does not run beside torch {torch.__version__}:\n{ran.stdout}{ran.stderr}"
    )
