"""State dicts saved to a file in memory, by the clock, as everybody saves them: sha256 is the default."""

from __future__ import annotations

from functools import partial
from time import perf_counter
from typing import Final

import numpy as np

from benchmarks.processes import folder, have_free
from benchmarks.row import Row, Work
from benchmarks.states import Writer, case_name, save_by_loop, save_packager, save_safetensors, state_of

CASES: Final = ((300, 80), (300, 400), (8, 1000))
MANY: Final = (20_000, 660)
WHY: Final = "beyond the loop, CRC-32 takes a tenth, and the copy that is digested and written a twentieth"
WHY_CRC: Final = "CRC-32, and the copy that it is made of; safetensors has neither"


def rows() -> list[Row]:
    """List saves with sha256, by the loop that is the yardstick, with CRC-32, and of many tensors."""
    crc = partial(save_packager, digests="crc")
    loop = "by a loop of thirty lines, the yardstick"
    return [
        *(_row(case, "sha256", save_packager, 1.4, WHY) for case in CASES),
        *(_row(case, loop, save_by_loop, None) for case in CASES),
        *(_row(case, "CRC-32", crc, 1.1, WHY_CRC) for case in CASES),
        _row(MANY, "sha256", save_packager, 1.5, WHY),
        _row(MANY, "CRC-32", crc, 1.2, WHY_CRC),
    ]


def _row(case: tuple[int, int], how: str, writer: Writer, goal: float | None, why: str = "") -> Row:
    return Row(
        f"save {case_name(*case)}, {how}",
        partial(_saving, case, writer),
        goal,
        "safetensors",
        partial(_saving, case, save_safetensors),
        why=why,
        rounds=9 if case[1] < 500 else 5,
    )


def _saving(case: tuple[int, int], writer: Writer) -> Work:
    state, path = state_of(*case), folder() / "saved"

    def run() -> float:
        path.unlink(missing_ok=True)  # or the one who saves pays for the end of the old file
        have_free(sum(array.nbytes for array in state.values()))
        started = perf_counter()
        writer(state, path)
        return perf_counter() - started

    return Work(run, result=lambda: _read_again(writer, case))


def _read_again(writer: Writer, case: tuple[int, int]) -> list[np.ndarray]:
    """Return some values of what was written, read by the library that wrote it; of the loop none."""
    state, path = state_of(*case), folder() / "saved"
    some = list(state)[:: max(1, len(state) // 8)]
    if writer is save_by_loop:
        return [state[key] for key in some]
    writer(state, path)
    if writer is save_safetensors:
        from safetensors.numpy import load_file

        loaded = load_file(path)
        return [loaded[key] for key in some]
    from packager import PackageImporter

    with PackageImporter(path) as importer:
        weights = importer.load_state_dict("net", "weights")
        return [weights[key] for key in some]
