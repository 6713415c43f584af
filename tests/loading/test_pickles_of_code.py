"""Pickles that packaged code reads: they name its own classes as the author wrote them."""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

READ = {
    "load": "return pickle.load(io.BytesIO(data))",
    "loads": "return pickle.loads(data)",
    "the class": "return pickle.Unpickler(io.BytesIO(data)).load()",
    "the class in Python": "return pickle._Unpickler(io.BytesIO(data)).load()",
    "a class of its own": "return Own(io.BytesIO(data)).load()",
    "names that were imported": "return loads(data)",
}
CODE = """
import io, pickle
from pickle import loads
class Words:
    def __init__(self, words): self.words = words
class Own(pickle.Unpickler):
    def persistent_load(self, pid): return pid
def write(value): return pickle.dumps(value)
def read(data):
    {}
"""
Pack = Callable[[dict[str, str]], Any]
OF_AUTHOR = b"\x80\x02cvocpkg\nWords\n)\x81}X\x05\x00\x00\x00wordsK\x03sb."
"""What the author's process has written: `vocpkg.Words` with `words = 3`."""


@pytest.mark.parametrize("how", READ.values(), ids=READ.keys())
def test_classes_are_those_of_the_archive(pack: Pack, how: str) -> None:
    module = pack({"vocpkg/__init__.py": CODE.format(how)}).module("vocpkg")
    found = module.read(OF_AUTHOR)
    assert (type(found), found.words) == (module.Words, 3)
    again = module.read(module.write(module.Words([1])))
    assert (type(again), again.words) == (module.Words, [1])
    assert module.read(pickle.dumps(Path("a"))) == Path("a")


def test_what_is_not_in_the_archive_is_named_as_its_author_wrote_it(pack: Pack) -> None:
    module = pack({"vocpkg/__init__.py": CODE.format(READ["load"])}).module("vocpkg")
    with pytest.raises(ModuleNotFoundError, match=r"^No module named 'vocpkg\.gone'$"):
        module.read(OF_AUTHOR.replace(b"vocpkg", b"vocpkg.gone"))


def test_the_process_reads_its_own_pickles_as_before(pack: Pack) -> None:
    pack({"vocpkg/__init__.py": CODE.format(READ["load"])}).module("vocpkg")
    with pytest.raises(ModuleNotFoundError, match="No module named 'vocpkg'"):
        pickle.load(io.BytesIO(OF_AUTHOR))
