"""The fuzzer for long runs: `python tests/attacks/fuzz_archive.py 1000000`.

With atheris installed, `... fuzz_archive.py atheris -runs=1000000 -max_len=64` lets it choose the
inputs by the lines that they reach; more options are libFuzzer's. What is fuzzed is in `fuzz_target`.
"""

from __future__ import annotations

import random
import sys
import time
from importlib import import_module
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))


def run_at_random(count: int, first: int) -> None:
    """Run the target `count` times; inputs follow from their number, so that one can be run again."""
    target = import_module("fuzz_target")
    started, sound = time.monotonic(), 0
    for number in range(first, first + count):
        chooser = random.Random(number)
        data = chooser.randbytes(2 + 6 * chooser.choice((1, 1, 1, 2, 3, 5)))
        try:
            sound += target.one_input(data)
        except BaseException:
            sys.stderr.write(f"execution {number}: one_input(bytes.fromhex({data.hex()!r}))\n")
            raise
    seconds = time.monotonic() - started
    sys.stdout.write(
        f"{count} executions in {seconds:.0f} s: {sound} sound, {count - sound} refused, no stray error\n"
    )


def run_atheris(arguments: list[str]) -> None:
    """Let atheris choose the inputs; its own options follow the word `atheris`."""
    import atheris

    with atheris.instrument_imports(include=["packager"]):
        target = import_module("fuzz_target")
    atheris.Setup(arguments, target.one_input)
    atheris.Fuzz()


if __name__ == "__main__":
    if sys.argv[1] == "atheris":
        run_atheris(sys.argv[1:])
    else:
        run_at_random(*map(int, (*sys.argv[1:], 0)[:2]))
