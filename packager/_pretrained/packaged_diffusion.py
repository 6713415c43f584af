"""A pipeline of diffusers as an entry point: a prompt in, images out.

This file is stored in the archive as it is, as a module of the project. It is apart from
`packaged_pretrained.py`, so that an archive of a model of transformers asks for no diffusers.
"""

import copy
from typing import Any

import torch
from diffusers import configuration_utils


class ImagePipeline:
    """A pipeline of diffusers: images out, shape (n, height, width, channels), the same for the same seed."""

    def __init__(self, pipeline: Any) -> None:
        self.pipeline = pipeline

    def __call__(self, prompt: Any = None, steps: int = 20, seed: int = 0, **options: Any) -> Any:
        """Return images for a prompt, or without one; `options` are those of the pipeline."""
        if prompt is not None:
            options["prompt"] = prompt
        generator = torch.Generator().manual_seed(int(seed))
        answer = self.pipeline(
            num_inference_steps=int(steps), generator=generator, output_type="np", **options
        )
        return answer.images

    def __getstate__(self) -> dict[str, Any]:
        """Return the pipeline with its settings, and those of its parts, as plain dicts."""
        pipeline = copy.copy(self.pipeline)
        parts: dict[int, Any] = {}
        for name, part in vars(pipeline).items():
            if hasattr(part, "_internal_dict"):
                part = parts.setdefault(id(part), copy.copy(part))
                part._internal_dict = dict(part._internal_dict)
                vars(pipeline)[name] = part
        pipeline._internal_dict = dict(pipeline._internal_dict)
        return {"pipeline": pipeline}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take the pipeline, and make its settings what diffusers has for them."""
        self.pipeline = state["pipeline"]
        for part in (self.pipeline, *vars(self.pipeline).values()):
            if type(getattr(part, "_internal_dict", None)) is dict:
                made: Any = configuration_utils.FrozenDict  # which is not typed
                part._internal_dict = made(part._internal_dict)
