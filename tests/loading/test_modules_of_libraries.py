"""Models of gpytorch and lightning out of archives: own classes beside libraries, without a name to trust."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")
pytest.importorskip("gpytorch")
pytest.importorskip("lightning")

import io
import warnings
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import torch

from packager import PackageExporter, PackageImporter
from packager._audit import UntrustedNamesError
from packager.testing import round_trip

with warnings.catch_warnings():  # they are written for an older PyTorch
    warnings.simplefilter("ignore")
    import_module("gpytorch"), import_module("lightning")
import gpytorch
import lightning

Project = Callable[[Mapping[str, str]], Path]

REGRESSION = """
import gpytorch
from gpytorch.distributions import MultivariateNormal


class Regression(gpytorch.models.ExactGP):
    def __init__(self, x, y, kernel):
        super().__init__(x, y, gpytorch.likelihoods.GaussianLikelihood())
        self.mean_module = gpytorch.means.ConstantMean()
        self.covar_module = kernel

    def forward(self, x):
        return MultivariateNormal(self.mean_module(x), self.covar_module(x))
"""
LIT = """
import lightning
import torch


class Lit(lightning.LightningModule):
    def __init__(self, width, name="net"):
        super().__init__()
        self.save_hyperparameters()
        self.net = torch.nn.Linear(4, width)

    def forward(self, x):
        return self.net(x)
"""


def loaded(model: Any) -> tuple[Any, PackageImporter]:
    file = io.BytesIO()
    with PackageExporter(file, policy="auto", prove=False) as exporter:
        exporter.save_object("model", "model", model)
    importer = PackageImporter(file)
    return importer.load_object("model", "model"), importer


KERNELS: dict[str, Callable[[], Any]] = {
    "scaled": lambda: gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel()),
    "two": lambda: gpytorch.kernels.RBFKernel() + gpytorch.kernels.PeriodicKernel(),
    "matern": lambda: gpytorch.kernels.MaternKernel(nu=1.5),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
def test_a_process_of_gpytorch_comes_back_with_its_hooks(project: Project, kernel: Callable[[], Any]) -> None:
    project({"regression.py": REGRESSION})
    from regression import Regression  # type: ignore[import-not-found]  # written just now

    x = torch.linspace(0, 1, 20)
    model, asked = Regression(x, torch.sin(6 * x), kernel()).eval(), torch.linspace(0, 2, 7)
    again, importer = loaded(model)
    with importer, torch.no_grad():
        assert torch.equal(again(asked).mean, model(asked).mean)
        assert torch.equal(again(asked).variance, model(asked).variance)
        assert len(again._load_state_dict_pre_hooks) == len(model._load_state_dict_pre_hooks)
        again.load_state_dict(model.state_dict())


def test_a_kernel_in_data_alone_needs_its_name() -> None:
    with pytest.raises(UntrustedNamesError, match=r"gpytorch\.kernels:RBFKernel"):
        round_trip(gpytorch.kernels.RBFKernel())


@pytest.mark.filterwarnings("ignore")
def test_another_method_of_gpytorch_is_no_hook(project: Project) -> None:
    project({"regression.py": REGRESSION})
    from regression import Regression

    x = torch.linspace(0, 1, 20)
    model = Regression(x, torch.sin(6 * x), gpytorch.kernels.RBFKernel())
    model.covar_module.register_forward_pre_hook(model.mean_module.initialize)
    with pytest.raises(UntrustedNamesError, match=r"ConstantMean\.initialize"):
        loaded(model)


@pytest.mark.filterwarnings("ignore")
def test_the_options_of_a_module_of_lightning_come_back(project: Project) -> None:
    project({"lit.py": LIT})
    from lit import Lit  # type: ignore[import-not-found]  # written just now

    assert issubclass(Lit, lightning.LightningModule)
    model, x = Lit(width=3).eval(), torch.ones(2, 4)
    again, importer = loaded(model)
    with importer:
        assert torch.equal(again(x), model(x))
        assert dict(again.hparams) == {"width": 3, "name": "net"}
        assert again.hparams.width == 3
