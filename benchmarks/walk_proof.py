"""Prove the walk on real packages: the captured files, alone in an empty folder, give the same output.

    python -m benchmarks.walk_proof            every case whose packages are installed
    python -m benchmarks.walk_proof networkx   some of them

For each case the model's own top-level packages are interned and nothing else. The program runs
once as installed and once with those packages hidden, from a folder that holds the captured files
alone. The table shows modules captured, modules that the program really used, and their ratio;
a case fails where outputs differ or where a used module was not captured.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter

from packager.graph import Verdict, Walk

LIMIT = 1.2

RUNNER = '''
import importlib.machinery, json, sys
tops, tree, stand_ins, program = json.loads(sys.argv[1])

class Captured:
    """Finds the packages under proof in the captured tree, and nowhere else."""
    def find_spec(self, name, path=None, target=None):
        if "." not in name and name in tops:
            spec = importlib.machinery.PathFinder.find_spec(name, [tree])
            if spec is None:
                raise ModuleNotFoundError(f"{name} was not captured", name=name)
            return spec

class StandIn:
    """Modules that exist in name only: what the program imports and never calls."""
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in stand_ins:
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
    def create_module(self, spec):
        return None
    def exec_module(self, module):
        module.__version__ = "0.0"
        module.__getattr__ = named

class Named(type):
    """A class in name only; its attributes are its own kind."""
    def __getattr__(cls, name):
        return named(name)

def named(name):
    if name.startswith("__"):
        raise AttributeError(name)
    return Named(name, (), {"__init__": lambda self, *args, **options: None})

if tree:
    sys.meta_path.insert(0, Captured())
if stand_ins:
    sys.meta_path.insert(0, StandIn())
scope = {"__name__": "__main__"}
exec(compile(program, "program", "exec"), scope)
used = sorted(name for name in sys.modules if name.partition(".")[0] in tops)
if tree:
    for name in used:
        where = getattr(sys.modules[name], "__file__", None)
        assert where is None or where.startswith(tree), f"{name} came from {where}"
print("PROOF " + json.dumps([scope["output"], used]))
'''


@dataclass(frozen=True)
class Case:
    """`program` sets `output` to something JSON can hold; `roots` are modules, or module:name,name."""

    name: str
    tops: tuple[str, ...]
    roots: tuple[str, ...]
    program: str
    stand_ins: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    walk_only: bool = False


_TORCH = """
import hashlib, torch
torch.manual_seed(0)
torch.set_num_threads(1)
def digest(t):
    return hashlib.sha256(t.detach().numpy().tobytes()).hexdigest()
