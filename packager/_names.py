"""Names: how modules of a loaded archive are mangled, and what can, and never may, be stored by its name.

A loaded archive keeps its modules in `sys.modules` under names of their own, so that two archives
(or an archive and an installed package) can hold the same package. Only the first dotted part
changes: `timm.models.vit` becomes `timm__w3f9a1c0b77de_0.models.vit`, where `3f9a1c0b77de` is the
archive's identity and `0` counts the importers of that archive in this process. Stored names never
carry the mark.
"""

from __future__ import annotations

import itertools
import re
import sys
from types import ModuleType

from packager._texts import HIDDEN
from packager.errors import ArchiveError, PackageError

TYPE_CHECKING = False  # as in packager._lazy
if TYPE_CHECKING:
    from typing import Any, Final

OWN_IMPORTER = "torch_package_importer"
"""What packaged code imports to have the PackageImporter that loaded it; spelled as in torch.package."""

IDENTITY_DIGITS = 12
ANONYMOUS = "0" * IDENTITY_DIGITS

_MARK = re.compile(r"([^.]*?)__w([0-9a-f]{8,64})_([0-9]+)(?=[.:]|\Z)")
_DOTTED = re.compile(r"[\w.]+")
_BAD_IN_NAME = rf"[\t\n/\\:<>\"|?*{HIDDEN}]"

_STORED_PART = rf"[^./\\:\t\n {HIDDEN}]+"
_DOTTED_NAME = rf"{_STORED_PART}(?:\.{_STORED_PART})*"

_counts: dict[str, itertools.count[int]] = {}


class InvalidNameError(PackageError, ValueError, AssertionError):
    """A name of a module or a resource is invalid in an archive.

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
        # Each of the two is one step, so no lock is needed, which a fork could leave held in the child.
        self.number = next(_counts.setdefault(self.identity, itertools.count()))
        self._suffix = f"__w{self.identity}_{self.number}"

    def mangle(self, name: str) -> str:
        """Return the name of this importer's module `name` in `sys.modules`.

        Raises InvalidNameError for an empty name and for a mangled one.
        """
        if not name:
            raise InvalidNameError("cannot mangle an empty module name; pass the name as it is stored")
        if is_mangled(name):
            raise InvalidNameError(f"cannot mangle {name!r}: it is mangled already; demangle() it first")
        return mangle(name, self.identity, self.number)

    def demangle(self, mangled: str) -> str:
        """Return the stored name, for names that this mangler made; any other name is returned unchanged."""
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
    return is_mangled(name) or type(getattr(spec, "loader", None)).__module__.startswith("packager._loading.")


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
    return re.fullmatch(_DOTTED_NAME, name) is not None and _is_import_form(name)


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
    bad = re.search(_BAD_IN_NAME, part)
    if bad is not None:
        raise InvalidNameError(f"{what}: found {bad[0]!r} in {part!r}; no file can be called so everywhere")
    if part[-1] in " ." or part[0] == " ":
        raise InvalidNameError(f"{what}: {part!r} starts or ends with a space or a dot; rename it")


# --- names in records ---


def is_record_name(module: str, qualname: str) -> bool:
    """Say whether a record can name this: both are dotted, and neither begins with a digit.

    >>> is_record_name("net.3d", "Net.Inner"), is_record_name("3d.net", "Net"), is_record_name("net", "1st")
    (True, False, False)
    """
    return (_is_plain(module) or _RECORD_MODULE.fullmatch(module) is not None) and (
        not qualname or _is_plain(qualname) or _RECORD_QUALNAME.fullmatch(qualname) is not None
    )


def _is_plain(name: str) -> bool:
    """Say whether a name is made of identifiers in ASCII, as nearly all are."""
    return name.isascii() and all(map(str.isidentifier, name.split(".")))


_IDENTIFIER: Final = r"[^\W\d]\w*"
_RECORD_MODULE: Final = re.compile(rf"{_IDENTIFIER}(\.\w+)*")
_RECORD_QUALNAME: Final = re.compile(rf"({_IDENTIFIER}(\.{_IDENTIFIER})*)?")


# Operators that make a new value of the two that they are given, and change neither.
_OPERATORS: Final = """
    abs add and_ eq floordiv ge gt invert is_ is_not le lshift lt matmul mod mul ne neg not_ or_ pos pow
    rshift sub truediv truth xor
