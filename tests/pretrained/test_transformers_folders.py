"""Folders of transformers: each becomes an object that takes what its model is about, and answers equally."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

import json
import os
import runpy
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
import transformers

from packager import Example, PackageExporter, PackageImporter
from packager._calls import SchemaMismatchError
from packager._pretrained import PretrainedError, open_pretrained
from packager.errors import ArgumentError
from tests import processes

MAKERS = runpy.run_path(str(Path(__file__).parents[2] / "fixtures" / "hugging_face" / "folders.py"))["MAKERS"]
TEXTS = ["the quick brown fox", "dogs"]
BERT = '{"model_type": "bert", "architectures": ["BertModel"], "hidden_size": 12, "num_hidden_layers": 1}'
Made = Callable[[str], Path]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """Make a folder once, by its name."""
    root = tmp_path_factory.mktemp("folders")

    def make(name: str) -> Path:
        if not (root / name).exists():
            torch.manual_seed(0)
            MAKERS[name](root / name)
        return root / name

    return make


def aligned(model: Any) -> Any:
    """Copy weights to memory of their own; at odd places of a mapped file kernels round otherwise."""
    for weight in (*model.parameters(), *model.buffers()):
        weight.data = weight.data.clone()
    return model.eval()


def packed(folder: Path, target: Path, **options: Any) -> tuple[Any, PackageExporter]:
    """Pack a folder; return what is called, with its weights aligned, and the exporter."""
    with PackageExporter(target, policy="auto", prove=False) as exporter:
        wrapper = exporter.save_pretrained(folder, **options)
    aligned(wrapper.model)
    return wrapper, exporter


def test_a_language_model_goes_on_with_a_text_as_generate_does(made: Made, tmp_path: Path) -> None:
    folder, target = made("gpt2"), tmp_path / "net.kellet"
    packed(folder, target)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.GPT2LMHeadModel.from_pretrained(folder).eval()
    inputs = tokenizer(TEXTS[0], return_tensors="pt")
    expected = model.generate(**inputs, do_sample=False, max_new_tokens=6)
    with PackageImporter(target) as importer:
        loaded = importer.load_object("model", "model")
        assert type(loaded).__name__ == "TextGenerator"
        ids = loaded.model.generate(
            **loaded.tokenizer(TEXTS[0], return_tensors="pt"), do_sample=False, max_new_tokens=6
        )
        assert torch.equal(ids, expected)
        answer = importer.run({"text": TEXTS[0], "max_new_tokens": 6})
        assert answer == {
            "output": tokenizer.decode(expected[0, inputs["input_ids"].shape[1] :], skip_special_tokens=True)
        }
        several = importer.run({"arg0": TEXTS, "max_new_tokens": 6})
        assert several["output.0"] == answer["output"]
        with pytest.raises(SchemaMismatchError, match=r"text: found int, expected text \| list\[text\]"):
            importer.run({"text": 3})


def test_a_model_that_answers_generates_from_its_own_start(made: Made, tmp_path: Path) -> None:
    wrapper, _ = packed(made("t5"), tmp_path / "net.kellet")
    with PackageImporter(tmp_path / "net.kellet") as importer:
        assert importer.run({"text": TEXTS[0]}) == {"output": wrapper(TEXTS[0])}


def test_a_classifier_gives_labels_beside_its_numbers(made: Made, tmp_path: Path) -> None:
    wrapper, exporter = packed(made("classifier"), tmp_path / "net.kellet")
    expected = wrapper(TEXTS)
    assert len(expected["label"]) == 2
    assert set(expected["label"]) <= {"bad", "fair", "good"}
    needed = {extern.name for extern in exporter.plan().externs if extern.origin.distribution}
    assert needed == {"tokenizers", "torch", "transformers"}
    with PackageImporter(tmp_path / "net.kellet") as importer:
        answer = importer.run({"text": TEXTS})
        assert np.array_equal(answer["output.logits"], expected["logits"].numpy())
        assert [answer["output.label.0"], answer["output.label.1"]] == expected["label"]


def test_weights_of_torch_save_are_read_too(tmp_path: Path) -> None:
    torch.manual_seed(0)
    MAKERS["classifier"](tmp_path / "old", as_pickle=True)
    assert not (tmp_path / "old" / "model.safetensors").exists()
    wrapper, _ = packed(tmp_path / "old", tmp_path / "net.kellet")
    with PackageImporter(tmp_path / "net.kellet") as importer:
        answer = importer.run({"text": TEXTS[0]})["output.logits"]
    assert np.array_equal(answer, wrapper(TEXTS[0])["logits"].numpy())


def test_a_model_without_a_tokenizer_takes_ids(made: Made, tmp_path: Path) -> None:
    wrapper, _ = packed(made("ids"), tmp_path / "net.kellet")
    ids = np.arange(6).reshape(1, 6)
    with PackageImporter(tmp_path / "net.kellet") as importer:
        answer = importer.run({"input_ids": ids})
    assert np.array_equal(
        answer["output.last_hidden_state"], wrapper(input_ids=ids)["last_hidden_state"].numpy()
    )


def test_a_model_of_sound_takes_samples(made: Made, tmp_path: Path) -> None:
    wrapper, _ = packed(made("wav2vec2"), tmp_path / "net.kellet")
    samples = np.sin(np.arange(4000) / 20).astype("f4")
    with PackageImporter(tmp_path / "net.kellet") as importer:
        answer = importer.run({"audio": samples})
    assert np.array_equal(answer["output.logits"], wrapper(samples)["logits"].numpy())
    before = transformers.Wav2Vec2ForSequenceClassification.from_pretrained(made("wav2vec2")).eval()
    with torch.no_grad():
        expected = before(
            wrapper.processor(samples, sampling_rate=16000, return_tensors="pt")["input_values"]
        ).logits
    assert np.allclose(answer["output.logits"], expected.numpy(), atol=1e-6)


SAMPLES = np.sin(np.arange(9000) / 20).astype("f4")


def test_a_model_writes_down_what_it_hears(made: Made, tmp_path: Path) -> None:
    wrapper, exporter = packed(made("whisper"), tmp_path / "net.kellet")
    (schema,) = exporter.plan().schemas
    assert str(schema).startswith("model(audio: real[*], sampling_rate: int")
    heard = wrapper.processor(SAMPLES, sampling_rate=16000, return_tensors="pt")
    before = transformers.WhisperForConditionalGeneration.from_pretrained(made("whisper")).eval()
    ids = before.generate(**heard, do_sample=False, max_new_tokens=5)
    with PackageImporter(tmp_path / "net.kellet") as importer:
        loaded = importer.load_object("model", "model")
        assert torch.equal(loaded.model.generate(**heard, do_sample=False, max_new_tokens=5), ids)
        answer = importer.run({"audio": SAMPLES, "max_new_tokens": 5})
        assert answer == {"output": wrapper.tokenizer.decode(ids[0], skip_special_tokens=True)}
        with pytest.raises(SchemaMismatchError, match="audio"):
            importer.run({"audio": "a file"})


def test_a_model_that_hears_letters_gives_them_and_its_numbers(made: Made, tmp_path: Path) -> None:
    wrapper, _ = packed(made("letters"), tmp_path / "net.kellet")
    expected = wrapper(SAMPLES)
    assert expected["text"] == wrapper.tokenizer.batch_decode(expected["logits"].argmax(-1))
    assert len(expected["text"][0]) > 0
    with PackageImporter(tmp_path / "net.kellet") as importer:
        answer = importer.run({"audio": SAMPLES, "sampling_rate": 16000})
    assert np.array_equal(answer["output.logits"], expected["logits"].numpy())
    assert answer["output.text.0"] == expected["text"][0]


def test_a_model_of_texts_and_sounds_compares_them(made: Made, tmp_path: Path) -> None:
    wrapper, _ = packed(made("clap"), tmp_path / "net.kellet")
    expected = wrapper(TEXTS, SAMPLES[:4000])
    with PackageImporter(tmp_path / "net.kellet") as importer:
        answer = importer.run({"text": TEXTS, "audio": SAMPLES[:4000]})
    assert answer["output.logits_per_audio"].shape == (1, 2)
    for name, value in expected.items():
        assert np.array_equal(answer[f"output.{name}"], value.numpy()), name


def test_code_in_the_folder_is_run_only_where_that_is_said(made: Made, tmp_path: Path) -> None:
    with pytest.raises(
        PretrainedError, match=r"runs code in the folder, modeling_tiny\.py\. .*remote_code=True"
    ):
        open_pretrained(made("remote"))
    wrapper, exporter = packed(made("remote"), tmp_path / "net.kellet", remote_code=True)
    stored = [module.name.rpartition(".")[2] for module in exporter.plan().by_action("intern")]
    assert {"packaged_pretrained", "modeling_tiny", "layers"} <= set(stored)
    with PackageImporter(tmp_path / "net.kellet") as importer:
        answer = importer.run({"text": TEXTS[0]})["output.last_hidden_state"]
    assert np.array_equal(answer, wrapper(TEXTS[0])["last_hidden_state"].numpy())


def test_a_model_and_a_pipeline_can_be_saved_in_the_place_of_a_folder(made: Made, tmp_path: Path) -> None:
    model = transformers.BertForSequenceClassification.from_pretrained(made("classifier"))
    tokenizer = transformers.AutoTokenizer.from_pretrained(made("classifier"))
    pipeline = transformers.pipeline("text-classification", model=model, tokenizer=tokenizer)
    with PackageExporter(tmp_path / "net.kellet", policy="auto", prove=False) as exporter:
        exporter.save_pretrained(model, tokenizer=tokenizer, example=TEXTS[0])
        exporter.save_pretrained(pipeline, "model", "pipeline", example=Example(text=TEXTS))
    assert [point.name for point in exporter.plan().entry_points] == ["model", "pipeline"]
    assert [(check.name, bool(check.outputs)) for check in exporter.plan().checks] == [
        ("model", True),
        ("pipeline", True),
    ]
    with PackageImporter(tmp_path / "net.kellet") as importer:
        found = [importer.run({"text": TEXTS}, entry) for entry in ("model", "pipeline")]
    assert np.array_equal(found[0]["output.logits"], found[1]["output.logits"])


def test_what_is_no_model_is_refused(tmp_path: Path) -> None:
    exporter = PackageExporter(tmp_path / "net.kellet", policy="auto", prove=False)
    with pytest.raises(ArgumentError, match=r"expected a folder, or a model of .* found a builtins\.int"):
        exporter.save_pretrained(3)
    with pytest.raises(ArgumentError, match="found a folder with tokenizer= or processor="):
        exporter.save_pretrained(tmp_path, tokenizer=object())


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({}, r"found nothing; expected a folder with one of modules\.json \(sentence-transformers\)"),
        ({"readme": ""}, "found readme; expected a folder with one of"),
        ({"config.json": "{"}, r"config\.json: not JSON"),
        ({"config.json": "[]"}, r"config\.json: found a list; expected a JSON object"),
        (
            {"config.json": '{"architectures": ["NoSuchModel"]}'},
            r"its model is a NoSuchModel, which transformers \S+ lacks\. Install",
        ),
        ({"config.json": '{"model_type": "bert"}'}, "transformers cannot read it: OSError"),
        (
            {"config.json": '{"architectures": 5}'},
            r"config\.json: found a int as architectures; expected",
        ),
        (
            {"config.json": BERT, "model.safetensors.index.json": "{"},
            r"transformers cannot read it: JSONDecodeError.*; \S+/model\.safetensors\.index\.json: not JSON",
        ),
        (
            {"config.json": BERT, "model.safetensors.index.json": "[" * 100_000},
            r"transformers cannot read it: RecursionError.*; \S+/model\.safetensors\.index\.json: not JSON",
        ),
        (
            {"config.json": BERT, "model.safetensors.index.json": '{"weight_map": ["a"]}'},
            r"; \S+/model\.safetensors\.index\.json: found a list as weight_map; expected a JSON object",
        ),
        (
            {"config.json": BERT, "model.safetensors.index.json": '["a"]'},
            r"; \S+/model\.safetensors\.index\.json: found a list; expected a JSON object",
        ),
    ],
)
def test_folders_that_cannot_be_read_say_why(tmp_path: Path, files: dict[str, str], message: str) -> None:
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    with pytest.raises(PretrainedError, match=message):
        open_pretrained(tmp_path)


def test_what_only_looks_like_a_pipeline_or_a_model_is_refused(tmp_path: Path) -> None:
    exporter = PackageExporter(tmp_path / "net.kellet", policy="auto", prove=False)
    for source in (SimpleNamespace(model=3, tokenizer=4), sys, SimpleNamespace(modules=3)):
        with pytest.raises(ArgumentError, match="expected a folder, or a model of transformers"):
            exporter.save_pretrained(source)


def test_a_folder_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(PretrainedError, match="found no such folder"):
        open_pretrained(tmp_path / "absent")


def test_a_missing_library_is_named_with_what_installs_it(
    made: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "model_index.json").write_text(json.dumps({"_class_name": "DDPMPipeline"}))
    monkeypatch.setitem(sys.modules, "diffusers", None)
    with pytest.raises(
        PretrainedError, match=r"it needs diffusers, which cannot be imported: .*pip install diffusers"
    ):
        open_pretrained(tmp_path)


def test_the_command_packs_a_folder_proves_it_and_stores_a_call(made: Made, tmp_path: Path) -> None:
    """In processes of their own: the loading one has the archive, and what it left to the target."""
    target = tmp_path / "net.kellet"
    environment = os.environ | {"XDG_CACHE_HOME": str(tmp_path), "HF_HUB_OFFLINE": "1"}

    def packager(*arguments: Any) -> str:
        command = [sys.executable, "-W", "ignore", "-m", "packager", *map(str, arguments)]
        done = processes.run(
            command, env=environment, capture_output=True, text=True, check=False, timeout=300
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    out = packager("export", "--from-pretrained", made("gpt2"), "-o", target)
    assert "model(text: text | list[text], max_new_tokens: int (optional), ...) -> output: text" in out
    assert "needs names that loaders refuse" not in out
    assert packager("check", target) == "model: output: the same bits\n"
    assert packager("run", target, "--text", TEXTS[0]).startswith('output: "')
