"""A migration, written in Python: one function per step, with templates as plain strings.

    Migration(
        "swin-head",
        steps=[
            rename("layers.{n:int}.downsample.{rest:any}", "layers.{n+1}.downsample.{rest}"),
            drop("{p:any}.attn_mask"),
        ],
    )

The same words are the keys of a TOML file (`toml.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from packager.errors import MigrationError

from .steps import Step
from .templates import TemplateError


@dataclass(frozen=True)
class Migration:
    """What brings state dicts of one layout into the next.

    `steps` run in order. `unwrap` names keys under which a checkpoint may hold the state dict itself:
    the first that is there is opened. `target` is the class whose state dicts it is for, as
    "package.module:Class"; keys are then relative to each instance; "" means a checkpoint as a whole.
    `to` is the version that is reached: the migration is for older ones, and None for any. `since` is
    the version that it starts from, where it is not for every older one. `where` is the file that it
    was read from; `undoes` names the migration whose inverse this is: its steps need not find
    anything, as those that they undo need not have.

    Raises TemplateError when the sides of a step do not fit together, MigrationError for versions
    that do not rise.
    """

    name: str
    steps: Sequence[Step] = ()
    target: str = ""
    to: int | None = None
    unwrap: tuple[str, ...] = ()
    since: int | None = None
    where: str = ""
    undoes: str = ""
    stored: bool = field(default=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "steps", tuple(self.steps))
        object.__setattr__(self, "unwrap", tuple(self.unwrap))
        if self.since is not None and (self.to is None or self.since >= self.to):
            raise MigrationError(
                f"{self} goes from version {self.since} to {self.to}; versions only rise: a way back is "
                "the inverse, not a migration"
            )
        for step in self.steps:
            step.check()
            if not self.stored:
                step.check_numbers()

    def __str__(self) -> str:
        where = f" ({self.where})" if self.where else ""
        return f"migration {self.name!r}{where}"

    def is_due(self, version: int | None) -> bool:
        """Whether a state dict of this version has to go through it; None counts as the oldest."""
        return self.to is None or version is None or version < self.to

    @property
    def is_reversible(self) -> bool:
        """Whether every step has an inverse."""
        return not self.unwrap and all(step.inverse() is not None for step in self.steps)

    def inverse(self) -> Migration:
        """The migration back. Raises TemplateError naming every step that has no inverse."""
        back = [step.inverse() for step in reversed(self.steps)]
        stuck = [step.described() for step in self.steps if step.inverse() is None]
        if stuck or self.unwrap:
            what = (["unwrap"] if self.unwrap else []) + stuck
            raise TemplateError(f"{self} cannot go back: no inverse for {'; '.join(what)}")
        steps = tuple(step for step in back if step is not None)
        return Migration(f"{self.name} (back)", steps, self.target, undoes=self.name)
