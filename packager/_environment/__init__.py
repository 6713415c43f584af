"""The environment: distributions, versions and requirements, its fingerprint, comparing two of them.

`creating` and `locks` make environments and lock files from what an archive recorded; `vendoring`
brings wheels into one. They are imported where they are used.
"""

from packager._lazy import lazy_names

TYPE_CHECKING = False  # as in packager._lazy
if TYPE_CHECKING:
    from .creating import *
    from .distributions import *
    from .gathering import *
    from .interpreter import *
    from .locks import *
    from .own import *
    from .recorded import *
    from .targets import *
    from .vendoring import *
    from .versions import *
    from .wheel_contents import *
    from .wheels import *
else:
    __getattr__, __all__ = lazy_names(
        __name__,
        {
            "creating": "create_environment",
            "distributions": "Distributions environment_facts",
            "gathering": "WheelsAtHand",
            "interpreter": "Interpreter",
            "locks": "pylock requirements_lock requirements_text",
            "own": "loader_files own_files",
            "recorded": "EnvironmentReport RecordedEnvironment RecordedExtern RecordedProbes "
            "compare_environment recorded_fingerprint",
            "wheel_contents": "VendoredContents",
            "targets": "Target parse_targets",
            "vendoring": "fetch_wheels",
            "versions": "Fingerprint Requirement requirement_for requirements_by_name version_key",
            "wheels": "WHEELS Wheel vendored_wheels",
        },
    )
