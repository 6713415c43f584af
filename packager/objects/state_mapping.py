"""What lazy state dicts have in common: they pass for dicts, and a copy of one is an ordinary state dict."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, NoReturn, TypeAlias

from packager.errors import ArgumentError

EXTRA: Final = "extras:"
"""What the keys of tensors inside of extras start with: they are no keys of the state dict."""

if TYPE_CHECKING:
    _LazyDict: TypeAlias = dict[str, Any]
else:

    class _LazyDict(Mapping, dict):
        """A dict whose own entries nobody asks for: Mapping's methods come first."""


class StateMapping(_LazyDict):
    """A state dict whose values are read when they are asked for; it cannot be changed.

    It is a dict for those who ask, as `safetensors.torch.save` does. `copy()`, `copy.deepcopy`, pickle and
    `torch.save` take an OrderedDict of all its values, with `_metadata` where it has any: what PyTorch's
    modules give as their state, so that nothing that was written needs packager to be read.

    Source: torch.nn.Module.state_dict, whose answer is such an OrderedDict.
    """

    _metadata: Any
    """What is known of each module by its path, or None."""

    def copy(self) -> OrderedDict[str, Any]:
        """Return an OrderedDict with all values, which may be changed. Reads each as it is asked for."""
        made = OrderedDict(self.items())
        if self._metadata is not None:
            made._metadata = self._metadata  # type: ignore[attr-defined]  # as PyTorch keeps it
        return made

    def stored(self) -> Mapping[str, Any]:
        """Return what an archive stores of it: itself, where its values are arrays or tensors."""
        return self

    def __reduce_ex__(self, protocol: Any) -> Any:
        return self.copy().__reduce_ex__(protocol)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __or__(self, other: Any) -> Any:
        return self.copy() | other

    def __ror__(self, other: Any) -> Any:
        return other | dict(self.items())

    def _refuse(self, *args: Any, **values: Any) -> NoReturn:
        """Raise ArgumentError: what was written to a file stays as it is."""
        raise ArgumentError("a state dict in a file cannot be changed; .copy() gives an OrderedDict that can")

    __setitem__ = __delitem__ = __ior__ = pop = popitem = clear = update = setdefault = _refuse
