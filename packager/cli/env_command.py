"""`packager env`: the environment that an archive needs, checked, locked, or made anew."""

from __future__ import annotations

import argparse
import errno
import os
import re
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

from packager.atomic import files_into, replaced_file
from packager.caches import cache_folder

from .archives import add_identity
from .building import add_find_links
from .outputs import output_folder, output_of, write_output
from .screen import print_json, print_lines

_EXAMPLES = """\
examples:
  packager env check net.kellet                        does this environment do?
  packager env check net.kellet --python env/bin/python
  packager env lock net.kellet -o requirements.txt     exact versions
  packager env lock net.kellet -o pylock.toml          wheels with digests (PEP 751)
  packager env lock net.kellet --extra-index-url https://download.pytorch.org/whl/cpu
  packager env create net.kellet env/                  a new venv with exactly the recorded versions
  packager env create net.kellet env/ --offline        from the wheels in the archive alone

Nothing of the archive is run: wheels are unpacked, never built. Another Python is run to be asked, with
-I -S. Starting Python in the new environment runs what is in it; what runs by itself, as .pth files of
wheels do, is listed by create, and for wheels in the archive by `packager inspect`.
"""
_PYTHON = "another Python, as python3.12 or /usr/bin/python3 (default: the running one)"


def add(commands: Any) -> None:
    """Declare the command and its three parts."""
    parser = commands.add_parser(
        "env",
        description="Check, lock or make the environment that an archive needs.",
        epilog=_EXAMPLES,
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
        "that Python runs what is installed for it. What no index has, as kellet itself, is named by its "
        "wheel and digest.",
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
        help="where wheels go that no index has (default: wheels, beside the lock file)",
    )
    lock.add_argument("--python", metavar="PYTHON", help=_PYTHON)
    lock.add_argument(
        "--extra-index-url",
        type=index_url,
        action="append",
        default=[],
        dest="indexes",
        metavar="URL",
        help="an index beside PyPI, for local versions as 2.4.0+cpu: named in requirements.txt, asked for "
        "pylock.toml; repeatable",
    )
    add_find_links(lock)
    add_identity(lock)
    lock.set_defaults(run=run_lock)


def _add_create(parts: Any) -> None:
    create = parts.add_parser(
        "create",
        help="make a virtual environment with exactly the recorded versions",
        description="Make a virtual environment with exactly the recorded versions, from wheels alone; "
        "nothing in them is run, and sources are never built. What will run by itself once Python is started "
        "there (.pth files, sitecustomize, another python) is listed. On any error nothing is left behind.",
    )
    create.add_argument("file", metavar="FILE", help="the archive")
    create.add_argument(
        "folder",
        type=output_folder,
        metavar="DIR",
        help="the new environment; must not be there, or be empty",
    )
    create.add_argument("--python", metavar="PYTHON", help=_PYTHON)
    create.add_argument(
        "--installer", choices=("auto", "pip", "uv"), default="auto", help="auto (default): uv where it is"
    )
    create.add_argument("--offline", action="store_true", help="from the wheels in the archive alone")
    create.add_argument(
        "--packager",
        action=argparse.BooleanOptionalAction,
        help="put packager into it, which opens the archive there (default: yes; with --offline where the "
        "archive has the wheels that it needs)",
    )
    create.add_argument("--json", action="store_true", help="print the outcome for machines")
    add_find_links(create)
    add_identity(create)
    create.set_defaults(run=run_create)


def index_url(text: str) -> str:
    """Read the address of an index, which becomes a line of a file. Raises argparse's ArgumentTypeError."""
    if not re.fullmatch(r"(?:https?|file)://[!-~]+", text):
        raise argparse.ArgumentTypeError(f"{text!r}: expected an address, as https://host/simple")
    return text


def run_check(options: argparse.Namespace) -> int:
    """Print the report, and say by the exit code whether the archive can be loaded."""
    from packager.archive import ArchiveReader
    from packager.environment import Distributions, Interpreter, RecordedEnvironment, compare_environment

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
    from packager.archive import ArchiveReader
    from packager.environment import RecordedEnvironment, pylock, requirements_lock

    output = None if options.output == "-" else Path(options.output)
    is_pylock = output is not None and output.suffix == ".toml"
    how = {"python": options.python, "find_links": options.find_links, "indexes": options.indexes}
    with (
        output_of(options.output) as written,
        ArchiveReader(options.file, identity=options.identity, digests="crc") as reader,
    ):
        if output is not None and not output.parent.is_dir():
            raise FileNotFoundError(errno.ENOENT, "there is no such folder", str(output.parent))
        if is_pylock or options.wheels or RecordedEnvironment.of(reader.manifest).local_versions:
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
                    text = pylock(reader, part, _seen_from(output, folder), **how)
                else:
                    text = requirements_lock(reader, part, folder, every_wheel=bool(options.wheels), **how)
                if file is not None:
                    file.write(text.encode())
            if file is None:
                write_output(written, [text])
    return 0


def run_create(options: argparse.Namespace) -> int:
    """Make the environment, and say what is in it and what still differs."""
    from packager.archive import ArchiveReader
    from packager.environment import create_environment

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
                f"packager is not in it, so that it cannot open the archive: there is no wheel of "
                f"{', '.join(made.lacking)}; leave out --offline, name a folder that has them with "
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
