"""What a line in the table of dtypes brings with it."""

from __future__ import annotations

import numpy as np
import pytest

import kellet
from kellet import dtype_table, dtypes

NAMES = [*dtype_table.__all__, *dtype_table.ML_DTYPES]


def test_the_table_lists_each_dtype_that_it_makes() -> None:
    made = {name for name, value in vars(dtype_table).items() if isinstance(value, np.dtype)}
    assert made == {*dtype_table.__all__, "bool_"}  # `kellet.bool` and `kellet.dtypes.bool_`


@pytest.mark.parametrize("name", NAMES)
def test_a_dtype_of_the_table_is_one_everywhere(name: str) -> None:
    dtype = getattr(kellet, name)
    assert (getattr(dtypes, name), dtypes.as_dtype(name), dtypes.dtype_name(dtype)) == (dtype, dtype, name)
    assert kellet.tensor([1, 0], dtype=dtype).dtype is dtype
    assert kellet.ones(2).to(name).dtype == dtype
    assert dtypes.promote(dtype, dtype) == dtype
    assert dtypes.promote(dtype, kellet.complex128) == kellet.complex128


@pytest.mark.parametrize("name", NAMES)
def test_the_print_of_a_tensor_names_its_dtype(name: str) -> None:
    usual = {"float32", "int64", "complex64"}
    shown = repr(kellet.tensor([1], dtype=name))
    assert shown.endswith("])" if name in usual else f", dtype={name})")


def test_another_dtype_of_ml_dtypes_needs_its_name_in_the_table_only(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(AttributeError, match="kellet has no attribute 'float8_e4m3b11fnuz'"):
        kellet.float8_e4m3b11fnuz  # asking is what raises
    monkeypatch.setattr(dtypes, "ML_DTYPES", (*dtype_table.ML_DTYPES, "float8_e4m3b11fnuz"))
    test_a_dtype_of_the_table_is_one_everywhere("float8_e4m3b11fnuz")
