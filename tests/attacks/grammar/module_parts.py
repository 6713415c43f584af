"""Parts of graphs that are modules with hooks and states, optimisers, and what stored code defines."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from packager._objects.naming import _definitions

from . import vocabulary as words
from .codec_parts import wrapped_call
from .table import K
from .tensor_parts import array, kellet_tensor, torch_tensor
from .world import STORED

if TYPE_CHECKING:
    from .graphs import Graph

_HOOKS = {
    "kellet.module": "forward_pre forward load_pre load_post save_pre".split(),
    "torch.module": """
        _forward_pre_hooks _forward_hooks _backward_hooks _state_dict_hooks _state_dict_pre_hooks
        _load_state_dict_pre_hooks _load_state_dict_post_hooks
    """.split(),
}


def module(graph: Graph, depth: int = 1) -> int:
    """A module of any class that can be created, with tensors, modules below, hooks and a state."""
    rng = graph.rng
    codec = rng.choice(sorted(words.MODULES))
    cls = graph.needed_name(*rng.choice(words.MODULES[codec]))
    if rng.random() < 0.2:
        cls = graph.needed_name(*rng.choice(words.OWN_WAYS[codec]))
    if graph.beside_code and codec == "kellet.module" and rng.random() < 0.3:
        cls = graph.needed_name("net", "Layer")
    return module_of(graph, codec, cls, depth)


def module_of(graph: Graph, codec: str, cls: int, depth: int) -> int:
    """A module of a class, made by the codec of its framework."""
    rng = graph.rng
    attributes: dict[str, Any] = {}
    below: list[str] = []
    if rng.random() < 0.6 and graph.with_storage:
        attributes["_parameters"] = graph.add(K.DICT, *_pairs(graph, codec, "Parameter", ("weight", "bias")))
    if rng.random() < 0.2 and graph.with_storage:
        attributes["_buffers"] = graph.add(K.DICT, *_pairs(graph, codec, "Tensor", ("running_mean", "n")))
    if rng.random() < 0.3 and depth > 0:
        below = rng.sample(["0", "1", "inner"], rng.randint(0, 2))
        modules = [
            part for name in below for part in (_name(graph, name), _module_below(graph, codec, depth - 1))
        ]
        attributes["_modules"] = graph.add(K.DICT, *modules)
    for name in rng.sample(words.HONEST_ATTRIBUTES, rng.randint(0, 3)):
        attributes[name] = graph.value(1)
    if rng.random() < 0.2:
        attributes["training"] = rng.random() < 0.5
    if graph.bold():
        attributes[_odd_attribute(graph)] = graph.rng.choice((graph.value_name(), graph.value(1)))
    shape = graph.add(K.SHAPE, cls, graph.codec(codec), *attributes)
    made = graph.add(K.OBJ, shape, *attributes.values())
    if rng.random() < (0.15 if graph.records[-1 - cls][2] in words.IN_THEIR_OWN_WAY else 0.04):
        graph.add(K.STATE, made, _own_state(graph))
    if graph.bold():
        _hook(graph, codec, made)
    if rng.random() < 0.3:
        _state(graph, codec, made, cls)
    if graph.bold():
        graph.add(K.FILL, made, _odd_attribute(graph), graph.value(1))
    if graph.bold():
        graph.fill(made)
    if rng.random() < 0.05:
        _handle(graph, codec, made)
    return made


def _odd_attribute(graph: Graph) -> str:
    return graph.rng.choice(graph.rng.choice((words.ODD_ATTRIBUTES, words.MODULE_ATTRIBUTES)))


def _own_state(graph: Graph) -> int:
    """What a recurrent layer of an older version kept, or any mapping."""
    if graph.rng.random() < 0.5:
        return graph.mapping(1)
    names = ["_all_weights", "num_layers", "bidirectional", "bias", "mode", "all_weights"]
    values = [graph.add(K.LIST, graph.add(K.LIST, graph.value(0))), 1, False, True, "LSTM"]
    pairs = [part for pair in zip(names[: graph.rng.randint(4, 5)], values, strict=False) for part in pair]
    return graph.add(K.DICT, *pairs, "proj_size", 0)


def _pairs(graph: Graph, codec: str, kind: str, names: tuple[str, ...]) -> list[Any]:
    make = kellet_tensor if codec == "kellet.module" else _torch_leaf
    found: list[Any] = []
    for name in names[: graph.rng.randint(0, 2)]:
        odd = graph.bold()
        found += [_name(graph, name), graph.value(1) if odd else make(graph, [2], kind)]
    return found


def _name(graph: Graph, name: str) -> Any:
    """The name of a tensor or a module in a table; boldly any key."""
    return graph.key() if graph.bold() else name


def _torch_leaf(graph: Graph, shape: list[int], kind: str) -> int:
    return torch_tensor(graph, "F32", shape, kind)


def _module_below(graph: Graph, codec: str, depth: int) -> Any:
    if graph.bold():
        return graph.anything_odd()
    return module_of(graph, codec, graph.needed_name(*graph.rng.choice(words.MODULES[codec])), depth)


def _callable(graph: Graph) -> int:
    """Something to be called: a function in C or Python, a partial, a module, an object."""
    makers = (
        graph.value_name,
        graph.value_name,
        lambda: wrapped_call(graph),
        lambda: module(graph, 0),
        graph.odd_object,
    )
    return graph.rng.choice(makers)()


def _hook(graph: Graph, codec: str, made: int) -> None:
    rng = graph.rng
    kind = rng.choice(_HOOKS[codec])
    options = graph.add(
        K.DICT, *rng.choice(([], [], ["with_kwargs", True], ["prepend", True], ["with_module", True]))
    )
    hook = _norm_hook(graph, made) if codec == "torch.module" and rng.random() < 0.2 else _callable(graph)
    graph.add(K.FINISH, made, graph.codec(codec), "hooks", kind, rng.randint(0, 3), hook, options)
    if rng.random() < 0.6:
        _natural(graph, codec, made)


def _norm_hook(graph: Graph, made: int) -> int:
    cls = graph.needed_name("torch.nn.utils.weight_norm", "WeightNorm")
    names = ["name", "dim"] + ([graph.rng.choice(words.ODD_ATTRIBUTES)] if graph.bold() else [])
    shape = graph.add(K.SHAPE, cls, None, *names)
    values = ["weight" if graph.rng.random() < 0.7 else "bias", 0, *(graph.value(1) for _ in names[2:])]
    return graph.add(K.OBJ, shape, *values)


def _natural(graph: Graph, codec: str, made: int) -> None:
    graph.add(K.FINISH, made, graph.codec(codec), ["state", True, 0])


def _state(graph: Graph, codec: str, made: int, cls: int) -> None:
    """Load a state into a module: what it holds, or one of its own."""
    rng = graph.rng
    if rng.random() < 0.5:
        versions = [cls] if rng.random() < 0.3 else []
        graph.add(
            K.FINISH,
            made,
            graph.codec(codec),
            ["state", True, len(versions), *[1] * len(versions)],
            *versions,
        )
        return
    keys = rng.sample(["weight", "bias", "extra", "0.weight", "_extra_state", "weight_g"], rng.randint(0, 2))
    values = [graph.plain_or_tensor(1) for _ in keys]
    metadata = rng.choice((None, graph.add(K.DICT, "", graph.add(K.PACKED_DICT, "version", 1))))
    graph.add(K.FINISH, made, graph.codec(codec), ["state", False, 0, *keys], *values, metadata)


def _handle(graph: Graph, codec: str, made: int) -> None:
    family = codec.partition(".")[0]
    handle = graph.node(f"{family}.handle")
    graph.add(K.FINISH, handle, graph.codec(f"{family}.handle"), [graph.rng.choice(_HOOKS[codec]), 0], made)


def registry(graph: Graph) -> int:
    """A registry of hooks, a gate, or a hook as an object."""
    rng = graph.rng
    kind = rng.randint(0, 2)
    if kind == 0:
        made = graph.node("kellet.hooks")
        if graph.bold():
            graph.add(
                K.FINISH, made, graph.codec("kellet.hooks"), None, 0, _callable(graph), graph.add(K.DICT)
            )
        return made
    if kind == 1 or not graph.bold():
        return graph.node("kellet.gate", "_posthook")
    shape = graph.add(
        K.SHAPE, graph.needed_name("kellet.nn", "Hook"), graph.codec("kellet.hook"), "_prehook", "_handles"
    )
    return graph.add(K.OBJ, shape, _callable(graph), graph.add(K.LIST))


def optimizer(graph: Graph) -> int:
    """An optimiser with the state of its class; a scheduler; a registry of hooks."""
    rng = graph.rng
    if not graph.with_storage or rng.random() < 0.2:
        return scheduler(graph) if words.SCHEDULERS and rng.random() < 0.5 else registry(graph)
    codec = rng.choice(sorted(words.OPTIMIZERS))
    cls = graph.needed_name(*rng.choice(words.OPTIMIZERS[codec]))
    make = kellet_tensor if codec == "kellet.optimizer" else _torch_leaf
    parameter = make(graph, [2], "Parameter")
    flags = rng.sample(["foreach", "capturable", "fused", "maximize"], 2)
    options = [part for name in ("lr", "betas", *flags) for part in (name, graph.plain_or_tensor(0))]
    group = graph.add(K.DICT, "params", graph.add(K.LIST, parameter), *options)
    defaults = graph.add(K.DICT, "lr", 0.1)
    kept = rng.sample(["step", "mu", "eta", "exp_avg"], 2)
    known = [part for name in kept for part in (name, _state_part(graph))]
    held = graph.add(K.DICT, parameter, graph.add(K.DICT, *known))
    parts = ["defaults", defaults, "state", held, "param_groups", graph.add(K.LIST, group)]
    if graph.bold() or (graph.budget and rng.random() < 0.4):
        names = ("_step_pre", "_optimizer_step_pre_hooks", "step", "_patch_step_function", "zero_grad")
        parts += [rng.choice(names), graph.value(1)]
    return graph.node(codec, None, cls, graph.add(K.DICT, *parts))


def _state_part(graph: Graph) -> Any:
    """What an optimiser keeps for a tensor: a number or a tensor, boldly anything."""
    if graph.bold():
        return graph.value(1)
    return graph.rng.choice((1, 0.5, graph.plain_or_tensor(0)))


def scheduler(graph: Graph) -> int:
    """A scheduler: a class and attributes."""
    cls = graph.needed_name(*graph.rng.choice(words.SCHEDULERS))
    names = graph.rng.sample(["last_epoch", "base_lrs", "lr_lambdas", "step_size"], 2)
    names += [graph.rng.choice(words.ODD_ATTRIBUTES)] if graph.bold() else []
    shape = graph.add(K.SHAPE, cls, None, *names)
    return graph.add(K.OBJ, shape, *(graph.value(1) for _ in names))


def stored_thing(graph: Graph) -> int:
    """An object of a class that stored code defines, and what such a graph may have beside it."""
    rng = graph.rng
    kind = rng.randint(0, 11)
    if kind == 10:
        return _inner_function(graph)
    if kind == 11:
        return graph.add(K.PACKAGE_CALL, graph.needed_name("net", "function"), graph.value(1))
    if kind == 0:
        made = graph.add(K.NEW, graph.needed_name("net", "Listed"))
        graph.add(K.EXTEND, made, graph.value(1))
    elif kind == 1:
        made = graph.add(K.NEW, graph.needed_name("net", "Mapped"))
        graph.add(K.UPDATE, made, graph.key(), graph.value(1))
    elif kind == 2:
        shape = graph.add(K.SHAPE, graph.needed_name("net", "Stateful"), None)
        made = graph.add(K.OBJ, shape)
        graph.add(K.STATE, made, graph.value(1))
    elif kind == 3:
        shape = graph.add(K.SHAPE, graph.needed_name("net", "Keyed"), None)
        key = graph.add(K.OBJ, shape)
        made = graph.add(K.DICT, key, graph.value(1))
    elif kind == 4:
        layer = module_of(graph, "kellet.module", graph.needed_name("net", "Layer"), 1)
        made = graph.add(K.METHOD, layer, rng.choice(("forward", "on_load")))
        if rng.random() < 0.5:
            options = graph.add(K.DICT)
            graph.add(K.FINISH, layer, graph.codec("kellet.module"), "hooks", "load_pre", 0, made, options)
            _natural(graph, "kellet.module", layer)
    elif kind == 5:
        made = graph.add(K.CALL, graph.needed_name("net", "function"), graph.value(1))
    elif kind == 6:
        made = graph.node("collections.mapping", "defaultdict", graph.name("net", "function"))
    elif kind == 7:
        made = _of_extern(graph)
    elif kind == 8 and graph.with_storage:
        made = graph.node(
            "numpy.ndarray", ["ndarray", "elements", 1], graph.node("numpy.dtype", "|O"), array(graph)
        )
    else:
        shape = graph.add(K.SHAPE, graph.needed_name("net", "Plain"), None, "a", "forward")
        made = graph.add(K.OBJ, shape, graph.value(1), graph.value_name())
    cls = graph.add(K.NEW, graph.needed_name("net", "Plain"))
    return graph.add(K.LIST, made, cls)


def _inner_function(graph: Graph) -> int:
    """A function that stored code defines in another, with its cell."""
    cell = graph.add(K.CELL, *([] if graph.rng.random() < 0.5 else [graph.value(1)]))
    defaults = graph.rng.choice((None, graph.add(K.TUPLE, graph.value(1))))
    place = ["net", "nested.<locals>.inner", digest_of_inner(), None, None]
    made = graph.add(K.FUNCTION, *place, graph.value(0), defaults, None, cell)
    graph.add(K.SETCELL, cell, graph.rng.choice((made, graph.value(1))))
    return made


@functools.cache
def digest_of_inner() -> str:
    """Return the digest that a record of a function in a function of STORED has."""
    (_, digest), *_ = _definitions(STORED["net"], "nested.<locals>.inner")
    return digest


def _of_extern(graph: Graph) -> int:
    """An object of a class of an extern: made by `object.__new__`, with attributes and nothing else."""
    rng = graph.rng
    cls = graph.needed_name("outside", rng.choice(("Thing", "Items", "Pairs")))
    names = rng.sample(words.HONEST_ATTRIBUTES + words.ODD_ATTRIBUTES, rng.randint(0, 2))
    made = graph.add(K.OBJ, graph.add(K.SHAPE, cls, None, *names), *(graph.value(1) for _ in names))
    if graph.bold():
        kind = rng.choice((K.EXTEND, K.UPDATE, K.STATE))
        operands = {K.EXTEND: (1,), K.UPDATE: ("a", 1), K.STATE: (graph.mapping(1),)}[kind]
        graph.add(kind, made, *operands)
    return made
