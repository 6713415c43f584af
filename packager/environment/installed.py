"""One installed distribution, read from its metadata folder piece by piece as it is asked."""

from __future__ import annotations

import os
import re
from functools import cached_property, lru_cache

from packager import disk
from packager.disk import list_folder, read_whole
from packager.late_patterns import late_pattern
from packager.names import normalized_name
from packager.quick_dataclasses import dataclass
from packager.version import OWN_NAME

_COMPILED = late_pattern(rb"\.(?:so(?:\.[0-9.]+)?|pyd|dll|dylib)(?=[,\"]|\r?$)", re.MULTILINE)
# With the lines below that begin alike: a large distribution has ten thousand of these.
_FIRST_PART = late_pattern(rb"^\"?([^/,\"\r\n]+)([/,])[^\n]*+(?:\n\"?\1\2[^\n]*+)*+", re.MULTILINE)
_EXTENSION_MODULE = late_pattern(r"(?P<top>[^.]+)(?:\.[^/]+)?\.(?:py|so|pyd)")


@dataclass(frozen=True)
class Installed:
    """A distribution: normalised name, version, the folder it is installed in, its metadata folder."""

    name: str
    version: str
    location: str
    metadata: str

    @classmethod
    def read(cls, location: str, folder: str, name: str, version: str | None) -> Installed:
        """Read the name of a metadata folder; an `.egg-info` without a version is looked into."""
        metadata = os.path.join(location, folder)
        return cls(normalized_name(name), version or _version_in_metadata(metadata), location, metadata)

    @property
    def is_egg(self) -> bool:
        """Whether the metadata is an `.egg-info`, which a build leaves beside the source."""
        return self.metadata.endswith(".egg-info")

    @cached_property
    def import_names(self) -> frozenset[str]:
        """The top-level names that the distribution makes importable."""
        declared = frozenset(self._text("top_level.txt").split())
        if declared:
            return declared
        names = self._recorded_names() | frozenset(self._editable_map)
        return names or frozenset({self.name.replace("-", "_")})

    @cached_property
    def is_compiled(self) -> bool:
        """Whether any file is a compiled module or a shared library."""
        if _COMPILED.search(self._record):
            return True
        if (self._record and not self.editable) or self.name == OWN_NAME:  # of Python code alone
            return False
        return any(_holds_compiled(folder) for folder in self._code_folders())

    @cached_property
    def editable(self) -> tuple[str, ...]:
        """The source folders of an install in place; empty for an ordinary one."""
        if self.is_egg and os.path.basename(self.location) not in ("site-packages", "dist-packages"):
            return (self.location,)
        root, is_editable = _local_place(self._text("direct_url.json"))
        return tuple(dict.fromkeys([*self._editable_map.values(), *([root] if is_editable else [])]))

    @cached_property
    def is_local(self) -> bool:
        """Whether it was installed from a folder at hand (`pip install .`), in place or as a copy.

        What conda installs names the folder of its build, on another machine: that is no project of ours.
        """
        if self.editable:
            return True
        stated = self._text("direct_url.json")
        return (
            bool(_local_place(stated)[0])
            and '"dir_info"' in stated
            and "conda" not in self._text("INSTALLER")
        )

    @cached_property
    def place(self) -> str:
        """The folder, file or address it was installed from, where that was no index; empty for all others.

        An address is that of a file, or of a repository with its commit: `git+https://host/x@commit`.
        """
        stated = self._text("direct_url.json")
        return _local_place(stated)[0] or next(iter(self.editable), "") or _address(stated)

    @cached_property
    def metadata_head(self) -> bytes:
        """METADATA up to the first empty line: name, version, requirements and the like."""
        whole = _read(os.path.join(self.metadata, "PKG-INFO" if self.is_egg else "METADATA"))
        return whole.replace(b"\r\n", b"\n").partition(b"\n\n")[0].rstrip(b"\n") + b"\n" if whole else b""

    def metadata_names(self, folder: str = "") -> list[str]:
        """List the names in the metadata folder, or in a folder of it, sorted; none where that is absent."""
        return sorted(_listed(os.path.join(self.metadata, folder)))

    def metadata_file(self, name: str) -> bytes:
        """Return a file of the metadata folder; empty where it is absent."""
        return _read(os.path.join(self.metadata, name))

    def holds(self, file: str) -> bool:
        """Check whether the source at path `file` can belong to this distribution, by where it lies."""
        folders = self.editable or (self.location,)
        return any(file == folder or file.startswith(os.path.join(folder, "")) for folder in folders)

    def claim_depth(self, module: str) -> int:
        """Count the leading parts of `module` that are folders or files of this distribution."""
        parts, depth = module.split("."), 0
        for count in range(1, len(parts) + 1):
            path = "/".join(parts[:count]).encode()
            if re.search(rb"^" + re.escape(path) + rb"(?:/|\.)", self._record, re.MULTILINE) is None:
                break
            depth = count
        return depth

    @cached_property
    def _record(self) -> bytes:
        return _read(os.path.join(self.metadata, "RECORD")) or _read(
            os.path.join(self.metadata, "installed-files.txt")
        )

    @cached_property
    def _editable_map(self) -> dict[str, str]:
        """Import name -> source path, from the .pth files and finders that an editable install adds."""
        found: dict[str, str] = {}
        for part, follow in _first_parts(self._record):
            if follow == b"," and part.endswith((b".pth", b".py")):
                path = os.path.join(self.location, part.decode())
                if path.endswith(".pth"):
                    found.update(_names_behind_pth(path))
                elif "__editable__" in path:
                    found.update(_finder_mapping(path))
        return found

    def _recorded_names(self) -> frozenset[str]:
        names = set()
        for part, follow in _first_parts(self._record):
            text = part.decode("utf-8", "replace")
            module = _EXTENSION_MODULE.fullmatch(text)
            if follow == b"/" and text.isidentifier() and text != "__pycache__":
                names.add(text)
            elif follow == b"," and module is not None and "__editable__" not in text:
                names.add(module["top"])
        return frozenset(names)

    def _code_folders(self) -> list[str]:
        if self.editable:
            return [path for path in self._editable_map.values() if os.path.isdir(path)] or [
                os.path.join(root, name) for root in self.editable for name in sorted(self.import_names)
            ]
        return [os.path.join(self.location, name) for name in sorted(self.import_names)]

    def _text(self, name: str) -> str:
        return _read(os.path.join(self.metadata, name)).decode("utf-8", "replace")


