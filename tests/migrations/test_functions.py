"""Functions that migrations of packaged code name are those of the archive, whatever is installed."""

import importlib
import pickle
import sys

import pytest

import kellet
from packager import MigrationError, PackageExporter, PackageImporter, is_mangled, sys_importer
from packager._loading.packaged_code import DisallowedModuleError
from packager._migrations import (
    Migration,
    NamedFunction,
    attach,
    format_migration,
    functions_of,
    migrate,
    rename,
)
from packager._migrations.transforms import find_function
from tests import processes

NET = """
from kellet import nn
from packager._migrations import Migration, NamedFunction, migrate, read_migration, rename, with_migrations
import shop, shop.legacy

def calling(name=NAME):
    return Migration("calls", [rename("old", "fc.bias", NamedFunction(name))], to=2)

DECORATED
class Net(nn.Module):
    _version = 2

    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(2, 1)

def by_hand(state, name=NAME):
    return dict(migrate(calling(name), state))

def from_file(state, path):
    return dict(migrate(read_migration(path), state))
"""
FUNCTIONS = """
def times(value):
    return value * FACTOR

class Old:
    class Inner:
        @staticmethod
        def times(value):
            return value * FACTOR
"""
NAMES = ["shop.legacy:times", "shop:times", "shop.legacy:Old.Inner.times"]
ATTACHED = "@with_migrations(calling())"


@pytest.fixture
def shop(project):
    """Write the package `shop` with functions that multiply by a number, and import it anew."""

    def write(factor, name, decorated=ATTACHED):
        functions = FUNCTIONS.replace("FACTOR", str(factor))
        net = NET.replace("NAME", repr(name)).replace("DECORATED", decorated)
        project(
            {
                "shop/__init__.py": functions,
                "shop/legacy.py": functions,
                "shop/other.py": functions,
                "shop/net.py": net + "#" * factor,
            }
        )
        for loaded in [found for found in sys.modules if found.partition(".")[0] == "shop"]:
            del sys.modules[loaded]
        importlib.invalidate_caches()
        return importlib.import_module("shop.net")

    return write


OLD = {"old": kellet.ones(1)}


def packed(path, net):
    with PackageExporter(path, policy="auto", prove=False) as exporter:
        exporter.save_object("model", "model", net.Net())
    return path


def migrated_bias(module):
    module.load_state_dict(dict(OLD), strict=False)
    return module.fc.bias.tolist()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("decorated", [ATTACHED, ""], ids=["by its class", "from outside"])
def test_another_installed_version_of_a_stored_package_does_not_run(shop, tmp_path, name, decorated):
    net = shop(2, name, decorated)
    if not decorated:
        attach(net.Net, net.calling())
    path = packed(tmp_path / "net.kellet", net)
    installed = shop(100, name, decorated)
    assert installed.by_hand(OLD)["fc.bias"].tolist() == [100]
    (tmp_path / "old.toml").write_text(
        f'[[step]]\nrename = "old"\nto = "new"\ntransforms = [{{ function = "{name}" }}]\n'
    )
    with PackageImporter(path, trust=[name]) as importer:
        assert migrated_bias(importer.load_object("model", "model")) == [2]
        module = importer.import_module("shop.net")
        assert module.by_hand(OLD)["fc.bias"].tolist() == [2]
        assert module.from_file(OLD, tmp_path / "old.toml")["new"].tolist() == [2]
        (stored,) = importer.load_migrations()["shop.net:Net"]
        assert migrate(stored, OLD)["fc.bias"].tolist() == [2]
    assert installed.by_hand(OLD)["fc.bias"].tolist() == [100]


@pytest.mark.parametrize("name", NAMES)
def test_it_runs_where_nothing_of_the_kind_is_installed(shop, tmp_path, monkeypatch, name):
    path = packed(tmp_path / "net.kellet", shop(2, name))
    for loaded in [found for found in sys.modules if found.partition(".")[0] == "shop"]:
        del sys.modules[loaded]
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if "project" not in entry])
    importlib.invalidate_caches()
    with PackageImporter(path) as importer:
        assert migrated_bias(importer.load_object("model", "model")) == [2]
        assert importer.import_module("shop.net").by_hand(OLD)["fc.bias"].tolist() == [2]


