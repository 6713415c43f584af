"""Calls of models by arrays: what may be called, in which mode, and how answers compare."""

from typing import TYPE_CHECKING

from packager.lazy import lazy_names

if TYPE_CHECKING:
    from .array_calls import *
    from .entry_methods import *
    from .evaluation import *
    from .target_names import *
else:
    __getattr__, __all__ = lazy_names(
        __name__,
        {
            "array_calls": "CallError DEFAULT_TOLERANCE Deviation call_with_arrays compare_answers "
            "copied_input load_arrays",
            "entry_methods": "EntryMethodError IsOwn LISTED entry_method require_entry_name",
            "evaluation": "call_in_evaluation_mode evaluation_mode",
            "target_names": "TargetError WeightsError load_weights put_folder_on_path resolve_target "
            "split_target",
        },
    )
