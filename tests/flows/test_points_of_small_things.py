"""Small things that users met, varied, in fresh processes: one writes, another reads in an empty folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from .points import COMMANDS, answers, write

PROJECT = {
    "attic/__init__.py": "",
    "attic/beams.py": "import attic.nails\nfrom attic import shingles as roof\n",
    "attic/nails.py": "LENGTH = 3\n",
    "attic/shingles.py": "import attic.nails\nCOUNT = 12\n",
    "attic/loft.py": """
        from kellet import nn
        class Loft(nn.Module):
            def __init__(self):
                super().__init__()
                self.floor = nn.Linear(3, 2)
    """,
    "attic/ghosts.py": """
        import spirits
        from spirits.white import Lady
        def seen(value: "int | spirits.Ghost" = None) -> Lady | None:
            return value
        KINDS = Lady | int, None | spirits.Ghost, spirits.Ghost | Lady
    """,
    "yard.py": "from attic.nails import LENGTH\n",
    "spirits/__init__.py": "class Ghost:\n    pass\n",
    "spirits/white.py": "class Lady:\n    pass\n",
    "attic/forms.py": """
        import os
        class Form:
            def __init__(self, name):
                self.name = name
        def made(name):
            return Form(name)
    """,
}
EXPORT = (
    COMMANDS
    + """
import os, warnings

sys.path.insert(0, os.getcwd())
import numpy as np
from packager import PackageExporter

warnings.simplefilter("ignore")

def resources():
    with PackageExporter("../paper.kellet", policy="auto", prove=False) as exporter:
        exporter.save_text("paper.leaves", "one.txt", "first leaf")
        exporter.save_binary("paper", "ink.bin", b"\\x00\\x01")

point("resources", resources)

def trained(model, optimizer, times):
    import kellet

    for _ in range(times):
        optimizer.zero_grad()
        (model.floor(kellet.ones(4, 3)) ** 2).mean().backward()
        optimizer.step()

def versioned():
    from attic import loft

    loft.Loft._version = 4
    model = loft.Loft()
    with PackageExporter("../loft.kellet", policy="auto") as exporter:
        exporter.save_object("model", "loft", model)
        exporter.save_state_dict("model", "weights", model)
    import kellet

    for kind in ("SGD", "Adagrad"):
        model = loft.Loft()
        optimizer = getattr(kellet.optim, kind)(
            model.parameters(), lr=0.1, **({"momentum": 0.5} if kind == "SGD" else {})
        )
        trained(model, optimizer, 2)
        with PackageExporter(f"../{kind}.kellet", policy="auto", prove=False) as exporter:
            exporter.save_state_dict("model", "weights", model)
            exporter.save_state_dict("model", "optimizer", optimizer.state_dict())
        trained(model, optimizer, 2)
        np.save(f"{kind}.npy", model.floor.weight.detach().numpy())
    return model.state_dict()._metadata[""]

point("a version set from outside", versioned)

def mocked():
    with PackageExporter("../ghosts.kellet", policy="auto", prove=False) as exporter:
        exporter.mock("spirits.**")
        exporter.save_module("attic.ghosts")

point("mocks", mocked)

def arrays():
    wave = np.exp(1j * np.arange(5))
    days = np.array(["2024-02-29", "NaT", "1969-12-31T23:59:59.999"], dtype="datetime64[ms]")
    spans = np.arange(4).astype("timedelta64[h]")[::-1]
    odd = {
        "flag": np.array([True]),
        "wave": wave,
        "days": days,
        "spans": spans,
        "none": np.empty((0, 3), "f2"),
        "deep": np.empty((2, 0, 4), "c16"),
        "half": wave.astype("c8")[1:],
    }
    with PackageExporter("../arrays.kellet", policy="auto") as exporter:
        exporter.save_object("data", "odd", odd)
    return {name: (str(one.dtype), one.shape) for name, one in odd.items()}

point("arrays", arrays)

