"""`kellet run`: call what an archive holds with values from a file, a pipe or the command line."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from packager._texts import listed

from .archives import add_archive, opened
from .outputs import output_of
from .screen import print_lines

EPILOG = """\
examples:
  kellet run net.kellet --input x.npz -o y.npz
  kellet run net.kellet --entry encode --input tokens.npz -o out.npz
  kellet run net.kellet --callable predict --text "two words"
  kellet run net.kellet --input - -o - < x.json > y.json
  kellet run net.kellet --identity 5f1c... --input x.npz     this archive, and no other

Values in the input file have the names of parameters, or arg0, arg1, ...; a text, or JSON that is not an
object, is arg0. Outputs are called output, or output.0, output.key. Modules are in evaluation mode. This runs
code of the archive; `kellet inspect` and `verify` do not.
"""


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the command."""
    add_archive(parser)
    add_inputs(parser.add_mutually_exclusive_group(required=True))
    add_call(parser)


def add_inputs(group: Any) -> None:
    """Declare where the inputs of a call come from."""
    group.add_argument(
        "--input",
        metavar="FILE",
        help="the inputs: arrays (.npz), JSON (.json) or a text (.txt); - for standard input, in any of "
        "these",
    )
    group.add_argument("--text", metavar="TEXT", help="a text as the only input")


def add_call(parser: argparse.ArgumentParser) -> None:
    """Declare what is called, how, and where the answer goes."""
    parser.add_argument(
        "--entry", default="model", metavar="NAME", help="the entry point or object to call (default: model)"
    )
    parser.add_argument("--callable", metavar="NAME", help="call this method of the object, as predict")
    parser.add_argument(
        "--train", action="store_true", help="modules in training mode (default: evaluation mode)"
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        help="write the outputs here: .json, else .npz; - for standard output, in the format of the inputs "
        "(default: print names and shapes)",
    )


def run(options: argparse.Namespace) -> int:
    """Run the entry point; write its answer, or describe it."""
    from packager._calls import json_text, load_inputs, write_answer

    inputs = {"arg0": options.text} if options.input is None else load_inputs(options.input)
    as_arrays = any(hasattr(value, "dtype") for value in inputs.values())
    with output_of(options.output, is_text=not as_arrays), opened(options) as importer:
        answer = importer.run(inputs, options.entry, method=options.callable, training=options.train)
    if options.output:
        left_out = write_answer(answer, options.output, as_arrays=as_arrays)
        if left_out:
            print_lines(
                f"{options.output}: left out {listed(left_out, 5)}: a .npz file holds arrays and texts; "
                "a .json file holds all",
                to=sys.stderr,
            )
    for name, value in answer.items() if options.output != "-" else ():
        if hasattr(value, "dtype"):
            print_lines(f"{name}: {value.dtype} {list(value.shape)}")
        else:
            print_lines(f"{name}: {json_text(value)}")
    return 0
