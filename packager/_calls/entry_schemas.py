"""What an entry point takes and gives: learnt from golden calls, and compared with what a call is given."""

from __future__ import annotations

import inspect
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Final

from packager._archive import MAX_SCHEMA_VALUES, GivenValue, SchemaRecord, TakenValue
from packager._quick_dataclasses import dataclass, replace
from packager._tensors import DTYPES
from packager._texts import listed
from packager.errors import ArchiveError

from .array_calls import POSITION, CallError, signature_of
from .value_types import Misfit, ValueType, common, fitted, stored_type, type_of

_WHERE: Final = "manifest, schemas"
_NUMBER: Final = re.compile(r"0|[1-9][0-9]*")


class SchemaMismatchError(CallError):
    """The inputs of a call do not fit its entry point. Nothing was called."""


@dataclass(frozen=True)
class GoldenValues:
    """What a golden call was given, and the parts of its answer, by name."""

    inputs: Mapping[str, Any]
    answer: Mapping[str, Any]


def learnt_schema(
    entry_point: str,
    method: object,
    calls: Sequence[GoldenValues],
    takes: Mapping[str, ValueType],
    gives: Mapping[str, ValueType],
    *,
    exact: bool,
) -> SchemaRecord | None:
    """Return what an entry point takes and gives: what is declared, else what its golden calls show.

    An axis that has two sizes in the calls is free. One call cannot show which sizes are fixed, so that every
    axis is free then; where calls are of several sizes, the axes that never differ are fixed, but for the
    first. Without `exact`, an array may be of any dtype that numbers of its kind have. None where nothing is
    known.

    Raises CallError for a declared name that is no parameter of `method`.
    """
    if not (calls or takes or gives):
        return None
    parameters = _parameters(method)
    is_known = parameters is not None
    given = [_by_parameter(call.inputs, parameters or ()) for call in calls]
    learnt = _learnt(given, exact=exact)
    is_open = not is_known or any(
        one.kind in (one.VAR_POSITIONAL, one.VAR_KEYWORD) for one in parameters or ()
    )
    taken: dict[str, TakenValue] = {}
    for index, one in enumerate(parameters or ()):
        if one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD):
            name = f"arg{index}" if one.kind == one.POSITIONAL_ONLY else one.name
            found = takes.get(name) or learnt.get(name) or ValueType()
            taken[name] = TakenValue(name, str(found), one.default is one.empty)
    odd = [name for name in takes if name not in taken]
    if odd and not is_open:
        raise CallError(
            f"takes= declares {listed(odd)}; expected parameters: {listed([*taken]) or 'none'}"
        ).holding(odd)
    for name in dict.fromkeys((*odd, *sorted(learnt, key=_position))):
        if name not in taken:
            found = takes.get(name) or learnt[name]
            taken[name] = TakenValue(name, str(found), not is_known and all(name in one for one in given))
    answers = _learnt_answers([call.answer for call in calls]) | dict(gives)
    return SchemaRecord(
        entry_point,
        tuple(taken.values())[:MAX_SCHEMA_VALUES],
        tuple(GivenValue(name, str(one)) for name, one in answers.items())[:MAX_SCHEMA_VALUES],
        is_open or len(taken) > MAX_SCHEMA_VALUES,
        "declared" if takes or gives else "calls",
    )


