"""Code of a model that ends the process has failed: with a place, and an exit code that is not 0."""

from __future__ import annotations

import io
import re
import signal
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from packager import PackageExporter, PackageImporter
from packager._analysis import TraceError, trace_call
from packager._cli import main
from packager._cli.runnable import main as run_archive
from packager._process import AnswerRequired
from packager.errors import CodeExitError, PackageError

pytestmark = pytest.mark.processes(share=3)

Project = Callable[[Mapping[str, str]], Path]
Run = Callable[..., tuple[int, str]]

# How code can end, and how the message spells it.
ENDS = {
    "sys.exit()": "SystemExit()",
    "sys.exit(0)": "SystemExit(0)",
    "sys.exit('enough')": "SystemExit('enough')",
    "raise SystemExit(None)": "SystemExit(None)",
    "raise SystemExit(np.ones(2))": "SystemExit(...)",
    "raise KeyboardInterrupt": "KeyboardInterrupt()",
    "raise GeneratorExit": "GeneratorExit()",
    "raise Enough(3)": "exitshop.ends.Enough(3)",
    "argparse.ArgumentParser().parse_args(['--help'])": "SystemExit(0)",
}
PLACES = ("import", "factory", "state_dict", "load_state_dict", "forward")
NET = """
import numpy as np
from kellet import nn
from .ends import end
end("import")

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 1)
    def state_dict(self, *args, **more):
        end("state_dict")
        return super().state_dict(*args, **more)
    def load_state_dict(self, *args, **more):
        end("load_state_dict")
        return super().load_state_dict(*args, **more)
    def eval(self):
        end("eval")
        return super().eval()
    def forward(self, x):
        end("forward")
        return self.layer(x)

def build():
    end("factory")
    return Net()

class At:
    def __init__(self, place): self.place = place

def double(value):
    end("function")
    return value * 2
"""


@pytest.fixture
def shop(project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], None]:
    """Write the project so that its code ends at one place, in one way; other files to use lie beside."""
    monkeypatch.chdir(tmp_path)
    np.savez("x.npz", x=np.ones((3, 2), "f4"))
    np.savez("old.npz", **{"layer.weight": np.ones((1, 2), "f4"), "layer.bias": np.ones(1, "f4")})

    def write(place: str, how: str) -> None:
        ends = (
            "import argparse, os, signal, sys\nimport numpy as np\nclass Enough(BaseException): pass\n"
            f"def end(place):\n    if place == {place!r}:\n        {how}\n"
        )
        project({"exitshop/__init__.py": "", "exitshop/net.py": NET, "exitshop/ends.py": ends})
        for name in [name for name in sys.modules if name.partition(".")[0] == "exitshop"]:
            monkeypatch.delitem(sys.modules, name)

    return write


@pytest.fixture
def run(capsys: Any) -> Run:
    def call(*arguments: str) -> tuple[int, str]:
        code = main(arguments)
        return code, capsys.readouterr().err

    return call


def require_told(errors: str, shown: str, *, prefix: str = "") -> None:
    pattern = (
        rf"{prefix}.*: its code ended with {re.escape(shown)}, at \S*ends\.py:6 in end; such code has to"
    )
    assert re.search(pattern, errors), errors


@pytest.mark.parametrize("how", ENDS)
@pytest.mark.parametrize("place", PLACES)
def test_export_fails_wherever_code_ends(
    shop: Callable[[str, str], None], run: Run, place: str, how: str
) -> None:
    shop(place, how)
    Path("net.kellet").write_bytes(b"an old file")
    options = ["--weights", "old.npz", "--store", "factory", "--example", "x.npz"]
    code, errors = run("export", "exitshop.net:build", "-o", "net.kellet", *options)
    # The call of a check is a part of the plan, as anything else that is wrong with it.
    assert code == (1 if place == "forward" else 4)
    require_told(errors, ENDS[how])
    assert Path("net.kellet").read_bytes() == b"an old file"
    assert not list(Path.cwd().glob(".net*")), "nothing half-written stays"


def test_weights_that_are_not_there_are_told_as_a_file_and_an_error_of_the_model_as_its_own(
    shop: Callable[[str, str], None], run: Run
) -> None:
    shop("load_state_dict", "raise OSError('no licence')")
    code, errors = run("export", "exitshop.net:build", "-o", "net.kellet", "--weights", "gone.npz")
    assert (code, "gone.npz" in errors, "--weights" in errors) == (3, True, False)
    code, errors = run("export", "exitshop.net:build", "-o", "net.kellet", "--weights", "old.npz")
    assert code == 4
    assert re.search(r"--weights old\.npz: no licence, at \S*ends\.py:6 in end", errors), errors


