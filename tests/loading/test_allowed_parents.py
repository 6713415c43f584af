"""Code that `module_allowed` refuses does not run for a module below it."""

from __future__ import annotations

import io
from importlib import import_module

import pytest

from packager import PackageExporter, PackageImporter
from packager._loading.packaged_code import DisallowedModuleError


def test_a_package_around_the_class_of_an_object_is_asked_for(project):
    project({"around/__init__.py": "", "around/inner.py": "class Net:\n    pass\n"})
    file = io.BytesIO()
    with PackageExporter(file, policy="auto", prove=False) as exporter:
        exporter.save_object("model", "model", import_module("around.inner").Net())
    with PackageImporter(file, lambda name: name != "around") as importer:
        with pytest.raises(DisallowedModuleError, match="code of the module 'around', but module_allowed"):
            importer.load_object("model", "model")
        assert importer.modules == {}
    with PackageImporter(file, lambda name: name.startswith("around")) as importer:
        assert type(importer.load_object("model", "model")).__name__ == "Net"
