"""One export under way: what is asked for, what is decided of it, and the archive that takes its bytes."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, BinaryIO, Literal

from packager._arguments import check_choice, check_flag, check_path, check_several, check_text
from packager._environment import Target, parse_targets, requirements_by_name
from packager._exporting.deciding import Decisions
from packager._exporting.golden_calls import CallWatch, CheckStoreError, StoredCheck
from packager._exporting.module_sources import SourcesOfRequest, mocked_in, sources_of
from packager._exporting.plan import ExportPlan
from packager._exporting.plan_writing import BegunArchive
from packager._exporting.planning import Planner
from packager._exporting.request import Item, ObjectRequest, Request, ResourceRequest, StateDictRequest
from packager._exporting.shared_archive import SharedArchive
from packager._exporting.stored import Storing, Takings
from packager._exporting.surveying import Survey, Surveyor
from packager._graph import Importer
from packager._policy import Action, GlobPattern, Policy, checked_variables
from packager._process import AnswerRequired, gc_paused, syntax_unwarned
from packager._quick_dataclasses import dataclass
from packager._ranks import Ranks
from packager.errors import PackagingError

if TYPE_CHECKING:
    from kellet.hooks import RemovableHandle
    from packager._archive import Manifest
    from packager._environment import Requirement
    from packager._signing import Signer


@dataclass(frozen=True)
class ExportOptions:
    """What an export was begun with, checked: see PackageExporter, whose arguments these are."""

    digests: str
    fsync: bool
    calls_demanded: bool
    runnable: bool
    wheels_for: tuple[Target, ...]
    loosened: Mapping[str, Requirement]
    signer: Signer | None = None
    by: str = ""
    provenance: bool = False


def export_options(
    digests: str,
    fsync: bool,
    calls_demanded: bool,
    runnable: bool,
    vendor_wheels: Sequence[str],
    loosen: Sequence[str],
    sign: object,
    by: str,
    provenance: bool,
) -> ExportOptions:
    """Return the options that arguments of PackageExporter say. Raises what that raises for others."""
    check_choice("digests", digests, ("sha256", "crc"))
    for name, flag in (("fsync", fsync), ("runnable", runnable), ("provenance", provenance)):
        check_flag(name, flag)
    check_several("vendor_wheels", vendor_wheels, "a list of targets")
    check_several("loosen", loosen, "a list of requirements")
    check_text("by", by, "the name of an author or a team")
    wheels_for = parse_targets(vendor_wheels) if vendor_wheels else ()
    loosened = requirements_by_name("loosen", loosen) if loosen else {}
    signer = None if sign is None else _signer(sign)
    return ExportOptions(
        digests, fsync, calls_demanded, runnable, wheels_for, loosened, signer, by, provenance
    )


def _signer(given: Any) -> Signer:
    """Return who signs. Raises SignersError for what is no private key, ArgumentError for another kind."""
    from packager._signing import Signer  # needs cryptography

    if isinstance(given, Signer):
        return given
    check_path("sign", given)
    return Signer.of(given)


class Export:
    """What was asked of one exporter, and the plan that follows from it.

    `exporter` is handed to hooks and to `__reduce_package__`. `tell(step, done, total)` says how far it is,
    and `watch_calls` makes what sees what calls change on modules.
    Everything that is added goes through `before`, which refuses what comes after the end or from a hook.
    """

    def __init__(
        self,
        exporter: object,
        file: str | os.PathLike[str] | BinaryIO,
        importer: Importer,
        policy: Policy,
        ranks: Ranks,
        options: ExportOptions,
        tell: Callable[..., None],
        watch_calls: Callable[[Mapping[str, tuple[str, bytes]]], CallWatch],
    ) -> None:
        self._watch_calls = watch_calls
        self.file, self.importer, self.ranks, self.options, self.tell = file, importer, ranks, options, tell
        self.state: Literal["open", "closed", "abandoned"] = "open"
        self.request = Request(options.loosened)
        self.decisions = Decisions(
            exporter,
            policy,
            SourcesOfRequest(sources_of(importer), self.request),
            self.request,
            mocked_in(importer),
            partial(tell, "reading modules"),
        )
        written: Any = {"digests": options.digests, "fsync": options.fsync, "progress": self._tell_writing}
        self.archive = (
            SharedArchive(file, ranks, **written) if ranks.is_of_group else BegunArchive(file, **written)
        )
        storing = Storing(importer, exporter, ranks if ranks.is_of_group else None)
        self._takings = Takings(self.request, storing, self.archive)
        self.surveyor = Surveyor(self.decisions, self._takings)
        self._plan: ExportPlan | None = None
        self._planned_with: tuple[object, ...] = ()
        self._calls: dict[int, StoredCheck | CheckStoreError] = {}
        self._provenance: Mapping[str, str | bool] | None = None

    # --- what is asked for ---

    def before(self, what: str) -> None:
        """Refuse what comes after the end, or from a hook: the modules are being decided then."""
        self.require_open()
        self.decisions.require_outside_hooks(what)

    def require_open(self) -> None:
        """Raise PackagingError after the end."""
        if self.state != "open":
            found = "was ended by an error or an interruption" if self.state == "abandoned" else "is closed"
            raise PackagingError(f"this exporter {found}. Make a new PackageExporter for another archive")

    def add_rule(self, action: Action, include: GlobPattern, exclude: GlobPattern, allow_empty: bool) -> None:
        """Add a rule behind those that are there."""
        self.before("add a rule")
        if self.request.is_repeated:
            return
        self.decisions.add_rule(action, include, exclude, allow_empty=allow_empty)
        self._changed()

    def register(self, action: Action, hook: Callable[..., Any]) -> RemovableHandle:
        """Take a hook that is called for each module of which that is decided; return its handle."""
        self.before("register a hook")
        handle = self.decisions.register_hook(action, hook)
        self._plan = None
        return handle

    def leave_out(self, patterns: GlobPattern) -> None:
        """Leave out data files whose paths match."""
        self.before("exclude data files")
        self.decisions.policy.leave_out(patterns)
        self._plan = None

    def allow_variable(self, name: str) -> None:
        """Take a variable of the environment that stored code may read."""
        self.before("allow a variable")
        self.surveyor.variables = checked_variables((*self.surveyor.variables, name))
        self._changed()

    def add_resource(self, resource: ResourceRequest) -> None:
        """Add bytes, which no module depends on: hooks may do so, too."""
        self.require_open()
        self.request.add(resource)
        self._plan = None

    def add(self, item: Item) -> None:
        """Add one item to the request, but for the second time through what is repeated."""
        if self.request.is_repeated:
            return
        self.request.add(item)
        self.decisions.note_request(item)
        self._changed()

    def take(self, item: ObjectRequest | StateDictRequest) -> None:
        """Add what is saved as data, as it is now: it is encoded, and its tensors are written.

        Where the archive cannot be written any more, the export is abandoned.
        """
        if self.request.is_repeated:
            return
        try:
            with syntax_unwarned():
                item = self._takings.take(item)
        finally:
            if not self.archive.is_open:
                self.abandon()
        self.add(item)

    def abandon(self) -> None:
        """End without an archive; nothing is left behind. Twice is fine."""
        self.state = "abandoned"
        self.archive.discard()

    # --- what follows ---

    def survey(self, what: str) -> Survey:
        """Return all that is stored and all modules, decided; raises RuntimeError inside a hook."""
        self.decisions.require_outside_hooks(what)
        with AnswerRequired("reading what is to be stored", hold=True), syntax_unwarned():
            return self.surveyor.survey()

    def decided(self, action: Action) -> list[str]:
        """Return the modules of which that was decided, sorted."""
        self.survey("ask for decisions")
        standing = self.decisions.standing
        return sorted(name for name, decision in standing.items() if decision.action == action)

    def plan(self) -> ExportPlan:
        """Return what would be written as things stand."""
        self.decisions.require_outside_hooks("ask for the plan")
        if self._plan is None:
            self._planned_with = self.surveyor.served.state
            self._plan = self._make_plan(self.survey("ask for the plan"))
        return self._plan

    def planned_again(self) -> ExportPlan:
        """Return the plan with what a clean process was served since; no golden call is made again."""
        if self._planned_with != self.surveyor.served.state:
            self._plan = None
        return self.plan()

    def provenance(self, survey: Survey | None = None) -> Mapping[str, str | bool]:
        """Return where the code of the project comes from, found out once."""
        if self._provenance is None:
            from .provenance import provenance_of  # few exports ask

            survey = survey or self.surveyor.survey()
            standing, walked = self.decisions.standing, survey.walk.modules
            files = (
                walked[name].path
                for name, one in standing.items()
                if one.action == "intern" and name in walked and self.decisions.origin(name).is_at_hand
            )
            self._provenance = provenance_of(filter(None, files), self.options.by)
        return self._provenance

    def sign(self, manifest: Manifest, identity: str) -> Mapping[str, bytes]:
        """Return the signatures of the archive that is written."""
        signer = self.options.signer
        if signer is None:
            return {}
        name = self.file if isinstance(self.file, str | os.PathLike) else "archive"
        return signer.signatures(manifest, identity, os.path.basename(name), self.provenance())

    def settle(self, plan: ExportPlan) -> None:
        """Take the plan that was written for that of this export."""
        self._plan = plan

    @gc_paused()
    def _make_plan(self, survey: Survey) -> ExportPlan:
        with AnswerRequired("making the plan", hold=True), syntax_unwarned():
            return Planner(
                survey,
                is_as_saved=self._takings.is_as_saved,
                calls=self._calls,
                watch_calls=self._watch_calls,
                calls_demanded=self.options.calls_demanded,
                runnable=self.options.runnable,
                wheels_for=tuple(map(str, self.options.wheels_for)),
                provenance=self.provenance(survey) if self.options.provenance else {},
            ).plan()

    def _changed(self) -> None:
        self._plan = None
        self._calls.clear()
        self.surveyor.touch()

    def _tell_writing(self, done: int, total: int) -> None:
        self.tell("writing tensors" if self.state == "open" else "writing", done, total)