def test_an_archive_under_its_own_names_runs_its_own(shop, tmp_path):
    path = packed(tmp_path / "net.kellet", shop(2, NAMES[0]))
    script = (
        "import sys, kellet\nfrom packager import PackageImporter\n"
        f"importer = PackageImporter({str(path)!r}).install()\n"
        "module = importer.load_object('model', 'model')\n"
        "module.load_state_dict({'old': kellet.ones(1)}, strict=False)\nprint(module.fc.bias.tolist())"
    )
    done = processes.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert done.stdout == "[2.0]\n", done.stderr


def test_two_archives_of_one_package_run_each_its_own(shop, tmp_path):
    first = packed(tmp_path / "first.kellet", shop(2, NAMES[0]))
    second = packed(tmp_path / "second.kellet", shop(3, NAMES[0]))
    with PackageImporter(first) as one, PackageImporter(second) as other:
        modules = [importer.load_object("model", "model") for importer in (one, other)]
        assert [migrated_bias(module) for module in modules] == [[2], [3]]


def test_a_module_that_is_not_stored_is_missing_and_not_taken_from_elsewhere(shop, tmp_path):
    path = packed(tmp_path / "net.kellet", shop(2, NAMES[0]))
    installed = shop(100, NAMES[0])
    assert installed.by_hand(OLD, "shop.other:times")["fc.bias"].tolist() == [100]
    with PackageImporter(path) as importer:
        module = importer.import_module("shop.net")
        with pytest.raises(
            MigrationError,
            match=r"rename old -> fc\.bias:\n    'old': function 'shop\.other:times' was not found: No",
        ):
            module.by_hand(OLD, "shop.other:times")
        with pytest.raises(
            MigrationError,
            match="function 'hypothesis:given' was not found: packaged code imports 'hypothesis', but",
        ):
            module.by_hand(OLD, "hypothesis:given")
        with pytest.raises(
            MigrationError, match=r"'shop\.legacy:gone' was not found: module 'shop\.legacy' has no"
        ):
            module.by_hand(OLD, "shop.legacy:gone")


def test_what_packaged_code_declared_is_what_the_environment_has(shop, tmp_path):
    path = packed(tmp_path / "net.kellet", shop(2, NAMES[0]))
    with PackageImporter(path) as importer:
        assert importer.import_module("shop.net").by_hand(OLD, "kellet:neg")["fc.bias"].tolist() == [-1]


def test_a_mocked_module_has_no_functions_to_run(shop, tmp_path):
    net = shop(2, NAMES[0])
    path = tmp_path / "net.kellet"
    with PackageExporter(path, policy="auto", prove=False) as exporter:
        exporter.mock("shop.other")
        exporter.save_source_string("uses", "import shop.other, shop.net\n")
        exporter.save_object("model", "model", net.Net())
    shop(100, NAMES[0])
    with PackageImporter(path) as importer:
        module = importer.import_module("shop.net")
        with pytest.raises(
            MigrationError, match=r"raised NotImplementedError: .shop\.other\.times. was mocked"
        ):
            module.by_hand(OLD, "shop.other:times")
        assert migrated_bias(module.Net()) == [2]


def test_a_caller_beside_the_archive_means_its_own_functions(shop, tmp_path):
    path = packed(tmp_path / "net.kellet", shop(2, NAMES[0], ""))
    shop(100, NAMES[0])
    with PackageImporter(path) as importer:
        cls = importer.import_module("shop.net").Net
        attach(cls, Migration("mine", [rename("old", "fc.bias", NamedFunction(NAMES[0]))], to=2))
        assert migrated_bias(cls()) == [100]


