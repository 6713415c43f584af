"""The request: what the user asked to be saved, with its arguments checked and nothing done yet."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from packager._archive import EntryPoint
from packager._arguments import check_kind, check_names
from packager._calls import ValueType
from packager._environment import Requirement
from packager._names import check_module_name, check_resource_name, source_path
from packager._quick_dataclasses import dataclass, field, replace
from packager.errors import ArgumentError, PackagingError


@dataclass(frozen=True)
class ModuleRequest:
    """A module of the environment; without `dependencies` its imports are left alone."""

    name: str
    dependencies: bool = True


@dataclass(frozen=True)
class SourceRequest:
    """A module whose text is given."""

    name: str
    text: bytes = field(repr=False)
    is_package: bool = False
    dependencies: bool = True


@dataclass(frozen=True)
class ResourceRequest:
    """Bytes under a package: data, or a real pickle with the globals that it names.

    `uses` are (module, qualified name) pairs; their modules are needed where `dependencies` is set.
    """

    package: str
    resource: str
    data: bytes = field(repr=False)
    kind: str = "resource"
    uses: tuple[tuple[str, str], ...] = ()
    dependencies: bool = True


@dataclass(frozen=True, eq=False)
class ObjectRequest:
    """An object to be stored by its layout, or, with a factory, by a call and its state.

    `classes` are those of the modules in it, known once it was taken.
    """

    package: str
    resource: str
    obj: Any = field(repr=False)
    factory: Callable[..., Any] | str | None = None
    config: Mapping[str, Any] | None = None
    classes: tuple[type, ...] = ()


@dataclass(frozen=True, eq=False)
class StateDictRequest:
    """The state dict of a module, or a mapping that is one; `classes` as for objects.

    `keys` are those of the whole, where several ranks have it together and say so.
    """

    package: str
    resource: str
    source: Any = field(repr=False)
    classes: tuple[type, ...] = ()
    keys: tuple[str, ...] | None = None


@dataclass(frozen=True)
class EntryRequest:
    """A name for running the archive: an object, and the attribute of it that is called.

    `takes` and `gives` are the types that were declared of its values, by name.
    """

    name: str
    package: str
    resource: str
    callable: str | None = None
    takes: Mapping[str, ValueType] = field(default_factory=dict)
    gives: Mapping[str, ValueType] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class CheckRequest:
    """A call of an entry point, whose result is stored beside its inputs; in evaluation mode, or not.

    The entry point has the name of the call, unless another is given. With `trace` what each submodule
    answers is kept, too.
    """

    name: str
    inputs: Mapping[str, Any] = field(repr=False)
    training: bool = False
    entry: str | None = None
    trace: bool = False

    @property
    def entry_point(self) -> str:
        """The name of the entry point that is called."""
        return self.name if self.entry is None else self.entry


Item = (
    ModuleRequest
    | SourceRequest
    | ResourceRequest
    | ObjectRequest
    | StateDictRequest
    | EntryRequest
    | CheckRequest
)
_Kind = TypeVar("_Kind")


def check_made_by(factory: object, config: object) -> None:
    """Raise ArgumentError unless that is a factory and its configuration, or neither.

    >>> check_made_by(None, {"width": 3})
    Traceback (most recent call last):
    packager.errors.ArgumentError: save_object() got config= without factory=
    """
    if factory is not None and not callable(factory):
        check_kind("factory", factory, str, "a callable, or its name as 'package.module:name'")
    if config is not None and factory is None:
        raise ArgumentError("save_object() got config= without factory=")
    if config is not None:
        check_names("config", config)


def declared_types(name: str, declared: Mapping[str, str | ValueType]) -> dict[str, ValueType]:
    """Return declared types by name, each as its text says it. Raises ArgumentError for what is none.

    >>> declared_types("takes", {"x": "float32[*, 3]"})["x"].dtype
    'float32'
    """
    check_names(name, declared)
    return {key: ValueType.parse(str(found)) for key, found in declared.items()}


def is_of_class(item: Item) -> bool:
    """Say whether an item is an object whose class, or factory, is found by its name when it is loaded.

    >>> is_of_class(ObjectRequest("net", "sizes", {"width": 3}))
    False
    >>> is_of_class(ObjectRequest("net", "sizes", Path("width")))
    True
    """
    if not isinstance(item, ObjectRequest):
        return False
    return item.factory is not None or type(item.obj).__module__ != "builtins"


def class_of(item: Item) -> type | None:
    """Return the class that an object is of whose own class is found by its name; None for other items.

    >>> class_of(ObjectRequest("net", "sizes", Path("width"))) is type(Path("width"))
    True
    >>> class_of(ObjectRequest("net", "sizes", [3])) is None
    True
    """
    if not isinstance(item, ObjectRequest) or item.factory is not None or not is_of_class(item):
        return None
    return type(item.obj)


def runs_code(item: Item) -> bool:
    """Say whether loading an item is sure to run code: False for what may be data alone.

    >>> runs_code(ResourceRequest("net", "words.txt", b"")), runs_code(ModuleRequest("net"))
    (False, True)
    """
    if isinstance(item, ModuleRequest):
        return item.dependencies
    is_pickle = isinstance(item, ResourceRequest) and item.kind == "pickle"
    return is_pickle or isinstance(item, CheckRequest) or is_of_class(item)


DEFAULT_ENTRY = "model"
"""The name of the entry point that there is by default, and of the object's package and resource."""


