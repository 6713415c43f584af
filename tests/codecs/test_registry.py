"""Codecs are found by class and by name, those of other distributions through entry points."""

from __future__ import annotations

import importlib
import sys
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from packager._audit import TrustContext, audit
from packager._codecs import Child, Codec, Decoding, Encoding, Library, Node, library, registry
from packager._codecs.base import expect
from packager._codecs.frameworks import STATE
from packager._codecs.library import CodecError, are_libraries_offered
from packager._codecs.modules import HANDLES, HOOKS
from packager._codecs.registry import CodecRegistry, default_registry
from packager._libraries import HOMES
from packager._objects import RecordError, encode
from packager._objects.records import Kind as K
from packager.errors import PackageError
from packager.testing import CodecContract, round_trip
from tests import processes
from tests.attacks import object_forger as forge

ROOT = Path(__file__).resolve().parents[2]

OUTSIDE = '''
from packager._codecs import Codec, Library, Node

class Money:
    def __init__(self, cents):
        self.cents = cents
    def __eq__(self, other):
        return self.cents == other.cents
    def __reduce__(self):
        raise AssertionError("the codec should be asked")

class MoneyCodec(Codec):
    """Money: cents."""
    name = "outside.money"
    types = ("outside:Money",)
    def encode(self, obj, context):
        return Node(obj.cents)
    def check(self, literal, children, version):
        if type(literal) is not int or children:
            raise ValueError("expected cents")
    def decode(self, literal, children, version, context):
        return Money(literal)

LIBRARY = Library("outside", "outside", codecs=(MoneyCodec(),))
BARE = MoneyCodec()
OTHER = Library("other", "outside")
ODD = Library("outside", "outside", codecs=(type("Odd", (MoneyCodec,), {"name": "money"})(),))
'''
POINTS = "[packager.libraries]\noutside = outside:LIBRARY\n"


class Point:
    def __init__(self, x: Any, y: Any) -> None:
        self.x, self.y = x, y

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Point) and (self.x, self.y) == (other.x, other.y)


class PointCodec(Codec):
    """Points: version 1 had the coordinates the other way round."""

    name = "test.point"
    version = 2
    types = (f"{__name__}:Point",)

    def encode(self, obj: Point, context: Encoding) -> Node:
        return Node(None, (obj.x, obj.y))

    def check(self, literal: Any, children: Sequence[Child], version: int) -> None:
        expect(literal is None and len(children) == 2, "two coordinates")

    def decode(self, literal: Any, children: Sequence[Any], version: int, context: Decoding) -> Point:
        return Point(*(children if version == 2 else reversed(children)))


class TestContractOfAnOutsideCodec(CodecContract):
    codec = PointCodec()

    def samples(self) -> list[Any]:
        return [Point(1, 2), Point([1], -1)]


