"""What may run while an object is loaded as data alone: the one list, by step, kind of record and codec.

A row says which functions may be called while records of its kind, or nodes of its codec, are built; on which
exact types; and why that can hurt nothing. Rows of a load say what runs before that, and around it: our own
functions, and what they call. Two tests hold the list against the code: `test_inert_calls.py` builds honest
objects, and holds each row against what building its kind or codec calls; `grammar` loads composed graphs,
and holds all rows together against everything that runs.

Names are those of call_names.py, with `*` for any part. A class in C that is called (`tuple(...)`,
`slice(...)`) is not seen; those are in `makes`. kellet's functions are listed as any library's: archives can
name them. Of packager only what a load goes through is listed; no archive can name that, either
(`NEVER_MODULES` in packager/_objects/names.py).
"""

from __future__ import annotations

from functools import cache
from typing import Final

import numpy

from .call_rows import Row
from .library_rows import LIBRARY_ROWS

EVERYWHERE: Final = Row(
    "everywhere",
    """
    builtins:isinstance builtins:issubclass builtins:len builtins:id builtins:vars builtins:getattr
    builtins:hasattr builtins:callable builtins:all builtins:any builtins:next builtins:iter builtins:hash
    builtins:min builtins:max builtins:sum builtins:sorted builtins:dict.* builtins:list.* builtins:set.*
    array:array.tolist numpy:ndarray.tolist
    builtins:frozenset.* builtins:tuple.* builtins:mappingproxy.* builtins:int.* builtins:float.*
    builtins:str.count builtins:str.encode builtins:str.endswith builtins:str.find builtins:str.isalnum
    builtins:str.isalpha builtins:str.isascii builtins:str.isdecimal builtins:str.isdigit
    builtins:str.isidentifier builtins:str.isprintable builtins:str.join builtins:str.lower
    builtins:str.lstrip
    builtins:str.partition builtins:str.removeprefix builtins:str.removesuffix builtins:str.replace
    builtins:str.rfind builtins:str.rpartition builtins:str.rsplit builtins:str.rstrip builtins:str.split
    builtins:str.startswith builtins:str.strip builtins:generator.throw
    type:__new__ type:fromkeys type:from_iterable sys:intern math:prod collections:OrderedDict.*
    contextlib:_GeneratorContextManager* contextlib:contextmanager.<locals>.helper
    functools:cached_property.__get__ <string>:<lambda> <string>:__create_fn__.<locals>.__*__ typing:cast
    packager._quick_dataclasses:_init.* packager._quick_dataclasses:_values.*
    packager._quick_dataclasses:_equality.* packager._quick_dataclasses:_hash.*
    packager._quick_dataclasses:_Field.*
    _thread:*ock* _abc:_abc_* abc:ABCMeta.__*check__ _collections_abc:*.__subclasshook__
    _collections_abc:_check_methods gc:disable gc:enable gc:isenabled
    builtins:__import__ importlib:import_module
    importlib._bootstrap:_handle_fromlist importlib._bootstrap:_gcd_import
    importlib._bootstrap:_find_and_load importlib._bootstrap:_sanity_check
    numpy:fromiter numpy:arange numpy:zeros numpy:empty numpy:ufunc.at numpy.*core.numeric:full
    numpy.*core.multiarray:concatenate numpy.*core.multiarray:copyto numpy:ndarray.copy numpy:ndarray.view
    numpy:ndarray.nonzero numpy:ndarray.astype numpy.*core.numeric:*count_nonzero*
    numpy.*core._multiarray_umath:count_nonzero numpy:ndarray.item numpy:array
    decimal:Decimal.__sizeof__
    """,
    on="containers that packager made, classes, and their dictionaries",
    why="asks for types and identities, and moves references; names of libraries are sorted; "
    "`getattr` is asked of classes and of modules, "
    "by names that packager wrote; `import` finds libraries that are there, by such names; NumPy counts the "
    "steps of keys",
)

