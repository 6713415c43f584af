"""Estimators of scikit-learn in Python whose attributes go to code in C as they are.

libsvm is handed addresses, and counts; others are handed arrays whose sizes they take from one of them.
Found by giving every estimator arrays that are too short, with nothing readable behind them.
"""

from __future__ import annotations

from typing import Any, Final

from packager.codecs import (
    StateCheck,
    attributes_of,
    require,
    require_array,
    require_inside,
    require_int,
)
from packager.libraries.scipy.sparse_state import shape_of

_MOST: Final = 1 << 31
_CLASSIFIERS: Final = ("c_svc", "nu_svc")
_KINDS: Final = (*_CLASSIFIERS, "one_class", "epsilon_svr", "nu_svr")


class SupportVectorCheck(StateCheck):
    """SVC, SVR and their kin: as many support vectors and coefficients as libsvm counts."""

    types = ("sklearn.svm._base:BaseLibSVM",)

    def check_made(self, obj: Any) -> None:
        """Check a model that was fitted. Raises ValueError."""
        held = attributes_of(obj)
        if "support_" not in held and "_n_support" not in held:
            return
        kind = obj._impl
        require(type(kind) is str and kind in _KINDS, "_impl names no kind of support vector machine")
        vectors = require_array(held.get("support_"), "support_", dtypes=("int32",), shape=(None,))
        counts = require_array(held.get("_n_support"), "_n_support", dtypes=("int32",), shape=(None,))
        classes, count = len(counts), len(vectors)
        require(classes > 1 if kind in _CLASSIFIERS else classes == 2, f"_n_support has {classes} classes")
        require_inside(counts, "_n_support", _MOST)
        total = int(counts.sum(dtype="int64") if kind in _CLASSIFIERS else counts[0])
        require(total == count, f"_n_support counts {total} support vectors, and support_ has {count}")
        pairs = classes * (classes - 1) // 2
        require_array(held.get("_intercept_"), "_intercept_", dtypes=("float64",), shape=(pairs,))
        # libsvm reads them where it is told so.
        has_chances = held.get("_effective_probability", held.get("probability")) is True
        for name in ("_probA", "_probB"):
            found = require_array(held.get(name), name, dtypes=("float64",), shape=(None,))
            wanted = f"{pairs}" if has_chances else f"none or {pairs}"
            fits = len(found) == pairs or not (len(found) or has_chances)
            require(fits, f"{name} has {len(found)} values, expected {wanted}")
        fitted = held.get("shape_fit_")
        is_given = callable(
            held.get("kernel")
        )  # then it takes what rows it likes, and these are counted alone
        require(
            type(fitted) is tuple and len(fitted) in ((1, 2) if is_given else (2,)), "shape_fit_ is no shape"
        )
        rows = require_int(fitted[0], "shape_fit_[0]", 1, _MOST)  # type: ignore[index]  # a tuple, as was required
        require_inside(vectors, "support_", rows)
        require(type(held.get("_sparse")) is bool, "_sparse is no bool")
        columns = 0 if is_given else require_int(held.get("n_features_in_"), "n_features_in_", 1, _MOST)
        form = _check_sparse if held["_sparse"] else _check_dense
        form(held, classes, count, columns)


def _check_dense(held: dict[str, Any], classes: int, count: int, columns: int) -> None:
    coefficients = held.get("_dual_coef_")
    require_array(coefficients, "_dual_coef_", dtypes=("float64",), shape=(classes - 1, count))
    # Not needed where the kernel is computed by the caller, and then left out.
    kernel, vectors = held.get("kernel"), held.get("support_vectors_")
    left_out = kernel == "precomputed" if type(kernel) is str else callable(kernel)
    shape = (0, 0) if left_out and 0 in shape_of(vectors, "support_vectors_") else (count, columns)
    require_array(vectors, "support_vectors_", dtypes=("float64",), shape=shape)


def _check_sparse(held: dict[str, Any], classes: int, count: int, columns: int) -> None:
    """Sparse ones hold CSR matrices, whose own state is checked by itself."""
    kernel = held.get("kernel")
    require(type(kernel) is str and kernel != "precomputed", "a sparse model has a kernel that is computed")
    vectors = _csr(held.get("support_vectors_"), "support_vectors_", (count, columns))
    require(len(vectors["indptr"]) == count + 1, "support_vectors_ has other rows")
    values = _csr(held.get("_dual_coef_"), "_dual_coef_", (classes - 1, count))["data"]
    require_array(values, "_dual_coef_.data", dtypes=("float64",), shape=((classes - 1) * count,))


def _csr(value: Any, what: str, shape: tuple[int, int]) -> dict[str, Any]:
    held = attributes_of(value)
    kind = f"{type(value).__module__}:{type(value).__qualname__}"
    fits = kind in ("scipy.sparse._csr:csr_matrix", "scipy.sparse._csr:csr_array")
    fits = fits and shape_of(value, what) == shape
    require(fits, f"{what} is no CSR matrix of shape {list(shape)}")
    return held


CHECKS: Final = (SupportVectorCheck(),)
