"""The signature and the return value of a communication hook."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias, get_args, get_origin

from ..autograd import Variable
from ..errors import HookError
from ..futures import Future
from ..hooks import require_form
from .grad_bucket import GradBucket

if TYPE_CHECKING:
    from ..autograd.bridge import Array


CommHook: TypeAlias = Callable[[Any, GradBucket], Future[Any]]
"""`hook(state, bucket)`: starts to exchange a bucket, and returns the future of one flat tensor."""


def check_comm_hook(hook: object) -> None:
    """Look at a hook before it is used.

    Raises TypeError where it cannot be called with two arguments, ValueError where its annotations say
    something else than GradBucket and Future[Tensor].

    >>> check_comm_hook(lambda state, bucket: None)
    """
    if not callable(hook):
        raise TypeError("Communication hook must be callable.")
    require_form(hook, ("state", "bucket"))
    signature = _signature(hook)
    if signature is None:
        return
    second = list(signature.parameters.values())[1:2]
    given = second[0].annotation if second else inspect.Parameter.empty
    if not _is_one_of(given, GradBucket):
        raise ValueError(
            f"Communication hook: bucket annotation should be dist.GradBucket; found {given!r} in {hook!r}"
        )
    answer = signature.return_annotation
    if not _is_one_of(answer, Future) or not all(_is_tensor(each) for each in get_args(answer)):
        raise ValueError(
            "Communication hook: return annotation should be Future or Future[kellet.Tensor]; found "
            f"{answer!r} in {hook!r}"
        )


def call_comm_hook(hook: CommHook, state: object, bucket: GradBucket) -> Future[Any]:
    """Return the Future of the hook for a bucket.

    Raises HookError for any other return value; exceptions of the hook pass unchanged.
    """
    future = hook(state, bucket)
    if not isinstance(future, Future):
        raise HookError(
            f"Communication hook {hook!r} must return a Future, and returned {type(future).__name__} for "
            f"bucket {bucket.index()}; return e.g. "
            "dist.all_reduce(bucket.buffer(), async_op=True).get_future()"
        )
    return future


def hook_result(hook: CommHook, future: Future[Any], bucket: GradBucket) -> Array:
    """Wait for the Future of a hook; return the array of its tensor.

    A list of one tensor, as an all-reduce has it, is taken as well. Raises HookError for another value or
    another shape.
    """
    value = future.wait()
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if not isinstance(value, Variable):
        raise HookError(
            f"Communication hook {hook!r}: the value of its Future must be one Tensor, found "
            f"{type(value).__name__} for bucket {bucket.index()}"
        )
    expected = bucket.buffer()._array.shape
    if value._array.shape != expected:
        raise HookError(
            f"Communication hook {hook!r}: expected a tensor of the shape of the bucket, {expected}; found "
            f"{value._array.shape} for bucket {bucket.index()}"
        )
    return value._array


def _signature(hook: Any) -> inspect.Signature | None:
    """Return the signature with its annotations as objects; None where they cannot be had."""
    try:
        return inspect.signature(hook, eval_str=True)
    except (NameError, AttributeError, TypeError, ValueError, SyntaxError):
        return None


def _is_one_of(annotation: Any, expected: type) -> bool:
    found = get_origin(annotation) or annotation
    if found is inspect.Parameter.empty or found is Any or isinstance(found, str):  # a name from elsewhere
        return True
    return isinstance(found, type) and issubclass(found, expected)


def _is_tensor(annotation: Any) -> bool:
    return annotation is Any or (isinstance(annotation, type) and issubclass(annotation, Variable))
