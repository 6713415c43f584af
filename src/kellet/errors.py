"""The exceptions of kellet, as one tree.

    KelletError
    |-- ShapeError            also RuntimeError, ValueError: shapes that do not fit
    |-- DTypeError            also RuntimeError, TypeError: dtypes that do not fit
    |-- LinAlgError           also RuntimeError: a matrix has no inverse, or no such factors
    |-- FileFormatError       also ValueError: a file is damaged, or not from kellet.save
    |-- GradientError         also RuntimeError: backward cannot run as asked
    |-- VersionError          a GradientError: a saved value was changed in place
    |-- GradcheckError        also RuntimeError: a derivative does not agree with finite differences
    |-- HookError             also RuntimeError: a hook returned a wrong value
    |-- HookTypeError         a HookError, also TypeError: ... with a value of a wrong type
    |-- DistributedError      also RuntimeError: processes that work together cannot go on
    |-- MPIMissingError       a DistributedError, also ImportError: mpi4py is wanted and not there
    |-- RankMismatchError     a DistributedError, also ValueError: ranks do not ask for the same thing
    |-- RankFailedError       a DistributedError: another rank has failed, or has ended
    |-- CollectiveTimeoutError  a DistributedError, also TimeoutError: the other ranks did not come
    `-- StateDictError        also RuntimeError, KeyError: a state dict does not fit a module

Each class also inherits the built-in that code written for PyTorch catches. A message says what
failed, where, what was found against what was expected, and what to do.

Wrong arguments in the plain Python sense (a number where a Module is wanted) are TypeError and
ValueError, as everywhere in Python.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from types import MemberDescriptorType
from typing import Any, Self

from .listing import on_screen

__all__ = [
    "CollectiveTimeoutError",
    "DTypeError",
    "DistributedError",
    "FileFormatError",
    "GradcheckError",
    "GradientError",
    "HookError",
    "HookTypeError",
    "KelletError",
    "LinAlgError",
    "MPIMissingError",
    "RankFailedError",
    "RankMismatchError",
    "ShapeError",
    "StateDictError",
    "VersionError",
]

_MOST_LINES = 40 - 2  # of 80 characters; a traceback puts the name of the class before them


class KelletError(Exception):
    """The base of kellet's exceptions.

    Each pickles and copies with its fields, so that another process gets it as it was. A text of more than a
    screen is cut in its middle when it is shown, and `args` has all of it; of a list the text has the first
    ten items, and `problems` has all.

    >>> issubclass(ShapeError, KelletError)
    True
    """

    problems: tuple[str, ...] = ()

    def holding(self, problems: Iterable[str]) -> Self:
        """Store all problems in `problems`, as the text lists only a few; return the error.

        >>> KelletError("no such ranks: 4 and 1 more").holding(["4", "5"]).problems
        ('4', '5')
        """
        self.problems = tuple(problems)
        return self

    def __str__(self) -> str:
        text = Exception.__str__(self)  # that of KeyError, a base of some, is the repr of the message
        return on_screen(text, _MOST_LINES)

    # Python's own calls the class with `args`, and without the fields that an `__init__` takes.
    def __reduce__(self) -> tuple[Any, ...]:
        members = (
            name for kind in type(self).__mro__ for name, one in vars(kind).items() if _is_member(name, one)
        )
        held = {name: getattr(self, name) for name in members}  # of OSError and ImportError, in no __dict__
        fields = {name: value for name, value in held.items() if value is not None}
        return _made_again, (type(self), self.args), {**fields, **vars(self)}


def _is_member(name: str, member: object) -> bool:
    return isinstance(member, MemberDescriptorType) and not name.startswith("__")


def _made_again(kind: type[KelletError], args: tuple[Any, ...]) -> KelletError:
    """Return an error of `kind` without calling its `__init__`; its fields, which may hold it, come after."""
    base: Any = kind
    while base.__module__ != "builtins":
        base = base.__base__  # the one of several bases whose fields the object has room for
    error: KelletError = base.__new__(kind, *args)
    error.args = args  # an OSError with an `__init__` that is not its own begins without
    return error


class ShapeError(KelletError, RuntimeError, ValueError):
    """Shapes do not fit together.

    >>> kellet.ones(2) + kellet.ones(3)
    Traceback (most recent call last):
    kellet.errors.ShapeError: ...
    """


class DTypeError(KelletError, RuntimeError, TypeError):
    """A dtype is not one that the operation takes.

    >>> kellet.tensor([1]).mean()
    Traceback (most recent call last):
    kellet.errors.DTypeError: ...
    """


class LinAlgError(KelletError, RuntimeError):
    """A matrix has no inverse, or no factors of the kind asked for.

    >>> kellet.linalg.inv(kellet.zeros(2, 2))
    Traceback (most recent call last):
    kellet.errors.LinAlgError: ...
    """


class FileFormatError(KelletError, ValueError):
    """A file is not one that `kellet.save` wrote, or it is damaged.

    >>> import io
    >>> kellet.load(io.BytesIO(b"no such file"))
    Traceback (most recent call last):
    kellet.errors.FileFormatError: ...
    """


class GradientError(KelletError, RuntimeError):
    """Backward cannot run as asked: nothing requires grad, the graph is freed, a leaf was written.

    >>> kellet.ones(1).backward()
    Traceback (most recent call last):
    kellet.errors.GradientError: ...
    """


class VersionError(GradientError):
    """A value saved for backward was changed in place before backward used it.

    >>> x = kellet.ones(1, requires_grad=True)
    >>> y = x.exp()
    >>> _ = y.detach().zero_()
    >>> y.backward()
    Traceback (most recent call last):
    kellet.errors.VersionError: ...
    """


class GradcheckError(KelletError, RuntimeError):
    """A derivative does not agree with finite differences of the function.

    >>> class Wrong(kellet.autograd.Function):
    ...     forward = staticmethod(lambda ctx, x: x * 2)
    ...     backward = staticmethod(lambda ctx, grad: grad)
    >>> kellet.autograd.gradcheck(Wrong.apply, kellet.ones(1, dtype="float64", requires_grad=True))
    Traceback (most recent call last):
    kellet.errors.GradcheckError: ...
    """


class HookError(KelletError, RuntimeError):
    """A hook returned a value that does not fit its place.

    >>> net = kellet.nn.Linear(1, 1)
    >>> handle = net.register_full_backward_hook(lambda module, grad_input, grad_output: ())
    >>> net(kellet.ones(1, requires_grad=True)).backward()
    Traceback (most recent call last):
    kellet.errors.HookError: ...
    """


class HookTypeError(HookError, TypeError):
    """A hook answered with a value of a wrong type.

    >>> x = kellet.ones(1, requires_grad=True)
    >>> handle = x.register_hook(lambda grad: 3)
    >>> (x * 2).backward()
    Traceback (most recent call last):
    kellet.errors.HookTypeError: ...
    """


class DistributedError(KelletError, RuntimeError):
    """Processes that work together cannot go on; the base of the exceptions of `kellet.distributed`.

    >>> import kellet.distributed as dist
    >>> group = dist.ProcessGroup(dist.AloneTransport())
    >>> group.close()
    >>> group.barrier()
    Traceback (most recent call last):
    kellet.errors.DistributedError: ...
    """


class MPIMissingError(DistributedError, ImportError):
    """The script was started by mpiexec, or asks for the backend "mpi", and mpi4py cannot be imported.

    >>> issubclass(MPIMissingError, ImportError)
    True
    """


class RankMismatchError(DistributedError, ValueError):
    """Ranks of a group do not ask for the same: other shapes, dtypes, parameters, numbers of batches.

    Every rank of the group raises it, and nothing has been exchanged.

    >>> issubclass(RankMismatchError, DistributedError)
    True
    """


class RankFailedError(DistributedError):
    """Another rank of the group has raised, or its process has ended.

    `rank` is its rank in the group of all processes.

    >>> RankFailedError("rank 2 has ended", rank=2).rank
    2
    """

    def __init__(self, message: str, *, rank: int) -> None:
        super().__init__(message)
        self.rank = rank


class CollectiveTimeoutError(DistributedError, TimeoutError):
    """The other ranks did not come to a collective operation within the time-out of the group.

    >>> issubclass(CollectiveTimeoutError, TimeoutError)
    True
    """


class StateDictError(KelletError, RuntimeError, KeyError):
    """A state dict does not fit a module; nothing has been written.

    `missing_keys`, `unexpected_keys` and `mismatched` list the keys, all together; `messages`
    holds what else was found. `problems` says of each value that does not fit why, with its shapes.

    It is a RuntimeError for code written for PyTorch and a KeyError for code written for lucid.

    >>> try:
    ...     kellet.nn.Linear(2, 1).load_state_dict({"weight": kellet.ones(1, 2)})
    ... except StateDictError as error:
    ...     error.missing_keys
    ['bias']
    """

    def __init__(
        self,
        message: str,
        *,
        missing_keys: Sequence[str] = (),
        unexpected_keys: Sequence[str] = (),
        mismatched: Sequence[str] = (),
        messages: Sequence[str] = (),
    ) -> None:
        super().__init__(message)
        self.missing_keys = list(missing_keys)
        self.unexpected_keys = list(unexpected_keys)
        self.mismatched = list(mismatched)
        self.messages = list(messages)