class InputTypes:
    """What an entry point takes, by the names under which a call may give it.

    Made once, it fits the inputs of many calls: this is a part of each request that a Predictor answers.
    """

    def __init__(self, schema: SchemaRecord) -> None:
        self._schema = schema
        self._taken = {f"arg{index}": one for index, one in enumerate(schema.takes)}
        self._taken |= {one.name: one for one in schema.takes}
        self._required = {one.name for one in schema.takes if one.required}

    def fitted(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """Return inputs by name as the schema has them; see `fitted_inputs`, and for what is raised."""
        found: dict[str, Any] = {}
        problems, hints = [], []
        given: set[str] = set()
        for name, value in inputs.items():
            one = self._taken.get(name)
            if one is None:
                found[name] = value
                if not self._schema.is_open:
                    problems.append(f"{name}: unknown input")
                continue
            if one.name in given:
                problems.append(f"{one.name}: given twice, by name and by position")
            given.add(one.name)
            try:
                found[name] = fitted(name, value, stored_type(one.type, _WHERE))
            except Misfit as misfit:
                problems.append(str(misfit))
                hints += _hint(misfit, value)
        if problems or not self._required <= given:
            raise self._mismatch(problems, given, hints)
        return found

    def _mismatch(
        self, problems: Sequence[str], given: Collection[str], hints: Sequence[str]
    ) -> SchemaMismatchError:
        """Return the error for everything in which inputs differ, and for what is missing."""
        takes = self._schema.takes
        missing = [one for one in takes if one.required and one.name not in given]
        problems = [*problems, *(f"{one.name}: missing, expected {one.type}" for one in missing)]
        shown = listed([f"{one.name}: {one.type}" for one in takes if one.required or one.type != "any"])
        return SchemaMismatchError(
            f"inputs of entry point {self._schema.entry_point!r} do not fit, and it was not called: "
            f"{listed(problems, apart='; ')}. It takes {shown or 'nothing'}"
            f"{''.join(f'; {hint}' for hint in dict.fromkeys(hints))}"
        ).holding(problems)


def fitted_inputs(schema: SchemaRecord, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Return the inputs of a call as the schema has them: numbers in lists become arrays of its dtypes.

    Raises SchemaMismatchError once, for everything in which they differ, ArchiveError for a type of the
    schema that is none.

    >>> schema = SchemaRecord("model", (TakenValue("x", "float32[*, 2]"),))
    >>> fitted_inputs(schema, {"arg0": [[1, 2]]})
    {'arg0': array([[1., 2.]], dtype=float32)}
    """
    return InputTypes(schema).fitted(inputs)


def schema_problems(schemas: Sequence[SchemaRecord]) -> Iterator[str]:
    """Yield what is wrong with the types that stored schemas name."""
    taken = [one.type for schema in schemas for one in schema.takes]
    given = [one.type for schema in schemas for one in schema.gives]
    for text in dict.fromkeys(taken + given):
        try:
            stored_type(text, _WHERE)
        except ArchiveError as error:
            yield str(error)


def misfits_of_answer(gives: Mapping[str, ValueType], answer: Mapping[str, Any]) -> list[str]:
    """Return in what the parts of an answer differ from what is declared of them, as texts."""
    found = []
    for name, expected in gives.items():
        pattern = re.compile(re.escape(name).replace(r"\*", _NUMBER.pattern))
        parts = [part for part in answer if pattern.fullmatch(part)]
        if not parts:
            found.append(f"{name}: missing, expected {expected}; found {listed([*answer])}")
        for part in parts:
            try:
                fitted(part, answer[part], expected)
            except Misfit as misfit:
                found.append(str(misfit))
    return found


# --- names ---


def _parameters(method: Any) -> Sequence[inspect.Parameter] | None:
    """Return the parameters of what is called; None where nothing says."""
    signature = signature_of(method)
    return None if signature is None else tuple(signature.parameters.values())


def _by_parameter(inputs: Mapping[str, Any], parameters: Sequence[inspect.Parameter]) -> dict[str, Any]:
    """Return inputs by the names of their parameters, where positions have a name."""
    named = [one.name for one in parameters if one.kind == one.POSITIONAL_OR_KEYWORD]
    unnamed = sum(one.kind == one.POSITIONAL_ONLY for one in parameters)
    found = {}
    for name, value in inputs.items():
        position = _position(name) - unnamed
        found[named[position] if 0 <= position < len(named) else name] = value
    return found


def _position(name: str) -> int:
    match = POSITION.fullmatch(name)
    return int(match[1]) if match is not None else 1 << 30


def _hint(misfit: Misfit, value: Any) -> list[str]:
    """Return what mends a misfit: a dtype can be converted."""
    wanted = misfit.expected.partition("[")[0]
    if not hasattr(value, "dtype") or wanted not in DTYPES or misfit.found.partition("[")[0] == wanted:
        return []
    return [f'{misfit.path}.astype("{wanted}") converts it']


# --- what calls show ---


def _learnt(calls: Sequence[Mapping[str, Any]], *, exact: bool) -> dict[str, ValueType]:
    seen: dict[str, list[ValueType]] = {}
    floating = "float32" if exact else "float64"  # what a library of tensors makes of lists
    for call in calls:
        for name, value in call.items():
            seen.setdefault(name, []).append(type_of(value, floating=floating))
    is_varied = any(len(set(map(_sizes, types))) > 1 for types in seen.values())
    return {name: _freed(common(types), is_varied, exact) for name, types in seen.items()}


def _sizes(found: ValueType) -> Any:
    return found.shape, tuple((key, _sizes(inner)) for key, inner in found.parts or ())


def _freed(found: ValueType, is_varied: bool, exact: bool) -> ValueType:
    """Return a type with the axes free of which calls show nothing."""
    if found.kind == "array":
        shape = found.shape
        if shape:
            shape = (None, *shape[1:]) if is_varied else (None,) * len(shape)
        return replace(found, shape=shape, dtype=found.dtype if exact else _family(found.dtype))
    parts = (
        None
        if found.parts is None
        else tuple((key, _freed(inner, is_varied, exact)) for key, inner in found.parts)
    )
    if found.kind == "table":  # texts may be missing in the rows of another call
        parts = parts and tuple((name, _with_missing(one)) for name, one in parts)
    return replace(found, parts=parts)


def _with_missing(column: ValueType) -> ValueType:
    if column.kind != "list" or column.items.kind == "any":
        return column
    return replace(column, parts=(("", replace(column.items, or_none=True)),))


def _family(dtype: str) -> str:
    """Return what a model of NumPy takes in the place of a dtype: it converts by itself."""
    kind = DTYPES[dtype].kind if dtype in DTYPES else ""
    return "number" if kind == "complex" else "real" if kind else dtype


def _learnt_answers(answers: Sequence[Mapping[str, Any]]) -> dict[str, ValueType]:
    """Return the types of the parts of answers.

    Where numbers count plain values of one type, or not the same number of parts in each call, the parts have
    one name, with `*`.
    """
    seen: dict[str, dict[str, list[ValueType]]] = {}
    uncountable = set()
    for answer in answers:
        for name, value in answer.items():
            seen.setdefault(_starred(name), {}).setdefault(name, []).append(type_of(value))
            if any(name not in other for other in answers) or not _is_array(value):
                uncountable.add(_starred(name))
    types: dict[str, list[ValueType]] = {}
    for star, parts in seen.items():
        together = [one for there in parts.values() for one in there]
        is_counted = all(len(there) == len(answers) for there in parts.values())
        if star in uncountable and (not is_counted or common(together) != ValueType()):
            types[star] = together
        else:
            types |= parts
    is_varied = any(len(set(map(_sizes, there))) > 1 for there in types.values())
    return {name: _freed(common(there), is_varied, True) for name, there in types.items()}


def _starred(name: str) -> str:
    """Return the name of a part with `*` for each number in it."""
    first, *others = name.split(".")
    return ".".join([first, *("*" if _NUMBER.fullmatch(part) else part for part in others)])


def _is_array(value: Any) -> bool:
    """Say whether a part is an array with axes: numbers alone are as plain as texts."""
    return hasattr(value, "dtype") and bool(value.shape)
