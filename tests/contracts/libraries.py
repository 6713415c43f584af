"""The modules with contract tests of codecs for other libraries, by the library that each needs.

And those with samples of what has no codec, but a check of the state that its C code trusts.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import Final

LIBRARIES: Final = {
    "scipy": "test_scipy_codecs",
    "tokenizers": "test_tokenizers_codecs",
    "gensim": "test_gensim_codecs",
    "spacy": "test_spacy_codecs",
    "pyarrow": "test_pyarrow_codecs",
    "pandas": "test_pandas_codecs",
    "polars": "test_polars_codecs",
    "onnxruntime": "test_onnxruntime_codecs",
    "tiktoken": "test_tiktoken_codecs",
    "sentencepiece": "test_sentencepiece_codecs",
    "lightgbm": "test_lightgbm_codecs",
    "xgboost": "test_xgboost_codecs",
    "catboost": "test_catboost_codecs",
    "torch_geometric": "test_geometric_codecs",
}

BESIDE: Final = {"pandas": "pyarrow"}
"""What contract tests need besides: texts of pandas lie in arrays of Arrow."""


CHECKED: Final = {"sklearn": "test_sklearn_trees"}


def installed_samples() -> dict[str, str]:
    """Return the names of the modules with samples whose library is here, by library."""
    checked = {
        name: f"tests.contracts.{module}" for name, module in CHECKED.items() if find_spec(name) is not None
    }
    return {**installed_contracts(), **checked}


def installed_contracts() -> dict[str, str]:
    """Return the names of the modules whose library is here, by library."""
    return {
        name: f"tests.contracts.{module}"
        for name, module in LIBRARIES.items()
        if find_spec(name) is not None and find_spec(BESIDE.get(name, name)) is not None
    }
