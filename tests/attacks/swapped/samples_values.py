"""Honest objects of libraries of tables, texts, graphs and numbers; of torch, where it is there."""

from __future__ import annotations

import collections
import contextlib
import datetime
import decimal
import fractions
import io
import random
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from .samples_learners import _tried
from .samples_sklearn import Sample, data


def pandas(rng: Random, variants: int) -> Iterator[Sample]:
    """Yield frames, series and indexes of many dtypes."""
    import pandas as lib

    days = lib.date_range("2024-01-01", periods=4)
    frame = lib.DataFrame(
        {
            "f": [1.0, 2.0, None, 4.0],
            "i": [1, 2, 3, 4],
            "s": ["a", "b", None, "d"],
            "b": [True, False, True, False],
            "c": lib.Categorical(["x", "y", "x", "z"]),
            "t": days,
            "I": lib.array([1, None, 3, 4], dtype="Int64"),
            "S": lib.array(["a", None, "c", "d"], dtype="string"),
            "d": days - days[0],
            "z": days.tz_localize("UTC"),
            "p": lib.period_range("2024-01", periods=4, freq="M"),
            "n": lib.arrays.IntervalArray.from_breaks(range(5)),
            "x": lib.arrays.SparseArray([0, 0, 1, 0]),
        }
    )
    makers: list[tuple[str, Callable[[], Any]]] = [
        (name, lambda name=name: frame[[name]] if at else frame[name]) for at in (0, 1) for name in frame
    ]
    makers += [
        ("frame", lambda: frame),
        ("no doubled labels", lambda: frame[["f"]].set_flags(allows_duplicate_labels=False)),
        ("series without doubled labels", lambda: frame["f"].set_flags(allows_duplicate_labels=False)),
        ("simple frame", lambda: frame[["f", "i", "b"]]),
        ("indexed", lambda: frame[["f", "s"]].set_index(days)),
        ("multi", lambda: frame[["f", "i", "s"]].set_index(["i", "s"])),
        ("range", lambda: lib.RangeIndex(2, 20, 3)),
        ("index", lambda: lib.Index(["a", "b", 3], name="k")),
        ("MultiIndex", lambda: lib.MultiIndex.from_product([[1, 2], ["a", "b"]])),
        ("IntervalIndex", lambda: lib.IntervalIndex.from_breaks([0, 1, 2])),
        ("CategoricalIndex", lambda: lib.CategoricalIndex(["a", "b", "a"])),
        ("DatetimeIndex", lambda: days),
        ("Timestamp", lambda: lib.Timestamp("2024-01-01", tz="Europe/Berlin")),
        ("Timedelta", lambda: lib.Timedelta("3 days")),
        ("Period", lambda: lib.Period("2024-01")),
        ("Interval", lambda: lib.Interval(0, 1)),
        ("offset", lambda: lib.offsets.BusinessDay(2)),
        ("NA", lambda: {"it": lib.NA, "no": lib.NaT}),
    ]
    yield from _tried(
        makers, {"one": 1, "name": "f", "list": [0, 1], "frame": frame[["f", "i"]], "text": "a"}
    )


def polars(rng: Random, variants: int) -> Iterator[Sample]:
    """Yield frames and series of polars."""
    import polars as lib

    frame = lib.DataFrame(
        {
            "f": [1.0, 2.0, None],
            "i": [1, 2, 3],
            "s": ["a", None, "c"],
            "l": [[1], [2, 3], []],
            "b": [True, None, False],
            "d": [datetime.date(2024, 1, 1)] * 3,
        }
    )
    makers: list[tuple[str, Callable[[], Any]]] = [
        (name, lambda name=name: frame[name]) for name in frame.columns
    ]
    makers += [
        ("frame", lambda: frame),
        ("no doubled labels", lambda: frame[["f"]].set_flags(allows_duplicate_labels=False)),
        ("series without doubled labels", lambda: frame["f"].set_flags(allows_duplicate_labels=False)),
        ("categorical", lambda: lib.Series(["a", "b"], dtype=lib.Categorical)),
        ("struct", lambda: lib.Series([{"a": 1, "b": "x"}])),
        ("lazy", lambda: frame.lazy().filter(lib.col("i") > 1)),
        ("expression", lambda: lib.col("a") + 1),
        ("dtype", lambda: {"t": lib.Int64(), "l": lib.List(lib.String)}),
    ]
    yield from _tried(makers, {"one": 1, "name": "f", "frame": frame})