_SCALAR: Final = "an int, float, bool, str, bytes or None of the table itself"
_NOTHING: Final = "it calls nothing else"
_STATE_OF_KELLET: Final = """
    kellet.core.wrong_arguments:_explaining*
    kellet.listing:*
    kellet.nn.load_state_dict:* kellet.nn.load_plan:* kellet.nn.storing:* kellet.nn.tree:ModuleTree.*
    kellet.nn.state_dict:StateDict.__init__ kellet.nn.state_dict:StateHooks.__init__
    kellet.nn.state_dict:StateSaving._own_state_hooks kellet.nn.state_dict:StateView.__init__
    kellet.nn.module:HookedModule.* kellet.nn.module:Module.__init__ kellet.nn.module:Module.__setstate__
    kellet.nn.module_hooks:CallHooks.__init__ kellet.nn.module_hooks:ModuleCall._own_call_hooks
    kellet.nn.members:Members.__init__ kellet.nn.members:Members.__getattr__
    kellet.nn.members:Members.__setattr__ kellet.nn.layers.*:*._load_from_state_dict
    kellet.nn.layers.*:_add_batch_counter kellet.nn.parameter:* kellet.hooks:HookRegistry.__init__
    kellet.hooks:HookRegistry.__bool__ kellet.hooks:HookRegistry.__iter__* kellet.autograd.modes:*
    kellet.autograd.bridge:Counter.__init__ kellet.autograd.variable:Variable.requires_grad*
    kellet.autograd.variable:Variable.data* kellet.autograd.variable:Variable.detach
    kellet.autograd.variable:counter_of kellet.core.conversion:Conversion.numpy
    kellet.core.conversion:Conversion.dtype
    kellet.core.tensor:Tensor.data kellet.core.tensor:Tensor.detach kellet.core.tensor:Tensor.shape
    kellet.core.tensor:Tensor.__init__ kellet.core.tensor:Tensor.clone kellet.core.tensor:Tensor.dtype
    kellet.dtypes:* kellet.errors:* numpy.*core._ufunc_config:errstate.* _contextvars:ContextVar.*
    numpy.*core._multiarray_umath:_make_extobj
"""
_HOOKS_OF_KELLET: Final = """
    kellet.hooks:HookRegistry.add kellet.hooks:HookEntry.__init__ kellet.hooks:RemovableHandle.__init__
    kellet.hooks:require_callable
"""
_STATE_OF_TORCH: Final = """
    torch.nn.modules.module:Module.__init__ torch.nn.modules.module:Module.__getattr__
    torch.nn.modules.module:Module.__setattr__* torch.nn.modules.module:Module.__setstate__
    torch.nn.modules.module:Module.load_state_dict* torch.nn.modules.*:*._load_from_state_dict*
    torch.nn.modules.module:Module.set_extra_state torch.nn.modules.module:Module.register_parameter
    torch.nn.modules.module:Module.register_buffer torch.nn.modules.module:Module._register_*
    torch.nn.modules.module:Module.register_forward_pre_hook torch.nn.modules.module:_WrappedHook.*
    torch.nn.modules.module:Module._get_name torch.nn.modules.module:_addindent
    torch.nn.modules.module:_IncompatibleKeys.* torch.nn.modules.rnn:RNNBase.__setattr__
    torch.nn.modules.rnn:RNNBase.__setstate__* torch.nn.utils.spectral_norm:*
    torch.nn.parameter:*.__new__ torch.nn.parameter:*Meta.__instancecheck__ torch.nn.parameter:is_lazy
    super:*Meta.__instancecheck__ torch.utils.hooks:RemovableHandle.* torch.utils._contextlib:*
    torch.autograd.grad_mode:* torch.__future__:get_swap_module_params_on_conversion
    torch._jit_internal:is_scripting torch.overrides:is_tensor_like torch._C:_set_grad_enabled
    torch._C:_log_api_usage_once torch:is_grad_enabled torch:get_default_dtype torch._C:TensorBase.data_ptr
    torch._C:TensorBase.clone torch._C:TensorBase.detach torch._C:TensorBase.is_conj
    torch._C:TensorBase.is_neg torch._C:TensorBase.stride type:_make_subclass builtins:setattr
    functools:update_wrapper functools:wraps typing_extensions:deprecated.* _warnings:warn
"""
_TENSOR_OF_KELLET: Final = """
    numpy:empty kellet.autograd.bridge:Counter.__init__ kellet.autograd.bridge:wrap
    kellet.autograd.variable:Variable.grad_fn kellet.autograd.variable:Variable.is_leaf
    kellet.autograd.variable:Variable._made_by
    kellet.autograd.variable:Variable.requires_grad* kellet.autograd.variable:counter_of
    kellet.core.creation:from_numpy kellet.core.creation:_* kellet.dtypes:* kellet.nn.parameter:*
    kellet.core.wrong_arguments:_explaining.* kellet.core.wrong_arguments:explanation
    kellet.core.wrong_arguments:_raised_in
"""

