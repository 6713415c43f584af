"""The Tensor class: state from autograd, operations by family from the files beside this one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ..absent import OF_TENSORS
from ..autograd import Variable, backward
from ..autograd.bridge import bridge, wrap
from ..autograd.modes import modes
from ..autograd.passes import one_step
from ..autograd.rule_node import RuleNode
from ..autograd.variable import bump, counter_of
from ..dtypes import DTypeLike, as_dtype, dtype_name, is_differentiable
from ..errors import DTypeError, GradientError
from ..limits import Size
from .absent_methods import hint_at_absent
from .arithmetic import Arithmetic
from .axes import shape_of
from .conversion import Conversion
from .dispatch import require_one_dtype
from .elementwise import Elementwise
from .indexing import Indexing
from .inplace import InPlace, _add_in_place_forms
from .printing import describe
from .products import Products
from .ranking import Ranking
from .reducing import Reducing
from .shaping import Shaping

_new = object.__new__


class Tensor(
    Arithmetic,
    Elementwise,
    Products,
    Reducing,
    Shaping,
    Indexing,
    Ranking,
    InPlace,
    Conversion,
):
    """An array of one dtype that can take part in a graph of operations.

    `Tensor(data)` makes a tensor of the default floating dtype from nested sequences or an array;
    `kellet.tensor(data)` infers the dtype and is what you usually want. Operations return new
    tensors; those that require a gradient (`requires_grad`) remember how they were made.

    Source: torch.Tensor.

    >>> import kellet
    >>> x = kellet.tensor([1.0, 2.0], requires_grad=True)
    >>> (x * x).sum().backward()
    >>> x.grad
    tensor([2., 4.])
    """

    __slots__ = ("__dict__",)

    def __init__(self, data: Any = (), *, requires_grad: bool = False) -> None:
        array = data._array if isinstance(data, Variable) else np.array(data, dtype=as_dtype(float))
        self._array = array
        self._edge = self._grad = self._counter = self._view = self._hooks = None
        self._needs = False
        if requires_grad:
            self.requires_grad_()

    # --- backward ---------------------------------------------------------------------------------

    def backward(
        self,
        gradient: object = None,
        retain_graph: bool | None = None,
        create_graph: bool = False,
        inputs: Sequence[Any] | Any = None,
    ) -> None:
        """Add the gradients of this tensor to `.grad` of the leaves it was made from.

        `gradient` has the shape of the tensor; it may be left out for a single element. The values
        that the graph saved are released unless `retain_graph` or `create_graph`, which makes the
        gradients themselves part of a graph. `inputs` restricts the tensors that receive gradients.

        Raises GradientError when the graph is missing or released, or when `gradient` is missing.

        Source: torch.Tensor.backward.
        """
        node = self._edge
        if (
            type(node) is RuleNode
            and self._view is None
            and gradient is None
            and inputs is None
            and not (retain_graph or create_graph)
            and node.hooks is None
            and node.others is None
            and not modes.anomaly
            and one_step(node)
        ):
            return
        backward(self, gradient, retain_graph, create_graph, inputs=inputs)

    def detach(self) -> Tensor:
        """Return the same data without history; both see later writes, and they share one version counter.

        >>> kellet.detach(kellet.ones(1, requires_grad=True)).requires_grad
        False
        """
        # What wrap does, on the spot: state_dict() calls this for every tensor of a model.
        made = _new(Tensor)
        made._array = self._array
        counter = self._counter
        made._counter = counter_of(self) if counter is None else counter
        made._edge = made._grad = made._view = made._hooks = None
        made._needs = False
        return made

    def detach_(self) -> Tensor:
        """Forget the history of this tensor; return it.

        Raises GradientError on a view, whose history is that of its base.
        """
        if self._view is not None:
            raise GradientError(
                "Can't detach views in-place: a view has the history of its base. Use detach() instead"
            )
        self._edge = None
        self._needs = False
        return self

    @property
    def data(self) -> Tensor:
        """The same data without history and with a version of its own: writes through it go unnoticed.

        Raises TypeError when set to a value that is not a tensor, DTypeError to a dtype that cannot have the
        gradient it requires.
        """
        return wrap(self._array)  # type: ignore[return-value]  # wrap makes Tensors

    @data.setter
    def data(self, value: Variable) -> None:
        if not isinstance(value, Variable):
            raise TypeError(
                f"data must be a tensor, got {type(value).__name__}; wrap it with kellet.as_tensor"
            )
        if self.requires_grad and not is_differentiable(value._array.dtype):
            raise DTypeError(
                "data set to a tensor that requires gradients must be floating point or complex dtype, got "
                f"{dtype_name(value._array.dtype)}; convert it, or call requires_grad_(False) first"
            )
        self._array = value._array
        if self._edge is not None:
            bump(self)  # a node may have saved the old values under this tensor

    def __setstate__(self, state: dict[str, Any] | None) -> None:
        self.__dict__.update(state or {})

    # --- shape ------------------------------------------------------------------------------------

    @property
    def shape(self) -> Size:
        """The sizes of the axes, a tuple that counts its elements."""
        return Size(self._array.shape)

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return self._array.ndim

    @property
    def nbytes(self) -> int:
        """The bytes of all elements."""
        return self._array.nbytes

    @property
    def itemsize(self) -> int:
        """The bytes of one element."""
        return self._array.itemsize

    def dim(self) -> int:
        """Return the number of axes."""
        return self._array.ndim

    def size(self, dim: int | None = None) -> Any:
        """Return the shape, or the size of one axis. Raises IndexError for an axis that does not exist."""
        if dim is None:
            return self.shape
        try:
            return self._array.shape[dim]
        except IndexError:
            raise IndexError(
                f"size: there is no axis {dim} in a tensor of shape {self._array.shape}"
            ) from None

    def numel(self) -> int:
        """Return the number of elements.

        >>> kellet.numel(kellet.ones(2, 3))
        6
        """
        return self._array.size

    nelement = numel

    def element_size(self) -> int:
        """Return the bytes of one element."""
        return self._array.itemsize

    def stride(self, dim: int | None = None) -> Any:
        """Return the step of each axis in memory, in elements."""
        array = self._array
        # What has no element has no memory either; the steps are those it would have.
        strides = array.strides if array.size else np.empty([max(1, n) for n in array.shape], "b").strides
        width = array.itemsize if array.size else 1
        steps = tuple([step // width for step in strides])
        return steps if dim is None else steps[dim]

    def data_ptr(self) -> int:
        """Return the address of the first element."""
        return int(self._array.ctypes.data)

    def __len__(self) -> int:
        if not self._array.ndim:
            raise TypeError("len() of a tensor of shape (): it has no axis; use .item() for its value")
        return self._array.shape[0]

    def __iter__(self) -> Iterator[Tensor]:
        if not self._array.ndim:
            raise TypeError("iteration over a tensor of shape (): it has no axis; use .item() for its value")
        return iter(self.unbind(0))

    def __contains__(self, value: Any) -> bool:
        found = value._array if isinstance(value, Variable) else value
        return bool((self._array == found).any())

    # --- comparisons of whole tensors -------------------------------------------------------------

    def equal(self, other: Tensor) -> bool:
        """Say whether shape and all values are the same.

        >>> kellet.equal(kellet.tensor([1, 2]), kellet.tensor([1, 2]))
        True
        """
        return bool(np.array_equal(self._array, other._array))

    def allclose(
        self, other: Tensor, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
    ) -> bool:
        """Say whether all values are within `atol + rtol * abs(other)` of each other.

        >>> kellet.allclose(kellet.tensor([1.0]), kellet.tensor([1.0 + 1e-7]))
        True
        """
        require_one_dtype("allclose", self, other)
        return bool(np.allclose(self._array, other._array, rtol, atol, equal_nan))

    def isclose(
        self, other: Tensor, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
    ) -> Tensor:
        """Tell where values are within `atol + rtol * abs(other)` of each other.

        >>> kellet.isclose(kellet.tensor([1.0, 2.0]), kellet.tensor([1.0, 2.1]))
        tensor([ True, False])
        """
        require_one_dtype("isclose", self, other)
        return wrap(np.isclose(self._array, other._array, rtol, atol, equal_nan))  # type: ignore[return-value]  # a Tensor

    # --- new tensors like this one ----------------------------------------------------------------

    def new_tensor(
        self, data: object, *, dtype: DTypeLike | None = None, requires_grad: bool = False
    ) -> Tensor:
        """Return a tensor of `data` in the dtype of this one."""
        made = Tensor(wrap(np.array(data, dtype=self._array.dtype if dtype is None else as_dtype(dtype))))
        return made.requires_grad_() if requires_grad else made

    def new_zeros(self, *size: Any, dtype: DTypeLike | None = None) -> Tensor:
        """Return zeros of this shape, in the dtype of this tensor."""
        return self._new(np.zeros, size, dtype)

    def new_ones(self, *size: Any, dtype: DTypeLike | None = None) -> Tensor:
        """Return ones of this shape, in the dtype of this tensor."""
        return self._new(np.ones, size, dtype)

    def new_empty(self, *size: Any, dtype: DTypeLike | None = None) -> Tensor:
        """Return an uninitialized tensor of this shape, in the dtype of this tensor."""
        return self._new(np.empty, size, dtype)

    def new_full(self, size: Sequence[int], fill_value: object, *, dtype: DTypeLike | None = None) -> Tensor:
        """Return a tensor of this shape with one value, in the dtype of this tensor."""
        return self.new_empty(size, dtype=dtype).fill_(fill_value)

    def _new(self, make: Callable[..., Any], size: tuple[Any, ...], dtype: Any) -> Tensor:
        found = self._array.dtype if dtype is None else as_dtype(dtype)
        return wrap(make(shape_of(size), found))  # type: ignore[return-value]  # wrap makes Tensors

    def __dir__(self) -> list[str]:
        kind = type(self)
        return [name for name in super().__dir__() if name not in OF_TENSORS or hasattr(kind, name)]

    def __repr__(self) -> str:
        return describe(self)

    def __format__(self, spec: str) -> str:
        if spec and self._array.size == 1:
            return format(self.item(), spec)
        return format(repr(self), spec)


bridge.tensor = Tensor
_add_in_place_forms(Tensor)
hint_at_absent(Tensor)


# --- the methods as functions: the first argument is the tensor ------------------------------------

allclose = Tensor.allclose
detach = Tensor.detach
equal = Tensor.equal
isclose = Tensor.isclose
numel = Tensor.numel


def is_tensor(value: object) -> bool:
    """Say whether `value` is a tensor.

    >>> kellet.is_tensor(kellet.ones(1)), kellet.is_tensor([1.0])
    (True, False)
    """
    return isinstance(value, Tensor)
