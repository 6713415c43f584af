"""State dicts: written from a mapping or a module, read as a mapping that opens each tensor when it is used.

encode_state_dict(module_or_mapping, *, importer) -> EncodedStateDict
    with what packager._archive.add_tensors takes, and the bytes of the extras
open_state_dict(TensorReader, extras, as_=, trust_context=, trust=, resolve=) -> StateDictView
"""

from packager._lazy import lazy_names

TYPE_CHECKING = False  # as in packager._lazy
if TYPE_CHECKING:
    from .storing import *
    from .viewing import *
else:
    __getattr__, __all__ = lazy_names(
        __name__,
        {
            "storing": "EncodedStateDict SortedState encode_extras encode_state_dict extras_of laid_out "
            "mapping_of sorted_out with_extras",
            "viewing": "EXTRA StateDictView StateMapping open_state_dict",
        },
    )
