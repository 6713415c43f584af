"""`kellet migrate`: a checkpoint through a migration: shown beforehand, written, or undone."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from packager._texts import counted, few_of, wrapped

from .outputs import OR_STANDARD_OUTPUT, output_of, path_of
from .screen import print_json, print_lines, progress
from .suggestions import target_or_file
from .summary import COMMAND

if TYPE_CHECKING:
    from packager._migrations import LoadReport, MigratedDict, Migration, MigrationPlan
    from packager._weights import Checkpoint


_MOST_CONFIG = 1 << 20  # bytes; those of models have some thousand
EPILOG = """\
examples:
  kellet migrate old.pt --with migration.toml --plan
  kellet migrate old.pt --with migration.toml --plan --target mypkg:build
  kellet migrate old.pt --with wrappers --with migration.toml -o new.safetensors
  kellet migrate llama.pt --with migration.toml --config config.json --unknown drop -o new.safetensors
  kellet migrate new.safetensors --with migration.toml --back -o old.safetensors

`wrappers` takes off the prefixes of DistributedDataParallel, torch.compile and averaged models. Nothing in
the old file is run. The new file appears whole or not at all. If a step that can be undone loses values, they
are named, and the exit code is 1.
"""


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the command."""
    parser.add_argument(
        "old", metavar="OLD", help="the file with the weights, of any format that convert reads"
    )
    parser.add_argument(
        "--with",
        dest="migrations",
        action="append",
        required=True,
        metavar="FILE",
        help="a migration file (.toml), or wrappers; several run in the order of their versions",
    )
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--plan", action="store_true", help="show what would happen; write nothing")
    what.add_argument(
        "-o",
        "--output",
        metavar="NEW",
        help=f"write this file: .safetensors or .kellet{OR_STANDARD_OUTPUT}, as .kellet",
    )
    parser.add_argument("--back", action="store_true", help="undo the migrations, the last one first")
    parser.add_argument("--strict", action="store_true", help="a step that matches no key is an error")
    parser.add_argument(
        "--target",
        type=target_or_file,
        metavar="TARGET",
        help="package.module:name of the model, or another file: gives migrations shapes and properties; "
        "with --plan also shows keys that would be missing or unexpected",
    )
    parser.add_argument(
        "--config",
        metavar="FILE",
        help="a configuration (config.json) that gives migrations the properties of the model",
    )
    parser.add_argument(
        "--unknown",
        choices=("keep", "drop", "error"),
        default="keep",
        help="keep, drop or refuse keys that no step names (default: keep)",
    )
    add_unwrap(parser)
    parser.add_argument("--json", action="store_true", help="print for machines")


def add_unwrap(parser: argparse.ArgumentParser) -> None:
    """Declare how the state dict is found in a checkpoint."""
    parser.add_argument(
        "--unwrap", metavar="NAME", help="the state dict to take if there are several: model, ema.module"
    )
    parser.add_argument("--skip-unknown", action="store_true", help="leave out objects and functions")


def run(options: argparse.Namespace) -> int:
    """Plan the migration, and write where that was asked for; 1 where values of the old file are lost."""
    with output_of(options.output, is_text=False) as output:
        return _migrate(options, output)


