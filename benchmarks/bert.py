"""A sentence encoder of MiniLM's sizes, text to vectors without a graph: ours beside transformers'.

The weights are random and the same on both sides: the fixture's migration, backwards, gives
transformers the keys that it knows. Where there is more than one sentence, all but the first are padded.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from benchmarks.row import Contender, Goal, Row

SHAPES = ((1, 16), (1, 256), (1, 512), (8, 64), (32, 32))


def rows() -> list[Row]:
    return [
        Row(
            "Inference",
            f"sentence encoder, {sentences} x {tokens} tokens",
            "ms",
            {
                "kellet": lambda shape=(sentences, tokens): _kellet(*shape),
                "torch": lambda shape=(sentences, tokens): _torch(*shape),
            },
            (Goal(1.3, "torch"),),
        )
        for sentences, tokens in SHAPES
    ]


def _tokens(sentences: int, tokens: int) -> tuple[np.ndarray, np.ndarray]:
    """Numbers of tokens, and a mask that leaves out the second half of all sentences but the first."""
    ids = np.random.default_rng(0).integers(0, 30522, (sentences, tokens))
    mask = np.ones_like(ids)
    mask[1:, tokens // 2 :] = 0
    return ids, mask


def _kellet(sentences: int, tokens: int) -> Contender:
    import kellet

    model = our_model()
    ids, mask = (kellet.tensor(array) for array in _tokens(sentences, tokens))

    @kellet.no_grad()
    def run() -> Any:
        return model(ids, mask)

    return Contender(run, result=lambda: [run().numpy()])


def _torch(sentences: int, tokens: int) -> Contender:
    import torch

    torch.set_num_threads(1)
    model = _their_model()
    ids, mask = (torch.as_tensor(array) for array in _tokens(sentences, tokens))

    @torch.no_grad()
    def run() -> Any:
        hidden = model(input_ids=ids, attention_mask=mask).last_hidden_state
        weight = mask.unsqueeze(-1).to(hidden.dtype)
        return torch.nn.functional.normalize((hidden * weight).sum(1) / weight.sum(1))

    return Contender(run, result=lambda: [run().numpy()])


@cache
def our_model() -> Any:
    import kellet
    from fixtures.models import bert

    kellet.manual_seed(0)
    return bert.build()


@cache
def _their_model() -> Any:
    import torch
    from transformers import BertConfig, BertModel

    from fixtures.models.bert.checkpoints import huggingface
    from packager.migrations import migrate

    ours = our_model()
    sizes = {
        "vocab_size": ours.config.vocabulary,
        "hidden_size": ours.config.width,
        "num_hidden_layers": ours.config.layers,
        "num_attention_heads": ours.config.heads,
        "intermediate_size": ours.config.inner,
    }
    model = BertModel(BertConfig(layer_norm_eps=ours.config.epsilon, **sizes)).eval()
    state = migrate(huggingface().inverse(), {key: value.numpy() for key, value in ours.state_dict().items()})
    known = model.state_dict()
    model.load_state_dict({key: torch.as_tensor(np.array(state[key])) for key in known})
    return model
