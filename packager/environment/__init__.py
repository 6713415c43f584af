"""The environment: distributions, versions and requirements, its fingerprint, comparing two of them.

`creating` and `locks` make environments and lock files from what an archive recorded; `vendoring`
brings wheels into one. They are imported where they are used.
"""

from typing import TYPE_CHECKING

from packager.lazy import lazy_names

if TYPE_CHECKING:
    from .closure import installed_closure as installed_closure
    from .comparing import Difference as Difference
    from .comparing import EnvironmentReport as EnvironmentReport
    from .comparing import RecordedExtern as RecordedExtern
    from .comparing import compare_environment as compare_environment
    from .distributions import Distributions as Distributions
    from .fingerprint import Fingerprint as Fingerprint
    from .installed import Installed as Installed
    from .installed import normalized_name as normalized_name
    from .interpreter import Interpreter as Interpreter
    from .recorded import RecordedEnvironment as RecordedEnvironment
    from .recorded import recorded_fingerprint as recorded_fingerprint
    from .versions import Requirement as Requirement
    from .versions import requirement_for as requirement_for
    from .versions import version_key as version_key

__all__ = [
    "Difference",
    "Distributions",
    "EnvironmentReport",
    "Fingerprint",
    "Installed",
    "Interpreter",
    "RecordedEnvironment",
    "RecordedExtern",
    "Requirement",
    "compare_environment",
    "installed_closure",
    "normalized_name",
    "recorded_fingerprint",
    "requirement_for",
    "version_key",
]

__getattr__ = lazy_names(
    __name__,
    {
        "closure": "installed_closure",
        "comparing": "Difference EnvironmentReport RecordedExtern compare_environment",
        "distributions": "Distributions",
        "fingerprint": "Fingerprint",
        "installed": "Installed normalized_name",
        "interpreter": "Interpreter",
        "recorded": "RecordedEnvironment recorded_fingerprint",
        "versions": "Requirement requirement_for version_key",
    },
)
