"""Signatures: who made an archive, and whether it is what was approved. Rules stay on the loader's side."""

from packager._lazy import lazy_names

TYPE_CHECKING = False  # as in packager._lazy
if TYPE_CHECKING:
    from .model_files import *
    from .signers import *
    from .signing import *
    from .statements import *
else:
    __getattr__, __all__ = lazy_names(
        __name__,
        {
            "model_files": "is_of_files judge_files",
            "signers": "Judgement Rule Signers judged",
            "signing": "Signer sign_archive sign_files",
            "statements": "code_digest",
        },
    )
