"""Honest objects of libraries whose models are fitted.

Boosters, resamplers, encoders, statistics, streams, words.
"""

from __future__ import annotations

import contextlib
import inspect
import warnings
from collections.abc import Callable, Iterable, Iterator
from random import Random
from typing import Any

import numpy as np

from .samples_sklearn import Sample, data, fitted


def _tried(makers: Iterable[tuple[str, Callable[[], Any]]], arguments: dict[str, Any]) -> Iterator[Sample]:
    """Yield what can be made."""
    warnings.simplefilter("ignore")
    for name, make in makers:
        try:
            it = make()
        except Exception:  # not every form of data is for every estimator
            continue
        yield name, it, arguments


def lightgbm(rng: Random, variants: int) -> Iterator[Sample]:
    """Yield estimators and boosters of LightGBM."""
    import lightgbm as lib

    given, small = data(), {"n_estimators": 3, "min_child_samples": 2, "verbose": -1, "n_jobs": 1}
    ways = [
        lib.LGBMClassifier(**small),
        lib.LGBMRegressor(**small),
        lib.LGBMRegressor(objective="poisson", **small),
        lib.LGBMClassifier(boosting_type="dart", **small),
        lib.LGBMRegressor(linear_tree=True, **small),
        lib.LGBMClassifier(importance_type="gain", class_weight="balanced", **small),
    ]
    for instance in ways:
        for way, model, asked in fitted(instance, given, rng, variants + 1):
            yield f"{type(instance).__name__} {way}", model, asked
            yield f"Booster {way}", model.booster_, {"X": given["X"]}
    ranker = lib.LGBMRanker(**small).fit(given["X"], given["counts"], group=[12, 12])
    yield "LGBMRanker", ranker, {"X": given["X"]}


def xgboost(rng: Random, variants: int) -> Iterator[Sample]:
    """Yield estimators and boosters of XGBoost."""
    import xgboost as lib

    given, small = data(), {"n_estimators": 3, "max_depth": 2, "n_jobs": 1}
    ways = [
        lib.XGBClassifier(**small),
        lib.XGBRegressor(**small),
        lib.XGBRFClassifier(**small),
        lib.XGBRFRegressor(**small),
        lib.XGBRegressor(booster="gblinear", n_estimators=3, n_jobs=1),
        lib.XGBClassifier(booster="dart", **small),
        lib.XGBRegressor(objective="count:poisson", base_score=0.5, **small),
    ]
    for instance in ways:
        for way, model, asked in fitted(instance, given, rng, variants + 1):
            yield f"{type(instance).__name__} {way}", model, asked
            with contextlib.suppress(Exception):
                yield f"Booster {way}", model.get_booster(), {"X": given["X"]}


def catboost(rng: Random, variants: int) -> Iterator[Sample]:
    """Yield estimators of CatBoost."""
    import catboost as lib

    given = data()
    small = {"iterations": 3, "depth": 2, "verbose": False, "thread_count": 1, "allow_writing_files": False}
    for kind in (lib.CatBoostClassifier, lib.CatBoostRegressor):
        for way, model, asked in fitted(kind(**small), given, rng, variants + 1):
            yield f"{kind.__name__} {way}", model, asked


def imblearn(rng: Random, variants: int) -> Iterator[Sample]:
    """Yield every estimator of imbalanced-learn, and a pipeline."""
    from imblearn.over_sampling import SMOTE
    from imblearn.pipeline import make_pipeline
    from imblearn.utils.testing import all_estimators
    from sklearn.linear_model import LogisticRegression

    warnings.simplefilter("ignore")
    given = data()
    given["two"] = np.array([0] * 16 + [1] * 8)
    for name, kind in all_estimators():
        with contextlib.suppress(Exception):
            instance = kind()
            for option in ("n_estimators", "max_iter"):
                if option in inspect.signature(kind).parameters:
                    instance.set_params(**{option: 3})
            for way, model, asked in fitted(instance, given, rng, variants + 1):
                yield f"{name} {way}", model, asked
    yield (
        "Pipeline",
        make_pipeline(SMOTE(), LogisticRegression()).fit(given["X"], given["two"]),
        {"X": given["X"]},
    )


def category_encoders(rng: Random, variants: int) -> Iterator[Sample]:
    """Yield every encoder of category_encoders."""
    import category_encoders as lib
    import pandas

    frame = pandas.DataFrame({"a": list("xyzx") * 6, "b": list("uv") * 12, "c": np.arange(24.0)})
    arguments = {"X": frame, "y": data()["two"], "values": frame.to_numpy()}
    yield "no doubled labels", frame.set_flags(allows_duplicate_labels=False), arguments
    for name in lib.__all__:
        for options in [{}, {"handle_unknown": "value"}, {"return_df": False}][: variants + 1]:
            with contextlib.suppress(Exception):
                kind = getattr(lib, name)
                model = kind(cols=["a", "b"], **options).fit(frame, arguments["y"])
                yield f"{name} {options}", model, arguments


