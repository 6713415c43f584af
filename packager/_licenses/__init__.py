"""Licences of files and distributions, and bills of materials with them; nothing of an archive is run."""

from packager._lazy import lazy_names

TYPE_CHECKING = False  # as in packager._lazy
if TYPE_CHECKING:
    from .collecting import *
    from .reading import *
    from .recorded import *
else:
    __getattr__, __all__ = lazy_names(
        __name__,
        {
            "collecting": "BillOfMaterials bill_of_materials cyclonedx",
            "reading": "License is_license_file license_of_header license_of_project licenses_of "
            "licenses_of_files licenses_of_metadata",
            "recorded": "LICENSES FileLicenses RecordedLicenses StoredPart",
        },
    )
