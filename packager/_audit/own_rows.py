"""The rows of Python, NumPy, PyTorch and kellet, as tables of names that share one.

Their own `__setstate__` take whatever they are given: a polynomial an `OrderedDict` for its `__dict__`, a
UUID any object, which it hashes and compares with the members of an enumeration. Here a state is of exact
types, and each part of it goes where the class itself would put it.
"""

from __future__ import annotations

from .gates import forbid_shadows
from .rows import (
    ANY,
    FUNCTION,
    NOTHING,
    TENSORS,
    TEXTS,
    TORCH_MODULE,
    TYPES,
    IsA,
    Row,
    Rows,
    is_subclass_of,
)

TYPE_CHECKING = False  # as in packager._lazy
if TYPE_CHECKING:
    import random
    import uuid
    from collections.abc import Mapping
    from typing import Any, Final

_EXCEPTIONS: Final = """
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
# Python's own exceptions: to hold one, or to make one of plain data, raises nothing.

# Classes and functions that do no more than compute, so that a model may hold them.
_VALUES: Final = {
    "builtins": """
        int float str bytes bool list dict tuple set frozenset object complex bytearray range slice
        enumerate zip map filter reversed len abs max min sum sorted round any all divmod pow repr
        isinstance str.capitalize str.casefold str.lower str.lstrip str.rstrip str.split str.splitlines
        str.strip str.swapcase str.title str.upper
    """
    + _EXCEPTIONS,
    "typing": "Any",
    "inspect": "_empty",
    "collections.abc": """
        AsyncGenerator AsyncIterable AsyncIterator Awaitable Callable Collection Container Coroutine
        Generator Hashable ItemsView Iterable Iterator KeysView Mapping MappingView MutableMapping
        MutableSequence MutableSet Reversible Sequence Set Sized ValuesView
    """,
    "types": "NoneType EllipsisType NotImplementedType",
    "collections": "OrderedDict defaultdict deque Counter ChainMap",
    "math": """
        acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh degrees dist erf erfc exp
        exp2 expm1 fabs floor fmod frexp fsum gamma gcd hypot isclose isfinite isinf isnan isqrt lcm
        ldexp lgamma log log10 log1p log2 modf nextafter pow prod radians remainder sin sinh sqrt
        tan tanh trunc ulp
    """,
    "numpy": "ndarray",
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
}
_WRAPPED: Final = {
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
        complex128 datetime64 float16 float32 float64 int8 int16 int32 int64 intp longdouble
        ndarray.all ndarray.any ndarray.argmax ndarray.argmin ndarray.astype ndarray.clip ndarray.copy
        ndarray.cumsum ndarray.dot ndarray.flatten ndarray.max ndarray.mean ndarray.min ndarray.prod
        ndarray.ravel ndarray.reshape ndarray.round ndarray.squeeze ndarray.std ndarray.sum
        ndarray.transpose ndarray.var
        str_ timedelta64 uint8 uint16 uint32 uint64
    """,
    "numpy.linalg": "cholesky det eig eigh eigvals inv lstsq matrix_power norm pinv qr slogdet solve svd",
    "kellet": """
        abs cat cos exp log matmul max maximum mean min minimum relu sigmoid sin softmax sqrt stack
        sum tanh where
    """,
}
_KINDS_OF_NUMBERS: Final = """
    character complexfloating floating generic inexact integer number signedinteger unsignedinteger
"""
_NUMBERS: Final = """
    bool bool_ bytes_ complex64 complex128 datetime64 float16 float32 float64 int8 int16 int32 int64 intp
    longdouble str_ timedelta64 uint8 uint16 uint32 uint64
"""
# Methods of every object that is made of its text: it hashes that, and prints whatever else it is given.
_OF_TEXT: Final = {
    "pathlib": "PurePath PurePosixPath PureWindowsPath",
    "ipaddress": "IPv4Address IPv6Address IPv4Network IPv6Network IPv4Interface IPv6Interface",
}
_POLYNOMIALS: Final = "Polynomial Chebyshev Hermite HermiteE Laguerre Legendre"
_CREATED: Final = {
    "builtins": f"object {_EXCEPTIONS}",  # an object is a mark that is equal to nothing else
    "uuid": "SafeUUID",
    "string": "Template Formatter",
    "inspect": "_ParameterKind",
    "re": "RegexFlag",
    "kellet.nn": "Hook ContextualHook",
    "numpy": "poly1d",
    # Callable objects that PyTorch registers as hooks.
    "torch.nn.utils.weight_norm": "WeightNorm",
    "torch.nn.utils.spectral_norm": """
        SpectralNorm SpectralNormStateDictHook SpectralNormLoadStateDictPreHook
    """,
}
_PATHS: Final = "Path PosixPath WindowsPath"  # of this machine
# Operators that make a new value of the two that they are given, and change neither.
OPERATORS: Final = """
    abs add and_ eq floordiv ge gt invert is_ is_not le lshift lt matmul mod mul ne neg not_ or_ pos pow
    rshift sub truediv truth xor
"""

