"""Migrations travel with an archive: stored with the classes, run on older states, judged before they run."""

import io
import pickle
import sys

import numpy as np
import pytest

import kellet
from kellet import nn
from packager import (
    ArchiveError,
    MigrationError,
    PackageError,
    PackageExporter,
    PackageImporter,
    UntrustedTypeError,
)
from packager._archive import ArchiveReader, verify
from packager._archive.entry_names import MIGRATIONS
from packager._cli import main
from packager._migrations import Migration, NamedFunction, attach, attached, migrate, migrations_ran, rename
from packager._migrations.archiving import pack_migrations, patterns_of, unpack_migrations
from packager._migrations.renaming import RenamePattern
from tests import processes

NET = """
from kellet import nn
import kellet

class Net(nn.Module):
    _version = 3
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(2, 1)

def build():
    return Net()

def doubled(value):
    return value * 2
"""


@pytest.fixture
def net(project):
    """The module `shop.net`, in which nothing is attached to its class."""
    project({"shop/__init__.py": "", "shop/net.py": NET})
    import shop.net

    return shop.net


def renamed(*names, **fields):
    """A migration by which `names[0]` becomes `names[1]`."""
    return Migration(f"to {fields['to']}", [rename(f"{names[0]}.{{rest}}", f"{names[1]}.{{rest}}")], **fields)


def exported(path, net, **options):
    with PackageExporter(path, policy="auto", prove=False) as exporter:
        exporter.save_object("model", "model", net, **options)
    return path


def old_state(key, version, value=5.0):
    state = nn.StateDict(
        {f"{key}.weight": kellet.full((1, 2), value), f"{key}.bias": kellet.full((1,), value)}
    )
    state._metadata = {"": {"version": version}, key: {"version": 1}}
    return state


@pytest.mark.parametrize("how", ["layout", "factory", "import"])
def test_the_migrations_of_a_class_travel_with_it_and_run_on_older_states(net, tmp_path, how):
    attach(net.Net, renamed("proj", "linear", to=2), renamed("linear", "fc", to=3))
    options = {"factory": net.build, "config": {}} if how == "factory" else {}
    path = exported(tmp_path / "net.kellet", net.Net(), **options)
    with ArchiveReader(path) as reader:
        assert reader.entry(MIGRATIONS).kind == "migration"
        assert verify(reader).problems == ()
    with PackageImporter(path) as importer:
        if how == "import":
            module = importer.import_module("shop.net").Net()
        else:
            module = importer.load_object("model", "model")
        assert type(module) is not net.Net
        assert [one.name for one in attached(type(module))] == ["to 2", "to 3"]
        assert migrations_ran(module) == ()
        for key, version, names in (("proj", 1, ("to 2", "to 3")), ("linear", 2, ("to 3",))):
            module.load_state_dict(old_state(key, version))
            assert module.fc.weight.tolist() == [[5, 5]]
            assert [(ran.version, ran.names) for ran in migrations_ran(module)] == [(version, names)]
    assert [one.name for one in attached(net.Net)] == ["to 2", "to 3"]


WORKER = """
import pickle, sys
sys.path[:] = eval(sys.argv[1])
Net = pickle.loads(bytes.fromhex(sys.argv[2]))
import kellet
from kellet import nn
from packager._migrations import attached, migrations_ran
print([one.name for one in attached(Net)])
module = Net()
state = nn.StateDict({"proj.weight": kellet.full((1, 2), 5.0), "old": kellet.full((1,), 4.0)})
state._metadata = {"": {"version": 1}, "proj": {"version": 1}}
module.load_state_dict(state)
print(module.fc.weight.tolist(), module.fc.bias.tolist(), [ran.names for ran in migrations_ran(module)])
"""


@pytest.mark.parametrize("trusted", [True, False])
def test_a_worker_process_that_finds_the_archive_again_has_its_migrations(net, tmp_path, trusted):
    attach(net.Net, renamed("proj", "fc", to=2), calling("kellet:neg"))
    path = exported(tmp_path / "net.kellet", net.Net())
    with PackageImporter(path, trust=["kellet:neg"] if trusted else []) as importer:
        cls = importer.import_module("shop.net").Net
        away = [entry for entry in sys.path if not entry.startswith(str(tmp_path / "project"))]
        done = processes.run(
            [sys.executable, "-c", WORKER, repr(away), pickle.dumps(cls).hex()],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            timeout=60,
            check=False,
        )
    attached_there, _, loaded = done.stdout.partition("\n")
    assert attached_there == "['to 2', 'calls']", done.stderr
    if trusted:
        assert loaded == "[[5.0, 5.0]] [-4.0] [('to 2', 'calls')]\n", done.stderr
    else:
        assert "UntrustedNamesError" in done.stderr


