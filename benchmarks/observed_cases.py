"""Fixtures beside the small projects: packages that one rule stores, models of kellet and of transformers."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from benchmarks.proof_cases import CASES

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures"

_EXPORT = """
import json, os, pathlib
from importlib.util import find_spec
from packager import PackageExporter

exec({build!r}, globals())

def c_modules_of(package):
    (folder,) = map(pathlib.Path, find_spec(package).submodule_search_locations)
    files = sorted(file.relative_to(folder.parent) for file in folder.rglob("*.so"))
    return [".".join([*file.parent.parts, file.name.partition(".")[0]]) for file in files]

with PackageExporter(os.environ["OUT"], policy="auto") as exporter:
    if c_modules := c_modules_of({package!r}):
        exporter.extern(c_modules)
    exporter.intern({package!r} + ".**")
    for name in {roots!r}:
        exporter.save_module(name)
    if "model" in globals():
        exporter.save_object("model", "model", model)
    if "inputs" in globals():
        exporter.save_check("model", inputs)
    plan = [module.name for module in exporter.plan().by_action("intern")]
exec({program!r}, globals())
print("ANSWER " + json.dumps([globals().get("output"), plan]))
"""
# The program sees what code of the archive sees: its imports are those of the package.
_LOAD = """
import json, os
from packager import PackageImporter

with PackageImporter(os.environ["OUT"]) as importer:
    scope = {{"__name__": "__main__"}}
    if {program!r}:
        scope["__builtins__"] = vars(importer.import_module({package!r}))["__builtins__"]
    if importer.manifest.objects:
        scope["model"] = importer.load_object("model", "model")
    exec({program!r}, scope)
    equal = all(outcome.within(1e-5) for outcome in importer.check())
    print("ANSWER " + json.dumps([scope.get("output"), equal, sorted(importer.modules)]))
"""


@dataclass(frozen=True)
class Case:
    """A package that is stored by one rule, but for its C modules, which stay outside.

    `build` sets `model`, and `inputs` of a golden call where it has one; `program` sets `output`, as JSON
    holds it, where the model was made and where it is loaded. `roots` are saved by name. `folders` are those
    of a package that is not installed.
    """

    name: str
    package: str
    build: str
    program: str = ""
    roots: tuple[str, ...] = ()
    folders: tuple[Path, ...] = ()

    script = "export.py"

    @property
    def path(self) -> tuple[str, ...]:
        """The folders of its code, beside those of the environment."""
        return tuple(map(str, self.folders))

    def to_export(self, *, planned: bool) -> dict[str, str]:
        """Return the script that exports it. The plan is always asked for."""
        texts = {"build": self.build, "package": self.package, "roots": self.roots, "program": self.program}
        return {self.script: _EXPORT.format(**texts)}

    @property
    def load(self) -> str:
        """The program that loads and calls it."""
        return _LOAD.format(package=self.package, program=self.program)


def cases() -> list[Case]:
    """Return the cases of all packages that are installed, and of models in this checkout."""
    proved = [Case(case.name, case.package, case.build, case.program, case.modules) for case in CASES]
    every = [*proved, *_LIBRARIES, *_models(), *_FAMILIES]
    return [case for case in every if case.folders or find_spec(case.package)]


def _models() -> list[Case]:
    """Models of kellet in this checkout, as the flows export them."""
    inputs = {
        "CharLSTM(30, 12, 20)": "kellet.arange(12).reshape(4, 3)",
        "ResNet(10, (4, 8, 8, 16), (1, 2, 1, 1))": "kellet.arange(6144.0).reshape(2, 3, 32, 32) / 6144",
        "GPT(30, 16, 24, 2, 3)": "kellet.arange(12).reshape(2, 6)",
    }
    folders = (FIXTURES / "models",)
    made = [
        Case(
            call.partition("(")[0],
            "classics",
            f"import kellet, classics\nkellet.manual_seed(0)\nmodel = classics.{call}.eval()\n",
            f"import kellet\nanswer = model({given})\n"
            "output = (answer[0] if isinstance(answer, tuple) else answer).tolist()",
            folders=folders,
        )
        for call, given in inputs.items()
    ]
    build = (
        "import kellet, bert\nkellet.manual_seed(0)\n"
        "model = bert.build(width=24, layers=2, heads=3, inner=40)"
    )
    encoder = Case(
        "sentence encoder", "bert", build, "output = model.encode(['A cat sits.']).tolist()", folders=folders
    )
    return [*made, encoder]


# Fitted where they are loaded: an estimator whose class is stored gives another state than an installed one.
_LIBRARIES = (
    Case(
        "LogisticRegression",
        "sklearn",
        "import sklearn.linear_model",
        "import numpy as np\nfrom sklearn.linear_model import LogisticRegression\n"
        "X = np.random.default_rng(0).normal(size=(60, 4))\n"
        "output = LogisticRegression().fit(X, X[:, 0] > 0).predict_proba(X[:5]).round(9).tolist()",
        ("sklearn.linear_model",),
    ),
    Case(
        "scikit-learn pipeline",
        "sklearn",
        "import sklearn.ensemble, sklearn.pipeline, sklearn.preprocessing",
        "import numpy as np\nfrom sklearn.ensemble import RandomForestClassifier\n"
        "from sklearn.pipeline import make_pipeline\nfrom sklearn.preprocessing import StandardScaler\n"
        "X = np.random.default_rng(0).normal(size=(60, 4))\n"
        "model = make_pipeline(StandardScaler(), RandomForestClassifier(5, random_state=0))\n"
        "output = model.fit(X, X[:, 0] > 0).predict(X[:9]).tolist()",
        ("sklearn.ensemble", "sklearn.pipeline", "sklearn.preprocessing"),
    ),
)


def _family(name: str, stem: str, config: str, inputs: str) -> Case:
    """Return a model of transformers with random weights."""
    build = (
        f"import torch\nfrom transformers import {stem}Config, {stem}Model\ntorch.manual_seed(0)\n"
        f"model = {stem}Model({stem}Config({config})).eval()\ninputs = {inputs}\n"
    )
    return Case(name, "transformers", build)


_SIZES = "hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=37"
_IDS = '{"input_ids": torch.arange(24).reshape(2, 12)}'
_PIXELS = '{"pixel_values": torch.randn(2, 3, 32, 32)}'
_FAMILIES = (
    _family("BertModel", "Bert", f"vocab_size=99, {_SIZES}", _IDS),
    _family(
        "GPT-2",
        "GPT2",
        "vocab_size=99, n_positions=64, n_embd=32, n_layer=2, n_head=4, use_cache=False",
        _IDS,
    ),
    _family("ViT", "ViT", f"{_SIZES}, image_size=32, patch_size=8", _PIXELS),
    _family("Llama", "Llama", f"vocab_size=99, {_SIZES}, num_key_value_heads=2, use_cache=False", _IDS),
)
