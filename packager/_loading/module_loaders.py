"""How a packaged module is made: from stored source, as a mock, as an extern's alias, from a folder.

They are loaders by what they can do; `importlib.abc.Loader` itself would only cost its import.

Code that was compiled is kept for the next load, on the loading side only, by everything that compiling
depends on: the source's own digest, the interpreter's tag and magic number, the optimisation level. So
nothing is ever stale, and nothing of it is ever taken from an archive; the file name that tracebacks show is
put in when it is read, so that archives which hold the same source share it. The source's digest is the one
that the archive's manifest gives, and the reader has checked the source against it, also where its code is
kept: a load does not pass over a source that was changed.

A definition may name its module itself, and mean one of the archive by its true name: `namedtuple("Point",
"x y", module="shop.part")`, `cls.__module__ = "shop"`. Whatever looks it up (pickle, and with it every worker
process; dataclasses, typing, inspect) looks for a module of that name in `sys.modules`, where the archive's
has another one. So once a module has been run, its definitions get the name that their module has in this
process. What a function makes under a spelt-out name later on keeps that name, and so does what the process
has under that very name: a class of an installed package that the archive holds, too.
"""

from __future__ import annotations

import contextlib
import importlib
import linecache
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import _lru_cache_wrapper
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import CodeType, FunctionType, ModuleType
from typing import TYPE_CHECKING, Any, NoReturn

from packager._archive import ModuleRecord
from packager._graph import source_text
from packager._names import demangle
from packager._quick_dataclasses import dataclass
from packager.errors import ArchiveError

from .bytecode import BytecodeCache, Compiled, place_of
from .packaged_code import ImportRules, PackagedCode, say_true_names
from .unpacking import Unpacker

if TYPE_CHECKING:
    from importlib.abc import Loader

    from .packaged_import import PackagedImport
else:
    Loader = object


# What `import` and `inspect` ask of any module: a mock must not claim to have it.
_NOT_MOCKED = ("__path__", "__all__", "__wrapped__", "__file__", "__getattr__")


@dataclass(frozen=True)
class CodeHome:
    """What the modules of one archive have in common: where their code is, and what it runs with.

    `imported` is told of every module that has been run from source.
    """

    code: PackagedCode
    rules: ImportRules
    unpacker: Unpacker
    bytecode: BytecodeCache
    packaged_import: PackagedImport
    imported: Callable[[str, ModuleType], None] | None


class _Loader(Loader):
    """Leaves it to Python to make the module."""

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return None


class ArchiveLoader(_Loader):
    """Runs a stored source, and answers what `inspect`, `linecache` and `importlib.resources` ask."""

    def __init__(self, home: CodeHome, record: ModuleRecord) -> None:
        self._home = home
        self._record = record
        below = record.entry or record.name.replace(".", "/")
        self.path = home.unpacker.path_of(below)

    def exec_module(self, module: ModuleType) -> None:
        module.__dict__["__builtins__"] = self._home.packaged_import.builtins
        module.__dict__["__torch_package__"] = True  # what code written for torch.package looks for
        self._home.bytecode.begin_import()
        try:
            self._run(module)
        except (Exception, SystemExit) as error:
            if isinstance(error, ImportError):
                say_true_names(error)
            if not _stands_for(module, error):
                raise
        finally:
            self._home.bytecode.end_import()

    def is_package(self, fullname: str) -> bool:
        return self._record.is_package

    def get_source(self, fullname: str) -> str | None:
        """Return the source as text, None for a namespace package.

        Raises ImportError where it cannot be read: tracebacks are then printed without it.
        """
        if self._record.entry is None:
            return None
        try:
            return source_text(self._home.code.read(self._record.entry), f"entry {self._record.entry!r}")
        except ArchiveError as error:
            raise ImportError(f"the source of {demangle(fullname)!r} cannot be read: {error}") from error

    def get_code(self, fullname: str) -> CodeType | None:
        compiled = self._compiled()
        return None if compiled is None else compiled.code

    def get_filename(self, fullname: str) -> str:
        return self.path

    def get_data(self, path: str) -> bytes:
        """Return the file at `path`. Raises FileNotFoundError where it is none of the archive."""
        root = self._home.unpacker.path_of("")
        inside = path.removeprefix(root).replace("\\", "/").lstrip("/") if path.startswith(root) else None
        entry = None if inside is None else self._home.code.entry_at(inside)
        if entry is None and inside:
            self._home.code.ask_for_file(inside)
            entry = self._home.code.entry_at(inside)
        if entry is None:
            raise FileNotFoundError(f"no file {path!r} in the archive")
        return self._home.code.read_file(entry)

    def get_resource_reader(self, fullname: str) -> Any:
        from .resources import PackageResources

        if not self._record.is_package:
            return None
        return PackageResources(self._home.code, self._home.unpacker, self._record.name)

    def _run(self, module: ModuleType) -> None:
        compiled = self._compiled()
        if compiled is None:
            return
        if compiled.names_its_file:
            self._home.unpacker.unpack(self._record.name.partition(".")[0])
        linecache.lazycache(self.path, module.__dict__)
        self._home.packaged_import.take_over_builtins()
        exec(compiled.code, module.__dict__)
        self._home.packaged_import.take_over_builtins()
        if self._home.rules.suffix:
            name_as_here(module, self._home.rules)
        if self._home.imported is not None:
            self._home.imported(self._record.name, module)

    def _compiled(self) -> Compiled | None:
        """Return the code of the module, its source checked; None for a namespace package."""
        entry, code = self._record.entry, self._home.code
        if entry is None:
            return None
        digest, place = code.source_digest(self._record.name), place_of(entry)
        source, bytecode = code.read(entry), self._home.bytecode  # checked, whether its code is kept or not
        return bytecode.kept(digest, self.path, place) or bytecode.compiled(digest, self.path, source, place)


