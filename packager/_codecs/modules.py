"""Modules of kellet and PyTorch: their class, their attributes and their hooks.

A module is stored as its class and its `__dict__`, made first and filled later. What a framework's
own `Module.__init__` sets, and what is still as it was set there, is left out: it is made anew on
loading, so that a stored module depends on no private attribute of a framework.

`__init__` of the model does not run on loading, so hooks are stored too: methods of stored objects,
functions with a name, callable objects. A lambda is refused; a method of an object that is not
stored is left out with a warning. What state-dict hooks do is in frameworks.py.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection, Iterator, Mapping, Sequence
from types import FunctionType, MethodType

from packager._names import demangle
from packager._quick_dataclasses import dataclass, field

from .base import (
    CannotStore,
    Child,
    Codec,
    Decoding,
    Encoding,
    Finish,
    LiteralValue,
    Node,
    ObjectCodec,
    Role,
    expect,
    expect_class,
    shares_methods,
)
from .frameworks import EmptySlots, Framework, Saved, check_state, split_literal
from .library import find_library

TYPE_CHECKING = False  # as in packager._lazy
if TYPE_CHECKING:
    from typing import Any, ClassVar, Final

HOOKS, HANDLES = 0, 1
"""The stages of the second phase at which hooks, and then their handles, are stored and restored."""


@dataclass(frozen=True, slots=True)
class Hook:
    """A registered hook: the kind of registration, its id in this process, and its options."""

    kind: str
    id: int
    hook: Any
    options: Mapping[str, Any] = field(default_factory=dict)


def hook_identity(registry: object, identity: int) -> tuple[int, int]:
    """Return what tells a hook from all others: a copy of a module has hooks of the same ids as the first."""
    return id(registry), identity


class ModuleCodec(ObjectCodec):
    """What the modules of both have in common."""

    framework: ClassVar[Framework]
    tables: ClassVar[frozenset[str]] = frozenset({"_parameters", "_buffers", "_modules"})

    def hooks_of(self, module: object) -> list[Hook]:
        """Return all hooks of one module, in the order in which they are called within their kind."""
        raise NotImplementedError

    def registries_of(self, module: object) -> Iterator[tuple[Any, str]]:
        """Yield the registries that handles of this module's hooks refer to, with their kinds."""
        raise NotImplementedError

    def hook_attributes(self) -> frozenset[str]:
        """Return the attributes in which the framework keeps hooks."""
        raise NotImplementedError

    def register(self, module: object, kind: str, hook: object, options: Mapping[str, Any]) -> int:
        """Register a hook on a module that has been built; return its id here.

        Raises ValueError for a kind that is unknown, and for a hook that does not fit the module.
        """
        raise NotImplementedError

    def owner_of(self, hook: object) -> Any:
        """Return the object that a hook is a part of; None for a function, and for an object to be called."""
        owner = getattr(hook, "__self__", None)
        return None if isinstance(owner, type) else owner

    # --- the first phase ---

    def claims(self, cls: type) -> bool:
        base = self.framework.base()
        return issubclass(cls, base) and shares_methods(
            cls, base, "__reduce__", "__reduce_ex__", "__reduce_package__"
        )

    def uses_setstate(self, cls: type) -> bool:
        base = self.framework.base()
        setstate = getattr(cls, "__setstate__", None)
        if shares_methods(cls, base, "__setstate__") or _only_takes_attributes(setstate):
            return False
        # The framework's own are for files of its older versions, unless something was left out for them.
        home = str(getattr(setstate, "__module__", ""))
        return not f"{home}.".startswith(f"{self.framework.family}.nn.") or not shares_methods(
            cls, base, "__getstate__"
        )

    def attributes(self, obj: object, context: Encoding) -> Mapping[str, object]:
        saved = context.shared_state(Saved)
        if id(obj) not in saved.captured:
            self.framework.capture_state(obj, context)
        for registry, kind in self.registries_of(obj):
            saved.registries[id(registry)] = (obj, kind)
            saved.kept.append(registry)
        if self.hooks_of(obj):
            context.defer(HOOKS, obj, lambda: self._finish_hooks(obj, context))
        return self._stored_attributes(obj)

    def _stored_attributes(self, obj: Any) -> dict[str, object]:
        """Return what the framework set and was changed since, then everything else, hooks left out."""
        stored, fresh = obj.__getstate__(), self._fresh()
        if not isinstance(stored, dict):
            raise CannotStore(
                f"the state of {type(obj).__qualname__} is {type(stored).__name__}; expected a dict",
                "keep attributes of modules in the __dict__, not in __slots__, or define __setstate__ too",
            )
        changed = [name for name in fresh if name in stored and not _is_equal(stored[name], fresh[name])]
        names = [*changed, *(name for name in stored if name not in fresh)]
        hooks = self.hook_attributes()
        return {name: stored[name] for name in names if name not in hooks}

    def make(self, cls: Any, version: int) -> Any:
        expect_class(cls, self.framework.base(), f"a module of {self.framework.family}")
        made = cls.__new__(cls)
        made.__dict__.update(self._fresh())
        return made

    def fill(self, obj: Any, attributes: Mapping[str, object], version: int) -> None:
        self._refuse_hooks(obj, attributes)
        obj.__dict__.update(attributes)

    def set_state(self, obj: Any, state: Any, version: int) -> None:
        """Hand a state to `__setstate__`.

        Raises ValueError for hooks, for invalid tables, and unless the state is a dict of attributes.
        """
        if type(state) is not dict or not all(type(name) is str for name in state):
            raise ValueError(f"the state of {type(obj).__qualname__} must be a dict of attributes")
        self._refuse_hooks(obj, state)
        odd = [name for name in _TABLES if name in state and type(state[name]) not in (dict, OrderedDict)]
        if odd:  # before a class looks a name up in them
            found = type(state[odd[0]]).__name__
            raise ValueError(
                f"{odd[0]} of the state of {type(obj).__qualname__} is a {found}; expected a dict"
            )
        # A class may put the state in the place of its whole __dict__.
        type(obj).__setstate__(obj, {**self._fresh(), **state})

    def check_made(self, obj: Any) -> None:
        """Check the tables and flags of a module. Raises ValueError for invalid submodules or names."""
        self.framework.check_tables(obj)
        children = obj._modules
        named = type(children) in (dict, OrderedDict) and all(type(name) is str for name in children)
        if not named or not all(
            child is None or isinstance(child, self.framework.base()) for child in children.values()
        ):
            raise ValueError(f"the submodules of {type(obj).__qualname__} must be modules with names")
        if type(obj.training) is not bool:
            raise ValueError(
                f"{type(obj).__qualname__}.training is {type(obj.training).__name__}, not a bool"
            )

    def _refuse_hooks(self, obj: Any, names: Collection[str]) -> None:
        """Raise ValueError for hooks: they come through the second phase, where they are judged."""
        hooks = self.hook_attributes().intersection(names)
        if hooks:
            raise ValueError(
                f"{', '.join(sorted(hooks))} of {type(obj).__qualname__} hold hooks; data may not set them"
            )

    def _fresh(self) -> dict[str, Any]:
        """Return what the framework's own `__init__` gives a module."""
        return dict(vars(self.framework.base()()))

    # --- the second phase ---

    def _finish_hooks(self, module: Any, context: Encoding) -> Finish | None:
        children: list[Any] = []
        labels: list[str] = []
        registries = {kind: registry for registry, kind in self.registries_of(module)}
        for hook in self.hooks_of(module):
            if storable(hook.hook, self.owner_of(hook.hook), hook.kind, context):
                number = context.number(self.framework.family, hook_identity(registries[hook.kind], hook.id))
                children += [hook.kind, number, hook.hook, dict(hook.options)]
                labels += ["", "", f"{hook.kind}[{number}]", ""]
        return Finish("hooks", children, labels) if children else None

    def check_finish(self, literal: LiteralValue, children: Sequence[Child], version: int) -> None:
        if literal != "hooks":
            check_state(literal, children)
            return
        expect(len(children) > 0 and len(children) % 4 == 0, "hooks")
        for kind, number, _, options in zip(*(children[at::4] for at in range(4)), strict=True):
            expect(kind.kind == "scalar" and type(kind.value) is str, "the kind of a hook")
            expect(number.kind == "scalar" and type(number.value) is int, "the number of a hook")
            expect(options.kind == "dict", "the options of a hook")

    def finish_roles(self, literal: LiteralValue, count: int, version: int) -> Sequence[Role]:
        classes = len(split_literal(literal)[1]) if isinstance(literal, list) else 0
        return tuple("create" if at < classes else "value" for at in range(count))

    def finish(
        self, obj: Any, literal: Any, children: Sequence[Any], version: int, context: Decoding
    ) -> None:
        """Register hooks, or load a state. Raises ValueError for an invalid hook or state."""
        if literal != "hooks":
            self.framework.load_state(obj, literal, children, context.shared_state(EmptySlots))
            return
        for at in range(0, len(children), 4):
            kind, number, hook, options = children[at : at + 4]
            if not callable(hook) or not all(type(name) is str for name in options):
                raise ValueError(f"the hook {type(hook).__qualname__} must be callable, with named options")
            if not all(type(value) in _OPTIONS for value in options.values()):
                raise ValueError(f"the options of the hook {type(hook).__qualname__} must be plain values")
            self.framework.check_tables(obj)
            identity = self.register(obj, kind, hook, options)
            context.number(self.framework.family, number, lambda identity=identity: identity)  # type: ignore[misc]  # bound now


