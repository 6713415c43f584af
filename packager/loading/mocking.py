"""What stands in for a mocked module: every attribute exists, and using one says that it was mocked.

Source: torch.package's mocked modules; as there, calling a mocked attribute is a NotImplementedError.
Here it is also one to inherit from it, and the message names the rule's way out.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any, NoReturn

# What `import` and `inspect` ask of any module: a mock must not claim to have it.
_NOT_MOCKED = ("__path__", "__all__", "__wrapped__", "__file__", "__getattr__")


class MockedObject:
    """A name of a mocked module: it can be passed around and looked into, but not used."""

    def __init__(self, name: str) -> None:
        self.__dict__["_mocked_name"] = name

    def __getattr__(self, attribute: str) -> MockedObject:
        if attribute.startswith("__") and attribute.endswith("__"):
            raise AttributeError(attribute)
        return MockedObject(f"{self._mocked_name}.{attribute}")

    def __repr__(self) -> str:
        return f"<mocked {self._mocked_name}>"

    def _refuse(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise NotImplementedError(
            f"{self._mocked_name!r} was mocked out when the archive was made, and is used now; "
            "export again with intern or extern for its module"
        )

    __call__ = __mro_entries__ = __iter__ = __len__ = __getitem__ = __setitem__ = __contains__ = _refuse
    __setattr__ = __delattr__ = __enter__ = __exit__ = __bool__ = __int__ = __float__ = __index__ = _refuse
    __add__ = __sub__ = __mul__ = __truediv__ = __floordiv__ = __mod__ = __matmul__ = __pow__ = _refuse
    __radd__ = __rsub__ = __rmul__ = __rtruediv__ = __neg__ = __lt__ = __le__ = __gt__ = __ge__ = _refuse


def fill_mock(module: ModuleType, true_name: str) -> None:
    """Make `module` a mock of `true_name`: a module-level `__getattr__` that gives mocked objects."""

    def mocked_attribute(attribute: str) -> MockedObject:
        if attribute in _NOT_MOCKED:
            raise AttributeError(attribute)
        return MockedObject(f"{true_name}.{attribute}")

    module.__dict__["__getattr__"] = mocked_attribute
