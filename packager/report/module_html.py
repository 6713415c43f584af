"""Modules as HTML: each package with its modules, and why each of these is in."""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from packager.sizes import size_text
from packager.texts import counted

from .records import ModuleFacts, Site

Text = Callable[[str], str]

_STANDARD: Final = "standard library"
_MOST_BELOW: Final = 64  # importers of a package that is only brought in by what is below it
_MOST_BYTES: Final = 320_000
_MOST_PACKAGES: Final = 300
_BYTES_OF_MODULE: Final = 1_000  # about, with some to spare
_MOST_SITES: Final = 6
_LONGEST_CHAIN: Final = 12
_ACTIONS: Final = ("intern", "mock", "deny", "extern")


def modules_html(modules: Sequence[ModuleFacts], text: Text, left: int) -> Iterator[str]:
    """Yield packages with their modules, in no more than about `left` bytes; what is cut is counted."""
    packages: dict[str, list[ModuleFacts]] = defaultdict(list)
    for module in sorted(modules, key=lambda module: module.name):
        packages[_STANDARD if module.is_standard else module.name.partition(".")[0]].append(module)
    ordered = sorted(packages.items(), key=lambda item: (_rank(item[1]), item[0]))
    listed = _Listed(text, chains(modules))
    rooms = _rooms([len(inside) for _, inside in ordered[:_MOST_PACKAGES]], min(_MOST_BYTES, left))
    for (name, inside), room in zip(ordered, rooms, strict=False):
        yield from listed.package(name, inside, room)
    if rest := sum(len(inside) for _, inside in ordered[_MOST_PACKAGES:]):
        packages_left = counted(len(ordered) - _MOST_PACKAGES, "more package")
        yield f'<p class="cut">{packages_left}, with {counted(rest, "module")}.</p>\n'


