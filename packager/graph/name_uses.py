"""Uses of names: what live code does with them makes functions, classes and methods live (rule 7).

A name is looked up once every import is followed, so that it is known what it stands for; one
that leads into a module which is not followed yet waits, and is looked up again if that changes.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Sequence

from .import_follower import ImportFollower
from .liveness import Liveness
from .module_table import ModuleTable, SourceModule
from .resolve import Ending
from .scan import Block, NameUse

__all__ = ["NameUses"]


class NameUses:
    """The uses of names in blocks that ran; `next()` looks at one, and says whether there was one."""

    def __init__(self, table: ModuleTable, follower: ImportFollower) -> None:
        self._follower, self._names = follower, follower.names
        self._live = Liveness(table, follower)
        self._waiting: deque[tuple[SourceModule, NameUse, bool]] = deque()
        self._unfollowed: defaultdict[str, list[tuple[SourceModule, NameUse, bool]]] = defaultdict(list)

    def next(self) -> bool:
        """Look up one name, or look at one block; return False where nothing waits."""
        self._look_again()
        if self._waiting:
            self._use(*self._waiting.popleft())
        elif self._follower.ran:
            self._use_block(*self._follower.ran.popleft())
        else:
            return False
        return True

    def use_from_outside(self, module: SourceModule, name: str) -> None:
        """Use a public name of a root, as the code that asked for the root will."""
        self._waiting.append((module, NameUse(tuple(name.split("."))), True))

    def use_module(self, module: SourceModule) -> None:
        """Use a module as a value."""
        if self._follower.is_followed(module):
            self._live.add_module(module)

    def _use_block(self, module: SourceModule, index: int) -> None:
        """Look at what a live block uses and asks, and what it makes: classes, decorated functions."""
        scan = module.scan
        block = scan.blocks[index]
        used = module.used
        for at in block.uses:
            if at not in used:
                used.add(at)
                use = scan.uses[at]
                if use.base not in module.foreign:
                    self._use(module, use, False)
        self._ask(module, index, block)
        for klass in self._classes_in(module, index):
            self._live.add_class_statement(module, klass)
        for child in block.children:
            decorators = scan.blocks[child].decorators
            if not decorators or scan.blocks[child].owner >= 0 or child in module.live:
                continue
            if any(self._live.keeps(module, decorator) for decorator in decorators):
                self._follower.run_function(module, child)

    def _ask(self, module: SourceModule, index: int, block: Block) -> None:
        if block.own_attrs or block.own_globs:
            owner = _owner(module.scan.blocks, index)
            if owner >= 0:
                self._live.ask_self(module, owner, block.own_attrs, block.own_globs)
            else:
                self._live.ask(block.own_attrs, block.own_globs)
        if block.attrs or block.globs:
            self._live.ask(block.attrs, block.globs)

    def _use(self, module: SourceModule, use: NameUse, public: bool) -> None:
        """Find out what a name of live code stands for, and make it live."""
        if use.glob:  # whatever matches, in a module or elsewhere
            self._live.ask((), (use.glob,))
        endings = self._names.resolve_use(module, use, self._follower.is_followed)
        for ending in endings:
            match ending.kind:
                case "def":
                    self._follower.run_function(ending.module, ending.at)
                    self._live.ask(ending.rest)
                case "class":
                    self._use_class(ending, use.called, public)
                case "module":
                    self._live.add_module(ending.module)
                case "lazy":
                    self._use_lazily(ending.module, ending.rest)
                case "foreign":
                    if ending.module.name not in self._follower.decisions:
                        self._unfollowed[ending.module.name].append((module, use, public))
                    elif len(endings) == 1:
                        module.foreign.add(use.base)
                case _:
                    self._live.ask(ending.rest)

    def _use_class(self, ending: Ending, called: bool, public: bool) -> None:
        self._live.add_class(ending.module, ending.at, public=public)
        if called and len(ending.rest) == 1:
            self._live.add_method(ending.module, ending.at, ending.rest[0])
        self._live.ask(ending.rest[1:])

    def _use_lazily(self, module: SourceModule, rest: tuple[str, ...]) -> None:
        """Ask a lazy module for an attribute: its table says which module runs now."""
        targets = self._names.lazy_targets(module, rest[0])
        for target in targets:
            self._follower.reach_lazily(module, target)
            parts = (target.name, *rest[1:])
            if parts not in target.module.used_lazily:
                target.module.used_lazily.add(parts)
                self._waiting.append((target.module, NameUse(parts), False))
        if not targets:
            self._follower.run_getattr(module)
            self._live.ask(rest[1:])

    def _look_again(self) -> None:
        for module in self._follower.newly_followed:
            self._waiting.extend(self._unfollowed.pop(module.name, ()))
        self._follower.newly_followed.clear()

    def _classes_in(self, module: SourceModule, block: int) -> Sequence[int]:
        if module.classes_in is None:
            module.classes_in = {}
            for index, klass in enumerate(module.scan.classes):
                module.classes_in.setdefault(klass.block, []).append(index)
        return module.classes_in.get(block, ())


def _owner(blocks: Sequence[Block], index: int) -> int:
    """The class to one of whose methods a block belongs, or -1."""
    while index > 0:
        if blocks[index].kind == "function" and blocks[index].owner >= 0:
            return blocks[index].owner
        index = blocks[index].parent
    return -1
