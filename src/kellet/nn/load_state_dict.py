"""Loading a module's state: plan, check, and only then write.

One walk over the modules runs the load pre-hooks and matches names with values; it collects what is
wrong and writes nothing (load_plan.py). A wrong shape or type refuses the load there. Then the
values are written, and the post-hooks see them and may forgive missing and unexpected keys. A copy
for putting values back (`Undo`) is made only where code of others runs after the first write:
post-hooks, subclasses that override `_load_from_state_dict`, and `set_extra_state`, which is called
in its turn and so before all has been checked.

The order of the hooks is steps 14 to 19 of module_hooks.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, MutableMapping
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, ClassVar, cast

from ..core import Tensor
from ..errors import HookError
from ..hooks import HookEntry, HookRegistry, RemovableHandle, longest_form
from .load_plan import (
    IncompatibleKeys,
    LoadPlan,
    Undo,
    deepest,
    has_extra_state,
    is_unexpected,
    unseen,
)
from .state_dict import EXTRA_STATE, StateDict, StateHooks, StateSaving, StateView

if TYPE_CHECKING:
    from .hook_shapes import LoadPostHook, LoadPreHook

if TYPE_CHECKING:
    from .module import Module

AnyHook = Callable[..., Any]

# The argument lists of a load hook; each gets the longest that it can take. The short ones are
# lucid's, the long ones PyTorch's. (module, state_dict, prefix, *args) is common, and means the long.
_PRE_FORMS = (
    ("module", "state_dict", "strict"),
    (
        "module",
        "state_dict",
        "prefix",
        "local_metadata",
        "strict",
        "missing_keys",
        "unexpected_keys",
        "error_msgs",
    ),
)
_POST_FORMS = (
    ("module", "missing_keys", "unexpected_keys", "strict"),
    ("module", "incompatible_keys"),
)


class StateLoading(StateSaving):
    """The part of `Module` that loads its state."""

    # The module whose state a mere wrapper loads and saves.
    _stands_for: Module | None = None

    # The load pre-hooks of this class itself; see register_class_load_state_dict_pre_hook.
    _class_load_hooks: ClassVar[HookRegistry[AnyHook] | None] = None

    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False
    ) -> IncompatibleKeys:
        """Write the values of `state_dict` into the parameters and buffers of the same names.

        Shapes must be equal (one element also loads into a zero-dimensional tensor); the dtype is
        converted to the module's. With `assign` the values themselves take the place of the
        module's tensors, dtype and memory included: a Parameter stays a Parameter and keeps its
        `requires_grad`, tied names stay tied; optimisers have to be made afterwards. `state_dict`
        is not changed: hooks work on a shallow copy. One that is read from a file may have the method
        `__kellet_state_dict__`, which gives a mapping to tensors of kellet; so have those of packager.

        Returns the missing and the unexpected keys; with `strict` both must be empty.

        Raises StateDictError once, for everything that is wrong (`.missing_keys`,
        `.unexpected_keys`, `.mismatched`, `.messages`), and every value is then as it was.
        Raises TypeError for a value that is not a mapping.

        >>> from kellet import nn
        >>> net = nn.Linear(2, 1)
        >>> net.load_state_dict({"weight": net.weight.detach() + 1}, strict=False)
        IncompatibleKeys(missing_keys=['bias'], unexpected_keys=[])
        >>> net.load_state_dict(net.state_dict())
        <All keys matched successfully>

        Source: torch.nn.Module.load_state_dict; there the values that fit have been written when
        it raises, and `assign` unties parameters.
        """
        if not isinstance(state_dict, Mapping):
            raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
        in_tensors = getattr(type(state_dict), "__kellet_state_dict__", None)
        if in_tensors is not None:  # a state dict in a file, whatever library its values are of
            state_dict = in_tensors(state_dict)
        load = _Load(cast("Module", self), state_dict, strict, assign)
        try:
            return load.run()
        except BaseException:
            load.undo.restore()
            raise

    def _load_from_state_dict(
        self,
        state_dict: Mapping[str, Any],
        prefix: str,
        local_metadata: dict[str, Any],
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        """Load this module's own state, without its submodules'; made to be overridden.

        Within `load_state_dict` this plans the writes, which happen when the whole state has been
        checked; called by hand it writes at once.
        """
        module = cast("Module", self)
        load = _current_load.get()
        by_hand = LoadPlan(bool(local_metadata.get("assign_to_params_buffers", False)))
        plan = by_hand if load is None else load.plan
        missing = missing_keys if strict else []
        errors_before, plan.error_msgs = plan.error_msgs, error_msgs
        plan.match(module.__dict__, state_dict, prefix, missing)
        if plan.match_extra_state(module, state_dict, prefix, missing):
            if load is not None:
                load.undo.remember(load.root)
            plan.write()
            module.set_extra_state(state_dict[prefix + EXTRA_STATE])
        plan.error_msgs = errors_before
        if strict:
            unexpected_keys += [
                key
                for key in state_dict
                if key.startswith(prefix) and is_unexpected(module, key[len(prefix) :])
            ]
        by_hand.write()

    def register_load_state_dict_pre_hook(self, hook: LoadPreHook) -> RemovableHandle:
        """Call `hook` before the module's keys are matched; it may change the state dict in place.

        The hook gets the longest of two argument lists that it can take, decided here:

        - `(module, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys,
          error_msgs)`: the keys of `state_dict` are whole and start with `prefix`; a text added
          to `error_msgs` refuses the load; `strict` is always True;
        - `(module, state_dict, strict)`: the keys are the module's own, without prefix.

        `state_dict` is a live part of the load's copy. Its return value is ignored. Raises TypeError for a
        hook that takes neither list.

        Source: torch.nn.Module.register_load_state_dict_pre_hook (long), lucid (short).
        """
        form = longest_form(hook, _PRE_FORMS, fallback=0)
        return self._own_state_hooks().load_pre.add(hook, form=form, with_module=True)

    def _register_load_state_dict_pre_hook(self, hook: AnyHook, with_module: bool = False) -> RemovableHandle:
        # The older name in PyTorch, widely used: the long list, without the module unless asked for.
        return self._own_state_hooks().load_pre.add(hook, form=1, with_module=with_module)

    def register_load_state_dict_post_hook(self, hook: LoadPostHook) -> RemovableHandle:
        """Call `hook` after the values here and below are loaded, before missing keys are judged.

        The hook gets the longest of two argument lists that it can take, decided here:
        `(module, missing_keys, unexpected_keys, strict)` or `(module, incompatible_keys)`, a named
        tuple of the same two lists. Clearing the lists in place forgives; adding to them refuses a
        strict load. It must return None, else HookError. Raises TypeError for a hook that takes
        neither list.

        Source: torch.nn.Module.register_load_state_dict_post_hook (two arguments), lucid (four).
        """
        form = longest_form(hook, _POST_FORMS, fallback=0)
        return self._own_state_hooks().load_post.add(hook, form=form)


def register_class_load_state_dict_pre_hook(cls: type, hook: LoadPreHook) -> RemovableHandle:
    """Call `hook` whenever the state of an instance of `cls` or of a subclass is loaded, at any depth.

    These hooks run before the pre-hooks of the instance, those of base classes first, in order of
    registration: the place to convert an older layout of the class's state into the present one.
    `hook` has the signature that `Module.register_load_state_dict_pre_hook` describes; `local_metadata` holds
    the "version" of the class that saved, unless that is unknown.

    Raises TypeError for a value that is not a subclass of Module.

    >>> class Net(kellet.nn.Linear):
    ...     pass
    >>> def rename(module, state_dict, prefix, *rest):
    ...     state_dict[prefix + "weight"] = state_dict.pop(prefix + "w")
    >>> handle = kellet.nn.register_class_load_state_dict_pre_hook(Net, rename)
    >>> Net(2, 1, bias=False).load_state_dict({"w": kellet.ones(1, 2)})
    <All keys matched successfully>
    """
    if not issubclass(cls, StateLoading):
        raise TypeError(f"the hook belongs to a subclass of nn.Module, got {cls!r}")
    form = longest_form(hook, _PRE_FORMS, fallback=0)
    if "_class_load_hooks" not in cls.__dict__:
        cls._class_load_hooks = HookRegistry()
    registry = cast("HookRegistry[AnyHook]", cls._class_load_hooks)
    return registry.add(hook, form=form, with_module=True)


# The load under way, for an override of _load_from_state_dict that calls the original.
_current_load: ContextVar[_Load | None] = ContextVar("current load", default=None)


class _Load:
    """One `load_state_dict` under way."""

    def __init__(self, root: Module, state_dict: Mapping[str, Any], strict: bool, assign: bool) -> None:
        self.root = root
        self.state = StateDict(state_dict)
        self.metadata = self.state._metadata
        self.strict = strict
        self.plan = LoadPlan(assign)
        self.undo = Undo()
        # For each module with post-hooks, submodules first: how many modules had been entered
        # when its last submodule was done, and the keys missed until then.
        self.left: list[tuple[Module, int, list[str]]] = []

    def run(self) -> IncompatibleKeys:
        plan = self.plan
        self.plan_modules()
        unexpected = self.find_unexpected()
        if plan.error_msgs or (self.strict and not self.left and (plan.missing_keys or unexpected)):
            plan.unexpected_keys += [key for key, _ in unexpected]
            plan.refuse(self.root, self.strict)
        if self.left:
            self.undo.remember(self.root)
        plan.write()
        self.run_post_hooks(unexpected)
        plan.refuse(self.root, self.strict)
        return IncompatibleKeys(plan.missing_keys, plan.unexpected_keys)

    def plan_modules(self) -> None:
        """Steps 14 to 16: root first, each module's hooks, then its names.

        What `LoadPlan.match` does for a copy between arrays of one shape and dtype, which is the usual one,
        stands here once more, on the spot: a call for each of 2,000 modules takes 1.4 times as long.
        """
        plan, state, missing = self.plan, self.state, self.plan.missing_keys
        find, targets, arrays, copying = state.get, plan.targets, plan.arrays, not plan.assign
        usual: dict[type, bool] = {}
        # The modules whose submodules are being walked, the innermost last: the module, where it has
        # post-hooks, its prefix, and what is left of its submodules as they were when it was entered.
        walked: list[tuple[Module | None, str, Iterator[tuple[str, Module | None]]]] = []
        walked.append((None, "", iter([("", self.root)])))
        entered = matched = 0
        while walked:
            outer, around, children = walked[-1]
            for name, module in children:
                if module is None:
                    continue
                prefix = f"{around}{name}." if entered else ""
                entered += 1
                own = module.__dict__
                cls = type(module)
                if cls not in usual:
                    usual[cls] = _is_usual(cls)
                watched = None
                if not usual[cls] or "_state_hooks" in own:
                    module = module if module._stands_for is None else module._stands_for
                    self.plan_unusual(module, prefix)
                    hooks = module._state_hooks
                    watched = module if hooks is not None and hooks.load_post else None
                    below = module._modules
                elif copying and not own["_buffers"]:
                    members = own["_parameters"]
                    for key, target in members.items():
                        value = find(prefix + key)
                        if type(value) is Tensor and target is not None:
                            array, old = value._array, target._array
                            if array.shape == old.shape and array.dtype is old.dtype:
                                targets.append(target)
                                arrays.append(array)
                                matched += 1
                                continue
                        plan.match_one(members, key, target, state, prefix + key, missing)
                    below = own["_modules"]
                else:
                    plan.match(own, state, prefix, missing)
                    below = own["_modules"]
                if below or watched is not None:
                    names_now, modules_now = list(below), list(below.values())
                    walked.append((watched, prefix, zip(names_now, modules_now, strict=True)))
                    break
            else:
                walked.pop()
                if outer is not None:
                    self.left.append((outer, entered, missing[:]))
        plan.matched += matched

    def plan_unusual(self, module: Module, prefix: str) -> None:
        """Plan a module with hooks, extra state, or loading of its own."""
        local_metadata = dict(self.metadata.get(prefix[:-1], {}))
        if self.plan.assign:
            local_metadata["assign_to_params_buffers"] = True
        for entry in _class_hooks(type(module)):
            self.run_pre_hook(entry, module, prefix, local_metadata)
        for entry in module._state_hooks.load_pre if module._state_hooks is not None else ():
            self.run_pre_hook(entry, module, prefix, local_metadata)
        if _overrides_load(type(module)):
            self.run_override(module, prefix, local_metadata)
        else:
            self.plan.match(module.__dict__, self.state, prefix, self.plan.missing_keys)
            self.set_extra_state(module, prefix)

    def set_extra_state(self, module: Module, prefix: str) -> None:
        """Hand over extra state in its turn: it may look at the module's tensors, or make submodules."""
        if self.plan.match_extra_state(module, self.state, prefix, self.plan.missing_keys):
            self.undo.remember(self.root)
            self.plan.write()
            module.set_extra_state(self.state[prefix + EXTRA_STATE])

    def run_pre_hook(
        self, entry: HookEntry[AnyHook], module: Module, prefix: str, local_metadata: dict[str, Any]
    ) -> None:
        if entry.options["form"] == 0:
            entry.hook(module, self.view(prefix, stripped=True), self.strict)
            return
        plan = self.plan
        given = (module,) if entry.options["with_module"] else ()
        entry.hook(
            *given,
            self.view(prefix, stripped=False),
            prefix,
            local_metadata,
            True,
            plan.missing_keys,
            plan.unexpected_keys,
            plan.error_msgs,
        )

    def run_override(self, module: Module, prefix: str, local_metadata: dict[str, Any]) -> None:
        # It may write by itself.
        self.undo.remember(module)
        plan = self.plan
        token = _current_load.set(self)
        try:
            module._load_from_state_dict(
                self.view(prefix, stripped=False),
                prefix,
                local_metadata,
                True,
                plan.missing_keys,
                plan.unexpected_keys,
                plan.error_msgs,
            )
        finally:
            _current_load.reset(token)

    def view(self, prefix: str, *, stripped: bool) -> MutableMapping[str, Any]:
        return StateView(self.state, prefix, stripped=stripped) if prefix else self.state

    def find_unexpected(self) -> list[tuple[str, int]]:
        """The keys that no module takes, each with the place in the walk of the module it belongs to."""
        if self.plan.matched == len(self.state):
            return []
        places = {
            path: (place, module)
            for place, (path, module) in enumerate(self.root.named_modules(remove_duplicate=False), 1)
        }
        found = []
        for key in self.state:
            path, rest = deepest(key, places)
            place, module = places[path]
            # An override finds its own unexpected keys, by calling the original or by not doing so.
            if not _overrides_load(type(module)) and is_unexpected(module, rest):
                found.append((key, place))
        return sorted(found, key=lambda item: item[1])

    def run_post_hooks(self, unexpected: list[tuple[str, int]]) -> None:
        """Step 18. A hook sees the keys found up to its module, as the hooks before it left them."""
        plan = self.plan
        missing = plan.missing_keys[:]
        plan.missing_keys.clear()
        shown: set[str] = set()
        for module, entered, missing_so_far in self.left:
            plan.missing_keys += unseen(missing_so_far, shown)
            plan.unexpected_keys += unseen([key for key, place in unexpected if place <= entered], shown)
            for entry in cast("StateHooks", module._state_hooks).load_post:
                _run_post_hook(entry, module, plan, self.strict)
        plan.missing_keys += unseen(missing, shown)
        plan.unexpected_keys += unseen([key for key, _ in unexpected], shown)


