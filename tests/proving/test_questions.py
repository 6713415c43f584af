"""What the failures of a run name: modules, names in modules, files where the archive's code lies."""

from __future__ import annotations

import pytest

from packager._proving import ProofFailure, Run, questions_of
from packager._proving.proof import Proof, ProofFrame

CODE = "/tmp/kellet-proving-1/2/cache/code"
PLACE = ProofFrame("net/base.py", 3, "load", stored=True)


def named(message: str, said: str = "", **more: str) -> list[tuple[str, str]]:
    failure = ProofFailure("object", "object model/model", message, (PLACE,), **more)
    found = questions_of(Run(Proof(failures=(failure,)), code=CODE, said=said))
    return [(one.kind, one.name) for one in found]


@pytest.mark.parametrize(
    ("message", "found"),
    [
        ("ModuleNotFoundError: No module named 'net.part'", [("import", "net.part")]),
        ("RuntimeError: not loaded: No module named 'net.part'; 'x'", [("import", "net.part")]),
        ("ImportError: cannot import name 'Part' from 'net.parts' (x.py)", [("import", "net.parts.Part")]),
        (
            "ImportError: cannot import name 'a' from partially initialized module 'net' (most likely ...)",
            [("import", "net.a")],
        ),
        (f"OSError: cannot open {CODE}/ab12/net/table.bin: no such file", [("file", "net/table.bin")]),
        (f"OSError: b'{CODE}/ab12/net/my table.bin', line 3", [("file", "net/my table.bin")]),
        (
            f'OSError: "{CODE}/ab12/net/a.bin", "{CODE}/ab12/net/b.bin"',
            [("file", "net/a.bin"), ("file", "net/b.bin")],
        ),
        ("AttributeError: module 'net' has no attribute 'late'", [("import", "net.late")]),
        ("AttributeError: module net.lazy has no attribute late", [("import", "net.lazy.late")]),
        ("AttributeError: 'Net' object has no attribute 'late'", []),
        ("OSError: cannot open /data/table.bin", []),
        ("ValueError: 3 is none of them", []),
    ],
)
def test_a_message_names_what_is_missing(message, found):
    assert named(message) == found


def test_an_error_carries_the_module_and_the_file_that_it_is_about():
    assert named("KeyError: 1", module="net.part") == [("import", "net.part")]
    assert named("OSError: 2", file=f"{CODE}/ab12/net/data/x.json") == [("file", "net/data/x.json")]


def test_an_import_error_of_a_name_does_not_ask_for_the_module_that_is_there():
    message = "ImportError: cannot import name 'Part' from 'net.parts' (x.py)"
    assert named(message, module="net.parts") == [("import", "net.parts.Part")]


def test_what_a_worker_printed_counts_where_something_failed():
    said = "Traceback\nModuleNotFoundError: No module named 'net.inside'"
    assert named("BrokenProcessPool: ended", said) == [("import", "net.inside")]
    assert questions_of(Run(Proof(), code=CODE, said=said)) == ()


def test_a_question_has_the_innermost_stored_line_of_its_failure():
    failure = ProofFailure("call", "check c", "No module named 'net.part'", (PLACE,), module="net.part")
    [question] = questions_of(Run(Proof(failures=(failure,))))
    assert str(question) == "import net.part, at net/base.py:3 in load"
