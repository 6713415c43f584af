"""Parametrised weights: state keys, values, gradients, and training."""

from functools import partial

import numpy as np

from tests.answers.drawn import drawn_state, tensors
from tests.answers.subject import Subject
from tests.answers.telling import Tolerance

NEAR = {"float32": 1e-5, "float64": 1e-10}
HOW = ("old weight_norm", "old spectral_norm", "weight_norm", "spectral_norm")
LAYERS = {
    "Linear": (lambda nn: nn.Linear(4, 3), (5, 4)),
    "Conv2d": (lambda nn: nn.Conv2d(2, 3, (3, 2)), (2, 2, 5, 4)),
    "Conv1d": (lambda nn: nn.Conv1d(2, 4, 3, groups=2), (1, 2, 6)),
    "ConvTranspose2d": (lambda nn: nn.ConvTranspose2d(2, 3, 2), (1, 2, 3, 3)),
}


def spoken(library, how, module, **options):
    if how.startswith("old "):
        return getattr(library.nn.utils, how[4:])(module, **options)
    return getattr(library.nn.utils.parametrizations, how)(module, **options)


def made(library, how, layer, dtype, **options):
    make, shape = LAYERS[layer]
    module = spoken(library, how, make(library.nn).to(getattr(library, dtype)), **options)
    module.load_state_dict(tensors(library, drawn_state(module)))
    return module, np.random.default_rng(0).standard_normal(shape).astype(dtype)


def train(library, module, x, steps=3):
    optimizer = library.optim.SGD(module.parameters(), lr=0.1)
    values = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = (module(library.from_numpy(x)) ** 2).mean()
        loss.backward()
        optimizer.step()
        values.append(loss.item())
    return values


def trained(library, how, layer, dtype, **options):
    """Train; tell the names, the values, and the weight when evaluating."""
    module, x = made(library, how, layer, dtype, **options)
    told = [[name for name, _ in module.named_parameters()], repr(module), train(library, module, x)]
    state = {key: value.detach().numpy().copy() for key, value in module.state_dict().items()}
    return [*told, state, module.eval().weight]


def taken_off(library, how):
    """Train, take it off again, and train on."""
    module, x = made(library, how, "Linear", "float64")
    train(library, module, x)
    if how.startswith("old "):
        getattr(library.nn.utils, f"remove_{how[4:]}")(module)
    else:
        library.nn.utils.parametrize.remove_parametrizations(module, "weight")
    state = {key: value.detach().numpy().copy() for key, value in module.state_dict().items()}
    return [
        type(module) is library.nn.Linear,
        repr(module),
        state,
        train(library, module, x),
        module.state_dict(),
    ]


def classes(library):
    class Symmetric(library.nn.Module):
        def forward(self, x):
            return x.triu() + x.triu(1).mT

        def right_inverse(self, x):
            return x.triu()

    class Doubled(library.nn.Module):
        def forward(self, x):
            return 2 * x

        def right_inverse(self, x):
            return x / 2

    class Bare(library.nn.Module):
        def forward(self, x):
            return x + 1

    return Symmetric, Doubled, Bare


def several(library):
    """Apply two in order; setting goes back through them."""
    start = np.arange(9.0).reshape(3, 3)
    parametrize = library.nn.utils.parametrize
    symmetric, doubled, _ = classes(library)
    net = library.nn.Linear(3, 3).double()
    with library.no_grad():
        net.weight.copy_(library.from_numpy(start.copy()))
    parametrize.register_parametrization(net, "weight", symmetric())
    parametrize.register_parametrization(net, "weight", doubled())
    told = [net.weight.detach().clone()]
    net.weight = library.from_numpy(start + start.T)
    told += [net.weight.detach().clone(), net.parametrizations.weight.original.detach().clone()]
    asked = [parametrize.is_parametrized(net, *name) for name in ((), ("weight",), ("bias",))]
    told += [asked, parametrize.type_before_parametrizations(net) is library.nn.Linear]
    with parametrize.cached():
        told.append(net.weight is net.weight)
    told.append(net.weight is net.weight)
    parametrize.remove_parametrizations(net, "weight", leave_parametrized=False)
    return [*told, net.weight]


def spectral_norm_iterates(library):
    """Each use in training makes an iteration, in place."""
    layer = library.nn.utils.parametrizations.spectral_norm(library.nn.Linear(3, 2))
    u = layer.parametrizations.weight[0]._u
    with library.no_grad():
        layer.parametrizations.weight.original.copy_(library.tensor([[1.0, 2.0, 3.0], [0.0, 1.0, 0.0]]))
        u.copy_(library.tensor([0.0, 1.0]))
    shape = list(layer(library.ones(1, 3)).shape)
    return [shape, layer.parametrizations.weight[0]._u is u, bool(u[0] != 0)]


CASES = {"several": several, "spectral_norm iterates": spectral_norm_iterates}
for _how in HOW:
    for _layer in LAYERS:
        for _dtype in NEAR:
            CASES[f"{_how} | {_layer} {_dtype}"] = partial(trained, how=_how, layer=_layer, dtype=_dtype)
    CASES[f"{_how} taken off"] = partial(taken_off, how=_how)
for _how in HOW[2:]:
    for _dim in (None, 0, 1):
        CASES[f"{_how} | dim {_dim}"] = partial(trained, how=_how, layer="Conv2d", dtype="float64", dim=_dim)


def near(case):
    found = NEAR["float32"] if case.endswith("float32") or "iterates" in case else NEAR["float64"]
    return Tolerance(found, found)


SUBJECT = Subject("parametrized", CASES, near)
