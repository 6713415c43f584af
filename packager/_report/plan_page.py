"""From an export plan to its page: what would be written, and everything that is wrong; nothing is run."""

from __future__ import annotations

from collections.abc import Iterator

from packager._archive import NOT_REPEATABLE, tensor_bytes
from packager._exporting import ExportPlan, PlannedEntry
from packager._graph import ComputedImport, Edge
from packager._texts import counted, size_text

from .archive_contents import entry_points_section, objects_table, state_dicts_table
from .archive_page import KINDS, STANDARD, modules_section, rules_section, sizes_section
from .page_parts import Cell, Code, Facts, Mark, ModuleFacts, Page, Section, Site, section, table


def page_of_plan(plan: ExportPlan, target: str) -> Page:
    """Return the page of a plan for `target`, as the command names it.

    >>> import io
    >>> from packager import PackageExporter
    >>> exporter = PackageExporter(io.BytesIO())
    >>> exporter.save_source_string("net", "import not_installed_here")
    >>> [section.name for section in page_of_plan(exporter.plan(), "net").sections][:2]
    ['about', 'problems']
    """
    sections = (
        _about(plan),
        _problems(plan),
        _computed(plan),
        _warnings(plan),
        sizes_section(plan.cost(), _sized(plan)),
        modules_section(_module_facts(plan)),
        rules_section(((one.action, one.rule, one.because) for one in plan.modules), plan.dead_rules),
        _tensors(plan),
        _objects(plan),
        entry_points_section(plan.entry_points, plan.schemas),
        _golden_calls(plan),
        _target(plan),
        _files(plan),
    )
    title = f"Plan for {target}"
    said = "what an export would write; nothing has been written"
    return Page(title, said, tuple(one for one in sections if one is not None))


def _about(plan: ExportPlan) -> Section | None:
    environment = [
        (label, str(plan.environment[name]))
        for label, name in (("Python", "python"), ("platform", "platform"))
        if name in plan.environment
    ]
    rows: tuple[tuple[str, Cell], ...] = (
        ("state", Mark(plan.state, ("good" if plan.is_proved else "") if plan.ok else "bad")),
        ("size", size_text(plan.size)),
        ("modules stored", len(plan.by_action("intern"))),
        ("packages required or optional", sum(one.origin.kind not in STANDARD for one in plan.externs)),
        ("mocked", len(plan.by_action("mock"))),
        *environment,
    )
    return section("about", "About", Facts(rows))


def _problems(plan: ExportPlan) -> Section | None:
    rows: list[tuple[Cell, ...]] = [
        (
            Code(one.subject),
            Mark(one.reason, "bad"),
            one.context,
            " → ".join(one.chain),
            Code(one.fix) if one.fix else None,
        )
        for one in plan.problems
    ]
    suspects: list[tuple[Cell, ...]] = [
        (Code(one.subject), suspect) for one in plan.problems for suspect in one.suspects
    ]
    empty: list[tuple[Cell, ...]] = [(Code(rule),) for rule in plan.empty_rules]
    columns = ("subject", "reason", "found", "imported by", "to paste")
    return section(
        "problems",
        "Problems",
        table("problems that stop the export", columns, rows, most_bytes=60_000, is_open=True),
        table("differences in the clean process, most likely first", ("subject", "difference"), suspects),
        table("rules that must match and match nothing", ("rule",), empty),
        count=f"{len(rows) + len(empty):,}",
    )


def _computed(plan: ExportPlan) -> Section | None:
    """Return the imports by computed names that no run has come to."""
    columns = ("place", "function", "code")
    return section(
        "computed",
        "Imports by computed names",
        table("in the project", columns, [*map(_place_of, plan.unreached)]),
        table("in installed packages", columns, [*map(_place_of, plan.library_unreached)], is_open=False),
        count=f"{len(plan.unreached):,}",
        note="The proof finds the modules that the example loads; after it, these imports were never "
        "reached. exporter.save_module() stores such a module.",
    )


def _place_of(one: ComputedImport) -> tuple[Cell, ...]:
    return Code(f"{one.file}:{one.line}"), one.function, Code(one.text)


def _warnings(plan: ExportPlan) -> Section | None:
    own: list[tuple[Cell, ...]] = [(one,) for one in plan.warnings]
    others: list[tuple[Cell, ...]] = [(one,) for one in plan.library_warnings]
    licenses: list[tuple[Cell, ...]] = [(line,) for one in plan.licenses for line in one.lines()]
    return section(
        "warnings",
        "Warnings",
        table("warnings", ("what",), own),
        table("licences to look at", ("what",), licenses),
        table("warnings of installed packages", ("what",), others, is_open=False),
        count=f"{len(own) + len(licenses) + len(others):,}",
    )


