"""Computed imports of the project: what texts name is stored; what never ran and may be missed is refused."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from packager import PackageExporter, PackagingWarning
from packager.proving import ProofError
from tests import processes

pytestmark = pytest.mark.processes(share=3)

Export = Callable[..., PackageExporter]
UNRUN = "A computed import never ran in the proof, and may load what is not stored."
LAYERS = """
    class Net:
        def __init__(self, w): self.w = w
        def __call__(self, x): return self.w * x
"""
LOAD = """
import json, sys
from packager import PackageImporter
with PackageImporter(sys.argv[1]) as importer:
    print(json.dumps(importer.load_object("model", "model")(2)))
"""


def answer_of(file: Path) -> Any:
    """Call the model with 2 in a fresh process that has nothing of the project."""
    command = [sys.executable, "-I", "-c", LOAD, str(file)]
    done = processes.run(command, cwd=file.parent, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    return json.loads(done.stdout)


def shop(code: str, **more: str) -> dict[str, str]:
    tree = {"shop/__init__.py": "", "shop/layers.py": LAYERS, "shop/model.py": code}
    return tree | {name.replace("__", "/"): text for name, text in more.items()}


LOCATE = """
    import pydoc
    CONFIG = {"_target_": "shop.layers.Net", "w": 3}
    class Model:
        def __init__(self, cfg=None): self.cfg = cfg
        def __call__(self, x):
            cfg = dict(self.cfg or CONFIG)
            return pydoc.locate(cfg.pop("_target_"))(**cfg)(x)
"""
IN_OBJECT = LOCATE.replace('"shop.layers.Net"', "None")
IMPORTED = """
    import importlib, json, pathlib
    HERE = pathlib.Path(__file__).parent
    def build(path, **kwargs):
        home, _, name = path.replace(":", ".").rpartition(".")
        return getattr(importlib.import_module(home), name)(**kwargs)
    class Model:
        def __call__(self, x):
            text = (HERE / "conf" / "net.yaml").read_text()
            return build(*[line.split()[1] for line in text.splitlines() if "target" in line], w=3)(x)
"""
RESOLVED = """
    import pkgutil
    class Model:
        def __init__(self, *, head="shop.layers:Net"): self.head = head
        def __call__(self, x): return pkgutil.resolve_name(self.head)(3)(x)
"""


@pytest.mark.parametrize(
    ("tree", "saved"),
    [
        (shop(LOCATE), "shop.model:Model()"),
        (shop(IN_OBJECT), "shop.model:Model({'_target_': 'shop.layers.Net', 'w': 3})"),
        (shop(IN_OBJECT), "shop.model:Model((('w', 3), ('_target_', 'shop.layers:Net'.replace(':', '.'))))"),
        (
            shop(IMPORTED) | {"shop/conf/net.yaml": "net:\n  _target_: shop.layers.Net\n"},
            "shop.model:Model()",
        ),
        (shop(IMPORTED) | {"shop/conf/net.yaml": "target: shop.layers:Net # this\n"}, "shop.model:Model()"),
        (shop(RESOLVED), "shop.model:Model()"),
    ],
)
def test_modules_that_configurations_name_are_stored_and_found(
    export: Export, tmp_path: Path, tree: Mapping[str, str], saved: str
) -> None:
    with pytest.warns(PackagingWarning, match=r"\(taken to load shop\.layers, and nothing else\)") as told:
        exporter = export(tree, saved)
    assert '["shop.layers"])  # or the modules that it loads' in str(told[0].message)
    assert "shop.layers" in exporter.interned_modules()
    assert answer_of(tmp_path / "net.kellet") == 6


def test_texts_that_name_no_module_of_the_project_bring_none(export: Export) -> None:
    code = """
        import logging, pydoc
        log = logging.getLogger("shop.train")
        FILES = ["shop.layers.json", "torch.nn.Linear", "shop.absent.Net", "see shop.layers.Net"]
        class Model:
            def pick(self, name): return pydoc.locate(name)
    """
    tree = shop(code) | {"shop/train.py": "import absent_of_all\n", "shop/notes.txt": "shop.layers.Net"}
    with pytest.warns(PackagingWarning, match="taken to load nothing"):
        exporter = export(tree, "shop.model:Model()")
    assert exporter.interned_modules() == ["shop", "shop.model"]


def test_a_name_of_a_module_alone_makes_just_that_name_live(export: Export) -> None:
    layers = LAYERS + "\n    def train():\n        import absent_of_all\n"
    with pytest.warns(PackagingWarning) as told:
        export(shop(LOCATE) | {"shop/layers.py": layers}, "shop.model:Model()")
    assert "absent_of_all" not in str(told[0].message)


COMPUTED = """
    import pydoc
    class Model:
        def __call__(self, x):
            return pydoc.locate(".".join(["shop", "layers", "Net"]))(3)(x)
