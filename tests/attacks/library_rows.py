"""What codecs for objects of other libraries call while they build: rows of the list in inert_calls.py.

Each object is made by few functions of its library, of what a check of ours has read before.
"""

from __future__ import annotations

from typing import Final

from .call_rows import Row

_TEXT: Final = """
    json:* json.decoder:* json.scanner:* json.encoder:* _json:* re:Pattern.match re:Match.* re:findall
    re:_compile re:Pattern.findall base64:* binascii:a2b_base64
"""
_ARROW: Final = """
    pyarrow.types:is_* numpy:frombuffer numpy.*core.multiarray:unpackbits numpy:ndarray.astype
    numpy:ndarray.sum numpy.*core._methods:_sum numpy:ndarray.any numpy:ndarray.all
    numpy:ndarray.min numpy:ndarray.max numpy.*core._methods:_*
"""
# What makes arrays, indexes and blocks; nothing that reads files, evaluates texts or prints.
_PANDAS: Final = (
    _ARROW
    + """
    pandas.core.arrays.* pandas.core.dtypes.* pandas.core.indexes.* pandas.core.construction:*
    pandas.core.internals.* pandas.core.common:* pandas.core.algorithms:* pandas.core.base:*
    pandas.core.flags:Flags.* pandas.core.generic:NDFrame.__init__ pandas.core.generic:NDFrame.__setattr__
    pandas.core.generic:NDFrame.__getattr__ pandas.core.generic:NDFrame._* pandas.core.generic:NDFrame.attrs
    pandas.core.generic:NDFrame.flags pandas.core.series:Series.__init__ pandas.core.series:Series.axes
    pandas.core.series:Series.name pandas.api.internals:create_dataframe_from_blocks* pandas.core.ops.common:*
    pandas.core.arraylike:* pandas.core.missing:* pandas.core.roperator:* pandas.tseries.frequencies:*
    pandas.util._exceptions:* pandas.util._validators:* pandas.util._decorators:* pandas._config*:*
    pandas.core.series:Series._clear_item_cache numpy.*core.numeric:*isclose* numpy:generic.all
    numpy.*core._dtype:* numpy.*core.multiarray:bincount numpy.*core.getlimits:iinfo.*
    numpy.*core._multiarray_umath:_array_converter.* numpy.*core._multiarray_umath:_unique_hash
    numpy.*core._ufunc_config:errstate.* numpy.*core._multiarray_umath:_make_extobj
    numpy.*core.fromnumeric:all
    numpy.*core.fromnumeric:_all_dispatcher numpy.*core.fromnumeric:_wrapreduction_any_all*
    numpy.lib.*arraysetops*:unique numpy.lib.*arraysetops*:_un* numpy.*core.numerictypes:issub*
    numpy.ma.core:getmask numpy.ma.core:is_masked numpy:array numpy:asarray
    numpy:asanyarray numpy:datetime_data numpy:ndarray.flatten numpy:ndarray.ravel numpy:ndarray.reshape
    numpy:ndarray.sort builtins:str.upper enum:Enum.value enum:property.__get__
    weakref:WeakValueDictionary.get zoneinfo._zoneinfo:ZoneInfo.__new__ re:_compile re:compile
    _contextvars:ContextVar.* warnings:* _warnings:_filters_mutated numpy:generic.view
    super:FrozenList.__getitem__
    """
)
_POLARS: Final = """
    polars._dependencies:* polars._utils.* polars.dataframe.frame:DataFrame.__init__
    polars.dataframe.frame:DataFrame._from_pydf polars.dataframe.frame:DataFrame.lazy
    polars.dataframe.frame:DataFrame.select* polars.dataframe.frame:DataFrame.to_s* polars.datatypes.*
    polars.expr.* polars.functions.* polars.lazyframe.engine:* polars.lazyframe.engine_config:*
    polars.lazyframe.frame:LazyFrame._* polars.lazyframe.frame:LazyFrame.select*
    polars.lazyframe.opt_flags:QueryOptFlags.* polars.series.* builtins:Py*
    _abc:get_cache_token dataclasses:is_dataclass inspect:isclass builtins:slice.indices builtins:str.upper
    functools:singledispatch.* numpy.*core._asarray:* numpy.*core.shape_base:*atleast_1d* numpy.ma.core:get*
    numpy:array numpy:asanyarray os:_Environ.__getitem__ os:_createenviron.* weakref:WeakKeyDictionary.*
    type:col type:default type:from_dicts type:lit type:new_* type:when type:global_categories
"""
_COUNTING: Final = """
    numpy.*core._methods:_sum numpy.*core.multiarray:bincount numpy:array numpy:asarray numpy:frombuffer
    numpy:ndarray.astype numpy:ndarray.nonzero numpy:ndarray.ravel numpy:ndarray.sum numpy:ufunc.reduceat
"""
LIBRARY_ROWS: Final = (
    Row(
        "tokenizers.tokenizer",
        _TEXT + "tokenizers:Tokenizer.* type:from_str type:__new__",
        makes="models.Unigram",
        on="a JSON text whose texts, numbers and lists were bounded",
        why="parses a text into tables in Rust, and compiles its patterns; nothing is encoded",
    ),
    Row(
        "tokenizers.part",
        _TEXT + "tokenizers:Tokenizer.* type:from_str type:__new__",
        makes="models.Unigram",
        on="a JSON text whose texts, numbers and lists were bounded",
        why="as for tokenizers.tokenizer",
    ),
    Row("tokenizers.added_token", makes="AddedToken", on="a text and five flags", why="keeps them"),
    *(
        Row(
            f"pyarrow.{name}",
            _ARROW,
            makes=makes,
            on="names, numbers, and memory, in arrays inside of the types that they must have",
            why="Arrow keeps what it is given, and looks at every offset and index of it (validate)",
        )
        for name, makes in (
            ("type", "pyarrow.DataType"),
            ("field", "pyarrow.Field"),
            ("schema", "pyarrow.Schema"),
            ("array", "pyarrow.Array"),
            ("chunked_array", "pyarrow.ChunkedArray"),
            ("table", "pyarrow.Table pyarrow.RecordBatch"),
        )
    ),
    *(
        Row(
            f"pandas.{name}",
            _PANDAS,
            makes=makes,
            on="arrays of NumPy and pyarrow, labels of exact plain types, texts that name an offset; codes, "
            "masks and places that were checked (pandas_values.py, pandas_arrays.py, pandas_codec.py)",
            why="pandas keeps what it is given under dtypes that are said, so that it infers none",
        )
        for name, makes in (
            ("scalar", "Timestamp Timedelta Period Interval"),
            ("offset", "BaseOffset"),
            ("dtype", "ExtensionDtype"),
            ("array", "ExtensionArray"),
            ("index", "Index"),
            ("series", "Series"),
            ("frame", "DataFrame"),
        )
    ),
    *(
        Row(
            f"polars.{name}",
            _POLARS,
            makes=makes,
            on="arrays of NumPy of the dtype that is said, lists of texts, and codes and lengths that were "
            "checked",
            why="polars copies numbers and texts, and cuts them into lists by expressions of ours",
        )
        for name, makes in (("dtype", "DataType"), ("series", "Series"), ("frame", "DataFrame"))
    ),
    Row(
        "sentencepiece.processor",
        """
        numpy:frombuffer numpy:ndarray.astype numpy:ndarray.min numpy:ndarray.max numpy.*core._methods:_*
        sentencepiece:SentencePieceProcessor.* type:LoadFromSerializedProto type:from_bytes
        """,
        makes="SentencePieceProcessor",
        on="a model whose pieces and tries were checked",
        why="parses a message, and makes a trie of its pieces; nothing is encoded",
    ),
    Row(
        "tiktoken.encoding",
        "re:findall re:_compile re:Pattern.findall tiktoken.core:Encoding.__init__",
        makes="CoreBPE",
        on="a pattern, and tokens and numbers that differ",
        why="fills two tables in Rust, and compiles the pattern",
    ),
    Row(
        "onnxruntime.session",
        """
        onnxruntime.capi.onnxruntime_inference_collection:* os:_Environ.__getitem__ os:_createenviron.*
        type:get_available_providers type:get_default_session_options type:get_provider*
        type:initialize_session type:from_bytes
        """,
        makes="InferenceSession",
        on="a model without other files, whose arrays are bounded",
        why="plans the graph on the processor, folds no constant: no operation runs before the caller's",
    ),
    Row(
        "lightgbm.booster",
        _TEXT
        + _COUNTING
        + """
        lightgbm.basic:Booster.__init__ lightgbm.basic:Booster._free_buffer
        lightgbm.basic:Booster._get_loaded_param lightgbm.basic:Booster.model_from_string
        lightgbm.basic:_* _ctypes:addressof _ctypes:byref ctypes:create_string_buffer sys:audit
        importlib._bootstrap:ModuleSpec.parent re:fullmatch
        """,
        makes="lightgbm.Booster",
        on="the text of a model of which every line was checked; plain data beside it",
        why="parses trees into tables in C++; nothing is predicted or trained",
    ),
    Row(
        "xgboost.booster",
        _TEXT
        + _COUNTING
        + """
        xgboost.core:Booster.__init__* xgboost.core:Booster._configure_constraints
        xgboost.core:Booster.load_model* xgboost.core:Booster.set_param xgboost.core:_*
        xgboost.core:c_array xgboost.core:c_str _ctypes:PyCArrayType.from_buffer _ctypes:byref
        re:_compile re:fullmatch typing:*
        """,
        makes="xgboost.Booster",
        on="JSON of which every value was checked, and which we write anew",
        why="as for lightgbm.booster",
    ),
    Row(
        "catboost.model",
        _TEXT
        + _COUNTING
        + """
        catboost.core:_CatBoostBase.* catboost.core:CatBoost.* catboost.core:_* _struct:calcsize
        _struct:unpack math:isfinite numpy:ndarray.reshape numpy:ufunc.accumulate builtins:setattr
        """,
        makes="CatBoost CatBoostClassifier CatBoostRanker CatBoostRegressor",
        on="a binary model of which every number was checked, and plain data; what else "
        "is in a model needs the name of its class",
        why="as for lightgbm.booster",
    ),
    Row(
        "gensim.word2vec",
        on="a listed class of gensim, whose attributes are judged by themselves (Word2VecCheck)",
        why="puts values into the __dict__, and two functions of gensim's own",
    ),
    Row(
        "spacy.blank",
        on="nothing: data alone has none, unless the caller trusts the class",
        why="spaCy makes a blank pipeline, asks its registry for the parts, and parses its own configuration",
    ),
    Row(
        "scipy.kd_tree",
        """
        scipy.spatial._kdtree:KDTree.* super:* numpy:ndarray.* numpy.*core._internal:*
        numpy.*core._methods:_* numpy:asanyarray numpy:asarray
        numpy.*core.fromnumeric:_* numpy.*core.fromnumeric:nonzero numpy.*core.fromnumeric:ravel
        numpy.*core.multiarray:bincount numpy.*core.numeric:*flatnonzero* math:isfinite
        """,
        makes="KDTree cKDTree",
        on="arrays and ints that SpatialTreeCheck has looked at",
        why="takes up its state, and makes addresses of the numbers of its nodes",
    ),
    Row(
        "torch_geometric.inspector",
        """
        torch_geometric.inspector:* inspect:* typing:* importlib:import_module re:* enum:Enum.__new__
        enum:EnumType.__call__ sys:getrecursionlimit
        """,
        makes="Inspector",
        on="names of six methods and of their parameters, and a class that is listed or stored",
        why="reads what the methods of the class say that they take; no text of the archive becomes code",
    ),
)
