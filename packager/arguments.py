"""Arguments of public calls, checked before anything is done: one word for what was found and expected."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping

from .errors import AddressError, ArgumentError
from .texts import listed

TYPE_CHECKING = False  # as in packager.lazy
if TYPE_CHECKING:
    from typing import Any


__all__ = [
    "check_choice",
    "check_file",
    "check_flag",
    "check_identity",
    "check_kind",
    "check_location",
    "check_names",
    "check_no_address",
    "check_path",
    "check_several",
    "check_text",
]


def check_kind(name: str, value: object, kinds: type | tuple[type, ...], expected: str) -> None:
    """Raise ArgumentError unless the argument `name` is of one of `kinds`, which `expected` describes.

    >>> check_kind("text", b"x", str, "a str")
    Traceback (most recent call last):
    packager.errors.ArgumentError: text=b'x': expected a str, found bytes
    """
    if not isinstance(value, kinds):
        raise ArgumentError(f"{name}={_shown(value)}: expected {expected}, found {type(value).__name__}")


def check_choice(name: str, value: object, choices: Iterable[str]) -> None:
    """Raise ArgumentError unless the argument `name` is one of `choices`."""
    if value not in (known := tuple(choices)):
        raise ArgumentError(f"{name}={_shown(value)}: expected one of {', '.join(map(repr, known))}")


def check_flag(name: str, value: object) -> None:
    """Raise ArgumentError unless the argument `name` is True or False: "no" would count as yes."""
    check_kind(name, value, bool, "True or False")


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
            f"{name}={_shown(value)}: expected the 64 lower-case hexadecimal digits that `packager verify` "
            f"prints, found {len(value)} characters of another form"
        )
    return digits


def check_text(name: str, value: object, expected: str) -> bytes:
    """Return the argument `name` as UTF-8. Raises ArgumentError where it is no text, or has no such form.

    >>> check_text("text", "größe", "text")
    b'gr\\xc3\\xb6\\xc3\\x9fe'
    """
    check_kind(name, value, str, expected)
    assert isinstance(value, str)
    try:
        return value.encode()
    except UnicodeEncodeError as error:
        raise ArgumentError(
            f"{name}={_shown(value)}: expected text that has a UTF-8 form, found half of a surrogate pair at "
            f"character {error.start}"
        ) from error


def check_names(name: str, mapping: object) -> None:
    """Raise ArgumentError unless the argument `name` is a mapping whose keys are strings."""
    check_kind(name, mapping, Mapping, "a mapping")
    assert isinstance(mapping, Mapping)
    odd = [key for key in mapping if not isinstance(key, str)]
    if odd:
        found = listed([*map(_shown, odd)], 5)
        raise ArgumentError(f"{name}: expected names as keys, found {found}").holding(odd)


def check_file(name: str, file: Any, *, method: str) -> None:
    """Raise ArgumentError unless the argument `name` is a path, or a binary file object open for `method`."""
    import io

    if isinstance(file, str | os.PathLike):
        check_path(name, file)
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


def check_path(name: str, path: object) -> None:
    """Raise ArgumentError unless the argument `name` is a path that a file can have: no NUL is in it.

    Raises AddressError for an address.

    >>> check_path("file", "net\\0.py")
    Traceback (most recent call last):
    packager.errors.ArgumentError: file='net\\x00.py': expected a path, which has no NUL, and a form in ...
    """
    check_kind(name, path, (str, os.PathLike), "a path")
    assert isinstance(path, str | os.PathLike)
    try:
        fits = b"\0" not in os.fsencode(path)
    except UnicodeEncodeError:
        fits = False
    if not fits:
        raise ArgumentError(
            f"{name}={_shown(os.fspath(path))}: expected a path, which has no NUL, and a form in the "
            "encoding of file names"
        )
    check_no_address(os.fsdecode(path))


def check_no_address(path: str) -> None:
    """Raise AddressError where a path is an address, and no folder has the name of its scheme.

    >>> check_no_address("s3://models/net.kellet")
    Traceback (most recent call last):
    packager.errors.AddressError: s3://models/net.kellet: addresses are not opened yet; give the path of ...
    """
    scheme, found, rest = path.partition(":/")
    # "C:/" is a drive; a Path has made one slash of two.
    if not found or len(scheme) < 2 or not scheme.isascii() or not scheme.translate(_IN_SCHEMES).isalnum():
        return
    if os.path.exists(f"{scheme}:"):
        return
    import shlex

    address = f"{scheme}://{rest.lstrip('/')}"
    fetched = shlex.quote(address) if scheme.startswith("http") else "https://..."
    raise AddressError(
        f"{address}: addresses are not opened yet; give the path of a file, fetched before it is read. An "
        f"archive may also come through a pipe: curl -L {fetched} | packager verify -"
    )


_IN_SCHEMES = str.maketrans(dict.fromkeys("+-.", "x"))


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
