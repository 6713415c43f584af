"""Every module that was looked at, by name: where it is, its source, and its scan, also from the cache.

Nothing here knows a policy. Each file is read once; texts that the caller gives come before files.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Sequence
from functools import cached_property

from packager import seen
from packager.names import source_path

from .outlines import Outline, class_text, read_outline
from .records import Found, SourceFinder
from .scan import Block, ClassScan, Import, Scan
from .scan_cache import ScanCache
from .scanner import is_valid, scan_source

_STAR = re.compile(rb"import\s*\(?\s*\*")
_LONG = 4000  # bytes: a shorter source is parsed sooner than divided
NO_SCAN = Scan(
    None,
    (Block(-1, "module", 0, 0, "", "", None, -1, (), (), (), (), (), (), (), (), -1, True, (), False),),
    (), (), (), (), {}, None, None, (), False, False,
)  # fmt: skip


class SourceModule:
    """One module: where it was found, and what was read of it so far.

    `package` is what relative imports start from; `problem` is why the source cannot be used, as
    (reason, message, line). `is_left` says that it may be left to the target: then its outline is read until
    `follow` is called. `runs_here` belongs to blocks.py, which keeps there what it knows of
    its blocks; `live`, `used`, `used_lazily`, `foreign` (what names that lead out of the followed
    modules start from) and `classes_in` belong to import_follower.py and liveness.py, `typing_imports`
    to resolve.py.
    """

    def __init__(self, found: Found, cache: ScanCache | None, is_left: Callable[[str], bool]) -> None:
        self._cache = cache
        self._is_left = is_left
        self._is_followed = False
        self._outline: Outline | None = None
        self.name, self.found = found.name, found
        usual = found.name if found.is_package else found.name.rpartition(".")[0]
        self.package = usual if found.package is None else found.package
        self.problem = ("", "", 0)
        self.digest = ""
        self._source: bytes | None = None
        self.runs_here: dict[int, tuple[bool | None, str]] = {}
        self.live: set[int] = set()
        self.used: set[int] = set()
        self.used_lazily: set[tuple[str, ...]] = set()
        self.foreign: set[str | tuple[int, int]] = set()
        self.classes_in: dict[int, list[int]] | None = None
        self.typing_imports: list[tuple[str, Import]] | None = None

    @property
    def source(self) -> bytes | None:
        """The bytes of the source, None where there is none or it cannot be read."""
        if self._source is None and self.found.read is not None and not self.problem[0]:
            try:
                self._source = self.found.read()
            except (OSError, KeyError, ValueError) as error:
                self.problem = ("unreadable", str(error), 0)
        return self._source

    @cached_property
    def scan(self) -> Scan:
        """What the source says; an empty scan where there is no source, or none that parses."""
        source = self.source
        if source is None:
            return NO_SCAN
        self.digest = _digest(source)
        if not self._is_followed and len(source) > _LONG and self._is_left(self.name):
            self._outline = self._read_outline(source)
            if self._outline is not None:
                return self._outline.scan
        scan = self._read(source, self.digest)
        if scan.error is not None:
            self.problem = ("syntax", scan.error[1], scan.error[0])
            return NO_SCAN
        return scan

    def follow(self) -> bool:
        """Read all of the source from now on; say whether an outline of it was in use."""
        had_outline = self._outline is not None
        self._is_followed, self._outline = True, None
        if had_outline:
            self.__dict__.pop("scan", None)
            self.runs_here.clear()
            self.typing_imports = None
        return had_outline

    def whole_class(self, at: int) -> tuple[ClassScan, Sequence[Block]]:
        """Return class number `at` of the scan, and the blocks in which its methods are read."""
        klass, source, outline = self.scan.classes[at], self.source, self._outline
        if source is None or outline is None:
            return klass, self.scan.blocks
        text = class_text(source, outline, klass.name)
        if text is not None:
            part = self._read(text, _digest(text))
            for one in part.classes:
                if one.name == klass.name:
                    return one, part.blocks
        whole = self._read(source, self.digest)
        alike = [number for number, one in enumerate(self.scan.classes) if one.name == klass.name]
        return [one for one in whole.classes if one.name == klass.name][alike.index(at)], whole.blocks

    def _read(self, source: bytes, digest: str) -> Scan:
        scan = self._cache.get(digest) if self._cache is not None else None
        if scan is None:
            scan = scan_source(source)
            if self._cache is not None and scan.error is None:
                self._cache.put(digest, scan)
        return scan

    def _read_outline(self, source: bytes) -> Outline | None:
        """Return the outline; None where the whole scan is at hand, or is needed."""
        outline = self._cache.get_outline(self.digest) if self._cache is not None else None
        if outline is None and self._is_valid(source):
            outline = read_outline(source)
            if self._cache is not None and outline is not None:
                self._cache.put_outline(self.digest, outline)
        return outline

    def _is_valid(self, source: bytes) -> bool:
        """Say whether Python can parse the source: what is cut is not parsed."""
        path = self.found.path if self.found.kind == "source" else None
        return (path is not None and seen.is_compiled(path, len(source))) or is_valid(source)

    @cached_property
    def stub_imports(self) -> tuple[Import, ...]:
        """The imports of the stub beside the source, where that is the lazy table: `attach_stub` reads it."""
        source, path = self.source, self.found.path
        if self.scan.lazy is None or source is None or b"attach_stub" not in source or path is None:
            return ()
        try:
            return scan_source(seen.read_file(f"{path}i")).imports
        except OSError:  # none is there, or the source lies in a zip file
            return ()

    def mentions(self, name: str) -> bool:
        """Say whether `name` could be among this module's: a look at the text, cheaper than a scan."""
        source = self.source
        return source is not None and (name.encode() in source or self._has_star)

    @cached_property
    def _has_star(self) -> bool:
        return self.source is not None and _STAR.search(self.source) is not None

    def replace(self, text: bytes) -> None:
        """Put another text in the place of the one that was found."""
        self._source, self.problem, self._outline = text, ("", "", 0), None
        for read in ("scan", "stub_imports", "_has_star"):
            self.__dict__.pop(read, None)
        self.runs_here.clear()
        self.live.clear()
        self.used.clear()
        self.used_lazily.clear()
        self.foreign.clear()
        self.classes_in = self.typing_imports = None

    def target(self, statement: Import) -> str | None:
        """Return the absolute name of the module that an import names; None beyond the top level."""
        if statement.level == 0:
            return statement.module
        base = self.name if statement.anchor == "name" else self.package
        parts = base.split(".") if base else []
        if len(parts) < statement.level:
            return None
        kept = parts[: len(parts) - statement.level + 1]
        return ".".join([*kept, statement.module] if statement.module else kept)