def _stands_for(module: ModuleType, error: BaseException) -> bool:
    """Put a stand-in for a module that failed with `error`, where a worker is reading its task."""
    if "multiprocessing" not in sys.modules:
        return False
    from .gone_modules import failed_module

    stand_in = failed_module(module.__name__, error)
    if stand_in is None:
        return False
    sys.modules[module.__name__] = stand_in
    return True


class FillingLoader(_Loader):
    """Makes a module that is filled by a function: a mock, say."""

    def __init__(self, fill: Callable[[ModuleType, str], None], true_name: str) -> None:
        self._fill = fill
        self._true_name = true_name

    def exec_module(self, module: ModuleType) -> None:
        self._fill(module, self._true_name)


def put_extern(module: ModuleType, true_name: str) -> None:
    """Put the target's own module where packaged code looks for an extern part of a stored package."""
    # Returned from create_module, the real module would lose its own `__spec__`.
    sys.modules[module.__name__] = importlib.import_module(true_name)


class FolderLoader(SourceFileLoader):
    """Runs a file from a folder that packaged code put on its own `__path__`: it is packaged code, too."""

    def __init__(self, loader: SourceFileLoader, builtins_of_code: ModuleType) -> None:
        super().__init__(loader.name, loader.path)
        self._builtins = builtins_of_code

    def exec_module(self, module: ModuleType) -> None:
        module.__dict__["__builtins__"] = self._builtins
        super().exec_module(module)


def found_beside(
    fullname: str, path: Sequence[str] | None, builtins_of_code: ModuleType
) -> ModuleSpec | None:
    """Return the spec of a module outside of the archive, in a folder of its package's `__path__`."""
    spec = None if path is None else PathFinder.find_spec(fullname, path)
    if spec is not None and type(spec.loader) is SourceFileLoader:
        spec.loader = FolderLoader(spec.loader, builtins_of_code)
    return spec


class PackageFolderFinder:
    """The path-entry finder of one packaged package, for `pkgutil.iter_modules(package.__path__)`.

    It lists what the archive holds. `find` gives the spec of a stored module by the last part of its name, as
    code asks that has it from the list: `for finder, name, _ in iter_modules(path): finder.find_spec(name)`.
    """

    def __init__(self, code: PackagedCode, package: str, find: Callable[[str], ModuleSpec | None]) -> None:
        self._code = code
        self._package = package
        self._find = find

    def find_spec(self, fullname: str, target: ModuleType | None = None) -> ModuleSpec | None:
        last = fullname.rpartition(".")[2]
        if not self._code.has_module(f"{self._package}.{last}"):
            return None
        stored = {one.name.rpartition(".")[2] for one in self._code.children(self._package) if one.entry}
        return self._find(last) if last in stored else None

    def invalidate_caches(self) -> None:
        """Do nothing: an archive does not change."""

    def iter_modules(self, prefix: str = "") -> Iterator[tuple[str, bool]]:
        self._code.ask_for_file(self._package.replace(".", "/"), lists=True)
        for record in self._code.children(self._package):
            is_folder = record.action == "intern" and record.entry is None  # which Python does not list
            if record.action != "deny" and not is_folder:
                yield prefix + record.name.rpartition(".")[2], record.is_package


