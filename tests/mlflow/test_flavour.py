"""Archives as models of MLflow: saved, logged, loaded elsewhere, checked by identity, and served."""

from __future__ import annotations

import importlib
import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest

pytest.importorskip("mlflow")

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # MLflow warns of its own annotations
    import mlflow.pyfunc

import numpy
import pandas
import yaml

import packager.mlflow
from packager import ArchiveError, ArgumentError, Example, IdentityMismatchError
from packager.errors import EntryMethodError, UnsignedError
from tests.mlflow.conftest import X


def test_a_logged_archive_answers_arrays_and_frames(scaled: Callable[..., Path]) -> None:
    info = packager.mlflow.log_model(scaled("a.kellet", 2), name="churn", registered_model_name="churn")
    model = mlflow.pyfunc.load_model(info.model_uri)
    assert model.predict(X).tolist() == [12.0, 44.0]
    assert model.predict(pandas.DataFrame(X)).tolist() == [12.0, 44.0]
    assert packager.mlflow.load_model("models:/churn/1").predict(X).tolist() == [12.0, 44.0]


def test_signature_and_example_are_those_of_the_golden_call(scaled: Callable[..., Path]) -> None:
    info = packager.mlflow.log_model(scaled("a.kellet", 2), name="churn")
    assert info.signature.inputs.to_dict() == [
        {"type": "tensor", "tensor-spec": {"dtype": "float64", "shape": (-1, 4)}}
    ]
    assert info.signature.outputs.to_dict() == [
        {"type": "tensor", "tensor-spec": {"dtype": "float64", "shape": (-1,)}}
    ]
    assert mlflow.pyfunc.load_model(info.model_uri).input_example.tolist() == X.tolist()


@pytest.mark.filterwarnings("ignore:Operation with range is deprecated")  # MLflow compares columns so
def test_a_pipeline_by_column_names_has_them_in_its_signature(tmp_path: Path) -> None:
    from sklearn.compose import make_column_transformer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder
    from sklearn.tree import DecisionTreeClassifier

    frame = pandas.DataFrame(
        {"city": ["Oslo", "Bern", "Rome"], "age": [20, 31, 45], "share": [0.5, 0.25, 1.0]}
    )
    by_name = make_column_transformer((OneHotEncoder(), ["city"]), remainder="passthrough")
    fitted = make_pipeline(by_name, DecisionTreeClassifier(random_state=0)).fit(frame, [0, 1, 1])
    packager.mlflow.save_model(fitted, tmp_path / "saved", example=frame)
    model = mlflow.pyfunc.load_model(str(tmp_path / "saved"))
    assert {one.name: one.type.name for one in model.metadata.get_input_schema().inputs} == {
        "city": "string", "age": "long", "share": "double"
    }  # fmt: skip
    assert model.predict(frame.assign(more=1))["output"].tolist() == [0, 1, 1]
    assert model.input_example.to_dict("list") == frame.to_dict("list")


def test_an_object_is_packed_and_its_requirements_follow(tmp_path: Path) -> None:
    sklearn = pytest.importorskip("sklearn.linear_model")
    fitted = sklearn.LinearRegression().fit(X, X.sum(1))
    packager.mlflow.save_model(fitted, tmp_path / "saved", example=X, extra_pip_requirements=["einops"])
    lines = (tmp_path / "saved" / "requirements.txt").read_text().split()
    names = [line.partition("==")[0] for line in lines]
    assert {"einops", "kellet[mlflow]", "numpy", "scikit-learn"} < set(names)
    conda = yaml.safe_load((tmp_path / "saved" / "conda.yaml").read_text())
    assert conda["dependencies"][-1] == {"pip": lines}
    found = mlflow.pyfunc.load_model(str(tmp_path / "saved")).predict(X)
    assert numpy.array_equal(found, fitted.predict(X))


def test_without_an_example_it_predicts_by_what_the_object_has(tmp_path: Path) -> None:
    decomposition = pytest.importorskip("sklearn.decomposition")
    fitted = decomposition.PCA(2).fit(numpy.eye(4))
    info = packager.mlflow.log_model(fitted, name="pca")
    assert numpy.array_equal(mlflow.pyfunc.load_model(info.model_uri).predict(X), fitted.transform(X))


