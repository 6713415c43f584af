"""From an archive to its bill: every entry, every extern, and what is recorded of who needs whom."""

from __future__ import annotations

import hashlib
import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import BinaryIO, Final

from packager.archive import CHUNK, ArchiveReader, EntryRecord, ObjectRecord, TensorReader
from packager.arguments import check_file
from packager.environment import WHEELS, RecordedEnvironment, RecordedExtern, Wheel, vendored_wheels
from packager.names import normalized_name
from packager.quick_dataclasses import replace
from packager.version import OWN_NAME, OWN_PACKAGES

from .materials import BillOfMaterials, Material, MaterialKind, package_url
from .reading import License, licenses_of_metadata
from .recorded import FileLicenses, StoredPart

WHOLE: Final = "archive"
PYTHON: Final = "target/python"
_AT_ONCE: Final = 16 * CHUNK
_RUNTIME: Final = ".data/runtime/"
_STARTERS: Final = ("__main__.py", "packager.py")
_PYTHONS: Final = {"cpython": ("CPython", (License("PSF-2.0", "expression"),))}
_STANDARD: Final = ("stdlib", "builtin")


def bill_of_materials(
    file: str | os.PathLike[str] | BinaryIO | bytes,
    *,
    identity: str | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> BillOfMaterials:
    """Return what an archive is made of and what it asks of the target, with licences; nothing of it is run.

    `file` is a path, the folder of an unzipped archive, a file object or bytes; its name is not in the bill.
    The archive has name and version of the installed project that the code of its models is from; where that
    is not known, the name of its one model. `identity` admits one archive alone. Every byte is read, for the
    digests; `progress(done, total)` is called with bytes.

    Raises ArgumentError for a `file` of the wrong kind, and what ArchiveReader raises for what is no
    archive, or a damaged one.

    >>> import io
    >>> from packager import PackageExporter
    >>> file = io.BytesIO()
    >>> with PackageExporter(file, policy="auto") as exporter:
    ...     exporter.save_source_string("net", "import numpy  # SPDX-License-Identifier: MIT")
    >>> bill = bill_of_materials(file)
    >>> [(one.name, *map(str, one.licenses)) for one in bill.all() if one.kind == "file"]
    [('net.py', 'MIT')]
    >>> [one.package_url.partition("@")[0] for one in bill.all() if one.kind == "library"]
    ['pkg:pypi/numpy']
    """
    if not isinstance(file, bytes | bytearray | memoryview):
        check_file("file", file, method="read")
    with ArchiveReader(file, identity=identity, digests="crc", mmap=False) as reader:
        reader.progress = progress
        return _Collector(reader).bill()


class _Collector:
    """What is collected of one open archive."""

    def __init__(self, reader: ArchiveReader) -> None:
        self._reader = reader
        self._manifest = reader.manifest
        self._files = FileLicenses(reader)
        self._environment = RecordedEnvironment.of(self._manifest) if self._manifest.environment else None
        self._needs: defaultdict[str, set[str]] = defaultdict(set)

    def bill(self) -> BillOfMaterials:
        """Return the whole."""
        inside: defaultdict[str, list[Material]] = defaultdict(list)
        for entry in self._manifest.entries:
            inside[self._home_of(entry)].append(self._file(entry))
        homes = [*self._stored(inside), *self._runtime(inside)]
        loose = [one for one in inside[""] if one.kind != "library"]
        wheels = [one for one in inside[""] if one.kind == "library"]
        target = [*self._externs(), *self._python()]
        models = list(self._models())
        materials = (*models, *loose, *homes, *wheels, *target)
        self._needs[WHOLE].update(one.ref for one in (*models, *homes, *target))
        self._add_imports()
        known = {WHOLE, *(one.ref for part in materials for one in (part, *part.parts))}
        needs = {
            ref: tuple(sorted(others & known - {ref}))
            for ref, others in sorted(self._needs.items())
            if ref in known
        }
        return BillOfMaterials(self._reader.identity, self._whole(models), materials, needs)

    def _whole(self, models: Sequence[Material]) -> Material:
        named = [name for record in self._manifest.objects for name in _modules_of(record)]
        project = self._project(
            named or [name for one in self._files.recorded.stored for name in one.modules]
        )
        names = [one.name for one in models if one.kind == "machine-learning-model"]
        own = dict.fromkeys(
            one for part in self._files.recorded.stored if part.is_local for one in part.licenses
        )
        return Material(
            WHOLE,
            "application",
            project.distribution or (names[0] if len(names) == 1 else "archive"),
            project.version,
            licenses=tuple(own),
            properties=(("identity", self._reader.identity), ("format", str(self._manifest.format))),
        )

    def _project(self, modules: Iterable[str]) -> StoredPart:
        """Return the part of the user's own code that modules are from; an empty one for none or several."""
        parts = {self._files.recorded.part_of(name) for name in modules}
        own = [part for part in parts if part is not None and part.is_local]
        return own[0] if len(own) == 1 else StoredPart(())

    # --- what lies in the archive ---

    def _home_of(self, entry: EntryRecord) -> str:
        """Return the ref of the distribution that an entry came with; "" for all others."""
        if entry.name.startswith(_RUNTIME):
            return self._carried(entry.name[len(_RUNTIME) :].partition("/")[0])
        if entry.name in _STARTERS and not any(one.entry == entry.name for one in self._manifest.modules):
            return self._carried(OWN_NAME)
        part = self._files.part_of(entry.name)
        return f"stored/{part.distribution}" if part is not None and part.distribution else ""

    def _carried(self, folder: str) -> str:
        """Return the ref of the loader's distribution that a folder of its is of."""
        stem = folder.removesuffix(".dist-info")
        name = normalized_name(folder if folder == stem else stem.rpartition("-")[0])
        name = OWN_NAME if name in OWN_PACKAGES else name
        return f"carried/{name}" if name in self._loader else ""

    def _file(self, entry: EntryRecord) -> Material:
        wheel, name = self._wheels.get(entry.name), entry.name
        kind: MaterialKind = "file" if wheel is None else "library"
        holds, properties = "", [("kind", entry.kind), ("bytes", str(entry.size))]
        licenses = self._files.of(name)
        if entry.kind == "tensors":
            kind, holds = "data", "dataset" if name in self._calls else "other"
            properties.append(("tensors", str(len(TensorReader(self._reader, name)))))
        made = Material(
            f"file/{name}",
            kind,
            name,
            "",
            "",
            self._sha256(entry),
            licenses,
            (),
            tuple(properties),
            holds=holds,
        )
        if wheel is None:
            return made
        return replace(
            made,
            name=wheel.name,
            version=wheel.version,
            package_url=self._url(wheel.name, wheel.version),
            licenses=self._files.recorded.distributions.get(wheel.name, ()),
            properties=(*properties, ("role", "wheel"), ("file", name)),
        )

    def _sha256(self, entry: EntryRecord) -> str:
        """Return the sha256 of an entry's bytes; for long ones another is recorded, that of their chunks."""
        if entry.size <= CHUNK and entry.sha256 is not None:
            self._reader.check(entry.name)
            return entry.sha256
        digest = hashlib.sha256()
        for start in range(0, entry.size, _AT_ONCE):
            digest.update(self._reader.view(entry.name, start, min(start + _AT_ONCE, entry.size)))
        return digest.hexdigest()

    @cached_property
    def _calls(self) -> frozenset[str]:
        """The members that hold golden calls."""
        members = {name for check in self._manifest.checks for name in (check.inputs, check.outputs) if name}
        return frozenset(members | {trace.entry for trace in self._manifest.traces})

    @cached_property
    def _wheels(self) -> Mapping[str, Wheel]:
        """The wheels by their entries."""
        return {WHEELS + wheel.file: wheel for wheel in vendored_wheels(self._manifest)}

    def _stored(self, inside: Mapping[str, list[Material]]) -> Iterator[Material]:
        """Yield the distributions whose code is stored, each with its files."""
        for part in self._files.recorded.stored:
            ref = f"stored/{part.distribution}"
            if part.distribution and inside.get(ref):
                url = package_url(part.distribution, part.version, is_local=part.is_local)
                yield _library(
                    ref, part.distribution, part.version, url, part.licenses, inside[ref], "stored"
                )

    def _runtime(self, inside: Mapping[str, list[Material]]) -> Iterator[Material]:
        """Yield the distributions of the loader that a runnable archive carries."""
        for name, (version, licenses) in self._loader.items():
            ref = f"carried/{name}"
            if inside.get(ref):
                yield _library(ref, name, version, self._url(name, version), licenses, inside[ref], "loader")

    @cached_property
    def _loader(self) -> Mapping[str, tuple[str, tuple[License, ...]]]:
        """Version and licences of the distributions below the runtime's folder, by name."""
        found = {}
        for entry in self._manifest.entries:
            folder, _, file = entry.name.removeprefix(_RUNTIME).partition("/")
            if entry.name.startswith(_RUNTIME) and folder.endswith(".dist-info") and file == "METADATA":
                name, _, version = folder.removesuffix(".dist-info").rpartition("-")
                head = bytes(self._reader.view(entry.name, 0, min(entry.size, CHUNK)))
                found[normalized_name(name)] = (version, licenses_of_metadata(head))
        return found

    # --- models ---

    def _models(self) -> Iterator[Material]:
        """Yield the stored objects; where there are none the state dicts are the model."""
        manifest = self._manifest
        for number, record in enumerate(manifest.objects, 1):
            ref = f"model/{number}"
            points = {
                point.name
                for point in manifest.entry_points
                if (point.package, point.resource) == (record.package, record.resource)
            }
            schemas = [schema for schema in manifest.schemas if schema.entry_point in points]
            self._needs[ref].update(f"file/{name}" for name in (record.entry, record.tensors) if name)
            for use in record.types:
                self._needs[ref].update(self._refs_of(use.name.partition(":")[0]))
            yield Material(
                ref,
                "machine-learning-model",
                f"{record.package}/{record.resource}",
                self._project(_modules_of(record)).version,
                properties=(("factory", record.factory),) if record.factory else (),
                takes=tuple(f"{one.name}: {one.type}" for schema in schemas for one in schema.takes),
                gives=tuple(f"{one.name}: {one.type}" for schema in schemas for one in schema.gives),
            )
        for number, state in enumerate(manifest.state_dicts, 1):
            ref = f"state/{number}" if manifest.objects else f"model/{number}"
            self._needs[ref].update(f"file/{name}" for name in (state.entry, state.extras) if name)
            kind: MaterialKind = "data" if manifest.objects else "machine-learning-model"
            name = f"{state.package}/{state.resource}"
            yield Material(ref, kind, name, holds="other" if manifest.objects else "")

    # --- what is left to the target ---

    def _externs(self) -> Iterator[Material]:
        """Yield what the target must bring, and what stood beside it when the archive was made."""
        if self._environment is None:
            return
        licenses = self._files.recorded.distributions
        beside = dict(self._environment.versions)
        for extern in self._environment.externs:
            if not extern.distribution:
                for name in extern.modules:
                    url = package_url(name, is_local=True)
                    said = (("role", "extern"), ("distribution", "not known"))
                    yield Material(
                        f"module/{name}",
                        "library",
                        name,
                        "",
                        url,
                        properties=said,
                        is_optional=extern.optional,
                    )
                continue
            name = normalized_name(extern.distribution)
            beside.pop(name, None)
            yield self._at_target(name, extern.version, licenses.get(name, ()), extern)
        for name, version in sorted(beside.items()):
            yield self._at_target(name, version, licenses.get(name, ()), None)

    def _at_target(
        self, name: str, version: str, licenses: tuple[License, ...], extern: RecordedExtern | None
    ) -> Material:
        properties = [("role", "required by an extern" if extern is None else "extern")]
        if extern is not None and extern.requirement:
            properties.append(("requirement", extern.requirement))
        found = Material(f"target/{name}", "library", name, version, self._url(name, version), "", licenses)
        is_optional = extern is not None and extern.optional
        return replace(found, properties=tuple(properties), is_optional=is_optional)

    def _python(self) -> Iterator[Material]:
        """Yield the Python that the archive was made with, which brings the standard library."""
        if self._environment is None:
            return
        made_with = self._environment.fingerprint
        name, licenses = _PYTHONS.get(made_with.implementation, (made_with.implementation, ()))
        of = "python" if licenses else made_with.implementation
        url = package_url(of, made_with.python, is_local=True)
        properties = (("role", "interpreter"), ("platform", made_with.platform))
        yield Material(PYTHON, "platform", name, made_with.python, url, "", licenses, properties=properties)

    def _url(self, name: str, version: str) -> str:
        local = self._environment.local if self._environment is not None else ()
        return package_url(name, version, is_local=name in local or name == OWN_NAME)

    # --- who needs whom ---

    def _add_imports(self) -> None:
        """Add what the modules of the archive import: other files, and what is left to the target."""
        entries = {module.name: module.entry for module in self._manifest.modules if module.entry}
        for module in self._manifest.modules:
            needed = self._refs_of(module.name)
            for site in module.importers if needed else ():
                if site.module in entries:
                    self._needs[f"file/{entries[site.module]}"].update(needed)

    def _refs_of(self, module: str) -> Iterable[str]:
        """Return the refs of the file of a module, or of what brings it at the target."""
        if module in self._entries:
            return (f"file/{self._entries[module]}",)
        name = module
        while name:
            if name in self._brings:
                return self._brings[name]
            name = name.rpartition(".")[0]
        return ()

    @cached_property
    def _entries(self) -> Mapping[str, str]:
        return {module.name: module.entry for module in self._manifest.modules if module.entry}

    @cached_property
    def _brings(self) -> Mapping[str, tuple[str, ...]]:
        """What brings an import name at the target. Several distributions may fill one namespace."""
        found: dict[str, tuple[str, ...]] = {}
        for record in self._manifest.externs:
            if record.origin in _STANDARD:
                ref = PYTHON
            elif record.distribution:
                ref = f"target/{normalized_name(record.distribution)}"
            else:
                ref = f"module/{record.name}"
            found[record.name] = (ref,)
        return found


def _library(
    ref: str,
    name: str,
    version: str,
    url: str,
    licenses: tuple[License, ...],
    files: Iterable[Material],
    role: str,
) -> Material:
    """Return a distribution whose files lie in the archive."""
    return Material(ref, "library", name, version, url, "", licenses, tuple(files), (("role", role),))


def _modules_of(record: ObjectRecord) -> list[str]:
    """Return the modules of the types, and of the factory, that an object is made by."""
    names = [use.name for use in record.types] + ([record.factory] if record.factory else [])
    return [name.partition(":")[0] for name in names]
