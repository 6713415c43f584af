"""Files of weights: ours and those of PyTorch, safetensors, NumPy and Keras, read without running code."""

from ._weights import (
    Checkpoint,
    CheckpointMetadata,
    LazyStateDict,
    WrittenCheckpoint,
    open_checkpoint,
    write_checkpoint,
)

__all__ = [
    "Checkpoint",
    "CheckpointMetadata",
    "LazyStateDict",
    "WrittenCheckpoint",
    "open_checkpoint",
    "write_checkpoint",
]