def pyarrow(rng: Random, variants: int) -> Iterator[Sample]:
    """Yield arrays and tables of Arrow."""
    import pyarrow as lib

    table = lib.table({"f": [1.0, None], "s": ["a", "b"], "l": [[1], [2, 3]], "t": [{"a": 1}, None]})
    makers: list[tuple[str, Callable[[], Any]]] = [
        ("table", lambda: table),
        ("batch", lambda: lib.record_batch({"a": [1, 2]})),
        ("array", lambda: lib.array([1, None, 3])),
        ("texts", lambda: lib.array(["a", None, "c"])),
        ("dictionary", lambda: lib.array(["a", "b", "a"]).dictionary_encode()),
        ("lists", lambda: lib.array([[1], None, [2, 3]])),
        ("map", lambda: lib.array([[("a", 1)], []], lib.map_(lib.string(), lib.int64()))),
        ("chunked", lambda: lib.chunked_array([[1, 2], [3]])),
        ("schema", lambda: table.schema),
        ("decimal", lambda: lib.array([decimal.Decimal("1.5")])),
        ("scalar", lambda: lib.scalar(3)),
        (
            "union",
            lambda: lib.UnionArray.from_dense(
                lib.array([0], "int8"), lib.array([0], "int32"), [lib.array([1])]
            ),
        ),
    ]
    yield from _tried(makers, {"one": 1, "name": "f", "list": [0, 1]})


def tokenizers(rng: Random, variants: int) -> Iterator[Sample]:
    """Yield tokenizers of Hugging Face's tokenizers."""
    yield from _tried(
        [(name, lambda it=it: it) for name, it in _tokenizers()], {"text": "red green tea", "ids": [1, 2]}
    )


def _tokenizers() -> Iterator[tuple[str, Any]]:
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

    words = ["red green tea", "blue tea for two", "green green"] * 3
    unknown, special = "[UNK]", ["[UNK]", "[CLS]", "[SEP]"]
    bpe = trainers.BpeTrainer(special_tokens=special, vocab_size=60)
    pieces = trainers.WordPieceTrainer(special_tokens=special, vocab_size=60)
    level = trainers.WordLevelTrainer(special_tokens=special)
    single = trainers.UnigramTrainer(special_tokens=[unknown], unk_token=unknown, vocab_size=40)
    kinds: list[tuple[str, Any, Any]] = [
        ("BPE", models.BPE(unk_token=unknown), bpe),
        ("WordPiece", models.WordPiece(unk_token=unknown), pieces),
        ("WordLevel", models.WordLevel(unk_token=unknown), level),
        ("Unigram", models.Unigram(), single),
    ]
    for name, model, trainer in kinds:
        it = Tokenizer(model)
        it.normalizer = normalizers.Sequence(
            [normalizers.NFKC(), normalizers.Lowercase(), normalizers.Replace("x", "y")]
        )
        it.pre_tokenizer = pre_tokenizers.Whitespace()
        it.train_from_iterator(words, trainer)
        if name != "Unigram":
            it.post_processor = processors.TemplateProcessing(
                "[CLS] $A [SEP]", special_tokens=[("[CLS]", 1), ("[SEP]", 2)]
            )
        it.decoder = decoders.WordPiece() if name == "WordPiece" else decoders.Metaspace()
        it.enable_truncation(10)
        it.enable_padding()
        yield name, it


