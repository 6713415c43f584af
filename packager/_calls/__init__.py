"""Calls of models by arrays: what may be called, in which mode, how answers compare, and where they drift."""

from packager._lazy import lazy_names

TYPE_CHECKING = False  # as in packager._lazy
if TYPE_CHECKING:
    from .array_calls import *
    from .call_files import *
    from .comparing import *
    from .drifts import *
    from .entry_methods import *
    from .entry_schemas import *
    from .evaluation import *
    from .plain_values import *
    from .recording import *
    from .running import *
    from .tables import *
    from .traces import *
    from .value_types import *
else:
    __getattr__, __all__ = lazy_names(
        __name__,
        {
            "array_calls": "CallError array_of call_with_arrays copied_input",
            "call_files": "TargetError WeightsError json_text load_inputs load_weights put_folder_on_path "
            "resolve_target split_target write_answer",
            "comparing": "DEFAULT_TOLERANCE absolute_differences Deviation compare_answers ulps_apart",
            "drifts": "Drift first_drift",
            "entry_methods": "EntryMethodError Example IsOwn LISTED can_be_called default_method "
            "entry_method inputs_of_example require_entry_name",
            "entry_schemas": "GoldenValues InputTypes SchemaMismatchError fitted_inputs learnt_schema "
            "misfits_of_answer schema_problems",
            "evaluation": "Around Before call_in_mode in_mode mode_name modules_in nothing_around",
            "plain_values": "is_for_training pack_values stored_form unpack_values",
            "recording": "Recorder tracing",
            "running": "Callee CheckOutcome find_entry golden_answers golden_inputs "
            "load_entry run_checks run_entry schema_of",
            "tables": "InputTable TABLE_LIBRARY is_frame",
            "traces": "Trace pack_trace stored_trace unpack_trace",
            "value_types": "FAMILIES Misfit ValueType common dtype_name fitted is_value_type type_of",
        },
    )