_CONTAINERS: Final = "UserDict UserList UserString"  # they hand on what they are asked for to what they hold
# What a command line was parsed to, and what hands on what it is asked for.
_CREATED_BESIDE_CODE: Final = {
    "argparse": "Namespace",
    "contextlib": "nullcontext",
    "logging": "Formatter LoggerAdapter PercentStyle StrFormatStyle StringTemplateStyle",
    "statistics": "NormalDist",
    "textwrap": "TextWrapper",
}


def _is_torch_optimizer(obj: object) -> bool:
    homes = {"torch.optim": "Optimizer", "torch.optim.lr_scheduler": "LRScheduler"}
    # Averaged models are modules.
    return any(is_subclass_of(*home)(obj) for home in homes.items()) or TORCH_MODULE.meets(obj)


def _is_kellet_optimizer(obj: object) -> bool:
    homes = {"kellet.optim": "Optimizer", "kellet.optim.lr_scheduler": "LRScheduler"}
    return any(is_subclass_of(*home)(obj) for home in homes.items())


KELLET_MODULE: Final = IsA("a subclass of kellet.nn.Module", is_subclass_of("kellet.nn", "Module"))
TORCH_OPTIMIZER: Final = IsA("an optimiser, scheduler or module of torch.optim", _is_torch_optimizer)
KELLET_OPTIMIZER: Final = IsA("an optimiser or scheduler of kellet.optim", _is_kellet_optimizer)

_WORDS_OF_RANDOM: Final = 625  # of the Mersenne Twister, and the position in them


def take_attributes(made: object, state: object) -> None:
    """Put the names of a dict into the `__dict__`. Raises ValueError for another state.

    >>> from types import SimpleNamespace
    >>> made = SimpleNamespace()
    >>> take_attributes(made, {"unit": "mm"})
    >>> made
    namespace(unit='mm')
    """
    names = exact_dict(made, state)
    forbid_shadows(type(made), names)
    vars(made).update(names)


def take_uuid(made: uuid.UUID, state: object) -> None:
    """Take up a number of 128 bits. Raises ValueError for another state."""
    from uuid import SafeUUID  # which whoever made the object has imported

    known = SafeUUID._value2member_map_
    parts = exact_dict(made, state)
    number, safe = parts.get("int"), parts.get("is_safe")
    if not parts.keys() <= {"int", "is_safe"} or type(number) is not int or not 0 <= number < 1 << 128:
        raise ValueError("the state of a UUID is an int of 128 bits, as 'int'; and 'is_safe', if it is known")
    if type(safe) not in (int, type(None)) or safe not in known:
        raise ValueError("'is_safe' in the state of a UUID is 0, -1 or None")
    object.__setattr__(made, "int", number)
    object.__setattr__(made, "is_safe", known[safe])


