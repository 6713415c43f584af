"""`kellet convert`: a legacy file of weights as `.safetensors` or `.kellet`, with a report."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from packager._texts import counted

from .outputs import OR_STANDARD_OUTPUT, output_of, path_of
from .screen import print_json, print_lines, print_table, progress

if TYPE_CHECKING:
    from packager._weights import Checkpoint, LeftOut, WrittenCheckpoint


EPILOG = """\
examples:
  kellet convert old.pt new.safetensors
  kellet convert old.pt new.kellet                      keeps ties, versions of modules, plain values
  kellet convert last.ckpt new.kellet --unwrap state_dict
  kellet convert model.safetensors.index.json new.kellet
  kellet convert step-1000 new.safetensors              a folder of torch.distributed.checkpoint

Reads .pt, .pth, .bin and .ckpt of PyTorch (both formats), folders of torch.distributed.checkpoint,
.safetensors, shards with their index, .npz, .npy, folders of .npy, state dicts in archives of
torch.package, and kellet archives. The framework that wrote them is not needed. Nothing in a file is run.
The new file appears whole or not at all.
"""
_ROWS = 20


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the command."""
    parser.add_argument("old", metavar="OLD", help="the file or folder with the weights")
    parser.add_argument(
        "new",
        metavar="NEW",
        help=f"the file to write; ends in .safetensors or .kellet{OR_STANDARD_OUTPUT}, as .kellet",
    )
    which = parser.add_mutually_exclusive_group()
    which.add_argument(
        "--unwrap", metavar="NAME", help="the state dict to take if there are several: model, ema.module"
    )
    which.add_argument(
        "--everything", action="store_true", help="take the tensors at every depth, under dotted keys"
    )
    parser.add_argument(
        "--skip-unknown",
        action="store_true",
        help="leave out objects and functions; of a pickled model, take the weights",
    )
    parser.add_argument(
        "--name",
        metavar="PACKAGE/RESOURCE",
        default="model/weights",
        help="the name of the state dict in a .kellet (default: model/weights)",
    )
    parser.add_argument("--all", action="store_true", help="list every key")
    parser.add_argument("--json", action="store_true", help="print the report for machines")


def run(options: argparse.Namespace) -> int:
    """Write the new file, and say what was in it. Raises CheckpointError for a --name of another form."""
    from packager._weights import open_checkpoint, write_checkpoint
    from packager.errors import CheckpointError

    package, slash, resource = options.name.rpartition("/")
    if not slash or not package or not resource:
        raise CheckpointError(f"--name {options.name!r}: expected PACKAGE/RESOURCE, as model/weights")
    checkpoint = open_checkpoint(
        options.old,
        unwrap=options.unwrap,
        everything=options.everything,
        skip_unknown=options.skip_unknown,
    )
    with output_of(options.new, is_text=False) as output:
        with path_of(output, ".kellet") as path, progress("converting") as show:
            written = write_checkpoint(path, checkpoint, progress=show, package=package, resource=resource)
        if options.json:
            print_json(_report(checkpoint, written, options.new))
        else:
            _print(checkpoint, written, options.new, None if options.all else _ROWS)
    return 0


def _report(checkpoint: Checkpoint, written: WrittenCheckpoint, new: str) -> Mapping[str, Any]:
    return {
        "old": str(checkpoint.path),
        "format": checkpoint.format,
        "shards": checkpoint.shards,
        "container": checkpoint.container,
        "new": new,
        "size": written.size,
        "identity": written.identity,
        "tensors": {
            key: {"dtype": value.dtype, "shape": list(value.shape), "bytes": value.nbytes}
            for key, value in checkpoint.tensors.items()
        },
        "values": [key for key in checkpoint if key not in checkpoint.tensors],
        "versions": checkpoint.metadata.versions or {},
        "tied": written.tied,
        "left_out": [*checkpoint.left_out, *written.left_out],
    }


def _print(checkpoint: Checkpoint, written: WrittenCheckpoint, new: str, most: int | None) -> None:
    from packager._texts import size_text

    tensors = checkpoint.tensors
    rows = [(key, value.dtype, list(value.shape), size_text(value.nbytes)) for key, value in tensors.items()]
    _table("tensors", ("key", "dtype", "shape", "size"), rows, most)
    _table("tied: stored once in a .kellet", ("keys",), [(", ".join(keys),) for keys in written.tied], most)
    left_out = [*checkpoint.left_out, *written.left_out]
    _table("left out", ("where", "what", "why"), _summed(left_out), most)
    dtypes = Counter(value.dtype for value in tensors.values())
    inside = f" (under {checkpoint.container!r})" if checkpoint.container else ""
    shards = f", {counted(checkpoint.shards, 'shard')}" if checkpoint.shards > 1 else ""
    total = sum(value.nbytes for value in tensors.values())
    lines = [
        f"read     {checkpoint.path}: {checkpoint.format}{shards}{inside}",
        f"         {counted(len(tensors), 'tensor')}"
        + (f", {size_text(total)}: " if tensors else "")
        + ", ".join(f"{count} {dtype}" for dtype, count in dtypes.most_common()),
        f"written  {new}: {size_text(written.size)}, {counted(len(written.keys), 'key')}",
        *([f"    identity {written.identity}"] if written.identity else []),
    ]
    if len(checkpoint) > len(tensors):
        others = len(checkpoint) - len(tensors)
        lines.insert(
            2, f"         {counted(others, 'value')} that {'is' if others == 1 else 'are'} no tensor"
        )
    if left_out:
        lines.append(f"left out {counted(len(left_out), 'thing')}, see above")
    print_lines(*lines)


def _summed(left_out: Sequence[LeftOut]) -> list[tuple[str, str, str]]:
    return [(part.path or "the file", part.what, part.why) for part in left_out]


def _table(title: str, columns: Sequence[str], rows: Sequence[Sequence[object]], most: int | None) -> None:
    """A table, cut where it would be long."""
    if most is not None and len(rows) > most:
        title, rows = f"{title}, the first {most} of {len(rows)} (--all lists them)", rows[:most]
    print_table(title, columns, rows)
