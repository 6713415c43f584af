"""Typed configurations: of those of libraries the export says whom to trust; the project's need none."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy
import pytest

from packager import PackageExporter, PackageImporter, PackagingWarning
from packager._proving import ProofError
from packager.errors import PackageError
from tests import processes

pytestmark = pytest.mark.processes(share=3)

Export = Callable[..., PackageExporter]
Project = Callable[[Mapping[str, str]], Path]

CONFIGURATIONS = """
    import argparse, collections, datetime, enum, pathlib, re, types, typing
    from dataclasses import InitVar, dataclass, field
    class Mode(enum.Enum):
        FAST = "fast"
    class Parts(enum.Flag):
        A, B = 1, 2
    @dataclass(frozen=True, slots=True)
    class Frozen:
        width: int = 3
        mode: Mode = Mode.FAST
        place: pathlib.Path = pathlib.Path("x")
    @dataclass(kw_only=True)
    class Wide(typing.Generic[typing.TypeVar("T")]):
        layers: dict = field(default_factory=lambda: {"a": Frozen()})
        start: InitVar[int] = 5
        parts: Parts = Parts.A | Parts.B
        pattern: object = field(default_factory=lambda: re.compile("a+"))
        def __post_init__(self, start): self.begin = start
    class Named(typing.NamedTuple):
        width: int = 1
        every: datetime.timedelta = datetime.timedelta(1)
    class User(collections.UserDict): pass
    class Dotted(dict):
        __getattr__ = dict.__getitem__
    class Mapped(collections.abc.Mapping):
        def __init__(self, **given): self._given = given
        def __getitem__(self, key): return self._given[key]
        def __iter__(self): return iter(self._given)
        def __len__(self): return len(self._given)
        def __eq__(self, other): return self._given == other._given
    class Space(types.SimpleNamespace): pass
    class Parsed(argparse.Namespace): pass
    class Slotted:
        __slots__ = ("width",)
        def __init__(self): self.width = 4
        def __eq__(self, other): return self.width == other.width
    class Stateful:
        def __init__(self): self.made = [1]
        def __getstate__(self): return {"made": self.made}
        def __setstate__(self, state): self.made = list(state["made"])
        def __eq__(self, other): return self.made == other.made
    class Model:
        def __init__(self, conf): self.conf = conf
    def kinds():
        return [Frozen(), Wide(), Named(), User(a=1), Dotted(a=[1]), Mapped(b=2), Space(c=3), Parsed(d=4),
                Slotted(), Stateful(), Mode.FAST, collections.OrderedDict(x=Frozen(width=9))]
"""
LOAD = """
import sys
from packager import PackageImporter
with PackageImporter(sys.argv[1]) as importer:
    confs = importer.load_object("model", "model").conf
    print(confs == importer.import_module("shop.model").kinds())
"""


def loaded(file: Path, load: str) -> str:
    """Run `load` in a fresh process; return what it printed."""
    command = [sys.executable, "-I", "-c", load, str(file)]
    done = processes.run(command, cwd=file.parent, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    return done.stdout.strip()


def test_typed_configurations_of_the_project_come_back_equal_and_need_no_trust(
    export: Export, tmp_path: Path
) -> None:
    exporter = export({"shop/__init__.py": "", "shop/model.py": CONFIGURATIONS}, "shop.model:Model(kinds())")
    assert exporter.plan().warnings == ()
    assert exporter.proof is not None
    assert exporter.proof.trusted == ()
    assert loaded(tmp_path / "net.kellet", LOAD) == "True"


FROZEN = """from dataclasses import dataclass
@dataclass(frozen=True, slots=True)
class Conf:
    width: int = 3
"""
REDUCED = """class Conf:
    def __init__(self, width): self.width = width
    def __reduce__(self): return Conf, (self.width,)
"""


@pytest.mark.parametrize(("library", "text"), [("frozenkit", FROZEN), ("reducekit", REDUCED)])
def test_of_a_librarys_configuration_the_export_says_whom_to_trust_as_loaders_will_before_anything_runs(
    export: Export, installed: Callable[..., Path], tmp_path: Path, library: str, text: str
) -> None:
    installed(library, {f"{library}.py": text}, version="1.0", origin=None)
    model = f"import {library} as kit\nclass Model:\n    def __init__(self): self.conf = kit.Conf(width=4)\n"
    with pytest.warns(PackagingWarning) as told:
        export({"shop/__init__.py": "", "shop/model.py": model}, "shop.model:Model()")
    [line] = set(re.findall(r"trust=\(.*?,\)", str(told[0].message)))
    assert line == f"trust=('{library}:Conf',)"
    for name in (library, "shop", "shop.model"):
        sys.modules.pop(name)
    with PackageImporter(tmp_path / "net.kellet") as importer:
        with pytest.raises(PackageError, match="nothing was imported or built") as refused:
            importer.load_object("model", "model")
        assert f"{library}:Conf" in str(refused.value)
        assert not {library, *importer.modules} & set(sys.modules)
    with PackageImporter(tmp_path / "net.kellet", trust=(f"{library}:Conf",)) as importer:
        assert importer.load_object("model", "model").conf.width == 4


@pytest.mark.parametrize("frozen", ["", "(frozen=True)", "(slots=True)"])
def test_a_state_dict_with_a_class_of_the_project_is_refused_with_what_helps(
    project: Project, tmp_path: Path, frozen: str
) -> None:
    text = f"from dataclasses import asdict, dataclass\n@dataclass{frozen}\nclass Conf:\n    width: int = 3\n"
    project({"shop.py": text})
    import shop

    state = {"weight": numpy.ones(2), "conf": shop.Conf()}
    exporter = PackageExporter(tmp_path / "net.kellet", policy="auto")
    exporter.save_state_dict("model", "state", state)
    with pytest.raises(ProofError) as refused:
        exporter.close()
    [problem] = refused.value.plan.problems
    assert "extras['values']['conf'] (its source is stored, but this object was saved" in problem.context
    assert "Save it by exporter.save_object(package, resource, obj)" in problem.context
    assert not (tmp_path / "net.kellet").exists()
    with PackageExporter(tmp_path / "net.kellet", policy="auto") as exporter:
        exporter.save_object("model", "state", state)
        exporter.save_state_dict("model", "plain", {**state, "conf": shop.asdict(state["conf"])})
    with PackageImporter(tmp_path / "net.kellet") as importer:
        assert importer.load_object("model", "state")["conf"].width == 3
        assert importer.load_state_dict("model", "plain")["conf"] == {"width": 3}
