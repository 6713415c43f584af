"""A table as an input of a call: its columns by name, and a DataFrame of pandas when the call is made.

What is stored and compared has no pandas: an archive with tables is listed and verified without it.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from importlib import import_module
from typing import Any, Final

from packager._quick_dataclasses import dataclass
from packager._texts import listed
from packager.errors import ArgumentError

TABLE_LIBRARY: Final = "pandas"
_TEXTS: Final = frozenset({"object", "str", "string"})
_IN_LISTS: Final = frozenset({str, bool, int, float, type(None)})


@dataclass(frozen=True, eq=False)
class InputTable:
    """Columns by name, each an array with one axis, or a list of texts, numbers and None.

    >>> import numpy
    >>> table = InputTable({"age": numpy.array([31, 45]), "city": ["Oslo", None]})
    >>> table.frame().shape
    (2, 2)
    """

    columns: Mapping[str, Any]

    @classmethod
    def of(cls, frame: object) -> InputTable:
        """Return a DataFrame of pandas as a table. Its index is left out: a call gets rows numbered from 0.

        Raises ArgumentError for other frames, names that are no texts or are there twice, and columns of
        other dtypes than numbers, dates and text.
        """
        pandas: Any = sys.modules.get(TABLE_LIBRARY)
        if pandas is None or type(frame) is not pandas.DataFrame:
            raise ArgumentError(
                f"found a {type(frame).__qualname__} of {type(frame).__module__.partition('.')[0]}; "
                f"expected a {TABLE_LIBRARY}.DataFrame, or an array: write frame.to_numpy()"
            )
        table: Any = frame
        names = [*table.columns]
        odd = [name for name in names if type(name) is not str]
        if odd or len(set(names)) < len(names):
            raise ArgumentError(
                f"the table has the columns {listed([*map(repr, names)], 5)}; expected names that are text "
                f"and differ: write {'frame.rename(columns=str)' if odd else 'frame.to_numpy()'}"
            )
        return cls({name: _column(name, table[name]) for name in names})

    @property
    def rows(self) -> int:
        """The number of rows; 0 without columns."""
        return max(map(len, self.columns.values()), default=0)

    def frame(self) -> Any:
        """Return a new DataFrame with these columns. Raises ImportError where pandas is not installed."""
        return import_module(TABLE_LIBRARY).DataFrame(dict(self.columns))


def is_frame(value: object) -> bool:
    """Say whether a value is a frame of pandas or polars: it has columns, and can become an array."""
    return hasattr(value, "columns") and hasattr(value, "to_numpy")


def _column(name: str, series: Any) -> Any:
    array = series.to_numpy()
    if not array.dtype.hasobject:
        if series.dtype.name != "category":
            return array.copy()
    else:
        pairs = zip(array.tolist(), series.isna(), strict=True)
        values = [None if is_missing else one for one, is_missing in pairs]
        if series.dtype.name in _TEXTS and set(map(type, values)) <= _IN_LISTS:
            return values
    raise ArgumentError(
        f"column {name!r} has the dtype {series.dtype}; expected numbers, dates or text: write "
        f"frame.astype({{{name!r}: str}}), and convert it back in the model"
    )
