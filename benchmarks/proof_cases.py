"""The packages whose export is proved, each with a program that gives an output.

Models of PyTorch have a page and environments of their own: `fixtures/pytorch_models`.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["CASES", "Case"]


@dataclass(frozen=True)
class Case:
    """`program` sets `output` to something JSON can hold.

    `modules` are saved by name. `build` sets `model`, which is stored as an object and loaded for
    `program`. At most `limit` times as many modules are stored as are used.
    """

    name: str
    package: str
    modules: tuple[str, ...]
    program: str
    build: str = ""
    limit: float = 1.2


CASES = (
    Case(
        "autograd",
        "autograd",
        ("autograd", "autograd.numpy"),
        "import autograd, autograd.numpy as np\n"
        "f = lambda x: np.sum(np.tanh(x) ** 2)\n"
        "output = [autograd.grad(f)(np.arange(5.0)).tolist(),"
        " autograd.hessian(f)(np.arange(3.0)).tolist()]",
    ),
    Case(
        "einops",
        "einops",
        ("einops",),
        "import numpy as np\nfrom einops import reduce, repeat\n"
        "x = np.arange(24.0).reshape(2, 3, 4)\n"
        "output = [model(x).tolist(), reduce(x, 'a b c -> b', 'mean').tolist(),"
        " repeat(x, 'a b c -> a b c 2').tolist()]",
        build="import functools, einops\n"
        "model = functools.partial(einops.rearrange, pattern='a b c -> (a c) b')",
        limit=2.6,  # functions of it import layers for five frameworks
    ),
    Case(
        "filterpy",
        "filterpy",
        (),
        "for z in range(5):\n    model.predict(); model.update(float(z))\n"
        "output = [model.x.tolist(), model.P.tolist(), model.log_likelihood]",
        build="import numpy as np\nfrom filterpy.kalman import KalmanFilter\n"
        "model = KalmanFilter(dim_x=2, dim_z=1)\n"
        "model.x = np.array([2.0, 0.0]); model.F = np.array([[1.0, 1.0], [0.0, 1.0]])\n"
        "model.H = np.array([[1.0, 0.0]])",
    ),
    Case(
        "lifelines",
        "lifelines",
        ("lifelines",),
        "import lifelines\nfrom lifelines.datasets import load_waltons\n"
        "data = load_waltons()\n"
        "other = lifelines.WeibullFitter().fit(data['T'], data['E'])\n"
        "output = [model.median_survival_time_, model.survival_function_.iloc[:, 0].tolist(),"
        " float(other.lambda_), float(other.rho_)]",
        build="import lifelines\nfrom lifelines.datasets import load_waltons\n"
        "data = load_waltons()\n"
        "model = lifelines.KaplanMeierFitter().fit(data['T'], data['E'])",
    ),
    Case(
        "networkx",
        "networkx",
        ("networkx",),
        "import networkx as nx\n"
        "output = [sorted(nx.pagerank(model).items()), nx.shortest_path(model, 0, 33),"
        " [sorted(c) for c in nx.community.greedy_modularity_communities(model)]]",
        build="import networkx\nmodel = networkx.karate_club_graph()",
    ),
    Case(
        "sympy",
        "sympy",
        ("sympy",),
        "import sympy\nx, y = sympy.symbols('x y')\nm = sympy.Matrix([[x, 1], [1, x]])\n"
        "output = [str(model.doit()), str(sympy.integrate(sympy.exp(-x**2), x)),"
        " str(sympy.solve(x**2 - 2, x)),"
        " str(sympy.factor(x**6 - 1)), sympy.latex(sympy.series(sympy.sin(x), x, 0, 8)), str(m.eigenvals()),"
        " sympy.ccode(x**2), sympy.fcode(x**2), sympy.pycode(sympy.sin(x)), sympy.mathml(x + y),"
        " str(sympy.ask(sympy.Q.positive(x**2 + 1), sympy.Q.real(x))), sympy.lambdify(x, x**2)(3),"
        " str(sympy.satisfiable(sympy.And(sympy.Symbol('a'), sympy.Symbol('b')))),"
        " str(sympy.dsolve(sympy.Function('f')(x).diff(x) - x)), str(sympy.limit(sympy.sin(x) / x, x, 0))]",
        build="import sympy\nx = sympy.Symbol('x')\nmodel = sympy.Integral(sympy.exp(-x) * sympy.cos(x), x)",
    ),
    Case(
        "Faker",
        "faker",
        (),
        "output = [[model.name() for _ in range(3)], model.address(), model.iban()]",
        build="from faker import Faker\nmodel = Faker('de_DE')\nmodel.seed_instance(7)",
    ),
    Case(
        "pint",
        "pint",
        ("pint",),
        "import pint\nunits = pint.UnitRegistry()\n"
        "speed = (3 * units.meter / units.second).to('km/h')\n"
        "output = [str(speed), speed.magnitude, str(units('2 inch').to_base_units())]",
    ),
    Case(
        "pyphen",
        "pyphen",
        (),
        "import pyphen\ngerman = pyphen.Pyphen(lang='de')\n"
        "output = [model.inserted('lettergrepen'), german.inserted('Wanderung')]",
        build="import pyphen\nmodel = pyphen.Pyphen(lang='nl_NL')",
    ),
)  # fmt: skip
