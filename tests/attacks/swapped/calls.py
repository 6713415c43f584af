"""What is done with a loaded object: what an honest one of its kind can do, and what any object is asked."""

from __future__ import annotations

import copy
import itertools
import pickle
import re
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

Call = tuple[str, tuple[str, ...]]
"""A method or property, and the names of the arguments that it is given; `.` before a property."""

_NEVER = re.compile(
    r"^(_.*|get_params|get_metadata_routing|add_lifecycle_event|fit|fit_.*|set_.*|to_(?!numpy|list|dict|frame$|py|json$|string$|html$).*|save.*|write.*|dump.*|plot.*|export.*|push.*|"
    r"print.*|train.*|build_vocab.*|serialize.*|load.*|read.*|from_.*|score|optimi[sz]e.*|collect_.*|sink.*|"
    r"refit.*|cross_validate|bootstrap.*|compute_.*|simulate.*|shell.*|close|run_with.*|end_profiling|style|remove.*|"
    r"partial_fit.*|learn_.*|show.*|interactive.*|graphviz.*|debug.*|draw.*|set)$"
)
_SLOW = 0.06
_MOST_CELLS = 1_000_000


def always(folder: str) -> dict[str, Callable[[Any], Any]]:
    """Return what every object is asked, by name; `folder` is where `save_pretrained` may write."""
    return {
        "repr": repr,
        "str": str,
        "len": len,
        "bool": bool,
        "iter": lambda it: list(itertools.islice(iter(it), 3)),
        "html": lambda it: it._repr_html_(),
        "mimebundle": lambda it: it._repr_mimebundle_(),
        "copy": copy.copy,
        "deepcopy": copy.deepcopy,
        "pickle": lambda it: pickle.loads(pickle.dumps(it)),
        "equal": lambda it: it == it,
        "get_params": lambda it: it.get_params(),
        "clone": _cloned,
        "tags": lambda it: it.__sklearn_tags__(),
        "fitted": lambda it: it.__sklearn_is_fitted__(),
        "sizeof": lambda it: it.__sizeof__(),
        "save_pretrained": lambda it: it.save_pretrained(folder),
    }


def _cloned(it: Any) -> Any:
    from sklearn.base import clone

    return clone(it)


def candidates(it: Any, arguments: Mapping[str, Any]) -> Iterator[list[Call]]:
    """Yield for each public name of an object the ways in which it may be asked."""
    for name in dir(type(it)):
        if _NEVER.match(name):
            continue
        value = getattr(type(it), name, None)
        if isinstance(value, property) or not callable(value):
            yield [(f".{name}", ())]
            continue
        ways: list[Call] = [(name, (argument,)) for argument in arguments]
        ways += [(name, pair) for pair in (("X", "y"), ("X", "predict")) if pair[1] in arguments]
        yield [*ways, (name, ())]


def ask(it: Any, call: Call, arguments: Mapping[str, Any]) -> Any:
    """Do one thing with an object; what is made lazily is walked for three steps."""
    name, names = call
    if name.startswith("."):
        return getattr(it, name[1:])
    answer = getattr(it, name)(*[arguments[argument] for argument in names])
    if hasattr(answer, "__next__"):
        answer = list(itertools.islice(answer, 3))
    _look_at(answer)
    return answer


def _look_at(answer: Any, depth: int = 2) -> None:
    """Use what came, as a caller would: indices that nobody checked do their harm only then."""
    if isinstance(answer, tuple | list) and depth:
        for part in answer[:3]:
            _look_at(part, depth - 1)
    elif hasattr(answer, "tocsc") and hasattr(answer, "toarray"):
        answer.tocsc().sum()
        if answer.shape[0] * answer.shape[-1] < _MOST_CELLS:
            answer.toarray()
    else:
        repr(answer)


def learned(
    it: Any,
    arguments: Mapping[str, Any],
    most: int,
    is_calm: Callable[[], bool],
    begins: Callable[[str], bool],
) -> list[Call]:
    """Return calls that work on an honest object in little time, `most` of them, one or two for a name.

    `begins` is told of each name, and says whether it may be tried; `is_calm` says whether the last call left
    the system alone.
    """
    found: list[Call] = []
    budget = time.process_time() + 3.0
    for ways in candidates(it, arguments):
        kept = 0
        if not begins(ways[0][0]):
            continue
        for call in ways:
            if kept == 2 or time.process_time() > budget:
                break
            start = time.process_time()
            try:
                ask(it, call, arguments)
            except BaseException:
                is_calm()
                continue
            if is_calm() and time.process_time() - start < _SLOW:
                found.append(call)
                kept += 1
    wanted = [call for call in found if not call[0].startswith(".")]
    return [*wanted, *[call for call in found if call[0].startswith(".")]][:most]
