"""Which file of this room is for which library."""

from typing import Final

HOMES: Final = {
    name: name
    for name in """
        catboost category_encoders einops gensim gpytorch hmmlearn imblearn lifelines lightgbm lightning
        lightning_fabric networkx onnxruntime pandas polars pyarrow river scipy sentencepiece spacy
        statsmodels tiktoken tokenizers torch_geometric torchvision transformers xgboost
    """.split()
} | {"sklearn": "scikit_learn"}
"""The file of each library by what it is imported by, as pyproject.toml says it in our metadata."""