class ModuleTable:
    """Source modules by name, over a finder and texts given by the caller.

    `is_left` says of a module that it is probably left to the target.
    """

    def __init__(self, finder: SourceFinder, cache: ScanCache | None, is_left: Callable[[str], bool]) -> None:
        self._finder, self._cache, self._is_left = finder, cache, is_left
        self._modules: dict[str, SourceModule] = {}
        self._texts: dict[str, tuple[bytes, bool]] = {}
        self._implied: set[str] = set()

    def __getitem__(self, name: str) -> SourceModule:
        module = self._modules.get(name)
        if module is None:
            module = self._modules[name] = SourceModule(self._find(name), self._cache, self._is_left)
        return module

    def exists(self, name: str) -> bool | None:
        """Say whether there is a module of that name; None where that cannot be told."""
        kind = self[name].found.kind
        return None if kind == "unknown" else kind != "missing"

    def has_submodule(self, package: SourceModule, name: str) -> bool:
        """Say whether `name` is a module directly inside `package`."""
        return package.found.is_package and self.exists(f"{package.name}.{name}") is True

    def has_distribution(self, name: str) -> bool:
        """Say whether a distribution is installed that has this name and no module of the same name."""
        return self.exists(name) is False and self._finder.has_distribution(name)

    def add_text(self, name: str, text: bytes, is_package: bool) -> None:
        """Add a module whose text is given. It takes effect for what is looked up later."""
        self._texts[name] = (text, is_package)
        self._modules.pop(name, None)
        parent = name.rpartition(".")[0]
        while parent:
            self._implied.add(parent)
            if parent in self._modules and self._modules[parent].found.kind == "missing":
                del self._modules[parent]
            parent = parent.rpartition(".")[0]

    def submodules(self, name: str) -> Sequence[str]:
        """Return all modules directly inside a package, sorted."""
        given = {text for text in self._texts if text.rpartition(".")[0] == name}
        return sorted(given.union(self._finder.submodules(name)))

    def size(self, name: str) -> int:
        """Return the size of a module's source in bytes, without reading it where it lies on disk."""
        path = self[name].found.path
        if name in self._texts or path is None:
            return len(self[name].source or b"")
        try:
            return seen.size_of(path) if self[name].found.read is not None else 0
        except OSError:  # inside a zip file
            return len(self[name].source or b"")

    def refresh(self) -> None:
        """Look again for what was missing."""
        self._finder.refresh()
        for name in [name for name, module in self._modules.items() if module.found.kind == "missing"]:
            del self._modules[name]

    def _find(self, name: str) -> Found:
        if name in self._texts:
            text, is_package = self._texts[name]
            below = self._finder.find(name).search if is_package else ()
            file = source_path(name, is_package)
            return Found(name, "text", is_package, file, None, below, lambda: text)
        found = self._finder.find(name)
        if found.kind == "missing" and name in self._implied:
            return Found(name, "implicit", True, name.replace(".", "/"))
        return found


def _digest(source: bytes) -> str:
    return hashlib.sha256(source).hexdigest()
