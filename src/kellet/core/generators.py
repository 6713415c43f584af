"""Sources of random numbers: `Generator`, and the one of the process.

NumPy's own generators are made when a number is drawn: they take as long to import as half of the
rest of kellet.
"""

from __future__ import annotations

import os
import threading
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np

from ..autograd.bridge import wrap
from .device import Device, check_device

if TYPE_CHECKING:
    from .tensor import Tensor


class Generator:
    """A source of random numbers with a seed and a state of its own, for functions that take `generator=`.

    Its numbers are those of NumPy's PCG64, not PyTorch's: equal seeds give equal numbers here, and others
    there. Threads take turns.

    Source: torch.Generator; there is one device.

    >>> one, other = kellet.Generator().manual_seed(7), kellet.Generator().manual_seed(7)
    >>> kellet.equal(kellet.rand(3, generator=one), kellet.rand(3, generator=other))
    True
    """

    def __init__(self, device: Any = None) -> None:
        check_device(device)
        self._lock = threading.Lock()
        self.manual_seed(_unchosen())

    def manual_seed(self, seed: int) -> Generator:
        """Start anew from a seed: equal seeds, equal numbers. Returns the generator."""
        self._seed = int(seed) % 2**64
        self._made: np.random.Generator | None = None
        return self

    def seed(self) -> int:
        """Start again from a random seed, and return it."""
        self.manual_seed(_unchosen())
        return self._seed

    def initial_seed(self) -> int:
        """Return the seed in use."""
        return self._seed

    def get_state(self) -> Tensor:
        """Return where the generator stands, as a tensor of bytes."""
        known: Any = self.numpy().bit_generator.state
        numbers = (self._seed, known["state"]["state"], known["state"]["inc"], known["uinteger"])
        data = b"".join(n.to_bytes(size, "little") for n, size in zip(numbers, _SIZES, strict=True))
        state = np.frombuffer(data + bytes([known["has_uint32"]]), np.uint8).copy()
        return wrap(state)  # type: ignore[return-value]  # wrap makes Tensors

    def set_state(self, new_state: Tensor) -> Generator:
        """Take up the state that `get_state` gave. Returns the generator.

        Raises ValueError for a tensor that is not such a state.
        """
        data = new_state._array.tobytes() if new_state._array.dtype == np.uint8 else b""
        if len(data) != sum(_SIZES) + 1 or data[-1] > 1:
            raise ValueError(
                f"found a tensor of {new_state.dtype}, shape {tuple(new_state.shape)}; expected the state "
                f"of a generator: uint8, {sum(_SIZES) + 1} bytes"
            )
        starts = accumulate(_SIZES, initial=0)
        numbers = [
            int.from_bytes(data[at : at + size], "little") for at, size in zip(starts, _SIZES, strict=False)
        ]
        self.manual_seed(numbers[0])
        self.numpy().bit_generator.state = {
            "bit_generator": "PCG64",
            "state": {"state": numbers[1], "inc": numbers[2] | 1},
            "has_uint32": data[-1],
            "uinteger": numbers[3],
        }
        return self

    @property
    def device(self) -> Device:
        """The device: the CPU."""
        return Device("cpu")

    def numpy(self) -> np.random.Generator:
        """Return NumPy's generator behind it, for a distribution that is not here."""
        with self._lock:
            return self._source()

    def _draw(self, method: str, *args: Any) -> Any:
        with self._lock:
            return getattr(self._source(), method)(*args)

    def _source(self) -> np.random.Generator:
        """Return NumPy's generator, made from the seed on first use; the lock is held."""
        made = self._made
        if made is None:
            made = self._made = np.random.Generator(np.random.PCG64(self._seed))
        return made

    def __getstate__(self) -> dict[str, Any]:
        return {"state": self.get_state()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._lock = threading.Lock()
        self.set_state(state["state"])


def _unchosen() -> int:
    """Return a random seed."""
    return int.from_bytes(os.urandom(8), "little") >> 1


# Bytes of the seed, of PCG64's state and increment, and of a number that is left over.
_SIZES = (8, 16, 16, 4)
default_generator = Generator()
"""The generator of the process: what draws where no other one is named."""
