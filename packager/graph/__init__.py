"""Code as a graph: import statements, where modules are, the walk over them, and importers."""

from packager.lazy import lazy_names

TYPE_CHECKING = False  # as in packager.lazy
if TYPE_CHECKING:
    from .cells import *
    from .codes import *
    from .datafiles import *
    from .digraph import *
    from .effects import *
    from .encodings import *
    from .idioms import *
    from .importers import *
    from .loaders import *
    from .main_source import *
    from .module_finder import *
    from .named_paths import *
    from .named_variables import *
    from .other_finders import *
    from .records import *
    from .spelled_modules import *
    from .syntax import *
    from .unpicklers import *
    from .walk import *
else:
    __getattr__, __all__ = lazy_names(
        __name__,
        {
            "cells": "cells_of is_notebook parsed statements_apart",
            "codes": "codes_in edited_now same_code",
            "datafiles": "is_library reason_to_leave_out",
            "digraph": "DiGraph",
            "effects": "MUTATORS",
            "encodings": "source_encoding source_text",
            "idioms": "dotted",
            "importers": "Importer ObjMismatchError ObjNotFoundError OrderedImporter sys_importer",
            "loaders": "COMPILED ChainedSources LoaderSources found_by_loader",
            "main_source": "main_definitions names_bound_in",
            "module_finder": "Listings Sources",
            "named_paths": "paths_read",
            "named_variables": "variables_read",
            "other_finders": "finder_answer",
            "records": (
                "Candidate DataFile Decide Edge Found Module NamedFile Problem Question SourceFinder "
                "WalkDecision"
            ),
            "spelled_modules": "modules_spelled_out",
            "syntax": "imported_names nodes_in_functions",
            "unpicklers": "unpickling_places",
            "walk": "Walk",
        },
    )
