"""What is shown of an archive, by `kellet inspect` and by a page: read once, nothing of it is run."""

from __future__ import annotations

from collections import Counter
from functools import cached_property

from packager._archive import MIGRATIONS, ArchiveReader, TensorReader, tensor_bytes
from packager._loading import StoredNames, stored_names
from packager._texts import counted

TYPE_CHECKING = False  # as in packager._lazy
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from packager._archive import ImportSite, Manifest, ModuleRecord, SchemaRecord
    from packager._licenses import FileLicenses

_RUNTIME = ".data/runtime/"


class ArchiveFacts:
    """The records of an open archive, and what follows from them, each found when it is first asked for.

    What is damaged raises ArchiveError there. The bytes of tensors are not read.

    >>> import io
    >>> from packager import PackageExporter
    >>> file = io.BytesIO()
    >>> with PackageExporter(file, policy="auto") as exporter:
    ...     exporter.save_state_dict("net", "weights", {"w": [1.0], "v": [2]})
    >>> with ArchiveReader(file) as reader:
    ...     ArchiveFacts(reader).is_runnable
    False
    """

    def __init__(self, reader: ArchiveReader) -> None:
        self.reader = reader

    @property
    def identity(self) -> str:
        """The sha256 of the manifest, in hexadecimal."""
        return self.reader.identity

    @property
    def manifest(self) -> Manifest:
        """The records themselves."""
        return self.reader.manifest

    @property
    def is_runnable(self) -> bool:
        """Whether the archive carries its loader."""
        names = self.reader.names()
        return "__main__.py" in self.reader and any(name.startswith(_RUNTIME) for name in names)

    @cached_property
    def names(self) -> list[StoredNames]:
        """The names that each stored object and state dict needs, and why each is allowed."""
        return list(stored_names(self.reader))

    @cached_property
    def in_training(self) -> tuple[str, ...]:
        """The objects that are stored in training mode, though an example calls them in evaluation mode."""
        checks = self.manifest.checks
        if not checks:
            return ()
        from packager._calls import is_for_training
        from packager._objects import left_in_training

        inputs = [(one.entry_point, self.members[one.inputs]) for one in checks if one.inputs in self.members]
        evaluated = {point for point, member in inputs if not is_for_training(member.metadata)}
        return left_in_training(
            self.manifest.objects, self.manifest.entry_points, evaluated, self.reader.read
        )

    # --- tensors ---

    @cached_property
    def members(self) -> Mapping[str, TensorReader]:
        """Every member with tensors, each of which has been found to lie inside it."""
        names = [entry.name for entry in self.manifest.entries if entry.kind == "tensors"]
        members = {name: TensorReader(self.reader, name) for name in names}
        for tensors in members.values():
            for number, (key, place) in enumerate(zip(tensors, tensors.index.usual(0), strict=True)):
                if place is None:
                    tensors.index.spec(number, key)
        return members

    def tensors(self, member: str) -> Iterator[dict[str, Any]]:
        """Yield a row for each tensor, one by one: of a hostile index there are more than fit into memory."""
        tensors = self.members[member]
        first: dict[int, str] = {}
        for key, spec in tensors.items():
            place = tensors.place_elsewhere(spec.storage)
            yield {
                "key": key,
                "dtype": spec.dtype,
                "shape": list(spec.shape),
                "bytes": tensor_bytes(spec.dtype, spec.shape),
                "storage": spec.storage,
                "lies_in": None if place is None else place.member,
                "shares_memory_with": None
                if first.setdefault(spec.storage, key) is key
                else first[spec.storage],
            }

    def stored_bytes(self, member: str) -> dict[str, Any]:
        """Return what a member takes of the file, and what it refers to of others, where it is counted."""
        tensors = self.members[member]
        elsewhere: dict[str, int] = {}
        for place in tensors.elsewhere:
            elsewhere[place.member] = elsewhere.get(place.member, 0) + place.nbytes
        return {"bytes": tensors.own_bytes, "elsewhere": elsewhere}

    # --- code ---

    def files_of_code(self) -> list[str]:
        """Return the files that came from somewhere with a licence: none that belong to the archive."""
        return [
            entry.name
            for entry in self.manifest.entries
            if entry.kind in ("source", "resource") and not entry.name.startswith(".data/")
        ]

    @cached_property
    def licenses(self) -> FileLicenses:
        """The licences that stand over files."""
        from packager._licenses import FileLicenses  # most files of weights have none

        return FileLicenses(self.reader)

    @cached_property
    def license_rows(self) -> list[tuple[str, str, str]]:
        """Return rows of a part, its licences, and how many files: one for those of a part under one licence.

        Those of each distribution at the target follow.
        """
        if "licenses" not in self.manifest.environment and not self.files_of_code():
            return []
        found: Counter[tuple[str, str]] = Counter()
        for name in self.files_of_code():
            part = self.licenses.part_of(name)
            home = name.partition("/")[0] if part is None else part.distribution or part.modules[0]
            found[home, _spelled(self.licenses.of(name))] += 1
        rows = [(home, text, counted(count, "file")) for (home, text), count in sorted(found.items())]
        at_target = self.licenses.recorded.distributions.items()
        return [*rows, *((name, _spelled(known), "at the target") for name, known in at_target)]

    @cached_property
    def wheels(self) -> list[dict[str, Any]]:
        """The wheels in the archive, with the files in them that act without being imported."""
        if not any(name.startswith(".data/wheels/") for name in self.reader.names()):
            return []
        from packager._environment import VendoredContents, vendored_wheels
        from packager.errors import PackageError

        found, vendored = [], VendoredContents(self.reader)
        for wheel in vendored_wheels(self.manifest):
            row: dict[str, Any] = {"file": wheel.file, "name": wheel.name, "version": wheel.version}
            try:
                contents = vendored.of(wheel)
                found.append({**row, "requires": contents.requires, "acting": contents.acting})
            except PackageError as error:
                found.append({**row, "problem": str(error)})
        return found

    # --- migrations ---

    @cached_property
    def migrations(self) -> list[dict[str, Any]]:
        """A row for each stored migration, with the functions that it calls and the patterns that it uses."""
        if MIGRATIONS not in self.reader:
            return []
        from packager._migrations import functions_of, patterns_of, unpack_migrations

        return [
            {
                "class": target,
                "name": migration.name,
                "to": migration.to,
                "steps": len(migration.steps),
                "calls": [f"{use} ({use.role})" for use in functions_of(migration)],
                "patterns": [f"/{pattern}/" for pattern in patterns_of(migration)],
            }
            for target, migrations in unpack_migrations(self.reader.read(MIGRATIONS)).items()
            for migration in migrations
        ]


