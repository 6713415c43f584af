"""Which blocks run here: guards with three values, and what becomes of a `try`.

True and False are facts about this environment (or plain language: TYPE_CHECKING); None is "cannot
be told", and is followed. A function's block is True here: whether it is called is decided in liveness.py.
"""

from __future__ import annotations

import operator
import os
import platform
import re
import sys
from collections.abc import Callable, Sequence
from typing import Any

from packager.quick_dataclasses import dataclass

from .idioms import Guard
from .module_table import ModuleTable, SourceModule
from .records import Fact
from .resolve import Names
from .scan import Binding, Block, Import

_AVAILABLE = re.compile(r"_?(?:is|has|have)_(\w+?)(?:_(?:available|installed|importable))?")
_DEPTH = 40
_SYSTEM: dict[str, tuple[str, Callable[[], str]]] = {
    "platform": ("sys.platform", lambda: sys.platform),
    "os": ("os.name", lambda: os.name),
    "system": ("platform.system()", platform.system),
}
_SIGNS: dict[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "in": lambda here, value: here in value,
    "not in": lambda here, value: here not in value,
    "startswith": str.startswith,
    "endswith": str.endswith,
}


@dataclass(frozen=True, slots=True)
class Outcome:
    """What is known of a `try` body.

    Nothing behind `cut` (an order) runs, because of `because`: of its own `raise` where `raised`, else
    because the module `absent` is not here. An import in it may fail (`may_fail`), a `raise` in it may
    run (`may_raise`).
    """

    cut: int = -1
    because: str = ""
    may_fail: bool = False
    may_raise: bool = False
    raised: bool = False
    absent: str = ""


RunsHere = tuple[bool | None, str]
YES: RunsHere = (True, "")
MAYBE: RunsHere = (None, "")


