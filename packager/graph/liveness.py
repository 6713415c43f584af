"""What may run: functions, classes and methods that live code can come to (rule 7).

A function is live when live code names it; a class likewise, and then its bases, its special
methods, and every method whose name live code asks of some value. What a class inherits from
code that is not walked (a framework's Module) may call back what that code knows by name: those
methods are live too. A module that is used as a value counts as a class of its functions. Where live
code asks any class for its `__subclasses__()`, every class with a walked base is live.

A name is looked up once every import is followed, so that it is known what it stands for; one that
leads into a module which is not followed yet waits, and is looked up again if that changes.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Sequence
from fnmatch import fnmatchcase
from operator import itemgetter

from packager.quick_dataclasses import dataclass

from .import_follower import ImportFollower
from .module_table import ModuleTable, SourceModule
from .resolve import Ending, LazyTarget
from .scan import Block, NameUse

_Class = tuple[str, int]  # a module's name and an index into its scan's classes
_REGISTERING = ("register", "registry", "export", "hook", "handler", "listen", "implements", "plugin")

_NO_CALLBACKS = frozenset(
    "object type ABC Generic Protocol NamedTuple TypedDict Enum IntEnum StrEnum Flag IntFlag OrderedDict "
    "defaultdict dict list tuple set frozenset str int float bytes bool property Exception ModuleType".split()
)


class NameUses:
    """The uses of names in blocks that ran; `next()` looks at one, and says whether there was one."""

    def __init__(self, table: ModuleTable, follower: ImportFollower, is_own: Callable[[str], bool]) -> None:
        self._table, self._follower, self._names = table, follower, follower.names
        self._live = _Liveness(table, follower, is_own)
        self._waiting: deque[tuple[SourceModule, NameUse, bool]] = deque()
        self._unfollowed: defaultdict[str, list[tuple[SourceModule, NameUse, bool]]] = defaultdict(list)

    def next(self) -> bool:
        """Look up one name, or look at one block; return False where nothing waits."""
        self._look_again()
        if self._waiting:
            self._use(*self._waiting.popleft())
        elif self._follower.ran:
            self._use_block(*self._follower.ran.popleft())
        else:
            return False
        return True

    def use_from_outside(self, module: SourceModule, name: str) -> None:
        """Use a public name of a root, as the code that asked for the root will."""
        self._use_of(module, tuple(name.split(".")), public=True)

    def use_module(self, module: SourceModule) -> None:
        """Use a module as a value."""
        if self._follower.is_followed(module):
            self._live.add_module(module)

    def _use_block(self, module: SourceModule, index: int) -> None:
        """Look at what a live block uses and asks, and what it makes: classes, decorated functions."""
        scan = module.scan
        block = scan.blocks[index]
        used = module.used
        for at in block.uses:
            if at not in used:
                used.add(at)
                use = scan.uses[at]
                if _base(use) not in module.foreign:
                    self._use(module, use, False)
        self._ask(module, index, block)
        for klass in self._classes_in(module, index):
            self._live.add_class_statement(module, klass)
        for child in block.children:
            decorators = scan.blocks[child].decorators
            if not decorators or scan.blocks[child].owner >= 0 or child in module.live:
                continue
            if any(self._live.keeps(module, decorator) for decorator in decorators):
                self._follower.run_function(module, child)

    def _ask(self, module: SourceModule, index: int, block: Block) -> None:
        if block.own_attrs or block.own_globs:
            owner = _owner(module.scan.blocks, index)
            if owner >= 0:
                self._live.ask_self(module, owner, block.own_attrs, block.own_globs)
            else:
                self._live.ask(block.own_attrs, block.own_globs)
        if block.attrs or block.globs:
            self._live.ask(block.attrs, block.globs)

    def _use(self, module: SourceModule, use: NameUse, public: bool) -> None:
        """Find out what a name of live code stands for, and make it live."""
        if use.glob:  # whatever matches, in a module or elsewhere
            self._live.ask((), (use.glob,))
        endings = self._names.resolve_use(module, use, self._follower.is_followed)
        while self._names.passed:
            _, package = self._names.passed.popitem()
            if self._follower.is_followed(package):
                self._follower.run_getattr(package, explained=True)
        for ending in endings:
            match ending.kind:
                case "def":
                    self._follower.run_function(ending.module, ending.at)
                    self._live.ask(ending.rest)
                case "class":
                    self._use_class(ending, use.called, public)
                case "module":
                    self._live.add_module(ending.module)
                case "lazy":
                    self._use_lazily(ending.module, ending.rest)
                case "foreign":
                    if self._is_lazy_submodule(ending.module):
                        self._waiting.append((module, use, public))
                    elif ending.module.name not in self._follower.decisions:
                        self._unfollowed[ending.module.name].append((module, use, public))
                    elif len(endings) == 1:
                        module.foreign.add(_base(use))
                case _:
                    self._live.ask(ending.rest)

    def _use_class(self, ending: Ending, called: bool, public: bool) -> None:
        self._live.add_class(ending.module, ending.at, public=public)
        if called and len(ending.rest) == 1:
            self._live.add_method(ending.module, ending.at, ending.rest[0])
        self._live.ask(ending.rest[1:])

    def _use_of(self, module: SourceModule, parts: tuple[str, ...], *, public: bool) -> None:
        """Use a name of a module from without: unlike the module's own code, that goes by its lazy table."""
        if module.scan.lazy is not None:
            provider = self._names.provider(module, parts[0])
            if provider is None or provider.kind == "lazy":
                self._use_lazily(module, parts, public=public)
                return
        self._waiting.append((module, NameUse(parts), public))

    def _use_lazily(self, module: SourceModule, rest: tuple[str, ...], *, public: bool = False) -> None:
        """Ask a lazy module for an attribute: its table says which module runs now."""
        targets = self._names.lazy_targets(module, rest[0])
        for target in targets:
            self._follower.reach_lazily(module, target)
            parts = (target.name, *rest[1:])
            if parts not in target.module.used_lazily:
                target.module.used_lazily.add(parts)
                self._use_of(target.module, parts, public=public)
        if not targets:
            self._follower.run_getattr(module)
            self._live.ask(rest[1:])

    def _is_lazy_submodule(self, module: SourceModule) -> bool:
        """Say whether naming a module imports it, which its lazy package does; then it has been reached."""
        package, _, name = module.name.rpartition(".")
        if not package or module.name in self._follower.decisions:
            return False
        parent = self._table[package]
        if parent.scan.lazy is None or not self._follower.is_followed(parent):
            return False
        self._follower.reach_lazily(parent, LazyTarget(module, name, _line_of_getattr(parent)))
        return True

    def _look_again(self) -> None:
        for module in self._follower.newly_followed:
            self._waiting.extend(self._unfollowed.pop(module.name, ()))
        self._follower.newly_followed.clear()

    def _classes_in(self, module: SourceModule, block: int) -> Sequence[int]:
        if module.classes_in is None:
            module.classes_in = {}
            for index, klass in enumerate(module.scan.classes):
                module.classes_in.setdefault(klass.block, []).append(index)
        return module.classes_in.get(block, ())