def sharing(row: Mapping[str, Any]) -> str:
    """Return whose bytes a tensor has: those of one before it in its member, or of another member.

    >>> sharing({"shares_memory_with": "w", "lies_in": None})
    'memory of w'
    """
    if row["shares_memory_with"] is not None:
        return f"memory of {row['shares_memory_with']}"
    return "" if row["lies_in"] is None else f"in {row['lies_in']}"


def importers_below(modules: Mapping[str, ModuleRecord], name: str) -> dict[str, list[ImportSite]]:
    """Return who imports the submodules of a package from outside of it, by submodule.

    `from pkg.sub import name` brings pkg, too, and is recorded with pkg.sub alone.
    """
    return {
        other.name: outside
        for other in modules.values()
        if other.name.startswith(f"{name}.")
        and (outside := [site for site in other.importers if not _is_in(site.module, name)])
    }


SCHEMA_COLUMNS = ("entry point", "direction", "name", "type", "known")
"""What `schema_rows` returns, by column."""


def schema_rows(schemas: Sequence[SchemaRecord]) -> list[tuple[str, str, str, str, str]]:
    """Return what entry points take and give; parameters of which nothing is known are named in one row."""
    rows = []
    for schema in schemas:
        name, known = schema.entry_point, "declared" if schema.origin == "declared" else "from golden calls"
        typed = [one for one in schema.takes if one.required or one.type != "any"]
        rows += [
            (name, "takes", one.name, one.type, known if one.required else f"{known}; may be left out")
            for one in typed
        ]
        if others := ", ".join(one.name for one in schema.takes if one not in typed):
            rows.append((name, "takes", others, "any", "may be left out"))
        if schema.is_open:
            rows.append((name, "takes", "...", "any", "other names, too"))
        rows += [(name, "gives", one.name, one.type, known) for one in schema.gives]
    return rows


def _is_in(module: str, package: str) -> bool:
    return module == package or module.startswith(f"{package}.")


def _spelled(licenses: Any) -> str:
    return ", ".join(map(str, licenses)) or "none found"
