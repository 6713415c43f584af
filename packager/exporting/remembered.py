"""Plans that were made before, kept by what was asked for, with all that was read, listed and asked for them.

One is used only where every answer is the same now; else the sources are walked anew. See
docs/design/planning.md for what is noted, and what is never remembered.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
import sys
import sysconfig
from collections.abc import Iterator, Sequence
from functools import cache
from types import ModuleType
from typing import Any, Final

import msgpack

from packager.caches import keep_file, read_own, usable_cache
from packager.collector import gc_paused
from packager.environment import Distributions
from packager.graph import edited_now, finder_answer, sys_importer
from packager.names import demangle
from packager.policy import Rule
from packager.process import AnswerRequired, syntax_unwarned
from packager.seen import Seen
from packager.version import OWN_NAME, OWN_PACKAGES

from .deciding import Decisions
from .lazily_asked import is_loaded, loaded_below
from .plan import ExportPlan
from .plan_records import MOST_INLINE, NotPlainError, dump_plan, load_plan
from .request import (
    EntryRequest,
    ModuleRequest,
    ObjectRequest,
    ResourceRequest,
    SourceRequest,
    StateDictRequest,
    is_data,
)
from .stored import StoredObject, StoredState
from .surveying import Surveyor

_FORMAT: Final = 2
_MAKING: Final = "making the plan"
_DIGEST: Final = hashlib.sha256().digest_size
_MOST_BYTES: Final = 32 << 20
_MOST_PLANS: Final = 64
_ANSWERS: Final = {
    "edited": edited_now,
    "finder": finder_answer,
    "loaded": is_loaded,
    "loaded below": loaded_below,
}
_PYTHONS_HOOKS: Final = frozenset(
    [
        "_frozen_importlib_external.FileFinder.path_hook.<locals>.path_hook_for_FileFinder",
        "zipimport.zipimporter",
    ]
)


class RememberedPlans:
    """The plans in a folder of the cache; `folder` stands in for the user's.

    Nothing that goes wrong here matters: what cannot be read, or says something else, counts as absent.
    """

    def __init__(self, folder: str | os.PathLike[str] | None = None) -> None:
        usable = usable_cache(None, "plans") if folder is None else usable_cache(folder)
        self._folder = None if usable is None else os.fspath(usable)

    def recall(self, key: str, surveyor: Surveyor) -> ExportPlan | None:
        """Return the plan that was kept under a key, if all that it was made from is the same now.

        What was saved as data is as `surveyor` has taken it.
        """
        if self._folder is None:
            return None
        path = os.path.join(self._folder, key)
        try:
            if os.stat(path).st_size > _MOST_BYTES:
                return None
            data = memoryview(read_own(path))
            body = data[_DIGEST:]
            if hashlib.sha256(body).digest() != data[:_DIGEST]:
                return None
            # Of thousands of small records none is garbage; what is asked again may run code of others.
            with gc_paused(), AnswerRequired(_MAKING, hold=True), syntax_unwarned():
                version, same, noted, plan = msgpack.unpackb(body, strict_map_key=True)
                if version != _FORMAT or same != key:
                    return None
                if (answers := Seen.load(noted)).changed(_ANSWERS):
                    return None
                return _with_saved(*load_plan(plan, answers), surveyor)
        except Exception:  # a damaged file may fail in any way; then the plan is made anew
            return None

    def keep(self, key: str, seen: Seen, plan: ExportPlan, surveyor: Surveyor) -> None:
        """Keep a plan with what was noted while it was made; the oldest go where there are many.

        Where objects are refused, or anything else stands against an export with them, it is made anew.
        """
        if self._folder is None or seen.unfit or (plan.problems and _holds_data(surveyor)):
            return
        try:
            body = msgpack.packb([_FORMAT, key, seen.dump(), dump_plan(plan, seen.files)])
            if len(body) + _DIGEST <= _MOST_BYTES:
                keep_file(os.path.join(self._folder, key), hashlib.sha256(body).digest() + body)
                self._remove_oldest()
        except (NotPlainError, OSError, ValueError, TypeError, OverflowError):
            return

    def _remove_oldest(self) -> None:
        assert self._folder is not None
        with os.scandir(self._folder) as entries:
            kept = sorted((entry.stat().st_mtime_ns, entry.path) for entry in entries)
        for _, path in kept[:-_MOST_PLANS]:
            with contextlib.suppress(OSError):  # another process was first
                os.unlink(path)


def key_of(decisions: Decisions, importer: Any, surveyor: Surveyor, options: Sequence[Any]) -> str | None:
    """Return what a plan is kept by: all that it depends on but for the disk. None where that is not known.

    `options` are those of the exporter. Objects and state dicts are in it as far as a plan of code hangs on
    them (see `key_of_saved`). Hooks may answer as they like: with these nothing is remembered.
    """
    if importer is not sys_importer or not decisions.is_untouched:
        return None
    asked: list[Any] = []
    for item in decisions.request:
        match item:
            case ModuleRequest():
                asked.append(["module", item.name, item.dependencies, item.names])
            case SourceRequest() if len(item.text) <= MOST_INLINE:
                digest = hashlib.sha256(item.text).digest()
                asked.append(["source", item.name, digest, item.is_package, item.dependencies])
            case ResourceRequest(kind="resource", uses=()) if len(item.data) <= MOST_INLINE:
                digest = hashlib.sha256(item.data).digest()
                asked.append(["resource", item.package, item.resource, digest])
            case ObjectRequest() | StateDictRequest():
                saved = _key_of_saved(surveyor.taken(item))
                if saved is None:
                    return None
                asked.append(saved)
            case EntryRequest():
                asked.append(["entry", item.name, item.package, item.resource, item.callable])
            case _:
                return None
    if _holds_data(surveyor):
        asked.append(_key_of_rest(surveyor))
    policy, process, own = decisions.policy, _process(), _own_code()
    version = _own_version()
    if process is None or not own or any(type(rule) is not Rule for rule in policy.rules):
        return None
    rules = [
        [rule.action, rule.globs.include, rule.globs.exclude, rule.allow_empty, rule.because]
        for rule in policy.rules
    ]
    loosened = {name: str(one) for name, one in decisions.request.loosened.items()}
    answered = [[one, names, one.partition(":")[0] in sys.modules] for one, names in surveyor.answers.items()]
    ruled = [policy.preset, rules, policy.exclude_data.include, sorted(policy.frameworks), answered, loosened]
    facts = [_FORMAT, version, own, process, asked, ruled, list(options)]
    try:
        return hashlib.sha256(msgpack.packb(facts)).hexdigest()
    except (TypeError, ValueError, OverflowError):  # a subclass of str that is none, a text of surrogates
        return None


def _key_of_saved(saved: StoredObject | StoredState) -> list[Any] | None:
    from .key_of_saved import key_of_saved  # plans of code alone are the quickest

    return key_of_saved(saved)


def _key_of_rest(surveyor: Surveyor) -> list[Any]:
    from .key_of_saved import key_of_rest

    with AnswerRequired(_MAKING, hold=True):  # a module may look for its classes by code of its own
        return key_of_rest(surveyor.all_taken(), surveyor.migrations())


def _holds_data(surveyor: Surveyor) -> bool:
    return any(map(is_data, surveyor.request))


def _with_saved(plan: ExportPlan, place: int, surveyor: Surveyor) -> ExportPlan | None:
    """Return a kept plan with what was saved as data; None where that stands against it now."""
    if not _holds_data(surveyor):
        return plan
    from .saved_parts import SavedParts

    stored = {module.name for module in plan.modules if module.entry is not None}

    def defines(cls: type, value: Any) -> bool:
        return demangle(cls.__module__) in stored

    saved = [one.with_all_sources() for one in surveyor.all_taken()]
    parts = SavedParts(surveyor.request, saved, surveyor.migrations(), defines)
    return parts.completed(plan, place)


def _process() -> list[Any] | None:
    """Return what the process is; None where what finds its modules may answer otherwise the next time."""
    finders = [_qualified(one if isinstance(one, type) else type(one)) for one in sys.meta_path]
    hooks = [_qualified(one) for one in sys.path_hooks]
    if not _PYTHONS_HOOKS.issuperset(hooks):
        return None
    here = [sys.version, list(sys.flags), sys.byteorder, platform.system(), platform.machine(), os.name]
    places = [sys.path, os.getcwd(), os.path.expanduser("~"), sys.prefix, sys.base_prefix, os.__file__]
    return [*here, *places, sysconfig.get_platform(), finders, hooks, list(_loaded_modules())]


def _qualified(one: Any) -> str:
    return f"{getattr(one, '__module__', '')}.{getattr(one, '__qualname__', '')}"


def _loaded_modules() -> Iterator[list[Any]]:
    """Yield the modules that are loaded, and how; Python's own and ours where others loaded them."""
    known = sys.stdlib_module_names.union(OWN_PACKAGES)
    for name, module in sorted(sys.modules.items()):
        top = demangle(name).partition(".")[0]
        if top in ("__main__", "__mp_main__"):  # what needs them is not remembered
            continue
        space: dict[str, Any] = {}
        if issubclass(type(module), ModuleType):  # anything may have been put there
            space = ModuleType.__getattribute__(module, "__dict__")
        loader = getattr(space.get("__spec__"), "loader", None)
        kind = loader if isinstance(loader, type) else type(loader)
        if top in known and kind.__module__.startswith(("_frozen_importlib", "builtins", "zipimport")):
            continue
        folders = space.get("__path__")
        inside = list(map(str, folders)) if isinstance(folders, list) else []
        yield [name, _qualified(kind), str(space.get("__file__")), inside]


@cache
def _own_version() -> str | None:
    return Distributions().version(OWN_NAME)  # `importlib.metadata` takes a third of a plan to import


@cache
def _own_code() -> list[Any]:
    """Return the stamps of this project's files, which may change without its version."""
    waiting = [os.path.dirname(os.path.dirname(os.path.abspath(__file__)))]
    found: list[Any] = []
    for folder in waiting:  # grows while it is walked
        with os.scandir(folder) as entries:
            inside = sorted(entries, key=lambda entry: entry.name)
        for entry in inside:
            if entry.name.endswith(".py"):
                status = entry.stat()
                found.append([entry.path, status.st_size, status.st_mtime_ns])
            elif entry.is_dir(follow_symlinks=False):
                waiting.append(entry.path)
    return found
