"""Using names: what live code does with them makes functions, classes and methods live (rule 7).

A name is looked up once every import is followed, so that it is known what it stands for; one
that leads into a module which is not followed yet waits, and is looked up again if that changes.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Sequence

from packager.graph.following import Following
from packager.graph.library import Library, Volume
from packager.graph.live import Liveness
from packager.graph.resolve import Ending
from packager.graph.scan import Block

__all__ = ["Using"]


class Using:
    """Looks at blocks that ran; `next()` does one step, and says whether there was one."""

    def __init__(self, library: Library, following: Following) -> None:
        self._following, self._names = following, following.names
        self._live = Liveness(library, following.names, following.is_followed, self._run_function)
        self._waiting: deque[tuple[Volume, str, bool]] = deque()
        self._unfollowed: defaultdict[str, list[tuple[Volume, str, bool]]] = defaultdict(list)

    def next(self) -> bool:
        """Use one name, or look at one block; False where nothing waits."""
        self._look_again()
        if self._waiting:
            self._use(*self._waiting.popleft())
        elif self._following.ran:
            self._use_block(*self._following.ran.popleft())
        else:
            return False
        return True

    def use_from_outside(self, volume: Volume, name: str) -> None:
        """A name of a root will be used by whoever asked for it."""
        self._waiting.append((volume, name, True))

    def use_module(self, volume: Volume) -> None:
        """A module is used as a value."""
        if self._following.is_followed(volume):
            self._live.add_module(volume)

    def run_getattr(self, volume: Volume) -> None:
        """A name that nothing explains: whatever the module's own `__getattr__` does."""
        for ending in self._names.resolve(volume, "__getattr__", self._following.is_followed):
            if ending.kind == "def":
                self._live.add_function(ending.volume, ending.at)

    def _use_block(self, volume: Volume, index: int) -> None:
        """What a live block asks of other values, and what it makes: classes, decorated functions."""
        scan = volume.scan
        block = scan.blocks[index]
        used, foreign = volume.used, volume.foreign
        for chain in block.chains:
            if chain not in used:
                used.add(chain)
                if chain.partition(".")[0] not in foreign:
                    self._use(volume, chain, False)
        if block.attrs:
            self._ask(volume, index, block.attrs)
        for klass in self._classes_in(volume, index):
            self._live.add_class_statement(volume, klass)
        for child in block.children:
            decorators = scan.blocks[child].decorators
            if not decorators or scan.blocks[child].owner >= 0 or child in volume.live:
                continue
            if any(self._live.keeps(volume, decorator) for decorator in decorators):
                self._live.add_function(volume, child)

    def _ask(self, volume: Volume, index: int, attrs: Sequence[str]) -> None:
        own = [name[1:] for name in attrs if name[0] == "&"]
        if own:
            owner = _owner(volume.scan.blocks, index)
            if owner >= 0:
                self._live.add_self_attributes(volume, owner, own)
            else:
                self._live.add_attributes(own)
        self._live.add_attributes([name for name in attrs if name[0] != "&"] if own else attrs)

    def _use(self, volume: Volume, chain: str, public: bool) -> None:
        """Live code names something: find out what, and make it live."""
        called = chain.endswith("()")
        spelt, star, glob = (chain[:-2] if called else chain).partition("*")
        if star:  # getattr with a computed name: whatever matches, in a module or elsewhere
            spelt, _, beginning = spelt.rpartition(".")
            self._live.add_attributes([f"{beginning}*{glob}"])
        endings = self._names.resolve(volume, spelt, self._following.is_followed)
        for ending in endings:
            match ending.kind:
                case "def":
                    self._live.add_function(ending.volume, ending.at)
                    self._live.add_attributes(ending.rest)
                case "class":
                    self._use_class(ending, called, public)
                case "module":
                    self._live.add_module(ending.volume)
                case "lazy":
                    self._use_lazily(ending.volume, ending.rest)
                case "foreign":
                    if ending.volume.name not in self._following.verdicts:
                        self._unfollowed[ending.volume.name].append((volume, chain, public))
                    elif len(endings) == 1:
                        volume.foreign.add(spelt.partition(".")[0])
                case _:
                    self._live.add_attributes(ending.rest)

    def _use_class(self, ending: Ending, called: bool, public: bool) -> None:
        self._live.add_class(ending.volume, ending.at, public=public)
        if called and len(ending.rest) == 1:
            self._live.add_method(ending.volume, ending.at, ending.rest[0])
        self._live.add_attributes(ending.rest[1:])

    def _use_lazily(self, volume: Volume, rest: tuple[str, ...]) -> None:
        """An attribute of a lazy module is asked for: its table says which module runs now."""
        targets = self._names.lazy_targets(volume, rest[0])
        for target in targets:
            self._following.reach_lazily(volume, target)
            chain = ".".join([target.name, *rest[1:]])
            if chain not in target.volume.used:
                target.volume.used.add(chain)
                self._waiting.append((target.volume, chain, False))
        if not targets:
            self.run_getattr(volume)
            self._live.add_attributes(rest[1:])

    def _look_again(self) -> None:
        for volume in self._following.newly_followed:
            self._waiting.extend(self._unfollowed.pop(volume.name, ()))
        self._following.newly_followed.clear()

    def _run_function(self, volume: Volume, block: int) -> None:
        if not self._following.is_followed(volume):
            return
        code = volume.scan.blocks[block]
        if code.imports or code.dynamics or code.children:
            self._following.to_run.append((volume, block))
        else:
            self._following.ran.append((volume, block))

    def _classes_in(self, volume: Volume, block: int) -> Sequence[int]:
        if volume.classes_in is None:
            volume.classes_in = {}
            for index, klass in enumerate(volume.scan.classes):
                volume.classes_in.setdefault(klass.block, []).append(index)
        return volume.classes_in.get(block, ())


def _owner(blocks: Sequence[Block], index: int) -> int:
    """The class to one of whose methods a block belongs, or -1."""
    while index > 0:
        if blocks[index].kind == "function" and blocks[index].owner >= 0:
            return blocks[index].owner
        index = blocks[index].parent
    return -1
