"""Models in MLflow: archives as a flavour, without pickle and without `code_paths`.

    import packager.mlflow

    info = packager.mlflow.log_model(model, name="churn", example=x)
    loaded = mlflow.pyfunc.load_model(info.model_uri)
    loaded.predict(x)
    loaded.get_raw_model()  # the object itself

The model folder holds the archive, and the files of MLflow: a signature and an input example from the schema
and the example, requirements from the archive's externs. MLflow finds the flavour by the `loader_module` in
`MLmodel`. To load a model, kellet has to be installed, but nothing of the project. The identity is in the
model's metadata, and a replaced archive is refused.

Options belong to the process that loads: `signed_by`, `code`, `trust` and `map_location`, as for Predictor.
`mlflow.pyfunc.load_model(uri, model_config={"signed_by": "team.pub"})` gives them; a server reads the
variable MLFLOW_PYFUNC_INFERENCE_CONFIG. MLflow imports the modules that `MLmodel` names, so take folders
only from where you would take code, or open the archive in one by Predictor.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from packager._arguments import check_kind
from packager._calls import default_method, find_entry
from packager._serving import (
    Predictor,
    input_example,
    model_signature,
    requirement_lines,
    write_requirements,
)
from packager.errors import ArchiveError, ArgumentError, EnvironmentMismatchError
from packager.package_exporter import PackageExporter
from packager.package_importer import PackageImporter

if TYPE_CHECKING:
    from packager._signing import Signers

__all__ = ["FLAVOR_NAME", "load_model", "log_model", "save_model"]

FLAVOR_NAME: Final = "kellet"
"""The name of the flavour in `MLmodel`."""

_ARCHIVE: Final = "model.kellet"
_IDENTITY: Final = "kellet.identity"
_OPTIONS: Final[dict[str, Any]] = {"signed_by": None, "code": True, "trust": [], "map_location": None}


def save_model(
    model: object,
    path: str | os.PathLike[str],
    *,
    example: object = None,
    method: str | None = None,
    entry: str | None = None,
    trust: Sequence[str] = (),
    signed_by: str | os.PathLike[str] | Signers | None = None,
    signature: Any = None,
    metadata: Mapping[str, Any] | None = None,
    pip_requirements: Sequence[str] | None = None,
    extra_pip_requirements: Sequence[str] = (),
    mlflow_model: Any = None,
) -> None:
    """Save a model as a folder of MLflow at `path`, which must not exist or be empty.

    `model` is the path of an archive, which is copied, or an object, which is packed with `policy="auto"`;
    `example` and `method` are those of `PackageExporter.save_object`. Without either, an object that cannot
    be called is called by its `predict`, `transform` or `decision_function`; an object without these can be
    read by `load_model` only. `entry` names the entry point, as for Predictor; `trust` and `signed_by` hold
    for this call, which opens the archive. `signature` and `pip_requirements` replace those of the archive;
    `extra_pip_requirements` are added. `mlflow_model` is passed by `mlflow.models.Model.log`.

    Raises ArgumentError for an `example` or a `method` with an archive, FileExistsError for a folder with
    files in it, EnvironmentMismatchError without MLflow, and what PackageExporter and Predictor raise.
    Nothing is left behind then.

        save_model(model, "saved", example=x)
        mlflow.pyfunc.load_model("saved").predict(x)
    """
    model_class = _model_class()
    from mlflow import pyfunc
    from mlflow.exceptions import MlflowException
    from mlflow.models.utils import _save_example

    folder = os.path.abspath(path)
    if os.path.isdir(folder) and os.listdir(folder):
        raise FileExistsError(f"{folder}: the folder has files in it; give a new or empty one")
    is_new = not os.path.isdir(folder)
    os.makedirs(folder, exist_ok=True)
    try:
        archive = os.path.join(folder, _ARCHIVE)
        _put_archive(model, archive, example, method)
        predictor = Predictor(archive, entry=entry, trust=trust, signed_by=signed_by)
        kept = model_class() if mlflow_model is None else mlflow_model
        shown = input_example(predictor)
        kept.signature = signature or model_signature(predictor.schema, shown)
        if shown is not None:
            with contextlib.suppress(MlflowException):  # it has no form for arrays beside plain values
                _save_example(kept, shown, folder)
        kept.metadata = {**(kept.metadata or {}), **(metadata or {}), _IDENTITY: predictor.identity}
        kept.add_flavor(FLAVOR_NAME, archive=_ARCHIVE, entry=predictor.entry)
        pyfunc.add_to_model(
            kept,
            loader_module=__name__,
            conda_env="conda.yaml",
            python_env="python_env.yaml",
            model_config=dict(_OPTIONS),
        )
        lines = requirement_lines(predictor.manifest) if pip_requirements is None else [*pip_requirements]
        write_requirements(folder, [*lines, *extra_pip_requirements])
        kept.save(os.path.join(folder, "MLmodel"))
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        if not is_new:
            os.makedirs(folder, exist_ok=True)
        raise


def log_model(model: object, name: str | None = None, **options: Any) -> Any:
    """Save a model to the active run of MLflow, or to a new one; return its ModelInfo.

    `options` are those of `save_model`, and of `mlflow.models.Model.log`: `registered_model_name`, `run_id`,
    `tags`, `step` and the like. Raises what `save_model` and MLflow raise.

        info = log_model("net.kellet", name="net", registered_model_name="net")
    """
    own = sys.modules[__name__]
    return _model_class().log(artifact_path=None, name=name, flavor=own, model=model, **options)


def load_model(
    model_uri: str,
    dst_path: str | None = None,
    *,
    signed_by: str | os.PathLike[str] | Signers | None = None,
    code: bool = True,
    trust: Sequence[str] = (),
    map_location: Any = None,
) -> Any:
    """Load the saved object itself from a folder or an address of MLflow.

    `dst_path` is the folder for MLflow's download. Other options are those of Predictor. The archive is
    closed when nothing refers to the model's code any more, as with `packager.load`.

    Raises ArchiveError for a folder without an archive, IdentityMismatchError for a replaced archive, and
    what PackageImporter and `PackageImporter.load_object` raise.

        model = load_model("models:/net/1", signed_by="team.pub")
    """
    _model_class()
    from mlflow.artifacts import download_artifacts

    saved = _Saved(download_artifacts(artifact_uri=model_uri, dst_path=dst_path))
    importer = PackageImporter(
        saved.archive, identity=saved.identity, signed_by=signed_by, code=code, trust=trust
    )
    try:
        importer._opened.closes_with_modules = True
        point = find_entry(importer.archive, saved.entry)
        found = importer.load_object(point.package, point.resource, map_location=map_location)
    except BaseException:
        importer.close()
        raise
    return found


def _load_pyfunc(path: str, model_config: Mapping[str, Any] | None = None) -> Predictor:
    """Return what `mlflow.pyfunc` calls: a Predictor with the options of the one who loads.

    Raises ArchiveError where `MLmodel` was changed, and what Predictor raises.
    """
    saved = _Saved(path)
    saved.require_own_options()
    options = _OPTIONS | dict(model_config or {})
    return _Served(saved.archive, entry=saved.entry, identity=saved.identity, **options)


class _Served(Predictor):
    """What `mlflow.pyfunc` calls. MLflow asks it for the object itself, too, by `get_raw_model`."""

    def get_raw_model(self) -> Any:
        """Load the object, as it was saved. Raises what `PackageImporter.load_object` raises."""
        session = self._here()
        point = find_entry(session.importer.archive, session.entry)
        location = self._asked.map_location
        return session.importer.load_object(point.package, point.resource, map_location=location)


class _Saved:
    """A folder that `save_model` has written: its archive, the identity of that, and what is called.

    Raises ArchiveError where `MLmodel` does not say it.
    """

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.model = _model_class().load(folder)
        flavor = self.model.flavors.get(FLAVOR_NAME) or {}
        self.identity = (self.model.metadata or {}).get(_IDENTITY)
        self.entry: Any = flavor.get("entry")
        if flavor.get("archive") != _ARCHIVE or not self.identity or not self.entry:
            raise ArchiveError(
                f"{folder}: MLmodel lacks the archive, identity or entry of the flavour {FLAVOR_NAME!r}; "
                "save the model again: packager.mlflow.save_model(model, path)"
            )
        self.archive = os.path.join(folder, _ARCHIVE)

    def require_own_options(self) -> None:
        """Raise ArchiveError where the folder sets options or lacks one: MLflow passes no others."""
        saved = self.model.flavors["python_function"].get("config")
        if saved != _OPTIONS:
            raise ArchiveError(
                f"{self.folder}: MLmodel was changed: found the options {saved}, expected {_OPTIONS}; "
                "restore them, and give options when loading: mlflow.pyfunc.load_model(uri, "
                "model_config={...})"
            )


def _model_class() -> Any:
    """Return `mlflow.models.Model`. Raises EnvironmentMismatchError where MLflow is not installed."""
    try:
        from mlflow.models import Model
    except ImportError as error:
        raise EnvironmentMismatchError(
            "packager.mlflow needs MLflow: python -m pip install 'kellet[mlflow]'"
        ) from error
    return Model


def _put_archive(model: Any, archive: str, example: Any, method: str | None) -> None:
    """Copy an archive into the folder, or pack an object there."""
    if not isinstance(model, str | os.PathLike):
        check_kind("method", method, (str, type(None)), "the name of a method, or None")
        if method is None and example is None:
            method = default_method(model)
        with PackageExporter(archive, policy="auto") as exporter:
            exporter.save_object("model", "model", model, example=example, method=method)
        return
    if example is not None or method is not None:
        raise ArgumentError(
            f"model={os.fspath(model)!r} is the path of an archive, which stores its own example and method; "
            "leave out example= and method="
        )
    shutil.copyfile(model, archive)
