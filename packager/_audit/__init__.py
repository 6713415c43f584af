"""The one rule: what data may do with a name, asked by rows at four moments.

    audit(records, trust_context, trust=(), *, storages={name: (dtype, nbytes)}) -> AuditedObject
    resolve_names(audited, import_module) -> {(module, qualname): object}

While data is read and built, and until the caller calls something, only our own code and listed inert
constructors run. Nothing found in data is called, looked up by a name found in data, hashed, compared,
iterated or formatted, unless its exact type is one of ours.
"""

from packager._lazy import lazy_names

TYPE_CHECKING = False  # as in packager._lazy
if TYPE_CHECKING:
    from .auditing import *
    from .gates import *
    from .own_rows import *
    from .refused_names import *
    from .resolve import *
    from .rows import *
    from .trust import *
else:
    __getattr__, __all__ = lazy_names(
        __name__,
        {
            "auditing": "AuditedObject Verdict audit judge names_in",
            "gates": "forbid_shadows forbid_unassigned",
            "own_rows": "exact_dict take_attributes",
            "refused_names": "UntrustedNamesError refusal",
            "resolve": "MissingNameError Names resolve_name resolve_names",
            "rows": "ANY ATTRIBUTES ClassOf IsA LIBRARIES NOTHING PLAIN Row Rows SCALARS TENSORS TEXTS TYPES "
            "TORCH_MODULE checked is_subclass_of",
            "trust": "TrustContext Trust grant_for row_of",
        },
    )
