"""Tables as inputs of calls: DataFrames are stored by column, listed without pandas, given back to calls."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import packager
from packager import PackageImporter, ValueType
from packager._calls import InputTable, fitted, pack_values, type_of, unpack_values
from packager.errors import ArchiveError, ArgumentError
from tests.tables import one_test

FRAME = pd.DataFrame(
    {
        "age": [20, 31, 45, 61],
        "score": [0.5, np.nan, -1.0, 2.0],
        "city": ["Oslo", None, "Bern", "Oslo"],
        "seen": pd.to_datetime(["2020-01-01", "2021-02-03", None, "2022-03-04"]),
        "is_new": [True, False, True, True],
    },
    index=[7, 5, 3, 1],
)
TYPE = "table{age: int64[4], score: float64[4], city: list[text?], seen: datetime64[4], is_new: bool[4]}"


def test_a_frame_comes_back_with_its_columns_and_rows_numbered_from_0() -> None:
    arrays, texts = pack_values({"arg0": InputTable.of(FRAME)})
    assert sorted(arrays) == ["arg0[0]", "arg0[1]", "arg0[3]", "arg0[4]"]
    assert texts["table arg0"] == 'json ["age","score","city","seen","is_new"]'
    assert texts["value arg0[2]"] == 'json ["Oslo",null,"Bern","Oslo"]'
    found, _ = unpack_values(arrays, texts, what="check")
    assert [*found] == ["arg0"]
    pd.testing.assert_frame_equal(found["arg0"].frame(), FRAME.reset_index(drop=True))


def test_the_type_of_a_table_names_its_columns() -> None:
    assert str(type_of(InputTable.of(FRAME))) == TYPE
    assert ValueType.parse(TYPE) == type_of(InputTable.of(FRAME))


@one_test
@pytest.mark.parametrize(
    ("frame", "told"),
    [
        (FRAME.rename(columns={"age": 3}), r"columns 3, 'score', .*names that are text and differ"),
        (FRAME[["age", "age"]], r"columns 'age', 'age'; expected names that are text and differ"),
        (FRAME.astype({"city": "category"}), r"column 'city' has the dtype category; .*frame\.astype\("),
        (FRAME.assign(city=[[1], [2], [3], [4]]), r"column 'city' has the dtype object"),
    ],
)
def test_a_column_that_a_check_cannot_store_is_named(frame: Any, told: str) -> None:
    with pytest.raises(ArgumentError, match=told):
        InputTable.of(frame)


@one_test
@pytest.mark.parametrize(
    ("texts", "told"),
    [
        ({"table x": 'json "age"'}, "found 'age'; expected the names of columns"),
        ({"table x": 'json ["age",1]'}, "expected the names of columns"),
        ({"table x": 'json ["age","age"]'}, "expected the names of columns"),
        ({"table x": 'json ["age", "city"]'}, "expected a value as section 5.5 spells it"),
        (
            {"table x": 'json ["age","city"]'},
            "column 'city': found NoneType; expected an array with one axis",
        ),
        ({"table x": 'json ["age","city"]', "value x[1]": "json 3"}, "column 'city': found int; expected"),
        ({"table x": 'json ["age","city"]', "value x[1]": "json [3]"}, r"found columns of \[1, 2\] rows"),
        ({"table x": "json []", "value x": "json 1"}, "found a value and a table; expected one of them"),
        ({"table x[0]": 'json ["age"]'}, "found a value and a table"),
    ],
)
def test_no_other_spelling_of_a_table_is_read(texts: dict[str, str], told: str) -> None:
    with pytest.raises(ArchiveError, match=told):
        unpack_values({"x[0]": np.ones(2)}, texts, what="check")


def test_an_answer_has_no_tables_and_no_mode() -> None:
    for texts in ({"table x": "json []"}, {"mode": "training"}):
        with pytest.raises(ArchiveError, match=r"expected what section 5\.5 lists"):
            unpack_values({}, texts, what="check", are_inputs=False)


def test_a_table_fits_by_its_columns_in_any_order_and_beside_others() -> None:
    expected = ValueType.parse("table{age: real[*], city: list[text?]}")
    given = FRAME.assign(more=1)[["more", "city", "age"]]
    assert [*fitted("x", given, expected).columns] == ["age", "city"]
    found = fitted("x", {"city": ["Rome"], "age": [3], "more": [1]}, expected)
    assert {name: list(value) for name, value in found.columns.items()} == {"age": [3], "city": ["Rome"]}


# --- a pipeline that looks columns up by name ---


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any]:
    by_name = make_column_transformer(
        (StandardScaler(), ["age"]), (OneHotEncoder(handle_unknown="ignore"), ["city"])
    )
    model = make_pipeline(by_name, LogisticRegression()).fit(FRAME, [0, 1, 1, 0])
    path = tmp_path_factory.mktemp("tables") / "model.kellet"
    packager.save(model, path, example=FRAME)
    return path, model


def test_a_pipeline_by_column_names_is_proved_with_a_frame(stored: tuple[Path, Any]) -> None:
    path, model = stored
    found = packager.load(path)
    assert found.predict_proba(FRAME).tobytes() == model.predict_proba(FRAME).tobytes()
    with PackageImporter(path) as importer:
        assert [(one.name, one.optional) for one in importer.manifest.externs if one.name == "pandas"] == [
            ("pandas", False)
        ]
        (schema,) = importer.manifest.schemas
        assert schema.takes[0].type == (
            "table{age: real[*], score: real[*], city: list[text?], seen: datetime64[*], is_new: real[*]}"
        )


def test_the_file_is_listed_and_verified_without_pandas(stored: tuple[Path, Any]) -> None:
    program = (
        "import sys; sys.modules['pandas'] = None; from packager.__main__ import main\n"
        f"for command in ('inspect', 'verify', 'report'): main([command, {str(stored[0])!r}] + "
        "(['-o', '-'] if command == 'report' else []))\nprint('DONE')"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert "table, 4 rows" in run.stdout, run.stderr
    assert run.stdout.endswith("DONE\n"), run.stderr


def test_a_predictor_takes_the_frame_and_says_which_column_is_missing(stored: tuple[Path, Any]) -> None:
    path, model = stored
    predictor = packager.Predictor(path)
    found = predictor.predict(FRAME.assign(more=0))
    assert found["output"].tolist() == model.predict(FRAME).tolist()
    assert [*found.index] == [7, 5, 3, 1]
    pd.testing.assert_frame_equal(predictor.golden_inputs()["arg0"], FRAME.reset_index(drop=True))
    with pytest.raises(
        packager.errors.SchemaMismatchError,
        match="found the columns age, score, seen, is_new, expected also city",
    ):
        predictor.predict(FRAME.drop(columns="city"))
    with pytest.raises(
        packager.errors.SchemaMismatchError, match=r"found float64\[2, 2\], expected table\{age"
    ):
        predictor.predict(np.ones((2, 2)))
