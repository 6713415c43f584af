"""Data alone runs nothing: compositions that once did, or might, are refused, and their twins load."""

from __future__ import annotations

import collections
import functools
import io
import operator
import re
import types
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from typing import Any

import msgpack
import numpy as np
import pytest

import kellet
import kellet.nn.functional as F
import kellet.optim
from kellet import nn
from packager import PackageExporter, verify
from packager._audit import UntrustedNamesError
from packager._objects import EncodedObject, ObjectBuildError
from packager._objects.records import Kind as K
from packager.errors import PackageError
from tests.attacks import object_forger as forge

pytestmark = pytest.mark.processes(share=3)

KELLET = ("kellet", "numpy")


@pytest.fixture
def target(tmp_path: Path) -> Path:
    """The file that attacks try to write."""
    return tmp_path / "written"


def refused(obj: EncodedObject, match: str, **options: Any) -> PackageError:
    """What loading and deep verification say of an object that must not load."""
    with pytest.raises(PackageError) as caught:
        forge.load(forge.archive_of(obj, externs=KELLET), **options)
    forms = getattr(caught.value, "forms", ())  # of which the text lists ten
    assert re.search(match, "\n".join([caught.value.args[0], *map(str, forms)]))
    return caught.value


def loaded(obj: Any, **options: Any) -> Any:
    """An honest object, out of an archive without code."""
    return forge.load(forge.archive_of(forge.encoded(obj), externs=KELLET), **options)


# --- the attacks that succeeded ---


def test_extend_of_a_user_list_calls_nothing(target: Path) -> None:
    refused(forge.extend_on_a_user_list(target), "collections:UserList")
    assert not target.exists()


def test_a_hook_of_an_honest_layer_is_refused_before_the_state_is_loaded(target: Path) -> None:
    model = nn.Linear(2, 2)
    model.register_load_state_dict_pre_hook(forge.trap(target))
    error = refused(forge.encoded(model), r"a hook \(load_pre\), an object of the codec 'functools.partial'")
    assert isinstance(error, UntrustedNamesError)
    assert not target.exists()


def test_an_honest_layer_without_hooks_loads() -> None:
    model = nn.Linear(2, 2)
    assert np.array_equal(loaded(model).weight.detach().numpy(), model.weight.detach().numpy())


LAZY: dict[str, tuple[Callable[[], Any], str]] = {
    "partial of a builtin": (lambda: functools.partial(max, 1), "a partial of builtins:max"),
    "partial of map": (lambda: functools.partial(map, len, [[1]]), "a partial of builtins:map"),
    "partial of a container": (lambda: functools.partial(dict, a=1), "a partial of builtins:dict"),
    "partial of an array over memory": (
        lambda: functools.partial(np.ndarray, (1,), "O"),
        "a partial of numpy:ndarray",
    ),
    "partial of a class of data": (
        lambda: functools.partial(types.SimpleNamespace, a=1),
        "a partial of types:SimpleNamespace",
    ),
    "partial that is handed a function": (
        lambda: functools.partial(F.relu, F.relu),
        "kellet.nn.functional:relu in the arguments of a partial",
    ),
    "partial that is handed a module": (
        lambda: functools.partial(F.relu, inplace=[nn.ReLU()]),
        "an object of kellet.nn:ReLU in the arguments of a partial",
    ),
    "partial in a partial": (
        lambda: functools.partial(F.relu, [functools.partial(F.relu)]),
        "'functools.partial' in the arguments of a partial",
    ),
    "itemgetter": (lambda: operator.itemgetter(0), "operator.itemgetter, which would look up"),
    "attrgetter": (lambda: operator.attrgetter("a.b"), "operator.attrgetter, which would look up"),
    "method bound by hand": (lambda: types.MethodType(F.relu, []), "a bound method, which would be called"),
    "method of a module": (lambda: nn.Linear(1, 1).forward, "kellet.nn:Linear.forward"),
    "factory that is a partial": (
        lambda: collections.defaultdict(functools.partial(F.relu)),
        "a defaultdict whose factory is an object of the codec 'functools.partial'",
    ),
    "factory that is a class": (
        lambda: collections.defaultdict(collections.deque),
        "a defaultdict whose factory is collections:deque",
    ),
    "factory that is a module": (
        lambda: collections.defaultdict(nn.ReLU()),
        "a defaultdict whose factory is an object of kellet.nn:ReLU",
    ),
    "namespace with a function": (
        lambda: types.SimpleNamespace(extend=F.relu),
        "kellet.nn.functional:relu in an object of types:SimpleNamespace",
    ),
    "namespace with a list of functions": (
        lambda: types.SimpleNamespace(a={"b": [(F.relu,)]}),
        "kellet.nn.functional:relu in an object of types:SimpleNamespace",
    ),
    "namespace with a module": (
        lambda: types.SimpleNamespace(a=nn.ReLU()),
        "an object of kellet.nn:ReLU in an object of types:SimpleNamespace",
    ),
    "user list": (lambda: collections.UserList([1]), "collections:UserList"),
    "user dict": (lambda: collections.UserDict(a=1), "collections:UserDict"),
    "user string": (lambda: collections.UserString("a"), "collections:UserString"),
    "concrete path": (lambda: Path("/etc/passwd"), "pathlib:PosixPath"),
    "path as a class": (lambda: [Path], "pathlib:Path"),
    "hook as an object": (lambda: nn.Hook(posthook=F.relu), "a hook, kellet.nn:Hook"),
    "function as a forward hook": (lambda: _hooked("register_forward_hook"), r"a hook \(forward\)"),
    "class as a hook": (lambda: _hooked("register_forward_pre_hook", dict), r"a hook \(forward_pre\)"),
}


