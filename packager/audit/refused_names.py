"""What the audit refuses, told in one error: names by distribution and role, then forms, with a way out."""

from __future__ import annotations

from collections.abc import Sequence

from packager.errors import UntrustedTypeError
from packager.names import is_never_stored, why_never_stored
from packager.objects import FormUse, NameUse
from packager.texts import MOST_LISTED, counted, few_of, in_lines

from .trust import StoredName, TrustContext

_ROLE_WORDS = {
    "create": "created and given state",
    "call": "called with stored arguments",
    "value": "handed to the code of the model",
}


class UntrustedNamesError(UntrustedTypeError):
    """What the audit does not allow: `uses` holds all names, `names` as "module:name", `forms` the rest.

    The names carry a mark, so that `trust=error.names` is refused: who trusts writes names out.
    """

    def __init__(self, message: str, uses: Sequence[NameUse], forms: Sequence[FormUse] = ()) -> None:
        super().__init__(message)
        self.uses = tuple(uses)
        self.forms = tuple(forms)
        self.names = tuple(StoredName(use) for use in uses)


def refusal(
    uses: Sequence[NameUse], trust_context: TrustContext, what: str, forms: Sequence[FormUse] = ()
) -> UntrustedNamesError:
    """Return one error for everything: names by distribution and by role, then forms."""
    lines = [*(_named(uses, trust_context, what) if uses else ())]
    if forms:
        count = counted(len(forms), "thing")
        alone = "must not be given what it says" if trust_context.allows_code else "must not be in data alone"
        lines.append(f"{what}: {count} in it {alone}; nothing was imported or built.")
        lines += [f"    {form}" for form in few_of([*map(str, forms)])]
    return UntrustedNamesError(in_lines(*lines, *_ways_out(uses, forms)), uses, forms)


def _named(uses: Sequence[NameUse], trust_context: TrustContext, what: str) -> list[str]:
    groups: dict[tuple[str, str], list[NameUse]] = {}
    for use in uses:
        top = use.module.partition(".")[0]
        groups.setdefault((trust_context.distributions.get(top, top), use.role), []).append(use)
    count = len({(use.module, use.qualname) for use in uses})
    names = counted(count, "name in it is", "names in it are")
    lines = [f"{what}: {names} neither in the archive nor trusted; nothing was imported or built."]
    for (distribution, role), members in sorted(groups.items()):
        lines.append(f"* {distribution}, {_ROLE_WORDS[role]}:")
        told = [f"{use}    at {use.path}{_never(use)}{_beside(use, trust_context)}" for use in members]
        lines += [f"    {one}" for one in few_of(told)]
    return lines


def _beside(use: NameUse, trust_context: TrustContext) -> str:
    """Why a name is refused though the archive stores its module."""
    stored = () if trust_context.allows_code else trust_context.stored_on_the_way(use.module)
    if not stored:
        return ""
    whose = "its source" if stored[-1] == use.module else f"the source of {stored[-1]}"
    return f" ({whose} is stored, but this is data alone, whatever lies beside it)"


def _never(use: NameUse) -> str:
    why = why_never_stored(use.module, use.qualname)
    return f" (refused always: it {why})" if why else ""


def _ways_out(uses: Sequence[NameUse], forms: Sequence[FormUse]) -> list[str]:
    """One line to paste, with all that may be trusted; and words for what runs with stored arguments."""
    uses = [use for use in uses if not is_never_stored(use.module, use.qualname)]
    offered = {str(use) for use in uses}
    excused = {form.trust for form in forms if form.trust}
    if uses or len(excused) > 1:  # a form says the one name that excuses it by itself
        offered |= excused
    lines = []
    if any(use.role != "create" for use in uses):
        lines.append(
            "Names that are called or handed on run with what the archive says: read what they do before you "
            "trust them."
        )
    if offered:
        names = ", ".join(
            [*map(repr, sorted(offered)[:MOST_LISTED]), *["..."] * (len(offered) > MOST_LISTED)]
        )
        more = "" if len(offered) <= MOST_LISTED else "; `names` and `forms` of this error have all of them"
        lines.append(
            "If you know these names and trust this archive with them: "
            f"PackageImporter(..., trust=({names},)), or --trust of the command{more}"
        )
    return lines
