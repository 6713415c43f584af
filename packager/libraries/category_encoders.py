"""What is known of category-encoders: estimators."""

from __future__ import annotations

from typing import Final

from packager.audit import Rows
from packager.codecs import Library
from packager.libraries.families import ESTIMATOR, classes_of

LIBRARY: Final = Library(
    "category_encoders", "category-encoders", rows=Rows((ESTIMATOR, classes_of("category_encoders")))
)