def _hooked(register: str, hook: Any = F.relu) -> nn.Module:
    model = nn.ReLU()
    getattr(model, register)(hook)
    return model


@pytest.mark.parametrize(("make", "match"), LAZY.values(), ids=LAZY.keys())
def test_what_could_be_called_later_is_refused_and_said_in_the_plan(
    make: Callable[[], Any], match: str
) -> None:
    made = forge.encoded([make()])
    refused(made, match)
    file = forge.archive_of(made, externs=KELLET)
    (problem,) = [one.message for one in verify(file, deep=True).problems]
    assert "in it" in problem
    exporter = PackageExporter(io.BytesIO(), policy="auto", prove=False)
    exporter.save_object("m", "o", [make()])
    assert [one for one in exporter.plan().warnings if "loaders" in one] != []


HONEST: dict[str, Callable[[], Any]] = {
    "partial of a layer": lambda: functools.partial(nn.LayerNorm, eps=1e-6),
    "partial of a function of ours": lambda: functools.partial(F.softmax, dim=-1),
    "partial of numpy": lambda: functools.partial(np.clip, a_min=0.0, a_max=[1.0, 2]),
    "partial with a tensor": lambda: functools.partial(F.relu, kellet.ones(2)),
    "partial with a dtype": lambda: functools.partial(np.asarray, dtype=np.dtype("f4")),
    "partial with a type of scalars": lambda: functools.partial(np.asarray, dtype=np.float32),
    **{
        f"defaultdict of {factory and factory.__name__}": functools.partial(collections.defaultdict, factory)
        for factory in (None, int, float, str, bool, list, dict, set, tuple)
    },
    "namespace of plain data": lambda: types.SimpleNamespace(a=1, b=[types.SimpleNamespace(c=(2, "d"))]),
    "pure path": lambda: PurePosixPath("/etc/passwd"),
    "listed functions": lambda: [np.exp, F.relu, max, len],
    "polynomials": lambda: [np.poly1d([1, 2]), np.polynomial.Chebyshev([1, 2], domain=[0, 2])],
    "generic alias": lambda: dict[str, list[int]],
    "ordered": lambda: collections.OrderedDict(a=nn.ReLU()),
    "a mark": lambda: {"missing": object()},
    **(
        {"strings": lambda: np.array(["a", None], np.dtypes.StringDType(na_object=None))}
        if hasattr(np.dtypes, "StringDType")  # NumPy 2
        else {}
    ),
    "deque of modules": lambda: collections.deque([nn.ReLU()], maxlen=2),
    "optimiser": lambda: kellet.optim.AdamW([nn.Parameter(kellet.ones(2))], lr=0.1),
    "sequential": lambda: nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2), nn.MultiheadAttention(2, 1)),
}


