"""One archive that several processes write: how they agree, and what each stores of a state dict of all."""

from packager._lazy import lazy_names

TYPE_CHECKING = False  # as in packager._lazy
if TYPE_CHECKING:
    from .group import *
    from .sharing import *
else:
    __getattr__, __all__ = lazy_names(
        __name__,
        {
            "group": "Group OtherRankError Ranks RanksDisagreeError",
            "sharing": "encode_shared_state",
        },
    )
