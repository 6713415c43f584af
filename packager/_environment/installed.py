"""One installed distribution, read from its metadata folder piece by piece as it is asked."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from functools import cached_property

from packager._disk import file_bytes, names_in
from packager._names import normalized_name
from packager._quick_dataclasses import dataclass
from packager._version import OWN_NAME

_COMPILED = re.compile(rb"\.(?:so(?:\.[0-9.]+)?|pyd|dll|dylib)(?=[,\"]|\r?$)", re.MULTILINE)
# With the lines below that begin alike: a large distribution has ten thousand of these.
_FIRST_PART = re.compile(rb"^\"?([^/,\"\r\n]+)([/,])[^\n]*+(?:\n\"?\1\2[^\n]*+)*+", re.MULTILINE)
_REQUIRES = re.compile(rb"^Requires-Dist:[ \t]*([A-Za-z0-9][A-Za-z0-9._-]*)([^\r\n]*)", re.MULTILINE)
_OF_AN_EXTRA = re.compile(rb"\bextra\b")
_EXTENSION_MODULE = re.compile(r"(?P<top>[^.]+)(?:\.[^/]+)?\.(?:py|so|pyd)")


@dataclass(frozen=True)
class Installed:
    """A distribution: normalised name, the version in the name of its metadata folder, where both lie."""

    name: str
    named_version: str | None
    location: str
    metadata: str

    @classmethod
    def of(cls, location: str, folder: str, name: str, version: str | None) -> Installed:
        """Return the distribution of a metadata folder in `location`; nothing is read."""
        return cls(normalized_name(name), version, location, os.path.join(location, folder))

    @cached_property
    def version(self) -> str:
        """The version; an `.egg-info` without one in its name is looked into."""
        return self.named_version or _version_in_metadata(self.metadata)

    @property
    def is_in_place(self) -> bool:
        """Whether an installer says that the code is run from its source folder."""
        return self._origin.is_editable

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
        record = self._record
        if _COMPILED.search(record):
            return True
        if (record and not self.editable) or self.name == OWN_NAME:  # of Python code alone
            return False
        return any(
            _COMPILED.search(os.fsencode(name))
            for folder in self._code_folders()
            for _, _, names in os.walk(folder)
            for name in names
        )

    @cached_property
    def editable(self) -> tuple[str, ...]:
        """The source folders of an install in place; empty for an ordinary one."""
        if self.is_egg and os.path.basename(self.location) not in ("site-packages", "dist-packages"):
            return (self.location,)
        in_place = [self._origin.place] if self.is_in_place else []
        return tuple(dict.fromkeys([*self._editable_map.values(), *in_place]))

    @cached_property
    def is_local(self) -> bool:
        """Whether it was installed from a folder at hand (`pip install .`), in place or as a copy.

        What conda installs names the folder of its build, on another machine: that is no project of ours.
        """
        return bool(self.editable) or (self._origin.is_folder and "conda" not in self._text("INSTALLER"))

    @cached_property
    def place(self) -> str:
        """The folder, file or address it was installed from, where that was no index; empty for all others.

        An address is that of a file, or of a repository with its commit: `git+https://host/x@commit`.
        """
        return self._origin.place or next(iter(self.editable), "")

    @property
    def digest(self) -> str:
        """The sha256 of the file at the address that it was installed from; empty where it is not known."""
        return self._origin.sha256

    @cached_property
    def metadata_head(self) -> bytes:
        """METADATA up to the first empty line: name, version, requirements and the like."""
        whole = _read(os.path.join(self.metadata, "PKG-INFO" if self.is_egg else "METADATA"))
        return whole.replace(b"\r\n", b"\n").partition(b"\n\n")[0].rstrip(b"\n") + b"\n" if whole else b""

    @cached_property
    def required(self) -> Sequence[str]:
        """The names of the distributions that it requires; those of its extras are left out.

        Other markers are not evaluated: what is installed although it is for another platform does no harm
        in a list of versions to keep to.
        """
        found = _REQUIRES.findall(self.metadata_head)
        names = [name for name, rest in found if not _OF_AN_EXTRA.search(rest.partition(b";")[2])]
        return [normalized_name(name.decode()) for name in names]

    def metadata_names(self, folder: str = "") -> list[str]:
        """List the names in the metadata folder, or in a folder of it, sorted; none where that is absent."""
        try:
            return sorted(names_in(os.path.join(self.metadata, folder)))
        except OSError:
            return []

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

    @property
    def _record(self) -> bytes:  # not kept: those of an environment are some megabytes
        return _read(os.path.join(self.metadata, "RECORD")) or _read(
            os.path.join(self.metadata, "installed-files.txt")
        )

    @cached_property
    def _origin(self) -> _Origin:
        stated = self._text("direct_url.json")
        return _read_origin(stated) if stated else _Origin()

    @cached_property
    def _first_parts(self) -> list[tuple[bytes, bytes]]:
        """The first part of each recorded path, once, and what follows it: a slash or a comma."""
        return list(dict.fromkeys(_FIRST_PART.findall(self._record)))

    @cached_property
    def _editable_map(self) -> dict[str, str]:
        """Import name -> source path, from the .pth files that an editable install adds."""
        found: dict[str, str] = {}
        for part, follow in self._first_parts:
            if follow == b"," and part.endswith(b".pth"):
                found.update(_names_behind_pth(os.path.join(self.location, part.decode())))
        return found

    def _recorded_names(self) -> frozenset[str]:
        names = set()
        for part, follow in self._first_parts:
            text = part.decode("utf-8", "replace")
            module = _EXTENSION_MODULE.fullmatch(text)
            if follow == b"/" and text.isidentifier() and text != "__pycache__":
                names.add(text)
            elif follow == b"," and module is not None and "__editable__" not in text:
                names.add(module["top"])
        return frozenset(names)

    def _code_folders(self) -> list[str]:
        roots = self.editable or (self.location,)
        return [path for path in self._editable_map.values() if os.path.isdir(path)] or [
            os.path.join(root, name) for root in roots for name in sorted(self.import_names)
        ]

    def _text(self, name: str) -> str:
        return _read(os.path.join(self.metadata, name)).decode("utf-8", "replace")


def _version_in_metadata(metadata: str) -> str:
    for name in ("METADATA", "PKG-INFO"):
        match = re.search(rb"^Version:[ \t]*(\S+)", _read(os.path.join(metadata, name)), re.MULTILINE)
        if match is not None:
            return match[1].decode("utf-8", "replace")
    return "0"


@dataclass(frozen=True)
class _Origin:
    """What a direct_url.json says: a path or an address, what lies there, and the digest of a file."""

    place: str = ""
    is_folder: bool = False
    is_editable: bool = False
    sha256: str = ""


def _read_origin(direct_url: str) -> _Origin:
    """Read a direct_url.json; passwords and tokens of addresses are left out.

    Source: PEP 610, which leaves most of them out already.
    """
    import json  # few have been installed from an address
    from urllib.parse import quote, unquote, urlsplit

    try:
        stated = json.loads(direct_url)
        url, folder = urlsplit(stated["url"]), stated.get("dir_info")
        version_control, file = stated.get("vcs_info", {}), stated.get("archive_info", {})
        sha256 = str(file.get("hashes", {}).get("sha256", ""))
        is_editable = bool((folder or {}).get("editable"))
        name, commit = (str(version_control.get(key, "")) for key in ("vcs", "commit_id"))
    except (ValueError, KeyError, TypeError, AttributeError):
        return _Origin()
    if url.scheme == "file":  # urllib.request has a function for its path, and takes 60 ms to import
        path = unquote(url.path)
        place = os.path.abspath(path.lstrip("/") if os.name == "nt" else path)
        return _Origin(place, folder is not None, is_editable)
    user, at, host = url.netloc.rpartition("@")
    kept = f"{user.partition(':')[0]}{at}" if url.scheme == "ssh" else ""
    address = f"{url.scheme}://{kept}{host}{url.path}"
    # It ends up in messages, and in a command to paste.
    place = quote(f"{name}+{address}@{commit}" if name else address, safe=":/@+~%")
    return _Origin(place, sha256=sha256 if re.fullmatch("[0-9a-f]{64}", sha256) else "")


def _names_behind_pth(path: str) -> dict[str, str]:
    """Import name -> path, for the folders that a .pth file adds (its `import` lines are never run)."""
    from pkgutil import iter_modules  # where something is installed in place

    found: dict[str, str] = {}
    for line in _read(path).decode("utf-8", "replace").splitlines():
        if line.strip() and not line.startswith(("#", "import ", "import\t")):
            folder = os.path.join(os.path.dirname(path), line.strip())
            for _, name, is_package in iter_modules([folder]):
                found[name] = os.path.join(folder, name if is_package else f"{name}.py")
    return found


def _read(path: str) -> bytes:
    try:
        return file_bytes(path)
    except (OSError, KeyError):
        return b""
