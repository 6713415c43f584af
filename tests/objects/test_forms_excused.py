"""Whom the caller trusts, and what that excuses: the very name, or a class among those of a glob."""

from __future__ import annotations

from typing import Any

import pytest

from packager._audit import TrustContext
from packager._objects.records import Kind as K
from tests.objects.test_forms import (
    ARRAY,
    DATE,
    DTYPE,
    HOOK,
    MODULE,
    NORM,
    OPTIMIZER,
    ORDERED,
    OURS,
    SPARSE,
    SPECTRAL,
    TENSOR,
    TORCH,
    forms,
    normed,
)
from tests.tables import one_test

FAR = [K.GLOBAL, "far.models", "Far"]
OPTIM = [K.GLOBAL, "torch.optim.sgd", "SGD"]
STATE = ["state", False, 0, "w"]

# Records, the indices of what is refused, the name that excuses it, and whether a glob of classes does.
EXCUSED: dict[str, tuple[list[Any], list[int], str, bool]] = {
    "the state of an optimiser": (
        [OURS, OPTIM, [K.DICT, "a", -1], [K.CODEC, OPTIMIZER, None, -2, -3]],
        [0],
        "torch.optim.sgd:SGD",
        True,
    ),
    "attributes of a listed class": (
        [OURS, SPARSE, [K.SHAPE, -2, None, "a"], [K.OBJ, -3, -1]],
        [0],
        "scipy.sparse:csr_matrix",
        True,
    ),
    "pairs of a listed class": (
        [OURS, ORDERED, [K.NEW, -2], [K.UPDATE, -3, 1, -1]],
        [2],
        "collections:OrderedDict",
        True,
    ),
    "a state of a module": (
        [*MODULE[:2], OURS, [K.OBJ, -2], [K.FINISH, -4, TORCH, STATE, -3, None]],
        [2],
        "torch.nn.modules.activation:ReLU",
        True,
    ),
    "items of a class of ours": ([OURS, [K.NEW, -1], [K.EXTEND, -2, 1]], [1], "m:A", False),
    "items of a class of a package": (
        [FAR, [K.NEW, -1], [K.EXTEND, -2, 1]],
        [1],
        "far.models:Far",
        True,
    ),
    "an argument of a call": (
        [DATE, [K.LIST], [K.CALL, -1, -2]],
        [1],
        "datetime:date",
        False,
    ),
    "a class that is an argument": ([DATE, OURS, [K.CALL, -1, -2]], [1], "m:A", False),
    "an object that is an argument": ([DATE, OURS, [K.NEW, -2], [K.CALL, -1, -3]], [2], "m:A", False),
    "a norm with other attributes": (normed(1, 0), [2], "torch.nn.utils.weight_norm:WeightNorm", True),
    "a version that is compared": (
        [OURS, MODULE[0], [K.SHAPE, -2, TORCH, "_version"], [K.OBJ, -3, -1]],
        [3],
        "torch.nn.modules.activation:ReLU",
        False,
    ),
    "a hook": ([OURS, [K.SHAPE, -1, HOOK], [K.OBJ, -2]], [2], "m:A", False),
    "what is made by a call and changed": (
        [DATE, [K.CALL, -1, 1, 2, 3], [K.FILL, -2, "a", 1]],
        [1],
        "datetime:date",
        True,
    ),
}


@one_test
@pytest.mark.parametrize(("records", "refused", "name", "by_glob"), EXCUSED.values(), ids=[*EXCUSED])
def test_trust_excuses_what_it_names(
    records: list[Any], refused: list[int], name: str, by_glob: bool
) -> None:
    module, _, qualname = name.partition(":")
    top = module.partition(".")[0]
    assert [index for index, _, _ in forms(records)] == refused
    assert forms(records, name) == []
    if "." in module:
        glob = forms(records, f"{top}.**:{qualname}")
        assert (glob == []) is by_glob
    assert [index for index, _, _ in forms(records, f"{module}:Other")] == refused


def test_what_is_made_of_attributes_is_no_argument_whoever_is_trusted() -> None:
    made = [DATE, OURS, [K.SHAPE, -2, None], [K.OBJ, -3], [K.CALL, -1, -4]]
    assert [index for index, _, _ in forms(made, "m:A")] == [3]


