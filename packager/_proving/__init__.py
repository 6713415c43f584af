"""The proof: an archive is opened in a clean process, before it gets its name.

There everything in it is loaded, encoded again, made ready to be called, and its golden calls are repeated.
What it lacks it is served.
"""

from packager._lazy import lazy_names

TYPE_CHECKING = False  # as in packager._lazy
if TYPE_CHECKING:
    from .clean_process import *
    from .conversation import *
    from .export_proof import *
    from .proof import *
    from .refusing import *
    from .search_places import *
else:
    __getattr__, __all__ = lazy_names(
        __name__,
        {
            "export_proof": "ExportProof watch_calls",
            "proof": "Difference Effect Proof ProofFailure ProofFrame Question Run Served",
            "clean_process": "CleanProcess",
            "conversation": "Answers converse converse_until_nothing_is_named questions_of",
            "search_places": "order_for",
            "refusing": "ProofError",
        },
    )
