"""Write `docs/pytorch-habits.md`: what people write first in PyTorch, run there and here.

    python docs/habits.py

The habits are the lines of `fixtures/habits/habits.txt`, each with `torch` for either library; a backslash
and an n stand for a new line. The names are those that PyTorch's tutorials and examples use most, as
docs/count_habits.py counts them, and others from memory. What the last expression gives is compared: shapes,
dtypes and values of tensors, everything else by equality.
"""

from __future__ import annotations

import ast
import copy
import importlib
import io
import re
import warnings
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from count_habits import LEAST, names_in, table

ROOT = Path(__file__).resolve().parents[1]
HABITS = ROOT / "fixtures" / "habits" / "habits.txt"
PAGE = ROOT / "docs" / "pytorch-habits.md"
SPELLINGS = "utils.data utils.checkpoint utils.benchmark optim.swa_utils profiler func".split()

HEAD = """# Habits of PyTorch, tried

Written by `python docs/habits.py`: each line runs in PyTorch and, with `torch` meaning `kellet`, here; what
it gives is compared, up to rounding. Every name that {least} or more of the files of PyTorch's tutorials and
examples use is in a line, as `docs/count_habits.py` counts (`fixtures/habits/counts.txt`), and many others.
`a` and `b` are tensors of shape (2, 3), `m` of (3, 3), `v` and the leaf `w` of (3,), `i` integers, `img` of
(2, 3, 8, 8), `q` of (5, 1, 4), and `net` a `Sequential`.

Of {all} habits **{works} work** as they are. Of the {often} names that are counted so, {absent} are absent.
"""


@dataclass(frozen=True)
class Habit:
    """One line, its theme, and what came of it here: nothing where it gives what it gives in PyTorch."""

    theme: str
    code: str
    wrong: str = ""


def habits() -> Iterator[Habit]:
    """Read the lines of the file; a line behind an empty one is the theme of those that follow."""
    for part in HABITS.read_text(encoding="utf-8").strip().split("\n\n"):
        theme, *lines = part.splitlines()
        yield from (Habit(theme, line) for line in lines)


def names_of(habit: Habit) -> set[str]:
    """Return the names of PyTorch that a line uses."""
    known = {"torch": "torch", "nn": "torch.nn", "F": "torch.nn.functional", "optim": "torch.optim"}
    return names_in(habit.code.replace(" \\n ", "\n"), known)


def names_used_often() -> set[str]:
    """Return the names that so many files use that each has to be in a line."""
    return {name for name, count in table().items() if count >= LEAST}


def tried(habit: Habit) -> Habit:
    """Run a habit in both libraries; what PyTorch itself refuses raises."""
    expected = _run(habit.code, "torch")
    try:
        found = _run(habit.code, "kellet")
    except Exception as error:
        return Habit(habit.theme, habit.code, _in_short(error))
    return Habit(habit.theme, habit.code, "" if _same(found, expected) else "gives something else")


def _in_short(error: Exception) -> str:
    if isinstance(error, AttributeError | ModuleNotFoundError):
        reason = re.search(r"PyTorch has it; (.+); see the guide", str(error))
        return f"is not here: {reason[1]}" if reason else "is not here"
    return f"{type(error).__name__}: {str(error).splitlines()[0]}".replace("|", "\\|").replace("`", "'")


def _run(code: str, name: str) -> Any:
    """Run the code; return what its last expression gives, None where it ends in none."""
    body = ast.parse(code.replace(" \\n ", "\n")).body
    last = body.pop() if isinstance(body[-1], ast.Expr) else None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        space = _names(name)
        exec(compile(ast.Module(body, []), "<habit>", "exec"), space)
        return None if last is None else eval(compile(ast.Expression(last.value), "<habit>", "eval"), space)


def _names(name: str) -> dict[str, Any]:
    library = importlib.import_module(name)
    for part in SPELLINGS:
        with suppress(ImportError):  # then the habit says that it is not here
            importlib.import_module(f"{name}.{part}")
    nn = importlib.import_module(f"{name}.nn")
    rng = np.random.default_rng(5)

    def real(*shape: int) -> Any:
        return library.from_numpy(rng.standard_normal(shape).astype(np.float32))

    return {
        "torch": library,
        "nn": nn,
        "F": importlib.import_module(f"{name}.nn.functional"),
        "optim": importlib.import_module(f"{name}.optim"),
        "np": np,
        "copy": copy,
        "io": io,
        "a": real(2, 3),
        "b": real(2, 3),
        "m": real(3, 3),
        "v": real(3),
        "w": real(3).requires_grad_(),
        "i": library.from_numpy(np.array([1, 4, 1, 7])),
        "img": real(2, 3, 8, 8),
        "q": real(5, 1, 4),
        "net": nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2)),
    }


def _same(found: Any, expected: Any) -> bool:
    if hasattr(expected, "detach"):
        if not hasattr(found, "detach"):
            return False
        ours, theirs = found.detach().numpy(), expected.detach().numpy()
        return (
            ours.dtype == theirs.dtype
            and ours.shape == theirs.shape
            and np.allclose(ours, theirs, 1e-4, 1e-5, equal_nan=True)
        )
    if isinstance(expected, np.ndarray):
        return bool(np.allclose(found, expected, 1e-4, 1e-5))
    if isinstance(expected, list | tuple):
        return len(found) == len(expected) and all(map(_same, found, expected))
    if isinstance(expected, float):
        return bool(np.isclose(found, expected, 1e-5, 0))
    return bool(found == expected)


def page(outcomes: list[Habit]) -> str:
    """Return the page for what came of the habits."""
    working = [one for one in outcomes if not one.wrong]
    often = names_used_often()
    absent = often - {name for one in working for name in names_of(one)}
    numbers = {"all": len(outcomes), "works": len(working), "often": len(often), "absent": len(absent)}
    lines = [HEAD.format(**numbers, least=LEAST)]
    theme = ""
    for one in outcomes:
        if one.theme != theme:
            theme = one.theme
            lines.append(f"\n## {theme}\n\n| habit | here |\n|---|---|")
        code = one.code.replace("|", "\\|").replace(" \\n ", "; ")
        lines.append(f"| `{code}` | {one.wrong or 'works'} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Write the page, and print how many habits work."""
    outcomes = [tried(habit) for habit in habits()]
    PAGE.write_text(page(outcomes), encoding="utf-8")
    print(f"{sum(not one.wrong for one in outcomes)} of {len(outcomes)} work; written to {PAGE.name}")


if __name__ == "__main__":
    main()
