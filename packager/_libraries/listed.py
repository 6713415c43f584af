"""Libraries of which names are all that is known: models, modules of PyTorch, and parts beside code."""

from __future__ import annotations

from functools import partial
from types import FunctionType
from typing import Any, Final

from packager._audit import LIBRARIES, PLAIN, IsA, Row, Rows, is_subclass_of
from packager._codecs import Library, attributes_of, require_int
from packager._quick_dataclasses import replace

from .families import ASSIGNED, MODULE, check_assigned, listed, take_names

# --- models of Python: a class and attributes ---

_MOST_PROCESSES: Final = 64  # which it starts where it is used
_MOST_COLUMNS: Final = 1 << 22


def _check_hashing(made: Any) -> None:
    check_assigned(made)
    held = attributes_of(made)
    require_int(held.get("max_process", 0), "max_process", 0, _MOST_PROCESSES + 1)
    require_int(held.get("n_components", 1), "n_components", 1, _MOST_COLUMNS + 1)


CATEGORY_ENCODERS: Final = Library(
    "category_encoders",
    "category-encoders",
    rows=Rows(
        (ASSIGNED, listed("category_encoders")),
        (Row(complete=_check_hashing), {"category_encoders": "HashingEncoder"}),
    ),
)
HMMLEARN: Final = Library("hmmlearn", "hmmlearn", rows=Rows((ASSIGNED, listed("hmmlearn"))))
IMBLEARN: Final = Library("imblearn", "imbalanced-learn", rows=Rows((ASSIGNED, listed("imblearn"))))
RIVER: Final = Library(
    "river",
    "river",
    rows=Rows(
        (ASSIGNED, listed("river")),
        # A table of weights made in Rust: of numbers, what is missing, a mask and a flag.
        (Row("call", arguments=PLAIN), {"river._river_rust.vectordict": "VectorDict"}),
    ),
)
TORCHVISION: Final = Library("torchvision", "torchvision", rows=Rows((MODULE, listed("torchvision"))))

# Tokenizers; asked for any other name, transformers would import the module that has it.
_TOKENIZER: Final = Row(
    "create",
    is_a=IsA(
        "a subclass of transformers.PreTrainedTokenizerBase",
        is_subclass_of("transformers", "PreTrainedTokenizerBase"),
    ),
    attributes=LIBRARIES,
    complete=check_assigned,
)
_TOKENIZERS: Final = """
    transformers transformers.models. transformers.tokenization_python
    transformers.tokenization_utils_sentencepiece transformers.tokenization_utils_tokenizers
""".split()
TRANSFORMERS: Final = Library(
    "transformers",
    "transformers",
    rows=Rows(
        (Row("create"), {"transformers.tokenization_python": "Trie ExtensionsTrie"}),
        (_TOKENIZER, dict.fromkeys(_TOKENIZERS, "*Tokenizer*")),
    ),
)

# --- models of statsmodels and lifelines: a formula that they keep is evaluated again, as Python ---

# Where an object looks for what it does not have itself, and what is evaluated.
_ASKED_FOR_MORE: Final = frozenset("model data _results results _model".split())
_BY_OTHERS: Final = frozenset("frame cholsigmainv het_scale".split())  # no code of their class assigns them
_EVALUATED: Final = frozenset("formula restore_model_spec restore_design_info model_spec design_info".split())


def _model_of(library: str, replaces: str = "") -> Row:
    """Return the row of models of a library that are data where they were made of arrays."""
    return replace(
        ASSIGNED,
        takes_state=partial(take_names, replaces=tuple(replaces.split())),
        complete=partial(_check_model, library, frozenset(replaces.split())),
        replaces=replaces,
    )


