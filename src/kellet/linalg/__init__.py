"""Linear algebra under the names of `torch.linalg`: solutions, factors, norms. Each has derivatives.

The functions that the files of this folder define are offered here, with `det` and the others that
`kellet` offers too.
"""

from typing import TYPE_CHECKING

from ..core import cholesky as cholesky
from ..core import det as det
from ..core import matrix_power as matrix_power
from ..core import slogdet as slogdet
from ..core.wrong_arguments import explaining as _explaining
from ..errors import LinAlgError as LinAlgError
from ..public_names import functions_of

if TYPE_CHECKING:
    from .factors import *
    from .norms import *
    from .solving import *
else:
    _functions = functions_of(__name__, "factors norms solving")
    globals().update(_explaining(_functions, __name__))
    __all__ = ["LinAlgError", "cholesky", "det", "matrix_power", "slogdet", *_functions]
