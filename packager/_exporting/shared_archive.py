"""The archive that several processes make together: rank 0 begins and finishes it, all write into it.

What all ranks save alike rank 0 writes alone; the others keep a digest of it, to be compared at the end. Of a
state dict that they have together each writes its own bytes.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from typing import Any, BinaryIO

from packager._archive import (
    SHARED_FROM,
    Place,
    Room,
    SharedStorage,
    add_shared_tensors,
    digest_chunks,
    find_pieces,
    reported,
    share_of_chunks,
    write_pieces,
)
from packager._quick_dataclasses import replace
from packager._ranks import Ranks
from packager.errors import ArgumentError

from .plan import ExportPlan, PlannedTensors
from .plan_writing import BegunArchive


class SharedArchive(BegunArchive):
    """An archive that has been begun by rank 0, and that all ranks of a group add to.

    Raises on all ranks what one of them raises for the target, RanksDisagreeError where their targets differ,
    ArgumentError for a file object and several ranks.
    """

    def __init__(self, target: str | os.PathLike[str] | BinaryIO, ranks: Ranks, **options: Any) -> None:
        self._ranks = ranks
        self._fsync = options.get("fsync", True)
        self._sha256 = options.get("digests", "sha256") == "sha256"
        self._saved: dict[str, bytes] = {}
        with ranks.telling():
            if ranks.size > 1 and not isinstance(target, str | os.PathLike):
                raise ArgumentError(
                    f"f={type(target).__name__}: expected a path that all {ranks.size} ranks can open; "
                    "found a file object"
                )
            super().__init__(target, **options)
            self._name = place = "the archive"
            if isinstance(target, str | os.PathLike):
                self._name = os.fsdecode(target)
                place = os.path.abspath(self._name)
            found = ranks.exchange("making an exporter", [place, self._sha256])
            if any(one != found[0] for one in found):
                lines = [f"rank {rank}: {name}" for rank, (name, _) in enumerate(found)]
                raise ranks.disagreement("exporting to one archive, with one kind of digests", lines)

    @property
    def has_bytes(self) -> bool:
        """Whether what was taken can be looked at here: on rank 0 alone."""
        return self._ranks.is_first

    def take(self, members: Sequence[PlannedTensors]) -> list[PlannedTensors]:
        """Write the tensors of one save, as `BegunArchive.take`; those of shared storages by all ranks."""
        if any(isinstance(one, SharedStorage) for member in members for one in member.storages):
            try:
                with self._ranks.telling():
                    return [replace(member, storages=self._add_shared(member)) for member in members]
            except BaseException:
                self.discard()
                raise
        if self._ranks.size > 1:
            self._saved.update((member.name, _digest_of(member)) for member in members)
        return super().take(members) if self._ranks.is_first else [_placeholders(one) for one in members]

    def agree(self, plan: ExportPlan) -> ExportPlan:
        """Compare the plans of all ranks, and return this one with the warnings that only others have.

        Raises RanksDisagreeError where anything differs that is stored.
        """
        if self._ranks.size == 1:
            return plan
        told = [sorted(_facts_of(plan, self._saved).items()), list(plan.warnings)]
        found = self._ranks.exchange("closing", told)
        if problems := _differing([dict(facts) for facts, _ in found]):
            raise self._ranks.disagreement(self._name, problems)
        warnings = dict.fromkeys(line for _, lines in found for line in lines)
        return replace(plan, warnings=tuple(warnings))

    # --- a member that all write ---

    def _add_shared(self, member: PlannedTensors) -> Sequence[Any]:
        storages: Sequence[SharedStorage] = member.storages
        away = self._written_before(storages)
        if not self._ranks.is_first:
            self._fill(storages, None)
            return _placeholders(member).storages
        return add_shared_tensors(
            self._writer,
            member.name,
            member.specs,
            [one.nbytes for one in storages],
            lambda room: self._fill(storages, room),
            metadata=member.metadata,
            elsewhere=away,
        )

    def _fill(self, storages: Sequence[SharedStorage], room: Room | None) -> tuple[bytes, bytes]:
        """Write this rank's bytes into the room that rank 0 has left; return the digests of all chunks."""
        told = None if room is None else [room.path, room.start, room.size, [*room.firsts.items()]]
        path, start, size, firsts = self._ranks.from_first("writing tensors", told)
        with reported(self._name):
            mine = [(start + first, storages[number]) for number, first in firsts]
            write_pieces(path, mine, fsync=self._fsync)
        self._ranks.exchange("having written tensors", None)
        share = share_of_chunks(size, self._ranks.rank, self._ranks.size)
        with reported(self._name):
            digests = digest_chunks(path, start, size, share, sha256=self._sha256)
        found = self._ranks.exchange("digesting tensors", list(digests))
        return b"".join(crcs for crcs, _ in found), b"".join(sha256s for _, sha256s in found)

    def _written_before(self, storages: Sequence[SharedStorage]) -> dict[int, Place]:
        """Return which storages lie in other members already: those whose bytes every rank finds there."""
        asked = None
        if self._ranks.is_first:
            places = [
                self._writer.places_of(one.nbytes) if one.nbytes >= SHARED_FROM else [] for one in storages
            ]
            starts = [[start for _, start in found] for found in places]
            asked = [self._writer.part, starts] if any(starts) else None
        asked = self._ranks.from_first("looking for tensors that are already stored", asked)
        if asked is None:
            return {}
        path, starts = asked
        with reported(self._name):
            mine = find_pieces(path, list(zip(storages, starts, strict=True)))
        held = self._ranks.exchange("comparing tensors that are already stored", mine)
        found: dict[Place, int] = {}
        for number, tried in enumerate(places if self._ranks.is_first else ()):
            for at, (place, _) in enumerate(tried):
                if place not in found and all(answers[number][at] for answers in held):
                    found[place] = number
                    break
        return {number: place for place, number in found.items()}


