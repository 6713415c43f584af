"""The hints for common names of PyTorch that kellet does not have."""

from __future__ import annotations

__all__ = ["GUIDE", "HINTS", "OF_MODULES", "OF_TENSORS", "absent"]

GUIDE = "the guide 'Coming from PyTorch' (docs/guides/from-pytorch.md)"

HINTS = {
    "cuda": "kellet computes on the CPU, where its tensors always are; leave the call out",
    "mps": "kellet computes on the CPU, where its tensors always are",
    "xpu": "kellet computes on the CPU, where its tensors always are; leave the call out",
    "is_cuda": "kellet computes on the CPU, where its tensors always are; ask .device",
    "compile": "operations run as they are called; leave it out",
    "jit": "there is no compiler; packager stores a model with its code",
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
    "jacobian": "call kellet.autograd.grad for each output",
    "as_strided": "use unfold, expand or slices",
    "fft": "numpy.fft transforms .numpy()",
    "distributions": "kellet has random numbers, but no distributions",
    "quantization": "there are no quantized tensors",
    "rpc": "the collectives of kellet.distributed work among processes",
    "set_num_threads": "NumPy's library decides: set OMP_NUM_THREADS before Python starts",
    "channels_last": "arrays lie in memory as NumPy lays them",
    "range": "use arange, which leaves out the end",
    "randint_like": "use randint(low, high, x.shape)",
    "column_stack": "use stack(tensors, 1), or cat of columns",
    "storage": "values lie in .numpy()",
    "Adamax": "SGD, Adam, AdamW, Adagrad, RMSprop and LBFGS are here",
    "CyclicLR": "OneCycleLR and CosineAnnealingWarmRestarts are here, and LambdaLR takes a function",
    "CTCLoss": "there is no such loss here",
    "grid_sample": "interpolate resizes; kellet cannot sample at any point",
    "Transformer": "TransformerEncoder and MultiheadAttention are here",
    "TransformerDecoderLayer": "TransformerEncoderLayer and MultiheadAttention are here",
    "SyncBatchNorm": "statistics are those of each process; kellet.distributed.all_reduce adds up",
    "clip_grad_norm": "it is clip_grad_norm_ now",
    "all_gather_object": "group.all_gather_bytes(data) sends bytes",
    "broadcast_object_list": "group.broadcast_bytes(data, src) sends bytes",
    "get_backend": "processes work together over MPI",
}

OF_TENSORS = {
    **{name: HINTS[name] for name in ("cuda", "xpu", "storage")},
    "untyped_storage": HINTS["storage"],
    "resize_": "make a tensor of the size that is wanted",
    "set_": "write `x.data = other`",
    "map_": "compute with the operations of tensors",
    "unsqueeze_": "write x = x.unsqueeze(dim)",
    "svd": "it is linalg.svd(x, full_matrices=False) now, which gives Vh, not V",
    "as_strided": HINTS["as_strided"],
    "apply_": "compute with the operations of tensors, or on .numpy()",
    "to_sparse": HINTS["sparse"],
    "to_dense": HINTS["sparse"],
    "coalesce": HINTS["sparse"],
    "share_memory_": HINTS["multiprocessing"],
    "pin_memory": HINTS["cuda"],
    "is_cpu": HINTS["is_cuda"],
    "addbmm": "use baddbmm, and sum(0)",
    "ger": "it is outer now",
    "symeig": "it is linalg.eigh now",
    "eig": "it is linalg.eig now",
    "lu": "use linalg.solve, inv or det",
    "qr": "it is linalg.qr now",
    "new": "use new_tensor, or new_empty for sizes",
    "stft": "numpy.fft transforms .numpy()",
    "index": "write x[i]",
}

OF_MODULES = {name: HINTS[name] for name in ("cuda", "xpu", "compile")}


def absent(place: str, name: str) -> AttributeError:
    """Return the error for `name`, asked of `place` below kellet ("" for kellet itself).

    For a common name of PyTorch the message names the replacement and the guide.

    >>> print(absent("nn", "LazyLinear"))
    kellet.nn has no 'LazyLinear'. PyTorch has it; give Linear the size of its input; see ...
    """
    where = f"kellet.{place}" if place else "kellet"
    hint = (OF_TENSORS if place == "Tensor" else HINTS).get(name)
    if name.startswith("Lazy"):
        hint = f"give {name.removeprefix('Lazy')} the size of its input"
    if hint is None:
        return AttributeError(f"{where} has no attribute {name!r}")
    return AttributeError(f"{where} has no {name!r}. PyTorch has it; {hint}; see {GUIDE}")
