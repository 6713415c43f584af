"""Legacy keys: migrations in a few declarative lines, planned before they run, and undone where possible."""

from packager._lazy import lazy_names

TYPE_CHECKING = False  # as in packager._lazy
if TYPE_CHECKING:
    from .applying import *
    from .archiving import *
    from .attaching import *
    from .attachments import *
    from .chains import *
    from .checkpoints import *
    from .declaring import *
    from .dividing import *
    from .migrated_values import *
    from .migration_tables import *
    from .plans import *
    from .renaming import *
    from .templates import *
    from .transforms import *
    from .ways_back import *
else:
    __getattr__, __all__ = lazy_names(
        __name__,
        {
            "migration_tables": "MigrationFileError parse_migration format_migration read_migration",
            "applying": "apply_steps",
            "attaching": "attach attach_stored with_migrations",
            "attachments": "MigrationRun attached framework_of migrations_ran",
            "chains": "chain migrate migrated_metadata plan_migration unwrapped",
            "checkpoints": "WRAPPERS choice_of load_checkpoint open_wrapped version_of",
            "declaring": "Migration Step",
            "dividing": "merge split",
            "migrated_values": "MigratedDict Values is_array stored_keys stored_values",
            "plans": "LoadReport MigrationPlan NameSimilarity headers_of leaf near_names open_keys_of "
            "reasons_text words",
            "renaming": "Rename default drop rename rename_pattern swap",
            "archiving": "allowed_migrations functions_of pack_migrations patterns_of unpack_migrations",
            "templates": "HoleArithmetic Template",
            "transforms": "Cast Header NamedFunction Permute Reshape Roll Scale Slice Transform Transpose",
            "ways_back": "cannot_go_back lost_values",
        },
    )