def test_an_object_that_cannot_be_called_is_given_itself(tmp_path: Path) -> None:
    info = packager.mlflow.log_model({"labels": ["cat", "dog"]}, name="labels")
    loaded = mlflow.pyfunc.load_model(info.model_uri)
    with pytest.raises(EntryMethodError, match="cannot be called; load the object"):
        loaded.predict(X)
    assert loaded.get_raw_model() == packager.mlflow.load_model(info.model_uri) == {"labels": ["cat", "dog"]}


def test_an_only_input_that_is_a_dict_keeps_its_name(tmp_path: Path) -> None:
    info = packager.mlflow.log_model(len, name="count", example={"a": 1, "b": 2})
    model = mlflow.pyfunc.load_model(info.model_uri)
    assert model.input_example == {"arg0": {"a": 1, "b": 2}}
    assert {name: int(value) for name, value in model.predict(model.input_example).items()} == {"output": 2}


def test_an_only_input_that_is_not_the_first_keeps_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "prices.py").write_text("def total(rate=2, x=None):\n    return x.sum(1) * rate\n")
    monkeypatch.syspath_prepend(tmp_path)
    total = importlib.import_module("prices").total
    info = packager.mlflow.log_model(total, name="total", example=Example(x=X))
    sys.modules.pop("prices")
    model = mlflow.pyfunc.load_model(info.model_uri)
    assert model.input_example["x"].tolist() == X.tolist()
    assert model.predict({"x": X})["output"].tolist() == [12.0, 44.0]


def test_an_example_that_mlflow_cannot_keep_is_left_to_the_archive(tmp_path: Path) -> None:
    info = packager.mlflow.log_model(numpy.round, name="round", example=Example(X / 3, 1))
    model = mlflow.pyfunc.load_model(info.model_uri)
    assert model.input_example is None
    found = model.predict({"a": X / 3, "decimals": 1})["output"]
    assert found.tolist() == numpy.round(X / 3, 1).tolist()


def test_two_models_with_one_module_name_are_both_right(scaled: Callable[..., Path]) -> None:
    """As two versions of one model are in one process."""
    uris = [
        packager.mlflow.log_model(scaled(f"{factor}.kellet", factor), name=f"by-{factor}").model_uri
        for factor in (2, 3)
    ]
    models = [mlflow.pyfunc.load_model(uri) for uri in uris]
    objects = [packager.mlflow.load_model(uri) for uri in uris]
    assert [one.predict(X).tolist() for one in models] == [[12.0, 44.0], [18.0, 66.0]]
    assert [one.predict(X).tolist() for one in objects] == [[12.0, 44.0], [18.0, 66.0]]


def test_another_archive_in_the_folder_is_refused(scaled: Callable[..., Path], tmp_path: Path) -> None:
    packager.mlflow.save_model(scaled("a.kellet", 2), tmp_path / "saved")
    shutil.copy(scaled("b.kellet", 3), tmp_path / "saved" / "model.kellet")
    for load in (mlflow.pyfunc.load_model, packager.mlflow.load_model):
        with pytest.raises(IdentityMismatchError, match="identity"):
            load(str(tmp_path / "saved"))


