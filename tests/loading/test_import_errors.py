"""An import error inside an archive comes out as it was raised, with the names that its reader knows."""

import importlib.metadata
import textwrap
from typing import Any

import pytest


def raised(pack: Any, body: str, **modules: str) -> ImportError:
    """The error of importing a package `errpkg` with that `__init__`."""
    tree = {f"errpkg/{name}.py": textwrap.dedent(text) for name, text in modules.items()}
    loaded = pack({"errpkg/__init__.py": textwrap.dedent(body), **tree})
    with pytest.raises(ImportError) as caught:
        loaded.module("errpkg")
    return caught.value


def test_a_distribution_that_is_not_found_is_told_as_such(pack: Any) -> None:
    error = raised(pack, "import importlib.metadata\nimportlib.metadata.version('no-such-thing')")
    assert type(error) is importlib.metadata.PackageNotFoundError
    assert str(error) == "No package metadata was found for no-such-thing"


def test_a_name_in_the_arguments_of_such_an_error_is_the_true_one(pack: Any) -> None:
    error = raised(
        pack, "import importlib.metadata as m\ndef f(): raise m.PackageNotFoundError(__name__)\nf()"
    )
    assert (str(error), error.args) == ("No package metadata was found for errpkg", ("errpkg",))


@pytest.mark.parametrize(
    "cls",
    [
        "class Odd(ImportError):\n    name = property(lambda self: 'fixed')\n",
        "class Odd(ImportError):\n    msg = property(lambda self: 'fixed')\n",
        "class Odd(ImportError):\n    args = property(lambda self: 5)\n",
        "class Odd(ImportError):\n    __slots__ = ('name', 'msg')\n",
        "class Odd(ImportError):\n    def __setattr__(self, name, value): raise RuntimeError('frozen')\n",
        (
            "class Odd(ImportError):\n    def __getattribute__(self, name):\n"
            "        return {'msg': 5, 'name': 5}.get(name) or super().__getattribute__(name)\n"
        ),
        "class Odd(ImportError):\n    def __init__(self, text, other=3): super().__init__(text)\n",
        "class Odd(ModuleNotFoundError):\n    def __str__(self): return 'odd'\n",
    ],
    ids=["name", "msg", "args", "slots", "setattr", "getattribute", "init", "str"],
)
@pytest.mark.parametrize("how", ["top", "import", "import_module"])
def test_an_error_class_of_any_make_comes_out_itself(pack: Any, cls: str, how: str) -> None:
    inner = cls + "raise Odd(f'{__name__} cannot work')"
    body = {
        "top": inner,
        "import": "import errpkg.inner",
        "import_module": "import importlib\nimportlib.import_module('errpkg.inner')",
    }[how]
    error = raised(pack, body, inner=inner)
    assert type(error).__name__ == "Odd"
    where = "errpkg" if how == "top" else "errpkg.inner"
    assert BaseException.__dict__["args"].__get__(error) == (f"{where} cannot work",)


def test_names_are_true_in_messages_of_every_form(pack: Any) -> None:
    error = raised(pack, "from errpkg import absent")
    assert str(error).startswith("cannot import name 'absent' from partially initialized module 'errpkg' (")
    assert error.name == "errpkg"
    error = raised(pack, "import errpkg.sub.below", sub="")
    assert str(error) == "No module named 'errpkg.sub.below'; 'errpkg.sub' is not a package"
    assert (error.name, error.args) == ("errpkg.sub.below", (str(error),))
    error = raised(pack, "raise ImportError(f'{__name__}: get it. See {__name__}.', name=__name__)")
    assert (str(error), error.name) == ("errpkg: get it. See errpkg.", "errpkg")


def test_the_errors_before_it_are_still_told(pack: Any) -> None:
    error = raised(
        pack,
        "try:\n    1 / 0\nexcept ZeroDivisionError:\n    import errpkg.inner",
        inner="raise ImportError('later')",
    )
    assert isinstance(error.__context__, ZeroDivisionError)
    assert (error.__cause__, error.__suppress_context__) == (None, False)
    error = raised(
        pack, "import errpkg.inner", inner="raise ImportError('later') from ValueError('the cause')"
    )
    assert repr(error.__cause__) == "ValueError('the cause')"


def test_arguments_that_are_no_text_stay_what_they_are(pack: Any) -> None:
    error = raised(pack, "raise ImportError(__name__, 5, (__name__,))")
    assert error.args[:2] == ("errpkg", 5)
    assert error.args[2][0].startswith("errpkg__w")


def test_find_spec_answers_none_for_the_parent_that_such_an_error_names(pack: Any) -> None:
    loaded = pack(
        {
            "fndpkg/__init__.py": (
                "import importlib.metadata, importlib.util\n"
                "def probe(name): return importlib.util.find_spec(name)\n"
            ),
            "fndpkg/needs.py": "import importlib.metadata\nimportlib.metadata.version('no-such-thing')",
        }
    )
    assert loaded.module("fndpkg").probe("absent_anywhere") is None
    with pytest.raises(importlib.metadata.PackageNotFoundError, match="was found for no-such-thing"):
        loaded.module("fndpkg").probe("fndpkg.needs.below")


LACKING = {
    "by its name": "from errpkg.inner import missing",
    "relatively": "from .inner import missing",
    "several": "from .inner import there, missing",
    "of the package": "from . import missing",
}


@pytest.mark.parametrize("body", LACKING.values(), ids=LACKING.keys())
def test_a_name_that_a_module_lacks_is_told_by_the_modules_true_name(pack: Any, body: str) -> None:
    tree = {"errpkg/__init__.py": f"def call():\n    {body}\n", "errpkg/inner.py": "there = 1"}
    call = pack(tree).module("errpkg").call
    whose = "errpkg" if body == LACKING["of the package"] else "errpkg.inner"
    with pytest.raises(ImportError) as caught:
        call()
    assert type(caught.value) is ImportError
    assert str(caught.value).startswith(f"cannot import name 'missing' from {whose!r} (")
    assert (caught.value.name, str(caught.value.path).endswith(".py")) == (whose, True)


def test_a_module_that_is_being_imported_is_said_to_be(pack: Any) -> None:
    error = raised(pack, "from .inner import there", inner="from errpkg import missing\nthere = 1")
    said = "cannot import name 'missing' from partially initialized module 'errpkg' (most likely"
    assert str(error).startswith(said)


def test_a_module_that_makes_names_is_asked_once_for_each(pack: Any) -> None:
    inner = """
asked = []
def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    asked.append(name)
    return name.upper()
"""
    loaded = pack({"errpkg/__init__.py": "from .inner import ready, asked", "errpkg/inner.py": inner})
    module = loaded.module("errpkg")
    assert (module.ready, module.asked.count("ready")) == ("READY", 1)
