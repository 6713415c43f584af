"""The sampler for several processes, in the place where torch has it; see `kellet.data`."""

from ...data import DistributedSampler as DistributedSampler

__all__ = ["DistributedSampler"]