def test_names_that_code_has_inside_of_an_archive_are_never_stored(shop, tmp_path):
    path = packed(tmp_path / "net.kellet", shop(3, NAMES[0], ""))
    shop(100, NAMES[0], "")
    with PackageImporter(path) as importer:
        module = importer.import_module("shop.net")
        own = f"{importer.import_module('shop.legacy').__name__}:times"
        assert is_mangled(own)
        target = f"{module.Net.__module__}:Net"
        migration = Migration("own", [rename("old", "fc.bias", NamedFunction(own))], to=2, target=target)
        assert 'function = "shop.legacy:times"' in format_migration(migration)
        assert 'class = "shop.net:Net"' in format_migration(migration)
        assert [str(use) for use in functions_of(migration)] == ["shop.legacy:times"]
        attach(module.Net, migration)
        net = module.Net()
        assert migrated_bias(net) == [3]
        sources = (importer, sys_importer)
        with PackageExporter(
            tmp_path / "again.kellet", importer=sources, policy="auto", prove=False
        ) as exporter:
            exporter.save_object("model", "model", net)
            exporter.save_state_dict("model", "weights", net)
    assert b"__w" not in (tmp_path / "again.kellet").read_bytes()
    with PackageImporter(tmp_path / "again.kellet") as importer:
        (record,) = importer.manifest.state_dicts
        assert record.migrations == ("shop.net:Net: own",)
        assert migrated_bias(importer.import_module("shop.net").Net()) == [3]


def test_how_a_function_is_found_is_no_part_of_what_it_is():
    plain = NamedFunction("math:sqrt")
    assert plain.find is find_function
    assert plain == NamedFunction("math:sqrt", find=lambda module, name: None)
    assert pickle.loads(pickle.dumps(plain)) == plain
    assert repr(plain) == "NamedFunction(name='math:sqrt', result=None)"


def test_a_function_of_the_archive_runs_only_when_its_module_is_admitted(shop, tmp_path):
    net = shop(2, NAMES[0], "")
    attach(net.Net, net.calling())
    path = packed(tmp_path / "net.kellet", net)
    asked = []

    def admits(name):
        asked.append(name)
        return name != "shop.legacy"

    with PackageImporter(path, admits) as importer:
        module = importer.load_object("model", "model")
        module.load_state_dict(module.state_dict())  # of today: nothing is due
        before = module.fc.bias.tolist()
        with pytest.raises(
            MigrationError,
            match=r"rename old -> fc\.bias:\n    'old': function 'shop\.legacy:times' was not found: "
            r"module_allowed refuses 'shop\.legacy', a module of the archive",
        ) as caught:
            migrated_bias(module)
        assert module.fc.bias.tolist() == before
        assert not isinstance(caught.value, DisallowedModuleError)
        assert "shop.legacy" in asked
    with PackageImporter(path, lambda name: name != "shop.other") as importer:
        assert migrated_bias(importer.load_object("model", "model")) == [2]


WORKER = """
import pickle, sys
sys.path[:] = eval(sys.argv[1])
Net = pickle.loads(bytes.fromhex(sys.argv[2]))
import kellet
module = Net()
module.load_state_dict({"old": kellet.ones(1)}, strict=False)
print(module.fc.bias.tolist())
"""


@pytest.mark.parametrize("admitted", [True, False])
def test_a_worker_process_holds_to_what_was_admitted(shop, tmp_path, admitted):
    net = shop(2, NAMES[0], "")
    attach(net.Net, net.calling())
    path = packed(tmp_path / "net.kellet", net)
    shop(100, NAMES[0])
    with PackageImporter(path, lambda name: admitted or name != "shop.legacy") as importer:
        cls = importer.import_module("shop.net").Net
        done = processes.run(
            [sys.executable, "-c", WORKER, repr(sys.path), pickle.dumps(cls).hex()],
            capture_output=True,
            text=True,
            check=False,
        )
    if admitted:
        assert done.stdout == "[2.0]\n", done.stderr
    else:
        assert "module_allowed refuses 'shop.legacy'" in done.stderr


def test_a_stored_migration_that_reckons_with_text_is_an_error_when_it_runs(shop, tmp_path):
    net = shop(2, NAMES[0], "")
    attach(net.Net, Migration("text", [rename("old{n}", "fc.bias{n+1}")], to=2, stored=True))
    path = packed(tmp_path / "net.kellet", net)
    with PackageImporter(path) as importer:
        module = importer.load_object("model", "model")
        module.load_state_dict(module.state_dict())
        with pytest.raises(
            MigrationError,
            match=r"stored migrations, 0, step 0: rename old\{n\} -> fc.*write \{n:int\} in",
        ):
            module.load_state_dict({"old0": kellet.ones(1)}, strict=False)
        with pytest.raises(MigrationError, match=r"write \{n:int\} in"):
            importer.load_migrations()
