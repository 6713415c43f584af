"""What codecs of NumPy ask of parts that are built already: each wrong by itself, and what still passes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from packager._codecs import StoredTensor, arrays, numpy_values
from packager._codecs.stored_arrays import array_data, array_from
from tests.codecs.parts import Context, codec_of, decoded, refuses
from tests.tables import one_test

# --- memory as arrays ---

BYTES = memoryview(bytearray(range(64)))


def stored(shape: tuple[int, ...], strides: tuple[int, ...], offset: int = 0) -> StoredTensor:
    return StoredTensor("U8", shape, strides, offset, BYTES)


def test_no_bytes_are_taken_for_objects() -> None:
    for dtype in (np.dtype(object), np.dtype([("a", object)])):
        refuses(
            lambda dtype=dtype: array_from(stored((8,), (1,)), dtype, None),  # type: ignore[misc]  # bound now
            f"an array of {dtype} holds objects, which cannot be read from bytes",
        )


def test_rows_of_bytes_are_elements_of_their_dtype() -> None:
    shorts = np.dtype(">i2")
    found = array_from(stored((2, 2, 2), (8, 4, 1), 1), shorts, ">i2")
    assert found.tolist() == [[0x0102, 0x0506], [0x090A, 0x0D0E]]
    assert (found.dtype, found.strides) == (shorts, (8, 4))
    refuses(
        lambda: array_from(stored((2, 3), (3, 1)), shorts, None), "rows of 3 bytes for dtype >i2; expected 2"
    )
    refuses(
        lambda: array_from(stored((2, 2), (4, 2)), shorts, None),
        "the bytes of an element are not contiguous",
    )
    # One byte lies beside itself, wherever the next one would be.
    assert array_from(stored((2, 1), (4, 2)), np.dtype("S1"), None).tolist() == [b"", b"\4"]
    empty = array_from(stored((2, 0, 2), (0, 2, 1)), shorts, ">i2")
    assert (empty.shape, empty.dtype) == ((2, 0), shorts)


def test_memory_of_a_named_dtype_is_a_view() -> None:
    found = array_from(StoredTensor("U16", (2, 2), (4, 2), 2, BYTES), np.dtype("<u2"), "<u2")
    assert found.tolist() == [[0x0302, 0x0706], [0x0B0A, 0x0F0E]]
    assert np.shares_memory(found, np.frombuffer(BYTES, np.uint8))


def test_elements_that_stand_at_no_multiples_of_their_size_are_copied() -> None:
    whole = np.zeros(3, [("a", "u1"), ("b", "<i4")])
    whole["b"] = 1, 2, 3
    copied = array_data(whole["b"], "<i4")
    assert (copied.shape, copied.strides) == ((3,), (1,))
    wide = array_data(np.zeros((4, 4), "<i4")[::2, ::-1], "<i4")
    assert (wide.shape, wide.strides) == ((2, 4), (8, -1))
    rows = array_data(np.zeros((4, 2), "<c16")[::2], "<c16")
    assert (rows.dtype, rows.shape, rows.strides) == ("U8", (2, 2, 16), (64, 16, 1))
    nameless = array_data(np.zeros(2, "S3"), None)
    assert (nameless.dtype, nameless.shape, nameless.strides) == ("U8", (2, 3), (3, 1))


@pytest.mark.parametrize("kind", ["ndarray", "matrix", "recarray"])
def test_an_array_is_of_the_class_that_was_stored(kind: str) -> None:
    found = decoded("numpy.ndarray", [kind, "<u2"], StoredTensor("U16", (2, 2), (2, 1), 0, BYTES))
    assert type(found) is getattr(np, kind)
    assert found.tolist() == [[0x0100, 0x0302], [0x0504, 0x0706]]
    pairs = np.dtype([("a", "u1"), ("b", "u1")])
    fields = decoded("numpy.ndarray", [kind, None], stored((2, 2, 2), (4, 2, 1)), pairs)
    assert type(fields) is getattr(np, kind)
    assert fields.dtype.type is (np.record if kind == "recarray" else np.void)


def test_a_class_of_arrays_is_one() -> None:
    class Signal(np.ndarray[Any, Any]):
        pass

    assert type(decoded("numpy.subclass", None, Signal, np.ones(2))) is Signal
    for other in (dict, np.ones, 1):
        refuses(
            lambda other=other: decoded("numpy.subclass", None, other, np.ones(2)),  # type: ignore[misc]  # bound now
            f"{other!r} is not a class of arrays",
        )


# --- elements ---


def test_elements_are_those_of_objects_and_strings() -> None:
    found = decoded("numpy.ndarray", ["ndarray", "elements", 2, 1], np.dtype(object), [1], None)
    assert (found.shape, found.tolist()) == ((2, 1), [[[1]], [None]])
    refuses(
        lambda: decoded("numpy.ndarray", ["ndarray", "elements", 1], np.dtype("f8"), 1.0),
        "dtype float64 has no elements of its own",
    )


class _Strings:
    """Stands for a dtype of strings of any length, which NumPy before 2 does not have."""

    def __init__(self, **options: Any) -> None:
        vars(self).update(options)


def test_strings_of_any_length_are_strings_or_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    check = arrays._require_own_strings
    check(_Strings(), ["a", "b"])
    check(_Strings(na_object=None), ["a", None])
    for dtype, elements in ((_Strings(), ["a", None]), (_Strings(na_object=None), ["a", 1.5])):
        refuses(lambda dtype=dtype, elements=elements: check(dtype, elements), "expected strings")  # type: ignore[misc]  # bound now
    monkeypatch.setattr(arrays, "largest_view", lambda nbytes: 3 * nbytes)
    text = "abcdef"
    check(_Strings(), [text] * 3)
    refuses(
        lambda: check(_Strings(), [text] * 4), f"expected strings of at most {3 * 4 * 6} bytes, once copied"
    )


# --- masked arrays ---

DATA = np.arange(3.0)
MASK = np.array([True, False, False])
PARTS = "a masked array is made of arrays"
OBJECTS = "a mask and a fill value hold no objects: NumPy would compare and print them"
FILL = "a fill value is one value of the dtype of the data: NumPy would print another"
MASKED: dict[str, tuple[Any, Any, Any, str]] = {
    "no data": (None, None, None, PARTS),
    "a list": ([1.0], None, None, PARTS),
    "a list for a mask": (DATA, [True], None, PARTS),
    "a number to fill": (DATA, None, 1.0, PARTS),
    "a mask of objects": (DATA, MASK.astype(object), None, OBJECTS),
    "a mask of objects for objects": (DATA.astype(object), MASK.astype(object), None, OBJECTS),
    "an object to fill": (DATA, None, np.array(None), OBJECTS),
    "values to fill": (DATA, None, np.ones(3), FILL),
    "another dtype to fill": (DATA, None, np.array(1), FILL),
}


@one_test
@pytest.mark.parametrize(("data", "mask", "fill", "message"), MASKED.values(), ids=MASKED.keys())
def test_a_masked_array_is_made_of_arrays_that_fit(data: Any, mask: Any, fill: Any, message: str) -> None:
    refuses(lambda: decoded("numpy.masked", False, data, mask, fill), message)


@pytest.mark.parametrize("hard", [False, True])
def test_masked_arrays_come_back(hard: bool) -> None:
    made = decoded("numpy.masked", hard, DATA, MASK, np.array(7.0))
    assert (made.tolist(), made.fill_value, made.hardmask) == ([None, 1.0, 2.0], 7.0, hard)
    plain = decoded("numpy.masked", hard, DATA, None, None)
    assert (plain.mask is np.ma.nomask, plain._fill_value, plain.hardmask) == (True, None, hard)
    objects = decoded("numpy.masked", hard, DATA.astype(object), MASK, np.array("x", object))
    assert objects.fill_value == "x"
    assert decoded("numpy.masked", "masked") is np.ma.masked


# --- scalars ---


def test_a_structured_scalar_has_its_bytes() -> None:
    pair = np.dtype([("a", "<i2"), ("b", "<i2")])
    for record in (False, True):
        made = decoded("numpy.scalar", [None, b"\1\0\2\0", record], pair)
        assert (type(made), made.tolist()) == (np.record if record else np.void, (1, 2))
        for data in (b"\1\0\2", b"\1\0\2\0\0"):
            with pytest.raises(ValueError, match=rf" has 4 bytes, found {len(data)}$"):
                decoded("numpy.scalar", [None, data, record], pair)
    with pytest.raises(ValueError, match=r" has 8 bytes, found 8$"):
        decoded("numpy.scalar", [None, bytes(8), False], np.dtype([("a", object)]))


@pytest.mark.parametrize(
    "value", [np.str_("a"), np.bytes_(b"a"), np.float32(1.5), np.bool_(True), np.int8(-1)]
)
def test_scalars_are_of_their_type(value: Any) -> None:
    literal = "text" if isinstance(value, (str, bytes)) else [value.dtype.str, value.tobytes()]
    children = [value.item()] if literal == "text" else []
    made = decoded("numpy.scalar", literal, *children)
    assert (type(made), made) == (type(value), value)


def test_a_scalar_without_fields_is_its_bytes_and_the_name_of_its_dtype() -> None:
    node = codec_of("numpy.scalar").encode(np.void(b"abc"), Context())
    assert (node.literal, node.children) == (["|V3", b"abc"], ())
    assert decoded("numpy.scalar", node.literal) == np.void(b"abc")


# --- dtypes ---


def struct(*fields: Any, size: int = 8, align: bool = False) -> Any:
    return ["struct", size, align, *fields]


def test_dtypes_come_back() -> None:
    pair = decoded("numpy.dtype", struct("a", 0, None, "b", 4, "title"), np.dtype("<i2"), np.dtype("<f4"))
    assert pair == np.dtype(
        {
            "names": ["a", "b"],
            "formats": ["<i2", "<f4"],
            "offsets": [0, 4],
            "titles": [None, "title"],
            "itemsize": 8,
        }
    )
    assert decoded("numpy.dtype", struct("a", 0, None), np.dtype("<f8")).fields["a"] == (np.dtype("<f8"), 0)
    aligned = decoded("numpy.dtype", struct("a", 0, None, align=True), np.dtype("<f8"))
    assert (aligned.isalignedstruct, pair.isalignedstruct) == (True, False)
    assert decoded("numpy.dtype", ["subarray", 2, 3], np.dtype("<i2")) == np.dtype(("<i2", (2, 3)))
    assert (decoded("numpy.dtype", "|O"), decoded("numpy.dtype", "<i2")) == (np.dtype("O"), np.dtype("<i2"))


@one_test
@pytest.mark.parametrize("align", [False, True])
@pytest.mark.parametrize(
    ("fields", "bases", "said"),
    [
        # What NumPy adds in 32 bits would be less than nothing, and the field lie two gigabytes away.
        (("a", 2**31 - 1, None), ["<i8"], "expected the field 'a' to end within 8 bytes, found 2147483655"),
        (("a", 2**31 - 8, None), ["<i8"], "expected the field 'a' to end within 8 bytes, found 2147483648"),
        (
            ("a", 0, None, "b", 2**31 - 4, None),
            ["<i4"] * 2,
            "expected the field 'b' to end within 8 bytes, found 2147483648",
        ),
        (("a", 1, None), ["<i8"], "expected the field 'a' to end within 8 bytes, found 9"),
        (("a", 0, None), ["|V9"], "expected the field 'a' to end within 8 bytes, found 9"),
    ],
)
def test_a_field_beyond_the_end_of_a_dtype_is_refused(
    fields: tuple[Any, ...], bases: list[str], said: str, align: bool
) -> None:
    refuses(lambda: decoded("numpy.dtype", struct(*fields, align=align), *map(np.dtype, bases)), said)


def test_two_dtypes_whose_sizes_are_too_large_together_are_refused() -> None:
    large = np.dtype("|V2147483647")
    with pytest.raises(ValueError, match=r"must fit into a C int|invalid shape"):
        decoded("numpy.dtype", ["subarray", 3], large)


def test_no_object_is_the_missing_value_of_strings() -> None:
    refuses(
        lambda: decoded("numpy.dtype", ["string", True, True], []),
        "expected a scalar as the missing value, not list",
    )


def nested(depth: int, context: Context) -> Any:
    made: Any = np.dtype("<i2")
    for _ in range(depth - 1):
        made = decoded("numpy.dtype", struct("a", 0, None), made, context=context)
    return made


def test_dtypes_are_nested_as_deep_as_is_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(numpy_values, "MAX_DTYPE_DEPTH", 4)
    made = nested(4, Context())
    measured = numpy_values._MeasuredDTypes()
    assert measured.measure(made)[1:] == (3, 4)
    refuses(lambda: nested(5, Context()), "expected dtypes nested at most 4 deep, found 5")
    beyond = np.dtype([("a", made)])
    # By one who knows nothing yet, by one who knows what is inside, and where it stands below another.
    for measure in (numpy_values._MeasuredDTypes().measure, measured.measure):
        refuses(lambda measure=measure: measure(beyond), "expected dtypes nested at most 4 deep, found 5")  # type: ignore[misc]  # bound now
    refuses(lambda: measured.measure(made, 2), "expected dtypes nested at most 4 deep, found 5")
    refuses(
        lambda: numpy_values._MeasuredDTypes().measure(np.dtype("<i2"), 5),
        "expected dtypes nested at most 4 deep, found 5",
    )


def test_a_dtype_is_followed_no_deeper_than_is_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    made = nested(10, Context())
    monkeypatch.setattr(numpy_values, "MAX_DTYPE_DEPTH", 4)
    levels: list[int] = []

    class Watched(numpy_values._MeasuredDTypes):
        def measure(self, dtype: Any, above: int = 1) -> Any:
            levels.append(above)
            return super().measure(dtype, above)

    refuses(lambda: Watched().measure(made), "expected dtypes nested at most 4 deep, found 5")
    assert levels == [1, 2, 3, 4, 5]


def test_dtypes_have_as_many_fields_as_are_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(numpy_values, "MAX_DTYPE_FIELDS", 6)
    pair = np.dtype([("a", "<i2"), ("b", "<i2")])
    measure = numpy_values._MeasuredDTypes().measure
    assert measure(np.dtype([("c", pair), ("d", pair)]))[1:] == (6, 3)
    assert measure(np.dtype((pair, (9,))))[1:] == (3, 3)  # what it is an array of counts as one
    refuses(
        lambda: measure(np.dtype([("c", pair), ("d", pair), ("e", "<i2")])),
        "expected dtypes of at most 6 fields, found 7",
    )


# --- seeds ---


@pytest.mark.parametrize(
    ("entropy", "words"),
    [
        (None, 1),
        (0, 1),
        ((1 << 31) - 1, 1),
        ((1 << 63) - 1, 2),
        (1 << 63, 3),
        ("", 1),
        ("a" * 7, 1),
        ("a" * 8, 2),
        ([], 1),
        ([1, 2], 3),
        ((1, [2, 3]), 5),
        (np.arange(3), 3),
        (np.uint32(7), 1),
        (1.5, 1),
    ],
)
def test_words_of_a_seed_are_counted(entropy: Any, words: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(numpy_values, "MAX_SEED_WORDS", words)
    assert numpy_values._words(entropy) == words
    monkeypatch.setattr(numpy_values, "MAX_SEED_WORDS", words - 1)
    found = words if words > 1 else "1 and more"  # counting ends at twice as many as there may be
    refuses(lambda: numpy_values._words(entropy), f"expected at most {words - 1} words, found {found}")


def test_a_seed_that_holds_itself_has_too_many_words() -> None:
    seed: list[Any] = [1]
    seed += [seed, seed]
    with pytest.raises(ValueError, match="expected at most"):
        numpy_values._words(seed)


INTS = "entropy is an int, a sequence of ints or None, and the spawn key a tuple of ints"


@one_test
@pytest.mark.parametrize(
    ("entropy", "key"),
    [
        ("12", ()),
        (1.5, ()),
        (True, ()),
        ([1, 1.5], ()),
        ([1, [True]], ()),
        (np.ones(2), ()),
        (np.array([True]), ()),
        (np.float32(1), ()),
        (1, [1]),
        (1, (1, "2")),
        (None, (None,)),
    ],
)
def test_a_seed_is_made_of_ints(entropy: Any, key: Any) -> None:
    refuses(lambda: decoded("numpy.seed_sequence", [4, 0], entropy, key), INTS)


@one_test
@pytest.mark.parametrize("entropy", [7, None, [1, 2], (3, 4), np.arange(3), np.uint8(9)])
def test_seeds_come_back(entropy: Any) -> None:
    made = decoded("numpy.seed_sequence", [8, 3], entropy, (1, 2))
    assert (made.pool_size, made.n_children_spawned, made.spawn_key) == (8, 3, (1, 2))
    if entropy is not None:
        assert made.entropy is entropy


@pytest.mark.parametrize(("most", "passing"), [(14, 2), (13, 1)])
def test_all_seeds_of_an_object_are_counted_together(
    most: int, passing: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(numpy_values, "MAX_ALL_SEED_WORDS", most)
    context = Context()
    for _ in range(passing):  # a pool of four, a word, and two for the key and its list
        decoded("numpy.seed_sequence", [4, 0], 1, (1,), context=context)
    refuses(
        lambda: decoded("numpy.seed_sequence", [4, 0], 1, (1,), context=context),
        f"expected seeds of at most {most} words in one object, found {7 * (passing + 1)}",
    )


def test_the_next_normal_of_a_random_state_is_kept() -> None:
    for has in (True, False):
        bits = np.random.RandomState(3)._bit_generator
        made = decoded("numpy.random_state", [has, 0.25], bits)
        state: Any = made.get_state(legacy=False)
        assert (state["has_gauss"], state["gauss"]) == (int(has), 0.25)
        assert made._bit_generator is bits


def test_a_bit_generator_has_the_seed_that_was_stored() -> None:
    seed = np.random.SeedSequence(5)
    for kind in ("MT19937", "PCG64"):
        live: Any = getattr(np.random, kind)(9)
        made = decoded("numpy.bit_generator", kind, live.state, seed)
        assert made.seed_seq is seed
        assert made.random_raw() == live.random_raw()
    old: Any = np.random.RandomState(3)._bit_generator
    assert not isinstance(
        decoded("numpy.bit_generator", "MT19937", old.state, None).seed_seq, np.random.SeedSequence
    )
    fresh = decoded("numpy.bit_generator", "PCG64", np.random.PCG64(9).state, None)
    assert isinstance(fresh.seed_seq, np.random.SeedSequence)
