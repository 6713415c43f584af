"""What lies in a folder of Hugging Face's libraries, and the model, tokenizer and processor that it makes.

The libraries themselves read it, from this folder alone: nothing is downloaded. Code that lies in the folder
is run only where the caller says so.
"""

from __future__ import annotations

import copy
import json
import os
import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from packager._arguments import check_path
from packager._process import AnswerRequired, place_in_model
from packager._quick_dataclasses import dataclass
from packager._texts import listed
from packager.errors import ArgumentError, PackageError

_TOKENIZERS: Final = (
    *("tokenizer.json", "tokenizer_config.json", "vocab.txt", "vocab.json"),
    *("spiece.model", "tokenizer.model", "sentencepiece.bpe.model"),
)
_MOST_JSON: Final = 1 << 26


class PretrainedError(PackageError, ValueError):
    """A folder has no model, or its library cannot read it."""


@dataclass(frozen=True)
class Parts:
    """A model, and what turns text, images or sound into its inputs; `kind` is the library that it is of."""

    kind: str
    model: Any
    tokenizer: Any = None
    processor: Any = None


def parts_in(source: Any, tokenizer: Any, processor: Any, *, remote_code: bool) -> Parts:
    """Return the parts of a folder, or of a model with its tokenizer and processor.

    Raises ArgumentError for a folder with more besides, and what `open_pretrained` and `parts_of` raise.
    """
    if not isinstance(source, str | os.PathLike):
        return parts_of(source, tokenizer=tokenizer, processor=processor)
    if tokenizer is not None or processor is not None:
        raise ArgumentError("save_pretrained() got a folder, and a tokenizer or processor besides")
    return open_pretrained(source, remote_code=remote_code)


def open_pretrained(folder: str | os.PathLike[str], *, remote_code: bool = False) -> Parts:
    """Make what lies in a folder: of transformers, peft, sentence-transformers or diffusers, on the CPU.

    Raises PretrainedError for a folder that is of none of these, whose library is not installed or cannot
    read it, and for one with code of its own, unless `remote_code` allows to run it. CodeExitError where
    that ends with `sys.exit()` or the like, AddressError for an address.
    """
    check_path("folder", folder)
    place = Path(os.fsdecode(folder))
    try:
        kind, code = _kind_of(place), _code_in(place)
    except OSError as error:
        raise PretrainedError(f"{place}: cannot be read: {error.strerror}") from error
    if code and not remote_code:
        raise PretrainedError(
            f"{place}: its configuration names code in the folder, {listed(code)}, which is run to make "
            "the model, and stored; read it, then allow it: --remote-code, or remote_code=True"
        ).holding(code)
    with AnswerRequired(f"making the model in {place}"):
        try:
            return _KINDS[kind][1](place, bool(code))
        except ImportError as error:
            missing = (error.name or kind).partition(".")[0]
            raise PretrainedError(
                f"{place}: it is of {kind}, and importing that failed: {error}; install {missing} here"
            ) from error
        except PackageError:
            raise
        except Exception as error:  # whatever the library raises is told with the folder
            said = f"{type(error).__name__}: {error}{place_in_model(error)}"
            raise PretrainedError(f"{place}: {kind} cannot read it: {said}{_damaged(place)}") from error


def parts_of(source: object, *, tokenizer: object = None, processor: object = None) -> Parts:
    """Return the parts of an object: a model, a pipeline, a SentenceTransformer."""
    tops = {base.__module__.partition(".")[0] for base in type(source).__mro__}
    kind = next((top for top in ("sentence_transformers", "diffusers") if top in tops), "transformers")
    if kind == "transformers" and hasattr(source, "model") and hasattr(source, "tokenizer"):  # a pipeline
        tokenizer = tokenizer or source.tokenizer
        own = (getattr(source, name, None) for name in ("image_processor", "feature_extractor"))
        processor = processor or next(filter(None, own), None)
        source = source.model
    if kind == "transformers" and _is_parametrized(source):
        source = _without_parametrizations(copy.deepcopy(source))
    return Parts(kind.replace("_", "-"), source, tokenizer, processor)