def transformers(rng: Random, variants: int) -> Iterator[Sample]:
    """Yield tokenizers and configurations of transformers."""
    import transformers as lib

    folder = Path(tempfile.mkdtemp())
    (folder / "vocab.txt").write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nred\ngreen\ntea\n##s")
    pairs: list[tuple[str, Callable[[], Any]]] = [
        (
            f"fast {name}",
            lambda it=it: lib.PreTrainedTokenizerFast(
                tokenizer_object=it, unk_token="[UNK]", pad_token="[UNK]"
            ),
        )
        for name, it in _tokenizers()
    ]
    kinds = "BertTokenizer BertTokenizerFast BertJapaneseTokenizer DistilBertTokenizer ElectraTokenizer"
    pairs += [
        (kind, lambda kind=kind: getattr(lib, kind)(str(folder / "vocab.txt"))) for kind in kinds.split()
    ]
    pairs += [
        ("ByT5Tokenizer", lambda: lib.ByT5Tokenizer()),
        ("CanineTokenizer", lambda: lib.CanineTokenizer()),
        ("BertConfig", lambda: lib.BertConfig()),
        ("GPT2Config", lambda: lib.GPT2Config()),
        ("GenerationConfig", lambda: lib.GenerationConfig()),
        ("BatchEncoding", lambda: lib.BatchEncoding({"input_ids": [1, 2]})),
        ("ViTImageProcessor", lambda: lib.ViTImageProcessor()),
        ("Wav2Vec2FeatureExtractor", lambda: lib.Wav2Vec2FeatureExtractor()),
    ]
    yield from _tried(
        pairs, {"text": "red green teas", "ids": [5, 6], "token": "red", "texts": ["red", "tea"]}
    )


def sentencepiece(rng: Random, variants: int) -> Iterator[Sample]:
    """Yield processors of sentencepiece, trained here."""
    import sentencepiece as lib

    words = [
        f"{a} {b} tea for two"
        for a in ("red", "green", "blue", "white")
        for b in ("cup", "pot", "can", "jar")
    ] * 5
    for kind in ("unigram", "bpe", "char", "word"):
        out = io.BytesIO()
        with contextlib.suppress(Exception):
            lib.SentencePieceTrainer.train(
                sentence_iterator=iter(words),
                model_writer=out,
                vocab_size=36,
                model_type=kind,
                hard_vocab_limit=False,
            )
            yield (
                kind,
                lib.SentencePieceProcessor(model_proto=out.getvalue()),
                {"text": "red tea", "ids": [3, 4], "id": 3},
            )


def tiktoken(rng: Random, variants: int) -> Iterator[Sample]:
    """Yield encodings of tiktoken."""
    import tiktoken as lib

    ranks = {bytes([byte]): byte for byte in range(256)} | {b"re": 256, b"red": 257, b"te": 258}
    for pattern in (r"\w+|\s+|\S", r"'s|\p{L}+|\p{N}+|\s+|[^\s\p{L}\p{N}]+"):
        it = lib.Encoding("own", pat_str=pattern, mergeable_ranks=ranks, special_tokens={"<end>": 259})
        yield (
            "Encoding",
            it,
            {"text": "red tea", "ids": [257, 32], "id": 257, "bytes": b"re", "texts": ["red"]},
        )


