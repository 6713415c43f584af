"""The names on the default list, by module: tables alone; defaults.py says what they are for."""

from __future__ import annotations

TYPE_CHECKING = False  # as in packager.lazy
if TYPE_CHECKING:
    from typing import Final

EXCEPTIONS: Final = """
    ArithmeticError AssertionError AttributeError BaseException BlockingIOError BrokenPipeError BufferError
    BytesWarning ChildProcessError ConnectionAbortedError ConnectionError ConnectionRefusedError
    ConnectionResetError DeprecationWarning EOFError EncodingWarning Exception FileExistsError
    FileNotFoundError FloatingPointError FutureWarning GeneratorExit ImportError ImportWarning
    IndentationError IndexError InterruptedError IsADirectoryError KeyError KeyboardInterrupt LookupError
    MemoryError ModuleNotFoundError NameError NotADirectoryError NotImplementedError OSError OverflowError
    PendingDeprecationWarning PermissionError ProcessLookupError RecursionError ReferenceError
    ResourceWarning RuntimeError RuntimeWarning StopAsyncIteration StopIteration SyntaxError SyntaxWarning
    SystemError SystemExit TabError TimeoutError TypeError UnboundLocalError UnicodeDecodeError
    UnicodeEncodeError UnicodeError UnicodeTranslateError UnicodeWarning UserWarning ValueError Warning
    ZeroDivisionError
"""
"""Python's own exceptions: to hold one, or to make one of plain data, raises nothing."""

