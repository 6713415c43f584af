"""Matrix products, einsum and tensordot, against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kellet
from kellet.errors import ShapeError
from tests.tables import one_test


def values(*shape: int) -> Any:
    return np.random.default_rng(0).standard_normal(shape)


@one_test
@pytest.mark.parametrize(
    ("left", "right"),
    [
        ((3,), (3,)),
        ((2, 3), (3,)),
        ((3,), (3, 2)),
        ((2, 3), (3, 4)),
        ((5, 2, 3), (3, 4)),
        ((5, 2, 3), (3,)),
        ((3,), (5, 3, 2)),
        ((2, 3), (5, 3, 4)),
        ((5, 1, 2, 3), (4, 3, 2)),
        ((0, 3), (3, 2)),
        ((2, 0), (0, 3)),
    ],
)
def test_matmul_takes_the_shapes_that_numpy_takes(left: Any, right: Any) -> None:
    a, b = values(*left), values(*right)
    x, y = kellet.from_numpy(a.copy()).requires_grad_(), kellet.from_numpy(b.copy()).requires_grad_()
    out = x @ y
    np.testing.assert_allclose(out.detach().numpy(), a @ b, rtol=1e-12, atol=1e-14)
    out.sum().backward()
    assert (x.grad.shape, y.grad.shape) == (left, right)


def test_a_matrix_product_of_arrays_that_are_not_contiguous() -> None:
    a = kellet.from_numpy(values(4, 3, 2)).transpose(0, 2)
    b = kellet.from_numpy(values(4, 5))
    np.testing.assert_allclose((a @ b).numpy(), a.numpy() @ b.numpy(), rtol=1e-12)


@one_test
@pytest.mark.parametrize(
    ("equation", "shapes"),
    [
        ("ij,jk->ik", [(2, 3), (3, 4)]),
        ("ij,jk", [(2, 3), (3, 4)]),
        ("ji,jk->ki", [(3, 2), (3, 4)]),
        ("bhid,bhjd->bhij", [(2, 2, 3, 4), (2, 2, 5, 4)]),
        ("...ij,...jk->...ik", [(2, 1, 2, 3), (4, 3, 2)]),
        ("...i,i->...", [(2, 3), (3,)]),
        ("i...->...i", [(2, 3, 4)]),
        ("ii->i", [(3, 3)]),
        ("iij->j", [(3, 3, 2)]),
        ("iji->j", [(3, 2, 3)]),
        ("ii", [(3, 3)]),
        ("ij->", [(2, 3)]),
        ("ij->ji", [(2, 3)]),
        ("i,j->ij", [(2,), (3,)]),
        ("i,i->", [(3,), (3,)]),
        ("i,i->i", [(3,), (3,)]),
        ("ij,kj->i", [(2, 3), (4, 3)]),
        ("ij,jk,kl->il", [(2, 3), (3, 4), (4, 2)]),
        ("i,i,i->i", [(3,), (3,), (3,)]),
        ("ij,jk->ik", [(2, 1), (3, 4)]),
        ("ij, jk -> i k", [(2, 3), (3, 4)]),
        (",ij->ij", [(), (2, 3)]),
        ("aB,Bc", [(2, 3), (3, 2)]),
    ],
)
def test_einsum_is_that_of_numpy(equation: str, shapes: list[tuple[int, ...]]) -> None:
    arrays = [values(*shape) for shape in shapes]
    expected = np.einsum(equation.replace(" ", ""), *arrays)
    found = kellet.einsum(equation, *map(kellet.from_numpy, arrays))
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-12, atol=1e-14)


@given(st.data())
def test_einsum_of_any_two_operands(data: Any) -> None:
    letters = st.lists(st.sampled_from("abcd"), max_size=4).map("".join)
    left, right = data.draw(letters), data.draw(letters)
    result = "".join(data.draw(st.permutations(sorted(set(left + right)))))[: data.draw(st.integers(0, 4))]
    sizes = dict(zip("abcd", (2, 3, 4, 5), strict=True))
    arrays = [values(*(sizes[x] for x in term)) for term in (left, right)]
    equation = f"{left},{right}->{result}"
    found = kellet.einsum(equation, *map(kellet.from_numpy, arrays))
    np.testing.assert_allclose(found.numpy(), np.einsum(equation, *arrays), rtol=1e-10, atol=1e-12)


def test_einsum_takes_a_list_and_is_differentiable() -> None:
    a, b = (kellet.from_numpy(values(3, 3)).requires_grad_() for _ in range(2))
    assert kellet.autograd.gradcheck(lambda a, b: kellet.einsum("ii,ij->j", [a, b]), (a, b))
    assert kellet.autograd.gradgradcheck(lambda a, b: kellet.einsum("ij,jk,ki->", a, b, a), (a, b))


def test_einsum_of_integers_stays_whole() -> None:
    a = kellet.tensor([[1, 2], [3, 4]])
    assert kellet.einsum("ij,jk->ik", a, a).tolist() == [[7, 10], [15, 22]]
    assert kellet.einsum("ij->i", a.int()).dtype == kellet.int32


def test_tensordot() -> None:
    a, b = values(2, 3, 4), values(4, 3, 5)
    found = kellet.tensordot(kellet.from_numpy(a), kellet.from_numpy(b), ([1, 2], [1, 0]))
    np.testing.assert_allclose(found.numpy(), np.tensordot(a, b, ([1, 2], [1, 0])), rtol=1e-12)
    outer = kellet.tensordot(kellet.from_numpy(a), kellet.from_numpy(b), 0)
    np.testing.assert_allclose(outer.numpy(), np.tensordot(a, b, 0), rtol=1e-12)


def test_products_with_a_fixed_number_of_axes() -> None:
    m, v = kellet.tensor([[1.0, 2.0], [3.0, 4.0]]), kellet.tensor([1.0, 10.0])
    assert m.mm(m).tolist() == [[7.0, 10.0], [15.0, 22.0]]
    assert m.mv(v).tolist() == [21.0, 43.0]
    assert v.dot(v).item() == 101.0
    assert v.outer(v).tolist() == [[1.0, 10.0], [10.0, 100.0]]
    assert kellet.addmm(v, m, m, beta=2, alpha=0.5).tolist() == [[5.5, 25.0], [9.5, 31.0]]
    assert kellet.addmm(v * np.nan, m, m, beta=0).tolist() == m.mm(m).tolist()
    assert kellet.addmv(v, m, v).tolist() == [22.0, 53.0]


@one_test
@pytest.mark.parametrize("dtype", [kellet.bfloat16, kellet.float16, kellet.int32])
def test_products_keep_the_dtype_of_their_operands(dtype: Any) -> None:
    m, v = kellet.tensor([[1, 2], [3, 4]], dtype=dtype), kellet.tensor([1, 10], dtype=dtype)
    found = [m @ m, m.mm(m), m[None].bmm(m[None]), m @ v, v @ v, kellet.einsum("ij,jk->ik", m, m)]
    assert [one.dtype for one in found] == [dtype] * len(found)
    assert m.mm(m).tolist() == [[7, 10], [15, 22]]


Z = kellet.zeros


@one_test
@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda: Z(2, 3) @ Z(2, 3), ShapeError, r"matmul: shapes \(2, 3\), \(2, 3\) do not fit"),
        (lambda: kellet.tensor(1.0) @ Z(2), ShapeError, r"matmul: shapes \(\), \(2,\)"),
        (lambda: kellet.mm(Z(2), Z(2, 2)), ShapeError, r"mm: expected a tensor of 2 axes, got shape \(2,\)"),
        (
            lambda: kellet.mv(Z(2, 2), Z(2, 2)),
            ShapeError,
            r"mv: expected a tensor of 1 axes, got shape \(2, 2\)",
        ),
        (lambda: kellet.dot(Z(2), Z(3)), ShapeError, r"shapes \(2,\), \(3,\) do not fit"),
        (lambda: kellet.bmm(Z(2, 3, 4), Z(3, 4, 2)), ShapeError, r"bmm: 2 matrices do not fit 3"),
        (lambda: kellet.outer(Z(2, 2), Z(2)), ShapeError, r"outer: expected a tensor of 1 axes"),
        (lambda: kellet.einsum("ij,jk", Z(2, 3)), ValueError, r"names 2 operands, but 1 were given"),
        (lambda: kellet.einsum("ij", Z(2)), ShapeError, r"'ij' in 'ij' does not fit a tensor of 1 axes"),
        (
            lambda: kellet.einsum("ij,jk", Z(2, 3), Z(2, 3)),
            ShapeError,
            r"does not fit shapes \(2, 3\), \(2, 3\): 'j' has lengths 3 and 2",
        ),
        (lambda: kellet.einsum("i->j", Z(2)), ValueError, r"must name letters of the operands, each once"),
        (lambda: kellet.einsum("ij->ii", Z(2, 2)), ValueError, r"each once"),
        (lambda: kellet.einsum("i1", Z(2, 2)), ValueError, r"'i1' in 'i1' is not made of letters"),
        (
            lambda: kellet.tensordot(Z(2, 3), Z(4, 2), 1),
            ShapeError,
            r"axes \[1\] of shape \(2, 3\) do not fit",
        ),
    ],
)
def test_refused(call: Any, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        call()