class Complexes(PointCodec):
    """A codec that takes over a class of Python's."""

    name = "test.complexes"
    types = ("builtins:complex",)

    def claims(self, cls: type) -> bool:
        return cls is complex


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A distribution that offers what is known of its library."""
    (tmp_path / "outside.py").write_text(OUTSIDE)
    info = tmp_path / "outside-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: outside\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(POINTS)
    monkeypatch.syspath_prepend(tmp_path)
    yield info / "entry_points.txt"
    sys.modules.pop("outside", None)


def test_codec_of_an_installed_distribution_stores_and_loads(installed: Path) -> None:
    money = importlib.import_module("outside").Money(250)
    assert round_trip([money]).object == [money]


def test_only_the_library_that_an_archive_names_is_imported(installed: Path) -> None:
    found = default_registry()
    audit(encode(1 + 2j).records, TrustContext.data_only(), registry=default_registry())
    sys.modules.pop("outside", None)
    assert found.find("complex") is not None
    assert found.find("nobody's") is None
    assert "outside" not in sys.modules
    assert found.find("outside.money") is not None
    assert "outside" in sys.modules


def test_a_codec_added_to_one_default_registry_is_in_no_other() -> None:
    first, second = default_registry(), default_registry()
    first.add(PointCodec())
    assert first.for_class(Point) is first.find("test.point") is not None
    for other in (second, default_registry(), second.settled()):
        assert other.find("test.point") is None
        assert other.for_class(Point) is None
    second.add(Complexes())
    mine = second.for_class(complex)
    assert mine is not None
    assert mine.name == "test.complexes"
    found = default_registry().for_class(complex)
    assert found is not None
    assert found.name == "complex"


def test_distributions_are_searched_again_after_an_install_and_not_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    asked: list[bool] = []

    def watched(folders: Iterable[str]) -> bool:
        asked.append(are_libraries_offered(folders))
        return asked[-1]

    monkeypatch.setattr(library, "are_libraries_offered", watched)
    for _ in range(3):
        assert default_registry().find("outside.money") is None
    assert asked == [False]
    (tmp_path / "outside.py").write_text(OUTSIDE)
    info = tmp_path / "outside-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: outside\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(POINTS)
    found = default_registry().find("outside.money")
    sys.modules.pop("outside")
    assert found is not None
    assert asked == [False, True]
    monkeypatch.undo()
    assert default_registry().find("outside.money") is None


@pytest.mark.parametrize(
    ("point", "message"),
    [
        ("missing:LIBRARY", "library 'outside': .* cannot be loaded: .*; repair or uninstall it"),
        ("outside:BARE", "expected a Library whose name is 'outside'"),
        ("outside:OTHER", "expected a Library whose name is 'outside'"),
        ("outside:ODD", r"is no codec whose name begins with 'outside\.'; rename it"),
    ],
)
def test_entry_point_that_gives_no_library_of_its_name(installed: Path, point: str, message: str) -> None:
    installed.write_text(f"[packager.libraries]\noutside = {point}\n")
    with pytest.raises(CodecError, match=message):
        default_registry().find("outside.money")


def test_missing_codec_says_what_to_install() -> None:
    mine = CodecRegistry([PointCodec()])
    encoded = encode(Point(1, 2), registry=mine)
    with pytest.raises(RecordError, match=r"codec 'test\.point' is not installed; install the package"):
        audit(encoded.records, TrustContext.data_only())


def test_old_versions_of_a_codec_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    mine = CodecRegistry([PointCodec()])
    encoded = encode(Point(1, 2), registry=mine)
    from packager.testing.round_trips import load

    assert load(encoded, TrustContext.data_only(), registry=mine) == Point(1, 2)
    old = type(encoded)(encoded.records.replace(b"test.point\x02", b"test.point\x01"), (), ())
    assert load(old, TrustContext.data_only(), registry=mine) == Point(2, 1)
    newer = type(encoded)(encoded.records.replace(b"test.point\x02", b"test.point\x03"), (), ())
    with pytest.raises(PackageError, match=r"codec 'test\.point' has version 3 in the archive and 2 here"):
        load(newer, TrustContext.data_only(), registry=mine)


def test_later_codecs_come_first_for_a_class() -> None:
    class Mine(PointCodec):
        """Another codec for points."""

        name = "test.mine"

    mine = CodecRegistry([PointCodec(), Mine()])
    found = mine.for_class(Point)
    assert found is not None
    assert found.name == "test.mine"


@pytest.mark.parametrize(
    ("name", "message"),
    [("test.point", "is there twice"), ("", "expected a name"), (None, "expected a name")],
)
def test_names_are_strings_and_unique(name: Any, message: str) -> None:
    codec = PointCodec()
    codec.name = name  # type: ignore[misc]  # of the instance, for this test
    with pytest.raises(CodecError, match=message):
        CodecRegistry([PointCodec(), codec])


def test_class_without_a_codec_has_none() -> None:
    assert default_registry().for_class(Point) is None
    assert {codec.name for codec in default_registry()} >= {
        "complex",
        "numpy.ndarray",
        "kellet.module",
        "torch.module",
    }


FLAGS: dict[str, str] = {
    "takes_items": "collections.deque",
    "takes_pairs": "collections.mapping",
    "takes_attributes": "collections.mapping exception functools.partial kellet.subclass kellet.tensor "
    "numpy.subclass scalar_subclass torch.quantized torch.sparse torch.subclass torch.tensor",
    "creates": "enum exception kellet.optimizer kellet.subclass namedtuple numpy.subclass scalar_subclass "
    "spacy.blank torch.optimizer torch.subclass torch_geometric.inspector",
}


@pytest.mark.parametrize(("flag", "names"), FLAGS.items())
def test_what_the_objects_of_our_codecs_are_given(flag: str, names: str) -> None:
    found = {codec.name.replace(" ", "_") for codec in default_registry() if getattr(codec, flag)}
    assert found == set(names.split())
    assert getattr(Codec, flag) is False


def test_our_codecs_are_of_the_first_version() -> None:
    assert {codec.version for codec in default_registry()} == {1}


def test_what_is_finished_is_finished_in_order() -> None:
    """Hooks, then what removes them, then states, which hooks may change."""
    assert (HOOKS, HANDLES, STATE) == (0, 1, 2)


class Uncounted(PointCodec):
    """Gives as many roles more than there are children as its literal says."""

    name = "test.uncounted"
    version = 1

    def roles(self, literal: Any, count: int, version: int) -> Sequence[Any]:
        return ("value",) * (count + literal)

    finish_roles = roles

    def check(self, literal: Any, children: Sequence[Child], version: int) -> None:
        pass

    check_finish = check


@pytest.mark.parametrize("more", [-1, 0, 1])
def test_a_codec_gives_a_role_for_each_child(more: int) -> None:
    whole = [[K.CODEC, 1, more, 1, 2]]
    later = [[K.CODEC, 1, 0, 1], [K.FINISH, -1, 1, more, 1, 2]]
    registry = CodecRegistry([Uncounted()])
    for records, root in ((whole, 0), (later, -1)):
        table = forge.table_of(records, root=root, codecs=["test.uncounted"]).records
        if not more:
            audit(table, TrustContext.data_only(), registry=registry)
            continue
        with pytest.raises(RecordError, match=r"zip\(\) argument 2 is (longer|shorter) than argument 1"):
            audit(table, TrustContext.data_only(), registry=registry)


def test_codecs_of_a_library_are_read_when_an_object_or_a_name_of_it_is_met() -> None:
    script = """