def take_random(made: random.Random, state: Any) -> None:
    """Take up the words of a generator. Raises ValueError for another state."""
    words: Any = state[1] if type(state) is tuple and len(state) == 3 else None
    whole = type(words) is tuple and len(words) == _WORDS_OF_RANDOM
    if not whole or not all(type(word) is int for word in words):
        raise ValueError(f"the state of random.Random is (3, {_WORDS_OF_RANDOM} ints, a float or None)")
    if type(state[0]) is not int or state[0] != 3 or type(state[2]) not in (float, type(None)):
        raise ValueError(f"the state of random.Random is (3, {_WORDS_OF_RANDOM} ints, a float or None)")
    from random import Random  # the same

    Random.setstate(made, state)


def exact_dict(made: object, state: object) -> Mapping[str, Any]:
    """Return a state that is a dict with names as keys. Raises ValueError for another one."""
    if type(state) is not dict or not all(type(name) is str for name in state):
        raise ValueError(
            f"the state of {type(made).__qualname__} is of type {type(state).__qualname__}; expected a dict "
            "whose keys are names"
        )
    return state


ROWS: Final = Rows(
    (Row("value"), _VALUES),
    (Row("value", uses="wrapped"), _WRAPPED),
    (Row(uses="dtype"), {"builtins": "bool bytes complex float int str", "numpy": _NUMBERS}),
    (Row("value"), {"numpy": _KINDS_OF_NUMBERS}),
    (
        Row(uses="factory"),
        {
            "builtins": "int float str bool list dict set tuple",
            "types": "NoneType",
            "collections": "OrderedDict Counter",
        },
    ),
    # Constructors that take whatever they are given in bounded time, and keep it.
    (
        Row("create call value"),
        {
            "datetime": "date datetime time timedelta timezone",
            "decimal": "Decimal",
            "torch.nn.parameter": "UninitializedParameter UninitializedBuffer",
        },
    ),
    (Row("create call value", arguments=TYPES), {"types": "GenericAlias"}),
    (Row("create call value", arguments=NOTHING), {"types": "SimpleNamespace"}),
    (Row("create call value", arguments=TEXTS, attributes=NOTHING), _OF_TEXT),
    (Row("create call value", takes_state=take_random), {"random": "Random"}),
    (Row("create"), _CREATED),
    (Row("create", takes_state=take_uuid), {"uuid": "UUID"}),
    (Row("create", takes_state=take_attributes), {"numpy.polynomial": _POLYNOMIALS}),
    (Row("create", pairs=TENSORS), {"kellet.nn": "StateDict"}),
    # Only beside code that the caller loads anyway.
    (Row(beside_code="create call value", arguments=TEXTS), {"pathlib": _PATHS}),
    (Row(beside_code="create value"), {"collections": _CONTAINERS}),
    (Row(beside_code="create"), _CREATED_BESIDE_CODE),
    (Row(beside_code="value"), {"_operator": OPERATORS}),
    (Row(uses="fills itself"), {"torch": "ScriptObject"}),
    # Families, whose classes are looked at when they are there.
    (
        Row("value", is_a=FUNCTION, uses="wrapped"),
        {"torch.nn.functional": "*", "kellet.nn.functional": "*"},
    ),
    (
        Row("create value", is_a=TORCH_MODULE, attributes=ANY, uses="wrapped", replaces="_version"),
        {"torch.nn": "*", "torch.nn.modules": "*", "torch.nn.modules.": "*"},
    ),
    (
        Row(
            "create value",
            is_a=KELLET_MODULE,
            attributes=ANY,
            uses="wrapped",
            replaces="_version _state_hooks",  # the codec says of hooks what they are
        ),
        {"kellet.nn": "*", "kellet.nn.": "*"},
    ),
    (
        Row("create value", is_a=TORCH_OPTIMIZER, attributes=ANY),
        {"torch.optim": "*", "torch.optim.": "*"},
    ),
    (
        Row("create value", is_a=KELLET_OPTIMIZER, attributes=ANY),
        {"kellet.optim": "*", "kellet.optim.": "*"},
    ),
)
DISTRIBUTIONS: Final = {"numpy": "NumPy", "torch": "PyTorch", "kellet": "kellet"}