def onnxruntime(rng: Random, variants: int) -> Iterator[Sample]:
    """Yield sessions of onnxruntime, and models of onnx."""
    import onnx
    import onnxruntime as lib
    from onnx import TensorProto, helper, numpy_helper

    def model(kind: str, inputs: list[str], tensors: dict[str, Any], **attributes: Any) -> bytes:
        node = helper.make_node(kind, inputs, ["y"], **attributes)
        graph = helper.make_graph(
            [node], "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 3])],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
            [numpy_helper.from_array(value, name) for name, value in tensors.items()],
        )  # fmt: skip
        whole = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
        whole.ir_version = 8
        return bytes(whole.SerializeToString())

    weight = np.ones((3, 2), np.float32)
    files = [
        ("MatMul", model("MatMul", ["x", "w"], {"w": weight})),
        ("Gemm", model("Gemm", ["x", "w"], {"w": weight}, alpha=0.5)),
        ("Relu", model("Relu", ["x"], {})),
        ("Softmax", model("Softmax", ["x"], {}, axis=1)),
        ("Gather", model("Gather", ["x", "i"], {"i": np.array([0, 2], np.int64)}, axis=1)),
        ("Reshape", model("Reshape", ["x", "s"], {"s": np.array([-1], np.int64)})),
        (
            "Slice",
            model(
                "Slice", ["x", "a", "b"], {"a": np.array([0, 0], np.int64), "b": np.array([1, 2], np.int64)}
            ),
        ),
    ]
    options = lib.SessionOptions()
    options.intra_op_num_threads = 1
    makers = [(name, lambda file=file: lib.InferenceSession(file, options)) for name, file in files]
    _ = onnx
    yield from _tried(makers, {"none": None, "names": ["y"]})


def scipy(rng: Random, variants: int) -> Iterator[Sample]:
    """Yield sparse arrays, trees, interpolators, distributions and more of SciPy."""
    from scipy import interpolate, optimize, signal, sparse, spatial, stats

    given = data()
    x = np.linspace(0, 1, 8)
    dense = np.round(np.abs(given["X"]))
    makers: list[tuple[str, Callable[[], Any]]] = [
        (kind, lambda kind=kind: getattr(sparse, f"{kind}_{form}")(dense))
        for kind in ("csr", "csc", "coo", "bsr", "dia", "lil", "dok")
        for form in ("matrix", "array")
    ]
    makers += [
        ("KDTree", lambda: spatial.KDTree(given["X"])),
        ("cKDTree", lambda: spatial.cKDTree(given["X"])),
        ("Rotation", lambda: spatial.transform.Rotation.from_euler("xyz", [0.1, 0.2, 0.3])),
        ("ConvexHull", lambda: spatial.ConvexHull(given["pair"])),
        ("Delaunay", lambda: spatial.Delaunay(given["pair"])),
        ("interp1d", lambda: interpolate.interp1d(x, x**2)),
        ("CubicSpline", lambda: interpolate.CubicSpline(x, x**2)),
        ("BSpline", lambda: interpolate.make_interp_spline(x, x**2)),
        ("UnivariateSpline", lambda: interpolate.UnivariateSpline(x, x**2)),
        ("PchipInterpolator", lambda: interpolate.PchipInterpolator(x, x**2)),
        ("RegularGridInterpolator", lambda: interpolate.RegularGridInterpolator((x, x), np.outer(x, x))),
        ("RBFInterpolator", lambda: interpolate.RBFInterpolator(given["X"], given["y"])),
        ("gaussian_kde", lambda: stats.gaussian_kde(given["pair"].T)),
        ("norm", lambda: stats.norm(0, 1)),
        ("multivariate_normal", lambda: stats.multivariate_normal([0, 0])),
        ("StateSpace", lambda: signal.lti([1.0], [1.0, 2.0])),
        ("dlti", lambda: signal.dlti([1.0], [1.0, 2.0])),
        ("result", lambda: optimize.minimize(lambda v: (v**2).sum(), [1.0, 2.0])),
    ]
    yield from _tried(
        makers, {"x": x, "one": 0.5, "X": given["X"], "pair": given["pair"], "row": given["X"][0]}
    )