ATTRIBUTES: list[tuple[int | None, str, bool]] = [
    (TORCH, "_version", True),
    (TORCH, "_versions", False),
    (TENSOR, "_is_param", True),
    (TENSOR, "is_param", False),
    (None, "_version", False),
]


@pytest.mark.parametrize(("codec", "attribute", "refused"), ATTRIBUTES)
def test_attributes_that_a_framework_compares_hold_no_objects(
    codec: int | None, attribute: str, refused: bool
) -> None:
    made = [*MODULE[:1], [K.SHAPE, -1, codec, attribute], [K.LIST], [K.OBJ, -2, -3]]
    if codec == TENSOR:
        made = [*MODULE[:1], [K.LIST], [K.TENSOR, "w", "F32", [1], None, 0]]
        made += [[K.CODEC, TENSOR, ["Tensor", "float32", "cpu", False], -3], [K.FILL, -4, attribute, -2]]
    found = forms(made)
    assert (len(found) == 1) is refused


def test_the_norms_that_frameworks_hook_are_of_plain_values() -> None:
    assert forms(normed("w", 0)) == []
    for values in ((1, 0), ("w", "0"), ("w", True), ("w", 0.5), (b"w"[0:0] or None, 0)):
        assert [index for index, _, _ in forms(normed(*values))] == [2]
    names = ("name", "dim", "more")
    assert [index for index, _, _ in forms(normed("w", 0, 1, names=names))] == [2]
    called = [NORM, [K.NEW, -1], [K.FILL, -2, "name", "w", "dim", 0]]
    assert [index for index, _, _ in forms(called)] == [1]


def test_the_hook_of_a_state_belongs_to_a_spectral_norm() -> None:
    values = {"name": "w", "dim": 0, "n_power_iterations": 1, "eps": 0.5}
    norm = [SPECTRAL, [K.SHAPE, -1, None, *values], OURS, [K.OBJ, -2, *values.values()]]
    other = [[K.SHAPE, -3, None], [K.OBJ, -5]]
    hook = [[K.GLOBAL, SPECTRAL[1], "SpectralNormStateDictHook"], [K.SHAPE, -7, None, "fn"]]
    for fn, refused in ((-4, []), (-6, [8]), (-1, [8]), (1, [8])):
        found = forms([*norm, *other, *hook, [K.OBJ, -8, fn]])
        assert [index for index, _, _ in found] == refused


def test_beside_code_a_stored_class_takes_what_it_is_given_and_an_extern_does_not() -> None:
    for kind, given in ((K.EXTEND, [1]), (K.UPDATE, [1, 2]), (K.STATE, [1])):
        filled = [[K.NEW, -1], [kind, -2, *given]]
        assert forms([OURS, *filled], context=TrustContext.with_code(["m"])) == []
        (found,) = forms([OURS, *filled], context=TrustContext.with_code(["n"], ["m"]))
        assert (found[0], found[2]) == (1, "m:A")
        assert forms([OURS, *filled], "m:A", context=TrustContext.with_code(["n"], ["m"])) == []
    beside = TrustContext.with_code(["m"])
    for kind, given in ((K.EXTEND, [1]), (K.UPDATE, [1, 2])):
        assert forms([SPARSE, [K.NEW, -1], [kind, -2, *given]], context=beside) == []
        assert len(forms([SPARSE, [K.NEW, -1], [kind, -2, *given]])) == 1
    given_state = [[K.NEW, -1], [K.STATE, -2, 1]]
    for name, alone in (("SVC", []), ("Other", [1])):
        sklearn = [K.GLOBAL, "sklearn.svm", name]
        assert forms([sklearn, *given_state], context=TrustContext.with_code(["n"], ["sklearn"])) == []
        assert [index for index, _, _ in forms([sklearn, *given_state])] == alone


@pytest.mark.parametrize(("dtype", "refused"), [("|O", []), (["string", True, False], [0])])
def test_an_array_of_strings_holds_plain_data_and_one_of_objects_what_it_likes(
    dtype: Any, refused: list[int]
) -> None:
    array = [K.CODEC, ARRAY, ["ndarray", "elements", 2], -2, 1, -1]
    assert [index for index, _, _ in forms([OURS, [K.CODEC, DTYPE, dtype], array])] == refused