class _Asked:
    """Attributes that are asked for: by name, and with a name that is computed in part, as globs."""

    __slots__ = ("globs", "names")

    def __init__(self, names: set[str] | None = None, globs: set[str] | None = None) -> None:
        self.names = set() if names is None else names  # by hand, as a walk makes thousands
        self.globs = set() if globs is None else globs

    def add(self, other: _Asked) -> _Asked:
        """Add what another one asks for, and return what of it is new."""
        new = _Asked(other.names - self.names, other.globs - self.globs)
        self.names |= new.names
        self.globs |= new.globs
        return new

    def __bool__(self) -> bool:
        return bool(self.names or self.globs)

    def __contains__(self, name: str) -> bool:
        return name in self.names or any(fnmatchcase(name, glob) for glob in self.globs)


@dataclass(frozen=True, slots=True)
class _Family:
    """A class with all its walked bases.

    `methods` are those of all members by name, each as (place among them all, module, block).
    `called` is what its other bases call back, any name where `all_called`, because nothing can be
    read of one of them.
    """

    members: tuple[tuple[SourceModule, int], ...]
    methods: dict[str, list[tuple[int, SourceModule, int]]]
    called: _Asked
    all_called: bool


class _Liveness:
    """Decides what is live; `follower` runs what becomes so, `is_own` knows the modules of the project."""

    def __init__(self, table: ModuleTable, follower: ImportFollower, is_own: Callable[[str], bool]) -> None:
        self._is_own = is_own
        self._table, self._names, self._follower = table, follower.names, follower
        self._run_function = follower.run_function
        self._asked = _Asked()
        self._modules: set[str] = set()
        self._waiting: defaultdict[str, list[tuple[str, SourceModule, int]]] = defaultdict(list)
        self._families: dict[_Class, _Family] = {}
        self._live: dict[_Class, _Asked] = {}
        self._heirs: defaultdict[_Class, list[_Class]] = defaultdict(list)
        self._asked_of_self: defaultdict[_Class, _Asked] = defaultdict(_Asked)
        self._callbacks: dict[_Class, _Asked] = {}
        self._kept: dict[tuple[str, str], bool] = {}
        self._answers: dict[tuple[str, tuple[str, ...]], _Asked | None] = {}

    def ask(self, names: Iterable[str], globs: Iterable[str] = ()) -> None:
        """Ask any value for attributes, as live code does."""
        known = self._asked
        new = {name for name in names if name not in known.names}
        new_globs = {glob for glob in globs if glob not in known.globs}
        known.names |= new
        known.globs |= new_globs
        for asked in sorted(new | new_globs):
            matching = [asked]
            if asked in new_globs:
                matching = [name for name in self._waiting if fnmatchcase(name, asked)]
            for name in matching:
                for kind, module, at in self._waiting.pop(name, ()):
                    self._mark(kind, module, at)

    def ask_self(self, module: SourceModule, at: int, names: Iterable[str], globs: Iterable[str]) -> None:
        """Ask `self` for attributes, as a live method of a class does: its live heirs may have them."""
        if "__subclasses__" in names:
            self.ask(["__subclasses__"])
        new = self._asked_of_self[module.name, at].add(_Asked(set(names), set(globs)))
        for heir in list(self._heirs[module.name, at]) if new else ():
            self._offer_family(heir, new)

    def add_class(self, module: SourceModule, at: int, *, public: bool = False) -> None:
        """Make a class live; with `public`, its public methods are called from outside.

        So are those that it inherits from classes of the project: of large libraries, whose bases have
        methods for everything, a model uses few.
        """
        key = (module.name, at)
        if key not in self._live:
            self._live[key] = _Asked()
            family = self._family(module, at)
            asked = _Asked()
            asked.add(family.called)
            for home, index in family.members:
                self._heirs[home.name, index].append(key)
                asked.add(self._asked_of_self[home.name, index])
                self._add_methods(home, index, any_public=family.all_called)
            self._offer_family(key, asked)
        for home, index in self._family(module, at).members if public else ():
            if (home, index) == (module, at) or self._is_own(home.name):
                for name, block in home.scan.classes[index].methods:
                    if not name.startswith("_"):
                        self._run_function(home, block)

    def add_method(self, module: SourceModule, at: int, name: str) -> None:
        """Make live what `Class.name(...)` calls: the method of that class, or of a base, and no other."""
        methods = self._family(module, at).methods.get(name, ())
        for _, home, block in methods:
            self._run_function(home, block)
        if not methods:
            self.ask([name])

    def add_class_statement(self, module: SourceModule, at: int) -> None:
        """Run a class statement: its bases may hook into that, and its decorators may keep the class."""
        kept = any(self.keeps(module, decorator) for decorator in module.scan.classes[at].decorators)
        for home, index in self._family(module, at).members:
            for name, block in home.scan.classes[index].methods:
                if name in ("__init_subclass__", "__set_name__", "__class_getitem__", "__prepare__"):
                    self._run_function(home, block)
                    kept = kept or (home.scan.blocks[block].keeps and index != at)
        if kept:
            self.add_class(module, at)
        elif len(self._family(module, at).members) > 1:
            self._offer("__subclasses__", "class", module, at)

    def add_module(self, module: SourceModule) -> None:
        """Use a module as a value: its functions may be asked of it by name."""
        if module.name in self._modules:
            return
        self._modules.add(module.name)
        for name, bindings in module.scan.bindings.items():
            for binding in bindings:
                if binding.kind in ("def", "class"):
                    self._offer(name, binding.kind, module, binding.at)

    def keeps(self, module: SourceModule, decorator: str) -> bool:
        """Say whether a decorator may hold on to what it decorates, and so make it live.

        One whose code is read does if it puts an argument into something; one that is not read
        does if its name sounds so; any other value may.
        """
        known = self._kept.get((module.name, decorator))
        if known is None:
            parts = tuple(decorator.split("."))
            endings = self._names.resolve(module, parts, self._follower.is_followed) if decorator else []
            known = not decorator or any(_may_keep(ending, decorator) for ending in endings)
            if endings and all(ending.kind == "def" for ending in endings):
                self._kept[module.name, decorator] = known
        return known

    def _add_methods(self, module: SourceModule, at: int, *, any_public: bool) -> None:
        blocks = module.scan.blocks
        for name, block in module.scan.classes[at].methods:
            special = name.startswith("__") and name.endswith("__")
            called = special or (any_public and not name.startswith("_"))
            if called or any(self.keeps(module, decorator) for decorator in blocks[block].decorators):
                self._run_function(module, block)
            elif block not in module.live:
                self._offer(name, "def", module, block)

    def _offer_family(self, key: _Class, asked: _Asked) -> None:
        """Ask a live class for attributes: its own methods and those of its bases, in their order."""
        new = self._live[key].add(asked)
        methods = self._families[key].methods
        names = new.names & methods.keys()
        if new.globs:
            names |= {name for name in methods if name in new}
        for _, home, block in sorted(
            [method for name in names for method in methods[name]], key=itemgetter(0)
        ):
            self._run_function(home, block)

    def _offer(self, name: str, kind: str, module: SourceModule, at: int) -> None:
        if name in self._asked:
            self._mark(kind, module, at)
        else:
            self._waiting[name].append((kind, module, at))

    def _mark(self, kind: str, module: SourceModule, at: int) -> None:
        if kind == "def":
            self._run_function(module, at)
        else:
            self.add_class(module, at)

    def _family(self, module: SourceModule, at: int) -> _Family:
        key = (module.name, at)
        known = self._families.get(key)
        if known is not None:
            return known
        members, called, all_called = [(module, at)], _Asked(), False
        seen = {key}
        for home, index in members:  # grows while it is walked
            for base in home.scan.classes[index].bases:
                for ending in self._names.resolve(home, tuple(base.split(".")), self._follower.is_followed):
                    if ending.kind == "class" and (ending.module.name, ending.at) not in seen:
                        seen.add((ending.module.name, ending.at))
                        members.append((ending.module, ending.at))
                    elif (
                        ending.kind == "foreign" and ending.rest[-1:] and ending.rest[-1] not in _NO_CALLBACKS
                    ):
                        names = self._called_back(ending.module, ending.rest)
                        called.add(names or _Asked())
                        all_called = all_called or names is None
        methods: dict[str, list[tuple[int, SourceModule, int]]] = {}
        of_members = ((home, method) for home, at in members for method in home.scan.classes[at].methods)
        for place, (home, (name, block)) in enumerate(of_members):
            methods.setdefault(name, []).append((place, home, block))
        known = self._families[key] = _Family(tuple(members), methods, called, all_called)
        return known

    def _called_back(self, module: SourceModule, parts: tuple[str, ...]) -> _Asked | None:
        """Return what a class that is not walked may call on its subclasses; None if unreadable."""
        key = (module.name, parts)
        if key not in self._answers:
            self._answers[key] = self._read_callbacks(module, parts)
        return self._answers[key]

    def _read_callbacks(self, module: SourceModule, parts: tuple[str, ...]) -> _Asked | None:
        called = _Asked()
        waiting = [(module, parts)]
        seen: set[tuple[str, int]] = set()
        while waiting:
            home, parts = waiting.pop()
            if parts[-1] in _NO_CALLBACKS:
                continue
            endings = self._names.resolve(home, parts, _readable)
            if not seen and not any(ending.kind == "class" for ending in endings):
                return (
                    None  # compiled code, say; a compiled base further up is what its Python subclass shows
                )
            for ending in endings:
                key = (ending.module.name, ending.at)
                if ending.kind == "class" and key not in seen:
                    seen.add(key)
                    called.add(self._names_in_class(*key))
                    bases = ending.module.scan.classes[ending.at].bases
                    waiting.extend((ending.module, tuple(base.split("."))) for base in bases)
        return called

    def _names_in_class(self, name: str, at: int) -> _Asked:
        known = self._callbacks.get((name, at))
        if known is None:
            klass, blocks = self._table[name].whole_class(at)
            known = self._callbacks[name, at] = _Asked(set(klass.names))
            for method, index in klass.methods:
                block = blocks[index]
                known.names.update([method], block.attrs, block.own_attrs)
                known.globs.update(block.globs, block.own_globs)
        return known


def _base(use: NameUse) -> str | tuple[int, int]:
    """Return what a name starts from: a name of the module, or an import of its function."""
    return use.parts[0] if use.at < 0 else (use.at, use.part)


def _line_of_getattr(module: SourceModule) -> int:
    """Return the line of a module's own `__getattr__`, 0 where it is lazy in another way."""
    blocks = module.scan.blocks
    functions = [one.at for one in module.scan.bindings.get("__getattr__", ()) if one.kind == "def"]
    return blocks[functions[0]].line if functions else 0


def _may_keep(ending: Ending, decorator: str) -> bool:
    if ending.kind == "def" and not ending.rest:  # an attribute of one is what its own decorators made
        return ending.module.scan.blocks[ending.at].keeps
    return ending.kind != "foreign" or any(word in decorator.lower() for word in _REGISTERING)


def _readable(module: SourceModule) -> bool:
    return module.found.read is not None


def _owner(blocks: Sequence[Block], index: int) -> int:
    """Return the class to one of whose methods a block belongs, or -1."""
    while index > 0:
        if blocks[index].kind == "function" and blocks[index].owner >= 0:
            return blocks[index].owner
        index = blocks[index].parent
    return -1