def _placeholders(member: PlannedTensors) -> PlannedTensors:
    """Return tensors that rank 0 writes, as another rank keeps them: without their bytes."""
    return replace(member, storages=tuple(Place(member.name, 0, one.nbytes) for one in member.storages))


def _digest_of(member: PlannedTensors) -> bytes:
    digest = hashlib.sha256(member.specs.dump() + repr(sorted(member.metadata.items())).encode())
    for storage in member.storages:
        digest.update(storage)
    return digest.digest()


def _facts_of(plan: ExportPlan, saved: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return a digest of everything that is to be the same on all ranks, by what it is called.

    What golden calls answer is not among it, and neither is what was found of the environment.
    """
    facts = {f"tensors of {name}": digest for name, digest in saved.items()}
    for entry in plan.entries:
        digest = hashlib.sha256(entry.read())
        facts[f"{entry.kind} {entry.name}"] = digest.digest()
    rows: list[tuple[str, Any]] = [
        *((f"module {one.name}", (one.action, one.rule, one.entry)) for one in plan.modules),
        *((f"extern {one.name}", (one.requirement, one.optional)) for one in plan.externs),
        *((f"types of object {one.package}/{one.resource}", one) for one in plan.objects),
        *((f"record of state dict {one.package}/{one.resource}", one) for one in plan.state_dicts),
        *((f"entry point {one.name}", one) for one in plan.entry_points),
        *((f"check {one.name}", one.name) for one in plan.checks),
    ]
    return facts | {name: hashlib.sha256(repr(row).encode()).digest() for name, row in rows}


def _differing(facts: Sequence[Mapping[str, bytes]]) -> list[str]:
    """Return a line for everything that ranks have otherwise than rank 0."""
    problems = []
    for name in dict.fromkeys(name for one in facts for name in one):
        digests = [one.get(name) for one in facts]
        other = next((rank for rank, digest in enumerate(digests) if digest != digests[0]), None)
        if other is None:
            continue
        if digests[0] is None or digests[other] is None:
            having, lacking = (other, 0) if digests[0] is None else (0, other)
            problems.append(f"{name}: rank {having} has it, and rank {lacking} does not")
        else:
            problems.append(f"{name}: it differs between rank {other} and rank 0")
    return problems