import sys
from packager._codecs import default_registry
registry = default_registry()
def seen():
    return sorted(name.rpartition(".")[2] for name in sys.modules if name.startswith("packager._libraries.")
                  and name.endswith((".pandas", ".tiktoken", ".scipy")))
print(seen(), registry.find("pandas.nothing"), seen(), registry.find("tiktoken.encoding").name, seen())
print(registry.for_class(type("KDTree", (), {"__module__": "scipy.spatial._kdtree"})), seen())
print(len(list(registry)) == len(list(default_registry())))
"""
    out = processes.run(
        [sys.executable, "-c", script], cold=True, capture_output=True, text=True, check=True
    ).stdout
    assert out.splitlines() == [
        "[] None ['pandas'] tiktoken.encoding ['pandas', 'tiktoken']",
        f"{out.splitlines()[1].split(' [')[0]} ['pandas', 'scipy', 'tiktoken']",
        "True",
    ]


def test_a_codec_from_outside_takes_over_a_class_whose_library_is_met_later() -> None:
    class Mine(Codec):
        name = "mine.frame"
        types = ("pandas:DataFrame",)

    registry = default_registry()
    registry.add(Mine())
    frame = type("DataFrame", (), {"__module__": "pandas"})
    assert registry.for_class(frame).name == "mine.frame"  # type: ignore[union-attr]  # there is one


def test_a_built_in_codec_is_found_by_its_name_as_among_all() -> None:
    for file, names in registry.FAMILIES.items():
        codecs = importlib.import_module(f"packager._codecs.{file}").CODECS
        assert [codec.name for codec in codecs] == names.split(",")
        for codec in codecs:
            fresh, whole = default_registry(), default_registry()
            assert list(whole)
            assert fresh.find(codec.name) is whole.find(codec.name) is codec


def test_built_in_codecs_are_found_by_a_type_as_among_all() -> None:
    whole = default_registry()
    assert list(whole)
    told = {}
    for file in registry.FAMILIES:
        for codec in importlib.import_module(f"packager._codecs.{file}").CODECS:
            assert {told.setdefault(name, file) for name in codec.types} <= {file}
    assert told == registry.FILE_OF_TYPE
    for name in told:
        module, _, qualname = name.partition(":")
        bare = type(qualname, (), {"__module__": module, "__qualname__": qualname})
        among_all = [codec.name for codec in whole.for_type(name)]
        assert [codec.name for codec in default_registry().for_type(name)] == among_all
        if not module.startswith("torch"):  # whose codecs ask the library, which may be absent
            assert default_registry().for_class(bare) is whole.for_class(bare)


def test_codecs_of_a_library_do_not_hide_built_in_ones_of_the_same_type(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class OfLibrary(Codec):
        name = "pandas.array"
        types = ("numpy:ndarray",)

    known = Library("pandas", "pandas", codecs=(OfLibrary(),))
    monkeypatch.setattr(registry, "find_library", lambda name, points: known)
    frame = type("Frame", (), {"__module__": "pandas"})
    found = default_registry()
    assert found.for_class(frame) is None  # which is the first question, and reads the codecs of pandas
    names = ["numpy.ndarray", "numpy.subclass", "pandas.array"]
    assert [codec.name for codec in found.for_type("numpy:ndarray")] == names


def test_our_libraries_are_all_there_and_what_is_theirs_is_named_after_them() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    ours = {name: f"packager._libraries.{home}" for name, home in HOMES.items()}
    assert project["entry-points"]["packager.libraries"] == ours
    files = registry.carried_files(HOMES)
    here = Path(library.__file__).parents[2]
    assert all(any((here / f"{name}{end}").is_file() for end in (".py", "/__init__.py")) for name in files)
    homes = {f"packager/_libraries/{home.partition(':')[0]}" for home in HOMES.values()}
    assert set(files) - set(registry.carried_files([])) == homes
    for name in HOMES:
        found = library.find_library(name)
        assert found is not None
        assert found.name == name
        assert {codec.name.partition(".")[0] for codec in found.codecs} <= {name}
        types = [type_name for codec in found.codecs for type_name in codec.types]
        types += [home for _, names in getattr(found.rows, "tables", ()) for home in names]
        assert {type_name.partition(".")[0].partition(":")[0] for type_name in types} == {name}
