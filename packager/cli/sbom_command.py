"""`packager sbom`: everything in an archive and everything it asks for, as a bill of materials."""

from __future__ import annotations

import argparse
from typing import Any

from .archives import FILE_HELP, add_identity, source_of
from .outputs import output_of, write_output
from .screen import print_lines, progress

_EXAMPLES = """\
examples:
  packager sbom net.kellet -o net.cdx.json
  packager sbom net.kellet | jq -r '.components[] | select(.purl) | .purl'
  packager sbom net.kellet --identity SHA256 -o net.cdx.json

CycloneDX 1.6 in JSON: each stored file with its sha256 and licence, each package that the target has to
bring with a package URL, the model and its weights. Where no licence is found it says so, in the property
kellet:license. The same archive gives the same bytes. Nothing of the archive is run.
"""


def add(commands: Any) -> None:
    """Declare the command."""
    parser = commands.add_parser(
        "sbom",
        description="Write what an archive holds and asks for, with licences, as CycloneDX; nothing is run.",
        epilog=_EXAMPLES,
    )
    parser.add_argument("file", metavar="FILE", help=FILE_HELP)
    parser.add_argument(
        "-o", "--output", default="-", metavar="FILE", help="write here; - (default) is standard output"
    )
    add_identity(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Write the bill."""
    from packager.licenses import bill_of_materials, cyclonedx
    from packager.texts import counted

    with output_of(options.output) as output:
        with progress("reading") as show:
            bill = bill_of_materials(source_of(options.file), identity=options.identity, progress=show)
        write_output(output, cyclonedx(bill))
    if options.output == "-":
        return 0
    found = list(bill.all())
    without = sum(not one.licenses for one in found if one.package_url or one.kind == "file")
    said = f"; {without:,} without a licence" if without else ""
    print_lines(f"{options.output}: {counted(len(found), 'component')} of {options.file}{said}")
    return 0
