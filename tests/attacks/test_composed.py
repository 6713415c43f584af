"""Compositions that the grammar found to run what is not stated, as programs, with their honest twins."""

from __future__ import annotations

import datetime
import decimal
import fractions
import ipaddress
import pathlib
import random
import uuid
from typing import Any

import numpy as np
import pytest
import scipy.sparse

import kellet
from packager._objects.kinds import FILLS
from packager._objects.records import Kind as K
from packager.errors import PackageError
from tests.attacks import object_forger as forge
from tests.tables import one_test

EXTERNS = ("numpy", "scipy")
POLYNOMIAL = [[K.GLOBAL, "numpy.polynomial", "Polynomial"], [K.SHAPE, -1, None, "coef"], [K.OBJ, -2, 1]]


def _refused(records: forge.Records, codecs: list[str], match: str) -> None:
    """Expect a refusal of a table; its root is what the last record fills, or that record itself."""
    root = records[-1][1] if records[-1][0] in FILLS else 0
    with pytest.raises(PackageError, match=match):
        forge.load(forge.archive_of(forge.table_of(records, root=root, codecs=codecs), externs=EXTERNS))


def _loaded(value: Any) -> Any:
    return forge.load(forge.archive_of(forge.encoded([value]), externs=EXTERNS))[0]


