"""`kellet why`: who brings a module in, by which imports, and which rule decided."""

from __future__ import annotations

import argparse
import dataclasses
import io
import os
import sys

from packager._texts import did_you_mean

from .building import add_policy_options, add_target, exporter_for, request_target
from .screen import print_json, print_lines, print_text, stages

EPILOG = """\
examples:
  kellet why mypkg.models:build numpy.linalg
  kellet why net.kellet mypkg.layers

The first shows the plan of a target, the second what an archive recorded.
"""


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the command."""
    add_target(parser, or_file=True)
    parser.add_argument("module", metavar="MODULE", help="the module to explain, as numpy.linalg")
    add_policy_options(parser)
    parser.add_argument("--json", action="store_true", help="print the answer for machines")


def run(options: argparse.Namespace) -> int:
    """Say why one module is in a plan or an archive."""
    if os.path.exists(options.target):
        return _why_recorded(options)
    exporter = exporter_for(options, io.BytesIO())
    try:
        with stages() as exporter.progress:
            request_target(exporter, options.target)
            answer = exporter.why(options.module)
    except KeyError as error:
        return _unknown(str(error.args[0]))
    if options.json:
        print_json(answer)
    else:
        print_text(str(answer))
    return 0


def _why_recorded(options: argparse.Namespace) -> int:
    from packager._archive import ArchiveReader
    from packager._report import importers_below

    with ArchiveReader(options.target) as reader:
        records = {record.name: record for record in reader.manifest.modules}
    record = records.get(options.module)
    if record is None:
        near = did_you_mean(options.module, records)
        return _unknown(f"module {options.module!r} is not in {options.target}{near}")
    below = importers_below(records, record.name)
    if options.json:
        print_json({**dataclasses.asdict(record), "submodules": below})
        return 0
    lines = [f"{record.name}: {record.action} by {record.rule} ({record.because})"]
    lines += [f"    {site.module} at {site.file}:{site.line}" for site in record.importers]
    for name, sites in sorted(below.items()):
        lines += [f"    {site.module} at {site.file}:{site.line}, which imports {name}" for site in sites]
    print_lines(*lines)
    return 0


def _unknown(message: str) -> int:
    print_lines(f"kellet: {message}", to=sys.stderr)
    return 1
