"""Exports that would not load: an error before the file is there, which leads to the mend."""

from __future__ import annotations

import io
import sys
from dataclasses import replace

import numpy as np
import pytest

from packager import PackageExporter, PackageImporter, PackagingWarning
from packager._proving import ProofError

pytestmark = pytest.mark.processes(share=3)

ONE = {"arg0": np.ones(2)}


def refused(export, tmp_path, tree, saved, more=lambda exporter: None):
    """Return the only problem of an export that is refused, and see that nothing was written."""
    (tmp_path / "net.kellet").write_bytes(b"old")
    with pytest.raises(ProofError) as caught:
        export(tree, saved, more)
    assert (tmp_path / "net.kellet").read_bytes() == b"old"
    assert {one.name for one in tmp_path.iterdir()} <= {"cache", "net.kellet", "project"}
    [problem] = caught.value.problems
    assert str(problem.context) in str(caught.value)
    assert problem.fix in str(caught.value)
    assert caught.value.proof.ok is False
    return problem


def test_a_module_imported_by_a_computed_name_is_served(export, tmp_path):
    tree = {
        "press/__init__.py": "",
        "press/fast.py": "factor = 2",
        "press/net.py": """
            from importlib import import_module

            KINDS = {"quick": "fast"}
            CHOICE = KINDS["quick"]

            class Net:
                def __init__(self):
                    self.width = 3

                def __call__(self, x):
                    return x * import_module("press." + CHOICE).factor
        """,
    }
    exporter = export(tree, "press.net:Net()", lambda one: one.save_example("model", ONE))
    assert exporter.proof.ok
    assert sorted(exporter.interned_modules()) == ["press", "press.fast", "press.net"]
    with PackageImporter(tmp_path / "net.kellet") as importer:
        assert importer.load_object("model", "model")(2) == 4


def test_a_data_file_opened_relative_to_the_working_directory(export, tmp_path, monkeypatch):
    tree = {
        "labels.txt": "cat dog",
        "zoo.py": """
            with open("labels" + ".txt") as file:
                LABELS = file.read().split()

            class Net:
                def __call__(self, x):
                    return x
        """,
    }
    (tmp_path / "project").mkdir()
    monkeypatch.chdir(tmp_path / "project")
    problem = refused(export, tmp_path, tree, "zoo:Net()")
    assert problem.reason == "An object cannot be loaded from the archive."
    assert problem.context.startswith(
        "FileNotFoundError: [Errno 2] No such file or directory: 'labels.txt'\n"
        '        at zoo.py:2 in <module>: with open("labels" + ".txt") as file:\n'
    )
    assert "'labels.txt' is relative to the working directory" in problem.context
    assert problem.fix == 'open(os.path.join(os.path.dirname(__file__), "labels.txt"))  # import os'


def test_a_registry_that_another_import_filled(export, tmp_path):
    tree = {
        "gear/__init__.py": "",
        "gear/registry.py": "KINDS = {}",
        "gear/kinds.py": "from gear.registry import KINDS\nKINDS['square'] = 2\n",
        "gear/net.py": """
            from gear.registry import KINDS

            class Net:
                def __call__(self, x):
                    return x ** KINDS["square"]
        """,
        "gear/train.py": "import gear.kinds\nfrom gear.net import Net\n",
    }
    told = "before object model/model is loaded, gear.kinds is imported: without this import"
    with pytest.warns(PackagingWarning, match=told):
        export(tree, "gear.train:Net()", lambda one: one.save_example("model", ONE))
    with PackageImporter(tmp_path / "net.kellet") as importer:
        assert sorted(importer.manifest.stored_modules) == ["gear", "gear.kinds", "gear.net", "gear.registry"]
        assert importer.load_object("model", "model")(3) == 9


def test_a_golden_answer_that_differs_there(export, tmp_path):
    tree = {
        "scale.py": """
            FACTOR = 1.0

            def tune(factor):
                global FACTOR
                FACTOR = factor
                return Net()

            class Net:
                def __call__(self, x):
                    return x * FACTOR
        """,
    }
    problem = refused(export, tmp_path, tree, "scale:tune(2.5)", lambda one: one.save_example("model", ONE))
    assert problem.context.startswith("output: off by 1.5 at most\n")
    assert "Keep the values that the object needs in its attributes, not in globals" in problem.context
    assert problem.suspects == ("scale.FACTOR is 2.5 here and 1.0 in the clean process (scale.py:2)",)


