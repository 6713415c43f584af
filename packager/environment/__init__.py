"""The environment: distributions, versions and requirements, its fingerprint, comparing two of them.

`creating` and `locks` make environments and lock files from what an archive recorded; `vendoring`
brings wheels into one. They are imported where they are used.
"""

from typing import TYPE_CHECKING

from packager.lazy import lazy_names

if TYPE_CHECKING:
    from .closure import *
    from .comparing import *
    from .creating import *
    from .distributions import *
    from .fingerprint import *
    from .installed import *
    from .interpreter import *
    from .locks import *
    from .own import *
    from .recorded import *
    from .targets import *
    from .vendoring import *
    from .versions import *
    from .wheels import *
else:
    __getattr__, __all__ = lazy_names(
        __name__,
        {
            "closure": "installed_closure",
            "comparing": "EnvironmentReport RecordedExtern compare_environment",
            "creating": "create_environment",
            "distributions": "Distributions",
            "fingerprint": "Fingerprint",
            "installed": "normalized_name",
            "interpreter": "Interpreter",
            "locks": "pylock_text requirements_text resolve_wheels wheels_held",
            "own": "own_files",
            "recorded": "RecordedEnvironment recorded_fingerprint",
            "targets": "Target parse_targets",
            "vendoring": "fetch_wheels",
            "versions": "Requirement requirement_for version_key",
            "wheels": "WHEELS vendored_wheels",
        },
    )
