"""The sentence encoder of the fixtures, packed small: text goes in and the same bits come out elsewhere."""

from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[2] / "fixtures" / "models"
EXPORT = """
    import sys
    sys.path.insert(0, r"{project}")
    import kellet, bert
    from packager import PackageExporter

    kellet.manual_seed(0)
    sizes = dict(width=24, layers=2, heads=3, inner=40)
    model = bert.build(**sizes)
    with PackageExporter(r"{target}", policy="auto") as exporter:
        exporter.save_object("model", "model", model{how})
    print(model.encode(["A cat sits.", ""]).tobytes().hex())
    plan = exporter.plan()
    print([extern.name for extern in plan.externs if extern.requirement])
    print([file.name for file in plan.data_files])
"""
LOAD = """
    import importlib.util
    from packager import PackageImporter

    assert importlib.util.find_spec("bert") is None
    with PackageImporter(r"{target}") as importer:
        model = importer.load_object("model", "model")
        print(model.encode(["A cat sits.", ""]).tobytes().hex())
        print(model.training, model.config.layers, type(model).__qualname__)
"""


@pytest.mark.parametrize("how", ["", ', factory="bert:build", config=sizes'], ids=["layout", "factory"])
def test_sentences_give_the_same_bits_where_the_code_is_not(run, tmp_path, how):
    target = tmp_path / "small.kellet"
    vectors, externs, resources = run(EXPORT.format(project=PROJECT, target=target, how=how)).splitlines()
    assert externs == "['kellet', 'numpy', 'packager', 'tokenizers']"
    assert resources == "['bert/config.json', 'bert/huggingface.toml', 'bert/tokenizer.json']"
    assert run(LOAD.format(target=target)).splitlines() == [vectors, "False 2 SentenceEncoder"]
