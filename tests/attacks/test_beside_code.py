"""Code belongs to one call: what lies beside an object, or stands in its manifest, loosens nothing."""

from __future__ import annotations

import argparse
import io
import mailbox
import sys
import types
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from kellet.hooks import HookRegistry
from packager import PackageExporter, PackageImporter, UntrustedTypeError, verify
from packager._archive import ModuleRecord
from packager._audit import UntrustedNamesError
from packager._cli.main import main
from packager._codecs import Decoding
from packager._codecs.kellet_codec import RegistryCodec
from packager._loading.packaged_code import DisallowedModuleError
from packager._objects import EncodedObject
from packager._objects.records import Kind as K
from packager.errors import PackageError
from tests.attacks import object_forger as forge

DUMMY = {"dummy": "class Thing:\n    pass\n"}
NOTHING = "nothing was imported or built"


@pytest.fixture
def box(tmp_path: Path) -> Path:
    """A folder with a file that an attack would overwrite."""
    (tmp_path / "1").write_bytes(b"precious")
    return tmp_path


def _overwriting(box: Path, *before: list[Any]) -> EncodedObject:
    """A mailbox of a folder, into which UPDATE puts a message: its file is written anew."""
    start = len(before)
    records = [
        *before,
        [K.GLOBAL, "mailbox", "MH"],
        [K.SHAPE, -1 - start, None, "_path", "_locked"],
        [K.STR, str(box)] if len(str(box)) > 64 else [K.PACKED_TUPLE, str(box)],
        [K.BYTES, b"overwritten"],
    ]
    path = -3 - start if len(str(box)) > 64 else str(box)
    records += [[K.OBJ, -2 - start, path, False], [K.UPDATE, -5 - start, 1, -4 - start]]
    if start:
        records.append([K.LIST, -start, -5 - start])
    else:
        records.append([K.LIST, -5])
    return forge.table_of(records)


THING = ([K.GLOBAL, "dummy", "Thing"], [K.SHAPE, -1, None], [K.OBJ, -2])
RECORDS = {
    "mock": [ModuleRecord("dummy", "mock", "r", "b")],
    "mock in an invented parent": [ModuleRecord("dummy.sub", "mock", "r", "b")],
    "intern without a source": [ModuleRecord("dummy", "intern", "r", "b")],
    "package without a source": [ModuleRecord("dummy", "intern", "r", "b", None, True)],
}


@pytest.mark.parametrize("modules", RECORDS.values(), ids=RECORDS.keys())
def test_records_without_a_source_are_no_code(modules: list[ModuleRecord], box: Path) -> None:
    for obj in (_overwriting(box), _overwriting(box, *THING)):
        file = forge.archive_of(obj, modules=modules, externs=["mailbox"])
        with pytest.raises(UntrustedNamesError, match="mailbox:MH"):
            forge.load(file)
        assert verify(file, deep=True).problems
    assert (box / "1").read_bytes() == b"precious"


def test_a_source_beside_an_object_that_does_not_name_it_grants_nothing(box: Path) -> None:
    file = forge.archive_of(_overwriting(box), sources=DUMMY, externs=["mailbox"])
    with pytest.raises(UntrustedNamesError, match="mailbox:MH"):
        forge.load(file)
    assert (box / "1").read_bytes() == b"precious"


def test_externs_of_the_standard_library_grant_nothing_beside_code_either(box: Path) -> None:
    file = forge.archive_of(_overwriting(box, *THING), sources=DUMMY, externs=["mailbox"])
    with pytest.raises(UntrustedNamesError, match="mailbox:MH"):
        forge.load(file)
    assert (box / "1").read_bytes() == b"precious"
    assert mailbox.MH.__module__ == "mailbox"


def test_the_honest_twin_names_its_stored_class_and_holds_what_beside_code_is_allowed() -> None:
    assert type(forge.load(forge.archive_of(forge.table_of(THING), sources=DUMMY))).__name__ == "Thing"
    held = [
        [K.GLOBAL, "argparse", "Namespace"],
        [K.SHAPE, -4, None, "lr"],
        [K.OBJ, -5, 0.1],
        [K.LIST, -3, -6],
    ]
    thing, options = forge.load(forge.archive_of(forge.table_of([*THING, *held]), sources=DUMMY))
    assert (type(thing).__name__, options) == ("Thing", argparse.Namespace(lr=0.1))


