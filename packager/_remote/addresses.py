"""Addresses as they are given: what is asked for, what may be shown, and the identity that they pin."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import quote, unquote, urlsplit

from packager._arguments import is_address
from packager._quick_dataclasses import dataclass, field, replace
from packager._texts import address_parts, without_credentials
from packager.errors import AddressError, ArgumentError, IdentityMismatchError

HTTP: Final = ("http", "https")
"""The schemes that the standard library reads; obstore reads the others."""

UNQUOTED: Final = "/%:@!$&'()*+,;=~-._?"
"""What a request has as it is given, of a path and a query."""

_WHOLE_MODEL: Final = "model.safetensors.index.json"
_PIN: Final = re.compile("sha256=[0-9a-f]{64}")
_LONE_PERCENT: Final = re.compile("%(?![0-9A-Fa-f]{2})")


@dataclass(frozen=True)
class Address:
    """Where a file lies: `url` is what is asked for, and `str(address)` is what may be shown.

    Neither has a user, a password or a fragment; what is shown has no query either. `identity` is that of
    `#sha256=IDENTITY`, `login` the "user:password" for the host of `url`.

    >>> address = address_in("https://me:secret@models.example/a net.kellet?token=1")
    >>> str(address), address.name, address.url
    ('https://models.example/a net.kellet', 'a net.kellet', 'https://models.example/a%20net.kellet?token=1')
    >>> str(address.parent / "b.json")
    'https://models.example/b.json'
    """

    shown: str
    url: str = field(repr=False)
    identity: str | None = None
    login: str | None = field(default=None, repr=False)

    @property
    def scheme(self) -> str:
        """The part before "://", in small letters."""
        return self.url.partition("://")[0]

    @property
    def name(self) -> str:
        """The last part of the path; empty for an address that ends with a slash."""
        return self.shown.rpartition("/")[2]

    @property
    def stem(self) -> str:
        """The name without its ending."""
        return self.name.rpartition(".")[0] or self.name

    @property
    def parent(self) -> Address:
        """The address of the folder."""
        path, mark, query = self.url.partition("?" if self.scheme in HTTP else "\0")
        url = f"{path.rpartition('/')[0]}/{mark}{query}"
        return replace(self, shown=f"{self.shown.rpartition('/')[0]}/", url=url, identity=None)

    def __truediv__(self, name: str) -> Address:
        """Return the address of a file in this folder, with the same query."""
        path, mark, query = self.url.partition("?" if self.scheme in HTTP else "\0")
        asked = quote(name, safe="") if self.scheme in HTTP else name
        return replace(self, shown=f"{self.shown}{name}", url=f"{path}{asked}{mark}{query}")

    @property
    def weights(self) -> Address:
        """This file of weights; for an address that ends with a slash, the index of the shards in it."""
        return self if self.name else self / _WHOLE_MODEL

    @property
    def is_secret(self) -> bool:
        """Whether the address says more than may be shown."""
        return self.login is not None or "?" in self.url

    def is_dir(self) -> bool:
        """Return False: nothing at an address is listed."""
        return False

    def __str__(self) -> str:
        return self.shown


def address_in(given: object) -> Address | None:
    """Return the address that a text is; None for anything else, as a path.

    Raises AddressError for one that no host can be read from, ArgumentError for a fragment other than
    `#sha256=` with an identity.

    >>> address_in("net.kellet") is None
    True
    """
    if isinstance(given, Address):
        return given
    if not isinstance(given, str) or not is_address(given):
        return None
    text = getattr(given, "whole", given)
    shown = without_credentials(text)
    scheme, place, path, rest = address_parts(text)
    scheme, form = scheme.lower(), "host" if scheme.lower() in HTTP else "bucket"
    if shown.endswith("://..."):
        raise AddressError(
            f"{shown}: found an @ after the {form}, or a port that is no number; expected "
            f"{scheme}://{form}/path, and in passwords and paths %40 for @, %2F for /, %3F for ?, %23 for #"
        )
    query, mark, fragment = rest.partition("#")
    if mark and not _PIN.fullmatch(fragment):
        raise ArgumentError(
            f"{shown}: found # and another text than sha256=IDENTITY, 64 lower-case hexadecimal digits; "
            "expected that, or no #"
        )
    identity = fragment.removeprefix("sha256=") or None
    user, _, host = place.rpartition("@")
    if form == "bucket":
        if not host or not path[1:] or query or user:
            raise AddressError(
                f"{shown}: expected {scheme}://bucket/path, without user or query: the environment has the "
                "credentials, and signed addresses are of https://"
            )
        return Address(shown, f"{scheme}://{host}{path}", identity)
    try:
        parts = urlsplit(f"{scheme}://{host}")
        found = parts.hostname and parts.port != 0 and host.isprintable() and " " not in host
        asked = _LONE_PERCENT.sub("%25", path or "/") + query
        url = f"{scheme}://{host}{quote(asked.encode(errors='surrogateescape'), UNQUOTED)}"
    except ValueError:
        found = None
    if not found:
        raise AddressError(f"{shown}: no host can be read from it; expected {scheme}://host/path")
    return Address(shown if path else f"{shown}/", url, identity, unquote(user) if user else None)


def refuse_pin(address: object, found: str) -> None:
    """Raise IdentityMismatchError where an address pins an identity, which only archives have."""
    if isinstance(address, Address) and address.identity:
        raise IdentityMismatchError(
            f"{address}: #sha256= pins archives; found {found}; leave it out, or give an archive",
            address.identity,
            "",
        )


class _Hidden(str):
    """An address as it is shown, which is opened as the `whole` of it."""

    whole: str


def hide_secrets(text: str) -> str:
    """Return an address without user, password and query: a text that is opened as the whole.

    For commands, which show what was typed in many places. Other texts, and the identity, stay.

    >>> hide_secrets("https://me:secret@models.example/net.kellet")
    'https://models.example/net.kellet'
    """
    if not is_address(text) or isinstance(text, _Hidden):
        return text
    pin = _PIN.fullmatch(text.rpartition("#")[2])
    hidden = _Hidden(without_credentials(text) + (f"#{pin[0]}" if pin else ""))
    hidden.whole = text
    return hidden