@pytest.mark.parametrize(
    ("place", "how"),
    [
        *(("forward", how) for how in ENDS),
        *((place, "sys.exit(0)") for place in PLACES if place != "state_dict"),
    ],
)
@pytest.mark.parametrize("command", ["check", "run", "runnable check", "runnable run"])
def test_check_and_run_fail_wherever_code_ends(
    shop: Callable[[str, str], None], run: Run, capsys: Any, place: str, how: str, command: str
) -> None:
    ending(shop, place, how)
    if command.startswith("runnable"):
        told = ["--check"] if command.endswith("check") else ["--input", "x.npz", "-o", "y.npz"]
        code = run_archive("net.kellet", told)
        errors = capsys.readouterr().err
    else:
        told = [] if command == "check" else ["--input", "x.npz", "-o", "y.npz"]
        code, errors = run(command, "net.kellet", *told)
    assert code == 4
    require_told(errors, ENDS[how])
    assert not Path("y.npz").exists()


def ending(shop: Callable[[str, str], None], place: str, how: str) -> None:
    """Write an archive whose code ends so, though it did not where it was made."""
    guarded = f"if __name__ != 'exitshop.ends': {how}"
    shop(place, guarded)
    with PackageExporter("net.kellet", policy="auto", prove=False) as exporter:
        import exitshop.net  # type: ignore[import-not-found]  # the project of the test

        exporter.save_object("model", "model", exitshop.net.build(), factory=exitshop.net.build)
        exporter.save_example("model", {"x": np.ones((3, 2), "f4")})
    for name in [name for name in sys.modules if name.partition(".")[0] == "exitshop"]:
        del sys.modules[name]


def test_the_api_raises_a_typed_error(shop: Callable[[str, str], None]) -> None:
    ending(shop, "forward", "sys.exit(0)")
    with PackageImporter("net.kellet") as importer:
        for call in (importer.check, lambda: importer.run({"x": np.ones((1, 2), "f4")})):
            with pytest.raises(
                CodeExitError, match=r"^calling Net: its code ended with SystemExit\(0\), at"
            ) as caught:
                call()
            assert isinstance(caught.value, PackageError)
            assert isinstance(caught.value.__cause__, SystemExit)
            assert re.search(r"ends\.py:6 in end: if __name__ !=", caught.value.__notes__[-1])
    ending(shop, "eval", "sys.exit(0)")
    with (
        PackageImporter("net.kellet") as importer,
        pytest.raises(CodeExitError, match=r"^calling Net in evaluation mode: its code ended"),
    ):
        importer.run({"x": np.ones((1, 2), "f4")})
    ending(shop, "factory", "sys.exit(0)")
    with (
        PackageImporter("net.kellet") as importer,
        pytest.raises(CodeExitError, match=r"net\.kellet: loading object model/model: its code ended"),
    ):
        importer.load_object("model", "model")


def test_hooks_of_an_export_and_state_dicts_are_code_too(shop: Callable[[str, str], None]) -> None:
    shop("state_dict", "sys.exit(0)")
    from exitshop.net import Net

    exporter = PackageExporter(io.BytesIO(), policy="auto", prove=False)
    with pytest.raises(CodeExitError, match=r"saving model/state: its code ended with SystemExit\(0\)"):
        exporter.save_state_dict("model", "state", Net())
    exporter = PackageExporter(io.BytesIO(), policy="auto", prove=False)
    exporter.register_extern_hook(lambda exporter, name: sys.exit(0))
    exporter.save_source_string("exitpkg", "import json")
    with pytest.raises(CodeExitError, match=r"test_exits\.py:\d+ in <lambda>"):
        exporter.close()


@pytest.mark.parametrize("command", ["migrate", "suggest-migration"])
def test_commands_that_take_a_target_fail_too(
    shop: Callable[[str, str], None], run: Run, command: str
) -> None:
    shop("factory", "sys.exit(0)")
    more = [] if command == "suggest-migration" else ["--with", "wrappers", "--plan", "--target"]
    code, errors = run(command, "old.npz", *more, "exitshop.net:build")
    assert code == 4
    require_told(errors, "SystemExit(0)", prefix="kellet: target exitshop.net:build")


def test_a_function_of_a_migration_that_ends_leaves_no_file(
    shop: Callable[[str, str], None], run: Run
) -> None:
    shop("function", "sys.exit(0)")
    Path("migration.toml").write_text(
        'name = "double"\n[[step]]\nrename = "layer.weight"\nto = "layer.weight"\n'
        'transforms = [{ function = "exitshop.net:double" }]\n'
    )
    code, errors = run("migrate", "old.npz", "--with", "migration.toml", "-o", "new.safetensors")
    assert code == 4, errors
    require_told(errors, "SystemExit(0)")
    assert sorted(path.name for path in Path.cwd().glob("*new*")) == []


