"""Make honest archives of a library's objects, and learn what an honest object does.

In a process of its own.

What comes of it is a file, so that the process that forks children has imported the library and used nothing
of it: pools of threads that a library starts do not live through a fork.
"""

from __future__ import annotations

import io
import os
import pickle
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from random import Random
from typing import Any

from packager import PackageExporter, PackageImporter

from .calls import Call, always, learned
from .tables import Seed, decoded, written
from .tracing import Tracer
from .watching import Watch

_MOST_RECORDS = 3000
_MOST_BYTES = 400_000
_CRASHING = frozenset(
    "sklearn sklearn-few lightgbm xgboost catboost pyarrow sentencepiece torch onnxruntime".split()
)


@dataclass
class Honest:
    """An honest object: its table, and what can be asked of it with which arguments."""

    name: str
    seed: Seed
    arguments: int
    calls: list[Call]
    answers: frozenset[str]


@dataclass
class Harvest:
    """All honest objects of a library, and what is usual: modules, and functions that loading calls."""

    library: str
    objects: list[Honest] = field(default_factory=list)
    arguments: list[bytes] = field(default_factory=list)
    modules: list[str] = field(default_factory=list)
    functions: set[str] = field(default_factory=set)
    classes: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    banned: set[tuple[str, str]] = field(default_factory=set)


def harvested(
    library: str, found: Iterable[tuple[str, Any, dict[str, Any]]], most_calls: int = 40
) -> Harvest:
    """Pack each object, load it from the table that we write, and learn what it answers."""
    warnings.simplefilter("ignore")
    sys.modules.setdefault("IPython", None)  # never looked for by a repr
    harvest = Harvest(library)
    watch = Watch(tempfile.mkdtemp())
    numbers: dict[int, int] = {}
    kept: list[dict[str, Any]] = []  # so that no id comes twice
    for batch in _batches(found, 25):
        for name, seed, arguments in _packed(batch, harvest):
            if id(arguments) not in numbers:
                numbers[id(arguments)] = len(harvest.arguments)
                harvest.arguments.append(pickle.dumps(arguments))
                kept.append(arguments)
            try:
                _learn(harvest, watch, name, seed, arguments, numbers[id(arguments)], most_calls)
            except Exception as error:
                harvest.left_out.append(
                    f"{name}: our copy does not load: {type(error).__name__}: {error}"[:300]
                )
    harvest.modules = [name for name, module in sys.modules.items() if module is not None]
    harvest.classes = sorted(
        {use.name for one in harvest.objects for use in one.seed.manifest.objects[0].types}
    )
    return harvest


def _learn(
    harvest: Harvest,
    watch: Watch,
    name: str,
    seed: Seed,
    arguments: dict[str, Any],
    number: int,
    most_calls: int,
) -> None:
    tracer, file = Tracer(set()), written(seed)
    watch.begin("load")
    with PackageImporter(file, environment="ignore", bytecode=None) as importer, tracer:
        it = importer.load_object("m", "m")
    watch.end()
    harvest.functions.update(tracer.new)
    answers = set()
    for way, asked in always(watch.given).items():
        watch.begin("pickle")
        try:
            asked(it)
            answers.add(way)
        except Exception:  # a call that an honest object refuses is not made of forged ones
            pass
        watch.end()
    watch.left()

    def is_calm() -> bool:
        is_so = not (watch.end() or watch.left())
        watch.begin("use")
        return is_so

    watch.begin("use")
    calls = _learned_apart(harvest, it, arguments, most_calls, is_calm)
    watch.end()
    harvest.objects.append(Honest(name, seed, number, calls, frozenset(answers)))


def _learned_apart(
    harvest: Harvest, it: Any, arguments: dict[str, Any], most: int, is_calm: Callable[[], bool]
) -> list[Call]:
    """Learn calls where an argument of ours that a library does not check may end the process: in a child."""
    if harvest.library not in _CRASHING:
        return learned(it, arguments, most, is_calm, lambda name: True)
    while True:
        reading, writing = os.pipe()
        child = os.fork()
        if not child:
            os.close(reading)

            def begins(name: str) -> bool:
                os.write(writing, pickle.dumps(name))
                return (type(it).__name__, name) not in harvest.banned

            os.write(writing, pickle.dumps(learned(it, arguments, most, is_calm, begins)))
            os._exit(0)
        os.close(writing)
        with os.fdopen(reading, "rb") as told:
            last: Any = ""
            while True:
                try:
                    last = pickle.load(told)
                except EOFError:
                    break
        os.waitpid(child, 0)
        if isinstance(last, list):
            return last
        harvest.banned.add((type(it).__name__, last))


def _packed(batch: list[tuple[str, Any, Any]], harvest: Harvest) -> Iterator[tuple[str, Seed, Any]]:
    """Pack a batch into one archive, or one by one where that fails."""
    try:
        seeds = decoded(f"{harvest.library}.{len(harvest.objects)}", exported([it for _, it, _ in batch]))
    except Exception as error:
        if len(batch) == 1:
            harvest.left_out.append(f"{batch[0][0]}: {type(error).__name__}: {error}"[:300])
            return
        half = len(batch) // 2
        yield from _packed(batch[:half], harvest)
        yield from _packed(batch[half:], harvest)
        return
    for (name, _, arguments), seed in zip(batch, seeds, strict=True):
        size = sum(len(content) for _, _, content in seed.storages.values())
        if len(seed.nodes) > _MOST_RECORDS or size > _MOST_BYTES:
            harvest.left_out.append(f"{name}: large: {len(seed.nodes)} records, {size} bytes")
        else:
            yield name, seed, arguments


def exported(objects: list[Any]) -> bytes:
    """Return an archive of objects."""
    file = io.BytesIO()
    with PackageExporter(file, policy="auto", prove=False) as exporter:
        for number, it in enumerate(objects):
            exporter.save_object("m", f"o{number:04}", it)
    return file.getvalue()


def _batches(found: Iterable[Any], size: int) -> Iterator[list[Any]]:
    batch = []
    for one in found:
        batch.append(one)
        if len(batch) == size:
            yield batch
            batch = []
    if batch:
        yield batch


def made(library: str, seed: int, variants: int) -> Harvest:
    """Return the harvest of a library."""
    from .makers import MAKERS

    return harvested(library, MAKERS[library](Random(seed), variants))


def main() -> None:
    """Write the harvest of a library to a file: library, seed, variants, file."""
    library, seed, variants, target = sys.argv[1:]
    target = os.path.abspath(target)
    os.chdir(tempfile.mkdtemp())  # some of what is tried writes files
    harvest = made(library, int(seed), int(variants))
    with open(target, "wb") as file:
        pickle.dump(harvest, file)
