"""`kellet report`: what is in an archive, as one page of HTML to read; nothing of it is run."""

from __future__ import annotations

import argparse

from .archives import FILE_HELP, add_identity, add_signed_by, signature_line, source_of
from .outputs import OR_STANDARD_OUTPUT, output_of, write_output
from .screen import print_lines, progress

EPILOG = """\
examples:
  kellet report net.kellet -o report.html
  kellet report net.kellet -o report.html --no-values      does not read the bytes of tensors
  kellet report - -o report.html < net.kellet

The page is one file, less than a megabyte, without network and JavaScript. It shows identity, environment,
modules with reasons, sizes, tensors with values, objects, examples, migrations, required packages, licences.
A long table is cut, and says so. The same archive gives the same bytes. Nothing of the archive is run.
"""


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the command."""
    parser.add_argument("file", metavar="FILE", help=FILE_HELP)
    parser.add_argument(
        "-o", "--output", metavar="FILE", required=True, help="write the page here" + OR_STANDARD_OUTPUT
    )
    parser.add_argument(
        "--no-values",
        dest="values",
        action="store_false",
        help="do not read the bytes of tensors; leaves out least, greatest and mean values",
    )
    add_identity(parser)
    add_signed_by(parser)


def run(options: argparse.Namespace) -> int:
    """Write the page."""
    from packager._archive import ArchiveReader
    from packager._report import page_html, page_of_archive

    with output_of(options.output) as output:
        with (
            progress("reading") as show,
            ArchiveReader(
                source_of(options.file), identity=options.identity, digests="crc", mmap=False
            ) as reader,
        ):
            reader.progress = show
            page = page_of_archive(reader, values=options.values, signature=signature_line(options, reader))
        size = write_output(output, page_html(page))
    if options.output != "-":
        print_lines(f"{options.output}: a page about {options.file}, {size:,} bytes")
    return 0
