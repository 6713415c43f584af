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

from .folders import Parts

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

    Raises ArgumentError for parts without a model.
    """
    module = _module(_OF_DIFFUSERS if parts.kind == "diffusers" else _MODULE)
    model, tokenizer, processor = parts.model, parts.tokenizer, parts.processor
    if parts.kind == "sentence-transformers":
        return module.SentenceEncoder(model)
    if parts.kind == "diffusers":
        return module.ImagePipeline(model)
    if not hasattr(model, "forward"):
        raise ArgumentError(
            f"expected a folder, or a model of transformers, peft, sentence-transformers or diffusers; found "
            f"a {type(model).__module__}.{type(model).__qualname__}"
        )
    if processor is not None:
        if tokenizer is not None:
            return module.TextAndImageModel(model, tokenizer, processor)
        return (module.AudioModel if hasattr(processor, "sampling_rate") else module.ImageModel)(
            model, processor
        )
    if tokenizer is None:
        return module.BareModel(model)
    generates = getattr(model, "can_generate", None)
    return (module.TextGenerator if generates is not None and generates() else module.TextModel)(
        model, tokenizer
    )


_TAKES: Final = {
    "TextModel": {"text": "text | list[text]"},
    "TextGenerator": {"text": "text | list[text]", "max_new_tokens": "int"},
    "SentenceEncoder": {"text": "text | list[text]"},
    "ImageModel": {"image": "real[...]"},
    "AudioModel": {"audio": "real[*]", "sampling_rate": "int?"},
    "TextAndImageModel": {"text": "text | list[text]", "image": "real[...]"},
    "ImagePipeline": {"prompt": "text?", "steps": "int", "seed": "int"},
}


def declared_inputs(wrapper: Any) -> dict[str, str]:
    """Return the types of what a wrapper takes, by name."""
    return dict(_TAKES.get(type(wrapper).__name__, {}))


def example_inputs(wrapper: Any) -> dict[str, Any]:
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
        exec(compile(wrapper_source(name), f"<{name}>", "exec"), module.__dict__)
        sys.modules[name] = module
    return sys.modules[name]