def _migrate(options: argparse.Namespace, output: Any) -> int:
    from packager._migrations import (
        cannot_go_back,
        lost_values,
        migrate,
        open_wrapped,
        plan_migration,
        reasons_text,
        version_of,
    )

    known = _migrations(options)
    given = tuple(one.inverse() for one in reversed(known)) if options.back else known
    checkpoint = open_wrapped(options.old, given, unwrap=options.unwrap, skip_unknown=options.skip_unknown)
    version = version_of(checkpoint)
    target = None if options.target is None else target_state(options.target)
    module = target if options.config is None else configuration(options.config)
    asked = {"module": module, "unknown": options.unknown}
    if not options.plan:
        migrated = migrate(given, checkpoint, version, strict=options.strict, **asked)
        undone = known if options.back else ()
        lost = lost_values(given, checkpoint, version, module=module, undone=undone)
        _write(options, checkpoint, migrated, output, lost)
        if lost:
            print_lines(*reasons_text(f"{COMMAND}: values are lost:", few_of(lost)), to=sys.stderr)
        return 1 if lost else 0
    plan = plan_migration(given, checkpoint, version, **asked)
    fit = None if target is None else plan.against(target)
    reasons = cannot_go_back(given, checkpoint, version, module=module)
    if options.json:
        print_json(_report(plan, fit, reasons))
    else:
        print_lines(str(plan))
        print_lines(*(reasons_text("does not go back:", reasons) or ["goes back"]))
        if fit is not None:
            print_lines("", f"{options.target}: " + str(fit))
    plan.require_matched(strict=options.strict)
    return 0 if fit is None or fit.ok else 1


def configuration(path: str) -> dict[str, Any]:
    """Return what a file of JSON says, to be asked for as the attributes of a module and of its `config`.

    Raises MigrationError for what is no such file, OSError for one that cannot be read.
    """
    import json

    from packager.errors import MigrationError

    with open(path, "rb") as file:
        text = file.read(_MOST_CONFIG + 1)
    try:
        found = json.loads(text) if len(text) <= _MOST_CONFIG else None
    except (ValueError, RecursionError):
        found = None
    if type(found) is not dict:
        raise MigrationError(
            f"--config {path}: expected an object of JSON, at most {_MOST_CONFIG:,} bytes, as config.json is"
        )
    return {"config": found, **found}


def target_state(target: str) -> Any:
    """Return what a target names: a module made here, or the state dict in a file. Raises TargetError."""
    import os

    if os.path.exists(target):
        from packager._weights import open_checkpoint

        return open_checkpoint(target)
    from packager._calls import TargetError, put_folder_on_path, resolve_target

    put_folder_on_path()
    found = resolve_target(target)
    if not isinstance(found, Mapping) and not callable(getattr(found, "state_dict", None)):
        raise TargetError(f"target {target}: {type(found).__name__} has no state_dict()")
    return found


def _migrations(options: argparse.Namespace) -> tuple[Migration, ...]:
    """Return the migrations in the order in which they run; they are undone from the last to the first."""
    from packager._migrations import WRAPPERS, chain, read_migration

    return chain(WRAPPERS if name == "wrappers" else read_migration(name) for name in options.migrations)


def _write(
    options: argparse.Namespace,
    checkpoint: Checkpoint,
    migrated: MigratedDict,
    output: Any,
    lost: tuple[str, ...],
) -> None:
    from packager._texts import size_text
    from packager._weights import write_checkpoint

    with path_of(output, ".kellet") as path, progress("migrating") as show:
        written = write_checkpoint(path, migrated, metadata=checkpoint.metadata, progress=show)
    left_out = [*checkpoint.left_out, *written.left_out]
    if options.json:
        print_json(
            {
                "old": str(checkpoint.path),
                "new": options.output,
                "size": written.size,
                "identity": written.identity,
                "migrations": migrated.ran,
                "keys": written.keys,
                "left_out": left_out,
                "lost": lost,
            }
        )
        return
    for part in left_out:
        print_lines(f"left out {part.path or 'of the file'}: {part.what}: {part.why}")
    ran = ", ".join(migrated.ran) or "none was due"
    print_lines(
        f"{checkpoint.path}: {counted(len(checkpoint), 'key')} -> "
        f"{options.output}: {counted(len(written.keys), 'key')}, {size_text(written.size)}",
        *wrapped(f"migrations: {ran}", "    "),
    )


def _report(plan: MigrationPlan, fit: LoadReport | None, reasons: tuple[str, ...]) -> Mapping[str, Any]:
    return {
        "rows": plan.rows,
        "ran": plan.ran,
        "keys": {key: value.header for key, value in plan.values.items()},
        "fit": fit,
        "does_not_go_back": reasons,
    }
