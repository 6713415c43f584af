"""What the commands that read or run an archive share: how it is named, trusted, and opened."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from packager._process import failure_of_model, place_in_model
from packager._texts import wrapped

from .screen import print_lines, progress

TYPE_CHECKING = False  # as in packager._lazy
if TYPE_CHECKING:
    import argparse
    from typing import Any

    from packager._archive import ArchiveReader
    from packager._calls import TargetError
    from packager._signing import Judgement
    from packager.package_importer import PackageImporter


FILE_HELP = "the archive, its address, the folder of an unzipped one, or - for standard input"

_STATES = {
    "unsigned": "unsigned: ",
    "foreign": "signature of others: ",
    "refused": "signature refused: ",
    "broken": "signature broken: ",
    "unverified": "signature ",  # its text goes on: not checked
}
_FRAMES = 8
"""How many of the innermost calls are shown where a model fails."""


def add_archive(parser: argparse.ArgumentParser) -> None:
    """Declare the archive, and the options of trust."""
    parser.add_argument("file", metavar="FILE", help="the archive, or its address")
    add_identity(parser)
    add_signed_by(parser)
    parser.add_argument("--no-code", action="store_true", help="refuse an archive that stores code")
    add_trust_options(parser)


def add_identity(parser: argparse.ArgumentParser) -> None:
    """Declare the option that admits one archive alone."""
    parser.add_argument(
        "--identity",
        type=_identity,
        metavar="SHA256",
        help="the identity that `verify` prints; refuse any other archive before more of it is read",
    )


def _identity(text: str) -> str | None:
    from packager._arguments import check_identity

    return check_identity("identity", text)


def add_signed_by(parser: argparse.ArgumentParser) -> None:
    """Declare the options that say who may have signed, and whether code is taken."""
    parser.add_argument(
        "--signed-by",
        metavar="WHO",
        help="who must have signed it: a public key, the certificate of an authority, or a file of rules "
        "(.toml; default: $KELLET_SIGNERS)",
    )


def add_signing(parser: argparse.ArgumentParser, option: str, **more: Any) -> None:
    """Declare the options of who signs."""
    parser.add_argument(
        option,
        metavar="KEY",
        help="sign with this private key (.pem); or keyless, as the job's identity",
        **more,
    )
    parser.add_argument("--cert", metavar="FILE", help="certificates of that key (.pem), its own first")
    parser.add_argument("--by", default="", metavar="NAME", help="the author or team; part of what is signed")


def signature_line(options: argparse.Namespace, reader: ArchiveReader) -> str:
    """Say who signed an archive, and whether that is verified."""
    path, given = None if options.file == "-" else options.file, getattr(options, "signed_by", None)
    is_asked = given is not None or "KELLET_SIGNERS" in os.environ
    if not is_asked and not reader.signatures() and not (path and os.path.exists(f"{path}.sigstore.json")):
        return "unsigned"  # the room of signatures need not be loaded to say that
    from packager._signing import judged

    found = judged(given, reader, path)
    said = f" ({found.statement.said})" if found.ok and found.statement else ""
    text = unchecked_text(found, "--signed-by") if found.state == "unverified" else found.text
    return _STATES.get(found.state, "") + "; ".join(text.split("\n")) + said


def unchecked_text(judgement: Judgement, option: str) -> str:
    """Return the text of a signature that was compared with no key, and the option that names one."""
    return judgement.text.replace("not checked: ", f"not checked: give {option} FILE; ", 1)


def add_trust_options(parser: argparse.ArgumentParser) -> None:
    """Declare the options of trust: types to allow, and how to treat what it records of the environment."""
    add_trust(parser, "a type to trust (module:Class); repeatable")
    parser.add_argument(
        "--environment",
        choices=("error", "warn", "ignore"),
        default="warn",
        help="what to do if this environment differs from the recorded one (default: warn, and stop if a "
        "required package is missing; ignore: try anyway)",
    )


def add_trust(parser: argparse.ArgumentParser, text: str) -> None:
    """Declare the option that names a type to trust; what is no such name is wrong usage."""
    parser.add_argument("--trust", type=_trusted, action="append", default=[], metavar="NAME", help=text)


def _trusted(text: str) -> str:
    from packager._audit import Trust

    try:
        Trust((text,))
    except ValueError as error:
        raise ValueError(str(error).removeprefix("trust=")) from error
    return text


def mebibytes(text: str) -> int:
    """Read an argument that is a number of MiB. Raises ValueError for others."""
    if not text.isdecimal() or len(text) > 10 or not 0 < int(text) <= _MOST_MEBIBYTES:
        raise ValueError(f"expected 1 to {_MOST_MEBIBYTES} MiB, got {text}")
    return int(text)


def not_negative(text: str) -> float:
    """Read an argument that is 0 or more. Raises ValueError for others."""
    try:
        number = float(text)
    except ValueError:
        number = float("nan")
    if not number >= 0:  # what is no number is not, either
        raise ValueError(f"expected a number from 0 on, got {text}")
    return number


_MOST_MEBIBYTES = 1 << 32
"""More is no size of a process: systems refuse it as a limit."""


def source_of(file: str) -> Any:
    """Return what the reader is given for an argument FILE: standard input for `-`."""
    return sys.stdin.buffer if file == "-" else file


@contextmanager
def opened(options: argparse.Namespace) -> Iterator[PackageImporter]:
    """Give the importer of the archive that was named; long reads show how far they are.

    Raises TargetError where code of the archive raises something in the block.
    """
    from packager.package_importer import PackageImporter

    with (
        progress("reading") as show,
        PackageImporter(
            options.file,
            # What a runnable archive says of itself proves nothing: it has no such option.
            identity=getattr(options, "identity", None),
            signed_by=getattr(options, "signed_by", None),
            code=not getattr(options, "no_code", False),
            trust=options.trust,
            environment=options.environment,
        ) as importer,
    ):
        importer.archive.progress = show
        if hasattr(options, "signed_by"):
            said = signature_line(options, importer.archive)
            if said != "unsigned":  # nobody asked for a signature: their screen stays as it was
                print_lines(*wrapped(f"{options.file}: {said}"), to=sys.stderr)
        with told_with_place(options.file):
            yield importer


@contextmanager
def told_with_place(what: str) -> Iterator[None]:
    """Raise TargetError where code of a model raises something in the block, with file and line.

    Errors of ours, of files and of imports go through, unless it was the model's code that met them.
    """
    from packager.errors import PackageError

    try:
        yield
    except (PackageError, BrokenPipeError):  # these say by themselves what to do
        raise
    except (OSError, ImportError) as error:
        if not place_in_model(error):
            raise
        raise _model_failed(what, error) from error
    except Exception as error:
        raise _model_failed(what, error) from error


def _model_failed(file: str, error: Exception) -> TargetError:
    from packager._calls import TargetError

    failed = TargetError(f"{file}: the model failed: {failure_of_model(error)}")
    import traceback

    for frame in traceback.extract_tb(error.__traceback__)[-_FRAMES:]:
        failed.add_note(f"{frame.filename}:{frame.lineno} in {frame.name}: {frame.line}")
    return failed
