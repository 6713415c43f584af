"""What data alone may hold, what stored code allows beside it, and how far holders of data are looked at."""

from __future__ import annotations

from typing import Any

import pytest

from packager._audit import TrustContext
from packager._objects.records import Kind as K
from tests.objects.test_forms import (
    BITS,
    DATE,
    ENUM,
    HOOKS,
    MAPPING,
    METHOD,
    MODULE,
    NAMED,
    NAMESPACE,
    ORDERED,
    OURS,
    PARTIAL,
    RELU,
    SEEDS,
    SLICE,
    SPARSE,
    SPECTRAL,
    TENSOR,
    TORCH,
    ZONE,
    forms,
    hooked,
    normed,
)
from tests.tables import one_test

HARMLESS: dict[str, list[Any]] = {
    "a partial of a function": [RELU, [K.TUPLE, 1], [K.DICT, "a", 2], [K.CODEC, PARTIAL, None, -1, -2, -3]],
    "a partial of a class of modules": [MODULE[0], [K.TUPLE], [K.DICT], [K.CODEC, PARTIAL, None, -1, -2, -3]],
    "a mapping without a factory": [[K.CODEC, MAPPING, "Counter"]],
    "a factory of None": [[K.CODEC, MAPPING, "defaultdict", None]],
    "a factory of lists": [[K.GLOBAL, "builtins", "list"], [K.CODEC, MAPPING, "defaultdict", -1]],
    "a factory of counts": [[K.GLOBAL, "collections", "Counter"], [K.CODEC, MAPPING, "defaultdict", -1]],
    "a factory of nothing": [[K.GLOBAL, "types", "NoneType"], [K.CODEC, MAPPING, "defaultdict", -1]],
    "a date": [DATE, [K.TUPLE, 1], [K.BYTES, b"x"], [K.CALL, -1, 1, -2, -3]],
    "a path": [[K.GLOBAL, "pathlib", "PurePosixPath"], [K.STR, "x" * 65], [K.CALL, -1, "a", -2]],
    "an empty namespace": [NAMESPACE, [K.CALL, -1], [K.LIST, 1], [K.FILL, -2, "a", -3]],
    "an alias": [[K.GLOBAL, "types", "GenericAlias"], OURS, [K.TUPLE, -2], [K.CALL, -1, -2, -3]],
    "the version of a module": [MODULE[0], [K.SHAPE, -1, TORCH, "_version"], [K.OBJ, -2, 2]],
    "an attribute of a module": [MODULE[0], [K.SHAPE, -1, TORCH, "version"], [K.LIST], [K.OBJ, -2, -3]],
    "a norm": hooked("_forward_pre_hooks", normed("w", 0)),
    "a spectral norm": [
        SPECTRAL,
        [K.SHAPE, -1, None, "name", "dim", "n_power_iterations", "eps"],
        [K.OBJ, -2, "w", 0, 1, 0.5],
        [K.GLOBAL, "torch.nn.utils.spectral_norm", "SpectralNormStateDictHook"],
        [K.SHAPE, -4, None, "fn"],
        [K.OBJ, -5, -3],
    ],
    "a time zone": [
        [K.GLOBAL, "datetime", "timedelta"],
        [K.CALL, -1, 0, 60],
        ZONE,
        [K.CALL, -3, -2],
        DATE,
        [K.CALL, -5, 1, -4],
    ],
    "a state of a module of its class": [*MODULE, [K.DICT], [K.STATE, -3, -4]],
    "a bit generator": [
        [K.DICT],
        [K.TUPLE],
        [K.CODEC, SEEDS, [4, 0], 1, -2],
        [K.CODEC, BITS, "PCG64", -1, -3],
    ],
    "a natural state": [*MODULE, [K.FINISH, -3, TORCH, ["state", True, 0]]],
    "a state": [*MODULE, [K.DICT], [K.FINISH, -3, TORCH, ["state", False, 0, "w"], 1, -4]],
    "a state of a UUID": [[K.GLOBAL, "uuid", "UUID"], [K.NEW, -1], [K.DICT], [K.STATE, -2, -3]],
    "pairs of a state dict": [[K.GLOBAL, "kellet.nn", "StateDict"], [K.NEW, -1], [K.UPDATE, -2, "a", 2]],
    "attributes of what is made without arguments": [ORDERED, [K.NEW, -1], [K.FILL, -2, "a", 1]],
}


@one_test
@pytest.mark.parametrize("records", HARMLESS.values(), ids=HARMLESS.keys())
def test_what_calls_nothing_is_no_form(records: list[Any]) -> None:
    assert forms(records) == []


def test_beside_stored_code_only_methods_of_externs_are_forms() -> None:
    context = TrustContext.with_code(["m"])
    for kind in (K.EXTEND, K.UPDATE, K.STATE):
        given = [kind, -2, *((1, 2) if kind == K.UPDATE else (1,))]
        assert forms([OURS, [K.NEW, -1], given], context=context) == []
        other = forms([[K.GLOBAL, "far", "A"], [K.NEW, -1], given], context=context)
        assert [(index, trust) for index, _, trust in other] == [(1, "far:A")]
    assert forms([OURS, [K.CODEC, METHOD, None, -1, 1]], context=context) == []