# --- fills on classes of externs ---

RANDOM_VARIABLE = "scipy.stats._continuous_distns"


def test_a_state_is_not_given_to_a_class_of_an_extern(tmp_path: Path) -> None:
    # Its __setstate__ runs a text that it takes from the state.
    target = tmp_path / "written"
    text = f"open({str(target)!r}, 'w').close()"
    records = [
        *THING,
        [K.GLOBAL, RANDOM_VARIABLE, "norm_gen"],
        [K.SHAPE, -4, None],
        [K.OBJ, -5],
        [K.STR, text] if len(text) > 64 else [K.BYTES, text.encode()],
        [K.DICT, "_parse_arg_template", -7],
        [K.STATE, -6, -8],
        [K.LIST, -3, -6],
    ]
    file = forge.archive_of(forge.table_of(records), sources=DUMMY, externs=["scipy"])
    with pytest.raises(UntrustedNamesError, match="norm_gen would be given a state by its own method"):
        forge.load(file)
    assert not target.exists()


@pytest.mark.parametrize(
    ("fill", "how"),
    [
        ([K.EXTEND, -6, 1], "items"),
        ([K.UPDATE, -6, "a", 1], "pairs"),
        ([K.STATE, -6, None], "a state"),
    ],
)
def test_no_method_of_an_extern_takes_items_pairs_or_a_state(fill: list[Any], how: str) -> None:
    records = [
        *THING,
        [K.GLOBAL, "sortedcontainers", "SortedDict"],
        [K.SHAPE, -4, None],
        [K.OBJ, -5],
        fill,
        [K.LIST, -3, -6],
    ]
    file = forge.archive_of(forge.table_of(records), sources=DUMMY, externs=["sortedcontainers"])
    with pytest.raises(UntrustedNamesError, match=f"SortedDict would be given {how} by its own method"):
        forge.load(file)


def test_a_class_of_an_extern_is_made_without_its_own_new(project: Any) -> None:
    project({"outside/__init__.py": OUTSIDE})
    import outside  # type: ignore[import-not-found]  # written above

    records = [
        *THING,
        [K.GLOBAL, "outside", "Made"],
        [K.SHAPE, -4, None, "x"],
        [K.OBJ, -5, 1],
        [K.LIST, -3, -6],
    ]
    file = forge.archive_of(forge.table_of(records), sources=DUMMY, externs=["outside"])
    made = forge.load(file)[1]
    assert (type(made), made.x, outside.made) == (outside.Made, 1, [])


OUTSIDE = """
made = []
class Made:
    def __new__(cls):
        made.append(cls)
        return super().__new__(cls)
"""


def test_estimators_of_scikit_learn_load_beside_code_as_before() -> None:
    import numpy as np
    from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
    from sklearn.isotonic import IsotonicRegression
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVC

    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(40, 3)), np.arange(40) % 2
    estimators = [
        make_pipeline(StandardScaler(), SVC()).fit(x, y),
        RandomForestClassifier(3, random_state=0).fit(x, y),
        HistGradientBoostingClassifier(max_iter=3).fit(x, y),
        KNeighborsClassifier(algorithm="kd_tree").fit(x, y),
    ]
    isotonic = IsotonicRegression().fit(x[:, 0], y)
    holder = types.ModuleType("dummy")
    exec(DUMMY["dummy"], vars(holder))
    sys.modules["dummy"] = holder
    try:
        made = forge.encoded([holder.Thing(), estimators, isotonic], stored=["dummy"])
    finally:
        del sys.modules["dummy"]
    externs = ["sklearn", "numpy", "scipy", "kellet"]
    _, loaded, found = forge.load(forge.archive_of(made, sources=DUMMY, externs=externs))
    for one, other in zip(estimators, loaded, strict=True):
        assert np.array_equal(one.predict(x), other.predict(x))
    assert np.array_equal(isotonic.predict(x[:, 0]), found.predict(x[:, 0]))


