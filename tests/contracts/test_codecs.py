"""Every codec keeps the contract."""

from __future__ import annotations

import array
import collections
import enum
import fractions
import functools
import logging
import operator
import re
import sys
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
import pytest

import kellet
import kellet.optim
from kellet import nn
from packager._codecs import (
    arrays,
    default_registry,
    kellet_codec,
    numpy_values,
    optimizers,
    plain,
    standard_values,
)
from packager.testing import CodecContract
from tests.contracts import test_standard_codecs
from tests.contracts.built_in import by_name
from tests.contracts.libraries import LIBRARIES
from tests.tables import one_test

HERE = __name__


class Color(enum.Enum):
    RED = 1
    GREEN = "green"


class Mode(enum.Flag):
    READ = 1
    WRITE = 2


class Point(NamedTuple):
    x: int
    y: Any


class Metres(float):
    pass


class Labelled(np.ndarray):
    pass


class Marked(kellet.Tensor):
    pass


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(3, 2)
        self.second = nn.Linear(2, 3)
        self.second.weight = self.first.weight
        self.register_buffer("seen", kellet.zeros(2, dtype=kellet.int64))
        self.register_buffer("cache", kellet.ones(2), persistent=False)
        self.handle = self.register_forward_hook(self.count)
        self.watch = nn.Hook(posthook=look)
        self.watch.register(self.first)
        self.name = "net"

    def count(self, module: Any, args: Any, output: Any) -> None:
        self.seen += 1


def look(module: Any, args: Any, output: Any) -> None:
    """A hook with a name."""


class TestComplex(CodecContract):
    codec = by_name("complex")

    def samples(self) -> list[Any]:
        return [1 + 2j, complex("inf"), -0j]


class TestByteArray(CodecContract):
    codec = by_name("bytearray")

    def samples(self) -> list[Any]:
        return [bytearray(b""), bytearray(b"abc")]


class TestSingleton(CodecContract):
    codec = by_name("singleton")

    def samples(self) -> list[Any]:
        return [..., NotImplemented]

    def same(self, sample: Any, loaded: Any) -> bool:
        return sample is loaded


class TestSlice(CodecContract):
    codec = by_name("slice")

    def samples(self) -> list[Any]:
        return [slice(1, None, 2), slice(None), range(0, 10, 3), range(-(10**30), 10**30)]


class TestEnum(CodecContract):
    codec = by_name("enum")
    interned = (HERE,)

    def samples(self) -> list[Any]:
        return [Color.RED, Color.GREEN, Mode.READ, Mode.READ | Mode.WRITE]

    def same(self, sample: Any, loaded: Any) -> bool:
        return sample is loaded


class TestPartial(CodecContract):
    codec = by_name("functools.partial")
    interned = (HERE,)  # in data alone there are few partials

    def samples(self) -> list[Any]:
        return [functools.partial(int, base=2), functools.partial(max, 1, 2), functools.partial(min)]

    def same(self, sample: Any, loaded: Any) -> bool:
        return (sample.func, sample.args, sample.keywords) == (loaded.func, loaded.args, loaded.keywords)


class TestGetter(CodecContract):
    codec = by_name("getter")
    interned = (HERE,)  # in data alone there are none

    def samples(self) -> list[Any]:
        return [operator.itemgetter(1), operator.itemgetter("a", slice(2)), operator.attrgetter("a.b", "c")]

    def same(self, sample: Any, loaded: Any) -> bool:
        return repr(sample) == repr(loaded)


class TestFraction(CodecContract):
    codec = by_name("fraction")

    def samples(self) -> list[Any]:
        return [fractions.Fraction(1, 3), fractions.Fraction(-(10**40), 7)]


class TestPattern(CodecContract):
    codec = standard_values.PatternCodec()

    def samples(self) -> list[Any]:
        return [re.compile("a+b"), re.compile(rb"\d", re.IGNORECASE)]


class TestArrayModule(CodecContract):
    codec = by_name("array.array")

    def samples(self) -> list[Any]:
        text = "w" if sys.version_info >= (3, 13) else "u"  # the older code warns where the newer one is
        return [array.array("d", [1.5, 2.5]), array.array("b"), array.array(text, "añ"), array.array(text)]


