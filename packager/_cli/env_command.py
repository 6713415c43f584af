"""`kellet env`: the environment that an archive needs, checked, locked, or made anew."""

from __future__ import annotations

import argparse
import errno
import os
import re
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

from packager._atomic import files_into, replaced_file
from packager._caches import cache_folder

from .archives import add_identity
from .building import add_find_links
from .outputs import output_folder, output_of, write_output
from .screen import print_json, print_lines

EPILOG = """\
examples:
  kellet env check net.kellet                        does this environment do?
  kellet env check net.kellet --python env/bin/python
  kellet env lock net.kellet -o requirements.txt     exact versions
  kellet env lock net.kellet -o pylock.toml          wheels with digests (PEP 751)
  kellet env lock net.kellet --extra-index-url https://download.pytorch.org/whl/cpu
  kellet env create net.kellet env/                  a new venv with exactly the recorded versions
  kellet env create net.kellet env/ --offline        from the wheels in the archive alone

Nothing of the archive is run: wheels are unpacked, never built. Another Python is asked by running it with
-I -S. Some files of wheels, such as .pth files, run whenever Python starts in the new environment. `create`
lists them, and `kellet inspect` lists those of wheels in the archive.
"""
_PYTHON = "another Python, as python3.12 or /usr/bin/python3 (default: the running one)"


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the command and its three parts."""
    parts = parser.add_subparsers(title="parts", metavar="PART", required=True)
    _add_check(parts)
    _add_lock(parts)
    _add_create(parts)


def _add_check(parts: Any) -> None:
    check = parts.add_parser(
        "check",
        help="compare an environment with the recorded one",
        description="Compare an environment with the recorded one. The exit code is 0 if every required "
        "package is there in a good version, and 1 if not. Another Python or platform is "
        "reported, and counts only with --strict.",
    )
    check.add_argument("file", metavar="FILE", help="the archive")
    check.add_argument("--python", metavar="PYTHON", help=_PYTHON)
    check.add_argument("--strict", action="store_true", help="any difference is a failure")
    check.add_argument("--json", action="store_true", help="print the report for machines")
    check.set_defaults(run=run_check)


def _add_lock(parts: Any) -> None:
    lock = parts.add_parser(
        "lock",
        help="write requirements.txt or pylock.toml",
        description="Write the recorded versions as requirements.txt or pylock.toml (PEP 751). Digests "
        "come from the wheels in the archive. Without wheels, requirements.txt has versions "
        "only, and pip asks an index for the digests of pylock.toml. pip then runs under the "
        "Python of --python, with all that is installed there. Packages that "
        "come from no index, such as kellet itself, are named by wheel and digest.",
    )
    lock.add_argument("file", metavar="FILE", help="the archive")
    lock.add_argument(
        "-o",
        "--output",
        default="-",
        metavar="FILE",
        help="requirements.txt, pylock.toml, or - (default): requirements.txt to standard output",
    )
    lock.add_argument(
        "--wheels",
        type=output_folder,
        metavar="FOLDER",
        help="a folder for wheels that no index has (default: wheels, beside the lock file)",
    )
    lock.add_argument("--python", metavar="PYTHON", help=_PYTHON)
    lock.add_argument(
        "--extra-index-url",
        type=index_url,
        action="append",
        default=[],
        dest="indexes",
        metavar="URL",
        help="one more index, for local versions as 2.4.0+cpu; written into requirements.txt, and asked "
        "for pylock.toml; repeatable",
    )
    add_find_links(lock)
    add_identity(lock)
    lock.set_defaults(run=run_lock)


def _add_create(parts: Any) -> None:
    create = parts.add_parser(
        "create",
        help="make a virtual environment with exactly the recorded versions",
        description="Make a virtual environment with exactly the recorded versions, from wheels alone. "
        "Nothing in them is run, and sources are never built. Files that will run whenever "
        "Python starts there (.pth files, sitecustomize, another python) are listed. On any "
        "error nothing is left behind.",
    )
    create.add_argument("file", metavar="FILE", help="the archive")
    create.add_argument(
        "folder",
        type=output_folder,
        metavar="DIR",
        help="the new environment: a folder that is empty or does not exist",
    )
    create.add_argument("--python", metavar="PYTHON", help=_PYTHON)
    create.add_argument(
        "--installer",
        choices=("auto", "pip", "uv"),
        default="auto",
        help="auto (default): uv if it is on PATH, else pip",
    )
    create.add_argument("--offline", action="store_true", help="from the wheels in the archive alone")
    create.add_argument(
        "--packager",
        action=argparse.BooleanOptionalAction,
        help="install packager, which opens the archive there (default: yes; with --offline, if the "
        "archive has the wheels for it)",
    )
    create.add_argument("--json", action="store_true", help="print the outcome for machines")
    add_find_links(create)
    add_identity(create)
    create.set_defaults(run=run_create)


def index_url(text: str) -> str:
    """Read the address of an index, which becomes a line of a file. Raises ValueError."""
    if not re.fullmatch(r"(?:https?|file)://[!-~]+", text):
        raise ValueError(f"{text!r}: expected an address, as https://host/simple")
    return text


def run_check(options: argparse.Namespace) -> int:
    """Print the report, and say by the exit code whether the archive can be loaded."""
    from packager._archive import ArchiveReader
    from packager._environment import Distributions, Interpreter, RecordedEnvironment, compare_environment

    with ArchiveReader(options.file) as reader:
        recorded = RecordedEnvironment.of(reader.manifest)
    python = Interpreter.ask(options.python)
    report = compare_environment(
        recorded.fingerprint,
        recorded.externs,
        python.fingerprint,
        Distributions(python.path),
        recorded.probes,
    )
    counted = [one for one in report.differences if options.strict or one.kind in ("missing", "version")]
    if options.json:
        print_json(
            {
                "ok": not counted,
                "python": python.fingerprint.python,
                "differences": report.differences,
                "install": report.install_command,
            }
        )
    else:
        print_lines(f"{options.file}: " + str(report))
    return 1 if counted else 0


def run_lock(options: argparse.Namespace) -> int:
    """Write the lock file, or print it, and the wheels that it names. Raises FileNotFoundError."""
    from packager._archive import ArchiveReader
    from packager._environment import WheelsAtHand, pylock, requirements_lock

    output = None if options.output == "-" else Path(options.output)
    is_pylock = output is not None and output.suffix == ".toml"
    with (
        output_of(options.output) as written,
        ArchiveReader(options.file, identity=options.identity, digests="crc") as reader,
    ):
        if output is not None and not output.parent.is_dir():
            raise FileNotFoundError(errno.ENOENT, "there is no such folder", str(output.parent))
        at_hand = WheelsAtHand.of(reader, options.python, options.find_links)
        if is_pylock or options.wheels or at_hand.recorded.local_versions:
            folder = options.wheels or (output.parent / "wheels" if output else cache_folder("wheels"))
            folder = Path(
                folder
            ).resolve()  # it is written into the file, and `..` behind a link leads elsewhere
            beside: AbstractContextManager[Path] = files_into(folder)
        else:
            folder, beside = Path(), nullcontext(Path())  # nothing will lie there
        # A lock file and the wheels that it names come together, or neither does; if one, then the wheels.
        with replaced_file(output) if output else nullcontext() as file:
            with beside as part:
                if output is not None and is_pylock:
                    text = pylock(at_hand, part, _seen_from(output, folder), indexes=options.indexes)
                else:
                    every, indexes = bool(options.wheels), options.indexes
                    text = requirements_lock(at_hand, part, folder, every_wheel=every, indexes=indexes)
                if file is not None:
                    file.write(text.encode())
            if file is None:
                write_output(written, [text])
    return 0


def run_create(options: argparse.Namespace) -> int:
    """Make the environment, and say what is in it and what still differs."""
    from packager._archive import ArchiveReader
    from packager._environment import create_environment

    with ArchiveReader(options.file, identity=options.identity, digests="crc") as reader:
        made = create_environment(
            reader,
            options.folder,
            python=options.python,
            installer=options.installer,
            offline=options.offline,
            find_links=options.find_links,
            packager=options.packager,
        )
    if options.json:
        print_json(made)
    else:
        print_lines(f"{made.python}: {', '.join(made.installed) or 'nothing'}, by {made.installer}")
        if made.lacking:
            print_lines(
                "this environment cannot open the archive: packager is not in it, for lack of a wheel of "
                f"{', '.join(made.lacking)}. Leave out --offline, name a folder with these wheels by "
                "--find-links, or export again with --vendor-wheels"
            )
        for name, files in made.acting.items():
            print_lines(*(f"warning: {name} brings {one.path}: {one.why}" for one in files))
        if made.report:
            print_lines(f"{options.file}: " + str(made.report))
    return 1 if made.report.missing else 0


def _seen_from(output: Path, folder: Path) -> str:
    """The path of `folder` from the lock file's own folder, as PEP 751 wants it."""
    return Path(os.path.relpath(folder, output.parent.resolve())).as_posix()
