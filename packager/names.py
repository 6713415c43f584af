"""Names of modules: how those of a loaded archive are mangled, and which can be stored.

A loaded archive keeps its modules in `sys.modules` under names of their own, so that two archives
(or an archive and an installed package) can hold the same package. Only the first dotted part
changes: `timm.models.vit` becomes `timm__w3f9a1c0b77de_0.models.vit`, where `3f9a1c0b77de` is the
archive's identity and `0` counts the importers of that archive in this process. Stored names never
carry the mark.
"""

from __future__ import annotations

import itertools
import sys
from _thread import allocate_lock

from packager.errors import PackageError
from packager.late_patterns import late_pattern
from packager.texts import HIDDEN

TYPE_CHECKING = False  # as in packager.lazy
if TYPE_CHECKING:
    import re

__all__ = [
    "OWN_IMPORTER",
    "InvalidNameError",
    "PackageMangler",
    "check_module_name",
    "check_resource_name",
    "demangle",
    "demangle_text",
    "get_mangle_prefix",
    "is_dotted_name",
    "is_from_archive",
    "is_mangled",
    "mangle",
    "mangled_identity",
    "source_path",
]

OWN_IMPORTER = "torch_package_importer"
"""What packaged code imports to have the PackageImporter that loaded it; spelled as in torch.package."""

IDENTITY_DIGITS = 12
ANONYMOUS = "0" * IDENTITY_DIGITS

_MARK = late_pattern(r"([^.]*?)__w([0-9a-f]{8,64})_([0-9]+)(?=[.:]|\Z)")
_DOTTED = late_pattern(r"[\w.]+")
_BAD_IN_NAME = late_pattern(rf"[\t\n/\\:<>\"|?*{HIDDEN}]")

_STORED_PART = rf"[^./\\:\t\n {HIDDEN}]+"
_DOTTED_NAME = late_pattern(rf"{_STORED_PART}(?:\.{_STORED_PART})*")

_counts: dict[str, itertools.count[int]] = {}
_counts_lock = allocate_lock()


class InvalidNameError(PackageError, ValueError, AssertionError):
    """A module or resource name that no archive can hold.

    It is an AssertionError too because `PackageMangler.mangle("")` is one in torch.package.
    """


class PackageMangler:
    """Mangles the module names of one importer: all share an identity and a number.

    `identity` is the archive's digest in hexadecimal; its first 12 digits are used. Without one
    the mangler is anonymous, and still differs from every other in the process by its number. Raises
    InvalidNameError for an identity of other digits.

    Source: torch.package._mangling.PackageMangler; there all names get a common parent,
    `<torch_package_0>`. Here the first part gets a suffix, so `parent_name()` is that suffix.

    >>> mangler = PackageMangler("3f9a1c0b77de")
    >>> mangler.mangle("timm.models") == "timm" + mangler.parent_name() + ".models"
    True
    >>> demangle(mangler.mangle("timm.models")), demangle(mangler.parent_name())
    ('timm.models', '')
    """

    def __init__(self, identity: str | None = None) -> None:
        self.identity = ANONYMOUS if identity is None else identity[:IDENTITY_DIGITS].lower()
        if not 8 <= len(self.identity) <= 64 or self.identity.strip("0123456789abcdef"):
            raise InvalidNameError(
                f"cannot mangle names with identity {identity!r}: it must start with 8 or more hexadecimal "
                "digits; pass the archive's digest"
            )
        with _counts_lock:
            self.number = next(_counts.setdefault(self.identity, itertools.count()))
        self._suffix = f"__w{self.identity}_{self.number}"

    def mangle(self, name: str) -> str:
        """Return the name under which this importer's module `name` stands in `sys.modules`.

        Raises InvalidNameError for an empty name and for one that is mangled already.
        """
        if not name:
            raise InvalidNameError("cannot mangle an empty module name; pass the name as it is stored")
        if is_mangled(name):
            raise InvalidNameError(f"cannot mangle {name!r}: it is mangled already; demangle() it first")
        return mangle(name, self.identity, self.number)

    def demangle(self, mangled: str) -> str:
        """Return the stored name, for names that this mangler made; any other name is returned as it is."""
        top, dot, rest = mangled.partition(".")
        return f"{top.removesuffix(self._suffix)}{dot}{rest}" if top.endswith(self._suffix) else mangled

    def parent_name(self) -> str:
        """Return the mark that this importer's modules carry behind their first part."""
        return self._suffix


def mangle(name: str, identity: str, number: int) -> str:
    """Return the mangled form of `name` for one importer: `number` of those of the archive `identity`.

    >>> mangle("timm.models", "3f9a1c0b77de", 0)
    'timm__w3f9a1c0b77de_0.models'
    """
    top, dot, rest = name.partition(".")
    return f"{top}__w{identity}_{number}{dot}{rest}"


def is_mangled(name: str) -> bool:
    """Say whether `name` is that of a module loaded from an archive, by whichever importer.

    >>> is_mangled(PackageMangler().mangle("a.b")), is_mangled("a.b"), is_mangled("a__wide_1")
    (True, False, False)
    """
    return _mark(name) is not None