def _transformers(place: Path, remote_code: bool) -> Parts:
    library = import_module("transformers")
    options = {"local_files_only": True, "trust_remote_code": remote_code}
    config = _json(place / "config.json")
    cls = _model_class(library, config, place)
    model = _without_parametrizations(_evaluated(cls.from_pretrained(place, **options)))
    return Parts("transformers", model, *_around(place, options))


def _peft(place: Path, remote_code: bool) -> Parts:
    peft = import_module("peft")
    adapter = _json(place / "adapter_config.json")
    base = Path(str(adapter.get("base_model_name_or_path")))
    beside = place / base
    base = beside if beside.is_dir() else base
    if not (base / "config.json").is_file():
        raise PretrainedError(
            f"{place}: its adapter is for {base}, which is no folder here; expected one with config.json: "
            "put the base model there, or its folder into base_model_name_or_path of adapter_config.json"
        )
    parts = open_pretrained(base, remote_code=remote_code)
    model = _evaluated(peft.PeftModel.from_pretrained(parts.model, place))
    options = {"local_files_only": True, "trust_remote_code": remote_code}
    tokenizer, processor = _around(place, options)
    return Parts("peft", model, tokenizer or parts.tokenizer, processor or parts.processor)


def _sentence_transformers(place: Path, remote_code: bool) -> Parts:
    library = import_module("sentence_transformers")
    model = library.SentenceTransformer(
        str(place), device="cpu", local_files_only=True, trust_remote_code=remote_code
    )
    return Parts("sentence-transformers", _evaluated(model))


def _diffusers(place: Path, remote_code: bool) -> Parts:
    library = import_module("diffusers")
    if remote_code:
        raise PretrainedError(
            f"{place}: code in a folder of diffusers is not run; save the pipeline as an object"
        )
    pipeline = library.DiffusionPipeline.from_pretrained(str(place), local_files_only=True)
    pipeline.set_progress_bar_config(disable=True)
    return Parts("diffusers", pipeline)


_KINDS: Final[Mapping[str, tuple[str, Callable[[Path, bool], Parts]]]] = {
    "sentence-transformers": ("modules.json", _sentence_transformers),
    "diffusers": ("model_index.json", _diffusers),
    "peft": ("adapter_config.json", _peft),
    "transformers": ("config.json", _transformers),
}
"""The libraries, by the file that tells their folders; the first that is there decides."""


def _kind_of(place: Path) -> str:
    """Return the library that a folder is of. Raises PretrainedError for one of none."""
    for kind, (file, _) in _KINDS.items():
        if (place / file).is_file():
            return kind
    there = sorted(os.listdir(place)) if place.is_dir() else []
    found = listed(there, 8) or ("nothing" if place.is_dir() else "no such folder")
    files = ", ".join(f"{file} ({one})" for one, (file, _) in _KINDS.items())
    raise PretrainedError(f"{place}: found {found}; expected a folder with one of {files}").holding(there)


def _model_class(library: Any, config: Mapping[str, Any], place: Path) -> Any:
    """Return the class that the configuration names: one of the library, or the way to one in the folder."""
    own = [name for name in _auto_map(config) if name.startswith("AutoModel")]
    if own:
        return getattr(library, own[0])
    names = _part(place / "config.json", config, "architectures", list)
    found = getattr(library, str(names[0]), None) if names else library.AutoModel
    if found is None:
        raise PretrainedError(
            f"{place}: its model is a {names[0]}, and transformers {library.__version__} has none; install a "
            "version that has it, or save the model as an object"
        )
    return found


def _around(place: Path, options: Mapping[str, Any]) -> tuple[Any, Any]:
    """Return the tokenizer and the processor in a folder, each None where there is none."""
    library = import_module("transformers")
    tokenizer = processor = None
    if any((place / name).is_file() for name in _TOKENIZERS):
        tokenizer = library.AutoTokenizer.from_pretrained(place, **options)
    if (place / "preprocessor_config.json").is_file():
        settings = _json(place / "preprocessor_config.json")
        is_image = "image_processor_type" in settings or "image_mean" in settings
        auto = library.AutoImageProcessor if is_image else library.AutoFeatureExtractor
        processor = auto.from_pretrained(place, **options)
    return tokenizer, processor


