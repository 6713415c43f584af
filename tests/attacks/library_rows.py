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
_ARROW: Final = """
    pyarrow.types:is_* numpy:frombuffer numpy.*core.multiarray:unpackbits numpy:ndarray.astype
    numpy:ndarray.sum numpy.*core._methods:_sum numpy:ndarray.any numpy:ndarray.all
    numpy:ndarray.min numpy:ndarray.max numpy.*core._methods:_*
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
    *(
        Row(
            f"pyarrow.{name}",
            _ARROW,
            makes=makes,
            on="names, numbers, and memory of which every offset and index was checked (arrow_layout.py)",
            why="Arrow keeps what it is given, and looks through it once more (validate)",
        )
        for name, makes in (
            ("type", "pyarrow.DataType"),
            ("field", "pyarrow.Field"),
            ("schema", "pyarrow.Schema"),
            ("array", "pyarrow.Array"),
            ("chunked_array", "pyarrow.ChunkedArray"),
            ("table", "pyarrow.Table pyarrow.RecordBatch"),
        )
    ),
)
