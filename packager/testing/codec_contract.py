"""The contract of codecs, as a test class."""

from __future__ import annotations

import builtins
import copy
import sys
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import msgpack
import pytest

from packager._audit import TrustContext, audit
from packager._codecs import Codec, CodecRegistry, ObjectCodec, default_registry
from packager._objects import EncodedObject, Kind, encode, unpack_table
from packager.errors import PackageError

from .round_trips import load, round_trip


class CodecContract:
    """Tests that every codec must pass: inherit it, name the codec and give samples; pytest finds them.

        class TestMyCodec(CodecContract):
            codec = MyCodec()
            trust = ("mypackage:Thing",)

            def samples(self):
                return [Thing(1), Thing(2)]

    `same` compares a sample with what came back; the default is ==. `interned` and `trust` are those
    of `round_trip`, for the classes that samples belong to.

    >>> from statistics import NormalDist
    >>> from packager.libraries import LiteralCodec, kinds
    >>> class TestNormalDist(CodecContract):
    ...     codec = LiteralCodec(
    ...         "gauges.normal",
    ...         ("statistics:NormalDist",),
    ...         kinds(float, float),
    ...         "a mean and a deviation",
    ...         lambda normal: [normal.mean, normal.stdev],
    ...         lambda parts: NormalDist(*parts),
    ...         is_data="plain",
    ...     )
    ...     def samples(self):
    ...         return [NormalDist(), NormalDist(-2.5, 1.0)]
    >>> TestNormalDist().test_samples_come_back_as_they_were()
    """

    codec: ClassVar[Codec]
    interned: ClassVar[Sequence[str]] = ()
    trust: ClassVar[Sequence[str]] = ()

    def samples(self) -> list[Any]:
        """Return objects for this codec: at least one of each form that they can have."""
        raise NotImplementedError

    def same(self, sample: object, loaded: object) -> bool:
        """Check whether a loaded sample equals the original."""
        return bool(sample == loaded)

    def registry(self) -> CodecRegistry:
        """Return the codecs of packager, and this one where it is not among them."""
        registry = default_registry()
        if registry.find(self.codec.name) is None:
            registry.add(self.codec)
        return registry

    # --- the contract ---

    def test_codec_has_a_name_a_version_and_types(self) -> None:
        assert isinstance(self.codec.name, str)
        assert self.codec.name
        assert type(self.codec.version) is int
        assert self.codec.version >= 1
        assert all(name.count(":") == 1 for name in self.codec.types)

    def test_samples_come_back_as_they_were(self) -> None:
        for sample in self.samples():
            loaded = self._round_trip(sample).object
            assert type(loaded) is type(sample)
            assert self.same(sample, loaded), (sample, loaded)

    def test_samples_are_stored_by_this_codec(self) -> None:
        for sample in self.samples():
            assert self.codec.name in self._codecs_in(
                encode(sample, registry=self.registry()).with_sources(self._is_interned)
            )

    def test_encoding_what_came_back_gives_the_same_bytes(self) -> None:
        for sample in self.samples():
            assert self._round_trip(sample).is_stable, sample

    def test_one_object_under_two_names_stays_one(self) -> None:
        for sample in self.samples():
            first, second = self._round_trip([sample, sample]).object
            assert first is second

    def test_the_audit_imports_nothing(self, monkeypatch: pytest.MonkeyPatch) -> None:
        registry = self.registry()
        encoded = [
            encode(sample, registry=registry).with_sources(self._is_interned) for sample in self.samples()
        ]
        sizes = [self._sizes(one) for one in encoded]
        imported: list[str] = []
        real_import = builtins.__import__

        def watched(name: str, *args: Any, **kwargs: Any) -> Any:
            asking = args[0] if args else kwargs.get("globals")
            package = ((asking or {}).get("__package__") or "").partition(".")[0]
            # Ours, and what imports them, import what is there, and what is ours.
            ours = package in ("packager", "importlib")
            is_ours = any(args[3:]) or name.partition(".")[0] == "packager"
            if not ours or not (name in sys.modules or is_ours):
                imported.append(name)
            return real_import(name, *args, **kwargs)

        with monkeypatch.context() as patch:
            patch.setattr(builtins, "__import__", watched)
            for one, storages in zip(encoded, sizes, strict=True):
                audit(one.records, self._trust_context(), self.trust, storages=storages, registry=registry)
        assert imported == [], imported

    def test_changed_nodes_raise_package_errors_alone(self) -> None:
        for sample in self.samples():
            encoded = encode(sample, registry=self.registry()).with_sources(self._is_interned)
            for records in self._changed(encoded):
                try:
                    load(
                        EncodedObject(records, encoded.storages, ()),
                        self._trust_context(),
                        self.trust,
                        registry=self.registry(),
                    )
                except PackageError:
                    continue

    # --- helpers ---

    def _round_trip(self, obj: Any) -> Any:
        return round_trip(obj, interned=self.interned, trust=self.trust, registry=self.registry())

    def _is_interned(self, module: str) -> bool:
        return module in self.interned

    def _trust_context(self) -> TrustContext:
        return TrustContext.with_code(self.interned) if self.interned else TrustContext.data_only()

    def _sizes(self, encoded: EncodedObject) -> dict[str, tuple[str, int]]:
        return {storage.name: (storage.dtype, storage.buffer.nbytes) for storage in encoded.storages}

    def _codecs_in(self, encoded: EncodedObject) -> set[str]:
        assert not encoded.refusals
        return {name for name, _ in unpack_table(encoded.records, "sample")[0]}

    def _changed(self, encoded: EncodedObject) -> Iterator[bytes]:
        """Yield the table with one part of one node of this codec replaced, left out or doubled."""
        table = unpack_table(encoded.records, "sample")
        numbers = [number for number, (name, _) in enumerate(table[0]) if name == self.codec.name]
        for index, record in enumerate(table[1]):
            literal_at = {Kind.CODEC: 2, Kind.FINISH: 3, Kind.OBJ: 2}.get(record[0])
            if literal_at is None or (record[0] != Kind.OBJ and record[literal_at - 1] not in numbers):
                continue
            if record[0] == Kind.OBJ and not isinstance(self.codec, ObjectCodec):
                continue
            for place in range(literal_at, len(record)):
                for value in (*_STRANGE, *_changed_literals(record[place])):
                    changed = copy.deepcopy(table)
                    changed[1][index][place] = value
                    yield msgpack.packb(changed)
                changed = copy.deepcopy(table)
                del changed[1][index][place]
                yield msgpack.packb(changed)
            changed = copy.deepcopy(table)
            changed[1][index].append(-1)
            yield msgpack.packb(changed)


_STRANGE: tuple[Any, ...] = (
    None,
    True,
    -1,
    0,
    2**40,
    1.5,
    float("nan"),
    "",
    "strange",
    b"",
    b"x",
    [],
    [None],
    ["x", 1],
)


def _changed_literals(literal: Any) -> Iterator[Any]:
    if isinstance(literal, list):
        for place in range(len(literal)):
            for value in _STRANGE[:-3]:
                yield [*literal[:place], value, *literal[place + 1 :]]
            yield [*literal[:place], *literal[place + 1 :]]
        yield [*literal, literal[-1] if literal else 0]
