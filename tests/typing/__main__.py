"""Ask mypy --strict and pyright about a user's script and about ten mistakes: `python -m tests.typing`.

The first of the files must have no error, and the second an error at each line marked `# mistake`, and
nowhere else. pyright is that of basedpyright, whose wheels bring what it runs on: nothing is downloaded.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
Found = dict[str, dict[int, str]]
"""The errors of each file, by line."""


def mypy(files: list[Path]) -> Found:
    """Return what `mypy --strict` finds in the files."""
    lines = _output("mypy", "--strict", "--output=json", *map(str, files)).splitlines()
    found: Found = {file.name: {} for file in files}
    for one in map(json.loads, lines):
        if one["severity"] == "error":
            found[Path(one["file"]).name].setdefault(one["line"], one["message"])
    return found


def pyright(files: list[Path]) -> Found:
    """Return what pyright finds in the files, strict as a user's project may be."""
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder, "pyrightconfig.json")
        paths = [str(ROOT), str(ROOT / "src")]
        said = {"typeCheckingMode": "strict", "extraPaths": paths, "include": [str(one) for one in files]}
        # A name that is not there has an unknown type, which would be said again wherever it is used.
        said |= dict.fromkeys(("reportUnknownArgumentType", "reportUnknownVariableType"), False)
        said |= dict.fromkeys(("reportUnknownMemberType", "reportUnusedImport"), False)
        config.write_text(json.dumps(said), encoding="utf-8")
        answer = json.loads(_output("basedpyright", "--outputjson", "--project", str(config)))
    found: Found = {file.name: {} for file in files}
    for one in answer["generalDiagnostics"]:
        if one["severity"] == "error":
            line = one["range"]["start"]["line"] + 1
            found[Path(one["file"]).name].setdefault(line, one["message"].splitlines()[0])
    return found


def _output(module: str, *arguments: str) -> str:
    command = [sys.executable, "-m", module, *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode > 1 or done.stderr:
        raise SystemExit(f"{' '.join(command)}: {done.stderr or done.stdout}")
    return done.stdout


def wanted(file: Path) -> set[int]:
    """Return the numbers of the lines that are marked as mistakes."""
    lines = file.read_text(encoding="utf-8").splitlines()
    return {number for number, line in enumerate(lines, 1) if "  # mistake: " in line}


def main() -> int:
    """Print what each checker says that it should not, or leaves out; return 1 where there is any."""
    files = [HERE / "user_script.py", HERE / "typos.py"]
    wrong = 0
    for checker in (mypy, pyright):
        found = checker(files)
        for file in files:
            marked = wanted(file)
            for line in sorted(marked ^ set(found[file.name])):
                wrong += 1
                said = found[file.name].get(line, "finds no mistake here")
                print(f"{file.relative_to(ROOT)}:{line}: {checker.__name__}: {said}")
            met = len(marked & set(found[file.name]))
            print(f"{checker.__name__}: {file.name}: {met} of {len(marked)} mistakes found")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
