"""Write down PyTorch's public names, and in the guide those that kellet does not have.

Run it where torch is installed, in its version of the tests, after names came or went:

    python docs/list_names.py

It writes src/kellet/torch_names.py, src/kellet/core/absent_names.py and the last section of
docs/guides/from-pytorch.md; with `--check` it writes nothing and says what is out of date;
tests/parity/test_absent_names.py says when one of them is out of date.
"""

from __future__ import annotations

import importlib
import inspect
import sys
import textwrap
import warnings
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
TABLE = ROOT / "src" / "kellet" / "torch_names.py"
ABSENT = ROOT / "src" / "kellet" / "core" / "absent_names.py"
GUIDE = ROOT / "docs" / "guides" / "from-pytorch.md"
HEADING = "## Names of PyTorch that are absent"

PLACES = (
    *("", "Tensor", "nn", "nn.Module", "nn.functional", "nn.init", "nn.utils", "optim"),
    *("optim.lr_scheduler", "utils.data", "autograd", "autograd.graph", "linalg", "cuda"),
    *("distributed", "nn.parallel"),
)
"""Where names are looked for, below `torch` and below `kellet`."""


def found(root: str, place: str) -> Any:
    """Return the module or class at `place` in the library `root`."""
    try:
        return importlib.import_module(f"{root}.{place}" if place else root)
    except ImportError:
        parent, _, name = place.rpartition(".")
        return getattr(found(root, parent), name)


def public_names(place: str) -> list[str]:
    """Return the names that PyTorch offers at `place`: functions, classes, and for the root submodules."""
    holder = found("torch", place)
    return sorted(
        name
        for name in dir(holder)
        if not name.startswith("_")
        and not (inspect.ismodule(holder) and _is_foreign(getattr(holder, name), place))
        and not (place == "" and name[0].isupper() and name.endswith(("Storage", "Type")))
    )


def _is_foreign(value: Any, place: str) -> bool:
    """Whether a name of a module is there by an import of its own."""
    if inspect.ismodule(value):
        return place != "" or not value.__name__.startswith("torch.")
    owner = getattr(value, "__module__", None) or "torch"
    return not owner.startswith(("torch", "builtins")) or owner in ("typing", "builtins.type")


def absent(place: str) -> list[str]:
    """Return the names at `place` that kellet does not have."""
    holder = found("kellet", place)
    return [name for name in public_names(place) if not hasattr(holder, name)]


def table() -> str:
    """Return the text of src/kellet/torch_names.py."""
    lines = [
        '"""PyTorch\'s public names, for those who ask kellet for one that it does not have.',
        "",
        "Written by docs/list_names.py; read when an attribute is missing, and never else.",
        '"""',
        "",
        "from __future__ import annotations",
        "",
        "# fmt: off",
        "TORCH_NAMES: dict[str, frozenset[str]] = {place: frozenset(names.split()) for place, names in {",
    ]
    for place in PLACES:
        lines.append(f'    "{place}": """')
        lines += textwrap.wrap(" ".join(public_names(place)), 106, break_on_hyphens=False)
        lines.append('""",')
    return "\n".join([*lines, "}.items()}", "# fmt: on", ""])


def absent_methods() -> str:
    """Return the text of src/kellet/core/absent_names.py."""
    lines = [
        '"""PyTorch\'s names of tensors that kellet\'s do not have; written by docs/list_names.py."""',
        "",
        "from __future__ import annotations",
        "",
        "# fmt: off",
        'ABSENT_NAMES: frozenset[str] = frozenset("""',
        *textwrap.wrap(" ".join(absent("Tensor")), 106, break_on_hyphens=False),
        '""".split())',
        "# fmt: on",
    ]
    return "\n".join([*lines, ""])


def section() -> str:
    """Return the last section of the guide."""
    parts = [
        HEADING,
        "",
        "Asking for one of them raises an `AttributeError` that leads here. Of PyTorch's submodules only",
        "those named above have a counterpart. The list is made by `docs/list_names.py` from torch itself.",
    ]
    for place in PLACES:
        names = ", ".join(f"`{name}`" for name in absent(place))
        title = f"kellet.{place}".rstrip(".")
        wrapped = textwrap.wrap(names or "none", 110, break_on_hyphens=False)
        parts += ["", f"### `{title}`", "", *wrapped]
    return "\n".join([*parts, ""])


def guide_with(text: str) -> str:
    """Return the guide with its last section as it is now."""
    return text[: text.index(HEADING)] + section()


def main(arguments: list[str]) -> str:
    """Write the files, or with `--check` return which of them are out of date."""
    stale = []
    guide = guide_with(GUIDE.read_text(encoding="utf-8"))
    for path, text in ((TABLE, table()), (ABSENT, absent_methods()), (GUIDE, guide)):
        if "--check" not in arguments:
            path.write_text(text, encoding="utf-8")
        elif path.read_text(encoding="utf-8") != text:
            stale.append(path.name)
    return f"out of date, run docs/list_names.py: {', '.join(stale)}" if stale else ""


if __name__ == "__main__":
    warnings.simplefilter("ignore", FutureWarning)  # of names that are looked at, and deprecated
    sys.exit(main(sys.argv[1:]) or 0)
