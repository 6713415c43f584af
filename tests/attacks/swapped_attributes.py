"""Forge archives of library objects with swapped attributes, and see what loading and using them does.

    python tests/attacks/swapped_attributes.py 100000 --seed 1 --library sklearn

An honest archive of each of many objects is decoded, one or two attributes are exchanged, and the archive is
written again with right digests. A forked child with limits loads it and uses it. What comes of it is one of:
refused with an error of ours, loaded and fine, loaded and an ordinary error in use, or a finding: a signal, a
hang or much memory or a raw error while loading, something written, run, imported or started.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import os
import pickle
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from swapped.report import Report

LIBRARIES = (
    "sklearn lightgbm xgboost imblearn category_encoders statsmodels hmmlearn lifelines river gensim pandas "
    "polars pyarrow tokenizers transformers sentencepiece tiktoken onnxruntime scipy catboost standard torch"
).split()
ALONE = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "MALLOC_PERTURB_": "165",
}
"""One thread; and memory that is not yet written to, or no longer owned, is filled, so that its use shows."""


def harvest_of(library: str, seed: int, variants: int, cache: Path) -> Any:
    """Return the honest objects of a library, made in a process of its own, or kept from before."""
    target = cache / f"{library}-{seed}-{variants}.pickle"
    if not target.exists():
        code = "import sys; sys.path.insert(0, sys.argv.pop(1)); from swapped import harvest; harvest.main()"
        command = [sys.executable, "-W", "ignore", "-c", code, str(Path(__file__).parent)]
        made = subprocess.run(
            [*command, library, str(seed), str(variants), str(target)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        if made.returncode:
            said = made.stderr.decode(errors="replace").strip()[-1000:]
            sys.stdout.write(f"{library}: no honest objects, ended with {made.returncode}: {said}\n")
            return None
    return pickle.loads(target.read_bytes())


def attack(library: str, options: argparse.Namespace, files: int, report: Report) -> None:
    """Try so many archives of one library."""
    if library != "standard" and importlib.util.find_spec(library.partition("-")[0]) is None:
        sys.stdout.write(f"{library}: not installed\n")
        return
    harvest = harvest_of(library, options.seed, options.variants, options.cache)
    if harvest is None or not harvest.objects:
        return
    from swapped.attacking import Attack
    from swapped.running import Runner

    for name in harvest.modules:
        try:
            importlib.import_module(name)
        except BaseException:
            continue
    if options.only:
        chosen = [one for one in harvest.objects if one.name.startswith(options.only)]
        harvest.objects = chosen or sys.exit(f"no object of {library} is called {options.only}")
    runner = Runner(Attack(harvest, [], options.seed))
    report.begin(library, harvest, files)
    for result in runner.all(options.start, options.start + files):
        report.add(result, runner.guilty.get(result.number, []))


def main() -> None:
    """Read the arguments, and try each library in a process of its own."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", type=int)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--start", type=int, default=0, help="number of the first archive")
    parser.add_argument(
        "--library", action="append", help=f"one of {' '.join(LIBRARIES)}; may be given again"
    )
    parser.add_argument(
        "--variants", type=int, default=2, help="how often each class is fitted in other ways"
    )
    parser.add_argument("--only", help="what the names of honest objects begin with, such as CountVectorizer")
    parser.add_argument("--write", type=Path, help="file for the findings, written anew as they come")
    parser.add_argument("--cache", type=Path, default=Path(tempfile.gettempdir()) / "swapped-honest")
    options = parser.parse_args()
    if any(os.environ.get(name) != value for name, value in ALONE.items()):
        os.execve(sys.executable, [sys.executable, "-W", "ignore", *sys.argv], {**os.environ, **ALONE})
    options.cache.mkdir(parents=True, exist_ok=True)
    chosen = options.library or LIBRARIES
    if len(chosen) == 1:
        report = Report(options.write)
        attack(chosen[0], options, options.files, report)
        report.end()
        return
    for library in chosen:
        share = options.files // 2 if library == "sklearn" else options.files // 2 // (len(chosen) - 1)
        command = [sys.executable, "-W", "ignore", __file__, str(share), "--library", library]
        for name in ("seed", "start", "only", "variants", "write", "cache"):
            if getattr(options, name) is not None:
                command += [f"--{name}", str(getattr(options, name))]
        subprocess.run(command, check=False)


if __name__ == "__main__":
    main()
