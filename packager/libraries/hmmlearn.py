"""What is known of hmmlearn: models, whose code in C looks at shapes before it reads."""

from __future__ import annotations

from typing import Final

from packager.audit import Rows
from packager.codecs import Library
from packager.libraries.families import ESTIMATOR, classes_of

LIBRARY: Final = Library("hmmlearn", "hmmlearn", rows=Rows((ESTIMATOR, classes_of("hmmlearn"))))