def is_from_archive(name: str) -> bool:
    """Say whether the module `name` of this process was loaded from an archive, also by `install()`.

    >>> is_from_archive(PackageMangler().mangle("a.b")), is_from_archive("re")
    (True, False)
    """
    spec = getattr(sys.modules.get(name), "__spec__", None)  # what is installed has its own name
    return is_mangled(name) or type(getattr(spec, "loader", None)).__module__.startswith("packager.loading.")


def _mark(name: str) -> re.Match[str] | None:
    return _MARK.match(name) if "__w" in name else None


def demangle(name: str) -> str:
    """Return the stored name of a mangled one, whichever mangler made it; other names as they are.

    A name of something in a module may stand behind a colon.

    >>> mangler = PackageMangler()
    >>> demangle(mangler.mangle("a.b")), demangle("a.b"), demangle(f"{mangler.mangle('a')}:f")
    ('a.b', 'a.b', 'a:f')
    """
    mark = _mark(name)
    return name if mark is None else mark[1] + name[mark.end() :]


def demangle_text(text: str) -> str:
    """Return a text, such as an error's message, with the stored names in the place of mangled ones.

    >>> demangle_text("No module named 'timm__w3f9a1c0b77de_0.models'.")
    "No module named 'timm.models'."
    """
    return _DOTTED.sub(lambda found: demangle(found[0]), text) if "__w" in text else text


def get_mangle_prefix(name: str) -> str:
    """Return the part of a mangled name that tells its importer: the first; other names as they are.

    >>> get_mangle_prefix("timm__w3f9a1c0b77de_0.models"), get_mangle_prefix("timm.models")
    ('timm__w3f9a1c0b77de_0', 'timm.models')
    """
    return name.partition(".")[0] if is_mangled(name) else name


def mangled_identity(name: str) -> tuple[str, int] | None:
    """Return the (identity, number) that a mangled name carries, or None.

    >>> mangled_identity("timm__w3f9a1c0b77de_0.models")
    ('3f9a1c0b77de', 0)
    """
    mark = _mark(name)
    return None if mark is None else (mark[2], int(mark[3]))


def check_module_name(name: str) -> str:
    """Return `name` when an archive can hold a module of that name; else raise InvalidNameError.

    Parts need not be identifiers (`import_module("pkg.3d")` is Python), but each must be a file
    name on every system, and a mangled name is never stored.

    >>> check_module_name("pkg.models")
    'pkg.models'
    """
    if not name or not isinstance(name, str):
        raise InvalidNameError(f"module name {name!r}: expected dotted parts such as 'pkg.module'")
    if is_mangled(name):
        raise InvalidNameError(
            f"module name {name!r} is that of a loaded archive; store it as {demangle(name)!r}"
        )
    for part in name.split("."):
        _check_part(part, f"module name {name!r}")
    if not _is_import_form(name):
        raise InvalidNameError(
            f"module name {name!a}: Python imports it as {_normalized(name)!r}; rename the module so"
        )
    return name


def is_dotted_name(name: str) -> bool:
    """Say whether an archive may give `name` to a module: no part leads elsewhere, is empty, or is not seen.

    >>> is_dotted_name("pkg.3d"), is_dotted_name("pkg..3d"), is_dotted_name("../pkg")
    (True, False, False)
    """
    if name.isascii() and all(map(str.isidentifier, name.split("."))):  # nearly all
        return True
    return _DOTTED_NAME.fullmatch(name) is not None and _is_import_form(name)


def _is_import_form(name: str) -> bool:
    """Say whether an import of `name` looks for this very name: Python normalises identifiers by NFKC.

    >>> _is_import_form("größe.模型"), _is_import_form("\\ufb01lter")
    (True, False)
    """
    return name.isascii() or _normalized(name) == name


def check_resource_name(resource: str) -> str:
    """Return `resource` when it names a file below a package; else raise InvalidNameError.

    A resource is a relative path with forward slashes. Source: torch.package and
    importlib.resources take a bare file name; here folders that are no packages may come before it.

    >>> check_resource_name("tables/weights.csv")
    'tables/weights.csv'
    """
    if not resource or not isinstance(resource, str):
        raise InvalidNameError(f"resource name {resource!r}: expected a file name such as 'weights.csv'")
    for part in resource.split("/"):
        _check_part(part, f"resource name {resource!r}")
    return resource


def source_path(name: str, is_package: bool) -> str:
    """Return the path of a module's source below the root of its tree.

    >>> source_path("a.b", False), source_path("a.b", True)
    ('a/b.py', 'a/b/__init__.py')
    """
    return name.replace(".", "/") + ("/__init__.py" if is_package else ".py")


def _normalized(name: str) -> str:
    from unicodedata import normalize  # a large table, not needed for ASCII names

    return normalize("NFKC", name)


def _check_part(part: str, what: str) -> None:
    if part in ("", ".", ".."):
        raise InvalidNameError(f"{what}: found the part {part!r}; every part must be a name")
    bad = _BAD_IN_NAME.search(part)
    if bad is not None:
        raise InvalidNameError(f"{what}: found {bad[0]!r} in {part!r}; no file can be called so everywhere")
    if part[-1] in " ." or part[0] == " ":
        raise InvalidNameError(f"{what}: {part!r} starts or ends with a space or a dot; rename it")
