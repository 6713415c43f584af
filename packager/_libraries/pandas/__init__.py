"""Codecs for series and frames of pandas: indexes, and blocks of values as they lie in memory.

A frame keeps columns of one dtype together, as the rows of one array. The blocks are stored so, and read in
place. pandas believes what a block says of its place, so that is looked at here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from packager._audit import Row, Rows
from packager._codecs import Child, Encoding, Library, Node, PartsCodec, expect
from packager._texts import listed

from .arrays import CODECS as ARRAY_CODECS
from .arrays import VALUES, require_values, values_of
from .values import CODECS as VALUE_CODECS
from .values import homes, require_label, stored_label


class TableCodec(PartsCodec):
    """A codec for series or frames; tells of attributes that pandas would not copy either."""

    def encode(self, obj: Any, context: Encoding) -> Node:
        own = sorted(set(vars(obj)) - {"_mgr", "_attrs", "_flags", "_name", "_item_cache", "_is_copy"})
        if own:
            context.warn(
                f"{listed(own)}: attributes that you set on a pandas object are not stored; put them into "
                ".attrs"
            )
        return super().encode(obj, context)


def _series_of(obj: Any) -> Node:
    """Return the parts of a series. Raises CannotStore for a name that has code of its own."""
    name = stored_label(obj.name, "the name of a series")
    parts = (name, obj.index, values_of(obj), dict(obj.attrs) or None)
    return Node(bool(obj.flags.allows_duplicate_labels), parts)


def _series(allows_twice: bool, name: Any, index: Any, values: Any, attributes: Any) -> Any:
    import pandas

    require_label(name, "the name of a series")
    require_values(values)
    expect(len(values) == len(index), f"{len(index)} values", len(values))
    made = pandas.Series(values, index=index, dtype=values.dtype, name=name, copy=False)
    return _with_facts(made, allows_twice, attributes)


def _frame_of(obj: Any) -> Node:
    blocks = [part for block in obj._mgr.blocks for part in (block.values, _places(block))]
    parts = (obj.columns, obj.index, dict(obj.attrs) or None, *blocks)
    return Node(bool(obj.flags.allows_duplicate_labels), parts)


def _are_blocks(literal: Any, children: Sequence[Child]) -> bool:
    codecs = [child.codec for child in children[3:]]
    fits = {*codecs[::2]} <= {*VALUES.split("|")} and {*codecs[1::2]} <= {"numpy.ndarray"}
    return fits and len(codecs) % 2 == 0


def _frame(allows_twice: bool, columns: Any, index: Any, attributes: Any, *parts: Any) -> Any:
    blocks = list(zip(parts[::2], parts[1::2], strict=True))
    for values, places in blocks:
        _check_block(values, places, len(index))
    _check_places([places for _, places in blocks], len(columns))
    return _with_facts(_joined(blocks, index, columns), allows_twice, attributes)


def _places(block: Any) -> Any:
    import numpy

    return numpy.ascontiguousarray(block.mgr_locs.as_array, dtype=numpy.int64)


def _check_block(values: Any, places: Any, rows: int) -> None:
    import numpy

    require_values(values, rank=2)
    whole = type(places) is numpy.ndarray and places.dtype == numpy.int64 and places.ndim == 1
    expect(whole, "places as a row of int64")
    # Moments lie in rows as numbers do; other arrays of pandas are one column.
    shape = values.shape if values.ndim == 2 else (1, *values.shape)
    if type(values) is numpy.ndarray or type(values).__name__ in ("DatetimeArray", "TimedeltaArray"):
        expect(values.ndim == 2, "a block of columns", f"rank {values.ndim}")
    expect(shape == (len(places), rows), f"a block of shape {[len(places), rows]}", list(shape))


def _check_places(places: Sequence[Any], count: int) -> None:
    import numpy

    every = numpy.concatenate([numpy.zeros(0, numpy.int64), *places])
    expect(len(every) == count, f"{count} columns", len(every))
    inside = not count or (int(every.min()) >= 0 and int(every.max()) < count)
    once = inside and bool((numpy.bincount(every, minlength=count) == 1).all())
    expect(once, f"each of {count} columns in one block")


def _joined(blocks: Sequence[tuple[Any, Any]], index: Any, columns: Any) -> Any:
    import pandas

    if int(pandas.__version__.partition(".")[0]) >= 3:
        from pandas.api.internals import create_dataframe_from_blocks

        return create_dataframe_from_blocks(list(blocks), index=index, columns=columns)
    # pandas 2 has the same under other names.
    from pandas.core.internals.api import make_block
    from pandas.core.internals.managers import BlockManager

    made = [make_block(values, places) for values, places in blocks]
    manager = BlockManager(tuple(made), [columns, index])
    return pandas.DataFrame._from_mgr(manager, manager.axes)


def _with_facts(made: Any, allows_twice: bool, attributes: Any) -> Any:
    if attributes is not None:
        made.attrs = attributes
    if not allows_twice:
        made.flags.allows_duplicate_labels = False  # pandas looks at the labels
    return made


CODECS: Final = (
    *VALUE_CODECS, *ARRAY_CODECS,
    # Whether labels may be there twice; then name, index, values and attributes.
    TableCodec("pandas.series", homes("Series", "pandas.core.series"), f"any pandas.index {VALUES} dict|none",
               "name, index, values and attributes", _series_of, _series, lambda flag: type(flag) is bool,
               is_data="library"),
    # The same; then columns, index, attributes, and blocks with their places.
    TableCodec("pandas.frame", homes("DataFrame", "pandas.core.frame"),
               "pandas.index pandas.index dict|none any*", "columns, index, attributes, and blocks",
               _frame_of, _frame, lambda flag: type(flag) is bool, also=_are_blocks, is_data="library"),
)  # fmt: skip

LIBRARY: Final = Library(
    "pandas",
    "pandas",
    codecs=CODECS,
    rows=Rows(
        # Only beside code: parts of tables made in C, which trust their arguments and their state.
        (
            Row(beside_code="call"),
            {
                "pandas": "StringDtype CategoricalDtype DatetimeTZDtype Index MultiIndex RangeIndex",
                "pandas._libs.arrays": "__pyx_unpickle_NDArrayBacked",
                "pandas._libs.internals": "_unpickle_block",
                "pandas.core.indexes.base": "_new_Index",
                "pandas.core.internals": "BlockManager SingleBlockManager",
            },
        ),
        (Row(uses="fills itself"), {"pandas": "Categorical CategoricalIndex DataFrame DatetimeIndex Series"}),
        (
            Row(beside_code="value"),
            {
                "pandas": "Index MultiIndex RangeIndex DatetimeIndex CategoricalIndex DataFrame Series",
                "pandas.arrays": "StringArray ArrowStringArray",
            },
        ),
    ),
)
