"""Legacy keys: migrations in a few declarative lines, planned before they run, and undone where possible."""

from typing import TYPE_CHECKING

from packager.lazy import lazy_names

if TYPE_CHECKING:
    from .applying import *
    from .attaching import *
    from .attachments import *
    from .chains import *
    from .checkpoints import *
    from .declaring import *
    from .dividing import *
    from .fitting import *
    from .functions import *
    from .into_modules import *
    from .naming import *
    from .renaming import *
    from .reversing import *
    from .steps import *
    from .storing import *
    from .templates import *
    from .toml import *
    from .transforms import *
    from .values import *
else:
    __getattr__, __all__ = lazy_names(
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
