"""Check what `make wheel` has built: all of both packages, and nothing else.

python .ci/check_wheel.py dist
"""

from __future__ import annotations

import sys
import tarfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = {"kellet": ROOT / "src" / "kellet", "packager": ROOT / "packager"}


def main(folder: Path) -> int:
    wheel, sdist = (_only(folder, pattern) for pattern in ("*.whl", "*.tar.gz"))
    problems = [*_wheel_problems(wheel), *_sdist_problems(sdist)]
    for problem in problems:
        print(problem)
    if not problems:
        print(
            f"{wheel.name}: {wheel.stat().st_size / 1024:.0f} KiB, {len(_expected())} files of both packages."
        )
    return 1 if problems else 0


def _only(folder: Path, pattern: str) -> Path:
    found = sorted(folder.glob(pattern))
    if len(found) != 1:
        raise SystemExit(f"{folder} must hold exactly one {pattern}, found {[path.name for path in found]}")
    return found[0]


def _expected() -> set[str]:
    return {
        f"{package}/{path.relative_to(folder).as_posix()}"
        for package, folder in PACKAGES.items()
        for path in folder.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


def _wheel_problems(wheel: Path) -> list[str]:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        code = {name for name in names if ".dist-info/" not in name}
        about = {name.split(".dist-info/", 1)[1]: archive.read(name) for name in names - code}
    problems = [f"the wheel lacks {name}" for name in sorted(_expected() - code)]
    problems += [f"the wheel carries {name}" for name in sorted(code - _expected())]
    problems += [
        f"the wheel lacks {name}" for name in ("LICENSE", "NOTICE") if f"licenses/{name}" not in about
    ]
    if b"License-Expression: Apache-2.0" not in about["METADATA"]:
        problems.append("the wheel does not say that its licence is Apache-2.0")
    return problems


def _sdist_problems(sdist: Path) -> list[str]:
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    wanted = {"pyproject.toml", "README.md", "CHANGELOG.md", "LICENSE", "NOTICE"}
    wanted |= {f"src/{name}" if name.startswith("kellet/") else name for name in _expected()}
    return [f"the sdist lacks {name}" for name in sorted(wanted - names)]


if __name__ == "__main__":
    raise SystemExit(main(Path(sys.argv[1])))
