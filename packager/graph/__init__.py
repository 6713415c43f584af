"""Code as a graph: import statements, where modules are, the walk over them, and importers."""

from typing import TYPE_CHECKING

from packager.lazy import lazy_names

if TYPE_CHECKING:
    from .digraph import DiGraph as DiGraph
    from .importers import Importer as Importer
    from .importers import ObjMismatchError as ObjMismatchError
    from .importers import ObjNotFoundError as ObjNotFoundError
    from .importers import OrderedImporter as OrderedImporter
    from .importers import sys_importer as sys_importer
    from .loaders import COMPILED as COMPILED
    from .loaders import found_by_loader as found_by_loader
    from .module_finder import ChainedSources as ChainedSources
    from .module_finder import LoaderSources as LoaderSources
    from .module_finder import SourceFinder as SourceFinder
    from .module_finder import Sources as Sources
    from .records import Candidate as Candidate
    from .records import Decide as Decide
    from .records import Edge as Edge
    from .records import Found as Found
    from .records import Module as Module
    from .records import Problem as Problem
    from .records import Question as Question
    from .records import WalkDecision as WalkDecision
    from .walk import Walk as Walk

__all__ = [
    "COMPILED",
    "Candidate",
    "ChainedSources",
    "Decide",
    "DiGraph",
    "Edge",
    "Found",
    "Importer",
    "LoaderSources",
    "Module",
    "ObjMismatchError",
    "ObjNotFoundError",
    "OrderedImporter",
    "Problem",
    "Question",
    "SourceFinder",
    "Sources",
    "Walk",
    "WalkDecision",
    "found_by_loader",
    "sys_importer",
]

__getattr__ = lazy_names(
    __name__,
    {
        "digraph": "DiGraph",
        "importers": "Importer ObjMismatchError ObjNotFoundError OrderedImporter sys_importer",
        "loaders": "COMPILED found_by_loader",
        "module_finder": "ChainedSources LoaderSources SourceFinder Sources",
        "records": "Candidate Decide Edge Found Module Problem Question WalkDecision",
        "walk": "Walk",
    },
)
