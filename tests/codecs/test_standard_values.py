"""Small things of the standard library as attributes: what comes back, and what is refused with a way out."""

from __future__ import annotations

import datetime
import decimal
import functools
import inspect
import io
import itertools
import logging
import operator
import random
import re
import threading
import types
import typing
import weakref
import zoneinfo
from collections import abc
from typing import Any

import msgpack
import numpy as np
import pytest

from packager._audit import TrustContext, UntrustedNamesError, audit, judge
from packager._codecs import CannotStore, default_registry
from packager._objects import ObjectBuildError, RecordError, build, encode, is_reference, unpack_table
from packager._objects.records import Kind as K
from packager.testing.round_trips import resolve
from tests.tables import one_test

DATA, CODE = TrustContext.data_only(), TrustContext.with_code(["net"])


def again(obj: Any, context: TrustContext = DATA) -> Any:
    encoded = encode({"held": obj})
    assert encoded.refusals == ()
    audited = audit(encoded.records, context)
    return build(audited, resolve(audited))["held"]


def of_node(codec: str, literal: Any, *children: Any, more: tuple[Any, ...] = ()) -> bytes:
    """A table of one node, whose children are names or scalars."""
    records: list[Any] = []
    operands = []
    for child in children:
        if isinstance(child, str) and ":" in child:
            records.append([K.GLOBAL, *child.split(":")])
            operands.append(-len(records))
        elif isinstance(child, list):
            records.append(child)
            operands.append(-len(records))
        else:
            operands.append(child)
    records.append([K.CODEC, 1, literal, *operands])
    version = default_registry().find(codec).version  # type: ignore[union-attr]  # it is there
    return msgpack.packb([[["records", 1], [codec, version]], records, -len(records)])


# --- what comes back in data alone ---

FORMS = [
    int | None, typing.Optional[int], typing.Union[int, str], typing.Literal["a", 1],  # noqa: UP007, UP045  # as spelled
    typing.Callable[[int], str], abc.Callable[..., int], typing.Any, typing.Tuple[int, ...],  # noqa: UP006  # as spelled
    typing.List[typing.Dict[str, float]], list[int], list[int] | None, abc.Sequence[int],  # noqa: UP006  # as spelled
    abc.Mapping, np.ndarray | None,
]  # fmt: skip


@one_test
@pytest.mark.parametrize("form", FORMS, ids=map(repr, FORMS))
def test_annotations_come_back_equal(form: Any) -> None:
    made = again(form)
    assert made == form
    assert type(made) is type(form)
    assert repr(made) == repr(form)
    assert again([form, form])[0] is not None


def test_the_marks_of_signatures_are_themselves() -> None:
    assert again(inspect.Parameter.empty) is inspect.Signature.empty
    assert again(inspect.Parameter.KEYWORD_ONLY) is inspect.Parameter.KEYWORD_ONLY


def test_a_signature_comes_back_with_defaults_and_annotations() -> None:
    def function(a: int, b: typing.Optional[int] = None, *, c: float = 0.5, **rest: str) -> "int": ...  # noqa: UP037, UP045  # as spelled

    signature = inspect.signature(function, eval_str=True)
    assert again(signature) == signature


@pytest.mark.parametrize("how", [DATA, CODE], ids=["data", "code"])
def test_an_aware_time_keeps_its_zone(how: TrustContext) -> None:
    zone = zoneinfo.ZoneInfo("Europe/Paris")
    made = again([datetime.datetime(2024, 7, 1, tzinfo=zone), zone], how)
    assert made[0].utcoffset() == datetime.timedelta(hours=2)
    assert made[0].tzinfo is made[1] is zone


def test_counters_go_on_where_they_stood() -> None:
    ids = itertools.count(5)
    next(ids)
    made = again({"ids": ids, "floats": itertools.count(0.5, 0.25), "same": itertools.repeat("x", 2)})
    endless = again(itertools.repeat((1, 2)))
    assert [next(made["ids"]), next(made["ids"]), next(ids)] == [6, 7, 6]
    assert list(itertools.islice(made["floats"], 2)) == [0.5, 0.75]
    assert list(made["same"]) == ["x", "x"]
    assert list(again(itertools.repeat("x", 0))) == []
    assert list(itertools.islice(endless, 3)) == [(1, 2)] * 3


