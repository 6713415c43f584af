"""A warning names the line of the caller, not one of ours."""

from __future__ import annotations

from typing import Any

from packager._process import callers_level


def test_the_level_of_a_warning_is_that_of_the_first_line_outside_of_the_package() -> None:
    def through(*names: str) -> Any:
        """Ask from functions of modules of these names, which call each other."""
        ask: Any = callers_level
        for name in names:
            namespace: dict[str, Any] = {"__name__": name, "ask": ask}
            exec("def ask_for(ask):\n    return lambda: ask()\nasked = ask_for(ask)", namespace)
            ask = namespace["asked"]
        return ask()

    assert through() == 1
    assert through("packager") == 2
    assert through("packager._loading.far", "packager") == 3
    assert through("contextlib", "packager") == 3
    assert through("packagerx.loading") == 1
    assert through("packager._loading", "far", "packager") == 2
