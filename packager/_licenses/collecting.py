"""From an archive to its bill of materials: each entry, each extern, and what is known of who needs whom."""

from __future__ import annotations

import hashlib
import os
import uuid
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, BinaryIO, Final, Literal
from urllib.parse import quote

from packager._archive import CHUNK, ArchiveReader, EntryRecord, ObjectRecord, TensorReader
from packager._arguments import check_file
from packager._environment import WHEELS, RecordedEnvironment, Wheel, vendored_wheels
from packager._names import normalized_name
from packager._quick_dataclasses import dataclass, field, replace
from packager._spelled_json import json_pieces
from packager._version import OWN_NAME, OWN_PACKAGES, installed_version

from .reading import License, licenses_of_metadata
from .recorded import FileLicenses, StoredPart

Said = tuple[tuple[str, str], ...]
WHOLE: Final = "archive"
PYTHON: Final = "target/python"
_AT_ONCE: Final = 16 * CHUNK
_RUNTIME: Final = ".data/runtime/"
_STARTERS: Final = ("__main__.py", "packager.py")
_STANDARD: Final = ("stdlib", "builtin")


MaterialKind = Literal["application", "library", "platform", "file", "data", "machine-learning-model"]


@dataclass(frozen=True)
class Material:
    """One thing of a bill: a file, a distribution, a model, the weights of one.

    `ref` names it inside the bill. `kind` is a type of CycloneDX. `sha256` is that of its bytes, as
    `sha256sum` gives it; empty for what is not in the archive. `licenses` are empty where none was found.
    `parts` lie inside it. `properties` are facts that the format has no field for. `takes` and `gives` are
    what a model is called with and answers, each a name with its type. `holds` says what data is:
    "dataset", or "other" for weights.
    """

    ref: str
    kind: MaterialKind
    name: str
    version: str = ""
    package_url: str = ""
    sha256: str = ""
    licenses: tuple[License, ...] = ()
    parts: tuple[Material, ...] = ()
    properties: tuple[tuple[str, str], ...] = ()
    takes: tuple[str, ...] = ()
    gives: tuple[str, ...] = ()
    holds: str = ""
    is_optional: bool = False


@dataclass(frozen=True)
class BillOfMaterials:
    """Everything in an archive and everything that it leaves to the target, each once.

    `whole` is the archive itself. `needs` says for each `ref` which others it needs, as far as that is
    recorded; of what lies at the target it is not. The same archive gives the same bill. `signature` says who
    signed it, "" where that was not asked.
    """

    identity: str
    whole: Material
    materials: tuple[Material, ...]
    needs: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    signature: str = ""

    def all(self) -> Iterator[Material]:
        """Yield everything but the archive itself, and what lies inside of each after it.

        >>> inner = Material("file/a.py", "file", "a.py")
        >>> shop = Material("stored/shop", "library", "shop", parts=(inner,))
        >>> bill = BillOfMaterials("0" * 64, Material("archive", "application", "net"), (shop,))
        >>> [one.name for one in bill.all()]
        ['shop', 'a.py']
        """
        for one in self.materials:
            yield one
            yield from one.parts