# Classes and functions that do no more than compute, so that a model may hold them.
VALUES: Final = {
    "builtins": """
        int float str bytes bool list dict tuple set frozenset object complex bytearray range slice
        enumerate zip map filter reversed len abs max min sum sorted round any all divmod pow repr
        isinstance str.capitalize str.casefold str.lower str.lstrip str.rstrip str.split str.splitlines
        str.strip str.swapcase str.title str.upper
    """
    + EXCEPTIONS,
    "typing": "Any",
    "inspect": "_empty",
    "collections.abc": """
        AsyncGenerator AsyncIterable AsyncIterator Awaitable Callable Collection Container Coroutine
        Generator Hashable ItemsView Iterable Iterator KeysView Mapping MappingView MutableMapping
        MutableSequence MutableSet Reversible Sequence Set Sized ValuesView
    """,
    "types": "NoneType EllipsisType NotImplementedType SimpleNamespace",
    "collections": "OrderedDict defaultdict deque Counter ChainMap",
    "math": """
        acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh degrees dist erf erfc exp
        exp2 expm1 fabs floor fmod frexp fsum gamma gcd hypot isclose isfinite isinf isnan isqrt lcm
        ldexp lgamma log log10 log1p log2 modf nextafter pow prod radians remainder sin sinh sqrt
        tan tanh trunc ulp
    """,
    # Universal functions, then functions in Python, then the types of scalars.
    "numpy": """
        abs absolute acos acosh add arccos arccosh arcsin arcsinh arctan arctan2 arctanh asin asinh
        atan atan2 atanh bitwise_and bitwise_count bitwise_invert bitwise_left_shift bitwise_not
        bitwise_or bitwise_right_shift bitwise_xor cbrt ceil conj conjugate copysign cos cosh
        deg2rad degrees divide divmod equal exp exp2 expm1 fabs float_power floor floor_divide fmax
        fmin fmod frexp gcd greater greater_equal heaviside hypot invert isfinite isinf isnan isnat
        lcm ldexp left_shift less less_equal log log10 log1p log2 logaddexp logaddexp2 logical_and
        logical_not logical_or logical_xor matmul matvec maximum minimum mod modf multiply negative
        nextafter not_equal positive pow power rad2deg radians reciprocal remainder right_shift rint
        sign signbit sin sinh spacing sqrt square subtract tan tanh true_divide trunc vecdot vecmat
        all amax amin any argmax argmin argsort array asarray atleast_1d atleast_2d average clip
        concatenate copy corrcoef cov cumprod cumsum diag diff dot einsum max mean median min nanmax
        nanmean nanmin nanstd nansum norm outer percentile prod quantile ravel round sort squeeze
        stack std sum take transpose unique var vstack hstack where bool bool_ bytes_ complex64
        complex128 datetime64 float16 float32 float64 int8 int16 int32 int64 intp longdouble ndarray
        ndarray.all ndarray.any ndarray.argmax ndarray.argmin ndarray.astype ndarray.clip ndarray.copy
        ndarray.cumsum ndarray.dot ndarray.flatten ndarray.max ndarray.mean ndarray.min ndarray.prod
        ndarray.ravel ndarray.reshape ndarray.round ndarray.squeeze ndarray.std ndarray.sum
        ndarray.transpose ndarray.var
        str_ timedelta64 uint8 uint16 uint32 uint64
    """,
    "numpy.linalg": "cholesky det eig eigh eigvals inv lstsq matrix_power norm pinv qr slogdet solve svd",
    "scipy.linalg": "cho_factor cho_solve cholesky det expm inv lstsq norm pinv qr solve sqrtm svd",
    "scipy.special": """
        boxcox digamma entr erf erfc erfcinv erfinv expit expm1 exp2 exp10 gamma gammaln inv_boxcox
        kl_div log_expit log_ndtr logit loggamma log1p log_softmax logsumexp ndtr ndtri softmax
        softplus xlog1py xlogy
    """,
    "torch": """
        abs acos acosh add asin asinh atan atan2 atanh bmm cat ceil clamp cos cosh div dot einsum
        erf exp expm1 floor log log10 log1p log2 logsumexp matmul max maximum mean min minimum mm
        mul neg norm pow prod reciprocal relu round rsqrt selu sigmoid sign sin sinh softmax
        log_softmax sqrt square stack sub sum tan tanh transpose trunc where zeros ones Tensor
    """,
    # Methods that every tensor of PyTorch has; none changes it.
    "torch._C": """
        TensorBase.abs TensorBase.acos TensorBase.acosh TensorBase.asin TensorBase.asinh TensorBase.atan
        TensorBase.atanh TensorBase.ceil TensorBase.clamp TensorBase.cos TensorBase.cosh TensorBase.cumsum
        TensorBase.erf TensorBase.exp TensorBase.expm1 TensorBase.flatten TensorBase.floor
        TensorBase.hardshrink TensorBase.log TensorBase.log10 TensorBase.log1p TensorBase.log2
        TensorBase.log_softmax TensorBase.logit TensorBase.logsumexp TensorBase.max TensorBase.mean
        TensorBase.min TensorBase.neg TensorBase.prelu TensorBase.prod TensorBase.reciprocal
        TensorBase.relu TensorBase.round TensorBase.rsqrt TensorBase.sigmoid TensorBase.sign TensorBase.sin
        TensorBase.sinc TensorBase.sinh TensorBase.softmax TensorBase.sqrt TensorBase.square
        TensorBase.squeeze TensorBase.std TensorBase.sum TensorBase.tan TensorBase.tanh TensorBase.trunc
        TensorBase.var
    """,
    "gensim.models.tfidfmodel": "df2idf",
    "gensim.utils": "identity",
    "kellet": """
        abs cat cos exp log matmul max maximum mean min minimum relu sigmoid sin softmax sqrt stack
        sum tanh where
    """,
}
# Constructors that take whatever they are given in bounded time, and keep it.
CALLED: Final = {
    "datetime": "date datetime time timedelta timezone",
    "decimal": "Decimal",
    "pathlib": "PurePath PurePosixPath PureWindowsPath",
    "ipaddress": "IPv4Address IPv6Address IPv4Network IPv6Network IPv4Interface IPv6Interface",
    "types": "SimpleNamespace GenericAlias",
    "random": "Random",
    "torch.nn.parameter": "UninitializedParameter UninitializedBuffer",
}
CREATED: Final = {
    "builtins": f"object {EXCEPTIONS}",  # an object is a mark that is equal to nothing else
    "uuid": "UUID SafeUUID",
    "string": "Template Formatter",
    "inspect": "_ParameterKind",
    "re": "RegexFlag",
    "kellet.nn": "Hook ContextualHook StateDict",
    "numpy": "poly1d",
    "numpy.polynomial": "Polynomial Chebyshev Hermite HermiteE Laguerre Legendre",
    "scipy.sparse": """
        bsr_array bsr_matrix coo_array coo_matrix csc_array csc_matrix csr_array csr_matrix
        dia_array dia_matrix dok_array dok_matrix lil_array lil_matrix
    """,
    "transformers.tokenization_python": "Trie ExtensionsTrie",
    # Callable objects that PyTorch registers as hooks.
    "torch.nn.utils.weight_norm": "WeightNorm",
    "torch.nn.utils.spectral_norm": "SpectralNorm SpectralNormStateDictHook SpectralNormLoadStateDictPreHook",
}