# --- state dicts, extras, factories ---


def _writes(target: Path) -> dict[str, str]:
    return {"dummy": f"open({str(target)!r}, 'w').close()\nclass Thing:\n    pass\n"}


def test_a_state_dict_imports_nothing_that_is_stored(tmp_path: Path) -> None:
    target = tmp_path / "written"
    values = [
        *THING,
        [K.DICT, "config", -3],
        [K.PACKED_LIST, 1],
        [K.PACKED_DICT],
        [K.DICT, "values", -4, "places", -5, "raw", -6, "metadata", None],
    ]
    file = forge.archive_of(extras=forge.table_of(values), sources=_writes(target))
    for options in ({}, {"module_allowed": lambda name: False}):
        with pytest.raises(UntrustedNamesError) as caught:
            forge.load_extra(file, "config", **options)
        assert "dummy:Thing    at extras['values']['config']" in str(caught.value)
        assert "its source is stored, but this object was saved as data alone" in str(caught.value)
    assert not target.exists()
    (problem,) = verify(file, deep=True).problems
    assert "dummy:Thing    at extras['values']['config']" in problem.message
    assert type(forge.load_extra(file, "config", trust=("dummy:Thing",))).__name__ == "Thing"
    assert target.exists()


def test_honest_extras_load_whatever_source_lies_beside_them() -> None:
    values = {"step": [3, {"lr": (0.1,)}], "config": types.SimpleNamespace(width=2)}
    file = forge.archive_of(extras=forge.extras_of(values), sources=DUMMY)
    refusing = {"module_allowed": lambda name: False}
    assert forge.load_extra(file, "step", **refusing) == [3, {"lr": (0.1,)}]
    assert forge.load_extra(file, "config", **refusing).width == 2


def test_lazy_calls_in_extras_are_refused_with_a_dummy_source_beside_them(tmp_path: Path) -> None:
    target = tmp_path / "written"
    extras = forge.extras_of({"bad": [forge.writing(target)]})
    file = forge.archive_of(extras=extras, sources=DUMMY)
    with pytest.raises(UntrustedNamesError, match="collections:UserList"):
        forge.load_extra(file, "bad", module_allowed=lambda name: False)
    assert not target.exists()


@pytest.mark.parametrize("factory", [None, "dummy:build"])
def test_code_that_module_allowed_does_not_admit_is_not_imported(factory: str | None, tmp_path: Path) -> None:
    target = tmp_path / "written"
    sources = {"dummy": _writes(target)["dummy"] + "def build():\n    return Thing()\n"}
    obj = forge.table_of(THING) if factory is None else forge.table_of([[K.PACKED_DICT]])
    file = forge.archive_of(obj, sources=sources, factory=factory)
    asked: list[str] = []
    with pytest.raises(DisallowedModuleError, match="object m/o brings code of the module 'dummy'"):
        forge.load(file, module_allowed=lambda name: bool(asked.append(name)))
    assert asked == ["dummy"]
    assert not target.exists()
    assert type(forge.load(file, module_allowed=lambda name: name == "dummy")).__name__ == "Thing"
    assert target.exists()


def test_data_alone_asks_module_allowed_nothing_more_than_opening_did() -> None:
    file = forge.archive_of(forge.encoded({"a": [1]}), sources=DUMMY)
    assert forge.load(file, module_allowed=lambda name: False) == {"a": [1]}


# --- what is said before: plan and inspect ---


@pytest.mark.filterwarnings("ignore::packager.errors.PackagingWarning")
def test_the_plan_says_what_a_state_dict_loses(project: Any) -> None:
    project({"shop.py": "class Config:\n    pass\n"})
    import shop  # type: ignore[import-not-found]  # written above

    file = io.BytesIO()
    with PackageExporter(file, policy="auto", prove=False) as exporter:
        exporter.intern("shop")
        exporter.save_state_dict("m", "s", {"config": shop.Config()})
        exporter.save_object("m", "o", shop.Config())
        (warning,) = [one for one in exporter.plan().warnings if "loaders" in one]
    assert warning == (
        "state dict m/s needs names that loaders refuse without trust: PackageImporter(..., "
        "trust=('shop:Config',))"
    )
    with pytest.raises(UntrustedTypeError):
        forge.load_extra(file, "config")
    with PackageImporter(file, environment="ignore", trust=("shop:Config",)) as importer:
        assert type(importer.load_state_dict("m", "s")["config"]).__name__ == "Config"
        assert type(importer.load_object("m", "o")).__name__ == "Config"


