"""Code as a graph: import statements, sources, the walk over them, and importers."""

from typing import TYPE_CHECKING

from packager.lazy import lazy_names

if TYPE_CHECKING:
    from .digraph import DiGraph as DiGraph
    from .importers import Importer as Importer
    from .importers import ObjMismatchError as ObjMismatchError
    from .importers import ObjNotFoundError as ObjNotFoundError
    from .importers import OrderedImporter as OrderedImporter
    from .importers import sys_importer as sys_importer
    from .records import Candidate as Candidate
    from .records import DataFile as DataFile
    from .records import Edge as Edge
    from .records import Fact as Fact
    from .records import Module as Module
    from .records import Problem as Problem
    from .records import Question as Question
    from .records import Verdict as Verdict
    from .walk import Walk as Walk

__all__ = [
    "Candidate",
    "DataFile",
    "DiGraph",
    "Edge",
    "Fact",
    "Importer",
    "Module",
    "ObjMismatchError",
    "ObjNotFoundError",
    "OrderedImporter",
    "Problem",
    "Question",
    "Verdict",
    "Walk",
    "sys_importer",
]

__getattr__ = lazy_names(
    __name__,
    {
        "digraph": "DiGraph",
        "importers": "Importer ObjMismatchError ObjNotFoundError OrderedImporter sys_importer",
        "records": "Candidate DataFile Edge Fact Module Problem Question Verdict",
        "walk": "Walk",
    },
)
