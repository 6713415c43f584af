"""A keyword that a step or a transform does not have is told with its name, and with those that there are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from packager.errors import ArgumentError
from packager.migrations import (
    Cast,
    Migration,
    MigrationFileError,
    NamedFunction,
    Permute,
    Reshape,
    Roll,
    Scale,
    Slice,
    Transpose,
    default,
    drop,
    merge,
    migration_from_text,
    rename,
    rename_pattern,
    split,
    swap,
)

GATES = "before, version_key, unless, if_all, if_value, if_module"


@pytest.mark.parametrize(
    ("make", "given", "wrong", "near", "own"),
    [
        (rename, {"old": "a", "nw": "b"}, "nw", "new", f"old, new, *transforms, repeat, {GATES}"),
        (rename, {"old": "a", "new": "b", "unles": "c"}, "unles", "unless", "old, new, *transforms, rep"),
        (rename, {"old": "a", "new": "b", "transforms": []}, "transforms", "*transforms", "old, new, *tr"),
        (rename_pattern, {"pattern": "a", "replacment": "b"}, "replacment", "replacement", "pattern, repl"),
        (drop, {"old": "a", "if_any": "b"}, "if_any", "if_all", f"old, {GATES}"),
        (
            default,
            {"new": "a", "fill": 0, "shap": (1,)},
            "shap",
            "shape",
            f"new, fill, shape, dtype, like, {GATES}",
        ),
        (
            split,
            {"old": "a", "new": ["b"], "axes": 1},
            "axes",
            "axis",
            f"old, new, axis, sizes, over, {GATES}",
        ),
        (
            merge,
            {"old": ["a"], "new": "b", "ovre": "e"},
            "ovre",
            "over",
            f"old, new, axis, sizes, over, {GATES}",
        ),
        (swap, {"one": "a", "othr": "b"}, "othr", "other", f"one, other, {GATES}"),
        (Migration, {"name": "m", "step": []}, "step", "steps", "name, steps, target, to, unwrap, since"),
        (Transpose, {"axis": (0,)}, "axis", "axes", "axes"),
        (Reshape, {"shpae": (1,)}, "shpae", "shape", "shape, old"),
        (Slice, {"axis": 0, "stp": 2}, "stp", "stop", "axis, start, stop"),
        (Roll, {"axes": 0, "by": 1}, "axes", "axis", "axis, by"),
        (Cast, {"dtyp": "float32"}, "dtyp", "dtype", "dtype, old"),
        (Scale, {"bye": 2.0}, "bye", "by", "by"),
        (Permute, {"axis": 0, "group": (2,), "order": (0,)}, "group", "groups", "axis, groups, order"),
        (NamedFunction, {"nmae": "a:b"}, "nmae", "name", "name, result"),
    ],
)
def test_a_wrong_keyword_is_told_with_the_step_and_what_it_takes(
    make: Callable[..., Any], given: dict[str, Any], wrong: str, near: str, own: str
) -> None:
    with pytest.raises(ArgumentError) as caught:
        make(**given)
    told = f"{make.__name__}() does not take {wrong!r}; did you mean {near}? It takes {own}"
    assert str(caught.value)[: len(told)] == told
    assert isinstance(caught.value, TypeError)


def test_where_nothing_is_near_what_there_is_is_told_alone() -> None:
    with pytest.raises(
        ArgumentError, match=r"^swap\(\) does not take 'quietly'; it takes one, other, before"
    ):
        swap("a", "b", quietly=True)  # type: ignore[call-arg]  # on purpose


@pytest.mark.parametrize(
    ("table", "told"),
    [
        (
            '[[step]]\nrename = "a"\nto = "b"\nunles = "c"',
            "m.toml:2: unknown 'unles' beside rename; did you mean unless? Expected before, if_all",
        ),
        (
            '[[step]]\nmerge = ["a", "c"]\nto = "b"\naxes = 1\nsize = [1, 2]',
            "m.toml:2: unknown 'axes' beside merge; did you mean axis?, 'size' beside merge; did you mean ",
        ),
        (
            '[[step]]\nrename = "a"\ntransforms = [{ slice = [0, 2], axs = 1 }]',
            "m.toml:2: unknown 'axs' beside slice; did you mean axis? Expected axis, slice",
        ),
        ('unwarp = "model"', "m.toml:2: unknown 'unwarp'; did you mean unwrap? Expected class, from, name"),
        ('[[step]]\ndrop = "a"\nzzz = 3', "m.toml:2: unknown 'zzz' beside drop; expected before, drop"),
    ],
)
def test_a_wrong_key_of_a_file_is_told_with_its_line_and_step(table: str, told: str) -> None:
    with pytest.raises(MigrationFileError) as caught:
        migration_from_text(f'name = "m"\n{table}\n', "m.toml")
    (line,) = str(caught.value).splitlines()
    assert line.startswith(told), line
