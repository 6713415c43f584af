"""What codecs for objects of other libraries call while they build: rows of the list in inert_calls.py.

Each object is made by few functions of its library, of what a check of ours has read before.
"""

from __future__ import annotations

from typing import Final

from .call_rows import Row

_TEXT: Final = """
    json:* json.decoder:* json.scanner:* json.encoder:* _json:* re:Pattern.match re:Match.* re:findall
    re:_compile re:Pattern.findall base64:* binascii:a2b_base64
"""
LIBRARY_ROWS: Final = (
    Row(
        "tokenizers.tokenizer",
        _TEXT + "tokenizers:Tokenizer.* type:from_str type:__new__",
        makes="models.Unigram",
        on="a JSON text of which every field was checked (tokenizer_json.py)",
        why="parses a text into tables in Rust, and compiles its patterns; nothing is encoded",
    ),
    Row(
        "tokenizers.part",
        _TEXT + "tokenizers:Tokenizer.* type:from_str type:__new__",
        makes="models.Unigram",
        on="a JSON text of which every field was checked (tokenizer_json.py)",
        why="as for tokenizers.tokenizer",
    ),
    Row("tokenizers.added_token", makes="AddedToken", on="a text and five flags", why="keeps them"),
)
