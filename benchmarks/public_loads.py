"""State dicts opened and loaded through the calls that users make: once as a call, once as a whole process.

A call is timed by the clock in one process, peers in turns; a whole process by its own processor time and
the system's for it, from start to exit, imports and all. The limit stands beside: a bare map of the same
bytes, one read, and the digests of a map on two threads. Memory is what a fresh process takes at most
while it opens a file and touches nothing, beyond what it had before.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from benchmarks.public_calls import fresh_process
from benchmarks.row import Contender, Goal, Row
from benchmarks.stored_files import (
    PACKAGE,
    RESOURCE,
    Case,
    cases,
    file_of,
    map_of,
    read_one,
    sha256,
    touch,
    touch_map,
)
from packager import PackageImporter
from packager import verify as verify_archive
from packager.archive.entries import crc32

SECTION = "Opening and loading a state dict, by public calls"
WHOLE = "Loading a state dict, whole processes, processor time"
OPENING = (
    "the manifest and the index are read and held against each other, field by field, before either is "
    "believed; a bare header is neither digested nor compared with anything."
)
REMEMBERING = "the records of the manifest and the modules that check them are part of it."
TOUCHING = (
    "each tensor is looked up and handed out as a view of its own, in Python; a map is walked at once. Where "
    "a machine gives free memory back to its host, what was just saved is mapped in smaller pieces."
)
TOUCHED = "print(float(sum([array[::1024].sum() for array in state.values()])))"
WITH_PACKAGER = f"""
import sys
from packager import PackageImporter
with PackageImporter(sys.argv[1], digests="crc") as importer:
    state = importer.load_state_dict({PACKAGE!r}, {RESOURCE!r})
    state = state.many(list(state))
    {TOUCHED}
"""
WITH_SAFETENSORS = f"""
import sys
from safetensors.numpy import load_file
state = load_file(sys.argv[1])
{TOUCHED}
"""
WITH_TORCH = f"""
import sys, torch
state = {{key: value.numpy() for key, value in torch.load(sys.argv[1], mmap=True, weights_only=True).items()}}
{TOUCHED}
"""
OPEN = {
    "packager": (
        "from packager import PackageImporter; from packager.loading import stored_objects",
        f"state = PackageImporter({{path!r}}).load_state_dict({PACKAGE!r}, {RESOURCE!r})",
    ),
    "safetensors": ("from safetensors.numpy import load_file", "state = load_file({path!r})"),
    "torch": ("import torch", "state = torch.load({path!r}, mmap=True, weights_only=True)"),
}
PEAK = """
{before}
def taken(name):
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith(name)) / 1000
with open("/proc/self/clear_refs", "w") as file:
    file.write("5")
