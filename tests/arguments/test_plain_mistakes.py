"""Plain mistakes of a user are told at the call: what was expected, what was found, and what is meant."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kellet import nn
from packager import Decision, GlobGroup, PackageExporter, PackageImporter, Policy
from packager._audit import TrustContext, audit
from packager._objects import encode
from packager.errors import (
    ArchiveError,
    ArgumentError,
    CheckpointError,
    KeyNotStoredError,
    NotStoredError,
    PackagingError,
    ResourceNotStoredError,
    UntrustedTypeError,
    WrongKindError,
)
from packager.migrations import (
    Cast,
    Migration,
    NamedFunction,
    Scale,
    attach,
    load_checkpoint,
    migrate,
    migrations_ran,
    parse_migration,
    plan_migration,
    rename,
    rename_pattern,
    split,
    with_migrations,
)
from packager.policy import format_policy, parse_policy
from packager.weights import open_checkpoint, write_checkpoint
from tests.tables import one_test

ONES = np.ones((3, 2), "float32")


class Net(nn.Module):
    _version = 2


class Point:
    x = 1


NET = Net()
MIGRATION = Migration("fc", [rename("proj.{rest}", "fc.{rest}")], to=2)


def exporter(**options: Any) -> Any:
    return PackageExporter(io.BytesIO(), prove=False, **options)


def archive() -> bytes:
    with PackageExporter(file := io.BytesIO(), prove=False) as written:
        written.save_object("model", "config", {"layers": 2})
        written.save_state_dict("model", "weights", {"w": ONES})
        written.save_text("net", "words.txt", "one two")
        written.save_source_string("net", "", is_package=True)
    return file.getvalue()


ARCHIVE = archive()


def asked(ask: Callable[[Any], object]) -> Callable[[], object]:
    def call() -> object:
        with PackageImporter(ARCHIVE) as importer:
            return ask(importer)

    return call


CALLS: dict[str, tuple[Callable[[], Any], str]] = {
    # exporter
    "an empty path": (lambda: PackageExporter(""), "f='': expected a path, found an empty text"),
    "a truth of NumPy": (
        lambda: exporter(debug=np.True_),
        r"debug=np\.True_: expected True or False, found numpy\.bool; write bool\(debug\)",
    ),
    "a word for a proof": (
        lambda: PackageExporter(io.BytesIO(), prove="call"),  # type: ignore[arg-type]  # told
        "prove='call': expected True, False or 'calls', found str",
    ),
    "no importer": (lambda: exporter(importer=[]), "importer arg should be an Importer or a sequence"),
    "a number for progress": (
        lambda: exporter(progress=3),
        r"progress=3: expected a function, progress\(step, done, total\), found int",
    ),
    "digests in a list": (
        lambda: exporter(digests=["crc"]),
        r"digests=\['crc'\]: expected one of 'sha256', 'crc'",
    ),
    "an object first": (
        lambda: exporter().save_object(NET, "model", "model"),
        r"package=Net\(\): expected text, found Net; write save_object\(package, resource, obj\)",
    ),
    "an object second": (
        lambda: exporter().save_object("model", NET, "model"),
        r"resource=Net\(\): expected text, found Net; write save_object\(package, resource, obj\)",
    ),
    "a module before the name of its weights": (
        lambda: exporter().save_state_dict(NET, "model", "weights"),
        r"package=Net\(\): expected text, found Net; write save_state_dict\(package, resource, module_or_map",
    ),
    "keys that are numbers": (
        lambda: exporter().save_state_dict("model", "weights", {0: ONES}),
        "state dict: expected names as keys, found 0",
    ),
    "weights of a class": (
        lambda: exporter().save_state_dict("model", "weights", Net),
        "expected a module or a mapping of names to values, found the class Net; pass an instance, Net(...)",
    ),
    "keys without a group": (
        lambda: exporter().save_state_dict("model", "weights", {"w": ONES}, keys=["w"]),
        "keys= needs PackageExporter",
    ),
    "a path as text": (
        lambda: exporter().save_text("net", "words.txt", Path("words.txt")),
        r"text=PosixPath\('words.txt'\): expected text; .*, found PosixPath; .* write path\.read_text\(\)",
    ),
    "a path as a source": (
        lambda: exporter().save_source_string("net", Path("net.py")),
        r"expected the text of a module, found PosixPath; to store the file, write path\.read_text\(\)",
    ),
    "a word for a package": (
        lambda: exporter().save_source_string("net", "", is_package="yes"),
        "is_package='yes': expected True or False, found str",
    ),
    "a word for dependencies": (
        lambda: exporter().save_module("colorsys", dependencies="no"),
        "dependencies='no': expected True or False, found str",
    ),
    "a protocol that pickle has not": (
        lambda: exporter().save_pickle("net", "a", 1, pickle_protocol=99),
        "pickle_protocol=99: expected a number from 0 to 5",
    ),
    "a function for the name of a method": (
        lambda: exporter().save_entry_point("a", "m", "o", Net.forward),
        "method=.*: expected the name of a method, or None, found function",
    ),
    "an example that is no mapping": (
        lambda: exporter().save_example("model", ONES),
        r"inputs=array.*: expected a mapping, found ndarray; write save_example\(name, \{'arg0': array\}\)",
    ),
    "a hook of one argument": (
        lambda: exporter().register_intern_hook(lambda name: None),
        r"it must take \(exporter, name, decision\) or \(exporter, name\)",
    ),
    "a number for a path of imports": (
        lambda: exporter().all_paths(3, "net"),
        "src=3: expected the name of a module, found int",
    ),
    "a word for the proof of a plan": (
        lambda: exporter().plan(prove="yes"),
        "prove='yes': expected True or False, found str",
    ),
    # importer
    "an empty path of an archive": (lambda: PackageImporter(""), "file='': expected a path, found an empty"),
    "a trusted name without a colon": (
        lambda: PackageImporter(ARCHIVE, trust=["collections.deque"]),
        r"trust='collections\.deque': expected 'package\.module:Qualified\.Name'",
    ),
    "a trusted class": (
        lambda: PackageImporter(ARCHIVE, trust=[Path]),  # type: ignore[list-item]  # told
        "trust=<class .*>: expected 'package.module:Qualified.Name'",
    ),
    "no name of a module": (
        asked(lambda importer: importer.import_module("")),
        r"name='': expected the name of a module, such as 'package\.module'",
    ),
    "a relative name of a module": (
        asked(lambda importer: importer.import_module(".a")),
        "package=None: expected the package that '.a' is relative to, found NoneType",
    ),
    "a number as an object": (
        asked(lambda importer: importer.load_object(3, 4)),
        "package=3: expected text, or None, found int",
    ),
    "an object for a class": (
        asked(lambda importer: importer.load_object("model", "config", kind={})),
        r"kind=\{\}: expected a class, found dict",
    ),
    "a number as a state dict": (
        asked(lambda importer: importer.load_state_dict(3, "weights")),
        r"package=3: expected text, found int; write load_state_dict\(package, resource\)",
    ),
    "a library that there is not": (
        asked(lambda importer: importer.load_state_dict("model", "weights", as_="pytorch")),
        "as_='pytorch': expected one of 'numpy', 'kellet', 'torch'",
    ),
    "rows that a tensor has not": (
        asked(lambda importer: importer.load_state_dict("model", "weights").rows("w", 0, 99)),
        "tensor 'w' has 3 rows, asked for 0 to 99",
    ),
    "a row that is text": (
        asked(lambda importer: importer.load_state_dict("model", "weights").rows("w", "a", 1)),
        "start='a': expected the number of a row, found str",
    ),
    "a pattern that is a number": (
        asked(lambda importer: importer.load_state_dict("model", "weights").matching(3)),
        r"pattern=3: expected a pattern of keys, as 'encoder\.\*', found int",
    ),
    "an array for inputs": (
        asked(lambda importer: importer.run(ONES)),
        r"expected a mapping, found ndarray; name each by its parameter, .* run\(\{'arg0': array\}\)",
    ),
    "a number for a golden call": (
        asked(lambda importer: importer.check(3)),
        "name=3: expected the name of an example, or None, found int",
    ),
    # migrations
    "an object where its class belongs": (
        lambda: attach(NET, MIGRATION),  # type: ignore[arg-type]  # told
        "found an object of Net; write attach",
    ),
    "a migration before its class": (
        lambda: attach(MIGRATION, Net),  # type: ignore[arg-type]  # told
        r"a class of modules .*, found an object of Migration; write attach\(Net, \*migrations\)",
    ),
    "a list of migrations for a class": (
        lambda: attach(Net, [MIGRATION]),  # type: ignore[arg-type]  # told
        r"expected a Migration, found list; write \*migrations in the place of the list",
    ),
    "a step for a class": (
        lambda: attach(Net, rename("a", "b")),  # type: ignore[arg-type]  # told
        "migrations=Rename.*: expected a Migration, found Rename",
    ),
    "a class where its migrations belong": (
        lambda: with_migrations(Net),  # type: ignore[arg-type]  # told
        "migrations=<class .*: expected a Migration, found the class Net",
    ),
    "a name for a migration": (
        lambda: migrate("fc", {"a": ONES}),  # type: ignore[arg-type]  # told
        "migrations='fc': expected a Migration, found str",
    ),
    "a state dict before its migrations": (
        lambda: plan_migration({"a": ONES}, MIGRATION),  # type: ignore[arg-type]  # told
        "expected a state dict, found Migration; write plan_migration",
    ),
    "a version that is text": (
        lambda: migrate(MIGRATION, {"a": ONES}, "1"),  # type: ignore[arg-type]  # told
        "version='1': expected the number of a version, or None, found str",
    ),
    "a version of a migration that is text": (
        lambda: Migration("a", to="2"),  # type: ignore[arg-type]  # told
        "to or since='2': expected the number of a version, or None, found str",
    ),
    "a key in place of several": (
        lambda: Migration("a", unwrap="model"),  # type: ignore[arg-type]  # told
        "unwrap='model': expected a list of keys, found str",
    ),
    "a class for its name": (
        lambda: Migration("a", target=Net),  # type: ignore[arg-type]  # told
        r"target=<class .*: expected a class by its name, as 'package\.module:Class', found the class Net",
    ),
    "a number for an expression": (
        lambda: rename_pattern(3, "b"),  # type: ignore[arg-type]  # told
        "pattern=3: expected a regular expression as text, found int",
    ),
    "an axis that is text": (
        lambda: split("a", ["b", "c"], axis="x"),  # type: ignore[arg-type]  # told
        "axis='x': expected the number of an axis, found str",
    ),
    "a dtype that is a class": (
        lambda: Cast(np.float32),  # type: ignore[arg-type]  # told
        "dtype=<class .*: expected the name of a dtype, as 'float32', found the class float32",
    ),
    "a scale that is text": (lambda: Scale("x"), "by='x': expected a number, found str"),  # type: ignore[arg-type] - the mistake
    "a function that is a number": (
        lambda: NamedFunction(3),  # type: ignore[arg-type]  # told
        r"name=3: expected a function by its name, as 'package\.module:name', found int",
    ),
    "a number for a module": (
        lambda: migrations_ran(3),
        "module=3: expected a module of kellet or PyTorch, found int",
    ),
    "a file before its module": (
        lambda: load_checkpoint(Path("old.npz"), NET),  # type: ignore[arg-type]  # told
        r"expected a module with .*, got PosixPath: .*; write load_checkpoint\(module, path, \*migrations\)",
    ),
    "a class for its module": (
        lambda: load_checkpoint(Net, "old.npz"),
        r"expected a module with load_state_dict\(\), got type: .*; make one: Net\(\.\.\.\)",
    ),
    "a list of migrations for a file": (
        lambda: load_checkpoint(NET, "old.npz", [MIGRATION]),  # type: ignore[arg-type]  # told
        r"expected a Migration, found list; write \*migrations in the place of the list",
    ),
    # weights
    "an empty path of weights": (
        lambda: open_checkpoint(""),
        "path='': expected a path, found an empty text",
    ),
    "a number for a name in a file": (
        lambda: open_checkpoint("old.npz", unwrap=3),  # type: ignore[arg-type]  # told
        "unwrap=3: expected the name of a state dict, or None, found int",
    ),
    "a state dict before its file": (
        lambda: write_checkpoint({"w": ONES}, "new.kellet"),  # type: ignore[arg-type]  # told
        "path={'w': array.*: expected a path, found dict",
    ),
    "a module for its state dict": (
        lambda: write_checkpoint("new.kellet", NET),  # type: ignore[arg-type]  # told
        r"state=Net\(\): expected a mapping, found Net; write write_checkpoint\(path, state\)",
    ),
    "numbers for keys of a file": (
        lambda: write_checkpoint("new.safetensors", {0: ONES}),  # type: ignore[dict-item]  # told
        "state: expected names as keys, found 0",
    ),
    "metadata that is a dict": (
        lambda: write_checkpoint("new.kellet", {"w": ONES}, metadata={}),  # type: ignore[arg-type]  # told
        r"metadata=\{\}: expected a CheckpointMetadata, or None, found dict",
    ),
    # policy
    "rules first": (lambda: Policy([("deny", "a")]), r"unknown policy \[\('deny', 'a'\)\]; expected auto"),  # type: ignore[arg-type] - the mistake
    "rules by position": (
        lambda: Policy("auto", [("deny", "a")]),  # type: ignore[list-item]  # told
        r"rules=\('deny', 'a'\): expected rules, found tuple; write Rule\('deny', GlobGroup\('tests\.\*\*'\)",
    ),
    "rules that are text": (
        lambda: Policy("auto", "net.**"),  # type: ignore[arg-type]  # told
        r"rules='n': expected rules, found str; write Rule\('deny'",
    ),
    "an action behind its pattern": (
        lambda: Policy("auto").add("net.**", "intern"),  # type: ignore[arg-type]  # told
        r"action='net\.\*\*': expected one of 'intern', 'extern', 'mock', 'deny'",
    ),
    "variables in a text": (
        lambda: Policy("auto", variables="SIZE"),
        "variables='SIZE': expected a list of names, found str",
    ),
    "a word for an origin": (
        lambda: Policy("auto").decide("net", "project"),  # type: ignore[arg-type]  # told
        "origin='project': expected an Origin, found str",
    ),
    "an action that there is not": (
        lambda: Decision("itnern", "rule", ""),  # type: ignore[arg-type]  # told
        "action='itnern': expected one of 'intern', 'extern', 'mock', 'deny', 'undecided'",
    ),
    "a separator that is a number": (
        lambda: GlobGroup("a", separator=3),  # type: ignore[arg-type]  # told
        "separator=3: expected a text, found int",
    ),
    "a policy that is a number": (lambda: parse_policy(3), "text=3: expected the text of a policy, as"),  # type: ignore[arg-type] - the mistake
    "a migration that is a number": (
        lambda: parse_migration(3),  # type: ignore[arg-type]  # told
        "text=3: expected a migration as text, found int",
    ),
    "a policy to write that is a number": (
        lambda: format_policy(3),
        "policy=3: expected a Policy, found int",
    ),  # type: ignore[arg-type] - the mistake
}


@one_test
@pytest.mark.parametrize("name", CALLS)
def test_a_wrong_call_is_told(name: str) -> None:
    call, message = CALLS[name]
    with pytest.raises(ArgumentError, match=message):
        call()


NOT_STORED: dict[str, tuple[Callable[[Any], object], str, type[Exception]]] = {
    "a module": (lambda one: one.import_module("nte"), "no module 'nte' is in", ModuleNotFoundError),
    "a module of a package": (
        lambda one: one.import_module("net.no"),
        "No module named 'net.no' in",
        ModuleNotFoundError,
    ),
    "a source": (
        lambda one: one.get_source("nte"),
        r"No module named 'nte' in <bytes>; did you mean net\?",
        ModuleNotFoundError,
    ),
    "a text": (
        lambda one: one.load_text("net", "word.txt"),
        r"no resource 'word.txt' in package 'net' of <bytes>; did you mean net/words.txt\?",
        FileNotFoundError,
    ),
    "an object": (lambda one: one.load_object("model", "no"), "no object 'no' in package 'model'", KeyError),
    "a state dict": (lambda one: one.load_state_dict("model", "no"), "no state dict 'no' in", KeyError),
    "a key": (lambda one: one.load_state_dict("model", "weights")["v"], "has no tensor 'v'", KeyError),
    "a key that is a number": (
        lambda one: one.load_state_dict("model", "weights")[3],
        "has 1 key, but lacks 1 requested key:\n    3",
        KeyError,
    ),
    "several keys": (lambda one: one.load_state_dict("model", "weights").many(["v"]), "'v'", KeyError),
    "an entry": (lambda one: one.archive.read("no"), "the archive has no entry 'no'; names", KeyError),
    "an entry point": (
        lambda one: one.run({}, "no"),
        "no entry point 'no'; the archive has model/config; write entry='model/config'",
        LookupError,
    ),
    "a golden call": (lambda one: one.check("no"), "no example 'no'; the archive has none", LookupError),
}


@pytest.mark.parametrize("name", NOT_STORED)
def test_what_is_not_stored_is_one_error_and_the_builtin_of_its_kind(name: str) -> None:
    ask, message, builtin = NOT_STORED[name]
    with PackageImporter(ARCHIVE) as importer, pytest.raises(NotStoredError, match=message) as told:
        ask(importer)
    assert isinstance(told.value, builtin)


def test_what_is_not_in_a_plan_or_a_file_of_weights_is_the_same_error(tmp_path: Path) -> None:
    with pytest.raises(KeyNotStoredError, match="module 'net' is not in the plan"):
        exporter().why("net")
    np.savez(tmp_path / "old.npz", w=ONES)
    with (
        open_checkpoint(tmp_path / "old.npz") as checkpoint,
        pytest.raises(KeyNotStoredError, match=r"<npz 'old\.npz': 1 key> has no key 'v'") as told,
    ):
        checkpoint["v"]
    assert told.value.missing_keys == ("v",)


def test_a_resource_that_is_not_stored_says_where_it_would_lie() -> None:
    with PackageImporter(ARCHIVE) as importer, pytest.raises(ResourceNotStoredError) as told:
        importer.load_binary("net", "no.bin")
    assert told.value.filename == "net/no.bin"


def test_an_object_of_another_kind_is_refused() -> None:
    with PackageImporter(ARCHIVE) as importer:
        config: dict[str, int] = importer.load_object("model", "config", kind=dict)
        assert config == {"layers": 2}
        message = r"object model/config: expected a builtins\.list, found a builtins\.dict"
        with pytest.raises(WrongKindError, match=message):
            importer.load_object("model", "config", kind=list)


def test_a_trusted_name_that_matches_nothing_is_told_with_the_one_that_is_meant() -> None:
    message = r"trust= has names that it does not use:\n    '.*:Piont'; did you mean .*:Point\?"
    with pytest.raises(UntrustedTypeError, match=message):
        audit(encode(Point()).records, TrustContext.data_only(), [f"{__name__}:Piont"])


def test_what_has_ended_is_not_entered_again(tmp_path: Path) -> None:
    ended = exporter()
    ended.close()
    with pytest.raises(PackagingError, match=r"this exporter is closed\. Make a new PackageExporter"), ended:
        pass
    importer = PackageImporter(ARCHIVE)
    importer.close()
    with pytest.raises(ArchiveError, match="<bytes> is closed; open it again to read more"), importer:
        pass
    np.savez(tmp_path / "old.npz", w=ONES)
    checkpoint = open_checkpoint(tmp_path / "old.npz")
    value = checkpoint["w"]
    checkpoint.close()
    checkpoint.close()
    with pytest.raises(CheckpointError, match=r"old\.npz is closed; open it again to read more"):
        value.numpy()
