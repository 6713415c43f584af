"""What is packed is what runs: loaders that read other text, or make other code of it, are asked and told."""

from __future__ import annotations

import base64
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import io
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext
from importlib.machinery import FileFinder, ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from typing import Any

import pytest

from packager import PackageExporter, PackageImporter, PackagingWarning
from packager._graph import Sources

Project = Callable[[Mapping[str, str]], Path]


class Secret(SourceFileLoader):
    """Reads files that are written in base 64: what lies on disk is not what runs."""

    def get_data(self, path: str) -> bytes:
        data = super().get_data(path)
        return base64.b64decode(data) if path.endswith(".py") else data


class Rewriting(SourceFileLoader):
    """Makes other code of the source, as hooks that check types do."""

    def source_to_code(self, data: Any, path: Any, *, _optimize: int = -1) -> Any:  # type: ignore[override]  # as in the base
        return super().source_to_code(bytes(data).replace(b"plain", b"rewritten"), path)


class Executing(SourceFileLoader):
    def exec_module(self, module: Any) -> None:
        module.word = "executed"


class Coding(SourceFileLoader):
    def get_code(self, fullname: str) -> Any:
        return compile("word = 'coded'", "<coded>", "exec")


class Telling(SourceFileLoader):
    """Knows the text that it runs, which is not that of the file."""

    def get_source(self, fullname: str) -> str:
        return "word = 'told'\n"

    def get_code(self, fullname: str) -> Any:
        return compile(self.get_source(fullname), "<told>", "exec")


class Lying(SourceFileLoader):
    """Says another text than it runs: `get_code` of Python does not ask for it."""

    def get_source(self, fullname: str) -> str:
        return "word = 'a lie'\n"


class Broken(SourceFileLoader):
    def get_data(self, path: str) -> bytes:
        raise RuntimeError("no key for it")


class Untold:
    """A loader that is none of Python's, and gives no source: pytest's assertion rewriting is one."""

    def create_module(self, spec: ModuleSpec) -> None: ...

    def exec_module(self, module: Any) -> None:
        module.word = "untold"


class Memory(importlib.abc.InspectLoader):
    """Python's own way from `get_source` to the module."""

    def get_source(self, fullname: str) -> str:
        return "# -*- coding: latin-1 -*-\nword = 'm\xe9moire'\n"


class Hook:
    """A finder before Python's own, for modules of one name."""

    def __init__(self, name: str, loader: Any) -> None:
        self.name, self.loader = name, loader

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if name != self.name:
            return None
        found = PathFinder.find_spec(name, path)
        assert found is not None
        assert found.origin is not None
        made = self.loader(name, found.origin) if issubclass(self.loader, SourceFileLoader) else self.loader()
        if isinstance(made, Memory):
            return ModuleSpec(name, made)
        return importlib.util.spec_from_file_location(name, found.origin, loader=made)


@pytest.fixture
def hooked(project: Project, monkeypatch: pytest.MonkeyPatch) -> Callable[[Any, str], None]:
    """Write `hookpkg.part`, and have it loaded by a loader."""

    def write(loader: Any, text: str = "word = 'plain'\n") -> None:
        project({"hookpkg/__init__.py": "", "hookpkg/part.py": text})
        monkeypatch.setattr(sys, "meta_path", [Hook("hookpkg.part", loader), *sys.meta_path])

    return write


def packed(name: str = "hookpkg.part") -> tuple[Any, tuple[str, ...]]:
    """The word of a module that was packed and loaded, and the warnings of the plan."""
    buffer = io.BytesIO()
    exporter = PackageExporter(buffer, policy="auto", prove=False)
    exporter.save_module(name)
    told = exporter.plan().warnings
    with pytest.warns(PackagingWarning, match=re.escape(told[0])) if told else nullcontext():
        exporter.close()
    with PackageImporter(buffer) as importer:
        return importer.import_module(name).word, told


IMPORTED = pytest.mark.parametrize("imported", [False, True], ids=["not imported", "imported"])


@IMPORTED
def test_a_loader_that_reads_other_text_is_asked_for_it(
    hooked: Any, monkeypatch: pytest.MonkeyPatch, imported: bool
) -> None:
    hooked(Secret, base64.b64encode(b"word = 'secret'\n").decode())
    if imported:
        assert importlib.import_module("hookpkg.part").word == "secret"
        monkeypatch.setattr(sys, "meta_path", sys.meta_path[1:])  # the hook is gone, the module is not
    assert packed() == ("secret", ())


