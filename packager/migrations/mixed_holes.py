"""Holes that are numbers in one place of a step and text in another, where one of the two must be wrong.

A hole takes its value where a key is matched: a number (`{n:int}`), or text. Text cannot be reckoned with,
and is never equal to a number. So `{n+1}` beside a plain `{n}`, or a gate that looks for the number where
the step found text, would do nothing, and not say so.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .templates import Hole, Linear, Template

_Home = tuple[Hole, Template]


def find_mixed_holes(
    given: Sequence[Template], made: Sequence[Template], gates: Sequence[Template]
) -> list[str]:
    """Say of every such hole what it is where, and what to write; nothing where all is well.

    `given` are the templates that keys are matched with, `made` those that are filled with what was found
    there, `gates` those of keys that must be there, or must not.
    """
    homes: dict[str, _Home] = {}
    for template in given:
        for hole in template.holes:
            homes.setdefault(hole.name, (hole, template))
    compared = {hole.name for template in made for hole in template.holes}
    problems: list[str] = []
    for template in given:
        problems += _contradictions(template, {name: homes[name] for name in compared & homes.keys()})
    for template in made:
        problems += _reckoned(template, homes)
    for template in gates:
        problems += _reckoned(template, homes)
        if any(hole.name not in homes for hole in template.holes):  # keys are matched with it as well
            problems += _contradictions(template, homes)
    return list(dict.fromkeys(problems))


def _reckoned(template: Template, homes: dict[str, _Home]) -> Iterator[str]:
    """Arithmetic on holes that take their value as text."""
    for hole in template.holes:
        home = homes.get(hole.name)
        if hole.linear != Linear() and home is not None and not _is_number(home[0]):
            yield (
                f"{template.text!r} reckons with the hole {hole.name!r}, which is text in {home[1].text!r}; "
                f"write {{{hole.name}:int}} there"
            )


def _contradictions(template: Template, homes: dict[str, _Home]) -> Iterator[str]:
    """Holes that are one thing here, and another where they stand first, here or in another template."""
    here: dict[str, _Home] = {}
    for hole in template.holes:
        for first, home in (
            here.setdefault(hole.name, (hole, template)),
            homes.get(hole.name, (hole, template)),
        ):
            if _is_number(first) != _is_number(hole):
                number, text = (template, home) if _is_number(hole) else (home, template)
                yield (
                    f"the hole {hole.name!r} is a number in {number.text!r} and text in {text.text!r}, so "
                    f"that no key fits both; write {{{hole.name}:int}} wherever it is declared, or call one "
                    "of them something else"
                )


def _is_number(hole: Hole) -> bool:
    return hole.kind == "int"
