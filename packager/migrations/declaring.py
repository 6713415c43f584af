"""How a migration is written in Python: one function per step, with templates as plain strings.

    Migration(
        "swin-head",
        steps=[
            rename("layers.{n:int}.downsample.{rest:any}", "layers.{n+1}.downsample.{rest}"),
            drop("{p:any}.attn_mask"),
        ],
    )

The same words are the keys of a TOML file (`files.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from packager.errors import MigrationError

from .steps import (
    Default,
    Drop,
    Gates,
    Merge,
    Rename,
    RenamePattern,
    Split,
    Step,
    check_numbers,
    check_pattern,
    check_step,
    described,
    inverse_step,
)
from .templates import Template, TemplateError
from .transforms import Transform

__all__ = ["Migration", "default", "drop", "merge", "rename", "rename_pattern", "split", "unchecked_pattern"]

Templates = str | Sequence[str]


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
            check_step(step)
            if not self.stored:
                check_numbers(step)

    def __str__(self) -> str:
        where = f" ({self.where})" if self.where else ""
        return f"migration {self.name!r}{where}"

    def is_due(self, version: int | None) -> bool:
        """Whether a state dict of this version has to go through it; None counts as the oldest."""
        return self.to is None or version is None or version < self.to

    @property
    def is_reversible(self) -> bool:
        """Whether every step has an inverse."""
        return not self.unwrap and all(inverse_step(step) is not None for step in self.steps)

    def inverse(self) -> Migration:
        """The migration back. Raises TemplateError naming every step that has no inverse."""
        back = [inverse_step(step) for step in reversed(self.steps)]
        stuck = [described(step) for step in self.steps if inverse_step(step) is None]
        if stuck or self.unwrap:
            what = (["unwrap"] if self.unwrap else []) + stuck
            raise TemplateError(f"{self} cannot go back: no inverse for {'; '.join(what)}")
        steps = tuple(step for step in back if step is not None)
        return Migration(f"{self.name} (back)", steps, self.target, undoes=self.name)


def rename(
    old: str,
    new: str,
    *transforms: Transform,
    repeat: bool = False,
    before: int | None = None,
    unless: Templates = (),
    if_all: Templates = (),
    line: str = "",
) -> Rename:
    """Give keys another name, and their values through `transforms`.

    >>> rename("mlp.linear_{n:int}.{rest:any}", "mlp.{3*(n-1)}.{rest}", before=2).gates.before
    2
    """
    source = Template.parse(old)
    gates = _gates((source,), before, unless, if_all)
    return Rename(source, _beside(new, source), transforms, repeat, gates, line)


def rename_pattern(
    pattern: str,
    replacement: str,
    *,
    before: int | None = None,
    unless: Templates = (),
    if_all: Templates = (),
    line: str = "",
) -> RenamePattern:
    """Replace what a regular expression finds in keys: one-way, for what templates cannot say."""
    step = unchecked_pattern(pattern, replacement, before=before, unless=unless, if_all=if_all, line=line)
    check_pattern(step)
    return step


def unchecked_pattern(
    pattern: str,
    replacement: str,
    *,
    before: int | None = None,
    unless: Templates = (),
    if_all: Templates = (),
    line: str = "",
) -> RenamePattern:
    """The same, of somebody who may not be trusted: it is not even compiled."""
    return RenamePattern(pattern, replacement, _gates((), before, unless, if_all), line)


def drop(
    old: str, *, before: int | None = None, unless: Templates = (), if_all: Templates = (), line: str = ""
) -> Drop:
    """Leave keys out."""
    source = Template.parse(old)
    return Drop(source, _gates((source,), before, unless, if_all), line)


def default(
    new: str,
    fill: float | int | bool,
    *,
    shape: Sequence[int] | None = None,
    dtype: str | None = None,
    like: str | None = None,
    before: int | None = None,
    unless: Templates = (),
    if_all: Templates = (),
    line: str = "",
) -> Default:
    """Add a constant where there is no such key, shaped as given or as a sibling is."""
    sibling = None if like is None else Template.parse(like)
    if sibling is None and (shape is None or dtype is None):
        raise TemplateError(f"{line or repr(new)}: a default needs a shape and a dtype, or a sibling (like)")
    target = Template.parse(new) if sibling is None else _beside(new, sibling)
    given = None if shape is None else tuple(shape)
    sources = () if sibling is None else (sibling,)
    return Default(target, fill, given, dtype, sibling, _gates(sources, before, unless, if_all), line)


def split(
    old: str,
    new: Templates,
    *,
    axis: int = 0,
    sizes: Sequence[int] | None = None,
    over: str | None = None,
    before: int | None = None,
    unless: Templates = (),
    if_all: Templates = (),
    line: str = "",
) -> Split:
    """Cut values into parts; with `over`, into one for each number of that hole."""
    source = Template.parse(old)
    targets = tuple(_beside(text, source, over) for text in _several(new))
    gates = _gates((source,), before, unless, if_all)
    return Split(source, targets, axis, None if sizes is None else tuple(sizes), over, gates, line)


def merge(
    old: Templates,
    new: str,
    *,
    axis: int = 0,
    sizes: Sequence[int] | None = None,
    over: str | None = None,
    before: int | None = None,
    unless: Templates = (),
    if_all: Templates = (),
    line: str = "",
) -> Merge:
    """Put values behind one another; with `over`, those of each number of that hole on a new axis."""
    texts = [Template.parse(text) for text in _several(old)]
    kinds = {hole.name: hole.kind for template in texts for hole in template.holes if hole.kind}
    sources = tuple(template.with_kinds(kinds) for template in texts)
    gates = _gates(sources, before, unless, if_all)
    return Merge(
        sources, _beside(new, *sources), axis, None if sizes is None else tuple(sizes), over, gates, line
    )


def _several(texts: Templates) -> tuple[str, ...]:
    return (texts,) if isinstance(texts, str) else tuple(texts)


def _beside(text: str, *sources: Template | str | None) -> Template:
    """A template of the other side: its holes are of the kinds that they have on the first."""
    kinds = {
        hole.name: hole.kind for source in sources if isinstance(source, Template) for hole in source.holes
    }
    kinds |= {source: "int" for source in sources if isinstance(source, str)}
    return Template.parse(text).with_kinds(kinds)


def _gates(sources: Iterable[Template], before: int | None, unless: Templates, if_all: Templates) -> Gates:
    known = tuple(sources)
    return Gates(
        before,
        tuple(_beside(text, *known) for text in _several(unless)),
        tuple(_beside(text, *known) for text in _several(if_all)),
    )
