"""The command, from start to exit, beside a Python that does nothing; processor time."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

from benchmarks.processes import spent
from benchmarks.row import Row, Work
from benchmarks.states import file_of, save_packager

COMMAND: Final = "from packager._cli import main; main()"
WHY: Final = "the manifest is checked and read, and the tensors are told one by one"


def rows() -> list[Row]:
    """List the help and two looks into archives."""

    def row(what: str, goal: float, why: str, arguments: Callable[[], tuple[str, ...]]) -> Row:
        def ours() -> Work:
            given = arguments()
            return Work(lambda: spent(COMMAND, *given))

        return Row(
            what, ours, goal, "an empty Python", lambda: Work(lambda: spent("pass")), why=why, rounds=15
        )

    def inspect(tensors: int) -> tuple[str, ...]:
        return "inspect", file_of(tensors, 1 + tensors // 1000, save_packager, "kellet")

    return [
        row("kellet --help", 2.5, "argparse and the texts of all commands", lambda: ("--help",)),
        row("kellet inspect, 300 tensors", 4.0, WHY, partial(inspect, 300)),
        row("kellet inspect, 20,000 tensors", 8.0, WHY, partial(inspect, 20_000)),
    ]