@IMPORTED
@pytest.mark.parametrize(
    ("loader", "here", "there"),
    [
        (Rewriting, "rewritten", "plain"),
        (Executing, "executed", "plain"),
        (Coding, "coded", "plain"),
        (Telling, "told", "told"),
        (Untold, "untold", "plain"),
    ],
)
def test_a_loader_that_makes_the_code_is_named_with_the_module(
    hooked: Any, monkeypatch: pytest.MonkeyPatch, imported: bool, loader: Any, here: str, there: str
) -> None:
    hooked(loader)
    if imported:
        assert importlib.import_module("hookpkg.part").word == here
        monkeypatch.setattr(sys, "meta_path", sys.meta_path[1:])
    word, warnings = packed()
    assert word == there
    (warning,) = warnings
    assert warning == (
        f"hookpkg.part is loaded by {loader.__module__}.{loader.__name__}, which may change its code; the "
        "archive runs the source unchanged. Import it without that loader to compare, or require it at the "
        'target: exporter.extern("hookpkg.part")'
    )


def test_the_assertions_of_pytest_are_such_a_hook() -> None:
    found = Sources().find(__name__)
    assert found.kind == "source"
    assert f"{__name__} is loaded by _pytest.assertion.rewrite.AssertionRewritingHook" in found.caveat
    assert found.read is not None
    assert found.read() == Path(__file__).read_bytes()


def test_what_get_source_says_counts_only_where_it_is_what_runs(hooked: Any) -> None:
    hooked(Lying)
    assert packed() == ("plain", ())
    assert importlib.import_module("hookpkg.part").word == "plain"


def test_a_source_in_memory_keeps_the_encoding_that_it_names(hooked: Any) -> None:
    hooked(Memory)
    assert packed() == ("m\xe9moire", ())


def test_python_s_own_loaders_are_read_as_they_are(hooked: Any) -> None:
    hooked(SourceFileLoader)
    assert packed() == ("plain", ())
    assert Sources().find("os").caveat == Sources().find("json").caveat == ""


def test_a_loader_that_cannot_read_is_a_problem(hooked: Any) -> None:
    hooked(Broken)
    exporter = PackageExporter(io.BytesIO(), policy="auto", prove=False)
    exporter.save_module("hookpkg.part")
    (problem,) = exporter.plan().problems
    assert (problem.reason, problem.subject) == ("Module has no source that could be stored.", "hookpkg.part")
    assert "cannot read its source: RuntimeError: no key for it" in problem.context


def test_modules_that_stay_outside_need_no_word(hooked: Any) -> None:
    hooked(Rewriting)
    exporter = PackageExporter(io.BytesIO(), policy="auto", prove=False)
    exporter.extern("hookpkg.**")
    exporter.save_source_string("hookuser", "import hookpkg.part")
    assert not [warning for warning in exporter.plan().warnings if "is loaded by" in warning]


def test_a_source_that_is_given_in_its_place_needs_no_word(hooked: Any) -> None:
    hooked(Rewriting)
    buffer = io.BytesIO()
    with PackageExporter(buffer, policy="auto", prove=False) as exporter:
        exporter.save_source_string("hookpkg.part", "word = 'rewritten'\n")
        assert exporter.plan().warnings == ()
    with PackageImporter(buffer) as importer:
        assert importer.import_module("hookpkg.part").word == "rewritten"


@pytest.fixture
def path_hook(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Any], None]]:
    """Have everything in folders loaded by a loader, as beartype's hook does."""
    caches = dict(sys.path_importer_cache)

    def hook(loader: Any) -> None:
        made = FileFinder.path_hook((loader, importlib.machinery.SOURCE_SUFFIXES))
        monkeypatch.setattr(sys, "path_hooks", [made, *sys.path_hooks])
        sys.path_importer_cache.clear()

    yield hook
    sys.path_importer_cache.clear()
    sys.path_importer_cache.update(caches)


def test_a_hook_for_folders_is_seen_too(project: Project, path_hook: Callable[[Any], None]) -> None:
    project({"hookpkg/__init__.py": "", "hookpkg/part.py": "word = 'plain'\n"})
    path_hook(Rewriting)
    word, warnings = packed()
    assert word == "plain"
    assert [warning.partition(",")[0] for warning in warnings] == [
        f"hookpkg is loaded by {__name__}.Rewriting",
        f"hookpkg.part is loaded by {__name__}.Rewriting",
    ]
    path_hook(SourceFileLoader)
    assert packed() == ("plain", ())


def test_a_module_that_waits_to_be_loaded_stays_unloaded(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    project({"hooklazy.py": "raise RuntimeError('loaded')\n"})
    spec = importlib.util.find_spec("hooklazy")
    assert spec is not None
    assert spec.loader is not None
    spec.loader = importlib.util.LazyLoader(spec.loader)
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "hooklazy", module)
    spec.loader.exec_module(module)
    found = Sources().find("hooklazy")
    assert (found.kind, found.caveat) == ("source", "")
    assert found.read is not None
    assert found.read() == b"raise RuntimeError('loaded')\n"
    del sys.modules["hooklazy"]  # before anything asks it for more