class Blocks:
    """Answers for the blocks of all modules of a table, each once.

    `names` is name resolution over the blocks that run, `facts` what was answered from this environment.
    """

    def __init__(self, table: ModuleTable, *, all_guards: bool) -> None:
        self._table = table
        self.names = Names(table, self.bindings)
        self._all = all_guards
        self.facts: dict[tuple[str, int, str], Fact] = {}
        self._outcomes: dict[tuple[str, int], Outcome] = {}
        self._open: set[tuple[str, str, str]] = set()

    def runs(self, module: SourceModule, index: int) -> RunsHere:
        """Say whether block `index` runs when the one around it does: (True, False or None, because)."""
        known = module.runs_here.get(index)
        if known is None:
            module.runs_here[index] = MAYBE  # for a question that leads back here
            known = module.runs_here[index] = self._judge(module, module.scan.blocks[index])
        return known

    def reached(self, module: SourceModule, index: int, order: int) -> RunsHere:
        """Say whether what stands at `order` in block `index` runs, with all blocks around it."""
        answer: bool | None = True
        blocks = module.scan.blocks
        while index >= 0:
            block = blocks[index]
            value, because = self.runs(module, index)
            if value is not False and block.kind == "try" and not self._all:
                outcome = self.outcome(module, index)
                if 0 <= outcome.cut < order:
                    value, because = False, outcome.because
            if value is False:
                return False, because
            if value is None:
                answer = None
            order, index = block.order, block.parent
        return answer, ""

    def bindings(self, module: SourceModule, name: str) -> Sequence[Binding]:
        """Return the places that give a module-level name its value and that run here, as far as known."""
        found = module.scan.bindings.get(name, ())
        if not found or (len(found) == 1 and found[0].block == 0):
            return found
        return [
            binding
            for binding in found
            if binding.block == 0 or self.reached(module, binding.block, binding.order)[0] is not False
        ]

    def outcome(self, module: SourceModule, index: int) -> Outcome:
        """Return what becomes of the `try` whose body is block `index`."""
        key = (module.name, index)
        known = self._outcomes.get(key)
        if known is None:
            self._outcomes[key] = Outcome(may_fail=True, may_raise=True)
            known = self._outcomes[key] = self._try(module, module.scan.blocks[index])
        return known

    def forget(self, name: str) -> None:
        """Forget what was concluded of one module, whose text was replaced."""
        for key in [key for key in self._outcomes if key[0] == name]:
            del self._outcomes[key]

    def _add_fact(self, module: SourceModule, line: int, guard: str, value: bool, because: str) -> None:
        key = (module.name, line, guard)
        self.facts.setdefault(key, Fact(module.name, module.found.file, line, guard, value, because))

    def _judge(self, module: SourceModule, block: Block) -> RunsHere:
        match block.kind:
            case "module" | "function" | "try":
                return YES
            case "type_checking":
                return False, "only type checkers run it"
            case "main":
                return False, "only runs as a script"
            case "guard":
                return MAYBE if self._all else self._judge_guard(module, block)
            case "except":
                return MAYBE if self._all else self._judge_handler(module, block)
            case "else":
                outcome = self.outcome(module, block.owner)
                return (False, outcome.because) if outcome.cut >= 0 and not self._all else MAYBE
        raise ValueError(f"block of kind {block.kind!r} in {module.name}: no scan writes that")

    def _judge_guard(self, module: SourceModule, block: Block) -> RunsHere:
        value, because = evaluate(block.test, self._asker(module, block))
        if value is not None and _holds_imports(module, block):
            self._add_fact(module, block.line, block.detail, value if block.owner < 0 else not value, because)
        return value, because

    def _judge_handler(self, module: SourceModule, block: Block) -> RunsHere:
        body = module.scan.blocks[block.owner]
        outcome = self.outcome(module, block.owner)
        imports = block.test in ("import", "any")
        if outcome.cut >= 0 and not outcome.raised:
            return (True, outcome.because) if imports else (False, outcome.because)
        if outcome.raised or outcome.may_raise:
            return MAYBE
        if (imports and outcome.may_fail) or (not body.plain and block.test != "import"):
            return MAYBE
        because = "nothing in the try fails here"
        if _holds_imports(module, block):
            wanted = ", ".join(sorted({self._spelt(module, at) for at in body.imports}))
            self._add_fact(module, body.line, f"import {wanted}", True, f"{wanted} is here")
        return False, because

    def _try(self, module: SourceModule, body: Block) -> Outcome:
        scan = module.scan
        steps = [(scan.imports[at].order, at, True) for at in body.imports]
        steps += [(scan.blocks[at].order, at, False) for at in body.children]
        may_fail = may_raise = False
        for order, at, is_import in sorted(steps):
            if 0 <= body.raises < order:
                break
            outcome = self._step_import(module, at) if is_import else self._step_block(module, at)
            if outcome.cut >= 0:
                if not outcome.raised:
                    self._add_fact(module, body.line, f"import {outcome.absent}", False, outcome.because)
                return outcome
            may_fail, may_raise = may_fail or outcome.may_fail, may_raise or outcome.may_raise
        if body.raises >= 0:
            return Outcome(body.raises, "the try raises before it", may_fail, raised=True)
        return Outcome(may_fail=may_fail, may_raise=may_raise)

    def _step_import(self, module: SourceModule, at: int) -> Outcome:
        statement = module.scan.imports[at]
        here = self._present(module, statement)
        if here is False and statement.sure:
            absent = self._spelt(module, at)
            return Outcome(statement.order - 1, f"no {absent} here", absent=absent)
        return Outcome(may_fail=here is not True)

    def _step_block(self, module: SourceModule, at: int) -> Outcome:
        block = module.scan.blocks[at]
        if block.kind != "guard":
            return Outcome()
        value, because = self.runs(module, at)
        if value is False:
            return Outcome()
        if block.raises >= 0:
            return Outcome(block.order, because, raised=True) if value else Outcome(may_raise=True)
        return Outcome(
            may_fail=any(self._present(module, module.scan.imports[i]) is not True for i in block.imports)
        )

    def _present(self, module: SourceModule, statement: Import) -> bool | None:
        """Say whether an import succeeds here: False where its module is absent, None where it may fail."""
        target = module.target(statement)
        if target is None:
            return False
        exists = self._table.exists(target)
        if exists is not True:
            return exists
        own = target.partition(".")[0] == module.name.partition(".")[0]
        # A name that is not seen may still be there; a module of the same package may fail in turn.
        certain = all(self.names.has(self._table[target], name) for name, _ in statement.names if name != "*")
        return None if own or not certain else True

    def _asker(self, module: SourceModule, block: Block | None) -> Callable[[str, str], RunsHere]:
        order = block.order if block is not None and not block.function else -1

        def ask(form: str, name: str) -> RunsHere:
            key = (module.name, form, name)
            if key in self._open or len(self._open) > _DEPTH:
                return MAYBE
            self._open.add(key)
            try:
                if form == "find":
                    return self._find(name)
                if form == "probe":
                    return MAYBE if self._table.has_distribution(name) else self._find(name)
                if form == "call":
                    return self._call(module, name)
                return self._value(module, name, order, not_none=form == "notnone")
            finally:
                self._open.discard(key)

        return ask

    def _find(self, name: str) -> RunsHere:
        exists = self._table.exists(name) if name and not name.startswith(".") else None
        if exists is None:
            return MAYBE
        return exists, f"{name} is here" if exists else f"no {name} here"

    def _call(self, module: SourceModule, name: str) -> RunsHere:
        """Judge `is_x_available()`: by what the function says, else True where x is what it looks for."""
        match = _AVAILABLE.fullmatch(name.rpartition(".")[2])
        guessed = match[1] if match is not None else ""
        is_read = False
        for home, binding in self.names.definitions(module, name):
            is_read = True
            if binding.kind == "def":
                returned, probes = home.scan.blocks[binding.at].test or (None, ())
                value = MAYBE if returned is None else evaluate(returned, self._asker(home, None))
                if value[0] is not None:
                    return value
                is_read = guessed not in probes
        # A version that is too old is not seen: what was looked for, and is here, is taken to do.
        return (True, f"{guessed} is here") if not is_read and self._table.exists(guessed) else MAYBE

    def _value(self, module: SourceModule, name: str, order: int, *, not_none: bool) -> RunsHere:
        """Judge the truth of a name, over all the places that bind it, in order."""
        answers: list[RunsHere] = []
        for home, binding in self.names.definitions(module, name):
            if order >= 0 and home is module and binding.order > order:
                continue
            value = self._bound_value(home, binding, not_none)
            runs = self.reached(home, binding.block, binding.order)[0] if binding.sure else None
            answers = [value] if runs else [*answers, value]
        values = {value for value, _ in answers}
        if len(values) != 1 or None in values:
            return MAYBE
        return answers[-1]

    def _bound_value(self, home: SourceModule, binding: Binding, not_none: bool) -> RunsHere:
        match binding.kind:
            case "def" | "class":
                return True, "it is defined"
            case "import":
                target = home.target(home.scan.imports[binding.at])
                return (True, f"{target} is here") if target and self._table.exists(target) else MAYBE
            case "value" if binding.value is not None:
                value: Guard = binding.value
                if not_none:
                    return (value[1] is not None, "a constant") if value[0] == "const" else MAYBE
                return evaluate(value, self._asker(home, None))
        return MAYBE

    def _spelt(self, module: SourceModule, at: int) -> str:
        statement = module.scan.imports[at]
        return module.target(statement) or "." * statement.level + statement.module


