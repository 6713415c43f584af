"""Make a release: refuse what may not be one, build it twice, look into it, and try it on every Python.

    make release [TAG=v0.1.0] [WHOLE=yes]

The reasons to refuse stand in release_problems.py. The wheel is installed from nothing on each Python that
is here, where the README's examples, the demo of hooks and some tests run (WHOLE=yes: all tests, and the
large demo). `dist` gets both distributions, a bill of materials and SHA256SUMS, and nothing is published.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

from packaging.metadata import parse_email
from release_problems import ROOT, problems, said, version_of

DIST = ROOT / "dist"
VERSION = version_of(ROOT)
# Golden archives by both readers, the API, the README, and the two calls that users begin with.
TESTS = (
    "tests/archive/test_golden.py tests/archive/test_second_reader.py tests/flows/test_golden_model.py "
    "tests/flows/test_golden_signed.py tests/architecture/test_public_api.py tests/one_object "
    "tests/architecture/test_examples.py::test_the_readme_runs_without_torch"
).split()


def main(tag: str, *, whole: bool) -> None:
    """Make the release, or say why not."""
    if found := [*problems(ROOT, tag)]:
        sys.exit("Not released:\n" + "\n".join(f"- {one}" for one in found))
    with tempfile.TemporaryDirectory(prefix="kellet-release-") as folder:
        first, second = Path(folder, "first"), Path(folder, "second")
        builds = [build(first), build(second)]
        if builds[0] != builds[1]:
            sys.exit(f"Not released: two builds differ.\n{builds[0]}{builds[1]}")
        shutil.rmtree(DIST, ignore_errors=True)
        shutil.copytree(first / "dist", DIST)
        check_contents()
        for package in ("src", "packager"):  # so that the wheel is what is imported
            shutil.rmtree(first / package)
        for version, python in pythons():
            print(f"--- the wheel from nothing on Python {version}", flush=True)
            try_wheel(first, Path(folder, version), python, whole=whole)
    text = sums(DIST)
    (DIST / "SHA256SUMS").write_text(text, encoding="utf-8")
    print(f"dist is release {VERSION}:\n{text}", end="")


def build(clone: Path) -> str:
    """Build both distributions from a clean clone of the last commit; return their digests."""
    run("git", "clone", "-q", "--no-local", str(ROOT), str(clone))
    stamp = said(ROOT, "git", "log", "-1", "--format=%ct").strip()
    run(sys.executable, "-m", "build", "-o", "dist", ".", cwd=clone, quiet=True, SOURCE_DATE_EPOCH=stamp)
    return sums(clone / "dist")


def check_contents() -> None:
    """Refuse a wheel that lacks files, that an index would not take, or whose README leads nowhere."""
    run(sys.executable, ".ci/check_wheel.py", "dist")
    with zipfile.ZipFile(next(DIST.glob("*.whl"))) as archive:
        raw, unknown = parse_email(archive.read(f"kellet-{VERSION}.dist-info/METADATA"))
    prose = re.sub(r"^```.*?^```", "", raw.get("description", ""), flags=re.M | re.S)
    links = [place for place in re.findall(r"\]\(([^)]+)\)", prose) if not place.startswith(("https:", "#"))]
    told = raw.get("name"), raw.get("version"), raw.get("license_expression")
    if told != ("kellet", VERSION, "Apache-2.0") or unknown or links or not prose:
        sys.exit(f"Not released: METADATA has {told}, {unknown or 'no unknown field'}, links {links}")


def pythons() -> Iterator[tuple[str, str]]:
    """Yield version and path of the classifiers' Pythons; say which are not on this machine."""
    for version in re.findall(r'Python :: (3\.\d+)"', (ROOT / "pyproject.toml").read_text(encoding="utf-8")):
        found = subprocess.run(
            [".ci/find-python", version], cwd=ROOT, capture_output=True, text=True, check=False
        )
        if found.returncode == 0:
            yield version, found.stdout.strip()
        else:
            print(f"NOT TRIED: there is no Python {version} here.")


def try_wheel(clone: Path, environment: Path, python: str, *, whole: bool) -> None:
    """Install the wheel from nothing with one Python, and run there what users and the tests do."""
    own = str(environment / "bin" / "python")

    def install(*what: str) -> None:
        run(sys.executable, "-m", "pip", "--python", own, "install", "-q", *what, cwd=clone)

    run(python, "-m", "venv", "--without-pip", str(environment))
    install(str(next(DIST.glob("*.whl"))))
    bill = DIST / f"kellet-{VERSION}.cdx.json"
    if not bill.exists():  # kellet and what it requires: all that is there yet
        options = "environment --of JSON --output-reproducible --mc-type library --pyproject pyproject.toml"
        run(sys.executable, "-m", "cyclonedx_py", *options.split(), "-o", str(bill), own)
    run(own, "-m", "packager", "--version", cwd=clone)
    run(own, "fixtures/demo/train.py", cwd=clone, quiet=True)
    install("-r", "requirements/test-core.txt", "scikit-learn", "cryptography")
    run(own, "-m", "pytest", "-q", "-p", "no:cacheprovider", *TESTS, cwd=clone)
    if whole:
        install("-r", "requirements/test.txt", "-r", "requirements/demo.txt")
        install("--no-deps", "-r", "fixtures/models/weights.txt")
        tests = ("tests", "--ignore=tests/architecture", "--ignore=tests/mutants")
        run(
            own,
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            "-n",
            "2",
            "--dist",
            "worksteal",
            *tests,
            cwd=clone,
        )
        run(own, "fixtures/demo/minilm.py", cwd=clone)


def run(*command: str, cwd: Path = ROOT, quiet: bool = False, **variables: str) -> None:
    """Run a command without the caller's paths; where it fails, end with what it printed."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    out = subprocess.PIPE if quiet else None
    done = subprocess.run(
        command, cwd=cwd, env=kept | variables, stdin=subprocess.DEVNULL, stdout=out, stderr=out, check=False
    )
    if done.returncode:
        printed = b"".join(part or b"" for part in (done.stdout, done.stderr)).decode()
        sys.exit(f"{printed}Not released: this failed: {' '.join(command)}")


def sums(folder: Path) -> str:
    """Return a line for each file, with its sha256, as sha256sum writes and checks them."""
    found = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(folder.iterdir())}
    return "".join(f"{digest}  {name}\n" for name, digest in found.items())


if __name__ == "__main__":
    main(os.environ.get("TAG", ""), whole=bool(os.environ.get("WHOLE")))
