"""Which licence stands over each file in an archive."""

from __future__ import annotations

from functools import cached_property

from packager.archive import ArchiveReader, EntryRecord
from packager.environment import (
    License,
    RecordedLicenses,
    StoredPart,
    is_license_file,
    license_of_header,
    licenses_of_files,
)

TYPE_CHECKING = False  # as in packager.lazy
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Final

_TOP_BYTES: Final = 8192
_LONGEST_TEXT: Final = 1 << 20
_STATED_IN: Final = ("source", "resource")


class FileLicenses:
    """The licences of the entries of an open archive, by what is recorded and what files say.

    What a file states of itself (`SPDX-License-Identifier`) comes first; then what is recorded of the
    distribution or project that its module came from; then the nearest file called a licence, in its
    folder or above. Objects, tensors and what belongs to the archive itself have none. Nothing is run.

    >>> import io
    >>> from packager import PackageExporter
    >>> file = io.BytesIO()
    >>> with PackageExporter(file, policy="auto") as exporter:
    ...     exporter.save_source_string("net", "# SPDX-License-Identifier: MIT")
    >>> with ArchiveReader(file) as reader:
    ...     FileLicenses(reader).of("net.py")
    (License(text='MIT', source='header'),)
    """

    def __init__(self, reader: ArchiveReader) -> None:
        """Read what is recorded. Raises ArchiveError where that is not understood."""
        self.recorded = RecordedLicenses.of(reader.manifest)
        self._reader = reader
        self._modules = {
            module.entry: module.name for module in reader.manifest.modules if module.entry is not None
        }
        self._metadata = {
            f"{part.distribution.replace('-', '_')}-{part.version}.dist-info": part
            for part in self.recorded.stored
            if part.distribution
        }

    def of(self, entry: str) -> tuple[License, ...]:
        """Return the licences over an entry; empty where none is found. Raises what reading it does."""
        record = self._reader.entry(entry)
        if record.kind not in _STATED_IN or (entry.startswith(".data/") and entry not in self._modules):
            return ()
        header = license_of_header(bytes(self._reader.view(entry, 0, min(record.size, _TOP_BYTES))))
        if header is not None:
            return (header,)
        part = self.part_of(entry)
        if part is not None and part.licenses:
            return part.licenses
        folder = entry
        while folder:
            folder = folder.rpartition("/")[0]
            if folder in self._texts:
                return self._texts[folder]
        return ()

    def part_of(self, entry: str) -> StoredPart | None:
        """Return the distribution, or project, that an entry came with; None where that is not recorded."""
        top = entry.partition("/")[0]
        if top in self._metadata:
            return self._metadata[top]
        module = self._modules.get(entry)
        if module is None:
            if self._reader.entry(entry).kind != "resource" or entry.startswith(".data/"):
                return None
            module = entry.rpartition("/")[0].replace("/", ".")
        return self.recorded.part_of(module)

    @cached_property
    def _texts(self) -> Mapping[str, tuple[License, ...]]:
        """What files say that are called licences, by their folders."""
        found: dict[str, list[tuple[str, bytes]]] = {}
        for entry in self._reader.manifest.entries:
            if _is_text(entry):
                folder, _, name = entry.name.rpartition("/")
                found.setdefault(folder, []).append((name, self._reader.read(entry.name)))
        return {folder: licenses_of_files(files) for folder, files in found.items()}


def _is_text(entry: EntryRecord) -> bool:
    """Say whether an entry is a file called a licence, of a length that such texts have."""
    return (
        entry.kind == "resource"
        and entry.size <= _LONGEST_TEXT
        and not entry.name.startswith(".data/")
        and is_license_file(entry.name)
    )