# What a load goes through before it builds, and around that. Our rooms are those of reading: nothing of the
# commands, the writers, the exporter or the tests.
_OF_NUMPY_1: Final = """
    numpy.core._ufunc_config:seterr numpy.core._ufunc_config:geterr numpy:geterrobj numpy:seterrobj
    contextlib:ContextDecorator.* super:SeedSequence.generate_state
    numpy.random.mtrand:RandomState.get_state numpy.random.mtrand:RandomState.set_state builtins:str.format
"""

LOAD_ROWS: Final = (
    Row(
        "numpy 1",
        _OF_NUMPY_1 if numpy.__version__.startswith("1.") else "",
        on="errors of NumPy's own arithmetic, its generators, and the names of its dtypes",
        why="NumPy 1.26 has in Python what later ones have in C; the formats are its own texts",
    ),
    Row(
        "later Pythons",
        """
        dataclasses:_replace pathlib*:PurePath.drive pathlib*:PurePath.root posixpath:splitdrive
        numpy:ndarray._set_shape numpy._core._multiarray_umath:_is_view_safe_cast
        numpy._core.numerictypes:issubclass_ numpy._core.numerictypes:issubdtype
        """,
        on="records of packager, pure paths, arrays",
        why="Python 3.12 and later, and NumPy for them, have more functions for the same",
    ),
    Row(
        "ours",
        """
        packager.package_importer:* packager._arguments:check_kind packager._loading.stored_objects:*
        packager._loading.opening:*
        packager._loading.stored_states:*
        packager._loading.open_archives:*
        packager._loading.packaged_code:PackagedCode.*
        packager._loading.packaged_code:ImportRules.* packager._loading.packaged_code:DisallowedModuleError*
        packager._loading.packaged_code:_t* packager._loading.packaged_code:_with_parents*
        packager._archive.archive_errors:* packager._archive.bounds:* packager._archive.byte_sources:*
        packager._archive.entries:* packager._archive.entry_names:* packager._archive.folder_container:*
        packager._archive.manifest*:* packager._archive.*_records:* packager._archive.packed:*
        packager._archive.reader:*
        packager._archive.safetensors*:* packager._archive.stored_tensors:* packager._archive.zip_container:*
        packager._archive.tensor_index:* packager._archive.usual_tensors:*
        packager._codecs.* packager._objects.* packager._audit.* packager._state_dicts.* packager._tensors.*
        packager.errors:* packager._lazy:*
        packager._libraries.* packager._names:* packager._process:* packager._texts:* packager._process:*
        packager._quick_dataclasses:* packager._archive.digesting:*
        """,
        on="bytes of the archive, and what the rows of building make of them",
        why="the code that is on trial; what it calls is in the other rows",
    ),
    Row(
        "reading",
        """
        builtins:bytes.* builtins:bytearray.* builtins:memoryview.cast builtins:memoryview.to*
        _hashlib:* msgpack:packb weakref:finalize.__init__ dataclasses:replace
        dataclasses:_is_dataclass_instance functools:cached_property.__set_name__
        """,
        on="bytes, and dataclasses of packager",
        why="compares digests, and cuts bytes",
    ),
    Row(
        "judging",
        """
        re:Pattern.fullmatch re:Pattern.match re:Pattern.sub re:Match.* builtins:abs builtins:chr
        builtins:hex builtins:ord builtins:pow builtins:repr enum:EnumType.__repr__ enum:Enum.__hash__
        _collections_abc:Mapping.get _collections_abc:Mapping.items _collections_abc:MappingView.__init__
        _collections_abc:ItemsView.__iter__ difflib:* heapq:nlargest
        """,
        on="names, numbers and literals of the table, and classes that are named in a refusal",
        why="compares, and says what is refused, and which name is near",
    ),
    Row(
        "what is installed",
        "posix:stat",
        on="the folders of sys.path",
        why="asks whether anything was installed since libraries were looked for, which say what data may do",
    ),
    Row(
        "state that C code trusts",
        """
        numpy:ndarray.all numpy:ndarray.any numpy:ndarray.min numpy:ndarray.max numpy:ufunc.reduce
        numpy.*core._methods:_all numpy.*core._methods:_any numpy.*core._methods:_amin
        numpy.*core._methods:_amax numpy.*core.multiarray:lexsort
        """,
        on="arrays of NumPy's own class with a dtype of numbers (require_array)",
        why="compares the indices of a sparse matrix with its shape",
    ),
)

