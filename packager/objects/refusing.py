"""What is said when an object names things that nobody trusts: by distribution and role, with a way out."""

from __future__ import annotations

from collections.abc import Sequence

from packager.errors import UntrustedTypeError

from .encoded import NameUse
from .naming import is_never_stored
from .trust import Regime, StoredName

__all__ = ["UntrustedNamesError", "refusal"]

_ROLE_WORDS = {
    "create": "created and given state",
    "call": "called with stored arguments",
    "value": "handed to the code of the model",
}


class UntrustedNamesError(UntrustedTypeError):
    """Names that the audit does not allow: `uses` holds all of them, `names` as "module:name".

    The names carry a mark, so that `trust=error.names` is refused: who trusts writes names out.
    """

    def __init__(self, message: str, uses: Sequence[NameUse]) -> None:
        super().__init__(message)
        self.uses = tuple(uses)
        self.names = tuple(StoredName(use) for use in uses)


def refusal(uses: Sequence[NameUse], regime: Regime, what: str) -> UntrustedNamesError:
    """One error for all names, grouped by the distribution that they come from and by role."""
    groups: dict[tuple[str, str], list[NameUse]] = {}
    for use in uses:
        top = use.module.partition(".")[0]
        groups.setdefault((regime.distributions.get(top, top), use.role), []).append(use)
    count = len({(use.module, use.qualname) for use in uses})
    noun = "name" if count == 1 else "names"
    lines = [
        f"{what}: {count} {noun} in it are neither in the archive nor trusted; nothing was imported or built."
    ]
    for (distribution, role), members in sorted(groups.items()):
        lines.append(f"* {distribution}, {_ROLE_WORDS[role]}:")
        lines += [f"    {use}    at {use.path}{_never(use)}" for use in members]
    return UntrustedNamesError("\n".join([*lines, *_ways_out(uses)]), uses)


def _never(use: NameUse) -> str:
    never = is_never_stored(use.module, use.qualname)
    return " (refused always: it turns data into code)" if never else ""


def _ways_out(uses: Sequence[NameUse]) -> list[str]:
    """A line to paste for classes that are only created; words for what runs with stored arguments."""
    dangerous = {
        str(use) for use in uses if use.role != "create" or is_never_stored(use.module, use.qualname)
    }
    harmless = sorted({str(use) for use in uses} - dangerous)
    lines = []
    if harmless:
        names = ", ".join(repr(name) for name in harmless)
        lines.append(f"If you know these classes and trust this archive to fill them: trust=({names},)")
    if dangerous:
        lines.append(
            "Names that are called or handed on run with what the archive says: read what they do before you "
            "write them into trust=, one by one."
        )
    return lines
