"""Constants of migrations: those that their dtype has, and those that it has not."""

from __future__ import annotations

import numpy as np
import pytest

import kellet
from packager._migrations import Migration, default, migrate, parse_migration, plan_migration
from packager.errors import MigrationError


@pytest.mark.parametrize(
    ("fill", "dtype", "message"),
    [
        (300, "uint8", "uint8 holds 0 to 255"),
        (-1, "uint64", "uint64 holds 0 to 18,446,744,073,709,551,615"),
        (-129, "int8", "int8 holds -128 to 127"),
        (1.5, "int32", "int32 holds whole numbers only"),
        (float("nan"), "int64", "int64 holds whole numbers only"),
        (2, "bool", "expected True or False"),
        (1e5, "float16", "float16 cannot hold so large a number"),
        (1e39, "bfloat16", "bfloat16 cannot hold so large a number"),
        (10**400, "float64", "float64 cannot hold so large a number"),
    ],
)
def test_a_constant_that_the_dtype_does_not_have_points_at_its_line(
    fill: float, dtype: str, message: str
) -> None:
    text = f'[[step]]\n\ndefault = "x"\nfill = {str(fill).lower()}\nshape = []\ndtype = "{dtype}"\n'
    if abs(fill) < 1e300 or fill != fill:
        with pytest.raises(MigrationError, match=rf"m\.toml:1: default x: fill = .*: {message}"):
            parse_migration(text, "m.toml")
    step = default("{p}.x", fill, like="{p}.w", line="m.toml:4")
    like = {"a.w": kellet.zeros(2, dtype=getattr(kellet, dtype))} if dtype == "bfloat16" else None
    like = like or {"a.w": np.zeros(2, dtype)}
    with pytest.raises(
        MigrationError, match=rf"m\.toml:4: default \{{p\}}\.x:\s+'a\.x': fill = .*: {message}"
    ):
        plan_migration(Migration("m", [step]), like)


@pytest.mark.parametrize(
    ("fill", "dtype"),
    [(255, "uint8"), (2.0, "int8"), (True, "uint8"), (1, "bool"), (0.1, "float16"), (float("inf"), "float32"),
     (-(2**63), "int64"), (3, "complex64")],
)  # fmt: skip
def test_a_constant_that_the_dtype_has_is_made(fill: float, dtype: str) -> None:
    step = default("x", fill, shape=(2,), dtype=dtype)
    assert migrate(Migration("m", [step]), {})["x"].tolist() == np.full(2, fill, dtype).tolist()
