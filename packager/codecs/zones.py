"""A codec for time zones of `zoneinfo`: the name, looked up among the zones of the machine that loads."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from .base import CannotStore, Child, Codec, Decoding, Encoding, LiteralValue, Node, expect

if TYPE_CHECKING:
    from zoneinfo import ZoneInfo

# As zones are named; no dot, so that no name leads out of the folder they are looked up in.
_KEY: Final = re.compile(r"[A-Za-z0-9_+-]{1,32}(/[A-Za-z0-9_+-]{1,32}){0,3}")


class ZoneCodec(Codec):
    """Zones: their name. The rules are those of the machine, or of the package tzdata."""

    name = "zoneinfo.zone"
    types = ("zoneinfo:ZoneInfo",)

    def encode(self, obj: ZoneInfo, context: Encoding) -> Node:
        """Return the name of a zone. Raises CannotStore for one that was read from a file of its own."""
        key: str | None = obj.key  # None for one from a file, whatever the stubs say
        if key is None or _KEY.fullmatch(key) is None:
            raise CannotStore(
                f"a time zone with the name {key!r}, by which no zone is found again",
                'make it by its name: ZoneInfo("Europe/Berlin")',
            )
        return Node(key, key=key)

    def check(self, literal: LiteralValue, children: Sequence[Child], version: int) -> None:
        known = type(literal) is str and _KEY.fullmatch(literal) is not None
        expect(known and not children, "the name of a time zone")

    def decode(self, literal: Any, children: Sequence[Any], version: int, context: Decoding) -> Any:
        """Return the zone of a name. Raises ValueError where there is none here."""
        from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

        try:
            return ZoneInfo(literal)
        except ZoneInfoNotFoundError as error:
            raise ValueError(
                f"there is no time zone {literal} here; install tzdata, or update the zones of the system"
            ) from error
