"""Decisions about modules: glob groups, ordered rules, presets, action hooks, policy files."""

from packager._lazy import lazy_names

TYPE_CHECKING = False  # as in packager._lazy
if TYPE_CHECKING:
    from .decision import *
    from .policy import *
    from .policy_file import *
else:
    __getattr__, __all__ = lazy_names(
        __name__,
        {
            "decision": "Action ActionHooks Decision HookAnswerError Origin OriginKind implicit_reason "
            "preset_action require_preset",
            "policy": "GlobGroup GlobPattern Policy Rule Rules checked_variables require_matched",
            "policy_file": "PolicyFileError format_policy parse_policy read_policy",
        },
    )
