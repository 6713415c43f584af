"""Which file of this room has the record of which library."""

from typing import Final

HOMES: Final = {
    **{
        name: f"{name}:LIBRARY"
        for name in """
            catboost gensim lightgbm onnxruntime pandas polars pyarrow scipy sentencepiece spacy tiktoken
            tokenizers torch_geometric xgboost
        """.split()
    },
    "sklearn": "scikit_learn:LIBRARY",
    **{
        name: f"listed:{name.upper()}"
        for name in """
            category_encoders einops gpytorch hmmlearn imblearn lifelines lightning lightning_fabric networkx
            river statsmodels torchvision transformers
        """.split()
    },
}
"""The file and the name in it by what a library is imported by, as pyproject.toml says it in our metadata."""