@pytest.mark.parametrize("make", HONEST.values(), ids=HONEST.keys())
def test_honest_twins_load_from_data_alone(make: Callable[[], Any]) -> None:
    value = make()
    found = loaded([value])[0]
    assert type(found) is type(value)
    if isinstance(value, functools.partial):
        assert (found.func, repr(found.args), repr(found.keywords)) == (
            value.func,
            repr(value.args),
            repr(value.keywords),
        )
    elif isinstance(value, collections.defaultdict):
        assert found.default_factory is value.default_factory
    elif isinstance(value, (types.SimpleNamespace, PurePosixPath)):
        assert found == value


def test_names_that_the_caller_trusts_are_granted_in_these_forms_too(target: Path) -> None:
    assert loaded(functools.partial(max, 1), trust=("builtins:max",))(2) == 2
    assert loaded(Path("/etc"), trust=("pathlib:PosixPath",)) == Path("/etc")
    assert loaded(collections.defaultdict(collections.deque), trust=("collections:deque",))["x"] is not None
    hooked = loaded(_hooked("register_forward_pre_hook", F.relu), trust=("kellet.nn.functional:relu",))
    assert len(hooked._call_hooks.forward_pre) == 1
    names = ("operator:attrgetter", "collections:UserList", "builtins:max", "builtins:map", "builtins:dict")
    with pytest.raises(UntrustedNamesError):  # a getter stays refused, whatever is trusted
        loaded([forge.writing(target)], trust=(*names, "pathlib:PosixPath"))
    assert not target.exists()


# --- attributes in the place of what a class does ---

SHADOWS = {
    "forward": "forward of Linear is a function",
    "state_dict": "state_dict of Linear is a function",
    "_load_from_state_dict": "_load_from_state_dict of Linear is a function",
    "load_state_dict": "load_state_dict of Linear is a function",
    "__class__": "__class__ of Linear is a getset_descriptor",
    "__reduce__": "__reduce__ of Linear is a method_descriptor",
    "__setstate__": "__setstate__ of Linear is a function",
    "__dict__": "__dict__ of Linear is a getset_descriptor",
    "__getattr__": "__getattr__ of Linear is a function",
    "_call_hooks": "_call_hooks of Linear hold hooks",
    "_state_hooks": "_state_hooks of Linear hold hooks",
}


def _with_attribute(name: str, *value: list[Any], obj: Any = None) -> EncodedObject:
    """A layer whose object has one more attribute: what the given records make."""

    def change(codecs: list[Any], records: forge.Records) -> None:
        records += [list(record) for record in value]
        at = len(records)
        records.append([K.FILL, records_root, name, -at])

    made = forge.encoded(nn.Linear(1, 1) if obj is None else obj)
    records_root = msgpack.unpackb(made.records)[2]
    return forge.with_records(made, change)


@pytest.mark.parametrize(("name", "match"), SHADOWS.items())
def test_nothing_takes_the_place_of_what_a_module_does(name: str, match: str) -> None:
    error = refused(_with_attribute(name, [K.GLOBAL, "kellet.nn.functional", "relu"]), match)
    assert isinstance(error, ObjectBuildError)


def test_other_attributes_of_a_module_may_be_what_they_like() -> None:
    made = _with_attribute("activation", [K.GLOBAL, "kellet.nn.functional", "relu"])
    assert forge.load(forge.archive_of(made, externs=KELLET)).activation is F.relu


@pytest.mark.parametrize(
    ("name", "records", "match"),
    [
        ("training", [[K.STR, "x" * 100]], "training is str, not a bool"),
        ("_modules", [[K.PACKED_DICT, "a", 1]], "must be modules with names"),
        ("_modules", [[K.PACKED_LIST]], "no dict of submodules|must be modules with names|has no attribute"),
        ("_parameters", [[K.PACKED_DICT, "a", 1]], "parameters or buffers that are not tensors"),
        ("_buffers", [[K.PACKED_LIST, 1]], "parameters or buffers without a name"),
    ],
)
def test_the_tables_of_a_module_hold_what_they_are_for(name: str, records: forge.Records, match: str) -> None:
    refused(_with_attribute(name, *records), match)


def test_the_factory_of_a_defaultdict_cannot_be_changed_afterwards() -> None:
    records = [
        [K.GLOBAL, "builtins", "list"],
        [K.CODEC, 1, "defaultdict", -1],
        [K.GLOBAL, "kellet.nn.functional", "relu"],
        [K.FILL, -2, "default_factory", -3],
    ]
    made = forge.table_of(records, root=-2, codecs=["collections.mapping"])
    refused(made, "default_factory of defaultdict is a member_descriptor")


