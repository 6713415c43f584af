"""The warnings of an export: what stops nothing, and may turn out wrong where it is loaded."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property

from packager.audit import TrustContext, judge
from packager.graph import Module
from packager.objects import FormUse
from packager.policy import Decision
from packager.quick_dataclasses import replace
from packager.texts import counted

from .stored import StoredObject, StoredState, finding_text
from .surveying import Survey


class PlanWarnings:
    """The warnings of one survey."""

    def __init__(self, survey: Survey) -> None:
        self._survey = survey
        self._decisions = survey.decisions
        self._standing = survey.decisions.standing
        self._modules: Mapping[str, Module] = survey.walk.modules

    def all(self) -> Iterator[str]:
        """Yield everything that the user should know, and that stops nothing."""
        yield from self._dead_rules()
        for stored in self._survey.stored:
            for finding in stored.findings[1]:
                yield f"{stored.label}: {finding_text(finding)}"
        for name, decision in self._standing.items():
            if decision.action == "extern":
                yield from self._without_home(name, decision)
            elif name == "__main__" and decision.action == "intern" and decision.source is None:
                yield from self._decisions.sources.main_notes
            elif decision.action == "intern" and decision.source is None and self._is_stored(name):
                yield from filter(None, [self._decisions.sources.find(name).caveat])
        yield from self._absent(in_libraries=False)
        yield from self._code_left_outside()
        yield from self._names_to_trust()

    def _is_stored(self, name: str) -> bool:
        """Say whether a module was walked, and its text not given."""
        return name in self._modules and self._modules[name].kind != "text"

    def _dead_rules(self) -> Iterator[str]:
        for rule in map(str, self._decisions.policy.rules.dead()):
            # A rule for all that others leave is no typing error where they leave nothing.
            if not rule.endswith("('**')"):
                yield f"{rule} matched no module"

    def of_libraries(self) -> Iterator[str]:
        """Yield the warnings about imports of installed packages alone."""
        yield from self._absent(in_libraries=True)

    def _absent(self, *, in_libraries: bool) -> Iterator[str]:
        """Yield a warning for each package that is missed where its imports may not run, and are not tried.

        Those that installed packages alone import are apart from the others.
        """
        found: dict[str, list[str]] = {}
        for name in self._decisions.undecided:
            if self._survey.is_absent(name) and not self._survey.is_needed(name):
                found.setdefault(name.partition(".")[0], []).append(name)
        for names in found.values():
            edges = [edge for name in names for edge in self._survey.imports_of(name)]
            if edges and all(edge.kind == "try" for edge in edges):
                continue  # the code goes on without, there as here
            own = [edge for edge in edges if not self._survey.is_installed(edge.importer)]
            if in_libraries == (not own):
                places = [f" ({edge.file}:{edge.line})" for edge in own or edges if edge.line]
                warning = "was not found here; code that imports it will fail there as it does here"
                yield f"{names[0]} {warning}{''.join(places[:1])}"

    def _without_home(self, name: str, decision: Decision) -> Iterator[str]:
        origin = self._decisions.origin(name)
        if origin.distribution is not None or origin.kind in ("stdlib", "builtin"):
            return
        missing = name in self._modules and self._modules[name].kind == "missing"
        if missing and not self._survey.is_needed(name):
            return  # the code goes on without, there as here
        if origin.kind == "unknown" and (missing or decision.rule == "implicit"):
            yield f"{name} was not found here; code that imports it takes the target's, if there is one"
        else:
            yield f"{name} is extern without a known distribution ({origin}): the target must bring it"

    def _code_left_outside(self) -> Iterator[str]:
        """Warn where nothing is stored, although the class of an object could be: once for a package."""
        if any(one.action == "intern" and one.rule != "resources" for one in self._standing.values()):
            return
        told = set()
        for use in self._survey.uses:
            decision, origin = self._standing.get(use.module), self._decisions.origin(use.module)
            is_python = use.module in self._modules and self._modules[use.module].kind in ("source", "zip")
            label, top = use.label.partition(",")[0], use.module.partition(".")[0]
            if decision is None or decision.rule == "implicit" or top in told or not use.qualname:
                continue
            if is_python and (origin.is_at_hand or origin.kind in ("installed", "compiled")):
                told.add(top)
                store = f'exporter.intern("{top}.**") stores it'
                way_out = "install it there" if origin.kind == "compiled" else store
                yield (
                    f"no module is stored: {use.module}:{use.qualname}, the class of {label}, is left to the "
                    f"target ({origin}); {way_out}"
                )

    def _names_to_trust(self) -> Iterator[str]:
        """Warn of what loaders refuse by default; at the load, the one who exports is far away."""
        archive = self._trust_context
        for stored in self._survey.objects:
            module = (stored.factory or "").partition(":")[0]
            trust_context = archive.for_object([module]) if archive.interned(module) else archive
            factory = stored.factory if stored.factory and not archive.interned(module) else None
            yield from _refused_by_loaders(stored, stored.encoded.records, trust_context, "obj", factory)
        for state in self._survey.states:
            yield from _refused_by_loaders(state, state.encoded.extras, archive.data_alone(), "extras")

    @cached_property
    def _trust_context(self) -> TrustContext:
        """What loaders will judge by."""
        names = self._standing
        interned = [name for name, one in names.items() if one.action == "intern" and one.rule != "resources"]
        externs = {name.partition(".")[0] for name, one in names.items() if one.action == "extern"}
        return TrustContext.of_archive(interned, externs)


def _refused_by_loaders(
    stored: StoredObject | StoredState,
    records: bytes,
    trust_context: TrustContext,
    root: str,
    factory: str | None = None,
) -> Iterator[str]:
    if not records:
        return
    verdict = judge(records, trust_context, storages=stored.storages, what=stored.label, root=root)
    refused = sorted({str(use) for use in verdict.names} | ({factory} if factory else set()))
    if refused:
        trust = ", ".join(map(repr, refused))
        yield (
            f"{stored.label} needs names that loaders refuse unless they are told to trust them: "
            f"PackageImporter(..., trust=({trust},))"
        )
    # What a name in that line vouches for needs no line of its own.
    for form in _by_reason([form for form in verdict.forms if form.trust not in refused]):
        yield f"{stored.label} is refused by loaders: {form}"


def _by_reason(forms: Iterable[FormUse]) -> list[FormUse]:
    """Return one of all forms that are refused for the same reason; its path counts the other places."""
    groups: dict[tuple[str, str], list[FormUse]] = {}
    for form in forms:
        groups.setdefault((form.reason, form.trust), []).append(form)
    return [
        replace(first, path=f"{first.path}, and {counted(len(others), 'other place')}") if others else first
        for first, *others in groups.values()
    ]