@lru_cache(1024)
def _first_parts(record: bytes) -> tuple[tuple[bytes, bytes], ...]:
    """Return the first part of each path in a record, once, and what follows it: a slash or a comma."""
    return tuple(dict.fromkeys(_FIRST_PART.findall(record)))


def _version_in_metadata(metadata: str) -> str:
    for name in ("METADATA", "PKG-INFO"):
        match = re.search(rb"^Version:[ \t]*(\S+)", _read(os.path.join(metadata, name)), re.MULTILINE)
        if match is not None:
            return match[1].decode("utf-8", "replace")
    return "0"


def _local_place(direct_url: str) -> tuple[str, bool]:
    """Return the path that a direct_url.json names, and whether it is installed in place; "" for no path."""
    import json  # few have been installed from an address
    from urllib.parse import unquote, urlsplit

    try:
        stated = json.loads(direct_url)
        parts, is_editable = urlsplit(stated["url"]), bool(stated.get("dir_info", {}).get("editable"))
    except (ValueError, KeyError, TypeError, AttributeError):
        return "", False
    if parts.scheme != "file":
        return "", False
    path = unquote(parts.path)  # urllib.request has a function for this, and takes 60 ms to import
    return os.path.abspath(path.lstrip("/") if os.name == "nt" else path), is_editable


