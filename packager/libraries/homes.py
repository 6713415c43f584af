"""Which file of this room is for which library."""

from typing import Final

HOMES: Final = {
    name: name
    for name in """
        catboost gensim lightgbm onnxruntime pandas polars pyarrow scipy sentencepiece spacy tiktoken
        tokenizers torch_geometric xgboost
    """.split()
} | {"sklearn": "scikit_learn"}
"""The file of each library by what it is imported by, as pyproject.toml says it in our metadata."""
