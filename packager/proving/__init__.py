"""The proof: an archive is opened once in a clean process, before it gets its name.

There everything in it is loaded, encoded again, made ready to be called, and its golden calls are repeated.
"""

from packager.lazy import lazy_names

TYPE_CHECKING = False  # as in packager.lazy
if TYPE_CHECKING:
    from .clean_process import *
    from .computed_imports import *
    from .held_values import *
    from .made_objects import *
    from .proof import *
    from .proving import *
    from .refusing import *
    from .running_changes import *
else:
    __getattr__, __all__ = lazy_names(
        __name__,
        {
            "computed_imports": "open_imports with_imports_asked",
            "made_objects": "held_in",
            "held_values": "Held",
            "proof": "Effect GlobalDifference Proof ProofFailure ProofFrame",
            "clean_process": "CleanProcess ProofStartError",
            "proving": "prove_archive",
            "refusing": "ProofError ProofFindings",
            "running_changes": "with_changes",
        },
    )