def _sized(plan: ExportPlan) -> Iterator[tuple[list[str], int, str]]:
    for entry in (*plan.entries, *plan.carried):
        yield entry.name.split("/"), entry.size, KINDS.get(entry.kind, "other")
    for member in plan.tensors:
        seen = set()
        for spec in member.specs:
            if spec.storage not in seen:
                seen.add(spec.storage)
                yield [member.name, *spec.key.split(".")], tensor_bytes(spec.dtype, spec.shape), "weights"


def _module_facts(plan: ExportPlan) -> tuple[ModuleFacts, ...]:
    return tuple(
        ModuleFacts(
            module.name,
            module.action,
            module.rule,
            module.because,
            module.size,
            tuple(
                Site(edge.importer, _place(edge))
                for edge in module.importers
                if edge.kind not in ("root", "parent")
            ),
            module.action == "extern" and module.origin.kind in STANDARD,
        )
        for module in plan.modules
    )


def _place(edge: Edge) -> str:
    kind = "" if edge.kind == "top" else f" ({f'{edge.kind} {edge.detail}'.strip()})"
    return f"{edge.file}:{edge.line}{kind}"


def _tensors(plan: ExportPlan) -> Section | None:
    rows: list[tuple[Cell, ...]] = []
    for member in plan.tensors:
        first: dict[int, str] = {}
        for spec in member.specs:
            size, of = tensor_bytes(spec.dtype, spec.shape), first.setdefault(spec.storage, spec.key)
            shared = f"memory of {of}" if of is not spec.key else ""
            rows.append(
                (Code(spec.key), spec.dtype, str(list(spec.shape)), size_text(size), shared, member.name)
            )
    columns = ("tensor", "dtype", "shape", "size", "shares", "member")
    found = table("tensors", columns, rows, most=1000, most_bytes=200_000)
    return section("tensors", "Tensors", found, count=f"{len(rows):,}")


def _objects(plan: ExportPlan) -> Section | None:
    names: list[tuple[Cell, ...]] = [
        (Code(use.name), use.role, f"{record.package}/{record.resource}")
        for record in plan.objects
        for use in record.types
    ]
    return section(
        "objects",
        "Objects",
        objects_table(plan.objects),
        state_dicts_table(plan.state_dicts),
        table("names that objects need", ("name", "role", "stored as"), names),
        count=f"{len(plan.objects) + len(plan.state_dicts):,}",
    )


def _golden_calls(plan: ExportPlan) -> Section | None:
    rows: list[tuple[Cell, ...]] = [
        (Code(check.name), check.entry_point, "" if check.outputs else NOT_REPEATABLE)
        for check in plan.checks
    ]
    found = table("stored examples, with their outputs", ("call", "entry point", "note"), rows)
    return section("golden-calls", "Golden calls", found, count=f"{len(rows):,}")


def _target(plan: ExportPlan) -> Section | None:
    rows: list[tuple[Cell, ...]] = [
        (
            one.name,
            one.requirement or Mark("no distribution known", "warning"),
            f"{one.origin}{', optional' if one.optional else ''}",
            len(one.modules),
        )
        for one in plan.externs
        if one.origin.kind not in STANDARD
    ]
    standard = ", ".join(one.name for one in plan.externs if one.origin.kind in STANDARD)
    wheels: list[tuple[Cell, ...]] = [(one,) for one in plan.wheels_for]
    return section(
        "target",
        "What the target must have",
        table("packages", ("import name", "requirement", "origin", "modules"), rows),
        table("wheels, fetched when it is written", ("platform",), wheels),
        count=counted(len(rows), "package"),
        note=f"From the standard library: {standard}." if standard else "",
    )


def _files(plan: ExportPlan) -> Section | None:
    data = [_file(entry) for entry in plan.data_files]
    left = [_file(entry) for entry in plan.left_out]
    known = set(plan.data_files)
    others = [_file(entry) for entry in (*plan.entries, *plan.carried) if entry not in known]
    columns = ("entry", "kind", "size", "because")
    return section(
        "files",
        "Files",
        table("data files", columns, data),
        table("left out", columns, left),
        table("all others" if data or left else "all files", columns, others, is_open=False),
        count=f"{len(data) + len(others):,}",
    )


def _file(entry: PlannedEntry) -> tuple[Cell, ...]:
    return (Code(entry.name), entry.kind, size_text(entry.size), entry.because)