def _rooms(counts: Sequence[int], most: int) -> list[int]:
    """Share bytes out among packages with so many modules: small ones get what they need, others the same.

    >>> _rooms([1, 100, 100], 11_000)
    [1000, 5000, 5000]
    """
    rooms = [0] * len(counts)
    for done, at in enumerate(sorted(range(len(counts)), key=counts.__getitem__)):
        rooms[at] = min(counts[at] * _BYTES_OF_MODULE, most // (len(counts) - done))
        most -= rooms[at]
    return rooms


def _rank(modules: Sequence[ModuleFacts]) -> int:
    """Return where a package stands: what is stored comes first."""
    actions = {module.action for module in modules}
    return min(_ACTIONS.index(action) if action in _ACTIONS else len(_ACTIONS) for action in actions)


class _Listed:
    """Lists packages with their modules, as far as there is room on the page for each.

    What one package does not need of its room, those after it may have.
    """

    def __init__(self, text: Text, came: Mapping[str, tuple[Site, ...]]) -> None:
        self._text = text
        self._came = came
        self._left = 0

    def package(self, name: str, modules: Sequence[ModuleFacts], room: int) -> Iterator[str]:
        """Yield a package that folds, with as many of its modules as have room; `room` is in bytes."""
        self._left += room
        actions = Counter(module.action for module in modules)
        said = ", ".join(f"{count:,} {action}" for action, count in sorted(actions.items()))
        size = sum(module.size for module in modules)
        head = (
            f'<details class="package"><summary><code>{self._text(name)}</code> '
            f"<small>{said}{f', {size_text(size)}' if size else ''}</small></summary>\n<div>\n"
        )
        self._left -= len(head.encode())
        yield head
        shown = 0
        for module in modules:
            html = self._module(module)
            if len(html.encode()) > self._left:
                break
            self._left -= len(html.encode())
            yield html
            shown += 1
        if shown < len(modules):
            more = counted(len(modules) - shown, "more module")
            yield f'<p class="cut">{more}; the page shows {shown:,} of {len(modules):,}.</p>\n'
        yield "</div></details>\n"

    def _module(self, module: ModuleFacts) -> str:
        text, chain = self._text, self._came[module.name]
        size = f" <small>{size_text(module.size)}</small>" if module.size else ""
        tone = _TONES.get(module.action, "")
        return (
            f'<details class="module"><summary><code>{text(module.name)}</code> '
            f'<span class="mark {tone}">{text(module.action)}</span>{size}</summary>\n'
            f"<div><p>{text(module.rule)}: {text(module.because)}</p>\n"
            f"{_chain(module, chain, text)}{_importers(module, text)}</div></details>\n"
        )


_TONES: Final = {"intern": "good", "mock": "warning", "deny": "bad"}


def _chain(module: ModuleFacts, chain: Sequence[Site], text: Text) -> str:
    """Return the way from what was asked for: each module, and the line in it that imports the next."""
    if not chain:
        return ""
    shown = chain if len(chain) <= _LONGEST_CHAIN else [*chain[:6], *chain[-6:]]
    steps = [f"<li><code>{text(site.module)}</code> <small>{text(site.place)}</small></li>" for site in shown]
    if len(shown) < len(chain):
        steps.insert(6, f"<li>{counted(len(chain) - len(shown), 'more step')}</li>")
    return f'<ol class="chain">{"".join(steps)}<li><code>{text(module.name)}</code></li></ol>\n'


def _importers(module: ModuleFacts, text: Text) -> str:
    """Return who imports a module, where there are more than the one that the chain has shown."""
    if len(module.sites) < 2:
        return ""
    shown = [f"<code>{text(site.place)}</code>" for site in module.sites[:_MOST_SITES]]
    if more := len(module.sites) - len(shown):
        shown.append(f"{more:,} more")
    return f"<p>imported at {', '.join(shown)}</p>\n"


def chains(modules: Sequence[ModuleFacts]) -> dict[str, tuple[Site, ...]]:
    """Return for each module the shortest chain of imports that leads to it, from what was asked for.

    A site of the chain is a statement: the module that holds it, and its place. What was asked for has an
    empty one, and so has a package that only its submodules brought in and nobody imports.

    >>> sites = (Site("a", "a.py:3"),)
    >>> chains([ModuleFacts("b", "intern", "", "", 0, sites), ModuleFacts("a", "intern", "", "")])["b"]
    (Site(module='a', place='a.py:3'),)
    """
    known = {module.name: module for module in modules}
    sites = _sites(modules)
    imports: dict[str, list[tuple[str, Site]]] = defaultdict(list)
    for name in sorted(known):
        for site in sites[name]:
            imports[site.module].append((name, site))
    came_by: dict[str, tuple[Site | None, str]] = {
        name: (None, "") for name in sorted(known) if not any(site.module in known for site in sites[name])
    }
    waiting = deque(came_by)
    while waiting:
        importer = waiting.popleft()
        for name, site in imports[importer]:
            if name not in came_by:
                came_by[name] = (site, importer)
                waiting.append(name)
    return {name: _way_back(name, came_by) for name in known}


def _sites(modules: Sequence[ModuleFacts]) -> dict[str, tuple[Site, ...]]:
    """Return who imports each module; for a package without importers, who imports what is below it."""
    found = {module.name: module.sites for module in modules}
    below: dict[str, list[Site]] = defaultdict(list)
    for module in modules:
        package = module.name.rpartition(".")[0]
        while package and found.get(package) == ():
            outside = [one for one in module.sites if not f"{one.module}.".startswith(f"{package}.")]
            below[package] += outside[: _MOST_BELOW - len(below[package])]
            package = package.rpartition(".")[0]
    return {name: sites or tuple(below[name]) for name, sites in found.items()}


def _way_back(name: str, came_by: Mapping[str, tuple[Site | None, str]]) -> tuple[Site, ...]:
    """Return the way back from a module. What is only in a circle of imports has none."""
    found: list[Site] = []
    while name in came_by:
        site, name = came_by[name]
        if site is None:
            break
        found.append(site)
    return tuple(reversed(found))
