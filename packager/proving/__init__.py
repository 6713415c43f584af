"""The proof: an archive is opened once in a clean process, before it gets its name.

There everything in it is loaded, encoded again, made ready to be called, and its golden calls are repeated.
"""

from packager.lazy import lazy_names

TYPE_CHECKING = False  # as in packager.lazy
if TYPE_CHECKING:
    from .clean_process import *
    from .export_proof import *
    from .held_values import *
    from .proof import *
    from .proving import *
    from .refusing import *
    from .running_changes import *
else:
    __getattr__, __all__ = lazy_names(
        __name__,
        {
            "held_values": "Held",
            "export_proof": "ExportProof",
            "proof": "Effect Proof ProofFailure ProofFrame",
            "clean_process": "CleanProcess",
            "proving": "prove_archive",
            "refusing": "ProofError",
            "running_changes": "with_changes",
        },
    )
