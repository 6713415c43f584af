"""Names that data may have, as the grammar chooses among them: a list of its own, which rows are held to."""

from __future__ import annotations

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

LISTED_STATES: Final = (
    "random:Random",
    "uuid:UUID",
    "scipy.sparse:coo_matrix",
    *(
        f"numpy.polynomial:{name}"
        for name in "Polynomial Chebyshev Hermite HermiteE Laguerre Legendre".split()
    ),
)
"""Classes whose states are taken up by functions of ours."""
