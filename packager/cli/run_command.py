"""`packager run`: call what an archive holds with arrays from a file."""

from __future__ import annotations

import argparse
from typing import Any

from packager.atomic import replaced_file

from .archives import add_archive, opened
from .screen import print_lines

_EXAMPLES = """\
examples:
  packager run net.kellet --input x.npz -o y.npz
  packager run net.kellet --entry encode --input tokens.npz -o out.npz
  packager run net.kellet --identity 5f1c... --input x.npz     this archive, and no other

In the input file arrays are named for parameters, or arg0, arg1, ...; answers are called output, or
output.0, output.key. Modules are in evaluation mode for the call. This runs code of the archive:
`packager inspect` and `verify` do not.
"""


def add(commands: Any) -> None:
    """Declare the command."""
    parser = commands.add_parser(
        "run",
        help="load a model from an archive and call it with arrays",
        description="Load a model from an archive and call it with arrays. This runs code of the archive.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_archive(parser)
    parser.add_argument("--entry", default="model", metavar="NAME", help="which entry point (default: model)")
    parser.add_argument("--input", required=True, metavar="NPZ", help="the file with the inputs")
    parser.add_argument(
        "-o", "--output", metavar="NPZ", help="where the answer goes; without, it is described"
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Run the entry point; write its answer, or describe it."""
    import numpy as np

    from packager.calls import load_arrays

    inputs = load_arrays(options.input)
    with opened(options) as importer:
        answer = importer.run(inputs, options.entry)
    if options.output:
        with replaced_file(options.output) as file:
            np.savez(file, **answer)
    for name, array in answer.items():
        print_lines(f"{name}: {array.dtype} {list(array.shape)}")
    return 0
