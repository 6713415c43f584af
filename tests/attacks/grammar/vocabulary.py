"""What graphs are composed of: listed names, classes that can be created, literals, honest tables."""

from __future__ import annotations

import array
import collections
import datetime
import decimal
import enum
import fractions
import functools
import importlib
import importlib.util
import pathlib
import random
import re
import string
import types
import uuid
import warnings
import zoneinfo
from collections.abc import Callable, Iterator
from typing import Any

import msgpack
import numpy as np

import kellet
import kellet.nn.functional as F
import kellet.optim
from kellet import nn
from packager._audit.resolve import resolve_name
from packager._codecs import default_registry, standard_values
from packager._libraries.scikit_learn import FUNCTIONS as LISTED_FUNCTIONS
from packager._libraries.scikit_learn import LEARNED
from packager._objects import encode

from . import listed_names as default_names
from .table import STORAGE_SIZE, K, Records

try:
    import torch
except ImportError:
    torch = None

CODECS = tuple(codec.name for codec in default_registry())


def _there(table: dict[str, str]) -> list[tuple[str, str]]:
    """Return the names of a table that exist here, by module and qualified name."""
    found = []
    for module, names in table.items():
        for name in names.split():
            try:
                with warnings.catch_warnings():  # NumPy 1.26 warns of names that it does not have yet
                    warnings.simplefilter("ignore", FutureWarning)
                    resolve_name(importlib.import_module(module), name)
            except (ImportError, AttributeError):
                continue
            found.append((module, name))
    return found


def _family(*modules: str, wanted: Callable[[Any], bool]) -> list[tuple[str, str]]:
    """Return the public names of modules that are what is wanted, by the module that is at home there."""
    found = set()
    for module in modules:
        try:
            home = importlib.import_module(module)
        except ImportError:
            continue
        for name, value in vars(home).items():
            if not name.startswith("_") and wanted(value):
                found.add((module, name))
    return sorted(found)


def _is_class_below(*bases: Any) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, type) and issubclass(value, bases)


VALUES = _there(default_names.VALUES) + _there(LISTED_FUNCTIONS)
CALLED = _there(default_names.CALLED)
FAMILY = _there({**LEARNED.tables.homes}) + _there(default_names.FAMILY_PARTS)
C_PARTS = _there(default_names.FAMILY_CALLED)
C_CLASSES = _there(default_names.FAMILY_VALUES)
CREATED = _there(default_names.CREATED)
FUNCTIONS = _family(
    "kellet.nn.functional",
    "torch.nn.functional",
    wanted=lambda value: isinstance(value, (types.FunctionType, types.BuiltinFunctionType)),
)
EXCEPTIONS = [name for name in default_names.EXCEPTIONS.split() if "Unicode" not in name]
ZONES = [zoneinfo.ZoneInfo(key) for key in ("UTC", "Europe/Paris")]
"""Kept, so that no file is read where a graph has one of them."""
standard_values._zones_here()
regex = importlib.import_module("regex") if importlib.util.find_spec("regex") else None
HAS_REGEX = regex is not None
MODULES = {
    "kellet.module": _family("kellet.nn", wanted=_is_class_below(nn.Module)),
    **(
        {}
        if torch is None
        else {"torch.module": _family("torch.nn.modules", wanted=_is_class_below(torch.nn.Module))}
    ),
}
# Of those that hold others, or take up a state, in a way of their own.
IN_THEIR_OWN_WAY = """
    Sequential ModuleList ModuleDict ParameterList ParameterDict BatchNorm1d MultiheadAttention
    RNN LSTM GRU RNNCell LSTMCell GRUCell Conv1d Transformer TransformerEncoderLayer Identity
""".split()
OWN_WAYS = {
    codec: [pair for pair in pairs if pair[1] in IN_THEIR_OWN_WAY] for codec, pairs in MODULES.items()
}
OPTIMIZERS = {
    "kellet.optimizer": _family("kellet.optim", wanted=_is_class_below(kellet.optim.Optimizer)),
    **(
        {}
        if torch is None
        else {"torch.optimizer": _family("torch.optim", wanted=_is_class_below(torch.optim.Optimizer))}
    ),
}
SCHEDULERS = (
    []
    if torch is None
    else _family("torch.optim.lr_scheduler", wanted=_is_class_below(torch.optim.lr_scheduler.LRScheduler))
)
NAMES = frozenset(VALUES + CALLED + CREATED + FUNCTIONS + SCHEDULERS + FAMILY + C_PARTS + C_CLASSES).union(
    *MODULES.values(), *OPTIMIZERS.values()
)
"""Every listed name that exists here."""
SORTED_NAMES = sorted(NAMES)