class Request:
    """Everything asked for, in order. Two things in one place of the archive are refused at once.

    >>> request = Request()
    >>> request.add(ResourceRequest("net", "words.txt", b""))
    >>> request.add(ResourceRequest("net", "words.txt", b"again"))
    Traceback (most recent call last):
    packager.errors.PackagingError: net/words.txt was already saved in this archive. Save it once, ...

    `asked_for` are the names of the modules that were saved by name or as text: they are interned,
    come what may. `leaves` are those among them whose dependencies are left alone.
    `ids_given` counts the unique ids that were drawn. While `is_repeated`, nothing is added.
    `loosened` are the requirements, by normalised name, to be recorded in the place of those that follow
    from the versions here. `resource_packages` are the packages under which something was saved that is no
    code, and the packages around them.
    """

    def __init__(self, loosened: Mapping[str, Requirement] | None = None) -> None:
        self.ids_given = 0
        self.is_repeated = False
        self.asked_for: set[str] = set()
        self.leaves: set[str] = set()
        self.loosened = dict(loosened or {})
        self.resource_packages: set[str] = set()
        self._items: list[Item] = []
        self._places: set[str] = set()

    def add(self, item: Item) -> None:
        """Append an item. Raises InvalidNameError, or PackagingError where its place is taken."""
        if self.is_repeated:
            return
        self.require_free(item)
        self._places.update(_places_of(item))
        self._items.append(item)
        if isinstance(item, ModuleRequest | SourceRequest):
            self.asked_for.add(item.name)
            if not item.dependencies:
                self.leaves.add(item.name)
        elif isinstance(item, ResourceRequest | ObjectRequest | StateDictRequest):
            self._add_package(item.package)

    def require_free(self, item: Item) -> None:
        """Raise InvalidNameError for an item that has no place, PackagingError where it is taken."""
        for place in _places_of(item):
            if place in self._places:
                raise PackagingError(
                    f"{place} was already saved in this archive. Save it once, or under another name"
                )

    def of(self, kind: type[_Kind]) -> Iterator[_Kind]:
        """Iterate over the items of one kind, in order."""
        return (item for item in self._items if isinstance(item, kind))

    def classes(self) -> Iterator[type]:
        """Yield the classes of the modules that were saved, or that state dicts were taken of."""
        for kept in self.of(ObjectRequest):
            yield from kept.classes
        for state in self.of(StateDictRequest):
            yield from state.classes

    def let_go(self) -> None:
        """Keep no object any more: what was asked for has been written."""
        self._items = [
            replace(item, obj=None) if isinstance(item, ObjectRequest) else item for item in self._items
        ]

    def unique_id(self) -> str:
        """Draw an id that no other call has drawn: "0", "1", ..."""
        self.ids_given += 1
        return str(self.ids_given - 1)

    @contextmanager
    def repeated(self, first_id: int) -> Iterator[None]:
        """Give the ids from `first_id` on again, and add nothing, while what was saved is encoded once more.

        `__reduce_package__` then says the same of an object as the first time, and what it saved along with
        the object is not saved twice.
        """
        given = self.ids_given
        self.ids_given, self.is_repeated = first_id, True
        try:
            yield
        finally:
            self.ids_given, self.is_repeated = given, False

    def entry_points(self) -> tuple[EntryPoint, ...]:
        """Return those that were named, and that of the default object, where it can be called."""
        named = [
            EntryPoint(item.name, item.package, item.resource, item.callable)
            for item in self.of(EntryRequest)
        ]
        default = EntryPoint(DEFAULT_ENTRY, DEFAULT_ENTRY, DEFAULT_ENTRY)
        saved = any(
            (item.package, item.resource) == (default.package, default.resource) and callable(item.obj)
            for item in self.of(ObjectRequest)
        )
        if saved and all(point.name != default.name for point in named):
            named.append(default)
        return tuple(named)

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[Item]:
        return iter(tuple(self._items))

    def _add_package(self, package: str) -> None:
        while package and package not in self.resource_packages:
            self.resource_packages.add(package)
            package = package.rpartition(".")[0]


def resource_entry(package: str, resource: str) -> str:
    """Return the entry of a resource: the package's folder, then the resource.

    >>> resource_entry("net.data", "words.txt"), resource_entry("", "README")
    ('net/data/words.txt', 'README')
    """
    return f"{package.replace('.', '/')}/{resource}" if package else resource


def sources_in(name: str, place: Path, dependencies: bool) -> Iterator[SourceRequest]:
    """Yield the module in a file, or all modules below a folder, as modules named `name` and below.

    Raises OSError, FileNotFoundError where there is neither.
    """
    if not place.is_dir():
        yield SourceRequest(name, place.read_bytes(), place.name == "__init__.py", dependencies)
        return
    for path in sorted(place.rglob("*.py")):
        *folders, last = path.relative_to(place).with_suffix("").parts
        is_package = last == "__init__"
        names = folders if is_package else [*folders, last]
        yield SourceRequest(".".join((name, *names)), path.read_bytes(), is_package, dependencies)


def _places_of(item: Item) -> tuple[str, ...]:
    if isinstance(item, ModuleRequest):
        check_module_name(item.name)
        return ()  # asking twice for a module of the environment asks for the same thing
    if isinstance(item, SourceRequest):
        check_module_name(item.name)
        return (source_path(item.name, item.is_package),)
    if isinstance(item, EntryRequest | CheckRequest):
        check_kind("name", item.name, str, "the name of an entry point")
    if isinstance(item, EntryRequest):
        return (f"entry point {item.name}",)
    if isinstance(item, CheckRequest):
        return (f"check {item.name}",)
    if item.package != "":
        check_module_name(item.package)
    check_resource_name(item.resource)
    entry = resource_entry(item.package, item.resource)
    return (entry, f"{entry}.safetensors") if isinstance(item, ObjectRequest) else (entry,)
