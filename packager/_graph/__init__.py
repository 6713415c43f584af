"""Code as a graph: import statements, where modules are, the closure over them, and importers."""

from packager._lazy import lazy_names

TYPE_CHECKING = False  # as in packager._lazy
if TYPE_CHECKING:
    from .closure import *
    from .closure_parts import *
    from .codes import *
    from .datafiles import *
    from .digraph import *
    from .encodings import *
    from .importers import *
    from .main_source import *
    from .module_finder import *
else:
    __getattr__, __all__ = lazy_names(
        __name__,
        {
            "closure": "Closure",
            "codes": "codes_in edited_now same_code",
            "datafiles": "is_library reason_to_leave_out too_large",
            "digraph": "DiGraph",
            "encodings": "source_encoding source_text",
            "importers": "Importer ObjMismatchError ObjNotFoundError OrderedImporter sys_importer",
            "main_source": "cells_of names_bound_in source_of_main statements_apart",
            "module_finder": "COMPILED ChainedSources Sources found_by_loader",
            "closure_parts": "ComputedImport DataFile Decide Edge Found Module Problem SourceFinder "
            "WalkDecision",
        },
    )
