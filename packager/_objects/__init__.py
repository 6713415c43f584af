"""An object graph as data: encoded, checked, built. No pickle; `packager._audit` stands between the last two.

The seam to exporting:

    encode(obj, *, importer, exporter=None) -> EncodedObject

The seam to loading:

    packager._audit: audit(records, trust_context, trust=(), *, storages) -> AuditedObject
    packager._audit: resolve_names(audited, import_module) -> {(module, qualname): object}
    build(audited, names, tensors, *, importer=None, map_location=None) -> object
        tensors(name) -> memoryview of the whole storage
"""

from packager._lazy import lazy_names

TYPE_CHECKING = False  # as in packager._lazy
if TYPE_CHECKING:
    from .building import *
    from .checking import *
    from .encoder import *
    from .encoding import *
    from .key_spread import *
    from .kinds import *
    from .naming import *
    from .recording import *
    from .records import *
    from .training_mode import *
else:
    __getattr__, __all__ = lazy_names(
        __name__,
        {
            "building": "Builder ObjectBuildError build slots_of",
            "checking": "CheckedTable RecordError checked_table paths_to unpack_table",
            "encoder": "Encoder",
            "encoding": "encode encoder_for",
            "key_spread": "require_spread require_spread_parts",
            "kinds": "FILLS ROWS fills_by_target",
            "naming": "FormUse FunctionHome NameFinder NameUse require_said",
            "recording": "EncodedObject Finding Storage settled",
            "records": "Kind MISSING Record is_reference values_of",
            "training_mode": "IN_TRAINING left_in_training",
        },
    )