class MockedObject:
    """A name of a mocked module: it can be passed around and looked into, but not used.

    Source: torch.package's mocked modules; as there, calling one is a NotImplementedError. Here it is
    also one to inherit from it, and the message names the rule's way out.
    """

    def __init__(self, name: str) -> None:
        self.__dict__["_mocked_name"] = name

    def __getattr__(self, attribute: str) -> MockedObject:
        if attribute.startswith("__") and attribute.endswith("__"):
            raise AttributeError(attribute)
        return MockedObject(f"{self._mocked_name}.{attribute}")

    def __repr__(self) -> str:
        return f"<mocked {self._mocked_name}>"

    def _refuse(self, *args: Any, **kwargs: Any) -> NoReturn:
        top: str = self._mocked_name.partition(".")[0]
        raise NotImplementedError(
            f"{self._mocked_name!r} was mocked when the archive was made, and stored code uses it. Export "
            f'again, with exporter.intern("{top}.**") to store it, or exporter.extern("{top}.**") to require '
            "it here"
        )

    def __or__(self, other: Any) -> MockedObject:
        """Return a mocked name again, as in `Mocked | None`, which annotations make when they are run."""
        return MockedObject(f"{self._mocked_name} | {_shown_in_union(other)}")

    def __ror__(self, other: Any) -> MockedObject:
        return MockedObject(f"{_shown_in_union(other)} | {self._mocked_name}")

    __call__ = __mro_entries__ = __iter__ = __len__ = __getitem__ = __setitem__ = __contains__ = _refuse
    __setattr__ = __delattr__ = __enter__ = __exit__ = __bool__ = __int__ = __float__ = __index__ = _refuse
    __add__ = __sub__ = __mul__ = __truediv__ = __floordiv__ = __mod__ = __matmul__ = __pow__ = _refuse
    __radd__ = __rsub__ = __rmul__ = __rtruediv__ = __neg__ = __lt__ = __le__ = __gt__ = __ge__ = _refuse


def _shown_in_union(other: object) -> str:
    if isinstance(other, MockedObject):
        return str(other._mocked_name)
    return other.__qualname__ if isinstance(other, type) else type(other).__name__


def fill_mock(module: ModuleType, true_name: str) -> None:
    """Make `module` a mock of `true_name`: a module-level `__getattr__` that gives mocked objects."""

    def mocked_attribute(attribute: str) -> MockedObject:
        if attribute in _NOT_MOCKED:
            raise AttributeError(attribute)
        return MockedObject(f"{true_name}.{attribute}")

    module.__dict__["__getattr__"] = mocked_attribute


_NAMES_OF: Any = vars(type)["__dict__"]  # past whatever a metaclass defines


def name_as_here(module: ModuleType, rules: ImportRules) -> None:
    """Give definitions in `module`, and classes inside its classes, the name that their module has here."""
    done: set[int] = set()
    here = rules.called
    work = list(vars(module).values())
    while work:
        value = work.pop()
        kind = type(value)
        if kind is FunctionType or kind is _lru_cache_wrapper:  # not `in`: a metaclass may say what equals it
            named = value.__module__
            if type(named) is str and here[named] != named:  # which most say rightly
                _rename(value, named, here)
        elif issubclass(kind, type) and id(value) not in done:
            done.add(id(value))
            names = _NAMES_OF.__get__(value)
            if _rename(value, names.get("__module__"), here) == module.__name__:
                work += [inner for inner in names.values() if issubclass(type(inner), type)]


def _rename(value: Any, named: object, here: Mapping[str, str]) -> str | None:
    """Return the module that a definition is of, as it is called in this process, and let it say so."""
    if type(named) is not str:
        return None
    called = here[named]
    if called != named and not _is_found(value, named):
        put = type.__setattr__ if issubclass(type(value), type) else object.__setattr__
        with contextlib.suppress(TypeError):  # a metaclass of C code that keeps this to itself
            line = _NAMES_OF.__get__(value).get("__firstlineno__") if isinstance(value, type) else None
            put(value, "__module__", called)
            if line is not None:  # Python 3.13 forgets where a class stands when it is told of another module
                put(value, "__firstlineno__", line)
    return called


def _is_found(value: Any, named: str) -> bool:
    """Say whether a definition is that of a module of the process with the true name, or of no module."""
    found: Any = sys.modules.get(named)
    for part in value.__qualname__.split("."):
        found = _NAMES_OF.__get__(found) if isinstance(found, type) else getattr(found, "__dict__", {})
        found = found.get(part)
    return found is value or "<locals>" in value.__qualname__
