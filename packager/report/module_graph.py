"""Modules as a graph: why each is in, and packages in layers, importers above what they import."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Mapping, Sequence

from packager.quick_dataclasses import dataclass

from .records import ModuleFacts, Site

STANDARD = "standard library"
OTHERS = "others"
_MOST_NODES = 40
_MOST_EDGES = 180
_SWEEPS = 4
_MOST_BELOW = 64  # importers of a package that is only brought in by what is below it


@dataclass(frozen=True)
class Group:
    """A node of the drawing: a package with all below it, or one module.

    `layer` counts from the top, `place` from the left. `actions` counts its modules by what is done with
    them.
    """

    name: str
    modules: int
    size: int
    actions: Mapping[str, int]
    layer: int = 0
    place: int = 0


@dataclass(frozen=True)
class Graph:
    """Groups, and how many import statements lead from one to another.

    `group_of` gives the group of each module; `left_out` counts the pairs of groups that are not drawn.
    """

    groups: tuple[Group, ...]
    edges: tuple[tuple[str, str, int], ...]
    group_of: Mapping[str, str]
    left_out: int = 0


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
    return {name: _chain(name, came_by) for name in known}


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


def _chain(name: str, came_by: Mapping[str, tuple[Site | None, str]]) -> tuple[Site, ...]:
    """Return the way back from a module. What is only in a circle of imports has none."""
    found: list[Site] = []
    while name in came_by:
        site, name = came_by[name]
        if site is None:
            break
        found.append(site)
    return tuple(reversed(found))


def graph_of(modules: Sequence[ModuleFacts], most: int = _MOST_NODES) -> Graph:
    """Return the modules as few enough groups to be drawn, in layers.

    Modules stand for themselves where they are few; else packages do. What every Python brings is one group.
    Packages that import each other share a layer.
    """
    group_of = _grouping(modules, most)
    counts: dict[str, list[ModuleFacts]] = defaultdict(list)
    for module in modules:
        counts[group_of[module.name]].append(module)
    edges: dict[tuple[str, str], int] = defaultdict(int)
    sites = _sites(modules)
    for module in modules:
        for site in sites[module.name]:
            one, other = group_of.get(site.module), group_of[module.name]
            if one is not None and one != other:
                edges[one, other] += 1
    shown = sorted(edges, key=lambda edge: (-edges[edge], edge))[:_MOST_EDGES]
    layers = _ordered(_layers(sorted(counts), shown), shown)
    groups = [
        _group(name, counts[name], layer, place)
        for layer, names in enumerate(layers)
        for place, name in enumerate(names)
    ]
    drawn = tuple((*edge, edges[edge]) for edge in sorted(shown))
    return Graph(tuple(groups), drawn, group_of, len(edges) - len(shown))


def _group(name: str, modules: Sequence[ModuleFacts], layer: int, place: int) -> Group:
    actions: dict[str, int] = defaultdict(int)
    for module in modules:
        actions[module.action] += 1
    return Group(
        name, len(modules), sum(one.size for one in modules), dict(sorted(actions.items())), layer, place
    )


def _grouping(modules: Sequence[ModuleFacts], most: int) -> dict[str, str]:
    """Return the group of each module: stored packages are opened, large ones first, while there is room.

    A package that is open stands for itself, and what is directly below it for all below that; where that is
    too much, the smaller ones are `package.*`. Others are opened where all modules have room.
    """
    inside: dict[str, list[ModuleFacts]] = defaultdict(list)
    for module in modules:
        inside[STANDARD if module.is_standard else module.name.partition(".")[0]].append(module)
    if len(inside) > most:
        _join_smallest(inside, OTHERS, most)
    all_fit = sum(not module.is_standard for module in modules) < most
    shut = {STANDARD, OTHERS}
    while closed := [
        name
        for name, below in inside.items()
        if len(below) > 1 and name not in shut and (all_fit or _is_stored(below))
    ]:
        largest = max(closed, key=lambda name: (len(inside[name]), name))
        opened = _opened(largest, inside[largest])
        room = most - len(inside) + 1
        if len(opened) > room:
            _join_smallest(opened, rest := f"{largest}.*", 2 * room // 3)
            shut.add(rest)
        if 1 < len(opened) <= room:
            del inside[largest]
            inside.update(opened)
        shut.add(largest)
    return {module.name: name for name, below in inside.items() for module in below}


def _join_smallest(groups: dict[str, list[ModuleFacts]], rest: str, most: int) -> None:
    """Put the smallest groups together under one name, in place, so that no more than `most` are left."""
    for name in sorted(groups, key=lambda name: (-len(groups[name]), name))[max(most - 1, 0) :]:
        groups[rest] = groups.get(rest, []) + groups.pop(name)


def _is_stored(modules: Sequence[ModuleFacts]) -> bool:
    return any(module.action == "intern" for module in modules)


def _opened(package: str, modules: Sequence[ModuleFacts]) -> dict[str, list[ModuleFacts]]:
    """Return what is directly below a package, each with its modules, and the package itself."""
    found: dict[str, list[ModuleFacts]] = defaultdict(list)
    depth = package.count(".") + 2
    for module in modules:
        found[".".join(module.name.split(".", depth)[:depth])].append(module)
    return found


def _layers(names: Sequence[str], edges: Iterable[tuple[str, str]]) -> list[list[str]]:
    """Return the names layer by layer: each below all that import it, but for circles, which share one."""
    follows: dict[str, list[str]] = {name: [] for name in names}
    for one, other in edges:
        follows[one].append(other)
    component = _components(follows)
    into: dict[int, set[int]] = {number: set() for number in set(component.values())}
    for one, others in follows.items():
        into[component[one]] |= {component[other] for other in others} - {component[one]}
    # Components are numbered from what imports nothing: a greater number is never imported by a lesser one.
    layer = dict.fromkeys(into, 0)
    for number in sorted(into, reverse=True):
        for below in into[number]:
            layer[below] = max(layer[below], layer[number] + 1)
    found: list[list[str]] = [[] for _ in range(max(layer.values(), default=-1) + 1)]
    for name in names:
        found[layer[component[name]]].append(name)
    return found


def _components(follows: Mapping[str, Sequence[str]]) -> dict[str, int]:
    """Return the number of the circle that each node lies in, after the algorithm of Tarjan (1972)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    component: dict[str, int] = {}
    stack: list[str] = []
    circles = 0
    for root in follows:
        work = [(root, iter(follows[root]))] if root not in index else []
        if work:
            index[root] = low[root] = len(index)
            stack.append(root)
        while work:
            name, others = work[-1]
            for other in others:
                if other not in index:
                    index[other] = low[other] = len(index)
                    stack.append(other)
                    work.append((other, iter(follows[other])))
                    break
                if other not in component:
                    low[name] = min(low[name], index[other])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[name])
                if low[name] == index[name]:
                    while name not in component:
                        component[stack.pop()] = circles
                    circles += 1
    return component


def _ordered(layers: list[list[str]], edges: Iterable[tuple[str, str]]) -> list[list[str]]:
    """Return each layer in an order in which few edges cross: by the mean place of neighbours, a few times.

    Source: the barycentre method of Sugiyama, Tagawa and Toda (1981).
    """
    beside: dict[str, list[str]] = defaultdict(list)
    for one, other in edges:
        beside[one].append(other)
        beside[other].append(one)
    place = {name: at / max(len(layer), 1) for layer in layers for at, name in enumerate(layer)}
    for _ in range(_SWEEPS):
        for layer in layers:
            wanted = {
                name: sum(place[other] for other in beside[name]) / len(beside[name])
                if beside[name]
                else place[name]
                for name in layer
            }
            layer.sort(key=lambda name: (wanted[name], name))
            place.update({name: (at + 0.5) / len(layer) for at, name in enumerate(layer)})
    return layers
