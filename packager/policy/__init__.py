"""Decisions about modules: glob groups, ordered rules, presets, action hooks, policy files."""

from typing import TYPE_CHECKING

from packager.lazy import lazy_names

if TYPE_CHECKING:
    from .decision import *
    from .glob import *
    from .hooks import *
    from .policy import *
    from .toml import *
else:
    __getattr__, __all__ = lazy_names(
        __name__,
        {
            "decision": "Action Decision Origin OriginKind",
            "glob": "GlobGroup GlobPattern",
            "hooks": "ActionHooks HookAnswerError",
            "policy": "Answer Policy Rule Rules implicit_reason preset_action require_matched require_preset",
            "toml": "PolicyFileError as_policy format_policy parse_policy read_policy",
        },
    )
