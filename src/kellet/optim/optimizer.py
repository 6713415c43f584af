"""The base of every optimiser: parameter groups, their state, and hooks around step, saving and loading."""

from __future__ import annotations

import copy
import functools
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from typing import Any

from ..core import Tensor, tensor
from ..errors import HookError
from ..hooks import HookRegistry, RemovableHandle

AnyHook = Callable[..., Any]
StepHook = Callable[[Any, tuple[Any, ...], dict[str, Any]], object]
OptimizerHook = Callable[[Any], object]
StateHook = Callable[[Any, dict[str, Any]], object]
Group = dict[str, Any]


class _Required:
    def __repr__(self) -> str:
        return "<required parameter>"


required: Any = _Required()
"""The default of an option that every parameter group has to give."""

_global_step_pre: HookRegistry[AnyHook] = HookRegistry()
_global_step_post: HookRegistry[AnyHook] = HookRegistry()


def register_optimizer_step_pre_hook(hook: StepHook) -> RemovableHandle:
    """Call `hook(optimizer, args, kwargs)` before the step of every optimiser, before its own hooks.

    Source: torch.optim.optimizer.register_optimizer_step_pre_hook.
    """
    return _global_step_pre.add(hook)


def register_optimizer_step_post_hook(hook: StepHook) -> RemovableHandle:
    """Call `hook(optimizer, args, kwargs)` after the step of every optimiser, after its own hooks.

    Source: torch.optim.optimizer.register_optimizer_step_post_hook.
    """
    return _global_step_post.add(hook)


