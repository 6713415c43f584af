"""What the audit refuses, told in one error: names by distribution and role, then forms, with a way out."""

from __future__ import annotations

from collections.abc import Sequence

from packager._names import is_never_stored, why_never_stored
from packager._objects import FormUse, NameUse
from packager._texts import MOST_LISTED, counted, few_of, in_lines
from packager.errors import UntrustedTypeError

from .trust import StoredName, TrustContext

_ROLE_WORDS = {
    "create": "created and given state",
    "call": "called with stored arguments",
    "value": "handed to the code of the model",
}


class UntrustedNamesError(UntrustedTypeError):
    """The audit refuses names or forms: `uses` has all names, `names` as "module:name", `forms` the rest.

    `trust=error.names` is refused: names have to be written out to be trusted.
    """

    def __init__(self, message: str, uses: Sequence[NameUse], forms: Sequence[FormUse] = ()) -> None:
        super().__init__(message)
        self.uses = tuple(uses)
        self.forms = tuple(forms)
        self.names = tuple(StoredName(use) for use in uses)


def refusal(
    uses: Sequence[NameUse],
    trust_context: TrustContext,
    what: str,
    forms: Sequence[FormUse] = (),
    idle: Sequence[str] = (),
) -> UntrustedNamesError:
    """Return one error for everything: names by distribution and by role, then forms.

    `idle` are names that the caller trusts, and that are not there.
    """
    lines = [*(_named(uses, trust_context, what) if uses else ())]
    if forms:
        count = counted(len(forms), "thing in it is", "things in it are")
        alone = "refused" if trust_context.allows_code else "refused in data alone"
        lines.append(f"{what}: {count} {alone}; nothing was imported or built.")
        lines += [f"    {form}" for form in few_of([*map(str, forms)])]
    if idle:
        lines += ["trust= has names that it does not use:", *(f"    {one}" for one in few_of(idle))]
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
    return f" ({whose} is stored, but this object was saved as data alone)"


def _never(use: NameUse) -> str:
    why = why_never_stored(use.module, use.qualname)
    return f" (refused always: it {why})" if why else ""


def _ways_out(uses: Sequence[NameUse], forms: Sequence[FormUse]) -> list[str]:
    """One line to paste, with all that may be trusted; and words for what runs with stored arguments."""
    uses = [use for use in uses if not is_never_stored(use.module, use.qualname)]
    named = {str(use) for use in uses}
    excused = {form.trust for form in forms if form.trust}
    if uses or len(excused) > 1:  # a form says the one name that excuses it by itself
        named |= excused
    lines = []
    if any(use.role != "create" for use in uses):
        lines.append(
            "Names that are called or handed on run with values from the archive: read their code before you "
            "trust them."
        )
    if named:
        names = ", ".join([*map(repr, sorted(named)[:MOST_LISTED]), *["..."] * (len(named) > MOST_LISTED)])
        more = "" if len(named) <= MOST_LISTED else "; this error lists all in `names` and `forms`"
        lines.append(
            "If you know these names and trust this archive with them: "
            f"PackageImporter(..., trust=({names},)), or --trust of the command{more}"
        )
    return lines
