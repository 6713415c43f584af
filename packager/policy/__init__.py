"""Decisions about modules: glob groups, ordered rules, presets, action hooks, policy files."""

from typing import TYPE_CHECKING

from packager.lazy import lazy_names

if TYPE_CHECKING:
    from .decision import ACTIONS as ACTIONS
    from .decision import Action as Action
    from .decision import Decision as Decision
    from .decision import Origin as Origin
    from .decision import OriginKind as OriginKind
    from .files import PolicyFileError as PolicyFileError
    from .files import as_policy as as_policy
    from .files import format_policy as format_policy
    from .files import parse_policy as parse_policy
    from .files import read_policy as read_policy
    from .glob import GlobGroup as GlobGroup
    from .glob import GlobPattern as GlobPattern
    from .hooks import ActionHooks as ActionHooks
    from .hooks import HookAnswerError as HookAnswerError
    from .policy import Answer as Answer
    from .policy import Policy as Policy
    from .policy import implicit_reason as implicit_reason
    from .presets import PRESETS as PRESETS
    from .presets import Preset as Preset
    from .presets import preset_action as preset_action
    from .presets import require_preset as require_preset
    from .rules import Rule as Rule
    from .rules import Rules as Rules
    from .rules import require_matched as require_matched

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
        "files": "PolicyFileError as_policy format_policy parse_policy read_policy",
        "glob": "GlobGroup GlobPattern",
        "hooks": "ActionHooks HookAnswerError",
        "policy": "Answer Policy implicit_reason",
        "presets": "PRESETS Preset preset_action require_preset",
        "rules": "Rule Rules require_matched",
    },
)
