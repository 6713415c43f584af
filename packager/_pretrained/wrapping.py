"""The entry point of a pretrained model: an object of a class whose source goes into the archive.

The sources are the files `packaged_*.py` beside this one. Each is run as a module of that name on its own,
so that the class that is stored is the one that the archive defines.
"""

from __future__ import annotations

import sys
from importlib.resources import files
from types import ModuleType
from typing import Any, Final

from packager.errors import ArgumentError

from .folders import Parts, PretrainedError

_MODULE: Final = "packaged_pretrained"
_OF_DIFFUSERS: Final = "packaged_diffusion"


def wrapper_source(module: str) -> str:
    """Return the text of a module that is stored.

    >>> "class TextModel" in wrapper_source("packaged_pretrained")
    True
    """
    return files(__package__).joinpath(f"{module}.py").read_text("utf-8")


def wrapped(parts: Parts) -> Any:
    """Return the parts as an object that is called with text, images or sound, as far as they take these.

    Raises ArgumentError for parts without a model, PretrainedError for a model that reads images as words,
    and where torch is not installed.
    """
    model = parts.model
    if parts.kind == "sentence-transformers":
        return _module(_MODULE).SentenceEncoder(model)
    if parts.kind == "diffusers":
        return _module(_OF_DIFFUSERS).ImagePipeline(model)
    if not hasattr(model, "forward"):
        raise ArgumentError(
            f"expected a folder, or a model of transformers, peft, sentence-transformers or diffusers; found "
            f"a {type(model).__module__}.{type(model).__qualname__}. For other objects: "
            "packager.save(obj, file)"
        )
    return getattr(_module(_MODULE), _kind_of(parts))(model, parts.tokenizer, parts.processor)


def _kind_of(parts: Parts) -> str:
    """Return the wrapper of a model by what it has beside it.

    Raises PretrainedError for one that reads images or sounds as marks between words.
    """
    model, hears = parts.model, hasattr(parts.processor, "sampling_rate")
    if parts.tokenizer is None:
        return "BareModel" if parts.processor is None else "AudioModel" if hears else "ImageModel"
    if parts.processor is None:
        return "TextGenerator" if _generates(model) else "TextModel"
    config = getattr(model, "config", None)
    marks = [name for name in _MARKS if getattr(config, name, None) is not None]
    if marks:
        raise PretrainedError(
            f"{type(model).__name__} takes texts with marks for images or sounds ({marks[0]}), which its own "
            "processor writes. Write a class that holds both and calls them, and save an object of it: "
            "packager.save(obj, file, example=x)"
        )
    if _generates(model):
        return "Transcriber" if hears else "ImageDescriber"
    if hears:
        return "CtcModel" if type(model).__name__.endswith("ForCTC") else "TextAndAudioModel"
    return "TextAndImageModel"


_MARKS: Final = (
    "image_token_index",
    "image_token_id",
    "audio_token_index",
    "audio_token_id",
    "video_token_id",
)


def _generates(model: Any) -> bool:
    asked = getattr(model, "can_generate", None)
    return bool(asked is not None and asked())


_TAKES: Final = {
    "TextModel": {"text": "text | list[text]"},
    "TextGenerator": {"text": "text | list[text]", "max_new_tokens": "int"},
    "SentenceEncoder": {"text": "text | list[text]"},
    "ImageModel": {"image": "real[...]"},
    "AudioModel": {"audio": "real[*]", "sampling_rate": "int?"},
    "CtcModel": {"audio": "real[*]", "sampling_rate": "int?"},
    "Transcriber": {"audio": "real[*]", "sampling_rate": "int?", "max_new_tokens": "int"},
    "ImageDescriber": {"image": "real[...]", "max_new_tokens": "int"},
    "TextAndAudioModel": {"text": "text | list[text]", "audio": "real[*]", "sampling_rate": "int?"},
    "TextAndImageModel": {"text": "text | list[text]", "image": "real[...]"},
    "ImagePipeline": {"prompt": "text?", "steps": "int", "seed": "int"},
}


def declared_inputs(wrapper: object) -> dict[str, str]:
    """Return the types of what a wrapper takes, by name."""
    return dict(_TAKES.get(type(wrapper).__name__, {}))


def example_inputs(wrapper: object) -> dict[str, Any]:
    """Return inputs of a golden call for what takes text alone; none for others."""
    text = "The quick brown fox jumps over the lazy dog."
    kind = type(wrapper).__name__
    if kind == "TextGenerator":
        return {"text": text, "max_new_tokens": 8}
    return {"text": [text]} if kind in ("TextModel", "SentenceEncoder") else {}


def _module(name: str) -> Any:
    """Return the module of a wrapper, run once in a process."""
    if name not in sys.modules:
        module = ModuleType(name)
        try:
            exec(compile(wrapper_source(name), f"<{name}>", "exec"), module.__dict__)
        except ImportError as error:
            raise PretrainedError(
                f"calling the model needs {error.name}: {error}. Run: pip install {error.name}"
            ) from error
        sys.modules[name] = module
    return sys.modules[name]
