"""Processes that `multiprocessing` starts anew: Windows knows neither fork nor a server that forks."""

from __future__ import annotations

from types import ModuleType

CONTEXTS = "multiprocessing.context"


def spawn_alone(contexts: ModuleType) -> None:
    """Leave `spawn` to `multiprocessing.context`, just run, as the one way to start processes."""

    class DefaultContext(contexts.DefaultContext):  # type: ignore[misc, name-defined]  # a class of its own
        def get_all_start_methods(self) -> list[str]:
            return ["spawn"]

    spawn = contexts._concrete_contexts["spawn"]
    contexts._concrete_contexts = {"spawn": spawn}
    contexts._default_context = DefaultContext(spawn)
