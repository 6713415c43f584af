"""What may run: functions, classes and methods that live code can come to.

A function is live when live code names it; a class likewise, and then its bases, its special
methods, and every method whose name live code asks of some value. What a class inherits from
code that is not walked (a framework's Module) may call back what that code knows by name: those
methods are live too. A module that is used as a value counts as a class of its functions. Where live
code asks any class for its `__subclasses__()`, every class with a walked base is live.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from packager.graph.library import Library, Volume
from packager.graph.resolve import Ending, Names

__all__ = ["Liveness"]

_Class = tuple[str, int]  # a module's name and an index into its scan's classes
_REGISTERING = ("register", "registry", "export", "hook", "handler", "listen", "implements", "plugin")

_NO_CALLBACKS = frozenset(
    "object type ABC Generic Protocol NamedTuple TypedDict Enum IntEnum StrEnum Flag IntFlag OrderedDict "
    "defaultdict dict list tuple set frozenset str int float bytes bool property Exception ModuleType".split()
)


@dataclass(frozen=True, slots=True)
class _Family:
    """A class with all its walked bases; the names that its other bases call back; whether those
    can be any names, because nothing can be read of one of them."""

    members: tuple[tuple[Volume, int], ...]
    called: frozenset[str]
    all_called: bool


class Liveness:
    """Marks what is live; `run_function(volume, block)` is called once for each function that becomes so."""

    def __init__(
        self,
        library: Library,
        names: Names,
        followed: Callable[[Volume], bool],
        run_function: Callable[[Volume, int], None],
    ) -> None:
        self._library, self._names = library, names
        self._followed, self._run = followed, run_function
        self._attrs: set[str] = set()
        self._globs: set[str] = set()
        self._modules: set[str] = set()
        self._waiting: defaultdict[str, list[tuple[str, Volume, int]]] = defaultdict(list)
        self._families: dict[_Class, _Family] = {}
        self._live: dict[_Class, set[str]] = {}
        self._heirs: defaultdict[_Class, list[_Class]] = defaultdict(list)
        self._asked_of_self: defaultdict[_Class, set[str]] = defaultdict(set)
        self._callbacks: dict[_Class, frozenset[str]] = {}
        self._kept: dict[tuple[str, str], bool] = {}
        self._answers: dict[tuple[str, tuple[str, ...]], frozenset[str] | None] = {}

    def add_attributes(self, names: Iterable[str]) -> None:
        """Live code asks some value for these attributes; `visit_*` stands for all that match."""
        for name in sorted(set(names) - self._attrs):
            self._attrs.add(name)
            matching = [name] if name in self._waiting else []
            if "*" in name:
                self._globs.add(name)
                matching = [waiting for waiting in self._waiting if fnmatchcase(waiting, name)]
            for waiting in matching:
                for kind, volume, at in self._waiting.pop(waiting):
                    self._mark(kind, volume, at)

    def add_self_attributes(self, volume: Volume, at: int, names: Sequence[str]) -> None:
        """A live method of a class asks `self` for these: its live heirs, and their bases, may have them."""
        if "__subclasses__" in names:
            self.add_attributes(["__subclasses__"])
        new = set(names) - self._asked_of_self[volume.name, at]
        self._asked_of_self[volume.name, at] |= new
        for heir in list(self._heirs[volume.name, at]) if new else ():
            self._offer_family(heir, new)

    def add_function(self, volume: Volume, block: int) -> None:
        """Live code names this function."""
        if block not in volume.live:
            volume.live.add(block)
            self._run(volume, block)

    def add_class(self, volume: Volume, at: int, *, public: bool = False) -> None:
        """Live code names this class; with `public`, its own public methods will be called from outside."""
        key = (volume.name, at)
        if key not in self._live:
            self._live[key] = set()
            family = self._family(volume, at)
            asked = set(family.called)
            for home, index in family.members:
                self._heirs[home.name, index].append(key)
                asked |= self._asked_of_self[home.name, index]
                self._add_methods(home, index, any_public=family.all_called)
            self._offer_family(key, asked)
        for name, block in volume.scan.classes[at].methods if public else ():
            if not name.startswith("_"):
                self.add_function(volume, block)

    def add_method(self, volume: Volume, at: int, name: str) -> None:
        """Live code calls `Class.name(...)`: the method of that class, or of a base, and no other."""
        found = False
        for home, index in self._family(volume, at).members:
            for method, block in home.scan.classes[index].methods:
                if method == name:
                    found = True
                    self.add_function(home, block)
        if not found:
            self.add_attributes([name])

    def add_class_statement(self, volume: Volume, at: int) -> None:
        """A class statement runs: its bases may hook into that, and its decorators may keep the class."""
        kept = any(self.keeps(volume, decorator) for decorator in volume.scan.classes[at].decorators)
        for home, index in self._family(volume, at).members:
            for name, block in home.scan.classes[index].methods:
                if name in ("__init_subclass__", "__set_name__", "__class_getitem__", "__prepare__"):
                    self.add_function(home, block)
                    kept = kept or (home.scan.blocks[block].keeps and index != at)
        if kept:
            self.add_class(volume, at)
        elif len(self._family(volume, at).members) > 1:
            self._offer("__subclasses__", "class", volume, at)

    def add_module(self, volume: Volume) -> None:
        """A module is used as a value: its functions may be asked of it by name."""
        if volume.name in self._modules:
            return
        self._modules.add(volume.name)
        for name, bindings in volume.scan.bindings.items():
            for binding in bindings:
                if binding.kind in ("def", "class"):
                    self._offer(name, binding.kind, volume, binding.at)

    def keeps(self, volume: Volume, decorator: str) -> bool:
        """Whether a decorator may hold on to what it decorates, and so make it live.

        One whose code is read does if it puts an argument into something; one that is not read
        does if its name sounds so; any other value may.
        """
        known = self._kept.get((volume.name, decorator))
        if known is None:
            endings = self._names.resolve(volume, decorator, self._followed) if decorator else []
            known = not decorator or any(_may_keep(ending, decorator) for ending in endings)
            if endings and all(ending.kind == "def" for ending in endings):
                self._kept[volume.name, decorator] = known
        return known

    def _add_methods(self, volume: Volume, at: int, *, any_public: bool) -> None:
        blocks = volume.scan.blocks
        for name, block in volume.scan.classes[at].methods:
            special = name.startswith("__") and name.endswith("__")
            called = special or (any_public and not name.startswith("_"))
            if called or any(self.keeps(volume, decorator) for decorator in blocks[block].decorators):
                self.add_function(volume, block)
            elif block not in volume.live:
                self._offer(name, "def", volume, block)

    def _offer_family(self, key: _Class, names: set[str]) -> None:
        """Ask a live class for names: its own methods and those of its bases."""
        done = self._live[key]
        new = names - done
        if not new:
            return
        done |= new
        globs = [name for name in new if "*" in name]
        for home, index in self._families[key].members:
            for name, block in home.scan.classes[index].methods:
                if name in new or (globs and any(fnmatchcase(name, glob) for glob in globs)):
                    self.add_function(home, block)

    def _offer(self, name: str, kind: str, volume: Volume, at: int) -> None:
        if name in self._attrs or any(fnmatchcase(name, glob) for glob in self._globs):
            self._mark(kind, volume, at)
        else:
            self._waiting[name].append((kind, volume, at))

    def _mark(self, kind: str, volume: Volume, at: int) -> None:
        if kind == "def":
            self.add_function(volume, at)
        else:
            self.add_class(volume, at)

    def _family(self, volume: Volume, at: int) -> _Family:
        known = self._families.get((volume.name, at))
        if known is not None:
            return known
        members, called, all_called = [(volume, at)], set[str](), False
        seen = {(volume.name, at)}
        for home, index in members:  # grows while it is walked
            for base in home.scan.classes[index].bases:
                for ending in self._names.resolve(home, base, self._followed):
                    if ending.kind == "class" and (ending.volume.name, ending.at) not in seen:
                        seen.add((ending.volume.name, ending.at))
                        members.append((ending.volume, ending.at))
                    elif (
                        ending.kind == "foreign" and ending.rest[-1:] and ending.rest[-1] not in _NO_CALLBACKS
                    ):
                        names = self._called_back(ending.volume, ending.rest)
                        called.update(names or ())
                        all_called = all_called or names is None
        known = self._families[volume.name, at] = _Family(tuple(members), frozenset(called), all_called)
        return known

    def _called_back(self, volume: Volume, rest: tuple[str, ...]) -> frozenset[str] | None:
        """The names that a class which is not walked may call on its subclasses; None if unreadable."""
        asked = (volume.name, rest)
        if asked in self._answers:
            return self._answers[asked]
        self._answers[asked] = answer = self._read_callbacks(volume, ".".join(rest))
        return answer

    def _read_callbacks(self, volume: Volume, spelt: str) -> frozenset[str] | None:
        called: set[str] = set()
        waiting = [(volume, spelt)]
        seen: set[tuple[str, int]] = set()
        while waiting:
            home, spelt = waiting.pop()
            if spelt.rpartition(".")[2] in _NO_CALLBACKS:
                continue
            endings = self._names.resolve(home, spelt, _readable)
            if not seen and not any(ending.kind == "class" for ending in endings):
                return (
                    None  # compiled code, say; a compiled base further up is what its Python subclass shows
                )
            for ending in endings:
                key = (ending.volume.name, ending.at)
                if ending.kind == "class" and key not in seen:
                    seen.add(key)
                    called |= self._names_in_class(*key)
                    waiting.extend(
                        (ending.volume, base) for base in ending.volume.scan.classes[ending.at].bases
                    )
        return frozenset(called)

    def _names_in_class(self, name: str, at: int) -> frozenset[str]:
        known = self._callbacks.get((name, at))
        if known is None:
            scan = self._library[name].scan
            klass = scan.classes[at]
            called = set(klass.names)
            for method, block in klass.methods:
                called.add(method)
                called.update(name.removeprefix("&") for name in scan.blocks[block].attrs)
            known = self._callbacks[(name, at)] = frozenset(called)
        return known


def _may_keep(ending: Ending, decorator: str) -> bool:
    if ending.kind == "def" and not ending.rest:  # an attribute of one is what its own decorators made
        return ending.volume.scan.blocks[ending.at].keeps
    return ending.kind != "foreign" or any(word in decorator.lower() for word in _REGISTERING)


def _readable(volume: Volume) -> bool:
    return volume.found.read is not None
