"""Scripts in processes of their own, which export, and an empty folder where what they wrote is loaded."""

from __future__ import annotations

import os
import sys
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests import processes

SHELL = """
import ast, codeop, re, sys
In, Out = [""], {}
get_ipython = lambda: None
def show(value):
    globals()["_"] = Out[len(In) - 1] = value
sys.displayhook = show
compiled = codeop.Compile()
for cell in CELLS:
    In.append(cell)
    text = "" if cell.startswith("%%bash") else re.sub("(?m)^%time |^[%!].*", "", cell)
    try:
        for node in ast.parse(text).body:
            exec(compiled(ast.Interactive([node]), f"<cell {len(In) - 1}>", "single"), globals())
    except (SyntaxError, ZeroDivisionError):
        pass
"""
"""A program that runs cells as a notebook does: each statement is a text of its own, results are kept."""


class Scripts:
    """A folder with scripts and modules that are run, and an empty one in which what they wrote is loaded."""

    def __init__(self, folder: Path) -> None:
        self.here, self.elsewhere = folder / "here", folder / "elsewhere"
        self.file = folder / "out.kellet"
        self.here.mkdir()
        self.elsewhere.mkdir()
        self._env = {**os.environ, "XDG_CACHE_HOME": str(folder / "cache"), "OUT": str(self.file)}

    def write(self, tree: Mapping[str, str]) -> None:
        """Write files, by their paths."""
        for name, text in tree.items():
            path = self.here / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(textwrap.dedent(text).lstrip("\n"))

    def export(
        self,
        script: str,
        *paste: str,
        arguments: Sequence[str] = (),
        guarded: bool = True,
        module: str = "",
    ) -> str:
        """Run a script that makes `model`, and then saves it; return what it prints, an error too.

        `paste` are lines that an earlier run said to paste. What saves stands in the main block where the
        script is `guarded`. `python -m` runs it as `module`. Every warning is an error.
        """
        text = "\n".join([textwrap.dedent(script).strip(), *self._saving(guarded, paste), ""])
        self.write({f"{module.replace('.', '/') or 'script'}.py": text})
        how = ["-m", module] if module else ["script.py"]
        return self._run(*how, *arguments, cwd=self.here)

    def export_cells(self, *cells: str) -> str:
        """Run cells, each as a text of its own as a notebook does, and save `model` in a last one."""
        every = [*cells, "\n".join(self._saving(guarded=False))]
        return self._run("-c", f"CELLS = {every!r}\n{SHELL}", cwd=self.here)

    def _saving(self, guarded: bool, paste: Sequence[str] = ()) -> list[str]:
        self.file.unlink(missing_ok=True)
        return [
            "if __name__ == '__main__':" if guarded else "if True:",
            "    import os",
            "    from packager import PackageExporter, PackagingError, PackagingWarning",
            "    try:",
            "        with PackageExporter(os.environ['OUT'], policy='auto') as exporter:",
            *(f"            {line}" for line in paste),
            "            exporter.save_object('model', 'model', model)",
            "    except (PackagingError, PackagingWarning) as error:",
            "        print(error)",
        ]

    def load(self, program: str) -> str:
        """Print what an expression of the loaded `model` gives, where there is only the archive."""
        lines = [
            "import os, sys",
            "from packager import PackageImporter",
            "with PackageImporter(os.environ['OUT']) as importer:",
            "    model = importer.load_object('model', 'model')",
            f"    print({program})",
        ]
        return self._run("-c", "\n".join(lines), cwd=self.elsewhere)

    def _run(self, *arguments: str, cwd: Path) -> str:
        command = [sys.executable, *processes.STRICT, *arguments]
        done = processes.run(command, capture_output=True, text=True, check=False, cwd=cwd, env=self._env)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()