@pytest.mark.parametrize("method", ["__ne__", "__bool__", "__str__", "__format__"])
def test_the_missing_value_of_strings_is_a_scalar_that_nothing_is_asked_of(
    monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    called: list[str] = []
    monkeypatch.setattr(np.polynomial.Polynomial, method, lambda *_: called.append(method), raising=False)
    records = [*POLYNOMIAL, [K.CODEC, 1, ["string", True, True], -3]]
    _refused(records, ["numpy.dtype"], "expected a scalar as the missing value")
    assert called == []
    if hasattr(np.dtypes, "StringDType"):  # NumPy 2
        for missing in (None, float("nan"), "none"):
            found = _loaded(np.array(["a"], np.dtypes.StringDType(na_object=missing))).dtype
            assert repr(found.na_object) == repr(missing)


def test_a_mask_and_a_fill_value_hold_no_objects() -> None:
    data = [K.CODEC, 1, "|O"], [K.CODEC, 2, ["ndarray", "elements", 1], -1, 1]
    mask = [K.CODEC, 3, False, -2, -2, None]
    _refused([*data, mask], ["numpy.dtype", "numpy.ndarray", "numpy.masked"], "hold no objects")
    honest = np.ma.MaskedArray(np.array([1, None], object), [True, False])
    assert _loaded(honest).mask.tolist() == [True, False]


def test_a_fill_value_of_fields_has_those_of_the_data(monkeypatch: pytest.MonkeyPatch) -> None:
    """NumPy repeats any other as often as there are fields, and prints what it cannot convert."""
    called: list[str] = []
    honest = np.ma.MaskedArray(np.zeros(2, [("a", "<i4"), ("b", "<i4")]), fill_value=(1, 2))

    def masked(codecs: list[list[Any]], records: forge.Records) -> None:
        codecs.append(["numpy.masked", 1])
        data, fill = records[-1][1:]
        records[-1] = [K.CODEC, len(codecs) - 1, False, data, None, fill]

    monkeypatch.setattr(np, "resize", lambda *_: called.append("resize"))
    forged = forge.with_records(forge.encoded([honest.data, np.zeros((), "<i4")]), masked)
    with pytest.raises(PackageError, match="a fill value is one value of the dtype of the data"):
        forge.load(forge.archive_of(forged, externs=("numpy",)))
    assert called == []
    assert _loaded(honest).fill_value.tolist() == (1, 2)


@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")
def test_a_mask_has_the_shape_of_the_data(monkeypatch: pytest.MonkeyPatch) -> None:
    """NumPy repeats any other until it is as long, by functions in Python."""
    called: list[str] = []
    monkeypatch.setattr(np, "resize", lambda *_: called.append("resize"))

    def masked(codecs: list[list[Any]], records: forge.Records) -> None:
        codecs.append(["numpy.masked", 1])
        records[-1] = [K.CODEC, len(codecs) - 1, False, *records[-1][1:], None]

    for mask in (np.zeros((), bool), np.zeros(1, bool), np.asmatrix(np.zeros((1, 2), bool))):
        forged = forge.with_records(forge.encoded([np.zeros((1, 2)), mask]), masked)
        with pytest.raises(PackageError, match="a mask is an array of the shape of the data"):
            forge.load(forge.archive_of(forged, externs=("numpy",)))
    assert called == []
    for data in (np.zeros(2), np.matrix([[1, 2]]), np.zeros(2, [("a", "<i4"), ("b", "<i4")])):
        for given in (np.ma.nomask, np.ones(data.shape, bool)):
            honest = np.ma.MaskedArray(data, mask=given)
            assert np.array_equal(_loaded(honest).mask, honest.mask)


@pytest.mark.parametrize("entropy", [[K.PACKED_DICT, "a", 1], [K.PACKED_LIST, 1.5], [K.PACKED_TUPLE, "a"]])
def test_the_entropy_of_a_seed_sequence_is_ints(entropy: list[Any]) -> None:
    records = [entropy, [K.TUPLE], [K.CODEC, 1, [4, 0], -1, -2]]
    _refused(records, ["numpy.seed_sequence"], "entropy is an int, a sequence of ints or None")
    for honest in (3, 2**200, [1, 2], (1, 2**70), np.arange(3, dtype=np.uint32)):
        made = np.random.SeedSequence(honest, spawn_key=(1,))
        assert _loaded(made).generate_state(4).tolist() == made.generate_state(4).tolist()


def test_what_stands_for_entropy_is_not_asked_for_its_size(monkeypatch: pytest.MonkeyPatch) -> None:
    """The size of a sparse matrix is a property: it iterates whatever stands for its shape."""
    called: list[str] = []
    monkeypatch.setattr(scipy.sparse.dia_array, "size", property(lambda _: called.append("size") or 1))
    matrix: forge.Records = [[K.GLOBAL, "scipy.sparse", "dia_array"], [K.NEW, -1], [K.TUPLE], [K.TUPLE, -2]]
    for entropy, key in ((-2, -3), (3, -4)):
        records = [*matrix, [K.CODEC, 1, [4, 0], entropy, key]]
        _refused(records, ["numpy.seed_sequence"], "entropy is an int, a sequence of ints or None")
    assert called == []


def test_no_part_of_a_range_is_asked_for_its_index(monkeypatch: pytest.MonkeyPatch) -> None:
    """`range(tensor, 1, 1)` called `Tensor.__index__`."""
    called: list[str] = []
    monkeypatch.setattr(kellet.Tensor, "__index__", lambda _: called.append("index") or 1)

    def ranged(codecs: list[list[Any]], records: forge.Records) -> None:
        codecs.append(["slice", 1])
        records[-1] = [K.CODEC, len(codecs) - 1, "range", records[-1][1], 1, 1]

    forged = forge.with_records(forge.encoded([kellet.tensor(3)]), ranged)
    with pytest.raises(PackageError, match="expected ints"):
        forge.load(forge.archive_of(forged, externs=EXTERNS))
    assert called == []
    for honest in (range(3), range(5, -(2**70), -2), slice(None, 1, 2), slice("a", None, 2.5)):
        assert _loaded(honest) == honest


INTERFACE: forge.Records = [
    [K.GLOBAL, "numpy.polynomial", "Polynomial"],
    [K.NEW, -1],
    [K.TUPLE, 2**40, False],
    [K.PACKED_TUPLE, 4],
    [K.DICT, "data", -3, "shape", -4, "typestr", "|u1", "version", 3],
]
POLYNOMIALS = "Polynomial Chebyshev Hermite HermiteE Laguerre Legendre".split()


def test_a_state_is_an_exact_dict() -> None:
    """An OrderedDict passed by the check of names, and became the `__dict__` of a polynomial."""
    update = [[K.CODEC, 1, "OrderedDict"], [K.UPDATE, -6, "__array_interface__", -5], [K.STATE, -2, -6]]
    _refused([*INTERFACE, *update], ["collections.mapping"], "state of Polynomial is of type OrderedDict")


@pytest.mark.parametrize("name", ["__array_interface__", "__torch_function__", "mapparms", "convert"])
def test_a_state_shadows_nothing(name: str) -> None:
    records = [*INTERFACE, [K.DICT, name, -5], [K.STATE, -2, -6]]
    _refused(records, [], f"{name} .*(data may not replace it|libraries read it)")


def test_a_state_is_not_changed_after_it_was_looked_at() -> None:
    records = [*INTERFACE, [K.DICT], [K.STATE, -2, -6], [K.UPDATE, -6, "__array_interface__", -5]]
    file = forge.archive_of(forge.table_of(records, root=-2), externs=("numpy",))
    assert vars(forge.load(file)) == {}


@one_test
@pytest.mark.parametrize("name", POLYNOMIALS)
def test_polynomials_load(name: str) -> None:
    made = getattr(np.polynomial, name)([1.0, 2.5], domain=[0, 2], window=[-2, 2], symbol="t")
    found = _loaded(made)
    assert found == made
    assert str(found) == str(made)


UUIDS = {
    "compares what it finds with members": ("int", 1, "is_safe", -3),
    "no number": ("int", "1"),
    "more than 128 bits": ("int", 2**63, "hex", 1),
    "no int": ("is_safe", 0),
    "a bool": ("int", True),
}


@pytest.mark.parametrize("parts", UUIDS.values(), ids=UUIDS)
def test_a_uuid_takes_up_an_int_and_no_more(monkeypatch: pytest.MonkeyPatch, parts: tuple[Any, ...]) -> None:
    called: list[str] = []
    monkeypatch.setattr(uuid.UUID, "__setstate__", lambda *_: called.append("__setstate__"))
    monkeypatch.setattr(fractions.Fraction, "__hash__", lambda _: called.append("__hash__") or 1)
    records = [[K.GLOBAL, "uuid", "UUID"], [K.NEW, -1], [K.CODEC, 1, None, 1, 2], [K.DICT, *parts]]
    _refused([*records, [K.STATE, -2, -4]], ["fraction"], "in the state of a UUID|the state of a UUID is")
    assert called == []


def test_the_state_of_random_is_ints_in_a_tuple() -> None:
    start: forge.Records = [[K.GLOBAL, "random", "Random"], [K.CALL, -1]]
    for state in (
        [[K.PACKED_LIST, 3, 1, None]],
        [[K.PACKED_TUPLE, *range(625)], [K.TUPLE, 2, -3, None]],
        [[K.PACKED_TUPLE, *range(624), 1.5], [K.TUPLE, 3, -3, None]],
        [[K.PACKED_TUPLE, *range(625)], [K.TUPLE, 3, -3, "1"]],
    ):
        _refused([*start, *state, [K.STATE, -2, -2 - len(state)]], [], "the state of random.Random is")


def test_no_other_listed_class_is_given_a_state() -> None:
    parameter: forge.Records = [[K.GLOBAL, "numpy", "poly1d"], [K.NEW, -1], [K.DICT], [K.STATE, -2, -3]]
    _refused(parameter, [], "given a state by its own method")


CALLS = {
    "IPv4Network": ("ipaddress", [K.CODEC, 1, None, 1, 2]),
    "IPv6Address": ("ipaddress", [K.CODEC, 1, None, 1, 2]),
    "Decimal": ("decimal", [K.CODEC, 1, None, 1, 2]),
    "PurePath": ("pathlib", [K.PACKED_LIST, "a"]),
    "Random": ("random", [K.CODEC, 1, None, 1, 2]),
    "timedelta": ("datetime", [K.DICT, "a", 1]),
}


@one_test
@pytest.mark.parametrize("name", CALLS)
def test_a_listed_constructor_is_called_with_scalars(name: str) -> None:
    """`IPv4Network(Fraction(1, 2))` prints the fraction."""
    module, argument = CALLS[name]
    cls: list[Any] = [K.GLOBAL, module, name]
    codecs = ["fraction"] if argument[0] == K.CODEC else []
    _refused([cls, argument, [K.CALL, -1, -2]], codecs, f"the arguments of {module}:{name}")
    tuples = [[K.TUPLE, -2], [K.CALL, -1, -3]]
    _refused([cls, argument, *tuples], codecs, f"the arguments of {module}:{name}")
    named = [[K.TUPLE], [K.DICT, "a", -2], [K.CALL_KW, -1, -3, -4]]
    _refused([cls, argument, *named], codecs, f"the arguments of {module}:{name}")


HONEST = [
    uuid.UUID(int=2**128 - 1),
    uuid.UUID(int=3, is_safe=uuid.SafeUUID.unsafe),
    ipaddress.ip_network("::/64"),
    ipaddress.ip_network("10.0.0.0/8"),
    ipaddress.ip_interface("1.2.3.4/8"),
    ipaddress.ip_address("fe80::1%eth0"),
    datetime.datetime(2020, 1, 2, tzinfo=datetime.timezone(datetime.timedelta(hours=1), "x")),
    datetime.datetime(2020, 1, 2, fold=1, tzinfo=datetime.UTC),
    datetime.time(1, fold=1, tzinfo=datetime.UTC),
    datetime.timedelta(2, 3, 4),
    datetime.date(2020, 1, 2),
    decimal.Decimal("-1.5e30"),
    decimal.Decimal("Infinity"),
    fractions.Fraction(-1, 3),
    pathlib.PurePosixPath("a/b"),
    pathlib.PureWindowsPath("c:/a"),
    dict[str, list[int]],
]


@one_test
@pytest.mark.parametrize("value", HONEST, ids=repr)
def test_what_listed_constructors_make_loads(value: Any) -> None:
    found = _loaded(value)
    assert found == value
    assert type(found) is type(value)
    assert getattr(found, "is_safe", None) is getattr(value, "is_safe", None)


def test_random_loads_with_its_state() -> None:
    made = random.Random(3)
    made.gauss(0, 1)
    expected = _loaded(made)
    assert expected.getstate() == made.getstate()
    assert expected.gauss(0, 1) == made.gauss(0, 1)


@pytest.mark.parametrize("name", ["_shape", "has_sorted_indices", "_has_canonical_format"])
def test_what_stands_in_a_sparse_matrix_is_not_printed_and_not_asked_for_its_truth(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    called: list[str] = []
    for method in ("__str__", "__repr__", "__bool__"):
        monkeypatch.setattr(type(np.ma.masked), method, lambda _: called.append("") or "", raising=False)
    honest = forge.encoded([np.ma.masked, scipy.sparse.csr_array(np.eye(2))])

    def change(codecs: list[list[Any]], records: forge.Records) -> None:
        masked = -1 - next(at for at, record in enumerate(records) if record[0] == K.CODEC)
        shape, made = (next(one for one in records if one[0] == kind) for kind in (K.SHAPE, K.OBJ))
        if name in shape:
            made[shape.index(name) - 1] = masked
        else:
            shape.append(name)
            made.append(masked)

    file = forge.archive_of(forge.with_records(honest, change), externs=("scipy", "numpy"))
    with pytest.raises(PackageError, match="is a MaskedConstant, not "):
        forge.load(file)
    assert called == []
    assert (_loaded(scipy.sparse.csr_array(np.eye(2))) != scipy.sparse.csr_array(np.eye(2))).nnz == 0
