"""What may run while data alone is built: the one list, by kind of record and by codec.

A row says which functions that are not packager's own may be called while records of its kind, or nodes of
its codec, are built; on which exact types; and why that can hurt nothing. `test_inert_calls.py` holds the
rows against the code: each kind and codec has one, and what building honest objects calls is in the row.

Names are "module:qualified name" with `*` for any part, of the code of Python frames and of functions in C as
`sys.setprofile` reports them. It does not see a class in C that is called (`tuple(...)`, `slice(...)`); those
are in `makes`. kellet's own functions are listed as any library's: archives can name them. Functions of
packager are not: no archive can (`NEVER_MODULES` in packager/objects/default_names.py).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fnmatch import translate
from functools import cache, cached_property
from typing import Final


@dataclass(frozen=True)
class Row:
    """What building one kind of record, or node of one codec, may call.

    `calls` are patterns of names, `makes` the classes in C that are called, `on` says on which exact types
    all of it works, `why` why it is inert.
    """

    where: str
    calls: str = ""
    makes: str = ""
    on: str = ""
    why: str = ""

    def allows(self, name: str) -> bool:
        """Say whether a function of this name may be called."""
        return any(pattern.fullmatch(name) for pattern in self._patterns)

    @cached_property
    def _patterns(self) -> list[re.Pattern[str]]:
        return [re.compile(translate(pattern)) for pattern in self.calls.split()]


EVERYWHERE: Final = Row(
    "everywhere",
    """
    builtins:isinstance builtins:issubclass builtins:len builtins:id builtins:vars builtins:getattr
    builtins:hasattr builtins:callable builtins:all builtins:any builtins:next builtins:dict.*
    builtins:mappingproxy.* builtins:list.* builtins:set.* builtins:frozenset.* builtins:str.*
    builtins:tuple.__new__ builtins:object.__new__ sys:intern collections:OrderedDict.*
    contextlib:_GeneratorContextManager* contextlib:contextmanager.<locals>.helper
    functools:cached_property.__get__ _thread:*lock* _thread:*Lock* _abc:_abc_* abc:ABCMeta.*
    importlib:import_module importlib._bootstrap:* gc:* builtins:sum builtins:max numpy:fromiter numpy:arange
    numpy:zeros numpy:empty numpy*:full numpy*:concatenate numpy*:copyto numpy:ndarray.* numpy:ufunc.at
    builtins:hash builtins:min builtins:int.bit_length builtins:sorted
    """,
    on="containers that packager made, classes, and their dictionaries",
    why="asks for types and identities, and moves references; names of libraries are sorted; "
    "`getattr` is asked of classes and of modules, "
    "by names that packager wrote; `import` finds libraries by names that packager wrote; NumPy counts the "
    "steps of keys",
)

_SCALAR: Final = "an int, float, bool, str, bytes or None of the table itself"
_NOTHING: Final = "it calls nothing else"
_STATE_OF_KELLET: Final = """
    kellet.nn.load_state_dict:* kellet.nn.load_plan:* kellet.nn.state_dict:State* kellet.nn.storing:*
    kellet.nn.module:HookedModule.* kellet.nn.module:Module.__setstate__ kellet.nn.module_hooks:CallHooks.*
    kellet.nn.module_hooks:ModuleCall._own_call_hooks kellet.nn.members:Members.* kellet.nn.parameter:*
    kellet.hooks:* kellet.autograd.bridge:Counter.__init__ kellet.autograd.variable:*
    kellet.core.conversion:Conversion.numpy kellet.core.tensor:Tensor.detach kellet.core.tensor:Tensor.shape
    kellet.dtypes:is_differentiable kellet.nn.layers.*:_add_batch_counter
    namedtuple_IncompatibleKeys:<lambda> numpy._core._ufunc_config:errstate.* _contextvars:ContextVar.*
    numpy._core._multiarray_umath:_make_extobj numpy.core._ufunc_config:* numpy:geterrobj numpy:seterrobj
    typing:cast
    builtins:max
"""
_STATE_OF_TORCH: Final = """
    torch.nn.modules.*:Module.* torch.nn.modules.*:*._load_from_state_dict torch.nn.modules.*:*.__setstate__
    torch.nn.modules.*:*.set_extra_state torch.nn.modules.rnn:RNNBase.* torch.nn.utils.spectral_norm:*
    torch.nn.modules.module:_WrappedHook.* torch.nn.parameter:*
    torch.utils.hooks:RemovableHandle.* torch.utils._contextlib:* torch.autograd.grad_mode:*
    torch.__future__:get_swap_module_params_on_conversion torch._jit_internal:is_scripting
    torch.overrides:is_tensor_like torch._C:_set_grad_enabled torch._C:_log_api_usage_once
    torch:is_grad_enabled torch:Tensor.data_ptr torch:Tensor.detach torch:Tensor.is_conj torch:Tensor.is_neg
    torch:Tensor.stride builtins:TensorBase._make_subclass builtins:setattr functools:update_wrapper
    namedtuple_IncompatibleKeys:<lambda>