"""

# What makes code of names or bytes, or reaches beyond the object. None of it is needed to rebuild a model
# (codecs stand in for the harmless ones), so it is refused on both sides, even where the caller trusts it.
# Each is listed below what is true of it: of a module as a whole, and of a name itself.
_NEVER_MODULES: Final = {
    "has functions that look up and call what they are told": "operator _operator copyreg",
    "makes objects by calling what bytes name": """
        pickle _pickle dill cloudpickle shelve joblib torch.serialization torch.package
    """,
    "imports, compiles or runs what it is given": """
        codecs importlib runpy code codeop marshal imp pkgutil zipimport timeit trace pdb bdb cProfile profile
        doctest distutils setuptools pip numpy.testing numpy.f2py torch.utils.cpp_extension torch.hub
        packager
    """,
    "reaches into the program that runs": "sys inspect gc",
    "reaches for files, processes, threads or memory": """
        subprocess os posix nt pty ctypes _ctypes cffi multiprocessing threading _thread socket signal shutil
        tempfile webbrowser asyncio
    """,
}
_NEVER_BUILTINS: Final = {
    "turns data into code": "__import__ __build_class__ breakpoint compile eval exec",
    "looks up, changes or removes what a name leads to": "delattr getattr hasattr setattr super",
    "reaches into the program that runs": "dir globals help locals vars",
    "makes a class, or a part of one": "classmethod property staticmethod type",
    "reads what it is given from outside": "input open",
    "ends the program": "exit quit",
    "gives a way to memory": "memoryview",
}
_NEVER_NAMES: Final = {
    "calls what it is given": {
        "functools": "partial partialmethod reduce",
        "_functools": "partial reduce",
    },
    "makes a function, a module or a part of one": {
        "types": "FunctionType CodeType MethodType LambdaType ModuleType DynamicClassAttribute",
    },
    "reads or writes files": {
        "numpy": "load loadtxt genfromtxt fromfile save memmap DataSource",
        "torch": "load save",
        "io": "open",
    },
    # How a storage that is alone is pickled.
    "hands bytes to torch.load, which runs what pickle is in them": {"torch.storage": "_load_from_bytes"},
}
NEVER_MODULES: Final = {
    module: what for what, modules in _NEVER_MODULES.items() for module in modules.split()
}
NEVER_NAMES: Final = {
    ("builtins", name): what for what, names in _NEVER_BUILTINS.items() for name in names.split()
} | {
    (module, name): what
    for what, table in _NEVER_NAMES.items()
    for module, names in table.items()
    for name in names.split()
}

# What the modules above have, and does nothing by itself: marks of signatures, and operators.
HARMLESS_NAMES: Final = frozenset(
    {("inspect", "_empty"), ("inspect", "_ParameterKind")}
    | {("_operator", name) for name in _OPERATORS.split()}
)


def is_never_stored(module: str, qualname: str) -> bool:
    """Return whether a name is refused whatever the caller trusts.

    >>> is_never_stored("builtins", "getattr"), is_never_stored("os.path", "join")
    (True, True)
    >>> is_never_stored("collections", "OrderedDict")
    False
    """
    return why_never_stored(module, qualname) != ""


def why_never_stored(module: str, qualname: str) -> str:
    """Return what is true of a name that is refused whatever the caller trusts; "" for other names.

    >>> why_never_stored("builtins", "eval")
    'turns data into code'
    >>> why_never_stored("os.path", "join")
    'is of the module os, which reaches for files, processes, threads or memory'
    """
    if (module, qualname) in HARMLESS_NAMES:
        return ""
    what = NEVER_NAMES.get((module, qualname.partition(".")[0]))
    if what is not None or module == "builtins":
        return what or ""
    parts = module.split(".")
    tops = (".".join(parts[:length]) for length in range(1, len(parts) + 1))
    return next(
        (f"is of the module {top}, which {NEVER_MODULES[top]}" for top in tops if top in NEVER_MODULES), ""
    )


def walk_classes(module: object, qualname: str) -> Any:
    """Return what a qualified name leads to: the first part in the module, the others in classes only.

    Returns None where there is no such name. Nothing lazy is triggered: names count that are there.
    """
    if not isinstance(module, ModuleType):
        return None
    first, *rest = qualname.split(".")
    found = vars(module).get(first)
    for part in rest:
        if not isinstance(found, type):
            return None
        found = getattr(found, part, None)
    return found


# --- names and versions of distributions as an archive may give them ---

_LONGEST: Final = 200
_LETTERS: Final = "abcdefghijklmnopqrstuvwxyz"
_ENDS: Final = frozenset(f"{_LETTERS}{_LETTERS.upper()}0123456789")
_IN_NAMES: Final = _ENDS | set("._-")
_IN_VERSIONS: Final = _ENDS | set(".!+_-")


def normalized_name(name: str) -> str:
    """Return the one spelling of a distribution's name: lower case, runs of `-`, `_`, `.` as one `-`.

    >>> normalized_name("Scikit_Learn"), normalized_name("a-_.-b")
    ('scikit-learn', 'a-b')

    Source: PEP 503.
    """
    name = name.replace("_", "-").replace(".", "-")
    while "--" in name:
        name = name.replace("--", "-")
    return name.lower()


def check_distribution(name: object, version: object, where: str) -> None:
    """Raise ArchiveError where that is no name and version as package indexes have them."""
    if not (_is_text_of(name, _IN_NAMES) and name[-1] in _ENDS):  # type: ignore[index]  # a text
        raise not_understood(where, f"the distribution {name!r}"[:200], "a name as PyPI has them")
    if not _is_text_of(version, _IN_VERSIONS):
        raise not_understood(where, f"the version {version!r} of {name}"[:200], "one as 2.1.0")


def not_understood(where: str, found: str, expected: str) -> ArchiveError:
    """Return the error for something in a manifest that no exporter writes."""
    return ArchiveError(
        f"manifest, {where}: found {found}; expected {expected}. The archive was not written by a "
        "PackageExporter"
    )


def _is_text_of(text: object, characters: frozenset[str]) -> bool:
    is_short = isinstance(text, str) and 0 < len(text) <= _LONGEST
    return is_short and text[0] in _ENDS and characters.issuperset(text)  # type: ignore[index,arg-type]  # a text