def _is_usual(cls: type[StateLoading]) -> bool:
    """Whether all there is to do for an instance without hooks is to match its names."""
    plain = cls._stands_for is None and cls._class_load_hooks is None
    return plain and not _overrides_load(cls) and not has_extra_state(cls)


def _overrides_load(cls: type[StateLoading]) -> bool:
    return cls._load_from_state_dict is not StateLoading._load_from_state_dict


def _class_hooks(cls: type[StateLoading]) -> Iterator[HookEntry[AnyHook]]:
    if cls._class_load_hooks is None:
        return
    for base in reversed(cls.__mro__):
        registry = base.__dict__.get("_class_load_hooks")
        if registry is not None:
            yield from registry


def _run_post_hook(entry: HookEntry[AnyHook], module: Module, plan: LoadPlan, strict: bool) -> None:
    if entry.options["form"] == 0:
        answer = entry.hook(module, plan.missing_keys, plan.unexpected_keys, strict)
    else:
        answer = entry.hook(module, IncompatibleKeys(plan.missing_keys, plan.unexpected_keys))
    if answer is not None:
        raise HookError(
            f"a load_state_dict post-hook must return None, got {type(answer).__name__} from {entry.hook!r} "
            f"on {type(module).__name__}; change the lists of keys in place"
        )
