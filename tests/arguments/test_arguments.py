"""Arguments of the wrong kind are told at the call, with what was found and what is expected."""

from __future__ import annotations

import io
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from packager import (
    ArgumentError,
    Decision,
    GlobGroup,
    PackageError,
    PackageExporter,
    PackageImporter,
    Policy,
    verify,
)
from packager._archive import ArchiveReader, ArchiveWriter
from packager._exporting import as_policy
from packager._licenses import bill_of_materials
from packager._migrations import Migration, migrate, read_migration, rename
from packager._policy import Rule, read_policy
from packager._weights import open_checkpoint, write_checkpoint
from packager.errors import PackageError as Root
from tests.tables import one_test


def exporter(**options: Any) -> PackageExporter:
    return PackageExporter(io.BytesIO(), prove=False, **options)


def importer() -> PackageImporter:
    file = io.BytesIO()
    with PackageExporter(file, prove=False) as empty:
        empty.save_text("p", "words.txt", "x")
    _OPENED.append(PackageImporter(file.getvalue()))
    return _OPENED[-1]


_OPENED: list[PackageImporter] = []


@pytest.fixture(autouse=True)
def closed_afterwards() -> Iterator[None]:
    yield
    while _OPENED:
        _OPENED.pop().close()


CALLS: dict[str, tuple[Callable[[], Any], str]] = {
    "debug as a word": (
        lambda: exporter(debug="no"),
        "debug='no': expected True or False, found str",
    ),
    "a rule that may be empty, as a word": (
        lambda: exporter().intern("net.**", allow_empty="x"),  # type: ignore[arg-type]  # that is what is told
        "allow_empty='x': expected True or False, found str",
    ),
    "a rule of its own that may be empty, as a number": (
        lambda: Rule("deny", GlobGroup("net"), 0),  # type: ignore[arg-type]  # that is what is told
        "allow_empty=0: expected True or False, found int",
    ),
    "a reason that is none": (
        lambda: Policy().add("deny", "net", because=3),  # type: ignore[arg-type]  # that is what is told
        "because=3: expected a reason as text, found int",
    ),
    "an action that no rule has": (
        lambda: Policy().add("undecided", "net"),
        "action='undecided': expected one of 'intern', 'extern', 'mock', 'deny'",
    ),
    "a number as the place of an object": (
        lambda: importer().load_object("p", "x", map_location=3.5),
        "map_location=3.5: expected a device, its name, a dict, or a function, found float",
    ),
    "a list as the place of a state dict": (
        lambda: importer().load_state_dict("p", "x", map_location=["cpu"]),
        r"map_location=\['cpu'\]: expected a device, its name, a dict, or a function, found list",
    ),
    "digests of an export": (
        lambda: exporter(digests="md5"),
        "digests='md5': expected one of 'sha256', 'crc'",
    ),
    "a number as the target": (
        lambda: PackageExporter(3, prove=False),  # type: ignore[arg-type]  # that is what is told
        "f=3: expected a path or a binary file object, found int",
    ),
    "a file open for text": (
        lambda: PackageExporter(io.StringIO(), prove=False),  # type: ignore[arg-type]  # that is what is told
        "f: the file is open for text; open it in binary mode",
    ),
    "a target with a NUL": (
        lambda: PackageExporter("net\0.kellet", prove=False),
        r"f='net\\x00\.kellet': expected a path, which has no NUL",
    ),
    "an archive whose name no file can have": (
        lambda: PackageImporter("\ud800.kellet"),
        r"file='\\ud800\.kellet': expected a path, which has no NUL, and a form in the encoding of file",
    ),
    "text with half of a surrogate pair": (
        lambda: exporter().save_text("p", "words.txt", "caf\udce9"),
        r"text='caf\\udce9': expected text that has a UTF-8 form, found half of a surrogate pair",
    ),
    "bytes as text": (
        lambda: exporter().save_text("p", "r", b"x"),  # type: ignore[arg-type]  # that is what is told
        "text=b'x': expected text; save_binary takes bytes, found bytes",
    ),
    "text as bytes": (
        lambda: exporter().save_binary("p", "r", "x"),  # type: ignore[arg-type]  # that is what is told
        "binary='x': expected bytes; save_text takes text, found str",
    ),
    "a size as bytes": (
        lambda: exporter().save_binary("p", "r", 3),  # type: ignore[arg-type]  # three zero bytes otherwise
        "binary=3: expected bytes; save_text takes text, found int",
    ),
    "source as bytes": (
        lambda: exporter().save_source_string("m", b"x"),  # type: ignore[arg-type]  # that is what is told
        "src=b'x': expected the text of a module, found bytes",
    ),
    "inputs without names": (
        lambda: exporter().save_example("model", {1: 2, "x": 3, None: 4}),  # type: ignore[dict-item]  # told
        "inputs: expected names as keys, found 1, None",
    ),
    "inputs in a list": (
        lambda: exporter().save_example("model", [1]),  # type: ignore[arg-type]  # that is what is told
        r"inputs=\[1\]: expected a mapping, found list",
    ),
    "a configuration without names": (
        lambda: exporter().save_object("p", "r", 1, factory="a:b", config={1: 2}),  # type: ignore[dict-item]  # told
        "config: expected names as keys, found 1",
    ),
    "no archive": (
        lambda: PackageImporter(None),  # type: ignore[arg-type]  # that is what is told
        "file=None: expected a path or a binary file object, found NoneType",
    ),
    "no function that admits modules": (
        lambda: PackageImporter("net.kellet", "numpy"),  # type: ignore[arg-type]  # that is what is told
        r"module_allowed='numpy': expected a function, module_allowed\(name\), found str",
    ),
    "one name where several are trusted": (
        lambda: PackageImporter("net.kellet", trust="a:b"),
        "trust='a:b': expected a list of names, found str",
    ),
    "a number where compiled code is kept": (
        lambda: PackageImporter("net.kellet", bytecode=3),  # type: ignore[arg-type]  # that is what is told
        "bytecode=3: expected a folder, True or None, found int",
    ),
    "a number as a module": (
        lambda: importer().import_module(3),  # type: ignore[arg-type]  # that is what is told
        "name=3: expected the name of a module, found int",
    ),
    "a number as a package of a resource": (
        lambda: importer().load_text(3, "words.txt"),  # type: ignore[arg-type]  # that is what is told
        "package=3: expected text, found int; write load_text",
    ),
    "inputs of a run without names": (
        lambda: importer().run({1: 2}),  # type: ignore[dict-item]  # that is what is told
        "inputs: expected names as keys, found 1",
    ),
    "digests of a load": (
        lambda: PackageImporter("net.kellet", digests="md5"),
        "digests='md5': expected one of 'crc', 'none', 'sha256'",
    ),
    "a decision's source as bytes": (
        lambda: Decision("intern", "rule", "because").replace(source=b"x"),
        "source=b'x': expected the text of a module, found bytes",
    ),
    "a migration where the state belongs": (
        lambda: migrate({"a": np.ones(1)}, Migration("m", [rename("a", "b")])),  # type: ignore[arg-type]  # told
        "expected a state dict, found Migration; write migrate",
    ),
    "a policy that is none": (
        lambda: exporter(policy=3),
        "unknown policy 3; expected auto, hermetic, strict",
    ),
    "an importer that is none": (lambda: exporter(importer=3), "importer arg should be an Importer or a seq"),
    "a word for yes": (lambda: exporter(runnable="no"), "runnable='no': expected True or False, found str"),
    "a number for no": (lambda: exporter(fsync=0), "fsync=0: expected True or False, found int"),
    "one target in place of a list": (
        lambda: exporter(vendor_wheels="here"),
        "vendor_wheels='here': expected a list of targets, found str",
    ),
    "one folder in place of a list": (
        lambda: exporter(find_links="wheels"),
        "find_links='wheels': expected a list of folders, found str",
    ),
    "a variable that is none": (
        lambda: exporter().allow_variable("SIZE=3"),
        r"variables='SIZE=3': expected the name of a variable, as 'NET_WIDTH', or '\*'",
    ),
    "a factory that is none": (
        lambda: exporter().save_object("p", "r", object(), factory=3),  # type: ignore[arg-type]  # told
        "factory=3: expected a callable, or its name as 'package.module:name', found int",
    ),
    "pickles allowed by a word": (
        lambda: PackageImporter(b"", allow_pickle="no"),  # type: ignore[arg-type]  # yes otherwise
        "allow_pickle='no': expected True or False, found str",
    ),
    "a map by a word": (
        lambda: PackageImporter(b"", mmap="no"),  # type: ignore[arg-type]  # yes otherwise
        "mmap='no': expected True, False or 'prefetch', found str",
    ),
    "nothing to verify": (
        lambda: verify(None),  # type: ignore[arg-type]  # that is what is told
        "file=None: expected a path or a binary file object, found NoneType",
    ),
    "keys of a state dict that are numbers": (
        lambda: migrate(Migration("m", [rename("a", "b")]), {1: np.ones(1), "a": 2}),  # type: ignore[dict-item]  # told
        "state: expected names as keys, found 1",
    ),
    "a template that is a number": (
        lambda: rename(3, "b"),  # type: ignore[arg-type]  # that is what is told
        "template=3: expected a key, or a template of keys, found int",
    ),
    "one step in place of a list": (
        lambda: Migration("m", rename("a", "b")),  # type: ignore[arg-type]  # that is what is told
        "steps=Rename.*: expected a list of steps, found Rename",
    ),
    "a step that is text": (
        lambda: Migration("m", ["a"]),  # type: ignore[list-item]  # that is what is told
        r"steps='a': expected steps, found str; make each by rename\(\), drop\(\)",
    ),
    "a migration without a name": (
        lambda: Migration([rename("a", "b")]),  # type: ignore[arg-type]  # that is what is told
        "name=.*: expected the name of the migration, found list",
    ),
}


