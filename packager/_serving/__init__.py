"""Models in use: predictors that go to workers, and what MLflow asks of a model."""

from packager._lazy import lazy_names

TYPE_CHECKING = False  # as in packager._lazy
if TYPE_CHECKING:
    from .model_folders import *
    from .predictor import *
else:
    __getattr__, __all__ = lazy_names(
        __name__,
        {
            "model_folders": "input_example model_signature requirement_lines write_requirements",
            "predictor": "Predictor",
        },
    )