def bill_of_materials(
    file: str | os.PathLike[str] | BinaryIO | bytes,
    *,
    identity: str | None = None,
    progress: Callable[[int, int], None] | None = None,
    signature: Callable[[ArchiveReader], str] | None = None,
) -> BillOfMaterials:
    """Return the parts and the requirements of an archive, with licences; no code of it is run.

    `file` is a path, the folder of an unzipped archive, a file object or bytes; its name is not in the bill.
    The archive has name and version of the installed project that the code of its models is from; where that
    is not known, the name of its one model. `identity` admits only the archive with this identity. Every byte
    is read, for the digests; `progress(done, total)` is called with bytes. `signature` says who signed the
    open archive.

    Raises ArgumentError for a `file` of the wrong kind, ArchiveError for a file that is not an archive or is
    damaged.

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
        said = "signed, not checked" if reader.signatures() else "unsigned"
        said = said if signature is None else signature(reader)
        return replace(_Collector(reader).bill(), signature=said)


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
        homes = list(self._homes(inside))
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
        name, ref, sha256 = entry.name, f"file/{entry.name}", self._sha256(entry)
        said: Said = (("kind", entry.kind), ("bytes", str(entry.size)))
        wheel = self._wheels.get(name)
        if wheel is not None:
            licenses = self._files.recorded.distributions.get(wheel.name, ())
            said = (*said, ("role", "wheel"), ("file", name))
            return self._library(ref, wheel.name, wheel.version, licenses, said, sha256=sha256)
        if entry.kind != "tensors":
            return Material(ref, "file", name, "", "", sha256, self._files.of(name), properties=said)
        said = (*said, ("tensors", str(len(TensorReader(self._reader, name)))))
        holds = "dataset" if name in self._calls else "other"
        return Material(ref, "data", name, sha256=sha256, properties=said, holds=holds)

    def _library(
        self,
        ref: str,
        name: str,
        version: str,
        licenses: tuple[License, ...],
        said: Said,
        *,
        is_local: bool | None = None,
        **fields: Any,
    ) -> Material:
        """Return a distribution; without `is_local` it is one of those that are recorded as such, or not."""
        if is_local is None:
            is_local = name == OWN_NAME or (self._environment is not None and name in self._environment.local)
        url = package_url(name, version, is_local=is_local)
        return Material(ref, "library", name, version, url, licenses=licenses, properties=said, **fields)

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

    def _homes(self, inside: Mapping[str, list[Material]]) -> Iterator[Material]:
        """Yield the distributions whose code is stored, and those of a loader, each with its files."""
        homes = [
            (
                f"stored/{one.distribution}",
                one.distribution,
                one.version,
                one.licenses,
                "stored",
                one.is_local,
            )
            for one in self._files.recorded.stored
            if one.distribution
        ]
        loader = self._loader.items()
        carried = [(f"carried/{name}", name, *found, "loader", None) for name, found in loader]
        for ref, name, version, licenses, role, is_local in (*homes, *carried):
            if parts := tuple(inside.get(ref, ())):
                said = (("role", role),)
                yield self._library(ref, name, version, licenses, said, is_local=is_local, parts=parts)

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
                said: Said = (("role", "extern"), ("distribution", "not known"))
                how: dict[str, Any] = {"is_local": True, "is_optional": extern.optional}
                for name in extern.modules:
                    yield self._library(f"module/{name}", name, "", (), said, **how)
                continue
            name = normalized_name(extern.distribution)
            beside.pop(name, None)
            asked = (("requirement", extern.requirement),) if extern.requirement else ()
            said = (("role", "extern"), *asked)
            found = licenses.get(name, ())
            ref = f"target/{name}"
            yield self._library(ref, name, extern.version, found, said, is_optional=extern.optional)
        for name, version in sorted(beside.items()):
            said = (("role", "required by an extern"),)
            yield self._library(f"target/{name}", name, version, licenses.get(name, ()), said)

    def _python(self) -> Iterator[Material]:
        """Yield the Python that the archive was made with, which brings the standard library."""
        if self._environment is None:
            return
        made_with = self._environment.fingerprint
        is_known = made_with.implementation == "cpython"
        name, of = ("CPython", "python") if is_known else (made_with.implementation, made_with.implementation)
        licenses = (License("PSF-2.0", "expression"),) if is_known else ()
        url = package_url(of, made_with.python, is_local=True)
        said = (("role", "interpreter"), ("platform", made_with.platform))
        yield Material(PYTHON, "platform", name, made_with.python, url, "", licenses, properties=said)

    # --- who needs whom ---

    def _add_imports(self) -> None:
        """Add what the modules of the archive import: other files, and what is left to the target."""
        for module in self._manifest.modules:
            needed = self._refs_of(module.name)
            for site in module.importers if needed else ():
                if site.module in self._entries:
                    self._needs[f"file/{self._entries[site.module]}"].update(needed)

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
            home = normalized_name(record.distribution or "")
            ref = f"target/{home}" if home else f"module/{record.name}"
            found[record.name] = (PYTHON if record.origin in _STANDARD else ref,)
        return found


def _modules_of(record: ObjectRecord) -> list[str]:
    """Return the modules of the types, and of the factory, that an object is made by."""
    names = [use.name for use in record.types] + ([record.factory] if record.factory else [])
    return [name.partition(":")[0] for name in names]


def package_url(name: str, version: str = "", *, is_local: bool = False) -> str:
    """Return the package URL of a distribution; `name` is normalised.

    One that `is_local` is on no index: whatever has its name there is something else.

    >>> package_url("torch", "2.4.0+cpu"), package_url("shop", is_local=True)
    ('pkg:pypi/torch@2.4.0%2Bcpu', 'pkg:generic/shop')

    Source: the purl specification, and its type `pypi`.
    """
    at = f"@{quote(version, safe='')}" if version else ""
    return f"pkg:{'generic' if is_local else 'pypi'}/{quote(name, safe='')}{at}"


_SERIALS: Final = uuid.uuid5(uuid.NAMESPACE_URL, "urn:kellet:bill-of-materials")
_CONCLUDED: Final = ("text",)
_PREFIX: Final = "kellet"
NONE_FOUND: Final = "none found"


def cyclonedx(bill: BillOfMaterials) -> Iterator[str]:
    """Yield a bill as CycloneDX 1.6 in JSON, piece by piece.

    It holds no date and no random number: its serial number follows from the identity of the archive, and
    the same archive gives the same text with the same version of packager.

    >>> from packager._licenses.collecting import Material
    >>> bill = BillOfMaterials("0" * 64, Material("archive", "application", "net"), ())
    >>> next(line for line in "".join(cyclonedx(bill)).splitlines() if "specVersion" in line)
    '  "specVersion": "1.6",'
    """
    yield from json_pieces(_document(bill))
    yield "\n"


def _document(bill: BillOfMaterials) -> dict[str, Any]:
    """Return the document as plain data; its long lists are iterators, good for one pass."""
    version = installed_version() or "0"
    made_of = f"{bill.identity} {version}"
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid.uuid5(_SERIALS, made_of)}",
        "version": 1,
        "metadata": {
            "tools": {"components": [{"type": "application", "name": OWN_NAME, "version": version}]},
            "component": _component(bill.whole),
            **({"properties": [_property("signature", bill.signature)]} if bill.signature else {}),
        },
        "components": map(_component, bill.materials),
        "dependencies": _dependencies(bill),
        "compositions": [
            {
                "aggregate": "unknown",  # what they need in turn is not recorded
                "dependencies": [one.ref for one in bill.materials if one.ref.startswith("target/")],
            }
        ],
    }


def _property(name: str, value: str) -> dict[str, str]:
    return {"name": f"{_PREFIX}:{name}", "value": value}


def _component(material: Material) -> dict[str, Any]:
    """Return one component; its fields in the order of the specification."""
    component: dict[str, Any] = {"type": material.kind, "bom-ref": material.ref, "name": material.name}
    if material.version:
        component["version"] = material.version
    if material.is_optional:
        component["scope"] = "optional"
    if material.sha256:
        component["hashes"] = [{"alg": "SHA-256", "content": material.sha256}]
    properties = [*material.properties]
    public, plus, _ = material.version.partition("+")
    if plus:  # what is known of the flaws of 2.13.0+cpu is known of 2.13.0
        properties.append(("public-version", public))
    if material.licenses:
        component["licenses"] = _licenses(material.licenses)
    else:
        properties.append(("license", NONE_FOUND))
    if material.package_url:
        component["purl"] = material.package_url
    component["properties"] = [_property(*one) for one in properties]
    if material.parts:
        component["components"] = map(_component, material.parts)
    if material.holds:
        component["data"] = [{"type": material.holds, "name": material.name}]
    if material.takes or material.gives:
        component["modelCard"] = {
            "modelParameters": {
                "inputs": [{"format": text} for text in material.takes],
                "outputs": [{"format": text} for text in material.gives],
            }
        }
    return component


def _licenses(found: tuple[License, ...]) -> list[dict[str, Any]]:
    """Return licences as declared, or concluded from a text: one expression, or any number of names."""
    if len(found) == 1 and found[0].is_expression:
        return [{"expression": found[0].text, "acknowledgement": _acknowledged(found[0])}]
    return [{"license": {"name": one.text, "acknowledgement": _acknowledged(one)}} for one in found]


def _acknowledged(one: License) -> str:
    return "concluded" if one.source in _CONCLUDED else "declared"


def _dependencies(bill: BillOfMaterials) -> Iterator[dict[str, Any]]:
    """Yield for each component what it needs, as far as it is recorded; what needs nothing is there, too."""
    for material in (bill.whole, *bill.all()):
        yield {"ref": material.ref, "dependsOn": list(bill.needs.get(material.ref, ()))}