def statsmodels(rng: Random, variants: int) -> Iterator[Sample]:
    """Yield results and models of statsmodels."""
    import pandas
    import statsmodels.api as sm
    from statsmodels.tsa import api as tsa

    given = data()
    x, y = sm.add_constant(given["X"]), given["y"] + np.random.default_rng(1).normal(size=24)
    frame = pandas.DataFrame({"y": y, "a": given["X"][:, 0], "b": given["X"][:, 1]})
    makers: list[tuple[str, Callable[[], Any]]] = [
        ("OLS", lambda: sm.OLS(y, x).fit()),
        ("OLS frame", lambda: sm.OLS(frame["y"], frame[["a", "b"]]).fit()),
        ("WLS", lambda: sm.WLS(y, x, weights=np.arange(1, 25)).fit()),
        ("GLS", lambda: sm.GLS(y, x).fit()),
        ("RLM", lambda: sm.RLM(y, x).fit()),
        ("Logit", lambda: sm.Logit(given["two"], x).fit(disp=0, maxiter=3)),
        ("Probit", lambda: sm.Probit(given["two"], x[:, :2]).fit(disp=0, maxiter=3)),
        ("MNLogit", lambda: sm.MNLogit(given["counts"], x[:, :2]).fit(disp=0, maxiter=3)),
        ("Poisson", lambda: sm.Poisson(given["counts"], x).fit(disp=0, maxiter=3)),
        ("GLM", lambda: sm.GLM(given["counts"], x, family=sm.families.Poisson()).fit()),
        (
            "GLM binomial",
            lambda: sm.GLM(given["two"], x[:, :2], family=sm.families.Binomial()).fit(maxiter=3),
        ),
        ("QuantReg", lambda: sm.QuantReg(y, x).fit()),
        ("GEE", lambda: sm.GEE(y, x, groups=given["counts"]).fit()),
        ("MixedLM", lambda: sm.MixedLM(y, x[:, :2], groups=given["counts"]).fit()),
        ("ARIMA", lambda: tsa.ARIMA(y, order=(1, 0, 0)).fit()),
        ("SARIMAX", lambda: tsa.SARIMAX(y, order=(1, 0, 1)).fit(disp=0, maxiter=3)),
        ("ExponentialSmoothing", lambda: tsa.ExponentialSmoothing(np.abs(y) + 1).fit()),
        ("AutoReg", lambda: tsa.AutoReg(y, 1).fit()),
        ("VAR", lambda: tsa.VAR(given["X"][:, :2]).fit(1)),
        ("OLS model", lambda: sm.OLS(y, x)),
        ("formula", lambda: sm.OLS.from_formula("y ~ a + b", frame).fit()),
        ("KDE", lambda: sm.nonparametric.KDEUnivariate(y)),
    ]
    yield from _tried(makers, {"exog": x[:3], "frame": frame, "one": 3, "y": y, "X": x})


def hmmlearn(rng: Random, variants: int) -> Iterator[Sample]:
    """Yield models of hmmlearn."""
    from hmmlearn import hmm, vhmm

    given, counts = data(), np.arange(48).reshape(24, 2) % 3
    whole = {"n_iter": 2, "random_state": 0}
    makers = [
        (kind, lambda kind=kind: hmm.GaussianHMM(2, covariance_type=kind, **whole).fit(given["X"]))
        for kind in ("spherical", "diag", "full", "tied")
    ]
    makers += [
        ("GMMHMM", lambda: hmm.GMMHMM(2, n_mix=2, **whole).fit(given["X"])),
        ("CategoricalHMM", lambda: hmm.CategoricalHMM(2, **whole).fit(counts[:, :1])),
        (
            "MultinomialHMM",
            lambda: hmm.MultinomialHMM(2, n_trials=6, **whole).fit(np.tile([[1, 2, 3]], (9, 1))),
        ),
        ("PoissonHMM", lambda: hmm.PoissonHMM(2, **whole).fit(counts)),
        ("VariationalGaussianHMM", lambda: vhmm.VariationalGaussianHMM(2, **whole).fit(given["X"])),
        ("VariationalCategoricalHMM", lambda: vhmm.VariationalCategoricalHMM(2, **whole).fit(counts[:, :1])),
    ]
    arguments = {
        "X": given["X"],
        "counts": counts,
        "column": counts[:, :1],
        "one": 5,
        "rows": np.tile([[1, 2, 3]], (9, 1)),
    }
    yield from _tried(makers, arguments)