# Parts of estimators that are made in C: what they are called with, and the state that they are given, is
# checked by tree_state.py and neighbor_state.py in packager/codecs. The losses are made of numbers.
FAMILY_CALLED: Final = {
    "sklearn.tree._tree": "Tree",
    "sklearn.neighbors._kd_tree": "newObj",
    "sklearn.neighbors._ball_tree": "newObj",
    "sklearn.metrics._dist_metrics": "newObj",
    "sklearn.linear_model._sgd_fast": """
        EpsilonInsensitive Hinge ModifiedHuber SquaredEpsilonInsensitive SquaredHinge
    """,
    "sklearn._loss._loss": """
        CyAbsoluteError CyExponentialLoss CyHalfBinomialLoss CyHalfGammaLoss CyHalfMultinomialLoss
        CyHalfPoissonLoss CyHalfSquaredError CyHalfTweedieLoss CyHalfTweedieLossIdentity CyHuberLoss
        CyPinballLoss __pyx_unpickle_CyHalfMultinomialLoss
    """,
    "river._river_rust.vectordict": "VectorDict",  # a table of numbers, what is missing, a mask and a flag
}
# What these are called with instead of numbers: arrays, or one class of those below.
CALLED_WITH_ARRAYS: Final = frozenset({"sklearn.tree._tree:Tree"})
CALLED_WITH_PLAIN_DATA: Final = frozenset({"river._river_rust.vectordict:VectorDict"})
CALLED_WITH_CLASSES: Final = {
    "sklearn.neighbors._kd_tree:newObj": "sklearn.neighbors",
    "sklearn.neighbors._ball_tree:newObj": "sklearn.neighbors",
    "sklearn.metrics._dist_metrics:newObj": "sklearn.metrics._dist_metrics",
    "sklearn._loss._loss:__pyx_unpickle_CyHalfMultinomialLoss": "sklearn._loss._loss",
}
FAMILY_VALUES: Final = {
    "sklearn.neighbors": "KDTree BallTree",
    "sklearn.metrics._dist_metrics": """
        BrayCurtisDistance64 CanberraDistance64 ChebyshevDistance64 DiceDistance64 EuclideanDistance64
        HammingDistance64 HaversineDistance64 JaccardDistance64 KulsinskiDistance64 MahalanobisDistance64
        ManhattanDistance64 MatchingDistance64 MinkowskiDistance64 RogersTanimotoDistance64
        RussellRaoDistance64 SEuclideanDistance64 SokalMichenerDistance64 SokalSneathDistance64
        BrayCurtisDistance32 CanberraDistance32 ChebyshevDistance32 DiceDistance32 EuclideanDistance32
        HammingDistance32 HaversineDistance32 JaccardDistance32 KulsinskiDistance32 MahalanobisDistance32
        ManhattanDistance32 MatchingDistance32 MinkowskiDistance32 RogersTanimotoDistance32
        RussellRaoDistance32 SEuclideanDistance32 SokalMichenerDistance32 SokalSneathDistance32
    """,
    "sklearn._loss._loss": "CyHalfMultinomialLoss",
    "scipy._lib.array_api_compat.numpy": "asarray",  # what a spline of SciPy makes arrays with
}
# Made beside the classes of family_names.py, of other libraries or in another way.
FAMILY_PARTS: Final = {
    "gensim.corpora.dictionary": "Dictionary",
    "gensim.models.keyedvectors": "KeyedVectors",
    "gensim.models.ldamodel": "LdaModel LdaState",
    "gensim.models.tfidfmodel": "TfidfModel",
    "gensim.models.word2vec": "Word2Vec",
    "lifelines.utils": "CensoringType",  # an enumeration, whose members are looked up
    "scipy.interpolate": "Akima1DInterpolator BSpline CubicSpline PPoly PchipInterpolator",
    "scipy.interpolate._bsplines": "_BSpline",  # what a BSpline of SciPy 1.18 hands everything to
    "sklearn.utils": "Bunch",
}

