"""Codecs for series and frames of pandas: indexes, and blocks of values as they lie in memory.

A frame keeps columns of one dtype together, as the rows of one array. The blocks are stored so, and read in
place. pandas believes what a block says of its place, so that is looked at here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from packager.audit import Row, Rows
from packager.codecs import Child, Codec, Decoding, Encoding, Library, Node, expect
from packager.texts import listed

from .arrays import CODECS as ARRAY_CODECS
from .arrays import VALUES, require_values, values_of
from .values import CODECS as VALUE_CODECS
from .values import homes, require_label, stored_label


class SeriesCodec(Codec):
    """Series: whether labels may be there twice; then name, index, values and attributes."""

    name = "pandas.series"
    is_data = "library"
    types = homes("Series", "pandas.core.series")

    def encode(self, obj: Any, context: Encoding) -> Node:
        """Return the parts of a series. Raises CannotStore for a name that has code of its own."""
        _warn_of_attributes(obj, context)
        name = stored_label(obj.name, "the name of a series")
        parts = (name, obj.index, values_of(obj), dict(obj.attrs) or None)
        return Node(bool(obj.flags.allows_duplicate_labels), parts)

    def check(self, literal: Any, children: Sequence[Child], version: int) -> None:
        expect(type(literal) is bool and len(children) == 4, "name, index, values and attributes")
        expect(children[1].codec == "pandas.index" and children[2].codec in VALUES, "an index and values")
        _check_attributes(children[3])

    def decode(self, literal: Any, children: Sequence[Any], version: int, context: Decoding) -> Any:
        import pandas

        name, index, values, attributes = children
        require_label(name, "the name of a series")
        require_values(values)
        expect(len(values) == len(index), f"{len(index)} values", len(values))
        made = pandas.Series(values, index=index, dtype=values.dtype, name=name, copy=False)
        return _with_facts(made, literal, attributes)


class FrameCodec(Codec):
    """Frames: whether labels may be there twice; then columns, index, attributes, blocks and their places."""

    name = "pandas.frame"
    is_data = "library"
    types = homes("DataFrame", "pandas.core.frame")

    def encode(self, obj: Any, context: Encoding) -> Node:
        _warn_of_attributes(obj, context)
        blocks = [part for block in obj._mgr.blocks for part in (block.values, _places(block))]
        parts = (obj.columns, obj.index, dict(obj.attrs) or None, *blocks)
        return Node(bool(obj.flags.allows_duplicate_labels), parts)

    def check(self, literal: Any, children: Sequence[Child], version: int) -> None:
        expect(type(literal) is bool and len(children) >= 3, "columns, index and attributes")
        expect(all(child.codec == "pandas.index" for child in children[:2]), "two indexes")
        _check_attributes(children[2])
        blocks = children[3:]
        expect(len(blocks) % 2 == 0, "blocks with their places")
        expect(all(child.codec in VALUES for child in blocks[::2]), "blocks")
        expect(all(child.codec == "numpy.ndarray" for child in blocks[1::2]), "places")

    def decode(self, literal: Any, children: Sequence[Any], version: int, context: Decoding) -> Any:
        columns, index, attributes, *parts = children
        blocks = list(zip(parts[::2], parts[1::2], strict=True))
        for values, places in blocks:
            _check_block(values, places, len(index))
        _check_places([places for _, places in blocks], len(columns))
        return _with_facts(_frame(blocks, index, columns), literal, attributes)


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


def _frame(blocks: Sequence[tuple[Any, Any]], index: Any, columns: Any) -> Any:
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


def _check_attributes(child: Child) -> None:
    none = child.kind == "scalar" and child.value is None
    expect(none or child.kind == "dict", "a dict of attributes or None")


def _warn_of_attributes(obj: Any, context: Encoding) -> None:
    own = sorted(set(vars(obj)) - {"_mgr", "_attrs", "_flags", "_name", "_item_cache", "_is_copy"})
    if own:
        context.warn(
            f"{listed(own)}: pandas copies no attributes that it does not know, and they are not stored; "
            "put them into .attrs"
        )


CODECS: Final = (*VALUE_CODECS, *ARRAY_CODECS, SeriesCodec(), FrameCodec())

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
