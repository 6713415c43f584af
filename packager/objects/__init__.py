"""An object graph as data: encoded, checked, built. No pickle; `packager.audit` stands between the last two.

The seam to exporting:

    encode(obj, *, importer, exporter=None) -> EncodedObject

The seam to loading:

    packager.audit: audit(records, trust_context, trust=(), *, storages) -> AuditedObject
    packager.audit: resolve_names(audited, import_module) -> {(module, qualname): object}
    build(audited, names, tensors, *, importer=None, map_location=None) -> object
        tensors(name) -> memoryview of the whole storage
"""

from packager.lazy import lazy_names

TYPE_CHECKING = False  # as in packager.lazy
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
        },
    )
