"""`packager report`: what is in an archive, as one page of HTML to read; nothing of it is run."""

from __future__ import annotations

import argparse
from typing import Any

from .archives import FILE_HELP, add_identity, source_of
from .outputs import OR_STANDARD_OUTPUT, output_of, write_output
from .screen import print_lines, progress

_EXAMPLES = """\
examples:
  packager report net.kellet -o report.html
  packager report net.kellet -o report.html --no-values      does not read the bytes of tensors
  packager report - -o report.html < net.kellet

One file, less than a megabyte, that needs no network and no JavaScript: identity and environment, modules
and why each is in, sizes, tensors with their values, objects, golden calls, migrations, externs, licences.
Long tables are cut, which they say. The same archive gives the same bytes. Nothing of the archive is run.
"""


def add(commands: Any) -> None:
    """Declare the command."""
    parser = commands.add_parser(
        "report",
        description="Write what is in an archive as one page of HTML, to read anywhere; nothing is run.",
        epilog=_EXAMPLES,
    )
    parser.add_argument("file", metavar="FILE", help=FILE_HELP)
    parser.add_argument(
        "-o", "--output", metavar="FILE", required=True, help="write the page here" + OR_STANDARD_OUTPUT
    )
    parser.add_argument(
        "--no-values",
        dest="values",
        action="store_false",
        help="leave out least, greatest and mean values: the bytes of tensors are not read",
    )
    add_identity(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Write the page."""
    from packager.archive import ArchiveReader
    from packager.report import page_html, page_of_archive

    with output_of(options.output) as output:
        with (
            progress("reading") as show,
            ArchiveReader(
                source_of(options.file), identity=options.identity, digests="crc", mmap=False
            ) as reader,
        ):
            reader.progress = show
            page = page_of_archive(reader, values=options.values)
        size = write_output(output, page_html(page))
    if options.output != "-":
        print_lines(f"{options.output}: a page about {options.file}, {size:,} bytes")
    return 0
