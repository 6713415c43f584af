"""State that C code trusts is looked at before anybody can use the object: NumPy, SciPy, scikit-learn."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.neighbors import BallTree, KDTree

from packager._codecs import find_library, state_checks
from packager._codecs.library import library_names
from packager._objects import ObjectBuildError
from tests.attacks import object_forger as forge
from tests.attacks.c_state import EXTERNS, FAR, Case, bit_generator, cases, changed, ints
from tests.attacks.grammar.listed_names import CREATED, FAMILY_CALLED
from tests.tables import one_test

# --- random generators ---

PCG = {"has_uint32": 0, "uinteger": 0, "state": {"state": 5, "inc": 7}}
PHILOX = {
    "state": {"counter": np.zeros(4, np.uint64), "key": np.zeros(2, np.uint64)},
    "buffer": np.zeros(4, np.uint64),
    "buffer_pos": 4,
    "has_uint32": 0,
    "uinteger": 0,
}


def _twister(pos: Any, key: Any = None) -> dict[str, Any]:
    return {"state": {"key": np.arange(624, dtype=np.uint32) if key is None else key, "pos": pos}}


GENERATORS: dict[str, tuple[str, dict[str, Any], str]] = {
    "far behind": ("MT19937", _twister(100_000_000), "pos of MT19937 is 100000000, not an int from 0 to 624"),
    "one behind": ("MT19937", _twister(625), "pos of MT19937 is 625, not an int from 0 to 624"),
    "before": ("MT19937", _twister(-1), "pos of MT19937 is -1, not an int from 0 to 624"),
    "a float": ("MT19937", _twister(3.0), "pos of MT19937 is a float, not an int"),
    "a bool": ("MT19937", _twister(True), "pos of MT19937 is a bool, not an int"),
    "short key": (
        "MT19937",
        _twister(0, np.arange(3, dtype=np.uint32)),
        r"key of MT19937 has shape \[3\], expected \[624\]",
    ),
    "other dtype": (
        "MT19937",
        _twister(0, np.arange(624, dtype=np.int64)),
        "key of MT19937 has dtype int64, expected uint32",
    ),
    "a list": ("MT19937", _twister(0, list(range(624))), "key of MT19937 is a list, not an array"),
    "other byte order": (
        "MT19937",
        _twister(0, np.arange(624, dtype=">u4")),
        "key of MT19937 has dtype >u4, expected uint32",
    ),
    "philox before": ("Philox", {**PHILOX, "buffer_pos": -100_000_000}, "buffer_pos of Philox is -100000000"),
    "philox behind": (
        "Philox",
        {**PHILOX, "buffer_pos": 5},
        "buffer_pos of Philox is 5, not an int from 0 to 4",
    ),
    "philox buffer": ("Philox", {**PHILOX, "buffer": np.zeros(1, np.uint64)}, "buffer of Philox has shape"),
    "philox half": (
        "Philox",
        {**PHILOX, "has_uint32": 2},
        "has_uint32 of Philox is 2, not an int from 0 to 1",
    ),
    "philox rest": ("Philox", {**PHILOX, "uinteger": 1 << 32}, "uinteger of Philox is 4294967296"),
    "sfc": (
        "SFC64",
        {**PCG, "state": {"state": np.zeros(3, np.uint64)}},
        r"state of SFC64 has shape \[3\], expected \[4\]",
    ),
    "pcg": (
        "PCG64",
        {**PCG, "state": {"state": 1 << 128, "inc": 1}},
        "state of PCG64 is 340282366920938463463",
    ),
    "pcg below": ("PCG64DXSM", {**PCG, "state": {"state": 1, "inc": -1}}, "inc of PCG64DXSM is -1"),
    "too much": ("PCG64", {**PCG, "more": 1}, "the state of PCG64 has other parts"),
    "too little": ("SFC64", _twister(0), "the state of SFC64 has other parts"),
    "another one's": (
        "PCG64",
        {**PCG, "bit_generator": "PCG64DXSM"},
        "the state is not that of PCG64",
    ),
}


@one_test
@pytest.mark.parametrize(("algorithm", "state", "message"), GENERATORS.values(), ids=GENERATORS.keys())
def test_a_state_of_a_bit_generator_out_of_bounds_is_refused(
    algorithm: str, state: dict[str, Any], message: str
) -> None:
    forged = bit_generator(algorithm, {"bit_generator": algorithm, **state})
    with pytest.raises(ObjectBuildError, match=message):
        forge.load(forge.archive_of(forged, externs=["numpy"]))


@one_test
@pytest.mark.parametrize("algorithm", ["MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64"])
@pytest.mark.parametrize("drawn", [0, 1, 3, 624])
def test_a_generator_goes_on_where_it_was(algorithm: str, drawn: int) -> None:
    live = np.random.Generator(getattr(np.random, algorithm)(3))
    live.integers(0, 9, drawn, dtype=np.uint32)
    loaded = forge.load(forge.archive_of(forge.encoded(live), externs=["numpy"]))
    assert np.array_equal(live.integers(0, 1 << 40, 700), loaded.integers(0, 1 << 40, 700))


def test_a_random_state_goes_on_where_it_was() -> None:
    live = np.random.RandomState(5)
    live.standard_normal(3)
    loaded = forge.load(forge.archive_of(forge.encoded(live), externs=["numpy"]))
    assert np.array_equal(live.standard_normal(700), loaded.standard_normal(700))


# --- sparse matrices ---

DENSE = np.array([[0, 1, 2, 0], [3, 0, 0, 0], [0, 0, 0, 0], [0, 4, 0, 5]], dtype=float)
FORMATS = ("bsr", "coo", "csc", "csr", "dia", "lil")


def sparse(name: str) -> Any:
    return getattr(sp, name)(DENSE)


def _lists(*rows: Any) -> Any:
    made = np.empty(len(rows), object)
    made[:] = rows
    return made


def _coords(*values: Any) -> Any:
    return changed(sp.coo_array(DENSE), coords=values, has_canonical_format=False)


SPARSE: dict[str, Case] = {
    "column behind": (
        lambda: changed(sparse("csr_array"), indices=ints(1, 2, 0, 1, FAR)),
        f"indices has values from 0 to {FAR}, expected 0 to 3",
    ),
    "column at the end": (
        lambda: changed(sparse("csr_matrix"), indices=ints(1, 2, 0, 1, 4)),
        "indices has values from 0 to 4, expected 0 to 3",
    ),
    "column before": (
        lambda: changed(sparse("csc_array"), indices=ints(-1, 0, 3, 0, 3)),
        "indices has values from -1 to 3, expected 0 to 3",
    ),
    "rows that end behind": (
        lambda: changed(sparse("csr_array"), indptr=ints(0, 2, 3, 3, FAR)),
        f"indptr ends at {FAR}, and there are 5 indices",
    ),
    "rows that go back": (
        lambda: changed(sparse("csc_matrix"), indptr=ints(0, 3, 2, 3, 5)),
        "indptr does not begin at 0 and grow",
    ),
    "rows that begin later": (
        lambda: changed(sparse("csr_array"), indptr=ints(1, 2, 3, 3, 5)),
        "indptr does not begin at 0 and grow",
    ),
    "too few rows": (
        lambda: changed(sparse("csr_array"), indptr=ints(0, 2, 5)),
        r"indptr has shape \[3\], expected \[5\]",
    ),
    "a larger shape": (
        lambda: changed(sparse("csr_array"), _shape=(FAR, 4)),
        rf"indptr has shape \[5\], expected \[{FAR + 1}\]",
    ),
    "a smaller shape": (
        lambda: changed(sparse("csr_array"), _shape=(4, 2)),
        "indices has values from 0 to 3, expected 0 to 1",
    ),
    "a negative shape": (
        lambda: changed(sparse("csr_array"), _shape=(4, -4)),
        "the shape of a sparse matrix is",
    ),
    "no shape": (lambda: changed(sparse("csr_array"), _shape=None), "the shape of a sparse matrix is None"),
    "too few values": (
        lambda: changed(sparse("csr_array"), data=np.ones(2)),
        r"data has shape \[2\], expected \[5\]",
    ),
    "values of objects": (
        lambda: changed(sparse("csr_array"), data=np.array([1, 2, 3, 4, 5], object)),
        "data has dtype object",
    ),
    "indices that are floats": (
        lambda: changed(sparse("csr_array"), indices=np.array([1.0, 2, 0, 1, 3])),
        "indices has dtype float64, expected int32 or int64",
    ),
    "indices of another order": (
        lambda: changed(sparse("csr_array"), indices=np.array([1, 2, 0, 1, 3], ">i4")),
        "indices has dtype >i4, expected int32 or int64",
    ),
    "no indices": (lambda: changed(sparse("csr_array"), indices=None), "indices is a NoneType, not an array"),
    "claims to be sorted": (
        lambda: changed(sparse("csr_array"), indices=ints(2, 1, 0, 1, 3), _has_sorted_indices=True),
        "has_sorted_indices is claimed, and the indices of a row do not grow",
    ),
    "claims to have no duplicates": (
        lambda: changed(sparse("csr_array"), indices=ints(1, 1, 0, 1, 3), _has_canonical_format=True),
        "has_canonical_format is claimed, and the indices of a row do not grow",
    ),
    "one dimension": (
        lambda: changed(sp.csr_array(np.arange(4.0)), indices=ints(1, 2, FAR)),
        f"indices has values from 1 to {FAR}",
    ),
    "blocks that do not divide": (
        lambda: changed(sp.bsr_array(DENSE, blocksize=(2, 2)), _shape=(4, 5)),
        r"blocks of 2 x 2 do not divide the shape \[4, 5\]",
    ),
    "blocks without a size": (
        lambda: changed(sp.bsr_array(DENSE, blocksize=(2, 2)), data=np.ones((3, 0, 2))),
        "blocks of 0 x 2 do not divide",
    ),
    "a block behind": (
        lambda: changed(sp.bsr_matrix(DENSE, blocksize=(2, 2)), indices=ints(0, 1, 0, 2)),
        "indices has values from 0 to 2, expected 0 to 1",
    ),
    "too few blocks": (
        lambda: changed(sp.bsr_array(DENSE, blocksize=(2, 2)), data=np.ones((1, 2, 2))),
        "data has 1 blocks, expected 4",
    ),
    "coordinates behind": (
        lambda: _coords(ints(0, 0, 1, 3, FAR), ints(1, 2, 0, 1, 3)),
        rf"coords\[0\] has values from 0 to {FAR}, expected 0 to 3",
    ),
    "coordinates before": (
        lambda: _coords(ints(0, 0, 1, 3, 3), ints(1, 2, 0, 1, -FAR)),
        rf"coords\[1\] has values from -{FAR}",
    ),
    "too few coordinates": (
        lambda: _coords(ints(0), ints(1)),
        r"coords\[0\] has shape \[1\], expected \[5\]",
    ),
    "coordinates of one axis": (lambda: _coords(ints(0, 0, 1, 3, 3)), "coords are no tuple of 2 arrays"),
    "three axes": (
        lambda: changed(sp.coo_array(np.ones((2, 2, 2))), _shape=(2, 2, 1)),
        r"coords\[2\] has values from 0 to 1, expected 0 to 0",
    ),
    "coordinates twice": (
        lambda: changed(_coords(ints(0, 0, 1, 3, 3), ints(1, 1, 0, 1, 3)), has_canonical_format=True),
        "has_canonical_format is claimed, and coordinates are there twice",
    ),
    "fewer diagonals": (
        lambda: changed(sparse("dia_array"), data=np.ones((1, 4))),
        r"data has shape \[1, 4\], expected \[5, any\]",
    ),
    "a diagonal that overflows": (
        lambda: changed(sparse("dia_matrix"), offsets=ints(-2, -1, 0, 1, (1 << 31) - 1)),
        "offsets has values from -2 to 2147483647",
    ),
    "a diagonal twice": (
        lambda: changed(sparse("dia_array"), offsets=ints(0, 1, 2, 3, 0)),
        "offsets has the same diagonal twice",
    ),
    "a list behind": (
        lambda: changed(sparse("lil_array"), rows=_lists([1, FAR], [0], [], [1, 3])),
        f"a column of row 0 is {FAR}, not an int from 0 to 3",
    ),
    "a list of another length": (
        lambda: changed(sparse("lil_matrix"), rows=_lists([1, 2], [0], [], [1])),
        "row 3 is not a list of columns beside a list of as many values",
    ),
    "a list out of order": (
        lambda: changed(sparse("lil_array"), rows=_lists([2, 1], [0], [], [1, 3])),
        "the columns of row 0 do not grow",
    ),
    "a row that is no list": (
        lambda: changed(sparse("lil_array"), rows=_lists((1, 2), [0], [], [1, 3])),
        "row 0 is not a list of columns",
    ),
    "too few lists": (
        lambda: changed(sparse("lil_array"), rows=_lists([1, 2])),
        r"rows has shape \[1\], expected \[4\]",
    ),
    "a value that is none": (
        lambda: changed(sparse("lil_array"), data=_lists([1.0, "x"], [3.0], [], [4.0, 5.0])),
        "row 0 has values that are no numbers",
    ),
}


@one_test
@cases(SPARSE)
def test_a_sparse_matrix_with_an_index_out_of_bounds_is_refused(
    make: Callable[[], Any], message: str
) -> None:
    hostile = forge.encoded(make())
    with pytest.raises(ObjectBuildError, match=message):
        forge.load(forge.archive_of(hostile, externs=EXTERNS))


@one_test
@pytest.mark.parametrize("kind", ["array", "matrix"])
@pytest.mark.parametrize("name", FORMATS)
def test_every_format_comes_back(name: str, kind: str) -> None:
    live = sparse(f"{name}_{kind}")
    loaded = forge.load(forge.archive_of(forge.encoded(live), externs=EXTERNS))
    assert type(loaded) is type(live)
    assert np.array_equal(loaded.toarray(), DENSE)
    assert np.array_equal((loaded @ loaded.T).toarray(), DENSE @ DENSE.T)


UNUSUAL: dict[str, Callable[[], Any]] = {
    "empty": lambda: sp.csr_array((0, 3)),
    "no columns": lambda: sp.csc_array((3, 0)),
    "no values": lambda: sp.coo_array((3, 3)),
    "duplicates": lambda: sp.coo_array((np.ones(3), ([1, 1, 0], [1, 1, 0])), shape=(2, 2)),
    "unsorted": lambda: sp.csr_array((np.ones(3), [2, 0, 1], [0, 2, 3]), shape=(2, 3)),
    "room behind": lambda: changed(sp.csr_array(DENSE), indptr=ints(0, 2, 3, 3, 4)),
    "blocks": lambda: sp.bsr_array(DENSE, blocksize=(2, 4)),
    "one dimension": lambda: sp.coo_array(np.arange(4.0)),
    "three dimensions": lambda: sp.coo_array(np.ones((2, 3, 4))),
    "wide indices": lambda: sp.csr_array((np.ones(1), np.array([1]), np.array([0, 1])), shape=(1, 1 << 40)),
    "diagonals outside": lambda: sp.dia_array((np.ones((2, 4)), [9, -9]), shape=(4, 4)),
    "bools": lambda: sp.csr_array(DENSE > 0),
    "complex": lambda: sp.csc_array(DENSE * 1j),
    "sorted twice": lambda: _sorted(sp.csr_array(DENSE)),
}


def _sorted(matrix: Any) -> Any:
    matrix.sum_duplicates()
    return matrix


@one_test
@pytest.mark.parametrize("make", UNUSUAL.values(), ids=UNUSUAL.keys())
def test_unusual_matrices_come_back(make: Callable[[], Any]) -> None:
    live = make()
    loaded = forge.load(forge.archive_of(forge.encoded(live), externs=EXTERNS))
    assert loaded.shape == live.shape
    assert loaded.nnz == live.nnz
    assert loaded.dtype == live.dtype
    if max(live.shape) < 100:
        assert np.array_equal(loaded.toarray(), live.toarray())


def test_every_sparse_class_on_the_default_list_is_checked() -> None:
    names = CREATED["scipy.sparse"].split()
    assert len(names) == 14
    assert all(len(state_checks(getattr(sp, name))) == 1 for name in names)


KEYS: dict[str, Case] = {
    "behind": (lambda: {(FAR, 0): 1.0}, f"a coordinate is {FAR}, not an int from 0 to 3"),
    "before": (lambda: {(0, -1): 1.0}, "a coordinate is -1, not an int from 0 to 3"),
    "another rank": (lambda: {(0, 0, 0): 1.0}, "a key of another rank"),
    "no tuple": (lambda: {0: 1.0}, "a key of another rank"),
    "no number": (lambda: {(0, 0): "x"}, "a value that is no number"),
}


@cases(KEYS)
def test_a_matrix_of_keys_out_of_bounds_is_refused(make: Callable[[], Any], message: str) -> None:
    (check,) = state_checks(sp.dok_array)
    with pytest.raises(ValueError, match=message):
        check.check_made(changed(sp.dok_array(DENSE), _dict=make()))
    check.check_made(sp.dok_array(DENSE))


def test_names_with_checks_are_those_of_the_libraries_here() -> None:
    rows = {name: getattr(find_library(name), "rows", None) for name in library_names()}
    checked = {
        name: [
            f"{module}:{one}"
            for row, names in table.tables
            if row.c_state
            for module, text in names.items()
            for one in text.split()
        ]
        for name, table in rows.items()
        if table is not None
    }
    assert sorted(name for name, found in checked.items() if found) == [
        "gensim",
        "lightgbm",
        "scipy",
        "sklearn",
    ]
    for name in checked["scipy"] + checked["sklearn"]:
        module, _, qualname = name.partition(":")
        newer = name.endswith(":_BSpline")  # of SciPy from 1.18 on
        assert isinstance(vars(import_module(module)).get(qualname, type if newer else None), type), name


def test_classes_in_c_that_are_listed_are_checked() -> None:
    for module in ("sklearn.tree._tree",):
        for name in FAMILY_CALLED[module].split():
            assert state_checks(vars(import_module(module))[name])
    assert state_checks(KDTree)
    assert state_checks(BallTree)


def test_state_is_checked_beside_stored_code_as_well() -> None:
    thing = types.ModuleType("dummy")
    exec(DUMMY["dummy"], vars(thing))
    sys.modules["dummy"] = thing
    try:
        hostile = forge.encoded(
            [thing.Thing(), changed(sp.csr_array(DENSE), indices=ints(1, 2, 0, 1, FAR))], stored=["dummy"]
        )
    finally:
        del sys.modules["dummy"]
    with pytest.raises(ObjectBuildError, match=f"indices has values from 0 to {FAR}"):
        forge.load(forge.archive_of(hostile, sources=DUMMY, externs=EXTERNS))


DUMMY = {"dummy": "class Thing:\n    pass\n"}
