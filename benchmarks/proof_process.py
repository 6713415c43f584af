"""The fresh processes of a proof: one order on standard input, one line of JSON as the answer.

Run as a file with `-S -P`, so that nothing can be imported but what the order's path names.
"""

from __future__ import annotations

import json
import sys
from typing import Any


def main() -> None:
    order = json.load(sys.stdin)
    sys.path[:] = order["path"]
    answer = {"installed": _run_installed, "export": _export, "loaded": _run_loaded}[order["step"]](order)
    print("ANSWER " + json.dumps(answer))


def _run_installed(order: dict[str, Any]) -> Any:
    """Run the program as anybody would; name the modules of the package that it used."""
    scope = _built(order)
    _execute(order["program"], scope)
    return {"output": scope["output"], "used": _loaded_below(order["package"])}


def _export(order: dict[str, Any]) -> Any:
    """Export with `policy="auto"` and one rule, timing what it takes to know the plan."""
    scope = _built(order)
    from time import perf_counter

    from packager import PackageExporter

    started = perf_counter()
    with PackageExporter(order["archive"], policy="auto") as exporter:
        exporter.intern(f"{order['package']}.**")
        for module in order["roots"]:
            exporter.save_module(module)
        if "model" in scope:
            exporter.save_object("model", "model", scope["model"])
        plan = exporter.plan()
        seconds = perf_counter() - started
    # Packages without a source of their own (folders) count on both sides.
    stored = [module.name for module in plan.by_action("intern") if _is_below(module.name, order["package"])]
    return {"seconds": seconds, "stored": stored}


def _run_loaded(order: dict[str, Any]) -> Any:
    """Run the program from the archive, where the package cannot be found otherwise."""
    from importlib.util import find_spec

    from packager import PackageImporter

    if find_spec(order["package"]) is not None:
        raise RuntimeError(f"{order['package']} can still be found without the archive")
    importer = PackageImporter(order["archive"], environment="error").install()
    scope = {"__name__": "__main__"}
    if order["build"]:
        scope["model"] = importer.load_object("model", "model")
    _execute(order["program"], scope)
    return {"output": scope["output"], "used": _loaded_below(order["package"])}


def _built(order: dict[str, Any]) -> dict[str, Any]:
    scope: dict[str, Any] = {"__name__": "__main__"}
    _execute(order["build"], scope)
    return scope


def _execute(program: str, scope: dict[str, Any]) -> None:
    exec(compile(program, "<program>", "exec"), scope)


def _loaded_below(package: str) -> list[str]:
    return sorted(name for name in sys.modules if _is_below(name, package))


def _is_below(name: str, package: str) -> bool:
    return name == package or name.startswith(f"{package}.")


if __name__ == "__main__":
    main()
