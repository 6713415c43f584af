"""Prove exports of real packages: the archive alone, where the package is not, gives the same output.

    python -m benchmarks.walk_proof                                every case whose packages are installed
    python -m benchmarks.walk_proof networkx                       some of them, which must be here
    python -m benchmarks.walk_proof --write docs/walk-proof.md     and keep their rows on the page

Each case is exported with `policy="auto"` and one rule, `intern("<package>.**")`. Its program runs
once as installed, and once in a fresh process that has every installed package but that one, and
the archive. A case holds where both give the same output, bit for bit, no module that was used is
missing, at most 1.2 times as many modules are stored as are used (or what the case says), and a second
export, with the scans of the first at hand, writes the same bytes.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, packages_distributions, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from benchmarks.proof_cases import CASES, Case

PAGE = """# Real packages, exported and loaded elsewhere

Written by `python -m benchmarks.walk_proof --write docs/walk-proof.md`.

Each package is exported with `policy="auto"` and one rule, `intern("<package>.**")`, and no other
pattern. A program runs once as installed, and once in a fresh process that has the archive and every
installed package but that one. Both give the same output, bit for bit. "Used" counts the modules of
the package that the program had imported when it ended, "stored" those in the archive. The plan is
made in a fresh process: cold without the cache of scans, again with it. Python {python}, {machine};
the times are of one run on a busy machine.

PyTorch models have [a page of their own](pytorch-models.md).