# Only beside code that the caller loads anyway: paths of this machine, then parts of tables made in C, which
# trust their arguments and their state.
CALLED_BESIDE_CODE: Final = {
    "pathlib": "Path PosixPath WindowsPath",
    "pandas": "StringDtype CategoricalDtype DatetimeTZDtype Index MultiIndex RangeIndex",
    "pandas._libs.arrays": "__pyx_unpickle_NDArrayBacked",
    "pandas._libs.internals": "_unpickle_block",
    "pandas.core.indexes.base": "_new_Index",
    "pandas.core.internals": "BlockManager SingleBlockManager",
}
# Containers that hand on what they are asked for to what they hold, and what a command line was parsed to.
CREATED_BESIDE_CODE: Final = {
    "argparse": "Namespace",
    "contextlib": "nullcontext",
    "logging": "Formatter LoggerAdapter PercentStyle StrFormatStyle StringTemplateStyle",
    "statistics": "NormalDist",
    "textwrap": "TextWrapper",
    "collections": "UserDict UserList UserString",
    "pathlib": "Path PosixPath WindowsPath",
}
# Classes of externs whose own methods do no more than take up items, pairs or a state.
FILLED_BESIDE_CODE: Final = {
    "einops.layers.torch": "Rearrange Reduce",
    "lightning.fabric.utilities": "AttributeDict",
    "lightning_fabric.utilities": "AttributeDict",
    "networkx.classes.coreviews": """
        AdjacencyView AtlasView MultiAdjacencyView UnionAdjacency UnionAtlas UnionMultiAdjacency
        UnionMultiInner
    """,
    "networkx.classes.reportviews": """
        DegreeView DiDegreeView DiMultiDegreeView EdgeDataView EdgeView InDegreeView InEdgeDataView
        InEdgeView InMultiDegreeView InMultiEdgeDataView InMultiEdgeView MultiDegreeView
        MultiEdgeDataView MultiEdgeView NodeDataView NodeView OutDegreeView OutEdgeDataView
        OutEdgeView OutMultiDegreeView OutMultiEdgeDataView OutMultiEdgeView
    """,
    "pandas": "Categorical CategoricalIndex DataFrame DatetimeIndex Series",
    "torch": "ScriptObject",
}
# Operators that make a new value of the two that they are given, and change neither.
_OPERATORS: Final = """
    abs add and_ eq floordiv ge gt invert is_ is_not le lshift lt matmul mod mul ne neg not_ or_ pos pow
    rshift sub truediv truth xor
"""
VALUES_BESIDE_CODE: Final = {
    "_operator": _OPERATORS,
    "collections": "UserDict UserList UserString",
    "pathlib": "Path PosixPath WindowsPath",
    "pandas": "Index MultiIndex RangeIndex DatetimeIndex CategoricalIndex DataFrame Series",
    "pandas.arrays": "StringArray ArrowStringArray",
    # Transforms of parameters, and hooks that rename keys of older states.
    "gpytorch.means.constant_mean": "_ensure_updated_strategy_flag_set",
    "gpytorch.utils.transforms": "inv_sigmoid inv_softplus",
    "gpytorch.variational.variational_strategy": "_ensure_updated_strategy_flag_set",
}
# A method that every module of gpytorch registers as a hook of its own, by its last name.
HOOK_OF_GPYTORCH: Final = "_load_state_hook_ignore_shapes"