def estimators():
    from sklearn.ensemble import (
        RandomForestClassifier,
        StackingRegressor,
        VotingClassifier,
        VotingRegressor,
    )
    from sklearn.linear_model import LogisticRegression, Ridge
    from sklearn.neighbors import (
        KNeighborsClassifier,
        KNeighborsRegressor,
        NearestNeighbors,
        RadiusNeighborsRegressor,
    )
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    x = np.random.default_rng(3).normal(size=(40, 3))
    y, z = (x[:, 0] > 0).astype(int), x @ [1.0, 2.0, 3.0]
    models = {
        "ball": KNeighborsClassifier(3, algorithm="ball_tree", leaf_size=5, metric="manhattan").fit(x, y),
        "kd": KNeighborsRegressor(4, algorithm="kd_tree", weights="distance").fit(x, z),
        "brute": NearestNeighbors(n_neighbors=2, algorithm="brute", metric="cosine").fit(x),
        "radius": RadiusNeighborsRegressor(2.0).fit(x, z),
        "voting": VotingClassifier(
            [
                ("l", LogisticRegression()),
                ("k", KNeighborsClassifier(3)),
                ("f", RandomForestClassifier(3, random_state=0)),
            ],
            voting="soft",
        ).fit(x, y),
        "mean": VotingRegressor(
            [("r", Ridge()), ("k", make_pipeline(StandardScaler(), KNeighborsRegressor(2)))]
        ).fit(x, z),
        "stack": StackingRegressor([("k", KNeighborsRegressor(5))], final_estimator=Ridge(), cv=3).fit(
            x, z
        ),
    }
    with PackageExporter("../models.kellet", policy="auto") as exporter:
        for name, model in models.items():
            exporter.save_object("models", name, model)
        exporter.save_object("models", "x", x)
    return {
        name: np.asarray(model.predict(x) if name != "brute" else model.kneighbors(x)[1])
        .ravel()[:4]
        .tolist()
        for name, model in models.items()
    }

point("estimators", estimators)

def whose():
    with PackageExporter("../attic.kellet", policy="auto", prove=False) as exporter:
        exporter.save_module("attic.beams")
        exporter.save_module("yard")

point("whose", whose)
np.savez(
    "old.npz", **{"module.model.a.kernel": np.ones((2, 3)), "module.model.b.kernel": np.ones((2, 3))}
)
np.savez("new.npz", **{"model.first.weight": np.ones((2, 3)), "model.second.weight": np.ones((2, 3))})
np.savez("clear.npz", **{"model.a.weight": np.ones((2, 3)), "model.b.weight": np.ones((2, 3))})
point(
    "nothing on shape alone",
    lambda: cli("suggest-migration", "old.npz", "new.npz", "-o", "shape.toml")[::2],
)
point(
    "a draft that strips",
    lambda: cli("suggest-migration", "old.npz", "clear.npz", "-o", "strip.toml")[::2],
)
point(
    "the drafts",
    lambda: [
        [line for line in open(one).read().splitlines() if line.startswith(("rename", "to ="))]
        for one in ("shape.toml", "strip.toml")
    ],
)
point(
    "wrappers and the draft",
    lambda: cli(
        "migrate", "old.npz", "--with", "wrappers", "--with", "strip.toml", "-o", "both.safetensors"
    ),
)

def tied():
    whole = np.arange(6.0).reshape(2, 3)
    with PackageExporter("tied.kellet", policy="auto", prove=False) as exporter:
        exporter.save_state_dict("m", "w", {"a": whole, "b": whole, "c": whole[1], "d": np.ones(2)})
        exporter.save_state_dict("m", "empty", {"e": np.empty((0, 2)), "f": np.ones(1, "c16")})
    return cli("extract", "tied.kellet", "out", "m/w")

point("ties", tied)
os.mkdir("many"), np.save("many/left.npy", np.ones(3)), np.save("many/right.npy", np.zeros((2, 2), "i2"))
point("a folder of arrays", lambda: cli("inspect", "many"))
open("guarded.py", "w").write(
    "try:\\n    import fog_over_there\\nexcept ImportError:\\n    fog_over_there = None\\n"
    "import sys\\nif sys.version_info < (3, 8):\\n    import guarded_old\\nSEEN = 1\\n"
)

def runnable():
    with PackageExporter("../run.kellet", policy="auto", runnable=True, prove=False) as exporter:
        exporter.save_module("guarded")
    code, out, err = cli("inspect", "../run.kellet")
    return code, [line for line in out.splitlines() if "runnable:" in line]

point("runnable", runnable)

def forms():
    from attic import forms
    import pickle

    with PackageExporter("../forms.kellet", policy="auto", prove=False) as exporter:
        exporter.extern("attic.**")
        exporter.save_object("model", "form", forms.made("a"))

point("forms", forms)
from packager.migrations import Migration, attach, attached, migrate, plan_migration, rename

point(
    "why a template misses",
    lambda: str(
        plan_migration(
            Migration("m", [rename("{p:any}.gamma", "{p}.weight")]),
            {"gamma": np.ones(1), "a.beta": np.ones(1)},
        )
    ),
)
point(
    "repeats",
    lambda: sorted(
        migrate(
            Migration("m", [rename("{a}-{a}.w", "{a}.w")]),
            {"x-x.w": np.ones(1), "x-y.w": np.ones(1), "aa-aa.w": np.ones(1)},
        )
    ),
)

def attached_for_a_while():
    from kellet import nn

    class Own(nn.Linear):
        pass

    with attach(Own, Migration("m", [rename("old", "weight")], to=1)) as handle:
        inside = [one.name for one in attached(Own)]
    return inside, [one.name for one in attached(Own)]

