"""Processes of tests: what `subprocess` offers, with Python forked from a process that has begun before.

`run` and `Popen` give a command that begins with `sys.executable` to a server (`server.py`), which has
imported NumPy, packager and kellet, and forks. What a fork cannot do as a fresh interpreter does it starts
cold, by itself: flags besides `-I`, `-P`, `-s -P` and `-W`, other variables that an interpreter reads as it
begins, files that would be imported in the place of what the server has imported. One test in ten starts
cold, the same ones each time; with KELLET_COLD=1 all do. The report of a test that fails says how each was
started.

`cold=True` is for tests of what is imported or audited, of memory, time, descriptors and other processes, and
for a program that sets `sys.path` or `sys.modules` before it imports what the server has imported.
"""

from subprocess import DEVNULL as DEVNULL
from subprocess import PIPE as PIPE
from subprocess import STDOUT as STDOUT
from subprocess import CalledProcessError as CalledProcessError
from subprocess import CompletedProcess as CompletedProcess
from subprocess import TimeoutExpired as TimeoutExpired

from .starting import Popen as Popen
from .starting import how_started as how_started
from .starting import run as run

STRICT = ("-W", "error", "-W", "ignore:outputs are not checked")
"""Options of Python for scripts that export without an example: every other warning is an error."""
