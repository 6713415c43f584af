"""Archive to modules and objects: packaged code under names of its own, isolated and importable."""

from .world import World as World

__all__ = ["World"]
