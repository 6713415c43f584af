"""What is known of transformers: tokenizers, which are a class and attributes."""

from __future__ import annotations

from typing import Final

from packager.audit import LIBRARIES, IsA, Row, Rows, is_subclass_of
from packager.codecs import Library

_TOKENIZER: Final = Row(
    "create",
    is_a=IsA(
        "a subclass of transformers.PreTrainedTokenizerBase",
        is_subclass_of("transformers", "PreTrainedTokenizerBase"),
    ),
    attributes=LIBRARIES,
)
# Asked for any other name, transformers would import the module that has it.
_HOMES: Final = dict.fromkeys(
    (
        "transformers",
        "transformers.models.",
        "transformers.tokenization_python",
        "transformers.tokenization_utils_sentencepiece",
        "transformers.tokenization_utils_tokenizers",
    ),
    "*Tokenizer*",
)
LIBRARY: Final = Library(
    "transformers",
    "transformers",
    rows=Rows(
        (Row("create"), {"transformers.tokenization_python": "Trie ExtensionsTrie"}), (_TOKENIZER, _HOMES)
    ),
)
