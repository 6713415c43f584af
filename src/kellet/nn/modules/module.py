"""The hooks of all modules, in the place where torch has them.

They are defined in `kellet.nn.global_hooks` and `kellet.nn.members`. The names without `module_` are
those of the list of PyTorch's hooks that this project was founded on.
"""

from ..global_hooks import register_module_backward_hook as register_module_backward_hook
from ..global_hooks import register_module_forward_hook as register_module_forward_hook
from ..global_hooks import register_module_forward_pre_hook as register_module_forward_pre_hook
from ..global_hooks import register_module_full_backward_hook as register_module_full_backward_hook
from ..global_hooks import (
    register_module_full_backward_pre_hook as register_module_full_backward_pre_hook,
)
from ..load_plan import IncompatibleKeys as _IncompatibleKeys  # noqa: F401  # torch's private name, used outside
from ..members import (
    register_module_buffer_registration_hook as register_module_buffer_registration_hook,
)
from ..members import (
    register_module_module_registration_hook as register_module_module_registration_hook,
)
from ..members import (
    register_module_parameter_registration_hook as register_module_parameter_registration_hook,
)
from ..module import Module as Module

register_forward_hook = register_module_forward_hook
register_forward_pre_hook = register_module_forward_pre_hook
register_full_backward_hook = register_module_full_backward_hook
register_full_backward_pre_hook = register_module_full_backward_pre_hook

__all__ = [
    "Module",
    "register_forward_hook",
    "register_forward_pre_hook",
    "register_full_backward_hook",
    "register_full_backward_pre_hook",
    "register_module_backward_hook",
    "register_module_buffer_registration_hook",
    "register_module_forward_hook",
    "register_module_forward_pre_hook",
    "register_module_full_backward_hook",
    "register_module_full_backward_pre_hook",
    "register_module_module_registration_hook",
    "register_module_parameter_registration_hook",
]
