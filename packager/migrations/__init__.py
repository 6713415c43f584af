"""Legacy keys: migrations in a few declarative lines, planned before they run, and undone where possible."""

from .attaching import AttachedMigrations as AttachedMigrations
from .attaching import Ran as Ran
from .attaching import attach as attach
from .attaching import attached as attached
from .attaching import migrations_ran as migrations_ran
from .attaching import with_migrations as with_migrations
from .chains import MigrationPlan as MigrationPlan
from .chains import migrate as migrate
from .chains import plan_migration as plan_migration
from .checkpoints import WRAPPERS as WRAPPERS
from .checkpoints import migrated_metadata as migrated_metadata
from .checkpoints import unwrapped as unwrapped
from .declaring import Migration as Migration
from .declaring import default as default
from .declaring import drop as drop
from .declaring import merge as merge
from .declaring import rename as rename
from .declaring import rename_pattern as rename_pattern
from .declaring import split as split
from .files import MigrationFileError as MigrationFileError
from .files import migration_text as migration_text
from .files import read_migration as read_migration
from .fitting import Fit as Fit
from .functions import NamedFunction as NamedFunction
from .into_modules import load_checkpoint as load_checkpoint
from .legacy.checkpoint import open_checkpoint as open_checkpoint
from .reversing import cannot_go_back as cannot_go_back
from .suggesting import SuggestedMigration as SuggestedMigration
from .suggesting import suggest_migration as suggest_migration
from .templates import Template as Template
from .transforms import Cast as Cast
from .transforms import Permute as Permute
from .transforms import Reshape as Reshape
from .transforms import Roll as Roll
from .transforms import Scale as Scale
from .transforms import Slice as Slice
from .transforms import Transpose as Transpose
from .values import MigratedDict as MigratedDict
from .writing import WrittenCheckpoint as WrittenCheckpoint
from .writing import write_checkpoint as write_checkpoint

__all__ = [
    "WRAPPERS",
    "AttachedMigrations",
    "Cast",
    "Fit",
    "MigratedDict",
    "Migration",
    "MigrationFileError",
    "MigrationPlan",
    "NamedFunction",
    "Permute",
    "Ran",
    "Reshape",
    "Roll",
    "Scale",
    "Slice",
    "SuggestedMigration",
    "Template",
    "Transpose",
    "WrittenCheckpoint",
    "attach",
    "attached",
    "cannot_go_back",
    "default",
    "drop",
    "load_checkpoint",
    "merge",
    "migrate",
    "migrated_metadata",
    "migration_text",
    "migrations_ran",
    "open_checkpoint",
    "plan_migration",
    "read_migration",
    "rename",
    "rename_pattern",
    "split",
    "suggest_migration",
    "unwrapped",
    "with_migrations",
    "write_checkpoint",
]
