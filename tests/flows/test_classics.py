"""The three public models packed, and opened in a process that has not their code: the same bits come out."""

from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[2] / "fixtures" / "models"
MODELS = {
    "CharLSTM": ("CharLSTM(30, 12, 20)", "kellet.arange(12).reshape(4, 3)"),
    "ResNet": (
        "ResNet(10, (4, 8, 8, 16), (1, 2, 1, 1))",
        "kellet.arange(6144.0).reshape(2, 3, 32, 32) / 6144",
    ),
    "GPT": ("GPT(30, 16, 24, 2, 3)", "kellet.arange(12).reshape(2, 6)"),
}
EXPORT = """
    import sys
    sys.path.insert(0, r"{project}")
    import kellet
    from classics import {name}
    from packager import PackageExporter

    kellet.manual_seed(0)
    model = {made}
    answer = model.eval()({input})
    with PackageExporter(r"{target}", policy="auto") as exporter:
        exporter.save_object("model", "model", model)
        exporter.save_state_dict("weights", "trained", model.state_dict())
    print((answer[0] if isinstance(answer, tuple) else answer).detach().numpy().tobytes().hex())
"""
LOAD = """
    import importlib.util
    import kellet
    from packager import PackageImporter

    assert importlib.util.find_spec("classics") is None
    with PackageImporter(r"{target}") as importer:
        model = importer.load_object("model", "model")
        model.load_state_dict(importer.load_state_dict("weights", "trained"))
        answer = model({input})
    print((answer[0] if isinstance(answer, tuple) else answer).detach().numpy().tobytes().hex())
    print(type(model).__qualname__, model.training)
"""


@pytest.mark.parametrize("name", MODELS)
def test_a_public_model_gives_the_same_bits_where_its_code_is_not(run, tmp_path, name):
    made, given = MODELS[name]
    target = tmp_path / "model.kellet"
    answer = run(EXPORT.format(project=PROJECT, target=target, name=name, made=made, input=given))
    assert run(LOAD.format(target=target, input=given)).splitlines() == [answer.strip(), f"{name} False"]