# What makes code of names or bytes, or reaches beyond the object. None of it is needed to rebuild a model
# (codecs stand in for the harmless ones), so it is refused on both sides, even where the caller trusts it.
# Each is listed below what is true of it: of a module as a whole, and of a name itself.
_NEVER_MODULES: Final = {
    "has functions that look up and call what they are told": "operator _operator copyreg",
    "makes objects by calling what bytes name": """
        pickle _pickle dill cloudpickle shelve joblib torch.serialization torch.package
    """,
    "imports, compiles or runs what it is given": """
        codecs importlib runpy code codeop marshal imp pkgutil zipimport timeit trace pdb bdb cProfile profile
        doctest distutils setuptools pip numpy.testing numpy.f2py torch.utils.cpp_extension torch.hub
        packager
    """,
    "reaches into the program that runs": "sys inspect gc",
    "reaches for files, processes, threads or memory": """
        subprocess os posix nt pty ctypes _ctypes cffi multiprocessing threading _thread socket signal shutil
        tempfile webbrowser asyncio
    """,
}
_NEVER_BUILTINS: Final = {
    "turns data into code": "__import__ __build_class__ breakpoint compile eval exec",
    "looks up, changes or removes what a name leads to": "delattr getattr hasattr setattr super",
    "reaches into the program that runs": "dir globals help locals vars",
    "makes a class, or a part of one": "classmethod property staticmethod type",
    "reads what it is given from outside": "input open",
    "ends the program": "exit quit",
    "gives a way to memory": "memoryview",
}
_NEVER_NAMES: Final = {
    "calls what it is given": {
        "functools": "partial partialmethod reduce",
        "_functools": "partial reduce",
    },
    "makes a function, a module or a part of one": {
        "types": "FunctionType CodeType MethodType LambdaType ModuleType DynamicClassAttribute",
    },
    "reads or writes files": {
        "numpy": "load loadtxt genfromtxt fromfile save memmap DataSource",
        "torch": "load save",
        "io": "open",
    },
    # How a storage that is alone is pickled.
    "hands bytes to torch.load, which runs what pickle is in them": {"torch.storage": "_load_from_bytes"},
}
NEVER_MODULES: Final = {
    module: what for what, modules in _NEVER_MODULES.items() for module in modules.split()
}
NEVER_NAMES: Final = {
    ("builtins", name): what for what, names in _NEVER_BUILTINS.items() for name in names.split()
} | {
    (module, name): what
    for what, table in _NEVER_NAMES.items()
    for module, names in table.items()
    for name in names.split()
}

# What the modules above have, and does nothing by itself: marks of signatures, and operators.
HARMLESS_NAMES: Final = frozenset(
    {("inspect", "_empty"), ("inspect", "_ParameterKind")}
    | {("_operator", name) for name in _OPERATORS.split()}
)

# Types that stand for a dtype where NumPy or a framework is asked to make something.
PLAIN_DTYPES: Final = frozenset(
    {f"builtins:{name}" for name in ("bool", "bytes", "complex", "float", "int", "str")}
    | {
        f"numpy:{name}"
        for name in """
            bool bool_ bytes_ complex64 complex128 datetime64 float16 float32 float64 int8 int16 int32
            int64 intp longdouble str_ timedelta64 uint8 uint16 uint32 uint64
        """.split()
    }
)
PLAIN_CODECS: Final = frozenset(
    """
    array.array bytearray collections.chainmap collections.deque collections.mapping complex decimal.context
    enum exception fraction inspect.signature io.buffer itertools kellet.device namedtuple numpy.dtype
    numpy.scalar re.pattern regex.pattern singleton slice stateless struct.struct torch.value
    types.mappingproxy typing.form weakref.collection zoneinfo
    """.split()
) | {"scalar subclass"}
# Codecs of objects of libraries that are data by our own checks. They do more when somebody asks them than
# plain data and tensors do (a frame has its columns for attributes), so that only who knows that holds them.
LIBRARY_CODECS: Final = frozenset(
    """
    tokenizers.tokenizer tokenizers.part tokenizers.added_token
    pandas.scalar pandas.offset pandas.dtype pandas.array pandas.index pandas.series pandas.frame
    polars.dtype polars.series polars.frame
    sentencepiece.processor tiktoken.encoding onnxruntime.session spacy.blank scipy.kd_tree
    pyarrow.type pyarrow.field pyarrow.schema pyarrow.array pyarrow.chunked_array pyarrow.table
    """.split()
)
# Codecs of boosters: what Python keeps beside the model is handed to the library.
BOOSTER_CODECS: Final = frozenset("lightgbm.booster xgboost.booster catboost.model".split())
# Codecs whose first child is judged elsewhere: a class by its name, a factory by its form.
NAMED_CODECS: Final = frozenset({"collections.mapping", "enum", "exception", "namedtuple", "scalar subclass"})
# Codecs all of whose children are judged elsewhere: types, which are no plain data where they are called.
JUDGED_CODECS: Final = frozenset({"inspect.signature", "typing.form"})