def test_attributes_of_tensors_do_not_take_the_place_of_their_methods() -> None:
    parameter = nn.Parameter(kellet.ones(1))
    honest = _with_attribute("label", [K.STR, "y" * 70], obj=parameter)
    assert forge.load(forge.archive_of(honest, externs=KELLET)).label == "y" * 70
    shadow = _with_attribute("detach", [K.GLOBAL, "kellet.nn.functional", "relu"], obj=parameter)
    refused(shadow, "detach of Parameter is a function")


@pytest.mark.parametrize(
    "records",
    [
        [[K.GLOBAL, "kellet.nn", "Linear"], [K.SHAPE, -1, None, "_state_hooks"], [K.OBJ, -2, None]],
        [[K.GLOBAL, "kellet.nn", "Linear"], [K.NEW, -1]],
        [[K.GLOBAL, "kellet.optim", "SGD"], [K.SHAPE, -1, None, "_step_pre"], [K.OBJ, -2, None]],
    ],
    ids=["module", "module by new", "optimiser"],
)
def test_a_class_that_a_codec_knows_is_made_by_that_codec(records: forge.Records) -> None:
    refused(forge.table_of(records), "that makes it")


@pytest.mark.parametrize(
    ("state", "match"),
    [
        ({"_step_pre": []}, "may only have defaults, param_groups, state"),
        ({"step": F.relu}, "kellet.nn.functional:relu in the state of an optimiser"),
        ({"defaults": {"lr": nn.ReLU()}}, "an object of kellet.nn:ReLU in the state of an optimiser"),
        ({"defaults": [1]}, "the defaults of SGD must be options by name"),
        ({"param_groups": [1]}, "the groups of SGD must be lists of tensors"),
        ({"param_groups": {}}, "the groups of SGD must be lists of tensors"),
        ({"state": {"a": {}}}, "the state of SGD must be a dict by tensor"),
        ({"state": [1]}, "the state of SGD must be a dict by tensor"),
    ],
)
def test_the_state_of_an_optimiser_is_what_its_class_relies_on(state: dict[str, Any], match: str) -> None:
    honest = kellet.optim.SGD([nn.Parameter(kellet.ones(2))], lr=0.1)
    assert loaded(honest).param_groups[0]["lr"] == 0.1
    made = forge.encoded([{**honest.__getstate__(), **state}])
    codecs, records, _ = msgpack.unpackb(made.records)
    codecs.append(["kellet.optimizer", 1])
    (_, held) = records[-1]
    records[-1] = [K.GLOBAL, "kellet.optim", "SGD"]
    records.append([K.CODEC, len(codecs) - 1, None, -len(records), held])
    refused(EncodedObject(msgpack.packb([codecs, records, -len(records)]), made.storages, ()), match)


def test_a_handle_belongs_to_a_module() -> None:
    records = [
        [K.CODEC, 1, None],
        [K.GLOBAL, "types", "SimpleNamespace"],
        [K.CALL, -2],
        [K.FINISH, -1, 1, ["forward", 0], -3],
    ]
    refused(
        forge.table_of(records, root=-1, codecs=["kellet.handle"]),
        "SimpleNamespace has no hooks: it is not a module",
    )


def test_dtypes_and_strings_are_made_of_plain_data() -> None:
    records = [
        [K.GLOBAL, "kellet.nn", "ReLU"],
        [K.SHAPE, -1, 1],
        [K.OBJ, -2],
        [K.CODEC, 2, ["string", True, True], -3],
    ]
    refused(
        forge.table_of(records, codecs=["kellet.module", "numpy.dtype"]),
        "an object of kellet.nn:ReLU in an object of the codec 'numpy.dtype'",
    )
    elements = [
        [K.GLOBAL, "kellet.nn", "ReLU"],
        [K.SHAPE, -1, 1],
        [K.OBJ, -2],
        [K.CODEC, 2, ["string", True, False]],
        [K.CODEC, 3, ["ndarray", "elements", 1], -4, -3],
    ]
    codecs = ["kellet.module", "numpy.dtype", "numpy.ndarray"]
    refused(forge.table_of(elements, codecs=codecs), "an object of kellet.nn:ReLU in an array of strings")