point("with attach", attached_for_a_while)
"""
)
READ = (
    COMMANDS
    + """
import os
import numpy as np
from packager import PackageExporter, PackageImporter, sys_importer

def at(name):
    return os.path.join(HOME, name + ".kellet")

def resources():
    import importlib.resources

    with PackageImporter(at("paper")) as importer:
        leaves, paper = importer.import_module("paper.leaves"), importer.import_module("paper")
        reader = leaves.__spec__.loader.get_resource_reader(leaves.__name__)
        return (
            importlib.resources.files(leaves).joinpath("one.txt").read_text(),
            sorted(reader.contents()),
            importlib.resources.files(paper).joinpath("ink.bin").read_bytes() == b"\\0\\1",
            (importlib.resources.files(paper) / "leaves" / "one.txt").is_file(),
        )

point("resources", resources)

def versioned():
    with PackageImporter(at("loft")) as importer:
        model = importer.load_object("model", "loft")
        fresh = type(model)()
        said = str(fresh.load_state_dict(importer.load_state_dict("model", "weights")))
        return model.state_dict()._metadata[""], said, type(model).__dict__.get("_version")

def goes_on(kind):
    import kellet

    with PackageImporter(at(kind)) as importer, PackageImporter(at("loft")) as code:
        model = type(code.load_object("model", "loft"))()
        model.load_state_dict(importer.load_state_dict("model", "weights"))
        more = {"momentum": 0.5} if kind == "SGD" else {}
        optimizer = getattr(kellet.optim, kind)(model.parameters(), lr=0.1, **more)
        optimizer.load_state_dict(importer.load_state_dict("model", "optimizer"))
        for _ in range(2):
            optimizer.zero_grad()
            (model.floor(kellet.ones(4, 3)) ** 2).mean().backward()
            optimizer.step()
        there = np.load(os.path.join(HOME, "project", f"{kind}.npy"))
        return np.array_equal(model.floor.weight.detach().numpy(), there)

for kind in ("SGD", "Adagrad"):
    point("goes on with " + kind, lambda: goes_on(kind))
point("a version set from outside", versioned)

def mocked():
    with PackageImporter(at("ghosts")) as importer:
        ghosts = importer.import_module("attic.ghosts")
        return ghosts.seen(3), len(ghosts.KINDS), ghosts.seen.__annotations__["return"] is not None

point("mocks", mocked)

def arrays():
    with PackageImporter(at("arrays")) as importer:
        odd = importer.load_object("data", "odd")
        kept = dict(odd)
    return (
        {name: (str(one.dtype), one.shape) for name, one in kept.items()},
        {name: (one.flags.aligned, one.flags.writeable) for name, one in kept.items()},
        kept["days"].astype(str).tolist(),
        kept["spans"].astype(int).tolist(),
        abs(kept["wave"] - np.exp(1j * np.arange(5))).max(),
    )

point("arrays", arrays)

def of_a_state_dict():
    with PackageImporter(os.path.join(HOME, "project", "tied.kellet")) as importer:
        kept = [importer.load_state_dict("m", name) for name in ("w", "empty")]
        return {
            key: (one.flags.aligned, one.flags.writeable) for state in kept for key, one in state.items()
        }

point("of a state dict", of_a_state_dict)

def estimators():
    with PackageImporter(at("models")) as importer:
        x = importer.load_object("models", "x")
        names = ["ball", "kd", "brute", "radius", "voting", "mean", "stack"]
        models = {name: importer.load_object("models", name) for name in names}
        with PackageExporter("again.kellet", policy="auto", prove=False) as exporter:
            for name, model in models.items():
                exporter.save_object("models", name, model)
            exporter.save_object("models", "x", x)
            identity = importer.identity
    with PackageImporter("again.kellet") as again:
        same = again.identity == identity
    return same, {
        name: np.asarray(model.predict(x) if name != "brute" else model.kneighbors(x)[1])
        .ravel()[:4]
        .tolist()
        for name, model in models.items()
    }

point("estimators", estimators)
point("why", lambda: cli("why", at("attic"), "attic.nails"))
point("why a package", lambda: cli("why", at("attic"), "attic"))

def trusted():
    with PackageImporter(at("forms")) as importer:
        return importer.load_object("model", "form")

