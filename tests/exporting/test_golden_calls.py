"""Golden calls are made on the object itself, which stays as it was, and compared with those of a copy."""

from __future__ import annotations

import importlib
import io
import textwrap
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from packager import PackageExporter, PackageImporter, PackagingError
from packager._proving import ProofError

Project = Callable[[Mapping[str, str]], Path]

STATES = """
import copy, itertools
from weakref import WeakKeyDictionary
import numpy as np
import kellet
from kellet import nn

class Outside:
    def __init__(self):
        self.held = WeakKeyDictionary()
    def __get__(self, obj, cls=None):
        return self if obj is None else self.held.get(obj, 1.0)
    def __set__(self, obj, value):
        self.held[obj] = value

BY_ID = {}
WEAK = WeakKeyDictionary()

class Net(nn.Module):
    scale = Outside()
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 1)
        self.scale = 7.0
    def forward(self, x):
        return self.layer(x) * self.scale

class Plain:
    scale = Outside()
    def __init__(self):
        self.scale = 3.0
    def predict(self, x):
        return {"name": "plain", "scores": [x, x * self.scale]}

class Moving(Plain):
    def predict(self, x):
        self.scale += 1.0
        return x * self.scale

class Registered:
    def __init__(self):
        WEAK[self] = 3.0
    def predict(self, x):
        return x * WEAK[self]

class ById:
    def __init__(self):
        BY_ID[id(self)] = 2.5
    def predict(self, x):
        return x * BY_ID.get(id(self), 1)

class Renamed(Registered):
    def predict(self, x):
        return "known" if self in WEAK else "unknown"

class Shares(Plain):
    def __deepcopy__(self, memo):
        return self
    def predict(self, x):
        return x * self.scale

class Inside:
    '''What keeps the same inside of itself: the honest twin of all of these.'''
    def __init__(self):
        self.scale, self.calls, self.cache = 3.0, 0, {}
    def predict(self, x):
        self.calls += 1
        self.cache[self.calls] = x
        self.scale += self.calls
        return x * self.scale

class Uncopied:
    def __init__(self):
        self.scale = 3.0
    def __deepcopy__(self, memo):
        raise TypeError("one is enough")
    def predict(self, x):
        return x * self.scale

class UncopiedOutside(Plain):
    __deepcopy__ = Uncopied.__deepcopy__
    def predict(self, x):
        return x * self.scale

class SharesParts:
    def __init__(self):
        self.part, self.calls = np.zeros(2), [0]
    def __deepcopy__(self, memo):
        twin = type(self).__new__(type(self))
        vars(twin).update(vars(self))
        return twin
    def predict(self, x):
        self.part += 1
        self.calls.append(self.calls[-1] + 1)
        return x + self.part.sum() + len(self.calls)

class Counted:
    def __init__(self):
        self.ids = itertools.count()
    def predict(self, x):
        return x + next(self.ids)

class Failing(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.seen = nn.BatchNorm1d(2), []
    def forward(self, x):
        self.seen.append(1)
        self.norm(x)
        kellet.rand(1)
        raise ValueError("too late")

class Ending(Failing):
    def forward(self, x):
        self.seen.append(1)
        raise SystemExit(3)

class Logged(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer, self.norm, self.drop = nn.Linear(2, 2), nn.BatchNorm1d(2), nn.Dropout()
        self.noise = np.random.default_rng(5)
        self.times = 0
    def forward(self, x):
        self.times += 1
        return self.drop(self.norm(self.layer(x))) + float(self.noise.normal())
"""
X = np.random.default_rng(0).normal(size=(6, 2)).astype("f4")
LOST = (
    r"So would the loaded object: it keeps state outside of itself, in class attributes, globals of modules"
)


@pytest.fixture
def states(project: Project) -> Any:
    project({"goldshop/__init__.py": "", "goldshop/states.py": STATES})
    from goldshop import states  # type: ignore[import-not-found]  # the project of the test

    return states


def begun(obj: Any, method: str | None = None, *, prove: bool = True, **check: Any) -> Any:
    """An exporter of an object with a golden call, and what it writes to."""
    file = io.BytesIO()
    exporter = PackageExporter(file, policy="auto", prove=prove)
    exporter.save_object("model", "model", obj)
    exporter.save_entry_point("model", "model", "model", method)
    exporter.save_example("model", {"arg0": X}, **check)
    return exporter, file


