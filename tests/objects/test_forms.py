"""What data alone is refused for: which record, in which words, and which name the caller may vouch for."""

from __future__ import annotations

from typing import Any

import msgpack
import pytest

from packager._audit import TrustContext
from packager._audit.forms import CODE, refused_forms
from packager._audit.rows import SCALARS as _ARGUMENTS
from packager._audit.trust import Trust
from packager._objects.checking import checked_table
from packager._objects.records import Kind as K
from tests.tables import one_test

CODECS = [
    "functools.partial",
    "method",
    "getter",
    "collections.mapping",
    "kellet.hooks",
    "kellet.module",
    "torch.module",
    "numpy.dtype",
    "slice",
    "torch.optimizer",
    "kellet.hook",
    "torch.tensor",
    "numpy.ndarray",
    "kellet.gate",
    "enum",
    "namedtuple",
    "numpy.bit_generator",
    "numpy.seed_sequence",
]
(
    PARTIAL,
    METHOD,
    GETTER,
    MAPPING,
    HOOKS,
    KELLET,
    TORCH,
    DTYPE,
    SLICE,
    OPTIMIZER,
    HOOK,
    TENSOR,
    ARRAY,
    GATE,
    ENUM,
    NAMED,
    BITS,
    SEEDS,
) = range(1, len(CODECS) + 1)


def forms(records: list[Any], *trust: str, context: TrustContext | None = None) -> list[tuple[int, str, str]]:
    rows = [["records", 1], *([name, 1] for name in CODECS)]
    storages = {"w": ("F32", 4)} if any(record[0] == K.TENSOR for record in records) else {}
    table = checked_table(msgpack.packb([rows, records, None]), storages, None, "object")
    found = refused_forms(table, context or TrustContext.data_only(), Trust(trust))
    assert all(form.reason.endswith(f"; {CODE}") for form in found)
    return [(form.index, form.reason.removesuffix(f"; {CODE}"), form.trust) for form in found]


RELU = [K.GLOBAL, "torch.nn.functional", "relu"]
OURS = [K.GLOBAL, "m", "A"]
DATE = [K.GLOBAL, "datetime", "date"]
ZONE = [K.GLOBAL, "datetime", "timezone"]
ORDERED = [K.GLOBAL, "collections", "OrderedDict"]
SPARSE = [K.GLOBAL, "scipy.sparse", "csr_matrix"]
NORM = [K.GLOBAL, "torch.nn.utils.weight_norm", "WeightNorm"]
SPECTRAL = [K.GLOBAL, "torch.nn.utils.spectral_norm", "SpectralNorm"]
MODULE = [[K.GLOBAL, "torch.nn.modules.activation", "ReLU"], [K.SHAPE, -1, TORCH], [K.OBJ, -2]]
UNLISTED = ", which is not an allowed function of torch.nn.functional, NumPy, scikit-learn or kellet"
A_LIST = f"a list in the arguments of datetime:date, which holds {_ARGUMENTS} alone"
A_BIT_GENERATOR = (
    "m:A in an object of the codec 'numpy.bit_generator', which holds plain data and tensors alone"
)
A_REGISTRY = "an object of the codec 'kellet.hooks' in the arguments of types:GenericAlias"
GIVEN = "would be given a state by its own method, whose code is not stored"
FACTORY = "; None, int, float, str, bool, list, dict, OrderedDict, Counter, set and tuple are allowed"
NAMESPACE = [K.GLOBAL, "types", "SimpleNamespace"]


def normed(*values: Any, names: tuple[str, ...] = ("name", "dim")) -> list[Any]:
    """A hook of weight_norm, as records 0 to 2."""
    return [NORM, [K.SHAPE, -1, None, *names], [K.OBJ, -2, *values]]


