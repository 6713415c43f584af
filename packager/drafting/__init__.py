"""Suggestions for people to look at: policies and migrations, drafted from what is there."""

from typing import TYPE_CHECKING

from packager.lazy import lazy_names

if TYPE_CHECKING:
    from .migrations import SuggestedMigration as SuggestedMigration
    from .migrations import suggest_migration as suggest_migration
    from .policies import suggested_policy as suggested_policy

__all__ = [
    "SuggestedMigration",
    "suggest_migration",
    "suggested_policy",
]

__getattr__ = lazy_names(
    __name__,
    {
        "migrations": "SuggestedMigration suggest_migration",
        "policies": "suggested_policy",
    },
)