@one_test
@pytest.mark.parametrize("name", CALLS)
def test_an_argument_of_the_wrong_kind_is_told_at_the_call(name: str) -> None:
    call, message = CALLS[name]
    with pytest.raises(ArgumentError, match=message) as caught:
        call()
    assert isinstance(caught.value, Root)
    assert isinstance(caught.value, TypeError)
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize(("package", "resource"), [(3, "r"), (None, "r"), ("p", 3), ("p", None)])
def test_names_that_are_no_text_are_told(package: Any, resource: Any) -> None:
    with pytest.raises(
        PackageError, match=r"(package|resource)=(3|None): expected text, found .*; write save_binary\("
    ):
        exporter().save_binary(package, resource, b"x")


PATHS: dict[str, tuple[str, Callable[[str], object]]] = {
    "a policy": ("path", read_policy),
    "a policy by its file": ("policy", as_policy),
    "a migration": ("path", read_migration),
    "an archive": ("source", ArchiveReader),
    "an archive to write": ("target", ArchiveWriter),
    "a checkpoint": ("path", open_checkpoint),
    "a checkpoint to write": ("path", lambda path: write_checkpoint(path, {})),
    "a folder of compiled code": ("bytecode", lambda path: PackageImporter(b"", bytecode=path)),
}