def test_who_may_have_signed_is_an_option_of_the_one_who_loads(
    scaled: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("cryptography")
    from tests.signing.signed_files import pair

    (tmp_path / "keys").mkdir()
    team = pair(tmp_path / "keys", "team")
    packager.mlflow.save_model(scaled("a.kellet", 2), tmp_path / "bare")
    packager.mlflow.save_model(scaled("b.kellet", 3, sign=team.pem), tmp_path / "signed", signed_by=team.pub)
    options = {"signed_by": str(team.pub)}
    model = mlflow.pyfunc.load_model(str(tmp_path / "signed"), model_config=options)
    assert model.predict(X).tolist() == [18.0, 66.0]
    with pytest.raises(UnsignedError, match="it has no signature"):
        mlflow.pyfunc.load_model(str(tmp_path / "bare"), model_config=options)
    with pytest.raises(UnsignedError, match="it has no signature"):
        packager.mlflow.load_model(str(tmp_path / "bare"), signed_by=team.pub)
    monkeypatch.setenv("MLFLOW_PYFUNC_INFERENCE_CONFIG", json.dumps(options))
    with pytest.raises(UnsignedError, match="it has no signature"):
        mlflow.pyfunc.load_model(str(tmp_path / "bare"))


def test_a_folder_sets_no_options(scaled: Callable[..., Path], tmp_path: Path) -> None:
    packager.mlflow.save_model(scaled("a.kellet", 2), tmp_path / "saved")
    path = tmp_path / "saved" / "MLmodel"
    content = yaml.safe_load(path.read_text())
    del content["flavors"]["python_function"]["config"]["signed_by"]
    path.write_text(yaml.safe_dump(content))
    with pytest.raises(ArchiveError, match="MLmodel was changed: found the options"):
        mlflow.pyfunc.load_model(str(tmp_path / "saved"), model_config={"code": False})


def test_a_folder_of_another_flavour_is_refused(tmp_path: Path) -> None:
    mlflow.models.Model().save(str(tmp_path / "MLmodel"))
    with pytest.raises(
        ArchiveError, match="MLmodel lacks the archive, identity or entry of the flavour 'kellet'"
    ):
        packager.mlflow.load_model(str(tmp_path))


def test_a_save_that_fails_leaves_nothing(scaled: Callable[..., Path], tmp_path: Path) -> None:
    archive = scaled("a.kellet", 2)
    with pytest.raises(ArgumentError, match="is the path of an archive, which stores its own example"):
        packager.mlflow.save_model(archive, tmp_path / "saved", example=X)
    assert not (tmp_path / "saved").exists()
    (tmp_path / "saved").mkdir()
    (tmp_path / "saved" / "mine.txt").write_text("mine")
    with pytest.raises(FileExistsError, match="the folder has files in it"):
        packager.mlflow.save_model(archive, tmp_path / "saved")
    assert (tmp_path / "saved" / "mine.txt").read_text() == "mine"


@pytest.mark.long
def test_mlflow_predicts_and_serves_on_loopback(scaled: Callable[..., Path], tmp_path: Path) -> None:
    packager.mlflow.save_model(scaled("a.kellet", 2), tmp_path / "saved")
    shutil.rmtree(tmp_path / "project-a.kellet")
    command = [sys.executable, "-m", "mlflow", "models"]
    where = ["-m", str(tmp_path / "saved"), "--env-manager", "local"]
    (tmp_path / "x.json").write_text(json.dumps({"inputs": X.tolist()}))
    files = ["-i", str(tmp_path / "x.json"), "-o", str(tmp_path / "y.json")]
    # MLflow starts uvicorn by its name.
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = os.environ | {"PATH": path}
    done = subprocess.run(
        [*command, "predict", *where, *files],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads((tmp_path / "y.json").read_text()) == {"predictions": [12.0, 44.0]}
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    server = subprocess.Popen(
        [*command, "serve", *where, "--host", "127.0.0.1", "--port", port, "--workers", "1"],
        cwd=tmp_path,
        env=environment,
        start_new_session=True,
    )
    try:
        answer = _asked(f"http://127.0.0.1:{port}/invocations", {"inputs": X.tolist()}, server)
        assert answer == {"predictions": [12.0, 44.0]}
        frame = {"dataframe_split": {"columns": ["a", "b", "c", "d"], "data": X.tolist()}}
        assert _asked(f"http://127.0.0.1:{port}/invocations", frame, server) == {"predictions": [12.0, 44.0]}
    finally:
        os.killpg(server.pid, 15)
        server.wait(30)


def _asked(url: str, body: object, server: subprocess.Popen[bytes]) -> object:
    """Return the answer of a server, which may be starting still."""
    request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})
    for _ in range(600):
        try:
            with urllib.request.urlopen(request) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            raise AssertionError(error.read()) from error
        except OSError:
            assert server.poll() is None
            time.sleep(0.2)
    raise AssertionError("the server does not answer")