HOSTILE = [
    tuple(name.split(":"))
    for name in """
    os:system subprocess:Popen builtins:eval builtins:exec builtins:getattr builtins:open
    builtins:__import__ operator:attrgetter functools:partial functools:reduce types:FunctionType
    types:MethodType copyreg:__newobj__ collections:UserList collections:UserDict collections:UserString
    pathlib:Path pathlib:PosixPath argparse:Namespace mailbox:MH dummy:Thing outside:Thing outside:Items
    outside:Pairs outside:Number outside:Dying outside:function net:Plain net:Layer net:function
    shelve:DbfilenameShelf logging:FileHandler sklearn.svm:SVC weakref:finalize numpy:load torch:load
    torch.nn:ScriptModule kellet.nn.module:Module kellet.hooks:HookRegistry numpy.ma:MaskedArray
    enum:Enum builtins:classmethod pathlib:PosixPath dummy:function mailbox:Mailbox torch.nn:Linear
    """.split()
]

SCALARS: list[Any] = [
    *(None, True, False, 0, 1, 2, 3, 7, 2**31, 2**63, 2**64 - 1, 2**70, -1, -2, -(2**63), -(2**80)),
    *(
        0.0,
        -0.0,
        1.5,
        float("inf"),
        float("nan"),
        "",
        "a",
        "weight",
        "x" * 70,
        "\ud800",
        b"",
        b"ab",
        b"\x00" * 70,
    ),
]
KEYS: list[Any] = ["a", "b", "weight", "0", "key", 0, 1, 2.5, None, True, b"k"]

HONEST_ATTRIBUTES = ["width", "label", "in_features", "out_features", "eps", "dim", "p", "lr", "data", "note"]
MODULE_ATTRIBUTES = """
    training _parameters _buffers _modules _non_persistent_buffers_set _version _call_hooks _state_hooks
    _forward_hooks _load_state_dict_pre_hooks
""".split()
ODD_ATTRIBUTES = """
    forward __class__ __dict__ __call__ __len__ __eq__ __hash__ __iter__ __bool__ __index__ __float__
    __format__ __array_interface__ __array__ __torch_function__ __set_name__ __del__ __getattr__
    __setstate__ __reduce__ __deepcopy__ __fspath__ state_dict load_state_dict _load_from_state_dict
    set_extra_state get_extra_state _state_hooks _call_hooks _stands_for _forward_hooks
    _load_state_dict_pre_hooks _load_state_dict_post_hooks _load_state_dict_pre_hooks _backward_hooks
    register_parameter named_parameters modules append extend update items keys default_factory func
    args keywords _value_ _name_ disabled level handlers parent manager _fill_value _hooks _array _grad
    _edge hook place _handles _leave detach data int template path fn compute_weight _flat_weights
    _flat_weights_names _all_weights all_weights _init_flat_weights maps zero_grad step _metadata
    __add__ __ne__ __lt__ __copy__ __contains__ __getitem__ __setitem__ __torch_dispatch__ coef window
    domain _version _is_param _is_buffer has_sorted_indices _has_canonical_format _shape default _data
    _meta foreach capturable fused
""".split()
FAMILY_ATTRIBUTES = """
    memory stack_method_ chain_method _response_method estimators_ estimator estimator_ steps kernel kernel_
    func kw_args metric_params tree_ _tree loss_ _loss n_features_in_ n_outputs_ n_classes_ classes_ coef_
    X_thresholds_ y_thresholds_ out_of_bounds t c k _t _c nodes _predictors _bin_mapper support_ _n_support
    cluster_centers_ _n_threads precision_ subcluster_centers_ _fit_X _y n_samples_fit_ init_
    estimators_features_ _max_features _sklearn_version get_params fit predict
""".split()
SLOTS = "_array _edge _grad _hooks _counter _view _needs _is_param __weakref__".split()
WORDS = """
    ndarray matrix recarray elements struct subarray string |O <f4 <i8 <M8[s] |S3 |V4 bfloat16 masked
    defaultdict OrderedDict Counter slice range Ellipsis NotImplemented itemgetter attrgetter hooks
    state wrapper forward forward_pre load_pre load_post save_pre save_post _prehook _posthook
    _forward_hooks _load_state_dict_pre_hooks Tensor Parameter Buffer empty conj cpu meta cuda MT19937
    PCG64 Philox SFC64 text sparse_coo sparse_csr qint8 quint8 dtype device layout Size IGNORECASE safe
    u w b f float32
""".split()


