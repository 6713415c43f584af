"""Codecs for NumPy's random generators: the name of the algorithm and its state, as plain data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, cast

from packager.archive import MAX_SEED_POOL

from .base import CannotStore, Child, Codec, Decoding, Encoding, LiteralValue, Node
from .checks import expect

_ALGORITHMS: Final = ("MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64")


class BitGeneratorCodec(Codec):
    """Bit generators: the algorithm, the state, and the seed sequence that new ones are spawned from."""

    name = "numpy.bit_generator"
    types = ("numpy.random.bit_generator:BitGenerator", "numpy.random._bit_generator:BitGenerator")

    def encode(self, obj: Any, context: Encoding) -> Node:
        import numpy

        kind = type(obj).__name__
        if kind not in _ALGORITHMS or type(obj) is not getattr(numpy.random, kind):
            raise CannotStore(f"bit generator {type(obj).__qualname__} is none of NumPy's own")
        seed = getattr(obj, "seed_seq", None)
        return Node(kind, (obj.state, seed if isinstance(seed, numpy.random.SeedSequence) else None))

    def claims(self, cls: type) -> bool:
        return True

    def check(self, literal: LiteralValue, children: Sequence[Child], version: int) -> None:
        expect(literal in _ALGORITHMS and len(children) == 2, "an algorithm, its state and a seed sequence")
        expect(children[0].kind == "dict", "a state")
        _expect_seed(children[1])

    def decode(self, literal: Any, children: Sequence[Any], version: int, context: Decoding) -> Any:
        import numpy

        state, seed = children
        if seed is None and literal == "MT19937":
            # Seeded in the way of RandomState: there is no sequence to spawn from.
            made = numpy.random.RandomState(0)._bit_generator
        else:
            made = getattr(numpy.random, literal)(seed)
        made.state = state
        return made


class GeneratorCodec(Codec):
    """numpy.random.Generator: its bit generator."""

    name = "numpy.generator"
    types = ("numpy.random._generator:Generator",)

    def encode(self, obj: Any, context: Encoding) -> Node:
        return Node(None, (obj.bit_generator,))

    def check(self, literal: LiteralValue, children: Sequence[Child], version: int) -> None:
        expect(literal is None and len(children) == 1, "a bit generator")
        expect(children[0].codec == "numpy.bit_generator", "a bit generator")

    def decode(self, literal: Any, children: Sequence[Any], version: int, context: Decoding) -> Any:
        import numpy

        return numpy.random.Generator(children[0])


class RandomStateCodec(Codec):
    """numpy.random.RandomState: its bit generator, and the second half of the last pair of normals."""

    name = "numpy.random_state"
    types = ("numpy.random.mtrand:RandomState",)

    def encode(self, obj: Any, context: Encoding) -> Node:
        state = obj.get_state(legacy=False)
        return Node([bool(state["has_gauss"]), float(state["gauss"])], (obj._bit_generator,))

    def check(self, literal: LiteralValue, children: Sequence[Child], version: int) -> None:
        expect(
            isinstance(literal, list) and list(map(type, literal)) == [bool, float], "the state of normals"
        )
        expect(len(children) == 1 and children[0].codec == "numpy.bit_generator", "a bit generator")

    def decode(self, literal: Any, children: Sequence[Any], version: int, context: Decoding) -> Any:
        import numpy

        made = numpy.random.RandomState(children[0])
        state = {**made.get_state(legacy=False), "has_gauss": int(literal[0]), "gauss": literal[1]}
        made.set_state(state)
        return made


class SeedSequenceCodec(Codec):
    """numpy.random.SeedSequence: entropy, spawn key, pool size, and how many children it has spawned."""

    name = "numpy.seed_sequence"
    types = ("numpy.random.bit_generator:SeedSequence", "numpy.random._bit_generator:SeedSequence")

    def encode(self, obj: Any, context: Encoding) -> Node:
        return Node([obj.pool_size, obj.n_children_spawned], (obj.entropy, tuple(obj.spawn_key)))

    def check(self, literal: LiteralValue, children: Sequence[Child], version: int) -> None:
        expect(isinstance(literal, list) and list(map(type, literal)) == [int, int], "pool size and children")
        size, spawned = cast(list[int], literal)
        expect(4 <= size <= MAX_SEED_POOL and spawned >= 0 and len(children) == 2, "entropy and spawn key")

    def decode(self, literal: Any, children: Sequence[Any], version: int, context: Decoding) -> Any:
        import numpy

        entropy, key = children
        return numpy.random.SeedSequence(
            entropy, spawn_key=key, pool_size=literal[0], n_children_spawned=literal[1]
        )


def _expect_seed(child: Child) -> None:
    missing = child.kind == "scalar" and child.value is None
    expect(missing or child.codec == "numpy.seed_sequence", "a seed sequence")
