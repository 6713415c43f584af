"""What packaged code shares with the process: loggers by their true names, warning filters, `builtins`.

Each program runs in a fresh process. What it prints is what the guide on loading says in its table.
"""

from __future__ import annotations

import sys
import textwrap
from pathlib import Path

import pytest

from packager import PackageExporter
from tests import processes

pytestmark = pytest.mark.processes(share=3)

NET = {
    "netpkg": "import logging\nfrom . import part\nlog = logging.getLogger(__name__)\n",
    "netpkg.part": """
import logging, warnings
log = logging.getLogger(__name__)

def warn():
    warnings.warn("old", stacklevel=1)
""",
}
LOGGING = """
import io, logging, sys
from packager.package_importer import PackageImporter

def written():
    text = stream.getvalue().split()
    stream.seek(0), stream.truncate()
    return text

stream = io.StringIO()
first, second = (PackageImporter(sys.argv[1], environment="ignore") for _ in range(2))
if sys.argv[2] == "before":
    logging.getLogger("netpkg").setLevel("INFO")
one, two = (importer.import_module("netpkg") for importer in (first, second))
logging.getLogger("netpkg").addHandler(logging.StreamHandler(stream))
logging.getLogger("netpkg").setLevel("INFO")
"""
LOGGING_CASES = {
    "a level and a handler of the true name": (
        "for module in (one, two.part): module.log.info('info'), module.log.debug('debug')",
        "['info', 'info']",
    ),
    "what a package sets itself is its own": (
        "one.log.setLevel('ERROR'); one.part.log.warning('one'); two.part.log.warning('two')",
        "['two']",
    ),
    "no propagation from a package": (
        "one.log.propagate = False; one.part.log.error('one'); two.log.error('two')",
        "['two']",
    ),
    "code that names its logger by text": (
        (
            "logging.getLogger('netpkg').propagate = False; logging.getLogger().addHandler("
            "logging.StreamHandler(stream)); one.part.log.error('one')"
        ),
        "['one']",
    ),
    "a dictConfig of the true name": (
        (
            "import logging.config; logging.config.dictConfig({'version': 1, "
            "'disable_existing_loggers': False, 'loggers': {'netpkg': {'level': 'DEBUG'}}}); "
            "logging.getLogger('netpkg').addHandler(logging.StreamHandler(stream)); one.part.log.debug('one')"
        ),
        "['one']",
    ),
}


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    with PackageExporter(tmp_path / "net.kellet", policy="auto", prove=False) as exporter:
        for name, text in NET.items():
            exporter.save_source_string(name, text, is_package=name == "netpkg")
    return tmp_path / "net.kellet"


def printed(program: str, *arguments: object) -> list[str]:
    done = processes.run(
        [sys.executable, "-c", textwrap.dedent(program), *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize(("statement", "expected"), LOGGING_CASES.values(), ids=LOGGING_CASES)
def test_loggers_are_set_by_the_true_name(archive: Path, statement: str, expected: str, when: str) -> None:
    assert printed(f"{LOGGING}{statement}\nprint(written())\n", archive, when) == [expected]


def test_loggers_go_with_their_archive_and_others_stay(archive: Path) -> None:
    program = """
    first.close()
    one.part.log.warning("late")
    names = [name for name in logging.Logger.manager.loggerDict if name.startswith("netpkg")]
    print(written(), len(names), {name.partition("__w")[0] for name in names})
    """
    assert printed(LOGGING + textwrap.dedent(program), archive, "after") == ["['late'] 3 {'netpkg'}"]


WARNINGS = """
import sys, warnings
from packager.package_importer import PackageImporter
importer = PackageImporter(sys.argv[1], environment="ignore")
part = importer.import_module("netpkg.part")
for pattern in (r"netpkg\\.part", "netpkg", r"netpkg(__w\\w+)?\\.part", "otherpkg"):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.filterwarnings("ignore", module=pattern)
        part.warn()
    print(pattern, len(caught))
importer.close()
"""


def test_filters_of_warnings_ask_for_the_name_in_the_process(archive: Path) -> None:
    found = dict(line.rsplit(" ", 1) for line in printed(WARNINGS, archive))
    assert found == {r"netpkg\.part": "1", "netpkg": "0", r"netpkg(__w\w+)?\.part": "0", "otherpkg": "1"}


BUILTINS = """
import builtins, sys
sys.path.append(sys.argv[2])
from packager import PackageExporter
from packager.package_importer import PackageImporter

with PackageExporter(sys.argv[1], policy="auto", prove=False) as exporter:
    exporter.extern("icepkg")
    exporter.save_source_string("netpkg", '''
import builtins, gettext, icepkg
gettext.install("netpkg")
icepkg.install()
from . import part

def names():
    return _("text"), ice(3), sorted([2, 1])

def set_word(value):
    builtins.netpkg_word = value

def word():
    return netpkg_word

def late():
    return late_word

def imports():
    import json

def fresh():
    names = {}
    exec("found = ice(4), netpkg_word", names)
    return names["found"]

def own(value):
    __builtins__["len"] = lambda x: value
    return len([])

def length():
    return len([])
''', is_package=True)
    exporter.save_source_string("netpkg.part", "text, cold = _('text'), ice(2)\\n")
one, two = (PackageImporter(sys.argv[1], environment="ignore") for _ in range(2))
net, other = one.import_module("netpkg"), two.import_module("netpkg")
print(net.part.text, net.part.cold, net.names())
net.set_word(5)
print(netpkg_word, net.word(), other.imports(), other.word(), net.fresh())
builtins.late_word = 7
try:
    print(net.late())
except NameError as error:
    print(error)
net.imports()
print(net.late())
builtins.late_word = 8
del builtins.netpkg_word
other.imports(), net.imports()
try:
    net.word()
except NameError as error:
    print(error)
print(net.own(9), net.length(), other.length(), len([]))
one.close(), two.close()
"""


def test_builtins_are_shared_but_for_import(tmp_path: Path) -> None:
    ice = "import builtins\ndef install():\n    builtins.ice = lambda x: ('ice', x)\n"
    (tmp_path / "icepkg.py").write_text(ice)
    assert printed(BUILTINS, tmp_path / "net.kellet", tmp_path) == [
        "text ('ice', 2) ('text', ('ice', 3), [1, 2])",
        "5 5 None 5 (('ice', 4), 5)",
        "name 'late_word' is not defined",
        "7",
        "name 'netpkg_word' is not defined",
        "9 9 0 0",
    ]


def test_what_an_install_function_of_a_library_changes_is_taken_over(tmp_path: Path) -> None:
    (tmp_path / "icepkg.py").write_text(
        "import builtins\n"
        "def patched(values, plain=sorted, **more):\n"
        "    return 'changed' if type(values) is list and values == [2, 1] else plain(values, **more)\n"
        "def install():\n    builtins.sorted = patched\n    builtins.ice = lambda x: x\n"
    )
    assert printed(BUILTINS, tmp_path / "net.kellet", tmp_path)[0] == "text 2 ('text', 3, 'changed')"
