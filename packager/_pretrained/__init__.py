"""Models as Hugging Face's libraries keep them: opened from a folder, and made callable with text."""

from packager._lazy import lazy_names

TYPE_CHECKING = False  # as in packager._lazy
if TYPE_CHECKING:
    from .folders import *
    from .wrapping import *
else:
    __getattr__, __all__ = lazy_names(
        __name__,
        {
            "folders": "Parts PretrainedError open_pretrained parts_in",
            "wrapping": "declared_inputs example_inputs wrapped wrapper_source",
        },
    )
