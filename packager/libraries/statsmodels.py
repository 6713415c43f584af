"""What is known of statsmodels: models and results of arrays."""

from __future__ import annotations

from typing import Final

from packager.audit import Row, Rows
from packager.codecs import Library
from packager.libraries.families import classes_of
from packager.libraries.formulas import model_of

_FAMILIES: Final = "Binomial Family Gamma Gaussian InverseGaussian NegativeBinomial Poisson Tweedie"
LIBRARY: Final = Library(
    "statsmodels",
    "statsmodels",
    rows=Rows(
        (
            model_of("statsmodels", "__doc__ normalized_cov_params"),
            classes_of("statsmodels"),
        ),  # results say what they are
        (
            Row(replaces="variance"),
            {"statsmodels.genmod.families.family": _FAMILIES, "statsmodels.genmod.families": _FAMILIES},
        ),  # the class has a function, each object one of its own
    ),
)