class Optimizer:
    """The base of optimisers: a subclass hands parameters and defaults up and defines `step`.

    `params` are Tensors, pairs of name and Tensor, or dicts with "params" and options of their own: the
    parameter groups. `defaults` fills the options that a group leaves out. The optimiser's state of a
    parameter is in `state[parameter]`.

    Hooks around `step`, in this order: global pre-hooks, own pre-hooks, the step, own post-hooks,
    global post-hooks. A `step` that calls the one of its base class runs them once.

    Raises TypeError for a tensor as `params`, ValueError for none.

    Source: torch.optim.Optimizer.

    >>> class Descent(kellet.optim.Optimizer):
    ...     def __init__(self, params, lr):
    ...         super().__init__(params, {"lr": lr})
    ...     def step(self, closure=None):
    ...         for group in self.param_groups:
    ...             for parameter in group["params"]:
    ...                 parameter.data -= group["lr"] * parameter.grad
    >>> weight = kellet.tensor([1.0], requires_grad=True)
    >>> (weight * 3).sum().backward()
    >>> Descent([weight], lr=0.1).step()
    >>> round(weight.item(), 4)
    0.7
    """

    def __init__(self, params: Iterable[Any], defaults: dict[str, Any]) -> None:
        if isinstance(params, Tensor):
            raise TypeError(
                "params argument given to the optimizer should be an iterable of Tensors or dicts, "
                f"but got {type(params).__name__}"
            )
        self._make_hooks()
        self.defaults = defaults
        self.state: defaultdict[Any, Any] = defaultdict(dict)
        self.param_groups: list[Group] = []
        groups = list(params)
        if not groups:
            raise ValueError("optimizer got an empty parameter list")
        if not isinstance(groups[0], dict):
            groups = [{"params": groups}]
        for group in groups:
            self.add_param_group(group)

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "step" in cls.__dict__:
            cls.step = _hooked(cls.__dict__["step"])  # type: ignore[method-assign]  # the same step, hooks around it

    def _make_hooks(self) -> None:
        self._stepping = False
        self._has_stepped = False
        self._step_pre: HookRegistry[AnyHook] = HookRegistry()
        self._step_post: HookRegistry[AnyHook] = HookRegistry()
        self._save_pre: HookRegistry[AnyHook] = HookRegistry()
        self._save_post: HookRegistry[AnyHook] = HookRegistry()
        self._load_pre: HookRegistry[AnyHook] = HookRegistry()
        self._load_post: HookRegistry[AnyHook] = HookRegistry()

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Change every parameter by its gradient; every subclass defines it.

        With `closure`, which computes the loss anew, return the loss.
        """
        raise NotImplementedError(f"{type(self).__name__} does not define step()")

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients of all parameters, or fill them with zeros in place."""
        for parameter in self._parameters():
            if parameter.grad is None:
                continue
            if set_to_none:
                parameter.grad = None
            else:
                parameter.grad = parameter.grad.detach()
                parameter.grad.zero_()

    def _parameters(self) -> Iterator[Tensor]:
        return (parameter for group in self.param_groups for parameter in group["params"])

    def add_param_group(self, param_group: Group) -> None:
        """Add parameters with options of their own: "params" and the options that differ from the defaults.

        Raises TypeError for a group that is not a dict of ordered Tensors, ValueError for a parameter that is
        not a leaf or is in another group, for names given to some parameters only, and for an option
        that has no default. Warns of a parameter given twice.
        """
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group)}")
        group = _with_parameters_listed(param_group)
        for parameter in group["params"]:
            if not isinstance(parameter, Tensor):
                raise TypeError(
                    "optimizer can only optimize Tensors, but one of the params is "
                    f"{type(parameter).__name__}"
                )
            if not (parameter.is_leaf or parameter.retains_grad):
                raise ValueError("can't optimize a non-leaf Tensor")
        for name, default in self.defaults.items():
            if default is required and name not in group:
                raise ValueError(
                    f"parameter group didn't specify a value of required optimization parameter {name}"
                )
            group.setdefault(name, default)
        self._check_against_other_groups(group)
        param_group.update(group)
        self.param_groups.append(param_group)

    def _check_against_other_groups(self, group: Group) -> None:
        if self.param_groups and ("param_names" in group) != ("param_names" in self.param_groups[0]):
            state = "with" if "param_names" in group else "without"
            raise ValueError(
                "all optimizer param groups should be with/without names. "
                f"cannot add param group {state} names to the optimizer"
            )
        others = {id(parameter) for parameter in self._parameters()}
        own = [id(parameter) for parameter in group["params"]]
        if len(set(own)) != len(own):
            warnings.warn(
                "optimizer contains a parameter group with duplicate parameters; each changes twice a step",
                stacklevel=5,
            )
        if not others.isdisjoint(own):
            raise ValueError("some parameters appear in more than one parameter group")

    def state_dict(self) -> dict[str, Any]:
        """Return `{"state": ..., "param_groups": ...}`, parameters replaced by their positions.

        Pre-hooks run first; a post-hook may change the result or answer another one.
        """
        for entry in self._save_pre:
            entry.hook(self)
        state_dict = _packed(self.state, self.param_groups)
        for entry in self._save_post:
            answer = entry.hook(self, state_dict)
            if answer is not None:
                state_dict = answer
        return state_dict

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load the `state_dict()` of an optimiser with as many groups of the same sizes.

        Pre-hooks get a shallow copy, which they may change or replace; post-hooks run at the end.
        Floating-point state is converted to the dtype of its parameter; arrays, and tensors of another
        library, are copied into tensors of kellet. Raises ValueError, before anything has changed, where the
        groups differ.
        """
        state_dict = state_dict.copy()
        for entry in self._load_pre:
            answer = entry.hook(self, state_dict)
            if answer is not None:
                state_dict = answer
        state, groups = _unpacked(state_dict, self.param_groups)
        self.__setstate__({"state": state, "param_groups": groups})
        for entry in self._load_post:
            entry.hook(self)

    def register_step_pre_hook(self, hook: StepHook) -> RemovableHandle:
        """Call `hook(optimizer, args, kwargs)` before each step; it may answer (new_args, new_kwargs).

        Any other return value than None or such a tuple raises HookError.
        """
        return self._step_pre.add(hook)

    def register_step_post_hook(self, hook: StepHook) -> RemovableHandle:
        """Call `hook(optimizer, args, kwargs)` after each step; its answer is ignored."""
        return self._step_post.add(hook)

    def register_state_dict_pre_hook(self, hook: OptimizerHook, prepend: bool = False) -> RemovableHandle:
        """Call `hook(optimizer)` before the state is saved."""
        return self._save_pre.add(hook, prepend=prepend)

    def register_state_dict_post_hook(self, hook: StateHook, prepend: bool = False) -> RemovableHandle:
        """Call `hook(optimizer, state_dict)` after the state is saved; an answer takes its place."""
        return self._save_post.add(hook, prepend=prepend)

    def register_load_state_dict_pre_hook(self, hook: StateHook, prepend: bool = False) -> RemovableHandle:
        """Call `hook(optimizer, state_dict)` before a state is loaded; an answer takes its place."""
        return self._load_pre.add(hook, prepend=prepend)

    def register_load_state_dict_post_hook(
        self, hook: OptimizerHook, prepend: bool = False
    ) -> RemovableHandle:
        """Call `hook(optimizer)` after a state has been loaded."""
        return self._load_post.add(hook, prepend=prepend)

    def __getstate__(self) -> dict[str, Any]:
        # As in PyTorch, hooks are not pickled and not copied with an optimiser.
        return {"defaults": self.defaults, "state": self.state, "param_groups": self.param_groups}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if "_step_pre" not in self.__dict__:
            self._make_hooks()

    def __repr__(self) -> str:
        lines = [f"{type(self).__name__} ("]
        for position, group in enumerate(self.param_groups):
            lines += [""] * bool(position) + [f"Parameter Group {position}"]
            lines += [f"    {name}: {group[name]}" for name in sorted(group) if name != "params"]
        return "\n".join([*lines, ")"])


def _with_parameters_listed(param_group: Group) -> Group:
    """The group with "params" as a list of Tensors, names apart in "param_names"."""
    given = param_group["params"]
    if isinstance(given, set):
        raise TypeError(
            "optimizer parameters need to be organized in ordered collections, but the ordering of "
            "tensors in sets will change between runs. Please use a list instead."
        )
    members = [given] if isinstance(given, Tensor) else list(given)
    names = [member[0] for member in members if isinstance(member, tuple)]
    group = dict(param_group)
    group["params"] = [member[1] if isinstance(member, tuple) else member for member in members]
    if names:
        if len(names) != len(members):
            raise ValueError(
                "all optimizer params should be with/without names. Some param names are missing"
            )
        group["param_names"] = names
    return group


def _hooked(step: Callable[..., Any]) -> Callable[..., Any]:
    """`step` with the hooks around it, unless it is called from within another step of the same optimiser."""
    if getattr(step, "hooked", False):
        return step

    @functools.wraps(step)
    def hooked(self: Optimizer, *args: Any, **kwargs: Any) -> Any:
        if self._stepping:
            return step(self, *args, **kwargs)
        self._stepping = True
        try:
            for entry in chain(_global_step_pre, self._step_pre):
                answer = entry.hook(self, (self, *args), kwargs)
                if answer is not None:
                    args, kwargs = _new_arguments(answer, entry.hook)
            result = step(self, *args, **kwargs)
            self._has_stepped = True
            for entry in chain(self._step_post, _global_step_post):
                entry.hook(self, (self, *args), kwargs)
            return result
        finally:
            self._stepping = False

    hooked.hooked = True  # type: ignore[attr-defined]  # as PyTorch marks it
    return hooked


def _new_arguments(answer: Any, hook: AnyHook) -> tuple[tuple[Any, ...], dict[str, Any]]:
    if isinstance(answer, tuple) and len(answer) == 2:
        args, kwargs = answer
        if isinstance(args, tuple) and isinstance(kwargs, dict):
            # The optimiser is first among them, as it was when the hook got them.
            return args[1:], kwargs
    raise HookError(
        "a step pre-hook must return None or a tuple of (new_args, new_kwargs), but got "
        f"{answer!r} from {hook!r}"
    )


# --- the state as plain data, and back: parameters become their positions --------------------------


def _packed(state: Mapping[Any, Any], groups: list[Group]) -> dict[str, Any]:
    """The state as plain data: `{"state": {position: ...}, "param_groups": [{..., "params": [positions]}]}`.

    The values of the state are the optimiser's own, not copies.
    """
    parameters = [parameter for group in groups for parameter in group["params"]]
    positions = {id(parameter): position for position, parameter in enumerate(parameters)}
    return {
        "state": {
            positions[id(key)] if isinstance(key, Tensor) else key: value for key, value in state.items()
        },
        "param_groups": [
            {
                **{name: value for name, value in group.items() if name != "params"},
                "params": [positions[id(parameter)] for parameter in group["params"]],
            }
            for group in groups
        ],
    }


def _unpacked(
    state_dict: Mapping[str, Any], groups: list[Group]
) -> tuple[defaultdict[Any, Any], list[Group]]:
    """The state and the groups that `state_dict` describes, for the parameters of `groups`.

    Nothing is changed. Raises ValueError where number or sizes of the groups differ.
    """
    saved_groups: list[Group] = copy.deepcopy(state_dict["param_groups"])
    if len(groups) != len(saved_groups):
        raise ValueError(
            "loaded state dict has a different number of parameter groups: "
            f"{len(saved_groups)}, and the optimizer has {len(groups)}"
        )
    for place, (group, saved) in enumerate(zip(groups, saved_groups, strict=True)):
        if len(group["params"]) != len(saved["params"]):
            raise ValueError(
                "loaded state dict contains a parameter group that doesn't match the size of optimizer's "
                f"group: group {place} has {len(saved['params'])} parameters, the optimizer's "
                f"{len(group['params'])}"
            )
    by_position = {
        position: parameter
        for group, saved in zip(groups, saved_groups, strict=True)
        for position, parameter in zip(saved["params"], group["params"], strict=True)
    }
    state: defaultdict[Any, Any] = defaultdict(dict)
    for key, value in state_dict["state"].items():
        if key in by_position:
            state[by_position[key]] = _converted(value, by_position[key], None)
        else:
            state[key] = value
    for group, saved in zip(groups, saved_groups, strict=True):
        saved["params"] = group["params"]
        if "param_names" in group:
            saved.setdefault("param_names", group["param_names"])
    return state, saved_groups


def _converted(value: Any, parameter: Tensor, name: Any) -> Any:
    if hasattr(value, "__array__") and not isinstance(value, Tensor):
        value = tensor(value)  # as a file gives it; a copy, since steps write into their state
    if isinstance(value, Tensor):
        # "step" counts: it keeps its own dtype.
        if name == "step" or not parameter.is_floating_point():
            return value
        return value.to(parameter.dtype)
    if isinstance(value, dict):
        return {name: _converted(inner, parameter, name) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_converted(inner, parameter, None) for inner in value)
    return value
