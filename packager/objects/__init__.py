"""An object graph as data: encode, audit, build. No pickle, nothing executed before the audit.

The seam to exporting:

    encode(obj, *, importer, exporter=None) -> EncodedObject

The seam to loading:

    audit(records, trust_context, trust=(), *, storages={name: (dtype, nbytes)}) -> AuditedObject
    resolve_names(audited, import_module) -> {(module, qualname): object}
    build(audited, names, tensors, *, importer=None, map_location=None) -> object
        tensors(name) -> memoryview of the whole storage
"""

from packager.lazy import lazy_names

TYPE_CHECKING = False  # as in packager.lazy
if TYPE_CHECKING:
    from .auditing import *
    from .building import *
    from .checking import *
    from .encoder import *
    from .encoding import *
    from .key_spread import *
    from .naming import *
    from .recording import *
    from .records import *
    from .refused_names import *
    from .resolving import *
    from .trust import *
else:
    __getattr__, __all__ = lazy_names(
        __name__,
        {
            "auditing": "AuditedObject Verdict audit judge names_in",
            "building": "ObjectBuildError build",
            "checking": "RecordError paths_to unpack_table",
            "encoder": "Encoder",
            "encoding": "encode encoder_for",
            "key_spread": "require_spread",
            "naming": "FormUse NameFinder NameUse require_said",
            "recording": "EncodedObject Finding Storage settled",
            "refused_names": "UntrustedNamesError refusal",
            "resolving": "MissingNameError Names resolve_name resolve_names",
            "records": "Kind is_reference",
            "trust": "TrustContext Trust grant_for walk_classes",
        },
    )