def hooked(kind: str, hook: list[Any]) -> list[Any]:
    """Records of a hook, whose last is that, and of a module that has it registered."""
    count = len(hook)
    module = [MODULE[0], [K.SHAPE, -1 - count, TORCH], [K.OBJ, -2 - count]]
    return [*hook, *module, [K.DICT], [K.FINISH, -3 - count, TORCH, "hooks", kind, 0, -count, -4 - count]]


REFUSED: dict[str, tuple[list[Any], list[tuple[int, str, str]]]] = {
    "a partial of our own": (
        [OURS, [K.TUPLE], [K.DICT], [K.CODEC, PARTIAL, None, -1, -2, -3]],
        [(3, f"a partial of m:A{UNLISTED}", "m:A")],
    ),
    "a partial of an object": (
        [DATE, [K.CALL, -1, 1, 2, 3], [K.TUPLE], [K.DICT], [K.CODEC, PARTIAL, None, -2, -3, -4]],
        [(4, f"a partial of an object of datetime:date{UNLISTED}", "datetime:date")],
    ),
    "a partial of our own in its arguments": (
        [RELU, OURS, [K.TUPLE, -2], [K.DICT], [K.CODEC, PARTIAL, None, -1, -3, -4]],
        [(1, "m:A in the arguments of a partial, which holds plain data and tensors alone", "")],
    ),
    "a partial of our own in its keywords": (
        [RELU, OURS, [K.TUPLE], [K.DICT, "a", -2], [K.CODEC, PARTIAL, None, -1, -3, -4]],
        [(1, "m:A in the arguments of a partial, which holds plain data and tensors alone", "")],
    ),
    "attributes of a partial": (
        [RELU, OURS, [K.TUPLE], [K.DICT], [K.CODEC, PARTIAL, None, -1, -3, -4], [K.FILL, -5, "a", -2]],
        [(1, "m:A in the attributes of a partial, which holds plain data alone", "")],
    ),
    "a bound method": (
        [OURS, [K.CODEC, METHOD, None, -1, 1]],
        [(1, "a bound method, which would be called later", "m:A")],
    ),
    "a getter": (
        [[K.CODEC, GETTER, "itemgetter", 1]],
        [(0, "operator.itemgetter, which would look up names from the data", "")],
    ),
    "a factory of our own": (
        [OURS, [K.CODEC, MAPPING, "defaultdict", -1]],
        [(1, f"a defaultdict whose factory is m:A{FACTORY}", "m:A")],
    ),
    "a factory of another name of builtins": (
        [[K.GLOBAL, "builtins", "len"], [K.CODEC, MAPPING, "defaultdict", -1]],
        [(1, f"a defaultdict whose factory is builtins:len{FACTORY}", "builtins:len")],
    ),
    "a factory of another module": (
        [[K.GLOBAL, "m", "int"], [K.CODEC, MAPPING, "defaultdict", -1]],
        [(1, f"a defaultdict whose factory is m:int{FACTORY}", "m:int")],
    ),
    "a factory that is a text": (
        [[K.CODEC, MAPPING, "defaultdict", "x"]],
        [(0, f"a defaultdict whose factory is 'x'{FACTORY}", "")],
    ),
    "a call with the importer": (
        [OURS, [K.PACKAGE_CALL, -1, 1]],
        [(1, "m:A would be called with the importer", "m:A")],
    ),
    "an argument": (
        [DATE, [K.LIST], [K.CALL, -1, -2]],
        [
            (
                1,
                A_LIST,
                "",
            )
        ],
    ),
    "an argument inside of a tuple": (
        [DATE, [K.LIST], [K.TUPLE, -2], [K.DICT], [K.NEW_KW, -1, -3, -4]],
        [
            (
                1,
                A_LIST,
                "",
            )
        ],
    ),
    "an argument with a name": (
        [DATE, [K.LIST], [K.TUPLE], [K.DICT, "a", -2], [K.CALL_KW, -1, -3, -4]],
        [
            (
                1,
                A_LIST,
                "",
            )
        ],
    ),
    "an argument with a name that is none": (
        [DATE, OURS, [K.TUPLE], [K.DICT, -2, 1], [K.CALL_KW, -1, -3, -4]],
        [(1, f"m:A in the arguments of datetime:date, which holds {_ARGUMENTS} alone", "")],
    ),
    "a date of a date": (
        [DATE, [K.CALL, -1, 1], [K.CALL, -1, -2]],
        [
            (
                1,
                A_LIST.replace("a list", "an object of datetime:date"),
                "",
            )
        ],
    ),
    "a class of time zones": (
        [ZONE, DATE, [K.CALL, -2, -1]],
        [(0, f"datetime:timezone in the arguments of datetime:date, which holds {_ARGUMENTS} alone", "")],
    ),
    "a path of None": (
        [[K.GLOBAL, "pathlib", "PurePosixPath"], [K.CALL, -1, None]],
        [(1, "pathlib:PurePosixPath with arguments other than texts and numbers", "pathlib:PurePosixPath")],
    ),
    "a path of something else than text": (
        [[K.GLOBAL, "pathlib", "PurePosixPath"], [K.CALL, -1, "a", None]],
        [(1, "pathlib:PurePosixPath with arguments other than texts and numbers", "pathlib:PurePosixPath")],
    ),
    "an alias of a list": (
        [
            [K.GLOBAL, "types", "GenericAlias"],
            [K.GLOBAL, "builtins", "list"],
            [K.CODEC, HOOKS, None],
            [K.CALL, -1, -3],
        ],
        [
            (
                2,
                f"{A_REGISTRY}, which holds types and plain data alone",
                "",
            )
        ],
    ),
    "a namespace with arguments": (
        [NAMESPACE, [K.CALL, -1, 1]],
        [
            (
                1,
                "types:SimpleNamespace with arguments, although it takes none",
                "types:SimpleNamespace",
            )
        ],
    ),
    "a namespace with keywords": (
        [NAMESPACE, [K.TUPLE], [K.DICT], [K.CALL_KW, -1, -2, -3]],
        [
            (
                3,
                "types:SimpleNamespace with arguments, although it takes none",
                "types:SimpleNamespace",
            )
        ],
    ),
    "a namespace of our own": (
        [NAMESPACE, [K.CALL, -1], OURS, [K.FILL, -2, "a", -3]],
        [(2, "m:A in an object of types:SimpleNamespace, which holds plain data and tensors alone", "")],
    ),
    "attributes of what a call made": (
        [DATE, [K.CALL, -1, 1], [K.FILL, -2, "a", 1]],
        [
            (
                1,
                "an object of datetime:date that is made by a call, and then given attributes",
                "datetime:date",
            )
        ],
    ),
    "attributes of what a call without arguments made": (
        [DATE, [K.CALL, -1], [K.FILL, -2, "a", 1]],
        [
            (
                1,
                "an object of datetime:date that is made by a call, and then given attributes",
                "datetime:date",
            )
        ],
    ),
    "attributes of what is made with arguments": (
        [DATE, [K.NEW, -1, 1], [K.FILL, -2, "a", 1]],
        [
            (
                1,
                "an object of datetime:date that is made by a call, and then given attributes",
                "datetime:date",
            )
        ],
    ),
    "attributes of what a call with keywords made": (
        [DATE, [K.TUPLE], [K.DICT], [K.NEW_KW, -1, -2, -3], [K.FILL, -4, "a", 1]],
        [
            (
                3,
                "an object of datetime:date that is made by a call, and then given attributes",
                "datetime:date",
            )
        ],
    ),
    "attributes of a path": (
        [[K.GLOBAL, "pathlib", "PurePosixPath"], [K.SHAPE, -1, None, "a", "b"], [K.OBJ, -2, 1, 2]],
        [
            (
                2,
                "a, an attribute of pathlib:PurePosixPath, which takes no attributes",
                "pathlib:PurePosixPath",
            )
        ],
    ),
    "attributes of a listed class": (
        [SPARSE, [K.NEW, -1], OURS, [K.FILL, -2, "a", -3]],
        [
            (
                2,
                (
                    "m:A in an object of scipy.sparse:csr_matrix (row of scipy), "
                    "which holds plain data and tensors alone"
                ),
                "",
            )
        ],
    ),
    "the version of a module": (
        [MODULE[0], [K.SHAPE, -1, TORCH, "x", "_version"], [K.LIST], [K.OBJ, -2, -3, -3]],
        [
            (
                3,
                "_version, which would be compared, is a list",
                "torch.nn.modules.activation:ReLU",
            )
        ],
    ),
    "what makes a parameter": (
        [
            [K.TENSOR, "w", "F32", [1], None, 0],
            [K.CODEC, TENSOR, ["Tensor", "float32", "cpu", False], -1],
            [K.LIST],
            [K.FILL, -2, "_is_param", -3, "is_param", -3],
        ],
        [(1, "_is_param, which would be compared, is a list", "")],
    ),
    "a hook of a class": (
        [OURS, [K.SHAPE, -1, HOOK], [K.OBJ, -2]],
        [(2, "a hook, m:A", "m:A")],
    ),
    "a hook of a registry": (
        [[K.CODEC, HOOKS, None], OURS, [K.DICT], [K.FINISH, -1, HOOKS, None, 0, -2, -3]],
        [(0, "a hook (hook), m:A", "m:A")],
    ),
    "two hooks of a registry": (
        [
            OURS,
            [K.CODEC, HOOKS, None],
            [K.GLOBAL, "m", "B"],
            [K.DICT],
            [K.FINISH, -2, HOOKS, None, 0, -1, -4, 1, -3, -4],
        ],
        [(1, "a hook (hook), m:A", "m:A"), (1, "a hook (hook), m:B", "m:B")],
    ),
    "a hook of a module": (hooked("_forward_hooks", [OURS]), [(3, "a hook (_forward_hooks), m:A", "m:A")]),
    "two hooks of a module": (
        [
            OURS,
            [K.GLOBAL, "m", "B"],
            *([MODULE[0], [K.SHAPE, -3, TORCH], [K.OBJ, -4], [K.DICT]]),
            [K.FINISH, -5, TORCH, "hooks", "_forward_hooks", 0, -1, -6, "_backward_hooks", 1, -2, -6],
        ],
        [(4, "a hook (_forward_hooks), m:A", "m:A"), (4, "a hook (_backward_hooks), m:B", "m:B")],
    ),
    "a hook that is a gate": (
        hooked("_forward_hooks", [[K.CODEC, GATE, "_prehook"]]),
        [(3, "a hook (_forward_hooks), an object of the codec 'kellet.gate'", "kellet.nn:Hook")],
    ),
    "a norm as a hook of another kind": (
        hooked("_forward_hooks", normed("w", 0)),
        [
            (
                5,
                "a hook (_forward_hooks), an object of torch.nn.utils.weight_norm:WeightNorm",
                "torch.nn.utils.weight_norm:WeightNorm",
            )
        ],
    ),
    "a norm without attributes as a hook": (
        hooked("_forward_pre_hooks", [NORM, [K.NEW, -1]]),
        [
            (
                4,
                "a hook (_forward_pre_hooks), an object of torch.nn.utils.weight_norm:WeightNorm",
                "torch.nn.utils.weight_norm:WeightNorm",
            )
        ],
    ),
    "a norm of a number for a name": (
        normed(1, 0),
        [
            (
                2,
                "torch.nn.utils.weight_norm:WeightNorm with unknown attributes",
                "torch.nn.utils.weight_norm:WeightNorm",
            )
        ],
    ),
    "a norm with fewer attributes": (
        normed("w", names=("name",)),
        [
            (
                2,
                "torch.nn.utils.weight_norm:WeightNorm with unknown attributes",
                "torch.nn.utils.weight_norm:WeightNorm",
            )
        ],
    ),
    "a norm that is filled": (
        [*normed("w", 0), [K.FILL, -3, "dim", 1]],
        [
            (
                2,
                "torch.nn.utils.weight_norm:WeightNorm with unknown attributes",
                "torch.nn.utils.weight_norm:WeightNorm",
            )
        ],
    ),
    "a state of a module": (
        [*MODULE, OURS, [K.FINISH, -3, TORCH, ["state", False, 0, "w"], -4, None]],
        [(3, "m:A in a state, which holds plain data and tensors alone", "")],
    ),
    "the metadata of a state of a module": (
        [*MODULE, OURS, [K.FINISH, -3, TORCH, ["state", False, 1, 1, "w"], -1, None, -4]],
        [(3, "m:A in the metadata of a state, which holds plain data alone", "")],
    ),
    "the state of an optimiser": (
        [OURS, ORDERED, [K.DICT, "a", -1], [K.CODEC, OPTIMIZER, None, -2, -3]],
        [(0, "m:A in the state of an optimiser, which holds plain data and tensors alone", "")],
    ),
    "a slice of our own": (
        [OURS, [K.CODEC, SLICE, "slice", 1, -1, None]],
        [(0, "m:A in an object of the codec 'slice', which holds plain data and tensors alone", "")],
    ),
    "a state of a listed class": (
        [[K.GLOBAL, "uuid", "UUID"], OURS, [K.NEW, -1], [K.STATE, -3, -2]],
        [(1, "m:A in an object of uuid:UUID, which holds plain data and tensors alone", "")],
    ),
    "a state of a bit generator": (
        [OURS, [K.DICT, "a", -1], [K.CODEC, BITS, "PCG64", -2, None]],
        [
            (
                0,
                A_BIT_GENERATOR,
                "",
            )
        ],
    ),
    "items by a method of a class": (
        [OURS, [K.NEW, -1], [K.EXTEND, -2, 1]],
        [(1, "m:A would be given items by its own method, whose code is not stored", "m:A")],
    ),
    "pairs by a method of a class": (
        [OURS, [K.NEW, -1], [K.UPDATE, -2, 1, 2]],
        [(1, "m:A would be given pairs by its own method, whose code is not stored", "m:A")],
    ),
    "a state by a method of a class": (
        [OURS, [K.NEW, -1], [K.STATE, -2, 1]],
        [(1, "m:A would be given a state by its own method, whose code is not stored", "m:A")],
    ),
    "items of what takes pairs": (
        [[K.GLOBAL, "kellet.nn", "StateDict"], [K.CALL, -1], [K.EXTEND, -2, 1]],
        [
            (
                1,
                "kellet.nn:StateDict would be given items by its own method, whose code is not stored",
                "kellet.nn:StateDict",
            )
        ],
    ),
    "a state of what takes another": (
        [ORDERED, [K.NEW, -1], [K.STATE, -2, 1]],
        [
            (
                1,
                f"collections:OrderedDict {GIVEN}",
                "collections:OrderedDict",
            )
        ],
    ),
}


@one_test
@pytest.mark.parametrize(("records", "found"), REFUSED.values(), ids=REFUSED.keys())
def test_a_form_is_told_with_its_record_and_what_helps(records: list[Any], found: Any) -> None:
    assert forms(records) == found


@one_test
@pytest.mark.parametrize(
    ("records", "trust"),
    [(records, found[0][2]) for records, found in REFUSED.values() if found[0][2]],
    ids=[name for name, (_, found) in REFUSED.items() if found[0][2]],
)
def test_a_name_that_the_caller_vouches_for_excuses_it(records: list[Any], trust: str) -> None:
    assert [form for form in forms(records, trust) if form[2] == trust] == []
