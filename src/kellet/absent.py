"""What is said to those who ask for a name of PyTorch that kellet does not have."""

from __future__ import annotations

from importlib import import_module

__all__ = ["GUIDE", "HINTS", "absent"]

GUIDE = "the guide 'Coming from PyTorch' (docs/guides/from-pytorch.md)"

HINTS = {
    "cuda": "kellet computes on the CPU, where its tensors always are; leave the call out",
    "mps": "kellet computes on the CPU, where its tensors always are",
    "xpu": "kellet computes on the CPU, where its tensors always are; leave the call out",
    "is_cuda": "kellet computes on the CPU, where its tensors always are; ask .device",
    "compile": "operations run as they are called; leave it out",
    "jit": "there is no compiler; packager stores a model with its code",
    "set_device": "there is no GPU to choose; leave it out",
    "get_device_capability": "there is no GPU to ask; ask cuda.is_available() first",
    "multiprocessing": "Python's multiprocessing starts processes",
    "fx": "there is no tracer; packager stores a model with its code",
    "export": "there is no tracer; packager stores a model with its code",
    "profiler": "there is no profiler; Python's cProfile shows where time goes",
    "benchmark": "there is no timer; Python's timeit measures",
    "amp": "computations have the dtype of their tensors; convert with .to(dtype)",
    "autocast": "computations have the dtype of their tensors; convert with .to(dtype)",
    "sparse": "tensors are dense",
    "vmap": "there are no function transforms; operations broadcast over leading axes",
    "func": "there are no function transforms; kellet.autograd.grad gives derivatives",
    "onnx": "there is no exporter",
    "hub": "nothing is downloaded; packager loads archives",
    "package": "torch.package is packager here: import packager",
    "DataParallel": "kellet computes on the CPU; DistributedDataParallel divides batches among processes",
}


def absent(place: str, name: str) -> AttributeError:
    """Return the error for `name`, asked of `place` below kellet ("" for kellet itself).

    It tells whether PyTorch has the name, and where to look.

    >>> print(absent("nn", "LazyLinear"))
    kellet.nn has no 'LazyLinear'. PyTorch has it; give the size that it would find out to Linear; see ...
    """
    where = f"kellet.{place}" if place else "kellet"
    message = f"{where} has no attribute {name!r}"
    if not name.startswith("_"):
        names = import_module(f"{__package__}.torch_names").TORCH_NAMES  # a large table, wanted here alone
        if name in names.get(place, ()):
            message = f"{where} has no {name!r}. PyTorch has it; {_advice(name)}see {GUIDE}"
    return AttributeError(message)


def _advice(name: str) -> str:
    if name in HINTS:
        return f"{HINTS[name]}; "
    if name.startswith("Lazy"):
        return f"give the size that it would find out to {name.removeprefix('Lazy')}; "
    return ""