# --- classes with arguments, and with attributes ---

CALLS: dict[str, list[tuple[Any, ...]]] = {
    "datetime:date": [(2020, 1, 2), (b"\x07\xe4\x01\x02",)],
    "datetime:datetime": [(2020, 1, 2, 3, 4), (b"\x07\xe4\x01\x02\x03\x04\x05\x00\x00\x00",)],
    "datetime:time": [(1, 2, 3), (b"\x01\x02\x03\x00\x00\x00",)],
    "datetime:timedelta": [(1, 2, 3), (), (1.5,)],
    "decimal:Decimal": [("1.5",), (2,), ("NaN",), ((0, (1, 2), -1),)],
    "pathlib:PurePath": [("a", "b"), ()],
    "pathlib:PurePosixPath": [("/a", "b")],
    "pathlib:PureWindowsPath": [("c:/a", "b")],
    "ipaddress:IPv4Address": [("127.0.0.1",), (1,)],
    "ipaddress:IPv6Address": [("::1",), (1,)],
    "ipaddress:IPv4Network": [("10.0.0.0/8",), ((1, 32),)],
    "ipaddress:IPv6Network": [("::/8",)],
    "ipaddress:IPv4Interface": [("10.0.0.1/8",)],
    "ipaddress:IPv6Interface": [("::1/8",)],
    "types:SimpleNamespace": [()],
    "random:Random": [(), (3,), ("seed",)],
}
OBJECTS: dict[str, tuple[str, ...]] = {
    "uuid:UUID": ("int",),
    "string:Template": ("template",),
    "builtins:object": (),
    "types:SimpleNamespace": ("a", "b"),
    "numpy:poly1d": ("_coeffs", "_variable"),
    **{
        f"numpy.polynomial:{name}": ("coef", "domain", "window")
        for name in "Polynomial Chebyshev Hermite HermiteE Laguerre Legendre".split()
    },
    **{
        f"scipy.sparse:{name}": ("_shape", "data", "indices", "indptr", "maxprint")
        for module, name in CREATED
        if module == "scipy.sparse"
    },
    "torch.nn.utils.weight_norm:WeightNorm": ("name", "dim"),
    "torch.nn.utils.spectral_norm:SpectralNorm": ("name", "dim", "n_power_iterations", "eps"),
}
ENUMS = [("re", "RegexFlag", ["IGNORECASE", "DOTALL", 3, 0]), ("uuid", "SafeUUID", ["safe", "unknown"])]
FACTORIES = "int float str bool list dict set tuple".split()


# --- honest tables, of which parts are taken ---


class _Shade(enum.Flag):
    RED = 1


Point = collections.namedtuple("Point", "x y")


def _live() -> Iterator[Any]:
    layer = nn.Linear(2, 2)
    parameter = nn.Parameter(kellet.ones(2))
    yield layer
    yield nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2), nn.ReLU())
    yield nn.MultiheadAttention(2, 1)
    yield nn.TransformerEncoderLayer(2, 1, 4)
    yield nn.HookedModule(nn.Linear(1, 1))
    yield nn.ModuleDict({"a": nn.Identity(), "b": nn.Conv2d(1, 1, 1)})
    yield nn.ParameterList([nn.Parameter(kellet.ones(1))])
    yield nn.ParameterDict({"a": nn.Parameter(kellet.ones(1))})
    yield kellet.optim.AdamW([parameter], lr=0.1)
    yield kellet.optim.SGD([parameter], lr=0.1)
    yield layer.state_dict()
    yield [np.random.default_rng(0), np.random.RandomState(1), np.random.SeedSequence(3)]
    yield [np.random.Generator(kind(2)) for kind in (np.random.Philox, np.random.SFC64, np.random.PCG64DXSM)]
    yield np.ma.MaskedArray(np.arange(3), [True, False, False], fill_value=7)
    yield np.array([(1, b"ab")], dtype=[("a", "<i4"), ("b", "S2")])
    yield np.array(["a", None, (1,)], dtype=object)
    yield [np.poly1d([1, 2]), np.polynomial.Chebyshev([1, 2], domain=[0, 2])]
    yield np.matrix([[1]])
    yield [np.float32(3), np.str_("a"), np.datetime64("2020-01-01"), np.array([(1,)], [("a", "i4")])[0]]
    yield functools.partial(np.clip, a_min=0.0, a_max=[1.0])
    yield [functools.partial(F.softmax, dim=-1), functools.partial(nn.LayerNorm, eps=1e-6)]
    yield {uuid.UUID(int=3): re.compile("a+", re.I), fractions.Fraction(1, 2): decimal.Decimal("1.5")}
    yield [pathlib.PurePosixPath("a/b"), datetime.datetime(2020, 1, 2, tzinfo=datetime.UTC)]
    yield [
        string.Template("$a"),
        random.Random(3),
        collections.deque([1, 2], 3),
        collections.ChainMap({}, {}),
    ]
    yield [collections.Counter("aab"), collections.OrderedDict(a=1), collections.defaultdict(list, a=[1])]
    yield [array.array("d", [1.5]), bytearray(b"ab"), slice(1, 2), range(3), dict[str, list[int]], 1 + 2j]
    yield [re.I | re.S, ..., np.dtype("<f4"), types.SimpleNamespace(a=1)]
    if hasattr(np.dtypes, "StringDType"):
        yield np.array(["a", None], np.dtypes.StringDType(na_object=None))
    hooked = nn.Linear(1, 1)
    hooked.register_load_state_dict_pre_hook(functools.partial(max, 1))
    hooked.kept = hooked.register_forward_hook(F.relu)
    yield hooked
    watched = nn.ReLU()
    watched.watch = nn.Hook(posthook=F.relu)
    watched.watch.register(watched)
    yield watched
    yield from _estimators()
    try:
        import scipy.sparse
    except ImportError:
        return
    for kind in "bsr coo csc csr dia dok lil".split():
        yield getattr(scipy.sparse, f"{kind}_array")(np.eye(2))