"""
HEADER = (
    "| case | package | modules stored | modules used | ratio | plan, cold, s | plan, again, s | |",
    "|---|---|---:|---:|---:|---:|---:|---|",
)


@dataclass(frozen=True)
class Proof:
    """What came of a case; `trouble` is "" where everything ran and gave the same."""

    case: Case
    version: str
    trouble: str = ""
    stored: frozenset[str] = frozenset()
    used: frozenset[str] = frozenset()
    found: frozenset[str] = frozenset()
    cold: float = 0.0
    again: float = 0.0

    @property
    def missing(self) -> list[str]:
        """Modules that were used and are not stored, nor found there as folders of files are."""
        return sorted(self.used - self.stored - self.found)

    @property
    def extra(self) -> list[str]:
        """Modules that are stored and were not used."""
        return sorted(self.stored - self.used)

    @property
    def ratio(self) -> float:
        """Modules stored for each one used."""
        return len(self.stored) / max(len(self.used), 1)

    @property
    def holds(self) -> bool:
        """Whether the case is proved."""
        return not self.trouble and not self.missing and self.ratio <= self.case.limit


class ProcessFailed(RuntimeError):
    """A process of the proof failed; its last words."""


def prove(case: Case) -> Proof:
    """Run as installed, export twice, run from the archive, and compare."""
    with tempfile.TemporaryDirectory(prefix="kellet-proof-") as folder:
        try:
            return _prove(case, Path(folder).resolve())
        except ProcessFailed as error:
            return Proof(case, _version(case.package), str(error))


def installed(case: Case) -> bool:
    """Whether the package is here."""
    return find_spec(case.package) is not None


def _prove(case: Case, folder: Path) -> Proof:
    path = [os.path.abspath(entry) for entry in (*_own_folders(), *sys.path)]
    archive, second = folder / "first.kellet", folder / "second.kellet"
    here = _run(case, "installed", path, folder)
    cold = _run(case, "export", path, folder, archive)
    again = _run(case, "export", path, folder, second)
    there = _run(case, "loaded", list(_without(case.package, path, folder / "path")), folder, archive)
    trouble = ""
    if archive.read_bytes() != second.read_bytes():
        trouble = "two exports wrote different bytes"
    elif there["output"] != here["output"]:
        trouble = f"gives {there['output']!r}, expected {here['output']!r}"
    return Proof(
        case,
        _version(case.package),
        trouble,
        frozenset(cold["stored"]),
        frozenset(here["used"]) | frozenset(there["used"]),
        frozenset(there["used"]),
        cold["seconds"],
        again["seconds"],
    )


def _own_folders() -> list[str]:
    """Where kellet and packager lie: an editable install may bring them by other means than the path."""
    specs = [find_spec(name) for name in ("kellet", "packager")]
    return [str(Path(spec.origin).parents[1]) for spec in specs if spec is not None and spec.origin]


def _without(package: str, path: Sequence[str], folder: Path) -> Iterable[str]:
    """The path with `package` taken out: a folder that holds it is replaced by links to all else in it."""
    hidden = {package, f"{package}.py"}
    for distribution in packages_distributions().get(package, ()):
        normal = distribution.replace("-", "_").lower()
        hidden.update(f"{name}-{version(distribution)}.dist-info" for name in (distribution, normal))
    for number, entry in enumerate(path):
        names = set(os.listdir(entry)) if os.path.isdir(entry) else set()
        if not names & hidden:
            yield entry
            continue
        thinner = folder / str(number)
        thinner.mkdir(parents=True)
        for name in names - hidden:
            (thinner / name).symlink_to(os.path.join(entry, name))
        yield str(thinner)


def _run(case: Case, step: str, path: Sequence[str], folder: Path, archive: Path | None = None) -> Any:
    """One step in a fresh process. All steps of a case share one empty cache."""
    order = {
        "step": step,
        "path": path,
        "package": case.package,
        "roots": case.modules,
        "build": case.build,
        "program": case.program,
        "archive": str(archive),
    }
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    caches = {"XDG_CACHE_HOME": str(folder / "cache"), "KELLET_CACHE": str(folder / "cache")}
    done = subprocess.run(
        [sys.executable, "-S", "-P", str(Path(__file__).with_name("proof_process.py"))],
        input=json.dumps(order),
        # sympy's answers come in the order of sets.
        env={**kept, **caches, "PYTHONHASHSEED": "0"},
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    for line in done.stdout.splitlines():
        if line.startswith("ANSWER "):
            return json.loads(line.removeprefix("ANSWER "))
    raise ProcessFailed(f"{step}: exit code {done.returncode}: {done.stderr.strip()[-2000:]}")


def _version(package: str) -> str:
    names = packages_distributions().get(package, [package])
    try:
        return version(names[0])
    except PackageNotFoundError:
        return "?"


def main(arguments: Sequence[str]) -> int:
    options = _parser().parse_args(arguments)
    wanted = [case for case in CASES if not options.words or any(word in case.name for word in options.words)]
    rows, holds = {}, bool(wanted)
    print("\n".join(HEADER))
    for case in wanted:
        if not installed(case):
            print(f"| {case.name} | not installed here |", flush=True)
            holds = holds and not options.words
            continue
        proof = prove(case)
        holds = holds and proof.holds
        rows[case.name] = _row(proof)
        print(rows[case.name], flush=True)
        if options.words or not proof.holds:
            print("\n".join(_details(proof)), flush=True)
    if options.write:
        _write(options.write, rows)
    return 0 if holds else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.walk_proof", description="Prove exports of real packages."
    )
    parser.add_argument("words", nargs="*", metavar="WORD", help="only cases whose name holds one of these")
    parser.add_argument(
        "--write", type=Path, metavar="PAGE", help="keep the rows in this page, with those there"
    )
    return parser


def _row(proof: Proof) -> str:
    cells = [
        proof.case.name,
        f"{proof.case.package} {proof.version}",
        len(proof.stored),
        len(proof.used),
        f"{proof.ratio:.2f}",
        f"{proof.cold:.2f}",
        f"{proof.again:.2f}",
        "same output" if proof.holds else "FAILED",
    ]
    return f"| {' | '.join(map(str, cells))} |"


def _details(proof: Proof) -> Iterable[str]:
    if proof.trouble:
        yield proof.trouble
    if proof.missing:
        yield f"used and not stored: {', '.join(proof.missing)}"
    if proof.extra:
        yield f"stored and not used: {', '.join(proof.extra)}"


def _write(page: Path, rows: dict[str, str]) -> None:
    """Write the page: new rows in the place of old ones of the same case, the others kept."""
    lines = page.read_text(encoding="utf-8").splitlines() if page.exists() else []
    kept = {line.split(" | ")[0].removeprefix("| "): line for line in lines if line.startswith("| ")}
    kept.update(rows)
    table = [*HEADER, *(kept[case.name] for case in CASES if case.name in kept)]
    python = ".".join(map(str, sys.version_info[:2]))
    text = PAGE.format(python=python, machine=f"{os.uname().machine}, {os.cpu_count()} cores")
    page.write_text(text + "\n".join(table) + "\n", encoding="utf-8")


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
