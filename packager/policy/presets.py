"""Presets: what happens to a module that no explicit rule names, by where it comes from.

| origin | None, strict | auto | hermetic |
|---|---|---|---|
| standard library, built in | extern (implicit) | extern (implicit) | extern (implicit) |
| compiled distribution | | extern | extern |
| installed distribution | | extern | intern |
| editable install, project code | | intern | intern |
| unknown | | | |

An empty field leaves the module undecided, which is an error of the plan. `strict` asks more than
None: a rule that matched nothing is an error too, so that a policy says exactly what is done. Under
every preset but None a module that is not here, and whose import may fail, needs no rule.
"""

from __future__ import annotations

from typing import Literal, get_args

from .decision import Action, Origin, OriginKind

__all__ = ["PRESETS", "Preset", "preset_action", "require_preset"]

Preset = Literal["auto", "hermetic", "strict"]
PRESETS: tuple[Preset, ...] = get_args(Preset)

_ACTIONS: dict[Preset, dict[OriginKind, Action]] = {
    "auto": {
        "stdlib": "extern",
        "builtin": "extern",
        "compiled": "extern",
        "installed": "extern",
        "editable": "intern",
        "project": "intern",
    },
    "hermetic": {
        "stdlib": "extern",
        "builtin": "extern",
        "compiled": "extern",
        "installed": "intern",
        "editable": "intern",
        "project": "intern",
    },
    "strict": {},
}


def preset_action(preset: Preset | None, origin: Origin) -> Action:
    """The action of `preset` for a module of `origin`; `undecided` where it has none.

    >>> preset_action("auto", Origin("installed", "einops", "0.8.0"))
    'extern'
    >>> preset_action("hermetic", Origin("installed", "einops", "0.8.0"))
    'intern'
    >>> preset_action(None, Origin("project"))
    'undecided'
    """
    return "undecided" if preset is None else _ACTIONS[preset].get(origin.kind, "undecided")


def require_preset(name: object) -> Preset | None:
    """`name` as a preset, or None; raises ValueError listing the presets for anything else."""
    for preset in PRESETS:
        if name == preset:
            return preset
    if name is None:
        return None
    raise ValueError(f"unknown policy {name!r}; one of {', '.join(PRESETS)}, None, or a policy file (.toml)")
