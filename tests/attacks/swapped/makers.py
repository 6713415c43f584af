"""The libraries beside scikit-learn, and who makes their honest objects."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from random import Random

from . import samples_learners, samples_sklearn, samples_values
from .samples_sklearn import Sample

Maker = Callable[[Random, int], Iterable[Sample]]

LEARNERS = (
    "lightgbm xgboost catboost imblearn category_encoders statsmodels hmmlearn lifelines river gensim".split()
)
VALUES = """pandas polars pyarrow tokenizers transformers sentencepiece tiktoken onnxruntime scipy standard
torch""".split()

MAKERS: dict[str, Maker] = {
    "sklearn": samples_sklearn.samples,
    "sklearn-few": samples_sklearn.few,
    **{name: getattr(samples_learners, name) for name in LEARNERS},
    **{name: getattr(samples_values, name) for name in VALUES},
}