"""
_TENSOR_OF_KELLET: Final = """
    numpy:empty kellet.autograd.bridge:* kellet.autograd.variable:* kellet.core.creation:from_numpy
    kellet.core.creation:_checked kellet.core.creation:_made kellet.dtypes:* kellet.nn.parameter:*
"""

KIND_ROWS: Final = (
    Row("GLOBAL", on="two names that were resolved before", why="gives what the audit granted"),
    Row("INT", "builtins:int.from_bytes", on="bytes of the table", why="bounded by the table"),
    Row("STR", "builtins:bytes.decode", on="bytes of the table", why="bounded by the table"),
    Row("BYTES", on="bytes of the table", why=_NOTHING),
    Row("TENSOR", makes="tuple", on="numbers of the table, a memoryview", why="says where memory lies"),
    Row("TUPLE", makes="tuple", on="a list of packager", why="keeps what it is given"),
    Row("LIST", on="a list of packager", why="keeps what it is given"),
    Row("DICT", makes="dict zip", on="keys of exact plain types (require_keys)", why="hashes those alone"),
    Row("SET", makes="set", on="members of exact plain types (require_keys)", why="hashes those alone"),
    Row("FROZENSET", makes="frozenset", on="members of exact plain types", why="hashes those alone"),
    Row("PACKED_TUPLE", makes="tuple", on=_SCALAR, why="keeps what it is given"),
    Row("PACKED_LIST", on=_SCALAR, why="keeps what it is given"),
    Row("PACKED_DICT", makes="dict zip", on=_SCALAR, why="hashes scalars alone"),
    Row("SHAPE", on="a granted class, names", why="looks into dictionaries of classes"),
    Row(
        "OBJ",
        makes="granted classes, by object.__new__",
        on="a class without a codec of the default list, or one that the caller trusts",
        why="puts values into slots and the __dict__; no __init__, property or __setattr__ runs",
    ),
    Row("NEW", makes="granted classes, by object.__new__", on="as for OBJ", why="makes an empty object"),
    Row("NEW_KW", on="as for CALL", why="as for CALL"),
    Row(
        "CALL",
        """
        pathlib*:PurePath.* pathlib*:_Flavour.* pathlib*:_PosixFlavour.* pathlib*:_WindowsFlavour.*
        ipaddress:* posix:fspath nt:fspath posixpath:* ntpath:* random:Random.__init__ random:Random.seed
        torch.nn.parameter:Uninitialized*.__new__ builtins:TensorBase._make_subclass
        types:SimpleNamespace.__init__ datetime:* _strptime:*
        """,
        makes="date datetime time timedelta timezone Decimal SimpleNamespace GenericAlias Random",
        on="scalars, tuples of them and time zones (`_call` in packager/objects/inert.py); types and plain "
        "data for GenericAlias",
        why="constructors that take what they are given in bounded time, and keep it (CALLED)",
    ),
    Row("CALL_KW", on="as for CALL", why="as for CALL"),
    Row("PACKAGE_CALL", on="nothing: data alone has none", why="refused unless the caller trusts the name"),
    Row("METHOD", on="nothing: data alone has none", why="no method is on the default list"),
    Row("FUNCTION", on="nothing: data alone has none", why="its module is no stored code, so it is refused"),
    Row("CELL", makes="types.CellType", on="any value", why="keeps what it is given"),
    Row("CODEC", on="the rows of the codecs", why="what a codec calls stands in its own row"),
    Row("FILL", makes="member descriptors of __slots__", on="objects as in OBJ", why="as for OBJ"),
    Row("EXTEND", "collections:deque.extend", on="list and deque themselves", why="keeps what it is given"),
    Row(
        "UPDATE",
        "kellet.nn.state_dict:StateDict.* torch._tensor:Tensor.__hash__",
        on="mappings of collections, dict and StateDict themselves, with keys of exact plain types",
        why="hashes those alone, tensors by identity; assignment makes no missing value",
    ),
    Row("ADD", on="a set, with members of exact plain types", why="hashes those alone"),
    Row("SETCELL", on="a cell", why="keeps what it is given"),
    Row(
        "STATE",
        "random:Random.setstate",
        on="objects of the classes in packager/objects/listed_states.py, and modules",
        why="exact dicts of names become attributes; a UUID takes up an int, Random a tuple of ints",
    ),
    Row("FINISH", on="the rows of the codecs", why="what a codec calls stands in its own row"),
)

CODEC_ROWS: Final = (
    Row("complex", makes="complex", on="two floats", why="keeps them"),
    Row("bytearray", makes="bytearray", on="bytes of the table", why="copies them"),
    Row("singleton", on="one of two names", why=_NOTHING),
    Row("slice", makes="slice range", on="ints, None; for slices plain data", why="keeps what it is given"),
    Row(
        "enum",
        "enum:*",
        on="a class of enumerations that is granted: signal-free ones of the default list; a str, or an int",
        why="looks the member up; `__call__` of flags makes a member of an int",
    ),
    Row("fraction", "fractions:Fraction.__new__ math:gcd numbers:*", on="two ints", why="divides by the gcd"),
    Row(
        "re.pattern",
        "re*:* enum:* builtins:bytes.decode",
        on="a str or bytes, and an int",
        why="compiles; nothing is matched",
    ),
    Row("array.array", "array:array.*", makes="array.array", on="bytes of the table", why="copies them"),
    Row("logging.logger", "logging:*", on="a str", why="looks up or makes a logger"),
    Row("namedtuple", "builtins:dir", on="a granted named tuple", why="tuple.__new__ keeps values"),
    Row(
        "scalar subclass",
        "builtins:*.__new__",
        on="a granted class, and a value of its exact base",
        why="`__new__` of the base, not of the class, keeps the value",
    ),
    Row(
        "functools.partial",
        "functools:partial.__setstate__",
        makes="functools.partial",
        on="a listed function or class of modules, a tuple and a dict of plain data and tensors",
        why="keeps what it is given",
    ),
    Row("method", makes="types.MethodType", on="nothing: data alone has none", why="refused"),
    Row(
        "getter",
        makes="operator.attrgetter operator.itemgetter",
        on="nothing: data alone has none",
        why="refused",
    ),
    Row(
        "collections.mapping",
        "collections:Counter.__init__ collections:Counter.update",
        makes="OrderedDict defaultdict",
        on="nothing, and for a defaultdict None, int, float, str, bool, list, dict, set or tuple",
        why="makes an empty mapping",
    ),
    Row("collections.deque", makes="deque", on="None or an int", why="makes an empty deque"),
    Row("collections.chainmap", "collections:ChainMap.__init__", on="any values", why="keeps a list of them"),
    Row(
        "numpy.dtype",
        "re:* re:Pattern.* numpy._core._internal:* numpy.core._internal:* numpy:dtype.* ml_dtypes:*",
        makes="numpy.dtype StringDType",
        on="names of the table of dtypes, other dtypes, ints; plain data for a missing value",
        why="computes a layout within bounds that were checked",
    ),
    Row("numpy.scalar", "numpy:frombuffer numpy:dtype.*", on="bytes of the table", why="copies them"),
    Row(
        "numpy.bit_generator",
        """
        numpy._core._ufunc_config:* numpy.core._ufunc_config:* numpy._core._multiarray_umath:* _contextvars:*
        numpy.core.*:* numpy:geterrobj numpy:seterrobj
        numpy._core.multiarray:concatenate random:SystemRandom.* secrets:* posix:urandom
        builtins:int.from_bytes threading:RLock
        """,
        makes="MT19937 PCG64 PCG64DXSM Philox SFC64 RandomState",
        on="a seed sequence or None, and a dict of plain data and arrays",
        why="one of NumPy's own algorithms takes up its state",
    ),
    Row("numpy.generator", makes="numpy.random.Generator", on="a bit generator", why="keeps it"),
    Row(
        "numpy.random_state",
        "numpy*:* _contextvars:*",
        makes="numpy.random.RandomState",
        on="a bit generator, a bool and a float",
        why="keeps them",
    ),
    Row(
        "numpy.seed_sequence",
        "numpy._core.multiarray:concatenate numpy.core.multiarray:concatenate",
        makes="numpy.random.SeedSequence",
        on="plain data, two ints",
        why="mixes numbers into a pool of bounded size",
    ),
    Row("numpy.subclass", "numpy:ndarray.view", on="a granted class, an array", why="a view of the array"),
    Row(
        "numpy.ndarray",
        """
        numpy:empty numpy:ndarray.* numpy._core.records:* numpy.core.records:* numpy._core._internal:*
        numpy.core._internal:* re:* numpy._core._multiarray_umath:_is_view_safe_cast
        """,
        makes="numpy.ndarray",
        on="stored memory and a dtype; elements are kept, or plain data for strings",
        why="a view of memory whose bounds were checked",
    ),
    Row("numpy.masked", "numpy.ma.core:* numpy:*", on="arrays", why="puts arrays together"),
    Row(
        "kellet.subclass",
        _TENSOR_OF_KELLET + "kellet.core.conversion:*",
        on="a granted class, an array",
        why="a tensor over the array",
    ),
    Row("kellet.tensor", _TENSOR_OF_KELLET, on="stored memory", why="a tensor over an array"),
    Row(
        "kellet.device",
        """
        kellet.core.* kellet.autograd.bridge:wrap kellet.dtypes:get_default_dtype numpy:zeros
        collections.abc:*.__subclasshook__
        """,
        on="nothing",
        why="asks a fresh tensor for the one device",
    ),
    Row(
        "kellet.module",
        _STATE_OF_KELLET,
        on="granted classes of modules; tables of tensors and modules by name (check_tables, check_made); a "
        "state of plain data and tensors",
        why="the loading of states of kellet's own classes; data alone has no hooks",
    ),
    Row("kellet.hooks", "kellet.hooks:*", on="a fresh registry; data alone has no hooks", why="keeps hooks"),
    Row(
        "kellet.handle",
        "kellet.hooks:* kellet.nn.storing:hook_registry kellet.nn.module_hooks:*",
        on="a module, or a registry",
        why="remembers a registry and a number",
    ),
    Row(
        "kellet.hook",
        "kellet.nn.storing:restore_hook_object* weakref:finalize.*",
        on="nothing: data alone has none, unless the caller trusts the class",
        why="refused",
    ),
    Row("kellet.gate", "kellet.nn.hook:HookGate.__init__", on="a word, and a Hook", why="a weak reference"),
    Row(
        "torch.value",
        "torch:device.*",
        makes="torch.Size torch.device",
        on="ints, or names of torch's own values",
        why="looks a dtype, layout or format up, and compares its type",
    ),
    Row(
        "torch.subclass",
        "torch:Tensor.* torch._tensor:Tensor.__torch_function__* torch._tensor:_convert torch._C:*",
        on="a granted class, a tensor",
        why="a view of the tensor; the class is the caller's to trust",
    ),
    Row(
        "torch.tensor",
        """
        torch:Tensor.* torch:_VariableFunctionsClass.empty torch:_VariableFunctionsClass.zeros
        torch:_VariableFunctionsClass._neg_view torch:_VariableFunctionsClass.frombuffer
        torch.nn.parameter:Parameter.__new__ builtins:TensorBase._make_subclass builtins:max
        """,
        makes="torch.nn.Parameter",
        on="stored memory, or a shape",
        why="a view of memory whose bounds were checked",
    ),
    Row(
        "torch.sparse",
        "torch:_VariableFunctionsClass.sparse_* torch:Tensor.*",
        on="dense tensors and a shape",
        why="torch checks the indices itself (check_invariants)",
    ),
    Row(
        "torch.quantized",
        "torch:_VariableFunctionsClass._make_per_* torch:_VariableFunctionsClass.tensor torch:Tensor.*",
        on="tensors and numbers",
        why="puts tensors together",
    ),
    Row(
        "torch.generator",
        "torch._C:Generator.* torch:Tensor.*",
        makes="torch.Generator",
        on="a name, a tensor",
        why="takes up a state that torch checks",
    ),
    Row(
        "torch.module",
        _STATE_OF_TORCH,
        on="granted classes of modules; tables of tensors and modules by name (check_tables, check_made); a "
        "state of plain data and tensors; the hooks of weight_norm and spectral_norm",
        why="the loading of states of PyTorch's own classes; data alone has no other hooks",
    ),
    Row(
        "torch.handle",
        "torch.utils.hooks:RemovableHandle.*",
        on="a module",
        why="remembers a table and a number",
    ),
    Row(
        "kellet.optimizer",
        """
        kellet.optim.*:*.__setstate__ kellet.optim.optimizer:Optimizer._make_hooks kellet.hooks:*
        collections:defaultdict.*
        """,
        on="granted classes of optimisers; groups and states of plain data and tensors (_check_state)",
        why="takes up its state",
    ),
    Row(
        "torch.optimizer",
        """
        torch.optim.*:*.__setstate__ torch.optim.optimizer:Optimizer.* torch._tensor:Tensor.__hash__
        torch:is_tensor collections:defaultdict.* torch:_VariableFunctionsClass.tensor
        """,
        on="granted classes of optimisers; groups and states of plain data and tensors (_check_state)",
        why="takes up its state, and hashes tensors by identity",
    ),
)

ROWS: Final = {row.where: row for row in (*KIND_ROWS, *CODEC_ROWS)}


@cache
def is_listed(name: str, where: str | None = None) -> bool:
    """Say whether a function may be called: by the row of a kind or codec, or by any row."""
    if name.startswith("packager."):
        return True
    rows = ROWS.values() if where is None else [ROWS[where]] if where in ROWS else []
    return EVERYWHERE.allows(name) or any(row.allows(name) for row in rows)
