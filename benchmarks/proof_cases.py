"""The packages and models whose export is proved, each with a program that gives an output."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["CASES", "Case"]


@dataclass(frozen=True)
class Case:
    """`program` sets `output` to something JSON can hold.

    `modules` are saved by name; of `module:name,name` only those names will be used. `build` sets
    `model`, which is stored as an object and loaded for `program`. `needs` are other packages.
    """

    name: str
    package: str
    modules: tuple[str, ...]
    program: str
    build: str = ""
    needs: tuple[str, ...] = ()

    @property
    def roots(self) -> list[tuple[str, list[str] | None]]:
        """What is saved by name: modules, with the names of them that will be used, or None for all."""
        spelt = (module.partition(":") for module in self.modules)
        return [(module, names.split(",") if names else None) for module, _, names in spelt]


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
        "vit-pytorch ViT",
        "vit_pytorch",
        ("vit_pytorch.vit",),
        _TORCH + "from vit_pytorch.vit import ViT\n"
        "m = ViT(image_size=32, patch_size=8, num_classes=5, dim=16, depth=2, heads=2, mlp_dim=32).eval()\n"
        "output = digest(m(torch.randn(1, 3, 32, 32)))",
        needs=("torch", "torchvision", "einops"),
    ),
    Case(
        "x-transformers",
        "x_transformers",
        ("x_transformers:TransformerWrapper,Decoder",),
        _TORCH + "from x_transformers import TransformerWrapper, Decoder\n"
        "m = TransformerWrapper(num_tokens=20, max_seq_len=16,"
        " attn_layers=Decoder(dim=16, depth=1, heads=2)).eval()\n"
        "output = digest(m(torch.randint(0, 20, (1, 16))))",
        needs=("torch", "einops"),
    ),
    Case(
        "timm resnet18",
        "timm",
        ("timm.models.resnet:resnet18",),
        _TORCH + "from timm.models.resnet import resnet18\n"
        "m = resnet18(num_classes=7).eval()\noutput = digest(m(torch.randn(1, 3, 64, 64)))",
        needs=("torch", "torchvision",),
    ),
    Case(
        "timm ViT",
        "timm",
        ("timm.models.vision_transformer:vit_tiny_patch16_224",),
        _TORCH + "from timm.models.vision_transformer import vit_tiny_patch16_224\n"
        "m = vit_tiny_patch16_224().eval()\noutput = digest(m(torch.randn(1, 3, 224, 224)))",
        needs=("torch", "torchvision",),
    ),
    Case(
        "timm by name",
        "timm",
        ("timm:create_model",),
        _TORCH + "import timm\n"
        "m = timm.create_model('resnet18', num_classes=7).eval()\n"
        "output = digest(m(torch.randn(1, 3, 64, 64)))",
        needs=("torch", "torchvision",),
    ),
    Case(
        "transformers BertModel",
        "transformers",
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
        "transformers",
        ("transformers:LlamaModel,LlamaConfig",),
        _TORCH + "from transformers import LlamaConfig, LlamaModel\n"
        "m = LlamaModel(LlamaConfig(hidden_size=32, num_hidden_layers=2, num_attention_heads=2,"
        " intermediate_size=64, vocab_size=99)).eval()\n"
        "output = digest(m(torch.arange(8)[None]).last_hidden_state)",
        needs=("torch",),
    ),
    Case(
        "diffusers UNet2DModel",
        "diffusers",
        ("diffusers:UNet2DModel",),
        _TORCH + "from diffusers import UNet2DModel\n"
        "m = UNet2DModel(sample_size=16, block_out_channels=(32, 32), layers_per_block=1,"
        " down_block_types=('DownBlock2D', 'AttnDownBlock2D'), up_block_types=('AttnUpBlock2D', 'UpBlock2D')"
        ").eval()\noutput = digest(m(torch.randn(1, 3, 16, 16), 3).sample)",
        needs=("torch",),
    ),
    Case(
        "gpytorch",
        "gpytorch",
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
        "e3nn",
        ("e3nn.o3",),
        _TORCH + "from e3nn import o3\n"
        "tp = o3.FullyConnectedTensorProduct('2x0e + 1x1o', '1x0e + 1x1o', '2x0e + 1x1o')\n"
        "output = digest(tp(tp.irreps_in1.randn(2, -1), tp.irreps_in2.randn(2, -1)))",
        needs=("torch", "opt_einsum_fx"),
    ),
    Case(
        "keras",
        "keras",
        ("keras",),
        "import os\nos.environ['KERAS_BACKEND'] = 'torch'\nimport numpy as np, keras\n"
        "keras.utils.set_random_seed(0)\n"
        "m = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3, 'relu'), keras.layers.Dense(2)])\n"
        "output = keras.ops.convert_to_numpy(m(np.ones((2, 4), 'float32'))).tolist()",
    ),
)  # fmt: skip
