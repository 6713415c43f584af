"""Scripts in processes of their own, which export, and an empty folder where what they wrote is loaded."""

from __future__ import annotations

import os
import sys
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests import processes


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

    def export(self, script: str, *paste: str, arguments: Sequence[str] = (), guarded: bool = True) -> str:
        """Run a script that makes `model`, and then saves it; return what it prints, an error too.

        `paste` are lines that an earlier run said to paste. What saves stands in the main block where the
        script is `guarded`. Every warning is an error.
        """
        saving = [
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
        self.file.unlink(missing_ok=True)
        self.write({"script.py": "\n".join([textwrap.dedent(script).strip(), *saving, ""])})
        return self._run("script.py", *arguments, cwd=self.here)

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
