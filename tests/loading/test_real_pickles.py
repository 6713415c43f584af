"""Real pickles, when they are allowed: classes by the archive's names, and what packages make, made once."""

from __future__ import annotations

import io
import pickle
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import pytest

from packager._loading.stored_objects import load_pickle
from packager.errors import PickleRefusedError


class Persistent:
    def __init__(self, pid: Any) -> None:
        self.pid = pid


class Pickler(pickle.Pickler):
    def persistent_id(self, obj: Any) -> Any:
        return obj.pid if type(obj) is Persistent else None


def load(obj: Any, made: dict[int, Any] | None = None, allowed: bool = True) -> Any:
    """Read a pickle of `obj` out of an archive."""
    file = io.BytesIO()
    Pickler(file).dump(obj)
    rules = SimpleNamespace(in_process=lambda name: name)
    opened: Any = SimpleNamespace(
        reader=SimpleNamespace(read={"m/o.pkl": file.getvalue()}.__getitem__),
        loaded=lambda: SimpleNamespace(rules=rules),
    )
    made = {} if made is None else made
    return load_pickle(opened, "m/o.pkl", allowed=allowed, importer="the importer", made=made)


def joined(*parts: Any) -> list[Any]:
    return list(parts)


def test_a_pickle_is_read_only_where_that_is_allowed() -> None:
    assert load(Fraction(1, 3)) == Fraction(1, 3)
    with pytest.raises(PickleRefusedError, match=r"^'m/o\.pkl' is a pickle, and reading it runs code"):
        load(Fraction(1, 3), allowed=False)


@pytest.mark.parametrize(
    "pid", ["reduce_package", (), ("other", 1, joined), ["reduce_package", 1, joined], 7]
)
def test_another_persistent_id_is_refused(pid: Any) -> None:
    with pytest.raises(pickle.UnpicklingError, match="expected one of __reduce_package__"):
        load(Persistent(pid))


def test_what_a_package_makes_is_made_once_and_by_its_importer() -> None:
    made: dict[int, Any] = {}
    one = ("reduce_package", 1, joined, "a", "b")
    found = load([Persistent(one), Persistent(one), Persistent(("reduce_package", 2, joined))], made)
    assert found == [["the importer", "a", "b"], ["the importer", "a", "b"], ["the importer"]]
    assert found[0] is found[1]
    assert load(Persistent(one), made) is found[0]  # over all pickles of an importer
    assert list(made) == [1, 2]