def evaluate(guard: Guard, ask: Callable[[str, str], RunsHere]) -> RunsHere:
    """Return the value of `guard` here, and why; (None, "") where that cannot be told.

    `ask(form, name)` answers for the forms "find", "probe", "call", "name" and "notnone", which need to
    know the modules of this environment.
    """
    form = guard[0]
    if form == "const":
        return bool(guard[1]), "a constant"
    if form == "not":
        value, because = evaluate(guard[1], ask)
        return (None if value is None else not value), because
    if form in ("and", "or"):
        return _evaluate_many(form == "or", guard[1], ask)
    if form == "notnone" and guard[1][0] == "name":
        return ask("notnone", guard[1][1])
    if form in ("find", "probe", "call", "name"):
        return ask(form, guard[1])
    if form == "version":
        because = f"Python is {sys.version_info[0]}.{sys.version_info[1]} here"
        return _SIGNS[guard[1]](tuple(sys.version_info[: guard[3]]), guard[2]), because
    if form in _SYSTEM:
        subject, here = _SYSTEM[form][0], _SYSTEM[form][1]()
        return _SIGNS[guard[1]](here, guard[2]), f"{subject} is {here!r} here"
    return None, ""


def _evaluate_many(decisive: bool, parts: tuple[Guard, ...], ask: Callable[[str, str], RunsHere]) -> RunsHere:
    answers = [evaluate(part, ask) for part in parts]
    for value, because in answers:
        if value is decisive:
            return value, because
    if any(value is None for value, _ in answers):
        return None, ""
    return not decisive, "; ".join(dict.fromkeys(because for _, because in answers))


def _holds_imports(module: SourceModule, block: Block) -> bool:
    """Say whether an import hangs on this block, directly or further inside."""
    waiting = [block]
    while waiting:
        inner = waiting.pop()
        if inner.imports or inner.dynamics:
            return True
        waiting.extend(module.scan.blocks[at] for at in inner.children)
    return False