@pytest.mark.parametrize("more", [("-o", "new.safetensors"), ("--plan",)], ids=["write", "plan"])
@pytest.mark.parametrize(
    ("place", "how", "named", "code", "told"),
    [
        ("function", "raise ValueError('no')", "exitshop.net:double", 4, "raised ValueError: no"),
        ("function", "return 1 / 0", "exitshop.net:double", 4, "raised ZeroDivisionError: division by zero"),
        ("import", "raise OSError('no licence')", "exitshop.net:double", 4, "raised OSError: no licence"),
        ("import", "sys.exit(0)", "exitshop.net:double", 4, "its code ended with SystemExit(0)"),
        (
            "nowhere",
            "pass",
            "exitshop.net:doubel",
            4,
            "was not found: module 'exitshop.net' has no attribute 'doubel'",
        ),
        ("nowhere", "pass", "exitshop.nte:double", 4, "was not found: No module named 'exitshop.nte'"),
        ("nowhere", "pass", "exitshop.net:At", 1, "'exitshop.net:At' returned At; expected an array"),
    ],
)
def test_a_function_of_a_migration_that_fails_has_the_code_of_one_that_ends(
    shop: Callable[[str, str], None],
    run: Run,
    more: tuple[str, ...],
    place: str,
    how: str,
    named: str,
    code: int,
    told: str,
) -> None:
    shop(place, how)
    Path("migration.toml").write_text(
        'name = "double"\n[[step]]\nrename = "layer.{rest}"\nto = "out.{rest}"\n'
        f'transforms = [{{ function = "{named}" }}]\n'
    )
    found, errors = run("migrate", "old.npz", "--with", "migration.toml", *more)
    only_read = more == ("--plan",) and (place == "function" or named.endswith(":At"))
    assert (found, told in errors) == ((0, False) if only_read else (code, True)), errors
    assert sorted(path.name for path in Path.cwd().glob("*new*")) == []


def test_a_traced_call_that_ends_with_0_has_failed(shop: Callable[[str, str], None]) -> None:
    shop("factory", "sys.exit(0)")
    with pytest.raises(TraceError, match=r"(?s)tracing exitshop.net:build: .*ended with SystemExit\(0\), at"):
        trace_call("exitshop.net:build", {})
    shop("factory", "os._exit(0)")
    with pytest.raises(TraceError, match=r"tracing exitshop\.net:build: the call failed with exit code 0"):
        trace_call("exitshop.net:build", {})


def test_an_interrupt_from_the_keyboard_is_still_one(shop: Callable[[str, str], None], run: Run) -> None:
    shop("factory", "signal.raise_signal(signal.SIGINT)")
    code, errors = run("export", "exitshop.net:build", "-o", "net.kellet")
    assert (code, errors) == (130, "kellet: interrupted; nothing is half-written\n")


def test_an_interrupt_that_a_handler_of_the_application_raises_is_one() -> None:
    def handler(number: int, frame: object) -> None:
        raise KeyboardInterrupt("of the application")

    before = signal.signal(signal.SIGINT, handler)
    try:
        with pytest.raises(KeyboardInterrupt, match="of the application"), AnswerRequired("calling"):
            signal.raise_signal(signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, before)


def test_what_fails_at_import_is_a_target_that_failed(shop: Callable[[str, str], None], run: Run) -> None:
    shop("import", "raise RuntimeError('no licence')")
    code, errors = run("export", "exitshop.net:build", "-o", "net.kellet")
    told = r"kellet: target \S+:build: importing it failed: RuntimeError: no licence, at \S+ends\.py:6"
    assert code == 4
    assert re.match(told, errors)


def test_an_import_error_of_the_model_is_told_by_the_exit_code(
    shop: Callable[[str, str], None], run: Run
) -> None:
    ending(shop, "forward", "raise ImportError('no kernel here')")
    code, errors = run("run", "net.kellet", "--input", "x.npz")
    assert code == 4
    assert re.match(
        r"kellet: net\.kellet: the model failed: ImportError: no kernel here, at \S+ends\.py:6 in", errors
    )


def test_exceptions_and_answers_go_through() -> None:
    with pytest.raises(ValueError, match="as it is"), AnswerRequired("calling"):
        raise ValueError("as it is")
    with AnswerRequired("calling"):
        answer = 3
    assert answer == 3


def test_two_integers_beyond_the_floats_are_off_by_one(project: Project, tmp_path: Path, run: Run) -> None:
    project(
        {
            "longshop.py": (
                "import sys\nclass Long:\n    def __call__(self, x):\n"
                "        return x + 2**60 + (__name__ != 'longshop')\n"
            )
        }
    )
    import longshop  # type: ignore[import-not-found]  # the project of the test

    with PackageExporter(tmp_path / "long.kellet", policy="auto", prove=False) as exporter:
        exporter.save_object("model", "model", longshop.Long())
        exporter.save_example("model", {"x": np.arange(3)})
    for tolerance, expected in (("0", 1), ("1e-5", 1), ("0.99", 1), ("1", 0)):
        assert run("check", str(tmp_path / "long.kellet"), "--tolerance", tolerance)[0] == expected
    with PackageImporter(tmp_path / "long.kellet") as importer:
        (outcome,) = importer.check()
        assert [(one.largest, one.same_bits) for one in outcome.deviations] == [(1, False)]
