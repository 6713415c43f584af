"""Suggestions for people to look at: policies and migrations, drafted from what is there."""

from packager._lazy import lazy_names

TYPE_CHECKING = False  # as in packager._lazy
if TYPE_CHECKING:
    from .migration_drafts import *
    from .policies import *
else:
    __getattr__, __all__ = lazy_names(
        __name__,
        {
            "migration_drafts": "suggest_migration",
            "policies": "suggested_policy",
        },
    )
