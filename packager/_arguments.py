"""Arguments of public calls, checked before anything is done: one word for what was found and expected."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping

from ._texts import did_you_mean, has_login, listed, shown_place, without_address, without_credentials
from .errors import AddressError, ArgumentError

TYPE_CHECKING = False  # as in packager._lazy
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Final

MAX_BY: Final = 200
"""Characters of an author or a team, which stands in what is signed."""


def check_kind(
    name: str, value: object, kinds: type | tuple[type, ...], expected: str, meant: str = ""
) -> None:
    """Raise ArgumentError unless the argument `name` is of one of `kinds`, which `expected` describes.

    `meant` says what to write instead.

    >>> check_kind("text", b"x", str, "a str")
    Traceback (most recent call last):
    packager.errors.ArgumentError: text=b'x': expected a str, found bytes
    """
    if not isinstance(value, kinds):
        tail = f"; {meant}" if meant else ""
        raise ArgumentError(f"{name}={_shown(value)}: expected {expected}, found {_kind(value)}{tail}")


def check_place(call: str, package: object, resource: object) -> None:
    """Raise ArgumentError unless both parts of a stored name are text; `call` shows the order of arguments.

    >>> check_place("save_object(package, resource, obj)", "net", 3)
    Traceback (most recent call last):
    packager.errors.ArgumentError: resource=3: expected text, found int; write save_object(package, ...
    """
    for name, value in (("package", package), ("resource", resource)):
        check_kind(name, value, str, "text", f"write {call}")


def check_callable(name: str, value: object, form: str) -> None:
    """Raise ArgumentError unless the argument `name` can be called, as `form` shows."""
    if not callable(value):
        raise ArgumentError(f"{name}={_shown(value)}: expected a function, {form}, found {_kind(value)}")


def check_choice(name: str, value: object, choices: Iterable[str]) -> None:
    """Raise ArgumentError unless the argument `name` is one of `choices`."""
    known = tuple(choices)
    if not isinstance(value, str) or value not in known:
        raise ArgumentError(f"{name}={_shown(value)}: expected one of {', '.join(map(repr, known))}")


def check_flag(name: str, value: object) -> None:
    """Raise ArgumentError unless the argument `name` is True or False: "no" would count as yes."""
    meant = f"write bool({name})" if type(value).__name__.startswith("bool") else ""  # NumPy's
    check_kind(name, value, bool, "True or False", meant)


def check_location(name: str, value: object) -> None:
    """Raise ArgumentError unless the argument `name` says where tensors go, as `map_location` of torch.load.

    >>> check_location("to", 3.5)
    Traceback (most recent call last):
    packager.errors.ArgumentError: to=3.5: expected a device, its name, a dict, or a function, found float
    """
    if value is None or callable(value) or type(value).__name__ in ("device", "Device"):
        return
    check_kind(
        name,
        value,
        (str, dict),
        "a device, its name, a dict, or a function",
    )


def check_several(name: str, value: object, expected: str) -> None:
    """Raise ArgumentError unless the argument `name` is a list, tuple or set, which `expected` describes.

    One text is refused: it would be taken letter by letter.

    >>> check_several("find_links", "wheels", "a list of folders")
    Traceback (most recent call last):
    packager.errors.ArgumentError: find_links='wheels': expected a list of folders, found str
    """
    check_kind(name, value, (list, tuple, set, frozenset), expected)


def check_identity(name: str, value: object) -> str | None:
    """Return the 64 digits of an archive's identity, which may have "sha256:" before them; None for None.

    Raises ArgumentError for anything else: part of an identity would let other archives pass.

    >>> check_identity("identity", "sha256:" + "0f" * 32) == "0f" * 32
    True
    """
    if value is None:
        return None
    check_kind(name, value, str, "the identity of an archive")
    assert isinstance(value, str)
    digits = value.removeprefix("sha256:")
    if len(digits) != 64 or digits.strip("0123456789abcdef"):
        raise ArgumentError(
            f"{name}={_shown(value)}: expected the 64 lower-case hexadecimal digits that `kellet verify` "
            f"prints, found {len(value)} characters of another form"
        )
    return digits


def check_text(name: str, value: object, expected: str) -> bytes:
    """Return the argument `name` as UTF-8. Raises ArgumentError where it is no text, or has no such form.

    >>> check_text("text", "größe", "text")
    b'gr\\xc3\\xb6\\xc3\\x9fe'
    """
    is_path = isinstance(value, os.PathLike)
    check_kind(name, value, str, expected, "to store the file, write path.read_text()" if is_path else "")
    assert isinstance(value, str)
    try:
        return value.encode()
    except UnicodeEncodeError as error:
        raise ArgumentError(
            f"{name}={_shown(value)}: expected text that has a UTF-8 form, found half of a surrogate pair at "
            f"character {error.start}"
        ) from error


def check_by(by: object) -> None:
    """Raise ArgumentError unless `by`, an author or a team, is text of at most `MAX_BY` characters.

    >>> check_by("x" * 300)
    Traceback (most recent call last):
    packager.errors.ArgumentError: by='xxxx...: expected at most 200 characters, found 300
    """
    size = len(check_text("by", by, "the name of an author or a team").decode())
    if size > MAX_BY:
        raise ArgumentError(f"by={_shown(by)}: expected at most {MAX_BY} characters, found {size}")


def check_names(name: str, mapping: object, meant: str = "") -> None:
    """Raise ArgumentError unless the argument `name` is a mapping whose keys are strings."""
    check_kind(name, mapping, Mapping, "a mapping", meant)
    assert isinstance(mapping, Mapping)
    odd = [key for key in mapping if not isinstance(key, str)]
    if odd:
        found = listed([*map(_shown, odd)], 5)
        raise ArgumentError(f"{name}: expected names as keys, found {found}").holding(odd)


def check_file(name: str, file: object, *, method: str) -> None:
    """Raise ArgumentError unless the argument `name` is a path, or a binary file object open for `method`.

    What is read may be at an address.
    """
    import io

    if isinstance(file, str | os.PathLike):
        check_path(name, file, or_address=method == "read")
        return
    if isinstance(file, io.TextIOBase):
        raise ArgumentError(f"{name}: the file is open for text; open it in binary mode")
    if not callable(getattr(file, method, None)):
        raise ArgumentError(
            f"{name}={_shown(file)}: expected a path or a binary file object, found {type(file).__name__}"
        )
    mode, asked = ("wb", "writable") if method == "write" else ("rb", "readable")
    is_closed = getattr(file, "closed", False)
    if is_closed or not getattr(file, asked, lambda: True)():
        found = "closed" if is_closed else f"not {asked}"
        raise ArgumentError(f"{name}={_shown(file)}: the file is {found}; open it in mode {mode!r}")


def forbid_secret(given: str) -> str:
    """Return a path. Raises ArgumentError, which does not show it, for a private key in its place."""
    if _SECRET in given:
        raise ArgumentError("a private key was given as text; give a path, as texts get into logs")
    return given


def check_path(name: str, path: object, *, or_address: bool = False) -> None:
    """Raise ArgumentError unless the argument `name` is a path that a file can have: no NUL is in it.

    Raises AddressError for an address, unless it may be one, of a scheme that is known.

    >>> check_path("file", "net\\0.py")
    Traceback (most recent call last):
    packager.errors.ArgumentError: file='net\\x00.py': expected a path, which has no NUL, and a form in ...
    """
    check_kind(name, path, (str, os.PathLike), "a path")
    assert isinstance(path, str | os.PathLike)
    if path == "":
        raise ArgumentError(f"{name}='': expected a path, found an empty text")
    try:
        fits = b"\0" not in os.fsencode(path)
    except UnicodeEncodeError:
        fits = False
    if not fits:
        raise ArgumentError(
            f"{name}={_shown(os.fspath(path))}: expected a path, which has no NUL, and a form in the "
            "encoding of file names"
        )
    if not (or_address and isinstance(path, str) and is_address(path)):
        check_no_address(os.fsdecode(path), or_address=or_address)


def is_address(text: str) -> bool:
    """Return whether a text is an address of a scheme that is read, and no folder has the name of the scheme.

    >>> is_address("s3://models/net.kellet"), is_address("ftp://models/net.kellet"), is_address("net.kellet")
    (True, False, False)
    """
    scheme, found, _ = text.partition("://")
    return bool(found) and scheme.lower() in _SCHEMES and not os.path.exists(f"{scheme}:")


def check_no_address(path: str, *, or_address: bool = False) -> None:
    """Raise AddressError where a path is an address, and no folder has the name of its scheme.

    `or_address` says whether an address of another form would do.

    >>> check_no_address("s3://models/net.kellet")
    Traceback (most recent call last):
    packager.errors.AddressError: s3://models/net.kellet: expected a path; an address is taken only ...
    """
    if "@" in path and has_login(path) and not os.path.lexists(path):
        raise AddressError(
            f"{shown_place(path)}: found an @ behind no scheme://; write the address with it, or another path"
        )
    place = path.lstrip()
    scheme, found, rest = place.partition(":/")
    # "C:/" is a drive; a Path has made one slash of two.
    if not found or len(scheme) < 2 or not scheme.isascii() or not scheme.translate(_IN_SCHEMES).isalnum():
        return
    if os.path.exists(f"{scheme}:"):
        return
    import shlex

    shown = without_credentials(f"{scheme}://{rest.lstrip('/')}")
    if place != path:
        raise AddressError(f"{shown}: found a blank before the address; give it without")
    if or_address and scheme.lower() in _SCHEMES:
        raise AddressError(
            f"{shown}: found a Path, which has one slash in its place; give the address as text"
        )
    fetched = shlex.quote(shown) if scheme.startswith("http") else "https://..."
    if or_address:
        raise AddressError(
            f"{shown}: expected an address of {', '.join(_SCHEMES)}; give such a one, or the path of a file. "
            f"An archive may also come through a pipe: curl -L {fetched} | kellet verify -"
        )
    raise AddressError(
        f"{shown}: expected a path; an address is taken only where an archive or weights are read. Write to "
        f"a file, or fetch one first: curl -L -o FILE {fetched}"
    )


_SCHEMES = ("http", "https", "s3", "gs", "az")
_SECRET = "PRIVATE KEY"  # stands in each PEM of one
_IN_SCHEMES = str.maketrans(dict.fromkeys("+-.", "x"))


def _kind(value: object) -> str:
    """Return the name of a value's type: with its module where Python has another one of that name.

    >>> import numpy
    >>> _kind(True), _kind(numpy.True_), _kind(dict)
    ('bool', 'numpy.bool', 'the class dict')
    """
    if isinstance(value, type):
        return f"the class {value.__name__}"
    kind = type(value)
    is_namesake = kind.__module__ != "builtins" and kind.__name__ in ("bool", "int", "float", "str", "bytes")
    return f"{kind.__module__}.{kind.__name__}" if is_namesake else kind.__name__


def _shown(value: object) -> str:
    text = repr(shown_place(value)) if isinstance(value, str) else without_address(repr(value))
    text = "a private key" if _SECRET in text else " ".join(text.split())
    return text if len(text) <= 60 else f"{text[:57]}..."


def check_options(call: Callable[..., object], options: dict[str, object], cls: type) -> None:
    """Raise ArgumentError for the first of the names `options` that the class does not take after a file.

    >>> import packager
    >>> check_options(packager.load, {"identity": None}, packager.PackageImporter)
    """
    own, known = _parameters(call), _parameters(vars(cls)["__init__"])[2:]
    for name in options:
        if name not in known:
            rest = [one for one in known if one not in own]
            near = (
                did_you_mean(name, (*own, *rest)) or f". It takes those of {cls.__name__}: {', '.join(rest)}"
            )
            raise ArgumentError(f"{call.__name__}() has no option {name!r}{near}")


def _parameters(call: Callable[..., object]) -> tuple[str, ...]:
    code = call.__code__
    names: tuple[str, ...] = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    return names
