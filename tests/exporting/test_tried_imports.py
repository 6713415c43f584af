"""What may not run, or may fail, is optional where it is here; what a handler catches is absent where not."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from packager import PackageExporter, PackageImporter, PackagingWarning

Project = Callable[[Mapping[str, str]], Path]

CAUGHT = {
    "statement": "try:\n    import {}\nexcept ImportError:\n    pass\n",
    "in a function": "def f():\n    try:\n        import {}\n"
    "    except ModuleNotFoundError as error:\n        return str(error)\n",
    "__import__": "try:\n    __import__('{}')\nexcept (AttributeError, ImportError):\n    pass\n",
    "import_module": "import importlib\ndef f():\n    try:\n        importlib.import_module('{}')\n"
    "    except Exception as error:\n        return str(error)\n",
    "suppress": "import contextlib\nwith contextlib.suppress(ImportError):\n    __import__('{}')\n",
    "nested": "def f():\n    for _ in range(2):\n        try:\n            if f:\n                import {}\n"
    "        except:\n            return 1\n",
}  # fmt: skip
NOT_CAUGHT = {
    "a try without handlers": "try:\n    import {}\nfinally:\n    pass\n",
    "another error": "try:\n    import {}\nexcept ValueError:\n    pass\n",
    "a function in a try": "try:\n    def f():\n        import {}\nexcept ImportError:\n    pass\n",
    "the handler": "def f():\n    try:\n        f.x()\n    except Exception:\n        import {}\n",
    "a function": "def f():\n    __import__('{}')\n",
}
ALWAYS = {
    "the top level": "import {}\n",
    "with": "import contextlib\nwith contextlib.nullcontext():\n    import {}\n",
    "suppress another": "import contextlib\nwith contextlib.suppress(KeyError):\n    import {}\n",
    "for": "for _ in range(1):\n    import {}\n",
    "a class": "class A:\n    import {}\n",
    "finally": "try:\n    pass\nfinally:\n    __import__('{}')\n",
}


def exported(project: Project, text: str) -> PackageImporter:
    project({"triedpkg/__init__.py": "", "triedpkg/one.py": text})
    file = io.BytesIO()
    with PackageExporter(file, policy="auto", prove=False) as exporter:
        exporter.intern("triedpkg.**")
        exporter.save_module("triedpkg.one")
    return PackageImporter(file)


@pytest.mark.parametrize("how", [*CAUGHT, *NOT_CAUGHT])
def test_what_may_not_run_or_fail_is_optional(project: Project, how: str) -> None:
    with exported(project, {**CAUGHT, **NOT_CAUGHT}[how].format("msgpack")) as importer:
        assert {one.name: one.optional for one in importer.manifest.externs}["msgpack"]


@pytest.mark.parametrize("how", ALWAYS)
def test_what_runs_always_is_not(project: Project, how: str) -> None:
    with exported(project, ALWAYS[how].format("msgpack")) as importer:
        assert not {one.name: one.optional for one in importer.manifest.externs}["msgpack"]


@pytest.mark.parametrize("name", ["fog_over_there", "triedpkg.fog"])
@pytest.mark.parametrize("how", CAUGHT)
def test_what_is_tried_and_absent_is_no_matter_and_stays_absent(
    project: Project, how: str, name: str
) -> None:
    with exported(project, CAUGHT[how].format(name)) as importer:
        module = importer.import_module("triedpkg.one")
        assert not {record.name for record in importer.manifest.modules} & {name}
        if how in ("in a function", "import_module"):
            assert name in module.f()


@pytest.mark.parametrize("how", ["a function in a try", "the handler", "a function"])
def test_what_is_absent_and_nothing_catches_is_told(project: Project, how: str) -> None:
    with pytest.warns(
        PackagingWarning, match="fog_over_there was not found here. Code that imports it fails"
    ):
        exported(project, NOT_CAUGHT[how].format("fog_over_there")).close()


def test_a_module_that_is_not_here_is_not_in_the_archive_whatever_rule_names_it(project: Project) -> None:
    code = """
try:
    import fog_over_there
except ImportError:
    if len(__name__) < 2:
        import triedpkg.fog
"""
    with exported(project, code) as importer:
        assert [record.name for record in importer.manifest.modules] == ["triedpkg", "triedpkg.one"]