def _estimators() -> Iterator[Any]:
    """Those without arrays that are checked: the bytes of a graph are not those that were fitted."""
    if not FAMILY:
        return
    from sklearn.feature_selection import SelectKBest
    from sklearn.isotonic import IsotonicRegression
    from sklearn.linear_model import LinearRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer
    from sklearn.utils import Bunch

    rows = np.array([[0.0], [1.0]])
    yield make_pipeline(FunctionTransformer(np.abs), LinearRegression()).fit(rows, [0, 1])
    yield [SelectKBest(), IsotonicRegression(), Bunch(a=1)]


def _live_torch() -> Iterator[Any]:
    made = torch.nn
    parameter = made.Parameter(torch.ones(2))
    optimizer = torch.optim.SGD([parameter], lr=0.1)
    yield made.Sequential(made.Linear(2, 2), made.BatchNorm1d(2), made.LSTM(2, 2), made.GRUCell(2, 2))
    yield made.utils.weight_norm(made.Linear(2, 2))
    yield made.utils.spectral_norm(made.Linear(2, 2))
    yield made.MultiheadAttention(2, 1)
    yield made.TransformerEncoderLayer(2, 1, 4)
    yield [torch.optim.Adam([parameter]), optimizer, torch.optim.lr_scheduler.StepLR(optimizer, 2)]
    yield torch.optim.lr_scheduler.LambdaLR(optimizer, abs)
    yield torch.quantize_per_tensor(torch.ones(2), 0.5, 1, torch.quint8)
    yield torch.eye(2).to_sparse()
    yield torch.eye(2).to_sparse_csr()
    yield [torch.float32, torch.device("cpu"), torch.Size([1, 2]), torch.strided, torch.Generator()]
    yield {torch.ones(1): 1, torch.float32: 2}
    hooked = made.Linear(1, 1)
    hooked.register_load_state_dict_pre_hook(torch.nn.functional.relu)
    hooked.register_forward_hook(torch.nn.functional.relu)
    yield hooked
    yield functools.partial(torch.nn.functional.interpolate, scale_factor=2.0)


@functools.cache
def honest_tables() -> list[tuple[list[list[Any]], Records, Any]]:
    """Return tables that our encoder writes, whose tensors fit into the one storage of a graph."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        live = [*_live(), *(() if torch is None else _live_torch())]
        found = []
        for value in live:
            made = encode(value)
            if made.refusals:
                continue
            codecs, records, root = msgpack.unpackb(made.records)
            if all(_fits(record) for record in records if record[0] == K.TENSOR) and len(records) < 400:
                found.append((codecs, records, root))
    return found


def sparse_tables() -> list[tuple[list[list[Any]], Records, Any]]:
    """Return those of a sparse matrix."""
    return [one for one in honest_tables() if one[1][0][:2] == [K.GLOBAL, "scipy.sparse"]]


def _fits(record: list[Any]) -> bool:
    return record[4] is None and int(np.prod(record[3])) * 16 + record[5] <= STORAGE_SIZE
