"""Pages to read: what an archive, a plan or a comparison holds, as one HTML file; nothing of it is run."""

from packager._lazy import lazy_names

TYPE_CHECKING = False  # as in packager._lazy
if TYPE_CHECKING:
    from .archive_facts import *
    from .archive_page import *
    from .differences_page import *
    from .html_text import *
    from .plan_page import *
else:
    __getattr__, __all__ = lazy_names(
        __name__,
        {
            "archive_facts": "SCHEMA_COLUMNS ArchiveFacts importers_below schema_rows sharing",
            "archive_page": "page_of_archive",
            "differences_page": "page_of_differences",
            "html_text": "page_html",
            "plan_page": "page_of_plan",
        },
    )
