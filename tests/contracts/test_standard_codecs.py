"""Codecs of the standard library's small things, of annotations and of `regex`, keep the contract."""

from __future__ import annotations

import dataclasses
import decimal
import functools
import inspect
import io
import itertools
import random
import struct
import types
import typing
import weakref
import zoneinfo
from collections.abc import Callable
from typing import Any

import numpy as np
import regex

from packager._codecs import standard_values, typing_forms
from packager.testing import CodecContract
from tests.contracts.built_in import by_name


def signed(a: int, /, b: str = "x", *more: Any, c: list[int] | None = None, **rest: float) -> bool | None:
    """A function whose signature is kept."""


class Wrong(ValueError):
    """An exception of these tests, which keeps more than its arguments."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text


K, V = typing.TypeVar("K"), typing.TypeVar("V")


class Pair(typing.Generic[K, V]):
    """A generic class of these tests."""


class TestTypingForms(CodecContract):
    codec = typing_forms.TypingCodec()
    trust = (f"{__name__}:Pair",)

    def samples(self) -> list[Any]:
        return [
            int | None, list[int] | str | None, typing.Optional[int], typing.Union[int, str],  # noqa: UP007, UP045  # as spelled
            typing.List[int], typing.List, typing.Tuple[int, ...], typing.Dict[str, np.ndarray],  # noqa: UP006  # as spelled
            typing.Literal["a", 1, True, None], typing.Callable[[int, str], float], typing.Callable[..., int],
            Callable[[int], str], Callable[[], None], typing.Callable, typing.NoReturn, typing.ClassVar[int],
            typing.Optional[typing.List[typing.Optional[int]]], typing.Type[int],  # noqa: UP006, UP045  # as spelled
            typing.Optional, Pair[int, list[str]], Pair[np.ndarray, None], typing.Optional[Pair[int, int]],  # noqa: UP045  # as spelled
        ]  # fmt: skip


class TestSignature(CodecContract):
    codec = typing_forms.SignatureCodec()

    def samples(self) -> list[Any]:
        signature = inspect.signature(signed, eval_str=True)
        return [signature, *signature.parameters.values(), inspect.Signature()]


class TestBuffer(CodecContract):
    codec = standard_values.BufferCodec()

    def samples(self) -> list[Any]:
        read = io.BytesIO(b"abc" * 100)
        read.read(4)
        return [read, io.BytesIO(), io.StringIO("a\nb"), io.StringIO()]

    def same(self, sample: Any, loaded: Any) -> bool:
        return (type(sample), sample.getvalue(), sample.tell()) == (
            type(loaded), loaded.getvalue(), loaded.tell(),
        )  # fmt: skip


class TestZone(CodecContract):
    codec = by_name("zoneinfo")

    def samples(self) -> list[Any]:
        return [zoneinfo.ZoneInfo("Europe/Paris"), zoneinfo.ZoneInfo("UTC")]


class TestCounter(CodecContract):
    codec = standard_values.CounterCodec()

    def samples(self) -> list[Any]:
        moved = itertools.count(3, 2)
        next(moved)
        return [
            moved,
            itertools.count(),
            itertools.count(-0.5, 0.25),
            itertools.count(10**30),
            itertools.repeat([1]),
            itertools.repeat("a", 3),
        ]

    def same(self, sample: Any, loaded: Any) -> bool:
        return repr(sample) == repr(loaded) and list(itertools.islice(sample, 3)) == list(
            itertools.islice(loaded, 3)
        )


class TestException(CodecContract):
    codec = by_name("exception")
    interned = (__name__,)

    def samples(self) -> list[Any]:
        noted = KeyError("a")
        noted.hint = [1]  # type: ignore[attr-defined]  # an attribute of its own
        return [
            ValueError("x", 1), noted, OSError(2, "no such", "file"), StopIteration(3), ImportError("a"),
            UnicodeDecodeError("utf-8", b"a\xff", 1, 2, "odd"), SyntaxError("odd", ("f", 1, 2, "t")),
            Wrong("w"),
        ]  # fmt: skip

    def same(self, sample: Any, loaded: Any) -> bool:
        return (type(sample), sample.args, str(sample), vars(sample)) == (
            type(loaded), loaded.args, str(loaded), vars(loaded),
        )  # fmt: skip


class TestWeak(CodecContract):
    codec = standard_values.WeakCodec()

    def samples(self) -> list[Any]:
        return [weakref.WeakKeyDictionary(), weakref.WeakValueDictionary(), weakref.WeakSet()]

    def same(self, sample: Any, loaded: Any) -> bool:
        return type(sample) is type(loaded) and len(loaded) == 0


class TestDecimalContext(CodecContract):
    codec = by_name("decimal.context")

    def samples(self) -> list[Any]:
        trapped = decimal.Context(prec=5, rounding=decimal.ROUND_UP, traps=[decimal.Inexact])
        trapped.flags[decimal.Rounded] = True
        return [decimal.Context(), trapped]

    def same(self, sample: Any, loaded: Any) -> bool:
        return repr(sample) == repr(loaded)


class TestMappingProxy(CodecContract):
    codec = by_name("types.mappingproxy")

    def samples(self) -> list[Any]:
        return [types.MappingProxyType({"a": [1]}), types.MappingProxyType({})]


class TestStruct(CodecContract):
    codec = by_name("struct.struct")

    def samples(self) -> list[Any]:
        return [struct.Struct("<if3s"), struct.Struct("")]

    def same(self, sample: Any, loaded: Any) -> bool:
        return (sample.format, sample.size) == (loaded.format, loaded.size)


class TestStateless(CodecContract):
    codec = by_name("stateless")

    def samples(self) -> list[Any]:
        return [dataclasses.MISSING, dataclasses.KW_ONLY, random.SystemRandom()]

    def same(self, sample: Any, loaded: Any) -> bool:
        return sample is loaded or type(sample) is type(loaded) is random.SystemRandom


class TestRegexPattern(CodecContract):
    codec = standard_values.RegexPatternCodec()

    def samples(self) -> list[Any]:
        return [regex.compile(r"\p{L}+|[^\s\p{L}]"), regex.compile(b"a+", regex.IGNORECASE)]

    def same(self, sample: Any, loaded: Any) -> bool:
        return (sample.pattern, sample.flags) == (loaded.pattern, loaded.flags)


class TestCached(CodecContract):
    codec = by_name("functools.cache")

    def samples(self) -> list[Any]:
        return [functools.lru_cache(5, typed=True)(np.linalg.norm), functools.cache(np.linalg.det)]

    def same(self, sample: Any, loaded: Any) -> bool:
        one, two = sample.cache_parameters(), loaded.cache_parameters()
        return one == two and sample.__wrapped__ is loaded.__wrapped__
