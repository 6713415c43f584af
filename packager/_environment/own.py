"""This distribution itself as files: what a runnable archive carries, and a wheel of it.

Both import packages, and msgpack's pure-Python form. They are read as they are installed here, from a folder
or from an archive that carries them itself.
"""

from __future__ import annotations

import ast
import base64
import hashlib
import io
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from functools import cache, lru_cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from packager._version import OWN_NAME, OWN_PACKAGES

from .distributions import Distributions
from .errors import EnvironmentBuildError
from .installed import Installed

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable


# What starts a load, and what is found by a name that is no import, such as a child process; codecs are
# found by the name of a type, and whoever asks names their files. What `packager` offers is carried besides,
# for processes that serve a model; all but what belongs to exporting and to reports.
_NOT_OFFERED = frozenset(
    "DiGraph ExportPlan PackageExporter Predictor Signer bill_of_materials compare_files save "
    "write_checkpoint".split()
)
_LOADING = ("packager/_loading/",)
_COMMANDS = ("runnable", "run_command", "check_command", "verify_command")
_INSTALL = "install kellet by its wheel, or by its checkout: python -m pip install CHECKOUT"
_DATE = (1980, 1, 1, 0, 0, 0)


def own_files(*, beside: bool = False) -> Mapping[str, bytes]:
    """Return every source file of this distribution by its path, sorted, with its metadata.

    With `beside` also what it needs beside NumPy to load an archive: msgpack in pure Python.

    >>> files = own_files(beside=True)
    >>> "packager/_archive/reader.py" in files, "msgpack/fallback.py" in files
    (True, True)
    """
    found = _distribution(OWN_NAME, OWN_PACKAGES)
    if beside:  # it chooses this form by itself where its compiled module is not there
        found |= _distribution("msgpack", ("msgpack",))
    return {name: found[name] for name in sorted(found)}


def loader_files(found: Iterable[str] = ()) -> Mapping[str, bytes]:
    """Return what is needed beside NumPy to load an archive, run, check and verify it, by path, sorted.

    That is kellet, msgpack, and of packager the files that loading may enter: those that the roots below
    import, at whatever depth and inside functions too. Names of a face count as the files that they live in.
    `found` are files, without their ends, that are found by the name of a type and by no import.

    >>> files = loader_files()
    >>> "packager/package_importer.py" in files, "packager/package_exporter.py" in files
    (True, False)
    """
    files = own_files(beside=True)
    needed = _imported(files, {f"{name}{end}" for name in found for end in (".py", "/__init__.py")})
    return {name: data for name, data in files.items() if not name.startswith("packager/") or name in needed}


def own_wheel() -> tuple[str, bytes]:
    """Return a wheel of this distribution as it is installed here: its file name, and its bytes."""
    return wheel_of(own_files(), OWN_NAME, _installed(OWN_NAME).version)


def wheel_of(contents: Mapping[str, bytes], name: str, version: str) -> tuple[str, bytes]:
    """Return a pure-Python wheel of `contents`, which hold METADATA already: file name, and bytes.

    The same contents give the same bytes.

    Source: the binary distribution format of packaging.python.org.
    """
    folder = f"{name}-{version}.dist-info"
    whole = {
        **contents,
        f"{folder}/WHEEL": b"Wheel-Version: 1.0\nGenerator: packager\nRoot-Is-Purelib: true\n"
        b"Tag: py3-none-any\n",
    }
    record = [f"{path},sha256={_digest(data)},{len(data)}" for path, data in sorted(whole.items())]
    whole[f"{folder}/RECORD"] = "\n".join([*record, f"{folder}/RECORD,,", ""]).encode()
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as wheel:
        for path, data in whole.items():
            entry = zipfile.ZipInfo(path, _DATE)
            entry.external_attr = 0o100644 << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            wheel.writestr(entry, data)
    return f"{name}-{version}-py3-none-any.whl", target.getvalue()


def _imported(files: Mapping[str, bytes], others: set[str]) -> set[str]:
    """Return the files of packager that are reached from the roots, and from others, by imports."""
    waiting = {name for name in files if name.startswith(_LOADING)} | others
    waiting |= {"packager/__init__.py", *(f"packager/_cli/{name}.py" for name in _COMMANDS)}
    for name, home in _homes(files["packager/__init__.py"]).items():
        if name not in _NOT_OFFERED:
            waiting |= _files_of(f"packager/{home}", name, files)
    found: set[str] = set()
    while waiting:
        path = waiting.pop()
        if path in files and path not in found:
            found.add(path)
            for home, names in _imports(path, files[path]):
                waiting.update(*(_files_of(home, name, files) for name in names))
    return found


@cache
def _imports(path: str, source: bytes) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return what the file at `path` imports from which modules, but for what it does for type checkers."""
    found: list[tuple[str, tuple[str, ...]]] = []
    left: list[ast.AST] = [ast.parse(source)]
    while left:
        node = left.pop()
        if isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING":
            left += node.orelse
        elif isinstance(node, ast.ImportFrom):
            parts = path.split("/")[: -node.level] if node.level else []
            parts += node.module.split(".") if node.module else []
            found.append(("/".join(parts), tuple(alias.name for alias in node.names)))
        else:  # statements stand in lists of nodes; no expression holds one
            for inner in ("body", "orelse", "handlers", "finalbody", "cases"):
                left += held if isinstance(held := getattr(node, inner, ()), list) else ()
    return tuple(found)


def _files_of(module: str, name: str, files: Mapping[str, bytes]) -> set[str]:
    """Return the files in which `name` of a module may live, and the packages above them."""
    folders = module.split("/")
    above = {"/".join([*folders[:depth], "__init__.py"]) for depth in range(1, len(folders) + 1)}
    home = _homes(files.get(f"{module}/__init__.py", b"")).get(name, name)
    return {*above, f"{module}.py", f"{module}/{home}.py", f"{module}/{home}/__init__.py"}


@lru_cache
def _homes(face: bytes) -> Mapping[str, str]:
    """Return the file of each name that an `__init__` hands to `lazy_names`."""
    for node in ast.walk(ast.parse(face)):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "lazy_names":
            listed = ast.literal_eval(node.args[1])
            return {name: home for home, names in listed.items() for name in names.split()}
    return {}


def _distribution(name: str, packages: Iterable[str]) -> dict[str, bytes]:
    one = _installed(name)
    folder = f"{name}-{one.version}.dist-info"
    found = {f"{folder}/METADATA": one.metadata_head}
    for inner in ("entry_points.txt", "licenses/LICENSE", "licenses/COPYING"):
        if text := one.metadata_file(inner):
            found[f"{folder}/{inner}"] = text
    for package in packages:
        spec = find_spec(package)  # which does not import it
        loader: Any = spec.loader if spec is not None else None
        if loader is None:
            raise EnvironmentBuildError(f"{package} is not installed; {_INSTALL}")
        found |= _sources(loader.get_resource_reader(package).files(), package)
    return found


def _sources(folder: Traversable, path: str) -> Iterator[tuple[str, bytes]]:
    for child in folder.iterdir():
        inner = f"{path}/{child.name}"
        if child.is_dir():
            if child.name != "__pycache__":
                yield from _sources(child, inner)
        elif child.name.endswith((".py", "py.typed")):
            yield inner, child.read_bytes()


def _installed(name: str) -> Installed:
    found = Distributions().find(name)
    if found is None:
        raise EnvironmentBuildError(
            f"{name} runs here, but is not installed as a distribution, so that its version is not known; "
            f"{_INSTALL}"
        )
    return found


def _digest(data: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
