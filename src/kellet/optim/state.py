"""The state of an optimiser as plain data, and back: parameters become their positions."""

from __future__ import annotations

import copy
from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from ..core.tensor import Tensor

__all__ = ["load_state", "pack_state"]

Group = dict[str, Any]


def pack_state(state: Mapping[Any, Any], groups: list[Group]) -> dict[str, Any]:
    """Return `{"state": {position: ...}, "param_groups": [{..., "params": [positions]}]}`.

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


def load_state(
    state_dict: Mapping[str, Any], groups: list[Group]
) -> tuple[defaultdict[Any, Any], list[Group]]:
    """Return the state and the groups that `state_dict` describes, for the parameters of `groups`.

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
