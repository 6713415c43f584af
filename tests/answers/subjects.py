"""All subjects, in the order of their names."""

from __future__ import annotations

import importlib

from tests.answers.subject import Subject

NAMES = (
    *("autograd_hooks", "between_dtypes", "dtype_pairs", "edges", "empty", "functional", "layers"),
    *("layers_by_chance", "lbfgs", "module_hooks", "odd_shapes", "operations", "optimizers"),
    *(
        "optimizers_by_chance",
        "programs_of_hooks",
        "recurrent",
        "tensors",
        "parametrized",
        "clipping",
        "names",
    ),
)


def subject(name: str) -> Subject:
    found: Subject = importlib.import_module(f"tests.answers.{name}").SUBJECT
    return found