"""
BY_GLOB = """
    import importlib
    class Model:
        kind = "layers"
        def __call__(self, x): return importlib.import_module(f"shop.{self.kind}").Net(3)(x)
"""
ONE_LINE = """
    import importlib
    def pick(names): return importlib.import_module(names.replace("/", "."))
    class Model:
        def __call__(self, x): return pick("shop/layers").Net(3)(x)
"""


@pytest.mark.parametrize(
    ("code", "names"), [(COMPUTED, '["shop.layers"]'), (BY_GLOB, '"all"'), (ONE_LINE, '["shop.layers"]')]
)
def test_an_import_that_never_ran_and_may_load_what_is_loaded_here_is_refused_with_the_line_that_mends_it(
    export: Export, tmp_path: Path, code: str, names: str
) -> None:
    with pytest.raises(ProofError) as refused:
        export(shop(code), "shop.model:(Model()(2), Model())[1]")
    [problem] = refused.value.plan.problems
    assert problem.reason == UNRUN
    assert "nothing in the proof came to it; of what is not stored, shop.layers " in problem.context
    assert problem.fix.startswith('exporter.answer("shop/model.py:')
    assert problem.fix.endswith(f", {names})")
    assert not (tmp_path / "net.kellet").exists()
    sys.modules.pop("shop.layers")
    export(shop(code), "shop.model:Model()", lambda exporter: exec(problem.fix, {"exporter": exporter}))
    assert answer_of(tmp_path / "net.kellet") == 6


@pytest.mark.parametrize("code", [COMPUTED, ONE_LINE])
def test_where_nothing_says_that_it_loads_anything_it_is_a_note(export: Export, code: str) -> None:
    with pytest.warns(PackagingWarning, match="taken to load nothing"):
        export(shop(code), "shop.model:Model()")


def test_an_import_that_is_said_to_load_nothing_is_not_refused(export: Export) -> None:
    export(
        shop(COMPUTED),
        "shop.model:(Model()(2), Model())[1]",
        lambda exporter: exporter.answer("shop/model.py:5:Model.__call__", "none"),
    )


def call(exporter: PackageExporter) -> None:
    exporter.save_entry("run", "model", "model")
    exporter.save_check("two", {"arg0": 2}, entry="run")


def test_a_golden_call_that_comes_to_it_settles_it(export: Export, tmp_path: Path) -> None:
    code = """
        import importlib, threading
        def load(name, into): into.append(importlib.import_module(name.strip()))
        class Model:
            def __call__(self, x):
                found = []
                thread = threading.Thread(target=load, args=(" math ", found))
                thread.start()
                thread.join()
                return found[0].floor(x + 0.5) * 3
    """
    tree = shop(code)
    saved = "shop.model:(__import__('shop.layers'), Model())[1]"
    with pytest.raises(ProofError, match="never ran in the proof"):
        export(tree, saved)
    with pytest.warns(PackagingWarning, match=r"\(taken to load nothing\)"):
        export(tree, saved, call)
    assert answer_of(tmp_path / "net.kellet") == 6


def test_a_golden_call_that_misses_what_it_looked_for_is_refused_with_the_line_that_mends_it(
    export: Export,
) -> None:
    with pytest.raises(ProofError) as refused:
        export(shop(COMPUTED), "shop.model:(Model()(2), Model())[1]", call)
    [problem] = refused.value.plan.problems
    assert problem.reason == "A golden call does not give there what it gave here."
    assert "it may have looked for what is not stored: shop.layers" in problem.context
    assert problem.fix == 'exporter.answer("shop/model.py:5:Model.__call__", ["shop.layers"])'


LISTED = """
    import importlib, pkgutil
    FOUND = {{}}
    def load():
        from . import steps
        for info in {}:
            FOUND[info.name[-6:]] = importlib.import_module(info.name).step
    load()
    class Model:
        def __call__(self, x): return FOUND["triple"](x)