def _address(direct_url: str) -> str:
    """Return the address that a direct_url.json names, without passwords and tokens; "" where it has none.

    Source: PEP 610, which leaves most of them out already.
    """
    import json
    from urllib.parse import quote, urlsplit

    try:
        stated = json.loads(direct_url)
        parts, version_control = urlsplit(stated["url"]), stated.get("vcs_info", {})
        name, commit = (str(version_control.get(key, "")) for key in ("vcs", "commit_id"))
    except (ValueError, KeyError, TypeError, AttributeError):
        return ""
    user, at, host = parts.netloc.rpartition("@")
    kept = f"{user.partition(':')[0]}{at}" if parts.scheme == "ssh" else ""
    address = f"{parts.scheme}://{kept}{host}{parts.path}"
    # It ends up in messages, and in a command to paste.
    return quote(f"{name}+{address}@{commit}" if name else address, safe=":/@+~%")


def _names_behind_pth(path: str) -> dict[str, str]:
    """Import name -> path, for the folders that a .pth file adds (its `import` lines are never run)."""
    found: dict[str, str] = {}
    for line in _read(path).decode("utf-8", "replace").splitlines():
        if not line.strip() or line.startswith(("#", "import ", "import\t")):
            continue
        folder = os.path.join(os.path.dirname(path), line.strip())
        for name in sorted(_listed(folder)):
            full = os.path.join(folder, name)
            if name.endswith(".py"):
                found[name[:-3]] = full
            elif name.isidentifier() and os.path.isfile(os.path.join(full, "__init__.py")):
                found[name] = full
    return found


def _finder_mapping(path: str) -> dict[str, str]:
    """The literal `MAPPING` of a setuptools editable finder, read without running it."""
    import ast  # where something is installed in place

    try:
        tree = ast.parse(_read(path))
    except SyntaxError:
        return {}
    for node in tree.body:
        target = node.target if isinstance(node, ast.AnnAssign) else None
        if isinstance(target, ast.Name) and target.id == "MAPPING" and isinstance(node, ast.AnnAssign):
            try:
                mapping = ast.literal_eval(node.value) if node.value is not None else {}
            except ValueError:
                return {}
            return {str(name): str(place) for name, place in mapping.items()}
    return {}


def _holds_compiled(folder: str) -> bool:
    waiting = [folder]
    for place in waiting:  # grows while it is walked
        try:
            names = list_folder(place)
        except OSError:
            continue
        for name, is_folder, is_link in names:
            if not is_folder and _COMPILED.search(name.encode("utf-8", "surrogateescape")):
                return True
            if is_folder and not is_link:
                waiting.append(os.path.join(place, name))
    return False


def _listed(folder: str) -> list[str]:
    try:
        return disk.names_in(folder)
    except OSError:  # a folder inside a ZIP file, or none
        return names_in(folder)


def names_in(folder: str) -> list[str]:
    """List the names directly in `folder`, a path inside a ZIP file; nothing for any other path."""
    file, inner = _split(folder)
    if file is None:
        return []
    below = f"{inner}/" if inner else ""
    found = {name[len(below) :].partition("/")[0] for name in _names(file) if name.startswith(below)}
    return sorted(found - {""})


def read_in(path: str) -> bytes:
    """Read a file inside a ZIP file; empty where there is none."""
    file, inner = _split(path)
    if file is None or inner not in _names(file):
        return b""
    from zipfile import ZipFile

    with ZipFile(file) as archive:
        return archive.read(inner)


def _read(path: str) -> bytes:
    try:
        return read_whole(path)
    except OSError:
        return read_in(path)


def _split(path: str) -> tuple[str | None, str]:
    """The file that a path leads through, and the rest of the path below it."""
    file, parts = path, []
    while not os.path.exists(file):
        file, name = os.path.split(file)
        if not name:
            return None, ""
        parts.append(name)
    return (file if os.path.isfile(file) else None), "/".join(reversed(parts))


@lru_cache(maxsize=8)
def _names(file: str) -> frozenset[str]:
    from zipfile import BadZipFile, ZipFile

    try:
        with ZipFile(file) as archive:
            return frozenset(archive.namelist())
    except (BadZipFile, OSError):
        return frozenset()
