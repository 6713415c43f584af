"""An object graph as data: encode, audit, build. No pickle, nothing executed before the audit.

The seam to exporting:

    encode(obj, *, importer, interned, exporter=None) -> EncodedObject

The seam to loading:

    audit(records, regime, trust=(), *, storages={name: (dtype, nbytes)}) -> AuditedObject
    build(audited, resolve, tensors, *, importer=None, map_location=None) -> object
        resolve(module, qualname) -> object; tensors(name) -> memoryview of the whole storage

State dicts:

    encode_state_dict(module_or_mapping, *, importer, interned) -> EncodedStateDict
        with what packager.archive.add_tensors takes, and the bytes of the extras
    open_state_dict(TensorReader, extras, as_=, regime=, trust=, resolve=) -> StateDictView
"""

from .audit import AuditedObject as AuditedObject
from .audit import Verdict as Verdict
from .audit import audit as audit
from .audit import judge as judge
from .audit import names_in as names_in
from .build import ObjectBuildError as ObjectBuildError
from .build import build as build
from .checking import RecordError as RecordError
from .encode import encode as encode
from .encoded import EncodedObject as EncodedObject
from .encoded import Finding as Finding
from .encoded import FormUse as FormUse
from .encoded import NameUse as NameUse
from .encoded import Storage as Storage
from .refusing import UntrustedNamesError as UntrustedNamesError
from .refusing import refusal as refusal
from .resolving import MissingNameError as MissingNameError
from .resolving import resolve_name as resolve_name
from .state_dicts import EncodedStateDict as EncodedStateDict
from .state_dicts import encode_extras as encode_extras
from .state_dicts import encode_state_dict as encode_state_dict
from .state_view import StateDictView as StateDictView
from .state_view import open_state_dict as open_state_dict
from .trust import Regime as Regime
from .trust import Trust as Trust
from .trust import grant_for as grant_for

__all__ = [
    "AuditedObject",
    "EncodedObject",
    "EncodedStateDict",
    "Finding",
    "FormUse",
    "MissingNameError",
    "NameUse",
    "ObjectBuildError",
    "RecordError",
    "Regime",
    "StateDictView",
    "Storage",
    "Trust",
    "UntrustedNamesError",
    "Verdict",
    "audit",
    "build",
    "encode",
    "encode_extras",
    "encode_state_dict",
    "grant_for",
    "judge",
    "names_in",
    "open_state_dict",
    "refusal",
    "resolve_name",
]