"""
LISTING = 'pkgutil.iter_modules(steps.__path__, steps.__name__ + ".")'


@pytest.mark.parametrize("listing", [LISTING, f"sorted({LISTING}, key=lambda info: info.name)"])
def test_modules_that_a_package_lists_by_its_own_name_are_refused_until_they_are_answered(
    export: Export, tmp_path: Path, listing: str
) -> None:
    """Nothing is listed where they are not stored, so that the import never runs, and a golden call fails."""
    tree = {
        **shop(LISTED.format(listing)),
        "shop/steps/__init__.py": "",
        "shop/steps/triple.py": "def step(x): return 3 * x\n",
    }
    fixes = []
    for more in (lambda exporter: None, call):
        with pytest.raises(ProofError) as refused:
            export(tree, "shop.model:Model()", more)
        fixes += [problem.fix for problem in refused.value.plan.problems]
    assert fixes == ['exporter.answer("shop/model.py:7:load", ["shop.steps.triple"])'] * 2
    export(tree, "shop.model:Model()", lambda exporter: exec(fixes[0], {"exporter": exporter}))
    assert answer_of(tmp_path / "net.kellet") == 6


def test_plugins_of_another_distribution_of_the_project_are_refused_until_they_are_answered(
    project: Callable[[Mapping[str, str]], Path],
    installed: Callable[..., Path],
    export: Export,
    tmp_path: Path,
) -> None:
    points = "[shop.kinds]\nsteel = steelworks.kinds:Steel\n"
    files = {"steelworks/__init__.py": "", "steelworks/kinds.py": "class Steel:\n    hardness = 3\n"}
    site = installed("steelworks", files, version="0.4")
    (site / "steelworks-0.4.dist-info" / "entry_points.txt").write_text(points)
    code = """
        from importlib.metadata import entry_points
        class Model:
            def __call__(self, x):
                return [x * one.load().hardness for one in entry_points(group="shop.kinds")]
    """
    with pytest.raises(ProofError) as refused:
        export(shop(code), "shop.model:Model()")
    [problem] = refused.value.plan.problems
    assert (problem.reason, problem.subject) == (UNRUN, "module shop.model")
    assert "of what is not stored, steelworks.kinds are its plugins here" in problem.context
    export(shop(code), "shop.model:Model()", lambda exporter: exec(problem.fix, {"exporter": exporter}))
    for name in ("steelworks", "steelworks.kinds"):
        sys.modules.pop(name, None)
    command = [sys.executable, "-I", "-c", LOAD, str(tmp_path / "net.kellet")]
    done = processes.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.stderr, json.loads(done.stdout or "null")) == ("", [6])


def test_a_file_that_may_be_run_is_refused_until_what_it_imports_is_answered(
    export: Export, tmp_path: Path
) -> None:
    code = """
        import importlib.util, pathlib
        class Model:
            def __call__(self, x):
                file = pathlib.Path(__file__).with_name("ext") / "treble.py"
                spec = importlib.util.spec_from_file_location("treble", file)
                module = importlib.util.module_from_spec(spec)
                spec.loader.exec_module(module)
                return module.go(x)
    """
    plugin = "from shop.layers import Net\ndef go(x): return Net(3)(x)\n"
    tree = shop(code) | {"shop/ext/treble.py": plugin}
    with pytest.raises(ProofError) as refused:
        export(tree, "shop.model:Model()")
    [problem] = refused.value.plan.problems
    assert (problem.reason, problem.subject) == (UNRUN, "module shop.model")
    assert "of what is not stored, shop.layers are imported by files that it may run" in problem.context
    export(tree, "shop.model:Model()", lambda exporter: exec(problem.fix, {"exporter": exporter}))
    assert answer_of(tmp_path / "net.kellet") == 6


def test_an_installed_package_with_computed_imports_is_not_refused(
    installed: Callable[..., Path], export: Export
) -> None:
    code = "import importlib\nclass Base:\n    def load(self, name): return importlib.import_module(name)\n"
    installed("widelib", {"widelib/__init__.py": code, "widelib/extra.py": ""}, version="1.0", origin=None)
    model = "import widelib, widelib.extra\nclass Model(widelib.Base): pass\n"
    tree = {"shop/__init__.py": "", "shop/model.py": model}
    exporter = export(tree, "shop.model:Model()", lambda exporter: exporter.intern("widelib.**"))
    assert exporter.proof is not None
    assert exporter.proof.ok
