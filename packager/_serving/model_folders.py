"""What stands beside an archive in a model folder of MLflow: signature, example, requirements."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping, Sequence
from typing import Any

from packager._archive import Manifest, SchemaRecord
from packager._calls import FAMILIES, ValueType, dtype_name, is_frame
from packager._environment import RecordedEnvironment
from packager._tensors import DTYPES, numpy_dtype
from packager._version import OWN_NAME, installed_version

from .predictor import Predictor

_OF_FAMILIES = {"real": "float64", "integer": "int64"}


def input_example(predictor: Predictor) -> Any:
    """Return the inputs of the model's first example: a dict by name, or a single input by itself.

    A single input has its name too if it is a dict, or not the first parameter. None without an example.
    Raises ArchiveError for a damaged archive.
    """
    given = predictor.golden_inputs()
    if not given:
        return None
    names = [one.name for one in predictor.schema.takes] if predictor.schema else []
    (name, only), *others = given.items()
    if not others and name in ("arg0", *names[:1]) and not isinstance(only, Mapping):
        return only
    by_position = {f"arg{number}": name for number, name in enumerate(names)}
    return {by_position.get(name, name): value for name, value in given.items()}


def model_signature(schema: SchemaRecord | None, example: Any) -> Any:
    """Return a schema as a ModelSignature; None if MLflow cannot express it.

    Arrays become tensors, of the dtype of the example where the schema admits several. A model of NumPy that
    takes a table has as many columns as the example: without a number MLflow takes no frames. A list of
    texts is a column of strings, and a table has its columns. What may be left out is in it where the example
    has it.
    """
    if schema is None:
        return None
    from mlflow.models import ModelSignature
    from mlflow.types import ColSpec
    from mlflow.types import Schema as Columns

    by_name = example if isinstance(example, Mapping) else {}
    taken = {one.name: one.type for one in schema.takes if one.required or one.name in by_name}
    if [*taken.values()] == ["list[text]"]:
        inputs = [ColSpec("string")]
    elif is_frame(example):
        inputs = _columns(example)
    else:
        shown = by_name or dict.fromkeys(taken, example)
        inputs = _tensors(taken, shown, named=len(taken) > 1 or bool(by_name))
    gives = {one.name: one.type for one in schema.gives}
    outputs = _tensors(gives, {}, named=len(gives) > 1)
    if not inputs:
        return None
    return ModelSignature(Columns(inputs), Columns(outputs) if outputs else None)


def _columns(frame: Any) -> list[Any]:
    """Return a ColSpec for each column of a table, of the dtype that the example has: MLflow converts few."""
    from mlflow.types import ColSpec

    words = {"int64": "long", "int32": "integer", "float64": "double", "float32": "float", "bool": "boolean"}
    dtypes = {name: dtype_name(frame[name].to_numpy().dtype) for name in frame.columns}
    return [
        ColSpec("datetime" if dtype == "datetime64" else words.get(dtype, "string"), name)
        for name, dtype in dtypes.items()
    ]


def _tensors(types: Mapping[str, str], example: Mapping[str, Any], *, named: bool) -> list[Any]:
    """Return a TensorSpec for each value, with its name or without; none where one is no array."""
    import numpy
    from mlflow.types import TensorSpec

    found = []
    for name, text in types.items():
        one = ValueType.parse(text)
        shown = example.get(name)
        dtype = (
            one.dtype if one.dtype in DTYPES else str(getattr(shown, "dtype", _OF_FAMILIES.get(one.dtype)))
        )
        if one.kind != "array" or one.shape is None or dtype not in DTYPES:
            return []
        shape = [-1 if size is None else size for size in one.shape]
        if one.dtype in FAMILIES and len(shape) == 2 and shown is not None:
            shape[1] = numpy.shape(shown)[1]
        found.append(TensorSpec(numpy_dtype(dtype), shape, name if named else None))
    return found


def requirement_lines(manifest: Manifest) -> list[str]:
    """Return the requirements of a model: kellet, MLflow, and the archive's externs.

    Versions are those that were recorded, without the part behind "+", which no index has.
    Raises ArchiveError where what was recorded cannot be understood.
    """
    externs = RecordedEnvironment.of(manifest).externs
    named = {one.distribution: one.version for one in externs if one.version and not one.optional}
    named.pop(OWN_NAME, None)
    named |= {f"{OWN_NAME}[mlflow]": installed_version() or ""} | _mlflow_here()
    return [f"{name}=={found.partition('+')[0]}" if found else name for name, found in sorted(named.items())]


def _mlflow_here() -> dict[str, str]:
    """Return the distribution of MLflow that is installed, and its version."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return {"mlflow": version("mlflow")}
    except PackageNotFoundError:
        return {"mlflow-skinny": version("mlflow-skinny")}


def write_requirements(folder: str, lines: Sequence[str]) -> None:
    """Write requirements.txt, conda.yaml and python_env.yaml, as MLflow reads them."""
    python = platform.python_version()
    files = {
        "requirements.txt": lines,
        "python_env.yaml": [
            f"python: {python}",
            "build_dependencies:",
            "- pip",
            "dependencies:",
            "- -r requirements.txt",
        ],
        "conda.yaml": [
            "name: mlflow-env",
            "channels:",
            "- conda-forge",
            "dependencies:",
            f"- python={python}",
            "- pip",
            "- pip:",
            *(f"  - {line}" for line in lines),
        ],
    }
    for name, text in files.items():
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.writelines(f"{line}\n" for line in text)
