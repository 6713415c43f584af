"""Verifying safetensors members: the index against the header, and both against the one way to write them."""

from __future__ import annotations

from packager.errors import ArchiveError

from .errors import damaged
from .listing import EntryRecord
from .reader import ArchiveReader
from .safetensors import SafetensorsHeader, parse_header
from .tensor_index import TensorIndex
from .tensor_plan import plan_member
from .tensors import TensorReader, index_name

__all__ = ["check_index", "check_tensors"]


def check_tensors(reader: ArchiveReader, entry: EntryRecord) -> None:
    """Check a safetensors member and its index.

    Raises ArchiveError when the header is not a strict safetensors header, when index and header
    disagree, or when either is not in its only legal spelling.
    """
    what = f"entry {entry.name!r}"
    length = int.from_bytes(reader.view(entry.name, 0, min(8, entry.size)), "little")
    member = reader.view(entry.name, 0, min(8 + length, entry.size))
    header = parse_header(member, entry.size, what=what)
    stored = TensorReader(reader, entry.name)
    index = TensorIndex.load(reader.read(index_name(entry.name)), what=f"index of {entry.name!r}")
    sizes = [stop - start for start, stop in map(index.storage_range, range(len(index.ends)))]
    plan = plan_member(list(stored.values()), sizes, index.metadata)
    if plan.order != list(range(len(sizes))) or plan.index != reader.read(index_name(entry.name)):
        raise damaged(
            f"index of {entry.name!r}", "storages or tensors in another order", "the order of the format"
        )
    if plan.header != member[: header.data_start]:
        raise _disagreement(
            what, header, parse_header(plan.header, header.data_start + index.data_size, what=what)
        )


def check_index(reader: ArchiveReader, entry: EntryRecord) -> None:
    """Demand that an index belongs to a member. Raises ArchiveError when it does not."""
    member = entry.name.removeprefix(index_name(""))
    if index_name(member) != entry.name or member not in reader or reader.entry(member).kind != "tensors":
        raise damaged(f"entry {entry.name!r}", "an index without a member", f"a member {member!r}")


def _disagreement(what: str, found: SafetensorsHeader, expected: SafetensorsHeader) -> ArchiveError:
    keys = [
        key
        for key in {**expected.tensors, **found.tensors}
        if found.tensors.get(key) != expected.tensors.get(key)
    ]
    if keys:
        key = keys[0]
        return damaged(
            f"{what}, tensor {key!r}",
            f"{found.tensors.get(key)} in the safetensors header",
            f"{expected.tensors.get(key)} as in the index, for all of {len(keys)} tensors",
        )
    return damaged(
        what, "a safetensors header in another spelling or with other metadata", "it as the index says"
    )
