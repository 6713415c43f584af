"""The golden calls of two archives, run on both: this loads and runs the code of both."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping
from contextlib import ExitStack
from typing import Any, Literal

from packager._archive import ArchiveReader, CheckRecord
from packager._calls import compare_answers, golden_inputs
from packager._process import failure_of_model
from packager._texts import one_line
from packager.errors import EnvironmentMismatchError
from packager.package_importer import PackageImporter

from .changes import CallChange
from .members import same_content

Source = Literal["before", "after", "both"]


def compare_calls(
    before: str | os.PathLike[str],
    after: str | os.PathLike[str],
    *,
    trust: Collection[str] = (),
    environment: str = "warn",
) -> tuple[int, tuple[CallChange, ...]]:
    """Make the golden calls of two archives on both; return how many, and those whose answers differ.

    Those that are not repeatable are left out: their answers differ each time.

    A call that both have with the same inputs is made once on each. Where the model fails on one side, that
    is the difference; where it fails on both, too. Raises ArchiveError for what is no archive.
    """
    found, count = [], 0
    options: dict[str, Any] = {"trust": tuple(trust), "environment": environment}
    with ArchiveReader(before) as one, ArchiveReader(after) as other, ExitStack() as opened:
        calls = list(_calls(one, other))
        if not calls:
            return 0, ()
        sides = [_opened(file, opened, options) for file in (before, after)]
        for record, source in calls:
            count += 1
            inputs, training = golden_inputs(other if source == "after" else one, record)
            answers = [_answer(side, record, inputs, training) for side in sides]
            failed = [why for _, why in answers]
            deviations = () if any(failed) else compare_answers(answers[0][0], answers[1][0])
            if any(failed) or not all(part.same_bits for part in deviations):
                found.append(CallChange(record.name, source, deviations, *failed))
    return count, tuple(found)


def _opened(
    file: str | os.PathLike[str], opened: ExitStack, options: Mapping[str, Any]
) -> PackageImporter | str:
    """Return what loads an archive; why it cannot, as a text, where the environment is not what it needs."""
    try:
        return opened.enter_context(PackageImporter(file, **options))
    except EnvironmentMismatchError as error:
        return one_line(str(error).partition("\n")[0])


def _calls(before: ArchiveReader, after: ArchiveReader) -> Iterator[tuple[CheckRecord, Source]]:
    """Yield the golden calls of both that are repeatable; those with the same inputs once."""
    olds, news = ({one.name: one for one in side.manifest.checks if one.outputs} for side in (before, after))
    shared = {
        name
        for name in olds
        if name in news
        and olds[name].entry_point == news[name].entry_point
        and same_content(before.entry(olds[name].inputs), after.entry(news[name].inputs))
    }
    for name, record in olds.items():
        yield record, "both" if name in shared else "before"
    for name, record in news.items():
        if name not in shared:
            yield record, "after"


def _answer(
    importer: PackageImporter | str, record: CheckRecord, inputs: dict[str, Any], training: bool
) -> tuple[dict[str, Any], str]:
    """Return what a model answers, and "", or nothing, and why it failed."""
    if isinstance(importer, str):
        return {}, importer
    try:
        return importer.run(dict(inputs), record.entry_point, training=training, from_seed=True), ""
    except Exception as error:  # of the model's code, of any kind
        return {}, one_line(failure_of_model(error))
