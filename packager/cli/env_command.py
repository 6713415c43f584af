"""`packager env`: the environment that an archive needs, checked, locked, or made anew."""

from __future__ import annotations

import argparse
import os
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from packager.atomic import files_into, replaced_file

from .building import add_find_links
from .screen import print_json, print_text

_EXAMPLES = """\
examples:
  packager env check net.kellet                        does this environment do?
  packager env check net.kellet --python env/bin/python
  packager env lock net.kellet -o requirements.txt     exact versions
  packager env lock net.kellet -o pylock.toml          wheels with digests (PEP 751)
  packager env create net.kellet env/                  a new venv with exactly the recorded versions
  packager env create net.kellet env/ --offline        from the wheels in the archive alone

Nothing of the archive is run: wheels are unpacked, never built. Another Python is run to be asked, with
-I -S. Starting Python in the new environment runs what is in it, .pth files of wheels among it.
"""
_PYTHON = "another Python, as python3.12 or /usr/bin/python3 (default: the running one)"


def add(commands: Any) -> None:
    """Declare the command and its three parts."""
    parser = commands.add_parser(
        "env",
        help="check, lock or make the environment that an archive needs",
        description="Check, lock or make the environment that an archive needs.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parts = parser.add_subparsers(title="parts", metavar="PART", required=True)
    _add_check(parts)
    _add_lock(parts)
    _add_create(parts)


def _add_check(parts: Any) -> None:
    check = parts.add_parser(
        "check",
        help="compare an environment with the recorded one",
        description="Compare an environment with the recorded one. The exit code is 0 when every extern is "
        "there in a version that will do, and 1 when not. Another Python or platform is told, and "
        "counts with --strict alone.",
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
        description="Write the recorded versions as requirements.txt or pylock.toml (PEP 751). Digests are "
        "those of the wheels in the archive; without any, an index is asked for pylock.toml, which needs "
        "them, and requirements.txt has versions alone. For that pip runs under the Python of --python, and "
        "that Python runs what is installed for it.",
    )
    lock.add_argument("file", metavar="FILE", help="the archive")
    lock.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="FILE",
        help="requirements.txt (default: print it), or pylock.toml",
    )
    lock.add_argument(
        "--wheels",
        type=Path,
        metavar="FOLDER",
        help="where wheels go that no index has (default: wheels, beside pylock.toml)",
    )
    lock.add_argument("--python", metavar="PYTHON", help=_PYTHON)
    add_find_links(lock)
    lock.set_defaults(run=run_lock)


def _add_create(parts: Any) -> None:
    create = parts.add_parser(
        "create",
        help="make a virtual environment with exactly the recorded versions",
        description="Make a virtual environment with exactly the recorded versions, from wheels alone; "
        "nothing in them is run, and sources are never built. On any error nothing is left behind.",
    )
    create.add_argument("file", metavar="FILE", help="the archive")
    create.add_argument("folder", metavar="DIR", help="the new environment; must not be there, or be empty")
    create.add_argument("--python", metavar="PYTHON", help=_PYTHON)
    create.add_argument(
        "--installer", choices=("auto", "pip", "uv"), default="auto", help="auto (default): uv where it is"
    )
    create.add_argument("--offline", action="store_true", help="from the wheels in the archive alone")
    create.add_argument("--json", action="store_true", help="print the outcome for machines")
    add_find_links(create)
    create.set_defaults(run=run_create)


def run_check(options: argparse.Namespace) -> int:
    """Compare, print the report, and say by the exit code whether the archive can be loaded."""
    from packager.archive import ArchiveReader
    from packager.environment import Distributions, Interpreter, RecordedEnvironment, compare_environment

    with ArchiveReader(options.file) as reader:
        recorded = RecordedEnvironment.of(reader.manifest)
    python = Interpreter.ask(options.python)
    report = compare_environment(
        recorded.fingerprint, recorded.externs, python.fingerprint, Distributions(python.path)
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
        print_text(f"{options.file}: {report}")
    return 1 if counted else 0


def run_lock(options: argparse.Namespace) -> int:
    """Write the lock file, or print it."""
    from packager.archive import ArchiveReader
    from packager.environment import (
        Interpreter,
        RecordedEnvironment,
        pylock_text,
        requirements_text,
        resolve_wheels,
        wheels_held,
    )

    output: Path | None = options.output
    folder: Path | None = options.wheels
    seen = ""  # the folder, as a pylock file names it
    if output is not None and output.suffix == ".toml":
        folder = folder or output.parent / "wheels"
        seen = _seen_from(output, folder)
    # A lock file and the wheels that it names come together, or neither does.
    with ArchiveReader(options.file) as reader, files_into(folder) if folder else nullcontext() as part:
        recorded = RecordedEnvironment.of(reader.manifest)
        if part is None or not seen:
            text = requirements_text(recorded, wheels_held(reader, part))
        else:
            wheels = wheels_held(reader, part) if _holds_wheels(reader) else ()
            python = None if wheels else Interpreter.ask(options.python)
            wheels = wheels or resolve_wheels(
                reader, part, python=options.python, find_links=options.find_links
            )
            text = pylock_text(wheels, seen, python)
        if output is None:
            print_text(text)
        else:
            with replaced_file(output) as file:
                file.write(text.encode())
    return 0


def run_create(options: argparse.Namespace) -> int:
    """Make the environment, and say what is in it and what still differs."""
    from packager.archive import ArchiveReader
    from packager.environment import create_environment

    with ArchiveReader(options.file) as reader:
        made = create_environment(
            reader,
            options.folder,
            python=options.python,
            installer=options.installer,
            offline=options.offline,
            find_links=options.find_links,
        )
    if options.json:
        print_json(made)
    else:
        print_text(f"{made.python}: {', '.join(made.installed) or 'nothing'}, by {made.installer}")
        if made.report:
            print_text(f"{options.file}: {made.report}")
    return 1 if made.report.missing else 0


def _holds_wheels(reader: Any) -> bool:
    from packager.environment import vendored_wheels

    return bool(vendored_wheels(reader.manifest))


def _seen_from(output: Path, folder: Path) -> str:
    """The path of `folder` from the lock file's own folder, as PEP 751 wants it."""
    return Path(os.path.relpath(folder.absolute(), output.absolute().parent)).as_posix()