before = taken("VmRSS")
{opened}
assert len(state) == {count}
print(taken("VmHWM") - before)
"""


def rows() -> list[Row]:
    return [row for case in cases() for row in (*_calls(case), _whole(case))]


def _calls(case: Case) -> list[Row]:
    many, large = case.tensors > 1000, case.tensors < 100

    def row(
        title: str,
        contenders: Mapping[str, Callable[[Case], Contender]],
        goals: tuple[Goal, ...] = (),
        why: str = "",
        unit: str = "ms",
    ) -> Row:
        bound = {name: lambda made=made: made(case) for name, made in contenders.items()}
        return Row(SECTION, f"{case}: {title}", unit, bound, goals, "packager", why=why, most_rounds=5)

    def loaded(
        digests: str, peers: Mapping[str, Callable[[Case], Contender]]
    ) -> dict[str, Callable[[Case], Contender]]:
        return {
            "packager": lambda case: _touching(case, digests),
            "many": lambda case: _touching(case, digests, many=True),
            **peers,
        }

    opened = {
        "packager": _opening,
        "safetensors.torch": _opening_safetensors,
        "torch": _opening_torch,
        "mmap": _opening_map,
    }
    safe = {"safetensors.torch": _touching_safetensors_torch, "safetensors": _touching_safetensors}
    bare = {"mmap": lambda case: _touching_map(case, None)}
    with_crc = {"mmap + CRC": lambda case: _touching_map(case, crc32)}
    with_sha256 = {"mmap + sha256": lambda case: _touching_map(case, sha256)}
    opening = (Goal(2 if many else 1), Goal(0.01, "safetensors.torch")) if many else (Goal(1),)
    # With many tensors it is the making of arrays that costs, and reading the CRC adds to that.
    touching = Goal(0.35, "safetensors.torch") if many else Goal(1.1, "mmap")
    checking = Goal(0.45, "safetensors.torch") if many else Goal(1.1, "mmap + CRC")
    one = (Goal(2.5), Goal(0.1, "safetensors")) if many else (Goal(1.1, "read" if large else "safetensors"),)
    ones = {"packager": _one, "read": _one_read, "safetensors": _one_safetensors}
    memories = {name: lambda case, name=name: _memory(case, name) for name in OPEN}
    verifying = {"packager": _verifying, **with_sha256}
    return [
        row("open, nothing touched", opened, opening, OPENING),
        row("peak memory before touching", memories, (Goal(8 if many else 2),), REMEMBERING, "MB"),
        row("load and touch everything", loaded("none", {**bare, **safe}), (touching,), TOUCHING),
        row("the same, CRC-32 checked", loaded("crc", {**with_crc, **safe}), (checking,), TOUCHING),
        row(
            "the same, sha256 checked", loaded("sha256", with_sha256), (Goal(1.2, "mmap + sha256"),), TOUCHING
        ),
        row("open and copy one tensor", ones, one, OPENING),
        row("verify", verifying),
    ]


def _whole(case: Case) -> Row:
    def contender(program: str, library: str) -> Callable[[], Contender]:
        return lambda: fresh_process(program, str(file_of(case, library)))

    contenders = {
        "packager": contender(WITH_PACKAGER, "packager"),
        "safetensors": contender(WITH_SAFETENSORS, "safetensors"),
        "torch": contender(WITH_TORCH, "torch"),
        "import numpy": lambda: fresh_process("import numpy"),
    }
    title = f"{case}: load and touch everything, CRC-32 checked"
    return Row(WHOLE, title, "ms", contenders, (), "packager", most_rounds=5)


def _of(run: Callable[[], Any], *, compared: bool = False) -> Contender:
    return Contender(run, result=(lambda: [run()]) if compared else None)


def _opening(case: Case) -> Contender:
    path = file_of(case, "packager")
    return _of(lambda: PackageImporter(path).load_state_dict(PACKAGE, RESOURCE))


def _opening_safetensors(case: Case) -> Contender:
    from safetensors.torch import load_file

    path = str(file_of(case, "safetensors"))
    return _of(lambda: load_file(path))


def _opening_torch(case: Case) -> Contender:
    import torch

    path = str(file_of(case, "torch"))
    return _of(lambda: torch.load(path, mmap=True, weights_only=True))


def _opening_map(case: Case) -> Contender:
    path = file_of(case, "writev")
    return _of(lambda: map_of(path))


def _memory(case: Case, library: str) -> Contender:
    """Megabytes that a fresh process takes at most while it opens the file, its libraries not counted."""
    __import__(library)
    path = str(file_of(case, library))
    before, opened = OPEN[library]
    program = PEAK.format(before=before, opened=opened.format(path=path), count=case.tensors)

    def run() -> float:
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
        return float(done.stdout)

    return Contender(run, times_itself=True)


def _touching(case: Case, digests: str, *, many: bool = False) -> Contender:
    """All tensors, one number of every page: one by one, or asked for at once."""
    path = file_of(case, "packager")

    def run() -> float:
        with PackageImporter(path, digests=digests) as importer:
            state = importer.load_state_dict(PACKAGE, RESOURCE)
            return touch(state.many(list(state)) if many else dict(state))

    return _of(run, compared=True)


def _touching_safetensors(case: Case) -> Contender:
    from safetensors.numpy import load_file

    path = str(file_of(case, "safetensors"))
    return _of(lambda: touch(load_file(path)), compared=True)


def _touching_safetensors_torch(case: Case) -> Contender:
    import torch
    from safetensors.torch import load_file

    torch.set_num_threads(1)
    path = str(file_of(case, "safetensors"))
    return _of(lambda: touch({key: value.numpy() for key, value in load_file(path).items()}), compared=True)


def _touching_map(case: Case, digest: Callable[[memoryview], object] | None) -> Contender:
    file_of(case, "writev")
    return _of(lambda: touch_map(case, digest))  # float32 sums in another order: not compared


def _one(case: Case) -> Contender:
    path, key = file_of(case, "packager"), case.middle

    def run() -> np.ndarray:
        with PackageImporter(path, digests="none") as importer:
            return importer.load_state_dict(PACKAGE, RESOURCE)[key].copy()

    return _of(run, compared=True)


def _one_read(case: Case) -> Contender:
    file_of(case, "writev")
    return _of(lambda: read_one(case), compared=True)


def _one_safetensors(case: Case) -> Contender:
    from safetensors import safe_open

    path, key = str(file_of(case, "safetensors")), case.middle

    def run() -> np.ndarray:
        with safe_open(path, "np") as file:
            return file.get_tensor(key)

    return _of(run, compared=True)


def _verifying(case: Case) -> Contender:
    path = file_of(case, "packager")
    return _of(lambda: verify_archive(path).raise_for_problems())