@pytest.mark.parametrize("module", ["pathlib:PurePosixPath", "ipaddress:IPv4Interface"])
def test_beside_stored_code_paths_and_addresses_are_made_of_texts_too(module: str) -> None:
    """They ask their arguments for `__fspath__` and `__str__`, of which an extern has its own."""
    context, name = TrustContext.with_code(["m"]), [K.GLOBAL, *module.split(":")]
    foreign = [[K.GLOBAL, "far", "A"], [K.SHAPE, -1, None], [K.OBJ, -2]]
    given = [[K.CALL, -4, -3], [K.CALL, -4, "a", -3], [K.NEW, -4, -3]]
    named: list[list[Any]] = [[K.TUPLE, -3], [K.DICT], [K.CALL_KW, -4, -5, -6]]
    for records in (*([one] for one in given), named):
        (form,) = forms([*foreign, name, *records], context=context)
        assert form[1:] == (f"{module} with arguments other than texts and numbers", module)
        assert forms([*foreign, name, *records], module, context=context) == []
    assert forms([name, [K.STR, "x" * 65], [K.CALL, -1, "a", -2], [K.CALL, -1, 3]], context=context) == []


MATRIX = [SPARSE, [K.SHAPE, -1, None, "a"]]
HELD: dict[str, tuple[list[Any], list[int]]] = {
    "what is plain": ([[K.LIST, 1], [K.TUPLE, -1], [K.DICT, "a", -2], [K.SET], [K.FROZENSET, 1]], []),
    "leaves": (
        [[K.INT, -1], [K.STR, "x" * 65], [K.BYTES, b""], [K.PACKED_LIST, 1], [K.LIST, -1, -2, -3, -4]],
        [],
    ),
    "a class": ([OURS], [0]),
    "a class twice": ([OURS, [K.LIST, -1, -1]], [0]),
    "a class below a dict": ([OURS, [K.TUPLE, -1], [K.DICT, -2, 1]], [0]),
    "a class that a list is given later": ([OURS, [K.LIST], [K.EXTEND, -2, -1], [K.LIST, -2]], [0]),
    "a class that a list is given last": ([OURS, [K.LIST], [K.EXTEND, -2, 1, -1], [K.LIST, -2]], [0]),
    "a slice": ([[K.CODEC, SLICE, "slice", 1, 2, 3]], []),
    "a mapping of a class": ([OURS, [K.CODEC, MAPPING, "Counter"], [K.UPDATE, -2, 1, -1], [K.LIST, -2]], [0]),
    "a member": ([OURS, [K.CODEC, ENUM, "x", -1]], []),
    "a factory": ([[K.GLOBAL, "builtins", "list"], [K.CODEC, MAPPING, "defaultdict", -1]], []),
    "a named tuple": ([OURS, [K.CODEC, NAMED, None, -1, 1, 2]], []),
    "a named tuple of a class": ([OURS, [K.GLOBAL, "m", "B"], [K.CODEC, NAMED, None, -1, -2]], [1]),
    "a slice of a class": ([OURS, [K.CODEC, SLICE, "slice", -1, 2, 3]], [0]),
    "a tensor": (
        [[K.TENSOR, "w", "F32", [1], None, 0], [K.CODEC, TENSOR, ["Tensor", "float32", "cpu", False], -1]],
        [],
    ),
    "a hook registry": ([[K.CODEC, HOOKS, None]], [0]),
    "a date": ([DATE, [K.CALL, -1, 1, 2, 3]], []),
    "a date of a class": ([OURS, DATE, [K.CALL, -2, -1]], [0, 0]),
    "a matrix": ([*MATRIX, [K.LIST], [K.OBJ, -2, -3]], []),
    "a matrix of a class": ([*MATRIX, OURS, [K.OBJ, -2, -3]], [2]),
    "a module": (MODULE, [2]),
    "what a codec makes of a listed class": ([DATE, [K.SHAPE, -1, TORCH], [K.OBJ, -2]], [2]),
    "an object of our own": ([OURS, [K.SHAPE, -1, None], [K.OBJ, -2]], [2]),
    "an object of our own that is called": ([OURS, [K.CALL, -1]], [1]),
    "a method": ([OURS, [K.NEW, -1], [K.METHOD, -2, "f"]], [2]),
}


@one_test
@pytest.mark.parametrize(("records", "found"), HELD.values(), ids=HELD.keys())
def test_what_a_holder_of_data_holds_is_looked_at_to_its_end(records: list[Any], found: list[int]) -> None:
    last = max(at for at, record in enumerate(records) if record[0] < K.FILL)
    holder = [NAMESPACE, [K.CALL, -1 - len(records)], [K.FILL, -2 - len(records), "a", -1 - last]]
    assert sorted(index for index, _, _ in forms([*records, *holder])) == found


def test_what_the_caller_vouches_for_is_plain() -> None:
    for made in ([K.NEW, -1], [K.CALL, -1], [K.SHAPE, -1, None]):
        records = [OURS, made, *([[K.OBJ, -2]] if made[0] == K.SHAPE else [])]
        holder = [NAMESPACE, [K.CALL, -1 - len(records)], [K.FILL, -2 - len(records), "a", -len(records)]]
        assert forms([*records, *holder], "m:A") == []
        assert forms([*records, *holder], "m:*") != []  # a glob vouches for no call
