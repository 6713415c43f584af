"""What is known of networkx: views of graphs, beside code."""

from __future__ import annotations

from typing import Final

from packager.audit import Row, Rows
from packager.codecs import Library

_VIEWS: Final = {
    "networkx.classes.coreviews": """
        AdjacencyView AtlasView MultiAdjacencyView UnionAdjacency UnionAtlas UnionMultiAdjacency
        UnionMultiInner
    """,
    "networkx.classes.reportviews": """
        DegreeView DiDegreeView DiMultiDegreeView EdgeDataView EdgeView InDegreeView InEdgeDataView
        InEdgeView InMultiDegreeView InMultiEdgeDataView InMultiEdgeView MultiDegreeView
        MultiEdgeDataView MultiEdgeView NodeDataView NodeView OutDegreeView OutEdgeDataView
        OutEdgeView OutMultiDegreeView OutMultiEdgeDataView OutMultiEdgeView
    """,
}
LIBRARY: Final = Library("networkx", "networkx", rows=Rows((Row(uses="fills itself"), _VIEWS)))
