"""`kellet sbom`: everything in an archive and everything it asks for, as a bill of materials."""

from __future__ import annotations

import argparse

from .archives import FILE_HELP, add_identity, add_signed_by, signature_line, source_of
from .outputs import add_output, output_of, write_output
from .screen import print_lines, progress

EPILOG = """\
examples:
  kellet sbom net.kellet -o net.cdx.json
  kellet sbom net.kellet | jq -r '.components[] | select(.purl) | .purl'
  kellet sbom net.kellet --identity SHA256 -o net.cdx.json

CycloneDX 1.6 in JSON: each stored file with its sha256 and licence, each required package with its package
URL, the model and its weights. If no licence is found, the property kellet:license says so. The same archive
gives the same bytes. Nothing of the archive is run.
"""


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the command."""
    parser.add_argument("file", metavar="FILE", help=FILE_HELP)
    add_output(parser)
    add_identity(parser)
    add_signed_by(parser)


def run(options: argparse.Namespace) -> int:
    """Write the bill."""
    from packager._licenses import bill_of_materials, cyclonedx
    from packager._texts import counted

    with output_of(options.output) as output:
        with progress("reading") as show:
            bill = bill_of_materials(
                source_of(options.file),
                identity=options.identity,
                progress=show,
                signature=lambda reader: signature_line(options, reader),
            )
        write_output(output, cyclonedx(bill))
    if options.output == "-":
        return 0
    found = list(bill.all())
    without = sum(not one.licenses for one in found if one.package_url or one.kind == "file")
    said = f"; {without:,} without a licence" if without else ""
    print_lines(
        f"{options.output}: {counted(len(found), 'component')} of {options.file}{said}",
        f"    {options.file}: {bill.signature}",
    )
    return 0