def test_a_buffer_keeps_its_position() -> None:
    buffer = io.BytesIO(b"abcdef")
    buffer.seek(2)
    made = again({"one": buffer, "two": buffer})
    assert made["one"] is made["two"]
    assert made["one"].read() == b"cdef"


@pytest.mark.parametrize("name", ["lower", "upper", "strip", "split", "casefold"])
def test_methods_of_texts_are_values(name: str) -> None:
    assert again(getattr(str, name)) is getattr(str, name)


def test_methods_of_arrays_and_ufuncs_are_values() -> None:
    made = again([np.ndarray.mean, np.tanh, np.ndarray.sum])
    assert made == [np.ndarray.mean, np.tanh, np.ndarray.sum]


def test_exceptions_are_values_and_raise_nothing() -> None:
    error = KeyError("missing", 3)
    error.note = [1]  # type: ignore[attr-defined]  # an attribute of its own
    made = again({"last": error, "kinds": (ValueError, OSError)})
    assert (type(made["last"]), made["last"].args, made["last"].note) == (KeyError, ("missing", 3), [1])
    assert made["kinds"] == (ValueError, OSError)
    assert again(OSError(2, "odd", "name")).filename == "name"


def test_a_view_of_a_dict_is_one_of_that_very_dict() -> None:
    held = {"a": 1}
    made = again({"view": types.MappingProxyType(held), "dict": held})
    made["dict"]["b"] = 2
    assert made["view"]["b"] == 2


def test_what_data_alone_cannot_be_is_made_anew() -> None:
    assert type(again(random.SystemRandom())) is random.SystemRandom
    assert again(decimal.Context(prec=3)).divide(1, 3) == decimal.Decimal("0.333")


class Key:
    """What a weak dictionary is about."""


def test_a_weak_dictionary_comes_back_empty_and_the_plan_says_so() -> None:
    key = Key()
    caches = [weakref.WeakKeyDictionary({key: 1}), weakref.WeakSet(), weakref.WeakValueDictionary()]
    encoded = encode({"caches": caches})
    (warning,) = encoded.warnings
    assert warning.path == "obj['caches'][0]"
    assert "stored empty: its 1 entries live only as long as other objects hold them" in warning.reason
    made = again(caches)
    assert [type(one) for one in made] == [type(one) for one in caches]
    assert [len(one) for one in made] == [0, 0, 0]
    made[0][key] = 2
    assert made[0][key] == 2


def test_a_function_that_remembers_keeps_its_bounds_and_no_answers() -> None:
    remembers = functools.lru_cache(maxsize=7)(np.linalg.det)
    made = again(remembers)
    assert made.cache_parameters() == {"maxsize": 7, "typed": False}
    assert made.cache_info().currsize == 0
    assert made.__wrapped__ is np.linalg.det


def test_patterns_of_regex_come_back() -> None:
    import regex

    made = again(regex.compile(r"\p{Lu}+", regex.IGNORECASE))
    assert made.findall("aB, Cd") == ["aB", "Cd"]


def test_what_cannot_be_held_by_data_alone_comes_back_beside_code() -> None:
    adapter = logging.LoggerAdapter(logging.getLogger("packager"), {"a": 1})
    for obj in (adapter, operator.itemgetter(1)):
        with pytest.raises(UntrustedNamesError):
            again(obj)
        assert type(again(obj, CODE)) is type(obj)


# --- what is refused, with its path and a way out ---

REFUSED: dict[str, tuple[Any, str, str]] = {
    "a closed buffer": (lambda: closed(), "a closed BytesIO", "leave it out (__getstate__)"),
    "a buffer beyond its end": (lambda: beyond(), "a position beyond its end", "store its getvalue()"),
    "a translating buffer": (
        lambda: io.StringIO("a", newline=None),
        "translates the ends of lines",
        "store its getvalue()",
    ),
    "a forward reference": (
        lambda: typing.ForwardRef("Odd"),
        "ForwardRef('Odd')",
        "use the class itself",
    ),
    "an annotated type": (
        lambda: typing.Annotated[int, "x"],
        "a form of typing that cannot be stored",
        "make it where it is used",
    ),
    "a count of fractions": (
        lambda: itertools.count(decimal.Decimal(1)),
        "whose numbers are not plain",
        "count in ints or floats",
    ),
    "a ufunc that remembers": (
        lambda: functools.cache(np.exp),
        "a cached ufunc",
        "use the ufunc itself",
    ),
    "a getter of methods": (
        lambda: operator.methodcaller("a"),
        "refused in every archive",
        "build it when it is used",
    ),
    "an operator": (
        lambda: operator.setitem,
        "refused in every archive",
        "write a small function of your own package",
    ),
    "a method of the generator of NumPy": (
        lambda: np.random.normal,
        "RandomState.normal",
        "look the method up where it is used",
    ),
    "a method of a ufunc": (lambda: np.add.reduce, "ufunc.reduce", "look the method up where it is used"),
    "a lock": (
        threading.Lock,
        "lock refuses to be stored",
        "remove the attribute before saving (__getstate__)",
    ),
}