def _check_model(library: str, replaces: frozenset[str], made: Any) -> None:
    held = attributes_of(made)
    for name in _ASKED_FOR_MORE & held.keys():
        if held[name] is not None and type(held[name]).__module__.partition(".")[0] != library:
            raise ValueError(
                f"{name} of {type(made).__qualname__} is of type {type(held[name]).__qualname__}; expected a "
                f"model of {library}"
            )
    if any(held[name] is not None for name in _EVALUATED & held.keys()):
        raise ValueError(
            f"{type(made).__qualname__} was made from a formula, which is evaluated as Python; make the "
            "model from arrays before saving"
        )
    check_assigned(made, _BY_OTHERS | replaces)


LIFELINES: Final = Library(
    "lifelines",
    "lifelines",
    rows=Rows(
        (_model_of("lifelines"), listed("lifelines")),
        # An enumeration, whose members are looked up.
        (_model_of("lifelines"), {"lifelines.utils": "CensoringType"}),
    ),
)
_FAMILIES: Final = "Binomial Family Gamma Gaussian InverseGaussian NegativeBinomial Poisson Tweedie"
STATSMODELS: Final = Library(
    "statsmodels",
    "statsmodels",
    rows=Rows(
        # Results say what they are.
        (_model_of("statsmodels", "__doc__ normalized_cov_params"), listed("statsmodels")),
        # The class has a function, each object one of its own.
        (
            Row(replaces="variance"),
            {"statsmodels.genmod.families.family": _FAMILIES, "statsmodels.genmod.families": _FAMILIES},
        ),
    ),
)

# --- beside code ---

_FILLED: Final = Row(uses="fills itself")
EINOPS: Final = Library("einops", "einops", rows=Rows((_FILLED, {"einops.layers.torch": "Rearrange Reduce"})))
# The options of a module, which are given pairs.
LIGHTNING: Final = Library(
    "lightning", "lightning", rows=Rows((_FILLED, {"lightning.fabric.utilities": "AttributeDict"}))
)
LIGHTNING_FABRIC: Final = Library(
    "lightning_fabric",
    "lightning-fabric",
    rows=Rows((_FILLED, {"lightning_fabric.utilities": "AttributeDict"})),
)
_VIEWS: Final = {
    "networkx.classes.coreviews": """
        AdjacencyView AtlasView MultiAdjacencyView UnionAdjacency UnionAtlas UnionMultiAdjacency
        UnionMultiInner
    """,
    "networkx.classes.reportviews": """
        DegreeView DiDegreeView DiMultiDegreeView EdgeDataView EdgeView InDegreeView InEdgeDataView
        InEdgeView InMultiDegreeView InMultiEdgeDataView InMultiEdgeView MultiDegreeView
        MultiEdgeDataView MultiEdgeView NodeDataView NodeView OutDegreeView OutEdgeDataView
        OutEdgeView OutMultiDegreeView OutMultiEdgeDataView OutMultiEdgeView
    """,
}
NETWORKX: Final = Library("networkx", "networkx", rows=Rows((_FILLED, _VIEWS)))

# GPyTorch: transforms of parameters, and the hook that every module of it registers.
_FUNCTIONS: Final = {
    "gpytorch.means.constant_mean": "_ensure_updated_strategy_flag_set",
    "gpytorch.utils.transforms": "inv_sigmoid inv_softplus",
    "gpytorch.variational.variational_strategy": "_ensure_updated_strategy_flag_set",
}
_NAME: Final = "_load_state_hook_ignore_shapes"


def _is_hook(obj: Any) -> bool:
    home = ("gpytorch.module", f"Module.{_NAME}")
    return isinstance(obj, FunctionType) and (obj.__module__, obj.__qualname__) == home


_HOOK: Final = IsA("the hook that every module of gpytorch registers", _is_hook)
GPYTORCH: Final = Library(
    "gpytorch",
    "gpytorch",
    rows=Rows(
        # It puts the state in the place of the whole `__dict__`: attributes are set instead.
        (Row(uses="only attributes"), {"gpytorch.kernels.kernel": "Kernel.__setstate__"}),
        (Row(beside_code="value"), _FUNCTIONS),
        (Row(beside_code="value", is_a=_HOOK), {"gpytorch": f"*.{_NAME}", "gpytorch.": f"*.{_NAME}"}),
    ),
)