@pytest.mark.parametrize(
    ("name", "method", "told"),
    [
        ("Net", None, r"gives other outputs: output \(off by [0-9.]+ at most\)\. "),
        ("Plain", "predict", r"gives other outputs: output\.scores\.1 \(off by [0-9.]+ at most\)\. "),
        ("Moving", "predict", r"gives other outputs: output \(off by [0-9.]+ at most\)\. "),
        ("ById", "predict", r"gives other outputs: output \(off by [0-9.]+ at most\)\. "),
        (
            "Registered",
            "predict",
            r"fails where the object itself works: KeyError: .*states\.py:\d+ in predict\. ",
        ),
        ("Renamed", "predict", r"other outputs: output \(stored as 'known', found 'unknown'\)\. "),
    ],
)
def test_state_that_no_copy_takes_along_is_refused(states: Any, name: str, method: Any, told: str) -> None:
    model = getattr(states, name)()
    scale = getattr(model, "scale", None)
    exporter, file = begun(model, method, prove=False)
    (problem,) = exporter.plan().problems
    assert (problem.reason, problem.subject) == ("Example cannot be stored.", "check model")
    with pytest.raises(PackagingError, match=rf"(?s)check model.*{told}{LOST}"):
        exporter.close()
    assert (getattr(model, "scale", None), file.getvalue()) == (scale, b"")


def test_state_that_an_object_keeps_itself_comes_along_and_is_put_back(states: Any) -> None:
    model = states.Inside()
    exporter, file = begun(model, "predict")
    exporter.close()
    assert (vars(model), exporter.proof.ok) == ({"scale": 3.0, "calls": 0, "cache": {}}, True)
    with PackageImporter(file) as importer:
        for _ in range(2):
            (outcome,) = importer.check()
            assert (outcome.repeatable, outcome.within(0)) == (True, True)
        assert importer.run({"arg0": X})["output"].tolist() == (X * 4).tolist()


@pytest.mark.parametrize("name", ["Shares", "UncopiedOutside"])
@pytest.mark.filterwarnings("ignore:the archive:packager.PackagingWarning")
def test_what_a_copy_hides_is_seen_by_the_proof(states: Any, name: str) -> None:
    model = getattr(states, name)()
    exporter, file = begun(model, "predict")
    assert exporter.plan().ok
    with pytest.raises(
        ProofError, match=r"(?s)An example fails or has other outputs in the clean process.*off by"
    ):
        exporter.close()
    assert (model.scale, file.getvalue()) == (3.0, b"")


def test_an_object_that_cannot_be_copied_is_told_and_proved(states: Any) -> None:
    exporter, file = begun(states.Uncopied(), "predict")
    with pytest.warns(
        UserWarning, match=r"check model: the object cannot be copied \(TypeError: one is enou"
    ):
        exporter.close()
    with PackageImporter(file) as importer:
        assert importer.check()[0].within(0)


def test_a_copy_that_shares_parts_changes_none(states: Any) -> None:
    model = states.SharesParts()
    part, calls = model.part, model.calls
    exporter, _ = begun(model, "predict")
    exporter.close()
    assert (part.tolist(), calls) == ([0, 0], [0])
    assert (model.part is part, model.calls is calls) == (True, True)


def test_a_change_that_cannot_be_put_back_is_told(states: Any) -> None:
    exporter, _ = begun(states.Counted(), "predict")
    plan = exporter.plan()
    assert plan.ok
    one, other = plan.warnings
    assert one.startswith(
        "check model is not repeatable: a second call from the same generator states, in eval"
    )
    assert other.startswith("check model: the call changed object model/model in a way that cannot be undone")
    assert "not repeatable" in str(plan)


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize(
    ("name", "told"), [("Failing", "ValueError: too late"), ("Ending", r"SystemExit\(3\)")]
)
def test_an_object_whose_call_fails_is_as_it_was(states: Any, name: str, told: str, training: bool) -> None:
    import kellet

    model = getattr(states, name)()
    before = [str(model.state_dict()), kellet.get_rng_state().tolist(), sorted(vars(model))]
    exporter, _ = begun(model, training=training)
    (problem,) = exporter.plan().problems
    with pytest.raises(PackagingError, match=told):
        exporter.close()
    assert (problem.subject, model.seen) == ("check model", [])
    assert [str(model.state_dict()), kellet.get_rng_state().tolist(), sorted(vars(model))] == before