class TestLogger(CodecContract):
    codec = plain.LoggerCodec()

    def samples(self) -> list[Any]:
        return [logging.getLogger(), logging.getLogger("a.b")]

    def same(self, sample: Any, loaded: Any) -> bool:
        return sample is loaded


class TestNamedTuple(CodecContract):
    codec = by_name("namedtuple")
    interned = (HERE,)

    def samples(self) -> list[Any]:
        return [Point(1, [2]), Point(-1, "b")]


class TestScalarSubclass(CodecContract):
    codec = by_name("scalar subclass")
    interned = (HERE,)

    def samples(self) -> list[Any]:
        labelled = Metres(2.5)
        labelled.unit = "m"  # type: ignore[attr-defined]  # instances of a subclass take attributes
        return [Metres(1.5), labelled]

    def same(self, sample: Any, loaded: Any) -> bool:
        return bool(sample == loaded) and vars(sample) == vars(loaded)


class TestMethod(CodecContract):
    codec = by_name("method")
    interned = (HERE,)

    def samples(self) -> list[Any]:
        return [look.__get__(Point(1, 2))]

    def same(self, sample: Any, loaded: Any) -> bool:
        return sample.__func__ is loaded.__func__ and sample.__self__ == loaded.__self__


class TestMapping(CodecContract):
    codec = by_name("collections.mapping")

    def samples(self) -> list[Any]:
        tagged = collections.OrderedDict(b=1, a=[2])
        tagged.tag = "x"  # type: ignore[attr-defined]  # instances of OrderedDict take attributes
        return [
            tagged,
            collections.Counter("abca"),
            collections.defaultdict(list, {1: [2]}),
            collections.defaultdict(),
        ]

    def same(self, sample: Any, loaded: Any) -> bool:
        factories = getattr(sample, "default_factory", None), getattr(loaded, "default_factory", None)
        return list(sample.items()) == list(loaded.items()) and factories[0] is factories[1]


class TestDeque(CodecContract):
    codec = by_name("collections.deque")

    def samples(self) -> list[Any]:
        return [collections.deque([1, [2]]), collections.deque([1, 2, 3], maxlen=2)]

    def same(self, sample: Any, loaded: Any) -> bool:
        return bool(sample == loaded) and sample.maxlen == loaded.maxlen


class TestChainMap(CodecContract):
    codec = by_name("collections.chainmap")

    def samples(self) -> list[Any]:
        return [collections.ChainMap({"a": 1}, {"b": [2]})]


class TestDType(CodecContract):
    codec = numpy_values.DTypeCodec()

    def samples(self) -> list[Any]:
        offsets = {"names": ["a"], "formats": ["f4"], "offsets": [4], "itemsize": 12}
        return [
            np.dtype(text)
            for text in (
                "f4",
                ">i8",
                "U3",
                "M8[ns]",
                "O",
                [("a", "f4"), (("title", "b"), "i8", (2, 3))],
                offsets,
            )
        ] + [np.dtype(ml_dtypes.bfloat16), np.dtype([("a", "i1"), ("b", "f8")], align=True)]

    def same(self, sample: Any, loaded: Any) -> bool:
        return repr(sample) == repr(loaded)


class TestArray(CodecContract):
    codec = arrays.ArrayCodec()

    def samples(self) -> list[Any]:
        grid = np.arange(24.0).reshape(4, 6)
        return [
            grid,
            grid.T,
            grid[::2, ::-1],
            grid.astype(">f4"),
            np.array(5, "i2"),
            np.zeros((0, 3)),
            np.broadcast_to(np.arange(3), (4, 3)),
            np.array([["a", "bcd"]]),
            np.array(["2020-01-01", "NaT"], "M8[D]"),
            np.array([1 + 2j]),
            np.zeros(2, [("a", "f4"), ("b", "i8", (2,))]),
            np.array([1, "a", None, [2]], object),
            np.ones(3, ml_dtypes.bfloat16),
            np.ones(3, ml_dtypes.float8_e4m3fn),
            np.rec.array([(1, 2.0)], dtype=[("a", "i4"), ("b", "f8")]),
        ]

    def same(self, sample: Any, loaded: Any) -> bool:
        return repr(sample) == repr(loaded) and sample.dtype == loaded.dtype and sample.shape == loaded.shape