def test_what_packaged_code_attaches_itself_is_not_attached_twice(project, tmp_path):
    code = "from packager._migrations import Migration, rename, with_migrations\n" + NET.replace(
        "class Net", "@with_migrations(Migration('own', [rename('a.{x}', 'fc.{x}')], to=2))\nclass Net"
    )
    project({"shop2/__init__.py": "", "shop2/net.py": code})
    import shop2.net

    path = exported(tmp_path / "net.kellet", shop2.net.Net())
    with PackageImporter(path) as importer:
        module = importer.load_object("model", "model")
        assert [type(one).__name__ for one in attached(type(module))] == ["Migration"]
        module.load_state_dict(old_state("a", 1))
        assert module.fc.bias.tolist() == [5]


def test_packing_again_keeps_what_was_stored(net, tmp_path):
    attach(net.Net, renamed("proj", "fc", to=3))
    first = exported(tmp_path / "first.kellet", net.Net())
    second = tmp_path / "second.kellet"
    with (
        PackageImporter(first) as importer,
        PackageExporter(second, importer=importer, policy="auto", prove=False) as exporter,
    ):
        exporter.save_object("model", "model", importer.load_object("model", "model"))
    with ArchiveReader(first) as one, ArchiveReader(second) as other:
        assert one.read(MIGRATIONS) == other.read(MIGRATIONS)


def test_the_manifest_says_which_migrations_a_state_went_through(net, tmp_path):
    attach(net.Net, renamed("proj", "fc", to=3))
    module = net.Net()
    module.load_state_dict(old_state("proj", 1))
    whole = migrate(Migration("whole", [rename("a", "b")]), {"a": np.ones(1, "f4")})
    with PackageExporter(tmp_path / "net.kellet", policy="auto", prove=False) as exporter:
        exporter.save_state_dict("model", "net", module)
        exporter.save_state_dict("model", "whole", whole)
        exporter.save_state_dict("model", "plain", {"w": np.ones(1, "f4")})
    with PackageImporter(tmp_path / "net.kellet") as importer:
        records = {record.resource: record.migrations for record in importer.manifest.state_dicts}
        assert records == {"net": ("shop.net:Net: to 3",), "whole": ("whole",), "plain": ()}
        assert importer.load_state_dict("model", "whole")["b"].tolist() == [1]


def test_a_state_dict_of_an_archive_loads_into_next_years_class_by_its_new_migrations(net, tmp_path):
    with PackageExporter(tmp_path / "net.kellet", policy="auto", prove=False) as exporter:
        exporter.save_state_dict("model", "weights", net.Net())

    class Net(nn.Module):
        _version = 4

        def __init__(self):
            super().__init__()
            self.head = nn.Linear(2, 1)

    attach(Net, renamed("fc", "head", to=4))
    module = Net()
    with PackageImporter(tmp_path / "net.kellet") as importer:
        state = importer.load_state_dict("model", "weights", as_="kellet")
        assert state.versions[""] == 3
        assert str(module.load_state_dict(state)) == "<All keys matched successfully>"
    assert [(ran.version, ran.names) for ran in migrations_ran(module)] == [(3, ("to 4",))]


def outside(project, version, attribute, more=""):
    """A class that stays outside of the archive, and changes from year to year."""
    project(
        {
            "years/__init__.py": (
                "from kellet import nn\nfrom packager._migrations import Migration, attach, rename\n"
                "class Net(nn.Module):\n"
                f"    _version = {version}\n"
                "    def __init__(self):\n"
                "        super().__init__()\n"
                f"        self.{attribute} = nn.Linear(2, 1)\n"
                "def build():\n    return Net()\n" + more
            )
        }
    )
    import importlib
    import sys

    sys.modules.pop("years", None)
    importlib.invalidate_caches()
    return importlib.import_module("years")