def standard(rng: Random, variants: int) -> Iterator[Sample]:
    """Yield values of Python and NumPy."""
    made = collections.namedtuple("made", "a")
    _ = made
    makers: list[tuple[str, Callable[[], Any]]] = [
        ("deque", lambda: collections.deque([1, 2], 5)),
        ("Counter", lambda: collections.Counter("abca")),
        ("OrderedDict", lambda: collections.OrderedDict(a=1)),
        ("defaultdict", lambda: collections.defaultdict(list, a=[1])),
        ("Fraction", lambda: fractions.Fraction(1, 3)),
        ("Decimal", lambda: decimal.Decimal("1.5")),
        ("datetime", lambda: datetime.datetime(2024, 1, 1, tzinfo=datetime.UTC)),
        ("Random", lambda: random.Random(1)),
        ("RandomState", lambda: np.random.RandomState(1)),
        ("Generator", lambda: np.random.default_rng(1)),
        ("structured", lambda: np.zeros(3, dtype=[("a", "f8"), ("b", "i4")])),
        ("masked", lambda: np.ma.array([1, 2], mask=[0, 1])),
        ("objects", lambda: np.array([1, "a", None], object)),
        ("matrix", lambda: np.matrix([[1, 2]])),
        ("recarray", lambda: np.rec.array([(1, 2.0)], dtype=[("a", "i4"), ("b", "f8")])),
        ("polynomial", lambda: np.polynomial.Polynomial([1, 2, 3])),
        ("poly1d", lambda: np.poly1d([1, 2])),
        ("range", lambda: {"r": range(5), "s": slice(1, 2), "e": ..., "c": 1j, "b": b"ab"}),
        ("path", lambda: Path("a") / "b"),
    ]
    yield from _tried(makers, {"one": 1, "list": [0, 1], "key": "a"})


def torch(rng: Random, variants: int) -> Iterator[Sample]:
    """Yield modules of PyTorch with hooks, optimisers and tensors, where it is there."""
    import torch as lib
    from torch import nn
    from torch.nn.utils import parametrizations, weight_norm

    lib.set_num_threads(1)
    x = lib.zeros(2, 4)
    net = nn.Sequential(
        nn.Linear(4, 3), nn.BatchNorm1d(3), nn.ReLU(), nn.Dropout(0.1), nn.Linear(3, 2)
    ).eval()
    makers: list[tuple[str, Callable[[], Any]]] = [
        ("Sequential", lambda: net),
        ("weight_norm", lambda: weight_norm(nn.Linear(4, 2))),
        ("spectral_norm", lambda: nn.utils.spectral_norm(nn.Linear(4, 2))),
        ("parametrized", lambda: parametrizations.weight_norm(nn.Linear(4, 2))),
        ("LSTM", lambda: nn.LSTM(4, 3)),
        ("Transformer", lambda: nn.TransformerEncoderLayer(4, 2, 8, batch_first=True).eval()),
        ("Conv2d", lambda: nn.Conv2d(1, 2, 3)),
        ("Embedding", lambda: nn.Embedding(5, 4)),
        ("EmbeddingBag", lambda: nn.EmbeddingBag(5, 4)),
        ("SGD", lambda: lib.optim.SGD(net.parameters(), 0.1)),
        ("Adam", lambda: lib.optim.Adam(net.parameters())),
        ("tensor", lambda: lib.arange(6.0).reshape(2, 3).T),
        ("sparse", lambda: lib.eye(3).to_sparse()),
        ("csr", lambda: lib.eye(3).to_sparse_csr()),
        ("quantized", lambda: lib.quantize_per_tensor(x, 0.1, 0, lib.qint8)),
        ("Normal", lambda: lib.distributions.Normal(lib.zeros(2), lib.ones(2))),
        (
            "ModuleDict",
            lambda: nn.ModuleDict({"a": nn.Linear(2, 2), "b": nn.ParameterList([nn.Parameter(x)])}),
        ),
    ]
    yield from _tried(
        makers,
        {"x": x, "image": lib.zeros(1, 1, 5, 5), "ids": lib.tensor([[1, 2]]), "sequence": lib.zeros(3, 2, 4)},
    )
