"""Models of Hugging Face's libraries as entry points: text, images or sound in, arrays and text out.

This file is stored in the archive as it is, as a module of the project, and so are these classes: what is
loaded needs neither the packager nor the version of it that packed.
"""

import copy
import re
from typing import Any

import torch

_CLASSIFIES = re.compile(r"For(Sequence|Image|Audio|Video)Classification$")


class _Wrapper:
    """A model, and what turns text, images or sound into its inputs."""

    def __init__(self, model: Any, tokenizer: Any = None, processor: Any = None) -> None:
        self.model = model
        self.tokenizer = tokenizer
        self.processor = processor


class BareModel(_Wrapper):
    """A model without tokenizer or processor: arrays by the names of its `forward` in, arrays out."""

    def __call__(self, **inputs: Any) -> Any:
        """Return the model's output for arrays or lists, as `input_ids`."""
        return _answer(self.model, {name: torch.as_tensor(value) for name, value in inputs.items()})


class TextModel(_Wrapper):
    """A model with its tokenizer: texts in, arrays out, and labels where it classifies."""

    def __call__(self, text: Any) -> Any:
        """Return the model's output for a text, or for several of different lengths."""
        texts = [text] if isinstance(text, str) else list(text)
        inputs = self.tokenizer(texts, padding=len(texts) > 1, truncation=True, return_tensors="pt")
        return _answer(self.model, inputs)


class TextGenerator(_Wrapper):
    """A model that goes on with a text, or answers it, with its tokenizer: text in, text out."""

    def __call__(self, text: Any, max_new_tokens: int = 20, **options: Any) -> Any:
        """Return the generated text for a text, or a list of them; `options` are those of `generate`."""
        options = {"do_sample": False, "max_new_tokens": max_new_tokens, **options}
        if isinstance(text, str):
            return self._generated(text, options)
        return [self._generated(one, options) for one in text]

    def _generated(self, text: str, options: dict[str, Any]) -> Any:
        inputs = self.tokenizer(text, return_tensors="pt")
        with torch.no_grad():
            ids = self.model.generate(**inputs, **options)[0]
        if not self.model.config.is_encoder_decoder:
            ids = ids[inputs["input_ids"].shape[1] :]
        return self.tokenizer.decode(ids, skip_special_tokens=True)


class ImageModel(_Wrapper):
    """A model with its image processor: an image in, arrays out, and labels where it classifies."""

    def __call__(self, image: Any) -> Any:
        """Return the model's output for an image, its shape (height, width, 3), or for several."""
        return _answer(self.model, self.processor(images=_images(image), return_tensors="pt"))


class AudioModel(_Wrapper):
    """A model with its feature extractor: samples in, arrays out, and labels where it classifies."""

    def __call__(self, audio: Any, sampling_rate: int | None = None) -> Any:
        """Return the model's output for samples, shape (n,); the rate is the extractor's unless given."""
        return _answer(self.model, _heard(self.processor, audio, sampling_rate))


class CtcModel(_Wrapper):
    """A model that hears letters, with its tokenizer: samples in, arrays and the text out."""

    def __call__(self, audio: Any, sampling_rate: int | None = None) -> Any:
        """Return the model's output and the text of samples, shape (n,), as the likeliest letters say it."""
        found = _answer(self.model, _heard(self.processor, audio, sampling_rate))
        found["text"] = self.tokenizer.batch_decode(found["logits"].argmax(-1))
        return found


class Transcriber(_Wrapper):
    """A model that writes down what it hears, with its tokenizer: samples in, text out."""

    def __call__(
        self, audio: Any, sampling_rate: int | None = None, max_new_tokens: int = 128, **options: Any
    ) -> Any:
        """Return the text of samples, shape (n,); `options` are those of `generate`, as `language`."""
        inputs = _heard(self.processor, audio, sampling_rate)
        return _written(self.model, self.tokenizer, inputs, max_new_tokens, options)


