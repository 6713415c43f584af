"""What is done with one module, and why: the value that rules make, hooks change and plans print.

Action hooks are told of each module when it is decided, and may decide otherwise. The order, once for
each module:

1. The rules and the preset give a Decision.
2. The hooks of its action run in the order of registration. One that answers with a Decision of
   the same action hands that one to the next; with a Decision of another action it sends the
   module there, and the remaining hooks of the old action are not called.
3. The hooks of the new action run likewise. The hooks of one action run at most once for one
   module, so that two hooks cannot throw a module to and fro for ever.
4. What stands then is recorded, and the walk goes on.

An undecided module calls no hook.

A preset says what happens to a module that no rule names, by where it comes from:

| origin | None, strict | auto | hermetic |
|---|---|---|---|
| standard library, built in | extern (implicit) | extern (implicit) | extern (implicit) |
| compiled distribution | | extern | extern |
| installed distribution | | extern | intern |
| editable install, project code | | intern | intern |
| unknown | | | |

An empty field leaves the module undecided, which is an error of the plan. `strict` asks more than
None: a rule that matched nothing is an error too, so that a policy says exactly what is done. Under
every preset but None a module that is not here, and whose import may fail, needs no rule.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Literal, get_args

from packager._arguments import check_callable, check_choice, check_kind
from packager._quick_dataclasses import dataclass, field, replace
from packager._texts import did_you_mean
from packager.errors import ArgumentError, PackagingError

if TYPE_CHECKING:
    from collections.abc import Callable

    from kellet.hooks import HookRegistry, RemovableHandle
    from packager._graph import Edge

Action = Literal["intern", "extern", "mock", "deny", "undecided"]
ACTIONS: tuple[Action, ...] = get_args(Action)

OriginKind = Literal["stdlib", "builtin", "installed", "compiled", "editable", "local", "project", "unknown"]

Preset = Literal["auto", "hermetic", "strict"]
PRESETS: tuple[Preset, ...] = get_args(Preset)

_ACTIONS: dict[Preset, dict[OriginKind, Action]] = {
    "auto": {
        "stdlib": "extern",
        "builtin": "extern",
        "compiled": "extern",
        "installed": "extern",
        "editable": "intern",
        "local": "intern",
        "project": "intern",
    },
    "hermetic": {
        "stdlib": "extern",
        "builtin": "extern",
        "compiled": "extern",
        "installed": "intern",
        "editable": "intern",
        "local": "intern",
        "project": "intern",
    },
    "strict": {},
}
_OURS = frozenset({"kellet", "packager"})
# Code written for torch.package expects it outside, whether or not a stored object needs its codec.
_AS_IN_TORCH = frozenset({"torch"})

_FORMS = (("exporter", "name", "decision"), ("exporter", "name"))
_SHORT_FORM = 1


@dataclass(frozen=True)
class Origin:
    """Where a module of this environment comes from.

    `kind` is one of

    - `stdlib`, `builtin`: Python's own, as source or inside the interpreter;
    - `installed`: a distribution without compiled modules; `compiled`: one with any;
    - `editable`: a distribution installed in place, its source in a folder at hand;
    - `local`: one that was installed from a folder at hand, as `pip install .` does;
    - `project`: source on `sys.path` that no distribution claims: the code at hand;
    - `unknown`: found nowhere, or in a folder of installed packages under no distribution.

    `distribution` and `version` are None where no distribution is known. `place` is the folder or file that
    the distribution was installed from, unless that was an index; it is printed, and never stored.
    """

    kind: OriginKind
    distribution: str | None = None
    version: str | None = None
    place: str = field(default="", compare=False, repr=False)

    @property
    def is_at_hand(self) -> bool:
        """Whether it is the code of the one who exports: the project, installed or not."""
        return self.kind in ("project", "editable", "local")

    def __str__(self) -> str:
        if self.distribution is None:
            return _KIND_NAMES[self.kind]
        version = f" {self.version}" if self.version else ""
        return f"{_KIND_NAMES[self.kind]} {self.distribution}{version}"


_KIND_NAMES: dict[OriginKind, str] = {
    "stdlib": "standard library",
    "builtin": "built into the interpreter",
    "installed": "installed distribution",
    "compiled": "compiled distribution",
    "editable": "editable install",
    "local": "install of a folder",
    "project": "project code",
    "unknown": "unknown origin",
}


@dataclass(frozen=True)
class Decision:
    """The action for one module, the rule that gave it, the reason, and the imports of the module.

    `action` is `intern`, `extern`, `mock`, `deny`, or `undecided` where no rule matched.
    `rule` is the rule as text (`extern('numpy.**')`, `implicit`, `preset auto`, `hook`).
    `importers` are the import edges known when the module was decided, each with file and line.
    `source`, where not None, is stored in place of the module's own source.

    A hook with three arguments receives a Decision and may return another one.

    >>> decision = Decision("extern", "preset auto", "installed distribution einops 0.8.0")
    >>> decision.replace(action="deny", because="no einops in production").action
    'deny'
    """

    action: Action
    rule: str
    because: str
    importers: tuple[Edge, ...] = ()
    source: str | None = None

    def __post_init__(self) -> None:
        check_choice("action", self.action, ACTIONS)
        if self.source is not None:
            check_kind("source", self.source, str, "the text of a module")
        if self.source is not None and self.action != "intern":
            raise ArgumentError(
                f'source=: a decision to {self.action} stores none; write replace(action="intern", '
                "source=...)"
            )

    def replace(self, **changes: Any) -> Decision:
        """Return a copy with the given fields changed; self is not changed.

        Raises ArgumentError for an unknown action, or a source with another action than `intern`.
        """
        return replace(self, **changes)


class HookAnswerError(PackagingError, TypeError):
    """An action hook returned something other than None or a Decision."""


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
        Raises ArgumentError at once where it can take neither.
        """
        # Not before a hook is there: kellet brings NumPy, which an export of code alone does without.
        from kellet.hooks import HookRegistry, longest_form

        check_callable("hook", hook, "hook(exporter, name, decision) or hook(exporter, name)")
        try:
            form = longest_form(hook, _FORMS, fallback=_SHORT_FORM)
        except TypeError as error:
            raise ArgumentError(str(error)) from None
        registry = self._registries.setdefault(action, HookRegistry())
        return registry.add(hook, told=form != _SHORT_FORM)

    def run(self, exporter: object, name: str, decision: Decision) -> Decision:
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
        f"hook {hook!r} returned {answer!r} for module {name}: expected None or a Decision, found "
        f'{type(answer).__name__}; to change the action, write return decision.replace(action="extern")'
    )


