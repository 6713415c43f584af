"""What is known of SciPy: sparse matrices, trees of points, splines, and functions that compute."""

from __future__ import annotations

from typing import Any, Final

from packager.audit import Row, Rows, checked, exact_dict, take_attributes
from packager.codecs import Library
from packager.libraries.families import ESTIMATOR
from packager.quick_dataclasses import replace

from . import sparse_state, spatial_codec, splines

_VALUES: Final = {
    "scipy.linalg": "cho_factor cho_solve cholesky det expm inv lstsq norm pinv qr solve sqrtm svd",
    "scipy.special": """
        boxcox digamma entr erf erfc erfcinv erfinv expit expm1 exp2 exp10 gamma gammaln inv_boxcox
        kl_div log_expit log_ndtr logit loggamma log1p log_softmax logsumexp ndtr ndtri softmax
        softplus xlog1py xlogy
    """,
    "scipy._lib.array_api_compat.numpy": "asarray",  # what a spline makes arrays with
}
_SPARSE: Final = """
    bsr_array bsr_matrix coo_array coo_matrix csc_array csc_matrix csr_array csr_matrix
    dia_array dia_matrix dok_array dok_matrix lil_array lil_matrix
"""
_SPLINES: Final = {
    "scipy.interpolate": "Akima1DInterpolator BSpline CubicSpline PPoly PchipInterpolator",
    "scipy.interpolate._bsplines": "_BSpline",  # what a BSpline of SciPy 1.18 hands everything to
}


def _take_coordinates(made: Any, state: Any) -> None:
    """Take the attributes of a matrix; SciPy before 1.13 kept its coordinates in two of them."""
    names = dict(exact_dict(made, state))
    if "coords" not in names and {"row", "col"} <= names.keys():
        names["coords"] = (names.pop("row"), names.pop("col"))
    take_attributes(made, names)


LIBRARY: Final = Library(
    "scipy",
    "scipy",
    codecs=spatial_codec.CODECS,
    rows=Rows(
        (Row("value"), _VALUES),
        (Row("create", kind=""), {"scipy.sparse": _SPARSE}),
        (
            Row(kind="sparse"),
            {"scipy.sparse": "coo_array coo_matrix csc_array csc_matrix csr_array csr_matrix"},
        ),
        (Row(takes_state=_take_coordinates), {"scipy.sparse": "coo_matrix"}),
        (replace(ESTIMATOR, kind=""), _SPLINES),  # a part of estimators, and none
        (Row(takes_state=splines.take_spline), {"scipy.interpolate": "BSpline"}),
        *checked((*sparse_state.CHECKS, *spatial_codec.CHECKS, *splines.CHECKS)),
    ),
)