class TestScalar(CodecContract):
    codec = numpy_values.ScalarCodec()

    def samples(self) -> list[Any]:
        structured = np.zeros(2, [("a", "f4"), ("b", "i8")])[0]
        return [
            np.float32(1.5),
            np.float64(2),
            np.int8(-3),
            np.True_,
            np.str_("añ"),
            np.bytes_(b"a"),
            np.str_(""),
            np.datetime64("2020-01-01"),
            np.complex128(1 + 2j),
            ml_dtypes.bfloat16(2),
            structured,
        ]


class TestMaskedArray(CodecContract):
    codec = arrays.MaskedArrayCodec()

    def samples(self) -> list[Any]:
        texts = np.ma.array([b"ab", b"abcde"], mask=[0, 1])
        assert texts.fill_value == b"N/A"  # of three characters; NumPy keeps it once it was asked for
        swapped = np.ma.array([1, 2], mask=[0, 1], fill_value=7).astype(">i2")
        fields = np.ma.array([(1, b"ab")], [("a", "<i4"), ("b", "S2")], mask=[(0, 1)], fill_value=(3, b"x"))
        numbers = np.ma.array([1, 2, 3], mask=[0, 1, 0], fill_value=7)
        return [numbers, np.ma.array([1.0]), np.ma.masked, texts, swapped, fields]

    def same(self, sample: Any, loaded: Any) -> bool:
        return repr(sample) == repr(loaded)


class TestArraySubclass(CodecContract):
    codec = arrays.SubclassCodec()
    interned = (HERE,)

    def samples(self) -> list[Any]:
        labelled = np.arange(3.0).view(Labelled)
        labelled.label = ["x"]  # type: ignore[attr-defined]  # instances of a subclass take attributes
        return [labelled]

    def same(self, sample: Any, loaded: Any) -> bool:
        return sample.tolist() == loaded.tolist() and vars(sample) == vars(loaded)


class _Random(CodecContract):
    def draws(self, source: Any) -> list[float]:
        raise NotImplementedError

    def same(self, sample: Any, loaded: Any) -> bool:
        # Both go on drawing the same numbers, from where the sample stands.
        return self.draws(sample) == self.draws(loaded)


class TestGenerator(_Random):
    codec = by_name("numpy.generator")

    def samples(self) -> list[Any]:
        return [np.random.default_rng(3), np.random.Generator(np.random.Philox(4))]

    def draws(self, source: Any) -> list[float]:
        return [*source.normal(size=3).tolist(), *source.spawn(1)[0].normal(size=2).tolist()]


class TestBitGenerator(_Random):
    codec = by_name("numpy.bit_generator")

    def samples(self) -> list[Any]:
        kinds = ("MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64")
        return [getattr(np.random, kind)(5) for kind in kinds]

    def draws(self, source: Any) -> list[float]:
        return source.random_raw(4).tolist()  # type: ignore[no-any-return]  # of ints


class TestRandomState(_Random):
    codec = by_name("numpy.random_state")

    def samples(self) -> list[Any]:
        half = np.random.RandomState(4)
        half.normal()
        return [np.random.RandomState(3), half]

    def draws(self, source: Any) -> list[float]:
        return source.normal(size=3).tolist()  # type: ignore[no-any-return]  # of floats


class TestSeedSequence(CodecContract):
    codec = numpy_values.SeedSequenceCodec()

    def samples(self) -> list[Any]:
        spawned = np.random.SeedSequence(3)
        return [np.random.SeedSequence(10**30), spawned.spawn(2)[1], spawned]

    def same(self, sample: Any, loaded: Any) -> bool:
        return sample.state == loaded.state and sample.spawn(1)[0].state == loaded.spawn(1)[0].state  # type: ignore[no-any-return]  # of dicts


class TestKelletTensor(CodecContract):
    codec = kellet_codec.TensorCodec()

    def samples(self) -> list[Any]:
        marked = kellet.ones(2)
        marked.mark = "x"
        return [
            kellet.ones(2, 3),
            kellet.ones(2, requires_grad=True),
            kellet.arange(6).reshape(2, 3).T,
            kellet.tensor(True),
            nn.Parameter(kellet.zeros(2)),
            nn.Buffer(kellet.zeros(2), persistent=False),
            kellet.zeros(0, 2),
            marked,
        ]

    def same(self, sample: Any, loaded: Any) -> bool:
        return (
            sample.tolist() == loaded.tolist()
            and (sample.dtype, sample.requires_grad) == (loaded.dtype, loaded.requires_grad)
            and vars(sample) == vars(loaded)
        )


