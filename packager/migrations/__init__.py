"""Legacy keys: migrations in a few declarative lines, planned before they run, and undone where possible."""

from typing import TYPE_CHECKING

from packager.lazy import lazy_names

if TYPE_CHECKING:
    from .applying import apply_steps as apply_steps
    from .attaching import AttachedMigrations as AttachedMigrations
    from .attaching import attach as attach
    from .attaching import attach_stored as attach_stored
    from .attaching import with_migrations as with_migrations
    from .attachments import Ran as Ran
    from .attachments import attached as attached
    from .attachments import framework_of as framework_of
    from .attachments import migrations_ran as migrations_ran
    from .chains import MigrationPlan as MigrationPlan
    from .chains import chain as chain
    from .chains import migrate as migrate
    from .chains import plan_migration as plan_migration
    from .checkpoints import WRAPPERS as WRAPPERS
    from .checkpoints import migrated_metadata as migrated_metadata
    from .checkpoints import unwrapped as unwrapped
    from .declaring import Migration as Migration
    from .dividing import merge as merge
    from .dividing import split as split
    from .fitting import Fit as Fit
    from .fitting import headers_of as headers_of
    from .functions import NamedFunction as NamedFunction
    from .into_modules import load_checkpoint as load_checkpoint
    from .into_modules import open_wrapped as open_wrapped
    from .naming import Likeness as Likeness
    from .naming import leaf as leaf
    from .naming import words as words
    from .renaming import Rename as Rename
    from .renaming import default as default
    from .renaming import drop as drop
    from .renaming import rename as rename
    from .renaming import rename_pattern as rename_pattern
    from .reversing import cannot_go_back as cannot_go_back
    from .steps import Step as Step
    from .storing import allowed_migrations as allowed_migrations
    from .storing import functions_of as functions_of
    from .storing import pack_migrations as pack_migrations
    from .storing import patterns_of as patterns_of
    from .storing import unpack_migrations as unpack_migrations
    from .templates import Linear as Linear
    from .templates import Template as Template
    from .toml import MigrationFileError as MigrationFileError
    from .toml import migration_from_text as migration_from_text
    from .toml import migration_text as migration_text
    from .toml import read_migration as read_migration
    from .transforms import Cast as Cast
    from .transforms import Header as Header
    from .transforms import Permute as Permute
    from .transforms import Reshape as Reshape
    from .transforms import Roll as Roll
    from .transforms import Scale as Scale
    from .transforms import Slice as Slice
    from .transforms import Transform as Transform
    from .transforms import Transpose as Transpose
    from .values import MigratedDict as MigratedDict
    from .values import Values as Values
    from .values import stored_values as stored_values

__all__ = [
    "WRAPPERS",
    "AttachedMigrations",
    "Cast",
    "Fit",
    "Header",
    "Likeness",
    "Linear",
    "MigratedDict",
    "Migration",
    "MigrationFileError",
    "MigrationPlan",
    "NamedFunction",
    "Permute",
    "Ran",
    "Rename",
    "Reshape",
    "Roll",
    "Scale",
    "Slice",
    "Step",
    "Template",
    "Transform",
    "Transpose",
    "Values",
    "allowed_migrations",
    "apply_steps",
    "attach",
    "attach_stored",
    "attached",
    "cannot_go_back",
    "chain",
    "default",
    "drop",
    "framework_of",
    "functions_of",
    "headers_of",
    "leaf",
    "load_checkpoint",
    "merge",
    "migrate",
    "migrated_metadata",
    "migration_from_text",
    "migration_text",
    "migrations_ran",
    "open_wrapped",
    "pack_migrations",
    "patterns_of",
    "plan_migration",
    "read_migration",
    "rename",
    "rename_pattern",
    "split",
    "stored_values",
    "unpack_migrations",
    "unwrapped",
    "with_migrations",
    "words",
]

__getattr__ = lazy_names(
    __name__,
    {
        "applying": "apply_steps",
        "attaching": "AttachedMigrations attach attach_stored with_migrations",
        "attachments": "Ran attached framework_of migrations_ran",
        "chains": "MigrationPlan chain migrate plan_migration",
        "checkpoints": "WRAPPERS migrated_metadata unwrapped",
        "declaring": "Migration",
        "dividing": "merge split",
        "fitting": "Fit headers_of",
        "functions": "NamedFunction",
        "into_modules": "load_checkpoint open_wrapped",
        "naming": "Likeness leaf words",
        "renaming": "Rename default drop rename rename_pattern",
        "reversing": "cannot_go_back",
        "steps": "Step",
        "storing": "allowed_migrations functions_of pack_migrations patterns_of unpack_migrations",
        "templates": "Linear Template",
        "toml": "MigrationFileError migration_from_text migration_text read_migration",
        "transforms": "Cast Header Permute Reshape Roll Scale Slice Transform Transpose",
        "values": "MigratedDict Values stored_values",
    },
)