def lifelines(rng: Random, variants: int) -> Iterator[Sample]:
    """Yield fitters of lifelines."""
    import lifelines as lib
    import pandas

    given = data()
    frame = pandas.DataFrame(
        {"T": np.arange(1, 25.0), "E": given["two"], "a": given["X"][:, 0], "b": given["counts"]}
    )
    times = frame["T"]
    makers: list[tuple[str, Callable[[], Any]]] = []
    for name in ("KaplanMeier NelsonAalen Weibull Exponential LogNormal LogLogistic BreslowFlemingHarrington "
                 "GeneralizedGamma PiecewiseExponential Spline").split():  # fmt: skip
        kind = getattr(lib, f"{name}Fitter")
        options = {"PiecewiseExponential": ([5.0, 10.0],), "Spline": ([3.0, 20.0],)}.get(name, ())
        makers.append((name, lambda kind=kind, options=options: kind(*options).fit(times, frame["E"])))
    for name in ("WeibullAFT", "LogNormalAFT", "LogLogisticAFT", "AalenAdditive", "CoxPH"):
        kind = getattr(lib, f"{name}Fitter")
        makers.append((name, lambda kind=kind: kind().fit(frame, "T", "E")))
        makers.append((f"{name} formula", lambda kind=kind: kind().fit(frame, "T", "E", formula="a + C(b)")))
    makers.append(("CoxPH strata", lambda: lib.CoxPHFitter().fit(frame, "T", "E", strata=["b"])))
    yield from _tried(makers, {"X": frame[["a", "b"]], "frame": frame, "times": [1.0, 5.0], "one": 4.0})


def river(rng: Random, variants: int) -> Iterator[Sample]:
    """Yield models of river, after some examples."""
    import importlib
    import pkgutil

    import river as lib
    from river import base

    rows = [({"a": float(at % 5), "b": at * 0.5, "c": "xy"[at % 2]}, at % 2) for at in range(12)]
    arguments = {"x": rows[0][0], "y": 1, "flag": True, "value": 0.5, "words": "red green tea"}
    seen = set()
    for info in pkgutil.iter_modules(lib.__path__):
        with contextlib.suppress(Exception):
            module = importlib.import_module(f"river.{info.name}")
            for name in getattr(module, "__all__", ()):
                kind = getattr(module, name)
                if not (isinstance(kind, type) and issubclass(kind, base.Base)) or kind in seen:
                    continue
                seen.add(kind)
                for way, model in _streamed(kind, rows):
                    yield f"{info.name}.{name} {way}", model, arguments


def _streamed(kind: type, rows: list[Any]) -> Iterator[tuple[str, Any]]:
    for parameters in _river_parameters(kind):
        try:
            model = kind(**parameters)
        except Exception:
            continue
        for ways in (lambda x, y: (x, y), lambda x, y: (x,), lambda x, y: (y,), lambda x, y: (float(y),),
                     lambda x, y: ("red green tea",), lambda x, y: (y, bool(y))):  # fmt: skip
            learn = getattr(model, "learn_one", None) or getattr(model, "update", None)
            if learn is None:
                break
            try:
                for x, y in rows:
                    numbers = {key: value for key, value in x.items() if key != "c"}
                    learn(*ways(numbers, y))
                break
            except Exception:
                continue
        yield "", model


def _river_parameters(kind: type) -> list[dict[str, Any]]:
    try:
        return list(kind._unit_test_params())[:2] or [{}]
    except Exception:
        return [{}]


def gensim(rng: Random, variants: int) -> Iterator[Sample]:
    """Yield models of gensim."""
    from gensim import corpora, models

    texts = [["red", "green", "tea"], ["blue", "red"], ["green", "green", "tea"], ["tea", "for", "two"]] * 6
    words = corpora.Dictionary(texts)
    bags = [words.doc2bow(text) for text in texts]
    small = {"vector_size": 4, "min_count": 1, "epochs": 1, "workers": 1}
    makers: list[tuple[str, Callable[[], Any]]] = [
        ("Dictionary", lambda: words),
        ("Word2Vec", lambda: models.Word2Vec(texts, **small)),
        ("Word2Vec hs", lambda: models.Word2Vec(texts, hs=1, negative=0, **small)),
        ("KeyedVectors", lambda: models.Word2Vec(texts, **small).wv),
        ("FastText", lambda: models.FastText(texts, bucket=50, **small)),
        ("FastTextKeyedVectors", lambda: models.FastText(texts, bucket=50, **small).wv),
        (
            "Doc2Vec",
            lambda: models.Doc2Vec(
                [models.doc2vec.TaggedDocument(t, [i]) for i, t in enumerate(texts)], **small
            ),
        ),
        ("TfidfModel", lambda: models.TfidfModel(bags)),
        ("LsiModel", lambda: models.LsiModel(bags, id2word=words, num_topics=2)),
        ("LdaModel", lambda: models.LdaModel(bags, id2word=words, num_topics=2, iterations=2)),
        ("HdpModel", lambda: models.HdpModel(bags, id2word=words)),
        ("Phrases", lambda: models.Phrases(texts, min_count=1, threshold=0.1)),
        ("FrozenPhrases", lambda: models.phrases.Phraser(models.Phrases(texts, min_count=1, threshold=0.1))),
        ("RpModel", lambda: models.RpModel(bags, num_topics=2)),
        ("LogEntropyModel", lambda: models.LogEntropyModel(bags)),
        ("OkapiBM25Model", lambda: models.OkapiBM25Model(bags)),
        ("Nmf", lambda: models.Nmf(bags, num_topics=2, id2word=words)),
    ]
    yield from _tried(
        makers, {"word": "red", "text": texts[0], "bag": bags[0], "pair": ["red", "tea"], "number": 1}
    )
