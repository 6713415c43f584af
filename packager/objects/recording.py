"""The table of records as it grows: what was written, under which reference, with which names and findings.

The encoder is a recorder that walks; here nothing is walked.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from packager.codecs import Codec, CodecRegistry, Role
from packager.graph import Importer

from .encoded import Finding, NameUse
from .frames import Frame, path_of
from .naming import NameFinder
from .records import VERSION, Kind, Record


class Recorder:
    """One table: records, what they stand for, the codecs and the names in use, warnings and refusals.

    `stack` holds the frames of the objects that are open; it tells paths.
    """

    def __init__(
        self,
        importer: Importer,
        exporter: Any,
        registry: CodecRegistry,
        root: str,
    ) -> None:
        self.importer = importer
        self.exporter = exporter
        self.records: list[Record] = []
        self.stack: list[Frame] = []
        self._registry = registry
        self._root = root
        self._names = NameFinder(importer)
        self._codecs: dict[str, int] = {}
        self._codec_rows: list[list[Any]] = [["records", VERSION]]
        self._codec_of: dict[type, Codec | None] = {}
        self._by_id: dict[int, int | None] = {}
        self._by_value: dict[Any, int] = {}
        self._kept: list[Any] = []  # so that ids stay theirs
        self._class_refs: dict[type, int] = {}
        self._plain: set[type] = set()
        self._uses: dict[tuple[str, str, str], NameUse] = {}
        self._warnings: list[Finding] = []
        self._refusals: list[Finding] = []

    # --- records ---

    def write(self, record: Record) -> int:
        """Append a record; return the reference to it."""
        self.records.append(record)
        return -len(self.records)

    def write_once(self, key: Hashable, record: Record) -> int:
        """Append a record unless one was written for an equal `key`; return the reference to it."""
        ref = self._by_value.get(key)
        if ref is None:
            ref = self._by_value[key] = self.write(record)
        return ref

    def reference(self, obj: Any) -> int | None:
        """The reference to an object that has been written, if it has."""
        return self._by_id.get(id(obj))

    def remember(self, obj: Any, ref: int) -> int:
        """Let every further use of `obj` refer to the record `ref`."""
        self._by_id[id(obj)] = ref
        self._kept.append(obj)
        return ref

    def equal(self, key: Hashable) -> int | None:
        """The reference written for an equal key, if any."""
        return self._by_value.get(key)

    def remember_equal(self, key: Hashable, ref: int) -> None:
        """Let everything with an equal key refer to the record `ref`."""
        self._by_value[key] = ref

    def close(self, frame: Frame, record: Record) -> int:
        """Write an object whose children had to come first, unless one of them led to its being written."""
        done = self.reference(frame.obj)
        return self.remember(frame.obj, self.write(record)) if done is None else done

    def complete(self, frame: Frame, fill: int) -> int:
        """Write an object whose children are done; or what it lacks, when it had to be written early."""
        if frame.ref is None:
            assert frame.start is not None
            return self.remember(frame.obj, self.write(frame.start(frame.operands)))
        if len(frame.operands) > frame.written:
            self.write([fill, frame.ref, *frame.operands[frame.written :]])
        return frame.ref

    # --- codecs ---

    def codec_for(self, cls: type) -> Codec | None:
        """The codec for instances of `cls`, if there is one."""
        if cls not in self._codec_of:
            self._codec_of[cls] = self._registry.for_class(cls)
        return self._codec_of[cls]

    def codec_number(self, codec: Codec) -> int:
        """The codec's row in the codec table."""
        if codec.name not in self._codecs:
            self._codecs[codec.name] = len(self._codec_rows)
            self._codec_rows.append([codec.name, codec.version])
        return self._codecs[codec.name]

    # --- names ---

    @property
    def role(self) -> Role:
        """What the object that is being encoded does with the child at hand."""
        return self.stack[-1].role if self.stack else "value"

    def write_name(self, obj: Any, role: Role, name: str | None = None) -> int:
        """The GLOBAL record of a class or function that is put to use in `role`. Raises CannotStore."""
        module, qualname = self._names.find(obj, name)
        if isinstance(obj, type) and hasattr(obj, "__del__"):
            self.refuse(
                f"class {module}:{qualname} has __del__, which would run with state from the archive",
                "keep it out of what is stored (__getstate__), and make it anew",
                "intern its module",
                unless=module,
            )
        return self.write_global(module, qualname, role)

    def write_class(self, cls: type) -> int:
        """The GLOBAL record of a class whose instance is made; asked for once for each class."""
        ref = self._class_refs.get(cls)
        if ref is None:
            ref = self.write_name(cls, "create")
            if not hasattr(cls, "__del__"):  # refused at each place otherwise, unless its source is stored
                self._class_refs[cls] = ref
        return ref

    def is_plain(self, cls: type) -> bool:
        """Whether instances of `cls` are known to be nothing but a `__dict__`."""
        return cls in self._plain

    def note_plain(self, cls: type) -> None:
        """Remember that instances of `cls` are nothing but a `__dict__`."""
        self._plain.add(cls)

    def write_global(self, module: str, qualname: str, role: Role) -> int:
        """The GLOBAL record of a stored name."""
        self.use(module, qualname, role)
        return self.write_once((Kind.GLOBAL, module, qualname), [Kind.GLOBAL, module, qualname])

    def use(self, module: str, qualname: str, role: Role) -> None:
        """Note that a name is put to use here."""
        key = (module, qualname, role)
        if key not in self._uses:
            self._uses[key] = NameUse(module, qualname, role, self.path())

    def name_of(self, obj: object) -> tuple[str, str]:
        """The module and qualified name of a class or function. Raises CannotStore."""
        return self._names.find(obj)

    # --- findings ---

    def path(self) -> str:
        """The attribute path of the object at hand."""
        return path_of(self.stack, self._root)

    def warn(self, reason: str, *options: str) -> None:
        """Add a warning about the object at hand."""
        self._warnings.append(Finding(self.path(), reason, options))

    def take_warnings(self) -> tuple[Finding, ...]:
        """Hand over the warnings so far; they are no longer part of the result."""
        taken = tuple(self._warnings)
        self._warnings.clear()
        return taken

    def refuse(self, reason: str, *options: str, unless: str = "") -> None:
        """Add a refusal of the object at hand; one with `unless` is lifted where that module is stored."""
        self._refusals.append(Finding(self.path(), reason, options, unless))
