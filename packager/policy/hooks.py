"""Action hooks: callables that are told of each module when it is decided, and may decide otherwise.

The order, once for each module:

1. The rules and the preset give a Decision.
2. The hooks of its action run in the order of registration. One that answers with a Decision of
   the same action hands that one to the next; with a Decision of another action it sends the
   module there, and the remaining hooks of the old action are not called.
3. The hooks of the new action run likewise. The hooks of one action run at most once for one
   module, so that two hooks cannot throw a module to and fro for ever.
4. What stands then is recorded, and the walk goes on.

An undecided module calls no hook.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from packager.errors import PackagingError

from .decision import Action, Decision

if TYPE_CHECKING:
    from collections.abc import Callable

    from kellet.hooks import HookRegistry, RemovableHandle


_FORMS = (("exporter", "name", "decision"), ("exporter", "name"))
_SHORT_FORM = 1


class HookAnswerError(PackagingError, TypeError):
    """An action hook answered with something that is neither None nor a Decision."""


class ActionHooks:
    """The hooks of one exporter, one registry for each of intern, extern, mock and deny.

    >>> hooks = ActionHooks()
    >>> handle = hooks.register("extern", lambda exporter, name, decision: decision.replace(action="deny"))
    >>> hooks.run(None, "numpy", Decision("extern", "extern('numpy')", "")).action
    'deny'
    >>> handle.remove()
    """

    def __init__(self) -> None:
        self._registries: dict[Action, HookRegistry[Callable[..., Any]]] = {}

    def register(self, action: Action, hook: Callable[..., Any]) -> RemovableHandle:
        """Add `hook` for modules with `action`; return the handle that removes it.

        The hook is called as `hook(exporter, name, decision)` where it can take three arguments,
        else as `hook(exporter, name)`; what the latter returns is ignored, as torch.package does.
        Raises TypeError at once where it can take neither.
        """
        # Not before a hook is there: kellet brings NumPy, which an export of code alone does without.
        from kellet.hooks import HookRegistry, longest_form

        form = longest_form(hook, _FORMS, fallback=_SHORT_FORM)
        registry = self._registries.setdefault(action, HookRegistry())
        return registry.add(hook, told=form != _SHORT_FORM)

    def run(self, exporter: Any, name: str, decision: Decision) -> Decision:
        """Call the hooks for `decision` and return the Decision that stands after them.

        Raises HookAnswerError on an answer of another type; an error of a hook goes through unchanged.
        """
        seen: set[Action] = set()
        while decision.action in self._registries and decision.action not in seen:
            seen.add(decision.action)
            decision = self._run_action(exporter, name, decision)
        return decision

    def _run_action(self, exporter: Any, name: str, decision: Decision) -> Decision:
        for entry in self._registries[decision.action]:
            if not entry.options["told"]:
                entry.hook(exporter, name)
                continue
            answer = _checked(entry.hook(exporter, name, decision), entry.hook, name)
            if answer is None:
                continue
            if answer.action != decision.action:
                return answer
            decision = answer
        return decision


def _checked(answer: object, hook: object, name: str) -> Decision | None:
    if answer is None or isinstance(answer, Decision):
        return answer
    raise HookAnswerError(
        f"hook {hook!r} answered {answer!r} for module {name}: expected None or a Decision, "
        f"got {type(answer).__name__}; return decision.replace(...) to decide otherwise"
    )