@pytest.mark.parametrize("trace", [False, True])
def test_hooks_fire_in_each_call_and_stay(states: Any, trace: bool) -> None:
    model, fired = states.Logged(), []
    hooks = [model.layer.register_forward_hook(lambda module, given, output: fired.append(module.training))]
    hooks.append(model.register_forward_pre_hook(lambda module, given: fired.append("before")))
    registered = [list(model.layer._forward_hooks), list(model._forward_pre_hooks)]
    before = str(model.state_dict())
    exporter, _ = begun(model, training=True, trace=trace, prove=False)
    assert not [one for one in exporter.plan().warnings if "repeatable" in one]
    # Twice, and once with the hooks of a trace; and a copy, which has its own.
    assert fired[: 4 + 2 * trace] == ["before", True] * (2 + trace)
    assert [list(model.layer._forward_hooks), list(model._forward_pre_hooks)] == registered
    assert (str(model.state_dict()), model.times, model.noise.bit_generator.state["state"]) == (
        before,
        0,
        np.random.default_rng(5).bit_generator.state["state"],
    )
    assert all(module.training for module in model.modules())
    for hook in hooks:
        hook.remove()
    assert [list(model.layer._forward_hooks), list(model._forward_pre_hooks)] == [[], []]


def test_a_call_in_training_mode_is_repeated_elsewhere(states: Any) -> None:
    exporter, file = begun(states.Logged(), training=True)
    exporter.close()
    with PackageImporter(file) as importer:
        for _ in range(2):
            (outcome,) = importer.check()
            assert (outcome.repeatable, outcome.within(0)) == (True, True)


def test_where_calls_are_demanded_one_that_is_not_repeatable_will_not_do(states: Any) -> None:
    exporter = PackageExporter(io.BytesIO(), policy="auto", prove="calls")
    exporter.save_object("model", "model", states.Counted())
    exporter.save_entry_point("model", "model", "model", "predict")
    exporter.save_example("model", {"arg0": X})
    (problem,) = exporter.plan().problems
    assert problem.subject == "entry point model"
    assert problem.reason == 'Entry point has no example, which prove="calls" demands.'


OUTSIDE = {
    "method": """
        import functools
        BASE = [3]
        class Net:
            @functools.lru_cache
            def rate(self): return BASE[0]
            def __call__(self, x): return x * self.rate()
        """,
    "weak": """
        import weakref
        EXTRA = weakref.WeakKeyDictionary()
        class Net:
            def __call__(self, x): return x * EXTRA.get(self, 1)
        """,
    "descriptor": """
        class Field:
            def __init__(self): self.held = {}
            def __get__(self, obj, cls): return self.held.get(id(obj), 1)
        class Net:
            rate = Field()
            def __call__(self, x): return x * self.rate
        """,
    "getstate": """
        class Net:
            rate = 1
            def __getstate__(self): return {"kept": True}
            def __call__(self, x): return x * self.rate
        """,
}
SUSPECTED = {
    "method": "outside.Net.rate is a cache of 2 entries",  # one for the copy
    "weak": "outside.EXTRA is a WeakKeyDictionary of 1",
    "descriptor": "outside.Net.rate.held has the id of the object among its keys",
    "getstate": "outside.Net.__getstate__ defines what a copy holds",
}


@pytest.mark.parametrize("where", OUTSIDE)
def test_a_copy_that_answers_otherwise_names_where_state_may_lie(where, project):
    project({"outside.py": textwrap.dedent(OUTSIDE[where])})
    outside = importlib.import_module("outside")
    net = outside.Net()
    match where:
        case "method":
            net.rate()
            outside.BASE[0] = 1
        case "weak":
            outside.EXTRA[net] = 3
        case "descriptor":
            outside.Net.__dict__["rate"].held[id(net)] = 3
        case "getstate":
            net.rate = 3
    exporter = PackageExporter(io.BytesIO(), policy="auto")
    exporter.save_object("model", "model", net, example=np.ones(1))
    [problem] = exporter.plan().problems
    assert "a copy of the object gives other outputs: output (off by 2 at most). So would" in problem.context
    assert problem.context.endswith(f". Suspected: {SUSPECTED[where]}")