def _code_in(place: Path) -> list[str]:
    """Return the files of code in a folder that its configurations name, as far as they are there."""
    named = set()
    for path in sorted(place.glob("*config.json")):
        for target in _auto_map(_json(path)).values():
            for one in target if isinstance(target, list) else [target]:
                if isinstance(one, str):
                    named.add(one.rpartition("--")[2].partition(".")[0] + ".py")
    if (place / "modules.json").is_file():
        for number, module in enumerate(_json(place / "modules.json", list)):
            if not isinstance(module, dict):
                found = type(module).__name__
                raise PretrainedError(
                    f"{place / 'modules.json'}: found a {found} as module {number}; expected a JSON object"
                )
            if not str(module.get("type", "")).startswith("sentence_transformers."):
                named.add(str(module.get("type")))
    return sorted(named)


def _auto_map(config: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the code of the folder that a configuration names, by what it is for."""
    found = config.get("auto_map")
    return found if isinstance(found, dict) else {}


def _json(path: Path, kind: type = dict) -> Any:
    """Read a file of JSON. Raises PretrainedError for one that is none, or of another kind."""
    try:
        if path.stat().st_size > _MOST_JSON:
            raise PretrainedError(f"{path}: more than {_MOST_JSON:,} bytes; expected a configuration")
        found = json.loads(path.read_text("utf-8"))
    except OSError as error:
        raise PretrainedError(f"{path}: cannot be read: {error.strerror}") from error
    except RecursionError as error:
        raise PretrainedError(f"{path}: not JSON: nested too deep; expected a configuration") from error
    except ValueError as error:
        raise PretrainedError(f"{path}: not JSON: {error}; expected a configuration") from error
    if not isinstance(found, kind):
        raise PretrainedError(f"{path}: found a {type(found).__name__}; expected a JSON {_JSON_NAMES[kind]}")
    return found


_JSON_NAMES: Final[Mapping[type, str]] = {dict: "object", list: "array"}


def _part(path: Path, settings: Mapping[str, Any], key: str, kind: type) -> Any:
    """Return a part of a configuration, an empty one for none. Raises PretrainedError for another kind."""
    found = settings.get(key)
    if found is not None and not isinstance(found, kind):
        raise PretrainedError(
            f"{path}: found a {type(found).__name__} as {key}; expected a JSON {_JSON_NAMES[kind]}"
        )
    return kind() if found is None else found


def _damaged(place: Path) -> str:
    """Return what is wrong with the first file of JSON that is damaged, as an addition to an error."""
    for path in sorted({*place.glob("*.json"), *place.glob("*/*.json")}):
        try:
            if path.name.endswith(".index.json"):  # of shards
                _part(path, _json(path), "weight_map", dict)
            elif path.stat().st_size <= _MOST_JSON:  # a larger one is that of a tokenizer
                _json(path, object)
        except (OSError, PretrainedError) as error:
            return f"; {error}"
    return ""


def _is_parametrized(model: Any) -> bool:
    torch = sys.modules.get("torch")
    if torch is None or not isinstance(model, torch.nn.Module):
        return False
    return any(map(import_module("torch.nn.utils.parametrize").is_parametrized, model.modules()))


def _without_parametrizations(model: Any) -> Any:
    """Compute parametrized weights once (those of models of sound): their classes are made in memory."""
    parametrize = import_module("torch.nn.utils.parametrize")
    for module in list(model.modules()):
        if parametrize.is_parametrized(module):
            module.__class__ = _class_of_its_own(type(module))
            for name in list(module.parametrizations):
                parametrize.remove_parametrizations(module, name)
    return model


def _class_of_its_own(cls: type) -> type:
    """Copy the class that PyTorch made for one module: a copied module shares it, and it is changed below."""
    names = {name: value for name, value in vars(cls).items() if name not in ("__dict__", "__weakref__")}
    return type(cls.__name__, cls.__bases__, names)


def _evaluated(model: Any) -> Any:
    model.eval()
    return model