_RUNS: Final = """
    numpy*:frombuffer numpy:ndarray.* numpy*:bincount numpy*:empty numpy:iinfo* numpy.*core.getlimits:*
    numpy.*core._methods:_sum numpy:ufunc.reduce builtins:bytes.decode
"""
KIND_ROWS: Final = (
    Row("GLOBAL", on="two names that were resolved before", why="gives what the audit granted"),
    Row("INT", "type:from_bytes", on="bytes of the table", why="bounded by the table"),
    Row("STR", "builtins:bytes.decode", on="bytes of the table", why="bounded by the table"),
    Row("BYTES", on="bytes of the table", why=_NOTHING),
    Row(
        "TENSOR",
        "builtins:memoryview.cast",
        makes="tuple",
        on="numbers of the table, a memoryview",
        why="says where memory lies",
    ),
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
        pathlib*:PurePath._* pathlib*:*Flavour.* posixpath:splitroot posixpath:normcase posixpath:join
        posixpath:_get_sep posix:_path_splitroot_ex ntpath:splitroot ntpath:normcase ntpath:join
        ntpath:_get_bothseps posix:fspath nt:fspath ipaddress:* random:Random.__init__ random:Random.seed
        super:Random.seed _sha512:* _sha2:* torch.nn.parameter:Uninitialized*.__new__
        torch.nn.parameter:Uninitialized*.__torch_function__ type:_make_subclass
        """,
        makes="date datetime time timedelta timezone Decimal SimpleNamespace GenericAlias Random",
        on="scalars, tuples of them and time zones (`_call` in packager/_audit/forms.py); types and plain "
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
        """
        torch._tensor:Tensor.__hash__ fractions:Fraction.__hash__ fractions:Fraction.__eq__
        fractions:Fraction.numerator fractions:Fraction.denominator uuid:UUID.__hash__ uuid:UUID.__eq__
        """,
        on="mappings of collections, dict and StateDict themselves, with keys of exact plain types",
        why="hashes those alone, tensors by identity; assignment makes no missing value",
    ),
    Row("ADD", on="a set, with members of exact plain types", why="hashes those alone"),
    Row("SETCELL", on="a cell", why="keeps what it is given"),
    Row(
        "STATE",
        "random:Random.setstate super:Random.setstate",
        on="objects of the classes in listed_states.py and family_states.py of objects/, and modules",
        why="exact dicts of names become attributes; a UUID takes up an int, Random a tuple of ints, "
        "parts of estimators in C what their checks have seen",
    ),
    *(
        Row(
            kind,
            f"{_RUNS} {more}",
            makes=makes,
            on="bytes of the table, arrays of numbers over them, and what Python makes of these",
            why="numbers become those of Python, texts are cut by their lengths; hashes those alone",
        )
        for kind, makes, more in (
            ("LONG_TUPLE", "tuple", ""),
            ("LONG_LIST", "", ""),
            ("LONG_DICT", "dict zip", ""),
            ("LONG_SET", "set", ""),
            ("LONG_FROZENSET", "frozenset", ""),
            ("EXTEND_LONG", "", "collections:deque.extend"),
            ("UPDATE_LONG", "", ""),
        )
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
        """
        enum:EnumType.__call__ enum:EnumType.__members__ enum:EnumType.__getattr__ enum:Enum.__new__
        enum:Enum.__hash__ enum:Enum.value enum:Flag.* enum:_* enum:property.__get__
        """,
        on="a class of enumerations that is granted: signal-free ones of the default list; a str, or an int",
        why="looks the member up; `__call__` of flags makes a member of an int",
    ),
    Row(
        "typing.form",
        """
        typing:* typing_extensions:* sys:_getframe operator:or_ functools:reduce functools:_lru_cache_wrapper*
        _functools:reduce
        collections.abc:Callable.__class_getitem__ _collections_abc:* builtins:type.__or__ types:UnionType.*
        functools:wraps functools:update_wrapper functools:singledispatch
        """,
        makes="types.UnionType types.GenericAlias",
        on="types that are granted, forms of typing, None and the ellipsis",
        why="puts types together, and hashes them by identity",
    ),
    Row(
        "inspect.signature",
        "inspect:* keyword:* enum:EnumType.__call__ enum:Enum.__new__ enum:property.__get__ enum:*Enum.*",
        makes="inspect.Signature inspect.Parameter",
        on="a name, a number, types and plain data",
        why="looks at names and kinds; a default is compared by identity",
    ),
    Row("io.buffer", "_io:*IO.seek", makes="io.BytesIO io.StringIO", on="bytes or a str", why="copies them"),
    Row(
        "zoneinfo",
        makes="zoneinfo.ZoneInfo",
        on="a key of those that the system or tzdata lists",
        why="gives the zone of that key; the list is made once, without the data",
    ),
    Row(
        "itertools",
        makes="itertools.count itertools.repeat",
        on="numbers; any plain data to repeat",
        why="keeps it",
    ),
    Row(
        "exception",
        "builtins:*.__init__ builtins:*.__new__ type:__new__",
        makes="exceptions of Python, and those that the caller trusts",
        on="plain data",
        why="keeps its arguments; nothing is raised, and no `__init__` in Python runs",
    ),
    Row(
        "weakref.collection",
        "weakref:Weak*.__init__ weakref:WeakValueDictionary.update _weakrefset:WeakSet.__init__",
        on="nothing",
        why="makes an empty one",
    ),
    Row("decimal.context", makes="decimal.Context", on="numbers and names of signals", why="keeps them"),
    Row(
        "types.mappingproxy", makes="types.MappingProxyType", on="a dict itself", why="keeps what it is given"
    ),
    Row("struct.struct", makes="struct.Struct", on="a str", why="counts what it names"),
    Row(
        "stateless",
        "random:SystemRandom.* random:Random.__init__ super:*",
        makes="SystemRandom",
        on="a name of three",
        why="gives a mark",
    ),
    Row(
        "regex.pattern",
        "regex*:* _regex*:* unicodedata:* locale:getpreferredencoding _locale:getencoding "
        "re:Pattern.findall enum:Enum.__new__ enum:EnumType.__call__ enum:Flag.* enum:property.__get__ "
        "enum:*Enum.*",
        on="a str or bytes, and an int",
        why="compiles; nothing is matched",
    ),
    Row(
        "functools.cache",
        "functools:lru_cache functools:lru_cache.<locals>.decorating_function functools:update_wrapper "
        "builtins:setattr",
        on="a listed function or class of modules",
        why="keeps what it is given",
    ),
    Row("fraction", "fractions:Fraction.__new__ math:gcd", on="two ints", why="divides by the gcd"),
    Row(
        "re.pattern",
        "re:* re._*:* _sre:* enum:Flag.* enum:Enum.__new__ enum:Enum.value enum:EnumType.__call__ "
        "enum:property.__get__",
        on="a str or bytes, and an int",
        why="compiles; nothing is matched",
    ),
    Row(
        "array.array",
        "array:array.frombytes array:array.fromunicode",
        makes="array.array",
        on="bytes of the table",
        why="copies them",
    ),
    Row(
        "logging.logger",
        """
        logging:getLogger logging:Manager.* logging:Logger.__init__ logging:Filterer.* logging:_*
        threading:RLock
        """,
        on="a str",
        why="looks up or makes a logger",
    ),
    Row(
        "namedtuple",
        on="a named tuple, which the caller trusts",
        why="tuple.__new__ keeps values",
        trusted="builtins:dir",
    ),
    Row(
        "scalar subclass",
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
        """
        numpy:dtype.newbyteorder numpy:datetime_data numpy.*core._internal:* numpy.*core._dtype:*
        numpy.*core.numerictypes:* numpy.*core.numeric:isscalar
        numpy.*core.arrayprint:_get_legacy_print_mode re:Pattern.findall re:findall re:_compile
        """,
        makes="numpy.dtype StringDType",
        on="names of the table of dtypes, other dtypes, ints; plain data for a missing value",
        why="computes a layout within bounds that were checked",
    ),
    Row("numpy.scalar", "numpy:frombuffer", on="bytes of the table", why="copies them"),
    Row(
        "numpy.bit_generator",
        """
        numpy.*core._ufunc_config:errstate* numpy.*core._multiarray_umath:_make_extobj
        _contextvars:ContextVar.* random:SystemRandom.getrandbits posix:urandom type:from_bytes
        threading:RLock
        """,
        makes="MT19937 PCG64 PCG64DXSM Philox SFC64 RandomState",
        on="a seed sequence or None, and a dict of plain data and arrays",
        why="one of NumPy's own algorithms takes up its state",
    ),
    Row("numpy.generator", makes="numpy.random.Generator", on="a bit generator", why="keeps it"),
    Row(
        "numpy.random_state",
        makes="numpy.random.RandomState",
        on="a bit generator, a bool and a float",
        why="keeps them",
    ),
    Row(
        "numpy.seed_sequence",
        makes="numpy.random.SeedSequence",
        on="plain data, two ints",
        why="mixes numbers into a pool of bounded size",
    ),
    Row("numpy.subclass", on="a class that the caller trusts, an array", why="a view of the array"),
    Row(
        "numpy.ndarray",
        """
        numpy:ndarray.reshape numpy:ndarray.ravel numpy:ndarray.item numpy:ndarray.astype numpy:nditer.*
        numpy.*core.records:recarray.__* numpy.matrixlib.defmatrix:matrix.__* numpy.*core._internal:*
        re:Pattern.findall re:findall re:_compile
        """,
        makes="numpy.ndarray",
        on="stored memory and a dtype; elements are kept, or plain data for strings",
        why="a view of memory whose bounds were checked",
    ),
    Row(
        "numpy.masked",
        """
        numpy.ma.core:MaskedArray.__new__* numpy.ma.core:MaskedArray.__array_finalize__
        numpy.ma.core:MaskedArray._update_from numpy.ma.core:MaskedArray.dtype
        numpy.ma.core:MaskedArray.shape numpy.ma.core:getmask* numpy.ma.core:make_mask_*
        numpy.ma.core:_check_fill_value numpy.ma.core:_replace_dtype_fields*
        numpy.ma.core:default_fill_value* numpy.ma.core:_recursive_fill_value* numpy.ma.core:_get_dtype_of
        numpy.*core._internal:_array_descr* numpy.*core.fromnumeric:shape
        numpy.*core.fromnumeric:_shape_dispatcher numpy.lib._stride_tricks_impl:* numpy.lib.stride_tricks:*
        numpy.lib._function_base_impl:iterable numpy.lib.function_base:iterable numpy:array numpy:asarray
        numpy:asanyarray numpy:generic.view numpy:ndarray.reshape
        """,
        on="arrays",
        why="puts arrays together",
    ),
    Row(
        "kellet.subclass",
        on="a class that the caller trusts, an array",
        why="a tensor over the array",
        trusted=_TENSOR_OF_KELLET + "kellet.core.conversion:*",
    ),
    Row("kellet.tensor", _TENSOR_OF_KELLET, on="stored memory", why="a tensor over an array"),
    Row(
        "kellet.device",
        """
        kellet.core.creation:zeros kellet.core.creation:_* kellet.core.axes:shape_of*
        kellet.core.wrong_arguments:_explaining.*
        kellet.core.device:* kellet.core.conversion:Conversion.device kellet.autograd.bridge:wrap
        kellet.dtypes:get_default_dtype
        """,
        on="nothing",
        why="asks a fresh tensor for the one device",
    ),
    Row("kellet.size", on="ints", why="a tuple of them"),
    Row(
        "kellet.module",
        _STATE_OF_KELLET,
        on="granted classes of modules; tables of tensors and modules by name (check_tables, check_made); a "
        "state of plain data and tensors",
        why="the loading of states of kellet's own classes; data alone has no hooks",
        trusted=_HOOKS_OF_KELLET,
    ),
    Row(
        "kellet.hooks",
        "kellet.hooks:HookRegistry.__init__",
        on="a fresh registry; data alone has no hooks",
        why="keeps hooks",
        trusted=_HOOKS_OF_KELLET,
    ),
    Row(
        "kellet.handle",
        """
        kellet.hooks:HookRegistry.__init__ kellet.hooks:RemovableHandle.__init__
        kellet.hooks:RemovableHandle.attach kellet.nn.storing:hook_registry
        kellet.nn.module_hooks:CallHooks.__init__ kellet.nn.module_hooks:ModuleCall._own_call_hooks
        """,
        on="a module, or a registry",
        why="remembers a registry and a number",
    ),
    Row(
        "kellet.hook",
        on="nothing: data alone has none, unless the caller trusts the class",
        why="refused",
        trusted="kellet.nn.storing:restore_hook_object* weakref:finalize.__init__",
    ),
    Row("kellet.gate", "kellet.nn.hook:HookGate.__init__", on="a word, and a Hook", why="a weak reference"),
    Row(
        "torch.value",
        makes="torch.Size torch.device",
        on="ints, or names of torch's own values",
        why="looks a dtype, layout or format up, and compares its type",
    ),
    Row(
        "torch.subclass",
        "torch._C:TensorBase.as_subclass torch._C:TensorBase.requires_grad_ torch._tensor:_convert* "
        "torch._tensor:Tensor.__torch_function__",
        on="a listed class of parameters without a shape, or one that the caller trusts, and a tensor",
        why="a view of the tensor; any other class is the caller's to trust",
        trusted="torch._tensor:Tensor.__torch_function__.* torch._C:DisableTorchFunctionSubclass.__exit__",
    ),
    Row(
        "torch.tensor",
        """
        torch:empty torch:zeros torch:frombuffer torch:_neg_view torch._C:TensorBase.conj
        torch._C:TensorBase.expand torch._C:TensorBase.to
        torch._C:TensorBase.requires_grad_ torch._C:TensorBase.set_ torch._C:TensorBase.untyped_storage
        torch.nn.parameter:Parameter.__new__ type:_make_subclass
        torch.cuda:_lazy_init torch.cuda:is_initialized torch.cuda:<lambda>
        torch.serialization:default_restore_location torch.serialization:_* torch:typename
        torch._C:_get_privateuse1_backend_name importlib._bootstrap:ModuleSpec.parent
        torch._C:StorageBase.nbytes torch.storage:_StorageBase.__init__
        """,
        makes="torch.nn.Parameter",
        on="stored memory, or a shape",
        why="a view of memory whose bounds were checked",
    ),
    Row(
        "torch.sparse",
        "torch:sparse_* torch._C:TensorBase.requires_grad_",
        on="dense tensors and a shape",
        why="torch checks the indices itself (check_invariants)",
    ),
    Row(
        "torch.quantized",
        """
        torch:_make_per_* torch:tensor torch._C:TensorBase.all torch._C:TensorBase.any
        torch._C:TensorBase.dim torch._C:TensorBase.is_complex torch._C:TensorBase.is_floating_point
        torch._C:TensorBase.isfinite
        """,
        on="tensors and numbers",
        why="puts tensors together",
    ),
    Row(
        "torch.generator",
        "torch._C:Generator.set_state torch._C:TensorBase.clone torch._C:TensorBase.contiguous "
        "torch._C:TensorBase.numpy",
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
        trusted="torch.nn.modules.module:Module.register_*",
    ),
    Row(
        "torch.handle",
        "torch.utils.hooks:RemovableHandle.__init__",
        on="a module",
        why="remembers a table and a number",
    ),
    Row(
        "kellet.optimizer",
        """
        kellet.optim.*:*.__setstate__ kellet.optim.optimizer:Optimizer._make_hooks
        kellet.hooks:HookRegistry.__init__
        """,
        on="granted classes of optimisers; groups and states of plain data and tensors (_check_state)",
        why="takes up its state",
    ),
    Row(
        "torch.optimizer",
        """
        torch.optim.*:*.__setstate__ torch.optim.optimizer:Optimizer._patch_step_function
        torch.optim.optimizer:Optimizer.profile_hook_step* torch.optim.optimizer:_get_scalar_dtype
        torch._tensor:Tensor.__hash__ torch:is_tensor torch:tensor functools:update_wrapper functools:wraps
        typing:ParamSpec*
        """,
        on="granted classes of optimisers; groups and states of plain data and tensors (_check_state)",
        why="takes up its state, and hashes tensors by identity",
    ),
)

ROWS: Final = {row.where: row for row in (*KIND_ROWS, *CODEC_ROWS, *LIBRARY_ROWS)}
_ALWAYS: Final = (EVERYWHERE, *LOAD_ROWS)


@cache
def is_listed(name: str, where: str | None = None, *, trusted: bool = False) -> bool:
    """Say whether a function may be called: by any row, or while a kind or codec is built.

    With `trusted`, for an object that the caller vouches for a name of.
    """
    building = (ROWS[where],) if where in ROWS else () if where else tuple(ROWS.values())
    return any(row.allows(name, trusted=trusted) for row in (*_ALWAYS, *building))
