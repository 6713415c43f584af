"""Bills of materials: what an archive holds and asks for, under which licences; nothing of it is run."""

from packager.lazy import lazy_names

TYPE_CHECKING = False  # as in packager.lazy
if TYPE_CHECKING:
    from .collecting import *
    from .cyclonedx_json import *
    from .file_licenses import *
    from .materials import *
else:
    __getattr__, __all__ = lazy_names(
        __name__,
        {
            "collecting": "bill_of_materials",
            "cyclonedx_json": "cyclonedx",
            "file_licenses": "FileLicenses",
            "materials": "BillOfMaterials",
        },
    )
