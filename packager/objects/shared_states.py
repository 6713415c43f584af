"""A state dict that several processes have together, encoded: each lays out its part, all agree on the whole.

What comes out says of each storage which of its bytes this process has to write.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

from packager.archive import Piece, SharedStorage, TensorSpec
from packager.codecs import default_registry
from packager.collector import gc_paused
from packager.graph import Importer
from packager.ranks import Ranks
from packager.tensors import ITEMSIZE, box_text

from .encoder import Encoder
from .encoding import KINDS
from .naming import NameUse
from .state_dicts import EncodedStateDict, extras_of
from .state_mapping import EXTRA
from .state_parts import (
    StatePart,
    Unit,
    digest_of_value,
    heard_finding,
    lay_out_part,
    told_finding,
    told_tensor,
)
from .whole_states import WholeState, WholeStorage, put_together


def encode_shared_state(
    source: Any,
    ranks: Ranks,
    *,
    listed: Sequence[str] | None,
    ran: Sequence[str],
    importer: Importer,
    exporter: Any,
    root: str,
    what: str,
) -> tuple[EncodedStateDict, tuple[str, ...]]:
    """Encode the state dict of which each rank gives its part; return it, and the migrations that ran.

    All ranks get the same, but for `storages`, which say what each has to write. `listed` are all keys in
    their order, or None. `what` names it in errors.

    Raises RanksDisagreeError, on all ranks, where the parts do not make one state dict: a key with another
    dtype, shape or value on another rank, slices with a hole or an overlap, keys that `listed` does not have.
    """
    with gc_paused():  # what is told is many small lists, through all of which the collector would go
        part = lay_out_part(source, importer=importer, exporter=exporter, root=root)
        told = {**part.told(), "listed": None if listed is None else list(listed), "ran": list(ran)}
        whole = put_together(ranks.exchange(f"saving {what}", told), listed)
        if isinstance(whole, list):
            raise ranks.disagreement(what, whole)
        coder = _Coder(part, whole, ranks, importer, exporter, root)
        if problems := coder.differing():
            raise ranks.disagreement(what, problems)
        return coder.encoded(), whole.ran


class _Coder:
    """One rank's view of a state dict that is known to fit together."""

    def __init__(
        self,
        part: StatePart,
        whole: WholeState,
        ranks: Ranks,
        importer: Importer,
        exporter: Any,
        root: str,
    ) -> None:
        self._part, self._whole, self._ranks = part, whole, ranks
        self._importer, self._exporter, self._root = importer, exporter, root
        self._buffers: list[memoryview] = []  # of the extras, on rank 0

    def differing(self) -> list[str]:
        """Say of which tensors and other values that several ranks have the values differ."""
        found: dict[str, dict[int, bytes]] = {}
        for rank, digests in enumerate(self._ranks.exchange("comparing values", self._digests())):
            for name, digest in digests:
                found.setdefault(name, {})[rank] = digest
        problems = []
        for name, by_rank in found.items():
            first = next(iter(by_rank))
            unlike = [rank for rank, digest in by_rank.items() if digest != by_rank[first]]
            if unlike:
                problems.append(f"{name}: ranks {first} and {unlike[0]} have different values")
        return problems

    def encoded(self) -> EncodedStateDict:
        """Return the whole, with the extras that rank 0 encodes."""
        extras = self._ranks.from_first("encoding", self._extras() if self._ranks.is_first else None)
        records, rows, sizes, names, warnings, refusals, codecs = extras
        tensors = [*self._whole.tensors]
        count = len(self._whole.storages)
        tensors += [
            TensorSpec(row[0], row[1], tuple(row[2]), tuple(row[3]), row[4], count + number)
            for number, row in enumerate(rows)
        ]
        own = map(_written_whole, self._buffers) if self._ranks.is_first else map(SharedStorage, sizes)
        return EncodedStateDict(
            tuple(tensors),
            (*map(self._storage, self._whole.storages), *own),
            records,
            tuple(NameUse(*row) for row in names),
            self._whole.versions,
            tuple(dict.fromkeys((*self._whole.warnings, *map(heard_finding, warnings)))),
            (*self._whole.refusals, *map(heard_finding, refusals)),
            self._whole.format,
            tuple((name, version) for name, version in codecs),
        )

    def _digests(self) -> list[tuple[str, bytes]]:
        """Digest what this rank has, and others have too."""
        if self._ranks.size == 1:
            return []
        mine = []
        for storage in self._whole.storages:
            for slice in storage.slices:
                number = dict(slice.holders).get(self._ranks.rank)
                if number is not None and len(slice.holders) > 1:
                    where = "" if slice.box is None else f" {box_text(slice.box)}"
                    data = self._part.units[number].data
                    name = f"{', '.join(map(repr, storage.keys))}{where}"
                    mine.append((name, hashlib.sha256(data).digest()))
        coding: Any = {"importer": self._importer, "exporter": self._exporter, "root": self._root}
        values = {key: self._part.others[key] for key in self._whole.others if key in self._part.others}
        return mine + [(repr(key), digest_of_value(value, **coding)) for key, value in values.items()]

    def _extras(self) -> list[Any]:
        """Encode what is beside the tensors, on rank 0; the buffers of its storages are kept."""
        whole, part = self._whole, self._part
        others = {key: part.others[key] for key in whole.others}
        metadata = None
        if whole.metadata is not None:
            columns: Any = part.metadata or {"paths": [], "versions": [], "more": {}}
            known = dict(zip(columns["paths"], columns["versions"], strict=True))  # also what is no number
            paths, versions = whole.metadata
            found_here = [known.get(path, version) for path, version in zip(paths, versions, strict=True)]
            metadata = {"paths": paths, "versions": found_here, "more": columns["more"]}
        context = Encoder(self._importer, self._exporter, default_registry(), self._root, KINDS)
        found = extras_of(context, whole.keys, others, dict(whole.raw), metadata, self._root)
        self._buffers = [storage.buffer for storage in found.storages]
        return [
            found.records,
            [told_tensor(storage.spec(EXTRA, 0)) for storage in found.storages],
            [buffer.nbytes for buffer in self._buffers],
            [[use.module, use.qualname, use.role, use.path, use.in_records] for use in found.names],
            [told_finding(one) for one in found.warnings],
            [told_finding(one) for one in found.refusals],
            [list(row) for row in found.codecs],
        ]

    def _storage(self, storage: WholeStorage) -> SharedStorage:
        """Return a storage with what this rank writes of it."""
        writers = (slice.writer for slice in storage.slices)
        mine = (self._part.units[number] for rank, number in writers if rank == self._ranks.rank)
        return SharedStorage(storage.nbytes, tuple(map(_piece, mine)))


def _piece(unit: Unit) -> Piece:
    if unit.box is None:
        return Piece(unit.data, (unit.nbytes,), ((0, unit.nbytes),), 1)
    spec = unit.tensors[0]
    return Piece(unit.data, spec.shape, unit.box, ITEMSIZE[spec.dtype])


def _written_whole(buffer: memoryview) -> SharedStorage:
    return SharedStorage(buffer.nbytes, (Piece(buffer, (buffer.nbytes,), ((0, buffer.nbytes),), 1),))
