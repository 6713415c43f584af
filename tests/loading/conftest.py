"""Archives from trees of text: `pack({"pkg/__init__.py": "..."})` opens packaged code without an export."""

import hashlib
import importlib
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from packager._archive import ExternRecord, ModuleRecord
from packager._loading.bytecode import BytecodeCache
from packager._loading.open_archives import LoadedArchive, register, unregister
from packager._loading.packaged_code import ImportRules, PackagedCode

_identities = itertools.count(0xABCDEF00)


class TextArchive:
    """An archive in memory: the two things the loader asks of one."""

    name = "held.kellet"

    def __init__(self, tree: Mapping[str, str | bytes], externs: Sequence[str], mocks: Sequence[str]) -> None:
        self.files = {name: text.encode() if isinstance(text, str) else text for name, text in tree.items()}
        modules = [_module(name) for name in self.files if name.endswith(".py")]
        modules += [ModuleRecord(name, "mock", "mock", "test") for name in mocks]
        self.manifest = SimpleNamespace(
            environment={},
            modules=tuple(modules),
            externs=tuple(ExternRecord(name, "installed") for name in externs),
            entries=tuple(
                SimpleNamespace(
                    name=name,
                    kind="source" if name.endswith(".py") else "resource",
                    sha256=hashlib.sha256(data).hexdigest(),
                )
                for name, data in self.files.items()
            ),
            stored_modules=frozenset(module.name for module in modules if module.action == "intern"),
        )

    def read(self, name: str) -> bytes:
        return self.files[name]

    def entry(self, name: str) -> Any:
        return SimpleNamespace(kind="resource", sha256=hashlib.sha256(self.files[name]).hexdigest())


class Loaded:
    """An open archive and how a user would import from it."""

    def __init__(self, archive: LoadedArchive) -> None:
        self.archive = archive

    def module(self, name: str) -> Any:
        return importlib.import_module(self.archive.rules.in_process(name))

    def close(self) -> None:
        unregister(self.archive)
        self.archive.close()


def _module(path: str) -> ModuleRecord:
    is_package = path.endswith("/__init__.py")
    name = path.removesuffix("/__init__.py").removesuffix(".py").replace("/", ".")
    return ModuleRecord(name, "intern", "intern **", "test", path, is_package)


@pytest.fixture
def pack(tmp_path, monkeypatch) -> Iterator[Callable[..., Loaded]]:
    """Open packaged code from a tree of text; everything is closed after the test."""
    monkeypatch.setenv("KELLET_CACHE", str(tmp_path / "cache"))
    opened: list[Loaded] = []

    def pack(
        tree: Mapping[str, str | bytes],
        *,
        externs: Sequence[str] = (),
        mocks: Sequence[str] = (),
        undeclared: str = "error",
        installed: bool = False,
        bytecode: Any = None,
    ) -> Loaded:
        code = PackagedCode(TextArchive(tree, externs, mocks))
        identity = f"{next(_identities):012x}"
        suffix = "" if installed else f"__w{identity}_0"
        rules = ImportRules(code, suffix, undeclared)
        archive = LoadedArchive(code, identity, rules, BytecodeCache(bytecode))
        register(archive)
        opened.append(Loaded(archive))
        return opened[-1]

    yield pack
    for loaded in opened:
        loaded.close()
