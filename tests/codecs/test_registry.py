"""Codecs are found by class and by name, those of other distributions through entry points."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from packager.codecs import Child, Codec, Decoding, Encoding, Node, base, families
from packager.codecs.base import CodecError, CodecRegistry, default_registry, expect
from packager.codecs.frameworks import STATE
from packager.codecs.modules import HANDLES, HOOKS
from packager.codecs.offered import are_codecs_offered
from packager.errors import PackageError
from packager.objects import RecordError, TrustContext, audit, encode
from packager.objects.records import Kind as K
from packager.testing import CodecContract, round_trip
from tests import processes
from tests.attacks import object_forger as forge

OUTSIDE = '''
from packager.codecs import Codec, Node

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
    types = ("outside_codec:Money",)
    def encode(self, obj, context):
        return Node(obj.cents)
    def check(self, literal, children, version):
        if type(literal) is not int or children:
            raise ValueError("expected cents")
    def decode(self, literal, children, version, context):
        return Money(literal)
'''


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
    """A distribution with two entry points: a codec, and one that cannot be loaded."""
    (tmp_path / "outside_codec.py").write_text(OUTSIDE)
    info = tmp_path / "outside-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: outside\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[packager.codecs]\noutside.money = outside_codec:MoneyCodec\n")
    monkeypatch.syspath_prepend(tmp_path)
    yield info / "entry_points.txt"
    sys.modules.pop("outside_codec", None)


def test_codec_of_an_installed_distribution_stores_and_loads(installed: Path) -> None:
    registry = default_registry()
    registry.load_all()
    money = sys.modules["outside_codec"].Money(250)
    assert round_trip([money]).object == [money]


def test_only_the_codec_that_an_archive_names_is_imported(installed: Path) -> None:
    registry = default_registry()
    audit(encode(1 + 2j).records, TrustContext.data_only(), registry=default_registry())
    sys.modules.pop("outside_codec", None)
    assert registry.find("complex") is not None
    assert registry.find("nobody's") is None
    assert "outside_codec" not in sys.modules
    assert registry.find("outside.money") is not None
    assert "outside_codec" in sys.modules


def test_a_codec_added_to_one_default_registry_is_in_no_other() -> None:
    first, second = default_registry(), default_registry()
    first.add(PointCodec())
    assert first.for_class(Point) is first.find("test.point") is not None
    for other in (second, default_registry(), second.copy()):
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
        asked.append(are_codecs_offered(folders))
        return asked[-1]

    monkeypatch.setattr(base, "are_codecs_offered", watched)
    for _ in range(3):
        default_registry().load_all()
    assert asked == [False]
    assert default_registry().find("outside.money") is None
    (tmp_path / "outside_codec.py").write_text(OUTSIDE)
    info = tmp_path / "outside-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: outside\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[packager.codecs]\noutside.money = outside_codec:MoneyCodec\n")
    found = default_registry().find("outside.money")
    sys.modules.pop("outside_codec")
    assert found is not None
    assert asked == [False, True]
    monkeypatch.undo()
    assert default_registry().find("outside.money") is None


def test_entry_point_that_cannot_be_loaded_is_named(installed: Path) -> None:
    installed.write_text("[packager.codecs]\nbroken = outside_missing:Codec\n")
    with pytest.raises(CodecError, match=r"codec 'broken': .* cannot be loaded"):
        default_registry().load_all()


def test_entry_point_under_another_name_than_its_codec(installed: Path) -> None:
    installed.write_text("[packager.codecs]\nother = outside_codec:MoneyCodec\n")
    with pytest.raises(CodecError, match="expected a Codec whose name is 'other'"):
        default_registry().find("other")


def test_missing_codec_says_what_to_install() -> None:
    registry = CodecRegistry([PointCodec()])
    encoded = encode(Point(1, 2), registry=registry)
    with pytest.raises(RecordError, match=r"codec 'test\.point' is not installed; install the package"):
        audit(encoded.records, TrustContext.data_only())


def test_old_versions_of_a_codec_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    registry = CodecRegistry([PointCodec()])
    encoded = encode(Point(1, 2), registry=registry)
    from packager.testing.round_trips import load

    assert load(encoded, TrustContext.data_only(), registry=registry) == Point(1, 2)
    old = type(encoded)(encoded.records.replace(b"test.point\x02", b"test.point\x01"), (), ())
    assert load(old, TrustContext.data_only(), registry=registry) == Point(2, 1)
    newer = type(encoded)(encoded.records.replace(b"test.point\x02", b"test.point\x03"), (), ())
    with pytest.raises(PackageError, match=r"codec 'test\.point' of version 3, here is 2"):
        load(newer, TrustContext.data_only(), registry=registry)


def test_later_codecs_come_first_for_a_class() -> None:
    class Mine(PointCodec):
        """Another codec for points."""

        name = "test.mine"

    registry = CodecRegistry([PointCodec(), Mine()])
    found = registry.for_class(Point)
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
from packager.codecs import default_registry
registry = default_registry()
def seen():
    return sorted(name.rpartition(".")[2] for name in sys.modules if name.startswith("packager.codecs.")
                  and name.endswith(("pandas_codec", "tiktoken_codec", "spatial_codec")))
print(seen(), registry.find("pandas.nothing"), seen(), registry.find("tiktoken.encoding").name, seen())
print(registry.for_class(type("KDTree", (), {"__module__": "scipy.spatial._kdtree"})), seen())
print(len(list(registry)) == len(list(default_registry())))
"""
    out = processes.run(
        [sys.executable, "-c", script], cold=True, capture_output=True, text=True, check=True
    ).stdout
    assert out.splitlines() == [
        "[] None ['pandas_codec'] tiktoken.encoding ['pandas_codec', 'tiktoken_codec']",
        f"{out.splitlines()[1].split(' [')[0]} ['pandas_codec', 'spatial_codec', 'tiktoken_codec']",
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
    for file, names in families.FAMILIES.items():
        codecs = importlib.import_module(f"packager.codecs.{file}").CODECS
        assert [codec.name for codec in codecs] == names.split(",")
        for codec in codecs:
            fresh, whole = default_registry(), default_registry()
            assert list(whole)
            assert fresh.find(codec.name) is whole.find(codec.name) is codec


def test_built_in_codecs_are_found_by_a_type_as_among_all() -> None:
    whole = default_registry()
    assert list(whole)
    told = {}
    for file in families.FAMILIES:
        for codec in importlib.import_module(f"packager.codecs.{file}").CODECS:
            assert {told.setdefault(name, file) for name in codec.types} <= {file}
    assert told == families.FILE_OF_TYPE
    for name in told:
        module, _, qualname = name.partition(":")
        bare = type(qualname, (), {"__module__": module, "__qualname__": qualname})
        among_all = [codec.name for codec in whole._by_type[name]]
        assert [codec.name for codec in base._built_in_for(name)] == among_all
        if not module.startswith("torch"):  # whose codecs ask the library, which may be absent
            assert default_registry().for_class(bare) is whole.for_class(bare)


def test_codecs_of_a_library_do_not_hide_built_in_ones_of_the_same_type(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class OfLibrary(Codec):
        name = "pandas.array"
        types = ("numpy:ndarray",)

    monkeypatch.setattr("packager.codecs.pandas_codec.CODECS", (OfLibrary(),))
    frame = type("Frame", (), {"__module__": "pandas"})
    registry = default_registry()
    assert registry.for_class(frame) is None  # which is the first question, and reads the codecs of pandas
    names = ["numpy.ndarray", "numpy.subclass", "pandas.array"]
    assert [codec.name for codec in registry._by_type["numpy:ndarray"]] == names


def test_the_files_of_codecs_are_all_there_and_named_after_their_libraries() -> None:
    libraries = [f"{library}.x" for library in base.LIBRARY_FAMILIES]
    folder = Path(base.__file__).parent
    assert all((folder / f"{name}.py").is_file() for name in base.codec_files(libraries))
    assert set(base.codec_files(libraries)) - set(base.codec_files([])) == set(base.LIBRARY_FAMILIES.values())
    for library, file in base.LIBRARY_FAMILIES.items():
        codecs = importlib.import_module(f"packager.codecs.{file}").CODECS
        assert {codec.name.partition(".")[0] for codec in codecs} == {library}
        modules = {name.partition(":")[0] for codec in codecs for name in codec.types}
        assert {module.partition(".")[0] for module in modules} == {library}