def closed() -> io.BytesIO:
    buffer = io.BytesIO()
    buffer.close()
    return buffer


def beyond() -> io.BytesIO:
    buffer = io.BytesIO(b"a")
    buffer.seek(9)
    return buffer


@one_test
@pytest.mark.parametrize(("make", "reason", "way"), REFUSED.values(), ids=REFUSED)
def test_what_is_refused_has_a_path_and_a_way_out(make: Any, reason: str, way: str) -> None:
    (finding,) = encode({"held": make()}).refusals
    assert finding.path == "obj['held']"
    assert reason in finding.reason
    assert way in "; ".join(finding.options)


def test_patterns_with_named_lists_are_refused() -> None:
    import regex

    (finding,) = encode([regex.compile(r"\L<words>", words=["a"])]).refusals
    assert finding.reason == "a pattern with named lists"


FORBIDDEN: dict[str, tuple[Any, str]] = {
    "a function that remembers": (
        functools.cache(len),
        "a cached function around builtins:len",
    ),
    "an exception that holds a function": (ValueError(len), "builtins:len in the arguments of an exception"),
    "repeated functions": (itertools.repeat(len), "builtins:len in an object of the codec 'itertools'"),
}


@pytest.mark.parametrize(("obj", "reason"), FORBIDDEN.values(), ids=FORBIDDEN)
def test_data_alone_holds_nothing_that_is_called_through_these(obj: Any, reason: str) -> None:
    records = encode({"held": obj}).records
    (form,) = judge(records, DATA).forms
    assert reason in str(form)
    assert judge(records, CODE).forms == ()


# --- nodes that no encoder writes ---

NODES: dict[str, tuple[bytes, str]] = {
    "an unknown form": (
        of_node("typing.form", "TypedDict", "builtins:int"),
        "expected the name of a form of typing",
    ),
    "a union of nothing": (of_node("typing.form", "|"), "expected arguments"),
    "a type that is a number": (of_node("typing.form", "List", 5), "expected types as the arguments"),
    "a literal of a class": (
        of_node("typing.form", "Literal", "builtins:int"),
        "expected types as the arguments",
    ),
    "a parameter of no name": (
        of_node("inspect.signature", ["parameter", "if", 1], 1, 2),
        "the name of a parameter",
    ),
    "a parameter of no kind": (
        of_node("inspect.signature", ["parameter", "a", 5], 1, 2),
        "a kind, a default",
    ),
    "a signature of numbers": (
        of_node("inspect.signature", ["signature", None, 1], 1, 2),
        "expected parameters, found scalar",
    ),
    "a signature of fewer": (
        of_node("inspect.signature", ["signature", None, 2], 1),
        "what is returned, and parameters",
    ),
    "no buffer": (of_node("io.buffer", ["FileIO", 0], "a"), "expected a buffer"),
    "a text of bytes": (of_node("io.buffer", ["BytesIO", 0], "a"), "expected bytes"),
    "a position beyond": (of_node("io.buffer", ["StringIO", 2], "a"), "a position from 0 to 1, found 2"),
    "a zone that is a path": (of_node("zoneinfo", "../etc/passwd"), "the key of a time zone"),
    "a zone that is absolute": (of_node("zoneinfo", "/etc/passwd"), "the key of a time zone"),
    "a counter of texts": (of_node("itertools", "count", "a", 1), "expected numbers"),
    "an endless product": (of_node("itertools", "product", 1, 1), "expected 'count' or 'repeat'"),
    "an exception of nothing": (of_node("exception", None), "a class and arguments"),
    "a weak list": (of_node("weakref.collection", "WeakList"), "the name of a weak collection"),
    "an unknown signal": (
        of_node("decimal.context", [5, "ROUND_UP", -9, 9, 1, 0, 0, "Odd"]),
        "names of signals",
    ),
    "more traps than signals": (
        of_node("decimal.context", [5, "ROUND_UP", -9, 9, 1, 0, 2, "Inexact"]),
        "expected signals",
    ),
    "a view of a list": (of_node("types.mappingproxy", None, [K.LIST]), "expected a dict"),
    "a long format": (of_node("struct.struct", "i" * 1001), "expected a format"),
    "an unknown mark": (of_node("stateless", "HAS_DEFAULT_FACTORY"), "the name of a mark"),
    "a pattern of regex": (of_node("regex.pattern", ["a"]), "a pattern and flags"),
    "bounds that are texts": (of_node("functools.cache", ["a", False], "numpy:linalg"), "expected bounds"),
    "a list that remembers": (
        of_node("functools.cache", [1, False], [K.LIST]),
        "expected bounds and a function, found list",
    ),
}


