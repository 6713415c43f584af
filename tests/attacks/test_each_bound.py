"""Both sides of each bound: what has exactly so many is taken; one more is refused, with both figures."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType

import pytest

from packager import _globs as globs
from packager import _toml_text as toml_text
from packager._archive import bounds
from packager._drafting import matching
from packager._policy import policy
from packager._weights import legacy_bounds
from packager.errors import PackageError
from tests.attacks.bound_rows import ARCHIVE, Row
from tests.attacks.bound_rows_of_files import FILES, LEGACY
from tests.tables import one_test

TESTS = Path(__file__).resolve().parents[1]
ALL = {
    **{f"archive {name}": row for name, row in ARCHIVE.items()},
    **{f"weights {name}": row for name, row in LEGACY.items()},
    **{f"files {name}": row for name, row in FILES.items()},
}

ELSEWHERE: Mapping[str, str] = {
    "archive MAX_TENSORS": "archive/test_safetensors.py::test_what_goes_beyond_a_bound_is_refused",
    "archive MAX_HEADER": "archive/test_safetensors.py::test_what_goes_beyond_a_bound_is_refused",
    "archive MAX_METADATA": "archive/test_safetensors.py::test_what_goes_beyond_a_bound_is_refused",
    "archive MAX_RANK": "archive/test_safetensors.py::test_what_goes_beyond_a_bound_is_refused",
    "archive FREE_SIZES": "archive/test_safetensors.py::test_sizes_of_all_shapes_are_bounded_by_the_header",
    "archive MAX_ALL_SEED_WORDS": "attacks/test_costly_seeds.py::test_the_words_of_all_seeds_are_counted",
    "archive MAX_LOGGERS": "attacks/test_crowded_keys.py::test_an_object_leaves_few_loggers_behind",
    "archive FREE_KEYS": "objects/test_key_spread.py::test_few_keys_may_collide",
    "archive STEPS_PER_KEY": "objects/test_key_spread.py::test_steps_are_counted_as_a_table_takes_them",
    "archive MAX_MIGRATED_KEY": "attacks/test_migration_bounds.py::"
    "test_a_key_of_as_many_characters_as_may_be_is_made",
    "archive MAX_JOINS": "attacks/test_migration_bounds.py::test_merges_inside_each_other_are_bounded",
    "archive MAX_REQUIREMENT": "attacks/test_costly_wheels.py::test_a_requirement_has_so_many_characters",
    "archive MAX_LICENSE_TEXT": "licenses/test_licenses.py::"
    "test_what_a_distribution_says_of_its_licence_has_so_many_characters",
    "archive MAX_WHEELS": "attacks/test_costly_wheels.py::test_wheels_are_counted_before_one_is_read",
    "archive FREE_WHEEL_TEXT": "attacks/test_costly_wheels.py::"
    "test_an_allowance_is_spent_whole_and_no_further",
    "archive MAX_WHEEL_REQUIREMENTS": "attacks/test_costly_wheels.py::"
    "test_requirements_of_all_wheels_are_counted",
    "archive MAX_WHEEL_MARKERS": "attacks/test_costly_wheels.py::"
    "test_extras_that_ask_each_other_come_to_an_end",
    "archive MAX_CHECK_TEXT": "calls/test_plain_values.py::test_texts_are_counted_when_written_and_read",
    "archive MAX_CHECKS": "attacks/test_costly_wheels.py::"
    "test_golden_calls_are_counted_when_a_manifest_is_read_or_written",
    **{
        f"archive {name}": "calls/test_traces.py::test_a_trace_has_so_many_bytes_calls_and_values"
        for name in ("MAX_TRACE", "MAX_TRACED_CALLS", "MAX_TRACED_VALUES")
    },
    "weights MAX_SHARDS": "weights/test_legacy_bounds.py::test_an_index_names_as_many_files_as_may_be_open",
    "weights MAX_EXTERN_MODULES": "weights/test_legacy_bounds.py::"
    "test_the_list_of_modules_of_a_package_is_bounded",
    "weights MAX_NUMPY_HEADER": "weights/test_legacy_bounds.py::"
    "test_a_header_of_numpy_has_as_many_bytes_as_numpy_reads",
    "weights MAX_NUMPY_BRACKETS": "weights/test_legacy_bounds.py::test_brackets_of_a_header_are_counted",
    "weights MAX_DCP_MEMORY": "attacks/test_dcp_folders.py::test_the_memory_for_metadata_is_bounded",
    "weights DCP_BYTES_PER_PART": "attacks/test_dcp_folders.py::test_keys_and_chunks_are_counted_by_bytes",
    "weights DCP_NODES_PER_VALUE": "attacks/test_dcp_folders.py::test_empty_places_are_counted_by_values",
    "weights MAX_CUTS": "attacks/test_dcp_folders.py::test_levels_of_cuts_are_counted",
    "files MOST_WORK": "drafting/test_effort.py::test_work_is_counted_up_to_the_most",
    "files MOST_STEPS": "drafting/test_effort.py::test_work_is_counted_up_to_the_most",
    "files MOST_LETTERS": "drafting/test_effort.py::test_names_that_are_too_long_are_left_out_and_said_so",
}
"""Where both sides of the others are tried; a draft that goes beyond a bound leaves out work, and says so."""

REASONS: Mapping[str, str] = {
    "archive CHUNK": "what every chunk but the last has, and no bound that is met",
    "archive BYTES_PER_VALUE": "the part of FREE_VALUES that grows with the file",
    "archive HEADER_BYTES_PER_SIZE": "the part of FREE_SIZES that grows with the header",
    "archive VIEW_PER_BYTE": "the part of FREE_VIEW that grows with the storage: eight bytes of its row",
    "archive BYTES_PER_RECORD": "the part of FREE_RECORDS that grows with the table",
    "archive WEIGHT_PER_BYTE": "the part of FREE_WEIGHT that grows with the table",
    "archive KEY_PARTS_PER_OPERAND": "the part of FREE_KEY_PARTS that grows with the table",
    "archive PATHS_PER_MODULE": "the part of FREE_MODULE_PATHS that grows with the model: 32 of its row",
    "archive KEY_TEXT_PER_CHARACTER": "the part of FREE_KEY_TEXT that grows with the keys: 16 of its row",
    "archive MADE_PER_BYTE": "the part of FREE_MADE that grows with the arrays",
    "archive WHEEL_TEXT_PER_BYTE": "the part of FREE_WHEEL_TEXT that grows with the wheels",
    "weights MEMORY_PER_BYTE": "the part of FREE_MEMORY that grows with the pickle",
    "weights DCP_MEMORY_PER_BYTE": "the part of what metadata may spend that grows with the pickle",
    "weights COST_OF_PART": "a price, paid from FREE_MEMORY",
    "weights COST_OF_LOOK": "a price, paid from FREE_MEMORY",
    "weights MAX_UNSEEN_KEYS": "how often keys are looked at: none is refused for it",
    "weights INFLATED_PER_BYTE": "the part of FREE_INFLATED that grows with the file",
    "weights WRITTEN_PER_BYTE": "the part of FREE_WRITTEN that grows with the file: 64 of its row",
}


@pytest.mark.parametrize("row", ALL.values(), ids=ALL)
def test_as_many_as_the_bound_are_taken_and_one_more_is_refused(
    row: Row, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in row.lowered.items():
        monkeypatch.setattr(f"packager._{name}", value)
    row.attempt(row.most, tmp_path)
    with pytest.raises((PackageError, ValueError), match=row.said) as refused:
        row.attempt(row.most + 1, tmp_path)
    found, limit = row.figures or (row.most + 1, row.most)
    figures = re.findall(r"(?<![\w.])\d+(?![\w])", str(refused.value).replace(",", ""))
    assert figures.count(str(found)) >= 1, "the refusal says what was found"
    assert figures.count(str(limit)) >= 1, "the refusal says what the limit is"


MODULES = [
    ("archive", bounds),
    ("weights", legacy_bounds),
    ("files", toml_text),
    ("files", globs),
    ("files", policy),
    ("files", matching),
]


def finals(module: ModuleType) -> list[str]:
    """Return the numbers that a module declares, and that have no underscore before them."""
    tree = ast.parse(Path(str(module.__file__)).read_text(encoding="utf-8"))
    declared = [
        node.target.id
        for node in tree.body
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
    ]
    return [name for name in declared if not name.startswith("_") and type(getattr(module, name)) is int]


def test_every_bound_has_a_row_or_a_reason() -> None:
    names = [f"{part} {name}" for part, module in MODULES for name in finals(module)]
    assert len(names) > 90
    assert sorted(names) == sorted([*ALL, *ELSEWHERE, *REASONS])


@one_test
@pytest.mark.parametrize("place", sorted(set(ELSEWHERE.values())))
def test_what_is_tried_elsewhere_is_there(place: str) -> None:
    file, _, name = place.partition("::")
    assert f"def {name}(" in (TESTS / file).read_text(encoding="utf-8")