MORE = "attach(Net, Migration('to 2', [rename('fc.{x}', 'head.{x}')], to=2))\n# a longer file\n"


@pytest.mark.parametrize("factory", [True, False])
@pytest.mark.filterwarnings("ignore::packager.errors.PackagingWarning")
def test_an_object_of_a_class_outside_takes_the_new_migrations_only_by_its_factory(
    project, tmp_path, factory
):
    years = outside(project, 1, "fc")
    made = years.Net()
    with PackageExporter(tmp_path / "net.kellet", policy="auto", prove=False) as exporter:
        exporter.extern("years")
        options = {"factory": "years:build", "config": {}} if factory else {}
        exporter.save_object("model", "model", made, **options)
    weight = made.fc.weight.tolist()
    outside(project, 2, "head", MORE)
    with PackageImporter(
        tmp_path / "net.kellet", trust=["years:build", "years:Net"], environment="ignore"
    ) as importer:
        if factory:
            module = importer.load_object("model", "model")
            assert module.head.weight.tolist() == weight
            assert [ran.names for ran in migrations_ran(module)] == [("to 2",)]
        else:
            with pytest.raises(
                PackageError, match=r"Net: version 1 in the archive, 2 here\. Make the module with the code"
            ):
                importer.load_object("model", "model")


def hostile(tmp_path, net, migration, *, trust=()):
    attach(net.Net, migration)
    path = exported(tmp_path / "net.kellet", net.Net())
    return PackageImporter(path, trust=trust)


def calling(name):
    return Migration("calls", [rename("old", "fc.bias", NamedFunction(name))], to=3)


def test_a_function_of_the_archive_runs_as_the_archives_own(net, tmp_path):
    with hostile(tmp_path, net, calling("shop.net:doubled")) as importer:
        module = importer.load_object("model", "model")
        module.load_state_dict({"old": kellet.ones(1)}, strict=False)
        assert module.fc.bias.tolist() == [2]


def test_a_function_that_nobody_vouches_for_does_not_run_and_is_named_with_its_role(net, tmp_path):
    with hostile(tmp_path, net, calling("numpy:negative")) as importer:
        module = importer.load_object("model", "model")
        module.load_state_dict(module.state_dict())  # of today: nothing is due
        before = module.fc.bias.tolist()
        with pytest.raises(
            UntrustedTypeError, match="called with stored arguments:\n    numpy:negative"
        ) as caught:
            module.load_state_dict({"old": kellet.ones(1)}, strict=False)
        assert caught.value.uses[0].role == "call"
        assert module.fc.bias.tolist() == before
        with pytest.raises(
            UntrustedTypeError, match=r"numpy:negative    at migration 'calls' of shop\.net:Net"
        ):
            importer.load_migrations()


def test_a_trusted_function_runs(net, tmp_path):
    with hostile(tmp_path, net, calling("kellet:neg"), trust=["kellet:neg"]) as importer:
        module = importer.load_object("model", "model")
        module.load_state_dict({"old": kellet.ones(1)}, strict=False)
        assert module.fc.bias.tolist() == [-1]
        assert list(importer.load_migrations()) == ["shop.net:Net"]


def test_names_that_turn_data_into_code_are_refused_whatever_is_trusted(net, tmp_path):
    with (
        hostile(tmp_path, net, calling("subprocess:run"), trust=["subprocess:run"]) as importer,
        pytest.raises(
            UntrustedTypeError,
            match="refused always: it is of the module subprocess, which reaches for files",
        ),
    ):
        importer.load_migrations()


def test_regular_expressions_out_of_an_archive_run_only_when_trusted(net, tmp_path):
    from packager._migrations import rename_pattern

    pattern = Migration("pattern", [rename_pattern("^old_", "fc.")], to=3)
    state = {"old_weight": kellet.full((1, 2), 3), "old_bias": kellet.full((1,), 3)}
    with hostile(tmp_path, net, pattern) as importer:
        module = importer.load_object("model", "model")
        with pytest.raises(
            UntrustedTypeError, match=r'/\^old_/.*trust=\["packager.migrations:rename_pattern"\]'
        ):
            module.load_state_dict(state)
    with PackageImporter(tmp_path / "net.kellet", trust=["packager.migrations:rename_pattern"]) as importer:
        module = importer.load_object("model", "model")
        module.load_state_dict(state)
        assert module.fc.bias.tolist() == [3]


