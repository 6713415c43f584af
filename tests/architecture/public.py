"""What is public: the modules and names that `docs/reference.py` makes pages of."""

from __future__ import annotations

import importlib
import sys

from tests.architecture.rooms import ROOT

sys.path.append(str(ROOT / "docs"))
reference = importlib.import_module("reference")

MODULES: list[str] = reference.public_modules()
OF_PACKAGER = [module for module in MODULES if module.split(".")[0] == "packager"]
NAMES: dict[str, list[str]] = {module: reference.public_names(module) for module in MODULES}
