"""What is known of imbalanced-learn: estimators."""

from __future__ import annotations

from typing import Final

from packager.audit import Rows
from packager.codecs import Library
from packager.libraries.families import ESTIMATOR, classes_of

LIBRARY: Final = Library("imblearn", "imbalanced-learn", rows=Rows((ESTIMATOR, classes_of("imblearn"))))