class TestKelletTensorSubclass(CodecContract):
    codec = kellet_codec.TensorSubclassCodec()
    interned = (HERE,)

    def samples(self) -> list[Any]:
        return [Marked([1.0, 2.0])]

    def same(self, sample: Any, loaded: Any) -> bool:
        return sample.tolist() == loaded.tolist()  # type: ignore[no-any-return]  # of lists


class TestKelletDevice(CodecContract):
    codec = by_name("kellet.device")

    def samples(self) -> list[Any]:
        return [kellet.ones(1).device]


class TestKelletSize(CodecContract):
    codec = by_name("kellet.size")

    def samples(self) -> list[Any]:
        return [kellet.ones(2, 3).shape, kellet.ones(()).shape]


class TestKelletModule(CodecContract):
    codec = kellet_codec.KelletModuleCodec()
    interned = (HERE,)

    def samples(self) -> list[Any]:
        return [Net(), nn.Sequential(nn.Linear(2, 2), nn.ReLU()), nn.Linear(2, 2).with_forward_hook(look)[0]]

    def same(self, sample: Any, loaded: Any) -> bool:
        left, right = sample.state_dict(), loaded.state_dict()
        return list(left) == list(right) and all(left[key].tolist() == right[key].tolist() for key in left)


class TestKelletHook(CodecContract):
    codec = kellet_codec.HookCodec()
    interned = (HERE,)

    def samples(self) -> list[Any]:
        return [nn.Hook(posthook=look, eval_update=False)]

    def same(self, sample: Any, loaded: Any) -> bool:
        return (sample.trainexec, sample.evalexec, sample.registered) == (True, False, loaded.registered)


class TestKelletRegistry(CodecContract):
    codec = kellet_codec.RegistryCodec()
    interned = (HERE,)

    def samples(self) -> list[Any]:
        registry: Any = kellet.hooks.HookRegistry()
        registry.add(look, with_kwargs=True)
        return [registry, kellet.hooks.HookRegistry()]

    def same(self, sample: Any, loaded: Any) -> bool:
        return [(e.hook, e.options) for e in sample] == [(e.hook, e.options) for e in loaded]


class TestKelletHandle(CodecContract):
    codec = kellet_codec.KelletHandleCodec()

    def samples(self) -> list[Any]:
        return [kellet.hooks.RemovableHandle(kellet.hooks.HookRegistry(), 3)]

    def same(self, sample: Any, loaded: Any) -> bool:
        loaded.remove()
        return True


class TestKelletGate(CodecContract):
    codec = kellet_codec.GateCodec()
    interned = (HERE,)

    def samples(self) -> list[Any]:
        net = Net()
        return [next(iter(net.first._call_hooks.forward)).hook]

    def same(self, sample: Any, loaded: Any) -> bool:
        return sample.place == loaded.place  # type: ignore[no-any-return]  # of strings


class TestKelletOptimizer(CodecContract):
    codec = optimizers.OptimizerCodec("kellet")

    def samples(self) -> list[Any]:
        parameter = nn.Parameter(kellet.ones(2))
        stepped = kellet.optim.AdamW([parameter], lr=0.1)
        parameter.grad = kellet.ones(2)
        stepped.step()
        parameter.grad = None
        return [kellet.optim.SGD([nn.Parameter(kellet.ones(2))], lr=0.1, momentum=0.9), stepped]

    def same(self, sample: Any, loaded: Any) -> bool:
        return repr(sample.state_dict()) == repr(loaded.state_dict())


def test_every_codec_has_a_contract_test() -> None:
    found = [*globals().values(), *vars(test_standard_codecs).values()]
    tested = {value.codec.name for value in found if _is_contract(value)}
    elsewhere = {"torch", *LIBRARIES}
    ours = {codec.name for codec in default_registry() if codec.name.partition(".")[0] not in elsewhere}
    assert tested == ours


def _is_contract(value: Any) -> bool:
    return isinstance(value, type) and issubclass(value, CodecContract) and hasattr(value, "codec")


@one_test
@pytest.mark.parametrize("codec", list(default_registry()), ids=lambda codec: codec.name)
def test_codec_says_in_its_docstring_what_it_stores(codec: Any) -> None:
    assert (type(codec).__doc__ or "").strip()