def implicit_reason(name: str, frameworks: Iterable[str] = ()) -> str | None:
    """Say why module `name` is external without a rule; None where it is not.

    >>> implicit_reason("importlib.resources")
    'standard library'
    >>> implicit_reason("numpy.linalg", {"numpy"})
    'framework of a codec in use'
    >>> implicit_reason("numpy") is None
    True
    """
    top = name.partition(".")[0]
    if top in sys.stdlib_module_names or top in sys.builtin_module_names:
        return "standard library"
    if top in _OURS:
        return "part of every loader"
    if top in _AS_IN_TORCH:
        return "required by default, as in torch.package"
    if top in frameworks:
        return "framework of a codec in use"
    return None


def preset_action(preset: Preset | None, origin: Origin) -> Action:
    """Return the action of `preset` for a module of `origin`; `undecided` where it has none.

    >>> preset_action("auto", Origin("installed", "einops", "0.8.0"))
    'extern'
    >>> preset_action("hermetic", Origin("installed", "einops", "0.8.0"))
    'intern'
    >>> preset_action(None, Origin("project"))
    'undecided'
    """
    return "undecided" if preset is None else _ACTIONS[preset].get(origin.kind, "undecided")


def require_preset(name: object) -> Preset | None:
    """Return `name` as a preset, or None. Raises ArgumentError, listing the presets, for anything else.

    >>> require_preset("auto"), require_preset(None)
    ('auto', None)
    """
    for preset in PRESETS:
        if name == preset:
            return preset
    if name is None:
        return None
    raise ArgumentError(
        f"unknown policy {name!r}; expected {', '.join(PRESETS)}, None (--policy none), or a policy file "
        f"(.toml){did_you_mean(str(name), PRESETS)}"
    )
