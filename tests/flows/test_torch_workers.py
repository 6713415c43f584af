"""Workers of PyTorch's DataLoader get datasets, collating and initialising functions of stored modules."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

import sys
from pathlib import Path

import torch

from packager import PackageExporter
from tests import processes

assert torch is not None  # what the child processes work with

DATA = """
import collections, os
import torch
from torch.utils.data import Dataset, IterableDataset, Sampler, get_worker_info

Row = collections.namedtuple("Row", "x y", module="datapkg")
offset = 0
if os.environ.get("DATAPKG_RAISES", str(os.getpid())) != str(os.getpid()):
    raise ValueError("no such device")

class Squares(Dataset):
    def __len__(self):
        return 4
    def __getitem__(self, i):
        return Row(torch.tensor(i * i), i + offset)

class Stream(IterableDataset):
    def __iter__(self):
        worker = get_worker_info()
        return iter(range(worker.id, 4, worker.num_workers))

class Odd(Sampler):
    def __init__(self):
        pass
    def __iter__(self):
        return iter([3, 1])

def collate(rows):
    return Row(torch.stack([row.x for row in rows]), [row.y for row in rows])

def begin(number):
    global offset
    offset = 100
"""
PARENT = """
import os, sys
from packager.package_importer import PackageImporter

def say(ask):
    try:
        print(ask(), flush=True)
    except Exception as error:
        print(type(error).__name__, *str(error).split()[-6:], flush=True)

if __name__ == "__main__":
    from torch.utils.data import DataLoader

    path, method, harm = sys.argv[1:]
    importer = PackageImporter(path, environment="ignore")
    data = importer.import_module("datapkg")
    if harm == "gone":
        os.unlink(path)
    if harm == "raises":
        os.environ["DATAPKG_RAISES"] = str(os.getpid())
    # One that fails alone: what others that are still starting meet then is PyTorch's own.
    how = {"num_workers": 2 if harm == "none" else 1, "multiprocessing_context": method, "timeout": 60}
    how_whole = {"batch_size": 2, "collate_fn": data.collate, "worker_init_fn": data.begin, **how}
    whole = DataLoader(data.Squares(), **how_whole)
    say(lambda: [(type(row) is data.Row, row.x.tolist(), row.y) for row in whole])
    say(lambda: [row.x.tolist() for row in DataLoader(data.Squares(), sampler=data.Odd(), **how)])
    say(lambda: [batch.tolist() for batch in DataLoader(data.Stream(), batch_size=2, **how)])
    importer.close()
"""
FORK, FORKSERVER = (pytest.param(one, marks=pytest.mark.unix) for one in ("fork", "forkserver"))


def outcome(tmp_path: Path, method: str, harm: str) -> processes.CompletedProcess[str]:
    with PackageExporter(tmp_path / "data.kellet", policy="auto", prove=False) as exporter:
        exporter.save_source_string("datapkg", DATA)
    (tmp_path / "parent.py").write_text(PARENT)
    command = [sys.executable, str(tmp_path / "parent.py"), str(tmp_path / "data.kellet"), method, harm]
    done = processes.run(command, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr
    return done


@pytest.mark.parametrize("method", ["spawn", FORK, FORKSERVER])
def test_batches_come_back_from_workers(tmp_path: Path, method: str) -> None:
    assert outcome(tmp_path, method, "none").stdout.splitlines() == [
        "[(True, [0, 1], [100, 101]), (True, [4, 9], [102, 103])]",
        "[[9], [1]]",
        "[[0, 2], [1, 3]]",
    ]


@pytest.mark.parametrize(
    ("harm", "told"),
    [
        ("gone", "ArchiveMovedError while other processes use its objects"),
        ("raises", "WorkerImportError its module to be importable there"),
    ],
)
def test_workers_that_cannot_import_say_so(tmp_path: Path, harm: str, told: str) -> None:
    kind, *words = told.split()
    done = outcome(tmp_path, "spawn", harm)
    lines = done.stdout.splitlines()
    assert len(lines) == 3
    for line in lines:
        assert line.startswith(kind), (line, done.stderr)
        assert " ".join(words) in line, line