"""

CASES = (
    Case(
        "autograd",
        ("autograd",),
        ("autograd", "autograd.numpy"),
        "import autograd, autograd.numpy as np\n"
        "f = lambda x: np.sum(np.tanh(x) ** 2)\n"
        "output = autograd.grad(f)(np.arange(5.0)).tolist()",
    ),
    Case(
        "einops",
        ("einops",),
        ("einops",),
        "import numpy as np\nfrom einops import rearrange, reduce, repeat\n"
        "x = np.arange(24.0).reshape(2, 3, 4)\n"
        "output = [rearrange(x, 'a b c -> (a c) b').tolist(), reduce(x, 'a b c -> b', 'mean').tolist(),"
        " repeat(x, 'a b c -> a b c 2').shape]",
    ),
    Case(
        "filterpy",
        ("filterpy",),
        ("filterpy.kalman",),
        "import numpy as np\nfrom filterpy.kalman import KalmanFilter\n"
        "f = KalmanFilter(dim_x=2, dim_z=1)\n"
        "f.x = np.array([2.0, 0.0]); f.F = np.array([[1.0, 1.0], [0.0, 1.0]]); f.H = np.array([[1.0, 0.0]])\n"
        "for z in range(5):\n    f.predict(); f.update(float(z))\n"
        "output = f.x.tolist()",
    ),
    Case(
        "lifelines",
        ("lifelines",),
        ("lifelines",),
        "import lifelines\nfrom lifelines.datasets import load_waltons\n"
        "data = load_waltons()\n"
        "fitted = lifelines.KaplanMeierFitter().fit(data['T'], data['E'])\n"
        "output = [fitted.median_survival_time_, float(fitted.survival_function_.iloc[3, 0])]",
    ),
    Case(
        "networkx",
        ("networkx",),
        ("networkx",),
        "import networkx as nx\n"
        "g = nx.karate_club_graph()\n"
        "output = [sorted(nx.pagerank(g).items()), nx.shortest_path(g, 0, 33),"
        " [sorted(c) for c in nx.community.greedy_modularity_communities(g)]]",
    ),
    Case(
        "sympy",
        ("sympy",),
        ("sympy",),
        "import sympy\nx, y = sympy.symbols('x y')\nm = sympy.Matrix([[x, 1], [1, x]])\n"
        "output = [str(sympy.integrate(sympy.exp(-x**2), x)), str(sympy.solve(x**2 - 2, x)),"
        " str(sympy.factor(x**6 - 1)), sympy.latex(sympy.series(sympy.sin(x), x, 0, 8)), str(m.eigenvals()),"
        " sympy.ccode(x**2), sympy.fcode(x**2), sympy.pycode(sympy.sin(x)), sympy.mathml(x + y),"
        " str(sympy.ask(sympy.Q.positive(x**2 + 1), sympy.Q.real(x))), sympy.lambdify(x, x**2)(3),"
        " str(sympy.satisfiable(sympy.And(sympy.Symbol('a'), sympy.Symbol('b')))),"
        " str(sympy.dsolve(sympy.Function('f')(x).diff(x) - x)), str(sympy.limit(sympy.sin(x) / x, x, 0))]",
    ),
    Case(
        "vit-pytorch ViT",
        ("vit_pytorch",),
        ("vit_pytorch.vit",),
        _TORCH + "from vit_pytorch.vit import ViT\n"
        "m = ViT(image_size=32, patch_size=8, num_classes=5, dim=16, depth=2, heads=2, mlp_dim=32).eval()\n"
        "output = digest(m(torch.randn(1, 3, 32, 32)))",
        stand_ins=("torchvision",),
        needs=("torch", "einops"),
    ),
    Case(
        "x-transformers",
        ("x_transformers",),
        ("x_transformers:TransformerWrapper,Decoder",),
        _TORCH + "from x_transformers import TransformerWrapper, Decoder\n"
        "m = TransformerWrapper(num_tokens=20, max_seq_len=16,"
        " attn_layers=Decoder(dim=16, depth=1, heads=2)).eval()\n"
        "output = digest(m(torch.randint(0, 20, (1, 16))))",
        needs=("torch", "einops"),
    ),
    Case(
        "timm resnet18",
        ("timm",),
        ("timm.models.resnet:resnet18",),
        _TORCH + "from timm.models.resnet import resnet18\n"
        "m = resnet18(num_classes=7).eval()\noutput = digest(m(torch.randn(1, 3, 64, 64)))",
        stand_ins=("torchvision",),
        needs=("torch",),
    ),
    Case(
        "timm ViT",
        ("timm",),
        ("timm.models.vision_transformer:vit_tiny_patch16_224",),
        _TORCH + "from timm.models.vision_transformer import vit_tiny_patch16_224\n"
        "m = vit_tiny_patch16_224().eval()\noutput = digest(m(torch.randn(1, 3, 224, 224)))",
        stand_ins=("torchvision",),
        needs=("torch",),
    ),
    Case(
        "timm by name",
        ("timm",),
        ("timm:create_model",),
        _TORCH + "import timm\n"
        "m = timm.create_model('resnet18', num_classes=7).eval()\n"
        "output = digest(m(torch.randn(1, 3, 64, 64)))",
        stand_ins=("torchvision",),
        needs=("torch",),
    ),
    Case(
        "transformers BertModel",
        ("transformers",),
        ("transformers.models.bert.modeling_bert:BertModel",
         "transformers.models.bert.configuration_bert:BertConfig"),
        _TORCH + "from transformers import BertConfig, BertModel\n"
        "m = BertModel(BertConfig(hidden_size=32, num_hidden_layers=2, num_attention_heads=2,"
        " intermediate_size=64, vocab_size=99)).eval()\n"
        "output = digest(m(torch.arange(8)[None]).last_hidden_state)",
        needs=("torch",),
    ),
    Case(
        "transformers Llama, from the top",
        ("transformers",),
        ("transformers:LlamaModel,LlamaConfig",),
        _TORCH + "from transformers import LlamaConfig, LlamaModel\n"
        "m = LlamaModel(LlamaConfig(hidden_size=32, num_hidden_layers=2, num_attention_heads=2,"
        " intermediate_size=64, vocab_size=99)).eval()\n"
        "output = digest(m(torch.arange(8)[None]).last_hidden_state)",
        needs=("torch",),
    ),
    Case(
        "diffusers UNet2DModel",
        ("diffusers",),
        ("diffusers:UNet2DModel",),
        _TORCH + "from diffusers import UNet2DModel\n"
        "m = UNet2DModel(sample_size=16, block_out_channels=(32, 32), layers_per_block=1,"
        " down_block_types=('DownBlock2D', 'AttnDownBlock2D'), up_block_types=('AttnUpBlock2D', 'UpBlock2D')"
        ").eval()\noutput = digest(m(torch.randn(1, 3, 16, 16), 3).sample)",
        needs=("torch",),
    ),
    Case(
        "gpytorch",
        ("gpytorch",),
        ("gpytorch",),
        _TORCH + "import gpytorch\n"
        "class M(gpytorch.models.ExactGP):\n"
        "    def __init__(self, x, y, l):\n"
        "        super().__init__(x, y, l)\n"
        "        self.mean_module = gpytorch.means.ConstantMean()\n"
        "        self.covar_module = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel())\n"
        "    def forward(self, x):\n"
        "        return gpytorch.distributions.MultivariateNormal(self.mean_module(x), "
            "self.covar_module(x))\n"
        "x = torch.linspace(0, 1, 9)\nlik = gpytorch.likelihoods.GaussianLikelihood()\n"
        "m = M(x, torch.sin(x), lik).eval(); lik.eval()\noutput = digest(lik(m(x + 0.1)).mean)",
        needs=("torch", "linear_operator"),
    ),
    Case(
        "e3nn",
        ("e3nn",),
        ("e3nn.o3",),
        _TORCH + "from e3nn import o3\n"
        "tp = o3.FullyConnectedTensorProduct('2x0e + 1x1o', '1x0e + 1x1o', '2x0e + 1x1o')\n"
        "output = digest(tp(tp.irreps_in1.randn(2, -1), tp.irreps_in2.randn(2, -1)))",
        needs=("torch", "opt_einsum_fx"),
    ),
    Case(
        "keras",
        ("keras",),
        ("keras",),
        "import os\nos.environ['KERAS_BACKEND'] = 'torch'\nimport numpy as np, keras\n"
        "keras.utils.set_random_seed(0)\n"
        "m = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3, 'relu'), keras.layers.Dense(2)])\n"
        "output = keras.ops.convert_to_numpy(m(np.ones((2, 4), 'float32'))).tolist()",
    ),
)  # fmt: skip


@dataclass(frozen=True)
class Proof:
    """What came of a case. `trouble` is "" where the captured files did all that the installed ones do."""

    case: Case
    captured: int
    used: int
    missing: tuple[str, ...]
    extra: tuple[str, ...]
    seconds: float
    trouble: str

    @property
    def holds(self) -> bool:
        return not self.trouble and not self.missing and self.captured <= LIMIT * self.used


def prove(case: Case) -> Proof:
    """Walk, run as installed, run from the captured files alone, and compare."""
    started = perf_counter()
    walk = walked(case)
    seconds = perf_counter() - started
    modules = [module for module in walk.modules.values() if module.followed]
    captured = {module.name for module in modules}
    expected, used, error = _run(case, "")
    if error:
        return Proof(case, len(captured), 0, (), (), seconds, f"does not run as installed: {error}")
    with tempfile.TemporaryDirectory() as folder:
        tree = str(Path(folder).resolve())
        _write(walk, case, tree)
        found, used_there, error = _run(case, tree)
    trouble = error and f"does not run from the captured files: {error}"
    if not trouble and found != expected:
        trouble = f"gives {found!r}, expected {expected!r}"
    needed = {*used, *used_there}
    return Proof(
        case,
        len(captured),
        len(used),
        tuple(sorted(needed - captured)),
        tuple(sorted(captured - needed)),
        seconds,
        trouble,
    )


def walked(case: Case, *, cache: object = None) -> Walk:
    """The walk of a case with its own packages followed and nothing else."""
    walk = Walk(lambda name, edges: Verdict(name.partition(".")[0] in case.tops), cache=cache)  # type: ignore[arg-type]  # handed on
    for root in case.roots:
        module, _, names = root.partition(":")
        walk.add_root(module, names=names.split(",") if names else None)
    walk.run()
    return walk


def installed(case: Case) -> bool:
    return all(find_spec(top) is not None for top in (*case.tops, *case.needs))


def _write(walk: Walk, case: Case, tree: str) -> None:
    for module in walk.modules.values():
        if module.followed and module.source is not None:
            path = Path(tree, module.file)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(module.source)
    for top in case.tops:
        for file in walk.data_files(top):
            path = Path(tree, file.package.replace(".", "/"), file.resource)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(file.read())


def _run(case: Case, tree: str) -> tuple[object, list[str], str]:
    given = json.dumps([case.tops, tree, case.stand_ins, case.program])
    done = subprocess.run(
        [sys.executable, "-c", RUNNER, given],
        env={**os.environ, "PYTHONHASHSEED": "0"},  # sympy's answers come in the order of sets
        capture_output=True,
        text=True,
        check=False,
    )
    for line in done.stdout.splitlines():
        if line.startswith("PROOF "):
            output, used = json.loads(line.removeprefix("PROOF "))
            return output, used, ""
    return None, [], done.stderr.strip()[-2000:] or "no output"


def main(arguments: Sequence[str]) -> int:
    wanted = [case for case in CASES if not arguments or any(word in case.name for word in arguments)]
    holds = True
    print("| case | used | captured | ratio | walk, s | |\n|---|---|---|---|---|---|")
    for case in wanted:
        if not installed(case):
            print(f"| {case.name} | | | | | not installed here |", flush=True)
            continue
        proof = prove(case)
        holds = holds and proof.holds
        ratio = f"{proof.captured / proof.used:.2f}" if proof.used else ""
        notes = "same output" if not proof.trouble else proof.trouble.splitlines()[-1]
        if proof.missing:
            notes += f"; missing: {', '.join(proof.missing)}"
        print(
            f"| {case.name} | {proof.used} | {proof.captured} | {ratio} | {proof.seconds:.2f} | {notes} |",
            flush=True,
        )
        if arguments and proof.extra:
            print(f"  captured and not used: {', '.join(proof.extra)}")
        if arguments and proof.trouble:
            print(proof.trouble)
    return 0 if holds else 1


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
