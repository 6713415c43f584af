"""Every codec for the library tokenizers keeps the contract."""

from __future__ import annotations

from typing import Any

import pytest
from tokenizers import (
    AddedToken,
    Regex,
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)

from packager._codecs import default_registry
from packager._libraries import tokenizers as tokenizers_codec
from packager.testing import CodecContract
from tests.contracts.built_in import by_name

TEXTS = ["Hello world, hello tokens 123!", "naïve café 日本 [CLS]", ""]
VOCABULARY = {"[UNK]": 0, "[CLS]": 1, "hello": 2, "##s": 3, "world": 4, "token": 5}


def trained(model: Any, trainer: Any) -> Tokenizer:
    made = Tokenizer(model)
    made.pre_tokenizer = pre_tokenizers.ByteLevel()
    made.train_from_iterator(TEXTS * 3, trainer)
    return made


def tokenizers() -> list[Tokenizer]:
    bpe = trained(
        models.BPE(unk_token="[UNK]"),
        trainers.BpeTrainer(vocab_size=80, show_progress=False, special_tokens=["[UNK]", "[CLS]"]),
    )
    bpe.post_processor = processors.TemplateProcessing(
        single="[CLS] $A", pair="[CLS] $A $B:1", special_tokens=[("[CLS]", 1)]
    )
    bpe.decoder = decoders.ByteLevel()
    bpe.enable_padding(length=40)
    bpe.enable_truncation(32, stride=2)
    bpe.encode_special_tokens = True
    words = Tokenizer(models.WordPiece(VOCABULARY, unk_token="[UNK]"))
    words.normalizer = normalizers.Sequence(
        [normalizers.NFD(), normalizers.Lowercase(), normalizers.StripAccents()]
    )
    words.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Whitespace(), pre_tokenizers.Split(Regex(r"\d{1,3}"), "isolated")]
    )
    words.add_tokens([AddedToken("café", single_word=True)])
    unigram = trained(
        models.Unigram(), trainers.UnigramTrainer(vocab_size=60, show_progress=False, unk_token="<unk>")
    )
    unigram.pre_tokenizer = pre_tokenizers.Metaspace()
    return [bpe, words, unigram, Tokenizer(models.WordLevel({"a": 0}, unk_token="a"))]


def outputs(tokenizer: Tokenizer) -> Any:
    found = [tokenizer.encode(text) for text in TEXTS]
    return [(one.ids, one.offsets, tokenizer.decode(one.ids)) for one in found], tokenizer.to_str()


def used(made: Any) -> None:
    """Use a tokenizer, or a part in a tokenizer, as its owner would."""
    if isinstance(made, AddedToken):
        tokenizers()[1].add_tokens([made])
        return
    whole = (
        made if isinstance(made, Tokenizer) else Tokenizer(models.WordPiece(VOCABULARY, unk_token="[UNK]"))
    )
    if whole is not made:
        family = tokenizers_codec._FAMILIES[type(made).__module__]
        setattr(whole, family, made)
    if (whole.padding or {}).get("length", 0) < 1 << 16:  # else it does what it says, which takes long
        outputs(whole)


class TestTokenizer(CodecContract):
    codec = by_name("tokenizers.tokenizer")

    def samples(self) -> list[Any]:
        return tokenizers()

    def same(self, sample: Any, loaded: Any) -> bool:
        flags = [one.encode_special_tokens for one in (sample, loaded)]
        return outputs(sample) == outputs(loaded) and flags[0] == flags[1]


class TestPart(CodecContract):
    codec = by_name("tokenizers.part")

    def samples(self) -> list[Any]:
        return [
            models.WordPiece(VOCABULARY, unk_token="[UNK]"),
            models.BPE(),
            normalizers.Replace(Regex("a+"), "b"),
            normalizers.BertNormalizer(),
            pre_tokenizers.CharDelimiterSplit("-"),
            pre_tokenizers.Sequence([pre_tokenizers.Whitespace(), pre_tokenizers.Digits()]),
            processors.BertProcessing(("a", 1), ("b", 2)),
            decoders.Sequence([decoders.Fuse(), decoders.Strip(" ", 1, 0)]),
        ]

    def same(self, sample: Any, loaded: Any) -> bool:
        return bool(sample.__getstate__() == loaded.__getstate__())


class TestAddedToken(CodecContract):
    codec = by_name("tokenizers.added_token")

    def samples(self) -> list[Any]:
        return [AddedToken("a"), AddedToken("[MASK]", lstrip=True, special=True, normalized=False)]

    def same(self, sample: Any, loaded: Any) -> bool:
        return bool(sample.__getstate__() == loaded.__getstate__())


@pytest.mark.parametrize(
    ("module", "family"), [(modules, name) for name, modules in tokenizers_codec._MODULES.items()]
)
def test_every_part_that_the_library_has_is_known(module: str, family: str) -> None:
    import tokenizers

    home = getattr(tokenizers, module)
    bases = {"Model", "Normalizer", "PreTokenizer", "PostProcessor", "Decoder"}
    others = {"NORMALIZERS", "DecodeStream"}
    there = {name for name in dir(home) if name[0].isupper()} - bases - others
    assert there == set(tokenizers_codec.PARTS[family])


def test_every_codec_for_tokenizers_has_a_contract_test() -> None:
    contracts = [
        value for value in globals().values() if isinstance(value, type) and issubclass(value, CodecContract)
    ]
    tested = {contract.codec.name for contract in contracts if hasattr(contract, "codec")}
    assert tested == {codec.name for codec in default_registry() if codec.name.startswith("tokenizers.")}
