"""Code as a graph: import statements, sources, the walk over them, and importers."""

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