@one_test
@pytest.mark.parametrize(("table", "message"), NODES.values(), ids=NODES)
def test_nodes_that_no_encoder_writes_are_refused(table: bytes, message: str) -> None:
    with pytest.raises(RecordError, match=re.escape(message)):
        audit(table, DATA)


BUILT: dict[str, tuple[bytes, str]] = {
    "a zone that is not here": (
        of_node("zoneinfo", "Area/Nowhere"),
        "there is no time zone 'Area/Nowhere' here; install tzdata",
    ),
    "a format that is none": (of_node("struct.struct", "nonsense"), "bad char in struct format"),
    "a function as a type": (
        of_node("typing.form", "List", "builtins:len"),
        "expected types as the arguments",
    ),
    "a class that is no exception": (
        of_node("exception", None, "builtins:object"),
        "is not a class of exceptions",
    ),
    "a default of all others": (
        of_node("inspect.signature", ["parameter", "a", 2], 1, None),
        "no default of a parameter",
    ),
    "flags beyond": (of_node("regex.pattern", ["a", 1 << 21]), "expected flags"),
    "no pattern": (of_node("regex.pattern", ["(", 0]), "missing )"),
    "a wrong context": (of_node("decimal.context", [0, "ROUND_UP", -9, 9, 1, 0, 0]), "valid range for prec"),
    "no way to round": (
        of_node("decimal.context", [5, "ROUND_ODD", -9, 9, 1, 0, 0]),
        "valid values for rounding",
    ),
    "a ufunc that remembers": (
        of_node("functools.cache", [1, False], "numpy:tanh"),
        "expected a function, found ufunc",
    ),
}


@one_test
@pytest.mark.parametrize(("table", "message"), BUILT.values(), ids=BUILT)
def test_what_only_building_can_tell_is_said_with_the_path(table: bytes, message: str) -> None:
    audited = audit(table, DATA)
    with pytest.raises(ObjectBuildError, match=rf"object: obj cannot be built .*{re.escape(message)}"):
        build(audited, resolve(audited))


def test_no_file_is_looked_for_by_the_key_of_a_zone(monkeypatch: pytest.MonkeyPatch) -> None:
    again(zoneinfo.ZoneInfo("UTC"))

    def asked(key: str) -> None:
        raise AssertionError(f"a file was looked for: {key}")

    monkeypatch.setattr("zoneinfo._common.load_tzdata", asked)
    monkeypatch.setattr("zoneinfo._tzpath.find_tzfile", asked)
    with pytest.raises(ObjectBuildError, match="there is no time zone"):
        build(audit(of_node("zoneinfo", "No/Where"), DATA), {})


def test_equal_forms_are_written_once() -> None:
    records = unpack_table(encode([int | None, int | None, typing.Optional[int]]).records, "x")[1]  # noqa: UP045  # as spelled
    kinds = {type(int | None), type(typing.Optional[int])}  # noqa: UP045  # one since Python 3.14
    assert sum(record[0] == K.CODEC for record in records) == len(kinds)
    assert all(is_reference(part) for part in records[-1][1:])


def test_the_reason_is_in_words() -> None:
    with pytest.raises(CannotStore, match="a closed BytesIO"):
        default_registry().find("io.buffer").encode(closed(), None)  # type: ignore[union-attr, arg-type]  # as it is