class ImageDescriber(_Wrapper):
    """A model that writes what it sees, with its tokenizer: an image in, text out."""

    def __call__(self, image: Any, max_new_tokens: int = 20, **options: Any) -> Any:
        """Return the text for an image, its shape (height, width, 3); `options` are those of `generate`."""
        inputs = self.processor(images=_images(image), return_tensors="pt")
        return _written(self.model, self.tokenizer, inputs, max_new_tokens, options)


class TextAndAudioModel(_Wrapper):
    """A model of texts and sounds, with its tokenizer and feature extractor: arrays out."""

    def __call__(self, text: Any, audio: Any, sampling_rate: int | None = None) -> Any:
        """Return the model's output for a text or several, and samples."""
        texts = [text] if isinstance(text, str) else list(text)
        inputs = dict(self.tokenizer(texts, padding=len(texts) > 1, truncation=True, return_tensors="pt"))
        inputs.update(_heard(self.processor, audio, sampling_rate))
        return _answer(self.model, inputs)


class TextAndImageModel(_Wrapper):
    """A model of texts and images, with its tokenizer and image processor: arrays out."""

    def __call__(self, text: Any, image: Any) -> Any:
        """Return the model's output for a text or several, and an image or several."""
        texts = [text] if isinstance(text, str) else list(text)
        inputs = dict(self.tokenizer(texts, padding=len(texts) > 1, truncation=True, return_tensors="pt"))
        inputs.update(self.processor(images=_images(image), return_tensors="pt"))
        return _answer(self.model, inputs)


class SentenceEncoder:
    """A SentenceTransformer: a text or a list of texts in, one vector for each out."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def __call__(self, text: Any) -> Any:
        """Return the vectors of texts, shape (n, width); of one text, shape (width,)."""
        return self.model.encode(text, show_progress_bar=False)

    def __getstate__(self) -> dict[str, Any]:
        """Return the model without the functions that compare vectors: its own name for them is enough."""
        model = copy.copy(self.model)
        name = vars(model).get("_similarity_fn_name")
        for key in ("_similarity", "_similarity_pairwise", "_similarity_fn_name"):
            vars(model).pop(key, None)
        if (card := vars(model).get("model_card_data")) is not None:  # which has the model, too
            model.model_card_data = copy.copy(card)
            model.model_card_data.model = model
        return {"model": model, "similarity": None if name is None else str(name)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take the model, and let it look up these functions."""
        self.model = state["model"]
        self.model._similarity_fn_name = None
        if state["similarity"] is not None:
            self.model.similarity_fn_name = state["similarity"]


def _heard(processor: Any, audio: Any, sampling_rate: int | None) -> Any:
    """Return the inputs that an extractor makes of samples."""
    rate = processor.sampling_rate if sampling_rate is None else int(sampling_rate)
    return processor(audio, sampling_rate=rate, return_tensors="pt")


def _written(model: Any, tokenizer: Any, inputs: Any, max_new_tokens: int, options: dict[str, Any]) -> Any:
    """Return the text that a model generates for inputs that are no text."""
    options = {"do_sample": False, "max_new_tokens": max_new_tokens, **options}
    with torch.no_grad():
        ids = model.generate(**inputs, **options)
    return tokenizer.decode(ids[0], skip_special_tokens=True)


def _images(image: Any) -> list[Any]:
    """Return one image, or several, as a list."""
    shape = getattr(image, "shape", None)
    if shape is None:
        shape = torch.as_tensor(image).shape
        image = torch.as_tensor(image).numpy()
    return [image] if len(shape) == 3 else list(image)


def _answer(model: Any, inputs: Any) -> dict[str, Any]:
    """Return the tensors of a model's output by name, and the label of each example where it classifies."""
    with torch.no_grad():
        output = model(**inputs)
    found = {name: value for name, value in output.items() if isinstance(value, torch.Tensor)}
    if _CLASSIFIES.search(type(model).__name__):
        found["label"] = [model.config.id2label[int(one)] for one in found["logits"].argmax(-1)]
    return found