point("trust", trusted)
point("a submodule that is missing", lambda: PackageImporter(at("attic")).import_module("attic.nail"))
"""
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("attic")
    write(folder / "project", PROJECT)
    return folder


@pytest.fixture(scope="module")
def written(folder: Path) -> dict[str, Any]:
    return answers(EXPORT, folder / "project")


@pytest.fixture(scope="module")
def there(folder: Path, written: dict[str, Any]) -> dict[str, Any]:
    return answers(f"HOME = {str(folder)!r}\n{READ}", folder / "empty", "-I")


WRITTEN: dict[str, Any] = {
    "resources": None,
    "a version set from outside": {"version": 4},
    "mocks": None,
    "whose": None,
    "forms": None,
    "the drafts": [
        ['rename = "module.{rest:any}"', 'to = "{rest}"'],
        ['rename = "module.{rest:any}"', 'to = "{rest}"', 'rename = "{p:any}.kernel"', 'to = "{p}.weight"'],
    ],
    "wrappers and the draft": [
        0,
        "old.npz: 2 keys -> both.safetensors: 2 keys, 288 B\n    migrations: wrappers, strip\n",
        "",
    ],
    "ties": [
        0,
        "out: 1 file of tied.kellet\nm/w: as safetensors it lacks b (the bytes of a), c (the bytes of a)\n",
        "",
    ],
    "a folder of arrays": [
        0,
        (
            "many: no archive of packager, but weights (npy)\n"
            "    kellet convert makes an archive of them\n"
            "    kellet suggest-migration drafts how they fit a model of today\n"
            "tensors:\n    left   float64  [3]\n    right  int16    [2, 2]\n\n"
        ),
        "",
    ],
    "runnable": [
        0,
        ["runnable: it carries its loader, and `python FILE --info` starts it"],
    ],
    "why a template misses": (
        "rename {p:any}.gamma -> {p}.weight\n    skipped: no key matches: '{p:any}.gamma' needs a name and a "
        "dot in front,\n        and 'gamma' has none; add the same step for 'gamma'\n"
        "0 changes, 1 skipped, 2 keys afterwards"
    ),
    "repeats": ["aa.w", "x-y.w", "x.w"],
    "with attach": [["m"], []],
}
THERE: dict[str, Any] = {
    "resources": ["first leaf", ["one.txt"], True, True],
    "a version set from outside": [{"version": 4}, "<All keys matched successfully>", 4],
    "mocks": [3, 3, True],
    "goes on with SGD": True,
    "goes on with Adagrad": True,
    "of a state dict": {key: [True, False] for key in "abcdef"},
    "why": [
        0,
        (
            "attic.nails: intern by preset auto (project code)\n    attic.beams at attic/beams.py:1\n"
            "    attic.shingles at attic/shingles.py:1\n    yard at yard.py:1\n"
        ),
        "",
    ],
}


@pytest.mark.parametrize("point", WRITTEN)
def test_it_is_told_and_written_so(written: dict[str, Any], point: str) -> None:
    assert written[point] == WRITTEN[point]


@pytest.mark.parametrize("point", THERE)
def test_it_is_there_in_an_empty_folder(there: dict[str, Any], point: str) -> None:
    assert there[point] == THERE[point]


def test_a_draft_tells_what_it_could_not_place(written: dict[str, Any]) -> None:
    code, errors = written["nothing on shape alone"]
    assert (code, errors[:80]) == (
        1,
        "kellet: 2 old keys could not be placed, 2 new keys got no value; both are listed",
    )
    assert written["a draft that strips"] == [0, ""]


def test_arrays_of_odd_dtypes_come_back_aligned(written: dict[str, Any], there: dict[str, Any]) -> None:
    kinds, flags, days, spans, off = there["arrays"]
    assert kinds == written["arrays"]
    assert {aligned for aligned, _ in flags.values()} == {True}
    assert days == ["2024-02-29T00:00:00.000", "NaT", "1969-12-31T23:59:59.999"]
    assert (spans, off) == ([3, 2, 1, 0], 0)


def test_estimators_answer_the_same_and_are_stored_the_same(
    written: dict[str, Any], there: dict[str, Any]
) -> None:
    same, found = there["estimators"]
    assert same
    assert found == written["estimators"]


def test_a_package_is_there_because_of_whoever_imports_what_lies_in_it(there: dict[str, Any]) -> None:
    code, out, errors = there["why a package"]
    assert (code, errors) == (0, "")
    assert "attic.nails" in out
    assert "yard at yard.py:1" in out


def test_what_is_not_trusted_is_told_with_what_to_write_where(there: dict[str, Any]) -> None:
    assert there["trust"].startswith(
        "UntrustedNamesError: object model/form: 1 name in it is neither in the "
    )
    assert there["trust"].endswith(
        "PackageImporter(..., trust=('attic.forms:Form',)), or --trust of the command"
    )


def test_a_module_that_is_missing_is_told_with_what_is_near(there: dict[str, Any]) -> None:
    said = there["a submodule that is missing"]
    assert said.startswith("ModuleNotStoredError: No module named 'attic.nail' in ")
    assert "did you mean attic.nails?" in said
