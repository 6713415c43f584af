"""The command: choose rows, measure them, print them, keep the run, write the page."""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import warnings
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from time import perf_counter
from typing import Any, Final

from benchmarks import (
    addresses,
    code,
    commands,
    core,
    growth,
    loading,
    migrating,
    objects,
    once,
    saving,
    serving,
    tracing,
)
from benchmarks.page import page, told
from benchmarks.row import Row, measure

FAMILIES: Final = (
    saving,
    loading,
    objects,
    serving,
    code,
    commands,
    tracing,
    core,
    migrating,
    once,
    addresses,
    growth,
)
KEPT: Final = Path(__file__).with_name("runs.json")
PAGE: Final = Path(__file__).resolve().parents[1] / "docs" / "benchmarks.md"
PEERS: Final = (
    "numpy",
    "torch",
    "safetensors",
    "joblib",
    "skops",
    "networkx",
    "timm",
    "transformers",
    "torchmetrics",
)


def every_row() -> list[Row]:
    """Return the rows of all families, in the order of the page."""
    return [row for family in FAMILIES for row in family.rows()]


def main(arguments: Sequence[str]) -> int:
    """Measure what is asked for; return 2 where no row is."""
    options = _parser().parse_args(arguments)
    if options.smoke:
        os.environ["KELLET_BENCH_SMALL"] = "1"
    chosen = [row for row in every_row() if row.asked == options.asked and options.only in row.title]
    if not chosen:
        print(f"No row whose title holds {options.only!r}.", file=sys.stderr)
        return 2
    warnings.simplefilter("ignore")  # of objects that are saved
    started = perf_counter()
    rounds = 1 if options.smoke else options.rounds
    figures = {row.title: found for row in chosen if (found := _measured(row, rounds, options.smoke))}
    print(f"{len(figures)} of {len(chosen)} rows in {perf_counter() - started:.0f} s")
    if options.write:
        kept = with_run(kept_runs(), figures, asked=options.asked, partly=bool(options.only))
        KEPT.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
        PAGE.write_text(page(every_row(), kept["runs"], kept["once"], kept["environment"]), encoding="utf-8")
    return 0


def with_run(kept: dict[str, Any], figures: dict[str, Any], *, asked: bool, partly: bool) -> dict[str, Any]:
    """Return what is kept, with a run behind the last, of which two stay; some rows alone change the last."""
    if asked:
        return {**kept, "once": {**kept["once"], **figures}}
    runs = kept["runs"]
    runs = [*runs[:-1], {**runs[-1], **figures}] if partly and runs else [*runs, figures][-2:]
    return {**kept, "runs": runs, "environment": _environment()}


def kept_runs() -> dict[str, Any]:
    """Return the last two runs, what was measured once, and the environment of the last run."""
    if not KEPT.exists():
        return {"environment": "", "runs": [], "once": {}}
    kept: dict[str, Any] = json.loads(KEPT.read_text(encoding="utf-8"))
    return kept


def _measured(row: Row, rounds: int, smoke: bool) -> dict[str, Any] | None:
    try:
        outcome = measure(row, rounds)
    except ImportError as error:
        print(f"{row.title}: not here: {error}", flush=True)
        return None
    today = datetime.now(UTC).date().isoformat()
    figures = {name: value if value is None else round(value, 4) for name, value in asdict(outcome).items()}
    print(f"{row.title}: started" if smoke else told(row, figures), flush=True)
    return {**figures, "date": today}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description="Measure what a person waits for."
    )
    parser.add_argument("--only", default="", metavar="WORD", help="only rows whose title holds WORD")
    parser.add_argument("--asked", action="store_true", help="only those that are measured once")
    parser.add_argument("--rounds", type=int, default=99, help="how many rounds a row has at most")
    parser.add_argument(
        "--smoke", action="store_true", help="run each row once and small, to see that it starts"
    )
    parser.add_argument("--write", action="store_true", help="keep the run, and write docs/benchmarks.md")
    return parser


def _environment() -> str:
    parts = [f"Python {platform.python_version()}"]
    for name in PEERS:
        try:
            parts.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            parts.append(f"no {name}")
    return f"{', '.join(parts)}; {platform.machine()}, {os.cpu_count()} cores"


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