@pytest.mark.filterwarnings("ignore::packager.errors.PackagingWarning")
def test_inspect_takes_the_names_from_the_records(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "x.kellet"
    with PackageExporter(path, policy="auto", prove=False) as exporter:
        exporter.save_object("m", "o", [Path("/etc"), types.MethodType(len, [])])
    assert main(["inspect", str(path)]) == 0
    printed = capsys.readouterr().out
    assert "names that loading needs trust for" in printed
    assert "pathlib:PosixPath" in printed
    assert "refused by loading" in printed
    assert "a bound method, which would be called later" in printed
    hidden = tmp_path / "hidden.kellet"
    hidden.write_bytes(forge.archive_of(forge.table_of(THING)).getvalue())
    assert main(["inspect", str(hidden)]) != 0
    assert "its records name dummy:Thing, which the manifest does not list" in capsys.readouterr().err


def test_nothing_was_imported_for_a_refusal() -> None:
    file = forge.archive_of(forge.table_of(THING), modules=[ModuleRecord("dummy", "mock", "r", "b")])
    with pytest.raises(PackageError, match=NOTHING):
        forge.load(file)
    assert "dummy" not in sys.modules


OUTSIDER = """
asked = []

class Odd:
    def __fspath__(self):
        asked.append("path")
        return "x"

    def __str__(self):
        asked.append("text")
        return "10.0.0.1"
"""


@pytest.mark.parametrize("made", ["pathlib:PurePosixPath", "ipaddress:IPv4Interface"])
def test_what_is_made_of_texts_does_not_ask_an_extern_for_its_text(
    made: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Found by the grammar: beside code, an object of an extern was an argument like any other."""
    (tmp_path / "outsider.py").write_text(OUTSIDER)
    monkeypatch.syspath_prepend(tmp_path)
    import outsider  # type: ignore[import-not-found]  # written above

    odd = ([K.GLOBAL, "outsider", "Odd"], [K.SHAPE, -4, None], [K.OBJ, -5])
    calls: list[list[list[Any]]] = [
        [[K.CALL, -7, -6], [K.LIST, -3, -8]],
        [[K.TUPLE, -6], [K.DICT], [K.CALL_KW, -7, -8, -9], [K.LIST, -3, -10]],
    ]
    for call in calls:
        table = forge.table_of([*THING, *odd, [K.GLOBAL, *made.split(":")], *call])
        file = forge.archive_of(table, sources=DUMMY, externs=["outsider"])
        with pytest.raises(UntrustedNamesError, match=f"{made} with arguments other than texts and numbers"):
            forge.load(file)
        assert verify(file, deep=True).problems
    assert outsider.asked == []
    honest = forge.table_of(
        [*THING, [K.GLOBAL, *made.split(":")], [K.CALL, -4, "10.0.0.1"], [K.LIST, -3, -5]]
    )
    thing, text = forge.load(forge.archive_of(honest, sources=DUMMY, externs=["outsider"]))
    assert (type(thing).__name__, str(text).partition("/")[0]) == ("Thing", "10.0.0.1")
    del sys.modules["outsider"]


def test_what_stands_for_a_hook_is_not_printed() -> None:
    """kellet names what cannot be called: an estimator among hooks was printed."""

    class Loud:
        def __repr__(self) -> str:
            raise AssertionError("printed")

    codec = RegistryCodec()
    with pytest.raises(ValueError, match="a hook must be callable, found a Loud"):
        codec.finish(HookRegistry(), None, [1, Loud(), {}], 1, mock.create_autospec(Decoding))