_TABLES: Final = ("_parameters", "_buffers", "_modules")
_OPTIONS: Final = frozenset({bool, int, float, str, type(None)})


def storable(hook: object, owner: object, where: str, context: Encoding) -> bool:
    """Check whether a hook is stored: refuse one that is needed and cannot be, warn of others left out."""
    if isinstance(hook, FunctionType):
        return _function_is_storable(hook, where, context)
    if owner is None or (not _is_built_in(hook) and context.stored(owner)):
        return True
    name = getattr(hook, "__qualname__", type(hook).__qualname__)
    context.warn(f"{where}: {name} is left out, since the object it belongs to is not stored")
    return False


def _function_is_storable(hook: FunctionType, where: str, context: Encoding) -> bool:
    if hook.__name__ == "<lambda>":
        context.refuse(
            f"{where}: a lambda cannot be stored, and loading does not run __init__ to register it",
            "make it a method of the module, or a function with a name",
            "build the object by a factory: PackageExporter.save_object(..., factory=, config=)",
        )
        return False
    return True


def _is_built_in(hook: Any) -> bool:
    """Check whether a hook is a method of an object built in C, which has no place in an archive."""
    return getattr(hook, "__self__", None) is not None and not isinstance(hook, MethodType)


def _only_takes_attributes(setstate: Any) -> bool:
    """Whether a library says of a `__setstate__` that attributes may be set in its place."""
    # As it is called where it is stored, too.
    module, name = demangle(f"{getattr(setstate, '__module__', '')}"), getattr(setstate, "__qualname__", "")
    library = find_library(module.partition(".")[0])
    row = None if library is None or library.rows is None else library.rows.find(module, name)
    return row is not None and "only attributes" in row.uses


