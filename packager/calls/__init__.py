"""Calls of models by arrays: what may be called, in which mode, and how answers compare."""

from packager.lazy import lazy_names

TYPE_CHECKING = False  # as in packager.lazy
if TYPE_CHECKING:
    from .array_calls import *
    from .call_files import *
    from .comparing import *
    from .drifts import *
    from .entry_methods import *
    from .entry_schemas import *
    from .evaluation import *
    from .examples import *
    from .plain_values import *
    from .putting_back import *
    from .recording import *
    from .target_names import *
    from .traces import *
    from .value_schemas import *
else:
    __getattr__, __all__ = lazy_names(
        __name__,
        {
            "array_calls": "CallError array_of call_with_arrays copied_input",
            "call_files": "json_text load_inputs write_answer",
            "comparing": "DEFAULT_TOLERANCE absolute_differences Deviation compare_answers ulps_apart",
            "drifts": "Drift first_drift",
            "entry_methods": "EntryMethodError IsOwn LISTED entry_method require_entry_name",
            "entry_schemas": "GoldenValues SchemaMismatchError fitted_inputs learnt_schema misfits_of_answer",
            "examples": "Example can_be_called default_method inputs_of_example",
            "evaluation": "Around call_in_mode in_mode mode_name nothing_around",
            "putting_back": "Before",
            "value_schemas": "Misfit common dtype_name fitted type_of",
            "plain_values": "pack_values stored_form unpack_values",
            "target_names": "TargetError WeightsError load_weights put_folder_on_path resolve_target "
            "split_target",
            "traces": "Trace pack_trace unpack_trace",
            "recording": "Recorder tracing",
        },
    )
