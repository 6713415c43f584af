"""Decisions about modules: glob groups, ordered rules, presets, action hooks, policy files."""

from typing import TYPE_CHECKING

from packager.lazy import lazy_names

if TYPE_CHECKING:
    from .decision import ACTIONS as ACTIONS
    from .decision import Action as Action
    from .decision import Decision as Decision
    from .decision import Origin as Origin
    from .decision import OriginKind as OriginKind
    from .glob import GlobGroup as GlobGroup
    from .glob import GlobPattern as GlobPattern
    from .hooks import ActionHooks as ActionHooks
    from .hooks import HookAnswerError as HookAnswerError
    from .policy import PRESETS as PRESETS
    from .policy import Answer as Answer
    from .policy import Policy as Policy
    from .policy import Preset as Preset
    from .policy import Rule as Rule
    from .policy import Rules as Rules
    from .policy import implicit_reason as implicit_reason
    from .policy import preset_action as preset_action
    from .policy import require_matched as require_matched
    from .policy import require_preset as require_preset
    from .toml import PolicyFileError as PolicyFileError
    from .toml import as_policy as as_policy
    from .toml import format_policy as format_policy
    from .toml import parse_policy as parse_policy
    from .toml import read_policy as read_policy

__all__ = [
    "ACTIONS",
    "PRESETS",
    "Action",
    "ActionHooks",
    "Answer",
    "Decision",
    "GlobGroup",
    "GlobPattern",
    "HookAnswerError",
    "Origin",
    "OriginKind",
    "Policy",
    "PolicyFileError",
    "Preset",
    "Rule",
    "Rules",
    "as_policy",
    "format_policy",
    "implicit_reason",
    "parse_policy",
    "preset_action",
    "read_policy",
    "require_matched",
    "require_preset",
]

__getattr__ = lazy_names(
    __name__,
    {
        "decision": "ACTIONS Action Decision Origin OriginKind",
        "toml": "PolicyFileError as_policy format_policy parse_policy read_policy",
        "glob": "GlobGroup GlobPattern",
        "hooks": "ActionHooks HookAnswerError",
        "policy": "PRESETS Answer Policy Preset Rule Rules implicit_reason preset_action "
        "require_matched require_preset",
    },
)