def _is_equal(left: Any, right: Any) -> bool:
    """Check whether an attribute is still as `Module.__init__` set it."""
    return (
        type(left) is type(right) and isinstance(left, (bool, dict, set, type(None))) and bool(left == right)
    )


class HandleCodec(Codec):
    """The handle of a hook; one whose hook is gone, or is not stored, removes nothing."""

    family: ClassVar[str]
    owners: ClassVar[tuple[str, ...]]
    kinds: ClassVar[Collection[str]]

    def registry_of(self, handle: object) -> Any:
        """Return the registry that the hook of a handle is in; None when it is in none."""
        raise NotImplementedError

    def encode(self, obj: Any, context: Encoding) -> Node:
        context.defer(HANDLES, obj, lambda: self._finish(obj, context))
        return Node()

    def _finish(self, handle: Any, context: Encoding) -> Finish | None:
        registries = context.shared_state(Saved).registries
        owner, kind = registries.get(id(self.registry_of(handle)), (None, ""))
        if owner is None or not context.stored(owner):
            return None
        number = context.number(self.family, hook_identity(self.registry_of(handle), handle.id))
        return Finish([kind, number], (owner,))

    def check(self, literal: LiteralValue, children: Sequence[Child], version: int) -> None:
        expect(literal is None and not children, "nothing")

    def check_finish(self, literal: Any, children: Sequence[Child], version: int) -> None:
        expect(isinstance(literal, list) and list(map(type, literal)) == [str, int], "a kind and a number")
        expect(literal[0] in self.kinds and len(children) == 1, "a kind of hook, and its owner")
        expect(children[0].kind == "object" or children[0].codec in self.owners, "the owner of a hook")