def test_code_that_ends_the_process_while_an_object_is_made(export, tmp_path):
    tree = {
        "guard.py": """
            import os

            ARMED = []

            class Net:
                def __init__(self):
                    if not ARMED:
                        os._exit(0)
                    self.width = 3

                def __call__(self, x):
                    return x
        """,
    }
    more = lambda one: one.save_object("model", "made", None, factory="guard:Net")  # noqa: E731  # one line
    problem = refused(export, tmp_path, tree, "guard:[ARMED.append(1), Net()][1]", more)
    assert (problem.reason, problem.subject) == (
        "Stored code ended the clean process.",
        "object model/made",
    )
    assert problem.context.startswith(
        "os._exit(0) ended the clean process (object)\n        at guard.py:9 in Net.__init__: os._exit(0)\n"
    )


@pytest.mark.parametrize(
    ("call", "told"),
    [
        ("posix._exit(3)", "os._exit(3) ended the clean process (object)"),
        ("os.kill(os.getpid(), 9)", "signal 9 (SIGKILL) ended the clean process (object)"),
    ],
)
def test_a_module_that_ends_the_process_when_it_is_imported_has_its_line(export, tmp_path, call, told):
    tree = {
        "inner.py": f"import os, posix\nif __name__ != 'inner':\n    {call}\n",
        "outer.py": "import inner\nclass Net:\n    pass\n",
    }
    problem = refused(export, tmp_path, tree, "outer:Net()")
    assert problem.context.startswith(f"{told}\n        at inner.py:3 in <module>: {call}\n")
    assert problem.chain == ("outer (outer.py:1)",)


def test_an_object_that_does_not_come_back_as_it_was(export, tmp_path):
    tree = {
        "forget.py": """
            class Net:
                def __init__(self):
                    self.steps = 7

                def __setstate__(self, state):
                    self.steps = 0

                def __call__(self, x):
                    return x
        """,
    }
    problem = refused(export, tmp_path, tree, "forget:Net()")
    assert problem.reason == "A loaded object differs from the stored one."
    assert problem.context.startswith(
        "the loaded object is not the stored one: model: 'steps' was 7 and is 0\n"
    )


def test_a_signal_that_ends_the_process(export, tmp_path):
    tree = {
        "crash.py": """
            import os, signal

            class Net:
                def __call__(self, x):
                    return x

            if "KELLET_CACHE" in os.environ and "kellet-proving-" in os.environ["KELLET_CACHE"]:
                os.kill(os.getpid(), signal.SIGSEGV)
        """,
    }
    problem = refused(export, tmp_path, tree, "crash:Net()")
    assert problem.context.startswith("signal 11 (SIGSEGV) ended the clean process (object); it printed: ")
    assert "\n        at crash.py:9 in <module>: os.kill(os.getpid(), signal.SIGSEGV)\n" in problem.context


def test_nothing_is_written_to_a_file_object(project):
    lines = [
        "import os",
        "class Net:",
        "    pass",
        "if 'kellet-proving-' in os.getcwd():",
        "    raise OSError(5)",
    ]
    project({"away.py": "\n".join(lines)})
    import away

    file = io.BytesIO()
    with pytest.raises(ProofError, match="OSError"), PackageExporter(file, policy="auto") as exporter:
        exporter.save_object("model", "model", away.Net())
    assert file.getvalue() == b""


def test_sys_exit_in_a_module_is_a_failure_with_its_line(project, tmp_path):
    project({"quits.py": "import os, sys\nsys.exit(0)\n"})
    exporter = PackageExporter(tmp_path / "quits.kellet", policy="auto")
    exporter.save_module("quits")
    with pytest.raises(ProofError, match=r"its code ended with SystemExit\(0\), at .*quits.py:2"):
        exporter.close()


def test_all_that_does_not_come_back_is_told_together(project, tmp_path):
    project({"one.py": "raise ValueError('one')", "two.py": "1 / 0\n"})
    exporter = PackageExporter(tmp_path / "both.kellet", policy="auto")
    exporter.save_module("one")
    exporter.save_module("two")
    with pytest.raises(ProofError) as caught:
        exporter.close()
    assert [problem.context.split("\n")[0] for problem in caught.value.problems] == [
        "ValueError: one",
        "ZeroDivisionError: division by zero",
    ]
    assert "one" not in sys.modules


def test_records_that_contradict_the_manifest_are_no_missing_proof(export, tmp_path, monkeypatch):
    """What cannot be read there is a failure: that nothing was asked would be a warning."""
    from packager._exporting.stored import StoredObject

    record = StoredObject.record.fget

    def with_one_more(stored):
        from packager._archive import TypeUse

        found = record(stored)
        return replace(found, types=(*found.types, TypeUse("pump:Gone", "value")))

    monkeypatch.setattr(StoredObject, "record", property(with_one_more))
    tree = {"pump.py": "class Net:\n    width = 3\n"}
    problem = refused(export, tmp_path, tree, "pump:Net()")
    assert (problem.reason, problem.subject) == (
        "An object cannot be loaded from the archive.",
        "names of objects",
    )
    assert "the manifest lists pump:Gone, which its records do not name" in problem.context
