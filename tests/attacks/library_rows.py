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
_COUNTING: Final = """
    numpy.*core._methods:_sum numpy.*core.multiarray:bincount numpy:array numpy:asarray numpy:frombuffer
    numpy:ndarray.astype numpy:ndarray.nonzero numpy:ndarray.sum numpy:ufunc.reduceat
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
    Row(
        "lightgbm.booster",
        _TEXT
        + _COUNTING
        + """
        lightgbm.basic:Booster.__init__ lightgbm.basic:Booster._free_buffer
        lightgbm.basic:Booster._get_loaded_param lightgbm.basic:Booster.model_from_string
        lightgbm.basic:_* _ctypes:addressof _ctypes:byref ctypes:create_string_buffer sys:audit
        importlib._bootstrap:ModuleSpec.parent re:fullmatch
        """,
        makes="lightgbm.Booster",
        on="the text of a model of which every line was checked (lightgbm_text.py); plain data beside it",
        why="parses trees into tables in C++; nothing is predicted or trained",
    ),
    Row(
        "xgboost.booster",
        _COUNTING
        + """
        xgboost.core:Booster.__init__* xgboost.core:Booster._configure_constraints
        xgboost.core:Booster.load_model* xgboost.core:Booster.set_param xgboost.core:_*
        xgboost.core:c_array xgboost.core:c_str _ctypes:PyCArrayType.from_buffer _ctypes:byref
        _struct:calcsize _struct:unpack re:_compile re:fullmatch typing:*
        """,
        makes="xgboost.Booster",
        on="UBJSON of which every value was checked (xgboost_model.py)",
        why="as for lightgbm.booster",
    ),
    Row(
        "catboost.model",
        _TEXT
        + _COUNTING
        + """
        catboost.core:_CatBoostBase.* catboost.core:CatBoost.* catboost.core:_* _catboost:* _struct:calcsize
        _struct:unpack
        """,
        makes="CatBoost CatBoostClassifier CatBoostRanker CatBoostRegressor",
        on="a binary model of which every number was checked (catboost_model.py), and plain data; what else is "
        "in a model needs the name of its class",
        why="as for lightgbm.booster",
        trusted="_catboost:*",
    ),
)
