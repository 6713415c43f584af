"""Variables of the environment that are set here and that stored code reads: another machine has others."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Final

from packager import seen
from packager.graph import Module, variables_read
from packager.quick_dataclasses import dataclass

_EVERYWHERE: Final = re.compile(
    r"PATH|HOME|USER|USERNAME|LOGNAME|SHELL|PWD|OLDPWD|TERM|TMPDIR|TEMP|TMP|HOSTNAME|DISPLAY|TZ|EDITOR|PAGER"
    r"|LANG|LANGUAGE|LC_.*|XDG_.*|VIRTUAL_ENV|CONDA_.*|PYTHON.*|PYTEST_.*|KELLET_.*|CI|COLUMNS|LINES|NO_COLOR"
    r"|OMP_.*|MKL_.*|OPENBLAS_.*|NUMEXPR_.*|CUDA_.*|NVIDIA_.*|NCCL_.*|SLURM_.*|RANK|LOCAL_RANK|WORLD_SIZE"
    r"|MASTER_ADDR|MASTER_PORT|APPDATA|LOCALAPPDATA|USERPROFILE|SYSTEMROOT|COMSPEC|LD_.*|DYLD_.*|PATHEXT|WINDIR"
)
"""What every machine or every launcher sets: it says where code runs, and not what it does."""


EVERY_NAME: Final = "*"
"""What stands for all variables, where code goes through them."""


@dataclass(frozen=True)
class SetVariable:
    """A variable of the environment that is set here, and the line of stored code that reads it.

    Its value is not told: it may be a secret. The name may be EVERY_NAME.

    >>> SetVariable("A_MODE", "net.py", 3).id
    'os:environ.A_MODE'
    """

    name: str
    file: str
    line: int

    @property
    def id(self) -> str:
        """What it is answered by, where it may be set there as it is here."""
        return f"os:environ.{self.name}"

    @property
    def shown(self) -> str:
        """Its name, or what stands for all of them."""
        return "what not every machine sets" if self.name == EVERY_NAME else self.name

    def __str__(self) -> str:
        if self.name == EVERY_NAME:
            return (
                f"{self.file}:{self.line} reads all variables of the environment, and found none in the "
                "proof but those of every machine: let the object hold what comes of them, or, where they "
                f'are set wherever this is loaded, say so: exporter.answer("{self.id}", "none")'
            )
        return (
            f"{self.name} is a variable of the environment that is set here, and {self.file}:{self.line} "
            "reads it: an archive does not have it, and where it is not set to the same, the code "
            f"may do something else; let the object hold what comes of it, or set it there, and say so: "
            f'exporter.answer("{self.id}", "none")'
        )


def variables_of_here(unneeded: Collection[str]) -> list[str]:
    """Return the variables that are set here, and not on every machine, but for those that were answered."""
    if f"os:environ.{EVERY_NAME}" in unneeded:
        return []
    named = (name for name in sorted(os.environ) if not _EVERYWHERE.fullmatch(name))
    return [name for name in named if f"os:environ.{name}" not in unneeded]


def set_variables(modules: Sequence[Module], is_live: Callable[[str, int], bool]) -> Iterator[SetVariable]:
    """Yield each variable that is set here and that code which can run reads, once."""
    told: set[str] = set()
    for module in modules:
        for pattern, line, begins in variables_read(module.source or b""):
            if begins and not is_live(module.name, begins):
                continue
            for name in seen.note_variables(pattern):
                if name not in told and not _EVERYWHERE.fullmatch(name):
                    told.add(name)
                    yield SetVariable(name, module.file, line)