@pytest.mark.parametrize("path", ["a\0b.toml", "a\ud83d.toml"], ids=["NUL", "half of a pair"])
@pytest.mark.parametrize("what", PATHS)
def test_what_no_file_can_be_called_is_told_with_the_argument(what: str, path: str) -> None:
    name, call = PATHS[what]
    with pytest.raises(ArgumentError) as caught:
        call(path)
    expected = "expected a path, which has no NUL, and a form in the encoding of file names"
    assert str(caught.value) == f"{name}={path!r}: {expected}"


@pytest.mark.parametrize("wrapped", [False, True])
def test_a_file_open_for_the_other_direction_is_refused_at_once(tmp_path: Path, wrapped: bool) -> None:
    path = tmp_path / "net.kellet"
    with PackageExporter(path, prove=False) as exporter:
        exporter.save_source_string("net", "answer = 42")
    before = path.read_bytes()

    def opened(mode: str) -> Any:
        return (
            tempfile._TemporaryFileWrapper(open(path, mode), str(path), delete=False)
            if wrapped
            else open(path, mode)
        )

    with (
        opened("rb") as file,
        pytest.raises(ArgumentError, match=r"^f=<.*: the file is not writable; open it in mode 'wb'$"),
    ):
        PackageExporter(file, prove=False)
    assert path.read_bytes() == before
    for reads in (PackageImporter, bill_of_materials, verify):
        with (
            opened("ab") as file,
            pytest.raises(ArgumentError, match=r"^file=<.*: the file is not readable; open it in mode 'rb'$"),
        ):
            reads(file)
    with opened("r+b") as file:
        pass
    with pytest.raises(ArgumentError, match=r"^f=<.*: the file is closed; open it in mode 'wb'$"):
        PackageExporter(file, prove=False)
    for mode in ("r+b", "wb"):  # the honest ones
        with opened(mode) as file, PackageExporter(file, prove=False) as exporter:
            exporter.save_source_string("net", "answer = 43")
        with opened("rb") as file, PackageImporter(file) as importer:
            assert importer.import_module("net").answer == 43