def stored_pattern(pattern):
    from packager._archive import pack

    return pack([{"name": "m", "class": "a:A", "step": [{"pattern": pattern, "to": "x"}]}])


@pytest.mark.parametrize(
    "pattern",
    ["(", "(" * 5000, "a{99999999999999999999}", "(?:|||||){40}(?!)"],  # the last would search for years
    ids=["wrong", "deep", "large", "endless"],
)
def test_regular_expressions_out_of_an_archive_are_read_as_text_alone(pattern):
    ((migration,),) = unpack_migrations(stored_pattern(pattern)).values()
    assert patterns_of(migration) == (pattern,)
    assert pack_migrations({"a:A": [migration]}) == stored_pattern(pattern)
    with pytest.raises(
        ArchiveError, match="stored migrations, 0, step 0: pattern = 3: found int, expected str"
    ):
        unpack_migrations(stored_pattern(3))


def test_a_trusted_regular_expression_that_is_none_is_an_error_with_its_place(net, tmp_path, capsys):
    wrong = Migration("wrong", [RenamePattern("(", "x")], to=3)
    with hostile(tmp_path, net, wrong, trust=["packager.migrations:rename_pattern"]) as importer:
        module = importer.load_object("model", "model")
        with pytest.raises(MigrationError, match=r"stored migrations, 0, step 0: /\(/ -> x: missing \)"):
            module.load_state_dict({"old": kellet.ones(1)})
    assert main(["inspect", str(tmp_path / "net.kellet")]) == 0
    assert "/(/" in capsys.readouterr().out


def test_reading_stored_migrations_imports_nothing_and_refuses_other_spellings():
    known = {"a:A": (Migration("m", [rename("x", "y", NamedFunction("not_there:f"))], to=1, target="a:A"),)}
    data = pack_migrations(known)
    assert pack_migrations(unpack_migrations(data)) == data
    from packager._archive import pack

    for data in (b"\x01", pack([]), pack([1])):
        with pytest.raises(ArchiveError, match="expected a list of tables"):
            unpack_migrations(data)
    table = {"name": "m", "class": "a:A", "step": []}
    with pytest.raises(ArchiveError, match="a:A has two migrations of this name"):
        unpack_migrations(pack([table, table]))

    for table, message in (
        (
            {"name": "m", "class": "a:A", "step": [{"spin": 1}]},
            "stored migrations, 0, step 0: a step needs one of",
        ),
        ({"name": "m", "step": []}, "no name, or no class"),
        ({"class": "a:A", "name": "", "step": []}, "no name, or no class"),
        ({"name": "m", "class": "a:A", "step": [], "colour": 1}, "unknown 'colour'"),
        ({"name": "m", "class": "a:A", "step": 3}, "step = 3: found int, expected list"),
        ({"name": "m", "class": "a:A", "step": [], "to": 1, "from": 2}, "expected a higher version"),
        (
            {"name": "m", "class": "a:A", "step": [{"drop": "x", "before": 1, "unless": "y"}]},
            "not spelled as",
        ),
    ):
        with pytest.raises(ArchiveError, match=message):
            unpack_migrations(pack([table]))


def test_a_migration_that_cannot_be_written_down_stops_the_export_with_its_reason(net, tmp_path):
    class Mine:
        def header(self, before):
            return before

        def apply(self, value):
            return value

        def inverse(self):
            return None

    attach(net.Net, Migration("mine", [rename("a", "fc.bias", Mine())], to=3))
    exporter = PackageExporter(io.BytesIO(), policy="auto", prove=False)
    exporter.save_object("model", "model", net.Net())
    (problem,) = exporter.plan().problems
    assert problem.subject == "migrations of shop.net:Net"
    assert "cannot be stored; move it into a function of a module" in problem.context


def test_a_closed_importer_frees_the_classes_that_migrations_were_attached_to(net, tmp_path):
    import gc
    import weakref

    attach(net.Net, renamed("proj", "fc", to=3))
    path = exported(tmp_path / "net.kellet", net.Net())
    importer = PackageImporter(path)
    module = importer.load_object("model", "model")
    module.load_state_dict(old_state("proj", 1))
    reference = weakref.ref(type(module))
    del module
    importer.close()
    del importer
    gc.collect()
    assert reference() is None
